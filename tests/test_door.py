import asyncio
from collections.abc import Awaitable, Callable

import pytest

from doors import basic, is_refusal
from xs2a_sandbox import door
from xs2a_sandbox.messages import Request, Response

REQUEST = Request("GET", "/v1/accounts")


def ask(answer: Callable[[Request], Awaitable[Response]], seconds: float = 5.0) -> Response:
    return asyncio.run(door.ask(answer, REQUEST, seconds))


def raising(error: BaseException) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_: Request) -> Response:
        raise error

    return answer


def test_the_engine_s_answer_is_handed_on() -> None:
    expected = Response(204)

    async def answer(request: Request) -> Response:
        assert request is REQUEST
        return expected

    assert ask(answer) is expected


@pytest.mark.parametrize(
    "error", [RuntimeError(), AssertionError(), TimeoutError(), asyncio.CancelledError()], ids=repr
)
def test_a_failure_is_a_500(error: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    response = ask(raising(error))
    assert response.status == 500
    assert is_refusal(response.body)
    assert ("X-Sandbox-Source", "sandbox") in response.headers
    assert "failed on GET /v1/accounts" in caplog.text


def test_a_wrong_answer_is_a_500(caplog: pytest.LogCaptureFixture) -> None:
    async def answer(_: Request) -> Response:
        return "hello"  # type: ignore[return-value]

    assert ask(answer).status == 500
    assert "answered with str" in caplog.text


def test_silence_is_a_504() -> None:
    async def answer(_: Request) -> Response:
        await asyncio.Event().wait()
        return Response()

    response = ask(answer, 0.01)
    assert response.status == 504
    assert is_refusal(response.body)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_the_end_of_the_process_is_nobody_s_to_answer(error: type[BaseException]) -> None:
    with pytest.raises(error):
        ask(raising(error()))


def test_a_cancelled_request_stays_cancelled() -> None:
    async def main() -> None:
        begun = asyncio.Event()

        async def answer(_: Request) -> Response:
            begun.set()
            await asyncio.Event().wait()
            return Response()

        task = asyncio.create_task(door.ask(answer, REQUEST, 5))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


@pytest.mark.parametrize(
    ("response", "method", "expected"),
    [
        (Response(200, (("A", "1"),), b"abc"), "GET", [("A", "1"), ("Content-Length", "3")]),
        (
            Response(200, (("content-length", "9"), ("Keep-Alive", "x")), b"abc"),
            "GET",
            [("Content-Length", "3")],
        ),
        (Response(200, (("Connection", "close"),)), "GET", [("Content-Length", "0")]),
        (Response(200, (), b"abc"), "HEAD", [("Content-Length", "3")]),
        (Response(200, (("Content-Length", "7"),)), "HEAD", [("Content-Length", "7")]),
        (Response(200, (("A", "1"),)), "HEAD", [("A", "1")]),
        (Response(204, (("Content-Length", "0"), ("A", "1"))), "GET", [("A", "1")]),
        (Response(304), "GET", []),
    ],
)
def test_framing(response: Response, method: str, expected: list[tuple[str, str]]) -> None:
    assert door.framed(response, method) == expected


@pytest.mark.parametrize(
    ("authority", "expected"),
    [
        ("Bank.Example:443", "bank.example"),
        ("bank", "bank"),
        ("[::1]:81", "::1"),
        ("127.0.0.1:1", "127.0.0.1"),
        ("", ""),
    ],
)
def test_hostname(authority: str, expected: str) -> None:
    assert door.hostname(authority) == expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (basic("ci-42", "x:y"), b"ci-42:x:y"),
        ("basic  YTpi ", b"a:b"),
        ("", b""),
        ("Bearer YTpi", b""),
        ("Basic !!!", b""),
        ("Basic \xe4", b""),
        ("Basic", b""),
    ],
)
def test_credentials(header: str, expected: bytes) -> None:
    assert door.credentials(header) == expected
