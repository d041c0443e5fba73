"""Vltava, a Czech bank after the Czech Standard for Open Banking, with differences of its own.

- POST `/oauth2/grants` (HTTP Basic; `scopes` of AISP and PISP, `validityDays` to 180, `redirectUri`, `clientState`): a
  grant is REQUESTED, then ACTIVE, DENIED, REVOKED (by DELETE) or EXPIRED (undecided for 30 minutes, or at `validTo`).
- `authorizeUrl` is the customer's page, which leads back by 302 with `code` and `state`, or with an `error`.
- POST `/oauth2/token`, a form with Basic, takes the code once, within 5 minutes. An access token lives 30 minutes; a
  refresh brings no new refresh token. Tokens die with their grant. Errors below `/oauth2` are OAuth's.
- All else needs WEB-API-key (412) and a bearer token (401). Errors are a list, with `scope` and `parameters` in
  capitals. Times and days are those of Prague. Every answer has X-Vltava-Trace, which errors repeat.
- Lists have `page` from 0 and `size`; `pageSize` counts this page, the last one lacks `nextPage`, one beyond is 404.
  Transactions are newest first, from `fromDate` to `toDate`, at most 120 days back.
- Amounts are unsigned numbers in CZK, `creditDebitIndicator` has the direction. Payees are numbers with their check by
  11 and a known bank code. VS and SS have at most 10 digits, KS 4.
- An `instructionIdentification` that was used gives 409 with the payment's id. Above 200 000 CZK a payment is refused.
- A payment is TOSIGN for a day, then LAPSED, DECLINED or QUEUED. INST is INPROC after 5 seconds and SETTLED after 60,
  at all hours, or REJECTED if the payee's bank takes no part. NORM begins at 6:00 on its day, takes 2 and 20 minutes;
  for today it moves to the next banking day after 20:30 and on weekends. Without cover at its start it is REJECTED.
- Payments can be put into a batch, which has one signature; their own ones are SUPERSEDED.
- `sign/{signId}`: GET tells the scenarios (above 50 000 CZK only the page), POST begins one, PUT sends the code, which
  is the same for all customers of the test bank. The third wrong code BLOCKS it and declines the payments.
- DELETE withdraws a payment that is not signed, or a NORM one that is still queued.
"""

import base64
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

PRAGUE = ZoneInfo("Europe/Prague")
CLIENTS = {"kolovrat": ("modra-sova", "8f2c41d0"), "platiplat": ("tichy-rys", "17be90a3")}
SCOPES = ("AISP", "PISP")
INSTANT, OTHERS = ("0100", "0300", "0800", "2010", "3030", "5500", "6990"), ("0710", "6000")
CODE, LIMIT, CODE_LIMIT = "739204", 20_000_000, 5_000_000
INSTRUCTION, PRIORITY = "paymentIdentification.instructionIdentification", "paymentTypeInformation.instructionPriority"
AMOUNT, PAYEE = "amount.instructedAmount", "creditorAccount.identification.other"
PAYER, DAY = "debtorAccount.identification.iban", "requestedExecutionDate"
SYMBOLS = "remittanceInformation.structured.creditorReferenceInformation.reference"
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
SHOPS = "Pekárna U Mlýna|Lékárna Pod Lípou|Dopravní podnik|Energie Povltaví|Knihy Kampa|Potraviny Šťastný".split("|")
PEOPLE = {
    ("30517742", "Pstruh-2914"): "19-2539898300 Běžný účet|1124576495 Účet na nájem",
    ("41860395", "Kapradina-77"): "1567970168 Domácnost|27-1014530381 Osobní|3358220271 Chalupa",
    ("52204618", "Jalovec-305"): "2616477148 Podnikání",
}


@dataclass
class Account:
    id: str
    number: str
    name: str
    halers: int
    entries: list[dict[str, Any]] = field(default_factory=list)

    @property
    def iban(self) -> str:
        prefix, _, number = self.number.rpartition("-")
        rest = f"6990{prefix:0>6}{number:0>10}"
        return f"CZ{98 - int(rest + '123500') % 97:02}{rest}"


@dataclass(frozen=True)
class Customer:
    login: tuple[str, str]
    accounts: Sequence[Account]


@dataclass
class Grant:
    id: str
    client: str
    page: str
    wish: dict[str, Any]
    made: datetime
    state: str = "REQUESTED"
    customer: Customer | None = None
    ends: datetime | None = None


