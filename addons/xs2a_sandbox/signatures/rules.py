"""What a dialect says of signatures: the headers that have to be signed, and how the bank signs its answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Form = Literal["signature", "jws"]
"""The header Signature (draft-cavage-http-signatures), or a detached JWS in x-jws-signature."""


@dataclass(frozen=True, slots=True)
class SignatureRules:
    """`signed` headers have to be among the signed ones, those of `signed_if_sent` where the request has them.

    With `demanded` strict banks take no request without a signature; `answers` is the form of those of their own.
    """

    signed: tuple[str, ...] = ("digest", "x-request-id")
    signed_if_sent: tuple[str, ...] = ("psu-id", "psu-corporate-id", "tpp-redirect-uri")
    demanded: bool = False
    answers: Form | None = None

    @classmethod
    def read(cls, spec: Mapping[str, Any]) -> "SignatureRules":
        """The rules that a cassette says under `signatures`."""
        return cls(
            signed=tuple(name.lower() for name in spec.get("signed", USUAL.signed)),
            signed_if_sent=tuple(name.lower() for name in spec.get("signed_if_sent", USUAL.signed_if_sent)),
            demanded=spec.get("demanded", USUAL.demanded),
            answers=spec.get("answers"),
        )


USUAL = SignatureRules()
"""Where a dialect says nothing."""

OF_ANSWERS = SignatureRules(signed=("digest",), signed_if_sent=("x-request-id",))
