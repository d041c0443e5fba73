"""The console's pages: which there are, and what each asks of the control interface."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import parse_qsl, quote, urlencode

from xs2a_sandbox.bank import Banks
from xs2a_sandbox.bank.domain.lifecycle import BASKET, CONSENT, PAYMENT, SCA, Machine
from xs2a_sandbox.cassette import Interface, Operation, Rule
from xs2a_sandbox.config import Settings
from xs2a_sandbox.console import sign_in
from xs2a_sandbox.console.exchange import body_text, curl, mentions
from xs2a_sandbox.console.html import render, show
from xs2a_sandbox.console.sign_in import SignIn, is_signed_in
from xs2a_sandbox.control import journal as journal_view
from xs2a_sandbox.control.access import Guard
from xs2a_sandbox.documents.yaml_writer import yaml_text
from xs2a_sandbox.errors import Refused, UserMistake
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.messages import redirect
from xs2a_sandbox.http.own_path import ROOT
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.state.session import DEFAULT, PREFIX, is_session_name

_SHOWN = 100
"""Exchanges on a page; what comes later is added."""
_BATCH = 0.1
"""Seconds for which exchanges are gathered before they are sent."""
_STREAM = 2.0
"""Seconds after which a browser asks for the stream anew: so long the sandbox waits for it at most when it stops."""
_FILTERS = ("method", "path", "status", "rule")
_COLLECTIONS = (
    ("Consents", "consents"),
    ("Payments", "payments"),
    ("Signing baskets", "baskets"),
    ("Authorisations", "authorisations"),
    ("Accounts", "accounts"),
    ("Card accounts", "cardAccounts"),
    ("Customers", "psus"),
)
_MACHINES: Mapping[str, Machine] = {"consents": CONSENT, "payments": PAYMENT, "baskets": BASKET, "authorisations": SCA}
_DECISIONS = (("approve", "finalised"), ("decline", "failed"), ("timeout", "failed"), ("error", "failed"))


class ShownSandbox(Protocol):
    """A sandbox that can be looked at. `control` is its control interface, past the log."""

    banks: Banks

    @property
    def guard(self) -> Guard: ...

    async def control(self, request: Request) -> Response: ...


@dataclass(frozen=True, slots=True)
class ConsoleRequest:
    """One request for a page. `names` are the segments below `/_sandbox/console`, none for the first page."""

    request: Request
    session: str
    names: tuple[str, ...]
    query: Mapping[str, str]
    form: Mapping[str, str]

    @property
    def prefix(self) -> str:
        """The beginning of the addresses of this session."""
        return "" if self.session == DEFAULT else f"/{PREFIX}/{self.session}"


class Console:
    """`base_url` is where the app asks; `settings` say where cases are written."""

    def __init__(self, sandbox: ShownSandbox, settings: Settings, base_url: str) -> None:
        self._sandbox = sandbox
        self._settings = settings
        self._base_url = base_url
        self._sign_in = SignIn()
        self._pages: dict[tuple[str, int], Callable[[ConsoleRequest], Awaitable[Response]]] = {
            ("", 0): self._traffic,
            ("events", 1): self._events,
            ("exchanges", 2): self._exchange,
            ("bank", 1): self._bank,
            ("bank", 3): self._document,
            ("time", 1): self._time,
            ("rules", 1): self._rules,
            ("sessions", 1): self._sessions,
        }

    def takes(self, request: Request, segments: tuple[str, ...]) -> bool:
        """Tells if the console answers; the first page without link and cookie is the sandbox's front page."""
        if request.door != "direct" or segments[:1] != (ROOT,):
            return False
        if segments[1:]:
            return segments[1] == "console"
        names = {name for name, _ in split_target(request.target).query}
        return sign_in.LINK in names or is_signed_in(request, self._sandbox.guard.token)

    async def answer(self, request: Request, segments: tuple[str, ...], session: str) -> Response:
        guard, query = self._sandbox.guard, dict(split_target(request.target).query)
        try:
            guard.check_site(request)
            if guard.token is None:
                raise Refused(403, "no-token", "This sandbox was started without an admin token, so nobody sees more.")
        except Refused as refused:
            return _refused(str(refused), refused.status)
        form = dict(parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True))
        visit = ConsoleRequest(request, session, segments[2:], query, form)
        if sign_in.LINK in query and not segments[1:]:
            return self._signed_in(visit, query[sign_in.LINK], guard.token)
        if not is_signed_in(request, guard.token):
            return _refused("A link signs in; this command prints one:", 401, "xs2a-sandbox console")
        page = self._pages.get((visit.names[0] if visit.names else "", len(visit.names)))
        if page is None:
            return _refused("The console has no such page.", 404)
        if request.method not in ("GET", "HEAD", "POST"):
            return _refused("Pages are read with GET, and their forms are sent with POST.", 405)
        try:
            return await page(visit)
        except Refused as refused:
            return self._page(
                visit, "refused.html", "", refused.status, heading="Refused", text=str(refused), command=""
            )

    def _signed_in(self, visit: ConsoleRequest, code: str, token: str) -> Response:
        cookie = self._sign_in.redeem(code, token)
        if cookie is None:
            return _refused("This link is over or was used before. A fresh one:", 403, "xs2a-sandbox console")
        return redirect(f"{visit.prefix}/_sandbox/", ("Set-Cookie", cookie), ("Cache-Control", "no-store"))

    async def _ask(self, visit: ConsoleRequest, method: str, path: str, body: Any = None) -> Any:
        """The answer of the control interface to who holds the token, in the visit's session. Raises Refused."""
        token = self._sandbox.guard.token
        headers = [("Authorization", f"Bearer {token}"), ("X-Sandbox-Session", visit.session)]
        sent = b"" if body is None else json.dumps(body).encode()
        response = await self._sandbox.control(Request(method, f"/_sandbox/{path}", Headers(headers), sent))
        value = json.loads(response.body or b"null")
        if response.status >= 400:
            raise Refused(response.status, value["error"], value["message"])
        return value

    def _page(self, visit: ConsoleRequest, template: str, nav: str, code: int = 200, **values: Any) -> Response:
        shared = {"nav": nav, "prefix": visit.prefix, "session": visit.session, "problem": ""}
        return show(template, {**shared, **values}, code)

    # -- traffic

    async def _traffic(self, visit: ConsoleRequest) -> Response:
        filters = {name: visit.query.get(name, "").strip() for name in (*_FILTERS, "text")}
        problem, exchanges = "", []
        try:
            exchanges = await self._exchanges(visit, filters, 0)
        except Refused as refused:
            problem = str(refused)
        newest = list(reversed(exchanges[-_SHOWN:]))
        return self._page(
            visit,
            "traffic.html",
            "Traffic",
            400 if problem else 200,
            problem=problem,
            exchanges=newest,
            found=len(exchanges),
            last=exchanges[-1]["number"] if exchanges else 0,
            filters=filters,
            query=urlencode({name: value for name, value in filters.items() if value}),
        )

    async def _exchanges(self, visit: ConsoleRequest, filters: Mapping[str, str], since: int) -> list[dict[str, Any]]:
        """The exchanges after that number that fit, oldest first. Raises Refused."""
        query = {name: value for name in _FILTERS if (value := filters.get(name))}
        if "method" in query:
            query["method"] = query["method"].upper()
        listed = await self._ask(visit, "GET", f"journal?{urlencode({**query, 'since': since, 'limit': 10_000})}")
        text = filters.get("text", "").lower()
        exchanges: list[dict[str, Any]] = listed["exchanges"]
        return [
            one
            for one in exchanges
            if not text or any(text in str(one[name] or "").lower() for name in ("target", "reason", "rule", "session"))
        ]

    async def _events(self, visit: ConsoleRequest) -> Response:
        text = visit.query.get("since", "")
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            raise Refused(400, "query-invalid", "since must be the number of an exchange")
        events = self._stream(visit, int(text))
        headers = (("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"))
        return Response(200, headers, b": live\n\n", rest=events)

    async def _stream(self, visit: ConsoleRequest, last: int) -> AsyncGenerator[bytes]:
        loop = asyncio.get_running_loop()
        end = loop.time() + _STREAM
        while loop.time() < end:
            exchanges = await self._exchanges(visit, visit.query, last)
            if len(exchanges) > _SHOWN:
                yield _event("reload", "", last)
                return
            if exchanges:
                last = exchanges[-1]["number"]
                yield _event("rows", render("rows.html", {"exchanges": exchanges, "prefix": visit.prefix}), last)
            await asyncio.sleep(_BATCH)
        yield _event("again", "", last)

    async def _exchange(self, visit: ConsoleRequest) -> Response:
        # What writes cases is only loaded once somebody looks: `serve` starts without it.
        from xs2a_sandbox.authoring import new_case
        from xs2a_sandbox.authoring.case_from_exchange import case_from

        number, done, problem = visit.names[1], "", ""
        plain = await self._ask(visit, "GET", f"journal/{quote(number, safe='')}?plain=true")
        one = plain
        if visit.query.get("plain") != "true":
            one = await self._ask(visit, "GET", f"journal/{number}")
        case, no_case = None, ""
        try:
            entry = journal_view.read(plain)
            case = yaml_text([case_from(entry, self._sandbox.banks.default.interface)])
            if visit.request.method == "POST":
                # It tries the examples of all cases: nobody else is to wait for that.
                file = await asyncio.to_thread(new_case.write_exchange, self._settings, entry)
                done = f"{file} is written and in use in a moment."
        except (UserMistake, OSError) as mistake:
            if case is None:
                no_case = str(mistake)
            else:
                problem = str(mistake)
        return self._page(
            visit,
            "exchange.html",
            "Traffic",
            409 if problem else 200,
            problem=problem,
            one=one,
            plain=one is plain,
            text=body_text,
            why=await self._why(visit, plain),
            curl=curl(one, self._base_url),
            case=case,
            no_case=no_case,
            done=done,
        )

    async def _why(self, visit: ConsoleRequest, exchange: Mapping[str, Any]) -> Any:
        """The explanation of the request as things are now; a text where there is none."""
        described: dict[str, Any] = {"method": exchange["method"], "url": exchange["origin"] + exchange["target"]}
        described["headers"] = {name: value for name, value in exchange["request"]["headers"] if name.lower() != "host"}
        if "body" in exchange["request"]:
            described["body"] = exchange["request"]["body"]
        if not exchange["target"].startswith(f"/{PREFIX}/"):
            described["session"] = exchange["session"]
        try:
            return await self._ask(visit, "POST", "explain", described)
        except Refused as refused:
            return str(refused)

    # -- bank

    async def _bank(self, visit: ConsoleRequest) -> Response:
        if visit.request.method == "POST":
            await self._ask(visit, "POST", "reset")
            return redirect(f"{visit.prefix}/_sandbox/console/bank")
        state = await self._ask(visit, "GET", "state")
        collections = [
            (title, name, [_row(name, id, document) for id, document in reversed(state[name].items())])
            for title, name in _COLLECTIONS
            if name in state
        ]
        return self._page(visit, "bank.html", "Bank", collections=collections)

    async def _document(self, visit: ConsoleRequest) -> Response:
        _, collection, id = visit.names
        path, problem = f"{quote(collection, safe='')}/{quote(id, safe='')}", ""
        if visit.request.method == "POST":
            event = visit.form.get("event", "")
            try:
                if collection == "authorisations":
                    await self._ask(visit, "POST", f"sca/{quote(id, safe='')}", {"decide": event})
                else:
                    await self._ask(visit, "POST", f"state/{path}", {"event": event})
                return redirect(f"{visit.prefix}/_sandbox/console/bank/{path}")
            except Refused as refused:
                problem = str(refused)
        document = await self._ask(visit, "GET", f"state/{path}")
        machine, status = _MACHINES.get(collection), _status(document)
        state = await self._ask(visit, "GET", "state/authorisations")
        return self._page(
            visit,
            "document.html",
            "Bank",
            409 if problem else 200,
            problem=problem,
            collection=collection,
            id=id,
            document=document,
            machine=machine.name if machine else "",
            states=machine.states if machine else (),
            status=status,
            events=_happenings(collection, machine, status) if machine else (),
            authorisations=[
                _row("authorisations", one, kept) for one, kept in state.items() if kept.get("resource") == id
            ],
            exchanges=[one async for one in self._about(visit, id)],
        )

    async def _about(self, visit: ConsoleRequest, id: str) -> AsyncIterator[dict[str, Any]]:
        """The exchanges that are about a resource, oldest first."""
        for one in (await self._ask(visit, "GET", "journal?limit=10000"))["exchanges"]:
            try:
                exchange = await self._ask(visit, "GET", f"journal/{one['number']}?plain=true")
            except Refused:
                continue  # it has gone meanwhile
            if mentions(exchange, id):
                yield one

    # -- time, rules, sessions

    async def _time(self, visit: ConsoleRequest) -> Response:
        problem = ""
        if visit.request.method == "POST":
            move, body = visit.form.get("move"), visit.form
            try:
                if move is not None:
                    await self._ask(visit, "POST", "clock", {"move": move})
                elif "real" in body:
                    await self._ask(visit, "PUT", "clock", {"real": True})
                else:
                    await self._ask(visit, "PUT", "clock", {"frozen": body.get("frozen", "")})
                return redirect(f"{visit.prefix}/_sandbox/console/time")
            except Refused as refused:
                problem = str(refused)
        clock, due = await self._ask(visit, "GET", "clock"), await self._ask(visit, "GET", "due")
        status = 400 if problem else 200
        return self._page(visit, "time.html", "Time", status, clock=clock, due=due["due"], problem=problem)

    async def _rules(self, visit: ConsoleRequest) -> Response:
        method, url, why, problem = visit.query.get("method") or "GET", visit.query.get("url", "").strip(), None, ""
        if url:
            try:
                why = await self._ask(visit, "POST", "explain", {"method": method, "url": url})
            except Refused as refused:
                problem = str(refused)
        status = await self._ask(visit, "GET", "status")
        listed = await self._ask(visit, "GET", "journal?limit=10000")
        hits: dict[str, int] = {}
        for one in listed["exchanges"]:
            hits[one["rule"]] = hits.get(one["rule"], 0) + 1
        banks = [
            {
                "name": bank.real.url or bank.interface.dialect,
                "entries": [_entry(entry, hits) for entry in _entries(bank.interface)],
            }
            for bank in self._sandbox.banks.all
        ]
        return self._page(
            visit,
            "rules.html",
            "Rules",
            400 if problem else 200,
            problems=status["problems"],
            banks=banks,
            method=method,
            url=url,
            why=why,
            problem=problem,
        )

    async def _sessions(self, visit: ConsoleRequest) -> Response:
        if (forgotten := visit.form.get("forget")) is not None and visit.request.method == "POST":
            await self._ask(visit, "DELETE", f"sessions/{quote(forgotten, safe='')}")
            return redirect(f"{visit.prefix}/_sandbox/console/sessions")
        problem = ""
        if name := visit.query.get("open"):
            if is_session_name(name):
                return redirect(f"/{PREFIX}/{name}/_sandbox/console/bank")
            problem = "Session names are 1 to 64 of the characters A-Z a-z 0-9 . _ -"
        listed = await self._ask(visit, "GET", "sessions")
        status = 400 if problem else 200
        return self._page(visit, "sessions.html", "Sessions", status, problem=problem, sessions=listed["sessions"])


