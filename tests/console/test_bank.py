"""The pages of what the bank holds."""

import html
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.console.browser import ACCOUNT, TOKEN, Browser, payment
from xs2a_sandbox.clock import REAL

BANK = "/_sandbox/console/bank"
EVENTS = r'name="event" value="([^"]+)"'


def test_an_authorisation_is_approved_and_the_payment_goes_on(browser: Browser) -> None:
    id = payment(browser)
    started = browser.app_asks("POST", f"/v1/payments/sepa-credit-transfers/{id}/authorisations", json={})
    authorisation = started.json()["authorisationId"]
    assert authorisation in browser.page(f"/_sandbox/console/bank/payments/{id}")
    browser.page(f"/_sandbox/console/bank/authorisations/{authorisation}", {"event": "approve"}, 303)
    page = browser.page(f"/_sandbox/console/bank/authorisations/{authorisation}")
    assert re.search(r'aria-current="step"><span class="state">done', page)
    assert f'<p>For <a href="/_sandbox/console/bank/payments/{id}">' in page
    assert "ACSP" in browser.app_asks("GET", f"/v1/payments/sepa-credit-transfers/{id}/status").body.decode()


def test_an_embedded_authorisation_offers_no_decisions(browser: Browser) -> None:
    id = payment(browser)
    path = f"/v1/payments/sepa-credit-transfers/{id}/authorisations"
    asked = {"PSU-ID": "anna", "TPP-Redirect-Preferred": "false"}
    authorisation = browser.app_asks("POST", path, json={}, headers=asked).json()["authorisationId"]
    page = browser.page(f"/_sandbox/console/bank/authorisations/{authorisation}")
    assert re.findall(EVENTS, page) == []
    assert f"Nothing can be decided here: the authorisation {authorisation} is embedded" in page
    assert "This state is final." not in page
    assert "itself" in browser.page(f"/_sandbox/console/bank/authorisations/{authorisation}", {"event": "decline"}, 409)


def test_something_happens_to_a_payment_and_its_requests_are_listed(browser: Browser) -> None:
    id = payment(browser)
    browser.app_asks("GET", f"/v1/payments/sepa-credit-transfers/{id}/status")
    browser.page(f"/_sandbox/console/bank/payments/{id}", {"event": "refused"}, 303)
    page = browser.page(f"/_sandbox/console/bank/payments/{id}")
    assert re.search(r'aria-current="step"><span class="state">RJCT', page)
    assert re.findall(r"exchanges/(\d+)", page.partition('class="timeline"')[2]) == ["1", "2"]
    assert 'initiate-payment</a> → <span class="state">RCVD</span>' in page
    assert '<li class="past"><span class="state">RCVD' in page
    assert "possible events" in browser.page(f"/_sandbox/console/bank/payments/{id}", {"event": "cancel"}, 409)


def test_the_life_of_a_payment_is_its_requests_states_and_links(browser: Browser) -> None:
    id = payment(browser)
    started = browser.app_asks("POST", f"/v1/payments/sepa-credit-transfers/{id}/authorisations", json={}).json()
    page = browser.page(f"/_sandbox/console/bank/payments/{id}").partition(">Timeline<")[2]
    assert "transactionStatus RCVD" in page
    assert "scaStatus received" in page
    href = next(iter(links for name, links in started.items() if name.startswith("_")))["scaRedirect"]["href"]
    assert f'<a href="{html.escape(href)}">scaRedirect</a>' in page
    assert "has not been told" not in page
    browser.page(f"/_sandbox/console/bank/payments/{id}", {"event": "refused"}, 303)
    assert "The app has not been told yet." in browser.page(f"/_sandbox/console/bank/payments/{id}")


def test_what_can_happen_to_a_payment_begins_with_its_approval_and_ends_with_its_end(browser: Browser) -> None:
    page = f"/_sandbox/console/bank/payments/{payment(browser)}"
    assert re.findall(EVENTS, browser.page(page))[0] == "authorised by all"
    browser.page(page, {"event": "refused"}, 303)
    ended = browser.page(page)
    assert re.findall(EVENTS, ended) == []
    assert "This state is final." in ended


