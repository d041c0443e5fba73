"""One difference between a bank's answer and the sandbox's: what kind it is, where, and whether it matters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from xs2a_sandbox.documents.json_pointer import Pointer, pointer_text
from xs2a_sandbox.http.header_fields import counts
from xs2a_sandbox.http.media_type import is_json, split_parameters

Kind = Literal[
    "status",
    "header-missing",
    "header-extra",
    "header-changed",
    "member-missing",
    "member-extra",
    "type",
    "value",
    "format",
    "null",
    "length",
    "element-missing",
    "element-extra",
    "order",
    "drift",
    "state",
]
Severity = Literal["high", "medium", "low"]

SEVERITIES: tuple[Severity, ...] = get_args(Severity)

_HIGH: frozenset[Kind] = frozenset({"status", "member-missing", "type", "state"})
_LOW: frozenset[Kind] = frozenset({"header-missing", "header-extra", "member-extra", "order"})


@dataclass(frozen=True, slots=True)
class Difference:
    """The bank is right: *missing* is what it says and the sandbox does not, *extra* the other way round.

    It holds no value of an answer, only where to look: reports look into redacted answers. `place` is on the sandbox's
    side, `bank_place` on the bank's; a missing element stands at its place in the bank's array on both. `header` is
    the header's name as its sender writes it, and `named` says whether the interface names that header. `by` is the
    member by which the elements of an array were told apart, and `key` its value there. `drift`: how the bank's answer
    breaks the interface's own schema at this place.
    """

    kind: Kind
    place: Pointer = ()
    bank_place: Pointer = ()
    header: str | None = None
    named: bool = False
    by: str | None = None
    key: str | None = None
    drift: str | None = None

    @property
    def severity(self) -> Severity:
        if self.kind in _HIGH or (self.kind == "header-missing" and self.named):
            return "high"
        return "low" if self.kind in _LOW else "medium"

    @property
    def where(self) -> str:
        """`status`, `header Location`, or a JSON Pointer in the sandbox's answer; the empty one is the whole body."""
        if self.kind == "status":
            return "status"
        return f"header {self.header}" if self.header else pointer_text(self.place)


def is_at_least(severity: Severity, floor: Severity) -> bool:
    return SEVERITIES.index(severity) <= SEVERITIES.index(floor)


ALWAYS_COMPARED = frozenset({"content-type", "location", "aspsp-sca-approach"})
"""Names of headers that every interface of this kind has."""


def compared(headers: Sequence[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """By lower-case name: the name as written, and all its values in one."""
    fields: dict[str, tuple[str, str]] = {}
    for written, value in headers:
        if not counts(written):
            continue
        name = written.lower()
        value = _media_type(value) if name == "content-type" else value.strip()
        fields[name] = (fields[name][0], f"{fields[name][1]}, {value}") if name in fields else (written, value)
    return fields


def _media_type(text: str) -> str:
    """One of several spellings. JSON is UTF-8 whatever its charset says."""
    kind, parameters = split_parameters(text.lower())
    if is_json(kind):
        parameters.pop("charset", None)
    return "; ".join([kind, *(f"{name}={value}" for name, value in sorted(parameters.items()))])
