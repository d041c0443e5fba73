"""Cottonwood, a US credit union on a fintech core: members grant links to an app, which then sends transfers for them.

- The app sends its id and secret as Basic to `/v1/links` and `/oauth/token`. All else below `/v1` takes a link's access
  token as Bearer. The token does not end, but its link does: 403 `link_inactive` with `link_status`.
- Errors are `{"error": {"code", "message", "param"?}, "request_id"}`. Every answer has that id in `X-Request-Id`.
- Objects name their kind in `object`. Ids have a prefix: `link_`, `acct_`, `txn_`, `xfer_`.
- A link is pending, then active or declined, at last expired or revoked. It lives for `duration_days`, from 1 to 90.
- The member decides on the page at `connect_url`, with a member number and a passcode. The browser returns with a code
  and the app's `state`, or with `error=access_denied`. The code buys a token once, within 10 minutes.
- Amounts are decimal strings in dollars, negative for money out. Instants are seconds since 1970, days are ISO dates.
- Lists are `{"object": "list", "data", "has_more"}`, with `limit` (1 to 50) and `starting_after`, an id.
  Transactions and transfers are newest first. Transactions take `from` and `to`, both inclusive, and show a running
  balance.
- A transfer needs an `Idempotency-Key`. The same key and body give 200, the transfer as it is now and the header
  `Idempotent-Replayed`; the same key with another body gives 409.
- A transfer is awaiting_approval until the member approves or rejects it on the page at `approval_url`, then approved,
  processing after 60 seconds and settled after 5 minutes. It can be canceled until it is processing.
- `available` falls when a transfer is approved, `current` when it is settled. Then it is among the transactions.
"""

import base64
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

APPS = {"app_plainbudget": "sk_live_7Hq2mZ"}
PERMISSIONS = ("accounts", "balances", "transactions", "transfers")
ROUTING = "307087713"
SHOPS = "SQ *PRAIRIE COFFEE|KING SOOPERS 0114|XCEL ENERGY|CONOCO 2291|REI DENVER".split("|")


@dataclass
class Account:
    id: str
    kind: str
    name: str
    number: str
    cents: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    """Oldest first."""


@dataclass(frozen=True)
class Member:
    number: str
    passcode: str
    accounts: list[Account]


@dataclass
class Link:
    id: str
    app: str
    page: str
    permissions: list[str]
    made: datetime
    ends: datetime
    back: str
    state: str
    status: str = "pending"
    member: Member | None = None
    code: str = ""
    coded: datetime | None = None


@dataclass
class Transfer:
    id: str
    page: str
    key: str
    link: Link
    account: Account
    cents: int
    asked: dict[str, Any]
    made: datetime
    status: str = "awaiting_approval"
    approved: datetime | None = None


def write_dollars(cents: int) -> str:
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}"


def read_cents(amount: Any) -> int:
    """The cents in a decimal string, or 0 if it is not one."""
    if not isinstance(amount, str) or not re.fullmatch(r"\d{1,7}\.\d\d", amount):
        return 0
    return int(amount.replace(".", ""))


def is_routing_number(number: Any) -> bool:
    if not isinstance(number, str) or not re.fullmatch(r"\d{9}", number):
        return False
    return sum(int(digit) * weight for digit, weight in zip(number, (3, 7, 1) * 3, strict=True)) % 10 == 0


def write_time(time: datetime) -> int:
    return int(time.timestamp())


