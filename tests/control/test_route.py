"""Bodies of control requests: JSON objects with members that are known, or a refusal that says what is wrong."""

from typing import Any

import pytest

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.call import Session
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.control.api import ROUTES
from xs2a_sandbox.control.route import ControlRequest, kind
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.state import MemoryStore, Transaction
from xs2a_sandbox.state.session import DEFAULT


def control_request(body: bytes) -> ControlRequest:
    store = MemoryStore()
    state = Transaction(store, DEFAULT, lambda _: {})
    path = "/_sandbox/clock"
    call = Call(Request("PUT", path, body=body), split_target(path), Session(DEFAULT, ""), Clock(), state)
    return ControlRequest(call, (), ROUTES[0], store)


def test_an_object_is_taken() -> None:
    assert control_request(b'{"shift": "1d"}').body("shift", "frozen") == {"shift": "1d"}
    assert control_request(b'{"anything": [1]}').body() == {"anything": [1]}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"[1]", "must be a JSON object, not a list"),
        (b"null", "not null"),
        (b"{", "JSON"),
        (b"", "JSON"),
        (b'{"shift": 1, "shift": 2}', "shift"),
        (b'{"shfit": 1}', "a member 'shfit'; known here: shift, frozen"),
    ],
)
def test_anything_else_is_refused(body: bytes, said: str) -> None:
    with pytest.raises(Refused, match=said) as refused:
        control_request(body).body("shift", "frozen")
    assert (refused.value.status, refused.value.error) == (400, "body-invalid")


@pytest.mark.parametrize(
    ("value", "name"),
    [(None, "null"), ([], "a list"), ("", "a text"), (False, "true or false"), ({}, "an object"), (0, "a number")],
)
def test_kinds_of_values(value: Any, name: str) -> None:
    assert kind(value) == name
