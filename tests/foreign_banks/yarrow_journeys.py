"""Two journeys of the app Plumtree and its customers at Yarrow."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://plumtree.example/return"
VERSION = "2026-03-01"
EVERYTHING = ["accounts.read", "balances.read", "activity.read"]
CONNECTIONS, PAYMENTS = "/connections", "/payments"
HOSTED = re.compile(r"^/hosted/\w{20}$")
ACCOUNT = re.compile(r"^acc_\w{12}$")


def number(answer: Answer, place: str) -> int:
    """The number at this place, or 0."""
    value = answer.find(place)
    return value if isinstance(value, int) else 0


class YarrowApp:
    def __init__(self, walk: Walk, username: str, password: str) -> None:
        self.walk, self._username, self._password = walk, username, password
        self._token: Any = None

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).date().isoformat()

    def get_token(self, name: str) -> None:
        members = {"access_token": re.compile(r"^yat_\w{40}$"), "token_type": "Bearer", "expires_in": 2700}
        form, basic = {"grant_type": "client_credentials"}, ("app_plumtree", "sk_9f1c77ab")
        self._token = self.walk.step(name, "POST", "/oauth2/token", 200, members, data=form, auth=basic).find(
            "access_token"
        )

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected,
        *,
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        sent = {"Yarrow-Version": VERSION} if headers is None else headers
        if self._token:
            sent = {**sent, "Authorization": f"Bearer {self._token}"}
        expected = {"@Yarrow-Trace": re.compile(r"^trc_\w{18}$"), **members}
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def refuse(
        self, name: str, method: str, path: str, status: int, code: str, part: str = "", at: str = "", **request: Any
    ) -> Answer:
        members: dict[str, Any] = {"problem.code": code, "problem.message": str, "problem.trace": re.compile("^trc_")}
        if part:
            members |= {"problem.details.0.where.part": part, "problem.details.0.where.path": at}
        return self.call(name, method, path, status, members, **request)

    def refuse_phase(self, name: str, path: str, phase: str) -> None:
        refused = self.refuse(name, "GET", path, 403, "connection_not_live", "connection", "phase")
        step = self.walk.steps[-1]
        members = {**step.members, "problem.details.0.given": phase}
        self.walk.steps[-1] = Step(step.name, step.request, step.status, members, refused)

    def wish(self, access: list[str], days: int, passthrough: str) -> dict[str, Any]:
        return {"access": access, "lifetime": {"days": days}, "redirect_uri": BACK, "passthrough": passthrough}

    def connect(self, name: str, wish: dict[str, Any]) -> tuple[Any, Any]:
        """Return the connection's id and the customer's page."""
        members = {
            "id": re.compile(r"^cnx_\w{14}$"),
            "phase": "fresh",
            "access": wish["access"],
            "account_ids.#": 0,
            "ends_at": re.compile("^" + self.day(wish["lifetime"]["days"])),
            "hosted_page.url": HOSTED,
            "@Yarrow-Version": VERSION,
        }
        made = self.call(name, "POST", CONNECTIONS, 201, members, json=wish)
        return made.find("id"), made.find("hosted_page.url")

    def look_connection(self, name: str, connection: Any, phase: str, accounts: list[str]) -> None:
        members = {"id": connection, "phase": phase, "account_ids": accounts, "hosted_page": None}
        self.call(name, "GET", f"{CONNECTIONS}/{connection}", 200, members)

    def end(self, name: str, connection: Any) -> None:
        members = {"id": connection, "phase": "ended"}
        self.call(name, "PATCH", f"{CONNECTIONS}/{connection}", 200, members, json={"phase": "ended"})

    def log_in(self, name: str, page: Any, shown: str) -> tuple[str, list[str]]:
        """Return the ticket and the accounts to pick from."""
        form = {"username": self._username, "password": self._password}
        members = PAGE | {"page": re.compile(shown)}
        fields = self.walk.step(name, "POST", f"{page}/login", 200, members, data=form).fields
        return fields.get("ticket", [""])[0], fields.get("account_ids", [])

    def mistype(self, name: str, page: Any, password: str) -> None:
        form = {"username": self._username, "password": password}
        members = PAGE | {"page": re.compile("username and password do not match")}
        self.walk.step(name, "POST", f"{page}/login", 401, members, data=form)

    def choose(
        self, name: str, page: Any, ticket: str, answer: str, id: Any, passthrough: str, accounts: list[str] | None
    ) -> None:
        kind = "payment" if str(id).startswith("pay_") else "connection"
        result = {"allow": "granted", "deny": "denied"}[answer]
        form: dict[str, Any] = {"ticket": ticket, "answer": answer}
        if accounts:
            form["account_ids"] = accounts
        members = {"@Location": f"{BACK}?{kind}={id}&result={result}&passthrough={passthrough}"}
        self.walk.step(name, "POST", f"{page}/choice", 302, members, data=form)

    def balances(self, name: str, path: str, ledger: int | None = None, spendable: int | None = None) -> int:
        members = {
            "account_id": ACCOUNT,
            "ledger.minor": int if ledger is None else ledger,
            "spendable.minor": int if spendable is None else spendable,
            "spendable.currency": "GBP",
        }
        return number(self.call(name, "GET", f"{path}/balances", 200, members), "ledger.minor")

    def payment(self, account: str, payee: tuple[str, str, str], minor: int, memo: str) -> dict[str, Any]:
        who = {"name": payee[0], "sort_code": payee[1], "account_number": payee[2]}
        body = {"from_account": account, "payee": who, "amount": {"minor": minor, "currency": "GBP"}, "memo": memo}
        return body | {"redirect_uri": BACK, "passthrough": f"p{minor}"}

    def key(self, name: str) -> dict[str, str]:
        key = str(uuid5(NAMESPACE_URL, f"{self._username} {name}"))
        return {"Yarrow-Version": VERSION, "Idempotency-Key": key}

    def pay(self, name: str, payment: dict[str, Any]) -> Any:
        members = {name: payment[name] for name in ("from_account", "payee", "amount", "memo")}
        members |= {"id": re.compile(r"^pay_\w{14}$"), "phase": "screening", "reason": None, "hosted_page": None}
        members["@Location"] = re.compile(r"^/payments/pay_\w{14}$")
        return self.call(name, "POST", PAYMENTS, 202, members, headers=self.key(name), json=payment).find("id")

    def follow(self, name: str, payment: Any, phase: str, more: Expected | None = None) -> Answer:
        members = {"id": payment, "phase": phase, **(more or {})}
        return self.call(name, "GET", f"{PAYMENTS}/{payment}", 200, members)

    def cancel(self, name: str, payment: Any) -> Any:
        members = {"id": re.compile(r"^act_\w{14}$"), "type": "cancel", "phase": "working"}
        members |= {"target.id": payment, "target.phase": "cancelling"}
        path = f"{PAYMENTS}/{payment}/actions"
        return self.call(name, "POST", path, 202, members, json={"type": "cancel"}).find("id")

    def refuse_cancel(self, name: str, payment: Any) -> None:
        path, body = f"{PAYMENTS}/{payment}/actions", {"type": "cancel"}
        self.refuse(name, "POST", path, 409, "cannot_cancel", "payment", "phase", json=body)

    def follow_cancel(self, name: str, payment: Any, action: Any) -> None:
        members = {"id": action, "phase": "done", "target.id": payment, "target.phase": "cancelled"}
        self.call(name, "GET", f"{PAYMENTS}/{payment}/actions/{action}", 200, members)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = YarrowApp(walk, "imogen.hale", "copper-kettle-9")
    app.get_token("token")
    wish = app.wish(EVERYTHING, 30, "imogen1")
    place = ("header", "Yarrow-Version")
    app.refuse("no version", "POST", CONNECTIONS, 400, "header_required", *place, headers={}, json=wish)
    wrong = app.wish(["accounts.read", "cards.read"], 30, "imogen1")
    app.refuse("unknown access", "POST", CONNECTIONS, 422, "invalid_body", "body", "access", json=wrong)
    connection, page = app.connect("connection", wish)
    app.mistype("customer mistypes the password", page, "copper-kettle-8")
    ticket, accounts = app.log_in("customer logs in", page, "What may Plumtree see")
    picked = accounts[:2]
    app.choose("customer allows two accounts", page, ticket, "allow", connection, "imogen1", picked)
    app.look_connection("connection is live", connection, "live", picked)
    members: dict[str, Any] = {
        "items.#": 2,
        "items.0.id": ACCOUNT,
        "items.0.label": "Main",
        "items.0.currency": "GBP",
        "items.0.routing.sort_code": "60-84-11",
        "items.0.routing.account_number": re.compile(r"^\d{8}$"),
        "items.1.kind": "pot",
        "has_more": False,
        "after": None,
    }
    root = f"{CONNECTIONS}/{connection}/accounts"
    account = app.call("accounts", "GET", root, 200, members).find("items.0.id")
    main = f"{root}/{account}"
    ledger = app.balances("balances", main)
    query = {"booked_from": app.day(-79), "booked_to": app.day(-1), "direction": "out", "limit": "4"}
    members = {"items.#": 4, "items.0.id": re.compile(r"^txn_\w{16}$"), "items.0.amount.minor": int}
    members |= {"items.0.direction": "out", "items.0.category": "card", "has_more": True, "after": str}
    page_one = app.call("activity", "GET", f"{main}/activity", 200, members, params=query)
    query["after"] = str(page_one.find("after"))
    app.call("more activity", "GET", f"{main}/activity", 200, {"items.#": 4, "has_more": True}, params=query)
    nowhere = f"{root}/acc_000000000000/balances"
    app.refuse("balances of an unknown account", "GET", nowhere, 404, "no_such_account", "path", "account_id")

    plumber = ("Ivo Marsh Plumbing", "20-45-77", "31940286")
    nothing = app.payment(str(account), plumber, 0, "Boiler service")
    place, key = ("body", "amount.minor"), app.key("nothing")
    app.refuse("payment of nothing", "POST", PAYMENTS, 422, "invalid_body", *place, headers=key, json=nothing)
    paid = app.pay("payment", app.payment(str(account), plumber, 18_640, "Boiler service"))
    wait(timedelta(seconds=15))
    members = {"hosted_page.url": HOSTED}
    page = app.follow("payment needs approval", paid, "needs_approval", members).find("hosted_page.url")
    ticket, _ = app.log_in("customer logs in to pay", page, "Send £186.40 to Ivo Marsh Plumbing")
    app.choose("customer allows the payment", page, ticket, "allow", paid, "p18640", None)
    app.follow("payment is approved", paid, "approved", {"hosted_page": None})
    app.balances("balances with the amount held", main, ledger, ledger - 18_640)
    wait(timedelta(minutes=2))
    app.follow("payment is moving", paid, "moving")
    app.refuse_cancel("cancel it too late", paid)
    wait(timedelta(minutes=10))
    app.follow("payment is settled", paid, "settled", {"amount.minor": 18_640, "reason": None})
    app.balances("balances after", main, ledger - 18_640, ledger - 18_640)
    members = {
        "items.#": 1,
        "items.0.direction": "out",
        "items.0.amount": {"minor": 18_640, "currency": "GBP"},
        "items.0.counterparty.name": "Ivo Marsh Plumbing",
        "items.0.memo": "Boiler service",
        "items.0.category": "transfer",
        "items.0.booked_on": app.day(0),
        "has_more": False,
        "after": None,
    }
    app.call("activity after", "GET", f"{main}/activity", 200, members, params={"booked_from": app.day(0)})

    much = app.pay("payment above the balance", app.payment(str(account), plumber, 9_900_000, "New boiler"))
    stopped = app.pay("payment to cancel", app.payment(str(account), plumber, 4_500, "Call-out fee"))
    action = app.cancel("cancel it", stopped)
    wait(timedelta(seconds=45))
    app.follow("payment is blocked", much, "blocked", {"reason.code": "not_enough_money", "hosted_page": None})
    app.follow_cancel("cancelling is done", stopped, action)
    other, page = app.connect("another connection", app.wish(["accounts.read"], 7, "imogen2"))
    ticket, _ = app.log_in("customer logs in again", page, "What may Plumtree see")
    app.choose("customer denies it", page, ticket, "deny", other, "imogen2", None)
    app.look_connection("other connection is spurned", other, "spurned", [])
    app.end("end the connection", connection)
    app.refuse_phase("accounts after the end", root, "ended")
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = YarrowApp(walk, "tobias.wren", "Harbour!1987")
    app.get_token("token")
    unwanted, no = app.connect("connection to deny", app.wish(["accounts.read", "balances.read"], 90, "wrenA"))
    place, wrong = ("body", "lifetime.days"), app.wish(EVERYTHING, 0, "wrenB")
    app.refuse("connection for no time", "POST", CONNECTIONS, 422, "invalid_body", *place, json=wrong)
    wish = app.wish(["activity.read", "balances.read", "accounts.read"], 12, "wrenB")
    connection, yes = app.connect("connection", wish)
    ticket, accounts = app.log_in("customer logs in", yes, "What may Plumtree see")
    ticket_no, _ = app.log_in("customer logs in to the first", no, 'type="checkbox"')
    app.choose("customer denies the first", no, ticket_no, "deny", unwanted, "wrenA", None)
    picked = accounts[1:]
    app.choose("customer allows one account", yes, ticket, "allow", connection, "wrenB", picked)
    app.look_connection("connection is live", connection, "live", picked)
    app.refuse_phase("accounts by the first", f"{CONNECTIONS}/{unwanted}/accounts", "spurned")
    root = f"{CONNECTIONS}/{connection}/accounts"
    members: dict[str, Any] = {"items.#": 1, "items.0.id": ACCOUNT, "items.0.currency": "GBP", "has_more": False}
    account = str(app.call("accounts", "GET", root, 200, members).find("items.0.id"))
    studio = f"{root}/{account}"
    query = {"booked_from": app.day(-79), "limit": "6"}
    members = {"items.#": 6, "items.5.id": str, "items.5.amount.currency": "GBP", "has_more": True, "after": str}
    page_one = app.call("activity", "GET", f"{studio}/activity", 200, members, params=query)
    query["after"] = str(page_one.find("after"))
    app.call("more activity", "GET", f"{studio}/activity", 200, {"items.#": 6, "has_more": True}, params=query)
    nowhere = f"{root}/acc_zzzzzzzzzzzz/activity"
    app.refuse("activity of an unknown account", "GET", nowhere, 404, "no_such_account", "path", "account_id")
    ledger = app.balances("balances", studio)

    framer, printer = ("Odile Framing Ltd", "77-10-02", "55017392"), ("Redwing Print", "09-01-28", "60441875")
    frames = app.payment(account, framer, 64_250, "Invoice 2207")
    place, keyless = ("header", "Idempotency-Key"), {"Yarrow-Version": VERSION}
    app.refuse("no key", "POST", PAYMENTS, 400, "header_required", *place, headers=keyless, json=frames)
    paid = app.pay("payment to the framer", frames)
    denied = app.pay("payment to the printer", app.payment(account, printer, 12_099, "Posters"))
    stopped = app.pay("another to the framer", app.payment(account, framer, 3_380, "Invoice 2208"))
    wait(timedelta(seconds=25))
    members = {"hosted_page.url": HOSTED}
    no = app.follow("second needs approval", denied, "needs_approval", members).find("hosted_page.url")
    yes = app.follow("first needs approval", paid, "needs_approval", members).find("hosted_page.url")
    app.mistype("customer mistypes the password", no, "harbour1987")
    ticket_no, _ = app.log_in("customer logs in for the second", no, "Redwing Print")
    ticket, _ = app.log_in("customer logs in for the first", yes, "Odile Framing Ltd")
    app.choose("customer allows the first", yes, ticket, "allow", paid, "p64250", None)
    app.choose("customer denies the second", no, ticket_no, "deny", denied, "p12099", None)
    action = app.cancel("cancel the third", stopped)
    app.balances("balances with one amount held", studio, ledger, ledger - 64_250)
    app.refuse_cancel("cancel the second", denied)
    wait(timedelta(minutes=15))
    app.follow_cancel("cancelling is done", stopped, action)
    app.follow("first is settled", paid, "settled", {"amount.minor": 64_250})
    app.balances("balances after", studio, ledger - 64_250, ledger - 64_250)
    app.follow("third is cancelled", stopped, "cancelled", {"hosted_page": None})
    query = {"booked_from": app.day(-1), "booked_to": app.day(0), "direction": "out", "limit": "1"}
    members = {"items.#": 1, "items.0.amount.minor": 64_250, "items.0.counterparty.name": "Odile Framing Ltd"}
    members |= {"items.0.memo": "Invoice 2207", "items.0.category": "transfer"}
    app.call("activity after", "GET", f"{studio}/activity", 200, members, params=query)
    app.end("end the connection", connection)
    app.refuse_phase("balances after the end", f"{studio}/balances", "ended")
    return walk.steps
