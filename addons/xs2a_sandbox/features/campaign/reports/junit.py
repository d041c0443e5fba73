"""The results for CI."""

from pathlib import Path

from xs2a_sandbox.documents.report_files import CaseResult, as_junit
from xs2a_sandbox.features.campaign.campaign import FaultResult, Results
from xs2a_sandbox.features.campaign.fault_sentences import describe
from xs2a_sandbox.features.campaign.finding_file import replay
from xs2a_sandbox.features.campaign.reports.banks import BankOutcome, bank_outcomes
from xs2a_sandbox.features.campaign.reports.table import exits, rows, summary
from xs2a_sandbox.journal.log_line import make_printable


def write(results: Results, findings: Path) -> str:
    """Return a suite for each point, and a test case for each fault, with the same names in every campaign."""
    suites = {row.point: [_case(results, result, findings) for result in row.results] for row in rows(results.results)}
    told = "\n".join([*summary(results), *results.warnings])
    about = CaseResult("campaign", "has let something go wrong", output=told)
    banks = {"banks of the atlas": [_bank(outcome) for outcome in bank_outcomes(results)]} if results.banks else {}
    return as_junit("xs2a-sandbox campaign", {**suites, **banks, "campaign": [about]})


def _bank(outcome: BankOutcome) -> CaseResult:
    if not outcome.fails:
        return CaseResult("banks of the atlas", outcome.bank.name)
    example, kind = make_printable(outcome.example), outcome.result.findings[0].oracle
    return CaseResult("banks of the atlas", outcome.bank.name, "failure", example, kind, outcome.why)


def _case(results: Results, result: FaultResult, findings: Path) -> CaseResult:
    name = f"{result.fault.name}, {result.fault.phase}"
    if not result.findings:
        return CaseResult(result.fault.point, name, output=exits(result), seconds=result.seconds)
    return CaseResult(
        result.fault.point,
        name,
        "failure",
        make_printable(result.findings[0].text),
        result.findings[0].oracle,
        "\n".join(make_printable(f"{finding.oracle}: {finding.text}") for finding in result.findings),
        f"{make_printable(describe(result.fault, result.order))}\n{exits(result)}\n"
        f"replay: {make_printable(replay(result, results, findings))}",
        result.seconds,
    )
