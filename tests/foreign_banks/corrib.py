"""Corrib, an Irish bank with an interface of its own: customers grant permits, and an app places orders.

- POST `/oauth/token`, a form with the client credentials, gives a bearer token for an hour. Only this answer is bare.
- All others are `{"data": …, "links"?, "page"?, "meta"}`; requests have `{"data": …}`. `meta` and the header repeat the
  X-Correlation-Id of the request, or bring a new one.
- Errors are application/problem+json; `fields` points to wrong members. Another app's resources give 404.
- POST `/v3/permits` with `reach` and `validForDays` (1 to 180). A permit is AWAITING_CUSTOMER, then IN_FORCE,
  TURNED_DOWN, WITHDRAWN (by DELETE, 204) or LAPSED (from `validUntil`). Reads send it in X-Permit; without it 400, and
  403 if it is not in force or does not reach that far.
- `links.approve` is the customer's page: one form with customer number, passcode and decision. A wrong passcode gives
  401 and the form again; a decision 303 to the app's `returnUrl` with the id and the outcome; a used link 410.
- Amounts are whole cents with a sign. Entries are newest first, between `from` and `to`, both inclusive, for 90 days
  unless told. Lists have a `size` and cursors: `page.next` is sent as `cursor`.
- POST `/payments/v1/orders` needs an Idempotency-Key: a repeated request gets the same order, another one 409.
- An order is AWAITING_CUSTOMER, ACCEPTED or TURNED_DOWN, IN_CLEARING after a minute, and PAID after five. Until it is
  in clearing it can be CALLED_OFF by POST `…/cancel`. An accepted order lowers the available balance, a paid one the
  booked balance, and is an entry then. An order above the available balance gives 422.
"""

import base64
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond, show

REACHES = ("ACCOUNTS", "BALANCES", "TRANSACTIONS")
CLIENTS = {"tallybook": "greenfinch", "pocketwise": "stonechat"}
SHOPS = "Claddagh Grocers|Salthill Pharmacy|Bus Connacht|Lough Energy|Quay Street Books|Atlantic Fibre".split("|")
TITLES = {
    "cannot-be-cancelled": "The order can no longer be cancelled",
    "idempotency-key-reused": "The idempotency key belongs to another request",
    "insufficient-funds": "The account does not cover the order",
    "invalid-cursor": "The cursor does not belong to this list",
    "invalid-parameter": "A parameter has a wrong value",
    "invalid-request": "The request has invalid members",
    "invalid-token": "The access token is missing, unknown or expired",
    "malformed-body": "The body is not a JSON object with data",
    "method-not-allowed": "The method is not allowed here",
    "missing-header": "A header is missing",
    "not-found": "There is no such resource",
    "outside-reach": "The permit does not reach that far",
    "permit-closed": "The permit is closed already",
    "permit-not-in-force": "The permit is not in force",
}


@dataclass
class Account:
    id: str
    iban: str
    name: str
    product: str
    cents: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    number: str
    passcode: str
    accounts: Sequence[Account]


@dataclass
class Thing:
    """A permit or an order, on which the customer decides at `code`."""

    client: str
    path: str
    code: str
    document: dict[str, Any]
    return_to: str
    standing: str = "AWAITING_CUSTOMER"
    customer: Customer | None = None
    payer: Account | None = None
    accepted: datetime | None = None

    @property
    def id(self) -> dict[str, str]:
        name = "orderId" if self.payer else "permitId"
        return {name: self.path.rpartition("/")[2]}

    @property
    def cents(self) -> int:
        return int(self.document["cents"])


class Problem(Exception):
    def __init__(self, status: int, kind: str, detail: str, fields: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail = status, kind, detail
        self.fields = [{"pointer": place, "message": message} for place, message in (fields or {}).items()]


def check_digits(country: str, rest: str) -> str:
    digits = "".join(str(int(sign, 36)) for sign in rest + country + "00")
    return f"{98 - int(digits) % 97:02}"


def is_iban(text: Any) -> bool:
    if not isinstance(text, str) or not re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text):
        return False
    return check_digits(text[:2], text[4:]) == text[2:4]


def write_time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


