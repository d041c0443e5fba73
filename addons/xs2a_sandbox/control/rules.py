"""The rules of a session as the control interface adds, lists and deletes them."""

from collections.abc import Mapping
from typing import Any

from xs2a_sandbox.bank import Banks, added_rules
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.rule_text import in_lines
from xs2a_sandbox.control.shapes import AddedRules
from xs2a_sandbox.errors import Refused, Unreadable, body_invalid
from xs2a_sandbox.state.session import SESSION_RULES

MOST = 500
"""The most rules that can be added to a session."""
LONGEST = 256 * 1024
"""The most characters of the rules that can be added to a session."""
_FORGET = "delete the existing ones with DELETE /_sandbox/rules"


def list_rules(call: Call) -> dict[str, Any]:
    return {"added": [_describe(addition) for addition in SESSION_RULES.all(call.state)]}


def add(call: Call, banks: Banks, body: Mapping[str, Any]) -> AddedRules:
    """Add rules that override the existing ones. Raises Refused."""
    there = SESSION_RULES.all(call.state)
    written = body.get("rules")
    if not isinstance(written, list) or not written or not all(isinstance(rule, dict | str) for rule in written):
        raise body_invalid("rules must be a list; each rule must be an object or a string with YAML")
    before = sum(len(addition["hits"]) for addition in there)
    _check_count(before + len(written))
    new: dict[str, Any] = {"id": SESSION_RULES.next_id(call.state), "rules": [in_lines(rule) for rule in written]}
    length = sum(len(text) for addition in (*there, new) for text in addition["rules"])
    if length > LONGEST:
        most = f"the rules of a session can have at most {LONGEST:,} characters"
        raise Refused(409, "too-many-rules", f"{most}, and with these they would have {length:,}: {_FORGET}")
    new["hits"] = dict.fromkeys(_check(banks, new), 0)
    if not new["hits"]:
        raise body_invalid("rules must contain at least one rule")
    _check_count(before + len(new["hits"]))  # a string can contain many rules
    SESSION_RULES.keep(call.state, [*there, new])
    return _describe(new)


def delete(call: Call, id: str) -> None:
    """Delete an addition. Raises Refused if there is none with that id."""
    if not SESSION_RULES.remove(call.state, id):
        raise Refused(404, "rules-unknown", f"the session {call.session.id} has no added rules with the id {id}")


def delete_all(call: Call) -> dict[str, Any]:
    return {"deleted": SESSION_RULES.clear(call.state)}


def _check_count(count: int) -> None:
    """Check the number of rules. Raises Refused."""
    if count > MOST:
        most = f"a session can have at most {MOST} added rules"
        raise Refused(409, "too-many-rules", f"{most}, and with these it would have {count:,}: {_FORGET}")


def _describe(kept: Mapping[str, Any]) -> AddedRules:
    return AddedRules(id=kept["id"], rules=kept["rules"], hits=kept["hits"])


def _check(banks: Banks, kept: Mapping[str, Any]) -> list[str]:
    """Return the ids of rules that match one of the banks. Raises Refused with the reason for the default bank."""
    why = ""
    for bank in (banks.default, *banks.all):
        try:
            return added_rules.check(bank, added_rules.addition(kept))
        except Unreadable as error:
            why = why or str(error)
    raise body_invalid(why)
