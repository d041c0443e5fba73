"""Nemunas, a Lithuanian bank with an interface of its own, whose customers approve in the bank's app on their phone.

- Every call has the app's key in X-Api-Key. Calls under `/v1` also bring X-Request-Id, which the answer repeats.
- Errors are application/problem+json with a `type` like `urn:nemunas:problem:wrong-pin`; `errors` names wrong members
  or query parameters. What another app made gives 404.
- POST `/v1/consents` with `scopes`, `valid_days` (1 to 180) and the customer's `personal_code` starts an approval. The
  answer has `approval` with its id, state and `control_code`, which the app shows to the customer.
- GET `/v1/approvals/{id}` is polled: waiting, approved, declined, or timed_out after three minutes. `subject` tells
  what it is for and that thing's state. The approval of a consent brings an `access_token` once it is approved.
- The sandbox plays the phone: POST `/sandbox/approvals/{id}` with `action` (approve or decline) and, to approve, the
  customer's `pin`; 204. A wrong PIN gives 403, and the third one declines. A closed approval gives 409.
- A consent is awaiting_approval, then active, declined, timed_out, revoked (by DELETE, 204) or expired. Its token is
  sent as a bearer and gives 403 when the consent is not active or lacks the scope.
- Amounts are decimal strings without a sign, with a `direction`. Transactions are newest first, between `date_from` and
  `date_to` (both inclusive, 60 days unless told), of one `direction` if asked. Lists have a `limit` (1 to 50); the
  header Link has the next page, with a cursor that remembers the filters.
- POST `/v1/payments` (`scheme` sepa or instant) and `/v1/batches` (sepa, 2 to 20 payments from one account) start an
  approval too. An approved SEPA payment is sent after two minutes and settled after ten; an instant one is settled when
  approved. Until it is sent it can be cancelled by DELETE, which answers with it. An account that is closed at the
  other bank makes it refused instead of settled. A batch has the state of its payments, or is partly_settled.
- Approved payments lower the available balance, settled ones the booked balance, and are transactions then. A payment
  above the available balance gives 422, an `end_to_end_id` that was used before 409.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond

SCOPES = ("accounts", "balances", "transactions")
KEYS = {"nk_live_9f27c1ab": "pinigine", "nk_live_40e8d35b": "taupyk"}
SHOPS = ["Maxima Žirmūnai", "Vaistinė Camelia", "Lietuvos geležinkeliai", "Kepyklėlė", "Ignitis", "Knygynas Vaga"]
NONE: Mapping[str, str] = MappingProxyType({})
CLOSED = "LT737300010000000003"


@dataclass
class Account:
    id: str
    iban: str
    holder: str
    product: str
    booked: Decimal
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    code: str
    pin: str
    accounts: Sequence[Account]


@dataclass
class Thing:
    """What the customer approves: a consent, a payment or a batch."""

    kind: str
    id: str
    app: str
    customer: Customer | None
    document: dict[str, Any]
    state: str = "awaiting_approval"
    token: str = ""
    payer: Account | None = None
    parts: list["Thing"] = field(default_factory=list)
    approved: datetime | None = None
    refusal: dict[str, str] | None = None

    @property
    def amount(self) -> Decimal:
        return Decimal(self.document["amount"])

    @property
    def payments(self) -> list["Thing"]:
        return self.parts or [self]

    @property
    def standing(self) -> str:
        states = {part.state for part in self.payments}
        return states.pop() if len(states) == 1 else "partly_settled"

    @property
    def path(self) -> str:
        return f"/v1/{'batche' if self.kind == 'batch' else self.kind}s/{self.id}"

    def become(self, state: str) -> None:
        for part in self.payments:
            part.state = state


@dataclass
class Approval:
    id: str
    thing: Thing
    control: str
    ends: datetime
    state: str = "waiting"
    mistakes: int = 0


class Problem(Exception):
    def __init__(self, status: int, kind: str, detail: str, errors: Mapping[str, str] = NONE, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail, self.more = status, kind, detail, more
        if errors:
            self.more["errors"] = [{"name": name, "reason": reason} for name, reason in errors.items()]


def iban(country: str, rest: str) -> str:
    digits = "".join(str(int(sign, 36)) for sign in rest + country + "00")
    return f"{country}{98 - int(digits) % 97:02}{rest}"


def is_iban(text: Any) -> bool:
    right = isinstance(text, str) and re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text)
    return bool(right) and iban(text[:2], text[4:]) == text


def is_personal_code(text: Any) -> bool:
    """Eleven digits, of which the last one checks the others."""
    if not isinstance(text, str) or not re.fullmatch(r"[3-6]\d{10}", text):
        return False
    for weights in ("1234567891", "3456789123"):
        check = sum(int(one) * int(weight) for one, weight in zip(text, weights, strict=False)) % 11
        if check < 10:
            return check == int(text[10])
    return text[10] == "0"


def is_amount(text: Any) -> bool:
    return isinstance(text, str) and bool(re.fullmatch(r"(0|[1-9]\d{0,8})\.\d\d", text)) and Decimal(text) > 0


def is_text(text: Any, most: int) -> bool:
    return isinstance(text, str) and 1 <= len(text) <= most


def write_time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00")


class Nemunas:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"nemunas {seed}")
        self._things: dict[str, Thing] = {}
        self._approvals: dict[str, Approval] = {}
        self._cursors: dict[str, tuple[str, Sequence[Any], int, int]] = {}
        self._used: set[tuple[str, str]] = set()
        jonas, rasa = "Jonas Petrauskas", "Rasa Kazlauskienė"
        his = [("current", "00000418027", "2874.35"), ("savings", "00000418035", "910.00")]
        hers = [("current", "00000977204", "4416.08"), ("current", "00000977212", "1530.60")]
        hers.append(("savings", "00000977220", "12040.00"))
        self._customers = [
            Customer("38903140018", "4071", [self._open(jonas, *one) for one in his]),
            Customer("49207220045", "9283", [self._open(rasa, *one) for one in hers]),
            Customer("36611050022", "", []),
        ]
        account, approval = "/v1/accounts/{id}", "/v1/approvals/{id}"
        self._routes = Routes(
            ("POST", "/v1/consents", self._ask_consent),
            ("GET", "/v1/consents/{id}", lambda request, id: self._read(request, "consent", id)),
            ("DELETE", "/v1/consents/{id}", self._revoke),
            ("GET", approval, self._poll),
            ("POST", "/sandbox/approvals/{id}", self._play),
            ("GET", "/v1/accounts", self._list_accounts),
            ("GET", account, lambda request, id: respond(200, self._show(self._account(request, id, "accounts")))),
            ("GET", account + "/balances", self._balances),
            ("GET", account + "/transactions", self._list_entries),
            ("POST", "/v1/payments", self._pay),
            ("GET", "/v1/payments/{id}", lambda request, id: self._read(request, "payment", id)),
            ("DELETE", "/v1/payments/{id}", lambda request, id: self._cancel(request, "payment", id)),
            ("POST", "/v1/batches", self._pay_many),
            ("GET", "/v1/batches/{id}", lambda request, id: self._read(request, "batch", id)),
            ("DELETE", "/v1/batches/{id}", lambda request, id: self._cancel(request, "batch", id)),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        told: dict[str, str] = {}
        if called := request.headers.get("x-request-id"):
            told["X-Request-Id"] = called
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            self._app(request)
            if request.path.startswith("/v1/") and not called:
                raise Problem(400, "missing-header", "Send X-Request-Id.", header="X-Request-Id")
            response: Response = handler(request, **parameters)
            return Response(response.status, response.content, {**response.headers, **told})
        except NoRoute as wrong:
            if wrong.allowed:
                problem = Problem(405, "method-not-allowed", f"{request.method} is not allowed here.")
                told["Allow"] = ", ".join(wrong.allowed)
            else:
                problem = Problem(404, "not-found", "There is nothing at this address.")
        except Problem as error:
            problem = error
        document: dict[str, Any] = {
            "type": f"urn:nemunas:problem:{problem.kind}",
            "title": problem.kind.replace("-", " ").capitalize(),
            "status": problem.status,
            "detail": problem.detail,
            "instance": request.path,
        }
        return respond(problem.status, document | problem.more, told, media="application/problem+json")

    def _word(self, length: int, signs: str = "0123456789abcdefghijklmnopqrstuvwxyz") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _open(self, holder: str, product: str, number: str, booked: str) -> Account:
        account = Account(f"acc_{self._word(10)}", iban("LT", f"73900{number}"), holder, product, Decimal(booked))
        for days in sorted(self._random.sample(range(1, 59), 31), reverse=True):
            direction = self._random.choice(("debit", "debit", "debit", "credit"))
            amount = Decimal(self._random.randrange(120, 14_500)) / 100
            day = self.clock.today - timedelta(days=days)
            self._enter(account, day, direction, amount, self._random.choice(SHOPS), "Pirkinys", "card")
        return account

    def _enter(
        self, account: Account, day: date, direction: str, amount: Decimal, who: str, remittance: str, kind: str
    ) -> None:
        entry = {"transaction_id": f"txn_{self._word(14)}", "booked_on": day.isoformat(), "direction": direction}
        entry |= {"amount": f"{amount:.2f}", "currency": "EUR", "counterparty": who, "remittance": remittance}
        account.entries.insert(0, entry | {"kind": kind})

    def _advance(self) -> None:
        now = self.clock.now
        for approval in self._approvals.values():
            if approval.state == "waiting" and approval.ends <= now:
                self._close(approval, "timed_out")
        for thing in self._things.values():
            if thing.kind == "consent" and thing.state == "active" and thing.document["valid_until"] <= write_time(now):
                thing.state = "expired"
            if thing.kind == "payment" and thing.approved:
                if thing.state == "approved" and now - thing.approved >= timedelta(minutes=2):
                    thing.state = "sent"
                if thing.state == "sent" and now - thing.approved >= timedelta(minutes=10):
                    self._settle(thing)

    def _settle(self, payment: Thing) -> None:
        creditor = payment.document["creditor"]
        if creditor["iban"] == CLOSED or not payment.payer:
            self._refuse(payment, "AC04", "The account of the creditor is closed")
            return
        payment.state = "settled"
        payment.payer.booked -= payment.amount
        who, remittance = creditor["name"], payment.document["remittance"]
        self._enter(payment.payer, self.clock.today, "debit", payment.amount, who, remittance, "transfer")

    def _refuse(self, payment: Thing, code: str, text: str) -> None:
        payment.state, payment.refusal = "refused", {"code": code, "text": text}

    def _close(self, approval: Approval, state: str) -> None:
        approval.state = state
        thing = approval.thing
        if state != "approved":
            thing.become(state)
        elif thing.kind == "consent":
            thing.state, thing.token = "active", self._word(40)
        elif thing.payer and sum(part.amount for part in thing.payments) > self._available(thing.payer):
            for part in thing.payments:
                self._refuse(part, "AM04", "The available balance is too low")
        else:
            for part in thing.payments:
                part.state, part.approved = "approved", self.clock.now
                if part.document["scheme"] == "instant":
                    self._settle(part)

    def _app(self, request: Request) -> str:
        if app := KEYS.get(request.headers.get("x-api-key", "")):
            return app
        raise Problem(401, "api-key-invalid", "Send the key of your app in X-Api-Key.")

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Problem(400, "malformed-body", "Send a JSON object.") from None

    def _customer(self, body: dict[str, Any], wrong: dict[str, str]) -> Customer:
        """The customer with the personal code; raises what is wrong with the body."""
        code = body.get("personal_code")
        if not is_personal_code(code):
            wrong["personal_code"] = "is no personal code"
        if wrong:
            raise Problem(422, "invalid-member", "Correct the members.", wrong)
        customer = next((one for one in self._customers if one.code == code), None)
        if not customer:
            raise Problem(422, "customer-unknown", "Nobody at the bank has this personal code.")
        if not customer.pin:
            raise Problem(409, "app-not-active", "The customer must start to use the app first.")
        return customer

    def _find(self, request: Request, kind: str, id: str) -> Thing:
        thing = self._things.get(id)
        if not thing or thing.kind != kind or thing.app != self._app(request):
            raise Problem(404, "not-found", f"There is no {kind} {id}.")
        return thing

    def _begin(self, thing: Thing) -> Response:
        for one in (thing, *thing.parts):
            self._things[one.id] = one
        ends = self.clock.now + timedelta(minutes=3)
        approval = Approval(f"apr_{self._word(12)}", thing, self._word(4, "0123456789"), ends)
        self._approvals[approval.id] = approval
        told = {"approval_id": approval.id, "state": approval.state, "control_code": approval.control}
        told["times_out_at"] = write_time(ends)
        return respond(201, self._tell(thing) | {"approval": told}, {"Location": thing.path, "Retry-After": "2"})

    def _tell(self, thing: Thing) -> dict[str, Any]:
        document = {f"{thing.kind}_id": thing.id, "state": thing.standing, **thing.document}
        if thing.parts:
            shown = ("creditor", "amount", "remittance", "end_to_end_id")
            document["payments"] = [
                {"payment_id": one.id, "state": one.state}
                | {name: one.document[name] for name in shown}
                | ({"refusal": one.refusal} if one.refusal else {})
                for one in thing.parts
            ]
        elif thing.refusal:
            document["refusal"] = thing.refusal
        return document

    def _read(self, request: Request, kind: str, id: str) -> Response:
        return respond(200, self._tell(self._find(request, kind, id)))

    def _ask_consent(self, request: Request) -> Response:
        body, wrong = self._body(request), {}
        scopes, days = body.get("scopes"), body.get("valid_days")
        if not isinstance(scopes, list) or not scopes or not all(one in SCOPES for one in scopes):
            wrong["scopes"] = "are some of " + ", ".join(SCOPES)
        if not isinstance(days, int) or not 1 <= days <= 180:
            wrong["valid_days"] = "is from 1 to 180"
        customer, now = self._customer(body, wrong), self.clock.now
        until = now + timedelta(days=int(str(days)))
        document = {"scopes": scopes, "created_at": write_time(now), "valid_until": write_time(until)}
        return self._begin(Thing("consent", f"cns_{self._word(12)}", self._app(request), customer, document))

    def _revoke(self, request: Request, id: str) -> Response:
        consent = self._find(request, "consent", id)
        if consent.state not in ("awaiting_approval", "active"):
            raise Problem(409, "consent-not-active", f"The consent is {consent.state}.", state=consent.state)
        self._stop(consent, "revoked")
        return Response(204)

    def _stop(self, thing: Thing, state: str) -> None:
        for approval in self._approvals.values():
            if approval.thing is thing and approval.state == "waiting":
                approval.state = "declined"
        thing.become(state)

    def _approval(self, request: Request, id: str) -> Approval:
        approval = self._approvals.get(id)
        if not approval or approval.thing.app != self._app(request):
            raise Problem(404, "not-found", f"There is no approval {id}.")
        return approval

    def _poll(self, request: Request, id: str) -> Response:
        approval = self._approval(request, id)
        thing = approval.thing
        told: dict[str, Any] = {"approval_id": id, "state": approval.state}
        told["subject"] = {"kind": thing.kind, "id": thing.id, "state": thing.standing}
        if approval.state == "waiting":
            told |= {"control_code": approval.control, "times_out_at": write_time(approval.ends)}
            return respond(200, told, {"Retry-After": "2"})
        if thing.token:
            told |= {"access_token": thing.token, "token_type": "Bearer"}
        return respond(200, told, {"Cache-Control": "no-store"})

    def _play(self, request: Request, id: str) -> Response:
        """What the customer does on the phone."""
        approval, body = self._approval(request, id), self._body(request)
        action = body.get("action")
        if action not in ("approve", "decline"):
            raise Problem(422, "invalid-member", "Correct the members.", {"action": "is approve or decline"})
        if approval.state != "waiting":
            raise Problem(409, "approval-closed", f"The approval is {approval.state}.", state=approval.state)
        customer = approval.thing.customer
        if action == "approve" and (not customer or body.get("pin") != customer.pin):
            approval.mistakes += 1
            if approval.mistakes == 3:
                self._close(approval, "declined")
            raise Problem(403, "wrong-pin", "The app refuses the PIN.", attempts_left=3 - approval.mistakes)
        self._close(approval, "approved" if action == "approve" else "declined")
        return Response(204)

    def _reach(self, request: Request, scope: str) -> Sequence[Account]:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        held = (one for one in self._things.values() if token and one.token == token and one.app == self._app(request))
        consent = next(held, None)
        if scheme != "Bearer" or not consent or not consent.customer:
            raise Problem(401, "token-invalid", "Send the access token of a consent as a bearer.")
        if consent.state != "active":
            raise Problem(403, "consent-not-active", f"The consent is {consent.state}.", state=consent.state)
        if scope not in consent.document["scopes"]:
            raise Problem(403, "scope-missing", f"The consent does not have the scope {scope}.")
        return consent.customer.accounts

    def _account(self, request: Request, id: str, scope: str) -> Account:
        for account in self._reach(request, scope):
            if account.id == id:
                return account
        raise Problem(404, "not-found", f"There is no account {id}.")

    def _show(self, account: Account) -> dict[str, Any]:
        shown = {"account_id": account.id, "iban": account.iban, "holder_name": account.holder}
        return shown | {"product": account.product, "currency": "EUR"}

    def _page(self, request: Request, name: str, choose: Callable[[], Sequence[Any]]) -> Response:
        if cursor := request.query.get("cursor"):
            path, rows, start, limit = self._cursors.get(cursor, ("", [], 0, 0))
            if path != request.path:
                raise Problem(400, "invalid-query", "Follow the header Link.", {"cursor": "is not of this list"})
        else:
            told = request.query.get("limit", "20")
            if not told.isdecimal() or not 1 <= int(told) <= 50:
                raise Problem(400, "invalid-query", "Correct the query.", {"limit": "is from 1 to 50"})
            rows, start, limit = choose(), 0, int(told)
        headers, end = {}, start + limit
        if end < len(rows):
            following = self._word(22)
            self._cursors[following] = request.path, rows, end, limit
            headers["Link"] = f'<{request.path}?cursor={following}>; rel="next"'
        return respond(200, {name: rows[start:end]}, headers)

    def _list_accounts(self, request: Request) -> Response:
        shown = [self._show(one) for one in self._reach(request, "accounts")]
        return self._page(request, "accounts", lambda: shown)

    def _available(self, account: Account) -> Decimal:
        held = [one for one in self._things.values() if one.kind == "payment" and one.state in ("approved", "sent")]
        return account.booked - sum(one.amount for one in held if one.payer is account)

    def _balances(self, request: Request, id: str) -> Response:
        account = self._account(request, id, "balances")
        amounts = {"booked": account.booked, "available": self._available(account)}
        rows = [{"type": name, "amount": f"{amount:.2f}", "currency": "EUR"} for name, amount in amounts.items()]
        return respond(200, {"account_id": id, "balances": rows, "as_of": write_time(self.clock.now)})

    def _list_entries(self, request: Request, id: str) -> Response:
        account = self._account(request, id, "transactions")
        return self._page(request, "transactions", lambda: self._choose(request, account))

    def _choose(self, request: Request, account: Account) -> Sequence[Any]:
        today, days, wrong = self.clock.today, {}, {}
        for name, usual in (("date_from", today - timedelta(days=60)), ("date_to", today)):
            try:
                days[name] = date.fromisoformat(request.query.get(name, usual.isoformat())).isoformat()
            except ValueError:
                wrong[name] = "is no day like 2026-01-31"
        if not wrong and days["date_from"] > days["date_to"]:
            wrong["date_to"] = "is not before date_from"
        direction = request.query.get("direction")
        if direction not in (None, "debit", "credit"):
            wrong["direction"] = "is debit or credit"
        if wrong:
            raise Problem(400, "invalid-query", "Correct the query.", wrong)
        rows = [one for one in account.entries if days["date_from"] <= one["booked_on"] <= days["date_to"]]
        return [one for one in rows if direction in (None, one["direction"])]

    def _check(self, row: Any, place: str, wrong: dict[str, str]) -> dict[str, Any]:
        """The members of one payment."""
        row = row if isinstance(row, dict) else {}
        creditor = row.get("creditor") if isinstance(row.get("creditor"), dict) else {}
        if not is_iban(creditor.get("iban")):
            wrong[f"{place}creditor.iban"] = "is no IBAN"
        if not is_text(creditor.get("name"), 70):
            wrong[f"{place}creditor.name"] = "has 1 to 70 characters"
        if not is_amount(row.get("amount")):
            wrong[f"{place}amount"] = "is above zero, with two decimals"
        for name, most in (("remittance", 140), ("end_to_end_id", 35)):
            if not is_text(row.get(name), most):
                wrong[f"{place}{name}"] = f"has 1 to {most} characters"
        shown = {"creditor": {name: creditor.get(name) for name in ("iban", "name")}, "amount": row.get("amount")}
        return shown | {"currency": "EUR"} | {name: row.get(name) for name in ("remittance", "end_to_end_id")}

    def _start(self, request: Request, body: dict[str, Any], rows: list[dict[str, Any]], wrong: Any) -> list[Thing]:
        owned = {one.iban: one for who in self._customers for one in who.accounts}
        payer = owned.get(str(body.get("debtor_iban")))
        if not payer:
            wrong["debtor_iban"] = "is no account at Nemunas"
        customer, app = self._customer(body, wrong), self._app(request)
        if not payer or payer not in customer.accounts:
            raise Problem(403, "not-your-account", "The customer does not own the account.")
        if sum(Decimal(row["amount"]) for row in rows) > self._available(payer):
            raise Problem(422, "insufficient-funds", "The available balance does not cover this.")
        used = [(app, str(row["end_to_end_id"])) for row in rows]
        if len(set(used)) < len(used) or self._used & set(used):
            raise Problem(409, "duplicate-end-to-end-id", "Choose another end_to_end_id.")
        self._used.update(used)
        made = {"debtor_iban": payer.iban, "scheme": body["scheme"]}
        last = {"created_at": write_time(self.clock.now)}
        documents = [made | row | last for row in rows]
        return [Thing("payment", f"pay_{self._word(12)}", app, customer, one, payer=payer) for one in documents]

    def _pay(self, request: Request) -> Response:
        body, wrong = self._body(request), dict[str, str]()
        row = self._check(body, "", wrong)
        if body.get("scheme") not in ("sepa", "instant"):
            wrong["scheme"] = "is sepa or instant"
        return self._begin(self._start(request, body, [row], wrong)[0])

    def _pay_many(self, request: Request) -> Response:
        body, wrong = self._body(request), dict[str, str]()
        told = body.get("payments")
        many = told if isinstance(told, list) else []
        if not 2 <= len(many) <= 20:
            wrong["payments"] = "are 2 to 20"
        rows = [self._check(row, f"payments.{place}.", wrong) for place, row in enumerate(many)]
        parts = self._start(request, {**body, "scheme": "sepa"}, rows, wrong)
        first, total = parts[0], sum(part.amount for part in parts)
        document = {"debtor_iban": first.document["debtor_iban"], "count": len(parts), "total": f"{total:.2f}"}
        document |= {"currency": "EUR", "created_at": first.document["created_at"]}
        batch = Thing("batch", f"bat_{self._word(12)}", first.app, first.customer, document, payer=first.payer)
        batch.parts = parts
        for part in parts:
            part.document["batch_id"] = batch.id
        return self._begin(batch)

    def _cancel(self, request: Request, kind: str, id: str) -> Response:
        thing = self._find(request, kind, id)
        if "batch_id" in thing.document:
            raise Problem(409, "not-cancellable", "Cancel the batch.", state=thing.standing)
        if thing.standing not in ("awaiting_approval", "approved"):
            raise Problem(409, "not-cancellable", f"The {kind} is {thing.standing}.", state=thing.standing)
        self._stop(thing, "cancelled")
        return respond(200, self._tell(thing))
