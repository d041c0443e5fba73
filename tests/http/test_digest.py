"""The header Digest, compared with bodies."""

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.http.digest import mistake

BODY = b'{"a": 1}'
SHA_256, SHA_512 = (
    base64.b64encode(algorithm(BODY).digest()).decode() for algorithm in (hashlib.sha256, hashlib.sha512)
)


@pytest.mark.parametrize(
    "values",
    [
        [f"SHA-256={SHA_256}"],
        [f"sha-512={SHA_512}"],
        [f"MD5=x, SHA-256={SHA_256}"],
        [f"SHA-256={SHA_256},SHA-512={SHA_512}"],
        [f"SHA-256={SHA_256}", f"SHA-512={SHA_512}"],
    ],
)
def test_a_right_digest_is_accepted(values: list[str]) -> None:
    assert mistake(values, BODY) is None


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([""], "must have SHA-256"),
        (["MD5=x"], "must have SHA-256"),
        (["SHA-256"], "must have SHA-256"),
        (["SHA-256="], f"the SHA-256 of the 8 bytes of the body is {SHA_256}, not "),
        (["SHA-256=ä"], "the SHA-256 of the header Digest is not base64"),
        ([f"SHA-256={SHA_256}!"], "not base64"),
        ([f"SHA-256={SHA_512}"], f"is {SHA_256}, not {SHA_512}"),
        ([f"SHA-256={SHA_256}", f"SHA-512={SHA_256}"], f"is {SHA_512}, not {SHA_256}"),
    ],
)
def test_a_wrong_digest_is_a_mistake(values: list[str], text: str) -> None:
    assert text in (mistake(values, BODY) or "")


def test_the_mistake_mentions_an_empty_body() -> None:
    assert "an empty body is 47DEQ" in (mistake([f"SHA-256={SHA_256}"], b"") or "")


@given(st.lists(st.text(max_size=200), max_size=3), st.binary(max_size=50))
def test_any_header_value_is_checked(values: list[str], body: bytes) -> None:
    assert mistake(values, body)
