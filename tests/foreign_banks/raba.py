"""Raba, a bank in Vienna and Győr with an interface of its own: apps get connections, quote and confirm payments.

- Resources are `{"data": {"type", "id", "attributes", "links"}, "meta"}` in application/vnd.raba+json; other bodies are
  refused with 415. Links are objects. `meta.trace` and the header Raba-Trace are the bank's own, new for each answer.
- Errors are `{"errors": [{"code", "pointer"}], "meta"}`: a JSON pointer with indexes, `?name` of a parameter, or null.
- `/insight/2024-10/connections`, with HTTP Basic, have `scopes` and `days` (1 to 180). Their `phase` is invited, for
  half an hour, then linked, declined, unlinked (by DELETE, 200), or outdated, on the day after `lastDay`.
- To the link `authorize` the app adds `redirect_uri`, `state` and a PKCE challenge (S256). The customer signs in and
  ticks accounts on two pages with one address and a `_seal` that is good once; a wrong PIN brings the first page again.
- `/oauth2/token` has plain OAuth answers. Codes last a minute, access tokens 15; refresh tokens are good once.
- Ids of accounts are those of one connection. An account that is not ticked is unknown.
- Amounts are `minor`, `exponent` and `unit`; forints have no minor unit. Movements have no sign but a `side`.
- Movements are one list, newest first, filtered by account. `links.next` has a cursor that brings filter and size with
  it and must come alone. `meta.left` is what comes after the page. Without `Raba-Presence: customer` it has 30 days.
- A quote has a `validity`: open, stale after five minutes, or used. Who confirms it repeats its total; again gives 200.
- A payment has a `progress` and a `revision`, which counts changes: unsigned, overdue after ten minutes, signed or
  declined on the customer's page, sent after 45 seconds, settled after 15 minutes. Before it is sent, a PATCH that
  names the revision makes it withdrawn. Its flat fee is a movement too. Days and times are those of Vienna.
"""

import base64
import hashlib
import html
import random
import re
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

INSIGHT, MOVES = "/insight/2024-10", "/moves/2025-03"
MEDIA, PLACE = "application/vnd.raba+json", "/data/attributes/"
VIENNA = ZoneInfo("Europe/Vienna")
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
SCOPES = ("see:accounts", "see:funds", "see:movements", "move:money")
LIVES = (("unsigned", "overdue", 10), ("signed", "sent", 0.75), ("sent", "settled", 15))
APPS = {"kontora": ("mohnstrudel", "https://kontora.example/"), "zsebem": ("pogacsa", "https://zsebem.example/")}
EXPONENTS, FEES = {"EUR": 2, "HUF": 0}, {"EUR": 25, "HUF": 90}
SHOPS = "Naschmarkt Feinkost|Győri Áramszolgáltató|Buchhandlung Seidl|Duna Patika|Westbahn|Drogerie Ahorn".split("|")


@dataclass
class Account:
    iban: str
    label: str
    unit: str
    ledger: int
    movements: list[dict[str, Any]] = field(default_factory=list)

    def money(self, minor: int) -> dict[str, Any]:
        return {"minor": minor, "exponent": EXPONENTS[self.unit], "unit": self.unit}


@dataclass(frozen=True)
class Customer:
    alias: str
    pin: str
    signing_code: str
    accounts: list[Account]


@dataclass
class Connection:
    id: str
    app: str
    scopes: list[str]
    created: datetime
    last_day: date
    phase: str = "invited"
    customer: Customer | None = None
    shared: dict[str, Account] = field(default_factory=dict)
    request: dict[str, str] = field(default_factory=dict)

    def alias(self, account: Account) -> str:
        digest = hashlib.sha256(f"{self.id} {account.iban}".encode()).digest()
        return "acc_" + base64.b32encode(digest).decode()[:14].lower()


@dataclass
class Transfer:
    """A quote, and the payment that it becomes. `since` is when it was quoted, confirmed or signed."""

    quote_id: str
    connection: Connection
    account: Account
    document: dict[str, Any]
    since: datetime
    validity: str = "open"
    payment_id: str = ""
    ticket: str = ""
    progress: str = ""
    revision: int = 0

    def minor(self, name: str) -> int:
        return int(self.document[name]["minor"])

    def move(self, progress: str) -> None:
        self.progress = progress
        self.revision += 1


