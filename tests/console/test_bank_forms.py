"""The forms that create customers, accounts and entries."""

import re
from pathlib import Path

import pytest

from tests.console.browser import ACCOUNT, Browser
from tests.support.engine_client import bundled_engine
from xs2a_sandbox.config import Settings
from xs2a_sandbox.documents.formats import is_iban, is_uuid
from xs2a_sandbox.engine.build import build

BANK = "/_sandbox/console/bank"
CUSTOMER = {
    "create": "customer",
    "customer_id": "greta",
    "customer_name": "Greta Moser",
    "customer_password": "zugspitze",
    "customer_otp": "111111",
}
ACCOUNT_FORM = {
    "create": "account",
    "account_owner": "anna",
    "account_currency": "eur",
    "account_balance": "250.00",
}
ENTRIES = {
    "create": "entries",
    "entries_account": ACCOUNT,
    "entries_kind": "card",
    "entries_count": "10",
    "entries_days": "90",
    "entries_seed": "1",
}


def new_accounts(browser: Browser) -> list[str]:
    """The ids of the accounts that the page lists as added or changed."""
    listed = browser.page(BANK).partition('id="test-data"')[2].partition("</section>")[0]
    return re.findall(r"bank/accounts/([\w-]+)", listed)


def stored(browser: Browser, collection: str, id: str) -> dict[str, object]:
    headers = {"Authorization": f"Bearer {browser.engine.parts.admin_token}"}
    document: dict[str, object] = browser.app_asks("GET", f"/_sandbox/state/{collection}/{id}", headers=headers).json()
    return document


def a_bank(tmp_path: Path, dialect: str) -> Browser:
    engine = build(Settings(dialect=dialect, state="memory:", confdir=tmp_path))
    engine.use(display=bundled_engine().parts.display)
    return Browser(tmp_path, engine).sign_in()


def test_a_customer_and_an_account_are_created(browser: Browser) -> None:
    assert browser.ask("POST", BANK, CUSTOMER).headers["location"] == f"{BANK}#test-data"
    assert stored(browser, "psus", "greta") == {
        "name": "Greta Moser",
        "password": "zugspitze",
        "otp": "111111",
        "methods": [{"id": "method-1", "type": "SMS_OTP", "name": "Telephone"}],
    }
    browser.page(BANK, {**ACCOUNT_FORM, "account_owner": "greta"}, 303)
    (id,) = new_accounts(browser)
    assert is_iban(id)
    account = stored(browser, "accounts", id)
    assert "iban" not in account
    assert (account["name"], account["psuId"], account["currency"]) == ("Greta Moser", "greta", "EUR")
    assert account["bic"] == "SANDATWWXXX"
    balances = account["balances"]
    assert isinstance(balances, list)
    assert [(balance["type"], balance["amount"]["amount"]) for balance in balances] == [
        ("ITAV", "250.00"),
        ("FWAV", "250.00"),
    ]


def test_a_customer_without_a_one_time_password_has_no_methods(browser: Browser) -> None:
    browser.page(BANK, {**CUSTOMER, "customer_otp": ""}, 303)
    assert stored(browser, "psus", "greta") == {"name": "Greta Moser", "password": "zugspitze"}


def test_a_new_account_has_another_iban_each_time(browser: Browser) -> None:
    for _ in range(3):
        browser.page(BANK, ACCOUNT_FORM, 303)
    assert len(set(new_accounts(browser))) == 3


def test_an_account_has_the_numbers_of_the_form(browser: Browser) -> None:
    browser.page(BANK, {**ACCOUNT_FORM, "account_iban": "at05 1988 0000 9900 0011"}, 303)
    browser.page(BANK, {**ACCOUNT_FORM, "account_id": "savings", "account_name": "Savings"}, 303)
    assert set(new_accounts(browser)) == {"AT051988000099000011", "savings"}
    savings = stored(browser, "accounts", "savings")
    assert is_iban(str(savings["iban"]))
    assert savings["name"] == "Savings"


def test_entries_are_added_newest_first_and_the_balance_stays(browser: Browser) -> None:
    before = stored(browser, "accounts", ACCOUNT)
    browser.page(BANK, ENTRIES, 303)
    browser.page(BANK, {**ENTRIES, "entries_kind": "salary", "entries_low": "1500", "entries_high": "1500.00"}, 303)
    after = stored(browser, "accounts", ACCOUNT)
    assert after["balances"] == before["balances"]
    assert isinstance(after["entries"], dict)
    assert isinstance(before["entries"], dict)
    booked = after["entries"]["booked"]
    assert len(booked) == len(before["entries"]["booked"]) + 20
    assert [entry["booked_on"] for entry in booked] == sorted((e["booked_on"] for e in booked), reverse=True)
    assert {e["amount"]["amount"] for e in booked if e["id"].startswith("salary-")} == {"1500.00"}
    assert after["entries"]["pending"] == before["entries"]["pending"]


