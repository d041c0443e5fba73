"""The headers of an interface that distinguish recorded requests."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.dialect.request import default_inputs
from xs2a_sandbox.cassette.dialect.things import default_things
from xs2a_sandbox.cassette.inputs import InputSource
from xs2a_sandbox.cassette.requirements import header_name

_OF_HTTP = ("Accept", "Accept-Language", "Content-Type")
_ALWAYS = ("consent",)
_DIFFERING = ("customer", "prefers_decoupled", "prefers_explicit", "prefers_redirect")
_PRESENT = ("customer_present", "nok_redirect_uri", "once", "redirect_uri")


@dataclass(frozen=True, slots=True)
class TellingHeaders:
    """Headers by name in lower case.

    The values of `always` always count, those of `differing` if requests differ in them.

    For `present` only the presence counts, not the value.
    """

    always: Mapping[str, str]
    differing: Mapping[str, str]
    present: Mapping[str, str]

    @property
    def names(self) -> dict[str, str]:
        return {**self.always, **self.differing, **self.present}


def telling_headers(interface: Interface | None) -> TellingHeaders:
    """Return the headers of a dialect that defines its inputs, or those of the bundled dialect."""
    inputs = interface.inputs if interface else {}
    things = interface.things if interface else default_things()
    sources = [inputs or default_inputs()]
    if interface:
        sources += [operation.behaviour.inputs for operation in interface.operations.values()]
    further = (place for naming in things.namings.values() for place in naming.telling)
    return TellingHeaders(
        _by_name(_find_names(sources, _ALWAYS)),
        _by_name((*_OF_HTTP, *_find_names(sources, _DIFFERING), *(header_name(place.name) for place in further))),
        _by_name(_find_names(sources, _PRESENT)),
    )


def _find_names(sources: list[Mapping[str, InputSource]], inputs: tuple[str, ...]) -> Iterator[str]:
    for input in inputs:
        for source in (by_name[input] for by_name in sources if input in by_name):
            yield from (place.name for place in source.places if place.part.part == "headers")


def _by_name(names: Iterator[str] | tuple[str, ...]) -> dict[str, str]:
    return {name.lower(): name for name in names}
