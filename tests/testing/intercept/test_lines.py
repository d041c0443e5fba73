"""Connections to a bank in this process, as a client without a library uses them."""

import socket

import pytest

from tests.support.doors import DEADLINE
from tests.testing.sandboxes import LOOP
from xs2a_sandbox.features.pytest.intercept.lines import Caller, Lines
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.origin import Origin


class Told:
    """A bank that stores its requests, with a client that is notified when it has waited too long."""

    def __init__(self, seconds: float | None = None) -> None:
        self.requests: list[Request] = []
        self.gave_up = 0
        self.seconds = seconds
        self.lines = Lines(self.answer, lambda _, response, *__: response, LOOP)

    async def answer(self, request: Request) -> Response:
        self.requests.append(request)
        if request.target == "/late":
            raise TimeoutError
        return Response(200, (), request.body or b"nothing")

    def give_up(self) -> None:
        self.gave_up += 1

    def open(self, origin: Origin) -> socket.socket:
        near = self.lines.open(origin, Caller(lambda: self.seconds, self.give_up))
        near.settimeout(DEADLINE)
        return near


def ask(near: socket.socket, head: bytes) -> bytes:
    near.sendall(head + b"\r\n\r\n")
    return near.recv(65536)


@pytest.mark.parametrize(
    ("head", "place"),
    [
        (b"GET /a?b=1 HTTP/1.1\r\nHost: bank.test", ("https", "bank.test", "/a?b=1")),
        (b"GET /a HTTP/1.0", ("https", "named.test", "/a")),
        (b"GET http://other.test:81/a HTTP/1.1\r\nHost: other.test:81", ("http", "other.test", "/a")),
    ],
)
def test_the_host_header_decides_who_a_request_is_for_or_else_the_connection(
    head: bytes, place: tuple[str, str, str]
) -> None:
    told = Told()
    with told.open(Origin("https", "named.test", 443)) as near:
        assert ask(near, head).endswith(b"nothing")
    told.lines.close()
    (request,) = told.requests
    assert (request.scheme, request.host, request.target) == place


def test_a_client_that_has_waited_too_long_is_notified_and_disconnected() -> None:
    told = Told(seconds=1)
    with told.open(Origin("https", "bank.test", 443)) as near:
        assert ask(near, b"GET /late HTTP/1.1\r\nHost: bank.test") == b""
    told.lines.close()
    assert told.gave_up == 1
