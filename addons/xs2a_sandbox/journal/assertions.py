"""Looks for exchanges in the journal: whether they are there often enough, and which came nearest if not."""

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
    """One filter of the journal: what its value is, and what the command says of it; without `help` it has none."""

    name: str
    kind: Literal["text", "number", "texts", "json"]
    metavar: str = ""
    help: str = ""


def _filter(kind: str, metavar: str = "", help: str = "") -> Any:
    return field(default=None, metadata={"kind": kind, "metavar": metavar, "help": help})


@dataclass(frozen=True, slots=True)
class Search:
    """All that is given must fit. `path` may hold `*`, which stands for anything; before a `/v1/` anything may stand.

    `headers` and `query` are equal values by name; `body` is JSON that the request's has to contain. Its fields are the
    filters that there are: see `FILTERS`.
    """

    session: str | None = _filter("text")
    method: str | None = _filter("text", "METHOD", "Only of this method.")
    path: str | None = _filter("text", "PATH", "Only of this path; * stands for anything.")
    status: int | None = _filter("number", "N", "Only with this status.")
    source: str | None = _filter("text", "NAME", "Only answered by this: handler, rule, bank or sandbox.")
    rule: str | None = _filter("text", "ID", "Only answered by this rule or operation.")
    since: int | None = _filter("number", "N", "Only those after number N.")
    before: int | None = _filter("number", "N", "Only those before number N.")
    text: str | None = _filter("text", "TEXT", "Only with this anywhere in it: address, headers, bodies, reason, rule.")
    headers: Mapping[str, str] | None = _filter("texts")
    query: Mapping[str, str] | None = _filter("texts")
    body: Any = field(default=None, metadata={"kind": "json"})

    def differences(self, entry: Journaled) -> list[tuple[str, str]]:
        """The places where it differs, and how in words; nothing where it fits."""
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
            differences.append(("text", f"{_shorten(self.text)} is nowhere in it"))
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
    """Tells if the text is anywhere in the exchange, in capitals or small letters."""
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
    """A count that is expected; `most` None is any number from `least` on."""

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
    """`fitting` are those that were looked for, `nearest` those that differ least, each with its differences."""

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
        return "\n".join([*lines, "", "what was asked:", *list_entries(self.seen)])


def verify(entries: Sequence[Journaled], search: Search, times: Times) -> Verdict:
    differing = [(entry, tuple(search.differences(entry))) for entry in entries]
    fitting = tuple(entry for entry, differences in differing if not differences)
    others = sorted(((e, d) for e, d in differing if d), key=lambda pair: (len(pair[1]), -pair[0].number))
    return Verdict(search, times, fitting, tuple(entries), tuple(others[:_NEAREST]))


def select(entries: Iterable[Journaled], search: Search) -> list[Journaled]:
    return [entry for entry in entries if not search.differences(entry)]


def list_entries(entries: Sequence[Journaled], most: int = _SHOWN) -> list[str]:
    """The last ones, a line each; below it what an error says, and what an unmatched one came nearest to."""
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
    """The sandbox's own words on an unmatched request; none where it has said nothing."""
    match _diagnosis(entry):
        case {"message": str(message)}:
            return [message, *candidates(entry)]
    return candidates(entry)


def candidates(entry: Journaled) -> list[str]:
    """The rules and operations that an unmatched request came nearest to; nothing of what was sent."""
    match _diagnosis(entry):
        case {"nearest": [*nearest]}:
            return [_candidate(candidate) for candidate in nearest if isinstance(candidate, dict)]
    return []


def messages(answer: Any) -> list[str]:
    """The texts of an error's messages, whatever its form."""
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
