"""Bodrog, a Hungarian bank near to NextGenPSD2 1.3, with embedded SCA that is started explicitly.

- A gateway wants X-Bodrog-Client-Id. Its 401 is `httpCode`, `httpMessage`, `moreInformation`, and does not repeat the
  X-Request-ID; all later answers do, and all later errors are `tppMessages` with texts in Hungarian.
- Days and times are those of Budapest. HUF amounts are whole, EUR amounts have two decimals; others are refused.
- POST `/consents`: received, then valid, rejected (after 30 minutes, or three misses), terminatedByTpp (by DELETE, 204)
  or expired (after the day `validUntil`, which is at most 180 days ahead; a later one is lowered to that).
- An authorisation is received, psuIdentified (by PSU-ID), psuAuthenticated (by `psuData.password`), scaMethodSelected
  and finalised, or failed after three misses. It may start with PSU-ID and password at once. Instant
  payments have one method, cancellations that of the payment; both need no choice.
- Reads send Consent-ID. Without PSU-IP-Address a path may be read `frequencyPerDay` times a day, then 429; pages do not
  count. An unknown consent gives 400 in the header and 403 in the path.
- Transactions need `bookingStatus` and `dateFrom`. Entries are newest first, `itemsPerPage` of them (10 unless told).
  `_links.next` has only a page token, and pages have no `pending`. What is pending has no id, booking day or balance.
- POST `/payments/{product}`: RCVD, ACSP once authorised, and ACSC after 5 seconds (instant) or 2 hours (SEPA, then its
  fee is an entry of its own). Periodic ones are ACTC; here none is executed.
  RJCT without cover at the SCA, after 30 minutes or after three misses.
- DELETE of a payment: RCVD is CANC at once (204); ACTC is answered by 202 and needs a cancellation authorisation (CANC
  when that is finalised); all others give 405.
"""

import random
import re
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond

BUDAPEST = ZoneInfo("Europe/Budapest")
BASE = "/psd2/xs2a/v1"
CLIENTS = ("szamlamester-7c1e", "kiskassza-40ab")
INSTANT, SEPA = "hungarian-instant-credit-transfers", "sepa-credit-transfers"
CURRENCIES = {INSTANT: "HUF", SEPA: "EUR"}
SEPA_FEE = 135
CODES = {"SMS_OTP": "135790", "CHIP_OTP": "24681357"}
SHOPS = "Bodrog-parti Pékség|Körös Patika|Szegedi Közlekedés|Mátra Áram|Napfény Könyvek|Alföld Élelmiszer".split("|")
NAMES = {"HUF": "Bodrog Alapszámla", "EUR": "Bodrog Devizaszámla"}
CUSTOMERS = (
    ("31704466", "Balaton-88", "Kovács Anna", (("HUF", 1_284_310), ("EUR", 241_975))),
    ("58820193", "Csillag-17", "Nagy Bence", (("HUF", 402_655),)),
    ("94415072", "Hortobagy-5", "Szűcs Réka", (("EUR", 388_040), ("HUF", 913_502))),
    ("60937718", "Paprika-203", "Fekete Ödön", (("HUF", 76_140), ("HUF", 2_150_000))),
)
TEXTS = {
    "ACCESS_EXCEEDED": "A napi lekérdezések száma elérte az engedélyezett értéket.",
    "CANCELLATION_INVALID": "A megbízás már nem vonható vissza.",
    "CONSENT_EXPIRED": "A hozzájárulás lejárt.",
    "CONSENT_INVALID": "A hozzájárulás nem érvényes erre a műveletre.",
    "CONSENT_UNKNOWN": "Nincs ilyen hozzájárulás.",
    "EXECUTION_DATE_INVALID": "A terhelési nap nem megfelelő.",
    "FORMAT_ERROR": "A kérés formátuma hibás.",
    "PARAMETER_NOT_SUPPORTED": "A paraméter értéke nem támogatott.",
    "PERIOD_INVALID": "A lekérdezett időszak nem megfelelő.",
    "PRODUCT_INVALID": "A fizetési termék nem használható ezzel a számlával.",
    "PRODUCT_UNKNOWN": "Ismeretlen fizetési termék.",
    "PSU_CREDENTIALS_INVALID": "Hibás azonosító, jelszó vagy kód.",
    "RESOURCE_UNKNOWN": "A kért erőforrás nem található.",
    "SCA_METHOD_UNKNOWN": "Ismeretlen hitelesítési mód.",
    "SERVICE_INVALID": "A művelet itt nem engedélyezett.",
    "STATUS_INVALID": "A művelet ebben az állapotban nem végezhető el.",
}
STEPS = {
    "received": ("updatePsuIdentification", "Kérjük, adja meg a netbank azonosítóját."),
    "psuIdentified": ("updatePsuAuthentication", "Kérjük, adja meg a netbank jelszavát."),
    "psuAuthenticated": ("selectAuthenticationMethod", "Kérjük, válasszon hitelesítési módot."),
    "scaMethodSelected": ("authoriseTransaction", "Kérjük, adja meg az egyszer használatos kódot."),
    "finalised": ("", "A hitelesítés sikeres."),
}