class Cottonwood:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"cottonwood {seed}")
        self._links: dict[str, Link] = {}
        self._transfers: dict[str, Transfer] = {}
        self._tokens: dict[str, Link] = {}
        self._members = {
            "4471903": Member(
                "4471903",
                "juniper-29",
                [
                    self._open("checking", "Everyday Checking", 214_630),
                    self._open("savings", "Share Savings", 530_075),
                ],
            ),
            "8820164": Member(
                "8820164",
                "sagebrush7",
                [
                    self._open("checking", "Free Checking", 98_412),
                    self._open("checking", "Household", 341_907),
                    self._open("savings", "Holiday Club", 75_000),
                ],
            ),
        }
        link, account, transfer = "/v1/links/{id}", "/v1/accounts/{id}", "/v1/transfers/{id}"
        self._routes = Routes(
            ("POST", "/oauth/token", self._give_token),
            ("POST", "/v1/links", self._create_link),
            ("GET", link, lambda request, id: respond(200, self._show_link(self._link(request, id)))),
            ("POST", link + "/revoke", self._revoke),
            ("GET", "/v1/accounts", self._list_accounts),
            ("GET", account, self._account),
            ("GET", account + "/balances", self._balances),
            ("GET", account + "/transactions", self._list_transactions),
            ("POST", "/v1/transfers", self._create_transfer),
            ("GET", "/v1/transfers", self._list_transfers),
            ("GET", transfer, lambda request, id: respond(200, self._show_transfer(self._transfer(request, id)))),
            ("POST", transfer + "/cancel", self._cancel),
            ("GET", "/connect/{page}", self._connect_page),
            ("POST", "/connect/{page}", self._connect),
            ("GET", "/approve/{page}", self._approve_page),
            ("POST", "/approve/{page}", self._approve),
        )

    def answer(self, request: Request) -> Response:
        self._pass_time()
        id = self._id("req")
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            response = handler(request, **parameters)
        except NoRoute as wrong:
            if wrong.allowed:
                response = self._refuse(id, Fault(405, "method_not_allowed", allowed=wrong.allowed))
            else:
                response = self._refuse(id, Fault(404, "not_found", message=f"No such path: {request.path}"))
        except Fault as fault:
            response = self._refuse(id, fault)
        return Response(response.status, response.content, {"X-Request-Id": id, **response.headers})

    def _refuse(self, id: str, fault: Fault) -> Response:
        error: dict[str, Any] = {"code": fault.word, "message": fault.word.replace("_", " ").capitalize() + "."}
        if fault.place:
            error["param"] = fault.place
        headers = {"WWW-Authenticate": 'Bearer realm="cottonwood"'} if fault.status == 401 else {}
        return respond(fault.status, {"error": error | fault.more, "request_id": id}, headers)

    def _pass_time(self) -> None:
        for link in self._links.values():
            if link.status in ("pending", "active") and link.ends <= self.clock.now:
                link.status = "expired"
        for transfer in self._transfers.values():
            passed = self.clock.now - transfer.approved if transfer.approved else timedelta()
            if transfer.status == "approved" and passed >= timedelta(seconds=60):
                transfer.status = "processing"
            if transfer.status == "processing" and passed >= timedelta(minutes=5):
                transfer.status = "settled"
                text = f"Transfer to {transfer.asked['recipient']['name']}"
                transfer.account.cents -= transfer.cents
                self._post(
                    transfer.account, self.clock.today, -transfer.cents, transfer.account.cents, text, "transfer"
                )

    def _word(self, length: int) -> str:
        return "".join(self._random.choices("abcdefghijkmnpqrstuvwxyz23456789", k=length))

    def _id(self, kind: str) -> str:
        return f"{kind}_" + "".join(self._random.choices("0123456789ABCDEFGHJKMNPQRSTVWXYZ", k=16))

    def _open(self, kind: str, name: str, cents: int) -> Account:
        account = Account(self._id("acct"), kind, name, str(self._random.randrange(10**9, 10**10)), cents)
        days = sorted(self._random.sample(range(1, 80), 28), reverse=True)
        changes = [self._random.choice((-1, -1, -1, 1)) * self._random.randrange(250, 9_000) for _ in days]
        running = cents - sum(changes)
        for passed, change in zip(days, changes, strict=True):
            running += change
            day = self.clock.today - timedelta(days=passed)
            text, kind = (self._random.choice(SHOPS), "card_payment") if change < 0 else ("MOBILE DEPOSIT", "deposit")
            self._post(account, day, change, running, text, kind)
        return account

    def _post(self, account: Account, day: date, change: int, running: int, text: str, kind: str) -> None:
        row: dict[str, Any] = {"id": self._id("txn"), "object": "transaction", "account_id": account.id}
        row |= {"date": day.isoformat(), "amount": write_dollars(change), "description": text, "type": kind}
        account.rows.append(row | {"running_balance": write_dollars(running)})

    def _document(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "invalid_json") from None

    def _app(self, request: Request) -> str:
        scheme, _, word = request.headers.get("authorization", "").partition(" ")
        try:
            name, _, secret = base64.b64decode(word).decode().partition(":")
        except ValueError:
            name, secret = "", ""
        if scheme != "Basic" or APPS.get(name) != secret:
            raise Fault(401, "unauthorized")
        return name

    def _granted(self, request: Request, permission: str) -> tuple[Link, Member]:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        link = self._tokens.get(token)
        if scheme != "Bearer" or not link or not link.member:
            raise Fault(401, "unauthorized")
        if link.status != "active":
            raise Fault(403, "link_inactive", link_status=link.status)
        if permission not in link.permissions:
            raise Fault(403, "permission_missing", permission)
        return link, link.member

    def _page_of(self, request: Request, rows: Sequence[dict[str, Any]]) -> Response:
        """A page of rows, which are newest first."""
        limit, start = request.query.get("limit", "25"), 0
        if not limit.isdecimal() or not 1 <= int(limit) <= 50:
            raise Fault(400, "invalid_field", "limit")
        if after := request.query.get("starting_after"):
            places = [place for place, row in enumerate(rows) if row["id"] == after]
            if not places:
                raise Fault(400, "invalid_field", "starting_after")
            start = places[0] + 1
        end = start + int(limit)
        return respond(200, {"object": "list", "data": rows[start:end], "has_more": end < len(rows)})

    def _show_link(self, link: Link) -> dict[str, Any]:
        return {
            "id": link.id,
            "object": "link",
            "status": link.status,
            "permissions": link.permissions,
            "member_number": link.member.number if link.member else None,
            "connect_url": f"/connect/{link.page}" if link.status == "pending" else None,
            "created": write_time(link.made),
            "expires": write_time(link.ends),
        }

    def _create_link(self, request: Request) -> Response:
        app, document = self._app(request), self._document(request)
        permissions, days = document.get("permissions"), document.get("duration_days")
        if not isinstance(permissions, list) or not permissions or any(one not in PERMISSIONS for one in permissions):
            raise Fault(400, "invalid_field", "permissions")
        if not isinstance(days, int) or not 1 <= days <= 90:
            raise Fault(400, "invalid_field", "duration_days")
        if not str(back := document.get("redirect_uri", "")).startswith("https://"):
            raise Fault(400, "invalid_field", "redirect_uri")
        made, state = self.clock.now, str(document.get("state", ""))
        ends = made + timedelta(days=days)
        link = Link(self._id("link"), app, self._word(24), permissions, made, ends, back, state)
        self._links[link.id] = link
        return respond(201, self._show_link(link))

    def _link(self, request: Request, id: str) -> Link:
        app, link = self._app(request), self._links.get(id)
        if not link or link.app != app:
            raise Fault(404, "not_found", message=f"No such link: {id}")
        return link

    def _revoke(self, request: Request, id: str) -> Response:
        link = self._link(request, id)
        if link.status not in ("pending", "active"):
            raise Fault(409, "link_inactive", link_status=link.status)
        link.status = "revoked"
        return respond(200, self._show_link(link))

    def _give_token(self, request: Request) -> Response:
        app = self._app(request)
        if request.field("grant_type") != "authorization_code":
            raise Fault(400, "unsupported_grant_type", "grant_type")
        code = request.field("code")
        found = [one for one in self._links.values() if code and one.code == code and one.app == app]
        if not found or not found[0].coded or self.clock.now - found[0].coded > timedelta(minutes=10):
            raise Fault(400, "invalid_grant", "code")
        link, token = found[0], f"at_{self._word(32)}"
        link.code = ""
        self._tokens[token] = link
        answer = {"access_token": token, "token_type": "bearer", "link": self._show_link(link)}
        return respond(200, answer, {"Cache-Control": "no-store"})

    def _show_account(self, account: Account) -> dict[str, Any]:
        shown = {"id": account.id, "object": "account", "type": account.kind, "name": account.name}
        return shown | {"routing_number": ROUTING, "last_four": account.number[-4:], "currency": "USD"}

    def _list_accounts(self, request: Request) -> Response:
        _, member = self._granted(request, "accounts")
        return self._page_of(request, [self._show_account(one) for one in member.accounts])

    def _find(self, request: Request, id: str, permission: str) -> Account:
        _, member = self._granted(request, permission)
        for account in member.accounts:
            if account.id == id:
                return account
        raise Fault(404, "not_found", message=f"No such account: {id}")

    def _account(self, request: Request, id: str) -> Response:
        return respond(200, self._show_account(self._find(request, id, "accounts")))

    def _available(self, account: Account) -> int:
        held = (one for one in self._transfers.values() if one.status in ("approved", "processing"))
        return account.cents - sum(one.cents for one in held if one.account is account)

    def _balances(self, request: Request, id: str) -> Response:
        account = self._find(request, id, "balances")
        shown = {"current": write_dollars(account.cents), "available": write_dollars(self._available(account))}
        shown |= {"currency": "USD"}
        return respond(200, {"object": "balances", "account_id": id, **shown, "as_of": write_time(self.clock.now)})

    def _list_transactions(self, request: Request, id: str) -> Response:
        account = self._find(request, id, "transactions")
        begin, end = request.query.get("from", "2000-01-01"), request.query.get("to", "2999-12-31")
        for name, day in (("from", begin), ("to", end)):
            if not re.fullmatch(r"\d{4}-[01]\d-[0-3]\d", day):
                raise Fault(400, "invalid_field", name)
        return self._page_of(request, [row for row in reversed(account.rows) if begin <= row["date"] <= end])

    def _show_transfer(self, transfer: Transfer) -> dict[str, Any]:
        is_open = transfer.status == "awaiting_approval"
        return {
            "id": transfer.id,
            "object": "transfer",
            "status": transfer.status,
            "account_id": transfer.account.id,
            "amount": write_dollars(transfer.cents),
            "recipient": transfer.asked["recipient"],
            "memo": transfer.asked.get("memo"),
            "approval_url": f"/approve/{transfer.page}" if is_open else None,
            "created": write_time(transfer.made),
        }

    def _create_transfer(self, request: Request) -> Response:
        link, _ = self._granted(request, "transfers")
        document = self._document(request)
        if not (key := request.headers.get("idempotency-key")):
            raise Fault(400, "missing_header", "Idempotency-Key")
        for one in self._transfers.values():
            if one.link is link and one.key == key:
                if one.asked != document:
                    raise Fault(409, "idempotency_key_reused", "Idempotency-Key")
                return respond(200, self._show_transfer(one), {"Idempotent-Replayed": "true"})
        account = self._find(request, str(document.get("account_id")), "transfers")
        recipient, cents = document.get("recipient"), read_cents(document.get("amount"))
        if not cents:
            raise Fault(400, "invalid_field", "amount")
        if not isinstance(recipient, dict) or not recipient.get("name"):
            raise Fault(400, "invalid_field", "recipient")
        if not is_routing_number(recipient.get("routing_number")):
            raise Fault(400, "invalid_field", "recipient.routing_number")
        if not re.fullmatch(r"\d{4,17}", str(recipient.get("account_number"))):
            raise Fault(400, "invalid_field", "recipient.account_number")
        if cents > self._available(account):
            raise Fault(422, "insufficient_funds", "amount")
        transfer = Transfer(self._id("xfer"), self._word(24), key, link, account, cents, document, self.clock.now)
        self._transfers[transfer.id] = transfer
        return respond(201, self._show_transfer(transfer))

    def _transfer(self, request: Request, id: str) -> Transfer:
        link, _ = self._granted(request, "transfers")
        transfer = self._transfers.get(id)
        if not transfer or transfer.link is not link:
            raise Fault(404, "not_found", message=f"No such transfer: {id}")
        return transfer

    def _list_transfers(self, request: Request) -> Response:
        link, _ = self._granted(request, "transfers")
        rows = [self._show_transfer(one) for one in self._transfers.values() if one.link is link]
        return self._page_of(request, rows[::-1])

    def _cancel(self, request: Request, id: str) -> Response:
        transfer = self._transfer(request, id)
        if transfer.status not in ("awaiting_approval", "approved"):
            raise Fault(409, "not_cancelable", transfer_status=transfer.status)
        transfer.status = "canceled"
        return respond(200, self._show_transfer(transfer))

    def _open_link(self, page: str) -> Link | None:
        return next((one for one in self._links.values() if one.page == page and one.status == "pending"), None)

    def _open_transfer(self, page: str) -> Transfer | None:
        transfers = (one for one in self._transfers.values() if one.page == page)
        return next((one for one in transfers if one.status == "awaiting_approval"), None)

    def _form(self, title: str, words: tuple[str, str], hint: str = "", status: int = 200) -> Response:
        fields = '<input name="member_number"><input name="passcode" type="password">'
        buttons = "".join(f'<button name="decision" value="{word}">{word.capitalize()}</button>' for word in words)
        return show(status, title, f'<p>{hint}</p><form method="post">{fields}{buttons}</form>')

    def _closed(self) -> Response:
        return show(410, "Cottonwood", "<p>This page has been used or has expired.</p>")

    def _member(self, request: Request) -> Member | None:
        member = self._members.get(request.field("member_number"))
        return member if member and member.passcode == request.field("passcode") else None

    def _connect_page(self, request: Request, page: str, hint: str = "", status: int = 200) -> Response:
        if not self._open_link(page):
            return self._closed()
        return self._form("Connect your account", ("authorize", "decline"), hint, status)

    def _connect(self, request: Request, page: str) -> Response:
        if not (link := self._open_link(page)):
            return self._closed()
        if not (member := self._member(request)):
            return self._connect_page(request, page, "The member number or the passcode is wrong.", 401)
        if request.field("decision") not in ("authorize", "decline"):
            return self._connect_page(request, page, "Choose one of the two.", 400)
        if request.field("decision") == "decline":
            link.status = "declined"
            return Response(302, "", {"Location": f"{link.back}?error=access_denied&state={link.state}"})
        link.status, link.member = "active", member
        link.code, link.coded = self._word(20), self.clock.now
        return Response(302, "", {"Location": f"{link.back}?code={link.code}&state={link.state}"})

    def _approve_page(self, request: Request, page: str, hint: str = "", status: int = 200) -> Response:
        if not (transfer := self._open_transfer(page)):
            return self._closed()
        title = f"Send ${write_dollars(transfer.cents)}"
        return self._form(title, ("approve", "reject"), hint, status)

    def _approve(self, request: Request, page: str) -> Response:
        if not (transfer := self._open_transfer(page)):
            return self._closed()
        if self._member(request) is not transfer.link.member:
            return self._approve_page(request, page, "The member number or the passcode is wrong.", 401)
        if request.field("decision") not in ("approve", "reject"):
            return self._approve_page(request, page, "Choose one of the two.", 400)
        if request.field("decision") == "reject":
            transfer.status = "rejected"
        else:
            transfer.status, transfer.approved = "approved", self.clock.now
        query = f"transfer={transfer.id}&result={transfer.status}"
        return Response(302, "", {"Location": f"{transfer.link.back}?{query}"})
