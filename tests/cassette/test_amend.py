"""Amendments change finished answers:

JSON Merge Patch and JSON Patch for the body, also status, headers, delay and fault.
"""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.writing import BANK, ask, check, engine, header, problems, rule_of, rules
from xs2a_sandbox.cassette.amend import Amendment, compile_amendment
from xs2a_sandbox.cassette.evaluation.values import merge_patch
from xs2a_sandbox.http import Response, to_json

JSON = (("Content-Type", "application/json"),)


def step(op: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": op, "path": path, **more}


def compiled(**spec: Any) -> Amendment:
    said: list[Any] = []
    amendment = compile_amendment(spec, lambda below, text: said.append((below, text)))
    assert not said
    return amendment


def amended(value: Any, warn: Any = None, **spec: Any) -> Any:
    warned: list[str] = []
    response = compiled(**spec).apply(Response(200, JSON, to_json(value)), {}, warned.append)
    if warn is None:
        assert warned == []
    else:
        assert [warn in text for text in warned] == [True]
    return json.loads(response.body, parse_float=Decimal)


# RFC 7396, appendix A.
MERGES = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("value", "patch", "result"), MERGES)
def test_merge_patches_work_as_in_the_rfc(value: Any, patch: Any, result: Any) -> None:
    assert merge_patch(value, patch) == result
    assert amended(value, body=patch) == result


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(JSONS, JSONS)
def test_merging_is_idempotent_and_changes_nothing_in_place(value: Any, patch: Any) -> None:
    before = json.dumps(value)
    once = merge_patch(value, patch)
    assert merge_patch(once, patch) == once
    assert json.dumps(value) == before


A, B = {"iban": "A", "n": 1}, {"iban": "B", "tags": ["x", "y"]}
ACCOUNTS = {"accounts": [A, B]}


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        ([step("add", "/accounts/*/owner", value="O")], [{**A, "owner": "O"}, {**B, "owner": "O"}]),
        ([step("remove", "/accounts/*")], []),
        ([step("remove", "/accounts/*/n")], [{"iban": "A"}, B]),
        ([step("replace", "/accounts/*/n", value=2)], [{"iban": "A", "n": 2}, B]),
        ([step("remove", "/accounts/*/tags/*")], [A, {"iban": "B", "tags": []}]),
        ([step("move", "/accounts/*/m", **{"from": "/accounts/*/n"})], [{"iban": "A", "m": 1}, B]),
        ([step("copy", "/accounts/*/n", **{"from": "/accounts/0/n"})], [A, {**B, "n": 1}]),
        ([step("add", "/accounts/-", value={})], [A, B, {}]),
        ([step("test", "/accounts/0/n", value=2), step("remove", "/accounts/0")], [A, B]),
        ([step("add", "/none/*/x", value=1)], [A, B]),
    ],
)
def test_a_star_applies_to_every_entry_of_a_list(patch: Any, result: Any) -> None:
    assert amended(ACCOUNTS, patch=patch) == {"accounts": result}


def test_a_value_can_be_computed_from_the_entry_and_the_answer() -> None:
    patch = [
        {"op": "add", "path": "/accounts/*/name", "value": "{{ entry.iban }} of {{ answer.body.accounts | length }}"}
    ]
    names = [one["name"] for one in amended(ACCOUNTS, patch=patch)["accounts"]]
    assert names == ["A of 2", "B of 2"]


def test_a_missing_member_causes_a_warning_and_nothing_else_changes() -> None:
    assert amended(ACCOUNTS, "the patch cannot be applied", patch=[{"op": "remove", "path": "/nothing"}]) == ACCOUNTS


def test_numbers_keep_their_notation() -> None:
    value = json.loads('{"amount": 1.10, "n": {"big": 12345678901234567890.5}}', parse_float=Decimal)
    assert amended(value, body={"x": 1}) == {**value, "x": 1}


def test_text_and_empty_bodies_are_not_amended() -> None:
    for response in (Response(200, (("Content-Type", "text/plain"),), b"{}"), Response(204)):
        warned: list[str] = []
        answer = compiled(body={"a": 1}).apply(response, {}, warned.append)
        assert (answer.body, warned) == (response.body, ["only answers with a JSON body can be amended"])


def test_headers_are_set_and_removed_regardless_of_case() -> None:
    response = Response(200, (("X-A", "1"), ("x-b", "2"), ("X-C", "3")))
    answer = compiled(headers={"x-a": None, "X-B": "{{ answer.status + 1 }}", "New": True}, status=418).apply(
        response, {}, print
    )
    assert (answer.status, answer.headers) == (418, (("X-C", "3"), ("X-B", "201"), ("New", "true")))


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ({"op": "add", "path": "a", "value": 1}, "must start with /"),
        ({"op": "add", "path": "/a"}, "add needs a value"),
        ({"op": "remove", "path": "/a", "value": 1}, "remove takes no value"),
        ({"op": "move", "path": "/a"}, "move needs a from"),
        ({"op": "add", "path": "/a", "from": "/b", "value": 1}, "add takes no from"),
        ({"op": "copy", "path": "/a", "from": "/b/*"}, "as many * as path"),
        ({"op": "add", "path": "/a", "value": "{{ nobody }}"}, "nobody"),
    ],
)
def test_an_invalid_patch_is_reported_with_its_place(tmp_path: Path, patch: Any, code: str) -> None:
    (problem,) = problems(tmp_path, {"rules.yaml": {"cassette": 1, "rules": [amending("a", patch=[patch])]}})
    assert code in problem.text


