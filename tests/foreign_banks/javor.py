"""Javor, a bank that uses many words of the Berlin Group, and few of its rules.

- The path has a country and a version: `/openbanking/si/2.4/…`.
- The app sends `App-Key` (its credential) and `TPP-Request-Token` (8 to 40 characters) with every request.
- Bodies are `application/vnd.javor.v2+json`. Errors are `{"errors": [{"category", "code", "text", "pointer"}],
  "trace"}` with codes such as JV-4041.
- A consent is created with 202. Its id looks like `C-26-004711-K`. It asks for `"ALL"` accounts or a list of IBANs.
- Consents are requested, granted, declined, withdrawn or lapsed; see `…/state`. POST `…/withdrawal` revokes them.
- A consent in the wrong state gives 403. So does an account outside the consent.
- `dailyReads` counts all reads of a consent in a day, unless `Customer-Present: yes` is sent. More give 429.
- Dates are `DD.MM.YYYY`. Times are seconds since 1970. Amounts are numbers, negative for debits.
- The parameter `from` of transactions is required. Pages are numbered: `page` and `size`, 20 rows at most.
- The customer signs in and decides in one form, and is sent to `TPP-Return-To` with `outcome=ok` or `outcome=no`.
  Three wrong PINs decline the request.
- A payment is OPEN, CONFIRMED (or SCHEDULED until its `due` date), SETTLED, BOUNCED, DECLINED or WITHDRAWN. A confirmed
  payment settles when its state is read for the second time. It bounces if the account does not cover it.
- A payment sent again with the same `TPP-Request-Token` gives the first payment, with 200.
- DELETE withdraws an open, confirmed or scheduled payment, with 200 and the payment in the body; later it gives 409.
- A payment needs no consent. It is limited to 5000 EUR, and a consent to 12 daily reads and 90 days.
"""

import random
import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond, show

ROOT = "/openbanking/si/2.4"
MEDIA = "application/vnd.javor.v2+json"
APPS = {"8c1f-kumara": "Kumara", "77d0-lipa": "Lipa"}
FINAL = ("SETTLED", "BOUNCED", "DECLINED", "WITHDRAWN")
PAYEES = "Mercator Ajda|Zavarovalnica Sava|Elektro Gorenja|Knjigarna Pika|Pekarna Zrno|Telekom Krim".split("|")


@dataclass
class Account:
    id: str
    iban: str
    name: str
    cents: int
    bookings: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Customer:
    name: str
    pin: str
    accounts: list[Account]


@dataclass
class Ask:
    """A consent or a payment: the customer decides on either."""

    id: str
    app: str
    state: str
    ticket: str
    return_to: str
    document: dict[str, Any]
    customer: Customer | None = None
    accounts: list[Account] = field(default_factory=list)
    reads: dict[date, int] = field(default_factory=dict)
    looks: int = 0
    wrong_pins: int = 0


class Refused(Exception):
    def __init__(self, status: int, code: str, text: str, pointer: str = "", **headers: str) -> None:
        super().__init__(text)
        self.status, self.code, self.text, self.pointer, self.headers = status, code, text, pointer, headers


def is_iban(text: Any) -> bool:
    if not isinstance(text, str) or not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", text):
        return False
    return int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1


def read_date(text: Any, pointer: str) -> date:
    try:
        return datetime.strptime(text, "%d.%m.%Y").date()
    except (TypeError, ValueError):
        raise Refused(400, "JV-4004", "A date has the form DD.MM.YYYY.", pointer) from None


def write_date(day: date) -> str:
    return day.strftime("%d.%m.%Y")


