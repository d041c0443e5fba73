"""Writes one operation: it finds the things, decides the outcome, answers it, and stores what has changed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced, expression, literal
from xs2a_sandbox.features.derive.unknown.conditions.checks import LearnedCheck, Successes, split_successes
from xs2a_sandbox.features.derive.unknown.conditions.credentials import find_attempt, store_secret
from xs2a_sandbox.features.derive.unknown.guesses.unseen_states import AS_CHANGED, AS_MADE, add_unseen_state
from xs2a_sandbox.features.derive.unknown.interface import LearnedInterface
from xs2a_sandbox.features.derive.unknown.lists.balances import balance_lets, payer_lets
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import AFTER, AGAIN, TICKED
from xs2a_sandbox.features.derive.unknown.states.state_words import guess_word
from xs2a_sandbox.features.derive.unknown.things.lookups import ThingLookup
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import ThingKind
from xs2a_sandbox.features.derive.unknown.written.answers import adopt_answer, show_thing, write_answer, write_page
from xs2a_sandbox.features.derive.unknown.written.lists import listing_lets
from xs2a_sandbox.features.derive.unknown.written.missing_members import join_missing
from xs2a_sandbox.features.derive.unknown.written.prompts import write_prompts
from xs2a_sandbox.features.derive.unknown.written.thing_entries import write_thing_entries
from xs2a_sandbox.features.derive.unknown.written.thing_states import state_after, write_changed
from xs2a_sandbox.features.derive.unknown.written.things import (
    LATEST,
    NAMES,
    collection,
    write_again,
    write_lookup,
    write_new,
)
from xs2a_sandbox.wording import say_count

PAGES = "sca"
"""The sandbox has pages of its own below this word. Only rules come before them."""
_MOST_SHOWN = 8
_TO_BE_SURE = "record such a request to be sure"


@dataclass(frozen=True)
class WrittenOperation:
    """An operation or a rule, and in words which exchanges show it."""

    value: Mapping[str, Any]
    evidence: Sequence[str]

    @property
    def section(self) -> str:
        return "rules" if "match" in self.value else "operations"


def write_operation(learned: LearnedInterface, operation: LearnedOperation) -> WrittenOperation:
    scopes = learned.scopes
    checks, missing = join_missing(learned.checks[operation])
    split = split_successes(scopes, operation, learned.classes[operation])
    oks = add_unseen_state(scopes, operation, split, learned.classes)
    names = _outcome_names(checks)
    is_page = not oks and bool(operation.seen[0].text) and operation.method == "GET"
    lets = {**_write_lets(learned, operation, oks), **missing}
    made = learned.world.made_by(operation)
    key = scopes.request_keys.get(operation)
    if made and key:
        lets[AGAIN] = write_again(made, key)
    last = "page" if is_page else names[checks[-1]] if checks else "done"
    lets["outcome"] = braced(_write_outcome(checks, names, oks, last))
    ok = f"let.outcome in {literal([answer.name for _, answer in oks])}"
    effects: list[dict[str, Any]] = []
    if made:
        lets["new"] = write_new(scopes, operation, made, oks)
        effects += _store_new(learned, made, oks)
    for lookup in scopes.lookups[operation]:
        # Errors count, too.
        counted = _count_attempts(lookup, checks, names)
        effects += _count_uses(learned, lookup, checks, names)
        errors = _find_changing(learned, lookup, checks, names)
        own = [(condition, answer) for condition, answer in oks if answer.like != AS_CHANGED]
        after = write_changed(learned, operation, lookup, own, errors)
        for accounts in learned.named_accounts if after else ():
            if any(accounts.field in (one.form or {}) for _, answer in oks for one in answer.seen):
                lets[TICKED] = accounts.read_field()
                after[TICKED] = braced(f"let.{TICKED} or {expression('let', (lookup.name, TICKED))}")
        if after or counted:
            if "state" in after:
                lets[f"{lookup.name}_state"] = after["state"]
                after |= _write_state(lookup.name)
            if after and operation.method == "PATCH" and lookup.place[0] == "path" and not lookup.owned:
                name = f"let.{lookup.name}.version"
                after["version"] = braced(f"{name} + 1 if {ok} else {name}")
            lets[lookup.name + AFTER] = {"merge": [braced(f"let.{lookup.name}"), after | counted]}
            effects += _store_changed(lookup, "" if counted or errors else f"{ok} and ")
            effects += _store_latest(learned, lookup) if "state" in after else ()
    for check in checks:
        if check.condition.owner:
            effects.append(store_secret(check.condition, ok, find_attempt(scopes, operation)))
    value: dict[str, Any] = {"id": operation.id, "doc": _write_doc(operation)}
    address = {"method": operation.method, "path": operation.path}
    if operation.pattern[:1] == (PAGES,):
        value["match"] = address
    else:
        value |= address
        if any((one.text and not one.is_unread) or one.status in (302, 303) for one in operation.seen):
            value["browser"] = True
    value["let"] = lets
    value["respond"] = _write_respond(learned, operation, names, oks, is_page)
    if effects:
        value["effects"] = effects
    return WrittenOperation(value, list(_list_evidence(checks, names, oks)))


def _write_lets(learned: LearnedInterface, operation: LearnedOperation, oks: Successes) -> dict[str, Any]:
    """Return the named values for what a request names, and for lists and balances."""
    scopes, lets = learned.scopes, dict[str, Any]()
    for lookup in scopes.lookups[operation]:
        lets |= write_lookup(lookup)
        if _find_quota(learned.checks[operation]) is not None:
            lets |= {
                n: v for quota in learned.quotas.values() if quota.is_for(lookup) for n, v in quota.let(lookup).items()
            }
    for accounts in learned.named_accounts:
        made = accounts.lets(scopes.lookups[operation], operation, lets)
        lets = {name: value for name, value in lets.items() if name not in made} | made
    if listing := learned.listings.get(operation):
        prompts = write_prompts(learned, operation)
        lets |= prompts | listing_lets(scopes, listing, learned.listings.values()) | prompts
        if entries := write_thing_entries(learned, operation):
            lets["entries"] = entries
        if "chosen" in lets and listing.per is None:
            lets["entries"] = "{{ let.chosen or " + lets["entries"].removeprefix("{{ ")
    conditions = [check.condition for check in learned.checks[operation]]
    conditions += [condition for condition, _ in oks if condition]
    sources = [condition.source for condition in conditions]
    uncovered = (one for machine in scopes.machines.values() for one in machine.uncovered)
    sources += [one.condition for one in uncovered if scopes.world.operation_of[one.one] is operation]
    for balance in learned.balances:
        is_checked = any(balance.name in source for source in sources)
        if is_checked and operation in balance.payers:
            lets |= payer_lets(scopes, balance, operation)
        for lookup in scopes.lookups[operation]:
            if lookup.rows is balance.per.rows and (balance.operation is operation or is_checked):
                lets |= balance_lets(scopes, balance, lookup, as_number=balance.operation is not operation)
    return lets


def _count_uses(
    learned: LearnedInterface, lookup: ThingLookup, checks: Sequence[LearnedCheck], names: Mapping[LearnedCheck, str]
) -> Iterator[dict[str, Any]]:
    """Yield the effect that counts a use of an access: all requests count that it does not refuse."""
    at = _find_quota(checks)
    for quota in learned.quotas.values():
        if at is not None and quota.is_for(lookup):
            refused = checks[: at + 1] if quota.counts_refused else checks
            yield quota.count(lookup, list(dict.fromkeys(names[check] for check in refused)))


def _find_quota(checks: Sequence[LearnedCheck]) -> int | None:
    return next((at for at, check in enumerate(checks) if check.condition.kind == "quota"), None)


def _write_state(name: str) -> dict[str, str]:
    """Return the members of a thing that depend on its next state, which has a name of its own."""
    state, is_new = f"let.{name}_state", f"let.{name}_state != let.{name}.state"
    return {
        "state": braced(state),
        "since": braced(f"clock.seconds if {is_new} else let.{name}.since"),
        "version": braced(f"let.{name}.version + 1 if {is_new} else let.{name}.version"),
    }


def _count_attempts(
    lookup: ThingLookup, checks: Sequence[LearnedCheck], names: Mapping[LearnedCheck, str]
) -> dict[str, str]:
    """Return the number of wrong secrets so far, if there can be too many."""
    if not any(check.condition.kind == "attempts" and check.condition.name == lookup.name for check in checks):
        return {}
    wrong = literal([names[check] for check in checks if check.condition.kind in ("credentials", "secret")])
    name = f"let.{lookup.name}.wrong"
    return {"wrong": braced(f"{name} + 1 if let.outcome in {wrong} else {name}")}


def _find_changing(
    learned: LearnedInterface, lookup: ThingLookup, checks: Sequence[LearnedCheck], names: Mapping[LearnedCheck, str]
) -> dict[str, str]:
    """Return the states after errors that change the state, by outcome: the last wrong secret, unless a success has
    the same answer, and others of which the recording shows it.
    """
    machines, name = learned.scopes.machines_of(lookup), f"let.{lookup.name}"
    own = (one for one in checks if one.condition.kind == "attempts" and one.condition.name == lookup.name)
    declined = literal({one.kind.name: guess_word("declined", one) for one in machines})
    states = {names[one]: f"{declined}[{name}.kind]" for one in own if not one.answer.is_ok}
    for check in checks:
        shown = [one for one in check.answer.seen if one.number in check.shown_by]
        if word := state_after(learned.scopes, shown, machines, name):
            states[names[check]] = word
    return states


def _outcome_names(checks: Sequence[LearnedCheck]) -> dict[LearnedCheck, str]:
    """Return a name for each check. Checks with the same answer share it, if both or none use an access up."""
    names: dict[LearnedCheck, str] = {}
    taken: dict[str, Any] = {}
    at = _find_quota(checks)
    for number, check in enumerate(checks):
        same = (id(check.answer), check.instead, at is not None and number > at)
        possible = (check.answer.name, *(f"{check.answer.name}-{number}" for number in range(2, len(checks) + 2)))
        names[check] = next(name for name in possible if taken.setdefault(name, same) == same)
    return names


def _write_outcome(checks: Sequence[LearnedCheck], names: Mapping[LearnedCheck, str], oks: Successes, last: str) -> str:
    """Return the expression for the name of the outcome: that of the first check or success that applies."""
    cases = [(check.condition, names[check]) for check in checks]
    text = ""
    for condition, name in [*cases, *((condition, answer.name) for condition, answer in oks)]:
        if condition is None:
            return text + literal(name)
        source = re.sub(r"(\S+) not in let\.cursors", r"not (\1 | matches('^next-[0-9]+-[0-9]+$'))", condition.source)
        text += f"{literal(name)} if {source} else "
    return text + literal(last)


def _store_new(learned: LearnedInterface, kind: ThingKind, oks: Successes) -> Iterator[dict[str, Any]]:
    scopes = learned.scopes
    made_by = [answer.name for _, answer in oks if any(learned.world.made(one) for one in answer.seen)]
    when = f"let.outcome in {literal(made_by)}"
    yield {"set": f"state.{collection(kind)}[let.new.id ~ '']", "to": "{{ let.new }}", "when": when}
    named_by = {by for own in scopes.lookups.values() for lookup in own for one, by in lookup.kinds if one is kind}
    for key in dict.fromkeys(key for thing in kind.things for key in thing.keys):
        if key != kind.id and key in named_by:
            yield {"set": f"state.{NAMES}[let.new.{key} ~ '']", "to": {kind.name: "{{ let.new.id }}"}, "when": when}


def _store_changed(lookup: ThingLookup, when: str) -> Iterator[dict[str, Any]]:
    for kind in dict(lookup.kinds):
        yield {
            "set": f"state.{collection(kind)}[let.{lookup.name}.id ~ '']",
            "to": braced(f"let.{lookup.name}{AFTER}"),
            "when": f"{when}let.{lookup.name}.kind == {literal(kind.name)}",
        }


def _store_latest(learned: LearnedInterface, lookup: ThingLookup) -> Iterator[dict[str, Any]]:
    for machine in learned.scopes.machines_of(lookup):
        for newer in machine.by_newer:
            is_new = f"let.{lookup.name}_state == {literal(newer.before)} != let.{lookup.name}.state"
            yield {
                "set": f"state.{LATEST}[{literal(machine.kind.name)}]",
                "to": {"id": braced(f"let.{lookup.name}.id")},
                "when": f"{is_new} and let.{lookup.name}.kind == {literal(machine.kind.name)}",
            }


def _write_respond(
    learned: LearnedInterface,
    operation: LearnedOperation,
    names: dict[LearnedCheck, str],
    oks: Successes,
    is_page: bool,
) -> list[dict[str, Any]]:
    """Return an answer for each outcome. The last one has no condition."""
    told = [answer for _, answer in oks]
    by_name = {names[check]: check for check in reversed(names) if check.answer not in told}
    answers = [(name, adopt_answer(learned, operation, check)) for name, check in reversed(by_name.items())]
    for condition, answer in oks:
        if condition and answer.like in (AS_MADE, AS_CHANGED):
            answers.append((answer.name, show_thing(learned, operation, answer, condition.name)))
        else:
            answers.append((answer.name, write_answer(learned, answer)))
    example = learned.classes[operation][0]
    if is_page:
        answers.append(("page", {"text": write_page(learned, example), "headers": {"Content-Type": "text/html"}}))
    elif not answers:
        answers.append(("", write_answer(learned, example)))
    *conditional, (_, last) = answers
    return [*({"when": f"let.outcome == {literal(name)}", **answer} for name, answer in conditional), last]


def _write_doc(operation: LearnedOperation) -> str:
    recorded = [one for one in operation.seen if not one.like]
    if not recorded:
        return "Not recorded: a guess, because the same was recorded for things of another kind."
    return f"Recorded {max(one.time for one in recorded).date()}, {say_count(len(recorded), 'exchange')}."


def _list_evidence(checks: Sequence[LearnedCheck], names: Mapping[LearnedCheck, str], oks: Successes) -> Iterator[str]:
    for name in dict.fromkeys(names.values()):
        own = [check for check in checks if names[check] == name]
        other = own[0].answer.operation
        shown = [one for check in own for one in check.answer.seen if one.number in check.shown_by]
        yield from _list_exchanges(name, shown)
        if any(check.is_guess for check in own):
            yield f"{name}: a guess, as {other.method} {other.path} answers; {_TO_BE_SURE}"
    for _, answer in oks:
        if answer.like:
            yield f"{answer.name}: a guess, like {answer.like}; {_TO_BE_SURE}"
        else:
            yield from _list_exchanges(answer.name, answer.seen[:_MOST_SHOWN])


def _list_exchanges(name: str, shown: Sequence[SeenExchange]) -> Iterator[str]:
    """Yield the numbers of the exchanges that show an outcome, or of those of another kind that do."""
    recorded = [one.number for one in shown if not one.like]
    numbers = recorded or [one.like for one in shown]
    exchanges = f"exchange{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"
    if numbers:
        yield f"{name}: {exchanges}" if recorded else f"{name}: a guess, like {exchanges}; {_TO_BE_SURE}"
