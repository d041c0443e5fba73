"""Properties of every error. Unknown paths, products and methods."""

import re
import uuid

import pytest

from tests.contract import bodies, facts, resources
from tests.contract.doors import Answer, Bank

spec = pytest.mark.spec

OURS = re.compile(r"\{sensitive\} XS2A9\d\dE: \S.*", re.DOTALL)
DOCUMENTED = re.compile(r"\{sensitive\} XS2A0(04|05|16|17)E: \S.*", re.DOTALL)


def is_error(answer: Answer, status: int, code: str) -> None:
    """The number of an error of the sandbox, in the documented format."""
    assert answer.status == status, answer.body
    body = answer.json()
    # A 404 for an unknown path also lists the nearest paths, which are not part of the bank's interface.
    body.pop("sandbox", None)
    (message,) = body["tppMessages"]
    assert body == {
        "tppMessages": [{"category": "ERROR", "code": code, "path": message["path"], "text": message["text"]}],
        "_links": None,
    }
    assert OURS.fullmatch(message["text"])


def provoke_further(bank: Bank) -> dict[str, Answer]:
    """Errors of authorisations and signing baskets."""
    psu = resources.SEVERAL
    password = resources.password(psu)
    basket = resources.basket(bank, psu)
    (member, _) = basket.members
    one, other = resources.payment(bank, psu), resources.payment(bank, psu)
    by_redirect = resources.begin(bank, one).headers["Location"]
    location = resources.logged_in(bank, other, psu).headers["Location"]
    return {
        "wrong password": bank.post(
            resources.payment(bank, psu).starts,
            headers={"PSU-ID": psu, **resources.EMBEDDED},
            json={"psuData": {"password": "no"}},
        ),
        "finished authorisation": bank.put(resources.sign(bank, resources.payment(bank, psu), psu), json=password),
        "unknown method": bank.put(location, json={"authenticationMethodId": "pigeon"}),
        "password by redirect": bank.put(by_redirect, json=password),
        "member of a basket": resources.begin(bank, member),
        "unknown basket": bank.get(f"/v1/signing-baskets/{uuid.uuid4()}"),
        "unknown member": bank.post("/v1/signing-baskets", json={"consentIds": [str(uuid.uuid4())]}),
        "member of two baskets": bank.post("/v1/signing-baskets", json={"paymentIds": [member.id]}),
    }


def provoke(bank: Bank) -> dict[str, Answer]:
    """Cause one error of each kind."""
    consent, iban = facts.consent(), facts.covered()
    sepa = f"/v1/{bodies.SEPA}"
    own = bank.post(sepa, json=bodies.payment(bodies.SEPA)).json()["_Left"]["self"]["href"]
    assert bank.delete(own).status == 204
    several = bank.post("/v1/consents", json=bodies.consent(*list(facts.tied())[:2])).json()["consentId"]
    late = {"validUntil": facts.today(-1)}
    past = {"requestedExecutionDate": facts.today(-1)}
    return {
        "unknown consent": bank.get("/v1/accounts/", consent=facts.consent("unknown")),
        "expired consent": bank.get("/v1/accounts/", consent=facts.consent("expired")),
        "expired consent on transactions": bank.get(
            f"/v1/accounts/{iban}/transactions?bookingStatus=booked", consent=facts.consent("expired")
        ),
        "unknown account": bank.get(f"/v1/accounts/{facts.uncovered()}", consent=consent),
        "no request id": bank.get(f"/v1/consents/{consent}", headers={"X-Request-ID": None}),
        "no consent": bank.get("/v1/accounts/"),
        "received consent": bank.get("/v1/accounts/", consent=several),
        "no body": bank.post("/v1/consents"),
        "wrong body": bank.post("/v1/consents", json={}),
        "wrong type": bank.post("/v1/consents", content=b"{}", headers={"Content-Type": "text/plain"}),
        "large body": bank.post("/v1/consents", content=b" " * (1024 * 1024 + 1)),
        "wrong period": bank.post("/v1/consents", json=bodies.consent(facts.untied()[0], **late)),
        "foreign account": bank.post("/v1/consents", json=bodies.consent(facts.foreign_iban())),
        "wrong query": bank.get("/v1/accounts/?withBalance=maybe", consent=consent),
        "unknown path": bank.get("/v1/nothing"),
        "unknown product": bank.post("/v1/payments/gold-bars", json={}),
        "wrong method": bank.put("/v1/consents", json={}),
        "unknown payment": bank.get(f"{sepa}/{uuid.uuid4()}"),
        "wrong date": bank.post(sepa, json=bodies.payment(bodies.SEPA, **past)),
        "cancelled twice": bank.delete(own),
        "wrong session": bank.get("/v1/accounts/", headers={"X-Sandbox-Session": "two words"}),
        "placeholder": bank.get(f"{own}/authorisations/authorization_not_yet_available"),
        **provoke_further(bank),
        "unknown debtor": bank.post(sepa, json=bodies.payment(bodies.SEPA, debtor=facts.foreign_iban())),
    }


