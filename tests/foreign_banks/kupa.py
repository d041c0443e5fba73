"""Kupa, a Croatian bank with the Berlin Group's words, explicit authorisations of consents and a gateway of its own.

- The gateway answers first: a wrong `X-IBM-Client-Id`, path or method gives `{httpCode, httpMessage, moreInformation}`.
- The bank's errors are `{tppMessages: [{category, code, text, path}], additionalData, correlationId, errorTime}`. The
  X-Request-ID is the correlationId and comes back. `additionalData` has a state, a limit or a day to know, if any.
- A consent is authorised explicitly: the app starts `/authorisations`. A payment's answer has its scaRedirect already.
- The customer decides at `/eprijava/<authorisation>` with an OIB, a code and `odluka` (potvrdi or odbij), and goes to
  TPP-Redirect-URI or TPP-Nok-Redirect-URI. The third wrong code is a no.
- A consent lasts at most 180 days: a later `validUntil` is shortened silently. `combinedServiceIndicator` must be told.
- Reads of balances and transactions without PSU-IP-Address count for `frequencyPerDay`, by account and kind.
- A consent that is unknown in a path gives 403, in a header 400. One that does not cover an account gives 401.
- Transactions need bookingStatus and dateFrom, at most 90 days ago. Pages have `itemsPerPage` rows from `pageIndex`,
  counted from 0, with a link to the next. The newest is first and has the balance after it.
- A payment must have a text; `endToEndIdentification` is HR99 (Croatian for none) if not told. The limit is 15000.00.
- RCVD, after the customer's yes ACTC, which holds the amount, after two minutes or at the day asked for ACSC with a
  `bookingDate`. RJCT has an ISO reason: DS02 after a no, AM04 if there is no money when the customer signs.
- DELETE of a payment answers 200 with CANC, or 405 when it is too late.
"""

import random
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import count
from typing import Any

from tests.foreign_banks.nextgen import is_iban
from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

CLIENT = "7c41e0b2d95f4a68"
PAYMENTS = "/v1/payments/sepa-credit-transfers"
LIMIT = 1_500_000
SHOPS = "Konzum|Tisak|INA Karlovac|Ljekarna Dubovac|HŽ Putnički prijevoz|Pekara Korana".split("|")
CONSENT = ("access", "recurringIndicator", "validUntil", "frequencyPerDay", "combinedServiceIndicator")
PAYMENT = ("debtorAccount", "instructedAmount", "creditorAccount", "creditorName", "remittanceInformationUnstructured")
GATEWAY = {
    401: ("Unauthorized", "Invalid client id or secret."),
    404: ("Not Found", "No resources match requested URI"),
    405: ("Method Not Allowed", "The method is not allowed for the requested URL"),
}
TEXTS = {
    "missing": ("FORMAT_ERROR", "Mandatory element {} is missing"),
    "invalid": ("FORMAT_ERROR", "Value of {} is not valid"),
    "unreadable": ("FORMAT_ERROR", "Request body is not valid JSON"),
    "consent": ("CONSENT_UNKNOWN", "Consent {} does not exist"),
    "not valid": ("CONSENT_INVALID", "Consent is not valid, its status is {}"),
    "not covered": ("CONSENT_INVALID", "Consent does not cover {} of this account"),
    "expired": ("CONSENT_EXPIRED", "Consent expired on {}"),
    "too often": ("ACCESS_EXCEEDED", "Daily number of accesses without PSU is used up"),
    "account": ("RESOURCE_UNKNOWN", "Account {} does not exist"),
    "payment": ("RESOURCE_UNKNOWN", "Payment {} does not exist"),
    "authorisation": ("RESOURCE_UNKNOWN", "Authorisation {} does not exist"),
    "period": ("PERIOD_INVALID", "Transactions are available for the last 90 days"),
    "limit": ("PAYMENT_FAILED", "Amount exceeds the limit of a single payment"),
    "too late": ("CANCELLATION_INVALID", "Payment can no longer be cancelled, its status is {}"),
    "status": ("STATUS_INVALID", "Authorisation has already been started"),
}


