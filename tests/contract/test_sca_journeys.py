"""Complete flows: redirect, embedded and decoupled, for every kind of resource, with every possible outcome."""

import uuid
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.contract import bodies, facts, resources
from tests.contract.conftest import Sandbox
from tests.contract.control import Control
from tests.contract.doors import Answer, Bank, InProcess
from tests.contract.resources import DECOUPLED, EMBEDDED, NOK, SEVERAL, Resource, make
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build

spec = pytest.mark.spec

every_family = pytest.mark.parametrize("family", ["consent", "payment", "cancellation", "basket"])
NEGATIVE = ("decline", "timeout", "error")
every_refusal = pytest.mark.parametrize("decision", NEGATIVE)
BACK = {"TPP_Redirect_URI": bodies.REDIRECT, "TPP_Nok_Redirect_URI": NOK}


def succeeded(bank: Bank, made: Resource) -> None:
    """Check the status as the app sees it, for members of a basket too."""
    assert made.status(bank) == made.family.done
    for one in (made, *made.members):
        if one.family.name == "consent":
            accounts = bank.get("/v1/accounts", consent=one.id)
            assert [account["iban"] for account in accounts.json()["accounts"]] == resources.ibans(SEVERAL)
    assert [member.status(bank) for member in made.members] == [member.family.done for member in made.members]


def refused(bank: Bank, made: Resource) -> None:
    """Members of a rejected basket have their previous status."""
    assert made.status(bank) == made.family.refused
    for one in (made, *made.members):
        if one.family.name == "consent":
            answer = bank.get("/v1/accounts", consent=one.id)
            assert (answer.status, answer.error["code"]) == (401, "CONSENT_INVALID")
    assert [member.status(bank) for member in made.members] == [member.family.waits for member in made.members]


def sca_status(bank: Bank, made: Resource) -> str:
    id = bank.get(made.starts).json()["authorisationIds"][-1]
    return str(bank.get(f"{made.starts}/{id}").json()["scaStatus"])


# -- redirect


def link(bank: Bank, made: Resource, way: str) -> str:
    """Return the link from the resource, or from an authorisation that the app started."""
    if way == "implicit":
        assert made.redirect
        return made.redirect
    answer = resources.begin(bank, made)
    assert answer.headers["ASPSP-SCA-Approach"] == "REDIRECT"
    return str(answer.json()["_links"]["scaRedirect"]["href"])


WAYS = [("consent", "implicit"), ("payment", "implicit"), *((f, "explicit") for f in resources.FAMILIES)]
every_way = pytest.mark.parametrize(("family", "way"), WAYS, ids=["-".join(way) for way in WAYS])


@spec("reading-consent-sca")
@spec("reading-payment-sca")
@spec("reading-cancellation-sca")
@spec("reading-basket-members")
@spec("reading-sca-decide")
@every_way
def test_a_redirect_succeeds(bank: Bank, family: str, way: str) -> None:
    made = make(bank, family, **BACK)

    sent_back(bank.page(link(bank, made, way), decide="approve"), bodies.REDIRECT)

    assert sca_status(bank, made) in ("finalised", "exempted")
    succeeded(bank, made)


@spec("reading-consent-sca")
@spec("reading-payment-sca")
@spec("reading-cancellation-sca")
@spec("reading-sca-decide")
@every_way
@every_refusal
def test_a_redirect_fails(bank: Bank, family: str, way: str, decision: str) -> None:
    made = make(bank, family, **BACK)

    sent_back(bank.page(link(bank, made, way), decide=decision), NOK)

    assert sca_status(bank, made) == "failed"
    refused(bank, made)


def sent_back(answer: Answer, where: str) -> None:
    assert answer.status == 303, answer.body
    assert answer.headers["Location"] == where


@spec("reading-sca-decide")
@every_refusal
def test_the_address_for_success_is_used_for_failure_if_it_is_the_only_one(bank: Bank, decision: str) -> None:
    made = make(bank, "payment", TPP_Redirect_URI=bodies.REDIRECT)

    sent_back(bank.page(link(bank, made, "implicit"), decide=decision), bodies.REDIRECT)


