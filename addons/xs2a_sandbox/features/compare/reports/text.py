"""A report for a terminal: a summary by operation, then every difference once, with both sides of its first example."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from xs2a_sandbox.compare.behaviour import BehaviourComparison
from xs2a_sandbox.compare.difference import SEVERITIES, Severity
from xs2a_sandbox.compare.reports.report import DifferenceGroup, Report, refusal

_COLOURS: dict[Severity, str] = {"high": "bold red", "medium": "yellow", "low": "cyan"}
_MOST = 20
"""The most differences that are shown, the worst first."""


def write(report: Report, console: Console) -> None:
    console.print(Text(str(report.question), "bold"))
    if report.exchanges:
        console.print(_summary(report, is_framed=console.is_terminal))
    if groups := report.groups:
        console.print()
        console.print(_differences(report.question.against, groups[:_MOST]))
        if (more := len(groups) - _MOST) > 0:
            console.print(Text(f"and {more} more: --report FILE.html shows all of them", "dim"))
    remarks(report, console)
    if report.behaviour:
        _behaviour(report.behaviour, console)
    if report.exchanges or report.skipped:
        console.print(Text(report.tally.summary(report.bank, len(report.skipped))))


def remarks(report: Report, console: Console) -> None:
    """Print further remarks: what was not compared and why, states that changed, ignore rules without effect."""
    for exchange in report.exchanges:
        if exchange.trouble:
            console.print(Text(f"{exchange.verdict}  {exchange.request}: {exchange.trouble}", "bold red"))
        elif exchange.verdict == "refused":
            console.print(Text(f"refused  {exchange.request}: {refusal(exchange)}", "bold red"))
        elif exchange.remark:
            console.print(Text(f"{exchange.request}: {exchange.remark}", "dim"))
        if exchange.moved:
            console.print(
                Text(f"moved    {exchange.request}: {exchange.moved}", "dim" if exchange.moved.done else "red")
            )
    for title in report.skipped:
        console.print(Text(f"skipped  {title}: it writes, and --allow-writes was not given", "dim"))
    for place, why in report.unused:
        console.print(Text(f"unused   {place}: ignored nothing ({why})", "yellow"))
    for place, why in report.lapsed:
        console.print(Text(f"lapsed   {place}: this rule has expired ({why})", "yellow"))


def _behaviour(behaviour: BehaviourComparison, console: Console) -> None:
    """Print the chains of states that only one side has, and how many there are."""
    console.print(Text(f"States, then {behaviour.then}, now {behaviour.now}", "italic"))
    for difference in behaviour.differences:
        console.print(
            Text(
                f"{difference.severity} {difference.kind}  {difference.thing}: {difference.place}",
                _COLOURS[difference.severity],
            )
        )
        console.print(Text(f"  then  {difference.then}", "red"))
        console.print(Text(f"  now   {difference.now}", "green"))
    for thing in behaviour.alone:
        console.print(Text(f"only one of the two has a {thing}, so its states are not compared", "yellow"))
    chains = f"{len(behaviour.chains_then)} sequences of states then, {len(behaviour.chains_now)} now"
    console.print(Text(f"{chains}, {len(behaviour.differences)} differences of behaviour"))


def _summary(report: Report, *, is_framed: bool) -> Table:
    table = Table(title="By operation", title_justify="left", box=box.HEAVY_HEAD if is_framed else None)
    table.add_column("operation", overflow="fold")
    for name in (*report.verdicts, *SEVERITIES, "masked"):
        table.add_column(name, justify="right")
    for operation, tally in report.operations.items():
        severities = [
            Text(str(count), _COLOURS[severity] if count else "dim") for severity, count in tally.severities.items()
        ]
        table.add_row(
            operation, *(str(tally.verdicts[verdict]) for verdict in report.verdicts), *severities, str(tally.masked)
        )
    return table


def _differences(against: str, groups: Sequence[DifferenceGroup]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("severity")
    table.add_column("what")
    for name, ratio in (("where", 4), ("bank", 4), (against, 4)):
        table.add_column(name, overflow="fold", ratio=ratio)
    for group in groups:
        table.add_row(*_cells(group))
    return table


def _cells(group: DifferenceGroup) -> Iterable[Text]:
    colour, first = _COLOURS[group.severity], group.first
    where = Text(group.place or "the body")
    if first.by:
        where.append(f" (by {first.by})", "dim")
    times = f", {group.times} times" if group.times > len(group.exchanges) else ""
    where.append(f"\n{group.operation}, {group.extent}{times}\nfirst: {group.request}", "dim")
    bank = Text(first.bank, "green")
    if first.manner:
        bank.append(f"\n{first.manner}", "dim")
    if first.drift:
        bank.append(f"\nagainst the schema: {first.drift}", "magenta")
    what = Text(group.kind, colour)
    if first.consequence != group.kind:
        what.append(f"\n{first.consequence}", "dim")
    return Text(group.severity, colour), what, where, bank, Text(first.sandbox, "red")
