"""Rewrites mitmproxy's connection log for users of the sandbox: keeps problems that they can solve, drops the rest."""

import logging
import re
from collections.abc import Callable
from pathlib import Path

from xs2a_sandbox.doors import door
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.target import outline

logger = logging.getLogger(__name__)

LOGGER = "mitmproxy.proxy.server"
"""This logger reports every connection at level info, even a rejected one."""

_HANDSHAKE = r"Client TLS handshake failed\. "
_ALERT = re.compile("alert (?:unknown ca|bad certificate|certificate unknown)")
_DISTRUST = re.compile(
    _HANDSHAKE + r"The client (?:does|may) not trust the proxy's certificate for (\S+)"
    r"|TLS Error: .*" + _ALERT.pattern
)
_LEFT = re.compile(_HANDSHAKE + r"The client disconnected during the handshake\..* consistently for (\S+),")
_VERSION = re.compile(_HANDSHAKE + r"Client and mitmproxy cannot agree on a TLS version")
_NO_TLS = re.compile(_HANDSHAKE + r"Cannot parse ClientHello")
_BROKEN = re.compile(r"HTTP/\d protocol error: (.+)", re.DOTALL)
_HTTP_2 = re.compile(r"\S+: (HTTP/2 protocol error: .+)", re.DOTALL)
_QUOTED = re.compile(r":? *\[?(?:bytearray\()?b?['\"].*", re.DOTALL)


class ProxyLog(logging.Filter):
    """Lets messages through that are worth a line. `ca_file` is the certificate that clients have to trust."""

    def __init__(self, ca_file: Path) -> None:
        super().__init__()
        self._sentences: dict[re.Pattern[str], Callable[[str, re.Match[str]], str]] = {
            _DISTRUST: lambda who, match: _distrust(who, match[1], ca_file),
            _LEFT: lambda who, match: _describe_leaving(who, match[1], ca_file),
            _VERSION: lambda who, match: f"{who} does not support TLS 1.2 or 1.3, which the sandbox needs",
            _HTTP_2: lambda who, match: f"{who} gets no answer: {drop_quoted(match[1])}",
            _NO_TLS: lambda who, match: f"{who} started a TLS handshake with invalid data",
        }

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        who = door.client_at(getattr(record, "client", None))
        for pattern, sentence in self._sentences.items():
            if match := pattern.match(message):
                record.msg, record.args = sentence(who, match), None
                record.levelno, record.levelname = logging.WARNING, "WARNING"
                return True
        if record.levelno < logging.WARNING:
            return False
        record.msg, record.args = f"{who}: {message}", None
        return True


def warn_of_break(message: str, request: Request) -> None:
    """Log a request that ended before it was complete. mitmproxy calls it a protocol error when a client leaves."""
    if match := _BROKEN.match(message):
        logger.warning("no answer to %s %s: %s", request.method, outline(request.target), drop_quoted(match[1]))


def warn_of_handshake(who: str, name: str | None, error: str, ca_file: Path) -> None:
    """Log a failed TLS handshake. `name` is the host that the client named, `error` the message of OpenSSL."""
    if _ALERT.search(error):
        logger.warning("%s", _distrust(who, name, ca_file))
    else:
        logger.warning("%s: Client TLS handshake failed: %s", who, error)


def warn_of_leaving(who: str, name: str | None, ca_file: Path) -> None:
    logger.warning("%s", _describe_leaving(who, name, ca_file))


def warn_of_alert(who: str, error: str, ca_file: Path) -> None:
    """Log a TLS alert after the handshake, because some clients reject a certificate that late."""
    if _ALERT.search(error):
        logger.warning("%s", _distrust(who, None, ca_file))
    else:
        logger.warning("%s: TLS Error: %s", who, error)


def drop_quoted(text: str) -> str:
    """Return the text of mitmproxy without quotes from the request, which may contain secrets."""
    return _QUOTED.sub("", text)


def _distrust(who: str, name: str | None, ca_file: Path) -> str:
    trust = f"make it trust {ca_file} (see `xs2a-sandbox docs clients`)"
    return f"{who} does not trust the sandbox's certificate{_for(name)}: {trust}"


def _describe_leaving(who: str, name: str | None, ca_file: Path) -> str:
    return (
        f"{who} closed the connection during the TLS handshake{_for(name)}; "
        f"if it always does, it may not trust {ca_file} (see `xs2a-sandbox docs clients`)"
    )


def _for(name: str | None) -> str:
    """Return ` for NAME` if mitmproxy names a host that is not the placeholder behind the TLS door."""
    return "" if name is None or name.endswith(":9") else f" for {name}"