@spec("reading-sca-redirect-once")
@every_way
def test_a_link_works_once(bank: Bank, family: str, way: str) -> None:
    made = make(bank, family, **BACK)
    href = link(bank, made, way)
    bank.page(href, decide="approve")

    again = bank.page(href, decide="decline")

    assert (again.status, "Location" in again.headers) == (409, False)
    assert again.headers["Content-Type"].startswith("text/html")
    assert made.status(bank) == made.family.done


@spec("reading-sca-redirect-once")
@every_family
def test_a_link_expires(bank: Bank, control: Control, family: str) -> None:
    made = make(bank, family, **BACK)
    href = link(bank, made, "explicit")
    control.move("25h")

    late = bank.page(href, decide="approve")

    assert (late.status, "Location" in late.headers) == (409, False)
    assert sca_status(bank, made) == "failed"
    refused(bank, made)


@spec("reading-sca-registered")
@every_way
def test_the_browser_is_redirected_only_to_registered_addresses(bank: Bank, family: str, way: str) -> None:
    made = make(bank, family, **BACK)
    href = link(bank, made, way)
    before, _, _ = href.partition("&redirectBackUrl=")
    assert before != href

    answer = bank.page(f"{before}&redirectBackUrl=https%3A%2F%2Fevil.example", decide="approve")

    sent_back(answer, bodies.REDIRECT)


@spec("reading-sca-registered")
def test_without_an_address_the_outcome_is_shown(bank: Bank) -> None:
    made = make(bank, "payment")

    answer = bank.page(link(bank, made, "implicit"), decide="approve")

    assert (answer.status, "Location" in answer.headers) == (200, False)
    assert answer.headers["Content-Type"].startswith("text/html")
    succeeded(bank, made)


@spec("5-sca-page")
@every_way
def test_opening_the_page_decides_nothing(bank: Bank, family: str, way: str) -> None:
    made = make(bank, family, **BACK)

    answer = bank.page(link(bank, made, way))

    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    assert made.status(bank) == made.family.waits
    assert sca_status(bank, made) == "started"


@spec("reading-sca-decide")
def test_an_unknown_decision_is_refused(bank: Bank) -> None:
    made = make(bank, "payment", **BACK)

    assert bank.page(link(bank, made, "implicit"), decide="perhaps").status == 400
    assert made.status(bank) == "RCVD"


# -- embedded


@spec("reading-consent-sca")
@spec("reading-payment-sca")
@spec("reading-cancellation-sca")
@every_family
@pytest.mark.parametrize("number", [0, 1])
def test_embedded_sca_with_each_of_two_methods(bank: Bank, control: Control, family: str, number: int) -> None:
    made = make(bank, family)
    control.change("psus", SEVERAL, methods=facts.testdata()["psus"][SEVERAL]["methods"][:2])
    two = resources.methods(SEVERAL)[:2]

    started = bank.post(made.starts, headers=EMBEDDED)
    assert (started.status, started.json()["scaStatus"]) == (201, "received")
    own = started.json()["_links"]["updatePsuIdentification"]["href"]
    identified = bank.put(own, headers={"PSU-ID": SEVERAL}, json={})
    own = identified.json()["_links"]["updatePsuAuthentication"]["href"]
    authorisation = bank.put(own, json=resources.password(SEVERAL))
    assert authorisation.json()["scaMethods"] == two
    own = authorisation.json()["_links"]["selectAuthenticationMethod"]["href"]
    chosen = bank.put(own, json={"authenticationMethodId": two[number]["authenticationMethodId"]})
    assert chosen.json()["chosenScaMethod"] == two[number]
    own = chosen.json()["_links"]["authoriseTransaction"]["href"]
    assert bank.put(own, json=resources.otp(SEVERAL)).json()["scaStatus"] == "finalised"

    succeeded(bank, made)


@spec("reading-sca-password")
@spec("reading-sca-otp")
@every_family
@pytest.mark.parametrize("mistake", ["password", "otp"])
def test_embedded_sca_fails(bank: Bank, family: str, mistake: str) -> None:
    made = make(bank, family)
    if mistake == "otp":
        own, wrong = resources.awaiting_otp(bank, made, SEVERAL), {"scaAuthenticationData": "000000"}
    else:
        own = bank.post(made.starts, headers={"PSU-ID": SEVERAL, **EMBEDDED}).headers["Location"]
        wrong = {"psuData": {"password": "no"}}  # type: ignore[dict-item]
    for _ in range(3):
        assert bank.put(own, json=wrong).status == 401

    assert sca_status(bank, made) == "failed"
    refused(bank, made)


