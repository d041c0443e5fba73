"""Describes errors of JSON Schema: for authors of files with the value, for senders of bodies without it.

Codes: unknown-key, missing-key, wrong-type, wrong-value.
"""

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from xs2a_sandbox.documents.formats import EXPECTED

_KINDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
_JSON_KINDS = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "null": "null",
}
_LIMITS = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} entries",
    "maxItems": "must have at most {} entries",
    "minProperties": "must have at least {} keys",
    "maxProperties": "must have at most {} keys",
}
_NOT_EMPTY = ("minLength", "minItems", "minProperties")
_ONE = {"entries": "entry", "keys": "key", "characters": "character"}


class Complaint(NamedTuple):
    """`pointer` leads to the value; `key` says that its key is wrong."""

    pointer: tuple[str | int, ...]
    code: str
    text: str
    key: bool = False


@dataclass(frozen=True, slots=True)
class SchemaError:
    """A value that a schema does not accept.

    - `place`: the pointer of the value
    - `depth`: how many steps the value is below that of the error whose branch contains this one, or below the root
    - `keyword`, `rule`: what it violates; no keyword if no value is allowed there
    - `schema`: the schema that contains the keyword
    - `is_name`: the value is the name of a member
    - `branches`: the errors of each branch of `anyOf` and `oneOf`
    """

    place: tuple[str | int, ...]
    depth: int
    keyword: str | None
    rule: Any
    value: Any
    schema: Any
    is_name: bool
    branches: tuple[tuple["SchemaError", ...], ...]


def list_unexpected(error: SchemaError) -> list[str]:
    """Return the members that are not allowed, or an empty list if the error is about something else."""
    if error.keyword not in ("additionalProperties", "unevaluatedProperties"):
        return []
    return list(_find_unknown(error.value, error.schema))


def first_of(errors: Iterable[SchemaError]) -> SchemaError:
    """Return the error to report if only one is reported.

    It is the outermost one, and preferably one that is not about branches. For an error about branches it is the error
    in the branch that was probably meant.
    """
    best = max(errors, key=lambda error: (*_relevance(error), _order(error)))
    while best.branches and any(best.branches):
        first, *others = sorted((error for branch in best.branches for error in branch), key=_relevance)[:2]
        if others and _relevance(first) == _relevance(others[0]):
            return best
        best = first
    return best


def _relevance(error: SchemaError) -> tuple[Any, ...]:
    kinds = _list(error.schema.get("type", ())) if isinstance(error.schema, dict) else ()
    is_of_type = bool(kinds) and _kind(error.value) in kinds
    path = [str(step) for step in error.place[len(error.place) - error.depth :]]
    return -error.depth, path, error.keyword not in ("anyOf", "oneOf"), not is_of_type


def _order(error: SchemaError) -> int:
    """Return a greater number for keywords that are earlier in the schema, because these are preferred."""
    keywords = list(error.schema) if isinstance(error.schema, dict) else []
    return -keywords.index(error.keyword) if error.keyword in keywords else 0


def did_you_mean(word: str, words: Iterable[Any]) -> str:
    """Return `; did you mean 'x'?`, or an empty string if no word is similar."""
    near = closest(word, words)
    return f"; did you mean {near}?" if near else ""


def closest(word: str, words: Iterable[Any]) -> str | None:
    """Return the most similar word, or None if no word is similar."""
    near = difflib.get_close_matches(word, [k for k in words if isinstance(k, str)], n=1, cutoff=0.6)
    return near[0] if near else None


def of_body(error: SchemaError) -> Complaint:
    """Return the complaint about a JSON body. Its text continues the name of the member at `pointer`."""
    pointer, keyword, rule, value, schema = _parts(error)
    if error.is_name:
        return Complaint(
            (*pointer, value), "wrong-value", f"is an invalid name: it {_rule(keyword, rule, schema)}", True
        )
    match keyword:
        case "required":
            missing = next(name for name in rule if name not in value)
            return Complaint((*pointer, missing), "missing-key", "is required")
        case "dependentRequired":
            name, missing = next((n, m) for n, names in rule.items() if n in value for m in names if m not in value)
            return Complaint((*pointer, missing), "missing-key", f"is required together with {name}")
        case "additionalProperties" | "unevaluatedProperties":
            name = next(_find_unknown(value, schema), None)
            if name is not None:
                hint = did_you_mean(name, _keys(schema))
                return Complaint((*pointer, name), "unknown-key", f"is unknown here{hint}", True)
        case "anyOf" | "oneOf":
            needed = [name for branch in rule if isinstance(branch, dict) for name in branch.get("required", ())]
            one_of = f": one of {', '.join(needed)} is needed" if needed else ""
            return Complaint(pointer, "wrong-value", f"does not match any of the allowed forms{one_of}")
        case "type" | "maxLength" if keyword == "type" or rule == 0:
            # A member that only accepts the empty text accepts no text with content.
            is_text = schema.get("maxLength") != 0
            kinds = [_JSON_KINDS[kind] for kind in _list(schema["type"]) if is_text or kind != "string"]
            return Complaint(pointer, "wrong-type", f"must be {_either(kinds)}, not {_JSON_KINDS[_kind(value)]}")
    return Complaint(pointer, "wrong-value", _rule(keyword, rule, schema))


