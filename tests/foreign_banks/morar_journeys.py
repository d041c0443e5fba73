"""Two journeys of the app Thistle Purse and its customers at Morar."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

TPP = "PSDGB-FCA-793502"
CONSENTS, ACCOUNTS, PAYMENTS = "/v1.3.8/consents", "/v1.3.8/accounts", "/v1.3.8/payments/faster-payments"
CODE = re.compile(r"Your code is <b>(\d{6})</b>")
SCA_LINK = re.compile(r"^https?://[^/]+/sca/[0-9a-f]{24}$")
SCA_ID = re.compile(r"^SCA\d{9}$")
REFERENCE = "remittanceInformationUnstructured"


def pounds(answer: Answer, place: str) -> float:
    """The number at this place, or 0."""
    value = answer.find(place)
    return value if isinstance(value, int | float) else 0


def local(link: Any) -> str:
    """A link of the bank without scheme and host."""
    parts = urlsplit(str(link))
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def transfer(payer: Any, payee: tuple[str, str], amount: float, reference: str) -> dict[str, Any]:
    document = {"debtorAccount": {"bban": payer}, "creditorAccount": {"bban": payee[0]}, "creditorName": payee[1]}
    return document | {"instructedAmount": {"currency": "GBP", "amount": amount}, REFERENCE: reference}


def worth(booked: float, available: float) -> dict[str, Any]:
    return {
        "balances.#": 2,
        "balances.0.balanceType": "interimBooked",
        "balances.0.balanceAmount.amount": round(booked, 2),
        "balances.1.balanceType": "interimAvailable",
        "balances.1.balanceAmount.amount": round(available, 2),
        "balances.1.balanceAmount.currency": "GBP",
    }


class MorarApp:
    """The app, for one customer, who comes back to `back`."""

    def __init__(self, walk: Walk, customer: tuple[str, str], back: str) -> None:
        self.walk, self._customer, self.back = walk, customer, back
        self.nok = back.replace("/done", "/failed")
        self.consent: Any = None

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
        is_present: bool = True,
        id_of: str = "",
        **request: Any,
    ) -> Answer:
        """Send a request, with the X-Request-ID of the step `id_of` or one of its own."""
        id = str(uuid5(NAMESPACE_URL, f"{self._customer[0]} {id_of or name}"))
        sent = {"TPP-Registration-Number": TPP, "X-Request-ID": id}
        if is_present:
            sent["PSU-IP-Address"] = "198.51.100.23"
        if path.startswith(ACCOUNTS):
            sent["Consent-ID"] = str(self.consent)
        if method == "POST":
            sent |= {"PSU-ID": self._customer[0], "TPP-Redirect-URI": self.back, "TPP-Nok-Redirect-URI": self.nok}
        return self.walk.step(
            name, method, path, status, {"@X-Request-ID": id, **(members or {})}, headers=sent, **request
        )

    def refuse(
        self, name: str, method: str, path: str, status: int, code: str, place: str | None = None, **request: Any
    ) -> None:
        members: dict[str, Any] = {"outcome": "ERROR", "supportRef": re.compile(r"^MB/\w{8}$"), "reasons.#": 1}
        members |= {"reasons.0.code": code, "reasons.0.field": place}
        if status == 429:
            members["@Retry-After"] = re.compile(r"^\d+$")
        self.call(name, method, path, status, members, **request)

    def wish(self, days: int, often: int) -> dict[str, Any]:
        access: dict[str, Any] = {"balances": [], "transactions": []}
        return {"access": access, "recurringIndicator": True, "validUntil": self.day(days), "frequencyPerDay": often}

    def forget_id(self, name: str, days: int, often: int) -> None:
        headers = {"TPP-Registration-Number": TPP, "PSU-ID": self._customer[0], "TPP-Redirect-URI": self.back}
        members = {"outcome": "ERROR", "reasons.0.code": "FORMAT_ERROR", "reasons.0.field": "X-Request-ID"}
        self.walk.step(name, "POST", CONSENTS, 400, members, headers=headers, json=self.wish(days, often))

    def ask(self, name: str, days: int, granted: int, often: int) -> Any:
        """Ask for a consent and return the link to the customer's page."""
        members = {
            "consentId": re.compile(r"^MBC(-[A-Z0-9]{4}){2}$"),
            "consentStatus": "received",
            "validUntil": self.day(granted),
            "authorisationId": SCA_ID,
            "scaStatus": "received",
            "_links.scaRedirect.href": SCA_LINK,
            "@ASPSP-SCA-Approach": "REDIRECT",
            "@Location": None,
        }
        made = self.call(name, "POST", CONSENTS, 200, members, json=self.wish(days, often))
        self.consent = made.find("consentId")
        return made.find("_links.scaRedirect.href")

    def pay(self, name: str, document: dict[str, Any], members: Expected | None = None, id_of: str = "") -> Answer:
        expected = {
            "paymentId": re.compile(r"^FP\d{6}-[A-Z0-9]{6}$"),
            "transactionStatus": "RCVD",
            "authorisationId": SCA_ID,
            "_links.scaRedirect.href": SCA_LINK,
            "@Location": re.compile(r"^/v1\.3\.8/payments/faster-payments/FP"),
            **(members or {}),
        }
        return self.call(name, "POST", PAYMENTS, 201, expected, json=document, id_of=id_of)

    def follow(self, name: str, payment: Any, status: str, reason: str | None = None) -> None:
        members = {"paymentId": payment, "transactionStatus": status, "reasonCode": reason}
        self.call(name, "GET", f"{PAYMENTS}/{payment}/status", 200, members)

    def sign_in(self, name: str, page: Any, shown: str) -> Answer:
        members = PAGE | {"page": re.compile(f"{shown}.*{CODE.pattern}", re.DOTALL)}
        return self.walk.step(name, "POST", local(page), 200, members, data={"passcode": self._customer[1]})

    def _form(self, shown: Answer, action: str) -> dict[str, Any]:
        fields, code = shown.fields, CODE.search(shown.text)
        form = {"seal": fields.get("seal", [""])[0], "code": code[1] if code else "", "action": action}
        return form | {"account": fields.get("account", [])[:2]}

    def mistype(self, name: str, page: Any, shown: Answer) -> Answer:
        form = self._form(shown, "approve") | {"code": "000000"}
        members = PAGE | {"page": re.compile('That code is not right.*name="seal"', re.DOTALL)}
        return self.walk.step(name, "POST", local(page), 200, members, data=form)

    def approve(self, name: str, page: Any, shown: Answer) -> None:
        form = self._form(shown, "approve")
        self.walk.step(name, "POST", local(page), 302, {"@Location": self.back}, data=form)

    def decline(self, name: str, page: Any) -> None:
        joint = "&" if "?" in self.nok else "?"
        members = {"@Location": f"{self.nok}{joint}reason=PSU_REFUSED"}
        self.walk.step(name, "POST", local(page), 302, members, data={"action": "refuse"})


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = MorarApp(walk, ("704119382", "582014"), "https://purse.example/morar/done")
    app.forget_id("consent without a request id", 180, 1)
    page = app.ask("consent", 180, 90, 1)
    app.refuse("accounts too early", "GET", ACCOUNTS, 401, "CONSENT_INVALID", "Consent-ID")
    walk.step("customer's page", "GET", local(page), 200, PAGE | {"page": re.compile('customer …382.*name="passcode"')})
    shown = app.sign_in("customer signs in", page, "Share balances, transactions until")
    shown = app.mistype("customer mistypes the code", page, shown)
    app.approve("customer approves two accounts", page, shown)
    consent = f"{CONSENTS}/{app.consent}"
    members: dict[str, Any] = {"consentId": app.consent, "consentStatus": "valid"}
    app.call("consent is valid", "GET", f"{consent}/status", 200, members)
    members = {
        "accounts.#": 2,
        "accounts.0.resourceId": int,
        "accounts.0.iban": re.compile(r"^GB\d\dMORR\d{14}$"),
        "accounts.0.bban": re.compile(r"^834417\d{8}$"),
        "accounts.0.currency": "GBP",
        "accounts.0.name": "Current Account",
        "accounts.0.ownerName": "Ailsa Geddes",
        "accounts.0._links.balances.href": re.compile(r"^/v1\.3\.8/accounts/\d{7}/balances$"),
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members)
    iban, bban = accounts.find("accounts.0.iban"), accounts.find("accounts.0.bban")
    balances = local(accounts.find("accounts.0._links.balances.href"))
    entries = local(accounts.find("accounts.0._links.transactions.href"))
    members = {
        "account.iban": iban,
        "balances.0.balanceType": "interimBooked",
        "balances.0.balanceAmount.amount": float,
        "balances.1.balanceType": "interimAvailable",
        "@X-Access-Remaining": "0",
    }
    before = app.call("balances without the customer", "GET", balances, 200, members, is_present=False)
    booked = pounds(before, "balances.0.balanceAmount.amount")
    query = {"bookingStatus": "booked", "dateFrom": app.day(-60), "dateTo": app.day(-1), "itemsPerPage": "5"}
    members = {
        "account.iban": iban,
        "transactions.booked.#": 5,
        "transactions.booked.0.transactionAmount.amount": float,
        "transactions.booked.0.bookingDate": re.compile(r"^\d{4}-\d\d-\d\d$"),
        "transactions.booked.0.creditDebitIndicator": re.compile("^(CRDT|DBIT)$"),
        "remaining": int,
        "_links.next.href": re.compile(r"/transactions\?resume=\w{20}$"),
    }
    one = app.call("transactions", "GET", entries, 200, members, params=query)
    members = {"transactions.booked.#": 5, "remaining": pounds(one, "remaining") - 5}
    app.call("more transactions", "GET", local(one.find("_links.next.href")), 200, members)
    app.refuse("balances without her again", "GET", balances, 429, "ACCESS_EXCEEDED", is_present=False)

    garage, florist = ("80226000417735", "Mallaig Motors"), ("82640218850964", "Heather & Broom")
    repair = transfer(bban, garage, 425.5, "Invoice 2209")
    made = app.pay("payment", repair)
    payment, page = made.find("paymentId"), made.find("_links.scaRedirect.href")
    app.pay("payment sent again", repair, {"paymentId": payment, "_links.scaRedirect.href": page}, "payment")
    shown = app.sign_in("customer signs in to pay", page, "Pay £425.50 to Mallaig Motors")
    app.approve("customer approves the payment", page, shown)
    app.follow("payment is pending", payment, "PDNG")
    wait(timedelta(minutes=2))
    app.follow("payment is under way", payment, "ACSP")
    app.refuse("cancel it too late", "DELETE", f"{PAYMENTS}/{payment}", 405, "CANCELLATION_INVALID")
    wait(timedelta(minutes=10))
    app.follow("payment is settled", payment, "ACSC")
    app.call("balances after", "GET", balances, 200, worth(booked - 425.5, booked - 425.5))
    query = {"bookingStatus": "booked", "dateFrom": app.day(0), "creditDebitIndicator": "DBIT"}
    members = {
        "transactions.booked.#": 1,
        "transactions.booked.0.transactionAmount.amount": 425.5,
        "transactions.booked.0.creditDebitIndicator": "DBIT",
        "transactions.booked.0.bookingDate": app.day(0),
        "transactions.booked.0.creditorName": "Mallaig Motors",
        f"transactions.booked.0.{REFERENCE}": "Invoice 2209",
        "transactions.booked.0.bankTransactionCode": "FPO",
        "remaining": 0,
        "_links.next": None,
    }
    app.call("transactions after", "GET", entries, 200, members, params=query)

    made = app.pay("payment to decline", transfer(bban, florist, 38.95, "Bouquet"))
    declined = made.find("paymentId")
    app.decline("customer declines the payment", made.find("_links.scaRedirect.href"))
    app.follow("payment is rejected", declined, "RJCT", "DS02")
    stopped = app.pay("payment to cancel", transfer(bban, florist, 52, "Wreath")).find("paymentId")
    app.call("cancel the payment", "DELETE", f"{PAYMENTS}/{stopped}", 204)
    members = {"consentId": app.consent, "consentStatus": "terminatedByTpp"}
    app.call("end the consent", "DELETE", consent, 200, members)
    app.refuse("accounts after the end", "GET", ACCOUNTS, 401, "CONSENT_INVALID", "Consent-ID")
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = MorarApp(walk, ("731880456", "340977"), "https://purse.example/morar/done?visit=8817")
    app.forget_id("consent without a request id", 45, 2)
    page = app.ask("consent", 45, 45, 2)
    app.refuse("accounts too early", "GET", ACCOUNTS, 401, "CONSENT_INVALID", "Consent-ID")
    shown = app.sign_in("customer signs in", page, "Share balances, transactions until")
    shown = app.mistype("customer mistypes the code", page, shown)
    app.approve("customer approves two accounts", page, shown)
    consent = f"{CONSENTS}/{app.consent}"
    members: dict[str, Any] = {"consentId": app.consent, "consentStatus": "valid"}
    app.call("consent is valid", "GET", f"{consent}/status", 200, members)
    members = {
        "accounts.#": 2,
        "accounts.1.resourceId": int,
        "accounts.1.iban": re.compile(r"^GB\d\dMORR\d{14}$"),
        "accounts.1.bban": re.compile(r"^834417\d{8}$"),
        "accounts.1.currency": "GBP",
        "accounts.1._links.balances.href": re.compile(r"^/v1\.3\.8/accounts/\d{7}/balances$"),
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members)
    iban, bban = accounts.find("accounts.1.iban"), accounts.find("accounts.1.bban")
    balances = local(accounts.find("accounts.1._links.balances.href"))
    entries = local(accounts.find("accounts.1._links.transactions.href"))
    members = {"account.iban": iban, "balances.0.balanceAmount.amount": float, "@X-Access-Remaining": "1"}
    before = app.call("balances without the customer", "GET", balances, 200, members, is_present=False)
    booked = pounds(before, "balances.0.balanceAmount.amount")
    available = pounds(before, "balances.1.balanceAmount.amount")
    query = {"bookingStatus": "booked", "dateFrom": app.day(-75), "dateTo": app.day(-2), "itemsPerPage": "3"}
    members = {
        "account.iban": iban,
        "transactions.booked.#": 3,
        "transactions.booked.2.transactionAmount.amount": float,
        "remaining": int,
        "_links.next.href": re.compile(r"/transactions\?resume=\w+$"),
        "@X-Access-Remaining": "0",
    }
    query["creditDebitIndicator"] = "DBIT"
    members |= {f"transactions.booked.{row}.creditDebitIndicator": "DBIT" for row in range(3)}
    one = app.call("transactions without the customer", "GET", entries, 200, members, is_present=False, params=query)
    members = {f"transactions.booked.{row}.creditDebitIndicator": "DBIT" for row in range(3)}
    members |= {"transactions.booked.#": 3, "remaining": pounds(one, "remaining") - 3}
    app.call("more transactions", "GET", local(one.find("_links.next.href")), 200, members)
    app.refuse("balances without him again", "GET", balances, 429, "ACCESS_EXCEEDED", is_present=False)

    roofer, club = ("80911300265518", "Lochailort Roofing"), ("83152677004291", "Arisaig Shinty Club")
    slates = transfer(bban, roofer, 1_310.42, "Slates east side")
    made = app.pay("payment", slates)
    payment, page = made.find("paymentId"), made.find("_links.scaRedirect.href")
    app.pay("payment sent again", slates, {"paymentId": payment, "_links.scaRedirect.href": page}, "payment")
    shown = app.sign_in("customer signs in to pay", page, "Pay £1310.42 to Lochailort Roofing")
    app.approve("customer approves the payment", page, shown)
    app.follow("payment is pending", payment, "PDNG")
    wait(timedelta(minutes=3))
    app.follow("payment is under way", payment, "ACSP")
    wait(timedelta(minutes=12))
    app.follow("payment is settled", payment, "ACSC")
    app.refuse("cancel it too late", "DELETE", f"{PAYMENTS}/{payment}", 405, "CANCELLATION_INVALID")
    app.call("balances after", "GET", balances, 200, worth(booked - 1_310.42, available - 1_310.42))
    query = {"bookingStatus": "booked", "dateFrom": app.day(0), "creditDebitIndicator": "DBIT"}
    members = {
        "transactions.booked.#": 1,
        "transactions.booked.0.transactionAmount.amount": 1_310.42,
        "transactions.booked.0.bookingDate": app.day(0),
        "transactions.booked.0.creditorName": "Lochailort Roofing",
        f"transactions.booked.0.{REFERENCE}": "Slates east side",
        "remaining": 0,
        "_links.next": None,
    }
    app.call("transactions after", "GET", entries, 200, members, params=query)

    stopped = app.pay("payment to cancel", transfer(bban, club, 96, "Season ticket")).find("paymentId")
    app.call("cancel the payment", "DELETE", f"{PAYMENTS}/{stopped}", 204)
    made = app.pay("payment to decline", transfer(bban, club, 14.3, "Raffle"))
    declined = made.find("paymentId")
    app.decline("customer declines the payment", made.find("_links.scaRedirect.href"))
    app.follow("payment is rejected", declined, "RJCT", "DS02")
    wait(DAY)
    members = worth(booked - 1_310.42, available - 1_310.42) | {"@X-Access-Remaining": "1"}
    app.call("balances the next day", "GET", balances, 200, members, is_present=False)
    members = {"consentId": app.consent, "consentStatus": "terminatedByTpp"}
    app.call("end the consent", "DELETE", consent, 200, members)
    app.refuse("accounts after the end", "GET", ACCOUNTS, 401, "CONSENT_INVALID", "Consent-ID")
    return walk.steps
