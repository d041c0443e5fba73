"""Applies the session's added rules and due faults to a request, including the fault in its header."""

import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from msgspec import structs

from xs2a_sandbox.bank import added_rules
from xs2a_sandbox.bank.expiry import expire
from xs2a_sandbox.cassette import Call, fault
from xs2a_sandbox.cassette.decide import Decision
from xs2a_sandbox.cassette.fault import MEMBERS, PREFER, Fault
from xs2a_sandbox.cassette.things import Act, SentMessage
from xs2a_sandbox.config.modes import find_mode
from xs2a_sandbox.engine.route import BankRequest
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import to_json
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.state.faults import OF_THE_BANK, count_match
from xs2a_sandbox.state.session import (
    SESSION_FAULTS,
    SESSION_RULES,
    has_faults_or_rules,
    session_name,
)

_PREFER = PREFER.lower()


class DueFaults:
    """The faults that are due for a request. Each is counted once, however often the transaction is tried.

    Call `take` for each try, and `decide` for each try that continues. After that, `to_bank` is the request to a bank
    that also has the session's rules. If `counts`, each such request is counted, so its answer must not be repeated
    from the cache.

    No faults are due in modes that ignore them, or if the request also goes to a real bank. Without `prefers` the
    header X-Sandbox-Prefer is ignored. `is_distant`: the counts of a failed try are lost, so the next try counts again.
    """

    __slots__ = (
        "_faults",
        "_has_begun",
        "_has_none",
        "_idle",
        "_is_distant",
        "_is_heeded",
        "_original",
        "_prefers",
        "counts",
        "to_bank",
    )

    def __init__(self, to_bank: BankRequest, *, prefers: bool, is_distant: bool) -> None:
        self.to_bank = self._original = to_bank
        self.counts = False
        self._is_heeded = find_mode(to_bank.mode).heeds_faults and not to_bank.is_twin
        self._prefers = prefers and self._is_heeded
        self._is_distant = is_distant
        self._faults: tuple[Fault, ...] = ()
        self._idle: list[str] = []
        self._has_begun = self._has_none = False

    def take(self, call: Call) -> None:
        """Count the request for the session's faults that match it."""
        if not self._is_heeded or (self._has_begun and not self._is_distant):
            return
        self._faults, self.to_bank = (), self._original
        is_wished = self._prefers and _PREFER in call.headers
        self._has_none = not is_wished and not has_faults_or_rules(call.state)
        if self._has_none:
            return
        self._lay_over(call)
        if there := SESSION_FAULTS.all(call.state):
            self.counts = True
            after = [count_match(entry) if self._is_for(entry) else entry for entry in there]
            due = [entry for entry, before in zip(after, there, strict=True) if entry["hits"] > before["hits"]]
            self._faults = tuple(map(_compile, due))
            if after != there:
                SESSION_FAULTS.keep(call.state, after)
        self._expire(call, after=False)
        self._count_rules(call)

    def finish(self, call: Call) -> None:
        """Apply the faults that happen after the bank has answered."""
        if not self._has_none:
            self._expire(call, after=True)
            self._change_callbacks(call)

    def _change_callbacks(self, call: Call) -> None:
        for due in (*self._read_wish(call), *self._faults):
            if due.callback and call.outbox:
                call.outbox.fault = due.callback
            elif due.callback:
                call.warnings.append(f"{due.description} changes nothing: this bank sends no callbacks")

    def _expire(self, call: Call, *, after: bool) -> None:
        expiring = [due for due in (*self._read_wish(call), *self._faults) if due.expires and due.after is after]
        if not expiring:
            return
        self.to_bank.bank.prepare(call, self.to_bank.lookup)
        sent = SentMessage(call.request, call.path)
        for due in expiring:
            if due.expires and not expire(call, due.expires, sent):
                why = f"the request has no {due.expires} that is still valid"
                self._idle.append(f"{due.description} changes nothing: {why}")

    def _read_wish(self, call: Call) -> tuple[Fault, ...]:
        """Return the fault in the header, or nothing if it is invalid, which `decide` reports."""
        try:
            return (fault.prefer(call.headers[_PREFER]),) if self._prefers else ()
        except (KeyError, ValueError):
            return ()

    def look(self, call: Call) -> None:
        """Find the faults that would be due, without counting."""
        self._lay_over(call)
        self._faults = tuple(
            _compile(entry)
            for entry in SESSION_FAULTS.all(call.state)
            if self._is_heeded and self._is_for(entry) and count_match(entry)["hits"] > entry["hits"]
        )

    def decide(self, call: Call) -> Decision:
        """Return the decision of the bank, changed by the faults. Raises BankError."""
        self._has_begun = True
        call.warnings.extend(self._idle)
        return self._decision(call)

    def _decision(self, call: Call) -> Decision:
        bank, lookup = self.to_bank.bank, self.to_bank.lookup
        call.segments = lookup.segments
        decision = bank.decide(call, lookup)
        header = call.headers.get(_PREFER) if self._prefers else None
        if header is None and not self._faults:
            return decision
        self.counts = True
        wished = () if header is None else (fault.read_wish(header, bank.interface),)
        faults = (*wished, *self._faults)
        decision = fault.apply(faults, decision, bank.interface, lookup, call)
        if faults and decision.is_left_to_bank:
            call.warnings.append(f"{faults[0].id} changes nothing: the real bank answers this")
        return decision

    def _lay_over(self, call: Call) -> None:
        """Add the rules of the session to the bank."""
        self.to_bank = original = self._original
        if not self._is_heeded or not (there := SESSION_RULES.all(call.state)):
            return
        self.counts = True
        bank = added_rules.bank_with(original.bank, tuple(map(added_rules.addition, there)))
        _, segments = session_name(original.request, split_target(original.request.target).segments)
        self.to_bank = structs.replace(original, bank=bank, lookup=bank.find(original.request.method, segments))

    def _count_rules(self, call: Call) -> None:
        """Count the request for the session's rule that answers it or changes the answer."""
        if not (there := SESSION_RULES.all(call.state)):
            return
        target = self.to_bank.target._replace(segments=self.to_bank.lookup.segments)
        try:
            decision = self._decision(call.with_request(call.request, target))
        except BankError:
            return
        hit = {rule.id for rule, _ in decision.amendments}
        hit |= {decision.rule.id} if decision.rule and decision.kind == "rule" else set()
        after: list[dict[str, Any]] = []
        for addition in reversed(there):  # of several rules with the same id the last counts
            own = hit & addition["hits"].keys()
            hits = {id: count + (id in own) for id, count in addition["hits"].items()}
            after.insert(0, {**addition, "hits": hits})
            hit -= own
        if after != there:
            SESSION_RULES.keep(call.state, after)

    def _is_for(self, listed: Mapping[str, Any]) -> bool:
        """Return whether the fault matches the request and this bank: another bank may lack its error or rule."""
        if OF_THE_BANK.keys() & listed or not fault.is_there(_compile(listed), self.to_bank.bank.interface):
            return False
        return is_for(listed, self.to_bank)


def is_for(listed: Mapping[str, Any], to_bank: BankRequest) -> bool:
    """Return whether the `operation`, `does` and `method` of a fault or breakpoint match the request."""
    operation = to_bank.lookup.operation
    pattern, method = listed.get("operation"), listed.get("method")
    is_operation = pattern is None or (operation is not None and fnmatchcase(operation.id, pattern))
    if (deed := listed.get("does")) is not None:
        does = operation.does if operation else None
        is_operation = is_operation and does is not None and Act.parse_wide(deed).covers(does)
    return is_operation and method in (None, to_bank.request.method)


def _compile(listed: Mapping[str, Any]) -> Fault:
    return _read(listed["id"], to_json({name: listed[name] for name in MEMBERS if name in listed}))


@lru_cache(512)
def _read(id: str, wish: bytes) -> Fault:
    return fault.compile_fault(id, json.loads(wish))
