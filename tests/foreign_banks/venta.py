"""Venta, a Latvian bank: the Berlin Group's NextGenPSD2 with deviations of its own.

1. Headers: X-Trace-Id (a UUID, repeated in answers) for X-Request-ID, X-Consent-Ref for Consent-ID, X-Return-To for
   TPP-Redirect-URI. X-Client-Id names the app, in place of a certificate; without it 401.
2. All is below `/open/v2`. Ids are VC-, VT- or VA- (consent, transfer, authorisation) with digits: `VC-12345-6789`.
3. Errors are `{"fault": {"code", "text", "target"?}, "traceId"}`; there are no tppMessages.
4. Links are a list of `rel` and `href`.   5. Amounts are JSON numbers in euros, beside their currency.
6. `access` of a consent is a list of words; the consent is for all accounts of the customer, for at most 60 days (422).
7. Consents are PENDING, ACTIVE, WITHDRAWN or EXPIRED. DELETE gives 200 and the consent, not 204.
8. Consents are authorised in the app: POST `…/authorisations`, then PUT with `action` IDENTIFY (login and password),
   then CONFIRM (the code of the customer's code card). It is STARTED, IDENTIFIED, COMPLETED. Wrong secrets give 401.
9. Transfers are authorised at the bank's page: POST `…/authorisations` with X-Return-To gives the link `sign`. The page
   is a form with login, password and decision (sign or reject), and redirects with 302; a used link gives 410.
10. Entries are a flat list with a `direction` (IN or OUT, also a filter) and amounts above 0, newest first; the period
   is `bookedFrom` to `bookedTo`, at most 90 days back.   11. Pages are numbered: `page` and `pageSize` (1 to 50).
12. Transfers are one resource, `/credit-transfers`, and no product or /status is in the path. POST gives 202.
13. A transfer is REGISTERED, SIGNED or REFUSED, EXECUTING two minutes after it is signed, and COMPLETED after ten. It
   lowers the available balance from SIGNED on, and the booked one when COMPLETED. DELETE before EXECUTING gives 204 and
   makes it CANCELLED; later 409.   14. At most 5000 EUR, and the available balance, are accepted (422).
15. The app's `clientReference` is used once (409).
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

BASE = "/open/v2"
CONSENTS, ACCOUNTS, TRANSFERS = f"{BASE}/consents", f"{BASE}/accounts", f"{BASE}/credit-transfers"
ACCESS = ("accounts", "balances", "transactions")
CLIENTS = ("skudra", "bite")
MOST_DAYS, MOST_CENTS = 60, 500_000
SHOPS = ("Maiznica Saule", "Kuldigas Aptieka", "Ventspils Siltums", "Gramatu Nams", "Rigas Tramvajs", "Piena Veikals")
PAYERS = ("Liepajas Koks SIA", "Nodoklu parvalde", "Janis Ozols")
TEXTS = {
    "ACCESS_NOT_GRANTED": "The consent does not include this access",
    "ACCOUNT_UNKNOWN": "There is no such account",
    "AUTHORISATION_UNKNOWN": "There is no such authorisation",
    "BODY_INVALID": "The body is not a JSON object",
    "CLIENT_UNKNOWN": "X-Client-Id is missing or unknown",
    "CONSENT_NOT_ACTIVE": "The consent is not active",
    "CONSENT_UNKNOWN": "There is no such consent",
    "FIELD_INVALID": "A member is missing or has a wrong value",
    "HEADER_INVALID": "A header is missing or has a wrong value",
    "INSUFFICIENT_FUNDS": "The account does not cover the transfer",
    "LIMIT_EXCEEDED": "The value is above the bank's limit",
    "METHOD_NOT_ALLOWED": "The method is not allowed here",
    "PARAMETER_INVALID": "A parameter has a wrong value",
    "PATH_UNKNOWN": "There is nothing at this path",
    "REFERENCE_REUSED": "The client reference has been used",
    "SECRET_WRONG": "The login, the password or the code is wrong",
    "STATE_CONFLICT": "The state does not allow this",
    "TRANSFER_UNKNOWN": "There is no such transfer",
}


@dataclass
class Account:
    ref: str
    iban: str
    name: str
    cents: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    login: str
    password: str
    code: str
    name: str
    accounts: Sequence[Account]


@dataclass
class Authorisation:
    ref: str
    path: str
    back: str = ""
    word: str = ""
    sca: str = "STARTED"
    customer: Customer | None = None


@dataclass
class Consent:
    ref: str
    client: str
    access: list[str]
    until: date
    created: datetime
    state: str = "PENDING"
    customer: Customer | None = None
    authorisations: dict[str, Authorisation] = field(default_factory=dict)


@dataclass
class Transfer:
    ref: str
    client: str
    document: dict[str, Any]
    cents: int
    payer: Account
    created: datetime
    state: str = "REGISTERED"
    signed: datetime | None = None
    authorisations: dict[str, Authorisation] = field(default_factory=dict)


def check_digits(country: str, rest: str) -> str:
    digits = "".join(str(int(sign, 36)) for sign in rest + country + "00")
    return f"{98 - int(digits) % 97:02}"


def is_iban(text: Any) -> bool:
    if not isinstance(text, str) or not re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text):
        return False
    return check_digits(text[:2], text[4:]) == text[2:4]


def read_cents(amount: Any) -> int:
    """Raises ValueError unless it is a number above 0 with at most two decimals."""
    if isinstance(amount, int | float) and not isinstance(amount, bool):
        cents = round(amount * 100)
        if cents > 0 and abs(amount * 100 - cents) < 1e-6:
            return cents
    raise ValueError("no amount")


def link(rel: str, href: str) -> dict[str, str]:
    return {"rel": rel, "href": href}


class Venta:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"venta {seed}")
        self._consents: dict[str, Consent] = {}
        self._transfers: dict[str, Transfer] = {}
        self._references: set[tuple[str, str]] = set()
        self._pages: dict[str, tuple[Transfer, Authorisation]] = {}
        first = [
            self._open("Norekinu konts", "0001734520012", 241_860),
            self._open("Krajkonts", "0001734520025", 91_305),
        ]
        second = [
            self._open("Algas konts", "0004418830017", 187_542),
            self._open("Gimenes konts", "0004418830020", 320_499),
            self._open("Uzkrajums", "0004418830033", 64_000),
        ]
        self._customers = [
            Customer("andris.kalns", "Gauja-1201", "48213", "Andris Kalns", first),
            Customer("liga.berzina", "Daugava-77", "90562", "Liga Berzina", second),
        ]
        consent, account, transfer = CONSENTS + "/{ref}", ACCOUNTS + "/{ref}", TRANSFERS + "/{ref}"
        self._routes = Routes(
            ("POST", CONSENTS, self._ask),
            ("GET", consent, lambda request, ref: self._tell_consent(request, 200, self._consent(request, ref))),
            ("DELETE", consent, self._withdraw),
            ("POST", consent + "/authorisations", self._authorise_consent),
            ("PUT", consent + "/authorisations/{sca}", self._go_on),
            ("GET", ACCOUNTS, self._list_accounts),
            ("GET", account + "/balances", self._balances),
            ("GET", account + "/transactions", self._list_entries),
            ("POST", TRANSFERS, self._register),
            ("GET", transfer, lambda request, ref: self._tell_transfer(request, 200, self._transfer(request, ref))),
            ("DELETE", transfer, self._cancel),
            ("POST", transfer + "/authorisations", self._authorise_transfer),
        )
        self._customer_routes = Routes(("GET", "/sign/{word}", self._page), ("POST", "/sign/{word}", self._decide))

    def answer(self, request: Request) -> Response:
        self._advance()
        if request.path.startswith("/sign/"):
            try:
                handler, parameters = self._customer_routes.find(request.method, request.path)
                return handler(request, **parameters)
            except NoRoute:
                return show(404, "Venta", "<p>There is no such page.</p>")
        trace = request.headers.get("x-trace-id", "")
        told = {"X-Trace-Id": trace} if trace else {}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            self._check(request)
            return handler(request, **parameters)
        except NoRoute as wrong:
            fault = Fault(405, "METHOD_NOT_ALLOWED") if wrong.allowed else Fault(404, "PATH_UNKNOWN")
        except Fault as error:
            fault = error
        content: dict[str, Any] = {"code": fault.word, "text": TEXTS[fault.word]}
        if fault.place:
            content["target"] = fault.place
        return respond(fault.status, {"fault": content, "traceId": trace or None}, told)

    def _check(self, request: Request) -> None:
        if request.headers.get("x-client-id") not in CLIENTS:
            raise Fault(401, "CLIENT_UNKNOWN", "X-Client-Id")
        try:
            UUID(request.headers.get("x-trace-id", ""))
        except ValueError:
            raise Fault(400, "HEADER_INVALID", "X-Trace-Id") from None

    def _ref(self, letter: str) -> str:
        return f"V{letter}-{self._random.randrange(100_000):05}-{self._random.randrange(10_000):04}"

    def _open(self, name: str, number: str, cents: int) -> Account:
        rest = f"VNTA{number}"
        ref = f"{self._random.randrange(16**12):012x}"
        account = Account(ref, f"LV{check_digits('LV', rest)}{rest}", name, cents)
        for days in sorted(self._random.sample(range(1, 80), 40), reverse=True):
            direction = self._random.choice(("OUT", "OUT", "IN"))
            who = self._random.choice(SHOPS if direction == "OUT" else PAYERS)
            amount = self._random.randrange(120, 9_000)
            day = self.clock.today - timedelta(days=days)
            self._enter(account, day, direction, amount, who, "Pirkums" if direction == "OUT" else "Ieskaitits")
        return account

    def _enter(self, account: Account, day: date, direction: str, cents: int, who: str, remittance: str) -> None:
        entry = {"entryRef": str(self._random.randrange(10**13, 10**14)), "bookedOn": day.isoformat()}
        entry |= {"direction": direction, "counterparty": who, "remittance": remittance}
        account.entries.insert(0, {**entry, "amount": cents / 100, "currency": "EUR"})

    def _advance(self) -> None:
        for consent in self._consents.values():
            if consent.state in ("PENDING", "ACTIVE") and consent.until < self.clock.today:
                consent.state = "EXPIRED"
        for transfer in self._transfers.values():
            passed = self.clock.now - transfer.signed if transfer.signed else timedelta()
            if transfer.state == "SIGNED" and passed >= timedelta(minutes=2):
                transfer.state = "EXECUTING"
            if transfer.state == "EXECUTING" and passed >= timedelta(minutes=10):
                transfer.state = "COMPLETED"
                transfer.payer.cents -= transfer.cents
                name, remittance = transfer.document["creditorName"], transfer.document["remittance"]
                self._enter(transfer.payer, self.clock.today, "OUT", transfer.cents, name, remittance)

    def _tell(self, request: Request, status: int, document: Any, headers: Mapping[str, str] | None = None) -> Response:
        return respond(status, document, {"X-Trace-Id": request.headers["x-trace-id"], **(headers or {})})

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "BODY_INVALID") from None

    def _ask(self, request: Request) -> Response:
        body = self._body(request)
        access = body.get("access")
        if not isinstance(access, list) or not access or not all(one in ACCESS for one in access):
            raise Fault(400, "FIELD_INVALID", "access")
        try:
            until = date.fromisoformat(body.get("validUntil", ""))
        except (TypeError, ValueError):
            until = date.min
        if until < self.clock.today:
            raise Fault(400, "FIELD_INVALID", "validUntil")
        if until > self.clock.today + timedelta(days=MOST_DAYS):
            raise Fault(422, "LIMIT_EXCEEDED", "validUntil")
        consent = Consent(self._ref("C"), request.headers["x-client-id"], access, until, self.clock.now)
        self._consents[consent.ref] = consent
        return self._tell_consent(request, 201, consent)

    def _consent(self, request: Request, ref: str) -> Consent:
        consent = self._consents.get(ref)
        if not consent or consent.client != request.headers["x-client-id"]:
            raise Fault(404, "CONSENT_UNKNOWN")
        return consent

    def _tell_consent(self, request: Request, status: int, consent: Consent) -> Response:
        path = f"{CONSENTS}/{consent.ref}"
        links = [link("self", path)]
        if consent.state == "PENDING":
            links.append(link("startAuthorisation", f"{path}/authorisations"))
        document = {"consentRef": consent.ref, "state": consent.state, "access": consent.access, "links": links}
        document |= {"validUntil": consent.until.isoformat(), "createdAt": consent.created.isoformat()}
        return self._tell(request, status, document, {"Location": path} if status == 201 else {})

    def _withdraw(self, request: Request, ref: str) -> Response:
        consent = self._consent(request, ref)
        if consent.state not in ("PENDING", "ACTIVE"):
            raise Fault(409, "STATE_CONFLICT")
        consent.state = "WITHDRAWN"
        return self._tell_consent(request, 200, consent)

    def _tell_authorisation(self, request: Request, status: int, one: Authorisation) -> Response:
        links = [link("self", one.path)]
        document: dict[str, Any] = {"authorisationRef": one.ref, "scaState": one.sca}
        if one.word:
            document["approach"] = "BANK_PAGE"
            if one.sca == "STARTED":
                links.append(link("sign", f"/sign/{one.word}"))
        else:
            document["approach"] = "IN_APP"
            if action := {"STARTED": "IDENTIFY", "IDENTIFIED": "CONFIRM"}.get(one.sca):
                document["nextAction"] = action
            if one.customer:
                document["customerName"] = one.customer.name
        return self._tell(request, status, document | {"links": links}, {"Location": one.path} if status == 201 else {})

    def _authorise_consent(self, request: Request, ref: str) -> Response:
        consent = self._consent(request, ref)
        if consent.state != "PENDING":
            raise Fault(409, "STATE_CONFLICT")
        sca = self._ref("A")
        one = Authorisation(sca, f"{CONSENTS}/{ref}/authorisations/{sca}")
        consent.authorisations[sca] = one
        return self._tell_authorisation(request, 201, one)

    def _authorise_transfer(self, request: Request, ref: str) -> Response:
        transfer, back = self._transfer(request, ref), request.headers.get("x-return-to", "")
        if not back.startswith("https://"):
            raise Fault(400, "HEADER_INVALID", "X-Return-To")
        if transfer.state != "REGISTERED":
            raise Fault(409, "STATE_CONFLICT")
        sca, word = self._ref("A"), f"{self._random.randrange(16**24):024x}"
        one = Authorisation(sca, f"{TRANSFERS}/{ref}/authorisations/{sca}", back, word)
        transfer.authorisations[sca] = one
        self._pages[word] = transfer, one
        return self._tell_authorisation(request, 201, one)

    def _go_on(self, request: Request, ref: str, sca: str) -> Response:
        consent = self._consent(request, ref)
        if not (one := consent.authorisations.get(sca)):
            raise Fault(404, "AUTHORISATION_UNKNOWN")
        body = self._body(request)
        action = body.get("action")
        if action not in ("IDENTIFY", "CONFIRM"):
            raise Fault(400, "FIELD_INVALID", "action")
        for name in ("login", "password") if action == "IDENTIFY" else ("code",):
            if not isinstance(body.get(name), str):
                raise Fault(400, "FIELD_INVALID", name)
        if consent.state != "PENDING" or one.sca != {"IDENTIFY": "STARTED", "CONFIRM": "IDENTIFIED"}[action]:
            raise Fault(409, "STATE_CONFLICT")
        if action == "IDENTIFY":
            if not (customer := self._customer(body["login"], body["password"])):
                raise Fault(401, "SECRET_WRONG", "password")
            one.customer, one.sca = customer, "IDENTIFIED"
        else:
            if not one.customer or one.customer.code != body["code"]:
                raise Fault(401, "SECRET_WRONG", "code")
            one.sca, consent.state, consent.customer = "COMPLETED", "ACTIVE", one.customer
        return self._tell_authorisation(request, 200, one)

    def _customer(self, login: str, password: str) -> Customer | None:
        return next((one for one in self._customers if (one.login, one.password) == (login, password)), None)

    def _reach(self, request: Request, access: str) -> Sequence[Account]:
        if not (ref := request.headers.get("x-consent-ref")):
            raise Fault(400, "HEADER_INVALID", "X-Consent-Ref")
        consent = self._consent(request, ref)
        if consent.state != "ACTIVE" or not consent.customer:
            raise Fault(403, "CONSENT_NOT_ACTIVE")
        if access not in consent.access:
            raise Fault(403, "ACCESS_NOT_GRANTED")
        return consent.customer.accounts

    def _find(self, request: Request, ref: str, access: str) -> Account:
        for account in self._reach(request, access):
            if account.ref == ref:
                return account
        raise Fault(404, "ACCOUNT_UNKNOWN")

    def _show(self, account: Account) -> dict[str, Any]:
        links = [link(name, f"{ACCOUNTS}/{account.ref}/{name}") for name in ("balances", "transactions")]
        shown = {"accountRef": account.ref, "iban": account.iban, "name": account.name}
        return {**shown, "currency": "EUR", "links": links}

    def _list_accounts(self, request: Request) -> Response:
        return self._tell(request, 200, {"accounts": [self._show(one) for one in self._reach(request, "accounts")]})

    def _available(self, account: Account) -> int:
        reserved = [one for one in self._transfers.values() if one.state in ("SIGNED", "EXECUTING")]
        return account.cents - sum(one.cents for one in reserved if one.payer is account)

    def _balances(self, request: Request, ref: str) -> Response:
        account = self._find(request, ref, "balances")
        kinds = {"BOOKED": account.cents, "AVAILABLE": self._available(account)}
        rows = [{"type": kind, "amount": cents / 100, "currency": "EUR"} for kind, cents in kinds.items()]
        return self._tell(request, 200, {"iban": account.iban, "balances": rows, "asOf": self.clock.now.isoformat()})

    def _number(self, request: Request, name: str, default: int, most: int) -> int:
        text = request.query.get(name, str(default))
        if not re.fullmatch(r"[0-9]{1,6}", text) or not 1 <= int(text) <= most:
            raise Fault(400, "PARAMETER_INVALID", name)
        return int(text)

    def _day(self, request: Request, name: str, default: date) -> date:
        try:
            return date.fromisoformat(request.query.get(name, default.isoformat()))
        except ValueError:
            raise Fault(400, "PARAMETER_INVALID", name) from None

    def _list_entries(self, request: Request, ref: str) -> Response:
        account, today = self._find(request, ref, "transactions"), self.clock.today
        begin = self._day(request, "bookedFrom", today - timedelta(days=30))
        end = self._day(request, "bookedTo", today)
        if end < begin:
            raise Fault(400, "PARAMETER_INVALID", "bookedTo")
        if begin < today - timedelta(days=90):
            raise Fault(422, "LIMIT_EXCEEDED", "bookedFrom")
        direction = request.query.get("direction")
        if direction not in (None, "IN", "OUT"):
            raise Fault(400, "PARAMETER_INVALID", "direction")
        size, page = self._number(request, "pageSize", 20, 50), self._number(request, "page", 1, 999_999)
        rows = [one for one in account.entries if begin.isoformat() <= one["bookedOn"] <= end.isoformat()]
        rows = [one for one in rows if direction in (None, one["direction"])]
        paging = {"page": page, "pageSize": size, "totalItems": len(rows), "totalPages": -(-len(rows) // size)}
        shown = rows[(page - 1) * size : page * size]
        return self._tell(request, 200, {"iban": account.iban, "transactions": shown, "paging": paging})

    def _register(self, request: Request) -> Response:
        client, body = request.headers["x-client-id"], self._body(request)
        for name, most in (("clientReference", 35), ("creditorName", 70), ("remittance", 140)):
            if not isinstance(body.get(name), str) or not 1 <= len(body[name]) <= most:
                raise Fault(400, "FIELD_INVALID", name)
        accounts = [one for customer in self._customers for one in customer.accounts]
        payer = next((one for one in accounts if one.iban == body.get("debtorIban")), None)
        if not payer:
            raise Fault(400, "FIELD_INVALID", "debtorIban")
        if not is_iban(body.get("creditorIban")):
            raise Fault(400, "FIELD_INVALID", "creditorIban")
        try:
            cents = read_cents(body.get("amount"))
        except ValueError:
            raise Fault(400, "FIELD_INVALID", "amount") from None
        if body.get("currency") != "EUR":
            raise Fault(400, "FIELD_INVALID", "currency")
        if (client, body["clientReference"]) in self._references:
            raise Fault(409, "REFERENCE_REUSED", "clientReference")
        if cents > MOST_CENTS:
            raise Fault(422, "LIMIT_EXCEEDED", "amount")
        if cents > self._available(payer):
            raise Fault(422, "INSUFFICIENT_FUNDS", "amount")
        names = ("clientReference", "debtorIban", "creditorIban", "creditorName", "amount", "currency", "remittance")
        document = {name: body[name] for name in names}
        transfer = Transfer(self._ref("T"), client, document, cents, payer, self.clock.now)
        self._transfers[transfer.ref] = transfer
        self._references.add((client, body["clientReference"]))
        return self._tell_transfer(request, 202, transfer)

    def _transfer(self, request: Request, ref: str) -> Transfer:
        transfer = self._transfers.get(ref)
        if not transfer or transfer.client != request.headers["x-client-id"]:
            raise Fault(404, "TRANSFER_UNKNOWN")
        return transfer

    def _tell_transfer(self, request: Request, status: int, transfer: Transfer) -> Response:
        path = f"{TRANSFERS}/{transfer.ref}"
        links = [link("self", path)]
        if transfer.state == "REGISTERED":
            links.append(link("startAuthorisation", f"{path}/authorisations"))
        document = {"transferRef": transfer.ref, "state": transfer.state, **transfer.document}
        document |= {"registeredAt": transfer.created.isoformat(), "links": links}
        return self._tell(request, status, document, {"Location": path} if status == 202 else {})

    def _cancel(self, request: Request, ref: str) -> Response:
        transfer = self._transfer(request, ref)
        if transfer.state not in ("REGISTERED", "SIGNED"):
            raise Fault(409, "STATE_CONFLICT")
        transfer.state = "CANCELLED"
        return Response(204, "", {"X-Trace-Id": request.headers["x-trace-id"]})

    def _page(self, request: Request, word: str, hint: str = "", status: int = 200) -> Response:
        if word not in self._pages:
            return show(404, "Venta", "<p>There is no such page.</p>")
        transfer, one = self._pages[word]
        if transfer.state != "REGISTERED" or one.sca != "STARTED":
            return show(410, "Venta", "<p>This link is no longer valid.</p>")
        asked = f"Sign the transfer of {transfer.cents / 100:.2f} EUR to {transfer.document['creditorName']}?"
        fields = '<input name="login"><input name="password" type="password">'
        buttons = "".join(f'<button name="decision" value="{word}">{word}</button>' for word in ("sign", "reject"))
        return show(status, "Venta", f'<p>{hint}</p><p>{asked}</p><form method="post">{fields}{buttons}</form>')

    def _decide(self, request: Request, word: str) -> Response:
        page = self._page(request, word)
        if page.status != 200:
            return page
        transfer, one = self._pages[word]
        if not (customer := self._customer(request.field("login"), request.field("password"))):
            return self._page(request, word, "Login or password is wrong.", 401)
        if transfer.payer not in customer.accounts:
            return self._page(request, word, "This account is not yours.", 403)
        decision = request.field("decision")
        if decision not in ("sign", "reject"):
            return self._page(request, word, "Please decide.", 400)
        one.customer = customer
        if decision == "reject":
            one.sca, transfer.state, result = "REJECTED", "REFUSED", "rejected"
        elif transfer.cents > self._available(transfer.payer):
            return self._page(request, word, "The account no longer covers this transfer.", 409)
        else:
            one.sca, transfer.state, result = "COMPLETED", "SIGNED", "signed"
            transfer.signed = self.clock.now
        return Response(302, "", {"Location": f"{one.back}?transfer={transfer.ref}&result={result}"})
