"""An answer ready for comparison: complete, decoded and parsed."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter

from msgspec import structs

from xs2a_sandbox.clock import Clock
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http import body as content
from xs2a_sandbox.http.body import LARGEST, Content, decode
from xs2a_sandbox.http.exchange import Exchange

Ask = Callable[[Request], Awaitable[Response]]
"""Sends a request to one side. It may raise BankError."""


@dataclass(frozen=True, slots=True)
class LoadedAnswer:
    """`exchange` is in the form of a recording."""

    exchange: Exchange
    response: Response
    content: Content


async def ask(ask: Ask, request: Request, url: str) -> LoadedAnswer:
    started = perf_counter()
    response = await ask(request)
    if response.rest is not None:
        response = await _read_whole(response)
    return take(request, response, url, (perf_counter() - started) * 1000)


async def _read_whole(response: Response) -> Response:
    """Read the rest of an answer. Raises ValueError if it is too large."""
    rest = response.rest
    pieces, size = [response.body], len(response.body)
    if rest is not None:
        try:
            async for piece in rest:
                pieces.append(piece)
                size += len(piece)
                if size > LARGEST:
                    raise ValueError(f"the answer is larger than {LARGEST} bytes")
        finally:
            await rest.aclose()
    return structs.replace(response, body=b"".join(pieces), rest=None)


def take(request: Request, response: Response, url: str, milliseconds: float) -> LoadedAnswer:
    """Decode and parse an answer. Raises ValueError if its body cannot be decoded."""
    if (body := decode(Headers(response.headers), response.body)) is None:
        raise ValueError("its body cannot be decoded or is too large")
    if body is not response.body:
        response = structs.replace(response, body=body)
    exchange = Exchange.of(request, response, url, Clock().now(), milliseconds)
    return LoadedAnswer(exchange, response, content.read(body))


def load_recorded(exchange: Exchange) -> LoadedAnswer:
    """Load a recorded answer. Raises ValueError or InvalidResponse if it is incomplete or invalid."""
    if exchange.cut:
        raise ValueError("the recording contains only a part of the bank's answer")
    return LoadedAnswer(exchange, exchange.response, content.read(exchange.answer_body))
