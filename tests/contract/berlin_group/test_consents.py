"""Consents in NextGenPSD2 1.3: the possible access, the authorisation, and the end."""

import re
from typing import Any

import pytest

from tests.contract.berlin_group.conftest import JOINT, OSKAR, PETRA, SAVINGS, Tpp, error

EMBEDDED = {"TPP-Redirect-Preferred": "false"}
REDIRECT = {"TPP-Redirect-Preferred": "true"}
EXPLICIT = {"TPP-Explicit-Authorisation-Preferred": "true"}
WHOLE = {name: [{"iban": OSKAR, "currency": "EUR"}] for name in ("accounts", "balances", "transactions")}


@pytest.mark.berlin_group("consents-created")
def test_a_consent_is_created_with_its_location_and_links(tpp: Tpp) -> None:
    made = tpp.consents(WHOLE, headers=REDIRECT)
    id = made.json()["consentId"]

    assert made.status_code == 201
    assert made.headers["location"] == f"/v1/consents/{id}"
    assert made.headers["aspsp-sca-approach"] == "REDIRECT"
    assert made.json()["consentStatus"] == "received"
    links = {name: link["href"] for name, link in made.json()["_links"].items()}
    assert links["self"] == f"/v1/consents/{id}"
    assert links["status"] == f"/v1/consents/{id}/status"
    assert links["scaStatus"].startswith(f"/v1/consents/{id}/authorisations/")
    assert f"/sca/consents?consent_id={id}" in links["scaRedirect"]
    assert links.keys() == {"self", "status", "scaStatus", "scaRedirect"}


@pytest.mark.parametrize(
    ("headers", "approach", "link"),
    [
        ({"PSU-ID": "oskar", **EMBEDDED}, "EMBEDDED", "updatePsuAuthentication"),
        (EMBEDDED, "EMBEDDED", "updatePsuIdentification"),
        ({"TPP-Decoupled-Preferred": "true"}, "DECOUPLED", "updatePsuIdentification"),
        (EXPLICIT | REDIRECT, "REDIRECT", "startAuthorisation"),
        (EXPLICIT | EMBEDDED | {"PSU-ID": "oskar"}, "EMBEDDED", "startAuthorisationWithPsuAuthentication"),
        (EXPLICIT | EMBEDDED, "EMBEDDED", "startAuthorisationWithPsuIdentification"),
    ],
)
@pytest.mark.berlin_group("consents-links")
def test_the_links_match_the_approach(tpp: Tpp, headers: dict[str, str], approach: str, link: str) -> None:
    made = tpp.consents({"allPsd2": "allAccounts"}, headers=headers)
    apart = link.startswith("start")

    assert made.headers["aspsp-sca-approach"] == approach
    assert made.json()["_links"].keys() == {"self", "status", link, *([] if apart else ["scaStatus"])}


@pytest.mark.parametrize(
    "access",
    [
        {"allPsd2": "allAccounts"},
        {"accounts": [], "balances": [], "transactions": [], "allPsd2": "allAccountsWithOwnerName"},
        {"availableAccounts": "allAccounts"},
        {"availableAccountsWithBalance": "allAccounts"},
        WHOLE,
        {"accounts": [{"iban": OSKAR}]},
        {"accounts": [{"iban": OSKAR}, {"iban": SAVINGS}], "balances": [{"iban": SAVINGS}]},
        {"balances": [{"iban": OSKAR}], "additionalInformation": {"ownerName": [{"iban": OSKAR}]}},
        {"accounts": [{"msisdn": "+49 170 0002002"}]},
    ],
)
@pytest.mark.berlin_group("consents-access")
def test_the_requested_access_is_returned(tpp: Tpp, access: dict[str, Any]) -> None:
    id = tpp.consent(access)
    body = tpp.get(f"/v1/consents/{id}").json()

    assert body["access"] == access
    assert body["consentStatus"] == "valid"
    assert (body["recurringIndicator"], body["validUntil"], body["frequencyPerDay"]) == (True, "9999-12-31", 4)


@pytest.mark.parametrize("psu", ["oskar", "petra"])
@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("access", [{"allPsd2": "allAccounts"}, {"availableAccounts": "allAccounts"}, {"accounts": []}])
@pytest.mark.berlin_group("consents-embedded")
def test_customers_with_one_and_two_methods_authorise(
    tpp: Tpp, psu: str, explicit: bool, access: dict[str, Any]
) -> None:
    headers = {"PSU-ID": psu, **EMBEDDED, **(EXPLICIT if explicit else {})}
    made = tpp.consents(access, headers=headers).json()
    if explicit:
        start = made["_links"]["startAuthorisationWithPsuAuthentication"]["href"]
        begun = tpp.request("POST", start, headers=headers)
        assert begun.status_code == 201
        made = begun.json() | {"consentId": made["consentId"]}
    path = made["_links"]["updatePsuAuthentication"]["href"]

    assert tpp.authorise(path, psu) == "finalised"
    assert tpp.get(f"/v1/consents/{made['consentId']}/status").json()["consentStatus"] == "valid"


