"""The callbacks of a session as the control interface lists them and sends them again."""

from typing import Any

from xs2a_sandbox.bank import callbacks
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.state import Document

_SHOWN = "callback to method headers body at state tries answer tried next fault cause".split()


def list_callbacks(call: Call) -> dict[str, Any]:
    """Return the callbacks of the session, oldest first."""
    there = sorted(callbacks.list_all(call.state), key=lambda one: one[1]["at"])
    return {"callbacks": [describe(id, one) for id, one in there]}


def resend(call: Call, id: str) -> dict[str, Any]:
    """Make a callback wait again, whatever has become of it. Raises Refused if there is none with that id."""
    changed = callbacks.resend(call.state, id, call.clock.now())
    if changed is None:
        raise Refused(404, "callback-unknown", f"the session {call.session.id} has no callback {id}")
    return describe(id, changed)


def describe(id: str, callback: Document) -> dict[str, Any]:
    return {"id": id, **{name: callback.get(name) for name in _SHOWN}}
