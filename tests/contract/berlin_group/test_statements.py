"""Transactions in pages, only the new ones, and in formats other than JSON."""

import re
from decimal import Decimal
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest

from tests.contract.berlin_group.conftest import OSKAR, Tpp, error

SINCE = {"bookingStatus": "booked", "dateFrom": "2020-01-01"}


def transactions_as(tpp: Tpp, consent: str, accept: str = "application/json", **query: str) -> httpx.Response:
    accounts = tpp.get("/v1/accounts", consent=consent).json()["accounts"]
    path = accounts[0]["_links"]["transactions"]["href"]
    return tpp.get(path, consent=consent, params={**SINCE, **query}, headers={"Accept": accept})


@pytest.fixture
def consent(tpp: Tpp) -> str:
    return tpp.consent({"transactions": [{"iban": OSKAR}]})


def booked(answer: httpx.Response) -> list[Any]:
    return list(answer.json()["transactions"]["booked"])


def tags(text: str, name: str) -> list[str]:
    root = ElementTree.fromstring(text)
    return [element.text or "" for element in root.iter() if element.tag.endswith("}" + name)]


@pytest.mark.berlin_group("statements-camt-053")
def test_camt_053_has_the_same_content_as_json(tpp: Tpp, consent: str) -> None:
    entries = booked(transactions_as(tpp, consent))
    answer = transactions_as(tpp, consent, "application/xml")
    root = ElementTree.fromstring(answer.text)
    space = {"c": "urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"}

    assert answer.headers["content-type"] == "application/xml"
    assert root.tag == f"{{{space['c']}}}Document"
    statement = root.find("c:BkToCstmrStmt/c:Stmt", space)
    assert statement is not None
    assert [child.tag.partition("}")[2] for child in statement][:6] == ["Id", "CreDtTm", "FrToDt", "Acct", "Bal", "Bal"]
    assert statement.findtext("c:Acct/c:Id/c:IBAN", None, space) == OSKAR
    opening, closing = (
        Decimal(one.findtext("c:Amt", "", space)) * (1 if one.findtext("c:CdtDbtInd", "", space) == "CRDT" else -1)
        for one in statement.findall("c:Bal", space)
    )
    assert closing == Decimal("5318.22")
    assert closing - opening == sum(Decimal(one["transactionAmount"]["amount"]) for one in entries)
    assert tags(answer.text, "NtryRef") == [one["entryReference"] for one in reversed(entries)]
    assert set(tags(answer.text, "Sts")) == {"BOOK"}
    first = statement.find("c:Ntry", space)
    assert first is not None
    assert [child.tag.partition("}")[2] for child in first] == [
        "NtryRef", "Amt", "CdtDbtInd", "Sts", "BookgDt", "ValDt", "BkTxCd", "NtryDtls"
    ]  # fmt: skip


@pytest.mark.berlin_group("statements-camt-052")
def test_pending_entries_are_returned_as_camt_052(tpp: Tpp, consent: str) -> None:
    text = transactions_as(tpp, consent, "application/xml", bookingStatus="both").text

    assert "urn:iso:std:iso:20022:tech:xsd:camt.052.001.02" in text
    assert "<BkToCstmrAcctRpt>" in text
    assert set(tags(text, "Sts")) == {"BOOK", "PDNG"}


@pytest.mark.berlin_group("statements-mt940")
def test_mt940_has_the_same_content_as_json(tpp: Tpp, consent: str) -> None:
    entries = booked(transactions_as(tpp, consent))
    answer = transactions_as(tpp, consent, "text/plain")
    lines = answer.text.split("\r\n")

    assert answer.headers["content-type"].startswith("text/plain")
    assert lines[1] == f":25:{OSKAR}"
    assert re.fullmatch(r":60F:[CD]\d{6}EUR\d+,\d{2}", lines[3])
    assert re.fullmatch(r":62F:C\d{6}EUR5318,22", lines[-3])
    assert lines[-2:] == ["-", ""]
    amounts = re.findall(r":61:\d{10}([CD])(\d+,\d+)NTRF", answer.text)
    assert [("-" if kind == "D" else "") + amount.replace(",", ".") for kind, amount in amounts] == [
        one["transactionAmount"]["amount"] for one in reversed(entries)
    ]
    assert max(map(len, lines)) <= 65
    assert answer.text.isascii()


@pytest.mark.berlin_group("statements-balance")
def test_a_period_ends_with_the_balance_of_its_last_day(tpp: Tpp, consent: str) -> None:
    entries = booked(transactions_as(tpp, consent))
    day = entries[5]["bookingDate"]
    later = [one for one in entries if one["bookingDate"] > day]
    text = transactions_as(tpp, consent, "application/xml", dateTo=day).text

    closing = Decimal("5318.22") - sum(Decimal(one["transactionAmount"]["amount"]) for one in later)
    assert tags(text, "Amt")[1] == str(abs(closing))


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("*/*", "application/json"),
        ("text/plain;q=0.5, application/xml", "application/xml"),
        ("application/pdf, text/*", "text/plain"),
        ("application/*", "application/json"),
    ],
)
@pytest.mark.berlin_group("statements-accept")
def test_the_tpp_can_choose_the_format(tpp: Tpp, consent: str, accept: str, media: str) -> None:
    assert transactions_as(tpp, consent, accept).headers["content-type"].partition(";")[0] == media


@pytest.mark.parametrize("accept", ["application/pdf", "application/json;q=0", "text/html"])
@pytest.mark.berlin_group("statements-406")
def test_another_format_is_refused(tpp: Tpp, consent: str, accept: str) -> None:
    assert error(transactions_as(tpp, consent, accept)) == (406, "REQUESTED_FORMATS_INVALID")


@pytest.mark.berlin_group("pages")
def test_pages_contain_all_entries(tpp: Tpp, consent: str) -> None:
    whole = booked(transactions_as(tpp, consent))
    answer, seen = transactions_as(tpp, consent, itemsPerPage="25"), []
    assert set(answer.json()["transactions"]["_links"]) == {"account", "next", "last"}
    while True:
        seen += booked(answer)
        if (following := answer.json()["transactions"]["_links"].get("next")) is None:
            break
        answer = tpp.get(following["href"], consent=consent)

    assert len(whole) == 60
    assert seen == whole
    assert set(answer.json()["transactions"]["_links"]) == {"account", "first", "previous"}
    assert error(transactions_as(tpp, consent, itemsPerPage="none")) == (400, "FORMAT_ERROR")


@pytest.mark.berlin_group("entry-reference-from")
def test_entries_newer_than_an_entry(tpp: Tpp, consent: str) -> None:
    entries = booked(transactions_as(tpp, consent))

    assert booked(transactions_as(tpp, consent, entryReferenceFrom=entries[7]["entryReference"])) == entries[:7]
    assert error(transactions_as(tpp, consent, entryReferenceFrom="nothing")) == (400, "FORMAT_ERROR")


@pytest.mark.berlin_group("delta-list")
def test_entries_newer_than_the_last_report(tpp: Tpp, consent: str) -> None:
    assert len(booked(transactions_as(tpp, consent, deltaList="true"))) == 60
    assert booked(transactions_as(tpp, consent, deltaList="true")) == []
    assert len(booked(transactions_as(tpp, consent))) == 60
