"""The control interface below `/_sandbox/`: state, clock, sessions, reset, and the payment user's decision.

Who may use it is the guard's to say. It speaks JSON of its own, not the bank's.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xs2a_sandbox import clock_setting
from xs2a_sandbox.answer import JSON
from xs2a_sandbox.call import Call, parse_json
from xs2a_sandbox.errors import BankError, Refused, StoreUnavailable
from xs2a_sandbox.guard import Guard
from xs2a_sandbox.handlers.signing import AUTHORISATIONS, FAMILIES, fail, holders, settle, succeed
from xs2a_sandbox.handlers.visit import check_open
from xs2a_sandbox.messages import Request, Response, to_json
from xs2a_sandbox.session import DEFAULT, is_session_name
from xs2a_sandbox.states import SCA
from xs2a_sandbox.store import Document, Store

log = logging.getLogger("xs2a_sandbox")

ROOT = "_sandbox"
_NAMES = frozenset({"state", "clock", "sessions", "reset", "sca"})
_TRIES = 8
_RETRY_SECONDS = 0.02


def is_control(request: Request, segments: Sequence[str]) -> bool:
    """Never through the proxy or the TLS door: what is a control request here is an unknown path there."""
    return len(segments) > 1 and segments[0] == ROOT and segments[1] in _NAMES and request.door in ("direct", "process")


@dataclass(frozen=True, slots=True)
class _Asked:
    """One attempt at one request; `names` are the segments after the first."""

    call: Call
    names: Sequence[str]

    def body(self, *members: str) -> dict[str, Any]:
        """An object with no other members, where any are named."""
        warnings: list[str] = []
        try:
            value = parse_json(self.call.request.body, warnings)
        except BankError as error:
            raise Refused(400, "body-invalid", error.values["expected"]) from None
        if not isinstance(value, dict):
            raise Refused(400, "body-invalid", f"the body must be a JSON object, not {_kind(value)}")
        if warnings:
            raise Refused(400, "body-invalid", warnings[0])
        if members and (unknown := sorted(value.keys() - set(members))):
            text = f"the body has a member {unknown[0]!r}; known here: {', '.join(members)}"
            raise Refused(400, "body-invalid", text)
        return value


_Answer = tuple[int, Any]
"""Status and JSON; the value None is no body."""


class Control:
    """`on_reset` is told the name of each session whose state was forgotten, or None for all."""

    def __init__(self, store: Store, on_reset: Callable[[str | None], None]) -> None:
        self._store = store
        self._on_reset = on_reset
        self._routes: dict[tuple[str, int], dict[str, Callable[[_Asked], _Answer]]] = {
            ("state", 0): {"GET": self._collections},
            ("state", 1): {"GET": self._collection},
            ("state", 2): {"GET": self._document, "PUT": self._put, "DELETE": self._delete},
            ("clock", 0): {"GET": self._clock, "PUT": self._set_clock, "POST": self._move_clock},
            ("sessions", 0): {"GET": self._sessions},
            ("sessions", 1): {"GET": self._session, "DELETE": self._forget},
            ("reset", 0): {"POST": self._reset},
            ("sca", 1): {"GET": self._authorisation, "POST": self._decide},
        }

    async def answer(
        self, request: Request, segments: Sequence[str], guard: Guard, begin: Callable[[], Call]
    ) -> Response:
        """`begin` starts the request's transaction anew; it is committed unless the request only reads."""
        try:
            guard.check(request)
            endpoint = self._endpoint(request.method, segments)
            for attempt in range(_TRIES):
                if attempt:
                    await asyncio.sleep(_RETRY_SECONDS * attempt)
                try:
                    call = begin()
                    status, value = endpoint(_Asked(call, segments[2:]))
                    if request.method in ("GET", "HEAD") or call.state.commit():
                        return _said(status, value)
                except BankError as error:
                    raise Refused(409, error.name, f"the bank's logic refuses this: {error.name}") from None
                except StoreUnavailable as error:
                    log.warning("the state cannot be used: %s", error)
            raise Refused(503, "busy", "the state cannot be read or written right now; the log says why")
        except Refused as refused:
            return _said(refused.status, {"error": refused.error, "message": str(refused)}, *refused.headers)

    def _endpoint(self, method: str, segments: Sequence[str]) -> Callable[[_Asked], _Answer]:
        path = "/" + "/".join(segments)
        methods = self._routes.get((segments[1], len(segments) - 2))
        if methods is None:
            raise Refused(404, "path-unknown", f"the control interface has no {path}; docs/control.md says what it has")
        if not all(segments):
            raise Refused(400, "id-empty", f"{path}: names and ids must not be empty")
        if endpoint := methods.get("GET" if method == "HEAD" else method):
            return endpoint
        allowed = ", ".join([*(["GET", "HEAD"] if "GET" in methods else []), *(m for m in methods if m != "GET")])
        raise Refused(405, "method-not-offered", f"{path} is offered for {allowed}", ("Allow", allowed))

    # -- state

    def _collections(self, asked: _Asked) -> _Answer:
        state = asked.call.state
        return 200, {name: state.all(name) for name in state.collections() if not _own(name)}

    def _collection(self, asked: _Asked) -> _Answer:
        return 200, asked.call.state.all(asked.names[0])

    def _document(self, asked: _Asked) -> _Answer:
        document = asked.call.state.get(*asked.names)
        if document is None:
            raise _no_document(asked)
        return 200, document

    def _put(self, asked: _Asked) -> _Answer:
        collection, id = _writable(asked)
        document = asked.body()
        known = asked.call.state.get(collection, id) is not None
        asked.call.state.put(collection, id, document)
        return 200 if known else 201, document

    def _delete(self, asked: _Asked) -> _Answer:
        collection, id = _writable(asked)
        if asked.call.state.get(collection, id) is None:
            raise _no_document(asked)
        asked.call.state.delete(collection, id)
        return 204, None

    # -- clock

    def _clock(self, asked: _Asked) -> _Answer:
        return 200, clock_setting.described(asked.call.clock)

    def _set_clock(self, asked: _Asked) -> _Answer:
        return 200, clock_setting.put(asked.call, asked.body("shift", "frozen", "real"))

    def _move_clock(self, asked: _Asked) -> _Answer:
        return 200, clock_setting.move(asked.call, asked.body("move"))

    # -- sessions

    def _sessions(self, asked: _Asked) -> _Answer:
        kept: dict[str, dict[str, int]] = {DEFAULT: {}, **self._store.sessions()}
        return 200, {"sessions": [{"id": name, "documents": _counted(kept[name])} for name in sorted(kept)]}

    def _session(self, asked: _Asked) -> _Answer:
        return 200, {"id": asked.names[0], "documents": _counted(self._kept(asked))}

    def _forget(self, asked: _Asked) -> _Answer:
        self._kept(asked)
        self._forget_one(asked.names[0])
        return 204, None

    def _reset(self, asked: _Asked) -> _Answer:
        body = asked.body("all") if asked.call.request.body.strip() else {}
        everything = body.get("all", False)
        if not isinstance(everything, bool):
            raise Refused(400, "body-invalid", f"all must be true or false, not {_kind(everything)}")
        if not everything:
            self._forget_one(asked.call.session.id)
            return 200, {"reset": [asked.call.session.id]}
        names = sorted({DEFAULT, *self._store.sessions()})
        self._store.reset()
        self._on_reset(None)
        return 200, {"reset": names}

    def _forget_one(self, name: str) -> None:
        self._store.reset(name)
        self._on_reset(name)

    def _kept(self, asked: _Asked) -> dict[str, int]:
        name = asked.names[0]
        if not is_session_name(name):
            raise Refused(400, "session-invalid", "session names are 1 to 64 of the characters A-Z a-z 0-9 . _ -")
        counts = self._store.counts(name)
        if not counts and name != DEFAULT:
            raise Refused(404, "session-unknown", f"nothing is kept of a session {name}")
        return counts

    # -- strong customer authentication

    def _authorisation(self, asked: _Asked) -> _Answer:
        id, authorisation = _settled(asked)
        return 200, _described(asked.call, id, authorisation)

    def _decide(self, asked: _Asked) -> _Answer:
        """As if the payment user had, in the bank's app or on its pages."""
        decision = asked.body("decide").get("decide")
        if decision not in _DECISIONS:
            raise Refused(400, "body-invalid", f"decide must be one of {', '.join(_DECISIONS)}")
        id, authorisation = _settled(asked)
        status = authorisation["scaStatus"]
        if status in SCA.final:
            raise Refused(409, "decided", f"the authorisation {id} is {status}: nothing happens to it any more")
        if authorisation["approach"] == "embedded":
            text = f"the authorisation {id} is embedded: the app sends password and one-time password itself"
            raise Refused(409, "embedded", text)
        _check_open(asked.call, authorisation)
        if decision != "approve":
            authorisation = fail(asked.call, id, authorisation)
        elif status == "unconfirmed":
            text = f"the payment user has approved {id} already; the app has to send its confirmation code"
            raise Refused(409, "unconfirmed", text)
        else:
            psu = authorisation.get("psuId") or _next_signatory(asked.call, authorisation)
            authorisation = succeed(asked.call, id, {**authorisation, "psuId": psu})
        return 200, _described(asked.call, id, authorisation)


