"""The faults of a session, and those of all sessions, as the control interface adds, lists and deletes them."""

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
from xs2a_sandbox.state.faults import OF_THE_BANK
from xs2a_sandbox.state.session import SESSION_FAULTS, SHARED_FAULTS
from xs2a_sandbox.state.store import Transaction

MOST = 100
"""The most faults of a session, and of all sessions."""
_ALL = "all"
_LONGEST_COUNT = 1_000_000


def list_faults(call: Call) -> dict[str, Any]:
    return {"faults": SESSION_FAULTS.all(call.state)}


def add(call: Call, shared: Transaction, banks: Banks, body: Mapping[str, Any]) -> dict[str, Any]:
    """Add a fault after the existing ones of the session, or of all sessions. Raises Refused."""
    is_shared = "sessions" in body
    if is_shared and body["sessions"] != _ALL:
        raise body_invalid('sessions must be "all"; omit it for a fault of this session only')
    there = SHARED_FAULTS.all(shared) if is_shared else SESSION_FAULTS.own(call.state)
    if len(there) >= MOST:
        owner = "all sessions together" if is_shared else "a session"
        raise Refused(409, "too-many-faults", f"{owner} can have at most {MOST} faults: delete some")
    interfaces = [bank.interface for bank in banks.all]
    wish = {name: body[name] for name in MEMBERS if name in body}
    id = SESSION_FAULTS.next_id(call.state)
    counted = {**body, "seen": 0, "hits": 0}
    if of_the_bank := OF_THE_BANK.keys() & body:
        _check_of_the_bank(body, *sorted(of_the_bank))
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
    if is_shared:
        return SHARED_FAULTS.add(shared, counted)
    new_fault = {"id": id, **counted}
    SESSION_FAULTS.keep(call.state, [*there, new_fault, *SESSION_FAULTS.shared(call.state)])
    return new_fault


def delete(call: Call, shared: Transaction, id: str) -> None:
    """Delete a fault of the session or of all sessions. Raises Refused if there is none with that id."""
    of_all = SHARED_FAULTS.all(shared)
    left = [fault for fault in of_all if fault["id"] != id]
    if len(left) < len(of_all):
        SHARED_FAULTS.keep(shared, left)
    elif not SESSION_FAULTS.remove(call.state, id):
        raise Refused(404, "fault-unknown", f"the session {call.session.id} has no fault {id}")


def delete_all(call: Call, shared: Transaction) -> dict[str, Any]:
    """Delete the faults of the session, or with `?sessions=all` those of all sessions. Raises Refused."""
    if unknown := sorted(call.query.keys() - {"sessions"}):
        raise Refused(400, "query-invalid", f"unknown parameter {unknown[0]!r} in the query; the only one is sessions")
    if "sessions" not in call.query:
        return {"deleted": SESSION_FAULTS.clear(call.state)}
    if call.query["sessions"] != _ALL:
        raise Refused(
            400,
            "query-invalid",
            "sessions=all deletes the faults of all sessions; omit it to delete the faults of this session only",
        )
    count = len(SHARED_FAULTS.all(shared))
    if count:
        SHARED_FAULTS.keep(shared, [])
    return {"deleted": count}


def check_requests(body: Mapping[str, Any], interfaces: Sequence[Interface]) -> None:
    """Check that the `operation`, `does` and `method` of the fault exist. Raises Refused."""
    operations = [operation for interface in interfaces for operation in interface.operations]
    _check_text("operation", body, operations, fnmatchcase)
    if "does" in body:
        _check_deed(body["does"], interfaces)
    _check_text("method", body, ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"], eq)


_NOT_REQUESTS = {"sca": "decisions of customers", "payee": "verifications of payees"}


def _check_of_the_bank(body: Mapping[str, Any], name: str, *others: str) -> None:
    """Check a fault that affects customers or payees instead of requests. Raises Refused."""
    if body[name] not in OF_THE_BANK[name]:
        raise body_invalid(f"{name} must be one of {', '.join(OF_THE_BANK[name])}")
    if others := (*others, *sorted(body.keys() & {*MEMBERS, "operation", "does", "method"})):
        why = f"{name} affects {_NOT_REQUESTS[name]}, not requests"
        raise body_invalid(f"{name} cannot be combined with {others[0]}: {why}")


def _check_deed(text: Any, interfaces: Sequence[Interface]) -> None:
    """Check that an operation of the bank does this deed. Raises Refused."""
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
    """Check that a member is a string that matches an existing entry. Raises Refused."""
    if name not in body:
        return
    value = body[name]
    if not isinstance(value, str):
        raise body_invalid(f"{name} must be a string")
    if not any(fits(form, value) for form in texts):
        raise body_invalid(f"unknown {name} {value[:80]!r}{did_you_mean(value, texts)}")
