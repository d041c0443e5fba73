"""Pūkeko, a bank whose API has two prefixes: `/auth/v3` for tokens and permits, `/data/v3` for what they open.

- Answers are `{"data": …, "meta": {"traceId": …, "servedAt": …}}`. Only `/auth/v3/token` answers as in OAuth.
- Errors are `application/problem+json` with a code such as PK-1300, a slug in `type` and no envelope.
- An app signs in with Basic authentication. Its token (15 minutes) makes permits and transfers, but reads no account.
- A permit (consent) has a `stage`: AWAITING_CUSTOMER, APPROVED, ACTIVE, and at its end DECLINED, TIMED_OUT, REVOKED or
  LAPSED. It becomes active when the app exchanges the code from the customer's redirect for a token of the customer
  (10 minutes). The refresh token works once. `DELETE` revokes a permit with 204.
- The customer signs in at `/sca/<ticket>`, which sets a cookie, and posts the answer to `/sca/<ticket>/answer`: the
  accounts that the permit opens, or the account that pays. A transfer names no payer until then.
- An answer is due in 10 minutes. After it, and after the customer's answer, the page is gone (410).
- A transfer: AWAITING_CUSTOMER, AUTHORISED, SENT after 30 seconds, SETTLED after 3 minutes, and DECLINED, TIMED_OUT or
  CANCELLED. It is accepted (202), not created, and can be cancelled until it is sent.
- Amounts are whole cents without a sign, with `side` IN or OUT. The currency of a balance or of entries is in `meta`.
- Entries have cursors: `meta.page.next` is the `after` of the next request, or null.
- Transfers need an `Idempotency-Key`. The same key and body give the first answer with `Idempotency-Replayed: true`.
- A balance can be read twice a minute (429).
- A permit or transfer of another app, or an account outside the permit, is unknown (404).
"""

import random
import re
from base64 import b64decode
from binascii import Error
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond, show

APPS = {"tally-nz": "kowhai-93-bloom", "flatmates": "rimu-07-grove"}
PERMISSIONS = ("ACCOUNTS", "BALANCES", "ENTRIES")
SHOPS = "Four Square Ponsonby|AT HOP top-up|Genesis Energy|Mitre 10|Whitcoulls|The Warehouse|Z Energy".split("|")
MOST_CENTS = 500_000
MINUTE = timedelta(minutes=1)
TO_ANSWER = 10 * MINUTE
PROBLEMS = {
    "PK-1000": (401, "token-missing", "No token was sent"),
    "PK-1001": (401, "token-invalid", "The token is unknown or has ended"),
    "PK-1002": (403, "token-kind", "This needs a token of a customer"),
    "PK-1003": (403, "permission-missing", "The permit does not have this permission"),
    "PK-1100": (400, "unreadable", "The body is not a JSON object"),
    "PK-1101": (422, "invalid-member", "A member is missing or wrong"),
    "PK-1102": (400, "no-idempotency-key", "The header Idempotency-Key is missing"),
    "PK-1103": (409, "key-reused", "The key was used for another transfer"),
    "PK-1200": (404, "unknown-permit", "There is no such permit"),
    "PK-1201": (409, "permit-over", "The permit has already ended"),
    "PK-1202": (403, "permit-not-active", "The permit is not active"),
    "PK-1300": (404, "unknown-account", "The permit has no such account"),
    "PK-1301": (429, "too-often", "The balance was read too often"),
    "PK-1302": (422, "period", "The period ends before it begins"),
    "PK-1303": (400, "cursor", "The cursor is unknown"),
    "PK-1400": (404, "unknown-transfer", "There is no such transfer"),
    "PK-1401": (422, "over-limit", "The amount is over the limit for apps"),
    "PK-1403": (409, "too-late", "The transfer can no longer be cancelled"),
    "PK-1404": (404, "no-resource", "There is nothing at this path"),
    "PK-1405": (405, "no-method", "The resource does not have this method"),
}


@dataclass
class Account:
    key: str
    number: str
    label: str
    kind: str
    cents: int
    holder: str = ""
    entries: list[dict[str, Any]] = field(default_factory=list)
    read: list[datetime] = field(default_factory=list)


