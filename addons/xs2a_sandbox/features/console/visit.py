"""One visit to a page: what was asked for, and what it may ask of the sandbox in turn."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from xs2a_sandbox.bank import Banks
from xs2a_sandbox.config import Settings
from xs2a_sandbox.control.access import Guard
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.features.console.html import show
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.messages import redirect
from xs2a_sandbox.http.own_path import ROOT
from xs2a_sandbox.state import RemoteStore, Store
from xs2a_sandbox.state.session import DEFAULT, PREFIX


class ShownSandbox(Protocol):
    """A sandbox that can be looked at. `control` is its control interface, past the log."""

    @property
    def banks(self) -> Banks: ...

    @property
    def store(self) -> Store | RemoteStore: ...

    @property
    def guard(self) -> Guard: ...

    async def control(self, request: Request) -> Response: ...


@dataclass(frozen=True, slots=True)
class ConsoleVisit:
    """`names` are the segments below `/_sandbox/console`, none for the first page; `base_url` is where the app asks."""

    request: Request
    session: str
    names: tuple[str, ...]
    query: Mapping[str, str]
    form: Mapping[str, str]
    sandbox: ShownSandbox
    settings: Settings
    base_url: str
    held: Sequence[Mapping[str, Any]] = ()
    """What breakpoints hold now."""

    @property
    def prefix(self) -> str:
        """The beginning of the addresses of the console's pages in this session."""
        return prefix_of(self.session)

    @property
    def is_sent(self) -> bool:
        """True for a form that was sent."""
        return self.request.method == "POST"

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer of the control interface to who holds the token, in this session. Raises Refused."""
        token = self.sandbox.guard.token
        headers = [("Authorization", f"Bearer {token}"), ("X-Sandbox-Session", self.session)]
        sent = b"" if body is None else json.dumps(body).encode()
        response = await self.sandbox.control(Request(method, f"/_sandbox/{path}", Headers(headers), sent))
        if response.status == 413:
            # This error has the words of the bank's dialect.
            raise Refused(413, "body-too-large", "That is larger than the sandbox accepts.")
        value = json.loads(response.body or b"null")
        if response.status >= 400:
            raise Refused(response.status, value["error"], value["message"])
        return value

    async def list_held(self) -> list[dict[str, Any]]:
        """What breakpoints hold now: of the session, or of all where none is named; nothing where nobody can tell."""
        try:
            listed: list[dict[str, Any]] = (await self.ask("GET", "held"))["held"]
        except Refused:
            return []
        return listed

    def page(self, template: str, nav: str, code: int = 200, /, **values: Any) -> Response:
        """`nav` is the entry of the menu that the page belongs to; `problem` is said beside the field that is `wrong`,
        else above all."""
        shared: dict[str, Any] = {
            "nav": nav,
            "prefix": self.prefix,
            "session": self.session,
            "problem": "",
            "wrong": "",
        }
        shared |= {"held": self.held}
        return show(template, {**shared, **values}, code)

    def part(self, template: str, /, **values: Any) -> Response:
        """A part of a page, which the script puts into it."""
        return show(template, {"prefix": self.prefix, "session": self.session, **values})

    def go(self, page: str) -> Response:
        """Leads to another page of the console."""
        return redirect(f"{self.prefix}/console/{page}")


def prefix_of(session: str) -> str:
    return f"/{ROOT}" if session == DEFAULT else f"/{ROOT}/{PREFIX}/{session}"


def read_order(sent: Mapping[str, str], numbers: Collection[str]) -> dict[str, Any]:
    """Return what a form orders, without empty fields. The control interface refuses a number that is none."""
    return {
        name: int(text) if name in numbers and text.isascii() and text.isdigit() and len(text) < 12 else text
        for name, text in sent.items()
        if text
    }


def wrong_field(problem: str, names: Iterable[str], sent: Mapping[str, str]) -> str:
    """The field of a form that a refusal is about: the one that it names, or whose value it quotes; else none."""
    words = problem.replace("'", " ").replace(":", " ").replace(",", " ").split()
    field = next((name for name in names if name in words), None)
    return field or next((name for name in names if sent.get(name) and sent[name] in problem), "")
