"""A dialect derived from one recording answers the requests of a second recording of the same bank."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.authoring import differing_bank
from tests.authoring.differing_bank import IBAN, App, states
from tests.authoring.test_derived_dialect import learn
from xs2a_sandbox.features.derive import derived_dialect as derived_dialects

NEW_IDS = {
    "consents.create": {"ids": "{digits:10}"},
    "payments.initiate": {"ids": "PAY-{hex:16}"},
    "authorisation": {"authorisation_ids": "{base64url:22}"},
}


@dataclass(frozen=True, slots=True)
class Habits:
    """The differences between a bank and the differing bank."""

    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    quirks: tuple[str, ...] = ()


EVERYTHING = {name: dict(options) for name, options in NEW_IDS.items()}
EVERYTHING["payments.initiate"]["executed"] = "ACSP"
EVERYTHING["consents.delete"] = {"keeps": True}
OF_ENTRIES = ("ids-null", "dates-null", "holds-as-booked", "three-decimals")

BANKS = {
    "the differing bank": Habits(),
    "ids of other forms": Habits(NEW_IDS),
    "executed is ACSP": Habits({"payments.initiate": {"executed": "ACSP"}}),
    "executed is ACCC": Habits({"payments.initiate": {"executed": "ACCC"}}),
    "deleted consents stay": Habits({"consents.delete": {"keeps": True}}),
    "ids of entries are null": Habits(quirks=("null-ids",)),
    "ids of entries are 0": Habits(quirks=("ids-zero",)),
    "dates of entries are null": Habits(quirks=("dates-null",)),
    "holds are booked": Habits(quirks=("holds-as-booked",)),
    "three decimals": Habits(quirks=("three-decimals",)),
    "a wrong code is final": Habits(quirks=("wrong-tan-final",)),
    "validUntil is shortened": Habits(quirks=("valid-until-shortened",)),
    "all at once": Habits(EVERYTHING, (*OF_ENTRIES, "wrong-tan-final", "valid-until-shortened")),
}


def first(app: App) -> None:
    app.reads_accounts()
    app.pays()
    app.mistypes()
    app.cancels()
    app.errs()


def second(app: App) -> None:
    """A second run with other amounts, dates and orders, two payments, and outcomes that the first recording lacks."""
    app.cancels()
    app.pays("1999.95")
    app.declines()
    app.mistypes()
    app.overdraws()
    app.reads_accounts(until="2027-03-31")
    app.pays("0.07", "sepa-credit-transfers")
    app.errs()


def chains(app: App) -> list[tuple[str, str]]:
    """Return all reported states, and all statuses, in order."""
    changes = [(name, state) for name, chain in states(app.entries).items() for state in chain]
    return changes + [("status", str(entry.status)) for entry in app.entries]


def second_journeys(name: str, directory: Path) -> tuple[App, App]:
    """Run the second flow at the bank, and at the dialect derived from the first recording."""
    habits = BANKS[name]
    executed = habits.options.get("payments.initiate", {}).get("executed", "ACSC")
    folder = differing_bank.varied(directory / "bank", habits.options)
    recorded = App(differing_bank.engine(folder, *habits.quirks), executed=executed)
    first(recorded)
    made = derived_dialects.write(learn(directory, recorded.entries), directory / "cassettes")
    bank = App(differing_bank.engine(folder, *habits.quirks), executed=executed)
    derived = App(differing_bank.engine(made), executed=executed)
    for one in (bank, derived):
        second(one)
    return bank, derived


@pytest.mark.slow
@pytest.mark.parametrize("name", BANKS)
def test_a_second_recording_of_the_bank_has_the_same_state_sequences(name: str, tmp_path: Path) -> None:
    bank, derived = second_journeys(name, tmp_path)
    real_chains, alike = chains(bank), chains(derived)
    same = sum(one == other for one, other in zip(real_chains, alike, strict=True))
    assert same >= 0.95 * len(real_chains), [
        pair for pair in zip(real_chains, alike, strict=True) if pair[0] != pair[1]
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "member"), [("ids of entries are null", "transactionId"), ("dates of entries are null", "bookingDate")]
)
def test_members_that_the_bank_never_fills_are_always_null(name: str, member: str, tmp_path: Path) -> None:
    _, derived = second_journeys(name, tmp_path)
    id = derived.reads_accounts(until="2027-06-30", delete=False)
    derived.ask("GET", f"/v1/accounts/{IBAN}/transactions?bookingStatus=both&dateFrom=2026-01-01", Consent_ID=id)
    lists = json.loads(derived.entries[-1].answer_body)["transactions"]
    assert {entry[member] for entry in lists["booked"]} == {None}


@pytest.mark.slow
def test_ids_are_new_and_have_the_format_of_the_bank(tmp_path: Path) -> None:
    bank, derived = second_journeys("ids of other forms", tmp_path)
    forms = {"consents": r"[0-9]{10}", "payments/[a-z-]+": r"PAY-[0-9a-f]{16}", "authorisations": r"[\w-]{22}"}
    for place, form in forms.items():
        ids = [
            {match[1] for entry in one.entries if (match := re.search(rf"/{place}/({form})(/|$)", entry.target))}
            for one in (bank, derived)
        ]
        assert len(ids[0]) == len(ids[1]) > 0
        assert not ids[0] & ids[1]
