"""Judges the requests of an app during a fault: each oracle checks one condition."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from xs2a_sandbox.features.campaign.case import DATA, OF_ALL_ACCOUNTS, Case, Learned, asks_for_consent
from xs2a_sandbox.features.campaign.order import CONSENT_EXPIRES, ZONES, ends_access
from xs2a_sandbox.features.campaign.run import Observed
from xs2a_sandbox.features.campaign.seen import Payments, Seen, SeenCall
from xs2a_sandbox.features.campaign.sent import has_entries
from xs2a_sandbox.features.campaign.shown_rightly import find_wrong_texts
from xs2a_sandbox.features.campaign.stored import find_copies, find_losses, find_shifted_dates, find_wrong_amounts
from xs2a_sandbox.features.pytest.injected_fault import SCA, InjectedFault
from xs2a_sandbox.wording import say_count, say_times

_ALIKE_AFTER_REFUSAL = 3
"""How often the same request may be repeated after the bank has rejected it."""
_AGAIN = frozenset({408, 425, 429})
"""Errors after which the same request may be repeated."""
_PARTS = frozenset({"balance", "entry"})
"""What an app can do without: if the bank refuses the one, it can still read the other."""
_EARLY = 0.05
"""Seconds by which a wait may be too short, because clocks are not exact."""
_MORE_CALLS = 10
CALLBACK = "callback "
"""The beginning of the names of faults of callbacks."""
_ALLOWED = {"late": "late", "twice": "twice", "before": "before the answer"}
"""What a bank may do with callbacks, in words."""
_SAME_PAGES = 3
"""How many times more than usual a page may be read, for example after errors."""
_TOGETHER = ", because the run after it paid again"
_NAMED, _LONGEST = 3, 200
"""How many failures of the next run are named, and how much of each is shown."""


@dataclass(frozen=True, slots=True)
class AppFinding:
    """A mistake of the app, and the oracle that found it."""

    oracle: str
    text: str


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
        for text in _find_too_many(case, learned.second.seen.all_payments, case.after.seen.all_payments, _TOGETHER):
            yield text


def _find_too_many(case: Case, usual: Payments, payments: Payments, when: str = "") -> Iterator[str]:
    """Yield intents with too many payments `when`. A customer who has declined may start again."""
    made = payments.made - payments.rejected if case.fault.operation == SCA else payments.made
    for intent, count in sorted(made.items()):
        if intent and count > max(1, usual.made[intent]):
            yield f"The app made {say_count(count, 'payment')} with the end-to-end identification {intent}{when}."
    more = made.total() - usual.made.total()
    if more > 0 and not any(count > 1 for intent, count in made.items() if intent):
        yield f"The app made {say_count(more, 'payment')} more than without the fault{when}."


def _consent(case: Case) -> Iterator[str]:
    """Yield the consent that the bank has ended and that the next run uses again, although it is refused."""
    fault, after, ended = case.fault, case.after, case.hit
    if fault.name != CONSENT_EXPIRES or after is None:
        return
    uses = [call for call in after.seen.calls if ended and ended.consent and call.consent == ended.consent]
    if not uses or any(call.status < 400 for call in uses) or asks_for_consent(after.seen.calls):
        return
    answers = f"{uses[0].method} {uses[0].path} got {uses[0].status}"
    yield (
        f"The app used the ended consent again in the run after it, {say_times(len(uses))} ({answers}), and did not "
        "ask the customer for a new one."
    )


def _recovery(case: Case) -> Iterator[str]:
    """Yield a failure of the next run, which has no fault, with the failed tests and the reads that are missing."""
    after = case.after
    if not after or not case.learned.passes_again or any(_consent(case)):
        return
    missing = ", ".join(_find_missing_reads(case.learned, after))
    if after.ended.status != 0:
        how = (
            "did not end in time"
            if after.ended.hung or after.ended.was_decided
            else f"ended with status {after.ended.status}"
        )
        reads = f"The app no longer calls {missing}. " if missing else ""
        yield f"{reads}The run after it, without the fault, {how}{_what_failed(after)}"
    elif missing and not _concerns_all_accounts(case.fault):
        yield f"The app no longer calls {missing} in the run after it, without the fault."


def _find_missing_reads(learned: Learned, after: Observed) -> list[str]:
    """Return the reads of account data that the app makes without a fault, and no longer makes."""
    usual = {call.operation: call.does for call in learned.second.seen.calls}
    made = after.seen.counts
    return [operation for operation, does in usual.items() if not made[operation] and does and does.about & DATA]


def _what_failed(run: Observed) -> str:
    """Return the tests that reported a failure, or the last line of the output if none did."""
    lines = [line.strip() for line in run.ended.output.splitlines() if line.strip()]
    failures = [" ".join(_failure(assertion).split())[:_LONGEST] for assertion in run.assertions]
    named = failures[:_NAMED] or [line[:_LONGEST] for line in lines[-1:]]
    if (more := len(failures) - _NAMED) > 0:
        named.append(f"and {more} more")
    return f": {'; '.join(named)}" if named else "."


def _calls(case: Case) -> Iterator[str]:
    """Yield operations that are called too often, or repeated unchanged after an error."""
    if case.run.seen.is_cut:
        yield "The app made more calls than the journal of the sandbox holds."
    usual = case.learned.first.seen.counts
    paged = {call.operation for call, _ in _find_same_pages(case)}
    too_many = [
        (one, n) for one, n in sorted(case.run.seen.counts.items()) if n > _allow_calls(usual[one]) and one not in paged
    ]
    for operation, count in too_many:
        without = say_times(usual[operation]) if usual[operation] else "never"
        yield f"The app called {operation} {say_times(count)}; without the fault: {without}."
    if case.run.ended.was_decided and not too_many and not paged:
        made, without = len(case.run.seen.calls), say_count(usual.total(), "call")
        yield f"The app made {say_count(made, 'call')} and went on; without the fault: {without}."
    before = _count_refused(case.learned.first.seen)
    for (method, target, status), count in sorted(_count_refused(case.run.seen).items()):
        if count > _ALIKE_AFTER_REFUSAL and not before[method, target, status]:
            often = f"{count} times unchanged"
            yield f"The app sent {method} {target} {often}, and the bank refused it with {status} each time."


def _paging(case: Case) -> Iterator[str]:
    """Yield pages of entries that are read again and again."""
    for call, count in _find_same_pages(case):
        yield f"The app sent GET {call.target} {say_times(count)}, and got the same entries each time."


def _find_same_pages(case: Case) -> Iterator[tuple[SeenCall, int]]:
    """Yield the first call of each page of entries that is read again and again, and how often."""
    usual = Counter(call.target for call in case.learned.first.seen.calls)
    pages: dict[str, list[SeenCall]] = defaultdict(list)
    for call in case.run.seen.calls:
        if call.method == "GET" and call.status == 200 and call.does and call.does.thing == "entry":
            pages[call.target].append(call)
    for target, calls in sorted(pages.items()):
        if len(calls) <= usual[target] + _SAME_PAGES or not has_entries(calls[0].answer):
            continue
        if calls[0].answer == calls[1].answer == calls[-1].answer:
            yield calls[0], len(calls)


def _allow_calls(usual: int) -> int:
    """Return how often an operation may be called."""
    return 2 * usual + _MORE_CALLS


def allow_all_calls(learned: Learned) -> int:
    """Return the number of calls after which it is clear that the app calls too often."""
    return sum(map(_allow_calls, learned.first.seen.counts.values()))


def _count_refused(seen: Seen) -> Counter[tuple[str, str, int]]:
    return Counter(
        (call.method, call.target, call.status)
        for call in seen.calls
        if 400 <= call.status < 500 and call.status not in _AGAIN
    )


def _retry_after(case: Case) -> Iterator[str]:
    """Yield calls that repeat a limited request earlier than Retry-After allows.

    A bank counts accesses for each account and consent, so that another account may be read at once.
    """
    calls = case.run.seen.calls
    for position, call in enumerate(calls):
        if (seconds := call.retry_after) is None:
            continue
        # A call that began before the answer could not know of it. The wait binds only what was limited.
        following = (
            later
            for later in calls[position + 1 :]
            if (later.method, later.path) == (call.method, call.path) and later.began >= call.ended
        )
        again = next(following, None)
        if again and again.consent == call.consent and (waited := _seconds(call, again)) < seconds - _EARLY:
            asked = f"the bank asked to wait for {seconds:g} s"
            yield f"The app sent {call.method} {call.path} again after {waited:.1f} s; {asked}."


def _seconds(call: SeenCall, again: SeenCall) -> float:
    return (again.began - call.ended).total_seconds()


def _frequency(case: Case) -> Iterator[str]:
    """Yield reads without the customer that are more frequent than the consent allows per day."""
    if (most := case.learned.frequency) is None or case.run.ended.was_decided:
        return  # of a run that calls on and on, `calls` says so directly
    before, now = _alone(case.learned.first.seen, most), _alone(case.run.seen, most)
    for (operation, target), count in sorted(now.items()):
        if (operation, target) not in before:
            allowed = f"the consent allows it {say_times(most)} a day"
            yield f"The app read {target} {say_times(count)} without the customer; {allowed}."


def _alone(seen: Seen, most: int) -> dict[tuple[str, str], int]:
    """Return reads without the customer above that number. The whole request is fetched only for candidates.

    Further pages have other targets, because they do not count as further reads.
    """
    reads = [call for call in seen.calls if call.is_read]
    often = {place for place, count in Counter((call.operation, call.target) for call in reads).items() if count > most}
    alone = Counter(
        (call.operation, call.target)
        for call in reads
        if (call.operation, call.target) in often and call.consent and not call.has_customer
    )
    return {place: count for place, count in alone.items() if count > most}


def _accounts(case: Case) -> Iterator[str]:
    """Yield accounts that are no longer read because another account had a fault."""
    fault = case.fault
    if fault.operation is None or _concerns_all_accounts(fault):
        return
    first, run = (
        [call for call in seen.of(fault.operation) if call.is_read] for seen in (case.learned.first.seen, case.run.seen)
    )
    if fault.call is None or fault.call > min(len(first), len(run)):
        return
    usual, reads = (Counter(call.path for call in calls) for calls in (first, run))
    met, failed = first[fault.call - 1].path, run[fault.call - 1].path
    stable = {path for operation, path in case.learned.second.seen.paths if operation == fault.operation}
    others = dict.fromkeys(
        call.path for call in first if call.path != met and call.path in stable and call.status < 400
    )
    if usual.keys() & reads.keys():
        if missing := [path for path in others if reads[path] < usual[path]]:
            yield f"The app read {', '.join(missing)} less often than usual, because {met} failed."
    elif (count := len(reads.keys() - {failed})) < len(others):
        # Each session has other ids of accounts, so only their number is known.
        yield f"The app read {count} other accounts with {fault.operation}, not {len(others)}, because {failed} failed."


def _concerns_all_accounts(fault: InjectedFault) -> bool:
    """Return whether the fault ends or limits the access, so that the app must not go on as usual."""
    return fault.operation == SCA or fault.status in OF_ALL_ACCOUNTS or ends_access(fault.name)


def _quirk(case: Case) -> Iterator[str]:
    """Yield what goes wrong while the bank has a quirk, but refuses nothing, or only balances or only entries.

    A run that reads no account has failed before, where the customer takes part. That may be a mistake of the tests,
    and so may be a failure in another time zone.
    """
    run, usual = case.run, case.learned.first.seen
    if case.fault.operation is not None or case.fault.name in ZONES:
        return
    usually = {(call.operation, call.status) for call in usual.calls}
    refused = [c for c in run.seen.calls if c.status >= 400 and (c.operation, c.status) not in usually]
    has_read = any(call.does and call.does.about & DATA for call in run.seen.calls)
    if has_read and not refused and run.ended.status > 0 and not run.assertions:
        yield f"The command ended with status {run.ended.status}, although the bank refused nothing{_what_failed(run)}"
    if case.is_avoidable:
        yield from _find_refused_page(case)
    if any(c.status in OF_ALL_ACCOUNTS or not c.does or c.does.thing not in _PARTS for c in refused):
        return
    if refused and (missing := ", ".join(_find_missing_reads(case.learned, run))):
        only = ", ".join(dict.fromkeys(call.operation for call in refused))
        yield f"The app no longer calls {missing}, although the bank refused only {only}."


def _find_refused_page(case: Case) -> Iterator[str]:
    """Yield the first further page of entries that the bank refused because of the app's request."""
    got, usual = (len(run.kept.sent.entries) for run in (case.run, case.learned.first))
    begun: set[str] = set()
    for call in case.run.seen.calls:
        if not call.does or call.does.thing != "entry":
            continue
        if call.status == 200:
            begun.add(call.path)
        elif 400 <= call.status < 500 and call.status not in OF_ALL_ACCOUNTS and call.path in begun and got < usual:
            yield (
                f"The bank refused the request for a further page, GET {call.target}, with {call.status}, and would "
                f"have accepted it with other parameters. The app got {got} of {usual} entries."
            )
            return


