"""Every outcome of every kind of authorisation, clicked in a real browser without JavaScript."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.pressing import press
from tests.contract import bodies
from tests.support.engine_client import Client

pytestmark = pytest.mark.slow

ANNAS = "AT449880000010204729"
DIGITS = 6


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, java_script_enabled=False)
    yield context.new_page()
    context.close()


class Journey:
    """A resource that the user is asked to authorise. `status` reads the result."""

    def __init__(self, client: Client, back: str) -> None:
        self.client = client
        self.headers = {"TPP-Redirect-URI": back + "/ok", "TPP-Nok-Redirect-URI": back + "/nok"}
        self.path = ""

    def post(self, path: str, json: Any = None) -> Any:
        answer = self.client.post(path, headers=self.headers, **({} if json is None else {"json": json}))
        assert answer.status in (200, 201), answer.body
        return answer.json()

    def payment(self) -> Any:
        return self.post(f"/v1/{bodies.SEPA}", bodies.payment(bodies.SEPA))

    def begin(self, family: str) -> str:
        """Return the link to which the user is sent."""
        if family == "consent":
            made = self.post("/v1/consents", bodies.consent(ANNAS))
            self.path = f"/v1/consents/{made['consentId']}"
            return str(made["_links"]["scaRedirect"]["href"])
        if family == "payment":
            made = self.payment()
            self.path = made["_Left"]["self"]["href"]
            return str(made["_Left"]["scaRedirect"]["href"])
        if family == "cancellation":
            payments = self.client.engine.parts.testdata.at(self.client.engine.parts.started)["payments"]
            id, kept = next((id, p) for id, p in payments.items() if p["status"] == "ACTC")
            self.path = f"/v1/{kept['service']}/{kept['product']}/{id}"
            started = self.post(f"{self.path}/cancellation-authorisations")
        else:
            ids = [self.payment()["paymentId"] for _ in range(2)]
            self.path = self.post("/v1/signing-baskets", {"paymentIds": ids})["_links"]["self"]["href"]
            started = self.post(f"{self.path}/authorisations")
        return str(started["_links"]["scaRedirect"]["href"])

    @property
    def status(self) -> str:
        answer = self.client.get(f"{self.path}/status").json()
        return str(answer.get("consentStatus") or answer["transactionStatus"])


APPROVED = {"consent": "valid", "payment": "ACSP", "cancellation": "CANC", "basket": "ACTC"}
REFUSED = {"consent": "rejected", "payment": "RJCT", "cancellation": "ACTC", "basket": "RJCT"}


@pytest.mark.parametrize("family", APPROVED)
def test_approve(page: Any, client: Client, app: Any, family: str) -> None:
    journey = Journey(client, app.url)
    page.goto(journey.begin(family))
    press(page, page.locator("button.person").first)
    if not page.get_by_label("One-time password").count():
        press(page, page.locator("form").get_by_role("button").first)  # the preselected method
    entry = page.get_by_label("One-time password")
    text = page.locator("main").inner_text()
    entry.fill(next(word for word in text.replace(".", " ").split() if len(word) == DIGITS and word.isdecimal()))
    press(page, page.get_by_role("button", name="Approve"))

    assert page.url.startswith(app.url + "/ok")
    assert journey.status == APPROVED[family]


QUICK = [("consent", "Decline"), ("payment", "Cancel"), ("cancellation", "Let it time out"), ("basket", "Decline")]
"""Combine kinds and outcomes. The slow cases are all combinations."""


@pytest.mark.parametrize(
    ("family", "ending"),
    [
        pytest.param(family, ending, marks=() if (family, ending) in QUICK else pytest.mark.slow)
        for family in REFUSED
        for ending in ("Decline", "Cancel", "Let it time out")
    ],
)
def test_refuse(page: Any, client: Client, app: Any, family: str, ending: str) -> None:
    journey = Journey(client, app.url)
    page.goto(journey.begin(family))
    press(page, page.get_by_role("button", name=ending))

    assert page.url.startswith(app.url + "/nok")
    assert journey.status == REFUSED[family]


@pytest.mark.parametrize(
    "family",
    ["consent", *(pytest.param(family, marks=pytest.mark.slow) for family in ("payment", "cancellation", "basket"))],
)
def test_break_down(page: Any, client: Client, app: Any, family: str) -> None:
    journey = Journey(client, app.url)
    page.goto(journey.begin(family))
    press(page, page.get_by_role("button", name="Fail technically"))

    assert page.url.startswith(client.engine.parts.public_url)
    assert journey.status == REFUSED[family]
    press(page, page.get_by_role("link").first)
    assert page.url.startswith(app.url + "/nok")
