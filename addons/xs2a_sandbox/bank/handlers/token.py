"""Access tokens for clients of the test data (RFC 6749; PKCE: RFC 7636; by certificate and bound to it: RFC 8705).

A bank may also bind them to a key (RFC 9449). Clients can revoke them (RFC 7009).
"""

import base64
import binascii
import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

from xs2a_sandbox.bank.domain.possession import CERTIFICATE, KEY, Unproven, certificate_of, hash_key, key_of
from xs2a_sandbox.bank.handlers.approaches import habit
from xs2a_sandbox.bank.handlers.inputs import (
    CLIENT,
    CLIENT_ID,
    CLIENT_SECRET,
    CODE,
    CODE_REDIRECT_URI,
    CODE_VERIFIER,
    GRANT_TYPE,
    REFRESH_TOKEN,
    SCOPE,
    TOKEN,
)
from xs2a_sandbox.cassette import Call, Operation
from xs2a_sandbox.cassette.handler import Option, deeds, handler
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.media_type import media_type
from xs2a_sandbox.state import Document

TOKENS, REFRESH_TOKENS, CODES = "tokens", "refreshTokens", "authorisationCodes"
BY_CLIENT, BY_CODE, BY_REFRESHING = "client_credentials", "authorization_code", "refresh_token"
MEDIA_TYPE = "application/x-www-form-urlencoded"

_GRANTED = ("client", "scope", "family", "resource", "authorisation", "psuId", "code")
"""The members that a token copies from its code, or from the token that was refreshed."""

Credentials = tuple[str, tuple[str, ...] | None]
"""A client's id, and the possible readings of its secret, or None if its certificate replaces the secret."""


_OF_CLIENT = (GRANT_TYPE, CLIENT_ID, CLIENT_SECRET, CLIENT)
_IN_FORMS = {CODE_REDIRECT_URI.name: "redirect_uri"}
"""The names of inputs in forms, if they differ."""


@handler(
    "token.issue",
    takes=(*_OF_CLIENT, CODE, CODE_REDIRECT_URI, CODE_VERIFIER, REFRESH_TOKEN, SCOPE),
    reads="body/client_id body/client_secret body/grant_type headers.authorization headers.content-type",
    raises="grant-unsupported token-client-unknown token-request-invalid",
    returns="token token_type expires_in refresh_token scope",
    options={
        "certificate_bound": Option(
            "Whether a token is valid only with the client certificate with which it was requested.",
            {"type": "boolean"},
            default=False,
        ),
        "dpop_bound": Option(
            "Whether a token is valid only with the key of the proof in the header `DPoP` with which it was requested.",
            {"type": "boolean"},
            default=False,
            deeds=deeds("headers.dpop", "proof-invalid"),
        ),
        "expires_in": Option(
            "The number of seconds for which a token is valid.", {"type": "integer", "minimum": 0}, required=True
        ),
        "grants": Option(
            "The grants that the endpoint accepts. By default only `client_credentials`.",
            {"type": "array", "minItems": 1, "items": {"enum": [BY_CLIENT, BY_CODE, BY_REFRESHING]}},
            deeds=deeds(
                "body/code body/code_verifier body/redirect_uri body/refresh_token body/scope",
                "grant-invalid scope-invalid",
            ),
        ),
        "refresh_expires_in": Option(
            "The number of seconds for which a refresh token is valid.",
            {"type": "integer", "minimum": 0},
            default=7776000,
        ),
        "scopes": Option(
            "The scopes that clients may request for themselves in `scope`. By default `scope` is ignored, and "
            "their tokens are for everything.",
            {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}},
            deeds=deeds("body/scope", "scope-invalid"),
        ),
    },
)
def issue(call: Call) -> dict[str, Any]:
    """Issue a token, and store it with its client, its scope and its expiry."""
    form, grants = _form(call), call.options.get("grants") or [BY_CLIENT]
    grant = _read_required(form, "grant_type")
    if grant not in grants:
        raise BankError("grant-unsupported", offered=", ".join(grants))
    client = _client(call, form)
    if grant == BY_CODE:
        return _exchange(call, form, client, refreshable=BY_REFRESHING in grants)
    if grant == BY_REFRESHING:
        return _refresh(call, form, client)
    scope = _scope_of_its_own(call, form)
    members = {"client": client, "scope": scope} if scope else {"client": client}
    return _answer(call, _new_token(call, members), scope=scope)


