"""The front page, its icon or a link back, if a browser requests a missing page of the sandbox itself."""

from dataclasses import dataclass

from xs2a_sandbox.bank.sca_pages.html import Page, icon, show
from xs2a_sandbox.control.access import Guard
from xs2a_sandbox.control.front_page import FrontPage, asks_for_html
from xs2a_sandbox.engine.route import Route
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.own_path import ROOT
from xs2a_sandbox.http.target import split_target


@dataclass(frozen=True, slots=True)
class Landing:
    """Without a `front_page` it shows nothing."""

    front_page: FrontPage | None
    guard: Guard

    def page(self, route: Route, error: str | None) -> Response | None:
        """Return the page that replaces the error, unless the bank has something there."""
        request = route.request
        if error not in ("path-unknown", "not-recorded") or not self._is_looked_at(request):
            return None
        if self.front_page and not split_target(request.target).segments:
            return self.front_page.answer(request)
        match route.target.segments:
            case ("favicon.ico",):
                return icon()
            case (first, *_) if first == ROOT and asks_for_html(request):
                return show(Page("nowhere", {"path": request.target.partition("?")[0][:200]}), 404)
        return None

    def takes(self, request: Request, segments: tuple[str, ...]) -> bool:
        """Return whether the front page is requested by its own path."""
        return segments == (ROOT,) and self._is_looked_at(request)

    def _is_looked_at(self, request: Request) -> bool:
        """Return whether a browser visits the sandbox's own address, never through the proxy or the TLS door."""
        is_read = request.method in ("GET", "HEAD") and request.door == "direct"
        return self.front_page is not None and is_read and self.guard.is_ours(request.host)
