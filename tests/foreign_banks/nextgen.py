"""The ground of two banks that follow Berlin Group's NextGenPSD2 1.3, each with opinions of its own.

Consents, accounts and payments have the paths and members of the standard. A bank says with its methods and attributes
what is its own: headers, ids, amounts, errors, states, limits, paging and pages for the customer.
"""

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar
from urllib.parse import urlencode
from uuid import UUID

from tests.foreign_banks.server import Clock, Fault, Handler, NoRoute, Request, Response, Routes, respond


@dataclass
class Account:
    id: str
    iban: str
    name: str
    cents: int
    booked: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    login: str
    name: str
    password: str
    code: str
    accounts: list[Account]


@dataclass
class Order:
    """A consent or a payment, which waits for the customer. `path` is its own address, and `back` where the customer
    goes in the end: one address for yes and one for no.
    """

    id: str
    path: str
    app: str
    status: str
    back: tuple[str, str]
    made: datetime
    document: dict[str, Any]
    customer: Customer | None = None
    accounts: list[Account] = field(default_factory=list)
    approved: datetime | None = None
    reads: Counter[Any] = field(default_factory=Counter)

    @property
    def is_payment(self) -> bool:
        return "instructedAmount" in self.document


@dataclass
class Authorisation:
    """What a customer decides on a page. `is_cancellation` is true if the payment is to be cancelled."""

    id: str
    ticket: str
    order: Order
    is_cancellation: bool = False
    sca: str = "received"

    @property
    def is_open(self) -> bool:
        return self.sca not in ("finalised", "failed")


def read_day(text: Any, place: str) -> date:
    try:
        return date.fromisoformat(text)
    except (TypeError, ValueError):
        raise Fault(400, "FORMAT_ERROR", place) from None


def is_iban(text: Any) -> bool:
    if not isinstance(text, str) or not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", text):
        return False
    return int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1


