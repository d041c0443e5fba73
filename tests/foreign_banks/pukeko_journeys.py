"""Two journeys at Pūkeko. The second has another app, customer and order."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

AROHA = ("40718832", "271828")
CALLUM = ("40955016", "902144")
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$")


class App:
    def __init__(self, walk: Walk, name: str, secret: str, back: str) -> None:
        self.walk, self._basic, self.back = walk, (name, secret), back
        self.own: Any = None
        """The app's token."""

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).date().isoformat()

    def give(self, name: str, status: int = 200, members: Expected | None = None, **form: str) -> Answer:
        """Ask for a token."""
        expected = {"@Cache-Control": "no-store", **(members or {})}
        return self.walk.step(name, "POST", "/auth/v3/token", status, expected, data=form, auth=self._basic)

    def enter(self, name: str) -> None:
        members = {"token_type": "Bearer", "expires_in": 900, "data": None}
        self.own = self.give(name, 200, members, grant_type="client_credentials").find("access_token")

    def exchange(self, name: str, permit: str, **form: str) -> tuple[Any, str]:
        """Return a token of the customer and the refresh token."""
        members = {"expires_in": 600, "permit": permit}
        answer = self.give(name, 200, members, **form)
        return answer.find("access_token"), str(answer.find("refresh_token"))

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        *,
        token: Any = None,
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        sent = {"Authorization": f"Bearer {token or self.own}", "X-Trace-Id": f"trace-{len(self.walk.steps):03}"}
        expected = {"meta.traceId": sent["X-Trace-Id"], "meta.servedAt": TIME, **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=sent | (headers or {}), **request)

    def fail(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        code: str,
        members: Expected | None = None,
        *,
        token: Any = None,
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> None:
        sent = {"Authorization": f"Bearer {token or self.own}", "X-Trace-Id": f"trace-{len(self.walk.steps):03}"}
        expected = {"code": code, "status": status, "traceId": sent["X-Trace-Id"], **(members or {})}
        expected["@Content-Type"] = "application/problem+json"
        self.walk.step(name, method, path, status, expected, headers=sent | (headers or {}), **request)

    def permit(self, *permissions: str, days: int) -> dict[str, Any]:
        return {"permissions": [*permissions], "validUntil": self.day(days), "returnTo": self.back}

    def ask(self, name: str, document: dict[str, Any]) -> tuple[str, str]:
        """Return the path of a new permit and its page."""
        members = {
            "data.stage": "AWAITING_CUSTOMER",
            "data.permissions": document["permissions"],
            "data.validUntil": document["validUntil"],
            "data.approval.closesAt": TIME,
            "@Location": re.compile(r"^/auth/v3/permits/prm_\w{12}$"),
        }
        made = self.call(name, "POST", "/auth/v3/permits", 201, members, json=document)
        return str(made.find("@Location")), str(made.find("data.approval.href"))

    def transfer(self, cents: int, name: str, account: str, particulars: str) -> dict[str, Any]:
        payee = {"name": name, "account": account}
        return {
            "cents": cents,
            "currency": "NZD",
            "payee": payee,
            "particulars": particulars,
            "returnTo": self.back,
        }

    def send(self, name: str, key: str, document: dict[str, Any], members: Expected | None = None) -> tuple[str, str]:
        """Return the path of a transfer and its page."""
        expected = {
            "data.stage": "AWAITING_CUSTOMER",
            "data.cents": document["cents"],
            "data.payee": document["payee"],
            "data.payer": None,
            "data.approval.closesAt": TIME,
            "@Location": re.compile(r"^/data/v3/transfers/trf_\w{12}$"),
            **(members or {}),
        }
        headers = {"Idempotency-Key": key}
        made = self.call(name, "POST", "/data/v3/transfers", 202, expected, headers=headers, json=document)
        return str(made.find("@Location")), str(made.find("data.approval.href"))

    def sign_in(self, name: str, page: str, customer: tuple[str, str]) -> list[str]:
        """Open the page, sign the customer in, and return the accounts that the customer can choose."""
        self.walk.step(f"{name}: page", "GET", page, 200, PAGE | {"page": re.compile("passcode")})
        members = PAGE | {"page": re.compile("Kia ora"), "@Set-Cookie": re.compile(r"^sca=\w{18};")}
        form = {"customerNumber": customer[0], "passcode": customer[1]}
        return self.walk.step(name, "POST", page, 200, members, data=form).fields.get("account", [])

    def decide(self, name: str, page: str, answer: str, *accounts: str) -> str:
        """Return the code of the redirect."""
        query = {"approve": r"\?(permit|transfer)=\w+(&code=\w+)?$", "decline": r"\?\w+=\w+&error=customer_declined$"}
        members = {"@Location": re.compile(re.escape(self.back) + query[answer])}
        form = {"account": [*accounts], "answer": answer}
        back = self.walk.step(name, "POST", f"{page}/answer", 303, members, data=form).find("@Location")
        return parse_qs(urlsplit(back or "").query).get("code", [""])[0]


def cents(answer: Answer, place: str) -> int:
    """The number at this place, or 0."""
    value = answer.find(place)
    return value if isinstance(value, int) else 0


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = App(walk, "tally-nz", "kowhai-93-bloom", "https://tally.example/bank/return")
    wrong = {"error": "invalid_client", "@WWW-Authenticate": 'Basic realm="pukeko"'}
    form = {"grant_type": "client_credentials"}
    walk.step("token with a wrong secret", "POST", "/auth/v3/token", 401, wrong, data=form, auth=("tally-nz", "weka"))
    missing = {"code": "PK-1000", "@WWW-Authenticate": 'Bearer realm="pukeko"'}
    walk.step("permit without a token", "POST", "/auth/v3/permits", 401, missing, json={})
    app.enter("token of the app")
    wanted = app.permit("ACCOUNTS", "BALANCES", "ENTRIES", days=30)
    violated = {"violations": [{"member": "permissions", "rule": "choice"}]}
    app.fail(
        *("permit without permissions", "POST", "/auth/v3/permits", 422, "PK-1101", violated),
        json=wanted | {"permissions": []},
    )
    violated = {"violations": [{"member": "validUntil", "rule": "range"}]}
    late = wanted | {"validUntil": app.day(91)}
    app.fail("permit for too long", "POST", "/auth/v3/permits", 422, "PK-1101", violated, json=late)
    permit, page = app.ask("permit", wanted)
    app.call("permit waits", "GET", permit, 200, {"data.stage": "AWAITING_CUSTOMER"})
    app.fail("unknown permit", "GET", "/auth/v3/permits/prm_aaaabbbbcccc", 404, "PK-1200")
    app.fail("accounts with the app's token", "GET", "/data/v3/accounts", 403, "PK-1002")
    form = {"customerNumber": AROHA[0], "passcode": "000000"}
    walk.step("wrong passcode", "POST", page, 401, PAGE | {"page": re.compile("is wrong")}, data=form)
    numbers = app.sign_in("customer signs in", page, AROHA)
    code = app.decide("customer agrees", page, "approve", *numbers)
    app.call("permit is approved", "GET", permit, 200, {"data.stage": "APPROVED", "data.approval": None})
    app.give("wrong code", 400, {"error": "invalid_grant"}, grant_type="authorization_code", code="a1b2c3")
    id = permit.rpartition("/")[2]
    token, refresh = app.exchange("token of the customer", id, grant_type="authorization_code", code=code)
    app.give("code again", 400, {"error": "invalid_grant"}, grant_type="authorization_code", code=code)
    app.call("permit is active", "GET", permit, 200, {"data.stage": "ACTIVE", "data.permissions.#": 3})
    members: dict[str, Any] = {"data.#": 2, "meta.page.count": 2, "meta.page.next": None, "data.0.currency": "NZD"}
    rows = app.call("accounts", "GET", "/data/v3/accounts", 200, members, token=token)
    own = f"/data/v3/accounts/{rows.pick('data', label='Everyday').get('accountId')}"
    members = {"data.number": "38-9014-0271833-00", "data.holder.name": "Aroha Ngata"}
    app.call("one account", "GET", own, 200, members, token=token)
    app.fail("unknown account", "GET", "/data/v3/accounts/acc_zzzz99zzzz", 404, "PK-1300", token=token)
    members = {"data.ledgerCents": int, "meta.currency": "NZD"}
    before = cents(app.call("balance", "GET", f"{own}/balance", 200, members, token=token), "data.ledgerCents")
    since = {"since": app.day(-60), "limit": "10"}
    members = {"data.#": 10, "data.0.cents": int, "data.0.side": re.compile("IN|OUT"), "meta.page.count": 10}
    entries = app.call("entries", "GET", f"{own}/entries", 200, members, token=token, params=since)
    rest = since | {"after": str(entries.find("meta.page.next"))}
    members = {"data.#": 4, "meta.page.count": 4, "meta.page.next": None, "meta.currency": "NZD"}
    app.call("rest of the entries", "GET", f"{own}/entries", 200, members, token=token, params=rest)
    guess = since | {"after": "cur_00000000000000"}
    app.fail("unknown cursor", "GET", f"{own}/entries", 400, "PK-1303", token=token, params=guess)
    backwards = {"since": app.day(0), "until": app.day(-7)}
    app.fail("period backwards", "GET", f"{own}/entries", 422, "PK-1302", token=token, params=backwards)
    app.fail("unknown path", "GET", "/data/v3/cards", 404, "PK-1404")
    app.fail("wrong method", "PUT", "/data/v3/accounts", 405, "PK-1405", {"@Allow": "GET"}, json={})

    rent = app.transfer(61_500, "Moana Property", "02-0192-0318844-00", "Rent June")
    key = {"Idempotency-Key": "tally-5501"}
    app.fail("transfer without a key", "POST", "/data/v3/transfers", 400, "PK-1102", json=rent)
    much, limit = rent | {"cents": 500_001}, {"mostCents": 500_000}
    app.fail("transfer over the limit", "POST", "/data/v3/transfers", 422, "PK-1401", limit, headers=key, json=much)
    negative, violated = rent | {"cents": -100}, {"violations": [{"member": "cents", "rule": "positive"}]}
    app.fail("negative amount", "POST", "/data/v3/transfers", 422, "PK-1101", violated, headers=key, json=negative)
    transfer, page = app.send("transfer", "tally-5501", rent)
    app.send("same transfer again", "tally-5501", rent, {"@Idempotency-Replayed": "true", "@Location": transfer})
    other = rent | {"cents": 61_501}
    app.fail("same key, other amount", "POST", "/data/v3/transfers", 409, "PK-1103", headers=key, json=other)
    app.call("transfer waits", "GET", transfer, 200, {"data.stage": "AWAITING_CUSTOMER", "data.payer": None})
    numbers = app.sign_in("customer signs in to pay", page, AROHA)
    poor, answer = {"account": numbers[-1:], "answer": "approve"}, f"{page}/answer"
    members = PAGE | {"page": re.compile("not enough money")}
    walk.step("account without enough money", "POST", answer, 422, members, data=poor)
    app.decide("customer pays", page, "approve", *numbers[:1])
    members = {"data.stage": "AUTHORISED", "data.payer.account": "38-9014-0271833-00", "data.approval": None}
    app.call("transfer is authorised", "GET", transfer, 200, members)
    members = {"data.ledgerCents": before, "data.spendableCents": before - 61_500}
    app.call("balance with the amount held", "GET", f"{own}/balance", 200, members, token=token)
    app.fail("balance too often", "GET", f"{own}/balance", 429, "PK-1301", {"@Retry-After": "60"}, token=token)
    wait(timedelta(seconds=40))
    app.call("transfer is sent", "GET", transfer, 200, {"data.stage": "SENT"})
    app.fail("too late to cancel", "POST", f"{transfer}/cancel", 409, "PK-1403", {"stage": "SENT"})
    wait(timedelta(minutes=3))
    app.call("transfer is settled", "GET", transfer, 200, {"data.stage": "SETTLED", "data.cents": 61_500})
    members = {"data.ledgerCents": before - 61_500, "data.spendableCents": before - 61_500}
    app.call("balance after", "GET", f"{own}/balance", 200, members, token=token)
    members = {"data.#": 1, "data.0.cents": 61_500, "data.0.side": "OUT", "data.0.text": "Moana Property"}
    app.call("entries after", "GET", f"{own}/entries", 200, members, token=token, params={"since": app.day(0)})

    power = app.transfer(9_940, "Mercury", "03-0104-0771200-25", "Power")
    transfer, page = app.send("transfer to decline", "tally-5502", power)
    app.sign_in("customer signs in again", page, AROHA)
    app.decide("customer declines", page, "decline")
    app.call("transfer is declined", "GET", transfer, 200, {"data.stage": "DECLINED", "data.payer": None})
    transfer, _ = app.send("transfer to cancel", "tally-5503", power | {"cents": 9_490})
    app.call("cancel the transfer", "POST", f"{transfer}/cancel", 200, {"data.stage": "CANCELLED", "data.cents": 9_490})
    wait(timedelta(minutes=8))
    ended = {"@WWW-Authenticate": re.compile('error="invalid_token"')}
    app.fail("customer's token has ended", "GET", own, 401, "PK-1001", ended, token=token)
    token, _ = app.exchange("refreshed token", id, grant_type="refresh_token", refresh_token=refresh)
    app.call("account with it", "GET", own, 200, {"data.label": "Everyday"}, token=token)
    walk.step(
        *("revoke the permit", "DELETE", permit, 204, {"page": ""}),
        headers={"Authorization": f"Bearer {app.own}"},
    )
    app.call("permit is revoked", "GET", permit, 200, {"data.stage": "REVOKED"})
    app.fail("account after that", "GET", own, 403, "PK-1202", {"stage": "REVOKED"}, token=token)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = App(walk, "flatmates", "rimu-07-grove", "https://flatmates.example/kitty")
    walk.step("accounts without a token", "GET", "/data/v3/accounts", 401, {"code": "PK-1000"})
    app.enter("token of the app")
    app.fail("unknown transfer", "GET", "/data/v3/transfers/trf_mmmmnnnnpppp", 404, "PK-1400")
    pizza = app.transfer(4_275, "Hell Pizza Cuba", "06-0501-0099127-00", "Friday")
    headers = {"Idempotency-Key": "kitty/1"}
    violated = {"violations": [{"member": "cents", "rule": "positive"}]}
    nothing = pizza | {"cents": 0}
    app.fail("amount of nothing", "POST", "/data/v3/transfers", 422, "PK-1101", violated, headers=headers, json=nothing)
    app.fail("transfer without a key", "POST", "/data/v3/transfers", 400, "PK-1102", json=pizza)
    transfer, page = app.send("transfer to decline", "kitty/1", pizza)
    app.sign_in("customer signs in", page, CALLUM)
    app.decide("customer declines the transfer", page, "decline")
    app.call("transfer is declined", "GET", transfer, 200, {"data.stage": "DECLINED", "data.cents": 4_275})
    walk.step("page of it", "GET", page, 410, PAGE)
    transfer, page = app.send("transfer to cancel", "kitty/2", pizza | {"cents": 5_310})
    numbers = app.sign_in("customer signs in to pay", page, CALLUM)
    app.decide("customer pays", page, "approve", *numbers[:1])
    app.call("cancel when authorised", "POST", f"{transfer}/cancel", 200, {"data.stage": "CANCELLED"})
    app.fail("cancel again", "POST", f"{transfer}/cancel", 409, "PK-1403", {"stage": "CANCELLED"})

    violated = {"violations": [{"member": "permissions", "rule": "choice"}]}
    cards = app.permit("ACCOUNTS", "CARDS", days=4)
    app.fail("unknown permission", "POST", "/auth/v3/permits", 422, "PK-1101", violated, json=cards)
    permit, page = app.ask("permit to decline", app.permit("ACCOUNTS", "ENTRIES", days=4))
    app.sign_in("customer looks at it", page, CALLUM)
    app.decide("customer declines", page, "decline")
    app.call("permit is declined", "GET", permit, 200, {"data.stage": "DECLINED", "data.approval": None})
    slow, _ = app.ask("permit to forget", app.permit("BALANCES", days=9))
    wait(timedelta(minutes=12))
    app.call("permit has timed out", "GET", slow, 200, {"data.stage": "TIMED_OUT", "data.approval": None})
    permit, page = app.ask("permit", app.permit("ENTRIES", "BALANCES", "ACCOUNTS", days=2))
    numbers = app.sign_in("customer signs in to agree", page, CALLUM)
    code = app.decide("customer agrees", page, "approve", *numbers)
    id = permit.rpartition("/")[2]
    token, refresh = app.exchange("token of the customer", id, grant_type="authorization_code", code=code)
    app.call("permit is active", "GET", permit, 200, {"data.stage": "ACTIVE", "data.permissions.0": "ENTRIES"})
    rows = app.call("accounts", "GET", "/data/v3/accounts", 200, {"data.#": 2, "meta.page.count": 2}, token=token)
    bills = f"/data/v3/accounts/{rows.find('data.0.accountId')}"
    holiday = f"/data/v3/accounts/{rows.find('data.1.accountId')}"
    app.call("other account", "GET", holiday, 200, {"data.number": "".join(numbers[-1:])}, token=token)
    since = {"since": app.day(-90), "limit": "4"}
    members = {"data.#": 4, "meta.page.count": 4, "data.0.side": re.compile("IN|OUT")}
    entries = app.call("entries", "GET", f"{bills}/entries", 200, members, token=token, params=since)
    more = since | {"after": str(entries.find("meta.page.next"))}
    members = {"data.#": 4, "meta.page.next": re.compile(r"^cur_\w{14}$"), "meta.currency": "NZD"}
    app.call("more entries", "GET", f"{bills}/entries", 200, members, token=token, params=more)
    found = app.call("balance", "GET", f"{bills}/balance", 200, {"meta.currency": "NZD"}, token=token)
    before, held = cents(found, "data.ledgerCents"), cents(found, "data.spendableCents")
    flat = app.transfer(18_899, "Spark Broadband", "12-3141-0055901-03", "Flat internet")
    wait(timedelta(minutes=4))
    app.fail("app's token has ended", "GET", permit, 401, "PK-1001")
    app.enter("token of the app again")
    transfer, page = app.send("transfer", "kitty/3", flat)
    headers = {"Idempotency-Key": "kitty/3"}
    changed = flat | {"particulars": "Flat phone"}
    app.fail("same key, other words", "POST", "/data/v3/transfers", 409, "PK-1103", headers=headers, json=changed)
    app.send("same transfer again", "kitty/3", flat, {"@Idempotency-Replayed": "true", "@Location": transfer})
    numbers = app.sign_in("customer signs in again", page, CALLUM)
    app.decide("customer pays again", page, "approve", *numbers[:1])
    wait(timedelta(seconds=35))
    members = {"data.stage": "SENT", "data.payer.account": "".join(numbers[:1])}
    app.call("transfer is sent", "GET", transfer, 200, members)
    members = {"data.ledgerCents": before, "data.spendableCents": held - 18_899}
    app.call("balance with the amount held", "GET", f"{bills}/balance", 200, members, token=token)
    app.call("balance once more", "GET", f"{bills}/balance", 200, members, token=token)
    app.fail("balance too often", "GET", f"{bills}/balance", 429, "PK-1301", {"@Retry-After": "60"}, token=token)
    wait(timedelta(minutes=3))
    members = {"data.ledgerCents": before - 18_899, "data.spendableCents": held - 18_899}
    app.call("balance after", "GET", f"{bills}/balance", 200, members, token=token)
    app.call(
        "transfer is settled", "GET", transfer, 200, {"data.stage": "SETTLED", "data.particulars": "Flat internet"}
    )
    members = {"data.#": 1, "data.0.cents": 18_899, "data.0.side": "OUT", "data.0.text": "Spark Broadband"}
    app.call("entries after", "GET", f"{bills}/entries", 200, members, token=token, params={"since": app.day(0)})
    wait(timedelta(minutes=5))
    app.fail("customer's token has ended", "GET", bills, 401, "PK-1001", token=token)
    token, _ = app.exchange("refreshed token", id, grant_type="refresh_token", refresh_token=refresh)
    again = {"grant_type": "refresh_token", "refresh_token": refresh}
    app.give("old refresh token", 400, {"error": "invalid_grant"}, **again)
    app.call("accounts with it", "GET", "/data/v3/accounts", 200, {"data.#": 2}, token=token)
    wait(3 * DAY)
    app.enter("token of the app after three days")
    app.call("permit has lapsed", "GET", permit, 200, {"data.stage": "LAPSED"})
    return walk.steps
