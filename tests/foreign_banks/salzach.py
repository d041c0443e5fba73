"""Salzach, an Austrian bank of the family of Berlin Group NextGenPSD2 1.3, with the embedded approach.

- Everything is under `/psd2/v1`. The app is known by its TLS certificate, so it sends no secret. Each request needs an
  X-Request-ID, a UUID, that comes back in the header. Links and Location are relative.
- Errors are `{"tppMessages": [{"category", "code", "path"?, "text"}], "referenz"?}`, with German texts; `path` is the
  wrong member or header, and `referenz` is the X-Request-ID.
- A consent (`access` is `allPsd2` or lists of IBANs) is received, valid, rejected, terminatedByTpp (by DELETE, 204) or
  expired (after the day `validUntil`). Reads send it as Consent-ID: 401 if it is not valid or does not reach that far.
- An authorisation is started with a PSU-ID (psuIdentified) or without (received; the PSU-ID is sent with an update
  then). PUT brings the password (psuAuthenticated with `scaMethods` if the customer has several, else scaMethodSelected
  at once), `authenticationMethodId` (scaMethodSelected) and `scaAuthenticationData`, the TAN (finalised). The last
  answer also has the new status of the consent or payment. A wrong password gives 401, the third one fails the
  authorisation; a wrong TAN gives 401 and fails it at once, and with it the consent (rejected) or payment (RJCT). An
  update out of order gives 409. Test customers all have the same TAN.
- Lists of accounts have balances if `withBalance=true`. Booked entries are newest first, for up to 90 days, in pages
  of `limit`; `_links.next` is the next page. Reserved amounts are pending entries. The available balance has the limit.
- A single payment is RCVD, then ACTC after the TAN (or RJCT if the account does not cover it), ACSP after a minute, and
  ACSC, booked, after five minutes. With `requestedExecutionDate` it stays ACTC until that day and is ACSC then.
- A periodic payment is ACTC until `startDate`, ACSP while it runs, and ACSC after `endDate`.
- DELETE of a payment gives 204 (CANC) before the TAN. Later it gives 202, and the customer authorises the cancellation
  (then CANC). It is too late (405) from ACSP on, but a periodic payment can be cancelled while it runs.
"""

import base64
import calendar
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from urllib.parse import urlencode

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond

BASE = "/psd2/v1"
TAN = "271045"
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
SERVICES = ("payments", "periodic-payments")
PRODUCT = "sepa-credit-transfers"
MONTHS = {"Monthly": 1, "EveryTwoMonths": 2, "Quarterly": 3, "SemiAnnual": 6, "Annual": 12}
WEEKS = {"Weekly": 1, "EveryTwoWeeks": 2}
SHOPS = ("Mozart Lebensmittel", "Trafik Gnigl", "Salzachstrom", "Buchhandlung Nonntal", "Apotheke Maxglan")
TEXTS = {
    "CANCELLATION_INVALID": "Der Auftrag kann nicht mehr storniert werden.",
    "CONSENT_EXPIRED": "Die Zustimmung ist abgelaufen.",
    "CONSENT_INVALID": "Die Zustimmung ist nicht gültig oder umfasst diesen Zugriff nicht.",
    "CONSENT_UNKNOWN": "Die Zustimmung ist uns nicht bekannt.",
    "EXECUTION_DATE_INVALID": "Das Durchführungsdatum ist nicht möglich.",
    "FORMAT_ERROR": "Die Anfrage ist unvollständig oder hat ein falsches Format.",
    "PERIOD_INVALID": "Der Zeitraum ist nicht zulässig.",
    "PRODUCT_UNKNOWN": "Dieses Zahlungsprodukt bieten wir nicht an.",
    "PSU_CREDENTIALS_INVALID": "Die Zugangsdaten sind falsch.",
    "RESOURCE_UNKNOWN": "Die Ressource wurde nicht gefunden.",
    "SCA_METHOD_UNKNOWN": "Dieses Freigabeverfahren ist für den Kunden nicht vorgesehen.",
    "SERVICE_INVALID": "Die Methode ist hier nicht erlaubt.",
    "STATUS_INVALID": "Der Vorgang lässt diesen Schritt im derzeitigen Status nicht zu.",
}
STEPS = {
    "received": ("updatePsuIdentification", "Bitte geben Sie Ihre Verfügernummer ein."),
    "psuIdentified": ("updatePsuAuthentication", "Bitte geben Sie Ihr Passwort ein."),
    "psuAuthenticated": ("selectAuthenticationMethod", "Bitte wählen Sie ein Freigabeverfahren."),
    "scaMethodSelected": ("authoriseTransaction", "Bitte geben Sie die TAN ein."),
}