_DECISIONS = ("approve", "decline", "timeout", "error")


def _settled(asked: _Asked) -> tuple[str, Document]:
    """The authorisation as it is now. Raises Refused."""
    call, id = asked.call, asked.names[0].lower()
    authorisation = call.state.get(AUTHORISATIONS, id)
    if authorisation is not None:
        settle(call, FAMILIES[authorisation["family"]].collection, authorisation["resource"])
        authorisation = call.state.get(AUTHORISATIONS, id)
    if authorisation is None:
        raise Refused(404, "authorisation-unknown", f"the session {call.session.id} has no authorisation {id}")
    return id, authorisation


def _check_open(call: Call, authorisation: Document) -> None:
    """Raises Refused where the decision could have no effect, or has its effect elsewhere."""
    family, id = FAMILIES[authorisation["family"]], authorisation["resource"]
    what = "payment" if family.name == "cancellation" else family.name
    resource = call.state.get(family.collection, id)
    if resource is None:
        raise Refused(409, "resource-gone", f"the {what} {id} is not there any more")
    try:
        check_open(call, family, id, resource)
    except BankError as error:
        why = "is in a signing basket and is decided with it"
        if error.name == "status-invalid":
            why = f"is {error.values['status']}: nothing is left to decide about it"
        raise Refused(409, error.name, f"the {what} {id} {why}") from None


