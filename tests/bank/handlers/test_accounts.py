"""Account information, in process."""

import pytest

from tests.contract import bodies, facts
from tests.support.engine_client import Client, an_engine


@pytest.fixture
def client() -> Client:
    return Client(an_engine())


@pytest.mark.parametrize(
    "path", ["", "/{id}", "/{id}/balances", "/{id}/transactions?bookingStatus=both", "/{id}/transactions/{entry}"]
)
def test_a_consent_is_used_up_where_frequency_is_checked(path: str) -> None:
    client, iban, consent = Client(an_engine(checks=["frequency"])), facts.covered(), facts.consent("valid")
    everything = client.get(f"/v1/accounts/{iban}/transactions?bookingStatus=booked", consent=consent).json()
    entry = everything["transactions"]["booked"][0]["transactionId"]
    target = f"/v1/accounts{path.format(id=iban, entry=entry)}"
    limit = client.get(f"/v1/consents/{consent}").json()["frequencyPerDay"]
    statuses = [client.get(target, consent=consent, headers={"PSU-IP-Address": None}).status for _ in range(limit + 1)]
    assert statuses == [200] * limit + [429]
    assert client.get(target, consent=consent).status == 200


PATHS = [
    "",
    f"/{facts.covered()}",
    f"/{facts.covered()}/balances",
    f"/{facts.covered()}/transactions?bookingStatus=both",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("consent", "status", "code"),
    [
        (None, 400, "FORMAT_ERROR"),
        ("no-uuid", 403, "CONSENT_UNKNOWN"),
        (facts.consent("unknown"), 403, "CONSENT_UNKNOWN"),
        (facts.consent("expired"), 401, "CONSENT_EXPIRED"),
        ("received", 401, "CONSENT_INVALID"),
    ],
)
def test_consents_that_do_not_do(client: Client, path: str, consent: str | None, status: int, code: str) -> None:
    if consent == "received":
        consent = client.post("/v1/consents", json=bodies.consent(facts.untied()[0])).json()["consentId"]

    answer = client.get(f"/v1/accounts{path}", consent=consent)

    assert (answer.status, answer.error["code"], answer.error["path"]) == (status, code, None)
    if code == "CONSENT_EXPIRED":
        assert ("XS2A004E" if "transactions" in path else "XS2A005E") in answer.error["text"]


@pytest.mark.parametrize("status", ["both", "booked", "pending", "information"])
def test_every_list_shows_its_own(client: Client, status: str) -> None:
    answer = client.get(f"/v1/accounts/{facts.covered()}/transactions?bookingStatus={status}", consent=facts.consent())

    shown = answer.json()["transactions"]
    own = "booked" if status == "both" else status
    assert len(shown[own]) == len(facts.booked(facts.covered(), own))
    assert all(shown[name] is None for name in shown.keys() - {own, "_links"})
    assert ("information" in shown) == (status != "both")


def test_all_accounts_are_covered(client: Client) -> None:
    consent = client.post("/v1/consents", json=bodies.consent()).json()["consentId"]

    listed = client.get("/v1/accounts?withBalance=true", consent=consent).json()["accounts"]

    assert [account["iban"] for account in listed] == list(facts.accounts())
    assert all(account["balances"] for account in listed)


@pytest.mark.parametrize("consent", [facts.consent(), facts.consent().upper()])
def test_one_account(client: Client, consent: str) -> None:
    answer = client.get(f"/v1/accounts/{facts.covered()}/", consent=consent)

    assert (answer.status, answer.json()["resourceId"]) == (200, facts.covered())
    assert "balances" not in answer.json()
    other = client.get(f"/v1/accounts/{facts.uncovered()}", consent=consent)
    assert (other.status, "XS2A016E" in other.error["text"]) == (404, True)
