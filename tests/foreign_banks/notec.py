"""Noteć, a Polish bank whose interface follows PolishAPI 3 loosely.

- All operations are POST with a JSON body. Its `requestHeader` has requestId (a UUID of version 1), userAgent,
  ipAddress, sendDate, tppId and isDirectPsu, and the access token in `token` where one is needed. The header
  X-REQUEST-ID must equal the requestId. Answers have a `responseHeader` (requestId, sendDate, isCallback); also errors,
  which are `{"responseHeader", "code", "message"}`. Messages are Polish and name the wrong member.
- `/auth/…/authorize` takes a scope (ais or pis) and `scope_details`: a consentId that the app chose, the time when the
  consent ends (180 days at most), and a list of privileges, each for one use or many. An entry of this list is about
  one account, or about all of the customer's if it has none. The answer has the customer's page.
- That page is one form with login, password and decision. A wrong password gives 401 and the form again; a decision 302
  to the app with `code`, or with `error=access_denied`, and with `state`; a used link 410.
- `/auth/…/token` takes the code, which works once within ten minutes, or a refresh token, which also works once. A
  token lasts for half an hour and comes with the scope details: an entry for each account.
- A privilege that is not given or used up gives 403, like a consent that was deleted or has ended. What is unknown, or
  not in the consent, gives 404.
- Amounts are texts with two decimals and without a sign: `transactionCategory` is CREDIT or DEBIT. Transactions are
  newest first. `pageInfo` has the ids of the pages before and after, if there are such.
- A payment of today is submitted, pending after a minute and done after five. It lowers the available balance at once
  and the booked one when it is done, and is among the pending transactions until then. A payment of a later day is
  scheduled, and submitted or rejected at midnight. Submitted and scheduled ones can be cancelled. Payments above
  50000.00 give 422, and so does one of today that the account does not cover.
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond, show

type Operation = Callable[[Request, dict[str, Any], str], dict[str, Any]]
"""Takes a request, its body and the app, and returns the members of the answer."""

APPS = {"PSDPL-KNF-0042917711": "czapla-siwa", "PSDPL-KNF-0051820364": "perkoz-dwuczuby"}
PRIVILEGES = {
    "ais": ("ais-accounts:getAccounts", "ais:getAccount", "ais:getTransactionsDone", "ais:getTransactionsPending"),
    "pis": ("pis:domestic", "pis:getPayment", "pis:cancelPayment"),
}
MOST = 5_000_000
SHOPS = "Sklep Spod Lipy|Apteka Nadnotecka|Koleje Krajenskie|Piekarnia Kruszwicka|Ksiegarnia Pod Zurawiem".split("|")
UUID_1 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-1[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
WORDS = {
    "submitted": "Przyjęto zlecenie",
    "scheduled": "Oczekuje na dzień realizacji",
    "pending": "Przekazano do rozliczenia",
    "done": "Zrealizowano",
    "cancelled": "Odwołano na życzenie klienta",
    "rejected": "Odrzucono z braku środków",
}


@dataclass
class Account:
    number: str
    name: str
    kind: str
    cents: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    login: str
    password: str
    address: Sequence[str]
    accounts: Sequence[Account]


@dataclass
class Consent:
    """What an app may do. The customer decides at `page`; `code` is there from then until it is used."""

    app: str
    id: str
    scope: str
    details: dict[str, Any]
    ends: datetime
    back: str
    state: str
    page: str
    customer: Customer | None = None
    is_declined: bool = False
    is_deleted: bool = False
    code: str = ""
    decided: datetime | None = None
    used: set[tuple[str, str]] = field(default_factory=set)

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The privileges by account."""
        accounts = self.customer.accounts if self.customer else []
        return [
            {"accountNumber": account.number} | entry
            for entry in self.details["privilegeList"]
            for account in accounts
            if entry.get("accountNumber", account.number) == account.number
        ]


@dataclass
class Payment:
    id: str
    consent: Consent
    payer: Account
    cents: int
    day: date
    document: dict[str, Any]
    status: str
    row: dict[str, Any]
    begun: datetime


