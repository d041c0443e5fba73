"""A dialect's rules on signatures: which headers must be signed, and how the bank signs its answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.documents import yaml_reader

Form = Literal["signature", "jws"]
"""The header Signature (draft-cavage-http-signatures), or a detached JWS in x-jws-signature."""


@dataclass(frozen=True, slots=True)
class SignatureRules:
    """`signed` headers must be signed; those in `signed_if_sent` only if the request has them.

    With `demanded` strict banks reject requests without a signature; `answers` is the form of their own signatures.
    """

    signed: tuple[str, ...] = ("digest",)
    signed_if_sent: tuple[str, ...] = ()
    demanded: bool = False
    answers: Form | None = None

    @classmethod
    def read(cls, spec: Mapping[str, Any]) -> "SignatureRules":
        """Parse the section `signatures` of a cassette."""
        return cls(
            signed=tuple(name.lower() for name in spec.get("signed", ("digest",))),
            signed_if_sent=tuple(name.lower() for name in spec.get("signed_if_sent", ())),
            demanded=spec.get("demanded", False),
            answers=spec.get("answers"),
        )


@cache
def bundled_rules() -> SignatureRules:
    """Return the rules of the default dialect."""
    return SignatureRules.read(
        yaml_reader.read(bundled("cassettes") / "xs2a-1.84" / "signatures.yaml").value["signatures"]
    )


OF_ANSWERS = SignatureRules(signed_if_sent=("x-request-id",))