@spec("7-tpp-messages")
@spec("7-category")
@spec("7-code")
@spec("7-path")
@spec("7-text")
@spec("7-links")
@spec("1-json")
@spec("reading-error-shape")
@spec("reading-error-text")
def test_every_error_has_the_documented_format(bank: Bank) -> None:
    for kind, answer in provoke(bank).items():
        assert answer.status >= 400, kind
        assert answer.headers["Content-Type"].startswith("application/json"), kind
        body = answer.json()
        assert body.keys() - {"sandbox"} == {"tppMessages", "_links"}, kind
        assert ("sandbox" in body) <= (kind == "unknown path"), kind
        assert body["_links"] is None, kind
        (message,) = body["tppMessages"]
        assert message.keys() == {"category", "code", "path", "text"}, kind
        assert message["category"] == "ERROR", kind
        documented = DOCUMENTED.fullmatch(message["text"])
        assert documented or OURS.fullmatch(message["text"]), (kind, message["text"])
        if documented:
            assert message["path"] is None, kind


NUMBERS = {
    "unknown consent": (403, "CONSENT_UNKNOWN", "XS2A017E"),
    "expired consent": (401, "CONSENT_EXPIRED", "XS2A005E"),
    "expired consent on transactions": (401, "CONSENT_EXPIRED", "XS2A004E"),
    "unknown account": (404, "RESOURCE_UNKNOWN", "XS2A016E"),
    "no request id": (400, "FORMAT_ERROR", "XS2A901E"),
    "no consent": (400, "FORMAT_ERROR", "XS2A901E"),
    "no body": (400, "FORMAT_ERROR", "XS2A901E"),
    "wrong body": (400, "FORMAT_ERROR", "XS2A901E"),
    "wrong query": (400, "FORMAT_ERROR", "XS2A901E"),
    "foreign account": (400, "RESOURCE_UNKNOWN", "XS2A902E"),
    "unknown debtor": (400, "RESOURCE_UNKNOWN", "XS2A902E"),
    "wrong period": (400, "PERIOD_INVALID", "XS2A903E"),
    "wrong date": (400, "EXECUTION_DATE_INVALID", "XS2A904E"),
    "large body": (413, "FORMAT_ERROR", "XS2A905E"),
    "wrong type": (415, "FORMAT_ERROR", "XS2A906E"),
    "wrong session": (400, "FORMAT_ERROR", "XS2A907E"),
    "unknown path": (404, "RESOURCE_UNKNOWN", "XS2A910E"),
    "unknown product": (404, "PRODUCT_UNKNOWN", "XS2A911E"),
    "wrong method": (405, "SERVICE_INVALID", "XS2A912E"),
    "received consent": (401, "CONSENT_INVALID", "XS2A913E"),
    "unknown payment": (404, "RESOURCE_UNKNOWN", "XS2A914E"),
    "cancelled twice": (405, "CANCELLATION_INVALID", "XS2A915E"),
    "placeholder": (404, "RESOURCE_UNKNOWN", "XS2A916E"),
    "wrong password": (401, "PSU_CREDENTIALS_INVALID", "XS2A920E"),
    "finished authorisation": (409, "STATUS_INVALID", "XS2A921E"),
    "unknown method": (400, "SCA_METHOD_UNKNOWN", "XS2A922E"),
    "password by redirect": (400, "SERVICE_INVALID", "XS2A923E"),
    "member of a basket": (400, "RESOURCE_BLOCKED", "XS2A924E"),
    "unknown basket": (403, "RESOURCE_UNKNOWN", "XS2A925E"),
    "unknown member": (400, "RESOURCE_UNKNOWN", "XS2A926E"),
    "member of two baskets": (409, "REFERENCE_STATUS_INVALID", "XS2A927E"),
}
"""Numbers never change their meaning, because apps may depend on them."""


