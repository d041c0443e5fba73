"""Two journeys at Kupa; see `journeys`."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

PAYMENTS = "/v1/payments/sepa-credit-transfers"
BACK, GAVE_UP = "https://kunica.example/natrag", "https://kunica.example/odustao"
CONSENT_ID = re.compile(r"^KC[A-Z0-9]{10}$")
PAYMENT_ID = re.compile(r"^\d{15}$")
EVERYTHING = {"allPsd2": "allAccounts"}


def cents(amount: Any) -> int:
    """The value of an amount, or 0."""
    text = str(amount.get("amount")) if isinstance(amount, dict) else ""
    return int(text.replace(".", "")) if re.fullmatch(r"-?\d+\.\d\d", text) else 0


def euros(value: int) -> dict[str, str]:
    return {"currency": "EUR", "amount": f"{'-' * (value < 0)}{abs(value) // 100}.{abs(value) % 100:02}"}


def balances(booked: int, held: int = 0) -> Expected:
    return {
        "balances.0.balanceType": "interimBooked",
        "balances.0.balanceAmount": euros(booked),
        "balances.1.balanceType": "interimAvailable",
        "balances.1.balanceAmount": euros(booked - held),
    }


class KupaApp:
    def __init__(self, walk: Walk, oib: str, code: str) -> None:
        self.walk, self._oib, self._code = walk, oib, code

    def day(self, days: int = 0) -> str:
        return str((self.walk.now + days * DAY).date())

    def call(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        members: Expected | None = None,
        *,
        consent: Any = None,
        without: tuple[str, ...] = (),
        **request: Any,
    ) -> Answer:
        id = str(uuid5(NAMESPACE_URL, f"{self._oib} {name}"))
        sent = {"X-IBM-Client-Id": "7c41e0b2d95f4a68", "X-Request-ID": id, "PSU-IP-Address": "93.142.10.7"}
        sent |= {"Consent-ID": str(consent)} if consent else {}
        sent |= {"TPP-Redirect-URI": BACK, "TPP-Nok-Redirect-URI": GAVE_UP} if "json" in request else {}
        for header in without:
            del sent[header]
        echo = {} if "X-IBM-Client-Id" in without else {"@X-Request-ID": id}
        return self.walk.step(name, method, path, status, {**(members or {}), **echo}, headers=sent, **request)

    def refuse(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        code: str,
        text: str,
        place: str | None = None,
        **more: Any,
    ) -> None:
        message = {"category": "ERROR", "code": code, "text": text, "path": place}
        members = {f"tppMessages.0.{member}": value for member, value in message.items()}
        members |= {"additionalData": more.pop("data", None), "errorTime": re.compile(r"^\d{4}-\d\d-\d\dT[\d:]{8}Z$")}
        self.call(name, method, path, status, members, **more)

    def consent(self, access: Any, days: int, often: int, **changes: Any) -> dict[str, Any]:
        document = {"access": access, "recurringIndicator": True, "validUntil": self.day(days)}
        document |= {"frequencyPerDay": often, "combinedServiceIndicator": False, **changes}
        return {member: value for member, value in document.items() if value is not None}

    def ask(self, name: str, document: dict[str, Any]) -> Answer:
        members = {
            "consentStatus": "received",
            "consentId": CONSENT_ID,
            "_links.startAuthorisation.href": re.compile(r"^/v1/consents/KC\w{10}/authorisations$"),
            "_links.scaRedirect": None,
            "@Location": re.compile(r"^/v1/consents/KC\w{10}$"),
            "@ASPSP-SCA-Approach": "REDIRECT",
        }
        return self.call(name, "POST", "/v1/consents", 201, members, json=document)

    def start(self, name: str, asked: Answer) -> Answer:
        path = asked.find("_links.startAuthorisation.href")
        members = {
            "scaStatus": "received",
            "authorisationId": re.compile(r"^[0-9a-f]{12}$"),
            "_links.scaRedirect.href": re.compile(r"/eprijava/[0-9a-f]{12}$"),
            "_links.scaStatus.href": re.compile(rf"^{path}/[0-9a-f]{{12}}$"),
        }
        return self.call(name, "POST", path, 201, members)

    def pay(self, name: str, document: dict[str, Any]) -> Answer:
        members = {
            "transactionStatus": "RCVD",
            "paymentId": PAYMENT_ID,
            "_links.scaRedirect.href": re.compile(r"/eprijava/[0-9a-f]{12}$"),
            "_links.status.href": re.compile(rf"^{PAYMENTS}/\d{{15}}/status$"),
            "@Location": re.compile(rf"^{PAYMENTS}/\d{{15}}$"),
            "@ASPSP-SCA-Approach": "REDIRECT",
        }
        return self.call(name, "POST", PAYMENTS, 201, members, json=document)

    def decide(self, name: str, asked: Answer, choice: str = "potvrdi") -> None:
        self._send(name, asked, choice, self._code, 302, {"@Location": BACK if choice == "potvrdi" else GAVE_UP})

    def mistype(self, name: str, asked: Answer, left: int) -> None:
        members = PAGE | {"page": re.compile(f"Pogrešan OIB ili kod. Preostalo pokušaja: {left}<")}
        self._send(name, asked, "potvrdi", "000000", 401, members)

    def _send(self, name: str, asked: Answer, choice: str, code: str, status: int, members: Expected) -> None:
        form = {"oib": self._oib, "kod": code, "odluka": choice}
        self.walk.step(name, "POST", asked.find("_links.scaRedirect.href"), status, members, data=form)

    def see(self, name: str, asked: Answer, link: str, members: Expected) -> Answer:
        """Read what a link of an answer leads to."""
        return self.call(name, "GET", asked.find(f"_links.{link}.href"), 200, members)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = KupaApp(walk, "40718263951", "482913")
    members: Expected = {"httpCode": "401", "httpMessage": "Unauthorized", "moreInformation": str, "tppMessages": None}
    app.call("no client", "POST", "/v1/consents", 401, members, json={}, without=("X-IBM-Client-Id",))
    good = app.consent(EVERYTHING, 5, 1)
    lacking = ("FORMAT_ERROR", "Mandatory element frequencyPerDay is missing", "frequencyPerDay")
    sent = app.consent(EVERYTHING, 5, 1, frequencyPerDay=None)
    app.refuse("consent without a frequency", "POST", "/v1/consents", 400, *lacking, json=sent)
    asked = app.ask("consent", good)
    use = {"consent": asked.find("consentId")}
    started = app.start("start the authorisation", asked)
    early = ("CONSENT_INVALID", "Consent is not valid, its status is received")
    app.refuse("accounts too early", "GET", "/v1/accounts", 401, *early, data={"consentStatus": "received"}, **use)
    page = PAGE | {"page": re.compile("Prijavite se OIB-om")}
    walk.step("page of the consent", "GET", started.find("_links.scaRedirect.href"), 200, page)
    app.mistype("wrong code", started, 2)
    app.decide("customer confirms", started)
    app.see("authorisation is finalised", started, "scaStatus", {"scaStatus": "finalised"})
    members = {"consentStatus": "valid", "validUntil": good["validUntil"], "frequencyPerDay": 1, "access": EVERYTHING}
    app.see("consent is valid", asked, "self", members | {"lastActionDate": app.day(), "recurringIndicator": True})
    members = {"accounts.#": 2, "accounts.0.currency": "EUR", "accounts.0.ownerName": "Jelena Horvat"}
    members |= {"accounts.0.resourceId": re.compile(r"^3\d{8}$"), "accounts.0.iban": re.compile(r"^HR\d{19}$")}
    members |= {"accounts.0.product": "Tekući račun", "accounts.0.status": "enabled"}
    accounts = app.call("accounts", "GET", "/v1/accounts", 200, members, **use)
    main, other = accounts.find("accounts.0.iban"), accounts.find("accounts.1.iban")
    balance, history = (accounts.find(f"accounts.0._links.{kind}.href") for kind in ("balances", "transactions"))
    unknown = ("RESOURCE_UNKNOWN", "Account 300000001 does not exist")
    app.refuse("unknown account", "GET", "/v1/accounts/300000001/balances", 404, *unknown, **use)
    members = {"account.iban": main, "balances.#": 2, "balances.0.balanceType": "interimBooked"}
    away: dict[str, Any] = {"without": ("PSU-IP-Address",), **use}
    before = cents(app.call("balances", "GET", balance, 200, members, **away).find("balances.0.balanceAmount"))
    often = ("ACCESS_EXCEEDED", "Daily number of accesses without PSU is used up")
    app.refuse("balances too often", "GET", balance, 429, *often, data={"frequencyPerDay": 1}, **away)
    query = {"bookingStatus": "booked", "dateFrom": app.day(-60), "itemsPerPage": "7"}
    members = {"account.iban": main, "transactions.booked.#": 7, "transactions.booked.0.creditorName": str}
    members |= {"transactions.booked.0.balanceAfterTransaction.balanceAmount": euros(before)}
    members |= {"transactions._links.next.href": re.compile("[?&]pageIndex=1$")}
    rows = app.call("transactions", "GET", history, 200, members, params=query, **use)
    members = {"transactions.booked.#": 5, "transactions._links.next": None}
    members |= {"transactions.booked.4.remittanceInformationUnstructured": "Uplata"}
    app.call("next page", "GET", rows.find("transactions._links.next.href"), 200, members, **use)
    early = ("PERIOD_INVALID", "Transactions are available for the last 90 days", "dateFrom")
    told: dict[str, Any] = {"params": query | {"dateFrom": app.day(-91)}, "data": {"earliestDate": app.day(-90)}}
    app.refuse("transactions of long ago", "GET", history, 400, *early, **told, **use)

    pay = {
        "debtorAccount": {"iban": main},
        "instructedAmount": {"currency": "EUR", "amount": "1250.00"},
        "creditorAccount": {"iban": "HR1210010051863000160"},
        "creditorName": "Stolarija Hrast",
        "remittanceInformationUnstructured": "Kuhinjski stol",
    }
    over = ("PAYMENT_FAILED", "Amount exceeds the limit of a single payment", "instructedAmount.amount")
    told = {"json": pay | {"instructedAmount": euros(1_500_001)}, "data": {"limit": euros(1_500_000)}}
    app.refuse("payment over the limit", "POST", PAYMENTS, 400, *over, **told)
    paid = app.pay("payment", pay)
    app.decide("customer confirms the payment", paid)
    app.see("payment is accepted", paid, "status", {"transactionStatus": "ACTC", "reasonCode": None})
    app.call("balances with the amount held", "GET", balance, 200, balances(before, 125_000), **use)
    wait(timedelta(minutes=3))
    members = {"transactionStatus": "ACSC", "paymentId": paid.find("paymentId"), "bookingDate": app.day(), **pay}
    app.see("payment is done", paid, "self", members | {"endToEndIdentification": "HR99"})
    newest = "transactions.booked.0"
    members = {
        "transactions.booked.#": 1,
        f"{newest}.transactionAmount": euros(-125_000),
        f"{newest}.endToEndId": "HR99",
    }
    members |= {f"{newest}.{member}": pay[member] for member in ("creditorName", "creditorAccount")}
    members |= {f"{newest}.remittanceInformationUnstructured": "Kuhinjski stol", f"{newest}.bookingDate": app.day()}
    members |= {f"{newest}.balanceAfterTransaction.balanceAmount": euros(before - 125_000)}
    query = {"bookingStatus": "booked", "dateFrom": app.day()}
    app.call("transactions after", "GET", history, 200, members, params=query, **use)
    late = ("CANCELLATION_INVALID", "Payment can no longer be cancelled, its status is ACSC")
    path = paid.find("@Location")
    app.refuse("cancel too late", "DELETE", path, 405, *late, data={"transactionStatus": "ACSC"})
    paid = app.pay("payment to decline", pay | {"instructedAmount": euros(4_990)})
    app.decide("customer declines the payment", paid, "odbij")
    app.see("payment is rejected", paid, "status", {"transactionStatus": "RJCT", "reasonCode": "DS02"})
    later = {"requestedExecutionDate": app.day(2), "endToEndIdentification": "HR00-118-26"}
    paid = app.pay("payment for later", pay | {"instructedAmount": euros(30_000)} | later)
    app.decide("customer confirms it", paid)
    wait(timedelta(hours=1))
    app.see("payment for later waits", paid, "self", {"transactionStatus": "ACTC", "bookingDate": None, **later})
    members = {"transactionStatus": "CANC", "paymentId": paid.find("paymentId")}
    app.call("cancel it", "DELETE", paid.find("@Location"), 200, members)

    narrow = {"accounts": [{"iban": other}], "balances": [{"iban": other}]}
    asked = app.ask("consent for too long", app.consent(narrow, 400, 4))
    app.call("delete it", "DELETE", asked.find("@Location"), 204)
    members = {"consentStatus": "terminatedByTpp", "validUntil": app.day(180), "access": narrow, "frequencyPerDay": 4}
    app.see("consent is terminated", asked, "self", members)
    wait(6 * DAY)
    expired = ("CONSENT_EXPIRED", f"Consent expired on {good['validUntil']}")
    app.refuse(
        "accounts after the last day", "GET", "/v1/accounts", 401, *expired, data={"consentStatus": "expired"}, **use
    )
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = KupaApp(walk, "95120476382", "730564")
    lacking = ("FORMAT_ERROR", "Mandatory element access is missing", "access")
    sent = app.consent(None, 3, 2)
    app.refuse("consent to nothing", "POST", "/v1/consents", 400, *lacking, json=sent)
    good = app.consent(EVERYTHING, 3, 2)
    asked = app.ask("consent", good)
    use = {"consent": asked.find("consentId")}
    app.see("consent is received", asked, "status", {"consentStatus": "received"})
    started = app.start("start the authorisation", asked)
    app.see("authorisation is received", started, "scaStatus", {"scaStatus": "received"})
    app.decide("customer confirms", started)
    members: Expected = {"consentStatus": "valid", "validUntil": good["validUntil"], "frequencyPerDay": 2}
    app.see("consent is valid", asked, "self", members | {"access": EVERYTHING, "lastActionDate": app.day()})
    members = {"accounts.#": 2, "accounts.1.currency": "EUR", "accounts.1.status": "enabled"}
    accounts = app.call("accounts", "GET", "/v1/accounts", 200, members, **use)
    main, other = accounts.find("accounts.0.iban"), accounts.find("accounts.1.iban")
    balance, history = (accounts.find(f"accounts.0._links.{kind}.href") for kind in ("balances", "transactions"))
    elsewhere = accounts.find("accounts.1._links.balances.href")
    away: dict[str, Any] = {"without": ("PSU-IP-Address",), **use}
    members = {"account.iban": other, "balances.#": 2, "balances.1.balanceType": "interimAvailable"}
    seen = app.call("balances of the other account", "GET", elsewhere, 200, members, **away)
    same = balances(cents(seen.find("balances.0.balanceAmount")))
    app.call("the same again", "GET", elsewhere, 200, same, **away)
    often = ("ACCESS_EXCEEDED", "Daily number of accesses without PSU is used up")
    app.refuse("balances too often", "GET", elsewhere, 429, *often, data={"frequencyPerDay": 2}, **away)
    members = {"account.iban": main, "balances.0.balanceType": "interimBooked"}
    before = cents(app.call("balances", "GET", balance, 200, members, **use).find("balances.0.balanceAmount"))
    narrow = {"accounts": [{"iban": main}], "balances": [{"iban": main}]}
    long = app.ask("consent for too long", app.consent(narrow, 300, 3))
    members = {"consentStatus": "received", "validUntil": app.day(180), "access": narrow, "frequencyPerDay": 3}
    app.see("consent is shortened", long, "self", members)
    query = {"bookingStatus": "booked", "dateFrom": app.day(-75), "itemsPerPage": "3"}
    members = {"account.iban": main, "transactions.booked.#": 3}
    members |= {"transactions._links.next.href": re.compile("[?&]pageIndex=1$")}
    rows = app.call("transactions", "GET", history, 200, members, params=query, **use)
    members = {"transactions.booked.#": 3, "transactions._links.next.href": re.compile("[?&]pageIndex=2$")}
    app.call("next page", "GET", rows.find("transactions._links.next.href"), 200, members, **use)
    unknown = ("RESOURCE_UNKNOWN", "Account 399999990 does not exist")
    path = "/v1/accounts/399999990/transactions"
    app.refuse("transactions of an unknown account", "GET", path, 404, *unknown, params=query, **use)

    pay = {
        "debtorAccount": {"iban": other},
        "instructedAmount": {"currency": "EUR", "amount": "35.10"},
        "creditorAccount": {"iban": "HR1723600001101234565"},
        "creditorName": "Cvjećarnica Lopoč",
        "remittanceInformationUnstructured": "Buket",
    }
    lacking = ("FORMAT_ERROR", "Mandatory element creditorName is missing", "creditorName")
    sent = {member: value for member, value in pay.items() if member != "creditorName"}
    app.refuse("payment to nobody", "POST", PAYMENTS, 400, *lacking, json=sent)
    over = ("PAYMENT_FAILED", "Amount exceeds the limit of a single payment", "instructedAmount.amount")
    told: dict[str, Any] = {"json": pay | {"instructedAmount": euros(1_820_050)}, "data": {"limit": euros(1_500_000)}}
    app.refuse("payment over the limit", "POST", PAYMENTS, 400, *over, **told)
    paid = app.pay("payment to cancel", pay)
    app.see("payment is received", paid, "status", {"transactionStatus": "RCVD", "reasonCode": None})
    members = {"transactionStatus": "CANC", "paymentId": paid.find("paymentId")}
    app.call("cancel it", "DELETE", paid.find("@Location"), 200, members)
    app.see("payment is cancelled", paid, "self", members | pay | {"bookingDate": None})
    paid = app.pay("payment to decline", pay | {"instructedAmount": euros(7_700)})
    app.decide("customer declines the payment", paid, "odbij")
    app.see("payment is rejected", paid, "status", {"transactionStatus": "RJCT", "reasonCode": "DS02"})
    pay |= {"debtorAccount": {"iban": main}, "remittanceInformationUnstructured": "Vijenac"}
    paid = app.pay("payment", pay | {"instructedAmount": euros(8_935)})
    app.mistype("wrong code", paid, 2)
    app.decide("customer confirms the payment", paid)
    app.see("its authorisation is finalised", paid, "scaStatus", {"scaStatus": "finalised"})
    app.call("balances with the amount held", "GET", balance, 200, balances(before, 8_935), **use)
    due = {"requestedExecutionDate": app.day(2), "endToEndIdentification": "HR00-77-3"}
    later = app.pay("payment for later", pay | {"instructedAmount": euros(41_200)} | due)
    app.decide("customer confirms it", later)
    wait(timedelta(minutes=4))
    members = {"transactionStatus": "ACSC", "bookingDate": app.day(), "endToEndIdentification": "HR99"}
    app.see(
        "payment is done",
        paid,
        "self",
        members | {"instructedAmount": euros(8_935), "creditorName": "Cvjećarnica Lopoč"},
    )
    app.see("payment for later waits", later, "self", {"transactionStatus": "ACTC", "bookingDate": None, **due})
    left = before - 8_935
    app.call("balances after", "GET", balance, 200, balances(left), **use)
    wait(2 * DAY)
    app.see("payment for later is done", later, "status", {"transactionStatus": "ACSC"})
    newest, older = "transactions.booked.0", "transactions.booked.1"
    members = {"transactions.booked.#": 2, f"{older}.transactionAmount": euros(-8_935), f"{older}.endToEndId": "HR99"}
    members |= {f"{newest}.transactionAmount": euros(-41_200), f"{newest}.endToEndId": "HR00-77-3"}
    members |= {f"{newest}.bookingDate": app.day(), f"{older}.bookingDate": app.day(-2)}
    members |= {f"{newest}.balanceAfterTransaction.balanceAmount": euros(left - 41_200)}
    query = {"bookingStatus": "booked", "dateFrom": app.day(-2)}
    app.call("transactions since the beginning", "GET", history, 200, members, params=query, **use)
    wait(2 * DAY)
    expired = ("CONSENT_EXPIRED", f"Consent expired on {good['validUntil']}")
    told = {"data": {"consentStatus": "expired"}, **use}
    app.refuse("balances after the last day", "GET", balance, 401, *expired, **told)
    return walk.steps
