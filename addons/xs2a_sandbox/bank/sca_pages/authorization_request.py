"""The authorisation endpoint of OAuth (RFC 6749, 4.1.1; PKCE: RFC 7636): an app's link to the page of what it names."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from xs2a_sandbox.bank.domain.lifecycle import SCA
from xs2a_sandbox.bank.domain.signing import AUTHORISATIONS, FAMILIES, Family, can_sign
from xs2a_sandbox.bank.handlers.approaches import OAUTH, begin, page_of
from xs2a_sandbox.bank.sca_pages.html import PRIVATE
from xs2a_sandbox.bank.sca_pages.return_address import accept, with_members
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.matchers import RequestPart
from xs2a_sandbox.documents.formats import as_kept
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Response
from xs2a_sandbox.http.messages import redirect
from xs2a_sandbox.state import Document

ENDPOINT = "authorize"

_SCOPES = {"AIS": ("consent",), "PIIS": ("consent",), "PIS": ("cancellation", "payment", "basket")}
"""The families of what a scope `AIS:<id>` can name, in the order in which they are looked through."""
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")


class _Refusal(Exception):
    """An error that the app is told by the browser (RFC 6749, 4.1.2.1)."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(error)
        self.members = {"error": error, "error_description": description}


def lead_on(call: Call) -> Response:
    """Sends the browser to the page, or back to the app with what is wrong.

    Raises BankError, which the payment user sees, where it is not sure that the address is the app's.
    """
    query = {name: text for name, text in call.query.items() if text}
    client = call.state.get("clients", query.get("client_id", ""))
    if client is None:
        raise BankError("format-error", expected="the link must name a known TPP as client_id")
    back = query.get("redirect_uri", "")
    if not accept(back) or "#" in back:
        raise BankError("format-error", expected="the link must name the address of the TPP's app as redirect_uri")
    if back not in client.get("redirectUris", [back]):
        raise BankError("format-error", expected="redirect_uri must be an address that this TPP has registered")
    state = {"state": query["state"]} if "state" in query else {}
    try:
        _check(call, query)
        id, authorisation = _find_waiting(call, query)
        call.path = {}
        page = page_of(call, authorisation)
        if not page:
            # To lead to no page is to lead back here, again and again.
            text = "the bank's dialect has no operation authorisations.start for this, and so no page"
            raise _Refusal("server_error", text)
    except _Refusal as refusal:
        return redirect(with_members(back, {**refusal.members, **state}), *PRIVATE)
    authorisation = {
        **authorisation,
        "ok": with_members(back, state),
        "nok": with_members(back, {"error": "access_denied", **state}),
        "oauth": {
            "client": query["client_id"],
            "redirectUri": back,
            "scope": query["scope"],
            "challenge": query["code_challenge"],
        },
    }
    call.state.put(AUTHORISATIONS, id, authorisation)
    return redirect(with_members(page, {"decide": query["decide"]} if "decide" in query else {}), *PRIVATE)


def _check(call: Call, query: Mapping[str, str]) -> None:
    """Raises _Refusal."""
    if twice := next((name for name in call.query if len(call.values(RequestPart("query", name))) > 1), None):
        raise _Refusal("invalid_request", f"{twice} is sent twice")
    for name in ("response_type", "scope", "code_challenge"):
        if name not in query:
            raise _Refusal("invalid_request", f"{name} is required")
    if query["response_type"] != "code":
        raise _Refusal("unsupported_response_type", "response_type must be code")
    if query.get("code_challenge_method") != "S256":
        raise _Refusal("invalid_request", "code_challenge_method must be S256")
    if not _CHALLENGE.fullmatch(query["code_challenge"]):
        raise _Refusal("invalid_request", "code_challenge must be a SHA-256 in base64url, of 43 characters")


def _find_waiting(call: Call, query: Mapping[str, str]) -> tuple[str, Document]:
    """The authorisation by OAuth that waits for the customer; that of a login, where the scope names no resource.

    Raises _Refusal.
    """
    kinds = query["scope"].split()
    if kinds and set(kinds) <= _SCOPES.keys() and "login" in call.sca:
        return _login(call, " ".join(kinds), query.get("login_hint", ""))
    kind, _, id = query["scope"].partition(":")
    id = as_kept(id.strip())
    there = False
    for family in (FAMILIES[name] for name in _SCOPES.get(kind, ())):
        resource = call.state.get(family.collection, id)
        there = there or resource is not None
        for waiting in _open(call, family, resource or {}):
            return waiting
    if there:
        raise _Refusal("access_denied", "nothing of it waits for an authorisation by OAuth")
    raise _Refusal("invalid_scope", "scope must be AIS:<consentId>, PIIS:<consentId> or PIS:<paymentId>, or name no id")


def _login(call: Call, scope: str, hint: str) -> tuple[str, Document]:
    """A new authorisation of nothing but the customer's login; `hint` is who that may be."""
    id = call.new_id()
    call.state.put("logins", id, {"loginStatus": "received", "scope": scope})
    call.options = call.sca["login"]
    authorisation_id, authorisation = begin(call, FAMILIES["login"], id, implicit=True)
    return authorisation_id, {**authorisation, "psuId": hint if call.state.get("psus", hint) else None}


def _open(call: Call, family: Family, resource: Mapping[str, Any]) -> Iterator[tuple[str, Document]]:
    """The newest first."""
    for id in reversed(resource.get(family.listed, ()) if resource and can_sign(family, resource) else ()):
        authorisation = call.state.get(AUTHORISATIONS, id)
        if authorisation and authorisation["approach"] == OAUTH and authorisation["scaStatus"] not in SCA.final:
            yield id, authorisation
