"""The banks of the atlas: the runs that show at which of them the app would fail."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.model import Cassette
from xs2a_sandbox.config.known_banks import KnownBank
from xs2a_sandbox.features.campaign.order import QUIRKS, Kind, PlannedFault, in_order, refuses_by_request
from xs2a_sandbox.features.campaign.plan import Plan, add_quirks
from xs2a_sandbox.features.campaign.seen import Seen
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault


@dataclass(frozen=True, slots=True)
class AtlasBank:
    """A bank of the atlas with its full name `bank`, and those of its `quirks` that change anything for the app."""

    name: str
    bank: str
    quirks: tuple[str, ...]

    @property
    def fault(self) -> InjectedFault | None:
        """The run that shows what the app does at this bank; None if all that is special there does not concern it.

        For a bank with a single quirk this is the run with the quirk.
        """
        if not self.quirks:
            return None
        return InjectedFault(self.quirks[0] if len(self.quirks) == 1 else self.name)


def plan_atlas(
    interface: Interface, learned: Seen, quirks: Mapping[str, Cassette], banks: Mapping[str, KnownBank]
) -> tuple[Plan, tuple[AtlasBank, ...]]:
    """Plan a run with each quirk, and one with all quirks of each bank that has several."""
    made = Plan()
    add_quirks(made, interface, learned, quirks)
    noticed = {planned.fault.name for planned in made.faults}
    found = tuple(
        AtlasBank(name, known.bank, tuple(quirk for quirk in known.quirks if quirk in noticed))
        for name, known in sorted(banks.items())
    )
    made.faults = in_order(made.faults, interface)
    made.faults += [
        PlannedFault(
            bank.fault,
            {QUIRKS: list(bank.quirks)},
            Kind.QUIRK,
            is_avoidable=any(refuses_by_request(quirks[name]) for name in bank.quirks),
        )
        for bank in found
        if bank.fault and len(bank.quirks) > 1
    ]
    return made, found


def name_runs(words: Sequence[str], banks: Sequence[AtlasBank]) -> Iterator[str]:
    """Yield the words with which runs are chosen. A word in the name of a bank chooses its run, and its quirks."""
    for word in words:
        runs = [run for bank in banks if word in bank.name and bank.fault for run in (bank.fault.name, *bank.quirks)]
        yield from runs or [word]
