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
from xs2a_sandbox.features.campaign.campaign import FaultResult
from xs2a_sandbox.features.campaign.judge import AppFinding
from xs2a_sandbox.features.campaign.plan import Plan
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault


@dataclass(frozen=True, slots=True)
class ResultsFile:
    """`of` identifies the campaign: command and settings. Without `resumes` it starts again."""

    file: Path
    of: Mapping[str, Any]
    resumes: bool

    def begin(self, plan: Plan) -> dict[InjectedFault, FaultResult]:
        """Return the existing results, or start a new file. Raises UserMistake if the file is of another campaign."""
        faults = [str(planned.fault) for planned in plan.faults]
        text = json.dumps([__version__, dict(self.of), faults], sort_keys=True)
        head = {"campaign": hashlib.sha256(text.encode()).hexdigest()}
        if not self.resumes:
            with writing(self.file):
                self.file.write_text(json.dumps(head) + "\n")
            return {}
        try:
            first, *lines = self.file.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            raise UserMistake(f"there is nothing to resume in {self.file}: start again without --resume") from None
        if first != json.dumps(head):
            text = "of another campaign: the command, the settings or the calls of the app are different"
            raise UserMistake(f"{self.file} is {text}; start again without --resume")
        results = [result for line in lines if (result := _read(line))]
        return {result.fault: result for result in results}

    def add(self, result: FaultResult) -> None:
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(result)) + "\n")


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
    )
