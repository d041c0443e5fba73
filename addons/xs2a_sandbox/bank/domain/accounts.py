"""Accounts by their ids, and by the numbers that others know them by."""

from collections.abc import Mapping
from typing import Any

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.documents.formats import is_iban

_NUMBERS = ("iban", "bban", "masked_pan", "msisdn")


def with_id(id: str, account: Mapping[str, Any]) -> dict[str, Any]:
    """The account with its id, which is its IBAN, too, where that is one and the account says no other."""
    return {"id": id, **({"iban": id} if "iban" not in account and is_iban(id) else {}), **account}


def find_by_number(call: Call, name: str, number: str) -> str | None:
    """The id of the account that has a number of that name: `iban`, `bban`, …"""
    account = call.state.get("accounts", number) if name == "iban" else None
    if account is not None and with_id(number, account).get("iban") == number:
        return number
    return next((id for id, account in call.state.all("accounts").items() if account.get(name) == number), None)


def iban_of(call: Call, id: str) -> str | None:
    return with_id(id, call.state.get("accounts", id) or {}).get("iban")


def number_of(account: Mapping[str, Any]) -> str:
    """The number by which customers know an account: its IBAN, or another one. The account has its id."""
    return str(next((account[name] for name in _NUMBERS if account.get(name)), account["id"]))
