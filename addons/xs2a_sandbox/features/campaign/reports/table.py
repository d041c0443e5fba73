"""The table of points and faults, with a verdict in each cell that was tried."""

from collections.abc import Sequence
from dataclasses import dataclass

from xs2a_sandbox.features.campaign.campaign import FaultResult, Results
from xs2a_sandbox.features.campaign.plan import BUDGET
from xs2a_sandbox.wording import say_count

GOOD, FOUND = "ok", "found"


@dataclass(frozen=True, slots=True)
class PointRow:
    """A point, and its results by the name of the fault."""

    point: str
    cells: dict[str, list[FaultResult]]

    @property
    def results(self) -> list[FaultResult]:
        return [result for results in self.cells.values() for result in results]

    @property
    def with_findings(self) -> int:
        return sum(bool(result.findings) for result in self.results)


def rows(results: Sequence[FaultResult]) -> list[PointRow]:
    """Return the rows in the order of the results."""
    made: dict[str, PointRow] = {}
    for result in results:
        row = made.setdefault(result.fault.point, PointRow(result.fault.point, {}))
        row.cells.setdefault(result.fault.name, []).append(result)
    return list(made.values())


def columns(results: Sequence[FaultResult]) -> list[str]:
    """Return the names of the faults, the most frequent first."""
    names = [result.fault.name for result in results]
    return sorted(dict.fromkeys(names), key=lambda name: -names.count(name))


def groups(results: Sequence[FaultResult]) -> list[list[FaultResult]]:
    """Return the results with findings, grouped by point and findings."""
    made: dict[tuple[object, ...], list[FaultResult]] = {}
    for result in results:
        if result.findings:
            made.setdefault((result.fault.point, result.findings), []).append(result)
    return list(made.values())


def verdict(result: FaultResult) -> str:
    """Return the word for the result in every report."""
    return FOUND if result.findings else GOOD


def summary(results: Results) -> str:
    left_out = ", ".join(f"{count} {why}" for why, count in sorted(results.left_out.items()) if why != BUDGET)
    untried = results.left_out.get(BUDGET, 0)
    with_findings = len(results.findings)
    text = f"{say_count(len(results.results), 'fault')} tried in {results.seconds:.0f} s, {with_findings} with findings"
    late = f"; {untried} NOT TRIED, as --budget was over: --resume goes on with them" if untried else ""
    return text + late + (f"; left out: {left_out}" if left_out else "")


def exits(result: FaultResult) -> str:
    """Return the exit statuses, which are not findings on their own."""
    run, after = (*result.statuses, None)[:2]
    return f"exit {run}" + ("" if after is None else f", then {after}")
