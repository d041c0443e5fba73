"""Checks that real banks make and the documented interface does without, and what they do: refuse, or warn."""

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
"""Those of what some banks do without: they refuse requests that lack it where they are named."""

WARN = "warn"
"""The word among the names of checks that lets those which are not named warn."""


@dataclass(frozen=True, slots=True)
class Checks:
    """`refusing` checks refuse a request, `warning` ones say what they would have refused.

    Those that are `demanding` refuse requests that lack what they look at, too. With `strict` the bank also does no
    favours: a consent that is asked for is always a new one.
    """

    refusing: frozenset[str] = frozenset()
    warning: frozenset[str] = frozenset()
    strict: bool = False
    demanding: frozenset[str] = frozenset()

    @staticmethod
    def clash(profile: str, names: Collection[str]) -> str | None:
        """The mistake in a profile and names that do not go together."""
        if profile == "strict" and WARN in names:
            return "the profile strict refuses all that checks: warn would tell; leave one of them out"
        return None

    @classmethod
    def of(cls, profile: str, names: Collection[str]) -> "Checks":
        """The checks of a profile, and those that are named beside it."""
        everything = frozenset(check_names())
        if profile == "strict":
            return cls(everything, strict=True, demanding=_MAY_BE_MISSING & set(names))
        if not names:
            return NONE
        refusing = frozenset(names) & everything
        warning = everything - refusing if WARN in names else frozenset()
        return cls(refusing, warning, demanding=_MAY_BE_MISSING & refusing)


def check_names() -> tuple[str, ...]:
    """All checks, those of plugins included."""
    return (*CHECK_NAMES, *(check.name for check in plugins().collect("checks")))


NONE = Checks()
"""The documented interface makes none; all that make none are this one."""
