"""Each quirk on each bundled dialect: it has no lint problems, its examples work, and an app sees a difference."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from tests.families import test_uk_open_banking as uk
from tests.families.enable_banking import EVERYDAY, OUTSIDE, SAVINGS, App, refusal
from tests.families.test_enable_banking import an_app
from tests.journeys.test_scenarios import move
from tests.support.engine_client import Answer, Client
from xs2a_sandbox.bundled import dialects, quirks
from xs2a_sandbox.config import settings as config
from xs2a_sandbox.documents import yaml_reader
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.features.authoring.lint import check

NOW = datetime.now(UTC).replace(microsecond=0)
CONSENT, ACCOUNT, UNUSED_ACCOUNT = (
    "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911",
    "AT459880000010204711",
    "AT449880000010204729",
)
WITHOUT_EFFECT = {"enable-banking": {"closed-account-fails-list"}}
"""Quirks that change nothing that the dialect has."""

NOT_SHOWN = {
    # An app that cannot ask for pending entries alone is not refused, and lists are never null.
    *(
        (name, dialect)
        for name in ("pending-refused", "empty-lists-null")
        for dialect in ("obie-4.0", "enable-banking")
    ),
}
"""Quirks of which the interface shows nothing."""

WITH_OWN_TEST = {
    *("closed-account-fails-list", "decoupled-only", "no-retry-after", "payees-not-possible"),
    *("valid-until-shortened", "wrong-tan-final"),  # in tests/journeys/test_quirks.py
    *("consent-ends-unannounced", "entries-late", "history-15-minutes", "limit-in-plain-words"),
    *("newer-consent-ends-older", "paging-same-parameters", "payment-final-late"),
}
"""Quirks that show only over several requests, or with time."""


def settings(dialect: str, directory: Path, *names: str, **more: Any) -> config.Settings:
    given = {"dialect": dialect, "quirk": names, "state": "memory:", "confdir": str(directory)}
    return config.load({**given, **more}, {}, directory)


def day(days: int) -> str:
    return (NOW + timedelta(days=days)).date().isoformat()


PERIODS = [(), ("2020-01-01",), (day(-60), day(-30)), ("2020-01-01", "2020-02-01"), (day(-1), day(0))]
"""The first and the last days of the entries for which the apps ask."""


def periods(first: str, last: str) -> Iterator[dict[str, str]]:
    for days in PERIODS:
        yield dict(zip((first, last), days, strict=False))


def use_default(bank: Client) -> Iterator[Answer]:
    access = {name: [{"iban": UNUSED_ACCOUNT}] for name in ("balances", "transactions")}
    wanted = {"recurringIndicator": True, "validUntil": "9999-12-31", "frequencyPerDay": 4}
    made = bank.post("/v1/consents", json={"access": access, **wanted})
    yield made
    for path in ("", f"/{ACCOUNT}", f"/{ACCOUNT}/balances"):
        yield bank.get(f"/v1/accounts{path}", consent=CONSENT)
    places = [f"/v1/accounts/{ACCOUNT}/transactions"]
    for query in [
        *({"bookingStatus": "booked", **days} for days in periods("dateFrom", "dateTo")),
        {"bookingStatus": "pending"},
    ]:
        yield bank.get(f"{places[0]}?{urlencode(query)}", consent=CONSENT)
    if made.status == 200:
        consent = made.json()["consentId"]
        page = urlsplit(made.json()["_links"]["scaRedirect"]["href"])
        bank.get(f"{page.path}?{page.query}&decide=approve")
        yield bank.get(f"/v1/accounts/{UNUSED_ACCOUNT}/transactions?bookingStatus=booked", consent=consent)


def data(names: tuple[str, str], customer: str, ibans: tuple[str, str], currency: str) -> dict[str, Any]:
    """Return test data with an account that has all kinds of entries, and one that has none."""

    def entry(id: str, days: int, amount: str) -> dict[str, Any]:
        names = {"creditor_name": "Pyöräpaja and Daughters", "creditor_account": {"iban": OUTSIDE}}
        dates = {"booked_on": day(days), "value_on": day(days)}
        text = {"remittance": "Card payment: Pyöräpaja and Daughters", "code": "PMNT-CCRD-POSD"}
        return {"id": id, **dates, "amount": {"amount": amount, "currency": currency}, **names, **text}

    booked = [entry(f"B-{number}", -9 * (number // 2), f"{number * 10 - 45}.50") for number in range(12)]
    balances = [{"type": "CLBD", "amount": {"amount": "100.00", "currency": currency}}]
    balances += [{"type": "ITAV", "amount": {"amount": "90.00", "currency": currency}}]
    kept = [{"booked": booked, "pending": [entry("P-1", 0, "-24.90")]}, {}]
    accounts = {
        name: {
            "iban": iban,
            "bban": iban[-14:],
            "psuId": customer,
            "currency": currency,
            "balances": balances,
            "entries": entries,
        }
        for name, iban, entries in zip(names, ibans, kept, strict=True)
    }
    return {"testdata": 2, "accounts": accounts}


def use_uk(bank: Client) -> Iterator[Answer]:
    own = uk.token(bank, grant_type="client_credentials", scope="accounts")
    wanted = {"Data": {"Permissions": ["ReadAccountsDetail", "ReadBalances", "ReadTransactionsDetail"]}, "Risk": {}}
    made = uk.ask(bank, "POST", f"{uk.AISP}/account-access-consents", own, wanted)
    yield made
    if made.status == 201:
        bearer = uk.authorise(bank, made.json()["Data"]["ConsentId"], "accounts", uk.BILLS, uk.HOUSEHOLD)
        for path in ("", "/22289", "/22289/balances", "/31820/transactions"):
            yield uk.ask(bank, "GET", f"{uk.AISP}/accounts{path}", bearer)
        for query in periods("fromBookingDateTime", "toBookingDateTime"):
            times = {name: f"{value}T00:00:00" for name, value in query.items()}
            answer = uk.ask(bank, "GET", f"{uk.AISP}/accounts/22289/transactions?{urlencode(times)}", bearer)
            yield answer


def use_enable_banking(bank: Client) -> Iterator[Answer]:
    app = App(bank)
    made = app.start()
    yield Answer(made.status, {}, b"")
    if made.status == 200:
        code = app.approve(made.json()["url"], EVERYDAY, SAVINGS)["code"]
        session = app.ask("POST", "/sessions", {"code": code}).json()
        yield Answer(200, {}, str(session["accounts"]).encode())
        uid, unused = (account["uid"] for account in session["accounts"][-2:])
        for path in (f"{uid}/details", f"{uid}/balances", f"{unused}/transactions"):
            yield app.get(f"/accounts/{path}")
        for query in periods("date_from", "date_to"):
            yield app.get(f"/accounts/{uid}/transactions", **query)


USES: Mapping[str, Callable[[Client], Iterator[Answer]]] = {
    "xs2a-1.84": use_default,
    "obie-4.0": use_uk,
    "enable-banking": use_enable_banking,
}

DATA = {
    "obie-4.0": data(("22289", "31820"), "grace", (uk.BILLS, uk.HOUSEHOLD), "GBP"),
    "enable-banking": data(("aino-everyday", "aino-savings"), "aino", (EVERYDAY, SAVINGS), "EUR"),
}


def what_apps_see(dialect: str, directory: Path, *names: str) -> list[tuple[int, bytes]]:
    """Return what an app gets from the bank. With a seed, banks create the same ids, so answers can be compared."""
    more = {}
    if dialect in DATA:
        more["testdata"] = str(directory / "data.json")
        (directory / "data.json").write_text(json.dumps(DATA[dialect]))
    bank = Client(build(settings(dialect, directory, *names, frozen_at=NOW.isoformat(), seed=7, **more)))
    return [(answer.status, answer.body) for answer in USES[dialect](bank)]


@pytest.mark.by_turns("dialect")
@pytest.mark.parametrize("dialect", sorted({*dialects()} - {"berlin-group-1.3.11"}))  # as berlin-group-1.3
@pytest.mark.parametrize("name", quirks())
def test_each_quirk_has_no_lint_problems(name: str, dialect: str, tmp_path: Path) -> None:
    found = [str(problem) for problem in check(settings(dialect, tmp_path, name))]
    if name in WITHOUT_EFFECT.get(dialect, ()):
        assert "this quirk has no effect" in "".join(found)
    else:
        assert found == []


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[tuple[int, bytes]]]:
    return {dialect: what_apps_see(dialect, tmp_path_factory.mktemp(dialect)) for dialect in USES}


@pytest.mark.parametrize("dialect", USES)
def test_answers_of_equal_banks_are_equal(
    dialect: str, tmp_path: Path, usual: Mapping[str, list[tuple[int, bytes]]]
) -> None:
    assert what_apps_see(dialect, tmp_path) == usual[dialect]


@pytest.mark.by_turns("dialect")
@pytest.mark.parametrize(
    ("name", "dialect"),
    [pair for pair in product(sorted(quirks().keys() - WITH_OWN_TEST), USES) if pair not in NOT_SHOWN],
)
def test_an_app_sees_the_difference(
    name: str, dialect: str, tmp_path: Path, usual: Mapping[str, list[tuple[int, bytes]]]
) -> None:
    assert what_apps_see(dialect, tmp_path, name) != usual[dialect]


def test_entries_come_a_minute_after_the_consent(tmp_path: Path) -> None:
    app = an_app(tmp_path, quirk=("entries-late",))
    uid = app.uid()
    first = app.get(f"/accounts/{uid}/transactions").json()
    assert (first["transactions"], bool(first["continuation_key"])) == ([], True)
    move(app.bank, minutes=1)
    again = app.get(f"/accounts/{uid}/transactions", continuation_key=first["continuation_key"])
    assert len(again.json()["transactions"]) == 10


def test_old_entries_can_be_read_for_15_minutes(tmp_path: Path) -> None:
    app = an_app(tmp_path, quirk=("history-15-minutes",))
    place = f"/accounts/{app.uid()}/transactions"
    assert app.get(place, date_from=day(-120)).status == 200
    move(app.bank, minutes=16)
    assert refusal(app.get(place, date_from=day(-120))) == (422, "WRONG_TRANSACTIONS_PERIOD")
    assert app.get(place, date_from=day(-80)).status == 200


def test_a_session_ends_while_it_says_that_it_is_open(tmp_path: Path) -> None:
    app = an_app(tmp_path, quirk=("consent-ends-unannounced",))
    session = app.connect(EVERYDAY)
    place = f"/accounts/{session['accounts'][0]['uid']}/balances"
    move(app.bank, days=9)
    assert app.get(place).status == 200
    move(app.bank, days=2)
    assert refusal(app.get(place)) == (401, "EXPIRED_SESSION")
    assert app.get(f"/sessions/{session['session_id']}").json()["status"] == "AUTHORIZED"


def test_a_new_session_ends_the_older_one(tmp_path: Path) -> None:
    app = an_app(tmp_path, quirk=("newer-consent-ends-older",))
    older, newer = app.uid(), app.uid()
    assert [app.get(f"/accounts/{uid}/balances").status for uid in (older, newer)] == [401, 200]


def test_the_limit_of_the_day_is_told_in_plain_words(tmp_path: Path) -> None:
    app = an_app(tmp_path, quirk=("limit-in-plain-words",))
    place = f"/accounts/{app.uid()}/balances"
    *allowed, refused = [app.get(place) for _ in range(5)]
    assert [answer.status for answer in allowed] == [200] * 4
    assert (refused.status, refused.json()) == (429, {"message": "Too many requests"})
    assert "retry-after" not in refused.headers


def test_the_next_page_needs_the_same_parameters(tmp_path: Path) -> None:
    app = an_app(tmp_path, quirk=("paging-same-parameters",))
    place = f"/accounts/{app.uid()}/transactions"
    key = app.get(place, date_from=day(-150)).json()["continuation_key"]
    assert refusal(app.get(place, continuation_key=key)) == (422, "WRONG_REQUEST_PARAMETERS")
    assert app.get(place, continuation_key=key, date_from=day(-149)).status == 422
    assert len(app.get(place, continuation_key=key, date_from=day(-150)).json()["transactions"]) == 4


def test_a_payment_is_final_on_the_next_day(tmp_path: Path) -> None:
    app = an_app(tmp_path, quirk=("payment-final-late",))
    payment = app.pay()
    assert app.ask("GET", f"/payments/{payment}").json()["status"] == "ACFC"
    move(app.bank, days=1)
    assert app.ask("GET", f"/payments/{payment}").json()["status"] in {"ACSP", "ACSC", "ACCC"}


@pytest.mark.parametrize("name", quirks())
def test_each_quirk_says_what_it_does_and_where_it_was_seen(name: str) -> None:
    content = yaml_reader.read(quirks()[name]).value
    assert content["title"]
    assert re.search(r" Source: .+\.$", content["doc"]) or name in {"payees-not-possible", "three-decimals"}
