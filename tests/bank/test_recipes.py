"""Test data by a recipe: entries and IBANs from a seed."""

import sys
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pycountry
import pytest
import yaml

from tests.support.program import program
from xs2a_sandbox.bank import testdata
from xs2a_sandbox.bank.entry_kinds import KINDS
from xs2a_sandbox.bank.recipes import make_iban
from xs2a_sandbox.config import Settings
from xs2a_sandbox.documents.formats import is_iban
from xs2a_sandbox.documents.json_schema import bundled_schema
from xs2a_sandbox.errors import ConfigError, ExpressionError, Unreadable
from xs2a_sandbox.features.pytest.in_process import LoopThread
from xs2a_sandbox.features.pytest.sandbox import Blueprint, Sandbox

DAY = date(2026, 11, 26)
CONSENT = "3f0c2d52-6c0b-4f6e-9d53-0f4c2b7f9a10"
RECIPE = {"count": 200, "months": 24, "kinds": ["salary", "rent", "groceries", "received"], "seed": 7}


KEPT = {
    "salary-00024": ("2026-11-01", "2679.31"),
    "rent-00001": ("2024-12-01", "-820.46"),
    "groceries-00001": ("2024-11-26", "-89.85"),
    "groceries-00076": ("2026-11-16", "-139.09"),
    "received-00040": ("2025-11-24", "167.04"),
}


def write(directory: Path, recipe: dict[str, Any] | None = None, **account: Any) -> Path:
    """Write test data with one account that has a recipe."""
    made = {
        "iban": {"generate": {"country": "NL", "seed": 7}},
        "currency": "EUR",
        "name": "Mia Berg",
        "psuId": "mia",
        "balances": [{"amount": {"amount": "100.00", "currency": "EUR"}, "type": "CLBD"}],
        "transactions": {"generate": {**RECIPE, **(recipe or {})}},
        **account,
    }
    consent = {"role": "authorised", "accounts": ["main"], "recurring": True, "last_action_on": "{{ today() }}"}
    data = {
        "testdata": 2,
        "replace": True,
        "psus": {"mia": {"name": "Mia Berg", "password": "a", "otp": "1", "methods": []}},
        "accounts": {"main": {name: value for name, value in made.items() if value is not None}},
        "consents": {CONSENT: consent},
    }
    file = directory / "testdata.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    return file


def account(file: Path, day: date = DAY) -> Any:
    return testdata.load([file]).at(day)["accounts"]["main"]


def booked(file: Path, day: date = DAY) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = account(file, day)["entries"]["booked"]
    return entries


def test_a_recipe_makes_the_same_entries_each_time(tmp_path: Path) -> None:
    pytest.importorskip("faker")
    entries = booked(write(tmp_path))
    assert entries == booked(write(tmp_path))
    assert entries != booked(write(tmp_path, {"seed": 8}))
    assert len({entry["id"] for entry in entries}) == 200
    assert [entry["booked_on"] for entry in entries] == sorted((e["booked_on"] for e in entries), reverse=True)
    assert min(entry["booked_on"] for entry in entries) >= (DAY - timedelta(days=740)).isoformat()
    assert max(entry["booked_on"] for entry in entries) <= DAY.isoformat()
    mine = account(write(tmp_path))["iban"]
    for entry in entries:
        sides = {entry["creditor_account"]["iban"], entry["debtor_account"]["iban"]}
        assert mine in sides
        assert all(is_iban(iban) and iban.startswith("NL") for iban in sides)
        assert entry["creditor_name"]
        assert entry["debtor_name"]


def test_ids_amounts_and_days_never_change(tmp_path: Path) -> None:
    pytest.importorskip("faker")
    entries = {entry["id"]: entry for entry in booked(write(tmp_path))}
    assert {id: (entries[id]["booked_on"], entries[id]["amount"]["amount"]) for id in KEPT} == KEPT


def test_monthly_kinds_have_one_amount_on_the_first_day_of_each_month(tmp_path: Path) -> None:
    pytest.importorskip("faker")
    salaries = [entry for entry in booked(write(tmp_path)) if entry["id"].startswith("salary-")]
    assert len(salaries) == 24
    assert {entry["booked_on"][8:] for entry in salaries} == {"01"}
    assert len({entry["amount"]["amount"] for entry in salaries}) == 1
    assert salaries[0]["remittance"] == "Salary 11/2026"


