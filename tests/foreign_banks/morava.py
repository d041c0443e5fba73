"""Morava, a Czech bank with the Berlin Group's words that checks funds, on request and before it takes a payment.

- Everything is below `/v1.3.8`. Each answer has `API-Version`, and the X-Request-ID comes back.
- Errors are `{errors: [{error, scope, message, parameters}], reference}`, also for a wrong `WEB-API-Key` or path. The
  scope is the member or header that is wrong, and `parameters` have a state or a limit to know. Either may be missing.
- Anything unknown, or not open to a consent, gives 404 with ID_NOT_FOUND; its scope is the name of the id.
- A consent is new with 200 and without Location; a payment with 201. Consents are `XXXXX-XXXXX`, payments
  `M<year>-<number>-<check digit>`.
- What waits for the customer has `signInfo` with a state (OPEN, DONE, REJECTED) and the `url` of a page, which has its
  key in the query; there is no scaRedirect. The url is only shown while the state is OPEN.
- The customer decides with a number, a password and `volba` (souhlasim or nesouhlasim). A wrong password gives 403 as
  often as you like. Then the customer goes with 303 to TPP-Redirect-URI with `vysledek` (OK or ZAMITNUTO) added.
- Empty lists in `access` mean all accounts of the customer, and have their IBANs after the yes.
- A consent lasts at most 90 days, more is refused. DELETE answers 200 with its state.
- Reads without PSU-IP-Address count for `frequencyPerDay`, all of a consent together. `X-Access-Left` tells the rest.
- Amounts are numbers, those of transactions without a sign, with a `creditDebitIndicator`. All are CZK.
- Balances are closingBooked, as at the end of yesterday, and interimAvailable, without what is held.
- Transactions come oldest first. Pages have `size` rows and a number from 1, told with `pageCount` and `nextPage`.
- `funds-confirmations` need a consent, and tell `fundsAvailable` and APPR or DECL as `response`.
- Payments are `domestic-credit-transfers-cz`, or `instant-domestic-credit-transfers-cz` up to 100000.00. They have a
  `variableSymbol` if told, and a `constantSymbol`, which is 0308 otherwise. Their day is today if not told. Both
  accounts are Czech.
- RCVD, after the customer's yes ACFC, which holds the amount, and after five minutes ACSC with a `settlementDate`. An
  instant payment is ACSC at once. One for a later day is PDNG until then. RJCT after a no or without funds. The status
  has `fundsAvailable` once funds were checked.
- DELETE of a payment that the customer signed answers 202 and waits for the customer again: yes makes it CANC. Before
  that it is 204. When it is too late it is 409.
"""

import random
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import count
from math import ceil
from typing import Any

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

KEY = "b7d0e6a4-mor-51c9"
ROOT = "/v1.3.8"
INSTANT = "instant-domestic-credit-transfers-cz"
PRODUCTS = ("domestic-credit-transfers-cz", INSTANT)
LIMIT = 10_000_000
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
SHOPS = "Albert|Rohlík|Lékárna U Lva|DPMB Brno|Knihy Dobrovský|Pekařství Křižák|Kavárna Slávia".split("|")
KINDS = ("accounts", "balances", "transactions")
CONSENT = ("access", "recurringIndicator", "validUntil", "frequencyPerDay")
PAYMENT = ("debtorAccount", "instructedAmount", "creditorAccount", "creditorName")
TEXTS = {
    "key": ("UNAUTHORISED", "Klíč aplikace chybí nebo neplatí"),
    "path": ("ENDPOINT_NOT_FOUND", "Adresa neexistuje"),
    "method": ("METHOD_NOT_ALLOWED", "Metoda není povolena"),
    "missing": ("PARAMETER_MISSING", "Chybí povinný údaj {}"),
    "invalid": ("PARAMETER_INVALID", "Údaj {} má chybnou hodnotu"),
    "unreadable": ("BODY_INVALID", "Tělo požadavku není platný JSON"),
    "unknown": ("ID_NOT_FOUND", "Záznam {} neexistuje"),
    "not usable": ("CONSENT_NOT_USABLE", "Souhlas nelze použít"),
    "too often": ("ACCESS_EXCEEDED", "Denní počet dotazů bez klienta je vyčerpán"),
    "page": ("PAGE_NOT_FOUND", "Stránka {} neexistuje"),
    "limit": ("AMOUNT_LIMIT", "Částka překračuje limit okamžité platby"),
    "too late": ("OPERATION_NOT_ALLOWED", "Platbu již nelze zrušit"),
}


