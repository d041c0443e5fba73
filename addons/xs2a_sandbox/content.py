"""What a body holds: JSON, text, bytes or nothing, whatever its Content-Type says."""

import json
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, NamedTuple, NoReturn

import msgspec

_LONGEST_INT = 4000


class Content(NamedTuple):
    """`value` is the JSON with decimals as `Decimal`, the text, or the bytes."""

    kind: Literal["json", "text", "bytes", "nothing"]
    value: Any = None


def read(body: bytes) -> Content:
    """Never raises. Of a member that is written twice the later counts."""
    if not body:
        return Content("nothing")
    try:
        return Content("json", _decode(body))
    except (ValueError, RecursionError, InvalidOperation):
        pass
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Content("bytes", body)
    try:
        # Half a surrogate pair, a number of thousands of digits: JSON all the same.
        return Content("json", json.loads(text, parse_float=_number, parse_int=_integer, parse_constant=_refuse))
    except (ValueError, RecursionError):
        return Content("text", text)


_decode = msgspec.json.Decoder(float_hook=Decimal).decode


def _number(text: str) -> Decimal | float:
    try:
        return Decimal(text)
    except InvalidOperation:
        return float(text)


def _integer(text: str) -> int | Decimal:
    return int(text) if len(text) < _LONGEST_INT else Decimal(text)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")