@pytest.mark.berlin_group("consents-no-method")
def test_a_customer_without_a_method_cannot_authorise_a_consent(tpp: Tpp) -> None:
    made = tpp.consents({"allPsd2": "allAccounts"}, headers={"PSU-ID": "nora", **EMBEDDED}).json()
    path = made["_links"]["updatePsuAuthentication"]["href"]
    body = {"psuData": {"password": "nordlicht"}}
    answer = tpp.request("PUT", path, json=body, headers={"PSU-ID": "nora"})

    assert error(answer) == (400, "SCA_METHOD_UNKNOWN")
    assert tpp.get(f"/v1/consents/{made['consentId']}/status").json()["consentStatus"] == "rejected"


@pytest.mark.berlin_group("consents-customer")
def test_the_accounts_are_those_of_the_authorising_customer(tpp: Tpp) -> None:
    id = tpp.consent({"allPsd2": "allAccounts"}, "petra")
    ibans = [account["iban"] for account in tpp.get("/v1/accounts", consent=id).json()["accounts"]]

    assert ibans == [PETRA]


@pytest.mark.berlin_group("consents-bank-offered")
def test_empty_lists_are_filled_with_the_accounts_of_the_customer(tpp: Tpp) -> None:
    id = tpp.consent({"accounts": [], "balances": [], "additionalInformation": {"ownerName": []}})
    named = [{"iban": OSKAR, "currency": "EUR"}, {"iban": SAVINGS, "currency": "EUR"}]

    assert tpp.get(f"/v1/consents/{id}").json()["access"] == {
        "accounts": named,
        "balances": named,
        "additionalInformation": {"ownerName": named},
    }


@pytest.mark.berlin_group("consents-several-signatories")
def test_a_joint_account_needs_both_signatures(tpp: Tpp) -> None:
    made = tpp.consents({"accounts": [{"iban": JOINT}]}, headers={"PSU-ID": "oskar", **EMBEDDED}).json()
    path = f"/v1/consents/{made['consentId']}"

    def signs(psu: str) -> str:
        headers = {"PSU-ID": psu, **EMBEDDED}
        begun = tpp.request("POST", f"{path}/authorisations", headers=headers).json()
        tpp.authorise(begun["_links"]["updatePsuAuthentication"]["href"], psu)
        return str(tpp.get(f"{path}/status").json()["consentStatus"])

    assert signs("oskar") == "partiallyAuthorised"
    assert signs("petra") == "valid"


@pytest.mark.parametrize(
    ("access", "code"),
    [
        ({}, "FORMAT_ERROR"),
        ({"allPsd2": "allAccounts", "accounts": [{"iban": OSKAR}]}, "FORMAT_ERROR"),
        ({"allPsd2": "allAccounts", "availableAccounts": "allAccounts"}, "FORMAT_ERROR"),
        ({"allPsd2": "some"}, "FORMAT_ERROR"),
        ({"accounts": [{"iban": "DE89370400440532013000"}]}, "RESOURCE_UNKNOWN"),
        ({"accounts": [{"iban": OSKAR, "currency": "USD"}]}, "FORMAT_ERROR"),
    ],
)
@pytest.mark.berlin_group("consents-refused")
def test_invalid_access_is_refused(tpp: Tpp, access: dict[str, Any], code: str) -> None:
    assert error(tpp.consents(access)) == (400, code)


@pytest.mark.berlin_group("consents-valid-until")
def test_a_date_in_the_past_is_refused(tpp: Tpp) -> None:
    assert error(tpp.consents(WHOLE, validUntil="2019-10-10")) == (400, "PERIOD_INVALID")


@pytest.mark.berlin_group("consents-one-a-day")
def test_a_one_off_consent_must_have_frequency_one(tpp: Tpp) -> None:
    assert error(tpp.consents(WHOLE, recurringIndicator=False)) == (400, "FORMAT_ERROR")


@pytest.mark.berlin_group("consents-foreign-account")
def test_an_account_of_another_customer_is_refused(tpp: Tpp) -> None:
    assert error(tpp.consents(WHOLE, headers={"PSU-ID": "petra"})) == (401, "PSU_CREDENTIALS_INVALID")


