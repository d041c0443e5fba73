"""Plans the faults of a campaign: every fault of every call, without those that would show nothing new."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from xs2a_sandbox.bank.endings import errors_of
from xs2a_sandbox.bank.handlers.token import are_issued
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.body_faults import corrupt
from xs2a_sandbox.cassette.dialect.error_table import CHECK_ERRORS
from xs2a_sandbox.cassette.dialect.quirks import has_effect
from xs2a_sandbox.cassette.fault import CALLBACK_FAULTS, NO_RETRY_AFTER
from xs2a_sandbox.cassette.model import Cassette
from xs2a_sandbox.control.shapes import CallbackShape
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.campaign.left_out import ALIKE, IDLE, SkippedFault
from xs2a_sandbox.features.campaign.order import (
    CONSENT_EXPIRES,
    ENVIRONMENT,
    QUIRKS,
    TOKEN_EXPIRES,
    ZONES,
    Kind,
    PlannedFault,
    ends_access,
    in_order,
    likeness_of,
    refuses_by_request,
    removes_values,
)
from xs2a_sandbox.features.campaign.seen import Seen, SeenCall
from xs2a_sandbox.features.pytest.injected_fault import SCA, InjectedFault, Phase
from xs2a_sandbox.http import Response, to_json
from xs2a_sandbox.state.faults import OF_THE_BANK

RETRY_AFTER = 3
"""The value of Retry-After in seconds. It is longer than the pauses that apps make on their own."""
_TOO_MANY = 429
_CONTENT = ("wrong-shape", "half-json", "html", "empty-lists", "no-next-page", "extra-members")


@dataclass(slots=True)
class Plan:
    """The faults in the order in which they are tried, and those that were left out."""

    faults: list[PlannedFault] = field(default_factory=list)
    left_out: list[SkippedFault] = field(default_factory=list)


def plan(
    interface: Interface,
    learned: Seen,
    approvals: int,
    slow: str,
    quirks: Mapping[str, Cassette],
    days: Sequence[str] = (),
) -> Plan:
    """Plan the faults. `approvals` is the number of approvals by customers; a `slow` answer takes that long.

    `quirks` are those that the bank can have. A quirk is left out if it changes none of the operations of the run.
    `days` are the dates that the app has stored, in order. Without any, the time zone of the app does not matter.
    """
    made = Plan()
    counts: Counter[str] = Counter()
    for call in learned.calls:
        counts[call.operation] += 1
        if call.operation not in interface.operations:
            continue
        faults = list(_faults_of(interface, _Point(call, counts[call.operation]), slow, made.left_out))
        if _is_between(call, learned):
            made.left_out += [SkippedFault(planned.fault, ALIKE) for planned in faults]
        else:
            made.faults += faults
    made.faults += _of_callbacks(learned)
    for number in range(1, approvals + 1):
        for ending in OF_THE_BANK["sca"]:
            order = {"sca": ending, "skip": number - 1, "next": 1}
            made.faults.append(PlannedFault(InjectedFault(ending, SCA, number), order, Kind.ENDED))
    add_quirks(made, interface, learned, quirks)
    for name, zone in _zones(days):
        made.faults.append(PlannedFault(InjectedFault(name), {ENVIRONMENT: {"TZ": zone}}, Kind.QUIRK, ENVIRONMENT))
    made.faults = in_order(made.faults, interface)
    return made


def _of_callbacks(learned: Seen) -> Iterator[PlannedFault]:
    """Yield the faults of the callbacks about each resource, at the first call that has created or changed it."""
    counts: Counter[str] = Counter()
    resources = {callback["id"].split(".")[1] for callback in learned.callbacks}
    for call in learned.calls:
        counts[call.operation] += 1
        text = f"{call.path} {to_json(call.answer).decode()}" if call.does and not call.is_read else ""
        if about := {resource for resource in resources if resource in text}:
            resources -= about
            signed = any(_is_signed(one) for one in learned.callbacks if one["id"].split(".")[1] in about)
            for name in CALLBACK_FAULTS if signed else CALLBACK_FAULTS.keys() - {"wrong-signature"}:
                yield _Point(call, counts[call.operation]).fault(f"callback {name}", {"callback": name}, Kind.LOST)


def _is_signed(callback: CallbackShape) -> bool:
    names = {name.lower() for name, _ in callback["headers"]}
    return bool(names & {"signature", "x-jws-signature"}) or callback["body"].count(".") == 2


def _zones(days: Sequence[str]) -> list[tuple[str, str]]:
    """Return time zones for the app: at any hour, it is another day in one of the first two than at the bank.

    In the third one, the clocks change in the middle of the stored days.
    """
    if not days:
        return []
    changes = min(365, date.fromisoformat(days[len(days) // 2]).timetuple().tm_yday)
    rule = f"XST0XDT,J{changes}/0,J{(changes + 180) % 365 + 1}/0"
    return list(zip(ZONES, ("Etc/GMT+12", "Etc/GMT-14", rule), strict=True))


def add_quirks(made: Plan, interface: Interface, learned: Seen, quirks: Mapping[str, Cassette]) -> None:
    """Plan a run with each quirk, except for those that change none of the operations of the learned run."""
    called = {id: operation for id, operation in interface.operations.items() if learned.counts[id]}
    for name, quirk in sorted(quirks.items(), key=lambda one: (not removes_values(one[1]), one[0])):
        if has_effect(quirk, called, [section for section in quirk.sections if interface.sections.get(section)]):
            order = {QUIRKS: [name]}
            planned = PlannedFault(
                InjectedFault(name), order, Kind.QUIRK, likeness_of(quirk), refuses_by_request(quirk)
            )
            made.faults.append(planned)
        else:
            made.left_out.append(SkippedFault(InjectedFault(name), IDLE))


def _is_between(call: SeenCall, learned: Seen) -> bool:
    """Return whether the call is between the first and the last of equal calls, as in polling."""
    alike = [
        other.number
        for other in learned.of(call.operation)
        if (other.method, other.path, other.status) == (call.method, call.path, call.status)
    ]
    return call.number not in (alike[0], alike[-1])


@dataclass(frozen=True, slots=True)
class _Point:
    """A call in the fault-free run, and its number among the calls of its operation."""

    call: SeenCall
    number: int

    @property
    def writes(self) -> bool:
        return not self.call.is_read

    def fault(
        self, name: str, wish: Mapping[str, Any], kind: Kind, phase: Phase = "before", **answer: Any
    ) -> PlannedFault:
        """Return a planned fault. `answer` are status and code of the answer."""
        order = {"operation": self.call.operation, "skip": self.number - 1, "next": 1, **wish}
        return PlannedFault(InjectedFault(name, self.call.operation, self.number, phase, **answer), order, kind)

    def leave_out(self, name: str, why: str, phase: Phase) -> SkippedFault:
        return SkippedFault(InjectedFault(name, self.call.operation, self.number, phase), why)


def _faults_of(interface: Interface, point: _Point, slow: str, left_out: list[SkippedFault]) -> Iterator[PlannedFault]:
    yield from _expiries(interface, point, left_out)
    # An app cannot know whether the bank has acted on a request whose answer it does not get. If the bank has, a
    # mistake costs more, so only the most frequent fault is tried both ways.
    if point.writes:
        yield point.fault("reset", {"fault": "reset", "after": True}, Kind.LOST, "after")
    else:
        left_out.append(point.leave_out("reset", ALIKE, "after"))
    yield point.fault("reset", {"fault": "reset"}, Kind.LOST)
    wish = {"fault": "malformed", "after": True} if point.writes else {"fault": "malformed"}
    tried: Phase = "after" if point.writes else "before"
    yield point.fault("malformed", wish, Kind.LOST, tried)
    left_out.append(point.leave_out("malformed", ALIKE, "before" if point.writes else "after"))
    for name in ("truncate", *_CONTENT):
        if _would_change(point.call, name):
            yield point.fault(name, {"fault": name}, Kind.LOST if name == "truncate" else Kind.GARBLED, "after")
        else:
            left_out.append(point.leave_out(name, IDLE, "after"))
    yield from _errors(interface, point, left_out)
    yield point.fault("slow", {"delay": slow}, Kind.LATE, "after")


def _errors(interface: Interface, point: _Point, left_out: list[SkippedFault]) -> Iterator[PlannedFault]:
    """Yield the errors of the operation; of equal errors on the wire only the first.

    A bank that refuses a request (4xx) has not acted on it, so an app may repeat it. A bank that fails (5xx) may have.
    """
    operation = interface.operations[point.call.operation]
    errors = errors_of(interface, operation)
    limit, seen = None, set()
    refusals = tuple(_refusals(point.call))
    for name, error in interface.errors.items():
        status, code = error.status(operation.id), error.code(operation.id)
        if status == _TOO_MANY:
            limit = limit or error
        is_refusal = name in CHECK_ERRORS and name.startswith(refusals)
        if (name not in errors and not is_refusal) or status == _TOO_MANY:
            continue
        is_after = status >= 500 and point.writes
        if (status, code) in seen:
            left_out.append(point.leave_out(name, ALIKE, "after" if is_after else "before"))
            continue
        seen.add((status, code))
        if is_after:
            yield point.fault(name, {"error": name, "after": True}, Kind.FAILED, "after", status=status, code=code)
            left_out.append(point.leave_out(name, ALIKE, "before"))
            continue
        kind = Kind.FAILED if status >= 500 else Kind.ENDED if ends_access(name) else Kind.REFUSED
        yield point.fault(name, {"error": name}, kind, status=status, code=code)
    answer: dict[str, Any] = {"error": limit.name} if limit else {"status": _TOO_MANY}
    limit_code = limit.code(operation.id) if limit else None
    for name, seconds in (("429 with Retry-After", RETRY_AFTER), ("429 without Retry-After", NO_RETRY_AFTER)):
        wish = {**answer, "retry_after": seconds}
        yield point.fault(name, wish, Kind.LIMITED, status=_TOO_MANY, code=limit_code)


def _refusals(call: SeenCall) -> Iterator[str]:
    """Yield the beginnings of the names of errors that are possible because of the app's credentials in the call."""
    scheme = (call.header("authorization") or "").partition(" ")[0].lower()
    if scheme in ("bearer", "dpop"):
        yield "token-"
    if any("signature" in name.lower() for name, _ in call.whole["request"]["headers"]):
        yield "signature-"
    if call.whole.get("client"):
        yield from ("certificate-", "role-")


