import json
from types import MappingProxyType
from typing import Any

import pytest

from tests.support.writing import SCHEMAS, ask, engine, header, problems, rules
from xs2a_sandbox.cassette.answers import compile_answer, without_nulls, write
from xs2a_sandbox.cassette.evaluation.expressions import ROOTS
from xs2a_sandbox.errors import BankError, InvalidResponse

SCOPE = {"body": {"n": 5, "null": None, "status": 201, "text": "ä", "yes": True, "line": "a\r\nb"}, "path": {"p": "x"}}


def answer(tmp_path, **spec):
    reported = []
    compiled = compile_answer(
        spec, ROOTS, lambda name: (tmp_path / name).read_bytes(), lambda at, text: reported.append((at, text))
    )
    return compiled, reported


def written(tmp_path, names=None, **spec):
    compiled, reported = answer(tmp_path, **spec)
    assert reported == []
    return write(compiled, (), SCOPE, names or {}, SCHEMAS)


@pytest.mark.parametrize(
    ("spec", "content_type", "body"),
    [
        ({}, None, b""),
        ({"body": {"a": ["{{ body.n }}", "n={{ body.n }}", None]}}, "application/json", b'{"a":[5,"n=5",null]}'),
        ({"body": None}, "application/json", b"null"),
        ({"body": ""}, "application/json", b'""'),
        ({"body": "{{ body.missing }}"}, "application/json", b"null"),
        ({"body": "{{ body.text }}"}, "application/json", '"ä"'.encode()),
        ({"body": {"a": "{{ body.n }}"}, "raw": True}, "application/json", b'{"a":"{{ body.n }}"}'),
        ({"text": "n={{ body.n }}{{ body.null }}"}, "text/plain; charset=utf-8", b"n=5"),
        ({"text": "{{ body.yes }}"}, "text/plain; charset=utf-8", b"true"),
        ({"text": "{{ body.null }}"}, "text/plain; charset=utf-8", b""),
        ({"text": "{{ body.n }}", "raw": True}, "text/plain; charset=utf-8", b"{{ body.n }}"),
        ({"text": "{% x %}ä"}, "text/plain; charset=utf-8", "{% x %}ä".encode()),
        ({"base64": "/wA="}, "application/octet-stream", b"\xff\x00"),
        ({"base64": ""}, "application/octet-stream", b""),
        ({"file": "some.bin"}, "application/octet-stream", b"{{ body.n }}\xff"),
        ({"text": "<a/>", "headers": {"content-type": "application/xml"}}, "application/xml", b"<a/>"),
        ({"body": 1, "headers": {"CONTENT-TYPE": "application/hal+json"}}, "application/hal+json", b"1"),
    ],
)
def test_bodies_and_their_content_types(tmp_path, spec, content_type, body):
    (tmp_path / "some.bin").write_bytes(b"{{ body.n }}\xff")
    response = written(tmp_path, **spec)
    assert (header(response, "Content-Type"), response.body) == (content_type, body)
    assert response.status == 200


@pytest.mark.parametrize("status", [201, "{{ body.status }}", "{{ 201 if body.yes else 400 }}"])
def test_statuses(tmp_path, status):
    assert written(tmp_path, status=status).status == 201


@pytest.mark.parametrize("status", ["{{ body.text }}", "{{ body.null }}", "{{ body.yes }}", "20{{ 1 }}"])
def test_computed_values_that_are_not_a_status(tmp_path, status):
    with pytest.raises(BankError, match="internal"):
        written(tmp_path, status=status)


def test_an_impossible_http_status(tmp_path):
    with pytest.raises(InvalidResponse):
        written(tmp_path, status="{{ 99 }}")


def test_headers(tmp_path):
    spec = {"A": "{{ body.n }}", "B": "{{ body.null }}", "C": None, "D": "x{{ body.null }}", "E": 1, "F": True, "G": ""}
    response = written(tmp_path, headers=spec)
    assert response.headers == (("A", "5"), ("D", "x"), ("E", "1"), ("F", "true"), ("G", ""))


def test_a_header_cannot_split_the_response(tmp_path):
    with pytest.raises(InvalidResponse):
        written(tmp_path, headers={"A": "{{ body.line }}"})


def test_nulls_are_filled_from_the_schema_or_dropped(tmp_path):
    body = {"consentId": "{{ body.n }}", "psuMessage": None, "mine": [None, {"a": None, "b": 1}]}
    filled = json.loads(written(tmp_path, {"200": "consent-creation"}, body=body, nulls="fill").body)
    assert filled["consentId"] == 5
    assert filled["mine"] == [None, {"a": None, "b": 1}]
    assert {name for name, value in filled.items() if value is None} > {"psuMessage"}
    own = json.loads(written(tmp_path, body=body, nulls="fill", schema="consent-creation").body)
    assert own == filled
    assert json.loads(written(tmp_path, body=body, nulls="drop").body) == {"consentId": 5, "mine": [None, {"b": 1}]}
    assert json.loads(written(tmp_path, {"200": "consent-creation"}, body=body).body) == {**body, "consentId": 5}
    assert (
        json.loads(written(tmp_path, {"201": "consent-creation"}, body=body, nulls="fill").body)["psuMessage"] is None
    )


