"""A guess: in a state that the recording does not show, an answer has only what it has in every state."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from xs2a_sandbox.features.derive.expression_text import literal
from xs2a_sandbox.features.derive.unknown.conditions.checks import Successes
from xs2a_sandbox.features.derive.unknown.conditions.classes import AnswerClass, is_link
from xs2a_sandbox.features.derive.unknown.conditions.conditions import Condition
from xs2a_sandbox.features.derive.unknown.recorded.forms import date_form
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes
from xs2a_sandbox.features.derive.unknown.states.machines import changes_by
from xs2a_sandbox.features.derive.unknown.things.lookups import ThingLookup
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation

_REASON = "what the answers in all recorded states have"
AS_MADE, AS_CHANGED = "the answer that made it", "the answer to the request that changed it"


def add_unseen_state(
    scopes: ExchangeScopes,
    operation: LearnedOperation,
    oks: Successes,
    classes: Mapping[LearnedOperation, Sequence[AnswerClass]],
) -> Successes:
    """Return the successes of an operation that reads a thing, with one for other states than the recorded ones.

    If it was only read in one state, the members that others have only in some states count as those of this state. In
    its first state, a thing is shown as in the answer that made it, if this has all that the others have, and in a
    later state as in the answer to the request that led to it.
    """
    found = _find_shown(scopes, operation)
    if found is None:
        return oks
    lookup, shown = found
    states = _states(scopes, lookup, shown)
    if made := _find_made(scopes, lookup, shown, states, classes):
        first = scopes.machines[lookup.kinds[0][0]].first
        source = f"let.{lookup.name}.state == {literal(first)}"
        oks = [(Condition(source, 31, "in state", lookup.place, lookup.name), made), *oks]
        states = [*states, first]
    for state, changed in _find_changed(scopes, operation, lookup, shown, classes):
        source = f"let.{lookup.name}.state == {literal(state)}"
        oks = [(Condition(source, 31, "in state", lookup.place, lookup.name), changed), *oks]
        states = [*states, state]
    documents = [one.document for one in shown]
    sent = [member for one in shown for member in _sent(scopes, lookup, one)]
    bound = _find_bound(scopes) | _find_days(scopes, lookup, shown, states[0]) if len(states) == 1 else set()
    like = []
    for one, document in zip(shown, _keep_common(documents, sent, bound), strict=True):
        like.append(replace(one, document=document))
        scopes.world.operation_of[like[-1]] = operation
        scopes.extra[like[-1]] = scopes.extra.get(one, {})
    if [one.document for one in like] == documents:
        return oks
    soon = {word: None for machine in scopes.machines_of(lookup) for word in machine.soon_after(states)}
    source = f"let.{lookup.name}.state not in {literal([*states, *soon])}"
    condition = Condition(source, 31, "in state", lookup.place, lookup.name)
    return [(condition, AnswerClass(operation, True, like, "unseen-state", _REASON)), *oks]


def _find_made(
    scopes: ExchangeScopes,
    lookup: ThingLookup,
    shown: Sequence[SeenExchange],
    states: Sequence[Any],
    classes: Mapping[LearnedOperation, Sequence[AnswerClass]],
) -> AnswerClass | None:
    """Return the answer that makes a thing, or None if another recorded answer shows its first state."""
    kind = lookup.kinds[0][0]
    own = [answer for answer in classes[kind.made_by] if any(map(scopes.world.made, answer.seen))]
    if len(lookup.kinds) > 1 or scopes.machines[kind].first in states or not own:
        return None
    made = max(own, key=lambda answer: len(answer.seen))
    # Only links are for the first state alone, and what the app has not sent can come later. Otherwise, the answers
    # show other sides of the thing.
    members = list(_members(made.seen[0].document))
    names = {name for name, value in members if not _leads_elsewhere(value)}
    sent = {name for one in shown for name, _ in _sent(scopes, lookup, one)} - names
    others = [{name for name, _ in _members(one.document)} for one in shown]
    is_alike = all(names <= other and sent.isdisjoint(other) for other in others)
    return replace(made, name="as-made", like=AS_MADE) if is_alike and len(names) > 1 else None


def _find_changed(
    scopes: ExchangeScopes,
    operation: LearnedOperation,
    lookup: ThingLookup,
    shown: Sequence[SeenExchange],
    classes: Mapping[LearnedOperation, Sequence[AnswerClass]],
) -> Iterator[tuple[Any, AnswerClass]]:
    """Yield answers with the states in which a thing was not read: requests to its own path have led to these.

    Such an answer has all that the others have.
    """
    if len(lookup.kinds) > 1:
        return
    found = set(_states(scopes, lookup, shown))
    common = set.intersection(*({name for name, _ in _members(one.document)} for one in shown))
    beside = [other for other in classes if other.pattern == operation.pattern]
    for answer in (answer for other in beside for answer in classes[other] if answer.is_ok):
        for one, _, state in changes_by(answer.seen, [scopes.machines[lookup.kinds[0][0]]]):
            names = {name for name, _ in _members(one.document)}
            if common <= names and len(common) > 1 and state not in found:
                found.add(state)
                told = replace(one, method=operation.method, body=None, form=None, has_json=False)
                scopes.world.operation_of[told] = operation
                name = f"as-{answer.operation.method.lower()}"
                yield state, AnswerClass(operation, True, [told], name, AS_CHANGED)


def _leads_elsewhere(value: Any) -> bool:
    if isinstance(value, Mapping):
        return bool(value) and all(map(_leads_elsewhere, value.values()))
    return isinstance(value, str) and is_link(value)


def _find_shown(
    scopes: ExchangeScopes, operation: LearnedOperation
) -> tuple[ThingLookup, Sequence[SeenExchange]] | None:
    """Return the thing whose state an operation shows and does not change, and its answers."""
    if scopes.world.made_by(operation):
        return None
    for lookup in scopes.lookups[operation]:
        machines = scopes.machines_of(lookup)
        shown = [one for one in operation.seen if scopes.is_ok[one] and isinstance(one.document, Mapping)]
        names = {name for one in shown for name, _ in _members(one.document)}
        shows = shown and any(machine.member in names for machine in machines)
        if shows:
            return None if any(scopes.changes_by(operation, machine) for machine in machines) else (lookup, shown)
    return None


def _states(scopes: ExchangeScopes, lookup: ThingLookup, shown: Sequence[SeenExchange]) -> list[Any]:
    return list(dict.fromkeys(scopes.value(f"let.{lookup.name}.state", one) for one in shown))


def _sent(scopes: ExchangeScopes, lookup: ThingLookup, one: SeenExchange) -> Iterator[tuple[str, Any]]:
    for other, thing in scopes.found(one):
        if other is lookup:
            yield from _members(thing.created.body)


def _find_bound(scopes: ExchangeScopes) -> set[str]:
    """Return the members that answers of any operation have only in some states."""
    bound: set[str] = set()
    for operation in scopes.world.operations:
        if found := _find_shown(scopes, operation):
            lookup, shown = found
            sent = {name for one in shown for name, _ in _sent(scopes, lookup, one)}
            names: list[set[str]] = [{name for name, _ in _members(one.document)} for one in shown]
            bound |= {name for name in set[str]().union(*names) - sent if not all(name in one for one in names)}
    return bound - {machine.member for machine in scopes.machines.values()}


def _find_days(scopes: ExchangeScopes, lookup: ThingLookup, shown: Sequence[SeenExchange], state: Any) -> set[str]:
    """Return the members with a day that is likely to be that of the only recorded state, such as `settlementDate`.

    Consents have days that are not about their states.
    """
    if not all(
        scopes.world.is_payment(machine.kind) and state != machine.first for machine in scopes.machines_of(lookup)
    ):
        return set()
    members = [(name, date_form(value)) for one in shown for name, value in _members(one.document)]
    sent = {name for one in shown for name, _ in _sent(scopes, lookup, one)}
    return {name for name, form in members if form and not form.has_time} - sent


def _members(document: Any) -> Iterator[tuple[str, Any]]:
    for name, value in document.items() if isinstance(document, Mapping) else ():
        yield name, value
        yield from _members(value)


def _keep_common(documents: Sequence[Any], sent: Sequence[tuple[str, Any]], bound: set[str]) -> list[Any]:
    """Return documents with the members that all of them have and that are not `bound`, or that the app has `sent`."""
    if all(isinstance(document, Mapping) for document in documents):
        kept: list[Any] = [{} for _ in documents]
        for name in dict.fromkeys(name for document in documents for name in document):
            having = [at for at, document in enumerate(documents) if name in document]
            is_common = len(having) == len(documents) and name not in bound
            if is_common or (name, documents[having[0]][name]) in sent:
                inner = _keep_common([documents[at][name] for at in having], sent, bound)
                for at, value in zip(having, inner, strict=True):
                    kept[at][name] = value
        return kept
    words = [_words(document) for document in documents]
    if all(words):
        common = set.intersection(*(set(own) for own in words))
        return [[own[word] for word in own if word in common] for own in words]
    return list(documents)


def _words(entries: Any) -> dict[str, Any]:
    """Return the entries of a list of links by their words."""
    found = {}
    for entry in entries if isinstance(entries, list) else ():
        texts = [text for text in entry.values() if isinstance(text, str)] if isinstance(entry, Mapping) else []
        word = next((text for text in texts if not is_link(text)), None)
        if word is None or not any(map(is_link, texts)):
            return {}
        found[word] = entry
    return found
