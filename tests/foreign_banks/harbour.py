"""Harbour, a bank with an interface of its own: customers grant agreements, and an app proposes orders.

- POST `/auth/tickets`, a form with the app's name and secret, gives a ticket for 20 minutes: `Authorization: Ticket …`.
  Every request under `/api` also sends `Harbour-Version: 2026-02`.
- Errors are application/problem+json with a type such as `urn:harbour:problem:too-late`; `invalid` lists wrong fields.
- Agreements have numbers, an ETag and links in a list. Changes are PATCHes with If-Match: 428 without it, 412 when old.
- An agreement is a draft, confirmed by the customer, active, declined, ended or expired. The customer's browser returns
  with a `proof`. The app sends it in a PATCH with the phase "active". At most two drafts may be open.
- A closed agreement can be deleted: 204, and 410 from then on. Another app's agreement gives 404.
- Accounts are holdings with numbers, under the agreement. The customer ticks them on the page after signing in.
- Amounts are integers in pence. Movements have a direction, oldest first. Lists have cursors: `after` and `next`.
- Days are ISO dates, `since` inclusive and `before` exclusive. Times are RFC 3339 in UTC.
- The app chooses the key of an order and PUTs it: 201, 200 if it is repeated, 409 if the same key has another body.
- An order is proposed, confirmed, approved (by PATCH with the proof), sent after 30 seconds, settled after 2 minutes,
  declined or cancelled. Until it is sent it can be cancelled by PATCH. Money is held from the approval.
- An order above 2500 pounds gives 403, one without cover 402, and an account number with a wrong check digit 422.
"""

import base64
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond, show

SCOPES = ("holdings", "positions", "movements", "orders")
APPS = {"ledgerly": "wet-anchor", "pennywise": "dry-dock"}
SHOPS = "Tide & Co|Cornish Bakery|Quay Garage|Seagull Books|Mainsail Energy|Gullside Council".split("|")


@dataclass
class Holding:
    number: int
    name: str
    account: str
    pence: int
    movements: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Thing:
    """An agreement or an order, which the customer confirms at `code`."""

    app: str
    path: str
    code: str
    phase: str
    document: dict[str, Any]
    return_to: str
    version: int = 1
    proof: str = ""
    holder: str = ""
    holdings: list[Holding] = field(default_factory=list)
    approved: datetime | None = None
    is_gone: bool = False

    def become(self, phase: str) -> None:
        self.phase, self.version = phase, self.version + 1


