"""Two journeys at Morava; see `journeys`."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

ROOT = "/v1.3.8"
DOMESTIC, INSTANT = (f"{ROOT}/payments/{kind}domestic-credit-transfers-cz" for kind in ("", "instant-"))
FUNDS = f"{ROOT}/funds-confirmations"
BACK = "https://ucetnik.example/zpet"
CONSENT_ID = re.compile(r"^[A-Z2-9]{5}-[A-Z2-9]{5}$")
PAYMENT_ID = re.compile(r"^M\d\d-\d{6}-\d$")
SIGN = re.compile(r"/podpis\?klic=[0-9a-f]{20}$")
EVERYTHING: dict[str, Any] = {"accounts": [], "balances": [], "transactions": []}


def cents(amount: Any) -> int:
    """The value of an amount, or 0."""
    value = amount.get("amount") if isinstance(amount, dict) else None
    return round(value * 100) if isinstance(value, int | float) else 0


def crowns(value: int) -> dict[str, Any]:
    return {"amount": value / 100, "currency": "CZK"}


def balances(closing: int, available: int) -> Expected:
    return {
        "balances.#": 2,
        "balances.0.balanceType": "closingBooked",
        "balances.0.balanceAmount": crowns(closing),
        "balances.1.balanceType": "interimAvailable",
        "balances.1.balanceAmount": crowns(available),
    }


class MoravaApp:
    def __init__(self, walk: Walk, number: str, password: str) -> None:
        self.walk, self._number, self._password = walk, number, password

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
        id = str(uuid5(NAMESPACE_URL, f"{self._number} {name}"))
        sent = {"WEB-API-Key": "b7d0e6a4-mor-51c9", "X-Request-ID": id, "PSU-IP-Address": "89.24.61.130"}
        sent |= {"Consent-ID": str(consent)} if consent else {}
        sent |= {"TPP-Redirect-URI": BACK} if "json" in request else {}
        for header in without:
            del sent[header]
        own = {"@API-Version": "1.3.8", "@X-Request-ID": id}
        return self.walk.step(name, method, path, status, {**(members or {}), **own}, headers=sent, **request)

    def refuse(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        error: str,
        scope: str,
        message: str,
        **more: Any,
    ) -> None:
        entry = {"error": error, "scope": scope, "message": message, "parameters": more.pop("parameters", None)}
        members = {f"errors.0.{member}": value for member, value in entry.items()}
        members |= {"errors.#": 1, "reference": re.compile(r"^MB-\d{8}$")}
        self.call(name, method, path, status, members, **more)

    def consent(self, access: Any, days: int, often: int, **changes: Any) -> dict[str, Any]:
        document = {"access": access, "recurringIndicator": True, "validUntil": self.day(days)}
        document |= {"frequencyPerDay": often, **changes}
        return {member: value for member, value in document.items() if value is not None}

    def ask(self, name: str, document: dict[str, Any]) -> Answer:
        members = {
            "consentStatus": "received",
            "consentId": CONSENT_ID,
            "signInfo.state": "OPEN",
            "signInfo.url": SIGN,
            "_links.scaRedirect": None,
            "_links.self.href": re.compile(rf"^{ROOT}/consents/[A-Z2-9-]{{11}}$"),
            "_links.status.href": re.compile(rf"^{ROOT}/consents/[A-Z2-9-]{{11}}/status$"),
            "@Location": None,
            "@ASPSP-SCA-Approach": "REDIRECT",
        }
        return self.call(name, "POST", f"{ROOT}/consents", 200, members, json=document)

    def pay(self, name: str, path: str, document: dict[str, Any]) -> Answer:
        members = {
            "transactionStatus": "RCVD",
            "paymentId": PAYMENT_ID,
            "signInfo.state": "OPEN",
            "signInfo.url": SIGN,
            "_links.self.href": re.compile(rf"^{path}/M[\d-]{{11}}$"),
            "_links.status.href": re.compile(rf"^{path}/M[\d-]{{11}}/status$"),
            "@Location": None,
            "@ASPSP-SCA-Approach": "REDIRECT",
        }
        return self.call(name, "POST", path, 201, members, json=document)

    def cancel(self, name: str, paid: Answer) -> Answer:
        members = {"transactionStatus": "PDNG", "paymentId": paid.find("paymentId"), "signInfo.state": "OPEN"}
        members |= {"signInfo.url": SIGN, "_links.self.href": paid.find("_links.self.href")}
        return self.call(name, "DELETE", paid.find("_links.self.href"), 202, members)

    def decide(self, name: str, asked: Answer, choice: str = "souhlasim") -> None:
        result = "OK" if choice == "souhlasim" else "ZAMITNUTO"
        self._send(name, asked, choice, self._password, 303, {"@Location": f"{BACK}?vysledek={result}"})

    def mistype(self, name: str, asked: Answer) -> None:
        members = PAGE | {"page": re.compile("Klientské číslo nebo heslo nesouhlasí")}
        self._send(name, asked, "souhlasim", "heslo-1", 403, members)

    def _send(self, name: str, asked: Answer, choice: str, password: str, status: int, members: Expected) -> None:
        form = {"klient": self._number, "heslo": password, "volba": choice}
        self.walk.step(name, "POST", asked.find("signInfo.url"), status, members, data=form)

    def see(self, name: str, asked: Answer, link: str, members: Expected) -> Answer:
        """Read what a link of an answer leads to."""
        return self.call(name, "GET", asked.find(f"_links.{link}.href"), 200, members)

    def check(self, name: str, consent: Any, iban: Any, value: int, is_covered: bool) -> None:
        members: dict[str, Any] = {"fundsAvailable": is_covered, "response": "APPR" if is_covered else "DECL"}
        members |= {"responseIdentification": re.compile(r"^\d{9}$")}
        sent = {"account": {"iban": iban}, "instructedAmount": crowns(value)}
        self.call(name, "POST", FUNDS, 200, members, consent=consent, json=sent)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = MoravaApp(walk, "7710482", "Lipova-alej-7")
    stranger = ("UNAUTHORISED", "WEB-API-Key", "Klíč aplikace chybí nebo neplatí")
    app.refuse("no key", "POST", f"{ROOT}/consents", 401, *stranger, json={}, without=("WEB-API-Key",))
    good = app.consent(EVERYTHING, 8, 2)
    lacking = ("PARAMETER_MISSING", "validUntil", "Chybí povinný údaj validUntil")
    sent = app.consent(EVERYTHING, 8, 2, validUntil=None)
    app.refuse("consent without an end", "POST", f"{ROOT}/consents", 400, *lacking, json=sent)
    asked = app.ask("consent", good)
    use = {"consent": asked.find("consentId")}
    early: dict[str, Any] = {"parameters": {"consentStatus": "received"}, **use}
    unusable = ("CONSENT_NOT_USABLE", "Consent-ID", "Souhlas nelze použít")
    app.refuse("accounts too early", "GET", f"{ROOT}/accounts", 401, *unusable, **early)
    app.mistype("wrong password", asked)
    app.decide("customer confirms", asked)
    members: Expected = {
        "consentStatus": "valid",
        "consentId": asked.find("consentId"),
        "signInfo": {"state": "DONE"},
        "access.accounts.#": 2,
        "access.transactions.1.iban": re.compile(r"^CZ\d{22}$"),
        "validUntil": good["validUntil"],
        "frequencyPerDay": 2,
        "recurringIndicator": True,
    }
    app.see("consent is valid", asked, "self", members)
    away: dict[str, Any] = {"without": ("PSU-IP-Address",), **use}
    members = {
        "accounts.#": 2,
        "accounts.0.resourceId": re.compile(r"^u[0-9a-f]{14}$"),
        "accounts.0.iban": re.compile(r"^CZ\d{22}$"),
        "accounts.0.accountNumber": re.compile(r"^\d{9}/6950$"),
        "accounts.0.ownersNames": ["Tereza Nováková"],
        "accounts.0.currency": "CZK",
        "accounts.1.product": "Spořicí účet Pramen",
        "accounts.1.cashAccountType": "SVGS",
        "@X-Access-Left": "1",
    }
    accounts = app.call("accounts", "GET", f"{ROOT}/accounts", 200, members, **away)
    main, other = accounts.find("accounts.0.iban"), accounts.find("accounts.1.iban")
    balance, history = (accounts.find(f"accounts.0._links.{kind}.href") for kind in ("balances", "transactions"))
    unknown = ("ID_NOT_FOUND", "resourceId", "Záznam u00000000000001 neexistuje")
    app.refuse("unknown account", "GET", f"{ROOT}/accounts/u00000000000001/balances", 404, *unknown, **use)
    members = {"account.iban": main, "balances.0.referenceDate": app.day(-1), "balances.1.referenceDate": app.day()}
    seen = app.call("balances", "GET", balance, 200, {**members, "@X-Access-Left": "0"}, **away)
    before = cents(seen.find("balances.1.balanceAmount"))
    often = ("ACCESS_EXCEEDED", "frequencyPerDay", "Denní počet dotazů bez klienta je vyčerpán")
    query = {"bookingStatus": "booked", "dateFrom": app.day(-60), "size": "10"}
    told: dict[str, Any] = {"params": query, "parameters": {"frequencyPerDay": 2}, **away}
    app.refuse("transactions too often", "GET", history, 429, *often, **told)
    app.check("funds are there", use["consent"], main, 1_290_050, True)
    app.check("funds are not there", use["consent"], main, 90_000_000, False)

    pay = {
        "debtorAccount": {"iban": main},
        "instructedAmount": crowns(1_290_050),
        "creditorAccount": {"iban": "CZ7908000000002000145399"},
        "creditorName": "Truhlářství Javůrek",
        "variableSymbol": "20260118",
        "remittanceInformationUnstructured": "Jídelní stůl",
    }
    paid = app.pay("payment", DOMESTIC, pay)
    app.decide("customer confirms the payment", paid)
    app.see("funds are held", paid, "status", {"transactionStatus": "ACFC", "fundsAvailable": True})
    app.call("balances with the amount held", "GET", balance, 200, balances(before, before - 1_290_050), **use)
    wait(timedelta(minutes=6))
    members = {"transactionStatus": "ACSC", "paymentId": paid.find("paymentId"), "settlementDate": app.day(), **pay}
    members |= {"constantSymbol": "0308", "requestedExecutionDate": app.day(), "signInfo": {"state": "DONE"}}
    app.see("payment is done", paid, "self", members)
    late = ("OPERATION_NOT_ALLOWED", "paymentId", "Platbu již nelze zrušit")
    told = {"parameters": {"transactionStatus": "ACSC"}}
    app.refuse("cancel too late", "DELETE", paid.find("_links.self.href"), 409, *late, **told)
    over = ("AMOUNT_LIMIT", "instructedAmount.amount", "Částka překračuje limit okamžité platby")
    told = {"json": pay | {"instructedAmount": crowns(10_000_001)}, "parameters": {"limit": crowns(10_000_000)}}
    app.refuse("instant payment over the limit", "POST", INSTANT, 400, *over, **told)
    quick = app.pay("instant payment", INSTANT, pay | {"instructedAmount": crowns(45_500), "constantSymbol": "0558"})
    app.decide("customer confirms it", quick)
    app.see("instant payment is done", quick, "status", {"transactionStatus": "ACSC", "fundsAvailable": True})
    members = {"account.iban": main, "pageNumber": 1, "pageCount": 2, "pageSize": 10, "nextPage": 2}
    members |= {"transactions.booked.#": 10, "transactions.booked.0.creditDebitIndicator": "CRDT"}
    members |= {"transactions.booked.0.debtorName": "Výplata s.r.o.", "transactions.booked.9.creditorName": str}
    rows = app.call("transactions", "GET", history, 200, members, params=query, **use)
    members = {"pageNumber": 2, "pageCount": 2, "nextPage": None, "transactions.booked.#": 4}
    for number, value in ((2, 1_290_050), (3, 45_500)):
        row = f"transactions.booked.{number}"
        members |= {f"{row}.transactionAmount": crowns(value), f"{row}.creditDebitIndicator": "DBIT"}
        members |= {f"{row}.{member}": pay[member] for member in ("creditorName", "creditorAccount", "variableSymbol")}
        members |= {f"{row}.bookingDate": app.day(), f"{row}.entryReference": re.compile(r"^Z\d{6}$")}
    query |= {"page": str(rows.find("nextPage"))}
    app.call("last page", "GET", history, 200, members, params=query, **use)
    paid = app.pay("payment to decline", DOMESTIC, pay | {"instructedAmount": crowns(300_000)})
    app.decide("customer declines the payment", paid, "nesouhlasim")
    members = {"transactionStatus": "RJCT", **pay, "instructedAmount": crowns(300_000), "settlementDate": None}
    app.see("payment is rejected", paid, "self", members | {"signInfo": {"state": "REJECTED"}})
    day = {"requestedExecutionDate": app.day(3)}
    paid = app.pay("payment for later", DOMESTIC, pay | {"instructedAmount": crowns(777_700)} | day)
    app.decide("customer confirms the payment for later", paid)
    ended = app.cancel("cancel it", paid)
    app.decide("customer confirms that it ends", ended)
    members = {"transactionStatus": "CANC", "paymentId": paid.find("paymentId"), "settlementDate": None, **day}
    app.see("payment is cancelled", paid, "self", members | {"signInfo": {"state": "DONE"}})

    narrow = app.ask("consent for one account", app.consent({"accounts": [{"iban": other}]}, 30, 4))
    app.decide("customer confirms the consent for one account", narrow)
    members = {"accounts.#": 1, "accounts.0.iban": other, "accounts.0._links": {}, "@X-Access-Left": None}
    app.call("one account", "GET", f"{ROOT}/accounts", 200, members, consent=narrow.find("consentId"))
    members = {"consentStatus": "terminatedByTpp", "consentId": narrow.find("consentId")}
    app.call("delete its consent", "DELETE", narrow.find("_links.self.href"), 200, members)
    wait(9 * DAY)
    told = {"parameters": {"consentStatus": "expired"}, **use}
    app.refuse("balances after the last day", "GET", balance, 401, *unusable, **told)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = MoravaApp(walk, "7735916", "modry.Kocour4")
    lacking = ("PARAMETER_MISSING", "access", "Chybí povinný údaj access")
    sent = app.consent(None, 4, 3)
    app.refuse("consent to nothing", "POST", f"{ROOT}/consents", 400, *lacking, json=sent)
    good = app.consent(EVERYTHING, 4, 3)
    asked = app.ask("consent", good)
    use = {"consent": asked.find("consentId")}
    app.decide("customer confirms", asked)
    members: Expected = {
        "consentStatus": "valid",
        "signInfo": {"state": "DONE"},
        "access.balances.#": 2,
        "access.accounts.0.iban": str,
        "validUntil": good["validUntil"],
        "frequencyPerDay": 3,
    }
    app.see("consent is valid", asked, "self", members)
    members = {"accounts.#": 2, "accounts.1.currency": "CZK", "accounts.0.product": "Běžný účet Řeka"}
    members |= {"accounts.0.servicer": {"bankCode": "6950", "bic": "MRVACZ2B"}, "@X-Access-Left": None}
    accounts = app.call("accounts", "GET", f"{ROOT}/accounts", 200, members, **use)
    main, other = accounts.find("accounts.0.iban"), accounts.find("accounts.1.iban")
    balance, history = (accounts.find(f"accounts.1._links.{kind}.href") for kind in ("balances", "transactions"))
    elsewhere = accounts.find("accounts.0._links.balances.href")
    away: dict[str, Any] = {"without": ("PSU-IP-Address",), **use}
    members = {
        "account.iban": other,
        "balances.0.balanceType": "closingBooked",
        "balances.0.referenceDate": app.day(-1),
    }
    seen = app.call("balances", "GET", balance, 200, {**members, "@X-Access-Left": "2"}, **away)
    before = cents(seen.find("balances.1.balanceAmount"))
    members = {"account.iban": main, "balances.1.balanceType": "interimAvailable", "@X-Access-Left": "1"}
    app.call("balances of the other account", "GET", elsewhere, 200, members, **away)
    app.call("accounts again", "GET", f"{ROOT}/accounts", 200, {"accounts.#": 2, "@X-Access-Left": "0"}, **away)
    often = ("ACCESS_EXCEEDED", "frequencyPerDay", "Denní počet dotazů bez klienta je vyčerpán")
    app.refuse("balances too often", "GET", balance, 429, *often, parameters={"frequencyPerDay": 3}, **away)
    query = {"bookingStatus": "booked", "dateFrom": app.day(-70), "size": "5"}
    unknown = ("ID_NOT_FOUND", "resourceId", "Záznam u99999999999990 neexistuje")
    path = f"{ROOT}/accounts/u99999999999990/transactions"
    app.refuse("transactions of an unknown account", "GET", path, 404, *unknown, params=query, **use)
    members = {"account.iban": other, "pageNumber": 1, "pageSize": 5, "nextPage": 2, "transactions.booked.#": 5}
    members |= {"transactions.booked.0.creditDebitIndicator": "CRDT", "transactions.booked.1.entryReference": str}
    app.call("transactions", "GET", history, 200, members, params=query, **use)

    pay = {
        "debtorAccount": {"iban": other},
        "instructedAmount": crowns(62_490),
        "creditorAccount": {"iban": "CZ4920100000002600417305"},
        "creditorName": "Květinářství Sněženka",
        "variableSymbol": "7741",
        "remittanceInformationUnstructured": "Kytice",
    }
    over = ("AMOUNT_LIMIT", "instructedAmount.amount", "Částka překračuje limit okamžité platby")
    told: dict[str, Any] = {"json": pay | {"instructedAmount": crowns(12_345_600)}}
    told |= {"parameters": {"limit": crowns(10_000_000)}}
    app.refuse("instant payment over the limit", "POST", INSTANT, 400, *over, **told)
    quick = app.pay("instant payment", INSTANT, pay)
    app.mistype("wrong password", quick)
    app.decide("customer confirms the instant payment", quick)
    members = {"transactionStatus": "ACSC", "paymentId": quick.find("paymentId"), "settlementDate": app.day(), **pay}
    members |= {"constantSymbol": "0308", "requestedExecutionDate": app.day(), "signInfo": {"state": "DONE"}}
    app.see("instant payment is done", quick, "self", members)
    left = before - 62_490
    app.call("balances after", "GET", balance, 200, balances(before, left), **use)
    late = ("OPERATION_NOT_ALLOWED", "paymentId", "Platbu již nelze zrušit")
    path = quick.find("_links.self.href")
    app.refuse("cancel too late", "DELETE", path, 409, *late, parameters={"transactionStatus": "ACSC"})
    paid = app.pay("payment to decline", DOMESTIC, pay | {"instructedAmount": crowns(150_000)})
    app.decide("customer declines the payment", paid, "nesouhlasim")
    members = {"transactionStatus": "RJCT", **pay, "instructedAmount": crowns(150_000), "settlementDate": None}
    app.see("payment is rejected", paid, "self", members | {"signInfo": {"state": "REJECTED"}})
    app.check("funds are there", use["consent"], other, left - 100_000, True)
    app.check("funds are not there", use["consent"], other, left + 100_000, False)
    poor = app.pay("payment without funds", DOMESTIC, pay | {"instructedAmount": crowns(left + 100_000)})
    app.decide("customer confirms it without funds", poor)
    app.see("it is rejected", poor, "status", {"transactionStatus": "RJCT", "fundsAvailable": False})
    soon, far = ({"requestedExecutionDate": app.day(days)} for days in (2, 5))
    later = app.pay("payment for later", DOMESTIC, pay | {"instructedAmount": crowns(210_000)} | soon)
    app.decide("customer confirms the payment for later", later)
    pay |= {"creditorName": "Pila Vsetín", "creditorAccount": {"iban": "CZ8255000000000008841063"}}
    paid = app.pay("payment", DOMESTIC, pay | {"instructedAmount": crowns(3_480_075), "constantSymbol": "0008"})
    app.decide("customer confirms the payment", paid)
    app.see("funds are held", paid, "status", {"transactionStatus": "ACFC", "fundsAvailable": True})
    distant = app.pay("payment for another day", DOMESTIC, pay | {"instructedAmount": crowns(99_900)} | far)
    app.decide("customer confirms the payment for another day", distant)
    ended = app.cancel("cancel it", distant)
    app.decide("customer confirms that it ends", ended)
    app.see("it is cancelled", distant, "status", {"transactionStatus": "CANC"})
    refused = app.ask("consent to decline", app.consent({"accounts": [{"iban": main}]}, 60, 1))
    app.decide("customer declines the consent", refused, "nesouhlasim")
    unusable = ("CONSENT_NOT_USABLE", "Consent-ID", "Souhlas nelze použít")
    told = {"parameters": {"consentStatus": "rejected"}, "consent": refused.find("consentId")}
    app.refuse("accounts without consent", "GET", f"{ROOT}/accounts", 401, *unusable, **told)
    wait(2 * DAY)
    members = {"transactionStatus": "ACSC", "settlementDate": app.day(2), "constantSymbol": "0308", **soon}
    app.see("payment for later is done", later, "self", members)
    row, older = "transactions.booked.2", "transactions.booked.1"
    members = {"pageNumber": 1, "pageCount": 1, "nextPage": None, "transactions.booked.#": 3}
    members |= {f"{row}.transactionAmount": crowns(210_000), f"{row}.creditorName": "Květinářství Sněženka"}
    members |= {f"{older}.transactionAmount": crowns(3_480_075), f"{older}.creditorName": "Pila Vsetín"}
    members |= {f"{row}.bookingDate": app.day(), f"{older}.bookingDate": app.day(-2)}
    query = {"bookingStatus": "booked", "dateFrom": app.day(-2)}
    app.call("transactions since the beginning", "GET", history, 200, members, params=query, **use)
    wait(3 * DAY)
    told = {"parameters": {"consentStatus": "expired"}, **use}
    app.refuse("transactions after the last day", "GET", history, 401, *unusable, params=query, **told)
    return walk.steps
