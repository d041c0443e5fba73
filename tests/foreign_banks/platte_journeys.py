"""Two journeys of the app Hayloft and its customers at Platte."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://hayloft.example/platte/back"
GRANTS, ACCOUNTS, TRANSFERS = "/consumer/v3/grants", "/consumer/v3/accounts", "/money-movement/v3/transfers"
EVERYTHING = ["balances", "activity", "transfers"]
SECURE = re.compile(r"^http://[^/]+/secure/\w{20}$")
ROOFER = {"name": "Ogallala Roofing", "routingNumber": "107311223", "accountNumber": "4400187265"}
CHURCH = {"name": "First Methodist", "routingNumber": "104068032", "accountNumber": "90021774"}
TUTOR = {"name": "Imani Brooks", "routingNumber": "111002557", "accountNumber": "5518830042"}


def cents(answer: Answer, place: str) -> int:
    """The number at this place, or 0."""
    value = answer.find(place)
    return value if isinstance(value, int) else 0


class HayloftApp:
    def __init__(self, walk: Walk, online_id: str, password: str) -> None:
        self.walk, self._login = walk, {"onlineId": online_id, "password": password}
        self.access: Any = None

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).date().isoformat()

    def _name(self, word: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"{self._login['onlineId']} {word}"))

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        *,
        once: bool = False,
        app: bool = True,
        **request: Any,
    ) -> Answer:
        headers = {"X-App-Key": "ak_hayloft_71"} if app else {}
        if self.access and not path.startswith(GRANTS):
            headers["Authorization"] = f"Bearer {self.access}"
        if once:
            headers["X-Once-Token"] = self._name(name)
        expected: dict[str, Any] = {"@X-Request-Id": re.compile(r"^rq_\w{18}$")}
        if status < 400:
            expected |= {"trace.requestId": re.compile(r"^rq_\w{18}$"), "trace.servedAt": str}
        return self.walk.step(name, method, path, status, expected | dict(members or {}), headers=headers, **request)

    def refuse(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        kind: str = "",
        members: Expected | None = None,
        **request: Any,
    ) -> None:
        expected: dict[str, Any] = {"@Content-Type": "application/problem+json", "status": status}
        expected |= {"instance": re.compile(r"^urn:platte:request:rq_\w{18}$"), **(members or {})}
        if kind:
            expected["type"] = f"urn:platte:problem:{kind}"
        self.call(name, method, path, status, expected, **request)

    def wish(self, scopes: list[str], days: int, state: str) -> dict[str, Any]:
        return {"scopes": scopes, "days": days, "redirectUri": BACK, "appState": state}

    def ask(self, name: str, scopes: list[str], days: int, state: str) -> tuple[Any, Any]:
        """Return the grant's id and the customer's page."""
        members = {
            "result.grantId": re.compile(r"^gnt_\w{12}$"),
            "result.phase": "AWAITING_HOLDER",
            "result.scopes": scopes,
            "result.days": days,
            "result.appState": state,
            "result.createdAt": re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"),
            "result.endsAt": re.compile(f"^{self.day(days)}T"),
            "result.holderPage": SECURE,
            "@Location": re.compile(r"^/consumer/v3/grants/gnt_\w{12}$"),
        }
        made = self.call(name, "POST", GRANTS, 201, members, json=self.wish(scopes, days, state))
        return made.find("result.grantId"), made.find("result.holderPage")

    def log_in(self, name: str, page: Any) -> Any:
        members = {"@Location": re.compile(r"^/secure/\w{20}/choice/\w{16}$")}
        return self.walk.step(name, "POST", page, 303, members, data=self._login).find("@Location")

    def mistype(self, name: str, page: Any, password: str, **more: str) -> None:
        members = PAGE | {"page": re.compile("online id and password do not match")}
        self.walk.step(name, "POST", page, 401, members, data=self._login | {"password": password} | more)

    def agree(self, name: str, choice: Any, grant: Any, state: str, share: list[str]) -> str:
        """Return the ticket."""
        members = {"@Location": re.compile(rf"^{BACK}\?grant={grant}&answer=yes&ticket=tk_\w{{24}}&state={state}$")}
        sent = {"share": share, "answer": "yes"}
        location = self.walk.step(name, "POST", choice, 303, members, data=sent).find("@Location")
        return parse_qs(urlsplit(str(location)).query).get("ticket", [""])[0]

    def refuse_grant(self, name: str, choice: Any, grant: Any, state: str) -> None:
        members = {"@Location": f"{BACK}?grant={grant}&answer=no&state={state}"}
        self.walk.step(name, "POST", choice, 303, members, data={"answer": "no"})

    def redeem(self, name: str, grant: Any, ticket: str, share: list[str]) -> None:
        members = {
            "result.grantId": grant,
            "result.phase": "LIVE",
            "result.sharedAccounts": share,
            "result.accessKey": re.compile(r"^pk_\w{32}$"),
            "result.holderPage": None,
        }
        path, sent = f"{GRANTS}/{grant}/redeem", {"ticket": ticket}
        self.access = self.call(name, "POST", path, 200, members, json=sent).find("result.accessKey")

    def balances(self, name: str, account: Any, posted: Any = int, held: Any = int) -> Answer:
        spendable = posted - held if isinstance(posted, int) and isinstance(held, int) else int
        members = {
            "result.accountId": account,
            "result.postedCents": posted,
            "result.heldCents": held,
            "result.spendableCents": spendable,
            "result.currency": "USD",
        }
        return self.call(name, "GET", f"{ACCOUNTS}/{account}/balances", 200, members)

    def order(self, payer: Any, payee: dict[str, str], amount: int, speed: str, memo: str) -> dict[str, Any]:
        body = {"fromAccountId": payer, "payee": payee, "amountCents": amount, "speed": speed, "memo": memo}
        return body | {"redirectUri": BACK, "appState": f"h-{amount}"}

    def move(self, name: str, order: dict[str, Any], fee: int) -> tuple[Any, Any]:
        """Return the transfer's id and the customer's page."""
        members = {
            f"result.{name}": order[name] for name in ("fromAccountId", "amountCents", "speed", "memo", "appState")
        }
        members |= {
            "result.transferId": re.compile(r"^xfr_\w{12}$"),
            "result.stage": "NEEDS_APPROVAL",
            "result.feeCents": fee,
            "result.totalCents": order["amountCents"] + fee,
            "result.payee.name": order["payee"]["name"],
            "result.payee.accountEnding": order["payee"]["accountNumber"][-4:],
            "result.goodUntil": str,
            "result.holderPage": SECURE,
            "@Location": re.compile(r"^/money-movement/v3/transfers/xfr_\w{12}$"),
        }
        made = self.call(name, "POST", TRANSFERS, 201, members, once=True, json=order)
        return made.find("result.transferId"), made.find("result.holderPage")

    def decide(self, name: str, page: Any, transfer: Any, order: dict[str, Any], answer: str) -> None:
        members = {"@Location": f"{BACK}?transfer={transfer}&answer={answer}&state={order['appState']}"}
        self.walk.step(name, "POST", page, 303, members, data=self._login | {"answer": answer})

    def release(self, name: str, transfer: Any) -> None:
        members = {"result.transferId": transfer, "result.stage": "QUEUED", "result.releasedAt": str}
        self.call(name, "POST", f"{TRANSFERS}/{transfer}/release", 202, members)

    def recall(self, name: str, transfer: Any, reason: str) -> None:
        members = {"result.transferId": transfer, "result.stage": "RECALLED", "result.recallReason": reason}
        self.call(name, "POST", f"{TRANSFERS}/{transfer}/recall", 200, members, json={"reason": reason})

    def follow(self, name: str, transfer: Any, stage: str) -> None:
        members = {"result.transferId": transfer, "result.stage": stage, "result.holderPage": None}
        self.call(name, "GET", f"{TRANSFERS}/{transfer}", 200, members)

    def close(self, name: str, grant: Any) -> None:
        members = {"result.grantId": grant, "result.phase": "CLOSED", "result.closedAt": str}
        self.call(name, "POST", f"{GRANTS}/{grant}/close", 200, members)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = HayloftApp(walk, "harriet.moss", "plum-creek-67")
    wish = app.wish(EVERYTHING, 60, "a-17")
    app.refuse("grant without the app key", "POST", GRANTS, 401, "app-key", json=wish, app=False)
    wrong = app.wish(["balances", "crypto"], 400, "a-17")
    members: dict[str, Any] = {"violations.#": 2, "violations.0.member": "scopes", "violations.1.member": "days"}
    app.refuse("grant with wrong members", "POST", GRANTS, 422, "violations", members, json=wrong)
    grant, page = app.ask("grant", EVERYTHING, 60, "a-17")
    app.mistype("customer mistypes the password", page, "plum-creek-76")
    choice = app.log_in("customer logs in", page)
    members = PAGE | {"page": re.compile("Hayloft wants balances, activity, transfers for 60 days")}
    share = walk.step("customer's choice", "GET", choice, 200, members).fields.get("share", [])
    ticket = app.agree("customer shares both accounts", choice, grant, "a-17", share)
    app.redeem("redeem the ticket", grant, ticket, share)
    members = {
        "result.accounts.#": 2,
        "result.accounts.0.accountId": re.compile(r"^acct_\w{10}$"),
        "result.accounts.0.nickname": "Daily Checking",
        "result.accounts.0.kind": "CHECKING",
        "result.accounts.0.maskedNumber": re.compile(r"^xxxx\d{4}$"),
        "result.accounts.1.kind": "SAVINGS",
        "result.accounts.1.currency": "USD",
    }
    account = app.call("accounts", "GET", ACCOUNTS, 200, members).find("result.accounts.0.accountId")
    posted = cents(app.balances("balances", account), "result.postedCents")
    activity = f"{ACCOUNTS}/{account}/activity"
    query = {"since": app.day(-75), "until": app.day(0), "direction": "OUT", "limit": "5"}
    members = {
        "result.items.#": 5,
        "result.items.0.activityId": re.compile(r"^act_\w{14}$"),
        "result.items.0.postedOn": re.compile(r"^\d{4}-\d\d-\d\d$"),
        "result.items.0.amountCents": int,
        "result.items.4.direction": "OUT",
        "result.items.4.balanceAfterCents": int,
        "paging.limit": 5,
        "paging.more": True,
        "paging.after": str,
    }
    after = app.call("activity", "GET", activity, 200, members, params=query).find("paging.after")
    app.call("more activity", "GET", activity, 200, members, params={"after": str(after)})
    app.refuse("balances of an unknown account", "GET", f"{ACCOUNTS}/acct_0000000000/balances", 404, "unknown")

    roof = app.order(account, ROOFER, 84_500, "SAME_DAY", "Gutter repair")
    members = {"header": "X-Once-Token"}
    app.refuse("transfer without a once token", "POST", TRANSFERS, 400, "header-missing", members, json=roof)
    wrong = roof | {"payee": ROOFER | {"routingNumber": "107311232"}}
    members = {"violations.#": 1, "violations.0.member": "payee.routingNumber"}
    app.refuse(
        "transfer to a wrong routing number", "POST", TRANSFERS, 422, "violations", members, once=True, json=wrong
    )
    much = app.order(account, ROOFER, posted + 25_000, "STANDARD", "New roof")
    members = {"spendableCents": posted}
    app.refuse("transfer above the balance", "POST", TRANSFERS, 422, "short-of-funds", members, once=True, json=much)
    repair, page = app.move("transfer", roof, 150)
    app.decide("customer approves", page, repair, roof, "yes")
    app.release("release the transfer", repair)
    app.balances("balances with the transfer held", account, posted, 84_650)
    wait(timedelta(minutes=2))
    app.follow("transfer is sent", repair, "SENT")
    path, sent, members = f"{TRANSFERS}/{repair}/recall", {"reason": "Second thoughts"}, {"stage": "SENT"}
    app.refuse("recall it too late", "POST", path, 409, "past-recall", members, json=sent)
    wait(timedelta(minutes=9))
    app.follow("transfer is settled", repair, "SETTLED")
    app.balances("balances after", account, posted - 84_650, 0)
    members = {
        "result.items.#": 2,
        "result.items.0.amountCents": 84_500,
        "result.items.0.direction": "OUT",
        "result.items.0.description": "Transfer to Ogallala Roofing",
        "result.items.0.category": "TRANSFER",
        "result.items.0.balanceAfterCents": posted - 84_650,
        "result.items.1.amountCents": 150,
        "result.items.1.category": "FEE",
        "result.items.1.balanceAfterCents": posted - 150,
        "paging.limit": 20,
        "paging.more": False,
        "paging.after": None,
    }
    app.call("activity after", "GET", activity, 200, members, params={"since": app.day(0)})

    tithe = app.order(account, CHURCH, 12_000, "STANDARD", "Tithe")
    gift, _ = app.move("transfer to recall", tithe, 0)
    app.recall("recall the transfer", gift, "Wrong month")
    bazaar = app.order(account, CHURCH, 3_575, "SAME_DAY", "Bazaar")
    declined, page = app.move("transfer to decline", bazaar, 150)
    app.decide("customer declines", page, declined, bazaar, "no")
    members = {
        "result.transfers.#": 3,
        "result.transfers.0.transferId": declined,
        "result.transfers.0.stage": "DECLINED",
        "result.transfers.1.transferId": gift,
        "result.transfers.1.stage": "RECALLED",
        "result.transfers.2.transferId": repair,
        "result.transfers.2.stage": "SETTLED",
    }
    app.call("all transfers", "GET", TRANSFERS, 200, members)

    other, page = app.ask("another grant", ["activity"], 7, "a-18")
    choice = app.log_in("customer logs in again", page)
    app.refuse_grant("customer refuses to share", choice, other, "a-18")
    members = {"result.grantId": other, "result.phase": "REFUSED", "result.holderPage": None}
    app.call("other grant is refused", "GET", f"{GRANTS}/{other}", 200, members)
    app.close("close the grant", grant)
    members = {"phase": "CLOSED"}
    path = f"{ACCOUNTS}/{account}/balances"
    app.refuse("balances with the closed grant", "GET", path, 403, "grant-not-live", members)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = HayloftApp(walk, "dwight.tran", "sandhill-crane")
    wrong = app.wish(["activity"], 366, "b-1")
    members: dict[str, Any] = {"violations.#": 1, "violations.0.member": "days"}
    app.refuse("grant for more than a year", "POST", GRANTS, 422, "violations", members, json=wrong)
    narrow, no = app.ask("narrow grant", ["activity", "balances"], 14, "b-1")
    grant, yes = app.ask("wide grant", EVERYTHING, 120, "b-2")
    choice = app.log_in("customer logs in for the wide grant", yes)
    members = PAGE | {"page": re.compile("Hayloft wants balances, activity, transfers for 120 days")}
    share = walk.step("choice for the wide grant", "GET", choice, 200, members).fields.get("share", [])
    share, kept = share[:2], share[-1] if share else ""
    refusal = app.log_in("customer logs in for the narrow grant", no)
    ticket = app.agree("customer shares two accounts", choice, grant, "b-2", share)
    app.refuse_grant("customer refuses the narrow grant", refusal, narrow, "b-1")
    app.redeem("redeem the ticket", grant, ticket, share)
    path, sent = f"{GRANTS}/{grant}/redeem", {"ticket": ticket}
    app.refuse("redeem it again", "POST", path, 409, json=sent)
    members = {"result.grantId": narrow, "result.phase": "REFUSED", "result.scopes": ["activity", "balances"]}
    app.call("narrow grant is refused", "GET", f"{GRANTS}/{narrow}", 200, members)
    app.refuse("accounts without the app key", "GET", ACCOUNTS, 401, "app-key", app=False)
    members = {
        "result.accounts.#": 2,
        "result.accounts.0.accountId": re.compile(r"^acct_\w{10}$"),
        "result.accounts.1.maskedNumber": re.compile(r"^xxxx\d{4}$"),
        "result.accounts.1.currency": "USD",
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members)
    home, gig = (accounts.find(f"result.accounts.{place}.accountId") for place in (0, 1))
    app.refuse("activity of the account kept back", "GET", f"{ACCOUNTS}/{kept}/activity", 404, "unknown")
    posted = cents(app.balances("balances of the second account", gig), "result.postedCents")
    activity = f"{ACCOUNTS}/{gig}/activity"
    query = {"since": app.day(-60), "limit": "3"}
    members = {
        "result.items.#": 3,
        "result.items.0.postedOn": re.compile(r"^\d{4}-\d\d-\d\d$"),
        "result.items.2.amountCents": int,
        "result.items.2.direction": re.compile("^(IN|OUT)$"),
        "paging.limit": 3,
        "paging.more": True,
    }
    after = app.call("activity of it", "GET", activity, 200, members, params=query).find("paging.after")
    app.call("next page", "GET", activity, 200, members, params={"after": str(after)})

    much = app.order(gig, TUTOR, posted + 1, "STANDARD", "Algebra")
    members = {"spendableCents": posted}
    app.refuse("transfer a cent too high", "POST", TRANSFERS, 422, "short-of-funds", members, once=True, json=much)
    lessons = app.order(gig, TUTOR, 22_400, "SAME_DAY", "Algebra, fall term")
    paid, paid_page = app.move("transfer from the second account", lessons, 150)
    shingles = app.order(home, ROOFER, 130_050, "STANDARD", "Shingles")
    stopped, stopped_page = app.move("transfer from the first account", shingles, 0)
    books = app.order(gig, TUTOR, 6_115, "SAME_DAY", "Books")
    declined, declined_page = app.move("transfer for books", books, 150)
    app.decide("customer approves the shingles", stopped_page, stopped, shingles, "yes")
    app.mistype("customer mistypes the password", paid_page, "sandhill-crow", answer="yes")
    app.decide("customer approves the lessons", paid_page, paid, lessons, "yes")
    app.decide("customer declines the books", declined_page, declined, books, "no")
    path = f"{TRANSFERS}/{declined}/release"
    app.refuse("release the books", "POST", path, 409)
    app.release("release the lessons", paid)
    app.recall("recall the shingles", stopped, "Found them cheaper")
    app.balances("balances with the lessons held", gig, posted, 22_550)
    wait(timedelta(minutes=4))
    app.follow("lessons are sent", paid, "SENT")
    wait(timedelta(minutes=12))
    members = {
        "result.transfers.#": 3,
        "result.transfers.0.stage": "DECLINED",
        "result.transfers.1.stage": "RECALLED",
        "result.transfers.2.transferId": paid,
        "result.transfers.2.stage": "SETTLED",
    }
    app.call("all transfers", "GET", TRANSFERS, 200, members)
    app.balances("balances after", gig, posted - 22_550, 0)
    members = {
        "result.items.#": 2,
        "result.items.0.amountCents": 22_400,
        "result.items.0.description": "Transfer to Imani Brooks",
        "result.items.0.balanceAfterCents": posted - 22_550,
        "result.items.1.amountCents": 150,
        "result.items.1.category": "FEE",
        "paging.more": False,
    }
    app.call("activity after", "GET", activity, 200, members, params={"since": app.day(0)})
    app.close("close the wide grant", grant)
    app.refuse("accounts with the closed grant", "GET", ACCOUNTS, 403, "grant-not-live", {"phase": "CLOSED"})
    return walk.steps
