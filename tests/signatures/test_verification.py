"""Valid signatures, and every kind of mistake."""

import json
import re
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.seals import NOW, seal, sealed
from xs2a_sandbox.http import Headers, digest
from xs2a_sandbox.signatures import keys, verification
from xs2a_sandbox.signatures.keys import EC, PKCS1, PSS, Scheme
from xs2a_sandbox.signatures.mistakes import SignatureMistake
from xs2a_sandbox.signatures.rules import bundled_rules
from xs2a_sandbox.signatures.signing_string import SignedMessage

BODY = b'{"amount": "1.00", "name": "\xc3\xb6"}'
SENT = {
    "X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721",
    "PSU-ID": "anna",
    "TPP-Redirect-URI": "https://tpp.example/back/",
    "Date": "Sat, 21 Nov 2026 10:15:00 GMT",
}
TARGET = "/v1/consents?one=%20"
FORMS = ("signature", "jws")


def judged(headers: dict[str, str], body: bytes = BODY, **options: Any) -> SignatureMistake | None:
    message = SignedMessage(Headers(headers.items()), body, "POST", TARGET, f"http://bank.example{TARGET}")
    return verification.mistake(message, bundled_rules(), options.pop("times", [NOW]), **options)


def refused(headers: dict[str, str], body: bytes = BODY, **options: Any) -> SignatureMistake:
    mistake = judged(headers, body, **options)
    assert mistake
    return mistake


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["rsa", "ec"])
@pytest.mark.parametrize("body", [BODY, b""])
def test_a_valid_signature_is_accepted(form: str, kind: str, body: bytes) -> None:
    headers = sealed(SENT, body, by=seal(kind), form=form)
    assert judged(headers, body) is None
    assert verification.is_signed(SignedMessage(Headers(headers.items()), body))


def test_additional_headers_can_be_signed() -> None:
    names = ("(request-target)", "date", "digest", "x-request-id", "psu-id", "tpp-redirect-uri")
    headers = sealed(SENT, BODY, names=names, target=TARGET, algorithm="SHA-512")
    assert 'algorithm="rsa-sha512"' in headers["Signature"]
    assert judged(headers) is None


def test_a_message_without_a_signature_is_not_a_mistake() -> None:
    assert judged(SENT) is None


@pytest.mark.parametrize("form", FORMS)
def test_a_change_on_the_way_is_a_mistake(form: str) -> None:
    headers = sealed(SENT, BODY, form=form)
    changed = refused(headers, BODY + b" ")
    assert changed.error == "signature-invalid"
    assert changed.reason.startswith("the SHA-256 of the")
    other = refused({**headers, "PSU-ID": "bert"})
    assert "not match any of the usual mistakes" in other.text
    assert other.signing_string is not None
    assert "psu-id: bert" in other.signing_string


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("x-request-id", "psu-id", "tpp-redirect-uri"), "the header digest must be signed"),
        (("digest", "x-request-id"), "each of the headers psu-id, tpp-redirect-uri must be signed"),
        (("digest", "x-request-id", "psu-id", "tpp-redirect-uri", "psu-corporate-id"), "psu-corporate-id is listed as"),
    ],
)
def test_a_required_header_that_is_not_signed_is_a_mistake(form: str, names: tuple[str, ...], reason: str) -> None:
    mistake = refused(sealed(SENT, BODY, names=names, form=form))
    assert mistake.error == "signature-invalid"
    assert reason in mistake.reason


@pytest.mark.parametrize("names", [[f"h{number}" for number in range(6000)], ["h" * 40_000]])
def test_the_error_about_thousands_of_headers_is_short(names: list[str]) -> None:
    headers = sealed(SENT, BODY)
    listed = headers["Signature"].replace("tpp-redirect-uri", " ".join(["tpp-redirect-uri", *names]))
    mistake = refused({**headers, "Signature": listed})
    assert "listed as signed, but was not sent" in mistake.reason
    assert ("and 5990 more" in mistake.reason, len(mistake.reason) < 200) == (len(names) == 6000, True)


