"""Banque de l'Estuaire, a regional bank: OAuth tokens of the app and of the customer, JSON with links, own errors.

- Everything is below `/dsp2/v1`, except for `POST /oauth/token` (a form) and the customer's pages `/espace/<ticket>`.
  Every request of an app needs `X-Request-Id`, which the answer repeats.
- With a token for `client_credentials`, an app asks for consents and payments, reads and ends them.
- A consent names scopes (`accounts`, `balances`, `transactions`) and a last day, at most 180 days away. Its answer
  links to a page whose ticket is not the id. The customer gives a login and a code there, and agrees or not. The page
  then redirects to the app with `code` or with `error=access_denied`, and with the app's `state`.
- The code works once, within 5 minutes, and gives a token of 30 minutes and a refresh token. It reads all accounts of
  the customer, as far as the scopes allow.
- Consents: PENDING, ACTIVE, DENIED, REVOKED (DELETE, 204), EXPIRED (not answered for 10 minutes, or past its last day).
- Balances are BOOKED and AVAILABLE, which lacks what payments hold. Transactions have pages with numbers from 0, of 10
  entries unless `size` says otherwise (50 at most), newest first, with a link to the next page. Those of more than 90
  days ago are only there in the first 15 minutes after the customer has agreed.
- A payment names the account by its IBAN, and is 4000 euros at most. The same `X-Idempotency-Key` again gives the same
  payment with 200, or 409 if the body is another one.
- Payments: CREATED, then by the customer VALIDATED, DECLINED, or REJECTED (AM04) if the account does not cover it. A
  STANDARD payment is SENT after a minute, and EXECUTED 10 minutes after the customer's yes. An INSTANT one is EXECUTED
  at once. Before it is sent it can be CANCELLED. A payment not answered for 10 minutes is EXPIRED.
- Errors: `{"timestamp", "status", "code", "message", "path"}`, and `field` if a member of the request is wrong. Those
  of the token endpoint are OAuth's.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

APPS = {"budgetto": "Zx81-ocean", "comptaclair": "Mo5-granit"}
SCOPES = ("accounts", "balances", "transactions")
SHOPS = ("Boulangerie Kermarrec", "SNCF Connect", "Super U Guérande", "EDF", "Librairie Coiffard", "Pharmacie du Port")
MESSAGES = {
    "REQ-001": (400, "L'en-tête X-Request-Id est obligatoire"),
    "REQ-002": (400, "Le corps de la requête est illisible"),
    "REQ-003": (400, "Un champ de la requête est absent ou invalide"),
    "REQ-404": (404, "Ressource inconnue"),
    "REQ-405": (405, "Méthode non autorisée"),
    "AUT-001": (401, "Jeton absent"),
    "AUT-002": (401, "Jeton inconnu"),
    "AUT-003": (401, "Jeton expiré"),
    "AUT-004": (403, "Ce type de jeton ne donne pas accès à cette ressource"),
    "CST-001": (404, "Consentement inconnu"),
    "CST-002": (403, "Le consentement n'est plus actif"),
    "CST-003": (403, "Le consentement ne couvre pas cette ressource"),
    "CST-004": (409, "Le consentement ne peut plus être révoqué"),
    "CST-005": (422, "La durée du consentement dépasse 180 jours"),
    "CPT-001": (404, "Compte inconnu"),
    "CPT-002": (403, "L'historique de plus de 90 jours exige une authentification récente"),
    "PAY-001": (404, "Paiement inconnu"),
    "PAY-002": (422, "Le montant dépasse le plafond"),
    "PAY-003": (409, "Le paiement ne peut plus être annulé"),
    "PAY-004": (409, "Cette clé d'idempotence a déjà servi"),
}
CEILING = Decimal(4000)
ANSWERED_WITHIN = timedelta(minutes=10)


@dataclass
class Account:
    id: str
    iban: str
    product: str
    booked: Decimal
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Customer:
    name: str
    code: str
    accounts: list[Account]


@dataclass
class Asked:
    """A consent or a payment, which a customer answers on the page of `ticket`."""

    id: str
    app: str
    ticket: str
    seal: str
    made: datetime
    document: dict[str, Any]
    status: str
    answered: datetime | None = None
    customer: Customer | None = None
    account: Account | None = None
    reason: str | None = None

    @property
    def is_payment(self) -> bool:
        return "amount" in self.document

    @property
    def amount(self) -> Decimal:
        return Decimal(self.document["amount"]["amount"])


@dataclass(frozen=True)
class Token:
    app: str
    ends: datetime
    consent: Asked | None = None


def write_time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def write_euros(amount: Decimal) -> dict[str, str]:
    return {"amount": f"{amount:.2f}", "currency": "EUR"}


def is_iban(text: Any) -> bool:
    if not isinstance(text, str) or not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", text):
        return False
    return int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1


def refuse(code: str, place: str | None = None) -> Fault:
    return Fault(MESSAGES[code][0], code, place)


def read(document: dict[str, Any], name: str, form: str, place: str = "") -> str:
    value = document.get(name)
    if not isinstance(value, str) or not re.fullmatch(form, value):
        raise refuse("REQ-003", f"{place}{name}")
    return value


def read_day(text: str, place: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise refuse("REQ-003", place) from None


def read_number(query: Any, name: str, default: int, least: int, most: int) -> int:
    text = query.get(name, str(default))
    if not text.isdecimal() or not least <= int(text) <= most:
        raise refuse("REQ-003", name)
    return int(text)


class Estuaire:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"estuaire {seed}")
        self._tokens: dict[str, Token] = {}
        self._refreshing: dict[str, Token] = {}
        self._codes: dict[str, Token] = {}
        self._asked: dict[str, Asked] = {}
        self._by_key: dict[tuple[str, str], Asked] = {}
        self._customers = {
            "4207731": self._enrol(
                "Maëlle Le Goff",
                "582914",
                ("FR5118829754160004217300164", "Compte courant", "2315.48", 23),
                ("FR9018829754160009903210251", "Livret bleu", "8900.00", 4),
            ),
            "5590126": self._enrol(
                "Yannick Moreau",
                "307766",
                ("FR3418829331020001124450077", "Compte courant", "1204.10", 17),
                ("FR0218829331020001124460062", "Compte joint", "3480.35", 28),
                ("FR2418829331020008800000311", "Livret bleu", "650.00", 2),
            ),
        }
        self._routes = Routes(
            ("POST", "/oauth/token", self._token),
            ("GET", "/espace/{ticket}", self._page),
            ("POST", "/espace/{ticket}", self._answer_page),
            ("POST", "/dsp2/v1/consents", self._by_app(self._ask_consent)),
            ("GET", "/dsp2/v1/consents/{id}", self._by_app(self._read_consent)),
            ("DELETE", "/dsp2/v1/consents/{id}", self._by_app(self._revoke)),
            ("GET", "/dsp2/v1/accounts", self._by_customer("accounts", self._list_accounts)),
            ("GET", "/dsp2/v1/accounts/{id}/balances", self._by_customer("balances", self._balances)),
            ("GET", "/dsp2/v1/accounts/{id}/transactions", self._by_customer("transactions", self._transactions)),
            ("POST", "/dsp2/v1/payments", self._by_app(self._ask_payment)),
            ("GET", "/dsp2/v1/payments/{id}", self._by_app(self._read_payment)),
            ("DELETE", "/dsp2/v1/payments/{id}", self._by_app(self._cancel)),
        )

    def answer(self, request: Request) -> Response:
        self._let_pass()
        headers = {}
        try:
            try:
                handler, parameters = self._routes.find(request.method, request.path)
            except NoRoute as wrong:
                if wrong.allowed:
                    headers["Allow"] = ", ".join(wrong.allowed)
                raise refuse("REQ-405" if wrong.allowed else "REQ-404") from None
            if request.path.startswith("/dsp2/"):
                if not (id := request.headers.get("x-request-id")):
                    raise refuse("REQ-001")
                headers["X-Request-Id"] = id
            response = handler(request, **parameters)
        except Fault as fault:
            time = write_time(self.clock.now)
            document = {
                "timestamp": time,
                "status": fault.status,
                "code": fault.word,
                "message": MESSAGES[fault.word][1],
            }
            document |= {"path": request.path} | ({"field": fault.place} if fault.place else {})
            response = respond(fault.status, document)
        return Response(response.status, response.content, {**response.headers, **headers})

    def _by_app(self, handler: Callable[..., Response]) -> Callable[..., Response]:
        def handle(request: Request, **parameters: str) -> Response:
            token = self._find_token(request)
            if token.consent:
                raise refuse("AUT-004")
            return handler(request, token.app, **parameters)

        return handle

    def _by_customer(self, scope: str, handler: Callable[..., Response]) -> Callable[..., Response]:
        def handle(request: Request, **parameters: str) -> Response:
            consent = self._find_token(request).consent
            if not consent:
                raise refuse("AUT-004")
            if consent.status != "ACTIVE":
                raise refuse("CST-002")
            if scope not in consent.document["scopes"]:
                raise refuse("CST-003")
            return handler(request, consent, **parameters)

        return handle

    def _find_token(self, request: Request) -> Token:
        kind, _, text = request.headers.get("authorization", "").partition(" ")
        if kind != "Bearer":
            raise refuse("AUT-001")
        if not (token := self._tokens.get(text)):
            raise refuse("AUT-002")
        if token.ends <= self.clock.now:
            raise refuse("AUT-003")
        return token

    def _word(self, signs: str, length: int) -> str:
        return "".join(self._random.choices(signs, k=length))

    def _secret(self, length: int) -> str:
        return self._word("abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", length)

    def _enrol(self, name: str, code: str, *accounts: tuple[str, str, str, int]) -> Customer:
        return Customer(name, code, [self._open(*account) for account in accounts])

    def _open(self, iban: str, product: str, booked: str, entries: int) -> Account:
        account = Account(self._word("0123456789abcdef", 16), iban, product, Decimal(booked))
        for days in sorted(self._random.sample(range(1, 80), entries), reverse=True):
            amount = Decimal(self._random.randrange(350, 24_000)) / 100
            is_debit = self._random.random() < 0.75
            self._book(account, self.clock.today - timedelta(days=days), amount, is_debit, self._random.choice(SHOPS))
        return account

    def _book(self, account: Account, day: date, amount: Decimal, is_debit: bool, label: str) -> None:
        entry = {
            "entryId": self._word("0123456789", 12),
            "bookingDate": day.isoformat(),
            "amount": write_euros(amount),
            "direction": "DEBIT" if is_debit else "CREDIT",
            "label": label,
        }
        account.entries.insert(0, entry)

    def _let_pass(self) -> None:
        """Give everything the status that it has by now."""
        now = self.clock.now
        for asked in self._asked.values():
            if asked.status in ("PENDING", "CREATED") and now > asked.made + ANSWERED_WITHIN:
                asked.status = "EXPIRED"
            if asked.status == "ACTIVE" and now.date() > date.fromisoformat(asked.document["validUntil"]):
                asked.status = "EXPIRED"
            if asked.is_payment and asked.answered:
                if asked.status == "VALIDATED" and now >= asked.answered + timedelta(minutes=1):
                    asked.status = "SENT"
                if asked.status == "SENT" and now >= asked.answered + timedelta(minutes=10):
                    self._execute(asked)

    def _execute(self, payment: Asked) -> None:
        assert payment.account
        payment.status = "EXECUTED"
        payment.account.booked -= payment.amount
        name = payment.document["creditor"]["name"]
        self._book(payment.account, self.clock.today, payment.amount, True, f"Virement {name}")

    def _available(self, account: Account) -> Decimal:
        held = [asked for asked in self._asked.values() if asked.status in ("VALIDATED", "SENT")]
        return account.booked - sum(payment.amount for payment in held if payment.account is account)

    def _token(self, request: Request) -> Response:
        app = request.field("client_id")
        if APPS.get(app) != request.field("client_secret"):
            return respond(
                401, {"error": "invalid_client", "error_description": "client_id ou client_secret incorrect"}
            )
        grant = request.field("grant_type")
        now = self.clock.now
        if grant == "client_credentials":
            return self._grant(Token(app, now + timedelta(minutes=60)), 3600)
        if grant == "authorization_code":
            found = self._codes.pop(request.field("code"), None)
            if found and found.app == app and now < found.ends:
                refreshing = self._secret(32)
                self._refreshing[refreshing] = found
                return self._grant(Token(app, now + timedelta(minutes=30), found.consent), 1800, refreshing)
        elif grant == "refresh_token":
            found = self._refreshing.get(request.field("refresh_token"))
            if found and found.app == app and found.consent and found.consent.status == "ACTIVE":
                return self._grant(Token(app, now + timedelta(minutes=30), found.consent), 1800)
        return respond(400, {"error": "invalid_grant", "error_description": "Code ou jeton invalide"})

    def _grant(self, token: Token, seconds: int, refreshing: str = "") -> Response:
        text = self._secret(40)
        self._tokens[text] = token
        document = {"access_token": text, "token_type": "Bearer", "expires_in": seconds}
        return respond(200, document | ({"refresh_token": refreshing} if refreshing else {}))

    def _document(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise refuse("REQ-002") from None

    def _ask(self, app: str, id: str, document: dict[str, Any], status: str) -> Asked:
        read(document, "redirectUri", r"https://\S+")
        read(document, "state", r"\S{1,64}")
        asked = Asked(id, app, self._secret(24), self._secret(10), self.clock.now, document, status)
        self._asked[id] = asked
        return asked

    def _find(self, app: str, id: str, unknown: str) -> Asked:
        asked = self._asked.get(id)
        if not asked or asked.app != app or asked.is_payment != (unknown == "PAY-001"):
            raise refuse(unknown)
        return asked

    def _ask_consent(self, request: Request, app: str) -> Response:
        document = self._document(request)
        scopes = document.get("scopes")
        if not isinstance(scopes, list) or not scopes or not all(scope in SCOPES for scope in scopes):
            raise refuse("REQ-003", "scopes")
        ends = read_day(read(document, "validUntil", r"[\d-]{10}"), "validUntil")
        if ends < self.clock.today:
            raise refuse("REQ-003", "validUntil")
        if ends > self.clock.today + timedelta(days=180):
            raise refuse("CST-005")
        consent = self._ask(app, f"AC-{self._word('ABCDEFGHJKLMNPQRSTUVWXYZ23456789', 10)}", document, "PENDING")
        return respond(201, self._show_consent(consent), {"Location": f"/dsp2/v1/consents/{consent.id}"})

    def _show_consent(self, consent: Asked) -> dict[str, Any]:
        links = {"self": {"href": f"/dsp2/v1/consents/{consent.id}"}}
        if consent.status == "PENDING":
            links["authorise"] = {"href": f"/espace/{consent.ticket}"}
        shown = {"consentId": consent.id, "status": consent.status, "createdAt": write_time(consent.made)}
        shown |= {name: consent.document[name] for name in ("scopes", "validUntil")}
        if consent.customer and consent.answered:
            shown |= {"grantedAt": write_time(consent.answered)}
        return shown | {"_links": links}

    def _read_consent(self, request: Request, app: str, id: str) -> Response:
        return respond(200, self._show_consent(self._find(app, id, "CST-001")))

    def _revoke(self, request: Request, app: str, id: str) -> Response:
        consent = self._find(app, id, "CST-001")
        if consent.status not in ("PENDING", "ACTIVE"):
            raise refuse("CST-004")
        consent.status = "REVOKED"
        return Response(204)

    def _show_account(self, account: Account) -> dict[str, Any]:
        place = f"/dsp2/v1/accounts/{account.id}"
        links = {name: {"href": f"{place}/{name}"} for name in ("balances", "transactions")}
        shown = {"accountId": account.id, "iban": account.iban, "product": account.product, "currency": "EUR"}
        return shown | {"_links": links}

    def _find_account(self, consent: Asked, id: Any) -> Account:
        assert consent.customer
        for account in consent.customer.accounts:
            if account.id == id:
                return account
        raise refuse("CPT-001")

    def _list_accounts(self, request: Request, consent: Asked) -> Response:
        assert consent.customer
        return respond(200, {"accounts": [self._show_account(account) for account in consent.customer.accounts]})

    def _balances(self, request: Request, consent: Asked, id: str) -> Response:
        account = self._find_account(consent, id)
        amounts = {"BOOKED": account.booked, "AVAILABLE": self._available(account)}
        balances = [{"type": kind, "balance": write_euros(amount)} for kind, amount in amounts.items()]
        return respond(200, {"accountId": id, "balances": balances, "readAt": write_time(self.clock.now)})

    def _transactions(self, request: Request, consent: Asked, id: str) -> Response:
        account = self._find_account(consent, id)
        assert consent.answered
        query, today = request.query, self.clock.today
        first = read_day(query.get("dateFrom", (today - timedelta(days=90)).isoformat()), "dateFrom")
        last = read_day(query.get("dateTo", today.isoformat()), "dateTo")
        number = read_number(query, "page", 0, 0, 10_000)
        size = read_number(query, "size", 10, 1, 50)
        if first < today - timedelta(days=90) and self.clock.now > consent.answered + timedelta(minutes=15):
            raise refuse("CPT-002")
        rows = [entry for entry in account.entries if first.isoformat() <= entry["bookingDate"] <= last.isoformat()]
        pages = -(-len(rows) // size)
        links = {}
        if number + 1 < pages:
            following = urlencode({**query, "page": number + 1})
            links["next"] = {"href": f"{request.path}?{following}"}
        page = {"number": number, "size": size, "totalElements": len(rows), "totalPages": pages}
        shown = rows[number * size : (number + 1) * size]
        return respond(200, {"transactions": shown, "page": page, "_links": links})

    def _read_amount(self, document: dict[str, Any]) -> Decimal:
        amount = document.get("amount")
        if not isinstance(amount, dict):
            raise refuse("REQ-003", "amount")
        read(amount, "currency", "EUR", "amount.")
        if not (euros := Decimal(read(amount, "amount", r"\d{1,9}\.\d\d", "amount."))):
            raise refuse("REQ-003", "amount.amount")
        return euros

    def _ask_payment(self, request: Request, app: str) -> Response:
        if not (key := request.headers.get("x-idempotency-key")):
            raise refuse("REQ-003", "X-Idempotency-Key")
        document = self._document(request)
        if found := self._by_key.get((app, key)):
            if found.document != document:
                raise refuse("PAY-004")
            return respond(200, self._show_payment(found))
        read(document, "endToEndId", r"[\w-]{1,35}")
        read(document, "execution", "STANDARD|INSTANT")
        amount = self._read_amount(document)
        creditor = document.get("creditor")
        if not isinstance(creditor, dict):
            raise refuse("REQ-003", "creditor")
        read(creditor, "name", r".{2,70}", "creditor.")
        if not is_iban(creditor.get("iban")):
            raise refuse("REQ-003", "creditor.iban")
        debtor = read(document, "debtorIban", r"[A-Z0-9]{15,34}")
        if amount > CEILING:
            raise refuse("PAY-002")
        accounts = [account for customer in self._customers.values() for account in customer.accounts]
        if not (account := next((account for account in accounts if account.iban == debtor), None)):
            raise refuse("REQ-003", "debtorIban")
        payment = self._ask(app, f"{self.clock.today:%Y%m%d}{self._word('0123456789', 8)}", document, "CREATED")
        payment.account = account
        self._by_key[app, key] = payment
        return respond(201, self._show_payment(payment), {"Location": f"/dsp2/v1/payments/{payment.id}"})

    def _show_payment(self, payment: Asked) -> dict[str, Any]:
        links = {"self": {"href": f"/dsp2/v1/payments/{payment.id}"}}
        if payment.status == "CREATED":
            links["authorise"] = {"href": f"/espace/{payment.ticket}"}
        shown = {"paymentId": payment.id, "status": payment.status, "createdAt": write_time(payment.made)}
        shown |= {"reason": payment.reason} if payment.reason else {}
        names = ("endToEndId", "debtorIban", "creditor", "amount", "execution")
        return shown | {name: payment.document[name] for name in names} | {"_links": links}

    def _read_payment(self, request: Request, app: str, id: str) -> Response:
        return respond(200, self._show_payment(self._find(app, id, "PAY-001")))

    def _cancel(self, request: Request, app: str, id: str) -> Response:
        payment = self._find(app, id, "PAY-001")
        if payment.status not in ("CREATED", "VALIDATED"):
            raise refuse("PAY-003")
        payment.status = "CANCELLED"
        return respond(200, self._show_payment(payment))

    def _open_page(self, ticket: str) -> Asked | None:
        found = next((asked for asked in self._asked.values() if asked.ticket == ticket), None)
        return found if found and found.status in ("PENDING", "CREATED") else None

    def _page(self, request: Request, ticket: str, status: int = 200, hint: str = "Identifiez-vous.") -> Response:
        if not (asked := self._open_page(ticket)):
            return show(410, "Banque de l'Estuaire", "<p>Cette demande n'est plus valable.</p>")
        what = "Paiement" if asked.is_payment else "Accès à vos comptes"
        fields = f'<input type="hidden" name="jeton" value="{asked.seal}"><input name="identifiant"><input name="code">'
        buttons = '<button name="choix" value="accepter">Oui</button><button name="choix" value="refuser">Non</button>'
        return show(status, what, f'<p>{hint}</p><form method="post">{fields}{buttons}</form>')

    def _answer_page(self, request: Request, ticket: str) -> Response:
        asked = self._open_page(ticket)
        if not asked or request.field("jeton") != asked.seal:
            return show(410, "Banque de l'Estuaire", "<p>Cette demande n'est plus valable.</p>")
        customer = self._customers.get(request.field("identifiant"))
        if not customer or customer.code != request.field("code"):
            return self._page(request, ticket, 401, "Identifiant ou code incorrect.")
        if asked.account and asked.account not in customer.accounts:
            return self._page(request, ticket, 403, "Ce compte n'est pas à vous.")
        if request.field("choix") != "accepter":
            asked.status = "DECLINED" if asked.is_payment else "DENIED"
            return self._send_back(asked, error="access_denied")
        asked.customer, asked.answered = customer, self.clock.now
        if asked.account:
            if asked.amount > self._available(asked.account):
                asked.status, asked.reason = "REJECTED", "AM04"
                return self._send_back(asked, error="payment_rejected")
            asked.status = "VALIDATED"
            if asked.document["execution"] == "INSTANT":
                self._execute(asked)
            return self._send_back(asked, paymentId=asked.id)
        asked.status = "ACTIVE"
        code = self._secret(20)
        self._codes[code] = Token(asked.app, self.clock.now + timedelta(minutes=5), asked)
        return self._send_back(asked, code=code)

    def _send_back(self, asked: Asked, **query: str) -> Response:
        target = urlencode({**query, "state": asked.document["state"]})
        return Response(302, "", {"Location": f"{asked.document['redirectUri']}?{target}"})
