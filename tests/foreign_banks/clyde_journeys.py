"""Two journeys of the app Pennywhistle and its customers at Clyde."""

import base64
import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_DNS, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://pennywhistle.example/clyde"
ALL = ["SeeAccounts", "SeeBalances", "SeeEntries"]
DATA, PAY = "/data-access/v2", "/payment-orders/v1"
CONSENTS, ACCOUNTS, TOKENS = f"{DATA}/consents", f"{DATA}/accounts", f"{DATA}/tokens"
PAYMENT_CONSENTS, PAYMENTS = f"{PAY}/payment-consents", f"{PAY}/payments"
APP = "Basic " + base64.b64encode(b"pennywhistle:thistledown-44").decode()
APPROVE = re.compile(r"^http://[^/]+/approve/\w{22}$")
LOGIN = re.compile('name="userId".*name="password"')


def pence(answer: Answer, place: str) -> int:
    """The number at this place, or 0."""
    value = answer.find(place)
    return value if isinstance(value, int) else 0


class ClydeApp:
    def __init__(self, walk: Walk, user: str, password: str) -> None:
        self.walk, self._user, self._password = walk, user, password

    def _uuid(self, word: str) -> str:
        return str(uuid5(NAMESPACE_DNS, f"{self._user} {word}"))

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).date().isoformat()

    def call(
        self, name: str, method: str, path: str, status: int, members: Expected | None = None, **request: Any
    ) -> Answer:
        """`token` is a bearer token, or the app's own name and secret are sent."""
        trace, token = self._uuid(name), request.pop("token", None)
        headers = {"Authorization": f"Bearer {token}" if token else APP, "Clyde-Trace": trace}
        if method == "POST" and "json" in request:
            headers["Clyde-Retry-Key"] = self._uuid(f"once {name}")
        headers |= request.pop("headers", {})
        sent = {header: value for header, value in headers.items() if value}
        place = "about.trace" if status < 400 else "trace"
        expected = {place: trace, "@Clyde-Trace": trace, **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def refuse(self, name: str, method: str, path: str, status: int, kind: str, slip: str = "", **request: Any) -> None:
        members = {"status": status, "@Content-Type": "application/problem+json", "title": str, "detail": str}
        members |= {"type": f"urn:clyde:problem:{kind}"} if kind else {}
        self.call(name, method, path, status, members | ({"slips.0.member": slip} if slip else {}), **request)

    # Consents

    def wish(self, permissions: list[str], days: int, echo: str) -> dict[str, Any]:
        ends = (self.walk.now + days * DAY).isoformat()
        return {"content": {"permissions": permissions, "expiresAt": ends, "backTo": BACK, "echo": echo}}

    def ask(self, name: str, permissions: list[str], days: int, echo: str) -> tuple[Any, Any]:
        """Return the consent's id and the customer's page."""
        wish = self.wish(permissions, days, echo)
        members = {
            "content.consentId": re.compile(r"^dac_[0-9A-Z]{12}$"),
            "content.stage": "Proposed",
            "content.permissions": permissions,
            "content.expiresAt": wish["content"]["expiresAt"],
            "content.approvalPage": APPROVE,
            "@Location": re.compile(r"^/data-access/v2/consents/dac_\w{12}$"),
        }
        made = self.call(name, "POST", CONSENTS, 201, members, json=wish)
        return made.find("content.consentId"), made.find("content.approvalPage")

    def bill(self, payee: tuple[str, str, str], amount: int, reference: str, echo: str) -> dict[str, Any]:
        names = dict(zip(("name", "sortCode", "accountNumber"), payee, strict=True))
        return {"content": {"pence": amount, "payee": names, "reference": reference, "backTo": BACK, "echo": echo}}

    def ask_to_pay(self, name: str, bill: dict[str, Any]) -> tuple[Any, Any]:
        """Return the payment consent's id and the customer's page."""
        members = {f"content.{name}": bill["content"][name] for name in ("pence", "payee", "reference")}
        members |= {"content.consentId": re.compile(r"^pyc_[0-9A-Z]{12}$"), "content.stage": "Proposed"}
        members |= {"content.currency": "GBP", "content.approvalPage": APPROVE}
        made = self.call(name, "POST", PAYMENT_CONSENTS, 201, members, json=bill)
        return made.find("content.consentId"), made.find("content.approvalPage")

    def look(self, name: str, consent: Any, stage: str) -> None:
        path = f"{PAYMENT_CONSENTS if str(consent).startswith('pyc') else CONSENTS}/{consent}"
        self.call(name, "GET", path, 200, {"content.consentId": consent, "content.stage": stage})

    # The customer's page

    def mistype(self, name: str, page: Any, password: str) -> None:
        form = {"userId": self._user, "password": password}
        self.walk.step(name, "POST", page, 401, PAGE | {"page": LOGIN}, data=form)

    def log_in(self, name: str, page: Any, text: str) -> str:
        """Return the visit."""
        form = {"userId": self._user, "password": self._password}
        members = PAGE | {"page": re.compile(text + '.*name="visit"')}
        shown = self.walk.step(name, "POST", page, 200, members, data=form)
        return "".join(shown.fields.get("visit", []))

    def _reply(self, name: str, page: Any, echo: str, outcome: str, form: dict[str, Any]) -> str:
        members = {"@Location": re.compile(f"^{re.escape(BACK)}\\?{outcome}&echo={echo}$")}
        answer = self.walk.step(name, "POST", f"{page}/answer", 303, members, data=form)
        back = parse_qs(urlsplit(str(answer.find("@Location"))).query)
        return "".join(back.get("code", []))

    def agree(self, name: str, page: Any, visit: str, echo: str, account: Any = None) -> str:
        """Return the code."""
        form = {"visit": visit, "answer": "yes"} | ({"payFrom": account} if account else {})
        return self._reply(name, page, echo, r"code=\w{28}", form)

    def decline(self, name: str, page: Any, visit: str, echo: str) -> None:
        self._reply(name, page, echo, "error=customer-refused", {"visit": visit, "answer": "no"})

    def overspend(self, name: str, page: Any, visit: str, echo: str, account: Any) -> None:
        self._reply(name, page, echo, "error=not-covered", {"visit": visit, "answer": "yes", "payFrom": account})

    # Tokens and payments

    def swap(self, name: str, consent: Any, **form: str) -> tuple[Any, Any]:
        """Return the access token and the refresh token."""
        members = {"content.accessToken": str, "content.kind": "Bearer", "content.lastsSeconds": 1800}
        refresher = None if str(consent).startswith("pyc") else str
        members |= {"content.consentId": consent, "content.refreshToken": refresher}
        told = self.call(name, "POST", TOKENS, 200, members, data=form)
        return told.find("content.accessToken"), told.find("content.refreshToken")

    def submit(self, name: str, consent: Any, bill: dict[str, Any], account: Any, token: Any) -> Any:
        """Return the payment's id."""
        content = {name: bill["content"][name] for name in ("pence", "payee", "reference")} | {"consentId": consent}
        members = {f"content.{name}": value for name, value in content.items()}
        members |= {"content.paymentId": re.compile(r"^pmt_[0-9A-Z]{12}$"), "content.stage": "Queued"}
        members |= {"content.payFrom": account, "@Location": re.compile(r"^/payment-orders/v1/payments/pmt_\w{12}$")}
        made = self.call(name, "POST", PAYMENTS, 201, members, json={"content": content}, token=token)
        return made.find("content.paymentId")

    def follow(self, name: str, payment: Any, stage: str) -> None:
        members = {"content.paymentId": payment, "content.stage": stage}
        self.call(name, "GET", f"{PAYMENTS}/{payment}", 200, members)

    # Accounts

    def list(self, name: str, token: Any) -> Answer:
        members = {
            "content.0.accountId": re.compile(r"^A\d{10}$"),
            "content.0.nickname": str,
            "content.0.sort": "CurrentAccount",
            "content.0.sortCode": re.compile(r"^\d\d-\d\d-\d\d$"),
            "content.0.accountNumber": re.compile(r"^\d{8}$"),
            "paging.count": int,
            "paging.onward": None,
        }
        return self.call(name, "GET", ACCOUNTS, 200, members, token=token)

    def balances(self, name: str, account: Any, token: Any, ledger: int | None = None, free: int | None = None) -> Any:
        members = {"content.accountId": account, "content.arrangedOverdraftPence": int, "content.currency": "GBP"}
        members["content.ledgerPence"] = int if ledger is None else ledger
        members["content.spendablePence"] = int if free is None else free
        told = self.call(name, "GET", f"{ACCOUNTS}/{account}/balances", 200, members, token=token)
        return pence(told, "content.ledgerPence"), pence(told, "content.spendablePence")


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = ClydeApp(walk, "morag.sinclair", "Heather-and-gorse")
    wish = app.wish(ALL, 90, "m-1")
    nobody, hasty = {"Authorization": ""}, {"Clyde-Retry-Key": ""}
    app.refuse("consent by nobody", "POST", CONSENTS, 401, "not-authenticated", headers=nobody, json=wish)
    app.refuse(
        "consent without a key", "POST", CONSENTS, 400, "header-missing", "Clyde-Retry-Key", headers=hasty, json=wish
    )
    unknown = app.wish(["SeeAccounts", "SeeCards"], 90, "m-1")
    app.refuse("consent to see cards", "POST", CONSENTS, 422, "content-invalid", "content.permissions", json=unknown)
    consent, page = app.ask("consent", ALL, 90, "m-1")
    walk.step("customer's page", "GET", page, 200, PAGE | {"page": LOGIN})
    app.mistype("customer mistypes the password", page, "Heather-and-horse")
    visit = app.log_in("customer logs in", page, "Let pennywhistle have SeeAccounts, SeeBalances, SeeEntries")
    code = app.agree("customer agrees", page, visit, "m-1")
    token, refresher = app.swap("tokens", consent, grant="code", code=code)
    app.look("consent is agreed", consent, "Agreed")
    accounts = app.list("accounts", token)
    account = accounts.find("content.0.accountId")
    entries = f"{ACCOUNTS}/{account}/entries"
    nowhere = f"{ACCOUNTS}/A0000000000/balances"
    app.refuse("balances of an unknown account", "GET", nowhere, 404, "unknown", token=token)
    ledger, free = app.balances("balances", account, token)
    query = {"since": app.day(-70), "until": app.day(-2), "side": "PaidOut", "rows": "4"}
    members: dict[str, Any] = {
        "content.#": 4,
        "content.0.entryId": re.compile(r"^ent_\w{12}$"),
        "content.0.day": re.compile(r"^\d{4}-\d\d-\d\d$"),
        "content.0.side": "PaidOut",
        "content.0.pence": int,
        "content.0.way": "Card",
        "paging.count": 4,
        "paging.onward": str,
    }
    page_one = app.call("entries", "GET", entries, 200, members, token=token, params=query)
    onward = {"after": str(page_one.find("paging.onward"))}
    members = {"content.#": 4, "content.3.side": "PaidOut", "paging.count": 4}
    app.call("more entries", "GET", entries, 200, members, token=token, params=onward)

    council = ("Glasgow City Council", "83-17-02", "00417725")
    wrong = app.bill((council[0], "831702", council[2]), 18_640, "Council tax June", "m-2")
    slip = "content.payee.sortCode"
    app.refuse("payment to a wrong sort code", "POST", PAYMENT_CONSENTS, 422, "content-invalid", slip, json=wrong)
    bill = app.bill(council, 18_640, "Council tax June", "m-2")
    tax, page = app.ask_to_pay("consent to pay", bill)
    visit = app.log_in("customer logs in to pay", page, "Pay £186.40 to Glasgow City Council")
    code = app.agree("customer agrees to pay", page, visit, "m-2", account)
    pay_token, _ = app.swap("token to pay", tax, grant="code", code=code)
    payment = app.submit("payment", tax, bill, account, pay_token)
    app.balances("balances with the payment under way", account, token, ledger, free - 18_640)
    wait(timedelta(minutes=3))
    app.follow("payment is on its way", payment, "Sending")
    wait(timedelta(minutes=12))
    app.follow("payment has arrived", payment, "Arrived")
    app.balances("balances after", account, token, ledger - 18_640, free - 18_640)
    members = {
        "content.#": 1,
        "content.0.day": app.day(0),
        "content.0.side": "PaidOut",
        "content.0.pence": 18_640,
        "content.0.otherParty": "Glasgow City Council",
        "content.0.reference": "Council tax June",
        "content.0.way": "FasterPayment",
        "paging.count": 1,
        "paging.onward": None,
    }
    app.call("entries after", "GET", entries, 200, members, token=token, params={"since": app.day(0)})

    factor = ("Hillhead Factors", "80-05-54", "10339186")
    declined, page = app.ask_to_pay("consent to decline", app.bill(factor, 7_200, "Close cleaning", "m-3"))
    visit = app.log_in("customer logs in to decline", page, "Pay £72.00 to Hillhead Factors")
    app.decline("customer declines", page, visit, "m-3")
    app.look("consent is refused", declined, "Refused")
    _, page = app.ask_to_pay("consent to pay too much", app.bill(factor, 1_950_000, "New roof", "m-4"))
    visit = app.log_in("customer logs in once more", page, "Pay £19500.00 to Hillhead Factors")
    app.overspend("customer does not have that much", page, visit, "m-4", account)

    token, _ = app.swap("new tokens", consent, grant="refresh", refreshToken=str(refresher))
    members = {"content.consentId": consent, "content.stage": "Ended", "content.approvalPage": None}
    app.call("end the consent", "DELETE", f"{CONSENTS}/{consent}", 200, members)
    app.refuse("accounts after the end", "GET", ACCOUNTS, 403, "consent-not-in-force", token=token)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = ClydeApp(walk, "callum.reid", "Tenement-close-9")
    joiner, nursery = ("Govan Joinery Ltd", "83-44-19", "20771534"), ("Wee Thistles Nursery", "80-22-60", "06618840")
    small = app.bill(nursery, 31_275, "Nursery fees", "cr-a")
    fees, fees_page = app.ask_to_pay("consent to pay fees", small)
    doors, doors_page = app.ask_to_pay("consent to pay doors", app.bill(joiner, 64_900, "Two doors", "cr-b"))
    hasty: dict[str, Any] = {"headers": {"Clyde-Retry-Key": ""}, "json": small}
    app.refuse("consent without a key", "POST", PAYMENT_CONSENTS, 400, "header-missing", "Clyde-Retry-Key", **hasty)
    nothing = app.bill(nursery, 0, "Nursery fees", "cr-a")
    app.refuse(
        "consent to pay nothing", "POST", PAYMENT_CONSENTS, 422, "content-invalid", "content.pence", json=nothing
    )
    narrow, narrow_page = app.ask("narrow consent", ["SeeBalances", "SeeAccounts"], 14, "cr-c")
    wide, wide_page = app.ask("wide consent", ["SeeEntries", "SeeAccounts", "SeeBalances"], 120, "cr-d")
    visit = app.log_in("customer logs in", narrow_page, "Let pennywhistle have SeeBalances, SeeAccounts")
    code = app.agree("customer agrees", narrow_page, visit, "cr-c")
    token, _ = app.swap("tokens", narrow, grant="code", code=code)
    account = app.list("accounts", token).find("content.0.accountId")
    entries = f"{ACCOUNTS}/{account}/entries"
    app.refuse("entries without permission", "GET", entries, 403, "", token=token)
    ledger, free = app.balances("balances", account, token)

    walk.step("page of the doors", "GET", doors_page, 200, PAGE | {"page": LOGIN})
    app.mistype("customer mistypes the password", fees_page, "Tenement-close-6")
    fees_visit = app.log_in("customer logs in for the fees", fees_page, "Pay £312.75 to Wee Thistles Nursery")
    doors_visit = app.log_in("customer logs in for the doors", doors_page, "Pay £649.00 to Govan Joinery Ltd")
    app.decline("customer declines the doors", doors_page, doors_visit, "cr-b")
    code = app.agree("customer agrees to the fees", fees_page, fees_visit, "cr-a", account)
    pay_token, _ = app.swap("token to pay", fees, grant="code", code=code)
    payment = app.submit("payment", fees, small, account, pay_token)
    app.look("doors are refused", doors, "Refused")
    app.balances("balances with the payment under way", account, token, ledger, free - 31_275)
    visit = app.log_in("customer logs in for the wide consent", wide_page, "SeeEntries, SeeAccounts, SeeBalances")
    code = app.agree("customer agrees to the wide consent", wide_page, visit, "cr-d")
    wide_token, refresher = app.swap("tokens of the wide consent", wide, grant="code", code=code)
    members: dict[str, Any] = {"content.#": 3, "content.2.entryId": str, "paging.count": 3, "paging.onward": str}
    query = {"since": app.day(-50), "rows": "3"}
    page_one = app.call("entries", "GET", entries, 200, members, token=wide_token, params=query)
    onward = {"after": str(page_one.find("paging.onward"))}
    members = {"content.#": 3, "content.2.pence": int, "paging.count": 3}
    app.call("more entries", "GET", entries, 200, members, token=wide_token, params=onward)
    wait(timedelta(minutes=15))
    app.follow("payment has arrived", payment, "Arrived")
    ledger, free = app.balances("balances after", account, token, ledger - 31_275, free - 31_275)
    app.call("end the narrow consent", "DELETE", f"{CONSENTS}/{narrow}", 200, {"content.stage": "Ended"})
    gone = f"{ACCOUNTS}/{account}/balances"
    app.refuse("balances after the end", "GET", gone, 403, "consent-not-in-force", token=token)
    members = {
        "content.#": 1,
        "content.0.side": "PaidOut",
        "content.0.pence": 31_275,
        "content.0.otherParty": "Wee Thistles Nursery",
        "content.0.reference": "Nursery fees",
        "paging.onward": None,
    }
    query = {"since": app.day(0), "until": app.day(0), "side": "PaidOut"}
    app.call("entries by the wide consent", "GET", entries, 200, members, token=wide_token, params=query)
    wait(timedelta(minutes=30))
    app.refuse("token has run out", "GET", ACCOUNTS, 401, "not-authenticated", token=wide_token)
    wide_token, refresher = app.swap("new tokens", wide, grant="refresh", refreshToken=str(refresher))
    app.balances("balances by the wide consent", account, wide_token, ledger, free)
    return walk.steps
