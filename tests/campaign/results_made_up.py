"""Sample results of a campaign."""

from pathlib import Path

from xs2a_sandbox.features.campaign.campaign import FaultResult, Results
from xs2a_sandbox.features.campaign.judge import AppFinding
from xs2a_sandbox.features.campaign.left_out import ALIKE as ALIKE_ONES
from xs2a_sandbox.features.campaign.left_out import SkippedFault
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault

FOLDER = Path("campaign/findings")
ORDER = {"operation": "initiate-payment", "skip": 0, "next": 1, "fault": "reset", "after": True}
GOOD = FaultResult(InjectedFault("busy", "account-list", 1, status=503), {"error": "busy"}, (), (1, 0), 0.5)
FOUND = FaultResult(
    InjectedFault("reset", "initiate-payment", 1, "after"),
    ORDER,
    (AppFinding("payments", "The app made 2 payments of <E-1>."),),
    (0, 0),
    1.0,
)
ALIKE = FaultResult(InjectedFault("html", "initiate-payment", 1, "after"), {}, FOUND.findings, (0, 0), 1.0)
LEFT_OUT = tuple(SkippedFault(InjectedFault("busy", "account-list", number), ALIKE_ONES) for number in (1, 2, 3))
RESULTS = Results("pytest -q", {"account-list": 1}, (GOOD, FOUND, ALIKE), LEFT_OUT, 12.0, ("mind the gap",))
