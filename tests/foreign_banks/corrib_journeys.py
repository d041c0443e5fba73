"""Two journeys of the app Tallybook and its customers at Corrib."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://tallybook.example/corrib"
EVERYTHING = ["ACCOUNTS", "BALANCES", "TRANSACTIONS"]
PERMITS, ACCOUNTS, ORDERS = "/v3/permits", "/v3/accounts", "/payments/v1/orders"
APPROVE = re.compile(r"^/customer/approve/\w{16}$")


def cents(answer: Answer, place: str) -> int:
    """The number at this place, or 0."""
    value = answer.find(place)
    return value if isinstance(value, int) else 0


class CorribApp:
    def __init__(self, walk: Walk, customer: tuple[str, str]) -> None:
        self.walk, self._customer = walk, customer
        self._token: Any = None

    def _name(self, word: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"{self._customer[0]} {word}"))

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).date().isoformat()

    def sign_in(self, name: str) -> None:
        form = {"grant_type": "client_credentials", "client_id": "tallybook", "client_secret": "greenfinch"}
        members = {"access_token": str, "token_type": "Bearer", "expires_in": 3600}
        self._token = self.walk.step(name, "POST", "/oauth/token", 200, members, data=form).find("access_token")

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        *,
        permit: Any = None,
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        correlation = self._name(name)
        sent = {"X-Correlation-Id": correlation} | (headers or {})
        if self._token:
            sent["Authorization"] = f"Bearer {self._token}"
        if permit:
            sent["X-Permit"] = str(permit)
        place = "meta.correlationId" if status < 400 else "correlationId"
        expected = {place: correlation, "@X-Correlation-Id": correlation, **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def refuse(
        self, name: str, method: str, path: str, status: int, kind: str, place: str = "", **request: Any
    ) -> None:
        members = {
            "type": f"https://developer.corrib.example/problems/{kind}",
            "status": status,
            "@Content-Type": "application/problem+json",
        }
        self.call(name, method, path, status, members | ({"fields.0.pointer": place} if place else {}), **request)

    def wish(self, reach: list[str], days: int) -> dict[str, Any]:
        return {"data": {"reach": reach, "validForDays": days, "returnUrl": BACK}}

    def ask(self, name: str, reach: list[str], days: int) -> tuple[Any, Any]:
        """Return the permit's id and the customer's page."""
        until = (self.walk.now + days * DAY).strftime("%Y-%m-%d")
        members = {
            "data.permitId": re.compile(r"^pm-\w{10}$"),
            "data.standing": "AWAITING_CUSTOMER",
            "data.reach": reach,
            "data.validUntil": re.compile(f"^{until}T"),
            "links.approve": APPROVE,
            "@Location": re.compile(r"^/v3/permits/pm-\w{10}$"),
        }
        made = self.call(name, "POST", PERMITS, 201, members, json=self.wish(reach, days))
        return made.find("data.permitId"), made.find("links.approve")

    def look(self, name: str, permit: Any, standing: str) -> None:
        members = {"data.permitId": permit, "data.standing": standing, "links.self": f"{PERMITS}/{permit}"}
        self.call(name, "GET", f"{PERMITS}/{permit}", 200, members)

    def order(self, payer: Any, payee: tuple[str, str], amount: int, reference: str) -> dict[str, Any]:
        data = {"fromIban": payer, "toIban": payee[0], "toName": payee[1], "cents": amount}
        return {"data": data | {"reference": reference, "returnUrl": BACK}}

    def place(self, name: str, order: dict[str, Any]) -> tuple[Any, Any]:
        """Return the order's id and the customer's page."""
        members = {f"data.{name}": value for name, value in order["data"].items() if name != "returnUrl"}
        members |= {"data.orderId": re.compile(r"^or-\w{10}$"), "data.standing": "AWAITING_CUSTOMER"}
        members |= {"data.currency": "EUR", "links.approve": APPROVE}
        made = self.call(name, "POST", ORDERS, 201, members, headers=self.key(name), json=order)
        return made.find("data.orderId"), made.find("links.approve")

    def refuse_order(self, name: str, order: dict[str, Any], kind: str, place: str = "") -> None:
        self.refuse(name, "POST", ORDERS, 422, kind, place, headers=self.key(name), json=order)

    def key(self, name: str) -> dict[str, str]:
        return {"Idempotency-Key": self._name(f"{name} key")}

    def follow(self, name: str, order: Any, standing: str) -> None:
        members = {"data.orderId": order, "data.standing": standing}
        self.call(name, "GET", f"{ORDERS}/{order}", 200, members)

    def cancel(self, name: str, order: Any) -> None:
        members = {"data.orderId": order, "data.standing": "CALLED_OFF"}
        self.call(name, "POST", f"{ORDERS}/{order}/cancel", 200, members)

    def decide(self, name: str, page: Any, id: Any, decision: str) -> None:
        outcome = {"allow": "allowed", "deny": "denied"}[decision]
        form = {"customerNumber": self._customer[0], "passcode": self._customer[1], "decision": decision}
        kind = "orderId" if str(id).startswith("or-") else "permitId"
        members = {"@Location": f"{BACK}?{kind}={id}&outcome={outcome}"}
        self.walk.step(name, "POST", page, 303, members, data=form)

    def mistype(self, name: str, page: Any, passcode: str) -> None:
        form = {"customerNumber": self._customer[0], "passcode": passcode, "decision": "allow"}
        members = PAGE | {"page": re.compile("customer number or passcode is wrong")}
        self.walk.step(name, "POST", page, 401, members, data=form)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = CorribApp(walk, ("40718253", "271828"))
    wish = app.wish(EVERYTHING, 1)
    app.refuse("permit without a token", "POST", PERMITS, 401, "invalid-token", json=wish)
    app.sign_in("token")
    unknown = app.wish(["CARDS"], 1)
    app.refuse("permit for cards", "POST", PERMITS, 422, "invalid-request", "/data/reach", json=unknown)
    permit, page = app.ask("permit", EVERYTHING, 1)
    app.refuse("accounts too early", "GET", ACCOUNTS, 403, "permit-not-in-force", permit=permit)
    walk.step("customer's page", "GET", page, 200, PAGE | {"page": re.compile("Let tallybook see accounts")})
    app.decide("customer allows", page, permit, "allow")
    app.look("permit is in force", permit, "IN_FORCE")
    members: dict[str, Any] = {
        "data.#": 2,
        "data.0.accountId": re.compile(r"^ac-\w{8}$"),
        "data.0.iban": re.compile(r"^IE\d\dCORB\d{14}$"),
        "data.0.name": "Everyday account",
        "data.0.currency": "EUR",
        "page.next": None,
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, permit=permit)
    account, iban = accounts.find("data.0.accountId"), accounts.find("data.0.iban")
    balances, entries = f"{ACCOUNTS}/{account}/balances", f"{ACCOUNTS}/{account}/transactions"
    members = {"data.accountId": account, "data.bookedCents": int, "data.availableCents": int, "data.currency": "EUR"}
    booked = cents(app.call("balances", "GET", balances, 200, members, permit=permit), "data.bookedCents")
    query = {"from": app.day(-60), "to": app.day(-1), "size": "5"}
    members = {
        "data.#": 5,
        "data.0.cents": int,
        "data.0.bookedOn": re.compile(r"^\d{4}-\d\d-\d\d$"),
        "data.0.kind": "CARD",
        "page.size": 5,
        "page.next": str,
    }
    page_one = app.call("transactions", "GET", entries, 200, members, permit=permit, params=query)
    query["cursor"] = str(page_one.find("page.next"))
    app.call("more transactions", "GET", entries, 200, {"data.#": 5, "page.size": 5}, permit=permit, params=query)
    nowhere = f"{ACCOUNTS}/ac-zzzzzzzz/balances"
    app.refuse("balances of an unknown account", "GET", nowhere, 404, "not-found", permit=permit)

    order = app.order(iban, ("IE64IRCE92050112345678", "Nora Keane"), 42_550, "Rent June")
    wrong = {"data": order["data"] | {"toIban": "IE65IRCE92050112345678"}}
    app.refuse_order("order to a mistyped IBAN", wrong, "invalid-request", "/data/toIban")
    much = {"data": order["data"] | {"cents": 9_500_000}}
    app.refuse_order("order above the balance", much, "insufficient-funds")
    rent, page = app.place("order", order)
    app.mistype("customer mistypes the passcode", page, "271882")
    app.decide("customer approves", page, rent, "allow")
    app.follow("order is accepted", rent, "ACCEPTED")
    members = {"data.bookedCents": booked, "data.availableCents": booked - 42_550}
    app.call("balances with the amount reserved", "GET", balances, 200, members, permit=permit)
    wait(timedelta(seconds=80))
    app.follow("order is in clearing", rent, "IN_CLEARING")
    app.refuse("cancel it too late", "POST", f"{ORDERS}/{rent}/cancel", 409, "cannot-be-cancelled")
    wait(timedelta(minutes=4))
    app.follow("order is paid", rent, "PAID")
    members = {"data.bookedCents": booked - 42_550, "data.availableCents": booked - 42_550}
    app.call("balances after", "GET", balances, 200, members, permit=permit)
    members = {
        "data.#": 1,
        "data.0.cents": -42_550,
        "data.0.bookedOn": app.day(0),
        "data.0.counterparty": "Nora Keane",
        "data.0.reference": "Rent June",
        "data.0.kind": "TRANSFER",
        "page.next": None,
    }
    app.call("transactions after", "GET", entries, 200, members, permit=permit, params={"from": app.day(0)})

    gym = ("IE70BOFI90001712345678", "Corrib Rowers Club")
    stopped, page = app.place("order to cancel", app.order(iban, gym, 6_000, "Membership"))
    app.decide("customer approves that too", page, stopped, "allow")
    app.cancel("cancel the order", stopped)
    declined, page = app.place("order to decline", app.order(iban, gym, 6_500, "Membership 2"))
    app.decide("customer declines the order", page, declined, "deny")
    app.follow("order is turned down", declined, "TURNED_DOWN")
    other, page = app.ask("another permit", ["ACCOUNTS", "BALANCES"], 90)
    app.decide("customer declines the permit", page, other, "deny")
    app.look("other permit is turned down", other, "TURNED_DOWN")
    wait(DAY)
    app.refuse("token has expired", "GET", f"{PERMITS}/{permit}", 401, "invalid-token")
    app.sign_in("new token")
    app.look("permit has lapsed", permit, "LAPSED")
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = CorribApp(walk, ("62950417", "161803"))
    app.sign_in("token")
    narrow, no = app.ask("permit to decline", ["BALANCES"], 30)
    permit, yes = app.ask("permit", ["TRANSACTIONS", "ACCOUNTS", "BALANCES"], 10)
    walk.step("page of the second permit", "GET", yes, 200, PAGE | {"page": re.compile('name="passcode"')})
    app.decide("customer allows", yes, permit, "allow")
    app.mistype("customer mistypes the passcode", no, "161830")
    app.decide("customer declines", no, narrow, "deny")
    app.look("first permit is turned down", narrow, "TURNED_DOWN")
    app.refuse("accounts with that", "GET", ACCOUNTS, 403, "permit-not-in-force", permit=narrow)
    members: dict[str, Any] = {
        "data.0.accountId": re.compile(r"^ac-\w{8}$"),
        "data.0.iban": re.compile(r"^IE\d\dCORB\d{14}$"),
        "data.0.currency": "EUR",
        "page.next": None,
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, permit=permit)
    account, iban = accounts.find("data.0.accountId"), accounts.find("data.0.iban")
    balances, entries = f"{ACCOUNTS}/{account}/balances", f"{ACCOUNTS}/{account}/transactions"
    query = {"from": app.day(-45), "size": "3"}
    members = {"data.#": 3, "data.2.cents": int, "data.2.entryId": str, "page.size": 3, "page.next": str}
    page_one = app.call("transactions", "GET", entries, 200, members, permit=permit, params=query)
    query["cursor"] = str(page_one.find("page.next"))
    app.call("next page", "GET", entries, 200, {"data.#": 3, "page.size": 3}, permit=permit, params=query)
    members = {"data.accountId": account, "data.bookedCents": int, "data.availableCents": int}
    before = app.call("balances", "GET", balances, 200, members, permit=permit)
    booked, available = cents(before, "data.bookedCents"), cents(before, "data.availableCents")

    dentist, school = ("IE64IRCE92050112345678", "Dr Aoife Lynch"), ("IE70BOFI90001712345678", "Scoil Bhride")
    much = app.order(iban, dentist, available + 1, "Crown")
    app.refuse_order("order a cent above the balance", much, "insufficient-funds")
    nothing = app.order(iban, dentist, 0, "Crown")
    app.refuse_order("order of nothing", nothing, "invalid-request", "/data/cents")
    refused, refused_page = app.place("order to decline", app.order(iban, dentist, 18_000, "Crown"))
    paid, paid_page = app.place("order", app.order(iban, school, 7_325, "Summer camp"))
    stopped, stopped_page = app.place("order to cancel", app.order(iban, dentist, 9_990, "Crown again"))
    app.decide("customer approves the second", paid_page, paid, "allow")
    app.decide("customer approves the third", stopped_page, stopped, "allow")
    app.decide("customer declines the first", refused_page, refused, "deny")
    members = {"data.bookedCents": booked, "data.availableCents": available - 17_315}
    app.call("balances with two amounts reserved", "GET", balances, 200, members, permit=permit)
    app.cancel("cancel the third", stopped)
    app.refuse("cancel the first", "POST", f"{ORDERS}/{refused}/cancel", 409, "cannot-be-cancelled")
    members = {"data.bookedCents": booked, "data.availableCents": available - 7_325}
    app.call("balances with one amount reserved", "GET", balances, 200, members, permit=permit)
    wait(timedelta(minutes=2))
    app.follow("second order is in clearing", paid, "IN_CLEARING")
    wait(timedelta(minutes=8))
    app.follow("second order is paid", paid, "PAID")
    app.follow("third order is still cancelled", stopped, "CALLED_OFF")
    members = {"data.bookedCents": booked - 7_325, "data.availableCents": available - 7_325}
    app.call("balances after", "GET", balances, 200, members, permit=permit)
    members = {
        "data.#": 1,
        "data.0.cents": -7_325,
        "data.0.counterparty": "Scoil Bhride",
        "data.0.reference": "Summer camp",
    }
    app.call("transactions after", "GET", entries, 200, members, permit=permit, params={"from": app.day(0)})
    wait(2 * DAY)
    app.refuse("token has expired", "GET", ACCOUNTS, 401, "invalid-token", permit=permit)
    app.sign_in("new token")
    app.look("permit is still in force", permit, "IN_FORCE")
    wait(8 * DAY)
    app.sign_in("newest token")
    app.refuse("balances after ten days", "GET", balances, 403, "permit-not-in-force", permit=permit)
    app.look("permit has lapsed", permit, "LAPSED")
    return walk.steps