def _kind(value: Any) -> str:
    kinds = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
    return kinds.get(type(value), "number")


def of_file(error: SchemaError) -> Iterator[Complaint]:
    """Yield the complaints about a value in a file. They quote the value, and may suggest a correction."""
    pointer, keyword, rule, value, schema = _parts(error)
    if error.is_name:
        what = f"the key {value} {_describe_wrong(keyword, rule, value, schema)}"
        yield Complaint((*pointer, value), "wrong-value", what, True)
        return
    match keyword:
        case "additionalProperties" | "unevaluatedProperties":
            names = _keys(schema)
            for key in _find_unknown(value, schema):
                hint = did_you_mean(key, names - value.keys()) or _choices(names - value.keys())
                yield Complaint((*pointer, key), "unknown-key", f"unknown key {key}{hint}", True)
        case "required":
            for key in rule:
                if key not in value:
                    yield Complaint(pointer, "missing-key", f"the key {key} is missing{_inside(pointer)}")
        case "dependentRequired":
            for key, others in rule.items():
                for other in others if key in value else ():
                    if other not in value:
                        yield Complaint((*pointer, key), "missing-key", f"{key} also needs the key {other}", True)
        case "anyOf" | "oneOf":
            yield from _branches(error)
        case "type":
            kinds = _list(rule)
            pattern = schema.get("pattern") if "string" in kinds else None
            if pattern and isinstance(value, int | Decimal) and not re.search(pattern, str(value)):
                # Quotes would not be enough to correct it.
                yield Complaint(pointer, "wrong-type", _describe_unlike(pattern, value, schema))
                return
            yield Complaint(pointer, "wrong-type", _none_of(map(_KINDS.__getitem__, kinds), value, (), kinds))
        case "enum" | "const":
            allowed = rule if keyword == "enum" else [rule]
            yield Complaint(pointer, "wrong-value", _none_of(map(_write, allowed), value, allowed))
        case _:
            yield Complaint(pointer, "wrong-value", _describe_wrong(keyword, rule, value, schema))


def _parts(error: SchemaError) -> tuple[tuple[str | int, ...], Any, Any, Any, dict[str, Any]]:
    schema = error.schema if isinstance(error.schema, dict) else {}
    return error.place, error.keyword, error.rule, error.value, schema


