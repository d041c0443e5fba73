"""The members of bodies that are not JSON: fields of forms, parts of multipart bodies, elements of XML.

Their places are written as in JSON: `/grant_type`, `/Document/CstmrCdtTrfInitn/PmtInf/Dbtr/Nm`. Names of elements have
no namespaces, attributes start with `@`: `/Document/Amt/@Ccy`. Repeated members form a list: a number selects one of
them, as in `/Document/Stmt/Ntry/0/Amt`, and without a number all are meant.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl

from xs2a_sandbox.http import body as contents
from xs2a_sandbox.http.media_type import is_json, media_type
from xs2a_sandbox.http.multipart import is_multipart, parts
from xs2a_sandbox.http.xml import is_xml, local_name, parse_xml

if TYPE_CHECKING:
    from lxml import etree

FORM = "application/x-www-form-urlencoded"
Kind = Literal["json", "form", "multipart", "xml", "other"]

_NUMBER = re.compile("0|[1-9][0-9]{0,8}")
_BEGINNING_OF_JSON = (b"{", b"[")


@dataclass(frozen=True, slots=True)
class Member:
    """`value` is its text, or any scalar in a JSON part; `below` are its members by name, in order."""

    value: Any = ""
    below: Mapping[str, Sequence["Member"]] = field(default_factory=dict)


def kind_of(media: str) -> Kind:
    """Return how a body of this media type is parsed. An unknown or missing type is parsed as JSON."""
    if media == FORM:
        return "form"
    if is_multipart(media):
        return "multipart"
    if is_xml(media):
        return "xml"
    return "json" if not media or is_json(media) else "other"


def members(body: bytes, content_type: str | None) -> Member | None:
    """Parse the body. Returns None if it is JSON or has no members. Raises ValueError with the mistake."""
    # Programs such as curl declare JSON as a form if no type is given.
    read = None if body.lstrip()[:1] in _BEGINNING_OF_JSON else _READERS.get(kind_of(media_type(content_type)))
    try:
        return read(body) if read else None
    except RecursionError:
        raise ValueError("the body is nested too deep") from None


def at(member: Member, steps: Sequence[str]) -> Iterator[Any]:
    """Yield all values at this place, in order."""
    if not steps:
        yield member.value
        return
    first, *rest = steps
    occurrences = member.below.get(first, ())
    if len(occurrences) > 1 and rest and _NUMBER.fullmatch(rest[0]):
        occurrences, rest = occurrences[int(rest[0]) :][:1], rest[1:]
    for occurrence in occurrences:
        yield from at(occurrence, rest)


def leaves(member: Member, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each value with the steps that lead only to it."""
    if place and (member.value != "" or not member.below):
        yield place, member.value
    for name, occurrences in member.below.items():
        for number, occurrence in enumerate(occurrences):
            yield from leaves(occurrence, (*place, name) if len(occurrences) == 1 else (*place, name, str(number)))


def _form(body: bytes) -> Member:
    fields: defaultdict[str, list[Member]] = defaultdict(list)
    for name, text in parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True):
        fields[name].append(Member(text))
    return Member(below=fields)


def _multipart(body: bytes) -> Member:
    fields: defaultdict[str, list[Member]] = defaultdict(list)
    for part in parts(body):
        inner = None if is_multipart(part.media) else members(part.content, part.kind)
        content = contents.read(part.content) if inner is None else None
        if content and content.kind == "json" and (is_json(part.media) or isinstance(content.value, dict | list)):
            inner = _json(content.value)
        fields[part.name].append(inner or Member(part.content.decode("utf-8", "replace")))
    return Member(below=fields)


def _json(value: Any) -> Member:
    if isinstance(value, dict):
        return Member(below={name: (_json(inner),) for name, inner in value.items()})
    if isinstance(value, list):
        return Member(below={str(number): (_json(inner),) for number, inner in enumerate(value)})
    return Member(value)


def _xml(body: bytes) -> Member:
    root = parse_xml(body).getroot()
    return Member(below={local_name(root.tag): (_element(root),)})


def _element(element: "etree._Element") -> Member:
    below: defaultdict[str, list[Member]] = defaultdict(list)
    for name, text in element.attrib.items():
        below[f"@{local_name(str(name))}"].append(Member(str(text)))
    # The tag of comments and processing instructions is not a string.
    for child in (child for child in element if isinstance(child.tag, str)):
        below[local_name(child.tag)].append(_element(child))
    return Member((element.text or "").strip(), below)


_READERS: Mapping[Kind, Callable[[bytes], Member]] = {"form": _form, "multipart": _multipart, "xml": _xml}
