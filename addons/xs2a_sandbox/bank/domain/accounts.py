"""Finds accounts by their ids and their numbers."""

from collections.abc import Mapping
from typing import Any

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.documents.formats import is_iban

_NUMBERS = ("iban", "bban", "masked_pan", "msisdn")


def with_id(id: str, account: Mapping[str, Any]) -> dict[str, Any]:
    """Return the account with its id, which is also its IBAN if `lends_iban`."""
    return {"id": id, "iban": id, **account} if lends_iban(id, account) else {"id": id, **account}


def lends_iban(id: str, account: Mapping[str, Any]) -> bool:
    """Return whether the id is the account's IBAN: the id has the form of an IBAN, and the account has no `iban`."""
    return "iban" not in account and is_iban(id)


def find_by_number(call: Call, name: str, number: str) -> str | None:
    """Return the id of the account with this number. `name` is the kind of number: `iban`, `bban`, …"""
    account = call.state.get("accounts", number) if name == "iban" else None
    if account is not None and (account.get("iban") == number or lends_iban(number, account)):
        return number
    return next((id for id, account in call.state.all("accounts").items() if account.get(name) == number), None)


def iban_of(call: Call, id: str) -> str | None:
    return with_id(id, call.state.get("accounts", id) or {}).get("iban")


def number_of(account: Mapping[str, Any]) -> str:
    """Return the number by which customers know an account: its IBAN or another one. `account` needs its id."""
    return str(next((account[name] for name in _NUMBERS if account.get(name)), account["id"]))


def find_owner(call: Call, account: Mapping[str, Any]) -> str | None:
    """Return the name of the holder."""
    return account.get("owner_name") or (call.state.get("psus", account["psuId"]) or {}).get("name")
