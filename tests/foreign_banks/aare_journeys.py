"""Two journeys of the app Kassenbuch and its customers at Aarebank."""

import base64
import hashlib
import re
from datetime import date, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://kassenbuch.example/aare/zurueck"
BASIC = ("kassenbuch", "Rosengarten!31")
ACCOUNTS, VALIDATIONS, ORDERS = "/ais/v2/accounts", "/pis/v2/order-validations", "/pis/v2/payment-orders"
ZURICH = ZoneInfo("Europe/Zurich")
UUID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$")
ORDER = re.compile(r"^A\d{6}-[0-9A-Z]{8}$")
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0[12]:00$")


def money(rappen: int) -> dict[str, str]:
    return {"value": f"{rappen // 100}.{rappen % 100:02}", "currency": "CHF"}


def rappen(answer: Answer, place: str) -> int:
    """The amount at this place, or 0."""
    value = str(answer.find(place))
    return int(value.replace(".", "")) if re.fullmatch(r"\d+\.\d\d", value) else 0


class AareApp:
    def __init__(self, walk: Walk, customer: tuple[str, str]) -> None:
        self.walk = walk
        self._credentials = {"vertragsnummer": customer[0], "passwort": customer[1]}
        self._token: Any = None
        self._refresh: Any = None

    @property
    def today(self) -> date:
        return self.walk.now.astimezone(ZURICH).date()

    def _verifier(self, word: str) -> str:
        return hashlib.sha256(f"{self._credentials['vertragsnummer']} {word}".encode()).hexdigest()

    def wish(self, word: str, scope: str, until: date) -> dict[str, str]:
        digest = hashlib.sha256(self._verifier(word).encode()).digest()
        return {
            "response_type": "code",
            "redirect_uri": BACK,
            "scope": scope,
            "state": self._verifier(f"state {word}")[:20],
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
            "consent_valid_until": until.isoformat(),
        }

    def ask(self, word: str, scope: str, until: date) -> tuple[Any, Any]:
        """Return the consent's id and the URI of the request."""
        members = {"request_uri": re.compile("^urn:ietf:params:oauth:request_uri:"), "expires_in": 90}
        form = self.wish(word, scope, until)
        pushed = self.walk.step(
            f"push {word}", "POST", "/oauth2/par", 201, members | {"consent_id": UUID}, data=form, auth=BASIC
        )
        return pushed.find("consent_id"), pushed.find("request_uri")

    def open(self, word: str, uri: Any) -> Any:
        """Return the page's word for the request."""
        query = {"client_id": BASIC[0], "request_uri": str(uri)}
        members = PAGE | {"page": re.compile('name="vertragsnummer"')}
        page = self.walk.step(f"page of {word}", "GET", "/oauth2/authorize", 200, members, params=query)
        return page.fields.get("vorgang", [None])[0]

    def mistype(self, name: str, case: Any, password: str) -> None:
        form = self._credentials | {"vorgang": str(case), "passwort": password}
        members = PAGE | {"page": re.compile("Vertragsnummer oder Passwort ist falsch")}
        self.walk.step(name, "POST", "/oauth2/login", 200, members, data=form)

    def log_in(self, word: str, case: Any, greeting: str) -> list[str]:
        """Return the ids of the accounts in the page."""
        form = self._credentials | {"vorgang": str(case)}
        members = PAGE | {"page": re.compile(greeting)}
        page = self.walk.step(f"customer signs in for {word}", "POST", "/oauth2/login", 200, members, data=form)
        return page.fields.get("konto", [])

    def allow(self, word: str, case: Any, accounts: list[str]) -> Any:
        """Return the code."""
        form = {"vorgang": str(case), "konto": accounts, "entscheid": "erlauben"}
        state = self._verifier(f"state {word}")[:20]
        members = {"@Location": re.compile(rf"^{re.escape(BACK)}\?code=[\w-]{{28}}&state={state}$")}
        name = f"customer allows {word}"
        location = self.walk.step(name, "POST", "/oauth2/consent", 302, members, data=form).find("@Location")
        return parse_qs(urlsplit(str(location)).query).get("code", [None])[0]

    def deny(self, word: str, case: Any) -> None:
        form = {"vorgang": str(case), "entscheid": "ablehnen"}
        members = {"@Location": f"{BACK}?error=access_denied&state={self._verifier(f'state {word}')[:20]}"}
        self.walk.step(f"customer declines {word}", "POST", "/oauth2/consent", 302, members, data=form)

    def redeem(self, word: str, code: Any, consent: Any, scope: str) -> None:
        form = {"grant_type": "authorization_code", "code": str(code), "redirect_uri": BACK}
        form["code_verifier"] = self._verifier(word)
        self._tokens(f"token of {word}", form, {"consent_id": consent, "scope": scope})

    def refresh(self, name: str) -> None:
        self._tokens(name, {"grant_type": "refresh_token", "refresh_token": str(self._refresh)}, {})

    def _tokens(self, name: str, form: dict[str, str], members: Expected) -> None:
        members = {"access_token": str, "refresh_token": str, "token_type": "bearer", "expires_in": 900, **members}
        told = self.walk.step(name, "POST", "/oauth2/token", 200, members, data=form, auth=BASIC)
        self._token, self._refresh = told.find("access_token"), told.find("refresh_token")

    def look(self, name: str, consent: Any, status: str, **more: Any) -> None:
        members = {"consentId": consent, "consentStatus": status, "requestedAt": TIME} | more
        self.walk.step(name, "GET", f"/consents/v1/consents/{consent}", 200, members, auth=BASIC)

    def call(
        self, name: str, method: str, path: str, status: int, members: Expected | None = None, **request: Any
    ) -> Answer:
        headers = {"Authorization": f"Bearer {self._token}"}
        return self.walk.step(name, method, path, status, members, headers=headers, **request)

    def refuse(
        self, name: str, method: str, path: str, status: int, kind: str, members: Expected | None = None, **request: Any
    ) -> None:
        expected = {"type": f"urn:aarebank:problem:{kind}", "status": status, "errorCode": re.compile(r"^AB-\d{4}$")}
        expected |= {"@Content-Type": "application/problem+json", **(members or {})}
        self.call(name, method, path, status, expected, **request)

    def order(self, account: Any, payee: tuple[str, str], amount: int, **remittance: str) -> dict[str, Any]:
        creditor = {"name": payee[0], "iban": payee[1]}
        order = {"debtorAccountId": account, "amount": money(amount), "creditor": creditor}
        return order | {"remittance": remittance}

    def check(self, name: str, order: dict[str, Any], members: Expected | None = None) -> Any:
        """Return the validation's id."""
        expected: dict[str, Any] = {"validationId": re.compile(r"^VAL-[0-9A-Z]{14}$"), "expiresAt": TIME}
        if members is None:
            members = {"outcome": "ok", "findings.#": 0, "executionType": "instant"}
            members["executionDate"] = self.today.isoformat()
        return self.call(name, "POST", VALIDATIONS, 200, expected | {**members}, json=order).find("validationId")

    def refuse_order(self, name: str, order: dict[str, Any], place: str, code: str) -> None:
        members = {"violations.#": 1, "violations.0.field": place, "violations.0.code": code}
        self.refuse(name, "POST", VALIDATIONS, 422, "order-invalid", members, json=order)

    def submit(self, name: str, validation: Any, order: dict[str, Any]) -> Any:
        """Return the order's id."""
        members = {name: order[name] for name in ("amount", "creditor", "remittance")}
        members |= {"orderId": ORDER, "orderStatus": "awaitingSignature", "signing.channel": "eBanking"}
        members |= {"debtorAccount.accountId": order["debtorAccountId"], "createdAt": TIME}
        members |= {"@Location": re.compile(rf"^{ORDERS}/A\d{{6}}-\w{{8}}$"), "@Retry-After": "5"}
        return self.call(name, "POST", ORDERS, 201, members, json={"validationId": validation}).find("orderId")

    def follow(self, name: str, order: Any, status: str, **more: Any) -> None:
        self.call(name, "GET", f"{ORDERS}/{order}", 200, {"orderId": order, "orderStatus": status} | more)

    def cancel(self, name: str, order: Any) -> None:
        self.call(name, "DELETE", f"{ORDERS}/{order}", 204, {"page": ""})

    def cancel_too_late(self, name: str, order: Any, status: str) -> None:
        members = {"orderStatus": status}
        self.refuse(name, "DELETE", f"{ORDERS}/{order}", 409, "order-not-cancellable", members)

    def balances(self, name: str, account: Any, booked: Any = str, available: Any = str) -> tuple[int, int]:
        members = {
            "accountId": account,
            "balances.#": 2,
            "balances.0.balanceType": "booked",
            "balances.0.amount.value": booked if isinstance(booked, type) else money(booked)["value"],
            "balances.0.creditDebit": "credit",
            "balances.1.balanceType": "available",
            "balances.1.amount.value": available if isinstance(available, type) else money(available)["value"],
            "balances.1.creditLimitIncluded": True,
        }
        told = self.call(name, "GET", f"{ACCOUNTS}/{account}/balances", 200, members)
        return rappen(told, "balances.0.amount.value"), rappen(told, "balances.1.amount.value")

    def enter_ebanking(self, name: str, *orders: Any) -> None:
        members = PAGE | {"page": re.compile(".*".join(f'value="{order}"' for order in orders))}
        self.walk.step(name, "POST", "/ebanking/login", 200, members, data=self._credentials)

    def sign(self, name: str, order: Any, decision: str = "signieren") -> None:
        outcome = {"signieren": "signiert", "zurueckweisen": "zurückgewiesen"}[decision]
        members = PAGE | {"page": re.compile(f"Auftrag {order} wurde {outcome}")}
        form = {"auftrag": str(order), "entscheid": decision}
        self.walk.step(name, "POST", "/ebanking/freigaben", 200, members, data=form)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = AareApp(walk, ("70123344", "Gurten-858"))
    stranger = ("kassenbuch", "Rosengarten!13")
    form = app.wish("nothing", "ais pis", app.today + 30 * DAY)
    error = {"error": "invalid_client", "error_description": str}
    walk.step("push with a wrong secret", "POST", "/oauth2/par", 401, error, data=form, auth=stranger)
    saturday = app.today + (5 - app.today.weekday()) % 7 * DAY
    if saturday == app.today:
        saturday += 7 * DAY
    monday = saturday + 2 * DAY
    consent, uri = app.ask("consent", "ais pis", monday + DAY)
    case = app.open("consent", uri)
    app.mistype("customer mistypes the password", case, "Gurten-588")
    ticked = app.log_in("consent", case, "Guten Tag Ursina Bärtschi")
    code = app.allow("consent", case, ticked)
    app.redeem("consent", code, consent, "ais pis")
    app.look("consent is active", consent, "active", validUntil=(monday + DAY).isoformat(), scopes=["ais", "pis"])
    members: dict[str, Any] = {
        "accounts.#": 2,
        "accounts.0.accountId": re.compile(r"^00\d{10}$"),
        "accounts.0.iban": re.compile(r"^CH\d{19}$"),
        "accounts.0.productName": "Privatkonto",
        "accounts.0.owner.name": "Ursina Bärtschi",
        "accounts.1.productName": "Sparkonto",
        "paging.totalItems": 2,
        "paging.hasMore": False,
    }
    account = app.call("accounts", "GET", ACCOUNTS, 200, members).find("accounts.0.accountId")
    entries = f"{ACCOUNTS}/{account}/transactions"
    booked, available = app.balances("balances", account)
    query = {"bookingDateTo": (app.today - DAY).isoformat(), "limit": "8"}
    members = {
        "transactions.#": 8,
        "transactions.0.bookingDate": re.compile(r"^\d{4}-\d\d-\d\d$"),
        "transactions.0.amount.currency": "CHF",
        "transactions.0.creditDebit": re.compile("^(credit|debit)$"),
        "transactions.0.balanceAfter.value": str,
        "paging.limit": 8,
        "paging.offset": 0,
        "paging.totalItems": 22,
        "paging.hasMore": True,
    }
    app.call("transactions", "GET", entries, 200, members, params=query)
    query["offset"] = "16"
    members = {"transactions.#": 6, "transactions.5.balanceAfter.value": money(booked)["value"]}
    members |= {"paging.offset": 16, "paging.totalItems": 22, "paging.hasMore": False}
    app.call("last transactions", "GET", entries, 200, members, params=query)
    wrong = {"parameter": "limit"}
    app.refuse("limit of 500", "GET", entries, 400, "invalid-parameter", wrong, params={"limit": "500"})
    app.refuse("balances of an unknown account", "GET", f"{ACCOUNTS}/000000000000/balances", 404, "not-found")

    landlord = ("Liegenschaften Käser AG", "CH9300762011623852957")
    rent = app.order(account, landlord, 142_050, message="Miete Juni")
    mistyped = rent | {"creditor": {"name": landlord[0], "iban": "CH9300762011623852975"}}
    app.refuse_order("order to a mistyped IBAN", mistyped, "creditor.iban", "iban.invalid")
    members = {"outcome": "okWithFindings", "findings.#": 1, "findings.0.code": "funds.insufficient"}
    app.check("order above the balance", rent | {"amount": money(2_500_000)}, members)
    validation = app.check("order is valid", rent)
    paid = app.submit("order", validation, rent)
    again = {"validationId": validation}
    app.refuse("order again", "POST", ORDERS, 409, "validation-used", {"orderId": paid}, json=again)
    app.enter_ebanking("customer enters e-banking", paid)
    app.sign("customer signs", paid)
    app.follow("order is in execution", paid, "inExecution", executionType="instant", signing=None)
    app.cancel_too_late("cancel it too late", paid, "inExecution")
    app.balances("balances with the amount reserved", account, booked, available - 142_050)
    wait(timedelta(seconds=30))
    app.follow("order is executed", paid, "executed")
    app.balances("balances after", account, booked - 142_050, available - 142_050)
    members = {
        "transactions.#": 1,
        "transactions.0.amount": money(142_050),
        "transactions.0.creditDebit": "debit",
        "transactions.0.bookingText": "Instant-Zahlung",
        "transactions.0.bookingDate": app.today.isoformat(),
        "transactions.0.counterparty.name": landlord[0],
        "transactions.0.remittance.message": "Miete Juni",
        "transactions.0.orderId": paid,
        "transactions.0.balanceAfter.value": money(booked - 142_050)["value"],
    }
    app.call("transactions after", "GET", entries, 200, members, params={"bookingDateFrom": app.today.isoformat()})

    clinic = ("Hausarztpraxis Länggasse", "CH4431999123000889012")
    bill = app.order(account, clinic, 18_635, qrReference="210000000003139471430009017")
    bill["requestedExecutionDate"] = saturday.isoformat()
    members = {
        "outcome": "okWithFindings",
        "findings.0.field": "requestedExecutionDate",
        "findings.0.code": "date.moved",
        "executionType": "dated",
        "executionDate": monday.isoformat(),
    }
    later = app.submit("order for Saturday", app.check("order for Saturday moves to Monday", bill, members), bill)
    app.sign("customer signs that too", later)
    app.follow("order is scheduled", later, "scheduled", executionDate=monday.isoformat())
    gift = app.order(account, ("Nils Bärtschi", "CH5604835012345678009"), 5_000, message="Geburtstag")
    stopped = app.submit("order to cancel", app.check("order to cancel is valid", gift), gift)
    app.cancel("cancel the order", stopped)
    app.follow("order is cancelled", stopped, "cancelled", signing=None)
    other, uri = app.ask("other consent", "ais", app.today + 90 * DAY)
    case = app.open("other consent", uri)
    app.log_in("other consent", case, "Konten einsehen")
    app.deny("other consent", case)
    app.look("other consent is refused", other, "refused", accounts=None)
    wait(monday - app.today + timedelta(hours=7))
    app.refuse("token has expired", "GET", ACCOUNTS, 401, "invalid-token")
    app.refresh("new token")
    app.follow("order is executed on Monday", later, "executed", executionDate=monday.isoformat())
    wait(2 * DAY)
    app.look("consent has expired", consent, "expired")
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = AareApp(walk, ("70456612", "Niesen-2362"))
    form = app.wish("nothing", "ais", app.today + 30 * DAY)
    error = {"error": "invalid_client"}
    walk.step("push of a stranger", "POST", "/oauth2/par", 401, error, data=form, auth=("kassenbuch", "Bärengraben"))
    day = app.today + (4 if app.today.weekday() > 2 else 2) * DAY
    narrow, no = app.ask("consent to decline", "ais", app.today + 20 * DAY)
    consent, yes = app.ask("consent", "pis ais", day + 3 * DAY)
    case = app.open("consent", yes)
    ticked = app.log_in("consent", case, "Guten Tag Reto von Känel")
    code = app.allow("consent", case, ticked[:1])
    app.redeem("consent", code, consent, "pis ais")
    case = app.open("consent to decline", no)
    app.log_in("consent to decline", case, "Konten einsehen")
    app.deny("consent to decline", case)
    app.look("first consent is refused", narrow, "refused")
    app.look("second consent is active", consent, "active", validUntil=(day + 3 * DAY).isoformat())
    members: dict[str, Any] = {
        "accounts.#": 1,
        "accounts.0.accountId": ticked[0] if ticked else str,
        "accounts.0.iban": re.compile(r"^CH\d{19}$"),
        "accounts.0.owner.name": "Reto von Känel",
        "paging.totalItems": 1,
    }
    account = app.call("accounts", "GET", ACCOUNTS, 200, members).find("accounts.0.accountId")
    entries = f"{ACCOUNTS}/{account}/transactions"
    other = f"{ACCOUNTS}/{ticked[1] if len(ticked) > 1 else None}/balances"
    app.refuse("balances of an account that is not ticked", "GET", other, 404, "not-found")
    query = {"bookingDateTo": (app.today - DAY).isoformat(), "limit": "5"}
    members = {"transactions.#": 5, "paging.limit": 5, "paging.totalItems": 22, "paging.hasMore": True}
    app.call("transactions", "GET", entries, 200, members, params=query)
    query["offset"] = "5"
    app.call("next transactions", "GET", entries, 200, members | {"paging.offset": 5}, params=query)
    booked, available = app.balances("balances", account)

    garage, nursery = ("Garage Gerber GmbH", "CH5604835012345678009"), ("Kita Aareblick", "CH4431999123000889012")
    repair = app.order(account, garage, 64_790, message="Service 2 Räder")
    care = app.order(account, nursery, 203_200, qrReference="210000000003139471430009017")
    typo = repair | {"creditor": {"name": garage[0], "iban": "CH5604835012345678008"}}
    app.refuse_order("order to a mistyped IBAN", typo, "creditor.iban", "iban.invalid")
    members = {"outcome": "okWithFindings", "findings.0.code": "funds.insufficient"}
    app.check("order a rappen above the balance", repair | {"amount": money(available + 1)}, members)
    one, two = app.check("order to refuse is valid", repair), app.check("order is valid", care)
    paid = app.submit("order", two, care)
    refused = app.submit("order to refuse", one, repair)
    used = {"validationId": one}
    app.refuse("order once more", "POST", ORDERS, 409, "validation-used", {"orderId": refused}, json=used)
    app.enter_ebanking("customer enters e-banking", paid, refused)
    app.sign("customer signs the first", paid)
    app.sign("customer refuses the second", refused, "zurueckweisen")
    app.balances("balances with an amount reserved", account, booked, available - 203_200)
    app.cancel_too_late("cancel the second", refused, "refused")
    wait(timedelta(minutes=1))
    app.follow("first order is executed", paid, "executed")
    app.balances("balances after", account, booked - 203_200, available - 203_200)
    members = {
        "transactions.#": 1,
        "transactions.0.amount": money(203_200),
        "transactions.0.creditDebit": "debit",
        "transactions.0.counterparty.name": "Kita Aareblick",
        "transactions.0.remittance.qrReference": "210000000003139471430009017",
        "transactions.0.orderId": paid,
        "transactions.0.balanceAfter.value": money(booked - 203_200)["value"],
    }
    app.call("transactions after", "GET", entries, 200, members, params={"bookingDateFrom": app.today.isoformat()})
    repair["requestedExecutionDate"] = day.isoformat()
    members = {"outcome": "ok", "findings.#": 0, "executionType": "dated", "executionDate": day.isoformat()}
    later = app.submit("order for a day", app.check("order for a day is valid", repair, members), repair)
    app.sign("customer signs that", later)
    app.follow("third order is scheduled", later, "scheduled", executionDate=day.isoformat())
    tyres = app.order(account, garage, 41_200, message="Sommerpneus")
    stopped = app.submit("order to cancel", app.check("order to cancel is valid", tyres), tyres)
    app.cancel("cancel the fourth", stopped)
    app.follow("fourth order is cancelled", stopped, "cancelled", signing=None)
    wait(day - app.today + timedelta(hours=7))
    app.refuse("token has expired", "GET", f"{ORDERS}/{later}", 401, "invalid-token")
    app.refresh("new token")
    app.follow("third order is executed on its day", later, "executed", executionDate=day.isoformat())
    wait(8 * DAY)
    app.look("second consent has expired", consent, "expired")
    return walk.steps
