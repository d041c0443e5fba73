import h2.config
import h2.connection
import h2.events
import pytest

from xs2a_sandbox.doors.wrong_protocol import HTTP2, SOCKS4, SOCKS5, TLS, WrongProtocol, recognise


@pytest.mark.parametrize(
    ("start", "protocol"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00", TLS),
        (b"\x05\x01\x00", SOCKS5),
        (b"\x04\x01\x01\xbb\x7f\x00\x00\x01\x00", SOCKS4),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HTTP2),
        (b"GET / HTTP/1.1\r\n", None),
        (b"PRINT / HTTP/1.1\r\n", None),
        (b"", None),
    ],
)
def test_protocols_are_recognised(start: bytes, protocol: WrongProtocol | None) -> None:
    assert recognise(start) is protocol


def test_an_http_2_client_gets_a_hint_to_use_http_1() -> None:
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    client.initiate_connection()
    events = client.receive_data(HTTP2.answer)
    (end,) = (event for event in events if isinstance(event, h2.events.ConnectionTerminated))
    assert end.error_code == h2.errors.ErrorCodes.HTTP_1_1_REQUIRED
    assert b"use HTTP/1.1" in (end.additional_data or b"")
