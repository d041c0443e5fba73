"""docs/control-openapi.yaml is valid, and matches the routes and the control interface."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator, validate
from tools.generate.control_openapi import document

import xs2a_sandbox
from tests.support.admin import CONSENT, DATA, Admin, governed
from tests.support.engine_client import NO_BODY, Client
from xs2a_sandbox.control.api import ROUTES, WARNING
from xs2a_sandbox.control.route import ERRORS, ControlRoute

PACKAGE = Path(xs2a_sandbox.__file__).parent
SOURCES = ("control", "explain/request.py")
RULE = {"id": "busy", "match": {"operation": "consent-status"}, "respond": {"status": 503}}
CONSENT_BODY = {
    "access": {"balances": [{"iban": iban} for iban in list(DATA["accounts"])[:1]]},
    "recurringIndicator": True,
    "validUntil": "2099-12-31",
    "frequencyPerDay": 4,
}


@pytest.fixture(scope="module")
def written() -> dict[str, Any]:
    return document()


def test_the_document_is_valid(written: dict[str, Any]) -> None:
    validate(written, cls=OpenAPIV31SpecValidator)


def test_every_error_in_the_code_is_declared_with_its_status() -> None:
    refusals = set(raised())

    assert refusals
    # Errors about the way to a bank are not answers of the control interface.
    assert refusals - {(403, "token-refused"), (400, "target-refused")} <= {
        (status, name) for name, status in ERRORS.items()
    }


def raised() -> Iterator[tuple[int, str]]:
    """Yield the status and name of each error in the source of the control interface."""
    for source in SOURCES:
        path = PACKAGE / source
        for file in [path] if path.is_file() else path.glob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                match node:
                    case ast.Call(
                        func=ast.Name("Refused"), args=[ast.Constant(int(status)), ast.Constant(str(name)), *_]
                    ):
                        yield status, name


def test_each_route_has_one_id() -> None:
    ids = [route.id for route in ROUTES]
    assert len(ids) == len(set(ids))


TRIED: dict[str, list[tuple[str, Any, str]]] = {
    "collections": [("state", NO_BODY, "")],
    "collection": [
        ("state/consents?redacted=true", NO_BODY, ""),
        ("state/consents?redcated=true", NO_BODY, "query-invalid"),
    ],
    "callbacks": [("callbacks", NO_BODY, "")],
    "resend_callback": [("callbacks/consents.none.1/resend", NO_BODY, "callback-unknown")],
    "document": [(f"state/consents/{CONSENT}", NO_BODY, ""), ("state/consents/other", NO_BODY, "document-unknown")],
    "put_document": [
        ("state/notes/n1", {"colour": "blue"}, ""),
        ("state/notes/n1", {"colour": "red"}, ""),
        ("state/_session/time", {}, "collection-own"),
        ("state/notes/n1", [], "body-invalid"),
        ("state//n1", {}, "id-empty"),
    ],
    "delete_document": [
        ("state/notes/n1", NO_BODY, ""),
        ("state/notes/n1", NO_BODY, "document-unknown"),
        ("state/_session/time", NO_BODY, "collection-own"),
    ],
    "available": [("available", NO_BODY, "")],
    "clock": [("clock", NO_BODY, "")],
    "due": [("due", NO_BODY, "")],
    "set_clock": [("clock", {"shift": "1m"}, ""), ("clock", {"real": 1}, "body-invalid")],
    "move_clock": [("clock", {"move": "1m"}, ""), ("clock", {"move": "1M"}, "body-invalid")],
    "checks": [("checks", NO_BODY, "")],
    "set_checks": [("checks", {"checks": ["rights"]}, ""), ("checks", {"checks": ["tokne"]}, "body-invalid")],
    "sessions": [("sessions", NO_BODY, "")],
    "session_documents": [
        ("sessions/default", NO_BODY, ""),
        ("sessions/no%20name", NO_BODY, "session-invalid"),
        ("sessions/nobody", NO_BODY, "session-unknown"),
    ],
    "status": [("status", NO_BODY, "")],
    "dialect": [("dialect", NO_BODY, "")],
    "authorisation": [("sca/{authorisation}", NO_BODY, ""), ("sca/other", NO_BODY, "authorisation-unknown")],
    "decide": [
        ("sca/{authorisation}", {"decide": "later"}, "body-invalid"),
        ("sca/{authorisation}", {"decide": "decline"}, ""),
        ("sca/{authorisation}", {"decide": "decline"}, "decided"),
        ("sca/other", {"decide": "decline"}, "authorisation-unknown"),
    ],
    "add_fault": [
        ("faults", {"operation": "consent-status", "status": 503, "next": 1, "every": 2}, ""),
        ("faults", {"operation": "consent-staus", "status": 503}, "body-invalid"),
    ],
    "faults": [("faults", NO_BODY, "")],
    "delete_fault": [("faults/fault-1", NO_BODY, ""), ("faults/fault-1", NO_BODY, "fault-unknown")],
    "clear_faults": [("faults", NO_BODY, "")],
    "add_break": [
        ("breaks", {"operation": "consent-status", "on": "response", "next": 2, "timeout": "30s"}, ""),
        ("breaks", {"on": "both"}, "body-invalid"),
    ],
    "breaks": [("breaks", NO_BODY, "")],
    "delete_break": [("breaks/break-1", NO_BODY, ""), ("breaks/break-1", NO_BODY, "break-unknown")],
    "clear_breaks": [("breaks", NO_BODY, "")],
    "held": [("held", NO_BODY, "")],
    "release": [
        ("held/held-1", {"continue": True}, "held-unknown"),
        ("held/held-1", {"continue": True, "drop": True}, "body-invalid"),
    ],
    "add_rules": [
        ("rules", {"rules": [RULE]}, ""),
        ("rules", {"rules": [{"match": {"operation": "consent-staus"}, "respond": {}}]}, "body-invalid"),
    ],
    "rules": [("rules", NO_BODY, "")],
    "delete_rules": [("rules/rules-1", NO_BODY, ""), ("rules/rules-1", NO_BODY, "rules-unknown")],
    "clear_rules": [("rules", NO_BODY, "")],
    "explain": [
        ("explain", {"method": "GET", "url": "/v1/accounts"}, ""),
        ("explain", {"method": "GET", "url": "/v1/acounts"}, ""),
        ("explain", {"method": "GET"}, "body-invalid"),
    ],
    "journal": [("journal?status=201", NO_BODY, ""), ("journal?what=1", NO_BODY, "query-invalid")],
    "exchange": [("journal/1?plain=true", NO_BODY, ""), ("journal/99", NO_BODY, "exchange-unknown")],
    "explain_exchange": [("journal/1/explain", NO_BODY, ""), ("journal/99/explain", NO_BODY, "exchange-unknown")],
    "send_again": [("journal/1/send", NO_BODY, ""), ("journal/99/send", NO_BODY, "exchange-unknown")],
    "compare_exchange": [
        ("journal/1/compare", NO_BODY, "bank-not-asked"),
        ("journal/1/compare", {"allow_writes": 1}, "body-invalid"),
        ("journal/99/compare", NO_BODY, "exchange-unknown"),
    ],
    "assert_journal": [
        ("journal/assert", {"match": {"method": "POST"}, "times": {"min": 1}}, ""),
        ("journal/assert", {"match": {"method": "PATCH"}}, "journal-mismatch"),
    ],
    "clear_journal": [("journal", NO_BODY, "")],
    "happen": [
        ("state/consents/{consent}", {"event": "flies away"}, "event-impossible"),
        ("state/consents/{consent}", {"event": "delete"}, ""),
        ("state/consents/other", {"event": "delete"}, "document-unknown"),
        ("state/accounts/other", {"event": "delete"}, "events-unknown"),
        ("state/_session/time", {"event": "delete"}, "collection-own"),
        ("state/consents/{consent}", [], "body-invalid"),
    ],
    "delete_session": [("sessions/default", NO_BODY, ""), ("sessions/nobody", NO_BODY, "session-unknown")],
    "reset": [("reset", NO_BODY, ""), ("reset", {"all": True}, ""), ("reset", {"all": 1}, "body-invalid")],
}
"""Requests for each route, in this order, each with the name of the expected error, if any."""


def test_answers_match_the_document(written: dict[str, Any]) -> None:
    client = Client(governed())
    admin = Admin(client)
    started = client.post("/v1/consents", json=CONSENT_BODY)
    consent = started.json()["consentId"]
    client.post(f"/v1/consents/{consent}/authorisations", json={})
    authorisation = next(iter(admin.get("state/authorisations")))
    by_id = {route.id: route for route in ROUTES}

    assert TRIED.keys() == by_id.keys()
    for id, requests in TRIED.items():
        for path, body, error in requests:
            answer = admin.ask(by_id[id].method, path.format(authorisation=authorisation, consent=consent), body)
            check_answer(written, by_id[id], answer, error)


def check_answer(written: dict[str, Any], route: ControlRoute[Any], answer: Any, error: str) -> None:
    """Check an answer against the document."""
    operation = written["paths"][f"/_sandbox/{route.path}"][route.method.lower()]
    declared = operation["responses"].get(str(answer.status))
    assert declared, (route.id, answer.status, answer.body)
    if error:
        assert answer.json()["error"] == error, (route.id, answer.body)
        assert error in declared["description"].split(", ")
    else:
        assert answer.status < 300, (route.id, answer.body)
    if "content" in declared:
        schema = {**declared["content"]["application/json"]["schema"], "components": written["components"]}
        jsonschema.validate(answer.json(), schema)
        check_members_are_declared(answer.json(), schema, written)
    else:
        assert answer.body == b""
    if WARNING.lower() in answer.headers:
        assert WARNING in declared["headers"]


def check_members_are_declared(value: Any, schema: dict[str, Any], written: dict[str, Any]) -> None:
    """Check that the shape of an object declares all its members."""
    shape = written["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2], {})
    if shape.get("title") not in ("ErrorShape", "AuthorisationShape"):
        assert set(value) <= set(shape.get("properties", value)), shape
