"""What mitmproxy says of connections, in the sandbox's words: what its users can mend, without the rest."""

import logging
import re
from collections.abc import Callable
from pathlib import Path

from xs2a_sandbox import door
from xs2a_sandbox.door import Tell
from xs2a_sandbox.messages import Request
from xs2a_sandbox.pattern import outline

logger = logging.getLogger(__name__)

LOGGER = "mitmproxy.proxy.server"
"""It speaks of every connection; of one that is refused at the level of information, as of one that opens."""

_HANDSHAKE = r"Client TLS handshake failed\. "
_DISTRUST = re.compile(_HANDSHAKE + r"The client (?:does|may) not trust the proxy's certificate for (\S+)")
_LEFT = re.compile(_HANDSHAKE + r"The client disconnected during the handshake\..* consistently for (\S+),")
_VERSION = re.compile(_HANDSHAKE + r"Client and mitmproxy cannot agree on a TLS version")
_ALERT = re.compile(r"TLS Error: .*alert (?:unknown ca|bad certificate|certificate unknown)")
_NO_TLS = re.compile(_HANDSHAKE + r"Cannot parse ClientHello")
_TWO_WAYS = re.compile(r"Received (.+) from client, refusing")
_TOO_LARGE = re.compile(r"Request body exceeds mitmproxy's body_size_limit")
_SCHEME = re.compile(r"(Invalid request scheme)")
_BROKEN = re.compile(r"HTTP/\d protocol error: (.+)", re.DOTALL)
_QUOTED = re.compile(r":? ?(?:bytearray\()?b(['\"]).*", re.DOTALL)
"""What mitmproxy quotes of a request may be a secret."""
_NO_HTTP = re.compile(r"\S+: ((?:Bad HTTP request line|Invalid header line|Invalid headers)\b)")


class ProxyLog(logging.Filter):
    """Lets through what is worth a line. `ca_file` is what clients have to trust."""

    def __init__(self, ca_file: Path, tell: Tell) -> None:
        super().__init__()
        self._tell = tell
        self._sentences: dict[re.Pattern[str], Callable[[str, re.Match[str]], str]] = {
            _DISTRUST: lambda who, found: (
                f"{who} does not trust the sandbox's certificate{_for(found[1])}: "
                f"let it trust {ca_file} (docs/clients.md says how)"
            ),
            _ALERT: lambda who, found: (
                f"{who} does not trust the sandbox's certificate: let it trust {ca_file} (docs/clients.md says how)"
            ),
            _LEFT: lambda who, found: (
                f"{who} left in the middle of the TLS handshake{_for(found[1])}; "
                f"if it always does, it may not trust {ca_file} (docs/clients.md)"
            ),
            _VERSION: lambda who, found: f"{who} speaks no version of TLS that the sandbox does: 1.2 or 1.3 is needed",
            _NO_TLS: lambda who, found: f"{who} began a TLS handshake with what is none",
        }

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        who = f"the client at {_address(getattr(record, 'client', None))}"
        if found := _NO_HTTP.match(message):
            answer = door.refusal(400, "FORMAT_ERROR", f"this is no HTTP: {found[1]}")
            self._tell(door.unread("proxy"), answer, 0.0, None)
            return False
        for pattern, sentence in self._sentences.items():
            if found := pattern.match(message):
                record.msg, record.args = sentence(who, found), None
                record.levelno, record.levelname = logging.WARNING, "WARNING"
                return True
        if record.levelno < logging.WARNING:
            return False
        record.msg, record.args = f"{who}: {message}", None
        return True


def refused(message: str, request: Request, tell: Tell) -> None:
    """Tells of a request that mitmproxy does not hand on: of one it has answered, and of one it has not."""
    if _TOO_LARGE.match(message):
        text = f"the body must not be larger than {door.TOO_LONG} bytes"
        tell(request, door.refusal(413, "FORMAT_ERROR", text), 0.0, None)
    elif (found := _TWO_WAYS.match(message)) or (found := _SCHEME.match(message)):
        why = _QUOTED.sub("", found[1])
        tell(request, door.refusal(400, "FORMAT_ERROR", f"this is no HTTP: {why}"), 0.0, None)
    elif found := _BROKEN.match(message):
        # Also where the client has left: it is the same to mitmproxy.
        why = _QUOTED.sub("", found[1])
        logger.warning("no answer to %s %s: %s", request.method, outline(request.target), why)


def _for(name: str) -> str:
    """A client that names nobody is shown where the TLS door leads to: nowhere."""
    return "" if name.endswith(":9") else f" for {name}"


def _address(peer: object) -> str:
    return f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else "an unknown address"
