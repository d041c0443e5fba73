"""The queues of callbacks: requests to apps that wait in the session's state until they are delivered.

A callback is queued in the same transaction as the change that causes it, so neither can be lost without the other.
There is one queue for each resource, a document that lists its callbacks in order.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from xs2a_sandbox.bank.domain.signing import AUTHORISATIONS, FAMILIES
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.answers import write
from xs2a_sandbox.cassette.dialect.callbacks import RECEIVER, Callback
from xs2a_sandbox.cassette.evaluation.expressions import SHAPES, Scope, Shape, render
from xs2a_sandbox.cassette.evaluation.values import to_text
from xs2a_sandbox.clock import instant
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.errors import SandboxError
from xs2a_sandbox.http.header_fields import FRAMING
from xs2a_sandbox.journal.journal import path_of
from xs2a_sandbox.state import Document, Documents, Transaction
from xs2a_sandbox.state.attempts import commit
from xs2a_sandbox.state.store import Key

log = logging.getLogger("xs2a_sandbox")

QUEUES = "_callbacks"
"""The collection of the queues. The id of a queue is the collection and the id of its resource."""
RECEIPTS = "receipts"
"""The collection of the receipts of accepted callbacks."""
INDEX = "*callbacks"
"""The owner of the index of all sessions in which something is due. No session can have this name."""
_NOTED = "due"
MOST_KEPT = 50
"""The most callbacks that a queue keeps after they have come to an end."""
LATE = 10.0
"""The seconds by which the fault `late` delays each callback."""
WAITING, DELIVERED, REFUSED, FAILED, WITHHELD = "waiting", "delivered", "refused", "failed", "withheld"
_EMPTY: Document = {"last": 0, "callbacks": []}
_NO_SCHEMAS = Schemas([])


class CallbackQueues:
    """Queues the callbacks that one request causes, directly or through events that were due.

    `queued` maps the id of each to its fault. `fault` is what goes wrong with the callbacks of all resources that the
    request changes.
    """

    __slots__ = ("_callbacks", "_shapes", "_states", "_watched", "fault", "has_noted", "queued")

    def __init__(self, callbacks: Sequence[Callback], shapes: Mapping[str, Shape]) -> None:
        self.queued: dict[str, str | None] = {}
        self.fault: str | None = None
        self.has_noted = False
        self._callbacks = callbacks
        self._shapes = shapes
        self._states: dict[Key, str | None] = {}
        """The states of documents when they were looked at last."""
        self._watched = frozenset().union(*(one.on for one in callbacks))
        self._watched |= {one.each for one in callbacks if one.each}

    def note(self, call: Call, *, is_event: bool = False) -> None:
        """Queue the callbacks for the changes of the transaction since the last call."""
        for key in call.state.changes():
            if key[0] in self._watched:
                self._note(call, key, is_event)

    def _note(self, call: Call, key: Key, is_event: bool) -> None:
        document = call.state.get(*key)
        before = self._states[key] if key in self._states else _state_of(call.state.before(*key))
        state = self._states[key] = _state_of(document)
        if document is None:
            return
        queue = _queue_of(*key, document)
        if self.fault:
            _put(call.state, queue, {**_read(call.state, queue), "fault": self.fault})
        for callback in self._callbacks:
            if key[0] == callback.each:
                self._watch(call.state, queue)
            if key[0] not in callback.on:
                continue
            for receiver in _find_receivers(call.state, callback):
                scope = {**_make_scope(call, key, document, before, queue, receiver), SHAPES: self._shapes}
                if not _is_registered(call, callback, scope, key, queue, receiver):
                    continue
                self._watch(call.state, queue)
                if state is not None and state != before and (callback.when is None or callback.when(scope)):
                    self._add(call, callback, scope, queue, is_event)

    def _add(self, call: Call, callback: Callback, scope: Scope, queue: str, is_event: bool) -> None:
        try:
            written = _write(callback, scope)
        except (SandboxError, UnicodeDecodeError) as error:
            # The change itself must not fail because of a callback.
            log.warning("the callback %s of %s cannot be written, so it is not sent: %s", callback.id, queue, error)
            return
        kept, now = _read(call.state, queue), call.clock.now()
        number, fault = kept["last"] + 1, kept.get("fault")
        cause = {"event": True} if is_event else _describe_cause(call)
        queued: Document = {"number": number, **written, "at": now.isoformat(), "tries": 0, "cause": cause}
        if fault == "never":
            queued |= {"state": WITHHELD, "next": None, "answer": "not sent, because of the fault never"}
        else:
            due = now + timedelta(seconds=LATE) if fault == "late" else now
            queued |= {"state": WAITING, "next": due.isoformat()}
        if fault:
            queued["fault"] = fault
        _put(call.state, queue, {**kept, "last": number, "callbacks": _shorten([*kept["callbacks"], queued])})
        self.queued[f"{queue}.{number}"] = fault
        self._announce(call.state)

    def _watch(self, state: Transaction, queue: str) -> None:
        """Create the queue, which shows that there is an address in the session."""
        if state.get_own(QUEUES, queue) is None:
            _put(state, queue, _EMPTY)
            self._announce(state)

    def _announce(self, state: Transaction) -> None:
        """Note that something may be due in the session. It is stored before the session's own changes."""
        if not self.has_noted:
            _note_in_index(state, {"at": 0.0, "since": instant()})
        self.has_noted = True


