"""Two journeys at Mures: Ioana Popa pays for repairs, and Mihai Stan pays his taxes."""

import base64
import hashlib
import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

CLIENT, SECRET, BACK = "banut-mobil", "vreau-la-munte", "https://banut.example/inapoi"
CONSENTS, ACCOUNTS, PAYMENTS = "/psd2/v1/consents", "/psd2/v1/accounts", "/psd2/v1/payments"
DOMESTIC, INSTANT = "domestic-credit-transfers", "instant-credit-transfers"
AUTHORIZE = re.compile(r"^https?://[^/]+/oauth/authorize$")
ACCOUNT: Expected = {
    "resourceId": re.compile(r"^\d{9}$"),
    "iban": re.compile(r"^RO\d\dMURE\d{16}$"),
    "currency": "RON",
    "cashAccountType": "CACC",
    "status": "enabled",
}


def bani(answer: Answer, kind: str) -> int:
    """A balance in hundredths, or 0."""
    amount = (answer.pick("balances", balanceType=kind).get("balanceAmount") or {}).get("amount", "0")
    return int(str(amount).replace(".", ""))


def lei(bani: int) -> str:
    return f"{bani / 100:.2f}"


def under(place: str, members: Expected) -> dict[str, Any]:
    return {f"{place}.{name}": value for name, value in members.items()}


