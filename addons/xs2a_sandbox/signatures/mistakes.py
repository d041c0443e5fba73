"""What is wrong with a signature, in words and with the texts that show it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_LONGEST = 4000


@dataclass(frozen=True, slots=True)
class SignedText:
    """A text that a signature verifies for, and how it differs from the one that it has to be made of."""

    text: str
    difference: str


@dataclass(frozen=True, slots=True)
class SignatureMistake:
    """`error` is its name in a dialect's table of errors, `reason` says it in words.

    `values` are what else the error's text has of it. `signing_string` is what had to be signed, `signed` what seems to
    have been signed in its place.
    """

    error: str
    reason: str
    signing_string: str | None = None
    signed: SignedText | None = None
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The reason, with how what was signed differs."""
        return f"{self.reason}: {self.signed.difference}" if self.signed else self.reason

    @property
    def described(self) -> Mapping[str, Any]:
        """All of it as JSON."""
        signed = self.signed and {"difference": self.signed.difference, "text": _lines(self.signed.text)}
        return {"reason": self.reason, "signingString": _lines(self.signing_string), "clientSigned": signed}

    @property
    def log_text(self) -> str | None:
        """The texts in a line for the log; None where there are none to show."""
        if self.signing_string is None:
            return None
        other = f", the client signed {self.signed.text[:_LONGEST]!r}" if self.signed else ""
        return f"the signing string is {self.signing_string[:_LONGEST]!r}{other}"


def _lines(text: str | None) -> list[str] | None:
    # Carriage returns stay, as they may be what is wrong.
    return None if text is None else text[:_LONGEST].split("\n")


def invalid(reason: str, signing_string: str | None = None, signed: SignedText | None = None) -> SignatureMistake:
    return SignatureMistake("signature-invalid", reason, signing_string, signed)
