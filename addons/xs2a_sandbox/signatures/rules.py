"""What a dialect says of signatures: the headers that have to be signed, and how the bank signs its answers."""

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
    """`signed` headers have to be among the signed ones, those of `signed_if_sent` where the request has them.

    With `demanded` strict banks take no request without a signature; `answers` is the form of those of their own.
    """

    signed: tuple[str, ...] = ("digest",)
    signed_if_sent: tuple[str, ...] = ()
    demanded: bool = False
    answers: Form | None = None

    @classmethod
    def read(cls, spec: Mapping[str, Any]) -> "SignatureRules":
        """The rules that a cassette says under `signatures`."""
        return cls(
            signed=tuple(name.lower() for name in spec.get("signed", ("digest",))),
            signed_if_sent=tuple(name.lower() for name in spec.get("signed_if_sent", ())),
            demanded=spec.get("demanded", False),
            answers=spec.get("answers"),
        )


@cache
def bundled_rules() -> SignatureRules:
    """Those of the dialect that is spoken where nobody names another."""
    return SignatureRules.read(
        yaml_reader.read(bundled("cassettes") / "xs2a-1.84" / "signatures.yaml").value["signatures"]
    )


OF_ANSWERS = SignatureRules(signed_if_sent=("x-request-id",))
