"""A payment user with a browser, in process, and the resources to which they can be sent."""

import re
from dataclasses import dataclass
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.contract import bodies, facts
from tests.support.engine_client import Answer, Client
from tests.support.state_words import default_states
from xs2a_sandbox.clock import REAL, Clock
from xs2a_sandbox.http.messages import Door
from xs2a_sandbox.state import Transaction
from xs2a_sandbox.state.session import keep_clock

OK, NOK = "https://tpp.example/ok?state=1&x=%C3%BC#top", "https://tpp.example/nok"
BACK = {"TPP-Redirect-URI": OK, "TPP-Nok-Redirect-URI": NOK}
ANNAS = ("AT459880000010204711", "AT449880000010204729")
OTPS = {id: psu["otp"] for id, psu in facts.testdata()["psus"].items()}
OWN = {psu: next(iban for iban, account in facts.accounts().items() if account["psuId"] == psu) for psu in OTPS}


@dataclass
class Visitor:
    """A browser with one link. `page` is the page that it shows."""

    client: Client
    link: str
    resource: str = ""
    door: Door = "direct"
    page: str = ""
    answer: Answer = None  # type: ignore[assignment]

    def open(self, **more: str) -> Answer:
        return self._shown(self.client.get(self.link + "".join(f"&{n}={v}" for n, v in more.items()), door=self.door))

    def send(self, follow: bool = True, **fields: Any) -> Answer:
        """Send a form of the page with its hidden fields. A redirect to the same page is followed."""
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', self.page))
        hidden.update(fields)
        body = urlencode({name: value for name, value in hidden.items() if value is not None}, doseq=True).encode()
        answer = self._shown(self.client.post(self.link, body=body, door=self.door))
        if follow and answer.headers.get("location", "").startswith("?"):
            path, _, query = self.link.partition("?")
            assert parse_qs(answer.headers["location"][1:]).items() <= parse_qs(query).items()
            return self._shown(self.client.get(path + answer.headers["location"], door=self.door))
        return answer

    def _shown(self, answer: Answer) -> Answer:
        self.answer, self.page = answer, answer.body.decode()
        if answer.status != 303:
            assert answer.headers["content-type"] == "text/html; charset=utf-8"
            assert answer.headers["x-frame-options"] == "DENY"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert "<script" not in self.page
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        return answer

    @property
    def title(self) -> str:
        (text,) = re.findall(r"<h1>(.*?)</h1>", self.page, re.DOTALL)
        return unescape(text.strip())

    @property
    def step(self) -> str:
        (step,) = set(re.findall(r'name="step" value="(\w+)"', self.page))
        return step

    @property
    def status(self) -> str:
        (value,) = (v for n, v in self.client.get(f"{self.resource}/status").json().items() if n.endswith("Status"))
        return value

    @property
    def sca_status(self) -> list[str]:
        return [
            str(default_states().word("authorisation", authorisation["status"]))
            for authorisation in authorisations(self.client).values()
        ]

    def log_in(self, psu: str = "anna") -> Answer:
        self.open()
        return self.send(customer=psu)


def transaction(client: Client) -> Transaction:
    engine = client.engine
    return Transaction(engine.store, client.session or "default", lambda _: engine.parts.testdata.at(REAL.today()))


def authorisations(client: Client) -> dict[str, dict[str, Any]]:
    return transaction(client).own("authorisations")


def change(client: Client, collection: str, id: str, **members: Any) -> None:
    state = transaction(client)
    state.put(collection, id, {**(state.get(collection, id) or {}), **members})
    assert state.commit()


def freeze(client: Client, **later: int) -> None:
    state = transaction(client)
    keep_clock(state, Clock(frozen=REAL.after(timedelta(**later).total_seconds())))
    assert state.commit()


def path(href: str) -> str:
    parts = urlsplit(href)
    return f"{parts.path}?{parts.query}"


def a_consent(client: Client, *ibans: str, headers: Any = BACK, **changes: Any) -> Visitor:
    answer = client.post("/v1/consents", json=bodies.consent(*(ibans or ANNAS), **changes), headers=headers)
    assert answer.status == 200, answer.body
    made = answer.json()
    return Visitor(client, path(made["_links"]["scaRedirect"]["href"]), f"/v1/consents/{made['consentId']}")


def a_payment(client: Client, product: str = bodies.SEPA, headers: Any = BACK, **changes: Any) -> Visitor:
    made = client.post(f"/v1/{product}", json=bodies.payment(product, **changes), headers=headers).json()
    return Visitor(client, path(made["_Left"]["scaRedirect"]["href"]), f"/v1/{product}/{made['paymentId']}")


def a_cancellation(client: Client) -> Visitor:
    later = a_payment(client, requestedExecutionDate=facts.today(5))
    later.open(decide="approve")
    assert later.status == "ACTC"
    client.delete(later.resource)
    answer = client.post(f"{later.resource}/cancellation-authorisations", headers=BACK)
    assert answer.status == 201, answer.body
    link = path(answer.json()["_links"]["scaRedirect"]["href"])
    assert urlsplit(link).path == "/sca/cancellations"
    return Visitor(client, link, later.resource)


def a_basket(client: Client) -> Visitor:
    payments = [a_payment(client).resource.rpartition("/")[2] for _ in range(2)]
    consent = a_consent(client).resource.rpartition("/")[2]
    made = client.post("/v1/signing-baskets", json={"paymentIds": payments, "consentIds": [consent]}, headers=BACK)
    basket = made.json()["basketId"]
    return Visitor(client, f"/sca/baskets?basket_id={basket}", f"/v1/signing-baskets/{basket}")


FAMILIES = {
    "consent": (a_consent, "valid", "rejected"),
    "payment": (a_payment, "ACSP", "RJCT"),
    "cancellation": (a_cancellation, "CANC", "ACTC"),
    "basket": (a_basket, "ACTC", "RJCT"),
}
