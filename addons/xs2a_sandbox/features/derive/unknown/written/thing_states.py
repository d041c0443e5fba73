"""Writes the states that requests give to things: the first one, and the next ones."""

from collections.abc import Iterator, KeysView, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced, expression, literal
from xs2a_sandbox.features.derive.unknown.conditions.checks import Successes
from xs2a_sandbox.features.derive.unknown.conditions.classes import AnswerClass
from xs2a_sandbox.features.derive.unknown.conditions.sent_words import telling_words
from xs2a_sandbox.features.derive.unknown.interface import LearnedInterface
from xs2a_sandbox.features.derive.unknown.recorded.forms import NICE, is_amount, number_source, read_number
from xs2a_sandbox.features.derive.unknown.recorded.places import anywhere, leaves, source_of, value_at
from xs2a_sandbox.features.derive.unknown.recorded.seen import REDIRECTS, SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes
from xs2a_sandbox.features.derive.unknown.states.machines import ByRequest, StateMachine, changes_by
from xs2a_sandbox.features.derive.unknown.states.products import find_shared
from xs2a_sandbox.features.derive.unknown.states.state_words import guess_word, write_in_style
from xs2a_sandbox.features.derive.unknown.things.lookups import ThingLookup
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import LearnedThing
from xs2a_sandbox.features.derive.unknown.written.choices import (
    find_asked_state,
    find_choice,
    find_other_choice,
)
from xs2a_sandbox.redaction.vocabulary import is_words


def write_first_state(scopes: ExchangeScopes, machine: StateMachine, oks: Successes) -> Any:
    """Return the state of a new thing. That of a payment of a later day can be another one."""
    things = machine.kind.things
    firsts = [(thing.created.body, thing.first) for thing in things if isinstance(thing.created.body, dict)]
    source = literal(machine.first)
    for state in dict.fromkeys(first for _, first in firsts if first not in (None, machine.first)):
        mine = [body for body, first in firsts if first == state]
        theirs = [body for body, first in firsts if first != state]
        uncovered = (one.condition for one in machine.uncovered if one.before is None and one.after == state)
        for is_so in (*uncovered, *tell_apart(scopes, mine, theirs, "body")):
            source = f"{literal(state)} if {is_so} else {source}"
            break
    for _, answer in oks if source == literal(machine.first) else ():
        told = {thing.first for thing in things if thing.created in answer.seen} - {None}
        if len(told) == 1 and told != {machine.first}:
            source = f"{literal(told.pop())} if let.outcome == {literal(answer.name)} else {source}"
    if source == literal(machine.first) and not scopes.is_redacted:
        source = _by_amount(machine.first, firsts) or source
    return braced(source) if source != literal(machine.first) else machine.first


def _by_amount(first: Any, firsts: Sequence[tuple[Any, Any]]) -> str | None:
    """Return the state of a new thing if the amounts of those with another state are all greater, or all smaller."""
    told = [(body, state) for body, state in firsts if state is not None]
    others = {state for _, state in told if state != first}
    for place, value in leaves(told[0][0]) if len(others) == 1 else ():
        numbers = [read_number(value_at(body, place)) for body, _ in told]
        own = [number for number, (_, state) in zip(numbers, told, strict=True) if number and state == first]
        other = [number for number, (_, state) in zip(numbers, told, strict=True) if number and state != first]
        if not is_amount(str(value)) or not all(numbers) or not own:
            continue
        for low, high, sign in ((own, other, ">="), (other, own, "<")):
            if max(low) < min(high):
                limit = max((nice for nice in NICE if max(low) < nice <= min(high)), default=min(high))
                amount = number_source(value, expression("body", place))
                return f"{literal(others.pop())} if ({amount} or 0) {sign} {limit.normalize():f} else {literal(first)}"
    return None


