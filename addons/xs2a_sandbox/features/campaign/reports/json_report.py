"""The results as JSON, for programs."""

import json
from pathlib import Path
from typing import Any

from xs2a_sandbox.features.campaign.campaign import FaultResult, Results
from xs2a_sandbox.features.campaign.fault_sentences import describe
from xs2a_sandbox.features.campaign.finding_file import replay
from xs2a_sandbox.features.campaign.reports.banks import BankOutcome, bank_outcomes


def as_json(results: Results, findings: Path) -> str:
    """Return the document. `findings` is the folder with the findings' files."""
    made: dict[str, Any] = {
        "command": results.command,
        "seconds": round(results.seconds, 1),
        "warnings": results.warnings,
        "tried": len(results.results),
        "with_findings": len(results.findings),
        "faults": [_fault(result, results, findings) for result in results.results],
        "left_out": [{"fault": str(one.fault), "why": one.why} for one in results.left_out],
    }
    if results.banks:
        outcomes = {outcome.bank.name: outcome for outcome in bank_outcomes(results)}
        made["banks"] = {
            bank.name: {"bank": bank.bank, "quirks": bank.quirks, **_outcome(outcomes.get(bank.name))}
            for bank in results.banks
        }
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def _fault(result: FaultResult, results: Results, findings: Path) -> dict[str, Any]:
    fault = result.fault
    made = {
        "fault": str(fault),
        "name": fault.name,
        "operation": fault.operation,
        "call": fault.call,
        "phase": fault.phase,
        "at_the_bank": describe(fault, result.order),
        "exit_statuses": result.statuses,
        "seconds": round(result.seconds, 3),
        "findings": [{"check": found.oracle, "text": found.text} for found in result.findings],
    }
    return {**made, "replay": replay(result, results, findings)} if result.findings else made


def _outcome(outcome: BankOutcome | None) -> dict[str, Any]:
    """Return the outcome of a bank's run. It is null if nothing was tried, or nothing is special for the app."""
    if outcome is None:
        return {"fails": None}
    return {"fails": outcome.fails, **({"why": outcome.why, "example": outcome.example} if outcome.fails else {})}
