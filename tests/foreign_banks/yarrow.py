"""Yarrow, a British app bank for developers: an app has connections to a customer's accounts, and makes payments.

- POST `/oauth2/token`, a form with HTTP Basic, gives an app token for 45 minutes. It needs no version.
- All other calls send `Yarrow-Version: 2026-03-01` (checked first) and the token. Answers repeat the version and bring
  a new Yarrow-Trace.
- Errors are `{"problem": {"code", "message", "trace", "details": [{"where": {"part", "path"}, "rule", "given"}]}}`.
- POST `/connections` with `access`, `lifetime.days` (1 to 90), `redirect_uri` and `passthrough`: 201. Its phase is
  fresh, then live or spurned, and paused, live again or ended by PATCH with the phase, or faded from `ends_at`.
- `hosted_page.url` is the customer's page, open for 20 minutes: POST `…/login` with username and password shows the
  accounts as checkboxes (401 and the form again if they are wrong), POST `…/choice` with the page's ticket, the
  account_ids and `answer` (allow or deny) redirects with 302 to the app. A page that is used or too old gives 410.
- `/connections/{id}/accounts`, `…/{account}/balances` and `…/{account}/activity` need a live connection, the access
  and, for one account, that the customer picked it; otherwise 403, 403 and 404.
- Lists are `{"items", "has_more", "after"}`, where `after` is the last id, if there is more; `limit` is 20 unless told.
- Amounts are `{"minor": 1250, "currency": "GBP"}`, always positive in activity, which has a `direction`.
- POST `/payments` needs an Idempotency-Key: 202 and phase screening, for ten seconds. Then it is blocked, with a
  reason, if the money is short, or needs_approval with a hosted page (no checkboxes), then approved or spurned.
  Approved money is no longer spendable. After 90 seconds it is moving, after 8 minutes settled and off the ledger.
- POST `/payments/{id}/actions` with type cancel: 202 and an action that is working for 30 seconds, while the payment
  is cancelling, then done and the payment cancelled. Once it is moving, or final, that gives 409.
"""

import base64
import binascii
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond, show

VERSION = "2026-03-01"
ACCESS = ("accounts.read", "balances.read", "activity.read")
APPS = {"app_plumtree": ("sk_9f1c77ab", "Plumtree"), "app_ledgerly": ("sk_40d2e8c1", "Ledgerly")}
SHOPS = "Bramble & Oat|Tideway Trains|Northgate Gym|Pennine Power|Kettle Yard Coffee|Hollis Hardware|Larkfield Vets"


class Problem(Exception):
    """Each detail is the part of the request, the path in it, the rule that it breaks, and what was given."""

    def __init__(self, status: int, code: str, *details: tuple[str, str, str, Any]) -> None:
        super().__init__(code)
        self.status, self.code, self.message = status, code, f"{code.replace('_', ' ').capitalize()}."
        keys = ("rule", "given")
        self.details = [{"where": {"part": d[0], "path": d[1]}, **dict(zip(keys, d[2:], strict=True))} for d in details]


class Closed(Exception):
    def __init__(self, page: Response) -> None:
        super().__init__()
        self.page = page


def missing(request: Request) -> Problem:
    return Problem(404, "no_such_resource", ("path", request.path, "exists", None))


@dataclass
class Account:
    id: str
    label: str
    kind: str
    number: str
    ledger: int
    activity: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    username: str
    password: str
    accounts: Sequence[Account]


@dataclass
class Hosted:
    """A customer's page about a connection or a payment."""

    slug: str
    until: datetime
    redirect_uri: str
    passthrough: str
    tickets: dict[str, Customer] = field(default_factory=dict)


@dataclass
class Connection:
    id: str
    app: str
    access: list[str]
    created: datetime
    ends: datetime
    hosted: Hosted
    phase: str = "fresh"
    accounts: list[Account] = field(default_factory=list)
    is_open_to_customer = property(lambda self: self.phase == "fresh")


@dataclass
class Payment:
    id: str
    app: str
    document: dict[str, Any]
    account: Account
    created: datetime
    hosted: Hosted
    phase: str = "screening"
    reason: dict[str, str] | None = None
    approved: datetime | None = None
    is_open_to_customer = property(lambda self: self.phase == "needs_approval")

    @property
    def minor(self) -> int:
        return int(self.document["amount"]["minor"])


