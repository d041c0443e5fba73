"""Carries what one operation shows to the others: an error is rarely that of one operation alone."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from xs2a_sandbox.features.derive.unknown.conditions.checks import LearnedCheck, order
from xs2a_sandbox.features.derive.unknown.conditions.classes import AnswerClass
from xs2a_sandbox.features.derive.unknown.conditions.conditions import Condition
from xs2a_sandbox.features.derive.unknown.conditions.mentions import find_mention, instead
from xs2a_sandbox.features.derive.unknown.guesses.fields import (
    guess_attempts,
    guess_credentials,
    guess_dropped_secret,
    guess_form,
    guess_hidden_field,
    guess_other_owner,
    guess_preconditions,
    guess_repeated,
    guess_secrets,
    guess_unticked,
    guess_used_code,
)
from xs2a_sandbox.features.derive.unknown.guesses.known_operation import KnownOperation
from xs2a_sandbox.features.derive.unknown.guesses.states import (
    accept_correction,
    guess_again,
    guess_old_tokens,
    guess_over,
    guess_quotas,
    guess_rights,
    guess_scopes,
    guess_states,
    guess_used_up,
)
from xs2a_sandbox.features.derive.unknown.guesses.values import guess_impossible_values
from xs2a_sandbox.features.derive.unknown.lists.lists import is_last_day
from xs2a_sandbox.features.derive.unknown.recorded.forms import read_number
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, value_at
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation, is_beside

_CONSENT_STATE = re.compile("consent_?status", re.IGNORECASE)
_FORMS = frozenset({"missing", "form", "word", "past"})


def add_guesses(
    scopes: ExchangeScopes,
    checks: Mapping[LearnedOperation, list[LearnedCheck]],
    classes: Mapping[LearnedOperation, Sequence[AnswerClass]],
) -> dict[LearnedOperation, list[LearnedCheck]]:
    """Return the checks of each operation with those that other operations show."""
    every = [check for own in checks.values() for check in own]
    guessed = {}
    for operation, own in checks.items():
        beside = [other for other in checks if is_beside(operation, other)]
        known = KnownOperation(scopes, operation, classes[operation], own, every, beside)
        for guess in _GUESSES:
            # No guess refuses what the bank has accepted.
            known.guesses += [one for one in guess(known) if not known.accepts(one.condition.source)]
        corrected = [accept_correction(known, check) for check in (*own, *known.guesses)]
        guessed[operation] = order(scopes, operation, corrected)
    return guessed


def _guess_mistakes(known: KnownOperation) -> Iterator[LearnedCheck]:
    """A mistake is answered like the same mistake elsewhere."""
    is_page = any(one.text or one.status in (302, 303) for one in known.oks)
    taken = list(known.conditions)
    for condition in known.mistakes:
        if any(_is_same_matter(condition, one) for one in taken) or (
            is_page and condition.place[:1] in (("form",), ("query",))
        ):
            continue
        if any(known.scopes.holds(condition.source, one) for one in _accepted(known, condition)):
            continue
        if known.accepts_beside(condition):
            continue
        if condition.kind == "missing" and (_is_remark(known, condition) or _ends_period(condition)):
            continue
        donor = _donor(known, condition)
        is_missing = condition.kind == "missing" and condition.place[0] == "query"
        if donor and is_missing and (donor.condition.kind != "missing" or donor.condition.place[0] != "query"):
            # Most filters are optional.
            continue
        if condition.kind == "missing" and _is_filter(known, condition):
            continue
        if condition.kind == "word" and condition.place[0] == "query":
            # A filter has more words than one recording shows.
            continue
        if donor and _is_relevant(known, condition):
            taken.append(condition)
            yield donor.guess(condition, instead(donor, condition))


def _guess_beside(known: KnownOperation) -> Iterator[LearnedCheck]:
    """Another product of the same kind has the same members, with the same forms."""
    taken = [check.condition for check in known.checks]
    for check in (one for one in known.every if one.answer.operation in known.beside):
        condition = check.condition
        is_form = condition.kind in _FORMS and condition.is_of_body
        if is_form and not any(_is_same_matter(condition, one) for one in taken):
            yield check.guess(condition)


def _is_remark(known: KnownOperation, condition: Condition) -> bool:
    """Return whether a member is free text next to numbers or ids, such as a payment's purpose. It is optional."""
    if condition.place[0] != "body" or not isinstance(known.oks[0].body, Mapping):
        return False
    if any(one.condition.kind == "missing" and one.condition.place[0] == "body" for one in known.checks):
        return False
    above = value_at({"body": known.oks[0].body}, condition.place[:-1])
    texts = [value for one in known.oks if isinstance(value := one.at(condition.place), str)]
    has_amount = any(isinstance(inner, int | Decimal) or read_number(inner) is not None for inner in above.values())
    return (
        bool(texts)
        and has_amount
        and all(re.search(r"[a-z]", text) and not known.scopes.world.ids.has(text) for text in texts)
    )


def _is_filter(known: KnownOperation, condition: Condition) -> bool:
    """Return whether a member of the body chooses from a list, such as the size of a page."""
    documents = [one.document for one in known.oks if isinstance(one.document, Mapping)]
    shows_list = any(isinstance(value, list) for document in documents for value in document.values())
    named = [lookup.place for lookup in known.lookups]
    is_main = condition.place[0] == "body" and len(condition.place) == 2 and condition.place not in named
    is_value = not any(isinstance(one.at(condition.place), Mapping) for one in known.oks)
    return shows_list and is_main and is_value and not known.scopes.world.made_by(known.operation)


