"""Requests built for an operation, with ids at the places that the interface defines."""

import json
from pathlib import Path
from typing import Any

from tests.support.engine_client import bundled_engine
from tests.support.writing import BANK, check
from xs2a_sandbox.cassette.addressing import address, put
from xs2a_sandbox.cassette.things import Place
from xs2a_sandbox.http import Headers, Request


def test_ids_are_put_into_the_path() -> None:
    interface = bundled_engine().interface
    operation = interface.operations["start-payment-authorisation"]
    values = {"service": "payments", "product": "sepa credit"}

    request = address(operation, interface.things, {"payment": "a/b"}, values)

    assert request
    assert (request.method, request.target) == ("POST", "/v1/payments/sepa%20credit/a%2Fb/authorisations")
    assert request.headers.pairs == ()
    assert address(operation, interface.things, {"payment": "a"}, {"service": "payments"}) is None


def test_ids_are_put_where_the_interface_defines_them(tmp_path: Path) -> None:
    operation = {"id": "a", "method": "POST", "path": "/v1/a", "does": "read consent", "respond": {}}
    things: Any = {"consent": {"id": ["path.ref", "body.data.ref"]}, "account": {"id": "answer.x"}}
    interface, _ = check(tmp_path, bank={**BANK, "operations": [operation], "things": things})
    assert interface

    request = address(interface.operations["a"], interface.things, {"consent": "c"}, {})

    assert request
    assert request.headers.get("content-type") == "application/json"
    assert json.loads(request.body) == {"data": {"ref": "c"}}


def test_a_value_is_added_to_existing_content() -> None:
    request = Request("POST", "/a?x=1", Headers([("Content-Type", "application/json")]), b'{"data":{"a":1}}')

    assert put(request, Place("query", ("q",)), "b c").target == "/a?x=1&q=b+c"
    assert put(request, Place("headers", ("consent-id",)), "c").headers.pairs[1:] == (("Consent-ID", "c"),)
    assert json.loads(put(request, Place("body", ("data", "ref")), "c").body) == {"data": {"a": 1, "ref": "c"}}
