"""Account statements in camt and MT940, with minimal entries and with other alphabets."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from xs2a_sandbox.bank.formats.statements import FORMATS, Account, write
from xs2a_sandbox.clock import Clock

IBAN = "AT459880000010204711"
CALL: Any = SimpleNamespace(
    clock=Clock(frozen=datetime(2026, 3, 4, 12, tzinfo=UTC)), take={"date_from": "2026-03-01"}.get
)


def account(amount: str = "-5.00", **more: Any) -> Account:
    balance = {"type": "XPCD", "amount": {"amount": amount, "currency": "EUR"}}
    return Account({"id": "1", "iban": IBAN, "currency": "EUR", "psuId": "anna", **more}, None, [balance])


def entry(amount: str, day: str = "2026-03-02", **more: Any) -> dict[str, Any]:
    return {"id": f"T{amount}", "booked_on": day, "amount": {"amount": amount, "currency": "EUR"}, **more}


def statement(kind: str, *booked: dict[str, Any]) -> str:
    return write(CALL, kind, account(), booked, {"booked": list(booked), "pending": None})


@pytest.mark.parametrize(("kind", "said"), [("camt", '<Amt Ccy="EUR">5.00</Amt>'), ("mt940", ":62F:D260304EUR5,00")])
def test_an_account_without_entries_has_a_balance(kind: str, said: str) -> None:
    assert kind in FORMATS
    assert said in statement(kind)


def test_an_overdraft_is_a_debit() -> None:
    lines = statement("mt940", entry("-7.00"), entry("12.50")).split("\r\n")

    assert lines[3] == ":60F:D260301EUR10,50"
    assert lines[4:6] == [":61:2603020302C12,50NTRFNONREF//T12.50", ":61:2603020302D7,00NTRFNONREF//T-7.00"]
    assert lines[-3] == ":62F:D260304EUR5,00"


def test_an_mt940_contains_only_swift_characters() -> None:
    text = statement("mt940", entry("-1.00", creditor_name="Bäckerei Größer & Söhne", end_to_end_id="Ä#1"))

    assert "NTRFAe 1//" in text
    assert "/NAME/Baeckerei Groesser   Soehne" in text


def test_a_camt_has_no_empty_elements_and_is_escaped() -> None:
    text = statement("camt", entry("-1.00", creditor_name="Söhne & <Töchter>", creditor_account={"iban": IBAN}))
    root = ElementTree.fromstring(text)

    assert all(len(element) or (element.text or "").strip() for element in root.iter())
    assert "Söhne & <Töchter>" in [element.text for element in root.iter()]
    assert [element.text for element in root.iter() if element.tag.endswith("}Cd")][-1] == "NTRF"
