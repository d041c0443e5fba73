"""The engine as an adapter of requests."""

import http.client
import io
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPHeaderDict, HTTPResponse
from urllib3.exceptions import ProtocolError

from xs2a_sandbox.doors.door import Application, frame_headers
from xs2a_sandbox.features.pytest.in_process import NOT_HTTP, LoopThread, ask, take_sent_part
from xs2a_sandbox.http import Headers, Request, Response


class RequestsAdapter(HTTPAdapter):
    """Every host for which it is mounted is the bank. Threads may share it."""

    def __init__(self, answer: Application, loop: LoopThread) -> None:
        super().__init__()
        self._answer = answer
        self._loop = loop

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        patience = timeout[1] if isinstance(timeout, tuple) else timeout
        try:
            response = self._loop.run(ask(self._answer, _request(request), patience), patience)
        except TimeoutError:
            text = f"Read timed out. (read timeout={patience})"
            raise requests.ReadTimeout(text, request=request) from None
        if why := _find_break(response):
            raise requests.ConnectionError(ProtocolError("Connection aborted.", why), request=request)
        wire = io.BytesIO(take_sent_part(response))
        pairs = frame_headers(response, request.method or "GET")
        answered = HTTPResponse(
            body=wire,
            headers=HTTPHeaderDict(pairs),
            status=response.status,
            version=11,
            reason=http.client.responses.get(response.status, ""),
            preload_content=False,
            original_response=_original(pairs),
            request_method=request.method,
            enforce_content_length=True,
        )
        return self.build_response(request, answered)


def _original(pairs: Iterable[tuple[str, str]]) -> Any:
    """Return a response of http.client, in whose headers requests looks for cookies."""
    message = http.client.HTTPMessage()
    for name, value in pairs:
        message[name] = value
    return SimpleNamespace(msg=message, isclosed=lambda: True, close=lambda: None)


def _request(request: requests.PreparedRequest) -> Request:
    url = urlsplit(request.url or "")
    headers = [(_text(name), _text(value)) for name, value in request.headers.items()]
    if not any(name.lower() == "host" for name, _ in headers):
        headers.insert(0, ("Host", url.netloc.rpartition("@")[2]))
    return Request(
        method=request.method or "GET",
        target=request.path_url,
        headers=Headers(headers),
        body=_body(request.body),
        host=url.hostname or "",
        scheme=url.scheme,
    )


def _find_break(response: Response) -> Exception | None:
    if response.fault == "reset":
        return ConnectionResetError(104, "Connection reset by peer")
    if response.fault == "drop":
        return http.client.RemoteDisconnected("Remote end closed connection without response")
    if response.fault == "malformed":
        return http.client.BadStatusLine(NOT_HTTP.decode())
    return None


def _body(body: Any) -> bytes:
    """Convert everything that requests accepts: text, bytes, a file, or an iterable of pieces."""
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, bytes | bytearray):
        return bytes(body)
    if hasattr(body, "read"):
        return _body(body.read())
    return b"".join(_body(piece) for piece in body)


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
