"""A comparison as it may be shown. Everything comes from redacted exchanges: reports, patches and suggestions are made
only from this, never from a `Result`.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

from xs2a_sandbox.compare.behaviour import BehaviourComparison
from xs2a_sandbox.compare.comparison import COMPARED, VERDICTS, Against, Compared, Result, Verdict
from xs2a_sandbox.compare.difference import SEVERITIES, Consequence, Difference, Kind, Severity, is_at_least
from xs2a_sandbox.compare.masking import IgnoreRule
from xs2a_sandbox.compare.reports.wording import cut, manner
from xs2a_sandbox.compare.states import Move
from xs2a_sandbox.documents.json_pointer import Pointer, at_pointer, pointer_text
from xs2a_sandbox.http import body, to_json
from xs2a_sandbox.http.body import Content
from xs2a_sandbox.http.exchange import Exchange

Redact = Callable[[Exchange], Exchange]

ABSENT = "(absent)"
NOT_SHOWN = "(not shown)"
UNKNOWN = "(none)"
"""The operation of a request that matches none."""
_LONGEST = 240
_GONE: Any = object()


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference in words. `bank` and `sandbox` are the values as JSON, shortened.

    `why` is the reason if it is masked.

    `manner` describes how the two differ, determined before redaction. `where` is the same as in `Difference`;
    `pointer` and `bank_pointer` are None outside of the body.
    """

    kind: Kind
    consequence: Consequence
    severity: Severity
    where: str
    bank: str
    sandbox: str
    pointer: Pointer | None = None
    bank_pointer: Pointer | None = None
    header: str | None = None
    by: str | None = None
    drift: str | None = None
    why: str | None = None
    manner: str | None = None

    @property
    def path(self) -> tuple[str, ...] | None:
        """The place in the body with `*` for positions, which is the same for all elements of an array."""
        return (
            None if self.pointer is None else tuple("*" if isinstance(token, int) else token for token in self.pointer)
        )

    @property
    def place(self) -> str:
        """`path` as text, or its replacement outside of the body."""
        return make_printable(self.where if self.path is None else pointer_text(self.path))


@dataclass(frozen=True, slots=True)
class ComparedExchange:
    """A request and its answers, which are redacted when they are first shown: most are the same, and never shown."""

    number: int
    title: str
    operation: str
    verdict: Verdict
    bank_side: "_Shown | None"
    sandbox_side: "_Shown | None"
    findings: tuple[Finding, ...]
    masked: tuple[Finding, ...]
    trouble: str | None
    remark: str | None
    moved: Move | None = None

    @property
    def bank(self) -> Exchange | None:
        """The redacted exchange with the bank, or None if there is `trouble`."""
        return self.bank_side.entry if self.bank_side else None

    @property
    def sandbox(self) -> Exchange | None:
        """The redacted exchange with the sandbox, or None if there is `trouble`."""
        return self.sandbox_side.entry if self.sandbox_side else None

    @property
    def request(self) -> str:
        side = self.sandbox or self.bank
        return f"{side.method} {make_printable(side.target)}" if side else self.title

    @property
    def worst(self) -> Severity | None:
        return min((f.severity for f in self.findings), key=SEVERITIES.index, default=None)


@dataclass(frozen=True, slots=True)
class DifferenceGroup:
    """A difference in one or more exchanges of an operation.

    `exchanges` are their numbers, `of` is the number of compared exchanges of that operation, `times` is how often it
    occurs. `first` is the difference in the first of them, `request`.
    """

    operation: str
    severity: Severity
    kind: Kind
    place: str
    exchanges: tuple[int, ...]
    of: int
    times: int
    first: Finding
    request: str

    @property
    def extent(self) -> str:
        return f"in {len(self.exchanges)} of {self.of} exchange{'s' if self.of > 1 else ''}"


@dataclass(frozen=True, slots=True)
class Tally:
    """The counts of a report, in order: exchanges by verdict, which are never summed, and differences by severity."""

    verdicts: Mapping[Verdict, int]
    severities: Mapping[Severity, int]
    masked: int

    @property
    def compares(self) -> bool:
        """Whether both sides answered at least one exchange as expected."""
        return any(self.verdicts[verdict] for verdict in COMPARED)

    def outcome(self, skipped: int) -> str:
        verdicts = [
            f"{count} {_WORDS[verdict]}" for verdict, count in self.verdicts.items() if count or verdict in COMPARED
        ]
        return ", ".join(verdicts + [f"{skipped} skipped"] * bool(skipped))

    def summary(self, bank: str, skipped: int) -> str:
        differences = ", ".join(f"{count} {severity}" for severity, count in self.severities.items())
        return f"compared with {bank}: {self.outcome(skipped)}; differences: {differences}, {self.masked} masked"


