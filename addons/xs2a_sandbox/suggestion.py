"""A case that answers a request which nothing answers yet, ready to be saved."""

import json
import re
from dataclasses import dataclass
from itertools import chain, count
from urllib.parse import quote

from xs2a_sandbox.call import Call
from xs2a_sandbox.interface import Interface
from xs2a_sandbox.pattern import Pattern

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_LONGEST_PATH = 1000
_LONGEST_ID = 60


@dataclass(frozen=True, slots=True)
class Suggestion:
    """`yaml` is a whole cassette; its rule can also stand among others. `file` is where it could be saved."""

    file: str
    yaml: str


def suggest(interface: Interface, call: Call) -> Suggestion | None:
    """None for a path that is too long to be shown."""
    method, path = call.request.method, _path(call.segments)
    if len(path) > _LONGEST_PATH:
        return None
    id = _id(interface, f"{method} {path}")
    lines = [
        "cassette: 1",
        "rules:",
        f"  - id: {id}",
        "    match:",
        *([f"      method: {method}"] if method in _METHODS else []),
        f"      path: {json.dumps(path)}",
        *_priority(interface, path),
        "    respond:",
        "      status: 200",
        "      body: {}",
    ]
    return Suggestion(f"cassettes/cases/{id}.yaml", "\n".join(lines) + "\n")


def _path(segments: tuple[str, ...]) -> str:
    """Words only: what looks like a parameter is escaped."""
    path = "/" + "/".join(quote(segment, safe="", errors="replace") for segment in segments)
    # An empty segment at the end is one slash more than the trailing one that does not matter.
    return f"{path}/" if segments and not segments[-1] else path


def _id(interface: Interface, text: str) -> str:
    taken = {*interface.operations, *(rule.id for rule in interface.rules)}
    id = re.sub(r"[^a-z0-9]+", "-", text.lower())[:_LONGEST_ID].strip("-") or "case"
    numbered = (f"{id}-{number}" for number in count(2))
    return next(one for one in chain([id], numbered) if one not in taken)


def _priority(interface: Interface, path: str) -> list[str]:
    """Never stronger than a rule for the same path that asks for more, or that one could not be reached any more."""
    pattern = Pattern.parse(path)
    same = [rule.priority for rule in interface.rules if rule.pattern and rule.pattern.segments == pattern.segments]
    lowest = min(same, default=0)
    return [f"    priority: {lowest}"] if lowest < 0 else []
