"""Consents: creation, content, status, deletion."""

import uuid
from collections import Counter
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from tests.contract import bodies, facts
from tests.contract.answers import is_date, is_uuid
from tests.contract.doors import Bank

spec = pytest.mark.spec

STATES = {"authorised": "valid", "expired": "expired"}
REFERENCE = {"iban", "bban", "pan", "maskedPan", "msisdn", "currency"}


def create(bank: Bank, *ibans: str, **changes: Any) -> str:
    answer = bank.post("/v1/consents", json=bodies.consent(*ibans, **changes))
    assert answer.status == 200
    return answer.json()["consentId"]


def status(bank: Bank, consent_id: str) -> str:
    answer = bank.get(f"/v1/consents/{consent_id}/status")
    assert answer.status == 200
    return answer.json()["consentStatus"]


# -- creation


@spec("1-consents")
@spec("2-nulls")
@spec("2.3-sca-methods")
@spec("2.3-chosen-sca-method")
@spec("2.3-challenge-data")
@spec("2.3-psu-message")
@spec("2.3-self")
@spec("2.3-status")
@spec("2.3-sca-redirect")
@spec("4.1-create-consent")
@pytest.mark.parametrize(
    "ibans", [[facts.covered()], facts.untied()[:1], []], ids=["preconfigured", "new", "all accounts"]
)
def test_a_new_consent_has_exactly_the_documented_members(bank: Bank, ibans: list[str]) -> None:
    answer = bank.post("/v1/consents", json=bodies.consent(*ibans), headers={"TPP-Redirect-URI": bodies.REDIRECT})

    assert answer.status == 200
    body = answer.json()
    consent_id = body["consentId"]
    redirect = body["_links"]["scaRedirect"]["href"]
    assert body == {
        "consentStatus": "received" if ibans else "valid",
        "consentId": consent_id,
        "scaMethods": None,
        "chosenScaMethod": None,
        "challengeData": None,
        "psuMessage": None,
        "_links": {
            "scaRedirect": {"href": redirect},
            "self": {"href": f"/v1/consents/{consent_id}"},
            "status": {"href": f"/v1/consents/{consent_id}/status"},
        },
    }


@spec("2.3-consent-id")
@spec("reading-consent-other")
def test_a_new_consent_has_a_new_uuid(bank: Bank) -> None:
    ids = {create(bank, facts.untied()[0]) for _ in range(3)}

    assert len(ids) == 3
    assert all(is_uuid(consent_id) for consent_id in ids)
    assert not ids & set(facts.testdata()["consents"])


@spec("2.3-consent-status")
@spec("3.1-received")
@spec("2.1-created")
@spec("reading-consent-single")
@pytest.mark.parametrize("iban", facts.tied())
@pytest.mark.parametrize("members", [("balances",), ("transactions",), ("balances", "transactions")], ids="+".join)
def test_a_single_tied_account_returns_its_preconfigured_consent(bank: Bank, iban: str, members: list[str]) -> None:
    body = bodies.consent(iban, access={member: [{"iban": iban}] for member in members})

    answer = bank.post("/v1/consents", json=body)

    assert answer.status == 200
    assert answer.json()["consentId"] == facts.tied()[iban]
    assert answer.json()["consentStatus"] == "received"
    assert answer.json()["_links"]["scaRedirect"]["href"]
    assert status(bank, facts.tied()[iban]) == "valid"
    assert bank.get("/v1/accounts/", consent=facts.tied()[iban]).status == 200


@spec("2.3-consent-status")
@spec("3.1-received")
@spec("2.4-consent-status")
@spec("reading-consent-other")
@pytest.mark.parametrize(
    "ibans",
    [facts.untied()[:1], list(facts.tied())[:2], [facts.covered(), facts.untied()[0]]],
    ids=["other", "two", "mixed"],
)
def test_other_or_several_accounts_create_a_new_consent(bank: Bank, ibans: list[str]) -> None:
    answer = bank.post("/v1/consents", json=bodies.consent(*ibans))

    assert answer.status == 200
    consent_id = answer.json()["consentId"]
    assert consent_id not in facts.testdata()["consents"]
    assert answer.json()["consentStatus"] == "received"
    assert answer.json()["_links"]["scaRedirect"]["href"]
    assert bank.get(f"/v1/consents/{consent_id}/status").json() == {"consentStatus": "received"}