@handler(
    "token.revoke",
    takes=(*_OF_CLIENT, TOKEN),
    reads="body/client_id body/client_secret body/token headers.authorization headers.content-type",
    raises="grant-invalid token-client-unknown token-request-invalid",
)
def revoke(call: Call) -> dict[str, Any]:
    """Revoke a token of the client.

    Revoking an access token ends only that token. Revoking a refresh token also ends all access tokens that come from
    the same code.
    """
    form = _form(call)
    secret, client = _read_required(form, "token"), _client(call, form)
    # An unknown token counts as revoked (RFC 7009, 2.2). The parameter token_type_hint is not needed.
    for collection in (TOKENS, REFRESH_TOKENS):
        if (kept := call.state.get(collection, secret)) is None:
            continue
        if kept["client"] != client:
            raise BankError("grant-invalid", expected="the token was given to another client")
        call.state.delete(collection, secret)
        if collection == REFRESH_TOKENS and (code := kept.get("code")):
            _end(call, code)
    return {}


ENDPOINTS = (issue.name, revoke.name)
"""The handlers that clients call without a token."""


def are_issued(operations: Iterable[Operation]) -> bool:
    """Return whether one of the operations issues tokens. Otherwise apps bring tokens of their own."""
    return any(operation.behaviour.handler == issue.name for operation in operations)


def _end(call: Call, code: str) -> None:
    """Revoke all tokens that were issued for the code, directly or by refreshing."""
    for collection in (TOKENS, REFRESH_TOKENS):
        for secret, kept in call.state.all(collection).items():
            if kept.get("code") == code:
                call.state.delete(collection, secret)


def _scope_of_its_own(call: Call, form: Mapping[str, str]) -> str | None:
    """Return the scope of a client without a customer, or None if it names none or scopes are not checked."""
    offered, scope = call.options.get("scopes"), form.get("scope")
    if offered is None or scope is None:
        return None
    if not set(scope.split()) <= set(offered):
        listed = ", ".join(offered)
        raise BankError(
            "scope-invalid",
            expected=(
                f"the scope of a token without a customer can only contain these words, separated by spaces: {listed}"
            ),
        )
    return scope


def new_code(call: Call, id: str, authorisation: Mapping[str, Any]) -> str:
    """Store and return the code that the app can exchange for a token of the customer's authorisation."""
    of = {name: authorisation[name] for name in ("family", "resource")}
    members = {**authorisation["oauth"], **of, "authorisation": id, "psuId": authorisation.get("psuId")}
    return _keep(call, CODES, habit(call, authorisation, "code_expires_after"), members)


def _exchange(call: Call, form: Mapping[str, str], client: str, *, refreshable: bool) -> dict[str, Any]:
    """Issue the tokens for a code. A second use of the code revokes them (RFC 6749, 4.1.2)."""
    code, uri = (_read_required(form, name) for name in ("code", "redirect_uri"))
    endpoint = call.authorising.endpoint
    if endpoint is None or endpoint.needs_challenge:
        _read_required(form, "code_verifier")
    kept = _own(call, CODES, code, client, "code")
    if kept.get("exchanged"):
        _end(call, code)
        raise BankError(
            "grant-invalid", keep=True, expected="the code was used before, so its tokens have been revoked"
        )
    if uri != kept["redirect_uri"]:
        raise BankError("grant-invalid", expected="the redirect_uri must be the same as in the authorization request")
    _check_verifier(form, kept.get("challenge"))
    members = _grant({**kept, "code": code})
    tokens = [_new_token(call, members)]
    if refreshable:
        tokens.append(_keep(call, REFRESH_TOKENS, call.options["refresh_expires_in"], members))
    call.state.put(CODES, code, {**kept, "exchanged": True})
    return _answer(call, *tokens, scope=kept.get("scope"))