def _callbacks(case: Case) -> Iterator[str]:
    """Yield what goes wrong with callbacks that the bank may send, or that are not from the bank."""
    kind = case.fault.name.removeprefix(CALLBACK) if case.fault.name.startswith(CALLBACK) else None
    changed = [one for one in case.run.seen.callbacks if one["fault"] == kind and one["tries"]]
    if kind == "wrong-signature":
        accepted = sorted({one["callback"] for one in changed if one["state"] == "delivered"})
        if accepted:
            yield f"The app accepted the callback {', '.join(accepted)} with a wrong signature."
    elif kind in _ALLOWED:
        usual = {one["answer"] for one in case.learned.first.seen.callbacks}
        for one in changed:
            if (one["answer"] or "").isdigit() and one["answer"] not in usual:
                said = f"The app answered {one['answer']} to the callback {one['callback']}"
                yield f"{said}, which was sent {_ALLOWED[kind]}."
        if case.run.ended.status > 0 and not case.run.assertions:
            ended = f"The command ended with status {case.run.ended.status}"
            yield f"{ended}, although callbacks were only sent {_ALLOWED[kind]}{_what_failed(case.run)}"


def _stored(case: Case) -> Iterator[str]:
    """Yield entries that the app has stored too often, or has lost, after the last run."""
    storage = case.learned.storage
    yield from find_copies(storage, case.kept)
    last = case.after or case.again or case.run
    if last.ended.status != 0 or not case.learned.passes_again:
        return
    # At midnight the entries that an app asks for change.
    days = {call.time[:10] for call in (*case.learned.first.seen.calls[:1], *last.seen.calls[-1:])}
    reads_all = len(last.kept.sent.paths) >= len(case.learned.second.kept.sent.paths)
    if case.after and reads_all and len(days) == 1:
        yield from find_losses(storage, storage.lasting, last.kept, lambda entry: True)
    elif case.fault.operation is None and days:
        today = max(days)
        yield from find_losses(storage, last.kept, last.kept, lambda entry: max(entry.dates, default="9") <= today)