@spec("2.2-access-available-accounts")
@spec("2.3-consent-status")
@spec("3.1-valid")
@spec("reading-consent-all-accounts")
def test_a_consent_for_all_accounts_is_valid_at_once(bank: Bank) -> None:
    answer = bank.post("/v1/consents", json=bodies.consent())

    assert answer.status == 200
    consent_id = answer.json()["consentId"]
    assert consent_id not in facts.testdata()["consents"]
    assert answer.json()["consentStatus"] == "valid"
    assert answer.json()["_links"]["scaRedirect"]["href"]
    assert bank.get(f"/v1/consents/{consent_id}/status").json() == {"consentStatus": "valid"}
    listed = bank.get("/v1/accounts/", consent=consent_id).json()["accounts"]
    assert {account["iban"] for account in listed} == set(facts.accounts())


@spec("2.3-sca-redirect")
@spec("5-tpp-redirect-uri")
@spec("1-sca-redirect")
@spec("reading-session-links")
def test_the_redirect_link_contains_the_consent_and_the_return_address(bank: Bank) -> None:
    answer = bank.post(
        "/v1/consents",
        json=bodies.consent(facts.untied()[0]),
        headers={"TPP-Redirect-URI": "https://tpp.example/b?a=1&b=2"},
    )

    href = answer.json()["_links"]["scaRedirect"]["href"]
    assert href.startswith(f"{bank.addresses.direct}/")
    assert f"/s/{bank.session}/" in urlsplit(href).path
    assert parse_qs(urlsplit(href).query, strict_parsing=True) == {
        "consent_id": [answer.json()["consentId"]],
        "redirectBackUrl": ["https://tpp.example/b?a=1&b=2"],
    }
    assert quote("https://tpp.example/b?a=1&b=2", safe="") in href


@spec("5-tpp-redirect-uri")
def test_a_plus_in_the_return_address_is_preserved(bank: Bank) -> None:
    address = "https://tpp.example/a+b?scope=ais+pis"

    answer = bank.post("/v1/consents", json=bodies.consent(facts.untied()[0]), headers={"TPP-Redirect-URI": address})

    href = urlsplit(answer.json()["_links"]["scaRedirect"]["href"])
    assert parse_qs(href.query, strict_parsing=True)["redirectBackUrl"] == [address]


@spec("reading-consent-no-redirect-uri")
def test_without_a_return_address_the_link_has_none(bank: Bank) -> None:
    answer = bank.post("/v1/consents", json=bodies.consent(facts.untied()[0]))

    assert answer.status == 200
    href = urlsplit(answer.json()["_links"]["scaRedirect"]["href"])
    query = parse_qs(href.query, keep_blank_values=True, strict_parsing=True)
    assert query == {"consent_id": [answer.json()["consentId"]]}


@spec("5-sca-page")
@spec("1-sca-redirect")
def test_the_redirect_link_opens_a_page(bank: Bank) -> None:
    href = bank.post("/v1/consents", json=bodies.consent(facts.untied()[0])).json()["_links"]["scaRedirect"]["href"]

    page = bank.page(href)

    assert page.status == 200
    assert page.headers["Content-Type"].startswith("text/html")


@spec("reading-public-url")
@pytest.mark.parametrize("bank", ["tls", "direct", "process"], indirect=True)  # for a proxy, the target names the host
def test_the_redirect_link_does_not_depend_on_the_host_header(bank: Bank) -> None:
    answer = bank.post("/v1/consents", json=bodies.consent(facts.untied()[0]), headers={"Host": "evil.example"})

    assert answer.status == 200
    assert answer.json()["_links"]["scaRedirect"]["href"].startswith(f"{bank.addresses.direct}/")


# -- required content of requests


@spec("2.2-access")
@spec("2.2-recurring-indicator")
@spec("2.2-valid-until")
@spec("2.2-frequency-per-day")
@spec("reading-body")
@spec("reading-body-path")
@pytest.mark.parametrize("member", ["access", "recurringIndicator", "validUntil", "frequencyPerDay"])
def test_each_required_member_is_required(bank: Bank, member: str) -> None:
    body = bodies.consent(facts.covered())
    del body[member]

    answer = bank.post("/v1/consents", json=body)

    assert (answer.status, answer.error["code"], answer.error["path"]) == (400, "FORMAT_ERROR", f"/{member}")


