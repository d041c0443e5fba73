"""The results for a terminal."""

from collections.abc import Iterator
from pathlib import Path

from xs2a_sandbox.features.campaign.campaign import Results
from xs2a_sandbox.features.campaign.fault_sentences import describe
from xs2a_sandbox.features.campaign.finding_file import replay
from xs2a_sandbox.features.campaign.reports.banks import bank_outcomes, banks_summary, results_to_explain
from xs2a_sandbox.features.campaign.reports.table import FindingGroup, exits, groups, rows, summary
from xs2a_sandbox.journal.log_line import make_printable
from xs2a_sandbox.wording import say_count

_LONGEST, _MOST_FAULTS = 200, 6
_EXPLAINED, _MOST_MISTAKES = 2, 4
"""Up to so many mistakes are all explained; of more, only the first is. So a finding has at most ten lines."""


def as_text(results: Results, findings: Path) -> str:
    """Return the text. `findings` is the folder with the findings' files."""
    return "\n".join(_lines(results, findings)) + "\n"


def _lines(results: Results, findings: Path) -> Iterator[str]:
    table = rows(results.results)
    width = max((len(row.point) for row in table), default=0)
    for row in table:
        with_findings = f", {len(row.found)} with findings" if row.found else ""
        yield f"{row.point:{width}}  {len(row.results):>3} tried{with_findings}"
    for group in groups(results_to_explain(results)):
        yield ""
        yield from _group_lines(group, results, findings)
    if results.banks:
        yield from _bank_lines(results)
    yield ""
    yield from (f"warning: {text}" for text in results.warnings)
    yield from summary(results)


def _bank_lines(results: Results) -> Iterator[str]:
    failing = [outcome for outcome in bank_outcomes(results) if outcome.fails]
    width = max((len(outcome.bank.name) for outcome in failing), default=0)
    first, *others = banks_summary(results)
    yield ""
    yield first
    for outcome in failing:
        yield f"  {outcome.bank.name:{width}}  {outcome.bank.bank}: {outcome.why}"
        yield make_printable(f"  {'':{width}}    {_shorten(outcome.example)}")
    yield from others


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _group_lines(group: FindingGroup, results: Results, findings: Path) -> Iterator[str]:
    first, *others = group.results
    yield f"{first.fault}  ({exits(first)})"
    call = f"{group.call}: " if group.call else ""
    yield make_printable(f"  at the bank: {call}{describe(first.fault, first.order)}")
    if others:
        named = ", ".join(f"{one.fault.name} {one.fault.phase}" for one in others[:_MOST_FAULTS])
        more = f" and {len(others) - _MOST_FAULTS} more" if len(others) > _MOST_FAULTS else ""
        yield f"  the same with {say_count(len(others), 'other fault')}: {named}{more}"
    mistakes = group.mistakes
    for position, mistake in enumerate(mistakes[:_MOST_MISTAKES]):
        yield make_printable(f"  {mistake.oracle}: {_shorten(' '.join(mistake.text.split()))}")
        if position == 0 or len(mistakes) <= _EXPLAINED:
            yield f"  expected: {mistake.expected}"
            yield f"  why: {mistake.why}"
    yield f"  replay: {replay(first, results, findings)}"