def amending(id: str, match: Any = None, **amend: Any) -> dict[str, Any]:
    return {"id": id, "match": match or {"operation": "list"}, "amend": amend}


ASKED = {"operation": "list", "query": {"q": "1"}}


def of(*specs: Any) -> Any:
    return {"rules.yaml": {"cassette": 1, "rules": list(specs)}}


LISTING = {**BANK, "operations": [{**BANK["operations"][0], "respond": {"body": ACCOUNTS}}, *BANK["operations"][1:]]}


def test_if_several_rules_amend_an_answer_the_strongest_comes_last(tmp_path: Path) -> None:
    bank = engine(
        tmp_path,
        of(
            amending("weak", body={"a": 1, "b": 1}),
            amending("strong", {"operation": "list", "query": {"q": "1"}}, body={"b": 2}),
        ),
        of(amending("later", headers={"Later": "{{ query.q }}"})),
        bank=LISTING,
    )
    answer = ask(bank, "/v1/things?q=1")
    assert json.loads(answer.body) == {**ACCOUNTS, "a": 1, "b": 2}
    assert (header(answer, "Later"), rule_of(answer)) == ("1", "list")
    assert header(answer, "X-Sandbox-Amended") == "weak, strong, later"
    assert header(ask(bank, "/v1/things"), "X-Sandbox-Amended") == "weak, later"
    assert header(ask(bank, "/v1/things/1"), "X-Sandbox-Amended") is None


def test_an_answer_of_a_stronger_rule_is_not_amended_by_a_weaker_one(tmp_path: Path) -> None:
    own = {"id": "own", "match": {"operation": "list", "query": {"q": "1"}}, "respond": {"body": {}}}
    bank = engine(tmp_path, of(amending("a", body={"a": 1}), own), bank=LISTING)
    assert json.loads(ask(bank, "/v1/things?q=1").body) == {}


def test_amendments_conflict_with_no_other_rule(tmp_path: Path) -> None:
    own = {"id": "z", "match": {"operation": "list"}, "respond": {"body": {}}}
    bank = engine(tmp_path, of(amending("a", body={"a": 1}), amending("b", body={"b": 1}), own), bank=LISTING)
    assert json.loads(ask(bank).body) == {"a": 1, "b": 1}


def test_a_requirement_error_is_amended_only_by_a_rule_without_requirements(tmp_path: Path) -> None:
    strict = {**LISTING["operations"][0], "require": {"headers": {"A": {"exists": True}}}}
    bank = {**LISTING, "operations": [strict, *LISTING["operations"][1:]]}
    rule = amending("a", status=419, body={"more": "{{ answer.body.error }}"})
    assert ask(engine(tmp_path / "1", of(rule), bank=bank)).status == 500
    answer = ask(engine(tmp_path / "2", of({**rule, "require": "none"}), bank=bank))
    assert (answer.status, json.loads(answer.body)["more"]) == (419, "format-error")


def test_delay_and_fault_of_the_amendment_apply(tmp_path: Path) -> None:
    bank = engine(tmp_path, of(amending("a", delay="1ms", fault="drop")), bank=LISTING)
    answer = ask(bank)
    assert answer.fault == "drop"


def test_a_failed_amendment_is_an_internal_error_and_changes_no_state(tmp_path: Path) -> None:
    effect = {"effects": [{"set": "state.notes['n']", "to": {"a": 1}}]}
    own = {"id": "own", "match": {"operation": "make"}, "respond": {"body": {}}, **effect}
    wrong = amending("wrong", {"operation": "make"}, headers={"X": "{{ 'a\\nb' }}"})
    bank = engine(tmp_path, of(own, wrong), bank=LISTING)
    assert ask(bank, method="POST").status == 500
    assert header(ask(bank, method="POST"), "X-Sandbox-Amended") is None


@pytest.mark.parametrize(
    ("extra", "text"),
    [
        ({"respond": {"body": 1}}, "exactly one of"),
        ({"effects": [{"delete": "state.a['b']"}]}, "cannot have effects"),
        ({"require": {"headers": {"A": "1"}}}, "cannot have requirements"),
    ],
)
def test_keys_that_cannot_be_combined_with_an_amendment_are_reported(tmp_path: Path, extra: Any, text: str) -> None:
    mistakes = problems(tmp_path, of({**amending("a", body={}), **extra}))
    assert [problem for problem in mistakes if text in problem.text]


def test_explain_lists_all_rules_that_took_part(tmp_path: Path) -> None:
    from xs2a_sandbox.explain.explanation import describe
    from xs2a_sandbox.http import Request

    bank = engine(tmp_path, of(amending("a", status=418), amending("b", body={"b": 1})), bank=LISTING)
    explanation = describe(bank.explain(Request("GET", "/v1/things")))
    assert [one["rule"] for one in explanation["amended"]] == ["b", "a"]
    assert explanation["answer"]["status"] == 418
    assert explanation["by"]["operation"] == "list"
    assert explanation["nearest"] == []


def test_two_answering_rules_still_conflict(tmp_path: Path) -> None:
    read, mistakes = check(
        tmp_path, rules({"id": "a", "match": {"operation": "list"}}, {"id": "b", "match": {"operation": "list"}})
    )
    assert read
    assert [problem.code for problem in mistakes] == ["ambiguous"]