def note_callbacks(call: Call, *, is_event: bool = False) -> None:
    """Queue the callbacks for the changes of the call's transaction. Call it before each commit."""
    if call.outbox is not None and call.state.is_changed:
        call.outbox.note(call, is_event=is_event)


def is_in_use(state: Transaction) -> bool:
    """Return whether an app has registered an address in this session."""
    return bool(state.own(QUEUES))


def list_all(state: Transaction) -> Iterator[tuple[str, Document]]:
    """Yield all callbacks of the session with their ids, those of a resource in order."""
    for queue, kept in sorted(state.own(QUEUES).items()):
        for callback in kept["callbacks"]:
            yield f"{queue}.{callback['number']}", callback


def settle(state: Transaction, id: str, changes: Mapping[str, Any], now: datetime) -> None:
    """Change a callback after a try, and keep its receipt if the app has accepted it."""
    changed = update(state, id, changes)
    if changed and changed["state"] == DELIVERED and (receipt := changed.get("receipt")):
        state.put(RECEIPTS, receipt, {"at": now.isoformat()})


def find(state: Transaction, id: str) -> Document | None:
    queue, _, number = id.rpartition(".")
    kept = state.get_own(QUEUES, queue) if queue else None
    return next((one for one in kept["callbacks"] if str(one["number"]) == number), None) if kept else None


def update(state: Transaction, id: str, changes: Mapping[str, Any]) -> Document | None:
    """Change a callback and return it, or None if it does not exist any more."""
    queue, _, number = id.rpartition(".")
    kept = state.get_own(QUEUES, queue) if queue else None
    changed = None
    for place, one in enumerate(kept["callbacks"] if kept else ()):
        if kept and str(one["number"]) == number:
            changed = {**one, **changes}
            ahead, behind = kept["callbacks"][:place], kept["callbacks"][place + 1 :]
            _put(state, queue, {**kept, "callbacks": [*ahead, changed, *behind]})
    return changed


def heads(state: Transaction) -> Iterator[tuple[str, Document]]:
    """Yield the first waiting callback of each queue and address, with its id. Those behind it have to wait."""
    seen = set()
    for id, callback in list_all(state):
        turn = (id.rpartition(".")[0], callback["to"])
        if callback["state"] == WAITING and turn not in seen:
            seen.add(turn)
            yield id, callback


def after_try(callback: Mapping[str, Any], answer: str, now: datetime, *, accepted: bool) -> dict[str, Any]:
    """Return the changes of a callback after it was sent. `answer` describes the app's answer, or the failure."""
    tries, (first, factor, longest, most) = callback["tries"] + 1, map(float, callback["retry"])
    changes = {"tries": tries, "answer": answer, "tried": now.isoformat(), "lease": None}
    if accepted:
        return {**changes, "state": DELIVERED, "next": None}
    if tries >= most:
        return {**changes, "state": FAILED, "next": None}
    wait = min(longest, first * min(factor ** (tries - 1), 1e9))
    return {**changes, "next": (now + timedelta(seconds=wait)).isoformat()}


def resend(state: Transaction, id: str, now: datetime) -> Document | None:
    """Make the callback wait again, with all its tries. Returns None if there is none with this id."""
    anew = {"state": WAITING, "next": now.isoformat(), "tries": 0, "lease": None, "fault": None}
    return update(state, id, anew)


def _state_of(document: Mapping[str, Any] | None) -> str | None:
    state = (document.get("status") or document.get("role")) if document else None
    return str(state) if state else None


