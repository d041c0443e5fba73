"""Where the payment user's browser goes in the end: only where the TPP has registered, and only where that is safe."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_WEB = ("http", "https")
_NEVER = frozenset(
    "about blob chrome content data devtools file filesystem ftp intent javascript jar mailto resource res "
    "sms tel vbscript view-source ws wss".split()
)
"""Schemes that run something, read something, or lead nowhere; any other that is not the web is an app's own."""
_KEPT = "%/:?#[]@!$&'()*+,;=-._~"


def return_address(authorisation: Mapping[str, Any], *, good: bool, code: str | None = None) -> str | None:
    """For a negative end the TPP-Nok-Redirect-URI, else the TPP-Redirect-URI. None: no browser is sent anywhere."""
    registered = authorisation.get("ok") if good else authorisation.get("nok") or authorisation.get("ok")
    url = usable(registered)
    return _with(url, {"confirmationCode": code}) if url and code else url


def registered(authorisation: Mapping[str, Any]) -> tuple[str, ...]:
    """All addresses that a browser can be sent to."""
    return tuple(url for name in ("ok", "nok") if (url := usable(authorisation.get(name))))


def usable(url: str | None) -> str | None:
    """The address as it can stand in a header and a link; None where a browser must not be sent there."""
    if not url or not url.isprintable() or url != url.strip() or "\\" in url:
        return None
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return None
    if not _SCHEME.fullmatch(parts.scheme) or parts.scheme in _NEVER:
        return None
    if parts.scheme in _WEB and not host:
        return None
    try:
        octets = url.encode("latin-1")  # how the octets of a header arrive
    except UnicodeEncodeError:
        octets = url.encode()
    return quote(octets, safe=_KEPT)


def asking(authorisation: Mapping[str, Any]) -> str | None:
    """Who asks, as far as is known: the host that the browser goes back to."""
    url = usable(authorisation.get("ok"))
    if url is None:
        return None
    parts = urlsplit(url)
    return parts.hostname if parts.scheme in _WEB else parts.scheme


def _with(url: str, members: Mapping[str, str]) -> str:
    before, hash_sign, fragment = url.partition("#")
    joint = "" if before.endswith(("?", "&")) else "&" if "?" in before else "?"
    return f"{before}{joint}{urlencode(members)}{hash_sign}{fragment}"