@spec("2.2-access")
@spec("2.2-access-balances")
@spec("2.2-access-transactions")
@spec("2.2-access-available-accounts")
@spec("2.2-recurring-indicator")
@spec("2.2-valid-until")
@spec("2.2-frequency-per-day")
@spec("2.2-account-reference")
@spec("8-frequency-per-day")
@spec("reading-body")
@spec("reading-body-path")
@pytest.mark.parametrize(
    ("path", "changes"),
    [
        ("/access", {"access": []}),
        ("/access", {"access": "allAccounts"}),
        ("/access", {"access": None}),
        ("/access/balances", {"access": {"balances": {"iban": facts.covered()}}}),
        ("/access/transactions", {"access": {"transactions": "all"}}),
        ("/access/balances/0", {"access": {"balances": [facts.covered()]}}),
        ("/access/transactions/1", {"access": {"transactions": [{"iban": facts.covered()}, None]}}),
        ("/access/balances/0/iban", {"access": {"balances": [{}]}}),
        ("/access/balances/0/iban", {"access": {"balances": [{"iban": 7}]}}),
        ("/access/balances/0/iban", {"access": {"balances": [{"iban": facts.wrong_iban()}]}}),
        ("/access/balances/0/currency", {"access": {"balances": [{"iban": facts.covered(), "currency": 978}]}}),
        ("/access/balances/0/maskedPan", {"access": {"balances": [{"iban": facts.covered(), "maskedPan": 7}]}}),
        ("/access/availableAccounts", {"access": {"availableAccounts": "everything"}}),
        ("/recurringIndicator", {"recurringIndicator": "true"}),
        ("/recurringIndicator", {"recurringIndicator": 1}),
        ("/recurringIndicator", {"recurringIndicator": None}),
        ("/validUntil", {"validUntil": "soon"}),
        ("/validUntil", {"validUntil": "2099-02-30"}),
        ("/validUntil", {"validUntil": "20990101"}),
        ("/validUntil", {"validUntil": 20990101}),
        ("/validUntil", {"validUntil": "2099-01-01T00:00:00Z"}),
        ("/frequencyPerDay", {"frequencyPerDay": "4"}),
        ("/frequencyPerDay", {"frequencyPerDay": 1.5}),
        ("/frequencyPerDay", {"frequencyPerDay": True}),
        ("/frequencyPerDay", {"frequencyPerDay": None}),
    ],
)
def test_a_member_with_the_wrong_type_is_named(bank: Bank, path: str, changes: dict[str, Any]) -> None:
    answer = bank.post("/v1/consents", json=bodies.consent(facts.covered(), **changes))

    assert (answer.status, answer.error["code"], answer.error["path"]) == (400, "FORMAT_ERROR", path)


@spec("reading-consent-frequency")
@pytest.mark.parametrize("frequency", [0, -1])
def test_a_frequency_below_one_is_refused(bank: Bank, frequency: int) -> None:
    answer = bank.post("/v1/consents", json=bodies.consent(facts.covered(), frequencyPerDay=frequency))

    assert (answer.status, answer.error["code"], answer.error["path"]) == (400, "FORMAT_ERROR", "/frequencyPerDay")


@spec("reading-consent-access-empty")
@pytest.mark.parametrize(
    "access",
    [{}, {"balances": []}, {"transactions": []}, {"balances": [], "transactions": []}, {"availableAccounts": None}],
    ids=str,
)
def test_a_request_for_no_access_is_refused(bank: Bank, access: dict[str, Any]) -> None:
    answer = bank.post("/v1/consents", json=bodies.consent(access=access))

    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")
    assert answer.error["path"].startswith("/access")


@spec("reading-consent-valid-until")
@pytest.mark.parametrize("days", [-1, -4000])
def test_a_consent_that_has_already_ended_is_refused(bank: Bank, days: int) -> None:
    answer = bank.post("/v1/consents", json=bodies.consent(facts.untied()[0], validUntil=facts.today(days)))

    assert (answer.status, answer.error["code"]) == (400, "PERIOD_INVALID")


@spec("reading-consent-valid-until")
@spec("2.2-valid-until")
@spec("2.5-valid-until")
@pytest.mark.parametrize("day", [1, "9999-12-31"])
def test_a_date_in_the_future_is_accepted(bank: Bank, day: str | int) -> None:
    last = facts.dated({"validUntil": day})
    consent_id = create(bank, facts.untied()[0], **last)

    assert status(bank, consent_id) == "received"
    assert bank.get(f"/v1/consents/{consent_id}").json()["validUntil"] == last["validUntil"]


