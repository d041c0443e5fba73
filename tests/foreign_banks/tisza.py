"""Tisza, a bank with the words of Berlin Group's NextGenPSD2 1.3, and many opinions of its own.

- The path begins with `/v1.3.8`. The app sends `X-Tisza-Client` (its key) and a UUID as `X-Request-ID`.
- A consent is created with 200. Ids look like `CNS-4f0a11c2be` and `2606150004711`; accounts have numbers.
- Errors are `{"errors": [{"errorCode": "T-1003", "reason", "message", "field"}], "requestId"}`.
- Amounts are numbers.
- Each account of a consent has its own rights: it is named in `accounts`, `balances` or `transactions`.
- A consent is valid for 90 days at most: a later day is moved there without an error.
- An app has one consent at a time that waits for its customer. A new valid consent replaces the older ones of the same
  customer: they are `replaced`. DELETE gives 200 and a body, and 409 if the consent has ended.
- `frequencyPerDay` counts the reads of each address, unless PSU-IP-Address is sent.
- `dateFrom` of transactions is required. Pages are numbered: `page` and `pageSize`, 15 rows at most.
- The customer signs in on one page, and gives a code and the decision on the next.
- A payment needs PSU-IP-Address. A debtor account may pay 2000 EUR a day, and a payment counts as soon as it is there.
- An approved payment is ACTC and reserves its amount. It is booked (ACSC) 20 minutes after that.
- DELETE cancels a payment that waits, with 204. One that is ACTC gives 202 and a link: the customer has to approve.
"""

import string
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any, ClassVar

from tests.foreign_banks.nextgen import Account, Authorisation, Customer, NextGen, Order, in_cents, is_iban, read_day
from tests.foreign_banks.server import Fault, Request, Response, show

CODES = {
    "HEADER_MISSING": "T-1001",
    "FORMAT_ERROR": "T-1002",
    "MEMBER_MISSING": "T-1003",
    "PERIOD_INVALID": "T-1004",
    "CURRENCY_INVALID": "T-1005",
    "FREQUENCY_INVALID": "T-1006",
    "CERTIFICATE_INVALID": "T-2001",
    "CONSENT_UNKNOWN": "T-2002",
    "CONSENT_INVALID": "T-2003",
    "CONSENT_EXPIRED": "T-2004",
    "ACCOUNT_NOT_COVERED": "T-2005",
    "RIGHT_MISSING": "T-2006",
    "CONSENT_OPEN": "T-2007",
    "CONSENT_ENDED": "T-2008",
    "ACCESS_EXCEEDED": "T-2009",
    "RESOURCE_UNKNOWN": "T-3001",
    "PAYMENT_UNKNOWN": "T-3001",
    "PRODUCT_UNKNOWN": "T-3002",
    "DEBTOR_UNKNOWN": "T-3003",
    "LIMIT_EXCEEDED": "T-3004",
    "CANCELLATION_INVALID": "T-3005",
    "SERVICE_INVALID": "T-4001",
}
LONGEST = timedelta(days=90)
MOST_A_DAY = 200_000
UNTIL_BOOKED = timedelta(minutes=20)


