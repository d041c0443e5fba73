"""The address that the payment user's browser goes to in the end: one that the TPP has registered, and a safe one."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from xs2a_sandbox.documents.formats import WEB, is_redirect_uri


def return_address(
    authorisation: Mapping[str, Any], *, good: bool, code: str | None = None, name: str = "code"
) -> str | None:
    """The TPP-Nok-Redirect-URI for a negative end, else the TPP-Redirect-URI. None: no browser is sent anywhere.

    The code is what the app confirms with, under this name or, by OAuth, what it gets a token for.
    """
    registered = authorisation.get("ok") if good else authorisation.get("nok") or authorisation.get("ok")
    url = accept(registered)
    return with_members(url, {"code" if authorisation.get("oauth") else name: code}) if url and code else url


def list_registered(authorisation: Mapping[str, Any]) -> tuple[str, ...]:
    """All addresses that a browser can be sent to."""
    return tuple(url for name in ("ok", "nok") if (url := accept(authorisation.get(name))))


def accept(url: str | None) -> str | None:
    """The address; None where a browser must not be sent there, as a document of the state may say anything."""
    return url if url and is_redirect_uri(url) else None


def asking(authorisation: Mapping[str, Any]) -> str | None:
    """The name of who asks, as far as is known: the host that the browser goes back to."""
    url = accept(authorisation.get("ok"))
    if url is None:
        return None
    parts = urlsplit(url)
    return parts.hostname if parts.scheme in WEB else parts.scheme


def with_members(url: str, members: Mapping[str, str]) -> str:
    """The address with more parameters in its query."""
    if not members:
        return url
    before, hash_sign, fragment = url.partition("#")
    joint = "" if before.endswith(("?", "&")) else "&" if "?" in before else "?"
    return f"{before}{joint}{urlencode(members)}{hash_sign}{fragment}"