def _ends_period(condition: Condition) -> bool:
    """Return whether a parameter is for the last day of a period, which is today if it is missing."""
    return condition.place[0] == "query" and is_last_day(condition.place)


def _is_same_matter(condition: Condition, other: Condition) -> bool:
    if condition.source == other.source:
        return True
    return condition.kind == other.kind and condition.place == other.place and condition.kind != "form"


def _accepted(known: KnownOperation, condition: Condition) -> list[SeenExchange]:
    """Return the requests that got past a check of this rank: good ones, and those refused by a later check."""
    late = {
        number
        for check in known.checks
        if check.condition.rank > condition.rank
        or (condition.kind == "missing" and check.condition.kind in ("state", "in state", "unknown", "limit", "cursor"))
        for number in check.shown_by
    }
    return [*known.oks, *(one for one in known.operation.seen if one.number in late)]


def _is_relevant(known: KnownOperation, condition: Condition) -> bool:
    """Return whether an operation looks at a header. Apps also send the id of an access where none is needed."""
    names_access = any(one.place == condition.place and known.scopes.machines_of(one) for one in known.lookups)
    return known.is_about_rows or not names_access or condition.place[0] != "headers"


def _donor(known: KnownOperation, condition: Condition) -> LearnedCheck | None:
    """Return a check that shows how the bank answers such a mistake."""
    required = {*known.scopes.nonces, *known.scopes.request_keys.values()}
    nearest = [check for check in (*known.checks, *known.every) if _is_like(condition, check, required)]
    if condition.kind in _FORMS and condition.place[0] != "headers":
        refused = [check for check in known.checks if check.condition.kind == "value" and find_mention(check)]
        nearest = [check for check in refused if check.condition.place == condition.place] or nearest
    exact = [check for check in nearest if check.condition.kind == condition.kind]
    same = [check for check in exact if check.condition.place == condition.place and condition.kind == "missing"]
    if same or exact or nearest:
        return (same or exact or nearest)[0]
    if condition.kind != "unknown":
        return None
    # What cannot be used twice is refused in the same way if it is unknown.
    used = (check for check in known.checks if check.condition.kind == "used")
    if found := next((check for check in used if check.condition.place == condition.place), None):
        return found
    if condition.place[0] == "form":
        own = (check for check in known.checks if check.condition.kind == "unknown")
        return next((check for check in own if check.condition.place[0] == "form"), None)
    if condition.place[0] == "headers":
        return known.find_check("missing", condition.place)
    unknown = (check for check in known.every if check.condition.kind == "unknown")
    others = [check for check in unknown if check.condition.place[0] != "form"]
    is_page = bool(known.oks) and known.oks[0].document is None

    def is_unlike(check: LearnedCheck) -> tuple[bool, bool]:
        return (check.answer.seen[0].document is None) != is_page, check.condition.place[:1] != condition.place[:1]

    nearest = sorted(others, key=is_unlike)
    is_other_media = bool(nearest) and is_unlike(nearest[0])[0]
    is_standard = _is_standard_consent(known, condition)
    if known.every and condition.place[0] == "path" and (not others or is_standard or is_other_media):
        alike = (check.answer for check in (*known.checks, *known.every) if not is_unlike(check)[0])
        like = next(alike, None) if is_other_media or not nearest else nearest[0].answer
        answer = known.invent_error(403 if is_standard else 404, "unknown", like)
        return replace(nearest[0], answer=answer) if nearest else LearnedCheck(condition, answer, (), is_guess=True)
    return next(iter(nearest), None)


def _is_standard_consent(known: KnownOperation, condition: Condition) -> bool:
    """Return whether a path names a consent of NextGenPSD2, where an unknown one gets 403 (section 14.11)."""
    named = (one for one in known.lookups if one.place == condition.place)
    return any(_CONSENT_STATE.fullmatch(machine.member) for one in named for machine in known.scopes.machines_of(one))


def _is_like(condition: Condition, check: LearnedCheck, required: Collection[Place]) -> bool:
    other = check.condition
    is_header = condition.place[:1] == ("headers",)
    if condition.kind == "short" or (condition.kind == "missing" and is_header):
        is_named = condition.place in required and other.place[:1] == ("headers",) and find_mention(check) is not None
        return other.kind == "missing" and (other.place == condition.place or is_named)
    if condition.kind == "unknown":
        is_same = other.place == condition.place if is_header else other.name == condition.name != ""
        kinds_of_places = [{("headers",), ("form",)} & {one.place[:1]} for one in (condition, other)]
        return other.kind == "unknown" and is_same and kinds_of_places[0] == kinds_of_places[1]
    if condition.kind in _FORMS:
        return other.kind in _FORMS and other.place[0] != "headers" and find_mention(check) is not None
    if condition.kind == "without":
        return other.kind == "without" and other.name == condition.name
    if condition.kind in ("ended", "over"):
        return other.kind == condition.kind and other.name == condition.name
    if condition.kind == "mismatch":
        return other.kind == "mismatch" and other.place == condition.place
    return condition.kind == other.kind == "unreadable"


_GUESSES = (
    _guess_beside,
    _guess_mistakes,
    guess_old_tokens,
    guess_preconditions,
    guess_secrets,
    guess_credentials,
    guess_rights,
    guess_scopes,
    guess_quotas,
    guess_impossible_values,
    guess_used_up,
    guess_unticked,
    guess_dropped_secret,
    guess_hidden_field,
    guess_attempts,
    guess_other_owner,
    guess_form,
    guess_used_code,
    guess_again,
    guess_repeated,
    guess_over,
    guess_states,
)
"""Each sees what those before it have guessed."""
