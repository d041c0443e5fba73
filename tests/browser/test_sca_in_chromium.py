"""The payment user's page in a real browser: with the keyboard, on a desktop and a phone, without JavaScript."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.inspecting import SIZES, Inspector
from tests.browser.pressing import press
from tests.contract import bodies, facts
from tests.support.engine_client import Client

pytestmark = pytest.mark.slow

ANNAS = ("AT459880000010204711", "AT449880000010204729")
ZUZANAS = "AT049880000030577001"

_NAME = """one => {
  const named = (one.labels?.[0] ?? one).cloneNode(true)
  named.querySelectorAll('[aria-hidden]').forEach(hidden => hidden.remove())
  return named.textContent.replace(/\\s+/g, ' ').trim()
}"""


@pytest.fixture
def page(browser: Any, size: str) -> Iterator[Any]:
    """A page without JavaScript."""
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, java_script_enabled=False)
    yield context.new_page()
    context.close()


def link_to_consent(client: Client, *ibans: str, back: str | None = None) -> tuple[str, str]:
    headers = {"TPP-Redirect-URI": back, "TPP-Nok-Redirect-URI": back and back.replace("/ok", "/nok")}
    made = client.post("/v1/consents", json=bodies.consent(*ibans), headers=headers).json()
    return made["consentId"], made["_links"]["scaRedirect"]["href"]


def link_to_payment(client: Client, product: str = bodies.SEPA, **changes: Any) -> tuple[str, str]:
    back = changes.pop("back", None)
    headers = {"TPP-Redirect-URI": back, "TPP-Nok-Redirect-URI": back and back.replace("/ok", "/nok")}
    answer = client.post(f"/v1/{product}", json=bodies.payment(product, **changes), headers=headers)
    assert answer.status == 200, answer.body
    return f"/v1/{product}/{answer.json()['paymentId']}", answer.json()["_Left"]["scaRedirect"]["href"]


def consent_status(client: Client, id: str) -> str:
    return client.get(f"/v1/consents/{id}/status").json()["consentStatus"]


def tab_to(page: Any, name: str) -> list[str]:
    """Press Tab until the element with this text or label has the focus. Return the passed elements in order."""
    passed = []
    for _ in range(40):
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        text = focused.evaluate(_NAME)
        passed.append(text)
        if text.startswith(name):
            return passed
    raise AssertionError(f"Tab never reaches {name!r}, only {passed}")


def enter(page: Any) -> None:
    """Press Enter and wait for the next page, which can be the page of an app."""
    with page.expect_navigation():
        page.keyboard.press("Enter")


def heading(page: Any) -> str:
    return page.get_by_role("heading", level=2).first.inner_text()


def test_approve_by_keyboard(page: Any, client: Client, app: Any) -> None:
    id, link = link_to_consent(client, *ANNAS, back=f"{app.url}/ok?state=4711")

    page.goto(link)
    passed = tab_to(page, "Log in")
    assert [text.split()[0] for text in passed] == ["Anna", "PSU-ID", "Password", "Log"]
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.type("anna")
    page.keyboard.press("Tab")
    page.keyboard.type("wrong")
    enter(page)
    assert "2 attempts left" in page.get_by_role("alert").inner_text()
    assert page.title().startswith("Error: ")
    tab_to(page, "Anna")
    enter(page)

    assert heading(page) == "Choose the accounts"
    passed = tab_to(page, "Continue")
    assert [text.split()[0] for text in passed] == ["Girokonto", "Sparkonto", "Continue"]
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    enter(page)

    assert heading(page) == "Approve"
    hint = page.locator("strong.otp").inner_text()
    passed = tab_to(page, "Fail technically")
    assert passed == ["One-time password", "Approve", "Decline", "Cancel", "Let it time out", "Fail technically"]
    for _ in passed[1:]:
        page.keyboard.press("Shift+Tab")
    page.keyboard.type(hint)
    enter(page)

    page.wait_for_url(f"{app.url}/ok?state=4711")
    assert app.calls == [("/ok", {"state": ["4711"]})]
    assert app.referrers == [None]
    assert consent_status(client, id) == "valid"
    accounts = client.get(f"/v1/consents/{id}").json()["access"]["accounts"]
    assert [account["iban"] for account in accounts] == [ANNAS[0]]
    page.goto(link)
    assert page.get_by_role("heading", level=1).inner_text() == "This link has been used"


def test_decline_by_keyboard(page: Any, client: Client, app: Any) -> None:
    place, link = link_to_payment(client, debtor=ZUZANAS, back=f"{app.url}/ok")

    page.goto(link)
    tab_to(page, "Zuzana")
    enter(page)
    tab_to(page, "Telefon Atelier")
    page.keyboard.press("ArrowDown")
    tab_to(page, "Continue")
    enter(page)
    assert "Kartenleser" in page.locator("main").inner_text()
    tab_to(page, "Decline")
    enter(page)

    page.wait_for_url(f"{app.url}/nok")
    assert [path for path, _ in app.calls] == ["/nok"]
    assert client.get(f"{place}/status").json()["transactionStatus"] == "RJCT"


def test_an_address_that_redirects_to_another_origin(page: Any, client: Client, app: Any) -> None:
    _, link = link_to_consent(client, ANNAS[0], back=f"{app.url}/away")

    page.goto(link)
    press(page, page.get_by_role("button", name="Decline"))

    page.wait_for_url("**/landed")


def test_a_failure_of_the_bank(page: Any, client: Client, app: Any) -> None:
    place, link = link_to_payment(client, back=f"{app.url}/ok")

    page.goto(link)
    press(page, page.get_by_role("button", name="Fail technically"))
    assert page.get_by_role("heading", level=1).inner_text() == "Something went wrong at the bank"
    assert not app.calls
    press(page, page.get_by_role("link", name="Back to the app"))

    page.wait_for_url(f"{app.url}/nok")
    assert client.get(f"{place}/status").json()["transactionStatus"] == "RJCT"


# -- looks


def test_every_step_of_a_consent(inspector: Inspector, client: Client, app: Any) -> None:
    page = inspector.page
    zuzanas = [iban for iban, one in facts.accounts().items() if one["psuId"] == "zuzana"]
    _, link = link_to_consent(client, *zuzanas, back=f"{app.url}/ok")

    page.goto(link)
    inspector.look("1-login")
    page.get_by_label("PSU-ID").fill("zuzana")
    page.get_by_label("Password").fill("wrong")
    press(page, page.get_by_role("button", name="Log in", exact=True))
    inspector.look("2-wrong-password")
    press(page, page.get_by_role("button", name="Zuzana"))
    inspector.look("3-accounts")
    for box in page.get_by_role("checkbox").all():
        box.uncheck()
    press(page, page.get_by_role("button", name="Continue"))
    inspector.look("4-no-accounts")
    page.get_by_role("checkbox").first.check()
    press(page, page.get_by_role("button", name="Continue"))
    inspector.look("5-method")
    press(page, page.get_by_role("button", name="Continue"))
    inspector.look("6-approve")
    page.get_by_label("One-time password").fill("nope")
    press(page, page.get_by_role("button", name="Approve"))
    inspector.look("7-wrong-otp")
    page.get_by_label("One-time password").fill(page.locator("strong.otp").inner_text())
    press(page, page.get_by_role("button", name="Approve"))
    page.wait_for_url(f"{app.url}/ok")
    page.goto(link)
    inspector.look("8-used")


@pytest.mark.parametrize(
    "product",
    [bodies.SEPA, *(pytest.param(product, marks=pytest.mark.slow) for product in (bodies.BULK, bodies.PERIODIC))],
)
def test_payments(inspector: Inspector, client: Client, product: str) -> None:
    _, link = link_to_payment(client, product)

    inspector.page.goto(link)
    inspector.look("login")
    press(inspector.page, inspector.page.locator("button.person").first)
    press(inspector.page, inspector.page.get_by_role("button", name="Cancel"))
    inspector.look("cancelled")


@pytest.mark.parametrize("name", ["Buchhandlung Eselohr", "Berta Bauer"])
def test_a_payee_whose_name_does_not_match(inspector: Inspector, client: Client, name: str) -> None:
    account = {"iban": "AT359850700040087109"}
    _, link = link_to_payment(client, creditorName=name, creditorAccount=account)

    inspector.page.goto(link)
    assert inspector.page.get_by_role("group", name="Check of the payee").is_visible()
    inspector.look("login")


def test_a_basket_and_other_outcomes(inspector: Inspector, client: Client) -> None:
    page = inspector.page
    payment, _ = link_to_payment(client)
    consent, _ = link_to_consent(client, *ANNAS)
    members = {"paymentIds": [payment.rpartition("/")[2]], "consentIds": [consent]}
    basket = client.post("/v1/signing-baskets", json=members).json()["basketId"]
    base = client.engine.parts.public_url

    page.goto(f"{base}/sca/baskets?basket_id={basket}")
    inspector.look("basket")
    press(page, page.get_by_role("button", name="Fail technically"))
    inspector.look("failed")
    page.goto(f"{base}/sca/consents?consent_id=nope")
    inspector.look("unknown")
    _, link = link_to_consent(client, facts.debtor())
    page.goto(f"{link}&decide=approve")
    inspector.look("approved")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_the_pages_in_german(browser: Any, client: Client, size: str, scheme: str) -> None:
    width, height = SIZES[size]
    viewport = {"width": width, "height": height}
    context = browser.new_context(viewport=viewport, color_scheme=scheme, locale="de-AT", bypass_csp=False)
    try:
        page = context.new_page()
        inspector = Inspector(page, None)
        page.goto(link_to_payment(client)[1])
        assert page.locator("html").get_attribute("lang") == "de"
        for name, button in (("Anmelden", "Anna"), ("Freigeben", "Freigeben")):
            inspector.look(name)
            press(page, page.get_by_role("button", name=button).first)
        inspector.look("Ende")
        assert "Freigegeben" in heading_one(page)
    finally:
        context.close()


def heading_one(page: Any) -> str:
    return page.get_by_role("heading", level=1).inner_text()
