"""The header x-jws-signature, read and written."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.seals import NOW, key, seal
from xs2a_sandbox.signatures.jws import JwsHeader, read, thumbprint, thumbprint_mistake, time_mistake, write
from xs2a_sandbox.signatures.mistakes import SignatureMistake

TEXT = b"digest: SHA-256=x\nx-request-id: 1"
NAMES = ("digest", "x-request-id")


def header(kind: str) -> JwsHeader:
    own = seal(kind)
    header = read(write(own.key, own.certificate, NAMES, TEXT, NOW))
    assert isinstance(header, JwsHeader)
    return header


@pytest.mark.parametrize(("kind", "algorithm"), [("rsa", "RS256"), ("ec", "ES256")])
def test_a_written_header_is_read_and_verified(kind: str, algorithm: str) -> None:
    own = header(kind)
    assert (own.headers, own.members["alg"], own.chain) == (NAMES, algorithm, None)
    assert own.verifies(key(kind, 0).public_key(), TEXT)
    assert not own.verifies(key(kind, 0).public_key(), TEXT + b" ")
    assert not own.verifies(key(kind, 1).public_key(), TEXT)
    assert thumbprint_mistake(own.members, seal(kind).certificate) is None
    assert time_mistake(own.members, [NOW]) is None


def test_a_key_of_another_kind_verifies_nothing() -> None:
    assert not header("rsa").verifies(key("ec", 0).public_key(), TEXT)
    assert not header("ec").verifies(key("rsa", 0).public_key(), TEXT)


@given(st.text(alphabet=st.characters(codec="latin-1"), max_size=60))
def test_any_other_text_gives_an_error_in_words(text: str) -> None:
    mistake = read(text)
    assert isinstance(mistake, SignatureMistake)
    assert mistake.error == "signature-invalid"


@pytest.mark.parametrize("apart", [timedelta(minutes=-5), timedelta(), timedelta(minutes=5)])
def test_up_to_five_minutes_of_difference_are_accepted(apart: timedelta) -> None:
    now = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
    assert time_mistake({"sigT": "2026-11-21T11:15:00+01:00"}, [now + apart]) is None
    further = now + apart * 1.01
    assert (time_mistake({"sigT": "2026-11-21T10:15:00Z"}, [further]) is None) == (apart == timedelta())
    assert time_mistake({"sigT": "2026-11-21T10:15:00Z"}, [further, now]) is None, "one valid time is enough"


@given(st.none() | st.integers() | st.text(max_size=30) | st.datetimes().map(datetime.isoformat))
def test_a_time_needs_a_time_zone(value: object) -> None:
    mistake = time_mistake({"sigT": value}, [NOW])
    assert mistake
    assert mistake.startswith("the sigT of the JWS")


def test_the_thumbprint_of_another_certificate_is_wrong() -> None:
    mistake = thumbprint_mistake({"x5t#S256": "abc"}, seal().certificate)
    assert mistake
    assert thumbprint(seal().certificate) in mistake
    assert thumbprint_mistake({}, seal().certificate) is None
