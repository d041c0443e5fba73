"""What is learned at a bank with the words of NextGenPSD2: authorisations, payment products, numbers of pages."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import taped
from xs2a_sandbox.http.exchange import Exchange

FORM = [("Content-Type", "application/x-www-form-urlencoded")]
BACK = "https://kwiat.example/back"
CONSENTS = {"CO-48810021": ("OV-41494317", "tkq8vd72mz"), "CO-77120459": ("OV-55432718", "wn5c2xq9rb")}
SEPA, INSTANT = "PM2606052493", "PM2606052494"
ACCOUNT = {"resourceId": "rac-258176", "iban": "BA391991010007215851", "currency": "BAM"}
ENTRIES = [
    {"entry": f"K{52445 + number}", "bookingDate": f"2026-11-{10 + number}", "amount": 10 + number}
    for number in range(5)
]
ASK = {"access": {"allPsd2": "allAccounts"}, "validUntil": "2027-01-01"}


def consent(id: str, status: str) -> dict[str, Any]:
    authorisation, page = CONSENTS[id]
    place = f"/v1/consents/{id}"
    links = {"scaRedirect": f"/sign/{page}", "scaStatus": f"{place}/authorisations/{authorisation}"}
    return {"consentId": id, "consentStatus": status, "_links": links}


def pay(amount: float, **more: Any) -> dict[str, Any]:
    return {"debtorAccount": {"iban": ACCOUNT["iban"]}, "creditorName": "Jasen", "amount": amount, **more}


def payment(product: str, id: str, page: str) -> dict[str, Any]:
    links = {"self": f"/v1/payments/{product}/{id}", "scaRedirect": f"/sign/{page}"}
    return {"paymentId": id, "transactionStatus": "RCVD", "_links": links}


def entries(page: int) -> dict[str, Any]:
    shown = ENTRIES[page * 2 - 2 : page * 2]
    return {"page": page, "pages": 3, **({"nextPage": page + 1} if page < 3 else {}), "transactions": shown}


def record() -> Iterator[Exchange]:
    def sign(page: str, choice: str, at: int) -> Exchange:
        sent = f"user=ajla&word=Most-11&choice={choice}".encode()
        said = [("Location", f"{BACK}?result={'ok' if choice == 'yes' else 'no'}")]
        return taped(f"/sign/{page}", None, "POST", headers=FORM, body=sent, status=302, answer_headers=said, at=at)

    for at, id in enumerate(CONSENTS, 1):
        yield taped("/v1/consents", consent(id, "received"), "POST", body=ASK | {"back": BACK}, status=201, at=at)
    first, second = CONSENTS
    yield sign(CONSENTS[first][1], "yes", 3)
    yield taped(f"/v1/consents/{first}", ASK | {"consentId": first, "consentStatus": "valid"}, at=4)
    yield sign(CONSENTS[second][1], "no", 5)
    yield taped(f"/v1/consents/{second}", ASK | {"consentId": second, "consentStatus": "rejected"}, at=6)
    use = [("Consent-ID", first)]
    yield taped("/v1/accounts", {"accounts": [ACCOUNT]}, headers=use, at=7)
    for page in (1, 2, 3):
        path = f"/v1/accounts/{ACCOUNT['resourceId']}/transactions?size=2" + (f"&page={page}" if page > 1 else "")
        yield taped(path, entries(page), headers=use, at=7 + page)
    yield taped("/v1/accounts/rac-000000/transactions?size=2", {"code": "UNKNOWN"}, headers=use, status=404, at=11)
    sent: dict[str, Any] = {"body": pay(84.5, back=BACK), "status": 201}
    yield taped("/v1/payments/sepa", payment("sepa", SEPA, "hx7d2mk9qv"), "POST", at=12, **sent)
    yield sign("hx7d2mk9qv", "yes", 13)
    yield taped(
        f"/v1/payments/sepa/{SEPA}", {"paymentId": SEPA, "transactionStatus": "ACTC", "creditorName": "Jasen"}, at=14
    )
    yield taped("/v1/payments/sepa/PM0000000000", {"code": "UNKNOWN"}, status=404, at=15)
    sent = {"body": pay(60, back=BACK), "status": 201}
    yield taped("/v1/payments/instant", payment("instant", INSTANT, "zb4w8cn3tr"), "POST", at=16, **sent)
    yield sign("zb4w8cn3tr", "yes", 17)
    yield taped(f"/v1/payments/instant/{INSTANT}/status", {"transactionStatus": "ACSC"}, at=18)


@pytest.fixture
def app() -> LearnedApp:
    return LearnedApp(learn_text(record()))


def sign(app: LearnedApp, page: str, choice: str) -> None:
    sent = f"user=ajla&word=Most-11&choice={choice}".encode()
    assert app.answer("POST", page, sent, dict(FORM)).status == 302


def test_every_consent_has_a_link_to_an_authorisation_of_its_own(app: LearnedApp) -> None:
    made = [app.send("POST", "/v1/consents", ASK | {"back": BACK})[1] for _ in range(2)]
    links = [one["_links"]["scaStatus"] for one in made]
    assert len(set(links)) == 2
    for one, link in zip(made, links, strict=True):
        assert re.fullmatch(rf"/v1/consents/{one['consentId']}/authorisations/OV-\d{{8}}", link)


@pytest.mark.parametrize(("choice", "status"), [("yes", "finalised"), ("no", "failed")])
def test_an_authorisation_that_nobody_has_read_shows_its_state(app: LearnedApp, choice: str, status: str) -> None:
    links = app.send("POST", "/v1/consents", ASK | {"back": BACK})[1]["_links"]
    assert app.send("GET", links["scaStatus"]) == (200, {"scaStatus": "received"})
    sign(app, links["scaRedirect"], choice)
    assert app.send("GET", links["scaStatus"]) == (200, {"scaStatus": status})


def test_a_product_has_the_operations_that_were_recorded_for_another(app: LearnedApp) -> None:
    made = app.send("POST", "/v1/payments/instant", pay(15, back=BACK))[1]
    sign(app, made["_links"]["scaRedirect"], "yes")
    shown = {"paymentId": made["paymentId"], "transactionStatus": "ACSC", "creditorName": "Jasen"}
    assert app.send("GET", made["_links"]["self"]) == (200, shown)
    assert app.send("GET", "/v1/payments/instant/PM0000000000") == (404, {"code": "UNKNOWN"})


def test_an_answer_has_the_number_of_the_next_page_if_there_is_one(app: LearnedApp) -> None:
    made = app.send("POST", "/v1/consents", ASK | {"back": BACK})[1]
    sign(app, made["_links"]["scaRedirect"], "yes")
    use = {"Consent-ID": made["consentId"]}
    path = f"/v1/accounts/{ACCOUNT['resourceId']}/transactions?size=3"
    first, last = (app.send("GET", f"{path}{page}", None, use)[1] for page in ("", "&page=2"))
    assert (first["pages"], first["nextPage"], len(first["transactions"])) == (2, 2, 3)
    assert "nextPage" not in last
