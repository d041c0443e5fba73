"""Guesses about what requests must have: preconditions, secrets, and the fields of a page's form."""

import re
from collections.abc import Iterator
from dataclasses import replace

from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.features.derive.expression_text import expression, literal
from xs2a_sandbox.features.derive.unknown.conditions.checks import LearnedCheck, split_successes
from xs2a_sandbox.features.derive.unknown.conditions.classes import AnswerClass
from xs2a_sandbox.features.derive.unknown.conditions.conditions import Condition
from xs2a_sandbox.features.derive.unknown.conditions.credentials import find_attempt, other_secret
from xs2a_sandbox.features.derive.unknown.conditions.on_things import repeated, reused, used
from xs2a_sandbox.features.derive.unknown.guesses.known_operation import KnownOperation
from xs2a_sandbox.features.derive.unknown.recorded.names import is_id
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, source_of
from xs2a_sandbox.redaction.values import DROPPED

_ATTEMPTS = 3
_RANDOM = re.compile(r"[\w-]{16,}", re.ASCII)


def guess_preconditions(known: KnownOperation) -> Iterator[LearnedCheck]:
    """A request that always has If-Match needs it (428, RFC 6585), with the current version (412, RFC 9110)."""
    for condition in known.mistakes if known.every else ():
        is_missing = condition.kind == "missing" and str(condition.place[-1]).startswith("if-")
        if (is_missing or condition.kind == "version") and not _is_known(known, condition):
            status = 428 if is_missing else 412
            yield LearnedCheck(condition, known.invent_error(status, f"precondition-{status}"), (), is_guess=True)


def _is_known(known: KnownOperation, condition: Condition) -> bool:
    return any(one.kind == condition.kind and one.place == condition.place for one in known.conditions)


def guess_secrets(known: KnownOperation) -> Iterator[LearnedCheck]:
    """A secret in a request, such as a proof of the decision or a hidden field, must be that of the thing."""
    scopes, guessed = known.scopes, set[Place]()
    for condition in known.mistakes if known.every else ():
        if condition.kind != "secret" or condition.place in guessed or _is_known(known, condition):
            continue
        if condition.place[0] != "form" and " is not none and " not in condition.source:
            continue
        if any(scopes.holds(condition.source, one) for one in known.operation.seen if scopes.is_ok[one]):
            continue
        guessed.add(condition.place)
        if condition.place[0] != "form":
            yield LearnedCheck(condition, known.invent_error(403, "wrong-secret"), (), is_guess=True)
        else:
            page = next((one for one in known.oks if one.text), known.oks[0])
            yield LearnedCheck(condition, known.invent_page(page, 400, "wrong-secret"), (), is_guess=True)


def guess_credentials(known: KnownOperation) -> Iterator[LearnedCheck]:
    """A form with the same two fields as another one takes only the secret that belongs to the name, too.

    The other one can be JSON.
    """
    if any(one.kind == "credentials" for one in known.conditions) or not known.oks:
        return
    for check in known.every:
        condition = check.condition
        places = (condition.owner, condition.place)
        is_other = condition.kind == "credentials" and check.answer.operation is not known.operation
        is_sent = is_other and all(place[:1] in (("form",), ("body",)) for place in places)
        if not is_sent or not all(place[-1] in (known.oks[0].form or {}) for place in places):
            continue
        own, other = (find_attempt(known.scopes, of) for of in (known.operation, check.answer.operation))
        source = condition.source.replace(other_secret(*places, other), other_secret(*places, own))
        condition = replace(condition, source=source)
        if condition.place[0] == "form":
            yield check.guess(condition)
        else:
            name, secret = (("form", place[-1]) for place in places)
            source = condition.source
            for place, field in zip(places, (name, secret), strict=True):
                source = source.replace(source_of(place), source_of(field))
            wrong = Condition(source, condition.rank, "credentials", secret, owner=name)
            page = next((one for one in known.oks if one.text), known.oks[0])
            yield LearnedCheck(wrong, known.invent_page(page, check.answer.status, "wrong-secret"), (), is_guess=True)
        return


