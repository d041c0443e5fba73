"""Gaujas Banka, a Latvian bank that follows Berlin Group's NextGenPSD2 1.3 where it suits it.

- The path begins with `/psd2/v1.3.11`. Apps send `X-Api-Key` and a UUID as `X-Request-ID`, which the answer repeats.
- Errors are `{"success": false, "failure": {"code", "message", "field"}, "correlationId"}`; `field` only for a wrong
  member, header or parameter. What does not exist is RESOURCE_UNKNOWN, with 404.
- Links are plain strings in `_links`.
- Ids look like `pk-7hq2-m4xt` (consents), `M2606150041877` (payments), `GA204417061` (accounts).
- A new consent is answered with 200 and without Location. Only the bank offers accounts: `access` has an empty list for
  each of `accounts`, `balances`, `transactions` that is wanted, and covers all accounts of the customer.
- A consent is valid for 120 days at most. `frequencyPerDay` is 4 at most, and not counted.
- Consents are awaiting, valid, declined, withdrawn (DELETE, 204) and expired.
- Authorisations are implicit, unless `TPP-Explicit-Authorisation-Preferred: true` is sent. They are open, finalised,
  declined or failed.
- The customer gives user, code and decision on `/paraksts/<ticket>`, which then redirects to the app with `result` (ok,
  declined or refused) and `ref`: to `TPP-Nok-Redirect-URI`, if there is one and the result is not ok.
- A consent or payment that nobody answers for 15 minutes ends.
- Amounts are numbers, and not negative: `creditDebitIndicator` says which way. Balances are `booked` and `available`.
- Transactions: only booked ones, from `dateFrom` (required, 90 days ago at most), newest first, 10 on a page unless
  `pageSize` says otherwise (25 at most). `continuationKey` is there if there are more, and is sent alone for them.
- A payment is 3000 EUR at most and needs PSU-IP-Address. Signed, it is AUTH, and reserves its amount. It is ACSC and
  booked 30 minutes later. Without cover it is RJCT with AM04, declined with DS02, not answered with TM01.
- DELETE cancels a payment that is RCVD or AUTH, and answers with 200 and its state.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from html import escape
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from tests.foreign_banks.nextgen import is_iban, read_day
from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

ROOT = "/psd2/v1.3.11"
CONSENTS = f"{ROOT}/consents"
PAYMENTS = f"{ROOT}/payments/sepa-credit-transfers"
API_KEY = "gb_4kTz81mQxw07"
DETAILS = "remittanceInformationUnstructured"
RIGHTS = ("accounts", "balances", "transactions")
SHOPS = ("Rimi Sigulda", "Maxima", "Latvenergo", "Rīgas Satiksme", "Narvesen", "Mēness aptieka", "Depo", "Circle K")
PAYER = "SIA Turaidas Koks"
LONGEST_CONSENT = timedelta(days=120)
OLDEST_ENTRY = timedelta(days=90)
LARGEST_PAYMENT = 300_000
ANSWERED_WITHIN = timedelta(minutes=15)
BOOKED_AFTER = timedelta(minutes=30)
MESSAGES = {
    "API_KEY_INVALID": "The API key is missing or unknown",
    "BODY_INVALID": "The body is not a JSON object",
    "FORMAT_ERROR": "A value is missing or has a wrong format",
    "RESOURCE_UNKNOWN": "The resource does not exist",
    "METHOD_NOT_ALLOWED": "The method is not allowed here",
    "ACCESS_NOT_SUPPORTED": "Accounts cannot be named, the customer's accounts are offered by the bank",
    "VALIDITY_TOO_LONG": "A consent is valid for 120 days at most",
    "CONSENT_UNKNOWN": "The consent does not exist",
    "CONSENT_INVALID": "The consent is not valid",
    "CONSENT_EXPIRED": "The consent has expired",
    "CONSENT_SCOPE": "The consent does not cover this",
    "PERIOD_INVALID": "Transactions are available for 90 days",
    "PAGE_KEY_INVALID": "The continuation key is not known",
    "AMOUNT_LIMIT": "The amount is above the limit of 3000.00 EUR",
    "STATUS_INVALID": "The resource's status does not allow this",
    "CANCELLATION_INVALID": "The payment can no longer be cancelled",
}


@dataclass
class Account:
    id: str
    iban: str
    product: str
    booked: int
    """In cents."""
    entries: list[dict[str, Any]] = field(default_factory=list)
    """Newest first."""


@dataclass
class Customer:
    name: str
    code: str
    accounts: list[Account]


@dataclass
class Authorisation:
    id: str
    ticket: str
    status: str = "open"


@dataclass
class Order:
    """A consent or a payment, which a customer signs."""

    id: str
    place: str
    document: dict[str, Any]
    made: datetime
    status: str
    authorisation: Authorisation | None = None
    signed: datetime | None = None
    customer: Customer | None = None
    account: Account | None = None
    cents: int = 0
    reason: str | None = None
    back: str = ""
    nok: str = ""

    @property
    def is_payment(self) -> bool:
        return self.account is not None

    @property
    def is_waiting(self) -> bool:
        return self.status in ("awaiting", "RCVD")

    @property
    def state(self) -> dict[str, str]:
        """Its state as its status address shows it."""
        shown = {"transactionStatus" if self.is_payment else "consentStatus": self.status}
        return shown | ({"reasonCode": self.reason} if self.reason else {})

    def decide(self, status: str, sca: str, reason: str | None = None) -> None:
        self.status, self.reason = status, reason
        if self.authorisation and self.authorisation.status == "open":
            self.authorisation.status = sca


@dataclass(frozen=True)
class Period:
    """The rest of a list of transactions."""

    account: str
    first: str
    last: str
    size: int
    skipped: int = 0


def write_amount(cents: int) -> dict[str, Any]:
    return {"amount": cents / 100, "currency": "EUR"}


def check_text(document: dict[str, Any], name: str, longest: int) -> None:
    value = document.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= longest:
        raise Fault(400, "FORMAT_ERROR", name)


def read_object(document: dict[str, Any], name: str) -> dict[str, Any]:
    value = document.get(name)
    if not isinstance(value, dict) or not value:
        raise Fault(400, "FORMAT_ERROR", name)
    return value


def read_iban(document: dict[str, Any], name: str) -> str:
    iban = read_object(document, name).get("iban")
    if not is_iban(iban):
        raise Fault(400, "FORMAT_ERROR", f"{name}.iban")
    return str(iban)


def read_cents(document: dict[str, Any]) -> int:
    amount = read_object(document, "instructedAmount")
    if amount.get("currency") != "EUR":
        raise Fault(400, "FORMAT_ERROR", "instructedAmount.currency")
    number: Any = amount.get("amount")
    if type(number) not in (int, float) or not 0 < number < 1e9 or round(number, 2) != number:
        raise Fault(400, "FORMAT_ERROR", "instructedAmount.amount")
    return round(float(number) * 100)


class Gauja:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"gauja {seed}")
        self._orders: dict[str, Order] = {}
        self._periods: dict[str, Period] = {}
        self._customers = {
            "LO204417": self._enrol(
                "Liene Ozola",
                "731905",
                ("LV89GAUJ0000204417001", "Norēķinu konts", 241_836, 17),
                ("LV16GAUJ0000204417054", "Krājkonts", 760_000, 3),
            ),
            "JK118862": self._enrol(
                "Jānis Kalniņš",
                "440278",
                ("LV04GAUJ0000118862009", "Norēķinu konts", 93_275, 14),
                ("LV79GAUJ0000118862017", "Ģimenes konts", 358_040, 31),
                ("LV57GAUJ0000118862025", "Krājkonts", 1_250_000, 2),
            ),
        }
        consent, payment = f"{CONSENTS}/{{id}}", f"{PAYMENTS}/{{id}}"
        self._routes = Routes(
            ("GET", "/paraksts/{ticket}", self._page),
            ("POST", "/paraksts/{ticket}", self._sign),
            ("POST", CONSENTS, self._ask_consent),
            ("GET", consent, self._read_consent),
            ("DELETE", consent, self._withdraw),
            ("POST", PAYMENTS, self._pay),
            ("GET", payment, self._read_payment),
            ("DELETE", payment, self._cancel),
            ("GET", f"{consent}/status", self._read_status),
            ("GET", f"{payment}/status", self._read_status),
            ("POST", f"{consent}/authorisations", self._start),
            ("POST", f"{payment}/authorisations", self._start),
            ("GET", f"{consent}/authorisations/{{number}}", self._read_authorisation),
            ("GET", f"{payment}/authorisations/{{number}}", self._read_authorisation),
            ("GET", f"{ROOT}/accounts", self._within("accounts", self._list_accounts)),
            ("GET", f"{ROOT}/accounts/{{id}}/balances", self._within("balances", self._balances)),
            ("GET", f"{ROOT}/accounts/{{id}}/transactions", self._within("transactions", self._transactions)),
        )

    def answer(self, request: Request) -> Response:
        self._let_pass()
        is_api = request.path.startswith(f"{ROOT}/")
        id = request.headers.get("x-request-id")
        headers = {"X-Request-ID": id} if is_api and id else {}
        try:
            if is_api:
                self._admit(request)
            handler, parameters = self._find_route(request)
            response = handler(request, **parameters)
        except Fault as fault:
            failure = {"code": fault.word, "message": MESSAGES[fault.word]}
            failure |= {"field": fault.place} if fault.place else {}
            response = respond(fault.status, {"success": False, "failure": failure, "correlationId": id})
        return Response(response.status, response.content, {**response.headers, **headers})

    def _find_route(self, request: Request) -> tuple[Callable[..., Response], dict[str, str]]:
        try:
            return self._routes.find(request.method, request.path)
        except NoRoute as wrong:
            raise Fault(*((405, "METHOD_NOT_ALLOWED") if wrong.allowed else (404, "RESOURCE_UNKNOWN"))) from None

    def _admit(self, request: Request) -> None:
        if request.headers.get("x-api-key") != API_KEY:
            raise Fault(401, "API_KEY_INVALID")
        try:
            UUID(request.headers.get("x-request-id", ""))
        except ValueError:
            raise Fault(400, "FORMAT_ERROR", "X-Request-ID") from None

    def _word(self, signs: str, length: int) -> str:
        return "".join(self._random.choices(signs, k=length))

    def _letters(self, length: int) -> str:
        return self._word("abcdefghjkmnpqrstuvwxyz23456789", length)

    def _digits(self, length: int) -> str:
        return self._word("0123456789", length)

    def _enrol(self, name: str, code: str, *accounts: tuple[str, str, int, int]) -> Customer:
        return Customer(name, code, [self._open(*account) for account in accounts])

    def _open(self, iban: str, product: str, booked: int, entries: int) -> Account:
        account = Account(f"GA{self._digits(9)}", iban, product, booked)
        for days in sorted(self._random.sample(range(5, 60), entries), reverse=True):
            is_debit = self._random.random() < 0.8
            other = self._random.choice(SHOPS) if is_debit else PAYER
            cents = self._random.randrange(190, 18_000)
            self._book(account, self.clock.today - timedelta(days=days), cents, is_debit, other, "")
        return account

    def _book(self, account: Account, day: date, cents: int, is_debit: bool, other: str, details: str) -> None:
        entry = {
            "entryReference": f"{day:%y%j}{self._digits(8)}",
            "bookingDate": day.isoformat(),
            "transactionAmount": write_amount(cents),
            "creditDebitIndicator": "DBIT" if is_debit else "CRDT",
            "counterparty": other,
        }
        account.entries.insert(0, entry | ({DETAILS: details} if details else {}))

    def _let_pass(self) -> None:
        """Give everything the status that it has by now."""
        now = self.clock.now
        for order in self._orders.values():
            if order.is_waiting and now >= order.made + ANSWERED_WITHIN:
                order.decide(*(("RJCT", "failed", "TM01") if order.is_payment else ("expired", "failed")))
            elif order.status == "valid" and now.date() > date.fromisoformat(order.document["validUntil"]):
                order.status = "expired"
            elif order.status == "AUTH" and order.signed and order.account and now >= order.signed + BOOKED_AFTER:
                order.status = "ACSC"
                order.account.booked -= order.cents
                day = (order.signed + BOOKED_AFTER).date()
                name, details = order.document["creditorName"], order.document[DETAILS]
                self._book(order.account, day, order.cents, True, name, details)

    def _available(self, account: Account) -> int:
        held = [order.cents for order in self._orders.values() if order.account is account and order.status == "AUTH"]
        return account.booked - sum(held)

    def _document(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "BODY_INVALID") from None

    def _take(self, request: Request, order: Order) -> dict[str, str]:
        """Keep a new order. Return its links."""
        order.back = request.headers.get("tpp-redirect-uri", "")
        if not order.back.startswith("https://"):
            raise Fault(400, "FORMAT_ERROR", "TPP-Redirect-URI")
        order.nok = request.headers.get("tpp-nok-redirect-uri", order.back)
        self._orders[order.id] = order
        links = {"self": order.place, "status": f"{order.place}/status"}
        if request.headers.get("tpp-explicit-authorisation-preferred") == "true":
            return links | {"startAuthorisation": f"{order.place}/authorisations"}
        opened: dict[str, str] = self._authorise(order)["_links"]
        return links | opened

    def _authorise(self, order: Order) -> dict[str, Any]:
        opened = order.authorisation = Authorisation(self._digits(8), self._letters(20))
        place = f"{order.place}/authorisations/{opened.id}"
        links = {"scaRedirect": f"/paraksts/{opened.ticket}", "scaStatus": place}
        return {"authorisationId": opened.id, "scaStatus": opened.status, "_links": links}

    def _find(self, request: Request, id: str) -> Order:
        order = self._orders.get(id)
        if not order or not request.path.startswith(order.place):
            raise Fault(404, "RESOURCE_UNKNOWN")
        return order

    def _ask_consent(self, request: Request) -> Response:
        document = self._document(request)
        access = read_object(document, "access")
        for right, accounts in access.items():
            if right not in RIGHTS or not isinstance(accounts, list):
                raise Fault(400, "FORMAT_ERROR", f"access.{right}")
            if accounts:
                raise Fault(400, "ACCESS_NOT_SUPPORTED", f"access.{right}")
        if not isinstance(document.get("recurringIndicator"), bool):
            raise Fault(400, "FORMAT_ERROR", "recurringIndicator")
        if document.get("frequencyPerDay") not in range(1, 5):
            raise Fault(400, "FORMAT_ERROR", "frequencyPerDay")
        ends = read_day(document.get("validUntil"), "validUntil")
        if ends < self.clock.today:
            raise Fault(400, "FORMAT_ERROR", "validUntil")
        if ends > self.clock.today + LONGEST_CONSENT:
            raise Fault(400, "VALIDITY_TOO_LONG", "validUntil")
        id = f"pk-{self._letters(4)}-{self._letters(4)}"
        consent = Order(id, f"{CONSENTS}/{id}", document, self.clock.now, "awaiting")
        links = self._take(request, consent)
        return respond(200, {"consentId": id, **consent.state, "_links": links}, {"ASPSP-SCA-Approach": "REDIRECT"})

    def _read_consent(self, request: Request, id: str) -> Response:
        consent = self._find(request, id)
        shown = {**consent.document, "consentId": id, **consent.state}
        if consent.customer and consent.signed:
            shown |= {"psuName": consent.customer.name, "signedOn": consent.signed.date().isoformat()}
        return respond(200, shown)

    def _withdraw(self, request: Request, id: str) -> Response:
        consent = self._find(request, id)
        if consent.status not in ("awaiting", "valid"):
            raise Fault(409, "STATUS_INVALID")
        consent.decide("withdrawn", "failed")
        return Response(204)

    def _read_status(self, request: Request, id: str) -> Response:
        return respond(200, self._find(request, id).state)

    def _start(self, request: Request, id: str) -> Response:
        order = self._find(request, id)
        if not order.is_waiting or order.authorisation:
            raise Fault(409, "STATUS_INVALID")
        return respond(201, self._authorise(order))

    def _read_authorisation(self, request: Request, id: str, number: str) -> Response:
        found = self._find(request, id).authorisation
        if not found or found.id != number:
            raise Fault(404, "RESOURCE_UNKNOWN")
        return respond(200, {"scaStatus": found.status})

    def _within(self, right: str, handler: Callable[..., Response]) -> Callable[..., Response]:
        def handle(request: Request, id: str = "") -> Response:
            if not (name := request.headers.get("consent-id")):
                raise Fault(400, "FORMAT_ERROR", "Consent-ID")
            consent = self._orders.get(name)
            if not consent or consent.is_payment:
                raise Fault(403, "CONSENT_UNKNOWN")
            if consent.status == "expired":
                raise Fault(401, "CONSENT_EXPIRED")
            if consent.status != "valid" or not consent.customer:
                raise Fault(401, "CONSENT_INVALID")
            if right not in consent.document["access"]:
                raise Fault(403, "CONSENT_SCOPE")
            if not id:
                return handler(request, consent.customer)
            for account in consent.customer.accounts:
                if account.id == id:
                    return handler(request, account)
            raise Fault(404, "RESOURCE_UNKNOWN")

        return handle

    def _list_accounts(self, request: Request, customer: Customer) -> Response:
        rows = []
        for account in customer.accounts:
            row = {"resourceId": account.id, "iban": account.iban, "currency": "EUR"}
            row |= {"ownerName": customer.name, "product": account.product}
            place = f"{ROOT}/accounts/{account.id}"
            rows.append(row | {"_links": {name: f"{place}/{name}" for name in ("balances", "transactions")}})
        return respond(200, {"accounts": rows})

    def _balances(self, request: Request, account: Account) -> Response:
        amounts = {"booked": account.booked, "available": self._available(account)}
        balances = [{"balanceType": kind, "balanceAmount": write_amount(cents)} for kind, cents in amounts.items()]
        time = self.clock.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        return respond(200, {"account": {"iban": account.iban}, "balances": balances, "readAt": time})

    def _read_period(self, request: Request, account: Account) -> Period:
        query, today = request.query, self.clock.today
        if key := query.get("continuationKey"):
            period = self._periods.get(key)
            if not period or period.account != account.id:
                raise Fault(400, "PAGE_KEY_INVALID", "continuationKey")
            return period
        if query.get("bookingStatus") != "booked":
            raise Fault(400, "FORMAT_ERROR", "bookingStatus")
        first = read_day(query.get("dateFrom"), "dateFrom")
        last = read_day(query.get("dateTo", today.isoformat()), "dateTo")
        if not today - OLDEST_ENTRY <= first <= last:
            raise Fault(400, "PERIOD_INVALID", "dateFrom")
        size = query.get("pageSize", "10")
        if not size.isdecimal() or not 1 <= int(size) <= 25:
            raise Fault(400, "FORMAT_ERROR", "pageSize")
        return Period(account.id, first.isoformat(), last.isoformat(), int(size))

    def _transactions(self, request: Request, account: Account) -> Response:
        period = self._read_period(request, account)
        rows = [entry for entry in account.entries if period.first <= entry["bookingDate"] <= period.last]
        ends = period.skipped + period.size
        shown = {"account": {"iban": account.iban}, "transactions": {"booked": rows[period.skipped : ends]}}
        if ends >= len(rows):
            return respond(200, shown)
        key = self._letters(16)
        self._periods[key] = Period(account.id, period.first, period.last, period.size, ends)
        return respond(200, shown | {"continuationKey": key})

    def _pay(self, request: Request) -> Response:
        if not request.headers.get("psu-ip-address"):
            raise Fault(400, "FORMAT_ERROR", "PSU-IP-Address")
        document = self._document(request)
        for name, longest in (("endToEndIdentification", 35), ("creditorName", 70), (DETAILS, 140)):
            check_text(document, name, longest)
        debtor = read_iban(document, "debtorAccount")
        cents = read_cents(document)
        read_iban(document, "creditorAccount")
        if cents > LARGEST_PAYMENT:
            raise Fault(422, "AMOUNT_LIMIT", "instructedAmount.amount")
        accounts = [account for customer in self._customers.values() for account in customer.accounts]
        account = next((account for account in accounts if account.iban == debtor), None)
        if not account:
            raise Fault(400, "FORMAT_ERROR", "debtorAccount.iban")
        id = f"M{self.clock.today:%y%m%d}{self._digits(7)}"
        place = f"{PAYMENTS}/{id}"
        payment = Order(id, place, document, self.clock.now, "RCVD", account=account, cents=cents)
        links = self._take(request, payment)
        headers = {"Location": place, "ASPSP-SCA-Approach": "REDIRECT"}
        return respond(201, {"paymentId": id, **payment.state, "_links": links}, headers)

    def _read_payment(self, request: Request, id: str) -> Response:
        payment = self._find(request, id)
        return respond(200, {**payment.document, "paymentId": id, **payment.state})

    def _cancel(self, request: Request, id: str) -> Response:
        payment = self._find(request, id)
        if payment.status not in ("RCVD", "AUTH"):
            raise Fault(409, "CANCELLATION_INVALID")
        payment.decide("CANC", "failed")
        return respond(200, {"paymentId": id, **payment.state})

    def _page(self, request: Request, ticket: str, status: int = 200, hint: str = "") -> Response:
        if not (order := self._open_ticket(ticket)):
            return show(404, "Gaujas Banka", "<p>Šis pieprasījums vairs nav derīgs.</p>")
        what = "Piekļuve kontiem"
        if order.is_payment:
            what = f"Maksājums {order.cents / 100:.2f} EUR: {escape(order.document['creditorName'])}"
        fields = '<input name="lietotajs"><input name="kods" type="password">'
        buttons = (
            '<button name="lemums" value="apstiprinat">Jā</button><button name="lemums" value="noraidit">Nē</button>'
        )
        form = f'<form method="post" action="/paraksts/{ticket}">{fields}{buttons}</form>'
        return show(status, what, f"<p>{hint or 'Ievadiet lietotāju un kodu.'}</p>{form}")

    def _open_ticket(self, ticket: str) -> Order | None:
        for order in self._orders.values():
            opened = order.authorisation
            if opened and opened.ticket == ticket and opened.status == "open":
                return order
        return None

    def _sign(self, request: Request, ticket: str) -> Response:
        if not (order := self._open_ticket(ticket)):
            return self._page(request, ticket)
        customer = self._customers.get(request.field("lietotajs"))
        if not customer or customer.code != request.field("kods"):
            return self._page(request, ticket, 401, "Nepareizs lietotājs vai kods.")
        if order.account and order.account not in customer.accounts:
            return self._page(request, ticket, 403, "Šis konts nepieder jums.")
        if request.field("lemums") != "apstiprinat":
            order.decide(*(("RJCT", "declined", "DS02") if order.is_payment else ("declined", "declined")))
            return self._send_back(order, order.nok, "declined")
        if order.account and order.cents > self._available(order.account):
            order.decide("RJCT", "finalised", "AM04")
            return self._send_back(order, order.nok, "refused")
        order.decide("AUTH" if order.is_payment else "valid", "finalised")
        order.customer, order.signed = customer, self.clock.now
        return self._send_back(order, order.back, "ok")

    def _send_back(self, order: Order, uri: str, result: str) -> Response:
        return Response(302, "", {"Location": f"{uri}?{urlencode({'result': result, 'ref': order.id})}"})