def test_a_missing_or_unreadable_certificate_is_a_mistake() -> None:
    headers = sealed(SENT, BODY)
    name = "TPP-Signature-Certificate"
    right = headers.pop(name)
    pem = f"-----BEGIN CERTIFICATE-----{right}-----END CERTIFICATE-----"
    assert judged({**headers, name: pem}) is None
    assert refused(headers).error == "certificate-missing"
    for text, reason in {
        "": "not a certificate",
        "x": "not base64",
        urlsafe_b64encode(b"\xfb\xff").decode(): "base64url",
        right.replace("+", "%2B").replace("/", "%2F") + "%3D": "percent-encoded",
        f"{right[:64]} {right[64:]}": "spaces",
        b64encode(b"-----BEGIN CERTIFICATE-----\n" + right.encode()).decode(): "encoded in base64 again",
        right[:-40]: "not a certificate",
        b64encode(b"0" * 20000).decode(): "longer than",
    }.items():
        mistake = refused({**headers, name: text})
        assert (mistake.error, reason in mistake.reason) == ("certificate-invalid", True), mistake.reason


@pytest.mark.parametrize(
    ("options", "error", "reason"),
    [
        ({"ends": 0, "begins": -30}, "certificate-expired", "expired on"),
        ({"begins": 3}, "certificate-invalid", "not valid before"),
        ({"kind": "weak"}, "certificate-invalid", "1024 bits"),
    ],
)
def test_an_invalid_certificate_is_a_mistake(options: dict[str, Any], error: str, reason: str) -> None:
    mistake = refused(sealed(SENT, BODY, by=seal(**options)), times=[NOW + timedelta(minutes=1)])
    assert (mistake.error, reason in mistake.reason) == (error, True)


def test_the_certificate_of_another_tpp_is_a_mistake() -> None:
    headers = sealed(SENT, BODY)
    other = sealed(SENT, BODY, by=seal(which=1))
    exchanged = {**headers, "TPP-Signature-Certificate": other["TPP-Signature-Certificate"]}
    assert "the keyId has the serial number" in refused(exchanged).reason
    named = re.sub('keyId="[^"]*"', re.search('keyId="[^"]*"', other["Signature"])[0], headers["Signature"])  # type: ignore[index]
    assert "a key different from the certificate's" in refused({**exchanged, "Signature": named}).reason


@pytest.mark.parametrize(
    ("found", "put", "reason"),
    [
        ('algorithm="rsa-sha256"', 'algorithm="none"', "must be one of rsa-sha256"),
        ('algorithm="rsa-sha256"', 'algorithm="hmac-sha256"', "must be one of rsa-sha256"),
        ('algorithm="rsa-sha256"', 'algorithm="ecdsa-sha256"', "does not match the key"),
        ('algorithm="rsa-sha256",', "", "lacks algorithm"),
        ("SN=ABC123,", "SN=ABC124,", "has the serial number ABC124"),
        ("SN=ABC123,CA=", "../../etc/passwd", "must be"),
        ("CN=Test CA", "CN=Other CA", "has the issuer"),
        ('headers="digest', 'headers="digest digest', "twice"),
        ('headers="digest', 'headers="(created) digest', "does not define"),
        ("keyId=", 'keyId="x",keyId=', "keyId twice"),
        ("keyId=", "keyId: ", "does not have this form"),
        ('signature="', 'signature="%2B', "percent-encoded"),
        ('signature="', 'signature="-_', "base64url"),
        ('signature="', 'signature=" ', "spaces"),
        ('signature="', 'signature="A', "not base64"),
        ('signature="', 'signature="#', "not base64"),
    ],
)
def test_an_invalid_signature_header_is_a_mistake(found: str, put: str, reason: str) -> None:
    headers = sealed(SENT, BODY)
    assert found in headers["Signature"]
    mistake = refused({**headers, "Signature": headers["Signature"].replace(found, put, 1)})
    assert (mistake.error, reason in mistake.reason) == ("signature-invalid", True), mistake.reason


def jws_with(**members: Any) -> dict[str, str]:
    """Return the headers with other members in the JWS, and the signature of the right ones."""
    headers = sealed(SENT, BODY, form="jws")
    protected, _, signature = headers["x-jws-signature"].split(".")
    header = json.loads(_from_base64url(protected)) | members
    header = {name: value for name, value in header.items() if value is not ...}
    return {**headers, "x-jws-signature": f"{_base64url(json.dumps(header).encode())}..{signature}"}


def _from_base64url(text: str) -> bytes:
    return urlsafe_b64decode(text + "==")


