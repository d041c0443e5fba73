"""Tejo, a Portuguese bank behind the national hub RLP: near to NextGenPSD2 1.3, with the differences of the hub.

- Paths begin with `/rlp/apimarket/{code of the bank}/v1-0-4`; `/rlp/apimarket/v1-0-4/available-aspsp` lists the codes.
  Another listed bank gives 503, an unlisted code 404.
- The gateway wants X-RLP-Client-Id and refuses with its own `httpCode`, `httpMessage`, `moreInformation`. The hub wants
  TPP-Transaction-ID and TPP-Request-ID, both UUIDs, repeats them as headers, and adds RLP-Trace.
- Errors of the hub are `tppMessages` with `rlpTrace`; the answer to a refused POST also has `transactionStatus` RJCT.
- A consent lists IBANs of this bank for accounts, balances and transactions; the latter are among the former. The POST
  answers with `transactionStatus` RCVD, but later the consent has a `consentStatus`: PDNG, ACTV, RJCT, REVK (by DELETE,
  204), or EXPD after `validUntil`, which is cut to 180 days from today without a word.
- The ids of accounts belong to one consent. Without PSU-IP-Address each read of a consent is possible `frequencyPerDay`
  times a day of Lisbon, then 429.
- Times are in Lisbon with milliseconds and an offset without colon. Consents have ISO dates; the bank's own data, and
  the filter of transactions, have dd-MM-yyyy. Amounts have `content`; a movement has no sign but `natureza` C or D.
- Movements are oldest first with the balance after each, in pages of ten; `_links` are strings, not objects.
- SCA is at `_links.redirect`, which is absolute and lasts 15 minutes: number and code of access, then a code by SMS,
  which this test environment shows. Mistakes give 200 and a form; a wrong SMS code brings another challenge, the third
  one refuses. The customer can give up at each page. The end is a 302 to TPP-Redirect-URI, OK or NOK with a `motivo`.
- Payments are sepa-credit-transfers, instant-sepa-credit-transfers (up to 5000.00) and pagamento-servicos (entity and
  reference of Multibanco, whose spaces go). The hub knows no balances: too large a payment is RCVD, and RJCT with AM04
  once the customer confirms. A TPP-Request-ID makes one payment: again it gives 409.
- SEPA goes from RCVD to ACTC, after 90 seconds ACSP, after ten minutes ACSC; the others are ACSC at once, a service
  with a `comprovativo`. DELETE makes RCVD or ACTC into CANC, else 405. ACTC and ACSP reserve the amount.
"""

import hashlib
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

HUB, LISBON, CODE = "/rlp/apimarket", ZoneInfo("Europe/Lisbon"), "0971"
CLIENTS = {"6d1f40c7-mealheiro": "Mealheiro", "a0b93e52-contas-certas": "Contas Certas"}
BANKS = {
    "BTEJO": ("Banco do Tejo", "TEJOPTPL"),
    "CXDOU": ("Caixa do Douro", "CXDOPTPP"),
    "BMOND": ("Mondego", "MONDPTPC"),
}
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
SEPA, INSTANT, SERVICE = "sepa-credit-transfers", "instant-sepa-credit-transfers", "pagamento-servicos"
ACCOUNTS = (
    ("Conta Ordenado", "CACC", "30441872205", 284_316, 27),
    ("Conta Poupança", "SVGS", "30441872213", 910_050, 8),
    ("Conta à Ordem", "CACC", "30877150914", 467_925, 24),
    ("Conta Casa", "CACC", "30877150922", 121_840, 12),
    ("Conta Poupança", "SVGS", "30877150930", 1_503_300, 9),
    ("Conta Jovem", "CACC", "31202964483", 38_770, 16),
)
SHOPS = "COMPRA 4417 MERCEARIA DA GRACA|DD AGUAS DO TEJO|COMPRA 4417 FARMACIA ROSSIO|TRF L SANTOS|DD PASSE".split("|")
TEXTS = {
    "ACCESS_EXCEEDED": "Número de acessos diários sem o utilizador excedido",
    "AMOUNT_LIMIT_EXCEEDED": "Montante acima do máximo de 5000.00 para transferências imediatas",
    "ASPSP_UNKNOWN": "Código de ASPSP desconhecido",
    "CANCELLATION_INVALID": "O pagamento já não pode ser cancelado",
    "CONSENT_INVALID": "O consentimento não está ativo",
    "CONSENT_SCOPE": "O consentimento não abrange esta informação da conta",
    "CONSENT_UNKNOWN": "Consentimento desconhecido",
    "DUPLICATED_REQUEST": "TPP-Request-ID já utilizado num pagamento",
    "FORMAT_ERROR": "Campo ausente ou com formato inválido",
    "IBAN_NOT_ASPSP": "O IBAN não pertence ao ASPSP",
    "PERIOD_INVALID": "Período de pesquisa inválido",
    "PRODUCT_UNKNOWN": "Produto de pagamento não suportado",
    "RESOURCE_UNKNOWN": "Recurso inexistente",
    "SERVICE_INVALID": "Método não permitido neste recurso",
    "SERVICE_UNAVAILABLE": "ASPSP temporariamente indisponível",
}


