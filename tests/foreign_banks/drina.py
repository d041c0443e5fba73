"""Drina, a Bosnian bank with the Berlin Group's words whose customers sign inside the app: it has no page.

- The app sends the customer's words itself, with PUT to an authorisation: `psuData` with `psuId` and `password`, then
  `authenticationMethodId`, then `scaAuthenticationData`. In this test bank the one-time code of every customer is
  246810.
- The other method is decoupled: the authorisation is pendingInApp, a word of the bank's own. The customer confirms it
  in the banking app 30 seconds later, after which it is finalised.
- A wrong password or code gives 401 with the attempts that are left. The third wrong one of an authorisation gives 403:
  it has failed, its consent is rejected and its payment RJCT.
- A consent's answer has its authorisation already; a payment's authorisation is started by the app. Once finalised or
  failed, an authorisation shows the state of its consent or payment too.
- Every request needs `X-Drina-Key`, each POST with a body also `TPP-Name`. A header that is missing gives 400, like a
  member. The consent is told in `X-Consent-Ref`.
- A new consent gives 200, a new payment 202. Withdrawing and cancelling give 200 with the new state.
- Errors are `{httpStatus, error: {code, text, element}, context, traceId}`. `context` has a state, a limit or an id to
  know, if any.
- `_links` are texts without `href`. Consents, payments and authorisations have ids of three forms (SGL-, NAL, OV-), and
  no separate paths for their states.
- Amounts are JSON numbers in BAM; an amount as text is an error. Transactions have positive amounts and a
  `creditDebitIndicator`.
- `access` names accounts by kind; there is no access to all. What a consent does not include gives 403.
- A consent that is unknown gives 404 in a path and in a header; one that expired or was withdrawn (`revokedByTpp`)
  gives the same error as one that was not signed yet, with its state.
- Reads of balances and transactions without PSU-IP-Address count together for `frequencyPerDay`, by consent.
- Transactions are one list, the oldest first, since `dateFrom` (30 days ago if not told). Pages have `pageSize` rows
  (at most 10) and are counted from 1; `paging` tells how many rows there are.
- A payment must have an `endToEndIdentification` that its account has not used yet, and is at most 5000. Cover is
  checked at once.
- RCVD, after the customer's signature HELD, which holds the amount, two minutes later ACCC with a `settlementDate`.
"""

import random
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import count
from typing import Any

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond

KEY = "drn-58c1e07b"
CODE = "246810"
ROOT = "/xs2a/v1"
CONSENTS, PAYMENTS = f"{ROOT}/consents", f"{ROOT}/payments/domestic-transfers"
LIMIT = 500_000
ATTEMPTS = 3
SHOPS = "Bingo|Konzum|Pekara Manja|Apoteka Podrinje|Nešković benzin|Autoprevoz Goražde".split("|")
CONSENT = ("access", "recurringIndicator", "validUntil", "frequencyPerDay")
PAYMENT = (
    "endToEndIdentification",
    "debtorAccount",
    "instructedAmount",
    "creditorAccount",
    "creditorName",
    "remittanceInformationUnstructured",
)
TEXTS = {
    "missing": ("FORMAT_ERROR", "{} is missing"),
    "invalid": ("FORMAT_ERROR", "Value of {} is not valid"),
    "unreadable": ("FORMAT_ERROR", "Body is not a JSON object"),
    "key": ("KEY_UNKNOWN", "Key is not known"),
    "path": ("SERVICE_INVALID", "There is no such service"),
    "unknown": ("RESOURCE_UNKNOWN", "{} does not exist"),
    "not valid": ("CONSENT_INVALID", "Consent is not valid, its status is {}"),
    "not included": ("CONSENT_INVALID", "Consent does not include {} of this account"),
    "too often": ("ACCESS_EXCEEDED", "Consent has been used without the customer as often as allowed today"),
    "credentials": ("PSU_CREDENTIALS_INVALID", "Password is wrong"),
    "code": ("SCA_CODE_INVALID", "One-time code is wrong"),
    "failed": ("SCA_FAILED", "Authorisation has failed after 3 wrong attempts"),
    "method": ("SCA_METHOD_UNKNOWN", "Customer has no method {}"),
    "status": ("STATUS_INVALID", "This is not the next step, the status is {}"),
    "limit": ("AMOUNT_EXCEEDED", "Amount is over the limit of a payment"),
    "cover": ("FUNDS_NOT_AVAILABLE", "Account does not cover the amount"),
    "duplicate": ("DUPLICATE", "There is a payment with this endToEndIdentification"),
    "too late": ("CANCELLATION_INVALID", "Payment cannot be cancelled, its status is {}"),
}


