"""What every report shows: the points with their faults, the findings in groups, and sentences about the whole."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xs2a_sandbox.features.campaign.campaign import FaultResult, Results
from xs2a_sandbox.features.campaign.fault_sentences import describe_point
from xs2a_sandbox.features.campaign.judge import EXPECTED
from xs2a_sandbox.features.campaign.left_out import BUDGET, group_left_out
from xs2a_sandbox.wording import say_count


@dataclass(frozen=True, slots=True)
class PointRow:
    """A point, and its results."""

    point: str
    results: tuple[FaultResult, ...]

    @property
    def found(self) -> list[FaultResult]:
        return [result for result in self.results if result.findings]

    @property
    def passed(self) -> dict[str, list[FaultResult]]:
        """The results without findings, by their exit statuses in words."""
        made: dict[str, list[FaultResult]] = {}
        for result in self.results:
            if not result.findings:
                made.setdefault(exits(result), []).append(result)
        return made


@dataclass(frozen=True, slots=True)
class ExplainedFinding:
    """A finding with what the app should have done instead, and why."""

    oracle: str
    text: str
    expected: str
    why: str


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """The results of one point with the same findings: different faults, to which the app reacted in the same way."""

    results: tuple[FaultResult, ...]

    @property
    def title(self) -> str:
        """The mistakes and the point, such as `Pays too often: call 1 of initiate-payment`."""
        first = self.results[0]
        mistakes = ", ".join(dict.fromkeys(EXPECTED[found.oracle].mistake for found in first.findings))
        return f"{mistakes[0].upper()}{mistakes[1:]}: {describe_point(first.fault)}"

    @property
    def call(self) -> str:
        """The method and path of the call with the fault, if they are known."""
        return next((one.exchanges.call for one in self.results if one.exchanges and one.exchanges.call), "")

    @property
    def mistakes(self) -> list[ExplainedFinding]:
        return [
            ExplainedFinding(found.oracle, found.text, EXPECTED[found.oracle].does, EXPECTED[found.oracle].why)
            for found in self.results[0].findings
        ]


def rows(results: Sequence[FaultResult]) -> list[PointRow]:
    """Return the rows in the order of the results."""
    made: dict[str, list[FaultResult]] = {}
    for result in results:
        made.setdefault(result.fault.point, []).append(result)
    return [PointRow(point, tuple(there)) for point, there in made.items()]


def groups(results: Sequence[FaultResult]) -> list[FindingGroup]:
    """Return the results with findings, grouped by point and findings."""
    made: dict[tuple[object, ...], list[FaultResult]] = {}
    for result in results:
        if result.findings:
            made.setdefault((result.fault.point, result.findings), []).append(result)
    return [FindingGroup(tuple(same)) for same in made.values()]


def tried(results: Results) -> str:
    count, found = say_count(len(results.results), "fault"), len(results.findings)
    return f"{count} tried in {results.seconds:.0f} s, {found} with findings"


def summary(results: Results) -> Iterator[str]:
    """Yield lines about all that was tried and left out."""
    yield tried(results)
    yield from (group.sentence for group in group_left_out(results.left_out))
    if any(one.why == BUDGET for one in results.left_out):
        yield "the same command with --resume continues"


def exits(result: FaultResult) -> str:
    """Return the exit statuses, which are not findings on their own."""
    run, after = (*result.statuses, None)[:2]
    return f"exit status {run} with the fault" + ("" if after is None else f", {after} in the run after it")
