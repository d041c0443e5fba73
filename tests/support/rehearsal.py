"""A session for tests of authorisations: it creates resources and moves the clock."""

import json as jsonlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.contract import bodies, facts
from tests.support.engine_client import NO_BODY, Answer, Client, an_engine
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.clock import BANK_ZONE, Clock
from xs2a_sandbox.documents import yaml_reader as document
from xs2a_sandbox.state import Store, Transaction
from xs2a_sandbox.state.session import keep_clock

TOKEN = "a-token-for-these-tests"
FAMILIES = ("consent", "payment", "cancellation", "basket")
REDIRECT = {"TPP-Redirect-Preferred": "true"}
EMBEDDED = {"TPP-Redirect-Preferred": "false"}
DECOUPLED = {"TPP-Decoupled-Preferred": "true"}
APART = {"TPP-Explicit-Authorisation-Preferred": "true"}

PSUS = facts.testdata()["psus"]
NONE, ONE, SEVERAL, OTHER = "felix", "anna", "zuzana", "lukas"
"""Customers with no method, with one, with three, and another customer."""
(APP_ONLY,) = (id for id, psu in PSUS.items() if psu.get("approaches") == ["decoupled"])
((JOINT, SIGNATORIES),) = (
    (iban, account["signatories"]) for iban, account in facts.accounts().items() if "signatories" in account
)
OWN = {
    psu: [iban for iban, account in facts.accounts().items() if account["psuId"] == psu and iban != JOINT]
    for psu in PSUS
}


