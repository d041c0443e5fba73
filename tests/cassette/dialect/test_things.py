"""Things of an interface as a dialect defines them, and mistakes in the definitions."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.engine_client import bundled_engine, speaking
from tests.support.writing import BANK, check, problems
from xs2a_sandbox.cassette.dialect.things import default_things
from xs2a_sandbox.cassette.things import Place

CONSENT = {
    "id": ["path.ref", "headers['X-Agreement']", "body.data.ref", "answer.data.ref"],
    "state": "answer.data.phase",
    "decided": ["GRANTED", "OVER"],
}


def test_places_are_parsed(tmp_path: Path) -> None:
    interface, found = check(tmp_path, {"a.yaml": {"cassette": 1, "things": {"consent": CONSENT}}})

    assert found == []
    assert interface
    consent = interface.things["consent"]
    assert consent.sent == (
        Place("path", ("ref",)),
        Place("headers", ("x-agreement",)),
        Place("body", ("data", "ref")),
    )
    assert consent.answered == (Place("answer", ("data", "ref")),)
    assert (consent.state, consent.authorised) == (Place("answer", ("data", "phase")), "GRANTED")
    assert interface.things.identifiers == {"ref"}
    assert interface.things.states == {"phase"}
    assert interface.things["payment"].sent == ()


def test_a_layer_contains_only_its_differences(tmp_path: Path) -> None:
    layers: list[Any] = [
        {"a.yaml": {"cassette": 1, "things": {"consent": CONSENT}}},
        {"a.yaml": {"cassette": 1, "things": {"consent": {"state": "answer.state"}, "account": {"key": ["iban"]}}}},
    ]
    interface, found = check(tmp_path, *layers)

    assert found == []
    assert interface
    assert interface.things["consent"].state == Place("answer", ("state",))
    assert interface.things["consent"].decided == ("GRANTED", "OVER")
    assert interface.things.keys == ("ref", "iban")


def test_a_dialect_without_things_uses_the_bundled_definitions(tmp_path: Path) -> None:
    interface, _ = check(tmp_path)
    assert interface
    assert interface.things is default_things()
    assert bundled_engine().interface.things == default_things()
    assert speaking("berlin-group-1.3").interface.things == default_things()


@pytest.mark.parametrize(
    ("things", "text"),
    [
        ({"consents": {}}, "consent"),
        ({"consent": {"ids": "path.x"}}, "id"),
        (
            {"consent": {"id": "token.ref"}},
            "'token.ref' is not a place: it must be a name below path, query",
        ),
        ({"consent": {"id": ["path.a", "path.b or path.c"]}}, "'path.b or path.c' is not a place"),
        ({"consent": {"id": "path.a.b"}}, "is too deep: write only one name after path"),
        ({"consent": {"id": "path"}}, "'path' is not a place"),
        ({"consent": {"id": "path.a["}}, "expected"),
        ({"consent": {"state": "body.state"}}, "'body.state' is not a place: it must be a name below answer"),
        ({"customer": {"present": "answer.x"}}, "'answer.x' is not a place"),
    ],
)
def test_mistakes_are_reported(tmp_path: Path, things: Any, text: str) -> None:
    (problem,) = problems(tmp_path, {"a.yaml": {"cassette": 1, "things": things}})
    assert text in problem.text
    assert problem.file.name == "a.yaml"


@pytest.mark.parametrize(
    ("does", "text"),
    [
        ("reads consent", "unknown verb 'reads'; did you mean read?"),
        ("read consents", "unknown object 'consents'; did you mean consent?"),
        ("list entry of accounts", "unknown object 'accounts'; did you mean account?"),
        ("consent", "it must be a verb and an object"),
        ("list entry from account", "it must be a verb and an object"),
    ],
)
def test_mistakes_in_the_key_does(tmp_path: Path, does: str, text: str) -> None:
    operation = {"id": "a", "method": "GET", "path": "/v1/a", "does": does, "respond": {}}
    (problem,) = problems(tmp_path, bank={**BANK, "operations": [operation]})
    assert problem.text.startswith(text)


def test_the_key_does_defaults_to_what_the_handler_does(tmp_path: Path) -> None:
    operations = bundled_engine().interface.operations
    assert {
        id: str(operations[id].does)
        for id in ("create-consent", "consent-status", "payment-status", "start-consent-authorisation")
    } == {
        "create-consent": "create consent",
        "consent-status": "read state of consent",
        "payment-status": "read state of payment",
        "start-consent-authorisation": "create authorisation of consent",
    }
    silent, _ = check(tmp_path)
    assert silent
    assert [(one.does, one.reads) for one in silent.operations.values()] == [(None, True), (None, True), (None, False)]