@dataclass
class Order:
    """A payment, or a batch of `parts`, with its signature."""

    id: str
    sign: str
    page: str
    owner: tuple[str, Customer]
    parts: list["Order"]
    halers: int
    made: datetime
    document: dict[str, Any] = field(default_factory=dict)
    account: Account | None = None
    is_instant: bool = False
    status: str = "TOSIGN"
    signed: datetime | None = None
    more: dict[str, str] = field(default_factory=dict)
    state: str = "OPEN"
    scenario: str = ""
    tries: int = 3
    back: str = ""

    @property
    def scenarios(self) -> list[list[str]]:
        is_open = self.state in ("OPEN", "PROCESSING")
        return [["CODE"], ["USERAGENT_REDIRECT"]][self.halers > CODE_LIMIT :] if is_open else []

    @property
    def sign_info(self) -> dict[str, Any]:
        return {"signInfo": {"state": self.state, "signId": self.sign}}

    @property
    def status_info(self) -> dict[str, str]:
        if not self.parts:
            return {"instructionStatus": self.status, **self.more}
        states = {one.status for one in self.parts}
        order = {"TOSIGN": "TOSIGN", "QUEUED": "RUNNING", "INPROC": "RUNNING", "SETTLED": "DONE", "REJECTED": "DONE"}
        return {"batchStatus": next((word for state, word in order.items() if state in states), "CLOSED")}

    @property
    def shown(self) -> dict[str, Any]:
        rows = [{"paymentId": one.id, **one.status_info} for one in self.parts]
        document = {"batchId": self.id, "controlSum": money(self.halers), "payments": rows} if rows else self.document
        return {**document, **self.sign_info, **self.status_info}

    def close(self, state: str, now: datetime) -> None:
        self.state = state
        for payment in self.parts or [self]:
            payment.status, payment.signed = ("QUEUED", now) if state == "DONE" else ("DECLINED", None)


def dig(document: Any, place: str) -> Any:
    for part in place.split("."):
        document = document.get(part) if isinstance(document, dict) else None
    return document


def money(halers: int) -> dict[str, Any]:
    return {"value": halers / 100, "currency": "CZK"}


def is_number(text: str) -> bool:
    """Whether this is an account number, with prefix or without, that passes the check by 11."""
    match = re.fullmatch(r"(?:(\d{2,6})-)?(\d{2,10})", text)
    parts = [f"{part or '0':0>10}" for part in match.groups()] if match else ["0000000001"]
    weights = (6, 3, 7, 9, 10, 5, 8, 4, 2, 1)
    return all(sum(int(sign) * weight for sign, weight in zip(one, weights, strict=True)) % 11 == 0 for one in parts)


def banking_day(day: date) -> date:
    """This day, or the Monday after."""
    return day + timedelta(days=7 - day.weekday() if day.weekday() > 4 else 0)


