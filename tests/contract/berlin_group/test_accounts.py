"""Account information in NextGenPSD2 1.3 shows only data covered by the consent."""

from typing import Any
from uuid import UUID

import pytest

from tests.contract.berlin_group.conftest import OSKAR, SAVINGS, Tpp, error

FROM = {"bookingStatus": "both", "dateFrom": "2020-01-01"}
CARD = "5a2e6c10-84f7-4d0b-9b3e-c1d7708f4a01"


def only(tpp: Tpp, consent: str, **query: str) -> Any:
    (account,) = tpp.get("/v1/accounts", consent=consent, params=query).json()["accounts"]
    return account


@pytest.mark.berlin_group("accounts-members")
def test_an_account_has_all_its_members(tpp: Tpp) -> None:
    id = tpp.consent({"allPsd2": "allAccountsWithOwnerName"})
    account, savings = tpp.get("/v1/accounts", consent=id).json()["accounts"]
    path = f"/v1/accounts/{account['resourceId']}"

    assert UUID(account["resourceId"])
    assert account | {"resourceId": 0} == {
        "resourceId": 0,
        "iban": OSKAR,
        "msisdn": "+49 170 0002002",
        "currency": "EUR",
        "ownerName": "Oskar Petersen",
        "ownerNames": [{"name": "Oskar Petersen", "role": "owner"}],
        "psuName": "Oskar Petersen",
        "name": "Girokonto",
        "displayName": "Haushalt",
        "product": "Girokonto Hafen",
        "cashAccountType": "CACC",
        "status": "enabled",
        "bic": "SANDDEFFXXX",
        "usage": "PRIV",
        "details": "Kontokorrent ohne Dispositionskredit",
        "_links": {"balances": {"href": f"{path}/balances"}, "transactions": {"href": f"{path}/transactions"}},
    }
    assert savings["iban"] == SAVINGS
    assert tpp.get(path, consent=id).json() == {"account": account}


@pytest.mark.berlin_group("accounts-resource-id")
def test_an_account_without_a_resource_id_gets_a_stable_one(tpp: Tpp) -> None:
    first, second = (only(tpp, tpp.consent({"accounts": [{"iban": OSKAR}]})) for _ in range(2))

    assert first["resourceId"] == second["resourceId"] != OSKAR


@pytest.mark.berlin_group("accounts-balances")
def test_balances(tpp: Tpp) -> None:
    id = tpp.consent({"allPsd2": "allAccounts"})
    path = tpp.get("/v1/accounts", consent=id).json()["accounts"][0]["_links"]["balances"]["href"]
    body = tpp.get(path, consent=id).json()

    assert body["account"] == {"iban": OSKAR, "currency": "EUR"}
    kinds = {balance["balanceType"]: balance["balanceAmount"] for balance in body["balances"]}
    assert kinds["closingBooked"] == {"amount": "5318.22", "currency": "EUR"}
    assert kinds.keys() == {"closingBooked", "interimAvailable", "forwardAvailable"}


@pytest.mark.parametrize("path", ["/v1/accounts", "/v1/accounts/{id}", "/v1/accounts/{id}/transactions"])
@pytest.mark.berlin_group("accounts-with-balance")
def test_balances_are_included_if_requested(tpp: Tpp, path: str) -> None:
    id = tpp.consent({"balances": [{"iban": OSKAR}], "transactions": [{"iban": OSKAR}]})
    target = path.format(id=only(tpp, id)["resourceId"])

    with_them = tpp.get(target, consent=id, params={**FROM, "withBalance": "true"}).text
    assert "closingBooked" in with_them
    assert "closingBooked" not in tpp.get(target, consent=id, params={**FROM, "withBalance": "false"}).text


RIGHTS = {
    "accounts": ({"accounts": [{"iban": OSKAR}]}, {"details"}),
    "balances": ({"balances": [{"iban": OSKAR}]}, {"details", "balances"}),
    "transactions": ({"transactions": [{"iban": OSKAR}]}, {"details", "transactions"}),
    "allPsd2": ({"allPsd2": "allAccounts"}, {"details", "balances", "transactions"}),
    "availableAccounts": ({"availableAccounts": "allAccounts"}, set()),
    "availableAccountsWithBalance": ({"availableAccountsWithBalance": "allAccounts"}, {"balances"}),
    "bankOffered": ({"accounts": [], "balances": []}, {"details", "balances"}),
}


