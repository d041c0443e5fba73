"""Rules that select operations by what they do, regardless of their names in the dialect."""

from pathlib import Path

import pytest

from tests.support.engine_client import Client, an_engine, cassette
from tests.support.writing import SCHEMAS, write
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.cassette.things import Act
from xs2a_sandbox.errors import Unreadable

RULE = "rules:\n  - id: mine\n    match: {%s}\n    %s\n"


def read(directory: Path, match: str, rest: str = "respond: {status: 204}") -> Interface:
    folder = write(directory, {"a.yaml": "cassette: 1\n" + RULE % (match, rest)})
    return layers.read([[bundled("cassettes") / "xs2a-1.84"], [folder]], SCHEMAS, NAMED)


@pytest.mark.parametrize(
    ("does", "operations"),
    [
        ("list account", {"account-list", "card-account-list"}),
        ("read state of consent", {"consent-status"}),
        ("[create basket, end basket]", {"create-signing-basket", "delete-signing-basket"}),
    ],
)
def test_a_rule_applies_to_each_operation_that_does_this(tmp_path: Path, does: str, operations: set[str]) -> None:
    made = [rule for rule in read(tmp_path, f"does: {does}").rules if rule.id == "mine"]
    assert {rule.operation for rule in made} == operations


def test_a_verb_covers_all_things_and_a_thing_covers_all_its_owners() -> None:
    deed = Act.parse("list entry of account")
    assert [Act.parse_wide(text).covers(deed) for text in ("list", "list entry", "list entry of account")] == [True] * 3
    assert not any(Act.parse_wide(text).covers(deed) for text in ("read", "list account", "list entry of payment"))


@pytest.mark.parametrize(
    ("match", "rest", "line", "code", "words"),
    [
        ("does: fly account", "respond: {status: 204}", 4, "wrong-value", "unknown verb 'fly'"),
        (
            "does: create mandate",
            "respond: {status: 204}",
            4,
            "unknown-operation",
            "no operation does 'create mandate'",
        ),
        ("does: list account, operation: account-list", "respond: {status: 204}", 4, "match", "either by operation"),
        ("does: list account, method: GET", "respond: {status: 204}", 4, "match", "already determines it"),
        (
            "does: list account",
            "respond: {status: 204}\n    examples: [{request: {query: {a: 1}}, expect: {status: 204}}]",
            *(6, "match", "add one of the paths to the example"),
        ),
        ("does: list account", "amend: {result: {acounts: []}}", 5, "member", "accounts.list returns no acounts"),
        (
            "does: list account",
            "amend: {result: [{op: remove, path: /acounts/0}]}",
            *(5, "member", "accounts.list returns no acounts; it returns accounts"),
        ),
        (
            "does: list account",
            "amend: {result: [{op: replace, path: '', value: {}}]}",
            *(5, "member", "the path must be a member; accounts.list returns accounts"),
        ),
        ("does: list account", "amend: {result: [{op: remove, path: x}]}", 5, "answer", "must start with /"),
        (
            "does: list account",
            "amend: {result: {accounts: '{{ answer.body }}'}}",
            5,
            "answer",
            "unknown name 'answer'",
        ),
    ],
)
def test_impossible_combinations_are_reported_at_their_place(
    tmp_path: Path, match: str, rest: str, line: int, code: str, words: str
) -> None:
    with pytest.raises(Unreadable) as failure:
        read(tmp_path, match, rest)
    problem = failure.value.problems[0]
    assert words in problem.text, problem
    assert (problem.code, problem.line) == (code, line)


def test_conditions_read_inputs_regardless_of_their_names_in_the_request(tmp_path: Path) -> None:
    rule = RULE % ("does: list entry, when: \"input.date_from == '2026-01-01'\"", "respond: {status: 418}")
    bank = Client(an_engine(layers=cassette(tmp_path, rule)))
    place = "/v1/accounts/AT459880000010204711/transactions?bookingStatus=booked&dateFrom="
    answers = [
        bank.get(f"{place}{day}", consent="9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911")
        for day in ("2026-01-01", "2026-01-02")
    ]
    assert [answer.status for answer in answers] == [418, 200]


def test_a_result_is_amended_before_the_dialect_renders_it(tmp_path: Path) -> None:
    rest = 'amend: {result: [{op: replace, path: /accounts/*/name, value: "N {{ entry.iban[-2:] }}"}]}'
    bank = Client(an_engine(layers=cassette(tmp_path, RULE % ("does: list account", rest))))
    answer = bank.get("/v1/accounts", consent="9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911")
    assert [account["name"] for account in answer.json()["accounts"]] == ["N 11"]
    assert answer.headers["x-sandbox-amended"] == "mine"
