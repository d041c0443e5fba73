"""Mures, a Romanian bank that follows Berlin Group's NextGenPSD2 1.3 where its engineers found that convenient.

- Every request below `/psd2/v1` has X-Request-ID (a UUID, repeated in the answer) and the app's X-Client-ID.
- `_links.scaOAuth` is the address of the page, to which the app adds the usual query of OAuth, with PKCE and a scope:
  AIS:<consentId> or PIS:<paymentId>. A page sends a ticket, `utilizator`, `parola` and `decizie` to `/oauth/login`. A
  wrong password gives the page again, a third one ends it like a refusal.
- A decision makes a consent `authorised` and a payment AUTH. They become `valid` and ACSP only when the app redeems the
  code at `/oauth/token`, within five minutes. A token lasts ten minutes. Only a consent has a refresh token, which is
  good once. What the customer leaves for 15 minutes is `abandoned` or RJCT.
- A consent is for all accounts. It lasts 90 days at most; a later `validUntil` is cut, with a warning.
- Reads without PSU-IP-Address count, by address and day, up to `frequencyPerDay`, which is 1 to 4.
- Amounts of transactions have no sign, but `creditDebitIndicator`. Lists need bookingStatus and dateFrom, which reaches
  back 90 days, and have pages of up to 20.
- Payments are in RON and cost a fee of their own entry. Those to the treasury need `creditorFiscalCode`. The status is
  free to read, but the payment needs its token. An instant payment is ACSC at once, another one after eight minutes.
- DELETE cancels a payment without the customer, until its code is redeemed. A rejected one has a `reasonCode`.
"""

import base64
import hashlib
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from tests.foreign_banks.nextgen import in_cents, is_iban
from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

ROOT = "/psd2/v1"
APPS = {"banut-mobil": ("vreau-la-munte", "https://banut.example/inapoi")}
FEES = {"domestic-credit-transfers": 250, "instant-credit-transfers": 500}
LIMITS = {"domestic-credit-transfers": 25_000_000, "instant-credit-transfers": 5_000_000}
SHOPS = "Librăria Cetatea|Farmacia Teilor|Mega Piață|Apă Canal Mureș|Cafeneaua Veche|Metrou București".split("|")
MINUTE = timedelta(minutes=1)
PATIENCE = {"received": 15, "RCVD": 15, "authorised": 5, "AUTH": 5}
"""Minutes until the bank gives up."""
TEXTS = {
    "ACCESS_EXCEEDED": "The consent's reads of this day are used up",
    "ACCESS_NOT_SUPPORTED": "Only allPsd2 with allAccounts is supported",
    "AMOUNT_INVALID": "The amount has two decimals and is above zero",
    "AMOUNT_LIMIT_EXCEEDED": "The amount is above the limit of the payment product",
    "CLIENT_INVALID": "The client is unknown",
    "CONSENT_INVALID": "The consent is not valid",
    "CONSENT_TOKEN_MISMATCH": "The token belongs to another consent or payment",
    "CONSENT_UNKNOWN": "The consent is unknown",
    "CREDITOR_IBAN_INVALID": "The creditor needs a valid Romanian IBAN",
    "CURRENCY_NOT_SUPPORTED": "Payments are in RON",
    "DEBTOR_UNKNOWN": "The debtor's account is unknown",
    "FISCAL_CODE_MISSING": "Payments to the treasury need a fiscal code",
    "FORMAT_ERROR": "The value has a wrong format",
    "HISTORY_LIMIT": "Transactions reach back 90 days",
    "MANDATORY_MISSING": "The request lacks something",
    "METHOD_NOT_ALLOWED": "The method is not allowed",
    "PAYMENT_NOT_CANCELLABLE": "The payment can not be cancelled any more",
    "PERIOD_INVALID": "The period is invalid",
    "PRODUCT_UNKNOWN": "The payment product is unknown",
    "RESOURCE_UNKNOWN": "The resource is unknown",
    "SESSIONS_NOT_SUPPORTED": "Combined services are not supported",
    "TOKEN_EXPIRED": "The token has expired",
    "TOKEN_MISSING": "Send a token",
    "TOKEN_UNKNOWN": "The token is unknown",
}


