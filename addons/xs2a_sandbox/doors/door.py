"""Common work of all doors: asking the engine, and answering if the engine does not."""

import asyncio
import binascii
import errno
import gc
import hmac
import logging
import re
import socket
import struct
from base64 import b64decode
from collections.abc import Callable, Coroutine, Iterable
from contextlib import aclosing, suppress
from http import HTTPStatus
from time import perf_counter
from typing import Any

from msgspec import structs

from xs2a_sandbox.config.limits import Limits
from xs2a_sandbox.errors import BankError, ConfigError, SandboxError
from xs2a_sandbox.http import Request, Response, messages
from xs2a_sandbox.http.header_fields import HOP_BY_HOP
from xs2a_sandbox.http.messages import Door, OwnRefusal
from xs2a_sandbox.http.origin import address
from xs2a_sandbox.http.patience import Patience
from xs2a_sandbox.http.target import outline
from xs2a_sandbox.journal import reason

CERTIFICATES = "client_certificates"
"""The key of a transport's extra information for the client's certificates in DER, its own first."""

type Application = Callable[[Request], Coroutine[Any, Any, Response]]

type Repeat = Callable[[Request], Response | None]
"""Returns the engine's cached answer to a repeated request, or None."""

type Waiting = set[asyncio.Timeout]
"""The time limits of requests that the engine has not answered yet."""

type RefusalHandler = Callable[[Request, Response, float, BaseException | None], Response]
"""Called with every answer that a door gives itself, its duration in seconds, and the exception, if something broke.

It returns the answer in the words of the bank.
"""

_PHRASES = {status.value: status.phrase for status in HTTPStatus}

SET_BY_DOORS = HOP_BY_HOP | {"content-length"}

LINGER = 1.0
"""Seconds without a byte after which a rejected client is assumed to have stopped sending."""

LINGERS = 10
"""The number of times that these seconds are extended for a client that keeps sending."""

_NOW = 0.0
"""A time that is in the past on the clock of any loop."""

logger = logging.getLogger(__name__)


def unkept(_: Request) -> None:
    """Default for an engine without a cache."""


def refusal(status: int, code: str, number: str, text: str, *headers: tuple[str, str]) -> OwnRefusal:
    """Build an error response that comes from the door, not from the bank."""
    return messages.refusal(status, code, number, text, ("X-Sandbox-Source", "sandbox"), *headers)


def said_by_table(words: OwnRefusal, name: str, **values: Any) -> OwnRefusal:
    """Mark the answer as this error of the dialect's table. `words` are used if no bank answers."""
    return structs.replace(words, error=BankError(name, **values))


_FAILURE = "the sandbox failed on this request; see its log"
FAILED = said_by_table(
    refusal(500, "INTERNAL_SERVER_ERROR", "XS2A990E", _FAILURE),
    "internal",
    reason=_FAILURE,
)
STOPPED = refusal(503, "SERVICE_UNAVAILABLE", "XS2A996E", "the sandbox is stopping, and the answer took too long")
TOO_MANY_CONNECTIONS = refusal(
    503, "SERVICE_UNAVAILABLE", "XS2A997E", "too many connections are open, so this one is closed", ("Retry-After", "1")
)
LATE = said_by_table(refusal(504, "INTERNAL_SERVER_ERROR", "XS2A991E", "the sandbox did not answer in time"), "timeout")
PROXY_AUTH_REQUIRED = refusal(
    407,
    "PROXY_AUTHENTICATION_REQUIRED",
    "XS2A992E",
    "this proxy requires the user name and password given with --proxy-auth",
    ("Proxy-Authenticate", 'Basic realm="xs2a-sandbox"'),
)
BROKEN = refusal(502, "SERVICE_UNAVAILABLE", "XS2A981E", "the bank broke off in the middle of its answer")


def endless(limits: Limits) -> OwnRefusal:
    text = f"the answer is larger than {limits.swallowed} bytes; request it at the base URL"
    return refusal(502, "SERVICE_UNAVAILABLE", "XS2A988E", text)


