"""The preconfigured customers, accounts, consents and payments, for tests that need one of a kind."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from xs2a_sandbox.bank import TestData
from xs2a_sandbox.bank.domain.documents import state_of
from xs2a_sandbox.bank.testdata import UNKNOWN
from xs2a_sandbox.errors import UserMistake


class BankData:
    """The test data as of a day, without later changes, which are in the state."""

    def __init__(self, data: TestData, day: date) -> None:
        self._collections = data.at(day)
        self._unknown = data.unknown_consents

    @property
    def consents(self) -> Mapping[str, Mapping[str, Any]]:
        """Consents by id, without those that the bank does not know."""
        return self._all("consents")

    @property
    def accounts(self) -> Mapping[str, Mapping[str, Any]]:
        """Accounts by id."""
        return self._all("accounts")

    @property
    def cards(self) -> Mapping[str, Mapping[str, Any]]:
        return self._all("cards")

    @property
    def payees(self) -> Mapping[str, Mapping[str, Any]]:
        """Holders of accounts at other banks, by IBAN."""
        return self._all("payees")

    @property
    def payments(self) -> Mapping[str, Mapping[str, Any]]:
        return self._all("payments")

    @property
    def psus(self) -> Mapping[str, Mapping[str, Any]]:
        """The customers by id, with their passwords."""
        return self._all("psus")

    def consent(self, role: str = "authorised", account: str | None = None) -> str:
        """Return the id of the first consent in that role, and for that account if it is given. Raises UserMistake."""
        if role == UNKNOWN and self._unknown and account is None:
            return self._unknown[0]
        for id, consent in self.consents.items():
            if consent["role"] == role and (account is None or account in consent["accounts"]):
                return id
        roles = sorted({str(consent["role"]) for consent in self.consents.values()} | {UNKNOWN})
        of = f" for the account {account}" if account else ""
        raise UserMistake(
            f"there is no consent with the role {role!r}{of} in the test data; the roles are {', '.join(roles)}"
        )

    def payment(self, status: str | None = None, product: str | None = None) -> str:
        """Return the id of the first payment in that state and with that product. Raises UserMistake."""
        for id, payment in self.payments.items():
            if status in (None, state_of("payments", payment)) and product in (None, payment["product"]):
                return id
        wanted = " and ".join(
            f"the {name} {value}" for name, value in (("status", status), ("product", product)) if value
        )
        if not wanted:
            raise UserMistake("the test data has no payment")
        raise UserMistake(f"no payment in the test data has {wanted}")

    def _all(self, collection: str) -> Mapping[str, Mapping[str, Any]]:
        return self._collections.get(collection, {})
