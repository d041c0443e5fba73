"""The sandbox's own pages below `/_sandbox/`, and errors for requests that are rejected before a bank is chosen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from xs2a_sandbox.bank import Answer, Banks
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.control.access import Guard
from xs2a_sandbox.control.front_page import FrontPage
from xs2a_sandbox.control.pages import Pages
from xs2a_sandbox.engine.route import Route
from xs2a_sandbox.engine.transactions import Transactions
from xs2a_sandbox.explain.explanation import Explanation, own
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.own_path import ROOT
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.state import Documents

if TYPE_CHECKING:
    from xs2a_sandbox.control.api import ControlledSandbox

OWN_PAGE = "this is a page of the sandbox"


class AddedPages(Protocol):
    """Pages below `/_sandbox/` that a part of a run adds, such as the console. They check who may use them."""

    def takes(self, request: Request, segments: tuple[str, ...]) -> bool: ...

    async def answer(self, request: Request, segments: tuple[str, ...], session: str) -> Response: ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """Raises the error that routing found."""

    error: Exception

    async def answer(self, route: Route) -> Answer:
        raise self.error

    def explain(self, route: Route, documents: Documents) -> Explanation:
        raise self.error


@dataclass(frozen=True, slots=True)
class _OwnDestination:
    transactions: Transactions

    def explain(self, route: Route, documents: Documents) -> Explanation:
        return own(self.transactions.stateless(route.request, route.target, route.session), OWN_PAGE)


@dataclass(frozen=True, slots=True)
class OwnPages(_OwnDestination):
    pages: Pages

    async def answer(self, route: Route) -> Answer:
        return Answer(await self.pages.answer(route.request, route.target.segments))


@dataclass(frozen=True, slots=True)
class FrontPages(_OwnDestination):
    front_page: FrontPage

    async def answer(self, route: Route) -> Answer:
        return Answer(self.front_page.answer(route.request))


@dataclass(frozen=True, slots=True)
class AddedDestination(_OwnDestination):
    added: AddedPages

    async def answer(self, route: Route) -> Answer:
        response = await self.added.answer(route.request, route.target.segments, route.session)
        # Requests for the log would clutter the log, and the control interface logs what agents do.
        return Answer(response, is_logged=False)


def is_control(request: Request, segments: Sequence[str]) -> bool:
    """Return whether the request controls the sandbox. Through the proxy or the TLS door its paths do not exist."""
    if len(segments) < 2 or segments[0] != ROOT or request.door not in ("direct", "process"):
        return False
    # Imported for the first such request: it takes as long as a tenth of the other imports.
    from xs2a_sandbox.control.api import has_paths

    return has_paths(segments[1])


@dataclass(frozen=True, slots=True)
class ControlInterface(_OwnDestination):
    sandbox: "ControlledSandbox"
    guard: Guard
    banks: Banks

    async def answer(self, route: Route) -> Answer:
        request, target = route.request, split_target(route.request.target)
        warnings: Sequence[str] = ()

        def begin(documents: Documents) -> Call:
            nonlocal warnings
            call = self.transactions.begin(request, target, route.session, self.banks.default, documents)
            warnings = call.warnings
            return call

        from xs2a_sandbox.control.api import Control

        response = await Control(self.sandbox).answer(request, route.target.segments, self.guard, begin)
        return Answer(response, warnings=warnings)
