"""Requests that the sandbox rejects before they reach the bank get errors in the bank's form."""

import asyncio
import json
import socket
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.contract.berlin_group.conftest import Tpp
from tests.support import serving
from tests.support.berlin_group import HAS_OPENAPI, validate_answer
from tests.support.certificates import der, issued
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.tpp import certificate
from xs2a_sandbox.tpp.trust_service import TrustService

RAW = {
    "no HTTP": (b"what is this\r\n\r\n", 400),
    "a head too large": (b"GET /v1/accounts HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 300_000 + b"\r\n\r\n", 431),
    "a target too long": (b"GET /" + b"a" * 300_000, 414),
    "a body too large": (b"POST /v1/consents HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n", 413),
    "a CONNECT": (b"CONNECT bank.example:443 HTTP/1.1\r\nHost: bank.example:443\r\n\r\n", 400),
}


def last_word(url: str, raw: bytes) -> tuple[int, object]:
    """Send these bytes. Return the status and the JSON body of the answer."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as one:
        one.sendall(raw)
        one.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: one.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def in_these_words(body: object) -> None:
    assert isinstance(body, dict)
    (message,) = body["tppMessages"]
    assert set(body) == {"tppMessages"}
    assert set(message) == {"category", "code", "text"}
    assert "{sensitive}" not in message["text"]


@pytest.mark.parametrize("kind", RAW)
@pytest.mark.parametrize("door", ["direct", "proxy", "tls"])
def test_errors_of_the_doors_have_the_format_of_the_dialect(kind: str, door: str, served: serving.Serving) -> None:
    raw, status = RAW[kind]
    if kind == "a CONNECT" and door == "proxy":
        raw, status = b"CONNECT bank.example HTTP/1.1\r\nHost: bank.example\r\n\r\n", 400
    if door == "tls":  # always without TLS
        raw, status = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 400
    answered, body = last_word(getattr(served, door), raw)
    assert answered == status
    in_these_words(body)


def test_errors_about_paths_methods_and_bodies_have_the_format_of_the_dialect(tpp: Tpp) -> None:
    for method, path, status in (("GET", "/v1/nothing", 404), ("PATCH", "/v1/consents", 405)):
        answer = tpp.http.request(method, tpp.prefix + path, headers={"X-Request-ID": "1"})
        assert answer.status_code == status
        # For an unknown path the sandbox adds a hint to the bank's error.
        in_these_words({name: value for name, value in answer.json().items() if name != "sandbox"})


def test_another_media_type_is_refused_as_documented_in_the_openapi_file(tpp: Tpp) -> None:
    headers = {"Content-Type": "text/plain", "X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}
    answer = tpp.request("POST", "/v1/consents", content=b"{}", headers=headers)
    assert answer.status_code == 415
    assert (answer.content, "content-type" in answer.headers) == (b"", False)
    assert answer.headers["x-request-id"]


@pytest.mark.berlin_group("certificate-revoked")
def test_a_revoked_certificate_has_the_spelling_of_the_openapi_file(tmp_path: Path) -> None:
    service, now = TrustService(tmp_path), datetime.now(UTC)
    shown = der(issued(by=service.ca(now)))
    service.revoke(certificate.read(shown), now)
    engine = build(Settings(state="memory:", confdir=tmp_path, dialect="berlin-group-1.3", checks=("certificate",)))
    headers = Headers([("X-Request-ID", "99391c7e-ad88-49ec-a2ad-99ddcb1f7721")])
    answer = asyncio.run(engine.answer(Request("GET", "/v1/accounts", headers, certificates=(shown,))))
    assert answer.status == 401
    assert json.loads(answer.body)["tppMessages"][0]["code"] == "CERTIFICATE_REVOKE"
    if HAS_OPENAPI:
        validate_answer("GET", "/v1/accounts", answer.status, dict(answer.headers), answer.body)