def money(cents: int) -> dict[str, Any]:
    return {"amount": cents / 100, "currency": "CZK"}


def link(path: str) -> dict[str, str]:
    return {"href": path}


def lack(name: str) -> Fault:
    return Fault(400, "missing", name, about=name)


def doubt(name: str) -> Fault:
    return Fault(400, "invalid", name, about=name)


def unknown(name: str, id: str) -> Fault:
    return Fault(404, "unknown", name, about=id)


def read_day(text: Any, place: str) -> date:
    try:
        return datetime.strptime(str(text), "%Y-%m-%d").date()
    except ValueError:
        raise doubt(place) from None


def read_cents(told: Any) -> int:
    amount = told.get("amount") if isinstance(told, dict) else None
    if isinstance(amount, bool) or not isinstance(amount, int | float) or amount <= 0:
        raise doubt("instructedAmount.amount")
    if told.get("currency") != "CZK":
        raise doubt("instructedAmount.currency")
    cents = round(amount * 100)
    if abs(amount * 100 - cents) > 1e-4:
        raise doubt("instructedAmount.amount")
    return cents


def iban_of(account: Any) -> str:
    return str(account.get("iban", "")) if isinstance(account, dict) else ""


def is_czech(iban: str) -> bool:
    """Tell whether this is a right IBAN of a Czech account."""
    return bool(re.fullmatch(r"CZ\d{22}", iban)) and int(f"{iban[4:]}1235{iban[2:4]}") % 97 == 1


@dataclass
class Account:
    id: str
    iban: str
    number: str
    product: str
    kind: str
    rows: list[tuple[date, int, dict[str, Any]]] = field(default_factory=list)

    def sum(self, end: date = date.max) -> int:
        """What is booked until the end of a day."""
        return sum(cents for day, cents, _ in self.rows if day <= end)


@dataclass
class Customer:
    name: str
    password: str
    accounts: list[Account]


@dataclass
class Asked:
    """A consent or a payment. `state` is the bank's own word, but a consent does not notice that it expires."""

    id: str
    path: str
    document: dict[str, Any]
    back: str
    state: str
    key: str = ""
    sign: str = "OPEN"


@dataclass
class Consent(Asked):
    customer: Customer | None = None
    ends: date = date.max
    reads: Counter[date] = field(default_factory=Counter)


@dataclass(kw_only=True)
class Payment(Asked):
    account: Account
    cents: int
    day: date
    is_instant: bool
    due: datetime | None = None
    is_covered: bool | None = None


