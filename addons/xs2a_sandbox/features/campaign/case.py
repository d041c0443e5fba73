"""A run with a fault, and what is known of the app without one: what the oracles judge."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from xs2a_sandbox.features.campaign.run import Observed
from xs2a_sandbox.features.campaign.seen import SeenCall
from xs2a_sandbox.features.campaign.stored import KeptEntries, Storage
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault

OF_ALL_ACCOUNTS = frozenset({401, 403, 429})
"""Errors about the consent or the app, which would be the same for other accounts."""
DATA = frozenset({"account", "balance", "entry"})


@dataclass(frozen=True)
class Learned:
    """The fault-free run, and the next one in the same session. Only calls in both are reliable.

    `beside` is a run in another session, if there was one.
    """

    first: Observed
    second: Observed
    frequency: int | None = None
    beside: Observed | None = None

    @property
    def passes_again(self) -> bool:
        return self.second.ended.status == 0

    @cached_property
    def storage(self) -> Storage:
        return Storage(self.first.kept, self.second.kept, self.beside.kept if self.beside else None)


@dataclass(frozen=True, slots=True)
class Case:
    """A run with a fault, and the next one without a fault, if there was one.

    `again` is the next run with a fault that is there all the time. `is_avoidable` if the app can ask in a way that the
    bank does not refuse.
    """

    learned: Learned
    fault: InjectedFault
    run: Observed
    after: Observed | None = None
    again: Observed | None = None
    is_avoidable: bool = False

    @property
    def kept(self) -> list[KeptEntries]:
        """What the app has stored after each run."""
        return [run.kept for run in (self.run, self.after, self.again) if run]

    @property
    def hit(self) -> SeenCall | None:
        """The call with the fault, if it is at one call."""
        fault = self.fault
        calls = self.run.seen.of(fault.operation) if fault.operation else ()
        return next(islice(calls, (fault.call or 1) - 1, None), None)


def asks_for_consent(calls: Iterable[SeenCall]) -> bool:
    return any(call.does and (call.does.verb, call.does.thing) == ("create", "consent") for call in calls)
