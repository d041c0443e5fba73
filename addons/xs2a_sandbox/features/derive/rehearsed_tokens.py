"""The tokens of a rehearsal: which token a recorded request had, and which one the dialect has issued in its place.

A recording has neither the customer's decision at the bank nor the code that the app got for it. If the bank accepted a
code, the customer had agreed to what the app had created last. A redacted recording has no tokens either: a request
then gets the token with which the dialect answers with the recorded status.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from msgspec import structs

from xs2a_sandbox.bank.domain.signing import AUTHORISATIONS, FAMILIES
from xs2a_sandbox.bank.handlers.token import BY_CODE, CODES, MEDIA_TYPE, challenge_of, find_client, issue
from xs2a_sandbox.cassette.index import Index
from xs2a_sandbox.compare.states import Asked, ReportedState, Thing, is_decided, reported_state, resource
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.http import Headers, Request, Response, body
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.media_type import media_type
from xs2a_sandbox.redaction.values import DROPPED
from xs2a_sandbox.state.session import HEADER

_AUTHORIZATION = "authorization"
_REFUSALS = (401, 403)
_MOST_TRIES = 8
"""The number of tokens that a request of a redacted recording tries."""
_SECRETS = ("access_token", "refresh_token")
"""The members of an answer with tokens (RFC 6749, 5.1)."""
_LIFE = timedelta(days=1)


class RehearsedTokens:
    """Sends recorded requests to an engine, with tokens that this engine has issued."""

    def __init__(self, engine: Engine, admin_token: str) -> None:
        self._engine = engine
        self._index = Index(engine.interface)
        self._issues = any(one.behaviour.handler == issue.name for one in engine.interface.operations.values())
        self._admin_token = admin_token
        self._names: dict[str, str] = {}
        """Tokens of the engine by those of the recording."""
        self._issued: list[str] = []
        self._waiting: dict[tuple[Thing, str], str] = {}
        """What waits for a decision of the customer, with its id in the engine."""

    async def ask(self, request: Request, recorded: Exchange) -> Response:
        """Return the engine's answer to a request whose ids were translated before."""
        if not self._issues:
            return await self._engine.answer(request)
        asked = Asked.in_exchange(self._index, recorded)
        operation = asked.lookup.operation
        is_for_token = operation is not None and operation.behaviour.handler == issue.name
        if is_for_token:
            request = await self._prepare(request, recorded)
        attempts = [request] if is_for_token else list(self._attempts(request))
        response = await self._answer(attempts, recorded.status)
        self._learn(asked, recorded, response, is_for_token)
        return response

    async def _answer(self, attempts: Sequence[Request], status: int) -> Response:
        """Return the first answer with this status or a success, or else the first that does not refuse the token."""
        best, best_rank = attempts[0], -1
        for attempt in attempts:
            response = await self._engine.answer(attempt)
            if response.status == status or response.status < 400:
                return response
            rank = 2 if response.status not in _REFUSALS else int(attempt is not attempts[0])
            if rank > best_rank:
                best, best_rank = attempt, rank
        return response if best is attempts[-1] else await self._engine.answer(best)

    def _attempts(self, request: Request) -> Iterator[Request]:
        scheme, _, token = (request.headers.get(_AUTHORIZATION) or "").partition(" ")
        if token:
            yield _with_token(request, f"{scheme} {self._names.get(token, token)}")
            return
        yield request
        for token in self._issued[: -_MOST_TRIES - 1 : -1]:
            yield _with_token(request, f"Bearer {token}")

    async def _prepare(self, request: Request, recorded: Exchange) -> Request:
        """Let the customer decide if the bank accepted a code, and use the engine's tokens in the form."""
        if media_type(request.headers.get("content-type")) != MEDIA_TYPE:
            return request
        pairs = parse_qsl(request.body.decode(errors="replace"), keep_blank_values=True)
        form = dict(pairs)
        if form.get("grant_type") == BY_CODE and recorded.status < 300 and form.get("code") and self._waiting:
            await self._grant(request, form, recorded)
        changed = [(name, self._secret(form, name, value)) for name, value in pairs]
        return request if changed == pairs else structs.replace(request, body=urlencode(changed).encode())

    def _secret(self, form: Mapping[str, str], name: str, value: str) -> str:
        """Return the value of a parameter, with the engine's secret in place of a recorded one."""
        if name == "client_secret" and value == DROPPED:
            client = self._engine.parts.testdata.collections.get("clients", {}).get(form.get("client_id", ""), {})
            return str(client.get("secret", value))
        return self._names.get(value, value) if name in _SECRETS else value

    async def _grant(self, request: Request, form: Mapping[str, str], recorded: Exchange) -> None:
        """Authorise what was created last, and store the code for it."""
        (thing, _), id = self._waiting.popitem()
        client, told = find_client(recorded), body.read(recorded.answer_body).value
        family, naming = FAMILIES[thing], self._engine.interface.things[thing]
        if naming.authorised:
            await self._engine.follow(request, ReportedState(thing, id, naming.authorised))
        resource = await self._state(request, "GET", family.collection, id)
        listed = resource.get(family.listed) or [""]
        authorisation = await self._state(request, "GET", AUTHORISATIONS, listed[-1])
        document = {
            "client": client[0] if client else None,
            "scope": told.get("scope") if isinstance(told, dict) else None,
            "redirect_uri": form.get("redirect_uri"),
            "challenge": challenge_of(form["code_verifier"]) if "code_verifier" in form else None,
            "family": thing,
            "resource": id,
            "authorisation": listed[-1],
            "psuId": authorisation.get("psuId"),
            "expires": (self._engine.parts.clock.now() + _LIFE).isoformat(),
        }
        known = {name: value for name, value in document.items() if value is not None}
        await self._state(request, "PUT", CODES, form["code"], known)

    async def _state(
        self, request: Request, method: str, collection: str, id: str, document: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Read or write a document in the session of the request. A missing document is empty."""
        fields = {
            "Authorization": f"Bearer {self._admin_token}",
            "Content-Type": "application/json",
            HEADER: request.headers.get(HEADER) or "",
        }
        target = f"/_sandbox/state/{collection}/{quote(id, safe='')}"
        sent = json.dumps(document).encode() if document is not None else b""
        answer = await self._engine.answer(Request(method, target, Headers(tuple(fields.items())), sent))
        value = body.read(answer.body).value
        return value if answer.status < 300 and isinstance(value, dict) else {}

    def _learn(self, asked: Asked, recorded: Exchange, response: Response, is_for_token: bool) -> None:
        before, after = body.read(recorded.answer_body), body.read(response.body)
        if recorded.status >= 300 or response.status >= 300:
            return
        if is_for_token:
            self._learn_tokens(before.value, after.value)
            return
        if (now := reported_state(asked, before)) and is_decided(asked.things, now.thing, now.state):
            self._waiting.pop((now.thing, now.id), None)
        elif asked.verb == "create" and (made := resource(asked, before)) and (twin := resource(asked, after)):
            self._waiting[made] = twin[1]

    def _learn_tokens(self, before: Any, after: Any) -> None:
        for name in _SECRETS:
            old, new = (value.get(name) if isinstance(value, dict) else None for value in (before, after))
            if isinstance(old, str) and isinstance(new, str):
                self._names[old] = new
                if name == _SECRETS[0]:
                    self._issued.append(new)


def _with_token(request: Request, authorization: str) -> Request:
    others = (pair for pair in request.headers if pair[0].lower() != _AUTHORIZATION)
    return structs.replace(request, headers=Headers((*others, ("Authorization", authorization))))