@every_family
def test_abandoned_embedded_sca_expires(bank: Bank, control: Control, family: str) -> None:
    made = make(bank, family)
    resources.awaiting_otp(bank, made, SEVERAL)

    control.move("25h")

    assert sca_status(bank, made) == "failed"
    refused(bank, made)


# -- decoupled


def pushed(bank: Bank, made: Resource) -> str:
    """Return the id of an authorisation that waits for the customer's app."""
    answer = bank.post(made.starts, headers={"PSU-ID": SEVERAL, **DECOUPLED})
    assert (answer.status, answer.json()["scaStatus"]) == (201, "started")
    assert answer.headers["ASPSP-SCA-Approach"] == "DECOUPLED"
    assert answer.json()["psuMessage"]
    assert made.status(bank) == made.family.waits
    return str(answer.json()["authorisationId"])


@spec("reading-sca-decoupled")
@spec("reading-consent-sca")
@spec("reading-payment-sca")
@spec("reading-cancellation-sca")
@every_family
def test_decoupled_sca_is_decided_automatically_after_a_delay(bank: Bank, control: Control, family: str) -> None:
    made = make(bank, family)
    id = pushed(bank, made)
    control.move("25s")
    assert bank.get(f"{made.starts}/{id}").json()["scaStatus"] == "started"

    control.move("6s")

    assert bank.get(f"{made.starts}/{id}").json() == {"scaStatus": "finalised", "psuMessage": None}
    succeeded(bank, made)


@spec("reading-sca-decoupled")
@every_family
def test_decoupled_sca_succeeds(bank: Bank, control: Control, family: str) -> None:
    made = make(bank, family)

    decision = control.decide(pushed(bank, made), "approve")

    assert (decision["status"], decision["resourceStatus"]) == (
        "done",
        {"valid": "authorised"}.get(made.family.done, made.family.done),
    )
    assert sca_status(bank, made) == "finalised"
    succeeded(bank, made)


@spec("reading-sca-decoupled")
@every_family
@every_refusal
def test_decoupled_sca_fails(bank: Bank, control: Control, family: str, decision: str) -> None:
    made = make(bank, family)

    control.decide(pushed(bank, made), decision)

    assert sca_status(bank, made) == "failed"
    refused(bank, made)


@spec("reading-sca-decoupled")
@every_family
def test_decoupled_sca_without_a_customer_expires(bank: Bank, control: Control, family: str) -> None:
    made = make(bank, family)
    assert bank.post(made.starts, headers=DECOUPLED).json()["scaStatus"] == "received"
    control.move("25h")

    assert sca_status(bank, made) == "failed"
    refused(bank, made)


# -- with a confirmation code


@pytest.fixture
def confirming(tmp_path: Path, sandbox: Sandbox) -> Bank:
    """Return a bank that requires a confirmation code, in process."""
    (tmp_path / "confirming.yaml").write_text("cassette: 1\nauthorisation: {confirmation: true}\n")
    engine = build(Settings(state="memory:", cassettes=(tmp_path,), confdir=tmp_path))
    return Bank("process", InProcess(engine.answer, sandbox.loop), None, sandbox.addresses)


@spec("reading-sca-confirmation")
@every_way
@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
def test_the_app_confirms_with_the_code_from_the_redirect(confirming: Bank, family: str, way: str, right: bool) -> None:
    made = make(confirming, family, **BACK)
    back = confirming.page(link(confirming, made, way), decide="approve").headers["Location"]
    (code,) = parse_qs(urlsplit(back).query)["confirmationCode"]
    own = f"{made.starts}/{confirming.get(made.starts).json()['authorisationIds'][-1]}"
    assert confirming.get(own).json()["scaStatus"] == "unconfirmed"
    assert made.status(confirming) == made.family.waits

    answer = confirming.put(own, json={"confirmationCode": code if right else "another"})

    assert (answer.status, answer.json()["scaStatus"]) == (200, "finalised" if right else "failed")
    assert set(answer.json()["_links"]) == {"scaStatus"}
    (succeeded if right else refused)(confirming, made)


