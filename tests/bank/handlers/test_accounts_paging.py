"""Transactions in pages, and single transactions."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.contract import facts
from tests.support.berlin_group import needs_openapi, validate
from tests.support.engine_client import Answer, Client, an_engine, bundled_engine, cassette
from xs2a_sandbox.bank.handlers.accounts import lists
from xs2a_sandbox.errors import Unreadable

IBAN = facts.covered()
BOOKED = [entry["transactionId"] for entry in facts.booked(IBAN)]
SIZE = 50
CASE = f"""
    rules:
      - id: fifty-at-a-time
        match: {{operation: account-transactions}}
        handler: accounts.transactions
        with:
          lists: {{both: [booked], booked: [booked], pending: [pending], information: [information]}}
          page_size: {SIZE}
"""


@pytest.fixture
def client() -> Client:
    """Without paging, as documented."""
    return Client(an_engine())


@pytest.fixture
def paging(tmp_path: Path) -> Client:
    return Client(an_engine(layers=cassette(tmp_path, CASE)))


def ask(client: Client, query: str, consent: str = facts.consent()) -> Answer:
    return client.get(f"/v1/accounts/{IBAN}/transactions?{query}", consent=consent)


def transactions(client: Client, query: str) -> Any:
    answer = ask(client, query)
    assert answer.status == 200, answer.body
    return answer.json()["transactions"]


def followed(client: Client, href: str) -> list[Any]:
    """Return the lists of all pages, starting with this path and following `next`."""
    pages = []
    while True:
        assert len(pages) < 100, "the pages never end"
        answer = client.get(href, consent=facts.consent())
        assert answer.status == 200, answer.body
        pages.append(answer.json()["transactions"])
        links = pages[-1]["_links"]
        if not links or "next" not in links:
            return pages
        href = links["next"]["href"]


@pytest.mark.parametrize("status", ["both", "booked"])
def test_pages_contain_every_entry_once(paging: Client, status: str) -> None:
    pages = followed(paging, f"/v1/accounts/{IBAN}/transactions?bookingStatus={status}")

    assert [entry["transactionId"] for page in pages for entry in page["booked"]] == BOOKED
    assert [len(page["booked"]) for page in pages[:-1]] == [SIZE] * (len(BOOKED) // SIZE)
    assert 0 < len(pages[-1]["booked"]) <= SIZE


def test_links_are_where_the_framework_puts_them(paging: Client) -> None:
    account = {"href": f"/v1/accounts/{IBAN}"}
    path = f"/v1/accounts/{IBAN}/transactions"
    booked = ask(paging, "bookingStatus=booked")
    both = ask(paging, "bookingStatus=both")
    last = ask(paging, "bookingStatus=booked&page=99")

    second = {"href": f"{path}?bookingStatus=booked&page=2"}
    assert booked.json()["transactions"]["_links"] == {"account": account, "next": second}
    nowhere = {"href": None}
    next_both = {"href": f"{path}?bookingStatus=both&page=2"}
    assert both.json()["transactions"]["_links"] == {"account": nowhere, "next": next_both}
    assert last.json()["transactions"]["_links"] == {"account": account}
    assert last.json()["transactions"]["booked"] == []
    assert ask(paging, "bookingStatus=both&page=99").json()["transactions"]["_links"] == {"account": nowhere}
    for answer, schema in ((booked, "transactions"), (both, "transactions-both"), (last, "transactions")):
        assert bundled_engine().schemas[schema].complaint(answer.json()) is None


def test_the_next_page_has_the_same_period(paging: Client) -> None:
    since, until = facts.today(-120), facts.today(-3)
    first = f"/v1/accounts/{IBAN}/transactions?bookingStatus=booked&dateFrom={since}&dateTo={until}&other=1"
    pages = followed(paging, first)

    days = [entry["bookingDate"] for page in pages for entry in page["booked"]]
    assert len(pages) > 1
    assert days == [t["bookingDate"] for t in facts.booked(IBAN) if since <= t["bookingDate"] <= until]
    expected = f"/v1/accounts/{IBAN}/transactions?bookingStatus=booked&dateFrom={since}&dateTo={until}&page=2"
    assert pages[0]["_links"]["next"]["href"] == expected


@pytest.mark.parametrize("status", ["pending", "information"])
def test_other_lists_have_no_pages(paging: Client, client: Client, status: str) -> None:
    assert transactions(paging, f"bookingStatus={status}") == transactions(client, f"bookingStatus={status}")


def test_few_entries_need_no_second_page(paging: Client, client: Client) -> None:
    query = f"bookingStatus=booked&dateFrom={facts.today(-3)}"
    assert len(transactions(client, query)["booked"]) <= SIZE
    assert transactions(paging, query) == transactions(client, query)


@pytest.mark.parametrize("page", ["0", "-1", "1.5", "two", "", "01", "1" * 10, "٢", "2 "])
def test_a_page_must_be_a_number(paging: Client, page: str) -> None:
    answer = ask(paging, f"bookingStatus=booked&page={page}")
    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")
    assert re.search(r"\bpage\b", answer.error["text"])


@pytest.mark.parametrize("size", ["0", "-1", "fifty", "1.5"])
def test_an_invalid_page_size_is_an_error_in_the_cassette(tmp_path: Path, size: str) -> None:
    with pytest.raises(Unreadable, match=rf"case\.yaml:\d+:\d+: error wrong-\w+: must .*\n +page_size: {size}\n +\^"):
        an_engine(layers=cassette(tmp_path, CASE.replace(f"page_size: {SIZE}", f"page_size: {size}")))


@pytest.mark.parametrize("query", ["", "&page=2", "&page=two"])
@pytest.mark.parametrize("status", ["both", "booked"])
def test_without_the_setting_all_entries_are_returned_at_once(client: Client, status: str, query: str) -> None:
    lists = transactions(client, f"bookingStatus={status}{query}")
    assert len(lists["booked"]) == len(BOOKED)
    assert lists["_links"] == {"account": {"href": None if status == "both" else f"/v1/accounts/{IBAN}"}}


@needs_openapi
def test_a_page_matches_the_schema_of_the_framework(paging: Client) -> None:
    answer = ask(paging, "bookingStatus=booked")
    validate("/v1/accounts/{account-id}/transactions", "GET", 200, answer.json())


# -- one transaction


def entry(client: Client, id: str, consent: str | None = facts.consent(), iban: str = IBAN) -> Answer:
    return client.get(f"/v1/accounts/{iban}/transactions/{id}", consent=consent)


ELSEWHERE = next(facts.booked(iban)[0]["transactionId"] for iban in facts.tied() if iban != IBAN)


@pytest.mark.parametrize("id", ["none", BOOKED[0].lower(), IBAN, ELSEWHERE])
def test_an_unknown_entry(client: Client, id: str) -> None:
    answer = entry(client, id)

    assert (answer.status, answer.error["code"]) == (404, "RESOURCE_UNKNOWN")
    expected = f"XS2A016E: resource {id} unknown / not found / not part of the current consent"
    assert answer.error["text"].endswith(expected)


def test_an_entry_of_an_account_that_is_not_covered(client: Client) -> None:
    iban = next(iban for iban in facts.tied() if iban != IBAN)
    answer = entry(client, ELSEWHERE, iban=iban)
    assert (answer.status, answer.error["code"]) == (404, "RESOURCE_UNKNOWN")


def test_an_entry_with_an_unknown_consent(client: Client) -> None:
    answer = entry(client, BOOKED[0], facts.consent("unknown"))
    assert (answer.status, answer.error["code"]) == (403, "CONSENT_UNKNOWN")


class Unread(list[Any]):
    """A list that raises an error if somebody iterates over all entries."""

    def __iter__(self) -> Any:
        raise AssertionError("a page must read only its own entries")


def test_a_page_reads_no_other_entries() -> None:
    taken, options = {"lists": "booked"}, {"lists": {"booked": ["booked"]}}
    call: Any = SimpleNamespace(
        take=taken.get, options=options, judges=lambda check: False, is_sent=lambda input: False
    )
    entries = Unread([{"transactionId": "1"}])
    assert lists(call, {}, {"booked": entries, "pending": []}) == {"booked": entries, "pending": None}