@spec("reading-consent-unknown-account")
@pytest.mark.parametrize("with_known", [False, True])
def test_an_account_of_another_bank_is_refused(bank: Bank, with_known: bool) -> None:
    ibans = [facts.covered()] * with_known + [facts.foreign_iban()]

    answer = bank.post("/v1/consents", json=bodies.consent(*ibans))

    assert (answer.status, answer.error["code"]) == (400, "RESOURCE_UNKNOWN")


@spec("2.2-account-reference")
@spec("2.2-access-balances")
@spec("2.2-access-transactions")
@pytest.mark.parametrize(
    "access",
    [
        {"balances": [{"iban": facts.untied()[0], "bban": None, "pan": None, "maskedPan": None, "msisdn": None}]},
        {"balances": [{"iban": facts.untied()[0], "currency": None}], "transactions": []},
        {"balances": [], "transactions": [{"iban": facts.untied()[0]}]},
        {"transactions": [{"iban": facts.untied()[0], "msisdn": "+43 1 234", "maskedPan": "123456xxxxxx1234"}]},
        {"balances": [{"iban": facts.untied()[0], "bban": "00000010204711", "pan": "5409050000000000"}]},
        {"balances": [{"iban": facts.untied()[0], "currency": facts.accounts()[facts.untied()[0]]["currency"]}]},
        {"balances": [{"iban": facts.untied()[0]}], "availableAccounts": None},
    ],
    ids=[
        "null members",
        "empty transactions",
        "empty balances",
        "optional members",
        "other numbers",
        "currency",
        "null availableAccounts",
    ],
)
def test_members_of_access_are_optional(bank: Bank, access: dict[str, Any]) -> None:
    answer = bank.post("/v1/consents", json=bodies.consent(access=access))

    assert answer.status == 200
    assert answer.json()["consentStatus"] == "received"


@spec("reading-empty")
@spec("2.2-account-reference")
def test_an_empty_string_counts_as_a_missing_member(bank: Bank) -> None:
    iban = facts.untied()[0]
    reference = {"iban": iban, "bban": "", "pan": "", "maskedPan": "", "msisdn": "", "currency": ""}
    content = []
    for access in (
        {"balances": [reference], "transactions": "", "availableAccounts": ""},
        {"balances": [{"iban": iban}]},
    ):
        answer = bank.post("/v1/consents", json=bodies.consent(access=access))
        assert answer.status == 200, answer.body
        content.append(bank.get(answer.json()["_links"]["self"]["href"]).json())

    assert content[0] == content[1]
    nothing = bank.post("/v1/consents", json=bodies.consent(access={"balances": "", "transactions": ""}))
    assert (nothing.status, nothing.error["code"], nothing.error["path"]) == (400, "FORMAT_ERROR", "/access")


@spec("reading-account-currency")
@pytest.mark.parametrize("kind", ["balances", "transactions"])
@pytest.mark.parametrize("iban", [facts.covered(), facts.untied()[0]], ids=["tied", "other"])
def test_an_account_in_another_currency_is_unknown(bank: Bank, kind: str, iban: str) -> None:
    references = [{"iban": iban, "currency": "EUR"}, {"iban": iban, "currency": "USD"}]

    answer = bank.post("/v1/consents", json=bodies.consent(access={kind: references}))

    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")
    assert answer.error["path"] == f"/access/{kind}/1/currency"
    assert answer.error["text"].endswith(f"currency must be EUR, that of the account {iban}, or left out, not USD")


@spec("reading-unlisted-members")
def test_unlisted_members_are_ignored(bank: Bank) -> None:
    body = bodies.consent(facts.untied()[0], combinedServiceIndicator=False, extra={"deep": [1, None]})
    body["access"]["balances"][0]["nickname"] = "mine"

    assert bank.post("/v1/consents", json=body).status == 200


# -- content