@dataclass
class Account:
    iban: str
    name: str
    kind: str
    cents: int
    entries: list[tuple[date, dict[str, Any]]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    number: str
    code: str
    phone: str
    accounts: Sequence[Account]

    def owns(self, ibans: Sequence[str]) -> bool:
        return set(ibans) <= {account.iban for account in self.accounts}


@dataclass
class Thing:
    """What waits for the customer: a consent, or a payment of a product."""

    id: str
    client: str
    token: str
    back: str
    document: dict[str, Any]
    ibans: Sequence[str]
    state: str
    made: datetime
    changed: datetime
    product: str = ""
    cents: int = 0
    account: Account | None = None
    accepted: datetime | None = None
    reason: str = ""
    challenge: tuple[str, str] = ("", "")
    mistakes: int = 0

    @property
    def is_waiting(self) -> bool:
        return self.state in ("PDNG", "RCVD")


def write_day(day: date) -> str:
    return day.strftime("%d-%m-%Y")


def write_time(time: datetime) -> str:
    return time.astimezone(LISBON).strftime("%Y-%m-%dT%H:%M:%S.000%z")


def write_amount(cents: int) -> dict[str, str]:
    sign, size = "-" if cents < 0 else "", abs(cents)
    return {"currency": "EUR", "content": f"{sign}{size // 100}.{size % 100:02}"}


def make_iban(number: str) -> str:
    rest = f"{CODE}0012{number}"
    return f"PT50{rest}{98 - int(rest + '00') % 97:02}"


def is_iban(text: Any) -> bool:
    if not isinstance(text, str) or not re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text):
        return False
    return int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1


def member(document: Any, *names: str) -> Any:
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document


