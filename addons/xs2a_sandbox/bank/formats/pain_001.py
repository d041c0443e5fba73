"""Reads pain.001, the XML of credit transfers (ISO 20022), as the inputs of a payment.

Banks accept the versions 03 and 09, which differ in how they write dates and BICs. Both are read.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from xs2a_sandbox.bank.domain.schedule import BULK, FREQUENCIES, STANDING
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.documents.formats import EXPECTED, FORMATS
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import body_members
from xs2a_sandbox.http.body_members import Member

_XML, _ORDER = "xml_sct", "json_standingorderType"
"""The parts of a standing order's multipart body."""
_MESSAGE = "/Document/CstmrCdtTrfInitn"
_AMOUNT = re.compile(r"(?!0+(\.0+)?$)[0-9]{1,15}(\.[0-9]{1,5})?", re.ASCII)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_KINDS: Mapping[str, tuple[Callable[[str], object], str]] = {
    **{name: (FORMATS[name], EXPECTED[name]) for name in ("bic", "currency", "date", "iban")},
    "amount": (_AMOUNT.fullmatch, "a positive amount with a dot, such as 12.34"),
    "boolean": (_BOOLEANS.__contains__, "true or false"),
    "frequency": (lambda text: text.lower() in FREQUENCIES, "a frequency, such as Monthly"),
    "moment": (lambda text: FORMATS["date"](text[:10]), "a date, or a date and time"),
    "number": (re.compile("[0-9]{1,15}").fullmatch, "a number"),
}
_ADDRESS = {
    "street_name": "StrtNm",
    "building_number": "BldgNb",
    "town_name": "TwnNm",
    "post_code": "PstCd",
    "country": "Ctry",
}


@dataclass(frozen=True, slots=True)
class _Element:
    """An XML element and its place. Methods raise BankError `format-error` with the place of a mistake."""

    member: Member
    place: str

    def find_all(self, path: str) -> list["_Element"]:
        above, _, name = path.rpartition("/")
        return [
            _Element(below, f"{each.place}/{name}" + (f"/{number}" if len(each.member.below[name]) > 1 else ""))
            for each in (self.find_all(above) if above else [self])
            for number, below in enumerate(each.member.below.get(name, ()))
        ]

    def text(self, *paths: str, kind: str = "") -> str | None:
        """Return the text of the first of these paths that has one."""
        for element in (element for path in paths for element in self.find_all(path) if element.member.value):
            value = str(element.member.value)
            fits, words = _KINDS.get(kind, (bool, ""))
            if not fits(value):
                raise _error(element.place, f"must be {words}, not {value[:40]}")
            return value
        return None

    def require(self, *paths: str, kind: str = "") -> str:
        value = self.text(*paths, kind=kind)
        if value is None:
            raise _error(f"{self.place}/{paths[0]}", "is missing")
        return value


def read(call: Call, kind: str) -> dict[str, Any]:
    """Return `debtor`, `parts`, `execute_on`, `schedule` and `batch` of a payment, a bulk or a standing order."""
    body = call.members or Member()
    message, *_ = [*_Element(_xml_part(body), "").find_all(_MESSAGE[1:]), _Element(Member(), _MESSAGE)]
    infos = message.find_all("PmtInf")
    transfers = [(info, transfer) for info in infos for transfer in info.find_all("CdtTrfTxInf")]
    _check_sums(message, [transfer for _, transfer in transfers])
    common = _common(infos)
    payments = [_transfer(info, transfer) for info, transfer in transfers]
    if kind == BULK:
        booking = infos[0].text("BtchBookg", kind="boolean")
        return {**common, "parts": payments, "batch": bool(booking and _BOOLEANS[booking])}
    if len(payments) > 1:
        raise _error(transfers[1][1].place, "must be removed: use a bulk payment for several payments")
    return {**common, "parts": payments, **({"schedule": _standing_order(body)} if kind == STANDING else {})}


def message_id(call: Call) -> str | None:
    """Return the sender's id of the message. Status reports refer to it."""
    body = call.members or Member()
    return next(
        (element.text("GrpHdr/MsgId") for element in _Element(_xml_part(body), "").find_all(_MESSAGE[1:])), None
    )


