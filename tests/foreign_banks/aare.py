"""Aarebank, a Swiss bank whose interface follows the habits of the SFTI Common API.

- POST `/oauth2/par` (Basic, PKCE with S256, `consent_valid_until` is a day) makes a consent: `requested`, then
  `active`, `refused`, `revoked` (by `/oauth2/revoke`) or `expired` (after ten minutes without a decision, or the day
  after `validUntil`). The `request_uri` opens the page once and within 90 seconds.
- The customer signs in at a page in German, ticks accounts and decides. A wrong password gives 200 and the form again.
- `/oauth2/token` gives an access token for 15 minutes and a refresh token, which each use replaces. OAuth's errors are
  `error` and `error_description`, its members are in snake case; all others are camelCase and problem+json.
- A token shows only what its consent has: accounts that are not ticked give 404, other scopes 403.
- Times are Swiss local times with offset, days are Swiss days. Amounts are unsigned, with `creditDebit` beside them.
- Transactions are oldest first, each with the balance after it. Lists take `limit` (1 to 100) and `offset`.
- An order is checked first: POST `/pis/v2/order-validations` gives a `validationId` for ten minutes. What is wrong is
  422 with `violations`; what the bank tolerates or changes are `findings` of an answer 200: a lack of funds, and a
  weekend, which moves to Monday. IBANs are Swiss or of Liechtenstein; a QR-IBAN needs a QR reference.
- POST `/pis/v2/payment-orders` with only the `validationId` submits it, once: again gives 409 with the order's id.
- The order has no link: it is `awaitingSignature` for 30 minutes, then `expired`. The customer signs or refuses it in
  e-banking, under a session in a cookie. The app polls.
- Without a day an order is instant: `inExecution` when signed, `executed` after 20 seconds. With a day it is
  `scheduled` until 6 o'clock of that day and executed ten minutes later. Only what is in execution lowers the
  available balance, which has the credit limit in it; what is not covered then is `rejected` with AM04.
- DELETE makes an order `cancelled` while it waits for a signature or its day, with 204; later it gives 409.
"""

import base64
import hashlib
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from html import escape
from typing import Any
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond, show

ZURICH = ZoneInfo("Europe/Zurich")
CLIENTS = {"kassenbuch": "Rosengarten!31", "ledgerli": "Zytglogge!12"}
CAPITALS = "ABCDEFGHJKMNPQRSTVWXYZ0123456789"
SCOPES = ("ais", "pis")
SHOPS = "Migros Bern|Coop Marktgasse|SBB CFF FFS|Bäckerei Glatz|Apotheke Bärenplatz|Energie Wasser Bern".split("|")
FIELDS = '<input name="vertragsnummer"><input name="passwort" type="password"><button>Anmelden</button>'
KINDS = (
    "invalid-token=1010 forbidden-scope=1020 unreadable-body=2000 invalid-parameter=2010 order-invalid=3010 "
    "validation-expired=3021 validation-used=3022 order-not-cancellable=3040 not-found=9004 method-not-allowed=9005"
)
CODES = dict(kind.split("=") for kind in KINDS.split())


@dataclass
class Account:
    id: str
    iban: str
    product: str
    currency: str
    balance: int
    limit: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    contract: str
    password: str
    name: str
    accounts: list[Account]


@dataclass
class Consent:
    id: str
    client: str
    scopes: list[str]
    redirect: str
    state: str
    challenge: str
    valid_until: date
    asked: datetime
    case: str
    status: str = "requested"
    customer: Customer | None = None
    accounts: list[Account] = field(default_factory=list)
    refresh: str = ""


@dataclass
class Order:
    """An order, or what may become one: it has no status before it is submitted, no day if it is instant."""

    consent: Consent
    account: Account
    amount: int
    document: dict[str, Any]
    day: date | None
    created: datetime
    id: str = ""
    status: str = ""
    starts: datetime | None = None