def test_more_entries_than_the_sandbox_accepts_are_an_error(browser: Browser) -> None:
    browser.page(BANK, {**ENTRIES, "entries_count": "2000"}, 303)
    page = browser.page(BANK, {**ENTRIES, "entries_count": "2000"}, 400)
    assert 'id="wrong-entries_count" role="alert">The account would be larger than the sandbox accepts' in page


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({**CUSTOMER, "customer_id": ""}, "customer_id"),
        ({**CUSTOMER, "customer_id": "a b"}, "customer_id"),
        ({**CUSTOMER, "customer_id": "anna"}, "customer_id"),
        ({**CUSTOMER, "customer_name": " "}, "customer_name"),
        ({**CUSTOMER, "customer_name": "x" * 201}, "customer_name"),
        ({**CUSTOMER, "customer_password": ""}, "customer_password"),
        ({**ACCOUNT_FORM, "account_owner": "nobody"}, "account_owner"),
        ({**ACCOUNT_FORM, "account_iban": "AT000000000000000000"}, "account_iban"),
        ({**ACCOUNT_FORM, "account_iban": ACCOUNT}, "account_iban"),
        ({**ACCOUNT_FORM, "account_id": ACCOUNT}, "account_id"),
        ({**ACCOUNT_FORM, "account_id": "AT000000000000000000"}, "account_id"),
        ({**ACCOUNT_FORM, "account_id": "a/b"}, "account_id"),
        ({**ACCOUNT_FORM, "account_currency": "XXXX"}, "account_currency"),
        ({**ACCOUNT_FORM, "account_balance": "1,50"}, "account_balance"),
        ({**ENTRIES, "entries_account": "nothing"}, "entries_account"),
        ({**ENTRIES, "entries_kind": "nothing"}, "entries_kind"),
        ({**ENTRIES, "entries_count": "2001"}, "entries_count"),
        ({**ENTRIES, "entries_count": "0"}, "entries_count"),
        ({**ENTRIES, "entries_count": "many"}, "entries_count"),
        ({**ENTRIES, "entries_low": "-1"}, "entries_low"),
        ({**ENTRIES, "entries_low": "100"}, "entries_low"),
        ({**ENTRIES, "entries_low": "9", "entries_high": "8"}, "entries_high"),
        ({**ENTRIES, "entries_high": "x"}, "entries_high"),
        ({**ENTRIES, "entries_days": "4000"}, "entries_days"),
        ({**ENTRIES, "entries_seed": ""}, "entries_seed"),
    ],
)
def test_an_error_is_shown_next_to_its_field(browser: Browser, form: dict[str, str], field: str) -> None:
    page = browser.page(BANK, form, 400)
    assert f'id="wrong-{field}" role="alert"' in page
    (opened,) = re.findall(r"<details open>.*?</details>", page, re.DOTALL)
    assert f'value="{form["create"]}"' in opened
    if form[field].strip() and field not in ("account_owner", "entries_account", "entries_kind"):
        assert f'value="{form[field]}"' in opened


def test_a_form_that_is_unknown_creates_nothing(browser: Browser) -> None:
    assert "The bank can create: customer, account, entries." in browser.page(BANK, {"create": "bank"}, 400)


def test_a_bank_whose_ids_are_not_ibans(tmp_path: Path) -> None:
    browser = a_bank(tmp_path, "berlin-group-1.3")
    browser.page(BANK, {**ACCOUNT_FORM, "account_owner": "nora"}, 303)
    (id,) = new_accounts(browser)
    account = stored(browser, "accounts", id)
    assert is_uuid(id)
    assert is_iban(str(account["iban"]))
    assert (account["status"], account["type"], account["usage"]) == ("enabled", "CACC", "PRIV")
    found = browser.page(f"{BANK}?filter={account['iban']}").partition('id="accounts"')[2]
    assert re.findall(r'<td><a href="/_sandbox/console/bank/accounts/([\w-]+)"', found) == [id]
    assert f'data-label="Details">{account["iban"]}, ' in found


def test_another_interface_that_has_no_word_in_common(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = a_bank(tmp_path, "obie-4.0")
    browser.page(BANK, CUSTOMER, 303)
    assert "methods" in stored(browser, "psus", "greta")
    browser.page(BANK, {**ACCOUNT_FORM, "account_owner": "greta", "account_currency": "GBP"}, 303)
    (id,) = new_accounts(browser)
    assert re.fullmatch("[1-9]{5}", id)
    account = stored(browser, "accounts", id)
    assert str(account["iban"])[4:14] == "BUKB202015"
    browser.page(BANK, {**ENTRIES, "entries_account": id, "entries_count": "100"}, 303)
    entries = stored(browser, "accounts", id)["entries"]
    assert isinstance(entries, dict)
    assert len(entries["booked"]) == 100


def test_a_bank_that_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.yaml").write_text("testdata: 2\nreplace: true\n")
    engine = build(Settings(testdata=tmp_path / "empty.yaml", state="memory:", confdir=tmp_path))
    engine.use(display=bundled_engine().parts.display)
    browser = Browser(tmp_path, engine).sign_in()
    browser.page(BANK)
    assert "Create a customer first." in browser.page(BANK, {**ACCOUNT_FORM, "account_owner": ""}, 400)
    assert "Create an account first." in browser.page(BANK, {**ENTRIES, "entries_account": ""}, 400)
    browser.page(BANK, CUSTOMER, 303)
    form = {**ACCOUNT_FORM, "account_owner": "greta"}
    assert 'id="wrong-account_id"' in browser.page(BANK, form, 400)
    browser.page(BANK, {**form, "account_iban": "AT051988000099000011"}, 303)
    assert new_accounts(browser) == ["AT051988000099000011"]
    browser.page(BANK, {**form}, 303)
    assert len(new_accounts(browser)) == 2
