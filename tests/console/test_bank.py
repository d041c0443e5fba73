"""The pages of what the bank holds."""

import html
import re
from urllib.parse import urlencode

import pytest

from tests.console.browser import Browser, payment

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
    assert "Nobody decides here: the authorisation is embedded" in page
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
    listed = browser.page("/_sandbox/console/bank").partition('<h2 id="payments">')[2].partition("</table>")[0]
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
    listed = browser.page("/_sandbox/console/bank").partition('<h2 id="payments">')[2].partition("</table>")[0]
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


def test_a_filter_that_fits_nothing_says_so(browser: Browser) -> None:
    assert "No document fits." in browser.page("/_sandbox/console/bank?filter=nowhere")
