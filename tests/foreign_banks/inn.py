"""Bankhaus Inn, an Austrian bank with the words of NextGenPSD2 under `/v1.3.8`, and with ways of its own.

- TPP-Registrierung names the app (else 401). Each request has a UUID in X-Vorgangs-ID, and the answer repeats it. A
  payment with the X-Vorgangs-ID of an earlier one gives 409 with the earlier `paymentId`.
- Errors are `{"fehler": {"nummer", "kategorie", "meldung", "feld", …}, "vorgang", "zeitpunkt"}`, in German.
- POST consents gives 200, without Location. `validUntil` more than 180 days ahead becomes the 180th. A consent is
  received, authorized, rejected, terminatedByTPP (DELETE gives 200 with this) or expired, after the day `validUntil`.
- Ids: ZUS-xxxx-xxxx for consents, ZA and DA with the day for payments and standing orders, FG for authorisations.
- Times and days are those of Vienna; `_links` are plain paths.
- Reads name AIS-Consent-ID. Without PSU-IP-Adresse they count: `frequencyPerDay` (1 to 4) for all reads of a consent
  together on a day; X-Abrufe-Rest tells what is left, then 429.
- SCA is embedded: POST authorisations with PSU-Verfueger; then PUT the password, the method and the TAN. POST may bring
  the password, and also the method. With the third wrong password or TAN it has failed; the consent is rejected, the
  payment RJCT. The last answer also brings `consentStatus` or `transactionStatus`.
- PUSH_OTP is decoupled: started, and finalized when the customer has confirmed in the app, 30 seconds later.
- Amounts are numbers, in both directions. Entries have no sign but `creditDebitIndicator`.
- Entries are oldest first, and only booked ones. `anzahl` limits them, `restAnzahl` counts those after; the next page
  is `nachBuchung` the last of this one.
- Payments are RCVD; once signed, RJCT with AM04 above the available balance, which includes the credit line, or ACTC,
  ACSP after 2 minutes, ACSC after 12. Standing orders (periodic payments, ISO frequencies) are AKTV once signed.
- DELETE of an unsigned payment gives 204; of one that is ACTC or AKTV 202, and a cancellation authorisation follows.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tests.foreign_banks.server import Clock, Handler, NoRoute, Request, Response, Routes, respond

VIENNA = ZoneInfo("Europe/Vienna")
TAN = "147258"
CONSENTS, ACCOUNTS = "/v1.3.8/consents", "/v1.3.8/accounts"
PAYMENTS = "/v1.3.8/payments/sepa-credit-transfers"
STANDING = "/v1.3.8/periodic-payments/sepa-credit-transfers"
SIGNING, CANCELLING = "authorisations", "cancellation-authorisations"
CLIENTS = {"PSDAT-FMA-48213": "Haushaltsbuch", "PSDDE-BAFIN-117204": "Kassensturz"}
SMS, PUSH = ("SMS_OTP", "smsTAN +43 664 ****417"), ("PUSH_OTP", "App Inn-Schlüssel")
OFTEN = {"WEEK": "wöchentlich", "MNTH": "monatlich", "QURT": "vierteljährlich", "YEAR": "jährlich"}
SHOPS = "Bäckerei Ruetz|Tiroler Sparladen|Innsbrucker Verkehr|Apotheke am Marktgraben|Bergsport Haller|Trafik Egger"
KINDS = {
    400: ["FORMAT_ERROR", "PERIOD_INVALID", "SCA_METHOD_UNKNOWN", "SCA_CODE_INVALID"],
    401: ["TPP_UNKNOWN", "CONSENT_INVALID", "CONSENT_EXPIRED", "PSU_CREDENTIALS_INVALID"],
    403: ["CONSENT_UNKNOWN"],
    404: ["RESOURCE_UNKNOWN"],
    405: ["SERVICE_INVALID"],
    409: ["STATUS_INVALID", "REQUEST_REPEATED"],
    429: ["ACCESS_EXCEEDED"],
}


class Refusal(Exception):
    def __init__(self, kind: str, text: str, place: str | None = None, **more: Any) -> None:
        super().__init__(text)
        self.status = next(status for status, kinds in KINDS.items() if kind in kinds)
        number = self.status * 10 + KINDS[self.status].index(kind) + 1
        self.document = {"nummer": number, "kategorie": kind, "meldung": text, "feld": place, **more}


@dataclass
class Account:
    id: str
    iban: str
    name: str
    type: str
    cents: int
    credit: int
    sequence: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    number: str
    password: str
    methods: Sequence[dict[str, str]]
    accounts: Sequence[Account]


@dataclass
class Matter:
    """What a customer signs: a consent, or a payment or standing order, which has a payer."""

    path: str
    client: str
    document: dict[str, Any]
    status: str
    payer: Account | None = None
    cents: int = 0
    signed: datetime | None = None
    is_being_cancelled: bool = False
    customer: Customer | None = None
    reads: dict[date, int] = field(default_factory=dict)

    @property
    def state(self) -> dict[str, str]:
        return {"transactionStatus" if self.payer else "consentStatus": self.status}


@dataclass
class Release:
    id: str
    path: str
    matter: Matter
    customer: Customer
    cancels: bool
    status: str = "psuIdentified"
    method: dict[str, str] = field(default_factory=dict)
    chosen: datetime | None = None
    mistakes: int = 0

    @property
    def is_wanted(self) -> bool:
        if self.cancels:
            return self.matter.is_being_cancelled and self.matter.status in ("ACTC", "AKTV")
        return self.matter.status in ("received", "RCVD")


def is_iban(text: Any) -> bool:
    is_formed = isinstance(text, str) and re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text)
    return bool(is_formed) and int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1


def money(cents: int) -> dict[str, Any]:
    return {"currency": "EUR", "amount": cents / 100}


def read_day(text: Any, place: str) -> date:
    try:
        return date.fromisoformat(text)
    except (TypeError, ValueError):
        raise Refusal("FORMAT_ERROR", "Ein Datum hat die Form JJJJ-MM-TT.", place) from None


def demand(condition: Any, place: str | None, text: str, kind: str = "FORMAT_ERROR") -> None:
    if not condition:
        raise Refusal(kind, text, place)


def take(document: Any, place: str) -> Any:
    for part in place.split("."):
        document = document.get(part) if isinstance(document, dict) else None
    return document


class Inn:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"inn {seed}")
        self._matters: dict[str, Matter] = {}
        self._releases: dict[str, Release] = {}
        self._used: dict[str, str] = {}
        self._sequence = self._random.randrange(300, 4000)
        salary = self._open("AT622081500104822167", "Gehaltskonto", "CACC", 284_316, 100_000)
        savings = self._open("AT402081500104822175", "Sparkonto", "SVGS", 1_120_050, 0)
        household = self._open("AT642081500231907748", "Haushaltskonto", "CACC", 96_408, 50_000)
        private = self._open("AT422081500231907756", "Privatkonto", "CACC", 517_733, 200_000)
        pension = self._open("AT132081500300551201", "Pensionskonto", "CACC", 148_890, 0)
        self._customers = [
            Customer("5500041708", "Zirbe#2047", self._offer(SMS, PUSH), [salary, savings]),
            Customer("5500098823", "Gamsbart!73", self._offer(PUSH, SMS), [household, private]),
            Customer("5500113390", "Almrausch_19", self._offer(SMS), [pension]),
        ]
        routes: list[tuple[str, str, Handler]] = [
            ("POST", CONSENTS, self._ask_consent),
            ("GET", ACCOUNTS, self._list_accounts),
            ("GET", ACCOUNTS + "/{id}/balances", self._balances),
            ("GET", ACCOUNTS + "/{id}/transactions", self._list_entries),
            ("POST", PAYMENTS, self._pay),
            ("POST", STANDING, self._pay),
        ]
        for base in (CONSENTS, PAYMENTS, STANDING):
            one = base + "/{id}"
            routes += [("GET", one, self._show), ("GET", one + "/status", self._show), ("DELETE", one, self._end)]
            for way in (f"{one}/{SIGNING}", f"{one}/{CANCELLING}"):
                routes.append(("POST", way, self._start))
                routes += [(verb, way + "/{code}", self._go_on) for verb in ("GET", "PUT")]
        self._routes = Routes(*routes)

    @property
    def _today(self) -> date:
        return self.clock.now.astimezone(VIENNA).date()

    def answer(self, request: Request) -> Response:
        self._advance()
        number = request.headers.get("x-vorgangs-id", "")
        try:
            is_uuid = re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", number)
            demand(is_uuid, "X-Vorgangs-ID", "Der Kopf X-Vorgangs-ID ist keine UUID.")
            client = request.headers.get("tpp-registrierung")
            demand(client in CLIENTS, "TPP-Registrierung", "Der Drittdienst ist nicht registriert.", "TPP_UNKNOWN")
            try:
                handler, parameters = self._routes.find(request.method, request.path)
            except NoRoute as wrong:
                kind = "SERVICE_INVALID" if wrong.allowed else "RESOURCE_UNKNOWN"
                raise Refusal(kind, "Dieser Dienst ist hier nicht vorgesehen.") from None
            response = handler(request, **parameters)
        except Refusal as refusal:
            time = self.clock.now.astimezone(VIENNA).isoformat()
            document = {"fehler": refusal.document, "vorgang": number, "zeitpunkt": time}
            response = respond(refusal.status, document, media="application/json; charset=utf-8")
        return Response(response.status, response.content, {**response.headers, "X-Vorgangs-ID": number})

    def _offer(self, *methods: tuple[str, str]) -> list[dict[str, str]]:
        ids = [{"authenticationMethodId": f"{self._random.randrange(10**5):05}"} for _ in methods]
        return [{"authenticationType": type, **id, "name": name} for id, (type, name) in zip(ids, methods, strict=True)]

    def _open(self, iban: str, name: str, type: str, cents: int, credit: int) -> Account:
        id = f"{iban[4:9]}-{iban[9:]}"
        account = Account(id, iban, name, type, cents, credit, self._random.randrange(10_000, 80_000))
        for days in sorted(self._random.sample(range(1, 86), 27), reverse=True):
            day, change = self._today - timedelta(days=days), self._random.randrange(190, 14_000)
            if self._random.random() < 0.2:
                self._enter(account, day, 10 * change, "Alpenland Lohnbüro", f"Gutschrift {day:%m/%Y}")
            else:
                self._enter(account, day, -change, self._random.choice(SHOPS.split("|")), f"Bankomat {day:%d.%m.}")
        return account

    def _enter(self, account: Account, day: date, cents: int, who: str, text: str) -> None:
        account.sequence += 1
        party, sign = ("creditorName", "DBIT") if cents < 0 else ("debtorName", "CRDT")
        entry: dict[str, Any] = {"entryReference": f"B{account.sequence:06}", "bookingDate": day.isoformat()}
        entry |= {"valueDate": day.isoformat(), "transactionAmount": money(abs(cents)), "creditDebitIndicator": sign}
        account.entries.append(entry | {party: who, "remittanceInformationUnstructured": text})

    def _advance(self) -> None:
        for release in self._releases.values():
            confirmed = (release.chosen or self.clock.now) + timedelta(seconds=30)
            if release.status == "started" and self.clock.now >= confirmed:
                self._finish(release, confirmed)
        for matter in self._matters.values():
            if not matter.payer and matter.status in ("received", "authorized"):
                if matter.document["validUntil"] < self._today.isoformat():
                    matter.status = "expired"
            elif matter.payer and matter.signed and matter.status in ("ACTC", "ACSP"):
                begins, ends = matter.signed + timedelta(minutes=2), matter.signed + timedelta(minutes=12)
                if self.clock.now >= ends:
                    matter.status = "ACSC"
                    matter.payer.cents -= matter.cents
                    day, text = ends.astimezone(VIENNA).date(), matter.document["remittanceInformationUnstructured"]
                    self._enter(matter.payer, day, -matter.cents, matter.document["creditorName"], text)
                elif self.clock.now >= begins:
                    matter.status = "ACSP"

    def _finish(self, release: Release, time: datetime) -> None:
        matter, release.status = release.matter, "finalized" if release.is_wanted else "failed"
        if release.status == "failed":
            return
        matter.customer, matter.signed = release.customer, matter.signed or time
        if not matter.payer:
            matter.status = "authorized"
        elif release.cancels:
            matter.status = "CANC"
        elif "frequency" in matter.document:
            matter.status = "AKTV"
        elif matter.cents > self._available(matter.payer):
            matter.status, matter.document["reasonCode"] = "RJCT", "AM04"
        else:
            matter.status = "ACTC"

    def _available(self, account: Account) -> int:
        held = [one for one in self._matters.values() if one.payer is account and one.status in ("ACTC", "ACSP")]
        return account.cents + account.credit - sum(one.cents for one in held)

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Refusal("FORMAT_ERROR", "Der Inhalt ist kein JSON-Objekt.") from None

    def _header(self, request: Request, name: str) -> str:
        demand(request.headers.get(name.lower()), name, f"Der Kopf {name} fehlt.")
        return request.headers[name.lower()]

    def _ask_consent(self, request: Request) -> Response:
        body = self._body(request)
        often = body.get("frequencyPerDay")
        demand(body.get("access") == {"allPsd2": "allAccounts"}, "access", "Angeboten wird allPsd2 mit allAccounts.")
        demand(isinstance(body.get("recurringIndicator"), bool), "recurringIndicator", "Erwartet wird true oder false.")
        demand(isinstance(often, int) and 1 <= often <= 4, "frequencyPerDay", "Erlaubt sind 1 bis 4 Abrufe je Tag.")
        until = min(read_day(body.get("validUntil"), "validUntil"), self._today + timedelta(days=180))
        demand(until >= self._today, "validUntil", "Die Gültigkeit liegt in der Vergangenheit.", "PERIOD_INVALID")
        document = {name: body[name] for name in ("access", "recurringIndicator", "frequencyPerDay")}
        document["validUntil"] = until.isoformat()
        word = "".join(self._random.choices("ABCDEFGHKLMNPQRTUVWXYZ2346789", k=8))
        path = f"{CONSENTS}/{(id := f'ZUS-{word[:4]}-{word[4:]}')}"
        self._matters[id] = Matter(path, request.headers["tpp-registrierung"], document, "received")
        links = {"startAuthorisation": f"{path}/{SIGNING}", "status": f"{path}/status"}
        made = {"consentId": id, "consentStatus": "received", "validUntil": document["validUntil"], "_links": links}
        return respond(200, made, {"ASPSP-SCA-Verfahren": "EMBEDDED"})

    def _matter(self, request: Request, id: str) -> Matter:
        matter = self._matters.get(id)
        client = request.headers["tpp-registrierung"]
        if not matter or matter.client != client or not request.path.startswith(matter.path):
            raise Refusal("RESOURCE_UNKNOWN", f"Zu {id} liegt uns nichts vor.")
        return matter

    def _show(self, request: Request, id: str) -> Response:
        matter = self._matter(request, id)
        return respond(200, matter.state if request.path.endswith("/status") else {**matter.document, **matter.state})

    def _end(self, request: Request, id: str) -> Response:
        matter = self._matter(request, id)
        if matter.status == "RCVD":
            matter.status = "CANC"
            return Response(204)
        if matter.status in ("received", "authorized"):
            matter.status = "terminatedByTPP"
            return respond(200, matter.state)
        is_signed = matter.status in ("ACTC", "AKTV")
        demand(is_signed, None, f"Im Status {matter.status} ist kein Widerruf möglich.", "STATUS_INVALID")
        matter.is_being_cancelled = True
        return respond(202, {**matter.state, "_links": {"startAuthorisation": f"{matter.path}/{CANCELLING}"}})

    def _consent(self, request: Request, id: str = "") -> tuple[Sequence[Account], dict[str, str]]:
        """The accounts, or the one with this id, and the headers of the answer."""
        code = self._header(request, "AIS-Consent-ID")
        consent = self._matters.get(code)
        if not consent or consent.payer or consent.client != request.headers["tpp-registrierung"]:
            raise Refusal("CONSENT_UNKNOWN", f"Die Zustimmung {code} ist nicht bekannt.", "AIS-Consent-ID")
        if consent.status != "authorized" or not consent.customer:
            kind = "CONSENT_EXPIRED" if consent.status == "expired" else "CONSENT_INVALID"
            raise Refusal(kind, f"Die Zustimmung ist {consent.status}.", "AIS-Consent-ID")
        accounts = [one for one in consent.customer.accounts if id in ("", one.id)]
        demand(accounts, None, f"Das Konto {id} ist von der Zustimmung nicht erfasst.", "RESOURCE_UNKNOWN")
        if "psu-ip-adresse" in request.headers:
            return accounts, {}
        most, used = consent.document["frequencyPerDay"], consent.reads.get(self._today, 0)
        demand(used < most, None, f"Abrufe ohne Kunden heute: {used} von {most}.", "ACCESS_EXCEEDED")
        consent.reads[self._today] = used + 1
        return accounts, {"X-Abrufe-Rest": str(most - used - 1)}

    def _list_accounts(self, request: Request) -> Response:
        accounts, headers = self._consent(request)
        rows = []
        for one in accounts:
            row = {"resourceId": one.id, "iban": one.iban, "bic": "INNSAT22XXX", "currency": "EUR", "name": one.name}
            links = {kind: f"{ACCOUNTS}/{one.id}/{kind}" for kind in ("balances", "transactions")}
            rows.append(row | {"cashAccountType": one.type, "_links": links})
        return respond(200, {"accounts": rows}, headers)

    def _balances(self, request: Request, id: str) -> Response:
        [account], headers = self._consent(request, id)
        booked = {"balanceType": "closingBooked", "balanceAmount": money(account.cents), "creditLimitIncluded": False}
        free = {"balanceType": "interimAvailable", "balanceAmount": money(self._available(account))}
        rows = [booked | {"referenceDate": self._today.isoformat()}, free | {"creditLimitIncluded": account.credit > 0}]
        return respond(200, {"account": {"iban": account.iban}, "balances": rows}, headers)

    def _list_entries(self, request: Request, id: str) -> Response:
        query, earliest = request.query, self._today - timedelta(days=90)
        sign, size, after = query.get("creditDebit"), query.get("anzahl", "20"), query.get("nachBuchung", "")
        begins = read_day(query.get("dateFrom", earliest.isoformat()), "dateFrom")
        ends = read_day(query.get("dateTo", self._today.isoformat()), "dateTo")
        demand(query.get("bookingStatus") == "booked", "bookingStatus", "Geliefert wird nur booked.")
        demand(sign in (None, "CRDT", "DBIT"), "creditDebit", "Erlaubt sind CRDT und DBIT.")
        demand(size.isdecimal() and 1 <= int(size) <= 50, "anzahl", "Erlaubt sind 1 bis 50 Buchungen.")
        demand(earliest <= begins <= ends, "dateFrom", "Das sind keine der letzten 90 Tage.", "PERIOD_INVALID")
        [account], headers = self._consent(request, id)
        found = [one for one in account.entries if str(begins) <= one["bookingDate"] <= str(ends)]
        found = [one for one in found if one["entryReference"] > after and sign in (None, one["creditDebitIndicator"])]
        document = {"account": {"iban": account.iban}, "transactions": {"booked": found[: int(size)]}}
        return respond(200, document | {"restAnzahl": max(0, len(found) - int(size))}, headers)

    def _pay(self, request: Request) -> Response:
        self._header(request, "PSU-IP-Adresse")
        number, body = request.headers["x-vorgangs-id"], self._body(request)
        if number in self._used:
            raise Refusal("REQUEST_REPEATED", "Dieser Vorgang ist schon erfasst.", paymentId=self._used[number])
        payers = [one for who in self._customers for one in who.accounts if one.type == "CACC"]
        payer = next((one for one in payers if one.iban == take(body, "debtorAccount.iban")), None)
        demand(payer, "debtorAccount.iban", "Das ist kein Zahlungskonto unseres Hauses.")
        amount = take(body, "instructedAmount.amount")
        is_number = isinstance(amount, int | float) and not isinstance(amount, bool) and 0.01 <= amount < 1e7
        demand(is_number, "instructedAmount.amount", "Erwartet wird eine Zahl über 0.")
        demand(take(body, "instructedAmount.currency") == "EUR", "instructedAmount.currency", "Die Währung ist EUR.")
        demand(is_iban(take(body, "creditorAccount.iban")), "creditorAccount.iban", "Die Prüfziffer stimmt nicht.")
        for name, most in (("creditorName", 70), ("remittanceInformationUnstructured", 140)):
            is_text = isinstance(body.get(name), str) and 1 <= len(body[name]) <= most
            demand(is_text, name, f"Erlaubt sind 1 bis {most} Zeichen.")
        names = ["debtorAccount", "creditorAccount", "creditorName", "remittanceInformationUnstructured"]
        if request.path == STANDING:
            names += ["startDate", "frequency"]
            is_ahead = read_day(body.get("startDate"), "startDate") > self._today
            demand(is_ahead, "startDate", "Ein Dauerauftrag beginnt frühestens morgen.", "PERIOD_INVALID")
            demand(body.get("frequency") in OFTEN, "frequency", f"Erlaubt sind {', '.join(OFTEN)}.")
        self._sequence += self._random.randrange(1, 9)
        id = f"{'DA' if request.path == STANDING else 'ZA'}{self._today:%Y%m%d}-{self._sequence:05}"
        cents, client, path = round(amount * 100), request.headers["tpp-registrierung"], f"{request.path}/{id}"
        document = {"paymentId": id, "instructedAmount": money(cents), **{name: body[name] for name in names}}
        self._used[number], self._matters[id] = id, Matter(path, client, document, "RCVD", payer, cents)
        links = {"startAuthorisation": f"{path}/{SIGNING}", "status": f"{path}/status", "self": path}
        made = {"transactionStatus": "RCVD", "paymentId": id, "transactionFees": money(0), "_links": links}
        return respond(201, made, {"Location": path, "ASPSP-SCA-Verfahren": "EMBEDDED"})

    def _start(self, request: Request, id: str) -> Response:
        matter, number = self._matter(request, id), self._header(request, "PSU-Verfueger")
        able = [one for one in self._customers if not matter.payer or matter.payer in one.accounts]
        customer = next((one for one in able if one.number == number), None)
        if not customer:
            raise Refusal("PSU_CREDENTIALS_INVALID", "Diese Nummer ist nicht verfügungsberechtigt.", "PSU-Verfueger")
        code = f"FG{self._random.randrange(10**10):010}"
        release = Release(code, f"{request.path}/{code}", matter, customer, request.path.endswith(CANCELLING))
        demand(release.is_wanted, None, f"Im Status {matter.status} ist nichts freizugeben.", "STATUS_INVALID")
        body = self._body(request) if request.body else {}
        if "psuData" in body:
            self._check_password(release, body)
            if "authenticationMethodId" in body and release.status == "psuAuthenticated":
                self._choose(release, body["authenticationMethodId"])
        self._releases[code] = release
        return self._tell_release(release, 201)

    def _go_on(self, request: Request, id: str, code: str) -> Response:
        self._matter(request, id)
        release = self._releases.get(code)
        if not release or release.path != request.path:
            raise Refusal("RESOURCE_UNKNOWN", f"Die Freigabe {code} gibt es nicht.")
        if request.method == "PUT":
            body = self._body(request)
            if release.status == "psuIdentified":
                self._check_password(release, body)
            elif release.status == "psuAuthenticated":
                self._choose(release, body.get("authenticationMethodId"))
            elif release.status == "scaMethodSelected":
                if body.get("scaAuthenticationData") != TAN:
                    self._mistake(release, "SCA_CODE_INVALID", "Die TAN ist falsch.", "scaAuthenticationData")
                self._finish(release, self.clock.now)
            else:
                raise Refusal("STATUS_INVALID", f"Die Freigabe ist {release.status}.")
        return self._tell_release(release, 200)

    def _check_password(self, release: Release, body: dict[str, Any]) -> None:
        if take(body, "psuData.password") != release.customer.password:
            self._mistake(release, "PSU_CREDENTIALS_INVALID", "Das Kennwort ist falsch.", "psuData.password")
        release.status, release.mistakes = "psuAuthenticated", 0

    def _mistake(self, release: Release, kind: str, text: str, place: str) -> None:
        release.mistakes += 1
        if release.mistakes == 3:
            release.status = "failed"
            if release.is_wanted and not release.cancels:
                release.matter.status = "RJCT" if release.matter.payer else "rejected"
        raise Refusal(kind, text, place, restVersuche=3 - release.mistakes)

    def _choose(self, release: Release, id: Any) -> None:
        found = [one for one in release.customer.methods if one["authenticationMethodId"] == id]
        demand(found, "authenticationMethodId", "Dieses Verfahren steht nicht zur Wahl.", "SCA_METHOD_UNKNOWN")
        release.method, release.chosen = found[0], self.clock.now
        release.status = "started" if release.method["authenticationType"] == "PUSH_OTP" else "scaMethodSelected"

    def _describe(self, release: Release) -> str:
        matter, document = release.matter, release.matter.document
        if not matter.payer:
            return f"Zugriff für {CLIENTS[matter.client]} bis {date.fromisoformat(document['validUntil']):%d.%m.%Y}"
        what = f"Überweisung von EUR {matter.cents / 100:,.2f}".translate(str.maketrans(",.", ".,"))
        if "frequency" in document:
            what += f" {OFTEN[document['frequency']]} ab {date.fromisoformat(document['startDate']):%d.%m.%Y}"
        return ("Storno: " if release.cancels else "") + f"{what} an {document['creditorName']}"

    def _tell_release(self, release: Release, status: int) -> Response:
        document: dict[str, Any] = {"authorisationId": release.id, "scaStatus": release.status}
        links = {"scaStatus": release.path}
        if release.status == "psuIdentified":
            links["updatePsuAuthentication"] = release.path
        elif release.status == "psuAuthenticated":
            links["selectAuthenticationMethod"] = release.path
            document["scaMethods"] = release.customer.methods
        elif release.status == "scaMethodSelected":
            links["authoriseTransaction"] = release.path
            told = {"additionalInformation": self._describe(release), "otpFormat": "integer", "otpMaxLength": 6}
            document |= {"chosenScaMethod": release.method, "challengeData": told}
        elif release.status == "started":
            document |= {"chosenScaMethod": release.method, "psuMessage": f"Bitte freigeben: {self._describe(release)}"}
        else:
            document |= release.matter.state
        approach = "DECOUPLED" if release.method.get("authenticationType") == "PUSH_OTP" else "EMBEDDED"
        return respond(status, document | {"_links": links}, {"ASPSP-SCA-Verfahren": approach})
