"""With the check `signature`, the bank verifies x-jws-signature with the keys of the app."""

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc.jwk import RSAKey

from tests.families.test_tools import TOKEN, control
from tests.families.test_uk_open_banking import AISP, PISP, ask, initiation, token
from tests.outside.obie.detached_jws import IAT, TAN, Signer
from tests.support.engine_client import Answer, Client
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build

BODY = json.dumps({"Data": {"Initiation": initiation()}, "Risk": {}}).encode()
PLACE = f"{PISP}/domestic-payment-consents"
APP, OTHER = Signer(), Signer()


def certificate_of(signer: Signer) -> str:
    name, now = x509.Name([]), datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, signer._key.public_key(), x509.random_serial_number())
    days = builder.not_valid_before(now).not_valid_after(now + timedelta(days=1))
    return days.sign(signer._key, SHA256()).public_bytes(Encoding.PEM).decode()


PEM = APP._key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
KEY = {**RSAKey.import_key(PEM).as_dict(private=False), "kid": APP.kid}
CLIENTS = {
    "keyed": {"name": "With keys", "secret": "secret", "jwks": {"keys": [KEY]}},
    "certified": {"name": "With a certificate", "secret": "secret", "certificate": certificate_of(APP)},
    "keyless": {"name": "Without keys", "secret": "secret"},
}


@pytest.fixture
def bank(tmp_path: Path) -> Client:
    (tmp_path / "clients.yaml").write_text(json.dumps({"testdata": 2, "clients": CLIENTS}))
    data = tmp_path / "clients.yaml"
    engine = build(Settings(dialect="obie-4.0", state="memory:", confdir=tmp_path, testdata=data))
    engine.use(admin_token=TOKEN)
    bank = Client(engine)
    control(bank, "PUT", "checks", {"checks": ["signature"]})
    return bank


class Forger(Signer):
    """An app that signs a header with other members."""

    def __init__(self, **members: Any) -> None:
        self._key, self.members = APP._key, members

    def _signed(self, protected: Any, payload: bytes) -> str:
        return super()._signed({**protected, **self.members}, payload)


def post(bank: Client, signature: str | None, client: str = "keyed", body: bytes = BODY) -> Answer:
    own = token(bank, client_id=client, grant_type="client_credentials", scope="payments")
    headers = {"Authorization": f"Bearer {own}", "x-jws-signature": signature, "Content-Type": "application/json"}
    return bank.post(PLACE, body=body, headers=headers)


def code(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json()["Errors"][0]["ErrorCode"]


@pytest.mark.parametrize("client", ["keyed", "certified"])
def test_a_body_that_the_app_has_signed(bank: Client, client: str) -> None:
    assert post(bank, APP.signature(BODY), client).status == 201


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        (OTHER.signature(BODY), "U015"),
        (APP.signature(BODY.replace(b"10.00", b"99.00")), "U015"),
        (APP.signature(BODY)[:-8] + "AAAAAAAA", "U015"),
        (Forger(kid="another").signature(BODY), "U015"),
        (Forger(alg="none").signature(BODY), "U015"),
        (Forger(crit=["exp"], exp=1).signature(BODY), "U015"),
        (Forger(crit="exp").signature(BODY), "U015"),
        (Forger(**{TAN: "example.org"}).signature(BODY), "U016"),
        (Forger(**{IAT: int(time.time()) + 3600}).signature(BODY), "U016"),
        (Forger(crit=[IAT, TAN]).signature(BODY, ["iss"]), "U017"),
        ("nonsense", "U018"),
        (None, "U019"),
    ],
)
def test_signatures_that_the_bank_refuses(bank: Client, signature: str | None, expected: str) -> None:
    assert code(post(bank, signature)) == (400, expected)


def test_a_client_without_keys(bank: Client) -> None:
    refused = post(bank, APP.signature(BODY), "keyless")
    assert code(refused) == (400, "U015")
    assert "add its jwks or certificate to the test data" in refused.json()["Errors"][0]["Message"]


def test_a_file_is_signed_too(bank: Client) -> None:
    file = b"<Document/>"
    own = token(bank, client_id="keyed", grant_type="client_credentials", scope="payments")
    signed = {"Content-Type": "text/xml", "x-jws-signature": APP.signature(file)}
    answers = [
        ask(bank, "POST", f"{PISP}/file-payment-consents/one/file", own, body, **signed) for body in (file, file + b" ")
    ]
    assert [code(answer) for answer in answers] == [(400, "U011"), (400, "U015")]


def test_nobody_signs_requests_for_accounts_or_without_a_body(bank: Client) -> None:
    own = token(bank, client_id="keyless", grant_type="client_credentials", scope="accounts payments")
    data = {"Data": {"Permissions": ["ReadAccountsBasic"]}, "Risk": {}}
    assert ask(bank, "POST", f"{AISP}/account-access-consents", own, data).status == 201
    assert code(ask(bank, "GET", f"{PLACE}/one", own)) == (400, "U011")


def test_without_the_check_nothing_is_verified(bank: Client) -> None:
    control(bank, "PUT", "checks", {"checks": []})
    assert post(bank, OTHER.signature(BODY)).status == 201


def test_a_warning_names_the_mistake(bank: Client) -> None:
    control(bank, "PUT", "checks", {"checks": ["warn"]})
    answer = post(bank, OTHER.signature(BODY))
    assert (answer.status, "400 U015" in answer.headers["x-sandbox-strict"]) == (201, True)


def test_all_checks_at_once(bank: Client) -> None:
    control(bank, "PUT", "checks", {"profile": "strict"})
    assert post(bank, APP.signature(BODY)).status == 201
    assert code(post(bank, OTHER.signature(BODY))) == (400, "U015")
