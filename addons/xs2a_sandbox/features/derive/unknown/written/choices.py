"""Words in requests on which the next state depends: a decision, the wanted state, or a choice that a page offers."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

from xs2a_sandbox.features.derive.expression_text import expression, literal
from xs2a_sandbox.features.derive.unknown.conditions.classes import AnswerClass
from xs2a_sandbox.features.derive.unknown.interface import LearnedInterface
from xs2a_sandbox.features.derive.unknown.recorded.names import is_id
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, value_at
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes
from xs2a_sandbox.features.derive.unknown.states.machines import StateMachine, changes_by
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.redaction.values import DROPPED
from xs2a_sandbox.redaction.vocabulary import is_words

_WORD = re.compile("[A-Za-z_-]{1,20}")


def find_asked_state(answer: AnswerClass, machines: Sequence[StateMachine]) -> Place | None:
    """Return the place in the body of the request that always has the new state."""
    changes = [change for machine in machines for change in machine.by_request if change.one in answer.seen]
    bodies = [(change.one.body, change.after) for change in changes]
    for place, _ in leaves(bodies[0][0]) if bodies else ():
        if place and all(value_at(body, place) == after for body, after in bodies):
            return place
    return None


def find_choice(
    scopes: ExchangeScopes, operation: LearnedOperation, answer: AnswerClass, machines: Sequence[StateMachine]
) -> tuple[Place, Mapping[str, Sequence[SeenExchange]]] | None:
    """Return the place of a word on which the next state depends, such as a decision, and the requests by this word.

    One change of each of two things is enough if the requests differ in nothing but this word.
    """
    named = {machine.kind: machine for lookup in scopes.lookups[operation] for machine in scopes.machines_of(lookup)}
    changed, every = changes_by(answer.seen, machines), changes_by(answer.seen, list(named.values()))
    for place, _ in every[0][0].slots() if every else ():
        words = [one.at(place) for one in answer.seen]
        are_words = all(isinstance(word, str) and _WORD.fullmatch(word) for word in words)
        if place[0] not in ("form", "body") or not are_words:
            continue
        states: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for one, thing, state in changed:
            states[thing.kind.name][str(one.at(place))].add(str(state))
        own = [list(by_word.values()) for by_word in states.values()]
        is_told = all(one.isdisjoint(other) for sets in own for one, other in combinations(sets, 2))
        is_told &= any(len(sets) > 1 for sets in own) and len(set(words)) < len(changed)
        if is_told or _differ_only_in(place, [one for one, _, _ in every]):
            return place, {word: [one for one in answer.seen if one.at(place) == word] for word in dict.fromkeys(words)}
    return None


def _differ_only_in(place: Place, ones: Sequence[SeenExchange]) -> bool:
    """Return whether several requests differ in the word at a place, and have the same values at the others."""
    places = dict.fromkeys(other for one in ones for other, _ in one.slots() if other[0] in ("form", "body"))
    return len({str(one.at(place)) for one in ones}) > 1 and all(
        len({str(one.at(other)) for one in ones}) == 1 for other in places if other != place
    )


def find_other_choice(learned: LearnedInterface, operation: LearnedOperation, answer: AnswerClass) -> str | None:
    """Return the condition that the customer has chosen what the page offers and the recording does not show."""
    if decided := _other_decision(learned, operation):
        return decided
    pages = [
        one
        for other in learned.world.operations
        if other.pattern == operation.pattern
        for one in other.seen
        if one.text
    ]
    are_notes = any(one.is_note for one in pages)
    forms = [one.form for own in learned.classes[operation] if own.is_ok for one in own.seen if one.form]
    for name in answer.seen[0].form or {}:
        pattern = rf'name="{re.escape(name)}" value="([^"]+)"'
        offered = {value for one in pages for value in re.findall(pattern, one.text)}
        chosen = {form[name] for form in forms if name in form}
        word = next(iter(chosen), "")
        if not are_notes and chosen == offered == {word} and re.fullmatch("[A-Za-z_-]+", word) and not is_id(word):
            return f"(form[{literal(name)}] or {literal(word)}) != {literal(word)}"
        if are_notes and len(chosen) == 1 and chosen != {DROPPED} and is_words(word):
            return f"(form[{literal(name)}] or {literal(word)}) != {literal(word)}"
        if chosen and chosen < offered and not any(map(is_id, offered)) and len(offered) == 2:
            return f"form[{literal(name)}] in {literal(sorted(offered - chosen))}"
        elsewhere = _offered_elsewhere(learned, operation, name)
        if not offered and elsewhere and len(chosen) == 1 and word not in elsewhere and _WORD.fullmatch(word):
            return f"(form[{literal(name)}] or {literal(word)}) != {literal(word)}"
    return None


def _offered_elsewhere(learned: LearnedInterface, operation: LearnedOperation, name: str) -> set[str]:
    """Return the words of the buttons with a name on other pages, if the customer chooses with them."""
    pages = [one for other in learned.world.operations if other.pattern != operation.pattern for one in other.seen]
    words = {
        word for one in pages for word in re.findall(rf'<button name="{re.escape(name)}" value="([^"]+)"', one.text)
    }
    return words if len(words) > 1 and not any(map(is_id, words)) else set()


def _other_decision(learned: LearnedInterface, operation: LearnedOperation) -> str | None:
    """Return the condition that a request without a page has another word than all that the bank has accepted."""
    oks = [one for own in learned.classes[operation] if own.is_ok for one in own.seen]
    changed = [change for machine in learned.scopes.machines.values() for change in machine.by_request]
    after = {str(change.after) for change in changed if learned.world.operation_of[change.one] is operation}
    bodies = [one.body for one in oks if isinstance(one.body, dict)]
    if len(bodies) < len(oks) or (len({str(body) for body in bodies}) < 2 and len(oks) < 2) or len(after) < 2:
        return None
    for name, word in bodies[0].items():
        is_word = isinstance(word, str) and word != DROPPED and re.fullmatch("[A-Za-z]{1,10}", word)
        # A pseudonym is not the bank's word.
        is_known = is_word and (is_words(word) or not learned.scopes.is_redacted)
        if is_known and word not in after and all(body.get(name) == word for body in bodies):
            source = expression("body", (name,))
            return f"({source} or {literal(word)}) != {literal(word)}"
    return None
