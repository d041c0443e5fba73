"""Two journeys of the app Skudra and its customers at Venta."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://skudra.example/after-venta"
EVERYTHING = ["accounts", "balances", "transactions"]
CONSENTS, ACCOUNTS, TRANSFERS = "/open/v2/consents", "/open/v2/accounts", "/open/v2/credit-transfers"
REF = r"\d{5}-\d{4}"
DATE = re.compile(r"^\d{4}-\d\d-\d\d$")
SIGN = re.compile(r"^/sign/[0-9a-f]{24}$")


def amount(answer: Answer, kind: str) -> float:
    """The balance of this kind, or 0."""
    value = answer.pick("balances", type=kind).get("amount")
    return float(value) if isinstance(value, int | float) else 0.0


class VentaApp:
    def __init__(self, walk: Walk, login: str, password: str, code: str) -> None:
        self.walk, self._login, self._password, self._code = walk, login, password, code

    def _name(self, word: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"skudra {self._login} {word}"))

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
        consent: Any = None,
        without: str = "",
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        trace = self._name(name)
        sent = {"X-Client-Id": "skudra", "X-Trace-Id": trace, **(headers or {})}
        if consent:
            sent["X-Consent-Ref"] = str(consent)
        sent.pop(without, None)
        expected: dict[str, Any] = {} if without == "X-Trace-Id" else {"@X-Trace-Id": trace}
        if status >= 400:
            expected["traceId"] = None if without == "X-Trace-Id" else trace
        return self.walk.step(name, method, path, status, expected | dict(members or {}), headers=sent, **request)

    def refuse(
        self, name: str, method: str, path: str, status: int, code: Any, target: Any = None, **request: Any
    ) -> None:
        members = {"fault.code": code, "fault.text": str, "fault.target": target}
        self.call(name, method, path, status, members, **request)

    def wish(self, access: list[str], days: int) -> dict[str, Any]:
        return {"access": access, "validUntil": self.day(days)}

    def ask(self, name: str, access: list[str], days: int) -> Any:
        wish = self.wish(access, days)
        members = {
            "consentRef": re.compile(f"^VC-{REF}$"),
            "state": "PENDING",
            "access": access,
            "validUntil": wish["validUntil"],
            "createdAt": re.compile(r"^\d{4}-\d\d-\d\dT"),
            "links.#": 2,
            "links.1.rel": "startAuthorisation",
            "links.1.href": re.compile(f"^{CONSENTS}/VC-{REF}/authorisations$"),
            "@Location": re.compile(f"^{CONSENTS}/VC-{REF}$"),
        }
        return self.call(name, "POST", CONSENTS, 201, members, json=wish).find("consentRef")

    def look(self, name: str, consent: Any, state: str) -> None:
        members = {"consentRef": consent, "state": state, "links.0.href": f"{CONSENTS}/{consent}"}
        self.call(name, "GET", f"{CONSENTS}/{consent}", 200, members)

    def start(self, name: str, consent: Any) -> str:
        """Start the authorisation of a consent and return its path."""
        path = f"{CONSENTS}/{consent}/authorisations"
        members = {
            "authorisationRef": re.compile(f"^VA-{REF}$"),
            "scaState": "STARTED",
            "approach": "IN_APP",
            "nextAction": "IDENTIFY",
            "links.0.rel": "self",
            "@Location": re.compile(f"^{path}/VA-{REF}$"),
        }
        return f"{path}/{self.call(name, 'POST', path, 201, members).find('authorisationRef')}"

    def identify(self, name: str, sca: str) -> None:
        body = {"action": "IDENTIFY", "login": self._login, "password": self._password}
        members = {
            "authorisationRef": sca.rpartition("/")[2],
            "scaState": "IDENTIFIED",
            "nextAction": "CONFIRM",
            "customerName": str,
        }
        self.call(name, "PUT", sca, 200, members, json=body)

    def confirm(self, name: str, sca: str) -> None:
        members = {"authorisationRef": sca.rpartition("/")[2], "scaState": "COMPLETED", "nextAction": None}
        self.call(name, "PUT", sca, 200, members, json={"action": "CONFIRM", "code": self._code})

    def list_accounts(self, name: str, consent: Any) -> Answer:
        members: dict[str, Any] = {
            "accounts.0.accountRef": re.compile(r"^[0-9a-f]{12}$"),
            "accounts.0.iban": re.compile(r"^LV\d\dVNTA\d{13}$"),
            "accounts.0.name": str,
            "accounts.1.iban": re.compile(r"^LV\d\dVNTA\d{13}$"),
            "accounts.1.currency": "EUR",
            "accounts.1.links.1.rel": "transactions",
        }
        return self.call(name, "GET", ACCOUNTS, 200, members, consent=consent)

    def balances(self, name: str, consent: Any, account: Any, members: Expected | None = None) -> Answer:
        expected = {"iban": str, "balances.#": 2, "balances.0.type": "BOOKED", "balances.1.type": "AVAILABLE"}
        expected |= {"balances.0.amount": float, "balances.1.currency": "EUR", **(members or {})}
        return self.call(name, "GET", f"{ACCOUNTS}/{account}/balances", 200, expected, consent=consent)

    def entries(self, name: str, consent: Any, account: Any, members: Expected, **query: str) -> Answer:
        path = f"{ACCOUNTS}/{account}/transactions"
        return self.call(name, "GET", path, 200, members, consent=consent, params=query)

    def transfer(self, payer: Any, payee: tuple[str, str], euros: float, remittance: str) -> dict[str, Any]:
        reference = self._name(f"{payee[1]} {euros} {remittance}")[:18]
        body = {"clientReference": reference, "debtorIban": payer, "creditorIban": payee[0], "creditorName": payee[1]}
        return {**body, "amount": euros, "currency": "EUR", "remittance": remittance}

    def register(self, name: str, body: dict[str, Any]) -> Any:
        members = {
            **body,
            "transferRef": re.compile(f"^VT-{REF}$"),
            "state": "REGISTERED",
            "registeredAt": re.compile(r"^\d{4}-\d\d-\d\dT"),
            "links.1.href": re.compile(f"^{TRANSFERS}/VT-{REF}/authorisations$"),
            "@Location": re.compile(f"^{TRANSFERS}/VT-{REF}$"),
        }
        return self.call(name, "POST", TRANSFERS, 202, members, json=body).find("transferRef")

    def open_page(self, name: str, transfer: Any) -> Any:
        """Start the authorisation of a transfer and return the address of the customer's page."""
        path = f"{TRANSFERS}/{transfer}/authorisations"
        members = {
            "authorisationRef": re.compile(f"^VA-{REF}$"),
            "scaState": "STARTED",
            "approach": "BANK_PAGE",
            "links.1.rel": "sign",
            "links.1.href": SIGN,
            "@Location": re.compile(f"^{path}/VA-{REF}$"),
        }
        return self.call(name, "POST", path, 201, members, headers={"X-Return-To": BACK}).find("links.1.href")

    def decide(self, name: str, page: Any, transfer: Any, decision: str) -> None:
        form = {"login": self._login, "password": self._password, "decision": decision}
        result = {"sign": "signed", "reject": "rejected"}[decision]
        members = {"@Location": f"{BACK}?transfer={transfer}&result={result}"}
        self.walk.step(name, "POST", page, 302, members, data=form)

    def mistype(self, name: str, page: Any, password: str) -> None:
        form = {"login": self._login, "password": password, "decision": "sign"}
        self.walk.step(name, "POST", page, 401, PAGE, data=form)

    def follow(self, name: str, transfer: Any, state: str, members: Expected | None = None) -> None:
        expected = {"transferRef": transfer, "state": state, "links.0.href": f"{TRANSFERS}/{transfer}"}
        self.call(name, "GET", f"{TRANSFERS}/{transfer}", 200, expected | dict(members or {}))


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = VentaApp(walk, "andris.kalns", "Gauja-1201", "48213")
    wish = app.wish(EVERYTHING, 20)
    app.refuse(
        "consent of nobody", "POST", CONSENTS, 401, "CLIENT_UNKNOWN", "X-Client-Id", without="X-Client-Id", json=wish
    )
    app.refuse(
        "consent without trace", "POST", CONSENTS, 400, "HEADER_INVALID", "X-Trace-Id", without="X-Trace-Id", json=wish
    )
    cards = app.wish(["accounts", "cards"], 20)
    app.refuse("consent for cards", "POST", CONSENTS, 400, "FIELD_INVALID", "access", json=cards)
    consent = app.ask("consent", EVERYTHING, 20)
    sca = app.start("authorisation", consent)
    typo = {"action": "IDENTIFY", "login": "andris.kalns", "password": "Gauja-1210"}
    app.refuse("wrong password", "PUT", sca, 401, "SECRET_WRONG", "password", json=typo)
    app.identify("right password", sca)
    app.confirm("code", sca)
    app.look("consent is active", consent, "ACTIVE")
    accounts = app.list_accounts("accounts", consent)
    account, iban = accounts.find("accounts.0.accountRef"), accounts.find("accounts.0.iban")
    before = app.balances("balances", consent, account, {"iban": iban})
    booked, available = amount(before, "BOOKED"), amount(before, "AVAILABLE")
    period = {"bookedFrom": app.day(-70), "bookedTo": app.day(-1)}
    members: dict[str, Any] = {
        "iban": iban,
        "transactions.#": 4,
        "transactions.0.amount": float,
        "transactions.0.bookedOn": DATE,
        "transactions.3.entryRef": re.compile(r"^\d{14}$"),
        "paging.page": 1,
        "paging.pageSize": 4,
        "paging.totalItems": int,
        "paging.totalPages": int,
    }
    app.entries("transactions", consent, account, members, **period, pageSize="4")
    members |= {"paging.page": 2}
    app.entries("more transactions", consent, account, members, **period, pageSize="4", page="2")
    members = {"transactions.0.direction": "OUT", "transactions.1.direction": "OUT", "paging.pageSize": 2}
    app.entries("spending", consent, account, members, **period, pageSize="2", direction="OUT")
    nowhere = f"{ACCOUNTS}/000000000000/balances"
    app.refuse("unknown account", "GET", nowhere, 404, "ACCOUNT_UNKNOWN", consent=consent)

    landlord, cafe = ("LV16HABA0551002233445", "Ilze Liepa"), ("EE382200221020145685", "Kohvik Sinilill")
    free = app.transfer(iban, landlord, 0, "Ire")
    app.refuse("transfer of nothing", "POST", TRANSFERS, 400, "FIELD_INVALID", "amount", json=free)
    much = app.transfer(iban, landlord, round(available + 0.5, 2), "Ire")
    app.refuse("transfer above the balance", "POST", TRANSFERS, 422, "INSUFFICIENT_FUNDS", "amount", json=much)
    rent = app.register("transfer", app.transfer(iban, landlord, 410.75, "Ire par juniju"))
    page = app.open_page("authorisation of the transfer", rent)
    walk.step("customer's page", "GET", page, 200, PAGE | {"page": re.compile("transfer of 410.75 EUR to Ilze Liepa")})
    app.decide("customer signs", page, rent, "sign")
    app.follow("transfer is signed", rent, "SIGNED", {"amount": 410.75})
    wait(timedelta(minutes=3))
    app.follow("transfer is executing", rent, "EXECUTING")
    app.refuse("too late to cancel", "DELETE", f"{TRANSFERS}/{rent}", 409, "STATE_CONFLICT")
    wait(timedelta(minutes=9))
    app.follow("transfer is completed", rent, "COMPLETED")
    after = {"balances.0.amount": round(booked - 410.75, 2), "balances.1.amount": round(available - 410.75, 2)}
    app.balances("balances after", consent, account, after)
    members = {
        "transactions.#": 1,
        "transactions.0.direction": "OUT",
        "transactions.0.amount": 410.75,
        "transactions.0.counterparty": "Ilze Liepa",
        "transactions.0.remittance": "Ire par juniju",
    }
    app.entries("transactions after", consent, account, members, bookedFrom=app.day(0))
    lunch = app.register("second transfer", app.transfer(iban, cafe, 23.4, "Pusdienas"))
    page = app.open_page("authorisation of the second", lunch)
    app.decide("customer rejects", page, lunch, "reject")
    app.follow("second is refused", lunch, "REFUSED")
    cake = app.register("third transfer", app.transfer(iban, cafe, 8, "Kuka"))
    app.call("cancel the third", "DELETE", f"{TRANSFERS}/{cake}", 204)
    app.follow("third is cancelled", cake, "CANCELLED")
    members = {"consentRef": consent, "state": "WITHDRAWN", "links.#": 1}
    app.call("end of the consent", "DELETE", f"{CONSENTS}/{consent}", 200, members)
    app.refuse("accounts after the end", "GET", ACCOUNTS, 403, "CONSENT_NOT_ACTIVE", consent=consent)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = VentaApp(walk, "liga.berzina", "Daugava-77", "90562")
    app.refuse("accounts of nobody", "GET", ACCOUNTS, 401, "CLIENT_UNKNOWN", "X-Client-Id", without="X-Client-Id")
    narrow = app.ask("consent without transactions", ["balances", "accounts"], 45)
    wide = app.ask("consent", EVERYTHING, 9)
    app.refuse("accounts too early", "GET", ACCOUNTS, 403, "CONSENT_NOT_ACTIVE", consent=wide)
    wide_sca = app.start("authorisation", wide)
    narrow_sca = app.start("authorisation of the narrow one", narrow)
    app.identify("password for the narrow one", narrow_sca)
    app.confirm("code for the narrow one", narrow_sca)
    app.identify("password", wide_sca)
    typo = {"action": "CONFIRM", "code": "90526"}
    app.refuse("wrong code", "PUT", wide_sca, 401, str, json=typo, target="code")
    app.confirm("right code", wide_sca)
    accounts = app.list_accounts("accounts", narrow)
    account, iban = accounts.find("accounts.0.accountRef"), accounts.find("accounts.0.iban")
    other, other_iban = accounts.find("accounts.1.accountRef"), accounts.find("accounts.1.iban")
    before = app.balances("balances of the second account", narrow, other, {"iban": other_iban})
    booked, available = amount(before, "BOOKED"), amount(before, "AVAILABLE")
    entries = f"{ACCOUNTS}/{other}/transactions"
    members: dict[str, Any] = {"fault.code": str, "fault.text": str}
    app.call("transactions with the narrow consent", "GET", entries, 403, members, consent=narrow)
    period = {"bookedFrom": app.day(-78), "bookedTo": app.day(-2)}
    members = {
        "iban": other_iban,
        "transactions.#": 2,
        "transactions.0.direction": "IN",
        "transactions.1.direction": "IN",
        "transactions.1.amount": float,
        "transactions.1.bookedOn": DATE,
        "paging.page": 2,
        "paging.pageSize": 2,
    }
    app.entries("second page of income", wide, other, members, **period, pageSize="2", page="2", direction="IN")
    nowhere = f"{ACCOUNTS}/ffffffffffff/transactions"
    app.refuse("transactions of no account", "GET", nowhere, 404, "ACCOUNT_UNKNOWN", consent=wide)

    school, tailor = ("LV03UNLA0050001112223", "Muzikas skola Kokle"), ("LT121000011101001000", "Siuvykla Adata")
    fee = app.transfer(other_iban, school, 64.15, "Maksa par vasaru")
    app.refuse(
        "transfer without trace", "POST", TRANSFERS, 400, "HEADER_INVALID", "X-Trace-Id", without="X-Trace-Id", json=fee
    )
    much = app.transfer(other_iban, tailor, round(available + 0.01, 2), "Metelis")
    app.refuse("transfer a cent above", "POST", TRANSFERS, 422, "INSUFFICIENT_FUNDS", "amount", json=much)
    coat = app.register("transfer to reject", app.transfer(iban, tailor, 120, "Metelis"))
    paid = app.register("transfer", fee)
    lesson = app.register("transfer to cancel", app.transfer(other_iban, school, 37.5, "Stunda"))
    page = app.open_page("authorisation of the lesson", paid)
    coat_page = app.open_page("authorisation of the coat", coat)
    app.decide("customer rejects the coat", coat_page, coat, "reject")
    app.mistype("customer mistypes the password", page, "Daugava-78")
    app.decide("customer signs", page, paid, "sign")
    app.call("cancel the lesson", "DELETE", f"{TRANSFERS}/{lesson}", 204)
    app.follow("coat is refused", coat, "REFUSED", {"amount": 120, "creditorName": "Siuvykla Adata"})
    wait(timedelta(minutes=4))
    app.follow("transfer is executing", paid, "EXECUTING")
    wait(timedelta(minutes=20))
    app.follow("lesson is still cancelled", lesson, "CANCELLED", {"amount": 37.5})
    app.follow("transfer is completed", paid, "COMPLETED", {"amount": 64.15})
    app.refuse("too late to cancel", "DELETE", f"{TRANSFERS}/{paid}", 409, "STATE_CONFLICT")
    after = {"balances.0.amount": round(booked - 64.15, 2), "balances.1.amount": round(available - 64.15, 2)}
    app.balances("balances after", wide, other, after)
    members = {
        "transactions.#": 1,
        "transactions.0.amount": 64.15,
        "transactions.0.direction": "OUT",
        "transactions.0.counterparty": "Muzikas skola Kokle",
        "transactions.0.remittance": "Maksa par vasaru",
        "paging.totalItems": 1,
    }
    app.entries("transactions after", wide, other, members, bookedFrom=app.day(0))
    members = {"consentRef": narrow, "state": "WITHDRAWN", "validUntil": app.day(45)}
    app.call("end of the narrow consent", "DELETE", f"{CONSENTS}/{narrow}", 200, members)
    app.refuse("balances with that", "GET", f"{ACCOUNTS}/{account}/balances", 403, "CONSENT_NOT_ACTIVE", consent=narrow)
    wait(11 * DAY)
    app.refuse("accounts after its last day", "GET", ACCOUNTS, 403, "CONSENT_NOT_ACTIVE", consent=wide)
    return walk.steps