def money(cents: int) -> dict[str, Any]:
    return {"currency": "BAM", "amount": cents / 100}


def lack(name: str) -> Fault:
    return Fault(400, "missing", name, about=name)


def doubt(name: str) -> Fault:
    return Fault(400, "invalid", name, about=name)


def unknown(what: str) -> Fault:
    return Fault(404, "unknown", about=what)


def read_day(text: Any, place: str) -> date:
    try:
        return datetime.strptime(str(text), "%Y-%m-%d").date()
    except ValueError:
        raise doubt(place) from None


def is_domestic(iban: str) -> bool:
    return bool(re.fullmatch(r"BA\d{18}", iban)) and int(f"{iban[4:]}1110{iban[2:4]}") % 97 == 1


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
    password: str
    accounts: list[Account]
    methods: list[dict[str, str]]


@dataclass
class Authorisation:
    """How a customer signs a consent or a payment. `due` is when a customer confirms in the banking app."""

    id: str
    path: str
    status: str = "received"
    wrong: int = 0
    customer: Customer | None = None
    due: datetime | None = None


@dataclass
class Asked:
    """A consent or a payment. `state` is the bank's own word, but a consent does not notice that it expires."""

    id: str
    path: str
    document: dict[str, Any]
    state: str
    authorisation: Authorisation | None = None


@dataclass
class Consent(Asked):
    customer: Customer | None = None
    ends: date = date.max
    reads: Counter[date] = field(default_factory=Counter)


@dataclass(kw_only=True)
class Payment(Asked):
    account: Account
    cents: int
    due: datetime | None = None


