"""Finds accounts by their ids and their numbers."""

from collections.abc import Mapping
from typing import Any

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.documents.formats import is_iban

_NUMBERS = ("iban", "bban", "masked_pan", "msisdn")


def with_id(id: str, account: Mapping[str, Any]) -> dict[str, Any]:
    """Return the account with its id. If the id is an IBAN and the account has none, it is the IBAN, too."""
    return {"id": id, **({"iban": id} if "iban" not in account and is_iban(id) else {}), **account}


def find_by_number(call: Call, name: str, number: str) -> str | None:
    """Return the id of the account whose number of this kind is this: `iban`, `bban`, …"""
    account = call.state.get("accounts", number) if name == "iban" else None
    if account is not None and with_id(number, account).get("iban") == number:
        return number
    return next((id for id, account in call.state.all("accounts").items() if account.get(name) == number), None)


def iban_of(call: Call, id: str) -> str | None:
    return with_id(id, call.state.get("accounts", id) or {}).get("iban")


def number_of(account: Mapping[str, Any]) -> str:
    """Return the number by which customers know an account: its IBAN or another one. The account must have its id."""
    return str(next((account[name] for name in _NUMBERS if account.get(name)), account["id"]))
