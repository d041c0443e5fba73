"""Banco del Ebro, a Spanish bank: NextGenPSD2 1.3 behind an API gateway, with 15 differences of its own.

1. All is below `/psd2/ebro/v1.3`. Apps sign in by X-IBM-Client-Id alone. The gateway answers an unknown client, path or
   method itself: `moreInformation` is a text then. The bank's own errors have `moreInformation.tppMessages`.
2. X-Request-ID is a UUID and comes back, also with errors. A payment with one that was used before gives 409.
3. POST and PUT need a Digest of the body; a missing or wrong one gives 400.
4. Days and times are those of Madrid, with its offset. Ids: `CNT-` and 20 hex digits for a consent, `PE`, the day and 9
   digits for a payment, 12 digits for an authorisation.
5. A consent is initiated, then active, declined, expired, replaced or revokedByTpp (DELETE gives 200 with that).
6. Lists in `access` are sent empty: the customer ticks accounts, which the consent shows in all its lists then.
7. `validUntil` is cut to 180 days, and to today if not recurring. What nobody signs for 30 minutes is expired.
8. `scaRedirect` is a page: a login (200 again if wrong), then accounts and SMS code. "cancelar" goes to the Nok URI.
9. An active recurring consent is replaced by the next one that the same customer signs for the app.
10. Without PSU-IP-Address each path can be read `frequencyPerDay` times a day with a consent, then 429.
11. Entries older than 90 days are shown only for 20 minutes after the customer has signed. The oldest comes first, and
    `_links.next` has a continuation that stands for all filters. Texts are in capitals without accents.
12. sepa-credit-transfers have a limit of 6000 EUR, target-2-payments a fee of 12 EUR, booked on its own. A payment that
    the account does not cover is made all the same, but is RJCT with AM04. Days are at most 60 ahead.
13. After the password an authorisation is psuAuthenticated if the customer has several methods, challengeSent if one;
    then come the method and the code. The third wrong code rejects. Transfers up to 30 EUR are exempted.
14. A payment is RCVD, ACCP, ACSP after two minutes (target 2: at once), ACCC after ten (five); PDNG until its day.
15. DELETE cancels a payment that is RCVD (204). One that is ACCP or PDNG needs an authorisation of the cancellation
    (202); others give 409. Amounts may be sent with fewer decimals and come back with two.
"""

import base64
import hashlib
import random
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from http import HTTPStatus
from typing import Any
from zoneinfo import ZoneInfo

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

BASE = "/psd2/ebro/v1.3"
MADRID = ZoneInfo("Europe/Madrid")
HEX = "0123456789ABCDEF"
CLIENTS = {"5b1e9c70-ab42": "Cuentamate", "e07714d2-90fc": "Hucha Digital"}
METHODS = {
    "SMS": {"authenticationType": "SMS_OTP", "name": "Clave por SMS"},
    "TOKEN": {"authenticationType": "CHIP_OTP", "name": "Ebro Token"},
}
SHOPS = "Panadería Ordesa|Farmacia Núñez|Cercanías Aragón|Librería Moncayo|Aguas del Jalón|Óptica Peñaflor".split("|")
KINDS = {"TARJ": "Compra con tarjeta", "RECI": "Recibo domiciliado", "TRAN": "Transferencia recibida"}
REACHES = ("balances", "transactions")
# The limit, the fee, and when a payment begins and ends to be carried out.
PRODUCTS = {
    "sepa-credit-transfers": (600_000, 0, timedelta(minutes=2), timedelta(minutes=10)),
    "target-2-payments": (50_000_000, 1_200, timedelta(), timedelta(minutes=5)),
}
ACCOUNTS = {
    "0007413": ("Cuenta Nómina", 842_015, 26),
    "0007421": ("Cuenta Conjunta", 1_930_640, 18),
    "0012058": ("Cuenta Online", 1_274_390, 24),
    "0012066": ("Cuenta Familiar", 2_615_200, 20),
    "0012074": ("Cuenta Ahorro", 4_400_000, 9),
}
# NIF, password, accounts, and what each method of authentication shows.
PEOPLE: Sequence[tuple[str, str, str, Mapping[str, str]]] = [
    ("48190357K", "Pilar-1808", "0007413 0007421", {"SMS": "390184", "TOKEN": "71520936"}),
    ("25713846F", "moncayo2314", "0007421", {"SMS": "846201"}),
    ("73026914M", "Cierzo!44", "0012058 0012066 0012074", {"TOKEN": "60934417", "SMS": "127750"}),
    ("17480265N", "jota-y-baile", "0012066", {"SMS": "553098"}),
]
TEXTS = {
    "ACCESS_EXCEEDED": "Se ha superado el número de accesos diarios sin intervención del usuario",
    "CANCELLATION_INVALID": "La orden ya no se puede anular",
    "CONSENT_EXPIRED": "El consentimiento ha dejado de ser válido",
    "CONSENT_INVALID": "El consentimiento no permite este acceso",
    "CONSENT_UNKNOWN": "El consentimiento no existe",
    "DUPLICATED_REQUEST": "Ya existe una orden con este X-Request-ID",
    "FORMAT_ERROR": "El campo {place} falta o no es correcto",
    "LIMIT_EXCEEDED": "El importe supera el límite de {limit} EUR de este tipo de orden",
    "OTP_INVALID": "Código incorrecto. Intentos restantes: {left}",
    "PERIOD_INVALID": "Solo se pueden consultar los últimos {days} días",
    "PSU_CREDENTIALS_INVALID": "Usuario o clave incorrectos, o sin firma en la cuenta",
    "RESOURCE_UNKNOWN": "El recurso no existe",
    "SERVICE_INVALID": "Las cuentas las elige el usuario: envíe listas vacías",
    "STATUS_INVALID": "La operación no es posible en el estado {now}",
}


