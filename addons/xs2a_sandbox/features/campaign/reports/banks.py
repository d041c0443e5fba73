"""What every report says about the banks of the atlas: at which the app would fail, and why."""

from collections.abc import Iterator
from dataclasses import dataclass

from xs2a_sandbox.features.campaign.atlas import AtlasBank
from xs2a_sandbox.features.campaign.campaign import FaultResult, Results
from xs2a_sandbox.wording import say_count


@dataclass(frozen=True, slots=True)
class BankOutcome:
    """A bank, the result of its run, and its quirks that have findings on their own.

    `is_compared` if each of them was tried on its own.
    """

    bank: AtlasBank
    result: FaultResult
    culprits: tuple[str, ...]
    is_compared: bool

    @property
    def fails(self) -> bool:
        return bool(self.result.findings)

    @property
    def why(self) -> str:
        """The quirks at which the app fails."""
        together = "only together: " if self.is_compared else ""
        return ", ".join(self.culprits) or together + ", ".join(self.bank.quirks)

    @property
    def example(self) -> str:
        """The first finding on one line."""
        found = self.result.findings[0]
        return f"{found.oracle}: {' '.join(found.text.split())}"


def bank_outcomes(results: Results) -> list[BankOutcome]:
    """Return the banks whose run was made, those with findings first."""
    by_name = {result.fault.name: result for result in results.results if result.fault.operation is None}
    made = [
        BankOutcome(bank, by_name[bank.fault.name], tuple(_culprits(bank, by_name)), by_name.keys() >= {*bank.quirks})
        for bank in results.banks
        if bank.fault and bank.fault.name in by_name
    ]
    return sorted(made, key=lambda outcome: not outcome.fails)


def _culprits(bank: AtlasBank, by_name: dict[str, FaultResult]) -> Iterator[str]:
    return (quirk for quirk in bank.quirks if quirk in by_name and by_name[quirk].findings)


def results_to_explain(results: Results) -> list[FaultResult]:
    """Return the results without those of banks for which the results of their quirks already say what happens."""
    known = {outcome.bank.name for outcome in bank_outcomes(results) if outcome.culprits}
    return [
        result for result in results.results if result.fault.operation is not None or result.fault.name not in known
    ]


def banks_summary(results: Results) -> Iterator[str]:
    """Yield lines about all banks of the atlas."""
    outcomes = bank_outcomes(results)
    fails = sum(outcome.fails for outcome in outcomes)
    yield f"The app would fail at {fails} of the {say_count(len(results.banks), 'bank')} of the atlas."
    untouched = sum(bank.fault is None for bank in results.banks)
    if good := len(outcomes) - fails:
        yield f"{say_count(good, 'bank')} without findings"
    if untouched:
        yield f"{say_count(untouched, 'bank')} whose quirks change nothing for this app"
    if left := len(results.banks) - len(outcomes) - untouched:
        yield f"{say_count(left, 'bank')} not tried"