@spec("2.5-access-accounts")
@spec("2.5-access-balances")
@spec("2.5-access-transactions")
@spec("2.5-access-additional-information")
@spec("2.5-access-available-accounts")
@spec("2.5-access-available-accounts-with-balance")
@spec("2.5-access-all-psd2")
@spec("2.5-access-restricted-to")
@spec("2.5-recurring-indicator")
@spec("2.5-frequency-per-day")
@spec("2.5-last-action-date")
@spec("2.5-consent-status")
@spec("2.5-links")
@spec("4.1-read-consent")
@spec("reading-consent-content")
@spec("2-nulls")
@pytest.mark.parametrize(("recurring", "frequency"), [(True, 4), (False, 1)])
def test_content_of_a_new_consent(bank: Bank, recurring: bool, frequency: int) -> None:
    first, second = facts.untied()[:2]
    access = {"balances": [{"iban": first}, {"iban": second}], "transactions": [{"iban": second}]}
    consent_id = create(bank, access=access, recurringIndicator=recurring, frequencyPerDay=frequency)

    answer = bank.get(f"/v1/consents/{consent_id}")

    assert answer.status == 200
    body = answer.json()
    assert {reference["iban"] for reference in body["access"]["accounts"]} == {first, second}
    assert [reference["iban"] for reference in body["access"]["balances"]] == [first, second]
    assert [reference["iban"] for reference in body["access"]["transactions"]] == [second]
    for member in ("accounts", "balances", "transactions"):
        for reference in body["access"][member]:
            assert reference.keys() == REFERENCE
            assert all(reference[unused] is None for unused in ("bban", "pan", "maskedPan", "msisdn"))
    for member in ("accounts", "balances", "transactions"):
        del body["access"][member]
    assert is_date(body["lastActionDate"])
    assert isinstance(body.pop("lastActionDate"), str)
    assert body == {
        "access": {
            "additionalInformation": None,
            "availableAccounts": None,
            "availableAccountsWithBalance": None,
            "allPsd2": None,
            "restrictedTo": None,
        },
        "recurringIndicator": recurring,
        "validUntil": facts.today(90),
        "frequencyPerDay": frequency,
        "consentStatus": "received",
        "_links": None,
    }
    assert body["recurringIndicator"] is recurring


@spec("2.5-access-accounts")
@spec("reading-consent-content")
@pytest.mark.parametrize(("asked", "other"), [("balances", "transactions"), ("transactions", "balances")])
def test_the_content_shows_only_the_requested_access(bank: Bank, asked: str, other: str) -> None:
    iban = facts.untied()[0]
    access = bank.get(f"/v1/consents/{create(bank, access={asked: [{'iban': iban}]})}").json()["access"]

    assert [reference["iban"] for reference in access["accounts"]] == [iban]
    assert [reference["iban"] for reference in access[asked]] == [iban]
    assert access[other] == []


@spec("2.5-access-available-accounts")
@spec("2.5-access-accounts")
def test_content_of_a_consent_for_all_accounts(bank: Bank) -> None:
    body = bank.get(f"/v1/consents/{create(bank)}").json()

    assert {reference["iban"] for reference in body["access"]["accounts"]} == set(facts.accounts())
    assert body["access"]["availableAccounts"] is None
    assert body["consentStatus"] == "valid"


@spec("4.1-read-consent")
@spec("reading-consent-preconfigured-content")
@spec("2.1-valid-count")
@spec("2-nulls")
@spec("2.5-access-accounts")
@spec("2.5-access-balances")
@spec("2.5-access-transactions")
@spec("2.5-access-additional-information")
@spec("2.5-access-available-accounts")
@spec("2.5-access-available-accounts-with-balance")
@spec("2.5-access-all-psd2")
@spec("2.5-access-restricted-to")
@spec("2.5-recurring-indicator")
@spec("2.5-frequency-per-day")
@spec("2.5-consent-status")
@spec("2.5-links")
@spec("2.5-last-action-date")
@spec("2.5-valid-until")
@pytest.mark.parametrize("consent_id", [id for role in ("authorised", "expired") for id, _ in facts.consents(role)])
def test_content_of_preconfigured_consents(bank: Bank, consent_id: str) -> None:
    consent = facts.testdata()["consents"][consent_id]
    before = bank.get(f"/v1/consents/{consent_id}")
    if consent["role"] == "authorised":
        # A second request for the same account with other values changes nothing.
        again = create(
            bank, *consent["accounts"], frequencyPerDay=99, recurringIndicator=False, validUntil="9999-12-31"
        )
        assert again == consent_id

    after = bank.get(f"/v1/consents/{consent_id}")

    assert before.status == after.status == 200
    assert before.json() == after.json()
    (iban,) = consent["accounts"]
    reference = {**dict.fromkeys(REFERENCE), "iban": iban, "currency": facts.accounts()[iban]["currency"]}
    assert after.json() == {
        "access": {
            "accounts": [reference],
            "balances": [],
            "transactions": [],
            "additionalInformation": None,
            "availableAccounts": None,
            "availableAccountsWithBalance": None,
            "allPsd2": None,
            "restrictedTo": None,
        },
        "recurringIndicator": consent["recurring"] == "true",
        "validUntil": consent["valid_until"],
        "frequencyPerDay": int(consent["frequency"]),
        "lastActionDate": consent["last_action_on"],
        "consentStatus": STATES[consent["role"]],
        "_links": None,
    }
    assert isinstance(after.json()["recurringIndicator"], bool)


