"""A session's checks as the control interface shows and sets them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.config import kinds
from xs2a_sandbox.config.checks import Checks
from xs2a_sandbox.control.shapes import ChecksShape
from xs2a_sandbox.errors import body_invalid
from xs2a_sandbox.state.session import keep_checks


def describe(checks: Checks) -> ChecksShape:
    """Return the names of the checks that reject requests, and of those that warn."""
    profile = "strict" if checks.strict else "documented"
    return ChecksShape(profile=profile, refusing=sorted(checks.refusing), warning=sorted(checks.warning))


def put(call: Call, body: Mapping[str, Any]) -> ChecksShape:
    """Set the checks for the session's requests, overriding the settings. Raises Refused."""
    profile, names = body.get("profile", "documented"), body.get("checks", [])
    for name, kind, value in (("profile", kinds.PROFILE, profile), ("checks", kinds.CHECKS, names)):
        try:
            kind.read(value, Path())
        except (ValueError, TypeError, AttributeError):
            raise body_invalid(f"{name} must be {kind.expected}") from None
    names = kinds.CHECKS.read(names, Path())
    if clash := Checks.clash(profile, names):
        raise body_invalid(clash)
    keep_checks(call.state, profile, names)
    return describe(Checks.of(profile, names))
