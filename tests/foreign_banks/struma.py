"""Banka Struma, a Bulgarian bank that follows Berlin Group's NextGenPSD2 1.3, in euro.

- An app tells who it is with `TPP-Organization-Identifier`, as in its certificate. That is checked before the path.
  What one app makes is unknown to others. `X-Request-ID` is a UUID, which the bank repeats.
- Errors are problem details: `{"type", "title", "detail", "code", "additionalErrors"}`, with Bulgarian titles. `detail`
  is there if the bank can name the cause. All wrong headers or members are told at once: the first as the error itself,
  the others in `additionalErrors`, which is only there then.
- Ids: `4821-0937-5560` for consents, `ST7QK2M81XPA` for payments, 8 hex signs for authorisations, 16 for accounts, and
  `20260613N004711` for transactions, with the day of booking.
- Consents and payments need `PSU-IP-Address` and `TPP-Redirect-URI`, and start an authorisation at once. The customer
  enters number and password and answers yes or no in one form. A wrong password gives 403. The way back is 303 with
  `result=ok` or `result=denied`. `scaStatus` is `started` once the page was opened. A link lasts for five minutes.
- A consent is for accounts by IBAN or cards by masked PAN, or has empty lists: then the customer offers everything, and
  the lists are full afterwards. `validUntil` is cut to 90 days without an error.
- A recurring consent replaces the former one of that app and customer, as soon as the customer agrees.
- DELETE of a consent always gives 204. Reading with a consent that is unknown, not valid, or without the right, gives
  401 CONSENT_INVALID, with the state or the right as `detail`; CONSENT_EXPIRED if its time is over.
- An account outside of the consent is as unknown as one that does not exist: 404.
- `frequencyPerDay` counts all reads of a consent without `PSU-IP-Address` on a day. `X-Accesses-Left` tells how many
  are left, and `Retry-After` after how many seconds the next day begins.
- Lists of accounts have balances only with `withBalance=true`. There are three: `openingBooked` of the day,
  `interimBooked`, and `expected`, which counts what is pending. Card accounts have one, `nonInvoiced`, and a limit, but
  no transactions.
- Transactions need `bookingStatus`: `booked`, `pending` or `both`. Pages have 8 rows from `offset`, links to the first,
  next and previous page, and the number of booked rows in `X-Total-Count`. Pending ones have no id and are on the first
  page. One transaction can be read.
- Payments are `sepa-credit-transfers`, 5000 at most, and cost 0.25, which is booked as a row of its own.
- An approved payment is ACFC, a minute later ACSP, and ACSC after three, when it is booked. Its status tells about
  funds once they were checked. RJCT if the customer refuses or there is no cover. It shows the name of the customer who
  approved it.
- With `requestedExecutionDate` it is PDNG until that day. Cancellation of it gives 202 and needs an authorisation of
  its own. One that nobody has approved is cancelled with 204, and others cannot be cancelled: 405.
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

ROOT = "/v1"
PRODUCT = "sepa-credit-transfers"
PAGE_PATH = "/sca/potvardi"
APP = re.compile(r"PSD[A-Z]{2}-[A-Z]{2,8}-\w{4,12}")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
RIGHTS = ("accounts", "balances", "transactions")
LIMIT, FEE = 500_000, 25
UNTIL_SENT, UNTIL_BOOKED = timedelta(minutes=1), timedelta(minutes=3)
LINK_LASTS = timedelta(minutes=5)
LONGEST = timedelta(days=90)
ROWS = 8
SIGNS = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ"
TITLES = {
    "ACCESS_EXCEEDED": "Дневният брой достъпи е изчерпан",
    "CANCELLATION_INVALID": "Плащането не може да бъде отменено",
    "CERTIFICATE_INVALID": "Сертификатът не е валиден",
    "CERTIFICATE_MISSING": "Липсва сертификат",
    "CONSENT_EXPIRED": "Съгласието е изтекло",
    "CONSENT_INVALID": "Съгласието не е валидно за тази услуга",
    "EXECUTION_DATE_INVALID": "Датата на изпълнение не е допустима",
    "FORMAT_ERROR": "Липсващ или грешен елемент",
    "PAYMENT_FAILED": "Плащането не е прието",
    "PERIOD_INVALID": "Периодът не е допустим",
    "PRODUCT_UNKNOWN": "Непознат вид плащане",
    "RESOURCE_UNKNOWN": "Няма такъв ресурс",
    "SERVICE_INVALID": "Методът не се поддържа",
}
MESSAGE = "Моля, потвърдете в Банка Струма."
PAYEES = "Билла|Аптека Марешки|Софийска вода|Книжарница Хермес|Бензиностанция Петрол|Виваком|Кафе Витоша".split("|")
PAYERS = "Рила Софт ЕООД|Община Благоевград|Весела Ангелова".split("|")


@dataclass(frozen=True)
class Customer:
    name: str
    password: str
    card: str
    sums: dict[str, int]


CUSTOMERS = {
    "5530118": Customer(
        "Калина Стоева",
        "mUsala-2925",
        "542188******0917",
        {"BG17STRB91551004417260": 386_415, "BG42STRB91552004417261": 1_205_000},
    ),
    "7741902": Customer(
        "Пламен Вучков",
        "vIhren_2914",
        "542188******6634",
        {"BG58STRB91551007730915": 294_870, "BG83STRB91552007730916": 660_350},
    ),
}
KINDS = (("Разплащателна сметка", "CACC"), ("Спестовна сметка", "SVGS"))


@dataclass
class Account:
    """An account of a customer, or of a card: then it has a limit."""

    id: str
    reference: dict[str, str]
    product: str
    kind: str
    owner: str
    cents: int
    limit: int | None = None
    booked: list[dict[str, Any]] = field(default_factory=list)
    pending: list[tuple[int, dict[str, Any]]] = field(default_factory=list)

    @property
    def path(self) -> str:
        return f"{ROOT}/{'accounts' if self.limit is None else 'card-accounts'}/{self.id}"


@dataclass
class Consent:
    id: str
    app: str
    document: dict[str, Any]
    changed: date
    status: str = "received"
    customer: str | None = None
    reads: Counter[date] = field(default_factory=Counter)

    @property
    def path(self) -> str:
        return f"{ROOT}/consents/{self.id}"

    @property
    def last_day(self) -> date:
        return date.fromisoformat(self.document["validUntil"])

    @property
    def named(self) -> list[dict[str, str]]:
        return [one for wanted in self.document["access"].values() for one in wanted]

    def covers(self, account: Account, right: str) -> bool:
        named = self.named if right == "accounts" else self.document["access"].get(right, [])
        return account.reference in named


@dataclass
class Payment:
    id: str
    app: str
    document: dict[str, Any]
    account: Account
    cents: int
    status: str = "RCVD"
    approved: datetime | None = None
    funds: bool | None = None

    @property
    def path(self) -> str:
        return f"{ROOT}/payments/{PRODUCT}/{self.id}"

    @property
    def due(self) -> date | None:
        day = self.document.get("requestedExecutionDate")
        return date.fromisoformat(day) if day else None


@dataclass
class Authorisation:
    """What a customer decides on a page, and where the browser goes then."""

    id: str
    path: str
    thing: Consent | Payment
    until: datetime
    back: str
    cancels: bool = False
    sca: str = "received"

    @property
    def is_open(self) -> bool:
        return self.sca in ("received", "started")


def read_day(text: Any) -> date | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()
    except (TypeError, ValueError):
        return None


def read_cents(wanted: Any) -> int | None:
    if not isinstance(wanted, dict) or wanted.get("currency") != "EUR":
        return None
    text = wanted.get("amount")
    return int(text.replace(".", "")) if isinstance(text, str) and re.fullmatch(r"\d{1,9}\.\d\d", text) else None


def is_reference(one: Any) -> bool:
    return isinstance(one, dict) and (is_iban(one.get("iban")) or list(one) == ["maskedPan"])


def is_access(access: Any) -> bool:
    if not isinstance(access, dict) or not access or not access.keys() <= set(RIGHTS):
        return False
    return all(isinstance(one, list) and all(map(is_reference, one)) for one in access.values())


def write_sum(cents: int) -> dict[str, str]:
    return {"currency": "EUR", "amount": f"{cents / 100:.2f}"}


def refuse_all(*checks: tuple[str, object]) -> None:
    """Refuse what is wrong, by name."""
    if wrong := [name for name, is_right in checks if not is_right]:
        raise Fault(400, "FORMAT_ERROR", wrong[0], others=wrong[1:])


class Struma:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"struma {seed}")
        self._consents: dict[str, Consent] = {}
        self._payments: dict[str, Payment] = {}
        self._authorisations: dict[str, Authorisation] = {}
        self._left: int | None = None
        self._owned = {number: self._open(customer) for number, customer in CUSTOMERS.items()}
        self._accounts = [account for own in self._owned.values() for account in own]
        account, payment = ROOT + "/accounts/{id}", f"{ROOT}/payments/{{product}}/{{id}}"
        self._routes = Routes(
            ("POST", ROOT + "/consents", self._create_consent),
            ("GET", ROOT + "/consents/{id}", self._show_consent),
            ("DELETE", ROOT + "/consents/{id}", self._end_consent),
            ("GET", ROOT + "/consents/{id}/status", self._show_consent_status),
            ("GET", ROOT + "/consents/{id}/authorisations/{authorisation}", self._show_consent_sca),
            ("GET", ROOT + "/accounts", self._list_accounts),
            ("GET", account, self._show_account),
            ("GET", account + "/balances", self._show_balances),
            ("GET", account + "/transactions", self._list_transactions),
            ("GET", account + "/transactions/{transaction}", self._show_transaction),
            ("GET", ROOT + "/card-accounts", self._list_cards),
            ("GET", ROOT + "/card-accounts/{id}", self._show_account),
            ("GET", ROOT + "/card-accounts/{id}/balances", self._show_balances),
            ("POST", ROOT + "/payments/{product}", self._create_payment),
            ("GET", payment, self._show_payment),
            ("DELETE", payment, self._cancel_payment),
            ("GET", payment + "/status", self._show_payment_status),
            ("GET", payment + "/authorisations/{authorisation}", self._show_payment_sca),
            ("POST", payment + "/cancellation-authorisations", self._authorise_cancellation),
            ("GET", payment + "/cancellation-authorisations/{authorisation}", self._show_payment_sca),
            ("GET", PAGE_PATH, self._open_page),
            ("POST", PAGE_PATH, self._decide),
        )

    def answer(self, request: Request) -> Response:
        self._progress()
        self._left = None
        is_app, called = request.path != PAGE_PATH, request.headers.get("x-request-id", "")
        try:
            if is_app:
                self._check_app(request)
            handler, parameters = self._routes.find(request.method, request.path)
            if is_app and not UUID.fullmatch(called):
                raise Fault(400, "FORMAT_ERROR", "X-Request-ID")
            response = handler(request, **parameters)
        except NoRoute as wrong:
            response = self._tell(Fault(405, "SERVICE_INVALID") if wrong.allowed else Fault(404, "RESOURCE_UNKNOWN"))
        except Fault as raised:
            response = self._tell(raised)
        added = {"X-Request-ID": called} if is_app and called else {}
        if self._left is not None:
            added["X-Accesses-Left"] = str(self._left)
        return Response(response.status, response.content, {**response.headers, **added})

    def _tell(self, fault: Fault) -> Response:
        title = TITLES[fault.word]
        problem: dict[str, Any] = {
            "type": f"https://xs2a.struma.example/greshki/{fault.word.lower().replace('_', '-')}",
            "title": title,
        }
        if fault.place:
            problem["detail"] = fault.place
        problem["code"] = fault.word
        if others := fault.more.get("others"):
            problem["additionalErrors"] = [{"title": title, "detail": one, "code": fault.word} for one in others]
        return respond(fault.status, problem, fault.more.get("headers"), media="application/problem+json")

    def _check_app(self, request: Request) -> None:
        if not (app := request.headers.get("tpp-organization-identifier")):
            raise Fault(401, "CERTIFICATE_MISSING")
        if not APP.fullmatch(app):
            raise Fault(401, "CERTIFICATE_INVALID")

    def _hex(self, length: int) -> str:
        return f"{self._random.getrandbits(4 * length):0{length}x}"

    # The bank's books

    def _open(self, customer: Customer) -> list[Account]:
        own = [
            Account(self._hex(16), {"iban": iban}, *kind, customer.name, cents)
            for (iban, cents), kind in zip(customer.sums.items(), KINDS, strict=True)
        ]
        for account in own:
            self._fill(account)
        used, reference = -self._random.randrange(5_000, 60_000), {"maskedPan": customer.card}
        return [*own, Account(self._hex(16), reference, "Кредитна карта", "CARD", customer.name, used, 200_000)]

    def _fill(self, account: Account) -> None:
        for days in sorted(self._random.sample(range(1, 80), 20), reverse=True):
            is_credit = self._random.random() < 0.25
            change = self._random.randrange(15_000, 180_000) if is_credit else -self._random.randrange(400, 22_000)
            other, text = self._random.choice(PAYERS if is_credit else PAYEES), f"№ {self._random.randrange(10**5):05}"
            code = "PMNT-RCDT-ESCT" if is_credit else "PMNT-CCRD-POSD"
            self._book(account, self.clock.today - timedelta(days=days), change, other, text, code)
        if account.kind == "CACC":
            held, day = -self._random.randrange(600, 9_000), self.clock.today - timedelta(days=1)
            row = self._row(held, self._random.choice(PAYEES), "Картова авторизация", "PMNT-CCRD-POSD")
            account.pending.append((held, {"valueDate": day.isoformat(), **row}))

    def _row(self, cents: int, other: str, text: str, code: str) -> dict[str, Any]:
        return {
            "transactionAmount": write_sum(cents),
            "creditorName" if cents < 0 else "debtorName": other,
            "remittanceInformationUnstructured": text,
            "bankTransactionCode": code,
        }

    def _book(self, account: Account, day: date, cents: int, other: str, text: str, code: str) -> None:
        booked = {
            "transactionId": f"{day:%Y%m%d}N{self._random.randrange(10**6):06}",
            "bookingDate": day.isoformat(),
            "valueDate": day.isoformat(),
        }
        account.booked.insert(0, booked | self._row(cents, other, text, code))

    def _progress(self) -> None:
        """Let what is due by now happen."""
        now, today = self.clock.now, self.clock.today
        for authorisation in self._authorisations.values():
            if authorisation.is_open and now >= authorisation.until:
                self._refuse(authorisation)
        for consent in self._consents.values():
            if consent.status in ("received", "valid") and consent.last_day < today:
                consent.status, consent.changed = "expired", consent.last_day
        for payment in self._payments.values():
            if payment.status == "PDNG" and payment.due and payment.due <= today:
                self._execute(payment, payment.due)
            if payment.approved and payment.status == "ACFC" and now >= payment.approved + UNTIL_SENT:
                payment.status = "ACSP"
            if payment.approved and payment.status == "ACSP" and now >= payment.approved + UNTIL_BOOKED:
                self._execute(payment, (payment.approved + UNTIL_BOOKED).date())

    def _execute(self, payment: Payment, day: date) -> None:
        account, document = payment.account, payment.document
        if payment.status == "PDNG":
            payment.funds = self._expected(account) >= payment.cents + FEE
        payment.status = "ACSC" if payment.funds else "RJCT"
        if payment.funds:
            account.cents -= payment.cents + FEE
            text = document.get("remittanceInformationUnstructured", "")
            self._book(account, day, -FEE, "Банка Струма", "Такса превод", "ACMT-MCOP-COMM")
            self._book(account, day, -payment.cents, document["creditorName"], text, "PMNT-ICDT-ESCT")

    def _under_way(self, account: Account) -> list[Payment]:
        return [one for one in self._payments.values() if one.account is account and one.status in ("ACFC", "ACSP")]

    def _expected(self, account: Account) -> int:
        held = sum(cents for cents, _ in account.pending)
        return account.cents + held - sum(payment.cents + FEE for payment in self._under_way(account))

    # What apps ask for

    def _start(
        self, request: Request, thing: Consent | Payment, kind: str = "authorisations"
    ) -> tuple[Authorisation, dict[str, Any]]:
        """Create an authorisation, and links to it."""
        id, ticket = self._hex(8), self._hex(28)
        until, back = self.clock.now + LINK_LASTS, request.headers["tpp-redirect-uri"]
        is_cancellation = kind.startswith("cancellation")
        one = Authorisation(id, f"{thing.path}/{kind}/{id}", thing, until, back, is_cancellation)
        self._authorisations[ticket] = one
        page = f"{request.origin}{PAGE_PATH}?{urlencode({'t': ticket})}"
        return one, {"scaRedirect": {"href": page}, "scaStatus": {"href": one.path}}

    def _ask(self, request: Request, thing: Consent | Payment, shown: dict[str, Any]) -> Response:
        _, links = self._start(request, thing)
        links |= {"self": {"href": thing.path}, "status": {"href": f"{thing.path}/status"}}
        headers = {"Location": thing.path, "ASPSP-SCA-Approach": "REDIRECT"}
        return respond(201, {**shown, "psuMessage": MESSAGE, "_links": links}, headers)

    def _check_headers(self, request: Request) -> str:
        """Return the app that asks."""
        names = ("PSU-IP-Address", "TPP-Redirect-URI")
        refuse_all(*((name, request.headers.get(name.lower())) for name in names))
        return request.headers["tpp-organization-identifier"]

    def _document(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "FORMAT_ERROR", "body") from None

    def _show_sca(self, request: Request) -> Response:
        found = next((one for one in self._authorisations.values() if one.path == request.path), None)
        if not found:
            raise Fault(404, "RESOURCE_UNKNOWN")
        return respond(200, {"scaStatus": found.sca})

    # Consents

    def _create_consent(self, request: Request) -> Response:
        app, document = self._check_headers(request), self._document(request)
        access, last_day = document.get("access"), read_day(document.get("validUntil"))
        refuse_all(
            ("access", is_access(access)),
            ("recurringIndicator", isinstance(document.get("recurringIndicator"), bool)),
            ("validUntil", last_day),
            ("frequencyPerDay", document.get("frequencyPerDay") in range(1, 13)),
        )
        if not last_day or last_day < self.clock.today:
            raise Fault(400, "PERIOD_INVALID", "validUntil")
        names = ("access", "recurringIndicator", "validUntil", "frequencyPerDay")
        kept = {name: document[name] for name in names}
        kept["validUntil"] = min(last_day, self.clock.today + LONGEST).isoformat()
        id = "-".join(f"{self._random.randrange(10**4):04}" for _ in range(3))
        consent = self._consents[id] = Consent(id, app, kept, self.clock.today)
        return self._ask(request, consent, {"consentStatus": consent.status, "consentId": id})

    def _consent(self, request: Request, id: str) -> Consent:
        consent = self._consents.get(id)
        if not consent or consent.app != request.headers["tpp-organization-identifier"]:
            raise Fault(404, "RESOURCE_UNKNOWN")
        return consent

    def _show_consent(self, request: Request, id: str) -> Response:
        consent = self._consent(request, id)
        last = {"lastActionDate": consent.changed.isoformat(), "consentStatus": consent.status}
        return respond(200, consent.document | last)

    def _show_consent_status(self, request: Request, id: str) -> Response:
        return respond(200, {"consentStatus": self._consent(request, id).status})

    def _show_consent_sca(self, request: Request, id: str, authorisation: str) -> Response:
        self._consent(request, id)
        return self._show_sca(request)

    def _end_consent(self, request: Request, id: str) -> Response:
        consent = self._consent(request, id)
        if consent.status in ("received", "valid"):
            consent.status, consent.changed = "terminatedByTpp", self.clock.today
            self._fail(consent)
        return Response(204)

    # Accounts

    def _access(self, request: Request) -> Consent:
        if not (id := request.headers.get("consent-id")):
            raise Fault(400, "FORMAT_ERROR", "Consent-ID")
        consent = self._consents.get(id)
        if not consent or consent.app != request.headers["tpp-organization-identifier"]:
            raise Fault(401, "CONSENT_INVALID")
        if consent.status != "valid":
            word = "CONSENT_EXPIRED" if consent.status == "expired" else "CONSENT_INVALID"
            raise Fault(401, word, f"consentStatus: {consent.status}")
        return consent

    def _count(self, request: Request, consent: Consent) -> None:
        today, allowed = self.clock.today, consent.document["frequencyPerDay"]
        if not request.headers.get("psu-ip-address"):
            if consent.reads[today] >= allowed:
                midnight = datetime.combine(today + timedelta(days=1), time(), self.clock.now.tzinfo)
                again = {"Retry-After": str(int((midnight - self.clock.now).total_seconds()))}
                raise Fault(429, "ACCESS_EXCEEDED", f"frequencyPerDay: {allowed}", headers=again)
            consent.reads[today] += 1
            self._left = allowed - consent.reads[today]
        consent.changed = today

    def _find(self, request: Request, id: str, right: str) -> Account:
        consent = self._access(request)
        account = next((one for one in self._accounts if one.id == id and request.path.startswith(one.path)), None)
        if not account or not consent.covers(account, "accounts"):
            raise Fault(404, "RESOURCE_UNKNOWN")
        self._check_right(consent, account, right)
        self._count(request, consent)
        return account

    def _check_right(self, consent: Consent, account: Account, right: str) -> None:
        if not consent.covers(account, right):
            raise Fault(401, "CONSENT_INVALID", f"access.{right}")

    def _shown(self, request: Request, account: Account) -> dict[str, Any]:
        shown: dict[str, Any] = {"resourceId": account.id, **account.reference}
        shown |= {"currency": "EUR", "ownerName": account.owner, "product": account.product, "status": "enabled"}
        links = ["balances"]
        if account.limit is None:
            shown |= {"cashAccountType": account.kind, "bic": "STRBBGSF", "usage": "PRIV"}
            links.append("transactions")
        else:
            shown["creditLimit"] = write_sum(account.limit)
        if request.query.get("withBalance") == "true":
            shown["balances"] = self._balances(account)
        return shown | {"_links": {name: {"href": f"{account.path}/{name}"} for name in links}}

    def _list(self, request: Request, *, cards: bool) -> list[dict[str, Any]]:
        consent = self._access(request)
        covered = [one for one in self._accounts if (one.limit is not None) is cards]
        covered = [one for one in covered if consent.covers(one, "accounts")]
        if request.query.get("withBalance") == "true":
            for account in covered:
                self._check_right(consent, account, "balances")
        self._count(request, consent)
        return [self._shown(request, account) for account in covered]

    def _list_accounts(self, request: Request) -> Response:
        return respond(200, {"accounts": self._list(request, cards=False)})

    def _list_cards(self, request: Request) -> Response:
        return respond(200, {"cardAccounts": self._list(request, cards=True)})

    def _show_account(self, request: Request, id: str) -> Response:
        right = "balances" if request.query.get("withBalance") == "true" else "accounts"
        account = self._find(request, id, right)
        name = "account" if account.limit is None else "cardAccount"
        return respond(200, {name: self._shown(request, account)})

    def _balances(self, account: Account) -> list[dict[str, Any]]:
        today = self.clock.today.isoformat()
        moved = [row["transactionAmount"]["amount"] for row in account.booked if row["bookingDate"] == today]
        sums = {
            "openingBooked": account.cents - sum(int(amount.replace(".", "")) for amount in moved),
            "interimBooked": account.cents,
            "expected": self._expected(account),
        }
        if account.limit is not None:
            sums = {"nonInvoiced": account.cents}
        return [
            {"balanceType": kind, "balanceAmount": write_sum(cents), "referenceDate": today}
            for kind, cents in sums.items()
        ]

    def _show_balances(self, request: Request, id: str) -> Response:
        account = self._find(request, id, "balances")
        name = "account" if account.limit is None else "cardAccount"
        return respond(200, {name: account.reference, "balances": self._balances(account)})

    def _list_transactions(self, request: Request, id: str) -> Response:
        account, query = self._find(request, id, "transactions"), request.query
        earliest, today = self.clock.today - LONGEST, self.clock.today
        first, last = (
            read_day(query[name]) if name in query else default
            for name, default in (("dateFrom", earliest), ("dateTo", today))
        )
        refuse_all(
            ("bookingStatus", query.get("bookingStatus") in ("booked", "pending", "both")),
            ("dateFrom", first),
            ("dateTo", last),
            ("offset", query.get("offset", "0").isdecimal()),
        )
        if not first or not last or not earliest <= first <= last:
            raise Fault(400, "PERIOD_INVALID", "dateFrom")
        wanted, offset, total = query["bookingStatus"], int(query.get("offset", "0")), 0
        shown: dict[str, Any] = {}
        links = {"account": {"href": account.path}}
        if wanted != "pending":
            rows = [row for row in account.booked if first.isoformat() <= row["bookingDate"] <= last.isoformat()]
            total, shown["booked"] = len(rows), rows[offset : offset + ROWS]
            places = {"first": 0, "next": offset + ROWS, "previous": max(0, offset - ROWS)}
            has = {"first": True, "next": total > offset + ROWS, "previous": offset > 0}
            for name, place in places.items():
                if has[name]:
                    target = urlencode({**query, "offset": place})
                    links[name] = {"href": f"{account.path}/transactions?{target}"}
        if wanted != "booked" and not offset:
            shown["pending"] = self._pending(account)
            total = total if wanted == "both" else len(shown["pending"])
        document = {"account": account.reference, "transactions": {**shown, "_links": links}}
        return respond(200, document, {"X-Total-Count": str(total)})

    def _pending(self, account: Account) -> list[dict[str, Any]]:
        rows = []
        for payment in self._under_way(account):
            name, text = payment.document["creditorName"], payment.document.get("remittanceInformationUnstructured", "")
            row = self._row(-payment.cents, name, text, "PMNT-ICDT-ESCT")
            rows.append({"valueDate": self.clock.today.isoformat(), **row})
        return rows + [row for _, row in account.pending]

    def _show_transaction(self, request: Request, id: str, transaction: str) -> Response:
        account = self._find(request, id, "transactions")
        row = next((row for row in account.booked if row["transactionId"] == transaction), None)
        if not row:
            raise Fault(404, "RESOURCE_UNKNOWN")
        return respond(200, {"transactionsDetails": row})

    # Payments

    def _create_payment(self, request: Request, product: str) -> Response:
        app = self._check_headers(request)
        if product != PRODUCT:
            raise Fault(404, "PRODUCT_UNKNOWN", product)
        document = self._document(request)
        cents, day = read_cents(document.get("instructedAmount")), read_day(document.get("requestedExecutionDate"))
        refuse_all(
            *((name, is_reference(document.get(name))) for name in ("debtorAccount", "creditorAccount")),
            ("instructedAmount", cents),
            ("creditorName", 0 < len(str(document.get("creditorName", ""))) <= 70),
            ("requestedExecutionDate", day or "requestedExecutionDate" not in document),
        )
        if not cents or cents > LIMIT:
            raise Fault(400, "PAYMENT_FAILED", f"instructedAmount.amount > {LIMIT / 100:.2f}")
        if day and not self.clock.today < day <= self.clock.today + timedelta(days=365):
            raise Fault(400, "EXECUTION_DATE_INVALID", "requestedExecutionDate")
        account = next((one for one in self._accounts if one.reference == document["debtorAccount"]), None)
        if not account or account.kind != "CACC":
            raise Fault(400, "PAYMENT_FAILED", "debtorAccount")
        names = "endToEndIdentification debtorAccount instructedAmount creditorAccount creditorName".split()
        names += ["remittanceInformationUnstructured", "requestedExecutionDate"]
        kept = {name: document[name] for name in names if name in document}
        id = "ST" + "".join(self._random.choices(SIGNS, k=10))
        payment = self._payments[id] = Payment(id, app, kept, account, cents)
        shown: dict[str, Any] = {"transactionStatus": payment.status, "paymentId": id}
        shown |= {"transactionFees": write_sum(FEE), "transactionFeeIndicator": True}
        return self._ask(request, payment, shown)

    def _payment(self, request: Request, product: str, id: str) -> Payment:
        payment = self._payments.get(id)
        if product != PRODUCT or not payment or payment.app != request.headers["tpp-organization-identifier"]:
            raise Fault(404, "RESOURCE_UNKNOWN")
        return payment

    def _show_payment(self, request: Request, product: str, id: str) -> Response:
        payment = self._payment(request, product, id)
        name = {"debtorName": payment.account.owner} if payment.approved else {}
        return respond(200, {"transactionStatus": payment.status, **name, **payment.document})

    def _show_payment_status(self, request: Request, product: str, id: str) -> Response:
        payment = self._payment(request, product, id)
        funds = {} if payment.funds is None else {"fundsAvailable": payment.funds}
        return respond(200, {"transactionStatus": payment.status, **funds})

    def _show_payment_sca(self, request: Request, product: str, id: str, authorisation: str) -> Response:
        self._payment(request, product, id)
        return self._show_sca(request)

    def _cancel_payment(self, request: Request, product: str, id: str) -> Response:
        payment = self._payment(request, product, id)
        if payment.status == "RCVD":
            payment.status = "CANC"
            self._fail(payment)
            return Response(204)
        self._check_cancellation(payment)
        start = f"{payment.path}/cancellation-authorisations"
        links = {"startAuthorisation": start, "self": payment.path, "status": f"{payment.path}/status"}
        shown = {name: {"href": href} for name, href in links.items()}
        return respond(202, {"transactionStatus": payment.status, "_links": shown})

    def _check_cancellation(self, payment: Payment) -> None:
        if payment.status != "PDNG":
            raise Fault(405, "CANCELLATION_INVALID", f"transactionStatus: {payment.status}")

    def _authorise_cancellation(self, request: Request, product: str, id: str) -> Response:
        self._check_headers(request)
        payment = self._payment(request, product, id)
        self._check_cancellation(payment)
        one, links = self._start(request, payment, "cancellation-authorisations")
        headers = {"Location": one.path, "ASPSP-SCA-Approach": "REDIRECT"}
        shown = {"scaStatus": one.sca, "authorisationId": one.id, "psuMessage": MESSAGE, "_links": links}
        return respond(201, shown, headers)

    # The customer's page

    def _find_open(self, request: Request) -> Authorisation | None:
        found = self._authorisations.get(request.query.get("t", ""))
        return found if found and found.is_open else None

    def _open_page(self, request: Request) -> Response:
        if one := self._find_open(request):
            one.sca = "started"
        return self._show_page(request)

    def _show_page(self, request: Request, hint: str = "", status: int = 200) -> Response:
        if not (one := self._find_open(request)):
            return show(404, "Банка Струма", "<p>Връзката вече не е активна.</p>")
        if isinstance(one.thing, Payment):
            wanted, name = one.thing.document["instructedAmount"], one.thing.document["creditorName"]
            asked = "Отмяна на превод" if one.cancels else "Превод"
            asked += f" {wanted['amount']} {wanted['currency']} към {name}"
        else:
            asked = f"Достъп до сметки до {one.thing.last_day:%d.%m.%Y} г."
        form = '<input name="klient"><input name="parola" type="password">'
        form += '<input name="otgovor" type="radio" value="da"><input name="otgovor" type="radio" value="ne">'
        target = f"{PAGE_PATH}?{urlencode({'t': request.query['t']})}"
        form = f'<form method="post" action="{target}">{form}<button>Напред</button></form>'
        return show(status, "Банка Струма", f"<p>{asked}</p><p>{hint}</p>{form}")

    def _decide(self, request: Request) -> Response:
        if not (one := self._find_open(request)):
            return self._show_page(request)
        number = request.field("klient")
        if number not in CUSTOMERS or CUSTOMERS[number].password != request.field("parola"):
            return self._show_page(request, "Грешен клиентски номер или парола.", 403)
        if request.field("otgovor") != "da":
            self._refuse(one)
        elif not self._agree(one, number):
            return self._show_page(request, "Сметката не е Ваша.", 403)
        result = urlencode({"result": "ok" if one.sca == "finalised" else "denied"})
        return Response(303, "", {"Location": f"{one.back}{'&' if '?' in one.back else '?'}{result}"})

    def _fail(self, thing: Consent | Payment) -> None:
        for one in self._authorisations.values():
            if one.thing is thing and one.is_open:
                one.sca = "failed"

    def _refuse(self, one: Authorisation) -> None:
        """Let the payment or consent end, or the payment stay if this is about its cancellation."""
        one.sca = "failed"
        if isinstance(one.thing, Consent):
            one.thing.status, one.thing.changed = "rejected", self.clock.today
        elif not one.cancels:
            one.thing.status = "RJCT"

    def _agree(self, one: Authorisation, number: str) -> bool:
        """Whether this customer can: the accounts are theirs."""
        own, thing = self._owned[number], one.thing
        if isinstance(thing, Payment):
            if thing.account not in own:
                return False
            self._approve(thing, cancels=one.cancels)
        elif all(any(account.reference == named for account in own) for named in thing.named):
            self._grant(thing, number, own)
        else:
            return False
        one.sca = "finalised"
        return True

    def _approve(self, payment: Payment, *, cancels: bool) -> None:
        if cancels:
            payment.status = "CANC" if payment.status == "PDNG" else payment.status
            return
        payment.approved = self.clock.now
        if payment.due:
            payment.status = "PDNG"
            return
        payment.funds = self._expected(payment.account) >= payment.cents + FEE
        payment.status = "ACFC" if payment.funds else "RJCT"

    def _grant(self, consent: Consent, number: str, own: list[Account]) -> None:
        """Make a consent valid, and offer everything if it names nothing."""
        if not consent.named:
            access: dict[str, list[dict[str, str]]] = {}
            for right in consent.document["access"]:
                fitting = [one for one in own if right != "transactions" or one.limit is None]
                access[right] = [account.reference for account in fitting]
            consent.document["access"] = access
        if consent.document["recurringIndicator"]:
            for other in self._consents.values():
                is_same = (other.app, other.customer, other.status) == (consent.app, number, "valid")
                if is_same and other.document["recurringIndicator"]:
                    other.status, other.changed = "replaced", self.clock.today
        consent.status, consent.customer, consent.changed = "valid", number, self.clock.today
