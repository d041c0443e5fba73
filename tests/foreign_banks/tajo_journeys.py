"""Two journeys of the app Monedero and its customers at Tajo."""

import re
from datetime import date, timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK, BACK_NOK = "https://monedero.example/tajo/ok", "https://monedero.example/tajo/no"
CONSENTS, ACCOUNTS = "/v1/consents", "/v1/accounts"
ONCE, PERIODIC = "/v1/payments/sepa-credit-transfers", "/v1/periodic-payments/sepa-credit-transfers"
CODE = "135790"


def link(answer: Answer, rel: str) -> Any:
    return answer.pick("_links", rel=rel).get("href")


def balance(answer: Answer, kind: str) -> int:
    """The cents of a balance, or 0."""
    amount = answer.pick("balances", balanceType=kind).get("balanceAmount", {}).get("amount", "0")
    return int(str(amount).replace(".", ""))


def money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


def balances(available: int, booked: int) -> dict[str, Any]:
    return {
        "balances.0.balanceType": "interimAvailable",
        "balances.0.balanceAmount.amount": money(available),
        "balances.1.balanceType": "contable",
        "balances.1.balanceAmount.amount": money(booked),
    }


class TajoApp:
    def __init__(self, walk: Walk, user: str, secret: str) -> None:
        self.walk, self._user, self._secret = walk, user, secret

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
        id = str(uuid5(NAMESPACE_URL, f"{self._user} {name}"))
        sent = {"X-Request-ID": id, "TPP-License": "PSDES-BDE-3DFD21", "PSU-IP-Address": "192.0.2.14"}
        if method == "POST":
            sent |= {"TPP-Redirect-URI": BACK, "TPP-Nok-Redirect-URI": BACK_NOK}
        if consent:
            sent["Consent-ID"] = str(consent)
        sent.pop(without, None)
        told: dict[str, Any] = {} if without == "X-Request-ID" else {"@X-Request-ID": id}
        if status >= 400:
            told |= {"requestId": told.get("@X-Request-ID")}
        return self.walk.step(name, method, path, status, {**told, **(members or {})}, headers=sent, **request)

    def refuse(
        self, name: str, method: str, path: Any, status: int, code: str, place: str = "", **request: Any
    ) -> None:
        members: dict[str, Any] = {"errors.#": 1, "errors.0.severity": "ERROR", "errors.0.code": code}
        members |= {"errors.0.number": re.compile(r"^TJ-\d{4}$")}
        self.call(name, method, path, status, members | ({"errors.0.path": place} if place else {}), **request)

    def closed(self, name: str, path: str, consent: Any, state: str, **request: Any) -> None:
        members = {"consentStatus": state, "errors.0.code": "CONSENT_INVALID", "errors.0.number": "TJ-2011"}
        self.call(name, "GET", path, 401, members, consent=consent, **request)

    def wish(self, names: list[str], often: int, days: int) -> dict[str, Any]:
        access: dict[str, list[str]] = {name: [] for name in names}
        return {
            "access": access,
            "recurringIndicator": True,
            "frequencyPerDay": often,
            "validUntil": self.day(days),
        }

    def begin(
        self, name: str, path: str, id: str, form: str, state: Expected, body: dict[str, Any]
    ) -> tuple[Any, Answer]:
        """Return the id of what is made, and the answer."""
        members = {
            id: re.compile(f"^{form}$"),
            **state,
            "scaStatus": "received",
            "_links.#": 3,
            "_links.0.rel": "scaRedirect",
            "_links.0.href": re.compile(r"^/firma/\w{22}$"),
            "@Location": re.compile(f"^{path}/{form}$"),
            "@ASPSP-SCA-Approach": "REDIRECT",
        }
        made = self.call(name, "POST", path, 201, members, json=body)
        return made.find(id), made

    def ask(self, name: str, wish: dict[str, Any]) -> tuple[Any, Answer]:
        return self.begin(name, CONSENTS, "consentId", r"cns_\w{16}", {"consentStatus": "received"}, wish)

    def pay(self, name: str, body: dict[str, Any]) -> tuple[Any, Answer]:
        path, form = (PERIODIC, r"TJP\d{13}") if "frequency" in body else (ONCE, r"TJO\d{13}")
        return self.begin(name, path, "paymentId", form, {"transactionStatus": "RCVD"}, body)

    def payment(self, payer: Any, payee: tuple[str, str], amount: str, text: str, **more: str) -> dict[str, Any]:
        return {
            "debtorAccount": {"iban": payer},
            "creditorAccount": {"iban": payee[0]},
            "creditorName": payee[1],
            "instructedAmount": {"currency": "EUR", "amount": amount},
            "remittanceInformationUnstructured": text,
            **more,
        }

    def follow(self, name: str, path: str, id: Any, state: str) -> None:
        self.call(name, "GET", f"{path}/{id}/status", 200, {"paymentId": id, "transactionStatus": state})

    def cancel(self, name: str, path: str, id: Any) -> None:
        self.call(name, "DELETE", f"{path}/{id}", 200, {"paymentId": id, "transactionStatus": "ANUL"})

    def log_in(self, name: str, page: Any, next: str, secret: str = "") -> Answer:
        form = {"paso": "acceso", "usuario": self._user, "clave": secret or self._secret, "accion": "continuar"}
        found = {"page": re.compile("Usuario o clave incorrectos" if secret else f'name="paso" value="{next}"')}
        return self.walk.step(name, "POST", page, 401 if secret else 200, PAGE | found, data=form)

    def choose(self, name: str, page: Any, ibans: list[str]) -> None:
        form = {"paso": "cuentas", "cuenta": ibans, "accion": "continuar"}
        self.walk.step(name, "POST", page, 200, PAGE | {"page": re.compile('value="firma"')}, data=form)

    def sign(self, name: str, page: Any, id: Any) -> None:
        form = {"paso": "firma", "codigo": CODE, "accion": "continuar"}
        self.walk.step(name, "POST", page, 303, {"@Location": f"{BACK}?id={id}&result=OK"}, data=form)

    def decline(self, name: str, page: Any, id: Any) -> None:
        form = {"paso": "acceso", "accion": "rechazar"}
        self.walk.step(name, "POST", page, 303, {"@Location": f"{BACK_NOK}?id={id}&result=KO"}, data=form)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = TajoApp(walk, "05417733K", "ribera84")
    wish = app.wish(["balances", "transactions"], 4, 90)
    header = "X-Request-ID"
    app.refuse("consent without an id", "POST", CONSENTS, 400, "FORMAT_ERROR", header, json=wish, without=header)
    wish = app.wish(["balances", "transactions"], 4, 90)
    often = wish | {"frequencyPerDay": 12}
    app.refuse("consent for too often", "POST", CONSENTS, 400, "FORMAT_ERROR", "frequencyPerDay", json=often)
    consent, made = app.ask("consent", wish)
    page = link(made, "scaRedirect")
    walk.step("customer's page", "GET", page, 200, PAGE | {"page": re.compile('name="paso" value="acceso"')})
    app.log_in("customer mistypes the password", page, "", "ribera48")
    ibans = app.log_in("customer logs in", page, "cuentas").fields.get("cuenta", [])
    app.choose("customer chooses both accounts", page, ibans)
    app.sign("customer signs", page, consent)
    app.call("authorisation is finalised", "GET", link(made, "scaStatus"), 200, {"scaStatus": "finalised"})
    members: dict[str, Any] = {
        "consentId": consent,
        "consentStatus": "valid",
        "access.balances.#": 2,
        "access.transactions.1.iban": ibans[-1] if ibans else None,
        "validUntil": app.day(90),
        "frequencyPerDay": 4,
    }
    app.call("consent is valid", "GET", f"{CONSENTS}/{consent}", 200, members)
    members = {
        "accounts.#": 2,
        "accounts.0.resourceId": re.compile(r"^[0-9a-f]{14}$"),
        "accounts.0.iban": ibans[0] if ibans else None,
        "accounts.0.currency": "EUR",
        "accounts.0.ownerName": "Lucia Ferrer Pons",
        "accounts.0._links.0.rel": "balances",
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, consent=consent)
    account, iban = accounts.find("accounts.0.resourceId"), accounts.find("accounts.0.iban")
    funds, entries = f"{ACCOUNTS}/{account}/balances", f"{ACCOUNTS}/{account}/transactions"
    members = {"account.iban": iban, "balances.#": 2, "balances.1.balanceType": "contable", "referenceDate": app.day(0)}
    before = app.call("balances", "GET", funds, 200, members, consent=consent)
    booked = balance(before, "contable")
    query = {"dateFrom": app.day(-60), "dateTo": app.day(-2), "bookingStatus": "booked", "limit": "5"}
    members = {
        "account.iban": iban,
        "transactions.booked.#": 5,
        "transactions.booked.0.creditDebitIndicator": re.compile("^(DBIT|CRDT)$"),
        "transactions.booked.0.transactionAmount.amount": re.compile(r"^\d+\.\d\d$"),
        "transactions.booked.0.balanceAfterTransaction.currency": "EUR",
        "remaining": int,
        "_links.1.rel": "next",
    }
    report = app.call("transactions", "GET", entries, 200, members, consent=consent, params=query)
    members = {"transactions.booked.#": 5, "remaining": (report.find("remaining") or 0) - 5}
    app.call("next transactions", "GET", link(report, "next"), 200, members, consent=consent)
    query = {"dateFrom": app.day(-60)}
    app.refuse(
        "which transactions", "GET", entries, 400, "FORMAT_ERROR", "bookingStatus", consent=consent, params=query
    )
    nowhere = f"{ACCOUNTS}/00000000000000/balances"
    app.refuse("balances of an unknown account", "GET", nowhere, 404, "RESOURCE_UNKNOWN", consent=consent)

    landlord = ("ES9121000418450200051332", "Inmobiliaria Sol")
    rent = app.payment(iban, landlord, "745.50", "Alquiler junio")
    wrong = rent | {"creditorAccount": {"iban": "ES9221000418450200051332"}}
    app.refuse("payment to a mistyped IBAN", "POST", ONCE, 400, "FORMAT_ERROR", "creditorAccount.iban", json=wrong)
    much = rent | {"instructedAmount": {"currency": "EUR", "amount": "98000.00"}}
    app.refuse("payment above the balance", "POST", ONCE, 422, "FUNDS_NOT_AVAILABLE", "instructedAmount", json=much)
    paid, made = app.pay("payment", rent)
    app.log_in("customer logs in for it", link(made, "scaRedirect"), "firma")
    app.sign("customer signs the payment", link(made, "scaRedirect"), paid)
    app.follow("payment is signed", ONCE, paid, "SIGN")
    wait(timedelta(minutes=4))
    app.follow("payment is in process", ONCE, paid, "ACSP")
    members = balances(booked - 74_550, booked)
    app.call("balances with the amount reserved", "GET", funds, 200, members, consent=consent)
    wait(timedelta(minutes=40))
    app.follow("payment is booked", ONCE, paid, "ACSC")
    start = app.day(1)
    saving = app.payment(
        iban, ("ES7921000813610123456789", "Lucia Ferrer"), "120.00", "Ahorro", frequency="MNTH", startDate=start
    )
    regular, made = app.pay("periodic payment", saving)
    app.log_in("customer logs in for the periodic one", link(made, "scaRedirect"), "firma")
    app.sign("customer signs the periodic payment", link(made, "scaRedirect"), regular)
    wait(DAY)
    first_day = date.fromisoformat(start)
    members = {
        "paymentId": regular,
        "transactionStatus": "ACTV",
        "instructedAmount.amount": "120.00",
        "frequency": "MNTH",
        "nextExecutionDate": first_day.replace(month=first_day.month + 1).isoformat(),
    }
    app.call("periodic payment has been paid once", "GET", f"{PERIODIC}/{regular}", 200, members)
    query = {"dateFrom": app.day(-1), "bookingStatus": "both"}
    members = {
        "transactions.booked.#": int,
        "transactions.booked.0.bookingDate": app.day(0),
        "transactions.booked.0.transactionAmount.amount": "120.00",
        "transactions.booked.0.balanceAfterTransaction.amount": money(booked - 86_550),
        "transactions.booked.1.creditDebitIndicator": "DBIT",
        "transactions.booked.1.transactionAmount.amount": "745.50",
        "transactions.booked.1.counterpartyName": "Inmobiliaria Sol",
        "transactions.pending.#": 0,
        **balances(booked - 86_550, booked - 86_550),
    }
    app.call("transactions after", "GET", entries, 200, members, consent=consent, params=query)
    app.cancel("cancel the periodic payment", PERIODIC, regular)
    other, made = app.pay("payment to decline", app.payment(iban, landlord, "60.00", "Garaje"))
    app.decline("customer declines", link(made, "scaRedirect"), other)
    app.follow("payment is rejected", ONCE, other, "RJCT")
    app.call("end of the consent", "DELETE", f"{CONSENTS}/{consent}", 204)
    app.closed("accounts after the end", ACCOUNTS, consent, "terminatedByTpp")
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = TajoApp(walk, "71220968D", "encina27")
    wish = app.wish(["balances", "transactions"], 3, 6)
    past = wish | {"validUntil": app.day(-3)}
    app.refuse("consent until a day that has passed", "POST", CONSENTS, 400, "FORMAT_ERROR", "validUntil", json=past)
    wish = app.wish(["balances", "transactions"], 3, 6)
    consent, made = app.ask("consent", wish)
    page = link(made, "scaRedirect")
    unwanted, made = app.ask("consent to decline", app.wish(["balances"], 1, 60))
    app.closed("accounts too early", ACCOUNTS, consent, "received")
    app.decline("customer declines the second consent", link(made, "scaRedirect"), unwanted)
    ibans = app.log_in("customer logs in", page, "cuentas").fields.get("cuenta", [])
    app.choose("customer chooses one account", page, ibans[:1])
    app.sign("customer signs", page, consent)
    members: dict[str, Any] = {"consentStatus": "valid", "access.balances.#": 1, "access.transactions.#": 1}
    members |= {"validUntil": app.day(6), "access.balances.0.iban": ibans[0] if ibans else None}
    app.call("consent is valid", "GET", f"{CONSENTS}/{consent}", 200, members | {"frequencyPerDay": 3})
    members = {"accounts.#": 1, "accounts.0.resourceId": str, "accounts.0.iban": ibans[0] if ibans else None}
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, consent=consent)
    account, iban = accounts.find("accounts.0.resourceId"), accounts.find("accounts.0.iban")
    funds, entries = f"{ACCOUNTS}/{account}/balances", f"{ACCOUNTS}/{account}/transactions"
    query = {"dateFrom": app.day(-45), "bookingStatus": "booked", "limit": "3"}
    members = {"transactions.booked.#": 3, "transactions.booked.2.entryReference": str, "_links.1.rel": "next"}
    report = app.call("transactions", "GET", entries, 200, members, consent=consent, params=query)
    members = {"transactions.booked.#": 3, "remaining": (report.find("remaining") or 0) - 3, "_links.1.rel": "next"}
    app.call("next transactions", "GET", link(report, "next"), 200, members, consent=consent)
    members = {"account.iban": iban, "balances.0.balanceType": "interimAvailable", "referenceDate": app.day(0)}
    before = app.call("balances", "GET", funds, 200, members, consent=consent)
    booked = balance(before, "contable")
    query = {"bookingStatus": "booked"}
    app.refuse("since when", "GET", entries, 400, "FORMAT_ERROR", "dateFrom", consent=consent, params=query)

    garage, choir = ("ES7921000813610123456789", "Taller Moncloa"), ("ES9121000418450200051332", "Coro San Telmo")
    dues = app.payment(iban, choir, "35.00", "Cuota", frequency="MNTH", startDate=app.day(3))
    wrong = dues | {"creditorAccount": {"iban": "ES9321000418450200051332"}}
    place = "creditorAccount.iban"
    app.refuse("periodic payment to a wrong IBAN", "POST", PERIODIC, 400, "FORMAT_ERROR", place, json=wrong)
    much = app.payment(iban, garage, money(booked + 1), "Ruedas")
    app.refuse("payment a cent too high", "POST", ONCE, 422, "FUNDS_NOT_AVAILABLE", "instructedAmount", json=much)
    regular, made = app.pay("periodic payment", dues)
    regular_page = link(made, "scaRedirect")
    tyres, made = app.pay("payment", app.payment(iban, garage, "412.80", "Ruedas"))
    tyres_page = link(made, "scaRedirect")
    stopped, made = app.pay("payment to cancel", app.payment(iban, choir, "18.25", "Partituras"))
    stopped_page = link(made, "scaRedirect")
    app.log_in("customer logs in for the third", stopped_page, "firma")
    app.sign("customer signs the third", stopped_page, stopped)
    app.log_in("customer mistypes the password", tyres_page, "", "encina72")
    app.log_in("customer logs in for the second", tyres_page, "firma")
    app.sign("customer signs the second", tyres_page, tyres)
    members = balances(booked - 43_105, booked)
    app.call("balances with two amounts reserved", "GET", funds, 200, members, consent=consent)
    app.cancel("cancel the third", ONCE, stopped)
    app.decline("customer declines the periodic payment", regular_page, regular)
    members = {"transactionStatus": "RJCT", "frequency": "MNTH", "instructedAmount.amount": "35.00"}
    members |= {"creditorName": "Coro San Telmo", "nextExecutionDate": None}
    app.call("periodic payment is rejected", "GET", f"{PERIODIC}/{regular}", 200, members)
    wait(timedelta(minutes=5))
    app.follow("second payment is in process", ONCE, tyres, "ACSP")
    app.refuse("cancel it too late", "DELETE", f"{ONCE}/{tyres}", 409, "STATUS_INVALID")
    wait(timedelta(hours=1))
    app.follow("second payment is booked", ONCE, tyres, "ACSC")
    query = {"dateFrom": app.day(0), "bookingStatus": "both"}
    members = {
        "transactions.booked.#": 1,
        "transactions.booked.0.transactionAmount.amount": "412.80",
        "transactions.booked.0.counterpartyName": "Taller Moncloa",
        "transactions.booked.0.remittanceInformationUnstructured": "Ruedas",
        "transactions.booked.0.balanceAfterTransaction.amount": money(booked - 41_280),
        "transactions.pending.#": 0,
        "remaining": 0,
        **balances(booked - 41_280, booked - 41_280),
    }
    app.call("transactions after", "GET", entries, 200, members, consent=consent, params=query)
    app.follow("third payment is still cancelled", ONCE, stopped, "ANUL")
    wait(7 * DAY)
    app.call("consent has expired", "GET", f"{CONSENTS}/{consent}", 200, {"consentStatus": "expired"})
    app.closed("balances after a week", funds, consent, "expired")
    return walk.steps