_WORDS: Mapping[Verdict, str] = {
    "same": "same",
    "differs": "differ",
    "refused": "refused by both",
    "not answered": "not answered",
    "not comparable": "not comparable",
}


@dataclass(frozen=True, slots=True)
class Question:
    """The question that a comparison answers. `recorded` are the first and last day of the recording, if there is one;
    `live` means that a bank was asked.
    """

    against: Against = "sandbox"
    live: bool = True
    recorded: tuple[date, date] | None = None
    today: date | None = None

    def __str__(self) -> str:
        if self.against == "recording":
            return f"has the bank changed? Compared with the recording ({self._age})"
        if self.live:
            requests = f", with recorded requests ({self._age})" if self.recorded else ""
            return f"is the sandbox wrong? Compared with the bank{requests}"
        return f"is the sandbox wrong? Compared with the recording ({self._age})"

    @property
    def _age(self) -> str:
        if not self.recorded:
            return "of unknown age"
        first, last = self.recorded
        days = f"of {first}" if first == last else f"of {first} to {last}"
        if not self.today:
            return days
        age = (self.today - last).days
        return f"{days}, {f'{age} day{"s" if age > 1 else ""} old' if age > 0 else 'from today'}"


@dataclass(frozen=True, slots=True)
class Report:
    """`unused` and `lapsed` are ignore rules, by place and reason; `redacted` says whether anything was redacted."""

    bank: str
    exchanges: tuple[ComparedExchange, ...]
    skipped: tuple[str, ...]
    unused: tuple[tuple[str, str], ...]
    lapsed: tuple[tuple[str, str], ...]
    redacted: bool
    question: Question = Question()
    behaviour: BehaviourComparison | None = None

    @property
    def tally(self) -> Tally:
        return _tally(self.exchanges)

    @property
    def compares(self) -> bool:
        """Whether anything was compared: exchanges, or the states of two recordings."""
        if self.behaviour and not self.exchanges:
            return bool(self.behaviour.chains_then and self.behaviour.chains_now)
        return self.tally.compares

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts that occur, and those of compared exchanges."""
        return tuple(verdict for verdict, count in self.tally.verdicts.items() if count or verdict in COMPARED)

    @property
    def operations(self) -> dict[str, Tally]:
        names = sorted({exchange.operation for exchange in self.exchanges})
        return {name: _tally(e for e in self.exchanges if e.operation == name) for name in names}

    @property
    def groups(self) -> tuple[DifferenceGroup, ...]:
        """The differences by group: the worst first, then those in most exchanges."""
        of = Counter(exchange.operation for exchange in self.exchanges)
        alike: dict[tuple[str, Severity, Kind, str], list[tuple[ComparedExchange, Finding]]] = {}
        for exchange in self.exchanges:
            for finding in exchange.findings:
                alike.setdefault((exchange.operation, finding.severity, finding.kind, finding.place), []).append(
                    (exchange, finding)
                )
        groups = (
            DifferenceGroup(
                *key,
                exchanges=tuple(dict.fromkeys(exchange.number for exchange, _ in ones)),
                of=of[key[0]],
                times=len(ones),
                first=ones[0][1],
                request=ones[0][0].request,
            )
            for key, ones in alike.items()
        )
        return tuple(sorted(groups, key=lambda group: (SEVERITIES.index(group.severity), -len(group.exchanges))))

    def fails(self, fail_on: Severity | None) -> bool:
        """Return whether a difference is at least this severe."""
        worst = [exchange.worst for exchange in self.exchanges]
        worst += [difference.severity for difference in self.behaviour.differences] if self.behaviour else []
        return fail_on is not None and any(severity and is_at_least(severity, fail_on) for severity in worst)


def report(result: Result, bank: str, redact: Redact | None, question: Question = Question()) -> Report:
    """Make the report. `bank` is the displayed name or URL. Without `redact` everything is shown."""
    return Report(
        make_printable(bank),
        tuple(_exchange(made, number, redact) for number, made in enumerate(result.compared, 1)),
        result.skipped,
        tuple(map(_write, result.unused)),
        tuple(map(_write, result.lapsed)),
        redact is not None,
        question,
    )


def exchange(compared: Compared, number: int, redact: Redact | None) -> ComparedExchange:
    """Return the exchange for a report that is kept, so it contains nothing that is not redacted."""
    made = _exchange(compared, number, redact)
    for side in (made.bank_side, made.sandbox_side):
        if side:
            side.forget_raw()
    return made


def _exchange(compared: Compared, number: int, redact: Redact | None) -> ComparedExchange:
    bank = _Shown(compared.bank, redact) if compared.bank else None
    sandbox = _Shown(compared.sandbox, redact) if compared.sandbox else None
    findings: list[Finding] = []
    masked: list[Finding] = []
    if bank and sandbox:
        findings = [_finding(difference, bank, sandbox) for difference in compared.differences]
        masked = [_finding(difference, bank, sandbox, why) for difference, why in compared.masked]
    return ComparedExchange(
        number,
        make_printable(compared.title),
        compared.operation or UNKNOWN,
        compared.verdict,
        bank,
        sandbox,
        tuple(sorted(findings, key=lambda f: SEVERITIES.index(f.severity))),
        tuple(masked),
        compared.trouble,
        compared.remark,
        compared.moved,
    )


def refusal(exchange: ComparedExchange) -> str:
    """Describe why an exchange with errors on both sides does not count as a match."""
    bank, other = (side.status if side else None for side in (exchange.bank, exchange.sandbox))
    both = f"both sides answered {bank}" if bank == other else f"the bank answered {bank}, the sandbox {other}"
    return f"{both}, but a success was expected: not counted as a match"


def make_printable(text: str) -> str:
    """Escape characters that a terminal interprets, XML forbids, or UTF-8 cannot encode."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else f"\\u{ord(c):04x}" for c in text)


