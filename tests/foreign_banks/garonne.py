"""Garonne, a French bank: the interface is that of STET in the main, with ways of its own.

- GET `/connect/authorize` is a page with a form: user name, password and choice. Wrong words give 401 and the form
  again; a choice 302 to the app's `redirect_uri` with the `state`, and a `code` or `error=access_denied`.
- POST `/connect/token`, a form with the app's key as Basic or in the form, takes such a code once and gives a token
  for an hour with the scope aisp, and a refresh token that also works once. With client credentials it gives a token
  for half an hour with the scope pisp. Its errors are bare: `{"error"}`.
- Everything under `/stet/psd2/v1.4` needs a token (else 401) of the right scope (else 403), X-Request-ID, which comes
  back, and Signature (else 400). Errors are `{timestamp, status, error, message, path}`, with messages in French.
- The list of accounts has all of the customer's until PUT `/consents` (204) names some, for the list, for balances and
  for transactions. Only then do they have links. What is not named there, or unknown, gives 404.
- Without PSU-IP-Address the customer is absent: accounts can then be read twice in 24 hours, by what way ever.
- Amounts are texts without a sign. Transactions are newest first, ten to a page, with a link to the next one.
- POST `/payment-requests` gives 201, a Location and the link `consentApproval`, a page with the form above. The choice
  leads to one of the app's two report addresses; the good one gets the `psuAuthenticationFactor` for the confirmation.
- A payment is ACTC, then PDNG or RJCT (DS02) by the customer's choice. The confirmation makes it ACSP, ACCP if it is
  for a later day, or RJCT (AM04) if the account does not cover it. ACSP lowers the expected balance, and is ACSC after
  two minutes: then the booked balance is lower and there is a transaction. ACCP is ACSC on its day. Until it is ACSP
  or at an end, a payment can become CANC by PUT with a reason; later that gives 409.
- A payment is for 5000 euros at most.
"""

import base64
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

ROOT = "/stet/psd2/v1.4"
CLIENTS = {
    "comptaclair": ("vignoble-47", "https://comptaclair.example/"),
    "budgetine": ("platane-31", "https://budgetine.example/"),
}
SHOPS = "Boulangerie Capdenier|Pharmacie du Pont Neuf|Tisseo|Cave de Fronton|Librairie Ombres|Fibre Occitane".split("|")
REASONS = ("CUST", "DS02", "DUPL", "FRAD")
KINDS = ("accounts", "balances", "transactions")
MOST = Decimal(5000)
PAGE_SIZE = 10
QUOTA = 2


@dataclass
class Account:
    id: str
    iban: str
    name: str
    kind: str
    balance: Decimal
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    login: str
    password: str
    name: str
    accounts: Sequence[Account]


@dataclass
class Access:
    """What a customer gave to an app, or what an app has of its own if there is no customer."""

    client: str
    customer: Customer | None = None
    consent: Mapping[str, Any] | None = None
    reads: list[datetime] = field(default_factory=list)

    @property
    def scope(self) -> str:
        return "aisp" if self.customer else "pisp"


@dataclass
class Payment:
    client: str
    id: str
    code: str
    document: dict[str, Any]
    payer: Account
    status: str = "ACTC"
    reason: str = ""
    factor: str = ""
    confirmed: datetime | None = None

    @property
    def path(self) -> str:
        return f"{ROOT}/payment-requests/{self.id}"

    @property
    def amount(self) -> Decimal:
        return Decimal(dig(self.document, "creditTransferTransaction.0.instructedAmount.amount"))

    @property
    def day(self) -> str:
        return str(self.document.get("requestedExecutionDate", ""))


def dig(value: Any, place: str) -> Any:
    """The value at this place, or None."""
    for part in place.split("."):
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def is_text(longest: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and 1 <= len(value) <= longest


def check_digits(country: str, rest: str) -> str:
    digits = "".join(str(int(sign, 36)) for sign in rest + country + "00")
    return f"{98 - int(digits) % 97:02}"


def is_iban(text: Any) -> bool:
    if not isinstance(text, str) or not re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text):
        return False
    return check_digits(text[:2], text[4:]) == text[2:4]


def write_iban(number: str) -> str:
    """An IBAN of this bank, with the key that French account numbers end with."""
    bank, branch = "17843", "00310"
    rest = f"{bank}{branch}{number}{97 - (89 * int(bank) + 15 * int(branch) + 3 * int(number)) % 97:02}"
    return f"FR{check_digits('FR', rest)}{rest}"


