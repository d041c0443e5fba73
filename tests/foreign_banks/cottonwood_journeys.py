"""Two journeys at Cottonwood. The second has another member, other accounts and amounts, and two links at once."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

ALL = ["accounts", "balances", "transactions", "transfers"]
BACK = "https://plainbudget.example/connected"
AMOUNT = re.compile(r"^-?\d+\.\d\d$")
ISO_DAY = re.compile(r"^\d{4}-\d\d-\d\d$")


def cents(answer: Answer, place: str) -> int:
    """The cents in an amount, or 0."""
    value = str(answer.find(place))
    return round(float(value) * 100) if AMOUNT.search(value) else 0


def dollars(cents: int) -> str:
    return f"{cents / 100:.2f}"


class App:
    def __init__(self, walk: Walk, member: str, passcode: str) -> None:
        self.walk, self._member, self._passcode = walk, member, passcode
        self._basic = ("app_plainbudget", "sk_live_7Hq2mZ")

    def form(self, decision: str) -> dict[str, str]:
        return {"member_number": self._member, "passcode": self._passcode, "decision": decision}

    def today(self) -> str:
        return self.walk.now.date().isoformat()

    def app_call(
        self, name: str, method: str, path: str, status: int, members: Expected | None = None, **request: Any
    ) -> Answer:
        """A request that the app signs."""
        return self.walk.step(name, method, path, status, members, auth=self._basic, **request)

    def call(
        self,
        name: str,
        token: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        key: str = "",
        **request: Any,
    ) -> Answer:
        """A request with the token of a link."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if key:
            headers["Idempotency-Key"] = str(uuid5(NAMESPACE_URL, f"{self._member} {key}"))
        return self.walk.step(name, method, path, status, members, headers=headers, **request)

    def ask(self, name: str, state: str, days: int, permissions: list[str]) -> tuple[str, str]:
        """Create a link and return its id and page."""
        members = {
            "id": re.compile(r"^link_\w{16}$"),
            "object": "link",
            "status": "pending",
            "permissions": permissions,
            "member_number": None,
            "connect_url": re.compile(r"^/connect/\w{24}$"),
            "created": int,
            "expires": int,
        }
        document = {"permissions": permissions, "duration_days": days, "redirect_uri": BACK, "state": state}
        link = self.app_call(name, "POST", "/v1/links", 201, members, json=document)
        return str(link.find("id")), str(link.find("connect_url"))

    def authorize(self, name: str, page: str, state: str) -> str:
        """Return the code."""
        members = {"@Location": re.compile(rf"^{re.escape(BACK)}\?code=\w+&state={state}$")}
        answer = self.walk.step(name, "POST", page, 302, members, data=self.form("authorize"))
        return parse_qs(urlsplit(answer.find("@Location") or "").query).get("code", [""])[0]

    def exchange(self, name: str, code: str, link: str) -> str:
        """Return the token of a link."""
        members = {
            "access_token": str,
            "token_type": "bearer",
            "link.id": link,
            "link.status": "active",
            "link.member_number": self._member,
            "link.connect_url": None,
            "@Cache-Control": "no-store",
        }
        form = {"grant_type": "authorization_code", "code": code}
        return str(self.app_call(name, "POST", "/oauth/token", 200, members, data=form).find("access_token"))

    def decline(self, name: str, page: str, state: str) -> None:
        members = {"@Location": f"{BACK}?error=access_denied&state={state}"}
        self.walk.step(name, "POST", page, 302, members, data=self.form("decline"))

    def send(self, name: str, token: str, key: str, document: dict[str, Any]) -> tuple[str, str]:
        """Create a transfer and return its path and page."""
        members = {
            "id": re.compile(r"^xfer_\w{16}$"),
            "object": "transfer",
            "status": "awaiting_approval",
            "account_id": document["account_id"],
            "amount": document["amount"],
            "recipient": document["recipient"],
            "memo": document["memo"],
            "approval_url": re.compile(r"^/approve/\w{24}$"),
        }
        made = self.call(name, token, "POST", "/v1/transfers", 201, members, key, json=document)
        return f"/v1/transfers/{made.find('id')}", str(made.find("approval_url"))

    def decide(self, name: str, page: str, transfer: str, decision: str, result: str) -> None:
        members = {"@Location": f"{BACK}?transfer={transfer.rpartition('/')[2]}&result={result}"}
        self.walk.step(name, "POST", page, 302, members, data=self.form(decision))


