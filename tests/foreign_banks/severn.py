"""Severn, a British bank in the manner of UK Open Banking, with habits of its own.

- POST `/auth/oauth2/token`, a form with the app's credentials as HTTP Basic. `client_credentials` gives the app's token
  for half an hour, `authorization_code` a customer's token for an hour, which belongs to one consent (`consent_id`).
- All else is below `/open-banking/v4.0`: `{"Data", "Risk"?, "Links", "Meta"}`. Links are absolute. The header
  x-fapi-interaction-id is repeated, or new. Without a valid token the gateway answers 401 in words of its own
  (`httpCode`, `httpMessage`, `moreInformation`); the same for addresses that there are not.
- Errors are `{"Code", "Id", "Message", "Errors": [{"ErrorCode", "Message", "Path"?}]}`. What is unknown gives 400, too.
- POST `/aisp/account-access-consents` with Permissions and perhaps an ExpirationDateTime. A consent is AWAU, then AUTH,
  RJCT, CANC (by DELETE, 204) or EXPD. Accounts are read with the customer's token: 403 if the consent is not AUTH any
  more or lacks the permission.
- `/auth/oauth2/authorize` with `consent_id` is the customer's page for every consent; its form goes to that address:
  `customerRef`, `memorableWord` and `choice`. Wrong words give 401 and the form again, a choice 302 to `redirect_uri`
  with `code` and `state`, or with `error=access_denied`. A code works once, for two minutes.
- Transactions are newest first, between `fromBookingDateTime` and `toBookingDateTime`, in pages of `pageSize` (20).
- POST `/pisp/domestic-payment-consents` and `/pisp/domestic-payments` need an x-idempotency-key: a repeated request
  gets the same answer, another one 400. A payment consent names the DebtorAccount; it is COND once it has been used.
- A payment repeats the consent's Initiation. It is RJCT at once if it is above the available balance. Others are PDNG,
  ACSP after two minutes and ACSC after ten: until then they lower the available balance, after that the booked one.
"""

import base64
import binascii
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond, show

BASE = "/open-banking/v4.0"
AUTHORISE = "/auth/oauth2/authorize"
SCHEME = "UK.OBIE.SortCodeAccountNumber"
PERMISSIONS = (
    "ReadAccountsBasic",
    "ReadAccountsDetail",
    "ReadBalances",
    "ReadTransactionsBasic",
    "ReadTransactionsDetail",
)
CLIENTS = {
    "pennywise-app": ("tern-kittiwake-04", "https://pennywise.example/callback"),
    "ledgerly": ("avocet-dunlin-77", "https://ledgerly.example/return"),
}
SHOPS = [
    "Bewdley Bakery",
    "Shrewsbury Hardware",
    "Ironbridge Rail",
    "Worcester Water",
    "Tewkesbury Books",
    "Malvern Mobile",
]
MESSAGES = {
    "UK.OBIE.Field.Invalid": "The field has a value that we do not take",
    "UK.OBIE.Field.InvalidDate": "The date is not one, or is in the wrong order",
    "UK.OBIE.Field.Missing": "The field is missing",
    "UK.OBIE.Header.Invalid": "The header belongs to another request",
    "UK.OBIE.Header.Missing": "The header is missing",
    "UK.OBIE.Reauthenticate": "The customer has to agree again",
    "UK.OBIE.Resource.ConsentMismatch": "The request differs from the consent",
    "UK.OBIE.Resource.Forbidden": "The token or its consent does not allow this",
    "UK.OBIE.Resource.InvalidConsentStatus": "The consent is in the wrong state for this",
    "UK.OBIE.Resource.InvalidFormat": "The body is not a JSON object",
    "UK.OBIE.Resource.NotFound": "There is no such resource",
    "UK.OBIE.Unsupported.AccountIdentifier": "The account is not with us",
    "UK.OBIE.Unsupported.Currency": "We pay in GBP only",
}


@dataclass
class Account:
    id: str
    number: str
    holder: str
    nickname: str
    kind: str
    pence: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    reference: str
    word: str
    accounts: Sequence[Account]


