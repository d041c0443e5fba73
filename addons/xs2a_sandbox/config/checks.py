"""Checks that real banks make and the documented interface does not, and whether they reject requests or warn."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from xs2a_sandbox.plugins import plugins

Profile = Literal["documented", "strict"]

CHECK_NAMES = (
    "certificate", "digest", "frequency", "idempotency", "one-off", "redirect", "rights", "signature", "token",
    "validity",
)  # fmt: skip
"""The checks of the sandbox itself. Plugins can add more."""

_MAY_BE_MISSING = frozenset({"certificate", "signature"})
"""Checks of things that some banks do not require. If such a check is named, it also rejects requests without them."""

WARN = "warn"
"""With this word among the names of checks, all checks that are not named warn."""


@dataclass(frozen=True, slots=True)
class Checks:
    """`refusing` checks reject a request; `warning` checks only report what they would have rejected.

    Checks in `demanding` also reject requests that lack what they check. `strict` also turns off consent reuse: every
    request creates a new consent.
    """

    refusing: frozenset[str] = frozenset()
    warning: frozenset[str] = frozenset()
    strict: bool = False
    demanding: frozenset[str] = frozenset()

    @staticmethod
    def clash(profile: str, names: Collection[str]) -> str | None:
        """Return the conflict between a profile and names, or None."""
        if profile == "strict" and WARN in names:
            return "the profile strict already refuses everything that checks: warn would report; remove one of them"
        return None

    @classmethod
    def of(cls, profile: str, names: Collection[str]) -> "Checks":
        """Return the checks of a profile, and those named besides it."""
        everything = frozenset(check_names())
        if profile == "strict":
            return cls(everything, strict=True, demanding=_MAY_BE_MISSING & set(names))
        if not names:
            return NONE
        refusing = frozenset(names) & everything
        warning = everything - refusing if WARN in names else frozenset()
        return cls(refusing, warning, demanding=_MAY_BE_MISSING & refusing)


def check_names() -> tuple[str, ...]:
    """Return the names of all checks, including those of plugins."""
    return (*CHECK_NAMES, *(check.name for check in plugins().collect("checks")))


NONE = Checks()
"""No checks, as in the documented interface. Always this object, so that it can be compared by identity."""