def _xml_part(body: Member) -> Member:
    """Return the XML. In a multipart body it is a part, whose content type may be missing."""
    if _XML not in body.below:
        return body
    part = body.below[_XML][0]
    if part.below:
        return part
    try:
        return body_members.members(str(part.value).encode(), "application/xml") or Member()
    except ValueError as error:
        raise _error(f"/{_XML}", str(error).removeprefix("the body ")) from None


def _check_sums(message: _Element, transfers: Sequence[_Element]) -> None:
    if not transfers:
        raise _error(f"{message.place}/PmtInf/CdtTrfTxInf", "is missing")
    if int(message.require("GrpHdr/NbOfTxs", kind="number")) != len(transfers):
        raise _error(f"{message.place}/GrpHdr/NbOfTxs", f"must be {len(transfers)}, the number of payments")
    total = sum((Decimal(_amount(transfer)) for transfer in transfers), Decimal())
    control = message.text("GrpHdr/CtrlSum", kind="amount")
    if control is not None and Decimal(control) != total:
        raise _error(f"{message.place}/GrpHdr/CtrlSum", f"must be {total}, the sum of the amounts")


def _common(infos: Sequence[_Element]) -> dict[str, Any]:
    """Return the members that all payments share. All must have the same debtor, account and day."""
    first, *others = [
        {
            "name": info.text("Dbtr/Nm"),
            "debtor": _account(info, "DbtrAcct"),
            "execute_on": info.require("ReqdExctnDt", "ReqdExctnDt/Dt", "ReqdExctnDt/DtTm", kind="moment")[:10],
        }
        for info in infos
    ]
    if any(other != first for other in others):
        raise _error(f"{_MESSAGE}/PmtInf", "must all have the same debtor, account and day")
    return {name: value for name, value in first.items() if name != "name"}


def _transfer(info: _Element, transfer: _Element) -> dict[str, Any]:
    reference = transfer.text("RmtInf/Strd/CdtrRefInf/Ref")
    return {
        "end_to_end_id": transfer.text("PmtId/EndToEndId"),
        "instruction_id": transfer.text("PmtId/InstrId"),
        "amount": {
            "currency": transfer.require("Amt/InstdAmt/@Ccy", kind="currency"),
            "amount": _amount(transfer),
        },
        "creditor": {
            "account": _account(transfer, "CdtrAcct"),
            "agent": transfer.text("CdtrAgt/FinInstnId/BIC", "CdtrAgt/FinInstnId/BICFI", kind="bic"),
            "name": transfer.require("Cdtr/Nm"),
            "address": {name: transfer.text(f"Cdtr/PstlAdr/{tag}") for name, tag in _ADDRESS.items()},
        },
        "purpose": transfer.text("Purp/Cd"),
        "charge_bearer": transfer.text("ChrgBr") or info.text("ChrgBr"),
        "remittance": {"text": transfer.text("RmtInf/Ustrd"), "reference": reference},
    }


def _amount(transfer: _Element) -> str:
    return transfer.require("Amt/InstdAmt", kind="amount")


def _account(element: _Element, name: str) -> dict[str, Any]:
    iban = element.text(f"{name}/Id/IBAN", kind="iban")
    bban = None if iban else element.require(f"{name}/Id/Othr/Id")
    return _drop_empty({"iban": iban, "bban": bban, "currency": element.text(f"{name}/Ccy", kind="currency")})


def _standing_order(body: Member) -> dict[str, Any]:
    order = _Element(body.below.get(_ORDER, [Member()])[0], f"/{_ORDER}")
    return _drop_empty(
        {
            "start": order.require("startDate", kind="date"),
            "end": order.text("endDate", kind="date"),
            "rule": order.text("executionRule"),
            "frequency": order.require("frequency", kind="frequency"),
            "day": order.text("dayOfExecution"),
        }
    )


def _drop_empty(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value}


def _error(place: str, expected: str) -> BankError:
    return BankError("format-error", path=place, expected=f"{place.rpartition('/')[2]} {expected}")
