"""The modes: how requests to a bank are answered, and the consequences elsewhere."""

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
    - `heeds_faults`: faults, rules of the session and X-Sandbox-Prefer have an effect
    - `has_own_pages`: the payment user decides on the sandbox's pages below `/sca/`
    - `is_personal`: every exchange may contain data of real people
    - `make`: creates the destination that answers; for the sandbox's own modes this is in `engine/stack.py`
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
    """Return a mode of the sandbox or a plugin. Raises KeyError if no mode has that name."""
    return MODES.get(name) or {mode.name: mode for mode in plugins().collect("modes")}[name]


def mode_names() -> tuple[str, ...]:
    """Return the names of all modes, including those of plugins."""
    return (*MODES, *(mode.name for mode in plugins().collect("modes")))
