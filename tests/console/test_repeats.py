"""A timeline counts requests that are repeated in a row."""

import re

from tests.console.browser import Browser, payment


def test_polling_is_shown_once_with_its_count(browser: Browser) -> None:
    id = payment(browser)
    for _ in range(5):
        browser.app_asks("GET", f"/v1/payments/sepa-credit-transfers/{id}/status")
    page = browser.page(f"/_sandbox/console/bank/payments/{id}")
    way = re.sub(r"<[^>]+>", "", page.partition('<p class="way">')[2].partition("</p>")[0])
    assert way == "initiate-payment → RCVD → payment-status ×5 → RCVD"
    way = browser.page("/_sandbox/console/exchanges/3").partition('<p class="way">')[2].partition("</p>")[0]
    assert '/exchanges/3" aria-current="true">payment-status</a> ×5' in way
