"""Receives the console's requests: checks that the user is signed in, and calls the function of the page."""

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from xs2a_sandbox.cli.serve.run_part import RunPart
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.errors import Refused, StoreUnavailable
from xs2a_sandbox.features.console import sign_in
from xs2a_sandbox.features.console.html import show
from xs2a_sandbox.features.console.runs.background import BackgroundCommands
from xs2a_sandbox.features.console.sign_in import SignIn
from xs2a_sandbox.features.console.visit import ConsoleVisit, RunningCommands, ShownSandbox, prefix_of
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.messages import redirect
from xs2a_sandbox.http.origin import url
from xs2a_sandbox.http.own_path import ROOT
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.state.session import DEFAULT

if TYPE_CHECKING:
    from xs2a_sandbox.features.console.pages import Page

_NOWHERE = "This page cannot be shown"
"""The heading of refusals. It is not an entry of the menu, which a signed-in user can use to go on."""


class Console:
    """`base_url` is the app's address of the sandbox. `run` is a secret that all processes of this run share."""

    def __init__(self, sandbox: ShownSandbox, settings: Settings, base_url: str, run: str) -> None:
        self._sandbox = sandbox
        self._settings = settings
        self._base_url = base_url
        self._sign_in = SignIn(sandbox.store, run)
        self._commands = RunningCommands(
            BackgroundCommands(settings.confdir / "campaigns", "campaign"),
            BackgroundCommands(settings.confdir / "comparisons", "comparison"),
            base_url if settings.port == 0 else url("http", settings.host, settings.port),
        )

    @property
    def _command(self) -> str:
        """The command that prints a link to the console of this sandbox."""
        port = self._settings.port or urlsplit(self._base_url).port
        return "xs2a-sandbox console" + (f" --port {port}" if port and port != Settings().port else "")

    def takes(self, request: Request, segments: tuple[str, ...]) -> bool:
        """Return whether the console handles the request. Without link and cookie, `/_sandbox/` is the front page."""
        if request.door != "direct" or segments[:1] != (ROOT,):
            return False
        if segments[1:]:
            return segments[1] == "console"
        # A HEAD request, which previews of links send, does not use the link up.
        has_link = request.method != "HEAD" and sign_in.LINK in dict(split_target(request.target).query)
        return has_link or self._sign_in.is_signed_in(request, self._sandbox.guard.token)

    async def answer(self, request: Request, segments: tuple[str, ...], session: str) -> Response:
        guard, query = self._sandbox.guard, dict(split_target(request.target).query)
        try:
            guard.check_site(request)
            # The console's pages must not be loaded in frames, as images or as scripts.
            if request.headers.get("Sec-Fetch-Dest") not in (None, "document", "empty"):
                raise Refused(
                    403, "origin-refused", "The console cannot be shown inside another page: open it in its own tab."
                )
            if guard.token is None:
                text = "This sandbox was started without an admin token, so it has no console: use xs2a-sandbox serve."
                raise Refused(403, "no-token", text)
        except Refused as refused:
            return _show_refusal(str(refused), refused.status)
        form = dict(parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True))
        where = self._sandbox, self._settings, self._base_url, self._commands
        visit = ConsoleVisit(request, session, segments[2:], query, form, *where)
        if sign_in.LINK in query and not segments[1:] and request.method != "HEAD":
            return await self._finish_sign_in(visit, query[sign_in.LINK], guard.token)
        if not self._sign_in.is_signed_in(request, guard.token):
            return _show_refusal("Sign in with a link. This command prints one:", 401, self._command)
        try:
            page = _page_of(visit)
            return await page(replace(visit, held=await visit.list_held(), clock=await visit.read_clock()))
        except Refused as refused:
            text = str(refused)
            return visit.page("refused.html", _NOWHERE, refused.status, heading=_NOWHERE, text=text, command="")

    async def _finish_sign_in(self, visit: ConsoleVisit, code: str, token: str) -> Response:
        try:
            cookie = await self._sign_in.redeem(code, token)
        except StoreUnavailable as error:
            text = (
                f"The sandbox cannot check whether this link was used before, because its state is unavailable: {error}"
            )
            return _show_refusal(text, 503)
        if cookie is None:
            text = "This link has expired or was used before. This command prints a new one:"
            return _show_refusal(text, 403, self._command)
        return redirect(f"{visit.prefix}/", ("Set-Cookie", cookie), ("Cache-Control", "no-store"))


class RunConsole(RunPart):
    """The console of a run of `serve`, and the link that signs in to it."""

    def open(self, engine: Engine, base_url: str, run: str) -> None:
        engine.add_pages("console", Console(engine, self.settings, base_url, run))

    def links(self, base_url: str, token: str) -> dict[str, str]:
        return {"console": sign_in.link(base_url, token)}


def _page_of(visit: ConsoleVisit) -> "Page":
    """Return the page. Raises Refused if there is none."""
    # Imported for the first page, so that a start does not wait for code that may never be used.
    from xs2a_sandbox.features.console.pages import PAGES

    page = PAGES.get((visit.names[0] if visit.names else "", len(visit.names)))
    if page is None:
        raise Refused(404, "path-unknown", "The console has no such page. Use the menu above.")
    if visit.request.method not in ("GET", "HEAD", "POST"):
        raise Refused(405, "method-not-offered", "Pages are read with GET, and their forms are sent with POST.")
    return page


def _show_refusal(text: str, status: int, command: str = "") -> Response:
    shared = {"nav": "", "prefix": prefix_of(DEFAULT), "session": "", "problem": "", "wrong": "", "held": ()}
    return show(
        "refused.html", {**shared, "heading": "The console is closed", "text": text, "command": command}, status
    )
