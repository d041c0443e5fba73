"""Any invalid certificate is quickly refused with a code."""

from datetime import UTC, datetime
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.certificates import ca, der, issued, with_long_names
from xs2a_sandbox.tpp.judgement import mistake
from xs2a_sandbox.tpp.trust_service import Trust

NOW = datetime.now(UTC)
SECONDS = 1.0
"""CPU time: a thousand times as much as for a valid certificate."""

CORPUS = {
    "nothing": b"",
    "zeros": bytes(4000),
    "a sequence without end": b"\x30\x80" * 8000,
    "sequences in sequences": b"\x30\x82\x3f\xfc" * 4000,
    "a length of gigabytes": b"\x30\x84\xff\xff\xff\xff\x30",
    "a length of lengths": b"\x30\xfe" + b"\xff" * 126,
    "PEM": b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
    "a hundred thousand bytes": b"\x30\x83\x01\x86\xa0" + bytes(100_000),
    "text": "Zertifikat für Größe".encode("utf-16"),
}


@pytest.fixture(scope="module")
def trust() -> Trust:
    return Trust((ca().certificate,))


@pytest.fixture(scope="module")
def good() -> bytes:
    return der(issued())


@pytest.mark.parametrize("name", CORPUS)
def test_data_other_than_a_certificate_are_invalid(trust: Trust, good: bytes, name: str) -> None:
    began = process_time()
    for shown in ((CORPUS[name],), (CORPUS[name], good)):
        error = mistake(shown, trust, NOW)
        assert error
        assert error.name == "certificate-invalid"
    assert mistake((good, CORPUS[name]), trust, NOW) is None, "an additional invalid certificate does not matter"
    assert process_time() - began < SECONDS


@given(st.binary(min_size=1, max_size=20), st.floats(0, 1), st.booleans())
def test_a_changed_certificate_is_invalid(
    trust: Trust, good: bytes, noise: bytes, place: float, is_added: bool
) -> None:
    at = int(place * (len(good) - 1))
    changed = good[:at] + noise + good[at + (0 if is_added else len(noise)) :]
    error = mistake((changed, good, changed), trust, NOW)
    if changed != good:
        assert error
        assert error.name == "certificate-invalid"


@pytest.mark.parametrize("count", [11, 50, 5000])
def test_the_length_of_a_chain_is_limited(trust: Trust, good: bytes, count: int) -> None:
    began = process_time()
    error = mistake([good] * count, trust, NOW)

    assert error
    assert error.values["expected"] == f"{count} certificates were sent; the maximum is 10"
    assert process_time() - began < SECONDS


def test_certificates_that_have_issued_each_other_do_not_loop(good: bytes) -> None:
    began = process_time()
    ring = [der(issued(by=ca(f"Ring {number}"), is_ca=True)) for number in range(9)]
    error = mistake([good, *ring], Trust(), NOW)

    assert error
    assert "not trusted here" in error.values["expected"]
    assert process_time() - began < 10 * SECONDS


def test_a_very_long_name_is_not_quoted() -> None:
    error = mistake([with_long_names(90)], Trust(), NOW)
    assert error
    assert "not trusted here" in error.values["expected"]
    assert len(error.values["expected"]) < 500
