"""Learns a bank's errors by their documented names, and the form that all of them share."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xs2a_sandbox.cassette.model import ErrorAnswer
from xs2a_sandbox.documents.yaml_writer import write_exactly
from xs2a_sandbox.features.derive.learning.answer_template import Sample, Template, Usual, last_members, learn_text
from xs2a_sandbox.features.derive.learning.changes import expression_of, name_sent
from xs2a_sandbox.features.derive.learning.recognised_exchange import RecognisedExchange

_CODES = ("code", "error", "errorCode")
_TEXTS = ("text", "detail", "message", "error_description", "description", "title")
_STATUSES = ("status", "httpStatus", "statusCode")
_EXPRESSION = re.compile(r"\{\{ error\.(\w+) \}\}")
_ID = "{{ id }}"


@dataclass(frozen=True, slots=True)
class ErrorSample:
    """The first code, text and path of an error, from any place in its body."""

    code: str | None
    text: str | None
    path: str | None
    has_path: bool


@dataclass(slots=True)
class LearnedErrors:
    """`errors` by name, each with its evidence.

    `every` is the body of all of them, or None if it is the documented one.
    """

    errors: dict[str, tuple[dict[str, Any], list[str]]] = field(default_factory=dict)
    every: Any = None
    places: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def learn_errors(
    raised: Sequence[tuple[str, RecognisedExchange]], documented: Mapping[str, ErrorAnswer], every_body: Any
) -> LearnedErrors:
    """Learn the errors. `raised` are documented names of errors, with the exchanges in which the bank answered them."""
    learned = LearnedErrors()
    bodies = {name: error_body(error, every_body) for name, error in documented.items()}
    readable = [
        (name, error, read_words(bodies[name], error.answer))
        for name, error in raised
        if isinstance(error.answer, dict)
    ]
    texts = {id(exchange): _in(_find_text(bodies[name]), what.text or "") for name, exchange, what in readable}
    is_usual = (
        bool(readable)
        and all(texts.values())
        and all(_is_like(exchange.answer, bodies[name]) for name, exchange, _ in readable)
    )
    if readable and not is_usual:
        learned.every = _every(readable, learned.unknown)
        learned.places = [exchange.place for _, exchange, _ in readable]
    by_name: defaultdict[str, list[tuple[RecognisedExchange, str | None, str, str | None]]] = defaultdict(list)
    for name, error in raised:
        what = read_words(bodies[name], error.answer)
        parts = texts.get(id(error)) if is_usual else None
        number, text = parts or (None, what.text or "")
        by_name[name].append((error, what.code, _with_id(text, error, documented[name]), number))
    for name, ones in by_name.items():
        value: dict[str, Any] = {"status": _by_operation([(exchange, exchange.entry.status) for exchange, *_ in ones])}
        if codes := [(exchange, code) for exchange, code, _, _ in ones if code]:
            value["code"] = _by_operation(codes)
        if numbers := [(exchange, number) for exchange, _, _, number in ones if number]:
            value["number"] = _by_operation(numbers)
        counted = Counter(text for _, _, text, _ in ones if text)
        if len(counted) == 1 or (counted and "expected" not in str(documented[name].origin.written["text"])):
            value["text"] = counted.most_common(1)[0][0]
        if len(counted) > 1:
            learned.unknown.append(
                f"{name} has {len(counted)} different texts ({', '.join(exchange.place for exchange, *_ in ones)})"
            )
        learned.errors[name] = value, [exchange.place for exchange, *_ in ones]
    return learned


def error_words(body: Any) -> ErrorSample:
    """Return the code, text and path in a body, or in the first entry of a list in it."""
    if not isinstance(body, dict):
        return ErrorSample(None, None, None, False)
    code = next((body[name] for name in _CODES if isinstance(body.get(name), str)), None)
    text = next((body[name] for name in _TEXTS if isinstance(body.get(name), str)), None)
    if code is None and text is None:
        lists = (value for value in body.values() if isinstance(value, list) and value and isinstance(value[0], dict))
        if (listed := next(lists, None)) is not None:
            return error_words(listed[0])
    path = body.get("path")
    return ErrorSample(code, text, path if isinstance(path, str) else None, "path" in body)


def error_body(error: ErrorAnswer, every_body: Any) -> Any:
    """Return the documented body of an error, as it is written."""
    return error.origin.written.get("body", every_body)


def read_words(template: Any, body: Any) -> ErrorSample:
    """Return the code, text and path at the places of a documented body, or at the usual places in another body."""
    if not _is_like(body, template):
        return error_words(body)
    found = dict(_find_words(template, body))
    return ErrorSample(found.get("code"), found.get("text"), found.get("path"), "path" in found)


def _find_words(template: Any, body: Any) -> Iterator[tuple[str, str]]:
    if isinstance(template, dict) and isinstance(body, dict):
        for key, member in template.items():
            yield from _find_words(member, body.get(key))
    elif isinstance(template, list) and isinstance(body, list):
        for member, inner in zip(template, body, strict=False):
            yield from _find_words(member, inner)
    elif isinstance(template, str) and isinstance(body, str):
        for name in ("code", "text", "path"):
            if f"error.{name}" in template:
                yield name, body


def _every(readable: Sequence[tuple[str, RecognisedExchange, ErrorSample]], unknown: list[str]) -> Any:
    samples = []
    for _, exchange, what in readable:
        names = {"code": what.code, "text": what.text, "path": what.path}
        echoes = {("", write_exactly(value)): f"error.{name}" for name, value in names.items() if value}
        for place in _place(exchange.answer, names):
            echoes |= place
        echoes |= {(f"/{key}", write_exactly(exchange.entry.status)): "error.status" for key in _STATUSES}
        ids = {value: expression_of(place) for place, value in name_sent(exchange, "once")}
        ids |= {what.code: "error.code"} if what.code else {}
        samples.append(Sample(exchange.place, exchange.answer, ids, echoes))
    things = readable[0][1].interface.things
    template = Template(samples, Usual(None, {}, things=things))
    unknown += [f"errors: {line}" for line in template.unknown]
    return _with_path(template.value)


def _place(value: Any, names: Mapping[str, str | None], place: str = "") -> Iterator[dict[tuple[str, str], str]]:
    """Yield the places of code, text and path, by the names of members."""
    keys = {"code": _CODES, "text": _TEXTS, "path": ("path",)}
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in inner:
        below = f"{place}/{key}"
        yield {
            (last_members(below), write_exactly(member)): f"error.{n}"
            for n, error in names.items()
            if error == member and key in keys[n]
        }
        yield from _place(member, names, below)


def _with_path(value: Any) -> Any:
    """Use the error's path for each path that is not null in some answers."""
    if isinstance(value, dict):
        return {
            key: "{{ error.path }}" if key.removesuffix("?") == "path" and member is not None else _with_path(member)
            for key, member in value.items()
        }
    return [_with_path(member) for member in value] if isinstance(value, list) else value