def test_payments_of_the_same_amount_and_payee_can_be_told_apart(browser: Browser) -> None:
    ids = [payment(browser, amount="5000", endToEndIdentification=f"RE-77{n}") for n in (1, 2)]
    listed = browser.page("/_sandbox/console/bank").partition('id="payments"')[2].partition("</table>")[0]
    rows = [next(row for row in listed.split("<tr>") if id in row) for id in ids]
    for row, reference in zip(rows, ("RE-771", "RE-772"), strict=True):
        assert ">5,000.00 EUR to Nahversorger Talblick</a>" in row
        assert re.search(r'data-label="Created">\d{4}-\d\d-\d\d \d\d:\d\d:\d\d</td>', row)
        assert f"end-to-end id {reference}" in row
    found = browser.page("/_sandbox/console/bank?filter=re-772")
    assert ids[1] in found
    assert ids[0] not in found
    page = browser.page(f"/_sandbox/console/bank/payments/{ids[0]}")
    assert re.search(r"<p>sepa-credit-transfers, end-to-end id RE-771, created [\d :-]{19}</p>", page)


def test_documents_are_listed_newest_first_with_what_somebody_knows_them_by(browser: Browser) -> None:
    ids = [payment(browser, name) for name in ("Buchhandlung Eck", "Nahversorger Talblick")]
    listed = browser.page("/_sandbox/console/bank").partition('id="payments"')[2].partition("</table>")[0]
    assert [id for id in re.findall(r"bank/payments/([\w-]+)", listed) if id in ids] == ids[::-1]
    assert ">12.50 EUR to Buchhandlung Eck</a>" in listed
    assert '<span class="state waiting">RCVD</span><br><small>received, waiting for the customer</small></td>' in listed


@pytest.mark.parametrize(
    ("searched", "found"),
    [
        ("grünwald", ["accounts/AT459880000010204711", "psus/anna"]),
        ("AT4598", ["accounts/AT459880000010204711"]),
        ("Expired", ["consents/a73f105d-29ce-4d86-9f41-6b0e8c5a2755"]),
        ("felix", ["psus/felix"]),
    ],
)
def test_documents_are_filtered_by_name_id_or_state(browser: Browser, searched: str, found: list[str]) -> None:
    page = browser.page(f"/_sandbox/console/bank?{urlencode({'filter': searched})}")
    listed = re.findall(r'<td><a href="/_sandbox/console/bank/([\w/-]+)"', page)
    assert set(found) <= set(listed)
    assert "psus/lukas" not in listed
    assert f'name="filter" value="{html.escape(searched)}"' in page


def authorise(browser: Browser, id: str, kind: str = "authorisations", **headers: str) -> str:
    path = f"/v1/payments/sepa-credit-transfers/{id}/{kind}"
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return str(browser.app_asks("POST", path, json={}, headers=sent).json()["authorisationId"])


def with_redirect(browser: Browser) -> list[str]:
    id = payment(browser)
    return [f"payments/{id}", f"authorisations/{authorise(browser, id)}"]


def with_embedded(browser: Browser) -> list[str]:
    id = payment(browser)
    authorisation = authorise(browser, id, PSU_ID="anna", TPP_Redirect_Preferred="false")
    return [f"payments/{id}", f"authorisations/{authorisation}"]


def in_a_basket(browser: Browser) -> list[str]:
    ids = [payment(browser), payment(browser)]
    authorisation = authorise(browser, ids[0])
    basket = browser.app_asks("POST", "/v1/signing-baskets", json={"paymentIds": ids}).json()["basketId"]
    return [f"payments/{ids[0]}", f"authorisations/{authorisation}", f"baskets/{basket}"]


