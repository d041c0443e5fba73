"""Judges what a bank can see of an app during a fault: each oracle checks one condition."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from xs2a_sandbox.features.campaign.run import Observed
from xs2a_sandbox.features.campaign.seen import Payments, Seen, SeenCall
from xs2a_sandbox.features.pytest.injected_fault import SCA, InjectedFault
from xs2a_sandbox.wording import say_count

_ALIKE_AFTER_REFUSAL = 3
"""How often the same request may be repeated after the bank has rejected it."""
_AGAIN = frozenset({408, 425, 429})
"""Errors after which the same request may be repeated."""
_OF_ALL_ACCOUNTS = frozenset({401, 403, 429})
"""Errors about the consent or the app, which would be the same for other accounts."""
_OF_THE_CONSENT = ("consent-", "token-")
"""The beginnings of the names of such errors."""
_EARLY = 0.05
"""Seconds by which a wait may be too short, because clocks are not exact."""
_MORE_CALLS = 10
_NAMED, _LONGEST = 3, 200
"""How many failures of the next run are named, and how much of each is shown."""


@dataclass(frozen=True, slots=True)
class AppFinding:
    """A mistake of the app, and the oracle that found it."""

    oracle: str
    text: str


@dataclass(frozen=True, slots=True)
class Learned:
    """The fault-free run, and the next one in the same session. Only calls in both are reliable."""

    first: Observed
    second: Observed
    frequency: int | None = None

    @property
    def passes_again(self) -> bool:
        return self.second.ended.status == 0


@dataclass(frozen=True, slots=True)
class Case:
    """A run with a fault, and the next one without a fault, if there was one."""

    learned: Learned
    fault: InjectedFault
    run: Observed
    after: Observed | None = None


def findings(case: Case) -> list[AppFinding]:
    return [AppFinding(oracle, text) for oracle, judge in ORACLES.items() for text in judge(case)]


def _assertion(case: Case) -> Iterator[str]:
    """Yield the failures that a test reports which knows about the fault."""
    yield from map(_failure, case.run.assertions)


def _failure(assertion: Mapping[str, Any]) -> str:
    return f"{assertion['test']}: {assertion['text']}" if assertion["test"] else str(assertion["text"])


def _payments(case: Case) -> Iterator[str]:
    """Yield intents with more than one payment, including a second payment in the next run."""
    learned, is_found = case.learned, False
    for text in _find_too_many(case, learned.first.seen.payments, case.run.seen.payments):
        is_found = True
        yield text
    if case.after and learned.passes_again and not is_found:
        for text in _find_too_many(case, learned.second.seen.all_payments, case.after.seen.all_payments):
            yield f"together with the next run {text}"


def _find_too_many(case: Case, usual: Payments, payments: Payments) -> Iterator[str]:
    """Yield intents with too many payments. A customer who has declined may start again."""
    made = payments.made - payments.rejected if case.fault.operation == SCA else payments.made
    for intent, count in sorted(made.items()):
        if intent and count > max(1, usual.made[intent]):
            yield f"{say_count(count, 'payment')} of the intent {intent}"
    more = made.total() - usual.made.total()
    if more > 0 and not any(count > 1 for intent, count in made.items() if intent):
        yield f"{say_count(more, 'payment')} more than where nothing goes wrong"


def _recovery(case: Case) -> Iterator[str]:
    """Yield a failure of the next run, which has no fault, with the failed tests."""
    after = case.after
    if after and case.learned.passes_again and after.ended.status != 0:
        how = "hangs" if after.ended.hung else f"ends with status {after.ended.status}"
        yield f"the next run, in which nothing goes wrong, {how}{_what_failed(after)}"


def _what_failed(run: Observed) -> str:
    """Return the tests that reported a failure, or the last line of the output if none did."""
    lines = [line.strip() for line in run.ended.output.splitlines() if line.strip()]
    failures = [" ".join(_failure(assertion).split())[:_LONGEST] for assertion in run.assertions]
    named = failures[:_NAMED] or [line[:_LONGEST] for line in lines[-1:]]
    if (more := len(failures) - _NAMED) > 0:
        named.append(f"and {more} more")
    return f": {'; '.join(named)}" if named else ""


def _calls(case: Case) -> Iterator[str]:
    """Yield operations that are called too often, or repeated unchanged after an error."""
    if case.run.seen.is_cut:
        yield "more calls than the journal of the sandbox holds"
    usual = case.learned.first.seen.counts
    for operation, count in sorted(case.run.seen.counts.items()):
        most = 2 * usual[operation] + _MORE_CALLS
        if count > most:
            yield f"{operation} is called {count} times, {usual[operation]} times where nothing goes wrong"
    before = _count_refused(case.learned.first.seen)
    for (method, target, status), count in sorted(_count_refused(case.run.seen).items()):
        if count > _ALIKE_AFTER_REFUSAL and not before[method, target, status]:
            yield f"{method} {target} is asked {count} times alike, and refused with {status} each time"


def _count_refused(seen: Seen) -> Counter[tuple[str, str, int]]:
    return Counter(
        (call.method, call.target, call.status)
        for call in seen.calls
        if 400 <= call.status < 500 and call.status not in _AGAIN
    )


def _retry_after(case: Case) -> Iterator[str]:
    """Yield calls that come earlier than Retry-After allows."""
    calls = case.run.seen.calls
    for position, call in enumerate(calls):
        if (seconds := call.retry_after) is None:
            continue
        following = (later for later in calls[position + 1 :] if later.operation == call.operation)
        if (again := next(following, None)) and (waited := _seconds(call, again)) < seconds - _EARLY:
            yield f"{call.operation} is called again after {waited:.1f} s: the bank asked to wait for {seconds:g} s"


def _seconds(call: SeenCall, again: SeenCall) -> float:
    return (again.began - call.ended).total_seconds()


def _frequency(case: Case) -> Iterator[str]:
    """Yield reads without the customer that are more frequent than the consent allows per day."""
    if (most := case.learned.frequency) is None:
        return
    before, now = _alone(case.learned.first.seen, most), _alone(case.run.seen, most)
    for (operation, path), count in sorted(now.items()):
        if (operation, path) not in before:
            yield f"{path} is read {count} times without the customer: the consent allows {most} a day"


def _alone(seen: Seen, most: int) -> dict[tuple[str, str], int]:
    """Return reads without the customer above that number. The whole request is fetched only for candidates."""
    reads = [call for call in seen.calls if call.is_read]
    often = {place for place, count in Counter((call.operation, call.path) for call in reads).items() if count > most}
    alone = Counter(
        (call.operation, call.path)
        for call in reads
        if (call.operation, call.path) in often and call.consent and not call.has_customer
    )
    return {place: count for place, count in alone.items() if count > most}


def _accounts(case: Case) -> Iterator[str]:
    """Yield accounts that are no longer read because another account had a fault."""
    fault = case.fault
    if fault.operation in (None, SCA) or fault.name.endswith(" expires"):
        return
    if fault.status in _OF_ALL_ACCOUNTS or fault.name.startswith(_OF_THE_CONSENT):
        return
    first = [call for call in case.learned.first.seen.of(str(fault.operation)) if call.is_read]
    if fault.call is None or fault.call > len(first):
        return
    met = first[fault.call - 1].path
    stable = {path for operation, path in case.learned.second.seen.paths if operation == fault.operation}
    usual = Counter(call.path for call in first)
    reads = Counter(call.path for call in case.run.seen.of(str(fault.operation)))
    others = dict.fromkeys(
        call.path for call in first if call.path != met and call.path in stable and call.status < 400
    )
    if missing := [path for path in others if reads[path] < usual[path]]:
        yield f"{', '.join(missing)} is read less often than usual, as {met} failed"


def _hang(case: Case) -> Iterator[str]:
    if case.run.ended.hung:
        yield f"it does not end within {case.run.ended.seconds:.0f} s"


def _crash(case: Case) -> Iterator[str]:
    if case.run.ended.signal:
        yield f"it died of {case.run.ended.signal}"


ORACLES: Mapping[str, Callable[[Case], Iterator[str]]] = {
    "assertion": _assertion,
    "payments": _payments,
    "recovery": _recovery,
    "calls": _calls,
    "retry-after": _retry_after,
    "frequency": _frequency,
    "accounts": _accounts,
    "hang": _hang,
    "crash": _crash,
}
"""The oracles by the name in reports."""
