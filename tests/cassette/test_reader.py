import json
from datetime import date

import pytest

from tests.support.writing import ask, engine, problems, rule_of, rules
from xs2a_sandbox.cassette.model import Recorded


def sequence(on_exhausted=None, **match):
    rule = {"id": "s", "match": match or {"operation": "one"}, "sequence": [{"body": 1}, {"status": 201, "body": 2}]}
    return rules({**rule, **({"on_exhausted": on_exhausted} if on_exhausted else {})})


def test_a_list_of_values_matches_each_of_them(tmp_path):
    bank = engine(tmp_path, rules({"id": "r", "match": {"operation": "one", "where": {"thing": ["a", 5]}}}))
    assert [rule_of(ask(bank, f"/v1/things/{t}")) for t in ("a", "5", "b")] == ["r", "r", "one"]


def test_all_parts_of_a_request_can_be_matched(tmp_path):
    match = {
        "operation": "make",
        "query": {"q": "1"},
        "headers": {"PSU-ID": {"regex": "^corp-"}},
        "body": {"/a/0": {"gt": "5"}, "contains": {"b": 1}},
        "when": "query.q == '1' and body.b == 1",
    }
    bank = engine(tmp_path, rules({"id": "r", "match": match}))

    def answered(target="/v1/things?q=1", psu="corp-1", body=None):
        return rule_of(ask(bank, target, "POST", [("psu-id", psu)], json=body or {"a": [6], "b": 1, "c": 0}))

    assert answered() == "r"
    assert answered("/v1/things?q=2") == "make"
    assert answered("/v1/things?q=2&q=1") == "make"  # the expression reads the first value
    assert answered(psu="x") == "make"
    assert answered(body={"a": [5], "b": 1}) == "make"
    assert answered(body={"a": [6], "b": 2}) == "make"
    assert rule_of(ask(bank, "/v1/things?q=1", "POST", [("psu-id", "corp-1")])) == "make"


def test_the_first_answer_whose_condition_is_true_is_used(tmp_path):
    answers = [{"when": "query.a == '1'", "body": 1}, {"when": "query.b < 1", "body": 2}, {"body": 3}]
    bank = engine(tmp_path, rules({"id": "r", "match": {"operation": "list"}, "respond": answers}))
    assert [ask(bank, f"/v1/things?{q}").body for q in ("a=1", "a=2", "")] == [b"1", b"3", b"3"]


def test_a_header_named_twice_in_different_case_is_reported(tmp_path):
    mistakes = problems(tmp_path, rules({"id": "r", "match": {"path": "/a", "headers": {"X-A": "1", "x-a": "2"}}}))
    assert [(p.code, p.text) for p in mistakes] == [("duplicate-key", "the header x-a can be listed only once")]


def test_a_rule_matches_only_its_own_methods(tmp_path):
    bank = engine(tmp_path, rules({"id": "r", "match": {"path": "/count", "method": ["PUT", "POST"]}}))
    assert [ask(bank, "/count", method).status for method in ("GET", "PUT", "POST")] == [404, 200, 200]


OWN_BODY = {
    "cassette": 1,
    "errors": {
        "odd": {
            "status": 418,
            "code": "TEAPOT",
            "text": "no {{ drink }}",
            "body": {"is": "{{ error.code }}: {{ error.text }}"},
        },
        "usual": {"status": 418, "code": "TEAPOT", "text": "no {{ drink }}"},
    },
}


def test_an_error_can_have_its_own_body(tmp_path):
    both = rules(
        {"id": "a", "match": {"operation": "one"}, "respond": {"error": "odd", "values": {"drink": "tea"}}},
        {"id": "b", "match": {"operation": "list"}, "respond": {"error": "usual", "values": {"drink": "tea"}}},
    )
    bank = engine(tmp_path, {"errors.yaml": OWN_BODY, **both})
    odd, usual = ask(bank, "/v1/things/1"), ask(bank)
    assert (odd.status, odd.body) == (418, b'{"is":"TEAPOT: no tea"}')
    assert (usual.status, usual.body) == (418, b'{"error":"usual","text":"no tea"}')


