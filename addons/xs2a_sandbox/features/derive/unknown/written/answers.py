"""Writes the answers of operations, as recorded, and in place of answers and pages that were not recorded."""

import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced, literal
from xs2a_sandbox.features.derive.unknown.conditions.checks import LearnedCheck
from xs2a_sandbox.features.derive.unknown.conditions.classes import AnswerClass
from xs2a_sandbox.features.derive.unknown.guesses.error_codes import change_status, find_free_number
from xs2a_sandbox.features.derive.unknown.interface import LearnedInterface
from xs2a_sandbox.features.derive.unknown.recorded.forms import date_form
from xs2a_sandbox.features.derive.unknown.recorded.names import is_id
from xs2a_sandbox.features.derive.unknown.recorded.places import change_texts
from xs2a_sandbox.features.derive.unknown.scopes import AFTER, AGAIN
from xs2a_sandbox.features.derive.unknown.states.standing_orders import tell_payments
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.written.lists import listing_sources
from xs2a_sandbox.features.derive.unknown.written.missing_members import MISSING
from xs2a_sandbox.features.derive.unknown.written.templates import Templates
from xs2a_sandbox.redaction.values import DROPPED


def write_answer(
    learned: LearnedInterface, answer: AnswerClass, instead: Sequence[tuple[str, str]] = ()
) -> dict[str, Any]:
    """Return the answer, with other texts where `instead` has some."""
    ones, first = answer.seen, answer.seen[0]
    named = [f"let.{balance.name}" for balance in learned.balances if balance.operation is answer.operation]
    if answer.is_ok and (listing := learned.listings.get(answer.operation)):
        named += listing_sources(listing)
    templates = Templates(learned.scopes, ones, named, _payment_members(learned, answer.operation))
    made: dict[str, Any] = {"status": answer.status} if answer.status != 200 else {}
    headers = {
        _title(name): templates.make([one.answer_headers.get(name, "") for one in ones], ("headers", name))
        for name in dict.fromkeys(name for one in ones for name in one.answer_headers)
    }
    if first.document is not None:
        if first.media and first.media != "application/json":
            headers["Content-Type"] = first.media
        made["body"] = templates.make([one.document for one in ones])
    elif first.text:
        headers["Content-Type"] = first.media or "text/html"
        made["text"] = write_page(learned, answer) if first.is_note else templates.make([one.text for one in ones])
    if headers:
        made["headers"] = headers
    for old, new in instead:
        made = _replace(made, old, new)
    return made


def _payment_members(learned: LearnedInterface, operation: LearnedOperation) -> dict[str, list[str]]:
    """Return expressions for the members that tell when standing orders pay."""
    found: dict[str, list[str]] = {}
    made = learned.world.made_by(operation)
    named = [(f"{one.name}{AFTER}", kind) for one in learned.scopes.lookups[operation] for kind, _ in one.kinds]
    for name, kind in [*named, *([("new", made)] if made else [])]:
        machine = learned.scopes.machines.get(kind)
        for order in machine.by_payments if machine else ():
            for member, source in tell_payments(order, machine, name).items() if machine else ():
                found.setdefault(member, []).append(source)
    return found


def _title(name: str) -> str:
    return {"etag": "ETag", "www-authenticate": "WWW-Authenticate"}.get(name, name.title())


def _replace(value: Any, old: str, new: str) -> Any:
    if old.startswith("{{"):
        return change_texts(value, lambda text: new if text == old else text)
    word = rf"(?<![A-Za-z0-9]){re.escape(old)}(?![A-Za-z0-9])"
    return change_texts(value, lambda text: text if "{{" in text else re.sub(word, lambda _: new, text))


def adopt_answer(learned: LearnedInterface, operation: LearnedOperation, check: LearnedCheck) -> dict[str, Any]:
    """Return the answer of a check. One of another operation must not name what this operation does not have."""
    answer = write_answer(learned, check.answer, check.instead)
    if check.condition.kind == "repeated" and check.is_guess:
        answer.pop("status", None)
        return change_templates(answer, lambda text: text.replace("let.new.", f"let.{AGAIN}."))
    if check.answer.operation is operation:
        return answer
    if check.condition.kind == "missing" and check.condition.place[0] == "headers" and "body" in answer:
        # The recorded request lacked another header, so its answer could not repeat it.
        answer["headers"] = {**_repeated_headers(learned, str(check.condition.place[1])), **answer.get("headers", {})}
    theirs = [lookup.name for lookup in learned.scopes.lookups[check.answer.operation]]
    own = {lookup.name for lookup in learned.scopes.lookups[operation]}
    return without_unknown(answer, operation, own, check.condition.name, theirs)


def _repeated_headers(learned: LearnedInterface, but: str) -> dict[str, str]:
    """Return the headers of requests that all answers in JSON repeat."""
    told = [one for one in learned.seen if one.document is not None]
    names = {name for one in told for name in one.answer_headers if name in one.headers} - {but}
    return {
        _title(name): braced(f"headers[{literal(name)}]")
        for name in sorted(names)
        if all(one.answer_headers.get(name) == one.headers[name] for one in told if name in one.headers)
    }


