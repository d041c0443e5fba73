"""Two journeys of the app Forintkövető and its customers at Zala."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BASE = "/xs2a/v1"
CONSENTS, ACCOUNTS, GIRO, INSTANT = (
    f"{BASE}/{path}" for path in ("consents", "accounts", "payments/giro", "payments/afr-instant")
)
BACK, FAILED = "https://forintkoveto.example/zala/kesz", "https://forintkoveto.example/zala/megszakitva"
ALL = ("accounts", "balances", "transactions")
CONSENT, PAYMENT = re.compile(r"^cns[0-9a-f]{16}$"), re.compile(r"^pay[0-9a-f]{16}$")
SCA = re.compile(r"^http://[^/]+/netbank/sca/aut[0-9a-f]{16}$")
LANDLORD = ("HU42117730161111101800000000", "Szabó Gergely")
DENTIST = ("HU25103000021054893700003285", "Mosoly Fogászat Kft.")
SCHOOL = ("HU22120100080122233300100006", "Pannon Zeneiskola")
TAXES = ("HU15100320001007012700000000", "Városi Önkormányzat")
FEE = 120


def forints(answer: Answer, place: str) -> int:
    """The whole amount at this place, or 0."""
    value = answer.find(place)
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?\d+", value) else 0


class ZalaApp:
    def __init__(self, walk: Walk, customer: tuple[str, str, str]) -> None:
        self.walk, self._customer = walk, customer

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
        consent: Any = None,
        without: str = "",
        **request: Any,
    ) -> Answer:
        trace = str(uuid5(NAMESPACE_URL, f"{self._customer[0]} {name}"))
        sent = {"X-Request-ID": trace, "X-TPP-Key": "fk-7731-forintkovet", "PSU-IP-Address": "84.2.33.119"}
        if consent:
            sent["Consent-ID"] = str(consent)
        if method == "POST":
            sent |= {"TPP-Redirect-URI": BACK, "TPP-Nok-Redirect-URI": FAILED}
        sent.pop(without, "")
        expected = ({} if without == "X-Request-ID" else {"@X-Request-ID": trace}) | {**(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def refuse(
        self, name: str, method: str, path: Any, status: int, code: str, place: str | None = None, **request: Any
    ) -> None:
        message = "tppMessages.0"
        members = {"tppMessages.#": 1, f"{message}.category": "ERROR", f"{message}.code": code, f"{message}.text": str}
        self.call(name, method, path, status, members | {f"{message}.path": place}, **request)

    def wish(self, rights: tuple[str, ...], days: int, frequency: int) -> dict[str, Any]:
        limits = {"validUntil": self.day(days), "frequencyPerDay": frequency}
        return {"access": {right: [] for right in rights}, "recurringIndicator": True, **limits}

    def ask(self, name: str, rights: tuple[str, ...], days: int, frequency: int) -> tuple[Any, Any]:
        """Return the consent's id and the customer's page."""
        members = {
            "consentStatus": "received",
            "consentId": CONSENT,
            "validUntil": self.day(min(days, 180)),
            "frequencyPerDay": min(frequency, 4),
            "_links.scaRedirect.href": SCA,
            "@Location": re.compile(r"^/xs2a/v1/consents/cns[0-9a-f]{16}$"),
            "@ASPSP-SCA-Approach": "REDIRECT",
        }
        made = self.call(name, "POST", CONSENTS, 201, members, json=self.wish(rights, days, frequency))
        return made.find("consentId"), made.find("_links.scaRedirect.href")

    def look(self, name: str, consent: Any, status: str) -> None:
        self.call(name, "GET", f"{CONSENTS}/{consent}/status", 200, {"consentStatus": status})

    def transfer(self, payer: Any, payee: tuple[str, str], amount: str, text: str) -> dict[str, Any]:
        wanted: dict[str, Any] = {"instructedAmount": {"currency": "HUF", "amount": amount}}
        wanted |= {"creditorAccount": {"iban": payee[0]}, "creditorName": payee[1]}
        wanted["remittanceInformationUnstructured"] = text
        return ({"debtorAccount": {"iban": payer}} if payer else {}) | wanted

    def pay(self, name: str, product: str, wanted: dict[str, Any]) -> tuple[Any, Any, Any]:
        """Return the payment's id, its path and the customer's page."""
        members = {
            "transactionStatus": "RCVD",
            "paymentId": PAYMENT,
            "transactionFees": {"currency": "HUF", "amount": "120"},
            "_links.scaRedirect.href": SCA,
            "@Location": re.compile(rf"^{product}/pay[0-9a-f]{{16}}$"),
        }
        made = self.call(name, "POST", product, 201, members, json=wanted)
        return made.find("paymentId"), made.find("_links.self.href"), made.find("_links.scaRedirect.href")

    def follow(self, name: str, path: Any, status: str, funds: bool | None = True, reason: str | None = None) -> None:
        members = {"transactionStatus": status, "fundsAvailable": funds, "reasonCode": reason}
        self.call(name, "GET", f"{path}/status", 200, members)

    def login(self, name: str, page: Any) -> list[str]:
        """Return the accounts that the customer may choose."""
        form = {"userId": self._customer[0], "password": self._customer[1], "action": "login"}
        members = PAGE | {"page": re.compile('name="smsCode"')}
        return self.walk.step(name, "POST", page, 200, members, data=form).fields.get("account", [])

    def mistype(self, name: str, page: Any, password: str) -> None:
        form = {"userId": self._customer[0], "password": password, "action": "login"}
        members = PAGE | {"page": re.compile("Hibás azonosító vagy jelszó")}
        self.walk.step(name, "POST", page, 200, members, data=form)

    def approve(self, name: str, page: Any, id: Any, accounts: list[str] | None = None) -> None:
        form = {"account": accounts or [], "smsCode": self._customer[2], "action": "approve"}
        members = {"@Location": f"{BACK}?{self._kind(id)}={id}"}
        self.walk.step(name, "POST", f"{page}/confirm", 303, members, data=form)

    def reject(self, name: str, page: Any, id: Any) -> None:
        members = {"@Location": f"{FAILED}?{self._kind(id)}={id}"}
        self.walk.step(name, "POST", page, 303, members, data={"action": "reject"})

    def _kind(self, id: Any) -> str:
        return "paymentId" if str(id).startswith("pay") else "consentId"

    def balances(self, name: str, account: Any, iban: Any, consent: Any, booked: int, available: int) -> None:
        members = {
            "account.iban": iban,
            "balances.#": 2,
            "balances.0.balanceType": "interimBooked",
            "balances.0.balanceAmount": {"currency": "HUF", "amount": str(booked)},
            "balances.1.balanceType": "interimAvailable",
            "balances.1.balanceAmount": {"currency": "HUF", "amount": str(available)},
        }
        self.call(name, "GET", f"{ACCOUNTS}/{account}/balances", 200, members, consent=consent)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = ZalaApp(walk, ("kovacs.anna", "Balaton-1846", "804271"))
    unknown = f"{CONSENTS}/cns0000000000000000/status"
    app.refuse("status without the app's key", "GET", unknown, 401, "CERTIFICATE_MISSING", without="X-TPP-Key")
    wish = app.wish(ALL, 300, 10)
    mistake = "FORMAT_ERROR"
    app.refuse("no request id", "POST", CONSENTS, 400, mistake, "X-Request-ID", json=wish, without="X-Request-ID")
    past = wish | {"validUntil": app.day(-2)}
    app.refuse("consent until two days ago", "POST", CONSENTS, 400, mistake, "validUntil", json=past)
    consent, page = app.ask("consent", ALL, 300, 10)
    app.refuse("accounts too early", "GET", ACCOUNTS, 401, "CONSENT_INVALID", consent=consent)
    walk.step("customer's page", "GET", page, 200, PAGE | {"page": re.compile('name="password"')})
    app.mistype("customer mistypes the password", page, "Balaton-1864")
    offered = app.login("customer logs in", page)
    app.approve("customer chooses two accounts", page, consent, offered[:2])
    app.look("consent is valid", consent, "valid")
    members: dict[str, Any] = {
        "accounts.#": 2,
        "accounts.0.resourceId": re.compile(r"^[A-Z]{14}$"),
        "accounts.0.iban": offered[0] if offered else str,
        "accounts.0.currency": "HUF",
        "accounts.0.name": "Zala Alapszámla",
        "accounts.0.ownerName": "Kovács Anna",
        "accounts.0.balances.#": 2,
        "accounts.0.balances.0.balanceType": "interimBooked",
    }
    query = {"withBalance": "true"}
    accounts = app.call("accounts with balances", "GET", ACCOUNTS, 200, members, consent=consent, params=query)
    account, iban = accounts.find("accounts.0.resourceId"), accounts.find("accounts.0.iban")
    booked = forints(accounts, "accounts.0.balances.0.balanceAmount.amount")
    entries = f"{ACCOUNTS}/{account}/transactions"
    query = {"bookingStatus": "booked", "dateFrom": app.day(-80), "limit": "6"}
    members = {
        "account.iban": iban,
        "transactions.booked.#": 6,
        "transactions.booked.0.transactionId": re.compile(r"^\d{16}$"),
        "transactions.booked.0.bookingDate": re.compile(r"^\d{4}-\d\d-\d\d$"),
        "transactions.booked.0.transactionAmount.currency": "HUF",
        "transactions.booked.0.remittanceInformationUnstructured": "Kártyás fizetés",
        "transactions.pending": None,
        "transactions._links.next.href": re.compile("pageKey="),
    }
    page_one = app.call("transactions", "GET", entries, 200, members, consent=consent, params=query)
    following, members = page_one.find("transactions._links.next.href"), {"transactions.booked.#": 6}
    app.call("more transactions", "GET", following, 200, members, consent=consent)
    app.refuse("transactions in no status", "GET", entries, 400, mistake, "bookingStatus", consent=consent)
    nowhere = f"{ACCOUNTS}/BCDFGHJKLMNPQR/balances"
    app.refuse("balances of an unknown account", "GET", nowhere, 404, "RESOURCE_UNKNOWN", consent=consent)

    fraction = app.transfer(iban, LANDLORD, "185000.00", "Lakbér")
    app.refuse("payment with decimals", "POST", GIRO, 400, mistake, "instructedAmount.amount", json=fraction)
    rent, path, page = app.pay("payment", GIRO, app.transfer(iban, LANDLORD, "185000", "Lakbér"))
    app.login("customer logs in for the payment", page)
    app.approve("customer approves the payment", page, rent)
    app.follow("payment is accepted", path, "ACTC")
    app.balances("balances with the payment reserved", account, iban, consent, booked, booked - 185_000 - FEE)
    wait(timedelta(minutes=2))
    app.refuse("cancel it too late", "DELETE", path, 405, "CANCELLATION_INVALID")
    wait(timedelta(minutes=25))
    app.follow("payment is settled", path, "ACSC")
    rest = booked - 185_000 - FEE
    app.balances("balances after", account, iban, consent, rest, rest)
    members = {
        "transactions.booked.#": 2,
        "transactions.booked.0.transactionAmount": {"currency": "HUF", "amount": "-120"},
        "transactions.booked.0.creditorName": "Zala Bank",
        "transactions.booked.1.transactionAmount": {"currency": "HUF", "amount": "-185000"},
        "transactions.booked.1.creditorName": LANDLORD[1],
        "transactions.booked.1.creditorAccount.iban": LANDLORD[0],
        "transactions.booked.1.remittanceInformationUnstructured": "Lakbér",
        "transactions.pending": [],
        "transactions._links.next": None,
    }
    query = {"bookingStatus": "both", "dateFrom": app.day(-1)}
    app.call("transactions after", "GET", entries, 200, members, consent=consent, params=query)

    large = app.transfer(None, DENTIST, "98000000", "Implantátum")
    short, path, page = app.pay("instant payment above the balance", INSTANT, large)
    offered = app.login("customer logs in for the instant payment", page)
    app.approve("customer chooses an account for it", page, short, offered[:1])
    app.follow("instant payment is rejected", path, "RJCT", funds=False, reason="AM04")
    declined, path, page = app.pay("payment to decline", GIRO, app.transfer(iban, DENTIST, "24500", "Kontroll"))
    app.reject("customer declines", page, declined)
    app.follow("payment is declined", path, "RJCT", funds=None, reason="DS02")
    stopped, path, page = app.pay("payment to cancel", GIRO, app.transfer(iban, DENTIST, "26000", "Kontroll 2"))
    app.call("cancel the payment", "DELETE", path, 200, {"transactionStatus": "CANC", "paymentId": stopped})
    app.call("end the consent", "DELETE", f"{CONSENTS}/{consent}", 204)
    app.refuse("accounts after its end", "GET", ACCOUNTS, 401, "CONSENT_INVALID", consent=consent)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = ZalaApp(walk, ("nagy.peter", "Kis+Hid/77", "315960"))
    mistake, missing = "FORMAT_ERROR", "X-Request-ID"
    app.refuse("accounts without a request id", "GET", ACCOUNTS, 400, mistake, missing, without=missing)
    narrow, no = app.ask("consent to decline", ("accounts", "balances"), 45, 6)
    consent, yes = app.ask("consent", ALL, 90, 3)
    walk.step("page of the second consent", "GET", yes, 200, PAGE | {"page": re.compile('name="userId"')})
    offered = app.login("customer logs in", yes)
    app.approve("customer chooses one account", yes, consent, offered[:1])
    app.reject("customer declines the first consent", no, narrow)
    app.look("first consent is rejected", narrow, "rejected")
    app.refuse("accounts with that", "GET", ACCOUNTS, 401, "CONSENT_INVALID", consent=narrow)
    members: dict[str, Any] = {
        "accounts.#": 1,
        "accounts.0.resourceId": re.compile(r"^[A-Z]{14}$"),
        "accounts.0.iban": offered[0] if offered else str,
        "accounts.0.currency": "HUF",
        "accounts.0.balances.#": 2,
        "accounts.0.balances.1.balanceType": "interimAvailable",
    }
    query = {"withBalance": "true"}
    accounts = app.call("accounts with balances", "GET", ACCOUNTS, 200, members, consent=consent, params=query)
    account, iban = accounts.find("accounts.0.resourceId"), accounts.find("accounts.0.iban")
    booked = forints(accounts, "accounts.0.balances.0.balanceAmount.amount")
    app.balances("balances", account, iban, consent, booked, booked)
    entries = f"{ACCOUNTS}/{account}/transactions"
    query = {"bookingStatus": "booked", "dateFrom": app.day(-70), "dateTo": app.day(-5), "limit": "4"}
    members = {
        "account.iban": iban,
        "transactions.booked.#": 4,
        "transactions.booked.3.transactionId": re.compile(r"^\d{16}$"),
        "transactions.booked.3.valueDate": str,
        "transactions._links.next.href": re.compile("pageKey="),
    }
    page_one = app.call("transactions", "GET", entries, 200, members, consent=consent, params=query)
    following, members = page_one.find("transactions._links.next.href"), {"transactions.booked.#": 4}
    app.call("next page", "GET", following, 200, members, consent=consent)
    nowhere = f"{ACCOUNTS}/ZXWVTSRQPNMLKJ/transactions"
    query = {"bookingStatus": "booked"}
    unknown = "RESOURCE_UNKNOWN"
    app.refuse("transactions of an unknown account", "GET", nowhere, 404, unknown, consent=consent, params=query)

    fraction = app.transfer(iban, SCHOOL, "32450.50", "Tandíj")
    app.refuse("instant payment with decimals", "POST", INSTANT, 400, mistake, "instructedAmount.amount", json=fraction)
    fees, fees_path, fees_page = app.pay("first payment", GIRO, app.transfer(iban, SCHOOL, "32450", "Tandíj 2"))
    tax, tax_path, tax_page = app.pay("second payment", GIRO, app.transfer(None, TAXES, "17900", "Gépjárműadó"))
    gift, gift_path, gift_page = app.pay("instant payment", INSTANT, app.transfer(iban, LANDLORD, "8000", "Kaució"))
    chosen = app.login("customer logs in for the second", tax_page)
    app.approve("customer chooses the account for the second", tax_page, tax, [one for one in chosen if one == iban])
    app.mistype("customer mistypes the password for the first", fees_page, "Kis+Hid/78")
    app.login("customer logs in for the first", fees_page)
    app.approve("customer approves the first", fees_page, fees)
    app.reject("customer declines the instant payment", gift_page, gift)
    app.follow("instant payment is declined", gift_path, "RJCT", funds=None, reason="DS02")
    app.follow("second payment is accepted", tax_path, "ACTC")
    reserved = 32_450 + 17_900 + 2 * FEE
    app.balances("balances with both reserved", account, iban, consent, booked, booked - reserved)
    app.call("cancel the first", "DELETE", fees_path, 200, {"transactionStatus": "CANC", "paymentId": fees})
    rest = booked - 17_900 - FEE
    app.balances("balances with the second reserved", account, iban, consent, booked, rest)
    app.refuse("cancel the first again", "DELETE", fees_path, 405, "CANCELLATION_INVALID")
    wait(timedelta(minutes=40))
    app.follow("second payment is settled", tax_path, "ACSC")
    app.balances("balances after", account, iban, consent, rest, rest)
    members = {
        "transactions.booked.#": 2,
        "transactions.booked.0.transactionAmount.amount": "-120",
        "transactions.booked.1.transactionAmount.amount": "-17900",
        "transactions.booked.1.creditorName": TAXES[1],
        "transactions.booked.1.remittanceInformationUnstructured": "Gépjárműadó",
        "transactions._links.next": None,
    }
    query = {"bookingStatus": "booked", "dateFrom": app.day(-1)}
    app.call("transactions after", "GET", entries, 200, members, consent=consent, params=query)
    app.call("end the second consent", "DELETE", f"{CONSENTS}/{consent}", 204)
    app.look("second consent is terminated", consent, "terminatedByTpp")
    path = f"{ACCOUNTS}/{account}/balances"
    app.refuse("balances after its end", "GET", path, 401, "CONSENT_INVALID", consent=consent)
    return walk.steps
