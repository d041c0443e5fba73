"""The OAuth authorisation endpoint (RFC 6749, 4.1.1; PKCE: RFC 7636): redirects to the page of the resource."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from xs2a_sandbox.bank.domain.lifecycle import SCA
from xs2a_sandbox.bank.domain.signing import AUTHORISATIONS, FAMILIES, Family, can_sign
from xs2a_sandbox.bank.handlers.approaches import OAUTH, begin, page_of
from xs2a_sandbox.bank.sca_pages.html import PRIVATE
from xs2a_sandbox.bank.sca_pages.return_address import accept, with_members
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.dialect.authorisation import SECTION, OAuthEndpoint
from xs2a_sandbox.cassette.evaluation.expressions import Scope, render
from xs2a_sandbox.cassette.evaluation.values import to_text
from xs2a_sandbox.cassette.matchers import RequestPart
from xs2a_sandbox.documents.formats import as_kept
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Response
from xs2a_sandbox.http.messages import redirect
from xs2a_sandbox.state import Document

_KEPT = {"scope": "scope", "challenge": "code_challenge"}
"""The members of an authorisation that store a parameter of the request."""
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")


class _Refusal(Exception):
    """An error that is sent to the app through the browser (RFC 6749, 4.1.2.1)."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(error)
        self.members = {"error": error, "error_description": description}


def lead_on(call: Call, endpoint: OAuthEndpoint) -> Response:
    """Redirect the browser to the page, or back to the app with an error.

    Raises BankError, which the payment user sees, if the address may not belong to the app.
    """
    scope = call.scope()
    pushed = render(endpoint.pushed, scope) if endpoint.pushed else None
    sent = {**call.query, **(pushed if isinstance(pushed, Mapping) else {})}
    query = {name: text for name, text in sent.items() if isinstance(text, str) and text}
    client = call.state.get("clients", query.get("client_id", ""))
    if client is None:
        raise BankError("format-error", expected="the client_id in the link must be the id of a known TPP")
    back = query.get("redirect_uri", "")
    if not accept(back) or "#" in back:
        raise BankError("format-error", expected="redirect_uri must be an absolute URL without a fragment")
    if back not in client.get("redirectUris", [back]):
        raise BankError("format-error", expected="redirect_uri must be an address that this TPP has registered")
    state = {"state": query["state"]} if "state" in query else {}
    try:
        _check(call, endpoint, query)
        id, authorisation = _find_waiting(call, endpoint, query, {**scope, "query": query})
        page = page_of(call, authorisation)
        if not page:
            # Without a page it would redirect to itself forever.
            text = f"the section {SECTION} of the bank's dialect names no page for a {authorisation['family']}"
            raise _Refusal("server_error", text)
    except _Refusal as refusal:
        return redirect(with_members(back, {**refusal.members, **state}), *PRIVATE)
    authorisation = {
        **authorisation,
        "ok": with_members(back, state),
        "nok": with_members(back, {"error": "access_denied", **state}),
        "oauth": {
            "client": query["client_id"],
            "redirect_uri": back,
            **{member: query[name] for member, name in _KEPT.items() if name in query},
        },
    }
    call.state.put(AUTHORISATIONS, id, authorisation)
    # The page is relative to /sca/, but the path of this endpoint may be deeper.
    page = "../" * (len(endpoint.path) - 1) + page
    return redirect(with_members(page, {"decide": query["decide"]} if "decide" in query else {}), *PRIVATE)


def _check(call: Call, endpoint: OAuthEndpoint, query: Mapping[str, str]) -> None:
    """Check the parameters. Raises _Refusal."""
    if twice := next((name for name in call.query if len(call.values(RequestPart("query", name))) > 1), None):
        raise _Refusal("invalid_request", f"{twice} must be sent only once")
    needed = {"response_type": True, "scope": endpoint.needs_scope, "code_challenge": endpoint.needs_challenge}
    for name, is_needed in needed.items():
        if is_needed and name not in query:
            raise _Refusal("invalid_request", f"{name} is required")
    if query["response_type"] != "code":
        raise _Refusal("unsupported_response_type", "response_type must be code")
    if "code_challenge" not in query:
        return
    if query.get("code_challenge_method") != "S256":
        raise _Refusal("invalid_request", "code_challenge_method must be S256")
    if not _CHALLENGE.fullmatch(query["code_challenge"]):
        raise _Refusal("invalid_request", "code_challenge must be a SHA-256 hash in base64url (43 characters)")


def _find_waiting(call: Call, endpoint: OAuthEndpoint, query: Mapping[str, str], scope: Scope) -> tuple[str, Document]:
    """Return the OAuth authorisation that waits for the customer, or a new login if no resource is requested.

    Raises _Refusal.
    """
    words = query.get("scope", "").split()
    if words and endpoint.login.issuperset(words) and "login" in call.authorising.of:
        return _login(call, " ".join(words), query.get("login_hint", ""))
    is_there = False
    for family in (FAMILIES[name] for name in endpoint.finds if name in call.authorising.of):
        id = as_kept(to_text(render(endpoint.finds[family.name], scope)).strip())
        resource = call.state.get(family.collection, id) if id else None
        is_there = is_there or resource is not None
        for waiting in _open(call, family, resource or {}):
            return waiting
    if is_there:
        raise _Refusal("access_denied", "no authorisation by OAuth is pending for the requested resource")
    raise _Refusal("invalid_scope", endpoint.otherwise)


def _login(call: Call, scope: str, hint: str) -> tuple[str, Document]:
    """Create an authorisation that is only a login. `hint` is the expected customer."""
    id = call.new_id()
    call.state.put("logins", id, {"status": "awaiting", "scope": scope})
    call.options = {}
    authorisation_id, authorisation = begin(call, FAMILIES["login"], id, implicit=True)
    return authorisation_id, {**authorisation, "psuId": hint if call.state.get("psus", hint) else None}


def _open(call: Call, family: Family, resource: Mapping[str, Any]) -> Iterator[tuple[str, Document]]:
    """Yield the open OAuth authorisations of the resource, the newest first."""
    for id in reversed(resource.get(family.listed, ()) if resource and can_sign(family, resource) else ()):
        authorisation = call.state.get(AUTHORISATIONS, id)
        if authorisation and authorisation["approach"] == OAUTH and authorisation["status"] not in SCA.final:
            yield id, authorisation
