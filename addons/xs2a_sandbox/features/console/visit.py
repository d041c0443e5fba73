"""A visit to a page: the request, and the access to the sandbox that pages have."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from xs2a_sandbox.bank import Banks
from xs2a_sandbox.config import Settings
from xs2a_sandbox.control.access import Guard
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.features.console.clock_words import say_clock
from xs2a_sandbox.features.console.documents import AVAILABLE
from xs2a_sandbox.features.console.html import show
from xs2a_sandbox.features.console.runs.background import BackgroundCommands
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.messages import redirect
from xs2a_sandbox.http.own_path import ROOT
from xs2a_sandbox.state import RemoteStore, Store
from xs2a_sandbox.state.session import DEFAULT, PREFIX


class ShownSandbox(Protocol):
    """The sandbox as pages see it. `control` is its control interface, without log entries."""

    @property
    def banks(self) -> Banks: ...

    @property
    def store(self) -> Store | RemoteStore: ...

    @property
    def guard(self) -> Guard: ...

    def displayed_text(self, text: str, personal: bool | None = None) -> str: ...

    async def control(self, request: Request) -> Response: ...


@dataclass(frozen=True, slots=True)
class RunningCommands:
    """The commands that the console has started. `address` is the address of this sandbox for them."""

    campaigns: BackgroundCommands
    comparisons: BackgroundCommands
    address: str


@dataclass(frozen=True, slots=True)
class ConsoleVisit:
    """`names` are the segments below `/_sandbox/console`; `base_url` is the app's address of the sandbox."""

    request: Request
    session: str
    names: tuple[str, ...]
    query: Mapping[str, str]
    form: Mapping[str, str]
    sandbox: ShownSandbox
    settings: Settings
    base_url: str
    commands: RunningCommands
    held: Sequence[Mapping[str, Any]] = ()
    """The exchanges that breakpoints hold now."""
    clock: str = ""
    """How the session's clock differs from real time, or an empty text."""

    @property
    def prefix(self) -> str:
        """The beginning of the console's addresses in this session."""
        return prefix_of(self.session)

    @property
    def is_sent(self) -> bool:
        """Whether this is a sent form."""
        return self.request.method == "POST"

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer of the control interface in this session, with the admin token. Raises Refused."""
        token = self.sandbox.guard.token
        headers = [("Authorization", f"Bearer {token}"), ("X-Sandbox-Session", self.session)]
        sent = b"" if body is None else json.dumps(body).encode()
        response = await self.sandbox.control(Request(method, f"/_sandbox/{path}", Headers(headers), sent))
        if response.status == 413:
            # This error has the form of the bank's errors.
            raise Refused(413, "body-too-large", "That is larger than the sandbox accepts.")
        value = json.loads(response.body or b"null")
        if response.status >= 400:
            raise Refused(response.status, value["error"], value["message"])
        return value

    async def read_state(self) -> dict[str, dict[str, Any]]:
        """Return all collections of the session, and the money that can be paid from its accounts."""
        state: dict[str, dict[str, Any]] = await self.ask("GET", "state")
        return {**state, AVAILABLE: (await self.ask("GET", "available"))["available"]}

    async def list_held(self) -> list[dict[str, Any]]:
        """Return the exchanges that breakpoints hold, or an empty list if they are unknown."""
        try:
            listed: list[dict[str, Any]] = (await self.ask("GET", "held"))["held"]
        except Refused:
            return []
        return listed

    async def read_clock(self) -> str:
        """Return how the session's clock differs from real time, or an empty text if that is unknown."""
        try:
            return say_clock(await self.ask("GET", "clock"))
        except Refused:
            return ""

    def page(self, template: str, nav: str, code: int = 200, /, **values: Any) -> Response:
        """`nav` is the page's entry in the menu; `problem` is shown next to the field `wrong`, or above the page."""
        shared: dict[str, Any] = {
            "nav": nav,
            "prefix": self.prefix,
            "session": self.session,
            "problem": "",
            "wrong": "",
        }
        shared |= {"held": self.held, "moved_clock": self.clock}
        return show(template, {**shared, **values}, code)

    def part(self, template: str, /, **values: Any) -> Response:
        """Return a part of a page, which the script inserts."""
        return show(template, {"prefix": self.prefix, "session": self.session, **values})

    def go(self, page: str) -> Response:
        """Redirect to another page of the console."""
        return redirect(f"{self.prefix}/console/{page}")


def prefix_of(session: str) -> str:
    return f"/{ROOT}" if session == DEFAULT else f"/{ROOT}/{PREFIX}/{session}"


def read_order(sent: Mapping[str, str], numbers: Collection[str]) -> dict[str, Any]:
    """Return the values of a form without empty fields. Invalid numbers stay texts, which are refused later."""
    return {
        name: int(text) if name in numbers and text.isascii() and text.isdigit() and len(text) < 12 else text
        for name, text in sent.items()
        if text
    }


def wrong_field(problem: str, names: Iterable[str], sent: Mapping[str, str]) -> str:
    """Return the field that a problem names, or whose value it quotes, or an empty text."""
    words = problem.replace("'", " ").replace(":", " ").replace(",", " ").split()
    field = next((name for name in names if name in words), None)
    return field or next((name for name in names if sent.get(name) and sent[name] in problem), "")
