"""Searches the journal for exchanges: whether they occur often enough, and which are most similar if not."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Any, Literal
from urllib.parse import parse_qsl

from xs2a_sandbox.cassette.evaluation.values import contains
from xs2a_sandbox.http import to_json
from xs2a_sandbox.http.error_body import read_errors
from xs2a_sandbox.journal.journal import Journaled, path_fits, read_json

_SHOWN = 10
_NEAREST = 3
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter of the journal, with the type of its value and its help on the command line.

    A filter without `help` is not available on the command line.
    """

    name: str
    kind: Literal["text", "number", "texts", "json"]
    metavar: str = ""
    help: str = ""


def _filter(kind: str, metavar: str = "", help: str = "") -> Any:
    return field(default=None, metadata={"kind": kind, "metavar": metavar, "help": help})


@dataclass(frozen=True, slots=True)
class Search:
    """A search for exchanges: all given values must match.

    `path` may contain `*` for any text; paths from `/v1/` on also match with any prefix. `headers` and `query` are
    values by name that must be equal; `body` is JSON that the request's body must contain. The fields are the available
    filters: see `FILTERS`.
    """

    session: str | None = _filter("text")
    method: str | None = _filter("text", "METHOD", "Only with this method.")
    path: str | None = _filter("text", "PATH", "Only with this path; * matches anything.")
    status: int | None = _filter("number", "N", "Only with this status.")
    source: str | None = _filter("text", "NAME", "Only answered by this source: handler, rule, bank or sandbox.")
    rule: str | None = _filter("text", "ID", "Only answered by this rule or operation.")
    since: int | None = _filter("number", "N", "Only exchanges after number N.")
    before: int | None = _filter("number", "N", "Only exchanges before number N.")
    text: str | None = _filter(
        "text", "TEXT", "Only exchanges that contain this text in the address, headers, bodies, reason or rule."
    )
    headers: Mapping[str, str] | None = _filter("texts")
    query: Mapping[str, str] | None = _filter("texts")
    body: Any = field(default=None, metadata={"kind": "json"})

    def differences(self, entry: Journaled) -> list[tuple[str, str]]:
        """Return the places where the exchange does not match, each with the difference in words.

        Empty if it matches.
        """
        differences = []
        for name in ("session", "method", "status", "source", "rule"):
            expected, value = getattr(self, name), getattr(entry, name)
            if expected is not None and expected != value:
                differences.append((name, f"the {name} is {'none' if value is None else value}, not {expected}"))
        if self.path is not None and not path_fits(entry.path, self.path):
            differences.append(("path", f"the path is {entry.path}, not {self.path}"))
        if self.since is not None and entry.number <= self.since:
            differences.append(("since", f"the number is {entry.number}, not after {self.since}"))
        if self.before is not None and entry.number >= self.before:
            differences.append(("before", f"the number is {entry.number}, not before {self.before}"))
        if self.text is not None and not _holds(entry, self.text):
            differences.append(("text", f"it does not contain {_shorten(self.text)}"))
        for name, expected in (self.headers or {}).items():
            if expected not in (values := entry.headers.all(name)):
                text = f"the header {name} is {', '.join(values) or 'absent'}, not {expected}"
                differences.append((f"headers.{name}", text))
        sent = parse_qsl(entry.target.partition("?")[2], keep_blank_values=True)
        for name, expected in (self.query or {}).items():
            if expected not in (values := [value for key, value in sent if key == name]):
                text = f"{name} in the query is {', '.join(values) or 'absent'}, not {expected}"
                differences.append((f"query.{name}", text))
        if self.body is not None and not contains(entry.json, read_json(to_json(self.body))):
            differences.append(("body", f"the body does not contain {_shorten(to_json(self.body).decode())}"))
        return differences

    def __str__(self) -> str:
        words = [self.method or "any method", self.path or "any path"]
        for filter_ in fields(self):
            value = getattr(self, filter_.name)
            if filter_.name not in ("method", "path") and value not in (None, {}):
                text = value if isinstance(value, str | int) else to_json(value).decode()
                words.append(f"{filter_.name}={_shorten(str(text))}")
        return " ".join(words)


def _holds(entry: Journaled, text: str) -> bool:
    """Return whether the text is anywhere in the exchange, ignoring case."""
    text = text.lower()
    texts = (entry.target, entry.rule or "", entry.reason or "", *chain(*entry.headers, *entry.answer_headers))
    body = text.encode()
    return (
        any(text in text_there.lower() for text_there in texts)
        or body in entry.body.lower()
        or body in entry.answer_body.lower()
    )


