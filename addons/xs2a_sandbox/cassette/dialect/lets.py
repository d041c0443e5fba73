"""The section `let`: values that a dialect names for all of its operations and rules, and checks of their uses."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from xs2a_sandbox.cassette.dialect.sections import Sections
from xs2a_sandbox.cassette.evaluation.expressions import SOURCE_ROOTS, Key, chains, compile_value
from xs2a_sandbox.cassette.model import Cassette, Operation, Pointer, Rule
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import ExpressionError, Problem

SECTION = "let"
_CONDITIONS = ("when", "that", "set", "delete")
"""Keys whose texts are expressions even without braces."""
_NO_EXPRESSIONS = ("doc", "examples", "title")
_WITH_OWN = ("respond", "sequence", "effects")
"""The parts of an operation or rule that see its own `let` values."""
_OF_ALL = ("every_request", "every_answer", "every_error", "errors")


def compile_lets(sections: Sections, problems: list[Problem]) -> dict[str, Any]:
    """Compile the values; they are computed in the scope of a request. Problems are added to `problems`."""
    compiled: dict[str, Any] = {}
    written = sections.get(SECTION)
    for name, value in written.items():

        def report(below: Pointer, text: str, name: str = name) -> None:
            problems.append(sections.problem((SECTION, name, *below), "expression", text))

        compiled[name] = compile_value(value, SOURCE_ROOTS, report)
        for below, keys in _find_uses(value):
            if not keys or not isinstance(keys[0], str):
                report(below, "a value under let refers to other values by their names: write let.NAME")
            elif text := _mistake(keys, written):
                report(below, text)
    for circle in _find_circles(written):
        text = f"let.{circle[0]} depends on itself{f', through {", ".join(circle[1:])}' if circle[1:] else ''}"
        problems.append(sections.problem((SECTION, circle[0]), "expression", text, key=True))
    return compiled


def find_unknown(by: Operation | Rule, names: Collection[str]) -> Iterator[Problem]:
    """Yield a problem for each `let` value that an operation or rule uses and nothing defines.

    `names` are the values that the dialect defines.
    """
    written = by.origin.written
    own: dict[str, Any] = written.get("let", {})
    aliases = [effect["as"] for effect in written.get("effects", ()) if "as" in effect]
    parts: list[tuple[Pointer, Any, set[str]]] = [
        ((key,), value, {*names, *own, *aliases} if key in _WITH_OWN else {*names})
        for key, value in written.items()
        if key not in ("let", *_NO_EXPRESSIONS)
    ]
    parts += [(("let", name), own[name], {*names, *list(own)[:position]}) for position, name in enumerate(own)]
    for pointer, value, known in parts:
        for below, keys in _find_uses(value, pointer):
            if text := _mistake(keys, known):
                yield by.origin.problem("expression", text, below)


def find_unknown_in_all(cassettes: Iterable[Cassette], names: Collection[str]) -> Iterator[Problem]:
    """Yield the same problems for the parts that a dialect defines once for all requests, answers and errors."""
    for cassette in cassettes:
        written = cassette.origin.written if cassette.origin else {}
        for key in (key for key in _OF_ALL if key in written):
            for below, keys in _find_uses(written[key], (key,)):
                if text := _mistake(keys, names):
                    yield cassette.place.problem("expression", text, below)


def _mistake(keys: tuple[Key, ...], names: Collection[str]) -> str | None:
    name = keys[0] if keys else None
    if not isinstance(name, str) or name in names:
        return None
    hint = did_you_mean(name, names) or (f"; there are {', '.join(sorted(names))}" if names else "")
    return f"unknown name let.{name}{hint}"


def _find_circles(written: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the names that depend on themselves, each circle once."""
    needs = {
        name: sorted({str(keys[0]) for _, keys in _find_uses(value) if keys and keys[0] in written})
        for name, value in written.items()
    }
    done: set[str] = set()

    def follow(name: str, way: list[str]) -> Iterator[list[str]]:
        if name in way:
            yield way[way.index(name) :]
        elif name not in done:
            for needed in needs[name]:
                yield from follow(needed, [*way, name])
            done.add(name)

    for name in needs:
        yield from follow(name, [])


def _find_uses(value: Any, pointer: Pointer = ()) -> Iterator[tuple[Pointer, tuple[Key, ...]]]:
    """Yield each place below a part of a cassette that uses `let`, with the keys that follow `let` there."""
    if isinstance(value, str):
        key = pointer[-1] if pointer else ""
        source = "{{ " + value + " }}" if key in _CONDITIONS and "{{" not in value else value
        if "{{" in source and "let" in source:
            yield from ((pointer, keys) for root, keys in _read_chains(source) if root == "let")
    elif isinstance(value, dict):
        if value.get("raw") is not True:
            for name, inner in value.items():
                yield from _find_uses(inner, (*pointer, name))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _find_uses(inner, (*pointer, position))


def _read_chains(source: str) -> Sequence[tuple[str, tuple[Key, ...]]]:
    """Return the chains of an expression, or none if it cannot be compiled, which is reported elsewhere."""
    try:
        return chains(source)
    except ExpressionError:
        return ()
