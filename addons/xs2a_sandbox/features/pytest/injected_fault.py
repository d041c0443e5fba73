"""The fault in a campaign's run, as the app's tests see it, and the findings that they report."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from xs2a_sandbox.config.kinds import CAMPAIGN_FAULT, CAMPAIGN_FINDINGS
from xs2a_sandbox.errors import UserMistake

SCA = "sca"
"""Replaces the operation if the fault is about a customer's approval."""

type Phase = Literal["before", "after"]
"""Whether the fault occurs before or after the bank has processed the request."""


@dataclass(frozen=True, slots=True)
class InjectedFault:
    """The fault in this run: at the `call`-th call of an `operation`, or all the time if that is None.

    `name` is an error of the dialect, a fault of the connection or the body, an ending of SCA, or a quirk. `status` and
    `code` are those of the answer, if the fault makes one.
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
        """Parse a fault. Raises UserMistake."""
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError):
            raise UserMistake(f"{CAMPAIGN_FAULT} must be a fault of a campaign, not {text[:80]!r}") from None


def read_injected(environ: Mapping[str, str]) -> InjectedFault | None:
    """Return the fault in this run, or None if there is none. Raises UserMistake."""
    text = environ.get(CAMPAIGN_FAULT)
    return InjectedFault.read(text) if text else None


def report(environ: Mapping[str, str], test: str, text: str) -> None:
    """Report to the campaign, if there is one, that a test which knows about the fault has failed."""
    if file := environ.get(CAMPAIGN_FINDINGS):
        line = json.dumps({"test": test, "text": text[:2000]})
        with Path(file).open("a", encoding="utf-8") as findings:
            findings.write(line + "\n")


def read_reports(file: Path) -> list[dict[str, Any]]:
    """Return the reports. A line that is not JSON is used as text."""
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
