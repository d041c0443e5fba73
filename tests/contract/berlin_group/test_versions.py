"""Additions of versions 1.3.12 to 1.3.16 of NextGenPSD2. The dialect of 1.3.11 has none of them."""

import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.contract.berlin_group.conftest import JOINT, OSKAR, PETRA, Tpp, error
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.features.pytest.in_process import LoopThread
from xs2a_sandbox.features.pytest.sandbox import httpx_transport

CARD = "5a2e6c10-84f7-4d0b-9b3e-c1d7708f4a01"
RUTH = "DE48999888770000500005"
PAYMENT: dict[str, Any] = {
    "debtorAccount": {"iban": OSKAR},
    "instructedAmount": {"currency": "EUR", "amount": "12.50"},
    "creditorAccount": {"iban": PETRA},
    "creditorName": "Petra Vogelsang",
}
ENTRY = {name: value for name, value in PAYMENT.items() if name != "debtorAccount"}
BULK = {"debtorAccount": {"iban": OSKAR}, "payments": [ENTRY, ENTRY], "categoryPurposeCode": "SALA"}
ORDER = {**PAYMENT, "frequency": "Monthly"}
EMBEDDED = {"TPP-Redirect-Preferred": "false"}
OWNER = [{"name": "Oskar Petersen", "role": "owner"}]
SEPA, INSTANT = "sepa-credit-transfers", "instant-sepa-credit-transfers"


@pytest.fixture(scope="module")
def older_bank() -> Iterator[httpx.Client]:
    engine, loop = build(Settings(state="memory:", dialect="berlin-group-1.3.11")), LoopThread()
    yield httpx.Client(base_url="http://bank.example", transport=httpx_transport(engine.answer, loop))
    loop.close()


@pytest.fixture
def older(older_bank: httpx.Client) -> Tpp:
    """A TPP of a bank with version 1.3.11."""
    return Tpp(older_bank, f"/s/test-{uuid.uuid4().hex}")


