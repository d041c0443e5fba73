"""Accounts, balances and transactions."""

from decimal import Decimal
from operator import itemgetter
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.contract.answers import is_date, is_iban
from tests.contract.doors import Bank

spec = pytest.mark.spec

ACCOUNT = {
    "resourceId",
    "iban",
    "currency",
    "name",
    "product",
    "cashAccountType",
    "status",
    "bic",
    "linkedAccounts",
    "usage",
    "details",
    "_links",
}
REFERENCE = {"iban", "bban", "pan", "maskedPan", "msisdn", "currency"}
BALANCE = {"balanceAmount", "balanceType", "lastChangeDateTime", "referenceDate", "lastCommittedTransaction"}
RECORD = {
    "transactionId",
    "entryReference",
    "endToEndId",
    "mandateId",
    "checkId",
    "creditorId",
    "bookingDate",
    "valueDate",
    "transactionAmount",
    "currencyExchange",
    "creditorName",
    "creditorAccount",
    "creditorAgent",
    "ultimateCreditor",
    "debtorName",
    "debtorAccount",
    "debtorAgent",
    "ultimateDebtor",
    "remittanceInformationUnstructured",
    "remittanceInformationUnstructuredArray",
    "remittanceInformationStructured",
    "remittanceInformationStructuredArray",
    "additionalInformation",
    "additionalInformationStructured",
    "purposeCode",
    "bankTransactionCode",
    "proprietaryBankTransactionCode",
    "balanceAfterTransaction",
    "_links",
}
STANDING_ORDER = {
    "startDate",
    "frequency",
    "endDate",
    "executionRule",
    "withinAMonthFlag",
    "monthsOfExecution",
    "multiplicator",
    "dayOfExecution",
    "limitAmount",
}
KINDS = ("booked", "pending", "information")
STATUSES = ("both", *KINDS)


@pytest.fixture
def everything(bank: Bank) -> str:
    """Return a consent that covers all accounts."""
    answer = bank.post("/v1/consents", json=bodies.consent())
    assert answer.json()["consentStatus"] == "valid"
    return answer.json()["consentId"]


def documented(iban: str) -> dict[str, Any]:
    """Return the account as in the list, without balances."""
    account = facts.accounts()[iban]
    return {
        "resourceId": iban,
        "iban": iban,
        "currency": account["currency"],
        "name": account["name"],
        "product": account["product"],
        "cashAccountType": None,
        "status": None,
        "bic": account["bic"],
        "linkedAccounts": None,
        "usage": None,
        "details": None,
        "_links": {
            "balances": {"href": f"/v1/accounts/{iban}/balances"},
            "transactions": {"href": f"/v1/accounts/{iban}/transactions"},
        },
    }


def documented_balances(iban: str) -> list[dict[str, Any]]:
    return [
        {
            "balanceAmount": {
                "currency": facts.accounts()[iban]["currency"],
                "amount": known["balanceAmount"]["amount"],
            },
            "balanceType": known["balanceType"],
            "lastChangeDateTime": None,
            "referenceDate": known["referenceDate"],
            "lastCommittedTransaction": None,
        }
        for known in facts.accounts()[iban]["balances"]
    ]


def transactions(bank: Bank, iban: str, consent: str, status: str, **dates: str) -> Any:
    answer = bank.get(f"/v1/accounts/{iban}/transactions", consent=consent, query={"bookingStatus": status, **dates})
    assert answer.status == 200
    return answer.json()


def numbers(records: list[Any]) -> list[str]:
    return sorted(record["transactionId"] for record in records)


# -- accounts


@spec("2.1-valid")
@spec("2.6-resource-id")
@spec("2.6-iban")
@spec("2.6-currency")
@spec("2.6-name")
@spec("2.6-product")
@spec("2.6-nulls")
@spec("2.6-bic")
@spec("2.6-links-balances")
@spec("2.6-links-transactions")
@spec("4.1-account-list")
@spec("4.1-rule-3")
@spec("1-accounts")
@spec("2-nulls")
@pytest.mark.parametrize("consent_id", facts.tied().values())
@pytest.mark.parametrize("path", ["/v1/accounts/", "/v1/accounts", "/v1/accounts/?withBalance=false"])
def test_list_of_a_preconfigured_consent(bank: Bank, consent_id: str, path: str) -> None:
    answer = bank.get(path, consent=consent_id)

    assert answer.status == 200
    assert answer.json() == {"accounts": [documented(facts.covered(consent_id))]}