@dataclass(frozen=True)
class Pending:
    due: datetime
    minor: int
    entry: dict[str, Any]
    payment: "Thing | None" = None


@dataclass
class Account:
    id: str
    iban: str
    currency: str
    minor: int
    booked: list[dict[str, Any]] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)

    @property
    def reference(self) -> dict[str, str]:
        return {"iban": self.iban, "currency": self.currency}

    @property
    def available(self) -> int:
        return self.minor + sum(one.minor for one in self.pending)

    def write(self, minor: int) -> dict[str, str]:
        text = str(minor)
        if self.currency == "EUR":
            text = f"{'-' if minor < 0 else ''}{abs(minor) // 100}.{abs(minor) % 100:02}"
        return {"currency": self.currency, "amount": text}


@dataclass(frozen=True)
class Customer:
    id: str
    password: str
    name: str
    methods: Sequence[dict[str, str]]
    accounts: Sequence[Account]


@dataclass
class Authorisation:
    path: str
    cancels: bool
    status: str = "received"
    customer: Customer | None = None
    method: dict[str, str] | None = None
    misses: int = 0


@dataclass
class Thing:
    """A consent, or a payment if it has a payer."""

    client: str
    path: str
    document: dict[str, Any]
    created: datetime
    status: str
    payer: Account | None = None
    minor: int = 0
    is_instant: bool = False
    customer: Customer | None = None
    method: dict[str, str] | None = None
    last_action: date | None = None
    asked_to_cancel: bool = False
    uses: Counter[tuple[str, date]] = field(default_factory=Counter)
    authorisations: list[Authorisation] = field(default_factory=list)


class TppError(Exception):
    def __init__(self, status: int, code: str, path: str = "", link: str = "") -> None:
        super().__init__(code)
        self.status, self.code, self.path, self.link = status, code, path, link


def need[T](value: T | None, status: int, code: str, path: str = "", link: str = "") -> T:
    if not value:
        raise TppError(status, code, path, link)
    return value


def check_digits(country: str, rest: str) -> str:
    digits = "".join(str(int(sign, 36)) for sign in rest + country + "00")
    return f"{98 - int(digits) % 97:02}"


def is_iban(text: Any) -> bool:
    if not isinstance(text, str) or not re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text):
        return False
    return check_digits(text[:2], text[4:]) == text[2:4] and (text[:2] != "HU" or len(text) == 28)


def read_day(value: Any, path: str) -> date:
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise TppError(400, "FORMAT_ERROR", path) from None


def read_minor(value: Any, currency: str) -> int:
    form = r"[1-9]\d{0,9}" if currency == "HUF" else r"(?!0+\.00)\d{1,9}\.\d\d"
    need(isinstance(value, str) and re.fullmatch(form, value), 400, "FORMAT_ERROR", "instructedAmount.amount")
    return int(str(value).replace(".", ""))


