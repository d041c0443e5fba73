"""Test data that a session has created, saved as a file."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.console.browser import ACCOUNT, Browser
from tests.console.test_bank_forms import ACCOUNT_FORM, BANK, CUSTOMER, ENTRIES, a_bank, new_accounts
from tests.families.test_uk_open_banking import ask, authorise, token
from tests.support.engine_client import Client, an_engine
from xs2a_sandbox.bank import testdata
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.features.console.test_data.saving import write_test_data

FILE = f"{BANK}/testdata.yaml"
CONSENT = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"
TODAY = date(2026, 11, 21)


def save(browser: Browser, folder: Path) -> Path:
    answer = browser.ask("GET", FILE)
    assert answer.status == 200
    assert answer.headers["content-disposition"] == 'attachment; filename="testdata-default.yaml"'
    file = folder / "saved.yaml"
    file.write_bytes(answer.body)
    return file


def loaded(file: Path) -> Browser:
    """A browser at a bank with the bundled test data and those of the file."""
    data = testdata.load([bundled("cassettes") / "testdata.yaml", file])
    return Browser(file.parent, an_engine(testdata=data, display=an_engine().parts.display)).sign_in()


def test_a_file_that_was_saved_shows_the_same_accounts_over_http(browser: Browser, tmp_path: Path) -> None:
    browser.page(BANK, {**CUSTOMER, "customer_name": "Greta {{ 1 + 1 }} #\"'"}, 303)
    browser.page(BANK, {**ACCOUNT_FORM, "account_owner": "greta"}, 303)
    (id,) = new_accounts(browser)
    for kind in ("card", "rent", "salary", "received"):
        browser.page(BANK, {**ENTRIES, "entries_account": id, "entries_kind": kind}, 303)
    browser.page(BANK, {**ENTRIES, "entries_count": "100"}, 303)
    other = Client(build(Settings(testdata=save(browser, tmp_path), state="memory:", confdir=tmp_path)))
    for target in (
        "/v1/accounts?withBalance=true",
        f"/v1/accounts/{ACCOUNT}/transactions?bookingStatus=both&dateFrom=2020-01-01",
    ):
        before, after = browser.app_asks("GET", target, consent=CONSENT), other.request("GET", target, consent=CONSENT)
        assert (before.status, after.status) == (200, 200)
        assert before.json() == after.json()
    assert b"card-0100" in before.body
    assert _stored(other, "psus", "greta") == _stored(browser.app, "psus", "greta")
    assert _stored(other, "accounts", id) == _stored(browser.app, "accounts", id)


def _stored(client: Client, collection: str, id: str) -> Any:
    client.engine.use(admin_token="the-token-of-this-sandbox")
    headers = {"Authorization": "Bearer the-token-of-this-sandbox"}
    answer = client.request("GET", f"/_sandbox/state/{collection}/{id}", headers=headers)
    assert answer.status == 200
    return answer.json()


def test_a_file_of_another_interface(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = a_bank(tmp_path, "obie-4.0")
    browser.page(BANK, {**ENTRIES, "entries_account": "22289", "entries_count": "20"}, 303)
    file = save(browser, tmp_path)
    settings = Settings(dialect="obie-4.0", state="memory:", confdir=tmp_path, testdata=file)
    bank = Client(build(settings))
    app = token(bank, grant_type="client_credentials", scope="accounts")
    permissions = ["ReadAccountsDetail", "ReadTransactionsDetail", "ReadTransactionsCredits", "ReadTransactionsDebits"]
    body = {"Data": {"Permissions": permissions}, "Risk": {}}
    created = ask(bank, "POST", "/open-banking/v4.0/aisp/account-access-consents", app, body)
    consent = created.json()["Data"]["ConsentId"]
    reading = authorise(bank, consent, "accounts", "22289")
    answer = ask(bank, "GET", "/open-banking/v4.0/aisp/accounts/22289/transactions", reading)
    assert answer.status == 200, answer.body
    assert {"card-0001", "card-0020", "T-1"} <= {
        entry["TransactionId"] for entry in answer.json()["Data"]["Transaction"]
    }


def test_only_what_the_session_has_changed_is_saved(browser: Browser) -> None:
    assert FILE not in browser.page(BANK)
    assert browser.ask("GET", FILE).body == b"testdata: 2\n"
    browser.page(BANK, CUSTOMER, 303)
    assert f'href="{FILE}" download' in browser.page(BANK)
    text = browser.ask("GET", FILE).body.decode()
    assert "greta:" in text
    assert "anna" not in text
    assert browser.ask("GET", "/_sandbox/s/ci/console/bank/testdata.yaml").body == b"testdata: 2\n"


def test_a_document_that_was_deleted_is_left_out(browser: Browser) -> None:
    headers = {"Authorization": f"Bearer {browser.engine.parts.admin_token}"}
    browser.app_asks("DELETE", "/_sandbox/state/psus/felix", headers=headers)
    assert browser.ask("GET", FILE).body == b"testdata: 2\n"


def test_dates_count_from_the_day_of_the_session(browser: Browser, tmp_path: Path) -> None:
    browser.page("/_sandbox/console/time", {"set": "move", "move": "40d"}, 303)
    browser.page(BANK, ACCOUNT_FORM, 303)
    (id,) = new_accounts(browser)
    account = testdata.load([bundled("cassettes") / "testdata.yaml", save(browser, tmp_path)]).at(TODAY)["accounts"][id]
    assert account["balances"][0]["reference_date"] == "2026-11-21"


def test_there_is_no_other_file(browser: Browser) -> None:
    assert browser.ask("GET", f"{BANK}/other.yaml").status == 404


def test_texts_are_never_read_as_something_else(tmp_path: Path) -> None:
    texts = [
        "null",
        "true",
        "1",
        "a: b",
        "# x",
        "{{ today(0) }}",
        "{% x %}",
        "}}",
        "{{{{",
        "two\nlines",
        "ä\u2028\x7f",
        "",
    ]
    customer = {"name": "x", "password": "y", "notes": texts, "nested": {"list": [{"0": text} for text in texts]}}
    file = tmp_path / "saved.yaml"
    file.write_text(write_test_data({"psus": {"7": customer, "a: b": customer}}, TODAY))
    read = testdata.load([file]).at(TODAY)["psus"]
    assert read == {"7": customer, "a: b": customer}


def test_an_entry_is_one_line() -> None:
    entry = {"id": "E-1", "booked_on": "2026-11-18", "amount": {"amount": "-1.00", "currency": "EUR"}}
    account = {"currency": "EUR", "psuId": "anna", "born": "2026-11-18", "entries": {"booked": [entry], "pending": []}}
    assert write_test_data({"accounts": {"7": account}}, TODAY) == (
        "testdata: 2\n"
        "accounts:\n"
        '  "7":\n'
        "    currency: EUR\n"
        "    psuId: anna\n"
        '    born: "2026-11-18"\n'
        "    entries:\n"
        "      booked:\n"
        '        - {id: E-1, booked_on: "{{ today(-3) }}", amount: {amount: "-1.00", currency: EUR}}\n'
        "      pending: []\n"
    )
