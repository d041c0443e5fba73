"""JSON Web Tokens: read without verification, and verified with keys."""

import hmac
import json
from decimal import Decimal
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from joserfc import jws
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from tests.support.certificates import issued
from tests.support.proofs import encoded
from xs2a_sandbox.signatures.jwt import LARGEST, is_signed_by, read

KEYS: dict[str, Any] = {
    "RS256": RSAKey.generate_key(2048),
    "PS256": RSAKey.generate_key(2048),
    "ES256": ECKey.generate_key("P-256"),
    "ES384": ECKey.generate_key("P-384"),
    "Ed25519": OKPKey.generate_key("Ed25519"),
}
CLAIMS = {"iss": "a", "n": 1.50}


def token(key: Any, algorithm: str, **header: Any) -> str:
    return jws.serialize_compact({"alg": algorithm, **header}, json.dumps(CLAIMS), key, algorithms=[algorithm])


def as_eddsa(text: str, key: Any) -> str:
    """Return the same token with the name that the algorithm had before RFC 9864."""
    signed = f"{encoded(b'{"alg": "EdDSA"}')}.{text.split('.')[1]}"
    return f"{signed}.{encoded(key.get_op_key('sign').sign(signed.encode()))}"


def public(key: Any, **more: Any) -> dict[str, Any]:
    return {**key.as_dict(private=False), **more}


@pytest.mark.parametrize("algorithm", KEYS)
def test_a_token_is_verified_with_keys_in_every_form(algorithm: str) -> None:
    key = KEYS[algorithm]
    text = token(key, algorithm, kid="1")
    other = KEYS["ES256" if algorithm != "ES256" else "RS256"]
    assert is_signed_by(text, public(key))
    assert is_signed_by(text, {"keys": [public(other), public(key, kid="1", use="sig", alg=algorithm)]})
    assert is_signed_by(text, key.as_pem(private=False).decode())
    for wrong in (
        public(other),
        public(type(key).generate_key(key.curve_name if algorithm[0] == "E" else 2048)),
        public(key, kid="2"),
        public(key, use="enc"),
        public(key, key_ops=["sign"]),
        public(key, alg="PS512"),
        {"keys": []},
        {"keys": {}},
        {"keys": [1, None]},
        {},
        None,
        5,
        "no PEM",
        "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----",
    ):
        assert not is_signed_by(text, wrong), wrong


def test_the_older_name_of_ed25519_is_accepted() -> None:
    key = KEYS["Ed25519"]
    text = as_eddsa(token(key, "Ed25519"), key)
    assert is_signed_by(text, public(key))
    assert is_signed_by(text, public(key, alg="EdDSA"))
    assert not is_signed_by(text, public(KEYS["ES256"]))


@pytest.mark.parametrize("kind", ["ec", "rsa"])
def test_a_token_is_verified_with_the_key_of_a_certificate(kind: str) -> None:
    own = issued("QSEAL", key=kind)
    pem = own.certificate.public_bytes(Encoding.PEM).decode()
    private = own.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    key, algorithm = (ECKey.import_key(private), "ES256") if kind == "ec" else (RSAKey.import_key(private), "PS256")
    assert is_signed_by(token(key, algorithm, kid="of the app's own"), pem)
    assert not is_signed_by(token(KEYS[algorithm], algorithm), pem)


def test_a_changed_token_is_not_verified() -> None:
    header, _, signature = token(KEYS["ES256"], "ES256").split(".")
    claims = encoded(json.dumps({**CLAIMS, "iss": "b"}).encode())
    assert read(f"{header}.{claims}.{signature}") is not None
    assert not is_signed_by(f"{header}.{claims}.{signature}", public(KEYS["ES256"]))


def test_unsigned_tokens_and_shared_secrets_are_never_accepted() -> None:
    claims = encoded(json.dumps(CLAIMS).encode())
    unsigned = f"{encoded(b'{"alg": "none"}')}.{claims}."
    assert read(unsigned) == {"header": {"alg": "none"}, "claims": CLAIMS}
    pem = KEYS["RS256"].as_pem(private=False)
    start = f"{encoded(b'{"alg": "HS256"}')}.{claims}"
    with_public_key = f"{start}.{encoded(hmac.digest(pem, start.encode(), 'sha256'))}"
    secret = OctKey.generate_key(256)
    for text, keys in (
        (unsigned, public(KEYS["RS256"])),
        (unsigned, None),
        (with_public_key, pem.decode()),
        (token(secret, "HS256"), secret.as_dict()),
        (f"{encoded(b'{"alg": ["RS256"]}')}.{claims}.", public(KEYS["RS256"])),
        (f"{encoded(b'{}')}.{claims}.", public(KEYS["RS256"])),
    ):
        assert not is_signed_by(text, keys), text


def test_a_token_with_critical_members_is_not_accepted() -> None:
    key = KEYS["ES256"]
    assert is_signed_by(token(key, "ES256", kid="1"), public(key))
    assert not is_signed_by(token(key, "ES256", kid="1", crit=["kid"]), public(key))


def test_the_private_half_of_a_key_is_ignored() -> None:
    key = KEYS["ES256"]
    assert is_signed_by(token(key, "ES256"), key.as_dict(private=True))


def test_the_number_of_keys_is_limited() -> None:
    key = KEYS["ES256"]
    many = [public(KEYS["ES384"])] * 10
    assert not is_signed_by(token(key, "ES256"), {"keys": [*many, public(key)]})
    assert is_signed_by(token(key, "ES256", kid="1"), {"keys": [*(many | {"kid": "2"} for many in many), public(key)]})


def test_numbers_of_claims_keep_their_digits() -> None:
    text = f"{encoded(b'{}')}.{encoded(b'{"amount": 1.50, "exp": 5}')}."
    assert read(text) == {"header": {}, "claims": {"amount": Decimal("1.50"), "exp": 5}}
    assert str(read(text)["claims"]["amount"]) == "1.50"  # type: ignore[index]


@pytest.mark.parametrize(
    "text",
    [
        "", "a", "a.b", "a.b.c", "e30.e30", "e30.e30.x.y.z", "e30.W10.", "W10.e30.", "e30.e3 0.", "e30=.e30.", "e30.a.",
        "e30.e30.é", f"e30.{'a' * LARGEST}.", f"e30.{encoded(b'[' * 40_000)}.", f"e30.{encoded(b'{"a":' * 600)}.",
        f"e30.{encoded(b'{"a":' * 600 + b'1' + b'}' * 600)}.", f"e30.{encoded(b'{')}.", f"e30.{encoded(bytes([255]))}.",
        None, 5, {"a": 1}, b"e30.e30.",
    ],
)  # fmt: skip
def test_other_text_is_not_a_token(text: object) -> None:
    assert read(text) is None
    assert not is_signed_by(text, public(KEYS["ES256"]))
