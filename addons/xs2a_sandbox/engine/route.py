"""The route of a request: its bank, and the destination that answers."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from xs2a_sandbox.bank import Answer, Bank
from xs2a_sandbox.cassette.index import Lookup
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.config.real_bank import BankDestination
from xs2a_sandbox.explain.explanation import Explanation
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.target import Target, cut_target
from xs2a_sandbox.state import Documents


class BankRequest(msgspec.Struct, frozen=True):
    """A request to a bank, the simulated or the real one. `target` is the part of its path that was found.

    Its path has `segments` without the session's prefix. `sandbox_url` is the beginning of the sandbox's absolute
    links. If `is_twin`, the request also goes to a real bank, which knows nothing about faults and added rules.
    """

    request: Request
    segments: int
    target: Target
    bank: Bank
    lookup: Lookup
    mode: str
    session: str
    sandbox_url: str
    is_twin: bool = False

    @property
    def real(self) -> RealBank:
        """The real bank at the host that the request names."""
        return self.bank.real.at(self.request)

    @property
    def destination(self) -> BankDestination:
        """The target at the real bank."""
        return self.real.destination(self.request, cut_target(self.request.target, self.segments)[1])

    @property
    def operation(self) -> str:
        return self.lookup.operation.id if self.lookup.operation else "unknown operation"

    @property
    def is_read(self) -> bool:
        return self.lookup.is_read(self.request.method)


class Route(msgspec.Struct, frozen=True):
    """A request on its way. `target` is its path without the session's prefix.

    `is_own` is true for paths of the sandbox itself, `is_personal` if the exchange may contain data of real people.
    `to_bank` is set if a bank answers; `warnings` are about parts of the request that have no effect there. If
    `is_in_browser`, the client is the payment user's browser, and errors are pages. If `is_twin`, the request also goes
    to a real bank.
    """

    request: Request
    target: Target
    session: str
    bank: Bank
    destination: "Destination"
    is_own: bool
    is_personal: bool
    to_bank: BankRequest | None = None
    warnings: tuple[str, ...] = ()
    is_in_browser: bool = False
    is_twin: bool = False

    @property
    def bank_request(self) -> BankRequest:
        """The request to the bank, for destinations that only have such routes."""
        if self.to_bank is None:
            raise ValueError("only a bank answers this")
        return self.to_bank


class Destination(Protocol):
    """Answers requests and explains the answers. Both methods raise BankError and Refused for rejected requests."""

    async def answer(self, route: Route) -> Answer: ...

    def explain(self, route: Route, documents: Documents) -> Explanation:
        """Explain the answer that `answer` would give. Nothing is stored. Also raises StoreUnavailable."""
        ...


type Step = Callable[[Route], Awaitable[Answer]]