@spec("2.1-valid")
@pytest.mark.parametrize("consent_id", facts.tied().values())
def test_a_valid_consent_gives_access_to_its_account(bank: Bank, consent_id: str) -> None:
    own = f"/v1/accounts/{facts.covered(consent_id)}"

    for path in ("/v1/accounts/", own, f"{own}/balances", f"{own}/transactions?bookingStatus=both"):
        assert bank.get(path, consent=consent_id).status == 200


@spec("4.1-rule-3")
@spec("4.3-account-list")
@spec("reading-account-list-bare")
def test_the_list_contains_the_covered_accounts(bank: Bank, everything: str) -> None:
    for path in ("/v1/accounts/", "/v1/accounts"):
        listed = bank.get(path, consent=everything).json()["accounts"]
        assert {account["resourceId"] for account in listed} == set(facts.accounts())
        assert len(listed) == len(facts.accounts())
        assert all(account.keys() == ACCOUNT for account in listed)


@spec("4.1-account")
@spec("2.6-resource-id")
@spec("2.6-iban")
@spec("2.6-currency")
@spec("2.6-name")
@spec("2.6-product")
@spec("2.6-nulls")
@spec("2.6-bic")
@spec("2.6-links-balances")
@spec("2.6-links-transactions")
@spec("2-nulls")
@spec("reading-account-bare")
@spec("reading-trailing-slash")
@pytest.mark.parametrize("tail", ["", "/", "?withBalance=false", "/?withBalance=false"])
def test_a_single_account_has_no_wrapper(bank: Bank, tail: str) -> None:
    for consent_id in facts.tied().values():
        iban = facts.covered(consent_id)
        answer = bank.get(f"/v1/accounts/{iban}{tail}", consent=consent_id)
        assert answer.status == 200
        assert answer.json() == documented(iban)


@spec("2.6-balances")
@spec("4.1-rule-2")
@pytest.mark.parametrize("tail", ["?withBalance=true", "/?withBalance=true"])
def test_with_balance_adds_the_balances(bank: Bank, tail: str) -> None:
    iban = facts.covered()

    listed = bank.get(f"/v1/accounts{tail}", consent=facts.consent())
    single = bank.get(f"/v1/accounts/{iban}{tail}", consent=facts.consent())

    assert single.status == listed.status == 200
    assert single.json() == {**documented(iban), "balances": documented_balances(iban)}
    assert listed.json() == {"accounts": [single.json()]}


@spec("2.6-balances")
@spec("2.7-currency")
@spec("2.7-amount")
@spec("2.7-balance-type")
@spec("2.7-last-change")
@spec("2.7-reference-date")
@spec("2.7-last-committed")
@spec("2-amounts")
@spec("2-currencies")
@spec("2-dates")
@spec("2-nulls")
def test_with_balance_for_every_account(bank: Bank, everything: str) -> None:
    query = {"withBalance": "true"}
    listed = bank.get("/v1/accounts/", consent=everything, query=query).json()["accounts"]

    records = [{**documented(iban), "balances": documented_balances(iban)} for iban in facts.accounts()]
    assert sorted(listed, key=itemgetter("iban")) == sorted(records, key=itemgetter("iban"))
    for record in records:
        assert bank.get(f"/v1/accounts/{record['iban']}", consent=everything, query=query).json() == record


@spec("reading-with-balance")
@pytest.mark.parametrize("value", ["maybe", "1", "TRUE", "", "yes"])
@pytest.mark.parametrize("path", ["/v1/accounts/", f"/v1/accounts/{facts.covered()}"], ids=["list", "account"])
def test_with_balance_must_be_true_or_false(bank: Bank, path: str, value: str) -> None:
    answer = bank.get(path, consent=facts.consent(), query={"withBalance": value})

    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")


# -- balances


@spec("2.7-currency")
@spec("2.7-amount")
@spec("2.7-balance-type")
@spec("2.7-last-change")
@spec("2.7-reference-date")
@spec("2.7-last-committed")
@spec("2-amounts")
@spec("2-currencies")
@spec("2-dates")
@spec("2-nulls")
@spec("4.1-balances")
def test_balances(bank: Bank, everything: str) -> None:
    for iban, account in facts.accounts().items():
        answer = bank.get(f"/v1/accounts/{iban}/balances", consent=everything)
        assert answer.status == 200
        assert answer.json() == {"account": None, "balances": documented_balances(iban)}
        assert {known["balanceType"] for known in account["balances"]} <= {"forwardAvailable", "interimAvailable"}
        assert all(is_date(balance["referenceDate"]) for balance in answer.json()["balances"])
        assert bank.get(f"/v1/accounts/{iban}/balances/", consent=everything).json() == answer.json()