def test_days_count_from_the_start_of_the_session(tmp_path: Path) -> None:
    pytest.importorskip("faker")
    file, later = write(tmp_path, {"kinds": ["card"]}), DAY + timedelta(days=100)
    moved = [
        (entry["id"], date.fromisoformat(entry["booked_on"]) - timedelta(days=100)) for entry in booked(file, later)
    ]
    assert moved == [(entry["id"], date.fromisoformat(entry["booked_on"])) for entry in booked(file)]


def test_entries_of_a_recipe_are_added_to_others(tmp_path: Path) -> None:
    pytest.importorskip("faker")
    own = {"id": "own", "booked_on": "{{ today(-3) }}", "value_on": "{{ today(-3) }}"}
    own["amount"] = {"amount": "-1.00", "currency": "EUR"}  # type: ignore[assignment]
    entries = booked(write(tmp_path, entries={"booked": [own]}))
    assert len(entries) == 201
    assert [entry["booked_on"] for entry in entries] == sorted((e["booked_on"] for e in entries), reverse=True)


def test_a_bank_answers_ten_thousand_entries_in_pages(tmp_path: Path) -> None:
    pytest.importorskip("faker")
    file = write(tmp_path, {"count": 10_000})
    data = testdata.load([file])
    assert data.at(DAY) is data.at(DAY)  # made once, not for each request
    settings = Settings(state="memory:", confdir=tmp_path, dialect="berlin-group-1.3", testdata=file)
    sandbox = Sandbox(Blueprint.read(settings), LoopThread())
    answer = sandbox.client().get(
        "/v1/accounts/main/transactions?bookingStatus=booked&dateFrom=2000-01-01&itemsPerPage=50&pageIndex=200",
        headers={"X-Request-ID": str(uuid4()), "Consent-ID": CONSENT},
    )
    assert answer.status_code == 200, answer.text
    assert len(answer.json()["transactions"]["booked"]) == 50
    assert "next" not in answer.json()["transactions"]["_links"]


def test_every_country_with_ibans_can_be_chosen() -> None:
    made: dict[str, str] = {}
    for country in pycountry.countries:
        with suppress(ExpressionError):
            made[country.alpha_2] = make_iban({"country": country.alpha_2, "seed": 7})
    assert len(made) > 75
    assert "US" not in made
    for country, iban in made.items():
        assert iban.startswith(country)
        assert is_iban(iban)
        assert iban == make_iban({"country": country, "seed": 7})


@pytest.mark.parametrize(
    ("recipe", "account", "complaint"),
    [
        ({"kinds": ["salery"]}, {}, 'not "salery"; did you mean salary?'),
        ({"count": 0}, {}, "must be at least 1, not 0"),
        ({"kinds": ["salary", "rent"]}, {}, "salary, rent are monthly, which makes 48 entries in 24 months, not 200"),
        ({}, {"iban": {"generate": {"country": "US", "seed": 1}}}, "US has no IBANs: choose a country that has"),
        ({}, {"iban": {"generate": {"country": "NL"}}}, "the key seed is missing"),
        ({}, {"iban": "NL00"}, "must be an IBAN with valid check digits"),
    ],
)
def test_a_wrong_recipe_gets_an_error_with_its_place(
    tmp_path: Path, recipe: dict[str, Any], account: dict[str, Any], complaint: str
) -> None:
    pytest.importorskip("faker")
    with pytest.raises(Unreadable) as raised:
        testdata.load([write(tmp_path, recipe, **account)])
    assert complaint in str(raised.value)
    assert "testdata.yaml:" in str(raised.value)


def test_only_recipes_need_faker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path)
    monkeypatch.setitem(sys.modules, "faker", None)
    with pytest.raises(ConfigError, match=r"pip install 'xs2a-sandbox\[faker\]'"):
        testdata.load([file])

    plain = write(tmp_path, iban="NL25WJWB4128813978", transactions=None)
    process = program(
        """
        import sys
        from pathlib import Path
        from xs2a_sandbox.bank import testdata
        testdata.load([Path(sys.argv[1])])
        print("faker" in sys.modules)
        """,
        str(plain),
    )
    assert process.communicate(timeout=60)[0] == "False\n"


def test_the_schema_lists_the_kinds() -> None:
    account_entry = bundled_schema("testdata").document["$defs"]["accountEntry"]["properties"]["transactions"]
    assert set(account_entry["properties"]["generate"]["properties"]["kinds"]["items"]["enum"]) == KINDS.keys()