def _described(call: Call, id: str, authorisation: Document) -> Document:
    family = FAMILIES[authorisation["family"]]
    resource = call.state.get(family.collection, authorisation["resource"]) or {}
    return {"authorisationId": id, **authorisation, "resourceStatus": resource.get(family.status)}


def _next_signatory(call: Call, authorisation: Document) -> str | None:
    """Where nobody has identified themselves: the first customer who has not signed yet."""
    family = FAMILIES[authorisation["family"]]
    resource = call.state.get(family.collection, authorisation["resource"])
    if resource is None:
        return None
    signed = resource.get(f"{family.listed}SignedBy", ())
    may = holders(call, family, resource)
    return next((psu for psu in may if psu not in signed), may[0] if may else None)


def _own(collection: str) -> bool:
    """Collections that the sandbox keeps for itself are shown when they are named, and never written."""
    return collection.startswith("_")


def _writable(asked: _Asked) -> tuple[str, str]:
    collection, id = asked.names
    if _own(collection):
        text = f"the collection {collection} is the sandbox's own; /_sandbox/clock and /_sandbox/reset change it"
        raise Refused(403, "collection-own", text)
    return collection, id


def _no_document(asked: _Asked) -> Refused:
    collection, id = asked.names
    return Refused(404, "document-unknown", f"the session {asked.call.session.id} has no {id} in {collection}")


def _counted(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in sorted(counts.items()) if not _own(name)}


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return {list: "a list", str: "a text", bool: "true or false", dict: "an object"}.get(type(value), "a number")


def _said(status: int, value: Any, *headers: tuple[str, str]) -> Response:
    fields = (*headers, ("Cache-Control", "no-store"))
    if value is None:
        return Response(status, fields)
    return Response(status, (("Content-Type", JSON), *fields), to_json(value))
