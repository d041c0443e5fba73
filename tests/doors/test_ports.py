import errno
import socket

import pytest

from xs2a_sandbox.doors import ports
from xs2a_sandbox.errors import ConfigError


def test_a_free_port_is_chosen() -> None:
    (listening,) = ports.listen("127.0.0.1", 0, "--port")

    with listening, socket.create_connection(("127.0.0.1", ports.number([listening]))):
        listening.setblocking(True)
        connection, _ = listening.accept()
        connection.close()


def test_all_addresses_of_a_name_share_a_port(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = socket.SOCK_STREAM
    two = [(socket.AF_INET, kind, 6, "", (address, 0)) for address in ("127.0.0.1", "127.0.0.2")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: two)

    listening = ports.listen("bank.test", 0, "--port")

    try:
        assert [one.getsockname() for one in listening] == [
            ("127.0.0.1", ports.number(listening)),
            ("127.0.0.2", ports.number(listening)),
        ]
    finally:
        for one in listening:
            one.close()


def test_a_busy_port_is_reported_and_nothing_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.2", 0)) as busy:
        port, kind = busy.getsockname()[1], socket.SOCK_STREAM
        two = [(socket.AF_INET, kind, 6, "", (address, port)) for address in ("127.0.0.1", "127.0.0.2")]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: two)
        with pytest.raises(ConfigError, match=f"port {port} .* in use .* --tls-port PORT"):
            ports.listen("bank.test", port, "--tls-port")

        with socket.socket() as client:
            assert client.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED
