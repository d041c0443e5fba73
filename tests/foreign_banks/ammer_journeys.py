"""Two journeys of the app Traunblick and its customers at Ammer."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

ROOT = "/xs2a/ammer/v1"
CONSENTS, ACCOUNTS, PAYMENTS = f"{ROOT}/consents", f"{ROOT}/accounts", f"{ROOT}/payments/sepa-credit-transfers"
BACK = "https://traunblick.example/zurueck"
EVERYTHING = ["ACCOUNT_LIST", "BALANCE", "TURNOVER"]
CONSENT, PAYMENT, PAGE_LINK = (
    re.compile(r"^K\d{4}-\d{4}-\d{4}$"),
    re.compile(r"^Z\d{4}-\d{4}-\d{4}$"),
    re.compile(r"^http://[^/]+/freigabe/F\d{4}-\d{4}-\d{4}$"),
)
IBAN, ACCOUNT = re.compile(r"^DE\d{20}$"), re.compile(r"^[0-9a-f]{24}$")


def cents(answer: Answer, place: str) -> int:
    """The number of cents in the amount at this place, or 0."""
    value = answer.find(place)
    return int(value.replace(".", "")) if isinstance(value, str) and re.fullmatch(r"\d+\.\d\d", value) else 0


def euros(amount: int) -> str:
    return f"{amount // 100}.{amount % 100:02}"


class AmmerApp:
    def __init__(self, walk: Walk, name: str, pin: str, tan: str) -> None:
        self.walk, self._name, self._pin, self._tan = walk, name, pin, tan

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
        is_present: bool = True,
        without: str = "",
        **request: Any,
    ) -> Answer:
        """`is_present` tells whether the customer is there; `without` names a header to leave out."""
        reference = str(uuid5(NAMESPACE_URL, f"{self._name} {name}"))
        headers = {"X-Request-ID": reference, "X-Ammer-Client-Id": "traunblick"}
        if is_present:
            headers["PSU-IP-Address"] = "203.0.113.24"
        if method == "POST":
            headers["TPP-Redirect-URI"] = BACK
        if consent:
            headers["Consent-ID"] = str(consent)
        headers.pop(without, None)
        told = headers.get("X-Request-ID")
        expected: dict[str, Any] = {"@X-Request-ID": told, **(members or {})}
        if status >= 400:
            expected["reference"] = told
        return self.walk.step(name, method, path, status, expected, headers=headers, **request)

    def refuse(
        self, name: str, method: str, path: str, status: int, reason: str, where: str | None = None, **request: Any
    ) -> None:
        members = {"status": status, "reason": reason, "where": where, "hint": str}
        self.call(name, method, path, status, members, **request)

    def wish(self, services: list[str], days: int, often: int) -> dict[str, Any]:
        access = {"access": {"services": services}, "recurringIndicator": True}
        return access | {"validUntil": self.day(days), "frequencyPerDay": often}

    def ask(self, name: str, services: list[str], days: int, often: int) -> tuple[Any, Any]:
        """Return the consent's id and the customer's page."""
        members = {
            "consentId": CONSENT,
            "consentStatus": "pending",
            "authorisationId": str,
            "_links.scaRedirect.href": PAGE_LINK,
            "@Location": re.compile(r"/consents/K\d{4}-\d{4}-\d{4}$"),
            "@ASPSP-SCA-Approach": "REDIRECT",
        }
        made = self.call(name, "POST", CONSENTS, 201, members, json=self.wish(services, days, often))
        return made.find("consentId"), made.find("_links.scaRedirect.href")

    def mistype(self, name: str, page: Any, pin: str) -> None:
        form = {"anmeldename": self._name, "pin": pin, "aktion": "weiter"}
        members = PAGE | {"page": re.compile(r'PIN ist falsch(.|\n)*name="pin"')}
        self.walk.step(name, "POST", page, 200, members, data=form)

    def approve(self, name: str, page: Any, id: Any) -> None:
        """Two steps: the PIN, and the TAN."""
        form = {"anmeldename": self._name, "pin": self._pin, "aktion": "weiter"}
        members = PAGE | {"page": re.compile('name="pruefwert"(.|\n)*name="tan"')}
        asked = self.walk.step(f"{name}: PIN", "POST", page, 200, members, data=form)
        form = {"pruefwert": asked.fields.get("pruefwert", [""])[0], "tan": self._tan, "aktion": "weiter"}
        members = {"@Location": f"{BACK}?vorgang={id}&ergebnis=ok"}
        self.walk.step(f"{name}: TAN", "POST", page, 302, members, data=form)

    def decline(self, name: str, page: Any, id: Any) -> None:
        members = {"@Location": f"{BACK}?vorgang={id}&ergebnis=abbruch"}
        self.walk.step(name, "POST", page, 302, members, data={"aktion": "abbrechen"})

    def balances(self, name: str, account: Any, consent: Any, expected: tuple[int, int] | None = None) -> int:
        """Return the booked balance in cents. `expected` has the available and the booked one."""
        members: dict[str, Any] = {"balances.#": 2}
        for place, kind in enumerate(("interimAvailable", "closingBooked")):
            members[f"balances.{place}.balanceType"] = kind
            members[f"balances.{place}.balanceAmount.amount"] = euros(expected[place]) if expected else str
            members[f"balances.{place}.creditDebitIndicator"] = "CRDT"
        answer = self.call(name, "GET", f"{ACCOUNTS}/{account}/balances", 200, members, consent=consent)
        return cents(answer, "balances.1.balanceAmount.amount")

    def payment(self, payer: Any, payee: tuple[str, str], amount: int, text: str) -> dict[str, Any]:
        sides = {"debtorAccount": {"iban": payer}, "creditorAccount": {"iban": payee[0]}, "creditorName": payee[1]}
        money = {"instructedAmount": {"amount": euros(amount), "currency": "EUR"}}
        return sides | money | {"remittanceInformationUnstructured": text}

    def pay(self, name: str, payment: dict[str, Any]) -> tuple[Any, Any]:
        """Return the payment's id and the customer's page."""
        members = {"paymentId": PAYMENT, "transactionStatus": "Received", "_links.scaRedirect.href": PAGE_LINK}
        made = self.call(name, "POST", PAYMENTS, 202, members, json=payment)
        return made.find("paymentId"), made.find("_links.scaRedirect.href")

    def follow(self, name: str, payment: Any, status: str) -> None:
        members = {"paymentId": payment, "transactionStatus": status}
        self.call(name, "GET", f"{PAYMENTS}/{payment}/status", 200, members)

    def cancel(self, name: str, payment: Any) -> None:
        members = {"paymentId": payment, "transactionStatus": "Cancelled"}
        self.call(name, "DELETE", f"{PAYMENTS}/{payment}", 200, members)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = AmmerApp(walk, "schongauer71", "48213", "305917")
    wish, place = app.wish(EVERYTHING, 30, 1), "header:X-Request-ID"
    app.refuse("no request id", "POST", CONSENTS, 400, "HEADER_MISSING", place, without="X-Request-ID", json=wish)
    wish = app.wish(EVERYTHING, 120, 1)
    app.refuse("consent for too long", "POST", CONSENTS, 422, "LIMIT_EXCEEDED", "body:validUntil", json=wish)
    consent, page = app.ask("consent", EVERYTHING, 60, 1)
    early = "accounts too early"
    app.refuse(early, "GET", ACCOUNTS, 403, "CONSENT_NOT_ACTIVE", "header:Consent-ID", consent=consent)
    members: dict[str, Any] = PAGE | {"page": re.compile(f"Zugriff für traunblick bis {app.day(60)}")}
    walk.step("customer's page", "GET", page, 200, members)
    app.mistype("customer mistypes the PIN", page, "48231")
    app.approve("customer agrees", page, consent)
    members = {
        "consentId": consent,
        "consentStatus": "active",
        "access.services": EVERYTHING,
        "validUntil": app.day(60),
        "frequencyPerDay": 1,
        "recurringIndicator": True,
        "lastActionDate": app.day(0),
    }
    app.call("consent is active", "GET", f"{CONSENTS}/{consent}", 200, members)
    members = {
        "accounts.#": 2,
        "accounts.0.accountId": ACCOUNT,
        "accounts.0.iban": IBAN,
        "accounts.0.name": "Girokonto",
        "accounts.0.kind": "CACC",
        "accounts.0.currency": "EUR",
    }
    accounts = app.call("accounts at night", "GET", ACCOUNTS, 200, members, consent=consent, is_present=False)
    account, iban = accounts.find("accounts.0.accountId"), accounts.find("accounts.0.iban")
    balances, entries = f"{ACCOUNTS}/{account}/balances", f"{ACCOUNTS}/{account}/transactions"
    often = "balances in the same night"
    app.refuse(often, "GET", balances, 429, "FREQUENCY_EXCEEDED", consent=consent, is_present=False)
    booked = app.balances("balances with the customer", account, consent)
    undated = "transactions without a day"
    app.refuse(undated, "GET", entries, 400, "FORMAT_ERROR", "query:dateFrom", consent=consent)
    query = {"dateFrom": app.day(-60), "dateTo": app.day(-1), "bookingStatus": "booked", "pageSize": "4"}
    members = {
        "account.iban": iban,
        "transactions.#": 4,
        "transactions.0.bookingStatus": "booked",
        "transactions.0.bookingDate": re.compile(r"^\d{4}-\d\d-\d\d$"),
        "transactions.0.transactionAmount.amount": re.compile(r"^\d+\.\d\d$"),
        "transactions.0.creditDebitIndicator": re.compile("^(CRDT|DBIT)$"),
        "paging.page": 1,
        "paging.total": int,
        "_links.next.href": re.compile("page=2"),
    }
    page_one = app.call("transactions", "GET", entries, 200, members, consent=consent, params=query)
    members = {"transactions.#": 4, "paging.page": 2, "paging.total": page_one.find("paging.total")}
    app.call("more transactions", "GET", page_one.find("_links.next.href"), 200, members, consent=consent)
    nowhere = f"{ACCOUNTS}/{'0' * 24}/balances"
    app.refuse("balances of an unknown account", "GET", nowhere, 404, "RESOURCE_UNKNOWN", consent=consent)

    landlord, choir = ("DE89370400440532013000", "Xaver Huber"), ("AT611904300234573201", "Seechor Herrsching")
    wrong = app.payment(iban, ("DE88370400440532013000", "Xaver Huber"), 86_500, "Miete Juli")
    place = "body:creditorAccount.iban"
    app.refuse("payment to a mistyped IBAN", "POST", PAYMENTS, 400, "FORMAT_ERROR", place, json=wrong)
    much, place = app.payment(iban, landlord, 275_000, "Kaution"), "body:instructedAmount.amount"
    app.refuse("payment above the limit", "POST", PAYMENTS, 422, "LIMIT_EXCEEDED", place, json=much)
    rent, page = app.pay("payment", app.payment(iban, landlord, 86_500, "Miete Juli"))
    app.approve("customer approves", page, rent)
    app.follow("payment is accepted", rent, "AcceptedTechnicalValidation")
    app.balances("balances with the amount reserved", account, consent, (booked - 86_500, booked))
    wait(timedelta(minutes=3))
    app.follow("payment is in process", rent, "AcceptedSettlementInProcess")
    wait(timedelta(minutes=8))
    members = {
        "paymentId": rent,
        "transactionStatus": "AcceptedSettlementCompleted",
        "instructedAmount.amount": "865.00",
        "creditorName": "Xaver Huber",
    }
    app.call("payment is settled", "GET", f"{PAYMENTS}/{rent}", 200, members)
    app.balances("balances after", account, consent, (booked - 86_500, booked - 86_500))
    members = {
        "transactions.#": 1,
        "transactions.0.bookingDate": app.day(0),
        "transactions.0.transactionAmount.amount": "865.00",
        "transactions.0.creditDebitIndicator": "DBIT",
        "transactions.0.creditorName": "Xaver Huber",
        "transactions.0.remittanceInformationUnstructured": "Miete Juli",
        "paging.page": 1,
        "paging.pages": 1,
        "paging.total": 1,
        "_links.next": None,
    }
    query = {"dateFrom": app.day(0)}
    app.call("transactions after", "GET", entries, 200, members, consent=consent, params=query)
    stopped, _ = app.pay("payment to cancel", app.payment(iban, choir, 4_200, "Beitrag"))
    app.cancel("cancel it", stopped)
    declined, page = app.pay("payment to decline", app.payment(iban, choir, 4_250, "Beitrag und Noten"))
    app.decline("customer declines", page, declined)
    app.follow("payment is rejected", declined, "Rejected")
    members = {"consentId": consent, "consentStatus": "revoked"}
    app.call("end of the consent", "DELETE", f"{CONSENTS}/{consent}", 200, members)
    late = "accounts after the end"
    app.refuse(late, "GET", ACCOUNTS, 403, "CONSENT_NOT_ACTIVE", "header:Consent-ID", consent=consent)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = AmmerApp(walk, "utting.boote", "90657", "772046")
    place, yard, club = "header:X-Request-ID", ("AT611904300234573201", "Werft Kaltenberg"), "Seglerverein Utting"
    sail = ("DE89370400440532013000", club)
    blind = app.payment("DE89370400440532013000", yard, 1_000, "Probe")
    app.refuse("no request id", "POST", PAYMENTS, 400, "HEADER_MISSING", place, without="X-Request-ID", json=blind)
    narrow, no = app.ask("consent to decline", ["BALANCE", "ACCOUNT_LIST"], 14, 3)
    consent, yes = app.ask("consent", ["TURNOVER", "BALANCE", "ACCOUNT_LIST"], 45, 2)
    app.mistype("customer mistypes the PIN", yes, "90675")
    app.decline("customer declines the first", no, narrow)
    app.approve("customer agrees to the second", yes, consent)
    denied = "accounts with the first"
    app.refuse(denied, "GET", ACCOUNTS, 403, "CONSENT_NOT_ACTIVE", "header:Consent-ID", consent=narrow)
    members: dict[str, Any] = {
        "accounts.0.accountId": ACCOUNT,
        "accounts.0.iban": IBAN,
        "accounts.1.accountId": ACCOUNT,
        "accounts.1.iban": IBAN,
        "accounts.1.currency": "EUR",
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, consent=consent)
    account, iban = accounts.find("accounts.1.accountId"), accounts.find("accounts.1.iban")
    entries = f"{ACCOUNTS}/{account}/transactions"
    query = {"dateFrom": app.day(-50), "dateTo": app.day(-2), "pageSize": "5"}
    members = {
        "account.iban": iban,
        "transactions.#": 5,
        "transactions.4.transactionId": str,
        "transactions.4.bookingStatus": "booked",
        "paging.page": 1,
        "paging.total": int,
        "_links.next.href": re.compile("page=2"),
    }
    night: dict[str, Any] = {"consent": consent, "is_present": False}
    page_one = app.call("transactions at night", "GET", entries, 200, members, params=query, **night)
    members = {"transactions.#": 5, "paging.page": 2, "paging.total": page_one.find("paging.total")}
    app.call("second page at night", "GET", entries, 200, members, params=query | {"page": "2"}, **night)
    app.refuse("accounts in the same night", "GET", ACCOUNTS, 429, "FREQUENCY_EXCEEDED", **night)
    nowhere = f"{ACCOUNTS}/{'0' * 23}7/balances"
    app.refuse("balances of an unknown account", "GET", nowhere, 404, "RESOURCE_UNKNOWN", consent=consent)
    booked = app.balances("balances", account, consent)

    much, place = app.payment(iban, yard, 480_000, "Mast"), "body:instructedAmount.amount"
    app.refuse("payment above the limit", "POST", PAYMENTS, 422, "LIMIT_EXCEEDED", place, json=much)
    refused, refused_page = app.pay("payment to decline", app.payment(iban, yard, 61_990, "Segel"))
    stopped, stopped_page = app.pay("payment to cancel", app.payment(iban, sail, 12_345, "Liegeplatz"))
    app.approve("customer approves the second", stopped_page, stopped)
    app.balances("balances with the second reserved", account, consent, (booked - 12_345, booked))
    app.cancel("cancel the second", stopped)
    app.decline("customer declines the first payment", refused_page, refused)
    paid, paid_page = app.pay("third payment", app.payment(iban, sail, 23_405, "Liegeplatz 14"))
    app.approve("customer approves the third", paid_page, paid)
    app.follow("first payment is rejected", refused, "Rejected")
    wait(timedelta(minutes=3))
    app.follow("third payment is in process", paid, "AcceptedSettlementInProcess")
    wait(timedelta(minutes=25))
    app.follow("third payment is settled", paid, "AcceptedSettlementCompleted")
    app.call("cancel it too late", "DELETE", f"{PAYMENTS}/{paid}", 409, {"status": 409, "reason": str, "hint": str})
    app.balances("balances after", account, consent, (booked - 23_405, booked - 23_405))
    members = {
        "transactions.#": 1,
        "transactions.0.transactionAmount.amount": "234.05",
        "transactions.0.creditDebitIndicator": "DBIT",
        "transactions.0.creditorName": club,
        "transactions.0.remittanceInformationUnstructured": "Liegeplatz 14",
        "paging.total": 1,
    }
    query = {"dateFrom": app.day(0), "bookingStatus": "booked"}
    app.call("transactions after", "GET", entries, 200, members, consent=consent, params=query)
    wait(DAY)
    app.call("accounts in the next night", "GET", ACCOUNTS, 200, {"accounts.1.iban": iban}, **night)
    members = {"consentId": consent, "consentStatus": "revoked"}
    app.call("end of the consent", "DELETE", f"{CONSENTS}/{consent}", 200, members)
    late = f"{ACCOUNTS}/{account}/balances"
    app.refuse("balances after the end", "GET", late, 403, "CONSENT_NOT_ACTIVE", "header:Consent-ID", consent=consent)
    return walk.steps
