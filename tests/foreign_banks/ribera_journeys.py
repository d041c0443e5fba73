"""Two journeys at Ribera; see `journeys`."""

import re
from decimal import Decimal
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

UUID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f-]{21}$")
TRANSFERS, INSTANT = "payments/sepa-credit-transfers", "payments/instant-sepa-credit-transfers"
UNKNOWN = "7b0c1f6e-55aa-4f0e-9c31-0a4be17fd200"


class RiberaApp:
    def __init__(self, walk: Walk, key: str, back: str, psu: str, code: str) -> None:
        self.walk, self._key, self._back, self._psu, self._code = walk, key, back, psu, code
        self.consent: Any = None

    def day(self, days: int = 0) -> str:
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
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        id = str(uuid5(NAMESPACE_URL, f"{self._key} {len(self.walk.steps)}"))
        sent = {"X-Request-ID": id, "X-IBM-Client-Id": self._key}
        if method == "POST":
            sent |= {"PSU-ID": self._psu, "TPP-Redirect-URI": self._back}
        if self.consent and method == "GET":
            sent["Consent-ID"] = str(self.consent)
        sent |= headers or {}
        sent.pop(without, None)
        url = path if str(path).startswith("/") else f"/v1/{path}"
        return self.walk.step(name, method, url, status, members, headers=sent, **request)

    def refuse(self, name: str, method: str, path: Any, status: int, code: str, place: str = "", **more: Any) -> None:
        members: dict[str, Any] = {"tppMessages.0.code": code, "tppMessages.0.category": "ERROR"}
        self.call(name, method, path, status, members | ({"tppMessages.0.path": place} if place else {}), **more)

    def want(self, days: int, reads: int, is_all: bool = False) -> dict[str, Any]:
        access = {"allPsd2": "allAccounts"} if is_all else {"accounts": [], "balances": [], "transactions": []}
        return {
            "access": access,
            "recurringIndicator": True,
            "validUntil": self.day(days),
            "frequencyPerDay": reads,
            "combinedServiceIndicator": False,
        }

    def ask(self, name: str, document: dict[str, Any]) -> Answer:
        members = {"consentId": UUID, "consentStatus": "received", "@Location": re.compile("^/v1/consents/")}
        return self.call(name, "POST", "consents", 201, members, json=document)

    def pay(self, name: str, document: dict[str, Any], path: str = TRANSFERS) -> Answer:
        members = {"paymentId": UUID, "transactionStatus": "RCVD"}
        return self.call(name, "POST", path, 201, members, json=document)

    def start(self, name: str, answer: Answer) -> Answer:
        members = {"scaStatus": "received", "authorisationId": UUID, "@ASPSP-SCA-Approach": "REDIRECT"}
        return self.call(name, "POST", answer.find("_links.startAuthorisation.href"), 201, members, json={})

    def page(self, started: Answer) -> Any:
        return started.find("_links.scaRedirect.href")

    def decide(self, name: str, started: Answer, accounts: tuple[str, ...] = (), action: str = "aceptar") -> None:
        data = {"codigo": self._code, "accion": action, "cuenta": list(accounts)}
        result = "ok" if action == "aceptar" else "ko"
        to = self._back + ("&" if "?" in self._back else "?") + f"resultado={result}"
        self.walk.step(name, "POST", self.page(started), 302, {"@Location": to}, data=data)


def amounts(answer: Answer) -> tuple[Decimal, Decimal]:
    """What is booked, and what is available."""
    found = [answer.find(f"balances.{number}.balanceAmount.amount") for number in (0, 1)]
    booked, available = (Decimal(value) if isinstance(value, str) else Decimal() for value in found)
    return booked, available


def balances(booked: Decimal, available: Decimal) -> dict[str, Any]:
    return {"balances.0.balanceAmount.amount": f"{booked:.2f}", "balances.1.balanceAmount.amount": f"{available:.2f}"}


