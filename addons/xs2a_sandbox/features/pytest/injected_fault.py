"""The fault of a campaign's run, as the app's tests learn of it, and what they find."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from xs2a_sandbox.config.kinds import CAMPAIGN_FAULT, CAMPAIGN_FINDINGS
from xs2a_sandbox.errors import UserMistake

SCA = "sca"
"""Stands for an operation where a customer's approval is what goes otherwise."""

type Phase = Literal["before", "after"]
"""The bank has not done yet what it is asked, or has."""


@dataclass(frozen=True, slots=True)
class InjectedFault:
    """What goes wrong in this run: at the `call`-th call of an `operation`, or all the time where that is None.

    `name` is an error of the dialect, a fault of the connection or the content, an ending of SCA, or a quirk. `status`
    and `code` are those of the answer, where the fault makes one.
    """

    name: str
    operation: str | None = None
    call: int | None = None
    phase: Phase = "before"
    status: int | None = None
    code: str | None = None

    @property
    def point(self) -> str:
        return "all the time" if self.operation is None else f"{self.operation} {self.call}"

    def __str__(self) -> str:
        return self.name if self.operation is None else f"{self.point}: {self.name}, {self.phase}"

    def as_json(self) -> str:
        return json.dumps({name: value for name, value in asdict(self).items() if value is not None})

    @classmethod
    def read(cls, text: str) -> "InjectedFault":
        """Raises UserMistake."""
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError):
            raise UserMistake(f"{CAMPAIGN_FAULT} is not what a campaign has written: {text[:80]!r}") from None


def read_injected(environ: Mapping[str, str]) -> InjectedFault | None:
    """The fault of this run; None where nothing goes wrong. Raises UserMistake."""
    text = environ.get(CAMPAIGN_FAULT)
    return InjectedFault.read(text) if text else None


def report(environ: Mapping[str, str], test: str, text: str) -> None:
    """Tells the campaign, where there is one, that a test which knows the fault has failed."""
    if file := environ.get(CAMPAIGN_FINDINGS):
        line = json.dumps({"test": test, "text": text[:2000]})
        with Path(file).open("a", encoding="utf-8") as findings:
            findings.write(line + "\n")


def read_reports(file: Path) -> list[dict[str, Any]]:
    """What was told, of lines that are no JSON the text."""
    if not file.is_file():
        return []
    return [_report(line) for line in file.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]


def _report(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    report = value if isinstance(value, dict) else {"text": line}
    return {"test": str(report.get("test", "")), "text": str(report.get("text", line))}
