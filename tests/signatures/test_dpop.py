"""Proofs in the header DPoP: valid ones, and many invalid ones with their error texts."""

import base64
import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jws
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from tests.support.proofs import Prover, encoded, hashed
from xs2a_sandbox.signatures import dpop
from xs2a_sandbox.signatures.dpop import ALGORITHMS, WrongProof

URL = "https://bank.example/v1/accounts"
PROVER = Prover()
WEAK = {"kty": "RSA", "e": "AQAB", "n": encoded(b"\xc5" * 128)}


def taken(text: str, *urls: str, method: str = "GET", token: str | None = None) -> dpop.Proof:
    proof = dpop.read([text])
    dpop.check(proof, method, urls or (URL,), [datetime.now(UTC)], token and hashed(token))
    return proof


def test_a_proof_names_its_key_and_itself() -> None:
    proof = taken(PROVER.proof("GET", URL, "t1", claims={"jti": "first"}), token="t1")
    assert (proof.key, proof.id) == (PROVER.thumbprint, "first")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_declared_algorithm_is_accepted(algorithm: str) -> None:
    curve = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}.get(algorithm)
    key: Any = ECKey.generate_key(curve) if curve else RSAKey.generate_key()
    if algorithm == "Ed25519":
        key = OKPKey.generate_key(algorithm)
    header = {"typ": "dpop+jwt", "alg": algorithm, "jwk": key.as_dict(private=False)}
    claims = {"jti": "1", "htm": "GET", "htu": URL, "iat": int(time.time())}
    text = jws.serialize_compact(header, json.dumps(claims), key, algorithms=[algorithm])
    assert taken(text).key == key.thumbprint()


@pytest.mark.parametrize(
    "written",
    [
        "HTTPS://Bank.Example/v1/accounts",
        "https://bank.example:443/v1/accounts",
        "https://bank.example/v1/accounts?withBalance=true#top",
        "https://bank.example/v1/%61ccounts",
        "http://127.0.0.1:8081/s/mine/v1/accounts",
    ],
)
def test_different_notations_of_a_url_are_equal(written: str) -> None:
    assert taken(PROVER.proof("GET", written), URL + "?page=2", "http://127.0.0.1:8081/s/mine/v1/accounts")


OTHER = Prover().jwk
GOOD = PROVER.proof("GET", URL)
BROKEN: Mapping[str, tuple[str, str]] = {
    "nothing": ("", "three parts"),
    "two parts": ("e30.e30", "three parts"),
    "an empty part": ("e30..e30", "three parts"),
    "base64 with =": (PROVER.proof("GET", URL) + "=", "three parts"),
    "too long": ("e30.e30." + "A" * 9000, "three parts"),
    "a header that is not JSON": ("AAAA.e30.AAAA", "header of the DPoP proof must be a JSON object"),
    "a header that is a list": ("W10.e30.AAAA", "header of the DPoP proof must be a JSON object"),
    "nested JSON": (f"{encoded(b'[' * 5000)}.e30.AAAA", "header of the DPoP proof must be a JSON object"),
    "a payload that is a number": (PROVER.signed(f"{encoded(b'{}')}.{encoded(b'1')}"), "payload of the DPoP proof"),
    "a plain JWT": (PROVER.proof("GET", URL, header={"typ": "JWT"}), "typ of the DPoP proof must be dpop+jwt"),
    "no typ": (PROVER.proof("GET", URL, header={"typ": None}), "typ of the DPoP proof"),
    "none": (PROVER.proof("GET", URL, header={"alg": "none"}), "alg of the DPoP proof"),
    "None": (PROVER.proof("GET", URL, header={"alg": "None"}), "alg of the DPoP proof"),
    "a MAC": (PROVER.proof("GET", URL, header={"alg": "HS256"}), "alg of the DPoP proof"),
    "an alg that is a list": (PROVER.proof("GET", URL, header={"alg": ["ES256"]}), "alg of the DPoP proof"),
    "critical": (PROVER.proof("GET", URL, header={"crit": ["b64"], "b64": False}), "crit"),
    "no key": (PROVER.proof("GET", URL, header={"jwk": None}), "must be a public key"),
    "a key by name": (PROVER.proof("GET", URL, header={"jwk": "../../key", "kid": "../key"}), "must be a public key"),
    "a secret": (PROVER.proof("GET", URL, header={"jwk": {"kty": "oct", "k": "AAAA"}}), "must be a public key"),
    "a private key": (
        PROVER.proof("GET", URL, header={"jwk": {**PROVER.jwk, "d": "AAAA"}}),
        "contains the private key",
    ),
    "half a key": (
        PROVER.proof("GET", URL, header={"jwk": {"kty": "EC", "crv": "P-256", "x": "AAAA"}}),
        "cannot be read",
    ),
    "numbers as key": (PROVER.proof("GET", URL, header={"jwk": {**PROVER.jwk, "x": 1, "y": 2}}), "cannot be read"),
    "no point": (PROVER.proof("GET", URL, header={"jwk": {**PROVER.jwk, "y": PROVER.jwk["x"]}}), "cannot be read"),
    "an odd curve": (PROVER.proof("GET", URL, header={"jwk": {**PROVER.jwk, "crv": "P-1"}}), "cannot be read"),
    "a weak key": (PROVER.proof("GET", URL, header={"jwk": WEAK}), "1024 bits; 2048 or more are needed"),
    "another's key": (PROVER.proof("GET", URL, header={"jwk": OTHER}), "not signed with the key"),
    "another kind's algorithm": (PROVER.proof("GET", URL, header={"alg": "RS256"}), "not signed with the key"),
    "another payload": (
        ".".join([GOOD.split(".")[0], encoded(b"{}"), GOOD.split(".")[2]]),
        "not signed with the key",
    ),
    "no jti": (PROVER.proof("GET", URL, claims={"jti": None}), "must have jti"),
    "an empty jti": (PROVER.proof("GET", URL, claims={"jti": ""}), "must have jti"),
    "a jti that is a number": (PROVER.proof("GET", URL, claims={"jti": 1}), "must have jti"),
    "no htm": (PROVER.proof("GET", URL, claims={"htm": None}), "must have htm"),
    "another method": (PROVER.proof("POST", URL), "htm of the DPoP proof must be GET, not 'POST'"),
    "a method in small letters": (PROVER.proof("get", URL), "htm of the DPoP proof must be GET, not 'get'"),
    "no htu": (PROVER.proof("GET", URL, claims={"htu": None}), "must have htu"),
    "another path": (PROVER.proof("GET", URL + "/1"), f"htu of the DPoP proof must be {URL}"),
    "another scheme": (PROVER.proof("GET", URL.replace("https", "http")), "htu of the DPoP proof"),
    "a path alone": (PROVER.proof("GET", "/v1/accounts"), "htu of the DPoP proof"),
    "no URL": (PROVER.proof("GET", "https://[::1"), "htu of the DPoP proof"),
    "no iat": (PROVER.proof("GET", URL, claims={"iat": None}), "the iat of the DPoP proof must be its time"),
    "an iat in words": (PROVER.proof("GET", URL, claims={"iat": "now"}), "the iat of the DPoP proof must be its time"),
    "true as iat": (PROVER.proof("GET", URL, claims={"iat": True}), "the iat of the DPoP proof must be its time"),
    "an iat without end": (
        PROVER.proof("GET", URL, claims={"iat": float("inf")}),
        "the iat of the DPoP proof must be its time",
    ),
    "a huge iat": (PROVER.proof("GET", URL, claims={"iat": 10**4000}), "the iat of the DPoP proof must be its time"),
    "milliseconds": (
        PROVER.proof("GET", URL, claims={"iat": int(time.time() * 1000)}),
        "the iat of the DPoP proof must be its time",
    ),
    "an old one": (PROVER.proof("GET", URL, claims={"iat": int(time.time()) - 86_400}), "more than 5 minutes"),
    "one of tomorrow": (PROVER.proof("GET", URL, claims={"iat": int(time.time()) + 86_400}), "more than 5 minutes"),
}