def payment(iban: str, amount: str, to: str, name: str, text: str) -> dict[str, Any]:
    return {
        "debtorAccount": {"iban": iban},
        "instructedAmount": {"currency": "EUR", "amount": amount},
        "creditorAccount": {"iban": to},
        "creditorName": name,
        "remittanceInformationUnstructured": text,
    }


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = RiberaApp(walk, "0a7e41c9d2", "https://monedero.example/vuelta", "28334455X", "602418")
    salary, savings = "ES9121000418450200051332", "ES2021000418450200051349"
    app.refuse("consent without a customer", "POST", "consents", 400, "FORMAT_ERROR", "PSU-ID", without="PSU-ID")
    chosen = app.want(90, 6)
    headers = {"PSU-ID": "00000000T"}
    code = "PSU_CREDENTIALS_INVALID"
    app.refuse("unknown customer", "POST", "consents", 401, code, "PSU-ID", headers=headers, json=chosen)
    long = chosen | {"validUntil": app.day(181)}
    app.refuse("consent for too long", "POST", "consents", 400, "PERIOD_INVALID", "validUntil", json=long)
    short = {name: value for name, value in chosen.items() if name != "access"}
    app.refuse("consent for nothing", "POST", "consents", 400, "FORMAT_ERROR", "access", json=short)
    consent = app.ask("consent for chosen accounts", chosen)
    own, state = consent.find("_links.self.href"), consent.find("_links.status.href")
    started = app.start("start the authorisation", consent)
    sca = started.find("_links.scaStatus.href")
    app.call("authorisation is received", "GET", sca, 200, {"scaStatus": "received"})
    app.refuse("accounts without a consent", "GET", "accounts", 400, "FORMAT_ERROR", "Consent-ID")
    app.consent = consent.find("consentId")
    app.refuse("accounts before the customer agrees", "GET", "accounts", 403, "CONSENT_NOT_ACTIVE", "Consent-ID")
    walk.step("page of the consent", "GET", app.page(started), 200, PAGE | {"page": re.compile("Lucía Prieto")})
    app.call("authorisation is started", "GET", sca, 200, {"scaStatus": "started"})
    wrong = {"codigo": "000000", "accion": "aceptar", "cuenta": [salary]}
    walk.step("wrong code", "POST", app.page(started), 401, PAGE, data=wrong)
    app.decide("customer agrees", started, (salary,))
    app.call("authorisation is done", "GET", sca, 200, {"scaStatus": "finalised"})
    members = {"consentStatus": "valid", "access.accounts.0.iban": salary, "access.accounts.#": 1}
    app.call("consent is valid", "GET", own, 200, members)
    accounts = app.call("accounts", "GET", "accounts", 200, {"accounts.#": 1, "accounts.0.iban": salary})
    id = accounts.find("accounts.0.resourceId")
    app.call("one account", "GET", f"accounts/{id}", 200, {"account.iban": salary, "account.name": "Cuenta nómina"})
    app.refuse("unknown account", "GET", "accounts/ES0000000000", 404, "RESOURCE_UNKNOWN", "account-id")
    before = app.call("balances", "GET", f"accounts/{id}/balances", 200, {"account.iban": salary, "balances.#": 2})
    booked, available = amounts(before)
    rows = f"accounts/{id}/transactions"
    params = {"bookingStatus": "booked", "dateFrom": app.day(-80)}
    members = {"transactions.booked.#": 15, "transactions._links.next.href": re.compile("cursor=")}
    page = app.call("transactions", "GET", rows, 200, members, params=params)
    following = page.find("transactions._links.next.href")
    app.call("next transactions", "GET", following, 200, {"transactions.booked.#": 9, "transactions._links.next": None})

    rent = payment(salary, "740.00", "DE89370400440532013000", "Inmobiliaria Faro", "Alquiler junio")
    big = rent | {"instructedAmount": {"currency": "EUR", "amount": "9999.00"}}
    app.refuse("transfer without cover", "POST", TRANSFERS, 400, "FUNDS_NOT_AVAILABLE", "instructedAmount", json=big)
    elsewhere = rent | {"debtorAccount": {"iban": "ES6000491500051234567892"}}
    app.refuse("account of somebody else", "POST", TRANSFERS, 403, "SERVICE_BLOCKED", "debtorAccount", json=elsewhere)
    made = app.pay("transfer", rent)
    paid = made.find("_links.status.href")
    started = app.start("start to pay", made)
    walk.step("page of the transfer", "GET", app.page(started), 200, PAGE)
    app.decide("customer approves", started)
    app.call("transfer is accepted", "GET", paid, 200, {"transactionStatus": "ACCP"})
    held = balances(booked, available - 740)
    app.call("balances with the amount held", "GET", f"accounts/{id}/balances", 200, held)
    gym = payment(savings, "39.90", "FR1420041010050500013M02606", "Gimnasio Norte", "Cuota")
    second = app.pay("transfer to cancel", gym)
    app.call("cancel it", "DELETE", second.find("_links.self.href"), 200, {"transactionStatus": "CANC"})
    members = {"transactionStatus": "CANC", "creditorName": "Gimnasio Norte", "instructedAmount.amount": "39.90"}
    app.call("it is cancelled", "GET", second.find("_links.self.href"), 200, members)
    app.refuse(
        "start to pay it", "POST", f"{second.find('_links.self.href')}/authorisations", 409, "STATUS_INVALID", json={}
    )
    instant = app.pay("instant transfer", gym, INSTANT)
    started = app.start("start to pay at once", instant)
    app.decide("customer approves at once", started)
    app.call(
        "instant transfer is booked", "GET", instant.find("_links.status.href"), 200, {"transactionStatus": "ACSC"}
    )
    refused = app.pay("transfer to decline", gym)
    started = app.start("start to decline", refused)
    app.decide("customer declines", started, action="rechazar")
    app.call("authorisation has failed", "GET", started.find("_links.scaStatus.href"), 200, {"scaStatus": "failed"})
    app.call("transfer is rejected", "GET", refused.find("_links.status.href"), 200, {"transactionStatus": "RJCT"})
    app.refuse("reads are used up", "GET", f"accounts/{id}/balances", 429, "ACCESS_EXCEEDED")
    wait(DAY)
    app.call("transfer is booked", "GET", paid, 200, {"transactionStatus": "ACSC"})
    app.call("balances after", "GET", f"accounts/{id}/balances", 200, balances(booked - 740, available - 740))
    members = {"transactions.booked.0.creditorName": "Inmobiliaria Faro", "transactions.booked.#": 1}
    params = {"bookingStatus": "booked", "dateFrom": app.day()}
    app.call("transactions after", "GET", rows, 200, members, params=params)
    app.refuse("too late to cancel", "DELETE", made.find("_links.self.href"), 400, "CANCELLATION_INVALID")
    both = app.ask("consent for all accounts", app.want(30, 4, is_all=True))
    started = app.start("start for all", both)
    app.decide("customer agrees to all", started)
    app.consent = both.find("consentId")
    app.call("all accounts", "GET", "accounts", 200, {"accounts.#": 2})
    app.call("delete the consent", "DELETE", own, 204)
    app.call("it is ended", "GET", state, 200, {"consentStatus": "terminatedByTpp"})
    app.consent = consent.find("consentId")
    app.refuse("accounts after that", "GET", "accounts", 403, "CONSENT_NOT_ACTIVE", "Consent-ID")
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = RiberaApp(walk, "5cc80b13f6", "https://hucha.example/psd2?paso=2", "50112233K", "915733")
    current, joint, trips = "ES6000491500051234567892", "ES1600491500051234567908", "ES2100491500051234567915"
    app.refuse("unknown consent", "GET", f"consents/{UNKNOWN}", 403, "CONSENT_UNKNOWN", "Consent-ID")
    app.refuse("unknown transfer", "GET", f"{TRANSFERS}/{UNKNOWN}", 404, "RESOURCE_UNKNOWN", "paymentId")
    app.refuse("unknown app", "GET", "accounts", 401, "CERTIFICATE_INVALID", headers={"X-IBM-Client-Id": "0"})
    boat = payment(joint, "312.45", "PT50000201231234567890154", "Barcos Azules", "Excursión")
    code = "PSU_CREDENTIALS_INVALID"
    headers = {"PSU-ID": "99999999R"}
    app.refuse("transfer of an unknown customer", "POST", TRANSFERS, 401, code, "PSU-ID", headers=headers, json=boat)
    elsewhere = boat | {"debtorAccount": {"iban": "ES9121000418450200051332"}}
    app.refuse("account of somebody else", "POST", TRANSFERS, 403, "SERVICE_BLOCKED", "debtorAccount", json=elsewhere)
    big = payment(trips, "98.11", "PT50000201231234567890154", "Barcos Azules", "Excursión")
    app.refuse("transfer without cover", "POST", TRANSFERS, 400, "FUNDS_NOT_AVAILABLE", "instructedAmount", json=big)

    yes = app.want(40, 5)
    bare = {name: value for name, value in yes.items() if name != "frequencyPerDay"}
    app.refuse("consent without reads", "POST", "consents", 400, "FORMAT_ERROR", "frequencyPerDay", json=bare)
    no = app.ask("consent to decline", yes)
    started = app.start("start to decline", no)
    app.decide("customer declines", started, action="rechazar")
    app.call("consent is rejected", "GET", no.find("_links.status.href"), 200, {"consentStatus": "rejected"})
    app.call("authorisation has failed", "GET", started.find("_links.scaStatus.href"), 200, {"scaStatus": "failed"})
    path = no.find("_links.startAuthorisation.href")
    app.refuse("start again", "POST", path, 409, "STATUS_INVALID", json={})
    consent = app.ask("consent for chosen accounts", yes)
    started = app.start("start the authorisation", consent)
    walk.step("page of the consent", "GET", app.page(started), 200, PAGE)
    app.call("authorisation is started", "GET", started.find("_links.scaStatus.href"), 200, {"scaStatus": "started"})
    wrong = {"codigo": "602418", "accion": "aceptar", "cuenta": [joint]}
    walk.step("code of somebody else", "POST", app.page(started), 401, PAGE, data=wrong)
    app.decide("customer agrees", started, (joint, trips))
    app.call("consent is valid", "GET", consent.find("_links.status.href"), 200, {"consentStatus": "valid"})
    app.consent = consent.find("consentId")
    accounts = app.call("accounts", "GET", "accounts", 200, {"accounts.#": 2, "accounts.0.name": "Cuenta conjunta"})
    id = accounts.pick("accounts", iban=joint).get("resourceId")
    other = accounts.pick("accounts", iban=trips).get("resourceId")
    app.call("another account", "GET", f"accounts/{other}", 200, {"account.iban": trips, "account.name": "Viajes"})
    before = app.call("balances", "GET", f"accounts/{id}/balances", 200, {"account.iban": joint})
    booked, available = amounts(before)

    made = app.pay("transfer", boat)
    app.call("transfer is received", "GET", made.find("_links.self.href"), 200, {"transactionStatus": "RCVD"})
    started = app.start("start to pay", made)
    app.decide("customer approves", started)
    app.call("transfer is accepted", "GET", made.find("_links.status.href"), 200, {"transactionStatus": "ACCP"})
    sum = Decimal("312.45")
    held = balances(booked, available - sum)
    app.call("balances with the amount held", "GET", f"accounts/{id}/balances", 200, held)
    params = {"bookingStatus": "booked", "dateFrom": app.day()}
    app.call(
        "no transactions yet", "GET", f"accounts/{id}/transactions", 200, {"transactions.booked.#": 0}, params=params
    )
    app.refuse("reads are used up", "GET", "accounts", 429, "ACCESS_EXCEEDED")
    headers = {"PSU-IP-Address": "203.0.113.80"}
    app.call("reads with the customer", "GET", "accounts", 200, {"accounts.#": 2}, headers=headers)
    gift = payment(current, "55.00", "FR1420041010050500013M02606", "Flores Mar", "Ramo")
    later = app.pay("transfer to cancel", gift)
    started = app.start("start to pay it", later)
    app.decide("customer approves it", started)
    app.call("cancel when accepted", "DELETE", later.find("_links.self.href"), 200, {"transactionStatus": "CANC"})
    app.refuse("cancel it again", "DELETE", later.find("_links.self.href"), 400, "CANCELLATION_INVALID")
    instant = app.pay("instant transfer", gift, INSTANT)
    started = app.start("start to pay at once", instant)
    app.decide("customer approves at once", started)
    app.call(
        "instant transfer is booked", "GET", instant.find("_links.status.href"), 200, {"transactionStatus": "ACSC"}
    )
    wait(DAY)
    app.call("transfer is booked", "GET", made.find("_links.status.href"), 200, {"transactionStatus": "ACSC"})
    app.call("balances after", "GET", f"accounts/{id}/balances", 200, balances(booked - sum, available - sum))
    members = {"transactions.booked.#": 1, "transactions.booked.0.transactionAmount.amount": "-312.45"}
    params = {"bookingStatus": "booked", "dateFrom": app.day()}
    app.call("transactions after", "GET", f"accounts/{id}/transactions", 200, members, params=params)
    app.refuse("too late to cancel", "DELETE", made.find("_links.self.href"), 400, "CANCELLATION_INVALID")
    app.call("delete the consent", "DELETE", consent.find("_links.self.href"), 204)
    app.call("it is ended", "GET", consent.find("_links.status.href"), 200, {"consentStatus": "terminatedByTpp"})
    app.refuse("balances after that", "GET", f"accounts/{id}/balances", 403, "CONSENT_NOT_ACTIVE", "Consent-ID")
    return walk.steps
