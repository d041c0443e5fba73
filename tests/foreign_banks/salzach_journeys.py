"""Two journeys of the app Kassabuch and its customers at Salzach."""

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, Answer, Expected, Step, Wait, Walk

BASE = "/psd2/v1"
CONSENTS, ACCOUNTS = f"{BASE}/consents", f"{BASE}/accounts"
SINGLE, PERIODIC = f"{BASE}/payments/sepa-credit-transfers", f"{BASE}/periodic-payments/sepa-credit-transfers"
BERND, ANNELIES = ("bernd.hallein", "Untersberg!72"), ("annelies.golling", "Tennengau#31")
TAN = "271045"
AMOUNT = re.compile(r"^-?\d+\.\d\d$")
DAYS = re.compile(r"^\d{4}-\d\d-\d\d$")
START = "_links.startAuthorisationWithPsuIdentification.href"


def amount(answer: Answer, place: str) -> Decimal:
    """The amount at this place, or 0."""
    value = answer.find(place)
    return Decimal(value) if isinstance(value, str) and AMOUNT.match(value) else Decimal()


class SalzachApp:
    def __init__(self, walk: Walk, name: str) -> None:
        self.walk, self._name = walk, name

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
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        id = str(uuid5(NAMESPACE_URL, f"{self._name} {name}"))
        sent = {"X-Request-ID": id, "PSU-IP-Address": "192.0.2.44", **(headers or {})}
        expected = {"@X-Request-ID": id, **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def refuse(
        self, name: str, method: str, path: Any, status: int, code: str, place: str | None = None, **request: Any
    ) -> None:
        members = {
            "tppMessages.0.category": "ERROR",
            "tppMessages.0.code": code,
            "tppMessages.0.path": place,
            "tppMessages.0.text": str,
            "referenz": str,
        }
        self.call(name, method, path, status, members, **request)

    def forget(self, name: str, method: str, path: str, **request: Any) -> None:
        """Send no X-Request-ID."""
        members = {"tppMessages.0.code": "FORMAT_ERROR", "tppMessages.0.path": "X-Request-ID", "referenz": None}
        self.walk.step(name, method, path, 400, members, **request)

    def consent(self, name: str, days: int, often: int) -> Answer:
        wish = {
            "access": {"allPsd2": "allAccounts"},
            "recurringIndicator": True,
            "validUntil": self.day(days),
            "frequencyPerDay": often,
        }
        members = {
            "consentStatus": "received",
            "consentId": re.compile("^[0-9a-f]{32}$"),
            START: re.compile(f"^{CONSENTS}/[0-9a-f]{{32}}/authorisations$"),
            "@Location": re.compile(f"^{CONSENTS}/[0-9a-f]{{32}}$"),
            "@ASPSP-SCA-Approach": "EMBEDDED",
        }
        return self.call(name, "POST", CONSENTS, 201, members, json=wish)

    def start(self, name: str, href: Any, psu: str | None) -> str:
        """Return the path of the authorisation."""
        members = {
            "scaStatus": "psuIdentified" if psu else "received",
            "authorisationId": re.compile(r"^au_\w{16}$"),
            "psuMessage": str,
            "_links.scaStatus.href": re.compile(f"^{href}/au_"),
        }
        step = "_links.updatePsuAuthentication.href" if psu else "_links.updatePsuIdentification.href"
        members[step] = re.compile(f"^{href}/au_")
        made = self.call(name, "POST", href, 201, members, headers={"PSU-ID": psu} if psu else {})
        return str(made.find(step))

    def log_in(self, name: str, step: str, password: str, *, several: bool, psu: str | None = None) -> Answer:
        members: dict[str, Any] = {"psuMessage": str}
        if several:
            members |= {
                "scaStatus": "psuAuthenticated",
                "scaMethods.#": 2,
                "scaMethods.1.authenticationMethodId": str,
                "_links.selectAuthenticationMethod.href": step,
            }
        else:
            members |= {
                "scaStatus": "scaMethodSelected",
                "chosenScaMethod.authenticationType": "SMS_OTP",
                "challengeData.otpFormat": "integer",
                "_links.authoriseTransaction.href": step,
            }
        json, headers = {"psuData": {"password": password}}, {"PSU-ID": psu} if psu else {}
        return self.call(name, "PUT", step, 200, members, json=json, headers=headers)

    def mistype(self, name: str, step: str, password: str, psu: str | None = None) -> None:
        json, headers = {"psuData": {"password": password}}, {"PSU-ID": psu} if psu else {}
        place = "psuData.password"
        self.refuse(name, "PUT", step, 401, "PSU_CREDENTIALS_INVALID", place, json=json, headers=headers)

    def choose(self, name: str, step: str, methods: Answer, number: int) -> None:
        method = methods.find(f"scaMethods.{number}")
        id = methods.find(f"scaMethods.{number}.authenticationMethodId")
        members = {
            "scaStatus": "scaMethodSelected",
            "chosenScaMethod": method,
            "challengeData.otpMaxLength": 6,
            "challengeData.otpFormat": "integer",
            "_links.authoriseTransaction.href": step,
        }
        self.call(name, "PUT", step, 200, members, json={"authenticationMethodId": id})

    def confirm(self, name: str, step: str, **status: str) -> None:
        members = {"scaStatus": "finalised", "psuMessage": None, "_links.scaStatus.href": step, **status}
        self.call(name, "PUT", step, 200, members, json={"scaAuthenticationData": TAN})

    def decline(self, name: str, step: str, tan: str) -> None:
        """Send a wrong TAN."""
        place = "scaAuthenticationData"
        self.refuse(name, "PUT", step, 401, "PSU_CREDENTIALS_INVALID", place, json={place: tan})

    def accounts(self, name: str, consent: dict[str, str]) -> Answer:
        members = {
            "accounts.0.resourceId": re.compile(r"^[A-Z0-9]{20}$"),
            "accounts.0.iban": re.compile(r"^AT\d{18}$"),
            "accounts.0.currency": "EUR",
            "accounts.0.status": "enabled",
            "accounts.0.balances.#": 2,
            "accounts.0.balances.0.balanceType": "interimBooked",
            "accounts.0.balances.1.balanceType": "interimAvailable",
            "accounts.0.balances.1.balanceAmount.amount": AMOUNT,
            "accounts.0._links.balances.href": re.compile(f"^{ACCOUNTS}/[A-Z0-9]{{20}}/balances$"),
        }
        return self.call(name, "GET", ACCOUNTS, 200, members, headers=consent, params={"withBalance": "true"})

    def balances(self, name: str, accounts: Answer, consent: dict[str, str], paid: str, reserved: str = "0") -> None:
        """Read the balances of the first account after these amounts."""
        booked = amount(accounts, "accounts.0.balances.0.balanceAmount.amount") - Decimal(paid)
        available = amount(accounts, "accounts.0.balances.1.balanceAmount.amount") - Decimal(paid) - Decimal(reserved)
        members = {
            "account.iban": accounts.find("accounts.0.iban"),
            "balances.#": 2,
            "balances.0.balanceType": "interimBooked",
            "balances.0.balanceAmount": {"currency": "EUR", "amount": f"{booked:.2f}"},
            "balances.0.referenceDate": self.day(0),
            "balances.1.balanceType": "interimAvailable",
            "balances.1.balanceAmount": {"currency": "EUR", "amount": f"{available:.2f}"},
        }
        self.call(name, "GET", accounts.find("accounts.0._links.balances.href"), 200, members, headers=consent)

    def entries(self, name: str, path: Any, consent: dict[str, str], query: dict[str, str], number: int) -> Answer:
        members = {
            "account.iban": re.compile(r"^AT\d{18}$"),
            "transactions.booked.#": number,
            "transactions.booked.0.bookingDate": DAYS,
            "transactions.booked.0.transactionAmount.amount": AMOUNT,
            "transactions.booked.0.transactionId": str,
            "transactions.pending": None,
        }
        return self.call(name, "GET", path, 200, members, headers=consent, params=query or None)

    def pay(self, name: str, path: str, payment: dict[str, Any]) -> Answer:
        members = {
            "transactionStatus": "RCVD",
            "paymentId": re.compile(r"^ZA\d{14}$"),
            START: re.compile(f"^{path}/ZA\\d{{14}}/authorisations$"),
            "_links.status.href": re.compile(f"^{path}/ZA\\d{{14}}/status$"),
            "@Location": re.compile(f"^{path}/ZA\\d{{14}}$"),
            "@ASPSP-SCA-Approach": "EMBEDDED",
        }
        return self.call(name, "POST", path, 201, members, json=payment)

    def follow(self, name: str, payment: Answer, status: str) -> None:
        self.call(name, "GET", payment.find("_links.status.href"), 200, {"transactionStatus": status})

    def cancel(self, name: str, payment: Answer, status: str) -> Answer:
        members = {"transactionStatus": status, START: re.compile("/cancellation-authorisations$")}
        return self.call(name, "DELETE", payment.find("_links.self.href"), 202, members)


def order(payer: Any, iban: str, name: str, euros: str, text: str, **more: str) -> dict[str, Any]:
    return {
        "instructedAmount": {"currency": "EUR", "amount": euros},
        "debtorAccount": {"iban": payer},
        "creditorAccount": {"iban": iban},
        "creditorName": name,
        "remittanceInformationUnstructured": text,
        **more,
    }


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = SalzachApp(walk, "erste")
    app.forget("consent without X-Request-ID", "POST", CONSENTS, json={"access": {"allPsd2": "allAccounts"}})
    asked = app.consent("consent", 90, 4)
    consent = {"Consent-ID": str(asked.find("consentId"))}
    step = app.start("authorise the consent", asked.find(START), BERND[0])
    app.mistype("wrong password", step, "untersberg")
    app.log_in("right password", step, BERND[1], several=False)
    app.confirm("TAN for the consent", step, consentStatus="valid")
    accounts = app.accounts("accounts", consent)
    payer, entries = accounts.find("accounts.0.iban"), accounts.find("accounts.0._links.transactions.href")
    query = {"dateFrom": app.day(-80), "dateTo": app.day(-1)}
    place = "bookingStatus"
    app.refuse("without bookingStatus", "GET", entries, 400, "FORMAT_ERROR", place, headers=consent, params=query)
    query |= {"bookingStatus": "booked", "limit": "5"}
    page = app.entries("transactions", entries, consent, query, 5)
    app.entries("next page", page.find("transactions._links.next.href"), consent, {}, 5)
    nowhere = f"{ACCOUNTS}/ABCDEFGHJKLMNPQRSTUV/balances"
    app.refuse("balances of an unknown account", "GET", nowhere, 404, "RESOURCE_UNKNOWN", headers=consent)

    landlord = ("AT611904300234573201", "Hausverwaltung Lehen")
    wrong = order(payer, "AT621904300234573201", landlord[1], "730.50", "Miete Juli")
    app.refuse("mistyped IBAN", "POST", SINGLE, 400, "FORMAT_ERROR", "creditorAccount.iban", json=wrong)
    rent = app.pay("payment", SINGLE, order(payer, *landlord, "730.50", "Miete Juli"))
    step = app.start("authorise the payment", rent.find(START), BERND[0])
    app.log_in("password for the payment", step, BERND[1], several=False)
    app.confirm("TAN for the payment", step, transactionStatus="ACTC")
    wait(timedelta(minutes=2))
    app.follow("payment is in process", rent, "ACSP")
    app.refuse("cancel it too late", "DELETE", rent.find("_links.self.href"), 405, "CANCELLATION_INVALID")
    wait(timedelta(minutes=10))
    app.follow("payment is booked", rent, "ACSC")
    app.balances("balances after the payment", accounts, consent, "730.50")

    gym = ("DE89370400440532013000", "Kletterhalle Freilassing")
    more = {"startDate": app.day(6), "frequency": "Monthly"}
    standing = app.pay("periodic payment", PERIODIC, order(payer, *gym, "49", "Mitglied 3381", **more))
    step = app.start("authorise the periodic payment", standing.find(START), BERND[0])
    app.log_in("password for the periodic payment", step, BERND[1], several=False)
    app.confirm("TAN for the periodic payment", step, transactionStatus="ACTC")
    stopping = app.cancel("cancel the periodic payment", standing, "ACTC")
    step = app.start("authorise the cancellation", stopping.find(START), BERND[0])
    app.log_in("password for the cancellation", step, BERND[1], several=False)
    app.confirm("TAN for the cancellation", step, transactionStatus="CANC")

    other = app.consent("consent of Annelies", 30, 2)
    step = app.start("authorise without PSU-ID", other.find(START), None)
    methods = app.log_in("password with PSU-ID", step, ANNELIES[1], several=True, psu=ANNELIES[0])
    app.choose("choose the first method", step, methods, 0)
    app.decline("Annelies sends a wrong TAN", step, "111111")
    app.call("her consent is rejected", "GET", other.find("_links.status.href"), 200, {"consentStatus": "rejected"})
    app.call("end of the consent", "DELETE", asked.find("_links.self.href"), 204)
    app.refuse("accounts after the end", "GET", ACCOUNTS, 401, "CONSENT_INVALID", headers=consent)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = SalzachApp(walk, "zweite")
    app.forget("accounts without X-Request-ID", "GET", ACCOUNTS)
    asked = app.consent("consent of Annelies", 45, 4)
    consent = {"Consent-ID": str(asked.find("consentId"))}
    other = app.consent("consent of Bernd", 120, 1)
    step = app.start("authorise the consent of Annelies", asked.find(START), ANNELIES[0])
    methods = app.log_in("her password", step, ANNELIES[1], several=True)
    app.choose("she chooses the second method", step, methods, 1)
    app.confirm("her TAN", step, consentStatus="valid")
    step = app.start("authorise the consent of Bernd", other.find(START), None)
    app.mistype("his wrong password", step, "Obersberg!72", BERND[0])
    app.log_in("his right password", step, BERND[1], several=False, psu=BERND[0])
    app.decline("Bernd sends a wrong TAN", step, "900900")
    accounts = app.accounts("her accounts", consent)
    payer, entries = accounts.find("accounts.0.iban"), accounts.find("accounts.0._links.transactions.href")
    query = {"bookingStatus": "booked", "dateFrom": app.day(-70), "limit": "3"}
    page = app.entries("transactions", entries, consent, query, 3)
    app.entries("next page", page.find("transactions._links.next.href"), consent, {}, 3)
    nowhere = f"{ACCOUNTS}/ZYXWVUTSRQPNMLKJHGFE/balances"
    app.refuse("balances of an unknown account", "GET", nowhere, 404, "RESOURCE_UNKNOWN", headers=consent)

    power, school = ("DE89370400440532013000", "Almstrom eG"), ("AT611904300234573201", "Musikschule Hallein")
    more = {"startDate": app.day(3), "frequency": "Quarterly"}
    wrong = order(payer, "DE88370400440532013000", power[1], "187.20", "Vertrag 90-114", **more)
    app.refuse("mistyped IBAN", "POST", PERIODIC, 400, "FORMAT_ERROR", "creditorAccount.iban", json=wrong)
    standing = app.pay("periodic payment", PERIODIC, order(payer, *power, "187.20", "Vertrag 90-114", **more))
    lessons = app.pay("payment", SINGLE, order(payer, *school, "264", "Cello Herbst"))
    step = app.start("authorise the payment", lessons.find(START), ANNELIES[0])
    methods = app.log_in("password for the payment", step, ANNELIES[1], several=True)
    app.choose("method for the payment", step, methods, 0)
    app.confirm("TAN for the payment", step, transactionStatus="ACTC")
    stopping = app.cancel("cancel the payment", lessons, "ACTC")
    step = app.start("authorise the cancellation", stopping.find(START), ANNELIES[0])
    app.log_in("password for the cancellation", step, ANNELIES[1], several=True)
    app.choose("method for the cancellation", step, methods, 1)
    app.decline("she sends a wrong TAN for the cancellation", step, "555123")
    step = app.start("authorise the periodic payment without PSU-ID", standing.find(START), None)
    app.log_in("password for the periodic payment", step, ANNELIES[1], several=True, psu=ANNELIES[0])
    app.choose("method for the periodic payment", step, methods, 1)
    app.decline("she sends a wrong TAN for the periodic payment", step, "555124")
    app.follow("periodic payment is rejected", standing, "RJCT")
    wait(timedelta(minutes=11))
    app.follow("the other payment is booked", lessons, "ACSC")
    app.balances("balances after", accounts, consent, "264")
    app.call("end of her consent", "DELETE", asked.find("_links.self.href"), 204)
    app.refuse("transactions after the end", "GET", entries, 401, "CONSENT_INVALID", headers=consent, params=query)
    return walk.steps
