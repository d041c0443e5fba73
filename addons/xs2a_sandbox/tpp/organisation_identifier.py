"""Organisation identifiers of payment service providers: `PSDAT-FMA-123456` (ETSI TS 119 495, 5.2.1)."""

import re
from binascii import crc32
from typing import ClassVar, NamedTuple

from asn1crypto.core import PrintableString, Sequence, UTF8String

EXTENSION = "2.23.140.3.1"
"""The extension of web certificates that repeats the identifier (CA/Browser Forum, EV guidelines 9.8.2)."""

_PATTERN = re.compile(r"PSD([A-Z]{2})-([A-Z]{2,8})-([!-~]{1,120})")


class OrganisationIdentifier(NamedTuple):
    """The country, the competent authority that registered the provider, and the provider's number there."""

    country: str
    authority: str
    number: str

    @property
    def authority_id(self) -> str:
        """The authority in the form of certificates: `AT-FMA`."""
        return f"{self.country}-{self.authority}"

    def __str__(self) -> str:
        return f"PSD{self.country}-{self.authority}-{self.number}"

    def extension(self) -> bytes:
        """Return the value of the extension."""
        reference = f"{self.authority}-{self.number}"
        content: bytes = _Extension({"scheme": "PSD", "country": self.country, "reference": reference}).dump()
        return content


class _Extension(Sequence):  # type: ignore[misc]
    _fields: ClassVar = [("scheme", PrintableString), ("country", PrintableString), ("reference", UTF8String)]


def invent(name: str) -> str:
    """Return an identifier for a provider of that name, always the same."""
    return f"PSDAT-FMA-{crc32(name.casefold().encode()) % 900_000 + 100_000}"


def parse(text: str) -> OrganisationIdentifier | None:
    """Parse an identifier, or return None if it is malformed."""
    match = _PATTERN.fullmatch(text)
    return OrganisationIdentifier(*match.groups()) if match else None
