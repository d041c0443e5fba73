"""Project Wycheproof against the functions that check signatures, JWS, JWK and DPoP proofs.

Source: C2SP/wycheproof, Apache-2.0. The 2,928 vectors are read from `shared/data/wycheproof`, not copied.

Decided here, where the vectors leave a choice:
- MACs (HS256, …) and encryption (JWE) are never accepted, so their `valid` vectors are refused, too: whoever can check
  a MAC could have made it.
- `acceptable` (a PKCS#1 signature whose DigestInfo lacks its NULL): refused.
- A key whose `alg` is not that of the JWS is refused (RFC 7517 4.4). Some vectors call that invalid. Those of RFC 7520
  call it valid: their keys name another algorithm than its figures use, PS256 for PS384, and ES521, which is none.
"""

import json
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_der_public_key

from tests.support.shared import SHARED, needs_shared
from xs2a_sandbox.signatures import dpop
from xs2a_sandbox.signatures.keys import EC, PKCS1, PSS, Scheme, verifies

FOLDER = "data/wycheproof"
pytestmark = needs_shared(FOLDER)

RAW = {
    "ecdsa_secp256r1_sha256_p1363_test": Scheme(EC, "SHA-256", plain=True),
    "ecdsa_secp256r1_sha256_test": Scheme(EC, "SHA-256"),
    "ecdsa_secp384r1_sha384_test": Scheme(EC, "SHA-384"),
    "ecdsa_secp521r1_sha512_test": Scheme(EC, "SHA-512"),
    "rsa_pss_2048_sha256_mgf1_32_test": Scheme(PSS, "SHA-256"),
    "rsa_signature_2048_sha256_test": Scheme(PKCS1, "SHA-256"),
    "rsa_signature_2048_sha512_test": Scheme(PKCS1, "SHA-512"),
}
JOSE = ("json_web_signature_test", "json_web_crypto_test", "json_web_key_test")
KEYS_OF_RFC_7520 = {"Figure20", "Figure27"}


def vectors(name: str) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    file = json.loads((SHARED / FOLDER / f"{name}.json").read_text())
    pairs = [(group, test) for group in file["testGroups"] for test in group["tests"]]
    assert len(pairs) == file["numberOfTests"]
    yield from pairs


@pytest.mark.parametrize("name", RAW)
def test_signatures_are_accepted_or_refused_as_the_vectors_say(name: str) -> None:
    scheme = RAW[name]
    wrong = []
    for group, test in vectors(name):
        key: Any = load_der_public_key(bytes.fromhex(group["publicKeyDer"]))
        accepted = verifies(key, scheme, bytes.fromhex(test["sig"]), bytes.fromhex(test["msg"]))
        if accepted != (test["result"] == "valid"):
            wrong.append((test["tcId"], test["comment"], test["flags"]))
    assert wrong == []


def accepts(key: Mapping[str, Any], text: str) -> bool:
    try:
        algorithm = json.loads(urlsafe_b64decode(text.partition(".")[0] + "==")).get("alg")
    except ValueError:
        algorithm = None
    try:
        return algorithm in dpop.ALGORITHMS and dpop.verifies(dpop.read_key(key, algorithm), text)
    except dpop.WrongProof:
        return False


@pytest.mark.filterwarnings("ignore:Key size should be")
@pytest.mark.parametrize("name", JOSE)
def test_json_web_signatures_and_keys_are_accepted_or_refused_as_the_vectors_say(name: str) -> None:
    wrong = []
    for group, test in vectors(name):
        keyset = group.get("public") or group["private"]
        keys = keyset.get("keys", [keyset])
        text = test.get("jws") or test.get("jwe")
        accepted = any(accepts(key, text if isinstance(text, str) else json.dumps(text)) for key in keys)
        shared_secret = any(key["kty"] == "oct" for key in keys)
        expected = test["result"] == "valid" and "jws" in test and not shared_secret
        if accepted != (expected and test["comment"] not in KEYS_OF_RFC_7520):
            wrong.append((test["tcId"], test["comment"], test["result"], test["flags"]))
    assert wrong == []
