"""A client in process gets the same answers and the same exceptions as over a socket."""

import asyncio
import builtins
import gzip
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import requests

from tests.support.doors import DEADLINE, echo, opened
from tests.support.roads import direct_door
from xs2a_sandbox.doors.door import Application
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.pytest import sandbox as transports
from xs2a_sandbox.features.pytest.in_process import LoopThread
from xs2a_sandbox.http import Request, Response

Ask = Callable[..., tuple[int, list[tuple[str, str]], bytes]]
"""Takes a method, a URL and options; returns the client's result."""


def with_httpx(transport: Any = None) -> Ask:
    def ask(method: str, url: str, **options: Any) -> tuple[int, list[tuple[str, str]], bytes]:
        with httpx.Client(transport=transport, trust_env=False) as client:
            answer = client.request(method, url, **options)
        return answer.status_code, [(n.lower(), v) for n, v in answer.headers.multi_items()], answer.content

    return ask


def with_async_httpx(transport: Any = None) -> Ask:
    def ask(method: str, url: str, **options: Any) -> tuple[int, list[tuple[str, str]], bytes]:
        async def received() -> httpx.Response:
            async with httpx.AsyncClient(transport=transport, trust_env=False) as client:
                return await client.request(method, url, **options)

        answer = asyncio.run(received())
        return answer.status_code, [(n.lower(), v) for n, v in answer.headers.multi_items()], answer.content

    return ask


def with_requests(adapter: Any = None) -> Ask:
    def ask(method: str, url: str, **options: Any) -> tuple[int, list[tuple[str, str]], bytes]:
        with requests.Session() as session:
            session.trust_env = False
            if adapter:
                session.mount("http://", adapter)
            answer = session.request(method, url, allow_redirects=False, **options)
        return answer.status_code, [(n.lower(), v) for n, v in answer.headers.items()], answer.content

    return ask


CLIENTS: dict[str, tuple[Callable[..., Ask], Any]] = {
    "httpx": (with_httpx, transports.httpx_transport),
    "async httpx": (with_async_httpx, transports.httpx_transport),
    "requests": (with_requests, transports.requests_adapter),
}


@pytest.fixture(scope="module")
def loop() -> Iterator[LoopThread]:
    loop = LoopThread()
    yield loop
    loop.close()


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> tuple[Callable[..., Ask], Any]:
    return CLIENTS[request.param]


def both(client: Any, loop: LoopThread, answer: Application, ask: Callable[[Ask, str], Any]) -> tuple[Any, Any]:
    """Return the results of `ask` for the same engine over a socket and in process."""
    make, transport = client
    with opened(lambda: direct_door(answer)) as (door, _):
        url = f"http://127.0.0.1:{door.port}"
        over_socket = ask(make(), url)
        return over_socket, ask(make(transport(answer, loop)), url)


def plain(seen: tuple[int, list[tuple[str, str]], bytes]) -> Any:
    """Return the headers without those that a server adds to every answer."""
    status, headers, body = seen
    return status, sorted(pair for pair in headers if pair[0] not in ("date", "connection")), body


@pytest.mark.parametrize(
    ("method", "path", "options"),
    [
        ("GET", "/v1/accounts?withBalance=true&x=a%20b", {}),
        ("POST", "/s/me/v1/consents", {"json": {"a": "ü", "n": 1.10}}),
        ("PUT", "/v1/x%2Fy", {"data": {"a": "b"}, "headers": {"X-A": "1"}}),
        ("DELETE", "/v1/consents/x", {}),
    ],
)
def test_the_engine_gets_the_same_request(client: Any, loop: LoopThread, method: str, path: str, options: Any) -> None:
    def request_seen(ask: Ask, url: str) -> Any:
        body = json.loads(ask(method, url + path, **options)[2])
        body["headers"] = sorted([name.lower(), value] for name, value in body["headers"])
        return {**body, "door": "any"}

    over_socket, in_process = both(client, loop, echo, request_seen)
    assert in_process == over_socket


