"""Describes how two values differ without quoting them. It runs before redaction, which would hide the difference."""

import unicodedata
from datetime import date, datetime
from typing import Any

from xs2a_sandbox.documents.formats import is_date, is_date_time, number

_LONGEST = 2000
"""The longest texts that are analysed."""


def manner(bank: Any, sandbox: Any) -> str | None:
    """Describe how the two values differ, or return None if there is no description."""
    if type(bank) is type(sandbox) and str(bank) == str(sandbox):
        return None
    if isinstance(bank, str) and isinstance(sandbox, str):
        if len(bank) > _LONGEST or len(sandbox) > _LONGEST:
            return _position(bank, sandbox)
        return (
            _of_spelling(bank, sandbox)
            or _of_numbers(bank, sandbox)
            or _of_days(bank, sandbox)
            or _position(bank, sandbox)
        )
    return _of_numbers(bank, sandbox)


def _of_spelling(bank: str, sandbox: str) -> str | None:
    if bank.strip() == sandbox.strip():
        return "only in leading or trailing spaces"
    if "".join(bank.split()) == "".join(sandbox.split()):
        return "only in spaces"
    forms = [unicodedata.normalize("NFC", text) for text in (bank, sandbox)]
    if forms[0] == forms[1]:
        names = (
            "composed" if form == text else "decomposed" for form, text in zip(forms, (bank, sandbox), strict=True)
        )
        return f"only in the Unicode form: {next(names)} at the bank, {next(names)} here"
    if bank.casefold() == sandbox.casefold():
        return "only in upper and lower case"
    if bank.replace(",", ".") == sandbox.replace(",", "."):
        return "only in decimal point and comma"
    return None


def _of_numbers(bank: Any, sandbox: Any) -> str | None:
    mine, theirs = number(bank), number(sandbox)
    if mine is None or theirs is None:
        return None
    if type(bank) is not type(sandbox) and mine == theirs and isinstance(bank, str) is not isinstance(sandbox, str):
        return "the same number, as a string on one side"
    if mine == theirs:
        scales = [max(0, -int(amount.as_tuple().exponent)) for amount in (mine, theirs)]
        return f"only in scale: {scales[0]} digits after the point at the bank, {scales[1]} here"
    if mine == -theirs:
        return "only in the sign"
    if mine and theirs:
        shift = abs(mine).adjusted() - abs(theirs).adjusted()
        if shift and abs(shift) < 10 and abs(mine) == abs(theirs).scaleb(shift):
            return f"only by a factor of {10 ** abs(shift)}, {'more' if shift > 0 else 'less'} at the bank"
    return None


def _of_days(bank: str, sandbox: str) -> str | None:
    mine, theirs = _day(bank), _day(sandbox)
    if mine is None or theirs is None:
        return None
    if is_date_time(bank) and is_date_time(sandbox) and datetime.fromisoformat(bank) == datetime.fromisoformat(sandbox):
        return "the same instant, written differently"
    if days := (mine - theirs).days:
        return f"{abs(days)} day{'s' if abs(days) > 1 else ''} {'later' if days > 0 else 'earlier'} at the bank"
    return "the same day at another time" if is_date_time(bank) and is_date_time(sandbox) else "the same day"


def _day(text: str) -> date | None:
    if is_date(text):
        return date.fromisoformat(text)
    return datetime.fromisoformat(text).date() if is_date_time(text) else None


def _position(bank: str, sandbox: str) -> str | None:
    first = first_difference(bank, sandbox)
    if len(bank) == len(sandbox):
        count = sum(mine != theirs for mine, theirs in zip(bank, sandbox, strict=True))
        return f"in one character, at position {first + 1}" if count == 1 else None
    if abs(len(bank) - len(sandbox)) == 1:
        short, long = sorted((bank, sandbox), key=len)
        if long[:first] + long[first + 1 :] == short:
            return f"in one character {'more' if long is bank else 'less'} at the bank, at position {first + 1}"
    return None


def first_difference(one: str, other: str) -> int:
    """Return the first position where the texts differ."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((position for position, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


def cut(text: str, other: str, longest: int) -> str:
    """Shorten the text so that its first difference from the other is visible."""
    if len(text) <= longest:
        return text
    start = 0 if text == other else max(0, first_difference(text, other) - longest // 2)
    if start:
        text = "…" + text[start + 1 :]
    return text if len(text) <= longest else text[: longest - 1] + "…"