@pytest.mark.parametrize("kind", RIGHTS)
@pytest.mark.berlin_group("accounts-rights")
def test_only_data_covered_by_the_consent_is_shown(tpp: Tpp, kind: str) -> None:
    access, rights = RIGHTS[kind]
    id = tpp.consent(access)
    account = tpp.get("/v1/accounts", consent=id, params={"withBalance": "true"}).json()["accounts"][0]
    path = f"/v1/accounts/{account['resourceId']}"

    assert ("balances" in account) == ("balances" in rights)
    assert account["_links"].keys() == rights - {"details"}
    assert not {"ownerName", "ownerNames", "psuName"} & set(account)
    targets = {"details": path, "balances": f"{path}/balances", "transactions": f"{path}/transactions"}
    for right, target in targets.items():
        answer = tpp.get(target, consent=id, params=FROM)
        assert answer.status_code == 200 if right in rights else error(answer) == (401, "CONSENT_INVALID")


@pytest.mark.berlin_group("accounts-owner-name")
def test_owners_are_named_if_requested(tpp: Tpp) -> None:
    listed = [{"iban": OSKAR}]
    id = tpp.consent({"accounts": [*listed, {"iban": SAVINGS}], "additionalInformation": {"ownerName": listed}})
    first, second = tpp.get("/v1/accounts", consent=id).json()["accounts"]

    assert first["ownerName"] == "Oskar Petersen"
    assert "ownerName" not in second


@pytest.mark.berlin_group("accounts-foreign")
def test_an_account_of_somebody_else_is_unknown(tpp: Tpp) -> None:
    foreign = only(tpp, tpp.consent({"allPsd2": "allAccounts"}, "petra"))["resourceId"]
    id = tpp.consent({"allPsd2": "allAccounts"})

    assert error(tpp.get(f"/v1/accounts/{foreign}", consent=id)) == (404, "RESOURCE_UNKNOWN")
    assert error(tpp.get(f"/v1/accounts/{OSKAR}", consent=id)) == (404, "RESOURCE_UNKNOWN")


@pytest.mark.berlin_group("transactions-lists")
def test_transactions_are_in_the_requested_lists(tpp: Tpp) -> None:
    id = tpp.consent({"transactions": [{"iban": OSKAR}]})
    path = only(tpp, id)["_links"]["transactions"]["href"]

    def lists(status: str) -> set[str]:
        query = {"bookingStatus": status, "dateFrom": "2020-01-01"}
        body = tpp.get(path, consent=id, params=query).json()
        assert body["account"] == {"iban": OSKAR, "currency": "EUR"}
        return set(body["transactions"]) - {"_links"}

    assert lists("booked") == {"booked"}
    assert lists("pending") == {"pending"}
    assert lists("both") == {"booked", "pending"}
    assert lists("information") == {"information"}
    assert lists("all") == {"booked", "pending", "information"}


@pytest.mark.berlin_group("transactions-details")
def test_an_entry_links_to_its_details(tpp: Tpp) -> None:
    id = tpp.consent({"transactions": [{"iban": OSKAR}]})
    account = only(tpp, id)
    transactions = tpp.get(account["_links"]["transactions"]["href"], consent=id, params=FROM).json()["transactions"]
    entry = transactions["booked"][0]

    assert transactions["_links"]["account"]["href"] == f"/v1/accounts/{account['resourceId']}"
    details = tpp.get(entry["_links"]["transactionDetails"]["href"], consent=id).json()["transactionsDetails"]
    assert details == {name: value for name, value in entry.items() if name != "_links"}


@pytest.mark.berlin_group("transactions-date-from")
def test_a_period_needs_a_start(tpp: Tpp) -> None:
    id = tpp.consent({"transactions": [{"iban": OSKAR}]})
    path = only(tpp, id)["_links"]["transactions"]["href"]

    assert error(tpp.get(path, consent=id, params={"bookingStatus": "booked"})) == (400, "FORMAT_ERROR")
    assert tpp.get(path, consent=id, params={"bookingStatus": "information"}).status_code == 200


@pytest.mark.parametrize("access", [{"allPsd2": "allAccounts"}, {"balances": [{"maskedPan": "499999******2002"}]}])
@pytest.mark.berlin_group("cards")
def test_a_card_account(tpp: Tpp, access: dict[str, Any]) -> None:
    id = tpp.consent(access)
    (card,) = tpp.get("/v1/card-accounts", consent=id, params={"withBalance": "true"}).json()["cardAccounts"]

    assert (card["resourceId"], card["maskedPan"], card["status"]) == (CARD, "499999******2002", "enabled")
    assert {balance["balanceType"] for balance in card["balances"]} == {"interimBooked", "expected"}
    assert tpp.get(f"/v1/card-accounts/{CARD}/balances", consent=id).status_code == 200
    entries = tpp.get(f"/v1/card-accounts/{CARD}/transactions", consent=id, params=FROM)
    if "allPsd2" in access:
        assert set(entries.json()["cardTransactions"]) == {"booked", "pending", "_links"}
    else:
        assert error(entries) == (401, "CONSENT_INVALID")
        assert tpp.get("/v1/accounts", consent=id).json()["accounts"] == []
