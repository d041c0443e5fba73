"""Keeps the results of a campaign in a file, line by line, so that an interrupted one can be resumed."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from xs2a_sandbox import __version__
from xs2a_sandbox.documents.files import writing
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.campaign.campaign import FaultResult, RunExchanges
from xs2a_sandbox.features.campaign.judge import AppFinding
from xs2a_sandbox.features.campaign.left_out import BUDGET, UNREACHED, SkippedFault
from xs2a_sandbox.features.campaign.plan import Plan
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault


@dataclass(frozen=True, slots=True)
class ResultsFile:
    """`of` identifies the campaign: command and settings. Without `resumes` it starts again."""

    file: Path
    of: Mapping[str, Any]
    resumes: bool

    def begin(self, plan: Plan) -> dict[InjectedFault, FaultResult]:
        """Return the existing results, or start a new file. Raises UserMistake if it belongs to another campaign."""
        faults = [str(planned.fault) for planned in plan.faults]
        text = json.dumps([__version__, dict(self.of), faults], sort_keys=True)
        campaign = hashlib.sha256(text.encode()).hexdigest()
        head: dict[str, Any] = {"campaign": campaign, "left_out": [asdict(one) for one in plan.left_out]}
        head["faults"] = [asdict(planned.fault) for planned in plan.faults]
        if not self.resumes:
            with writing(self.file):
                self.file.write_text(json.dumps(head) + "\n")
            return {}
        try:
            first, results = _lines(self.file)
        except (OSError, ValueError):
            raise UserMistake(f"there is nothing to resume in {self.file}: start again without --resume") from None
        if first.get("campaign") != campaign:
            text = "belongs to another campaign: the command, the settings or the calls of the app are different"
            raise UserMistake(f"{self.file} {text}; start again without --resume")
        return {result.fault: result for result in results}

    def add(self, result: FaultResult) -> None:
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(result)) + "\n")


def read(file: Path) -> list[FaultResult]:
    """Return the results so far, or none if there is no such file."""
    try:
        return _lines(file)[1]
    except (OSError, ValueError):
        return []


def read_left_out(file: Path) -> list[SkippedFault]:
    """Return the faults that were left out, were not reached, or have no result yet; none if there is no such file."""
    try:
        head, results = _lines(file)
    except (OSError, ValueError):
        return []
    planned = [InjectedFault(**fault) for fault in head.get("faults", ())]
    tried = {result.fault for result in results}
    return [
        *(SkippedFault(InjectedFault(**one["fault"]), one["why"]) for one in head.get("left_out", ())),
        *(SkippedFault(result.fault, UNREACHED) for result in results if not result.is_reached),
        *(SkippedFault(fault, BUDGET) for fault in planned if fault not in tried),
    ]


def _lines(file: Path) -> tuple[dict[str, Any], list[FaultResult]]:
    """Return the first line, which identifies the campaign, and the results. Raises OSError and ValueError."""
    first, *lines = file.read_text(encoding="utf-8").splitlines()
    head = json.loads(first)
    if not isinstance(head, dict):
        raise ValueError("the first line must be an object")
    return head, [result for line in lines if (result := _read(line))]


def _read(line: str) -> FaultResult | None:
    """Parse a result, or return None if the line is incomplete."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return FaultResult(
        InjectedFault(**value["fault"]),
        value["order"],
        tuple(AppFinding(**finding) for finding in value["findings"]),
        tuple(value["statuses"]),
        value["seconds"],
        value["is_reached"],
        RunExchanges(**value["exchanges"]) if value["exchanges"] else None,
    )
