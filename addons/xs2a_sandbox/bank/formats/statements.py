"""Account statements in formats other than JSON: camt.052 and camt.053 (ISO 20022), and MT940."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import batched
from typing import TYPE_CHECKING, Any

from xs2a_sandbox.bank.domain.accounts import number_of
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http.media_type import choose_type
from xs2a_sandbox.state import Document

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

JSON = "application/json"
FORMATS = ("camt", "mt940")
_BOOKED = ("CLBD", "ITBD", "ITAV", "XPCD", "FWAV", "OPBD")
"""The types of balances that show the booked balance, the best first."""
_SWIFT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})
_SWIFT_SIGNS = frozenset(" /-:().,'+")
_LINE = 65
_REMITTANCE = 4 * 35


@dataclass(frozen=True, slots=True)
class Account:
    """The account of a statement. `balances` are the current ones."""

    record: Document
    owner: str | None
    balances: Sequence[Document]

    @property
    def number(self) -> str:
        return number_of(self.record)


@dataclass(frozen=True, slots=True)
class _Statement:
    """Entries of an account, oldest first, between two balances."""

    account: Account
    entries: Sequence[tuple[Document, bool]]
    opening: Decimal
    closing: Decimal
    first: str
    last: str
    now: str

    @property
    def currency(self) -> str:
        return str(self.account.record["currency"])


def media_of(call: Call, offered: Mapping[str, str]) -> str:
    """Return the media type that the TPP prefers, of JSON and those offered.

    Raises BankError `format-not-offered`.
    """
    if not offered:
        return JSON
    if (media := choose_type(call.headers.get("accept", JSON), (JSON, *offered))) is None:
        raise BankError("format-not-offered", offered=", ".join((JSON, *offered)))
    return media


def write(
    call: Call, kind: str, account: Account, booked: Sequence[Document], lists: Mapping[str, Sequence[Document] | None]
) -> str:
    """Return the statement of the entries in `lists`, in one of FORMATS.

    `booked` are all entries in the current balance.
    """
    entries = [(entry, True) for entry in lists.get("booked") or ()] + [
        (entry, False) for entry in lists.get("pending") or ()
    ]
    held = {each["type"]: each["amount"]["amount"] for each in account.balances}
    balance = next((Decimal(held[name]) for name in _BOOKED if name in held), Decimal())
    inside = [entry for entry, is_booked in entries if is_booked]
    today = call.clock.today().isoformat()
    last = min(call.take("date_to") or today, today)
    later = [entry for entry in booked if entry["booked_on"] > last]
    closing = balance - _sum(later)
    days = [entry["booked_on"] for entry in inside]
    statement = _Statement(
        account,
        entries[::-1],
        closing - _sum(inside),
        closing,
        call.take("date_from") or min(days, default=last),
        last,
        call.clock.now().isoformat(timespec="seconds"),
    )
    if kind == "mt940":
        return _mt940(statement)
    return _camt(statement, has_pending=lists.get("booked") is None or lists.get("pending") is not None)


def _sum(entries: Sequence[Document]) -> Decimal:
    return sum((Decimal(entry["amount"]["amount"]) for entry in entries), Decimal())


def _other(entry: Document) -> tuple[str, Mapping[str, Any], bool]:
    """Return the other side of an entry: its name, its account, and whether it pays."""
    pays = not entry["amount"]["amount"].startswith("-")
    side = "debtor" if pays else "creditor"
    return entry.get(f"{side}_name") or "", entry.get(f"{side}_account") or {}, pays


# -- camt


def _camt(statement: _Statement, has_pending: bool) -> str:
    """Return a camt.052 if it includes pending entries, otherwise a camt.053."""
    number, root, part = ("052", "BkToCstmrAcctRpt", "Rpt") if has_pending else ("053", "BkToCstmrStmt", "Stmt")
    account, record = statement.account, statement.account.record
    # Imported for the first such statement, because few apps ask for XML.
    from xml.etree.ElementTree import Element, indent, tostring

    document = Element("Document", xmlns=f"urn:iso:std:iso:20022:tech:xsd:camt.{number}.001.02")
    message = _add(document, root)
    id = f"{account.number[-10:]}-{statement.first}-{statement.last}"
    _fill(message, {"GrpHdr": {"MsgId": id, "CreDtTm": statement.now}})
    report = _add(message, part)
    _fill(
        report,
        {
            "Id": id,
            "CreDtTm": statement.now,
            "FrToDt": {"FrDtTm": f"{statement.first}T00:00:00", "ToDtTm": f"{statement.last}T23:59:59"},
            "Acct": {
                "Id": {"IBAN": account.number},
                "Ccy": statement.currency,
                "Ownr": {"Nm": account.owner},
                "Svcr": {"FinInstnId": {"BIC": record.get("bic") or None}},
            },
        },
    )
    for code, amount, day in (
        ("OPBD", statement.opening, statement.first),
        ("CLBD", statement.closing, statement.last),
    ):
        balance = _add(report, "Bal")
        _fill(balance, {"Tp": {"CdOrPrtry": {"Cd": code}}})
        _amount(balance, str(amount), statement.currency)
        _fill(balance, {"Dt": {"Dt": day}})
    for entry, is_booked in statement.entries:
        _entry(_add(report, "Ntry"), entry, is_booked)
    indent(document)
    return tostring(document, encoding="unicode", xml_declaration=False)


def _entry(node: "Element", entry: Document, is_booked: bool) -> None:
    name, other, pays = _other(entry)
    code = str(entry.get("code") or "").split("-")
    domain = {"Cd": code[0], "Fmly": {"Cd": code[1], "SubFmlyCd": code[2]}} if len(code) == 3 else None
    side = "Dbtr" if pays else "Cdtr"
    _fill(node, {"NtryRef": entry.get("reference") or entry["id"][:35]})
    _amount(node, entry["amount"]["amount"], entry["amount"]["currency"])
    _fill(
        node,
        {
            "Sts": "BOOK" if is_booked else "PDNG",
            "BookgDt": {"Dt": entry.get("booked_on")},
            "ValDt": {"Dt": entry.get("value_on")},
            "BkTxCd": {"Domn": domain} if domain else {"Prtry": {"Cd": "NTRF"}},
            "NtryDtls": {
                "TxDtls": {
                    "Refs": {"EndToEndId": entry.get("end_to_end_id"), "MndtId": entry.get("mandate_id")},
                    "RltdPties": {side: {"Nm": name or None}, f"{side}Acct": {"Id": {"IBAN": other.get("iban")}}},
                    "RmtInf": {"Ustrd": (entry.get("remittance") or "")[:_REMITTANCE] or None},
                }
            },
        },
    )


def _amount(node: "Element", amount: str, currency: str) -> None:
    _fill(node, {"Amt": amount.lstrip("-"), "CdtDbtInd": "DBIT" if amount.startswith("-") else "CRDT"})
    next(node.iter("Amt")).set("Ccy", currency)


def _add(node: "Element", name: str) -> "Element":
    inner = node.makeelement(name, {})
    node.append(inner)
    return inner


def _fill(node: "Element", members: Mapping[str, Any]) -> None:
    """Add child elements. Elements without a value or content are left out."""
    for name, value in members.items():
        if isinstance(value, Mapping):
            inner = node.makeelement(name, {})
            _fill(inner, value)
            if len(inner):
                node.append(inner)
        elif value is not None:
            _add(node, name).text = str(value)


# -- MT940


def _mt940(statement: _Statement) -> str:
    """Return an MT940. It contains only booked entries, because the format has no place for others."""
    lines = [
        f":20:{_day(statement.last)}{statement.account.number[-10:]}",
        f":25:{statement.account.number}",
        ":28C:1/1",
        f":60F:{_balance(statement, statement.opening, statement.first)}",
    ]
    for entry, is_booked in statement.entries:
        if is_booked:
            lines += _mt940_entry(entry)
    lines += [f":62F:{_balance(statement, statement.closing, statement.last)}", "-"]
    return "\r\n".join([*lines, ""])


def _mt940_entry(entry: Document) -> Iterator[str]:
    name, other, pays = _other(entry)
    day, value = entry["booked_on"], entry.get("value_on") or entry["booked_on"]
    amount = _comma(entry["amount"]["amount"])
    reference = _swift(entry.get("end_to_end_id") or "NONREF")[:16]
    bank = _swift(entry.get("reference") or entry["id"])[:16]
    yield f":61:{_day(value)}{_day(day)[2:]}{'C' if pays else 'D'}{amount}NTRF{reference}//{bank}"
    words = {"IBAN": other.get("iban"), "NAME": name, "REMI": entry.get("remittance")}
    text = "".join(f"/{word}/{_swift(value)}" for word, value in words.items() if value)
    if text:
        yield from ("".join(line) for line in batched(f":86:{text}", _LINE, strict=False))


def _balance(statement: _Statement, amount: Decimal, day: str) -> str:
    return f"{'D' if amount < 0 else 'C'}{_day(day)}{statement.currency}{_comma(str(amount))}"


def _comma(amount: str) -> str:
    """Return an amount in SWIFT format: with a comma, and without a sign."""
    whole, _, cents = amount.lstrip("-").partition(".")
    return f"{whole},{cents}"


def _day(day: str) -> str:
    return day[2:].replace("-", "")


def _swift(text: str) -> str:
    """Return the text in the SWIFT character set."""
    plain = unicodedata.normalize("NFKD", text.translate(_SWIFT)).encode("ascii", "ignore").decode()
    return "".join(sign if sign.isalnum() or sign in _SWIFT_SIGNS else " " for sign in plain).strip()
