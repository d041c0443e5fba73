"""The address to which the browser returns in the end: one that the TPP has registered and that is safe."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from xs2a_sandbox.documents.formats import WEB, is_redirect_uri


def return_address(
    authorisation: Mapping[str, Any], *, good: bool, code: str | None = None, name: str = "code"
) -> str | None:
    """Return the TPP-Nok-Redirect-URI after a failure, otherwise the TPP-Redirect-URI.

    None if there is no safe address. The code for the app is added as the parameter `name`, or `code` with OAuth.
    """
    registered = authorisation.get("ok") if good else authorisation.get("nok") or authorisation.get("ok")
    url = accept(registered)
    return with_members(url, {"code" if authorisation.get("oauth") else name: code}) if url and code else url


def list_registered(authorisation: Mapping[str, Any]) -> tuple[str, ...]:
    """Return all addresses to which a browser can be sent."""
    return tuple(url for name in ("ok", "nok") if (url := accept(authorisation.get(name))))


def accept(url: str | None) -> str | None:
    """Return the address, or None if it is not safe. A document of the state may contain any text."""
    return url if url and is_redirect_uri(url) else None


def asking(authorisation: Mapping[str, Any]) -> str | None:
    """Return the only known name of the app: the host to which the browser returns."""
    url = accept(authorisation.get("ok"))
    if url is None:
        return None
    parts = urlsplit(url)
    return parts.hostname if parts.scheme in WEB else parts.scheme


def with_members(url: str, members: Mapping[str, str]) -> str:
    """Return the address with more query parameters."""
    if not members:
        return url
    before, hash_sign, fragment = url.partition("#")
    joint = "" if before.endswith(("?", "&")) else "&" if "?" in before else "?"
    return f"{before}{joint}{urlencode(members)}{hash_sign}{fragment}"
