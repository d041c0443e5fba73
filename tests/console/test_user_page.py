"""The link to the page on which the customer decides, on the page of a document."""

import html
import re
from datetime import timedelta

from tests.console.browser import Browser, payment
from xs2a_sandbox.clock import REAL

BANK = "/_sandbox/console/bank"


def link_to_decide(browser: Browser, page: str) -> str | None:
    found = re.search(r'href="([^"]+)">Open the customer', browser.page(page))
    return "/sca/" + html.unescape(found[1]).partition("/sca/")[2] if found else None


def test_the_customers_page_is_offered_while_it_can_be_used(browser: Browser) -> None:
    id = payment(browser)
    started = browser.app_asks("POST", f"/v1/payments/sepa-credit-transfers/{id}/authorisations", json={}).json()
    documents = f"{BANK}/payments/{id}", f"{BANK}/authorisations/{started['authorisationId']}"
    hrefs = [link_to_decide(browser, document) for document in documents]
    assert hrefs[0]
    assert hrefs[0] == hrefs[1]
    assert browser.app_asks("GET", hrefs[0]).status == 200
    browser.page(documents[0], {"event": "authorised by all"}, 303)
    assert browser.app_asks("GET", hrefs[0]).status == 409
    for document, state in zip(documents, ("payment is ACSP", "authorisation is done"), strict=True):
        assert link_to_decide(browser, document) is None
        assert f"The customer's page is closed: the {state}." in html.unescape(browser.page(document))


def test_the_customers_page_of_a_decided_authorisation_is_closed(browser: Browser) -> None:
    id = payment(browser)
    started = browser.app_asks("POST", f"/v1/payments/sepa-credit-transfers/{id}/authorisations", json={}).json()
    document = f"{BANK}/authorisations/{started['authorisationId']}"
    browser.page(document, {"event": "decline"}, 303)
    assert "The customer's page is closed: the authorisation is failed." in html.unescape(browser.page(document))


def test_the_customers_page_of_a_cancellation_is_offered_after_the_payment_was_approved(browser: Browser) -> None:
    later = (REAL.today() + timedelta(days=9)).isoformat()
    id = payment(browser, requestedExecutionDate=later)
    document = f"{BANK}/payments/{id}"
    browser.page(document, {"event": "authorised by all, for later"}, 303)
    assert link_to_decide(browser, document) is None
    browser.app_asks("POST", f"/v1/payments/sepa-credit-transfers/{id}/cancellation-authorisations", json={})
    href = link_to_decide(browser, document)
    assert href
    assert browser.app_asks("GET", href).status == 200


def test_a_payment_in_a_basket_leads_to_the_basket(browser: Browser) -> None:
    id = payment(browser)
    assert link_to_decide(browser, f"{BANK}/payments/{id}")
    created = browser.app_asks("POST", "/v1/signing-baskets", json={"paymentIds": [id]})
    basket = created.json()["basketId"]
    page = browser.page(f"{BANK}/payments/{id}")
    assert "Open the customer" not in page
    assert f'is decided. <a href="{BANK}/baskets/{basket}">Open the basket</a>' in page


def test_a_document_without_a_page_says_nothing_about_one(browser: Browser) -> None:
    page = browser.page(f"{BANK}/payments/0b6e4d1a-73c8-4f52-9a0e-18d5c7b2f301")
    assert "customer's page" not in html.unescape(page)
