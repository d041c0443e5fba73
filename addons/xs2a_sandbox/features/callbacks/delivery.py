"""Begins to deliver callbacks as soon as a bank has any, at the start or after a reload."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from xs2a_sandbox.bank import Answer
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.engine.route import Route

if TYPE_CHECKING:
    from xs2a_sandbox.features.callbacks.couriers import Couriers


log = logging.getLogger("xs2a_sandbox")


class Delivery:
    """Delivers the callbacks of the sessions of a sandbox. Other processes may do the same if they share its state.

    `find_engine` returns the engine that answers now.
    """

    def __init__(self, find_engine: Callable[[], Engine], *, shares_state: bool = False) -> None:
        self._find_engine = find_engine
        self._shares_state = shares_state
        self._couriers: Couriers | None = None

    def begin(self) -> None:
        """Deliver from now on, in the running loop, also what waits since an earlier run."""
        if self._is_needed:
            self._find_couriers()

    @property
    def _is_needed(self) -> bool:
        return any(bank.interface.callbacks for bank in self._find_engine().banks.all)

    def _find_couriers(self) -> "Couriers":
        if self._couriers is None:
            # Imported for the first bank with callbacks, because other banks need none of this.
            from xs2a_sandbox.features.callbacks.couriers import Couriers

            self._couriers = Couriers(self._find_engine, shares_state=self._shares_state)
            self._couriers.go_on()
        return self._couriers

    async def on_answer(self, route: Route, answer: Answer) -> None:
        """Look for callbacks that the request has caused."""
        if not self._is_needed:
            return
        try:
            await self._find_couriers().note(route, answer)
        except Exception:
            # The app must get its answer all the same.
            log.exception("the callbacks of session %s cannot be sent", route.session)
