"""Banca Siret, a Romanian bank that follows Berlin Group's NextGenPSD2 1.3 with the habits of its own gateway.

- The path begins with `/psd2/siret/v1`. Apps send a subscription key to the gateway, whose errors have a form of their
  own: `{"statusCode", "message"}`. `X-Request-ID` is a UUID, which the bank repeats.
- Errors are `{"tppMessages": [{"category", "code", "path", "text", "details"}], "incident"}`. `path` is there if a
  part of the request is wrong, `details` if the bank knows more, such as a limit. Texts are Romanian.
- Ids: 24 hex signs for consents, `OP260615004187` for payments, 32 hex signs for accounts, numbers for transactions.
- Consents and payments need the customer's address, `PSU-IP-Address`, and `TPP-Redirect-URI`. A refusal goes to
  `TPP-Nok-Redirect-URI` if there is one. Nothing is added to either.
- Authorisations have no resource: the customer follows `scaRedirect`, enters a name and an SMS code, and agrees or not,
  in one form. A wrong code shows the form again with 401. The link works once, and for ten minutes.
- A consent is for `allPsd2`, or for accounts by IBAN. A balance and a history need their own right; `accounts` shows
  all accounts that are named anywhere. A consent is valid for 180 days at most, and read 4 times a day.
- DELETE of a consent gives 204, and 409 if it is over. It can be read after that, with the day of its last action.
- What a consent does not cover, or is not valid yet or any more, gives 401 CONSENT_INVALID; CONSENT_EXPIRED if its time
  is over; an unknown consent is 400 CONSENT_UNKNOWN in the header, and 403 in a path.
- `frequencyPerDay` counts reads of each address without `PSU-IP-Address`. The error tells when to try again.
- Transactions need `dateFrom`, and `bookingStatus=booked`, as there are no others. A page has 12 rows, and a link to
  the next one with `page`.
- Payments are `ron-payments` (RON, 25000 at most) or `sepa-credit-transfers` (EUR, 5000 at most), and need no consent.
- An approved payment is ACTC, half a minute later ACSP, and ACSC after two minutes, when it is booked. Its amount is
  held at once. The status has a Romanian word beside it. RJCT if the customer refuses or the account has no cover.
- A payment can be cancelled until it is ACSP: DELETE gives 200 and the status. Later it gives 409.
"""

import random
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from tests.foreign_banks.nextgen import is_iban
from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

ROOT = "/psd2/siret/v1"
KEY = "5d1c7be0a4f94a0c8b1f"
PRODUCTS = {"ron-payments": ("RON", 2_500_000), "sepa-credit-transfers": ("EUR", 500_000)}
RIGHTS = ("accounts", "balances", "transactions")
UNTIL_SENT, UNTIL_BOOKED = timedelta(seconds=30), timedelta(minutes=2)
LINK_LASTS = timedelta(minutes=10)
ROWS = 12
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
WORDS = "RCVD Înregistrată ACTC Autorizată ACSP Procesare ACSC Executată RJCT Respinsă CANC Anulată".split()
KINDS = (("RON", "Cont curent"), ("EUR", "Cont valută"))
CUSTOMERS = {
    "ioana.bratu": ("402117", {"RO56SRTB0417302188401001": 1_284_360, "RO27SRTB0417302188402978": 215_075}),
    "matei.lungu": ("918350", {"RO74SRTB0552906614701001": 947_512, "RO45SRTB0552906614702978": 388_020}),
}
STATES = dict(zip(WORDS[::2], WORDS[1::2], strict=True))
TEXTS = {
    "ACCESS_EXCEEDED": "Numărul de accesări zilnice a fost depășit.",
    "CANCELLATION_INVALID": "Plata nu mai poate fi anulată.",
    "CONSENT_EXPIRED": "Consimțământul a expirat.",
    "CONSENT_INVALID": "Consimțământul nu permite această operațiune.",
    "CONSENT_UNKNOWN": "Consimțământul nu există.",
    "FORMAT_ERROR": "Câmpul lipsește sau are un format greșit.",
    "LIMIT_EXCEEDED": "Suma depășește limita pe tranzacție.",
    "PERIOD_INVALID": "Perioada nu este permisă.",
    "PRODUCT_UNKNOWN": "Tipul plății nu există.",
    "RESOURCE_UNKNOWN": "Resursa nu există.",
    "SERVICE_INVALID": "Metoda nu este permisă.",
    "STATUS_INVALID": "Starea consimțământului nu permite ștergerea.",
}
PAYEES = "Mega Imagine|Farmacia Tei|Apa Nouă|Librăria Humulești|Benzinăria Lunca|Cofetăria Ana|Orange Shop".split("|")
PAYERS = "Tehnolemn SRL|Primăria Roman|Elena Dobre".split("|")