@dataclass
class Account:
    id: str
    iban: str
    name: str
    product: str
    cents: int
    limit: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    psu: str
    password: str
    name: str
    accounts: Sequence[Account]
    methods: Sequence[dict[str, str]]


@dataclass
class Authorisation:
    id: str
    path: str
    customer: Customer | None
    status: str
    misses: int = 0


@dataclass
class Thing:
    """A consent or a payment."""

    id: str
    service: str
    path: str
    document: dict[str, Any]
    status: str
    touched: date
    payer: Account | None = None
    customer: Customer | None = None
    accepted: datetime | None = None
    due: date | None = None
    is_cancelling: bool = False
    authorisations: dict[str, list[Authorisation]] = field(
        default_factory=lambda: {"authorisations": [], "cancellation-authorisations": []}
    )

    @property
    def cents(self) -> int:
        return int(Decimal(self.document["instructedAmount"]["amount"]) * 100)

    @property
    def is_reserved(self) -> bool:
        return bool(self.accepted) and not self.due and self.status in ("ACTC", "ACSP")


def check_digits(country: str, rest: str) -> str:
    return f"{98 - int(''.join(str(int(sign, 36)) for sign in rest + country + '00')) % 97:02}"


def is_iban(text: Any) -> bool:
    if not isinstance(text, str) or not re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text):
        return False
    return check_digits(text[:2], text[4:]) == text[2:4]


def money(cents: int) -> dict[str, str]:
    sign, whole = "-" if cents < 0 else "", abs(cents)
    return {"currency": "EUR", "amount": f"{sign}{whole // 100}.{whole % 100:02}"}


def link(href: str) -> dict[str, str]:
    return {"href": href}


def read_day(value: Any, place: str) -> date:
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    raise Fault(400, "FORMAT_ERROR", place)