def write_changed(
    learned: LearnedInterface,
    operation: LearnedOperation,
    lookup: ThingLookup,
    oks: Successes,
    errors: Mapping[str, str],
) -> dict[str, Any]:
    """Return the members of a thing that change with a request. `errors` are the states after errors, by outcome."""
    scopes = learned.scopes
    machines = scopes.machines_of(lookup)
    is_main = lookup.place[0] == "path" or not any(one.place[0] == "path" for one in scopes.lookups[operation])
    changes_state = any(scopes.changes_by(operation, machine) for machine in machines)
    name = f"let.{lookup.name}"
    ok_names = literal([answer.name for _, answer in oks])
    if any(operation in scopes.endings.get(kind, ()) for kind, _ in lookup.kinds):
        return {"ended": braced(f"let.outcome in {ok_names}")}
    if lookup.rows or not is_main or (lookup.owned and not changes_state):
        return {}
    state = f"{name}.state"
    for outcome, word in errors.items():
        state = f"{word} if let.outcome == {literal(outcome)} else {state}"
    for _, answer in oks:
        if next_word := _next_state(learned, operation, answer, machines, name):
            state = f"{next_word} if let.outcome == {literal(answer.name)} else {state}"
    after: dict[str, Any] = {}
    for change in (change for machine in machines for change in machine.by_reading):
        if scopes.world.operation_of[change.one] is operation:
            at = f"{name}.state == {literal(change.before)} and let.outcome in {ok_names}"
            after["reads"] = braced(f"{name}.reads + 1 if {at} else {name}.reads")
            state = f"{literal(change.after)} if {at} and {name}.reads + 1 >= {change.reads} else {state}"
    forms = [answer.name for _, answer in oks if any(one.form for one in answer.seen)]
    bodies = [answer.name for _, answer in oks if any(isinstance(one.body, dict) for one in answer.seen)]
    entered = {"form": forms, "body": bodies if changes_state else []}
    if any(entered.values()):
        sent = (f"{root} if let.outcome in {literal(names)} else none" for root, names in entered.items() if names)
        after["entered"] = {"merge": [braced(f"{name}.entered"), *map(braced, sent)]}
    if state != f"{name}.state":
        after["state"] = braced(state)
    for machine in machines:
        uncovered = write_uncovered(scopes, operation, machine)
        if uncovered and operation is not machine.kind.made_by:
            after["uncovered"] = uncovered
    return after


def _next_state(
    learned: LearnedInterface,
    operation: LearnedOperation,
    answer: AnswerClass,
    machines: Sequence[StateMachine],
    name: str,
) -> str | None:
    """Return the state to which an answer leads, as an expression. None: it changes no state."""
    if place := find_asked_state(answer, machines):
        word: str | None = expression("body", place)
    elif choice := find_choice(learned.scopes, operation, answer, machines):
        chosen, groups = choice
        words = {text: _state_chosen(learned.scopes, ones, machines, name) for text, ones in groups.items()}
        cases = (f"{state} if {source_of(chosen)} == {literal(text)}" for text, state in words.items())
        usual = max(groups, key=lambda text: len(groups[text]))
        # A word that has a pseudonym in the recording is likely to be the usual one.
        last = words[usual] if learned.scopes.is_redacted and not is_words(usual) else f"{name}.state"
        word = f"({' else '.join(cases)} else {last})"
    else:
        word = state_after(learned.scopes, answer.seen, machines, name)
    if word is None and (declines := _decline(learned, operation, answer, machines)):
        return f"({literal(declines)}[{name}.kind] or {name}.state)"
    if word and (other := find_other_choice(learned, operation, answer)):
        declined = {one.kind.name: guess_word("declined", one) for one in machines}
        word = f"({literal(declined)}[{name}.kind] if {other} else {word})"
    return word


def _state_chosen(
    scopes: ExchangeScopes, ones: Sequence[SeenExchange], machines: Sequence[StateMachine], name: str
) -> str:
    """Return the state after requests with one word. If nothing shows it, it is that of what the things are about."""
    others = (state for other, state in _others_changed(scopes, ones, machines) if isinstance(state, str))
    if word := state_after(scopes, ones, machines, name):
        return word
    guess = next(others, None)
    return f"{name}.state" if guess is None else literal(write_in_style(guess, machines[0]))


def state_after(
    scopes: ExchangeScopes, ones: Sequence[SeenExchange], machines: Sequence[StateMachine], name: str
) -> str | None:
    """Return the state after requests such as these, by kind of thing."""
    words = _next_words(scopes, ones, machines)
    if not words:
        return None
    if len(set(map(str, words.values()))) == 1 and len(words) == len(machines):
        word = literal(next(iter(words.values())))
    else:
        word = f"({literal(words)}[{name}.kind] or {name}.state)"
    for machine in machines:
        for is_so, after in _states_by_member(scopes, ones, machine, words.get(machine.kind.name), f"{name}.sent"):
            word = f"({literal(after)} if {name}.kind == {literal(machine.kind.name)} and {is_so} else {word})"
    return word


def _next_words(
    scopes: ExchangeScopes, ones: Sequence[SeenExchange], machines: Sequence[StateMachine]
) -> dict[str, Any]:
    """Return the states after requests, by kind of thing. What one kind shows is a guess for the others.

    A better guess is what has changed a thing together with another one, such as its challenge, that changes as here.
    """
    words: dict[str, Any] = {}
    for machine in machines:
        if usual := _find_usual([change for change in machine.by_request if change.one in ones], machine):
            words[machine.kind.name] = usual.after
    for _, thing, state in changes_by(ones, machines):
        words.setdefault(thing.kind.name, state)
    for machine in machines:
        others = _others_changed(scopes, ones, [machine])
        for change in machine.by_request:
            if not others.isdisjoint(_others_changed(scopes, [change.one], [machine])):
                words.setdefault(machine.kind.name, change.after)
        shared = find_shared(scopes.world, scopes.machines, machine, ones) if machine.kind.name not in words else None
        words |= {machine.kind.name: shared} if shared is not None else {}
    known = next(iter(words.values()), None)
    for machine in machines if isinstance(known, str) else ():
        if machine.kind.name not in words and all(isinstance(word, str) for word in machine.words):
            words[machine.kind.name] = write_in_style(str(known), machine)
    return words


