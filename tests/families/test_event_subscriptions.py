"""Event subscriptions of UK Open Banking: the bank keeps them for each app."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.families.test_tools import TOKEN, control
from tests.families.test_uk_open_banking import JWS, ask, token
from tests.support.engine_client import Answer, Client
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build

PLACE = "/open-banking/v4.0/event-subscriptions"
UPDATES = "urn:uk:org:openbanking:events:resource-update"
SIGNED = {"x-jws-signature": JWS}


@pytest.fixture
def bank(tmp_path: Path) -> Client:
    (tmp_path / "clients.yaml").write_text(
        json.dumps({"testdata": 2, "clients": {"other": {"name": "Another TPP", "secret": "secret"}}})
    )
    data = tmp_path / "clients.yaml"
    engine = build(Settings(dialect="obie-4.0", state="memory:", confdir=tmp_path, testdata=data))
    engine.use(admin_token=TOKEN)
    return Client(engine)


def own(bank: Client, client: str = "tpp", scope: str = "accounts") -> str:
    return token(bank, client_id=client, grant_type="client_credentials", scope=scope)


def subscribe(bank: Client, bearer: str, **more: Any) -> Answer:
    data = {"Data": {"Version": "4.0", "CallbackUrl": "https://tpp.example/v4.0", "EventTypes": [UPDATES], **more}}
    return ask(bank, "POST", PLACE, bearer, data, **SIGNED)


def listed(bank: Client, bearer: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ask(bank, "GET", PLACE, bearer).json()["Data"]["EventSubscription"]
    return found


def test_a_subscription_is_kept_changed_and_deleted(bank: Client) -> None:
    app = own(bank)
    made = subscribe(bank, app)
    data = made.json()["Data"]
    assert (made.status, data["EventTypes"], listed(bank, app)) == (201, [UPDATES], [data])
    assert made.json()["Links"]["Self"].endswith(f"{PLACE}/{data['EventSubscriptionId']}")
    place = f"{PLACE}/{data['EventSubscriptionId']}"
    changed = ask(bank, "PUT", place, app, {"Data": {**data, "EventTypes": []}}, **SIGNED)
    assert (changed.status, changed.json()["Data"]) == (200, {**data, "EventTypes": []})
    assert ask(bank, "DELETE", place, app).status == 204
    assert listed(bank, app) == []


def test_an_app_sees_only_its_own_subscriptions(bank: Client) -> None:
    data = subscribe(bank, own(bank)).json()["Data"]
    other, place = own(bank, "other"), f"{PLACE}/{data['EventSubscriptionId']}"
    assert listed(bank, other) == []
    answers = [ask(bank, "PUT", place, other, {"Data": data}, **SIGNED), ask(bank, "DELETE", place, other)]
    assert [(answer.status, answer.json()["Errors"][0]["ErrorCode"]) for answer in answers] == [(404, "U011")] * 2
    assert len(listed(bank, own(bank))) == 1


@pytest.mark.parametrize("scope", ["accounts", "payments", "fundsconfirmations"])
def test_any_token_of_the_app_subscribes(bank: Client, scope: str) -> None:
    control(bank, "PUT", "checks", {"checks": ["token"]})
    assert subscribe(bank, own(bank, scope=scope)).status == 201
    assert ask(bank, "GET", PLACE, "nobody's").status == 401


@pytest.mark.parametrize(("signature", "code"), [("", "U019"), ("nonsense", "U018")])
def test_a_subscription_is_signed(bank: Client, signature: str, code: str) -> None:
    data = {"Data": {"Version": "4.0"}}
    refused = ask(bank, "POST", PLACE, own(bank), data, **{"x-jws-signature": signature})
    assert (refused.status, refused.json()["Errors"][0]["ErrorCode"]) == (400, code)
    assert "x-jws-signature" in refused.headers
