"""Answers with a page of a list have the addresses of other pages: next, previous, first, last, and this one."""

from typing import Any

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import URL, taped
from xs2a_sandbox.http.exchange import Exchange

ACCOUNT = "CF2BTN9BX0ECPUM171WM"
PATH = f"/accounts/{ACCOUNT}/entries"
ENTRIES = [
    {"entry": f"E{number}77{number}{number}", "day": f"2026-11-{20 - number:02}", "sum": f"-{number}.50"}
    for number in range(1, 8)
]
SIZE, LAST = 3, 3


def link(start: str, page: int, since: str) -> dict[str, str]:
    return {"href": f"{start}{PATH}?since={since}&page={page}"}


def page(number: int, start: str, since: str = "2026-11-01") -> dict[str, Any]:
    entries = [one for one in ENTRIES if one["day"] >= since]
    last = -(-len(entries) // SIZE)
    others = {"self": number, "first": 1, "next": number + 1, "previous": number - 1, "last": last}
    links = {role: link(start, to, since) for role, to in others.items() if 1 <= to <= last}
    return {"entries": entries[(number - 1) * SIZE : number * SIZE], "links": links}


def read(number: int, at: int, start: str) -> Exchange:
    more = f"&page={number}" if number > 1 else ""
    return taped(f"{PATH}?since=2026-11-01{more}", page(number, start), at=at, bank="https://xs2a.bank.example")


@pytest.mark.parametrize("start", ["", "https://xs2a.bank.example"])
def test_the_links_lead_to_the_other_pages(start: str) -> None:
    accounts = {"accounts": [{"id": ACCOUNT, "iban": "FR7638219004170004172031653"}]}
    recorded = [taped("/accounts", accounts, at=1), *(read(number, 1 + number, start) for number in (1, 2, 3))]
    app = LearnedApp(learn_text(recorded))
    host = "http://127.0.0.1:8081" if start else ""

    for number in (1, 2, 3):
        shown = app.send("GET", f"{PATH}?since=2026-11-01&page={number}")[1]["links"]
        assert shown == page(number, host)["links"]
    since = "2026-11-16"
    assert app.send("GET", f"{PATH}?since={since}")[1]["links"] == page(1, host, since)["links"]
    assert URL not in str(shown)


def test_the_last_recorded_page_leads_on_if_it_did_at_the_bank() -> None:
    accounts = {"accounts": [{"id": ACCOUNT, "iban": "FR7638219004170004172031653"}]}
    app = LearnedApp(learn_text([taped("/accounts", accounts, at=1), read(1, 2, ""), read(2, 3, "")]))
    first, second = (app.send("GET", f"{PATH}?since=2026-11-01&page={number}")[1] for number in (1, 2))
    assert [first["entries"], second["entries"]] == [page(number, "")["entries"] for number in (1, 2)]
    assert second["links"]["next"] == page(2, "")["links"]["next"]
    (further,) = app.send("GET", f"{PATH}?since=2026-11-01&page=3")[1]["entries"]
    assert further.keys() == ENTRIES[0].keys()
    assert further["entry"] not in [entry["entry"] for entry in ENTRIES[: 2 * SIZE]]