@spec("2.7-amount")
@spec("reading-testdata")
def test_a_balance_can_be_negative(bank: Bank, everything: str) -> None:
    listed = bank.get("/v1/accounts/", consent=everything, query={"withBalance": "true"}).json()["accounts"]
    amounts = [balance["balanceAmount"]["amount"] for account in listed for balance in account["balances"]]

    assert any(Decimal(amount) < 0 for amount in amounts)


# -- transactions


@spec("4.1-transactions")
@spec("4.1-rule-1")
@spec("2.8-account")
@spec("2.8-balances")
@spec("2.8-links")
@spec("2.8-booked")
@spec("2.8-pending")
@spec("2.8-information")
@spec("2.8-links-account")
@spec("2.8-only-matching")
@pytest.mark.parametrize("status", KINDS)
def test_one_list_of_transactions(bank: Bank, everything: str, status: str) -> None:
    for iban in facts.accounts():
        body = transactions(bank, iban, everything, status)
        assert body.keys() == {"account", "transactions", "balances", "_links"}
        assert body["balances"] is None
        assert body["_links"] is None
        assert body["account"].keys() == REFERENCE
        assert body["account"]["iban"] == iban
        assert all(body["account"][unused] is None for unused in ("bban", "pan", "maskedPan", "msisdn"))
        content = body["transactions"]
        assert content.keys() == {*KINDS, "_links"}
        assert content["_links"] == {"account": {"href": f"/v1/accounts/{iban}"}}
        assert all(content[kind] is None for kind in KINDS if kind != status)
        booked = facts.booked(iban, status)
        assert numbers(content[status] or []) == numbers(booked)


@spec("4.1-rule-1")
@spec("2.8-account-both")
@spec("2.8-balances")
@spec("2.8-links")
@spec("2.8-information-both")
@spec("2.8-links-account-both")
@spec("2.8-booked")
@spec("2.8-pending")
def test_both_returns_the_booked_list(bank: Bank, everything: str) -> None:
    for iban in facts.accounts():
        body = transactions(bank, iban, everything, "both")
        booked = transactions(bank, iban, everything, "booked")["transactions"]["booked"]
        assert body == {
            "account": {"iban": iban},
            "transactions": {"booked": booked, "pending": None, "_links": {"account": {"href": None}}},
            "balances": None,
            "_links": None,
        }


@spec("2.8-transaction-id")
@spec("2.8-references")
@spec("2.8-creditor-id")
@spec("2.8-booking-date")
@spec("2.8-value-date")
@spec("2.8-amount")
@spec("2.8-currency-exchange")
@spec("2.8-names")
@spec("2.8-party-accounts")
@spec("2.8-agents")
@spec("2.8-remittance")
@spec("2.8-remittance-nulls")
@spec("2.8-additional-information")
@spec("2.8-standing-order")
@spec("2.8-codes")
@spec("2.8-bank-transaction-code")
@spec("2.8-record-links")
@spec("2-dates")
@spec("2-nulls")
@pytest.mark.parametrize("status", STATUSES)
def test_every_record_has_the_documented_members(bank: Bank, everything: str, status: str) -> None:
    seen = 0
    for iban in facts.accounts():
        kind = "booked" if status == "both" else status
        known = {record["transactionId"]: record for record in facts.booked(iban, kind)}
        for record in transactions(bank, iban, everything, status)["transactions"][kind] or []:
            seen += 1
            assert record.keys() == RECORD
            for member in (
                "currencyExchange",
                "creditorAgent",
                "debtorAgent",
                "ultimateCreditor",
                "ultimateDebtor",
                "remittanceInformationUnstructuredArray",
                "remittanceInformationStructured",
                "remittanceInformationStructuredArray",
                "additionalInformation",
                "purposeCode",
                "proprietaryBankTransactionCode",
                "balanceAfterTransaction",
                "_links",
            ):
                assert record[member] is None, member
            for member in (
                "transactionId",
                "creditorId",
                "creditorName",
                "debtorName",
                "remittanceInformationUnstructured",
            ):
                assert isinstance(record[member], str), member
            for member in ("entryReference", "endToEndId", "mandateId", "checkId"):
                assert record[member] is None, member
            assert record["bankTransactionCode"] is None or isinstance(record["bankTransactionCode"], str)
            for member, value in known[record["transactionId"]].items():
                if isinstance(value, str):
                    assert record[member] == value
            for member in ("creditorAccount", "debtorAccount"):
                assert record[member]["iban"] == known[record["transactionId"]][member]["iban"]
                assert record[member].keys() == REFERENCE
                assert all(record[member][unused] is None for unused in ("bban", "pan", "maskedPan", "msisdn"))
                assert is_iban(record[member]["iban"])
            assert record["transactionAmount"] == known[record["transactionId"]]["transactionAmount"]
            assert record["transactionAmount"].keys() == {"currency", "amount"}
            dates = [record["bookingDate"], record["valueDate"]]
            if kind == "booked":
                assert all(isinstance(day, str) and is_date(day) for day in dates)
            elif kind == "pending":
                assert dates[1] is None
                assert dates[0] is None or is_date(dates[0])
            else:
                assert dates == [None, None]
            assert (record["additionalInformationStructured"] is not None) == (kind == "information")
    assert seen


