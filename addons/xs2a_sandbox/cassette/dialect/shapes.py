"""The section `shapes`: templates that a dialect names, and checks of every place that uses one."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

from xs2a_sandbox.cassette.amend import AMEND_RESULT_ROOTS, AMEND_ROOTS
from xs2a_sandbox.cassette.dialect import callbacks
from xs2a_sandbox.cassette.dialect.references import find_unknown
from xs2a_sandbox.cassette.dialect.sections import Sections
from xs2a_sandbox.cassette.evaluation.expressions import (
    ERROR_ROOTS,
    IT,
    RESULT_ROOTS,
    ROOTS,
    is_each,
    is_renamed,
    is_shaped,
    is_special,
)
from xs2a_sandbox.cassette.evaluation.shape_source import Use
from xs2a_sandbox.cassette.evaluation.shapes import CompiledShape, compile_shapes
from xs2a_sandbox.cassette.model import Cassette, ErrorAnswer, Operation, Pointer, Rule
from xs2a_sandbox.errors import Problem

SECTION = "shapes"
SHAPE_ROOTS = RESULT_ROOTS | ERROR_ROOTS | callbacks.ROOTS | {"answer", "let", callbacks.RECEIVER}
"""All roots that exist anywhere. `check_uses` checks that they exist at the place where the shape is used."""
_WITH_SHAPES = ("let", "respond", "sequence", "effects", "amend")


def read(sections: Sections, problems: list[Problem]) -> Mapping[str, CompiledShape]:
    """Compile the shapes of all layers. Problems are added to `problems`."""

    def report(name: str, below: Pointer, text: str) -> None:
        problems.append(sections.problem((SECTION, name, *below), "expression", text))

    shapes = compile_shapes(templates(sections), SHAPE_ROOTS, report)
    for name, shape in shapes.items():
        for use in shape.uses:
            if text := find_unknown("shape", use.name, shapes):
                problems.append(sections.problem((SECTION, name, *use.pointer), "unknown-shape", text))
            elif way := _find_way(shapes, use.name, name):
                text = f"the shape {name} uses itself" + (f", through {', '.join(way)}" if way[:-1] else "")
                problems.append(sections.problem((SECTION, name, *use.pointer), "shape", text))
    return shapes


def templates(sections: Sections) -> Mapping[str, Any]:
    """Return the templates of all layers by name, not compiled."""
    return reduce(_lay, sections.said(SECTION), {})


def _lay(below: Any, above: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mapping with the changes of a layer: members are added or replaced, and null removes a member.

    Two `rename` mappings are merged in the same way. Every other value is replaced as a whole. `name` and `name?` are
    the same member. A layer that names all members also determines their order.
    """
    laid = dict(below)
    for name, value in above.items():
        other = name.removesuffix("?") if name.endswith("?") else f"{name}?"
        if other in laid:
            laid = {name if key == other else key: inner for key, inner in laid.items()}
        if value is None and name in laid:
            del laid[name]
        elif _is_plain_mapping(value) and _is_plain_mapping(laid.get(name)):
            laid[name] = _lay(laid[name], value)
        elif _is_renamed(value) and _is_renamed(laid.get(name)):
            laid[name] = {**laid[name], **value, "rename": {**laid[name]["rename"], **value["rename"]}}
        else:
            laid[name] = value
    return {name: laid[name] for name in above if name in laid} if laid.keys() <= above.keys() else laid


def _is_renamed(value: Any) -> bool:
    return isinstance(value, dict) and is_renamed(value)


def _is_plain_mapping(value: Any) -> bool:
    return isinstance(value, dict) and not is_special(value)


def _find_way(shapes: Mapping[str, CompiledShape], start: str, end: str) -> tuple[str, ...]:
    """Return the chain of shapes that leads from one to another, including `end`; empty if there is none."""
    ways: list[tuple[str, ...]] = [(start,)]
    seen = {start}
    for way in ways:
        if way[-1] == end:
            return way
        further = {use.name for use in shapes[way[-1]].uses} & shapes.keys() - seen
        seen |= further
        ways += [(*way, name) for name in sorted(further)]
    return ()


def check_uses(
    entries: Iterable[Operation | Rule], errors: Iterable[ErrorAnswer], shapes: Mapping[str, CompiledShape]
) -> Iterator[Problem]:
    """Yield problems with unknown shapes, and with shapes that read roots not available at their place of use."""
    for by in entries:
        yield from _check(by.origin.problem, _uses_of(by), shapes)
        for use in _uses_in_values(by.origin.written.get("require")):
            yield by.origin.problem("shape", "the values of an error response cannot use shapes", use.pointer)
    for error in errors:
        yield from _check(error.origin.problem, ((use, ERROR_ROOTS) for use in _uses_of_error(error)), shapes)


def check_every(cassettes: Iterable[Cassette], shapes: Mapping[str, CompiledShape]) -> Iterator[Problem]:
    """Yield the same problems for the parts common to every answer and every error."""
    for cassette in cassettes:
        if cassette.origin:
            yield from _check(cassette.origin.problem, _uses_of_every(cassette.origin.written), shapes)