def next_due(day: date, frequency: str) -> date:
    if frequency in WEEKS:
        return day + timedelta(weeks=WEEKS[frequency])
    year, month = divmod(day.year * 12 + day.month - 1 + MONTHS[frequency], 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


class Salzach:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"salzach {seed}")
        self._things: dict[tuple[str, str], Thing] = {}
        self._customers = [
            Customer(
                "bernd.hallein",
                "Untersberg!72",
                "Bernd Hallein",
                [
                    self._open("Girokonto", "Salzach Giro Plus", 268_415, 100_000),
                    self._open("Sparkonto", "Salzach Sparen", 915_000, 0),
                ],
                [self._method("SMS_OTP", "SMS-TAN an +43 664 *** 18")],
            ),
            Customer(
                "annelies.golling",
                "Tennengau#31",
                "Mag. Annelies Golling",
                [
                    self._open("Gehaltskonto", "Salzach Giro Premium", 503_922, 250_000),
                    self._open("Haushalt", "Salzach Giro", 87_350, 0),
                    self._open("Rücklage", "Salzach Sparen", 1_480_000, 0),
                ],
                [
                    self._method("PUSH_OTP", "SalzachSign am Mobiltelefon"),
                    self._method("CHIP_OTP", "cardTAN mit Karte *** 4402"),
                ],
            ),
        ]
        consent, account = BASE + "/consents/{id}", BASE + "/accounts/{id}"
        routes: list[tuple[str, str, Any]] = [
            ("POST", BASE + "/consents", self._ask_consent),
            ("GET", consent, self._show_consent),
            ("DELETE", consent, self._end_consent),
            ("GET", BASE + "/accounts", self._list_accounts),
            ("GET", account, self._show_account),
            ("GET", account + "/balances", self._show_balances),
            ("GET", account + "/transactions", self._list_entries),
        ]
        for service in SERVICES:
            payment = f"{BASE}/{service}/{PRODUCT}/{{id}}"
            routes += [
                ("POST", f"{BASE}/{service}/{{product}}", partial(self._pay, service=service)),
                ("GET", payment, partial(self._show_payment, service=service)),
                ("DELETE", payment, partial(self._cancel, service=service)),
            ]
            routes += self._steps_of(payment, service, "authorisations")
            routes += self._steps_of(payment, service, "cancellation-authorisations")
        self._routes = Routes(*routes, *self._steps_of(consent, "consents", "authorisations"))

    def _steps_of(self, path: str, service: str, kind: str) -> list[tuple[str, str, Any]]:
        all, one = f"{path}/{kind}", f"{path}/{kind}/{{authorisation}}"
        found: list[tuple[str, str, Any]] = [
            ("POST", all, partial(self._start, service=service, kind=kind)),
            ("GET", all, partial(self._list_authorisations, service=service, kind=kind)),
            ("GET", one, partial(self._show_authorisation, service=service, kind=kind)),
            ("PUT", one, partial(self._update, service=service, kind=kind)),
        ]
        if kind == "authorisations":
            found.append(("GET", path + "/status", partial(self._show_status, service=service)))
        return found

    def answer(self, request: Request) -> Response:
        self._advance()
        told, sent = {}, request.headers.get("x-request-id", "")
        if UUID.fullmatch(sent):
            told["X-Request-ID"] = sent
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            if not told:
                raise Fault(400, "FORMAT_ERROR", "X-Request-ID")
            response = handler(request, **parameters)
            return Response(response.status, response.content, {**response.headers, **told})
        except NoRoute as wrong:
            fault = Fault(405, "SERVICE_INVALID") if wrong.allowed else Fault(404, "RESOURCE_UNKNOWN")
            if wrong.allowed:
                told["Allow"] = ", ".join(wrong.allowed)
        except Fault as error:
            fault = error
        message = {"category": "ERROR", "code": fault.word}
        if fault.place:
            message["path"] = fault.place
        message["text"] = fault.more.get("text", TEXTS[fault.word])
        document: dict[str, Any] = {"tppMessages": [message]}
        if "X-Request-ID" in told:
            document["referenz"] = told["X-Request-ID"]
        return respond(fault.status, document, told)

    def _word(self, length: int, signs: str = "0123456789abcdef") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _method(self, kind: str, name: str) -> dict[str, str]:
        return {"authenticationType": kind, "authenticationMethodId": self._word(6, "0123456789"), "name": name}

    def _open(self, name: str, product: str, cents: int, limit: int) -> Account:
        rest = f"20404{self._word(11, '0123456789')}"
        id = self._word(20, "ABCDEFGHJKLMNPQRSTUVWXYZ23456789")
        account = Account(id, f"AT{check_digits('AT', rest)}{rest}", name, product, cents, limit)
        for days in sorted(self._random.sample(range(1, 88), 34), reverse=True):
            change = self._random.choice((-1, -1, -1, 1)) * self._random.randrange(190, 14_000)
            day = self.clock.today - timedelta(days=days)
            self._enter(account, day, change, self._random.choice(SHOPS), "Kartenzahlung", None)
        return account

    def _enter(self, account: Account, day: date, cents: int, who: str, text: str, iban: str | None) -> None:
        entry: dict[str, Any] = {
            "transactionId": f"{day:%Y%m%d}{self._word(10, '0123456789')}",
            "bookingDate": day.isoformat(),
            "valueDate": day.isoformat(),
            "transactionAmount": money(cents),
            "creditorName" if cents < 0 else "debtorName": who,
        }
        if iban:
            entry["creditorAccount"] = {"iban": iban}
        account.entries.insert(0, entry | {"remittanceInformationUnstructured": text})

    def _book(self, thing: Thing, payer: Account, day: date) -> None:
        sent = thing.document
        payer.cents -= thing.cents
        text, iban = sent["remittanceInformationUnstructured"], sent["creditorAccount"]["iban"]
        self._enter(payer, day, -thing.cents, sent["creditorName"], text, iban)

    def _advance(self) -> None:
        now, today = self.clock.now, self.clock.today
        for thing in self._things.values():
            if thing.status in ("received", "valid") and thing.document["validUntil"] < today.isoformat():
                thing.status, thing.touched = "expired", today
            if not thing.payer or not thing.accepted or thing.status not in ("ACTC", "ACSP"):
                continue
            if thing.service == "periodic-payments":
                last = thing.document.get("endDate", "9999-12-31")
                while thing.due and thing.due <= today and thing.due.isoformat() <= last:
                    thing.status = "ACSP"
                    if thing.cents <= self._available(thing.payer):
                        self._book(thing, thing.payer, thing.due)
                    thing.due = next_due(thing.due, thing.document["frequency"])
                if last < today.isoformat():
                    thing.status = "ACSC"
            elif thing.due:
                if thing.due <= today:
                    is_covered = thing.cents <= self._available(thing.payer)
                    thing.status = "ACSC" if is_covered else "RJCT"
                    if is_covered:
                        self._book(thing, thing.payer, thing.due)
            elif now - thing.accepted >= timedelta(minutes=5):
                thing.status = "ACSC"
                self._book(thing, thing.payer, today)
            elif now - thing.accepted >= timedelta(minutes=1):
                thing.status = "ACSP"

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document if request.body else {}
        except ValueError:
            raise Fault(400, "FORMAT_ERROR", text="Der Inhalt ist kein JSON-Objekt.") from None

    def _thing(self, service: str, id: str) -> Thing:
        if thing := self._things.get((service, id)):
            return thing
        raise Fault(403, "CONSENT_UNKNOWN") if service == "consents" else Fault(404, "RESOURCE_UNKNOWN")

    def _add(self, service: str, id: str, path: str, document: dict[str, Any], status: str) -> Thing:
        thing = Thing(id, service, f"{path}/{id}", document, status, self.clock.today)
        self._things[service, id] = thing
        return thing

    def _tell_new(self, thing: Thing, document: dict[str, Any]) -> Response:
        links = {
            "startAuthorisationWithPsuIdentification": link(f"{thing.path}/authorisations"),
            "self": link(thing.path),
            "status": link(f"{thing.path}/status"),
        }
        headers = {"Location": thing.path, "ASPSP-SCA-Approach": "EMBEDDED"}
        return respond(201, {**document, "_links": links}, headers)

    def _ask_consent(self, request: Request) -> Response:
        sent = self._body(request)
        access, often = sent.get("access"), sent.get("frequencyPerDay")
        if not isinstance(access, dict) or not access:
            raise Fault(400, "FORMAT_ERROR", "access")
        for kind, value in access.items():
            is_all = kind == "allPsd2" and value == "allAccounts"
            if not is_all and (kind not in ("accounts", "balances", "transactions") or not self._are_ibans(value)):
                raise Fault(400, "FORMAT_ERROR", f"access.{kind}")
        if not isinstance(sent.get("recurringIndicator"), bool):
            raise Fault(400, "FORMAT_ERROR", "recurringIndicator")
        if not isinstance(often, int) or not 1 <= often <= 4:
            raise Fault(400, "FORMAT_ERROR", "frequencyPerDay")
        if read_day(sent.get("validUntil"), "validUntil") < self.clock.today:
            raise Fault(400, "PERIOD_INVALID", "validUntil")
        names = ("access", "recurringIndicator", "validUntil", "frequencyPerDay")
        document = {name: sent[name] for name in names}
        consent = self._add("consents", self._word(32), f"{BASE}/consents", document, "received")
        return self._tell_new(consent, {"consentStatus": "received", "consentId": consent.id})

    def _are_ibans(self, value: Any) -> bool:
        rows = value if isinstance(value, list) else []
        return bool(rows) and all(isinstance(row, dict) and is_iban(row.get("iban")) for row in rows)

    def _show_consent(self, request: Request, id: str) -> Response:
        consent = self._thing("consents", id)
        more = {"lastActionDate": consent.touched.isoformat(), "consentStatus": consent.status}
        return respond(200, consent.document | more)

    def _end_consent(self, request: Request, id: str) -> Response:
        consent = self._thing("consents", id)
        if consent.status not in ("received", "valid"):
            raise Fault(409, "STATUS_INVALID")
        consent.status, consent.touched = "terminatedByTpp", self.clock.today
        return Response(204)

    def _show_status(self, request: Request, id: str, service: str) -> Response:
        return respond(200, self._status(self._thing(service, id)))

    def _status(self, thing: Thing) -> dict[str, str]:
        return {"consentStatus" if thing.service == "consents" else "transactionStatus": thing.status}

    # Reads

    def _reach(self, request: Request, kind: str) -> list[Account]:
        if not (id := request.headers.get("consent-id")):
            raise Fault(400, "FORMAT_ERROR", "Consent-ID")
        if not (consent := self._things.get(("consents", id))):
            raise Fault(400, "CONSENT_UNKNOWN", "Consent-ID")
        if consent.status == "expired":
            raise Fault(401, "CONSENT_EXPIRED")
        if consent.status != "valid" or not consent.customer:
            raise Fault(401, "CONSENT_INVALID")
        access = consent.document["access"]
        if "allPsd2" in access:
            return list(consent.customer.accounts)
        rows = [row for name, rows in access.items() if kind in (name, "accounts") for row in rows]
        ibans = {row["iban"] for row in rows}
        return [one for one in consent.customer.accounts if one.iban in ibans]

    def _find(self, request: Request, id: str, kind: str) -> Account:
        seen, reached = self._reach(request, "accounts"), self._reach(request, kind)
        for account in seen:
            if account.id == id:
                if account not in reached:
                    raise Fault(401, "CONSENT_INVALID")
                return account
        raise Fault(404, "RESOURCE_UNKNOWN")

    def _reserved(self, account: Account) -> list[Thing]:
        return [one for one in self._things.values() if one.payer is account and one.is_reserved]

    def _available(self, account: Account) -> int:
        return account.cents + account.limit - sum(one.cents for one in self._reserved(account))

    def _balances(self, account: Account) -> list[dict[str, Any]]:
        day = self.clock.today.isoformat()
        amounts = {"interimBooked": account.cents, "interimAvailable": self._available(account)}
        return [
            {
                "balanceType": kind,
                "balanceAmount": money(cents),
                "creditLimitIncluded": kind == "interimAvailable",
                "referenceDate": day,
            }
            for kind, cents in amounts.items()
        ]

    def _tell_account(self, request: Request, account: Account) -> dict[str, Any]:
        path = f"{BASE}/accounts/{account.id}"
        shown: dict[str, Any] = {
            "resourceId": account.id,
            "iban": account.iban,
            "currency": "EUR",
            "name": account.name,
            "product": account.product,
            "cashAccountType": "SVGS" if "Sparen" in account.product else "CACC",
            "status": "enabled",
        }
        if request.query.get("withBalance") == "true" and account in self._reach(request, "balances"):
            shown["balances"] = self._balances(account)
        links = {"balances": link(f"{path}/balances"), "transactions": link(f"{path}/transactions")}
        return shown | {"_links": links}

    def _list_accounts(self, request: Request) -> Response:
        rows = [self._tell_account(request, one) for one in self._reach(request, "accounts")]
        return respond(200, {"accounts": rows})

    def _show_account(self, request: Request, id: str) -> Response:
        return respond(200, {"account": self._tell_account(request, self._find(request, id, "accounts"))})

    def _show_balances(self, request: Request, id: str) -> Response:
        account = self._find(request, id, "balances")
        return respond(200, {"account": {"iban": account.iban}, "balances": self._balances(account)})

    def _list_entries(self, request: Request, id: str) -> Response:
        account, today, query = self._find(request, id, "transactions"), self.clock.today, request.query
        status = query.get("bookingStatus")
        if status not in ("booked", "pending", "both"):
            raise Fault(400, "FORMAT_ERROR", "bookingStatus")
        start = read_day(query.get("dateFrom"), "dateFrom")
        end = read_day(query.get("dateTo", today.isoformat()), "dateTo")
        if start > end or start < today - timedelta(days=90):
            raise Fault(400, "PERIOD_INVALID", "dateFrom")
        limit, offset = query.get("limit", "20"), 0
        if not limit.isdecimal() or not 1 <= int(limit) <= 100:
            raise Fault(400, "FORMAT_ERROR", "limit")
        if page := query.get("seite"):
            try:
                owner, _, place = base64.urlsafe_b64decode(page).decode().partition("/")
                offset = int(place)
            except ValueError:
                owner = ""
            if owner != id:
                raise Fault(400, "FORMAT_ERROR", "seite")
        path = f"{BASE}/accounts/{id}"
        links, found = {"account": link(path)}, dict[str, Any]()
        if status != "pending":
            rows = [one for one in account.entries if start.isoformat() <= one["bookingDate"] <= end.isoformat()]
            found["booked"] = rows[offset : offset + int(limit)]
            if offset + int(limit) < len(rows):
                token = base64.urlsafe_b64encode(f"{id}/{offset + int(limit)}".encode()).decode()
                links["next"] = link(f"{path}/transactions?{urlencode({**query, 'seite': token})}")
        if status != "booked":
            found["pending"] = [
                {
                    "transactionAmount": money(-one.cents),
                    "creditorName": one.document["creditorName"],
                    "creditorAccount": one.document["creditorAccount"],
                    "remittanceInformationUnstructured": one.document["remittanceInformationUnstructured"],
                }
                for one in self._reserved(account)
            ]
        return respond(200, {"account": {"iban": account.iban}, "transactions": found | {"_links": links}})

    # Payments

    def _pay(self, request: Request, product: str, service: str) -> Response:
        if product != PRODUCT:
            raise Fault(404, "PRODUCT_UNKNOWN")
        if not request.headers.get("psu-ip-address"):
            raise Fault(400, "FORMAT_ERROR", "PSU-IP-Address")
        sent = self._body(request)
        amount = sent.get("instructedAmount")
        if not isinstance(amount, dict) or amount.get("currency") != "EUR":
            raise Fault(400, "FORMAT_ERROR", "instructedAmount.currency")
        text = str(amount.get("amount"))
        if not re.fullmatch(r"\d{1,9}(\.\d{1,2})?", text) or not Decimal(text):
            raise Fault(400, "FORMAT_ERROR", "instructedAmount.amount", text="Der Betrag ist nicht zulässig.")
        ibans = {}
        for name in ("debtorAccount", "creditorAccount"):
            ibans[name] = sent[name].get("iban") if isinstance(sent.get(name), dict) else None
            if not is_iban(ibans[name]):
                raise Fault(400, "FORMAT_ERROR", f"{name}.iban", text="Die IBAN ist falsch.")
        for name in ("creditorName", "remittanceInformationUnstructured"):
            if not isinstance(sent.get(name), str) or not 1 <= len(sent[name]) <= 140:
                raise Fault(400, "FORMAT_ERROR", name)
        accounts = [account for customer in self._customers for account in customer.accounts]
        payer = next((one for one in accounts if one.iban == ibans["debtorAccount"]), None)
        if not payer:
            raise Fault(400, "RESOURCE_UNKNOWN", "debtorAccount.iban", text="Das Konto wird nicht bei uns geführt.")
        due = self._due(sent, service)
        names = ["debtorAccount", "creditorName", "creditorAccount", "remittanceInformationUnstructured"]
        names += ["requestedExecutionDate", "startDate", "endDate", "frequency", "dayOfExecution"]
        document = {"instructedAmount": money(int(Decimal(text) * 100))}
        document |= {name: sent[name] for name in names if name in sent}
        id = f"ZA{self._word(14, '0123456789')}"
        payment = self._add(service, id, f"{BASE}/{service}/{PRODUCT}", document, "RCVD")
        payment.payer, payment.due = payer, due
        return self._tell_new(payment, {"transactionStatus": "RCVD", "paymentId": id, "transactionFees": money(0)})

    def _due(self, sent: dict[str, Any], service: str) -> date | None:
        """The first day on which this is executed, or none for at once."""
        name = "requestedExecutionDate" if service == "payments" else "startDate"
        if service == "payments" and name not in sent:
            return None
        if (due := read_day(sent.get(name), name)) <= self.clock.today:
            raise Fault(400, "EXECUTION_DATE_INVALID", name)
        if service != "payments" and sent.get("frequency") not in {**WEEKS, **MONTHS}:
            raise Fault(400, "FORMAT_ERROR", "frequency")
        if "endDate" in sent and read_day(sent["endDate"], "endDate") < due:
            raise Fault(400, "PERIOD_INVALID", "endDate")
        return due

    def _show_payment(self, request: Request, id: str, service: str) -> Response:
        payment = self._thing(service, id)
        return respond(200, {"paymentId": id, **payment.document, "transactionStatus": payment.status})

    def _cancel(self, request: Request, id: str, service: str) -> Response:
        payment = self._thing(service, id)
        if payment.status == "RCVD":
            payment.status = "CANC"
            return Response(204)
        if payment.status not in (("ACTC", "ACSP") if service == "periodic-payments" else ("ACTC",)):
            raise Fault(405, "CANCELLATION_INVALID")
        payment.is_cancelling = True
        links = {
            "startAuthorisationWithPsuIdentification": link(f"{payment.path}/cancellation-authorisations"),
            "self": link(payment.path),
            "status": link(f"{payment.path}/status"),
        }
        return respond(202, {"transactionStatus": payment.status, "_links": links})

    # Authorisations

    def _identify(self, thing: Thing, psu: str) -> Customer:
        customer = next((one for one in self._customers if one.psu == psu), None)
        if not customer or (thing.payer and thing.payer not in customer.accounts):
            raise Fault(401, "PSU_CREDENTIALS_INVALID", "PSU-ID")
        return customer

    def _tell(self, status: int, authorisation: Authorisation, **more: Any) -> Response:
        links, document = dict[str, Any](), dict[str, Any](more)
        if authorisation.status in STEPS:
            name, document["psuMessage"] = STEPS[authorisation.status]
            links[name] = link(authorisation.path)
        document |= {"scaStatus": authorisation.status, "_links": links | {"scaStatus": link(authorisation.path)}}
        headers = {"ASPSP-SCA-Approach": "EMBEDDED"}
        if status == 201:
            document = {"authorisationId": authorisation.id, **document}
            headers["Location"] = authorisation.path
        return respond(status, document, headers)

    def _start(self, request: Request, id: str, service: str, kind: str) -> Response:
        thing = self._thing(service, id)
        can_cancel = thing.is_cancelling and thing.status in ("ACTC", "ACSP")
        if not (thing.status in ("received", "RCVD") if kind == "authorisations" else can_cancel):
            raise Fault(409, "STATUS_INVALID")
        psu = request.headers.get("psu-id")
        customer = self._identify(thing, psu) if psu else None
        word = f"au_{self._word(16, '0123456789abcdefghjkmnpqrstvwxyz')}"
        status = "psuIdentified" if customer else "received"
        authorisation = Authorisation(word, f"{thing.path}/{kind}/{word}", customer, status)
        thing.authorisations[kind].append(authorisation)
        return self._tell(201, authorisation)

    def _list_authorisations(self, request: Request, id: str, service: str, kind: str) -> Response:
        rows = self._thing(service, id).authorisations[kind]
        return respond(200, {"authorisationIds": [one.id for one in rows]})

    def _authorisation(self, thing: Thing, kind: str, id: str) -> Authorisation:
        for one in thing.authorisations[kind]:
            if one.id == id:
                return one
        raise Fault(404, "RESOURCE_UNKNOWN")

    def _show_authorisation(self, request: Request, id: str, authorisation: str, service: str, kind: str) -> Response:
        return respond(200, {"scaStatus": self._authorisation(self._thing(service, id), kind, authorisation).status})

    def _update(self, request: Request, id: str, authorisation: str, service: str, kind: str) -> Response:
        thing, sent, psu = self._thing(service, id), self._body(request), request.headers.get("psu-id")
        step = self._authorisation(thing, kind, authorisation)
        if step.status == "received" and psu:
            step.customer, step.status = self._identify(thing, psu), "psuIdentified"
            if not sent:
                return self._tell(200, step)
        needs = {
            "psuData": "psuIdentified",
            "authenticationMethodId": "psuAuthenticated",
            "scaAuthenticationData": "scaMethodSelected",
        }
        name = next((name for name in needs if name in sent), None)
        if not name:
            raise Fault(400, "FORMAT_ERROR", "psuData")
        customer = step.customer
        if step.status != needs[name] or not customer:
            raise Fault(409, "STATUS_INVALID", name)
        if name == "psuData":
            given = sent[name].get("password") if isinstance(sent[name], dict) else None
            if given != customer.password:
                step.misses += 1
                if step.misses == 3:
                    self._fail(thing, step, kind)
                raise Fault(401, "PSU_CREDENTIALS_INVALID", "psuData.password", text="Das Passwort ist falsch.")
            if len(customer.methods) > 1:
                step.status = "psuAuthenticated"
                return self._tell(200, step, scaMethods=customer.methods)
            return self._challenge(step, customer.methods[0])
        if name == "authenticationMethodId":
            for method in customer.methods:
                if method["authenticationMethodId"] == sent[name]:
                    return self._challenge(step, method)
            raise Fault(400, "SCA_METHOD_UNKNOWN", name)
        if sent[name] != TAN:
            self._fail(thing, step, kind)
            raise Fault(401, "PSU_CREDENTIALS_INVALID", name, text="Die TAN ist falsch. Die Freigabe ist gescheitert.")
        self._finish(thing, customer, kind)
        step.status = "finalised"
        return self._tell(200, step, **self._status(thing))

    def _challenge(self, step: Authorisation, method: dict[str, str]) -> Response:
        step.status = "scaMethodSelected"
        data = {"otpMaxLength": 6, "otpFormat": "integer", "additionalInformation": f"TAN gesendet: {method['name']}"}
        return self._tell(200, step, chosenScaMethod=method, challengeData=data)

    def _fail(self, thing: Thing, step: Authorisation, kind: str) -> None:
        step.status, thing.touched = "failed", self.clock.today
        if kind == "authorisations" and thing.status in ("received", "RCVD"):
            thing.status = "rejected" if thing.service == "consents" else "RJCT"

    def _finish(self, thing: Thing, customer: Customer, kind: str) -> None:
        thing.touched = self.clock.today
        if kind == "cancellation-authorisations":
            is_late = thing.service == "payments" and thing.status != "ACTC"
            if is_late or thing.status not in ("ACTC", "ACSP"):
                raise Fault(405, "CANCELLATION_INVALID")
            thing.status = "CANC"
        elif thing.status == "received":
            thing.status, thing.customer = "valid", customer
        elif thing.status == "RCVD" and thing.payer:
            is_covered = bool(thing.due) or thing.cents <= self._available(thing.payer)
            thing.status, thing.accepted = ("ACTC", self.clock.now) if is_covered else ("RJCT", None)
        else:
            raise Fault(409, "STATUS_INVALID")
