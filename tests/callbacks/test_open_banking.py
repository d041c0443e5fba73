"""Event notifications of UK Open Banking, and what polling returns of them."""

import base64
import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.callbacks.asking import ServedSession
from tests.support.listener import Listener
from tests.support.serving import Serving, served
from xs2a_sandbox.signatures import jwt

REVOKED = "urn:uk:org:openbanking:events:consent-authorization-revoked"
UPDATED = "urn:uk:org:openbanking:events:resource-update"


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with served(tmp_path_factory.mktemp("sandbox"), "--dialect", "obie-4.0") as started:
        yield started


def subscribe(bank: ServedSession, url: str | None, *types: str, client: str = "our-app") -> None:
    sent: dict[str, Any] = {"Version": "4.0", **({"CallbackUrl": url} if url else {})}
    document = {"client": client, "since": 0, "sent": {**sent, **({"EventTypes": list(types)} if types else {})}}
    bank.control("PUT", f"state/subscriptions/{uuid.uuid4()}", document)


def consent(bank: ServedSession) -> str:
    id = str(uuid.uuid4())
    path = f"/open-banking/v4.0/aisp/account-access-consents/{id}"
    origin = {"client": "our-app", "path": path}
    document = {"status": "awaiting", "accounts": [], "recurring": True, "valid_until": "9999-12-31", "origin": origin}
    bank.control("PUT", f"state/consents/{id}", document)
    return id


def claims(token: bytes) -> Any:
    _, payload, _ = token.decode().split(".")
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


def poll(bank: ServedSession) -> list[str]:
    bank.control("PUT", "state/tokens/a-token", {"client": "our-app", "scope": "accounts"})
    status, _, value = bank.ask("POST", "/open-banking/v4.0/events", {}, Authorization="Bearer a-token")
    assert status == 200, value
    return list(value["sets"])


def test_an_event_is_a_signed_token_and_is_not_polled_any_more(bank: ServedSession, app: Listener) -> None:
    subscribe(bank, app.url)
    id = consent(bank)
    bank.happen(id, "refused")
    (sent,) = app.wait_for(1)
    assert sent.headers["content-type"] == "application/jwt"
    assert uuid.UUID(sent.headers["x-fapi-interaction-id"])
    said = claims(sent.body)
    assert (said["aud"], said["jti"], list(said["events"])) == ("our-app", f"{id}-rejected", [UPDATED])
    subject = said["events"][UPDATED]["subject"]
    assert subject["http://openbanking.org.uk/rid"] == id
    assert subject["http://openbanking.org.uk/rty"] == "account-access-consent"
    status, _, keys = bank.ask("GET", "/_sandbox/jwks.json")
    assert status == 200
    assert jwt.is_signed_by(sent.body.decode(), keys)
    bank.wait_for_state("delivered")
    assert poll(bank) == []


def test_an_event_that_is_not_accepted_can_be_polled(bank: ServedSession, app: Listener) -> None:
    app.answers += [200]
    subscribe(bank, app.url)
    id = consent(bank)
    bank.happen(id, "refused")
    app.wait_for(1)
    bank.wait_for_state("waiting")
    assert poll(bank) == [f"{id}-rejected"]


def test_a_subscription_gets_only_its_events_of_its_app(bank: ServedSession, app: Listener) -> None:
    with Listener() as revocations, Listener() as others:
        subscribe(bank, app.url, UPDATED)
        subscribe(bank, revocations.url, REVOKED)
        subscribe(bank, others.url, client="another-app")
        subscribe(bank, None)
        first, second = consent(bank), consent(bank)
        bank.happen(first, "delete, kept")
        bank.happen(second, "refused")
        assert [claims(sent.body)["jti"] for sent in revocations.wait_for(1)] == [f"{first}-revoked"]
        assert [claims(sent.body)["jti"] for sent in app.wait_for(1)] == [f"{second}-rejected"]
        bank.wait_for_state("delivered", 2)
        assert others.connections == 0
