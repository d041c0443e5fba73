"""The sandbox's own paths, `/_sandbox/…`. Paths below them are never sent to a bank."""

import re
import unicodedata
from urllib.parse import unquote

from xs2a_sandbox.http.messages import Request

ROOT = "_sandbox"

_DECODINGS = 8
_BETWEEN = re.compile(r"[/\\]")
_AROUND = re.compile(r"[\x00-\x20\x7f]+")
_PROXIED = (
    "the sandbox's own pages are available only at its base URL (--port): request them without the proxy, for example"
    " with NO_PROXY=127.0.0.1,localhost"
)
_MISSPELT = (
    "requests below /_sandbox never go to a bank, and the sandbox does not have this page: see "
    "/_sandbox/docs/control.md"
)


def is_own(target: str) -> bool:
    """Return whether any program could read the target as one below `/_sandbox`, with any prefix or encoding."""
    path = target.partition("?")[0]
    for _ in range(_DECODINGS):
        if any(_normalise(segment) == ROOT for segment in _BETWEEN.split(path)):
            return True
        decoded = unquote(path)
        if decoded == path:
            return False
        path = decoded
    # Only an attacker encodes a path that often.
    return True


def _normalise(segment: str) -> str:
    """Return the segment without parameters and blanks, in a form for comparison."""
    return unicodedata.normalize("NFKC", _AROUND.sub("", segment.partition(";")[0])).casefold()


def hint(request: Request) -> str:
    """Return a hint for a request to an own path that does not exist, or not at this door."""
    return _PROXIED if request.door in ("proxy", "tls") else _MISSPELT
