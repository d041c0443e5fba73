import logging
from pathlib import Path

import pytest

from xs2a_sandbox.doors.proxy_log import ProxyLog, drop_quoted, warn_of_break
from xs2a_sandbox.http import Request

CA = Path("/home/you/ca.pem")
ALERT = "[('SSL routines', '', 'tlsv1 alert unknown ca')]"
FAILED = "Client TLS handshake failed. "


def passed(message: str, level: int = logging.INFO) -> tuple[str, str] | None:
    """Return the level and the text of a record, or None if it is dropped."""
    record = logging.LogRecord("mitmproxy.proxy.server", level, "", 0, message, None, None)
    record.client = ("127.0.0.1", 4711)
    kept = ProxyLog(CA).filter(record)
    return (record.levelname, record.getMessage()) if kept else None


@pytest.mark.parametrize("words", ["does not", "may not"])
def test_a_client_that_does_not_trust_the_certificate_gets_a_hint(words: str) -> None:
    message = f"{FAILED}The client {words} trust the proxy's certificate for bank.example ({ALERT})"
    assert passed(message, logging.WARNING) == (
        "WARNING",
        "the client at 127.0.0.1:4711 does not trust the sandbox's certificate for bank.example: "
        f"make it trust {CA} (see `xs2a-sandbox docs clients`)",
    )


def test_an_ip_address_in_the_message_is_omitted() -> None:
    lines = passed(f"{FAILED}The client does not trust the proxy's certificate for 127.0.0.1:9 (x)", logging.WARNING)
    assert lines
    assert "certificate: make" in lines[1]


def test_an_alert_after_the_handshake_gets_the_same_hint() -> None:
    lines = passed(f"TLS Error: {ALERT}", logging.WARNING)
    assert lines
    assert "does not trust the sandbox's certificate: make it trust" in lines[1]


def test_a_disconnected_client_is_logged_as_a_warning() -> None:
    message = (
        f"{FAILED}The client disconnected during the handshake. If this happens consistently for bank.example, "
        "this may indicate that the client does not trust the proxy's certificate."
    )
    lines = passed(message)
    assert lines
    assert lines[0] == "WARNING"
    assert "closed the connection during the TLS handshake for bank.example" in lines[1]


def test_an_http_2_error_is_logged_without_content() -> None:
    lines = passed("127.0.0.1:4711: HTTP/2 protocol error: Received duplicate pseudo-header field b'geheim'")
    assert lines == (
        "WARNING",
        "the client at 127.0.0.1:4711 gets no answer: HTTP/2 protocol error: Received duplicate pseudo-header field",
    )


@pytest.mark.parametrize("message", ["client connect", "client disconnect", "server connect 127.0.0.1:9", "x: y"])
def test_other_messages_are_dropped(message: str) -> None:
    assert passed(message) is None


def test_unknown_errors_are_logged_unchanged() -> None:
    lines = passed("mitmproxy has crashed!", logging.ERROR)
    assert lines == ("ERROR", "the client at 127.0.0.1:4711: mitmproxy has crashed!")


def test_requests_without_an_answer_are_logged_as_warnings(caplog: pytest.LogCaptureFixture) -> None:
    text = "HTTP/1 protocol error: illegal chunk header: bytearray(b'geheim')"
    warn_of_break(text, Request("GET", "/v1/x?a=geheim"))
    warn_of_break("Connection killed.", Request("GET", "/v1/x"))
    warn_of_break("Client disconnected.", Request("GET", "/v1/x"))
    assert caplog.messages == ["no answer to GET /v1/x: illegal chunk header"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Bad HTTP request line: b'GET geheim'", "Bad HTTP request line"),
        ("invalid content-length header: 'geheim'", "invalid content-length header"),
        ("illegal chunk header: bytearray(b'geheim')", "illegal chunk header"),
        ("multiple content-length headers: ['geheim']", "multiple content-length headers"),
        ('invalid header name: b"g\'eheim"', "invalid header name"),
        ("message with both transfer-encoding and content-length headers",) * 2,
    ],
)
def test_quotes_in_messages_of_mitmproxy_may_contain_secrets(text: str, shown: str) -> None:
    assert drop_quoted(text) == shown
