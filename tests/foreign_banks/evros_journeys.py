"""Two journeys of the app Ledgerlark and its customers at Evros."""

import base64
import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://ledgerlark.example/evros"
CLEARANCES, ACCOUNTS, ENTRIES = "/identity/v2/clearances", "/money/v2/accounts", "/money/v2/entries"
REMITTANCES = "/money/v2/remittances"
DOOR = re.compile(r"^/door/\w{18}$")
SEEING = ["see-accounts", "see-balances", "see-entries"]


def cents(answer: Answer, place: str) -> int:
    """The number at this place, or 0."""
    value = answer.find(place)
    return value if isinstance(value, int) else 0


class EvrosApp:
    def __init__(self, walk: Walk, customer: tuple[str, str, str]) -> None:
        self.walk, self._customer = walk, customer

    def _uuid(self, word: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"{self._customer[0]} at evros: {word}"))

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).date().isoformat()

    def app(self, name: str = "ledgerlark", secret: str = "bindweed") -> dict[str, str]:
        code = base64.b64encode(f"{name}:{secret}".encode()).decode()
        return {"Authorization": f"Basic {code}"}

    def once(self, name: str) -> dict[str, str]:
        return {"Evros-Once": self._uuid(f"{name}, once")}

    def call(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        members: Expected | None = None,
        *,
        access: Any = None,
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        trace = self._uuid(name)
        sent = {"Evros-Request-Id": trace} | ({"Evros-Access": str(access)} if access else {}) | (headers or {})
        expected = {"@Evros-Request-Id": trace} | ({"request": trace} if status < 400 else {}) | dict(members or {})
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def fail(self, slug: str, status: int, where: str = "", **more: Any) -> dict[str, Any]:
        members = {"type": f"urn:evros:{slug}", "status": status, "@Content-Type": "application/problem+json"}
        return members | ({"violations.0.where": where} if where else {}) | more

    def refuse(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        slug: str,
        where: str = "",
        *,
        more: dict[str, Any] | None = None,
        **request: Any,
    ) -> None:
        self.call(name, method, path, status, self.fail(slug, status, where, **(more or {})), **request)

    def refuse_inactive(
        self, name: str, method: str, path: str, clearance: Any, lifecycle: str, **request: Any
    ) -> None:
        more = {"clearance": clearance, "lifecycle": lifecycle}
        self.refuse(name, method, path, 403, "clearance-inactive", more=more, **request)

    def wish(self, rights: list[str], last_day: str) -> dict[str, Any]:
        return {"payload": {"rights": rights, "lastDay": last_day, "comeBack": BACK}}

    def ask(self, name: str, rights: list[str], last_day: str) -> tuple[Any, Any, Any]:
        """Return the clearance's reference, its access and the customer's page."""
        members = {
            "payload.ref": re.compile(r"^[A-Z]{4}-\d{4}$"),
            "payload.lifecycle": "waiting",
            "payload.rights": rights,
            "payload.lastDay": last_day,
            "payload.access": re.compile(r"^\w{26}$"),
            "payload.customerPage": DOOR,
        }
        made = self.call(name, "POST", CLEARANCES, 201, members, headers=self.app(), json=self.wish(rights, last_day))
        return made.find("payload.ref"), made.find("payload.access"), made.find("payload.customerPage")

    def look(self, name: str, clearance: Any, lifecycle: str) -> None:
        members = {"payload.ref": clearance, "payload.lifecycle": lifecycle, "payload.customerPage": None}
        self.call(name, "GET", f"{CLEARANCES}/{clearance}", 200, members, headers=self.app())

    def withdraw(self, name: str, clearance: Any) -> None:
        members = {"payload.ref": clearance, "payload.lifecycle": "withdrawn"}
        self.call(name, "POST", f"{CLEARANCES}/{clearance}/withdrawal", 200, members, headers=self.app())

    def answer(self, name: str, page: Any, answer: str, where: Any) -> Any:
        """Send the first page as the customer. Return where it leads."""
        form = {"user": self._customer[0], "phrase": self._customer[1], "answer": answer}
        return self.walk.step(name, "POST", page, 303, {"@Location": where}, data=form).find("@Location")

    def decide(self, name: str, page: Any, clearance: Any, answer: str) -> None:
        lifecycle = {"accept": "granted", "refuse": "refused"}[answer]
        self.answer(name, page, answer, f"{BACK}?clearance={clearance}&lifecycle={lifecycle}")

    def accept(self, name: str, page: Any) -> Any:
        """Accept a remittance as the customer. Return the page for the digits."""
        return self.answer(name, page, "accept", f"{page}/text")

    def mistype(self, name: str, page: Any, digits: str) -> None:
        members = PAGE | {"page": re.compile("not the digits that we sent")}
        self.walk.step(name, "POST", page, 403, members, data={"digits": digits})

    def confirm(self, name: str, page: Any, remittance: Any, lifecycle: str = "confirmed") -> None:
        members = {"@Location": f"{BACK}?remittance={remittance}&lifecycle={lifecycle}"}
        self.walk.step(name, "POST", page, 303, members, data={"digits": self._customer[2]})

    def balances(self, name: str, account: Any, access: Any, booked: Any = int, available: Any = int) -> Answer:
        members = {
            "payload.account": account,
            "payload.balances.#": 2,
            "payload.balances.0.sort": "booked",
            "payload.balances.0.amount.cents": booked,
            "payload.balances.0.amount.currency": "EUR",
            "payload.balances.1.sort": "available",
            "payload.balances.1.amount.cents": available,
        }
        return self.call(name, "GET", f"{ACCOUNTS}/{account}/balances", 200, members, access=access)

    def wish_money(self, account: Any, payee: tuple[str, str], amount: int, note: str, **more: Any) -> dict[str, Any]:
        to, of = {"name": payee[0], "iban": payee[1]}, {"cents": amount, "currency": "EUR"}
        return {"payload": {"account": account, "to": to, "amount": of, "note": note, **more}}

    def send(self, name: str, access: Any, wish: dict[str, Any]) -> tuple[Any, Any]:
        """Return the remittance's reference and the customer's page."""
        payload = wish["payload"]
        members = {
            "payload.ref": re.compile(r"^rm\.\w{12}$"),
            "payload.lifecycle": "unconfirmed",
            "payload.account": payload["account"],
            "payload.to": payload["to"],
            "payload.amount": payload["amount"],
            "payload.note": payload["note"],
            "payload.onDay": payload.get("onDay", self.day(0)),
            "payload.customerPage": DOOR,
        }
        made = self.call(name, "POST", REMITTANCES, 201, members, access=access, headers=self.once(name), json=wish)
        return made.find("payload.ref"), made.find("payload.customerPage")

    def refuse_money(
        self, name: str, access: Any, wish: dict[str, Any], status: int, slug: str, where: str = "", **more: Any
    ) -> None:
        headers = self.once(name)
        self.refuse(
            name, "POST", REMITTANCES, status, slug, where, more=more, access=access, headers=headers, json=wish
        )

    def follow(self, name: str, access: Any, remittance: Any, lifecycle: str, **more: Any) -> None:
        members = {"payload.ref": remittance, "payload.lifecycle": lifecycle, "payload.customerPage": None}
        members |= {f"payload.{member}": value for member, value in more.items()}
        self.call(name, "GET", f"{REMITTANCES}/{remittance}", 200, members, access=access)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = EvrosApp(walk, ("eleni.varda", "river-stone-9", "604182"))
    members = app.fail("header-wrong", 400, header="Evros-Request-Id")
    wish = app.wish(SEEING, app.day(30))
    walk.step("clearance without a request id", "POST", CLEARANCES, 400, members, headers=app.app(), json=wish)
    wrong = app.app(secret="bindwood")
    wish = app.wish(SEEING, app.day(30))
    app.refuse("app with a wrong secret", "POST", CLEARANCES, 401, "app-unknown", headers=wrong, json=wish)
    seeing, access, page = app.ask("clearance", SEEING, app.day(30))
    walk.step("customer's page", "GET", page, 200, PAGE | {"page": re.compile("May ledgerlark see-accounts")})
    app.decide("customer accepts", page, seeing, "accept")
    app.look("clearance is granted", seeing, "granted")
    members = {
        "payload.accounts.#": 2,
        "payload.accounts.0.account": re.compile(r"^K\d{9}$"),
        "payload.accounts.0.iban": re.compile(r"^GR\d{25}$"),
        "payload.accounts.0.label": "Salary",
        "payload.accounts.0.currency": "EUR",
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, access=access)
    account = accounts.find("payload.accounts.0.account")
    booked = cents(app.balances("balances", account, access), "payload.balances.0.amount.cents")
    query = {"account": str(account), "since": app.day(-75), "until": app.day(-1), "limit": "6"}
    members = {
        "payload.account": account,
        "payload.entries.#": 6,
        "payload.entries.0.day": re.compile(r"^\d{4}-\d\d-\d\d$"),
        "payload.entries.0.amount.cents": int,
        "payload.entries.0.sort": "card",
        "paging.limit": 6,
        "paging.onward": re.compile(r"^/money/v2/entries\?account=K\d{9}&cursor=\w{14}$"),
    }
    entries = app.call("entries", "GET", ENTRIES, 200, members, access=access, params=query)
    members = {"payload.account": account, "payload.entries.#": 6, "paging.limit": 6, "paging.onward": str}
    app.call("more entries", "GET", entries.find("paging.onward"), 200, members, access=access)
    query["limit"] = "51"
    app.refuse("too many entries", "GET", ENTRIES, 400, "query-wrong", "limit", access=access, params=query)
    nowhere = f"{ACCOUNTS}/K000000000/balances"
    app.refuse("balances of an unknown account", "GET", nowhere, 404, "not-known", access=access)

    rent = ("Dimitra Pappa", "GR1601101250000000012300695")
    wish = app.wish_money(account, rent, 38_500, "Rent July")
    app.refuse_money("remittance without the right", access, wish, 403, "right-missing", right="send-money")
    sending, pay, page = app.ask("clearance to send money", ["send-money"], app.day(1))
    app.decide("customer accepts that too", page, sending, "accept")
    much = app.wish_money(account, rent, 7_700_000, "Rent July")
    app.refuse_money("remittance without cover", pay, much, 422, "no-cover")
    slip = app.wish_money(account, ("Dimitra Pappa", "GR1601101250000000012300659"), 38_500, "Rent July")
    app.refuse_money("remittance to a mistyped IBAN", pay, slip, 422, "members-wrong", "payload.to.iban")
    sent, page = app.send("remittance", pay, wish)
    text = app.accept("customer accepts the remittance", page)
    app.mistype("customer mistypes the digits", text, "604128")
    app.confirm("customer types the digits", text, sent)
    members = {"payload.ref": sent, "payload.lifecycle": "confirmed", "@Evros-Repeated": "yes"}
    once = app.once("remittance")
    app.call("same remittance again", "POST", REMITTANCES, 200, members, access=pay, headers=once, json=wish)
    other = app.wish_money(account, rent, 39_500, "Rent July")
    app.refuse("another one in its place", "POST", REMITTANCES, 409, "once-taken", access=pay, headers=once, json=other)
    app.balances("balances with the amount held", account, access, booked, booked - 38_500)
    wait(timedelta(minutes=2))
    late = {"lifecycle": "underway"}
    app.refuse("recall it too late", "DELETE", f"{REMITTANCES}/{sent}", 409, "too-late", more=late, access=pay)
    wait(timedelta(minutes=6))
    app.follow("remittance is settled", pay, sent, "settled")
    app.balances("balances after", account, access, booked - 38_500, booked - 38_500)
    members = {"quota": 3, "@Retry-After": re.compile(r"^\d+$")}
    path = f"{ACCOUNTS}/{account}/balances"
    app.refuse("balances once too often", "GET", path, 429, "quota-used", more=members, access=access)
    query = {"account": str(account), "since": app.day(0)}
    members = {
        "payload.entries.#": 1,
        "payload.entries.0.amount.cents": -38_500,
        "payload.entries.0.day": app.day(0),
        "payload.entries.0.other": "Dimitra Pappa",
        "payload.entries.0.note": "Rent July",
        "payload.entries.0.sort": "remittance",
        "paging.limit": 20,
        "paging.onward": None,
    }
    app.call("entries after", "GET", ENTRIES, 200, members, access=access, params=query)

    choir = ("Choir of Soufli", "DE89370400440532013000")
    wish = app.wish_money(account, choir, 4_500, "Autumn", onDay=app.day(9))
    later, page = app.send("remittance for a later day", pay, wish)
    text = app.accept("customer accepts the later one", page)
    app.confirm("customer types its digits", text, later, "scheduled")
    app.follow("later one is scheduled", pay, later, "scheduled", onDay=app.day(9))
    members = {"payload.ref": later, "payload.lifecycle": "recalled"}
    app.call("recall the later one", "DELETE", f"{REMITTANCES}/{later}", 200, members, access=pay)
    unwanted, _, page = app.ask("clearance to refuse", ["see-entries"], app.day(100))
    app.decide("customer refuses", page, unwanted, "refuse")
    app.withdraw("withdraw the clearance", seeing)
    wait(2 * DAY)
    wish = app.wish_money(account, choir, 5_000, "Autumn")
    headers = app.once("two days later")
    app.refuse_inactive(
        "remittance after two days", "POST", REMITTANCES, sending, "over", access=pay, headers=headers, json=wish
    )
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = EvrosApp(walk, ("petros.kalfas", "olive-press-31", "917350"))
    wish = app.wish(["send-money"], app.day(40))
    stranger = app.app("lodgerlark")
    app.refuse("unknown app", "POST", CLEARANCES, 401, "app-unknown", headers=stranger, json=wish)
    sending, pay, send_page = app.ask("clearance to send money", ["send-money"], app.day(40))
    seeing, access, see_page = app.ask("clearance", ["see-entries", "see-balances", "see-accounts"], app.day(2))
    app.refuse_inactive("accounts too early", "GET", ACCOUNTS, seeing, "waiting", access=access)
    app.decide("customer accepts to send money", send_page, sending, "accept")
    app.refuse("accounts without the right", "GET", ACCOUNTS, 403, "right-missing", access=pay)
    walk.step("page of the other clearance", "GET", see_page, 200, PAGE | {"page": re.compile('name="phrase"')})
    app.decide("customer accepts the other", see_page, seeing, "accept")
    app.look("other clearance is granted", seeing, "granted")
    members: dict[str, Any] = {
        "payload.accounts.0.account": re.compile(r"^K\d{9}$"),
        "payload.accounts.0.iban": re.compile(r"^GR\d{25}$"),
        "payload.accounts.0.currency": "EUR",
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, access=access)
    account = accounts.find("payload.accounts.1.account")
    query = {"account": str(account), "since": app.day(-90), "limit": "4"}
    members = {
        "payload.account": account,
        "payload.entries.#": 4,
        "payload.entries.3.amount.cents": int,
        "paging.limit": 4,
        "paging.onward": str,
    }
    entries = app.call("entries", "GET", ENTRIES, 200, members, access=access, params=query)
    members = {"payload.account": account, "payload.entries.#": 4, "paging.limit": 4}
    app.call("next entries", "GET", entries.find("paging.onward"), 200, members, access=access)
    query["limit"] = "0"
    app.refuse("entries, but none", "GET", ENTRIES, 400, "query-wrong", "limit", access=access, params=query)
    nobody = {"account": "K999999999", "limit": "4"}
    app.refuse("entries of an unknown account", "GET", ENTRIES, 404, "not-known", access=access, params=nobody)
    before = app.balances("balances", account, access)
    booked = cents(before, "payload.balances.0.amount.cents")
    available = cents(before, "payload.balances.1.amount.cents")

    sails, vet = ("Aegean Sails", "CY17002001280000001200527600"), ("Dr Ivan Petkov", "BG80BNBG96611020345678")
    wish = app.wish_money(account, sails, 61_240, "New jib")
    header = {"header": "Evros-Once"}
    app.refuse("remittance without a key", "POST", REMITTANCES, 400, "header-wrong", more=header, access=pay, json=wish)
    nothing = app.wish_money(account, sails, 0, "New jib")
    app.refuse_money("remittance of nothing", pay, nothing, 422, "members-wrong", "payload.amount.cents")
    much = app.wish_money(account, sails, available + 1, "New jib")
    app.refuse_money("remittance a cent above the balance", pay, much, 422, "no-cover")
    wish_later = app.wish_money(account, vet, 8_950, "Vaccination", onDay=app.day(3))
    later, page = app.send("remittance in three days", pay, wish_later)
    text = app.accept("customer accepts it", page)
    app.confirm("customer types its digits", text, later, "scheduled")
    sent, page = app.send("remittance", pay, wish)
    unwanted, unwanted_page = app.send("remittance to refuse", pay, app.wish_money(account, vet, 2_300, "Tip"))
    text = app.accept("customer accepts the second", page)
    app.mistype("customer mistypes the digits of the second", text, "917305")
    app.confirm("customer types the digits of the second", text, sent)
    where = f"{BACK}?remittance={unwanted}&lifecycle=refused"
    app.answer("customer refuses the third", unwanted_page, "refuse", where)
    app.follow("third is refused", pay, unwanted, "refused", note="Tip")
    stopped, page = app.send("remittance to recall", pay, app.wish_money(account, sails, 15_075, "Ropes"))
    text = app.accept("customer accepts the fourth", page)
    app.confirm("customer types the digits of the fourth", text, stopped)
    members = {"payload.ref": stopped, "payload.lifecycle": "recalled"}
    app.call("recall the fourth", "DELETE", f"{REMITTANCES}/{stopped}", 200, members, access=pay)
    app.balances("balances with one amount held", account, access, booked, available - 61_240)
    wait(timedelta(minutes=3))
    app.follow("second is underway", pay, sent, "underway")
    wait(timedelta(minutes=7))
    late = {"lifecycle": "settled"}
    app.refuse("recall the second too late", "DELETE", f"{REMITTANCES}/{sent}", 409, "too-late", more=late, access=pay)
    app.balances("balances after", account, access, booked - 61_240, available - 61_240)
    path = f"{ACCOUNTS}/{account}/balances"
    app.refuse("balances a fourth time", "GET", path, 429, "quota-used", more={"quota": 3}, access=access)
    members = {
        "payload.entries.#": 1,
        "payload.entries.0.amount.cents": -61_240,
        "payload.entries.0.other": "Aegean Sails",
        "payload.entries.0.note": "New jib",
    }
    query = {"account": str(account), "since": app.day(0)}
    app.call("entries after", "GET", ENTRIES, 200, members, access=access, params=query)
    wait(DAY)
    app.balances("balances on the next day", account, access, booked - 61_240, available - 61_240)
    app.follow("first is still scheduled", pay, later, "scheduled")
    wait(2 * DAY)
    app.refuse_inactive("accounts after three days", "GET", ACCOUNTS, seeing, "over", access=access)
    app.follow("first is settled", pay, later, "settled", note="Vaccination")
    app.withdraw("withdraw the clearance to send money", sending)
    headers = app.once("after the end")
    app.refuse_inactive(
        "remittance after that", "POST", REMITTANCES, sending, "withdrawn", access=pay, headers=headers, json=wish
    )
    return walk.steps
