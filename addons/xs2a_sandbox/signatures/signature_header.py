"""The header Signature: `keyId="SN=…,CA=…",algorithm="rsa-sha256",headers="digest x-request-id",signature="…"`."""

import binascii
import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from cryptography import x509

from xs2a_sandbox.signatures.keys import EC, PKCS1, PSS, PublicKey, Scheme
from xs2a_sandbox.signatures.mistakes import SignatureMistake, invalid

_PARAMETER = re.compile(r'[ \t]*([A-Za-z]+)[ \t]*=[ \t]*(?:"([^"]*)"|([0-9]+))[ \t]*(?:,|$)')
_NAMES = ("keyId", "algorithm", "headers", "signature")
_SERIAL = re.compile(r"SN=(?:0x)?([0-9A-Fa-f: ]+)[,;]", re.IGNORECASE)
_COMMON_NAME = re.compile(r"(?:^|[,;/+])\s*CN=([^,;/+]+)", re.IGNORECASE)

_ALGORITHMS: Mapping[str, tuple[Scheme, ...]] = {
    "rsa-sha256": (Scheme(PKCS1, "SHA-256"),),
    "rsa-sha512": (Scheme(PKCS1, "SHA-512"),),
    "ecdsa-sha256": (Scheme(EC, "SHA-256"),),
    "ecdsa-sha512": (Scheme(EC, "SHA-512"),),
    # The rest depends on the key.
    "sha-256": (Scheme(PKCS1, "SHA-256"), Scheme(EC, "SHA-256")),
    "sha-512": (Scheme(PKCS1, "SHA-512"), Scheme(EC, "SHA-512")),
    "hs2019": (Scheme(PSS, "SHA-512"), Scheme(EC, "SHA-512")),
}


@dataclass(frozen=True, slots=True)
class SignatureHeader:
    """The parts of the header. `headers` are the names of the signed headers, in lower case and in order."""

    key_id: str
    algorithm: str
    headers: tuple[str, ...]
    signature: bytes

    def scheme(self, key: PublicKey) -> Scheme | None:
        """Return the scheme that the algorithm means for this key, or None if they do not match."""
        return next((algorithm for algorithm in _ALGORITHMS[self.algorithm] if algorithm.is_for(key)), None)


def read(text: str) -> SignatureHeader | SignatureMistake:
    """Parse the header. Returns its parts, or the mistake in it."""
    parameters: dict[str, str] = {}
    position = 0
    while position < len(text):
        match = _PARAMETER.match(text, position)
        if match is None:
            rest = text[position : position + 30]
            return invalid(
                'the header Signature must be a list of name="value" separated by commas; '
                f"{rest!r} does not have this form"
            )
        if match[1] in parameters:
            return invalid(f"the header Signature contains {match[1]} twice")
        parameters[match[1]] = match[2] if match[2] is not None else match[3]
        position = match.end()
    if missing := [name for name in _NAMES if not parameters.get(name)]:
        return invalid(f"the header Signature lacks {' and '.join(missing)}")
    if parameters["algorithm"].lower() not in _ALGORITHMS:
        offered = ", ".join(_ALGORITHMS)
        given = parameters["algorithm"][:40]
        return invalid(f"the algorithm in the header Signature must be one of {offered}, not {given!r}")
    names = tuple(parameters["headers"].lower().split())
    if len(set(names)) != len(names):
        return invalid("the header Signature lists a header twice under headers")
    if stamps := {"(created)", "(expires)"} & set(names):
        return invalid(f"the header Signature lists {' and '.join(sorted(stamps))}, which Berlin Group does not define")
    try:
        signature = b64decode(parameters["signature"], validate=True)
    except (binascii.Error, ValueError):
        return invalid(f"the signature in the header Signature is {_other_base64(parameters['signature'])}")
    return SignatureHeader(parameters["keyId"], parameters["algorithm"].lower(), names, signature)


def _other_base64(text: str) -> str:
    """Describe what the text is instead of base64."""
    if re.search(r"\s", text):
        return "not base64: it contains spaces or line breaks"
    if re.search(r"[-_]", text):
        return "not base64, but looks like base64url, which uses - and _ instead of + and /"
    if re.search(r"%[0-9A-Fa-f]{2}", text):
        return "not base64: it is percent-encoded"
    return (
        "not base64"
        if re.search(r"[^A-Za-z0-9+/=]", text)
        else "not base64: there are too few or too many = at the end"
    )


def key_mistake(key_id: str, certificate: x509.Certificate) -> str | None:
    """Describe the difference between a keyId and its certificate."""
    serial = _SERIAL.match(f"{key_id},")
    if serial is None or not re.search(r"[,;]\s*CA=", key_id, re.IGNORECASE):
        return f'the keyId must be "SN=serial number in hex,CA=issuer of the certificate", not {key_id[:80]!r}'
    digits = re.sub("[: ]", "", serial[1])
    # Decimal serial numbers are wrong, but common.
    if int(digits or "0", 16) != certificate.serial_number and digits != str(certificate.serial_number):
        return f"the keyId has the serial number {digits[:60]}, but the certificate has {certificate.serial_number:X}"
    issuer = unquote(re.split(r"[,;]\s*CA=", key_id, maxsplit=1, flags=re.IGNORECASE)[1])
    common_name = _COMMON_NAME.search(issuer)
    own = [str(attribute.value) for attribute in certificate.issuer.get_attributes_for_oid(x509.NameOID.COMMON_NAME)]
    if common_name and own and re.split(r"[,;/+]", own[0])[0].strip() != common_name[1].strip().replace("\\", ""):
        return f"the keyId has the issuer {common_name[1].strip()[:80]!r}, but the certificate has {own[0][:80]!r}"
    return None


def write(key_id: str, algorithm: str, names: tuple[str, ...], signature: str) -> str:
    return f'keyId="{key_id}",algorithm="{algorithm}",headers="{" ".join(names)}",signature="{signature}"'