@dataclass(frozen=True)
class Thing:
    """A resource that can be authorised. `starts` is the path of its authorisations, `page` the link in its answer."""

    family: str
    path: str
    page: str | None = None

    @property
    def id(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def starts(self) -> str:
        return f"{self.path}/{'cancellation-' if self.family == 'cancellation' else ''}authorisations"


@dataclass
class Stage:
    """A session with a frozen clock. It starts at noon of the day from which relative dates are counted."""

    client: Client
    now: datetime = field(default_factory=lambda: datetime.combine(Clock().today(), time(12), BANK_ZONE))

    def __post_init__(self) -> None:
        self.client.engine.use(admin_token=TOKEN)
        self.move()

    @property
    def today(self) -> date:
        return self.now.date()

    def move(self, **by: int) -> None:
        self.now = (self.now.astimezone(UTC) + timedelta(**by)).astimezone(BANK_ZONE)
        transaction = self.transaction()
        keep_clock(transaction, Clock(frozen=self.now))
        assert transaction.commit()

    def move_to(self, day: date) -> None:
        self.move(days=(day - self.today).days)

    def transaction(self) -> Transaction:
        data = self.client.engine.parts.testdata
        return Transaction(self.client.engine.store, "default", lambda _: data.at(Clock().today()))

    def change(self, collection: str, id: str, **members: Any) -> None:
        transaction = self.transaction()
        transaction.put(collection, id, {**(transaction.get(collection, id) or {}), **members})
        assert transaction.commit()

    def kept(self, collection: str) -> dict[str, Any]:
        return self.transaction().own(collection)

    # -- resources

    def consent(self, *ibans: str, headers: Mapping[str, str] = APART, **changes: Any) -> Thing:
        changes = {"validUntil": "9999-12-31", **changes}
        answer = self.client.post("/v1/consents", json=bodies.consent(*ibans, **changes), headers=headers)
        assert answer.status == 200, answer.body
        links = answer.json()["_links"]
        return Thing("consent", links["self"]["href"], links["scaRedirect"]["href"])

    def payment(self, product: str = bodies.SEPA, headers: Mapping[str, str] = APART, **changes: Any) -> Thing:
        changes = {"debtor": OWN[ONE][0], "amount": "1.20", **changes}
        answer = self.client.post(f"/v1/{product}", json=bodies.payment(product, **changes), headers=headers)
        assert answer.status == 200, answer.body
        links = answer.json()["_Left"]
        return Thing("payment", links["self"]["href"], links["scaRedirect"]["href"])

    def cancellation(self, debtor: str, headers: Mapping[str, str] = APART) -> Thing:
        """Cancel a payment that has been authorised for a later date."""
        made = self.payment(debtor=debtor, headers=headers, requestedExecutionDate=self.day(5))
        self.sign(made)
        assert self.client.delete(made.path).status == 202
        return Thing("cancellation", made.path)

    def basket(self, *members: Thing, headers: Mapping[str, str] | None = None) -> Thing:
        answer = self.create_basket(*members, headers=headers)
        assert answer.status == 201, answer.body
        return Thing("basket", answer.json()["_links"]["self"]["href"])

    def create_basket(self, *members: Thing, headers: Mapping[str, str] | None = None) -> Answer:
        lists = {"payment": "paymentIds", "consent": "consentIds"}
        body: dict[str, list[str]] = {}
        for member in members:
            body.setdefault(lists[member.family], []).append(member.id)
        return self.client.post("/v1/signing-baskets", json=body, headers=headers)

    def make(self, family: str, psu: str = ONE, *, joint: bool = False, headers: Mapping[str, str] = APART) -> Thing:
        """Create a resource that waits for the customer, or for both signatories of the joint account."""
        ibans = [JOINT] if joint else OWN[psu]
        if family == "consent":
            return self.consent(*ibans, headers=headers)
        if family == "payment":
            return self.payment(debtor=ibans[0], headers=headers)
        if family == "cancellation":
            return self.cancellation(ibans[0], headers=headers)
        members = self.payment(debtor=ibans[0]), self.consent(*ibans)
        return self.basket(*members, headers=headers)

    def day(self, days: int) -> str:
        return (self.today + timedelta(days=days)).isoformat()

    def status(self, thing: Thing) -> str:
        value = self.client.get(f"{thing.path}/status").json()
        return str(value["consentStatus" if thing.family == "consent" else "transactionStatus"])

    # -- authorisations

    def start(self, thing: Thing, psu: str | None = None, *wishes: Mapping[str, str], json: Any = NO_BODY) -> Answer:
        headers = {name: value for wish in wishes for name, value in wish.items()}
        if psu:
            headers["PSU-ID"] = psu
        return self.client.post(thing.starts, headers=headers, json=json)

    def begin(self, thing: Thing, psu: str | None = None, *wishes: Mapping[str, str]) -> str:
        """Start an authorisation and return its path."""
        answer = self.start(thing, psu, *wishes)
        assert answer.status == 201, answer.body
        return str(answer.headers["location"])

    def put(self, own: str, psu: str | None = None, **body: Any) -> Answer:
        headers = {"PSU-ID": psu} if psu else {}
        return self.client.request("PUT", own, headers=headers, json=body)

    def sca(self, own: str) -> str:
        answer = self.client.get(own)
        assert answer.status == 200, answer.body
        return str(answer.json()["scaStatus"])

    def log_in(self, own: str, psu: str) -> Answer:
        return self.put(own, psu, psuData={"password": PSUS[psu]["password"]})

    def awaiting_otp(self, thing: Thing, psu: str = ONE) -> str:
        """Return the path of an embedded authorisation that needs only the one-time password."""
        own = self.begin(thing, psu, EMBEDDED)
        answer = self.log_in(own, psu)
        assert answer.status == 200, answer.body
        if answer.json()["scaStatus"] == "psuAuthenticated":
            method = PSUS[psu]["methods"][0]["id"]
            assert self.put(own, authenticationMethodId=method).status == 200
        return own

    def sign(self, thing: Thing, psu: str | None = None) -> str:
        """Sign embedded, or decoupled if the customer has only the app. Both signatories sign unless one is named."""
        own = ""
        for signatory in [psu] if psu else self.signatories(thing):
            if signatory == APP_ONLY:
                own = self.begin(thing, signatory)
                self.decide(own, "approve")
            elif signatory == NONE:
                own = self.begin(thing, signatory, EMBEDDED)
                assert self.log_in(own, signatory).json()["scaStatus"] == "exempted"
            else:
                own = self.awaiting_otp(thing, signatory)
                answer = self.put(own, scaAuthenticationData=PSUS[signatory]["otp"])
                assert (answer.status, answer.json()["scaStatus"]) == (200, "finalised")
        return own

    def sign_cancellation(self, payment: Thing, psu: str) -> str:
        return self.sign(Thing("cancellation", payment.path), psu)

    def signatories(self, thing: Thing) -> list[str]:
        """Return the signatories of a payment or consent. Those of a basket are the signatories of its first member."""
        document = self.kept({"consent": "consents", "basket": "baskets"}.get(thing.family, "payments"))[thing.id]
        if thing.family == "basket":
            document = self.kept("payments")[document["payments"][0]]
        iban = document["accounts"][0] if thing.family == "consent" else document["debtor"]["account"]
        account = facts.accounts()[iban]
        return list(account.get("signatories") or [account["psuId"]])

    def decide(self, own: str, decision: str) -> Answer:
        """Let the payment user decide through the control interface."""
        return self.client.post(
            f"/_sandbox/sca/{own.rpartition('/')[2]}",
            json={"decide": decision},
            headers={"Authorization": f"Bearer {TOKEN}"},
        )

    def code(self, own: str) -> str:
        return str(self.kept("authorisations")[own.rpartition("/")[2]]["code"])

    # -- the linked page

    def open(self, page: str, **more: str) -> Answer:
        answer = self.client.get(_local(page) + "".join(f"&{n}={v}" for n, v in more.items()), door="direct")
        if answer.headers.get("location", "").startswith("?"):
            return self.open(_local(page).partition("?")[0] + answer.headers["location"])
        return answer

    def submit(self, page: str, **fields: str) -> None:
        """Return the form that the page shows now."""
        page_text = self.open(page).body.decode()
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page_text))
        assert hidden, page_text
        answer = self.client.post(_local(page), body=urlencode({**hidden, **fields}).encode(), door="direct")
        assert answer.status in (200, 303), answer.body


def a_stage(store: Store | None = None, **options: Any) -> Stage:
    return Stage(Client(an_engine(store, **options)))


def with_options(directory: Any, operations: Mapping[str, Mapping[str, Any]], *, access: Any = None) -> list[list[Any]]:
    """Return a layer that repeats operations of the dialect with other options.

    `access` is the access that consents accept.
    """
    plain = {}
    for file in sorted((bundled("cassettes") / "xs2a-1.84").glob("*.yaml")):
        for operation in document.read(file).value.get("operations", []):
            plain[operation["id"]] = operation
    changed = [
        {
            **plain[id],
            "with": {**plain[id].get("with", {}), **options},
            **({"input": {**plain[id]["input"], "access": access}} if access and id == "create-consent" else {}),
        }
        for id, options in operations.items()
    ]
    file = directory / "options.yaml"
    file.write_text(jsonlib.dumps({"cassette": 1, "title": "Other options", "operations": changed}, default=str))
    return [[file]]


def authorising(directory: Any, **section: Any) -> list[list[Any]]:
    """Return a layer with this section `authorisation`."""
    file = directory / "authorisation.yaml"
    file.write_text(jsonlib.dumps({"cassette": 1, "authorisation": section}))
    return [[file]]


def starting(directory: Any, **section: Any) -> Stage:
    return a_stage(layers=authorising(directory, **section))


def _local(page: str) -> str:
    parts = urlsplit(page)
    return f"{parts.path}?{parts.query}"
