"""Finds the operation of a recorded request, and which parts of its path are ids."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from pathlib import Path
from urllib.parse import quote

from xs2a_sandbox.cassette import Interface, Operation
from xs2a_sandbox.cassette.index import Index
from xs2a_sandbox.cassette.path_pattern import beginnings
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.recording.har_log import raw_files, read_head, read_raw
from xs2a_sandbox.redaction.body import note_of

_VERSION = re.compile(r"v\d+(\.\d+)*")
_IBAN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_WORDS = re.compile(r"(?:[a-zA-Z]{1,31}|\d{1,3})(?:[-._](?:[a-zA-Z]{1,31}|\d{1,3}))*")
_NO_NAME = re.compile(r"[^a-z0-9]+")
_OTHER = "other"


@dataclass(frozen=True, slots=True)
class RecordedRoute:
    """`path` is in the form of cassettes, `parameters` are its values; `name` represents method and path in ids.

    `resource` is the name of the file for its rules: `consents`, `accounts`; `operation` is None if the route is
    guessed.
    """

    method: str
    path: str
    parameters: Mapping[str, str]
    name: str
    resource: str
    operation: Operation | None = None


class Routes:
    """Finds routes in an interface. Without an operation, segments that look like ids are ids."""

    def __init__(self, interface: Interface | None) -> None:
        self._index = Index(interface) if interface else None
        operations = interface.operations.values() if interface else ()
        self._starts = beginnings(operation.pattern for operation in operations) or {"v1"}

    def find(self, method: str, target: str) -> RecordedRoute:
        """Return the route from the beginning of the interface."""
        return self._find(method, split_target(target).segments)[0]

    def find_whole(self, method: str, target: str) -> RecordedRoute:
        """Return the route including the prefix before the interface, because a bank may have several prefixes."""
        segments = split_target(target).segments
        route, before = self._find(method, segments)
        return replace(route, path="".join(f"/{_write(word)}" for word in segments[:before]) + route.path)

    def _find(self, method: str, segments: tuple[str, ...]) -> tuple[RecordedRoute, int]:
        """Return the route, and the number of segments before it."""
        if self._index:
            lookup = self._index.find(method, segments)
            before = len(segments) - len(lookup.segments)
            if lookup.operation:
                path, name = lookup.operation.pattern.text, lookup.operation.id
                resource = _resource(lookup.segments)
                return RecordedRoute(method, path, lookup.parameters, name, resource, lookup.operation), before
            if lookup.methods or lookup.unfit:
                return _guess(method, lookup.segments), before
        before = next((i for i, word in enumerate(segments) if word in self._starts), 0)
        return _guess(method, segments[before:]), before


def slug(text: str) -> str:
    return _NO_NAME.sub("-", text.lower()).strip("-")[:60].strip("-") or _OTHER


def _guess(method: str, segments: tuple[str, ...]) -> RecordedRoute:
    parts: list[str] = []
    parameters: dict[str, str] = {}
    for segment in segments:
        if _is_id(segment):
            name = f"id{len(parameters) + 1}" if parameters else "id"
            parameters[name] = segment
            parts.append(f"{{{name}}}")
        else:
            parts.append(_write(segment))
    # The last slash of a path does not count, unless there are two.
    path = "/" + "/".join(parts) + ("/" if parts and not parts[-1] else "")
    words = [part for part in parts if not _VERSION.fullmatch(part)]
    return RecordedRoute(method, path, parameters, slug(" ".join([method, *words])), _resource(segments))


def _write(word: str) -> str:
    return quote(word, safe="!$&'()*+,;=:@~")


def _resource(segments: tuple[str, ...]) -> str:
    words = [segment for segment in segments if not _VERSION.fullmatch(segment)]
    return slug(words[0]) if words and not _is_id(words[0]) else _OTHER


def _is_id(segment: str) -> bool:
    if not any(character.isdigit() for character in segment) or _VERSION.fullmatch(segment):
        return False
    if segment.isdigit() or _IBAN.fullmatch(segment):
        return True
    # Words with dots and hyphens are a product.
    return len(segment) >= 8 and not _WORDS.fullmatch(segment)


METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})

_TOKEN = re.compile(
    r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|\d{4}-\d\d-\d\d[Tt][0-9:.]+(?:[Zz]|[+-]\d\d:\d\d)"
)


@dataclass(frozen=True, slots=True)
class RoutedExchange:
    """An entry and its position: `number` counts all entries, `file` the raw files.

    `redacted` is from the file's header.
    """

    number: int
    file: int
    redacted: str | None
    entry: Exchange
    route: RecordedRoute

    @property
    def operation(self) -> str:
        """The requested operation, or method and path if there is none."""
        return self.route.operation.id if self.route.operation else f"{self.route.method} {self.route.path}"

    @property
    def request(self) -> str:
        """Method and path, which are the same if the request is recorded again."""
        return f"{self.entry.method} {self.entry.target.partition('?')[0]}"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An exchange that is not complete in the rules, with the reason.

    `lacking` if the recording does not have the data.
    """

    exchange: RoutedExchange
    reason: str
    lacking: bool = False

    def __str__(self) -> str:
        time = self.exchange.entry.time.astimezone(UTC).isoformat(timespec="seconds")
        return f"{self.exchange.request} at {time}: {self.reason}"

    @property
    def without_time(self) -> str:
        """The text, which is the same if the request is recorded again."""
        return f"{self.exchange.request}: {self.reason}"