def _check_verifier(form: Mapping[str, str], challenge: str | None) -> None:
    """Check the verifier against the challenge. A verifier without a challenge is an attack (RFC 9700, 2.1.1)."""
    if challenge is None:
        if "code_verifier" in form:
            raise BankError(
                "grant-invalid",
                expected="the code_verifier must be left out, because the authorization request had no code_challenge",
            )
    elif not _is_same(challenge, challenge_of(_read_required(form, "code_verifier"))):
        raise BankError(
            "grant-invalid", expected="the code_verifier does not match the code_challenge of the authorization request"
        )


def _refresh(call: Call, form: Mapping[str, str], client: str) -> dict[str, Any]:
    """Issue a new access token. The refresh token stays valid."""
    kept = _own(call, REFRESH_TOKENS, _read_required(form, "refresh_token"), client, "refresh_token")
    scope = kept.get("scope")
    if form.get("scope", scope) != scope:
        raise BankError(
            "scope-invalid", expected=f"the scope must not exceed the scope of the refresh_token: {scope or 'no scope'}"
        )
    return _answer(call, _new_token(call, _grant(kept)), scope=scope)


def _grant(kept: Document) -> Document:
    return {name: kept[name] for name in _GRANTED if kept.get(name) is not None}


def _answer(call: Call, token: str, refresh_token: str | None = None, *, scope: str | None = None) -> dict[str, Any]:
    seconds: int = call.options["expires_in"]
    kind = "DPoP" if call.options["dpop_bound"] else "Bearer"
    members = {"token": token, "token_type": kind, "expires_in": seconds}
    return {**members, "refresh_token": refresh_token, "scope": scope}


def _new_token(call: Call, members: Document) -> str:
    """Issue an access token, bound to a certificate or key if the bank does that. Raises BankError."""
    bound = {}
    if call.options["certificate_bound"]:
        if (thumbprint := certificate_of(call)) is None:
            text = (
                "tokens are bound to the client certificate (RFC 8705), so send the request with a client certificate"
            )
            raise BankError("token-request-invalid", expected=text)
        bound[CERTIFICATE] = thumbprint
    if call.options["dpop_bound"]:
        try:
            bound[KEY] = key_of(call)
        except Unproven as mistake:
            raise BankError("proof-invalid", expected=str(mistake)) from None
    return _keep(call, TOKENS, call.options["expires_in"], {**members, "cnf": bound} if bound else members)


def _keep(call: Call, collection: str, seconds: int, members: Document) -> str:
    """Store the document under a new secret, and return the secret."""
    secret = secrets.token_urlsafe(32)
    call.state.put(collection, secret, {**members, "expires": call.clock.after(seconds).isoformat()})
    return secret


def _own(call: Call, collection: str, secret: str, client: str, name: str) -> Document:
    """Return the document of a valid secret of this client. Raises BankError `grant-invalid`."""
    kept = call.state.get(collection, secret)
    if kept is None or kept["client"] != client:
        raise BankError("grant-invalid", expected=f"the {name} is unknown, or was given to another client")
    if datetime.fromisoformat(kept["expires"]) <= call.clock.now():
        raise BankError("grant-invalid", expected=f"the {name} has expired")
    return kept


def challenge_of(verifier: str) -> str:
    """Return the code_challenge of a code_verifier, by S256 (RFC 7636, 4.2)."""
    return hash_key(verifier.encode())