@dataclass
class Action:
    id: str
    payment: Payment
    created: datetime
    phase: str = "working"


def write_time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def pounds(minor: int) -> dict[str, Any]:
    return {"minor": minor, "currency": "GBP"}


class Yarrow:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"yarrow {seed}")
        self._tokens: dict[str, tuple[str, datetime]] = {}
        self._connections: dict[str, Connection] = {}
        self._payments: dict[str, Payment] = {}
        self._actions: dict[str, Action] = {}
        self._keys: dict[tuple[str, str], tuple[dict[str, Any], Payment]] = {}
        pot, bills = self._open("Rainy day pot", "pot", 83_500), self._open("Bills", "current", 60_215)
        main, spending = self._open("Main", "current", 241_870), self._open("Spending", "current", 129_904)
        studio = self._open("Studio business", "business", 1_876_340)
        self._customers = [
            Customer("imogen.hale", "copper-kettle-9", [main, pot, bills]),
            Customer("tobias.wren", "Harbour!1987", [spending, studio]),
        ]
        connection, payment = "/connections/{id}", "/payments/{id}"
        accounts = connection + "/accounts"
        self._routes = Routes(
            ("POST", "/oauth2/token", self._give_token),
            ("POST", "/connections", self._connect),
            ("GET", connection, lambda request, id: self._tell_connection(200, self._connection(request, id))),
            ("PATCH", connection, self._change),
            ("GET", accounts, self._list_accounts),
            ("GET", accounts + "/{account}/balances", self._balances),
            ("GET", accounts + "/{account}/activity", self._list_activity),
            ("POST", "/payments", self._pay),
            ("GET", payment, lambda request, id: self._tell_payment(200, self._payment(request, id))),
            ("POST", payment + "/actions", self._act),
            ("GET", payment + "/actions/{action}", self._look_action),
            ("GET", "/hosted/{slug}", self._page),
            ("POST", "/hosted/{slug}/login", self._login),
            ("POST", "/hosted/{slug}/choice", self._choose),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        trace = self._id("trc", 18)
        told = {"Yarrow-Trace": trace}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            if request.path.startswith(("/connections", "/payments")):
                version = self._header(request, "Yarrow-Version")
                if version != VERSION:
                    raise Problem(400, "version_unknown", ("header", "Yarrow-Version", "known_version", version))
                told["Yarrow-Version"] = version
            response = handler(request, **parameters)
            return Response(response.status, response.content, {**response.headers, **told})
        except NoRoute as wrong:
            if wrong.allowed:
                problem = Problem(405, "method_unsupported")
                told["Allow"] = ", ".join(wrong.allowed)
            else:
                problem = missing(request)
        except Closed as closed:
            return closed.page
        except Problem as error:
            problem = error
        document = {"code": problem.code, "message": problem.message, "trace": trace, "details": problem.details}
        return respond(problem.status, {"problem": document}, told)

    def _word(self, length: int) -> str:
        return "".join(self._random.choices("0123456789abcdefghjkmnpqrstvwxyz", k=length))

    def _id(self, prefix: str, length: int = 14) -> str:
        return f"{prefix}_{self._word(length)}"

    def _open(self, label: str, kind: str, ledger: int) -> Account:
        number = "".join(self._random.choices("0123456789", k=8))
        account = Account(self._id("acc", 12), label, kind, number, ledger)
        for days in sorted(self._random.choices(range(1, 80), k=46), reverse=True):
            direction = self._random.choice(("out", "out", "out", "in"))
            day, shop = self.clock.today - timedelta(days=days), self._random.choice(SHOPS.split("|"))
            memo = "Refund" if direction == "in" else "Card payment"
            self._book(account, day, direction, self._random.randrange(95, 9_800), shop, memo, "card")
        return account

    def _book(
        self, account: Account, day: date, direction: str, minor: int, name: str, memo: str, category: str
    ) -> None:
        entry = {"id": self._id("txn", 16), "booked_on": day.isoformat(), "direction": direction}
        more = {"amount": pounds(minor), "counterparty": {"name": name}, "memo": memo, "category": category}
        account.activity.insert(0, entry | more)

    def _advance(self) -> None:
        now = self.clock.now
        for connection in self._connections.values():
            if connection.phase in ("fresh", "live", "paused") and connection.ends <= now:
                connection.phase = "faded"
        for payment in self._payments.values():
            if payment.phase == "screening" and now - payment.created >= timedelta(seconds=10):
                if payment.minor > self._spendable(payment.account):
                    payment.phase = "blocked"
                    payment.reason = {"code": "not_enough_money", "text": "The account cannot cover this payment."}
                else:
                    payment.phase = "needs_approval"
                    payment.hosted.until = payment.created + timedelta(seconds=10, minutes=20)
            passed = now - payment.approved if payment.approved else timedelta()
            if payment.phase == "approved" and passed >= timedelta(seconds=90):
                payment.phase = "moving"
            if payment.phase == "moving" and passed >= timedelta(minutes=8):
                payment.phase = "settled"
                payment.account.ledger -= payment.minor
                name, memo = payment.document["payee"]["name"], payment.document["memo"]
                self._book(payment.account, self.clock.today, "out", payment.minor, name, memo, "transfer")
        for action in self._actions.values():
            if action.phase == "working" and now - action.created >= timedelta(seconds=30):
                action.phase, action.payment.phase = "done", "cancelled"

    def _give_token(self, request: Request) -> Response:
        scheme, _, coded = request.headers.get("authorization", "").partition(" ")
        try:
            app, _, secret = base64.b64decode(coded).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            app = secret = ""
        if scheme != "Basic" or app not in APPS or APPS[app][0] != secret:
            raise Problem(401, "app_unknown", ("header", "Authorization", "known_app", None))
        grant = request.field("grant_type")
        if grant != "client_credentials":
            raise Problem(400, "grant_unsupported", ("form", "grant_type", "client_credentials", grant))
        token = self._id("yat", 40)
        self._tokens[token] = app, self.clock.now + timedelta(minutes=45)
        return respond(200, {"access_token": token, "token_type": "Bearer", "expires_in": 2700})

    def _app(self, request: Request) -> str:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        app, ends = self._tokens.get(token, ("", self.clock.now))
        if scheme != "Bearer" or ends <= self.clock.now:
            raise Problem(401, "token_rejected", ("header", "Authorization", "current_token", None))
        return app

    def _header(self, request: Request, name: str) -> str:
        if not (value := request.headers.get(name.lower())):
            raise Problem(400, "header_required", ("header", name, "present", None))
        return value

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Problem(400, "body_unreadable", ("body", "", "json_object", None)) from None

    def _check(self, body: dict[str, Any], *rules: tuple[str, str, bool]) -> None:
        """Each rule is a path, its name, and whether it is kept."""
        wrong = []
        for path, rule, is_kept in rules:
            given: Any = body
            for name in path.split("."):
                given = given.get(name) if isinstance(given, dict) else None
            if not is_kept:
                wrong.append(("body", path, "present" if given is None else rule, given))
        if wrong:
            raise Problem(422, "invalid_body", *wrong)

    def _return_rules(self, body: dict[str, Any]) -> list[tuple[str, str, bool]]:
        uri, passthrough = body.get("redirect_uri"), body.get("passthrough")
        return [
            ("redirect_uri", "https_uri", isinstance(uri, str) and uri.startswith("https://")),
            ("passthrough", "short_word", bool(re.fullmatch(r"\w{1,64}", str(passthrough)))),
        ]

    def _host(self, body: dict[str, Any]) -> Hosted:
        until = self.clock.now + timedelta(minutes=20)
        return Hosted(self._word(20), until, body["redirect_uri"], body["passthrough"])

    def _tell_hosted(self, thing: Connection | Payment) -> dict[str, str] | None:
        if not thing.is_open_to_customer:
            return None
        return {"url": f"/hosted/{thing.hosted.slug}", "valid_until": write_time(thing.hosted.until)}

    def _tell_connection(self, status: int, connection: Connection) -> Response:
        document = {"id": connection.id, "object": "connection", "phase": connection.phase}
        document |= {"access": connection.access, "account_ids": [one.id for one in connection.accounts]}
        document |= {"created_at": write_time(connection.created), "ends_at": write_time(connection.ends)}
        return respond(status, document | {"hosted_page": self._tell_hosted(connection)})

    def _connect(self, request: Request) -> Response:
        app, body = self._app(request), self._body(request)
        access, lifetime = body.get("access"), body.get("lifetime")
        days = lifetime.get("days") if isinstance(lifetime, dict) else None
        self._check(
            body,
            ("access", "known_access", isinstance(access, list) and bool(access) and all(x in ACCESS for x in access)),
            ("lifetime.days", "from_1_to_90", type(days) is int and 1 <= days <= 90),
            *self._return_rules(body),
        )
        now, hosted = self.clock.now, self._host(body)
        connection = Connection(self._id("cnx"), app, body["access"], now, now + timedelta(days=days or 0), hosted)
        self._connections[connection.id] = connection
        return self._tell_connection(201, connection)

    def _connection(self, request: Request, id: str) -> Connection:
        app, connection = self._app(request), self._connections.get(id)
        if not connection or connection.app != app:
            raise missing(request)
        return connection

    def _change(self, request: Request, id: str) -> Response:
        connection, body = self._connection(request, id), self._body(request)
        phase = body.get("phase")
        self._check(body, ("phase", "one_of_live_paused_ended", phase in ("live", "paused", "ended")))
        before = {"live": ("paused",), "paused": ("live",), "ended": ("fresh", "live", "paused")}[str(phase)]
        if connection.phase not in before:
            raise Problem(409, "phase_conflict", ("connection", "phase", f"may_become_{phase}", connection.phase))
        connection.phase = str(phase)
        return self._tell_connection(200, connection)

    def _shared(self, request: Request, id: str, access: str) -> list[Account]:
        connection = self._connection(request, id)
        if connection.phase != "live":
            raise Problem(403, "connection_not_live", ("connection", "phase", "live", connection.phase))
        if access not in connection.access:
            raise Problem(403, "access_missing", ("connection", "access", f"has_{access}", connection.access))
        return connection.accounts

    def _find(self, request: Request, id: str, account: str, access: str) -> Account:
        for one in self._shared(request, id, access):
            if one.id == account:
                return one
        raise Problem(404, "no_such_account", ("path", "account_id", "picked_by_customer", account))

    def _show(self, account: Account) -> dict[str, Any]:
        shown = {"id": account.id, "object": "account", "label": account.label, "kind": account.kind, "currency": "GBP"}
        return shown | {"routing": {"sort_code": "60-84-11", "account_number": account.number}}

    def _tell_list(self, request: Request, rows: Sequence[dict[str, Any]]) -> Response:
        limit, after, start = request.query.get("limit", "20"), request.query.get("after"), 0
        if not limit.isdecimal() or not 1 <= int(limit) <= 50:
            raise Problem(400, "invalid_query", ("query", "limit", "from_1_to_50", limit))
        if after:
            start = next((place for place, row in enumerate(rows, 1) if row["id"] == after), 0)
            if not start:
                raise Problem(400, "invalid_query", ("query", "after", "id_in_list", after))
        items = rows[start : start + int(limit)]
        has_more = start + len(items) < len(rows)
        return respond(200, {"items": items, "has_more": has_more, "after": items[-1]["id"] if has_more else None})

    def _list_accounts(self, request: Request, id: str) -> Response:
        return self._tell_list(request, [self._show(one) for one in self._shared(request, id, "accounts.read")])

    def _spendable(self, account: Account) -> int:
        held = [one for one in self._payments.values() if one.approved and one.phase not in ("settled", "cancelled")]
        return account.ledger - sum(one.minor for one in held if one.account is account)

    def _balances(self, request: Request, id: str, account: str) -> Response:
        found = self._find(request, id, account, "balances.read")
        amounts = {"ledger": pounds(found.ledger), "spendable": pounds(self._spendable(found))}
        return respond(200, {"account_id": found.id, **amounts, "as_of": write_time(self.clock.now)})

    def _list_activity(self, request: Request, id: str, account: str) -> Response:
        found, query = self._find(request, id, account, "activity.read"), request.query
        for name in ("booked_from", "booked_to"):
            try:
                date.fromisoformat(query.get(name, "2026-01-01"))
            except ValueError:
                raise Problem(400, "invalid_query", ("query", name, "iso_date", query[name])) from None
        if query.get("direction", "in") not in ("in", "out"):
            raise Problem(400, "invalid_query", ("query", "direction", "in_or_out", query["direction"]))
        first, last = query.get("booked_from", "0001-01-01"), query.get("booked_to", "9999-12-31")
        rows = [one for one in found.activity if first <= one["booked_on"] <= last]
        rows = [one for one in rows if query.get("direction", one["direction"]) == one["direction"]]
        return self._tell_list(request, rows)

    def _tell_payment(self, status: int, payment: Payment, headers: dict[str, str] | None = None) -> Response:
        document = {"id": payment.id, "object": "payment", "phase": payment.phase, **payment.document}
        document |= {"created_at": write_time(payment.created), "reason": payment.reason}
        return respond(status, document | {"hosted_page": self._tell_hosted(payment)}, headers)

    def _pay(self, request: Request) -> Response:
        app, key, body = self._app(request), self._header(request, "Idempotency-Key"), self._body(request)
        if (app, key) in self._keys:
            before, payment = self._keys[app, key]
            if before != body:
                raise Problem(409, "idempotency_conflict", ("header", "Idempotency-Key", "same_body", key))
            return self._tell_payment(202, payment, {"Idempotency-Replayed": "true"})
        live = [one for one in self._connections.values() if one.app == app and one.phase == "live"]
        shared = {account.id: account for one in live for account in one.accounts}
        amount = body["amount"] if isinstance(body.get("amount"), dict) else {}
        payee = body["payee"] if isinstance(body.get("payee"), dict) else {}
        minor, texts = amount.get("minor"), {name: str(payee.get(name, "")) for name in ("sort_code", "account_number")}
        self._check(
            body,
            ("from_account", "shared_account", str(body.get("from_account")) in shared),
            ("payee.name", "short_text", isinstance(payee.get("name"), str) and 1 <= len(payee["name"]) <= 40),
            ("payee.sort_code", "sort_code", bool(re.fullmatch(r"\d\d-\d\d-\d\d", texts["sort_code"]))),
            ("payee.account_number", "eight_digits", bool(re.fullmatch(r"\d{8}", texts["account_number"]))),
            ("amount.minor", "positive_integer", type(minor) is int and minor > 0),
            ("amount.currency", "gbp", amount.get("currency") == "GBP"),
            ("memo", "short_text", isinstance(body.get("memo"), str) and 1 <= len(body["memo"]) <= 18),
            *self._return_rules(body),
        )
        document = {name: body[name] for name in ("from_account", "payee", "amount", "memo")}
        account, hosted = shared[body["from_account"]], self._host(body)
        payment = Payment(self._id("pay"), app, document, account, self.clock.now, hosted)
        self._payments[payment.id] = payment
        self._keys[app, key] = body, payment
        return self._tell_payment(202, payment, {"Location": f"/payments/{payment.id}", "Retry-After": "10"})

    def _payment(self, request: Request, id: str) -> Payment:
        app, payment = self._app(request), self._payments.get(id)
        if not payment or payment.app != app:
            raise missing(request)
        return payment

    def _tell_action(self, status: int, action: Action, headers: dict[str, str] | None = None) -> Response:
        document = {"id": action.id, "object": "action", "type": "cancel", "phase": action.phase}
        target = {"id": action.payment.id, "phase": action.payment.phase}
        return respond(status, document | {"target": target, "created_at": write_time(action.created)}, headers)

    def _act(self, request: Request, id: str) -> Response:
        payment, body = self._payment(request, id), self._body(request)
        self._check(body, ("type", "cancel", body.get("type") == "cancel"))
        if payment.phase not in ("screening", "needs_approval", "approved"):
            raise Problem(409, "cannot_cancel", ("payment", "phase", "cancellable", payment.phase))
        payment.phase = "cancelling"
        action = Action(self._id("act"), payment, self.clock.now)
        self._actions[action.id] = action
        headers = {"Location": f"/payments/{id}/actions/{action.id}", "Retry-After": "30"}
        return self._tell_action(202, action, headers)

    def _look_action(self, request: Request, id: str, action: str) -> Response:
        payment, found = self._payment(request, id), self._actions.get(action)
        if not found or found.payment is not payment:
            raise missing(request)
        return self._tell_action(200, found)

    def _thing(self, slug: str) -> Connection | Payment:
        """Raises Closed if there is nothing for the customer to decide."""
        things = (*self._connections.values(), *self._payments.values())
        thing = next((one for one in things if one.hosted.slug == slug), None)
        if not thing:
            raise Closed(show(404, "Yarrow", "<p>This page does not exist.</p>"))
        if not thing.is_open_to_customer or thing.hosted.until <= self.clock.now:
            raise Closed(show(410, "Yarrow", "<p>This page is closed.</p>"))
        return thing

    def _page(self, request: Request, slug: str, hint: str = "", status: int = 200) -> Response:
        self._thing(slug)
        fields = '<input name="username"><input name="password" type="password"><button>Log in</button>'
        form = f'<form method="post" action="/hosted/{slug}/login">{fields}</form>'
        return show(status, "Log in to Yarrow", f"<p>{hint}</p>{form}")

    def _login(self, request: Request, slug: str) -> Response:
        thing = self._thing(slug)
        given = request.field("username"), request.field("password")
        customer = next((one for one in self._customers if (one.username, one.password) == given), None)
        if not customer:
            return self._page(request, slug, "That username and password do not match.", 401)
        if isinstance(thing, Payment) and thing.account not in customer.accounts:
            return self._page(request, slug, "This payment is not from your account.", 403)
        ticket = self._id("tkt", 24)
        thing.hosted.tickets[ticket] = customer
        return self._ask(thing, customer, ticket)

    def _ask(
        self, thing: Connection | Payment, customer: Customer, ticket: str, hint: str = "", status: int = 200
    ) -> Response:
        content = f'<input type="hidden" name="ticket" value="{ticket}">'
        if isinstance(thing, Payment):
            asked = f"Send £{thing.minor // 100}.{thing.minor % 100:02} to {thing.document['payee']['name']}?"
        else:
            asked = f"What may {APPS[thing.app][1]} see?"
            for one in customer.accounts:
                content += f'<label><input type="checkbox" name="account_ids" value="{one.id}">{one.label}</label>'
        content += "".join(f'<button name="answer" value="{word}">{word}</button>' for word in ("allow", "deny"))
        form = f'<form method="post" action="/hosted/{thing.hosted.slug}/choice">{content}</form>'
        return show(status, "Your decision", f"<p>{hint}</p><p>{asked}</p>{form}")

    def _choose(self, request: Request, slug: str) -> Response:
        thing = self._thing(slug)
        ticket, answer = request.field("ticket"), request.field("answer")
        customer = thing.hosted.tickets.get(ticket)
        if not customer:
            return self._page(request, slug, "Please log in first.", 401)
        if answer not in ("allow", "deny"):
            return self._ask(thing, customer, ticket, "Please allow or deny.", 400)
        picked = request.form.get("account_ids", [])
        if answer == "deny":
            thing.phase = "spurned"
        elif isinstance(thing, Payment):
            if thing.minor > self._spendable(thing.account):
                return self._ask(thing, customer, ticket, "Your account cannot cover this any more.", 409)
            thing.phase, thing.approved = "approved", self.clock.now
        else:
            accounts = [one for one in customer.accounts if one.id in picked]
            if not accounts:
                return self._ask(thing, customer, ticket, "Please pick an account.", 400)
            thing.phase, thing.accounts = "live", accounts
        name = "payment" if isinstance(thing, Payment) else "connection"
        result = "granted" if answer == "allow" else "denied"
        hosted = thing.hosted
        target = f"{hosted.redirect_uri}?{name}={thing.id}&result={result}&passthrough={hosted.passthrough}"
        return Response(302, "", {"Location": target})