class Problem(Exception):
    def __init__(self, status: int, kind: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail, self.more = status, kind, detail, more


def is_account(number: Any) -> bool:
    """Whether the weighted digits of an account number add up to a multiple of 11."""
    if not isinstance(number, str) or not re.fullmatch(r"\d{8}", number):
        return False
    return sum(int(digit) * weight for digit, weight in zip(number, range(8, 0, -1), strict=True)) % 11 == 0


def write_time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


class Harbour:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"harbour {seed}")
        self._number = self._random.randrange(20_000, 60_000)
        self._numbers = self._random.sample(range(100, 1000), 5)
        self._tickets: dict[str, tuple[str, datetime]] = {}
        self._agreements: dict[str, Thing] = {}
        self._orders: dict[str, Thing] = {}
        self._sessions: dict[str, str] = {}
        self._people = {
            "morwenna": (
                "kittiwake",
                [self._open("Everyday", "20411006", 184_322), self._open("Boat", "20411014", 9_050)],
            ),
            "jago": (
                "spindrift",
                [
                    self._open("Main", "31760007", 402_175),
                    self._open("Bills", "31760015", 61_200),
                    self._open("Rainy day", "31760023", 1_500_000),
                ],
            ),
        }
        one = "/api/agreements/{number}"
        self._routes = Routes(
            ("POST", "/auth/tickets", self._give_ticket),
            ("POST", "/api/agreements", self._draft),
            ("GET", one, lambda request, number: self._said(200, self._agreement(request, number))),
            ("PATCH", one, lambda request, number: self._change(request, self._agreement(request, number))),
            ("DELETE", one, self._delete),
            ("GET", one + "/holdings", self._list_holdings),
            ("GET", one + "/holdings/{holding}", self._holding),
            ("GET", one + "/holdings/{holding}/position", self._position),
            ("GET", one + "/holdings/{holding}/movements", self._list_movements),
            ("GET", one + "/orders", self._list_orders),
            ("PUT", "/api/orders/{key}", self._propose),
            ("GET", "/api/orders/{key}", lambda request, key: self._said(200, self._order(request, key))),
            ("PATCH", "/api/orders/{key}", lambda request, key: self._change(request, self._order(request, key))),
            ("GET", "/confirm/{code}", self._page),
            ("POST", "/confirm/{code}", self._decide),
        )

    def answer(self, request: Request) -> Response:
        for order in self._orders.values():
            self._advance(order)
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            if request.path.startswith("/api/"):
                self._check_headers(request)
            return handler(request, **parameters)
        except NoRoute as wrong:
            status = 405 if wrong.allowed else 404
            problem = Problem(status, "no-such-thing", "There is nothing here.")
            headers = {"Allow": ", ".join(wrong.allowed)} if wrong.allowed else {}
        except Problem as error:
            problem, headers = error, {"WWW-Authenticate": "Ticket"} if error.status == 401 else {}
        document: dict[str, Any] = {
            "type": f"urn:harbour:problem:{problem.kind}",
            "title": problem.kind.replace("-", " ").capitalize(),
        }
        document |= {"status": problem.status, "detail": problem.detail, "instance": request.path, **problem.more}
        return respond(problem.status, document, headers, media="application/problem+json")

    def _word(self, length: int) -> str:
        return "".join(self._random.choices("abcdefghijkmnpqrstuvwxyz0123456789", k=length))

    def _open(self, name: str, account: str, pence: int) -> Holding:
        holding = Holding(self._numbers.pop(), name, account, pence)
        for days in sorted(self._random.sample(range(1, 90), 31), reverse=True):
            change = self._random.choice((-1, -1, 1)) * self._random.randrange(99, 9_000)
            self._move(holding, self.clock.today - timedelta(days=days), change, self._random.choice(SHOPS), "Card")
        return holding

    def _move(self, holding: Holding, day: date, change: int, who: str, memo: str) -> None:
        row = {"number": self._random.randrange(10**9, 10**10), "on": day.isoformat(), "minor": abs(change)}
        holding.movements.append(row | {"direction": "in" if change > 0 else "out", "who": who, "memo": memo})

    def _check_headers(self, request: Request) -> None:
        scheme, _, ticket = request.headers.get("authorization", "").partition(" ")
        if scheme != "Ticket" or ticket not in self._tickets:
            raise Problem(401, "no-ticket", "Send Authorization: Ticket and a ticket from /auth/tickets.")
        if self._tickets[ticket][1] <= self.clock.now:
            raise Problem(401, "ticket-ended", "The ticket has ended. Ask for a new one.")
        if (version := request.headers.get("harbour-version")) != "2026-02":
            status, kind = (406, "other-version") if version else (400, "no-version")
            raise Problem(status, kind, "Send Harbour-Version: 2026-02.", versions=["2026-02"])

    def _app(self, request: Request) -> str:
        return self._tickets[request.headers["authorization"].partition(" ")[2]][0]

    def _give_ticket(self, request: Request) -> Response:
        if request.headers.get("content-type") != "application/x-www-form-urlencoded":
            raise Problem(415, "not-a-form", "Send a form.")
        if not (name := request.field("client_name")) or APPS.get(name) != request.field("client_secret"):
            raise Problem(401, "bad-client", "The name or the secret is wrong.")
        ticket, ends = self._word(40), self.clock.now + timedelta(minutes=20)
        self._tickets[ticket] = name, ends
        return respond(201, {"ticket": ticket, "ends": write_time(ends)}, {"Cache-Control": "no-store"})

    def _document(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Problem(400, "unreadable", "The body is not a JSON object.") from None

    def _said(self, status: int, thing: Thing, **headers: str) -> Response:
        kind = "agreement" if thing.path.startswith("/api/agreements") else "order"
        links = [{"rel": "self", "href": thing.path}]
        if thing.phase in ("draft", "proposed"):
            links.append({"rel": "customer", "href": f"/confirm/{thing.code}"})
        if thing.phase == "active":
            links += [{"rel": name, "href": f"{thing.path}/{name}"} for name in ("holdings", "orders")]
        document = {kind: {**thing.document, "phase": thing.phase, "holder": thing.holder or None}, "links": links}
        return respond(status, document, {"ETag": f'"v{thing.version}"', **headers})

    def _page_of(self, request: Request, name: str, rows: Sequence[Any]) -> Response:
        limit, start = request.query.get("limit", "10"), 0
        if not limit.isdecimal() or not 1 <= int(limit) <= 25:
            raise Problem(400, "bad-limit", "A page has 1 to 25 rows.", most=25)
        if after := request.query.get("after"):
            try:
                path, _, place = base64.urlsafe_b64decode(after).decode().rpartition("#")
                start = int(place)
            except ValueError:
                path = ""
            if path != request.path:
                raise Problem(400, "bad-cursor", "The cursor is not from this list.")
        end = start + int(limit)
        more = base64.urlsafe_b64encode(f"{request.path}#{end}".encode()).decode() if end < len(rows) else None
        return respond(200, {name: rows[start:end], "next": more})

    def _draft(self, request: Request) -> Response:
        document, app = self._document(request), self._app(request)
        invalid = []
        if not 3 <= len(str(document.get("purpose", ""))) <= 60:
            invalid.append({"field": "purpose", "reason": "has 3 to 60 characters"})
        scope = document.get("scope")
        if not isinstance(scope, list) or not scope or not all(one in SCOPES for one in scope):
            invalid.append({"field": "scope", "reason": "is a list of " + ", ".join(SCOPES)})
        try:
            until = datetime.strptime(document.get("until", ""), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
            is_near = self.clock.now < until <= self.clock.now + timedelta(days=180)
        except (TypeError, ValueError):
            is_near = False
        if not is_near:
            invalid.append({"field": "until", "reason": "is a time in UTC in the next 180 days"})
        if not str(document.get("return_to", "")).startswith("https://"):
            invalid.append({"field": "return_to", "reason": "begins with https://"})
        if invalid:
            raise Problem(422, "invalid", "Some fields are wrong.", invalid=invalid)
        if sum(one.app == app and one.phase == "draft" for one in self._agreements.values()) >= 2:
            raise Problem(429, "too-many-drafts", "Two drafts are open. End one first.")
        self._number += 7
        shown = {"number": self._number, **{name: document[name] for name in ("purpose", "scope", "until")}}
        shown["made"] = write_time(self.clock.now)
        path = f"/api/agreements/{self._number}"
        thing = Thing(app, path, self._word(16), "draft", shown, document["return_to"])
        self._agreements[str(self._number)] = thing
        return self._said(201, thing, Location=path)

    def _agreement(self, request: Request, number: str) -> Thing:
        thing = self._agreements.get(number)
        if not thing or thing.app != self._app(request):
            raise Problem(404, "unknown-agreement", f"There is no agreement {number}.")
        if thing.is_gone:
            raise Problem(410, "gone", f"Agreement {number} was deleted.")
        if thing.phase in ("draft", "confirmed", "active") and thing.document["until"] <= write_time(self.clock.now):
            thing.become("expired")
        return thing

    def _change(self, request: Request, thing: Thing) -> Response:
        document = self._document(request)
        if "if-match" not in request.headers:
            raise Problem(428, "no-if-match", "Send If-Match with the ETag.")
        if request.headers["if-match"] != f'"v{thing.version}"':
            raise Problem(412, "changed", "The ETag is an old one.")
        phase = document.get("phase")
        is_order = thing.path.startswith("/api/orders")
        goal, closed = ("approved", "cancelled") if is_order else ("active", "ended")
        if phase not in (goal, closed):
            raise Problem(
                422,
                "invalid",
                "Some fields are wrong.",
                invalid=[{"field": "phase", "reason": f"is {goal} or {closed}"}],
            )
        if phase == closed:
            if thing.phase in ("sent", "settled"):
                raise Problem(409, "too-late", f"The order is {thing.phase}.", phase=thing.phase)
            if thing.phase not in ("draft", "proposed", "confirmed", "active", "approved"):
                raise Problem(409, "wrong-phase", f"It is {thing.phase} already.", phase=thing.phase)
        elif thing.phase != "confirmed":
            raise Problem(409, "wrong-phase", f"It is {thing.phase}, not confirmed.", phase=thing.phase)
        elif document.get("proof") != thing.proof:
            raise Problem(403, "wrong-proof", "The proof is not the one from the customer's return.")
        elif is_order:
            thing.approved = self.clock.now
        thing.become(phase)
        return self._said(200, thing)

    def _delete(self, request: Request, number: str) -> Response:
        thing = self._agreement(request, number)
        if thing.phase not in ("ended", "expired", "declined"):
            raise Problem(409, "wrong-phase", f"It is {thing.phase}. End it first.", phase=thing.phase)
        thing.is_gone = True
        return Response(204)

    def _active(self, request: Request, number: str, scope: str) -> Thing:
        thing = self._agreement(request, number)
        if thing.phase != "active":
            raise Problem(403, "not-active", f"The agreement is {thing.phase}.", phase=thing.phase)
        if scope not in thing.document["scope"]:
            raise Problem(403, "outside-scope", f"The agreement does not include {scope}.", missing=scope)
        return thing

    def _find(self, request: Request, number: str, holding: str, scope: str) -> Holding:
        for one in self._active(request, number, scope).holdings:
            if str(one.number) == holding:
                return one
        raise Problem(404, "unknown-holding", f"The agreement has no holding {holding}.")

    def _show(self, holding: Holding) -> dict[str, Any]:
        shown = {"number": holding.number, "name": holding.name, "sort": "60-17-21"}
        return shown | {"account": holding.account, "currency": "GBP"}

    def _list_holdings(self, request: Request, number: str) -> Response:
        rows = [self._show(one) for one in self._active(request, number, "holdings").holdings]
        return self._page_of(request, "holdings", rows)

    def _holding(self, request: Request, number: str, holding: str) -> Response:
        return respond(200, {"holding": self._show(self._find(request, number, holding, "holdings"))})

    def _held(self, holding: Holding) -> int:
        orders = [one for one in self._orders.values() if one.phase in ("approved", "sent")]
        return sum(int(one.document["minor"]) for one in orders if one.holdings == [holding])

    def _position(self, request: Request, number: str, holding: str) -> Response:
        found = self._find(request, number, holding, "positions")
        position = {"cleared": found.pence, "pending": -self._held(found), "scale": 2, "currency": "GBP"}
        return respond(200, {"position": position | {"at": write_time(self.clock.now)}})

    def _list_movements(self, request: Request, number: str, holding: str) -> Response:
        found = self._find(request, number, holding, "movements")
        since, before = request.query.get("since", "2000-01-01"), request.query.get("before", "2999-01-01")
        if not all(re.fullmatch(r"\d{4}-[01]\d-[0-3]\d", day) for day in (since, before)) or since >= before:
            raise Problem(400, "bad-period", "since and before are ISO dates in this order.")
        rows = [row for row in found.movements if since <= row["on"] < before]
        return self._page_of(request, "movements", rows)

    def _list_orders(self, request: Request, number: str) -> Response:
        self._active(request, number, "orders")
        rows = [one for one in self._orders.values() if str(one.document["agreement"]) == number]
        return self._page_of(request, "orders", [{"key": one.document["key"], "phase": one.phase} for one in rows])

    def _propose(self, request: Request, key: str) -> Response:
        document = self._document(request)
        if key in self._orders:
            if self._orders[key].document != {**document, "key": key}:
                raise Problem(409, "key-reused", "Another order has this key.")
            return self._said(200, self._orders[key])
        agreement = self._active(request, str(document.get("agreement", "")), "orders")
        holding = self._find(request, str(document["agreement"]), str(document.get("from", "")), "orders")
        minor, to = document.get("minor"), document.get("to")
        invalid = []
        if not isinstance(minor, int) or minor <= 0:
            invalid.append({"field": "minor", "reason": "is a number of pence above 0"})
        if not isinstance(to, dict) or not to.get("name") or not re.fullmatch(r"(\d\d-){2}\d\d", to.get("sort", "")):
            invalid.append({"field": "to", "reason": "has a name, a sort code and an account"})
        elif not is_account(to.get("account")):
            invalid.append({"field": "to.account", "reason": "has a wrong check digit"})
        if invalid or not isinstance(minor, int):
            raise Problem(422, "invalid", "Some fields are wrong.", invalid=invalid)
        if minor > 250_000:
            raise Problem(403, "over-limit", "An order is limited to 2500 pounds.", limit=250_000)
        if minor > holding.pence - self._held(holding):
            raise Problem(402, "no-cover", "The holding does not cover the order.")
        shown, path = {**document, "key": key}, f"/api/orders/{key}"
        order = Thing(agreement.app, path, self._word(16), "proposed", shown, agreement.return_to, holdings=[holding])
        self._orders[key] = order
        return self._said(201, order, Location=path)

    def _order(self, request: Request, key: str) -> Thing:
        order = self._orders.get(key)
        if not order or order.app != self._app(request):
            raise Problem(404, "unknown-order", f"There is no order {key}.")
        return order

    def _advance(self, order: Thing) -> None:
        passed = self.clock.now - order.approved if order.approved else timedelta()
        if order.phase == "approved" and passed >= timedelta(seconds=30):
            order.become("sent")
        if order.phase == "sent" and passed >= timedelta(seconds=120):
            order.become("settled")
            payer, to, minor = order.holdings[0], order.document["to"], int(order.document["minor"])
            memo = str(order.document.get("memo", ""))
            payer.pence -= minor
            self._move(payer, self.clock.today, -minor, to["name"], memo)
            for payee in (one for _, holdings in self._people.values() for one in holdings):
                if (to["sort"], to["account"]) == ("60-17-21", payee.account):
                    payee.pence += minor
                    self._move(payee, self.clock.today, minor, order.holder, memo)

    def _open_thing(self, code: str) -> Thing | None:
        things = (*self._agreements.values(), *self._orders.values())
        return next((one for one in things if one.code == code and one.phase in ("draft", "proposed")), None)

    def _page(self, request: Request, code: str, hint: str = "", status: int = 200) -> Response:
        if not self._open_thing(code):
            return show(404, "Harbour", "<p>This link has been used, or never was one.</p>")
        fields = '<input name="who"><input name="word" type="password">'
        return show(status, "Sign in", f'<p>{hint}</p><form method="post">{fields}<button>Next</button></form>')

    def _decide(self, request: Request, code: str) -> Response:
        thing, session = self._open_thing(code), request.field("session")
        if not thing:
            return self._page(request, code)
        if session not in self._sessions:
            who = request.field("who")
            if who not in self._people or self._people[who][0] != request.field("word"):
                return self._page(request, code, "We do not know you.", 403)
            session = self._word(20)
            self._sessions[session] = who
            boxes = [f'<input type="hidden" name="session" value="{session}">']
            if thing.phase == "draft":
                rows = self._people[who][1]
                boxes += [f'<input type="checkbox" name="holding" value="{one.number}"> {one.name}' for one in rows]
            buttons = "".join(f'<button name="decision" value="{word}">{word}</button>' for word in ("yes", "no"))
            return show(200, f"Hello {who.capitalize()}", f'<form method="post">{"".join(boxes)}{buttons}</form>')
        who = self._sessions[session]
        own = self._people[who][1]
        ticked = [one for one in own if str(one.number) in request.form.get("holding", [])] or thing.holdings
        is_yes = request.field("decision") == "yes"
        if is_yes and (not ticked or any(one not in own for one in ticked)):
            return show(400, "Harbour", "<p>Tick a holding of yours, and go back.</p>")
        thing.holder, thing.holdings, thing.proof = who.capitalize(), ticked, self._word(12)
        thing.become("confirmed" if is_yes else "declined")
        query = f"proof={thing.proof}" if is_yes else "declined=1"
        return Response(302, "", {"Location": f"{thing.return_to}?{query}"})