class NextGen:
    ROOT: ClassVar[str]
    PAGES: ClassVar[str]
    HEADERS: ClassVar[tuple[str, ...]]
    """Those that every request has, beside X-Request-ID."""
    APP: ClassVar[str]
    """The header with the key of the app."""
    APPS: ClassVar[Mapping[str, str]]
    PRODUCTS: ClassVar[tuple[str, ...]]
    OTHERS: ClassVar[tuple[str, ...]]
    NOT_VALID: ClassVar[int]
    """The status of a read with a consent in another state than valid."""

    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.random = random.Random(f"{type(self).__name__} {seed}")
        self.consents: dict[str, Order] = {}
        self.payments: dict[str, Order] = {}
        self.authorisations: dict[str, Authorisation] = {}
        self.customers = {customer.login: customer for customer in self.open_customers()}
        root, one = self.ROOT, self.ROOT + "/accounts/{id}"
        paid = root + "/payments/{product}"
        self._routes = Routes(
            ("POST", root + "/consents", self.create_consent),
            ("GET", root + "/consents/{id}", self.show_consent),
            ("GET", root + "/consents/{id}/status", self._consent_status),
            ("DELETE", root + "/consents/{id}", self.delete_consent),
            ("GET", root + "/accounts", self._accounts),
            ("GET", one, lambda request, id: self.said(request, 200, {"account": self._shown(request, id)})),
            ("GET", one + "/balances", self._balances),
            ("GET", one + "/transactions", self._transactions),
            ("POST", paid, self._create_payment),
            ("GET", paid + "/{id}", self._show_payment),
            ("GET", paid + "/{id}/status", self._payment_status),
            ("DELETE", paid + "/{id}", self._delete_payment),
            ("GET", self.PAGES + "/{ticket}", self.show_page),
            ("POST", self.PAGES + "/{ticket}", self.decide),
            *self.more_routes(),
        )

    # What is the bank's own

    def open_customers(self) -> Iterable[Customer]:
        raise NotImplementedError

    def more_routes(self) -> Iterable[tuple[str, str, Handler]]:
        return ()

    def new_id(self, kind: str) -> str:
        raise NotImplementedError

    def show_amount(self, cents: int) -> Any:
        raise NotImplementedError

    def read_amount(self, value: Any) -> int:
        """Return the cents."""
        raise NotImplementedError

    def tell(self, request: Request, fault: Fault) -> dict[str, Any]:
        """Return the body of an error."""
        raise NotImplementedError

    def read_access(self, request: Request, access: dict[str, Any]) -> None:
        raise NotImplementedError

    def create_consent(self, request: Request) -> Response:
        raise NotImplementedError

    def show_consent(self, request: Request, id: str) -> Response:
        raise NotImplementedError

    def delete_consent(self, request: Request, id: str) -> Response:
        raise NotImplementedError

    def check_use(self, request: Request, consent: Order) -> None:
        """Count a read."""
        raise NotImplementedError

    def check_right(self, consent: Order, account: Account, right: str) -> None:
        """Raise a fault if a consent with this account does not have this right."""

    def check_payment(self, request: Request, account: Account | None, cents: int) -> None:
        raise NotImplementedError

    def paid(self, request: Request, payment: Order) -> Response:
        raise NotImplementedError

    def settles(self, payment: Order) -> bool:
        """Return whether it is time to book an approved payment."""
        raise NotImplementedError

    def cancel(self, request: Request, payment: Order) -> Response:
        raise NotImplementedError

    def turn(self, request: Request, rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Return a page of transactions, and what its answer says about pages: members beside them, or links."""
        raise NotImplementedError

    def show_page(self, request: Request, ticket: str) -> Response:
        raise NotImplementedError

    def decide(self, request: Request, ticket: str) -> Response:
        raise NotImplementedError

    # Requests and answers

    def answer(self, request: Request) -> Response:
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            if request.path.startswith(self.ROOT):
                self._check_headers(request)
            return handler(request, **parameters)
        except NoRoute as wrong:
            fault = Fault(405, "SERVICE_INVALID") if wrong.allowed else Fault(404, "RESOURCE_UNKNOWN")
        except Fault as raised:
            fault = raised
        return self.said(request, fault.status, self.tell(request, fault))

    def said(self, request: Request, status: int, document: Any, **headers: str) -> Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if sent := request.headers.get("x-request-id"):
            named["X-Request-ID"] = sent
        return Response(204, "", named) if status == 204 else respond(status, document, named)

    def _check_headers(self, request: Request) -> None:
        for name in ("X-Request-ID", *self.HEADERS):
            self.need_header(request, name)
        try:
            UUID(request.headers["x-request-id"])
        except ValueError:
            raise Fault(400, "FORMAT_ERROR", "X-Request-ID") from None
        if request.headers[self.APP.lower()] not in self.APPS:
            raise Fault(401, "CERTIFICATE_INVALID", self.APP)

    def need_header(self, request: Request, name: str) -> str:
        if not (value := request.headers.get(name.lower())):
            raise Fault(400, "HEADER_MISSING", name)
        return value

    def read(self, request: Request, *required: str) -> dict[str, Any]:
        try:
            document = request.document
        except ValueError:
            raise Fault(400, "FORMAT_ERROR", "body") from None
        for name in required:
            if name not in document:
                raise Fault(400, "MEMBER_MISSING", name)
        return document

    def sign(self, length: int, signs: str = "0123456789abcdef") -> str:
        return "".join(self.random.choices(signs, k=length))

    def order(self, request: Request, kind: str, path: str, status: str, document: dict[str, Any]) -> Order:
        yes = self.need_header(request, "TPP-Redirect-URI")
        back = yes, request.headers.get("tpp-nok-redirect-uri", yes)
        id, app = self.new_id(kind), request.headers[self.APP.lower()]
        return Order(id, f"{self.ROOT}/{path}/{id}", app, status, back, self.clock.now, document)

    def authorise(self, order: Order, *, is_cancellation: bool = False) -> Authorisation:
        found = Authorisation(self.new_id("authorisation"), self.sign(32), order, is_cancellation)
        self.authorisations[found.id] = found
        return found

    def find_ticket(self, ticket: str) -> Authorisation | None:
        found = (one for one in self.authorisations.values() if one.ticket == ticket and one.is_open)
        return next((one for one in found if one.is_cancellation or one.order.status in ("received", "RCVD")), None)

    def send_back(self, order: Order, is_yes: bool, **query: str) -> Response:
        to = order.back[0 if is_yes else 1]
        if query:
            to += ("&" if "?" in to else "?") + urlencode(query)
        return Response(302, "", {"Location": to})

    # Accounts

    def open(self, iban: str, name: str, cents: int) -> Account:
        account = Account(self.new_id("account"), iban, name, cents)
        for days in sorted(self.random.sample(range(1, 75), 24), reverse=True):
            amount = self.random.choice((-1, -1, -1, 2)) * self.random.randrange(150, 12_000)
            self.book(account, self.clock.today - timedelta(days=days), amount, self.random.choice(self.OTHERS), "")
        return account

    def row(self, day: date | None, cents: int, other: str, text: str) -> dict[str, Any]:
        row: dict[str, Any] = {}
        if day:
            row["transactionId"] = self.new_id("transaction")
            row |= {"bookingDate": day.isoformat(), "valueDate": day.isoformat()}
        row["transactionAmount"] = {"currency": "EUR", "amount": self.show_amount(cents)}
        row["creditorName" if cents < 0 else "debtorName"] = other
        return row | {"remittanceInformationUnstructured": text or "Ref " + self.sign(6, "0123456789")}

    def book(self, account: Account, day: date, cents: int, other: str, text: str) -> None:
        account.booked.insert(0, self.row(day, cents, other, text))

    def owner(self, iban: Any) -> tuple[Customer, Account] | None:
        owners = ((customer, account) for customer in self.customers.values() for account in customer.accounts)
        return next(((customer, account) for customer, account in owners if account.iban == iban), None)

    def consent(self, request: Request, id: str) -> Order:
        consent = self.consents.get(id)
        if not consent or consent.app != request.headers[self.APP.lower()]:
            raise Fault(403, "CONSENT_UNKNOWN", "Consent-ID")
        is_past = date.fromisoformat(consent.document["validUntil"]) < self.clock.today
        if is_past and consent.status in ("received", "valid"):
            consent.status = "expired"
        return consent

    def _consent_status(self, request: Request, id: str) -> Response:
        return self.said(request, 200, {"consentStatus": self.consent(request, id).status})

    def _access(self, request: Request) -> Order:
        consent = self.consent(request, self.need_header(request, "Consent-ID"))
        if consent.status != "valid":
            word = "CONSENT_EXPIRED" if consent.status == "expired" else "CONSENT_INVALID"
            raise Fault(self.NOT_VALID, word, "Consent-ID")
        return consent

    def _account(self, request: Request, id: str, right: str) -> Account:
        consent = self._access(request)
        owners = (account for customer in self.customers.values() for account in customer.accounts)
        account = next((account for account in owners if account.id == id), None)
        if not account:
            raise Fault(404, "RESOURCE_UNKNOWN", "account-id")
        if account not in consent.accounts:
            raise Fault(403, "ACCOUNT_NOT_COVERED", "account-id")
        self.check_right(consent, account, right)
        self.check_use(request, consent)
        return account

    def _described(self, account: Account) -> dict[str, Any]:
        own = f"{self.ROOT}/accounts/{account.id}"
        return {
            "resourceId": account.id,
            "iban": account.iban,
            "currency": "EUR",
            "name": account.name,
            "cashAccountType": "CACC",
            "status": "enabled",
            "_links": {name: {"href": f"{own}/{name}"} for name in ("balances", "transactions")},
        }

    def _shown(self, request: Request, id: str) -> dict[str, Any]:
        return self._described(self._account(request, id, "accounts"))

    def _accounts(self, request: Request) -> Response:
        consent = self._access(request)
        self.check_use(request, consent)
        return self.said(request, 200, {"accounts": [self._described(account) for account in consent.accounts]})

    def pending(self, account: Account) -> list[Order]:
        """Return the approved payments of an account that are not booked yet."""
        payments = [payment for payment in self.payments.values() if self._settle(payment).approved]
        return [payment for payment in payments if payment.accounts == [account] and self.is_pending(payment)]

    def is_pending(self, payment: Order) -> bool:
        return payment.approved is not None and payment.status not in ("ACSC", "CANC", "RJCT")

    def cents(self, payment: Order) -> int:
        return self.read_amount(payment.document["instructedAmount"]["amount"])

    def available(self, account: Account) -> int:
        pending = self.pending(account)
        return account.cents - sum(map(self.cents, pending))

    def _balances(self, request: Request, id: str) -> Response:
        account = self._account(request, id, "balances")
        available = self.available(account)
        rows = [
            {"balanceType": name, "balanceAmount": {"currency": "EUR", "amount": self.show_amount(cents)}}
            | {"referenceDate": self.clock.today.isoformat()}
            for name, cents in (("closingBooked", account.cents), ("interimAvailable", available))
        ]
        return self.said(request, 200, {"account": {"iban": account.iban}, "balances": rows})

    def _transactions(self, request: Request, id: str) -> Response:
        query = request.query
        wanted = query.get("bookingStatus", "booked")
        if wanted not in ("booked", "pending", "both"):
            raise Fault(400, "FORMAT_ERROR", "bookingStatus")
        first = read_day(query["dateFrom"], "dateFrom") if "dateFrom" in query else self.first_day(request)
        last = read_day(query["dateTo"], "dateTo") if "dateTo" in query else self.clock.today
        if first > last:
            raise Fault(400, "PERIOD_INVALID", "dateFrom")
        account = self._account(request, id, "transactions")
        lists, more, links = {}, {}, {"account": {"href": f"{self.ROOT}/accounts/{account.id}"}}
        pending = self.pending(account)
        if wanted != "pending":
            rows = [row for row in account.booked if first <= date.fromisoformat(row["bookingDate"]) <= last]
            lists["booked"], more = self.turn(request, rows)
            links |= more.pop("_links", {})
        if wanted != "booked":
            lists["pending"] = [
                self.row(None, -self.cents(payment), payment.document["creditorName"], self._remittance(payment))
                for payment in pending
            ]
        document = {"account": {"iban": account.iban}, "transactions": {**lists, "_links": links}}
        return self.said(request, 200, document | more)

    def first_day(self, request: Request) -> date:
        """Return the first day of transactions if the app names none."""
        return self.clock.today - timedelta(days=90)

    # Payments

    def _remittance(self, payment: Order) -> str:
        return str(payment.document.get("remittanceInformationUnstructured", ""))

    def _create_payment(self, request: Request, product: str) -> Response:
        if product not in self.PRODUCTS:
            raise Fault(404, "PRODUCT_UNKNOWN", "payment-product")
        document = self.read(request, "debtorAccount", "instructedAmount", "creditorAccount", "creditorName")
        amount, creditor = document["instructedAmount"], document["creditorAccount"]
        cents = self.read_amount(amount.get("amount") if isinstance(amount, dict) else None)
        if amount.get("currency") != "EUR":
            raise Fault(400, "CURRENCY_INVALID", "instructedAmount.currency")
        if not isinstance(creditor, dict) or not is_iban(creditor.get("iban")):
            raise Fault(400, "FORMAT_ERROR", "creditorAccount.iban")
        found = self.owner(document["debtorAccount"].get("iban"))
        self.check_payment(request, found[1] if found else None, cents)
        names = "debtorAccount instructedAmount creditorAccount creditorName remittanceInformationUnstructured".split()
        kept = {name: document[name] for name in names if name in document}
        payment = self.order(request, "payment", f"payments/{product}", "RCVD", kept)
        self.payments[payment.id] = payment
        return self.paid(request, payment)

    def payment(self, request: Request, product: str, id: str) -> Order:
        payment = self.payments.get(id)
        if not payment or payment.app != request.headers[self.APP.lower()] or f"/{product}/" not in payment.path:
            raise Fault(404, "PAYMENT_UNKNOWN", "paymentId")
        return self._settle(payment)

    def _settle(self, payment: Order) -> Order:
        if self.is_pending(payment) and self.settles(payment):
            self._book_payment(payment)
        return payment

    def _book_payment(self, payment: Order) -> None:
        payment.status, cents, day = "ACSC", self.cents(payment), self.clock.today
        assert payment.customer
        moves = [(payment.accounts[0], -cents, payment.document["creditorName"])]
        if receiver := self.owner(payment.document["creditorAccount"]["iban"]):
            moves.append((receiver[1], cents, payment.customer.name))
        for account, change, other in moves:
            account.cents += change
            self.book(account, day, change, other, self._remittance(payment))

    def _show_payment(self, request: Request, product: str, id: str) -> Response:
        payment = self.payment(request, product, id)
        return self.said(request, 200, {"transactionStatus": payment.status, **payment.document})

    def _payment_status(self, request: Request, product: str, id: str) -> Response:
        return self.said(request, 200, {"transactionStatus": self.payment(request, product, id).status})

    def _delete_payment(self, request: Request, product: str, id: str) -> Response:
        return self.cancel(request, self.payment(request, product, id))


def in_cents(text: Any) -> int:
    """Raises ValueError for an amount with more than two decimals, or none above zero."""
    try:
        cents = Decimal(str(text)) * 100
    except InvalidOperation:
        raise ValueError(text) from None
    if cents != int(cents) or cents <= 0:
        raise ValueError(text)
    return int(cents)
