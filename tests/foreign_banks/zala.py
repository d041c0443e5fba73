"""Zala, a Hungarian bank with the Berlin Group's NextGenPSD2 1.3 under `/xs2a/v1`, and habits of its own.

- An app is known by X-TPP-Key instead of a certificate. X-Request-ID must be a UUID and is repeated in a header.
- Errors have one `tppMessages` entry for each mistake, with `path` to a wrong member, and `traceId`, the request's id.
- What the customer approves needs PSU-IP-Address, TPP-Redirect-URI and TPP-Nok-Redirect-URI; each 400 if it lacks.
- Consents and payments come with their authorisation. Only `scaRedirect` is an absolute link.
- The answer to a new consent repeats `validUntil`, at most 180 days ahead, and `frequencyPerDay`, at most 4; more is
  lowered silently. The consent expires after its last day.
- Empty lists in `access` let the customer choose accounts. A deleted consent can be read and is terminatedByTpp.
- The customer's page has two steps: a login, whose answer is the second form, then accounts, SMS code and decision. A
  wrong password or code gives 200 and the form again. Either step can be rejected. Both ways lead to the app by 303,
  with the consent's or payment's id. The page closes after ten minutes and gives 410; its consent or payment fails.
- Forints are whole: "1200", never "1200.00". Euros have two decimals.
- `bookingStatus` is required. Lists of transactions are newest first, of 30 days unless told, at most 90; `limit` is
  the size of a page and `_links.next` has a `pageKey`. Pending ones are payments on their way, on the first page only.
- The products are `giro` and `afr-instant`. A payment costs 120 forints, reserved with it and booked as an own entry.
- The customer chooses the account at the page if `debtorAccount` is missing.
- A payment is RCVD, once approved ACTC, ACSP after a minute, ACSC after twenty (instant: ACSP, ACSC after ten
  seconds). If the money is short it is RJCT only after the approval, with `reasonCode` AM04; rejected DS02, late NOAS.
- DELETE cancels a payment with 200 and CANC, without the customer, until it is ACSP; then 405.
"""

import base64
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond, show

BASE = "/xs2a/v1"
KEYS = {"fk-7731-forintkovet": "Forintkövető", "pz-0942-penzor": "Pénzőr"}
RIGHTS = ("accounts", "balances", "transactions")
FEE = 120
LINK_LASTS = timedelta(minutes=10)
SHOPS = ("Göcsej Pékség", "MÁV Jegy", "Balaton Patika", "Keszthelyi Piac", "Kerka Áruház", "Hévíz Fürdő")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
DURATIONS = {
    "giro": (timedelta(minutes=1), timedelta(minutes=20)),
    "afr-instant": (timedelta(), timedelta(seconds=10)),
}
"""How long after its start a payment is in clearing and paid."""


@dataclass
class Account:
    """`units` are forints or cents."""

    id: str
    iban: str
    name: str
    owner: str
    currency: str
    units: int
    entries: list[dict[str, Any]] = field(default_factory=list)

    def write(self, units: int) -> dict[str, str]:
        sign = "-" if units < 0 else ""
        amount = str(units) if self.currency == "HUF" else f"{sign}{abs(units) // 100}.{abs(units) % 100:02}"
        return {"currency": self.currency, "amount": amount}


@dataclass(frozen=True)
class Customer:
    user: str
    password: str
    code: str
    accounts: Sequence[Account]


@dataclass
class Thing:
    """A consent or a payment (then with units), which the customer approves with the authorisation `sca`."""

    kind: str
    id: str
    sca: str
    app: str
    path: str
    document: dict[str, Any]
    targets: tuple[str, str]
    begun: datetime
    status: str
    payer: Account | None = None
    units: int = 0
    sca_status: str = "received"
    customer: Customer | None = None
    start: datetime | None = None
    reason: str = ""

    @property
    def asks_accounts(self) -> bool:
        return not self.payer if self.units else any(not rows for rows in self.document["access"].values())

    @property
    def product(self) -> str:
        return self.path.split("/")[4]

    def refuse(self, reason: str) -> None:
        self.sca_status, self.reason = "failed", reason
        self.status = "RJCT" if self.units else "rejected"