def money(cents: int) -> dict[str, str]:
    return {"currency": "EUR", "amount": f"{'-' * (cents < 0)}{abs(cents) // 100}.{abs(cents) % 100:02}"}


def link(path: str) -> dict[str, str]:
    return {"href": path}


def lack(name: str) -> Fault:
    return Fault(400, "missing", name, about=name)


def doubt(name: str) -> Fault:
    return Fault(400, "invalid", name, about=name)


def read_day(text: Any, place: str) -> date:
    try:
        return datetime.strptime(str(text), "%Y-%m-%d").date()
    except ValueError:
        raise doubt(place) from None


def iban_of(account: Any) -> str:
    return str(account.get("iban", "")) if isinstance(account, dict) else ""


@dataclass
class Account:
    id: str
    iban: str
    product: str
    cents: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Customer:
    name: str
    code: str
    accounts: list[Account]


@dataclass
class Asked:
    """A consent or a payment. `state` is the bank's own word, but a consent does not notice that it expires."""

    id: str
    path: str
    document: dict[str, Any]
    headers: Mapping[str, str]
    state: str
    authorisation: str = ""
    sca: str = "received"
    wrong: int = 0


@dataclass
class Consent(Asked):
    customer: Customer | None = None
    ends: date = date.max
    changed: date = date.min
    reads: Counter[tuple[date, str, str]] = field(default_factory=Counter)


@dataclass(kw_only=True)
class Payment(Asked):
    account: Account
    cents: int
    day: date | None
    due: datetime | None = None
    reason: str = ""