def _expiries(interface: Interface, point: _Point, left_out: list[SkippedFault]) -> Iterator[PlannedFault]:
    # The bank cannot expire a token that the app has made.
    token = are_issued(interface.operations.values()) and point.call.header("authorization")
    for name, what, used in ((CONSENT_EXPIRES, "consent", point.call.consent), (TOKEN_EXPIRES, "token", token)):
        if not used:
            left_out += [point.leave_out(name, IDLE, phase) for phase in ("before", "after")]
            continue
        yield point.fault(name, {"expires": what}, Kind.ENDED)
        left_out.append(point.leave_out(name, ALIKE, "after"))  # the same as before the next call


def _would_change(call: SeenCall, name: str) -> bool:
    """Return whether the answer contains anything that this fault of the body changes."""
    if call.answer is None or name == "truncate":
        return call.answer is not None
    return corrupt(Response(200, (("Content-Type", "application/json"),), to_json(call.answer), name)) is not None


def choose_faults(faults: Sequence[PlannedFault], words: Sequence[str]) -> list[PlannedFault]:
    """Return the faults whose text in the report contains one of these words, or all faults without words.

    Raises UserMistake for a word that no fault contains.
    """
    for word in words:
        if faults and not any(word in str(planned.fault) for planned in faults):
            raise UserMistake(_explain_no_match(word, [planned.fault for planned in faults]))
    return [planned for planned in faults if not words or any(word in str(planned.fault) for word in words)]


def _explain_no_match(word: str, faults: Sequence[InjectedFault]) -> str:
    points = dict.fromkeys(fault.point for fault in faults if fault.operation is not None)
    names = dict.fromkeys(fault.name for fault in faults)
    near = did_you_mean(word, [*names, *points, *(fault.operation for fault in faults)])
    return (
        f"--choose: none of the {len(faults)} faults of this campaign contains {word[:80]!r}{near or '.'} "
        "Use a part of one of these calls or faults, or leave out --choose to try all faults.\n"
        f"calls: {', '.join(sorted(points))}\n"
        f"faults: {', '.join(sorted(names))}"
    )
