"""Finds when an operation gives each answer: a condition that holds for its requests and for no other."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import takewhile
from typing import Any

from xs2a_sandbox.features.derive.expression_text import literal
from xs2a_sandbox.features.derive.unknown.conditions.candidates import candidates
from xs2a_sandbox.features.derive.unknown.conditions.classes import AnswerClass
from xs2a_sandbox.features.derive.unknown.conditions.conditions import Condition, places_in
from xs2a_sandbox.features.derive.unknown.lists.repeated_rows import lists_in
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, value_at
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.redaction.rules import DEFAULT
from xs2a_sandbox.redaction.values import DROPPED, ValueRedactor

type Successes = Sequence[tuple[Condition | None, AnswerClass]]
"""The successful answers of an operation, each with its condition. The last one has none."""
_FEW_ATTEMPTS = 2
"""At least so many wrong secrets come before the last one."""
_FIRST_FORM, _LAST_FORM = 50, 55
"""The ranks of conditions on the form of members: missing, wrong, unknown word, past."""


@dataclass(frozen=True)
class LearnedCheck:
    """An error and its condition, with the numbers of the exchanges that show it. A guess was seen elsewhere.

    `instead` has texts of the error with those that replace them, so that it names another place.
    """

    condition: Condition
    answer: AnswerClass
    shown_by: tuple[int, ...]
    is_guess: bool = False
    instead: tuple[tuple[str, str], ...] = ()

    def guess(self, condition: Condition, instead: tuple[tuple[str, str], ...] = ()) -> "LearnedCheck":
        """Return this error for another condition."""
        return replace(self, condition=condition, shown_by=(), is_guess=True, instead=instead)


def find_checks(
    scopes: ExchangeScopes, operation: LearnedOperation, classes: Sequence[AnswerClass]
) -> tuple[list[LearnedCheck], list[AnswerClass]]:
    """Return the checks of an operation, and the answers for which no condition was found."""
    oks = [one for answer in classes if answer.is_ok for one in answer.seen]
    checks: list[LearnedCheck] = []
    unexplained, last_attempts = [], []
    for answer in classes:
        if answer.is_ok:
            continue
        if all(_count_attempts(scopes, one, classes) >= _FEW_ATTEMPTS for one in answer.seen):
            last_attempts.append(answer)
            continue
        if all(map(_is_about_hidden, answer.seen)):
            unexplained.append(answer)
            continue
        several = {one: _find_several(scopes, operation, answer, one, oks) for one in answer.seen}
        checks += [check for found in several.values() for check in found]
        left = [one for one, found in several.items() if not found]
        while left:
            condition = _best(scopes, operation, left, oks)
            if condition is None:
                unexplained.append(answer)
                break
            shown = [one for one in left if scopes.holds(condition.source, one)]
            checks.append(LearnedCheck(condition, answer, tuple(one.number for one in shown)))
            left = [one for one in left if one not in shown]
    checks = _tell_apart(scopes, operation, checks, oks)
    for answer in last_attempts:
        attempt = _find_last_attempt(scopes, operation, answer, classes, checks)
        checks += [attempt] if attempt else []
        unexplained += [] if attempt else [answer]
    return order(scopes, operation, checks), unexplained


def _find_several(
    scopes: ExchangeScopes,
    operation: LearnedOperation,
    answer: AnswerClass,
    one: SeenExchange,
    oks: Sequence[SeenExchange],
) -> list[LearnedCheck]:
    """Return the checks for an answer that lists several errors, each about another part of the request.

    Each error also has a check of its own: it can come alone.
    """
    rows = [(place, rows) for place, rows in lists_in(one.document) if len(rows) > 1]
    if len(rows) != 1:
        return []
    alone: list[LearnedCheck] = []
    for row in rows[0][1]:
        part = replace(one, document=_put(one.document, rows[0][0], [row]))
        scopes.world.operation_of[part] = operation
        condition = _best(scopes, operation, [part], oks)
        if condition is None or not _mentions(part, condition):
            return []
        alone.append(LearnedCheck(condition, AnswerClass(operation, False, [part], answer.name), (), is_guess=True))
    if len({check.condition.place for check in alone}) < len(alone):
        return []
    first = min((check.condition for check in alone), key=lambda condition: condition.rank)
    every = " and ".join(f"({check.condition.source})" for check in alone)
    return [LearnedCheck(replace(first, source=every, kind="several"), answer, (one.number,)), *alone]


def _put(document: Any, place: Place, value: Any) -> Any:
    """Return a document with another value at a place in its objects."""
    if not place:
        return value
    return {name: _put(inner, place[1:], value) if name == place[0] else inner for name, inner in document.items()}


def _find_last_attempt(
    scopes: ExchangeScopes,
    operation: LearnedOperation,
    answer: AnswerClass,
    classes: Sequence[AnswerClass],
    checks: Sequence[LearnedCheck],
) -> LearnedCheck | None:
    """Return the check for an answer that a wrong secret only gets after some others."""
    for check in checks:
        condition = check.condition
        is_secret = condition.kind in ("credentials", "secret")
        wrong = [one for one in answer.seen if is_secret and scopes.holds(condition.source, one)]
        lookup = next((one for one in scopes.lookups[operation] if scopes.machines_of(one)), None)
        if lookup and len(wrong) == len(answer.seen):
            most = min(_count_attempts(scopes, one, classes) for one in wrong)
            source = f"({condition.source}) and let.{lookup.name}.wrong >= {most}"
            attempts = Condition(source, 43, "attempts", condition.place, lookup.name)
            return LearnedCheck(attempts, answer, tuple(one.number for one in wrong))
    return None


def _is_about_hidden(one: SeenExchange) -> bool:
    """Return whether an error names a header of its request whose value redaction has dropped."""
    hidden = {name for name, value in one.headers.items() if value == DROPPED}
    return any(isinstance(value, str) and value.lower() in hidden for _, value in leaves(one.document))


def _tell_apart(
    scopes: ExchangeScopes, operation: LearnedOperation, checks: Sequence[LearnedCheck], oks: Sequence[SeenExchange]
) -> list[LearnedCheck]:
    """Give all but one of the errors with the same condition one that does not hold for the others, if there is one.

    The most frequent error keeps the condition, or the one that was recorded first.
    """
    apart: list[LearnedCheck] = []
    for check in checks:
        same = [other for other in checks if other.condition.source == check.condition.source]
        usual = min(same, key=lambda other: (-len(other.shown_by), other.shown_by))
        rivals = [one for other in same if other.answer is not check.answer for one in other.answer.seen]
        if rivals and check.answer is not usual.answer:
            own = [one for one in check.answer.seen if one.number in check.shown_by]
            if condition := _best(scopes, operation, own, [*oks, *rivals]):
                check = replace(check, condition=condition)
        apart.append(check)
    return apart


def order(scopes: ExchangeScopes, operation: LearnedOperation, checks: Sequence[LearnedCheck]) -> list[LearnedCheck]:
    """Order the checks as banks usually check, and so that each exchange gets its own answer."""
    places = {place: at for at, place in enumerate(places_in([one for one in operation.seen if scopes.is_ok[one]]))}
    ordered = sorted(checks, key=lambda check: _turn(check, places))
    for _ in range(len(ordered) ** 2):
        for one in operation.seen:
            own = next((at for at, check in enumerate(ordered) if one.number in check.shown_by), 0)
            wrong = next((at for at in range(own) if _takes(scopes, ordered[at], ordered[own], one)), None)
            if wrong is not None:
                ordered.insert(wrong, ordered.pop(own))
                break
        else:
            break
    return ordered


def _takes(scopes: ExchangeScopes, check: LearnedCheck, own: LearnedCheck, one: SeenExchange) -> bool:
    """Return whether an earlier check gives an exchange another answer than its own check."""
    return check.answer is not own.answer and scopes.holds(check.condition.source, one)


def _turn(check: LearnedCheck, places: Mapping[Place, int]) -> tuple[int, int, int]:
    """Return when a check has its turn. Banks check the form of one member after the other."""
    condition = check.condition
    is_form = _FIRST_FORM <= condition.rank <= _LAST_FORM
    at = places.get(condition.place, len(places))
    return (_FIRST_FORM, at, condition.rank) if is_form else (condition.rank, 0, 0)


def split_successes(
    scopes: ExchangeScopes, operation: LearnedOperation, classes: Sequence[AnswerClass]
) -> list[tuple[Condition | None, AnswerClass]]:
    """Return the successful answers with their conditions. The last one has none."""
    oks = sorted((one for one in classes if one.is_ok), key=lambda one: len(one.seen))
    found: list[tuple[Condition | None, AnswerClass]] = []
    while len(oks) > 1:
        possible, by_kind = [], []
        for answer in oks:
            others = [one for other in oks if other is not answer for one in other.seen]
            # After too many wrong secrets, a request is not answered as it asks.
            wanted = [one for one in answer.seen if _count_refused(scopes, one) < 2] or answer.seen
            if condition := _best(scopes, operation, wanted, others, is_success=True):
                possible.append((condition, answer))
            by_kind += [(condition, answer) for condition in _best_by_kind(scopes, operation, wanted, others)]
        possible = possible or by_kind
        if not possible:
            oks = [max(oks, key=lambda answer: (any(map(scopes.world.made, answer.seen)), len(answer.seen)))]
            break
        best = min(possible, key=lambda one: (one[0].rank, len(one[1].seen), _count_later(scopes, one[1])))
        found.append(best)
        oks.remove(best[1])
    return [*found, *((None, one) for one in oks)]


def _count_later(scopes: ExchangeScopes, answer: AnswerClass) -> int:
    """Return how many requests were about what was made with an answer: one that is usual leads to more."""
    return sum(len(made.events) for one in answer.seen if (made := scopes.world.made(one)))


def _best_by_kind(
    scopes: ExchangeScopes, operation: LearnedOperation, wanted: Sequence[SeenExchange], others: Sequence[SeenExchange]
) -> Iterator[Condition]:
    """Yield the best conditions that hold only for things of one kind, such as for decisions on payments."""
    for lookup in scopes.lookups[operation]:
        for kind, _ in lookup.kinds if len(lookup.kinds) > 1 else ():
            is_kind = f"let.{lookup.name}.kind == {literal(kind.name)}"
            if all(scopes.holds(is_kind, one) for one in wanted):
                same = [one for one in others if scopes.holds(is_kind, one)]
                if same and (best := _best(scopes, operation, wanted, same, is_success=True)):
                    yield replace(best, source=f"{is_kind} and ({best.source})")


def _count_refused(scopes: ExchangeScopes, one: SeenExchange) -> int:
    """Return how often the same form about the same thing was refused just before."""
    count = 0
    for _, thing in scopes.found(one) if one.form else ():
        operation = scopes.world.operation_of[one]
        before = [e for e in thing.events if e.number < one.number and scopes.world.operation_of[e] is operation]
        count = max(count, sum(1 for _ in takewhile(lambda e: not scopes.is_ok[e], reversed(before))))
    return count


def _count_attempts(scopes: ExchangeScopes, one: SeenExchange, classes: Sequence[AnswerClass]) -> int:
    """Return how often requests like this about the same thing got other errors just before."""
    operation, class_of = scopes.world.operation_of[one], {e: answer for answer in classes for e in answer.seen}
    members = _members(one)
    count = 0
    for lookup, thing in scopes.found(one):
        if lookup.place[0] != "path":
            continue
        before = [e for e in thing.events if e.number < one.number and scopes.world.operation_of[e] is operation]
        last = class_of.get(before[-1]) if before else None
        if last and not last.is_ok and last is not class_of.get(one):
            alike = (not class_of[e].is_ok and _members(e) == members for e in reversed(before) if e in class_of)
            count = max(count, sum(1 for _ in takewhile(bool, alike)))
    return count


def _members(one: SeenExchange) -> set[Place]:
    return {place for place, _ in one.slots() if place[0] in ("form", "body")}


def _best(
    scopes: ExchangeScopes,
    operation: LearnedOperation,
    wanted: Sequence[SeenExchange],
    others: Sequence[SeenExchange],
    *,
    is_success: bool = False,
) -> Condition | None:
    """Return the best condition that holds for wanted exchanges and no others. For a success, it holds for all."""
    found = []
    for condition in candidates(scopes, operation, wanted, others, is_success):
        if condition.kind == "limit" and _compares_pseudonyms(scopes, operation, condition.place, wanted):
            continue
        held = [one for one in wanted if scopes.holds(condition.source, one)]
        if not held or (is_success and len(held) < len(wanted)):
            continue
        if not any(scopes.holds(condition.source, one) for one in others):
            is_named = any(_mentions(one, condition) or _shows_state(scopes, one, condition) for one in held)
            # If an operation has no good answer, an unknown id is the first reason to think of.
            rank = 0 if condition.kind == "unknown" and not others and held[0].status == 404 else condition.rank
            found.append(((not is_named, -len(held), rank), condition))
    return min(found, key=lambda one: one[0])[1] if found else None


def _compares_pseudonyms(
    scopes: ExchangeScopes, operation: LearnedOperation, place: Place, ones: Sequence[SeenExchange]
) -> bool:
    """Return whether redaction has replaced numbers: which of them is greater depends on its key."""
    if (operation, place) in scopes.exact_amounts or not scopes.is_redacted:
        return False
    name, censor = str(place[-1]), ValueRedactor(b"-", DEFAULT)
    return any(
        censor.member(name, value) != value if isinstance(value, str) else not censor.is_harmless(name, str(value))
        for one in ones
        if isinstance(value := one.at(place), str | int | Decimal)
    )


def _shows_state(scopes: ExchangeScopes, one: SeenExchange, condition: Condition) -> bool:
    """Return whether the answer has the state that the condition is about."""
    state = scopes.value(f"let.{condition.name}.state", one, after=False) if condition.is_of_state else None
    texts = [value for _, value in leaves(one.document) if isinstance(value, str)]
    return isinstance(state, str) and any(state == text or state in re.findall(r"[\w-]+", text) for text in texts)


def _mentions(one: SeenExchange, condition: Condition) -> bool:
    """Return whether the answer names the place that the condition is about. A whole path excludes others."""
    if not condition.place:
        return False
    told = [value for _, value in leaves(one.document) if isinstance(value, str)]
    paths = [path for value in told if len(path := _read_path(value)) > 1 and value_at({"body": one.body}, path)]
    if paths and condition.place[0] == "body":
        steps = tuple(step for step in condition.place if isinstance(step, str))
        return any(steps[: len(path)] == path for path in paths)
    name = str(next((step for step in reversed(condition.place) if isinstance(step, str)), ""))
    word = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
    return len(name) > 1 and re.search(word, " ".join(told), re.IGNORECASE) is not None


def _read_path(text: str) -> tuple[str, ...]:
    """Return the steps to a member of the body that an error names: `to.iban`, `body.to.iban` or `/to/iban`."""
    steps = tuple(step for step in re.split(r"[./:]", text.removeprefix("$")) if step)
    return ("body", *steps[steps[:1] == ("body",) :]) if re.search("[./:]", text) and " " not in text else ()