def _find_usual(changes: Sequence[ByRequest], machine: StateMachine) -> ByRequest | None:
    """Return the first change that does not happen only to things with one more member, such as a later day."""
    bodies = {
        change.number: {anywhere(place) for place, _ in leaves(thing.created.body)}
        for thing in machine.kind.things
        for change in thing.changes
    }

    def has_more(change: ByRequest, other: ByRequest) -> bool:
        mine, theirs = (bodies.get(one.one.number, set()) for one in (change, other))
        return change.after != other.after and mine > theirs

    same = [one for one in changes if one.before == changes[0].before]
    return next((one for one in same if not any(has_more(one, other) for other in same)), None)


def _others_changed(
    scopes: ExchangeScopes, ones: Sequence[SeenExchange], machines: Sequence[StateMachine]
) -> KeysView[tuple[str, Any]]:
    """Return the kinds and new states of what else these requests have changed."""
    others = [machine for machine in scopes.machines.values() if machine not in machines]
    return {(thing.kind.name, state): None for _, thing, state in changes_by(ones, others)}.keys()


def _decline(
    learned: LearnedInterface, operation: LearnedOperation, answer: AnswerClass, machines: Sequence[StateMachine]
) -> dict[str, Any]:
    """Return, as a guess, the state after a decision that was only recorded for things of other kinds.

    The other decision has changed things of this kind, so this one declines them.
    """
    changed = [change.one for machine in machines for change in learned.scopes.changes_by(operation, machine)]
    leads_on = any(one.answer_headers.get("location", "").startswith("/") for one in answer.seen)
    is_decision = answer.status in REDIRECTS and not leads_on and any(one.status in REDIRECTS for one in changed)
    return {machine.kind.name: guess_word("declined", machine) for machine in machines} if is_decision else {}


def _states_by_member(
    scopes: ExchangeScopes, ones: Sequence[SeenExchange], machine: StateMachine, usual: Any, sent: str
) -> Iterator[tuple[str, Any]]:
    """Yield the states after requests that are not the usual one, with what is true only for things that get it."""
    changed = [
        (thing.created.body, _find_start(scopes, machine, thing, one, sent.removesuffix(".sent")), state)
        for one, thing, state in changes_by(ones, [machine])
        if isinstance(thing.created.body, dict)
    ]
    starts = {start for _, start, _ in changed}
    for start, after in dict.fromkeys((start, state) for _, start, state in changed if state != usual):
        mine = [body for body, begin, state in changed if (begin, state) == (start, after)]
        theirs = [body for body, begin, state in changed if begin == start and state != after]
        uncovered = (one.condition for one in machine.uncovered if one.one in ones and one.after == after)
        told = chain(uncovered, tell_apart(scopes, mine, theirs, sent) if theirs else [start])
        guard = f"{start} and " if theirs and len(starts) > 1 else ""
        yield from ((guard + is_so, after) for is_so in islice(told, 1))
    yield from ((one.condition, one.after) for one in machine.uncovered if one.is_guess and one.one in ones)


def _find_start(
    scopes: ExchangeScopes, machine: StateMachine, thing: LearnedThing, one: SeenExchange, name: str
) -> str:
    """Return what tells where a request finds a thing: the page of its cancellation, or else the state before."""
    for use, named in scopes.world.named(one):
        if named is thing and use.place[0] == "path" and thing.kind.is_told_late(use.key):
            return f"{source_of(use.place)} == {expression(name, (use.key,))}"
    earlier = [change.state for change in thing.changes if change.number < one.number]
    first = machine.first if thing.first is None else thing.first
    return f"{name}.state == {literal(earlier[-1] if earlier else first)}"


def write_uncovered(scopes: ExchangeScopes, operation: LearnedOperation, machine: StateMachine) -> Any:
    """Return whether a balance does not cover a thing, which only shows later."""
    for one in machine.uncovered:
        if one.seconds and scopes.world.operation_of[one.one] is operation:
            return braced(one.condition)
    return False


def tell_apart(scopes: ExchangeScopes, mine: Sequence[Any], theirs: Sequence[Any], source: str) -> Iterator[str]:
    """Yield what is true only for some requests: they have a member, such as a date, or a word, such as `instant`."""
    having, *others = (dict(leaves(body)) for body in mine)
    lacking = [dict(leaves(body)) for body in theirs]
    for place in having:
        if all(place in body for body in others) and not any(place in body for body in lacking):
            yield f"{expression(source, place)} is not none"
    words = telling_words(mine, theirs, is_redacted=scopes.is_redacted)
    yield from (f"{expression(source, place)} == {literal(word)}" for place, word in words)