def without_unknown(
    answer: dict[str, Any], operation: LearnedOperation, own: set[str], main: str, theirs: Sequence[str] = ()
) -> dict[str, Any]:
    """Return an answer without what the operation does not have: of the names in `theirs`, it has `main` instead."""
    parameters = list(operation.names.values())

    def rename(text: str) -> str:
        for name in theirs:
            if name not in own and main in own:
                text = re.sub(rf"\blet\.{name}(?=\b|{AFTER})", f"let.{main}", text)
        for name in re.findall(r"\blet\.(\w+)", text):
            if name.removesuffix(AFTER) not in own and name != MISSING:
                text = re.sub(rf"\{{\{{[^}}]*\blet\.{name}\b[^}}]*\}}\}}", "", text)
        for name in re.findall(r"\bpath\.(\w+)", text):
            if name not in parameters:
                text = re.sub(rf"\bpath\.{name}\b", f"path.{parameters[0]}" if parameters else "request.path", text)
        return text

    return change_templates(answer, rename)


def show_thing(learned: LearnedInterface, operation: LearnedOperation, made: AnswerClass, name: str) -> dict[str, Any]:
    """Return the answer that made a thing, or changed it, as one that only shows the thing `let.NAME`."""
    # The path of the request that made the thing, and its key, are the path now.
    address = f"{braced('request.path')}/{braced(f'let.{name}.id')}"
    answer = change_templates(
        write_answer(learned, made),
        lambda text: re.sub(r"\bbody(?=[.[])", f"let.{name}.sent", text.replace("let.new.", f"let.{name}.")),
    )
    answer = without_unknown(answer, operation, {name}, name)
    answer = change_templates(
        answer, lambda text: text.replace(f"{AFTER}.", ".").replace(address, braced("request.path"))
    )
    headers = {name: value for name, value in answer.get("headers", {}).items() if name != "Location"}
    return {key: value for key, value in answer.items() if key != "status"} | {"headers": headers}


def change_templates[T](value: T, change: Callable[[str], str]) -> T:
    """Change the texts with expressions."""
    changed: T = change_texts(value, lambda text: change(text) if "{{" in text else text)
    return changed


def write_page(learned: LearnedInterface, answer: AnswerClass) -> str:
    """Return a page in place of one that was not recorded: with the hidden fields that the customer's browser sends."""
    scopes, operation = learned.scopes, answer.operation
    forms = [one for one in learned.world.operations if one.pattern == operation.pattern and one.method == "POST"]
    lookup = next(iter(scopes.lookups[operation]), None)
    keys = {str(place[-1]): key for one in forms for place, key in scopes.secondary[one] if place[0] == "form"}
    own = {name for one in answer.seen for name in one.form or {}}
    fields = {
        name: value
        for one in forms
        for sent in one.seen
        if scopes.is_ok[sent]
        for name, value in (sent.form or {}).items()
        if name not in own
    }
    hidden = ""
    for name, value in fields.items():
        if numbers := _find_numbers(learned, value):
            hidden += "".join(
                f'<input type="checkbox" name="{escape(name)}" value="{escape(number)}">' for number in numbers
            )
            continue
        written = braced(f"let.{lookup.name}{AFTER}.{keys[name]}") if name in keys and lookup else escape(value)
        hidden += f'<input type="hidden" name="{escape(name)}" value="{written}">'
    return f'<!doctype html><html><body><form method="post">{hidden}<button>OK</button></form></body></html>'


def _find_numbers(learned: LearnedInterface, value: str) -> list[str]:
    """Return the values of all accounts for one that the customer has chosen."""
    for rows in learned.world.rows:
        for name in rows.entries[0]:
            numbers = [str(row.get(name)) for row in rows.entries]
            if value in numbers and is_id(value):
                return list(dict.fromkeys(numbers))
    return []


def write_every_error(learned: LearnedInterface) -> dict[str, Any]:
    """Return the form of errors that the sandbox itself finds, which is that of the bank's errors."""
    classes = [
        answer
        for own in learned.classes.values()
        for answer in own
        if not answer.is_ok and answer.seen[0].document is not None
    ]
    best = next((answer for answer in classes if answer.status == 404), classes[0] if classes else None)
    if best is None:
        return {"body": {"error": "{{ error.code }}", "text": "{{ error.text }}"}}
    one = best.seen[0]
    path = "/" + "/".join(one.path)

    sent = {value: braced(f"headers[{literal(name)}]") for name, value in one.headers.items() if value != DROPPED}

    def generalise(text: str) -> str:
        if text == path:
            return "{{ request.path }}"
        if text in sent:
            return sent[text]
        if (form := date_form(text)) and form.has_time and form.moment(text) == one.time:
            return braced(form.write("clock.seconds"))
        return "{{ error.text }}" if " " in text and "{{" not in text else text

    body = change_status(one.document, best.status, "{{ error.status }}", find_free_number(classes))
    told = {"Content-Type": one.media} if one.media not in ("", "application/json") else {}
    told |= {_title(name): sent[value] for name, value in one.answer_headers.items() if one.headers.get(name) == value}
    headers = {"headers": told} if told else {}
    return {**headers, "body": change_texts(body, generalise)}
