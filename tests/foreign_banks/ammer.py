"""Ammer, a German bank whose interface follows the Berlin Group's NextGenPSD2 1.3, with these deviations:

1. All is below `/xs2a/ammer/v1`. There is no token: X-Ammer-Client-Id tells the app, an unknown one gets 401.
2. X-Request-ID must be a UUID and is repeated in the header; PSU-IP-Address is demanded for payments.
3. Errors are one flat object: `status`, `reason`, `hint`, `where` (`header:…`, `body:…`, `query:…` or null) and
   `reference`, the X-Request-ID. 400 is for form, 422 LIMIT_EXCEEDED for the bank's own limits.
4. A consent's `access` has `services`: ACCOUNT_LIST, BALANCE, TURNOVER, each for all accounts of the customer.
5. `validUntil` is at most 90 days ahead. `consentStatus` is pending, active, denied, revoked or expired.
6. DELETE of a consent gives 200 and its status. A read with a consent that is not active gives 403, not 401.
7. `frequencyPerDay` (1 to 4) counts all reads of a consent without PSU-IP-Address together; one more gives 429.
8. Ids are a letter and three groups of four digits: K for consents, Z for payments, F for authorisations.
9. An authorisation is made with its consent or payment; `scaRedirect` is the page `/freigabe/{id}`: name and PIN, then
   a TAN and the hidden `pruefwert`. A mistake gives 200 and the form again, the third 403 and the end. `abbrechen`
   declines at any time. Both ends are a 302 to TPP-Redirect-URI with `vorgang` and `ergebnis`.
10. Accounts have `accountId` and `kind` for resourceId and cashAccountType.
11. Amounts have no sign but `creditDebitIndicator`. Balances are interimAvailable and closingBooked.
12. Transactions are one list, newest first, each with `bookingStatus`. `dateFrom` is demanded, 90 days ago at most.
13. They have `page` and `pageSize` (1 to 20, else 10); answers have `paging` and `_links.next`.
14. A payment gives 202 and has long names: Received, AcceptedTechnicalValidation (lowers the available balance),
   AcceptedSettlementInProcess (2 minutes), …Completed (10; booked); Rejected if declined or uncovered. Limit: 2500.00.
15. DELETE cancels a payment without another authorisation until settlement begins; then it gives 409.
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from tests.foreign_banks.server import Clock, Fault, Handler, NoRoute, Request, Response, Routes, respond, show

ROOT = "/xs2a/ammer/v1"
CLIENTS = ("traunblick", "kassenwart")
SERVICES = ("ACCOUNT_LIST", "BALANCE", "TURNOVER")
MOST_CENTS, MOST_DAYS = 250_000, 90
OPEN = ("pending", "active")
RECEIVED, ACCEPTED = "Received", "AcceptedTechnicalValidation"
SETTLING, SETTLED = "AcceptedSettlementInProcess", "AcceptedSettlementCompleted"
PAYERS = ("Stadtwerke Dießen", "Hofmolkerei Raisting", "Buchhandlung Seeblick", "Bayerische Regiobahn")
HINTS = {
    "CANCELLATION_INVALID": "Die Zahlung kann nicht mehr storniert werden.",
    "CLIENT_UNKNOWN": "Diese Anwendung ist nicht bekannt.",
    "CONSENT_NOT_ACTIVE": "Die Einwilligung ist nicht wirksam.",
    "CONSENT_UNKNOWN": "Diese Einwilligung gibt es nicht.",
    "DEBTOR_UNKNOWN": "Dieses Konto wird nicht bei uns geführt.",
    "FORMAT_ERROR": "Ein Wert fehlt oder ist falsch.",
    "FREQUENCY_EXCEEDED": "Heute sind keine weiteren Abrufe ohne den Kunden möglich.",
    "HEADER_MISSING": "Ein Header fehlt.",
    "LIMIT_EXCEEDED": "Der Wert liegt über der Grenze der Bank.",
    "RESOURCE_UNKNOWN": "Das gibt es nicht.",
    "SERVICE_NOT_GRANTED": "Die Einwilligung umfasst diesen Dienst nicht.",
}


@dataclass
class Account:
    id: str
    iban: str
    name: str
    kind: str
    cents: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    name: str
    pin: str
    tan: str
    owner: str
    accounts: Sequence[Account]


@dataclass
class Thing:
    """A consent (without a payer) or a payment, with its authorisation."""

    id: str
    client: str
    document: dict[str, Any]
    status: str
    authorisation: str
    return_to: str
    sca: str = "received"
    check: str = ""
    mistakes: int = 0
    acted: date | None = None
    customer: Customer | None = None
    payer: Account | None = None
    cents: int = 0
    accepted: datetime | None = None
    reads: dict[date, int] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return f"{ROOT}/payments/sepa-credit-transfers/{self.id}" if self.payer else f"{ROOT}/consents/{self.id}"

    @property
    def is_waiting(self) -> bool:
        return self.status in ("pending", RECEIVED) and self.sca in ("received", "psuAuthenticated")


def check_digits(rest: str) -> str:
    return f"{98 - int(''.join(str(int(sign, 36)) for sign in rest)) % 97:02}"


def is_iban(text: Any) -> bool:
    if not isinstance(text, str) or not re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text):
        return False
    return check_digits(text[4:] + text[:2] + "00") == text[2:4]


def euros(cents: int) -> str:
    return f"{abs(cents) // 100}.{abs(cents) % 100:02}"


def signed(name: str, cents: int) -> dict[str, Any]:
    amount = {"amount": euros(cents), "currency": "EUR"}
    return {name: amount, "creditDebitIndicator": "DBIT" if cents < 0 else "CRDT"}


def read_day(text: Any, place: str) -> date:
    try:
        return date.fromisoformat(text)
    except (TypeError, ValueError):
        raise Fault(400, "FORMAT_ERROR", place) from None


class Ammer:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"ammer {seed}")
        self._consents: dict[str, Thing] = {}
        self._payments: dict[str, Thing] = {}
        private = [self._open("Girokonto", "CACC", 412_350), self._open("Tagesgeld", "SVGS", 1_530_000)]
        business = [self._open("Geschäftskonto", "CACC", 1_284_075), self._open("Kasse Steg", "CACC", 367_410)]
        business.append(self._open("Rücklagen", "SVGS", 2_600_500))
        self._customers = [
            Customer("schongauer71", "48213", "305917", "Veronika Schongauer", private),
            Customer("utting.boote", "90657", "772046", "Bootsverleih Utting GmbH", business),
        ]
        consents, payments = f"{ROOT}/consents", f"{ROOT}/payments/sepa-credit-transfers"
        account = f"{ROOT}/accounts/{{id}}"
        self._routes = Routes(
            ("POST", consents, self._ask_consent),
            ("DELETE", consents + "/{id}", self._revoke),
            ("POST", payments, self._pay),
            ("DELETE", payments + "/{id}", self._cancel),
            *self._reads(consents + "/{id}", self._consent),
            *self._reads(payments + "/{id}", self._payment),
            ("GET", f"{ROOT}/accounts", self._list_accounts),
            ("GET", account + "/balances", self._balances),
            ("GET", account + "/transactions", self._list_entries),
        )
        self._pages = Routes(("GET", "/freigabe/{id}", self._page), ("POST", "/freigabe/{id}", self._decide))

    def _reads(self, path: str, find: Callable[[Request, str], Thing]) -> list[tuple[str, str, Handler]]:
        """What can be read of a consent or a payment."""
        return [
            ("GET", path, lambda request, id: respond(200, self._show(find(request, id)))),
            ("GET", path + "/status", lambda request, id: respond(200, self._status(find(request, id)))),
            ("GET", path + "/authorisations/{sca}", lambda request, id, sca: self._tell_sca(find(request, id), sca)),
        ]

    def answer(self, request: Request) -> Response:
        self._advance()
        if request.path.startswith("/freigabe/"):
            try:
                handler, parameters = self._pages.find(request.method, request.path)
                return handler(request, **parameters)
            except NoRoute:
                return show(404, "Ammer Bank", "<p>Diese Seite gibt es nicht.</p>")
        reference = request.headers.get("x-request-id")
        told = {"X-Request-ID": reference} if reference else {}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            self._check_headers(request)
            response = handler(request, **parameters)
            return Response(response.status, response.content, {**response.headers, **told})
        except NoRoute as wrong:
            fault = Fault(405 if wrong.allowed else 404, "RESOURCE_UNKNOWN")
        except Fault as refused:
            fault = refused
        document = {"status": fault.status, "reason": fault.word, "hint": HINTS[fault.word], "where": fault.place}
        return respond(fault.status, document | {"reference": reference}, told)

    def _digits(self, count: int) -> str:
        return "".join(self._random.choices("0123456789", k=count))

    def _new_id(self, letter: str) -> str:
        return f"{letter}{self._digits(4)}-{self._digits(4)}-{self._digits(4)}"

    def _hex(self, length: int) -> str:
        return "".join(self._random.choices("0123456789abcdef", k=length))

    def _open(self, name: str, kind: str, cents: int) -> Account:
        rest = f"70391500{self._digits(10)}"
        iban = f"DE{check_digits(rest + 'DE00')}{rest}"
        account = Account(self._hex(24), iban, name, kind, cents + self._random.randrange(20_000))
        for days in sorted(self._random.sample(range(1, 88), 44), reverse=True):
            change = self._random.choice((-1, -1, -1, 1)) * self._random.randrange(240, 18_000)
            who, day = self._random.choice(PAYERS), self.clock.today - timedelta(days=days)
            account.entries.insert(0, self._entry(who, change, f"Rechnung {self._digits(6)}", day))
        return account

    def _entry(self, who: str, cents: int, text: str, day: date | None) -> dict[str, Any]:
        entry: dict[str, Any] = {"transactionId": f"U{self._digits(14)}"} if day else {}
        entry["bookingStatus"] = "booked" if day else "pending"
        if day:
            entry |= {"bookingDate": day.isoformat(), "valueDate": day.isoformat()}
        entry |= signed("transactionAmount", cents)
        return entry | {"creditorName" if cents < 0 else "debtorName": who, "remittanceInformationUnstructured": text}

    def _advance(self) -> None:
        for consent in self._consents.values():
            if self.clock.today.isoformat() > consent.document["validUntil"] and consent.status in OPEN:
                consent.status = "expired"
        for payment in self._payments.values():
            passed = self.clock.now - payment.accepted if payment.accepted else timedelta()
            if payment.status == ACCEPTED and passed >= timedelta(minutes=2):
                payment.status = SETTLING
            if payment.status == SETTLING and passed >= timedelta(minutes=10) and payment.payer:
                payment.status = SETTLED
                payment.payer.cents -= payment.cents
                payment.payer.entries.insert(0, self._payment_entry(payment, self.clock.today))

    def _payment_entry(self, payment: Thing, day: date | None) -> dict[str, Any]:
        who, text = (payment.document[name] for name in ("creditorName", "remittanceInformationUnstructured"))
        return self._entry(who, -payment.cents, text, day)

    def _reserved(self, account: Account) -> list[Thing]:
        open = [one for one in self._payments.values() if one.status in (ACCEPTED, SETTLING)]
        return [one for one in open if one.payer is account]

    def _available(self, account: Account) -> int:
        return account.cents - sum(one.cents for one in self._reserved(account))

    def _check_headers(self, request: Request) -> None:
        if not (reference := request.headers.get("x-request-id")):
            raise Fault(400, "HEADER_MISSING", "header:X-Request-ID")
        try:
            UUID(reference)
        except ValueError:
            raise Fault(400, "FORMAT_ERROR", "header:X-Request-ID") from None
        if request.headers.get("x-ammer-client-id") not in CLIENTS:
            raise Fault(401, "CLIENT_UNKNOWN", "header:X-Ammer-Client-Id")

    def _header(self, request: Request, name: str) -> str:
        if not (value := request.headers.get(name.lower())):
            raise Fault(400, "HEADER_MISSING", f"header:{name}")
        return value

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "FORMAT_ERROR", "body:") from None

    def _consent(self, request: Request, id: str) -> Thing:
        consent = self._consents.get(id)
        if not consent or consent.client != request.headers["x-ammer-client-id"]:
            raise Fault(404, "CONSENT_UNKNOWN")
        return consent

    def _payment(self, request: Request, id: str) -> Thing:
        payment = self._payments.get(id)
        if not payment or payment.client != request.headers["x-ammer-client-id"]:
            raise Fault(404, "RESOURCE_UNKNOWN")
        return payment

    def _status(self, thing: Thing) -> dict[str, Any]:
        if not thing.payer:
            return {"consentId": thing.id, "consentStatus": thing.status}
        document = {"paymentId": thing.id, "transactionStatus": thing.status}
        if thing.status == "Rejected":
            document["rejectReason"] = "DS02" if thing.sca == "failed" else "AM04"
        return document

    def _show(self, thing: Thing) -> dict[str, Any]:
        document = self._status(thing) | thing.document
        if not thing.payer and thing.acted:
            document["lastActionDate"] = thing.acted.isoformat()
        return document | {"_links": {"self": {"href": thing.path}, "status": {"href": f"{thing.path}/status"}}}

    def _tell_new(self, request: Request, status: int, thing: Thing) -> Response:
        document = self._status(thing) | {"authorisationId": thing.authorisation}
        document["_links"] = {
            "scaRedirect": {"href": f"{request.origin}/freigabe/{thing.authorisation}"},
            "self": {"href": thing.path},
            "scaStatus": {"href": f"{thing.path}/authorisations/{thing.authorisation}"},
        }
        return respond(status, document, {"Location": thing.path, "ASPSP-SCA-Approach": "REDIRECT"})

    def _tell_sca(self, thing: Thing, sca: str) -> Response:
        if thing.authorisation != sca:
            raise Fault(404, "RESOURCE_UNKNOWN")
        return respond(200, {"authorisationId": sca, "scaStatus": thing.sca})

    def _ask_consent(self, request: Request) -> Response:
        back, asked = self._header(request, "TPP-Redirect-URI"), self._body(request)
        access = asked.get("access")
        services = access.get("services") if isinstance(access, dict) else None
        if not isinstance(services, list) or not services or not all(one in SERVICES for one in services):
            raise Fault(400, "FORMAT_ERROR", "body:access.services")
        if not isinstance(asked.get("recurringIndicator"), bool):
            raise Fault(400, "FORMAT_ERROR", "body:recurringIndicator")
        often = asked.get("frequencyPerDay")
        if not isinstance(often, int) or often < 1:
            raise Fault(400, "FORMAT_ERROR", "body:frequencyPerDay")
        until = read_day(asked.get("validUntil"), "body:validUntil")
        if until < self.clock.today:
            raise Fault(400, "FORMAT_ERROR", "body:validUntil")
        if until > self.clock.today + timedelta(days=MOST_DAYS):
            raise Fault(422, "LIMIT_EXCEEDED", "body:validUntil")
        if often > 4:
            raise Fault(422, "LIMIT_EXCEEDED", "body:frequencyPerDay")
        document = {
            "access": {"services": services},
            "recurringIndicator": asked["recurringIndicator"],
            "validUntil": until.isoformat(),
            "frequencyPerDay": often,
        }
        client, today = request.headers["x-ammer-client-id"], self.clock.today
        consent = Thing(self._new_id("K"), client, document, "pending", self._new_id("F"), back, acted=today)
        self._consents[consent.id] = consent
        return self._tell_new(request, 201, consent)

    def _revoke(self, request: Request, id: str) -> Response:
        consent = self._consent(request, id)
        if consent.status not in OPEN:
            raise Fault(409, "CONSENT_NOT_ACTIVE")
        consent.status, consent.acted = "revoked", self.clock.today
        return respond(200, self._status(consent))

    def _use(self, request: Request, service: str, account: str | None = None) -> Sequence[Account]:
        """The accounts that the consent of a request opens, or this one alone."""
        consent = self._consents.get(self._header(request, "Consent-ID"))
        if not consent or consent.client != request.headers["x-ammer-client-id"]:
            raise Fault(403, "CONSENT_UNKNOWN", "header:Consent-ID")
        if consent.status != "active" or not consent.customer:
            raise Fault(403, "CONSENT_NOT_ACTIVE", "header:Consent-ID")
        if service not in consent.document["access"]["services"]:
            raise Fault(403, "SERVICE_NOT_GRANTED", "header:Consent-ID")
        accounts = [one for one in consent.customer.accounts if account in (None, one.id)]
        if not accounts:
            raise Fault(404, "RESOURCE_UNKNOWN")
        if not request.headers.get("psu-ip-address"):
            today, reads = self.clock.today, consent.reads
            if reads.get(today, 0) >= consent.document["frequencyPerDay"]:
                raise Fault(429, "FREQUENCY_EXCEEDED")
            reads[today] = reads.get(today, 0) + 1
        consent.acted = self.clock.today
        return accounts

    def _show_account(self, account: Account) -> dict[str, Any]:
        owner = next(one.owner for one in self._customers if account in one.accounts)
        links = {name: {"href": f"{ROOT}/accounts/{account.id}/{name}"} for name in ("balances", "transactions")}
        shown = {"accountId": account.id, "iban": account.iban, "currency": "EUR", "name": account.name}
        return shown | {"kind": account.kind, "ownerName": owner, "_links": links}

    def _list_accounts(self, request: Request) -> Response:
        return respond(200, {"accounts": [self._show_account(one) for one in self._use(request, "ACCOUNT_LIST")]})

    def _balances(self, request: Request, id: str) -> Response:
        account = self._use(request, "BALANCE", id)[0]
        kinds = {"interimAvailable": self._available(account), "closingBooked": account.cents}
        balances = [{"balanceType": kind} | signed("balanceAmount", cents) for kind, cents in kinds.items()]
        return respond(200, {"account": {"iban": account.iban}, "balances": balances})

    def _list_entries(self, request: Request, id: str) -> Response:
        account, query, today = self._use(request, "TURNOVER", id)[0], request.query, self.clock.today
        begin = read_day(query.get("dateFrom"), "query:dateFrom")
        end = read_day(query.get("dateTo", today.isoformat()), "query:dateTo")
        if begin < today - timedelta(days=MOST_DAYS):
            raise Fault(422, "LIMIT_EXCEEDED", "query:dateFrom")
        if end < begin:
            raise Fault(400, "FORMAT_ERROR", "query:dateTo")
        state = query.get("bookingStatus", "booked")
        if state not in ("booked", "pending", "both"):
            raise Fault(400, "FORMAT_ERROR", "query:bookingStatus")
        numbers = {"page": 1, "pageSize": 10}
        for name, usual in numbers.items():
            text = query.get(name, str(usual))
            if not text.isdecimal() or int(text) < 1 or (name == "pageSize" and int(text) > 20):
                raise Fault(400, "FORMAT_ERROR", f"query:{name}")
            numbers[name] = int(text)
        page, size = numbers.values()
        rows = [self._payment_entry(one, None) for one in self._reserved(account)] if state != "booked" else []
        if state != "pending":
            period = begin.isoformat(), end.isoformat()
            rows += [one for one in account.entries if period[0] <= one["bookingDate"] <= period[1]]
        pages = -(-len(rows) // size)
        following = f"{request.path}?{urlencode({**query, 'page': page + 1})}"
        links = {"next": {"href": following}} if page < pages else {}
        document = {"account": {"iban": account.iban}, "transactions": rows[(page - 1) * size : page * size]}
        paging = {"page": page, "pages": pages, "total": len(rows)}
        return respond(200, document | {"paging": paging, "_links": links})

    def _pay(self, request: Request) -> Response:
        self._header(request, "PSU-IP-Address")
        back, asked = self._header(request, "TPP-Redirect-URI"), self._body(request)
        ibans = []
        for name in ("debtorAccount", "creditorAccount"):
            side = asked.get(name)
            ibans.append(side.get("iban") if isinstance(side, dict) else None)
            if not is_iban(ibans[-1]):
                raise Fault(400, "FORMAT_ERROR", f"body:{name}.iban")
        money = asked.get("instructedAmount")
        money = money if isinstance(money, dict) else {}
        if not isinstance(amount := money.get("amount"), str) or not re.fullmatch(r"(?!0+\.00)\d{1,9}\.\d\d", amount):
            raise Fault(400, "FORMAT_ERROR", "body:instructedAmount.amount")
        cents = int(amount.replace(".", ""))
        if money.get("currency") != "EUR":
            raise Fault(400, "FORMAT_ERROR", "body:instructedAmount.currency")
        for name, most in (("creditorName", 70), ("remittanceInformationUnstructured", 140)):
            if not isinstance(asked.get(name), str) or not 1 <= len(asked[name]) <= most:
                raise Fault(400, "FORMAT_ERROR", f"body:{name}")
        payer = next((one for who in self._customers for one in who.accounts if one.iban == ibans[0]), None)
        if not payer:
            raise Fault(403, "DEBTOR_UNKNOWN", "body:debtorAccount.iban")
        if cents > MOST_CENTS:
            raise Fault(422, "LIMIT_EXCEEDED", "body:instructedAmount.amount")
        document = {
            "debtorAccount": {"iban": ibans[0]},
            "instructedAmount": {"amount": euros(cents), "currency": "EUR"},
            "creditorAccount": {"iban": ibans[1]},
            "creditorName": asked["creditorName"],
            "remittanceInformationUnstructured": asked["remittanceInformationUnstructured"],
        }
        client = request.headers["x-ammer-client-id"]
        payment = Thing(self._new_id("Z"), client, document, RECEIVED, self._new_id("F"), back)
        payment.payer, payment.cents = payer, cents
        self._payments[payment.id] = payment
        return self._tell_new(request, 202, payment)

    def _cancel(self, request: Request, id: str) -> Response:
        payment = self._payment(request, id)
        if payment.status not in (RECEIVED, ACCEPTED):
            raise Fault(409, "CANCELLATION_INVALID")
        payment.status = "Cancelled"
        return respond(200, self._status(payment))

    def _find_open(self, id: str) -> Thing | None:
        things = (*self._consents.values(), *self._payments.values())
        return next((one for one in things if one.authorisation == id and one.is_waiting), None)

    def _page(self, request: Request, id: str, hint: str = "") -> Response:
        thing = self._find_open(id)
        if not thing:
            return show(404, "Ammer Bank", "<p>Diese Freigabe gibt es nicht oder nicht mehr.</p>")
        if thing.payer:
            asked = f"Überweisung von {euros(thing.cents)} EUR an {thing.document['creditorName']}"
        else:
            asked = f"Zugriff für {thing.client} bis {thing.document['validUntil']}"
        if thing.sca == "received":
            fields = '<input name="anmeldename"><input name="pin" type="password">'
        else:
            thing.check = self._hex(12)
            fields = f'<input name="pruefwert" type="hidden" value="{thing.check}"><input name="tan">'
        buttons = "".join(f'<button name="aktion" value="{word}">{word}</button>' for word in ("weiter", "abbrechen"))
        form = f'<form method="post">{fields}{buttons}</form>'
        return show(200, "Ammer Bank", f"<p>{hint}</p><p>{asked}</p>{form}")

    def _decide(self, request: Request, id: str) -> Response:
        thing = self._find_open(id)
        if not thing:
            return self._page(request, id)
        if request.field("aktion") == "abbrechen":
            return self._end(thing, "abbruch")
        if thing.sca == "received":
            given = request.field("anmeldename"), request.field("pin")
            customer = next((one for one in self._customers if (one.name, one.pin) == given), None)
            if not customer or (thing.payer and thing.payer not in customer.accounts):
                return self._mistake(request, thing, "Anmeldename oder PIN ist falsch.")
            thing.customer, thing.sca = customer, "psuAuthenticated"
            return self._page(request, id, "Bitte bestätigen Sie mit Ihrer TAN.")
        known = thing.customer.tan if thing.customer else "", thing.check
        if (request.field("tan"), request.field("pruefwert")) != known:
            return self._mistake(request, thing, "Die TAN ist falsch.")
        return self._end(thing, "ok")

    def _mistake(self, request: Request, thing: Thing, hint: str) -> Response:
        thing.mistakes += 1
        if thing.mistakes < 3:
            return self._page(request, thing.authorisation, hint)
        self._end(thing, "abbruch")
        return show(403, "Ammer Bank", "<p>Zu viele Fehler. Die Freigabe ist beendet.</p>")

    def _end(self, thing: Thing, outcome: str) -> Response:
        thing.sca, thing.acted = ("finalised" if outcome == "ok" else "failed"), self.clock.today
        if not thing.payer:
            thing.status = "active" if outcome == "ok" else "denied"
        elif outcome == "ok" and thing.cents <= self._available(thing.payer):
            thing.status, thing.accepted = ACCEPTED, self.clock.now
        else:
            thing.status = "Rejected"
        return Response(302, "", {"Location": f"{thing.return_to}?vorgang={thing.id}&ergebnis={outcome}"})