def _base64url(value: bytes) -> str:
    return urlsafe_b64encode(value).decode().rstrip("=")


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"alg": "none"}, "must be one of"),
        ({"alg": "HS256"}, "must be one of"),
        ({"alg": ["RS256"]}, "must be one of"),
        ({"alg": "ES256"}, "does not match the key"),
        ({"kid": "../../../etc/passwd"}, "without slashes"),
        ({"kid": "https://tpp.example/key"}, "without slashes"),
        ({"kid": 7}, "without slashes"),
        ({"jku": "https://tpp.example/keys"}, "neither fetches keys"),
        ({"jwk": {"kty": "oct"}}, "neither fetches keys"),
        ({"x5c": "abc"}, "must be a list"),
        ({"x5t#S256": "abc"}, "x5t#S256"),
        ({"b64": True}, "b64: false"),
        ({"b64": ...}, "b64: false"),
        ({"crit": ["b64"]}, "must list"),
        ({"crit": ["sigT", "sigD", "b64", "other"]}, "'other'"),
        ({"crit": [["sigT"], "sigT", "sigD", "b64"]}, "the sandbox does not support"),
        ({"sigD": {"pars": ["digest"], "mId": "x"}}, "mId"),
        ({"sigD": []}, "mId"),
        ({"sigT": "yesterday"}, "must be a time"),
        ({"sigT": "2026-11-21T10:15:00"}, "must be a time"),
        ({"sigT": "2020-11-21T10:15:00Z"}, "more than 5 minutes"),
    ],
)
def test_an_invalid_jws_is_a_mistake(members: dict[str, Any], reason: str) -> None:
    mistake = refused(jws_with(**members))
    assert (mistake.error, reason in mistake.reason) == ("signature-invalid", True), mistake.reason


def test_a_jws_can_contain_its_certificate() -> None:
    headers = jws_with()
    certificate = headers.pop("TPP-Signature-Certificate")
    assert refused(headers).error == "certificate-missing"
    wrong = refused(jws_with(x5c=[certificate]))
    assert "the key of the certificate has signed something else" in wrong.text, "x5c is not part of the signed text"


@pytest.mark.parametrize("text", ["", ".", "..", "a.b.c", "a..", "..a", "a..b=", "e30..e30", "W10..e30", "Iu8i..e30"])
def test_text_that_is_not_a_jws_is_a_mistake(text: str) -> None:
    assert refused({**SENT, "x-jws-signature": text}).error == "signature-invalid"


def signed_as(text: bytes, scheme: Scheme = Scheme(PKCS1, "SHA-256"), **changes: str) -> dict[str, str]:  # noqa: B008
    """Return headers whose signature covers another text."""
    kind = "ec" if scheme.kind == EC else "rsa"
    headers = {**sealed(SENT, BODY, by=seal(kind)), **changes}
    signature = b64encode(keys.sign(seal(kind).key, scheme, text)).decode()
    return {**headers, "Signature": re.sub('signature="[^"]*"', f'signature="{signature}"', headers["Signature"])}


LINES = [
    f"digest: {digest.write('SHA-256', BODY)}",
    f"x-request-id: {SENT['X-Request-ID']}",
    "psu-id: anna",
    "tpp-redirect-uri: https://tpp.example/back/",
]
RIGHT = "\n".join(LINES)
AS_SENT = RIGHT.replace("psu-id", "PSU-ID").replace("x-request-id", "X-Request-ID").replace("digest", "Digest", 1)
AS_SENT = AS_SENT.replace("tpp-redirect-uri", "TPP-Redirect-URI")
COMPACT = '{"amount":"1.00","name":"ö"}'.encode()


@pytest.mark.parametrize(
    ("text", "difference"),
    [
        ("\n".join(sorted(LINES)), "alphabetical"),
        ("\n".join([LINES[1], LINES[0], *LINES[2:]]), "in the order x-request-id digest"),
        ("\n".join(LINES[:2] + LINES[3:]), "without psu-id"),
        (f"{RIGHT}\ndate: {SENT['Date']}", "with date at the end"),
        (f"(request-target): post {TARGET}\n{RIGHT}", "with (request-target) first"),
        (RIGHT.replace("\n", "\r\n"), "carriage return"),
        (f"{RIGHT}\n", "a line end after the last line"),
(AS_SENT, "as they are sent"),
        (RIGHT.replace(": ", ":", 4), "no space after the colons"),
        (RIGHT.replace("back/", "back"), "without the trailing slash"),
        (RIGHT.replace(LINES[0], f"digest: {digest.write('SHA-256', COMPACT)}"), "the body without white space"),
        (RIGHT.replace(LINES[0], f"digest: {digest.write('SHA-256', b'')}").replace("anna", "ANNA"), "an empty body"),
        (BODY.decode("latin-1"), "the body, and no headers"),
        (RIGHT.replace("\n", "\r\n").replace("psu-id: anna", "psu-id: "), "an empty psu-id"),
    ],
)  # fmt: skip
def test_the_text_that_the_client_signed_instead_is_found(text: str, difference: str) -> None:
    mistake = refused(signed_as(text.encode("latin-1")))
    assert mistake.signing_string == RIGHT
    assert mistake.signed
    assert mistake.signed.text == text
    assert difference in mistake.signed.difference
    assert difference in mistake.text


