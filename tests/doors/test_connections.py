"""Slow clients are disconnected. Clients above the limit get an error."""

import http.client
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import h2.connection
import pytest

from tests.support.doors import DEADLINE, is_refusal, read_all, trusting, wait_until
from tests.support.roads import HOST, OVER_TLS, ROADS, Roads, open_roads, status, target
from tests.support.serving import Serving, served
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.doors import connections
from xs2a_sandbox.doors.connections import Connection

pytestmark = [pytest.mark.usefixtures("proxy_engine"), pytest.mark.by_turns("road", "proxy_engine")]


@pytest.fixture
def quick_roads(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Roads]:
    monkeypatch.setattr(connections, "TICK", 0.05)
    with open_roads(tmp_path_factory.mktemp("conf"), head_time=1.0, body_time=1.0, idle_time=1.0) as roads:
        yield roads


@pytest.fixture
def full_roads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roads]:
    with open_roads(tmp_path_factory.mktemp("conf"), connections=1, crowd=1) as roads:
        yield roads


@pytest.fixture
def roads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roads]:
    with open_roads(tmp_path_factory.mktemp("conf")) as roads:
        yield roads


def get(road: str, then: str = "close") -> bytes:
    return b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: %s\r\n\r\n" % (
        target(road, "/v1"),
        HOST.encode(),
        then.encode(),
    )


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize(
    "begin",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: b\r\nX-Slow: ",
        b"POST http://b/ HTTP/1.1\r\nHost: b\r\nContent-Length: 10\r\n\r\n12345",
        b"POST http://b/ HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n123",
    ],
    ids=["nothing", "half a head", "half a body", "half a chunk"],
)
def test_a_slow_client_is_disconnected(quick_roads: Roads, road: str, begin: bytes) -> None:
    if road in OVER_TLS:
        begin = begin.replace(b"http://b/", b"/")
    assert quick_roads.sent(road, begin) == b""


@pytest.mark.parametrize("road", ROADS)
def test_single_bytes_do_not_extend_the_time_limit(quick_roads: Roads, road: str) -> None:
    """A byte now and then does not make a request."""
    with quick_roads.taken(road, patience=0.1) as way:
        way.sendall(b"GET / HTTP/1.1\r\nHost: b\r\nX-Slow: ")

        def is_closed() -> bool:
            try:
                way.sendall(b"x")
                return way.recv(1) == b""
            except TimeoutError:
                return False
            except (ConnectionError, ssl.SSLError):
                return True

        wait_until(is_closed)


@pytest.mark.parametrize("road", ROADS)
def test_an_idle_connection_is_closed(quick_roads: Roads, road: str) -> None:
    assert status(quick_roads.sent(road, get(road, "keep-alive"))) == 200


def test_a_client_without_a_handshake_is_disconnected(quick_roads: Roads) -> None:
    with socket.create_connection(("127.0.0.1", quick_roads.proxy.tls_port or 0), timeout=DEADLINE) as way:
        way.sendall(b"\x16\x03\x01\x02\x00\x01")
        assert read_all(way) == b""


def is_answered(way: socket.socket, path: str = "/v1") -> bool:
    way.sendall(get("direct", "keep-alive").replace(b"/v1", path.encode()))
    answer = http.client.HTTPResponse(way)
    answer.begin()
    answer.read()
    return answer.status == 200


@pytest.mark.parametrize("road", ["direct", "proxy", "tls-proxy", "tls"])
def test_connections_above_the_limit_are_refused(
    full_roads: Roads, road: str, caplog: pytest.LogCaptureFixture
) -> None:
    with full_roads.taken("direct") as first:
        assert is_answered(first)
        with full_roads.taken(road) as second:
            # A connection may not be accepted yet. The doors accept independently, so the third could be first.
            wait_until(lambda: len(full_roads.connections._open) == 2)
            with socket.create_connection(("127.0.0.1", full_roads.direct.port), timeout=DEADLINE) as third:
                assert read_all(third) == b""
            second.sendall(get(road, "keep-alive"))
            answer = read_all(second)
            assert status(answer) == 503
            assert is_refusal(answer.partition(b"\r\n\r\n")[2])
            assert b"connection: close" in answer.lower()
        assert is_answered(first)
    assert len([message for message in caplog.messages if "connections are open" in message]) == 1
    wait_until(lambda: not full_roads.connections._open)
    assert status(full_roads.sent(road, get(road))) == 200