class Drina:
    def __init__(self, seed: int, clock: Clock) -> None:
        self.clock = clock
        self._random = random.Random(seed)
        self._numbers = count(self._random.randrange(10_000, 80_000))
        self._consents: dict[str, Consent] = {}
        self._payments: dict[str, Payment] = {}
        self._customers = {
            "ajla.hodzic": self._enrol(
                "Ajla Hodžić", "Most-u-11-lukova", "47", "BA391991010007215851", "BA391991010034091738"
            ),
            "milan.todorovic": self._enrol(
                "Milan Todorović", "Splav!iz!Foče", "82", "BA391991020005886320", "BA391991020041172689"
            ),
        }
        consent, payment = f"{CONSENTS}/{{id}}", f"{PAYMENTS}/{{id}}"
        signing = "authorisations/{authorisation}"
        self._routes = Routes(
            ("POST", CONSENTS, self._ask),
            ("GET", consent, self._show_consent),
            ("DELETE", consent, self._withdraw),
            ("GET", f"{consent}/{signing}", self._show_authorisation),
            ("PUT", f"{consent}/{signing}", self._update),
            ("GET", f"{ROOT}/accounts", self._list_accounts),
            ("GET", f"{ROOT}/accounts/{{id}}/balances", self._list_balances),
            ("GET", f"{ROOT}/accounts/{{id}}/transactions", self._list_transactions),
            ("POST", PAYMENTS, self._pay),
            ("GET", payment, self._show_payment),
            ("DELETE", payment, self._cancel),
            ("POST", f"{payment}/authorisations", self._start),
            ("GET", f"{payment}/{signing}", self._show_authorisation),
            ("PUT", f"{payment}/{signing}", self._update),
        )

    def _enrol(self, name: str, password: str, phone: str, *ibans: str) -> Customer:
        accounts = [self._open(iban, product) for iban, product in zip(ibans, ("Tekući račun", "Štednja"), strict=True)]
        numbers = self._random.sample(range(1_000, 9_999), 2)
        kinds = (("SMS_OTP", f"SMS na 06*-***-*{phone}"), ("PUSH_DEC", "Aplikacija mDrina"))
        methods = [
            {"authenticationMethodId": f"m{number}", "authenticationType": kind, "name": text}
            for number, (kind, text) in zip(numbers, kinds, strict=True)
        ]
        return Customer(name, password, accounts, methods)

    def _open(self, iban: str, product: str) -> Account:
        account = Account(f"rac-{self._random.randrange(100_000, 999_999)}", iban, product)
        day = self.clock.today - timedelta(days=50)
        self._book(account, 330_000 + self._random.randrange(99_999), day, debtorName="Drvoprerada d.o.o.")
        for _ in range(11):
            day += timedelta(days=self._random.randrange(1, 4))
            self._book(account, -self._random.randrange(300, 9_000), day, creditorName=self._random.choice(SHOPS))
        return account

    def _make(self, length: int, letters: str) -> str:
        return "".join(self._random.choices(letters, k=length))

    def _book(self, account: Account, cents: int, day: date, **more: Any) -> None:
        account.cents += cents
        row = {"transactionId": f"K{next(self._numbers):08}", "bookingDate": str(day)}
        row |= {"creditDebitIndicator": "DBIT" if cents < 0 else "CRDT"}
        account.rows.append({**row, "transactionAmount": money(abs(cents)), **more})

    # Answers

    def answer(self, request: Request) -> Response:
        self._pass_time()
        told = request.headers.get("x-request-id", "")
        try:
            response = self._handle(request, told)
        except Fault as fault:
            response = respond(fault.status, self._explain(fault))
        echo = {"X-Request-ID": told} if told else {}
        return Response(response.status, response.content, {**response.headers, **echo})

    def _handle(self, request: Request, told: str) -> Response:
        try:
            handle, parameters = self._routes.find(request.method, request.path)
        except NoRoute as missing:
            raise Fault(405 if missing.allowed else 404, "path") from None
        key = request.headers.get("x-drina-key")
        if not key:
            raise lack("X-Drina-Key")
        if key != KEY:
            raise Fault(401, "key")
        if not told:
            raise lack("X-Request-ID")
        if not re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", told.lower()):
            raise doubt("X-Request-ID")
        response: Response = handle(request, **parameters)
        return response

    def _explain(self, fault: Fault) -> dict[str, Any]:
        code, text = TEXTS[fault.word]
        more = dict(fault.more)
        error = {"code": code, "text": text.format(more.pop("about", ""))}
        if fault.place:
            error["element"] = fault.place
        context = {"context": more} if more else {}
        return {"httpStatus": fault.status, "error": error, **context, "traceId": self._make(16, "0123456789abcdef")}

    def _read(self, request: Request, members: tuple[str, ...]) -> dict[str, Any]:
        if not request.headers.get("tpp-name"):
            raise lack("TPP-Name")
        data = self._read_document(request)
        for name in members:
            if data.get(name) in (None, ""):
                raise lack(name)
        return data

    def _read_document(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "unreadable") from None

    # Authorisations

    def _authorise(self, asked: Asked) -> Authorisation:
        id = f"OV-{self._make(8, '0123456789')}"
        asked.authorisation = Authorisation(id, f"{asked.path}/authorisations/{id}")
        return asked.authorisation

    def _start(self, request: Request, id: str) -> Response:
        payment = self._payment(id)
        if payment.authorisation or payment.state != "RCVD":
            raise Fault(409, "status", about=payment.state, transactionStatus=payment.state)
        started = self._authorise(payment)
        links = {"updatePsuAuthentication": started.path, "scaStatus": started.path}
        document = {"authorisationId": started.id, "scaStatus": started.status, "_links": links}
        return respond(201, document, {"Location": started.path, "ASPSP-SCA-Approach": "EMBEDDED"})

    def _find_authorisation(self, request: Request, id: str, authorisation: str) -> tuple[Asked, Authorisation]:
        asked = self._payment(id) if request.path.startswith(PAYMENTS) else self._consent(id)
        if asked.authorisation and asked.authorisation.id == authorisation:
            return asked, asked.authorisation
        raise unknown(f"Authorisation {authorisation}")

    def _show_authorisation(self, request: Request, id: str, authorisation: str) -> Response:
        asked, signing = self._find_authorisation(request, id, authorisation)
        more = self._show_signed(asked) if signing.status in ("finalised", "failed") else {}
        return respond(200, {"authorisationId": signing.id, "scaStatus": signing.status, **more})

    def _show_signed(self, asked: Asked) -> dict[str, str]:
        if isinstance(asked, Consent):
            return {"consentStatus": self._consent_status(asked)}
        return {"transactionStatus": asked.state}

    def _update(self, request: Request, id: str, authorisation: str) -> Response:
        asked, signing = self._find_authorisation(request, id, authorisation)
        data = self._read_document(request)
        steps = {
            "psuData": ("received", self._identify),
            "authenticationMethodId": ("psuAuthenticated", self._choose),
            "scaAuthenticationData": ("scaMethodSelected", self._confirm),
        }
        name = next((name for name in steps if data.get(name) not in (None, "")), None)
        if not name:
            raise lack("psuData")
        state, take = steps[name]
        if signing.status != state:
            raise Fault(409, "status", about=signing.status, scaStatus=signing.status)
        return take(asked, signing, data[name])

    def _show_step(self, signing: Authorisation, step: str, approach: str = "EMBEDDED", **more: Any) -> Response:
        links = {"scaStatus": signing.path} | ({step: signing.path} if step else {})
        document = {"authorisationId": signing.id, "scaStatus": signing.status, **more, "_links": links}
        return respond(200, document, {"ASPSP-SCA-Approach": approach})

    def _identify(self, asked: Asked, signing: Authorisation, told: Any) -> Response:
        if not isinstance(told, dict):
            raise doubt("psuData")
        for name in ("psuId", "password"):
            if not told.get(name):
                raise lack(f"psuData.{name}")
        customer = self._customers.get(str(told["psuId"]))
        owns = not isinstance(asked, Payment) or (customer and asked.account in customer.accounts)
        if not customer or not owns or told["password"] != customer.password:
            raise self._refuse(asked, signing, "credentials")
        signing.customer, signing.status = customer, "psuAuthenticated"
        return self._show_step(signing, "selectAuthenticationMethod", scaMethods=customer.methods)

    def _choose(self, asked: Asked, signing: Authorisation, told: Any) -> Response:
        methods = signing.customer.methods if signing.customer else []
        method = next((method for method in methods if method["authenticationMethodId"] == told), None)
        if not method:
            raise Fault(400, "method", "authenticationMethodId", about=told)
        if method["authenticationType"] == "PUSH_DEC":
            signing.status, signing.due = "pendingInApp", self.clock.now + timedelta(seconds=30)
            message = "Potvrdite u aplikaciji mDrina"
            return self._show_step(signing, "", "DECOUPLED", chosenScaMethod=method, psuMessage=message)
        signing.status = "scaMethodSelected"
        challenge = {"otpFormat": "integer", "otpMaxLength": len(CODE), "additionalInformation": method["name"]}
        return self._show_step(signing, "authoriseTransaction", chosenScaMethod=method, challengeData=challenge)

    def _confirm(self, asked: Asked, signing: Authorisation, told: Any) -> Response:
        if told != CODE:
            raise self._refuse(asked, signing, "code")
        self._sign(asked, signing, self.clock.now)
        return self._show_step(signing, "", **self._show_signed(asked))

    def _refuse(self, asked: Asked, signing: Authorisation, word: str) -> Fault:
        signing.wrong += 1
        if signing.wrong < ATTEMPTS:
            return Fault(401, word, scaStatus=signing.status, attemptsLeft=ATTEMPTS - signing.wrong)
        signing.status = "failed"
        asked.state = "rejected" if isinstance(asked, Consent) else "RJCT"
        return Fault(403, "failed", scaStatus=signing.status, **self._show_signed(asked))

    def _sign(self, asked: Asked, signing: Authorisation, at: datetime) -> None:
        signing.status, signing.due = "finalised", None
        if isinstance(asked, Consent) and asked.state == "received":
            asked.state, asked.customer = "valid", signing.customer
        if isinstance(asked, Payment) and asked.state == "RCVD":
            if asked.cents > self._free(asked.account):
                asked.state = "RJCT"
            else:
                asked.state, asked.due = "HELD", at + timedelta(minutes=2)

    def _pass_time(self) -> None:
        for asked in (*self._consents.values(), *self._payments.values()):
            signing = asked.authorisation
            if signing and signing.due and signing.due <= self.clock.now:
                self._sign(asked, signing, signing.due)
        for payment in self._payments.values():
            if payment.state == "HELD" and payment.due and payment.due <= self.clock.now:
                payment.state = "ACCC"
                members = "creditorName", "creditorAccount", "remittanceInformationUnstructured"
                more = {name: payment.document[name] for name in (*members, "endToEndIdentification")}
                self._book(payment.account, -payment.cents, payment.due.date(), **more)

    # Consents

    def _ask(self, request: Request) -> Response:
        data = self._read(request, CONSENT)
        access = data["access"]
        if not isinstance(access, dict) or not isinstance(access.get("accounts"), list):
            raise doubt("access")
        if not isinstance(data["recurringIndicator"], bool):
            raise doubt("recurringIndicator")
        if data["frequencyPerDay"] not in (1, 2, 3, 4):
            raise doubt("frequencyPerDay")
        ends = read_day(data["validUntil"], "validUntil")
        if not self.clock.today <= ends <= self.clock.today + timedelta(days=120):
            raise doubt("validUntil")
        id = f"SGL-{self._make(4, 'ABCDEFGHJKLMNPQRSTUVWXYZ')}-{self._make(4, '23456789')}"
        document = {name: data[name] for name in CONSENT}
        consent = Consent(id, f"{CONSENTS}/{id}", document, "received", ends=ends)
        self._consents[id] = consent
        started = self._authorise(consent)
        links = {"self": consent.path, "updatePsuAuthentication": started.path, "scaStatus": started.path}
        states = {"consentStatus": "received", "authorisationId": started.id, "scaStatus": started.status}
        return respond(200, {"consentId": id, **states, "_links": links}, {"ASPSP-SCA-Approach": "EMBEDDED"})

    def _consent(self, id: str) -> Consent:
        if id in self._consents:
            return self._consents[id]
        raise unknown(f"Consent {id}")

    def _consent_status(self, consent: Consent) -> str:
        return "expired" if consent.state == "valid" and self.clock.today > consent.ends else consent.state

    def _show_consent(self, request: Request, id: str) -> Response:
        consent = self._consent(id)
        document = {"consentId": id, "consentStatus": self._consent_status(consent), **consent.document}
        return respond(200, document | {"_links": {"account": f"{ROOT}/accounts"}})

    def _withdraw(self, request: Request, id: str) -> Response:
        consent = self._consent(id)
        if self._consent_status(consent) in ("received", "valid"):
            consent.state = "revokedByTpp"
        return respond(200, {"consentId": id, "consentStatus": self._consent_status(consent)})

    # Accounts

    def _enter(self, request: Request) -> tuple[Consent, Customer]:
        id = request.headers.get("x-consent-ref")
        if not id:
            raise lack("X-Consent-Ref")
        consent = self._consent(id)
        status = self._consent_status(consent)
        if status != "valid" or not consent.customer:
            raise Fault(401, "not valid", about=status, consentStatus=status)
        return consent, consent.customer

    def _includes(self, consent: Consent, kind: str, account: Account) -> bool:
        named = consent.document["access"].get(kind)
        return isinstance(named, list) and any(iban_of(one) == account.iban for one in named)

    def _list_accounts(self, request: Request) -> Response:
        consent, customer = self._enter(request)
        accounts = [one for one in customer.accounts if self._includes(consent, "accounts", one)]
        return respond(200, {"accounts": [self._describe(one, customer) for one in accounts]})

    def _describe(self, account: Account, customer: Customer) -> dict[str, Any]:
        document = {"resourceId": account.id, "iban": account.iban, "currency": "BAM", "ownerName": customer.name}
        document |= {"product": account.product, "status": "enabled"}
        links = {kind: f"{ROOT}/accounts/{account.id}/{kind}" for kind in ("balances", "transactions")}
        return {**document, "_links": links}

    def _read_account(self, request: Request, kind: str, id: str) -> Account:
        consent, customer = self._enter(request)
        account = next((account for account in customer.accounts if account.id == id), None)
        if not account:
            raise unknown(f"Account {id}")
        if not self._includes(consent, kind, account):
            raise Fault(403, "not included", about=kind)
        today, often = self.clock.today, consent.document["frequencyPerDay"]
        if not request.headers.get("psu-ip-address"):
            if consent.reads[today] >= often:
                tomorrow = str(today + timedelta(days=1))
                raise Fault(429, "too often", frequencyPerDay=often, availableFrom=tomorrow)
            consent.reads[today] += 1
        return account

    def _free(self, account: Account) -> int:
        held = (one for one in self._payments.values() if one.account is account and one.state == "HELD")
        return account.cents - sum(payment.cents for payment in held)

    def _list_balances(self, request: Request, id: str) -> Response:
        account = self._read_account(request, "balances", id)
        amounts = {"interimAvailable": self._free(account), "closingBooked": account.cents}
        more = {"referenceDate": str(self.clock.today)}
        balances = [{"balanceType": kind, "balanceAmount": money(cents), **more} for kind, cents in amounts.items()]
        return respond(200, {"account": {"iban": account.iban}, "balances": balances})

    def _list_transactions(self, request: Request, id: str) -> Response:
        account = self._read_account(request, "transactions", id)
        asked, today = request.query, self.clock.today
        start = read_day(asked.get("dateFrom", str(today - timedelta(days=30))), "dateFrom")
        last = read_day(asked.get("dateTo", str(today)), "dateTo")
        if last < start:
            raise doubt("dateTo")
        number, size = self._read_number(asked, "page", 1, 99), self._read_number(asked, "pageSize", 10, 10)
        rows = [row for row in account.rows if start <= date.fromisoformat(row["bookingDate"]) <= last]
        links = {"account": f"{ROOT}/accounts"}
        if len(rows) > number * size:
            query = {**asked, "pageSize": size, "page": number + 1}
            links["next"] = f"{request.path}?" + "&".join(f"{name}={value}" for name, value in query.items())
        paging = {"number": number, "size": size, "total": len(rows)}
        document = {"account": {"iban": account.iban}, "transactions": rows[(number - 1) * size : number * size]}
        return respond(200, {**document, "paging": paging, "_links": links})

    def _read_number(self, asked: Mapping[str, str], name: str, otherwise: int, most: int) -> int:
        text = asked.get(name, str(otherwise))
        if not re.fullmatch(r"\d{1,2}", text) or not 1 <= int(text) <= most:
            raise doubt(name)
        return int(text)

    # Payments

    def _pay(self, request: Request) -> Response:
        data = self._read(request, PAYMENT)
        for name in ("debtorAccount", "creditorAccount"):
            if not is_domestic(iban_of(data[name])):
                raise doubt(f"{name}.iban")
        cents = self._read_amount(data["instructedAmount"])
        if cents > LIMIT:
            raise Fault(400, "limit", "instructedAmount.amount", limit=money(LIMIT))
        iban = iban_of(data["debtorAccount"])
        accounts = [account for customer in self._customers.values() for account in customer.accounts]
        account = next((account for account in accounts if account.iban == iban), None)
        if not account:
            raise unknown(f"Account {iban}")
        own = [payment for payment in self._payments.values() if payment.account is account]
        for payment in own:
            if payment.document["endToEndIdentification"] == data["endToEndIdentification"]:
                raise Fault(409, "duplicate", "endToEndIdentification", paymentId=payment.id)
        if cents > self._free(account):
            raise Fault(409, "cover", "instructedAmount.amount")
        id = f"NAL{self.clock.today:%y%m}{next(self._numbers):06}"
        document = {name: data[name] for name in PAYMENT} | {"instructedAmount": money(cents)}
        payment = Payment(id, f"{PAYMENTS}/{id}", document, "RCVD", account=account, cents=cents)
        self._payments[id] = payment
        links = {"self": payment.path, "startAuthorisation": f"{payment.path}/authorisations"}
        answer = {"paymentId": id, "transactionStatus": "RCVD", "_links": links}
        return respond(202, answer, {"Location": payment.path})

    def _read_amount(self, told: Any) -> int:
        if not isinstance(told, dict) or told.get("currency") != "BAM":
            raise doubt("instructedAmount.currency")
        amount = told.get("amount")
        if isinstance(amount, bool) or not isinstance(amount, int | float) or not 0 < amount < 10**9:
            raise doubt("instructedAmount.amount")
        cents = round(amount * 100)
        if abs(amount * 100 - cents) > 0.0001 or not cents:
            raise doubt("instructedAmount.amount")
        return cents

    def _payment(self, id: str) -> Payment:
        if id in self._payments:
            return self._payments[id]
        raise unknown(f"Payment {id}")

    def _show_payment(self, request: Request, id: str) -> Response:
        payment = self._payment(id)
        done = {"settlementDate": str(payment.due.date())} if payment.state == "ACCC" and payment.due else {}
        return respond(200, {"paymentId": id, "transactionStatus": payment.state, **payment.document, **done})

    def _cancel(self, request: Request, id: str) -> Response:
        payment = self._payment(id)
        if payment.state not in ("RCVD", "HELD"):
            raise Fault(409, "too late", about=payment.state, transactionStatus=payment.state)
        payment.state = "CANC"
        return respond(200, {"paymentId": id, "transactionStatus": "CANC"})
