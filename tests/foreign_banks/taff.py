"""Taff, a Welsh bank whose interface began as UK Open Banking Read/Write 3.1 and then went its own way.

- POST `/access/v2/token` with HTTP Basic. Client tokens last an hour, a customer's, for a code (once, within a minute),
  half an hour. Consents and payments need client tokens, accounts the customer's.
- Answers have Data, Risk (consents), Links and Meta. Links are absolute. Lists have plural names. All times are in
  Cardiff, with the offset of the day. `x-taff-interaction-id` comes back, or a new one.
- Errors are `{"Faults": [{"FaultCode", "Text", "Field"?}], "Reference", "DateTime"}`. An account that the consent does
  not cover gives 403, whether it exists or not, an unknown consent or payment 404.
- A consent has a ConsentStatus: AWAITING_SIGN_IN, for 15 minutes, then TIMED_OUT; AUTHORISED or DECLINED by the
  customer. That for accounts is IN_USE once its code is redeemed, EXPIRED after the last second of ExpirationDate
  (at most 180 days from now, 90 unless told), REVOKED by DELETE (204). AccountId belongs to the consent.
- The app adds `redirect_uri` and `state` to Links.SignIn. For accounts, the page asks for three characters of the
  memorable word, at the places in its hidden fields, for payments for the payment PIN. A mistake gives 200 and the
  page again, the third one declines. Both can be cancelled without signing in. A used or unknown link gives 410.
- Usable balance has the arranged overdraft in it, and payments under way are off it; Cleared changes when they settle.
- Entries are oldest first, `fromBookingDate` inclusive, `toBookingDate` exclusive. Links.Next has a `page-token` alone.
- Payment consents and payments need an `x-idempotency-key`: a repeated request gives 200, another body 409.
  Amounts are above 0 and at most £5,000, references have at most 18 characters, DebtorAccount must be given.
- If the customer ticks `trustPayee`, later consents to this payee from this account, of up to £500, begin AUTHORISED.
- A payment needs no code: ConsentId and the Initiation, unchanged, make it, and the consent is CONSUMED. PaymentStatus
  is OnHold for ten minutes from £1,000 upwards, or Received for 30 seconds, then Settling for two minutes, Settled;
  Rejected at once if the account has not enough. DELETE recalls it (Recalled, 200) before it is Settling.
"""

import base64
import hashlib
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from html import escape
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

CARDIFF = ZoneInfo("Europe/London")
APP = {"id": "ledgerlane", "secret": "teasel-and-yarrow", "back": "https://ledgerlane.example/taff/callback"}
PERMISSIONS = ("ReadAccounts", "ReadBalances", "ReadTransactions")
SHOPS = "Pontcanna Bakery|Valleys Rail|Bute Street Garage|Severn Water|Cwtch Coffee|Roath Park Pharmacy".split("|")
SORT_CODE = "30-21-44"
FORMS = {
    "EndToEndIdentification": r"\S{1,31}",
    "InstructedAmount.Amount": r"(?!0+\.00)\d{1,9}\.\d\d",
    "InstructedAmount.Currency": "GBP",
    "DebtorAccount.SortCode": SORT_CODE,
    "DebtorAccount.AccountNumber": r"\d{8}",
    "CreditorAccount.SortCode": r"\d\d-\d\d-\d\d",
    "CreditorAccount.AccountNumber": r"\d{8}",
    "CreditorAccount.Name": r".{1,35}",
    "Reference": r"[\w .&/-]{1,18}",
}
CUSTOMERS = (
    ("GWEN4471", "caerphilly", "40962", {"Current": 318_447, "Saver": 96_120}),
    ("HUW80235", "snowdonia", "71853", {"Saver": 1_204_000, "Current": 273_915, "Joint": 54_280}),
    ("MAIR3390", "pontypridd", "26617", {"Current": 41_873}),
)
LIMIT, TRUSTED, HELD = 500_000, 50_000, 100_000
INTERACTION = "x-taff-interaction-id"

type Entry = dict[str, Any]


@dataclass
class Account:
    number: str
    kind: str
    pence: int
    overdraft: int
    entries: list[Entry] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    user: str
    word: str
    pin: str
    accounts: Sequence[Account]


