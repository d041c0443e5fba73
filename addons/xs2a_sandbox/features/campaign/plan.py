"""Plans the faults of a campaign: every fault of every call, without those that would show nothing new."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xs2a_sandbox.bank.endings import errors_of
from xs2a_sandbox.bundled import QUIRKS, bundled, quirks
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.body_faults import corrupt
from xs2a_sandbox.cassette.dialect.error_table import CHECK_ERRORS
from xs2a_sandbox.cassette.fault import NO_RETRY_AFTER
from xs2a_sandbox.features.campaign.seen import Seen, SeenCall
from xs2a_sandbox.features.pytest.injected_fault import SCA, InjectedFault, Phase
from xs2a_sandbox.http import Response, to_json
from xs2a_sandbox.state.faults import SCA_ENDINGS

RETRY_AFTER = 1
"""The value of Retry-After in seconds."""
_TOO_MANY = 429
_CONTENT = ("wrong-shape", "half-json", "html", "empty-lists", "no-next-page", "extra-members")
ALIKE, IDLE, UNREACHED, BUDGET = "alike", "changes nothing", "not reached", "no time left"
"""The reasons for leaving a fault out."""


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """A fault, and the order for the sandbox, which a quirk does not have.

    Faults with a lower `rank` are tried first.
    """

    fault: InjectedFault
    order: Mapping[str, Any] | None
    rank: int = 0


@dataclass(slots=True)
class Plan:
    """The faults in the order in which they are tried, and the numbers of faults left out by reason."""

    faults: list[PlannedFault] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def plan(interface: Interface, learned: Seen, approvals: int, slow: str, *, with_quirks: bool) -> Plan:
    """Plan the faults. `approvals` is the number of approvals by customers; a `slow` answer takes that long."""
    made = Plan()
    counts: Counter[str] = Counter()
    for call in learned.calls:
        counts[call.operation] += 1
        if call.operation not in interface.operations:
            continue
        faults = list(_faults_of(interface, _Point(call, counts[call.operation]), slow, made.left_out))
        if _is_between(call, learned):
            made.left_out[ALIKE] += len(faults)
        else:
            made.faults += faults
    for number in range(1, approvals + 1):
        for ending in SCA_ENDINGS:
            order = {"sca": ending, "skip": number - 1, "next": 1}
            made.faults.append(PlannedFault(InjectedFault(ending, SCA, number), order, 2))
    if with_quirks:
        names = quirks(bundled("cassettes") / QUIRKS, Path.cwd() / "cassettes" / QUIRKS)
        made.faults += [PlannedFault(InjectedFault(name), None, 1) for name in sorted(names)]
    made.faults.sort(key=lambda planned: planned.rank)
    return made


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
        self, name: str, wish: Mapping[str, Any], rank: int, phase: Phase = "before", **answer: Any
    ) -> PlannedFault:
        """Return a planned fault. `answer` are status and code of the answer."""
        order = {"operation": self.call.operation, "skip": self.number - 1, "next": 1, **wish}
        return PlannedFault(InjectedFault(name, self.call.operation, self.number, phase, **answer), order, rank)


def _faults_of(interface: Interface, point: _Point, slow: str, left_out: Counter[str]) -> Iterator[PlannedFault]:
    yield from _expiries(point, left_out)
    for name, rank in (("reset", 3), ("malformed", 4)):
        yield point.fault(name, {"fault": name}, rank)
        if point.writes:
            yield point.fault(name, {"fault": name, "after": True}, 0 if name == "reset" else 4, "after")
        else:
            left_out[ALIKE] += 1
    for name in ("truncate", *_CONTENT):
        if _would_change(point.call, name):
            yield point.fault(name, {"fault": name}, 4 if name == "truncate" else 3, "after")
        else:
            left_out[IDLE] += 1
    yield from _errors(interface, point, left_out)
    yield point.fault("slow", {"delay": slow}, 7, "after")


def _errors(interface: Interface, point: _Point, left_out: Counter[str]) -> Iterator[PlannedFault]:
    """Yield the errors of the operation, before and after its effect; of equal errors on the wire only the first."""
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
        if (status, code) in seen:
            left_out[ALIKE] += 1 if is_refusal else 2
            continue
        seen.add((status, code))
        if is_refusal:  # before anything is done
            yield point.fault(name, {"error": name}, 3, status=status, code=code)
            continue
        ranks = (3, 5) if status < 500 else (2, 1)
        yield from _plan_answer(point, name, {"error": name}, ranks, left_out, status=status, code=code)
    answer: dict[str, Any] = {"error": limit.name} if limit else {"status": _TOO_MANY}
    limit_answer = {"status": _TOO_MANY, "code": limit.code(operation.id) if limit else None}
    for name, seconds in (("429 with Retry-After", RETRY_AFTER), ("429 without Retry-After", NO_RETRY_AFTER)):
        yield from _plan_answer(point, name, {**answer, "retry_after": seconds}, (2, 6), left_out, **limit_answer)


def _refusals(call: SeenCall) -> Iterator[str]:
    """Yield the beginnings of the names of errors that are possible because of the app's credentials in the call."""
    scheme = (call.header("authorization") or "").partition(" ")[0].lower()
    if scheme in ("bearer", "dpop"):
        yield "token-"
    if call.header("signature") is not None:
        yield "signature-"
    if call.whole.get("client"):
        yield from ("certificate-", "role-")


def _plan_answer(
    point: _Point, name: str, wish: Mapping[str, Any], ranks: tuple[int, int], left_out: Counter[str], **answer: Any
) -> Iterator[PlannedFault]:
    """Yield the fault before the effect and after it, or only one of them if the operation has no effect."""
    yield point.fault(name, wish, ranks[0], **answer)
    if point.writes:
        yield point.fault(name, {**wish, "after": True}, ranks[1], "after", **answer)
    else:
        left_out[ALIKE] += 1


def _expiries(point: _Point, left_out: Counter[str]) -> Iterator[PlannedFault]:
    for what, is_named in (("consent", point.call.consent), ("token", point.call.header("authorization"))):
        if not is_named:
            left_out[IDLE] += 2
            continue
        yield point.fault(f"{what} expires", {"expires": what}, 1)
        left_out[ALIKE] += 1  # after this call is the same as before the next one


def _would_change(call: SeenCall, name: str) -> bool:
    """Return whether the answer contains anything that this fault of the body changes."""
    if call.answer is None or name == "truncate":
        return call.answer is not None
    return corrupt(Response(200, (("Content-Type", "application/json"),), to_json(call.answer), name)) is not None


def choose_faults(faults: Iterable[PlannedFault], keep: Sequence[str]) -> list[PlannedFault]:
    """Return the faults whose text in the report contains one of these words, or all faults without words."""
    return [planned for planned in faults if not keep or any(word in str(planned.fault) for word in keep)]