def _dates(case: Case) -> Iterator[str]:
    yield from find_shifted_dates(case.learned.storage, case.kept[-1])


def _amounts(case: Case) -> Iterator[str]:
    yield from find_wrong_amounts(case.learned.storage, case.kept[-1])


def dated_days(learned: Learned) -> frozenset[str]:
    """Return the dates of the entries, if the app stores each entry with its date."""
    storage = learned.storage
    return (
        frozenset(day for entry in storage.first.sent.entries for day in entry.dates) if storage.dated else frozenset()
    )


def _hang(case: Case) -> Iterator[str]:
    if case.run.ended.hung:
        yield f"The command did not end within {case.run.ended.seconds:.0f} s."


def _crash(case: Case) -> Iterator[str]:
    if case.run.ended.signal:
        yield f"The command was killed by {case.run.ended.signal}."


ORACLES: Mapping[str, Callable[[Case], Iterator[str]]] = {
    "assertion": _assertion,
    "payments": _payments,
    "consent": _consent,
    "recovery": _recovery,
    "calls": _calls,
    "paging": _paging,
    "retry-after": _retry_after,
    "frequency": _frequency,
    "accounts": _accounts,
    "quirk": _quirk,
    "callbacks": _callbacks,
    "shown": find_wrong_texts,
    "stored": _stored,
    "dates": _dates,
    "amounts": _amounts,
    "hang": _hang,
    "crash": _crash,
}
"""The oracles by the name in reports."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What an oracle expects of the app, and why. `mistake` continues "the app …" if the app does not do it."""

    mistake: str
    does: str
    why: str


