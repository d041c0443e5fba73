"""Compares what an app shows to its user with what has happened at the bank.

An app that shows nothing, or nothing readable, has no finding. Only texts count that are not there without the fault,
except for those of success: a fault should make them disappear.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xs2a_sandbox.features.campaign.case import DATA, Case, asks_for_consent
from xs2a_sandbox.features.campaign.order import CONSENT_EXPIRES
from xs2a_sandbox.features.campaign.run import Observed
from xs2a_sandbox.features.campaign.seen import Payments, SeenCall
from xs2a_sandbox.features.campaign.shown import KINDS, ShownText, describe_unknown, plain_kinds
from xs2a_sandbox.features.pytest.injected_fault import SCA

_LOST = frozenset({"reset", "malformed", "truncate", "half-json", "html"})
"""The faults after which an app cannot know what the bank has done."""
_PASSES = frozenset({401, 408, 425, 429})
"""Errors that say nothing about the payment."""
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class BankEvent:
    """Something that has happened at the bank, and the kinds of texts that are right and wrong after it."""

    sentence: str
    right: frozenset[str]
    wrong: frozenset[str]


def _event(sentence: str, right: str, wrong: str) -> BankEvent:
    return BankEvent(sentence, frozenset(right.split()), frozenset(wrong.split()))


_ENDED = _event("the consent has ended", "authorise", "later bank error password declined updated")
_LIMITED = _event("the bank limits the number of calls", "later bank", "authorise error password declined updated")
_FAILED = _event("the bank has failed", "bank later", "authorise password declined updated")
_NOT_CONNECTED = _event("the bank has failed", "bank later", "password declined")
_REFUSED = _event("the bank has refused the payment", "rejected", "later password declined")
_UNKNOWN = _event("the app cannot know whether the bank has made the payment", "unknown", "rejected declined password")
_DECLINED = _event("the customer has declined", "declined rejected", "bank error password")
_NOT_APPROVED = _event("the approval by the customer has failed", "rejected later bank error", "password")


def find_wrong_texts(case: Case) -> Iterator[str]:
    """Yield a text that is wrong after what has happened at the bank, or whose kind the app has misspelled."""
    if unknown := _find_unknown_kind(case.run):
        yield unknown
        return
    if paid := _find_wrong_paid(case):
        yield paid
        return
    if (event := _find_event(case)) is None:
        return
    new = list(_find_new(case))
    if any(shown.kinds & event.right for shown in new):
        return
    for shown in (*new, *_find_remaining(case, event, new)):
        if wrong := shown.kinds & event.wrong:
            yield _say(shown.text, wrong, event.sentence, event.right)
            return


def _find_unknown_kind(run: Observed) -> str | None:
    for shown in run.shown.texts:
        for kind in shown.kinds - KINDS.keys():
            return f"The app shows {_shorten(shown.text)!r} with the {describe_unknown(kind)}."
    return None


def _find_event(case: Case) -> BankEvent | None:
    """Return what has happened at the bank, if the user needs to know it."""
    fault, hit = case.fault, case.hit
    if fault.operation == SCA:
        return {"decline": _DECLINED, "error": _NOT_APPROVED}.get(fault.name)
    if hit is None or hit.does is None or _succeeds_later(case, hit):
        return None
    reads, later = bool(hit.does.about & DATA), _later_calls(case, hit)
    if fault.name == CONSENT_EXPIRES or fault.name.startswith(("consent-", "session-")):
        return _ENDED if reads and not asks_for_consent(later) else None
    if fault.status == 429:
        return _LIMITED if reads else None
    is_payment = (hit.does.verb, hit.does.thing) == ("create", "payment")
    if (fault.status or 0) >= 500 or fault.name in _LOST:
        return _UNKNOWN if is_payment else _FAILED if reads else _NOT_CONNECTED
    return _REFUSED if is_payment and fault.status and fault.status not in _PASSES else None


def _later_calls(case: Case, hit: SeenCall) -> list[SeenCall]:
    return [call for call in case.run.seen.calls if call.number > hit.number]


def _succeeds_later(case: Case, hit: SeenCall) -> bool:
    """Return whether the app has repeated the call with success, or has found out what has become of the payment."""
    is_payment = bool(hit.does and "payment" in hit.does.about)
    return any(
        (call.operation, call.path) == (hit.operation, hit.path)
        or (is_payment and call.does and "payment" in call.does.about)
        for call in _later_calls(case, hit)
        if call.status < 400
    )


def _find_new(case: Case) -> Iterator[ShownText]:
    """Yield the texts that are there only because of the fault, with their kinds that are more frequent than usual."""
    usual = case.learned.first.shown.texts
    texts, kinds = Counter(shown.text for shown in usual), _count_kinds(case.run) - _count_kinds(case.learned.first)
    for shown in case.run.shown.texts:
        if texts[shown.text]:
            texts[shown.text] -= 1
        else:
            yield ShownText(shown.text, shown.kinds & kinds.keys())


def _find_remaining(case: Case, event: BankEvent, new: Iterable[ShownText]) -> Iterator[ShownText]:
    """Yield the texts of success that are as frequent as without the fault, if nothing else is shown."""
    if any(True for _ in new):
        return
    usual, now = _count_kinds(case.learned.first), _count_kinds(case.run)
    for kind in sorted(event.wrong & {"updated"}):
        if usual[kind] and now[kind] >= usual[kind]:
            yield next(shown for shown in case.run.shown.texts if kind in shown.kinds)


def _find_wrong_paid(case: Case) -> str | None:
    """Return a finding if the app says as often as usual that a payment is made, although fewer are."""
    usual, run = case.learned.first, case.run
    before, now = _list_paid(usual), _list_paid(run)
    if not before:
        before = _list_lines_with_payments(usual)
        # Other lines may be sources of tests that failed.
        now = [line for line in run.shown.output if line in before]
    if not before or len(now) < len(before):
        return None
    made, accepted = _count_accepted(usual.seen.payments), _count_accepted(run.seen.payments)
    if accepted < made:
        why = f"the bank has accepted {accepted} of {made} payments"
        return _say(now[-1], frozenset({"paid"}), why, _REFUSED.right | _UNKNOWN.right)
    event = _find_event(case)
    if event is _UNKNOWN:
        return _say(now[-1], frozenset({"paid"}), event.sentence, event.right)
    return None


def _list_paid(run: Observed) -> list[str]:
    return [shown.text for shown in run.shown.texts if "paid" in shown.kinds]


def _list_lines_with_payments(run: Observed) -> list[str]:
    """Return the lines of the output that say that a payment is made, and name its intent."""
    named = (line for line in run.shown.output if any(intent and intent in line for intent in run.seen.payments.made))
    return [line for line in named if "paid" in plain_kinds(line)]


def _count_accepted(payments: Payments) -> int:
    return payments.made.total() - payments.rejected.total()


def _count_kinds(run: Observed) -> Counter[str]:
    return Counter(kind for shown in run.shown.texts for kind in shown.kinds)


def _say(text: str, wrong: frozenset[str], sentence: str, right: frozenset[str]) -> str:
    instead = " or that ".join(KINDS[kind].says for kind in sorted(right))
    kinds = ", ".join(sorted(wrong))
    return f"The app shows {_shorten(text)!r} ({kinds}), although {sentence}. It should say that {instead}."


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