def as_json(value: Any) -> str:
    """Return the JSON of a parsed value, with all digits of numbers."""
    try:
        return make_printable(to_json(value).decode())
    except RecursionError:
        return NOT_SHOWN
    except (ValueError, OverflowError):  # a lone surrogate, or an extremely large number
        return make_printable(json.dumps(value, ensure_ascii=False, default=str))


class _Shown:
    """An exchange before and after redaction, and the mapping of places between the two."""

    def __init__(self, entry: Exchange, redact: Redact | None) -> None:
        self._before: Exchange | None = entry
        self._redact = redact
        self._redacted = redact is not None

    @cached_property
    def entry(self) -> Exchange:
        before = self._before_redaction()
        return self._redact(before) if self._redact else before

    @cached_property
    def _raw(self) -> Content:
        return body.read(self._before_redaction().answer_body)

    @cached_property
    def _content(self) -> Content:
        return body.read(self.entry.answer_body) if self._redacted else self._raw

    def _before_redaction(self) -> Exchange:
        if self._before is None:
            raise RuntimeError("the exchange before redaction was forgotten")
        return self._before

    def forget_raw(self) -> None:
        """Redact the exchange, and forget the original."""
        self.entry = self.entry
        self._before = self._redact = None
        self.__dict__.pop("_raw", None)
        self.__dict__.pop("_content", None)

    def get_raw(self, place: Pointer) -> Any:
        """Return the value at this place before redaction."""
        return next(iter(at_pointer(self._raw.value, [str(step) for step in place])), None)

    def lacks(self, place: Pointer) -> bool:
        """Return whether the member is missing at this place, and its parents are shown."""
        return self.find(place[:-1])[2] and not at_pointer(self._raw.value, [str(step) for step in place])

    def find(self, place: Pointer) -> tuple[Pointer, Any, bool]:
        """Return the place after redaction, the value there (`_GONE` if none), and whether all steps were found."""
        raw, redacted = self._raw.value, self._content.value
        steps: list[str | int] = []
        if self._raw.kind == self._content.kind == "json":
            for step in place:
                below = _below(raw, redacted, step)
                if below is None:
                    return tuple(steps), _GONE, False
                name, raw, redacted = below
                steps.append(name)
            return tuple(steps), redacted, True
        if self._content.kind == "nothing":
            return (), _GONE, not place
        return (), redacted, not place

    def header(self, name: str) -> str:
        values = self.entry.answer_headers.all(name)
        return make_printable(", ".join(values)) if values else NOT_SHOWN

    def header_name(self, name: str) -> str:
        """Return the header's name.

        If redaction has removed the header, the name is shown only if it consists of words.
        """
        is_kept = not self._redacted or self.entry.answer_headers.get(name) is not None
        return name if is_kept or (len(name) <= 60 and not any(c.isdigit() for c in name)) else NOT_SHOWN