class Refusal(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


def add_digits(rest: str) -> str:
    """Return the account number (NRB) with its check digits before the rest."""
    return f"{98 - int(rest + '252100') % 97:02}{rest}"


def write_amount(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


def write_time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def invalid(place: str) -> Refusal:
    return Refusal(400, "MEMBER_INVALID", f"Niepoprawna wartość pola {place}.")


def member(document: Any, place: str) -> Any:
    for part in place.split("."):
        document = document.get(part) if isinstance(document, dict) else None
    if document is None:
        raise Refusal(400, "MEMBER_MISSING", f"Brak pola {place}.")
    return document


def text(document: Any, place: str, form: str | re.Pattern[str] = r".{1,140}") -> str:
    value = member(document, place)
    if not isinstance(value, str) or not re.fullmatch(form, value):
        raise invalid(place)
    return value


def moment(document: Any, place: str) -> datetime:
    try:
        return datetime.strptime(text(document, place), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise invalid(place) from None


def day(document: Any, place: str) -> date:
    try:
        return date.fromisoformat(text(document, place, r"\d{4}-\d\d-\d\d"))
    except ValueError:
        raise invalid(place) from None


def number(document: Any, place: str) -> str:
    value = text(document, place, r"[0-9]{26}")
    if add_digits(value[2:]) != value:
        raise invalid(place)
    return value


def lines(document: Any, place: str) -> list[str]:
    value = member(document, place)
    if not isinstance(value, list) or not 1 <= len(value) <= 4 or not all(isinstance(line, str) for line in value):
        raise invalid(place)
    return value


class Notec:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"notec {seed}")
        self._consents: dict[tuple[str, str], Consent] = {}
        self._tokens: dict[str, tuple[Consent, datetime]] = {}
        self._refreshing: dict[str, Consent] = {}
        self._payments: dict[str, Payment] = {}
        self._pages: dict[str, tuple[str, int]] = {}
        self._customers = [
            Customer(
                "hanna.wilk",
                "Bydgoszcz-1346",
                ["Hanna Wilk", "ul. Mostowa 4", "85-110 Bydgoszcz"],
                [
                    self._open("Konto Rzeczne", "CACC", "1042000711", 842_655),
                    self._open("Rachunek na czynsz", "CACC", "1042000738", 301_900),
                ],
            ),
            Customer(
                "tymon.zych",
                "Naklo+Kanal",
                ["Tymon Zych", "ul. Dworcowa 17/2", "89-100 Nakło nad Notecią"],
                [
                    self._open("Konto Firmowe", "CACC", "2277310506", 1_918_240),
                    self._open("Konto Wspólne", "CACC", "2277310514", 560_075),
                    self._open("Skarbonka", "SVGS", "2277310522", 2_400_000),
                ],
            ),
        ]
        auth, accounts, payments = (f"/v3_0.1/{name}/v3_0.1" for name in ("auth", "accounts", "payments"))
        self._operations: dict[str, Operation] = {
            f"{auth}/authorize": self._authorize,
            f"{auth}/token": self._give_token,
            f"{accounts}/getAccounts": self._list_accounts,
            f"{accounts}/getAccount": self._account,
            f"{accounts}/getTransactionsDone": self._list_done,
            f"{accounts}/getTransactionsPending": self._list_pending,
            f"{accounts}/deleteConsent": self._delete,
            f"{payments}/domestic": self._pay,
            f"{payments}/getPayment": self._payment,
            f"{payments}/cancelPayments": self._cancel,
        }
        self._customer_pages = Routes(
            ("GET", "/autoryzacja/{page}", self._page), ("POST", "/autoryzacja/{page}", self._decide)
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        try:
            handler, parameters = self._customer_pages.find(request.method, request.path)
            return handler(request, **parameters)
        except NoRoute:
            pass
        told = request.headers.get("x-request-id", "")
        if not UUID_1.fullmatch(told):
            told = str(UUID(int=self._random.getrandbits(128), version=1))
        try:
            status, document = 200, self._operate(request)
        except Refusal as refusal:
            status, document = refusal.status, {"code": refusal.code, "message": refusal.message}
        header = {"requestId": told, "sendDate": write_time(self.clock.now), "isCallback": False}
        return respond(status, {"responseHeader": header, **document}, {"X-REQUEST-ID": told})

    def _operate(self, request: Request) -> dict[str, Any]:
        operation = self._operations.get(request.path)
        if not operation:
            raise Refusal(404, "NOT_FOUND", f"Nie znaleziono {request.path}.")
        if request.method != "POST":
            raise Refusal(405, "METHOD_NOT_ALLOWED", f"Operacja {request.path} wymaga metody POST.")
        try:
            body = request.document
        except ValueError:
            raise Refusal(400, "NOT_JSON", "Treść nie jest obiektem JSON.") from None
        return operation(request, body, self._read_header(request, body))

    def _read_header(self, request: Request, body: dict[str, Any]) -> str:
        """Return the app."""
        id = text(body, "requestHeader.requestId", UUID_1)
        text(body, "requestHeader.userAgent")
        text(body, "requestHeader.ipAddress", r"\d{1,3}(\.\d{1,3}){3}")
        moment(body, "requestHeader.sendDate")
        app = text(body, "requestHeader.tppId")
        if not isinstance(member(body, "requestHeader.isDirectPsu"), bool):
            raise invalid("requestHeader.isDirectPsu")
        if request.headers.get("x-request-id") != id:
            raise Refusal(400, "REQUEST_ID_MISMATCH", "X-REQUEST-ID różni się od requestHeader.requestId.")
        if app not in APPS:
            raise Refusal(401, "TPP_UNKNOWN", f"Nie znamy podmiotu {app}.")
        return app

    def _word(self, length: int) -> str:
        return "".join(self._random.choices("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789", k=length))

    def _digits(self, length: int) -> str:
        return "".join(self._random.choices("0123456789", k=length))

    def _open(self, name: str, kind: str, rest: str, cents: int) -> Account:
        account = Account(add_digits(f"19900021000000{rest}"), name, kind)
        changes = [self._random.choice((-1, -1, -1, 1)) * self._random.randrange(480, 21_000) for _ in range(36)]
        account.cents = cents - sum(changes)
        for change, ago in zip(changes, sorted(self._random.sample(range(1, 85), 36), reverse=True), strict=True):
            other = add_digits(f"10901447{self._digits(16)}"), [self._random.choice(SHOPS)]
            minutes = self._random.randrange(420, 1260)
            begun = datetime.combine(self.clock.today - timedelta(days=ago), time(tzinfo=UTC))
            begun += timedelta(minutes=minutes)
            row = self._write_row(account, ["Posiadacz rachunku"], other, change, "Płatność kartą", "CARD", begun)
            self._book(account, row, change, begun.date())
        return account

    def _write_row(
        self,
        account: Account,
        address: Sequence[str],
        other: tuple[str, Sequence[str]],
        change: int,
        description: str,
        kind: str,
        begun: datetime,
    ) -> dict[str, Any]:
        own_side = {"accountNumber": account.number, "nameAddress": {"value": list(address)}}
        other_side = {"accountNumber": other[0], "nameAddress": {"value": list(other[1])}}
        is_debit = change < 0
        return {
            "itemId": f"{begun:%y%m%d}/{self._digits(8)}",
            "amount": write_amount(abs(change)),
            "currency": "PLN",
            "description": description,
            "transactionType": kind,
            "transactionCategory": "DEBIT" if is_debit else "CREDIT",
            "tradeDate": write_time(begun),
            "sender": own_side if is_debit else other_side,
            "recipient": other_side if is_debit else own_side,
        }

    def _book(self, account: Account, row: dict[str, Any], change: int, booked: date) -> None:
        account.cents += change
        more = {"bookingDate": booked.isoformat(), "postTransactionBalance": write_amount(account.cents)}
        account.rows.insert(0, row | more)

    def _advance(self) -> None:
        for payment in self._payments.values():
            if payment.status == "scheduled" and self.clock.today >= payment.day:
                is_covered = payment.cents <= self._available(payment.payer)
                payment.status = "submitted" if is_covered else "rejected"
                payment.begun = datetime.combine(payment.day, time(tzinfo=UTC))
                payment.row["tradeDate"] = write_time(payment.begun)
            passed = self.clock.now - payment.begun
            if payment.status == "submitted" and passed >= timedelta(minutes=1):
                payment.status = "pending"
            if payment.status == "pending" and passed >= timedelta(minutes=5):
                payment.status = "done"
                booked = (payment.begun + timedelta(minutes=5)).date()
                self._book(payment.payer, payment.row, -payment.cents, booked)

    def _under_way(self, account: Account) -> list[Payment]:
        states = "submitted", "pending"
        return [one for one in self._payments.values() if one.payer is account and one.status in states]

    def _available(self, account: Account) -> int:
        return account.cents - sum(one.cents for one in self._under_way(account))

    # Consents

    def _authorize(self, request: Request, body: dict[str, Any], app: str) -> dict[str, Any]:
        if text(body, "client_id") != app:
            raise invalid("client_id")
        text(body, "response_type", "code")
        back, state = text(body, "redirect_uri", r"https://\S+"), text(body, "state")
        scope = text(body, "scope", "|".join(PRIVILEGES))
        text(body, "scope_details.scopeGroupType", scope)
        text(body, "scope_details.throttlingPolicy", "psd2Regulatory")
        id, ends = text(body, "scope_details.consentId", r"[\w-]{8,64}"), moment(body, "scope_details.scopeTimeLimit")
        if not self.clock.now < ends <= self.clock.now + timedelta(days=180):
            raise invalid("scope_details.scopeTimeLimit")
        entries = member(body, "scope_details.privilegeList")
        if not isinstance(entries, list) or not entries:
            raise invalid("scope_details.privilegeList")
        for entry in entries:
            self._check_entry(entry, scope)
        if (app, id) in self._consents:
            raise Refusal(409, "CONSENT_EXISTS", f"Zgoda {id} już istnieje.")
        consent = Consent(app, id, scope, body["scope_details"], ends, back, state, self._word(18))
        self._consents[app, id] = consent
        return {"aspspRedirectUri": f"{request.origin}/autoryzacja/{consent.page}"}

    def _check_entry(self, entry: Any, scope: str) -> None:
        place = "scope_details.privilegeList"
        if not isinstance(entry, dict) or not entry.keys() - {"accountNumber"}:
            raise invalid(place)
        for name, value in entry.items():
            if name == "accountNumber":
                number(entry, name)
            elif name not in PRIVILEGES[scope] or not isinstance(value, dict):
                raise invalid(f"{place}.{name}")
            elif value.get("scopeUsageLimit") not in ("single", "multiple"):
                raise invalid(f"{place}.{name}.scopeUsageLimit")

    def _page(self, request: Request, page: str, hint: str = "", status: int = 200) -> Response:
        consent = next((one for one in self._consents.values() if one.page == page), None)
        if not consent:
            return show(404, "Bank Noteć", "<p>Nie znamy tego adresu.</p>")
        if consent.customer or consent.is_declined or consent.is_deleted:
            return show(410, "Bank Noteć", "<p>Ten adres został już wykorzystany.</p>")
        what = {"ais": "dostęp do rachunków", "pis": "zlecanie płatności"}[consent.scope]
        fields = '<input name="login"><input name="haslo" type="password">'
        buttons = "".join(f'<button name="decyzja" value="{word}">{word}</button>' for word in ("zgoda", "odmowa"))
        asked = f"<p>{hint}</p><p>{consent.app} prosi o {what}.</p>"
        return show(status, "Bank Noteć", f'{asked}<form method="post">{fields}{buttons}</form>')

    def _decide(self, request: Request, page: str) -> Response:
        shown = self._page(request, page)
        if shown.status != 200:
            return shown
        consent = next(one for one in self._consents.values() if one.page == page)
        given = request.field("login"), request.field("haslo")
        customer = next((one for one in self._customers if (one.login, one.password) == given), None)
        if not customer:
            return self._page(request, page, "Niepoprawny login lub hasło.", 401)
        own = {account.number for account in customer.accounts}
        if any(entry.get("accountNumber") not in {None, *own} for entry in consent.details["privilegeList"]):
            return self._page(request, page, "To nie jest Twój rachunek.", 403)
        if request.field("decyzja") not in ("zgoda", "odmowa"):
            return self._page(request, page, "Prosimy o decyzję.", 400)
        if request.field("decyzja") == "odmowa":
            consent.is_declined = True
            outcome = {"error": "access_denied", "state": consent.state}
        else:
            consent.customer, consent.code, consent.decided = customer, self._word(24), self.clock.now
            outcome = {"code": consent.code, "state": consent.state}
        return Response(302, "", {"Location": f"{consent.back}?{urlencode(outcome)}"})

    def _give_token(self, request: Request, body: dict[str, Any], app: str) -> dict[str, Any]:
        if text(body, "client_id") != app or text(body, "client_secret") != APPS[app]:
            raise Refusal(401, "CLIENT_INVALID", "Niepoprawny client_id lub client_secret.")
        consent: Consent | None
        if text(body, "grant_type", "authorization_code|refresh_token") == "refresh_token":
            consent = self._refreshing.get(text(body, "refresh_token"))
            if not consent or consent.app != app:
                raise Refusal(400, "REFRESH_TOKEN_INVALID", "Niepoprawny refresh_token.")
            self._check_consent(consent)
            del self._refreshing[body["refresh_token"]]
        else:
            code, back = text(body, "Code"), text(body, "redirect_uri")
            known = (one for one in self._consents.values() if one.app == app and one.code == code)
            consent = next((one for one in known if one.back == back and one.decided), None)
            if not consent or not consent.decided or self.clock.now - consent.decided > timedelta(minutes=10):
                raise Refusal(400, "CODE_INVALID", "Kod jest nieznany, wykorzystany lub wygasł.")
            self._check_consent(consent)
            consent.code = ""
        token, refresh = self._word(40), self._word(40)
        self._tokens[token] = consent, self.clock.now + timedelta(minutes=30)
        self._refreshing[refresh] = consent
        return {
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": 1800,
            "refresh_token": refresh,
            "scope": consent.scope,
            "scope_details": consent.details | {"privilegeList": consent.entries},
        }

    def _check_consent(self, consent: Consent) -> None:
        if consent.is_deleted:
            raise Refusal(403, "CONSENT_REVOKED", f"Zgoda {consent.id} została odwołana.")
        if consent.ends <= self.clock.now:
            raise Refusal(403, "CONSENT_EXPIRED", f"Zgoda {consent.id} wygasła.")

    def _consent(self, body: dict[str, Any], app: str) -> Consent:
        """Return the consent of the request's token."""
        token = body["requestHeader"].get("token")
        consent, ends = self._tokens.get(token, (None, None)) if isinstance(token, str) else (None, None)
        if not consent or not ends or consent.app != app:
            raise Refusal(401, "TOKEN_INVALID", "Brak tokenu lub token jest nieznany.")
        if ends <= self.clock.now:
            raise Refusal(401, "TOKEN_EXPIRED", "Token wygasł.")
        self._check_consent(consent)
        return consent

    def _delete(self, request: Request, body: dict[str, Any], app: str) -> dict[str, Any]:
        own = self._consent(body, app)
        consent = self._consents.get((app, text(body, "consentId")))
        if not consent or consent.customer is not own.customer:
            raise Refusal(404, "NOT_FOUND", f"Nie znaleziono zgody {body['consentId']}.")
        consent.is_deleted = True
        return {}

    def _allow(self, consent: Consent, privilege: str, account: str = "") -> None:
        """Refuse what the consent does not give, for an account or at all."""
        entries = [one for one in consent.entries if account in ("", one["accountNumber"])]
        if not entries:
            raise Refusal(404, "NOT_FOUND", f"Nie znaleziono rachunku {account}.")
        if not any(privilege in entry for entry in entries):
            raise Refusal(403, "PRIVILEGE_MISSING", f"Zgoda nie obejmuje uprawnienia {privilege}.")
        if (privilege, account) in consent.used:
            raise Refusal(403, "PRIVILEGE_USED", f"Jednorazowe uprawnienie {privilege} zostało wykorzystane.")

    def _use(self, consent: Consent, privilege: str, account: str = "") -> None:
        entries = [one for one in consent.entries if account in ("", one["accountNumber"]) and privilege in one]
        if all(entry[privilege]["scopeUsageLimit"] == "single" for entry in entries):
            consent.used.add((privilege, account))

    # Accounts

    def _tell_page(self, body: dict[str, Any], list_id: str, name: str, rows: Sequence[Any]) -> dict[str, Any]:
        size, start = body.get("perPage", 25), 0
        if not isinstance(size, int) or not 1 <= size <= 100:
            raise invalid("perPage")
        if "pageId" in body:
            of_list, start = self._pages.get(text(body, "pageId"), ("", 0))
            if of_list != list_id:
                raise invalid("pageId")
        told = {}
        if start:
            told["previousPage"] = self._word(16)
            self._pages[told["previousPage"]] = list_id, max(start - size, 0)
        if start + size < len(rows):
            told["nextPage"] = self._word(16)
            self._pages[told["nextPage"]] = list_id, start + size
        return {name: rows[start : start + size], "pageInfo": told}

    def _list_accounts(self, request: Request, body: dict[str, Any], app: str) -> dict[str, Any]:
        consent, privilege = self._consent(body, app), "ais-accounts:getAccounts"
        self._allow(consent, privilege)
        given = {entry["accountNumber"] for entry in consent.entries if privilege in entry}
        accounts = consent.customer.accounts if consent.customer else []
        rows = [self._show(account) for account in accounts if account.number in given]
        answer = self._tell_page(body, consent.id, "accounts", rows)
        self._use(consent, privilege)
        return answer

    def _show(self, account: Account) -> dict[str, Any]:
        kind = {"CACC": "Rachunek bieżący", "SVGS": "Rachunek oszczędnościowy"}[account.kind]
        return {
            "accountNumber": account.number,
            "accountTypeName": account.name,
            "accountType": {"code": account.kind, "description": kind},
        }

    def _find(self, body: dict[str, Any], app: str, privilege: str) -> tuple[Consent, Account]:
        consent = self._consent(body, app)
        wanted = text(body, "accountNumber", r"[0-9]{26}")
        self._allow(consent, privilege, wanted)
        assert consent.customer
        return consent, next(account for account in consent.customer.accounts if account.number == wanted)

    def _account(self, request: Request, body: dict[str, Any], app: str) -> dict[str, Any]:
        consent, account = self._find(body, app, "ais:getAccount")
        assert consent.customer
        self._use(consent, "ais:getAccount", account.number)
        more = {
            "nameAddress": {"value": list(consent.customer.address)},
            "currency": "PLN",
            "availableBalance": write_amount(self._available(account)),
            "bookingBalance": write_amount(account.cents),
            "bank": {"bicOrSwift": "NOTEPLPW", "name": "Bank Noteć"},
        }
        return {"account": self._show(account) | more}

    def _list_done(self, request: Request, body: dict[str, Any], app: str) -> dict[str, Any]:
        privilege = "ais:getTransactionsDone"
        consent, account = self._find(body, app, privilege)
        today = self.clock.today
        begins = day(body, "transactionDateFrom") if "transactionDateFrom" in body else today - timedelta(days=90)
        ends = day(body, "transactionDateTo") if "transactionDateTo" in body else today
        if begins > ends:
            raise invalid("transactionDateTo")
        rows = [row for row in account.rows if begins.isoformat() <= row["tradeDate"][:10] <= ends.isoformat()]
        answer = self._tell_page(body, f"{account.number} done {begins} {ends}", "transactions", rows)
        self._use(consent, privilege, account.number)
        return answer

    def _list_pending(self, request: Request, body: dict[str, Any], app: str) -> dict[str, Any]:
        privilege = "ais:getTransactionsPending"
        consent, account = self._find(body, app, privilege)
        rows = [payment.row for payment in reversed(self._under_way(account))]
        answer = self._tell_page(body, f"{account.number} pending", "transactions", rows)
        self._use(consent, privilege, account.number)
        return answer

    # Payments

    def _pay(self, request: Request, body: dict[str, Any], app: str) -> dict[str, Any]:
        consent, privilege = self._consent(body, app), "pis:domestic"
        self._allow(consent, privilege, number(body, "sender.accountNumber"))
        assert consent.customer
        payer = next(one for one in consent.customer.accounts if one.number == body["sender"]["accountNumber"])
        payee = number(body, "recipient.accountNumber"), lines(body, "recipient.nameAddress.value")
        description = text(body, "transferData.description")
        cents = int(text(body, "transferData.amount", r"(0|[1-9]\d{0,9})\.\d\d").replace(".", ""))
        if not cents:
            raise invalid("transferData.amount")
        text(body, "transferData.currency", "PLN")
        text(body, "tppTransactionId", r"[\w-]{1,64}")
        text(body, "deliveryMode", "StandardD0")
        text(body, "system", "Elixir")
        when, is_later = day(body, "transferData.executionDate"), text(body, "executionMode") == "FutureDated"
        if body["executionMode"] not in ("Immediate", "FutureDated"):
            raise invalid("executionMode")
        if is_later != (when > self.clock.today) or when < self.clock.today:
            raise invalid("transferData.executionDate")
        if cents > MOST:
            raise Refusal(422, "AMOUNT_ABOVE_LIMIT", f"Kwota przekracza limit {write_amount(MOST)} PLN.")
        if not is_later and cents > self._available(payer):
            raise Refusal(422, "NO_COVER", "Brak wystarczających środków na rachunku.")
        names = "tppTransactionId", "executionMode", "recipient", "transferData"
        payment = Payment(
            f"NTC{self._digits(12)}",
            consent,
            payer,
            cents,
            when,
            {name: body[name] for name in names},
            "scheduled" if is_later else "submitted",
            self._write_row(payer, consent.customer.address, payee, -cents, description, "TRANSFER", self.clock.now),
            self.clock.now,
        )
        self._payments[payment.id] = payment
        self._use(consent, privilege, payer.number)
        return self._tell(payment)

    def _tell(self, payment: Payment) -> dict[str, Any]:
        told = {"paymentId": payment.id, "tppTransactionId": payment.document["tppTransactionId"]}
        return told | {"generalStatus": payment.status, "detailedStatus": WORDS[payment.status]}

    def _find_payment(self, consent: Consent, body: dict[str, Any]) -> Payment:
        payment = self._payments.get(text(body, "paymentId"))
        if not payment or payment.consent.app != consent.app or payment.consent.customer is not consent.customer:
            raise Refusal(404, "NOT_FOUND", f"Nie znaleziono płatności {body['paymentId']}.")
        return payment

    def _payment(self, request: Request, body: dict[str, Any], app: str) -> dict[str, Any]:
        consent = self._consent(body, app)
        self._allow(consent, "pis:getPayment")
        payment = self._find_payment(consent, body)
        self._use(consent, "pis:getPayment")
        return self._tell(payment) | payment.document

    def _cancel(self, request: Request, body: dict[str, Any], app: str) -> dict[str, Any]:
        consent = self._consent(body, app)
        self._allow(consent, "pis:cancelPayment")
        payment = self._find_payment(consent, body)
        if payment.status not in ("submitted", "scheduled"):
            raise Refusal(409, "NOT_CANCELLABLE", f"Płatność ma status {payment.status}.")
        payment.status = "cancelled"
        self._use(consent, "pis:cancelPayment")
        return self._tell(payment)