@spec("reading-sca-confirmation")
def test_no_confirmation_code_is_required_by_default(bank: Bank) -> None:
    made = make(bank, "payment", **BACK)
    own = resources.begin(bank, made).headers["Location"]

    answer = bank.put(own, json={"confirmationCode": "any"})

    assert (answer.status, answer.error["code"]) == (409, "STATUS_INVALID")


# -- all approaches


@spec("reading-payment-sca")
@pytest.mark.parametrize(("days", "status"), [(0, "ACSP"), (3, "ACTC")])
def test_an_authorised_later_payment_waits_for_its_date(bank: Bank, control: Control, days: int, status: str) -> None:
    made = resources.payment(bank, SEVERAL, requestedExecutionDate=facts.today(days))
    resources.sign(bank, made, SEVERAL)
    assert made.status(bank) == status

    control.move(f"{days + 1}d")

    assert made.status(bank) == "ACSP"


@spec("reading-deleted-sca")
@pytest.mark.parametrize("family", ["payment", "basket"])
def test_deleting_a_resource_ends_its_authorisation(bank: Bank, family: str) -> None:
    made = make(bank, family)
    own = resources.awaiting_otp(bank, made, SEVERAL)

    assert bank.delete(made.own).status == 204

    assert (bank.get(own).json()["scaStatus"], made.status(bank)) == ("failed", "CANC")
    assert bank.put(own, json=resources.otp(SEVERAL)).error["code"] == "STATUS_INVALID"
    assert made.status(bank) == "CANC"


@spec("reading-cancellation-undeleted")
def test_a_cancellation_can_be_authorised_without_delete(bank: Bank) -> None:
    paid = resources.payment(bank, SEVERAL, requestedExecutionDate=facts.today(5))
    resources.sign(bank, paid, SEVERAL)
    starts = f"{paid.own}/cancellation-authorisations"

    resources.sign(bank, Resource(resources.FAMILIES["cancellation"], paid.id, paid.own, starts), SEVERAL)

    assert paid.status(bank) == "CANC"


@spec("reading-standing-orders")
def test_an_authorised_periodic_payment_is_a_standing_order(bank: Bank) -> None:
    iban, dates = resources.debtor(SEVERAL), {"startDate": facts.today(3), "endDate": facts.today(100)}
    everything = bank.post("/v1/consents", json=bodies.consent()).json()["consentId"]

    def orders() -> list[str]:
        answer = bank.get(f"/v1/accounts/{iban}/transactions?bookingStatus=information", consent=everything)
        return [order["transactionId"] for order in answer.json()["transactions"]["information"]]

    before = orders()
    made = resources.payment(bank, SEVERAL, product=bodies.PERIODIC, **dates)
    assert orders() == before

    resources.sign(bank, made, SEVERAL)
    new = [order for order in orders() if order not in before]
    assert (made.status(bank), len(new)) == ("ACTC", 1)

    starts = f"{made.own}/cancellation-authorisations"
    assert bank.delete(made.own).status == 202
    resources.sign(bank, Resource(resources.FAMILIES["cancellation"], made.id, made.own, starts), SEVERAL)
    assert orders() == before


@spec("reading-cancellation-sca")
@pytest.mark.parametrize("decide", ["approve", "decline"])
def test_authorising_its_cancellation_cancels_a_pending_payment(bank: Bank, decide: str) -> None:
    id, payment = next(one for one in facts.payments("PDNG"))
    own = f"/v1/{payment['service']}/{payment['product']}/{id}"
    assert bank.delete(own).json()["transactionStatus"] == "PDNG"
    answer = bank.post(f"{own}/cancellation-authorisations")
    assert answer.status == 201

    bank.page(answer.json()["_links"]["scaRedirect"]["href"], decide=decide)

    assert bank.get(f"{own}/status").json()["transactionStatus"] == ("CANC" if decide == "approve" else "PDNG")


@spec("reading-sessions")
def test_flows_in_two_sessions_are_independent(bank: Bank) -> None:
    made = make(bank, "consent", **BACK)
    elsewhere = Bank(bank.door, bank.send, f"other-{uuid.uuid4().hex}", bank.addresses)

    assert elsewhere.get(made.starts).error["code"] == "CONSENT_UNKNOWN"
    sent_back(bank.page(link(bank, made, "implicit"), decide="approve"), bodies.REDIRECT)
    assert elsewhere.get(f"{made.own}/status").status == 403
