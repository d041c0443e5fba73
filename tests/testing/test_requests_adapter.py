"""The requests specifics: bodies of all kinds, cookies, timeouts. The rest is in test_transports."""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.support.doors import echo
from xs2a_sandbox.features.pytest.in_process import LoopThread
from xs2a_sandbox.features.pytest.requests_adapter import RequestsAdapter
from xs2a_sandbox.http import Request, Response


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    loop = LoopThread()
    yield loop
    loop.close()


def session(adapter: RequestsAdapter) -> requests.Session:
    made = requests.Session()
    made.mount("https://", adapter)
    return made


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("text", "text"),
        (b"bytes", "bytes"),
        (io.BytesIO(b"file"), "file"),
        (io.StringIO("ü"), "ü"),
        ((piece for piece in (b"a", b"b")), "ab"),
        ({"a": "b"}, "a=b"),
        (None, ""),
    ],
)
def test_bodies_of_all_kinds_are_sent(loop: LoopThread, data: Any, expected: str) -> None:
    answer = session(RequestsAdapter(echo, loop)).post("https://bank.example/", data=data)
    assert answer.json()["body"].encode("latin-1").decode() == expected


def test_cookies_are_kept_and_sent_again(loop: LoopThread) -> None:
    async def answer(request: Request) -> Response:
        body = json.dumps(request.headers.get("Cookie")).encode()
        return Response(200, (("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2; Path=/")), body)

    client = session(RequestsAdapter(answer, loop))
    client.get("https://bank.example/")
    assert client.cookies.get_dict() == {"a": "1", "b": "2"}
    assert client.get("https://bank.example/").json() == "a=1; b=2"


def test_redirects_are_followed(loop: LoopThread) -> None:
    async def answer(request: Request) -> Response:
        return await echo(request) if request.target == "/there" else Response(303, (("Location", "/there"),))

    answered = session(RequestsAdapter(answer, loop)).get("https://bank.example/here")
    assert (answered.url, answered.json()["target"]) == ("https://bank.example/there", "/there")
    assert answered.history[0].reason == "See Other"


@pytest.mark.parametrize("timeout", [None, 5, (1, 5), (1, None)])
def test_timeouts_of_all_kinds_are_raised(loop: LoopThread, timeout: Any) -> None:
    assert session(RequestsAdapter(echo, loop)).get("https://bank.example/", timeout=timeout).status_code == 200