@dataclass
class Account:
    id: str
    iban: str
    currency: str
    product: str
    owner: str
    cents: int
    rows: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Decision:
    """What the customer is asked for, and where the browser goes then."""

    thing: "Consent | Payment"
    until: datetime
    agreed: str
    refused: str


@dataclass
class Consent:
    id: str
    document: dict[str, Any]
    changed: date
    status: str = "received"
    accounts: list[Account] = field(default_factory=list)
    reads: Counter[tuple[date, str]] = field(default_factory=Counter)

    @property
    def last_day(self) -> date:
        return date.fromisoformat(self.document["validUntil"])

    def covers(self, account: Account, right: str) -> bool:
        access, rights = self.document["access"], RIGHTS if right == "accounts" else (right,)
        named = {one["iban"] for name in rights for one in access.get(name, [])}
        return account in self.accounts and ("allPsd2" in access or account.iban in named)


@dataclass
class Payment:
    id: str
    product: str
    document: dict[str, Any]
    account: Account
    cents: int
    status: str = "RCVD"
    approved: datetime | None = None


def read_day(text: Any, path: str) -> date:
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()
    except (TypeError, ValueError):
        raise Fault(400, "FORMAT_ERROR", path) from None


def is_reference(account: Any) -> bool:
    return isinstance(account, dict) and is_iban(account.get("iban"))


def write_sum(cents: int, currency: str) -> dict[str, str]:
    return {"currency": currency, "amount": f"{cents / 100:.2f}"}