class MuresApp:
    def __init__(self, walk: Walk, customer: tuple[str, str]) -> None:
        self.walk, self._customer = walk, customer
        self._consent, self._token, self._refresher = "none", "none", "none"

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).date().isoformat()

    def _id(self, name: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"{self._customer[0]} {name}"))

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        *,
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        sent = {"X-Request-ID": self._id(name), "X-Client-ID": CLIENT} | (headers or {})
        expected = {"@X-Request-ID": sent["X-Request-ID"], **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def refuse(self, name: str, method: str, path: str, status: int, code: str, place: str, **request: Any) -> None:
        self.call(name, method, path, status, self._message(code, place), **request)

    def refuse_read(self, name: str, path: str, status: int, code: str, place: str, **request: Any) -> None:
        self.read(name, path, status, self._message(code, place), **request)

    def _message(self, code: str, place: str) -> dict[str, Any]:
        message = {"category": "ERROR", "code": code, "path": place}
        return under("tppMessages.0", message) | {"traceId": re.compile(r"^[0-9a-f]{16}$")}

    def read(
        self, name: str, path: str, status: int, members: Expected | None = None, *, alone: bool = False, **request: Any
    ) -> Answer:
        """Read with the consent. The customer is present unless `alone`."""
        headers = {"Consent-ID": self._consent, "Authorization": f"Bearer {self._token}"}
        if not alone:
            headers["PSU-IP-Address"] = "198.51.100.24"
        return self.call(name, "GET", path, status, members, headers=headers, **request)

    # Consents and payments

    def wish(self, days: int, often: int, **more: Any) -> dict[str, Any]:
        wish = {"access": {"allPsd2": "allAccounts"}, "recurringIndicator": True, "validUntil": self.day(days)}
        return wish | {"frequencyPerDay": often, "combinedServiceIndicator": False} | more

    def ask(self, name: str, wish: dict[str, Any], members: Expected | None = None) -> Answer:
        made = {
            "consentStatus": "received",
            "consentId": re.compile(r"^MC\w{14}$"),
            "validUntil": wish["validUntil"],
            "tppMessages": None,
            "_links.scaOAuth.href": AUTHORIZE,
            "_links.self.href": re.compile(rf"^{CONSENTS}/MC\w{{14}}$"),
            "@Location": re.compile(rf"^{CONSENTS}/MC\w{{14}}$"),
            "@ASPSP-SCA-Approach": "REDIRECT",
        }
        return self.call(name, "POST", CONSENTS, 201, made | dict(members or {}), json=wish)

    def pay(self, name: str, product: str, payment: dict[str, Any], fee: str) -> Answer:
        members = {
            "transactionStatus": "RCVD",
            "paymentId": re.compile(r"^MP\d{12}$"),
            "transactionFees.amount": fee,
            "transactionFees.currency": "RON",
            "_links.scaOAuth.href": AUTHORIZE,
            "_links.status.href": re.compile(rf"^{PAYMENTS}/{product}/MP\d{{12}}/status$"),
            "@ASPSP-SCA-Approach": "REDIRECT",
        }
        return self.call(name, "POST", f"{PAYMENTS}/{product}", 201, members, json=payment)

    def refuse_payment(self, name: str, product: str, payment: dict[str, Any], code: str, place: str) -> None:
        self.refuse(name, "POST", f"{PAYMENTS}/{product}", 400, code, place, json=payment)

    def look(self, name: str, made: Answer, status: str, members: Expected | None = None) -> None:
        """Read the status of what was made."""
        member = "consentStatus" if made.find("consentId") else "transactionStatus"
        self.call(name, "GET", str(made.find("_links.status.href")), 200, {member: status, **(members or {})})

    # The customer

    def open(self, name: str, made: Answer, shows: str) -> str:
        """Open the page for what was made, and return its ticket."""
        consent, payment = made.find("consentId"), made.find("paymentId")
        verifier = self._verifier(made)
        query = {
            "response_type": "code",
            "client_id": CLIENT,
            "redirect_uri": BACK,
            "scope": f"AIS:{consent}" if consent else f"PIS:{payment}",
            "state": self._state(made),
            "code_challenge": base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        url = f"{made.find('_links.scaOAuth.href')}?{urlencode(query)}"
        page = self.walk.step(name, "GET", url, 200, PAGE | {"page": re.compile(re.escape(shows))})
        return page.fields.get("ticket", [""])[0]

    def _state(self, made: Answer) -> str:
        return "s-" + str(made.find("consentId") or made.find("paymentId"))[-6:]

    def _verifier(self, made: Answer) -> str:
        return f"{self._id('verifier')}-{self._state(made)}"

    def _decide(self, ticket: str, decision: str, password: str) -> dict[str, str]:
        return {"ticket": ticket, "utilizator": self._customer[0], "parola": password, "decizie": decision}

    def mistype(self, name: str, ticket: str, password: str) -> None:
        members = PAGE | {"page": re.compile("Utilizator sau parolă greșită")}
        self.walk.step(name, "POST", "/oauth/login", 200, members, data=self._decide(ticket, "accept", password))

    def approve(self, name: str, made: Answer, ticket: str) -> str:
        """Return the code."""
        members = {"@Location": re.compile(rf"^{re.escape(BACK)}\?code=\w{{20}}&state={self._state(made)}$")}
        form = self._decide(ticket, "accept", self._customer[1])
        back = self.walk.step(name, "POST", "/oauth/login", 302, members, data=form).find("@Location")
        return parse_qs(urlsplit(str(back)).query).get("code", [""])[0]

    def decline(self, name: str, made: Answer, ticket: str) -> None:
        members = {"@Location": f"{BACK}?error=access_denied&state={self._state(made)}"}
        form = self._decide(ticket, "refuz", self._customer[1])
        self.walk.step(name, "POST", "/oauth/login", 302, members, data=form)

    # Tokens

    def _token_form(self, grant: str, **more: str) -> dict[str, str]:
        return {"grant_type": grant, "client_id": CLIENT, "client_secret": SECRET, **more}

    def redeem(self, name: str, made: Answer, code: str) -> str:
        """Return the token. That of a consent is kept for its reads."""
        consent = made.find("consentId")
        verifier = self._verifier(made)
        form = self._token_form("authorization_code", code=code, redirect_uri=BACK, code_verifier=verifier)
        members = {
            "access_token": re.compile(r"^\w{40}$"),
            "token_type": "Bearer",
            "expires_in": 600,
            "scope": f"AIS:{consent}" if consent else f"PIS:{made.find('paymentId')}",
            "refresh_token": re.compile(r"^\w{40}$") if consent else None,
        }
        told = self.walk.step(name, "POST", "/oauth/token", 200, members, data=form)
        token = str(told.find("access_token"))
        if consent:
            self._consent, self._token, self._refresher = str(consent), token, str(told.find("refresh_token"))
        return token

    def refresh(self, name: str) -> None:
        form = self._token_form("refresh_token", refresh_token=self._refresher)
        members = {
            "access_token": re.compile(r"^\w{40}$"),
            "expires_in": 600,
            "scope": f"AIS:{self._consent}",
            "refresh_token": re.compile(r"^\w{40}$"),
        }
        told = self.walk.step(name, "POST", "/oauth/token", 200, members, data=form)
        self._token, self._refresher = str(told.find("access_token")), str(told.find("refresh_token"))

    def refuse_refresh(self, name: str) -> None:
        form = self._token_form("refresh_token", refresh_token=self._refresher)
        members = {"error": "invalid_grant", "error_description": "Invalid or used refresh_token"}
        self.walk.step(name, "POST", "/oauth/token", 400, members, data=form)


def payment(payer: Any, to: tuple[str, str], amount: str, text: str, **more: Any) -> dict[str, Any]:
    return {
        "debtorAccount": {"iban": payer},
        "instructedAmount": {"currency": "RON", "amount": amount},
        "creditorAccount": {"iban": to[0]},
        "creditorName": to[1],
        "remittanceInformationUnstructured": text,
    } | more


def balances(iban: Any, booked: int, available: int) -> dict[str, Any]:
    return {
        "account.iban": iban,
        "balances.#": 2,
        "balances.0.balanceType": "interimBooked",
        "balances.0.balanceAmount.amount": lei(booked),
        "balances.1.balanceType": "interimAvailable",
        "balances.1.balanceAmount.amount": lei(available),
    }


def row(place: str, amount: str, name: str, text: Any, kind: str) -> dict[str, Any]:
    members = {
        "transactionAmount.amount": amount,
        "transactionAmount.currency": "RON",
        "creditDebitIndicator": "DBIT",
        "creditorName": name,
        "remittanceInformationUnstructured": text,
        "transactionType": kind,
    }
    return under(f"transactions.{place}", members)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = MuresApp(walk, ("ioana.popa", "Toamna!2019"))
    combined = app.wish(30, 1, combinedServiceIndicator=True)
    app.refuse(
        "combined consent", "POST", CONSENTS, 400, "SESSIONS_NOT_SUPPORTED", "combinedServiceIndicator", json=combined
    )
    declined = app.ask("consent to decline", app.wish(10, 4))
    ticket = app.open("page to decline", declined, "acces la conturi")
    app.decline("customer declines", declined, ticket)
    app.look("consent is rejected", declined, "rejected")
    consent = app.ask("consent", app.wish(30, 1))
    ticket = app.open("page of the consent", consent, f"banut-mobil cere acces la conturi până la {app.day(30)}")
    app.mistype("customer mistypes the password", ticket, "Toamna!2091")
    code = app.approve("customer approves", consent, ticket)
    app.look("consent is authorised", consent, "authorised")
    app.redeem("token", consent, code)
    own = str(consent.find("_links.self.href"))
    members: dict[str, Any] = {
        "consentStatus": "valid",
        "access.allPsd2": "allAccounts",
        "recurringIndicator": True,
        "frequencyPerDay": 1,
        "validUntil": app.day(30),
        "lastActionDate": app.day(0),
        "accountCount": 2,
    }
    app.call("consent is valid", "GET", own, 200, members)
    members = {"accounts.#": 2, "accounts.0.product": "Cont curent", "accounts.0.ownerName": "POPA IOANA"}
    accounts = app.read("accounts", ACCOUNTS, 200, members | under("accounts.0", ACCOUNT))
    iban = accounts.find("accounts.0.iban")
    held = str(accounts.find("accounts.0._links.balances.href"))
    entries = str(accounts.find("accounts.0._links.transactions.href"))
    members = {
        "account.iban": iban,
        "balances.0.balanceType": "interimBooked",
        "balances.1.balanceType": "interimAvailable",
        "balances.1.balanceAmount.currency": "RON",
        "balances.1.creditLimitIncluded": False,
    }
    before = app.read("balances without the customer", held, 200, members, alone=True)
    booked, available = bani(before, "interimBooked"), bani(before, "interimAvailable")
    app.refuse_read("balances once more", held, 429, "ACCESS_EXCEEDED", "Consent-ID", alone=True)
    query = {"bookingStatus": "booked", "dateFrom": app.day(-85), "dateTo": app.day(-1), "limit": "8"}
    members = {
        "account.iban": iban,
        "transactions.booked.#": 8,
        "transactions.booked.0.creditDebitIndicator": re.compile("^(DBIT|CRDT)$"),
        "transactions.booked.0.transactionAmount.amount": re.compile(r"^\d+\.\d\d$"),
        "transactions.booked.0.transactionType": "POS",
        "transactions._links.next.href": str,
        "pageInfo.page": 1,
        "pageInfo.limit": 8,
        "pageInfo.totalItems": int,
    }
    page = app.read("transactions", entries, 200, members, params=query)
    members = {"transactions.booked.#": 8, "pageInfo.page": 2, "transactions._links.next.href": str}
    app.read("next page", str(page.find("transactions._links.next.href")), 200, members)
    query = {"bookingStatus": "booked", "dateFrom": app.day(-91)}
    app.refuse_read("too old transactions", entries, 400, "HISTORY_LIMIT", "dateFrom", params=query)

    roofer, treasury = ("RO16BTRLRONCRT0123456701", "Acoperișuri Silva SRL"), ("RO56TREZ7002146010300X01", "ANAF")
    wrong = payment(iban, ("RO61BTRLRONCRT0123456701", roofer[1]), "1480.50", "Factura 221")
    app.refuse_payment("mistyped IBAN", DOMESTIC, wrong, "CREDITOR_IBAN_INVALID", "creditorAccount.iban")
    tax = payment(iban, treasury, "310.00", "Impozit locuință")
    app.refuse_payment("tax without a fiscal code", DOMESTIC, tax, "FISCAL_CODE_MISSING", "creditorFiscalCode")
    much = payment(iban, roofer, "50000.01", "Factura 221")
    app.refuse_payment("too much at once", INSTANT, much, "AMOUNT_LIMIT_EXCEEDED", "instructedAmount.amount")
    roof = app.pay("payment", DOMESTIC, payment(iban, roofer, "1480.50", "Factura 221"), "2.50")
    ticket = app.open("page of the payment", roof, "plata de 1480.50 RON către Acoperișuri Silva SRL")
    code = app.approve("customer approves the payment", roof, ticket)
    app.look("payment is authorised", roof, "AUTH", {"reasonCode": None})
    token = app.redeem("token of the payment", roof, code)
    own = str(roof.find("_links.self.href"))
    members = {
        "transactionStatus": "ACSP",
        "paymentId": roof.find("paymentId"),
        "debtorAccount.iban": iban,
        "instructedAmount.amount": "1480.50",
        "creditorAccount.iban": roofer[0],
        "creditorName": roofer[1],
        "remittanceInformationUnstructured": "Factura 221",
        "transactionFees.amount": "2.50",
    }
    app.call("payment is in process", "GET", own, 200, members, headers={"Authorization": f"Bearer {token}"})
    app.refuse("cancel it too late", "DELETE", own, 409, "PAYMENT_NOT_CANCELLABLE", "paymentId")
    app.read("balances with the amount held", held, 200, balances(iban, booked, available - 148_300))
    query = {"bookingStatus": "pending", "dateFrom": app.day(-5)}
    members = {"transactions.pending.#": 1, "transactions.booked": None}
    members |= row("pending.0", "1480.50", roofer[1], "Factura 221", "TRANSFER")
    app.read("pending transactions", entries, 200, members, params=query)
    wait(timedelta(minutes=11))
    app.look("payment is done", roof, "ACSC")
    app.refuse_read("balances with an old token", held, 401, "TOKEN_EXPIRED", "Authorization")
    app.refresh("refreshed token")
    app.read("balances after", held, 200, balances(iban, booked - 148_300, available - 148_300))
    query = {"bookingStatus": "booked", "dateFrom": app.day(0)}
    members = {"transactions.booked.#": 2, "transactions.booked.1.bookingDate": app.day(0), "pageInfo.totalItems": 2}
    members |= row("booked.0", "2.50", "Banca Mures", f"Comision {roof.find('paymentId')}", "FEE")
    members |= row("booked.1", "1480.50", roofer[1], "Factura 221", "TRANSFER")
    app.read("transactions after", entries, 200, members, params=query)

    painter = ("RO23RNCB0074029211550001", "Vopsitorii Unite")
    stopped = app.pay("payment to cancel", DOMESTIC, payment(iban, painter, "75.00", "Avans"), "2.50")
    app.call("cancel the payment", "DELETE", str(stopped.find("_links.self.href")), 204)
    app.look("payment is cancelled", stopped, "CANC")
    refused = app.pay("payment to decline", INSTANT, payment(iban, painter, "82.30", "Avans 2"), "5.00")
    ticket = app.open("page of that payment", refused, "plata de 82.30 RON către Vopsitorii Unite")
    app.decline("customer declines the payment", refused, ticket)
    app.look("payment is rejected", refused, "RJCT", {"reasonCode": "DS02"})
    app.call("end the consent", "DELETE", str(consent.find("_links.self.href")), 204)
    app.look("consent is terminated", consent, "terminatedByTpp")
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = MuresApp(walk, ("mihai.stan", "Retezat#2509"))
    past = app.wish(-1, 2)
    app.refuse("consent for the past", "POST", CONSENTS, 400, "PERIOD_INVALID", "validUntil", json=past)
    warning = under("tppMessages.0", {"category": "WARNING", "code": "VALIDITY_SHORTENED"})
    declined = app.ask("long consent", app.wish(180, 4), {"validUntil": app.day(90), "tppMessages": list, **warning})
    consent = app.ask("consent", app.wish(3, 2))
    ticket = app.open("page of the consent", consent, f"acces la conturi până la {app.day(3)}")
    other = app.open("page of the long consent", declined, 'name="utilizator"')
    code = app.approve("customer approves", consent, ticket)
    app.decline("customer declines the long one", declined, other)
    app.look("long consent is rejected", declined, "rejected")
    app.redeem("token", consent, code)
    members: dict[str, Any] = {
        "consentStatus": "valid",
        "access.allPsd2": "allAccounts",
        "frequencyPerDay": 2,
        "validUntil": app.day(3),
        "accountCount": 3,
    }
    app.call("consent is valid", "GET", str(consent.find("_links.self.href")), 200, members)
    members = under("accounts.1", ACCOUNT) | {"accounts.#": 3, "accounts.1.ownerName": "STAN MIHAI"}
    accounts = app.read("accounts", ACCOUNTS, 200, members)
    iban = accounts.find("accounts.1.iban")
    held = str(accounts.find("accounts.1._links.balances.href"))
    entries = str(accounts.find("accounts.1._links.transactions.href"))
    members = under("account", ACCOUNT) | {"account.iban": iban, "account.ownerName": "STAN MIHAI"}
    app.read("one account", f"{ACCOUNTS}/{accounts.find('accounts.1.resourceId')}", 200, members)
    query = {"bookingStatus": "both", "dateFrom": app.day(-88), "limit": "5"}
    members = {
        "account.iban": iban,
        "transactions.booked.#": 5,
        "transactions.pending.#": 0,
        "transactions.booked.0.transactionAmount.amount": re.compile(r"^\d+\.\d\d$"),
        "pageInfo.page": 1,
        "pageInfo.limit": 5,
    }
    page = app.read("transactions", entries, 200, members, params=query)
    members = {"transactions.booked.#": 5, "pageInfo.page": 2, "transactions._links.next.href": str}
    app.read("next page", str(page.find("transactions._links.next.href")), 200, members)
    query = {"bookingStatus": "booked", "dateFrom": app.day(-120)}
    app.refuse_read("too old transactions", entries, 400, "HISTORY_LIMIT", "dateFrom", params=query)
    members = {
        "account.iban": iban,
        "balances.0.balanceAmount.currency": "RON",
        "balances.1.creditLimitIncluded": False,
    }
    before = app.read("balances without the customer", held, 200, members, alone=True)
    booked, available = bani(before, "interimBooked"), bani(before, "interimAvailable")
    app.read("balances once more", held, 200, balances(iban, booked, available), alone=True)
    app.refuse_read("balances a third time", held, 429, "ACCESS_EXCEEDED", "Consent-ID", alone=True)

    council, school = ("RO75TREZ4762020510100XXX", "Primăria Reghin"), ("RO21INGB0000999901234567", "Școala de schi")
    tax = payment(iban, council, "642.75", "Impozit teren 2026")
    app.refuse_payment("tax without a fiscal code", DOMESTIC, tax, "FISCAL_CODE_MISSING", "creditorFiscalCode")
    much = payment(iban, school, "61200.00", "Curs")
    app.refuse_payment("too much at once", INSTANT, much, "AMOUNT_LIMIT_EXCEEDED", "instructedAmount.amount")
    refused = app.pay("payment to decline", INSTANT, payment(iban, school, "415.00", "Curs iulie"), "5.00")
    paid = app.pay("tax", DOMESTIC, tax | {"creditorFiscalCode": "4323535"}, "2.50")
    ticket = app.open("page of the tax", paid, "plata de 642.75 RON către Primăria Reghin")
    app.mistype("customer mistypes the password", ticket, "Retezat2509")
    code = app.approve("customer approves the tax", paid, ticket)
    app.look("tax is authorised", paid, "AUTH")
    token = app.redeem("token of the tax", paid, code)
    ticket = app.open("page of the course", refused, "plata de 415.00 RON către Școala de schi")
    app.decline("customer declines the course", refused, ticket)
    app.look("course is rejected", refused, "RJCT", {"reasonCode": "DS02"})
    members = {
        "transactionStatus": "ACSP",
        "debtorAccount.iban": iban,
        "instructedAmount.amount": "642.75",
        "creditorName": council[1],
        "creditorFiscalCode": "4323535",
        "transactionFees.amount": "2.50",
    }
    own = str(paid.find("_links.self.href"))
    app.call("tax is in process", "GET", own, 200, members, headers={"Authorization": f"Bearer {token}"})
    app.read("balances with the tax held", held, 200, balances(iban, booked, available - 64_525))
    skis = app.pay("payment to cancel", DOMESTIC, payment(iban, school, "1200.00", "Schiuri"), "2.50")
    ticket = app.open("page of the skis", skis, "plata de 1200.00 RON")
    app.approve("customer approves the skis", skis, ticket)
    app.call("cancel the skis", "DELETE", str(skis.find("_links.self.href")), 204)
    app.look("skis are cancelled", skis, "CANC")
    wait(timedelta(minutes=9))
    app.look("tax is paid", paid, "ACSC")
    wait(timedelta(minutes=4))
    app.refuse_read("balances with an old token", held, 401, "TOKEN_EXPIRED", "Authorization")
    app.refresh("refreshed token")
    app.read("balances after", held, 200, balances(iban, booked - 64_525, available - 64_525))
    query = {"bookingStatus": "booked", "dateFrom": app.day(0)}
    members = {"transactions.booked.#": 2, "pageInfo.totalItems": 2}
    members |= row("booked.0", "2.50", "Banca Mures", f"Comision {paid.find('paymentId')}", "FEE")
    members |= row("booked.1", "642.75", council[1], "Impozit teren 2026", "TRANSFER")
    app.read("transactions after", entries, 200, members, params=query)
    wait(4 * DAY)
    app.look("consent has expired", consent, "expired")
    app.refuse_refresh("refresh after that")
    return walk.steps
