"""Names in addresses of callbacks are resolved once, and TLS is verified."""

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.far_bank import Authority, FarBank, ok
from tests.support.listener import Listener
from xs2a_sandbox.engine.egress import Egress
from xs2a_sandbox.errors import BankError, Refused
from xs2a_sandbox.http import Response


def call_back(egress: Egress, url: str) -> Response:
    async def send() -> Response:
        try:
            return await egress.call_back("POST", url, [("X-Request-ID", "1")], b"{}")
        finally:
            await egress.close()

    return asyncio.run(send())


def resolving(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Let names resolve to these addresses, one after the other. Return the list of the names that are asked for."""
    asked: list[str] = []
    original: Callable[..., Any] = socket.getaddrinfo

    def resolve(host: Any, port: Any, *more: Any, **named: Any) -> Any:
        if host not in ("tpp.example", "localhost"):
            return original(host, port, *more, **named)
        asked.append(host)
        address = addresses[min(len(asked), len(addresses)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port or 0))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return asked


def test_a_name_is_resolved_once_and_the_connection_goes_there(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = resolving(monkeypatch, "127.0.0.1", "203.0.113.1")
    with Listener() as app:
        egress = Egress(callback_hosts=["tpp.example"])
        assert call_back(egress, f"http://tpp.example:{app.port}/notify").status == 202
        assert (app.connections, asked) == (1, ["tpp.example"])


def test_localhost_must_be_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, "203.0.113.1")
    with pytest.raises(BankError) as refused:
        call_back(Egress(), "http://localhost:1/")
    assert refused.value.values["reason"] == "localhost is the other machine 203.0.113.1 here"


def test_an_allowed_name_does_not_lead_to_a_port_of_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, "127.0.0.1")
    with Listener() as app:
        egress = Egress(callback_hosts=["tpp.example"])
        egress.keep_from({app.port})
        with pytest.raises(BankError, match="bank-private"):
            call_back(egress, f"http://tpp.example:{app.port}/")
        assert app.connections == 0


def test_a_name_that_is_not_allowed_is_not_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = resolving(monkeypatch, "127.0.0.1")
    with pytest.raises(Refused, match=r"callbacks to tpp\.example are not allowed"):
        call_back(Egress(), "http://tpp.example/")
    assert asked == []


def test_only_the_beginning_of_a_large_answer_is_read() -> None:
    size = 5 * 1024 * 1024
    large = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size
    with FarBank(large) as app:
        answer = call_back(Egress(), f"http://127.0.0.1:{app.port}/")
        assert (answer.status, len(answer.body)) == (200, 1024 * 1024)


def test_the_certificate_of_the_app_must_be_from_a_trusted_ca(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with FarBank(ok(b"{}"), tls=authority.server("127.0.0.1")) as app:
        url = f"https://127.0.0.1:{app.port}/"
        with pytest.raises(BankError) as refused:
            call_back(Egress(), url)
        assert "its certificate is not trusted" in refused.value.values["reason"]
        assert call_back(Egress(callback_ca=authority.file), url).status == 200