class Vltava:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"vltava {seed}")
        self._grants: dict[str, Grant] = {}
        self._tokens: dict[str, tuple[Grant, datetime | None]] = {}
        self._orders: dict[str, Order] = {}
        self._instructions: dict[tuple[str, str], str] = {}
        self._customers = [
            Customer(login, [self._open(*one.split(" ", 1)) for one in words.split("|")])
            for login, words in PEOPLE.items()
        ]
        accounts, order = "/aisp/v2/my/accounts", "/pisp/v2/my/(?P<kind>payments|batches)/{id}"
        grant, sign = "/oauth2/grants/{id}", order + "/sign/{sign}"
        self._routes = Routes(
            ("POST", "/oauth2/grants", self._ask_grant),
            ("GET", grant, lambda request, id: self._tell_grant(request, 200, self._grant(request, id))),
            ("DELETE", grant, self._revoke),
            ("POST", "/oauth2/token", self._give_token),
            ("GET", accounts, self._list_accounts),
            ("GET", accounts + "/{id}/balances", self._balances),
            ("GET", accounts + "/{id}/transactions", self._list_entries),
            ("POST", "/pisp/v2/my/payments", self._pay),
            ("POST", "/pisp/v2/my/batches", self._bundle),
            ("GET", order, lambda request, **ids: respond(200, self._order(request, **ids).shown)),
            ("GET", order + "/status", lambda request, **ids: respond(200, self._order(request, **ids).status_info)),
            ("DELETE", "/pisp/v2/my/(?P<kind>payments)/{id}", self._withdraw),
            ("GET", sign, self._tell_scenarios),
            ("POST", sign, self._begin_signing),
            ("PUT", sign, self._check_code),
            ("GET", "/ib/(?:souhlas|podpis)", lambda request: self._page(request)[1]),
            ("POST", "/ib/(?:souhlas|podpis)", self._decide),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        trace = {"X-Vltava-Trace": self._word(32, "0123456789abcdef")}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            response = handler(request, **parameters)
            return Response(response.status, response.content, {**response.headers, **trace})
        except Fault as error:
            fault = error
        except NoRoute as wrong:
            fault = Fault(405, "METHOD_NOT_ALLOWED") if wrong.allowed else Fault(404, "ID_NOT_FOUND", "path")
        except ValueError:
            fault = Fault(400, "SYNTAX_INVALID", "query" if request.method == "GET" else "body")
        if request.path.startswith("/oauth2/"):
            return respond(fault.status, {"error": fault.word.lower(), "error_description": fault.place}, trace)
        shown = {"error": fault.word, "scope": fault.place, "parameters": fault.more}
        errors = [{name: value for name, value in shown.items() if value}]
        return respond(fault.status, {"errors": errors, "traceId": trace["X-Vltava-Trace"]}, trace)

    def _now(self, **time: float) -> datetime:
        return (self.clock.now + timedelta(**time)).astimezone(PRAGUE)

    def _word(self, length: int, signs: str = "0123456789") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _open(self, number: str, name: str) -> Account:
        halers = self._random.randrange(24_000_000, 60_000_000)
        account = Account(self._word(40, "0123456789ABCDEF"), number, name, halers)
        for days in self._random.sample(range(1, 80), 30):
            change = self._random.choice((-1, -1, -1, 1)) * self._random.randrange(4_900, 310_000)
            day, who = self._now(days=-days).date(), self._random.choice(SHOPS)
            self._enter(account, day, change, "20000101000", who, {"unstructured": "Platba kartou"})
        return account

    def _enter(self, account: Account, day: date, halers: int, code: str, who: str, remittance: Any) -> None:
        party, sign = ("creditor", "DBIT") if halers < 0 else ("debtor", "CRDT")
        details = {"relatedParties": {party: {"name": who}}, "remittanceInformation": remittance}
        entry = {"entryReference": f"{day:%Y%m%d}{self._word(8)}", "amount": money(abs(halers)), "status": "BOOK"}
        entry |= {"creditDebitIndicator": sign, "bookingDate": {"date": f"{day}"}, "bankTransactionCode": code}
        entry |= {"entryDetails": {"transactionDetails": details}}
        account.entries.append(entry)
        account.entries.sort(key=lambda one: str(one["bookingDate"]["date"]), reverse=True)

    def _available(self, account: Account, but: Order | None = None) -> int:
        others = [one for one in self._orders.values() if one.account is account and one is not but]
        held = [one for one in others if one.status == "INPROC" or (one.status == "QUEUED" and one.is_instant)]
        return account.halers - sum(one.halers for one in held)

    def _advance(self) -> None:
        for grant in self._grants.values():
            until = grant.ends or grant.made + timedelta(minutes=30)
            if grant.state in ("REQUESTED", "ACTIVE") and self._now() >= until:
                grant.state = "EXPIRED"
        for order in self._orders.values():
            if order.account and order.status == "TOSIGN" and self._now() >= order.made + timedelta(days=1):
                order.status = "LAPSED"
            if order.account and order.signed:
                self._process(order, order.account, order.signed)
            if order.scenarios and any(one.status != "TOSIGN" for one in order.parts or [order]):
                order.state = "CLOSED"

    def _process(self, order: Order, account: Account, start: datetime) -> None:
        if not order.is_instant:
            start = max(start, datetime.combine(date.fromisoformat(order.document[DAY]), time(6), PRAGUE))
        begins, ends = (start + timedelta(seconds=one) for one in ((5, 60) if order.is_instant else (120, 1200)))
        if order.status == "QUEUED" and self._now() >= begins:
            is_covered = self._available(account, order) >= order.halers
            order.status = "INPROC" if is_covered else "REJECTED"
            order.more = {} if is_covered else {"reason": "AMOUNT_NOT_COVERED"}
        if order.status == "INPROC" and self._now() >= ends:
            if order.is_instant and dig(order.document, PAYEE)[-4:] in OTHERS:
                order.status, order.more = "REJECTED", {"reason": "BANK_NOT_INSTANT"}
                return
            order.status, order.more = "SETTLED", {"realExecutionDate": ends.date().isoformat()}
            account.halers -= order.halers
            who, remittance = order.document["creditor"]["name"], order.document["remittanceInformation"]
            self._enter(account, ends.date(), -order.halers, "10000405000", who, remittance)

    def _client(self, request: Request) -> str:
        for client, (secret, _) in CLIENTS.items():
            words = base64.b64encode(f"{client}:{secret}".encode()).decode()
            if request.headers.get("authorization") == f"Basic {words}":
                return client
        raise Fault(401, "invalid_client", "Send the client's id and secret by HTTP Basic.")

    def _ask_grant(self, request: Request) -> Response:
        client, wish = self._client(request), request.document
        scopes, days = wish.get("scopes"), wish.get("validityDays")
        if not isinstance(scopes, list) or not scopes or not all(one in SCOPES for one in scopes):
            raise Fault(400, "invalid_scope", f"scopes are of {', '.join(SCOPES)}")
        is_back = str(wish.get("redirectUri")).startswith("https://") and isinstance(wish.get("clientState"), str)
        if not isinstance(days, int) or not 1 <= days <= 180 or not is_back:
            raise Fault(400, "invalid_request", "Send validityDays from 1 to 180, redirectUri with https, clientState.")
        grant = Grant(self._word(24, "0123456789abcdef"), client, self._word(20, LETTERS), wish, self._now())
        self._grants[grant.id] = grant
        return self._tell_grant(request, 201, grant)

    def _grant(self, request: Request, id: str) -> Grant:
        client, grant = self._client(request), self._grants.get(id)
        if not grant or grant.client != client:
            raise Fault(404, "unknown_grant", "There is no such grant.")
        return grant

    def _tell_grant(self, request: Request, status: int, grant: Grant) -> Response:
        document = {"grantId": grant.id, "grantState": grant.state, "createdAt": grant.made.isoformat()}
        document |= {name: grant.wish[name] for name in ("scopes", "validityDays")}
        if grant.state == "REQUESTED":
            document["authorizeUrl"] = f"{request.origin}/ib/souhlas?relace={grant.page}"
        return respond(status, document | ({"validTo": grant.ends.isoformat()} if grant.ends else {}))

    def _revoke(self, request: Request, id: str) -> Response:
        grant = self._grant(request, id)
        if grant.state not in ("REQUESTED", "ACTIVE"):
            raise Fault(409, "grant_closed", f"The grant is {grant.state}.")
        grant.state = "REVOKED"
        return self._tell_grant(request, 200, grant)

    def _give_token(self, request: Request) -> Response:
        client, kind = self._client(request), request.field("grant_type")
        names = {"authorization_code": "code", "refresh_token": "refresh_token"}
        if kind not in names:
            raise Fault(400, "unsupported_grant_type", "Send authorization_code or refresh_token.")
        key = f"{kind} {request.field(names[kind])}"
        grant, until = self._tokens.get(key, (None, None))
        if not grant or grant.client != client or grant.state != "ACTIVE" or (until and until <= self._now()):
            raise Fault(400, "invalid_grant", "This is unknown, used, too old or without an active grant.")
        token, refresh = self._word(40, LETTERS), self._word(44, LETTERS)
        document = {"access_token": token, "token_type": "Bearer", "scope": " ".join(grant.wish["scopes"])}
        self._tokens[f"Bearer {token}"] = grant, self._now(minutes=30)
        if kind == "authorization_code":
            del self._tokens[key]
            self._tokens[f"refresh_token {refresh}"] = grant, None
            document["refresh_token"] = refresh
        return respond(200, document | {"expires_in": 1800}, {"Cache-Control": "no-store"})

    def _allow(self, request: Request, scope: str) -> tuple[str, Customer]:
        clients = {key: client for client, (_, key) in CLIENTS.items()}
        if not (client := clients.get(request.headers.get("web-api-key", ""))):
            raise Fault(412, "API_KEY_MISSING", "WEB-API-key")
        token = request.headers.get("authorization", "")
        grant, until = self._tokens.get(token if token.startswith("Bearer ") else "", (None, None))
        if not grant or not until or until <= self._now() or (grant.client, grant.state) != (client, "ACTIVE"):
            raise Fault(401, "UNAUTHORISED", "Authorization")
        if scope not in grant.wish["scopes"] or not grant.customer:
            raise Fault(403, "SCOPE_NOT_GRANTED", SCOPE=scope)
        return client, grant.customer

    def _tell_page(self, request: Request, name: str, rows: Sequence[Any]) -> Response:
        number, size = int(request.query.get("page", "0")), int(request.query.get("size", "20"))
        if not 1 <= size <= 50:
            raise Fault(400, "PARAMETER_INVALID", "size", MIN="1", MAX="50")
        count = max(1, -(-len(rows) // size))
        if not 0 <= number < count:
            raise Fault(404, "PAGE_NOT_FOUND", "page", PAGE=str(number))
        shown = rows[number * size : (number + 1) * size]
        more = {"nextPage": number + 1} if number + 1 < count else {}
        return respond(200, {"pageNumber": number, "pageCount": count, "pageSize": len(shown), **more, name: shown})

    def _list_accounts(self, request: Request) -> Response:
        _, customer = self._allow(request, "AISP")
        rows = []
        for one in customer.accounts:
            row = {"id": one.id, "identification": {"iban": one.iban, "other": f"{one.number}/6990"}, "currency": "CZK"}
            rows.append(row | {"servicer": {"bankCode": "6990", "bic": "VLTACZPP"}, "nameI18N": one.name})
        return self._tell_page(request, "accounts", rows)

    def _account(self, request: Request, id: str) -> Account:
        for account in self._allow(request, "AISP")[1].accounts:
            if account.id == id:
                return account
        raise Fault(404, "ID_NOT_FOUND", "id", ID=id)

    def _balances(self, request: Request, id: str) -> Response:
        account, rows = self._account(request, id), []
        for code, halers in (("CLBD", account.halers), ("CLAV", self._available(account))):
            row = {"type": {"codeOrProprietary": {"code": code}}, "date": {"dateTime": self._now().isoformat()}}
            rows.append(row | {"amount": money(abs(halers)), "creditDebitIndicator": "DBIT" if halers < 0 else "CRDT"})
        return respond(200, {"balances": rows})

    def _list_entries(self, request: Request, id: str) -> Response:
        account, oldest = self._account(request, id), self._now(days=-120).date()
        first = date.fromisoformat(request.query.get("fromDate", f"{self._now(days=-90):%Y-%m-%d}"))
        last = date.fromisoformat(request.query.get("toDate", f"{self._now():%Y-%m-%d}"))
        if not oldest <= first <= last:
            raise Fault(400, "PARAMETER_INVALID", "fromDate", MIN=oldest.isoformat(), MAX=last.isoformat())
        rows = [one for one in account.entries if f"{first}" <= one["bookingDate"]["date"] <= f"{last}"]
        return self._tell_page(request, "transactions", rows)

    def _check(self, body: dict[str, Any], payers: Sequence[str]) -> None:
        value, (number, _, bank) = dig(body, AMOUNT + ".value"), str(dig(body, PAYEE)).partition("/")
        is_amount = type(value) in (int, float) and value > 0 and round(value, 2) == value
        symbols = all(re.fullmatch(r"(VS|SS):\d{1,10}|KS:\d{1,4}", str(one)) for one in dig(body, SYMBOLS) or [])
        instruction, name = (str(dig(body, place) or "") for place in (INSTRUCTION, "creditor.name"))
        checks: list[tuple[bool, str, dict[str, str]]] = [
            (1 <= len(instruction) <= 35, INSTRUCTION, {"MAX_LENGTH": "35"}),
            (dig(body, PRIORITY) in ("NORM", "INST"), PRIORITY, {"ALLOWED": "NORM,INST"}),
            (is_amount, AMOUNT + ".value", {"DECIMALS": "2"}),
            (dig(body, AMOUNT + ".currency") == "CZK", AMOUNT + ".currency", {"ALLOWED": "CZK"}),
            (dig(body, PAYER) in payers, PAYER, {}),
            (1 <= len(name) <= 70, "creditor.name", {"MAX_LENGTH": "70"}),
            (is_number(number), PAYEE, {}),
            (symbols, SYMBOLS, {}),
        ]
        for is_right, place, parameters in checks:
            if not is_right:
                raise Fault(400, "FIELD_INVALID", place, **parameters)
        if round(value * 100) > LIMIT:
            raise Fault(400, "LIMIT_EXCEEDED", AMOUNT + ".value", LIMIT="200000.00", CURRENCY="CZK")
        if bank not in (*INSTANT, *OTHERS):
            raise Fault(400, "BANK_CODE_UNKNOWN", PAYEE, BANK_CODE=bank)

    def _plan(self, body: dict[str, Any], is_instant: bool) -> date:
        today = self._now().date()
        day, last = date.fromisoformat(str(body.get(DAY, today))), today + timedelta(days=0 if is_instant else 90)
        if not today <= day <= last:
            raise Fault(400, "DATE_OUT_OF_RANGE", DAY, MIN=today.isoformat(), MAX=last.isoformat())
        if day == today and not is_instant:
            return banking_day(today + timedelta(days=int(self._now().time() >= time(20, 30))))
        if day != banking_day(day) and not is_instant:
            raise Fault(400, "DATE_NOT_BANKING_DAY", DAY, NEXT=banking_day(day).isoformat())
        return day

    def _pay(self, request: Request) -> Response:
        (client, customer), body = self._allow(request, "PISP"), request.document
        accounts = {one.iban: one for one in customer.accounts}
        self._check(body, list(accounts))
        account, instruction = accounts[dig(body, PAYER)], dig(body, INSTRUCTION)
        if id := self._instructions.get((client, instruction)):
            raise Fault(409, "DUPLICATE_INSTRUCTION", INSTRUCTION, PAYMENT_ID=id)
        halers, is_instant = round(dig(body, AMOUNT + ".value") * 100), dig(body, PRIORITY) == "INST"
        day = self._plan(body, is_instant)
        if day == self._now().date() and halers > self._available(account):
            raise Fault(400, "AMOUNT_NOT_COVERED", AMOUNT + ".value")
        id = self._instructions[client, instruction] = "7" + self._word(11)
        ids = {"instructionIdentification": instruction, "transactionIdentification": id}
        names = "paymentTypeInformation amount debtorAccount creditor creditorAccount remittanceInformation".split()
        document = {"paymentIdentification": ids, "remittanceInformation": {}} | {DAY: day.isoformat()}
        document |= {name: body[name] for name in names if name in body}
        document["cutOffMoved"] = body.get(DAY, f"{self._now():%Y-%m-%d}") != day.isoformat()
        return self._file(id, (client, customer), [], halers, document, account, is_instant)

    def _file(self, id: str, owner: tuple[str, Customer], parts: list[Order], halers: int, *more: Any) -> Response:
        order = Order(id, self._word(15), self._word(22, LETTERS), owner, parts, halers, self._now(), *more)
        self._orders[id] = order
        return respond(201, order.shown)

    def _order(self, request: Request, kind: str, id: str, sign: str = "") -> Order:
        owner, order = self._allow(request, "PISP"), self._orders.get(id)
        if (
            not order
            or order.owner != owner
            or bool(order.parts) != (kind == "batches")
            or sign not in ("", order.sign)
        ):
            raise Fault(404, "ID_NOT_FOUND", ID=sign or id)
        return order

    def _withdraw(self, request: Request, kind: str, id: str) -> Response:
        order = self._order(request, kind, id)
        if order.status != "TOSIGN" and (order.status != "QUEUED" or order.is_instant):
            raise Fault(409, "PAYMENT_NOT_CANCELLABLE", "id", STATUS=order.status)
        order.status = "WITHDRAWN"
        return respond(200, order.status_info)

    def _bundle(self, request: Request) -> Response:
        owner, ids = self._allow(request, "PISP"), request.document.get("paymentIds")
        if not isinstance(ids, list) or not 2 <= len(set(map(str, ids))) == len(ids) <= 50:
            raise Fault(400, "FIELD_INVALID", "paymentIds", MIN="2", MAX="50")
        parts = [self._order(request, "payments", str(id)) for id in ids]
        for one in parts:
            if one.status != "TOSIGN" or one.state != "OPEN":
                raise Fault(409, "PAYMENT_NOT_SIGNABLE", "paymentIds", ID=one.id, STATUS=one.status)
        for one in parts:
            one.state = "SUPERSEDED"
        return self._file("9" + self._word(9), owner, parts, sum(one.halers for one in parts))

    def _tell_scenarios(self, request: Request, **ids: str) -> Response:
        order = self._order(request, **ids)
        return respond(200, {"scenarios": order.scenarios, **order.sign_info})

    def _begin_signing(self, request: Request, **ids: str) -> Response:
        order, body = self._order(request, **ids), request.document
        chosen, back = str(body.get("authorizationType")), str(body.get("redirectUrl"))
        if not order.scenarios:
            raise Fault(409, "SIGN_CLOSED", "signId", STATE=order.state)
        if [chosen] not in order.scenarios or (chosen != "CODE" and not back.startswith("https://")):
            raise Fault(400, "SCENARIO_NOT_ALLOWED", "authorizationType")
        order.state, order.scenario, order.back = "PROCESSING", chosen, back
        page = {"url": f"{request.origin}/ib/podpis?relace={order.page}", "method": "GET"}
        how = {"delivery": "SMS", "codeLength": 6} if chosen == "CODE" else {"href": page, "pollInterval": 2000}
        return respond(200, {"authorizationType": chosen, **how, **order.sign_info})

    def _check_code(self, request: Request, **ids: str) -> Response:
        order, body = self._order(request, **ids), request.document
        if (order.state, order.scenario) != ("PROCESSING", "CODE"):
            raise Fault(409, "SIGN_CLOSED", "signId", STATE=order.state)
        if body.get("oneTimePassword") != CODE:
            order.tries -= 1
            if not order.tries:
                order.close("BLOCKED", self._now())
            raise Fault(400, "OTP_INVALID", "oneTimePassword", REMAINING=str(order.tries))
        order.close("DONE", self._now())
        return respond(200, order.sign_info)

    def _page(self, request: Request, hint: str = "", status: int = 200) -> tuple[Grant | Order | None, Response]:
        grants = [one for one in self._grants.values() if one.state == "REQUESTED"]
        orders = [one for one in self._orders.values() if (one.state, one.scenario[:4]) == ("PROCESSING", "USER")]
        code = request.query.get("relace")
        things: list[Grant | Order] = [*grants, *orders]
        thing = next((one for one in things if one.page == code), None)
        if not thing:
            return None, show(404, "Vltava", "<p>Stránka neexistuje nebo už není platná.</p>")
        if isinstance(thing, Grant):
            asked, words = f"Aplikace {thing.client} žádá o přístup k vašim účtům.", ("souhlasim", "nesouhlasim")
        else:
            asked, words = f"Platba celkem {thing.halers / 100:.2f} CZK.", ("podepsat", "odmitnout")
        fields = ['<input name="klient"><input name="heslo" type="password">']
        fields += [f'<button name="volba" value="{word}">{word}</button>' for word in words]
        page = f'<p>{hint}</p><p>{asked}</p><form method="post">{"".join(fields)}</form>'
        return thing, show(status, "Vltava", page)

    def _decide(self, request: Request) -> Response:
        thing, page = self._page(request)
        given, choice = (request.field("klient"), request.field("heslo")), request.field("volba")
        customer = next((one for one in self._customers if one.login == given), None)
        if not thing or not customer or (isinstance(thing, Order) and customer is not thing.owner[1]):
            return self._page(request, "Chybné číslo klienta nebo heslo.", 401)[1] if thing else page
        if isinstance(thing, Order):
            state, result = ("DONE", "OK") if choice == "podepsat" else ("REFUSED", "CANCELLED")
            thing.close(state, self._now())
            return Response(302, "", {"Location": f"{thing.back}?signId={thing.sign}&result={result}"})
        back, code = thing.wish["redirectUri"], self._word(28, LETTERS)
        thing.customer, thing.state = customer, "ACTIVE" if choice == "souhlasim" else "DENIED"
        result = f"code={code}" if thing.state == "ACTIVE" else "error=access_denied"
        if thing.state == "ACTIVE":
            thing.ends = self._now(days=thing.wish["validityDays"])
            self._tokens[f"authorization_code {code}"] = thing, self._now(minutes=5)
        return Response(302, "", {"Location": f"{back}?{result}&state={thing.wish['clientState']}"})