def body_too_large(limits: Limits) -> OwnRefusal:
    words = refusal(413, "FORMAT_ERROR", "XS2A905E", f"the body must not be larger than {limits.body} bytes")
    return said_by_table(words, "body-too-large", limit=limits.body)


def head_too_large(limits: Limits, *, line_is_open: bool) -> OwnRefusal:
    """Return the answer to a too long request line if `line_is_open`, otherwise to too large headers."""
    if line_is_open:
        text = f"path and query must not be longer than {limits.target} bytes"
        return said_by_table(refusal(414, "FORMAT_ERROR", "XS2A908E", text), "target-too-long", limit=limits.target)
    text = f"the headers together must not be larger than {limits.headers} bytes"
    return said_by_table(refusal(431, "FORMAT_ERROR", "XS2A909E", text), "headers-too-large", limit=limits.headers)


def malformed(reason: str) -> OwnRefusal:
    """Return the answer to a malformed request. `reason` must not quote the request, which may contain secrets."""
    return refusal(400, "FORMAT_ERROR", "XS2A989E", f"this is not HTTP: {reason}")


LONG_CHUNK_LINE = malformed("a line between the chunks of its body is too long")


NO_PROXY = malformed("use CONNECT only at the port given with --proxy-port")


def as_http1(response: Response) -> bytes:
    """Return the message for a response after which the connection is closed."""
    return head(response.status, [*frame_headers(response, "GET"), ("Connection", "close")]) + response.body


def head(status: int, fields: Iterable[tuple[str, str]]) -> bytes:
    """Return the status line and the headers."""
    lines = [f"{name}: {value}\r\n" for name, value in fields]
    return f"HTTP/1.1 {status} {_PHRASES.get(status, '')}\r\n{''.join(lines)}\r\n".encode("latin-1")


def unread_request(door: Door) -> Request:
    """Return a placeholder for a request that could not be read."""
    return Request("-", "-", door=door)


async def ask(
    answer: Application,
    request: Request,
    seconds: float,
    tell: RefusalHandler,
    waiting: Waiting,
    patience: Patience | None = None,
) -> Response:
    """Return the engine's answer: 500 if it fails, 504 after `seconds`, 503 if `waiting` is stopped.

    The time for which a breakpoint holds the exchange does not count.
    """
    started = perf_counter()
    if wish := request.headers.first.get("upgrade"):
        _note_upgrade(request, wish)
    limit, patience = asyncio.timeout(seconds), patience or Patience()
    patience.begin(limit, seconds)
    try:
        # Most answers need no wait and no limit: an eagerly started task has then finished here.
        work = asyncio.Task(answer(request), loop=asyncio.get_running_loop(), eager_start=True)
        if not work.done():
            async with limit:
                waiting.add(limit)
                patience.start_limit()
                try:
                    await work
                finally:
                    waiting.discard(limit)
        response = work.result()
        if not isinstance(response, Response):
            raise TypeError(f"the engine answered with {type(response).__name__}, not with a Response")
    except BaseException as error:
        if is_ending(error):
            raise
        if limit.expired() and limit.when() == _NOW:
            return tell(request, STOPPED, perf_counter() - started, None)
        if limit.expired():
            late = tell(request, LATE, perf_counter() - started, None)
            logger.error("no answer to %s %s within %g s", request.method, outline(request.target), seconds)
            return late
        return answer_failure(request, error, tell, perf_counter() - started)
    return response


def stop(waiting: Waiting) -> None:
    """Stop requests that the engine has not answered yet."""
    for limit in waiting:
        limit.reschedule(_NOW)


def _note_upgrade(request: Request, wish: str) -> None:
    # Clients in Java and Apache's offer these two in every request, and accept an answer without them.
    if not re.fullmatch(r"h2c|tls/.*", wish, re.IGNORECASE):
        text = "%s %s requests an upgrade to %s: the answer uses HTTP/1.1, because this port supports nothing else"
        logger.warning(text, request.method, outline(request.target), wish[:40])


def answer_failure(request: Request, error: BaseException, tell: RefusalHandler, seconds: float = 0.0) -> Response:
    """Return the answer to a request on which something broke. Its log entry comes first, then the traceback."""
    response = tell(request, FAILED, seconds, error)
    text = "failed on %s %s"
    logger.error(text, request.method, outline(request.target), exc_info=error, extra={"request": request})
    return response


