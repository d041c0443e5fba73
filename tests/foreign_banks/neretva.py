"""Neretva, a bank in Mostar. It resembles Berlin Group NextGenPSD2 1.3, but:

1. All is below `/tpp/ba/v2`; transactions are `entries`, authorisations `approvals`, statuses `state`.
2. What is made is answered with 200, and a DELETE with 200 and what is left.
3. Answers are `{"outcome": "OK", "ref", "data"}`; `ref` repeats `Request-Id`.
4. Errors are `{"outcome": "FAULT", "ref", "fault": {"reason", "explain", "at"?}}`.
5. The app sends `Neretva-App-Key`, not a certificate, and `Request-Id` of 8 to 40 characters in place of X-Request-ID.
6. Amounts are numbers in BAM, never texts.
7. Days are like 2026/06/15 and times like 2026/06/15 12:00:00.
8. Ids: consents NC-26-AB12CD, payments 26PX and eight digits, approvals apr and seven letters, accounts ten digits.
9. A consent has `scope`, `until` (at most 120 days ahead) and `readsPerDay` (up to 6). Its `consentState` is AWAITING,
   ACTIVE, DECLINED, WITHDRAWN (by DELETE) or LAPSED (after the day `until`).
10. The products are `instant-transfers` (up to 3000) and `domestic-transfers` (up to 12000, and maybe `executeOn`, 1 to
    30 days ahead). `Customer-Address` is needed to make a payment.
11. An approval begins with user name and password (401 if they are wrong and nothing is made), then `step` is
    IDENTIFIED. A PUT of `code` makes it FINALISED, of `decision` TURNED_DOWN; the third wrong code makes it FAILED.
12. The `paymentState` is ENTERED, then ACCEPTED, SCHEDULED, DECLINED by the customer or REFUSED without cover. An
    instant one is BOOKED after 20 seconds; a domestic one is PROCESSING after 5 minutes, BOOKED after 30. A scheduled
    one is PROCESSING from midnight of its day and BOOKED half an hour later, or REFUSED. DELETE makes an ENTERED or
    SCHEDULED one CANCELLED, without an approval.
13. Reads name their consent in `Consent-Ref`. Those without `Customer-Address` count for `readsPerDay` (429) if they
    succeed, all together and not for each account.
14. Both balances are in one object, `booked` and `available` (with the overdraft, without what is under way).
15. Entries need `from`; `page` and `perPage` (1 to 50) turn the pages, and `pageInfo` tells how many there are.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond

BASE = "/tpp/ba/v2"
APPS = {"stecak-7f31c0": "Stećak", "vidra-20b9e4": "Vidra"}
SCOPE = ("accounts", "balances", "entries")
LIMITS = {"instant-transfers": 300_000, "domestic-transfers": 1_200_000}
DAY_FORM, TIME_FORM = "%Y/%m/%d", "%Y/%m/%d %H:%M:%S"
PLACES = "Pekara Stari Most|Bingo Mostar|Elektroprivreda|Knjižara Buybook|Kafana Neretva|Hifa Petrol|Autoprevoz"
EXPLAINED = {
    "ACCOUNT_UNKNOWN": "The customer has no such account.",
    "APP_UNKNOWN": "Send the key of your app.",
    "BODY_UNREADABLE": "The body is not a JSON object.",
    "CODE_WRONG": "The code is not right.",
    "CONSENT_NOT_ACTIVE": "The consent is not active.",
    "CREDENTIALS_WRONG": "User name or password is not right.",
    "HEADER_INVALID": "A header has a value that we do not take.",
    "HEADER_MISSING": "A header is missing.",
    "IBAN_INVALID": "The IBAN has wrong check digits or a wrong form.",
    "LIMIT_EXCEEDED": "That is more than we permit.",
    "METHOD_UNKNOWN": "That cannot be done here.",
    "NOT_FOUND": "There is nothing by that name.",
    "NOT_PERMITTED": "The consent does not cover that.",
    "READS_USED_UP": "All reads of today are used up.",
    "STATE_WRONG": "That cannot be done in this state.",
    "VALUE_INVALID": "A value is missing or has a wrong form.",
}


@dataclass
class Account:
    no: str
    iban: str
    label: str
    cents: int
    overdraft: int
    entries: list[tuple[date, dict[str, Any]]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    user: str
    password: str
    code: str
    name: str
    accounts: Sequence[Account]


@dataclass
class Consent:
    id: str
    app: str
    scope: list[str]
    until: date
    reads: int
    created: datetime
    state: str = "AWAITING"
    customer: Customer | None = None
    used: dict[date, int] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return f"{BASE}/consents/{self.id}"

    @property
    def is_open(self) -> bool:
        return self.state == "AWAITING"


@dataclass
class Payment:
    id: str
    app: str
    product: str
    payer: Account
    cents: int
    terms: dict[str, Any]
    due: date | None
    created: datetime
    state: str = "ENTERED"
    approved: datetime | None = None

    @property
    def path(self) -> str:
        return f"{BASE}/payments/{self.product}/{self.id}"

    @property
    def is_open(self) -> bool:
        return self.state == "ENTERED"


@dataclass
class Approval:
    id: str
    thing: Consent | Payment
    customer: Customer
    step: str = "IDENTIFIED"
    left: int = 3


def is_iban(value: Any) -> bool:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Z]{2}\d\d[0-9A-Z]{11,30}", value):
        return False
    return int("".join(str(int(sign, 36)) for sign in value[4:] + value[:4])) % 97 == 1


def is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= most


def read_day(value: Any, place: str) -> date:
    try:
        if re.fullmatch(r"\d{4}/\d\d/\d\d", str(value)):
            return date.fromisoformat(str(value).replace("/", "-"))
    except ValueError:
        pass
    raise Fault(400, "VALUE_INVALID", place)


class Neretva:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"neretva {seed}")
        self._consents: dict[str, Consent] = {}
        self._payments: dict[str, Payment] = {}
        self._approvals: dict[str, Approval] = {}
        self._customers = [
            Customer(
                "amra.hadzic",
                "Lipa-cvate-22",
                "480213",
                "Amra Hadžić",
                [self._open("Tekući račun", 481_235, 50_000), self._open("Štednja", 1_260_000, 0)],
            ),
            Customer(
                "dino.karic",
                "Trebevic9zima",
                "917364",
                "Dino Karić",
                [
                    self._open("Plata", 693_010, 80_000),
                    self._open("Obrt", 354_877, 0),
                    self._open("Za auto", 902_540, 0),
                ],
            ),
        ]
        consent, payment, account = "/consents/{id}", "/payments/{product}/{id}", "/accounts/{no}"
        self._routes = Routes(
            ("POST", BASE + "/consents", self._make_consent),
            ("GET", BASE + consent, self._show),
            ("GET", BASE + consent + "/state", self._show_state),
            ("DELETE", BASE + consent, self._withdraw),
            ("POST", BASE + consent + "/approvals", self._begin),
            ("GET", BASE + consent + "/approvals/{approval}", self._show_approval),
            ("PUT", BASE + consent + "/approvals/{approval}", self._go_on),
            ("GET", BASE + "/accounts", self._list_accounts),
            ("GET", BASE + account + "/balances", self._show_balances),
            ("GET", BASE + account + "/entries", self._list_entries),
            ("POST", BASE + "/payments/{product}", self._make_payment),
            ("GET", BASE + payment, self._show),
            ("GET", BASE + payment + "/state", self._show_state),
            ("DELETE", BASE + payment, self._cancel),
            ("POST", BASE + payment + "/approvals", self._begin),
            ("GET", BASE + payment + "/approvals/{approval}", self._show_approval),
            ("PUT", BASE + payment + "/approvals/{approval}", self._go_on),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        ref = request.headers.get("request-id")
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            if not ref:
                raise Fault(400, "HEADER_MISSING", "header.Request-Id")
            if not re.fullmatch(r"[\w-]{8,40}", ref):
                raise Fault(400, "HEADER_INVALID", "header.Request-Id")
            if request.headers.get("neretva-app-key") not in APPS:
                raise Fault(401, "APP_UNKNOWN", "header.Neretva-App-Key")
            return handler(request, **parameters)
        except NoRoute as wrong:
            error = Fault(405, "METHOD_UNKNOWN") if wrong.allowed else Fault(404, "NOT_FOUND", "path")
        except Fault as fault:
            error = fault
        told = {"reason": error.word, "explain": EXPLAINED[error.word]}
        told |= ({"at": error.place} if error.place else {}) | error.more
        return respond(error.status, {"outcome": "FAULT", "ref": ref, "fault": told})

    def _ok(self, request: Request, data: Any, **more: Any) -> Response:
        return respond(200, {"outcome": "OK", "ref": request.headers["request-id"], "data": data, **more})

    def _word(self, length: int, signs: str = "0123456789") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _open(self, label: str, cents: int, overdraft: int) -> Account:
        rest = "129" + self._word(13)
        check = 98 - int("".join(str(int(sign, 36)) for sign in rest + "BA00")) % 97
        account = Account(self._word(10, "123456789"), f"BA{check:02}{rest}", label, cents, overdraft)
        for days in sorted(self._random.choices(range(1, 80), k=36), reverse=True):
            way = self._random.choice(("OUT", "OUT", "OUT", "IN"))
            place, sum = self._random.choice(PLACES.split("|")), self._random.randrange(150, 12_000)
            self._enter(account, self.clock.today - timedelta(days=days), way, sum, place, "Kartica")
        return account

    def _enter(self, account: Account, day: date, way: str, cents: int, other: str, purpose: str) -> None:
        entry = {"entryNo": self._word(9), "bookedOn": day.strftime(DAY_FORM), "way": way, "amount": cents / 100}
        account.entries.insert(0, (day, entry | {"currency": "BAM", "other": other, "purpose": purpose}))

    def _advance(self) -> None:
        now = self.clock.now
        for consent in self._consents.values():
            if consent.state in ("AWAITING", "ACTIVE") and self.clock.today > consent.until:
                consent.state = "LAPSED"
        for payment in self._payments.values():
            if not payment.approved:
                continue
            start, booked = payment.approved + timedelta(minutes=5), payment.approved + timedelta(minutes=30)
            if payment.due:
                start = datetime.combine(payment.due, time(), now.tzinfo)
                booked = start + timedelta(minutes=30)
            if payment.product == "instant-transfers":
                start = booked = payment.approved + timedelta(seconds=20)
            if payment.state == "SCHEDULED" and now >= start:
                payment.state = "PROCESSING" if payment.cents <= self._available(payment.payer) else "REFUSED"
            if payment.state == "ACCEPTED" and now >= start:
                payment.state = "PROCESSING"
            if payment.state == "PROCESSING" and now >= booked:
                payment.state = "BOOKED"
                payment.payer.cents -= payment.cents
                other, purpose = payment.terms["to"]["name"], payment.terms["purpose"]
                self._enter(payment.payer, booked.date(), "OUT", payment.cents, other, purpose)

    def _available(self, account: Account) -> int:
        under_way = [one for one in self._payments.values() if one.state in ("ACCEPTED", "PROCESSING")]
        return account.cents + account.overdraft - sum(one.cents for one in under_way if one.payer is account)

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "BODY_UNREADABLE", "body") from None

    # Consents and payments

    def _make_consent(self, request: Request) -> Response:
        body = self._body(request)
        scope, reads = body.get("scope"), body.get("readsPerDay")
        if not isinstance(scope, list) or not scope or any(one not in SCOPE for one in scope):
            raise Fault(400, "VALUE_INVALID", "body.scope")
        until = read_day(body.get("until"), "body.until")
        if until < self.clock.today:
            raise Fault(400, "VALUE_INVALID", "body.until")
        if until > self.clock.today + timedelta(days=120):
            raise Fault(422, "LIMIT_EXCEEDED", "body.until")
        if not isinstance(reads, int) or isinstance(reads, bool) or reads < 1:
            raise Fault(400, "VALUE_INVALID", "body.readsPerDay")
        if reads > 6:
            raise Fault(422, "LIMIT_EXCEEDED", "body.readsPerDay")
        id = f"NC-26-{self._word(6, '0123456789ABCDEFGHKMNPRSTUVZ')}"
        app = request.headers["neretva-app-key"]
        consent = self._consents[id] = Consent(id, app, scope, until, reads, self.clock.now)
        return self._tell(request, consent)

    def _make_payment(self, request: Request, product: str) -> Response:
        if product not in LIMITS:
            raise Fault(404, "NOT_FOUND", "path.product")
        if not request.headers.get("customer-address"):
            raise Fault(400, "HEADER_MISSING", "header.Customer-Address")
        body, due = self._body(request), None
        source, target, amount = body.get("from"), body.get("to"), body.get("amount")
        if not isinstance(source, dict):
            raise Fault(400, "VALUE_INVALID", "body.from")
        if not isinstance(target, dict) or not is_text(target.get("name"), 70):
            raise Fault(400, "VALUE_INVALID", "body.to.name")
        if not is_iban(target.get("iban")):
            raise Fault(422, "IBAN_INVALID", "body.to.iban")
        if not isinstance(amount, int | float) or isinstance(amount, bool) or amount <= 0:
            raise Fault(400, "VALUE_INVALID", "body.amount")
        cents = round(amount * 100)
        if abs(amount * 100 - cents) > 1e-6:
            raise Fault(400, "VALUE_INVALID", "body.amount")
        if body.get("currency") != "BAM":
            raise Fault(400, "VALUE_INVALID", "body.currency")
        if cents > LIMITS[product]:
            raise Fault(422, "LIMIT_EXCEEDED", "body.amount")
        if not is_text(body.get("purpose"), 60):
            raise Fault(400, "VALUE_INVALID", "body.purpose")
        if "executeOn" in body:
            due = read_day(body["executeOn"], "body.executeOn")
            if product == "instant-transfers" or not 1 <= (due - self.clock.today).days <= 30:
                raise Fault(422, "LIMIT_EXCEEDED", "body.executeOn")
        accounts = [account for one in self._customers for account in one.accounts]
        payer = next((one for one in accounts if one.iban == source.get("iban")), None)
        if not payer:
            raise Fault(422, "ACCOUNT_UNKNOWN", "body.from.iban")
        parties = {"from": {"iban": payer.iban}, "to": {"name": target["name"], "iban": target["iban"]}}
        terms = {**parties, "amount": cents / 100, "currency": "BAM", "purpose": body["purpose"]}
        id, app = f"26PX{self._word(8)}", request.headers["neretva-app-key"]
        payment = self._payments[id] = Payment(id, app, product, payer, cents, terms, due, self.clock.now)
        return self._tell(request, payment)

    def _find(self, request: Request, id: str, product: str | None) -> Consent | Payment:
        thing: Consent | Payment | None = self._payments.get(id) if product else self._consents.get(id)
        if isinstance(thing, Payment) and thing.product != product:
            thing = None
        if not thing or thing.app != request.headers["neretva-app-key"]:
            raise Fault(404, "NOT_FOUND", "path.paymentNo" if product else "path.consentNo")
        return thing

    def _state(self, thing: Consent | Payment) -> dict[str, Any]:
        return {"consentState" if isinstance(thing, Consent) else "paymentState": thing.state}

    def _tell(self, request: Request, thing: Consent | Payment) -> Response:
        data: dict[str, Any]
        if isinstance(thing, Consent):
            data = {"consentNo": thing.id, **self._state(thing), "scope": thing.scope}
            data |= {"until": thing.until.strftime(DAY_FORM), "readsPerDay": thing.reads}
        else:
            data = {"paymentNo": thing.id, **self._state(thing), "product": thing.product, **thing.terms}
            data |= {"executeOn": thing.due.strftime(DAY_FORM)} if thing.due else {}
        data["madeAt"] = thing.created.strftime(TIME_FORM)
        if thing.is_open:
            data["approveAt"] = f"{thing.path}/approvals"
        return self._ok(request, data)

    def _show(self, request: Request, id: str, product: str | None = None) -> Response:
        return self._tell(request, self._find(request, id, product))

    def _show_state(self, request: Request, id: str, product: str | None = None) -> Response:
        return self._ok(request, self._state(self._find(request, id, product)))

    def _withdraw(self, request: Request, id: str) -> Response:
        consent = self._find(request, id, None)
        if consent.state not in ("AWAITING", "ACTIVE"):
            raise Fault(409, "STATE_WRONG", "path.consentNo")
        consent.state = "WITHDRAWN"
        return self._tell(request, consent)

    def _cancel(self, request: Request, id: str, product: str) -> Response:
        payment = self._find(request, id, product)
        if payment.state not in ("ENTERED", "SCHEDULED"):
            raise Fault(409, "STATE_WRONG", "path.paymentNo")
        payment.state = "CANCELLED"
        return self._tell(request, payment)

    # Approvals

    def _begin(self, request: Request, id: str, product: str | None = None) -> Response:
        thing, body = self._find(request, id, product), self._body(request)
        if not thing.is_open:
            raise Fault(409, "STATE_WRONG", "path.paymentNo" if product else "path.consentNo")
        given = body.get("userName"), body.get("password")
        customer = next((one for one in self._customers if (one.user, one.password) == given), None)
        if not customer:
            raise Fault(401, "CREDENTIALS_WRONG", "body.password")
        if isinstance(thing, Payment) and all(one is not thing.payer for one in customer.accounts):
            raise Fault(403, "NOT_PERMITTED", "body.userName")
        approval = Approval("apr" + self._word(7, "abcdefghkmnprstuvz"), thing, customer)
        self._approvals[approval.id] = approval
        return self._tell_approval(request, approval)

    def _tell_approval(self, request: Request, approval: Approval) -> Response:
        data = {"approvalNo": approval.id, "step": approval.step, **self._state(approval.thing)}
        if approval.step == "IDENTIFIED":
            data |= {"customer": approval.customer.name, "next": f"{approval.thing.path}/approvals/{approval.id}"}
        return self._ok(request, data)

    def _find_approval(self, request: Request, id: str, approval: str, product: str | None) -> Approval:
        thing, found = self._find(request, id, product), self._approvals.get(approval)
        if not found or found.thing is not thing:
            raise Fault(404, "NOT_FOUND", "path.approvalNo")
        return found

    def _show_approval(self, request: Request, id: str, approval: str, product: str | None = None) -> Response:
        return self._tell_approval(request, self._find_approval(request, id, approval, product))

    def _go_on(self, request: Request, id: str, approval: str, product: str | None = None) -> Response:
        found, body = self._find_approval(request, id, approval, product), self._body(request)
        if found.step != "IDENTIFIED" or not found.thing.is_open:
            raise Fault(409, "STATE_WRONG", "path.approvalNo")
        if "decision" in body:
            if body["decision"] != "DECLINE":
                raise Fault(400, "VALUE_INVALID", "body.decision")
            found.step, found.thing.state = "TURNED_DOWN", "DECLINED"
            return self._tell_approval(request, found)
        if body.get("code") != found.customer.code:
            found.left -= 1
            if not found.left:
                found.step, found.thing.state = "FAILED", "DECLINED"
            raise Fault(401, "CODE_WRONG", "body.code", attemptsLeft=found.left)
        found.step = "FINALISED"
        if isinstance(found.thing, Consent):
            found.thing.state, found.thing.customer = "ACTIVE", found.customer
        else:
            self._accept(found.thing)
        return self._tell_approval(request, found)

    def _accept(self, payment: Payment) -> None:
        payment.approved = self.clock.now
        if payment.due:
            payment.state = "SCHEDULED"
        elif payment.cents > self._available(payment.payer):
            payment.state = "REFUSED"
        else:
            payment.state = "ACCEPTED"

    # Accounts

    def _permit(self, request: Request, scope: str) -> Consent:
        if not (ref := request.headers.get("consent-ref")):
            raise Fault(400, "HEADER_MISSING", "header.Consent-Ref")
        consent = self._consents.get(ref)
        if not consent or consent.app != request.headers["neretva-app-key"] or consent.state != "ACTIVE":
            raise Fault(403, "CONSENT_NOT_ACTIVE", "header.Consent-Ref")
        if scope not in consent.scope:
            raise Fault(403, "NOT_PERMITTED", "header.Consent-Ref")
        return consent

    def _count(self, request: Request, consent: Consent) -> None:
        if request.headers.get("customer-address"):
            return
        today = self.clock.today
        if consent.used.get(today, 0) >= consent.reads:
            raise Fault(429, "READS_USED_UP", "header.Consent-Ref")
        consent.used[today] = consent.used.get(today, 0) + 1

    def _accounts(self, consent: Consent) -> Sequence[Account]:
        return consent.customer.accounts if consent.customer else []

    def _account(self, consent: Consent, no: str) -> Account:
        for account in self._accounts(consent):
            if account.no == no:
                return account
        raise Fault(404, "ACCOUNT_UNKNOWN", "path.accountNo")

    def _list_accounts(self, request: Request) -> Response:
        consent = self._permit(request, "accounts")
        self._count(request, consent)
        rows = [{"accountNo": one.no, "iban": one.iban, "label": one.label} for one in self._accounts(consent)]
        return self._ok(request, [row | {"currency": "BAM"} for row in rows])

    def _show_balances(self, request: Request, no: str) -> Response:
        consent = self._permit(request, "balances")
        account = self._account(consent, no)
        self._count(request, consent)
        sums = {"booked": account.cents / 100, "available": self._available(account) / 100, "currency": "BAM"}
        return self._ok(request, {"accountNo": no, **sums, "asOf": self.clock.now.strftime(TIME_FORM)})

    def _list_entries(self, request: Request, no: str) -> Response:
        consent = self._permit(request, "entries")
        account, query = self._account(consent, no), request.query
        since, until = read_day(query.get("from"), "query.from"), self.clock.today
        if "to" in query:
            until = read_day(query["to"], "query.to")
        if until < since:
            raise Fault(400, "VALUE_INVALID", "query.to")
        numbers = {"page": 1, "perPage": 20}
        for name, most in (("page", 999), ("perPage", 50)):
            if name in query:
                if not re.fullmatch(r"[1-9]\d{0,2}", query[name]) or int(query[name]) > most:
                    raise Fault(400, "VALUE_INVALID", f"query.{name}")
                numbers[name] = int(query[name])
        self._count(request, consent)
        found = [entry for day, entry in account.entries if since <= day <= until]
        size = numbers["perPage"]
        start = (numbers["page"] - 1) * size
        info = {**numbers, "pages": -(-len(found) // size), "rows": len(found)}
        return self._ok(request, found[start : start + size], pageInfo=info)
