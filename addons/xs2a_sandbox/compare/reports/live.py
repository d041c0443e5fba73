"""Reports a comparison while the sandbox serves: a line for each exchange with differences, then a summary."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xs2a_sandbox.compare.comparison import VERDICTS, Compared, Result, Verdict
from xs2a_sandbox.compare.difference import SEVERITIES, Kind, Severity
from xs2a_sandbox.compare.masking import Ignoring
from xs2a_sandbox.compare.reports import report as reports
from xs2a_sandbox.compare.reports.report import UNKNOWN, ComparedExchange, Finding, Redact, Report, Tally
from xs2a_sandbox.compare.reports.wording import cut

SPARED = "a write, and --allow-writes was not given"

_KEPT = 1000
"""The most exchanges with differences, and of others, that are kept for reports. More are only counted."""
_NAMED = 10
"""The most differences of one exchange that are shown, one per line."""
_LISTED = 50
_SHORT = 60


@dataclass
class _Group:
    """A difference that occurs in one or more exchanges: the first of them, and their number."""

    first: str
    exchanges: int = 0


class LiveReport:
    """Calls `say` with each line. Everything is redacted immediately. With `keeps`, exchanges are kept for `report`."""

    def __init__(self, banks: str, ignoring: Ignoring, redact: Redact | None = None, *, keeps: bool = False) -> None:
        self.say: Callable[[str], None] = lambda text: None
        self._banks = banks
        self._ignoring = ignoring
        self.redact = redact
        self._keeps = keeps
        self._counts: Counter[str] = Counter()
        self._verdicts: Counter[Verdict] = Counter()
        self._skipped: Counter[str] = Counter()
        self._notices: set[str] = set()
        self._operations: Counter[str] = Counter()
        self._groups: dict[tuple[str, Severity, Kind, str], _Group] = {}
        self._spared: list[str] = []
        self._exchanges: dict[bool, list[ComparedExchange]] = {True: [], False: []}

    def counts(self) -> dict[str, int]:
        """Return the numbers of compared exchanges and of differences."""
        return {
            "comparisons": self._counts["exchanges"],
            "differences": sum(self._counts[severity] for severity in SEVERITIES),
        }

    def differences(self) -> Iterator[dict[str, Any]]:
        """Yield the differences, the worst first, with their operation, number of exchanges, and first occurrence."""
        groups = sorted(self._groups.items(), key=lambda pair: (SEVERITIES.index(pair[0][1]), -pair[1].exchanges))
        for (operation, severity, kind, place), group in groups:
            yield {
                "operation": operation,
                "severity": severity,
                "kind": kind,
                "place": place,
                "exchanges": group.exchanges,
                "first": group.first,
            }

    def show(self, compared: Compared) -> ComparedExchange | None:
        """Return the exchange for the report, if it is needed.

        For large answers this takes seconds. It can be called in any thread.
        """
        matters = bool(compared.differences or compared.trouble or compared.moved)
        kept = self._keeps and len(self._exchanges[matters]) < _KEPT
        return reports.exchange(compared, 0, self.redact) if matters or kept else None

    def add(self, compared: Compared, exchange: ComparedExchange | None) -> None:
        """Add an exchange and its result from `show`."""
        counts = self._counts
        counts["exchanges"] += 1
        self._verdicts[compared.verdict] += 1
        counts["masked"] += len(compared.masked)
        self._operations[compared.operation or UNKNOWN] += 1
        counts.update(difference.severity for difference in compared.differences)
        if compared.moved and compared.moved.done:
            counts["moved"] += 1
            self.say(f"moved: {compared.operation}: {compared.moved}, as at the bank")
        if exchange is None:
            return
        matters = bool(exchange.findings or exchange.trouble or exchange.moved)
        if self._keeps and len(self._exchanges[matters]) < _KEPT:
            self._exchanges[matters].append(replace(exchange, number=counts["exchanges"]))
        if exchange.trouble:
            self._once(f"cannot compare: {exchange.trouble} (reported once, counted at the end)")
        elif new := self._group(exchange):
            for line in _lines(exchange, new):
                self.say(line)

    def _group(self, exchange: ComparedExchange) -> list[Finding]:
        """Return the findings that no earlier exchange had, and count all."""
        new, counted = [], set()
        for finding in exchange.findings:
            key = exchange.operation, finding.severity, finding.kind, finding.place
            if key not in self._groups:
                new.append(finding)
                if len(self._groups) < _KEPT:
                    self._groups[key] = _Group(f"{_describe(finding)}, first in {exchange.request}")
            if key in self._groups and key not in counted:
                counted.add(key)
                self._groups[key].exchanges += 1
        return new

    def skip(self, why: str, operation: str = "") -> None:
        self._skipped[why] += 1
        if why == SPARED:
            if len(self._spared) < _KEPT:
                self._spared.append(operation)
        else:
            self._once(f"not compared: {operation}: {why} (reported once, counted at the end)", why)

    def report(self) -> Report:
        """Return the report on the kept exchanges. `skipped` are the writes that were not sent to the bank."""
        rules = Result((), tuple(self._spared), self._ignoring.unused, self._ignoring.lapsed)
        exchanges = sorted([*self._exchanges[True], *self._exchanges[False]], key=lambda exchange: exchange.number)
        return replace(reports.report(rules, self._banks, self.redact), exchanges=tuple(exchanges))

    def end(self) -> Iterator[str]:
        """Yield the last lines."""
        counts, made = self._counts, self.report()
        tally = Tally(
            {verdict: self._verdicts[verdict] for verdict in VERDICTS},
            {severity: counts[severity] for severity in SEVERITIES},
            counts["masked"],
        )
        differences = list(self.differences())
        for difference in differences[:_LISTED]:
            operation = difference["operation"]
            count = self._operations[operation]
            exchanges = f"{difference['exchanges']} of {count} exchange{'s' if count > 1 else ''} of {operation}"
            yield f"  in {exchanges}: {difference['first']}"
        if (more := len(differences) - _LISTED) > 0:
            yield f"  and {more} more differences"
        yield tally.summary(made.bank, self._skipped.total())
        if counts["moved"]:
            yield f"  moved {counts['moved']}: the sandbox followed the bank"
        yield from (f"  skipped {count}: {why}" for why, count in self._skipped.most_common())
        yield from (f"  {place}: ignored nothing ({why})" for place, why in made.unused)
        yield from (f"  {place}: this rule has expired ({why})" for place, why in made.lapsed)

    def describe_cut(self) -> str | None:
        """Describe which exchanges `report` contains, if these are not all."""
        if any(len(kept) == _KEPT for kept in self._exchanges.values()):
            return f"the reports contain the first {_KEPT} exchanges with differences, and the first {_KEPT} without"
        return None

    def _once(self, text: str, key: str | None = None) -> None:
        if (key or text) not in self._notices:
            self._notices.add(key or text)
            self.say(text)


def _lines(exchange: ComparedExchange, findings: Sequence[Finding]) -> Iterator[str]:
    where = f"differs: {exchange.request} [{exchange.operation}]:"
    yield from (f"{where} {_describe(finding)}" for finding in findings[:_NAMED])
    if (more := len(findings) - _NAMED) > 0:
        yield f"{where} {more} more"


def _describe(finding: Finding) -> str:
    place = "" if finding.kind == "status" else f" at {finding.where or 'the body'}"
    bank, sandbox = (
        cut(one, other, _SHORT) for one, other in ((finding.bank, finding.sandbox), (finding.sandbox, finding.bank))
    )
    sides = () if finding.kind == "drift" else (f"bank {bank}, sandbox {sandbox}",)
    drift = f"against the schema: {finding.drift}" if finding.drift else None
    words = "; ".join(part for part in (*sides, finding.manner, drift) if part)
    return f"{finding.severity} {finding.kind}{place} ({words})".replace("\n", " ")
