"""The header Signature, read and written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.seals import key, seal
from xs2a_sandbox.signatures.keys import EC, PKCS1, PSS, Scheme
from xs2a_sandbox.signatures.mistakes import SignatureMistake
from xs2a_sandbox.signatures.signature_header import SignatureHeader, key_mistake, read, write

NAMES = st.lists(st.sampled_from(["digest", "x-request-id", "psu-id", "(request-target)"]), min_size=1, unique=True)


@given(NAMES, st.sampled_from(["rsa-sha256", "ecdsa-sha512", "hs2019"]))
def test_a_written_header_is_read(names: list[str], algorithm: str) -> None:
    header = read(write("SN=1,CA=CN=x", algorithm, tuple(names), "AAAA"))
    assert header == SignatureHeader("SN=1,CA=CN=x", algorithm, tuple(names), b"\0\0\0")


@pytest.mark.parametrize(
    "text",
    [
        'keyId="a", algorithm="RSA-SHA256" ,headers="Digest X-Request-ID",signature="AAAA"',
        'signature="AAAA",headers="digest  x-request-id",algorithm = "rsa-sha256",keyId="a",',
        'keyId="a",algorithm="rsa-sha256",headers="digest x-request-id",created=1402170695,signature="AAAA"',
    ],
)
def test_several_notations_are_read(text: str) -> None:
    assert read(text) == SignatureHeader("a", "rsa-sha256", ("digest", "x-request-id"), b"\0\0\0")


@given(st.text(max_size=80))
def test_any_other_text_gives_an_error_in_words(text: str) -> None:
    mistake = read(text)
    assert isinstance(mistake, SignatureMistake)
    assert mistake.error == "signature-invalid"
    assert "the header Signature" in mistake.reason


@pytest.mark.parametrize(
    ("algorithm", "kind", "scheme"),
    [
        ("rsa-sha256", "rsa", Scheme(PKCS1, "SHA-256")),
        ("rsa-sha256", "ec", None),
        ("sha-512", "ec", Scheme(EC, "SHA-512")),
        ("hs2019", "rsa", Scheme(PSS, "SHA-512")),
        ("hs2019", "ec", Scheme(EC, "SHA-512")),
    ],
)
def test_the_meaning_of_an_algorithm_depends_on_the_key(algorithm: str, kind: str, scheme: Scheme | None) -> None:
    header = SignatureHeader("", algorithm, (), b"")
    assert header.scheme(key(kind, 0).public_key()) == scheme


@pytest.mark.parametrize(
    ("key_id", "words"),
    [
        ("SN=ABC123,CA=CN=Test CA", None),
        ("SN=0xabc123;CA=O=Nobody,CN=Test CA", None),
        ("SN=AB:C1:23,CA=CN=Test%20CA%2C of nobody", None),
        ("SN=11256099,CA=CN=Test CA", None),
        ("SN=ABC124,CA=CN=Test CA", "the serial number ABC124"),
        ("SN=ABC123,CA=CN=Another CA", "the issuer 'Another CA'"),
        ("SN=ABC123", "must be"),
        ("tpp-1", "must be"),
        ("SN= ,CA=x", "the serial number"),
        ("SN=" + "F" * 30_000 + ",CA=x", "the serial number"),
    ],
)
def test_a_key_id_names_the_certificate(key_id: str, words: str | None) -> None:
    mistake = key_mistake(key_id, seal().certificate)
    assert (mistake is None) == (words is None)
    assert (words or "") in (mistake or "")
    assert len(mistake or "") < 300
