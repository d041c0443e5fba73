"""Quirks and scenarios do at enable-banking what they do at the other dialects."""

from pathlib import Path
from typing import Any

import pytest

from tests.families.enable_banking import ENTRIES, EVERYDAY, App, in_days, refusal
from tests.families.test_enable_banking import an_app
from tests.journeys.test_scenarios import move
from xs2a_sandbox.bundled import scenarios
from xs2a_sandbox.config import settings as config
from xs2a_sandbox.features.authoring.lint import check


def problems(directory: Path, **settings: Any) -> list[str]:
    given = {"dialect": "enable-banking", "state": "memory:", "confdir": str(directory), **settings}
    return [str(problem) for problem in check(config.load(given, {}, directory))]


NO_LIST = {"consent-revoked"}
"""It needs an operation that lists the accounts and changes nothing."""


@pytest.mark.parametrize("name", scenarios())
def test_each_scenario_lints_clean_or_says_that_it_has_no_effect(name: str, tmp_path: Path) -> None:
    found = problems(tmp_path, cassettes=(f"scenarios/{name}",))
    assert (found == [], "has no effect" in "".join(found)) == (name not in NO_LIST, name in NO_LIST), found


def quirky(directory: Path, name: str) -> App:
    return an_app(directory, quirk=(name,))


def started(directory: Path, name: str) -> App:
    return an_app(directory, cassettes=(f"scenarios/{name}",))


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("dates-null", ("booking_date", "value_date", "transaction_date")),
        ("ids-null", ("entry_reference", "transaction_id")),
    ],
)
def test_entries_without_dates_or_ids(tmp_path: Path, name: str, members: tuple[str, ...]) -> None:
    app = quirky(tmp_path, name)
    entries = app.entries(app.uid())
    assert (len(entries), {entry[member] for entry in entries for member in members}) == (len(ENTRIES), {None})


def test_amounts_and_holds(tmp_path: Path) -> None:
    app = quirky(tmp_path / "decimals", "three-decimals")
    assert app.entries(app.uid())[0]["transaction_amount"]["amount"] == "24.900"
    app = quirky(tmp_path / "holds", "holds-as-booked")
    assert {entry["status"] for entry in app.entries(app.uid())} == {"BOOK"}


def test_entries_of_long_ago_are_refused(tmp_path: Path) -> None:
    app = quirky(tmp_path, "history-90-days")
    place = f"/accounts/{app.uid()}/transactions"
    assert refusal(app.get(place, date_from=in_days(-91)[:10])) == (422, "WRONG_TRANSACTIONS_PERIOD")
    assert app.get(place, date_from=in_days(-89)[:10]).status == 200


def test_a_session_is_shorter_than_the_app_asked_for(tmp_path: Path) -> None:
    app = quirky(tmp_path, "valid-until-shortened")
    session = app.connect(EVERYDAY, days=80)
    states = []
    for days in (29, 3):
        move(app.bank, days=days)
        states.append(app.get(f"/sessions/{session['session_id']}").json()["status"])
    assert states == ["AUTHORIZED", "EXPIRED"]


def test_the_fifth_access_of_a_day_is_refused(tmp_path: Path) -> None:
    for name, app in (
        ("quirk", quirky(tmp_path / "q", "no-retry-after")),
        ("scenario", started(tmp_path / "s", "rate-limit")),
    ):
        place = f"/accounts/{app.uid()}/balances"
        assert [app.get(place).status for _ in range(5)] == [200, 200, 200, 200, 429], name
        assert app.ask("GET", place, **{"PSU-IP-Address": "192.0.2.1"}).status == 200


def test_there_is_nothing_yet(tmp_path: Path) -> None:
    app = started(tmp_path, "empty-accounts")
    uid = app.uid()
    (balance,) = app.get(f"/accounts/{uid}/balances").json()["balances"]
    assert (balance["balance_amount"]["amount"], app.entries(uid)) == ("0.00", [])


def test_the_bank_is_down_for_a_while(tmp_path: Path) -> None:
    app = started(tmp_path, "outage")
    answers = [app.get("/application") for _ in range(3)]
    assert {(*refusal(answer), answer.headers["retry-after"]) for answer in answers} == {(503, "ASPSP_ERROR", "1")}
    assert app.get(f"/accounts/{app.uid()}/balances").status == 200
