"""`testdata` lists the bank's data as JSON and as tables."""

import json
import types
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from xs2a_sandbox.cli.main import cli

VALID = "11111111-1111-4111-8111-111111111111"
DATA = {
    "consents": {
        "22222222-1111-4111-8111-111111111111": {"role": "expired", "accounts": ["AT1"]},
        VALID: {"role": "authorised", "accounts": ["AT1"], "frequency": 4},
    },
    "accounts": {
        "AT1": {
            "iban": "AT051988000099000011",
            "currency": "EUR",
            "name": "Anna [bold]",
            "psuId": "anna",
            "balances": [
                {"type": "ITAV", "amount": {"amount": "1.00", "currency": "EUR"}},
                {"type": "FWAV", "amount": {"amount": "2.50", "currency": "EUR"}},
            ],
        },
        "AT2": {"currency": "EUR", "name": "No balance", "psuId": "anna"},
    },
    "payments": {"p1": {"service": "payments", "product": "sepa-credit-transfers", "status": "ACSP"}},
    "psus": {
        "anna": {"password": "x", "otp": "1", "methods": [{"id": "sms"}]},
        "felix": {"password": "y", "otp": "2"},
    },
    "clients": {"my-tpp": {"secret": "s", "name": "My TPP"}, "by-certificate": {}},
}


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


LOADED = types.SimpleNamespace(at=lambda today: DATA, unknown_consents=["unknown-id"])


@pytest.fixture
def data(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xs2a_sandbox.bank.loading.load_testdata", lambda settings: LOADED)


@pytest.mark.usefixtures("data")
def test_data_as_json() -> None:
    assert json.loads(run("testdata", "--json").stdout) == {
        "consents": [
            {"id": "22222222-1111-4111-8111-111111111111", "role": "expired", "accounts": ["AT1"]},
            {"id": VALID, "role": "authorised", "accounts": ["AT1"]},
            {"id": "unknown-id", "role": "unknown", "accounts": []},
        ],
        "accounts": [
            {
                "id": "AT1",
                "iban": "AT051988000099000011",
                "currency": "EUR",
                "name": "Anna [bold]",
                "balance": "2.50",
                "psuId": "anna",
            },
            {"id": "AT2", "iban": None, "currency": "EUR", "name": "No balance", "balance": None, "psuId": "anna"},
        ],
        "payments": [
            {"id": "p1", "service": "payments", "product": "sepa-credit-transfers", "status": "ACSP"},
        ],
        "psus": [
            {"id": "anna", "password": "x", "otp": "1", "methods": [{"id": "sms"}]},
            {"id": "felix", "password": "y", "otp": "2", "methods": []},
        ],
        "clients": [
            {"id": "my-tpp", "secret": "s", "name": "My TPP"},
            {"id": "by-certificate", "secret": None, "name": None},
        ],
    }


@pytest.mark.usefixtures("data")
def test_data_as_a_table() -> None:
    table = run("testdata").stdout
    for part in (VALID, "Anna [bold]", "2.50", "sepa-credit-transfers", "sms"):
        assert part in table
    assert not set(table) & set("┏┃┡│└─\x1b"), "output to a pipe has no frames and no colours"


def test_bundled_and_custom_test_data(home: Path) -> None:
    listed = json.loads(run("testdata", "--json").stdout)
    assert {consent["role"] for consent in listed["consents"]} == {"authorised", "expired", "unknown"}
    (home / "cassettes").mkdir()
    (home / "cassettes/testdata.yaml").write_text("testdata: 2\n")
    assert json.loads(run("testdata", "--json").stdout)["accounts"] == []


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(("dialect", "currency"), [("xs2a-1.84", "EUR"), ("obie-4.0", "GBP")])
def test_the_data_are_those_of_the_dialect(dialect: str, currency: str) -> None:
    listed = json.loads(run("testdata", "--json", "--dialect", dialect).stdout)
    assert listed["accounts"][0]["currency"] == currency


@pytest.mark.usefixtures("home")
def test_a_wrong_dialect_is_an_error() -> None:
    result = run("testdata", "--dialect", "obie")
    assert result.exit_code == 2
    assert "obie" in result.stderr
