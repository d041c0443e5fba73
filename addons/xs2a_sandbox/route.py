"""Which operation of a bank a recorded request went to, and what of its path only names a resource."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from xs2a_sandbox.index import Index
from xs2a_sandbox.interface import Interface
from xs2a_sandbox.pattern import LITERAL, split_target

_VERSION = re.compile(r"v\d+(\.\d+)*")
_IBAN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_WORDS = re.compile(r"(?:[a-zA-Z]{1,31}|\d{1,3})(?:[-._](?:[a-zA-Z]{1,31}|\d{1,3}))*")
_NO_NAME = re.compile(r"[^a-z0-9]+")
_OTHER = "other"


@dataclass(frozen=True, slots=True)
class Route:
    """`path` is as cassettes write it, `parameters` are its values; `name` stands for method and path in ids.

    `resource` names the file that its rules go to: `consents`, `accounts`.
    """

    method: str
    path: str
    parameters: Mapping[str, str]
    name: str
    resource: str


class Routes:
    """Finds routes in an interface. Without one, or where it has no operation, segments that look like ids are ids."""

    def __init__(self, interface: Interface | None) -> None:
        self._index = Index(interface) if interface else None
        patterns = [operation.pattern for operation in interface.operations.values()] if interface else []
        firsts = {
            pattern.segments[0].text for pattern in patterns if pattern.segments[:1] and pattern.rank[0] == LITERAL
        }
        self._starts = firsts or {"v1"}

    def find(self, method: str, target: str) -> Route:
        segments = split_target(target).segments
        if self._index:
            found = self._index.find(method, segments)
            if found.operation:
                path, name = found.operation.pattern.text, found.operation.id
                return Route(method, path, found.parameters, name, _resource(found.segments))
            if found.methods or found.unfit:
                return _guessed(method, found.segments)
        # Where a replay will look for it.
        start = next((i for i, word in enumerate(segments) if word in self._starts), 0)
        return _guessed(method, segments[start:])


def slug(text: str) -> str:
    return _NO_NAME.sub("-", text.lower()).strip("-")[:60].strip("-") or _OTHER


def _guessed(method: str, segments: tuple[str, ...]) -> Route:
    parts: list[str] = []
    parameters: dict[str, str] = {}
    for segment in segments:
        if _is_id(segment):
            name = f"id{len(parameters) + 1}" if parameters else "id"
            parameters[name] = segment
            parts.append(f"{{{name}}}")
        else:
            parts.append(quote(segment, safe="!$&'()*+,;=:@~"))
    # The last slash of a path does not count, unless there is another one.
    path = "/" + "/".join(parts) + ("/" if parts and not parts[-1] else "")
    words = [part for part in parts if not _VERSION.fullmatch(part)]
    return Route(method, path, parameters, slug(" ".join([method, *words])), _resource(segments))


def _resource(segments: tuple[str, ...]) -> str:
    words = [segment for segment in segments if not _VERSION.fullmatch(segment)]
    return slug(words[0]) if words and not _is_id(words[0]) else _OTHER


def _is_id(segment: str) -> bool:
    if not any(character.isdigit() for character in segment) or _VERSION.fullmatch(segment):
        return False
    if segment.isdigit() or _IBAN.fullmatch(segment):
        return True
    # `pain.001-sepa-credit-transfers` is a product.
    return len(segment) >= 8 and not _WORDS.fullmatch(segment)