def guess_unticked(known: KnownOperation) -> Iterator[LearnedCheck]:
    """A field of a page's form that the customer has always filled in is required."""
    scopes, earlier = known.scopes, ""
    lookup = next(iter(known.lookups), None)
    for condition, answer in split_successes(scopes, known.operation, known.classes):
        when = f"({condition.source}) and " if condition else earlier
        earlier += f"not ({condition.source}) and " if condition else ""
        for kind, _ in lookup.kinds if lookup and answer.status in (302, 303) else ():
            source = f"let.{lookup.name}.kind == {literal(kind.name)}" if lookup else ""
            own = [one for one in answer.seen if scopes.holds(source, one)]
            for name in dict.fromkeys(name for one in own for name in one.form or {}):
                is_always = all(name in (one.form or {}) for one in own)
                if not is_always or all(name in (one.form or {}) for one in answer.seen):
                    continue
                missing = f"{when}{source} and {source_of(('form', name))} is none"
                without = [one for one in known.operation.seen if scopes.holds(missing, one)]
                if any(scopes.is_ok[one] for one in without):
                    continue
                shown = next((one for one in known.classes if without and without[0] in one.seen), None)
                page = shown or known.invent_page(own[0], 400, "incomplete")
                numbers = tuple(one.number for one in without)
                yield LearnedCheck(Condition(missing, 56, "missing", ("form", name)), page, numbers, not numbers)


def guess_dropped_secret(known: KnownOperation) -> Iterator[LearnedCheck]:
    """A refused form with a secret that redaction has dropped had the wrong one."""
    explained = [check.answer for check in known.checks]
    for answer in known.classes:
        if answer.is_ok or answer in explained or answer.status not in (401, 403):
            continue
        sent = [one.form or {} for one in (*answer.seen, *known.oks)]
        secrets = [name for name in sent[0] if all(form.get(name, DROPPED) == DROPPED for form in sent)]
        names = [
            name
            for name, value in sent[0].items()
            if name not in secrets and any((one.form or {}).get(name) == value for one in known.oks)
        ]
        if secrets and names:
            owner, place = ("form", names[0]), ("form", secrets[0])
            differs = other_secret(owner, place, find_attempt(known.scopes, known.operation))
            condition = Condition(differs, 44, "credentials", place, owner=owner)
            yield LearnedCheck(condition, answer, tuple(one.number for one in answer.seen), is_guess=True)


def guess_hidden_field(known: KnownOperation) -> Iterator[LearnedCheck]:
    """A long random field of a form is hidden in the page, which is not recorded: no other operation takes it."""
    world = known.scopes.world
    pages = [other for other in world.operations if other.pattern == known.operation.pattern and other.seen[0].is_note]
    forms = [one.form for one in known.oks if one.form]
    others = [one.form or {} for one, operation in world.operation_of.items() if operation is not known.operation]
    for name in forms[0] if pages and forms else ():
        values = [form.get(name, "") for form in forms]
        if all(_RANDOM.fullmatch(value) and is_id(value) for value in values) and not any(
            name in one for one in others
        ):
            condition = Condition(f"{source_of(('form', name))} is none", 43, "missing", ("form", name))
            page = known.invent_page(known.oks[0], 400, "without-hidden-field")
            yield LearnedCheck(condition, page, (), is_guess=True)


def guess_attempts(known: KnownOperation) -> Iterator[LearnedCheck]:
    """A customer who gives a wrong secret for the third time has declined: the page leads back to the app, if any."""
    if any(condition.kind == "attempts" for condition in known.conditions):
        return
    declined = [answer for answer in known.classes if answer.status in (302, 303) and _declines(known, answer)]
    secret = next((check for check in (*known.checks, *known.guesses) if check.condition.kind == "credentials"), None)
    for lookup in known.lookups if secret else ():
        changes = any(known.scopes.changes_by(known.operation, one) for one in known.scopes.machines_of(lookup))
        if secret and changes and not lookup.owned and not known.scopes.world.made_by(known.operation):
            wrong = f"({secret.condition.source}) and let.{lookup.name}.wrong >= {_ATTEMPTS - 1}"
            condition = Condition(wrong, 43, "attempts", secret.condition.place, lookup.name)
            answer = declined[0] if len(declined) == 1 else replace(secret.answer, name="last-attempt")
            yield LearnedCheck(condition, answer, (), is_guess=True)


