"""The token in a request is valid only for its scope and its certificate. See also tests/contract."""

import base64
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contract import facts
from tests.support.engine_client import Answer, Client, an_engine, speaking
from xs2a_sandbox.config import RealBank

ADMIN = {"Authorization": "Bearer admin"}
TOKEN = {"Authorization": "Bearer t1"}


def client(scope: str | None, **of: str) -> Client:
    """Return a session with a token for this scope and this authorised resource."""
    engine = an_engine(real=RealBank(checks=("token",)))
    engine.use(admin_token="admin")
    one = Client(engine)
    document = {"client": "demo-tpp", "expires": "2999-01-01T00:00:00+01:00", "scope": scope, **of}
    assert one.request("PUT", "/_sandbox/state/tokens/t1", headers=ADMIN, json=document).status == 201
    return one


@pytest.mark.parametrize(
    ("scope", "status"),
    [
        (None, 200),
        ("AIS", 200),
        ("PIIS AIS", 200),
        ("PIS PIS", 401),
        ("AIS:1", 200),
        ("PIS:1", 401),
        ("something else", 200),
    ],
)
def test_a_token_of_another_scope(scope: str | None, status: int) -> None:
    judge(client(scope), status)


@pytest.mark.parametrize(
    ("family", "resource", "status"),
    [
        ("consent", facts.consent(), 200),
        ("consent", facts.consent("expired"), 401),
        ("payment", facts.consent(), 401),
        ("login", "1", 200),
    ],
)
@pytest.mark.parametrize("scope", [None, "openid"])
def test_a_token_of_another_consent(family: str, resource: str, status: int, scope: str | None) -> None:
    one = client(scope, family=family, resource=resource)
    judge(one, status)
    judge(one, status, facts.consent().upper())


def judge(one: Client, status: int, consent: str = facts.consent()) -> None:
    answers = [
        one.get("/v1/accounts", consent=consent, headers=TOKEN),
        one.get(f"/v1/consents/{consent}", headers=TOKEN),
    ]
    assert [answer.status for answer in answers] == [status, status]
    if status == 401:
        assert {answer.error["code"] for answer in answers} == {"TOKEN_INVALID"}


def test_a_token_request_needs_no_token() -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    body = b"grant_type=client_credentials&client_id=demo-tpp&client_secret=kletterrose"
    assert client(None).post("/as/token.oauth2", headers=form, body=body).status == 200


def code(answer: Answer) -> str:
    """In the format of the Berlin Group."""
    return str(answer.json()["tppMessages"][0]["code"])


def test_a_revoked_token_is_unknown() -> None:
    engine = speaking("berlin-group-1.3")
    engine.use(admin_token="admin")
    one = Client(engine)
    assert one.request("PUT", "/_sandbox/checks", headers=ADMIN, json={"checks": ["token"]}).status == 200
    form = {"Content-Type": "application/x-www-form-urlencoded", "X-Request-ID": None}
    who = b"client_id=demo-tpp&client_secret=kletterrose&"
    grant = one.post("/as/token.oauth2", headers=form, body=who + b"grant_type=client_credentials&scope=AIS").json()
    token = {"Authorization": f"Bearer {grant['access_token']}"}

    path = "/v1/consents/none/status"
    assert code(one.get(path, headers=token)) == "CONSENT_UNKNOWN"
    assert code(one.get("/v1/signing-baskets/none/status", headers=token)) == "TOKEN_INVALID"
    ended = one.post("/as/revoke_token.oauth2", headers=form, body=who + f"token={grant['access_token']}".encode())
    assert ended.status == 200
    assert code(one.get(path, headers=token)) == "TOKEN_UNKNOWN"


FORM = {"Content-Type": "application/x-www-form-urlencoded", "X-Request-ID": None}
WHO = "client_id=demo-tpp&client_secret=kletterrose&"
OLD, NEW = (b"old certificate",), (b"new certificate",)


@pytest.fixture
def binding(tmp_path: Path) -> Client:
    """Return a bank that binds tokens to client certificates."""
    (tmp_path / "bound.yaml").write_text(
        "cassette: 1\nrules: [{id: bound, match: {operation: token}, handler: token.issue, with: "
        "{expires_in: 599, grants: [client_credentials, refresh_token], certificate_bound: true}}]\n"
    )
    engine = speaking("berlin-group-1.3", tmp_path)
    engine.use(admin_token="admin")
    one = Client(engine)
    assert one.request("PUT", "/_sandbox/checks", headers=ADMIN, json={"checks": ["token"]}).status == 200
    return one