def _below(raw: Any, redacted: Any, step: str | int) -> tuple[str | int, Any, Any] | None:
    """Find a member after redaction.

    Redaction keeps the structure, but not always the names, so its position counts.
    """
    if isinstance(raw, dict) and isinstance(redacted, dict) and len(raw) == len(redacted) and step in raw:
        if step in redacted:
            return step, raw[str(step)], redacted[str(step)]
        name = list(redacted)[list(raw).index(str(step))]
        return name, raw[str(step)], redacted[name]
    if isinstance(raw, list) and isinstance(redacted, list) and len(raw) == len(redacted):
        position = int(step) if str(step).isdecimal() else -1
        if 0 <= position < len(raw):
            return position, raw[position], redacted[position]
    return None


def _finding(difference: Difference, bank: _Shown, sandbox: _Shown, why: str | None = None) -> Finding:
    kind, means, severity = difference.kind, difference.consequence, difference.severity
    if kind == "status":
        statuses = str(bank.entry.status), str(sandbox.entry.status)
        return Finding(kind, means, severity, "status", *statuses, drift=_breach(difference, bank), why=why)
    if difference.header:
        name = (sandbox if kind == "header-extra" else bank).header_name(difference.header)
        mine = ABSENT if kind == "header-extra" else bank.header(difference.header)
        theirs = ABSENT if kind == "header-missing" else sandbox.header(difference.header)
        return Finding(kind, means, severity, f"header {name}", *_sides(mine, theirs), header=name, why=why)
    bank_place, mine, in_bank = bank.find(difference.bank_place)
    place, theirs, in_sandbox = sandbox.find(difference.place)
    if kind in ("member-missing", "element-missing") or (kind == "null" and in_bank and not in_sandbox):
        place, theirs, in_sandbox = (*place[: len(difference.place) - 1], *bank_place[-1:]), _GONE, in_bank
    elif kind in ("member-extra", "element-extra") or (kind == "null" and in_sandbox and not in_bank):
        bank_place, mine = (*bank_place[: len(difference.bank_place) - 1], *place[-1:]), _GONE
    elif kind == "drift" and bank.lacks(difference.bank_place):
        # The name comes from the schema: there is nothing to redact.
        place, bank_place = (*place, *difference.place[-1:]), (*bank_place, *difference.bank_place[-1:])
    text_of = _length if kind in ("length", "order") else _text
    is_scalar = kind in ("value", "format", "type")
    return Finding(
        kind,
        means,
        severity,
        make_printable(pointer_text(place)) + ("" if in_sandbox or kind == "drift" else "/…"),
        *_sides(text_of(mine), text_of(theirs)),
        pointer=place,
        bank_pointer=bank_place,
        by=difference.by,
        drift=_breach(difference, bank),
        why=why,
        manner=manner(bank.get_raw(difference.bank_place), sandbox.get_raw(difference.place)) if is_scalar else None,
    )


def _breach(difference: Difference, bank: _Shown) -> str | None:
    """Describe how the bank's answer violates the schema, with the place if it is not that of the difference."""
    place, text = difference.drift_place, difference.drift
    if text is None or place is None or (difference.kind != "status" and place == difference.bank_place):
        return text
    shown, _, _ = bank.find(place)
    if bank.lacks(place):
        shown = (*shown, place[-1])  # a name in the schema
    return f"{make_printable(pointer_text(shown)) or 'the body'} {text}"


def _sides(bank: str, sandbox: str) -> tuple[str, str]:
    return cut(bank, sandbox, _LONGEST), cut(sandbox, bank, _LONGEST)


def _text(value: Any) -> str:
    if value is _GONE:
        return ABSENT
    if isinstance(value, bytes):
        return f"({len(value)} bytes)"
    return as_json(value)


def _length(value: Any) -> str:
    return f"{len(value)} elements" if isinstance(value, list) else _text(value)


def _write(rule: IgnoreRule) -> tuple[str, str]:
    return make_printable(rule.place), make_printable(rule.why)


def _tally(exchanges: Iterable[ComparedExchange]) -> Tally:
    every = list(exchanges)
    severities = Counter(finding.severity for exchange in every for finding in exchange.findings)
    verdicts = Counter(exchange.verdict for exchange in every)
    return Tally(
        {verdict: verdicts[verdict] for verdict in VERDICTS},
        {severity: severities[severity] for severity in SEVERITIES},
        sum(len(exchange.masked) for exchange in every),
    )
