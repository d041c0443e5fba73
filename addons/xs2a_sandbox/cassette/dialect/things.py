"""The section `things` of a dialect: the places of consents, payments, accounts and so on in requests and answers."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect.sections import Sections
from xs2a_sandbox.cassette.evaluation.expressions import chains
from xs2a_sandbox.cassette.things import Naming, Place, Things
from xs2a_sandbox.documents import yaml_reader
from xs2a_sandbox.errors import ExpressionError, Problem

SECTION = "things"
_IN_REQUESTS = ("path", "query", "headers", "body")


def read(sections: Sections, problems: list[Problem]) -> Things:
    """Return the things of all layers, or those of the bundled dialect. Problems are added to `problems`."""

    def note(pointer: tuple[str | int, ...], text: str) -> None:
        problems.append(sections.problem((SECTION, *pointer), "wrong-value", text))

    section = sections.get(SECTION)
    return _read(section, note) if section else default_things()


@cache
def default_things() -> Things:
    """Return the things of the bundled dialect, for recordings that belong to no dialect."""
    document = yaml_reader.read(bundled("cassettes") / "xs2a-1.84" / "things.yaml")
    return _read(document.value[SECTION], lambda pointer, text: None)


def _read(section: Mapping[str, Any], note: Any) -> Things:
    return Things({name: _naming(name, spec, note) for name, spec in section.items()})


def _naming(name: str, spec: Mapping[str, Any], note: Any) -> Naming:
    places = list(_places(name, "id", spec, (*_IN_REQUESTS, "answer"), note))
    answered = tuple(place for place in places if place.part == "answer")
    in_bodies = (place.name for place in places if place.part in ("answer", "body"))
    return Naming(
        name,
        tuple(place for place in places if place.part != "answer"),
        answered,
        next(_places(name, "state", spec, ("answer",), note), None),
        tuple(spec.get("decided", ())),
        tuple(dict.fromkeys([*spec.get("named", ()), *in_bodies])),
        tuple(spec.get("key", ())),
        tuple(spec.get("page", ())),
        tuple(_places(name, "present", spec, _IN_REQUESTS, note)),
        tuple(_places(name, "telling", spec, ("headers",), note)),
    )


def _places(name: str, key: str, spec: Mapping[str, Any], parts: tuple[str, ...], note: Any) -> Iterator[Place]:
    written = spec.get(key, [])
    for number, text in enumerate(written if isinstance(written, list) else [written]):
        try:
            yield _place(text, parts)
        except (ExpressionError, ValueError) as error:
            note((name, key, number) if isinstance(written, list) else (name, key), str(error))


def _place(text: str, parts: tuple[str, ...]) -> Place:
    """Parse a place such as `path.id`. Raises ExpressionError, ValueError."""
    found = chains("{{ " + text + " }}")
    part, steps = found[0] if len(found) == 1 else ("", ())
    if part not in parts or not steps or not all(isinstance(step, str) for step in steps) or not _is_chain(text):
        raise ValueError(f"{text!r} is not a place: it must be a name below {', '.join(parts)}, such as {parts[-1]}.id")
    if part not in ("body", "answer") and len(steps) > 1:
        raise ValueError(f"{text!r} is too deep: write only one name after {part}, such as {part}.id")
    names = tuple(str(step).lower() if part == "headers" else str(step) for step in steps)
    return Place(part, names)  # type: ignore[arg-type]


def _is_chain(text: str) -> bool:
    """Return whether the text contains only names, dots and quoted names in brackets, without operators."""
    return not any(sign in text for sign in "|~()+*/{} ")