EXPECTED: Mapping[str, Expected] = {
    "assertion": Expected(
        "fails a test that knows the fault",
        "The tests that know the fault pass.",
        "Your own tests say how the app must react to this fault.",
    ),
    "payments": Expected(
        "pays too often",
        "The app makes at most one payment for each end-to-end identification, and no more payments than without the "
        "fault.",
        "The bank may have accepted a payment although the app got an error or no answer. If the app pays again "
        "without asking for the status first, the customer pays twice.",
    ),
    "consent": Expected(
        "keeps an ended consent",
        "The app forgets a consent that the bank has ended, and asks the customer for a new one.",
        "An ended consent is never valid again. Until the app asks for a new one, the customer sees no new data.",
    ),
    "recovery": Expected(
        "does not recover",
        "The run after it, without the fault, passes.",
        "Faults at a bank pass. An app that stays broken needs someone to repair its data.",
    ),
    "calls": Expected(
        "calls too often",
        "The app calls each operation at most twice as often as usual, plus ten times, and sends a request that is "
        "refused at most three times.",
        "The same request gets the same refusal, and banks block apps that flood them.",
    ),
    "paging": Expected(
        "reads pages without end",
        "The app stops when the reference to the next page leads to a page that it has read before.",
        "Some banks end their lists in this way. The app never finishes, or stores each entry many times.",
    ),
    "retry-after": Expected(
        "calls again too early",
        "The app waits as long as Retry-After says before it sends a request to the same path again.",
        "The bank refuses every earlier call, and may block the app.",
    ),
    "frequency": Expected(
        "reads too often without the customer",
        "Without the customer, the app reads nothing more often per day than the consent allows.",
        "The bank refuses further reads that day, so the app has no data until the next day.",
    ),
    "accounts": Expected(
        "stops reading other accounts",
        "The app still reads the other accounts when one account fails.",
        "The bank can deliver the other accounts, and the customer expects them.",
    ),
    "quirk": Expected(
        "fails with a bank that has this quirk",
        "The command passes if the bank refuses nothing, and the app still reads all that the bank does not refuse.",
        "Real banks answer in this way. What the app cannot use, it may leave out, but it must keep the rest.",
    ),
    "callbacks": Expected(
        "is confused by callbacks",
        "The app takes callbacks that are late, repeated or earlier than the answer, and refuses those with a wrong "
        "signature.",
        "A bank repeats a callback if it is not sure that it has arrived, and anybody who knows the address can send "
        "one.",
    ),
    "shown": Expected(
        "shows something that is not true",
        "What the app shows says what has happened, and what the user can do: authorise again, wait, or find out "
        "whether the payment is made.",
        "The user does what the app says. After the wrong text, the user pays twice, waits for nothing, or calls the "
        "wrong support.",
    ),
    "stored": Expected(
        "stores entries twice or loses them",
        "After the next run, the app has each entry as often as without the fault.",
        "The customer sees money that was never paid, or misses a payment.",
    ),
    "dates": Expected(
        "moves entries to another day",
        "The app stores the dates of entries as the bank has sent them.",
        "A date without a time belongs to no time zone. An app that converts it shows the day before or after.",
    ),
    "amounts": Expected(
        "stores wrong amounts",
        "The app stores the amount and the sign that the bank has sent, in the same way for all entries.",
        "The customer sees a payment as income, or a wrong sum.",
    ),
    "hang": Expected(
        "hangs",
        "The command ends in time.",
        "Without a time limit of its own, the app waits for the bank forever.",
    ),
    "crash": Expected(
        "crashes",
        "The command is not killed by a signal.",
        "A process that dies cannot tell the customer anything, and loses what it has not saved.",
    ),
}
"""What the app should do, by the name of the oracle."""
