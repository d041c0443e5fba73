"""Variants of NextGenPSD2 1.3: a dialect derived from one recording answers the requests of a second recording."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.authoring import differing_bank
from tests.authoring.differing_bank import App
from tests.authoring.test_derived_dialect import learn
from tests.authoring.test_second_recordings import chains
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.documents.yaml_writer import yaml_text
from xs2a_sandbox.features.derive import derived_dialect as derived_dialects

READS = ("accounts.list", "accounts.read", "accounts.balances", "accounts.transactions")
BANKS: dict[str, Mapping[str, Mapping[str, Any]]] = {
    "as it is bundled": {},
    "redirect": {"authorisation": {"sca": "redirect"}},
    "older consents stay": {"consents.create": {"ends_older": False}},
    "executed is ACSC": {"payments.initiate": {"executed": "ACSC"}},
    "deleted consents are gone": {"consents.delete": {"keeps": False}},
    "one-off consents stay": {name: {"one_off": False} for name in READS},
}
IBAN = "DE47999888770000200002"
ALL = {"allPsd2": "allAccounts"}
ONE = {name: [{"iban": IBAN}] for name in ("balances", "transactions")}


@dataclass
class Customer(App):
    """Oskar's app."""

    def agrees(self, access: Mapping[str, Any], end: str = "valid", *, recurring: bool = True) -> str:
        wish = {"access": access, "recurringIndicator": recurring, "validUntil": "2027-01-31"}
        wish |= {"frequencyPerDay": 4 if recurring else 1, "combinedServiceIndicator": False}
        id = str(self.ask("POST", "/v1/consents", wish, PSU_ID="oskar")["consentId"])
        self.read_status(id)
        for one in self.ask("GET", f"/v1/consents/{id}/authorisations")["authorisationIds"]:
            self.ask("GET", f"/v1/consents/{id}/authorisations/{one}")
        self.decide("consent", id, end)
        self.read_status(id)
        for account in self.ask("GET", "/v1/accounts?withBalance=true", Consent_ID=id).get("accounts", ()):
            query = "bookingStatus=booked&dateFrom=2026-01-01"
            self.ask("GET", f"/v1/accounts/{account['resourceId']}/transactions?{query}", Consent_ID=id)
        self.ask("GET", "/v1/accounts", Consent_ID=id)
        self.read_status(id)
        return id

    def read_status(self, id: str) -> None:
        self.ask("GET", f"/v1/consents/{id}/status")

    def revokes(self, id: str) -> None:
        self.ask("DELETE", f"/v1/consents/{id}")
        self.read_status(id)

    def transfers(self, amount: str, end: str | None = None, *, bulk: bool = False, **more: str) -> None:
        money = {"instructedAmount": {"currency": "EUR", "amount": amount}}
        one = {"creditorAccount": {"iban": "DE65999777660000001000"}, "creditorName": "Berta", **money}
        wish = {"debtorAccount": {"iban": IBAN}, **({"payments": [one, one]} if bulk else one), **more}
        path = f"/v1/{'bulk-payments' if bulk else 'payments'}/sepa-credit-transfers"
        id = str(self.ask("POST", path, wish, PSU_ID="oskar")["paymentId"])
        self.ask("GET", f"{path}/{id}/status")
        self.decide("payment", id, end or self.executed)
        self.ask("GET", f"{path}/{id}/status")
        self.ask("GET", f"{path}/{id}")
        self.ask("DELETE", f"{path}/{id}")
        self.ask("GET", f"{path}/{id}/status")


def first(app: Customer) -> None:
    older = app.agrees(ALL)
    app.agrees(ONE, recurring=False)
    app.read_status(older)
    newer = app.agrees(ALL)
    app.read_status(older)
    app.revokes(newer)
    app.transfers("12.00")
    app.transfers("3.00", bulk=True)
    app.transfers("4.00", "ACTC", requestedExecutionDate="2026-12-24")


def second(app: Customer) -> None:
    app.transfers("1.11", "ACTC", requestedExecutionDate="2027-02-24")
    app.agrees(ONE, recurring=False)
    older = app.agrees(ALL)
    app.agrees(ALL, "rejected")
    newer = app.agrees(ONE)
    app.read_status(older)
    app.revokes(newer)
    app.transfers("5.55", bulk=True)
    app.transfers("6.66")
    app.transfers("7.77", "RJCT")


def bank(directory: Path, options: Mapping[str, Mapping[str, Any]]) -> Path:
    directory.mkdir()
    own = {name: value for name, value in options.items() if name != "authorisation"}
    section = options.get("authorisation", {})
    cassette = {
        "cassette": 1,
        "extends": "berlin-group-1.3",
        "authorisation": section,
        "changes": {"options": own},
    }
    (directory / "dialect.yaml").write_text(yaml_text(cassette))
    shutil.copy(bundled("cassettes") / "berlin-group-1.3" / "testdata.yaml", directory)
    return directory


@pytest.mark.slow
@pytest.mark.parametrize("name", BANKS)
def test_a_second_recording_of_the_bank_has_the_same_state_sequences(name: str, tmp_path: Path) -> None:
    folder = bank(tmp_path / "bank", BANKS[name])
    executed = BANKS[name].get("payments.initiate", {}).get("executed", "ACSP")
    recorded = Customer(differing_bank.engine(folder), executed=executed)
    first(recorded)
    made = derived_dialects.write(learn(tmp_path, recorded.entries), tmp_path / "cassettes")
    real, derived = (Customer(differing_bank.engine(one), executed=executed) for one in (folder, made))
    for one in (real, derived):
        second(one)
    real_chains, alike = chains(real), chains(derived)
    same = sum(one == other for one, other in zip(real_chains, alike, strict=True))
    assert same >= 0.95 * len(real_chains), [
        pair for pair in zip(real_chains, alike, strict=True) if pair[0] != pair[1]
    ]
