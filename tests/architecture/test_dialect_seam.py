"""Another dialect is a folder of YAML: the same handlers, other paths, statuses, words, links and no nulls."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.support.engine_client import Answer, Client
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build

FOLDER = Path(__file__).parent / "dialects"


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Client:
    monkeypatch.chdir(FOLDER)
    return Client(build(Settings(dialect="plain-1.0", state="memory:", confdir=tmp_path)))


def nulls(value: Any) -> Iterator[Any]:
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if inner is None:
            yield value
        yield from nulls(inner)


def problem(answer: Answer) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(answer.json()) == {"title", "code", "where"}
    return answer.status, answer.json()["code"]


def test_a_consent_in_another_dialect(client: Client) -> None:
    made = client.post("/v2/consents", json=bodies.consent(facts.covered()))
    place = f"/v2/consents/{made.json()['consentId']}"

    assert (made.status, made.headers["location"]) == (201, place)
    assert made.json() == {
        "consentStatus": "valid",
        "consentId": place.rpartition("/")[2],
        "_links": {"self": {"href": place}},
    }
    assert made.json()["consentId"] != facts.tied()[facts.covered()]
    answer = client.get(place)
    assert (answer.status, answer.json()["consentStatus"]) == (200, "valid")
    assert not list(nulls(answer.json()))
    assert made.headers["x-correlation"]
    assert "x-request-id" not in made.headers


def test_accounts_in_another_dialect(client: Client) -> None:
    made = client.post("/v2/consents", json=bodies.consent(facts.covered())).json()

    (account,) = client.get("/v2/accounts", consent=made["consentId"]).json()["accounts"]
    entries = client.get(account["links"]["entries"]["href"] + "?bookingStatus=both", consent=made["consentId"]).json()

    assert account["links"] == {"entries": {"href": f"/v2/accounts/{facts.covered()}/transactions"}}
    assert not list(nulls([account, entries]))
    assert set(entries["transactions"]) == {"booked", "pending"}
    assert len(entries["transactions"]["booked"]) == len(facts.booked(facts.covered()))


def test_a_payment_path_without_service_and_product(client: Client) -> None:
    made = client.post("/v2/transfers", json=bodies.payment(bodies.SEPA))
    place = f"/v2/transfers/{made.json()['paymentId']}"

    assert (made.status, made.headers["location"]) == (201, place)
    assert made.json()["_links"] == {"self": {"href": place}}
    answer = client.get(place)
    assert (answer.status, answer.json()["transactionStatus"]) == (200, "RCVD")
    assert not list(nulls(answer.json()))
    stopped = client.delete(place)
    assert (stopped.status, stopped.json()) == (200, {"transactionStatus": "RCVD", "next": "/v2/stops"})


def test_errors_in_another_dialect(client: Client) -> None:
    unknown = client.get("/v2/consents/nope")

    assert problem(unknown) == (410, "WHICH_CONSENT")
    assert unknown.json()["title"] == "never heard of consent nope"
    assert problem(client.get("/v2/accounts", consent=facts.consent("expired"))) == (403, "OVER")
    made = client.post("/v2/consents", json=bodies.consent()).json()["consentId"]
    assert problem(client.get("/v2/accounts", consent=made)) == (403, "NOT_YET")
    foreign = f"/v2/accounts/{facts.uncovered()}/transactions?bookingStatus=booked"
    assert problem(client.get(foreign, consent=facts.consent())) == (403, "NOT_YOURS")
    assert problem(client.get(f"/v2/transfers/{facts.payments('ACSP')[0][0]}")) == (404, "WHICH_PAYMENT")
    assert problem(client.post("/v2/transfers", json={})) == (422, "MALFORMED")


def test_the_bundled_dialect_is_not_loaded(client: Client) -> None:
    assert client.post("/v1/consents", json=bodies.consent()).json()["code"] == "NOWHERE"
    assert problem(client.request("PUT", "/v2/accounts")) == (405, "METHOD")
    assert client.get("/v2/accounts", consent="x", headers={"X-Request-ID": None}).status == 410
