"""Runs the work of a request as one transaction, and again after a conflict with another request."""

import time
from collections.abc import Callable
from datetime import date

from xs2a_sandbox.bank import Bank, TestData, notes, timeline
from xs2a_sandbox.bank.callbacks import CallbackQueues, note_callbacks
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.call import Session, Sign
from xs2a_sandbox.cassette.things import SentMessage
from xs2a_sandbox.clock import Clock, WatchedClock
from xs2a_sandbox.config.checks import Checks
from xs2a_sandbox.errors import BankError, StoreUnavailable
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.target import Target
from xs2a_sandbox.journal.metrics import Metrics
from xs2a_sandbox.state import Documents, MemoryStore, RemoteStore, Store, Transaction
from xs2a_sandbox.state.attempts import commit, run_transaction
from xs2a_sandbox.state.session import DEFAULT, anchor, has_settings, session_checks, session_clock
from xs2a_sandbox.state.snapshot import RequestKind

_READS = frozenset({"GET", "HEAD"})
_NOTHING = Transaction(MemoryStore(), DEFAULT, lambda _: {})

type Before = Callable[[Call], None]
"""Work whose writes are kept even if the request fails."""


class Transactions:
    """`clock` is the first clock of sessions; the default session's dates count from `started`.

    `sign` signs tokens with the bank's key.
    """

    def __init__(
        self,
        store: Store | RemoteStore,
        testdata: TestData,
        clock: Clock,
        started: date | None,
        metrics: Metrics,
        *,
        public_url: str,
        is_static: bool,
        sign: Sign | None = None,
    ) -> None:
        self.store = store
        self.public_url = public_url
        self.is_shared = isinstance(store, RemoteStore)
        self._testdata = testdata
        self._clock = clock
        self._started = None if self.is_shared else started
        self._metrics = metrics
        self._is_static = is_static
        self._sign = sign

    async def run[R](
        self,
        request: Request,
        target: Target,
        session: str,
        bank: Bank,
        work: Callable[[Call], R],
        before: Before | None = None,
        *,
        is_read: bool | None = None,
    ) -> R:
        """Run `work` in a transaction, and return its result when all writes are stored.

        Pass `is_read` if it is known whether the request changes nothing; by default the bank looks the path up.

        Raises BankError `busy`, caused by StoreUnavailable, if the state is unavailable.
        """
        tries = 0

        def attempt(documents: Documents) -> R:
            nonlocal tries
            tries += 1
            call = self.begin(request, target, session, bank, documents, before, is_read=is_read)
            try:
                result = work(call)
                note_callbacks(call)
            finally:
                call.drop_scopes()
            self._keep(call.state)
            return result

        try:
            reader = _reader(request, target, session, bank) if self.is_shared else None
            writes = request.method not in _READS and not is_read
            return await run_transaction(self.store, attempt, reader, writes=writes)
        except StoreUnavailable as error:
            self._metrics.counters["state_failures"] += 1
            raise BankError("busy") from error
        finally:
            if tries > 1:
                self._metrics.counters["commits_retried"] += tries - 1

    def begin(
        self,
        request: Request,
        target: Target,
        session: str,
        bank: Bank,
        documents: Documents,
        before: Before | None = None,
        *,
        is_read: bool | None = None,
    ) -> Call:
        """Return the call with its own transaction, after all due events have happened.

        Raises StoreUnavailable.
        """
        interface = bank.interface
        outbox = CallbackQueues(interface.callbacks, interface.shapes) if interface.callbacks else None
        call = self._call(request, target, session, bank, documents, outbox)
        timeline.run(call)
        if before:
            before(call)
        if call.state.is_changed:
            # The events have happened, even if this request fails, and must not happen again.
            note_callbacks(call)
            call.drop_scopes()
            commit(call.state)
            call = self._call(request, target, session, bank, documents, outbox)
        if is_read is None:
            is_read = bank.glance(request.method, target.segments).is_read(request.method)
        if is_read:
            # Only answers to reads are cached, so only their calls need the watched clock.
            call.clock = WatchedClock.of(call.clock)
        return call

    def stateless(self, request: Request, target: Target, session: str = DEFAULT) -> Call:
        """Return a call without a store, for errors and for the sandbox's own pages."""
        return Call(request, target, Session.from_name(session, self.public_url), self._clock, _NOTHING)

    def _call(
        self,
        request: Request,
        target: Target,
        session: str,
        bank: Bank,
        documents: Documents,
        outbox: CallbackQueues | None,
    ) -> Call:
        testdata, clock, started = self._testdata, self._clock, self._started
        state = Transaction(
            documents, session, lambda transaction: testdata.at(anchor(transaction, started, clock)), notes.note
        )
        has_own = has_settings(state)
        own_checks = session_checks(state) if has_own else None
        return Call(
            request,
            target,
            Session.from_name(session, self.public_url),
            session_clock(state, clock) if has_own else clock,
            state,
            static=self._is_static,
            authorising=bank.interface.authorisation,
            inputs=bank.interface.inputs,
            checks=Checks.of(*own_checks) if own_checks else bank.checks,
            things=bank.interface.things,
            states=bank.interface.states,
            sign=self._sign,
            outbox=outbox,
        )

    def _keep(self, state: Transaction) -> None:
        if self.is_shared or not state.is_changed:  # a remote store gets the writes afterwards
            commit(state)
            return
        started = time.perf_counter()
        commit(state)
        self._metrics.committed(time.perf_counter() - started)


def _reader(request: Request, target: Target, session: str, bank: Bank) -> RequestKind:
    """Return the kind of the request, and the ids in its path and at the places that the interface defines."""
    segments, lookup = target.segments, bank.glance(request.method, target.segments)
    if lookup.operation is None:
        return RequestKind(session, (request.method, len(segments), segments[:2]), segments[2:])
    ids = bank.interface.things.ids_beside_path(SentMessage(request, lookup.parameters))
    return RequestKind(session, lookup.operation.id, (*lookup.parameters.values(), *ids))