class Corrib:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"corrib {seed}")
        self._tokens: dict[str, tuple[str, datetime]] = {}
        self._permits: dict[str, Thing] = {}
        self._orders: dict[str, Thing] = {}
        self._keys: dict[tuple[str, str], tuple[dict[str, Any], Thing]] = {}
        self._customers = [
            Customer(
                "40718253",
                "271828",
                [
                    self._open("Everyday account", "CURRENT", "10482216", 318_447),
                    self._open("Holiday fund", "SAVINGS", "10482224", 96_120),
                ],
            ),
            Customer(
                "62950417",
                "161803",
                [
                    self._open("Joint account", "CURRENT", "20957703", 542_080),
                    self._open("Bills", "CURRENT", "20957711", 73_915),
                    self._open("Deposit", "SAVINGS", "20957738", 1_204_000),
                ],
            ),
        ]
        permit, account, order = "/v3/permits/{id}", "/v3/accounts/{id}", "/payments/v1/orders/{id}"
        self._routes = Routes(
            ("POST", "/oauth/token", self._give_token),
            ("POST", "/v3/permits", self._ask_permit),
            ("GET", permit, lambda request, id: self._tell(request, 200, self._permit(request, id))),
            ("DELETE", permit, self._withdraw),
            ("GET", "/v3/accounts", self._list_accounts),
            ("GET", account, self._account),
            ("GET", account + "/balances", self._balances),
            ("GET", account + "/transactions", self._list_entries),
            ("POST", "/payments/v1/orders", self._place_order),
            ("GET", order, lambda request, id: self._tell(request, 200, self._order(request, id))),
            ("POST", order + "/cancel", self._cancel),
            ("GET", "/customer/approve/{code}", self._page),
            ("POST", "/customer/approve/{code}", self._decide),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        headers = {"x-correlation-id": self._word(20), **request.headers}
        request = Request(request.method, request.path, request.query, headers, request.body, request.origin)
        told = {"X-Correlation-Id": headers["x-correlation-id"]}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            return handler(request, **parameters)
        except NoRoute as wrong:
            if wrong.allowed:
                problem = Problem(405, "method-not-allowed", f"{request.method} is not allowed here.")
                told["Allow"] = ", ".join(wrong.allowed)
            else:
                problem = Problem(404, "not-found", f"There is nothing at {request.path}.")
        except Problem as error:
            problem = error
            if error.status == 401:
                told["WWW-Authenticate"] = 'Bearer realm="corrib"'
        document: dict[str, Any] = {
            "type": f"https://developer.corrib.example/problems/{problem.kind}",
            "title": TITLES[problem.kind],
            "status": problem.status,
            "detail": problem.detail,
            "correlationId": headers["x-correlation-id"],
        }
        if problem.fields:
            document["fields"] = problem.fields
        return respond(problem.status, document, told, media="application/problem+json")

    def _word(self, length: int) -> str:
        return "".join(self._random.choices("abcdefghjkmnpqrstuvwxyz23456789", k=length))

    def _open(self, name: str, product: str, number: str, cents: int) -> Account:
        rest = f"CORB900021{number}"
        account = Account(f"ac-{self._word(8)}", f"IE{check_digits('IE', rest)}{rest}", name, product, cents)
        for days in sorted(self._random.sample(range(1, 85), 38), reverse=True):
            change = self._random.choice((-1, -1, -1, 1)) * self._random.randrange(150, 12_000)
            who = self._random.choice(SHOPS)
            self._enter(account, self.clock.today - timedelta(days=days), change, who, "Card purchase", "CARD")
        return account

    def _enter(self, account: Account, day: date, cents: int, who: str, reference: str, kind: str) -> None:
        entry = {"entryId": f"en-{self._word(12)}", "bookedOn": day.isoformat(), "cents": cents, "currency": "EUR"}
        account.entries.insert(0, entry | {"counterparty": who, "reference": reference, "kind": kind})

    def _advance(self) -> None:
        for permit in self._permits.values():
            is_open = permit.standing in ("AWAITING_CUSTOMER", "IN_FORCE")
            if is_open and permit.document["validUntil"] <= write_time(self.clock.now):
                permit.standing = "LAPSED"
        for order in self._orders.values():
            passed = self.clock.now - order.accepted if order.accepted else timedelta()
            if order.standing == "ACCEPTED" and passed >= timedelta(minutes=1):
                order.standing = "IN_CLEARING"
            if order.standing == "IN_CLEARING" and passed >= timedelta(minutes=5) and order.payer:
                order.standing = "PAID"
                order.payer.cents -= order.cents
                name, reference = order.document["toName"], order.document["reference"]
                self._enter(order.payer, self.clock.today, -order.cents, name, reference, "TRANSFER")

    def _give_token(self, request: Request) -> Response:
        if request.field("grant_type") != "client_credentials":
            return respond(400, {"error": "unsupported_grant_type"})
        client = request.field("client_id")
        if client not in CLIENTS or CLIENTS[client] != request.field("client_secret"):
            return respond(401, {"error": "invalid_client"})
        token = self._word(32)
        self._tokens[token] = client, self.clock.now + timedelta(hours=1)
        document = {"access_token": token, "token_type": "Bearer", "expires_in": 3600}
        return respond(200, document, {"Cache-Control": "no-store"})

    def _client(self, request: Request) -> str:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        client, ends = self._tokens.get(token, ("", self.clock.now))
        if scheme != "Bearer" or ends <= self.clock.now:
            raise Problem(401, "invalid-token", "Send a valid access token from /oauth/token.")
        return client

    def _data(self, request: Request) -> dict[str, Any]:
        try:
            data = request.document.get("data")
        except ValueError:
            data = None
        if not isinstance(data, dict):
            raise Problem(400, "malformed-body", 'Send {"data": {…}}.')
        return data

    def _header(self, request: Request, name: str) -> str:
        if not (value := request.headers.get(name.lower())):
            raise Problem(400, "missing-header", f"Send {name}.")
        return value

    def _wrap(self, request: Request, status: int, data: Any, headers: dict[str, str], **more: Any) -> Response:
        correlation = request.headers["x-correlation-id"]
        meta = {"correlationId": correlation, "at": write_time(self.clock.now)}
        return respond(status, {"data": data, **more, "meta": meta}, {"X-Correlation-Id": correlation, **headers})

    def _tell(self, request: Request, status: int, thing: Thing) -> Response:
        links = {"self": thing.path}
        if thing.standing == "AWAITING_CUSTOMER":
            links["approve"] = f"/customer/approve/{thing.code}"
        headers = {"Location": thing.path} if status == 201 else {}
        data = {**thing.id, "standing": thing.standing, **thing.document}
        return self._wrap(request, status, data, headers, links=links)

    def _tell_page(self, request: Request, rows: Sequence[Any]) -> Response:
        size, start = request.query.get("size", "25"), 0
        if not size.isdecimal() or not 1 <= int(size) <= 100:
            raise Problem(400, "invalid-parameter", "A page has 1 to 100 rows.", {"size": "is from 1 to 100"})
        if cursor := request.query.get("cursor"):
            try:
                path, _, place = base64.urlsafe_b64decode(cursor).decode().rpartition("#")
                start = int(place)
            except ValueError:
                path = ""
            if path != request.path:
                raise Problem(400, "invalid-cursor", "Send page.next of the page before.")
        end = start + int(size)
        more = base64.urlsafe_b64encode(f"{request.path}#{end}".encode()).decode() if end < len(rows) else None
        return self._wrap(request, 200, rows[start:end], {}, page={"size": int(size), "next": more})

    def _ask_permit(self, request: Request) -> Response:
        client, data = self._client(request), self._data(request)
        reach, days, back = data.get("reach"), data.get("validForDays"), data.get("returnUrl")
        wrong = {}
        if not isinstance(reach, list) or not reach or not all(one in REACHES for one in reach):
            wrong["/data/reach"] = "has one or more of " + ", ".join(REACHES)
        if not isinstance(days, int) or not 1 <= days <= 180:
            wrong["/data/validForDays"] = "is from 1 to 180"
        if not isinstance(back, str) or not back.startswith("https://"):
            wrong["/data/returnUrl"] = "begins with https://"
        if wrong or not isinstance(days, int):
            raise Problem(422, "invalid-request", "Correct the fields.", wrong)
        now, path = self.clock.now, f"/v3/permits/pm-{self._word(10)}"
        document = {
            "reach": reach,
            "createdAt": write_time(now),
            "validUntil": write_time(now + timedelta(days=days)),
        }
        permit = Thing(client, path, self._word(16), document, str(back))
        self._permits[permit.id["permitId"]] = permit
        return self._tell(request, 201, permit)

    def _permit(self, request: Request, id: str) -> Thing:
        client, permit = self._client(request), self._permits.get(id)
        if not permit or permit.client != client:
            raise Problem(404, "not-found", f"There is no permit {id}.")
        return permit

    def _withdraw(self, request: Request, id: str) -> Response:
        permit = self._permit(request, id)
        if permit.standing not in ("AWAITING_CUSTOMER", "IN_FORCE"):
            raise Problem(409, "permit-closed", f"The permit is {permit.standing}.")
        permit.standing = "WITHDRAWN"
        return Response(204, "", {"X-Correlation-Id": request.headers["x-correlation-id"]})

    def _reach(self, request: Request, reach: str) -> Sequence[Account]:
        self._client(request)
        permit = self._permit(request, self._header(request, "X-Permit"))
        if permit.standing != "IN_FORCE" or not permit.customer:
            raise Problem(403, "permit-not-in-force", f"The permit is {permit.standing}.")
        if reach not in permit.document["reach"]:
            raise Problem(403, "outside-reach", f"The permit does not include {reach}.")
        return permit.customer.accounts

    def _find(self, request: Request, id: str, reach: str) -> Account:
        for account in self._reach(request, reach):
            if account.id == id:
                return account
        raise Problem(404, "not-found", f"There is no account {id}.")

    def _show(self, account: Account) -> dict[str, Any]:
        shown = {"accountId": account.id, "iban": account.iban, "name": account.name}
        return shown | {"product": account.product, "currency": "EUR"}

    def _list_accounts(self, request: Request) -> Response:
        return self._tell_page(request, [self._show(one) for one in self._reach(request, "ACCOUNTS")])

    def _account(self, request: Request, id: str) -> Response:
        return self._wrap(request, 200, self._show(self._find(request, id, "ACCOUNTS")), {})

    def _available(self, account: Account) -> int:
        reserved = [one for one in self._orders.values() if one.standing in ("ACCEPTED", "IN_CLEARING")]
        return account.cents - sum(one.cents for one in reserved if one.payer is account)

    def _balances(self, request: Request, id: str) -> Response:
        account = self._find(request, id, "BALANCES")
        data = {"accountId": id, "bookedCents": account.cents, "availableCents": self._available(account)}
        return self._wrap(request, 200, data | {"currency": "EUR", "asOf": write_time(self.clock.now)}, {})

    def _list_entries(self, request: Request, id: str) -> Response:
        account, today = self._find(request, id, "TRANSACTIONS"), self.clock.today
        period = {"from": (today - timedelta(days=90)).isoformat(), "to": today.isoformat()}
        for name in period:
            text = request.query.get(name, period[name])
            try:
                period[name] = date.fromisoformat(text).isoformat()
            except ValueError:
                raise Problem(400, "invalid-parameter", f"{text} is no day.", {name: "is YYYY-MM-DD"}) from None
        if period["from"] > period["to"]:
            raise Problem(400, "invalid-parameter", "The period ends before it begins.", {"to": "is not before from"})
        rows = [one for one in account.entries if period["from"] <= one["bookedOn"] <= period["to"]]
        return self._tell_page(request, rows)

    def _place_order(self, request: Request) -> Response:
        client, key, data = self._client(request), self._header(request, "Idempotency-Key"), self._data(request)
        if (client, key) in self._keys:
            before, order = self._keys[client, key]
            if before != data:
                raise Problem(409, "idempotency-key-reused", f"{key} belongs to another order.")
            return self._tell(request, 201, order)
        payer = next((one for who in self._customers for one in who.accounts if one.iban == data.get("fromIban")), None)
        cents, wrong = data.get("cents"), {}
        if not payer:
            wrong["/data/fromIban"] = "is an account at this bank"
        if not is_iban(data.get("toIban")):
            wrong["/data/toIban"] = "is an IBAN with right check digits"
        if not isinstance(cents, int) or cents <= 0:
            wrong["/data/cents"] = "is a whole number above 0"
        for name, most in (("toName", 70), ("reference", 35)):
            if not isinstance(data.get(name), str) or not 1 <= len(data[name]) <= most:
                wrong[f"/data/{name}"] = f"has 1 to {most} characters"
        if not str(data.get("returnUrl", "")).startswith("https://"):
            wrong["/data/returnUrl"] = "begins with https://"
        if wrong or not payer or not isinstance(cents, int):
            raise Problem(422, "invalid-request", "Correct the fields.", wrong)
        if cents > self._available(payer):
            raise Problem(422, "insufficient-funds", "The order is above the available balance.")
        names = ("fromIban", "toIban", "toName", "cents", "reference")
        document = {name: data[name] for name in names} | {"currency": "EUR", "createdAt": write_time(self.clock.now)}
        path = f"/payments/v1/orders/or-{self._word(10)}"
        order = Thing(client, path, self._word(16), document, data["returnUrl"], payer=payer)
        self._orders[order.id["orderId"]] = order
        self._keys[client, key] = data, order
        return self._tell(request, 201, order)

    def _order(self, request: Request, id: str) -> Thing:
        client, order = self._client(request), self._orders.get(id)
        if not order or order.client != client:
            raise Problem(404, "not-found", f"There is no order {id}.")
        return order

    def _cancel(self, request: Request, id: str) -> Response:
        order = self._order(request, id)
        if order.standing not in ("AWAITING_CUSTOMER", "ACCEPTED"):
            raise Problem(409, "cannot-be-cancelled", f"The order is {order.standing}.")
        order.standing = "CALLED_OFF"
        return self._tell(request, 200, order)

    def _page(self, request: Request, code: str, hint: str = "", status: int = 200) -> Response:
        things = (*self._permits.values(), *self._orders.values())
        thing = next((one for one in things if one.code == code), None)
        if not thing:
            return show(404, "Corrib", "<p>We do not know this link.</p>")
        if thing.standing != "AWAITING_CUSTOMER":
            return show(410, "Corrib", "<p>This link has been used.</p>")
        if thing.payer:
            euros = f"{thing.cents // 100}.{thing.cents % 100:02}"
            asked = f"Pay €{euros} to {thing.document['toName']}?"
        else:
            asked = f"Let {thing.client} see {', '.join(thing.document['reach']).lower()}?"
        fields = '<input name="customerNumber"><input name="passcode" type="password">'
        buttons = "".join(f'<button name="decision" value="{word}">{word}</button>' for word in ("allow", "deny"))
        return show(status, "Corrib", f'<p>{hint}</p><p>{asked}</p><form method="post">{fields}{buttons}</form>')

    def _decide(self, request: Request, code: str) -> Response:
        page = self._page(request, code)
        if page.status != 200:
            return page
        thing = next(one for one in (*self._permits.values(), *self._orders.values()) if one.code == code)
        given = request.field("customerNumber"), request.field("passcode")
        customer = next((one for one in self._customers if (one.number, one.passcode) == given), None)
        if not customer:
            return self._page(request, code, "Your customer number or passcode is wrong.", 401)
        if thing.payer and thing.payer not in customer.accounts:
            return self._page(request, code, "This account is not yours.", 403)
        decision = request.field("decision")
        if decision not in ("allow", "deny"):
            return self._page(request, code, "Please decide.", 400)
        if decision == "deny":
            thing.standing = "TURNED_DOWN"
        elif not thing.payer:
            thing.standing, thing.customer = "IN_FORCE", customer
        elif thing.cents > self._available(thing.payer):
            return self._page(request, code, "The account no longer covers this.", 409)
        else:
            thing.standing, thing.accepted = "ACCEPTED", self.clock.now
        [(name, id)] = thing.id.items()
        outcome = "allowed" if decision == "allow" else "denied"
        return Response(303, "", {"Location": f"{thing.return_to}?{name}={id}&outcome={outcome}"})
