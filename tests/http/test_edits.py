"""Edits of messages that breakpoints hold."""

from collections.abc import AsyncGenerator

import pytest

from xs2a_sandbox.errors import InvalidResponse
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.edits import Edits

PAIRS = (("A", "1"), ("Content-Encoding", "gzip"), ("B", "2"), ("a", "3"), ("Content-Length", "9"))


@pytest.mark.parametrize(
    ("edits", "pairs"),
    [
        (Edits(), PAIRS),
        (Edits(status=503), PAIRS),
        (Edits(headers={"A": ("4",)}), (("A", "4"), PAIRS[1], ("B", "2"), PAIRS[4])),
        (Edits(headers={"b": ("5", "6"), "C": ("7",)}),
         (*PAIRS[:2], ("b", "5"), ("b", "6"), *PAIRS[3:], ("C", "7"))),
        (Edits(headers={"A": (), "D": ()}), (PAIRS[1], PAIRS[2], PAIRS[4])),
        (Edits(body=b"plain"), (("A", "1"), ("B", "2"), ("a", "3"))),
    ],
)  # fmt: skip
def test_headers_change_in_place(edits: Edits, pairs: tuple[tuple[str, str], ...]) -> None:
    response = edits.change_response(Response(200, PAIRS, b"x"))
    request = edits.change_request(Request("POST", "/v1/x", Headers(PAIRS), b"x", "bank.example", port=443))
    assert response.headers == request.headers.pairs == pairs
    assert response.body == request.body == (b"x" if edits.body is None else edits.body)
    assert response.status == (edits.status or 200)
    assert (request.method, request.target, request.host, request.port) == ("POST", "/v1/x", "bank.example", 443)


def test_a_new_body_replaces_the_whole_body() -> None:
    async def rest() -> AsyncGenerator[bytes]:
        yield b""

    response = Response(200, (), b"x", None, rest())
    assert Edits(body=b"y").change_response(response).rest is None
    assert Edits(status=201).change_response(response).rest is response.rest


def test_an_invalid_response_is_refused() -> None:
    with pytest.raises(InvalidResponse, match="204 cannot have a body"):
        Edits(status=204).change_response(Response(200, (), b"x"))


def test_the_description_of_an_edit_contains_no_values() -> None:
    assert Edits(503, {"A": ("secret",)}, b"secret").describe() == "status, header A, body"
    assert not Edits()
    assert Edits(drop=True)
