"""Runs an app's tests again and again, with one thing going wrong at one point, and judges what a bank can see of it.

`Campaign` learns which calls there are, plans what may go wrong at each, runs, and gives the results that `reports/`
tell. Nothing is random: the same campaign gives the same result.
"""

from xs2a_sandbox.features.campaign.campaign import Campaign, Results
from xs2a_sandbox.features.campaign.command import Command

__all__ = ["Campaign", "Command", "Results"]
