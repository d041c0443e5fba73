"""Requests and responses, the form into which every door translates."""

import re
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, Literal

import msgspec
from msgspec import structs

from xs2a_sandbox.errors import BankError, InvalidResponse

Door = Literal["proxy", "tls", "direct", "process"]

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing (RFC 9110, 9.2.1)."""
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNSAFE = re.compile(r"[\r\n\x00]")


def _as_plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


to_json: Callable[[Any], bytes] = msgspec.json.Encoder(decimal_format="number", enc_hook=_as_plain).encode
"""Encode a value as JSON in UTF-8. Decimals keep their digits."""


def is_field_value(text: str) -> bool:
    """Return whether a header field can hold this text without breaking the message."""
    if text.isascii():
        return text.isprintable() or not _UNSAFE.search(text)
    return max(text) <= "\xff" and not _UNSAFE.search(text)


class Headers:
    """Header fields in the order received. Names are case-insensitive.

    `first` maps each name in lower case to the first value sent.
    """

    __slots__ = ("first", "pairs")

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self.pairs = tuple(pairs)
        first: dict[str, str] = {}
        for name, value in self.pairs:
            first.setdefault(name.lower(), value)
        self.first: Mapping[str, str] = first

    def get(self, name: str) -> str | None:
        return self.first.get(name.lower())

    def all(self, name: str) -> list[str]:
        name = name.lower()
        if name not in self.first:
            return []
        if len(self.first) == len(self.pairs):
            return [self.first[name]]
        return [value for other, value in self.pairs if other.lower() == name]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.pairs)

    def __repr__(self) -> str:
        return f"Headers({self.pairs!r})"


def header_mistake(headers: Headers) -> str | None:
    """Describe header values that server libraries accept, but no bank would."""
    if not is_field_value("".join(chain.from_iterable(headers.pairs))):
        for name, value in headers:
            if not is_field_value(value):
                return f"the header {name} contains a line break, NUL or characters outside Latin-1"
    return None


_NONE = Headers()


# Every request makes several of these, and a frozen dataclass takes eight times as long to create.
class Request(msgspec.Struct, frozen=True):
    """A client's request.

    `target` is the origin form as received (`/v1/accounts?page=2`), with its percent-encoding; `host` and `port` are
    those requested; the port is None if none was given; `tunnel` is the target of the CONNECT that the request came
    through; `user` is the proxy user name, if any; `certificates` are those that the client has shown, in DER, its own
    first; None if the connection has no client certificates.
    """

    method: str
    target: str
    headers: Headers = _NONE
    body: bytes = b""
    host: str = ""
    scheme: str = "http"
    door: Door = "process"
    user: str | None = None
    port: int | None = None
    tunnel: str | None = None
    certificates: tuple[bytes, ...] | None = None

    @property
    def url(self) -> str:
        """The URL of the request, as its client writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = f":{self.port}" if self.port else ""
        return f"{self.scheme}://{host}{port}{self.target}"


class Response(msgspec.Struct, frozen=True):
    """A response. It cannot be invalid HTTP.

    `fault` names what the door does to the connection instead of sending it, or while sending it. `rest` follows `body`
    in a response that is too large for memory; it must be read to its end or closed (`aclose`).

    Raises:
        InvalidResponse: a status outside 200-599, a header that would split the message, a body where none is allowed.
    """

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    fault: str | None = None
    rest: AsyncGenerator[bytes] | None = None

    def __post_init__(self) -> None:
        if not 200 <= self.status <= 599:
            raise InvalidResponse(f"{self.status} is not a final HTTP status")
        if self.body and self.status in (204, 304):
            raise InvalidResponse(f"an answer with status {self.status} cannot have a body")
        if self.headers:
            names, values = zip(*self.headers, strict=True)
            if wrong := _no_token(names):
                raise InvalidResponse(f"{wrong[0]!r} is not a header name")
            if not is_field_value("".join(values)):
                name = next(name for name, value in self.headers if not is_field_value(value))
                raise InvalidResponse(f"the header {name} contains a line break, NUL or characters outside Latin-1")

    def with_headers(self, *headers: tuple[str, str]) -> "Response":
        return Response(self.status, self.headers + headers, self.body, self.fault, self.rest)

    def without_body(self) -> "Response":
        return structs.replace(self, body=b"")


@lru_cache(512)
def _no_token(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the invalid header names. Cached, because few responses differ in the names of their headers."""
    return tuple(name for name in names if not TOKEN.fullmatch(name))


def redirect(url: str, *headers: tuple[str, str]) -> Response:
    """Redirect a browser, which then always uses GET. `url` is ASCII."""
    return Response(303, (("Location", url), *headers))


def html(text: str, status: int = 200, *headers: tuple[str, str]) -> Response:
    """Return a page of the sandbox itself, which cannot be embedded in other pages."""
    page = Response(status, (("Content-Type", "text/html; charset=utf-8"), *headers), text.encode())
    return page.with_headers(("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"))


NOT_KEPT = (("Cache-Control", "no-store"),)


def json_answer(value: Any, status: int = 200, *headers: tuple[str, str]) -> Response:
    """Return JSON of the sandbox itself, which must not be cached."""
    return Response(status, (("Content-Type", "application/json"), *headers, *NOT_KEPT), to_json(value))


class OwnRefusal(Response, frozen=True):
    """A response of the sandbox itself, which a bank can rewrite as one of its errors.

    With `error` it is one of the errors in a dialect's table, which has its own text for it.
    """

    code: str = ""
    number: str = ""
    text: str = ""
    error: BankError | None = None


def refusal(status: int, code: str, number: str, text: str, *headers: tuple[str, str]) -> OwnRefusal:
    """Make a response of the sandbox itself, in the form of spec 7."""
    message = {"category": "ERROR", "code": code, "path": None, "text": f"{{sensitive}} {number}: {text}"}
    content = to_json({"tppMessages": [message], "_links": None})
    return OwnRefusal(status, (("Content-Type", "application/json"), *headers), content, None, None, code, number, text)
