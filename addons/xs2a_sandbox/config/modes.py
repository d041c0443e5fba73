"""The modes: how a request to a bank comes to its answer, and what follows from that in other places."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from xs2a_sandbox.plugins import plugins

if TYPE_CHECKING:
    from xs2a_sandbox.engine.route import Destination
    from xs2a_sandbox.engine.stack import Parts, Stack


@dataclass(frozen=True, slots=True)
class Mode:
    """One mode.

    - `asks_bank`: requests may go to the real bank
    - `heeds_faults`: faults, rules of the session and X-Sandbox-Prefer mean something
    - `has_own_pages`: the payment user decides on the sandbox's pages below `/sca/`
    - `is_personal`: real people's data may be in every exchange
    - `make`: makes the destination that answers; the modes of the sandbox itself have theirs in `engine/stack.py`
    """

    name: str
    make: "Callable[[Parts, Stack], Destination] | None" = None
    _: KW_ONLY
    asks_bank: bool = False
    heeds_faults: bool = False
    has_own_pages: bool = False
    is_personal: bool = False


MODES: Mapping[str, Mode] = {
    mode.name: mode
    for mode in (
        Mode("simulate", heeds_faults=True, has_own_pages=True),
        Mode("spy", asks_bank=True, heeds_faults=True, has_own_pages=True),
        # A bank that is recorded has pages of its own.
        Mode("record", asks_bank=True, is_personal=True),
        Mode("compare", asks_bank=True, has_own_pages=True, is_personal=True),
    )
}
"""The modes of the sandbox itself. Plugins can add more."""


def find_mode(name: str) -> Mode:
    """Raises KeyError for one that neither the sandbox nor a plugin has."""
    return MODES.get(name) or {mode.name: mode for mode in plugins().collect("modes")}[name]


def mode_names() -> tuple[str, ...]:
    """All names, those of plugins included."""
    return (*MODES, *(mode.name for mode in plugins().collect("modes")))
