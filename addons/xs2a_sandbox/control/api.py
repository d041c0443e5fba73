"""The control interface below `/_sandbox/`: state, clock, sessions, reset, journal, explain, the user's decision.

The guard decides who may use it. Its JSON does not depend on the bank.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from xs2a_sandbox.bank import Banks
from xs2a_sandbox.bank.callbacks import note_callbacks
from xs2a_sandbox.bank.domain.balances import list_available
from xs2a_sandbox.bank.domain.signing import FAMILIES, status_of
from xs2a_sandbox.bank.following import happen
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.control import breaks, callbacks, checks, clock, faults, rules, sca, shapes
from xs2a_sandbox.control import journal as journal_view
from xs2a_sandbox.control.access import Guard
from xs2a_sandbox.control.journal import is_set
from xs2a_sandbox.control.redacted_view import redact_like
from xs2a_sandbox.control.route import ControlAnswer, ControlRequest, ControlRoute, Later, kind
from xs2a_sandbox.documents.json_pointer import pointer_text
from xs2a_sandbox.errors import BankError, Refused, StoreUnavailable, body_invalid
from xs2a_sandbox.explain import request as described_request
from xs2a_sandbox.explain.explanation import Explanation, describe
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.messages import NOT_KEPT, json_answer
from xs2a_sandbox.http.own_path import ROOT
from xs2a_sandbox.journal.journal import Journal, Journaled
from xs2a_sandbox.journal.metrics import CONTENT_TYPE, Metrics
from xs2a_sandbox.plugins import plugins
from xs2a_sandbox.state import Documents, RemoteStore, Store, documents
from xs2a_sandbox.state.attempts import commit, run_transaction
from xs2a_sandbox.state.session import DEFAULT, is_session_name
from xs2a_sandbox.state.store import SHARED, Transaction

if TYPE_CHECKING:
    from xs2a_sandbox.compare.reports.report import ComparedExchange

_METRICS = "metrics"
_REDACTED = "redacted"
_WARNINGS = 5
"""The most mistakes in a document that are reported."""


def has_paths(name: str) -> bool:
    """Return whether the interface has paths that start with this segment."""
    return name in (_METRICS, *(route.segments[0] for route in _routes()))


WARNING = "X-Sandbox-Warning"
"""The header with a warning about something unusual in a request that was carried out."""


class ControlledSandbox(Protocol):
    """The controlled sandbox. `begin_anew` is called with the session that was reset, or None for all."""

    @property
    def store(self) -> Store | RemoteStore: ...

    @property
    def journal(self) -> Journal: ...

    @property
    def banks(self) -> Banks: ...

    @property
    def may_be_personal(self) -> bool:
        """Whether requests or answers may contain data of real people."""
        ...

    @property
    def held(self) -> breaks.HeldExchanges: ...

    def begin_anew(self, session: str | None) -> None: ...

    def status(self) -> dict[str, Any]: ...

    async def all_metrics(self) -> Metrics: ...

    def explain(self, request: Request, documents: Documents) -> Explanation: ...

    def displayed_text(self, text: str, personal: bool | None = None) -> str: ...

    async def answer(self, request: Request) -> Response: ...

    async def compare(self, exchange: Journaled, *, allow_writes: bool) -> "ComparedExchange": ...


class Control:
    def __init__(self, sandbox: ControlledSandbox) -> None:
        self._sandbox = sandbox
        self._store = sandbox.store

    async def answer(
        self, request: Request, segments: Sequence[str], guard: Guard, begin: Callable[[Documents], Call]
    ) -> Response:
        """Answer a request. `begin` starts its transaction again; it is committed unless the request only reads."""
        try:
            guard.check(request)
            if tuple(segments[1:]) == (_METRICS,):
                return await self._metrics(request.method)
            route, names = find(request.method, segments)
            journal = self._sandbox.journal
            if segments[1] == "journal":
                journal = await journal.read_whole(journal_view.since(request))

            def attempt(documents: Documents) -> tuple[ControlAnswer | Later, list[str]]:
                call, shared = begin(documents), Transaction(documents, SHARED, lambda transaction: {})
                answer = route.work(self, ControlRequest(call, names, route, documents, shared, journal))
                if request.method not in ("GET", "HEAD"):
                    note_callbacks(call)
                    call.drop_scopes()
                    commit(call.state)
                    commit(shared)
                return answer, call.warnings

            answer, warnings = await run_transaction(self._store, attempt)
            status, value = await answer() if callable(answer) else answer
            if request.method == "DELETE":
                await self._sandbox.journal.settle(journal)
            warned = [(WARNING, "; ".join(warnings).encode("ascii", "replace").decode())] if warnings else []
            return Response(status, NOT_KEPT) if value is None else json_answer(value, status, *warned)
        except BankError as error:
            refused = Refused(409, error.name, f"the bank does not allow this change: {error.name}")
        except StoreUnavailable as error:
            refused = Refused(503, "busy", f"the state cannot be read or written right now: {error}")
        except Refused as error:
            refused = error
        value = {"error": refused.error, "message": str(refused), **refused.more}
        return json_answer(value, refused.status, *refused.headers)

    async def _metrics(self, method: str) -> Response:
        """Return the metrics for Prometheus. Not a route, because it is not JSON. Raises Refused, StoreUnavailable."""
        if method not in ("GET", "HEAD"):
            allowed = "GET, HEAD"
            raise Refused(405, "method-not-offered", f"/{ROOT}/{_METRICS} accepts only {allowed}", ("Allow", allowed))
        metrics = await self._sandbox.all_metrics()
        sessions = await run_transaction(self._store, lambda documents: sum(map(is_session_name, documents.sessions())))
        gauges = {"sessions": ("Sessions that have written something.", float(sessions))}
        headers = (("Content-Type", CONTENT_TYPE), ("Cache-Control", "no-store"))
        return Response(200, headers, metrics.text(gauges))

    # -- state

    def collections(self, request: ControlRequest) -> ControlAnswer:
        state = request.call.state
        return 200, self._show(request, {name: state.all(name) for name in state.collections() if not _own(name)})

    def collection(self, request: ControlRequest) -> ControlAnswer:
        return 200, self._show(request, request.call.state.all(request.names[0]))

    def _show(self, request: ControlRequest, documents: dict[str, Any]) -> dict[str, Any]:
        """Return the documents as they are, or redacted if the request asks for that. Raises Refused."""
        if unknown := sorted(request.call.query.keys() - {_REDACTED}):
            raise Refused(
                400, "query-invalid", f"unknown parameter {unknown[0]!r} in the query; the only one is {_REDACTED}"
            )
        if not is_set(request.call.query, _REDACTED):
            return documents
        shown: dict[str, Any] = redact_like({}, {}, self._sandbox.displayed_text)(documents)
        return shown

    def document(self, request: ControlRequest) -> ControlAnswer:
        document = request.call.state.get(*request.names)
        if document is None:
            raise _no_document(request)
        return 200, document

    def put_document(self, request: ControlRequest) -> ControlAnswer:
        collection, id = _check_writable(request)
        document = request.read()
        is_there = request.call.state.get(collection, id) is not None
        request.call.state.put(collection, id, document)
        schema = documents.schema_of(collection)
        complaints = sorted(schema.complaints(document), key=str) if schema else []
        request.call.warnings.extend(
            f"{pointer_text(complaint.pointer) or 'the document'}: {complaint.text} (schema {schema.name})"
            for complaint in complaints[:_WARNINGS]
            if schema
        )
        return 200 if is_there else 201, document

    def happen(self, request: ControlRequest) -> ControlAnswer:
        """Make an event of its state machine happen to a consent, payment or basket."""
        collection, id = _check_writable(request)
        event = request.read().get("event")
        family = next((candidate for candidate in FAMILIES.values() if candidate.collection == collection), None)
        if family is None:
            raise Refused(404, "events-unknown", "only consents, mandates, payments and baskets have events")
        document = request.call.state.get(collection, id)
        if document is None:
            raise _no_document(request)
        status = status_of(document)
        events = [t.event for t in family.machine.transitions if status in t.states]
        if event not in events or not happen(request.call, family, id, event):
            possible = ", ".join(events) or "nothing any more"
            raise Refused(409, "event-impossible", f"{id} is {status}; possible events: {possible}")
        return 200, request.call.state.get(collection, id)

    def delete_document(self, request: ControlRequest) -> ControlAnswer:
        collection, id = _check_writable(request)
        if request.call.state.get(collection, id) is None:
            raise _no_document(request)
        request.call.state.delete(collection, id)
        return 204, None

    # -- sessions

    def sessions(self, request: ControlRequest) -> ControlAnswer:
        kept: dict[str, dict[str, int]] = {DEFAULT: {}, **request.documents.sessions()}
        names = sorted(filter(is_session_name, kept))
        return 200, {"sessions": [{"id": name, "documents": _count(kept[name])} for name in names]}

    def session_documents(self, request: ControlRequest) -> ControlAnswer:
        return 200, {"id": request.names[0], "documents": _count(self._count_kept(request))}

    def delete_session(self, request: ControlRequest) -> ControlAnswer:
        self._count_kept(request)
        self._delete_one(request, request.names[0])
        return 204, None

    def reset(self, request: ControlRequest) -> ControlAnswer:
        everything = request.read().get("all", False)
        if not isinstance(everything, bool):
            raise body_invalid(f"all must be true or false, not {kind(everything)}")
        if not everything:
            self._delete_one(request, request.call.session.id)
            return 200, {"reset": [request.call.session.id]}
        names = sorted({DEFAULT, *filter(is_session_name, request.documents.sessions())})
        request.documents.reset()
        self._sandbox.begin_anew(None)
        return 200, {"reset": names}

    def _delete_one(self, request: ControlRequest, name: str) -> None:
        request.documents.reset(name)
        self._sandbox.begin_anew(name)

    def _count_kept(self, request: ControlRequest) -> dict[str, int]:
        name = request.names[0]
        if not is_session_name(name):
            raise Refused(400, "session-invalid", "a session name must have 1 to 64 characters from A-Z a-z 0-9 . _ -")
        counts = request.documents.counts(name)
        if not counts and name != DEFAULT:
            raise Refused(404, "session-unknown", f"unknown session {name}")
        return counts

    # -- explanations

    def explain(self, request: ControlRequest) -> ControlAnswer:
        described_one = described_request.read(request.read(), request.call.session.id)
        return 200, describe(self._sandbox.explain(described_one, request.documents))

    def explain_exchange(self, request: ControlRequest) -> ControlAnswer:
        return 200, journal_view.explain(
            self._sandbox, request.journal, request.call, request.names[0], request.documents
        )

    # -- the bank

    def dialect(self, request: ControlRequest) -> ControlAnswer:
        interface = self._sandbox.banks.default.interface
        operations = [one for one in interface.operations.values() if one.id not in interface.silent]
        errors = interface.errors.values()
        return 200, {
            "dialect": interface.dialect,
            "quirks": list(interface.quirks),
            "operations": [
                {"id": one.id, "method": one.method, "path": one.pattern.text, "does": one.does and str(one.does)}
                for one in operations
            ],
            "errors": [{"name": one.name, "status": one.status(), "code": one.code()} for one in errors],
        }

    def status(self, request: ControlRequest) -> ControlAnswer:
        return 200, self._sandbox.status()

    # -- faults

    def add_fault(self, request: ControlRequest) -> ControlAnswer:
        return 201, faults.add(request.call, request.shared, self._sandbox.banks, request.read())

    def delete_fault(self, request: ControlRequest) -> ControlAnswer:
        faults.delete(request.call, request.shared, request.names[0])
        return 204, None

    # -- breakpoints

    def add_break(self, request: ControlRequest) -> Later:
        if isinstance(self._store, RemoteStore) and self._sandbox.may_be_personal:
            text = "held exchanges with a real bank would be in Redis without redaction"
            raise Refused(
                409, "breaks-not-shared", f"{text}: start the sandbox with --state memory: or --state sqlite:FILE"
            )
        return self._after_change(request, 201, breaks.add(request.call, self._sandbox.banks, request.read()))

    def delete_break(self, request: ControlRequest) -> Later:
        breaks.delete(request.call, request.names[0])
        return self._after_change(request, 204, None)

    def clear_breaks(self, request: ControlRequest) -> Later:
        return self._after_change(request, 200, breaks.delete_all(request.call))

    def _after_change(self, request: ControlRequest, status: int, value: Any) -> Later:
        """Return the answer to a change of breakpoints, when all processes know the change."""
        session = request.call.session.id

        async def answer() -> ControlAnswer:
            await self._sandbox.held.look_again(session)
            return status, value

        return answer

    def list_held(self, request: ControlRequest) -> Later:
        return partial(breaks.list_held, self._sandbox.held, breaks.named_session(request.call))

    def release(self, request: ControlRequest) -> Later:
        edits = breaks.read_edits(request.read())
        session = breaks.named_session(request.call)
        return partial(breaks.release, self._sandbox.held, session, request.names[0], edits)

    # -- added rules

    def add_rules(self, request: ControlRequest) -> ControlAnswer:
        return 201, rules.add(request.call, self._sandbox.banks, request.read())

    def delete_rules(self, request: ControlRequest) -> ControlAnswer:
        rules.delete(request.call, request.names[0])
        return 204, None

    # -- journal

    def journal(self, request: ControlRequest) -> ControlAnswer:
        return 200, journal_view.list_entries(request.journal, request.call)

    def exchange(self, request: ControlRequest) -> ControlAnswer:
        return 200, journal_view.one(request.journal, request.call, request.names[0])

    def send_again(self, request: ControlRequest) -> Later:
        entry = journal_view.find_sendable(request.journal, request.names[0])
        return partial(journal_view.send_again, self._sandbox, entry)

    def compare_exchange(self, request: ControlRequest) -> Later:
        entry = journal_view.find_comparable(request.journal, request.names[0])
        return partial(journal_view.compare, self._sandbox, entry, request.read())

    def clear_journal(self, request: ControlRequest) -> ControlAnswer:
        return 200, journal_view.empty(request.journal, request.call)

    def assert_journal(self, request: ControlRequest) -> ControlAnswer:
        return 200, journal_view.check_assertions(request.journal, request.call, request.read())


def _own(collection: str) -> bool:
    """Return whether the sandbox keeps the collection for itself. It is shown on request, but cannot be written."""
    return collection.startswith("_")


def _check_writable(request: ControlRequest) -> tuple[str, str]:
    collection, id = request.names
    if _own(collection):
        text = f"the collection {collection} is internal; change it with /_sandbox/clock and /_sandbox/reset"
        raise Refused(403, "collection-own", text)
    return collection, id


def _no_document(request: ControlRequest) -> Refused:
    collection, id = request.names
    text = f"no document {id} in {collection} of session {request.call.session.id}"
    return Refused(404, "document-unknown", text)


def _count(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in sorted(counts.items()) if not _own(name)}


ROUTES: tuple[ControlRoute[Control], ...] = (
    ControlRoute(
        "GET",
        "state",
        "collections",
        "All collections, as the bank sees them",
        Control.collections,
        {200: dict[str, shapes.Collection]},
        query={_REDACTED: bool},
    ),
    ControlRoute(
        "GET",
        "state/{collection}",
        "collection",
        "One collection; empty if no collection has that name",
        Control.collection,
        {200: shapes.Collection},
        query={_REDACTED: bool},
    ),
    ControlRoute(
        "GET",
        "state/{collection}/{id}",
        "document",
        "One document",
        Control.document,
        {200: shapes.Document},
        errors=("document-unknown",),
    ),
    ControlRoute(
        "PUT",
        "state/{collection}/{id}",
        "put_document",
        "Writes a whole document; the header X-Sandbox-Warning reports anything suspicious in it",
        Control.put_document,
        {200: shapes.Document, 201: shapes.Document},
        body=shapes.Document,
        errors=("collection-own",),
    ),
    ControlRoute(
        "POST",
        "state/{collection}/{id}",
        "happen",
        "Applies an event of its state machine to a consent, payment or basket",
        Control.happen,
        {200: shapes.Document},
        body=shapes.EventOrder,
        errors=("collection-own", "document-unknown", "events-unknown", "event-impossible"),
    ),
    ControlRoute(
        "DELETE",
        "state/{collection}/{id}",
        "delete_document",
        "Deletes a document",
        Control.delete_document,
        {204: None},
        errors=("collection-own", "document-unknown"),
    ),
    ControlRoute(
        "GET",
        "available",
        "available",
        "The money that can be paid from each account, after the payments of the session",
        lambda control, request: (200, {"available": list_available(request.call)}),
        {200: shapes.AvailableShape},
    ),
    ControlRoute(
        "GET",
        "clock",
        "clock",
        "The session's time",
        lambda control, request: (200, clock.describe(request.call.clock)),
        {200: shapes.ClockShape},
    ),
    ControlRoute(
        "PUT",
        "clock",
        "set_clock",
        "Sets the session's time",
        lambda control, request: (200, clock.put(request.call, request.read())),
        {200: shapes.ClockShape},
        body=shapes.ClockSetting,
    ),
    ControlRoute(
        "POST",
        "clock",
        "move_clock",
        "Moves the time of the session forward",
        lambda control, request: (200, clock.move(request.call, request.read())),
        {200: shapes.ClockShape},
        body=shapes.ClockMove,
    ),
    ControlRoute(
        "GET",
        "due",
        "due",
        "The next scheduled events of the session, soonest first",
        lambda control, request: (200, clock.due(request.call)),
        {200: shapes.DueShape},
    ),
    ControlRoute(
        "GET",
        "checks",
        "checks",
        "The additional checks of the session",
        lambda control, request: (200, checks.describe(request.call.checks)),
        {200: shapes.ChecksShape},
    ),
    ControlRoute(
        "PUT",
        "checks",
        "set_checks",
        "Sets the additional checks of the session",
        lambda control, request: (200, checks.put(request.call, request.read())),
        {200: shapes.ChecksShape},
        body=shapes.ChecksSetting,
    ),
    ControlRoute(
        "GET",
        "sessions",
        "sessions",
        "The sessions that have state",
        Control.sessions,
        {200: shapes.SessionsShape},
    ),
    ControlRoute(
        "GET",
        "sessions/{session}",
        "session_documents",
        "One session",
        Control.session_documents,
        {200: shapes.SessionShape},
        errors=("session-invalid", "session-unknown"),
    ),
    ControlRoute(
        "DELETE",
        "sessions/{session}",
        "delete_session",
        "Deletes a session",
        Control.delete_session,
        {204: None},
        errors=("session-invalid", "session-unknown"),
    ),
    ControlRoute(
        "POST",
        "reset",
        "reset",
        "Deletes the request's session, or all sessions",
        Control.reset,
        {200: shapes.ResetShape},
        body=shapes.ResetOrder,
        is_optional=True,
    ),
    ControlRoute(
        "GET",
        "status",
        "status",
        "The files in use, the banks, and the recording",
        Control.status,
        {200: shapes.StatusShape},
    ),
    ControlRoute(
        "GET",
        "dialect",
        "dialect",
        "The operations and errors of the default bank",
        Control.dialect,
        {200: shapes.DialectShape},
    ),
    ControlRoute(
        "GET",
        "sca/{id}",
        "authorisation",
        "The current state of an authorisation",
        lambda control, request: (200, sca.read(request.call, request.names[0])),
        {200: shapes.AuthorisationShape},
        errors=("authorisation-unknown",),
    ),
    ControlRoute(
        "POST",
        "sca/{id}",
        "decide",
        "Decides for the payment user",
        lambda control, request: (200, sca.decide(request.call, request.names[0], request.read())),
        {200: shapes.AuthorisationShape},
        body=shapes.PsuDecision,
        errors=(
            *("authorisation-unknown", "decided", "unconfirmed", "embedded"),
            *("resource-gone", "status-invalid", "resource-blocked"),
        ),
    ),
    ControlRoute(
        "GET",
        "faults",
        "faults",
        "The faults of the session",
        lambda control, request: (200, faults.list_faults(request.call)),
        {200: shapes.FaultsShape},
    ),
    ControlRoute(
        "POST",
        "faults",
        "add_fault",
        "Adds a fault for matching requests",
        Control.add_fault,
        {201: shapes.FaultShape},
        body=shapes.FaultOrder,
        errors=("too-many-faults",),
    ),
    ControlRoute(
        "DELETE",
        "faults",
        "clear_faults",
        "Deletes the session's faults, or those of all sessions",
        lambda control, request: (200, faults.delete_all(request.call, request.shared)),
        {200: shapes.DeletedShape},
        query={"sessions": str},
    ),
    ControlRoute(
        "DELETE",
        "faults/{id}",
        "delete_fault",
        "Deletes one fault",
        Control.delete_fault,
        {204: None},
        errors=("fault-unknown",),
    ),
    ControlRoute(
        "GET",
        "breaks",
        "breaks",
        "The breakpoints of the session, with their hits",
        lambda control, request: (200, breaks.list_breaks(request.call)),
        {200: shapes.BreaksShape},
    ),
    ControlRoute(
        "POST",
        "breaks",
        "add_break",
        "Sets a breakpoint: it holds the next matching requests, or their responses",
        Control.add_break,
        {201: shapes.BreakShape},
        body=shapes.BreakOrder,
        errors=("too-many-breaks", "breaks-not-shared"),
    ),
    ControlRoute(
        "DELETE",
        "breaks",
        "clear_breaks",
        "Deletes the session's breakpoints",
        Control.clear_breaks,
        {200: shapes.DeletedShape},
    ),
    ControlRoute(
        "DELETE",
        "breaks/{id}",
        "delete_break",
        "Deletes one breakpoint",
        Control.delete_break,
        {204: None},
        errors=("break-unknown",),
    ),
    ControlRoute(
        "GET",
        "held",
        "held",
        "The exchanges that breakpoints hold now, of one session or all",
        Control.list_held,
        {200: shapes.HeldListShape},
    ),
    ControlRoute(
        "POST",
        "held/{id}",
        "release",
        "Releases a held exchange, unchanged or with edits, or drops its connection",
        Control.release,
        {200: shapes.HeldShape},
        body=shapes.HeldOrder,
        errors=("held-unknown",),
    ),
    ControlRoute(
        "GET",
        "callbacks",
        "callbacks",
        "The callbacks of the session: the bank's requests to apps, oldest first",
        lambda control, request: (200, callbacks.list_callbacks(request.call)),
        {200: shapes.CallbacksShape},
    ),
    ControlRoute(
        "POST",
        "callbacks/{id}/resend",
        "resend_callback",
        "Sends a callback again, whatever has become of it",
        lambda control, request: (200, callbacks.resend(request.call, request.names[0])),
        {200: shapes.CallbackShape},
        errors=("callback-unknown",),
    ),
    ControlRoute(
        "GET",
        "rules",
        "rules",
        "The rules that were added to the session, with their hits",
        lambda control, request: (200, rules.list_rules(request.call)),
        {200: shapes.AddedRulesShape},
    ),
    ControlRoute(
        "POST",
        "rules",
        "add_rules",
        "Adds rules to the session, which override all existing ones",
        Control.add_rules,
        {201: shapes.AddedRules},
        body=shapes.RulesOrder,
        errors=("too-many-rules",),
    ),
    ControlRoute(
        "DELETE",
        "rules",
        "clear_rules",
        "Deletes all rules that were added to the session",
        lambda control, request: (200, rules.delete_all(request.call)),
        {200: shapes.DeletedShape},
    ),
    ControlRoute(
        "DELETE",
        "rules/{id}",
        "delete_rules",
        "Deletes the rules that were added with one request",
        Control.delete_rules,
        {204: None},
        errors=("rules-unknown",),
    ),
    ControlRoute(
        "POST",
        "explain",
        "explain",
        "Explain which response a request would get, and why; nothing is stored",
        Control.explain,
        {200: shapes.ExplanationShape},
        body=shapes.DescribedRequest,
    ),
    ControlRoute(
        "GET",
        "journal",
        "journal",
        "Summaries of the last exchanges that match",
        Control.journal,
        {200: shapes.JournalShape},
        query=journal_view.QUERY,
    ),
    ControlRoute(
        "DELETE",
        "journal",
        "clear_journal",
        "Deletes the exchanges of the request's session, or of all sessions",
        Control.clear_journal,
        {200: shapes.DeletedShape},
    ),
    ControlRoute(
        "GET",
        "journal/{number}",
        "exchange",
        "One exchange in full",
        Control.exchange,
        {200: shapes.ExchangeShape},
        query={journal_view.PLAIN: bool},
        errors=("exchange-unknown",),
    ),
    ControlRoute(
        "GET",
        "journal/{number}/explain",
        "explain_exchange",
        "Explains why the request of an exchange gets its response in the current state",
        Control.explain_exchange,
        {200: shapes.ExplanationShape},
        query={journal_view.PLAIN: bool},
        errors=("exchange-unknown", "exchange-callback"),
    ),
    ControlRoute(
        "POST",
        "journal/{number}/send",
        "send_again",
        "Sends the request of an exchange again, unchanged",
        Control.send_again,
        {201: shapes.ExchangeSummary},
        errors=("exchange-unknown", "exchange-callback", "exchange-cut", "exchange-not-kept"),
    ),
    ControlRoute(
        "POST",
        "journal/{number}/compare",
        "compare_exchange",
        "Sends the app's request to the real bank, and returns the differences between the answers",
        Control.compare_exchange,
        {200: shapes.ComparedShape},
        body=shapes.ComparisonOrder,
        is_optional=True,
        errors=("exchange-unknown", "exchange-callback", "exchange-cut", "bank-not-asked", "bank-writes"),
    ),
    ControlRoute(
        "POST",
        "journal/assert",
        "assert_journal",
        "The exchanges that match an assertion; 409 if the assertion fails",
        Control.assert_journal,
        {200: shapes.AssertedShape},
        body=shapes.Assertion,
        errors=("journal-mismatch",),
    ),
)
"""All routes. `make generate` writes docs/control-openapi.yaml from them, and `Client` has a method for each."""


def _routes() -> Iterator[ControlRoute[Control]]:
    """Return all routes, including those of plugins."""
    return chain(ROUTES, plugins().collect("control_routes"))


def find(method: str, segments: Sequence[str]) -> tuple[ControlRoute[Control], tuple[str, ...]]:
    """Return the route, and the values of its path parameters. Raises Refused."""
    path = "/" + "/".join(segments)
    there = [(route, names) for route in _routes() if (names := route.names(segments[1:])) is not None]
    if not there:
        text = f"unknown path {path} of the control interface; /_sandbox/docs/control.md lists its paths"
        raise Refused(404, "path-unknown", text)
    if not all(segments):
        raise Refused(400, "id-empty", f"{path}: names and ids must not be empty")
    for route, names in there:
        if route.method == ("GET" if method == "HEAD" else method):
            return route, names
    methods = [route.method for route, _ in there]
    allowed = ", ".join([*(["GET", "HEAD"] if "GET" in methods else []), *(m for m in methods if m != "GET")])
    raise Refused(405, "method-not-offered", f"{path} accepts only {allowed}", ("Allow", allowed))