@dataclass
class Consent:
    id: str
    details: dict[str, Any]
    risk: dict[str, Any]
    made: datetime
    updated: datetime
    ticket: str
    places: list[int]
    ends: datetime | None = None
    payer: Account | None = None
    status: str = "AWAITING_SIGN_IN"
    customer: Customer | None = None
    mistakes: int = 0
    pence: int = 0
    way: tuple[str, ...] = ()


@dataclass
class Payment:
    id: str
    consent: Consent
    payer: Account
    made: datetime
    updated: datetime
    status: str


def write_money(pence: int) -> dict[str, Any]:
    amount = {"Amount": f"{abs(pence) / 100:.2f}", "Currency": "GBP"}
    return {"Amount": amount, "CreditDebitIndicator": "Debit" if pence < 0 else "Credit"}


class Taff:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"taff {seed}")
        self._grants: dict[str, tuple[datetime, Consent | None]] = {}
        self._codes: dict[str, tuple[Consent, datetime]] = {}
        self._consents: dict[str, Consent] = {}
        self._tickets: dict[str, Consent] = {}
        self._payments: dict[str, Payment] = {}
        self._keys: dict[tuple[str, str], tuple[dict[str, Any], Consent | Payment]] = {}
        self._pages: dict[tuple[str, str], tuple[list[Entry], int, int]] = {}
        self._trusted: set[tuple[str, ...]] = set()
        self._number = self._random.randrange(1_000, 800_000)
        self._customers = [
            Customer(user, word, pin, [self._open(kind, pence) for kind, pence in accounts.items()])
            for user, word, pin, accounts in CUSTOMERS
        ]
        ais, pis = "/open/taff/r3/ais", "/open/taff/r3/pis"
        consent, account = f"{ais}/account-access-consents", f"{ais}/accounts/{{id}}"
        asked, payment = f"{pis}/domestic-payment-consents", f"{pis}/domestic-payments"
        self._routes = Routes(
            ("POST", "/access/v2/token", self._give_token),
            ("POST", consent, self._ask_accounts),
            ("GET", consent + "/{id}", lambda request, id: self._tell(request, 200, self._consent(request, id))),
            ("DELETE", consent + "/{id}", self._revoke),
            ("GET", f"{ais}/accounts", self._list_accounts),
            ("GET", account + "/balances", self._list_balances),
            ("GET", account + "/transactions", self._list_entries),
            ("POST", asked, lambda request: self._once(request, self._ask_payment)),
            ("GET", asked + "/{id}", lambda request, id: self._tell(request, 200, self._consent(request, id))),
            ("GET", asked + "/{id}/funds-confirmation", self._check_funds),
            ("POST", payment, lambda request: self._once(request, self._pay)),
            ("GET", payment + "/{id}", lambda request, id: self._tell(request, 200, self._payment(request, id))),
            ("DELETE", payment + "/{id}", self._recall),
            ("GET", "/mewngofnodi/{ticket}", self._page),
            ("POST", "/mewngofnodi/{ticket}", self._sign),
        )

    @property
    def now(self) -> datetime:
        return self.clock.now.astimezone(CARDIFF)

    def answer(self, request: Request) -> Response:
        self._advance()
        told = {INTERACTION: request.headers.get(INTERACTION) or self._word(20)}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            answer = handler(request, **parameters)
            return Response(answer.status, answer.content, {**told, **answer.headers})
        except NoRoute as wrong:
            fault = Fault(405, "TF.Method.NotAllowed") if wrong.allowed else Fault(404, "TF.Resource.NotFound")
        except Fault as error:
            fault = error
        row = {"FaultCode": fault.word, "Text": HTTPStatus(fault.status).phrase}
        row |= {"Field": fault.place} if fault.place else {}
        document = {"Faults": [row], "Reference": told[INTERACTION], "DateTime": self.now.isoformat()}
        return respond(fault.status, document, told)

    def _word(self, length: int) -> str:
        return "".join(self._random.choices("0123456789abcdefghjkmnpqrstvwxyz", k=length))

    def _open(self, kind: str, pence: int) -> Account:
        account = Account(f"{self._random.randrange(10**7, 10**8)}", kind, pence, 25_000 if kind == "Current" else 0)
        for row in reversed(range(28)):
            day = self.now.date() - timedelta(days=1 + 5 * row + self._random.randrange(4))
            at = time(self._random.randrange(7, 22), self._random.randrange(60))
            change = self._random.choice((-1, -1, -1, 1)) * self._random.randrange(180, 14_000)
            self._enter(account, datetime.combine(day, at, CARDIFF), change, self._random.choice(SHOPS), "Card")
        return account

    def _enter(self, account: Account, at: datetime, pence: int, text: str, category: str) -> None:
        entry = {"TransactionId": f"TX{self._random.randrange(10**11):011}", "BookingDateTime": at.isoformat()}
        account.entries.append({**entry, **write_money(pence), "Description": text, "Category": category})

    def _advance(self) -> None:
        for consent in self._consents.values():
            patience = consent.made + timedelta(minutes=15)
            if consent.status == "AWAITING_SIGN_IN" and patience <= self.clock.now:
                consent.status, consent.updated = "TIMED_OUT", patience
            if consent.status in ("AUTHORISED", "IN_USE") and consent.ends and consent.ends < self.clock.now:
                consent.status, consent.updated = "EXPIRED", consent.ends
        for payment in self._payments.values():
            first = timedelta(minutes=10) if payment.consent.pence >= HELD else timedelta(seconds=30)
            settling, settled = payment.made + first, payment.made + first + timedelta(minutes=2)
            if payment.status in ("OnHold", "Received") and settling <= self.clock.now:
                payment.status, payment.updated = "Settling", settling
            if payment.status == "Settling" and settled <= self.clock.now:
                payment.status, payment.updated = "Settled", settled
                payment.payer.pence -= payment.consent.pence
                text, pence = payment.consent.details["Initiation"]["Reference"], payment.consent.pence
                self._enter(payment.payer, settled.astimezone(CARDIFF), -pence, text, "FasterPayment")

    def _give_token(self, request: Request) -> Response:
        secret = base64.b64encode(f"{APP['id']}:{APP['secret']}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {secret}":
            return respond(401, {"error": "invalid_client"}, {"WWW-Authenticate": 'Basic realm="taff"'})
        kind, consent = request.field("grant_type"), None
        if kind == "authorization_code":
            consent, ends = self._codes.pop(request.field("code"), (None, self.clock.now))
            is_fresh = ends > self.clock.now and request.field("redirect_uri") == APP["back"]
            if not consent or not is_fresh or consent.status != "AUTHORISED":
                return respond(400, {"error": "invalid_grant"})
            consent.status, consent.updated = "IN_USE", self.clock.now
        elif kind != "client_credentials":
            return respond(400, {"error": "unsupported_grant_type"})
        token, life = self._word(40), 1800 if consent else 3600
        self._grants[token] = self.clock.now + timedelta(seconds=life), consent
        document = {"access_token": token, "token_type": "Bearer", "expires_in": life}
        return respond(200, document | ({"consent_id": consent.id} if consent else {}), {"Cache-Control": "no-store"})

    def _grant(self, request: Request, is_customer: bool = False) -> Consent | None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        ends, consent = self._grants.get(token, (self.clock.now, None))
        if scheme != "Bearer" or ends <= self.clock.now:
            raise Fault(401, "TF.Token.Invalid")
        if is_customer != bool(consent):
            raise Fault(403, "TF.Token.NotForThis")
        return consent

    def _body(self, request: Request) -> dict[str, Any]:
        self._grant(request)
        try:
            document = request.document
        except ValueError:
            document = {}
        if not isinstance(document.get("Data"), dict):
            raise Fault(400, "TF.Body.Malformed")
        if not isinstance(document.get("Risk"), dict):
            raise Fault(400, "TF.Field.Missing", "Risk")
        return document

    def _tell(self, request: Request, status: int, thing: Consent | Payment) -> Response:
        links = {"Self": request.origin + request.path + ("" if thing.id in request.path else f"/{thing.id}")}
        made, updated = (moment.astimezone(CARDIFF).isoformat() for moment in (thing.made, thing.updated))
        times = {"CreationDateTime": made, "StatusUpdateDateTime": updated}
        if isinstance(thing, Payment):
            data = {"PaymentId": thing.id, "ConsentId": thing.consent.id, "PaymentStatus": thing.status, **times}
            return respond(status, {"Data": data | thing.consent.details, "Links": links, "Meta": {}})
        if thing.status == "AWAITING_SIGN_IN":
            links["SignIn"] = f"{request.origin}/mewngofnodi/{thing.ticket}"
        data = {"ConsentId": thing.id, "ConsentStatus": thing.status, **times, **thing.details}
        return respond(status, {"Data": data, "Risk": thing.risk, "Links": links, "Meta": {}})

    def _make(self, kind: str, details: dict[str, Any], risk: dict[str, Any], **more: Any) -> Consent:
        now, id = self.clock.now, f"urn-taff-{kind}-{self._word(12)}"
        places = sorted(self._random.sample(range(1, 10), 3))
        consent = Consent(id, details, risk, now, now, self._word(22), places, **more)
        self._consents[id] = self._tickets[consent.ticket] = consent
        return consent

    def _ask_accounts(self, request: Request) -> Response:
        document, today = self._body(request), self.now.date()
        asked = document["Data"].get("Permissions")
        if not isinstance(asked, list) or not asked or not all(one in PERMISSIONS for one in asked):
            raise Fault(400, "TF.Field.Invalid", "Data.Permissions")
        try:
            last = date.fromisoformat(document["Data"].get("ExpirationDate", (today + timedelta(days=90)).isoformat()))
        except (TypeError, ValueError):
            last = date.min
        if not today <= last <= today + timedelta(days=180):
            raise Fault(400, "TF.Field.Invalid", "Data.ExpirationDate")
        ends = datetime.combine(last, time(23, 59, 59), CARDIFF)
        details = {"Permissions": asked, "ExpirationDateTime": ends.isoformat()}
        return self._tell(request, 201, self._make("aac", details, document["Risk"], ends=ends.astimezone(UTC)))

    def _consent(self, request: Request, id: str) -> Consent:
        self._grant(request)
        consent = self._consents.get(id)
        if not consent or bool(consent.payer) != ("/pis/" in request.path):
            raise Fault(404, "TF.Resource.NotFound")
        return consent

    def _revoke(self, request: Request, id: str) -> Response:
        consent = self._consent(request, id)
        if consent.status not in ("AWAITING_SIGN_IN", "AUTHORISED", "IN_USE"):
            raise Fault(409, "TF.Consent.WrongStatus")
        consent.status, consent.updated = "REVOKED", self.clock.now
        return Response(204)

    def _shared(self, request: Request, permission: str) -> dict[str, Account]:
        consent = self._grant(request, is_customer=True)
        if not consent or not consent.customer or consent.status != "IN_USE":
            raise Fault(403, "TF.Consent.NotInUse")
        if permission not in consent.details["Permissions"]:
            raise Fault(403, "TF.Consent.NoPermission")
        seeds = [(f"{consent.id} {one.number}".encode(), one) for one in consent.customer.accounts]
        return {hashlib.sha256(seed).hexdigest()[:20]: one for seed, one in seeds}

    def _find(self, request: Request, id: str, permission: str) -> Account:
        if account := self._shared(request, permission).get(id):
            return account
        raise Fault(403, "TF.Account.NotCovered")

    def _tell_page(self, request: Request, name: str, rows: list[Entry], start: int = 0, size: int = 50) -> Response:
        links = {"Self": request.origin + request.path}
        if start + size < len(rows):
            token = self._word(28)
            self._pages[request.path, token] = rows, start + size, size
            links["Next"] = f"{links['Self']}?page-token={token}"
        meta = {"TotalPages": max(1, -(-len(rows) // size)), "TotalRecords": len(rows)}
        return respond(200, {"Data": {name: rows[start : start + size]}, "Links": links, "Meta": meta})

    def _list_accounts(self, request: Request) -> Response:
        rows: list[Entry] = []
        for id, one in self._shared(request, "ReadAccounts").items():
            row = {"AccountId": id, "AccountKind": one.kind, "Currency": "GBP"}
            rows.append(row | {"SortCode": SORT_CODE, "AccountNumber": one.number})
        return self._tell_page(request, "Accounts", rows)

    def _usable(self, account: Account) -> int:
        way = [one for one in self._payments.values() if one.status in ("OnHold", "Received", "Settling")]
        return account.pence + account.overdraft - sum(one.consent.pence for one in way if one.payer is account)

    def _list_balances(self, request: Request, id: str) -> Response:
        account = self._find(request, id, "ReadBalances")
        rows: list[Entry] = []
        for kind, pence in (("Cleared", account.pence), ("Usable", self._usable(account))):
            rows.append({"AccountId": id, "Type": kind, **write_money(pence), "DateTime": self.now.isoformat()})
        rows[1]["CreditLine"] = {"Included": bool(account.overdraft), "Amount": f"{account.overdraft / 100:.2f}"}
        return self._tell_page(request, "Balances", rows)

    def _list_entries(self, request: Request, id: str) -> Response:
        account = self._find(request, id, "ReadTransactions")
        if token := request.query.get("page-token"):
            if not (page := self._pages.get((request.path, token))):
                raise Fault(400, "TF.Field.Invalid", "page-token")
            return self._tell_page(request, "Transactions", *page)
        today, period = self.now.date(), []
        for name, days in (("fromBookingDate", -90), ("toBookingDate", 1)):
            usual = (today + timedelta(days=days)).isoformat()
            try:
                period.append(date.fromisoformat(request.query.get(name, usual)).isoformat())
            except ValueError:
                raise Fault(400, "TF.Field.Invalid", name) from None
        text = request.query.get("page-size", "25")
        if not text.isdecimal() or not 1 <= int(text) <= 50:
            raise Fault(400, "TF.Field.Invalid", "page-size")
        rows = [one for one in account.entries if period[0] <= one["BookingDateTime"][:10] < period[1]]
        return self._tell_page(request, "Transactions", rows, size=int(text))

    def _once(self, request: Request, make: Callable[[dict[str, Any]], Consent | Payment]) -> Response:
        document, key = self._body(request), (request.path, request.headers.get("x-idempotency-key", ""))
        if not key[1]:
            raise Fault(400, "TF.Header.Missing", "x-idempotency-key")
        if key in self._keys:
            before, thing = self._keys[key]
            if before != document:
                raise Fault(409, "TF.IdempotencyKey.Reused", "x-idempotency-key")
            return self._tell(request, 200, thing)
        thing = make(document)
        self._keys[key] = document, thing
        return self._tell(request, 201, thing)

    def _ask_payment(self, document: dict[str, Any]) -> Consent:
        initiation = document["Data"].get("Initiation")
        for place, form in FORMS.items():
            value: Any = initiation
            for part in place.split("."):
                value = value.get(part) if isinstance(value, dict) else None
            if not isinstance(value, str) or not re.fullmatch(form, value):
                word = "TF.Field.Missing" if value is None else "TF.Field.Invalid"
                raise Fault(400, word, f"Data.Initiation.{place}")
        pence = int(initiation["InstructedAmount"]["Amount"].replace(".", ""))
        if pence > LIMIT:
            raise Fault(400, "TF.Amount.AboveLimit", "Data.Initiation.InstructedAmount.Amount")
        number, payee = initiation["DebtorAccount"]["AccountNumber"], initiation["CreditorAccount"]
        payer = next((one for who in self._customers for one in who.accounts if one.number == number), None)
        if not payer:
            raise Fault(400, "TF.Field.Invalid", "Data.Initiation.DebtorAccount.AccountNumber")
        way = number, payee["SortCode"], payee["AccountNumber"]
        consent = self._make("dpc", {"Initiation": initiation}, document["Risk"], payer=payer, pence=pence, way=way)
        if way in self._trusted and pence <= TRUSTED:
            consent.status = "AUTHORISED"
            consent.details["SCAExemption"] = "TrustedPayee"
        return consent

    def _check_funds(self, request: Request, id: str) -> Response:
        consent = self._consent(request, id)
        if consent.status != "AUTHORISED" or not consent.payer:
            raise Fault(409, "TF.Consent.WrongStatus")
        data = {"FundsAvailable": "Y" if consent.pence <= self._usable(consent.payer) else "N"}
        return respond(200, {"Data": data, "Links": {"Self": request.origin + request.path}, "Meta": {}})

    def _pay(self, document: dict[str, Any]) -> Payment:
        consent = self._consents.get(str(document["Data"].get("ConsentId")))
        if not consent or not consent.payer or consent.status != "AUTHORISED":
            raise Fault(409, "TF.Consent.WrongStatus", "Data.ConsentId")
        if document["Data"].get("Initiation") != consent.details["Initiation"]:
            raise Fault(400, "TF.Initiation.Differs", "Data.Initiation")
        status = "OnHold" if consent.pence >= HELD else "Received"
        if consent.pence > self._usable(consent.payer):
            status = "Rejected"
        self._number += 1
        id, now = f"FPS{self.now:%Y%m%d}-{self._number:06}", self.clock.now
        payment = self._payments[id] = Payment(id, consent, consent.payer, now, now, status)
        consent.status, consent.updated = "CONSUMED", now
        return payment

    def _payment(self, request: Request, id: str) -> Payment:
        self._grant(request)
        if payment := self._payments.get(id):
            return payment
        raise Fault(404, "TF.Resource.NotFound")

    def _recall(self, request: Request, id: str) -> Response:
        payment = self._payment(request, id)
        if payment.status not in ("OnHold", "Received"):
            raise Fault(409, "TF.Payment.TooLate")
        payment.status, payment.updated = "Recalled", self.clock.now
        return self._tell(request, 200, payment)

    def _page(self, request: Request, ticket: str, hint: str = "", status: int = 200) -> Response:
        consent = self._tickets.get(ticket)
        if not consent or consent.status != "AWAITING_SIGN_IN":
            return show(410, "Taff", "<p>You have been here already, or too much time has passed.</p>")
        if request.query.get("redirect_uri") != APP["back"] or not request.query.get("state"):
            return show(400, "Taff", "<p>Something is wrong with the app that sent you here.</p>")
        fields = '<label>User ID <input name="userId"></label>'
        if consent.payer:
            payee = escape(consent.details["Initiation"]["CreditorAccount"]["Name"])
            asked = f"Ledgerlane asks you to pay £{consent.pence / 100:.2f} to {payee}."
            fields += '<label>Payment PIN <input name="paymentPin" type="password"></label>'
            fields += '<label><input name="trustPayee" type="checkbox" value="yes"> Trust this payee</label>'
        else:
            rights = ", ".join(consent.details["Permissions"]).replace("Read", "").lower()
            asked = f"Ledgerlane asks to see your {rights}."
            for row, place in enumerate(consent.places, 1):
                fields += f'<input type="hidden" name="position" value="{place}"><label>Character {place} of your '
                fields += f'memorable word <input name="character{row}" type="password" maxlength="1"></label>'
        buttons = "".join(f'<button name="action" value="{word}">{word}</button>' for word in ("confirm", "cancel"))
        return show(status, "Taff", f'<p>{hint}</p><p>{asked}</p><form method="post">{fields}{buttons}</form>')

    def _return(self, request: Request, consent: Consent, status: str, **outcome: str) -> Response:
        consent.status, consent.updated = status, self.clock.now
        query = urlencode({**outcome, "state": request.query["state"]})
        return Response(302, "", {"Location": f"{request.query['redirect_uri']}?{query}"})

    def _sign(self, request: Request, ticket: str) -> Response:
        page = self._page(request, ticket)
        if page.status != 200:
            return page
        consent = self._tickets[ticket]
        if request.field("action") == "cancel":
            return self._return(request, consent, "DECLINED", error="access_denied", error_description="cancelled")
        given = "".join(request.field(f"character{row}") for row in (1, 2, 3)).lower()
        for customer in self._customers:
            letters = "".join(customer.word[place - 1] for place in consent.places)
            is_right = request.field("paymentPin") == customer.pin if consent.payer else given == letters
            if customer.user == request.field("userId").upper() and is_right:
                break
        else:
            consent.mistakes += 1
            if consent.mistakes == 3:
                return self._return(request, consent, "DECLINED", error="access_denied", error_description="locked")
            return self._page(request, ticket, f"This does not match our records. Tries left: {3 - consent.mistakes}.")
        if not consent.payer:
            consent.customer, code = customer, self._word(24)
            self._codes[code] = consent, self.clock.now + timedelta(minutes=1)
            return self._return(request, consent, "AUTHORISED", code=code)
        if consent.payer not in customer.accounts:
            return self._page(request, ticket, "You cannot pay from this account.", 403)
        if request.field("trustPayee") == "yes":
            self._trusted.add(consent.way)
        return self._return(request, consent, "AUTHORISED", consent_id=consent.id)
