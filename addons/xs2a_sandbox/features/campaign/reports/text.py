"""The results for a terminal."""

from collections.abc import Iterator
from pathlib import Path

from xs2a_sandbox.features.campaign.campaign import Results
from xs2a_sandbox.features.campaign.finding_file import replay
from xs2a_sandbox.features.campaign.reports.table import exits, groups, rows, summary
from xs2a_sandbox.journal.log_line import make_printable

_LONGEST, _MOST_ALIKE = 200, 6


def as_text(results: Results, findings: Path) -> str:
    """Return the text. `findings` is the folder with the findings' files."""
    return "\n".join(_lines(results, findings)) + "\n"


def _lines(results: Results, findings: Path) -> Iterator[str]:
    table = rows(results.results)
    width = max((len(row.point) for row in table), default=0)
    for row in table:
        with_findings = f"{row.with_findings} found" if row.with_findings else ""
        yield f"{row.point:{width}}  {len(row.results):>3} tried  {with_findings}".rstrip()
    for group in groups(results.results):
        first = group[0]
        yield ""
        yield f"{first.fault}  ({exits(first)})"
        if others := [f"{result.fault.name} {result.fault.phase}" for result in group[1:]]:
            more = f" and {len(others) - _MOST_ALIKE} more" if len(others) > _MOST_ALIKE else ""
            yield f"  and alike: {', '.join(others[:_MOST_ALIKE])}{more}"
        for finding in first.findings:
            text = " ".join(finding.text.split())
            yield make_printable(f"  {finding.oracle}: {text if len(text) <= _LONGEST else text[:_LONGEST] + '…'}")
        yield f"  play it again: {replay(first, results, findings)}"
    yield ""
    yield from (f"warning: {text}" for text in results.warnings)
    yield summary(results)