def _is_like(body: Any, template: Any) -> bool:
    """Return whether the template could produce the body with some values."""
    if isinstance(template, str) and "{{" in template:
        return body is None or isinstance(body, str | int)
    if isinstance(template, dict):
        return (
            isinstance(body, dict)
            and body.keys() <= template.keys()
            and all(_is_like(body.get(key), member) for key, member in template.items())
        )
    if isinstance(template, list):
        return isinstance(body, list) and len(body) == len(template) and all(map(_is_like, body, template))
    return bool(write_exactly(body) == write_exactly(template))


def _find_text(template: Any) -> str:
    """Return the documented template of a text, with its surroundings."""
    if isinstance(template, str):
        return template if "error.text" in template else ""
    inner = template.values() if isinstance(template, dict) else template if isinstance(template, list) else ()
    return next((text for member in inner if (text := _find_text(member))), "")


def _in(written: str, text: str) -> tuple[str | None, str] | None:
    """Split a text in the documented form into the message number, if it has one, and the text itself."""
    pattern, names = "", []
    for number, piece in enumerate(_EXPRESSION.split(written)):
        pattern += f"(?P<{piece}>.+?)" if number % 2 else re.escape(piece)
        names += [piece] if number % 2 else []
    if "text" not in names:
        return None
    match = re.fullmatch(pattern, text, re.DOTALL)
    return (match["number"] if "number" in names else None, match["text"]) if match else None


def _with_id(text: str, exchange: RecognisedExchange, documented: ErrorAnswer) -> str:
    if _ID not in str(documented.origin.written["text"]):
        return text.replace("{{", "{{ '{{' }}")
    ids = dict.fromkeys(exchange.parameters.values(), "id")
    ids |= dict.fromkeys(exchange.ids("consent"), "id")
    return learn_text(text, Sample(exchange.place, None, ids, {}))


def _by_operation(values: Sequence[tuple[RecognisedExchange, Any]]) -> Any:
    """Return a single value, or values by operation with the most frequent one as the default."""
    (default, _), *others = Counter(value for _, value in values).most_common()
    if not others:
        return default
    own = {exchange.operation.id: value for exchange, value in values if exchange.operation and value != default}
    return {"default": default, **dict(sorted(own.items()))}