class Javor:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"javor {seed}")
        self._number = self._random.randrange(1000, 9000)
        self._consents: dict[str, Ask] = {}
        self._payments: dict[str, Ask] = {}
        self._by_token: dict[tuple[str, str], str] = {}
        self._customers = {
            "neja": Customer(
                "Neja Kovač",
                "2718",
                [
                    self._open("SI56191000000123438", "Osebni račun", 241_930),
                    self._open("SI56191000000123535", "Varčevanje", 31_000),
                ],
            ),
            "tilen": Customer(
                "Tilen Zupan",
                "1618",
                [
                    self._open("SI56191000000987708", "Tekoči račun", 812_055),
                    self._open("SI56191000000987805", "Skupni račun", 95_010),
                    self._open("SI56191000000987902", "Potovanja", 4_275),
                ],
            ),
        }
        one = ROOT + "/accounts/{id}"
        self._routes = Routes(
            ("POST", ROOT + "/consents", self._create_consent),
            ("GET", ROOT + "/consents/{id}", lambda request, id: self._said(200, self._consent(request, id))),
            ("GET", ROOT + "/consents/{id}/state", self._consent_state),
            ("POST", ROOT + "/consents/{id}/withdrawal", self._withdraw_consent),
            ("GET", ROOT + "/accounts", self._accounts),
            ("GET", one, lambda request, id: respond(200, self._shown(self._account(request, id)), media=MEDIA)),
            ("GET", one + "/balances", self._balances),
            ("GET", one + "/transactions", self._transactions),
            ("POST", ROOT + "/payments/sepa", self._create_payment),
            ("GET", ROOT + "/payments/sepa/{id}", lambda request, id: self._said(200, self._payment(request, id))),
            ("GET", ROOT + "/payments/sepa/{id}/state", self._payment_state),
            ("DELETE", ROOT + "/payments/sepa/{id}", self._withdraw_payment),
            ("GET", "/sca/{ticket}", self._page),
            ("POST", "/sca/{ticket}", self._decide),
        )

    def answer(self, request: Request) -> Response:
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            if request.path.startswith(ROOT):
                self._check_headers(request)
            return handler(request, **parameters)
        except NoRoute as wrong:
            status, code = (405, "JV-4050") if wrong.allowed else (404, "JV-4040")
            refused = Refused(status, code, "There is nothing at this path or method.")
        except Refused as raised:
            refused = raised
        category = "SERVER" if refused.status >= 500 else "ACCESS" if refused.status in (401, 403) else "REQUEST"
        error = {"category": category, "code": refused.code, "text": refused.text}
        document = {"errors": [error | ({"pointer": refused.pointer} if refused.pointer else {})]}
        headers = {name.replace("_", "-"): value for name, value in refused.headers.items()}
        return respond(refused.status, document | {"trace": self._sign(10)}, headers, media=MEDIA)

    def _sign(self, length: int) -> str:
        return "".join(self._random.choices("ABCDEFGHJKLMNPQRSTUVWXYZ23456789", k=length))

    def _open(self, iban: str, name: str, cents: int) -> Account:
        account = Account(self._sign(12), iban, name, cents)
        for days in sorted(self._random.sample(range(1, 75), 24), reverse=True):
            day = self.clock.today - timedelta(days=days)
            amount = self._random.choice((-1, -1, -1, 2)) * self._random.randrange(150, 12_000)
            self._book(account, day, amount, self._random.choice(PAYEES), "Račun " + self._sign(5))
        return account

    def _book(self, account: Account, day: date, cents: int, other: str, text: str) -> None:
        row = {"ref": f"{day:%y%j}/{self._sign(6)}", "bookedOn": write_date(day), "amount": cents / 100}
        account.bookings.insert(0, row | {"currency": "EUR", "counterparty": {"name": other}, "text": text})

    def _check_headers(self, request: Request) -> None:
        for name in ("App-Key", "TPP-Request-Token"):
            if name.lower() not in request.headers:
                raise Refused(400, "JV-4001", f"The header {name} is missing.", f"header.{name}")
        if request.headers["app-key"] not in APPS:
            raise Refused(401, "JV-4011", "The app is unknown.", "header.App-Key")
        if not 8 <= len(request.headers["tpp-request-token"]) <= 40:
            raise Refused(400, "JV-4002", "The token has 8 to 40 characters.", "header.TPP-Request-Token")

    def _document(self, request: Request, *required: str) -> dict[str, Any]:
        try:
            document = request.document
        except ValueError:
            raise Refused(400, "JV-4000", "The body is not a JSON object.") from None
        for name in required:
            if name not in document:
                raise Refused(400, "JV-4003", f"The member {name} is missing.", f"body.{name}")
        return document

    def _ask(self, request: Request, id: str, state: str, document: dict[str, Any]) -> Ask:
        if not (return_to := request.headers.get("tpp-return-to", "")):
            raise Refused(400, "JV-4001", "The header TPP-Return-To is missing.", "header.TPP-Return-To")
        self._number += self._random.randrange(1, 9)
        return Ask(id, request.headers["app-key"], state, self._sign(24).lower(), return_to, document)

    def _said(self, status: int, ask: Ask, origin: str = "") -> Response:
        kind, path = ("consent", "consents") if ask.id.startswith("C") else ("payment", "payments/sepa")
        document: dict[str, Any] = {f"{kind}Id": ask.id, "state": ask.state, **ask.document}
        own = f"{ROOT}/{path}/{ask.id}"
        links = {"self": {"href": own}, "state": {"href": own + "/state"}}
        if origin:
            links["scaPage"] = {"href": f"{origin}/sca/{ask.ticket}"}
        if ask.customer:
            document["customer"] = ask.customer.name
        return respond(status, document | {"_links": links}, media=MEDIA)

    def _create_consent(self, request: Request) -> Response:
        document = self._document(request, "access", "validTo", "dailyReads")
        wanted = document["access"].get("accounts") if isinstance(document["access"], dict) else None
        if wanted != "ALL" and not (isinstance(wanted, list) and wanted and all(map(is_iban, wanted))):
            raise Refused(400, "JV-4005", 'The accounts are "ALL" or a list of IBANs.', "body.access.accounts")
        valid_to = read_date(document["validTo"], "body.validTo")
        if not self.clock.today <= valid_to <= self.clock.today + timedelta(days=90):
            raise Refused(422, "JV-4221", "A consent is valid for 0 to 90 days.", "body.validTo")
        if document["dailyReads"] not in range(1, 13):
            raise Refused(422, "JV-4222", "There are 1 to 12 daily reads.", "body.dailyReads")
        id = f"C-{self.clock.today:%y}-{self._number:06}-{'KLMNP'[self._number % 5]}"
        kept = {name: document[name] for name in ("access", "validTo", "dailyReads")}
        kept["requestedAt"] = int(self.clock.now.timestamp())
        consent = self._consents[id] = self._ask(request, id, "requested", kept)
        return self._said(202, consent, request.origin)

    def _consent(self, request: Request, id: str) -> Ask:
        consent = self._consents.get(id)
        if not consent or consent.app != request.headers["app-key"]:
            raise Refused(404, "JV-4041", "The consent is unknown.")
        is_past = read_date(consent.document["validTo"], "") < self.clock.today
        if is_past and consent.state in ("requested", "granted"):
            consent.state = "lapsed"
        return consent

    def _consent_state(self, request: Request, id: str) -> Response:
        return respond(200, {"state": self._consent(request, id).state}, media=MEDIA)

    def _withdraw_consent(self, request: Request, id: str) -> Response:
        consent = self._consent(request, id)
        if consent.state not in ("requested", "granted"):
            raise Refused(409, "JV-4091", f"The consent is {consent.state}.")
        consent.state = "withdrawn"
        return self._said(200, consent)

    def _access(self, request: Request) -> Ask:
        if "consent-reference" not in request.headers:
            raise Refused(401, "JV-4012", "The header Consent-Reference is missing.", "header.Consent-Reference")
        consent = self._consent(request, request.headers["consent-reference"])
        if consent.state != "granted":
            raise Refused(403, "JV-4031", f"The consent is {consent.state}.")
        if request.headers.get("customer-present") != "yes":
            reads = consent.reads.get(self.clock.today, 0)
            if reads >= consent.document["dailyReads"]:
                midnight = datetime.combine(self.clock.today, time(), UTC) + timedelta(days=1)
                wait = str(int((midnight - self.clock.now).total_seconds()))
                raise Refused(429, "JV-4290", "The reads of the day are used up.", Retry_After=wait)
            consent.reads[self.clock.today] = reads + 1
        return consent

    def _account(self, request: Request, id: str) -> Account:
        consent = self._access(request)
        for customer in self._customers.values():
            for account in customer.accounts:
                if account.id == id:
                    if account not in consent.accounts:
                        raise Refused(403, "JV-4032", "The consent does not cover the account.")
                    return account
        raise Refused(404, "JV-4042", "The account is unknown.")

    def _shown(self, account: Account) -> dict[str, Any]:
        return {
            "accountId": account.id,
            "iban": account.iban,
            "label": account.name,
            "currency": "EUR",
            "_links": {name: {"href": f"{ROOT}/accounts/{account.id}/{name}"} for name in ("balances", "transactions")},
        }

    def _accounts(self, request: Request) -> Response:
        rows = [self._shown(account) for account in self._access(request).accounts]
        return respond(200, {"accountList": rows}, media=MEDIA)

    def _balances(self, request: Request, id: str) -> Response:
        account = self._account(request, id)
        held = sum(
            round(payment.document["sum"]["amount"] * 100)
            for payment in self._payments.values()
            if payment.state == "CONFIRMED" and payment.document["debtor"] == account.iban
        )
        balances = {"booked": account.cents / 100, "available": (account.cents - held) / 100, "currency": "EUR"}
        document = {"iban": account.iban, "balances": balances, "asOf": int(self.clock.now.timestamp())}
        return respond(200, document, media=MEDIA)

    def _transactions(self, request: Request, id: str) -> Response:
        account, query = self._account(request, id), request.query
        if "from" not in query:
            raise Refused(400, "JV-4003", "The parameter from is missing.", "query.from")
        first = read_date(query["from"], "query.from")
        last = read_date(query["to"], "query.to") if "to" in query else self.clock.today
        page, size = query.get("page", "1"), query.get("size", "10")
        if first > last or not page.isdecimal() or not size.isdecimal() or not 1 <= int(size) <= 20:
            raise Refused(422, "JV-4223", "The period or the page is impossible.", "query")
        rows = [row for row in account.bookings if first <= read_date(row["bookedOn"], "") <= last]
        pages = -(-len(rows) // int(size))
        if not 1 <= int(page) <= max(pages, 1):
            raise Refused(422, "JV-4223", f"There are {pages} pages.", "query.page")
        shown = rows[(int(page) - 1) * int(size) : int(page) * int(size)]
        paging = {"page": int(page), "size": int(size), "pages": pages, "total": len(rows)}
        return respond(200, {"iban": account.iban, "bookings": shown, "paging": paging}, media=MEDIA)

    def _owner(self, iban: str) -> tuple[Customer, Account] | None:
        owners = ((customer, account) for customer in self._customers.values() for account in customer.accounts)
        return next(((customer, account) for customer, account in owners if account.iban == iban), None)

    def _create_payment(self, request: Request) -> Response:
        token = (request.headers["app-key"], request.headers["tpp-request-token"])
        if token in self._by_token:
            return self._said(200, self._payments[self._by_token[token]], request.origin)
        document = self._document(request, "debtor", "creditor", "sum")
        creditor, total = document["creditor"], document["sum"]
        amount = total.get("amount") if isinstance(total, dict) else None
        if isinstance(amount, bool) or not isinstance(amount, int | float) or round(amount, 2) != amount:
            raise Refused(400, "JV-4006", "The amount is a number with two decimals at most.", "body.sum.amount")
        if total.get("currency") != "EUR" or amount <= 0:
            raise Refused(422, "JV-4224", "The sum is more than 0 EUR.", "body.sum")
        if amount > 5000:
            raise Refused(422, "JV-4225", "A payment is limited to 5000 EUR.", "body.sum.amount")
        if not isinstance(creditor, dict) or not creditor.get("name") or not is_iban(creditor.get("iban")):
            raise Refused(422, "JV-4226", "The creditor has a name and a valid IBAN.", "body.creditor")
        if not self._owner(document["debtor"]):
            raise Refused(422, "JV-4227", "The debtor has no account here.", "body.debtor")
        if len(str(document.get("note", ""))) > 70:
            raise Refused(422, "JV-4228", "A note has 70 characters at most.", "body.note")
        if "due" in document and read_date(document["due"], "body.due") <= self.clock.today:
            raise Refused(422, "JV-4229", "A due date is in the future.", "body.due")
        kept: dict[str, Any] = {
            name: document[name] for name in ("debtor", "creditor", "sum", "note", "due") if name in document
        }
        id = f"P{self._number:08}{self._random.randrange(100):02}"
        payment = self._payments[id] = self._ask(request, id, "OPEN", kept)
        self._by_token[token] = id
        return self._said(201, payment, request.origin)

    def _payment(self, request: Request, id: str) -> Ask:
        payment = self._payments.get(id)
        if not payment or payment.app != request.headers["app-key"]:
            raise Refused(404, "JV-4043", "The payment is unknown.")
        if payment.state == "SCHEDULED" and read_date(payment.document["due"], "") <= self.clock.today:
            self._settle(payment)
        return payment

    def _payment_state(self, request: Request, id: str) -> Response:
        payment = self._payment(request, id)
        if payment.state == "CONFIRMED":
            payment.looks += 1
            if payment.looks == 2:
                self._settle(payment)
        return respond(200, {"state": payment.state, "final": payment.state in FINAL}, media=MEDIA)

    def _settle(self, payment: Ask) -> None:
        found = self._owner(payment.document["debtor"])
        cents = round(payment.document["sum"]["amount"] * 100)
        if not found or found[1].cents < cents:
            payment.state = "BOUNCED"
            return
        payment.state = "SETTLED"
        moves = [(found, -cents, payment.document["creditor"]["name"])]
        if receiver := self._owner(payment.document["creditor"]["iban"]):
            moves.append((receiver, cents, found[0].name))
        for (_, account), change, other in moves:
            account.cents += change
            self._book(account, self.clock.today, change, other, payment.document.get("note", ""))

    def _withdraw_payment(self, request: Request, id: str) -> Response:
        payment = self._payment(request, id)
        if payment.state not in ("OPEN", "CONFIRMED", "SCHEDULED"):
            raise Refused(409, "JV-4092", f"The payment is {payment.state}.")
        payment.state = "WITHDRAWN"
        return self._said(200, payment)

    def _asked(self, ticket: str) -> Ask | None:
        asks = (*self._consents.values(), *self._payments.values())
        return next((ask for ask in asks if ask.ticket == ticket and ask.state in ("requested", "OPEN")), None)

    def _page(self, request: Request, ticket: str, hint: str = "", status: int = 200) -> Response:
        if not (ask := self._asked(ticket)):
            return show(410, "Javor", "<p>There is nothing to decide here.</p>")
        what = f"{APPS[ask.app]}: {ask.id}"
        form = '<input name="user"><input name="pin" type="password"><input name="answer" value="approve">'
        form = f'<form method="post" action="/sca/{ticket}">{form}<button>OK</button></form>'
        return show(status, "Javor", f"<p>{what}</p><p>{hint}</p>{form}")

    def _decide(self, request: Request, ticket: str) -> Response:
        if not (ask := self._asked(ticket)):
            return self._page(request, ticket)
        is_payment, customer = ask.id.startswith("P"), self._customers.get(request.field("user"))
        if not customer or customer.pin != request.field("pin"):
            ask.wrong_pins += 1
            if ask.wrong_pins < 3:
                return self._page(request, ticket, "The name or the PIN is wrong.", 401)
        wanted = [ask.document["debtor"]] if is_payment else ask.document["access"]["accounts"]
        own = customer.accounts if customer else []
        accounts = [account for account in own if wanted == "ALL" or account.iban in wanted]
        is_approved = ask.wrong_pins < 3 and request.field("answer") == "approve"
        if is_approved and wanted != "ALL" and len(accounts) != len(wanted):
            return self._page(request, ticket, "This account is not yours.", 403)
        if not is_approved:
            ask.state = "DECLINED" if is_payment else "declined"
        else:
            ask.customer, ask.accounts = customer, accounts
            ask.state = ("SCHEDULED" if "due" in ask.document else "CONFIRMED") if is_payment else "granted"
        join = "&" if "?" in ask.return_to else "?"
        location = f"{ask.return_to}{join}outcome={'ok' if is_approved else 'no'}"
        return Response(303, "", {"Location": location})