def _refused(text: str, status: int, command: str = "") -> Response:
    values = {"nav": "", "problem": "", "heading": "The console is closed", "text": text, "command": command}
    return show("refused.html", values, status)


def _event(name: str, html: str, last: int) -> bytes:
    lines = "".join(f"data: {line}\n" for line in html.splitlines())
    return f"event: {name}\nid: {last}\n{lines or 'data:\n'}\n".encode()


def _status(document: Mapping[str, Any]) -> str:
    names = ("scaStatus", "consentStatus", "transactionStatus", "role")
    return next((str(document[name]) for name in names if document.get(name)), "")


def _row(collection: str, id: str, document: Any) -> dict[str, str]:
    """An entry of a list: what somebody knows a document by."""
    members = document if isinstance(document, dict) else {}
    return {"id": id, "status": _status(members), "what": ", ".join(_words(collection, members))}


def _words(collection: str, document: Mapping[str, Any]) -> Iterator[str]:
    if collection == "consents":
        yield from (str(account) for account in document.get("accounts", ()))
        if until := document.get("validUntil"):
            yield f"until {until}"
    elif collection == "authorisations":
        yield from (str(document[name]) for name in ("family", "resource", "approach", "psuId") if document.get(name))
    else:
        yield from (str(document[name]) for name in ("name", "product", "creditorName") if document.get(name))
    amounts = [document.get("instructedAmount"), *(b.get("balanceAmount") for b in document.get("balances", ())[:1])]
    yield from (f"{amount['amount']} {amount['currency']}" for amount in amounts if isinstance(amount, dict))


def _happenings(collection: str, machine: Machine, status: str) -> list[tuple[str, str]]:
    """The events that can happen to a document from here on, each with the state that it leads to."""
    if collection == "authorisations":
        return [] if status in machine.final else list(_DECISIONS)
    return [(t.event, t.to) for t in machine.transitions if status in t.states]


def _entries(interface: Interface) -> Iterator[Rule | Operation]:
    yield from interface.rules
    yield from interface.operations.values()


def _entry(entry: Rule | Operation, hits: Mapping[str, int]) -> dict[str, Any]:
    if isinstance(entry, Operation):
        of = f"{entry.method} {entry.pattern.text}"
    else:
        of = entry.operation or f"{' '.join(sorted(entry.methods))} {entry.pattern.text if entry.pattern else ''}"
    written = entry.origin.written
    doc = written.get("doc", "") if isinstance(written, dict) else ""
    return {"id": entry.id, "of": of, "doc": doc, "place": entry.origin.place, "hits": hits.get(entry.id, 0)}
