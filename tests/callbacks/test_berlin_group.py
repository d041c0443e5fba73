"""The Resource Status Notification Service of the Berlin Group."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.callbacks.asking import ServedSession
from tests.support.listener import Listener
from tests.support.serving import Serving, served
from xs2a_sandbox import WrongSignature, verify

PAYMENT = {
    "debtorAccount": {"iban": "DE47999888770000200002"},
    "creditorAccount": {"iban": "DE15999888770000300003"},
    "creditorName": "Petra Vogelsang",
    "instructedAmount": {"currency": "EUR", "amount": "12.50"},
}
CONSENT = {
    "access": {"allPsd2": "allAccounts"}, "recurringIndicator": True, "validUntil": "9999-12-31",
    "frequencyPerDay": 4, "combinedServiceIndicator": False,
}  # fmt: skip


@pytest.fixture(scope="module", params=["berlin-group-1.3", "berlin-group-1.3.11"])
def sandbox(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with served(tmp_path_factory.mktemp("sandbox"), "--dialect", request.param) as started:
        yield started


def registered(
    bank: ServedSession, path: str, body: Any, app: Listener, content: str | None, **more: str
) -> tuple[dict[str, str], Any]:
    headers = {
        "TPP_Notification_URI": app.url,
        **more,
        **({"TPP_Notification_Content_Preferred": content} if content else {}),
    }
    status, answered, value = bank.ask("POST", path, body, **headers)
    assert status == 201, value
    return answered, value


def approve(bank: ServedSession, authorisation: str) -> None:
    bank.control("POST", f"sca/{authorisation}", {"decide": "approve"})


@pytest.mark.parametrize(
    ("preferred", "offered"),
    [
        (None, "status=PROCESS"),
        ("status=SCA", "status=SCA"),
        ("status=LAST, SCA", "status=SCA, LAST"),
        ("status=PROCESS,SCA", "status=SCA, PROCESS"),
        ("nothing of this", "status=PROCESS"),
    ],
)
def test_the_answer_says_what_the_bank_will_send(
    preferred: str | None, offered: str, bank: ServedSession, app: Listener
) -> None:
    headers, value = registered(bank, "/v1/consents", CONSENT, app, preferred)
    assert headers["aspsp-notification-support"] == "true"
    assert headers["aspsp-notification-content"] == offered
    _, silent, _ = bank.ask("POST", "/v1/consents", CONSENT)
    assert not {"aspsp-notification-support", "aspsp-notification-content"} & silent.keys()
    assert value["consentId"]


def test_statuses_of_a_payment_and_its_authorisation_are_sent_in_order(bank: ServedSession, app: Listener) -> None:
    _, value = registered(bank, "/v1/payments/sepa-credit-transfers", PAYMENT, app, "status=SCA, PROCESS")
    payment, path = value["paymentId"], f"/v1/payments/sepa-credit-transfers/{value['paymentId']}"
    status, headers, started = bank.ask("POST", f"{path}/authorisations", {}, TPP_Redirect_Preferred="true")
    assert (status, headers.get("aspsp-notification-support")) == (201, None)
    approve(bank, started["authorisationId"])
    received = [sent.json() for sent in app.wait_for(2)]
    assert received == [
        {
            "paymentId": payment,
            "authorisationId": started["authorisationId"],
            "scaStatus": "finalised",
            "_links": {"scaStatus": {"href": f"{path}/authorisations/{started['authorisationId']}"}},
        },
        {
            "paymentId": payment,
            "transactionStatus": "ACSP",
            "_links": {"self": {"href": path}, "status": {"href": f"{path}/status"}},
        },
    ]
    assert bank.ask("GET", received[1]["_links"]["status"]["href"])[2]["transactionStatus"] == "ACSP"
    assert bank.ask("GET", received[0]["_links"]["scaStatus"]["href"])[2]["scaStatus"] == "finalised"


def test_a_consent_can_be_registered_with_its_authorisation(bank: ServedSession, app: Listener) -> None:
    _, _, consent = bank.ask("POST", "/v1/consents", CONSENT, TPP_Redirect_Preferred="true", PSU_ID="petra")
    id = consent["consentId"]
    headers, started = registered(
        bank, f"/v1/consents/{id}/authorisations", {}, app, "status=SCA", TPP_Redirect_Preferred="true"
    )
    assert headers["aspsp-notification-content"] == "status=SCA"
    bank.control("POST", f"sca/{started['authorisationId']}", {"decide": "decline"})
    (sent,) = app.wait_for(1)
    assert (sent.json()["consentId"], sent.json()["scaStatus"]) == (id, "failed")


def test_only_the_last_status_of_a_consent(bank: ServedSession, app: Listener) -> None:
    _, value = registered(bank, "/v1/consents", CONSENT, app, "status=LAST")
    bank.happen(value["consentId"], "authorised by all")
    bank.happen(value["consentId"], "its time is over")
    (sent,) = app.wait_for(1)
    assert sent.json()["consentStatus"] == "expired"
    assert len(bank.wait_for_state("delivered")) == 1


def test_the_status_of_a_basket_is_sent(bank: ServedSession, app: Listener) -> None:
    _, _, payment = bank.ask(
        "POST", "/v1/payments/sepa-credit-transfers", PAYMENT, TPP_Explicit_Authorisation_Preferred="true"
    )
    body = {"paymentIds": [payment["paymentId"]]}
    _, value = registered(bank, "/v1/signing-baskets", body, app, None)
    bank.happen(value["basketId"], "refused", "baskets")
    (sent,) = app.wait_for(1)
    assert (sent.json()["basketId"], sent.json()["transactionStatus"]) == (value["basketId"], "RJCT")


@pytest.mark.parametrize("form", ["signature", "jws"])
def test_a_bank_that_signs_its_answers_signs_notifications(tmp_path: Path, app: Listener, form: str) -> None:
    layer = tmp_path / "signed"
    layer.mkdir()
    (layer / "signed.yaml").write_text(f"cassette: 1\nsignatures: {{answers: {form}}}\n")
    with served(tmp_path, "--dialect", "berlin-group-1.3", "--cassettes", str(layer)) as serving:
        bank = ServedSession(serving)
        _, made = registered(bank, "/v1/consents", CONSENT, app, None)
        bank.happen(made["consentId"], "its time is over")
        (received,) = app.wait_for(1)

        bank.control("POST", "faults", {"callback": "wrong-signature", "operation": "create-consent"})
        _, made = registered(bank, "/v1/consents", CONSENT, app, None)
        bank.happen(made["consentId"], "its time is over")
        wrong = app.wait_for(2)[1]

    verify(httpx.Response(200, headers=received.headers, content=received.body))
    with pytest.raises(WrongSignature):
        verify(httpx.Response(200, headers=wrong.headers, content=wrong.body))