def _find_unknown(value: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    names, patterns = _keys(schema), schema.get("patternProperties", ())
    return (name for name in value if name not in names and not any(re.search(pattern, name) for pattern in patterns))


def _branches(error: SchemaError) -> Iterator[Complaint]:
    """Yield the complaints of the branch that was probably meant. The complaints of other branches are noise."""
    pointer, _, rules, value, schema = _parts(error)
    needs = [rule["required"][0] for rule in rules if isinstance(rule, dict) and set(rule) == {"required"}]
    if not any(error.branches):
        if needs and not isinstance(value, dict) and "type" in schema:
            return  # if it is not a mapping, that is the error to report
        both = [key for key in needs if isinstance(value, dict) and key in value]
        what = (
            f"only one of {_either(both, 'and')} may be given"
            if both
            else "matches several forms, but must match exactly one"
        )
        yield Complaint((*pointer, both[-1]) if both else pointer, "wrong-value", what, bool(both))
        return
    if needs and len(needs) == len(rules):
        yield Complaint(pointer, "missing-key", f"one of the keys {_either(needs)} is missing{_inside(pointer)}")
        return
    if all(any(map(_is_other, branch)) for branch in error.branches):
        others = [inner for branch in error.branches for inner in branch if _is_other(inner)]
        kinds = [kind for inner in others if inner.keyword == "type" for kind in _list(inner.rule)]
        words = [word for inner in others if inner.keyword != "type" for word in _list(inner.rule)]
        expected = dict.fromkeys([*map(_KINDS.__getitem__, kinds), *map(_write, words)])
        code = "wrong-value" if words else "wrong-type"
        yield Complaint(pointer, code, _none_of(expected, value, words, kinds))
        return
    for inner in min(error.branches, key=_distance):
        yield from of_file(inner)


def _is_other(error: SchemaError) -> bool:
    """Return whether the value as a whole has a type different from the branch's."""
    return error.keyword in ("type", "enum", "const") and not error.depth


def _distance(branch: Sequence[SchemaError]) -> tuple[int, int, int, int]:
    """Return the distance from a branch: another type, another marker, fewer common keys, more mistakes."""
    marks = sum(error.keyword in ("const", "enum") and error.depth == 1 for error in branch)
    common: set[str] = set()
    for error in branch:
        if not error.depth and isinstance(error.value, dict):
            common |= _keys(error.schema) & error.value.keys()
    return sum(map(_is_other, branch)), marks, -len(common), sum(1 for error in branch for _ in of_file(error))


def _keys(schema: Any) -> set[str]:
    """Return the keys that a schema mentions, including its subschemas."""
    if not isinstance(schema, dict):
        return set()
    names = set(schema.get("properties", ()))
    for keyword in ("allOf", "anyOf", "oneOf"):
        for inner in schema.get(keyword, ()):
            names |= _keys(inner)
    return names


def _describe_wrong(keyword: str | None, rule: Any, value: Any, schema: Mapping[str, Any]) -> str:
    """Return the rule, and the value unless it is obvious."""
    if keyword == "enum":
        return _none_of(map(_write, rule), value, rule)
    if keyword == "pattern":
        return _describe_unlike(rule, value, schema)
    is_quoted = keyword == "format" or (keyword in _LIMITS and not isinstance(value, dict | list))
    return f"{_rule(keyword, rule, schema)}{f', not {_quote(value)}' if is_quoted else ''}"


def _describe_unlike(pattern: str, value: Any, schema: Mapping[str, Any]) -> str:
    hint = f"; did you mean /{value}?" if re.search(pattern, f"/{value}") and "." not in str(value) else ""
    return f"{_rule('pattern', pattern, schema)}, not {_quote(value)}{hint}"


def _rule(keyword: str | None, rule: Any, schema: Mapping[str, Any]) -> str:
    if keyword in _LIMITS:
        if rule == 1 and keyword in _NOT_EMPTY:
            return "must not be empty"
        text = _LIMITS[keyword].format(rule)
        for many, noun in _ONE.items() if rule == 1 else ():
            text = text.replace(f"1 {many}", f"one {noun}")
        return text
    match keyword:
        case "format":
            return f"must be {EXPECTED.get(rule, f'a valid {rule}')}"
        case "enum" | "const":
            # The empty text means the same as no member, so do not suggest it.
            allowed = rule if keyword == "enum" else [rule]
            return f"must be {_either(_write(value) for value in allowed if value != '')}"
        case "pattern":
            # Use the description, because authors of values may not understand a regular expression.
            meaning = schema.get("description", "").partition(";")[0].removesuffix(".")
            return f"must be {meaning[0].lower()}{meaning[1:]}" if meaning else f"must match {rule}"
        case "uniqueItems":
            return "has the same entry twice"
        case "contains":
            return "lacks a required entry"
        case "not":
            return "has a form that is not allowed here"
        case None:
            return "contains something that is not allowed here"
    return f"does not satisfy {keyword}: {_write(rule)}"


def _none_of(expected: Iterable[str], value: Any, words: Iterable[Any] = (), kinds: Iterable[str] = ()) -> str:
    hint = did_you_mean(value, words) if isinstance(value, str) else ""
    if "string" in kinds and not isinstance(value, dict | list | None):
        hint = "; quote it to make it text"
    return f"must be {_either(expected)}, not {_quote(value)}{hint}"


def _list(rule: Any) -> list[Any]:
    return rule if isinstance(rule, list) else [rule]


def _either(words: Iterable[str], word: str = "or") -> str:
    *most, last = words
    return f"{', '.join(most)} {word} {last}" if most else last


def _choices(words: Iterable[str]) -> str:
    words = sorted(words)
    return f"; possible here: {', '.join(words)}" if 0 < len(words) <= 12 else ""


def _inside(pointer: tuple[str | int, ...]) -> str:
    names = [step for step in pointer if isinstance(step, str)]
    return f" in {names[-1]}" if names else ""


def _write(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list) else _quote(value)


def _quote(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return json.dumps(value if len(value) <= 60 else value[:57] + "...", ensure_ascii=False)
    return str(value) if len(str(value)) <= 60 else "a long number"
