"""Finds where a request goes: a page of the sandbox, a host to forward to, or a bank in its mode."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from msgspec import structs

from xs2a_sandbox.bank import Banks
from xs2a_sandbox.bank.sca_pages import PAGES
from xs2a_sandbox.cassette.fault import PREFER
from xs2a_sandbox.config.limits import Limits
from xs2a_sandbox.config.modes import find_mode
from xs2a_sandbox.engine.destinations.own import Refusal
from xs2a_sandbox.engine.route import BankRequest, Destination, Route
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Request, browser_files
from xs2a_sandbox.http.messages import header_mistake
from xs2a_sandbox.http.own_path import ROOT
from xs2a_sandbox.http.target import Target, split_target
from xs2a_sandbox.state.session import DEFAULT, session_name

type Takes = Callable[[Request, tuple[str, ...]], bool]
"""Says whether a destination is for the request, given its path without the session's prefix."""

_OWN_PATHS = frozenset({ROOT, PAGES})


def is_own_path(segments: tuple[str, ...]) -> bool:
    """Return whether the path is the sandbox's own. `segments` are without the session's prefix."""
    return bool(segments) and segments[0] in _OWN_PATHS


@dataclass(frozen=True, slots=True)
class Routing:
    """All destinations: `own` are those below `/_sandbox/` in order, each with the requests that it takes.

    `forwards` returns whether a request must be forwarded; it is None if no host is forwarded to.
    `may_be_personal` says whether requests can contain data of real people. Without `prefers` the header
    X-Sandbox-Prefer is ignored.
    """

    banks: Banks
    limits: Limits
    forwards: Callable[[Request], bool] | None
    forward: Destination
    own: tuple[tuple[Takes, Destination], ...]
    modes: Mapping[str, Destination]
    sca_page: Destination
    public_url: str
    prefers: bool
    may_be_personal: bool

    def find(self, request: Request, *, is_twin: bool = False) -> Route:
        """Find the route. Never raises: if the request is invalid, the destination raises the error."""
        target, session = Target((), ()), DEFAULT
        segments: tuple[str, ...] = ()
        try:
            target = split_target(request.target)
            session, segments = session_name(request, target.segments)
            if segments is not target.segments:
                target = Target(segments, target.query)
            if mistake := header_mistake(request.headers):
                raise BankError("format-error", expected=mistake)
            if too_large := self.limits.excess(request):
                raise BankError(too_large[0], limit=too_large[1])
            is_own = is_own_path(segments)
            if self.forwards and self.forwards(request):
                return Route(request, target, session, self.banks.default, self.forward, is_own, self.may_be_personal)
            if is_own:
                return self._find_own(request, target, session, is_twin)
            return self.to_bank(request, target, session, is_own=False, is_twin=is_twin)
        except Exception as error:
            bank, own_path = self.banks.default, is_own_path(segments)
            return Route(request, target, session, bank, Refusal(error), own_path, self.may_be_personal)

    def _find_own(self, request: Request, target: Target, session: str, is_twin: bool) -> Route:
        for takes, destination in self.own:
            if takes(request, target.segments):
                return Route(request, target, session, self.banks.default, destination, True, False)
        bank = self.banks.bank_of(request)
        if target.segments[0] == PAGES and find_mode(bank.real.mode_of(target.segments)).has_own_pages:
            page = Route(request, target, session, bank, self.sca_page, True, False)
            return structs.replace(page, is_in_browser=True, is_twin=is_twin)
        return self.to_bank(request, target, session, is_own=True, is_twin=is_twin)

    def at_bank(self, page: Route) -> Route:
        """Return the route of a payment user's page that is left to the real bank. Raises BankError."""
        route = self.to_bank(page.request, page.target, page.session, is_own=True, is_twin=page.is_twin)
        return structs.replace(route, is_in_browser=True)

    def to_bank(self, request: Request, target: Target, session: str, *, is_own: bool, is_twin: bool) -> Route:
        """Return the route to a bank. If `is_twin`, the sandbox answers in every mode.

        Raises BankError if the request is for none of the banks.
        """
        bank = self.banks.choose(request)
        lookup = bank.find(request.method, target.segments)
        is_known = lookup.is_known
        if not is_known and browser_files.is_browser_file(request.method, request.target):
            # As an own path it is not journaled.
            missing = Refusal(browser_files.unavailable(request.target))
            return Route(request, target, session, bank, missing, True, False)
        mode = find_mode("simulate" if is_twin else bank.real.mode_of(lookup.segments))
        if not is_known and self.banks.is_for_nobody(request, bank):
            raise self.banks.unknown_host(request)
        count = len(target.segments)
        found = target if len(lookup.segments) == count else Target(lookup.segments, target.query)
        to_bank = BankRequest(request, count, found, bank, lookup, mode.name, session, self.public_url, is_twin)
        is_personal = is_twin or mode.is_personal or bank.replays_personal
        warnings: tuple[str, ...] = ()
        if not mode.heeds_faults and self.prefers and request.headers.get(PREFER) is not None:
            what = "requests to a bank are not changed" if mode.asks_bank else "this mode ignores it"
            warnings = (f"{PREFER} has no effect in mode {mode.name}: {what}",)
        return Route(
            request,
            target,
            session,
            bank,
            self.modes[mode.name],
            is_own,
            is_personal,
            to_bank,
            warnings,
            False,
            is_twin,
        )