@spec("7-code")
@spec("reading-error-text")
def test_every_kind_of_error_has_its_number(bank: Bank) -> None:
    found = {
        kind: (answer.status, answer.error["code"], answer.error["text"].split()[1].rstrip(":"))
        for kind, answer in provoke(bank).items()
    }

    assert found == NUMBERS


@spec("reading-unknown-path")
@pytest.mark.parametrize(
    "path",
    [
        "/v1/",
        "/v1/nothing",
        "/v1/consent",
        "/v1/Consents",
        f"/v1/consents/{facts.consent()}/nothing",
        f"/v1/consents/{facts.consent()}/status/more",
        f"/v1/accounts/{facts.covered()}/nothing",
        "/v1/payment/sepa-credit-transfers",
        f"/v1/payments/sepa-credit-transfers/{uuid.UUID(int=1)}/nothing",
        f"/v1/direct-debits/sepa-credit-transfers/{uuid.UUID(int=1)}",
        "/v2/consents",
        "/",
        "/nothing",
    ],
)
def test_an_unknown_path_is_refused(bank: Bank, path: str) -> None:
    # At the base URL, the root path shows the start page.
    own = path == "/" and bank.door == "direct"
    for method in ("GET", "POST", "PUT", "DELETE", "PATCH")[own:]:
        is_error(bank.request(method, path), 404, "RESOURCE_UNKNOWN")


@spec("reading-product-unknown")
@spec("4.2-path-values")
@pytest.mark.parametrize(
    "product",
    [
        "payments/gold-bars",
        "payments/target-2-payments",
        "payments/Sepa-Credit-Transfers",
        "bulk-payments/instant-sepa-credit-transfers",
        "bulk-payments/cross-border-credit-transfers",
        "periodic-payments/instant-sepa-credit-transfers",
        "periodic-payments/cross-border-credit-transfers",
        "periodic-payments/gold-bars",
    ],
)
def test_an_unsupported_product_is_refused(bank: Bank, product: str) -> None:
    payment = f"/v1/{product}/{facts.payments('ACSP')[0][0]}"

    is_error(bank.post(f"/v1/{product}", json=bodies.payment(bodies.SEPA)), 404, "PRODUCT_UNKNOWN")
    is_error(bank.get(payment), 404, "PRODUCT_UNKNOWN")
    is_error(bank.get(f"{payment}/status"), 404, "PRODUCT_UNKNOWN")
    is_error(bank.delete(payment), 404, "PRODUCT_UNKNOWN")


PAYMENT = f"/v1/payments/sepa-credit-transfers/{uuid.UUID(int=1)}"
OFFERED = {
    "/v1/consents": {"POST"},
    f"/v1/consents/{facts.consent()}": {"GET", "DELETE"},
    f"/v1/consents/{facts.consent()}/status": {"GET"},
    "/v1/accounts": {"GET"},
    "/v1/accounts/": {"GET"},
    f"/v1/accounts/{facts.covered()}": {"GET"},
    f"/v1/accounts/{facts.covered()}/balances": {"GET"},
    f"/v1/accounts/{facts.covered()}/transactions": {"GET"},
    **{f"/v1/{product}": {"POST"} for product in bodies.PRODUCTS},
    PAYMENT: {"GET", "DELETE"},
    f"{PAYMENT}/status": {"GET"},
    f"{PAYMENT}/authorisations": {"GET", "POST"},
    f"{PAYMENT}/authorisations/1": {"GET", "PUT"},
    f"{PAYMENT}/cancellation-authorisations": {"GET", "POST"},
    f"{PAYMENT}/cancellation-authorisations/1": {"GET", "PUT"},
    "/v1/card-accounts": {"GET"},
    "/v1/funds-confirmations": {"POST"},
    "/v1/signing-baskets": {"POST"},
    "/v1/signing-baskets/1": {"GET", "DELETE"},
    "/v1/signing-baskets/1/status": {"GET"},
}


METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "QUERY")


@spec("reading-method")
@pytest.mark.parametrize("path", OFFERED)
def test_an_unsupported_method_is_refused(bank: Bank, path: str) -> None:
    for method in METHODS:
        if method in OFFERED[path]:
            continue
        answer = bank.request(method, path, consent=facts.consent())
        assert set(answer.headers["Allow"].split(", ")) == OFFERED[path]
        if method == "HEAD":
            assert (answer.status, answer.body) == (405, b"")
        else:
            is_error(answer, 405, "SERVICE_INVALID")
