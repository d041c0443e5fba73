"""Finds the session of a request and the time in it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from xs2a_sandbox.clock import BANK_ZONE, Clock
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.own_path import ROOT
from xs2a_sandbox.state.store import SHARED_DOCUMENT, Transaction

DEFAULT = "default"
HEADER = "X-Sandbox-Session"
PREFIX = "s"

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_TIME = ("_session", "time")


def session_name(request: Request, segments: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the session's name, and the path without the session prefix.

    The name is that in the prefix, the header or the proxy user (in this order), or `default`.

    The console's cookie is only sent below `/_sandbox/`, so there the prefix comes second: `/_sandbox/s/NAME/console`.

    Raises:
        BankError: `session-invalid` if the name has invalid characters.
    """
    if len(segments) > 1 and segments[0] == PREFIX:
        name, segments = segments[1], segments[2:]
    elif len(segments) > 2 and segments[0] == ROOT and segments[1] == PREFIX:
        name, segments = segments[2], (ROOT, *segments[3:])
    else:
        name = request.headers.get(HEADER) or request.user or DEFAULT
    if name is not DEFAULT and not is_session_name(name):
        raise BankError("session-invalid", session=name[:80])
    return name, segments


def is_session_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def has_settings(transaction: Transaction) -> bool:
    """Return whether anything has been set in the session: its clock, checks, faults, rules or breakpoints."""
    return transaction.get_own(*_TIME) is not None


def session_clock(transaction: Transaction, begins: Clock) -> Clock:
    """Return the clock of the session if it was set: a `shift` in seconds, or `frozen`; otherwise the default clock.

    A frozen time without an offset is in the bank's time zone.
    """
    kept = transaction.get_own(*_TIME)
    if not kept or not kept.keys() & {"shift", "frozen"}:
        return begins
    frozen = datetime.fromisoformat(kept["frozen"]) if kept.get("frozen") else None
    if frozen and frozen.tzinfo is None:
        frozen = frozen.replace(tzinfo=BANK_ZONE)
    return Clock(timedelta(seconds=int(kept.get("shift", 0))), frozen, kept.get("seed") if frozen else None)


def session_checks(transaction: Transaction) -> tuple[str, Sequence[str]] | None:
    """Return the profile and the names of the session's own checks, or None if it has none."""
    own = transaction.get_own(*_TIME)
    kept = own.get("checks") if own else None
    return (kept["profile"], kept["checks"]) if kept else None


def keep_checks(transaction: Transaction, profile: str, names: Sequence[str]) -> None:
    """Set the session's profile and checks, starting with its next request."""
    # They are stored with the clock, which every request reads.
    kept = {"profile": profile, "checks": list(names)}
    transaction.put(*_TIME, {**(transaction.get_own(*_TIME) or {}), "checks": kept})


def anchor(transaction: Transaction, started: date | None, begins: Clock) -> date:
    """Return the day from which the session's relative dates count: the first day of its clock.

    The day is written together with the session's first real write.

    `default` counts from `started`, the start of the process, so that a sandbox with kept state does not become
    outdated. `started` is None if several processes with their own starts have to agree.
    """
    if started and transaction.session == DEFAULT:
        return started
    kept = transaction.get_own(*_TIME) or {}
    if "anchor" not in kept:
        kept = {**kept, "anchor": begins.today().isoformat()}
        transaction.put_with_commit(*_TIME, kept)
    return date.fromisoformat(kept["anchor"])


def has_faults_or_rules(transaction: Transaction) -> bool:
    own = transaction.get_own(*_TIME)
    return (own is not None and ("faults" in own or "rules" in own)) or "faults" in transaction.shared()


@dataclass(frozen=True, slots=True)
class SessionEntries:
    """Entries of a session in order, each with an id such as `fault-2`.

    They are stored with the session's clock, which every request reads.
    """

    name: str
    kind: str
    """The part of the ids before the number."""

    def all(self, transaction: Transaction) -> list[dict[str, Any]]:
        return list((transaction.get_own(*_TIME) or {}).get(self.name, ()))

    def keep(self, transaction: Transaction, entries: Sequence[Mapping[str, Any]]) -> None:
        kept = {name: value for name, value in (transaction.get_own(*_TIME) or {}).items() if name != self.name}
        transaction.put(*_TIME, {**kept, self.name: entries} if entries else kept)

    def next_id(self, transaction: Transaction) -> str:
        numbers = (int(entry["id"].rpartition("-")[2]) for entry in self.all(transaction))
        return f"{self.kind}-{1 + max(numbers, default=0)}"

    def remove(self, transaction: Transaction, id: str) -> bool:
        """Remove an entry. Returns whether it existed."""
        there = self.all(transaction)
        left = [entry for entry in there if entry["id"] != id]
        if len(left) < len(there):
            self.keep(transaction, left)
        return len(left) < len(there)

    def clear(self, transaction: Transaction) -> int:
        """Remove all entries. Returns their number."""
        count = len(self.all(transaction))
        if count:
            self.keep(transaction, [])
        return count