async def gather(
    request: Request, response: Response, gate: asyncio.Semaphore, limits: Limits, tell: RefusalHandler
) -> Response:
    """Return the answer with its `rest`, for a door that cannot stream, or an error if it is too large.

    `gate` limits the number of large answers in memory.
    """
    if response.rest is None:
        return response
    started = perf_counter()
    held = bytearray(response.body)
    async with gate:
        # The remains of the previous answer are in reference cycles, and would stay until the next collection.
        gc.collect()
        try:
            async with aclosing(response.rest) as rest:
                async for piece in rest:
                    held += piece
                    if len(held) > limits.swallowed:
                        return tell(request, endless(limits), perf_counter() - started, None)
        except SandboxError as error:
            broken = tell(request, BROKEN, perf_counter() - started, None)
            logger.warning("an answer broke off after %d bytes: %s", len(held), reason.of_failure(error))
            return broken
    return structs.replace(response, body=bytes(held), rest=None)


def is_ending(error: BaseException) -> bool:
    """Return whether the process or this task is being stopped, which is the only error without an answer."""
    if isinstance(error, asyncio.CancelledError):
        # A CancelledError without a request to cancel is a bug of the engine like any other.
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit))


def frame_headers(response: Response, method: str) -> list[tuple[str, str]]:
    """Return the headers to send, with a single correct `Content-Length`."""
    headers = [pair for pair in response.headers if pair[0].lower() not in SET_BY_DOORS]
    if response.fault == "truncate":
        # More bytes than will be sent.
        return [*headers, ("Content-Length", str(len(response.body) or 1))]
    if response.status in (204, 304):
        return headers
    if response.rest is not None or (method == "HEAD" and not response.body):
        # More follows, or the engine has left the body out: then only the answer's own header has the length.
        return headers + [pair for pair in response.headers if pair[0].lower() == "content-length"]
    return [*headers, ("Content-Length", str(len(response.body)))]


def client_at(peer: tuple[Any, ...] | None) -> str:
    """Return the address of a connection's client in words, for the log."""
    return f"the client at {address(peer[0], peer[1]) if peer else 'an unknown address'}"


def credentials(header: str) -> bytes:
    """Return `USER:PASS` from a `Basic` header, or nothing if there is none."""
    scheme, _, encoded = header.partition(" ")
    try:
        return b64decode(encoded.strip(), validate=True) if scheme.lower() == "basic" else b""
    except (binascii.Error, ValueError):
        return b""


def login(header: str, secret: bytes | None) -> tuple[str | None, bool]:
    """Return the user in a `Proxy-Authorization` header, and whether the credentials are right."""
    if not header and secret is None:
        return None, True
    pair = credentials(header)
    user = pair.partition(b":")[0].decode("utf-8", "replace") or None
    return user, secret is None or hmac.compare_digest(pair, secret)


async def until(done: Callable[[], bool], seconds: float) -> None:
    """Wait for a condition that sends no event, such as the last byte of an answer.

    It is checked every few milliseconds.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not done():  # noqa: ASYNC110
                await asyncio.sleep(0.005)


def reset(transport: asyncio.BaseTransport) -> None:
    """End a TCP connection with RST instead of FIN, and drop unsent data."""
    connection: socket.socket = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()  # type: ignore[attr-defined]


def no_port(host: str, port: int, flag: str, error: OSError) -> ConfigError:
    # An unknown name, or an address of another machine: another port would not help.
    if error.errno in (errno.EADDRNOTAVAIL, socket.EAI_NONAME, socket.EAI_AGAIN, socket.EAI_FAIL):
        why = str(error.strerror).partition(" (while")[0]
        choices = "--host 127.0.0.1 for this machine only, 0.0.0.0 for all of its addresses"
        return ConfigError(f"--host {host} is not an address of this machine: {why}. Choose another one: {choices}")
    used = "is in use by another process, perhaps another sandbox"
    why = used if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror}"
    return ConfigError(f"port {port} on {host} {why}. Choose another one: {flag} PORT (0 picks a free one)")