def test_an_error_can_have_status_code_and_number_for_each_operation(tmp_path):
    error = {
        "status": {"default": 403, "one": 400},
        "code": {"default": "A", "one": "B"},
        "number": {"default": "1", "list": "2"},
        "text": "t",
    }
    both = rules(
        {"id": "a", "match": {"operation": "one"}, "respond": {"error": "odd"}},
        {"id": "b", "match": {"operation": "list"}, "respond": {"error": "odd"}},
    )
    every = {"body": {"all": "{{ error.status }} {{ error.code }} {{ error.number }}"}}
    bank = engine(tmp_path, {"errors.yaml": {"cassette": 1, "errors": {"odd": error}, "every_error": every}, **both})
    one, listed = ask(bank, "/v1/things/1"), ask(bank)
    assert (one.status, one.body) == (400, b'{"all":"400 B 1"}')
    assert (listed.status, listed.body) == (403, b'{"all":"403 A 2"}')


@pytest.mark.parametrize(
    ("nulls", "expected"),
    [
        ({}, {"tppMessages": [{"path": None}]}),
        ({"nulls": "drop"}, {"tppMessages": [{}]}),
        ({"nulls": "fill", "schema": "error"}, {"tppMessages": [{"path": None}], "_links": None}),
    ],
)
def test_errors_can_be_rendered_with_or_without_nulls(tmp_path, nulls, expected):
    every = {"body": {"tppMessages": [{"path": "{{ error.path }}"}]}, **nulls}
    bank = engine(tmp_path, {"errors.yaml": {"cassette": 1, "every_error": every}})
    body = json.loads(ask(bank, "/v1/nowhere").body)
    assert {name: body[name] for name in body if name != "sandbox"} == expected


def test_a_mistake_in_the_body_of_an_error_has_its_place(tmp_path):
    text = (
        "cassette: 1\nerrors:\n  e:\n    status: 400\n    code: C\n    text: t\n    body:\n      a: '{{ result.x }}'\n"
    )
    (mistakes,) = problems(tmp_path, {"case.yaml": text})
    assert (mistakes.line, mistakes.code) == (8, "expression")
    assert "result" in mistakes.text


def test_a_recorded_rule_knows_its_recording(tmp_path):
    tape = {"bank": "https://bank.example", "at": "2026-11-21T10:11:12+00:00", "redacted": "1a2b3c4d"}
    layer = rules({"id": "a", "recorded": {"hash": "x"}, "match": {"path": "/a"}}, {"id": "b", "match": {"path": "/b"}})
    layer["rules.yaml"]["recorded"] = tape
    a, b = sorted(engine(tmp_path, layer).interface.rules, key=lambda rule: rule.id)

    assert (a.recorded, b.recorded) == ("x", None)
    assert a.tape == b.tape == Recorded("https://bank.example", date(2026, 11, 21), "1a2b3c4d")


def test_a_recording_that_is_not_redacted_has_no_key(tmp_path):
    layer = rules({"id": "a", "match": {"path": "/a"}})
    assert engine(tmp_path / "1", layer).interface.rules[0].tape is None
    layer["rules.yaml"]["recorded"] = {"bank": "x", "at": "2026-11-21t10:11:12z", "redacted": False}
    assert engine(tmp_path / "2", layer).interface.rules[0].tape.redacted is None


@pytest.mark.parametrize(
    "tape",
    [{}, {"bank": "x", "at": "now", "redacted": False}, {"bank": "x", "at": "2026-11-21T10:11:12Z", "redacted": True}],
)
def test_required_members_of_a_recording(tape, tmp_path):
    layer = rules({"id": "a", "match": {"path": "/a"}})
    layer["rules.yaml"]["recorded"] = tape
    codes = {problem.code for problem in problems(tmp_path, layer)}
    assert codes in ({"missing-key"}, {"wrong-value"})