def test_a_member_without_a_value_that_may_not_be_null_is_left_out(tmp_path):
    filled = json.loads(written(tmp_path, {"200": "consent-creation"}, body={"_links": None}, nulls="fill").body)
    assert "_links" not in filled


def test_an_error_of_the_table_is_rendered_with_its_values(tmp_path):
    with pytest.raises(BankError) as caught:
        written(tmp_path, error="consent-unknown", values={"id": "{{ path.p }}"})
    assert (caught.value.name, caught.value.values) == ("consent-unknown", {"id": "x"})


@pytest.mark.parametrize(
    ("spec", "at"),
    [
        ({"body": 1, "text": "x"}, ("text",)),
        ({"file": "x", "base64": ""}, ("file",)),
        ({"body": 1, "error": "e"}, ("error",)),
        ({"base64": "a"}, ("base64",)),
        ({"base64": "ä"}, ("base64",)),
        ({"file": "missing"}, ("file",)),
        ({"file": "."}, ("file",)),
        ({"status": "200"}, ("status",)),
        ({"status": "{{ nope }}"}, ("status",)),
        ({"status": "{{ body.n }}", "raw": True}, ("status",)),
        ({"status": 204, "body": {}}, ("status",)),
        ({"status": 204, "text": "x"}, ("status",)),
        ({"status": 304, "body": None}, ("status",)),
        ({"headers": {"A": "{{ nope }}"}}, ("headers", "A")),
        ({"headers": {"A B": "x"}}, ("headers", "A B")),
        ({"headers": {"A": "x\ny"}}, ("headers", "A")),
        ({"headers": {"A": "€"}}, ("headers", "A")),
        ({"body": [{"a": "{{ nope }}"}]}, ("body", 0, "a")),
        ({"text": "{{"}, ("text",)),
        ({"when": "{{ body }}"}, ("when",)),
        ({"delay": "5"}, ("delay",)),
        ({"values": {"a": "{{ nope }}"}}, ("values", "a")),
    ],
)
def test_mistakes_are_reported_at_their_place(tmp_path, spec, at):
    reported = answer(tmp_path, **spec)[1]
    assert at in [place for place, _ in reported]


def test_status_204_without_a_body(tmp_path):
    response = written(tmp_path, status=204, headers={"A": "x"})
    assert (response.status, response.body, response.headers) == (204, b"", (("A", "x"),))


def test_a_status_computed_as_204_with_a_body_is_answered_with_500(tmp_path):
    answers = {"status": "{{ query.s | int }}", "body": 1}
    bank = engine(tmp_path, rules({"id": "r", "match": {"operation": "list"}, "respond": answers}))
    assert [ask(bank, f"/v1/things?s={s}").status for s in (203, 204, 99)] == [203, 500, 500]


def test_files_are_next_to_the_cassette(tmp_path):
    layer = rules({"id": "r", "match": {"operation": "list"}, "respond": {"file": "data/a.txt"}})
    assert ask(engine(tmp_path, {**layer, "data/a.txt": "hello"})).body == b"hello"
    (problem,) = problems(tmp_path / "without", layer)
    assert "data/a.txt" in problem.text


@pytest.mark.parametrize("fault", ["reset", "drop", "truncate", "malformed"])
def test_faults_are_passed_to_the_door(tmp_path, fault):
    assert written(tmp_path, body=1, fault=fault).fault == fault


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": None, "b": {"c": None, "d": [None, {"e": None}]}}, {"b": {"d": [None, {}]}}),
        ([None, 1, [{"a": None}]], [None, 1, [{}]]),
        (MappingProxyType({"a": None, "b": 1}), {"b": 1}),
        ({"a": "x", "b": [MappingProxyType({})]}, {"a": "x", "b": [{}]}),
        (None, None),
    ],
)
def test_members_that_are_null_are_left_out(value: Any, expected: Any) -> None:
    before = repr(value)
    assert without_nulls(value) == expected
    assert repr(value) == before


def test_a_value_without_nulls_is_returned_unchanged() -> None:
    full, lacking = {"a": "x", "b": [1, {"c": "y"}]}, {"a": None}
    assert without_nulls(full) is full
    assert without_nulls({"full": full, "lacking": lacking})["full"] is full
    assert without_nulls([full, lacking]) == [full, {}]