def check_callbacks(sections: Sections, shapes: Mapping[str, CompiledShape]) -> Iterator[Problem]:
    """Yield the same problems for the callbacks."""

    def report(code: str, text: str, below: Pointer) -> Problem:
        return sections.problem((callbacks.SECTION, *below), code, text)

    yield from _check(report, _uses_of_callbacks(sections), shapes)


def find_unused(
    sections: Sections,
    shapes: Mapping[str, CompiledShape],
    entries: Iterable[Operation | Rule],
    errors: Iterable[ErrorAnswer],
    cassettes: Iterable[Cassette],
) -> Iterator[Problem]:
    used = {use.name for by in entries for use, _ in _uses_of(by)}
    used |= {use.name for error in errors for use in _uses_of_error(error)}
    used |= {use.name for one in cassettes if one.origin for use, _ in _uses_of_every(one.origin.written)}
    used |= {use.name for use, _ in _uses_of_callbacks(sections)}
    used |= {use.name for use in _uses(sections.get("let"), ("let",))}
    names = [*(used & shapes.keys())]
    for name in names:
        names += {use.name for use in shapes[name].uses} & shapes.keys() - set(names)
    for name in sorted(shapes.keys() - set(names)):
        yield sections.problem((SECTION, name), "unused-shape", f"nothing uses the shape {name}", key=True)


type _UseWithRoots = tuple[Use, frozenset[str]]


def _uses_of(by: Operation | Rule) -> Iterator[_UseWithRoots]:
    """Yield the shapes that the operation or rule uses, with the roots that exist there."""
    written = by.origin.written
    roots = RESULT_ROOTS if "handler" in written else ROOTS
    if "let" in written or any("as" in effect for effect in written.get("effects", ())):
        roots |= {"let"}
    for key in _WITH_SHAPES:
        for use in _uses(written.get(key), (key,)):
            yield use, _roots_of_amending(use) if key == "amend" else roots


def _roots_of_amending(use: Use) -> frozenset[str]:
    return AMEND_RESULT_ROOTS if use.pointer[1] == "result" else AMEND_ROOTS


def _uses_in_values(require: Any) -> Iterator[Use]:
    for number, step in enumerate(require if isinstance(require, list) else ()):
        yield from _uses(step.get("values"), ("require", number, "values"))
    if isinstance(require, dict):
        yield from _uses(require.get("values"), ("require", "values"))


def _uses_of_error(error: ErrorAnswer) -> Iterator[Use]:
    for key in ("headers", "body"):
        yield from _uses(error.origin.written.get(key), (key,))


def _uses_of_every(written: Mapping[str, Any]) -> Iterator[_UseWithRoots]:
    for key, roots in (("every_answer", ROOTS), ("every_error", ERROR_ROOTS)):
        for use in _uses(written.get(key), (key,)):
            yield use, roots


def _uses_of_callbacks(sections: Sections) -> Iterator[_UseWithRoots]:
    for id, spec in sections.get(callbacks.SECTION).items():
        for key in ("let", "request"):
            for use in _uses(spec.get(key), (id, key)):
                yield use, callbacks.roots_of(spec)


def _uses(value: Any, pointer: Pointer) -> Iterator[Use]:
    if isinstance(value, dict):
        if value.get("raw") is True and pointer[:1] in (("respond",), ("sequence",)) and len(pointer) <= 2:
            return
        if "shape" in value and (is_shaped(value) or is_each(value)):
            yield Use(value["shape"], (*pointer, "shape"), "of" in value or "each" in value)
        for name, inner in value.items():
            yield from _uses(inner, (*pointer, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _uses(inner, (*pointer, number))


def _check(
    report: Callable[[str, str, Pointer], Problem],
    uses: Iterable[_UseWithRoots],
    shapes: Mapping[str, CompiledShape],
) -> Iterator[Problem]:
    for use, roots in uses:
        if text := find_unknown("shape", use.name, shapes):
            yield report("unknown-shape", text, use.pointer)
            continue
        needed = _needed(shapes, use.name, set())
        if not use.is_given and IT in needed:
            text = f"the shape {use.name} needs a value: write `of` next to it"
            yield report("shape", text, use.pointer)
        if lacking := sorted(needed - roots - {IT}):
            text = f"the shape {use.name} reads {' and '.join(lacking)}, which is not available where the shape is used"
            yield report("shape", text, use.pointer)


def _needed(shapes: Mapping[str, CompiledShape], name: str, seen: set[str]) -> frozenset[str]:
    """Return the roots that the shape reads, directly or through other shapes."""
    if name in seen or name not in shapes:
        return frozenset()
    seen.add(name)
    needed = shapes[name].reads
    for use in shapes[name].uses:
        theirs = _needed(shapes, use.name, seen)
        needed |= theirs - {IT} if use.is_given else theirs
    return needed
