"""The bank signs its answers about payments; an app verifies them with the keys of /_sandbox/jwks.json."""

import json
from base64 import b64decode, urlsafe_b64decode
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from joserfc import jws
from joserfc.errors import BadSignatureError
from joserfc.jwk import KeySet
from joserfc.registry import HeaderParameter

from tests.families.test_uk_open_banking import AISP, PISP, ask, initiation, token
from tests.support.engine_client import Answer, Client
from tests.support.proofs import encoded
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build

OWN = [f"http://openbanking.org.uk/{name}" for name in ("iat", "iss", "tan")]
ALGORITHMS = ["PS256", "ES256", "ES384", "ES512"]
REGISTRY = jws.JWSRegistry({name: HeaderParameter(name, lambda _: None) for name in OWN}, ALGORITHMS)


@pytest.fixture
def bank(tmp_path: Path) -> Client:
    return Client(build(Settings(dialect="obie-4.0", state="memory:", confdir=tmp_path)))


def keys(bank: Client) -> dict[str, Any]:
    answer = bank.get("/_sandbox/jwks.json", door="direct", host="127.0.0.1")
    assert answer.status == 200, answer.body
    told: dict[str, Any] = answer.json()
    return told


def verify(text: str, body: bytes, key_set: dict[str, Any]) -> dict[str, Any]:
    """Return the header of the signature. Raises BadSignatureError."""
    header, _, signature = text.split(".")
    members: dict[str, Any] = json.loads(urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    jws.deserialize_compact(f"{header}.{encoded(body)}.{signature}", KeySet.import_key_set(key_set), registry=REGISTRY)
    return members


def consent(bank: Client, scope: str = "payments", **headers: str) -> Answer:
    own = token(bank, grant_type="client_credentials", scope=scope)
    if scope == "accounts":
        data: dict[str, Any] = {"Permissions": ["ReadAccountsBasic"]}
        return ask(bank, "POST", f"{AISP}/account-access-consents", own, {"Data": data, "Risk": {}})
    data = {"Initiation": initiation()}
    return ask(bank, "POST", f"{PISP}/domestic-payment-consents", own, {"Data": data, "Risk": {}}, **headers)


def test_an_answer_is_verified_with_the_published_key(bank: Client) -> None:
    answer = consent(bank)
    header = verify(answer.headers["x-jws-signature"], answer.body, keys(bank))
    assert answer.status == 201
    assert sorted(header["crit"]) == sorted(OWN)
    assert isinstance(header[OWN[0]], int)


def test_errors_are_signed_as_well(bank: Client) -> None:
    answer = consent(bank, **{"x-jws-signature": "e30..c2ln"})
    assert answer.status == 400
    verify(answer.headers["x-jws-signature"], answer.body, keys(bank))


def test_a_changed_body_is_noticed(bank: Client) -> None:
    answer = consent(bank)
    with pytest.raises(BadSignatureError):
        verify(answer.headers["x-jws-signature"], answer.body.replace(b"10.00", b"99.00"), keys(bank))


def test_only_answers_about_payments_are_signed(bank: Client) -> None:
    answer = consent(bank, "accounts")
    assert (answer.status, "x-jws-signature" in answer.headers) == (201, False)


def test_the_published_key_is_public_and_that_of_its_certificate(bank: Client) -> None:
    (key,) = keys(bank)["keys"]
    assert not key.keys() & {"d", "p", "q", "dp", "dq", "qi", "k"}
    certificate = x509.load_der_x509_certificate(b64decode(key["x5c"][0]))
    published = KeySet.import_key_set({"keys": [key]}).keys[0]
    assert published.get_op_key("verify").public_numbers() == certificate.public_key().public_numbers()


def test_the_keys_are_where_the_discovery_says(bank: Client) -> None:
    told = bank.get("/.well-known/openid-configuration").json()
    assert told["jwks_uri"].endswith("/_sandbox/jwks.json")