@dataclass
class Account:
    id: str
    iban: str
    product: str
    cents: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    codes: Mapping[str, str]
    methods: Mapping[str, str]
    accounts: Sequence[Account]


@dataclass
class Consent:
    id: str
    client: str
    document: dict[str, Any]
    code: str
    back: str
    nok: str
    made: datetime
    status: str = "initiated"
    customer: Customer | None = None
    accounts: Sequence[Account] = ()
    signed: datetime | None = None

    @property
    def shown(self) -> dict[str, Any]:
        return {"consentStatus": self.status, **self.document}


@dataclass
class Payment:
    id: str
    client: str
    product: str
    path: str
    payer: Account
    cents: int
    total: int
    day: date
    document: dict[str, Any]
    status: str = "RCVD"
    reason: str | None = None
    accepted: datetime | None = None

    @property
    def standing(self) -> dict[str, str]:
        return {"transactionStatus": self.status} | ({"statusReason": self.reason} if self.reason else {})

    @property
    def shown(self) -> dict[str, Any]:
        return {"paymentId": self.id, **self.standing, **self.document}


@dataclass
class Authorisation:
    id: str
    payment: Payment
    customer: Customer
    branch: str
    allowed: Sequence[str]
    status: str = "psuAuthenticated"
    method: str = ""
    left: int = 3


def is_iban(text: Any) -> bool:
    has_form = isinstance(text, str) and re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text) is not None
    return has_form and int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1


def money(cents: int) -> dict[str, str]:
    return {"currency": "EUR", "amount": f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}"}


def read_day(text: Any) -> date | None:
    try:
        return date.fromisoformat(text)
    except (TypeError, ValueError):
        return None


def dig(document: Any, place: str) -> Any:
    for part in place.split("."):
        document = document.get(part) if isinstance(document, dict) else None
    return document


def require(members: Mapping[str, object]) -> None:
    if wrong := [place for place, is_right in members.items() if not is_right]:
        raise Fault(400, "FORMAT_ERROR", wrong[0])


def link(**paths: str) -> dict[str, Any]:
    return {name: {"href": path} for name, path in paths.items()}


