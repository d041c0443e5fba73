"""Guesses about the states and rights of things: what has ended stays ended, and a right is needed everywhere."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from xs2a_sandbox.features.derive.expression_text import expression, literal
from xs2a_sandbox.features.derive.unknown.conditions.checks import LearnedCheck, split_successes
from xs2a_sandbox.features.derive.unknown.conditions.classes import AnswerClass
from xs2a_sandbox.features.derive.unknown.conditions.conditions import Condition
from xs2a_sandbox.features.derive.unknown.conditions.on_things import is_over, rights
from xs2a_sandbox.features.derive.unknown.guesses.known_operation import KnownOperation
from xs2a_sandbox.features.derive.unknown.recorded.forms import date_form
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, source_of
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes, plural
from xs2a_sandbox.features.derive.unknown.states.machines import DELETED, ByRequest
from xs2a_sandbox.features.derive.unknown.things.lookups import ThingLookup
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation


def add_endings(
    scopes: ExchangeScopes,
    checks: Mapping[LearnedOperation, Sequence[LearnedCheck]],
    classes: Mapping[LearnedOperation, list[AnswerClass]],
) -> None:
    """Add an answer to operations that were only refused because they came too late: in time, they end the thing.

    The answer is that of a request that has ended a thing of another kind.
    """
    ends = [
        (machine, change)
        for machine in scopes.machines.values()
        for change in machine.by_request
        if change.one.document is not None and change.after in machine.lasts
    ]
    for operation, own in checks.items():
        late = next((check for check in own if check.condition.kind == "in state"), None)
        if late is None or operation.method == "GET" or any(answer.is_ok for answer in classes[operation]):
            continue
        lookup = next(one for one in scopes.lookups[operation] if one.name == late.condition.name)
        machine = next(iter(scopes.machines_of(lookup)), None)
        others = (change for other, change in ends if type(change.after) is type(other.first) and other is not machine)
        known = next(others, None)
        if machine is None or known is None or type(known.after) is not type(machine.first):
            continue
        refused = late.answer.seen[0]
        shown = replace(refused, status=known.one.status, document=known.one.document, media=known.one.media)
        scopes.world.operation_of[shown] = operation
        scopes.is_ok[shown] = True
        machine.by_request.append(ByRequest(machine.first, known.after, shown))
        classes[operation].append(AnswerClass(operation, True, [shown], "done", "another request that ends something"))


def guess_old_tokens(known: KnownOperation) -> Iterator[LearnedCheck]:
    """An access token that has ended for one operation has ended for all."""
    for lookup in known.lookups:
        kinds = [kind for kind, _ in lookup.kinds if kind not in known.scopes.machines]
        is_known = any(check.condition.kind == "age" and check.condition.name == lookup.name for check in known.checks)
        if not kinds or is_known or lookup.owned:
            continue
        if donor := known.find_check("age", lookup.place):
            source = donor.condition.source.replace(f"let.{donor.condition.name}.", f"let.{lookup.name}.")
            yield donor.guess(replace(donor.condition, source=source, name=lookup.name))
        elif (seconds := known.scopes.lifetimes[kinds[0].things[0]]) and (
            donor := known.find_check("missing", lookup.place)
        ):
            source = is_over(f"let.{lookup.name}", None if known.scopes.have_lifetimes(kinds[0]) else seconds)
            yield donor.guess(Condition(source, 6, "age", lookup.place, lookup.name))


def guess_rights(known: KnownOperation) -> Iterator[LearnedCheck]:
    """A thing with a list of words, such as rights, is good for the operations with these words in their paths."""
    if any(condition.kind == "right" for condition in known.conditions):
        return
    for condition in rights(known.scopes, known.operation):
        same = [check for check in known.every if check.condition.kind == "right"]
        donors = [*same, *(check for check in known.every if check.condition.kind == "state")]
        donor = next((check for check in donors if check.condition.name == condition.name), None)
        if donor:
            theirs = donor.condition.word
            yield donor.guess(condition, ((theirs, condition.word),) if theirs else ())


def guess_scopes(known: KnownOperation) -> Iterator[LearnedCheck]:
    """A token for one purpose, such as payments, is refused everywhere where only those for another were accepted."""
    ends = any(known.operation in endings for endings in known.scopes.endings.values())
    if ends or any(condition.kind in ("sent", "kind") for condition in known.conditions):
        return
    for donor in (check for check in known.every if check.condition.kind in ("sent", "kind") and not check.is_guess):
        word, _, _ = donor.condition.source.rpartition(" == ")
        for lookup in (one for one in known.lookups if one.place == donor.condition.place and not one.rows):
            if donor.condition.kind == "kind":
                yield from (donor.guess(condition) for condition in _other_kinds(known, lookup))
                return
            source = word.replace(f"let.{donor.condition.name}.", f"let.{lookup.name}.")
            accepted = list(dict.fromkeys(known.scopes.value(source, one, after=False) for one in known.oks))
            if len(accepted) == 1 and isinstance(accepted[0], str):
                condition = Condition(
                    f"let.{lookup.name} and {source} != {literal(accepted[0])}", 33, "sent", lookup.place
                )
                yield donor.guess(replace(condition, name=lookup.name))
                return


def _other_kinds(known: KnownOperation, lookup: ThingLookup) -> Iterator[Condition]:
    """Yield when a request has a token of a kind that only other operations have accepted at this place."""
    every = [one for own in known.scopes.lookups.values() for one in own if one.place == lookup.place]
    own = {kind for one in known.lookups if one.place == lookup.place for kind, _ in one.kinds}
    for kind, key in dict.fromkeys((kind, key) for one in every for kind, key in one.kinds if kind not in own):
        named = f"let.{plural(kind)} | selectattr({literal(key)}, 'equalto', {lookup.source}) | list"
        yield Condition(named, 33, "kind", lookup.place, lookup.name)


def guess_quotas(known: KnownOperation) -> Iterator[LearnedCheck]:
    """An access that is used up for one operation is used up for all that read accounts."""
    for condition in known.scopes.quotas.get(known.operation, ()):
        donor = next((check for check in known.every if check.condition.kind == "quota"), None)
        if donor and donor.answer.operation is not known.operation:
            yield donor.guess(condition)


def guess_used_up(known: KnownOperation) -> Iterator[LearnedCheck]:
    """A page with a form can be used until the thing is decided on.

    Something else in a field, such as another password, corrects a mistake that the recording does not show. In a
    redacted recording, which shows no secrets, so does the same form if customers made mistakes.
    """
    oks = known.oks
    if known.scopes.is_redacted and any(one.form for one in known.operation.seen if not known.scopes.is_ok[one]):
        return
    if not oks or not all("<form" in one.text or one.is_note or one.status in (302, 303) for one in oks):
        return
    successes = split_successes(known.scopes, known.operation, known.classes)
    decisions = {condition.place for condition, _ in successes if condition}
    fields = dict.fromkeys(("form", name) for one in oks for name in one.form or {})
    entered = [place for place in fields if place not in decisions]
    for lookup in known.lookups:
        machines = known.scopes.machines_of(lookup)
        first = list(dict.fromkeys(machine.first for machine in machines))
        source = f"let.{lookup.name}.state not in {literal(first)}"
        for place in entered:
            source += f" and {source_of(place)} == {expression('let', (lookup.name, 'entered', place[1]))}"
        is_known = any(condition.is_of_state and condition.name == lookup.name for condition in known.conditions)
        if machines and not is_known:
            condition = Condition(source, 30, "state", lookup.place, lookup.name)
            yield LearnedCheck(condition, known.invent_page(oks[0], 410, "used-up"), (), is_guess=True)


def accept_correction(known: KnownOperation, check: LearnedCheck) -> LearnedCheck:
    """Change a check of the state so that it accepts another secret, if the last secret has led to this state.

    The sandbox accepts nearly every secret, such as a code, of a customer who is not in the recording. If the app then
    sends another one, the first was a mistake.
    """
    lookup = next((one for one in known.lookups if one.name == check.condition.name), None)
    if not check.condition.is_of_state or lookup is None:
        return check
    machines = known.scopes.machines_of(lookup)
    changes = [change for machine in machines for change in known.scopes.changes_by(known.operation, machine)]
    for place in dict.fromkeys(place for change in changes for place, _ in leaves(change.one.body)):
        if place and _is_secret(known, ("body", *place)):
            sent, last = expression("body", place), expression("let", (lookup.name, "entered", *place))
            reached = literal(list(dict.fromkeys(change.after for change in changes)))
            corrects = f"let.{lookup.name}.state in {reached} and {sent} and {last} and {sent} != {last}"
            source = f"({check.condition.source}) and not ({corrects})"
            if all(known.scopes.holds(source, one) for one in known.operation.seen if one.number in check.shown_by):
                return replace(check, condition=replace(check.condition, source=source))
    return check


def _is_secret(known: KnownOperation, place: Place) -> bool:
    """Return whether requests have texts with digits at a place that no answer shows, such as codes."""
    every = [value for one in known.operation.seen if isinstance(value := one.at(place), str)]
    is_named = any(lookup.place == place for lookup in known.lookups)
    if not every or is_named or place in known.scopes.nonces or not known.scopes.told.isdisjoint(every):
        return False
    return all(re.search(r"\d", value) and not date_form(value) for value in every)


def guess_again(known: KnownOperation) -> Iterator[LearnedCheck]:
    """What a request has done already, or what is over, it cannot do again."""
    donors = [check for check in known.every if check.condition.is_of_state]
    mine = [check for check in donors if check.answer.operation is known.operation]
    conflicts = [check for check in donors if check.answer.status == 409]
    for lookup in known.lookups:
        same = [check for check in conflicts if check.condition.name == lookup.name]
        others = (check for check in donors if check.answer.status not in (401, 403))
        donor = next(iter((*mine, *same, *conflicts, *others)), None) or _invent_conflict(known, lookup)
        for machine in known.scopes.machines_of(lookup) if donor else ():
            changes = known.scopes.changes_by(known.operation, machine)
            for change in changes:
                if change.one.text or change.one.status in (302, 303):
                    continue
                asked = next(
                    (place for place, value in leaves(change.one.body) if place and value == change.after), None
                )
                if asked is None and len(changes) > 1:
                    continue
                guard = f"{expression('body', asked)} == {literal(change.after)} and " if asked else ""
                over = [change.after, *(word for word in machine.lasts if word != change.after)]
                source = f"{guard}let.{lookup.name}.state in {literal(over)}"
                if donor and not any(known.scopes.holds(source, one) for one in known.operation.seen):
                    yield donor.guess(Condition(source, 33, "in state", lookup.place, lookup.name))


def _invent_conflict(known: KnownOperation, lookup: ThingLookup) -> LearnedCheck | None:
    """Return a conflict in the form of the bank's errors, if none was recorded: what is over cannot be cancelled."""
    machines = known.scopes.machines_of(lookup)
    ends = [change.after in one.lasts for one in machines for change in known.scopes.changes_by(known.operation, one)]
    is_word = known.operation.method != "DELETE" and known.operation.pattern[-1] is not None
    if not known.every or known.checks or not (known.operation.method == "DELETE" or (is_word and all(ends))):
        return None
    # Errors about headers and members have parts that one about a thing has not.
    about_things = (check.answer for check in known.every if check.condition.kind in ("in state", "state", "unknown"))
    answer = known.invent_error(409, "conflict", next((one for one in about_things if one.seen[0].document), None))
    return LearnedCheck(Condition("", 33, "in state", lookup.place, lookup.name), answer, (), is_guess=True)