class Siret:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"siret {seed}")
        self._number = self._random.randrange(1000, 800_000)
        self._consents: dict[str, Consent] = {}
        self._payments: dict[str, Payment] = {}
        self._decisions: dict[str, Decision] = {}
        self._customers = {name: self._open(name, sums) for name, (_, sums) in CUSTOMERS.items()}
        self._accounts = {account.id: account for own in self._customers.values() for account in own}
        for account in self._accounts.values():
            self._fill(account)
        one, payment = ROOT + "/accounts/{id}", ROOT + "/payments/{product}/{id}"
        self._routes = Routes(
            ("POST", ROOT + "/consents", self._create_consent),
            ("GET", ROOT + "/consents/{id}", self._show_consent),
            ("GET", ROOT + "/consents/{id}/status", self._show_consent_status),
            ("DELETE", ROOT + "/consents/{id}", self._end_consent),
            ("GET", ROOT + "/accounts", self._list_accounts),
            ("GET", one, self._show_account),
            ("GET", one + "/balances", self._show_balances),
            ("GET", one + "/transactions", self._list_transactions),
            ("POST", ROOT + "/payments/{product}", self._create_payment),
            ("GET", payment, self._show_payment),
            ("GET", payment + "/status", self._show_payment_status),
            ("DELETE", payment, self._cancel_payment),
            ("GET", "/confirmare/{ticket}", self._show_page),
            ("POST", "/confirmare/{ticket}", self._decide),
        )

    def answer(self, request: Request) -> Response:
        self._progress()
        called, key = request.headers.get("x-request-id", ""), request.headers.get("ocp-apim-subscription-key")
        is_app = request.path.startswith(ROOT)
        if is_app and key != KEY:
            text = f"Access denied due to {'invalid' if key else 'missing'} subscription key."
            return respond(401, {"statusCode": 401, "message": text})
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            if is_app and not UUID.fullmatch(called):
                raise Fault(400, "FORMAT_ERROR", "header.X-Request-ID")
            response = handler(request, **parameters)
        except NoRoute as wrong:
            response = self._tell(Fault(405, "SERVICE_INVALID") if wrong.allowed else Fault(404, "RESOURCE_UNKNOWN"))
        except Fault as raised:
            response = self._tell(raised)
        repeated = {"X-Request-ID": called} if is_app else {}
        return Response(response.status, response.content, {**response.headers, **repeated})

    def _tell(self, fault: Fault) -> Response:
        message: dict[str, Any] = {"category": "ERROR", "code": fault.word}
        if fault.place:
            message["path"] = fault.place
        message["text"] = TEXTS[fault.word]
        if fault.more:
            message["details"] = fault.more
        return respond(fault.status, {"tppMessages": [message], "incident": f"INC{self._random.randrange(10**8):08}"})

    def _hex(self, length: int) -> str:
        return f"{self._random.getrandbits(4 * length):0{length}x}"

    def _open(self, name: str, sums: dict[str, int]) -> list[Account]:
        owner, kinds = name.replace(".", " ").title(), zip(sums.items(), KINDS, strict=True)
        return [Account(self._hex(32), iban, *kind, owner, cents) for (iban, cents), kind in kinds]

    def _fill(self, account: Account) -> None:
        for days in sorted(self._random.sample(range(1, 80), 22), reverse=True):
            is_credit = self._random.random() < 0.2
            change = self._random.randrange(20_000, 300_000) if is_credit else -self._random.randrange(500, 35_000)
            other, day = self._random.choice(PAYERS if is_credit else PAYEES), self.clock.today - timedelta(days=days)
            self._book(account, day, change, other, f"Ref. {self._random.randrange(10_000, 99_999)}")

    def _book(self, account: Account, day: date, cents: int, other: str, text: str) -> None:
        row = {
            "transactionId": f"{self._random.randrange(10**11, 10**12)}",
            "bookingDate": day.isoformat(),
            "valueDate": day.isoformat(),
            "transactionAmount": write_sum(cents, account.currency),
            "creditorName" if cents < 0 else "debtorName": other,
            "remittanceInformationUnstructured": text,
        }
        account.rows.insert(0, row)

    def _progress(self) -> None:
        """Let what is due by now happen."""
        now = self.clock.now
        for ticket, decision in list(self._decisions.items()):
            if now >= decision.until:
                del self._decisions[ticket]
                self._refuse(decision.thing, "expired")
        for consent in self._consents.values():
            if consent.status in ("received", "valid") and consent.last_day < self.clock.today:
                consent.status, consent.changed = "expired", consent.last_day
        for payment in self._payments.values():
            if payment.approved and payment.status == "ACTC" and now >= payment.approved + UNTIL_SENT:
                payment.status = "ACSP"
            if payment.approved and payment.status == "ACSP" and now >= payment.approved + UNTIL_BOOKED:
                self._execute(payment, (payment.approved + UNTIL_BOOKED).date())

    def _execute(self, payment: Payment, day: date) -> None:
        payment.status, document = "ACSC", payment.document
        payment.account.cents -= payment.cents
        text = document.get("remittanceInformationUnstructured", "")
        self._book(payment.account, day, -payment.cents, document["creditorName"], text)

    def _document(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "FORMAT_ERROR", "body") from None

    def _ask(self, request: Request, thing: Consent | Payment, own: str, shown: dict[str, Any]) -> Response:
        """Create what the customer decides on, and a link for that."""
        ticket, agreed = self._hex(40), request.headers["tpp-redirect-uri"]
        refused = request.headers.get("tpp-nok-redirect-uri", agreed)
        self._decisions[ticket] = Decision(thing, self.clock.now + LINK_LASTS, agreed, refused)
        links = {
            "self": {"href": own},
            "status": {"href": f"{own}/status"},
            "scaRedirect": {"href": f"{request.origin}/confirmare/{ticket}"},
        }
        return respond(201, shown | {"_links": links}, {"Location": own, "ASPSP-SCA-Approach": "REDIRECT"})

    def _check_asking(self, request: Request) -> None:
        for name in ("PSU-IP-Address", "TPP-Redirect-URI"):
            if not request.headers.get(name.lower()):
                raise Fault(400, "FORMAT_ERROR", f"header.{name}")

    # Consents

    def _create_consent(self, request: Request) -> Response:
        self._check_asking(request)
        document = self._document(request)
        self._check_access(document.get("access"))
        last_day = read_day(document.get("validUntil"), "body.validUntil")
        if not self.clock.today <= last_day <= self.clock.today + timedelta(days=180):
            raise Fault(400, "PERIOD_INVALID", "body.validUntil", maxDays=180)
        if document.get("frequencyPerDay") not in range(1, 5):
            raise Fault(400, "FORMAT_ERROR", "body.frequencyPerDay")
        kept = {name: document[name] for name in ("access", "validUntil", "frequencyPerDay")}
        kept["recurringIndicator"] = document.get("recurringIndicator", True)
        consent = Consent(self._hex(24), kept, self.clock.today)
        self._consents[consent.id] = consent
        shown = {"consentStatus": "received", "consentId": consent.id}
        return self._ask(request, consent, f"{ROOT}/consents/{consent.id}", shown)

    def _check_access(self, access: Any) -> None:
        if access == {"allPsd2": "allAccounts"}:
            return
        if not isinstance(access, dict) or not access or not access.keys() <= set(RIGHTS):
            raise Fault(400, "FORMAT_ERROR", "body.access")
        for name, wanted in access.items():
            if not isinstance(wanted, list) or not all(map(is_reference, wanted)):
                raise Fault(400, "FORMAT_ERROR", f"body.access.{name}")

    def _consent(self, id: str, status: int = 403) -> Consent:
        if not (consent := self._consents.get(id)):
            raise Fault(status, "CONSENT_UNKNOWN")
        return consent

    def _show_consent(self, request: Request, id: str) -> Response:
        consent = self._consent(id)
        last = {"lastActionDate": consent.changed.isoformat(), "consentStatus": consent.status}
        return respond(200, consent.document | last)

    def _show_consent_status(self, request: Request, id: str) -> Response:
        return respond(200, {"consentStatus": self._consent(id).status})

    def _end_consent(self, request: Request, id: str) -> Response:
        consent = self._consent(id)
        if consent.status not in ("received", "valid"):
            raise Fault(409, "STATUS_INVALID", consentStatus=consent.status)
        consent.status, consent.changed = "terminatedByTpp", self.clock.today
        self._forget(consent)
        return Response(204)

    # Accounts

    def _access(self, request: Request) -> Consent:
        if not (id := request.headers.get("consent-id")):
            raise Fault(400, "FORMAT_ERROR", "header.Consent-ID")
        consent = self._consent(id, 400)
        if consent.status != "valid":
            word = "CONSENT_EXPIRED" if consent.status == "expired" else "CONSENT_INVALID"
            raise Fault(401, word, consentStatus=consent.status)
        return consent

    def _count(self, request: Request, consent: Consent) -> None:
        if "psu-ip-address" in request.headers:
            return
        allowed, read = consent.document["frequencyPerDay"], (self.clock.today, request.path)
        if consent.reads[read] >= allowed:
            again = datetime.combine(self.clock.today + timedelta(days=1), time())
            raise Fault(429, "ACCESS_EXCEEDED", frequencyPerDay=allowed, nextAccess=f"{again:%Y-%m-%dT%H:%M:%SZ}")
        consent.reads[read] += 1

    def _find(self, request: Request, id: str, right: str) -> Account:
        consent = self._access(request)
        if not (account := self._accounts.get(id)):
            raise Fault(404, "RESOURCE_UNKNOWN")
        if not consent.covers(account, right):
            raise Fault(401, "CONSENT_INVALID", missing=right)
        self._count(request, consent)
        return account

    def _shown(self, account: Account) -> dict[str, Any]:
        own = f"{ROOT}/accounts/{account.id}"
        return {
            "resourceId": account.id,
            "iban": account.iban,
            "currency": account.currency,
            "ownerName": account.owner,
            "product": account.product,
            "cashAccountType": "CACC",
            "status": "enabled",
            "_links": {name: {"href": f"{own}/{name}"} for name in ("balances", "transactions")},
        }

    def _show_account(self, request: Request, id: str) -> Response:
        return respond(200, {"account": self._shown(self._find(request, id, "accounts"))})

    def _list_accounts(self, request: Request) -> Response:
        consent = self._access(request)
        self._count(request, consent)
        shown = [self._shown(one) for one in consent.accounts if consent.covers(one, "accounts")]
        return respond(200, {"accounts": shown})

    def _free(self, account: Account) -> int:
        held = [one for one in self._payments.values() if one.account is account and one.status in ("ACTC", "ACSP")]
        return account.cents - sum(payment.cents for payment in held)

    def _show_balances(self, request: Request, id: str) -> Response:
        account = self._find(request, id, "balances")
        kinds = {"closingBooked": account.cents, "interimAvailable": self._free(account)}
        sums = {kind: write_sum(cents, account.currency) for kind, cents in kinds.items()}
        day = self.clock.today.isoformat()
        balances = [{"balanceType": kind, "balanceAmount": one, "referenceDate": day} for kind, one in sums.items()]
        return respond(200, {"account": {"iban": account.iban}, "balances": balances})

    def _list_transactions(self, request: Request, id: str) -> Response:
        account, query = self._find(request, id, "transactions"), request.query
        if query.get("bookingStatus") != "booked":
            raise Fault(400, "FORMAT_ERROR", "query.bookingStatus")
        first = read_day(query.get("dateFrom"), "query.dateFrom")
        last = read_day(query["dateTo"], "query.dateTo") if "dateTo" in query else self.clock.today
        if first > last:
            raise Fault(400, "PERIOD_INVALID", "query.dateTo")
        if not (page := query.get("page", "1")).isdecimal():
            raise Fault(400, "FORMAT_ERROR", "query.page")
        start, own = (int(page) - 1) * ROWS, f"{ROOT}/accounts/{account.id}"
        rows = [row for row in account.rows if first.isoformat() <= row["bookingDate"] <= last.isoformat()]
        links = {"account": {"href": own}}
        if len(rows) > start + ROWS:
            links["next"] = {"href": f"{own}/transactions?{urlencode({**query, 'page': int(page) + 1})}"}
        shown = {"booked": rows[start : start + ROWS], "_links": links}
        return respond(200, {"account": {"iban": account.iban}, "transactions": shown})

    # Payments

    def _create_payment(self, request: Request, product: str) -> Response:
        if product not in PRODUCTS:
            raise Fault(404, "PRODUCT_UNKNOWN", known=list(PRODUCTS))
        self._check_asking(request)
        document = self._document(request)
        currency, limit = PRODUCTS[product]
        if (cents := self._cents(document.get("instructedAmount"), currency)) > limit:
            raise Fault(400, "LIMIT_EXCEEDED", "body.instructedAmount.amount", limit=write_sum(limit, currency))
        for name in ("debtorAccount", "creditorAccount"):
            if not is_reference(document.get(name)):
                raise Fault(400, "FORMAT_ERROR", f"body.{name}.iban")
        if not 0 < len(str(document.get("creditorName", ""))) <= 70:
            raise Fault(400, "FORMAT_ERROR", "body.creditorName")
        debtor = document["debtorAccount"]["iban"]
        account = next((one for one in self._accounts.values() if one.iban == debtor), None)
        if not account or account.currency != currency:
            raise Fault(400, "RESOURCE_UNKNOWN", "body.debtorAccount.iban")
        self._number += self._random.randrange(1, 40)
        id = f"OP{self.clock.today:%y%m%d}{self._number:06}"
        names = ("debtorAccount", "instructedAmount", "creditorAccount", "creditorName")
        kept = {name: document[name] for name in (*names, "remittanceInformationUnstructured") if name in document}
        payment = self._payments[id] = Payment(id, product, kept, account, cents)
        shown = {"transactionStatus": payment.status, "paymentId": id, "transactionFees": write_sum(0, currency)}
        return self._ask(request, payment, f"{ROOT}/payments/{product}/{id}", shown)

    def _cents(self, wanted: Any, currency: str) -> int:
        if not isinstance(wanted, dict) or wanted.get("currency") != currency:
            raise Fault(400, "FORMAT_ERROR", "body.instructedAmount.currency")
        text = wanted.get("amount")
        cents = int(text.replace(".", "")) if isinstance(text, str) and re.fullmatch(r"\d{1,9}\.\d\d", text) else 0
        if not cents:
            raise Fault(400, "FORMAT_ERROR", "body.instructedAmount.amount")
        return cents

    def _payment(self, product: str, id: str) -> Payment:
        if not (payment := self._payments.get(id)) or payment.product != product:
            raise Fault(404, "RESOURCE_UNKNOWN")
        return payment

    def _show_payment(self, request: Request, product: str, id: str) -> Response:
        payment = self._payment(product, id)
        return respond(200, {"paymentId": id, **payment.document, "transactionStatus": payment.status})

    def _show_payment_status(self, request: Request, product: str, id: str) -> Response:
        status = self._payment(product, id).status
        return respond(200, {"transactionStatus": status, "statusText": STATES[status]})

    def _cancel_payment(self, request: Request, product: str, id: str) -> Response:
        payment = self._payment(product, id)
        if payment.status not in ("RCVD", "ACTC"):
            raise Fault(409, "CANCELLATION_INVALID", transactionStatus=payment.status)
        payment.status = "CANC"
        self._forget(payment)
        return self._show_payment_status(request, product, id)

    # The customer's page

    def _show_page(self, request: Request, ticket: str, hint: str = "", status: int = 200) -> Response:
        if not (decision := self._decisions.get(ticket)):
            return show(410, "Banca Siret", "<p>Acest link nu mai este valabil.</p>")
        if isinstance(decision.thing, Payment):
            wanted = decision.thing.document["instructedAmount"]
            asked = f"Plată {wanted['amount']} {wanted['currency']} către {decision.thing.document['creditorName']}"
        else:
            asked = f"Acces la conturi până la {decision.thing.last_day:%d.%m.%Y}"
        form = '<input name="utilizator"><input name="codSms">'
        form += '<input name="raspuns" type="radio" value="accept"><input name="raspuns" type="radio" value="refuz">'
        form = f'<form method="post" action="/confirmare/{ticket}">{form}<button>Trimite</button></form>'
        return show(status, "Banca Siret", f"<p>{asked}</p><p>{hint}</p>{form}")

    def _decide(self, request: Request, ticket: str) -> Response:
        if not (decision := self._decisions.get(ticket)):
            return self._show_page(request, ticket)
        name = request.field("utilizator")
        if name not in CUSTOMERS or CUSTOMERS[name][0] != request.field("codSms"):
            return self._show_page(request, ticket, "Utilizator sau cod greșit.", 401)
        if request.field("raspuns") != "accept":
            del self._decisions[ticket]
            self._refuse(decision.thing, "rejected")
            return Response(302, "", {"Location": decision.refused})
        if not self._agree(decision.thing, self._customers[name]):
            return self._show_page(request, ticket, "Contul nu vă aparține.", 403)
        del self._decisions[ticket]
        return Response(302, "", {"Location": decision.agreed})

    def _refuse(self, thing: Consent | Payment, status: str) -> None:
        if isinstance(thing, Payment):
            thing.status = "RJCT"
        else:
            thing.status, thing.changed = status, self.clock.today

    def _forget(self, thing: Consent | Payment) -> None:
        self._decisions = {key: one for key, one in self._decisions.items() if one.thing is not thing}

    def _agree(self, thing: Consent | Payment, own: list[Account]) -> bool:
        """Whether this customer can: the accounts are theirs."""
        if isinstance(thing, Payment):
            is_covered = self._free(thing.account) >= thing.cents
            if thing.account in own:
                thing.status, thing.approved = "ACTC" if is_covered else "RJCT", self.clock.now
            return thing.account in own
        access, ibans = thing.document["access"], {account.iban for account in own}
        if "allPsd2" not in access and not {one["iban"] for wanted in access.values() for one in wanted} <= ibans:
            return False
        thing.status, thing.accounts, thing.changed = "valid", own, self.clock.today
        return True
