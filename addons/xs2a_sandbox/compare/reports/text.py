"""A report for a terminal: what there is by operation, then both sides of every difference."""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from xs2a_sandbox.compare.difference import SEVERITIES, Severity
from xs2a_sandbox.compare.reports.report import ComparedExchange, Finding, Report, printable
from xs2a_sandbox.documents.json_pointer import pointer_text

_COLOURS: dict[Severity, str] = {"high": "bold red", "medium": "yellow", "low": "cyan"}
_MOST = 12
"""Rows shown of one exchange; the other reports have all."""


def write(report: Report, console: Console) -> None:
    console.print(_summary(report))
    for exchange in report.exchanges:
        if exchange.findings or exchange.trouble:
            _exchange(exchange, console)
    for title in report.skipped:
        console.print(Text(f"skipped  {title}: it writes, and --allow-writes was not given", "dim"))
    for place, why in report.unused:
        console.print(Text(f"unused   {place}: ignored nothing ({why})", "yellow"))
    for place, why in report.lapsed:
        console.print(Text(f"lapsed   {place}: its last day is over ({why})", "yellow"))
    console.print(Text(report.tally.summary(report.bank, len(report.skipped))))


def _summary(report: Report) -> Table:
    table = Table(title="By operation", title_justify="left")
    table.add_column("operation", overflow="fold")
    for name in ("exchanges", "differ", *SEVERITIES, "masked"):
        table.add_column(name, justify="right")
    for operation, tally in report.operations.items():
        severities = [
            Text(str(count), _COLOURS[severity] if count else "dim") for severity, count in tally.severities.items()
        ]
        table.add_row(operation, str(tally.exchanges), str(tally.differing), *severities, str(tally.masked))
    return table


def _exchange(exchange: ComparedExchange, console: Console) -> None:
    console.print()
    head = Text(f"{exchange.number}. {exchange.request}", "bold")
    head.append(f"  {exchange.operation}, {exchange.title}", "dim")
    console.print(head)
    if exchange.trouble:
        console.print(Text(f"could not be compared: {exchange.trouble}", "bold red"))
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("severity")
    table.add_column("what")
    for name, ratio in (("where", 3), ("bank", 4), ("sandbox", 4)):
        table.add_column(name, overflow="fold", ratio=ratio)
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in exchange.findings:
        pattern = finding.where if finding.path is None else pointer_text(finding.path)
        groups.setdefault((finding.kind, pattern), []).append(finding)
    for (_, pattern), findings in list(groups.items())[:_MOST]:
        table.add_row(*_cells(findings[0], pattern, len(findings)))
    console.print(table)
    if (more := sum(map(len, list(groups.values())[_MOST:]))) > 0:
        console.print(Text(f"and {more} more", "dim"))
    if exchange.remark:
        console.print(Text(exchange.remark, "dim"))


def _cells(finding: Finding, pattern: str, count: int) -> Iterable[Text]:
    colour = _COLOURS[finding.severity]
    where = Text(finding.where or "the body")
    if finding.by:
        where.append(f" (by {finding.by})", "dim")
    if count > 1:
        where.append(f"\n{count} times at {printable(pattern)}", "dim")
    bank = Text(finding.bank, "green")
    if finding.drift:
        bank.append(f"\nagainst the schema: {finding.drift}", "magenta")
    return Text(finding.severity, colour), Text(finding.kind, colour), where, bank, Text(finding.sandbox, "red")