@spec("2.8-amount")
def test_debits_are_negative(bank: Bank, everything: str) -> None:
    seen = set()
    for iban in facts.accounts():
        for record in transactions(bank, iban, everything, "booked")["transactions"]["booked"]:
            amount = Decimal(record["transactionAmount"]["amount"])
            debit = record["debtorAccount"]["iban"] == iban
            assert debit != (record["creditorAccount"]["iban"] == iban)
            assert (amount < 0) == debit
            seen.add(debit)
    assert seen == {True, False}


@spec("2.8-standing-order")
@spec("2.8-standing-order-dates")
@spec("2.8-standing-order-frequency")
@spec("2.8-standing-order-rule")
@spec("2.8-standing-order-months")
@spec("2.8-standing-order-day")
@spec("2.8-standing-order-nulls")
def test_standing_orders(bank: Bank, everything: str) -> None:
    orders, known = {}, {}
    for iban in facts.accounts():
        known |= {record["transactionId"]: record for record in facts.booked(iban, "information")}
        for record in transactions(bank, iban, everything, "information")["transactions"]["information"] or []:
            orders[record["transactionId"]] = record["additionalInformationStructured"]
    assert orders.keys() == known.keys()
    for id, order in orders.items():
        details = known[id]["additionalInformationStructured"]["standingOrderDetails"]
        assert order == {"standingOrderDetails": {**dict.fromkeys(STANDING_ORDER), **details}}
    for order in orders.values():
        details = order["standingOrderDetails"]
        assert all(isinstance(details[member], str) and is_date(details[member]) for member in ("startDate", "endDate"))
        assert details["startDate"] < details["endDate"]
        assert details["frequency"]
        assert isinstance(details["frequency"], str)
        assert details["executionRule"]
        assert isinstance(details["executionRule"], str)
        assert details["monthsOfExecution"]
        assert all(isinstance(month, str) and 1 <= int(month) <= 12 for month in details["monthsOfExecution"])
        assert isinstance(details["dayOfExecution"], str)
        assert 1 <= int(details["dayOfExecution"]) <= 31
        assert [details[member] for member in ("withinAMonthFlag", "multiplicator", "limitAmount")] == [None] * 3
    assert "Monthly" in [order["standingOrderDetails"]["frequency"] for order in orders.values()]
    assert "preceding" in [order["standingOrderDetails"]["executionRule"] for order in orders.values()]


@spec("reading-testdata")
def test_the_test_data_is_varied(bank: Bank, everything: str) -> None:
    """The test looks at answers of the interface, and at members of customers in the test data."""
    listed = bank.get("/v1/accounts/", consent=everything, query={"withBalance": "true"}).json()["accounts"]
    entries = {
        account["iban"]: {
            kind: transactions(bank, account["iban"], everything, kind)["transactions"][kind] or [] for kind in KINDS
        }
        for account in listed
    }

    assert len({account["psuId"] for account in facts.accounts().values()}) >= 4
    assert len({account["name"] for account in listed}) >= 4
    assert all(is_iban(account["iban"]) for account in listed)
    assert any(account["currency"] != "EUR" for account in listed)
    assert max(len(kinds["booked"]) for kinds in entries.values()) > 300
    assert any(not any(kinds.values()) for kinds in entries.values())
    assert all(any(kinds[kind] for kinds in entries.values()) for kind in KINDS)
    amounts = [entry["transactionAmount"]["amount"] for kinds in entries.values() for entry in kinds["booked"]]
    assert {amount.startswith("-") for amount in amounts} == {True, False}
    available = [
        Decimal(balance["balanceAmount"]["amount"])
        for account in listed
        for balance in account["balances"]
        if balance["balanceType"] == "forwardAvailable"
    ]
    assert any(0 <= amount < 100 for amount in available)