# -- status


@spec("2.1-valid-count")
@spec("2.1-expired-count")
@spec("2.1-unknown-count")
def test_the_number_of_preconfigured_consents_is_as_documented(bank: Bank) -> None:
    ids = list(facts.testdata()["consents"])
    answers = [bank.get(f"/v1/consents/{consent_id}/status") for consent_id in ids]

    roles = Counter(answer.json()["consentStatus"] if answer.status == 200 else "unknown" for answer in answers)
    assert roles == {"valid": 4, "expired": 1, "unknown": 1}
    valid = [id for id, answer in zip(ids, answers, strict=True) if answer.json().get("consentStatus") == "valid"]
    tied = [bank.get(f"/v1/consents/{consent_id}").json()["access"]["accounts"] for consent_id in valid]
    assert len({reference["iban"] for (reference,) in tied}) == 4
    assert all(is_uuid(consent_id) for consent_id in ids)


@spec("2.1-valid-status")
@spec("2.1-expired-status")
@spec("2.4-consent-status")
@spec("3.1-preconfigured")
@spec("4.1-consent-status")
@spec("7-expired-status")
@pytest.mark.parametrize("role", STATES)
def test_status_of_preconfigured_consents(bank: Bank, role: str) -> None:
    for consent_id, _ in facts.consents(role):
        answer = bank.get(f"/v1/consents/{consent_id}/status")
        assert answer.status == 200
        assert answer.json() == {"consentStatus": STATES[role]}


@spec("2.1-unknown-status")
@spec("4.1-consent-status")
@spec("7-xs2a017e")
@pytest.mark.parametrize("method_and_tail", ["GET /status", "GET ", "DELETE "])
@pytest.mark.parametrize(
    "consent_id", [facts.consent("unknown"), str(uuid.uuid4()), "no-uuid"], ids=["known", "other", "no uuid"]
)
def test_an_unregistered_consent_is_unknown(bank: Bank, consent_id: str, method_and_tail: str) -> None:
    method, _, tail = method_and_tail.partition(" ")

    answer = bank.request(method, f"/v1/consents/{consent_id}{tail}")

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


# -- deletion


@spec("3.1-deleted")
@spec("4.1-delete-consent")
@spec("reading-consent-deleted")
@pytest.mark.parametrize("kind", ["preconfigured", "expired", "received", "all accounts"])
def test_a_deleted_consent_is_unknown(bank: Bank, kind: str) -> None:
    consent_id = {
        "preconfigured": lambda: facts.consent(),
        "expired": lambda: facts.consent("expired"),
        "received": lambda: create(bank, facts.untied()[0]),
        "all accounts": lambda: create(bank),
    }[kind]()

    deleted = bank.delete(f"/v1/consents/{consent_id}")

    assert deleted.status == 204
    assert deleted.body == b""
    for answer in (
        bank.get(f"/v1/consents/{consent_id}"),
        bank.get(f"/v1/consents/{consent_id}/status"),
        bank.delete(f"/v1/consents/{consent_id}"),
        bank.get("/v1/accounts/", consent=consent_id),
    ):
        assert (answer.status, answer.error["code"]) == (403, "CONSENT_UNKNOWN")
        assert answer.error["text"] == f"{{sensitive}} XS2A017E: consent {consent_id} unknown"


@spec("reading-consent-comes-back")
def test_a_deleted_preconfigured_consent_can_be_created_again(bank: Bank) -> None:
    before = bank.get(f"/v1/consents/{facts.consent()}").json()
    assert bank.delete(f"/v1/consents/{facts.consent()}").status == 204

    assert create(bank, facts.covered()) == facts.consent()

    assert status(bank, facts.consent()) == "valid"
    assert bank.get(f"/v1/consents/{facts.consent()}").json() == before
    assert bank.get("/v1/accounts/", consent=facts.consent()).status == 200


@spec("5-psu-ip-address")
@spec("reading-psu-ip-address")
@pytest.mark.parametrize("address", [None, "192.0.2.7", "2001:db8::7"])
def test_psu_ip_address_is_optional(bank: Bank, address: str | None) -> None:
    answer = bank.post("/v1/consents", json=bodies.consent(facts.covered()), headers={"PSU-IP-Address": address})

    assert answer.status == 200
