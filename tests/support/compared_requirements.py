"""Compares the compiled requirements of every request with what the interpreter decides."""

from collections.abc import Iterator
from functools import cache

from xs2a_sandbox.cassette import decide, requirements
from xs2a_sandbox.cassette.call import Call
from xs2a_sandbox.cassette.model import Requirement
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.errors import BankError

DIFFERENT: list[str] = []
"""Requests about which the two did not agree since it was last emptied."""


def is_silent(requirement: Requirement, call: Call, schemas: Schemas) -> bool:
    """Return whether the interpreter finds no mistake and has no warning."""
    count = len(call.warnings)
    try:
        requirements.check(requirement, call, schemas)
        return len(call.warnings) == count
    except BankError:
        return False
    finally:
        del call.warnings[count:]


def may_be_left(requirement: Requirement, call: Call) -> bool:
    """Return whether the compiled function may leave a correct request to the interpreter."""
    query = [place for step in requirement.steps for c in step.constraints if (place := c.place).part != "headers"]
    return (
        len(call.headers) != len(call.request.headers.pairs)
        or any(len(call.values(place)) > 1 for place in query)
        or "content-encoding" in call.headers
        or any(step.media for step in requirement.steps)
    )


def differences(requirement: Requirement, call: Call, schemas: Schemas) -> Iterator[str]:
    """Yield in what the compiled function differs from the interpreter."""
    is_met, silent = requirement.is_met(call, schemas), is_silent(requirement, call, schemas)
    request = f"{call.request.method} {call.request.target} {call.request.headers!r} {call.request.body!r}"
    if is_met and not silent:
        yield f"accepted {request}"
    if silent and not is_met and not may_be_left(requirement, call):
        yield f"left {request}"


@cache
def install() -> None:
    """Let every request of this process note the differences."""
    refusal = decide._refusal

    def compare(requirement: Requirement, call: Call, schemas: Schemas) -> BankError | None:
        DIFFERENT.extend(differences(requirement, call, schemas))
        return refusal(requirement, call, schemas)

    decide._refusal = compare