@dataclass(frozen=True, slots=True)
class SharedEntries:
    """Entries of all sessions in order, each with an id such as `fault-all-2`, which is never used again.

    They are in the document that all sessions share. Change them in the transaction of its owner.
    """

    name: str
    kind: str

    def all(self, owner: Transaction) -> list[dict[str, Any]]:
        return list((owner.get_own(*SHARED_DOCUMENT) or {}).get(self.name, ()))

    def add(self, owner: Transaction, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Add an entry after the others, and return it with its id."""
        kept = owner.get_own(*SHARED_DOCUMENT) or {}
        last = kept.get(f"last-{self.kind}", 0) + 1
        new = {"id": f"{self.kind}-all-{last}", **entry}
        entries = [*kept.get(self.name, ()), new]
        owner.put(*SHARED_DOCUMENT, {**kept, f"last-{self.kind}": last, self.name: entries})
        return new

    def keep(self, owner: Transaction, entries: Sequence[Mapping[str, Any]]) -> None:
        kept = {name: value for name, value in (owner.get_own(*SHARED_DOCUMENT) or {}).items() if name != self.name}
        owner.put(*SHARED_DOCUMENT, {**kept, self.name: entries} if entries else kept)


SHARED_FAULTS = SharedEntries("faults", "fault")


@dataclass(frozen=True, slots=True)
class SessionFaults(SessionEntries):
    """The session's own faults, followed by those of all sessions. Each session counts the latter for itself."""

    def all(self, transaction: Transaction) -> list[dict[str, Any]]:
        return [*self.own(transaction), *self.shared(transaction)]

    def own(self, transaction: Transaction) -> list[dict[str, Any]]:
        return SessionEntries.all(self, transaction)

    def shared(self, transaction: Transaction) -> list[dict[str, Any]]:
        there = transaction.shared().get(self.name, ())
        counts = (transaction.get_own(*_TIME) or {}).get("counts", {}) if there else {}
        return [{**entry, **counts.get(entry["id"], {})} for entry in there]

    def keep(self, transaction: Transaction, entries: Sequence[Mapping[str, Any]]) -> None:
        ids = {entry["id"] for entry in transaction.shared().get(self.name, ())}
        SessionEntries.keep(self, transaction, [entry for entry in entries if entry["id"] not in ids])
        counts = {
            entry["id"]: {"seen": entry["seen"], "hits": entry["hits"]}
            for entry in entries
            if entry["id"] in ids and entry["seen"]
        }
        kept = transaction.get_own(*_TIME) or {}
        if counts != kept.get("counts", {}):
            transaction.put(*_TIME, {**kept, "counts": counts})

    def clear(self, transaction: Transaction) -> int:
        """Remove the session's own faults. Returns their number."""
        count = len(self.own(transaction))
        if count:
            self.keep(transaction, self.shared(transaction))
        return count

    def next_id(self, transaction: Transaction) -> str:
        numbers = (int(entry["id"].rpartition("-")[2]) for entry in self.own(transaction))
        return f"{self.kind}-{1 + max(numbers, default=0)}"


SESSION_FAULTS = SessionFaults("faults", "fault")
SESSION_RULES = SessionEntries("rules", "rules")
"""Added rules in order. The last one is the strongest."""
SESSION_BREAKS = SessionEntries("breaks", "break")
"""Breakpoints, each with its number of `hits`."""


def keep_clock(transaction: Transaction, clock: Clock) -> None:
    """Set the clock from the next request on. The day from which relative dates count stays the same.

    A real clock is stored as a shift of 0, so that the session keeps it even if other sessions start with another
    clock.
    """
    own = (transaction.get_own(*_TIME) or {}).items()
    kept = {name: value for name, value in own if name in ("anchor", "breaks", "checks", "counts", "faults", "rules")}
    if clock.frozen:
        kept["frozen"] = clock.frozen.isoformat()
        if clock.seed is not None:
            kept["seed"] = clock.seed
    else:
        kept["shift"] = int(clock.shift.total_seconds())
    transaction.put(*_TIME, kept)
