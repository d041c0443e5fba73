"""Guesses about what a client has signed find the mistakes planted here."""

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.seals import key
from xs2a_sandbox.http import Headers, digest
from xs2a_sandbox.signatures.guesses import client_signed
from xs2a_sandbox.signatures.keys import EC, PKCS1, Scheme, sign
from xs2a_sandbox.signatures.signing_string import SignedMessage, signing_string

BODY = b'{"b": 1, "a": 2}'
MESSAGE = SignedMessage(
    Headers([("Digest", digest.write("SHA-256", BODY)), ("X-Request-ID", "99391c7e"), ("PSU-ID", "anna")]),
    BODY,
    "POST",
    "/v1/consents",
)
NAMES = ("digest", "x-request-id", "psu-id")
RSA, CURVE = Scheme(PKCS1, "SHA-256"), Scheme(EC, "SHA-256")
RIGHT = signing_string(NAMES, MESSAGE)


def guessed(text: str, scheme: Scheme = RSA, *, which: int = 0) -> tuple[str | None, str]:
    """Return the difference that is found, and the note about the key."""
    own = "rsa" if scheme.is_rsa else "ec"
    signature = sign(key(own, which), scheme, text.encode("latin-1"))
    signed, hint = client_signed(MESSAGE, NAMES, key(own, 0).public_key(), scheme, signature, lambda text: text)
    assert signed is None or signed.text == text
    return signed.difference if signed else None, hint


@pytest.mark.parametrize("scheme", [RSA, CURVE], ids=str)
@pytest.mark.parametrize(
    ("text", "difference"),
    [
        (RIGHT.replace(": ", ":"), "no space after the colons"),
        (RIGHT.replace("\n", "\r\n"), "lines that end with carriage return and line feed"),
        (RIGHT.upper(), None),
        (b64encode(RIGHT.encode()).decode(), "the signing string in base64"),
        (RIGHT.replace("psu-id: anna", 'psu-id: "anna"'), "psu-id in quotation marks"),
    ],
)
def test_a_single_mistake_is_found_for_both_kinds_of_keys(text: str, difference: str | None, scheme: Scheme) -> None:
    assert guessed(text, scheme)[0] == difference


@given(st.permutations(NAMES))
def test_every_order_of_a_few_headers_is_found(names: list[str]) -> None:
    difference, _ = guessed(signing_string(names, MESSAGE))
    assert difference is not None


def test_two_mistakes_are_found_if_a_signature_contains_its_hash() -> None:
    text = signing_string(sorted(NAMES), MESSAGE).replace("\n", "\r\n")
    assert guessed(text)[0] == (
        "the headers in alphabetical order and lines that end with carriage return and line feed"
    )


def test_the_error_describes_the_key_if_no_mistake_is_found() -> None:
    assert guessed("something else") == (
        None,
        "the key of the certificate has signed something else, which does not match any of the usual mistakes",
    )
    assert guessed(RIGHT, which=1) == (None, "it was signed with a key different from the certificate's")
    assert "a key different" in guessed(RIGHT, CURVE, which=1)[1]