class Problem(Exception):
    def __init__(self, status: int, kind: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail, self.more = status, kind, detail, more


class OAuthError(Problem):
    """A problem that is told as OAuth does; its kind is the error."""


def check_digits(country: str, rest: str) -> str:
    digits = "".join(str(int(sign, 36)) for sign in rest + country + "00")
    return f"{98 - int(digits) % 97:02}"


def local(moment: datetime) -> datetime:
    return moment.astimezone(ZURICH)


def money(amount: int, currency: str) -> dict[str, str]:
    return {"value": f"{abs(amount) // 100}.{abs(amount) % 100:02}", "currency": currency}


def sided(amount: int, currency: str) -> dict[str, Any]:
    return {"amount": money(amount, currency), "creditDebit": "debit" if amount < 0 else "credit"}


def offer(*decisions: str) -> str:
    """The buttons of a form."""
    return "".join(f'<button name="entscheid" value="{one}">{one.replace("ue", "ü")}</button>' for one in decisions)


def parse_day(text: Any) -> date | None:
    try:
        return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d", str(text)) else None
    except ValueError:
        return None


class Aare:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"aare {seed}")
        self._consents: dict[str, Consent] = {}
        self._uris: dict[str, Consent] = {}
        self._codes: dict[str, tuple[Consent, datetime]] = {}
        self._tokens: dict[str, tuple[Consent, datetime]] = {}
        self._validations: dict[str, Order] = {}
        self._orders: dict[str, Order] = {}
        self._sessions: dict[str, tuple[Customer, datetime]] = {}
        open, private = self._open, ("Privatkonto", "CHF", 100_000)
        self._customers = [
            Customer("70123344", "Gurten-858", "Ursina Bärtschi", [open("420118230014", 482_635, *private)]),
            Customer("70456612", "Niesen-2362", "Reto von Känel", [open("420156040019", 731_290, *private)]),
            Customer("70881907", "Bantiger-947", "Lea Zbinden", [open("420190770011", 56_310, *private)]),
        ]
        self._customers[0].accounts.append(open("420118230022", 1_915_040, "Sparkonto", "CHF", 0))
        self._customers[1].accounts.append(open("420156040027", 118_475, "Haushaltskonto", "CHF", 50_000))
        self._customers[1].accounts.append(open("420156040035", 264_000, "Fremdwährungskonto", "EUR", 0))
        account, order = "/ais/v2/accounts/{id}", "/pis/v2/payment-orders/{id}"
        self._routes = Routes(
            ("POST", "/oauth2/par", self._push),
            ("GET", "/oauth2/authorize", self._open_page),
            ("POST", "/oauth2/login", self._log_in),
            ("POST", "/oauth2/consent", self._decide),
            ("POST", "/oauth2/token", self._give_token),
            ("POST", "/oauth2/revoke", self._revoke),
            ("GET", "/consents/v1/consents/{id}", self._consent),
            ("GET", "/ais/v2/accounts", lambda request: self._tell_page(request, "accounts", self._shown(request))),
            ("GET", account, lambda request, id: respond(200, self._show(self._find(request, id)))),
            ("GET", account + "/balances", self._balances),
            ("GET", account + "/transactions", self._list_entries),
            ("POST", "/pis/v2/order-validations", self._validate),
            ("POST", "/pis/v2/payment-orders", self._submit),
            ("GET", order, lambda request, id: self._tell(200, self._order(request, id))),
            ("DELETE", order, self._cancel),
            ("GET", "/ebanking/login", lambda request: self._ask_login(200)),
            ("POST", "/ebanking/login", self._enter_ebanking),
            ("POST", "/ebanking/freigaben", self._sign),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        told = {"X-Trace-Id": self._word(16)}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            response: Response = handler(request, **parameters)
            return Response(response.status, response.content, told | {**response.headers})
        except NoRoute as wrong:
            problem = Problem(404, "not-found", "The resource does not exist.")
            if wrong.allowed:
                told["Allow"] = ", ".join(wrong.allowed)
                problem = Problem(405, "method-not-allowed", f"{request.method} is not supported by this resource.")
        except Problem as error:
            problem = error
        is_oauth, kind = isinstance(problem, OAuthError), problem.kind
        if problem.status == 401:
            told["WWW-Authenticate"] = f'{"Basic" if is_oauth else "Bearer"} realm="Aarebank API"'
        if is_oauth:
            told["Cache-Control"] = "no-store"
            return respond(problem.status, {"error": kind, "error_description": problem.detail}, told)
        shown: dict[str, Any] = {"type": f"urn:aarebank:problem:{kind}", "title": kind.replace("-", " ").capitalize()}
        shown |= {"instance": f"urn:aarebank:trace:{told['X-Trace-Id']}", "errorCode": f"AB-{CODES[kind]}"}
        shown |= {"status": problem.status, "detail": problem.detail} | problem.more
        return respond(problem.status, shown, told, media="application/problem+json")

    @property
    def _today(self) -> date:
        return local(self.clock.now).date()

    def _word(self, length: int, signs: str = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789-_") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _open(self, number: str, balance: int, product: str, currency: str, limit: int) -> Account:
        iban = f"CH{check_digits('CH', f'08742{number}')}08742{number}"
        account = Account("00" + self._word(10, "0123456789"), iban, product, currency, 0, limit)
        days = sorted(self._random.choices(range(1, 80), k=22), reverse=True)
        changes = [(day, self._random.choice((-1, -1, 1)) * self._random.randrange(120, 18_000)) for day in days]
        account.balance = balance - sum(change for _, change in changes)
        for day, change in changes:
            more = {"counterparty": {"name": self._random.choice(SHOPS)}, "remittance": {}}
            text = "Einkauf Debitkarte" if change < 0 else "Gutschrift"
            self._book(account, self._today - timedelta(days=day), change, text, more)
        return account

    def _book(self, account: Account, day: date, change: int, text: str, more: dict[str, Any]) -> None:
        account.balance += change
        booked: dict[str, Any] = {"transactionId": f"{day:%y%m%d}.{self._word(9, '0123456789')}"}
        booked |= {"bookingDate": day.isoformat(), "valueDate": day.isoformat(), "bookingText": text}
        booked |= sided(change, account.currency) | more
        account.entries.append(booked | {"balanceAfter": money(account.balance, account.currency)})

    def _advance(self) -> None:
        now = self.clock.now
        for consent in self._consents.values():
            is_late = consent.status == "requested" and now >= consent.asked + timedelta(minutes=10)
            if is_late or (consent.status == "active" and self._today > consent.valid_until):
                consent.status = "expired"
        for order in self._orders.values():
            if order.status == "awaitingSignature" and now >= order.created + timedelta(minutes=30):
                order.status = "expired"
            self._execute(order)

    def _execute(self, order: Order) -> None:
        account, now = order.account, self.clock.now
        if order.status == "scheduled" and order.starts and order.starts <= now:
            order.status = "rejected" if order.amount > self._available(account) else "inExecution"
        ends = order.starts + (timedelta(minutes=10) if order.day else timedelta(seconds=20)) if order.starts else now
        if order.status == "inExecution" and ends <= now:
            order.status = "executed"
            text = "Zahlungsauftrag" if order.day else "Instant-Zahlung"
            more = {"counterparty": order.document["creditor"], "remittance": order.document["remittance"]}
            self._book(account, order.day or local(ends).date(), -order.amount, text, more | {"orderId": order.id})

    def _available(self, account: Account) -> int:
        running = [one for one in self._orders.values() if one.account is account and one.status == "inExecution"]
        return account.balance + account.limit - sum(one.amount for one in running)

    def _client(self, request: Request) -> str:
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        try:
            client, _, secret = base64.b64decode(text).decode().partition(":")
        except ValueError:
            client = secret = ""
        if scheme != "Basic" or CLIENTS.get(client) != secret:
            raise OAuthError(401, "invalid_client", "Client authentication failed.")
        return client

    def _push(self, request: Request) -> Response:
        client, now = self._client(request), self.clock.now
        for name in ("redirect_uri", "scope", "state", "code_challenge", "consent_valid_until"):
            if not request.field(name):
                raise OAuthError(400, "invalid_request", f"Parameter {name} is missing.")
        if (request.field("response_type"), request.field("code_challenge_method")) != ("code", "S256"):
            raise OAuthError(400, "invalid_request", "Use response_type code and code_challenge_method S256.")
        scopes, day = request.field("scope").split(" "), parse_day(request.field("consent_valid_until"))
        if not set(scopes) <= set(SCOPES):
            raise OAuthError(400, "invalid_scope", "Supported scopes: ais pis.")
        if not day or not self._today <= day <= self._today + timedelta(days=365):
            raise OAuthError(400, "invalid_request", "Parameter consent_valid_until must be within 365 days.")
        id = str(UUID(int=self._random.getrandbits(128), version=4))
        back, state, challenge = (request.field(name) for name in ("redirect_uri", "state", "code_challenge"))
        consent = Consent(id, client, scopes, back, state, challenge, day, now, self._word(22))
        uri = f"urn:ietf:params:oauth:request_uri:{self._word(24)}"
        self._consents[id] = self._uris[uri] = consent
        return respond(201, {"request_uri": uri, "expires_in": 90, "consent_id": id}, {"Cache-Control": "no-store"})

    def _open_page(self, request: Request) -> Response:
        consent, deadline = self._uris.pop(request.query.get("request_uri", ""), None), timedelta(seconds=90)
        is_open = consent and self.clock.now < consent.asked + deadline
        if not consent or not is_open or request.query.get("client_id") != consent.client:
            return show(400, "Aarebank", "<p>Diese Anfrage ist ungültig oder nicht mehr gültig.</p>")
        return self._login_page(consent)

    def _login_page(self, consent: Consent, hint: str = "") -> Response:
        hidden = f'<input type="hidden" name="vorgang" value="{consent.case}">'
        form = f'<form method="post" action="/oauth2/login">{hidden}{FIELDS}</form>'
        return show(200, "Anmeldung bei der Aarebank", f"<p>{hint}</p>{form}")

    def _pending(self, request: Request) -> Consent | None:
        pending = (one for one in self._consents.values() if one.status == "requested")
        return next((one for one in pending if one.case == request.field("vorgang")), None)

    def _log_in(self, request: Request) -> Response:
        if not (consent := self._pending(request)):
            return show(400, "Aarebank", "<p>Dieser Vorgang ist abgeschlossen.</p>")
        consent.customer = self._customer(request)
        if not consent.customer:
            return self._login_page(consent, "Vertragsnummer oder Passwort ist falsch.")
        words = {"ais": "Konten einsehen", "pis": "Zahlungen erfassen"}
        inputs = f'<input type="hidden" name="vorgang" value="{consent.case}">'
        for one in consent.customer.accounts:
            inputs += f'<p><input type="checkbox" name="konto" value="{one.id}"> {one.product} {one.iban}</p>'
        asked = f"Bis {consent.valid_until:%d.%m.%Y}: " + ", ".join(words[one] for one in consent.scopes)
        form = f'<form method="post" action="/oauth2/consent">{inputs}{offer("erlauben", "ablehnen")}</form>'
        return show(200, f"Guten Tag {consent.customer.name}", f"<p>{asked}</p>{form}")

    def _customer(self, request: Request) -> Customer | None:
        given = request.field("vertragsnummer"), request.field("passwort")
        return next((one for one in self._customers if (one.contract, one.password) == given), None)

    def _decide(self, request: Request) -> Response:
        consent = self._pending(request)
        if not consent or not consent.customer:
            return show(400, "Aarebank", "<p>Dieser Vorgang ist abgeschlossen.</p>")
        if request.field("entscheid") != "erlauben":
            consent.status, told = "refused", {"error": "access_denied"}
        else:
            consent.accounts = [one for one in consent.customer.accounts if one.id in request.form.get("konto", [])]
            if not consent.accounts:
                return show(400, "Aarebank", "<p>Bitte wählen Sie mindestens ein Konto.</p>")
            consent.status, told = "active", {"code": self._word(28)}
            self._codes[told["code"]] = consent, self.clock.now + timedelta(minutes=1)
        return Response(302, "", {"Location": f"{consent.redirect}?{urlencode(told | {'state': consent.state})}"})

    def _give_token(self, request: Request) -> Response:
        client, now, grant = self._client(request), self.clock.now, request.field("grant_type")
        if grant == "authorization_code":
            hashed = hashlib.sha256(request.field("code_verifier").encode()).digest()
            proof = request.field("redirect_uri"), base64.urlsafe_b64encode(hashed).decode().rstrip("=")
            found, ends = self._codes.pop(request.field("code"), (None, now))
            if found and (ends <= now or (found.redirect, found.challenge) != proof):
                found = None
        elif grant == "refresh_token":
            used = request.field("refresh_token")
            found = next((one for one in self._consents.values() if used and one.refresh == used), None)
        else:
            raise OAuthError(400, "unsupported_grant_type", "Use authorization_code or refresh_token.")
        if not found or found.client != client or found.status != "active":
            raise OAuthError(400, "invalid_grant", "The grant is invalid, expired, revoked or used.")
        token, found.refresh = self._word(40), self._word(48)
        self._tokens[token] = found, now + timedelta(minutes=15)
        document = {"access_token": token, "token_type": "bearer", "expires_in": 900, "refresh_token": found.refresh}
        document |= {"scope": " ".join(found.scopes), "consent_id": found.id}
        return respond(200, document, {"Cache-Control": "no-store"})

    def _revoke(self, request: Request) -> Response:
        client, token = self._client(request), request.field("token")
        for consent in self._consents.values():
            if consent.client == client and consent.status == "active" and token and consent.refresh == token:
                consent.status = "revoked"
        return Response(200)

    def _consent(self, request: Request, id: str) -> Response:
        client, consent = self._client(request), self._consents.get(id)
        if not consent or consent.client != client:
            raise Problem(404, "not-found", "The consent does not exist.")
        document: dict[str, Any] = {"consentId": id, "consentStatus": consent.status, "scopes": consent.scopes}
        document |= {"validUntil": consent.valid_until.isoformat(), "requestedAt": local(consent.asked).isoformat()}
        if consent.accounts:
            document["accounts"] = [{"accountId": one.id, "iban": one.iban} for one in consent.accounts]
        return respond(200, document)

    def _granted(self, request: Request, scope: str) -> Consent:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        consent, ends = self._tokens.get(token, (None, self.clock.now))
        if scheme != "Bearer" or not consent or ends <= self.clock.now or consent.status != "active":
            raise Problem(401, "invalid-token", "The access token is missing, unknown, expired or revoked.")
        if scope not in consent.scopes:
            raise Problem(403, "forbidden-scope", f"Scope {scope} is required.", requiredScope=scope)
        return consent

    def _tell_page(self, request: Request, name: str, rows: Sequence[Any]) -> Response:
        paging: dict[str, Any] = {}
        for parameter, least, most, usual in (("limit", 1, 100, "20"), ("offset", 0, 100_000, "0")):
            text = request.query.get(parameter, usual)
            if not re.fullmatch(r"[0-9]{1,6}", text) or not least <= int(text) <= most:
                raise Problem(400, "invalid-parameter", f"Use {least} to {most}.", parameter=parameter)
            paging[parameter] = int(text)
        end = paging["offset"] + paging["limit"]
        paging |= {"totalItems": len(rows), "hasMore": end < len(rows)}
        return respond(200, {name: rows[paging["offset"] : end], "paging": paging})

    def _show(self, account: Account) -> dict[str, Any]:
        shown: dict[str, Any] = {"accountId": account.id, "iban": account.iban, "currency": account.currency}
        owner = next(one.name for one in self._customers if account in one.accounts)
        return shown | {"productName": account.product, "owner": {"name": owner}}

    def _shown(self, request: Request) -> list[dict[str, Any]]:
        return [self._show(one) for one in self._granted(request, "ais").accounts]

    def _find(self, request: Request, id: str) -> Account:
        found = next((one for one in self._granted(request, "ais").accounts if one.id == id), None)
        if not found:
            raise Problem(404, "not-found", "The account does not exist or is not part of the consent.")
        return found

    def _balances(self, request: Request, id: str) -> Response:
        account, rows = self._find(request, id), []
        for kind, amount in (("booked", account.balance), ("available", self._available(account))):
            row = {"balanceType": kind, **sided(amount, account.currency), "asOf": local(self.clock.now).isoformat()}
            rows.append(row | {"creditLimitIncluded": kind == "available" and account.limit > 0})
        return respond(200, {"accountId": id, "balances": rows})

    def _list_entries(self, request: Request, id: str) -> Response:
        account = self._find(request, id)
        period = {"bookingDateFrom": date.min, "bookingDateTo": date.max}
        for name in [one for one in period if one in request.query]:
            if not (day := parse_day(request.query[name])):
                raise Problem(400, "invalid-parameter", f"Parameter {name} must be a date.", parameter=name)
            period[name] = day
        least, most = period.values()
        rows = [one for one in account.entries if least.isoformat() <= one["bookingDate"] <= most.isoformat()]
        return self._tell_page(request, "transactions", rows)

    def _document(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Problem(400, "unreadable-body", "The body must be a JSON object.") from None

    def _validate(self, request: Request) -> Response:
        consent, data = self._granted(request, "pis"), self._document(request)
        parts = {name: data.get(name) for name in ("amount", "creditor", "remittance")}
        amount, creditor, remittance = (one if isinstance(one, dict) else {} for one in parts.values())
        account = next((one for one in consent.accounts if one.id == data.get("debtorAccountId")), None)
        day, iban, wrong = None, str(creditor.get("iban")), []
        if not account:
            wrong.append(("debtorAccountId", "account.unknown"))
        value = str(amount.get("value"))
        rappen = int(value.replace(".", "")) if re.fullmatch(r"(0|[1-9]\d{0,8})\.\d\d", value) else 0
        if not rappen or not isinstance(amount["value"], str):
            wrong.append(("amount.value", "amount.invalid"))
        if account and amount.get("currency") != account.currency:
            wrong.append(("amount.currency", "currency.mismatch"))
        if not isinstance(creditor.get("name"), str) or not 1 <= len(creditor["name"]) <= 70:
            wrong.append(("creditor.name", "text.length"))
        if not re.fullmatch(r"(CH|LI)\d{19}", iban) or check_digits(iban[:2], iban[4:]) != iban[2:4]:
            wrong.append(("creditor.iban", "iban.invalid"))
        elif ("30000" <= iban[4:9] < "32000") != bool(re.fullmatch(r"\d{27}", str(remittance.get("qrReference")))):
            wrong.append(("remittance.qrReference", "reference.mismatch"))
        findings = []
        if (text := data.get("requestedExecutionDate")) is not None:
            day = parse_day(text)
            if not day or not self._today <= day <= self._today + timedelta(days=365):
                wrong.append(("requestedExecutionDate", "date.invalid"))
            elif day.weekday() > 4:
                day += timedelta(days=7 - day.weekday())
                findings.append({"field": "requestedExecutionDate", "code": "date.moved"})
        if wrong or not account:
            rows = [{"field": name, "code": code} for name, code in wrong]
            raise Problem(422, "order-invalid", "The order has violations.", violations=rows)
        if rappen > self._available(account):
            findings.append({"field": "amount.value", "code": "funds.insufficient"})
        ends, id = self.clock.now + timedelta(minutes=10), f"VAL-{self._word(14, CAPITALS)}"
        kept = {"amount": money(rappen, account.currency), "creditor": creditor, "remittance": remittance}
        self._validations[id] = Order(consent, account, rappen, kept, day, self.clock.now)
        document: dict[str, Any] = {"validationId": id, "findings": findings}
        document["outcome"] = "okWithFindings" if findings else "ok"
        document |= {"executionType": "dated" if day else "instant", "executionDate": (day or self._today).isoformat()}
        document |= {"fee": money(0, account.currency), "expiresAt": local(ends).isoformat()}
        return respond(200, document)

    def _submit(self, request: Request) -> Response:
        consent, id, now = self._granted(request, "pis"), self._document(request).get("validationId"), self.clock.now
        order = self._validations.get(str(id))
        if not order or order.consent is not consent:
            raise Problem(404, "not-found", "The validation does not exist.")
        if order.status:
            raise Problem(409, "validation-used", "There is an order already.", orderId=order.id)
        if order.created + timedelta(minutes=10) <= now:
            raise Problem(410, "validation-expired", "Validate the order again.")
        order.id = f"A{self._today:%y%m%d}-{self._word(8, CAPITALS)}"
        order.status, order.created = "awaitingSignature", now
        self._orders[order.id] = order
        return self._tell(201, order)

    def _tell(self, status: int, order: Order) -> Response:
        payer = {"accountId": order.account.id, "iban": order.account.iban}
        shown: dict[str, Any] = {"orderId": order.id, "orderStatus": order.status, "debtorAccount": payer}
        day = order.day or local(order.created).date()
        shown |= order.document | {"executionType": "dated" if order.day else "instant"}
        shown |= {"executionDate": day.isoformat(), "createdAt": local(order.created).isoformat()}
        if order.status == "awaitingSignature":
            ends = local(order.created + timedelta(minutes=30)).isoformat()
            shown["signing"] = {"channel": "eBanking", "signaturesRequired": 1, "expiresAt": ends}
        if order.status == "rejected":
            shown["statusReason"] = {"code": "AM04", "text": "Deckung fehlt"}
        headers = {"Location": f"/pis/v2/payment-orders/{order.id}"} if status == 201 else {}
        if order.status in ("awaitingSignature", "inExecution"):
            headers["Retry-After"] = "5"
        return respond(status, shown, headers)

    def _order(self, request: Request, id: str) -> Order:
        consent, order = self._granted(request, "pis"), self._orders.get(id)
        if not order or order.consent is not consent:
            raise Problem(404, "not-found", "The order does not exist.")
        return order

    def _cancel(self, request: Request, id: str) -> Response:
        order = self._order(request, id)
        if order.status not in ("awaitingSignature", "scheduled"):
            raise Problem(409, "order-not-cancellable", "It is too late for that.", orderStatus=order.status)
        order.status = "cancelled"
        return Response(204)

    def _ask_login(self, status: int, hint: str = "") -> Response:
        return show(status, "Aarebank E-Banking", f'<p>{hint}</p><form method="post">{FIELDS}</form>')

    def _enter_ebanking(self, request: Request) -> Response:
        if not (customer := self._customer(request)):
            return self._ask_login(401, "Vertragsnummer oder Passwort ist falsch.")
        session = self._word(32)
        self._sessions[session] = customer, self.clock.now + timedelta(minutes=10)
        page, cookie = self._signing_page(customer), f"AARESESSION={session}; Path=/ebanking; HttpOnly"
        return Response(page.status, page.content, {**page.headers, "Set-Cookie": cookie})

    def _session(self, request: Request) -> Customer | None:
        match = re.search(r"AARESESSION=([\w-]+)", request.headers.get("cookie", ""))
        customer, ends = self._sessions.get(match[1] if match else "", (None, self.clock.now))
        return customer if ends > self.clock.now else None

    def _signing_page(self, customer: Customer) -> Response:
        forms = ""
        for order in self._orders.values():
            if order.status != "awaitingSignature" or order.account not in customer.accounts:
                continue
            amount, creditor = order.document["amount"], escape(order.document["creditor"]["name"])
            hidden = f'<input type="hidden" name="auftrag" value="{order.id}">'
            asked = f"<p>{amount['currency']} {amount['value']} an {creditor}</p>"
            asked += hidden + offer("signieren", "zurueckweisen")
            forms += f'<form method="post" action="/ebanking/freigaben">{asked}</form>'
        return show(200, "Aufträge zur Freigabe", forms or "<p>Keine Aufträge.</p>")

    def _sign(self, request: Request) -> Response:
        if not (customer := self._session(request)):
            return self._ask_login(401, "Bitte melden Sie sich an.")
        order, decision = self._orders.get(request.field("auftrag")), request.field("entscheid")
        if not order or order.account not in customer.accounts or order.status != "awaitingSignature":
            return show(409, "Aarebank E-Banking", "<p>Dieser Auftrag ist nicht mehr offen.</p>")
        if decision != "signieren":
            order.status = "refused"
            return show(200, "Aarebank E-Banking", f"<p>Auftrag {order.id} wurde zurückgewiesen.</p>")
        opens = datetime.combine(order.day, time(6), ZURICH) if order.day else self.clock.now
        order.status, order.starts = "scheduled", max(opens, self.clock.now)
        self._execute(order)
        return show(200, "Aarebank E-Banking", f"<p>Auftrag {order.id} wurde signiert.</p>")