class Ebro:
    def __init__(self, seed: int, clock: Clock) -> None:
        self.clock = clock
        self._random = random.Random(f"ebro {seed}")
        self._consents: dict[str, Consent] = {}
        self._payments: dict[str, Payment] = {}
        self._authorisations: dict[str, Authorisation] = {}
        self._used: set[tuple[str, str]] = set()
        self._reads: dict[tuple[str, str, date], int] = {}
        self._pages: dict[str, tuple[str, int, dict[str, str]]] = {}
        self._accounts = {number: self._open(number, *about) for number, about in ACCOUNTS.items()}
        self._customers = {}
        for nif, password, numbers, codes in PEOPLE:
            methods, accounts = {self._word(5): kind for kind in codes}, [self._accounts[n] for n in numbers.split()]
            self._customers[nif, password] = Customer(codes, methods, accounts)
        consent, payment = BASE + "/consents/{id}", BASE + "/payments/{product}/{id}"
        branch = payment + "/(?P<branch>(?:cancellation-)?authorisations)"
        step = branch + "/{code}"
        self._routes = Routes(
            ("POST", BASE + "/consents", self._ask_consent),
            ("GET", consent, lambda request, id: respond(200, self._consent(request, id).shown)),
            ("DELETE", consent, self._revoke),
            ("GET", BASE + "/accounts", self._list_accounts),
            ("GET", BASE + "/accounts/{id}/balances", self._show_balances),
            ("GET", BASE + "/accounts/{id}/transactions", self._list_entries),
            ("POST", BASE + "/payments/{product}", self._pay),
            ("GET", payment, lambda request, **at: respond(200, self._payment(request, **at).shown)),
            ("DELETE", payment, self._cancel),
            ("GET", payment + "/status", lambda request, **at: respond(200, self._payment(request, **at).standing)),
            ("POST", branch, self._authorise),
            ("GET", step, lambda request, **at: respond(200, {"scaStatus": self._find(request, **at).status})),
            ("PUT", step, self._continue),
            ("GET", "/sca/autorizar", self._decide),
            ("POST", "/sca/autorizar", self._decide),
        )

    @property
    def _today(self) -> date:
        return self.clock.now.astimezone(MADRID).date()

    def answer(self, request: Request) -> Response:
        self._advance()
        more: Any
        told = {"X-Global-Transaction-ID": self._word(24, HEX.lower())}
        if number := request.headers.get("x-request-id"):
            told["X-Request-ID"] = number
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            if request.path.startswith("/sca/"):
                return handler(request)
            if request.headers.get("x-ibm-client-id") not in CLIENTS:
                raise Fault(401, "Client id not registered.")
            require({"X-Request-ID": re.fullmatch(r"[\da-fA-F]{8}(-[\da-fA-F]{4}){3}-[\da-fA-F]{12}", number or "")})
            digest = "SHA-256=" + base64.b64encode(hashlib.sha256(request.body).digest()).decode()
            require({"Digest": request.method not in ("POST", "PUT") or request.headers.get("digest") == digest})
            answer = handler(request, **parameters)
            return Response(answer.status, answer.content, {**answer.headers, **told})
        except NoRoute:
            status, more = 404, "No resources match requested URI"
        except (Fault, ValueError) as error:
            fault = error if isinstance(error, Fault) else Fault(400, "FORMAT_ERROR", "body")
            status, more = fault.status, fault.word
            if more in TEXTS:
                text = TEXTS[more].format(place=fault.place, **fault.more)
                more = {"tppMessages": [{"category": "ERROR", "code": more, "path": fault.place, "text": text}]}
        about = {"httpCode": str(status), "httpMessage": HTTPStatus(status).phrase, "moreInformation": more}
        return respond(status, about, told)

    def _word(self, length: int, signs: str = "0123456789") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _open(self, number: str, product: str, cents: int, count: int) -> Account:
        rest = f"0982041736604{number}"
        check = 98 - int(f"{rest}142800") % 97
        account = Account(self._word(16, HEX.lower()), f"ES{check:02}{rest}", product, cents)
        for place in reversed(range(count)):
            day = self._today - timedelta(days=6 * place + self._random.randrange(3, 7))
            kind, who = self._random.choice(("TARJ", "TARJ", "RECI", "TRAN")), self._random.choice(SHOPS)
            change = self._random.randrange(240, 9_900) * (1 if kind == "TRAN" else -1)
            self._enter(account, day, change, who, KINDS[kind], kind)
        return account

    def _enter(self, account: Account, day: date, cents: int, who: str, text: str, kind: str) -> None:
        account.cents += cents
        plain = [unicodedata.normalize("NFD", one).encode("ascii", "ignore").decode().upper() for one in (who, text)]
        entry = {
            "transactionId": f"{day:%y%m%d}{self._word(8)}",
            "bookingDate": day.isoformat(),
            "transactionAmount": money(cents),
            "creditorName" if cents < 0 else "debtorName": plain[0],
            "remittanceInformationUnstructured": plain[1],
            "proprietaryBankTransactionCode": kind,
            "balanceAfterTransaction": {"balanceType": "interimBooked", "balanceAmount": money(account.cents)},
        }
        account.entries.append(entry)

    def _advance(self) -> None:
        for consent in self._consents.values():
            is_late = consent.status == "initiated" and self.clock.now - consent.made >= timedelta(minutes=30)
            if is_late or (consent.status == "active" and consent.document["validUntil"] < self._today.isoformat()):
                consent.status = "expired"
        for payment in self._payments.values():
            _, fee, begins, ends = PRODUCTS[payment.product]
            if payment.status == "PDNG" and payment.day <= self._today:
                self._accept(payment, datetime.combine(payment.day, time(), MADRID).astimezone(UTC))
            if payment.accepted and payment.status == "ACCP" and self.clock.now - payment.accepted >= begins:
                payment.status = "ACSP"
            if payment.accepted and payment.status == "ACSP" and self.clock.now - payment.accepted >= ends:
                about, when = payment.document, (payment.accepted + ends).astimezone(MADRID)
                payment.status, day, text = "ACCC", when.date(), about["remittanceInformationUnstructured"]
                self._enter(payment.payer, day, -payment.cents, about["creditorName"], text, "TRAN")
                if fee:
                    self._enter(payment.payer, day, -fee, "Banco del Ebro", "Comisión orden urgente", "COMI")

    def _accept(self, payment: Payment, when: datetime) -> None:
        if payment.day > self._today:
            payment.status = "PDNG"
        elif payment.total > self._available(payment.payer):
            payment.status, payment.reason = "RJCT", "AM04"
        else:
            payment.status, payment.accepted = "ACCP", when

    def _ask_consent(self, request: Request) -> Response:
        body, headers = request.document, request.headers
        names = ("access", "recurringIndicator", "frequencyPerDay", "validUntil")
        access, is_recurring, often, until = (body.get(name) for name in names)
        last, day = self._today + timedelta(days=180 if is_recurring else 0), read_day(until)
        wanted = {
            "TPP-Redirect-URI": (back := headers.get("tpp-redirect-uri", "")),
            "access": isinstance(access, dict) and "accounts" in access and {"accounts", *REACHES}.issuperset(access),
            "recurringIndicator": isinstance(is_recurring, bool),
            "frequencyPerDay": isinstance(often, int) and 1 <= often <= (4 if is_recurring else 1),
            "validUntil": day and day >= self._today,
        }
        require(wanted)
        if any(dict(access or {}).values()):
            raise Fault(400, "SERVICE_INVALID", "access")
        document = {name: body[name] for name in names} | {"validUntil": min(day or last, last).isoformat()}
        document["creationDateTime"] = self.clock.now.astimezone(MADRID).isoformat()
        id, code, nok = f"CNT-{self._word(20, HEX)}", self._word(32, HEX), headers.get("tpp-nok-redirect-uri", back)
        consent = Consent(id, headers["x-ibm-client-id"], document, code, back, nok, self.clock.now)
        self._consents[id], path = consent, f"{BASE}/consents/{id}"
        links = link(scaRedirect=f"{request.origin}/sca/autorizar?solicitud={code}", self=path)
        about = {"consentId": id, "consentStatus": consent.status, "validUntil": document["validUntil"]}
        return respond(201, about | {"_links": links}, {"Location": path, "ASPSP-SCA-Approach": "REDIRECT"})

    def _consent(self, request: Request, id: str, status: int = 404) -> Consent:
        consent = self._consents.get(id)
        if not consent or consent.client != request.headers["x-ibm-client-id"]:
            raise Fault(status, "CONSENT_UNKNOWN")
        return consent

    def _revoke(self, request: Request, id: str) -> Response:
        consent = self._consent(request, id)
        if consent.status in ("initiated", "active"):
            consent.status = "revokedByTpp"
        return respond(200, {"consentId": id, "consentStatus": consent.status})

    def _reach(self, request: Request, reach: str, id: str | None = None) -> tuple[Consent, Sequence[Account]]:
        require({"Consent-ID": request.headers.get("consent-id")})
        consent = self._consent(request, request.headers["consent-id"], 403)
        if consent.status in ("initiated", "declined") or reach not in consent.document["access"]:
            raise Fault(401, "CONSENT_INVALID")
        if consent.status != "active":
            raise Fault(401, "CONSENT_EXPIRED")
        found = [one for one in consent.accounts if id in (None, one.id)]
        if not found:
            is_known = any(one.id == id for one in self._accounts.values())
            raise Fault(401, "CONSENT_INVALID") if is_known else Fault(404, "RESOURCE_UNKNOWN")
        if "psu-ip-address" not in request.headers and "continuation" not in request.query:
            key = consent.id, request.path, self._today
            self._reads[key] = self._reads.get(key, 0) + 1
            if self._reads[key] > consent.document["frequencyPerDay"]:
                raise Fault(429, "ACCESS_EXCEEDED")
        return consent, found

    def _list_accounts(self, request: Request) -> Response:
        consent, accounts = self._reach(request, "accounts")
        names, rows = set(REACHES) & set(consent.document["access"]), []
        for one in accounts:
            about = {"resourceId": one.id, "iban": one.iban, "currency": "EUR", "product": one.product}
            links = link(**{name: f"{BASE}/accounts/{one.id}/{name}" for name in sorted(names)})
            rows.append(about | {"status": "enabled", "_links": links})
        return respond(200, {"accounts": rows})

    def _available(self, account: Account) -> int:
        kept = [one.total for one in self._payments.values() if one.status in ("ACCP", "ACSP") and one.payer is account]
        return account.cents - sum(kept)

    def _show_balances(self, request: Request, id: str) -> Response:
        _, [account] = self._reach(request, "balances", id)
        amounts = {"interimBooked": account.cents, "interimAvailable": self._available(account)}
        day, rows = {"referenceDate": self._today.isoformat()}, amounts.items()
        balances = [{"balanceType": kind, "balanceAmount": money(cents), **day} for kind, cents in rows]
        return respond(200, {"account": {"iban": account.iban}, "balances": balances})

    def _list_entries(self, request: Request, id: str) -> Response:
        consent, [account] = self._reach(request, "transactions", id)
        query, start, today = dict(request.query), 0, self._today
        if token := query.get("continuation"):
            path, start, query = self._pages.get(token, ("", 0, query))
            require({"continuation": path == request.path})
        size, since = query.get("itemsPerPage", "20"), read_day(query.get("dateFrom"))
        until = read_day(query.get("dateTo", today.isoformat()))
        require({"itemsPerPage": re.fullmatch("[1-9]|[1-4][0-9]|50", size), "dateFrom": since, "dateTo": until})
        days = 730 if consent.signed and self.clock.now - consent.signed < timedelta(minutes=20) else 90
        if not since or not until or not today - timedelta(days=days) <= since <= until:
            raise Fault(400, "PERIOD_INVALID", "dateFrom", days=days)
        rows = [one for one in account.entries if since.isoformat() <= one["bookingDate"] <= until.isoformat()]
        links, end = link(balances=f"{BASE}/accounts/{id}/balances"), start + int(size)
        if end < len(rows):
            token = self._word(40, HEX.lower())
            self._pages[token] = request.path, end, query
            links |= link(next=f"{request.path}?continuation={token}")
        return respond(200, {"transactions": {"booked": rows[start:end], "_links": links}})

    def _pay(self, request: Request, product: str) -> Response:
        if product not in PRODUCTS:
            raise Fault(404, "RESOURCE_UNKNOWN")
        client, body, today = request.headers["x-ibm-client-id"], request.document, self._today
        if (client, request.headers["x-request-id"]) in self._used:
            raise Fault(409, "DUPLICATED_REQUEST", "X-Request-ID")
        amount, iban = str(dig(body, "instructedAmount.amount")), dig(body, "debtorAccount.iban")
        cents = round(float(amount) * 100) if re.fullmatch(r"\d{1,9}(\.\d{1,2})?", amount) else 0
        payer = next((one for one in self._accounts.values() if one.iban == iban), None)
        day = read_day(body.get("requestedExecutionDate", today.isoformat()))
        (limit, fee, _, _), texts = PRODUCTS[product], {"creditorName": 70, "remittanceInformationUnstructured": 140}
        members = {
            **{name: isinstance(text := body.get(name), str) and 0 < len(text) <= most for name, most in texts.items()},
            "PSU-IP-Address": request.headers.get("psu-ip-address"),
            "debtorAccount.iban": payer,
            "creditorAccount.iban": is_iban(dig(body, "creditorAccount.iban")),
            "instructedAmount.currency": dig(body, "instructedAmount.currency") == "EUR",
            "instructedAmount.amount": cents,
            "requestedExecutionDate": day and today <= day <= today + timedelta(days=60),
        }
        require(members)
        if not payer or not day or cents > limit:
            raise Fault(403, "LIMIT_EXCEEDED", "instructedAmount.amount", limit=f"{limit // 100_000}.000,00")
        document = {name: body[name] for name in ("debtorAccount", "creditorAccount", *texts)}
        document |= {"instructedAmount": money(cents), "requestedExecutionDate": day.isoformat()}
        document |= {"transactionFeeIndicator": bool(fee)} | ({"transactionFees": money(fee)} if fee else {})
        id = f"PE{today:%y%m%d}{self._word(9)}"
        path = f"{BASE}/payments/{product}/{id}"
        payment = Payment(id, client, product, path, payer, cents, cents + fee, day, document)
        self._payments[id], links = payment, {"self": path, "status": f"{path}/status"}
        self._used.add((client, request.headers["x-request-id"]))
        if day == today and payment.total > self._available(payer):
            payment.status, payment.reason = "RJCT", "AM04"
        else:
            links["startAuthorisationWithPsuAuthentication"] = f"{path}/authorisations"
        headers = {"Location": path, "ASPSP-SCA-Approach": "EMBEDDED"}
        return respond(201, payment.shown | {"_links": link(**links)}, headers)

    def _payment(self, request: Request, product: str, id: str) -> Payment:
        payment = self._payments.get(id)
        if not payment or (payment.client, payment.product) != (request.headers["x-ibm-client-id"], product):
            raise Fault(404, "RESOURCE_UNKNOWN")
        return payment

    def _cancel(self, request: Request, product: str, id: str) -> Response:
        payment = self._payment(request, product, id)
        if payment.status == "RCVD":
            payment.status = "CANC"
            return Response(204)
        if payment.status not in ("ACCP", "PDNG"):
            raise Fault(409, "CANCELLATION_INVALID")
        links = link(startAuthorisationWithPsuAuthentication=f"{payment.path}/cancellation-authorisations")
        return respond(202, {**payment.standing, "_links": links})

    def _authorise(self, request: Request, product: str, id: str, branch: str) -> Response:
        payment = self._payment(request, product, id)
        allowed = ["RCVD"] if branch == "authorisations" else ["ACCP", "PDNG"]
        if payment.status not in allowed:
            raise Fault(409, "STATUS_INVALID", now=payment.status)
        password = str(dig(request.document, "psuData.password"))
        customer = self._customers.get((request.headers.get("psu-id", ""), password))
        if not customer or payment.payer not in customer.accounts:
            raise Fault(401, "PSU_CREDENTIALS_INVALID")
        made = Authorisation(self._word(12), payment, customer, branch, allowed)
        self._authorisations[made.id] = made
        if payment.status == "RCVD" and product == "sepa-credit-transfers" and payment.cents <= 3_000:
            made.status = "exempted"
            self._accept(payment, self.clock.now)
        elif len(customer.methods) == 1:
            made.status, [made.method] = "challengeSent", customer.methods
        return self._tell(201, made)

    def _tell(self, status: int, made: Authorisation) -> Response:
        self._advance()
        path, customer = f"{made.payment.path}/{made.branch}/{made.id}", made.customer
        methods = {id: {"authenticationMethodId": id, **METHODS[kind]} for id, kind in customer.methods.items()}
        about: dict[str, Any] = {"authorisationId": made.id, "scaStatus": made.status}
        links = {"scaStatus": path}
        if made.status == "psuAuthenticated":
            about["scaMethods"], links["selectAuthenticationMethod"] = list(methods.values()), path
        elif made.status == "challengeSent":
            most = len(customer.codes[customer.methods[made.method]])
            about["chosenScaMethod"], links["authoriseTransaction"] = methods[made.method], path
            about["challengeData"] = {"otpMaxLength": most, "otpFormat": "integer"}
            about["psuMessage"] = f"Introduzca el código de {most} cifras"
        else:
            about |= made.payment.standing
        return respond(status, about | {"_links": link(**links)})

    def _find(self, request: Request, product: str, id: str, branch: str, code: str) -> Authorisation:
        payment, made = self._payment(request, product, id), self._authorisations.get(code)
        if not made or (made.payment.id, made.branch) != (payment.id, branch):
            raise Fault(404, "RESOURCE_UNKNOWN")
        return made

    def _continue(self, request: Request, **at: str) -> Response:
        made, body = self._find(request, **at), request.document
        payment, methods = made.payment, made.customer.methods
        if made.status not in ("psuAuthenticated", "challengeSent") or payment.status not in made.allowed:
            raise Fault(409, "STATUS_INVALID", now=made.status)
        if made.status == "psuAuthenticated" or "authenticationMethodId" in body:
            require({"authenticationMethodId": body.get("authenticationMethodId") in list(methods)})
            made.status, made.method = "challengeSent", body["authenticationMethodId"]
            return self._tell(200, made)
        if body.get("scaAuthenticationData") != made.customer.codes[methods[made.method]]:
            made.left -= 1
            if not made.left:
                made.status = "failed"
                if payment.status == "RCVD":
                    payment.status, payment.reason = "RJCT", "MS03"
            raise Fault(401, "OTP_INVALID", "scaAuthenticationData", left=made.left)
        made.status = "finalised"
        if payment.status == "RCVD":
            self._accept(payment, self.clock.now)
        else:
            payment.status = "CANC"
        return self._tell(200, made)

    def _page(self, hint: str, fields: str, *actions: str) -> Response:
        buttons = "".join(f'<button name="accion" value="{one}">{one}</button>' for one in (*actions, "cancelar"))
        return show(200, "Banco del Ebro", f'<p>{hint}</p><form method="post">{fields}{buttons}</form>')

    def _decide(self, request: Request) -> Response:
        code, action = request.query.get("solicitud"), request.field("accion")
        consent = next((one for one in self._consents.values() if (one.code, one.status) == (code, "initiated")), None)
        if not consent:
            return show(403, "Banco del Ebro", "<p>Esta solicitud ya no está disponible.</p>")
        hint = f"{CLIENTS[consent.client]} solicita consultar sus cuentas."
        if action == "cancelar":
            return self._return(consent, "declined")
        if action == "entrar":
            hint = "Usuario o clave incorrectos."
            consent.customer = self._customers.get((request.field("usuario").upper(), request.field("clave")))
        if not (customer := consent.customer):
            return self._page(hint, '<input name="usuario"><input name="clave" type="password">', "entrar")
        hint = "Falta una cuenta o el código no es correcto." if action == "firmar" else "Elija sus cuentas."
        if action == "firmar":
            consent.accounts = [one for one in customer.accounts if one.iban in request.form.get("cuenta", [])]
            if consent.accounts and request.field("codigo") == customer.codes["SMS"]:
                return self._return(consent, "active")
        boxes = [f'<input type="checkbox" name="cuenta" value="{one.iban}">{one.product}' for one in customer.accounts]
        return self._page(hint, "".join(boxes) + '<input name="codigo">', "firmar")

    def _return(self, consent: Consent, status: str) -> Response:
        where, result = consent.nok, "KO"
        if status == "active":
            where, result, access = consent.back, "OK", consent.document["access"]
            for other in self._consents.values():
                is_same = (other.status, other.client, other.customer) == (status, consent.client, consent.customer)
                if is_same and other.document["recurringIndicator"] and consent.document["recurringIndicator"]:
                    other.status = "replaced"
            consent.signed, ibans = self.clock.now, [{"iban": one.iban} for one in consent.accounts]
            consent.document["access"] = {name: list(ibans) for name in access}
        consent.status = status
        return Response(302, "", {"Location": f"{where}?consentId={consent.id}&resultado={result}"})
