"""Two journeys of the app Stećak and its customers at Neretva."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

import httpx

from tests.foreign_banks.walk import DAY, Answer, Expected, Step, Wait, Walk

BASE = "/tpp/ba/v2"
CONSENTS, ACCOUNTS, PAYMENTS = f"{BASE}/consents", f"{BASE}/accounts", f"{BASE}/payments"
INSTANT, DOMESTIC = f"{PAYMENTS}/instant-transfers", f"{PAYMENTS}/domestic-transfers"
ALL = ["accounts", "balances", "entries"]
ADDRESS = "Customer-Address"
TIME = re.compile(r"^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d$")


def number(answer: Answer, place: str) -> float:
    """The number at this place, or 0."""
    value = answer.find(place)
    return value if isinstance(value, int | float) else 0


class NeretvaApp:
    def __init__(self, walk: Walk, user: str, password: str, code: str, address: str) -> None:
        self.walk, self._user, self._password, self._code, self._address = walk, user, password, code, address

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).strftime("%Y/%m/%d")

    def call(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        members: Expected | None = None,
        *,
        present: bool = False,
        consent: Any = None,
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        """A header without a value is not sent."""
        ref = str(uuid5(NAMESPACE_DNS, f"{self._user} {name}"))
        sent = {"Neretva-App-Key": "stecak-7f31c0", "Request-Id": ref}
        sent |= {ADDRESS: self._address} if present else {}
        sent |= ({"Consent-Ref": str(consent)} if consent else {}) | (headers or {})
        sent = {header: value for header, value in sent.items() if value}
        outcome = "OK" if status < 400 else "FAULT"
        expected = {"outcome": outcome, "ref": sent.get("Request-Id"), **(members or {})}
        return self.walk.step(name, method, str(path), status, expected, headers=sent, **request)

    def refuse(self, name: str, method: str, path: Any, status: int, reason: str, at: str, **request: Any) -> None:
        members = {"fault.reason": reason, "fault.at": at, "fault.explain": str, "data": None}
        self.call(name, method, path, status, members, **request)

    # Consents and payments

    def wish(self, days: int, reads: int) -> dict[str, Any]:
        return {"scope": ALL, "until": self.day(days), "readsPerDay": reads}

    def ask(self, name: str, days: int, reads: int) -> Any:
        """Return the consent's path."""
        wish = self.wish(days, reads)
        members = {f"data.{member}": value for member, value in wish.items()}
        members |= {"data.consentNo": re.compile(r"^NC-26-[0-9A-Z]{6}$"), "data.consentState": "AWAITING"}
        members |= {"data.approveAt": re.compile(r"/consents/NC-26-\w{6}/approvals$"), "data.madeAt": TIME}
        made = self.call(name, "POST", CONSENTS, 200, members, json=wish)
        return f"{CONSENTS}/{made.find('data.consentNo')}"

    def bill(self, iban: Any, payee: tuple[str, str], amount: float, purpose: str, **more: str) -> dict[str, Any]:
        parties = {"from": {"iban": iban}, "to": {"name": payee[0], "iban": payee[1]}}
        return {**parties, "amount": amount, "currency": "BAM", "purpose": purpose, **more}

    def pay(self, name: str, path: str, bill: dict[str, Any]) -> Any:
        """Return the payment's path."""
        members = {f"data.{member}": value for member, value in bill.items()}
        members |= {"data.paymentNo": re.compile(r"^26PX\d{8}$"), "data.paymentState": "ENTERED"}
        members |= {"data.product": path.rpartition("/")[2], "data.madeAt": TIME}
        members |= {"data.approveAt": re.compile(r"/26PX\d{8}/approvals$")}
        made = self.call(name, "POST", path, 200, members, present=True, json=bill)
        return f"{path}/{made.find('data.paymentNo')}"

    def state(self, name: str, path: Any, state: str) -> None:
        self.call(name, "GET", f"{path}/state", 200, {self._member(path): state})

    def end(self, name: str, path: Any, state: str) -> None:
        self.call(name, "DELETE", path, 200, {self._member(path): state, "data.approveAt": None})

    def _member(self, path: Any) -> str:
        return "data.paymentState" if str(path).startswith(PAYMENTS) else "data.consentState"

    # Approvals

    def mistype(self, name: str, path: Any, password: str) -> None:
        body = {"userName": self._user, "password": password}
        self.refuse(name, "POST", f"{path}/approvals", 401, "CREDENTIALS_WRONG", "body.password", json=body)

    def log_in(self, name: str, path: Any) -> Any:
        """Return the approval's path."""
        body = {"userName": self._user, "password": self._password}
        state = "ENTERED" if str(path).startswith(PAYMENTS) else "AWAITING"
        members = {"data.approvalNo": re.compile(r"^apr[a-z]{7}$"), "data.step": "IDENTIFIED", "data.next": str}
        made = self.call(name, "POST", f"{path}/approvals", 200, members | {self._member(path): state}, json=body)
        return made.find("data.next")

    def miscode(self, name: str, approval: Any, code: str) -> None:
        self.refuse(name, "PUT", approval, 401, "CODE_WRONG", "body.code", json={"code": code})

    def confirm(self, name: str, approval: Any, state: str) -> None:
        members = {"data.step": "FINALISED", self._member(approval): state, "data.next": None}
        self.call(name, "PUT", approval, 200, members, json={"code": self._code})

    def decline(self, name: str, approval: Any) -> None:
        members = {"data.step": "TURNED_DOWN", self._member(approval): "DECLINED", "data.next": None}
        self.call(name, "PUT", approval, 200, members, json={"decision": "DECLINE"})

    # Accounts

    def list(self, name: str, consent: Any) -> Answer:
        members = {
            "data.0.accountNo": re.compile(r"^\d{10}$"),
            "data.0.iban": re.compile(r"^BA\d{18}$"),
            "data.0.label": str,
            "data.0.currency": "BAM",
        }
        return self.call(name, "GET", ACCOUNTS, 200, members, consent=consent)

    def balances(
        self,
        name: str,
        account: Any,
        consent: Any,
        booked: float | None = None,
        available: float | None = None,
        present: bool = False,
    ) -> tuple[float, float]:
        members: dict[str, Any] = {"data.accountNo": account, "data.currency": "BAM", "data.asOf": TIME}
        members["data.booked"] = float if booked is None else round(booked, 2)
        members["data.available"] = float if available is None else round(available, 2)
        path = f"{ACCOUNTS}/{account}/balances"
        told = self.call(name, "GET", path, 200, members, consent=consent, present=present)
        return number(told, "data.booked"), number(told, "data.available")

    def entries(
        self, name: str, account: Any, consent: Any, members: Expected, query: dict[str, str], present: bool = False
    ) -> Answer:
        path = f"{ACCOUNTS}/{account}/entries"
        return self.call(name, "GET", path, 200, members, consent=consent, present=present, params=query)