def guess_over(known: KnownOperation) -> Iterator[LearnedCheck]:
    """Guess how a thing that is over is refused: like another kind of thing, at a path with the same last word.

    An example is a consent at `/authorisations`, if the recording shows a payment there.
    """
    operation = known.operation
    address = operation.method, operation.pattern[-1]
    states = (check for check in known.every if check.condition.is_of_state and check.condition.place[0] == "path")
    others = (check for check in states if check.answer.operation is not operation and not check.is_guess)
    alike = [one for one in others if (one.answer.operation.method, one.answer.operation.pattern[-1]) == address]
    for lookup in known.lookups if alike and operation.pattern[-1] else ():
        is_known = any(condition.is_of_state and condition.name == lookup.name for condition in known.conditions)
        for machine in known.scopes.machines_of(lookup) if len(lookup.kinds) == 1 and not is_known else ():
            living = [word for word in machine.words if word not in machine.lasts]
            source = f"let.{lookup.name} and let.{lookup.name}.state not in {literal(living)}"
            yield alike[0].guess(Condition(source, 29, "in state", lookup.place, lookup.name))


def _tells_state(known: KnownOperation, lookup: ThingLookup) -> bool:
    """Return whether an operation only tells the state of a thing."""
    members = {machine.member for machine in known.scopes.machines_of(lookup)}
    told = [place[-1] for one in known.oks for place, _ in leaves(one.document) if place]
    return known.operation.method == "GET" and bool(told) and told[0] in members


def guess_states(known: KnownOperation) -> Iterator[LearnedCheck]:
    """A thing that must be in one state for one operation must be so for others that were only seen in this state."""
    for lookup in known.lookups:
        conditions = [check.condition for check in known.checks]
        if any(condition.is_of_state and condition.name == lookup.name for condition in conditions):
            continue
        changes = any(known.scopes.changes_by(known.operation, one) for one in known.scopes.machines_of(lookup))
        is_path = lookup.place[0] == "path"
        reads_itself = is_path and (known.operation.pattern[-1] is None or _tells_state(known, lookup))
        needs_none = reads_itself or (lookup.place[0] == "headers" and not known.is_about_rows)
        for donor in known.every:
            other = donor.condition
            if other.name != lookup.name or not other.is_of_state or " and " in other.source:
                continue
            is_access = other.kind == "state" and " not in " in other.source and not needs_none
            is_gone = other.source.endswith(f"in {literal([DELETED])}")
            if is_gone or (is_access and not changes):
                yield donor.guess(replace(other, rank=29) if is_gone else other)
