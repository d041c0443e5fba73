"""Lets the destination answer, and converts errors to answers."""

from dataclasses import dataclass

from xs2a_sandbox.bank import Answer
from xs2a_sandbox.engine.refusals import Refusals
from xs2a_sandbox.engine.route import Route
from xs2a_sandbox.errors import BankError, Refused


@dataclass(frozen=True, slots=True)
class Refusing:
    """The last step: the destination answers.

    Its errors become answers of the bank, its refusals those of the sandbox.
    """

    refusals: Refusals

    async def __call__(self, route: Route) -> Answer:
        try:
            return await route.destination.answer(route)
        except (BankError, Refused) as error:
            return self.refusals.answer(route, error)