@dataclass
class Account:
    id: str
    iban: str
    product: str
    bani: int
    booked: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    login: str
    password: str
    name: str
    accounts: Sequence[Account]


@dataclass
class Thing:
    """A consent or a payment. `product` is empty for a consent."""

    id: str
    app: str
    product: str
    document: dict[str, Any]
    status: str
    since: datetime
    customer: Customer | None = None
    reason: str = ""
    reads: Counter[tuple[str, date]] = field(default_factory=Counter)

    @property
    def scope(self) -> str:
        return f"{'PIS' if self.product else 'AIS'}:{self.id}"

    @property
    def bani(self) -> int:
        return in_cents(self.document["instructedAmount"]["amount"])

    @property
    def total(self) -> int:
        return self.bani + FEES[self.product]


@dataclass
class Ticket:
    """What a page, and then a code, is for."""

    thing: Thing
    redirect: str
    state: str
    challenge: str
    mistakes: int = 0


def write(bani: int) -> dict[str, str]:
    return {"currency": "RON", "amount": f"{bani / 100:.2f}"}


def make_iban(bank: str, number: str) -> str:
    digits = "".join(str(int(sign, 36)) for sign in bank + number + "RO00")
    return f"RO{98 - int(digits) % 97:02}{bank}{number}"


def read_day(text: Any, place: str) -> date:
    try:
        return date.fromisoformat(text)
    except (TypeError, ValueError):
        raise Fault(400, "FORMAT_ERROR", place) from None