def inside(document: Any, *names: str) -> Any:
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def link(**places: str) -> dict[str, Any]:
    return {name: {"href": place} for name, place in places.items()}


class Bodrog:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"bodrog {seed}")
        self._things: dict[str, Thing] = {}
        self._pages: dict[str, tuple[str, list[dict[str, Any]], int]] = {}
        self._customers = [self._welcome(*row) for row in CUSTOMERS]
        consent, account = f"{BASE}/consents/{{id}}", f"{BASE}/accounts/{{id}}"
        product = f"{BASE}/(?P<service>payments|periodic-payments)/{{product}}"
        payment = product + "/{id}"
        routes: list[tuple[str, str, Any]] = [
            ("POST", f"{BASE}/consents", self._ask_consent),
            ("GET", consent, self._show_consent),
            ("DELETE", consent, self._end_consent),
            ("GET", f"{BASE}/accounts", self._list_accounts),
            ("GET", account + "/balances", self._balances),
            ("GET", account + "/transactions", self._list_entries),
            ("POST", product, self._initiate),
            ("GET", payment, self._show_payment),
            ("DELETE", payment, self._cancel),
        ]
        routes += [("GET", thing + "/status", self._show_status) for thing in (consent, payment)]
        for thing in (
            f"{consent}/authorisations",
            f"{payment}/authorisations",
            f"{payment}/cancellation-authorisations",
        ):
            routes += [
                ("POST", thing, self._start),
                ("GET", thing + "/{authorisation}", self._show_authorisation),
                ("PUT", thing + "/{authorisation}", self._update),
            ]
        self._routes = Routes(*routes)

    def answer(self, request: Request) -> Response:
        self._advance()
        if request.headers.get("x-bodrog-client-id") not in CLIENTS:
            refused = {"httpCode": "401", "httpMessage": "Unauthorized", "moreInformation": "Client id not registered."}
            return respond(401, refused, {"X-Global-Transaction-ID": self._digits(12)})
        try:
            is_uuid = re.fullmatch(r"[0-9a-fA-F-]{36}", request.headers.get("x-request-id", ""))
            need(is_uuid, 400, "FORMAT_ERROR", "X-Request-ID")
            handler, parameters = self._routes.find(request.method, request.path)
            return handler(request, **parameters)
        except NoRoute as wrong:
            error = TppError(405, "SERVICE_INVALID") if wrong.allowed else TppError(404, "RESOURCE_UNKNOWN")
        except TppError as problem:
            error = problem
        message = {"category": "ERROR", "code": error.code, "text": TEXTS[error.code]}
        document: dict[str, Any] = {"tppMessages": [message | ({"path": error.path} if error.path else {})]}
        if error.link:
            document["_links"] = link(scaStatus=error.link)
        return self._tell(request, error.status, document)

    def _digits(self, length: int) -> str:
        return "".join(self._random.choices("0123456789", k=length))

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    @property
    def _now(self) -> datetime:
        return self.clock.now.astimezone(BUDAPEST)

    def _welcome(self, id: str, password: str, name: str, balances: Sequence[tuple[str, int]]) -> Customer:
        methods = [
            {"authenticationType": kind, "authenticationMethodId": f"{number}{self._digits(4)}", "name": told}
            for number, kind, told in (("1", "SMS_OTP", "SMS kód"), ("2", "CHIP_OTP", "Kártyaolvasó"))
        ]
        return Customer(id, password, name, methods, [self._open(*balance) for balance in balances])

    def _open(self, currency: str, minor: int) -> Account:
        number = f"11702016{self._digits(16)}"
        account = Account(self._uuid(), f"HU{check_digits('HU', number)}{number}", currency, minor)
        most = 38_000 if currency == "HUF" else 9_500
        for days in sorted(self._random.sample(range(3, 84), 24), reverse=True):
            change, who = (
                self._random.choice((-1, -1, -1, 1)) * self._random.randrange(400, most),
                self._random.choice(SHOPS),
            )
            self._book(account, self._now - timedelta(days=days), change, self._entry(account, change, who, "Vásárlás"))
        for hours in (20, 31):
            change, who = -self._random.randrange(400, most), self._random.choice(SHOPS)
            entry = self._entry(account, change, who, "Kártyás zárolás")
            account.pending.append(Pending(self._now + timedelta(hours=hours), change, entry))
        return account

    def _entry(
        self, account: Account, minor: int, who: str, text: str, code: str = "PMNT-CCRD-POSD", iban: str = ""
    ) -> dict[str, Any]:
        side = "creditor" if minor < 0 else "debtor"
        entry: dict[str, Any] = {"transactionAmount": account.write(minor), f"{side}Name": who}
        if iban:
            entry[f"{side}Account"] = {"iban": iban}
        return entry | {"remittanceInformationUnstructured": text, "bankTransactionCode": code}

    def _book(self, account: Account, time: datetime, minor: int, entry: dict[str, Any]) -> None:
        account.minor += minor
        day = time.date()
        after = {"balanceType": "interimBooked", "balanceAmount": account.write(account.minor)}
        told = {"transactionId": f"{day:%Y%m%d}/{self._digits(9)}", "bookingDate": str(day), "valueDate": str(day)}
        account.booked.insert(0, told | entry | {"balanceAfterTransaction": after})

    def _pay(self, payment: Thing, account: Account, time: datetime) -> None:
        self._book(account, time, -payment.minor, self._payment_entry(payment, account))
        if not payment.is_instant:
            fee = self._entry(account, -SEPA_FEE, "Bodrog Bank Zrt.", "SEPA átutalás díja", "ACMT-MDOP-FEES")
            self._book(account, time, -SEPA_FEE, fee)

    def _payment_entry(self, payment: Thing, account: Account) -> dict[str, Any]:
        document, code = payment.document, "PMNT-IRCT-DMCT" if payment.is_instant else "PMNT-ICDT-ESCT"
        who, text = document["creditorName"], document.get("remittanceInformationUnstructured", "")
        return self._entry(account, -payment.minor, who, text, code, document["creditorAccount"]["iban"])

    def _advance(self) -> None:
        now = self._now
        for customer in self._customers:
            for account in customer.accounts:
                for one in sorted(account.pending, key=lambda pending: pending.due):
                    if one.due > now:
                        continue
                    account.pending.remove(one)
                    if one.payment:
                        one.payment.status = "ACSC"
                        self._pay(one.payment, account, one.due)
                    else:
                        self._book(account, one.due, one.minor, one.entry)
        for thing in self._things.values():
            waits = thing.status in ("received", "RCVD")
            if waits and now >= thing.created + timedelta(minutes=30):
                thing.status = "RJCT" if thing.payer else "rejected"
            if thing.status == "valid":
                is_over = now.date() > date.fromisoformat(thing.document["validUntil"])
                thing.status = "expired" if is_over else "valid"

    def _tell(self, request: Request, status: int, document: Any, headers: Mapping[str, str] | None = None) -> Response:
        return respond(status, document, {"X-Request-ID": request.headers.get("x-request-id", ""), **(headers or {})})

    def _done(self, request: Request) -> Response:
        return Response(204, "", {"X-Request-ID": request.headers["x-request-id"]})

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document if request.body else {}
        except ValueError:
            raise TppError(400, "FORMAT_ERROR") from None

    def _thing(self, request: Request) -> Thing:
        for path, thing in self._things.items():
            if f"{request.path}/".startswith(f"{path}/") and thing.client == request.headers["x-bodrog-client-id"]:
                return thing
        if request.path.startswith(f"{BASE}/consents/"):
            raise TppError(403, "CONSENT_UNKNOWN")
        raise TppError(404, "RESOURCE_UNKNOWN")

    def _ask_consent(self, request: Request) -> Response:
        body, today = self._body(request), self._now.date()
        access, recurring, often = body.get("access"), body.get("recurringIndicator"), body.get("frequencyPerDay")
        need(access == {"allPsd2": "allAccounts"}, 400, "FORMAT_ERROR", "access")
        need(isinstance(recurring, bool), 400, "FORMAT_ERROR", "recurringIndicator")
        is_right = isinstance(often, int) and 1 <= often <= (4 if recurring else 1)
        need(is_right, 400, "FORMAT_ERROR", "frequencyPerDay")
        until = read_day(body.get("validUntil"), "validUntil")
        need(until >= today, 400, "FORMAT_ERROR", "validUntil")
        names = ("access", "recurringIndicator", "frequencyPerDay")
        document = {name: body[name] for name in names} | {"validUntil": str(min(until, today + timedelta(days=180)))}
        id = f"TC-{today:%y%m%d}-{self._digits(10)}"
        path = f"{BASE}/consents/{id}"
        consent = Thing(request.headers["x-bodrog-client-id"], path, document, self._now, "received", last_action=today)
        self._things[path] = consent
        told: dict[str, Any] = {"consentStatus": "received", "consentId": id}
        begin = link(startAuthorisationWithPsuIdentification=f"{path}/authorisations")
        told["_links"] = begin | link(self=path, status=f"{path}/status")
        return self._tell(request, 201, told, {"Location": path, "ASPSP-SCA-Approach": "EMBEDDED"})

    def _show_consent(self, request: Request, id: str) -> Response:
        consent = self._thing(request)
        more = {"lastActionDate": str(consent.last_action), "consentStatus": consent.status}
        links = link(account=f"{BASE}/accounts") if consent.status == "valid" else {}
        return self._tell(request, 200, consent.document | more | {"_links": links})

    def _show_status(self, request: Request, **parts: str) -> Response:
        thing = self._thing(request)
        if not thing.payer:
            return self._tell(request, 200, {"consentStatus": thing.status})
        told: dict[str, Any] = {"transactionStatus": thing.status}
        if thing.status in ("ACTC", "ACSP", "ACSC"):
            told["fundsAvailable"] = True
        if thing.status == "RJCT":
            told["psuMessage"] = "A megbízást nem teljesítettük."
        return self._tell(request, 200, told)

    def _end_consent(self, request: Request, id: str) -> Response:
        consent = self._thing(request)
        need(consent.status in ("received", "valid"), 409, "STATUS_INVALID")
        consent.status, consent.last_action = "terminatedByTpp", self._now.date()
        return self._done(request)

    def _is_open(self, thing: Thing, cancels: bool) -> bool:
        return thing.asked_to_cancel and thing.status == "ACTC" if cancels else thing.status in ("received", "RCVD")

    def _start(self, request: Request, **parts: str) -> Response:
        thing, body = self._thing(request), self._body(request)
        authorisation = Authorisation(f"{request.path}/{self._uuid()}", "/cancellation-" in request.path)
        need(self._is_open(thing, authorisation.cancels), 409, "STATUS_INVALID")
        if "psu-id" in request.headers:
            self._identify(request, authorisation)
        thing.authorisations.append(authorisation)
        if password := inside(body, "psuData", "password"):
            self._authenticate(thing, authorisation, password)
        return self._tell_step(request, 201, thing, authorisation)

    def _authorisation(self, request: Request) -> tuple[Thing, Authorisation]:
        thing = self._thing(request)
        found = next((one for one in thing.authorisations if one.path == request.path), None)
        return thing, need(found, 404, "RESOURCE_UNKNOWN")

    def _show_authorisation(self, request: Request, **parts: str) -> Response:
        return self._tell(request, 200, {"scaStatus": self._authorisation(request)[1].status})

    def _update(self, request: Request, **parts: str) -> Response:
        thing, authorisation = self._authorisation(request)
        body = self._body(request)
        password = inside(body, "psuData", "password")
        code, method = body.get("scaAuthenticationData"), body.get("authenticationMethodId")
        is_identified = "psu-id" in request.headers
        need(code or method or password or is_identified, 400, "FORMAT_ERROR", link=authorisation.path)
        needed = "psuIdentified" if password else "received"
        if code or method:
            needed = "scaMethodSelected" if code else "psuAuthenticated"
        is_open = self._is_open(thing, authorisation.cancels) and authorisation.status == needed
        need(is_open, 409, "STATUS_INVALID", link=authorisation.path)
        if code:
            self._finish(thing, authorisation, code)
        elif method:
            self._select(thing, authorisation, method)
        elif password:
            self._authenticate(thing, authorisation, password)
        else:
            self._identify(request, authorisation)
        return self._tell_step(request, 200, thing, authorisation)

    def _identify(self, request: Request, authorisation: Authorisation) -> None:
        customer = next((one for one in self._customers if one.id == request.headers["psu-id"]), None)
        authorisation.customer = need(customer, 401, "PSU_CREDENTIALS_INVALID", "PSU-ID")
        authorisation.status = "psuIdentified"

    def _miss(self, thing: Thing, authorisation: Authorisation, path: str) -> None:
        authorisation.misses += 1
        if authorisation.misses == 3:
            authorisation.status = "failed"
            if not authorisation.cancels:
                thing.status = "RJCT" if thing.payer else "rejected"
        raise TppError(401, "PSU_CREDENTIALS_INVALID", path, authorisation.path)

    def _authenticate(self, thing: Thing, authorisation: Authorisation, password: Any) -> None:
        customer = need(authorisation.customer, 400, "FORMAT_ERROR", "PSU-ID")
        is_owner = not thing.payer or thing.payer in customer.accounts
        if customer.password != password or not is_owner:
            self._miss(thing, authorisation, "psuData.password")
        authorisation.status = "psuAuthenticated"
        if authorisation.cancels and thing.method:
            self._select(thing, authorisation, thing.method["authenticationMethodId"])
        elif thing.is_instant:
            self._select(thing, authorisation, customer.methods[0]["authenticationMethodId"])

    def _select(self, thing: Thing, authorisation: Authorisation, id: Any) -> None:
        methods = authorisation.customer.methods if authorisation.customer else ()
        method = next((one for one in methods if one["authenticationMethodId"] == id), None)
        need(method, 400, "SCA_METHOD_UNKNOWN", "authenticationMethodId", authorisation.path)
        authorisation.status, authorisation.method = "scaMethodSelected", method

    def _finish(self, thing: Thing, authorisation: Authorisation, code: Any) -> None:
        if not authorisation.method or CODES[authorisation.method["authenticationType"]] != code:
            self._miss(thing, authorisation, "scaAuthenticationData")
        authorisation.status, now, account = "finalised", self._now, thing.payer
        if authorisation.cancels:
            thing.status = "CANC"
            return
        thing.method, thing.customer, thing.last_action = authorisation.method, authorisation.customer, now.date()
        if not account:
            thing.status = "valid"
        elif "startDate" in thing.document:
            thing.status = "ACTC"
        elif thing.minor > account.available:
            thing.status = "RJCT"
        else:
            thing.status = "ACSP"
            due = now + (timedelta(seconds=5) if thing.is_instant else timedelta(hours=2))
            account.pending.insert(0, Pending(due, -thing.minor, self._payment_entry(thing, account), thing))

    def _tell_step(self, request: Request, status: int, thing: Thing, authorisation: Authorisation) -> Response:
        name, message = STEPS[authorisation.status]
        told: dict[str, Any] = {"authorisationId": authorisation.path.rpartition("/")[2]} if status == 201 else {}
        told |= {"scaStatus": authorisation.status, "psuMessage": message}
        if authorisation.status == "psuAuthenticated" and authorisation.customer:
            told["scaMethods"] = authorisation.customer.methods
        if authorisation.status == "scaMethodSelected" and authorisation.method:
            told["chosenScaMethod"] = authorisation.method
            length = len(CODES[authorisation.method["authenticationType"]])
            told["challengeData"] = {"otpMaxLength": length, "otpFormat": "integer"}
            if authorisation.method["authenticationType"] == "CHIP_OTP":
                told["challengeData"]["data"] = [self._digits(6)]
        links = link(**{name: authorisation.path}) if name else {}
        told["_links"] = links | link(scaStatus=authorisation.path)
        headers = {"ASPSP-SCA-Approach": "EMBEDDED"}
        return self._tell(request, status, told, headers | ({"Location": authorisation.path} if status == 201 else {}))

    def _consent(self, request: Request) -> tuple[Thing, Customer]:
        id = need(request.headers.get("consent-id"), 400, "FORMAT_ERROR", "Consent-ID")
        consent = self._things.get(f"{BASE}/consents/{id}")
        if not consent or consent.client != request.headers["x-bodrog-client-id"]:
            raise TppError(400, "CONSENT_UNKNOWN", "Consent-ID")
        need(consent.status != "expired", 401, "CONSENT_EXPIRED")
        if consent.status != "valid" or not consent.customer:
            raise TppError(401, "CONSENT_INVALID")
        return consent, consent.customer

    def _count(self, request: Request, consent: Thing) -> None:
        key = request.path, self._now.date()
        if "psu-ip-address" not in request.headers and "page" not in request.query:
            need(consent.uses[key] < consent.document["frequencyPerDay"], 429, "ACCESS_EXCEEDED")
            consent.uses[key] += 1
        consent.last_action = self._now.date()

    def _read(self, request: Request, id: str) -> Account:
        consent, customer = self._consent(request)
        account = next((one for one in customer.accounts if one.id == id), None)
        account = need(account, 404, "RESOURCE_UNKNOWN")
        self._count(request, consent)
        return account

    def _show_account(self, customer: Customer, account: Account) -> dict[str, Any]:
        shown = {"resourceId": account.id, **account.reference, "name": NAMES[account.currency]}
        links = link(**{kind: f"{BASE}/accounts/{account.id}/{kind}" for kind in ("balances", "transactions")})
        return shown | {"ownerName": customer.name, "cashAccountType": "CACC", "status": "enabled", "_links": links}

    def _list_accounts(self, request: Request) -> Response:
        consent, customer = self._consent(request)
        self._count(request, consent)
        rows = [self._show_account(customer, one) for one in customer.accounts]
        return self._tell(request, 200, {"accounts": rows})

    def _balances(self, request: Request, id: str) -> Response:
        account = self._read(request, id)
        booked = {"balanceType": "interimBooked", "balanceAmount": account.write(account.minor)}
        available = {"balanceType": "interimAvailable", "balanceAmount": account.write(account.available)}
        time = {"lastChangeDateTime": self._now.isoformat()}
        rows = [available | {"creditLimitIncluded": False} | time, booked | time]
        return self._tell(request, 200, {"account": account.reference, "balances": rows})

    def _list_entries(self, request: Request, id: str) -> Response:
        account = self._read(request, id)
        lists: dict[str, Any] = {}
        if token := request.query.get("page"):
            of, rows, size = self._pages.get(token, ("", [], 0))
            need(of == id, 400, "FORMAT_ERROR", "page")
            lists["booked"] = rows[:size]
        else:
            wanted = need(request.query.get("bookingStatus"), 400, "FORMAT_ERROR", "bookingStatus")
            need(wanted in ("booked", "pending", "both"), 400, "PARAMETER_NOT_SUPPORTED", "bookingStatus")
            start = read_day(request.query.get("dateFrom"), "dateFrom")
            end = read_day(request.query.get("dateTo", self._now.date()), "dateTo")
            need(self._now.date() - timedelta(days=390) <= start <= end, 400, "PERIOD_INVALID", "dateFrom")
            items = request.query.get("itemsPerPage", "10")
            size = int(items) if items.isdecimal() else 0
            need(1 <= size <= 50, 400, "FORMAT_ERROR", "itemsPerPage")
            rows = [one for one in account.booked if str(start) <= one["bookingDate"] <= str(end)]
            rows = rows if wanted != "pending" else []
            lists |= {"booked": rows[:size]} if wanted != "pending" else {}
            lists |= {"pending": [one.entry for one in account.pending]} if wanted != "booked" else {}
        links = link(account=f"{BASE}/accounts/{id}")
        if rows[size:]:
            token = self._uuid().replace("-", "")
            self._pages[token] = id, rows[size:], size
            links |= link(next=f"{request.path}?page={token}")
        return self._tell(request, 200, {"account": account.reference, "transactions": lists | {"_links": links}})

    def _initiate(self, request: Request, service: str, product: str) -> Response:
        body = self._body(request)
        need(product in CURRENCIES, 404, "PRODUCT_UNKNOWN")
        accounts = [one for who in self._customers for one in who.accounts]
        payer = next((one for one in accounts if one.iban == inside(body, "debtorAccount", "iban")), None)
        payer = need(payer, 400, "RESOURCE_UNKNOWN", "debtorAccount.iban")
        currency = inside(body, "instructedAmount", "currency")
        need(payer.currency == currency == CURRENCIES[product], 403, "PRODUCT_INVALID")
        minor = read_minor(inside(body, "instructedAmount", "amount"), currency)
        payee = inside(body, "creditorAccount", "iban")
        is_right = is_iban(payee) and (product == SEPA or payee[:2] == "HU")
        need(is_right, 400, "FORMAT_ERROR", "creditorAccount.iban")
        for name, least, most in (("creditorName", 1, 70), ("remittanceInformationUnstructured", 0, 140)):
            text = body.get(name, "")
            need(isinstance(text, str) and least <= len(text) <= most, 400, "FORMAT_ERROR", name)
        names = ["endToEndIdentification", "debtorAccount", "instructedAmount", "creditorAccount", "creditorName"]
        names += ["remittanceInformationUnstructured"]
        names += ["startDate", "frequency", "dayOfExecution"] if service == "periodic-payments" else []
        document = {name: body[name] for name in names if name in body}
        id = f"{self._now:%y%m%d}TB{self._digits(11)}"
        path = f"{BASE}/{service}/{product}/{id}"
        payment = Thing(
            request.headers["x-bodrog-client-id"], path, document, self._now, "RCVD", payer, minor, product == INSTANT
        )
        if service == "periodic-payments":
            day = read_day(document.get("startDate"), "startDate")
            need(document.get("frequency") == "Monthly", 400, "FORMAT_ERROR", "frequency")
            need(day > self._now.date(), 400, "EXECUTION_DATE_INVALID", "startDate")
        self._things[path] = payment
        told: dict[str, Any] = {"transactionStatus": "RCVD", "paymentId": id}
        if not payment.is_instant:
            told["transactionFees"] = payer.write(SEPA_FEE)
        begin = link(startAuthorisationWithPsuAuthentication=f"{path}/authorisations")
        told["_links"] = begin | link(self=path, status=f"{path}/status")
        return self._tell(request, 201, told, {"Location": path, "ASPSP-SCA-Approach": "EMBEDDED"})

    def _show_payment(self, request: Request, **parts: str) -> Response:
        payment = self._thing(request)
        more = {"paymentId": parts["id"], "transactionStatus": payment.status}
        return self._tell(request, 200, payment.document | more)

    def _cancel(self, request: Request, **parts: str) -> Response:
        payment = self._thing(request)
        if payment.status == "RCVD":
            payment.status = "CANC"
            return self._done(request)
        need(payment.status == "ACTC", 405, "CANCELLATION_INVALID")
        payment.asked_to_cancel = True
        links = link(startAuthorisationWithPsuAuthentication=f"{payment.path}/cancellation-authorisations")
        links |= link(self=payment.path, status=f"{payment.path}/status")
        return self._tell(request, 202, {"transactionStatus": payment.status, "_links": links})