def refusal(code: str, **more: Any) -> Expected:
    return {"error.code": code, "error.message": str, **{f"error.{name}": value for name, value in more.items()}}


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = App(walk, "4471903", "juniper-29")
    wrong = {"permissions": ["accounts", "cards"], "duration_days": 30, "redirect_uri": BACK, "state": "s-51"}
    bad = refusal("invalid_field", param="permissions")
    app.app_call("unknown permission", "POST", "/v1/links", 400, bad, json=wrong)
    link, page = app.ask("link", "s-52", 30, ALL)
    walk.step("page", "GET", page, 200, PAGE | {"page": re.compile("Connect your account")})
    form = app.form("authorize") | {"passcode": "juniper"}
    walk.step("page with a wrong passcode", "POST", page, 401, PAGE, data=form)
    code = app.authorize("customer authorizes", page, "s-52")
    token = app.exchange("token", code, link)
    app.call("accounts without a token", "", "GET", "/v1/accounts", 401, refusal("unauthorized"))
    members: dict[str, Any] = {
        "object": "list",
        "data.#": 2,
        "data.0.id": re.compile(r"^acct_\w{16}$"),
        "data.0.object": "account",
        "data.0.type": "checking",
        "data.0.name": "Everyday Checking",
        "data.0.routing_number": "307087713",
        "data.0.last_four": re.compile(r"^\d{4}$"),
        "data.0.currency": "USD",
        "has_more": False,
    }
    account = str(app.call("accounts", token, "GET", "/v1/accounts", 200, members).find("data.0.id"))
    one = f"/v1/accounts/{account}"
    unknown = "/v1/accounts/acct_0000000000000000/balances"
    app.call("balances of an unknown account", token, "GET", unknown, 404, refusal("not_found"))
    members = {"object": "balances", "account_id": account, "current": AMOUNT, "available": AMOUNT, "as_of": int}
    current = cents(app.call("balances", token, "GET", f"{one}/balances", 200, members), "current")
    members = {
        "data.#": 20,
        "data.0.id": re.compile(r"^txn_\w{16}$"),
        "data.0.account_id": account,
        "data.0.date": ISO_DAY,
        "data.0.amount": AMOUNT,
        "data.0.running_balance": dollars(current),
        "has_more": True,
    }
    since = {"from": (walk.now - 90 * DAY).date().isoformat(), "limit": "20"}
    rows = app.call("transactions", token, "GET", f"{one}/transactions", 200, members, params=since)
    after = since | {"starting_after": str(rows.find("data.19.id"))}
    members = {"data.#": 8, "has_more": False}
    app.call("rest of them", token, "GET", f"{one}/transactions", 200, members, params=after)

    landlord = {"name": "Kestrel Property Group", "routing_number": "102001017", "account_number": "88120457"}
    rent = {"account_id": account, "amount": "845.50", "recipient": landlord, "memo": "Rent July"}
    much = rent | {"amount": dollars(current + 5_000)}
    poor = refusal("insufficient_funds", param="amount")
    app.call("transfer without cover", token, "POST", "/v1/transfers", 422, poor, "much", json=much)
    transfer, page = app.send("transfer", token, "rent", rent)
    app.decide("customer approves", page, transfer, "approve", "approved")
    members = {"id": transfer.rpartition("/")[2], "status": "approved", "approval_url": None}
    members["@Idempotent-Replayed"] = "true"
    app.call("same transfer again", token, "POST", "/v1/transfers", 200, members, "rent", json=rent)
    members = {"current": dollars(current), "available": dollars(current - 84_550)}
    app.call("balances with the amount held", token, "GET", f"{one}/balances", 200, members)
    wait(timedelta(seconds=90))
    app.call("transfer is processing", token, "GET", transfer, 200, {"status": "processing", "amount": "845.50"})
    late = refusal("not_cancelable", transfer_status="processing")
    app.call("too late to cancel", token, "POST", f"{transfer}/cancel", 409, late)
    wait(timedelta(minutes=5))
    app.call("transfer is settled", token, "GET", transfer, 200, {"status": "settled"})
    current -= 84_550
    members = {"current": dollars(current), "available": dollars(current)}
    app.call("balances after", token, "GET", f"{one}/balances", 200, members)
    members = {
        "data.#": 1,
        "data.0.date": ISO_DAY,
        "data.0.amount": "-845.50",
        "data.0.description": "Transfer to Kestrel Property Group",
        "data.0.type": "transfer",
        "data.0.running_balance": dollars(current),
        "has_more": False,
    }
    today = {"from": app.today()}
    app.call("transactions after", token, "GET", f"{one}/transactions", 200, members, params=today)

    vet = {"name": "Mesa Animal Clinic", "routing_number": "107005047", "account_number": "3301998"}
    bill = {"account_id": account, "amount": "62.00", "recipient": vet, "memo": "Invoice 2207"}
    rejected, page = app.send("transfer to reject", token, "vet", bill)
    app.decide("customer rejects", page, rejected, "reject", "rejected")
    canceled, _ = app.send("transfer to cancel", token, "vet again", bill | {"amount": "26.00"})
    members = {"status": "canceled", "approval_url": None}
    app.call("cancel", token, "POST", f"{canceled}/cancel", 200, members)
    members = {
        "object": "list",
        "data.#": 3,
        "data.0.status": "canceled",
        "data.1.status": "rejected",
        "data.2.status": "settled",
        "has_more": False,
    }
    app.call("transfers", token, "GET", "/v1/transfers", 200, members)

    declined, page = app.ask("link to decline", "s-53", 10, ["accounts", "balances"])
    app.decline("customer declines", page, "s-53")
    members = {"status": "declined", "member_number": None, "connect_url": None}
    app.app_call("link is declined", "GET", f"/v1/links/{declined}", 200, members)
    revoked, _ = app.ask("link to revoke", "s-54", 10, ["accounts"])
    members = {"id": revoked, "status": "revoked", "connect_url": None}
    app.app_call("revoke", "POST", f"/v1/links/{revoked}/revoke", 200, members)
    wait(31 * DAY)
    app.app_call("first link has expired", "GET", f"/v1/links/{link}", 200, {"status": "expired"})
    ended = refusal("link_inactive", link_status="expired")
    app.call("accounts after that", token, "GET", "/v1/accounts", 403, ended)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = App(walk, "8820164", "sagebrush7")
    look, page = app.ask("link to look", "visit-7", 2, ["accounts", "balances"])
    code = app.authorize("customer authorizes it", page, "visit-7")
    looking = app.exchange("token to look", code, look)
    members: dict[str, Any] = {"object": "list", "data.0.id": str, "data.0.object": "account", "has_more": False}
    members["data.0.routing_number"] = "307087713"
    seen = str(app.call("accounts to look at", looking, "GET", "/v1/accounts", 200, members).find("data.0.id"))
    members = {"object": "balances", "account_id": seen, "current": AMOUNT, "available": AMOUNT}
    app.call("balances to look at", looking, "GET", f"/v1/accounts/{seen}/balances", 200, members)

    wrong = {"permissions": ["loans"], "duration_days": 45, "redirect_uri": BACK, "state": "visit-8"}
    bad = refusal("invalid_field", param="permissions")
    app.app_call("unknown permission", "POST", "/v1/links", 400, bad, json=wrong)
    link, page = app.ask("link to pay", "visit-8", 45, ["transfers", "accounts", "transactions", "balances"])
    form = app.form("authorize") | {"passcode": "sagebrush8"}
    walk.step("page with a wrong passcode", "POST", page, 401, PAGE, data=form)
    walk.step("page is still open", "GET", page, 200, PAGE | {"page": re.compile("Connect your account")})
    code = app.authorize("customer authorizes the other", page, "visit-8")
    token = app.exchange("token to pay", code, link)
    app.call("accounts with a made-up token", "at_none", "GET", "/v1/accounts", 401, refusal("unauthorized"))
    account = str(app.call("accounts", token, "GET", "/v1/accounts", 200, {"has_more": False}).find("data.0.id"))
    one = f"/v1/accounts/{account}"
    members = {"data.#": 12, "data.0.account_id": account, "data.0.amount": AMOUNT, "has_more": True}
    rows = app.call("transactions", token, "GET", f"{one}/transactions", 200, members, params={"limit": "12"})
    after = {"limit": "12", "starting_after": str(rows.find("data.11.id"))}
    members = {"data.#": 12, "data.0.date": ISO_DAY}
    app.call("more of them", token, "GET", f"{one}/transactions", 200, members, params=after)
    today = {"from": app.today()}
    members = {"object": "list", "data.#": 0, "has_more": False}
    app.call("transactions of today", token, "GET", f"{one}/transactions", 200, members, params=today)
    unknown = "/v1/accounts/acct_7777777777777777/transactions"
    app.call("transactions of an unknown account", token, "GET", unknown, 404, refusal("not_found"))
    balances = app.call("balances", token, "GET", f"{one}/balances", 200, {"account_id": account, "current": AMOUNT})
    current = cents(balances, "current")

    school = {"name": "Larkspur Music School", "routing_number": "291070001", "account_number": "610044872"}
    fee = {"account_id": account, "amount": "118.25", "recipient": school, "memo": "Cello, August"}
    canceled, _ = app.send("transfer to cancel", token, "first fee", fee)
    members = {"id": canceled.rpartition("/")[2], "status": "canceled", "amount": "118.25"}
    app.call("cancel", token, "POST", f"{canceled}/cancel", 200, members)
    much = fee | {"amount": dollars(current + 1)}
    poor = refusal("insufficient_funds", param="amount")
    app.call("a cent too much", token, "POST", "/v1/transfers", 422, poor, "much", json=much)
    transfer, page = app.send("transfer", token, "second fee", fee | {"amount": "181.25"})
    app.decide("customer approves", page, transfer, "approve", "approved")
    app.call("transfer is approved", token, "GET", transfer, 200, {"status": "approved", "approval_url": None})
    members = {"current": dollars(current), "available": dollars(current - 18_125)}
    app.call("balances with the amount held", token, "GET", f"{one}/balances", 200, members)
    rejected, page = app.send("transfer to reject", token, "donation", fee | {"amount": "20.00", "memo": "Donation"})
    app.decide("customer rejects", page, rejected, "reject", "rejected")
    no = refusal("not_cancelable", transfer_status="rejected")
    app.call("cancel the rejected one", token, "POST", f"{rejected}/cancel", 409, no)
    wait(timedelta(minutes=2))
    app.call("transfer is processing", token, "GET", transfer, 200, {"status": "processing", "approval_url": None})
    wait(timedelta(minutes=6))
    app.call("transfer is settled", token, "GET", transfer, 200, {"status": "settled", "memo": "Cello, August"})
    current -= 18_125
    members = {"current": dollars(current), "available": dollars(current)}
    app.call("balances after", token, "GET", f"{one}/balances", 200, members)
    members = {
        "data.#": 1,
        "data.0.amount": "-181.25",
        "data.0.description": "Transfer to Larkspur Music School",
        "data.0.type": "transfer",
        "data.0.running_balance": dollars(current),
        "has_more": True,
    }
    newest = {"limit": "1"}
    app.call("newest transaction", token, "GET", f"{one}/transactions", 200, members, params=newest)
    members = {"data.#": 3, "data.0.status": "rejected", "data.1.status": "settled", "data.2.status": "canceled"}
    app.call("transfers", token, "GET", "/v1/transfers", 200, members)

    wait(2 * DAY)
    app.app_call("link to look has expired", "GET", f"/v1/links/{look}", 200, {"status": "expired"})
    ended = refusal("link_inactive", link_status="expired")
    app.call("balances after that", looking, "GET", f"/v1/accounts/{seen}/balances", 403, ended)
    members = {"id": link, "status": "revoked", "member_number": "8820164"}
    app.app_call("revoke the other", "POST", f"/v1/links/{link}/revoke", 200, members)
    ended = refusal("link_inactive", link_status="revoked")
    app.call("transfer after that", token, "GET", transfer, 403, ended)
    declined, page = app.ask("link to decline", "visit-9", 5, ALL)
    app.decline("customer declines", page, "visit-9")
    members = {"id": declined, "status": "declined", "connect_url": None}
    app.app_call("link is declined", "GET", f"/v1/links/{declined}", 200, members)
    return walk.steps
