"""The bank's test data, read from the file, and facts about them that tests need."""

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

import yaml

from tests.contract.answers import ROOT, is_iban
from tests.support import said

_TODAY = re.compile(r"\{\{\s*today\((-?\d*)\)\s*\}\}")


def today(days: int = 0) -> str:
    """Return today's date in the bank's time zone."""
    return (datetime.now(ZoneInfo("Europe/Vienna")).date() + timedelta(days=days)).isoformat()


def dated(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the test data with dates calculated from today. Early dates may be in the past during the test."""
    dates = {"validUntil", "requestedExecutionDate", "startDate", "endDate"}
    return {
        name: today(value) if name in dates and isinstance(value, int) else value for name, value in members.items()
    }


def testdata() -> Mapping[str, Any]:
    """Return all scalars as the strings in the file, with relative dates filled in."""
    return as_of(date.fromisoformat(today()))


@cache
def as_of(day: date) -> Mapping[str, Any]:
    """Return the test data of a session that starts on this day."""
    return _filled(yaml.load((ROOT / "cassettes" / "testdata.yaml").read_text(), yaml.CBaseLoader), day)


def _filled(value: Any, day: date) -> Any:
    if isinstance(value, dict):
        return {key: _filled(member, day) for key, member in value.items()}
    if isinstance(value, list):
        return [_filled(entry, day) for entry in value]
    return _TODAY.sub(lambda found: (day + timedelta(days=int(found[1] or 0))).isoformat(), value)


def accounts() -> Mapping[str, Any]:
    """Return the accounts as the interface shows them, and their entries as `transactions`."""
    return said_of(date.fromisoformat(today()))


@cache
def said_of(day: date) -> Mapping[str, Any]:
    return {id: said.account(account) for id, account in as_of(day)["accounts"].items()}


def cards() -> Mapping[str, Any]:
    """Return the cards as the interface shows them."""
    return {id: said.card(card) for id, card in testdata()["cards"].items()}


def consents(role: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return ids and contents of the preconfigured consents with this role, in the file's order."""
    return [(id, consent) for id, consent in testdata()["consents"].items() if consent["role"] == role]


def consent(role: str = "authorised") -> str:
    return consents(role)[0][0]


def covered(consent_id: str | None = None) -> str:
    """Return the IBAN that a preconfigured consent is tied to."""
    (iban,) = testdata()["consents"][consent_id or consent()]["accounts"]
    return iban


def tied() -> dict[str, str]:
    """Return the valid consent that is tied to each IBAN."""
    return {covered(id): id for id, _ in consents("authorised")}


def untied() -> list[str]:
    """Return IBANs without a preconfigured valid consent."""
    return [iban for iban in accounts() if iban not in tied()]


def uncovered() -> str:
    """Return an account of the bank that the first valid consent does not cover."""
    return next(iban for iban in accounts() if iban != covered())


def available(iban: str) -> Decimal:
    return next(
        Decimal(balance["balanceAmount"]["amount"])
        for balance in accounts()[iban]["balances"]
        if balance["balanceType"] == "forwardAvailable"
    )


def booked(iban: str, kind: str = "booked") -> list[Mapping[str, Any]]:
    return accounts()[iban].get("transactions", {}).get(kind) or []


def payments(status: str) -> list[tuple[str, Mapping[str, Any]]]:
    return [(id, payment) for id, payment in testdata()["payments"].items() if payment["status"] == status]


def rate(currency: str) -> Decimal:
    """Return the price of one unit in EUR."""
    return Decimal(1) if currency == "EUR" else Decimal(testdata()["rates"][currency])


def debtor(currency: str = "EUR", least: int = 1000) -> str:
    """Return an account in this currency with a sufficient balance."""
    return next(
        iban for iban, account in accounts().items() if account["currency"] == currency and available(iban) >= least
    )


def low() -> str:
    """Return the account with the lowest positive available balance."""
    return min(
        (iban for iban in accounts() if available(iban) > 0 and accounts()[iban]["currency"] == "EUR"), key=available
    )


def foreign_iban() -> str:
    """Return a valid IBAN of an account at another bank."""
    return next(iban for iban in map(_austrian, range(1, 100)) if iban not in accounts())


def wrong_iban() -> str:
    """Return an IBAN of the bank with a changed last digit, so that the check digits are wrong."""
    iban = covered()
    wrong = iban[:-1] + str((int(iban[-1]) + 1) % 10)
    assert not is_iban(wrong)
    return wrong


def _austrian(number: int) -> str:
    account = f"19043{number:011d}"
    return f"AT{98 - int(account + '102900') % 97:02d}{account}"