def _read_required(form: Mapping[str, str], name: str) -> str:
    if name not in form:
        raise BankError("token-request-invalid", expected=f"{name} is required")
    return form[name]


def _form(call: Call) -> Mapping[str, str]:
    """Return the parameters by their names in forms. They come from a form, or from the dialect's inputs."""
    if call.inputs.keys() & {GRANT_TYPE.name, TOKEN.name}:
        inputs = (*_OF_CLIENT, CODE, CODE_REDIRECT_URI, CODE_VERIFIER, REFRESH_TOKEN, SCOPE, TOKEN)
        found = ((_IN_FORMS.get(input.name, input.name), call.take(input.name)) for input in inputs)
        return {name: str(value) for name, value in found if value}
    if media_type(call.headers.get("content-type", MEDIA_TYPE)) != MEDIA_TYPE:
        raise BankError("token-request-invalid", expected=f"Content-Type must be {MEDIA_TYPE}")
    try:
        pairs = parse_qsl(call.request.body.decode(), keep_blank_values=True, errors="strict")
    except ValueError:
        raise BankError("token-request-invalid", expected="the body must be a form in UTF-8") from None
    form = dict(pairs)
    if len(form) != len(pairs):
        raise BankError("token-request-invalid", expected="no parameter may be sent twice")
    # A parameter without a value counts as missing.
    return {name: value for name, value in form.items() if value}


def _client(call: Call, form: Mapping[str, str]) -> str:
    """Return the id of the authenticated client. Raises BankError."""
    if CLIENT.name in call.inputs:
        known = call.take(CLIENT.name)
        if not known or call.state.get("clients", str(known)) is None:
            raise BankError("token-client-unknown", expected="the client did not identify itself")
        return str(known)
    id, secrets = _credentials(call, form)
    client = call.state.get("clients", id)
    if client is None or (secrets is not None and not any(_is_same(client["secret"], secret) for secret in secrets)):
        raise BankError("token-client-unknown", expected="the client is unknown, or its secret is wrong")
    return id


def client_id(call: Call) -> str | None:
    """Return the id that the client claims in a token request, without checking it; None if there is none."""
    try:
        return call.take(CLIENT.name) or _credentials(call, _form(call))[0]
    except BankError:
        return None


def _credentials(call: Call, form: Mapping[str, str]) -> Credentials:
    scheme, _, encoded = call.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic":
        if "client_secret" in form:
            text = "the client must identify itself only once: with HTTP Basic, or with client_id and client_secret"
            raise BankError("token-request-invalid", expected=text)
        return _basic(encoded)
    if "client_id" not in form:
        text = "the client must identify itself: with HTTP Basic, or with client_id, with or without client_secret"
        raise BankError("token-client-unknown", expected=text)
    # Without a secret, mutual TLS identifies the client, but no door requests a certificate.
    return form["client_id"], (form["client_secret"],) if "client_secret" in form else None


def find_client(entry: Exchange) -> tuple[str, str | None] | None:
    """Return the client that a recorded token request names, with its secret if the request has one."""
    scheme, _, encoded = (entry.headers.get("authorization") or "").partition(" ")
    if scheme.lower() == "basic":
        try:
            id, (secret, *_) = _basic(encoded)
        except BankError:
            return None
        return id, secret
    form = dict(parse_qsl(entry.body.decode(errors="replace")))
    return (form["client_id"], form.get("client_secret")) if "client_id" in form else None


def _basic(encoded: str) -> tuple[str, tuple[str, ...]]:
    """Parse HTTP Basic. Both parts may be form-encoded, as the RFC requires, or not, as most clients send them."""
    try:
        id, colon, secret = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        colon = ""
    if not colon:
        raise BankError("token-client-unknown", expected="HTTP Basic must contain client_id:client_secret in base64")
    return unquote_plus(id), (secret, unquote_plus(secret))


def _is_same(kept: str, secret: str) -> bool:
    return secrets.compare_digest(kept.encode(), secret.encode())
