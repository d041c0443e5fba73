"""Tokens that are bound to what the customer has authorised; the rest is in tests/contract/test_strict.py."""

import pytest

from tests.contract import facts
from tests.support.engine_client import Client, an_engine
from xs2a_sandbox.config import RealBank

ADMIN = {"Authorization": "Bearer admin"}
TOKEN = {"Authorization": "Bearer t1"}


def client(scope: str | None) -> Client:
    """A session with a token of this scope."""
    engine = an_engine(real=RealBank(checks=("token",)))
    engine.admin_token = "admin"
    one = Client(engine)
    document = {"client": "demo-tpp", "expires": "2999-01-01T00:00:00+01:00", "scope": scope}
    assert one.request("PUT", "/_sandbox/state/tokens/t1", headers=ADMIN, json=document).status == 201
    return one


@pytest.mark.parametrize(
    ("scope", "status"),
    [
        (None, 200),
        ("AIS", 200),
        ("PIIS AIS", 200),
        ("PIS PIS", 401),
        (f"AIS:{facts.consent('valid')}", 200),
        (f"AIS:{facts.consent('valid').upper()}", 200),
        (f"PIIS:{facts.consent('expired')}", 401),
        ("PIS:1", 401),
    ],
)
def test_a_token_of_another_consent(scope: str | None, status: int) -> None:
    one, consent = client(scope), facts.consent("valid")
    answers = [
        one.get("/v1/accounts", consent=consent, headers=TOKEN),
        one.get(f"/v1/consents/{consent}", headers=TOKEN),
    ]
    assert [answer.status for answer in answers] == [status, status]
    if status == 401:
        assert {answer.error["code"] for answer in answers} == {"TOKEN_INVALID"}


def test_who_comes_for_a_token_needs_none() -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    body = b"grant_type=client_credentials&client_id=demo-tpp&client_secret=kletterrose"
    assert client(None).post("/as/token.oauth2", headers=form, body=body).status == 200


def test_two_headers_are_no_token() -> None:
    answer = client(None).get("/v1/accounts", headers={**TOKEN, "authorization": "Bearer t1"})
    assert answer.error["code"] == "TOKEN_UNKNOWN"
    assert "2 times" in answer.error["text"]
