"""Results of a campaign, made up."""

from pathlib import Path

from xs2a_sandbox.features.campaign.campaign import FaultResult, Results
from xs2a_sandbox.features.campaign.judge import AppFinding
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault

FOLDER = Path("campaign/findings")
ORDER = {"operation": "initiate-payment", "skip": 0, "next": 1, "fault": "reset", "after": True}
GOOD = FaultResult(InjectedFault("busy", "account-list", 1, status=503), {"error": "busy"}, (), (1, 0), 0.5)
FOUND = FaultResult(
    InjectedFault("reset", "initiate-payment", 1, "after"),
    ORDER,
    (AppFinding("payments", "2 payments of the intent <E-1>"),),
    (0, 0),
    1.0,
)
ALIKE = FaultResult(InjectedFault("html", "initiate-payment", 1, "after"), None, FOUND.findings, (0, 0), 1.0)
RESULTS = Results("pytest -q", {"account-list": 1}, (GOOD, FOUND, ALIKE), {"alike": 3}, 12.0, ("mind the gap",))
