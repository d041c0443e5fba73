"""Two journeys of the app Haushaltsbuch and its customers at Bankhaus Inn."""

import re
from datetime import timedelta
from numbers import Real
from typing import Any
from uuid import NAMESPACE_URL, uuid5
from zoneinfo import ZoneInfo

import httpx

from tests.foreign_banks.walk import DAY, Answer, Expected, Step, Wait, Walk

VIENNA = ZoneInfo("Europe/Vienna")
CONSENTS, ACCOUNTS = "/v1.3.8/consents", "/v1.3.8/accounts"
PAYMENTS = "/v1.3.8/payments/sepa-credit-transfers"
STANDING = "/v1.3.8/periodic-payments/sepa-credit-transfers"
TAN = "147258"
CONSENT_ID, PAYMENT_ID, STANDING_ID = r"ZUS-\w{4}-\w{4}", r"ZA\d{8}-\d{5}", r"DA\d{8}-\d{5}"
DATE = re.compile(r"^\d{4}-\d\d-\d\d$")
SMS, PUSH = "SMS_OTP", "PUSH_OTP"


def cents(answer: Answer, place: str) -> int:
    """The amount at this place in cents, or 0."""
    value = answer.find(place)
    return round(value * 100) if isinstance(value, int | float) else 0


class InnApp:
    def __init__(self, walk: Walk, number: str, password: str) -> None:
        self.walk, self._number, self._password = walk, number, password
        self.consent: Any = None
        self._methods: dict[str, Any] = {}

    def day(self, days: int) -> str:
        return (self.walk.now.astimezone(VIENNA) + days * DAY).date().isoformat()

    def call(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        members: Expected | None = None,
        *,
        attended: bool = True,
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        number = str(uuid5(NAMESPACE_URL, f"{self._number} {name}"))
        sent = {"X-Vorgangs-ID": number, "TPP-Registrierung": "PSDAT-FMA-48213", **(headers or {})}
        if attended:
            sent["PSU-IP-Adresse"] = "193.171.40.7"
        return self.walk.step(
            name, method, path, status, {"@X-Vorgangs-ID": number, **(members or {})}, headers=sent, **request
        )

    def refuse(
        self, name: str, method: str, path: Any, status: int, kind: str, members: Expected | None = None, **request: Any
    ) -> None:
        expected = {
            "fehler.kategorie": kind,
            "fehler.nummer": re.compile(f"^{status}[1-9]$"),
            "fehler.meldung": str,
            "vorgang": str(uuid5(NAMESPACE_URL, f"{self._number} {name}")),
            "zeitpunkt": re.compile(r"T\d\d:\d\d:\d\d\+0[12]:00$"),
        }
        self.call(name, method, path, status, expected | dict(members or {}), **request)

    def wish(self, until: str, often: int) -> dict[str, Any]:
        wish = {"access": {"allPsd2": "allAccounts"}, "recurringIndicator": True}
        return wish | {"validUntil": until, "frequencyPerDay": often}

    def ask(self, name: str, until: str, often: int) -> Any:
        """Keep the consent's id, and return where its authorisation starts."""
        members = {
            "consentId": re.compile(f"^{CONSENT_ID}$"),
            "consentStatus": "received",
            "validUntil": until,
            "_links.startAuthorisation": re.compile(f"^{CONSENTS}/{CONSENT_ID}/authorisations$"),
            "@ASPSP-SCA-Verfahren": "EMBEDDED",
        }
        made = self.call(name, "POST", CONSENTS, 200, members, json=self.wish(until, often))
        self.consent = made.find("consentId")
        return made.find("_links.startAuthorisation")

    def read(
        self, name: str, path: Any, members: Expected, *, left: int | None = None, query: dict[str, str] | None = None
    ) -> Answer:
        """`left` tells how many reads are left today if the customer is absent."""
        expected = {"@X-Abrufe-Rest": None if left is None else str(left), **members}
        headers = {"AIS-Consent-ID": str(self.consent)}
        return self.call(name, "GET", path, 200, expected, attended=left is None, headers=headers, params=query or {})

    def refuse_read(
        self, name: str, path: Any, status: int, kind: str, *, attended: bool = True, **request: Any
    ) -> None:
        headers = {"AIS-Consent-ID": str(self.consent)}
        self.refuse(name, "GET", path, status, kind, attended=attended, headers=headers, **request)

    def begin(self, name: str, start: Any) -> Any:
        """Return where the authorisation goes on."""
        members = {
            "authorisationId": re.compile(r"^FG\d{10}$"),
            "scaStatus": "psuIdentified",
            "_links.updatePsuAuthentication": re.compile(r"/authorisations/FG\d{10}$"),
        }
        begun = self.call(name, "POST", start, 201, members, headers={"PSU-Verfueger": self._number})
        return begun.find("_links.updatePsuAuthentication")

    def mistype(self, name: str, path: Any, password: str, left: int) -> None:
        members = {"fehler.restVersuche": left, "fehler.feld": "psuData.password"}
        body = {"psuData": {"password": password}}
        self.refuse(name, "PUT", path, 401, "PSU_CREDENTIALS_INVALID", members, json=body)

    def identify(self, name: str, path: Any) -> Any:
        """Keep the customer's methods, and return where one is chosen."""
        members = {
            "scaStatus": "psuAuthenticated",
            "scaMethods.#": 2,
            "scaMethods.1.authenticationMethodId": re.compile(r"^\d{5}$"),
        }
        known = self.call(name, "PUT", path, 200, members, json={"psuData": {"password": self._password}})
        for type in (SMS, PUSH):
            method = known.pick("scaMethods", authenticationType=type)
            self._methods[type] = method.get("authenticationMethodId")
        return known.find("_links.selectAuthenticationMethod")

    def challenge(self, type: str, text: str) -> dict[str, Any]:
        """What is told when a method has been chosen."""
        members: dict[str, Any] = {"chosenScaMethod.authenticationType": type}
        if type == SMS:
            members |= {"scaStatus": "scaMethodSelected", "challengeData.additionalInformation": text}
            return members | {"challengeData.otpMaxLength": 6, "@ASPSP-SCA-Verfahren": "EMBEDDED"}
        told: dict[str, Any] = {
            "scaStatus": "started",
            "psuMessage": f"Bitte freigeben: {text}",
            "_links.authoriseTransaction": None,
        }
        return members | told | {"@ASPSP-SCA-Verfahren": "DECOUPLED"}

    def choose(self, name: str, path: Any, type: str, text: str) -> Any:
        body = {"authenticationMethodId": self._methods.get(type)}
        chosen = self.call(name, "PUT", path, 200, self.challenge(type, text), json=body)
        return chosen.find("_links.authoriseTransaction")

    def sign(self, name: str, start: Any, type: str, text: str) -> Any:
        """Start with password and method at once, and return where the authorisation goes on."""
        body = {"psuData": {"password": self._password}, "authenticationMethodId": self._methods.get(type)}
        headers = {"PSU-Verfueger": self._number}
        begun = self.call(name, "POST", start, 201, self.challenge(type, text), headers=headers, json=body)
        return begun.find("_links.authoriseTransaction" if type == SMS else "_links.scaStatus")

    def confuse(self, name: str, path: Any, tan: str, left: int) -> None:
        members = {"fehler.restVersuche": left, "fehler.feld": "scaAuthenticationData"}
        self.refuse(name, "PUT", path, 400, "SCA_CODE_INVALID", members, json={"scaAuthenticationData": tan})

    def confirm(self, name: str, path: Any, members: Expected) -> None:
        expected = {"scaStatus": "finalized", **members}
        self.call(name, "PUT", path, 200, expected, json={"scaAuthenticationData": TAN})

    def poll(self, name: str, path: Any, members: Expected) -> None:
        self.call(name, "GET", path, 200, {"scaStatus": "finalized", **members})

    def pay(
        self, name: str, payer: Any, payee: tuple[str, str], amount: int, text: str, **more: str
    ) -> tuple[Any, Any]:
        """Return where the payment is and where its authorisation starts."""
        path, id = (STANDING, STANDING_ID) if more else (PAYMENTS, PAYMENT_ID)
        body = {
            "debtorAccount": {"iban": payer},
            "instructedAmount": {"currency": "EUR", "amount": amount / 100},
            "creditorAccount": {"iban": payee[0]},
            "creditorName": payee[1],
            "remittanceInformationUnstructured": text,
        }
        members = {
            "transactionStatus": "RCVD",
            "paymentId": re.compile(f"^{id}$"),
            "transactionFees.amount": 0,
            "_links.startAuthorisation": re.compile(f"^{path}/{id}/authorisations$"),
            "@Location": re.compile(f"^{path}/{id}$"),
        }
        made = self.call(name, "POST", path, 201, members, json=body | more)
        return made.find("_links.self"), made.find("_links.startAuthorisation")

    def follow(self, name: str, payment: Any, status: str) -> None:
        self.call(name, "GET", f"{payment}/status", 200, {"transactionStatus": status})

    def cancel(self, name: str, payment: Any, status: str) -> Any:
        """Return where the authorisation of the cancellation starts."""
        start = re.compile(r"/DA\d{8}-\d{5}/cancellation-authorisations$")
        members = {"transactionStatus": status, "_links.startAuthorisation": start}
        return self.call(name, "DELETE", payment, 202, members).find("_links.startAuthorisation")


def write_euros(amount: int) -> str:
    return f"EUR {amount // 100:,}".replace(",", ".") + f",{amount % 100:02}"


def write_day(day: str) -> str:
    return ".".join(reversed(day.split("-")))


def balances_of(booked: int, available: int) -> dict[str, Any]:
    return {
        "balances.0.balanceType": "closingBooked",
        "balances.0.balanceAmount.amount": booked / 100,
        "balances.1.balanceType": "interimAvailable",
        "balances.1.balanceAmount.amount": available / 100,
    }


ANY_BALANCES = {
    "balances.#": 2,
    "balances.0.balanceType": "closingBooked",
    "balances.0.balanceAmount.currency": "EUR",
    "balances.0.balanceAmount.amount": Real,
    "balances.0.referenceDate": DATE,
    "balances.1.balanceAmount.amount": Real,
    "balances.1.creditLimitIncluded": True,
}


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = InnApp(walk, "5500041708", "Zirbe#2047")
    often = {"fehler.feld": "frequencyPerDay"}
    wish = app.wish("9999-12-31", 9)
    app.refuse("consent for nine reads a day", "POST", CONSENTS, 400, "FORMAT_ERROR", often, json=wish)
    until = app.day(1)
    start = app.ask("consent", until, 2)
    app.refuse_read("accounts too early", ACCOUNTS, 401, "CONSENT_INVALID")
    path = app.begin("start authorisation", start)
    app.mistype("customer mistypes the password", path, "Zirbe#2074", 2)
    path = app.identify("password", path)
    path = app.choose("customer chooses SMS", path, SMS, f"Zugriff für Haushaltsbuch bis {write_day(until)}")
    app.confuse("customer mistypes the TAN", path, "147285", 2)
    app.confirm("TAN", path, {"consentStatus": "authorized"})
    members: dict[str, Any] = {"consentStatus": "authorized", "validUntil": until, "frequencyPerDay": 2}
    app.call("consent is authorized", "GET", f"{CONSENTS}/{app.consent}", 200, members)

    members = {
        "accounts.#": 2,
        "accounts.0.resourceId": re.compile(r"^20815-\d{11}$"),
        "accounts.0.iban": re.compile(r"^AT\d{18}$"),
        "accounts.0.name": "Gehaltskonto",
        "accounts.0.cashAccountType": "CACC",
        "accounts.1.cashAccountType": "SVGS",
    }
    accounts = app.read("accounts", ACCOUNTS, members, left=1)
    iban = accounts.find("accounts.0.iban")
    balances, entries = accounts.find("accounts.0._links.balances"), accounts.find("accounts.0._links.transactions")
    before = app.read("balances", balances, ANY_BALANCES | {"account.iban": iban}, left=0)
    booked = cents(before, "balances.0.balanceAmount.amount")
    available = cents(before, "balances.1.balanceAmount.amount")
    app.refuse_read("balances for the third time", balances, 429, "ACCESS_EXCEEDED", attended=False)
    query = {"bookingStatus": "booked", "dateFrom": app.day(-80), "creditDebit": "DBIT", "anzahl": "5"}
    members = {
        "account.iban": iban,
        "transactions.booked.#": 5,
        "transactions.booked.0.entryReference": re.compile(r"^B\d{6}$"),
        "transactions.booked.0.bookingDate": DATE,
        "transactions.booked.0.transactionAmount.amount": Real,
        "transactions.booked.0.creditDebitIndicator": "DBIT",
        "transactions.booked.0.creditorName": str,
        "restAnzahl": int,
    }
    page = app.read("transactions", entries, members, query=query)
    query["nachBuchung"] = str(page.find("transactions.booked.4.entryReference"))
    left = page.find("restAnzahl")
    members = {"transactions.booked.#": 5, "restAnzahl": left - 5 if isinstance(left, int) else int}
    app.read("more transactions", entries, members, query=query)

    payee = ("AT033600000005718840", "Tischlerei Hofer")
    shelf, start = app.pay("payment", iban, payee, 128_740, "Rechnung 2207 Regal")
    path = app.sign("sign the payment", start, SMS, "Überweisung von EUR 1.287,40 an Tischlerei Hofer")
    app.confirm("TAN of the payment", path, {"transactionStatus": "ACTC"})
    wait(timedelta(minutes=3))
    app.follow("payment is in process", shelf, "ACSP")
    wait(timedelta(minutes=10))
    app.follow("payment is settled", shelf, "ACSC")
    booked, available = booked - 128_740, available - 128_740
    app.read("balances after", balances, balances_of(booked, available))

    amount = available + 25_050
    dealer = ("DE26701500001004417823", "Autohaus Kufstein")
    _, start = app.pay("payment above the balance", iban, dealer, amount, "Anzahlung")
    path = app.sign("sign that in the app", start, PUSH, f"Überweisung von {write_euros(amount)} an Autohaus Kufstein")
    wait(timedelta(seconds=45))
    app.poll("payment is rejected", path, {"transactionStatus": "RJCT"})

    begins = app.day(12)
    music = ("AT821420020010943652", "Musikschule Hall")
    lessons, start = app.pay("standing order", iban, music, 6_500, "Klavier", startDate=begins, frequency="MNTH")
    what = f"Überweisung von EUR 65,00 monatlich ab {write_day(begins)} an Musikschule Hall"
    app.sign("sign the standing order", start, PUSH, what)
    wait(timedelta(seconds=45))
    start = app.cancel("cancel the standing order", lessons, "AKTV")
    path = app.sign("sign the cancellation", start, SMS, f"Storno: {what}")
    app.confirm("TAN of the cancellation", path, {"transactionStatus": "CANC"})
    wait(2 * DAY)
    app.refuse_read("accounts after the consent has expired", ACCOUNTS, 401, "CONSENT_EXPIRED")
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = InnApp(walk, "5500098823", "Gamsbart!73")
    often = {"fehler.feld": "frequencyPerDay"}
    wish = app.wish("9999-12-31", 6)
    app.refuse("consent for six reads a day", "POST", CONSENTS, 400, "FORMAT_ERROR", often, json=wish)
    until = app.day(5)
    start = app.ask("consent", until, 3)
    app.refuse_read("accounts too early", ACCOUNTS, 401, "CONSENT_INVALID")
    path = app.begin("start authorisation", start)
    app.mistype("customer mistypes the password", path, "Gamsbart!37", 2)
    path = app.identify("password", path)
    path = app.choose("customer chooses SMS", path, SMS, f"Zugriff für Haushaltsbuch bis {write_day(until)}")
    app.confuse("customer mistypes the TAN", path, "174258", 2)
    app.confuse("customer mistypes it again", path, "741258", 1)
    app.confirm("TAN", path, {"consentStatus": "authorized"})
    members: dict[str, Any] = {
        "accounts.#": 2,
        "accounts.1.resourceId": re.compile(r"^20815-\d{11}$"),
        "accounts.1.iban": re.compile(r"^AT\d{18}$"),
        "accounts.1.currency": "EUR",
        "accounts.1.cashAccountType": "CACC",
    }
    accounts = app.read("accounts", ACCOUNTS, members, left=2)
    iban = accounts.find("accounts.1.iban")
    balances, entries = accounts.find("accounts.1._links.balances"), accounts.find("accounts.1._links.transactions")
    before = app.read("balances", balances, ANY_BALANCES | {"account.iban": iban}, left=1)
    booked = cents(before, "balances.0.balanceAmount.amount")
    available = cents(before, "balances.1.balanceAmount.amount")
    query = {"bookingStatus": "booked", "dateFrom": app.day(-70), "creditDebit": "DBIT", "anzahl": "3"}
    members = {
        "account.iban": iban,
        "transactions.booked.#": 3,
        "transactions.booked.2.transactionAmount.currency": "EUR",
        "transactions.booked.2.creditDebitIndicator": "DBIT",
        "restAnzahl": int,
    }
    page = app.read("transactions", entries, members, left=0, query=query)
    query["nachBuchung"] = str(page.find("transactions.booked.2.entryReference"))
    app.refuse_read("more transactions", entries, 429, "ACCESS_EXCEEDED", attended=False, params=query)
    left = page.find("restAnzahl")
    members = {"transactions.booked.#": 3, "restAnzahl": left - 3 if isinstance(left, int) else int}
    app.read("more transactions with the customer", entries, members, query=query)

    doctor = ("AT085700000210338846", "Dr. Katharina Lechner")
    crown, start = app.pay("payment", iban, doctor, 32_915, "Honorar 88/4")
    path = app.sign("sign the payment", start, SMS, "Überweisung von EUR 329,15 an Dr. Katharina Lechner")
    app.confirm("TAN of the payment", path, {"transactionStatus": "ACTC"})
    wait(timedelta(minutes=4))
    app.follow("payment is in process", crown, "ACSP")
    wait(timedelta(minutes=9))
    app.follow("payment is settled", crown, "ACSC")
    booked, available = booked - 32_915, available - 32_915
    app.read("balances after", balances, balances_of(booked, available))

    begins = app.day(20)
    club = ("AT851900000552004417", "Skiclub Seefeld")
    fee, start = app.pay("standing order", iban, club, 112_000, "Beitrag", startDate=begins, frequency="MNTH")
    what = f"Überweisung von EUR 1.120,00 monatlich ab {write_day(begins)} an Skiclub Seefeld"
    app.sign("sign the standing order", start, PUSH, what)
    wait(timedelta(seconds=50))
    start = app.cancel("cancel the standing order", fee, "AKTV")
    path = app.sign("sign the cancellation in the app", start, PUSH, f"Storno: {what}")
    wait(timedelta(seconds=40))
    app.poll("standing order is cancelled", path, {"transactionStatus": "CANC"})

    amount = available + 1
    kitchen = ("AT312050300101227719", "Küchenstudio Wörgl")
    _, start = app.pay("payment a cent above the balance", iban, kitchen, amount, "Auftrag 5170")
    path = app.sign("sign that by SMS", start, SMS, f"Überweisung von {write_euros(amount)} an Küchenstudio Wörgl")
    app.confirm("payment is rejected", path, {"transactionStatus": "RJCT"})
    wait(7 * DAY)
    app.refuse_read("balances after the consent has expired", balances, 401, "CONSENT_EXPIRED")
    return walk.steps
