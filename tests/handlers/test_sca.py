"""The page behind `scaRedirect`, in process: every step, every ending, and where it never leads."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from client import Answer, Client, an_engine, bundled_engine
from conformance import bodies, facts
from xs2a_sandbox.call import Call
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.messages import Door
from xs2a_sandbox.session import keep_clock
from xs2a_sandbox.store import Transaction

OK, NOK = "https://tpp.example/ok?state=1&x=%C3%BC#top", "https://tpp.example/nok"
BACK = {"TPP-Redirect-URI": OK, "TPP-Nok-Redirect-URI": NOK}
ANNAS = ("AT459880000010204711", "AT449880000010204729")
OTPS = {id: psu["otp"] for id, psu in facts.testdata()["psus"].items()}
OWN = {psu: next(iban for iban, one in facts.accounts().items() if one["psuId"] == psu) for psu in OTPS}


@dataclass
class Visitor:
    """A browser with one link: `page` is what it shows."""

    client: Client
    link: str
    resource: str = ""
    door: Door = "direct"
    page: str = ""
    answer: Answer = None  # type: ignore[assignment]

    def open(self, **more: str) -> Answer:
        return self._shown(self.client.get(self.link + "".join(f"&{n}={v}" for n, v in more.items()), door=self.door))

    def send(self, follow: bool = True, **fields: Any) -> Answer:
        """A form of the page, with its hidden fields; a redirect to this very page is followed."""
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
        (one,) = set(re.findall(r'name="step" value="(\w+)"', self.page))
        return one

    @property
    def status(self) -> str:
        (value,) = (v for n, v in self.client.get(f"{self.resource}/status").json().items() if n.endswith("Status"))
        return value

    @property
    def sca_status(self) -> list[str]:
        return [one["scaStatus"] for one in authorisations(self.client).values()]

    def log_in(self, psu: str = "anna") -> Answer:
        self.open()
        return self.send(customer=psu)


def transaction(client: Client) -> Transaction:
    engine = client.engine
    return Transaction(engine.store, client.session or "default", lambda: engine.testdata.at(Clock().today()))


def authorisations(client: Client) -> dict[str, dict[str, Any]]:
    return transaction(client).own("authorisations")


def change(client: Client, collection: str, id: str, **members: Any) -> None:
    state = transaction(client)
    state.put(collection, id, {**(state.get(collection, id) or {}), **members})
    assert state.commit()


def freeze(client: Client, **later: int) -> None:
    state = transaction(client)
    keep_clock(state, Clock(frozen=Clock().now() + timedelta(**later)))
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


@pytest.fixture
def client() -> Client:
    return Client(an_engine())


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    return request.param


# -- the way through


def test_every_step_of_a_consent(client: Client) -> None:
    zuzanas = [iban for iban, one in facts.accounts().items() if one["psuId"] == "zuzana"]
    visit = a_consent(client, *zuzanas)

    visit.open()
    assert (visit.answer.status, visit.step, visit.title) == (200, "login", "Access to your accounts")
    assert "tpp.example" in visit.page
    assert "4 times a day" in visit.page
    assert visit.sca_status == ["started"]
    assert visit.send(customer="zuzana").status == 200
    assert visit.step == "accounts"
    visit.send(account=zuzanas[1:])
    assert visit.step == "method"
    visit.send(method="chip-zuzana")
    assert visit.step == "approve"
    assert "Kartenleser" in visit.page
    assert OTPS["zuzana"] in visit.page
    assert visit.status == "received"
    visit.send(otp=OTPS["zuzana"])
    assert (visit.answer.status, visit.answer.headers["location"]) == (303, OK)
    assert visit.status == "valid"
    shown = client.get(visit.resource).json()["access"]
    for kind in ("accounts", "balances", "transactions"):
        assert [one["iban"] for one in shown[kind]] == zuzanas[1:]
    (authorisation,) = authorisations(client).values()
    assert authorisation["method"] == "chip-zuzana"
    assert (authorisation["scaStatus"], authorisation["psuId"]) == ("finalised", "zuzana")


def test_with_psu_id_and_password(client: Client) -> None:
    visit = a_payment(client)

    visit.open()
    visit.send(psuId=" anna ", password=facts.testdata()["psus"]["anna"]["password"])

    assert visit.step == "approve"


def test_a_customer_without_methods_only_approves(client: Client) -> None:
    visit = a_payment(client, debtor=OWN["felix"], amount="1.00")

    visit.log_in("felix")
    assert visit.step == "approve"
    assert visit.sca_status == ["started"]
    assert 'name="otp"' not in visit.page
    visit.send()

    assert visit.answer.headers["location"] == OK
    assert visit.sca_status == ["exempted"]
    assert visit.status == "ACSP"


def test_approve(client: Client, family: str) -> None:
    make, approved, _ = FAMILIES[family]
    visit = make(client)

    visit.log_in()
    if visit.step == "accounts":
        visit.send(account=ANNAS)
    visit.send(otp=OTPS["anna"])

    assert visit.answer.headers["location"] == OK
    assert visit.status == approved


@pytest.mark.parametrize("signed_in", [False, True])
@pytest.mark.parametrize("ending", ["decline", "cancel", "timeout"])
def test_negative_endings(client: Client, family: str, ending: str, signed_in: bool) -> None:
    make, _, refused = FAMILIES[family]
    visit = make(client)

    visit.log_in() if signed_in else visit.open()
    visit.send(end=ending)

    assert (visit.answer.status, visit.answer.headers["location"]) == (303, NOK)
    assert visit.status == refused
    assert visit.sca_status[-1] == "failed"


def test_a_technical_failure_shows_itself(client: Client, family: str) -> None:
    make, _, refused = FAMILIES[family]
    visit = make(client)

    visit.open()
    visit.send(end="error")

    assert (visit.answer.status, visit.title) == (200, "Something went wrong at the bank")
    assert f'href="{NOK}"' in visit.page
    assert visit.status == refused


def test_what_is_shown_of_a_payment(client: Client) -> None:
    visit = a_payment(client, amount="1234.50", remittanceInformationUnstructured="Rent & heating")

    visit.open()

    for text in ("1,234.50 EUR", "Berta Bauer", "AT45 9880 0000 1020 4711", "RF-2210", "Rent &amp; heating"):
        assert text in visit.page


@pytest.mark.parametrize(
    ("product", "texts"),
    [
        (bodies.INSTANT, ["Within seconds"]),
        (bodies.BULK, ["11.75 EUR", "10.50 EUR to Berta Bauer", "1.25 EUR to Cafe Central"]),
        (bodies.PERIODIC, ["Standing order", "from "]),
        (bodies.CROSS_BORDER, ["Cross-border credit transfer"]),
    ],
)
def test_every_product(client: Client, product: str, texts: list[str]) -> None:
    visit = a_payment(client, product)

    visit.open()

    assert visit.answer.status == 200
    assert not [text for text in texts if text not in visit.page]


def test_what_is_shown_of_a_basket(client: Client) -> None:
    visit = a_basket(client)

    visit.open()

    assert visit.title == "Sign 3 orders together"
    assert visit.page.count("10.50 EUR") == 2
    assert "Sparkonto Eichhörnchen" in visit.page


# -- what was wrong


def test_the_third_wrong_password_ends_it(client: Client) -> None:
    visit = a_payment(client)
    visit.open()

    for left in ("2 attempts left", "1 attempt left"):
        visit.send(psuId="anna", password="wrong")
        assert visit.answer.status == 401
        assert 'role="alert"' in visit.page
        assert left in visit.page
        assert 'value="anna"' in visit.page
    visit.send(psuId="anna", password="wrong")

    assert visit.answer.headers["location"] == NOK
    assert visit.status == "RJCT"


def test_the_third_wrong_one_time_password_ends_it(client: Client) -> None:
    visit = a_payment(client)
    visit.log_in()

    for left in ("2 attempts left", "1 attempt left"):
        visit.send(otp="wrong")
        assert (visit.answer.status, visit.step) == (401, "approve")
        assert left in visit.page
    visit.send(otp="wrong")

    assert visit.answer.headers["location"] == NOK
    assert visit.sca_status == ["failed"]


@pytest.mark.parametrize(
    ("psu", "fields"),
    [
        ("", {"psuId": "anna", "password": ""}),
        ("", {"psuId": "", "password": "x"}),
        ("", {}),
        ("anna", {}),
        ("anna", {"account": ["AT699880000020411880"]}),
        ("anna accounts", {"otp": "  "}),
        ("zuzana", {"method": "sms-anna"}),
        ("zuzana", {}),
    ],
)
def test_what_is_missing_does_not_count(client: Client, psu: str, fields: dict[str, Any]) -> None:
    visit = a_consent(client) if "zuzana" not in psu else a_payment(client, debtor=OWN["zuzana"])
    visit.open()
    if psu:
        visit.send(customer=psu.split()[0])
    if "accounts" in psu:
        visit.send(account=ANNAS)
    step = visit.step

    visit.send(**fields)

    assert (visit.answer.status, visit.step) == (200, step)
    assert 'role="alert"' in visit.page
    assert 'aria-invalid="true"' in visit.page
    assert "left." not in visit.page


def test_others_may_not_sign(client: Client) -> None:
    visit = a_payment(client)
    visit.open()
    assert 'value="lukas"' not in visit.page

    assert visit.send(customer="lukas").status == 401
    assert visit.send(customer="nobody").status == 401


def test_accounts_of_others_alone_cannot_be_shared(client: Client) -> None:
    visit = a_consent(client, ANNAS[0], OWN["lukas"])
    visit.log_in()

    visit.send(account=OWN["lukas"])

    assert "yours" in visit.page
    assert visit.step == "accounts"


def test_a_form_of_an_earlier_step_changes_nothing(client: Client) -> None:
    visit = a_payment(client)
    visit.log_in()
    before = authorisations(client)

    visit.send(step="login", customer="anna")

    assert visit.step == "approve"
    assert authorisations(client) == before


# -- links


def test_a_link_works_once(client: Client, family: str) -> None:
    visit = FAMILIES[family][0](client)
    visit.open()
    form = visit.page
    visit.send(end="decline")
    before = visit.status, visit.sca_status

    visit.open()
    assert (visit.answer.status, visit.title) == (409, "This link has been used")
    assert visit.open(decide="approve").status == 409
    visit.page = form
    assert visit.send(customer="anna").status == 409
    assert (visit.status, visit.sca_status) == before


def test_a_link_expires(client: Client, family: str) -> None:
    visit = FAMILIES[family][0](client)
    visit.open()
    form = visit.page
    freeze(client, hours=25)

    visit.page = form
    visit.send(customer="anna")
    assert (visit.answer.status, visit.title) == (409, "This link has expired")
    assert f'href="{NOK}"' in visit.page
    visit.open()
    assert visit.title == "This link has expired"
    assert visit.sca_status[-1] == "failed"


def test_approving_the_day_before_is_in_time(client: Client) -> None:
    visit = a_payment(client)
    freeze(client, hours=23)

    assert visit.open(decide="approve").headers["location"] == OK


@pytest.mark.parametrize(
    ("link", "status"),
    [
        ("/sca/consents?consent_id=00000000-0000-4000-8000-000000000000", 403),
        ("/sca/consents?consent_id=%3Cb%3E", 403),
        ("/sca/payments?payment_id=x&service=payments&product=sepa-credit-transfers", 404),
        ("/sca/baskets?basket_id=x", 403),
        ("/sca/consents", 400),
        ("/sca/payments?payment_id=x&service=payments", 400),
        ("/sca/nothing", 404),
        ("/sca", 404),
        ("/sca/consents/x?consent_id=1", 404),
    ],
)
def test_links_that_lead_nowhere(client: Client, link: str, status: int) -> None:
    visit = Visitor(client, link)

    assert visit.open().status == status
    assert "Nothing has been approved" in visit.page
    assert "<b>" not in visit.page


def test_other_methods(client: Client) -> None:
    answer = client.request("DELETE", a_consent(client).link)

    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, POST")


def test_head_changes_nothing(client: Client) -> None:
    visit = a_payment(client)

    assert client.request("HEAD", f"{visit.link}&decide=approve").status == 303
    assert (visit.status, visit.sca_status) == ("RCVD", ["received"])


def test_a_preconfigured_consent_stays_as_it_is(client: Client) -> None:
    for decision, back in (("approve", OK), ("decline", NOK)):
        visit = a_consent(client, facts.covered())
        assert visit.resource.endswith(facts.consent())
        assert visit.open(decide=decision).headers["location"] == back
        assert visit.status == "valid"


def test_a_preconfigured_consent_by_its_bare_link(client: Client) -> None:
    visit = Visitor(client, f"/sca/consents?consent_id={facts.consent().upper()}")

    visit.log_in()
    assert visit.step == "approve"
    visit.send(otp=OTPS["anna"])

    assert (visit.answer.status, visit.title) == (200, "Approved")


def test_a_consent_for_all_accounts(client: Client) -> None:
    made = client.post("/v1/consents", json=bodies.consent(), headers=BACK).json()
    visit = Visitor(client, path(made["_links"]["scaRedirect"]["href"]), f"/v1/consents/{made['consentId']}")

    assert visit.open(decide="approve").headers["location"] == OK
    assert visit.status == "valid"


def test_a_member_is_signed_with_its_basket(client: Client) -> None:
    member = a_payment(client)
    client.post("/v1/signing-baskets", json={"paymentIds": [member.resource.rpartition("/")[2]]})

    assert member.open().status == 400
    assert member.title == "This is signed with its basket"


def test_a_payment_that_was_cancelled_meanwhile(client: Client) -> None:
    visit = a_payment(client)
    visit.open()
    form = visit.page
    client.delete(visit.resource)
    assert visit.status == "CANC"

    visit.page = form
    assert visit.send(customer="anna").status == 409
    assert visit.title == "There is nothing to approve here"


def test_an_embedded_authorisation_under_way_is_not_disturbed(client: Client) -> None:
    visit = a_payment(client, headers=BACK | {"TPP-Explicit-Authorisation-Preferred": "true"})
    password = {"psuData": {"password": facts.testdata()["psus"]["anna"]["password"]}}
    wishes = {"TPP-Redirect-Preferred": "false", "PSU-ID": "anna"}
    assert client.post(f"{visit.resource}/authorisations", json=password, headers=wishes).status == 201

    assert visit.open().status == 409
    assert len(visit.sca_status) == 1


def test_two_signatories(client: Client) -> None:
    change(client, "accounts", ANNAS[0], signatories=["anna", "lukas"])
    visit = a_payment(client)

    visit.open()
    assert 'value="anna"' in visit.page
    assert 'value="lukas"' in visit.page
    visit.send(customer="lukas")
    visit.send(method="sms-lukas")
    visit.send(otp=OTPS["lukas"])
    assert visit.answer.headers["location"] == OK
    assert visit.status == "PATC"

    visit.open()
    assert visit.step == "login"
    assert "Signed already by Lukas Höllrigl" in visit.page
    assert 'value="lukas"' not in visit.page
    visit.send(psuId="lukas", password=facts.testdata()["psus"]["lukas"]["password"])
    assert "signed already" in visit.page
    visit.send(customer="anna")
    visit.send(otp=OTPS["anna"])
    assert visit.status == "ACSP"
    assert visit.open().status == 409


def test_the_customer_whom_the_app_names_comes_first(client: Client) -> None:
    change(client, "accounts", ANNAS[0], signatories=["anna", "lukas"])
    visit = a_payment(client)
    client.post(f"{visit.resource}/authorisations", headers={"PSU-ID": "lukas"})

    visit.open()

    assert re.findall(r'name="customer" value="(\w+)"', visit.page) == ["lukas", "anna"]
    assert 'id="psuId" name="psuId" value="lukas"' in visit.page


# -- decide


@pytest.mark.parametrize(("decision", "good"), [("approve", 1), ("decline", 0), ("timeout", 0), ("error", 0)])
def test_decide(client: Client, family: str, decision: str, good: int) -> None:
    make, *ends = FAMILIES[family]
    visit = make(client)

    visit.open(decide=decision)

    assert (visit.answer.status, visit.answer.headers["location"]) == (303, OK if good else NOK)
    assert visit.status == ends[1 - good]


@pytest.mark.parametrize(
    ("decision", "title"),
    [("approve", "Approved"), ("decline", "Declined"), ("timeout", "Timed out"), ("error", "Failed")],
)
def test_decide_where_nothing_is_registered(client: Client, decision: str, title: str) -> None:
    visit = a_consent(client, headers={})

    assert visit.open(decide=decision).status == 200
    assert visit.title == title
    assert "registered no address" in visit.page


def test_decide_something_else(client: Client) -> None:
    visit = a_consent(client)

    assert visit.open(decide="maybe").status == 400
    assert visit.status == "received"


def test_decide_for_each_signatory(client: Client) -> None:
    change(client, "accounts", ANNAS[0], signatories=["anna", "lukas"])
    visit = a_payment(client)

    assert visit.open(decide="approve").status == 303
    assert visit.status == "PATC"
    assert visit.open(decide="approve").status == 303
    assert visit.status == "ACSP"
    assert {one["psuId"] for one in authorisations(client).values()} == {"anna", "lukas"}


def test_two_at_once_have_one_winner(client: Client) -> None:
    visit = a_payment(client)

    async def both() -> list[Answer]:
        sent = (client.send("GET", f"{visit.link}&decide={decision}") for decision in ("approve", "decline"))
        return list(await asyncio.gather(*sent))

    assert sorted(answer.status for answer in asyncio.run(both())) == [303, 409]


# -- confirmation code


def test_the_confirmation_code_goes_with_the_browser(client: Client) -> None:
    visit = a_payment(client)
    (id,) = authorisations(client)
    change(client, "authorisations", id, code="c0de&more")

    visit.log_in()
    visit.send(otp=OTPS["anna"])

    parts = urlsplit(visit.answer.headers["location"])
    assert parse_qs(parts.query) == {"state": ["1"], "x": ["ü"], "confirmationCode": ["c0de&more"]}
    assert parts.fragment == "top"
    assert (visit.status, visit.sca_status) == ("RCVD", ["unconfirmed"])
    visit.open()
    assert (visit.answer.status, visit.title) == (409, "This link has been used")
    assert "c0de" not in visit.page


def test_the_confirmation_code_of_a_customer_without_methods(client: Client) -> None:
    visit = a_payment(client, debtor=OWN["felix"], amount="1.00", headers={})
    (id,) = authorisations(client)
    change(client, "authorisations", id, code="c0de")

    visit.open(decide="approve")

    assert visit.sca_status == ["unconfirmed"]
    assert "c0de" in visit.page


# -- where it never leads


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        " javascript:alert(1)",
        "java\tscript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "file:///etc/passwd",
        "blob:https://x/y",
        "view-source:https://x",
        "//evil.example/x",
        "/v1/consents",
        "https:evil.example",
        "https://[::1",
        "https:\\\\evil.example",
        "nonsense",
    ],
)
@pytest.mark.parametrize("decision", ["approve", "decline"])
def test_addresses_that_no_browser_is_sent_to(client: Client, address: str, decision: str) -> None:
    visit = a_payment(client, headers={"TPP-Redirect-URI": address})

    visit.open()
    assert "form-action 'self';" in visit.answer.headers["content-security-policy"]
    visit.open(decide=decision)

    assert visit.answer.status == 200
    assert "none that a browser may be sent to" in visit.page
    assert "href=" not in visit.page


@pytest.mark.parametrize(
    ("address", "location", "source"),
    [
        ("http://localhost:3000/cb", "http://localhost:3000/cb", "http:"),
        ("http://[::1]:3000/cb", "http://[::1]:3000/cb", "http:"),
        ("com.example.app:/cb", "com.example.app:/cb", "com.example.app:"),
        ("myapp://done?a=1", "myapp://done?a=1", "myapp:"),
        ("https://tpp.example/über", "https://tpp.example/%FCber", "https:"),
        ("https://tpp.example/\"><script>'", "https://tpp.example/%22%3E%3Cscript%3E'", "https:"),
    ],
)
def test_addresses_that_browsers_are_sent_to(client: Client, address: str, location: str, source: str) -> None:
    visit = a_payment(client, headers={"TPP-Redirect-URI": address})

    visit.open()
    assert f" {source}" in visit.answer.headers["content-security-policy"].partition("form-action")[2]
    assert visit.send(end="decline").headers["location"] == location


def test_the_link_itself_says_nothing_about_where_it_ends(client: Client) -> None:
    visit = a_payment(client)
    visit.link = visit.link.partition("&redirectBackUrl")[0] + "&redirectBackUrl=https://evil.example/"

    answer = client.get(f"{visit.link}&decide=approve", headers={"TPP-Redirect-URI": "https://evil.example/"})

    assert answer.headers["location"] == OK


def test_a_browser_registers_nothing(client: Client) -> None:
    visit = Visitor(client, f"/sca/consents?consent_id={facts.consent()}&redirectBackUrl=https://evil.example/")
    evil = {"TPP-Redirect-URI": "https://evil.example/", "TPP-Nok-Redirect-URI": "https://evil.example/"}

    answer = client.get(f"{visit.link}&decide=decline", headers=evil | {"PSU-ID": "lukas"})

    assert answer.status == 200
    assert "evil.example" not in answer.body.decode()


def test_the_address_of_success_stands_in_for_the_other(client: Client) -> None:
    visit = a_payment(client, headers={"TPP-Redirect-URI": OK})

    assert visit.open(decide="decline").headers["location"] == OK


def test_an_authorisation_has_its_own_addresses(client: Client) -> None:
    visit = a_payment(client)
    client.post(f"{visit.resource}/authorisations", headers={"TPP-Redirect-URI": "https://other.example/"})

    assert visit.open(decide="approve").headers["location"] == "https://other.example/"


# -- forged and hostile


@pytest.mark.parametrize(
    "fields",
    [
        {"nonce": None},
        {"nonce": "wrong"},
        {"nonce": "ü"},
        {"authorisation": None},
        {"authorisation": "00000000-0000-4000-8000-000000000000"},
    ],
)
def test_forms_of_others(client: Client, family: str, fields: dict[str, Any]) -> None:
    visit = FAMILIES[family][0](client)
    visit.open()
    before = visit.status, visit.sca_status

    visit.send(**fields, end="decline")

    assert visit.answer.status == 400
    assert (visit.status, visit.sca_status) == before


def test_a_form_of_another_payment(client: Client) -> None:
    mine, other = a_payment(client), a_payment(client)
    mine.open()
    other.page = mine.page

    other.send(end="decline")

    assert other.answer.status == 400
    assert {mine.status, other.status} == {"RCVD"}


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"=" * 10, b"a=1&" * 5000, b'{"end": "decline"}'])
def test_bodies_that_are_no_form(client: Client, body: bytes) -> None:
    answer = client.post(a_payment(client).link, body=body)

    assert answer.status == 400
    assert answer.headers["content-type"].startswith("text/html")


EVIL = "\"><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7*7 }}'&amp;"


def test_everything_is_escaped(client: Client) -> None:
    change(client, "accounts", ANNAS[0], product=EVIL, name=EVIL)
    change(client, "psus", "anna", name=EVIL, methods=[{"authenticationMethodId": EVIL, "name": EVIL}] * 2)
    visit = a_consent(client, headers={"TPP-Redirect-URI": f"https://x.example/{EVIL}"})
    other = a_payment(
        client, creditorName=EVIL, remittanceInformationUnstructured=EVIL, headers={"TPP-Redirect-URI": EVIL}
    )

    def pages() -> Iterator[str]:
        for one in (visit, other):
            one.open()
            yield one.page
            one.send(psuId=EVIL, password="x")
            yield one.page
            one.send(customer="anna")
            yield one.page
        visit.send(account=ANNAS)
        yield visit.page
        visit.send(end="error")
        yield visit.page
        yield Visitor(client, "/sca/consents?" + urlencode({"consent_id": EVIL})).open().body.decode()

    for page in pages():
        assert "<script" not in page
        assert "<img" not in page
        assert "49" not in page.replace("4988", "")[page.index("<main") :] or "{{ 7*7 }}" in unescape(page)


# -- doors, sessions, settings


@pytest.mark.parametrize("door", ["direct", "process", "proxy", "tls"])
def test_every_door(client: Client, door: Door) -> None:
    visit = a_payment(client)
    visit.door = door

    visit.log_in()
    assert visit.send(otp=OTPS["anna"]).headers["location"] == OK


def test_sessions(client: Client) -> None:
    inside = a_payment(client.named("ci-42"))
    assert inside.link.startswith("/s/ci-42/sca/payments?")
    browser = Visitor(client, inside.link)

    browser.log_in()
    assert browser.send(otp=OTPS["anna"]).headers["location"] == OK
    assert inside.status == "ACSP"
    assert client.get(inside.link.removeprefix("/s/ci-42")).status == 404


def test_the_dialect_decides_how_long_a_page_lasts(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    options = client.engine._sca_options
    monkeypatch.setitem(options, "consent", {**options["consent"], "expires_after": 60})
    visit = Visitor(client, f"/sca/consents?consent_id={facts.consent()}")

    visit.open()
    freeze(client, seconds=90)

    visit.open()
    assert visit.title == "This link has expired"


def test_the_options_come_from_the_operations() -> None:
    options = bundled_engine()._sca_options

    assert set(options) == set(FAMILIES)
    assert all(one["expires_after"] == 86400 for one in options.values())


def test_busy_is_a_page_too(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    visit = a_payment(client)

    def refuse(call: Call, options: Any) -> None:
        raise BankError("busy")

    monkeypatch.setattr("xs2a_sandbox.handlers.sca.serve", refuse)
    assert visit.open().status == 503