def is_amount(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\d{1,9}\.\d\d", value) is not None and Decimal(value) > 0


def is_address(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("https://")


CHECKS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "paymentInformationId": (is_text(35), "1 à 35 caractères attendus"),
    "beneficiary.creditor.name": (is_text(70), "1 à 70 caractères attendus"),
    "beneficiary.creditorAccount.iban": (is_iban, "IBAN invalide"),
    "creditTransferTransaction": (lambda value: isinstance(value, list) and len(value) == 1, "une opération attendue"),
    "creditTransferTransaction.0.instructedAmount.currency": (lambda value: value == "EUR", "EUR attendu"),
    "creditTransferTransaction.0.instructedAmount.amount": (is_amount, "montant positif à deux décimales attendu"),
    "creditTransferTransaction.0.remittanceInformation.unstructured.0": (is_text(140), "1 à 140 caractères attendus"),
    "supplementaryData.successfulReportUrl": (is_address, "adresse https attendue"),
    "supplementaryData.unsuccessfulReportUrl": (is_address, "adresse https attendue"),
}


class Garonne:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"garonne {seed}")
        self._asked: dict[str, Mapping[str, str]] = {}
        self._codes: dict[str, tuple[Access, str, datetime]] = {}
        self._tokens: dict[str, tuple[Access, datetime]] = {}
        self._refresh: dict[str, Access] = {}
        self._payments: dict[str, Payment] = {}
        self._customers = [
            Customer(
                "jcastaing",
                "Canal-du-Midi-1681",
                "Jeanne Castaing",
                [
                    self._open("Compte courant", "CACC", "02048815507", "2318.40"),
                    self._open("Livret Violette", "SVGS", "02048815604", "840.15"),
                ],
            ),
            Customer(
                "mlabatut",
                "Pic.du.Midi.2877",
                "Mathieu Labatut",
                [
                    self._open("Compte principal", "CACC", "05730016318", "3650.08"),
                    self._open("Compte joint", "CACC", "05730016221", "1794.62"),
                    self._open("Livret Tournesol", "SVGS", "05730016415", "12075.00"),
                ],
            ),
        ]
        account, payment = ROOT + "/accounts/{id}", ROOT + "/payment-requests/{id}"
        self._pages = Routes(
            ("GET", "/connect/authorize", self._ask_access),
            ("POST", "/connect/authorize", self._decide_access),
            ("POST", "/connect/token", self._give_token),
            ("GET", "/connect/paiement/{code}", lambda request, code: self._ask_payment(code)),
            ("POST", "/connect/paiement/{code}", self._decide_payment),
        )
        self._routes = Routes(
            ("GET", ROOT + "/accounts", self._list_accounts),
            ("PUT", ROOT + "/consents", self._consent),
            ("GET", account + "/balances", self._balances),
            ("GET", account + "/transactions", self._list_entries),
            ("GET", ROOT + "/end-user-identity", self._identity),
            ("POST", ROOT + "/payment-requests", self._pay),
            ("GET", payment, lambda request, id: self._tell(self._payment(request, id))),
            ("PUT", payment, self._cancel),
            ("POST", payment + "/confirmation", self._confirm),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        try:
            handler, parameters = self._pages.find(request.method, request.path)
            return handler(request, **parameters)
        except NoRoute:
            pass
        named = request.headers.get("x-request-id")
        told = {"X-Request-ID": named} if named else {}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            response = handler(request, **parameters)
            return Response(response.status, response.content, {**response.headers, **told})
        except NoRoute as wrong:
            if wrong.allowed:
                fault = Fault(405, f"Méthode {request.method} non admise")
                told["Allow"] = ", ".join(wrong.allowed)
            else:
                fault = Fault(404, "Ressource inconnue")
        except Fault as error:
            fault = error
            if error.status == 401:
                told["WWW-Authenticate"] = "Bearer"
        document = {
            "timestamp": self.clock.now.isoformat(timespec="milliseconds"),
            "status": fault.status,
            "error": HTTPStatus(fault.status).phrase,
            "message": fault.word,
            "path": request.path,
        }
        return respond(fault.status, document, told)

    def _word(self, length: int) -> str:
        return "".join(self._random.choices("abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", k=length))

    def _open(self, name: str, kind: str, number: str, balance: str) -> Account:
        account = Account(self._word(18), write_iban(number), name, kind, Decimal(balance))
        for days in range(87, 0, -2):
            day = self.clock.today - timedelta(days=days - self._random.randrange(2))
            change = Decimal(self._random.randrange(180, 14_000)) / 100 * self._random.choice((-1, -1, -1, 1))
            self._enter(account, day.isoformat(), change, f"CB {self._random.choice(SHOPS)}")
        return account

    def _enter(self, account: Account, day: str, change: Decimal, remittance: str) -> None:
        entry = {
            "entryReference": f"{day.replace('-', '')}{self._random.randrange(10**7):07}",
            "creditDebitIndicator": "DBIT" if change < 0 else "CRDT",
            "transactionAmount": {"currency": "EUR", "amount": f"{abs(change):.2f}"},
            "bookingDate": day,
            "status": "BOOK",
            "remittanceInformation": {"unstructured": [remittance]},
        }
        account.entries.insert(0, entry)

    def _advance(self) -> None:
        for payment in self._payments.values():
            if payment.status == "ACSP" and payment.confirmed:
                if self.clock.now - payment.confirmed >= timedelta(minutes=2):
                    self._settle(payment, self.clock.today.isoformat())
            elif payment.status == "ACCP" and payment.day <= self.clock.today.isoformat():
                if payment.amount > self._expected(payment.payer):
                    payment.status, payment.reason = "RJCT", "AM04"
                else:
                    self._settle(payment, payment.day)

    def _settle(self, payment: Payment, day: str) -> None:
        payment.status = "ACSC"
        payment.payer.balance -= payment.amount
        remittance = dig(payment.document, "creditTransferTransaction.0.remittanceInformation.unstructured.0")
        self._enter(payment.payer, day, -payment.amount, str(remittance))

    def _expected(self, account: Account) -> Decimal:
        reserved = [one for one in self._payments.values() if one.status == "ACSP" and one.payer is account]
        return account.balance - sum(one.amount for one in reserved)

    # The customer's pages and the tokens

    def _show_form(self, status: int, asked: str, hint: str = "", hidden: str = "") -> Response:
        fields = f'{hidden}<input name="identifiant"><input name="motDePasse" type="password">'
        buttons = "".join(f'<button name="choix" value="{word}">{word}</button>' for word in ("accepter", "refuser"))
        content = f'<p>{hint}</p><p>{asked}</p><form method="post">{fields}{buttons}</form>'
        return show(status, "Banque Garonne", content)

    def _signed_in(self, request: Request) -> Customer | None:
        given = request.field("identifiant"), request.field("motDePasse")
        return next((one for one in self._customers if (one.login, one.password) == given), None)

    def _ask_access(self, request: Request) -> Response:
        client, back = request.query.get("client_id", ""), request.query.get("redirect_uri", "")
        if client not in CLIENTS or not back.startswith(CLIENTS[client][1]):
            return show(400, "Banque Garonne", "<p>Cette application nous est inconnue.</p>")
        asked = {"client": client, "back": back, "state": request.query.get("state", "")}
        wanted = request.query.get("response_type"), request.query.get("scope")
        if wanted != ("code", "aisp"):
            word = "unsupported_response_type" if wanted[0] != "code" else "invalid_scope"
            return self._send_back(back, {"error": word, "state": asked["state"]})
        ticket = self._word(24)
        self._asked[ticket] = asked
        return self._show_access(200, ticket)

    def _show_access(self, status: int, ticket: str, hint: str = "") -> Response:
        question = f"Autoriser {self._asked[ticket]['client']} à consulter vos comptes ?"
        return self._show_form(status, question, hint, f'<input type="hidden" name="demande" value="{ticket}">')

    def _decide_access(self, request: Request) -> Response:
        ticket = request.field("demande")
        if ticket not in self._asked:
            return show(410, "Banque Garonne", "<p>Cette demande n'est plus valable.</p>")
        if not (customer := self._signed_in(request)):
            return self._show_access(401, ticket, "Identifiant ou mot de passe incorrect.")
        if (choice := request.field("choix")) not in ("accepter", "refuser"):
            return self._show_access(400, ticket, "Merci de choisir.")
        asked = self._asked.pop(ticket)
        if choice == "refuser":
            return self._send_back(asked["back"], {"error": "access_denied", "state": asked["state"]})
        code = self._word(20)
        ends = self.clock.now + timedelta(minutes=5)
        self._codes[code] = Access(asked["client"], customer), asked["back"], ends
        return self._send_back(asked["back"], {"code": code, "state": asked["state"]})

    def _send_back(self, address: str, query: Mapping[str, str]) -> Response:
        return Response(302, "", {"Location": f"{address}?{urlencode(query)}"})

    def _give_token(self, request: Request) -> Response:
        client, secret = request.field("client_id"), request.field("client_secret")
        scheme, _, words = request.headers.get("authorization", "").partition(" ")
        if scheme == "Basic":
            try:
                client, _, secret = base64.b64decode(words).decode().partition(":")
            except ValueError:
                client = ""
        if client not in CLIENTS or CLIENTS[client][0] != secret:
            return respond(401, {"error": "invalid_client"})
        grant = request.field("grant_type")
        access: Access | None = None
        if grant == "client_credentials":
            if request.field("scope") != "pisp":
                return respond(400, {"error": "invalid_scope"})
            access = Access(client)
        elif grant == "authorization_code":
            nothing = Access(""), "", self.clock.now
            found, back, ends = self._codes.pop(request.field("code"), nothing)
            if ends > self.clock.now and back == request.field("redirect_uri"):
                access = found
        elif grant == "refresh_token":
            access = self._refresh.pop(request.field("refresh_token"), None)
        else:
            return respond(400, {"error": "unsupported_grant_type"})
        if not access or access.client != client:
            return respond(400, {"error": "invalid_grant"})
        token, seconds = self._word(40), 3600 if access.customer else 1800
        self._tokens[token] = access, self.clock.now + timedelta(seconds=seconds)
        document = {"access_token": token, "token_type": "Bearer", "expires_in": seconds, "scope": access.scope}
        if access.customer:
            document["refresh_token"] = self._word(40)
            self._refresh[str(document["refresh_token"])] = access
        return respond(200, document, {"Cache-Control": "no-store"})

    # Accounts

    def _enter_with(self, request: Request, scope: str) -> Access:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        access, ends = self._tokens.get(token, (Access(""), self.clock.now))
        if scheme != "Bearer" or ends <= self.clock.now:
            raise Fault(401, "Jeton absent, inconnu ou expiré")
        if access.scope != scope:
            raise Fault(403, f"Jeton de portée {scope} attendu")
        for name in ("X-Request-ID", "Signature"):
            if not request.headers.get(name.lower()):
                raise Fault(400, f"En-tête {name} absent")
        return access

    def _customer(self, request: Request) -> tuple[Access, Customer]:
        access = self._enter_with(request, "aisp")
        assert access.customer
        return access, access.customer

    def _count(self, request: Request, access: Access) -> None:
        if request.headers.get("psu-ip-address"):
            return
        since = self.clock.now - timedelta(days=1)
        access.reads = [read for read in access.reads if read > since]
        if len(access.reads) >= QUOTA:
            raise Fault(429, f"Quota de {QUOTA} lectures par jour en l'absence du client atteint")
        access.reads.append(self.clock.now)

    def _document(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "Corps JSON illisible") from None

    def _names(self, access: Access, kind: str, account: Account) -> bool:
        named = access.consent[kind] if access.consent else []
        return any(one["iban"] == account.iban for one in named)

    def _list_accounts(self, request: Request) -> Response:
        access, customer = self._customer(request)
        self._count(request, access)
        rows = []
        for account in customer.accounts:
            if access.consent and not self._names(access, "accounts", account):
                continue
            row: dict[str, Any] = {
                "resourceId": account.id,
                "bicFi": "GARNFR2T",
                "accountId": {"iban": account.iban},
                "name": account.name,
                "usage": "PRIV",
                "cashAccountType": account.kind,
                "currency": "EUR",
                "psuStatus": "Account Holder",
            }
            kinds = [kind for kind in ("balances", "transactions") if self._names(access, kind, account)]
            if kinds:
                row["_links"] = {kind: {"href": f"{ROOT}/accounts/{account.id}/{kind}"} for kind in kinds}
            rows.append(row)
        links = {"self": {"href": f"{ROOT}/accounts"}}
        if access.consent and access.consent["psuIdentity"]:
            links["endUserIdentity"] = {"href": f"{ROOT}/end-user-identity"}
        return self._hal({"accounts": rows}, links)

    def _hal(self, document: Mapping[str, Any], links: Mapping[str, Any], status: int = 200) -> Response:
        return respond(status, {**document, "_links": links}, media="application/hal+json")

    def _consent(self, request: Request) -> Response:
        access, customer = self._customer(request)
        document = self._document(request)
        own = {account.iban for account in customer.accounts}
        for kind in KINDS:
            named = document.get(kind)
            if not isinstance(named, list):
                raise Fault(400, f"{kind} : liste d'IBAN attendue")
            for place, one in enumerate(named):
                if dig(one, "iban") not in own:
                    raise Fault(400, f"{kind}.{place}.iban : compte inconnu")
        if not isinstance(document.get("psuIdentity"), bool):
            raise Fault(400, "psuIdentity : booléen attendu")
        access.consent = document
        return Response(204)

    def _find(self, request: Request, id: str, kind: str) -> Account:
        access, customer = self._customer(request)
        account = next((one for one in customer.accounts if one.id == id), None)
        if not account or not self._names(access, kind, account):
            raise Fault(404, "Compte inconnu ou hors du consentement")
        self._count(request, access)
        return account

    def _balances(self, request: Request, id: str) -> Response:
        account = self._find(request, id, "balances")
        shown = ("Solde comptable", "CLBD", account.balance), ("Solde prévisionnel", "XPCD", self._expected(account))
        rows = [
            {
                "name": name,
                "balanceType": kind,
                "balanceAmount": {"currency": "EUR", "amount": f"{amount:.2f}"},
                "referenceDate": self.clock.today.isoformat(),
            }
            for name, kind, amount in shown
        ]
        links = {"self": {"href": request.path}, "parent-list": {"href": f"{ROOT}/accounts"}}
        return self._hal({"balances": rows}, links)

    def _list_entries(self, request: Request, id: str) -> Response:
        account, today = self._find(request, id, "transactions"), self.clock.today
        query = dict(request.query)
        period = {"dateFrom": (today - timedelta(days=90)).isoformat(), "dateTo": today.isoformat()}
        for name in period:
            try:
                period[name] = date.fromisoformat(query.get(name, period[name])).isoformat()
            except ValueError:
                raise Fault(400, f"{name} : date AAAA-MM-JJ attendue") from None
        page = query.pop("page", "1")
        if not page.isdecimal() or not 1 <= int(page) <= 1000:
            raise Fault(400, "page : nombre à partir de 1 attendu")
        rows = account.entries
        if after := query.get("afterEntryReference"):
            references = [one["entryReference"] for one in rows]
            if after not in references:
                raise Fault(400, "afterEntryReference : écriture inconnue")
            rows = rows[: references.index(after)]
        rows = [one for one in rows if period["dateFrom"] <= one["bookingDate"] <= period["dateTo"]]
        end = int(page) * PAGE_SIZE
        links = {
            "self": {"href": self._link(request.path, query, int(page))},
            "balances": {"href": f"{ROOT}/accounts/{id}/balances"},
        }
        if end < len(rows):
            links["next"] = {"href": self._link(request.path, query, int(page) + 1)}
        return self._hal({"transactions": rows[end - PAGE_SIZE : end]}, links)

    def _link(self, path: str, query: Mapping[str, str], page: int) -> str:
        told = urlencode({**query, "page": str(page)} if page > 1 else query)
        return f"{path}?{told}" if told else path

    def _identity(self, request: Request) -> Response:
        access, customer = self._customer(request)
        if not access.consent or not access.consent["psuIdentity"]:
            raise Fault(403, "Identité hors du consentement")
        return self._hal({"connectedPsu": customer.name}, {"self": {"href": request.path}})

    # Payments

    def _pay(self, request: Request) -> Response:
        access, document = self._enter_with(request, "pisp"), self._document(request)
        own = [account for customer in self._customers for account in customer.accounts]
        payer = next((one for one in own if one.iban == dig(document, "debtorAccount.iban")), None)
        if not payer:
            raise Fault(400, "debtorAccount.iban : compte inconnu")
        for place, (is_right, hint) in CHECKS.items():
            if not is_right(dig(document, place)):
                raise Fault(400, f"{place} : {hint}")
        if (day := document.get("requestedExecutionDate")) is not None:
            self._check_day(day)
        payment = Payment(access.client, f"VIR-{self._random.randrange(10**10):010}", self._word(22), document, payer)
        if payment.amount > MOST:
            place = "creditTransferTransaction.0.instructedAmount.amount"
            raise Fault(400, f"{place} : plafond de {MOST:.2f} EUR dépassé")
        document["creationDateTime"] = self.clock.now.isoformat()
        self._payments[payment.id] = payment
        links = {"consentApproval": {"href": f"/connect/paiement/{payment.code}"}}
        response = self._hal({"appliedAuthenticationApproach": "REDIRECT"}, links, 201)
        return Response(201, response.content, {**response.headers, "Location": payment.path})

    def _check_day(self, day: Any) -> None:
        today = self.clock.today
        try:
            days = (date.fromisoformat(day) - today).days
        except (TypeError, ValueError):
            raise Fault(400, "requestedExecutionDate : date AAAA-MM-JJ attendue") from None
        if not 0 <= days <= 60:
            raise Fault(400, "requestedExecutionDate : 60 jours au plus")

    def _payment(self, request: Request, id: str) -> Payment:
        access, payment = self._enter_with(request, "pisp"), self._payments.get(id)
        if not payment or payment.client != access.client:
            raise Fault(404, "Demande de paiement inconnue")
        return payment

    def _tell(self, payment: Payment) -> Response:
        shown = {"resourceId": payment.id, **payment.document, "paymentInformationStatus": payment.status}
        if payment.reason:
            shown["statusReasonInformation"] = payment.reason
        links = {"self": {"href": payment.path}}
        if payment.status == "PDNG":
            links["confirmation"] = {"href": f"{payment.path}/confirmation"}
        return self._hal({"paymentRequest": shown}, links)

    def _cancel(self, request: Request, id: str) -> Response:
        payment, document = self._payment(request, id), self._document(request)
        if document.get("paymentInformationStatus") != "CANC":
            raise Fault(400, "paymentInformationStatus : CANC attendu")
        if document.get("statusReasonInformation") not in REASONS:
            raise Fault(400, f"statusReasonInformation : {', '.join(REASONS)} attendu")
        if payment.status not in ("ACTC", "PDNG", "ACCP"):
            raise Fault(409, f"Annulation impossible au statut {payment.status}")
        payment.status, payment.reason = "CANC", document["statusReasonInformation"]
        return self._tell(payment)

    def _confirm(self, request: Request, id: str) -> Response:
        payment, document = self._payment(request, id), self._document(request)
        if payment.status != "PDNG":
            raise Fault(409, f"Confirmation impossible au statut {payment.status}")
        if document.get("psuAuthenticationFactor") != payment.factor:
            raise Fault(400, "psuAuthenticationFactor : valeur incorrecte")
        if payment.day > self.clock.today.isoformat():
            payment.status = "ACCP"
        elif payment.amount > self._expected(payment.payer):
            payment.status, payment.reason = "RJCT", "AM04"
        else:
            payment.status, payment.confirmed = "ACSP", self.clock.now
        return self._tell(payment)

    def _ask_payment(self, code: str, hint: str = "", status: int = 200) -> Response:
        payment = next((one for one in self._payments.values() if one.code == code), None)
        if not payment:
            return show(404, "Banque Garonne", "<p>Ce lien nous est inconnu.</p>")
        if payment.status != "ACTC":
            return show(410, "Banque Garonne", "<p>Ce lien n'est plus valable.</p>")
        name = dig(payment.document, "beneficiary.creditor.name")
        return self._show_form(status, f"Payer {payment.amount:.2f} EUR à {name} ?", hint)

    def _decide_payment(self, request: Request, code: str) -> Response:
        page = self._ask_payment(code)
        if page.status != 200:
            return page
        payment = next(one for one in self._payments.values() if one.code == code)
        if not (customer := self._signed_in(request)):
            return self._ask_payment(code, "Identifiant ou mot de passe incorrect.", 401)
        if payment.payer not in customer.accounts:
            return self._ask_payment(code, "Ce compte n'est pas le vôtre.", 403)
        if (choice := request.field("choix")) not in ("accepter", "refuser"):
            return self._ask_payment(code, "Merci de choisir.", 400)
        report, query = payment.document["supplementaryData"], {"paymentRequestResourceId": payment.id}
        if choice == "refuser":
            payment.status, payment.reason = "RJCT", "DS02"
            return self._send_back(report["unsuccessfulReportUrl"], query)
        payment.status, payment.factor = "PDNG", self._word(16)
        return self._send_back(report["successfulReportUrl"], query | {"psuAuthenticationFactor": payment.factor})
