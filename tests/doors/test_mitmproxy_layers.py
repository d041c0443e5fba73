import socket
from collections.abc import Iterator

import h2.connection
import h2.events
import httpx
import pytest
from mitmproxy import http
from mitmproxy.proxy.layers.http._events import ErrorCode, ResponseData, ResponseProtocolError

from tests.support.doors import DEADLINE, is_refusal, trusting
from tests.support.roads import Roads, open_roads
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.doors.mitmproxy_layers import outline, refusal_for, to_mitmproxy
from xs2a_sandbox.http import Headers, Request, Response


@pytest.fixture(scope="module")
def roads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roads]:
    with open_roads(tmp_path_factory.mktemp("conf"), swallowed=4 * USUAL.body) as roads:
        yield roads


@pytest.fixture
def client(roads: Roads) -> Iterator[httpx.Client]:
    url = f"https://localhost:{roads.proxy.tls_port}"
    with httpx.Client(base_url=url, verify=trusting(roads.ca_file, "h2"), http2=True, trust_env=False) as client:
        yield client


def test_http_2_buffers_only_the_maximum_body(client: httpx.Client) -> None:
    body = client.post("/v1", content=b"a" * 3 * USUAL.body).json()
    assert len(body["body"]) == USUAL.body + 1


def test_http_2_headers_that_are_too_large_reach_the_engine(client: httpx.Client) -> None:
    body = client.get("/v1", headers={"X-Large": "a" * (USUAL.headers + 1)}).json()
    assert USUAL.excess(Request("GET", "/v1", Headers(tuple(pair) for pair in body["headers"])))


def posted(roads: Roads, body: bytes, *fields: tuple[str, str]) -> tuple[bytes, bytes]:
    """Return the status and body of the HTTP/2 answer to a request whose body does not end."""
    client = h2.connection.H2Connection()
    client.initiate_connection()
    lines = [(":method", "POST"), (":path", "/v1"), (":scheme", "https"), (":authority", "b"), *fields]
    client.send_headers(1, lines)
    status, answer, ended = b"", b"", False
    context = trusting(roads.ca_file)
    context.set_alpn_protocols(["h2"])
    with (
        socket.create_connection(("127.0.0.1", roads.proxy.tls_port or 0), timeout=DEADLINE) as raw,
        context.wrap_socket(raw, server_hostname="localhost") as connection,
    ):
        while not ended:
            while body and (room := min(client.local_flow_control_window(1), client.max_outbound_frame_size)):
                client.send_data(1, body[:room])
                body = body[room:]
            connection.sendall(client.data_to_send())
            received = connection.recv(65536)
            assert received
            for event in client.receive_data(received):
                if isinstance(event, h2.events.ResponseReceived):
                    status = dict(event.headers)[b":status"]
                elif isinstance(event, h2.events.DataReceived):
                    answer += event.data
                ended = ended or isinstance(event, h2.events.StreamEnded)
    return status, answer


def test_http_2_refuses_a_body_with_an_excessive_announced_length(roads: Roads) -> None:
    status, answer = posted(roads, b"", ("content-length", "99999999999"))
    assert status == b"413"
    assert is_refusal(answer)


def test_http_2_refuses_an_endless_body(roads: Roads) -> None:
    """It is discarded while it arrives, as over HTTP/1."""
    status, answer = posted(roads, b"a" * (4 * USUAL.body + 1))
    assert status == b"413"
    assert is_refusal(answer)


@pytest.mark.parametrize(
    ("code", "message", "status", "text"),
    [
        (ErrorCode.REQUEST_TOO_LARGE, "", 413, b"XS2A905E"),
        (ErrorCode.GENERIC_CLIENT_ERROR, "Received a secret from client, refusing it", 400, b"this is not HTTP: a"),
        (ErrorCode.DESTINATION_UNKNOWN, "mitmproxy received an HTTP CONNECT request", 400, b"--proxy-port"),
        (ErrorCode.CONNECT_FAILED, "nobody is there", 500, b"XS2A990E"),
    ],
)
def test_error_pages_of_mitmproxy_are_replaced(code: ErrorCode, message: str, status: int, text: bytes) -> None:
    refusal = refusal_for(ResponseProtocolError(1, message, code), USUAL)
    assert refusal
    assert refusal.status == status
    assert text in refusal.body
    assert is_refusal(refusal.body)


def test_events_without_an_error_page_are_not_replaced() -> None:
    assert refusal_for(ResponseProtocolError(1, "gone", ErrorCode.CLIENT_DISCONNECTED), USUAL) is None
    assert refusal_for(ResponseData(1, b"an answer"), USUAL) is None


def test_an_answer_to_head_has_only_the_length_of_its_body() -> None:
    message = to_mitmproxy(Response(200, (), b"hello"), "HEAD")
    assert (message.content, message.headers["Content-Length"]) == (b"", "5")


def test_an_empty_request_is_described_with_dashes() -> None:
    request = http.Request.make("GET", "http://bank.example/v1")
    request.data.method = request.data.path = request.data.authority = b""
    assert (outline(request, "tls").method, outline(request, "tls").target) == ("-", "-")
