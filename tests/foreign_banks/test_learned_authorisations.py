"""What is learned about authorisations with steps, and what those of consents show about those of payments."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import taped
from xs2a_sandbox.http.exchange import Exchange

CONSENTS = {"CO-48810021": "OV-41494317", "CO-77120459": "OV-55432718"}
ACCOUNT = {"resourceId": "rac-258176", "iban": "BA391991010007215851", "currency": "BAM"}
PAYMENT, SIGNING = "PM2606052493", "OV-81627944"
ANNA, BERND = ("anna.lind", "Hawthorn-42"), ("bernd.au", "Untersberg-72")
METHODS = [{"id": "7712", "name": "SMS"}, {"id": "3390", "name": "App"}]
PAY: dict[str, Any] = {"endToEndId": "RENT-1107", "payer": ACCOUNT["iban"], "amount": 84.5, "payee": "Jasen"}
ASK = {"access": {"allPsd2": "allAccounts"}, "validUntil": "9999-12-31"}
UNKNOWN = {"code": "UNKNOWN", "text": "There is no such thing"}
WRONG_PASSWORD = {"code": "WRONG", "member": "password"}
WRONG_CODE = {"code": "WRONG_CODE", "member": "tan"}
DUPLICATE = {"code": "DUPLICATE", "member": "endToEndId"}


def named(customer: tuple[str, str], number: int) -> list[tuple[str, str]]:
    return [("PSU-ID", customer[0]), *asked(number)]


def asked(number: int) -> list[tuple[str, str]]:
    return [("X-Request-ID", f"28cabdf5-c387-47cc-acc7-ae2a52db{number:04}")]


def record() -> Iterator[Exchange]:
    """Yield a journey in which Anna can choose how she signs and Bernd cannot. Only he signs a payment."""
    first, second = CONSENTS

    def start(thing: str, id: str, at: int, *, customer: tuple[str, str] = BERND) -> Exchange:
        answer = {"authorisationId": id, "scaStatus": "started"}
        headers = named(customer, at)
        return taped(f"{thing}/authorisations", answer, "POST", headers=headers, status=201, at=at)

    def step(thing: str, id: str, at: int, sent: Any, said: Any, status: int = 200) -> Exchange:
        answer = {"authorisationId": id, **said} if status == 200 else said
        headers = asked(at)
        return taped(f"{thing}/authorisations/{id}", answer, "PUT", headers=headers, body=sent, status=status, at=at)

    yield taped("/v1/consents", {"code": "FORMAT", "header": "X-Request-ID"}, "POST", body=ASK, status=400, at=0)
    for at, id in enumerate(CONSENTS, 1):
        answer = {"consentId": id, "consentStatus": "received"}
        yield taped("/v1/consents", answer, "POST", headers=asked(at), body=ASK, status=201, at=at)
    consent, id = f"/v1/consents/{first}", CONSENTS[first]
    yield start(consent, id, 4)
    yield step(consent, id, 5, {"password": "Untersberg-27"}, WRONG_PASSWORD, 401)
    yield step(consent, id, 6, {"password": BERND[1]}, {"scaStatus": "codeSent", "method": METHODS[0]})
    yield step(consent, id, 7, {"tan": "271045"}, {"scaStatus": "finalised", "consentStatus": "valid"})
    yield taped(consent, {"consentId": first, "consentStatus": "valid"}, headers=asked(8), at=8)
    use = [("Consent-ID", first), *asked(9)]
    yield taped("/v1/accounts", {"accounts": [ACCOUNT]}, headers=use, at=9)
    consent, id = f"/v1/consents/{second}", CONSENTS[second]
    yield start(consent, id, 10, customer=ANNA)
    yield step(consent, id, 11, {"password": ANNA[1]}, {"scaStatus": "authenticated", "methods": METHODS})
    yield step(consent, id, 12, {"method": "3390"}, {"scaStatus": "codeSent", "method": METHODS[1]})
    yield step(consent, id, 13, {"tan": "111111"}, WRONG_CODE, 401)
    yield taped(consent, {"consentId": second, "consentStatus": "rejected"}, headers=asked(14), at=14)
    yield taped("/v1/consents/CO-00000000", UNKNOWN, headers=asked(15), status=404, at=15)
    answer = {"paymentId": PAYMENT, "transactionStatus": "RCVD"}
    yield taped("/v1/payments", answer, "POST", headers=asked(16), body=PAY, status=201, at=16)
    yield taped("/v1/payments", DUPLICATE, "POST", headers=asked(17), body=PAY, status=409, at=17)
    payment = f"/v1/payments/{PAYMENT}"
    yield start(payment, SIGNING, 18)
    yield step(payment, SIGNING, 19, {"password": BERND[1]}, {"scaStatus": "codeSent", "method": METHODS[0]})
    yield step(payment, SIGNING, 20, {"tan": "271045"}, {"scaStatus": "finalised", "transactionStatus": "ACTC"})
    done = {"paymentId": PAYMENT, "transactionStatus": "ACSC", "settlementDate": "2026-11-20", **PAY}
    yield taped(payment, done, headers=asked(21), at=500)


@pytest.fixture(scope="module")
def text() -> str:
    return learn_text(record())


@pytest.fixture
def app(text: str) -> LearnedApp:
    return LearnedApp(text)


class Signing:
    """An authorisation of a new payment."""

    def __init__(self, app: LearnedApp, customer: str, reference: str) -> None:
        self._app, self._number = app, 100
        sent = {**PAY, "endToEndId": reference}
        made = app.send("POST", "/v1/payments", sent, dict(asked(int(reference[-4:]))))[1]
        self.payment = f"/v1/payments/{made['paymentId']}"
        headers = {"PSU-ID": customer, **dict(asked(int(reference[-4:]) + 1000))}
        started = app.send("POST", f"{self.payment}/authorisations", None, headers)[1]
        self.path = f"{self.payment}/authorisations/{started['authorisationId']}"

    def send(self, **sent: str) -> tuple[int, Any]:
        self._number += 1
        status, said = self._app.send("PUT", self.path, sent, dict(asked(self._number)))
        return status, said

    @property
    def state(self) -> str:
        return str(self._app.send("GET", self.payment, None, dict(asked(98)))[1]["transactionStatus"])


def test_a_payment_is_signed_with_the_steps_that_only_a_consent_has_shown(app: LearnedApp) -> None:
    signing = Signing(app, ANNA[0], "RENT-2001")
    assert signing.send(password=ANNA[1])[1]["methods"] == METHODS
    status, said = signing.send(method="3390")
    assert (status, said["method"]) == (200, METHODS[1])
    assert signing.send(tan="271045")[1]["transactionStatus"] == "ACTC"
    assert signing.state == "ACTC"


def test_a_wrong_code_rejects_a_payment_as_it_has_rejected_a_consent(app: LearnedApp) -> None:
    signing = Signing(app, BERND[0], "RENT-2002")
    assert signing.send(password="Untersberg-27") == (401, WRONG_PASSWORD)
    assert signing.send(password=BERND[1])[1]["scaStatus"] == "codeSent"
    assert signing.send(tan="111111") == (401, WRONG_CODE)
    assert signing.state == "RJCT"


def test_a_customer_whom_nobody_has_recorded_may_correct_a_mistake(app: LearnedApp) -> None:
    signing = Signing(app, "cara.ems", "RENT-2003")
    assert signing.send(password="Ems-1")[0] == 200
    assert signing.send(password="Ems-11")[0] == 200
    other = Signing(app, "cara.ems", "RENT-2004")
    assert other.send(password="Ems-1") == (401, WRONG_PASSWORD)
    assert other.send(password="Ems-11")[0] == 200


def test_what_is_like_that_of_another_kind_is_marked_as_a_guess(text: str) -> None:
    assert "ACTC: PUT /v1/payments/{payment}/authorisations/{authorisation} (exchange 20)" in text
    assert "RJCT: PUT /v1/payments/{payment}/authorisations/{authorisation} (a guess, like exchange 13)" in text
    assert "# wrong-code: a guess, like exchange 13; record such a request to be sure" in text


def test_a_payment_shows_the_day_of_its_settlement_only_when_it_is_settled(app: LearnedApp) -> None:
    signing = Signing(app, BERND[0], "RENT-2005")
    shown = app.send("GET", signing.payment, None, dict(asked(97)))[1]
    assert shown == {"paymentId": signing.payment.rpartition("/")[2], "transactionStatus": "RCVD"} | PAY | {
        "endToEndId": "RENT-2005"
    }


def test_a_reference_that_an_error_has_named_cannot_be_used_again(app: LearnedApp) -> None:
    sent = {**PAY, "endToEndId": "RENT-2006"}
    assert app.send("POST", "/v1/payments", sent, dict(asked(1)))[0] == 201
    assert app.send("POST", "/v1/payments", sent, dict(asked(2))) == (409, DUPLICATE)


def test_an_id_of_a_request_must_be_a_uuid_if_all_were(app: LearnedApp) -> None:
    status, said = app.send("POST", "/v1/consents", ASK, {"X-Request-ID": "request-20"})
    assert (status, said) == (400, {"code": "FORMAT", "header": "X-Request-ID"})