@pytest.mark.parametrize(
    "response",
    [
        Response(200, (("Content-Type", "application/json"), ("Set-Cookie", "a=b"), ("X-Y", "ü")), b"{}"),
        Response(200, (("X-Two", "a"), ("X-Two", "b")), b"x" * 100_000),
        Response(204),
        Response(303, (("Location", "/elsewhere"),)),
        Response(404, (("Content-Length", "77"), ("Transfer-Encoding", "chunked")), b"short"),
        Response(599, (), b"\xff\xfe"),
        Response(200, (("Content-Encoding", "gzip"),), gzip.compress(b"hello")),
    ],
    ids=lambda r: f"{r.status} {len(r.body)}",
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_client_gets_the_same_answer(client: Any, loop: LoopThread, response: Response, method: str) -> None:
    async def answer(request: Request) -> Response:
        return response.without_body() if request.method == "HEAD" else response

    over_socket, in_process = both(client, loop, answer, lambda ask, url: plain(ask(method, url)))
    assert in_process == over_socket


@pytest.mark.parametrize("fault", ["reset", "drop", "truncate", "malformed"])
@pytest.mark.parametrize("body", [b"", b"x", b"0123456789"])
def test_a_fault_raises_the_same_exception(client: Any, loop: LoopThread, fault: str, body: bytes) -> None:
    async def answer(request: Request) -> Response:
        return Response(200, (), body, fault)

    def raised(ask: Ask, url: str) -> Any:
        with pytest.raises((httpx.HTTPError, requests.RequestException)) as caught:
            ask("GET", url)
        return type(caught.value), type(caught.value.args[0]), caught.value.request is not None

    over_socket, in_process = both(client, loop, answer, raised)
    assert in_process == over_socket


def test_a_timeout_raises_the_clients_own_exception(client: Any, loop: LoopThread) -> None:
    async def answer(request: Request) -> Response:
        await asyncio.sleep(DEADLINE * 10)
        return Response()

    def raised(ask: Ask, url: str) -> Any:
        with pytest.raises((httpx.ReadTimeout, requests.ReadTimeout)) as caught:
            ask("GET", url, timeout=0.05)
        return type(caught.value)

    over_socket, in_process = both(client, loop, answer, raised)
    assert in_process == over_socket


def test_a_long_answer_is_read_completely_and_closed(client: Any, loop: LoopThread) -> None:
    closed = []

    async def rest():  # type: ignore[no-untyped-def]
        try:
            yield b"two"
            yield b"three"
        finally:
            closed.append(True)

    async def answer(request: Request) -> Response:
        return Response(200, (), b"one", rest=rest())

    make, transport = client
    _, headers, body = make(transport(answer, loop))("GET", "http://bank.example/")
    assert (body, dict(headers)["content-length"], closed) == (b"onetwothree", "11", [True])


@pytest.mark.parametrize("host", ["bank.example", "localhost:8081", "[::1]:9", "user:pw@bank.example"])
def test_every_host_belongs_to_the_bank(client: Any, loop: LoopThread, host: str) -> None:
    make, transport = client
    status, _, body = make(transport(echo, loop))("GET", f"http://{host}/v1/x")
    content = json.loads(body)
    assert (status, content["target"], content["door"]) == (200, "/v1/x", "process")
    assert ["host", host.rpartition("@")[2]] in [[n.lower(), v] for n, v in content["headers"]]


def test_a_sync_client_works_in_a_running_loop_and_loops_can_be_used_in_turn(loop: LoopThread) -> None:
    transport = transports.httpx_transport(echo, loop)

    async def caller() -> list[int]:
        with httpx.Client(transport=transport) as client:
            first = client.get("http://bank.example/")  # noqa: ASYNC212
        async with httpx.AsyncClient(transport=transport) as other:
            return [first.status_code, (await other.get("http://bank.example/")).status_code]

    assert [asyncio.run(caller()) for _ in range(3)] == [[200, 200]] * 3


def test_one_loop_can_send_many_concurrent_requests(loop: LoopThread) -> None:
    async def caller() -> list[str]:
        async with httpx.AsyncClient(transport=transports.httpx_transport(echo, loop)) as client:
            answers = await asyncio.gather(*(client.get(f"http://bank.example/{n}") for n in range(50)))
        return [answer.json()["target"] for answer in answers]

    assert asyncio.run(caller()) == [f"/{n}" for n in range(50)]


@pytest.mark.parametrize(("package", "make"), [("httpx", "httpx_transport"), ("requests", "requests_adapter")])
def test_a_missing_library_is_an_error_with_instructions(
    loop: LoopThread, package: str, make: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def missing(name: str, *arguments: Any, **options: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *arguments, **options)

    monkeypatch.delitem(sys.modules, f"xs2a_sandbox.features.pytest.{make}", raising=False)
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(UserMistake, match=f"{package} is not installed here: install it"):
        getattr(transports, make)(echo, loop)
