"""The console's door: who may come in, which pages there are, and which of them a visit is for."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from urllib.parse import parse_qsl

from xs2a_sandbox.cli.serve.run_part import RunPart
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.errors import Refused, StoreUnavailable
from xs2a_sandbox.features.console import sign_in
from xs2a_sandbox.features.console.bank import bank, document
from xs2a_sandbox.features.console.beside import beside
from xs2a_sandbox.features.console.breakpoints import breakpoints, held
from xs2a_sandbox.features.console.exchange import exchange
from xs2a_sandbox.features.console.faults import faults
from xs2a_sandbox.features.console.html import show
from xs2a_sandbox.features.console.recordings import recordings
from xs2a_sandbox.features.console.rules import rules
from xs2a_sandbox.features.console.session_pages import sessions, time
from xs2a_sandbox.features.console.sign_in import SignIn
from xs2a_sandbox.features.console.test_data import saved_test_data
from xs2a_sandbox.features.console.traffic import events, traffic
from xs2a_sandbox.features.console.visit import ConsoleVisit, ShownSandbox, prefix_of
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.messages import redirect
from xs2a_sandbox.http.own_path import ROOT
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.state.session import DEFAULT

Page = Callable[[ConsoleVisit], Awaitable[Response]]

PAGES: Mapping[tuple[str, int], Page] = {
    ("", 0): traffic,
    ("events", 1): events,
    ("exchanges", 2): exchange,
    ("beside", 1): beside,
    ("bank", 1): bank,
    ("bank", 2): saved_test_data,
    ("bank", 3): document,
    ("time", 1): time,
    ("rules", 1): rules,
    ("faults", 1): faults,
    ("breakpoints", 1): breakpoints,
    ("breakpoints", 2): held,
    ("recordings", 1): recordings,
    ("sessions", 1): sessions,
}
"""By the first segment below `/_sandbox/console`, and how many there are."""


_NOWHERE = "This page cannot be shown"
"""No entry of the menu: whoever is signed in finds the way on there."""


class Console:
    """`base_url` is where the app asks; `settings` say where cases are written; `run` is a secret of this run, the same
    in all processes that serve together."""

    def __init__(self, sandbox: ShownSandbox, settings: Settings, base_url: str, run: str) -> None:
        self._sandbox = sandbox
        self._settings = settings
        self._base_url = base_url
        self._sign_in = SignIn(sandbox.store, run)

    def takes(self, request: Request, segments: tuple[str, ...]) -> bool:
        """Tells if the console answers; the first page without link and cookie is the sandbox's front page."""
        if request.door != "direct" or segments[:1] != (ROOT,):
            return False
        if segments[1:]:
            return segments[1] == "console"
        # Who only looks whether there is something, as previews of links do, does not use the link up.
        has_link = request.method != "HEAD" and sign_in.LINK in dict(split_target(request.target).query)
        return has_link or self._sign_in.is_signed_in(request, self._sandbox.guard.token)

    async def answer(self, request: Request, segments: tuple[str, ...], session: str) -> Response:
        guard, query = self._sandbox.guard, dict(split_target(request.target).query)
        try:
            guard.check_site(request)
            # Frames, images and scripts are no places for the console's pages.
            if request.headers.get("Sec-Fetch-Dest") not in (None, "document", "empty"):
                raise Refused(403, "origin-refused", "The console's pages are shown only as pages of their own.")
            if guard.token is None:
                raise Refused(403, "no-token", "This sandbox was started without an admin token, so nobody sees more.")
        except Refused as refused:
            return _show_refusal(str(refused), refused.status)
        form = dict(parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True))
        visit = ConsoleVisit(request, session, segments[2:], query, form, self._sandbox, self._settings, self._base_url)
        if sign_in.LINK in query and not segments[1:] and request.method != "HEAD":
            return await self._finish_sign_in(visit, query[sign_in.LINK], guard.token)
        if not self._sign_in.is_signed_in(request, guard.token):
            return _show_refusal("A link signs in; this command prints one:", 401, "xs2a-sandbox console")
        try:
            page = _page_of(visit)
            return await page(replace(visit, held=await visit.list_held()))
        except Refused as refused:
            text = str(refused)
            return visit.page("refused.html", _NOWHERE, refused.status, heading=_NOWHERE, text=text, command="")

    async def _finish_sign_in(self, visit: ConsoleVisit, code: str, token: str) -> Response:
        try:
            cookie = await self._sign_in.redeem(code, token)
        except StoreUnavailable as error:
            return _show_refusal(f"The state, which knows the links that were used, cannot be used: {error}", 503)
        if cookie is None:
            text = "This link has expired or was used before. This command prints a new one:"
            return _show_refusal(text, 403, "xs2a-sandbox console")
        return redirect(f"{visit.prefix}/", ("Set-Cookie", cookie), ("Cache-Control", "no-store"))


class RunConsole(RunPart):
    """The console of a run of `serve`, and the link that signs in to it."""

    def open(self, engine: Engine, base_url: str, run: str) -> None:
        engine.use(console=Console(engine, self.settings, base_url, run))

    def links(self, base_url: str, token: str) -> dict[str, str]:
        return {"console": sign_in.link(base_url, token)}


def _page_of(visit: ConsoleVisit) -> Page:
    """Raises Refused where there is none."""
    page = PAGES.get((visit.names[0] if visit.names else "", len(visit.names)))
    if page is None:
        raise Refused(404, "path-unknown", "The console has no such page: the menu above leads to all that there are.")
    if visit.request.method not in ("GET", "HEAD", "POST"):
        raise Refused(405, "method-not-offered", "Pages are read with GET, and their forms are sent with POST.")
    return page


def _show_refusal(text: str, status: int, command: str = "") -> Response:
    shared = {"nav": "", "prefix": prefix_of(DEFAULT), "session": "", "problem": "", "wrong": "", "held": ()}
    return show(
        "refused.html", {**shared, "heading": "The console is closed", "text": text, "command": command}, status
    )