class Morava:
    def __init__(self, seed: int, clock: Clock) -> None:
        self.clock = clock
        self._random = random.Random(seed)
        self._numbers = count(self._random.randrange(100_000, 800_000))
        self._references = count(self._random.randrange(10_000_000, 80_000_000), 17)
        self._consents: dict[str, Consent] = {}
        self._payments: dict[str, Payment] = {}
        self._customers = {
            "7710482": Customer("Tereza Nováková", "Lipova-alej-7", self._open()),
            "7735916": Customer("Ondřej Dvořák", "modry.Kocour4", self._open()),
        }
        consent, account = f"{ROOT}/consents/{{id}}", f"{ROOT}/accounts/{{id}}"
        payment = f"{ROOT}/payments/{{product}}/{{id}}"
        self._routes = Routes(
            ("POST", f"{ROOT}/consents", self._ask),
            ("GET", consent, self._show_consent),
            ("GET", f"{consent}/status", self._show_consent_status),
            ("DELETE", consent, self._withdraw),
            ("GET", f"{ROOT}/accounts", self._list_accounts),
            ("GET", f"{account}/balances", self._list_balances),
            ("GET", f"{account}/transactions", self._list_transactions),
            ("POST", f"{ROOT}/funds-confirmations", self._check_funds),
            ("POST", f"{ROOT}/payments/{{product}}", self._pay),
            ("GET", payment, self._show_payment),
            ("GET", f"{payment}/status", self._show_payment_status),
            ("DELETE", payment, self._cancel),
            ("GET", "/podpis", self._show_page),
            ("POST", "/podpis", self._decide),
        )

    def _open(self) -> list[Account]:
        accounts = []
        for product, kind in (("Běžný účet Řeka", "CACC"), ("Spořicí účet Pramen", "SVGS")):
            base = self._make(9, "123456789")
            rest = f"69500000000{base}"
            check = 98 - int(f"{rest}123500") % 97
            account = Account(f"u{self._make(14, '0123456789abcdef')}", f"CZ{check:02}{rest}", "", product, kind)
            account.number = f"{base}/6950"
            day = self.clock.today - timedelta(days=50)
            self._book(account, 24_000_000 + self._random.randrange(999_999), day, debtorName="Výplata s.r.o.")
            for _ in range(11):
                day += timedelta(days=self._random.randrange(1, 4))
                shop = self._random.choice(SHOPS)
                self._book(account, -self._random.randrange(4_000, 180_000), day, creditorName=shop)
            accounts.append(account)
        return accounts

    def _make(self, length: int, letters: str) -> str:
        return "".join(self._random.choices(letters, k=length))

    def _book(self, account: Account, cents: int, day: date, **more: Any) -> None:
        row: dict[str, Any] = {"entryReference": f"Z{next(self._numbers)}", "bookingDate": str(day)}
        row |= {"transactionAmount": money(abs(cents)), "creditDebitIndicator": "DBIT" if cents < 0 else "CRDT"}
        account.rows.append((day, cents, row | more))

    # Answers

    def answer(self, request: Request) -> Response:
        self._pass_time()
        told = request.headers.get("x-request-id", "")
        try:
            response = self._handle(request, told)
        except Fault as fault:
            response = respond(fault.status, self._explain(fault))
        if request.path == "/podpis":
            return response
        own = {"API-Version": "1.3.8", **({"X-Request-ID": told} if told else {})}
        return Response(response.status, response.content, {**response.headers, **own})

    def _handle(self, request: Request, told: str) -> Response:
        try:
            handle, parameters = self._routes.find(request.method, request.path)
        except NoRoute as missing:
            raise (Fault(405, "method") if missing.allowed else Fault(404, "path")) from None
        if request.path != "/podpis":
            if request.headers.get("web-api-key") != KEY:
                raise Fault(401, "key", "WEB-API-Key")
            if not told:
                raise lack("X-Request-ID")
        return handle(request, **parameters)

    def _explain(self, fault: Fault) -> dict[str, Any]:
        error, text = TEXTS[fault.word]
        more = dict(fault.more)
        message = text.format(more.pop("about", ""))
        scope = {"scope": fault.place} if fault.place else {}
        entry = {"error": error, **scope, "message": message, **({"parameters": more} if more else {})}
        return {"errors": [entry], "reference": f"MB-{next(self._references)}"}

    def _read(self, request: Request, members: tuple[str, ...]) -> dict[str, Any]:
        try:
            data = request.document
        except ValueError:
            raise Fault(400, "unreadable") from None
        for name in members:
            if data.get(name) in (None, ""):
                raise lack(name)
        return data

    def _read_back(self, request: Request) -> str:
        if back := request.headers.get("tpp-redirect-uri"):
            return back
        raise lack("TPP-Redirect-URI")

    # The customer

    def _wait_for_customer(self, asked: Asked) -> None:
        asked.key, asked.sign = self._make(20, "0123456789abcdef"), "OPEN"

    def _tell_sign(self, request: Request, asked: Asked) -> dict[str, Any]:
        page = {"url": f"{request.origin}/podpis?klic={asked.key}"} if asked.sign == "OPEN" else {}
        return {"signInfo": {"state": asked.sign, **page}}

    def _links(self, asked: Asked) -> dict[str, Any]:
        return {"_links": {"self": link(asked.path), "status": link(f"{asked.path}/status")}}

    def _find_open(self, request: Request) -> Asked | None:
        every = (*self._consents.values(), *self._payments.values())
        waiting = (asked for asked in every if asked.sign == "OPEN")
        return next((asked for asked in waiting if asked.key == request.query.get("klic")), None)

    def _show_page(self, request: Request) -> Response:
        if not self._find_open(request):
            return show(410, "Podpis už nečeká", "<p>Podpis je hotový nebo neexistuje.</p>")
        return self._show_form(200, "<p>Přihlaste se klientským číslem a heslem.</p>")

    def _show_form(self, status: int, text: str) -> Response:
        inputs = '<input name="klient"><input name="heslo" type="password">'
        words = {"souhlasim": "Souhlasím", "nesouhlasim": "Nesouhlasím"}
        buttons = "".join(f'<button name="volba" value="{word}">{told}</button>' for word, told in words.items())
        return show(status, "Podpis", f'{text}<form method="post">{inputs}{buttons}</form>')

    def _owns(self, customer: Customer, asked: Asked) -> bool:
        own = {account.iban for account in customer.accounts}
        if isinstance(asked, Payment):
            return asked.account.iban in own
        named = {iban_of(one) for accounts in asked.document["access"].values() for one in accounts}
        return named <= own

    def _decide(self, request: Request) -> Response:
        asked = self._find_open(request)
        if not asked:
            return self._show_page(request)
        customer = self._customers.get(request.field("klient"))
        if not customer or request.field("heslo") != customer.password or not self._owns(customer, asked):
            return self._show_form(403, "<p>Klientské číslo nebo heslo nesouhlasí.</p>")
        is_yes = request.field("volba") == "souhlasim"
        asked.sign = "DONE" if is_yes else "REJECTED"
        if isinstance(asked, Consent):
            asked.state, asked.customer = "valid" if is_yes else "rejected", customer
            if is_yes:
                access, every = asked.document["access"], [{"iban": account.iban} for account in customer.accounts]
                asked.document["access"] = {kind: named or every for kind, named in access.items()}
        elif isinstance(asked, Payment):
            self._sign(asked, is_yes)
        mark = "&" if "?" in asked.back else "?"
        return Response(303, "", {"Location": f"{asked.back}{mark}vysledek={'OK' if is_yes else 'ZAMITNUTO'}"})

    def _sign(self, payment: Payment, is_yes: bool) -> None:
        if payment.state != "RCVD":
            if is_yes:
                payment.state = "CANC"
        elif not is_yes:
            payment.state = "RJCT"
        elif payment.day > self.clock.today:
            payment.state, payment.due = "PDNG", datetime.combine(payment.day, time(), UTC)
        elif self._cover(payment):
            payment.state, payment.due = "ACFC", self.clock.now + timedelta(minutes=0 if payment.is_instant else 5)
            self._pass_time()

    def _cover(self, payment: Payment) -> bool:
        """Check the funds; without them the payment ends."""
        payment.is_covered = payment.cents <= self._available(payment.account)
        if not payment.is_covered:
            payment.state = "RJCT"
        return payment.is_covered

    # Consents

    def _ask(self, request: Request) -> Response:
        back, data = self._read_back(request), self._read(request, CONSENT)
        access = data["access"]
        is_list = isinstance(access, dict) and access and all(isinstance(one, list) for one in access.values())
        if not is_list or not access.keys() <= set(KINDS):
            raise doubt("access")
        if data["frequencyPerDay"] not in (1, 2, 3, 4):
            raise doubt("frequencyPerDay")
        ends, today = read_day(data["validUntil"], "validUntil"), self.clock.today
        if not today <= ends <= today + timedelta(days=90):
            raise doubt("validUntil")
        id = f"{self._make(5, LETTERS)}-{self._make(5, LETTERS)}"
        consent = Consent(id, f"{ROOT}/consents/{id}", data, back, "received", ends=ends)
        self._wait_for_customer(consent)
        self._consents[id] = consent
        document = {"consentId": id, "consentStatus": "received", **self._tell_sign(request, consent)}
        return respond(200, document | self._links(consent), {"ASPSP-SCA-Approach": "REDIRECT"})

    def _consent(self, id: str) -> Consent:
        if consent := self._consents.get(id):
            return consent
        raise unknown("consentId", id)

    def _consent_status(self, consent: Consent) -> str:
        return "expired" if consent.state == "valid" and self.clock.today > consent.ends else consent.state

    def _show_consent(self, request: Request, id: str) -> Response:
        consent = self._consent(id)
        document = {"consentId": id, **{name: consent.document[name] for name in CONSENT}}
        document |= {"consentStatus": self._consent_status(consent)}
        return respond(200, document | self._tell_sign(request, consent))

    def _show_consent_status(self, request: Request, id: str) -> Response:
        return respond(200, {"consentStatus": self._consent_status(self._consent(id))})

    def _withdraw(self, request: Request, id: str) -> Response:
        consent = self._consent(id)
        if consent.state in ("received", "valid"):
            consent.state = "terminatedByTpp"
            consent.sign = "DONE" if consent.sign == "DONE" else "REJECTED"
        return respond(200, {"consentId": id, "consentStatus": self._consent_status(consent)})

    # Accounts

    def _enter(self, request: Request) -> tuple[Consent, Customer]:
        id = request.headers.get("consent-id")
        if not id:
            raise lack("Consent-ID")
        consent = self._consent(id)
        status = self._consent_status(consent)
        if status == "valid" and consent.customer:
            return consent, consent.customer
        raise Fault(401, "not usable", "Consent-ID", consentStatus=status)

    def _count(self, request: Request, consent: Consent) -> dict[str, str]:
        """Count a read without the customer. Returns headers."""
        if request.headers.get("psu-ip-address"):
            return {}
        often = consent.document["frequencyPerDay"]
        if consent.reads[self.clock.today] >= often:
            raise Fault(429, "too often", "frequencyPerDay", frequencyPerDay=often)
        consent.reads[self.clock.today] += 1
        return {"X-Access-Left": str(often - consent.reads[self.clock.today])}

    def _covers(self, consent: Consent, kind: str, account: Account) -> bool:
        return any(iban_of(one) == account.iban for one in consent.document["access"].get(kind, []))

    def _list_accounts(self, request: Request) -> Response:
        consent, customer = self._enter(request)
        left = self._count(request, consent)
        accounts = [one for one in customer.accounts if any(self._covers(consent, kind, one) for kind in KINDS)]
        return respond(200, {"accounts": [self._describe(one, consent, customer) for one in accounts]}, left)

    def _describe(self, account: Account, consent: Consent, customer: Customer) -> dict[str, Any]:
        document: dict[str, Any] = {"resourceId": account.id, "iban": account.iban, "accountNumber": account.number}
        document |= {"currency": "CZK", "ownersNames": [customer.name], "product": account.product}
        document |= {"cashAccountType": account.kind, "servicer": {"bankCode": "6950", "bic": "MRVACZ2B"}}
        kinds = [kind for kind in KINDS[1:] if self._covers(consent, kind, account)]
        return document | {"_links": {kind: link(f"{ROOT}/accounts/{account.id}/{kind}") for kind in kinds}}

    def _find_account(self, request: Request, kind: str, id: str) -> tuple[Account, Consent]:
        consent, customer = self._enter(request)
        open = (account for account in customer.accounts if self._covers(consent, kind, account))
        if account := next((account for account in open if account.id == id), None):
            return account, consent
        raise unknown("resourceId", id)

    def _available(self, account: Account) -> int:
        held = sum(one.cents for one in self._payments.values() if one.account is account and one.state == "ACFC")
        return account.sum() - held

    def _list_balances(self, request: Request, id: str) -> Response:
        account, consent = self._find_account(request, "balances", id)
        left = self._count(request, consent)
        today = self.clock.today
        yesterday = today - timedelta(days=1)
        balances = [
            {
                "balanceType": "closingBooked",
                "balanceAmount": money(account.sum(yesterday)),
                "referenceDate": str(yesterday),
            },
            {
                "balanceType": "interimAvailable",
                "balanceAmount": money(self._available(account)),
                "referenceDate": str(today),
            },
        ]
        return respond(200, {"account": {"iban": account.iban, "currency": "CZK"}, "balances": balances}, left)

    def _list_transactions(self, request: Request, id: str) -> Response:
        account, consent = self._find_account(request, "transactions", id)
        asked = request.query
        for name in ("bookingStatus", "dateFrom"):
            if not asked.get(name):
                raise lack(name)
        if asked["bookingStatus"] != "booked":
            raise doubt("bookingStatus")
        start = read_day(asked["dateFrom"], "dateFrom")
        last = read_day(asked.get("dateTo", str(self.clock.today)), "dateTo")
        page, size = self._read_number(asked, "page", 1), self._read_number(asked, "size", 20)
        left = self._count(request, consent)
        rows = [row for day, _, row in account.rows if start <= day <= last]
        pages = max(ceil(len(rows) / size), 1)
        if page > pages:
            raise Fault(404, "page", "page", about=page)
        document: dict[str, Any] = {"pageNumber": page, "pageCount": pages, "pageSize": size}
        document |= {"nextPage": page + 1} if page < pages else {}
        document |= {"account": {"iban": account.iban, "currency": "CZK"}}
        return respond(200, document | {"transactions": {"booked": rows[(page - 1) * size : page * size]}}, left)

    def _read_number(self, asked: Mapping[str, str], name: str, otherwise: int) -> int:
        text = asked.get(name, str(otherwise))
        if not re.fullmatch(r"[1-9]\d?", text):
            raise doubt(name)
        return int(text)

    def _check_funds(self, request: Request) -> Response:
        consent, customer = self._enter(request)
        data = self._read(request, ("account", "instructedAmount"))
        cents, iban = read_cents(data["instructedAmount"]), iban_of(data["account"])
        account = next((one for one in customer.accounts if one.iban == iban), None)
        if not account or not self._covers(consent, "balances", account):
            raise unknown("account", iban)
        is_covered = cents <= self._available(account)
        document = {"responseIdentification": self._make(9, "123456789"), "response": "APPR" if is_covered else "DECL"}
        return respond(200, {**document, "fundsAvailable": is_covered})

    # Payments

    def _pay(self, request: Request, product: str) -> Response:
        if product not in PRODUCTS:
            raise Fault(404, "path")
        back, data = self._read_back(request), self._read(request, PAYMENT)
        for name in ("debtorAccount", "creditorAccount"):
            if not is_czech(iban_of(data[name])):
                raise doubt(f"{name}.iban")
        cents, is_instant = read_cents(data["instructedAmount"]), product == INSTANT
        if is_instant and cents > LIMIT:
            raise Fault(400, "limit", "instructedAmount.amount", limit=money(LIMIT))
        for name, form in (("variableSymbol", r"\d{1,10}"), ("constantSymbol", r"\d{4}")):
            if name in data and not re.fullmatch(form, str(data[name])):
                raise doubt(name)
        today, iban = self.clock.today, iban_of(data["debtorAccount"])
        day = read_day(data.get("requestedExecutionDate", str(today)), "requestedExecutionDate")
        if day < today or (is_instant and day > today):
            raise doubt("requestedExecutionDate")
        accounts = [account for customer in self._customers.values() for account in customer.accounts]
        account = next((account for account in accounts if account.iban == iban), None)
        if not account:
            raise unknown("debtorAccount", iban)
        number = next(self._numbers)
        id = f"M{today:%y}-{number:06}-{number * 7 % 10}"
        names = (*PAYMENT, "variableSymbol", "constantSymbol", "remittanceInformationUnstructured")
        document = {"constantSymbol": "0308", "requestedExecutionDate": str(day)}
        document |= {name: data[name] for name in names if name in data}
        of: dict[str, Any] = {"account": account, "cents": cents, "day": day, "is_instant": is_instant}
        payment = Payment(id, f"{ROOT}/payments/{product}/{id}", document, back, "RCVD", **of)
        self._wait_for_customer(payment)
        self._payments[id] = payment
        told = {"paymentId": id, "transactionStatus": "RCVD", **self._tell_sign(request, payment)}
        return respond(201, told | self._links(payment), {"ASPSP-SCA-Approach": "REDIRECT"})

    def _payment(self, request: Request, id: str) -> Payment:
        payment = self._payments.get(id)
        if payment and request.path.removesuffix("/status") == payment.path:
            return payment
        raise unknown("paymentId", id)

    def _pass_time(self) -> None:
        now = self.clock.now
        waiting = [(one.due, one) for one in self._payments.values() if one.state in ("ACFC", "PDNG") and one.due]
        for due, payment in sorted(waiting, key=lambda pair: pair[0]):
            if due > now or (payment.state == "PDNG" and not self._cover(payment)):
                continue
            payment.state, payment.sign, data = "ACSC", "DONE", payment.document
            names = ("creditorName", "creditorAccount", "variableSymbol", "remittanceInformationUnstructured")
            more = {name: data[name] for name in names if name in data}
            self._book(payment.account, -payment.cents, due.date(), **more)

    def _show_payment(self, request: Request, product: str, id: str) -> Response:
        payment = self._payment(request, id)
        document = {"paymentId": id, **payment.document, "transactionStatus": payment.state}
        if payment.state == "ACSC" and payment.due:
            document |= {"settlementDate": str(payment.due.date())}
        return respond(200, document | self._tell_sign(request, payment))

    def _show_payment_status(self, request: Request, product: str, id: str) -> Response:
        payment = self._payment(request, id)
        funds = {} if payment.is_covered is None else {"fundsAvailable": payment.is_covered}
        return respond(200, {"transactionStatus": payment.state, **funds})

    def _cancel(self, request: Request, product: str, id: str) -> Response:
        payment = self._payment(request, id)
        if payment.state == "RCVD":
            payment.state, payment.sign = "CANC", "REJECTED"
            return Response(204)
        if payment.state not in ("ACFC", "PDNG"):
            raise Fault(409, "too late", "paymentId", transactionStatus=payment.state)
        self._wait_for_customer(payment)
        told = {"paymentId": id, "transactionStatus": payment.state, **self._tell_sign(request, payment)}
        return respond(202, told | self._links(payment), {"ASPSP-SCA-Approach": "REDIRECT"})
