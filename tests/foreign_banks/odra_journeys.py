"""Two journeys at Odra. The second has another customer and payee, and a grant to look besides one to pay."""

import re
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://tallyroom.example/bank/odra"
INSTANT = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
RATE = Decimal("4.3125")
"""Złotys for a euro."""


def minor(answer: Answer, place: str) -> int:
    """The minor units at this place, or 0."""
    value = answer.find(f"{place}.minor_units")
    return value if isinstance(value, int) else 0


def money(minor_units: int, currency: str) -> dict[str, Any]:
    return {"minor_units": minor_units, "currency": currency}


def price(cents: int) -> tuple[int, int]:
    """What cents cost in groszy, and the fee."""
    converted = (cents * RATE).quantize(Decimal(1), ROUND_HALF_UP)
    fee = (converted * Decimal("0.004")).quantize(Decimal(1), ROUND_HALF_UP)
    return int(converted), int(fee)


def refusal(code: str, pointer: str | None = None, **more: Any) -> Expected:
    members = {"code": code, "pointer": pointer, "hint": str, **more}
    return {"errors.#": 1, "meta.trace": str, **{f"errors.0.{name}": value for name, value in members.items()}}


class App:
    def __init__(self, walk: Walk, email: str, password: str, pin: str) -> None:
        self.walk, self._email, self._password, self._pin = walk, email, password, pin

    def login(self, choice: str) -> dict[str, str]:
        return {"email": self._email, "password": self._password, "choice": choice}

    def pin(self, choice: str) -> dict[str, str]:
        return {"pin": self._pin, "choice": choice}

    def today(self) -> str:
        return self.walk.now.date().isoformat()

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        *,
        proof: str = "",
        key: str = "",
        match: Any = None,
        **request: Any,
    ) -> Answer:
        """A request of the app, with a pass as `proof`."""
        headers = {"X-Odra-Key": "odk_9f27c1_tallyroom"}
        if proof:
            headers["X-Odra-Pass"] = proof
        if key:
            headers["Idempotency-Key"] = str(uuid5(NAMESPACE_URL, f"{self._email} {key}"))
        if match is not None:
            headers["If-Match"] = str(match)
        return self.walk.step(name, method, path, status, members, headers=headers, **request)

    def ask(self, name: str, state: str, days: int, scopes: list[str]) -> tuple[str, str]:
        """Create a grant and return its path and page."""
        members = {
            "data.id": re.compile(r"^\w{4}-\w{4}-\w{4}$"),
            "data.status": "waiting",
            "data.status_changed_at": INSTANT,
            "data.scopes": scopes,
            "data.holder": None,
            "data.visit": re.compile(r"^http://.+/desk/grant/\w{18}$"),
            "data.created_at": INSTANT,
            "data.expires_at": INSTANT,
            "meta.trace": str,
            "@Location": re.compile(r"^/v3/grants/\w{4}-\w{4}-\w{4}$"),
        }
        document = {"scopes": scopes, "valid_days": days, "return_to": BACK, "app_state": state}
        grant = self.call(name, "POST", "/v3/grants", 201, members, json=document)
        return f"/v3/grants/{grant.find('data.id')}", str(grant.find("data.visit"))

    def decide(self, name: str, page: str, grant: str, state: str, choice: str) -> str:
        """Return the code, if the customer allows."""
        outcome = "outcome=refused$" if choice == "refuse" else r"outcome=allowed&code=\w{16}$"
        target = re.escape(f"{BACK}?grant={grant.rpartition('/')[2]}&app_state={state}&")
        members = {"@Location": re.compile(f"^{target}{outcome}")}
        answer = self.walk.step(name, "POST", page, 303, members, data=self.login(choice))
        return parse_qs(urlsplit(answer.find("@Location") or "").query).get("code", [""])[0]

    def get_pass(self, name: str, grant: str, **given: str) -> tuple[str, str]:
        """Return a pass and its renewal."""
        members = {
            "data.pass": re.compile(r"^ps\.\w{36}$"),
            "data.expires_at": INSTANT,
            "data.renewal": re.compile(r"^rn\.\w{30}$"),
            "data.grant.id": grant.rpartition("/")[2],
            "data.grant.status": "active",
        }
        answer = self.call(name, "POST", f"{grant}/passes", 201, members, json=given)
        return str(answer.find("data.pass")), str(answer.find("data.renewal"))

    def quote(
        self, name: str, grant: str, proof: str, document: dict[str, Any], rate: str, converted: int, fee: int
    ) -> str:
        """Return the id."""
        currency = "EUR" if rate == "1.0000" else "PLN"
        members = {
            "data.id": re.compile(r"^[0-9a-f]{20}$"),
            "data.status": "open",
            "data.from_account": document["from_account"],
            "data.payee_id": document["payee_id"],
            "data.receives": document["amount"],
            "data.rate": rate,
            "data.converted": money(converted, currency),
            "data.fee_percent": "0.00" if rate == "1.0000" else "0.40",
            "data.fee": money(fee, currency),
            "data.total": money(converted + fee, currency),
            "data.expires_at": INSTANT,
            "@Location": re.compile(rf"^{re.escape(grant)}/quotes/[0-9a-f]{{20}}$"),
        }
        return str(self.call(name, "POST", f"{grant}/quotes", 201, members, proof=proof, json=document).find("data.id"))

    def pay(
        self, name: str, grant: str, proof: str, key: str, document: dict[str, str], total: dict[str, Any]
    ) -> tuple[str, str]:
        """Create a payout and return its path and page."""
        members = {
            "data.id": re.compile(r"^\w{22}$"),
            "data.status": "needs_approval",
            "data.status_changed_at": INSTANT,
            "data.quote_id": document["quote_id"],
            "data.payee.name": str,
            "data.total": total,
            "data.reference": document["reference"],
            "data.cancelled_because": None,
            "data.visit": re.compile(r"^http://.+/desk/payout/\w{18}$"),
            "@Location": re.compile(rf"^{re.escape(grant)}/payouts/\w{{22}}$"),
        }
        made = self.call(name, "POST", f"{grant}/payouts", 201, members, proof=proof, key=key, json=document)
        return f"{grant}/payouts/{made.find('data.id')}", str(made.find("data.visit"))

    def settle(self, name: str, page: str, payout: str, choice: str, outcome: str) -> None:
        members = {"@Location": f"{BACK}?payout={payout.rpartition('/')[2]}&outcome={outcome}"}
        self.walk.step(name, "POST", page, 303, members, data=self.pin(choice))


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = App(walk, "hanna@lisowska.example", "wrzos-1704", "2580")
    wrong: dict[str, Any] = {"scopes": ["accounts", "loans"], "valid_days": 90, "app_state": "t-301"}
    members: dict[str, Any] = {
        "errors.#": 2,
        "errors.0.code": "not_allowed",
        "errors.0.pointer": "/scopes/1",
        "errors.1.code": "missing",
        "errors.1.pointer": "/return_to",
        "errors.1.hint": str,
    }
    app.call("grant with two mistakes", "POST", "/v3/grants", 422, members, json=wrong)
    grant, page = app.ask("grant", "t-302", 90, ["accounts", "activity", "payees", "payouts"])
    walk.step("page", "GET", page, 200, PAGE | {"page": re.compile("Let an app in")})
    form = app.login("allow") | {"password": "wrzos"}
    walk.step("page with a wrong password", "POST", page, 401, PAGE, data=form)
    code = app.decide("customer allows", page, grant, "t-302", "allow")
    proof, renewal = app.get_pass("pass", grant, code=code)

    members = {
        "data.#": 2,
        "data.0.id": int,
        "data.0.name": "Main",
        "data.0.currency": "PLN",
        "data.1.currency": "EUR",
        "meta.count": 2,
    }
    accounts = app.call("accounts", "GET", f"{grant}/accounts", 200, members, proof=proof)
    main = accounts.pick("data", currency="PLN").get("id")
    travel = accounts.pick("data", currency="EUR").get("id")
    one, unknown = f"{grant}/accounts/{main}", f"{grant}/accounts/10000001"
    app.call(
        "profile without the scope", "GET", f"{grant}/profile", 403, refusal("scope_missing", "profile"), proof=proof
    )
    app.call("unknown account", "GET", unknown, 404, refusal("not_found"), proof=proof)
    members = {
        "data.id": main,
        "data.name": "Main",
        "data.balances.booked.minor_units": int,
        "data.balances.held": money(0, "PLN"),
        "data.balances.spendable.currency": "PLN",
        "data.as_of": INSTANT,
    }
    booked = minor(app.call("account", "GET", one, 200, members, proof=proof), "data.balances.booked")
    members = {
        "data.#": 20,
        "data.0.id": re.compile(r"^\d{12}$"),
        "data.0.posted_at": INSTANT,
        "data.0.direction": re.compile("^(in|out)$"),
        "data.0.amount.minor_units": int,
        "data.0.balance_after": money(booked, "PLN"),
        "data.0.counterparty": str,
        "data.0.payout_id": None,
        "meta.next_cursor": str,
        "@X-Reads-Left": "1",
    }
    size = {"per_page": "20"}
    rows = app.call("activity", "GET", f"{one}/activity", 200, members, proof=proof, params=size)
    more = size | {"cursor": str(rows.find("meta.next_cursor"))}
    members = {"data.#": 8, "meta.next_cursor": None, "@X-Reads-Left": "1"}
    app.call("rest of it", "GET", f"{one}/activity", 200, members, proof=proof, params=more)

    studio = {"name": "Atelier Lindenhof", "currency": "EUR", "country": "DE"}
    studio["account_number"] = "DE89370400440532013000"
    members = {
        "data.id": re.compile(r"^B\d{9}$"),
        "data.status": "checking",
        "data.version": 1,
        "data.name": "Atelier Lindenhof",
        "data.account_number": "DE89370400440532013000",
        "@ETag": '"v1"',
        "@Location": re.compile(r"/payees/B\d{9}$"),
    }
    payee = app.call("payee", "POST", f"{grant}/payees", 201, members, proof=proof, json=studio)
    payee_id, tag = payee.find("data.id"), payee.find("@ETag")
    path, quotes = f"{grant}/payees/{payee_id}", f"{grant}/quotes"
    asked = {"from_account": main, "payee_id": payee_id, "amount": money(25_000, "EUR")}
    early = refusal("payee_not_ready", "/payee_id", payee_status="checking")
    app.call("quote too early", "POST", quotes, 409, early, proof=proof, json=asked)
    wait(timedelta(minutes=1))
    members = {"data.id": payee_id, "data.status": "ready", "data.version": 1, "@ETag": '"v1"'}
    app.call("payee is ready", "GET", path, 200, members, proof=proof)
    members = {"data.status": "ready", "data.version": 2, "data.name": "Atelier Lindenhof GbR", "@ETag": '"v2"'}
    name = {"name": "Atelier Lindenhof GbR"}
    app.call("rename the payee", "PATCH", path, 200, members, proof=proof, match=tag, json=name)
    stale = refusal("version_conflict", "If-Match", current_version=2)
    again = {"name": "Lindenhof"}
    app.call("rename it by the old version", "PATCH", path, 412, stale, proof=proof, match=tag, json=again)

    total = sum(price(900_000))
    poor = refusal("not_enough_funds", "/amount", short_by=money(total - booked, "PLN"))
    much = asked | {"amount": money(900_000, "EUR")}
    app.call("quote without cover", "POST", quotes, 422, poor, proof=proof, json=much)
    converted, fee = price(25_000)
    quote = app.quote("quote", grant, proof, asked, "4.3125", converted, fee)
    order = {"quote_id": quote, "reference": "Portrait 114"}
    no_key = refusal("missing_header", "Idempotency-Key")
    app.call("payout without a key", "POST", f"{grant}/payouts", 400, no_key, proof=proof, json=order)
    total = converted + fee
    payout, page = app.pay("payout", grant, proof, "portrait", order, money(total, "PLN"))
    app.settle("customer approves", page, payout, "approve", "approved")
    members = {
        "data.balances.booked": money(booked, "PLN"),
        "data.balances.held": money(total, "PLN"),
        "data.balances.spendable": money(booked - total, "PLN"),
    }
    app.call("account with the amount held", "GET", one, 200, members, proof=proof)
    wait(timedelta(minutes=3))
    members = {"data.status": "sent", "data.visit": None, "data.payee.name": "Atelier Lindenhof GbR"}
    app.call("payout is sent", "GET", payout, 200, members, proof=proof)
    late = refusal("payout_not_cancellable", payout_status="sent")
    why = {"reason": "wrong amount"}
    app.call("too late to cancel", "PUT", f"{payout}/cancellation", 409, late, proof=proof, json=why)
    members = {
        "data.#": 1,
        "data.0.direction": "out",
        "data.0.amount": money(total, "PLN"),
        "data.0.balance_after": money(booked - total, "PLN"),
        "data.0.counterparty": "Atelier Lindenhof GbR",
        "data.0.reference": "Portrait 114",
        "data.0.payout_id": payout.rpartition("/")[2],
        "meta.next_cursor": None,
        "@X-Reads-Left": "0",
    }
    today = {"since": app.today()}
    app.call("activity of today", "GET", f"{one}/activity", 200, members, proof=proof, params=today)
    members = {**refusal("too_many_reads"), "@Retry-After": re.compile(r"^\d+$"), "@X-Reads-Left": "0"}
    app.call("activity once too often", "GET", f"{one}/activity", 429, members, proof=proof)
    wait(timedelta(minutes=13))
    members = {"data.id": payout.rpartition("/")[2], "data.status": "delivered", "@Idempotency-Replayed": "yes"}
    payouts = f"{grant}/payouts"
    app.call("same payout again", "POST", payouts, 200, members, proof=proof, key="portrait", json=order)

    asked = {"from_account": travel, "payee_id": payee_id, "amount": money(4_200, "EUR")}
    quote = app.quote("quote in one currency", grant, proof, asked, "1.0000", 4_200, 0)
    order = {"quote_id": quote, "reference": "Frame"}
    cancelled, _ = app.pay("payout to cancel", grant, proof, "frame", order, money(4_200, "EUR"))
    members = {"data.status": "cancelled", "data.cancelled_because": "no longer needed", "data.visit": None}
    why = {"reason": "no longer needed"}
    app.call("cancel", "PUT", f"{cancelled}/cancellation", 200, members, proof=proof, json=why)

    wait(timedelta(minutes=31))
    ended = refusal("pass_not_valid", "X-Odra-Pass")
    app.call("account with an old pass", "GET", one, 401, ended, proof=proof)
    proof, _ = app.get_pass("next pass", grant, renewal=renewal)
    refused, page = app.ask("grant to refuse", "t-303", 10, ["accounts", "profile"])
    app.decide("customer refuses", page, refused, "t-303", "refuse")
    members = {"data.status": "refused", "data.holder": None, "data.visit": None}
    app.call("grant is refused", "GET", refused, 200, members)
    members = {"data.status": "withdrawn", "data.holder": "Hanna Lisowska", "data.visit": None}
    app.call("withdraw the first grant", "DELETE", grant, 200, members)
    closed = refusal("grant_not_active", grant_status="withdrawn")
    app.call("accounts after that", "GET", f"{grant}/accounts", 403, closed, proof=proof)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = App(walk, "marek.duda@poczta.example", "bialykruk88", "9031")
    look, page = app.ask("grant to look", "m1", 3, ["accounts"])
    code = app.decide("customer allows to look", page, look, "m1", "allow")
    looking, _ = app.get_pass("pass to look", look, code=code)
    members: dict[str, Any] = {"data.#": 3, "data.0.id": int, "data.0.name": "Household", "meta.count": 3}
    seen = app.call("accounts to look at", "GET", f"{look}/accounts", 200, members, proof=looking).find("data.0.id")
    no_right = refusal("scope_missing", "activity")
    path = f"{look}/accounts/{seen}/activity"
    app.call("activity without the scope", "GET", path, 403, no_right, proof=looking)

    wrong = {"scopes": ["payouts", "payees", "cards"], "valid_days": 60, "return_to": BACK, "app_state": "m2"}
    bad = refusal("not_allowed", "/scopes/2")
    app.call("grant with an unknown scope", "POST", "/v3/grants", 422, bad, json=wrong)
    grant, page = app.ask("grant to pay", "m2", 60, ["payouts", "payees", "activity", "accounts"])
    form = app.login("allow") | {"password": "bialykruk"}
    walk.step("page with a wrong password", "POST", page, 401, PAGE, data=form)
    walk.step("page is still open", "GET", page, 200, PAGE | {"page": re.compile("Let an app in")})
    code = app.decide("customer allows to pay", page, grant, "m2", "allow")
    proof, renewal = app.get_pass("pass to pay", grant, code=code)
    no_pass = refusal("pass_not_valid", "X-Odra-Pass")
    app.call("accounts without a pass", "GET", f"{grant}/accounts", 401, no_pass)
    members = {"data.#": 3, "data.1.name": "Salary", "data.1.currency": "PLN", "meta.count": 3}
    accounts = app.call("accounts", "GET", f"{grant}/accounts", 200, members, proof=proof)
    salary = accounts.pick("data", currency="PLN").get("id")
    home = accounts.pick("data", currency="EUR").get("id")
    one = f"{grant}/accounts/{salary}"

    bakery = {"name": "Boulangerie Fabre", "currency": "EUR", "country": "FR"}
    bad = refusal("missing", "/account_number")
    app.call("payee without its number", "POST", f"{grant}/payees", 422, bad, proof=proof, json=bakery)
    bakery["account_number"] = "FR1420041010050500013M02606"
    members = {"data.status": "checking", "data.version": 1, "data.country": "FR", "@ETag": '"v1"'}
    payee = app.call("payee", "POST", f"{grant}/payees", 201, members, proof=proof, json=bakery)
    payee_id, tag = payee.find("data.id"), payee.find("@ETag")
    path, quotes = f"{grant}/payees/{payee_id}", f"{grant}/quotes"
    asked = {"from_account": home, "payee_id": payee_id, "amount": money(6_350, "EUR")}
    early = refusal("payee_not_ready", "/payee_id", payee_status="checking")
    app.call("quote too early", "POST", quotes, 409, early, proof=proof, json=asked)
    members = {"data.balances.held": money(0, "PLN"), "data.currency": "PLN", "data.name": "Salary"}
    booked = minor(app.call("account", "GET", one, 200, members, proof=proof), "data.balances.booked")
    members = {
        "data.#": 12,
        "data.0.balance_after": money(booked, "PLN"),
        "meta.next_cursor": str,
        "@X-Reads-Left": "1",
    }
    size = {"per_page": "12"}
    rows = app.call("activity", "GET", f"{one}/activity", 200, members, proof=proof, params=size)
    more = size | {"cursor": str(rows.find("meta.next_cursor"))}
    members = {"data.#": 12, "data.0.posted_at": INSTANT, "meta.next_cursor": str}
    app.call("more of it", "GET", f"{one}/activity", 200, members, proof=proof, params=more)
    unknown = f"{grant}/accounts/10000002/activity"
    app.call("activity of an unknown account", "GET", unknown, 404, refusal("not_found"), proof=proof)

    wait(timedelta(minutes=2))
    name = {"name": "Fabre et fils"}
    no_match = refusal("missing_header", "If-Match")
    app.call("rename without a version", "PATCH", path, 400, no_match, proof=proof, json=name)
    members = {"data.status": "ready", "data.version": 2, "data.name": "Fabre et fils", "@ETag": '"v2"'}
    app.call("rename the payee", "PATCH", path, 200, members, proof=proof, match=tag, json=name)
    quote = app.quote("quote in one currency", grant, proof, asked, "1.0000", 6_350, 0)
    order = {"quote_id": quote, "reference": "Cake"}
    declined, page = app.pay("payout to decline", grant, proof, "cake", order, money(6_350, "EUR"))
    app.settle("customer declines", page, declined, "decline", "declined")
    members = {"data.status": "declined", "data.visit": None, "data.cancelled_because": None}
    app.call("payout is declined", "GET", declined, 200, members, proof=proof)
    late = refusal("payout_not_cancellable", payout_status="declined")
    why = {"reason": "declined anyway"}
    app.call("cancel the declined one", "PUT", f"{declined}/cancellation", 409, late, proof=proof, json=why)

    asked = {"from_account": salary, "payee_id": payee_id, "amount": money(48_090, "EUR")}
    converted, fee = price(48_090)
    total = converted + fee
    quote = app.quote("quote in two currencies", grant, proof, asked, "4.3125", converted, fee)
    order = {"quote_id": quote, "reference": "Wedding buffet"}
    payout, page = app.pay("payout", grant, proof, "buffet", order, money(total, "PLN"))
    form = app.pin("approve") | {"pin": "9130"}
    walk.step("page with a wrong PIN", "POST", page, 401, PAGE, data=form)
    app.settle("customer approves", page, payout, "approve", "approved")
    members = {
        "data.balances.booked": money(booked, "PLN"),
        "data.balances.held": money(total, "PLN"),
        "data.balances.spendable": money(booked - total, "PLN"),
    }
    app.call("account with the amount held", "GET", one, 200, members, proof=proof)
    wait(timedelta(minutes=4))
    members = {"data.status": "sent", "data.receives": money(48_090, "EUR"), "data.payee.name": "Fabre et fils"}
    app.call("payout is sent", "GET", payout, 200, members, proof=proof)
    booked -= total
    members = {"data.balances.booked": money(booked, "PLN"), "data.balances.held": money(0, "PLN")}
    app.call("account after", "GET", one, 200, members, proof=proof)
    members = {
        "data.#": 1,
        "data.0.amount": money(total, "PLN"),
        "data.0.balance_after": money(booked, "PLN"),
        "data.0.reference": "Wedding buffet",
        "@X-Reads-Left": "0",
    }
    today = {"since": app.today()}
    app.call("activity of today", "GET", f"{one}/activity", 200, members, proof=proof, params=today)
    members = {**refusal("too_many_reads"), "@X-Reads-Left": "0"}
    app.call("activity once too often", "GET", f"{one}/activity", 429, members, proof=proof, params=size)

    wait(timedelta(minutes=40))
    app.call("payout with an old pass", "GET", payout, 401, no_pass, proof=proof)
    proof, _ = app.get_pass("next pass", grant, renewal=renewal)
    members = {"data.status": "delivered", "data.total": money(total, "PLN")}
    app.call("payout is delivered", "GET", payout, 200, members, proof=proof)
    unknown = f"{grant}/payouts/zzzzzzzzzzzzzzzzzzzz99"
    app.call("unknown payout", "GET", unknown, 404, refusal("not_found"), proof=proof)

    wait(3 * DAY)
    members = {"data.status": "expired", "data.holder": "Marek Duda", "data.visit": None}
    app.call("grant to look has expired", "GET", look, 200, members)
    closed = refusal("grant_not_active", grant_status="expired")
    app.call("accounts after that", "GET", f"{look}/accounts", 403, closed, proof=looking)
    members = {"data.status": "withdrawn", "data.scopes": ["payouts", "payees", "activity", "accounts"]}
    app.call("withdraw the grant to pay", "DELETE", grant, 200, members)
    return walk.steps