def test_a_signed_url_instead_of_its_path_is_found() -> None:
    names = ("(request-target)", "digest", "x-request-id", "psu-id", "tpp-redirect-uri")
    headers = sealed(SENT, BODY, names=names, target=f"http://bank.example{TARGET}")
    mistake = refused(headers)
    assert mistake.signed
    assert mistake.signed.difference == "(request-target) with the whole URL"


@pytest.mark.parametrize(
    ("scheme", "difference"),
    [
        (Scheme(PKCS1, "SHA-512"), "signed by RSASSA-PKCS1-v1_5 with SHA-512"),
        (Scheme(PKCS1, "SHA-1"), "signed by RSASSA-PKCS1-v1_5 with SHA-1"),
        (Scheme(PSS, "SHA-256"), "signed by RSASSA-PSS with SHA-256"),
        (Scheme(EC, "SHA-512"), "signed by ECDSA with SHA-512"),
    ],
)
def test_another_algorithm_than_declared_is_found(scheme: Scheme, difference: str) -> None:
    mistake = refused(signed_as(RIGHT.encode(), scheme))
    assert mistake.signed
    assert difference in mistake.signed.difference


def test_guessing_also_works_for_elliptic_curves() -> None:
    mistake = refused(signed_as("\n".join(reversed(LINES)).encode(), Scheme(EC, "SHA-256")))
    assert mistake.signed
    assert "reverse" in mistake.signed.difference


def test_a_mistake_is_described_with_both_texts() -> None:
    mistake = refused(signed_as("\n".join(sorted(LINES)).encode()))
    assert mistake.described == {
        "reason": mistake.reason,
        "signingString": LINES,
        "clientSigned": {"difference": "the headers in alphabetical order", "text": sorted(LINES)},
    }
    assert mistake.log_text
    assert repr(RIGHT) in mistake.log_text


def test_an_objection_of_the_bank_to_a_certificate_is_a_mistake() -> None:
    objection = SignatureMistake("signature-invalid", "of another TPP")
    assert judged(sealed(SENT, BODY), object_to=lambda _: objection) == objection


WRITTEN = sealed(SENT, BODY)
JWS = sealed(SENT, BODY, form="jws")


def cut_and_changed(text: str) -> st.SearchStrategy[str]:
    places = st.tuples(
        st.integers(0, len(text)), st.integers(0, 40), st.text(st.characters(max_codepoint=255), max_size=20)
    )
    return places.map(lambda one: text[: one[0]] + one[2] + text[one[0] + one[1] :])


@given(cut_and_changed(WRITTEN["Signature"]), cut_and_changed(WRITTEN["TPP-Signature-Certificate"]))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_headers_get_a_verdict(signature: str, certificate: str) -> None:
    for changed in ({"Signature": signature}, {"TPP-Signature-Certificate": certificate}):
        mistake = judged({**WRITTEN, **changed})
        assert mistake is None or mistake.error in ("signature-invalid", "certificate-invalid", "certificate-missing")


json_values: Callable[..., st.SearchStrategy[Any]] = lambda: st.recursive(  # noqa: E731
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    cut_and_changed(JWS["x-jws-signature"]),
    st.sampled_from(["alg", "kid", "b64", "crit", "sigT", "sigD", "x5c", "x5t#S256"]),
    json_values(),
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_jws_gets_a_verdict(text: str, name: str, value: Any) -> None:
    for headers in ({**JWS, "x-jws-signature": text}, jws_with(**{name: value})):
        mistake = judged(headers)
        assert mistake is None or mistake.error in ("signature-invalid", "certificate-invalid", "certificate-missing")