def opened(serving: Serving, count: int) -> list[bool]:
    """Open this number of connections. Return whether each is answered while the earlier ones stay open."""
    port = int(serving.direct.rpartition(":")[2])
    with ExitStack() as stack:
        ways = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)) for _ in range(count)
        ]
        return [is_answered(way, "/_sandbox/health") for way in ways]


def test_the_limit_of_connections_is_a_setting(tmp_path: Path, proxy_engine: str) -> None:
    with served(tmp_path, "--connections", "3") as serving:
        assert opened(serving, 5) == [True, True, True, False, False]
    assert "can be open at a time" not in serving.warnings


def test_serve_raises_its_limit_of_open_files_and_warns_if_it_cannot(tmp_path: Path, proxy_engine: str) -> None:
    flags = ("--connections", "150", "--files")
    with served(tmp_path / "may", *flags, "210:400", entry="tests.doors.few_files") as serving:
        assert all(opened(serving, 150))
    assert "can be open at a time" not in serving.warnings
    with served(tmp_path / "may-not", *flags, "210:210", entry="tests.doors.few_files") as serving:
        assert opened(serving, 11) == [True] * 10 + [False]
    assert (
        "only 10 connections can be open at a time, not 150: raise the limit of open files with ulimit -n"
        in serving.warnings
    )


def test_a_tunnel_above_the_limit_is_refused(full_roads: Roads) -> None:
    with full_roads.taken("direct") as first, full_roads.taken("proxy") as way:
        assert is_answered(first)
        way.sendall(b"CONNECT bank.example:443 HTTP/1.1\r\nHost: bank.example:443\r\n\r\n")
        assert way.recv(65536).startswith(b"HTTP/1.1 503 ")


def test_a_connection_with_a_pending_answer_is_not_overdue() -> None:
    connection = Connection(USUAL)
    late = connection.deadline + 1000
    assert connection.is_overdue(late)
    with connection:
        assert not connection.is_overdue(late)
    assert connection.is_overdue(late)


class Unread:
    """A transport whose client does not read its bytes."""

    def __init__(self) -> None:
        self.size = 100

    def get_write_buffer_size(self) -> int:
        return self.size


def test_an_unread_answer_is_abandoned() -> None:
    transport = Unread()
    connection = Connection(USUAL, transport)  # type: ignore[arg-type]
    start = connection.deadline
    with connection:
        assert not connection.is_overdue(start)
        assert not connection.is_overdue(start + USUAL.idle_time)
        transport.size = 90
        assert not connection.is_overdue(start + USUAL.idle_time + 2)
        assert connection.is_overdue(start + 2 * USUAL.idle_time + 3)


def test_an_http_2_client_that_reads_no_answer_is_disconnected(quick_roads: Roads) -> None:
    """It keeps sending requests and its windows stay closed."""
    context = trusting(quick_roads.ca_file)
    context.set_alpn_protocols(["h2"])
    client = h2.connection.H2Connection()
    client.local_settings.initial_window_size = 0
    client.local_settings.acknowledge()
    client.initiate_connection()
    fields = [(":method", "GET"), (":scheme", "https"), (":authority", HOST), (":path", "/v1")]
    port = quick_roads.proxy.tls_port or 0
    with (
        socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as raw,
        context.wrap_socket(raw, server_hostname=HOST) as way,
    ):
        way.settimeout(0.1)

        def is_closed() -> bool:
            try:
                way.sendall(client.data_to_send())
                received = way.recv(65536)
            except TimeoutError:
                client.send_headers(client.get_next_available_stream_id(), fields, end_stream=True)
                return False
            except OSError:
                return True
            client.receive_data(received)
            return not received

        wait_until(is_closed, 5)