def page(size: int, number: int) -> dict[str, Any]:
    return {
        "data.#": size,
        "data.0.entryNo": re.compile(r"^\d{9}$"),
        "data.0.bookedOn": re.compile(r"^\d{4}/\d\d/\d\d$"),
        "data.0.way": re.compile("^(IN|OUT)$"),
        "data.0.amount": float,
        "data.0.other": str,
        "pageInfo.page": number,
        "pageInfo.perPage": size,
        "pageInfo.rows": int,
    }


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = NeretvaApp(walk, "amra.hadzic", "Lipa-cvate-22", "480213", "185.12.77.9")
    wish, stranger = app.wish(90, 4), {"Neretva-App-Key": "stecak-000000"}
    place = "header.Request-Id"
    hasty = {"Request-Id": ""}
    app.refuse("consent without an id", "POST", CONSENTS, 400, "HEADER_MISSING", place, headers=hasty, json=wish)
    place = "header.Neretva-App-Key"
    app.refuse("consent of a stranger", "POST", CONSENTS, 401, "APP_UNKNOWN", place, headers=stranger, json=wish)
    long = app.wish(121, 4)
    app.refuse("consent for too long", "POST", CONSENTS, 422, "LIMIT_EXCEEDED", "body.until", json=long)
    consent = app.ask("consent", 90, 4)
    ref = consent.rpartition("/")[2]
    app.mistype("customer mistypes the password", consent, "Lipa-cvate-23")
    approval = app.log_in("customer logs in", consent)
    app.miscode("customer mistypes the code", approval, "480231")
    app.confirm("customer confirms", approval, "ACTIVE")
    app.state("consent is active", consent, "ACTIVE")
    accounts = app.list("accounts", ref)
    account, iban = accounts.find("data.0.accountNo"), accounts.find("data.0.iban")
    nowhere = f"{ACCOUNTS}/1000000000/balances"
    app.refuse("unknown account", "GET", nowhere, 404, "ACCOUNT_UNKNOWN", "path.accountNo", consent=ref)
    booked, available = app.balances("balances", account, ref)
    query = {"from": app.day(-79), "to": app.day(-1), "perPage": "5"}
    app.entries("entries", account, ref, page(5, 1), query | {"page": "1"})
    app.entries("more entries", account, ref, page(5, 2), query | {"page": "2"})

    theatre = ("Narodno pozorište Mostar", "BA391290079401028494")
    wrong = app.bill(iban, (theatre[0], "BA491290079401028494"), 64.5, "Ulaznice")
    odd = {"present": True, "json": wrong}
    app.refuse("payment to a wrong IBAN", "POST", INSTANT, 422, "IBAN_INVALID", "body.to.iban", **odd)
    odd["json"] = app.bill(iban, theatre, 3000.01, "Ulaznice")
    app.refuse("payment over the limit", "POST", INSTANT, 422, "LIMIT_EXCEEDED", "body.amount", **odd)
    bill, place = app.bill(iban, theatre, 64.5, "Ulaznice"), "header.Customer-Address"
    app.refuse("payment without an address", "POST", INSTANT, 400, "HEADER_MISSING", place, json=bill)
    tickets = app.pay("payment", INSTANT, bill)
    approval = app.log_in("customer logs in to pay", tickets)
    app.confirm("customer confirms the payment", approval, "ACCEPTED")
    app.balances("balances with the payment under way", account, ref, booked, available - 64.5, True)
    wait(timedelta(minutes=1))
    app.state("payment is booked", tickets, "BOOKED")
    booked, available = app.balances("balances after", account, ref, booked - 64.5, available - 64.5, True)
    members = {
        "data.#": 1,
        "data.0.bookedOn": app.day(0),
        "data.0.way": "OUT",
        "data.0.amount": 64.5,
        "data.0.other": "Narodno pozorište Mostar",
        "data.0.purpose": "Ulaznice",
        "pageInfo.rows": 1,
        "pageInfo.pages": 1,
    }
    app.entries("entries after", account, ref, members, {"from": app.day(0), "to": app.day(0)}, True)
    app.refuse("too late to cancel", "DELETE", tickets, 409, "STATE_WRONG", "path.paymentNo")
    nowhere, more = f"{ACCOUNTS}/{account}/balances", {"consent": ref}
    app.refuse("reads are used up", "GET", nowhere, 429, "READS_USED_UP", "header.Consent-Ref", **more)

    roofer, club = ("Krovovi Hercegovina", "BA611610000012345678"), ("Veslački klub", "BA763380002210001234")
    rent = app.bill(iban, club, 210, "Članarina", executeOn=app.day(1))
    planned = app.pay("payment for tomorrow", DOMESTIC, rent)
    approval = app.log_in("customer logs in for tomorrow's", planned)
    app.confirm("customer confirms tomorrow's", approval, "SCHEDULED")
    much = round(available + 100.25, 2)
    poor = app.pay("payment of too much", DOMESTIC, app.bill(iban, roofer, much, "Novi krov"))
    approval = app.log_in("customer logs in to pay too much", poor)
    app.confirm("customer confirms too much", approval, "REFUSED")
    app.state("payment is refused", poor, "REFUSED")
    unwanted = app.pay("payment to decline", DOMESTIC, app.bill(iban, roofer, 480.4, "Popravka"))
    approval = app.log_in("customer logs in to decline", unwanted)
    app.decline("customer declines", approval)
    app.state("payment is declined", unwanted, "DECLINED")
    mistaken = app.pay("payment to cancel", DOMESTIC, app.bill(iban, club, 35.75, "Majica"))
    app.end("cancel the payment", mistaken, "CANCELLED")
    short = app.ask("consent for today", 0, 1)
    tomorrow = (walk.now + DAY).replace(hour=0, minute=5)
    wait(tomorrow - walk.now)
    app.state("tomorrow's is under way", planned, "PROCESSING")
    wait(timedelta(hours=1))
    app.state("tomorrow's is booked", planned, "BOOKED")
    app.state("consent for today has lapsed", short, "LAPSED")
    app.end("withdraw the consent", consent, "WITHDRAWN")
    place = "header.Consent-Ref"
    app.refuse("accounts after that", "GET", ACCOUNTS, 403, "CONSENT_NOT_ACTIVE", place, consent=ref)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = NeretvaApp(walk, "dino.karic", "Trebevic9zima", "917364", "91.191.30.142")
    stranger = {"Neretva-App-Key": "vidra-111111"}
    place, wish = "header.Neretva-App-Key", app.wish(45, 3)
    app.refuse("consent of a stranger", "POST", CONSENTS, 401, "APP_UNKNOWN", place, headers=stranger, json=wish)
    short, long = app.ask("consent for tomorrow", 1, 2), app.wish(200, 3)
    app.refuse("consent for too long", "POST", CONSENTS, 422, "LIMIT_EXCEEDED", "body.until", json=long)
    consent = app.ask("consent", 45, 3)
    ref = consent.rpartition("/")[2]
    approval = app.log_in("customer logs in", consent)
    app.confirm("customer confirms", approval, "ACTIVE")
    accounts = app.list("accounts", ref)
    account, iban = accounts.find("data.1.accountNo"), accounts.find("data.1.iban")
    booked, available = app.balances("balances", account, ref)
    query = {"from": app.day(-70), "to": app.day(0), "perPage": "3"}
    app.entries("entries", account, ref, page(3, 2), query | {"page": "2"})
    path, place = f"{ACCOUNTS}/{account}/entries", "header.Consent-Ref"
    more = {"consent": ref, "params": query}
    app.refuse("reads are used up", "GET", path, 429, "READS_USED_UP", place, **more)

    garage, school = ("Auto Centar Ilidža", "BA881994990012349950"), ("Jezička škola Sova", "BA511542602001122380")
    lessons = app.bill(iban, school, 312.4, "Kurs njemačkog", executeOn=app.day(3))
    planned = app.pay("payment in three days", DOMESTIC, lessons)
    app.mistype("customer mistypes the password", planned, "Trebevic9ljeto")
    approval = app.log_in("customer logs in for the lessons", planned)
    app.miscode("customer mistypes the code", approval, "917346")
    app.confirm("customer confirms the lessons", approval, "SCHEDULED")
    app.state("lessons are scheduled", planned, "SCHEDULED")
    unwanted = app.pay("payment to decline", INSTANT, app.bill(iban, garage, 95.15, "Ulje"))
    tyres = app.bill(iban, garage, 280.9, "Gume i montaža")
    odd = {"present": True, "json": app.bill(iban, (garage[0], "BA881994990012349905"), 280.9, "Gume")}
    app.refuse("payment to a wrong IBAN", "POST", DOMESTIC, 422, "IBAN_INVALID", "body.to.iban", **odd)
    hasty, place = {"Request-Id": ""}, "header.Request-Id"
    odd = {"present": True, "json": tyres, "headers": hasty}
    app.refuse("payment without an id", "POST", INSTANT, 400, "HEADER_MISSING", place, **odd)
    place = "header.Customer-Address"
    app.refuse("payment without an address", "POST", INSTANT, 400, "HEADER_MISSING", place, json=tyres)
    odd = {"present": True, "json": app.bill(iban, garage, 4100, "Mjenjač")}
    app.refuse("payment over the limit", "POST", INSTANT, 422, "LIMIT_EXCEEDED", "body.amount", **odd)
    made = app.pay("payment", INSTANT, tyres)
    approval = app.log_in("customer logs in for the tyres", made)
    app.confirm("customer confirms the tyres", approval, "ACCEPTED")
    left = round(available - 280.9, 2)
    app.balances("balances with the tyres under way", account, ref, booked, left, True)
    approval = app.log_in("customer logs in to decline", unwanted)
    app.decline("customer declines", approval)
    wait(timedelta(minutes=2))
    app.state("tyres are booked", made, "BOOKED")
    app.state("payment is declined", unwanted, "DECLINED")
    app.refuse("too late to cancel", "DELETE", made, 409, "STATE_WRONG", "path.paymentNo")
    members = {
        "data.#": 1,
        "data.0.way": "OUT",
        "data.0.amount": 280.9,
        "data.0.other": "Auto Centar Ilidža",
        "data.0.purpose": "Gume i montaža",
        "pageInfo.rows": 1,
    }
    app.entries("entries after", account, ref, members, {"from": app.day(0), "to": app.day(0)}, True)
    mistaken = app.pay("payment to cancel", DOMESTIC, app.bill(iban, school, 58, "Udžbenik"))
    app.end("cancel the payment", mistaken, "CANCELLED")
    booked, available = app.balances("balances after", account, ref, booked - 280.9, left, True)
    much = round(available + 7.6, 2)
    poor = app.pay("payment of too much", DOMESTIC, app.bill(iban, garage, much, "Motor"))
    approval = app.log_in("customer logs in to pay too much", poor)
    app.confirm("customer confirms too much", approval, "REFUSED")
    wait(3 * DAY)
    app.state("lessons are booked", planned, "BOOKED")
    app.balances("balances in three days", account, ref, booked - 312.4, available - 312.4)
    app.state("consent for tomorrow has lapsed", short, "LAPSED")
    app.end("withdraw the consent", consent, "WITHDRAWN")
    place, path = "header.Consent-Ref", f"{ACCOUNTS}/{account}/balances"
    app.refuse("balances after that", "GET", path, 403, "CONSENT_NOT_ACTIVE", place, consent=ref)
    return walk.steps