@dataclass
class Consent:
    id: str
    client: str
    path: str
    created: datetime
    changed: datetime
    data: dict[str, Any]
    risk: dict[str, Any]
    payer: Account | None = None
    customer: Customer | None = None
    status: str = "AWAU"

    def turn(self, status: str, now: datetime) -> None:
        self.status, self.changed = status, now

    @property
    def pence(self) -> int:
        return read_money(self.data["Initiation"]["InstructedAmount"]["Amount"])


@dataclass
class Payment:
    id: str
    consent: Consent
    created: datetime
    changed: datetime
    status: str


@dataclass(frozen=True)
class Token:
    client: str
    ends: datetime
    consent: Consent | None = None


class Unauthorised(Exception):
    """What the gateway stops."""


class Refusal(Exception):
    def __init__(self, status: int, *errors: tuple[str, str]) -> None:
        super().__init__(*errors)
        self.status, self.errors = status, errors


def read_money(text: str) -> int:
    return int(text.replace(".", ""))


def write_money(pence: int) -> dict[str, str]:
    return {"Amount": f"{abs(pence) // 100}.{abs(pence) % 100:02}", "Currency": "GBP"}


def side(pence: int) -> str:
    return "Debit" if pence < 0 else "Credit"


def read_time(text: Any) -> datetime | None:
    try:
        time = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


