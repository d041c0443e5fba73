"""Nidd, an English building society with a variation of the Berlin Group's interface and embedded SCA.

- Each request needs X-Api-Key (else 401) and X-Request-ID, a UUID (else 400), which the answer repeats.
- Errors are `{"fault": {"number", "name", "text", "where"?, "attemptsLeft"?}, "requestId"}`; `where` is the part of the
  request and the place in it, as `body:access`. Only the first fault is told. Another app's resources give 404.
- Links are `_links.NAME.href`, without a host, and only those that the state allows.
- POST `/v1/consents`: `validUntil` is cut to 90 days from today, or to today if `recurringIndicator` is false. A
  consent is awaitingPsu, then valid, rejected (SCA failed), endedByTpp (by DELETE, 204) or lapsed (a day after
  `validUntil`). It gives everything or nothing: reads with a Consent-ID that is not valid give 403.
- Reads without PSU-IP-Address are unattended: each path can be read `frequencyPerDay` times a day, then 429.
- SCA is the same for consents and payments. POST `…/authorisations` with PSU-ID gives psuIdentified, or with
  `psuData.password` at once psuAuthenticated. PUT to the authorisation sends the password, then an
  `authenticationMethodId`, then `scaAuthenticationData`, one at a time and in this order (else 409). The last answer
  tells the new state of what was signed, too. Test phones and readers always show the codes in `CODES`.
- A wrong password or code gives 401 and how many attempts are left. The third wrong one fails the authorisation, and
  the consent or payment with it.
- Amounts are strings with two decimals. Entries are newest first, have the balance after them, and begin at most 90
  days ago. `bookingStatus` and `dateFrom` are required. Pages have `limit` (1 to 50) entries; `_links.next` goes on
  after the last one. Signed payments that are not yet booked are `pending`, on the first page only.
- POST `/v1/payments/faster-payments` needs PSU-IP-Address and Idempotency-Key. The same request again gives 200 and the
  same payment, another one 409. Savings accounts cannot pay (403), and £10,000 is the most (400). A reference has at
  most 18 characters. A payment above the available balance is made, but RJCT from its start.
- A payment is RCVD, when signed ACTC, half a minute later ACSP and after five minutes ACSC. It is reserved from ACTC
  and an entry with ACSC. DELETE gives 200 and CANC while it is RCVD, else 409.
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond

DIGITS = "0123456789"
PRODUCTS = {"CACC": "Castle Current", "SVGS": "Viaduct Saver"}
KEYS = {"nbs-test-7c1f04e2": "Ledgerling", "nbs-test-90ab35d8": "Moneywort"}
CODES = {"SMS_OTP": "482915", "CHIP_OTP": "90417263"}
NEXT = {
    "psuIdentified": ("psuData", "updatePsuAuthentication"),
    "psuAuthenticated": ("authenticationMethodId", "selectAuthenticationMethod"),
    "scaMethodSelected": ("scaAuthenticationData", "authoriseTransaction"),
}
PAYMENT = {
    "debtorAccount.bban": r"\d{14}",
    "creditorAccount.bban": r"\d{14}",
    "instructedAmount.currency": "GBP",
    "instructedAmount.amount": r"(?!0\.00)(0|[1-9]\d*)\.\d\d",
    "creditorName": ".{1,40}",
    "remittanceInformationUnstructured": ".{1,18}",
}
SHOPS = "Knaresborough Butchers|Nidderdale Buses|Harrogate Water|Pateley Bakery|Ripon Garden Centre|Starbeck Fuel"
SUBJECT = "(?P<path>/v1/(?:consents|payments/faster-payments)/[^/]+)"
FAULTS = {
    "keyUnknown": ("NBS-1001", "The API key is missing or not known to us."),
    "headerInvalid": ("NBS-1002", "A header is missing or has a wrong form."),
    "bodyMalformed": ("NBS-1003", "The body is not a JSON object."),
    "valueInvalid": ("NBS-1004", "A value is missing or wrong."),
    "resourceUnknown": ("NBS-1404", "There is no such resource."),
    "methodNotAllowed": ("NBS-1405", "The resource does not have this method."),
    "consentNotValid": ("NBS-2001", "The consent is not valid."),
    "accessExceeded": ("NBS-2002", "Without the customer this was read too often today."),
    "credentialsWrong": ("NBS-3001", "The credentials are wrong."),
    "stepOutOfOrder": ("NBS-3002", "The authorisation is not at this step."),
    "productUnknown": ("NBS-4001", "The society does not offer this payment product."),
    "accountCannotPay": ("NBS-4002", "Payments cannot be made from such an account."),
    "amountAboveLimit": ("NBS-4003", "The amount is above the limit of a payment."),
    "idempotencyKeyReused": ("NBS-4004", "The idempotency key belongs to another payment."),
    "tooLateToEnd": ("NBS-4005", "This can no longer be ended or cancelled."),
}


@dataclass
class Account:
    id: str
    bban: str
    name: str
    type: str
    pence: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    number: str
    password: str
    accounts: Sequence[Account]
    methods: Sequence[Mapping[str, str]]


@dataclass
class Subject:
    """What the customer authorises: a consent, or a payment, which has a payer."""

    client: str
    path: str
    document: dict[str, Any]
    status: str
    payer: Account | None = None
    customer: Customer | None = None
    signed: datetime | None = None
    reads: dict[tuple[str, date], int] = field(default_factory=dict)

    @property
    def is_waiting(self) -> bool:
        return self.status in ("awaitingPsu", "RCVD")

    @property
    def pence(self) -> int:
        return int(self.document["instructedAmount"]["amount"].replace(".", ""))

    @property
    def state(self) -> dict[str, str]:
        return {"transactionStatus" if self.payer else "consentStatus": self.status}

    @property
    def links(self) -> dict[str, Any]:
        start = {"startAuthorisation": f"{self.path}/authorisations"} if self.is_waiting else {}
        return write_links(self=self.path, status=f"{self.path}/status", **start)

    def reject(self, reason: str) -> None:
        self.status = "RJCT" if self.payer else "rejected"
        self.document["rejectionCode"] = reason


@dataclass
class Authorisation:
    id: str
    subject: Subject
    customer: Customer
    status: str = "psuIdentified"
    method: Mapping[str, str] = field(default_factory=dict)
    attempts_left: int = 3

    @property
    def path(self) -> str:
        return f"{self.subject.path}/authorisations/{self.id}"


def write_pence(pence: int) -> dict[str, str]:
    return {"currency": "GBP", "amount": f"{'-' * (pence < 0)}{abs(pence) // 100}.{abs(pence) % 100:02}"}


def write_links(**paths: str) -> dict[str, Any]:
    return {"_links": {name: {"href": path} for name, path in paths.items()}}


def read_text(document: Mapping[str, Any], name: str, form: str, part: str = "body") -> str:
    """Find a text of this form. A dot in the name leads into an object."""
    value: Any = document
    for word in name.split("."):
        value = value.get(word) if isinstance(value, Mapping) else None
    if not isinstance(value, str) or not re.fullmatch(form, value):
        raise Fault(400, "valueInvalid", f"{part}:{name}")
    return value


def read_day(document: Mapping[str, Any], name: str, part: str = "body") -> date:
    try:
        return date.fromisoformat(read_text(document, name, r"\d{4}-\d\d-\d\d", part))
    except ValueError:
        raise Fault(400, "valueInvalid", f"{part}:{name}") from None


def read_body(request: Request) -> dict[str, Any]:
    try:
        return request.document
    except ValueError:
        raise Fault(400, "bodyMalformed") from None


def read_header(request: Request, name: str, form: str = ".+") -> str:
    value = request.headers.get(name.lower(), "")
    if not re.fullmatch(form, value):
        raise Fault(400, "headerInvalid", f"header:{name}")
    return value


def read_client(request: Request) -> str:
    if not (client := KEYS.get(request.headers.get("x-api-key", ""))):
        raise Fault(401, "keyUnknown", "header:X-Api-Key")
    return client


class Nidd:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"nidd {seed}")
        self._subjects: dict[str, Subject] = {}
        self._authorisations: dict[str, Authorisation] = {}
        self._keys: dict[tuple[str, str], tuple[dict[str, Any], Subject]] = {}
        main, rainy = self._open("Main account", "CACC", 2_418_37, 27), self._open("Rainy days", "SVGS", 6_150_00, 9)
        home, kitchen = self._open("Household", "CACC", 3_905_12, 29), self._open("Kitchen", "SVGS", 11_020_45, 8)
        shop, current = self._open("Workshop", "CACC", 640_80, 14), self._open("My account", "CACC", 187_06, 18)
        self._customers = [
            Customer("10044721", "Dropping-Well7", (main, rainy), self._equip("418")),
            Customer("10062958", "Mother_Shipton3", (home, kitchen, shop), self._equip("702")),
            Customer("10079310", "Beech.Hill1851", (current,), self._equip("935")),
        ]
        authorisations = SUBJECT + "/authorisations"
        self._routes = Routes(
            ("POST", "/v1/consents", self._ask_consent),
            ("POST", "/v1/payments/{product}", self._pay),
            ("GET", SUBJECT, self._tell),
            ("GET", SUBJECT + "/status", lambda request, path: respond(200, self._subject(request, path).state)),
            ("DELETE", SUBJECT, self._end),
            ("POST", authorisations, self._start),
            ("GET", authorisations + "/{id}", self._go_on),
            ("PUT", authorisations + "/{id}", self._go_on),
            ("GET", "/v1/accounts", self._list_accounts),
            ("GET", "/v1/accounts/{id}/balances", self._balances),
            ("GET", "/v1/accounts/{id}/transactions", self._list_entries),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        identifier = request.headers.get("x-request-id")
        told = {"X-Request-ID": identifier} if identifier else {}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            read_client(request)
            read_header(request, "X-Request-ID", r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
            response = handler(request, **parameters)
            return Response(response.status, response.content, {**response.headers, **told})
        except NoRoute as wrong:
            fault = Fault(405, "methodNotAllowed") if wrong.allowed else Fault(404, "resourceUnknown")
            told |= {"Allow": ", ".join(wrong.allowed)} if wrong.allowed else {}
        except Fault as error:
            fault = error
        number, text = FAULTS[fault.word]
        shown = {"number": number, "name": fault.word, "text": text, **fault.more}
        shown |= {"where": fault.place} if fault.place else {}
        return respond(fault.status, {"fault": shown, "requestId": identifier}, told)

    def _word(self, length: int, signs: str = "ABCDEFGHJKLMNPQRSTVWXYZ23456789") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _equip(self, phone: str) -> list[dict[str, str]]:
        names = {"SMS_OTP": f"Text to 07*** ***{phone}", "CHIP_OTP": "Card reader"}
        methods = [{"authenticationType": type, "name": name} for type, name in names.items()]
        return [{"authenticationMethodId": f"M{self._word(5, DIGITS)}", **method} for method in methods]

    def _open(self, name: str, type: str, pence: int, count: int) -> Account:
        changes = [self._random.choice((-1, -1, -1, -1, 1)) * self._random.randrange(199, 9_500) for _ in range(count)]
        account = Account(self._word(22), f"090128{self._word(8, DIGITS)}", name, type, pence - sum(changes))
        days = sorted(self._random.sample(range(1, 70), count), reverse=True)
        for change, before in zip(changes, days, strict=True):
            who, code = self._random.choice(SHOPS.split("|")), "DEB" if change < 0 else "FPI"
            self._enter(account, self._describe(change, who, f"REF {self._word(6, DIGITS)}", code), before)
        return account

    def _describe(self, change: int, who: str, reference: str, code: str) -> dict[str, Any]:
        return {
            "transactionAmount": write_pence(change),
            "creditorName" if change < 0 else "debtorName": who,
            "remittanceInformationUnstructured": reference,
            "proprietaryBankTransactionCode": code,
        }

    def _describe_payment(self, payment: Subject) -> dict[str, Any]:
        who, reference = (payment.document[name] for name in ("creditorName", "remittanceInformationUnstructured"))
        return self._describe(-payment.pence, who, reference, "FPO")

    def _enter(self, account: Account, described: dict[str, Any], before: int = 0) -> None:
        account.pence += int(described["transactionAmount"]["amount"].replace(".", ""))
        day = (self.clock.today - timedelta(days=before)).isoformat()
        entry = {"transactionId": f"T{self._word(13, DIGITS)}", "bookingDate": day, "valueDate": day, **described}
        entry["balanceAfterTransaction"] = {"balanceAmount": write_pence(account.pence)}
        account.entries.insert(0, entry)

    def _advance(self) -> None:
        now, today = self.clock.now, self.clock.today.isoformat()
        for subject in self._subjects.values():
            passed = now - (subject.signed or now)
            if subject.status == "ACTC" and passed >= timedelta(seconds=30):
                subject.status = "ACSP"
            if subject.status == "ACSP" and subject.payer and passed >= timedelta(minutes=5):
                subject.status = "ACSC"
                self._enter(subject.payer, self._describe_payment(subject))
            if subject.status in ("awaitingPsu", "valid") and subject.document["validUntil"] < today:
                subject.status = "lapsed"

    def _subject(self, request: Request, path: str, place: str = "path") -> Subject:
        subject = self._subjects.get(path)
        if not subject or subject.client != read_client(request):
            raise Fault(404, "resourceUnknown", place)
        return subject

    def _tell(self, request: Request, path: str) -> Response:
        subject = self._subject(request, path)
        return respond(200, {**subject.state, **subject.document, **subject.links})

    def _tell_made(self, subject: Subject, status: int) -> Response:
        told = {**subject.state, "paymentId" if subject.payer else "consentId": subject.path.rpartition("/")[2]}
        told |= {name: value for name, value in subject.document.items() if name in ("validUntil", "rejectionCode")}
        headers = {"Location": subject.path, "ASPSP-SCA-Approach": "EMBEDDED"}
        return respond(status, told | subject.links, headers)

    def _end(self, request: Request, path: str) -> Response:
        subject = self._subject(request, path)
        if subject.status not in ("awaitingPsu", "valid", "RCVD"):
            raise Fault(409, "tooLateToEnd", "path")
        subject.status = "CANC" if subject.payer else "endedByTpp"
        return respond(200, subject.state) if subject.payer else Response(204)

    def _ask_consent(self, request: Request) -> Response:
        document, today = read_body(request), self.clock.today
        read_text(document, "access.allPsd2", "allAccounts")
        for name, values in {"recurringIndicator": (True, False), "frequencyPerDay": (1, 2, 3, 4)}.items():
            if document.get(name) not in values:
                raise Fault(400, "valueInvalid", f"body:{name}")
        if (until := read_day(document, "validUntil")) < today:
            raise Fault(400, "valueInvalid", "body:validUntil")
        until = min(until, today + timedelta(days=90 if document["recurringIndicator"] else 0))
        kept = {name: document[name] for name in ("access", "recurringIndicator", "frequencyPerDay")}
        kept["validUntil"] = until.isoformat()
        path = f"/v1/consents/NC-{self._word(4)}-{self._word(4)}-{self._word(4)}"
        consent = self._subjects[path] = Subject(read_client(request), path, kept, "awaitingPsu")
        return self._tell_made(consent, 201)

    def _reach(self, request: Request) -> Sequence[Account]:
        place = "header:Consent-ID"
        consent = self._subject(request, f"/v1/consents/{read_header(request, 'Consent-ID')}", place)
        if consent.status != "valid" or not consent.customer:
            raise Fault(403, "consentNotValid", place)
        if not request.headers.get("psu-ip-address"):
            read = request.path, self.clock.today
            consent.reads[read] = consent.reads.get(read, 0) + 1
            if consent.reads[read] > consent.document["frequencyPerDay"]:
                raise Fault(429, "accessExceeded", "header:PSU-IP-Address")
        return consent.customer.accounts

    def _find(self, request: Request, id: str) -> Account:
        account = next((one for one in self._reach(request) if one.id == id), None)
        if not account:
            raise Fault(404, "resourceUnknown", "path")
        return account

    def _list_accounts(self, request: Request) -> Response:
        accounts = []
        for one in self._reach(request):
            path = f"/v1/accounts/{one.id}"
            shown = {"resourceId": one.id, "bban": one.bban, "currency": "GBP", "name": one.name}
            shown |= {"product": PRODUCTS[one.type], "cashAccountType": one.type}
            accounts.append(shown | write_links(balances=f"{path}/balances", transactions=f"{path}/transactions"))
        return respond(200, {"accounts": accounts})

    def _pending(self, account: Account) -> list[Subject]:
        mine = [one for one in self._subjects.values() if one.payer is account]
        return [one for one in reversed(mine) if one.status in ("ACTC", "ACSP")]

    def _available(self, account: Account) -> int:
        return account.pence - sum(one.pence for one in self._pending(account))

    def _balances(self, request: Request, id: str) -> Response:
        account = self._find(request, id)
        amounts = {"interimBooked": account.pence, "interimAvailable": self._available(account)}
        balances = [{"balanceType": type, "balanceAmount": write_pence(pence)} for type, pence in amounts.items()]
        return respond(200, {"account": {"bban": account.bban}, "balances": balances})

    def _list_entries(self, request: Request, id: str) -> Response:
        account, today = self._find(request, id), self.clock.today
        query = {"limit": "20", "dateTo": today.isoformat()} | dict(request.query)
        wanted = read_text(query, "bookingStatus", "booked|pending|both", "query")
        since, until = read_day(query, "dateFrom", "query"), read_day(query, "dateTo", "query")
        if not today - timedelta(days=90) <= since <= until:
            raise Fault(400, "valueInvalid", "query:dateFrom")
        limit = int(read_text(query, "limit", "[1-9]|[1-4][0-9]|50", "query"))
        rows = [one for one in account.entries if since.isoformat() <= one["bookingDate"] <= until.isoformat()]
        ids, key = [one["transactionId"] for one in rows], query.get("pageKey")
        if key and key not in ids:
            raise Fault(400, "valueInvalid", "query:pageKey")
        start = ids.index(key) + 1 if key else 0
        pending = [] if start else [self._describe_payment(one) for one in self._pending(account)]
        lists = {"booked": rows[start : start + limit], "pending": pending}
        links = {"balances": f"/v1/accounts/{id}/balances"}
        if wanted != "pending" and start + limit < len(rows):
            following = {**request.query, "pageKey": lists["booked"][-1]["transactionId"]}
            links["next"] = f"{request.path}?{urlencode(following)}"
        shown = {name: rows for name, rows in lists.items() if wanted in (name, "both")}
        return respond(200, {"account": {"bban": account.bban}, "transactions": shown | write_links(**links)})

    def _pay(self, request: Request, product: str) -> Response:
        if product != "faster-payments":
            raise Fault(404, "productUnknown", "path")
        read_header(request, "PSU-IP-Address")
        client, document = read_client(request), read_body(request)
        key = client, read_header(request, "Idempotency-Key")
        if key in self._keys:
            before, payment = self._keys[key]
            if before != document:
                raise Fault(409, "idempotencyKeyReused", "header:Idempotency-Key")
            return self._tell_made(payment, 200)
        for name, form in PAYMENT.items():
            read_text(document, name, form)
        accounts = [one for customer in self._customers for one in customer.accounts]
        payer = next((one for one in accounts if one.bban == document["debtorAccount"]["bban"]), None)
        if not payer or payer.type != "CACC":
            raise Fault(403, "accountCannotPay", "body:debtorAccount")
        kept = {name: document[name] for name in dict.fromkeys(place.partition(".")[0] for place in PAYMENT)}
        path = f"/v1/payments/{product}/FPS{self.clock.today:%y%m%d}{self._word(6)}"
        payment = Subject(client, path, kept, "RCVD", payer)
        if payment.pence > 10_000_00:
            raise Fault(400, "amountAboveLimit", "body:instructedAmount.amount")
        self._subjects[path], self._keys[key] = payment, (document, payment)
        if payment.pence > self._available(payer):
            payment.reject("AM04")
        return self._tell_made(payment, 201)

    def _start(self, request: Request, path: str) -> Response:
        subject, number = self._subject(request, path), read_header(request, "PSU-ID")
        document = read_body(request) if request.body else {}
        if not subject.is_waiting:
            raise Fault(409, "stepOutOfOrder", "path")
        customer = next((one for one in self._customers if one.number == number), None)
        if not customer or (subject.payer and subject.payer not in customer.accounts):
            raise Fault(401, "credentialsWrong", "header:PSU-ID")
        authorisation = Authorisation(self._word(24, "0123456789abcdef"), subject, customer)
        if document:
            self._check(authorisation, document)
        self._authorisations[authorisation.id] = authorisation
        told = {"authorisationId": authorisation.id, **self._tell_step(authorisation)}
        return respond(201, told, {"Location": authorisation.path, "ASPSP-SCA-Approach": "EMBEDDED"})

    def _go_on(self, request: Request, path: str, id: str) -> Response:
        subject, authorisation = self._subject(request, path), self._authorisations.get(id)
        if not authorisation or authorisation.subject is not subject:
            raise Fault(404, "resourceUnknown", "path")
        if request.method == "GET":
            return respond(200, {"scaStatus": authorisation.status})
        self._check(authorisation, read_body(request))
        return respond(200, self._tell_step(authorisation), {"ASPSP-SCA-Approach": "EMBEDDED"})

    def _check(self, authorisation: Authorisation, document: Mapping[str, Any]) -> None:
        """Take the next step with what the customer sent."""
        subject, customer = authorisation.subject, authorisation.customer
        name, _ = NEXT.get(authorisation.status, ("", ""))
        if name not in document or len(document) != 1 or not subject.is_waiting:
            raise Fault(409, "stepOutOfOrder", "body")
        if name == "authenticationMethodId":
            methods = {one["authenticationMethodId"]: one for one in customer.methods}
            chosen = read_text(document, name, "|".join(methods))
            authorisation.status, authorisation.method = "scaMethodSelected", methods[chosen]
            return
        place = name if authorisation.method else "psuData.password"
        right = CODES[authorisation.method["authenticationType"]] if authorisation.method else customer.password
        if read_text(document, place, ".*") != right:
            authorisation.attempts_left -= 1
            if not authorisation.attempts_left:
                authorisation.status = "failed"
                subject.reject("DS0H")
            raise Fault(401, "credentialsWrong", f"body:{place}", attemptsLeft=authorisation.attempts_left)
        authorisation.status = "finalised" if authorisation.method else "psuAuthenticated"
        if not authorisation.method:
            return
        if subject.payer and subject.pence > self._available(subject.payer):
            subject.reject("AM04")
            return
        subject.status = "ACTC" if subject.payer else "valid"
        subject.customer, subject.signed = customer, self.clock.now

    def _tell_step(self, authorisation: Authorisation) -> dict[str, Any]:
        told: dict[str, Any] = {"scaStatus": authorisation.status}
        links = {"scaStatus": authorisation.path}
        if authorisation.status in NEXT:
            links[NEXT[authorisation.status][1]] = authorisation.path
        if authorisation.status == "psuAuthenticated":
            told["scaMethods"] = authorisation.customer.methods
        elif authorisation.status == "scaMethodSelected":
            told["chosenScaMethod"] = method = authorisation.method
            code = CODES[method["authenticationType"]]
            told["challengeData"] = {"otpFormat": "integer", "otpMaxLength": len(code)}
            if method["authenticationType"] == "CHIP_OTP":
                told["challengeData"]["data"] = self._word(8, DIGITS)
        elif authorisation.status == "finalised":
            told |= authorisation.subject.state
        return told | write_links(**links)
