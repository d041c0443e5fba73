"""Verifies the signature of a message, and finds the mistake if it is wrong."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509

from xs2a_sandbox.http import digest
from xs2a_sandbox.signatures import jws, sealing_certificate, signature_header
from xs2a_sandbox.signatures.guesses import client_signed
from xs2a_sandbox.signatures.keys import PublicKey, Scheme, verifies
from xs2a_sandbox.signatures.mistakes import SignatureMistake, invalid
from xs2a_sandbox.signatures.rules import SignatureRules
from xs2a_sandbox.signatures.signing_string import REQUEST_TARGET, SignedMessage, signing_string

type Objection = Callable[[x509.Certificate], SignatureMistake | None]
"""Returns the objection of a bank to a certificate that is valid on its own, or None."""

HEADERS = ("signature", jws.HEADER)
_FEW, _LONGEST = 10, 60
"""The maximum number and length of header names in a message, because a client may list thousands."""


def is_signed(message: SignedMessage) -> bool:
    return any(message.headers.get(name) is not None for name in HEADERS)


def mistake(
    message: SignedMessage,
    rules: SignatureRules,
    times: Sequence[datetime],
    object_to: Objection = lambda _: None,
) -> SignatureMistake | None:
    """Return the first mistake in the signatures of a message, or None if all are right or there are none.

    The first of the `times` is that of the bank's clock; a client may also use one of the others.
    """
    for name in HEADERS:
        values = message.headers.all(name)
        if len(values) > 1:
            return invalid(f"the header {name} must be sent only once, not {len(values)} times")
        if values:
            read = _of_header if name == "signature" else _of_jws
            claim = read(values[0], message, times, object_to)
            if wrong := claim if isinstance(claim, SignatureMistake) else _claim_mistake(claim, message, rules):
                return wrong
    return None


@dataclass(frozen=True, slots=True)
class _Claim:
    """A signature as a header claims it: its headers, its key and its scheme.

    `fits` verifies the bytes that `wrap` makes from the signing string.
    """

    headers: Sequence[str]
    key: PublicKey
    scheme: Scheme
    signature: bytes
    wrap: Callable[[bytes], bytes]
    fits: Callable[[bytes], bool]


def _of_header(
    text: str, message: SignedMessage, times: Sequence[datetime], object_to: Objection
) -> _Claim | SignatureMistake:
    header = signature_header.read(text)
    if isinstance(header, SignatureMistake):
        return header
    sealed = _read_sealed(_read_certificate(message), times[0], object_to)
    if isinstance(sealed, SignatureMistake):
        return sealed
    certificate, key = sealed
    if wrong := signature_header.key_mistake(header.key_id, certificate):
        return invalid(wrong)
    scheme = header.scheme(key)
    if scheme is None:
        return invalid(f"the algorithm {header.algorithm} does not match the key of the certificate")
    signature = header.signature
    return _Claim(
        header.headers, key, scheme, signature, lambda text: text, lambda text: verifies(key, scheme, signature, text)
    )


def _of_jws(
    text: str, message: SignedMessage, times: Sequence[datetime], object_to: Objection
) -> _Claim | SignatureMistake:
    header = jws.read(text)
    if isinstance(header, SignatureMistake):
        return header
    sent = (
        _read_certificate(message)
        if header.chain is None
        else sealing_certificate.read(header.chain, "the x5c of the JWS")
    )
    sealed = _read_sealed(sent, times[0], object_to)
    if isinstance(sealed, SignatureMistake):
        return sealed
    certificate, key = sealed
    if wrong := jws.thumbprint_mistake(header.members, certificate) or jws.time_mistake(header.members, times):
        return invalid(wrong)
    if not header.scheme.is_for(key):
        return invalid(f"the alg {header.members['alg']} does not match the key of the certificate")
    return _Claim(
        header.headers,
        key,
        header.scheme,
        header.raw_signature,
        header.wrap,
        lambda text: header.verifies(key, text),
    )


def _read_certificate(message: SignedMessage) -> x509.Certificate | SignatureMistake:
    name = sealing_certificate.header_of(message)
    values = message.headers.all(name)
    if len(values) != 1:
        how = f"is sent {len(values)} times" if values else "is missing: it is required with a signature"
        return SignatureMistake("certificate-invalid" if values else "certificate-missing", f"the header {name} {how}")
    return sealing_certificate.read(values[0], f"the header {name}")


def _read_sealed(
    certificate: x509.Certificate | SignatureMistake, now: datetime, object_to: Objection
) -> tuple[x509.Certificate, PublicKey] | SignatureMistake:
    """Return the certificate with its key, or the mistake in it."""
    if isinstance(certificate, SignatureMistake):
        return certificate
    key = sealing_certificate.key_of(certificate)
    if isinstance(key, SignatureMistake):
        return key
    return sealing_certificate.date_mistake(certificate, now) or object_to(certificate) or (certificate, key)


def _content_mistake(names: Collection[str], message: SignedMessage, rules: SignatureRules) -> str | None:
    """Describe the mistake in the signed content, regardless of the signature: missing headers, or a wrong digest."""
    needed = [*rules.signed, *(name for name in rules.signed_if_sent if message.headers.get(name) is not None)]
    if unsigned := [name for name in needed if name not in names]:
        return f"{_header_words(unsigned)} must be signed as well"
    if absent := [name for name in names if name != REQUEST_TARGET and message.headers.get(name) is None]:
        return f"{_header_words(absent)} is listed as signed, but was not sent"
    if REQUEST_TARGET in names and message.value(REQUEST_TARGET) is None:
        return f"{REQUEST_TARGET} is listed as signed, but answers do not have it"
    return digest.mistake(message.headers.all("digest"), message.body) if "digest" in names else None


def _header_words(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"the header {names[0][:_LONGEST]}"
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return f"each of the headers {', '.join(name[:_LONGEST] for name in names[:_FEW])}{more}"


def _claim_mistake(claim: _Claim, message: SignedMessage, rules: SignatureRules) -> SignatureMistake | None:
    """Return the mistake in the signed content, or in the signature, with the text that was probably signed."""
    if wrong := _content_mistake(claim.headers, message, rules):
        return invalid(wrong, signing_string(claim.headers, message))
    text = signing_string(claim.headers, message)
    if claim.fits(text.encode("latin-1", "replace")):
        return None
    signed, hint = client_signed(message, claim.headers, claim.key, claim.scheme, claim.signature, claim.wrap)
    if signed:
        return invalid(
            "the signature does not match the signing string; the client seems to have signed a different one",
            text,
            signed,
        )
    return invalid(f"the signature does not match the signing string: {hint}", text)