class Severn:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"severn {seed}")
        self._tokens: dict[str, Token] = {}
        self._codes: dict[str, tuple[Consent, datetime]] = {}
        self._consents: dict[str, Consent] = {}
        self._payments: dict[str, Payment] = {}
        self._keys: dict[tuple[str, str, str], tuple[dict[str, Any], Consent | Payment]] = {}
        self._customers = [
            Customer(
                "SV402917",
                "bluebell",
                [
                    self._open("Ms H Pargeter", "Day to day", "CurrentAccount", "20417731882054", 214_386),
                    self._open("Ms H Pargeter", "Rainy day", "Savings", "20417731882062", 870_015),
                ],
            ),
            Customer(
                "SV775038",
                "harvestmoon",
                [
                    self._open("Mr T Oakley", "Salary", "CurrentAccount", "20417744093317", 161_240),
                    self._open("Mr T Oakley & Mrs J Oakley", "Household", "CurrentAccount", "20417744093325", 398_771),
                    self._open("Mr T Oakley", "Boat fund", "Savings", "20417744093333", 1_250_000),
                ],
            ),
        ]
        access, paying = f"{BASE}/aisp/account-access-consents", f"{BASE}/pisp/domestic-payment-consents"
        accounts, payments = f"{BASE}/aisp/accounts", f"{BASE}/pisp/domestic-payments"
        self._routes = Routes(
            ("POST", "/auth/oauth2/token", self._give_token),
            ("GET", AUTHORISE, self._page),
            ("POST", AUTHORISE, self._decide),
            ("POST", access, self._ask_access),
            ("GET", access + "/{id}", self._read_consent),
            ("DELETE", access + "/{id}", self._cancel),
            ("GET", accounts, self._list_accounts),
            ("GET", accounts + "/{id}", self._account),
            ("GET", accounts + "/{id}/balances", self._balances),
            ("GET", accounts + "/{id}/transactions", self._transactions),
            ("POST", paying, self._ask_payment),
            ("GET", paying + "/{id}", self._read_consent),
            ("GET", paying + "/{id}/funds-confirmation", self._confirm_funds),
            ("POST", payments, self._pay),
            ("GET", payments + "/{id}", self._read_payment),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        headers = {"x-fapi-interaction-id": self._uuid(), **request.headers}
        request = Request(request.method, request.path, request.query, headers, request.body, request.origin)
        told = {"x-fapi-interaction-id": headers["x-fapi-interaction-id"]}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            return handler(request, **parameters)
        except NoRoute as wrong:
            if wrong.allowed:
                return self._stop(405, "Use another method.", told | {"Allow": ", ".join(wrong.allowed)})
            return self._stop(404, "No API has this address.", told)
        except Unauthorised:
            told["WWW-Authenticate"] = "Bearer"
            return self._stop(401, "Send an access token that is valid.", told)
        except Refusal as refusal:
            errors = []
            for code, path in refusal.errors:
                error = {"ErrorCode": code, "Message": MESSAGES[code]}
                errors.append(error | {"Path": path} if path else error)
            document = {
                "Code": f"{refusal.status} {HTTPStatus(refusal.status).phrase}",
                "Id": self._uuid(),
                "Message": "We could not do what you asked for",
                "Errors": errors,
            }
            return respond(refusal.status, document, told)

    def _stop(self, status: int, more: str, headers: dict[str, str]) -> Response:
        document = {"httpCode": str(status), "httpMessage": HTTPStatus(status).phrase, "moreInformation": more}
        return respond(status, document, headers)

    def _uuid(self) -> str:
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def _word(self, length: int, signs: str = "0123456789abcdef") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _open(self, holder: str, nickname: str, kind: str, number: str, pence: int) -> Account:
        account = Account(self._word(11, "123456789"), number, holder, nickname, kind, pence)
        midnight = self.clock.now.replace(hour=0, minute=0, second=0)
        for days in sorted(self._random.sample(range(1, 88), 44), reverse=True):
            change = self._random.choice((-1, -1, -1, 1)) * self._random.randrange(120, 9_500)
            when = midnight - timedelta(days=days) + timedelta(minutes=self._random.randrange(480, 1200))
            self._enter(account, when, change, self._random.choice(SHOPS), "CARD", None)
        return account

    def _enter(self, account: Account, when: datetime, pence: int, what: str, code: str, reference: str | None) -> None:
        entry: dict[str, Any] = {"AccountId": account.id, "TransactionId": f"tx{self._word(14, '0123456789')}"}
        if reference:
            entry["TransactionReference"] = reference
        entry |= {
            "CreditDebitIndicator": side(pence),
            "Status": "BOOK",
            "BookingDateTime": when.isoformat(),
            "Amount": write_money(pence),
            "TransactionInformation": what,
            "ProprietaryBankTransactionCode": {"Code": code, "Issuer": "Severn"},
        }
        account.entries.insert(0, entry)

    def _advance(self) -> None:
        now = self.clock.now
        for consent in self._consents.values():
            ends = read_time(consent.data.get("ExpirationDateTime"))
            if ends and ends <= now and consent.status in ("AWAU", "AUTH"):
                consent.turn("EXPD", ends)
        for payment in self._payments.values():
            if payment.status == "PDNG" and now >= payment.created + timedelta(minutes=2):
                payment.status, payment.changed = "ACSP", payment.created + timedelta(minutes=2)
            payer = payment.consent.payer
            if payment.status == "ACSP" and now >= payment.created + timedelta(minutes=10) and payer:
                payment.status, payment.changed = "ACSC", payment.created + timedelta(minutes=10)
                payer.pence -= payment.consent.pence
                initiation = payment.consent.data["Initiation"]
                name, reference = (
                    initiation["CreditorAccount"]["Name"],
                    initiation["RemittanceInformation"]["Reference"],
                )
                self._enter(payer, payment.changed, -payment.consent.pence, name, "FPO", reference)

    def _available(self, account: Account) -> int:
        pending = [one for one in self._payments.values() if one.status in ("PDNG", "ACSP")]
        return account.pence - sum(one.consent.pence for one in pending if one.consent.payer is account)

    def _give_token(self, request: Request) -> Response:
        scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
        try:
            client, _, secret = base64.b64decode(credentials).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            client = secret = ""
        if scheme != "Basic" or client not in CLIENTS or CLIENTS[client][0] != secret:
            return respond(401, {"error": "invalid_client"}, {"WWW-Authenticate": "Basic"})
        grant, now = request.field("grant_type"), self.clock.now
        document: dict[str, Any] = {"access_token": self._word(40), "token_type": "Bearer"}
        if grant == "client_credentials":
            scopes = request.field("scope").split()
            if not scopes or not {"accounts", "payments"}.issuperset(scopes):
                return respond(400, {"error": "invalid_scope"})
            token = Token(client, now + timedelta(minutes=30))
            document |= {"expires_in": 1800, "scope": " ".join(scopes)}
        elif grant == "authorization_code":
            consent, ends = self._codes.pop(request.field("code"), (None, now))
            is_right = request.field("redirect_uri") == CLIENTS[client][1]
            if not consent or consent.client != client or ends <= now or not is_right:
                return respond(400, {"error": "invalid_grant"})
            token = Token(client, now + timedelta(hours=1), consent)
            scope = "payments" if consent.payer else "accounts"
            document |= {"expires_in": 3600, "scope": scope, "consent_id": consent.id}
        else:
            return respond(400, {"error": "unsupported_grant_type"})
        self._tokens[document["access_token"]] = token
        return respond(200, document, {"Cache-Control": "no-store"})

    def _token(self, request: Request) -> Token:
        scheme, _, word = request.headers.get("authorization", "").partition(" ")
        token = self._tokens.get(word)
        if scheme != "Bearer" or not token or token.ends <= self.clock.now:
            raise Unauthorised
        return token

    def _app(self, request: Request) -> str:
        """The app, if it has sent its own token."""
        token = self._token(request)
        if token.consent:
            raise Refusal(403, ("UK.OBIE.Resource.Forbidden", ""))
        return token.client

    def _body(self, request: Request) -> tuple[dict[str, Any], dict[str, Any]]:
        """Data and Risk."""
        try:
            document = request.document
        except ValueError:
            raise Refusal(400, ("UK.OBIE.Resource.InvalidFormat", "")) from None
        missing = [name for name in ("Data", "Risk") if not isinstance(document.get(name), dict)]
        if missing:
            raise Refusal(400, *(("UK.OBIE.Field.Missing", name) for name in missing))
        return document["Data"], document["Risk"]

    def _wrap(
        self,
        request: Request,
        status: int,
        data: Any,
        path: str,
        *,
        risk: Any = None,
        links: Any = None,
        meta: Any = None,
    ) -> Response:
        document = {"Data": data} | ({} if risk is None else {"Risk": risk})
        document |= {"Links": links or {"Self": request.origin + path}, "Meta": meta or {}}
        return respond(status, document, {"x-fapi-interaction-id": request.headers["x-fapi-interaction-id"]})

    def _tell(self, request: Request, status: int, thing: Consent | Payment) -> Response:
        if isinstance(thing, Consent):
            times = {"CreationDateTime": thing.created.isoformat(), "StatusUpdateDateTime": thing.changed.isoformat()}
            data = {"ConsentId": thing.id, "Status": thing.status, **times, **thing.data}
            return self._wrap(request, status, data, f"{thing.path}/{thing.id}", risk=thing.risk)
        data = {"DomesticPaymentId": thing.id, "ConsentId": thing.consent.id, "Status": thing.status}
        if thing.status == "RJCT":
            description = "There is not enough money in the account"
            data["StatusReason"] = [{"StatusReasonCode": "AM04", "StatusReasonDescription": description}]
        data |= {"CreationDateTime": thing.created.isoformat(), "StatusUpdateDateTime": thing.changed.isoformat()}
        data["Initiation"] = thing.consent.data["Initiation"]
        return self._wrap(request, status, data, f"{BASE}/pisp/domestic-payments/{thing.id}")

    def _ask(self, request: Request, client: str, kind: str, data: Any, risk: Any, payer: Account | None) -> Consent:
        now = self.clock.now
        consent = Consent(f"{kind}-{self._word(16)}", client, request.path, now, now, data, risk, payer)
        self._consents[consent.id] = consent
        return consent

    def _ask_access(self, request: Request) -> Response:
        client = self._app(request)
        data, risk = self._body(request)
        wrong, wanted, ends = [], data.get("Permissions"), data.get("ExpirationDateTime")
        if wanted is None:
            wrong.append(("UK.OBIE.Field.Missing", "Data.Permissions"))
        elif not isinstance(wanted, list) or not wanted or not all(one in PERMISSIONS for one in wanted):
            wrong.append(("UK.OBIE.Field.Invalid", "Data.Permissions"))
        until = read_time(ends)
        if ends is not None and (not until or until <= self.clock.now):
            wrong.append(("UK.OBIE.Field.InvalidDate", "Data.ExpirationDateTime"))
        if wrong:
            raise Refusal(400, *wrong)
        kept = {"Permissions": wanted} | ({"ExpirationDateTime": until.isoformat()} if until else {})
        return self._tell(request, 201, self._ask(request, client, "aac", kept, risk, None))

    def _consent(self, request: Request, client: str, id: str) -> Consent:
        consent = self._consents.get(id)
        if not consent or consent.client != client or not request.path.startswith(consent.path):
            raise Refusal(400, ("UK.OBIE.Resource.NotFound", ""))
        return consent

    def _read_consent(self, request: Request, id: str) -> Response:
        return self._tell(request, 200, self._consent(request, self._app(request), id))

    def _cancel(self, request: Request, id: str) -> Response:
        consent = self._consent(request, self._app(request), id)
        if consent.status not in ("AWAU", "AUTH"):
            raise Refusal(400, ("UK.OBIE.Resource.InvalidConsentStatus", ""))
        consent.turn("CANC", self.clock.now)
        return Response(204, "", {"x-fapi-interaction-id": request.headers["x-fapi-interaction-id"]})

    def _permitted(self, request: Request, *permissions: str) -> tuple[Customer, list[str]]:
        """The customer who permits one of these, and all permissions."""
        consent = self._token(request).consent
        if not consent or consent.payer:
            raise Refusal(403, ("UK.OBIE.Resource.Forbidden", ""))
        if consent.status != "AUTH" or not consent.customer:
            raise Refusal(403, ("UK.OBIE.Reauthenticate", ""))
        permitted: list[str] = consent.data["Permissions"]
        if not any(one in permitted for one in permissions):
            raise Refusal(403, ("UK.OBIE.Resource.Forbidden", ""))
        return consent.customer, permitted

    def _find(self, customer: Customer, id: str) -> Account:
        for account in customer.accounts:
            if account.id == id:
                return account
        raise Refusal(400, ("UK.OBIE.Resource.NotFound", "AccountId"))

    def _show(self, account: Account, permitted: list[str]) -> dict[str, Any]:
        shown: dict[str, Any] = {"AccountId": account.id, "Status": "Enabled", "Currency": "GBP"}
        shown |= {"AccountCategory": "Personal", "AccountSubType": account.kind, "Nickname": account.nickname}
        if "ReadAccountsDetail" in permitted:
            number = {"SchemeName": SCHEME, "Identification": account.number, "Name": account.holder}
            shown["Account"] = [number]
        return shown

    def _list_accounts(self, request: Request) -> Response:
        customer, permitted = self._permitted(request, "ReadAccountsBasic", "ReadAccountsDetail")
        shown = [self._show(one, permitted) for one in customer.accounts]
        return self._wrap(request, 200, {"Account": shown}, request.path, meta={"TotalPages": 1})

    def _account(self, request: Request, id: str) -> Response:
        customer, permitted = self._permitted(request, "ReadAccountsBasic", "ReadAccountsDetail")
        shown = [self._show(self._find(customer, id), permitted)]
        return self._wrap(request, 200, {"Account": shown}, request.path, meta={"TotalPages": 1})

    def _balances(self, request: Request, id: str) -> Response:
        customer, _ = self._permitted(request, "ReadBalances")
        account = self._find(customer, id)
        balances = [
            {
                "AccountId": id,
                "CreditDebitIndicator": side(pence),
                "Type": kind,
                "DateTime": self.clock.now.isoformat(),
                "Amount": write_money(pence),
            }
            for kind, pence in (("InterimBooked", account.pence), ("InterimAvailable", self._available(account)))
        ]
        return self._wrap(request, 200, {"Balance": balances}, request.path, meta={"TotalPages": 1})

    def _transactions(self, request: Request, id: str) -> Response:
        customer, permitted = self._permitted(request, "ReadTransactionsBasic", "ReadTransactionsDetail")
        account, query, now = self._find(customer, id), request.query, self.clock.now
        since = read_time(query.get("fromBookingDateTime", (now - timedelta(days=90)).isoformat()))
        until = read_time(query.get("toBookingDateTime", now.isoformat()))
        wrong = []
        if not since:
            wrong.append(("UK.OBIE.Field.InvalidDate", "fromBookingDateTime"))
        if not until or (since and until < since):
            wrong.append(("UK.OBIE.Field.InvalidDate", "toBookingDateTime"))
        size, page = query.get("pageSize", "20"), query.get("page", "1")
        for name, number in (("pageSize", size), ("page", page)):
            if not re.fullmatch(r"[1-9]\d?", number):
                wrong.append(("UK.OBIE.Field.Invalid", name))
        if wrong or not since or not until:
            raise Refusal(400, *wrong)
        rows = [one for one in account.entries if since <= datetime.fromisoformat(one["BookingDateTime"]) <= until]
        if "ReadTransactionsDetail" not in permitted:
            rows = [{name: row[name] for name in row if name != "TransactionInformation"} for row in rows]
        at, last = int(page), max(1, -(-len(rows) // int(size)))
        numbers = {"Self": at, "First": 1, "Last": last}
        numbers |= ({"Prev": at - 1} if at > 1 else {}) | ({"Next": at + 1} if at < last else {})
        asked = {name: value for name, value in query.items() if name != "page"}
        links = {
            name: f"{request.origin}{request.path}?{urlencode(asked | {'page': number})}"
            for name, number in numbers.items()
        }
        shown = rows[(at - 1) * int(size) : at * int(size)]
        return self._wrap(request, 200, {"Transaction": shown}, request.path, links=links, meta={"TotalPages": last})

    def _key(self, request: Request, client: str) -> tuple[str, str, str]:
        if not (key := request.headers.get("x-idempotency-key")):
            raise Refusal(400, ("UK.OBIE.Header.Missing", "x-idempotency-key"))
        return client, request.path, key

    def _repeated(self, key: tuple[str, str, str], data: dict[str, Any]) -> Consent | Payment | None:
        before, thing = self._keys.get(key, (data, None))
        if before != data:
            raise Refusal(400, ("UK.OBIE.Header.Invalid", "x-idempotency-key"))
        return thing

    def _ask_payment(self, request: Request) -> Response:
        client = self._app(request)
        key = self._key(request, client)
        data, risk = self._body(request)
        if before := self._repeated(key, data):
            return self._tell(request, 201, before)
        initiation = data.get("Initiation")
        if not isinstance(initiation, dict):
            raise Refusal(400, ("UK.OBIE.Field.Missing", "Data.Initiation"))
        forms = {
            "InstructionIdentification": r".{1,35}",
            "EndToEndIdentification": r".{1,35}",
            "InstructedAmount.Amount": r"(?!0+\.00)\d{1,9}\.\d{2}",
            "InstructedAmount.Currency": r"[A-Z]{3}",
            "DebtorAccount.SchemeName": re.escape(SCHEME),
            "DebtorAccount.Identification": r"\d{14}",
            "CreditorAccount.SchemeName": re.escape(SCHEME),
            "CreditorAccount.Identification": r"\d{14}",
            "CreditorAccount.Name": r".{1,70}",
            "RemittanceInformation.Reference": r".{1,18}",
        }
        wrong = []
        for place, form in forms.items():
            value: Any = initiation
            for name in place.split("."):
                value = value.get(name) if isinstance(value, dict) else None
            if value is None:
                wrong.append(("UK.OBIE.Field.Missing", f"Data.Initiation.{place}"))
            elif not isinstance(value, str) or not re.fullmatch(form, value):
                wrong.append(("UK.OBIE.Field.Invalid", f"Data.Initiation.{place}"))
        if wrong:
            raise Refusal(400, *wrong)
        if initiation["InstructedAmount"]["Currency"] != "GBP":
            place = "Data.Initiation.InstructedAmount.Currency"
            raise Refusal(400, ("UK.OBIE.Unsupported.Currency", place))
        number = initiation["DebtorAccount"]["Identification"]
        payer = next((one for who in self._customers for one in who.accounts if one.number == number), None)
        if not payer:
            place = "Data.Initiation.DebtorAccount.Identification"
            raise Refusal(400, ("UK.OBIE.Unsupported.AccountIdentifier", place))
        consent = self._ask(request, client, "dpc", {"Initiation": initiation}, risk, payer)
        self._keys[key] = data, consent
        return self._tell(request, 201, consent)

    def _confirm_funds(self, request: Request, id: str) -> Response:
        token = self._token(request)
        consent = self._consent(request, token.client, id)
        if token.consent is not consent or not consent.payer:
            raise Refusal(403, ("UK.OBIE.Resource.Forbidden", ""))
        if consent.status != "AUTH":
            raise Refusal(400, ("UK.OBIE.Resource.InvalidConsentStatus", ""))
        is_enough = consent.pence <= self._available(consent.payer)
        result = {"FundsAvailableDateTime": self.clock.now.isoformat(), "FundsAvailable": is_enough}
        return self._wrap(request, 200, {"FundsAvailableResult": result}, request.path)

    def _pay(self, request: Request) -> Response:
        token = self._token(request)
        consent = token.consent
        if not consent or not consent.payer:
            raise Refusal(403, ("UK.OBIE.Resource.Forbidden", ""))
        key = self._key(request, token.client)
        data, risk = self._body(request)
        if before := self._repeated(key, data):
            return self._tell(request, 201, before)
        if data.get("ConsentId") != consent.id:
            raise Refusal(400, ("UK.OBIE.Resource.ConsentMismatch", "Data.ConsentId"))
        if consent.status != "AUTH":
            raise Refusal(400, ("UK.OBIE.Resource.InvalidConsentStatus", "Data.ConsentId"))
        if data.get("Initiation") != consent.data["Initiation"]:
            raise Refusal(400, ("UK.OBIE.Resource.ConsentMismatch", "Data.Initiation"))
        if risk != consent.risk:
            raise Refusal(400, ("UK.OBIE.Resource.ConsentMismatch", "Risk"))
        now = self.clock.now
        status = "PDNG" if consent.pence <= self._available(consent.payer) else "RJCT"
        payment = Payment(f"dp-{self._word(16)}", consent, now, now, status)
        consent.turn("COND", now)
        self._payments[payment.id] = payment
        self._keys[key] = data, payment
        return self._tell(request, 201, payment)

    def _read_payment(self, request: Request, id: str) -> Response:
        client, payment = self._app(request), self._payments.get(id)
        if not payment or payment.consent.client != client:
            raise Refusal(400, ("UK.OBIE.Resource.NotFound", ""))
        return self._tell(request, 200, payment)

    def _page(self, request: Request, hint: str = "", status: int = 200) -> Response:
        query = request.query
        consent, client = self._consents.get(query.get("consent_id", "")), query.get("client_id", "")
        is_known = client in CLIENTS and query.get("redirect_uri") == CLIENTS[client][1]
        if not consent or not is_known or consent.client != client or query.get("response_type") != "code":
            return show(400, "Severn", "<p>This link is not right. Please go back to your app.</p>")
        if consent.status != "AWAU":
            return show(409, "Severn", "<p>There is nothing left to decide here.</p>")
        if consent.payer:
            payee = consent.data["Initiation"]["CreditorAccount"]["Name"]
            asked = f"Pay £{write_money(consent.pence)['Amount']} to {payee} from {consent.payer.nickname}?"
        else:
            asked = f"Share your accounts with {client}?"
        fields = '<input name="customerRef"><input name="memorableWord" type="password">'
        buttons = "".join(f'<button name="choice" value="{word}">{word}</button>' for word in ("confirm", "decline"))
        return show(status, "Severn", f'<p>{hint}</p><p>{asked}</p><form method="post">{fields}{buttons}</form>')

    def _decide(self, request: Request) -> Response:
        page, query = self._page(request), request.query
        if page.status != 200:
            return page
        consent = self._consents[query["consent_id"]]
        given = request.field("customerRef"), request.field("memorableWord")
        customer = next((one for one in self._customers if (one.reference, one.word) == given), None)
        if not customer:
            return self._page(request, "These details do not match our records.", 401)
        if consent.payer and consent.payer not in customer.accounts:
            return self._page(request, "This account belongs to somebody else.", 403)
        choice = request.field("choice")
        if choice not in ("confirm", "decline"):
            return self._page(request, "Please choose.", 400)
        if choice == "confirm":
            consent.customer = customer
            consent.turn("AUTH", self.clock.now)
            code = self._word(24, "ABCDEFGHJKLMNPQRSTUVWXYZ23456789")
            self._codes[code] = consent, self.clock.now + timedelta(minutes=2)
            result = {"code": code}
        else:
            consent.turn("RJCT", self.clock.now)
            result = {"error": "access_denied"}
        result |= {"state": query["state"]} if "state" in query else {}
        return Response(302, "", {"Location": f"{query['redirect_uri']}?{urlencode(result)}"})
