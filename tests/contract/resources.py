"""Create the resources that can be authorised: a consent, a payment, its cancellation, a signing basket."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.contract import bodies, facts
from tests.contract.doors import Answer, Bank

NOK = "https://tpp.example/refused"
SEVERAL, ONE, NONE = "zuzana", "anna", "felix"
"""Customers with three methods, with one, and with none."""

EMBEDDED = {"TPP-Redirect-Preferred": "false"}
DECOUPLED = {"TPP-Decoupled-Preferred": "true"}


@dataclass(frozen=True, slots=True)
class Family:
    """`waits`, `done` and `refused` are its states before and after; `template` is its path in the framework."""

    name: str
    template: str
    waits: str
    done: str
    refused: str


FAMILIES = {
    family.name: family
    for family in (
        Family("consent", "/v1/consents/{consentId}/authorisations", "received", "valid", "rejected"),
        Family(
            "payment",
            "/v1/{payment-service}/{payment-product}/{paymentId}/authorisations",
            "RCVD",
            "ACSP",
            "RJCT",
        ),
        Family(
            "cancellation",
            "/v1/{payment-service}/{payment-product}/{paymentId}/cancellation-authorisations",
            "ACTC",
            "CANC",
            "ACTC",
        ),
        Family("basket", "/v1/signing-baskets/{basketId}/authorisations", "RCVD", "ACTC", "RJCT"),
    )
}


@dataclass(frozen=True, slots=True)
class Resource:
    """`own` is its path, `starts` that of its authorisations, and `redirect` is the link in the answer, if any."""

    family: Family
    id: str
    own: str
    starts: str
    redirect: str | None = None
    members: tuple["Resource", ...] = ()

    def status(self, bank: Bank) -> str:
        answer = bank.get(f"{self.own}/status").json()
        return str(answer["consentStatus" if self.family.name == "consent" else "transactionStatus"])


def make(bank: Bank, family: str, psu: str = SEVERAL, **headers: str) -> Resource:
    """Return a resource that waits for the customer. `headers` have underscores instead of hyphens."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"consent": consent, "payment": payment, "cancellation": cancellation, "basket": basket}[family](
        bank, psu, sent
    )


def consent(bank: Bank, psu: str, headers: Mapping[str, str] | None = None, **changes: Any) -> Resource:
    answer = bank.post("/v1/consents", json=bodies.consent(*ibans(psu), **changes), headers=headers or {})
    assert answer.status == 200, answer.body
    body = answer.json()
    own = body["_links"]["self"]["href"]
    link = body["_links"]["scaRedirect"]["href"]
    return Resource(FAMILIES["consent"], body["consentId"], own, f"{own}/authorisations", link)


def payment(bank: Bank, psu: str, headers: Mapping[str, str] | None = None, **changes: Any) -> Resource:
    wanted = {"debtor": debtor(psu), "amount": "1.20", **changes}
    product = wanted.pop("product", bodies.SEPA)
    answer = bank.post(f"/v1/{product}", json=bodies.payment(product, **wanted), headers=headers or {})
    assert answer.status == 200, answer.body
    body = answer.json()
    own = body["_Left"]["self"]["href"]
    link = body["_Left"]["scaRedirect"]["href"]
    return Resource(FAMILIES["payment"], body["paymentId"], own, f"{own}/authorisations", link)


def cancellation(bank: Bank, psu: str, headers: Mapping[str, str] | None = None) -> Resource:
    """Cancel a payment for a later date that has been authorised."""
    made = payment(bank, psu, headers, requestedExecutionDate=facts.today(5))
    sign(bank, made, psu)
    answer = bank.delete(made.own)
    assert answer.status == 202, answer.body
    return Resource(FAMILIES["cancellation"], made.id, made.own, f"{made.own}/cancellation-authorisations")


def basket(bank: Bank, psu: str, headers: Mapping[str, str] | None = None) -> Resource:
    """Create a basket with a payment and a consent. They have no authorisations of their own that could expire."""
    apart = {"TPP-Explicit-Authorisation-Preferred": "true"}
    return basket_of(bank, payment(bank, psu, apart), consent(bank, psu, apart), headers=headers)


def basket_of(bank: Bank, *members: Resource, headers: Mapping[str, str] | None = None) -> Resource:
    ids: dict[str, list[str]] = {}
    for member in members:
        ids.setdefault(f"{member.family.name}Ids", []).append(member.id)
    answer = bank.post("/v1/signing-baskets", json=ids, headers=headers or {})
    assert answer.status == 201, answer.body
    own = answer.json()["_links"]["self"]["href"]
    return Resource(FAMILIES["basket"], answer.json()["basketId"], own, f"{own}/authorisations", None, members)


def password(psu: str) -> dict[str, Any]:
    return {"psuData": {"password": facts.testdata()["psus"][psu]["password"]}}


def otp(psu: str) -> dict[str, Any]:
    return {"scaAuthenticationData": facts.testdata()["psus"][psu]["otp"]}


def methods(psu: str) -> list[dict[str, str]]:
    """Return the resource as an answer describes it."""
    return [
        {"authenticationMethodId": one["id"], "authenticationType": one["type"], "name": one["name"]}
        for one in facts.testdata()["psus"][psu]["methods"]
    ]


def ibans(psu: str) -> list[str]:
    """Return accounts with a single signatory."""
    own = [(iban, account) for iban, account in facts.accounts().items() if account["psuId"] == psu]
    return [iban for iban, account in own if "signatories" not in account]


def debtor(psu: str) -> str:
    return next(iban for iban in ibans(psu) if facts.accounts()[iban]["currency"] == "EUR")


def begin(bank: Bank, resource: Resource, psu: str | None = None, **wishes: str) -> Answer:
    """Start an authorisation. `wishes` are headers with underscores instead of hyphens."""
    headers: dict[str, str | None] = {name.replace("_", "-"): value for name, value in wishes.items()}
    return bank.post(resource.starts, headers={"PSU-ID": psu, **headers})


def logged_in(bank: Bank, resource: Resource, psu: str) -> Answer:
    """Start an embedded authorisation and send the password."""
    answer = bank.post(resource.starts, headers={"PSU-ID": psu, **EMBEDDED}, json=password(psu))
    assert answer.status == 201, answer.body
    return answer


def awaiting_otp(bank: Bank, resource: Resource, psu: str) -> str:
    """Return the path of an embedded authorisation that needs only the one-time password."""
    answer = logged_in(bank, resource, psu)
    own: str = answer.json()["_links"]["scaStatus"]["href"]
    if answer.json()["scaStatus"] == "psuAuthenticated":
        method = methods(psu)[0]["authenticationMethodId"]
        assert bank.put(own, json={"authenticationMethodId": method}).status == 200
    return own


def sign(bank: Bank, resource: Resource, psu: str) -> str:
    """Return the path of an authorisation that has succeeded."""
    if not methods(psu):
        done = logged_in(bank, resource, psu).json()
        assert done["scaStatus"] == "exempted"
        return str(done["_links"]["scaStatus"]["href"])
    own = awaiting_otp(bank, resource, psu)
    answer = bank.put(own, json=otp(psu))
    assert (answer.status, answer.json()["scaStatus"]) == (200, "finalised")
    return own
