"""Where a request goes: the bank that is meant, and the destination that answers."""

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
    """A request that a bank is to answer, ours or the real one. `target` is the part of its path that was found.

    Its path has `segments` without the session's prefix. `sandbox_url` is what the sandbox's absolute links begin with.
    One that `is_twin` is asked beside a real bank, which knows nothing of faults and added rules.
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
        """The real bank, at the host that the request names."""
        return self.bank.real.at(self.request)

    @property
    def destination(self) -> BankDestination:
        """The place at the real bank that it is for."""
        return self.real.destination(self.request, cut_target(self.request.target, self.segments)[1])

    @property
    def operation(self) -> str:
        return self.lookup.operation.id if self.lookup.operation else "unknown operation"

    @property
    def is_read(self) -> bool:
        return self.lookup.is_read(self.request.method)


class Route(msgspec.Struct, frozen=True):
    """A request on its way; `target` is its path without the session's prefix.

    `is_own` tells paths of the sandbox itself, and `is_personal` where real people's data may be in what is said.
    `to_bank` is there where a bank is to answer; `warnings` are what of the request means nothing there. The payment
    user's browser `is_in_browser`: it gets errors as pages. One that `is_twin` is answered beside a real bank.
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
        """The request to the bank, for destinations that only such routes have."""
        if self.to_bank is None:
            raise ValueError("only a bank answers this")
        return self.to_bank


class Destination(Protocol):
    """Answers, and tells how it would. Both raise BankError and Refused for what is not answered here."""

    async def answer(self, route: Route) -> Answer: ...

    def explain(self, route: Route, documents: Documents) -> Explanation:
        """The answer that `answer` would give, and why; nothing is kept. Also raises StoreUnavailable."""
        ...


type Step = Callable[[Route], Awaitable[Answer]]
