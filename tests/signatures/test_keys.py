"""Signature schemes, and conclusions from a public key."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.seals import key
from xs2a_sandbox.signatures.keys import EC, HASHES, PKCS1, PSS, Scheme, sign, signed_hash, verifies

SCHEMES = [Scheme(kind, name) for kind in (PKCS1, PSS, EC) for name in ("SHA-256", "SHA-384", "SHA-512")]
TEXT = b"digest: SHA-256=x"


def kind_of(scheme: Scheme) -> str:
    return "rsa" if scheme.is_rsa else "ec"


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_a_signature_matches_only_its_text_key_and_scheme(scheme: Scheme) -> None:
    own, other = key(kind_of(scheme), 0), key(kind_of(scheme), 1)
    signature = sign(own, scheme, TEXT)
    assert scheme.is_for(own.public_key())
    assert verifies(own.public_key(), scheme, signature, TEXT)
    assert not verifies(own.public_key(), scheme, signature, TEXT + b" ")
    assert not verifies(other.public_key(), scheme, signature, TEXT)
    others = [one for one in SCHEMES if one != scheme and one.is_for(own.public_key())]
    assert [one for one in others if verifies(own.public_key(), one, signature, TEXT)] == []


@pytest.mark.parametrize("name", HASHES)
def test_the_hash_in_a_signature_is_read_without_the_text(name: str) -> None:
    signature = sign(key("rsa", 0), Scheme(PKCS1, name), TEXT)
    digest = hashlib.new(HASHES[name].name, TEXT).digest()
    assert signed_hash(key("rsa", 0).public_key(), signature) == (name, digest)
    assert signed_hash(key("rsa", 1).public_key(), signature) is None


def test_signatures_of_other_schemes_contain_no_hash() -> None:
    assert signed_hash(key("rsa", 0).public_key(), sign(key("rsa", 0), Scheme(PSS, "SHA-256"), TEXT)) is None
    assert signed_hash(key("ec", 0).public_key(), sign(key("ec", 0), Scheme(EC, "SHA-256"), TEXT)) is None


@given(st.sampled_from(["rsa", "ec"]), st.binary(max_size=300), st.booleans())
def test_an_invalid_signature_matches_nothing(kind: str, noise: bytes, is_plain: bool) -> None:
    scheme = Scheme(PKCS1, "SHA-256") if kind == "rsa" else Scheme(EC, "SHA-256", is_plain)
    assert not verifies(key(kind, 0).public_key(), scheme, noise, TEXT)
    assert signed_hash(key(kind, 0).public_key(), noise) is None
