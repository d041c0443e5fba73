"""Two journeys of the app Számlamester and its customers at Bodrog."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5
from zoneinfo import ZoneInfo

import httpx

from tests.foreign_banks.walk import DAY, Answer, Expected, Step, Wait, Walk

BASE = "/psd2/xs2a/v1"
CONSENTS, ACCOUNTS = f"{BASE}/consents", f"{BASE}/accounts"
INSTANT, SEPA = f"{BASE}/payments/hungarian-instant-credit-transfers", f"{BASE}/payments/sepa-credit-transfers"
STANDING = f"{BASE}/periodic-payments/sepa-credit-transfers"
BUDAPEST = ZoneInfo("Europe/Budapest")
EVERYTHING = {"allPsd2": "allAccounts"}
DATE = re.compile(r"^\d{4}-\d\d-\d\d$")
UUID = re.compile(r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
EMBEDDED = {"@ASPSP-SCA-Approach": "EMBEDDED"}
FORINTS, EUROS = re.compile(r"^-?\d+$"), re.compile(r"^-?\d+\.\d\d$")


def write(minor: int, currency: str) -> str:
    return str(minor) if currency == "HUF" else f"{minor // 100}.{minor % 100:02}"


def less(amount: Any, minor: int, currency: str) -> str | None:
    """The amount lowered, as the bank writes it."""
    if not isinstance(amount, str) or not re.fullmatch(r"\d+(\.\d\d)?", amount):
        return None
    return write(int(amount.replace(".", "")) - minor, currency)


class BodrogApp:
    def __init__(self, walk: Walk, customer: tuple[str, str]) -> None:
        self.walk, self._customer = walk, customer
        self._methods: Any = []

    def day(self, days: int) -> str:
        return (self.walk.now.astimezone(BUDAPEST) + days * DAY).date().isoformat()

    def call(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        members: Expected | None = None,
        *,
        consent: Any = None,
        attended: bool = True,
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        id = str(uuid5(NAMESPACE_URL, f"{self._customer[0]} {name}"))
        sent = {"X-Bodrog-Client-Id": "szamlamester-7c1e", "X-Request-ID": id} | (headers or {})
        if consent:
            sent["Consent-ID"] = str(consent)
        if attended:
            sent["PSU-IP-Address"] = "84.2.17.203"
        return self.walk.step(
            name, method, path, status, {"@X-Request-ID": id, **(members or {})}, headers=sent, **request
        )

    def refuse(
        self, name: str, method: str, path: Any, status: int, code: str, place: str | None = None, **request: Any
    ) -> None:
        members = {"tppMessages.#": 1, "tppMessages.0.category": "ERROR", "tppMessages.0.code": code}
        self.call(name, method, path, status, members | {"tppMessages.0.path": place}, **request)

    def wish(self, until: str, often: int) -> dict[str, Any]:
        return {"access": EVERYTHING, "recurringIndicator": True, "validUntil": until, "frequencyPerDay": often}

    def ask(self, name: str, until: str, often: int) -> tuple[Any, Any, Any]:
        """Return the consent's id, its own link, and the one that starts an authorisation."""
        members = EMBEDDED | {
            "consentStatus": "received",
            "consentId": re.compile(r"^TC-\d{6}-\d{10}$"),
            "@Location": re.compile(rf"^{CONSENTS}/TC-\d{{6}}-\d{{10}}$"),
        }
        made = self.call(name, "POST", CONSENTS, 201, members, json=self.wish(until, often))
        begin = made.find("_links.startAuthorisationWithPsuIdentification.href")
        return made.find("consentId"), made.find("_links.self.href"), begin

    def look(self, name: str, link: Any, status: str, until: str, often: int) -> None:
        members = {"consentStatus": status, "validUntil": until, "frequencyPerDay": often, "access": EVERYTHING}
        members |= {"recurringIndicator": True, "lastActionDate": DATE}
        self.call(name, "GET", link, 200, members)

    def start(self, name: str, begin: Any) -> Any:
        """Return the link that identifies the customer."""
        members = EMBEDDED | {"scaStatus": "received", "authorisationId": UUID}
        made = self.call(name, "POST", begin, 201, members, json={})
        return made.find("_links.updatePsuIdentification.href")

    def identify(self, name: str, link: Any) -> Any:
        headers, members = {"PSU-ID": self._customer[0]}, {"scaStatus": "psuIdentified", "authorisationId": None}
        told = self.call(name, "PUT", link, 200, members, headers=headers, json={})
        return told.find("_links.updatePsuAuthentication.href")

    def sign_in(self, name: str, link: Any, *, starts: bool = False, chosen: str = "") -> Any:
        """Send the password, and PSU-ID if this starts the authorisation; `chosen` is a method that is given."""
        members: dict[str, Any] = EMBEDDED | {"scaStatus": "scaMethodSelected" if chosen else "psuAuthenticated"}
        if chosen:
            members |= {"chosenScaMethod.authenticationType": chosen, "challengeData.otpMaxLength": int}
        else:
            members |= {"scaMethods.#": 2, "scaMethods.0.authenticationType": "SMS_OTP", "chosenScaMethod": None}
        headers = {"PSU-ID": self._customer[0]} if starts else {}
        sent = {"psuData": {"password": self._customer[1]}}
        verb, status = ("POST", 201) if starts else ("PUT", 200)
        told = self.call(name, verb, link, status, members, headers=headers, json=sent)
        self._methods = told.find("scaMethods")
        return told.find(f"_links.{'authoriseTransaction' if chosen else 'selectAuthenticationMethod'}.href")

    def choose(self, name: str, link: Any, kind: str) -> Any:
        methods = self._methods if isinstance(self._methods, list) else []
        ids = [one.get("authenticationMethodId") for one in methods if one.get("authenticationType") == kind]
        members: dict[str, Any] = {
            "scaStatus": "scaMethodSelected",
            "chosenScaMethod.authenticationType": kind,
            "challengeData.otpMaxLength": 6 if kind == "SMS_OTP" else 8,
            "challengeData.otpFormat": "integer",
        }
        told = self.call(name, "PUT", link, 200, members, json={"authenticationMethodId": ids[0] if ids else None})
        return told.find("_links.authoriseTransaction.href")

    def confirm(self, name: str, link: Any, code: str) -> None:
        self.call(name, "PUT", link, 200, {"scaStatus": "finalised"}, json={"scaAuthenticationData": code})

    def miss(self, name: str, link: Any, sent: dict[str, Any], place: str) -> None:
        self.refuse(name, "PUT", link, 401, "PSU_CREDENTIALS_INVALID", place, json=sent)

    def list_accounts(self, name: str, consent: Any, count: int, owner: str) -> Answer:
        members: dict[str, Any] = {
            "accounts.#": count,
            "accounts.0.resourceId": UUID,
            "accounts.0.iban": re.compile(r"^HU\d{26}$"),
            "accounts.0.ownerName": owner,
            "accounts.0.status": "enabled",
        }
        return self.call(name, "GET", ACCOUNTS, 200, members, consent=consent)

    def balances(self, name: str, account: dict[str, Any], consent: Any, members: Expected | None = None) -> Any:
        """Return the booked balance."""
        form = FORINTS if account.get("currency") == "HUF" else EUROS
        expected = {
            "account.iban": account.get("iban"),
            "balances.0.balanceType": "interimAvailable",
            "balances.0.balanceAmount.amount": form,
            "balances.1.balanceType": "interimBooked",
            "balances.1.balanceAmount.amount": form,
            **(members or {}),
        }
        path = f"{ACCOUNTS}/{account.get('resourceId')}/balances"
        told = self.call(name, "GET", path, 200, expected, consent=consent, attended=False)
        return told.find("balances.1.balanceAmount.amount")

    def entries(self, name: str, account: dict[str, Any], consent: Any, members: Expected, **query: str) -> Answer:
        path = f"{ACCOUNTS}/{account.get('resourceId')}/transactions"
        expected = {"account.iban": account.get("iban"), "account.currency": account.get("currency"), **members}
        return self.call(name, "GET", path, 200, expected, consent=consent, params=query)

    def order(self, account: dict[str, Any], payee: tuple[str, str], amount: str, text: str) -> dict[str, Any]:
        return {
            "debtorAccount": {"iban": account.get("iban")},
            "instructedAmount": {"currency": account.get("currency"), "amount": amount},
            "creditorAccount": {"iban": payee[0]},
            "creditorName": payee[1],
            "remittanceInformationUnstructured": text,
        }

    def pay(self, name: str, path: str, order: dict[str, Any]) -> tuple[Any, Any]:
        """Return the payment's own link and the one that starts an authorisation."""
        fee = {"currency": "EUR", "amount": "1.35"} if path in (SEPA, STANDING) else None
        members = EMBEDDED | {
            "transactionStatus": "RCVD",
            "paymentId": re.compile(r"^\d{6}TB\d{11}$"),
            "transactionFees": fee,
            "@Location": re.compile(rf"^{path}/\d{{6}}TB\d{{11}}$"),
        }
        made = self.call(name, "POST", path, 201, members, json=order)
        begin = made.find("_links.startAuthorisationWithPsuAuthentication.href")
        return made.find("_links.self.href"), begin

    def follow(self, name: str, payment: Any, status: str) -> None:
        funds = True if status in ("ACTC", "ACSP", "ACSC") else None
        self.call(name, "GET", f"{payment}/status", 200, {"transactionStatus": status, "fundsAvailable": funds})

    def cancel(self, name: str, payment: Any) -> Any:
        """Return the link that starts the authorisation of the cancellation."""
        told = self.call(name, "DELETE", payment, 202, {"transactionStatus": "ACTC"})
        return told.find("_links.startAuthorisationWithPsuAuthentication.href")


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = BodrogApp(walk, ("31704466", "Balaton-88"))
    members: dict[str, Any] = {"httpCode": "401", "httpMessage": "Unauthorized", "tppMessages": None}
    headers = {"X-Request-ID": "0b8f4c1e-7a55-4d0b-9a3e-5d2f3c1b7a10"}
    wish = app.wish(app.day(5), 1)
    walk.step("consent without a client id", "POST", CONSENTS, 401, members, headers=headers, json=wish)
    until = app.day(5)
    consent, link, begin = app.ask("consent", until, 1)
    app.refuse("accounts too early", "GET", ACCOUNTS, 401, "CONSENT_INVALID", consent=consent)
    step = app.start("start", begin)
    step = app.identify("identify", step)
    step = app.sign_in("password", step)
    step = app.choose("choose SMS", step, "SMS_OTP")
    app.miss("wrong code", step, {"scaAuthenticationData": "000000"}, "scaAuthenticationData")
    app.confirm("right code", step, "135790")
    app.look("consent is valid", link, "valid", until, 1)
    accounts = app.list_accounts("accounts", consent, 2, "Kovács Anna")
    forints, euros = accounts.pick("accounts", currency="HUF"), accounts.pick("accounts", currency="EUR")
    booked = app.balances("balances while the customer is away", forints, consent)
    path = f"{ACCOUNTS}/{forints.get('resourceId')}"
    again = f"{path}/balances"
    app.refuse("again on this day", "GET", again, 429, "ACCESS_EXCEEDED", consent=consent, attended=False)
    members = {
        "transactions.booked.#": 4,
        "transactions.booked.0.transactionId": re.compile(r"^\d{8}/\d{9}$"),
        "transactions.booked.0.bookingDate": DATE,
        "transactions.booked.0.transactionAmount.amount": FORINTS,
        "transactions.booked.0.balanceAfterTransaction.balanceAmount.amount": booked,
        "transactions.pending": None,
        "transactions._links.next.href": str,
    }
    query = {"bookingStatus": "booked", "dateFrom": app.day(-80), "itemsPerPage": "4"}
    page = app.entries("transactions", forints, consent, members, **query)
    members = {"transactions.booked.#": 4, "transactions.booked.3.transactionAmount.currency": "HUF"}
    app.call("next page", "GET", page.find("transactions._links.next.href"), 200, members, consent=consent)
    query = {"dateFrom": app.day(-30)}
    path = f"{path}/transactions"
    app.refuse("without a status", "GET", path, 400, "FORMAT_ERROR", "bookingStatus", consent=consent, params=query)

    tutor = ("HU13117730166005432188765430", "Varga Péter")
    order = app.order(forints, tutor, "18500.00", "Matematika óra")
    place = "instructedAmount.amount"
    app.refuse("forints with decimals", "POST", INSTANT, 400, "FORMAT_ERROR", place, json=order)
    today = app.day(0)
    payment, begin = app.pay("instant payment", INSTANT, app.order(forints, tutor, "18500", "Matematika óra"))
    step = app.sign_in("sign the instant payment", begin, starts=True, chosen="SMS_OTP")
    app.confirm("code of the instant payment", step, "135790")
    wait(timedelta(seconds=10))
    app.follow("instant payment is done", payment, "ACSC")
    app.refuse("cancel it too late", "DELETE", payment, 405, "CANCELLATION_INVALID")
    members = {
        "transactions.booked.0.transactionAmount": {"currency": "HUF", "amount": "-18500"},
        "transactions.booked.0.creditorName": "Varga Péter",
        "transactions.booked.0.creditorAccount.iban": tutor[0],
        "transactions.booked.0.remittanceInformationUnstructured": "Matematika óra",
        "transactions.booked.0.bookingDate": today,
        "transactions.booked.0.balanceAfterTransaction.balanceAmount.amount": less(booked, 18_500, "HUF"),
    }
    query = {"bookingStatus": "both", "dateFrom": today}
    app.entries("transactions after", forints, consent, members, **query)

    shop = ("DE89370400440532013000", "Klavierhaus Weber")
    payment, begin = app.pay("SEPA payment", SEPA, app.order(euros, shop, "149.90", "Rechnung 2207"))
    step = app.sign_in("sign the SEPA payment", begin, starts=True)
    step = app.choose("choose SMS for the SEPA payment", step, "SMS_OTP")
    app.confirm("code of the SEPA payment", step, "135790")
    members = {
        "transactions.booked": None,
        "transactions.pending.0.transactionAmount": {"currency": "EUR", "amount": "-149.90"},
        "transactions.pending.0.creditorName": "Klavierhaus Weber",
        "transactions.pending.0.transactionId": None,
        "transactions.pending.0.bookingDate": None,
    }
    app.entries("SEPA payment is pending", euros, consent, members, bookingStatus="pending", dateFrom=today)
    wait(timedelta(hours=3))
    members = {
        "transactions.booked.0.transactionAmount.amount": "-1.35",
        "transactions.booked.0.bankTransactionCode": "ACMT-MDOP-FEES",
        "transactions.booked.1.transactionAmount.amount": "-149.90",
        "transactions.booked.1.creditorAccount.iban": shop[0],
        "transactions.booked.1.transactionId": str,
    }
    app.entries("SEPA payment is booked", euros, consent, members, bookingStatus="booked", dateFrom=today)

    rent = ("AT611904300234573201", "Hausverwaltung Gruber")
    order = app.order(euros, rent, "310.00", "Garage")
    order |= {"startDate": app.day(12), "frequency": "Monthly", "dayOfExecution": "10"}
    payment, begin = app.pay("standing order", STANDING, order)
    step = app.sign_in("sign the standing order", begin, starts=True)
    step = app.choose("choose the card reader", step, "CHIP_OTP")
    app.confirm("code of the standing order", step, "24681357")
    begin = app.cancel("cancel the standing order", payment)
    step = app.sign_in("sign the cancellation", begin, starts=True, chosen="CHIP_OTP")
    app.confirm("code of the cancellation", step, "24681357")
    app.follow("standing order is cancelled", payment, "CANC")
    payment, _ = app.pay("payment to abandon", INSTANT, app.order(forints, tutor, "9000", "Fizika óra"))
    app.call("abandon the payment", "DELETE", payment, 204)
    latest = app.day(180)
    _, other, _ = app.ask("other consent", "9999-12-31", 4)
    app.call("delete the other consent", "DELETE", other, 204)
    app.look("other consent has ended", other, "terminatedByTpp", latest, 4)
    wait(6 * DAY)
    app.refuse("accounts after six days", "GET", ACCOUNTS, 401, "CONSENT_EXPIRED", consent=consent)
    app.look("consent has expired", link, "expired", until, 1)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = BodrogApp(walk, ("94415072", "Hortobagy-5"))
    headers = {"X-Request-ID": "6f0d2d7c-1c8e-4b57-8a43-92b1c0e7d415", "X-Bodrog-Client-Id": "szamlamester"}
    members: dict[str, Any] = {"httpCode": "401", "moreInformation": str, "@X-Request-ID": None}
    walk.step("accounts with a wrong client id", "GET", ACCOUNTS, 401, members, headers=headers)
    latest, until = app.day(180), app.day(30)
    other, other_link, _ = app.ask("consent to delete", "9999-12-31", 3)
    consent, link, begin = app.ask("consent", until, 2)
    step = app.start("start", begin)
    step = app.identify("identify", step)
    app.miss("wrong password", step, {"psuData": {"password": "Hortobagy-6"}}, "psuData.password")
    step = app.sign_in("right password", step)
    step = app.choose("choose the card reader", step, "CHIP_OTP")
    app.confirm("code", step, "24681357")
    app.look("consent is valid", link, "valid", until, 2)
    app.refuse("accounts with the other consent", "GET", ACCOUNTS, 401, "CONSENT_INVALID", consent=other)
    app.call("delete that", "DELETE", other_link, 204)
    app.look("that has ended", other_link, "terminatedByTpp", latest, 3)
    accounts = app.list_accounts("accounts", consent, 2, "Szűcs Réka")
    forints, euros = accounts.pick("accounts", currency="HUF"), accounts.pick("accounts", currency="EUR")
    booked = app.balances("balances", euros, consent)
    app.balances("balances again", euros, consent, {"balances.1.balanceAmount.amount": booked})
    path = f"{ACCOUNTS}/{euros.get('resourceId')}"
    balances = f"{path}/balances"
    app.refuse("and a third time", "GET", balances, 429, "ACCESS_EXCEEDED", consent=consent, attended=False)
    members = {
        "transactions.booked.#": 3,
        "transactions.booked.2.transactionAmount.amount": EUROS,
        "transactions.booked.0.balanceAfterTransaction.balanceAmount.amount": booked,
        "transactions.pending": list,
    }
    query = {"bookingStatus": "both", "dateFrom": app.day(-75), "itemsPerPage": "3"}
    page = app.entries("transactions", euros, consent, members, **query)
    members = {"transactions.booked.#": 3, "transactions.pending": None, "account.iban": euros.get("iban")}
    app.call("more transactions", "GET", page.find("transactions._links.next.href"), 200, members, consent=consent)

    hotel, club = ("AT611904300234573201", "Hotel Donaublick"), ("HU96104005045123456789012346", "Bodrog Evezős Klub")
    order = app.order(euros, hotel, "86.5", "Buchung 51")
    place = "instructedAmount.amount"
    app.refuse("euros with one decimal", "POST", SEPA, 400, "FORMAT_ERROR", place, json=order)
    order = app.order(euros, hotel, "22.00", "Kurtaxe") | {"startDate": app.day(9), "frequency": "Monthly"}
    standing, begin = app.pay("standing order", STANDING, order)
    step = app.sign_in("sign the standing order", begin, starts=True)
    step = app.choose("choose SMS", step, "SMS_OTP")
    app.confirm("code of the standing order", step, "135790")
    app.follow("standing order is accepted", standing, "ACTC")
    today = app.day(0)
    sepa, begin = app.pay("SEPA payment", SEPA, app.order(euros, hotel, "86.50", "Buchung 51"))
    step = app.sign_in("sign the SEPA payment", begin, starts=True)
    step = app.choose("choose the card reader for it", step, "CHIP_OTP")
    app.miss("wrong code", step, {"scaAuthenticationData": "11111111"}, "scaAuthenticationData")
    app.confirm("code of the SEPA payment", step, "24681357")
    members = {
        "transactions.pending.0.transactionAmount": {"currency": "EUR", "amount": "-86.50"},
        "transactions.pending.0.remittanceInformationUnstructured": "Buchung 51",
    }
    app.entries("SEPA payment is pending", euros, consent, members, bookingStatus="pending", dateFrom=today)
    begin = app.cancel("cancel the standing order", standing)
    step = app.sign_in("sign the cancellation", begin, starts=True, chosen="SMS_OTP")
    app.confirm("code of the cancellation", step, "135790")
    app.follow("standing order is cancelled", standing, "CANC")
    wait(timedelta(hours=4))
    members = {
        "transactions.booked.0.transactionAmount.amount": "-1.35",
        "transactions.booked.1.transactionAmount.amount": "-86.50",
        "transactions.booked.1.creditorName": "Hotel Donaublick",
        "transactions.booked.0.balanceAfterTransaction.balanceAmount.amount": less(booked, 8_785, "EUR"),
    }
    app.entries("SEPA payment is booked", euros, consent, members, bookingStatus="booked", dateFrom=today)
    app.refuse("cancel that too late", "DELETE", sepa, 405, "CANCELLATION_INVALID")
    fee, begin = app.pay("instant payment", INSTANT, app.order(forints, club, "42000", "Tagdíj"))
    step = app.sign_in("sign the instant payment", begin, starts=True, chosen="SMS_OTP")
    app.confirm("code of the instant payment", step, "135790")
    wait(timedelta(seconds=30))
    app.follow("instant payment is done", fee, "ACSC")
    wait(31 * DAY)
    app.refuse("balances after a month", "GET", balances, 401, "CONSENT_EXPIRED", consent=consent)
    return walk.steps