class Refusal(Exception):
    """Mistakes are texts by path; a path may be empty."""

    def __init__(self, status: int, code: str, mistakes: Mapping[str, str]) -> None:
        super().__init__(code)
        self.status, self.code, self.mistakes = status, code, mistakes


def check_digits(country: str, rest: str) -> str:
    digits = "".join(str(int(sign, 36)) for sign in rest + country + "00")
    return f"{98 - int(digits) % 97:02}"


def read_iban(account: Any) -> str:
    """The IBAN of an account reference, or nothing if it is none."""
    iban = account.get("iban") if isinstance(account, dict) else None
    if not isinstance(iban, str) or not re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", iban):
        return ""
    return iban if check_digits(iban[:2], iban[4:]) == iban[2:4] else ""


def read_day(text: Any) -> date | None:
    try:
        return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else None
    except (TypeError, ValueError):
        return None


class Zala:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"zala {seed}")
        self._things: dict[str, Thing] = {}
        anna = [
            self._open("Zala Alapszámla", "Kovács Anna", "HUF", 1_284_350),
            self._open("Nyaralás", "Kovács Anna", "HUF", 402_118),
            self._open("Deviza", "Kovács Anna", "EUR", 91_277),
        ]
        peter = [
            self._open("Családi számla", "Nagy Péter", "HUF", 865_904),
            self._open("Lakásfelújítás", "Nagy Péter", "HUF", 3_410_066),
        ]
        self._customers = [
            Customer("kovacs.anna", "Balaton-1846", "804271", anna),
            Customer("nagy.peter", "Kis+Hid/77", "315960", peter),
        ]
        consent, account = f"{BASE}/consents/{{id}}", f"{BASE}/accounts/{{id}}"
        payment = f"{BASE}/payments/{{product}}"
        login = "/netbank/sca/{sca}"
        self._routes = Routes(
            ("POST", f"{BASE}/consents", self._ask_consent),
            ("GET", consent, self._show_consent),
            ("DELETE", consent, self._end_consent),
            ("GET", consent + "/status", self._consent_status),
            ("GET", consent + "/authorisations/{authorisation}", self._sca_status),
            ("GET", f"{BASE}/accounts", self._list_accounts),
            ("GET", account + "/balances", self._balances),
            ("GET", account + "/transactions", self._transactions),
            ("POST", payment, self._order),
            ("GET", payment + "/{id}", self._show_payment),
            ("DELETE", payment + "/{id}", self._cancel),
            ("GET", payment + "/{id}/status", self._payment_status),
            ("GET", payment + "/{id}/authorisations/{authorisation}", self._sca_status),
            ("GET", login, self._open_page),
            ("POST", login, self._login),
            ("POST", login + "/confirm", self._confirm),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        trace = request.headers.get("x-request-id", "")
        echo = {"X-Request-ID": trace} if trace else {}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            if request.path.startswith(BASE):
                self._app(request)
            response: Response = handler(request, **parameters)
            return Response(response.status, response.content, {**response.headers, **echo})
        except NoRoute as wrong:
            if wrong.allowed:
                echo["Allow"] = ", ".join(wrong.allowed)
                refusal = Refusal(405, "SERVICE_INVALID", {"": f"{request.method} is not supported here."})
            else:
                refusal = Refusal(404, "RESOURCE_UNKNOWN", {"": f"There is nothing at {request.path}."})
        except Refusal as error:
            refusal = error
        messages = [
            {"category": "ERROR", "code": refusal.code, "text": text} | ({"path": path} if path else {})
            for path, text in refusal.mistakes.items()
        ]
        return respond(refusal.status, {"tppMessages": messages, "traceId": trace or None}, echo)

    def _word(self, length: int, signs: str = "0123456789abcdef") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _open(self, name: str, owner: str, currency: str, units: int) -> Account:
        rest = "1427" + self._word(20, "0123456789")
        iban = f"HU{check_digits('HU', rest)}{rest}"
        account = Account(self._word(14, "BCDFGHJKLMNPQRSTVWXZ"), iban, name, owner, currency, units)
        for days in sorted(self._random.sample(range(2, 88), 40), reverse=True):
            change = self._random.choice((-1, -1, -1, 1)) * self._random.randrange(490, 36_000)
            self._enter(account, self.clock.today - timedelta(days=days), change, self._random.choice(SHOPS))
        return account

    def _enter(
        self,
        account: Account,
        day: date,
        units: int,
        who: str,
        text: str = "Kártyás fizetés",
        code: str = "PMNT-CCRD-POSD",
        iban: str = "",
    ) -> None:
        entry = {"transactionId": self._word(16, "0123456789"), "bookingDate": day.isoformat()}
        account.entries.insert(0, entry | self._describe(account, day, units, who, text, code, iban))

    def _describe(
        self, account: Account, day: date, units: int, who: str, text: str, code: str, iban: str
    ) -> dict[str, Any]:
        side = "creditor" if units < 0 else "debtor"
        described = {"valueDate": day.isoformat(), "transactionAmount": account.write(units), f"{side}Name": who}
        other = {f"{side}Account": {"iban": iban}} if iban else {}
        return described | other | {"remittanceInformationUnstructured": text, "bankTransactionCode": code}

    def _advance(self) -> None:
        now = self.clock.now
        for one in self._things.values():
            if one.sca_status in ("received", "psuAuthenticated") and now >= one.begun + LINK_LASTS:
                one.refuse("NOAS")
            if one.status in ("received", "valid") and one.document["validUntil"] < now.date().isoformat():
                one.status = "expired"
            if not one.start or not one.payer or one.status not in ("ACTC", "ACSP"):
                continue
            clearing, paid = (one.start + duration for duration in DURATIONS[one.product])
            if now >= paid:
                one.status = "ACSC"
                self._book(one, one.payer, paid.date())
            elif now >= clearing:
                one.status = "ACSP"

    def _book(self, payment: Thing, payer: Account, day: date) -> None:
        creditor, iban = payment.document["creditorName"], payment.document["creditorAccount"]["iban"]
        text = payment.document["remittanceInformationUnstructured"]
        payer.units -= payment.units + FEE
        self._enter(payer, day, -payment.units, creditor, text, "PMNT-ICDT-DMCT", iban)
        self._enter(payer, day, -FEE, "Zala Bank", f"Átutalási díj {payment.id}", "PMNT-ICDT-CHRG")
        if (payee := self._at_bank(iban)) and payee.currency == "HUF":
            payee.units += payment.units
            self._enter(payee, day, payment.units, payer.owner, text, "PMNT-RCDT-DMCT", payer.iban)

    def _at_bank(self, iban: str) -> Account | None:
        return next((one for who in self._customers for one in who.accounts if one.iban == iban), None)

    def _on_way(self, account: Account) -> list[Thing]:
        return [one for one in self._things.values() if one.payer is account and one.status in ("ACTC", "ACSP")]

    def _available(self, account: Account) -> int:
        return account.units - sum(one.units + FEE for one in self._on_way(account))

    def _app(self, request: Request) -> str:
        if not UUID.fullmatch(request.headers.get("x-request-id", "")):
            raise Refusal(400, "FORMAT_ERROR", {"X-Request-ID": "The header must be a UUID."})
        if not (key := request.headers.get("x-tpp-key")):
            raise Refusal(401, "CERTIFICATE_MISSING", {"": "Send X-TPP-Key."})
        if key not in KEYS:
            raise Refusal(401, "CERTIFICATE_INVALID", {"": "X-TPP-Key is unknown."})
        return key

    def _body(self, request: Request) -> dict[str, Any]:
        wrong = {}
        for name in ("PSU-IP-Address", "TPP-Redirect-URI", "TPP-Nok-Redirect-URI"):
            if not request.headers.get(name.lower()):
                wrong[name] = "The header is mandatory."
        if wrong:
            raise Refusal(400, "FORMAT_ERROR", wrong)
        try:
            return request.document
        except ValueError:
            raise Refusal(400, "FORMAT_ERROR", {"": "The body must be a JSON object."}) from None

    def _begin(self, request: Request, thing: Thing, told: dict[str, Any]) -> Response:
        self._things[thing.id] = thing
        links = {
            "scaRedirect": f"{request.origin}/netbank/sca/{thing.sca}",
            "self": thing.path,
            "status": f"{thing.path}/status",
            "scaStatus": f"{thing.path}/authorisations/{thing.sca}",
        }
        document = told | {"authorisationId": thing.sca, "_links": {key: {"href": links[key]} for key in links}}
        return respond(201, document, {"Location": thing.path, "ASPSP-SCA-Approach": "REDIRECT"})

    def _make(self, request: Request, kind: str, parent: str, status: str, document: dict[str, Any]) -> Thing:
        id, sca = f"{'cns' if kind == 'consent' else 'pay'}{self._word(16)}", f"aut{self._word(16)}"
        targets = request.headers["tpp-redirect-uri"], request.headers["tpp-nok-redirect-uri"]
        path = f"{BASE}/{parent}/{id}"
        return Thing(kind, id, sca, self._app(request), path, document, targets, self.clock.now, status)

    def _ask_consent(self, request: Request) -> Response:
        body, today = self._body(request), self.clock.today
        access, until, frequency = body.get("access"), read_day(body.get("validUntil")), body.get("frequencyPerDay")
        recurring, wrong = body.get("recurringIndicator"), {}
        if not isinstance(access, dict) or not access or not access.keys() <= {*RIGHTS}:
            wrong["access"] = "Ask for accounts, balances or transactions."
        elif not all(isinstance(rows, list) and all(map(read_iban, rows)) for rows in access.values()):
            wrong["access"] = "Each account must have a valid IBAN."
        if not isinstance(recurring, bool):
            wrong["recurringIndicator"] = "The member must be true or false."
        if not until or until < today:
            wrong["validUntil"] = "The day must not be in the past."
        if not isinstance(frequency, int) or frequency < 1 or (recurring is False and frequency > 1):
            wrong["frequencyPerDay"] = "The number must be at least 1, and 1 for a consent that is used once."
        if wrong or not until or not isinstance(frequency, int) or not isinstance(access, dict):
            raise Refusal(400, "FORMAT_ERROR", wrong)
        limits = {
            "validUntil": min(until, today + timedelta(days=180)).isoformat(),
            "frequencyPerDay": min(frequency, 4),
        }
        document = {"access": access, "recurringIndicator": recurring, **limits}
        consent = self._make(request, "consent", "consents", "received", document)
        return self._begin(request, consent, {"consentStatus": consent.status, "consentId": consent.id, **limits})

    def _thing(self, request: Request, kind: str, id: str, product: str = "") -> Thing:
        thing = self._things.get(id)
        if not thing or (thing.kind, thing.app) != (kind, self._app(request)) or (product not in ("", thing.product)):
            raise Refusal(404, "RESOURCE_UNKNOWN", {"": f"There is no {kind} {id}."})
        return thing

    def _show_consent(self, request: Request, id: str) -> Response:
        consent = self._thing(request, "consent", id)
        links = {"status": {"href": f"{consent.path}/status"}}
        return respond(200, {**consent.document, "consentStatus": consent.status, "_links": links})

    def _consent_status(self, request: Request, id: str) -> Response:
        return respond(200, {"consentStatus": self._thing(request, "consent", id).status})

    def _end_consent(self, request: Request, id: str) -> Response:
        consent = self._thing(request, "consent", id)
        if consent.status not in ("received", "valid"):
            raise Refusal(409, "STATUS_INVALID", {"": f"The consent is {consent.status}."})
        if consent.status == "received":
            consent.sca_status = "failed"
        consent.status = "terminatedByTpp"
        return Response(204)

    def _sca_status(self, request: Request, id: str, authorisation: str, product: str = "") -> Response:
        thing = self._thing(request, "payment" if product else "consent", id, product)
        if thing.sca != authorisation:
            raise Refusal(404, "RESOURCE_UNKNOWN", {"": f"There is no authorisation {authorisation}."})
        return respond(200, {"scaStatus": thing.sca_status})

    def _reach(self, request: Request) -> dict[str, list[Account]]:
        """The accounts that the consent in use reaches by right."""
        if not (id := request.headers.get("consent-id")):
            raise Refusal(400, "FORMAT_ERROR", {"Consent-ID": "The header is mandatory."})
        consent = self._things.get(id)
        if not consent or consent.units or consent.app != self._app(request):
            raise Refusal(400, "CONSENT_UNKNOWN", {"": "The consent is unknown."})
        if consent.status != "valid" or not consent.customer:
            code = "CONSENT_EXPIRED" if consent.status == "expired" else "CONSENT_INVALID"
            raise Refusal(401, code, {"": f"The consent is {consent.status}."})
        reach: dict[str, list[Account]] = {}
        for right in RIGHTS:
            ibans = {one["iban"] for one in consent.document["access"].get(right, [])}
            reach[right] = [one for one in consent.customer.accounts if one.iban in ibans]
        seen = {one.id for accounts in reach.values() for one in accounts}
        reach["accounts"] = [one for one in consent.customer.accounts if one.id in seen]
        return reach

    def _find(self, request: Request, id: str, right: str) -> Account:
        reach = self._reach(request)
        for account in reach["accounts"]:
            if account.id == id:
                if account in reach[right]:
                    return account
                raise Refusal(401, "CONSENT_INVALID", {"": f"The consent does not include {right}."})
        raise Refusal(404, "RESOURCE_UNKNOWN", {"": f"There is no account {id}."})

    def _tell(self, request: Request, account: Account, rights: Sequence[str]) -> dict[str, Any]:
        told: dict[str, Any] = {"resourceId": account.id, "iban": account.iban, "currency": account.currency}
        told |= {"name": account.name, "ownerName": account.owner, "cashAccountType": "CACC"}
        if "balances" in rights and self._wants_balance(request):
            told["balances"] = self._list_balances(account)
        path = f"{BASE}/accounts/{account.id}"
        return told | {"_links": {right: {"href": f"{path}/{right}"} for right in rights}}

    def _wants_balance(self, request: Request) -> bool:
        if (wish := request.query.get("withBalance", "false")) not in ("true", "false"):
            raise Refusal(400, "FORMAT_ERROR", {"withBalance": "The parameter must be true or false."})
        return wish == "true"

    def _list_balances(self, account: Account) -> list[dict[str, Any]]:
        amounts = {"interimBooked": account.units, "interimAvailable": self._available(account)}
        day = self.clock.today.isoformat()
        return [
            {"balanceType": kind, "balanceAmount": account.write(units), "referenceDate": day}
            for kind, units in amounts.items()
        ]

    def _list_accounts(self, request: Request) -> Response:
        reach = self._reach(request)
        if self._wants_balance(request) and not reach["balances"]:
            raise Refusal(401, "CONSENT_INVALID", {"": "The consent does not include balances."})
        rights = {one.id: [right for right in RIGHTS[1:] if one in reach[right]] for one in reach["accounts"]}
        return respond(200, {"accounts": [self._tell(request, one, rights[one.id]) for one in reach["accounts"]]})

    def _balances(self, request: Request, id: str) -> Response:
        account = self._find(request, id, "balances")
        return respond(200, {"account": {"iban": account.iban}, "balances": self._list_balances(account)})

    def _transactions(self, request: Request, id: str) -> Response:
        account, today, query = self._find(request, id, "transactions"), self.clock.today, request.query
        status, limit, wrong = query.get("bookingStatus"), query.get("limit", "20"), {}
        if status not in ("booked", "pending", "both"):
            wrong["bookingStatus"] = "The parameter must be booked, pending or both."
        start = read_day(query.get("dateFrom", (today - timedelta(days=30)).isoformat()))
        end = read_day(query.get("dateTo", today.isoformat()))
        if not start or not end:
            wrong["dateTo" if start else "dateFrom"] = "The parameter must be a day."
        if not limit.isdecimal() or not 1 <= int(limit) <= 50:
            wrong["limit"] = "The parameter must be from 1 to 50."
        offset = 0
        if key := query.get("pageKey"):
            try:
                place, _, owner = base64.urlsafe_b64decode(key).decode().partition(" ")
                offset = int(place) if owner == id else -1
            except ValueError:
                offset = -1
        if offset < 0:
            wrong["pageKey"] = "The key does not belong to this list."
        if wrong or not start or not end:
            raise Refusal(400, "FORMAT_ERROR", wrong)
        if start > end or start < today - timedelta(days=90):
            raise Refusal(400, "PERIOD_INVALID", {"dateFrom": "The period must begin in the last 90 days."})
        rows = [one for one in account.entries if start.isoformat() <= one["bookingDate"] <= end.isoformat()]
        rows.sort(key=lambda row: str(row["bookingDate"]), reverse=True)
        path, stop = f"{BASE}/accounts/{id}", offset + int(limit)
        links, shown = {"account": {"href": path}}, dict[str, Any]()
        if status != "pending":
            shown["booked"] = rows[offset:stop]
            if stop < len(rows):
                next_key = base64.urlsafe_b64encode(f"{stop} {id}".encode()).decode()
                links["next"] = {"href": f"{path}/transactions?{urlencode({**query, 'pageKey': next_key})}"}
        if status != "booked" and not offset:
            shown["pending"] = [
                self._describe(account, today, -one.units, one.document["creditorName"], text, "PMNT-ICDT-DMCT", "")
                for one in self._on_way(account)
                for text in [one.document["remittanceInformationUnstructured"]]
            ]
        return respond(200, {"account": {"iban": account.iban}, "transactions": {**shown, "_links": links}})

    def _order(self, request: Request, product: str) -> Response:
        if product not in DURATIONS:
            raise Refusal(404, "PRODUCT_UNKNOWN", {"": f"There is no product {product}."})
        body, wrong = self._body(request), dict[str, str]()
        sum_, debtor = body.get("instructedAmount"), body.get("debtorAccount")
        amount, currency = (sum_.get("amount"), sum_.get("currency")) if isinstance(sum_, dict) else (None, None)
        payer = self._at_bank(read_iban(debtor))
        if debtor is not None and (not payer or payer.currency != "HUF"):
            wrong["debtorAccount.iban"] = "The account must be one in forints at this bank."
        if not isinstance(amount, str) or not re.fullmatch(r"[1-9][0-9]{0,11}", amount):
            wrong["instructedAmount.amount"] = "The amount must be whole forints above 0."
        if currency != "HUF":
            wrong["instructedAmount.currency"] = "The currency must be HUF."
        if not read_iban(body.get("creditorAccount")):
            wrong["creditorAccount.iban"] = "The IBAN must be valid."
        for name, least, most in (("creditorName", 1, 70), ("remittanceInformationUnstructured", 0, 140)):
            if not isinstance(text := body.get(name, ""), str) or not least <= len(text) <= most:
                wrong[name] = f"The text must have {least} to {most} characters."
        if wrong:
            raise Refusal(400, "FORMAT_ERROR", wrong)
        names = ("debtorAccount", "instructedAmount", "creditorAccount", "creditorName")
        document = {name: body[name] for name in names if body.get(name)}
        document["remittanceInformationUnstructured"] = body.get("remittanceInformationUnstructured", "")
        payment = self._make(request, "payment", f"payments/{product}", "RCVD", document)
        payment.units, payment.payer = int(str(amount)), payer
        fees = {"currency": "HUF", "amount": str(FEE)}
        told = {"transactionStatus": payment.status, "paymentId": payment.id, "transactionFees": fees}
        return self._begin(request, payment, told)

    def _show_payment(self, request: Request, product: str, id: str) -> Response:
        payment = self._thing(request, "payment", id, product)
        return respond(200, {"paymentId": id, **payment.document, "transactionStatus": payment.status})

    def _payment_status(self, request: Request, product: str, id: str) -> Response:
        payment = self._thing(request, "payment", id, product)
        told: dict[str, Any] = {"transactionStatus": payment.status}
        if payment.start:
            told["fundsAvailable"] = payment.reason != "AM04"
        return respond(200, told | ({"reasonCode": payment.reason} if payment.reason else {}))

    def _cancel(self, request: Request, product: str, id: str) -> Response:
        payment = self._thing(request, "payment", id, product)
        if payment.status not in ("RCVD", "ACTC"):
            raise Refusal(405, "CANCELLATION_INVALID", {"": f"The payment is {payment.status}."})
        if payment.status == "RCVD":
            payment.sca_status = "failed"
        payment.status = "CANC"
        return respond(200, {"transactionStatus": "CANC", "paymentId": id})

    def _show_form(self, action: str, fields: str, word: str, text: str) -> Response:
        buttons = "".join(f'<button name="action" value="{one}">{one}</button>' for one in (word, "reject"))
        return show(200, "Zala NetBank", f'{text}<form method="post" action="{action}">{fields}{buttons}</form>')

    def _login_form(self, one: Thing, hint: str = "") -> Response:
        fields = '<input name="userId"><input name="password" type="password">'
        text = f"<p>{hint}</p><p>{KEYS[one.app]} vár az Ön jóváhagyására.</p>"
        return self._show_form(f"/netbank/sca/{one.sca}", fields, "login", text)

    def _confirm_form(self, one: Thing, hint: str = "") -> Response:
        fields, kind = "", "radio" if one.units else "checkbox"
        if one.units:
            text = f"{one.units} Ft átutalása: {one.document['creditorName']}. Díj: {FEE} Ft."
        else:
            text = f"{KEYS[one.app]} ezt látná {one.document['validUntil']}-ig: {', '.join(one.document['access'])}."
        if one.asks_accounts:
            fields = "".join(f'<input type="{kind}" name="account" value="{iban}">{iban}' for iban in self._offer(one))
        fields += '<input name="smsCode">'
        return self._show_form(f"/netbank/sca/{one.sca}/confirm", fields, "approve", f"<p>{hint}</p><p>{text}</p>")

    def _offer(self, one: Thing) -> list[str]:
        accounts = one.customer.accounts if one.customer else []
        return [each.iban for each in accounts if not one.units or each.currency == "HUF"]

    def _by_sca(self, sca: str) -> Thing | None:
        return next((one for one in self._things.values() if one.sca == sca), None)

    def _open_page(self, request: Request, sca: str) -> Response:
        if not (one := self._by_sca(sca)):
            return show(404, "Zala NetBank", "<p>Ismeretlen hivatkozás.</p>")
        if one.sca_status not in ("received", "psuAuthenticated"):
            return show(410, "Zala NetBank", "<p>Ez a hivatkozás már nem érvényes.</p>")
        return self._login_form(one)

    def _leave(self, one: Thing) -> Response:
        target = one.targets[one.sca_status != "finalised"]
        return Response(303, "", {"Location": f"{target}?{one.kind}Id={one.id}"})

    def _login(self, request: Request, sca: str) -> Response:
        page, one = self._open_page(request, sca), self._by_sca(sca)
        if page.status != 200 or not one:
            return page
        if request.field("action") == "reject":
            one.refuse("DS02")
            return self._leave(one)
        given = request.field("userId"), request.field("password")
        customer = next((who for who in self._customers if (who.user, who.password) == given), None)
        if not customer:
            return self._login_form(one, "Hibás azonosító vagy jelszó.")
        lists = [[one.document["debtorAccount"]] if one.payer else []] if one.units else one.document["access"].values()
        if not {row["iban"] for rows in lists for row in rows} <= {each.iban for each in customer.accounts}:
            return self._login_form(one, "Ez nem az Ön számlája.")
        one.sca_status, one.customer = "psuAuthenticated", customer
        return self._confirm_form(one)

    def _confirm(self, request: Request, sca: str) -> Response:
        page, one = self._open_page(request, sca), self._by_sca(sca)
        if page.status != 200 or not one:
            return page
        if not one.customer:
            return Response(303, "", {"Location": f"/netbank/sca/{sca}"})
        if request.field("action") == "reject":
            one.refuse("DS02")
            return self._leave(one)
        chosen = request.form.get("account", [])
        if one.asks_accounts and (not chosen or not {*chosen} <= {*self._offer(one)}):
            return self._confirm_form(one, "Válasszon számlát.")
        if request.field("smsCode") != one.customer.code:
            return self._confirm_form(one, "Hibás SMS-kód.")
        one.sca_status = "finalised"
        if one.units:
            self._accept(one, one.payer or next(each for each in one.customer.accounts if each.iban == chosen[0]))
        else:
            filled = [{"iban": iban} for iban in chosen]
            one.document["access"] = {right: rows or filled for right, rows in one.document["access"].items()}
            one.status = "valid"
        return self._leave(one)

    def _accept(self, payment: Thing, payer: Account) -> None:
        payment.start = self.clock.now
        if payment.units + FEE > self._available(payer):
            payment.status, payment.reason = "RJCT", "AM04"
        else:
            payment.status = "ACSP" if payment.product == "afr-instant" else "ACTC"
        payment.payer = payer
        payment.document["debtorAccount"] = {"iban": payer.iban}
