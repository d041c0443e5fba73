"""The decision which rule or operation answers a request, and why not another."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from tests.support.writing import BANK, engine, rules
from xs2a_sandbox.bank import Bank
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.call import Session
from xs2a_sandbox.cassette.decide import Decision, decide
from xs2a_sandbox.clock import REAL
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.state import MemoryStore, Transaction
from xs2a_sandbox.state.session import DEFAULT

CASES = (
    {"id": "weak", "match": {"path": "/x"}},
    {"id": "strong", "match": {"path": "/x", "headers": {"A": "1"}}},
    {"id": "posted", "match": {"path": "/m", "method": "POST"}},
    {"id": "broken", "match": {"path": "/broken", "when": "'x' * 9999999"}},
    {"id": "hidden", "match": {"path": "/broken"}, "priority": -1},
    {"id": "unless", "match": {"path": "/when", "when": "query.q == '1'"}},
    {"id": "strict", "match": {"path": "/strict"}, "require": {"headers": {"B": {"exists": True}}}},
    {"id": "listed", "match": {"operation": "list", "query": {"q": "1"}}},
    {"id": "lazy", "match": {"operation": "make", "query": {"q": "1"}}, "require": "none"},
    {"id": "parameter", "match": {"path": "/p/{name}", "when": "path.name == 'yes'"}},
)
REQUIRING = {"require": {"headers": {"A": {"exists": True}}}}


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    operations = [{**one, **REQUIRING} if one["id"] != "one" else one for one in BANK["operations"]]
    directory = tmp_path_factory.mktemp("bank")
    return engine(directory, rules(*CASES), bank={**BANK, "operations": operations}).banks.default


def call(method: str, target: str, *headers: str, door: Any = "direct") -> Call:
    request = Request(method, target, Headers((name, "1") for name in headers), door=door)
    state = Transaction(MemoryStore(), DEFAULT, lambda _: {})
    return Call(request, split_target(target), Session(DEFAULT, ""), REAL, state)


def decided(bank: Bank, one: Call) -> Decision:
    return bank.decide(one, bank.find(one.request.method, one.segments))


@pytest.mark.parametrize(
    ("method", "target", "headers", "kind", "id"),
    [
        ("GET", "/x", "", "rule", "weak"),
        ("GET", "/x", "A", "rule", "strong"),
        ("POST", "/m", "", "rule", "posted"),
        ("GET", "/broken", "", "failure", "broken"),
        ("GET", "/when?q=1", "", "rule", "unless"),
        ("GET", "/strict", "B", "rule", "strict"),
        ("GET", "/strict", "", "requirement", "strict"),
        ("GET", "/v1/things?q=1", "A", "rule", "listed"),
        ("GET", "/v1/things?q=1", "", "requirement", "list"),
        ("GET", "/v1/things", "A", "operation", "list"),
        ("GET", "/v1/things", "", "requirement", "list"),
        ("POST", "/v1/things?q=1", "", "rule", "lazy"),
        ("GET", "/v1/things/7", "", "operation", "one"),
        ("GET", "/p/yes", "", "rule", "parameter"),
    ],
)
def test_the_deciding_rule_or_operation(bank: Bank, method: str, target: str, headers: str, kind: str, id: str) -> None:
    decision = decided(bank, call(method, target, *headers))
    by = decision.rule or decision.operation

    assert by
    assert (decision.kind, by.id) == (kind, id)
    assert (decision.error is None) == (kind in ("rule", "operation"))


@pytest.mark.parametrize(
    ("method", "target", "error"),
    [
        ("GET", "/m", "path-unknown"),
        ("GET", "/when", "path-unknown"),
        ("GET", "/nowhere", "path-unknown"),
        ("GET", "/p/no", "path-unknown"),
        ("DELETE", "/v1/things", "method-not-offered"),
    ],
)
def test_no_rule_or_operation_answers(bank: Bank, method: str, target: str, error: str) -> None:
    decision = decided(bank, call(method, target))

    assert (decision.kind, decision.rule, decision.operation) == ("nothing", None, None)
    assert isinstance(decision.error, BankError)
    assert decision.error.name == error


def test_offered_methods_are_listed_once(bank: Bank) -> None:
    error = decided(bank, call("DELETE", "/v1/things")).error
    assert isinstance(error, BankError)
    assert error.values["allow"] == "GET, POST"


def test_an_unknown_path_of_the_sandbox_gets_a_hint(bank: Bank) -> None:
    for door, hint in (
        ("proxy", "without the proxy"),
        ("tls", "without the proxy"),
        ("direct", "does not have this page"),
    ):
        error = decided(bank, call("GET", "/_sandbox/state", door=door)).error
        assert isinstance(error, BankError)
        assert hint in error.values["hint"], door


def test_the_call_has_the_path_parameters_of_the_matched_rule_or_operation(bank: Bank) -> None:
    by_operation, by_rule = call("GET", "/v1/things/7"), call("GET", "/p/yes")
    decided(bank, by_operation)
    decided(bank, by_rule)

    assert (by_operation.operation, by_operation.path) == ("one", {"thing": "7"})
    assert (by_rule.operation, by_rule.path) == (None, {"name": "yes"})


@pytest.mark.parametrize(
    ("target", "left"), [("/nowhere", True), ("/x", False), ("/strict", False), ("/v1/things", False)]
)
def test_unmatched_requests_are_left_to_the_real_bank(bank: Bank, target: str, left: bool) -> None:
    assert decided(bank, call("GET", target)).is_left_to_bank == left


def test_a_rule_can_leave_requests_to_the_real_bank(bank: Bank) -> None:
    decision = decided(bank, call("GET", "/x"))
    assert decision.rule
    leaving = replace(decision.rule, behaviour=replace(decision.rule.behaviour, bank=True))

    assert structs.replace(decision, rule=leaving).is_left_to_bank
    assert not structs.replace(decision, rule=leaving, kind="requirement").is_left_to_bank


def test_silent_entries_answer_only_rules_that_name_them(bank: Bank) -> None:
    silent = frozenset({"list", "weak"})
    for target in ("/v1/things", "/x", "/nowhere"):
        sent = call("GET", target, "A")
        rules = [(rule, {}, sent) for rule in bank.interface.rules if rule.id == "weak"] if target == "/x" else []
        decision = decide(bank.find("GET", sent.segments), rules, sent, bank.schemas, silent)
        assert isinstance(decision.error, BankError)
        assert (decision.kind, decision.error.name, sent.operation) == ("nothing", "not-recorded", None)
    sent = call("GET", "/v1/things?q=1", "A")
    listed = [(rule, {}, sent) for rule in bank.interface.rules if rule.id == "listed"]
    decision = decide(bank.find("GET", sent.segments), listed, sent, bank.schemas, silent)
    assert (decision.kind, decision.rule and decision.rule.id) == ("rule", "listed")