class Mures:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"mures {seed}")
        self._things: dict[str, Thing] = {}
        self._tickets: dict[str, Ticket] = {}
        self._codes: dict[str, Ticket] = {}
        self._tokens: dict[str, tuple[Thing, datetime]] = {}
        self._refreshers: dict[str, Thing] = {}
        self._customers = [
            Customer(
                "ioana.popa",
                "Toamna!2019",
                "POPA IOANA",
                [self._open("4410027701", "Cont curent", 912_340), self._open("4410027702", "Economii", 2_500_000)],
            ),
            Customer(
                "mihai.stan",
                "Retezat#2509",
                "STAN MIHAI",
                [
                    self._open("4410093511", "Economii", 640_000),
                    self._open("4410093512", "Cont curent", 1_284_075),
                    self._open("4410093513", "Cont comun", 355_580),
                ],
            ),
        ]
        consent, account, payment = "/consents/{id}", "/accounts/{id}", "/payments/{product}/{id}"
        self._routes = Routes(
            ("GET", "/oauth/authorize", self._page),
            ("POST", "/oauth/login", self._decide),
            ("POST", "/oauth/token", self._give_token),
            ("POST", ROOT + "/consents", self._create_consent),
            ("GET", ROOT + consent, self._show_consent),
            ("GET", ROOT + consent + "/status", self._consent_status),
            ("DELETE", ROOT + consent, self._end_consent),
            ("GET", ROOT + "/accounts", self._list_accounts),
            ("GET", ROOT + account, self._show_account),
            ("GET", ROOT + account + "/balances", self._balances),
            ("GET", ROOT + account + "/transactions", self._transactions),
            ("POST", ROOT + "/payments/{product}", self._create_payment),
            ("GET", ROOT + payment, self._show_payment),
            ("GET", ROOT + payment + "/status", self._payment_status),
            ("DELETE", ROOT + payment, self._cancel),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            if request.path.startswith(ROOT):
                self._check_headers(request)
            return handler(request, **parameters)
        except NoRoute as wrong:
            fault = Fault(405, "METHOD_NOT_ALLOWED") if wrong.allowed else Fault(404, "RESOURCE_UNKNOWN")
        except Fault as raised:
            fault = raised
        message = {"category": "ERROR", "code": fault.word, "text": TEXTS[fault.word]}
        if fault.place:
            message["path"] = fault.place
        return self._say(
            request, fault.status, {"tppMessages": [message], "traceId": self._sign(16, "0123456789abcdef")}
        )

    def _sign(self, length: int, signs: str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _say(self, request: Request, status: int, document: Any, headers: Mapping[str, str] | None = None) -> Response:
        sent = {"X-Request-ID": request.headers.get("x-request-id", ""), **(headers or {})}
        return Response(204, "", sent) if status == 204 else respond(status, document, sent)

    def _check_headers(self, request: Request) -> None:
        try:
            UUID(self._header(request, "X-Request-ID"))
        except ValueError:
            raise Fault(400, "FORMAT_ERROR", "X-Request-ID") from None
        if self._header(request, "X-Client-ID") not in APPS:
            raise Fault(401, "CLIENT_INVALID", "X-Client-ID")

    def _header(self, request: Request, name: str) -> str:
        if not (value := request.headers.get(name.lower())):
            raise Fault(400, "MANDATORY_MISSING", name)
        return value

    def _body(self, request: Request, *required: str) -> dict[str, Any]:
        try:
            document = request.document
        except ValueError:
            raise Fault(400, "FORMAT_ERROR", "body") from None
        for name in required:
            if name not in document:
                raise Fault(400, "MANDATORY_MISSING", name)
        return document

    def _open(self, number: str, product: str, bani: int) -> Account:
        account = Account(self._sign(9, "0123456789"), make_iban("MURE", f"000000{number}"), product, bani)
        for days in sorted(self._random.sample(range(1, 86), 27), reverse=True):
            amount = self._random.choice((-1, -1, -1, 1)) * self._random.randrange(300, 45_000)
            day = self.clock.today - timedelta(days=days)
            self._enter(account, day, amount, self._random.choice(SHOPS), f"Plata POS {self._sign(6)}", "POS")
        return account

    def _row(self, bani: int, who: str, text: str, kind: str) -> dict[str, Any]:
        return {
            "transactionAmount": write(abs(bani)),
            "creditDebitIndicator": "DBIT" if bani < 0 else "CRDT",
            "creditorName" if bani < 0 else "debtorName": who,
            "remittanceInformationUnstructured": text,
            "transactionType": kind,
        }

    def _enter(self, account: Account, day: date, bani: int, who: str, text: str, kind: str) -> None:
        days = {"bookingDate": day.isoformat(), "valueDate": day.isoformat()}
        account.booked.insert(0, {"transactionId": self._sign(14), **days, **self._row(bani, who, text, kind)})

    def _advance(self) -> None:
        for thing in self._things.values():
            passed = self.clock.now - thing.since
            if thing.status in PATIENCE and passed >= PATIENCE[thing.status] * MINUTE:
                self._turn(thing, "RJCT" if thing.product else "abandoned", "TM01")
            elif thing.status == "ACSP" and passed >= 8 * MINUTE:
                self._book(thing)
            elif thing.status == "valid" and thing.document["validUntil"] < self.clock.today.isoformat():
                self._turn(thing, "expired")

    def _turn(self, thing: Thing, status: str, reason: str = "") -> None:
        thing.status, thing.reason, thing.since = status, reason, self.clock.now

    def _book(self, payment: Thing) -> None:
        account, document, today = self._payer(payment), payment.document, self.clock.today
        name, text = document["creditorName"], document["remittanceInformationUnstructured"]
        account.bani -= payment.total
        self._enter(account, today, -payment.bani, name, text, "TRANSFER")
        self._enter(account, today, -FEES[payment.product], "Banca Mures", f"Comision {payment.id}", "FEE")
        self._turn(payment, "ACSC")

    # OAuth

    def _page(self, request: Request) -> Response:
        query, thing = request.query, self._things.get(request.query.get("scope", "")[4:])
        app = query.get("client_id", "")
        if app not in APPS or query.get("redirect_uri") != APPS[app][1] or query.get("response_type") != "code":
            return show(400, "Cerere invalidă", "<p>Aplicația nu este cunoscută.</p>")
        if query.get("code_challenge_method") != "S256" or not query.get("code_challenge"):
            return show(400, "Cerere invalidă", "<p>Lipsește code_challenge.</p>")
        if not thing or thing.app != app or thing.scope != query["scope"] or thing.status not in ("received", "RCVD"):
            return show(410, "Cerere închisă", "<p>Nu mai este nimic de aprobat.</p>")
        ticket = self._sign(24)
        self._tickets[ticket] = Ticket(thing, query["redirect_uri"], query.get("state", ""), query["code_challenge"])
        return self._form(ticket)

    def _form(self, ticket: str, note: str = "") -> Response:
        thing = self._tickets[ticket].thing
        asked = (
            f"acces la conturi până la {thing.document['validUntil']}"
            if not thing.product
            else (f"plata de {thing.document['instructedAmount']['amount']} RON către {thing.document['creditorName']}")
        )
        return show(
            200,
            "Banca Mures - Autentificare",
            f'<p>{thing.app} cere {asked}.</p><p>{note}</p><form method="post" action="/oauth/login">'
            f'<input type="hidden" name="ticket" value="{ticket}"><input name="utilizator">'
            '<input name="parola" type="password"><button name="decizie" value="accept">Accept</button>'
            '<button name="decizie" value="refuz">Refuz</button></form>',
        )

    def _decide(self, request: Request) -> Response:
        ticket = self._tickets.get(request.field("ticket"))
        if not ticket or ticket.thing.status not in ("received", "RCVD"):
            return show(410, "Cerere închisă", "<p>Nu mai este nimic de aprobat.</p>")
        name, password, thing = request.field("utilizator"), request.field("parola"), ticket.thing
        customer = next((one for one in self._customers if (one.login, one.password) == (name, password)), None)
        if not customer:
            ticket.mistakes += 1
            if ticket.mistakes < 3:
                return self._form(request.field("ticket"), "Utilizator sau parolă greșită.")
        is_owner = customer and (not thing.product or self._payer(thing) in customer.accounts)
        if not is_owner or request.field("decizie") != "accept":
            self._turn(thing, "RJCT" if thing.product else "rejected", "DS02" if is_owner else "AG01")
            return self._send_back(ticket, error="access_denied")
        thing.customer = customer
        self._turn(thing, "AUTH" if thing.product else "authorised")
        code = self._sign(20)
        self._codes[code] = ticket
        return self._send_back(ticket, code=code)

    def _send_back(self, ticket: Ticket, **query: str) -> Response:
        if ticket.state:
            query["state"] = ticket.state
        return Response(302, "", {"Location": f"{ticket.redirect}?{urlencode(query)}"})

    def _give_token(self, request: Request) -> Response:
        app = request.field("client_id")
        if app not in APPS or APPS[app][0] != request.field("client_secret"):
            return respond(401, {"error": "invalid_client", "error_description": "Client authentication failed"})
        kind = request.field("grant_type")
        if kind not in ("authorization_code", "refresh_token"):
            return respond(400, {"error": "unsupported_grant_type", "error_description": "Unknown grant type"})
        thing = self._redeem(request) if kind == "authorization_code" else self._refreshed(request)
        if not thing or thing.app != app:
            return respond(400, {"error": "invalid_grant", "error_description": f"Invalid or used {kind}"})
        if thing.status == "authorised":
            self._turn(thing, "valid")
        elif thing.status == "AUTH":
            self._execute(thing)
        token, ends = self._sign(40), self.clock.now + 10 * MINUTE
        self._tokens[token] = thing, ends
        document = {"access_token": token, "token_type": "Bearer", "expires_in": 600, "scope": thing.scope}
        if not thing.product:
            document["refresh_token"] = refresher = self._sign(40)
            self._refreshers[refresher] = thing
        return respond(200, document, {"Cache-Control": "no-store"})

    def _redeem(self, request: Request) -> Thing | None:
        ticket = self._codes.pop(request.field("code"), None)
        digest = hashlib.sha256(request.field("code_verifier").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if not ticket or (ticket.challenge, ticket.redirect) != (challenge, request.field("redirect_uri")):
            return None
        return ticket.thing if ticket.thing.status in ("authorised", "AUTH") else None

    def _refreshed(self, request: Request) -> Thing | None:
        thing = self._refreshers.pop(request.field("refresh_token"), None)
        return thing if thing and thing.status == "valid" else None

    def _execute(self, payment: Thing) -> None:
        if self._available(self._payer(payment)) < payment.total:
            self._turn(payment, "RJCT", "AM04")
        elif payment.product.startswith("instant"):
            self._book(payment)
        else:
            self._turn(payment, "ACSP")

    def _authorised(self, request: Request) -> Thing:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer":
            raise Fault(401, "TOKEN_MISSING", "Authorization")
        if token not in self._tokens:
            raise Fault(401, "TOKEN_UNKNOWN", "Authorization")
        thing, ends = self._tokens[token]
        if ends <= self.clock.now:
            raise Fault(401, "TOKEN_EXPIRED", "Authorization")
        return thing

    # Consents

    def _oauth(self, request: Request, path: str) -> dict[str, Any]:
        links = {"scaOAuth": f"{request.origin}/oauth/authorize", "self": path, "status": f"{path}/status"}
        return {name: {"href": href} for name, href in links.items()}

    def _create_consent(self, request: Request) -> Response:
        document = self._body(request, "access", "recurringIndicator", "validUntil", "frequencyPerDay")
        if document["access"] != {"allPsd2": "allAccounts"}:
            raise Fault(400, "ACCESS_NOT_SUPPORTED", "access")
        if document.get("combinedServiceIndicator"):
            raise Fault(400, "SESSIONS_NOT_SUPPORTED", "combinedServiceIndicator")
        if document["frequencyPerDay"] not in (1, 2, 3, 4):
            raise Fault(400, "FORMAT_ERROR", "frequencyPerDay")
        until, latest = read_day(document["validUntil"], "validUntil"), self.clock.today + timedelta(days=90)
        if until < self.clock.today:
            raise Fault(400, "PERIOD_INVALID", "validUntil")
        names = ("access", "recurringIndicator", "frequencyPerDay")
        kept = {name: document[name] for name in names} | {"validUntil": min(until, latest).isoformat()}
        app = request.headers["x-client-id"]
        consent = Thing(f"MC{self._sign(14)}", app, "", kept, "received", self.clock.now)
        self._things[consent.id] = consent
        path = f"{ROOT}/consents/{consent.id}"
        told: dict[str, Any] = {"consentStatus": "received", "consentId": consent.id, "validUntil": kept["validUntil"]}
        if until > latest:
            text = "The consent ends after 90 days"
            told["tppMessages"] = [{"category": "WARNING", "code": "VALIDITY_SHORTENED", "text": text}]
        told["_links"] = self._oauth(request, path)
        return self._say(request, 201, told, {"Location": path, "ASPSP-SCA-Approach": "REDIRECT"})

    def _consent(self, request: Request, id: str) -> Thing:
        consent = self._things.get(id)
        if not consent or consent.product or consent.app != request.headers["x-client-id"]:
            raise Fault(404, "CONSENT_UNKNOWN", "consentId")
        return consent

    def _show_consent(self, request: Request, id: str) -> Response:
        consent = self._consent(request, id)
        told = {"consentStatus": consent.status, **consent.document}
        told["lastActionDate"] = consent.since.date().isoformat()
        if consent.customer:
            told["accountCount"] = len(consent.customer.accounts)
        return self._say(request, 200, told)

    def _consent_status(self, request: Request, id: str) -> Response:
        return self._say(request, 200, {"consentStatus": self._consent(request, id).status})

    def _end_consent(self, request: Request, id: str) -> Response:
        consent = self._consent(request, id)
        if consent.status not in ("received", "authorised", "valid"):
            raise Fault(409, "CONSENT_INVALID", "consentId")
        self._turn(consent, "terminatedByTpp")
        return self._say(request, 204, None)

    # Accounts

    def _access(self, request: Request) -> tuple[Thing, Customer]:
        thing, id = self._authorised(request), self._header(request, "Consent-ID")
        if thing.id != id:
            raise Fault(401, "CONSENT_TOKEN_MISMATCH", "Consent-ID")
        if thing.status != "valid" or not thing.customer:
            raise Fault(401, "CONSENT_INVALID", "Consent-ID")
        return thing, thing.customer

    def _count(self, request: Request, consent: Thing) -> None:
        if "psu-ip-address" not in request.headers:
            read = request.path, self.clock.today
            if consent.reads[read] >= consent.document["frequencyPerDay"]:
                raise Fault(429, "ACCESS_EXCEEDED", "Consent-ID")
            consent.reads[read] += 1

    def _account(self, request: Request, id: str) -> tuple[Account, Customer]:
        consent, customer = self._access(request)
        account = next((account for account in customer.accounts if account.id == id), None)
        if not account:
            raise Fault(404, "RESOURCE_UNKNOWN", "account-id")
        self._count(request, consent)
        return account, customer

    def _describe(self, account: Account, customer: Customer) -> dict[str, Any]:
        own = f"{ROOT}/accounts/{account.id}"
        return {
            "resourceId": account.id,
            "iban": account.iban,
            "currency": "RON",
            "product": account.product,
            "ownerName": customer.name,
            "cashAccountType": "SVGS" if account.product == "Economii" else "CACC",
            "status": "enabled",
            "_links": {name: {"href": f"{own}/{name}"} for name in ("balances", "transactions")},
        }

    def _list_accounts(self, request: Request) -> Response:
        consent, customer = self._access(request)
        self._count(request, consent)
        return self._say(request, 200, {"accounts": [self._describe(one, customer) for one in customer.accounts]})

    def _show_account(self, request: Request, id: str) -> Response:
        return self._say(request, 200, {"account": self._describe(*self._account(request, id))})

    def _held(self, account: Account) -> list[Thing]:
        payments = (thing for thing in self._things.values() if thing.status == "ACSP")
        return [payment for payment in payments if self._payer(payment) is account]

    def _available(self, account: Account) -> int:
        return account.bani - sum(payment.total for payment in self._held(account))

    def _balances(self, request: Request, id: str) -> Response:
        account, _ = self._account(request, id)
        sums = (("interimBooked", account.bani), ("interimAvailable", self._available(account)))
        time = self.clock.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        balances = [
            {
                "balanceType": name,
                "balanceAmount": write(bani),
                "creditLimitIncluded": False,
                "lastChangeDateTime": time,
            }
            for name, bani in sums
        ]
        return self._say(request, 200, {"account": {"iban": account.iban}, "balances": balances})

    def _number(self, request: Request, name: str, usual: int, most: int) -> int:
        text = request.query.get(name, str(usual))
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise Fault(400, "FORMAT_ERROR", name)
        return int(text)

    def _transactions(self, request: Request, id: str) -> Response:
        account, _ = self._account(request, id)
        query, today = request.query, self.clock.today
        for name in ("bookingStatus", "dateFrom"):
            if name not in query:
                raise Fault(400, "MANDATORY_MISSING", name)
        wanted = query["bookingStatus"]
        if wanted not in ("booked", "pending", "both"):
            raise Fault(400, "FORMAT_ERROR", "bookingStatus")
        begin = read_day(query["dateFrom"], "dateFrom")
        end = read_day(query.get("dateTo", today.isoformat()), "dateTo")
        if begin > end:
            raise Fault(400, "PERIOD_INVALID", "dateFrom")
        if begin < today - timedelta(days=90):
            raise Fault(400, "HISTORY_LIMIT", "dateFrom")
        limit, page = self._number(request, "limit", 10, 20), self._number(request, "page", 1, 999)
        lists: dict[str, Any] = {}
        told: dict[str, Any] = {"account": {"iban": account.iban}, "transactions": lists}
        links = {"account": {"href": f"{ROOT}/accounts/{account.id}"}}
        if wanted != "pending":
            rows = [row for row in account.booked if begin.isoformat() <= row["bookingDate"] <= end.isoformat()]
            lists["booked"] = rows[(page - 1) * limit : page * limit]
            told["pageInfo"] = {"page": page, "limit": limit, "totalItems": len(rows)}
            if page * limit < len(rows):
                links["next"] = {"href": f"{request.path}?{urlencode({**query, 'page': str(page + 1)})}"}
        if wanted != "booked":
            lists["pending"] = [
                self._row(-held.bani, to["creditorName"], to["remittanceInformationUnstructured"], "TRANSFER")
                for held in self._held(account)
                for to in [held.document]
            ]
        lists["_links"] = links
        return self._say(request, 200, told)

    # Payments

    def _find(self, iban: Any) -> Account | None:
        accounts = (account for customer in self._customers for account in customer.accounts)
        return next((account for account in accounts if account.iban == iban), None)

    def _payer(self, payment: Thing) -> Account:
        account = self._find(payment.document["debtorAccount"]["iban"]) if payment.product else None
        assert account
        return account

    def _create_payment(self, request: Request, product: str) -> Response:
        if product not in FEES:
            raise Fault(404, "PRODUCT_UNKNOWN", "payment-product")
        names = (
            "debtorAccount",
            "instructedAmount",
            "creditorAccount",
            "creditorName",
            "remittanceInformationUnstructured",
        )
        document = self._body(request, *names)
        debtor, amount, creditor = (document[name] for name in names[:3])
        if not isinstance(debtor, dict) or not isinstance(amount, dict) or not isinstance(creditor, dict):
            raise Fault(400, "FORMAT_ERROR", "body")
        if amount.get("currency") != "RON":
            raise Fault(400, "CURRENCY_NOT_SUPPORTED", "instructedAmount.currency")
        try:
            bani = in_cents(amount.get("amount"))
        except ValueError:
            raise Fault(400, "AMOUNT_INVALID", "instructedAmount.amount") from None
        iban = creditor.get("iban")
        if not is_iban(iban) or not str(iban).startswith("RO"):
            raise Fault(400, "CREDITOR_IBAN_INVALID", "creditorAccount.iban")
        if str(iban)[4:8] == "TREZ" and not document.get("creditorFiscalCode"):
            raise Fault(400, "FISCAL_CODE_MISSING", "creditorFiscalCode")
        if not 1 <= len(str(document[names[4]])) <= 70:
            raise Fault(400, "FORMAT_ERROR", names[4])
        if not self._find(debtor.get("iban")):
            raise Fault(400, "DEBTOR_UNKNOWN", "debtorAccount.iban")
        if bani > LIMITS[product]:
            raise Fault(400, "AMOUNT_LIMIT_EXCEEDED", "instructedAmount.amount")
        kept = {name: document[name] for name in (*names, "creditorFiscalCode") if name in document}
        id = f"MP{self.clock.now:%y%m%d}{self._sign(6, '0123456789')}"
        payment = Thing(id, request.headers["x-client-id"], product, kept, "RCVD", self.clock.now)
        self._things[id] = payment
        path = f"{ROOT}/payments/{product}/{id}"
        told = {"transactionStatus": "RCVD", "paymentId": id, "transactionFees": write(FEES[product])}
        told["_links"] = self._oauth(request, path)
        return self._say(request, 201, told, {"Location": path, "ASPSP-SCA-Approach": "REDIRECT"})

    def _payment(self, request: Request, product: str, id: str) -> Thing:
        payment = self._things.get(id)
        if not payment or payment.product != product or payment.app != request.headers["x-client-id"]:
            raise Fault(404, "RESOURCE_UNKNOWN", "paymentId")
        return payment

    def _told(self, payment: Thing) -> dict[str, Any]:
        return {"transactionStatus": payment.status} | ({"reasonCode": payment.reason} if payment.reason else {})

    def _show_payment(self, request: Request, product: str, id: str) -> Response:
        payment = self._payment(request, product, id)
        if self._authorised(request) is not payment:
            raise Fault(401, "CONSENT_TOKEN_MISMATCH", "Authorization")
        told = {**self._told(payment), "paymentId": id, **payment.document}
        return self._say(request, 200, told | {"transactionFees": write(FEES[product])})

    def _payment_status(self, request: Request, product: str, id: str) -> Response:
        return self._say(request, 200, self._told(self._payment(request, product, id)))

    def _cancel(self, request: Request, product: str, id: str) -> Response:
        payment = self._payment(request, product, id)
        if payment.status not in ("RCVD", "AUTH"):
            raise Fault(409, "PAYMENT_NOT_CANCELLABLE", "paymentId")
        self._turn(payment, "CANC")
        return self._say(request, 204, None)