def _declines(known: KnownOperation, answer: AnswerClass) -> bool:
    """Return whether an answer always shows that a thing has come to its end."""
    ends = [
        change.after in machine.lasts
        for machine in known.scopes.machines.values()
        for change in machine.by_request
        if change.one in answer.seen
    ]
    return bool(ends) and all(ends)


def guess_repeated(known: KnownOperation) -> Iterator[LearnedCheck]:
    """A request that has the same id and body as one before makes nothing: 200 and the first thing.

    If another operation with the same key refuses it, or the same key with another body, this one does, too.
    """
    place = known.scopes.request_keys.get(known.operation)
    made = next((answer for answer in known.classes if any(map(known.scopes.world.made, answer.seen))), None)
    if place is None or place[0] != "headers":
        return
    refused = {check.condition.kind: check for check in known.every if check.condition.place == place}
    own = {check.condition.kind for check in known.checks if check.condition.place == place}
    if "reused" in refused and "reused" not in own:
        yield refused["reused"].guess(reused(known.scopes, known.operation, place, refused["reused"].condition.rank))
    condition = repeated(known.scopes, known.operation, place)
    if refusal := refused.get("repeated", refused.get("used")):
        yield refusal.guess(condition)
    elif made and made.seen[0].document is not None:
        yield LearnedCheck(condition, replace(made, name="repeated", like="the first request"), (), is_guess=True)


def guess_used_code(known: KnownOperation) -> Iterator[LearnedCheck]:
    """A code, or a token for another one, works once (RFC 6749, section 4.1.2; RFC 9700, section 4.14.2)."""
    made = known.scopes.world.made_by(known.operation)
    for condition in used(known.scopes, known.operation, made) if made else ():
        own = (check for check in known.checks if check.condition.kind == "unknown")
        if _is_known(known, condition) or not known.every:
            continue
        if unknown := known.find_check("unknown", condition.place) or next(own, None):
            yield unknown.guess(condition)
        else:
            yield LearnedCheck(condition, known.invent_error(400, "used"), (), is_guess=True)


def guess_form(known: KnownOperation) -> Iterator[LearnedCheck]:
    """An operation that takes a form does not take JSON: 415 (RFC 9110)."""
    takes_forms = known.oks and all(one.form is not None and one.document is not None for one in known.oks)
    if takes_forms and known.every:
        condition = Condition("body is not none", 9, "not a form")
        yield LearnedCheck(condition, known.invent_error(415, "not-a-form"), (), is_guess=True)


def guess_other_owner(known: KnownOperation) -> Iterator[LearnedCheck]:
    """A customer cannot decide on a payment from an account of somebody else: the page says so (403)."""
    page = next((one for one in known.oks if one.status in (302, 303)), None)
    secrets = (one for one in known.conditions if one.kind == "credentials" and one.owner)
    secret = next(secrets, None)
    owner = source_of(secret.owner) if secret else "none"
    customers = {known.scopes.value(owner, one, after=False) for one in known.oks} - {None}
    if page is None or secret is None or len(customers) != 1:
        return
    texts = [value for rows in known.scopes.world.rows for row in rows.entries for value in row.values()]
    accounts = list(dict.fromkeys(text for text in texts if isinstance(text, str) and FORMATS["iban"](text)))
    is_customer = f"{owner} == {literal(customers.pop())}"
    for lookup in known.lookups:
        for kind, _ in lookup.kinds:
            sent = [dict(leaves(thing.created.body)) for thing in kind.things]
            for place in sent[0]:
                if not all(one.get(place) in accounts for one in sent):
                    continue
                is_kind = f"let.{lookup.name}.kind == {literal(kind.name)}"
                is_other = f"{expression(f'let.{lookup.name}.sent', place)} not in {literal(accounts)}"
                source = f"{is_customer} and {is_kind} and {is_other}"
                condition = Condition(source, 46, "owner", secret.owner, lookup.name)
                yield LearnedCheck(condition, known.invent_page(page, 403, "other-owner"), (), is_guess=True)