def with_cancellation(browser: Browser) -> list[str]:
    id = payment(browser, requestedExecutionDate=(REAL.today() + timedelta(days=9)).isoformat())
    browser.page(f"{BANK}/payments/{id}", {"event": "authorised by all, for later"}, 303)
    return [f"payments/{id}", f"authorisations/{authorise(browser, id, 'cancellation-authorisations')}"]


@pytest.mark.parametrize("create", [with_redirect, with_embedded, in_a_basket, with_cancellation])
def test_no_button_of_a_document_can_only_fail(tmp_path: Path, create: Callable[[Browser], list[str]]) -> None:
    def new() -> tuple[Browser, list[str]]:
        browser = Browser(tmp_path).sign_in()
        return browser, [f"{BANK}/{path}" for path in create(browser)]

    browser, pages = new()
    buttons = [(number, event) for number, page in enumerate(pages) for event in re.findall(EVENTS, browser.page(page))]
    assert buttons
    for number, event in buttons:
        browser, pages = new()
        browser.page(pages[number], {"event": event}, 303)


def test_a_payment_in_a_basket_is_decided_with_the_basket(browser: Browser) -> None:
    of_payment, of_authorisation, of_basket = in_a_basket(browser)
    page = browser.page(f"{BANK}/{of_authorisation}")
    assert re.findall(EVENTS, page) == []
    assert f"the payment {of_payment.removeprefix('payments/')} is in a signing basket and is decided with it." in page
    assert f'<a href="{BANK}/{of_basket}">Open the basket</a>' in page


def test_a_long_list_shows_the_newest_until_all_are_asked_for(browser: Browser) -> None:
    ids = [payment(browser) for _ in range(6)]
    for address, shown in ((BANK, ids[1:]), (f"{BANK}?show=payments", ids)):
        found = re.findall(rf"{BANK}/payments/([\w-]+)", browser.page(address))
        assert [id for id in found if id in ids] == shown[::-1]
    assert "Show all 13</a>" in browser.page(BANK)


def open_collections(page: str) -> list[str]:
    return re.findall(r'<details class="card fold" id="(\w+)" open>', page)


def test_collections_are_open_if_requests_have_filled_them_or_the_user_asks_for_them(browser: Browser) -> None:
    assert open_collections(browser.page(BANK)) == []
    payment(browser)
    assert open_collections(browser.page(BANK)) == ["payments", "authorisations"]
    assert open_collections(browser.page(f"{BANK}?show=accounts")) == ["accounts"]
    assert open_collections(browser.page(f"{BANK}?filter=felix")) == ["accounts", "psus"]


def test_an_account_shows_the_money_that_can_be_paid_from_it(browser: Browser) -> None:
    """`xs2a-sandbox testdata` shows the same amount at the start."""
    addresses = f"{BANK}?show=accounts", f"{BANK}/accounts/{ACCOUNT}"
    assert [address for address in addresses if "7,228.42 EUR available" not in browser.page(address)] == []
    browser.page(f"{BANK}/payments/{payment(browser, amount='28.42')}", {"event": "authorised by all"}, 303)
    assert [address for address in addresses if "7,200.00 EUR available" not in browser.page(address)] == []


def test_a_filter_that_fits_nothing_says_so(browser: Browser) -> None:
    assert "No document fits." in browser.page("/_sandbox/console/bank?filter=nowhere")


@pytest.mark.parametrize(
    ("collection", "document"),
    [
        ("accounts", {"currency": "EUR", "balances": "none"}),
        ("authorisations", {"family": ["payment"], "resource": {"id": 1}}),
        ("authorisations", {"family": "payment", "resource": "gone", "status": "received"}),
        ("baskets", {"payments": 5}),
        ("consents", {"status": "valid", "accounts": 5}),
    ],
)
def test_a_document_that_was_written_in_another_form_is_shown(
    browser: Browser, collection: str, document: dict[str, object]
) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    browser.app_asks("PUT", f"/_sandbox/state/{collection}/odd", json=document, headers=headers)
    assert "odd" in browser.page(BANK + f"?show={collection}")
    assert "odd" in browser.page(f"{BANK}/{collection}/odd")
