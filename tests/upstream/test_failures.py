"""The errors that clients of the sandbox get when a bank fails, over real connections."""

import asyncio
import socket
import ssl
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.far_bank import Authority, FarBank, hang, hang_up, ok, reset
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.upstream.connections import BankSession


def failed(url: str, *headers: tuple[str, str], **settings: Any) -> tuple[str, str]:
    """Return the error's name and reason."""

    async def work() -> tuple[str, str]:
        session = BankSession(RealBank(url, **settings))
        try:
            with pytest.raises(BankError) as caught:
                await session.exchange("the-bank", url, "GET", "/v1?secret", [("Host", "bank"), *headers], b"")
        finally:
            await session.close()
        assert caught.value.values["bank"] == "the-bank"
        assert "secret" not in str(caught.value.values)
        return caught.value.name, caught.value.values["reason"]

    return asyncio.run(work())


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def careless(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return an authority like those of some banks' sandboxes: without key identifiers."""
    return Authority(tmp_path_factory.mktemp("careless"), "careless", strict=False)


def test_a_closed_port_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    assert failed(f"http://127.0.0.1:{port}") == ("bank-unreachable", "connection refused")


def test_an_unknown_name_is_unreachable() -> None:
    assert failed("http://bank.invalid") == ("bank-unreachable", "its host name is unknown")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (hang_up(), "it closed the connection without an answer"),
        (hang_up(b"HTTP/1.1 200 OK\r\nX-A: secret\r\n"), "it closed the connection without an answer"),
        (reset(), "it reset the connection"),
    ],
)
def test_a_bank_that_closes_the_connection_is_unreachable(answer: Any, reason: str) -> None:
    with FarBank(answer) as far:
        assert failed(far.url) == ("bank-unreachable", reason)


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-secret\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nsecret secret: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-A: sec\0ret\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxx\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nsecret\r\n",
        b"HTTP/1.1 200 OK\r\nX-A: " + b"x" * 100_000 + b"\r\n\r\n",
    ],
)
def test_an_answer_other_than_http_is_garbled(answer: bytes) -> None:
    with FarBank(hang_up(answer)) as far:
        assert failed(far.url) == ("bank-garbled", "its response is not HTTP")


@pytest.mark.parametrize("status", [b"101 Switching Protocols", b"700 secret", b"600 X"])
def test_an_invalid_status_is_garbled(status: bytes) -> None:
    with FarBank(ok(b"", b"Upgrade: x", b"Connection: upgrade", status=status)) as far:
        assert failed(far.url) == ("bank-garbled", "its status or one of its headers is not valid HTTP")


@pytest.mark.parametrize("head", [b"Content-Length: 10\r\n\r\nabc", b"Transfer-Encoding: chunked\r\n\r\nf\r\nabc"])
def test_an_incomplete_body_is_an_error(head: bytes) -> None:
    with FarBank(hang_up(b"HTTP/1.1 200 OK\r\n" + head)) as far:
        name, reason = failed(far.url)

    assert (name, reason) == ("bank-garbled", "its answer is shorter than announced, or is not chunked correctly")


def test_a_connection_that_takes_too_long_is_an_error() -> None:
    """The handshake is part of connecting; this bank never starts it."""
    with FarBank() as far:
        name, reason = failed(far.url.replace("http:", "https:"), connect_timeout=0.3)

    assert (name, reason) == ("bank-late", "connect timeout: no connection within 0.3 s")


