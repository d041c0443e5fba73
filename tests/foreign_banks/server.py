"""Serve a fake bank on a free port of the loopback interface, in a thread.

A bank is an object with a clock and a method `answer`. It gets one request at a time. The Date header shows the bank's
time, which `Clock.wait` moves forward.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

BEGINS = datetime(2026, 6, 15, 12, tzinfo=UTC)
"""When journeys begin, by the bank's clock."""

type Handler = Callable[..., "Response"]


class Clock:
    """A time in UTC that stands still at `fixed`, or passes if there is none; `wait` moves it forward."""

    def __init__(self, fixed: datetime | None = None) -> None:
        self._fixed = fixed
        self._waited = timedelta()

    @property
    def now(self) -> datetime:
        return (self._fixed or datetime.now(UTC)).replace(microsecond=0) + self._waited

    @property
    def today(self) -> date:
        return self.now.date()

    def wait(self, time: timedelta) -> None:
        self._waited += time


@dataclass(frozen=True)
class Request:
    """Names of headers are in lower case. `origin` is the scheme and host that the client used."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    origin: str

    @property
    def form(self) -> dict[str, list[str]]:
        return parse_qs(self.body.decode(errors="replace"), keep_blank_values=True)

    def field(self, name: str) -> str:
        return self.form.get(name, [""])[-1]

    @property
    def document(self) -> dict[str, Any]:
        """The JSON object in the body. Raises ValueError if there is none."""
        document = json.loads(self.body)
        if not isinstance(document, dict):
            raise ValueError("not an object")
        return document


@dataclass(frozen=True)
class Response:
    status: int
    content: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


def respond(
    status: int, document: Any, headers: Mapping[str, str] | None = None, *, media: str = "application/json"
) -> Response:
    content = json.dumps(document, ensure_ascii=False)
    return Response(status, content, {"Content-Type": media, **(headers or {})})


def show(status: int, title: str, content: str) -> Response:
    page = f"<!doctype html><html><head><title>{title}</title></head><body><h1>{title}</h1>{content}</body></html>"
    return Response(status, page, {"Content-Type": "text/html; charset=utf-8"})


class ForeignBank(Protocol):
    @property
    def clock(self) -> Clock: ...

    def answer(self, request: Request) -> Response: ...


class NoRoute(Exception):
    def __init__(self, allowed: list[str]) -> None:
        super().__init__()
        self.allowed = allowed


class Fault(Exception):
    """What a bank refuses, as a word, and where in the request the cause is."""

    def __init__(self, status: int, word: str, place: str | None = None, **more: Any) -> None:
        super().__init__(word)
        self.status, self.word, self.place, self.more = status, word, place, more


class Routes:
    """Handlers by method and path; a path has parameters in braces."""

    def __init__(self, *routes: tuple[str, str, Handler]) -> None:
        self._routes = [
            (method, re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", path)), handler)
            for method, path, handler in routes
        ]

    def find(self, method: str, path: str) -> tuple[Handler, dict[str, str]]:
        """Raises NoRoute, with the methods that the path allows."""
        found = [(verb, handler, match) for verb, form, handler in self._routes if (match := form.fullmatch(path))]
        for verb, handler, match in found:
            if verb == method:
                return handler, match.groupdict()
        raise NoRoute([verb for verb, _, _ in found])


@contextmanager
def serving(bank: ForeignBank) -> Iterator[str]:
    """Yield the bank's URL while it serves."""
    lock = Lock()

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _answer(self) -> None:
            target = urlsplit(self.path)
            query = {name: values[-1] for name, values in parse_qs(target.query, keep_blank_values=True).items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", 0)))
            origin = f"http://{headers.get('host', '127.0.0.1')}"
            with lock:
                response = bank.answer(Request(self.command, target.path, query, headers, body, origin))
                time = format_datetime(bank.clock.now, usegmt=True)
            content = response.content.encode()
            self.send_response_only(response.status)
            sent = {"Date": time, **response.headers}
            if response.status != 204:
                sent["Content-Length"] = str(len(content))
            for name, value in sent.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer

        def log_message(self, format: str, *args: Any) -> None:
            """Keep the output of the tests clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        server.daemon_threads = True
        thread = Thread(target=lambda: server.serve_forever(poll_interval=0.05), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