class Tejo:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"tejo {seed}")
        self._consents: dict[str, Thing] = {}
        self._payments: dict[str, Thing] = {}
        self._used: set[tuple[str, str]] = set()
        self._reads: Counter[tuple[str, ...]] = Counter()
        self._serial = self._random.randrange(10_000, 400_000)
        opened = [self._open(*one) for one in ACCOUNTS]
        self._customers = [
            Customer("4410372", "903417", "417", opened[:2]),
            Customer("5528106", "271650", "902", opened[2:5]),
            Customer("6093741", "558204", "065", opened[5:]),
        ]
        consent, account, payment = "/consents/{id}", "/accounts/{id}", "/payments/{product}/{id}"
        self._routes = Routes(
            ("POST", "/consents", self._ask_consent),
            ("GET", consent, self._show_consent),
            ("GET", consent + "/status", self._tell_consent),
            ("DELETE", consent, self._revoke),
            ("GET", "/accounts", self._list_accounts),
            ("GET", account + "/balances", self._tell_balances),
            ("GET", account + "/transactions", self._list_movements),
            ("POST", "/payments/{product}", self._order),
            ("GET", payment, self._show_payment),
            ("GET", payment + "/status", self._tell_payment),
            ("DELETE", payment, self._cancel),
        )

    @property
    def _today(self) -> date:
        return self.clock.now.astimezone(LISBON).date()

    def answer(self, request: Request) -> Response:
        self._advance()
        if request.path == "/rlp/sca/BTEJO":
            return self._authenticate(request)
        if request.headers.get("x-rlp-client-id") not in CLIENTS:
            more = "Client id not registered or not active."
            refusal = {"httpCode": "401", "httpMessage": "Unauthorized", "moreInformation": more}
            return respond(401, refusal, {"WWW-Authenticate": 'Client-Id realm="RLP"'})
        trace, names = self._word(16), ("TPP-Transaction-ID", "TPP-Request-ID")
        echoed = {name: request.headers[name.lower()] for name in names if name.lower() in request.headers}
        try:
            answer = self._hub(request)
        except Fault as fault:
            message = {"category": "ERROR", "code": fault.word, "text": TEXTS[fault.word]}
            document = {"tppMessages": [message | ({"field": fault.place} if fault.place else {})], "rlpTrace": trace}
            if request.method == "POST":
                document = {"transactionStatus": "RJCT", **document}
            answer = respond(fault.status, document, media="application/json;charset=UTF-8")
        return Response(answer.status, answer.content, {**answer.headers, **echoed, "RLP-Trace": trace})

    def _hub(self, request: Request) -> Response:
        for name in ("TPP-Transaction-ID", "TPP-Request-ID"):
            if not UUID.fullmatch(request.headers.get(name.lower(), "")):
                raise Fault(400, "FORMAT_ERROR", name)
        if request.path == f"{HUB}/v1-0-4/available-aspsp":
            banks = [(code, *names, code == "BTEJO") for code, names in BANKS.items()]
            rows = [dict(zip(("aspspCode", "name", "bic", "ativo"), bank, strict=True)) for bank in banks]
            return respond(200, {"aspspList": rows})
        match = re.fullmatch(HUB + r"/(\w+)/v1-0-4(/.+)", request.path)
        if not match or match[1] not in BANKS:
            raise Fault(404, "ASPSP_UNKNOWN" if match else "RESOURCE_UNKNOWN")
        if match[1] != "BTEJO":
            raise Fault(503, "SERVICE_UNAVAILABLE")
        try:
            handler, parameters = self._routes.find(request.method, match[2])
        except NoRoute as lost:
            raise Fault(
                405 if lost.allowed else 404, "SERVICE_INVALID" if lost.allowed else "RESOURCE_UNKNOWN"
            ) from None
        return handler(request, **parameters)

    def _word(self, length: int) -> str:
        return "".join(self._random.choices("0123456789abcdef", k=length))

    def _open(self, name: str, kind: str, number: str, cents: int, count: int) -> Account:
        days = sorted(self._random.sample(range(2, 84), count), reverse=True)
        changes = [self._random.choice((-1, -1, -1, 1)) * self._random.randrange(95, 14_000) for _ in days]
        account = Account(make_iban(number), name, kind, cents - sum(changes))
        for ago, change in zip(days, changes, strict=True):
            self._move(account, self._today - timedelta(days=ago), change, self._random.choice(SHOPS))
        return account

    def _move(self, account: Account, day: date, change: int, text: str, **more: str) -> None:
        account.cents += change
        movement = {
            "transactionId": f"M{self._random.randrange(10**10):010}",
            "bookingDate": write_day(day),
            "valueDate": write_day(day),
            "amount": write_amount(abs(change)),
            "natureza": "D" if change < 0 else "C",
            "descritivo": text,
            "saldoApos": write_amount(account.cents),
        }
        account.entries.append((day, movement | more))

    def _set(self, thing: Thing, state: str, time: datetime, reason: str = "") -> None:
        thing.state, thing.changed, thing.reason = state, time, reason

    def _advance(self) -> None:
        now = self.clock.now
        for thing in (*self._consents.values(), *self._payments.values()):
            if thing.is_waiting and now >= (ends := thing.made + timedelta(minutes=15)):
                self._set(thing, "RJCT", ends, "TIMEOUT")
            elif thing.state == "ACTV" and self._today.isoformat() > thing.document["validUntil"]:
                self._set(thing, "EXPD", datetime.combine(self._today, datetime.min.time(), LISBON))
            if thing.state == "ACTC" and thing.accepted and now >= thing.accepted + timedelta(seconds=90):
                self._set(thing, "ACSP", thing.accepted + timedelta(seconds=90))
            if thing.state == "ACSP" and thing.accepted and now >= thing.accepted + timedelta(minutes=10):
                self._settle(thing, thing.accepted + timedelta(minutes=10))

    def _settle(self, payment: Thing, time: datetime) -> None:
        self._set(payment, "ACSC", time)
        document, day = payment.document, time.astimezone(LISBON).date()
        assert payment.account
        if payment.product == SERVICE:
            document["comprovativo"] = f"{self._random.randrange(10**12):012}"
            text, more = f"PAG SERV {document['entidade']} {document['referencia']}", {}
        else:
            text = f"TRF {'IMED ' if payment.product == INSTANT else ''}P/ {document['creditorName']}"
            more = {"remittanceInformationUnstructured": document["remittanceInformationUnstructured"]}
        self._move(payment.account, day, -payment.cents, text, **more)

    def _document(self, request: Request) -> dict[str, Any]:
        if not request.headers.get("tpp-redirect-uri", "").startswith("https://"):
            raise Fault(400, "FORMAT_ERROR", "TPP-Redirect-URI")
        try:
            return request.document
        except ValueError:
            raise Fault(400, "FORMAT_ERROR", "body") from None

    def _new(self, request: Request, id: str, document: dict[str, Any], ibans: Sequence[str], state: str) -> Thing:
        headers, now = request.headers, self.clock.now
        client, back = headers["x-rlp-client-id"], headers["tpp-redirect-uri"]
        return Thing(id, client, self._word(40), back, document, ibans, state, now, now)

    def _tell_new(self, request: Request, thing: Thing, name: str) -> Response:
        path = f"{request.path}/{thing.id}"
        redirect = f"{request.origin}/rlp/sca/BTEJO?pedido={thing.token}"
        links = {"redirect": redirect, "self": path, "status": f"{path}/status"}
        return respond(201, {"transactionStatus": "RCVD", name: thing.id, "_links": links}, {"Location": path})

    def _account(self, iban: Any) -> Account | None:
        return next((one for who in self._customers for one in who.accounts if one.iban == iban), None)

    def _ask_consent(self, request: Request) -> Response:
        document = self._document(request)
        access: dict[str, list[str]] = {}
        for kind in ("accounts", "balances", "transactions"):
            rows = member(document, "access", kind) or []
            ibans = [member(row, "iban") for row in rows] if isinstance(rows, list) else [None]
            if not all(is_iban(iban) for iban in ibans) or (kind == "accounts" and not ibans):
                raise Fault(400, "FORMAT_ERROR", f"access.{kind}")
            if not all(str(iban)[4:8] == CODE for iban in ibans):
                raise Fault(400, "IBAN_NOT_ASPSP", f"access.{kind}")
            access[kind] = [str(iban) for iban in ibans]
            if not set(access[kind]) <= set(access["accounts"]):
                raise Fault(400, "FORMAT_ERROR", f"access.{kind}")
        often = document.get("frequencyPerDay")
        if type(often) is not int or not 1 <= often <= 4:
            raise Fault(400, "FORMAT_ERROR", "frequencyPerDay")
        try:
            until = date.fromisoformat(document.get("validUntil", ""))
        except (TypeError, ValueError):
            raise Fault(400, "FORMAT_ERROR", "validUntil") from None
        if until < self._today:
            raise Fault(400, "PERIOD_INVALID", "validUntil")
        kept = {
            "access": {kind: [{"iban": iban} for iban in ibans] for kind, ibans in access.items()},
            "recurringIndicator": document.get("recurringIndicator") is True,
            "validUntil": min(until, self._today + timedelta(days=180)).isoformat(),
            "frequencyPerDay": often,
        }
        consent = self._new(request, f"CNS-{self._word(20)}", kept, access["accounts"], "PDNG")
        self._consents[consent.id] = consent
        return self._tell_new(request, consent, "consentId")

    def _consent(self, request: Request, id: str) -> Thing:
        consent = self._consents.get(id)
        if not consent or consent.client != request.headers["x-rlp-client-id"]:
            raise Fault(403, "CONSENT_UNKNOWN")
        return consent

    def _show_consent(self, request: Request, id: str) -> Response:
        consent = self._consent(request, id)
        told = {"consentId": id, "consentStatus": consent.state, **consent.document}
        return respond(200, told | {"lastActionDate": write_time(consent.changed)})

    def _tell_consent(self, request: Request, id: str) -> Response:
        return respond(200, {"consentStatus": self._consent(request, id).state})

    def _revoke(self, request: Request, id: str) -> Response:
        consent = self._consent(request, id)
        if consent.state not in ("PDNG", "ACTV"):
            raise Fault(401, "CONSENT_INVALID")
        self._set(consent, "REVK", self.clock.now)
        return Response(204)

    def _id(self, consent: Thing, iban: str) -> str:
        return hashlib.sha256(f"{consent.id} {iban}".encode()).hexdigest()[:24]

    def _grant(self, request: Request) -> Thing:
        if not (id := request.headers.get("consent-id")):
            raise Fault(400, "FORMAT_ERROR", "Consent-ID")
        consent = self._consent(request, id)
        if consent.state != "ACTV":
            raise Fault(401, "CONSENT_INVALID")
        return consent

    def _count(self, request: Request, consent: Thing, *what: str) -> None:
        if "psu-ip-address" in request.headers:
            return
        key = (consent.id, self._today.isoformat(), *what)
        if self._reads[key] >= consent.document["frequencyPerDay"]:
            raise Fault(429, "ACCESS_EXCEEDED")
        self._reads[key] += 1

    def _find(self, request: Request, id: str, kind: str) -> Account:
        consent = self._grant(request)
        account = next((self._account(iban) for iban in consent.ibans if self._id(consent, iban) == id), None)
        if not account:
            raise Fault(404, "RESOURCE_UNKNOWN", "account-id")
        if {"iban": account.iban} not in consent.document["access"][kind]:
            raise Fault(403, "CONSENT_SCOPE")
        self._count(request, consent, kind, id)
        return account

    def _balances(self, account: Account) -> list[dict[str, Any]]:
        amounts = {"closingBooked": account.cents, "interimAvailable": self._available(account)}
        rows = [{"balanceType": kind, "balanceAmount": write_amount(cents)} for kind, cents in amounts.items()]
        return [row | {"referenceDate": write_day(self._today)} for row in rows]

    def _list_accounts(self, request: Request) -> Response:
        consent, rows = self._grant(request), []
        self._count(request, consent, "accounts")
        for account in filter(None, map(self._account, consent.ibans)):
            row: dict[str, Any] = {"id": self._id(consent, account.iban), "iban": account.iban, "currency": "EUR"}
            row |= {"name": account.name, "cashAccountType": account.kind}
            covered = {"iban": account.iban} in consent.document["access"]["balances"]
            if covered and request.query.get("withBalance") == "true":
                row["balances"] = self._balances(account)
            rows.append(row)
        return respond(200, {"accountList": rows})

    def _tell_balances(self, request: Request, id: str) -> Response:
        account = self._find(request, id, "balances")
        return respond(200, {"account": {"iban": account.iban}, "balances": self._balances(account)})

    def _reserved(self, account: Account) -> list[Thing]:
        return [one for one in self._payments.values() if one.account is account and one.state in ("ACTC", "ACSP")]

    def _available(self, account: Account) -> int:
        return account.cents - sum(one.cents for one in self._reserved(account))

    def _list_movements(self, request: Request, id: str) -> Response:
        account, query = self._find(request, id, "transactions"), request.query
        if (status := query.get("bookingStatus")) not in ("booked", "pending", "both"):
            raise Fault(400, "FORMAT_ERROR", "bookingStatus")
        days = []
        for name in ("dateFrom", "dateTo"):
            text = query.get(name, write_day(self._today) if name == "dateTo" else "")
            try:
                days.append(datetime.strptime(text, "%d-%m-%Y").replace(tzinfo=UTC).date())
            except ValueError:
                raise Fault(400, "FORMAT_ERROR", name) from None
        if not self._today - timedelta(days=90) <= days[0] <= days[1]:
            raise Fault(400, "PERIOD_INVALID", "dateFrom")
        rows = (
            [movement for day, movement in account.entries if days[0] <= day <= days[1]] if status != "pending" else []
        )
        last, page = max(1, -(-len(rows) // 10)), query.get("pagina", "1")
        if not page.isdecimal() or not 1 <= int(page) <= last:
            raise Fault(400, "FORMAT_ERROR", "pagina")
        kept = {"bookingStatus": status, "dateFrom": write_day(days[0]), "dateTo": write_day(days[1])}
        pages = {"first": 1, "next": int(page) + 1, "last": last}
        stem = f"{request.path}?{urlencode(kept)}&pagina="
        links = {name: f"{stem}{number}" for name, number in pages.items() if number <= last}
        report: dict[str, Any] = {"booked": rows[int(page) * 10 - 10 : int(page) * 10]}
        if status != "booked":
            held = {"natureza": "D", "descritivo": "CATIVO TRF"}
            report["pending"] = [{"amount": write_amount(one.cents), **held} for one in self._reserved(account)]
        told = {"account": {"iban": account.iban}, "transactions": report, "totalRegistos": len(rows), "_links": links}
        return respond(200, told)

    def _order(self, request: Request, product: str) -> Response:
        if product not in (SEPA, INSTANT, SERVICE):
            raise Fault(404, "PRODUCT_UNKNOWN")
        document, key = self._document(request), (request.headers["x-rlp-client-id"], request.headers["tpp-request-id"])
        if key in self._used:
            raise Fault(409, "DUPLICATED_REQUEST", "TPP-Request-ID")
        payer, amount = self._account(member(document, "debtorAccount", "iban")), document.get("instructedAmount")
        if not payer:
            raise Fault(400, "IBAN_NOT_ASPSP", "debtorAccount.iban")
        content = member(amount, "content")
        if not isinstance(content, str) or not re.fullmatch(r"(0|[1-9]\d{0,6})\.\d\d", content) or content == "0.00":
            raise Fault(400, "FORMAT_ERROR", "instructedAmount.content")
        if member(amount, "currency") != "EUR":
            raise Fault(400, "FORMAT_ERROR", "instructedAmount.currency")
        cents, kept = int(content.replace(".", "")), {"debtorAccount": {"iban": payer.iban}, "instructedAmount": amount}
        if product == SERVICE:
            for name, size in (("entidade", 5), ("referencia", 9)):
                digits = str(document.get(name)).replace(" ", "")
                if not re.fullmatch(rf"\d{{{size}}}", digits):
                    raise Fault(400, "FORMAT_ERROR", name)
                kept[name] = digits
        else:
            if not is_iban(payee := member(document, "creditorAccount", "iban")):
                raise Fault(400, "FORMAT_ERROR", "creditorAccount.iban")
            kept["creditorAccount"] = {"iban": payee}
            for name, most in (("creditorName", 70), ("remittanceInformationUnstructured", 140)):
                if not isinstance(document.get(name), str) or not 1 <= len(document[name]) <= most:
                    raise Fault(400, "FORMAT_ERROR", name)
                kept[name] = document[name]
        if product == INSTANT and cents > 500_000:
            raise Fault(400, "AMOUNT_LIMIT_EXCEEDED", "instructedAmount.content")
        self._serial += self._random.randrange(1, 90)
        payment = self._new(request, f"P{self._today:%y%j}-{self._serial:08}", kept, [payer.iban], "RCVD")
        payment.product, payment.cents, payment.account = product, cents, payer
        self._payments[payment.id] = payment
        self._used.add(key)
        return self._tell_new(request, payment, "paymentId")

    def _payment(self, request: Request, product: str, id: str) -> Thing:
        payment = self._payments.get(id)
        if not payment or (payment.client, payment.product) != (request.headers["x-rlp-client-id"], product):
            raise Fault(404, "RESOURCE_UNKNOWN", "payment-id")
        return payment

    def _show_payment(self, request: Request, product: str, id: str) -> Response:
        payment = self._payment(request, product, id)
        told = {"paymentId": id, "transactionStatus": payment.state, "creationDateTime": write_time(payment.made)}
        return respond(200, told | payment.document)

    def _tell_payment(self, request: Request, product: str, id: str) -> Response:
        payment = self._payment(request, product, id)
        told = {"transactionStatus": payment.state, "statusDateTime": write_time(payment.changed)}
        return respond(200, told | ({"reasonCode": payment.reason} if payment.reason else {}))

    def _cancel(self, request: Request, product: str, id: str) -> Response:
        payment = self._payment(request, product, id)
        if payment.state not in ("RCVD", "ACTC"):
            raise Fault(405, "CANCELLATION_INVALID")
        self._set(payment, "CANC", self.clock.now)
        return self._tell_payment(request, product, id)

    def _authenticate(self, request: Request) -> Response:
        things = (*self._consents.values(), *self._payments.values())
        thing = next((one for one in things if one.token == request.query.get("pedido")), None)
        if not thing:
            return show(404, "Banco do Tejo", "<p>Pedido desconhecido.</p>")
        if not thing.is_waiting:
            return show(410, "Banco do Tejo", "<p>Este pedido já não está disponível.</p>")
        if request.method != "POST":
            return self._show_access(thing)
        action = request.field("acao")
        if action == "desistir":
            return self._end(thing, "RJCT", "DESISTENCIA", "CUST")
        if action == "entrar":
            given = request.field("n_adesao"), request.field("cod_acesso")
            customer = next((one for one in self._customers if (one.number, one.code) == given), None)
            if not customer:
                return self._show_access(thing, "Dados de acesso inválidos.")
            if not customer.owns(thing.ibans):
                return self._show_access(thing, "A conta indicada não está associada a esta adesão.")
            return self._challenge(thing, f"Enviámos um código por SMS para *** *** {customer.phone}.")
        challenge, code = thing.challenge
        if action != "confirmar" or not challenge or request.field("desafio") != challenge:
            return show(409, "Banco do Tejo", "<p>A sessão terminou. Volte a entrar.</p>")
        if request.field("codigo_sms") != code:
            thing.mistakes += 1
            if thing.mistakes == 3:
                return self._end(thing, "RJCT", "TENTATIVAS", "SCAF")
            return self._challenge(thing, f"Código SMS incorreto. Tentativas restantes: {3 - thing.mistakes}.")
        if not thing.account:
            return self._end(thing, "ACTV")
        if thing.cents > self._available(thing.account):
            return self._end(thing, "RJCT", "SALDO", "AM04")
        thing.accepted = self.clock.now
        if thing.product == SEPA:
            return self._end(thing, "ACTC")
        self._settle(thing, self.clock.now)
        return self._end(thing, "ACSC")

    def _show_access(self, thing: Thing, hint: str = "") -> Response:
        app = CLIENTS[thing.client]
        if thing.account:
            asked = f"Pagamento de {thing.document['instructedAmount']['content']} € pedido por {app}"
        else:
            asked = f"{app} pede acesso a {len(thing.ibans)} conta(s) até {thing.document['validUntil']}"
        fields = '<input name="n_adesao"><input name="cod_acesso" type="password">'
        return self._form(f"<p>{hint}</p><p>{asked}</p>", fields, "entrar")

    def _challenge(self, thing: Thing, hint: str) -> Response:
        challenge, code = thing.challenge = self._word(12), f"{self._random.randrange(10**6):06}"
        note = f"<p>{hint}</p><aside>Ambiente de testes. SMS: <b>{code}</b></aside>"
        fields = f'<input type="hidden" name="desafio" value="{challenge}"><input name="codigo_sms">'
        return self._form(note, fields, "confirmar")

    def _form(self, text: str, fields: str, action: str) -> Response:
        buttons = "".join(f'<button name="acao" value="{word}">{word}</button>' for word in (action, "desistir"))
        return show(200, "Banco do Tejo", f'{text}<form method="post">{fields}{buttons}</form>')

    def _end(self, thing: Thing, state: str, motive: str = "", reason: str = "") -> Response:
        self._set(thing, state, self.clock.now, reason)
        told = {"resultado": "NOK", "motivo": motive} if motive else {"resultado": "OK"}
        return Response(302, "", {"Location": f"{thing.back}?{urlencode(told | {'idPedido': thing.id})}"})
