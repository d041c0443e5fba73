"""What the control interface is asked: the rest of the path, and a body of JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xs2a_sandbox.call import Call, parse_json
from xs2a_sandbox.errors import BankError, Refused


@dataclass(frozen=True, slots=True)
class Asked:
    """One attempt at one request; `names` are the segments after the first."""

    call: Call
    names: Sequence[str]

    def body(self, *members: str) -> dict[str, Any]:
        """An object with no other members, where any are named. Raises Refused."""
        warnings: list[str] = []
        try:
            value = parse_json(self.call.request.body, warnings)
        except BankError as error:
            raise Refused(400, "body-invalid", error.values["expected"]) from None
        if not isinstance(value, dict):
            raise Refused(400, "body-invalid", f"the body must be a JSON object, not {kind(value)}")
        if warnings:
            raise Refused(400, "body-invalid", warnings[0])
        if members and (unknown := sorted(value.keys() - set(members))):
            text = f"the body has a member {unknown[0]!r}; known here: {', '.join(members)}"
            raise Refused(400, "body-invalid", text)
        return value


def kind(value: Any) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    return {list: "a list", str: "a text", bool: "true or false", dict: "an object"}.get(type(value), "a number")