@pytest.mark.parametrize("first", [b"", b"HTTP/1.1 200 OK\r\nX-A:", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"])
def test_a_pause_within_an_answer_is_an_error(first: bytes) -> None:
    with FarBank(hang(first)) as far:
        name, reason = failed(far.url, read_timeout=0.3)

    assert (name, reason) == ("bank-late", "read timeout: nothing received for 0.3 s")


def test_an_endless_answer_is_an_error() -> None:
    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.sendall(b"x")
            time.sleep(0.02)

    with FarBank(drip) as far:
        name, reason = failed(far.url, read_timeout=0.3, total_timeout=0.6)

    assert (name, reason) == ("bank-late", "total timeout: no complete answer within 0.6 s")


@pytest.mark.parametrize("value", ["secret\x01", "secret\x7f", "secret\u20ac"])
def test_a_request_that_http_does_not_allow_is_an_error(value: str) -> None:
    with FarBank() as far:
        name, reason = failed(far.url, ("X-A", value))

    assert (name, reason) == ("bank-unreachable", "the request contains characters that HTTP does not allow")
    assert far.seen == []


def test_a_certificate_of_an_unknown_authority_is_an_error(authority: Authority) -> None:
    with FarBank(tls=authority.server("127.0.0.1")) as far:
        name, reason = failed(far.url)

    assert name == "bank-unreachable"
    assert reason.startswith("its certificate is not trusted: ")
    assert reason.endswith("; set `ca` to the CA that issued it")
    assert far.seen == []


def test_a_certificate_for_another_name_is_an_error(authority: Authority) -> None:
    with FarBank(tls=authority.server("bank.example")) as far:
        name, reason = failed(far.url, ca=authority.file)

    assert name == "bank-unreachable"
    assert reason == ("its certificate is not trusted: IP address mismatch, certificate is not valid for '127.0.0.1'")
    assert far.seen == []


def test_a_certificate_that_only_strict_verification_refuses_is_an_error(careless: Authority) -> None:
    with FarBank(tls=careless.server("127.0.0.1")) as far:
        name, reason = failed(far.url, ca=careless.file)

    assert name == "bank-unreachable"
    assert "Key Identifier" in reason
    assert reason.endswith("; `tls_strict: false` accepts it")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_missing_client_certificate_is_an_error(authority: Authority, version: ssl.TLSVersion) -> None:
    tls = authority.server("127.0.0.1", clients=True)
    tls.minimum_version = tls.maximum_version = version
    with FarBank(tls=tls) as far:
        name, reason = failed(far.url, ca=authority.file)

    assert name == "bank-unreachable"
    assert "client certificate" in reason
    assert reason.endswith(" set `client_cert`")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_refused_client_certificate_is_an_error(
    authority: Authority, careless: Authority, version: ssl.TLSVersion
) -> None:
    tls = authority.server("127.0.0.1", clients=True)
    tls.minimum_version = tls.maximum_version = version
    certificate, key = careless.issue("tpp")
    with FarBank(tls=tls) as far:
        name, reason = failed(far.url, ca=authority.file, client_cert=certificate, client_key=key)

    assert (name, reason) == ("bank-unreachable", "it does not accept the client certificate: unknown ca")


def test_an_old_tls_version_is_an_error(authority: Authority) -> None:
    tls = authority.server("127.0.0.1")
    tls.maximum_version = ssl.TLSVersion.TLSv1_2
    with FarBank(tls=tls) as far:
        name, reason = failed(far.url, ca=authority.file, tls_minimum="1.3")

    assert (name, reason) == ("bank-unreachable", "TLS failed: protocol version")


def test_a_port_without_tls_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            connection, _ = server.accept()
            connection.recv(1)
            connection.sendall(b"220 smtp.example\r\n")
            while connection.recv(65536):
                pass
            connection.close()

        async def both() -> tuple[str, str]:
            greeting = asyncio.create_task(asyncio.to_thread(greet))
            said = await asyncio.to_thread(failed, f"https://127.0.0.1:{server.getsockname()[1]}")
            await greeting
            return said

        assert asyncio.run(both()) == ("bank-unreachable", "it does not speak TLS on this port")


def test_a_right_configuration_works(authority: Authority, tmp_path: Path) -> None:
    """Otherwise the tests above could fail for another reason."""
    tls = authority.server("127.0.0.1", clients=True)
    certificate, key = authority.issue("tpp", password="secret")
    both = tmp_path / "both.pem"
    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    bank = RealBank("", ca=authority.file, client_cert=both, client_key_password="secret", tls_minimum="1.3")

    async def work(url: str) -> int:
        session = BankSession(bank)
        answer = await session.exchange("the-bank", url, "GET", "/", [("Host", "bank")], b"")
        await session.close()
        return answer.status

    with FarBank(tls=tls) as far:
        assert asyncio.run(work(far.url)) == 200