def check(status: int, is_met: object, code: str, pointer: str | None = None) -> None:
    if not is_met:
        raise Fault(status, code, pointer)


def iban(country: str, rest: str) -> str:
    digits = "".join(str(int(sign, 36)) for sign in rest + country + "00")
    return f"{country}{98 - int(digits) % 97:02}{rest}"


def is_iban(text: str) -> bool:
    return bool(re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text)) and iban(text[:2], text[4:]) == text


def local(time: datetime) -> datetime:
    return time.astimezone(VIENNA)


def inner(document: dict[str, Any], name: str) -> dict[str, Any]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def link(**links: str) -> dict[str, dict[str, str]]:
    return {name: {"href": href, "method": "POST" if name == "confirm" else "GET"} for name, href in links.items()}


class Raba:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"raba {seed}")
        self._trace = ""
        self._connections: dict[str, Connection] = {}
        self._seals: dict[str, tuple[Connection, Customer | None]] = {}
        self._keys: dict[str, tuple[Connection, datetime]] = {}
        self._cursors: dict[str, tuple[Connection, list[dict[str, Any]], str, datetime]] = {}
        self._transfers: list[Transfer] = []
        opened = [self._open("4418207", "Alltag", "EUR", 26), self._open("4207193", "Balaton", "HUF", 12)]
        self._customers = [Customer("lena.hofstaetter", "48213", "730164", opened)]
        opened = [self._open("8824031", "Folyószámla", "HUF", 27), self._open("7730951", "Pendeln", "EUR", 14)]
        opened.append(self._open("8824042", "Tartalék", "HUF", 8))
        self._customers.append(Customer("bence.szalai", "90567", "218845", opened))
        self._customers.append(Customer("m.egger", "33719", "604552", [self._open("9162284", "Haushalt", "EUR", 18)]))
        connection, quote, payment = INSIGHT + "/connections/{id}", MOVES + "/quotes/{id}", MOVES + "/payments/{id}"
        self._routes = Routes(
            ("POST", INSIGHT + "/connections", self._invite),
            ("GET", connection, self._connection),
            ("DELETE", connection, self._connection),
            ("GET", "/oauth2/authorize", self._authorize),
            ("POST", "/oauth2/token", self._give_token),
            ("POST", "/hosted/connect", self._connect),
            ("GET", INSIGHT + "/accounts", self._list_accounts),
            ("GET", INSIGHT + "/accounts/{id}/funds", self._funds),
            ("GET", INSIGHT + "/movements", self._list_movements),
            ("POST", MOVES + "/quotes", self._quote),
            ("GET", quote, lambda request, id: self._tell_quote(200, self._transfer(request, id))),
            ("POST", quote + "/confirm", self._confirm),
            ("GET", payment, lambda request, id: self._tell_payment(200, self._transfer(request, id))),
            ("PATCH", payment, self._withdraw),
            ("GET", "/hosted/sign/{ticket}", self._sign),
            ("POST", "/hosted/sign/{ticket}", self._sign),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        self._trace = self._word("", 20)
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            return handler(request, **parameters)
        except NoRoute as wrong:
            fault = Fault(405, "method.unknown") if wrong.allowed else Fault(404, "resource.unknown")
        except Fault as error:
            fault = error
        headers = {"WWW-Authenticate": "Bearer, Basic"} if fault.status == 401 else {}
        return self._send(fault.status, headers, errors=[{"code": fault.word, "pointer": fault.place}])

    def _word(self, prefix: str, length: int = 16) -> str:
        signs = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0123456789"
        return prefix + "".join(self._random.choices(signs, k=length))

    def _key(self, prefix: str, connection: Connection, time: timedelta) -> str:
        key = self._word(prefix, 32)
        self._keys[key] = connection, self.clock.now + time
        return key

    def _send(self, status: int, headers: dict[str, str], *, left: int | None = None, **document: Any) -> Response:
        document["meta"] = {"trace": self._trace} | ({} if left is None else {"left": left})
        return respond(status, document, {"Raba-Trace": self._trace} | headers, media=MEDIA)

    def _tell(self, status: int, kind: str, id: str, attributes: dict[str, Any], links: dict[str, str]) -> Response:
        headers = {"Location": links["self"]} if status == 201 else {}
        data = {"type": kind, "id": id, "attributes": attributes, "links": link(**links)}
        return self._send(status, headers, data=data)

    def _open(self, number: str, label: str, unit: str, count: int) -> Account:
        named = iban("AT", f"19570{number:0>11}") if unit == "EUR" else iban("HU", f"19501043{number:0>16}")
        account = Account(named, label, unit, self._random.randrange(290_000, 480_000))
        for days in sorted(self._random.sample(range(1, 64), count), reverse=True):
            minor = self._random.choice((-1, -1, 1)) * self._random.randrange(210, 9_800)
            text, sort = ("Card payment", "card") if minor < 0 else ("Refund", "credit")
            day = local(self.clock.now).date() - days * DAY
            self._enter(account, day, minor, self._random.choice(SHOPS), text, sort)
        return account

    def _enter(self, account: Account, day: date, minor: int, party: str, text: str, sort: str) -> None:
        account.ledger += minor
        attributes: dict[str, Any] = {"bookedOn": day.isoformat(), "side": "in" if minor > 0 else "out"}
        money = {"amount": account.money(abs(minor)), "ledgerAfter": account.money(account.ledger)}
        attributes |= money | {"party": {"name": party}, "text": text, "sort": sort}
        account.movements.insert(0, {"type": "movement", "id": self._word("mvt_"), "attributes": attributes})

    def _advance(self) -> None:
        now = self.clock.now
        for one in self._connections.values():
            is_late = one.phase == "invited" and one.created + 30 * MINUTE <= now
            if is_late or (one.phase in ("invited", "linked") and one.last_day < local(now).date()):
                one.phase = "outdated"
        for transfer in self._transfers:
            if transfer.validity == "open" and transfer.since + 5 * MINUTE <= now:
                transfer.validity = "stale"
            for before, after, minutes in LIVES:
                if transfer.progress == before and transfer.since + minutes * MINUTE <= now:
                    transfer.move(after)
                    if after == "settled":
                        self._settle(transfer, local(transfer.since + minutes * MINUTE).date())

    def _settle(self, transfer: Transfer, day: date) -> None:
        account, document = transfer.account, transfer.document
        self._enter(account, day, -transfer.minor("amount"), document["to"]["name"], document["reference"], "transfer")
        document |= {"settledOn": day.isoformat(), "movement": account.movements[0]["id"]}
        self._enter(account, day, -transfer.minor("fee"), "Raba Bank", "Transfer fee", "fee")

    def _app(self, request: Request) -> str:
        for app, (secret, _) in APPS.items():
            if request.headers.get("authorization") == f"Basic {base64.b64encode(f'{app}:{secret}'.encode()).decode()}":
                return app
        raise Fault(401, "client.unknown")

    def _session(self, request: Request, scope: str) -> Connection:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.startswith("rat_") or token not in self._keys:
            raise Fault(401, "token.unknown")
        connection, ends = self._keys[token]
        check(401, ends > self.clock.now, "token.expired")
        check(403, connection.phase == "linked", "connection.not_linked")
        check(403, scope in connection.scopes, "scope.missing")
        return connection

    def _read(self, request: Request, kind: str) -> dict[str, Any]:
        try:
            data = inner(request.document, "data")
        except ValueError:
            data = {}
        check(415, data and request.headers.get("content-type") == MEDIA, "media.unsupported")
        check(422, data.get("type") == kind, "value.not_allowed", "/data/type")
        return inner(data, "attributes")

    def _invite(self, request: Request) -> Response:
        app, asked = self._app(request), self._read(request, "connection")
        scopes, days = asked.get("scopes"), asked.get("days")
        if not isinstance(scopes, list) or not scopes:
            raise Fault(422, "value.invalid", PLACE + "scopes")
        for index, scope in enumerate(scopes):
            check(422, scope in SCOPES, "value.not_allowed", f"{PLACE}scopes/{index}")
        if not isinstance(days, int) or not 1 <= days <= 180:
            raise Fault(422, "value.invalid", PLACE + "days")
        last_day = local(self.clock.now).date() + days * DAY
        connection = Connection(self._word("cnx_"), app, scopes, self.clock.now, last_day)
        self._connections[connection.id] = connection
        return self._tell_connection(201, connection)

    def _tell_connection(self, status: int, connection: Connection) -> Response:
        attributes = {"phase": connection.phase, "scopes": connection.scopes, "accountsShared": len(connection.shared)}
        attributes |= {"createdAt": local(connection.created).isoformat(), "lastDay": connection.last_day.isoformat()}
        links = {"self": f"{INSIGHT}/connections/{connection.id}"}
        if connection.phase == "invited":
            query = {"response_type": "code", "client_id": connection.app, "connection": connection.id}
            links["authorize"] = f"/oauth2/authorize?{urlencode(query)}"
        return self._tell(status, "connection", connection.id, attributes, links)

    def _connection(self, request: Request, id: str) -> Response:
        app, connection = self._app(request), self._connections.get(id)
        if not connection or connection.app != app:
            raise Fault(404, "resource.unknown")
        if request.method == "DELETE":
            check(409, connection.phase in ("invited", "linked"), "connection.ended")
            connection.phase = "unlinked"
        return self._tell_connection(200, connection)

    def _authorize(self, request: Request) -> Response:
        query = {"code_challenge": "", "state": "", "redirect_uri": "", **request.query}
        connection = self._connections.get(query.get("connection", ""))
        if not connection or connection.phase != "invited" or query.get("client_id") != connection.app:
            return show(410, "Raba", "<p>There is no such invitation.</p>")
        is_coded = query.get("code_challenge_method") == "S256" and len(query["code_challenge"]) == 43
        if not is_coded or not query["state"] or not query["redirect_uri"].startswith(APPS[connection.app][1]):
            return show(400, "Raba", "<p>The app has sent you here with a wrong request.</p>")
        connection.request = query
        return self._connect_page(connection, None)

    def _connect_page(self, connection: Connection, customer: Customer | None, hint: str = "") -> Response:
        seal = self._word("", 24)
        self._seals[seal] = connection, customer
        asked = f"{connection.app} asks for {', '.join(connection.scopes)} until {connection.last_day}."
        fields = "" if customer else '<input name="alias"><input name="pin" type="password"><button>Sign in</button>'
        if customer:
            for one in customer.accounts:
                fields += f'<input type="checkbox" name="account" value="{connection.alias(one)}">{one.iban}'
            fields += "".join(f'<button name="choice" value="{word}">{word}</button>' for word in ("agree", "refuse"))
        form = f'<form method="post" action="/hosted/connect"><input type="hidden" name="_seal" value="{seal}">{fields}'
        return show(200, "Raba", f"<p>{hint}</p><p>{asked}</p>{form}</form>")

    def _connect(self, request: Request) -> Response:
        connection, customer = self._seals.pop(request.field("_seal"), (None, None))
        if not connection or connection.phase != "invited":
            return show(410, "Raba", "<p>This page is out of date.</p>")
        if not customer:
            given = request.field("alias"), request.field("pin")
            customer = next((one for one in self._customers if (one.alias, one.pin) == given), None)
            return self._connect_page(connection, customer, "" if customer else "Your name or PIN is wrong.")
        ticked = request.form.get("account", [])
        shared = {id: one for one in customer.accounts if (id := connection.alias(one)) in ticked}
        if request.field("choice") == "refuse":
            connection.phase, result = "declined", {"error": "access_denied"}
        elif not shared:
            return self._connect_page(connection, customer, "Please tick an account.")
        else:
            connection.phase, connection.customer, connection.shared = "linked", customer, shared
            result = {"code": self._key("rac_", connection, MINUTE)}
        query = urlencode({**result, "state": connection.request["state"], "iss": "https://raba.example"})
        return Response(302, "", {"Location": f"{connection.request['redirect_uri']}?{query}"})

    def _give_token(self, request: Request) -> Response:
        app, is_refresh = self._app(request), request.field("grant_type") == "refresh_token"
        prefix, name = ("rrt_", "refresh_token") if is_refresh else ("rac_", "code")
        key = request.field(name)
        connection, ends = self._keys.get(key, (None, self.clock.now))
        digest = hashlib.sha256(request.field("code_verifier").encode()).digest()
        given = base64.urlsafe_b64encode(digest).decode().rstrip("="), request.field("redirect_uri")
        is_good = key.startswith(prefix) and ends > self.clock.now
        if not connection or not is_good or (connection.phase, connection.app) != ("linked", app):
            return respond(400, {"error": "invalid_grant", "error_description": f"The {name} is not valid."})
        if name == "code" and given != (connection.request["code_challenge"], connection.request["redirect_uri"]):
            return respond(400, {"error": "invalid_grant", "error_description": "The code_verifier does not match."})
        del self._keys[key]
        access, refresh = self._key("rat_", connection, 15 * MINUTE), self._key("rrt_", connection, 180 * DAY)
        document = {"access_token": access, "token_type": "bearer", "expires_in": 900, "refresh_token": refresh}
        return respond(200, document | {"scope": " ".join(connection.scopes), "connection": connection.id})

    def _list_accounts(self, request: Request) -> Response:
        data = []
        for id, one in self._session(request, "see:accounts").shared.items():
            attributes = {"label": one.label, "iban": one.iban, "unit": one.unit, "exponent": EXPONENTS[one.unit]}
            movements = f"{INSIGHT}/movements?{urlencode({'filter[account]': id})}"
            links = link(funds=f"{INSIGHT}/accounts/{id}/funds", movements=movements)
            data.append({"type": "account", "id": id, "attributes": attributes, "links": links})
        return self._send(200, {}, data=data, links=link(self=request.path), left=0)

    def _spendable(self, account: Account) -> int:
        reserved = [one for one in self._transfers if one.account is account and one.progress in ("signed", "sent")]
        return account.ledger - sum(one.minor("total") for one in reserved)

    def _funds(self, request: Request, id: str) -> Response:
        if not (account := self._session(request, "see:funds").shared.get(id)):
            raise Fault(404, "account.unknown")
        attributes = {"ledger": account.money(account.ledger), "spendable": account.money(self._spendable(account))}
        now = {"asOf": local(self.clock.now).isoformat()}
        return self._tell(200, "funds", id, attributes | now, {"self": request.path})

    def _list_movements(self, request: Request) -> Response:
        connection, query, now = self._session(request, "see:movements"), request.query, self.clock.now
        if cursor := query.get("page[after]"):
            check(400, len(query) == 1, "cursor.alone", "?page[after]")
            owner, rows, size, until = self._cursors.get(cursor, (None, [], "", now))
            check(400, owner is connection and until > now, "cursor.unknown", "?page[after]")
        else:
            month_ago, size = local(now).date() - 30 * DAY, query.get("page[size]", "20")
            if not (account := connection.shared.get(query.get("filter[account]", ""))):
                raise Fault(400, "account.unknown", "?filter[account]")
            try:
                since = date.fromisoformat(query.get("filter[since]", str(month_ago)))
            except ValueError:
                raise Fault(400, "parameter.invalid", "?filter[since]") from None
            check(400, size.isdecimal() and 1 <= int(size) <= 50, "parameter.invalid", "?page[size]")
            is_allowed = since >= month_ago or request.headers.get("raba-presence") == "customer"
            check(403, is_allowed, "history.presence_needed", "?filter[since]")
            alias = {"account": connection.alias(account)}
            rows = [one | {"attributes": alias | one["attributes"]} for one in account.movements]
            rows = [one for one in rows if one["attributes"]["bookedOn"] >= str(since)]
        page, rest = rows[: int(size)], rows[int(size) :]
        links = link(self=f"{request.path}?{urlencode(query)}")
        if rest:
            cursor = self._word("cur", 22)
            self._cursors[cursor] = connection, rest, size, now + 10 * MINUTE
            href = f"{request.path}?{urlencode({'page[after]': cursor})}"
            links["next"] = {"href": href, "method": "GET", "cursor": cursor}
        return self._send(200, {}, data=page, links=links, left=len(rest))

    def _quote(self, request: Request) -> Response:
        connection, asked = self._session(request, "move:money"), self._read(request, "quote")
        to, amount = inner(asked, "to"), inner(asked, "amount")
        name, reference, minor = to.get("name"), asked.get("reference"), amount.get("minor")
        if not (account := connection.shared.get(str(inner(asked, "from").get("id")))):
            raise Fault(422, "account.unknown", PLACE + "from/id")
        if not isinstance(minor, int) or minor <= 0:
            raise Fault(422, "value.invalid", PLACE + "amount/minor")
        check(422, amount == account.money(minor), "amount.unit_mismatch", PLACE + "amount")
        check(422, isinstance(name, str) and 1 <= len(name) <= 70, "value.invalid", PLACE + "to/name")
        check(422, is_iban(str(to.get("iban"))), "iban.checksum", PLACE + "to/iban")
        check(422, isinstance(reference, str) and 1 <= len(reference) <= 140, "value.invalid", PLACE + "reference")
        payer, fee = {"type": "account", "id": connection.alias(account)}, FEES[account.unit]
        check(422, minor + fee <= self._spendable(account), "funds.short", PLACE + "amount/minor")
        document: dict[str, Any] = {"from": payer, "to": to, "amount": amount, "fee": account.money(fee)}
        document |= {"total": account.money(minor + fee), "reference": reference}
        transfer = Transfer(self._word("qte_"), connection, account, document, self.clock.now)
        self._transfers.append(transfer)
        return self._tell_quote(201, transfer)

    def _tell_quote(self, status: int, transfer: Transfer) -> Response:
        links = {"self": f"{MOVES}/quotes/{transfer.quote_id}"}
        attributes = {"validity": transfer.validity, **transfer.document}
        if transfer.validity == "open":
            links["confirm"] = f"{links['self']}/confirm"
            attributes["goodUntil"] = local(transfer.since + 5 * MINUTE).isoformat()
        return self._tell(status, "quote", transfer.quote_id, attributes, links)

    def _transfer(self, request: Request, id: str) -> Transfer:
        connection = self._session(request, "move:money")
        for one in self._transfers:
            if one.connection is connection and id in (one.quote_id, one.payment_id):
                return one
        raise Fault(404, "resource.unknown")

    def _confirm(self, request: Request, id: str) -> Response:
        transfer, total = self._transfer(request, id), self._read(request, "payment").get("total")
        check(409, total == transfer.document["total"], "quote.total_changed", PLACE + "total")
        if transfer.payment_id:
            return self._tell_payment(200, transfer)
        check(409, transfer.validity == "open", "quote.stale")
        transfer.validity, transfer.since = "used", self.clock.now
        transfer.payment_id, transfer.ticket = self._word("pay_"), self._word("", 20)
        transfer.move("unsigned")
        return self._tell_payment(201, transfer)

    def _tell_payment(self, status: int, transfer: Transfer) -> Response:
        links = {"self": f"{MOVES}/payments/{transfer.payment_id}", "quote": f"{MOVES}/quotes/{transfer.quote_id}"}
        if transfer.progress == "unsigned":
            links["sign"] = f"/hosted/sign/{transfer.ticket}"
        attributes = {"progress": transfer.progress, "revision": transfer.revision, **transfer.document}
        return self._tell(status, "payment", transfer.payment_id, attributes, links)

    def _withdraw(self, request: Request, id: str) -> Response:
        transfer, asked = self._transfer(request, id), self._read(request, "payment")
        check(422, asked.get("progress") == "withdrawn", "value.not_allowed", PLACE + "progress")
        check(409, asked.get("revision") == transfer.revision, "payment.revision_stale", PLACE + "revision")
        check(409, transfer.progress in ("unsigned", "signed"), "payment.too_late", PLACE + "progress")
        transfer.move("withdrawn")
        return self._tell_payment(200, transfer)

    def _sign(self, request: Request, ticket: str) -> Response:
        transfer = next((one for one in self._transfers if one.ticket == ticket), None)
        if not transfer or transfer.progress != "unsigned" or not (customer := transfer.connection.customer):
            return show(410, "Raba", "<p>There is nothing to sign.</p>")
        is_signed = request.field("choice") == "sign" and request.field("signing_code") == customer.signing_code
        if is_signed or request.field("choice") == "decline":
            transfer.move("signed" if is_signed else "declined")
            transfer.since = self.clock.now
            query = urlencode({"payment": transfer.payment_id, "result": transfer.progress})
            return Response(302, "", {"Location": f"{transfer.connection.request['redirect_uri']}?{query}"})
        hint = "Your signing code is wrong." if request.method == "POST" else ""
        exponent, whom = EXPONENTS[transfer.account.unit], html.escape(transfer.document["to"]["name"])
        total = f"{transfer.account.unit} {transfer.minor('total') / 10**exponent:,.{exponent}f}"
        fields = '<input name="signing_code" type="password">'
        fields += "".join(f'<button name="choice" value="{word}">{word}</button>' for word in ("sign", "decline"))
        asked = f"<p>Pay {total}, fee included, to {whom}?</p>"
        return show(200, "Raba", f'<p>{hint}</p>{asked}<form method="post">{fields}</form>')