def _queue_of(collection: str, id: str, document: Mapping[str, Any]) -> str:
    """Return the id of the queue: an authorisation belongs to its resource."""
    if collection == AUTHORISATIONS and (family := FAMILIES.get(document.get("family", ""))):
        return f"{family.collection}.{document['resource']}"
    return f"{collection}.{id}"


def _find_receivers(state: Transaction, callback: Callback) -> Iterable[Key | None]:
    """Return the keys of the documents in `each`; without `each`, a single None."""
    if callback.each is None:
        return (None,)
    return [(callback.each, id) for id in state.own(callback.each)]


def _make_scope(
    call: Call, key: Key, document: Document, before: str | None, queue: str, receiver: Key | None
) -> Scope:
    collection, _, id = queue.partition(".")
    scope = {
        **call.scope(),
        "document": document,
        "id": key[1],
        "before": before,
        "resource": document if (collection, id) == key else call.state.get(collection, id),
    }
    return scope if receiver is None else {**scope, RECEIVER: call.state.get(*receiver)}


def _is_registered(call: Call, callback: Callback, scope: Scope, key: Key, queue: str, receiver: Key | None) -> bool:
    """Return whether there is an address that an app has registered in this session, unlike those of the test data."""
    if not (to := callback.to(scope)):
        return False
    collection, _, id = queue.partition(".")
    testdata = call.state.testdata()

    def original(of: Key) -> Mapping[str, Any]:
        return testdata.get(of[0], {}).get(of[1], {})

    before = {**scope, "document": original(key), "resource": original((collection, id))}
    return bool(callback.to({**before, RECEIVER: original(receiver)} if receiver else before) != to)


def _write(callback: Callback, scope: Scope) -> Document:
    """Render a callback as it is stored. Raises SandboxError, or UnicodeDecodeError if the body is not text."""
    scope["let"] = {}
    for name, value in callback.let:
        scope["let"][name] = render(value, scope)
    request, retry = write(callback.request, (), scope, {}, _NO_SCHEMAS), callback.retry
    headers = [pair for pair in request.headers if pair[0].lower() not in FRAMING]
    receipt = to_text(render(callback.receipt, scope))
    return {
        "callback": callback.id,
        "to": to_text(callback.to(scope)),
        "method": callback.method,
        "headers": headers if request.body else [pair for pair in headers if pair[0].lower() != "content-type"],
        "body": request.body.decode(),
        "accepted": list(callback.accepted),
        "retry": [retry.first, retry.factor, retry.longest, retry.tries],
        **({"receipt": receipt} if receipt else {}),
    }


def _describe_cause(call: Call) -> dict[str, Any]:
    request = call.request
    return {
        "method": request.method,
        "path": path_of(request.target, call.session.id),
        "request_id": request.headers.get("X-Request-ID"),
    }


def _read(state: Transaction, queue: str) -> Document:
    return state.get_own(QUEUES, queue) or _EMPTY


def read_index(documents: Documents) -> dict[str, float]:
    """Return the sessions in which something is due at some time, each with the instant."""
    noted = documents.list(INDEX, _NOTED)[1]
    return {session: float(entry["at"]) for session, entry in noted.items() if entry and entry["at"] is not None}


def note_due(state: Transaction, at: float | None, before: float) -> float | None:
    """Note the instant when something is due in the session, and return it.

    If a change was announced after `before`, it may not be stored yet, so the next look has to be soon.
    """
    noted = state.beside(INDEX).get(_NOTED, state.session) or {"at": None}
    if (since := float(noted.get("since", 0))) > before:
        soon = since + instant() - before
        return soon if at is None else min(soon, at)
    there = None if noted["at"] is None else float(noted["at"])
    if there != at and (there is None or at is None or abs(there - at) > 1):
        _note_in_index(state, {"at": at})
    return at


def _note_in_index(state: Transaction, entry: Document) -> None:
    index = state.beside(INDEX)
    index.get(_NOTED, state.session)
    index.put(_NOTED, state.session, entry)
    commit(index)


def _put(state: Transaction, queue: str, kept: Document) -> None:
    state.put(QUEUES, queue, kept)


def _shorten(queued: list[Document]) -> list[Document]:
    """Return the callbacks without the oldest ones that have come to an end."""
    ended = [one for one in queued if one["state"] != WAITING]
    dropped = {one["number"] for one in ended[: max(0, len(ended) - MOST_KEPT)]}
    return [one for one in queued if one["number"] not in dropped] if dropped else queued
