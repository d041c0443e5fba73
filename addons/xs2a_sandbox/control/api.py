"""The control interface below `/_sandbox/`: state, clock, sessions, reset, journal, explain, the user's decision.

Who may use it is the guard's to say. It speaks JSON of its own, not the bank's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.call import parse_json
from xs2a_sandbox.control import clock, sca
from xs2a_sandbox.control import journal as journal_view
from xs2a_sandbox.control.access import Guard
from xs2a_sandbox.documents.json_pointer import pointer_text
from xs2a_sandbox.errors import BankError, Refused, StoreUnavailable, body_invalid
from xs2a_sandbox.explain import request as described_request
from xs2a_sandbox.explain.explanation import Explanation, described
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.messages import NOT_KEPT, json_answer
from xs2a_sandbox.http.own_path import ROOT
from xs2a_sandbox.journal.journal import Journal
from xs2a_sandbox.state import Store, documents
from xs2a_sandbox.state.attempts import keep, kept
from xs2a_sandbox.state.session import DEFAULT, is_session_name


@dataclass(frozen=True, slots=True)
class ControlRequest:
    """One attempt at one request; `names` are the segments after the first."""

    call: Call
    names: Sequence[str]

    def body(self, *members: str) -> dict[str, Any]:
        """An object with no other members, where any are named. Raises Refused."""
        warnings: list[str] = []
        try:
            value = parse_json(self.call.request.body, warnings)
        except BankError as error:
            raise body_invalid(error.values["expected"]) from None
        if not isinstance(value, dict):
            raise body_invalid(f"the body must be a JSON object, not {kind(value)}")
        if warnings:
            raise body_invalid(warnings[0])
        if members and (unknown := sorted(value.keys() - set(members))):
            raise body_invalid(f"the body has a member {unknown[0]!r}; known here: {', '.join(members)}")
        return value


def kind(value: Any) -> str:
    """The kind of a JSON value, in words."""
    kinds = {list: "a list", str: "a text", bool: "true or false", dict: "an object", type(None): "null"}
    return kinds.get(type(value), "a number")


_WARNINGS = 5
"""So many mistakes of a document are told."""
_NAMES = frozenset({"state", "clock", "sessions", "reset", "sca", "status", "explain", "journal"})


def is_control(request: Request, segments: Sequence[str]) -> bool:
    """Tells if it controls the sandbox: never through the proxy or the TLS door, where it is an unknown path."""
    return len(segments) > 1 and segments[0] == ROOT and segments[1] in _NAMES and request.door in ("direct", "process")


WARNING = "X-Sandbox-Warning"
"""The header that says what is odd about what was done all the same."""

_Answer = tuple[int, Any]
"""Status and JSON; the value None is no body."""


class ControlledSandbox(Protocol):
    """A sandbox that is controlled. `begin_anew` is told the session whose state was forgotten, or None for all."""

    store: Store
    journal: Journal

    def begin_anew(self, session: str | None) -> None: ...

    def status(self) -> dict[str, Any]: ...

    def explain(self, request: Request) -> Explanation: ...


class Control:
    def __init__(self, sandbox: ControlledSandbox) -> None:
        self._sandbox = sandbox
        self._store = sandbox.store
        journal = sandbox.journal
        self._routes: dict[tuple[str, int], dict[str, Callable[[ControlRequest], _Answer]]] = {
            ("state", 0): {"GET": self._collections},
            ("state", 1): {"GET": self._collection},
            ("state", 2): {"GET": self._document, "PUT": self._put, "DELETE": self._delete},
            ("clock", 0): {
                "GET": lambda request: (200, clock.described(request.call.clock)),
                "PUT": lambda request: (200, clock.put(request.call, request.body("shift", "frozen", "seed", "real"))),
                "POST": lambda request: (200, clock.move(request.call, request.body("move"))),
            },
            ("sessions", 0): {"GET": self._sessions},
            ("sessions", 1): {"GET": self._session, "DELETE": self._forget},
            ("reset", 0): {"POST": self._reset},
            ("status", 0): {"GET": lambda request: (200, self._sandbox.status())},
            ("sca", 1): {
                "GET": lambda request: (200, sca.shown(request.call, request.names[0])),
                "POST": lambda request: (200, sca.decided(request.call, request.names[0], request.body("decide"))),
            },
            ("explain", 0): {"POST": self._explain},
            ("journal", 0): {
                "GET": lambda request: (200, journal_view.listed(journal, request.call)),
                "DELETE": lambda request: (200, journal_view.emptied(journal, request.call)),
            },
            ("journal", 1): {
                "GET": lambda request: (200, journal_view.one(journal, request.call, request.names[0])),
                "POST": lambda request: (
                    200,
                    journal_view.asserted(journal, request.call, request.names[0], request.body),
                ),
            },
        }

    async def answer(
        self, request: Request, segments: Sequence[str], guard: Guard, begin: Callable[[], Call]
    ) -> Response:
        """`begin` starts the request's transaction anew; it is committed unless the request only reads."""
        try:
            guard.check(request)
            endpoint = self._endpoint(request.method, segments)

            def attempt() -> tuple[_Answer, list[str]]:
                call = begin()
                answer = endpoint(ControlRequest(call, segments[2:]))
                if request.method not in ("GET", "HEAD"):
                    keep(call.state)
                return answer, call.warnings

            (status, value), warnings = await kept(attempt)
            warned = [(WARNING, "; ".join(warnings).encode("ascii", "replace").decode())] if warnings else []
            return Response(status, NOT_KEPT) if value is None else json_answer(value, status, *warned)
        except BankError as error:
            refused = Refused(409, error.name, f"the bank's logic refuses this: {error.name}")
        except StoreUnavailable as error:
            refused = Refused(503, "busy", f"the state cannot be read or written right now: {error}")
        except Refused as error:
            refused = error
        value = {"error": refused.error, "message": str(refused), **refused.more}
        return json_answer(value, refused.status, *refused.headers)

    def _endpoint(self, method: str, segments: Sequence[str]) -> Callable[[ControlRequest], _Answer]:
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

    def _collections(self, request: ControlRequest) -> _Answer:
        state = request.call.state
        return 200, {name: state.all(name) for name in state.collections() if not _own(name)}

    def _collection(self, request: ControlRequest) -> _Answer:
        return 200, request.call.state.all(request.names[0])

    def _document(self, request: ControlRequest) -> _Answer:
        document = request.call.state.get(*request.names)
        if document is None:
            raise _no_document(request)
        return 200, document

    def _put(self, request: ControlRequest) -> _Answer:
        collection, id = _writable(request)
        document = request.body()
        is_there = request.call.state.get(collection, id) is not None
        request.call.state.put(collection, id, document)
        schema = documents.schema_of(collection)
        complaints = sorted(schema.complaints(document), key=str) if schema else []
        request.call.warnings.extend(
            f"{pointer_text(one.pointer) or 'the document'}: {one.text}, says the schema {schema.name}"
            for one in complaints[:_WARNINGS]
            if schema
        )
        return 200 if is_there else 201, document

    def _delete(self, request: ControlRequest) -> _Answer:
        collection, id = _writable(request)
        if request.call.state.get(collection, id) is None:
            raise _no_document(request)
        request.call.state.delete(collection, id)
        return 204, None

    # -- sessions

    def _sessions(self, request: ControlRequest) -> _Answer:
        kept: dict[str, dict[str, int]] = {DEFAULT: {}, **self._store.sessions()}
        return 200, {"sessions": [{"id": name, "documents": _counted(kept[name])} for name in sorted(kept)]}

    def _session(self, request: ControlRequest) -> _Answer:
        return 200, {"id": request.names[0], "documents": _counted(self._kept(request))}

    def _forget(self, request: ControlRequest) -> _Answer:
        self._kept(request)
        self._forget_one(request.names[0])
        return 204, None

    def _reset(self, request: ControlRequest) -> _Answer:
        body = request.body("all") if request.call.request.body.strip() else {}
        everything = body.get("all", False)
        if not isinstance(everything, bool):
            raise body_invalid(f"all must be true or false, not {kind(everything)}")
        if not everything:
            self._forget_one(request.call.session.id)
            return 200, {"reset": [request.call.session.id]}
        names = sorted({DEFAULT, *self._store.sessions()})
        self._store.reset()
        self._sandbox.begin_anew(None)
        return 200, {"reset": names}

    def _forget_one(self, name: str) -> None:
        self._store.reset(name)
        self._sandbox.begin_anew(name)

    def _kept(self, request: ControlRequest) -> dict[str, int]:
        name = request.names[0]
        if not is_session_name(name):
            raise Refused(400, "session-invalid", "session names are 1 to 64 of the characters A-Z a-z 0-9 . _ -")
        counts = self._store.counts(name)
        if not counts and name != DEFAULT:
            raise Refused(404, "session-unknown", f"nothing is kept of a session {name}")
        return counts

    # -- why

    def _explain(self, request: ControlRequest) -> _Answer:
        body = request.body(*described_request.MEMBERS)
        return 200, described(self._sandbox.explain(described_request.read(body, request.call.session.id)))


def _own(collection: str) -> bool:
    """Collections that the sandbox keeps for itself are shown when they are named, and never written."""
    return collection.startswith("_")


def _writable(request: ControlRequest) -> tuple[str, str]:
    collection, id = request.names
    if _own(collection):
        text = f"the collection {collection} is the sandbox's own; /_sandbox/clock and /_sandbox/reset change it"
        raise Refused(403, "collection-own", text)
    return collection, id


def _no_document(request: ControlRequest) -> Refused:
    collection, id = request.names
    return Refused(404, "document-unknown", f"the session {request.call.session.id} has no {id} in {collection}")


def _counted(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in sorted(counts.items()) if not _own(name)}
