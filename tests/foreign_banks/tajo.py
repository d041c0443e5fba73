"""Tajo, a Spanish bank: NextGenPSD2 of the Berlin Group, as this bank understands it.

- All calls need X-Request-ID, a UUID, which comes back in a header, and TPP-License.
- Errors are `{"requestId", "errors": [{"severity", "code", "number", "path"?, "text"}]}`, one for each wrong member.
- `_links` is a list of `{"rel", "href"}`. Consents and payments begin with one authorisation, whose `scaStatus` is
  received, psuAuthenticated, finalised, failed (three wrong codes, the thing is rejected) or the bank's own declined.
- Consents are only "bank offered" (`access` has empty lists): the customer chooses the accounts, which `access` shows
  then. They are received, accountsChosen (own), valid, rejected, terminatedByTpp (DELETE, 204) or expired, when
  `validUntil` has passed; for 180 days and four accesses a day at most. There is no …/status.
- Reads with a consent that is not valid give 401 CONSENT_INVALID with its `consentStatus`. Without PSU-IP-Address each
  address can be read `frequencyPerDay` times a day, then 429.
- The customer's page is one address: a hidden `paso` says which form is sent, acceso (log in), cuentas (consents only)
  or firma (code by SMS, 135790 in this sandbox). `accion` rechazar declines at any of them, also before the log in.
  The way back is TPP-Redirect-URI, or TPP-Nok-Redirect-URI if sent, with `id` and `result` OK or KO.
- Balances are interimAvailable and contable (own, booked). Amounts have no sign; creditDebitIndicator tells. Booked
  entries show the balance after them. dateFrom and bookingStatus must be sent, dateFrom at most 90 days ago. A report
  has the balances and how many entries are `remaining`; the next page is `afterRef`, the last entry of this one.
- Payments are RCVD, SIGN (own, signed), ACSP after two minutes and ACSC after thirty; RJCT; ANUL (own) after DELETE,
  which needs no signature, answers with the state and ends with SIGN (409 then). The available balance must cover it.
- Periodic payments have ISO words as frequency (WEEK, MNTH, YEAR) and begin tomorrow at the earliest. When signed they
  are ACTV, with nextExecutionDate, and DONE (both own) after endDate. They can be cancelled while active.
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

SMS_CODE = "135790"
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
SEPA = re.compile(r"[A-Za-z0-9/?:().,'+ -]+")
TEXTS = {"creditorName": 70, "remittanceInformationUnstructured": 140}
SHOPS = "Mercado Atocha|Farmacia Goya|Renfe Viajeros|Luz del Norte|Libreria Cervantes|Telefonia Duero".split("|")
CALLS = {"sepa": "payments", "periodic": "periodic-payments"}
NUMBERS = {"FORMAT_ERROR": "TJ-1004", "CERTIFICATE_MISSING": "TJ-1001", "CONSENT_INVALID": "TJ-2011"}
NUMBERS |= {"CONSENT_UNKNOWN": "TJ-2010", "RESOURCE_UNKNOWN": "TJ-2404", "SERVICE_INVALID": "TJ-1405"}
NUMBERS |= {"ACCESS_EXCEEDED": "TJ-2029", "STATUS_INVALID": "TJ-3009", "FUNDS_NOT_AVAILABLE": "TJ-3022"}


def check_digits(country: str, rest: str) -> str:
    digits = "".join(str(int(sign, 36)) for sign in rest + country + "00")
    return f"{98 - int(digits) % 97:02}"


def is_iban(text: Any) -> bool:
    is_formed = isinstance(text, str) and re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text)
    return bool(is_formed) and check_digits(text[:2], text[4:]) == text[2:4]


def money(cents: int) -> dict[str, str]:
    return {"currency": "EUR", "amount": f"{cents // 100}.{cents % 100:02}"}


def to_cents(text: Any) -> int:
    """Return 0 for what is no amount."""
    is_amount = isinstance(text, str) and re.fullmatch(r"\d{1,9}(\.\d{1,2})?", text)
    return round(float(text) * 100) if is_amount else 0


def to_day(text: Any) -> date | None:
    try:
        return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else None
    except (TypeError, ValueError):
        return None


def to_links(**links: str) -> list[dict[str, str]]:
    return [{"rel": rel, "href": href} for rel, href in links.items()]


def following(day: date, frequency: str) -> date:
    months = day.year * 12 + day.month - 1 + (12 if frequency == "YEAR" else 1)
    later = date(months // 12, months % 12 + 1, min(day.day, 28))
    return day + timedelta(days=7) if frequency == "WEEK" else later


@dataclass
class Account:
    id: str
    iban: str
    name: str
    product: str
    cents: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    user: str
    secret: str
    name: str
    accounts: Sequence[Account]


@dataclass
class Thing:
    """A consent or a payment, with its authorisation. `kind` is consent, sepa or periodic."""

    kind: str
    id: str
    authorisation: str
    code: str
    back: str
    back_nok: str
    document: dict[str, Any]
    status: str
    sca: str = "received"
    tries: int = 0
    customer: Customer | None = None
    accounts: list[Account] = field(default_factory=list)
    cents: int = 0
    signed: datetime | None = None
    next_day: date | None = None
    reads: dict[tuple[date, str], int] = field(default_factory=dict)

    @property
    def path(self) -> str:
        kind = "consents" if self.kind == "consent" else f"{CALLS[self.kind]}/sepa-credit-transfers"
        return f"/v1/{kind}/{self.id}"

    @property
    def state(self) -> dict[str, str]:
        return {"consentStatus" if self.kind == "consent" else "transactionStatus": self.status}


def check(*rules: tuple[Any, str, str]) -> None:
    """A rule is whether it is kept, the place and the text."""
    if wrongs := {place: text for is_right, place, text in rules if not is_right}:
        raise Fault(400, "FORMAT_ERROR", wrongs=wrongs)


class Tajo:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"tajo {seed}")
        self._things: dict[str, Thing] = {}
        self._customers = [
            Customer("05417733K", "ribera84", "Lucia Ferrer Pons", self._open_all("0049155", 412_688, 1_530_075)),
            Customer("71220968D", "encina27", "Marcos Vidal Soto", self._open_all("0061820", 873_419, 265_130, 90_255)),
        ]
        routes: list[tuple[str, str, Callable[..., Response]]] = [
            ("POST", "/v1/consents", self._ask_consent),
            ("GET", "/v1/consents/{id}", self._consent),
            ("DELETE", "/v1/consents/{id}", self._end_consent),
            ("GET", "/v1/consents/{id}/authorisations/{one}", self._authorisation),
            ("GET", "/v1/accounts", self._list_accounts),
            ("GET", "/v1/accounts/{id}/balances", self._balances),
            ("GET", "/v1/accounts/{id}/transactions", self._report),
        ]
        for word in CALLS.values():
            path = f"/v1/{word}/sepa-credit-transfers"
            routes += [
                ("POST", path, self._initiate),
                ("GET", path + "/{id}", self._payment),
                ("GET", path + "/{id}/status", self._status),
                ("DELETE", path + "/{id}", self._cancel),
                ("GET", path + "/{id}/authorisations/{one}", self._authorisation),
            ]
        self._routes = Routes(*routes)

    def answer(self, request: Request) -> Response:
        self._advance()
        if request.path.startswith("/firma/"):
            act = self._use_page if request.method == "POST" else self._open_page
            return act(request, request.path.removeprefix("/firma/"))
        asked = request.headers.get("x-request-id")
        told = {"X-Request-ID": asked} if asked else {}
        try:
            self._check_headers(request)
            handler, parameters = self._routes.find(request.method, request.path)
            response = handler(request, **parameters)
            return Response(response.status, response.content, {**response.headers, **told})
        except NoRoute as wrong:
            fault = Fault(405, "SERVICE_INVALID") if wrong.allowed else Fault(404, "RESOURCE_UNKNOWN")
        except Fault as found:
            fault = found
        places = dict(fault.more.get("wrongs", {fault.place: fault.more.get("text", "Consulte el manual de Tajo.")}))
        errors = []
        for place, text in places.items():
            error = {"severity": "ERROR", "code": fault.word, "number": NUMBERS[fault.word]}
            errors.append(error | ({"path": place} if place else {}) | {"text": text})
        state = {"consentStatus": fault.more["state"]} if "state" in fault.more else {}
        return respond(fault.status, {"requestId": asked, **state, "errors": errors}, told)

    def _check_headers(self, request: Request) -> None:
        check((UUID.fullmatch(request.headers.get("x-request-id", "")), "X-Request-ID", "Falta un UUID."))
        if "tpp-license" not in request.headers:
            raise Fault(401, "CERTIFICATE_MISSING", "TPP-License", text="Falta la licencia.")

    def _word(self, length: int, signs: str = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _open_all(self, number: str, *cents: int) -> list[Account]:
        names = {"Cuenta Nomina": "CACC", "Cuenta Ahorro": "SVGS", "Cuenta Familiar": "CACC"}
        accounts = []
        for place, (start, (name, product)) in enumerate(zip(cents, names.items(), strict=False), 1):
            rest = f"2147003{number[:3]}{number}{place * 17:03}"
            iban = f"ES{check_digits('ES', rest)}{rest}"
            accounts.append(account := Account(self._word(14, "0123456789abcdef"), iban, name, product, start))
            for days in sorted(self._random.sample(range(1, 88), 52), reverse=True):
                change = self._random.choice((-1, -1, -1, 1, 2)) * self._random.randrange(220, 14_500)
                change = abs(change) if account.cents + change < 0 else change
                day, shop = self.clock.today - timedelta(days=days), self._random.choice(SHOPS)
                self._enter(account, day, change, shop, "Compra con tarjeta", "CCRD")
        return accounts

    def _enter(self, account: Account, day: date, cents: int, who: str, text: str, code: str) -> None:
        account.cents += cents
        entry = {"entryReference": self._word(12, "0123456789"), "bookingDate": day.isoformat()}
        entry |= self._show_entry(cents, who, text) | {"bankTransactionCode": code}
        account.entries.insert(0, entry | {"balanceAfterTransaction": money(account.cents)})

    def _show_entry(self, cents: int, who: str, text: str) -> dict[str, Any]:
        sign = {"creditDebitIndicator": "DBIT" if cents < 0 else "CRDT", "transactionAmount": money(abs(cents))}
        return sign | {"counterpartyName": who, "remittanceInformationUnstructured": text}

    def _pay(self, thing: Thing, day: date) -> None:
        name, text = (thing.document[one] for one in TEXTS)
        self._enter(thing.accounts[0], day, -thing.cents, name, text, "ICDT")

    def _advance(self) -> None:
        today = self.clock.today
        for thing in self._things.values():
            passed = self.clock.now - thing.signed if thing.signed else timedelta()
            if thing.kind == "consent":
                is_open = thing.status in ("received", "accountsChosen", "valid")
                if is_open and thing.document["validUntil"] < today.isoformat():
                    thing.status = "expired"
            if thing.status == "SIGN" and passed >= timedelta(minutes=2):
                thing.status = "ACSP"
            if thing.status == "ACSP" and passed >= timedelta(minutes=30):
                thing.status = "ACSC"
                self._pay(thing, today)
            while thing.status == "ACTV" and thing.next_day and thing.next_day <= today:
                if thing.cents <= self._available(thing.accounts[0]):
                    self._pay(thing, thing.next_day)
                thing.next_day = following(thing.next_day, thing.document["frequency"])
                if thing.next_day.isoformat() > thing.document.get("endDate", "9999"):
                    thing.status, thing.next_day = "DONE", None

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "FORMAT_ERROR", "body", text="No es un objeto JSON.") from None

    def _make(self, request: Request, kind: str, id: str, document: dict[str, Any], status: str) -> Thing:
        back = request.headers.get("tpp-redirect-uri", "")
        check((back.startswith("https://"), "TPP-Redirect-URI", "Falta la direcci\u00f3n de vuelta."))
        authorisation = f"aut_{self._word(12, '0123456789abcdef')}"
        back_nok = request.headers.get("tpp-nok-redirect-uri", back)
        self._things[id] = Thing(kind, id, authorisation, self._word(22), back, back_nok, document, status)
        return self._things[id]

    def _created(self, thing: Thing, **ids: str) -> Response:
        sca = f"{thing.path}/authorisations/{thing.authorisation}"
        links = to_links(scaRedirect=f"/firma/{thing.code}", self=thing.path, scaStatus=sca)
        document = {**ids, **thing.state, "scaStatus": thing.sca, "_links": links}
        return respond(201, document, {"Location": thing.path, "ASPSP-SCA-Approach": "REDIRECT"})

    def _find(self, request: Request, id: str) -> Thing:
        thing = self._things.get(id)
        if not thing or not request.path.startswith(thing.path):
            raise Fault(404, "RESOURCE_UNKNOWN", text=f"No existe {id}.")
        return thing

    def _authorisation(self, request: Request, id: str, one: str) -> Response:
        if (thing := self._find(request, id)).authorisation != one:
            raise Fault(404, "RESOURCE_UNKNOWN", text=f"No existe {one}.")
        return respond(200, {"authorisationId": one, "scaStatus": thing.sca})

    def _ask_consent(self, request: Request) -> Response:
        body, today, names = self._body(request), self.clock.today, {"accounts", "balances", "transactions"}
        access, often, until = body.get("access"), body.get("frequencyPerDay"), to_day(body.get("validUntil"))
        offered = isinstance(access, dict) and access and set(access) <= names and not any(access.values())
        soon = until and today <= until <= today + timedelta(days=180)
        check(
            (offered, "access", "Solo listas vac\u00edas de accounts, balances y transactions."),
            (isinstance(body.get("recurringIndicator"), bool), "recurringIndicator", "Es true o false."),
            (isinstance(often, int) and 1 <= often <= 4, "frequencyPerDay", "De 1 a 4."),
            (soon, "validUntil", "Desde hoy hasta 180 d\u00edas."),
        )
        document = {name: body[name] for name in ("access", "recurringIndicator", "frequencyPerDay", "validUntil")}
        thing = self._make(request, "consent", f"cns_{self._word(16)}", document, "received")
        return self._created(thing, consentId=thing.id)

    def _consent(self, request: Request, id: str) -> Response:
        thing = self._find(request, id)
        chosen = [{"iban": one.iban, "currency": "EUR"} for one in thing.accounts]
        access = dict.fromkeys(thing.document["access"], chosen)
        document = {"consentId": id, **thing.state, **thing.document, "access": access}
        return respond(200, document | {"_links": to_links(self=thing.path)})

    def _end_consent(self, request: Request, id: str) -> Response:
        thing = self._find(request, id)
        if thing.status not in ("received", "accountsChosen", "valid"):
            raise Fault(409, "STATUS_INVALID", state=thing.status)
        thing.status = "terminatedByTpp"
        return Response(204)

    def _allowed(self, request: Request, need: str) -> Thing:
        check(("consent-id" in request.headers, "Consent-ID", "Falta el consentimiento."))
        thing = self._things.get(request.headers["consent-id"])
        if not thing or thing.kind != "consent":
            raise Fault(403, "CONSENT_UNKNOWN", "Consent-ID")
        if thing.status != "valid" or need not in ("accounts", *thing.document["access"]):
            raise Fault(401, "CONSENT_INVALID", state=thing.status, text=f"No permite leer {need}.")
        if "psu-ip-address" not in request.headers:
            read = self.clock.today, request.path
            if thing.reads.get(read, 0) >= thing.document["frequencyPerDay"]:
                raise Fault(429, "ACCESS_EXCEEDED", text="Sin el cliente no hay m\u00e1s accesos hoy.")
            thing.reads[read] = thing.reads.get(read, 0) + 1
        return thing

    def _own(self, request: Request, id: str, need: str) -> Account:
        for account in self._allowed(request, need).accounts:
            if account.id == id:
                return account
        raise Fault(404, "RESOURCE_UNKNOWN", text=f"No existe la cuenta {id}.")

    def _show(self, account: Account) -> dict[str, Any]:
        owner, path = next(one.name for one in self._customers if account in one.accounts), f"/v1/accounts/{account.id}"
        shown = {"resourceId": account.id, "iban": account.iban, "currency": "EUR", "name": account.name}
        links = to_links(balances=f"{path}/balances", transactions=f"{path}/transactions")
        return shown | {"cashAccountType": account.product, "ownerName": owner, "_links": links}

    def _list_accounts(self, request: Request) -> Response:
        return respond(200, {"accounts": [self._show(one) for one in self._allowed(request, "accounts").accounts]})

    def _reserved(self, account: Account) -> list[Thing]:
        return [one for one in self._things.values() if one.status in ("SIGN", "ACSP") and account in one.accounts]

    def _available(self, account: Account) -> int:
        return account.cents - sum(one.cents for one in self._reserved(account))

    def _tell_balances(self, account: Account) -> list[dict[str, Any]]:
        kinds = {"interimAvailable": self._available(account), "contable": account.cents}
        return [{"balanceType": kind, "balanceAmount": money(cents)} for kind, cents in kinds.items()]

    def _balances(self, request: Request, id: str) -> Response:
        account = self._own(request, id, "balances")
        shown, today = self._tell_balances(account), self.clock.today.isoformat()
        return respond(200, {"account": {"iban": account.iban}, "balances": shown, "referenceDate": today})

    def _report(self, request: Request, id: str) -> Response:
        account, query, today = self._own(request, id, "transactions"), request.query, self.clock.today
        kind, limit, after = query.get("bookingStatus"), query.get("limit", "20"), query.get("afterRef")
        start, end = to_day(query.get("dateFrom")), to_day(query.get("dateTo", today.isoformat()))
        known = [one["entryReference"] for one in account.entries]
        check(
            (kind in ("booked", "pending", "both"), "bookingStatus", "Es booked, pending o both."),
            (start and start >= today - timedelta(days=90), "dateFrom", "Es obligatorio, hasta 90 d\u00edas."),
            (end and (not start or start <= end), "dateTo", "No es antes de dateFrom."),
            (limit.isdecimal() and 1 <= int(limit) <= 50, "limit", "De 1 a 50."),
            (not after or after in known, "afterRef", "No existe."),
        )
        rows = [one for one in account.entries if str(start) <= one["bookingDate"] <= str(end)]
        if after:
            rows = [one for one in rows if known.index(one["entryReference"]) > known.index(after)]
        page, rest = rows[: int(limit)], rows[int(limit) :]
        links, shown = {"balances": f"/v1/accounts/{id}/balances"}, {}
        if kind != "pending":
            shown["booked"] = page
            if rest:
                more = {**query, "dateTo": str(end), "limit": limit, "afterRef": page[-1]["entryReference"]}
                links["next"] = f"{request.path}?{urlencode(more)}"
        if kind != "booked":
            waiting = [(one.cents, one.document) for one in self._reserved(account)]
            shown["pending"] = [self._show_entry(-cents, *(one[name] for name in TEXTS)) for cents, one in waiting]
        document = {"account": {"iban": account.iban}, "transactions": shown}
        document |= {"remaining": len(rest) if kind != "pending" else 0, "balances": self._tell_balances(account)}
        return respond(200, document | {"_links": to_links(**links)})

    def _initiate(self, request: Request) -> Response:
        body, kind = self._body(request), "periodic" if "/periodic-" in request.path else "sepa"
        payer, cents, names = self._check_payment(kind, body)
        if cents > self._available(payer):
            raise Fault(422, "FUNDS_NOT_AVAILABLE", "instructedAmount", text="No hay saldo disponible.")
        document = {name: body[name] for name in names if name in body} | {"instructedAmount": money(cents)}
        id = f"TJ{'O' if kind == 'sepa' else 'P'}{self._word(13, '0123456789')}"
        thing = self._make(request, kind, id, document, "RCVD")
        thing.cents, thing.accounts = cents, [payer]
        return self._created(thing, paymentId=id)

    def _check_payment(self, kind: str, body: dict[str, Any]) -> tuple[Account, int, list[str]]:
        names = ["debtorAccount", "creditorAccount", "instructedAmount", *TEXTS]
        payer, creditor, amount = (part if isinstance(part := body.get(name), dict) else {} for name in names[:3])
        accounts = {account.iban: account for who in self._customers for account in who.accounts}
        account = accounts.get(str(payer.get("iban")))
        cents = to_cents(amount.get("amount")) if amount.get("currency") == "EUR" else 0
        rules: list[tuple[Any, str, str]] = [
            (account, "debtorAccount.iban", "No es una cuenta de Tajo."),
            (is_iban(creditor.get("iban")), "creditorAccount.iban", "IBAN incorrecto."),
            (cents, "instructedAmount", "Importe en EUR mayor que cero."),
        ]
        for name, most in TEXTS.items():
            right = SEPA.fullmatch(str(body.get(name, ""))) and len(str(body[name])) <= most
            rules.append((right, name, f"De 1 a {most} caracteres SEPA."))
        if kind == "periodic":
            names += ["frequency", "startDate", "endDate"]
            start, end = to_day(body.get("startDate")), to_day(body.get("endDate", "9999-01-01"))
            rules += [
                (body.get("frequency") in ("WEEK", "MNTH", "YEAR"), "frequency", "Es WEEK, MNTH o YEAR."),
                (start and start > self.clock.today, "startDate", "Desde ma\u00f1ana."),
                (end and (not start or start <= end), "endDate", "No es antes de startDate."),
            ]
        check(*rules)
        assert account
        return account, cents, names

    def _status(self, request: Request, id: str) -> Response:
        return respond(200, {"paymentId": id, **self._find(request, id).state})

    def _payment(self, request: Request, id: str) -> Response:
        thing = self._find(request, id)
        day = {"nextExecutionDate": thing.next_day.isoformat()} if thing.next_day else {}
        document = {"paymentId": id, **thing.state, **thing.document, **day}
        return respond(200, document | {"_links": to_links(self=thing.path, status=f"{thing.path}/status")})

    def _cancel(self, request: Request, id: str) -> Response:
        thing = self._find(request, id)
        if thing.status not in ("RCVD", "SIGN", "ACTV"):
            raise Fault(409, "STATUS_INVALID", text=f"El pago est\u00e1 {thing.status}.")
        thing.status, thing.next_day = "ANUL", None
        return respond(200, {"paymentId": id, **thing.state})

    def _form(self, thing: Thing, status: int = 200, hint: str = "") -> Response:
        decline = '<button name="accion" value="rechazar">Rechazar</button>'
        go_on = '<button name="accion" value="continuar">Continuar</button>'
        if thing.sca == "received":
            step, text = "acceso", "Identif\u00edquese"
            fields = '<input name="usuario"><input name="clave" type="password">'
        elif thing.status == "received" and thing.customer:
            step, text = "cuentas", "Elija las cuentas"
            ibans = [one.iban for one in thing.customer.accounts]
            fields = "".join(f'<input type="checkbox" name="cuenta" value="{one}">{one}' for one in ibans)
        else:
            step, fields = "firma", '<input name="codigo">'
            text = "Firme con el c\u00f3digo que le enviamos por SMS"
            if thing.kind != "consent":
                text += f": {money(thing.cents)['amount']} EUR para {thing.document['creditorName']}"
        hidden = f'<input type="hidden" name="paso" value="{step}">'
        form = f'<form method="post">{hidden}{fields}{go_on}{decline}</form>'
        return show(status, "Tajo", f"<p>{hint}</p><p>{text}</p>{form}")

    def _open_page(self, request: Request, code: str) -> Response:
        thing = next((one for one in self._things.values() if one.code == code), None)
        if not thing:
            return show(404, "Tajo", "<p>Este enlace no existe.</p>")
        is_open = thing.status in ("received", "accountsChosen", "RCVD")
        if not is_open or thing.sca not in ("received", "psuAuthenticated"):
            return show(410, "Tajo", "<p>Este enlace ya no sirve.</p>")
        return self._form(thing)

    def _reject(self, thing: Thing, sca: str) -> Response:
        thing.sca, thing.status = sca, "rejected" if thing.kind == "consent" else "RJCT"
        return Response(303, "", {"Location": f"{thing.back_nok}?id={thing.id}&result=KO"})

    def _use_page(self, request: Request, code: str) -> Response:
        page = self._open_page(request, code)
        if page.status != 200:
            return page
        thing = next(one for one in self._things.values() if one.code == code)
        step = request.field("paso")
        if request.field("accion") == "rechazar":
            return self._reject(thing, "declined")
        if f'value="{step}"' not in page.content or step not in ("acceso", "cuentas", "firma"):
            return self._form(thing, 409, "Siga los pasos.")
        if step == "acceso":
            given = request.field("usuario"), request.field("clave")
            customer = next((one for one in self._customers if (one.user, one.secret) == given), None)
            if not customer:
                return self._form(thing, 401, "Usuario o clave incorrectos.")
            if thing.accounts and thing.accounts[0] not in customer.accounts:
                return self._form(thing, 403, "La cuenta no es suya.")
            thing.customer, thing.sca = customer, "psuAuthenticated"
            return self._form(thing)
        assert thing.customer
        if step == "cuentas":
            chosen = request.form.get("cuenta", [])
            thing.accounts = [one for one in thing.customer.accounts if one.iban in chosen]
            if not thing.accounts:
                return self._form(thing, 422, "Elija una cuenta.")
            thing.status = "accountsChosen"
            return self._form(thing)
        if request.field("codigo") != SMS_CODE:
            thing.tries += 1
            again = self._form(thing, 401, "C\u00f3digo incorrecto.")
            return again if thing.tries < 3 else self._reject(thing, "failed")
        if thing.kind == "sepa" and thing.cents > self._available(thing.accounts[0]):
            return self._reject(thing, "failed")
        thing.sca, thing.signed = "finalised", self.clock.now
        thing.status = {"consent": "valid", "sepa": "SIGN", "periodic": "ACTV"}[thing.kind]
        if thing.kind == "periodic":
            thing.next_day = to_day(thing.document["startDate"])
        return Response(303, "", {"Location": f"{thing.back}?id={thing.id}&result=OK"})