FILTERS = tuple(Filter(field.name, **field.metadata) for field in fields(Search))


@dataclass(frozen=True, slots=True)
class Times:
    """An expected number of exchanges. If `most` is None, there is no maximum."""

    least: int = 1
    most: int | None = None

    def __contains__(self, count: object) -> bool:
        return isinstance(count, int) and self.least <= count and (self.most is None or count <= self.most)

    def __str__(self) -> str:
        if self.most is None:
            return f"at least {_say_times(self.least)}"
        if self.least == self.most:
            return _say_times(self.least) if self.least else "never"
        return f"{self.least} to {self.most} times" if self.least else f"at most {_say_times(self.most)}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`fitting` are the exchanges that match, `nearest` the most similar others, each with its differences."""

    search: Search
    times: Times
    fitting: tuple[Journaled, ...]
    seen: tuple[Journaled, ...]
    nearest: tuple[tuple[Journaled, tuple[tuple[str, str], ...]], ...]

    @property
    def holds(self) -> bool:
        return len(self.fitting) in self.times

    def __str__(self) -> str:
        times = _say_times(len(self.fitting)) if self.fitting else "never"
        lines = [f"expected {self.times}: {self.search}", f"found {times}"]
        if not self.seen:
            return "\n".join([*lines, "", "no request has reached the sandbox"])
        if self.nearest and len(self.fitting) < self.times.least:
            lines += ["", "nearest:"]
            for entry, differences in self.nearest:
                lines += [f"  {line(entry)}", *(f"      {text}" for _, text in differences)]
        return "\n".join([*lines, "", "requests:", *list_entries(self.seen)])


def verify(entries: Sequence[Journaled], search: Search, times: Times) -> Verdict:
    differing = [(entry, tuple(search.differences(entry))) for entry in entries]
    fitting = tuple(entry for entry, differences in differing if not differences)
    others = sorted(((e, d) for e, d in differing if d), key=lambda pair: (len(pair[1]), -pair[0].number))
    return Verdict(search, times, fitting, tuple(entries), tuple(others[:_NEAREST]))


def select(entries: Iterable[Journaled], search: Search) -> list[Journaled]:
    return [entry for entry in entries if not search.differences(entry)]


def list_entries(entries: Sequence[Journaled], most: int = _SHOWN) -> list[str]:
    """Return a line for each of the last exchanges, followed by the texts of an error and the nearest rules."""
    left_out = len(entries) - most
    lines = [f"  … and {left_out} before"] if left_out > 0 else []
    for entry in entries[-most:]:
        said = messages(entry.answer_json) if entry.status >= 400 else ()
        texts = (*said, *entry.warnings, *describe_nearest(entry))
        lines += [f"  {line(entry)}", *(f"      {text}" for text in texts)]
    return lines


def line(entry: Journaled) -> str:
    broken = f" ({entry.fault})" if entry.fault else ""
    return f"#{entry.number} {entry.method} {entry.target} → {entry.status}{broken} {entry.source} {entry.rule or '-'}"


def describe_nearest(entry: Journaled) -> list[str]:
    """Return the sandbox's explanation of an unmatched request, or an empty list if there is none."""
    match _diagnosis(entry):
        case {"message": str(message)}:
            return [message, *candidates(entry)]
    return candidates(entry)


def candidates(entry: Journaled) -> list[str]:
    """Return the rules and operations nearest to an unmatched request, without anything that was sent."""
    match _diagnosis(entry):
        case {"nearest": [*nearest]}:
            return [_candidate(candidate) for candidate in nearest if isinstance(candidate, dict)]
    return []


def messages(answer: Any) -> list[str]:
    """Return the texts in an error, in any form of errors."""
    return [_shorten(error.text) for error in read_errors(answer) if error.text]


def _diagnosis(entry: Journaled) -> Any:
    answer = entry.answer_json if entry.status == 404 else None
    return answer.get("sandbox") if isinstance(answer, dict) else None


def _candidate(candidate: Mapping[str, Any]) -> str:
    kind = "rule" if "rule" in candidate else "operation"
    words = [str(candidate[name]) for name in (kind, "method", "path") if name in candidate]
    return " ".join(["near:", kind, *words, *([f"({candidate['place']})"] if "place" in candidate else [])])


def _say_times(count: int) -> str:
    return "once" if count == 1 else "twice" if count == 2 else f"{count} times"


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