class Tisza(NextGen):
    ROOT = "/v1.3.8"
    PAGES = "/login"
    HEADERS = ("X-Tisza-Client",)
    APP = "X-Tisza-Client"
    APPS: ClassVar = {"tk-3390-szamla": "Számla", "tk-7712-penztarca": "Pénztárca"}
    PRODUCTS = ("sepa-credit-transfers",)
    OTHERS = ("Alma Bolt", "Duna Energia", "Kő Kft", "Posta", "Rózsa Étterem", "Vízmű")
    NOT_VALID = 401

    def open_customers(self) -> Iterable[Customer]:
        self._number = self.random.randrange(1000, 8000)
        self._sessions: dict[str, tuple[str, Customer]] = {}
        yield Customer(
            "hanna.k",
            "Hanna Kis",
            "tavasz-81",
            "440912",
            [
                self.open("HU42117730161111101800000000", "Folyószámla", 412_300),
                self.open("HU59117730161111102500000000", "Megtakarítás", 95_000),
            ],
        )
        yield Customer(
            "gergo.n",
            "Gergő Nagy",
            "nyolcvan-8",
            "730025",
            [
                self.open("HU59107000240000701100000000", "Fizetési számla", 628_140),
                self.open("HU31107000240000702800000000", "Közös számla", 301_075),
                self.open("HU48107000240000703500000000", "Nyaralás", 12_420),
            ],
        )

    def new_id(self, kind: str) -> str:
        self._number += self.random.randrange(1, 7)
        match kind:
            case "consent":
                return "CNS-" + self.sign(10)
            case "payment":
                return f"{self.clock.now:%y%m%d}{self._number:07}"
            case "account":
                return self.sign(8, string.digits)
            case "transaction":
                return f"TX{self._number:08}"
        return self.sign(20)

    def show_amount(self, cents: int) -> Any:
        return cents / 100

    def read_amount(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Fault(400, "FORMAT_ERROR", "instructedAmount.amount")
        try:
            return in_cents(value)
        except ValueError:
            raise Fault(400, "FORMAT_ERROR", "instructedAmount.amount") from None

    def tell(self, request: Request, fault: Fault) -> dict[str, Any]:
        error = {
            "errorCode": CODES[fault.word],
            "reason": fault.word.removeprefix("PAYMENT_").replace("_", " ").lower(),
        }
        error["message"] = f"{fault.word.replace('_', ' ').capitalize()}, please see the manual."
        if fault.place:
            error["field"] = fault.place
        return {"errors": [error], "requestId": request.headers.get("x-request-id")}

    # Consents

    def _ibans(self, access: Any, right: str) -> list[str]:
        rows = access.get(right, []) if isinstance(access, dict) else None
        if not isinstance(rows, list) or not all(isinstance(row, dict) and is_iban(row.get("iban")) for row in rows):
            raise Fault(400, "FORMAT_ERROR", f"access.{right}")
        return [row["iban"] for row in rows]

    def create_consent(self, request: Request) -> Response:
        document = self.read(request, "access", "recurringIndicator", "validUntil", "frequencyPerDay")
        access = document["access"]
        named = [self._ibans(access, right) for right in ("accounts", "balances", "transactions")]
        if not any(named):
            raise Fault(400, "FORMAT_ERROR", "access")
        until = read_day(document["validUntil"], "validUntil")
        if until < self.clock.today:
            raise Fault(400, "PERIOD_INVALID", "validUntil")
        if document["frequencyPerDay"] not in (1, 2, 3, 4):
            raise Fault(400, "FREQUENCY_INVALID", "frequencyPerDay")
        app = request.headers["x-tisza-client"]
        if any(consent.app == app and consent.status == "received" for consent in self.consents.values()):
            raise Fault(403, "CONSENT_OPEN")
        until = min(until, self.clock.today + LONGEST)
        kept = {name: document[name] for name in ("access", "recurringIndicator", "frequencyPerDay")}
        consent = self.order(request, "consent", "consents", "received", kept | {"validUntil": until.isoformat()})
        self.consents[consent.id] = consent
        links = self._links(request, consent, self.authorise(consent))
        body = {"consentStatus": "received", "consentId": consent.id, "validUntil": until.isoformat(), "_links": links}
        return self.said(request, 200, body, ASPSP_SCA_Approach="REDIRECT")

    def _links(self, request: Request, order: Order, authorisation: Authorisation) -> dict[str, Any]:
        page = f"{request.origin}{self.PAGES}/{authorisation.ticket}"
        return {"scaRedirect": {"href": page}, "self": {"href": order.path}, "status": {"href": f"{order.path}/status"}}

    def show_consent(self, request: Request, id: str) -> Response:
        consent = self.consent(request, id)
        document = {"consentId": id, **consent.document, "consentStatus": consent.status}
        return self.said(request, 200, document | {"lastActionDate": self.clock.today.isoformat()})

    def delete_consent(self, request: Request, id: str) -> Response:
        consent = self.consent(request, id)
        if consent.status not in ("received", "valid"):
            raise Fault(409, "CONSENT_ENDED")
        consent.status = "terminatedByTpp"
        return self.said(request, 200, {"consentId": id, "consentStatus": consent.status})

    def check_right(self, consent: Order, account: Account, right: str) -> None:
        if right != "accounts" and account.iban not in self._ibans(consent.document["access"], right):
            raise Fault(403, "RIGHT_MISSING", right)

    def check_use(self, request: Request, consent: Order) -> None:
        if "psu-ip-address" in request.headers:
            return
        use = self.clock.today, request.path
        if consent.reads[use] >= consent.document["frequencyPerDay"]:
            raise Fault(429, "ACCESS_EXCEEDED")
        consent.reads[use] += request.query.get("page", "1") == "1"

    def first_day(self, request: Request) -> date:
        raise Fault(400, "MEMBER_MISSING", "dateFrom")

    def turn(self, request: Request, rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        number, size = (request.query.get(name, default) for name, default in (("page", "1"), ("pageSize", "15")))
        if not number.isdecimal() or not size.isdecimal() or not 1 <= int(size) <= 15:
            raise Fault(400, "FORMAT_ERROR", "page")
        pages = max(-(-len(rows) // int(size)), 1)
        if not 1 <= int(number) <= pages:
            raise Fault(404, "RESOURCE_UNKNOWN", "page")
        begin = (int(number) - 1) * int(size)
        page = {"number": int(number), "size": int(size), "pages": pages, "entries": len(rows)}
        return rows[begin : begin + int(size)], {"page": page}

    # Payments

    def check_payment(self, request: Request, account: Account | None, cents: int) -> None:
        self.need_header(request, "PSU-IP-Address")
        if not account:
            raise Fault(403, "DEBTOR_UNKNOWN", "debtorAccount.iban")
        spent = sum(
            self.cents(payment)
            for payment in self.payments.values()
            if payment.status not in ("CANC", "RJCT")
            and payment.made.date() == self.clock.today
            and payment.document["debtorAccount"]["iban"] == account.iban
        )
        if spent + cents > MOST_A_DAY:
            raise Fault(403, "LIMIT_EXCEEDED", "instructedAmount.amount")

    def paid(self, request: Request, payment: Order) -> Response:
        links = self._links(request, payment, self.authorise(payment))
        body = {"transactionStatus": "RCVD", "paymentId": payment.id, "_links": links}
        return self.said(request, 201, body, ASPSP_SCA_Approach="REDIRECT", Location=payment.path)

    def settles(self, payment: Order) -> bool:
        return payment.approved is not None and self.clock.now >= payment.approved + UNTIL_BOOKED

    def cancel(self, request: Request, payment: Order) -> Response:
        if payment.status == "RCVD":
            payment.status = "CANC"
            return self.said(request, 204, None)
        if payment.status != "ACTC":
            raise Fault(409, "CANCELLATION_INVALID")
        links = self._links(request, payment, self.authorise(payment, is_cancellation=True))
        return self.said(request, 202, {"transactionStatus": "ACTC", "_links": {"scaRedirect": links["scaRedirect"]}})

    # Pages

    def show_page(self, request: Request, ticket: str) -> Response:
        return self._sign_in(ticket, 200)

    def _sign_in(self, ticket: str, status: int, hint: str = "") -> Response:
        if not (found := self.find_ticket(ticket)):
            return show(410, "Tisza", "<p>Ez a lap már nem él.</p>")
        form = '<input name="user"><input name="password" type="password"><button>Belépés</button>'
        what = f"{self.APPS[found.order.app]}: {found.order.id}"
        return show(status, "Tisza", f'<p>{what}</p><p>{hint}</p><form method="post">{form}</form>')

    def _ask_code(self, session: str, status: int) -> Response:
        form = f'<input type="hidden" name="session" value="{session}"><input name="code">'
        form += (
            '<button name="decision" value="approve">Igen</button><button name="decision" value="decline">Nem</button>'
        )
        return show(status, "Tisza", f'<p>Az SMS-ben kapott kód?</p><form method="post">{form}</form>')

    def decide(self, request: Request, ticket: str) -> Response:
        if not (found := self.find_ticket(ticket)):
            return self._sign_in(ticket, 200)
        order = found.order
        if not (session := request.field("session")):
            customer = self.customers.get(request.field("user"))
            if not customer or customer.password != request.field("password"):
                return self._sign_in(ticket, 401, "Hibás név vagy jelszó.")
            session = self.sign(16)
            self._sessions[session] = ticket, customer
            return self._ask_code(session, 200)
        signed_in, customer = self._sessions.get(session, ("", None))
        if signed_in != ticket or not customer:
            return self._sign_in(ticket, 401, "Lépjen be újra.")
        if request.field("decision") == "decline":
            found.sca = "failed"
            if not found.is_cancellation:
                order.status = "RJCT" if order.is_payment else "rejected"
            return self.send_back(order, is_yes=False)
        if request.field("code") != customer.code:
            return self._ask_code(session, 401)
        if order.is_payment:
            wanted = {order.document["debtorAccount"]["iban"]}
        else:
            wanted = {
                iban for right in order.document["access"] for iban in self._ibans(order.document["access"], right)
            }
        accounts = [account for account in customer.accounts if account.iban in wanted]
        if len(accounts) != len(wanted):
            return show(403, "Tisza", "<p>Ez nem az Ön számlája.</p>")
        found.sca = "finalised"
        if found.is_cancellation:
            if order.status == "ACTC":
                order.status = "CANC"
            return self.send_back(order, is_yes=True)
        if not order.is_payment:
            for other in self.consents.values():
                if other.status == "valid" and other.app == order.app and other.customer is customer:
                    other.status = "replaced"
        order.status = "ACTC" if order.is_payment else "valid"
        order.customer, order.accounts, order.approved = customer, accounts, self.clock.now
        return self.send_back(order, is_yes=True)
