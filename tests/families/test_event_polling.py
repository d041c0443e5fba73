"""Apps of UK Open Banking poll for events: security event tokens about their consents and orders."""

from typing import Any

import pytest

from tests.families.test_event_subscriptions import UPDATES, bank, own, subscribe
from tests.families.test_tools import control
from tests.families.test_uk_open_banking import (
    AISP,
    BILLS,
    HOUSEHOLD,
    PISP,
    account_consent,
    ask,
    authorise,
    initiation,
    order_for,
    payment_consent,
)
from tests.support.engine_client import Client
from xs2a_sandbox.signatures import jwt

__all__ = ["bank"]  # a fixture

REVOKED = "urn:uk:org:openbanking:events:consent-authorization-revoked"
EVENTS = "/open-banking/v4.0/events"


def poll(bank: Client, bearer: str, **body: Any) -> dict[str, Any]:
    answer = ask(bank, "POST", EVENTS, bearer, body)
    assert answer.status == 200, answer.body
    told: dict[str, Any] = answer.json()
    return told


def kinds(told: dict[str, Any]) -> list[tuple[str, str]]:
    """The type and the resource type of each event."""
    found = []
    for text in told["sets"].values():
        ((kind, event),) = jwt.read(text)["claims"]["events"].items()  # type: ignore[index]
        found.append((kind, event["subject"]["http://openbanking.org.uk/rty"]))
    return found


def authorised_consent(bank: Client) -> str:
    consent, _ = account_consent(bank, "ReadBalances")
    authorise(bank, consent, "accounts", BILLS)
    return consent


def pay(bank: Client) -> str:
    order = initiation(DebtorAccount={"SchemeName": "UK.OBIE.IBAN", "Identification": HOUSEHOLD})
    mandate, _ = payment_consent(bank, order)
    bearer = authorise(bank, mandate, "payments")
    paid = ask(bank, "POST", f"{PISP}/domestic-payments", bearer, order_for(mandate, order))
    id: str = paid.json()["Data"]["DomesticPaymentId"]
    return id


def test_an_event_is_a_token_that_the_bank_has_signed(bank: Client) -> None:
    app = own(bank)
    subscribe(bank, app)
    consent = authorised_consent(bank)
    told = poll(bank, app)
    ((id, text),) = told["sets"].items()
    assert told["moreAvailable"] is False
    assert jwt.is_signed_by(text, control(bank, "GET", "jwks.json"))
    claims, header = jwt.read(text)["claims"], jwt.read(text)["header"]  # type: ignore[index]
    assert (header["typ"], claims["jti"], claims["aud"]) == ("secevent+jwt", id, "tpp")
    assert 0 <= claims["iat"] - claims["toe"] < 60
    subject = claims["events"][UPDATES]["subject"]
    assert (subject["http://openbanking.org.uk/rid"], subject["http://openbanking.org.uk/rty"]) == (
        consent,
        "account-access-consent",
    )
    assert claims["sub"] == subject["http://openbanking.org.uk/rlk"][0]["link"]
    assert claims["sub"].endswith(f"{AISP}/account-access-consents/{consent}")


def test_an_event_is_repeated_until_the_app_has_it(bank: Client) -> None:
    app = own(bank)
    subscribe(bank, app)
    pay(bank)
    told = poll(bank, app)
    assert sorted(kinds(told)) == [(UPDATES, "domestic-payment"), (UPDATES, "domestic-payment-consent")]
    assert poll(bank, app)["sets"].keys() == told["sets"].keys()
    first, second = told["sets"]
    assert [*poll(bank, app, ack=[first])["sets"]] == [second]
    failed = {second: {"err": "jwtParse", "description": "The token cannot be read"}}
    assert poll(bank, app, setErrs=failed) == {"moreAvailable": False, "sets": {}}
    assert poll(bank, app)["sets"] == {}


def test_a_later_change_is_a_new_event(bank: Client) -> None:
    app = own(bank)
    subscribe(bank, app, EventTypes=[UPDATES, REVOKED])
    consent = authorised_consent(bank)
    (first,) = poll(bank, app)["sets"]
    control(bank, "POST", f"state/consents/{consent}", {"event": "delete, kept"})
    assert kinds(poll(bank, app, ack=[first])) == [(REVOKED, "account-access-consent")]


@pytest.mark.parametrize(("most", "expected"), [(0, 0), (1, 1), (2, 2), (100, 2)])
def test_an_app_limits_the_number_of_events(bank: Client, most: int, expected: int) -> None:
    app = own(bank)
    subscribe(bank, app)
    pay(bank)
    told = poll(bank, app, maxEvents=most, returnImmediately=True)
    assert (len(told["sets"]), told["moreAvailable"]) == (expected, expected < 2)


def test_an_app_gets_only_its_own_events_of_subscribed_types(bank: Client) -> None:
    app, other = own(bank), own(bank, "other")
    subscribe(bank, other)
    authorised_consent(bank)
    assert [poll(bank, one)["sets"] for one in (app, other)] == [{}, {}]
    subscribe(bank, app, EventTypes=[REVOKED])
    authorised_consent(bank)
    assert poll(bank, app)["sets"] == {}


def test_a_new_subscription_does_not_bring_older_events(bank: Client) -> None:
    authorised_consent(bank)
    control(bank, "PUT", "clock", {"shift": "+1h"})
    app = own(bank)
    subscribe(bank, app)
    assert poll(bank, app)["sets"] == {}


def test_a_poll_needs_a_token_and_a_valid_body(bank: Client) -> None:
    answers = [ask(bank, "POST", EVENTS, "nobody's", {}), ask(bank, "POST", EVENTS, own(bank), {"ack": "all"})]
    assert [(one.status, one.json()["Errors"][0]["ErrorCode"]) for one in answers] == [(401, "U005"), (400, "U002")]


def test_a_state_has_the_time_of_its_last_change(bank: Client) -> None:
    consent, app = account_consent(bank, "ReadBalances")
    place = f"{AISP}/account-access-consents/{consent}"
    authorise(bank, consent, "accounts", BILLS)
    authorised = ask(bank, "GET", place, app).json()["Data"]
    control(bank, "PUT", "clock", {"shift": "+4m"})
    control(bank, "POST", f"state/consents/{consent}", {"event": "delete, kept"})
    revoked = ask(bank, "GET", place, app).json()["Data"]
    assert revoked["CreationDateTime"] == authorised["CreationDateTime"]
    assert revoked["StatusUpdateDateTime"] > authorised["StatusUpdateDateTime"]