class Kupa:
    def __init__(self, seed: int, clock: Clock) -> None:
        self.clock = clock
        self._random = random.Random(seed)
        self._numbers = count(self._random.randrange(10_000, 80_000))
        self._consents: dict[str, Consent] = {}
        self._payments: dict[str, Payment] = {}
        self._customers = {
            "40718263951": Customer("Jelena Horvat", "482913", self._open("Tekući račun", "Žiro račun")),
            "95120476382": Customer("Ivan Babić", "730564", self._open("Tekući račun", "Žiro račun")),
        }
        consent, payment = "/v1/consents/{id}", f"{PAYMENTS}/{{id}}"
        self._routes = Routes(
            ("POST", "/v1/consents", self._ask),
            ("GET", consent, self._show_consent),
            ("GET", f"{consent}/status", self._show_consent_status),
            ("DELETE", consent, self._withdraw),
            ("POST", f"{consent}/authorisations", self._start),
            ("GET", f"{consent}/authorisations/{{authorisation}}", self._show_authorisation),
            ("GET", "/v1/accounts", self._list_accounts),
            ("GET", "/v1/accounts/{id}/balances", self._list_balances),
            ("GET", "/v1/accounts/{id}/transactions", self._list_transactions),
            ("POST", PAYMENTS, self._pay),
            ("GET", payment, self._show_payment),
            ("GET", f"{payment}/status", self._show_payment_status),
            ("DELETE", payment, self._cancel),
            ("GET", f"{payment}/authorisations/{{authorisation}}", self._show_authorisation),
            ("GET", "/eprijava/{authorisation}", self._show_page),
            ("POST", "/eprijava/{authorisation}", self._decide),
        )

    def _open(self, *products: str) -> list[Account]:
        accounts = []
        for product in products:
            rest = "2485003" + self._make(10, "0123456789")
            check = 98 - int(f"{rest}172700") % 97
            account = Account("3" + self._make(8, "0123456789"), f"HR{check:02}{rest}", product)
            day = self.clock.today - timedelta(days=50)
            self._book(account, 2_400_000 + self._random.randrange(99_999), "Uplata", day)
            for _ in range(11):
                day += timedelta(days=self._random.randrange(1, 4))
                self._book(account, -self._random.randrange(500, 20_000), "Kupovina", day, self._random.choice(SHOPS))
            accounts.append(account)
        return accounts

    def _make(self, length: int, letters: str) -> str:
        return "".join(self._random.choices(letters, k=length))

    def _book(self, account: Account, cents: int, text: str, day: date, to: str = "", **more: Any) -> None:
        account.cents += cents
        row = {"transactionId": f"T{next(self._numbers):09}", "bookingDate": str(day), "valueDate": str(day)}
        row |= {"transactionAmount": money(cents), **({"creditorName": to} if to else {}), **more}
        row |= {"remittanceInformationUnstructured": text}
        after = {"balanceType": "interimBooked", "balanceAmount": money(account.cents)}
        account.rows.insert(0, row | {"balanceAfterTransaction": after})

    # Answers

    def answer(self, request: Request) -> Response:
        self._pass_time()
        try:
            handle, parameters = self._routes.find(request.method, request.path)
        except NoRoute as missing:
            return self._answer_gateway(405 if missing.allowed else 404)
        if request.path.startswith("/eprijava/"):
            response: Response = handle(request, **parameters)
            return response
        if request.headers.get("x-ibm-client-id") != CLIENT:
            return self._answer_gateway(401)
        told = request.headers.get("x-request-id", "")
        try:
            if not re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", told.lower()):
                raise doubt("X-Request-ID") if told else lack("X-Request-ID")
            response = handle(request, **parameters)
        except Fault as fault:
            response = respond(fault.status, self._explain(fault, told))
        echo = {"X-Request-ID": told} if told else {}
        return Response(response.status, response.content, {**response.headers, **echo})

    def _answer_gateway(self, status: int) -> Response:
        message, more = GATEWAY[status]
        return respond(status, {"httpCode": str(status), "httpMessage": message, "moreInformation": more})

    def _explain(self, fault: Fault, told: str) -> dict[str, Any]:
        code, text = TEXTS[fault.word]
        more = dict(fault.more)
        message: dict[str, Any] = {"category": "ERROR", "code": code, "text": text.format(more.pop("about", ""))}
        if fault.place:
            message["path"] = fault.place
        data = {"additionalData": more} if more else {}
        at = f"{self.clock.now:%Y-%m-%dT%H:%M:%SZ}"
        return {"tppMessages": [message], **data, "correlationId": told, "errorTime": at}

    def _read(self, request: Request, members: tuple[str, ...]) -> dict[str, Any]:
        if not request.headers.get("tpp-redirect-uri"):
            raise lack("TPP-Redirect-URI")
        try:
            data = request.document
        except ValueError:
            raise Fault(400, "unreadable") from None
        for name in members:
            if data.get(name) in (None, ""):
                raise lack(name)
        return data

    # The customer

    def _authorise(self, request: Request, asked: Asked) -> dict[str, Any]:
        """Links to what the customer decides."""
        asked.authorisation = self._make(12, "0123456789abcdef")
        return {
            "scaRedirect": link(f"{request.origin}/eprijava/{asked.authorisation}"),
            "scaStatus": link(f"{asked.path}/authorisations/{asked.authorisation}"),
        }

    def _find_waiting(self, authorisation: str) -> Asked | None:
        every = (*self._consents.values(), *self._payments.values())
        waiting = (asked for asked in every if asked.state in ("received", "RCVD"))
        return next((asked for asked in waiting if asked.authorisation == authorisation), None)

    def _show_page(self, request: Request, authorisation: str) -> Response:
        if not self._find_waiting(authorisation):
            return show(410, "Zahtjev više ne čeka", "<p>Zahtjev je obrađen ili ne postoji.</p>")
        return self._show_form(200, "<p>Prijavite se OIB-om i kodom iz tokena.</p>")

    def _show_form(self, status: int, text: str) -> Response:
        inputs = '<input name="oib"><input name="kod" type="password">'
        buttons = "".join(f'<button name="odluka" value="{word}">{word}</button>' for word in ("potvrdi", "odbij"))
        return show(status, "e-Prijava", f'{text}<form method="post">{inputs}{buttons}</form>')

    def _decide(self, request: Request, authorisation: str) -> Response:
        asked = self._find_waiting(authorisation)
        if not asked:
            return self._show_page(request, authorisation)
        customer, choice = self._customers.get(request.field("oib")), request.field("odluka")
        owns = not isinstance(asked, Payment) or (customer and asked.account in customer.accounts)
        if not customer or not owns or request.field("kod") != customer.code:
            asked.wrong, choice = asked.wrong + 1, "odbij"
            if asked.wrong < 3:
                return self._show_form(401, f"<p>Pogrešan OIB ili kod. Preostalo pokušaja: {3 - asked.wrong}</p>")
        is_yes = choice == "potvrdi"
        asked.sca = "finalised" if is_yes else "failed"
        if isinstance(asked, Consent):
            asked.state, asked.customer = "valid" if is_yes else "rejected", customer
            asked.changed = self.clock.today
        elif isinstance(asked, Payment):
            self._sign(asked, is_yes)
        good = asked.headers["tpp-redirect-uri"]
        return Response(302, "", {"Location": good if is_yes else asked.headers.get("tpp-nok-redirect-uri", good)})

    def _sign(self, payment: Payment, is_yes: bool) -> None:
        if is_yes and payment.cents <= payment.account.cents - self._held(payment.account):
            payment.state, payment.due = "ACTC", self.clock.now + timedelta(minutes=2)
            if payment.day:
                payment.due = datetime.combine(payment.day, time(), UTC)
        else:
            payment.state, payment.reason = "RJCT", "AM04" if is_yes else "DS02"

    def _show_authorisation(self, request: Request, id: str, authorisation: str) -> Response:
        asked = self._payment(id) if request.path.startswith(PAYMENTS) else self._consent(id)
        if authorisation == asked.authorisation:
            return respond(200, {"scaStatus": asked.sca})
        raise Fault(404, "authorisation", about=authorisation)

    # Consents

    def _ask(self, request: Request) -> Response:
        data = self._read(request, CONSENT)
        if not isinstance(data["access"], dict) or not data["access"]:
            raise doubt("access")
        if data["frequencyPerDay"] not in (1, 2, 3, 4):
            raise doubt("frequencyPerDay")
        ends = min(read_day(data["validUntil"], "validUntil"), self.clock.today + timedelta(days=180))
        if ends < self.clock.today:
            raise doubt("validUntil")
        id = "KC" + self._make(10, "ABCDEFGHJKLMNPQRSTUVWXYZ23456789")
        consent = Consent(id, f"/v1/consents/{id}", data, request.headers, "received", ends=ends)
        consent.changed = self.clock.today
        self._consents[id] = consent
        links = {"startAuthorisation": link(f"{consent.path}/authorisations")}
        links |= {"self": link(consent.path), "status": link(f"{consent.path}/status")}
        headers = {"Location": consent.path, "ASPSP-SCA-Approach": "REDIRECT"}
        return respond(201, {"consentStatus": "received", "consentId": id, "_links": links}, headers)

    def _consent(self, id: str) -> Consent:
        if consent := self._consents.get(id):
            return consent
        raise Fault(403, "consent", about=id)

    def _consent_status(self, consent: Consent) -> str:
        return "expired" if consent.state == "valid" and self.clock.today > consent.ends else consent.state

    def _start(self, request: Request, id: str) -> Response:
        consent = self._consent(id)
        if consent.authorisation:
            raise Fault(409, "status", consentStatus=self._consent_status(consent))
        links = self._authorise(request, consent)
        document = {"scaStatus": "received", "authorisationId": consent.authorisation, "_links": links}
        return respond(201, document, {"ASPSP-SCA-Approach": "REDIRECT"})

    def _show_consent(self, request: Request, id: str) -> Response:
        consent = self._consent(id)
        names = ("access", "recurringIndicator", "frequencyPerDay")
        document = {name: consent.document[name] for name in names} | {"validUntil": str(consent.ends)}
        document |= {"lastActionDate": str(consent.changed), "consentStatus": self._consent_status(consent)}
        return respond(200, document | {"_links": {"account": link("/v1/accounts")}})

    def _show_consent_status(self, request: Request, id: str) -> Response:
        return respond(200, {"consentStatus": self._consent_status(self._consent(id))})

    def _withdraw(self, request: Request, id: str) -> Response:
        consent = self._consent(id)
        if consent.state in ("received", "valid"):
            consent.state, consent.changed = "terminatedByTpp", self.clock.today
        return Response(204)

    # Accounts

    def _enter(self, request: Request) -> tuple[Consent, Customer]:
        id = request.headers.get("consent-id")
        if not id:
            raise lack("Consent-ID")
        consent = self._consents.get(id)
        if not consent:
            raise Fault(400, "consent", "Consent-ID", about=id)
        status = self._consent_status(consent)
        if status == "valid" and consent.customer:
            return consent, consent.customer
        word, about = ("expired", str(consent.ends)) if status == "expired" else ("not valid", status)
        raise Fault(401, word, about=about, consentStatus=status)

    def _covers(self, consent: Consent, kind: str, account: Account) -> bool:
        access = consent.document["access"]
        named = access.get(kind) if isinstance(access.get(kind), list) else []
        return access.get("allPsd2") == "allAccounts" or any(iban_of(one) == account.iban for one in named)

    def _list_accounts(self, request: Request) -> Response:
        consent, customer = self._enter(request)
        accounts = [one for one in customer.accounts if self._covers(consent, "accounts", one)]
        return respond(200, {"accounts": [self._describe(one, customer) for one in accounts]})

    def _describe(self, account: Account, customer: Customer) -> dict[str, Any]:
        document = {"resourceId": account.id, "iban": account.iban, "currency": "EUR", "ownerName": customer.name}
        document |= {"product": account.product, "cashAccountType": "CACC", "status": "enabled", "bic": "KUPAHR2X"}
        links = {kind: link(f"/v1/accounts/{account.id}/{kind}") for kind in ("balances", "transactions")}
        return {**document, "_links": links}

    def _read_account(self, request: Request, kind: str, id: str) -> Account:
        consent, customer = self._enter(request)
        account = next((account for account in customer.accounts if account.id == id), None)
        if not account:
            raise Fault(404, "account", about=id)
        if not self._covers(consent, kind, account):
            raise Fault(401, "not covered", about=kind, consentStatus="valid")
        key, often = (self.clock.today, kind, account.id), consent.document["frequencyPerDay"]
        if not request.headers.get("psu-ip-address"):
            if consent.reads[key] >= often:
                raise Fault(429, "too often", frequencyPerDay=often)
            consent.reads[key] += 1
        return account

    def _held(self, account: Account) -> int:
        waiting = [one for one in self._payments.values() if one.account is account and not one.day]
        return sum(payment.cents for payment in waiting if payment.state == "ACTC")

    def _list_balances(self, request: Request, id: str) -> Response:
        account = self._read_account(request, "balances", id)
        amounts = {"interimBooked": account.cents, "interimAvailable": account.cents - self._held(account)}
        more = {"lastChangeDateTime": f"{self.clock.now:%Y-%m-%dT%H:%M:%SZ}"}
        balances = [{"balanceType": kind, "balanceAmount": money(cents), **more} for kind, cents in amounts.items()]
        return respond(200, {"account": {"iban": account.iban, "currency": "EUR"}, "balances": balances})

    def _list_transactions(self, request: Request, id: str) -> Response:
        account = self._read_account(request, "transactions", id)
        asked = request.query
        for name in ("bookingStatus", "dateFrom"):
            if not asked.get(name):
                raise lack(name)
        if asked["bookingStatus"] != "booked":
            raise doubt("bookingStatus")
        start, today = read_day(asked["dateFrom"], "dateFrom"), self.clock.today
        last = read_day(asked.get("dateTo", str(today)), "dateTo")
        earliest = today - timedelta(days=90)
        if start < earliest or last < start:
            raise Fault(400, "period", "dateFrom", earliestDate=str(earliest))
        index, size = self._read_number(asked, "pageIndex", 0), self._read_number(asked, "itemsPerPage", 10)
        rows = [row for row in account.rows if start <= date.fromisoformat(row["bookingDate"]) <= last]
        links = {"account": link(f"/v1/accounts/{id}")}
        if len(rows) > (index + 1) * size:
            query = {**asked, "itemsPerPage": size, "pageIndex": index + 1}
            links["next"] = link(f"{request.path}?" + "&".join(f"{name}={value}" for name, value in query.items()))
        transactions = {"booked": rows[index * size : (index + 1) * size], "_links": links}
        return respond(200, {"account": {"iban": account.iban, "currency": "EUR"}, "transactions": transactions})

    def _read_number(self, asked: Mapping[str, str], name: str, otherwise: int) -> int:
        text = asked.get(name, str(otherwise))
        if not re.fullmatch(r"\d{1,2}", text) or (name == "itemsPerPage" and int(text) == 0):
            raise doubt(name)
        return int(text)

    # Payments

    def _pay(self, request: Request) -> Response:
        data = self._read(request, PAYMENT)
        for name in ("debtorAccount", "creditorAccount"):
            if not is_iban(iban_of(data[name])):
                raise doubt(f"{name}.iban")
        told = data["instructedAmount"] if isinstance(data["instructedAmount"], dict) else {}
        if told.get("currency") != "EUR":
            raise doubt("instructedAmount.currency")
        amount = told.get("amount")
        if not isinstance(amount, str) or not re.fullmatch(r"\d{1,9}\.\d\d", amount) or not float(amount):
            raise doubt("instructedAmount.amount")
        cents = int(amount.replace(".", ""))
        if cents > LIMIT:
            raise Fault(400, "limit", "instructedAmount.amount", limit=money(LIMIT))
        accounts = [account for customer in self._customers.values() for account in customer.accounts]
        account = next((account for account in accounts if account.iban == iban_of(data["debtorAccount"])), None)
        if not account:
            raise Fault(404, "account", "debtorAccount.iban", about=iban_of(data["debtorAccount"]))
        today = self.clock.today
        day = read_day(data.get("requestedExecutionDate", str(today)), "requestedExecutionDate")
        if day < today:
            raise doubt("requestedExecutionDate")
        id = f"{today:%Y%m%d}{next(self._numbers):07}"
        names = (*PAYMENT, "requestedExecutionDate", "endToEndIdentification")
        document = {"endToEndIdentification": "HR99"} | {name: data[name] for name in names if name in data}
        of: dict[str, Any] = {"account": account, "cents": cents, "day": day if day > today else None}
        payment = Payment(id, f"{PAYMENTS}/{id}", document, request.headers, "RCVD", **of)
        self._payments[id] = payment
        links = self._authorise(request, payment)
        links |= {"self": link(payment.path), "status": link(f"{payment.path}/status")}
        headers = {"Location": payment.path, "ASPSP-SCA-Approach": "REDIRECT"}
        return respond(201, {"transactionStatus": "RCVD", "paymentId": id, "_links": links}, headers)

    def _payment(self, id: str) -> Payment:
        if id not in self._payments:
            raise Fault(404, "payment", about=id)
        return self._payments[id]

    def _pass_time(self) -> None:
        for payment in self._payments.values():
            if payment.state == "ACTC" and payment.due and payment.due <= self.clock.now:
                payment.state = "ACSC"
                data = payment.document
                more = {"creditorAccount": data["creditorAccount"], "endToEndId": data["endToEndIdentification"]}
                text, to = data["remittanceInformationUnstructured"], data["creditorName"]
                self._book(payment.account, -payment.cents, text, payment.due.date(), to, **more)

    def _show_payment(self, request: Request, id: str) -> Response:
        payment = self._payment(id)
        done = {"bookingDate": str(payment.due.date())} if payment.state == "ACSC" and payment.due else {}
        return respond(200, {"transactionStatus": payment.state, "paymentId": id, **payment.document, **done})

    def _show_payment_status(self, request: Request, id: str) -> Response:
        payment = self._payment(id)
        reason = {"reasonCode": payment.reason} if payment.reason else {}
        return respond(200, {"transactionStatus": payment.state, **reason})

    def _cancel(self, request: Request, id: str) -> Response:
        payment = self._payment(id)
        if payment.state not in ("RCVD", "ACTC"):
            raise Fault(405, "too late", about=payment.state, transactionStatus=payment.state)
        payment.state = "CANC"
        return respond(200, {"transactionStatus": "CANC", "paymentId": id})
