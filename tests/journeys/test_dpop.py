"""An app whose tokens are bound to its key (RFC 9449), using httpx against a real `serve`."""

import ssl
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.contract import facts
from tests.signatures.test_dpop import BROKEN
from tests.support.proofs import Prover
from tests.support.serving import Serving, served

BOUND = """
cassette: 1
title: Tokens that are bound to a key
rules:
  - id: bound-tokens
    match: {operation: token}
    handler: token.issue
    with: {expires_in: 599, dpop_bound: true}
"""
FORM = {"grant_type": "client_credentials", "client_id": "demo-tpp", "client_secret": "kletterrose"}
TOKEN, CONSENT = "/as/token.oauth2", f"/v1/consents/{facts.consent()}/status"


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    directory = tmp_path_factory.mktemp("dpop")
    (directory / "cases").mkdir()
    (directory / "cases/bound.yaml").write_text(BOUND)
    with served(directory / "served", "--cassettes", str(directory / "cases"), "--checks", "token") as serving:
        yield serving


@pytest.fixture(params=["direct", "tls"])
def app(serving: Serving, request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    trust = ssl.create_default_context(cafile=serving.ca_file)
    with httpx.Client(base_url=getattr(serving, request.param), verify=trust, trust_env=False) as app:
        yield app


def url(app: httpx.Client, path: str) -> str:
    return str(app.base_url).rstrip("/") + path


def token(app: httpx.Client, *proofs: str, prefix: str = "") -> httpx.Response:
    return app.post(prefix + TOKEN, data=FORM, headers=[("DPoP", proof) for proof in proofs])


def use(app: httpx.Client, token: str, *proofs: str, scheme: str = "DPoP") -> httpx.Response:
    fields = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "Authorization": f"{scheme} {token}"}
    return app.get(CONSENT, headers=[*fields.items(), *(("DPoP", proof) for proof in proofs)])


def refusal(answer: httpx.Response) -> tuple[int, str, str | None, Any]:
    (message,) = answer.json()["tppMessages"]
    return answer.status_code, message["code"], answer.headers.get("www-authenticate"), message["text"]


@pytest.fixture
def prover() -> Prover:
    return Prover()


@pytest.fixture
def bound(app: httpx.Client, prover: Prover) -> str:
    """Return a token that is bound to the prover's key."""
    grant_answer = token(app, prover.proof("POST", url(app, TOKEN)))
    assert (grant_answer.status_code, grant_answer.json()["token_type"]) == (200, "DPoP")
    return str(grant_answer.json()["access_token"])


def test_a_token_needs_a_new_proof_for_each_request(app: httpx.Client, prover: Prover, bound: str) -> None:
    proof = prover.proof("GET", url(app, CONSENT), bound)
    assert use(app, bound, proof).json()["consentStatus"] == "valid"
    status, code, challenge, text = refusal(use(app, bound, proof))
    assert (status, code) == (401, "TOKEN_INVALID")
    assert challenge == 'DPoP error="invalid_dpop_proof", algs="ES256 PS256"'
    assert "was used before" in text
    assert use(app, bound, prover.proof("GET", url(app, CONSENT), bound)).status_code == 200


def test_a_token_works_only_with_its_key(app: httpx.Client, prover: Prover, bound: str) -> None:
    other = Prover()
    for answer, words in [
        (use(app, bound, other.proof("GET", url(app, CONSENT), bound)), (prover.thumbprint, other.thumbprint)),
        (use(app, bound, scheme="Bearer"), ("send it with the scheme DPoP",)),
        (use(app, bound, prover.proof("GET", url(app, CONSENT), bound), scheme="Bearer"), ("the scheme DPoP",)),
    ]:
        status, code, challenge, text = refusal(answer)
        assert (status, code) == (401, "TOKEN_INVALID")
        assert challenge == 'DPoP error="invalid_token", algs="ES256 PS256"'
        assert [word for word in words if word not in text] == []


def test_the_bank_accepts_a_proof_only_for_its_token_address_and_method(
    app: httpx.Client, prover: Prover, bound: str
) -> None:
    here = url(app, CONSENT)
    wrong = {
        "is missing; it must contain one proof": (),
        "is sent 2 times": (prover.proof("GET", here, bound), prover.proof("GET", here, bound)),
        "the ath of the DPoP proof is missing": (prover.proof("GET", here),),
        "the ath of the DPoP proof is": (prover.proof("GET", here, "another"),),
        "the htu of the DPoP proof must be": (prover.proof("GET", url(app, TOKEN), bound),),
        "the htm of the DPoP proof must be": (prover.proof("POST", here, bound),),
    }
    for words, proofs in wrong.items():
        status, code, _, text = refusal(use(app, bound, *proofs))
        assert (status, code) == (401, "TOKEN_INVALID")
        assert words in text


def test_without_a_proof_there_is_no_bound_token(app: httpx.Client, prover: Prover) -> None:
    proof = prover.proof("POST", url(app, TOKEN))
    assert token(app, proof).status_code == 200
    wrong = {"is missing": (), "was used before": (proof,), "sent 2 times": (proof, prover.proof("POST", "x"))}
    for words, proofs in wrong.items():
        refused = token(app, *proofs)
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_dpop_proof")
        assert words in refused.json()["error_description"]
        assert refused.headers["cache-control"] == "no-store"


def test_every_broken_proof_is_refused_when_tokens_are_issued_and_used(app: httpx.Client, bound: str) -> None:
    for words, (text, _) in BROKEN.items():
        if len(text) > 8000:
            continue  # servers do not accept a header of that length
        assert token(app, text).json()["error"] == "invalid_dpop_proof", words
        assert refusal(use(app, bound, text))[:2] == (401, "TOKEN_INVALID"), words


def test_a_session_has_its_own_address_and_proofs(app: httpx.Client, prover: Prover) -> None:
    proof = prover.proof("POST", url(app, "/s/mine" + TOKEN))
    assert token(app, proof, prefix="/s/mine").status_code == 200
    refused = token(app, proof)
    assert "htu" in refused.json()["error_description"]


def test_an_unbound_token_is_sent_as_bearer(app: httpx.Client, serving: Serving, prover: Prover) -> None:
    admin = {"Authorization": f"Bearer {serving.token}"}
    kept = {"client": "demo-tpp", "expires": "2999-01-01T00:00:00+01:00"}
    here = f"{serving.direct}/_sandbox/state/tokens/plain"
    assert httpx.put(here, json=kept, headers=admin, trust_env=False).is_success
    assert use(app, "plain", scheme="Bearer").status_code == 200
    text = refusal(use(app, "plain", prover.proof("GET", url(app, CONSENT), "plain")))[3]
    assert "not bound to a key" in text
