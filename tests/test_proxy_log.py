import logging
from pathlib import Path

import pytest

from xs2a_sandbox.messages import Request, Response
from xs2a_sandbox.proxy_log import ProxyLog, refused

CA = Path("/home/you/ca.pem")
ALERT = "[('SSL routines', '', 'tlsv1 alert unknown ca')]"
FAILED = "Client TLS handshake failed. "


class Told(list[tuple[str, int, str]]):
    def __call__(self, request: Request, response: Response, seconds: float, failure: BaseException | None) -> None:
        self.append((f"{request.method} {request.target}", response.status, response.body.decode()))


def passed(message: str, level: int = logging.INFO, told: Told | None = None) -> tuple[str, str] | None:
    """How a record comes out: its level and its text; None for one that is dropped."""
    record = logging.LogRecord("mitmproxy.proxy.server", level, "", 0, message, None, None)
    record.client = ("127.0.0.1", 4711)
    kept = ProxyLog(CA, Told() if told is None else told).filter(record)
    return (record.levelname, record.getMessage()) if kept else None


@pytest.mark.parametrize("words", ["does not", "may not"])
def test_a_certificate_that_is_not_trusted(words: str) -> None:
    message = f"{FAILED}The client {words} trust the proxy's certificate for bank.example ({ALERT})"
    assert passed(message, logging.WARNING) == (
        "WARNING",
        "the client at 127.0.0.1:4711 does not trust the sandbox's certificate for bank.example: "
        f"let it trust {CA} (docs/clients.md says how)",
    )


def test_a_client_that_names_no_host_is_not_told_where_the_door_leads() -> None:
    told = passed(f"{FAILED}The client does not trust the proxy's certificate for 127.0.0.1:9 (x)", logging.WARNING)
    assert told
    assert "certificate: let" in told[1]


def test_an_alert_after_the_handshake() -> None:
    told = passed(f"TLS Error: {ALERT}", logging.WARNING)
    assert told
    assert "does not trust the sandbox's certificate: let it trust" in told[1]


def test_what_is_only_information_there_is_a_warning_here() -> None:
    message = (
        f"{FAILED}The client disconnected during the handshake. If this happens consistently for bank.example, "
        "this may indicate that the client does not trust the proxy's certificate."
    )
    told = passed(message)
    assert told
    assert told[0] == "WARNING"
    assert "left in the middle of the TLS handshake for bank.example" in told[1]


@pytest.mark.parametrize("message", ["client connect", "client disconnect", "server connect 127.0.0.1:9", "x: y"])
def test_the_rest_is_noise(message: str) -> None:
    assert passed(message) is None


def test_what_is_not_known_is_said_as_it_is() -> None:
    told = passed("mitmproxy has crashed!", logging.ERROR)
    assert told == ("ERROR", "the client at 127.0.0.1:4711: mitmproxy has crashed!")


def test_what_is_no_http_is_a_refused_request_without_what_was_sent() -> None:
    told = Told()
    assert passed("127.0.0.1:4711: Bad HTTP request line: b'GET geheim'", told=told) is None
    ((request, status, body),) = told
    assert (request, status) == ("- -", 400)
    assert "Bad HTTP request line" in body
    assert "geheim" not in body


@pytest.mark.parametrize(
    ("message", "status", "text"),
    [
        ("Request body exceeds mitmproxy's body_size_limit.", 413, "must not be larger than"),
        ("Received invalid header name: b'geheim' from client, refusing to prevent", 400, "invalid header name"),
        ("Invalid request scheme: ftp", 400, "this is no HTTP: Invalid request scheme"),
    ],
)
def test_what_mitmproxy_answers_itself(message: str, status: int, text: str) -> None:
    told = Told()
    refused(message, Request("GET", "/v1/x"), told)
    ((request, said, body),) = told
    assert (request, said) == ("GET /v1/x", status)
    assert text in body
    assert "geheim" not in body
    assert "mitmproxy" not in body


def test_what_it_does_not_answer_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    told = Told()
    text = "HTTP/1 protocol error: illegal chunk header: bytearray(b'geheim')"
    refused(text, Request("GET", "/v1/x?a=geheim"), told)
    refused("Connection killed.", Request("GET", "/v1/x"), told)
    refused("Client disconnected.", Request("GET", "/v1/x"), told)
    assert caplog.messages == ["no answer to GET /v1/x: illegal chunk header"]
    assert not told
