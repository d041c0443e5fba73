"""A difference between a bank's answer and the sandbox's: its kind, its place, and its severity."""

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

Consequence = Literal[
    "status",
    "error-code",
    "state",
    "required-missing",
    "link-missing",
    "other-type",
    "unknown-enum",
    "against-schema",
    "unlisted-member",
    "other-sign",
    "other-link",
    "other-identifier",
    "order-with-meaning",
    "header-with-effect",
    "more",
    "optional-missing",
    "null-or-absent",
    "known-enum",
    "other-currency",
    "other-elements",
    "other-value",
    "order",
    "schema",
    "header",
]


@dataclass(frozen=True, slots=True)
class Weight:
    """A row of the table. `reason` is shown in the documentation."""

    severity: Severity
    reason: str


WEIGHTS: dict[Consequence, Weight] = {
    "status": Weight("high", "A different status: the app takes another path."),
    "error-code": Weight("high", "A different error code: apps distinguish errors by their code."),
    "state": Weight("high", "The bank reaches a state that the sandbox never reaches: the app is not prepared for"
                            " it."),
    "required-missing": Weight("high", "The bank lacks a member that the schema requires: the app reads it without"
                                       " checking."),
    "link-missing": Weight("high", "The bank lacks a link that the sandbox gives: the app cannot continue."),
    "other-type": Weight("high", "A string and a number, an object and null, JSON and a web page: the app cannot read"
                                 " it."),
    "unknown-enum": Weight("high", "A value that the schema does not list: the app has no case for it."),
    "against-schema": Weight("high", "The bank violates the format that the schema requires or, without a schema, the"
                                     " format that the sandbox uses: `21.11.2026`, `12,30`. The app's parser fails."),
    "unlisted-member": Weight("high", "The bank has a member that the schema forbids: a strict parser rejects it."),
    "other-sign": Weight("high", "A number with a different sign: the money flows in the other direction."),
    "other-link": Weight("high", "A link to another place: an app that follows it does something else."),
    "other-identifier": Weight("high", "An identifier that refers to something else on the other side."),
    "order-with-meaning": Weight("high", "A different order in a list whose order is significant in the schema"
                                         " (`x-order`): an app that expects the newest element first is wrong."),
    "header-with-effect": Weight("high", "A header that affects clients, or that the cassettes define for the"
                                         " operation, is missing on one side or has a different value."),
    "more": Weight("medium", "The bank sends more than the sandbox, and the schema allows it: a tolerant parser"
                             " ignores it."),
    "optional-missing": Weight("medium", "The bank lacks a member that the schema does not require: the app should be"
                                         " prepared for that."),
    "null-or-absent": Weight("medium", "Null on one side, no member on the other: most parsers treat these the same."),
    "known-enum": Weight("medium", "A different value from the schema's list: the app knows it, but takes another"
                                   " path."),
    "other-currency": Weight("medium", "A different currency: amounts mean something else."),
    "other-elements": Weight("medium", "More or fewer elements: usually different data."),
    "other-value": Weight("medium", "A different text, number or date in the same format: usually different data."),
    "order": Weight("medium", "The same elements in a different order that has no meaning: it matters only to an app"
                              " that relies on it."),
    "schema": Weight("medium", "Both sides violate the schema in the same way: an app that works here works there,"
                               " and the schema is wrong."),
    "header": Weight("low", "A header without an effect on clients."),
}  # fmt: skip
"""The effects of differences on an app, the worst first."""

_USUAL: dict[Kind, Consequence] = {
    "status": "status",
    "member-missing": "more",
    "member-extra": "required-missing",
    "type": "other-type",
    "value": "other-value",
    "format": "against-schema",
    "null": "null-or-absent",
    "length": "other-elements",
    "element-missing": "other-elements",
    "element-extra": "other-elements",
    "order": "order",
    "drift": "schema",
    "state": "state",
}
"""The default consequences, if nothing is known about the place."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The bank is right: *missing* means that only the bank has it, *extra* that only the sandbox has it.

    It contains no values, only places: reports read redacted answers. `place` is on the sandbox's side, `bank_place` on
    the bank's; a missing element has its place in the bank's array on both. `header` is the name as its sender writes
    it, and `named` says whether the interface names that header. `by` is the member that identified the elements of an
    array, and `key` its value. `drift` describes how the bank's answer violates the interface's own schema, and
    `drift_place` is the place if it is not `bank_place`. `means` is the effect on an app, if more is known than the
    kind, and `weighed` is the severity that the user has set.
    """

    kind: Kind
    place: Pointer = ()
    bank_place: Pointer = ()
    header: str | None = None
    named: bool = False
    by: str | None = None
    key: str | None = None
    drift: str | None = None
    drift_place: Pointer | None = None
    means: Consequence | None = None
    weighed: Severity | None = None

    @property
    def consequence(self) -> Consequence:
        if self.means is None and self.header is not None:
            return "header-with-effect" if self.named else "header"
        return self.means or _USUAL.get(self.kind, "header")

    @property
    def severity(self) -> Severity:
        return self.weighed or WEIGHTS[self.consequence].severity

    @property
    def where(self) -> str:
        """`status`, `header Location`, or a JSON Pointer into the sandbox's answer.

        An empty pointer is the whole body.
        """
        if self.kind == "status":
            return "status"
        return f"header {self.header}" if self.header else pointer_text(self.place)


def is_at_least(severity: Severity, floor: Severity) -> bool:
    return SEVERITIES.index(severity) <= SEVERITIES.index(floor)


ACTED_ON = frozenset("allow aspsp-sca-approach content-type link location retry-after www-authenticate".split())
"""The headers that affect clients, in every interface of this kind."""


def collect_headers(headers: Sequence[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Return the headers by lower-case name, with the name as written and all values joined."""
    fields: dict[str, tuple[str, str]] = {}
    for written, value in headers:
        if not counts(written):
            continue
        name = written.lower()
        value = _media_type(value) if name == "content-type" else value.strip()
        fields[name] = (fields[name][0], f"{fields[name][1]}, {value}") if name in fields else (written, value)
    return fields


def _media_type(text: str) -> str:
    """Normalise the spelling of a media type. JSON is always UTF-8, so its charset is ignored."""
    kind, parameters = split_parameters(text.lower())
    if is_json(kind):
        parameters.pop("charset", None)
    return "; ".join([kind, *(f"{name}={value}" for name, value in sorted(parameters.items()))])
