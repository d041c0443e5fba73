"""How apps say who they are: pushed authorisation requests (RFC 9126) and assertions (RFC 7523)."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from joserfc import jws
from joserfc.jwk import RSAKey

from tests.families.test_uk_open_banking import (
    AISP,
    APP,
    BILLS,
    FORM,
    account_consent,
    approve,
    ask,
    grant,
    link_for,
    request_object,
    token,
)
from tests.journeys.test_scenarios import move
from tests.support.engine_client import Answer, Client
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build

KEY, OTHER_KEY = RSAKey.generate_key(2048), RSAKey.generate_key(2048)
FAR = 32503680000  # the year 3000
ASSERTED = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


@pytest.fixture
def bank(tmp_path: Path) -> Client:
    """The bank with a second app, which has a key."""
    client = {"name": "Another TPP", "secret": "another", "jwks": {"keys": [KEY.as_dict(private=False)]}}
    data = tmp_path / "clients.yaml"
    data.write_text(json.dumps({"testdata": 2, "clients": {"keyed": client}}))
    settings = Settings(dialect="obie-4.0", state="memory:", confdir=tmp_path, testdata=data)
    return Client(build(settings))


def post(bank: Client, path: str, **form: str) -> Answer:
    return bank.post(path, body=urlencode(form).encode(), headers=FORM)


def push(bank: Client, consent: str, **form: str) -> Answer:
    credentials = {"client_id": "tpp", "client_secret": "secret"}
    pushed = {"redirect_uri": APP, "response_type": "code", "scope": "openid accounts", "state": "abc"}
    return post(bank, "/par", **{**credentials, **pushed, "request": request_object(consent), **form})


def test_a_pushed_request_leads_to_a_token(bank: Client) -> None:
    consent, _ = account_consent(bank)
    pushed = push(bank, consent)
    assert (pushed.status, pushed.json()["expires_in"]) == (201, 90)
    link = {"client_id": "tpp", "request_uri": pushed.json()["request_uri"]}
    bearer = token(bank, **grant(approve(bank, link, BILLS)))
    assert ask(bank, "GET", f"{AISP}/accounts/22289", bearer).status == 200


def test_what_was_pushed_wins_over_the_link(bank: Client) -> None:
    consent, _ = account_consent(bank)
    other, _ = account_consent(bank)
    link = {**link_for(other, "accounts"), "request_uri": push(bank, consent).json()["request_uri"]}
    bearer = token(bank, **grant(approve(bank, link, BILLS)))
    own = token(bank, grant_type="client_credentials", scope="accounts")
    states = [
        ask(bank, "GET", f"{AISP}/account-access-consents/{id}", own).json()["Data"]["Status"]
        for id in (consent, other)
    ]
    assert (states, ask(bank, "GET", f"{AISP}/accounts", bearer).status) == (["AUTH", "AWAU"], 200)


@pytest.mark.parametrize(
    "link",
    [
        {"client_id": "keyed"},
        {"client_id": "tpp", "request_uri": "urn:ietf:params:oauth:request_uri:unknown"},
    ],
)
def test_a_request_that_another_app_has_pushed_or_nobody(bank: Client, link: dict[str, str]) -> None:
    consent, _ = account_consent(bank)
    sent = {"request_uri": push(bank, consent).json()["request_uri"], "redirect_uri": APP, "response_type": "code"}
    answer = bank.get(f"/sca/auth?{urlencode({**sent, **link})}")
    assert answer.headers.get("location", "").startswith(f"{APP}?error=invalid_request"), answer.body


def test_a_pushed_request_expires(bank: Client) -> None:
    consent, _ = account_consent(bank)
    link = {"client_id": "tpp", "redirect_uri": APP, "response_type": "code"}
    link["request_uri"] = push(bank, consent).json()["request_uri"]
    move(bank, seconds=91)
    answer = bank.get(f"/sca/auth?{urlencode(link)}")
    assert answer.headers.get("location", "").startswith(f"{APP}?error=invalid_request"), answer.body


@pytest.mark.parametrize("wrong", [{"client_id": "nobody"}, {"client_secret": "wrong"}])
def test_only_a_known_app_pushes(bank: Client, wrong: dict[str, str]) -> None:
    answer = push(bank, "one", **wrong)
    assert (answer.status, answer.json()["error"]) == (401, "invalid_client")


def assertion(key: Any = KEY, **claims: Any) -> dict[str, str]:
    text = json.dumps({"iss": "keyed", "sub": "keyed", "aud": "https://bank.example/token", "exp": FAR, **claims})
    signed = jws.serialize_compact({"alg": "PS256"}, text, key, algorithms=["PS256"])
    return {"client_assertion_type": ASSERTED, "client_assertion": signed}


def test_a_token_by_assertion(bank: Client) -> None:
    form = {"grant_type": "client_credentials", "scope": "accounts", **assertion()}
    answer = post(bank, "/token", **form)
    assert (answer.status, answer.json()["scope"]) == (200, "accounts")
    data = {"Data": {"Permissions": ["ReadAccountsBasic"]}, "Risk": {}}
    made = ask(bank, "POST", f"{AISP}/account-access-consents", answer.json()["access_token"], data)
    assert made.status == 201


def test_an_assertion_of_another_app(bank: Client) -> None:
    form = {"grant_type": "client_credentials", "scope": "accounts", "client_id": "tpp", **assertion()}
    assert post(bank, "/token", **form).json()["error"] == "invalid_client"


def test_a_request_is_pushed_with_an_assertion(bank: Client) -> None:
    request = {"request": request_object("one")}
    assert post(bank, "/par", **request, **assertion()).status == 201
    assert post(bank, "/par", **request, **assertion(OTHER_KEY)).status == 401


@pytest.mark.parametrize(
    ("key", "claims"),
    [(OTHER_KEY, {}), (KEY, {"sub": "tpp"}), (KEY, {"sub": "nobody"}), (KEY, {"exp": 1}), (KEY, {"exp": None})],
)
def test_an_assertion_that_proves_nothing(bank: Client, key: Any, claims: dict[str, Any]) -> None:
    form = {"grant_type": "client_credentials", "scope": "accounts", **assertion(key, **claims)}
    answer = post(bank, "/token", **form)
    assert (answer.status, answer.json()["error"]) == (401, "invalid_client")
