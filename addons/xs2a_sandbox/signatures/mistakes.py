"""Mistakes in signatures, described in words and with the texts that show them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_LONGEST = 4000


@dataclass(frozen=True, slots=True)
class SignedText:
    """A string that matches the signature, and its difference from the text that should have been signed."""

    text: str
    difference: str


@dataclass(frozen=True, slots=True)
class SignatureMistake:
    """`error` is its name in a dialect's table of errors, `reason` its description.

    `values` are further values for the error's text. `signing_string` is the text that had to be signed, `signed` what
    seems to have been signed instead.
    """

    error: str
    reason: str
    signing_string: str | None = None
    signed: SignedText | None = None
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The reason, and how the signed text differs."""
        return f"{self.reason}: {self.signed.difference}" if self.signed else self.reason

    @property
    def described(self) -> Mapping[str, Any]:
        """Everything as JSON."""
        signed = self.signed and {"difference": self.signed.difference, "text": _lines(self.signed.text)}
        return {"reason": self.reason, "signingString": _lines(self.signing_string), "clientSigned": signed}

    @property
    def log_text(self) -> str | None:
        """The texts as one line for the log, or None if there are none."""
        if self.signing_string is None:
            return None
        other = f", but the client signed {self.signed.text[:_LONGEST]!r}" if self.signed else ""
        return f"the signing string is {self.signing_string[:_LONGEST]!r}{other}"


def _lines(text: str | None) -> list[str] | None:
    # Carriage returns stay, because they may be the mistake.
    return None if text is None else text[:_LONGEST].split("\n")


def invalid(reason: str, signing_string: str | None = None, signed: SignedText | None = None) -> SignatureMistake:
    return SignatureMistake("signature-invalid", reason, signing_string, signed)