def read(directory: Path, routes: Routes, left_out: list[LeftOut]) -> tuple[list[RoutedExchange], dict[str, int]]:
    """Return exchanges for which rules can be made, and tokens that the bank used first, with the exchange's number."""
    exchanges: list[RoutedExchange] = []
    clients: set[str] = set()
    banks: dict[str, int] = {}
    number = 0
    for position, file in enumerate(raw_files(directory)):
        redacted = read_head(file).get("redacted") or None
        for entry in read_raw(file):
            number += 1
            clients |= _tokens(entry.target, entry.headers.pairs, entry.body) - banks.keys()
            for token in _tokens("", entry.answer_headers.pairs, entry.answer_body) - clients:
                banks.setdefault(token, number)
            key = None if redacted is None else str(redacted)
            newest = RoutedExchange(number, position, key, entry, routes.find_whole(entry.method, entry.target))
            if reason := _explain_unfit(entry):
                left_out.append(LeftOut(newest, reason, lacking=True))
                continue
            exchanges.append(newest)
            if entry.status >= 400 and (reason := _explain_unreadable(entry)):
                left_out.append(LeftOut(newest, f"{reason}, so the rule answers without a body", lacking=True))
    return exchanges, banks


def _tokens(target: str, headers: Iterable[tuple[str, str]], body: bytes) -> set[str]:
    text = "\n".join([target, *(value for _, value in headers), body.decode(errors="replace")])
    return {token.lower() for token in _TOKEN.findall(text)} if "-" in text else set()


def _explain_unfit(entry: Exchange) -> str | None:
    if entry.cut:
        return "its answer was not recorded completely"
    # Redirects and errors are useful without a body as well.
    if entry.status < 300 and (reason := _explain_unreadable(entry)):
        return reason
    if not 200 <= entry.status <= 599:
        return f"a rule cannot answer with status {entry.status}"
    if entry.method not in METHODS:
        return f"a rule cannot match the method {entry.method}"
    if len(entry.body) > USUAL.body:
        return "its body is larger than the sandbox accepts"
    if not entry.target.startswith("/") or not entry.target.isprintable():
        return "its target is not a path"
    return None


def _explain_unreadable(entry: Exchange) -> str | None:
    """Return why the body of the answer cannot be replayed."""
    if note := note_of(entry.answer_body):
        return f"the body of its answer is not recorded ({note})"
    return None


def by_route(exchanges: Sequence[RoutedExchange], left_out: list[LeftOut]) -> Iterator[list[RoutedExchange]]:
    """Yield the exchanges of each method and path with the bank that was asked last, in a stable order."""
    routes: defaultdict[tuple[str, str], list[RoutedExchange]] = defaultdict(list)
    for recorded in exchanges:
        routes[recorded.route.path, recorded.route.method].append(recorded)
    for _, group in sorted(routes.items()):
        bank = group[-1].entry.bank
        text = f"{bank} answered the same request later; record each bank into its own folder"
        left_out += [
            LeftOut(recorded, f"it went to {recorded.entry.bank}; {text}")
            for recorded in group
            if recorded.entry.bank != bank
        ]
        yield [recorded for recorded in group if recorded.entry.bank == bank]