def ask_for_one(client: Client, certificates: tuple[bytes, ...] | None, form: str) -> Answer:
    return client.post("/as/token.oauth2", headers=FORM, body=(WHO + form).encode(), certificates=certificates)


def use(client: Client, token: str, certificates: tuple[bytes, ...] | None) -> tuple[str, str]:
    """Return the code and the text of the error for an unknown consent."""
    headers = {"Authorization": f"Bearer {token}"}
    answer = client.get("/v1/consents/none/status", headers=headers, certificates=certificates)
    return code(answer), answer.json()["tppMessages"][0]["text"]


@pytest.mark.parametrize("form", ["grant_type=client_credentials", "grant_type=refresh_token&refresh_token=r1"])
def test_a_bound_token_is_valid_only_with_its_certificate(binding: Client, form: str) -> None:
    kept = {"client": "demo-tpp", "expires": "2999-01-01T00:00:00+01:00", "scope": "AIS"}
    binding.request("PUT", "/_sandbox/state/refreshTokens/r1", headers=ADMIN, json=kept)
    token = ask_for_one(binding, OLD, form).json()["access_token"]
    assert use(binding, token, OLD)[0] == "CONSENT_UNKNOWN"
    assert use(binding, token, (*OLD, *NEW))[0] == "CONSENT_UNKNOWN", "the first certificate is that of the client"
    thumbprint = base64.urlsafe_b64encode(hashlib.sha256(OLD[0]).digest()).decode().rstrip("=")
    for shown, word in (
        (NEW, "that was sent has"),
        ((), "no client certificate was sent"),
        (None, "no client certificate was sent"),
    ):
        refusal, text = use(binding, token, shown)
        assert refusal == "TOKEN_INVALID"
        assert (thumbprint in text, word in text) == (True, True), text

    renewed = ask_for_one(binding, NEW, form).json()["access_token"]
    assert use(binding, renewed, NEW)[0] == "CONSENT_UNKNOWN", "a new token can be bound to a new certificate"


@pytest.mark.parametrize("shown", [None, ()])
def test_without_a_certificate_no_bound_token_is_issued(binding: Client, shown: tuple[bytes, ...] | None) -> None:
    answer = ask_for_one(binding, shown, "grant_type=client_credentials")
    assert (answer.status, answer.json()["error"]) == (400, "invalid_request")
    assert "RFC 8705" in answer.json()["error_description"]


def test_two_headers_are_refused() -> None:
    answer = client(None).get("/v1/accounts", headers={**TOKEN, "authorization": "Bearer t1"})
    assert answer.error["code"] == "TOKEN_UNKNOWN"
    assert "2 times" in answer.error["text"]


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (None, "is missing"),
        ("", "with the scheme Bearer"),
        ("Bearer", "has not issued this token"),
        ("Bearer ", "has not issued this token"),
        ("Bearer t2", "has not issued this token"),
        ("t1", "with the scheme Bearer"),
        ("Basic dDE6", "with the scheme Bearer"),
        ("DPoP t1", "not bound to a key"),
    ],
)
def test_invalid_tokens_get_specific_errors(header: str | None, words: str) -> None:
    answer = client(None).get("/v1/accounts", headers={"Authorization": header})
    assert answer.error["code"] in ("TOKEN_UNKNOWN", "TOKEN_INVALID")
    assert words in answer.error["text"]


UNBOUND = client(None)


@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=255), max_size=40))
def test_any_token_gets_an_answer(text: str) -> None:
    for scheme in ("Bearer", "bearer", "DPoP", text):
        answer = UNBOUND.get("/v1/accounts", headers={"Authorization": f"{scheme} {text}", "DPoP": text})
        assert answer.status == 401


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer"])
def test_the_scheme_is_case_insensitive(scheme: str) -> None:
    consent = facts.consent()
    assert client(None).get("/v1/accounts", consent=consent, headers={"Authorization": f"{scheme} t1"}).status == 200