@spec("reading-booking-status")
@pytest.mark.parametrize(
    "query", [{}, {"bookingStatus": ""}, {"bookingStatus": "all"}, {"bookingStatus": "BOOKED"}], ids=str
)
def test_booking_status_is_required(bank: Bank, query: dict[str, str]) -> None:
    answer = bank.get(f"/v1/accounts/{facts.covered()}/transactions", consent=facts.consent(), query=query)

    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")


def busiest() -> str:
    return max(facts.accounts(), key=lambda iban: len(facts.booked(iban)))


@spec("reading-dates")
@pytest.mark.parametrize("status", ["booked", "both"])
@pytest.mark.parametrize("given", [("dateFrom",), ("dateTo",), ("dateFrom", "dateTo")], ids="+".join)
def test_date_limits_are_inclusive(bank: Bank, everything: str, status: str, given: tuple[str, ...]) -> None:
    iban = busiest()
    days = sorted({record["bookingDate"] for record in facts.booked(iban)})
    first, last = days[len(days) // 3], days[len(days) // 2]
    expected = [
        record
        for record in facts.booked(iban)
        if ("dateFrom" not in given or first <= record["bookingDate"])
        and ("dateTo" not in given or record["bookingDate"] <= last)
    ]
    dates = {name: {"dateFrom": first, "dateTo": last}[name] for name in given}

    listed = transactions(bank, iban, everything, status, **dates)["transactions"]["booked"]

    assert numbers(listed) == numbers(expected)
    assert 0 < len(expected) < len(facts.booked(iban))


@spec("reading-dates")
def test_one_day_is_a_period(bank: Bank, everything: str) -> None:
    iban = busiest()
    day = facts.booked(iban)[0]["bookingDate"]

    listed = transactions(bank, iban, everything, "booked", dateFrom=day, dateTo=day)["transactions"]["booked"]

    assert listed
    assert {record["bookingDate"] for record in listed} == {day}


@spec("reading-dates-order")
def test_dates_in_the_wrong_order_are_refused(bank: Bank) -> None:
    query = {"bookingStatus": "booked", "dateFrom": facts.today(-1), "dateTo": facts.today(-2)}

    answer = bank.get(f"/v1/accounts/{facts.covered()}/transactions", consent=facts.consent(), query=query)

    assert (answer.status, answer.error["code"]) == (400, "PERIOD_INVALID")


@spec("reading-dates")
@pytest.mark.parametrize("name", ["dateFrom", "dateTo"])
@pytest.mark.parametrize("day", ["2026-02-30", "yesterday", "", "20260101", "2026-1-1"])
def test_invalid_dates_are_refused(bank: Bank, name: str, day: str) -> None:
    query = {"bookingStatus": "booked", name: day}

    answer = bank.get(f"/v1/accounts/{facts.covered()}/transactions", consent=facts.consent(), query=query)

    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")


@spec("reading-trailing-slash")
def test_transactions_with_a_slash(bank: Bank) -> None:
    path = f"/v1/accounts/{facts.covered()}/transactions"

    bare = bank.get(f"{path}?bookingStatus=booked", consent=facts.consent())

    assert bank.get(f"{path}/?bookingStatus=booked", consent=facts.consent()).json() == bare.json()


@pytest.mark.parametrize("encode", ["first", "all"])
def test_a_path_is_decoded_once(bank: Bank, encode: str) -> None:
    iban = facts.covered()
    count = 1 if encode == "first" else len(iban)
    once = "".join(f"%{ord(character):02x}" for character in iban[:count]) + iban[count:]
    plain = bank.get(f"/v1/accounts/{iban}", consent=facts.consent())

    assert bank.get(f"/v1/accounts/{once}", consent=facts.consent()).json() == plain.json()
    assert bank.get(f"/v1/accounts/{once.replace('%', '%25')}", consent=facts.consent()).status == 404


# -- consents that do not cover the account

AIS = {
    "list": "/v1/accounts/",
    "account": f"/v1/accounts/{facts.covered()}",
    "balances": f"/v1/accounts/{facts.covered()}/balances",
    "transactions": f"/v1/accounts/{facts.covered()}/transactions?bookingStatus=booked",
}


@spec("2.1-expired")
@spec("1-preconfigured")
@spec("4.1-rule-4")
@spec("7-xs2a005e")
@spec("7-xs2a004e")
@spec("reading-expired-numbers")
@pytest.mark.parametrize("request_", AIS)
def test_an_expired_consent_is_refused(bank: Bank, request_: str) -> None:
    consent_id = facts.consent("expired")
    number = "XS2A004E" if request_ == "transactions" else "XS2A005E"

    answer = bank.get(AIS[request_], consent=consent_id)

    assert answer.status == 401
    assert answer.json() == {
        "tppMessages": [
            {
                "category": "ERROR",
                "code": "CONSENT_EXPIRED",
                "path": None,
                "text": f"{{sensitive}} {number}: consent {consent_id} expired",
            }
        ],
        "_links": None,
    }


@spec("2.1-unknown")
@spec("1-preconfigured")
@spec("4.1-rule-4")
@spec("7-xs2a017e")
@spec("reading-consent-id-malformed")
@pytest.mark.parametrize("request_", AIS)
@pytest.mark.parametrize("consent_id", [facts.consent("unknown"), "00000000-0000-4000-8000-000000000000", "no-uuid"])
def test_an_unknown_consent_is_refused(bank: Bank, request_: str, consent_id: str) -> None:
    answer = bank.get(AIS[request_], consent=consent_id)

    assert answer.status == 403
    assert answer.json() == {
        "tppMessages": [
            {
                "category": "ERROR",
                "code": "CONSENT_UNKNOWN",
                "path": None,
                "text": f"{{sensitive}} XS2A017E: consent {consent_id} unknown",
            }
        ],
        "_links": None,
    }


@spec("5-consent-id")
@spec("reading-consent-missing")
@pytest.mark.parametrize("request_", AIS)
def test_a_missing_consent_is_refused(bank: Bank, request_: str) -> None:
    answer = bank.get(AIS[request_])

    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")


@spec("reading-consent-received")
@pytest.mark.parametrize("request_", AIS)
def test_a_received_consent_is_refused(bank: Bank, request_: str) -> None:
    body = bodies.consent(facts.covered(), facts.uncovered())
    consent_id = bank.post("/v1/consents", json=body).json()["consentId"]

    answer = bank.get(AIS[request_], consent=consent_id)

    assert (answer.status, answer.error["code"]) == (401, "CONSENT_INVALID")


@spec("4.1-rule-4")
@spec("7-xs2a016e")
@spec("reading-xs2a016e-text")
@pytest.mark.parametrize("tail", ["", "/", "/balances", "/transactions?bookingStatus=booked", "?withBalance=true"])
@pytest.mark.parametrize(
    "account_id",
    [facts.uncovered(), facts.foreign_iban(), facts.wrong_iban(), "no-account", facts.covered().lower()],
    ids=["uncovered", "foreign", "wrong digits", "no iban", "lower case"],
)
def test_an_unknown_or_uncovered_account_is_refused(bank: Bank, account_id: str, tail: str) -> None:
    unknown = f"resource {account_id} unknown / not found / not part of the current consent"

    answer = bank.get(f"/v1/accounts/{account_id}{tail}", consent=facts.consent())

    assert answer.status == 404
    assert answer.json() == {
        "tppMessages": [
            {
                "category": "ERROR",
                "code": "RESOURCE_UNKNOWN",
                "path": None,
                "text": f"{{sensitive}} XS2A016E: {unknown}",
            }
        ],
        "_links": None,
    }


@spec("4.1-rule-4")
@pytest.mark.parametrize(("role", "status"), [("expired", 401), ("unknown", 403)])
def test_the_consent_is_checked_before_the_account(bank: Bank, role: str, status: int) -> None:
    assert bank.get(f"/v1/accounts/{facts.foreign_iban()}", consent=facts.consent(role)).status == status


@spec("8-unlimited")
@spec("reading-consent-frequency-free")
def test_the_number_of_requests_is_not_limited(bank: Bank) -> None:
    often = int(facts.testdata()["consents"][facts.consent()]["frequency"]) + 25

    answers = [
        bank.get("/v1/accounts/", consent=facts.consent(), headers={"PSU-IP-Address": None}).status
        for _ in range(often)
    ]

    assert answers == [200] * often