@dataclass
class Customer:
    name: str
    passcode: str
    accounts: list[Account]


@dataclass
class Asked:
    """A permit or a transfer, which a customer answers at the page of its ticket."""

    key: str
    app: str
    ticket: str
    asked: datetime
    document: dict[str, Any]
    stage: str = "AWAITING_CUSTOMER"
    cookie: str = ""
    customer: Customer | None = None
    accounts: list[Account] = field(default_factory=list)
    answered: datetime | None = None
    code: str | None = None


@dataclass
class Token:
    app: str
    ends: datetime
    permit: Asked | None = None


class Problem(Exception):
    def __init__(self, code: str, headers: dict[str, str] | None = None, **more: Any) -> None:
        super().__init__(code)
        self.code, self.headers, self.more = code, headers or {}, more


class Refusal(Exception):
    """An error of the token endpoint."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.status, self.error = status, error


def violate(member: str, rule: str) -> Problem:
    return Problem("PK-1101", violations=[{"member": member, "rule": rule}])


def read_day(text: Any, member: str) -> date:
    try:
        return date.fromisoformat(str(text))
    except ValueError:
        raise violate(member, "date") from None


def show_time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z")


class Pukeko:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"pukeko {seed}")
        self._tokens: dict[str, Token] = {}
        self._refresh: dict[str, Asked] = {}
        self._permits: dict[str, Asked] = {}
        self._transfers: dict[str, Asked] = {}
        self._keys: dict[tuple[str, str], Asked] = {}
        self._cursors: dict[str, tuple[str, int]] = {}
        self._customers = {
            "40718832": Customer(
                "Aroha Ngata",
                "271828",
                [
                    self._open("38-9014-0271833-00", "Everyday", "CHEQUE", 412_655),
                    self._open("38-9014-0271833-01", "Rainy day", "SAVINGS", 18_240),
                ],
            ),
            "40955016": Customer(
                "Callum Fraser",
                "902144",
                [
                    self._open("38-9017-0660418-00", "Bills", "CHEQUE", 267_310),
                    self._open("38-9017-0660418-03", "Holiday", "SAVINGS", 31_475),
                ],
            ),
        }
        for customer in self._customers.values():
            for account in customer.accounts:
                account.holder = customer.name
        self._routes = Routes(
            ("POST", "/auth/v3/permits", self._make_permit),
            ("GET", "/auth/v3/permits/{key}", self._get_permit),
            ("DELETE", "/auth/v3/permits/{key}", self._revoke),
            ("GET", "/data/v3/accounts", self._list_accounts),
            ("GET", "/data/v3/accounts/{key}", self._get_account),
            ("GET", "/data/v3/accounts/{key}/balance", self._get_balance),
            ("GET", "/data/v3/accounts/{key}/entries", self._list_entries),
            ("POST", "/data/v3/transfers", self._make_transfer),
            ("GET", "/data/v3/transfers/{key}", self._get_transfer),
            ("POST", "/data/v3/transfers/{key}/cancel", self._cancel),
        )
        self._pages = Routes(
            ("POST", "/auth/v3/token", self._give_token),
            ("GET", "/sca/{ticket}", self._page),
            ("POST", "/sca/{ticket}", self._sign_in),
            ("POST", "/sca/{ticket}/answer", self._answer_page),
        )

    def answer(self, request: Request) -> Response:
        try:
            handler, parameters = self._pages.find(request.method, request.path)
            return handler(request, **parameters)
        except NoRoute:
            pass
        self._pass_time()
        trace = request.headers.get("x-trace-id") or self._word(16)
        try:
            try:
                handler, parameters = self._routes.find(request.method, request.path)
            except NoRoute as wrong:
                if wrong.allowed:
                    raise Problem("PK-1405", {"Allow": ", ".join(wrong.allowed)}) from None
                raise Problem("PK-1404") from None
            return self._finish(handler(request, self._token(request), **parameters), trace)
        except Problem as problem:
            status, slug, title = PROBLEMS[problem.code]
            kind = f"https://api.pukeko.example/problems/{slug}"
            shown = {"type": kind, "title": title, "status": status, "code": problem.code, "traceId": trace}
            return respond(status, shown | problem.more, problem.headers, media="application/problem+json")

    def _finish(self, answer: tuple[int, Any, dict[str, Any], dict[str, str]], trace: str) -> Response:
        status, data, meta, headers = answer
        if status == 204:
            return Response(204)
        meta = {"traceId": trace, "servedAt": show_time(self.clock.now)} | meta
        return respond(status, {"data": data, "meta": meta}, headers)

    def _word(self, length: int) -> str:
        return "".join(self._random.choices("abcdefghjkmnpqrstuvwxyz23456789", k=length))

    def _open(self, number: str, label: str, kind: str, cents: int) -> Account:
        account = Account(f"acc_{self._word(10)}", number, label, kind, cents)
        for days in sorted(self._random.sample(range(2, 56), 14), reverse=True):
            side, cents = self._random.choice(("OUT", "OUT", "OUT", "IN")), self._random.randrange(450, 24_000)
            self._book(account, self.clock.today - timedelta(days=days), side, cents, self._random.choice(SHOPS))
        return account

    def _book(self, account: Account, day: date, side: str, cents: int, text: str) -> None:
        entry = {"entryId": f"ent_{self._word(12)}", "bookedOn": day.isoformat(), "side": side, "cents": cents}
        account.entries.insert(0, entry | {"text": text})

    def _pass_time(self) -> None:
        """Move permits and transfers to the stages that they have by now."""
        now = self.clock.now
        for asked in [*self._permits.values(), *self._transfers.values()]:
            if asked.stage == "AWAITING_CUSTOMER" and now > asked.asked + TO_ANSWER:
                asked.stage = "TIMED_OUT"
        for permit in self._permits.values():
            if permit.stage in ("APPROVED", "ACTIVE") and self.clock.today.isoformat() > permit.document["validUntil"]:
                permit.stage = "LAPSED"
        for transfer in self._transfers.values():
            if transfer.stage == "AUTHORISED" and transfer.answered and now >= transfer.answered + MINUTE / 2:
                transfer.stage = "SENT"
            if transfer.stage == "SENT" and transfer.answered and now >= transfer.answered + 3 * MINUTE:
                transfer.stage = "SETTLED"
                account, cents = transfer.accounts[0], transfer.document["cents"]
                account.cents -= cents
                self._book(account, self.clock.today, "OUT", cents, transfer.document["payee"]["name"])

    # Tokens

    def _token(self, request: Request) -> Token:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or not key:
            raise Problem("PK-1000", {"WWW-Authenticate": 'Bearer realm="pukeko"'})
        token = self._tokens.get(key)
        if not token or token.ends <= self.clock.now:
            raise Problem("PK-1001", {"WWW-Authenticate": 'Bearer realm="pukeko", error="invalid_token"'})
        return token

    def _give_token(self, request: Request) -> Response:
        safe = {"Cache-Control": "no-store"}
        try:
            return respond(200, self._grant(self._identify(request), request), safe)
        except Refusal as refusal:
            headers = safe | ({"WWW-Authenticate": 'Basic realm="pukeko"'} if refusal.status == 401 else {})
            return respond(refusal.status, {"error": refusal.error}, headers)

    def _identify(self, request: Request) -> str:
        scheme, _, sent = request.headers.get("authorization", "").partition(" ")
        try:
            app, _, secret = b64decode(sent).decode().partition(":")
        except (Error, UnicodeDecodeError):
            raise Refusal(401, "invalid_client") from None
        if scheme != "Basic" or APPS.get(app) != secret:
            raise Refusal(401, "invalid_client")
        return app

    def _grant(self, app: str, request: Request) -> dict[str, Any]:
        self._pass_time()
        kind = request.field("grant_type")
        if kind == "client_credentials":
            return self._issue(app, None, 15 * MINUTE)
        permit: Asked | None = None
        if kind == "authorization_code":
            code = request.field("code")
            permit = next((one for one in self._permits.values() if one.code == code and one.stage == "APPROVED"), None)
        elif kind == "refresh_token":
            permit = self._refresh.pop(request.field("refresh_token"), None)
            permit = permit if permit and permit.stage == "ACTIVE" else None
        else:
            raise Refusal(400, "unsupported_grant_type")
        if not permit or permit.app != app:
            raise Refusal(400, "invalid_grant")
        permit.stage, permit.code = "ACTIVE", None
        refresh = f"rt_{self._word(24)}"
        self._refresh[refresh] = permit
        return self._issue(app, permit, 10 * MINUTE) | {"refresh_token": refresh, "permit": permit.key}

    def _issue(self, app: str, permit: Asked | None, time: timedelta) -> dict[str, Any]:
        key = f"at_{self._word(28)}"
        self._tokens[key] = Token(app, self.clock.now + time, permit)
        return {"access_token": key, "token_type": "Bearer", "expires_in": int(time.total_seconds())}

    # Permits

    def _read(self, request: Request) -> dict[str, Any]:
        try:
            document = request.document
        except ValueError:
            raise Problem("PK-1100") from None
        if not re.fullmatch(r"https://[\w.-]+/\S*", str(document.get("returnTo"))):
            raise violate("returnTo", "url")
        return document

    def _make_permit(self, request: Request, token: Token) -> tuple[int, Any, dict[str, Any], dict[str, str]]:
        document = self._read(request)
        wanted = document.get("permissions")
        if not isinstance(wanted, list) or not wanted or not all(one in PERMISSIONS for one in wanted):
            raise violate("permissions", "choice")
        until = read_day(document.get("validUntil"), "validUntil")
        if not self.clock.today < until <= self.clock.today + timedelta(days=90):
            raise violate("validUntil", "range")
        permit = Asked(f"prm_{self._word(12)}", token.app, self._word(20), self.clock.now, document)
        self._permits[permit.key] = permit
        return 201, self._show_permit(permit), {}, {"Location": f"/auth/v3/permits/{permit.key}"}

    def _show_permit(self, permit: Asked) -> dict[str, Any]:
        shown = {"permitId": permit.key, "stage": permit.stage, "createdAt": show_time(permit.asked)}
        shown |= {"permissions": permit.document["permissions"], "validUntil": permit.document["validUntil"]}
        return shown | self._show_approval(permit)

    def _show_approval(self, asked: Asked) -> dict[str, Any]:
        if asked.stage != "AWAITING_CUSTOMER":
            return {}
        return {"approval": {"href": f"/sca/{asked.ticket}", "closesAt": show_time(asked.asked + TO_ANSWER)}}

    def _find(self, store: dict[str, Asked], token: Token, key: str, unknown: str) -> Asked:
        found = store.get(key)
        if not found or found.app != token.app:
            raise Problem(unknown)
        return found

    def _get_permit(self, request: Request, token: Token, key: str) -> tuple[int, Any, dict[str, Any], dict[str, str]]:
        return 200, self._show_permit(self._find(self._permits, token, key, "PK-1200")), {}, {}

    def _revoke(self, request: Request, token: Token, key: str) -> tuple[int, Any, dict[str, Any], dict[str, str]]:
        permit = self._find(self._permits, token, key, "PK-1200")
        if permit.stage not in ("AWAITING_CUSTOMER", "APPROVED", "ACTIVE"):
            raise Problem("PK-1201", stage=permit.stage)
        permit.stage = "REVOKED"
        return 204, None, {}, {}

    # Accounts

    def _opened(self, token: Token, permission: str) -> list[Account]:
        if not token.permit:
            raise Problem("PK-1002")
        if token.permit.stage != "ACTIVE":
            raise Problem("PK-1202", stage=token.permit.stage)
        if permission not in token.permit.document["permissions"]:
            raise Problem("PK-1003", permission=permission)
        return token.permit.accounts

    def _account(self, token: Token, key: str, permission: str) -> Account:
        for account in self._opened(token, permission):
            if account.key == key:
                return account
        raise Problem("PK-1300")

    def _list_accounts(self, request: Request, token: Token) -> tuple[int, Any, dict[str, Any], dict[str, str]]:
        rows = [self._show_account(account) for account in self._opened(token, "ACCOUNTS")]
        return 200, rows, {"page": {"count": len(rows), "next": None}}, {}

    def _show_account(self, account: Account) -> dict[str, Any]:
        shown = {"accountId": account.key, "number": account.number, "label": account.label, "kind": account.kind}
        return shown | {"currency": "NZD"}

    def _get_account(self, request: Request, token: Token, key: str) -> tuple[int, Any, dict[str, Any], dict[str, str]]:
        account = self._account(token, key, "ACCOUNTS")
        return 200, self._show_account(account) | {"holder": {"name": account.holder}}, {}, {}

    def _spendable(self, account: Account) -> int:
        held = [one for one in self._transfers.values() if one.stage in ("AUTHORISED", "SENT")]
        return account.cents - sum(one.document["cents"] for one in held if account in one.accounts)

    def _get_balance(self, request: Request, token: Token, key: str) -> tuple[int, Any, dict[str, Any], dict[str, str]]:
        account = self._account(token, key, "BALANCES")
        account.read = [time for time in account.read if time > self.clock.now - MINUTE]
        if len(account.read) == 2:
            raise Problem("PK-1301", {"Retry-After": "60"})
        account.read.append(self.clock.now)
        data = {"accountId": account.key, "ledgerCents": account.cents, "spendableCents": self._spendable(account)}
        return 200, data, {"currency": "NZD"}, {}

    def _list_entries(
        self, request: Request, token: Token, key: str
    ) -> tuple[int, Any, dict[str, Any], dict[str, str]]:
        account = self._account(token, key, "ENTRIES")
        since = read_day(request.query.get("since", "2000-01-01"), "since").isoformat()
        until = read_day(request.query.get("until", "2999-12-31"), "until").isoformat()
        if until < since:
            raise Problem("PK-1302")
        limit = request.query.get("limit", "25")
        if not limit.isdecimal() or not 1 <= int(limit) <= 25:
            raise violate("limit", "range")
        begin = 0
        if after := request.query.get("after"):
            if self._cursors.get(after, ("", 0))[0] != account.key:
                raise Problem("PK-1303")
            begin = self._cursors[after][1]
        rows = [entry for entry in account.entries if since <= entry["bookedOn"] <= until]
        end, following = begin + int(limit), None
        if end < len(rows):
            following = f"cur_{self._word(14)}"
            self._cursors[following] = account.key, end
        page = {"count": len(rows[begin:end]), "next": following}
        return 200, rows[begin:end], {"currency": "NZD", "page": page}, {}

    # Transfers

    def _make_transfer(self, request: Request, token: Token) -> tuple[int, Any, dict[str, Any], dict[str, str]]:
        if not (key := request.headers.get("idempotency-key")):
            raise Problem("PK-1102")
        document = self._read(request)
        if known := self._keys.get((token.app, key)):
            if known.document != document:
                raise Problem("PK-1103")
            return self._accept(known, {"Idempotency-Replayed": "true"})
        cents, payee = document.get("cents"), document.get("payee")
        if type(cents) is not int or cents <= 0:
            raise violate("cents", "positive")
        if document.get("currency") != "NZD":
            raise violate("currency", "choice")
        if not isinstance(payee, dict) or not re.fullmatch(r".{2,40}", str(payee.get("name"))):
            raise violate("payee.name", "text")
        if not re.fullmatch(r"\d\d-\d{4}-\d{7}-\d\d", str(payee.get("account"))):
            raise violate("payee.account", "number")
        if cents > MOST_CENTS:
            raise Problem("PK-1401", mostCents=MOST_CENTS)
        transfer = Asked(f"trf_{self._word(12)}", token.app, self._word(20), self.clock.now, document)
        self._transfers[transfer.key] = self._keys[token.app, key] = transfer
        return self._accept(transfer, {})

    def _accept(self, transfer: Asked, headers: dict[str, str]) -> tuple[int, Any, dict[str, Any], dict[str, str]]:
        return 202, self._show_transfer(transfer), {}, {"Location": f"/data/v3/transfers/{transfer.key}"} | headers

    def _show_transfer(self, transfer: Asked) -> dict[str, Any]:
        shown = {"transferId": transfer.key, "stage": transfer.stage, "createdAt": show_time(transfer.asked)}
        shown |= {name: transfer.document.get(name) for name in ("cents", "currency", "payee", "particulars")}
        payer = None
        if transfer.accounts:
            payer = {"name": transfer.accounts[0].holder, "account": transfer.accounts[0].number}
        return shown | {"payer": payer} | self._show_approval(transfer)

    def _get_transfer(
        self, request: Request, token: Token, key: str
    ) -> tuple[int, Any, dict[str, Any], dict[str, str]]:
        return 200, self._show_transfer(self._find(self._transfers, token, key, "PK-1400")), {}, {}

    def _cancel(self, request: Request, token: Token, key: str) -> tuple[int, Any, dict[str, Any], dict[str, str]]:
        transfer = self._find(self._transfers, token, key, "PK-1400")
        if transfer.stage not in ("AWAITING_CUSTOMER", "AUTHORISED"):
            raise Problem("PK-1403", stage=transfer.stage)
        transfer.stage = "CANCELLED"
        return 200, self._show_transfer(transfer), {}, {}

    # The customer's page

    def _asked(self, ticket: str) -> Asked | None:
        self._pass_time()
        found = (one for one in [*self._permits.values(), *self._transfers.values()] if one.ticket == ticket)
        return next((one for one in found if one.stage == "AWAITING_CUSTOMER"), None)

    def _page(
        self, request: Request, ticket: str, status: int = 200, hint: str = "Kia ora! Please sign in."
    ) -> Response:
        if not self._asked(ticket):
            return show(410, "Pūkeko", "<p>This page is no longer open.</p>")
        inputs = '<input name="customerNumber"><input name="passcode" type="password"><button>Sign in</button>'
        return show(status, "Pūkeko", f'<p>{hint}</p><form method="post" action="/sca/{ticket}">{inputs}</form>')

    def _sign_in(self, request: Request, ticket: str) -> Response:
        if not (asked := self._asked(ticket)):
            return self._page(request, ticket)
        customer = self._customers.get(request.field("customerNumber"))
        if not customer or customer.passcode != request.field("passcode"):
            return self._page(request, ticket, 401, "The number or the passcode is wrong.")
        asked.customer, asked.cookie = customer, self._word(18)
        page = self._choose(asked, 200, f"Kia ora {customer.name}")
        cookie = f"sca={asked.cookie}; Path=/sca/{ticket}; HttpOnly; SameSite=Strict"
        return Response(page.status, page.content, {**page.headers, "Set-Cookie": cookie})

    def _choose(self, asked: Asked, status: int, hint: str) -> Response:
        kind = "checkbox" if asked.key in self._permits else "radio"
        accounts = asked.customer.accounts if asked.customer else []
        boxes = "".join(
            f'<label><input type="{kind}" name="account" value="{account.number}"> {account.label}</label>'
            for account in accounts
        )
        buttons = '<button name="answer" value="approve">Yes</button><button name="answer" value="decline">No</button>'
        action = f"/sca/{asked.ticket}/answer"
        return show(status, "Pūkeko", f'<p>{hint}</p><form method="post" action="{action}">{boxes}{buttons}</form>')

    def _answer_page(self, request: Request, ticket: str) -> Response:
        if not (asked := self._asked(ticket)):
            return self._page(request, ticket)
        if not asked.customer or f"sca={asked.cookie}" not in request.headers.get("cookie", "").split("; "):
            return self._page(request, ticket, 401)
        is_permit, back = asked.key in self._permits, asked.document["returnTo"]
        about = {"permit" if is_permit else "transfer": asked.key}
        if request.field("answer") != "approve":
            asked.stage = "DECLINED"
            return Response(303, "", {"Location": f"{back}?{urlencode(about | {'error': 'customer_declined'})}"})
        chosen = [one for one in asked.customer.accounts if one.number in request.form.get("account", [])]
        if not chosen or (len(chosen) > 1 and not is_permit):
            return self._choose(asked, 422, "Please choose.")
        if not is_permit and asked.document["cents"] > self._spendable(chosen[0]):
            return self._choose(asked, 422, "There is not enough money on this account.")
        asked.accounts, asked.answered = chosen, self.clock.now
        if not is_permit:
            asked.stage = "AUTHORISED"
            return Response(303, "", {"Location": f"{back}?{urlencode(about)}"})
        asked.stage, asked.code = "APPROVED", self._word(22)
        return Response(303, "", {"Location": f"{back}?{urlencode(about | {'code': asked.code})}"})