def pay(tpp: Tpp, body: Any, service: str = "payments", product: str = SEPA, **headers: str) -> httpx.Response:
    sent = {**EMBEDDED, "PSU-ID": "oskar", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return tpp.request("POST", f"/v1/{service}/{product}", json=body, headers=sent)


def authorised(tpp: Tpp, made: httpx.Response, psu: str = "oskar") -> tuple[str, str]:
    """Return the paths of a payment that the customer has authorised, and of its authorisation."""
    path = made.json()["_links"]["updatePsuAuthentication"]["href"]
    assert tpp.authorise(path, psu) == "finalised"
    return made.headers["location"], path


def accounts(tpp: Tpp, psu: str, kind: str = "allAccountsWithOwnerName") -> tuple[str, list[Any]]:
    id = tpp.consent({"allPsd2": kind}, psu)
    return id, tpp.get("/v1/accounts", consent=id).json()["accounts"]


@pytest.mark.berlin_group("versions-names")
def test_a_business_account_names_the_company_and_its_representative(tpp: Tpp) -> None:
    _, (account, *_) = accounts(tpp, "ruth")
    assert account["ownerName"] == "Harmsen Segelmacherei"
    assert account["ownerNames"] == [{"name": "Harmsen Segelmacherei", "role": "owner"}]
    assert account["psuName"] == "Ruth Harmsen"


@pytest.mark.berlin_group("versions-names")
def test_a_joint_account_names_each_holder(tpp: Tpp) -> None:
    joint = [{"iban": JOINT}]
    access = {"accounts": joint, "additionalInformation": {"ownerName": joint}}
    made = tpp.consents(access, headers={**EMBEDDED, "PSU-ID": "oskar"})
    for psu in ("oskar", "petra"):
        path = f"/v1/consents/{made.json()['consentId']}/authorisations"
        begun = tpp.request("POST", path, headers={**EMBEDDED, "PSU-ID": psu})
        assert tpp.authorise(begun.headers["location"], psu) == "finalised"

    (account,) = tpp.get("/v1/accounts", consent=made.json()["consentId"]).json()["accounts"]
    assert [owner["name"] for owner in account["ownerNames"]] == ["Oskar Petersen", "Petra Vogelsang"]


@pytest.mark.berlin_group("versions-names")
def test_names_need_permission_to_see_the_owner(tpp: Tpp) -> None:
    _, found = accounts(tpp, "oskar", "allAccounts")
    assert not any({"ownerName", "ownerNames", "psuName"} & set(account) for account in found)


@pytest.mark.berlin_group("versions-names")
def test_the_status_of_an_authorised_payment_names_its_payer(tpp: Tpp) -> None:
    made = pay(tpp, PAYMENT)
    assert tpp.get(f"{made.headers['location']}/status").json() == {"transactionStatus": "RCVD"}

    path, authorisation = authorised(tpp, made)
    assert tpp.get(f"{path}/status").json() == {
        "transactionStatus": "ACSP",
        "ownerNames": OWNER,
        "psuName": "Oskar Petersen",
    }
    assert tpp.get(authorisation).json() == {"scaStatus": "finalised", "psuName": "Oskar Petersen"}


@pytest.mark.berlin_group("versions-names")
def test_an_unfinished_authorisation_names_nobody(tpp: Tpp) -> None:
    path = pay(tpp, PAYMENT).json()["_links"]["scaStatus"]["href"]
    assert tpp.get(path).json() == {"scaStatus": "psuIdentified"}


@pytest.mark.berlin_group("versions-cheques")
def test_cheques_are_listed_by_deposit_date(tpp: Tpp) -> None:
    consent, (account, franc, *_) = accounts(tpp, "ruth")
    path = account["_links"]["cheques"]["href"]
    assert "cheques" not in franc["_links"]

    body = tpp.get(path, consent=consent, params={"dateFrom": "2020-01-01"}).json()
    assert body["account"] == {"iban": RUTH, "currency": "EUR"}
    deposited, paid = body["cheques"]
    assert deposited.keys() == {
        "chequeNumber",
        "chequeType",
        "nominalAmount",
        "expectedPayoutAmount",
        "chequeDepositStatus",
        "depositDate",
        "chequeMaturityDate",
    }
    assert (paid["chequeDepositStatus"], paid["payoutAmount"]) == ("paidOut", {"currency": "EUR", "amount": "75.00"})

    def numbers(**query: str) -> list[str]:
        cheques = tpp.get(path, consent=consent, params=query).json()["cheques"]
        return [cheque["chequeNumber"] for cheque in cheques]

    assert numbers(dateFrom=deposited["depositDate"]) == ["0004711"]
    assert numbers(dateFrom="2020-01-01", dateTo=paid["depositDate"]) == ["0004698"]
    wrong = tpp.get(path, consent=consent, params={"dateFrom": "2021-01-01", "dateTo": "2020-01-01"})
    assert error(wrong) == (400, "PERIOD_INVALID")


@pytest.mark.berlin_group("versions-cheques")
def test_cheques_need_permission_for_transactions(tpp: Tpp) -> None:
    id = tpp.consent({"balances": [{"iban": RUTH}]}, "ruth")
    (account,) = tpp.get("/v1/accounts", consent=id).json()["accounts"]
    assert "cheques" not in account["_links"]
    path = f"/v1/accounts/{account['resourceId']}/cheques"
    assert error(tpp.get(path, consent=id, params={"dateFrom": "2020-01-01"})) == (401, "CONSENT_INVALID")


def acceptors(tpp: Tpp) -> list[Any]:
    id = tpp.consent({"allPsd2": "allAccounts"})
    query = {"bookingStatus": "booked", "dateFrom": "2020-01-01"}
    body = tpp.get(f"/v1/card-accounts/{CARD}/transactions", consent=id, params=query).json()
    return [entry.get("cardAcceptorName") for entry in body["cardTransactions"]["booked"]]


@pytest.mark.berlin_group("versions-acceptor")
def test_a_card_entry_names_the_acceptor(tpp: Tpp) -> None:
    assert "Gasthof Ankerplatz" in acceptors(tpp)


@pytest.mark.berlin_group("versions-older")
def test_the_older_version_names_no_acceptor(older: Tpp) -> None:
    assert set(acceptors(older)) == {None}


@pytest.mark.berlin_group("versions-extended-status")
def test_extended_status_of_a_bulk(tpp: Tpp) -> None:
    later = {**BULK, "requestedExecutionDate": "2999-01-31"}
    path, _ = authorised(tpp, pay(tpp, later, "bulk-payments"))
    assert tpp.get(f"{path}/extended-status").json() == {
        "groupStatus": "ACTC",
        "fundsAvailable": True,
        "ownerNames": OWNER,
    }

    much = {**ENTRY, "instructedAmount": {"currency": "EUR", "amount": "99999.00"}}
    path = pay(tpp, {**BULK, "payments": [ENTRY, much]}, "bulk-payments").headers["location"]
    assert tpp.get(f"{path}/extended-status").json() == {"groupStatus": "RJCT", "reasonCode": "AM04"}

    path = pay(tpp, BULK, "bulk-payments").headers["location"]
    assert tpp.request("DELETE", path).status_code == 204
    assert tpp.get(f"{path}/extended-status").json() == {"groupStatus": "RJCT", "reasonPropietary": "cancelled"}


@pytest.mark.berlin_group("versions-extended-status")
def test_only_a_bulk_has_an_extended_status(tpp: Tpp) -> None:
    path = pay(tpp, PAYMENT).headers["location"]
    assert tpp.get(f"{path}/extended-status").status_code == 404
    as_a_bulk = path.replace("/payments/", "/bulk-payments/")
    assert error(tpp.get(f"{as_a_bulk}/extended-status")) == (403, "RESOURCE_UNKNOWN")


@pytest.mark.berlin_group("versions-standing-orders")
def test_a_standing_order_without_a_start_date_starts_at_once(tpp: Tpp) -> None:
    path, _ = authorised(tpp, pay(tpp, ORDER, "periodic-payments"))
    assert tpp.get(f"{path}/status").json()["transactionStatus"] == "ACSP"
    assert "startDate" not in tpp.get(path).json()


@pytest.mark.berlin_group("versions-standing-orders")
def test_start_times_are_only_for_instant_standing_orders(tpp: Tpp) -> None:
    moments = {"startDateTime": "2999-01-31T09:30:00+01:00", "endDateTime": "2999-03-31T09:30:00+01:00"}
    order = {**ORDER, **moments}
    path, _ = authorised(tpp, pay(tpp, order, "periodic-payments", INSTANT))
    assert tpp.get(f"{path}/status").json()["transactionStatus"] == "ACTC"
    assert moments.items() <= tpp.get(path).json().items()

    assert error(pay(tpp, order, "periodic-payments")) == (400, "FORMAT_ERROR")
    turned = {**order, "endDateTime": "2998-01-01T00:00:00Z"}
    assert error(pay(tpp, turned, "periodic-payments", INSTANT)) == (400, "PERIOD_INVALID")


@pytest.mark.parametrize("accounts", [[], [{"iban": OSKAR}]])
@pytest.mark.berlin_group("versions-statements")
def test_statements_are_not_offered(tpp: Tpp, accounts: Any) -> None:
    answer = tpp.consents({"accounts": [{"iban": OSKAR}], "statements": accounts}, headers={"PSU-ID": "oskar"})
    assert error(answer) == (400, "PARAMETER_NOT_SUPPORTED")


@pytest.mark.parametrize(
    ("service", "body"), [("payments", PAYMENT), ("bulk-payments", BULK), ("periodic-payments", ORDER)]
)
@pytest.mark.berlin_group("versions-payee")
def test_an_initiation_accepts_the_headers_about_verification_of_payees(tpp: Tpp, service: str, body: Any) -> None:
    made = pay(tpp, body, service, Client_VOP_Requested="true", Client_VOP_Request_ID=str(uuid.uuid4()))
    assert (made.status_code, made.headers["aspsp-vop-supported"]) == (201, "true")
    assert made.json()["transactionStatus"] == "RCVD"


@pytest.mark.berlin_group("versions-older")
def test_the_older_version_names_only_the_owner(older: Tpp) -> None:
    _, (account, *_) = accounts(older, "ruth")
    assert account["ownerName"] == "Harmsen Segelmacherei"
    assert not {"ownerNames", "psuName"} & set(account)
    assert account["_links"].keys() == {"balances", "transactions"}

    path, authorisation = authorised(older, pay(older, PAYMENT))
    assert older.get(f"{path}/status").json() == {"transactionStatus": "ACSP"}
    assert older.get(authorisation).json() == {"scaStatus": "finalised"}


@pytest.mark.berlin_group("versions-older")
def test_the_older_version_lacks_the_newer_paths(older: Tpp) -> None:
    consent, (account, *_) = accounts(older, "ruth")
    cheques = f"/v1/accounts/{account['resourceId']}/cheques"
    assert older.get(cheques, consent=consent, params={"dateFrom": "2020-01-01"}).status_code == 404
    bulk = pay(older, BULK, "bulk-payments").headers["location"]
    assert older.get(f"{bulk}/extended-status").status_code == 404


@pytest.mark.berlin_group("versions-older")
def test_the_older_version_requires_the_start_date_of_a_standing_order(older: Tpp) -> None:
    refused = pay(older, {**ORDER, "startDateTime": "2999-01-31T09:30:00+01:00"}, "periodic-payments", INSTANT)
    assert error(refused) == (400, "FORMAT_ERROR")
    assert refused.json()["tppMessages"][0]["path"] == "/startDate"
    made = pay(older, {**ORDER, "startDate": "2999-01-31"}, "periodic-payments")
    path, _ = authorised(older, made)
    assert "aspsp-vop-supported" not in made.headers
    assert older.get(f"{path}/status").json()["transactionStatus"] == "ACTC"


@pytest.mark.berlin_group("versions-older")
def test_the_older_version_has_no_statements(older: Tpp) -> None:
    made = older.consents({"accounts": [{"iban": OSKAR}], "statements": []}, headers={"PSU-ID": "oskar"})
    assert made.status_code == 201