@pytest.mark.parametrize(("text", "words"), BROKEN.values(), ids=BROKEN)
def test_a_broken_proof_is_refused_with_the_reason(text: str, words: str) -> None:
    with pytest.raises(WrongProof) as refused:
        taken(text)
    assert words in str(refused.value)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("values", [[], [PROVER.proof("GET", URL)] * 2])
def test_there_must_be_exactly_one_proof(values: list[str]) -> None:
    with pytest.raises(WrongProof, match=r"is missing|is sent 2 times"):
        dpop.read(values)


@pytest.mark.parametrize(("claims", "words"), [({"ath": None}, "is missing"), ({"ath": hashed("t2")}, "ath")])
def test_a_proof_is_valid_for_one_token(claims: Mapping[str, Any], words: str) -> None:
    with pytest.raises(WrongProof, match=words):
        taken(PROVER.proof("GET", URL, "t1", claims=claims), token="t1")


def test_a_public_key_is_not_accepted_as_the_secret_of_a_mac() -> None:
    """The oldest attack: use the public key as the secret of HS256."""
    pem = json.dumps(PROVER.jwk).encode()
    header = {"typ": "dpop+jwt", "alg": "HS256", "jwk": PROVER.jwk}
    text = jws.serialize_compact(header, b"{}", OctKey.import_key(pem), algorithms=["HS256"])
    with pytest.raises(WrongProof, match="alg of the DPoP proof"):
        dpop.read([text])


def test_the_time_may_be_that_of_the_session_or_the_real_one() -> None:
    proof = dpop.read([PROVER.proof("GET", URL)])
    now, far = datetime.now(UTC), datetime.now(UTC) + timedelta(days=400)
    dpop.check(proof, "GET", [URL], (far, now))
    with pytest.raises(WrongProof, match="the time at the bank"):
        dpop.check(proof, "GET", [URL], (far, far))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(["typ", "alg", "jwk", "crit", "b64", "kid", "x5c"]), JSON)
def test_any_header_gives_a_proof_or_an_error_in_words(name: str, value: Any) -> None:
    assert is_proof_or_readable_error(PROVER.proof("GET", URL, header={name: value}))


@given(st.sampled_from(["kty", "crv", "x", "y", "n", "e", "use", "key_ops"]), JSON | st.sampled_from(["RSA", "OKP"]))
def test_any_key_gives_a_proof_or_an_error_in_words(name: str, value: Any) -> None:
    assert is_proof_or_readable_error(PROVER.proof("GET", URL, header={"jwk": {**PROVER.jwk, name: value}}))


@given(st.sampled_from(["jti", "htm", "htu", "iat", "ath"]), JSON)
def test_any_claim_gives_a_proof_or_an_error_in_words(name: str, value: Any) -> None:
    assert is_proof_or_readable_error(PROVER.proof("GET", URL, "t1", claims={name: value}))


@given(st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_give_an_error_in_words(header: bytes, payload: bytes, signature: bytes) -> None:
    with pytest.raises(WrongProof):
        taken(".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (header, payload, signature)))


def is_proof_or_readable_error(text: str) -> bool:
    try:
        return taken(text).key == PROVER.thumbprint
    except WrongProof as mistake:
        return 10 < len(str(mistake)) < 500
