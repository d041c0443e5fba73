"""A dialect's rules on signatures: which headers must be signed, and how the bank signs its answers."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.documents import yaml_reader

Form = Literal["signature", "jws", "detached"]
"""The header Signature (draft-cavage-http-signatures), a JWS over headers in x-jws-signature, or one over the body."""
FormOfRequests = Literal["headers", "detached"]
"""Either form of a signature over headers, or a JWS over the body in x-jws-signature."""


@dataclass(frozen=True, slots=True)
class SignatureRules:
    """`signed` headers must be signed; those in `signed_if_sent` only if the request has them.

    With `demanded` strict banks reject requests without a signature; `answers` is the form of the bank's own
    signatures. They sign only answers below one of the segments `paths`, or all without any, and want signatures
    only there if `requests` are signed by a detached JWS. A `detached` JWS has the members `header`, and the time
    of signing in the member `issued_at`, in seconds since 1970.
    """

    signed: tuple[str, ...] = ("digest",)
    signed_if_sent: tuple[str, ...] = ()
    demanded: bool = False
    requests: FormOfRequests = "headers"
    answers: Form | None = None
    paths: tuple[str, ...] = ()
    header: Mapping[str, Any] = field(default_factory=dict)
    issued_at: str | None = None

    def signs(self, segments: Collection[str]) -> bool:
        """Return whether the bank signs its answers to requests for this path."""
        return self.answers is not None and self.covers(segments)

    def covers(self, segments: Collection[str]) -> bool:
        """Return whether the path is below one of `paths`."""
        return not self.paths or not set(self.paths).isdisjoint(segments)

    @property
    def understood(self) -> frozenset[str]:
        """The members that a detached JWS may declare as critical (RFC 7515, 4.1.11)."""
        return frozenset(self.header.get("crit", ()))

    @classmethod
    def read(cls, spec: Mapping[str, Any]) -> "SignatureRules":
        """Parse the section `signatures` of a cassette."""
        return cls(
            signed=tuple(name.lower() for name in spec.get("signed", ("digest",))),
            signed_if_sent=tuple(name.lower() for name in spec.get("signed_if_sent", ())),
            demanded=spec.get("demanded", False),
            requests=spec.get("requests", "headers"),
            answers=spec.get("answers"),
            paths=tuple(spec.get("paths", ())),
            header=spec.get("header", {}),
            issued_at=spec.get("issued_at"),
        )


@cache
def bundled_rules() -> SignatureRules:
    """Return the rules of the default dialect."""
    return SignatureRules.read(
        yaml_reader.read(bundled("cassettes") / "xs2a-1.84" / "signatures.yaml").value["signatures"]
    )


OF_ANSWERS = SignatureRules(signed_if_sent=("x-request-id",))
