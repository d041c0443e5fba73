"""Two journeys of the app Lantern and its customers at Vistula."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://lantern.example/banks/vistula"
AGREEMENTS, TOKENS, ACCOUNTS = "/info/v3/agreements", "/info/v3/tokens", "/info/v3/accounts"
TRANSFERS = "/pay/v3/transfers"
SIGN = re.compile(r"^http://[^/]+/customer/sign/\w{20}$")
DATE = re.compile(r"^\d{4}-\d\d-\d\d$")
RIGHT = "482916"


def minor(answer: Answer, place: str) -> int:
    """The number at this place, or 0."""
    value = answer.find(place)
    return value if isinstance(value, int) else 0


class LanternApp:
    def __init__(self, walk: Walk, login: str, password: str) -> None:
        self.walk, self._login, self._password = walk, login, password

    def _name(self, word: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"{self._login} {word}"))

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).date().isoformat()

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        *,
        bearer: Any = None,
        **request: Any,
    ) -> Answer:
        reference = self._name(name)
        sent = {"Partner-Key": "pk-lantern-77120", "X-Request-Ref": reference}
        if bearer:
            sent["Authorization"] = f"Bearer {bearer}"
        place = "trace.requestRef" if status < 400 else "requestRef"
        expected = {place: reference, "@X-Request-Ref": reference, **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def refuse(
        self, name: str, method: str, path: str, status: int, code: str, members: Expected | None = None, **request: Any
    ) -> None:
        expected = {"status": status, "@Content-Type": "application/problem+json", **(members or {})}
        if code:
            expected |= {"code": code, "type": f"https://partners.vistula.example/errors/{code}"}
        self.call(name, method, path, status, expected, **request)

    def wish(self, scopes: list[str], days: int, state: str) -> dict[str, Any]:
        return {"scopes": scopes, "endsOn": self.day(days), "redirectTo": BACK, "state": state}

    def ask(self, name: str, wish: dict[str, Any]) -> tuple[Any, Any]:
        """Return the agreement's reference and the customer's page."""
        members = {
            "result.agreementRef": re.compile(r"^VA-\w{9}$"),
            "result.phase": "PENDING",
            "result.scopes": wish["scopes"],
            "result.endsOn": wish["endsOn"],
            "hrefs.customer": SIGN,
            "@Location": re.compile(r"^/info/v3/agreements/VA-\w{9}$"),
        }
        made = self.call(name, "POST", AGREEMENTS, 201, members, json=wish)
        return made.find("result.agreementRef"), made.find("hrefs.customer")

    def mistype(self, name: str, page: Any, password: str) -> None:
        form = {"login": self._login, "password": password, "verdict": "continue"}
        members = PAGE | {"page": re.compile("Login or password is wrong")}
        self.walk.step(name, "POST", page, 401, members, data=form)

    def log_in(self, name: str, page: Any) -> dict[str, list[str]]:
        """Return the fields of the page where the customer chooses accounts."""
        form = {"login": self._login, "password": self._password, "verdict": "continue"}
        members = PAGE | {"page": re.compile(r'name="seal" value="\w+".*name="account" value="VK-\w{9}"')}
        return self.walk.step(name, "POST", page, 200, members, data=form).fields

    def agree(self, name: str, page: Any, fields: dict[str, list[str]], accounts: list[str], state: str) -> str:
        """Return the authorisation code."""
        form = {"seal": fields.get("seal", [""])[0], "account": accounts, "verdict": "agree"}
        members = {"@Location": re.compile(rf"^{re.escape(BACK)}\?authCode=\w+&state={state}$")}
        answer = self.walk.step(name, "POST", page, 303, members, data=form)
        return str(httpx.URL(answer.find("@Location") or "").params.get("authCode", ""))

    def exchange(self, name: str, code: str, agreement: Any) -> Any:
        members = {"result.bearer": str, "result.kind": "Bearer", "result.goodUntil": DATE}
        members |= {"result.agreementRef": agreement, "result.phase": "ACTIVE"}
        return self.call(name, "POST", TOKENS, 200, members, json={"authCode": code}).find("result.bearer")

    def look(self, name: str, agreement: Any, phase: str) -> None:
        members = {"result.agreementRef": agreement, "result.phase": phase}
        self.call(name, "GET", f"{AGREEMENTS}/{agreement}", 200, members)

    def revoke(self, name: str, agreement: Any) -> None:
        members = {"result.agreementRef": agreement, "result.phase": "REVOKED"}
        self.call(name, "DELETE", f"{AGREEMENTS}/{agreement}", 200, members)

    def accounts(self, name: str, bearer: Any, number: int) -> Answer:
        members = {
            "result.#": number,
            "result.0.accountRef": re.compile(r"^VK-\w{9}$"),
            "result.0.iban": re.compile(r"^PL\d{26}$"),
            "result.0.label": str,
            "result.0.currency": re.compile("^[A-Z]{3}$"),
            "slice.count": number,
            "slice.nextMark": None,
        }
        return self.call(name, "GET", ACCOUNTS, 200, members, bearer=bearer)

    def balance(self, name: str, bearer: Any, account: Any, ledger: Any = int, spendable: Any = int) -> Answer:
        members = {"result.accountRef": account, "result.currency": "PLN"}
        members |= {"result.ledgerMinor": ledger, "result.spendableMinor": spendable}
        return self.call(name, "GET", f"{ACCOUNTS}/{account}/balance", 200, members, bearer=bearer)

    def entries(self, name: str, bearer: Any, account: Any, query: dict[str, str], members: Expected) -> Any:
        """Return the mark of the next page."""
        path = f"{ACCOUNTS}/{account}/entries"
        return self.call(name, "GET", path, 200, members, bearer=bearer, params=query).find("slice.nextMark")

    def order(self, number: str, account: Any, to: tuple[str, str], amount: int, title: str) -> dict[str, Any]:
        order = {"partnerOrderNo": number, "from": account, "to": {"iban": to[0], "holder": to[1]}}
        return order | {"amountMinor": amount, "currency": "PLN", "title": title}

    def place(self, name: str, bearer: Any, order: dict[str, Any]) -> Any:
        members = {
            "result.transferRef": re.compile(r"^VT-\w{9}$"),
            "result.phase": "UNCONFIRMED",
            **{f"result.{member}": value for member, value in order.items()},
            "hrefs.challenges": re.compile(r"/pay/v3/transfers/VT-\w{9}/challenges$"),
            "@Location": re.compile(r"^/pay/v3/transfers/VT-\w{9}$"),
        }
        return self.call(name, "POST", TRANSFERS, 201, members, bearer=bearer, json=order).find("result.transferRef")

    def challenge(self, name: str, bearer: Any, transfer: Any) -> Any:
        """Return the path of the challenge."""
        members = {
            "result.challengeRef": re.compile(r"^VC-\w{9}$"),
            "result.phase": "CODE_SENT",
            "result.method": "SMS",
            "result.attemptsLeft": 3,
            "result.transferRef": transfer,
            "result.transferPhase": "UNCONFIRMED",
        }
        path = f"{TRANSFERS}/{transfer}/challenges"
        made = self.call(name, "POST", path, 201, members, bearer=bearer, json={"method": "SMS"})
        return f"{path}/{made.find('result.challengeRef')}"

    def confirm(self, name: str, bearer: Any, challenge: str, transfer: Any) -> None:
        members = {"result.challengeRef": challenge.rpartition("/")[2], "result.phase": "PASSED"}
        members |= {"result.transferRef": transfer, "result.transferPhase": "CONFIRMED"}
        self.call(name, "PUT", challenge, 200, members, bearer=bearer, json={"code": RIGHT})

    def miss(self, name: str, bearer: Any, challenge: str, code: str, left: int) -> None:
        members = {"attemptsLeft": left, "transferPhase": "UNCONFIRMED" if left else "REFUSED"}
        status, word = (422, "VIS-4101") if left else (403, "VIS-4102")
        self.refuse(name, "PUT", challenge, status, word, members, bearer=bearer, json={"code": code})

    def follow(self, name: str, bearer: Any, transfer: Any, phase: str) -> None:
        members = {"result.transferRef": transfer, "result.phase": phase}
        self.call(name, "GET", f"{TRANSFERS}/{transfer}", 200, members, bearer=bearer)

    def withdraw(self, name: str, bearer: Any, transfer: Any) -> None:
        members = {"result.transferRef": transfer, "result.phase": "WITHDRAWN"}
        self.call(name, "DELETE", f"{TRANSFERS}/{transfer}", 200, members, bearer=bearer)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = LanternApp(walk, "wanda.sokol", "Zielony-Dab-18")
    scopes = ["accounts", "balances", "history", "payments"]
    members: dict[str, Any] = {"problems.0.member": "scopes"}
    wish = app.wish(["cards"], 90, "s-10")
    app.refuse("agreement on cards", "POST", AGREEMENTS, 422, "VIS-1102", members, json=wish)
    declined, page = app.ask("agreement to decline", app.wish(["accounts", "balances"], 60, "s-11"))
    members = {"@Location": f"{BACK}?refusal=customer&state=s-11"}
    walk.step("customer refuses", "POST", page, 303, members, data={"verdict": "refuse"})
    app.look("agreement is rejected", declined, "REJECTED")
    agreement, page = app.ask("agreement", app.wish(scopes, 90, "s-12"))
    walk.step("customer's page", "GET", page, 200, PAGE | {"page": re.compile('name="login".*name="password"')})
    app.mistype("customer mistypes the password", page, "Zielony-Dab-81")
    fields = app.log_in("customer logs in", page)
    code = app.agree("customer agrees on two accounts", page, fields, fields.get("account", [])[:2], "s-12")
    bearer = app.exchange("bearer", code, agreement)
    app.refuse("accounts without the bearer", "GET", ACCOUNTS, 401, "VIS-2001")
    account = app.accounts("accounts", bearer, 2).find("result.0.accountRef")
    ledger = minor(app.balance("balance", bearer, account), "result.ledgerMinor")
    members = {
        "result.#": 5,
        "result.0.entryRef": re.compile(r"^VE-\w{9}$"),
        "result.0.amountMinor": int,
        "result.0.bookedOn": DATE,
        "result.0.kind": "CARD",
        "slice.count": 5,
        "slice.nextMark": str,
    }
    query = {"since": app.day(-70), "until": app.day(-1), "count": "5"}
    mark = app.entries("entries", bearer, account, query, members)
    members = {"result.#": 5, "result.0.currency": "PLN", "slice.count": 5, "slice.nextMark": str}
    app.entries("more entries", bearer, account, {"mark": str(mark)}, members)
    nowhere = f"{ACCOUNTS}/VK-000000000/balance"
    app.refuse("balance of an unknown account", "GET", nowhere, 404, "VIS-4404", bearer=bearer)

    landlord = ("PL42105000241000002265713384", "Halina Borowik")
    wrong = app.order("L-2001", account, ("PL43105000241000002265713384", "Halina Borowik"), 185_000, "Czynsz")
    members = {"problems.0.member": "to.iban"}
    app.refuse("transfer to a mistyped IBAN", "POST", TRANSFERS, 422, "VIS-1102", members, bearer=bearer, json=wrong)
    much = app.order("L-2001", account, landlord, 7_500_000, "Czynsz")
    app.refuse("transfer above the balance", "POST", TRANSFERS, 422, "VIS-4003", bearer=bearer, json=much)
    rent = app.place("transfer", bearer, app.order("L-2001", account, landlord, 185_000, "Czynsz za czerwiec"))
    challenge = app.challenge("challenge", bearer, rent)
    app.confirm("right code", bearer, challenge, rent)
    app.balance("balance with the amount reserved", bearer, account, ledger, ledger - 185_000)
    wait(timedelta(minutes=12))
    app.follow("transfer is booked", bearer, rent, "BOOKED")
    members = {
        "result.#": 1,
        "result.0.side": "DEBIT",
        "result.0.amountMinor": 185_000,
        "result.0.bookedOn": app.day(0),
        "result.0.otherParty": "Halina Borowik",
        "result.0.title": "Czynsz za czerwiec",
        "result.0.kind": "TRANSFER",
        "slice.count": 1,
        "slice.nextMark": None,
    }
    app.entries("entries after", bearer, account, {"since": app.day(0), "side": "DEBIT"}, members)
    app.balance("balance after", bearer, account, ledger - 185_000, ledger - 185_000)

    club = ("PL98114020040000310277458126", "Klub Wioślarski Fala")
    dropped = app.place("transfer to withdraw", bearer, app.order("L-2002", account, club, 24_000, "Składka"))
    app.withdraw("withdraw it", bearer, dropped)
    missed = app.place("transfer to miss", bearer, app.order("L-2003", account, club, 12_000, "Składka, pół roku"))
    challenge = app.challenge("challenge to miss", bearer, missed)
    app.miss("wrong code", bearer, challenge, "482961", 2)
    app.miss("wrong code again", bearer, challenge, "428916", 1)
    app.miss("wrong code a third time", bearer, challenge, "111111", 0)
    app.revoke("revoke the agreement", agreement)
    app.refuse("accounts after that", "GET", ACCOUNTS, 403, "VIS-3001", bearer=bearer)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = LanternApp(walk, "tomasz.wrona", "Stary_Most_64")
    app.refuse("accounts without the bearer", "GET", ACCOUNTS, 401, "VIS-2001")
    wide, wide_page = app.ask("wide agreement", app.wish(["payments", "history", "accounts", "balances"], 30, "t-1"))
    narrow, narrow_page = app.ask("narrow agreement", app.wish(["balances", "accounts"], 120, "t-2"))
    fields = app.log_in("customer logs in", wide_page)
    chosen = fields.get("account", [])
    wide_code = app.agree("customer agrees on all accounts", wide_page, fields, chosen, "t-1")
    app.mistype("customer mistypes the password", narrow_page, "Stary-Most-64")
    fields = app.log_in("customer logs in again", narrow_page)
    narrow_code = app.agree("customer agrees on the first account", narrow_page, fields, chosen[:1], "t-2")
    little = app.exchange("narrow bearer", narrow_code, narrow)
    bearer = app.exchange("wide bearer", wide_code, wide)
    accounts = app.accounts("accounts", bearer, len(chosen))
    home = accounts.find("result.0.accountRef")
    rows = accounts.find("result") if isinstance(accounts.find("result"), list) else []
    zlotys = [row for row in rows if isinstance(row, dict) and row.get("currency") == "PLN"]
    account = zlotys[-1].get("accountRef") if zlotys else home
    app.refuse("entries with the narrow bearer", "GET", f"{ACCOUNTS}/{home}/entries", 403, "", bearer=little)
    before = app.balance("balance", bearer, account)
    ledger, spendable = minor(before, "result.ledgerMinor"), minor(before, "result.spendableMinor")
    query = {"since": app.day(-100), "side": "DEBIT", "count": "3"}
    members: dict[str, Any] = {
        "result.#": 3,
        "result.0.side": "DEBIT",
        "result.2.side": "DEBIT",
        "result.2.amountMinor": int,
        "slice.count": 3,
        "slice.nextMark": str,
    }
    mark = app.entries("debits", bearer, account, query, members)
    members = {"result.0.entryRef": re.compile(r"^VE-\w{9}$"), "result.0.side": "DEBIT", "slice.count": int}
    app.entries("more debits", bearer, account, {"mark": str(mark)}, members)

    joiner = ("PL68124010371111001044829915", "Stolarnia Dębowa")
    tools = ("PL81160014621837295610000001", "Narzędzia 24")
    nothing = app.order("L-3100", account, joiner, 0, "Zaliczka")
    members = {"problems.0.member": "amountMinor"}
    app.refuse("transfer of nothing", "POST", TRANSFERS, 422, "VIS-1102", members, bearer=bearer, json=nothing)
    advance = app.place("transfer", bearer, app.order("L-3101", account, joiner, 96_350, "Zaliczka na blat"))
    drill = app.place("second transfer", bearer, app.order("L-3102", account, tools, 41_999, "Wiertarka"))
    saw = app.place("third transfer", bearer, app.order("L-3103", home, tools, 15_480, "Piła"))
    to_advance = app.challenge("challenge", bearer, advance)
    to_drill = app.challenge("second challenge", bearer, drill)
    app.miss("wrong code for the second", bearer, to_drill, "900100", 2)
    app.miss("wrong code for the first", bearer, to_advance, "900100", 2)
    app.miss("another wrong code for the second", bearer, to_drill, "900101", 1)
    app.confirm("right code for the first", bearer, to_advance, advance)
    app.miss("last wrong code for the second", bearer, to_drill, "900102", 0)
    app.withdraw("withdraw the third", bearer, saw)
    app.balance("balance with one amount reserved", bearer, account, ledger, spendable - 96_350)
    wait(timedelta(minutes=25))
    app.follow("first transfer is booked", bearer, advance, "BOOKED")
    app.follow("second transfer is refused", bearer, drill, "REFUSED")
    app.balance("balance after", bearer, account, ledger - 96_350, spendable - 96_350)
    members = {
        "result.#": 1,
        "result.0.side": "DEBIT",
        "result.0.amountMinor": 96_350,
        "result.0.bookedOn": app.day(0),
        "result.0.otherParty": "Stolarnia Dębowa",
        "result.0.title": "Zaliczka na blat",
    }
    app.entries("entries after", bearer, account, {"since": app.day(0), "until": app.day(0)}, members)
    app.revoke("revoke the wide agreement", wide)
    app.refuse("balance with the wide bearer", "GET", f"{ACCOUNTS}/{home}/balance", 403, "VIS-3001", bearer=bearer)
    app.balance("balance with the narrow bearer", little, home)
    return walk.steps