@pytest.mark.berlin_group("consents-terminated")
def test_a_deleted_consent_is_reported_as_terminated(tpp: Tpp) -> None:
    id = tpp.consent(WHOLE)

    assert tpp.request("DELETE", f"/v1/consents/{id}").status_code == 204
    assert tpp.get(f"/v1/consents/{id}/status").json() == {"consentStatus": "terminatedByTpp"}
    assert tpp.get(f"/v1/consents/{id}").json()["consentStatus"] == "terminatedByTpp"
    assert error(tpp.get("/v1/accounts", consent=id)) == (401, "CONSENT_INVALID")
    assert tpp.request("DELETE", f"/v1/consents/{id}").status_code == 204


@pytest.mark.berlin_group("consents-one-off")
def test_a_one_off_consent_ends_when_it_is_used(tpp: Tpp) -> None:
    id = tpp.consent({"allPsd2": "allAccounts"}, recurringIndicator=False, frequencyPerDay=1)
    account = tpp.get("/v1/accounts", consent=id).json()["accounts"][0]

    assert tpp.get(account["_links"]["balances"]["href"], consent=id).status_code == 200
    assert error(tpp.get(account["_links"]["balances"]["href"], consent=id)) == (401, "CONSENT_EXPIRED")
    assert tpp.get(f"/v1/consents/{id}/status").json()["consentStatus"] == "expired"


@pytest.mark.berlin_group("consents-newer")
def test_a_newer_recurring_consent_ends_the_older_one_of_the_customer(tpp: Tpp) -> None:
    older, others, _ = tpp.consent(WHOLE), tpp.consent({"allPsd2": "allAccounts"}, "petra"), tpp.consent(WHOLE)

    assert tpp.get(f"/v1/consents/{older}/status").json()["consentStatus"] == "expired"
    assert tpp.get(f"/v1/consents/{others}/status").json()["consentStatus"] == "valid"


@pytest.mark.berlin_group("consents-unknown")
def test_an_unknown_consent_has_different_errors_in_path_and_header(tpp: Tpp) -> None:
    unknown = "0cae8c3e-1111-4222-8333-444455556666"

    assert error(tpp.get(f"/v1/consents/{unknown}")) == (403, "CONSENT_UNKNOWN")
    assert error(tpp.get("/v1/accounts", consent=unknown)) == (400, "CONSENT_UNKNOWN")


def approved(tpp: Tpp, link: str, **choices: str) -> None:
    """Follow the steps of the customer's page. Send `choices` in addition to hidden fields."""
    page = tpp.http.get(link).text
    for _ in range(6):
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page))
        answer = tpp.http.post(link, data={**hidden, **choices})
        if answer.headers.get("location", "").startswith("https://tpp.example"):
            return
        page = tpp.http.get(link).text
    pytest.fail(page)


@pytest.mark.parametrize(
    ("access", "seen"),
    [
        ({"allPsd2": "allAccounts"}, [OSKAR, SAVINGS]),
        ({"accounts": [], "balances": []}, [SAVINGS]),
        ({"accounts": [{"iban": OSKAR}, {"iban": SAVINGS}]}, [SAVINGS]),
    ],
)
@pytest.mark.berlin_group("consents-page")
def test_the_customer_chooses_on_the_page_if_there_is_a_choice(
    tpp: Tpp, access: dict[str, Any], seen: list[str]
) -> None:
    made = tpp.consents(access, headers={**REDIRECT, "TPP-Redirect-URI": "https://tpp.example/back"}).json()
    approved(tpp, made["_links"]["scaRedirect"]["href"], customer="oskar", account=SAVINGS, otp="222222")

    id = made["consentId"]
    assert [one["iban"] for one in tpp.get("/v1/accounts", consent=id).json()["accounts"]] == seen
    shown = tpp.get(f"/v1/consents/{id}").json()["access"]
    assert shown == access if "allPsd2" in access else [one["iban"] for one in shown["accounts"]] == seen


@pytest.mark.parametrize(
    ("access", "said"),
    [
        ({"allPsd2": "allAccountsWithOwnerName"}, "All your accounts"),
        ({"accounts": [], "balances": []}, "Those that you choose"),
        ({"availableAccountsWithBalance": "allAccounts"}, "Account details, Balances<"),
        (
            {"allPsd2": "allAccountsWithOwnerName"},
            "Account details, Balances, Transactions, Name of the account holder<",
        ),
    ],
)
@pytest.mark.berlin_group("consents-page")
def test_the_page_shows_the_requested_access(tpp: Tpp, access: dict[str, Any], said: str) -> None:
    made = tpp.consents(access, headers=REDIRECT).json()
    assert said in tpp.http.get(made["_links"]["scaRedirect"]["href"]).text
