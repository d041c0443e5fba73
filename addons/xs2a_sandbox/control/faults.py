"""The faults of a session as the control interface adds, lists and deletes them."""

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from operator import eq
from typing import Any

from xs2a_sandbox.bank import Banks
from xs2a_sandbox.cassette import Call, Interface, fault
from xs2a_sandbox.cassette.fault import MEMBERS
from xs2a_sandbox.cassette.things import Act
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import Refused, body_invalid
from xs2a_sandbox.state.faults import SCA_ENDINGS
from xs2a_sandbox.state.session import SESSION_FAULTS

MOST = 100
"""The most faults of a session."""
_LONGEST_COUNT = 1_000_000


def list_faults(call: Call) -> dict[str, Any]:
    return {"faults": SESSION_FAULTS.all(call.state)}


def add(call: Call, banks: Banks, body: Mapping[str, Any]) -> dict[str, Any]:
    """Add a fault after the existing ones. Raises Refused."""
    there = SESSION_FAULTS.all(call.state)
    if len(there) >= MOST:
        raise Refused(409, "too-many-faults", f"a session has {MOST} faults at most: delete some")
    interfaces = [bank.interface for bank in banks.all]
    wish = {name: body[name] for name in MEMBERS if name in body}
    id = SESSION_FAULTS.next_id(call.state)
    if "sca" in body:
        _check_ending(body)
    else:
        try:
            fault.compile_fault(id, wish)
            fault.check_names(wish, interfaces)
        except ValueError as error:
            raise body_invalid(str(error)) from None
    check_requests(body, interfaces)
    if "rule" in body and "operation" in body:
        _check_rule_is_for(body["rule"], body["operation"], interfaces)
    for name, least in (("next", 1), ("every", 1), ("skip", 0)):
        count = body.get(name, 1)
        if isinstance(count, bool) or not isinstance(count, int) or not least <= count <= _LONGEST_COUNT:
            raise body_invalid(f"{name} must be a whole number from {least} to {_LONGEST_COUNT}")
    new_fault = {"id": id, **body, "seen": 0, "hits": 0}
    SESSION_FAULTS.keep(call.state, [*there, new_fault])
    return new_fault


def delete(call: Call, id: str) -> None:
    """Delete a fault. Raises Refused if there is none with that id."""
    if not SESSION_FAULTS.remove(call.state, id):
        raise Refused(404, "fault-unknown", f"the session {call.session.id} has no fault {id}")


def forget_all(call: Call) -> dict[str, Any]:
    return {"forgotten": SESSION_FAULTS.clear(call.state)}


def check_requests(body: Mapping[str, Any], interfaces: Sequence[Interface]) -> None:
    """Raises Refused for an `operation`, a deed or a `method` that no request can have."""
    operations = [operation for interface in interfaces for operation in interface.operations]
    _check_text("operation", body, operations, fnmatchcase)
    if "does" in body:
        _check_deed(body["does"], interfaces)
    _check_text("method", body, ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"], eq)


def _check_ending(body: Mapping[str, Any]) -> None:
    """Check the ending of SCA. Raises Refused."""
    if body["sca"] not in SCA_ENDINGS:
        raise body_invalid(f"sca must be one of {', '.join(SCA_ENDINGS)}")
    if others := sorted(body.keys() & {*MEMBERS, "operation", "does", "method"}):
        raise body_invalid(f"sca and {others[0]} exclude each other: it is about decisions of customers, not requests")


def _check_deed(text: Any, interfaces: Sequence[Interface]) -> None:
    """Raises Refused for a deed that cannot be, or that no operation does."""
    try:
        act = Act.parse_wide(text if isinstance(text, str) else "")
    except ValueError as error:
        raise body_invalid(f"does: {error}") from None
    if not any(does and act.covers(does) for one in interfaces for does in (o.does for o in one.operations.values())):
        raise body_invalid(f"no operation does {text!r}")


def _check_rule_is_for(id: str, pattern: str, interfaces: Sequence[Interface]) -> None:
    """Check that the bank's rule is for an operation that matches the pattern. Raises Refused."""
    owners = [rule.operation for interface in interfaces for rule in interface.rules if rule.id == id]
    if all(owner is not None and not fnmatchcase(owner, pattern) for owner in owners):
        raise body_invalid(f"the rule {id} is for {owners[0]}, not for {pattern}")


def _check_text(name: str, body: Mapping[str, Any], texts: list[str], fits: Callable[[str, str], bool]) -> None:
    """Check that a member is a text that matches something that exists. Raises Refused."""
    if name not in body:
        return
    value = body[name]
    if not isinstance(value, str) or not any(fits(form, value) for form in texts):
        quote = f" {value[:80]!r}" if isinstance(value, str) else ""
        hint = did_you_mean(value, texts) if isinstance(value, str) else ""
        raise body_invalid(f"there is no {name}{quote}{hint}")
