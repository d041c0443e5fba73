"""Two journeys of the app Piniginė and its customers at Nemunas."""

import re
from datetime import timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, Answer, Expected, Step, Wait, Walk

CONSENTS, ACCOUNTS, PAYMENTS, BATCHES = "/v1/consents", "/v1/accounts", "/v1/payments", "/v1/batches"
NOTHING: Expected = MappingProxyType({})
EVERYTHING = ["accounts", "balances", "transactions"]
CLOSED = ("LT737300010000000003", "UAB Senas Malūnas")
LANDLORD = ("LT897044060001234567", "Ona Stankutė")
SHOP = ("LV48HABA0551000012345", "SIA Dzintars")
SCHOOL = ("LT827180000003334445", "Vilniaus muzikos mokykla")
CLUB = ("EE382200221020145685", "Tartu Sõudeklubi")


class NemunasApp:
    def __init__(self, walk: Walk, personal_code: str, pin: str) -> None:
        self.walk, self.personal_code, self._pin = walk, personal_code, pin
        self.token: Any = None

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).date().isoformat()

    def call(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        members: Expected | None = None,
        *,
        without: str = "",
        **request: Any,
    ) -> Answer:
        sent = {"X-Api-Key": "nk_live_9f27c1ab", "X-Request-Id": str(uuid5(NAMESPACE_URL, self.personal_code + name))}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        sent.pop(without, None)
        expected = {"@X-Request-Id": sent.get("X-Request-Id"), **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def refuse(
        self, name: str, method: str, path: str, status: int, kind: str, more: Expected | None = None, **request: Any
    ) -> None:
        members = {
            "type": f"urn:nemunas:problem:{kind}",
            "status": status,
            "instance": path,
            "@Content-Type": "application/problem+json",
        }
        self.call(name, method, path, status, members | dict(more or {}), **request)

    def wish(self, scopes: list[str], days: int) -> dict[str, Any]:
        return {"scopes": scopes, "valid_days": days, "personal_code": self.personal_code}

    def begin(self, name: str, path: str, kind: str, body: dict[str, Any], more: Expected) -> tuple[Any, Any]:
        """Return the ids of the new thing and of its approval."""
        members = {
            f"{kind}_id": re.compile(rf"^{kind_prefix(kind)}_\w{{12}}$"),
            "state": "awaiting_approval",
            "approval.approval_id": re.compile(r"^apr_\w{12}$"),
            "approval.state": "waiting",
            "approval.control_code": re.compile(r"^\d{4}$"),
            "@Location": re.compile(rf"^{path}/{kind_prefix(kind)}_\w{{12}}$"),
        }
        made = self.call(name, "POST", path, 201, members | dict(more), json=body)
        return made.find(f"{kind}_id"), made.find("approval.approval_id")

    def ask(self, name: str, scopes: list[str], days: int) -> tuple[Any, Any]:
        until = re.compile(f"^{self.day(days)}T")
        members = {"scopes": scopes, "valid_until": until}
        return self.begin(name, CONSENTS, "consent", self.wish(scopes, days), members)

    def row(self, payee: tuple[str, str], amount: str, remittance: str, reference: str) -> dict[str, Any]:
        creditor = {"iban": payee[0], "name": payee[1]}
        return {"creditor": creditor, "amount": amount, "remittance": remittance, "end_to_end_id": reference}

    def payment(self, payer: Any, scheme: str, row: dict[str, Any]) -> dict[str, Any]:
        return {"personal_code": self.personal_code, "debtor_iban": payer, "scheme": scheme, **row}

    def batch(self, payer: Any, *rows: dict[str, Any]) -> dict[str, Any]:
        return {"personal_code": self.personal_code, "debtor_iban": payer, "payments": list(rows)}

    def pay(self, name: str, body: dict[str, Any]) -> tuple[Any, Any]:
        members = {member: value for member, value in body.items() if member != "personal_code"} | {"currency": "EUR"}
        return self.begin(name, PAYMENTS, "payment", body, members)

    def pay_many(self, name: str, body: dict[str, Any], total: str) -> tuple[Any, Any]:
        rows = body["payments"]
        members = {"debtor_iban": body["debtor_iban"], "count": len(rows), "total": total, "payments.#": len(rows)}
        for place, row in enumerate(rows):
            members |= {f"payments.{place}.{member}": value for member, value in row.items()}
            members[f"payments.{place}.state"] = "awaiting_approval"
        return self.begin(name, BATCHES, "batch", body, members)

    def approve(self, name: str, approval: Any) -> None:
        body = {"action": "approve", "pin": self._pin}
        self.call(name, "POST", f"/sandbox/approvals/{approval}", 204, {"page": ""}, json=body)

    def decline(self, name: str, approval: Any) -> None:
        self.call(name, "POST", f"/sandbox/approvals/{approval}", 204, {"page": ""}, json={"action": "decline"})

    def mistype(self, name: str, approval: Any, pin: str) -> None:
        body = {"action": "approve", "pin": pin}
        self.refuse(name, "POST", f"/sandbox/approvals/{approval}", 403, "wrong-pin", {"attempts_left": 2}, json=body)

    def poll(self, name: str, approval: Any, state: str, thing: Any, standing: str, more: Expected = NOTHING) -> Answer:
        members = {"approval_id": approval, "state": state, "subject.id": thing, "subject.state": standing}
        return self.call(name, "GET", f"/v1/approvals/{approval}", 200, members | dict(more))

    def take_token(self, name: str, approval: Any, consent: Any) -> None:
        members = {"access_token": re.compile(r"^\w{40}$"), "token_type": "Bearer", "subject.kind": "consent"}
        self.token = self.poll(name, approval, "approved", consent, "active", members).find("access_token")

    def follow(self, name: str, payment: Any, state: str, more: Expected = NOTHING) -> None:
        members = {"payment_id": payment, "state": state, **more}
        self.call(name, "GET", f"{PAYMENTS}/{payment}", 200, members)

    def balances(self, name: str, account: Any, more: Expected) -> tuple[Decimal, Decimal]:
        members = {
            "account_id": account,
            "balances.#": 2,
            "balances.0.type": "booked",
            "balances.1.type": "available",
            "balances.0.currency": "EUR",
        }
        told = self.call(name, "GET", f"{ACCOUNTS}/{account}/balances", 200, members | dict(more))
        booked, available = (told.find(f"balances.{place}.amount") or "0" for place in (0, 1))
        return Decimal(booked), Decimal(available)

    def page(self, name: str, account: Any, query: dict[str, str], size: int, more: Expected) -> Any:
        """Return the path of the next page."""
        path = f"{ACCOUNTS}/{account}/transactions"
        link = re.compile(rf'^<{path}\?cursor=\w+>; rel="next"$')
        members = {"transactions.#": size, "@Link": link, **more}
        told = self.call(name, "GET", path, 200, members, params=query).find("@Link")
        found = re.match("<(.+)>", str(told))
        return found[1] if found else f"{path}?cursor=none"


def kind_prefix(kind: str) -> str:
    return {"consent": "cns", "payment": "pay", "batch": "bat"}[kind]


def amounts(booked: Decimal, available: Decimal) -> dict[str, Any]:
    return {"balances.0.amount": f"{booked:.2f}", "balances.1.amount": f"{available:.2f}"}


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = NemunasApp(walk, "38903140018", "4071")
    wish = app.wish(EVERYTHING, 30)
    app.refuse("consent without a key", "POST", CONSENTS, 401, "api-key-invalid", without="X-Api-Key", json=wish)
    members: dict[str, Any] = {"header": "X-Request-Id"}
    no_id = "X-Request-Id"
    app.refuse("consent without an id", "POST", CONSENTS, 400, "missing-header", members, without=no_id, json=wish)
    loans = app.wish(["accounts", "loans"], 30)
    members = {"errors.#": 1, "errors.0.name": "scopes"}
    app.refuse("consent for loans", "POST", CONSENTS, 422, "invalid-member", members, json=loans)
    mistyped = wish | {"personal_code": "38903140081"}
    members = {"errors.#": 1, "errors.0.name": "personal_code"}
    app.refuse("consent of nobody", "POST", CONSENTS, 422, "invalid-member", members, json=mistyped)
    late, approval = app.ask("consent to let time out", EVERYTHING, 30)
    wait(timedelta(minutes=4))
    app.poll("approval timed out", approval, "timed_out", late, "timed_out", {"access_token": None})
    consent, approval = app.ask("consent", EVERYTHING, 30)
    members = {"control_code": re.compile(r"^\d{4}$"), "@Retry-After": "2"}
    app.poll("approval is waiting", approval, "waiting", consent, "awaiting_approval", members)
    app.mistype("customer mistypes the PIN", approval, "4017")
    app.approve("customer approves", approval)
    app.take_token("approval has the token", approval, consent)
    members = {
        "accounts.#": 2,
        "accounts.0.account_id": re.compile(r"^acc_\w{10}$"),
        "accounts.0.iban": re.compile(r"^LT\d\d73900\d{11}$"),
        "accounts.0.holder_name": "Jonas Petrauskas",
        "accounts.0.currency": "EUR",
        "accounts.1.product": "savings",
        "@Link": None,
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members)
    account, iban = accounts.find("accounts.0.account_id"), accounts.find("accounts.0.iban")
    booked, available = app.balances("balances", account, {"balances.1.amount": re.compile(r"^\d+\.\d\d$")})
    members = {
        "transactions.0.transaction_id": re.compile(r"^txn_\w{14}$"),
        "transactions.0.direction": re.compile("^(debit|credit)$"),
        "transactions.0.amount": re.compile(r"^\d+\.\d\d$"),
        "transactions.0.kind": "card",
    }
    query = {"date_from": app.day(-50), "date_to": app.day(-1), "limit": "6"}
    more = app.page("transactions", account, query, 6, members)
    app.call("more transactions", "GET", more, 200, {"transactions.#": 6, "transactions.5.amount": str})
    app.refuse("balances of an unknown account", "GET", f"{ACCOUNTS}/acc_0000000000/balances", 404, "not-found")

    rent = app.payment(iban, "sepa", app.row(LANDLORD, "612.40", "Nuoma", "RENT-1"))
    wrong = rent | {"creditor": {"iban": "LT997044060001234567", "name": "Ona Stankutė"}}
    members = {"errors.#": 1, "errors.0.name": "creditor.iban"}
    app.refuse("payment to a mistyped IBAN", "POST", PAYMENTS, 422, "invalid-member", members, json=wrong)
    much = rent | {"amount": "250000.00", "end_to_end_id": "RENT-2"}
    app.refuse("payment above the balance", "POST", PAYMENTS, 422, "insufficient-funds", json=much)
    paid, approval = app.pay("payment", rent)
    app.approve("customer approves the payment", approval)
    app.follow("payment is approved", paid, "approved")
    held = available - Decimal("612.40")
    app.balances("balances with the amount held", account, amounts(booked, held))
    wait(timedelta(minutes=3))
    path = f"{PAYMENTS}/{paid}"
    app.refuse("cancel it too late", "DELETE", path, 409, "not-cancellable", {"state": "sent"})
    wait(timedelta(minutes=9))
    app.follow("payment is settled", paid, "settled", {"amount": "612.40", "end_to_end_id": "RENT-1"})
    app.balances("balances after", account, amounts(booked - Decimal("612.40"), held))
    members = {
        "transactions.#": 1,
        "transactions.0.booked_on": app.day(0),
        "transactions.0.direction": "debit",
        "transactions.0.amount": "612.40",
        "transactions.0.counterparty": "Ona Stankutė",
        "transactions.0.remittance": "Nuoma",
        "transactions.0.kind": "transfer",
        "@Link": None,
    }
    entries = f"{ACCOUNTS}/{account}/transactions"
    app.call("transactions after", "GET", entries, 200, members, params={"date_from": app.day(0)})

    amber = app.payment(iban, "instant", app.row(SHOP, "48.00", "Gintaras", "SHOP-1"))
    declined, approval = app.pay("instant payment", amber)
    app.decline("customer declines the instant payment", approval)
    app.follow("instant payment is declined", declined, "declined")
    stopped, _ = app.pay("payment to cancel", app.payment(iban, "sepa", app.row(SHOP, "51.90", "Karoliai", "SHOP-2")))
    members = {"payment_id": stopped, "state": "cancelled", "amount": "51.90"}
    app.call("cancel the payment", "DELETE", f"{PAYMENTS}/{stopped}", 200, members)
    rows = app.row(SCHOOL, "120.00", "Smuikas", "B-1"), app.row(CLOSED, "35.55", "Miltai", "B-2")
    batch, approval = app.pay_many("batch", app.batch(iban, *rows), "155.55")
    app.approve("customer approves the batch", approval)
    wait(timedelta(minutes=15))
    members = {
        "batch_id": batch,
        "state": "partly_settled",
        "total": "155.55",
        "payments.0.state": "settled",
        "payments.1.state": "refused",
        "payments.1.refusal.code": "AC04",
    }
    app.call("batch is partly settled", "GET", f"{BATCHES}/{batch}", 200, members)
    app.call("revoke the consent", "DELETE", f"{CONSENTS}/{consent}", 204, {"page": ""})
    app.refuse("accounts after that", "GET", ACCOUNTS, 403, "consent-not-active", {"state": "revoked"})
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = NemunasApp(walk, "49207220045", "9283")
    wish = app.wish(["balances"], 5)
    app.refuse("consent without an id", "POST", CONSENTS, 400, "missing-header", without="X-Request-Id", json=wish)
    narrow, no = app.ask("narrow consent", ["balances"], 5)
    wide, yes = app.ask("wide consent", ["transactions", "balances", "accounts"], 20)
    app.mistype("customer mistypes the PIN", yes, "9238")
    app.approve("customer approves the wide one", yes)
    app.decline("customer declines the narrow one", no)
    app.poll("narrow one is declined", no, "declined", narrow, "declined", {"access_token": None})
    app.take_token("wide one has the token", yes, wide)
    members: dict[str, Any] = {
        "accounts.1.account_id": re.compile(r"^acc_\w{10}$"),
        "accounts.1.iban": re.compile(r"^LT\d\d73900\d{11}$"),
        "accounts.1.currency": "EUR",
        "@Link": None,
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members)
    account, iban = accounts.find("accounts.1.account_id"), accounts.find("accounts.1.iban")
    app.refuse("accounts without a key", "GET", ACCOUNTS, 401, "api-key-invalid", without="X-Api-Key")
    query = {"date_from": app.day(-40), "limit": "4"}
    more = app.page("transactions", account, query, 4, {"transactions.3.amount": str, "transactions.3.currency": "EUR"})
    app.call("next page", "GET", more, 200, {"transactions.#": 4, "transactions.0.transaction_id": str})
    unknown = f"{ACCOUNTS}/acc_zzzzzzzzzz/transactions"
    app.refuse("transactions of an unknown account", "GET", unknown, 404, "not-found")
    booked, available = app.balances("balances", account, {"balances.0.amount": re.compile(r"^\d+\.\d\d$")})

    lessons = app.payment(iban, "sepa", app.row(SCHOOL, "230.15", "Pamokos", "SCHOOL-7"))
    members = {"errors.#": 1, "errors.0.name": "amount"}
    nothing = lessons | {"amount": "0.00"}
    app.refuse("payment of nothing", "POST", PAYMENTS, 422, "invalid-member", members, json=nothing)
    members = {"errors.#": 1, "errors.0.name": "personal_code"}
    mistyped = lessons | {"personal_code": "49207220054"}
    app.refuse("payment of nobody", "POST", PAYMENTS, 422, "invalid-member", members, json=mistyped)
    cent = lessons | {"amount": f"{available + Decimal('0.01'):.2f}"}
    app.refuse("payment a cent above the balance", "POST", PAYMENTS, 422, "insufficient-funds", json=cent)
    rowing = app.payment(iban, "instant", app.row(CLUB, "64.00", "Irklai", "CLUB-7"))
    instant, instant_approval = app.pay("instant payment", rowing)
    slow, slow_approval = app.pay("payment", lessons)
    rows = app.row(LANDLORD, "300.00", "Nuoma", "C-1"), app.row(SHOP, "18.20", "Muilas", "C-2")
    batch, _ = app.pay_many("batch to cancel", app.batch(iban, *rows), "318.20")
    app.approve("customer approves the payment", slow_approval)
    app.approve("customer approves the instant payment", instant_approval)
    app.follow("instant payment is settled at once", instant, "settled", {"scheme": "instant", "amount": "64.00"})
    members = {"batch_id": batch, "state": "cancelled", "payments.1.state": "cancelled", "total": "318.20"}
    app.call("cancel the batch", "DELETE", f"{BATCHES}/{batch}", 200, members)
    booked, available = booked - Decimal("64.00"), available - Decimal("294.15")
    app.balances("balances with one amount held", account, amounts(booked, available))
    flour = app.payment(iban, "sepa", app.row(CLOSED, "27.45", "Kruopos", "MILL-7"))
    refused, approval = app.pay("payment to a closed account", flour)
    app.approve("customer approves that too", approval)
    wait(timedelta(minutes=20))
    app.follow("payment is settled", slow, "settled", {"end_to_end_id": "SCHOOL-7"})
    app.follow("payment to a closed account is refused", refused, "refused", {"refusal.code": "AC04"})
    app.balances("balances after", account, amounts(booked - Decimal("230.15"), available))
    members = {
        "transactions.#": 2,
        "transactions.0.amount": "230.15",
        "transactions.0.counterparty": "Vilniaus muzikos mokykla",
        "transactions.1.amount": "64.00",
        "transactions.1.remittance": "Irklai",
        "transactions.1.kind": "transfer",
        "@Link": None,
    }
    entries = f"{ACCOUNTS}/{account}/transactions"
    app.call("transactions after", "GET", entries, 200, members, params={"date_from": app.day(0)})
    gift = app.payment(iban, "instant", app.row(LANDLORD, "15.00", "Dovana", "GIFT-7"))
    late, approval = app.pay("payment to let time out", gift)
    wait(timedelta(minutes=5))
    app.poll("its approval timed out", approval, "timed_out", late, "timed_out", {"subject.kind": "payment"})
    wait(20 * DAY)
    app.refuse("balances after the consent", "GET", f"{ACCOUNTS}/{account}/balances", 403, "consent-not-active")
    return walk.steps
