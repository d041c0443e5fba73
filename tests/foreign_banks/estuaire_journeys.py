"""Two journeys for Estuaire: Maëlle pays from her current account, and Yannick from a joint one."""

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

MINUTE = timedelta(minutes=1)
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
NOT_VALID = PAGE | {"page": re.compile("plus valable")}


class EstuaireApp:
    def __init__(self, walk: Walk, app: str, secret: str, back: str) -> None:
        self.walk, self._client, self._back = walk, {"client_id": app, "client_secret": secret}, back
        self._app = app
        self._token = ""
        self.customer = ""
        self._refreshing = ""

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).strftime("%Y-%m-%d")

    def grant(self, name: str, kind: str, status: int, members: Expected, **form: str) -> Answer:
        sent = {"grant_type": kind, **self._client, **form}
        return self.walk.step(name, "POST", "/oauth/token", status, members, data=sent)

    def log_in(self, name: str) -> None:
        members = {"access_token": re.compile(r"^\w{40}$"), "token_type": "Bearer", "expires_in": 3600}
        self._token = str(self.grant(name, "client_credentials", 200, members).find("access_token"))

    def redeem(self, name: str, code: str) -> None:
        members = {"access_token": str, "expires_in": 1800, "refresh_token": re.compile(r"^\w{32}$")}
        answer = self.grant(name, "authorization_code", 200, members, code=code)
        self.customer, self._refreshing = str(answer.find("access_token")), str(answer.find("refresh_token"))

    def refresh(self, name: str) -> None:
        members = {"access_token": str, "expires_in": 1800, "refresh_token": None}
        answer = self.grant(name, "refresh_token", 200, members, refresh_token=self._refreshing)
        self.customer = str(answer.find("access_token"))

    def call(
        self, name: str, method: str, path: Any, status: int, members: Expected, *, as_customer: bool, **request: Any
    ) -> Answer:
        id = f"{self._app}-{len(self.walk.steps):03}"
        token = self.customer if as_customer else self._token
        headers = {"X-Request-Id": id, "Authorization": f"Bearer {token}", **request.pop("headers", {})}
        url = path if str(path).startswith("/dsp2/") else f"/dsp2/v1/{path}"
        expected = {"@X-Request-Id": id, **members}
        if status >= 400:
            expected |= {"status": status, "path": urlsplit(str(url)).path, "timestamp": TIME, "message": str}
        return self.walk.step(name, method, url, status, expected, headers=headers, **request)

    def read(self, name: str, path: Any, members: Expected, status: int = 200, **query: Any) -> Answer:
        """Read something of the customer."""
        more = {"params": query} if query else {}
        return self.call(name, "GET", path, status, members, as_customer=True, **more)

    def do(self, name: str, method: str, path: str, status: int, members: Expected, **request: Any) -> Answer:
        """Call as the app."""
        return self.call(name, method, path, status, members, as_customer=False, **request)

    def consent_body(self, scopes: list[str], days: int, state: str) -> dict[str, Any]:
        return {"scopes": scopes, "validUntil": self.day(days), "redirectUri": self._back, "state": state}

    def ask(self, name: str, scopes: list[str], days: int, state: str) -> tuple[str, str]:
        """Return the id of the consent and its page."""
        body = self.consent_body(scopes, days, state)
        members = {
            "consentId": re.compile(r"^AC-[A-Z0-9]{10}$"),
            "status": "PENDING",
            "createdAt": TIME,
            "scopes": scopes,
            "validUntil": body["validUntil"],
            "_links.authorise.href": re.compile(r"^/espace/\w{24}$"),
            "@Location": re.compile(r"^/dsp2/v1/consents/AC-"),
        }
        answer = self.do(name, "POST", "consents", 201, members, json=body)
        return str(answer.find("consentId")), str(answer.find("_links.authorise.href"))

    def payment_body(self, state: str, iban: str, to: tuple[str, str], amount: str, execution: str) -> dict[str, Any]:
        return {
            "endToEndId": f"E2E-{state}",
            "debtorIban": iban,
            "creditor": {"name": to[0], "iban": to[1]},
            "amount": {"amount": amount, "currency": "EUR"},
            "execution": execution,
            "redirectUri": self._back,
            "state": state,
        }

    def send(self, name: str, status: int, members: Expected, body: Any, key: str) -> Answer:
        headers = {"X-Idempotency-Key": key}
        return self.do(name, "POST", "payments", status, members, json=body, headers=headers)

    def pay(self, name: str, *payment: Any, key: str) -> tuple[str, str]:
        """Return the id of the payment and its page."""
        body = self.payment_body(*payment)
        members = {
            "paymentId": re.compile(r"^\d{16}$"),
            "status": "CREATED",
            "_links.authorise.href": re.compile(r"^/espace/\w{24}$"),
            "@Location": re.compile(r"^/dsp2/v1/payments/\d{16}$"),
            **{name: body[name] for name in ("endToEndId", "debtorIban", "creditor", "amount", "execution")},
        }
        answer = self.send(name, 201, members, body, key)
        return str(answer.find("paymentId")), str(answer.find("_links.authorise.href"))

    def answer(
        self, name: str, page: str, customer: tuple[str, str], query: str, choice: str = "accepter"
    ) -> dict[str, list[str]]:
        """Answer a page as the customer. Return the query of the redirect."""
        opened = self.walk.step(f"{name}: page", "GET", page, 200, PAGE | {"page": re.compile("jeton")})
        redirect = {"@Location": re.compile(f"^{re.escape(self._back)}\\?{query}$")}
        answer = self.walk.step(name, "POST", page, 302, redirect, data=fill(opened, customer, choice))
        return parse_qs(urlsplit(str(answer.find("@Location"))).query)


def fill(page: Answer, customer: tuple[str, str], choice: str = "accepter") -> dict[str, str]:
    seal = page.fields.get("jeton", [""])[0]
    return {"jeton": seal, "identifiant": customer[0], "code": customer[1], "choix": choice}


def euros(answer: Answer, number: int = 0) -> Decimal:
    """The amount of a balance, or 0."""
    text = str(answer.find(f"balances.{number}.balance.amount"))
    return Decimal(text) if re.fullmatch(r"-?\d+\.\d\d", text) else Decimal(0)


def balances(booked: Decimal, available: Decimal) -> dict[str, Any]:
    return {
        "balances.0.type": "BOOKED",
        "balances.0.balance.amount": str(booked),
        "balances.1.type": "AVAILABLE",
        "balances.1.balance.amount": str(available),
    }


def pages(number: int, size: int, entries: int, pages: int) -> dict[str, Any]:
    return {
        "page.number": number,
        "page.size": size,
        "page.totalElements": entries,
        "page.totalPages": pages,
    }


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = EstuaireApp(walk, "budgetto", "Zx81-ocean", "https://budgetto.example/retour")
    maelle = ("4207731", "582914")
    no_id = {"code": "REQ-001", "status": 400, "path": "/dsp2/v1/accounts", "timestamp": TIME}
    walk.step("request without an id", "GET", "/dsp2/v1/accounts", 400, no_id)
    no_token = {"code": "AUT-001", "status": 401, "message": "Jeton absent", "@X-Request-Id": "b-1"}
    walk.step("request without a token", "GET", "/dsp2/v1/accounts", 401, no_token, headers={"X-Request-Id": "b-1"})
    app.grant("wrong secret", "client_credentials", 401, {"error": "invalid_client"}, client_secret="amstrad")
    app.log_in("token of the app")
    app.do("accounts as the app", "GET", "accounts", 403, {"code": "AUT-004"})
    scopes = ["accounts", "balances", "transactions"]
    app.do(
        "consent for too long", "POST", "consents", 422, {"code": "CST-005"}, json=app.consent_body(scopes, 200, "s1")
    )
    consent, page = app.ask("consent", scopes, 90, "s1")
    opened = walk.step("page", "GET", page, 200, PAGE | {"page": re.compile("Accès à vos comptes")})
    wrong_code = PAGE | {"page": re.compile("Identifiant ou code incorrect")}
    walk.step("customer with a wrong code", "POST", page, 401, wrong_code, data=fill(opened, (maelle[0], "111111")))
    agreed = {"@Location": re.compile(r"^https://budgetto\.example/retour\?code=\w{20}&state=s1$")}
    answer = walk.step("customer agrees", "POST", page, 302, agreed, data=fill(opened, maelle))
    code = parse_qs(urlsplit(str(answer.find("@Location"))).query).get("code", [""])[0]
    walk.step("page after that", "GET", page, 410, NOT_VALID)
    active = {"status": "ACTIVE", "grantedAt": TIME, "scopes": scopes, "_links.authorise": None}
    app.do("consent is active", "GET", f"consents/{consent}", 200, active)
    app.grant(
        "token for a wrong code", "authorization_code", 400, {"error": "invalid_grant"}, code="abcdefghijkmnpqrstuv"
    )
    app.redeem("token of the customer", code)
    rows = app.read("accounts", "accounts", {"accounts.#": 2, "accounts.0.currency": "EUR"})
    account = rows.pick("accounts", product="Compte courant")
    iban = str(account.get("iban"))
    place = f"accounts/{account.get('accountId')}"
    app.read("unknown account", "accounts/0000000000000000/balances", {"code": "CPT-001"}, 404)
    shown = app.read("balances", f"{place}/balances", {"accountId": account.get("accountId"), "readAt": TIME})
    booked = euros(shown)
    members = {
        "transactions.#": 10,
        "transactions.0.direction": re.compile("^(DEBIT|CREDIT)$"),
        **pages(0, 10, 23, 3),
    }
    listed = app.read("transactions", f"{place}/transactions", members)
    app.read("more of them", listed.find("_links.next.href"), {"transactions.#": 10, "page.number": 1})
    members = {"transactions.#": 7, **pages(2, 8, 23, 3), "_links.next": None}
    app.read("old transactions", f"{place}/transactions", members, dateFrom=app.day(-200), page=2, size=8)

    garage = ("Garage Tanguy", "FR1730004028370001098765443")
    body = app.payment_body("p1", iban, garage, "4000.01", "STANDARD")
    app.send("payment over the limit", 422, {"code": "PAY-002"}, body, "k-1")
    body = app.payment_body("p1", iban, (garage[0], "FR1830004028370001098765443"), "312.40", "STANDARD")
    app.send("payment to a wrong IBAN", 400, {"code": "REQ-003", "field": "creditor.iban"}, body, "k-1")
    payment, page = app.pay("payment", "p1", iban, garage, "312.40", "STANDARD", key="k-1")
    body = app.payment_body("p1", iban, garage, "312.40", "STANDARD")
    app.send("same payment again", 200, {"paymentId": payment, "status": "CREATED"}, body, "k-1")
    body = app.payment_body("p1", iban, garage, "313.40", "STANDARD")
    app.send("other payment with its key", 409, {"code": "PAY-004"}, body, "k-1")
    app.answer("customer agrees to the payment", page, maelle, rf"paymentId={payment}&state=p1")
    app.do("payment is validated", "GET", f"payments/{payment}", 200, {"status": "VALIDATED", "_links.authorise": None})
    left = booked - Decimal("312.40")
    app.read("balances with the amount held", f"{place}/balances", balances(booked, left))
    wait(timedelta(seconds=75))
    app.do("payment is sent", "GET", f"payments/{payment}", 200, {"status": "SENT"})
    app.do("too late to cancel", "DELETE", f"payments/{payment}", 409, {"code": "PAY-003"})
    wait(10 * MINUTE)
    app.do("payment is executed", "GET", f"payments/{payment}", 200, {"status": "EXECUTED", "creditor.name": garage[0]})
    app.read("balances after", f"{place}/balances", balances(left, left))
    entry = {"amount": {"amount": "312.40", "currency": "EUR"}, "direction": "DEBIT", "label": "Virement Garage Tanguy"}
    members = {f"transactions.0.{name}": value for name, value in entry.items()} | {"page.totalElements": 1}
    app.read("transactions of today", f"{place}/transactions", members, dateFrom=app.day(0))
    wait(5 * MINUTE)
    app.read("old transactions too late", f"{place}/transactions", {"code": "CPT-002"}, 403, dateFrom=app.day(-200))

    voyages = ("Voyages Iroise", "FR6614508590420123456789012")
    payment, page = app.pay("payment without cover", "p2", iban, voyages, "3850.00", "INSTANT", key="k-2")
    app.answer("customer agrees without cover", page, maelle, "error=payment_rejected&state=p2")
    app.do("payment is rejected", "GET", f"payments/{payment}", 200, {"status": "REJECTED", "reason": "AM04"})
    payment, page = app.pay("instant payment", "p3", iban, voyages, "45.90", "INSTANT", key="k-3")
    app.answer("customer agrees to the instant payment", page, maelle, rf"paymentId={payment}&state=p3")
    app.do("instant payment is executed", "GET", f"payments/{payment}", 200, {"status": "EXECUTED"})
    payment, page = app.pay("payment to decline", "p4", iban, voyages, "60.00", "STANDARD", key="k-4")
    app.answer("customer declines", page, maelle, "error=access_denied&state=p4", "refuser")
    app.do("payment is declined", "GET", f"payments/{payment}", 200, {"status": "DECLINED", "reason": None})
    payment, _ = app.pay("payment to cancel", "p5", iban, garage, "75.25", "STANDARD", key="k-5")
    app.do("cancel it", "DELETE", f"payments/{payment}", 200, {"status": "CANCELLED", "paymentId": payment})
    wait(15 * MINUTE)
    app.read("token has expired", "accounts", {"code": "AUT-003"}, 401)
    app.refresh("token refreshed")
    app.do("revoke the consent", "DELETE", f"consents/{consent}", 204, {})
    app.do("consent is revoked", "GET", f"consents/{consent}", 200, {"status": "REVOKED"})
    app.read("accounts after that", "accounts", {"code": "CST-002"}, 403)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = EstuaireApp(walk, "comptaclair", "Mo5-granit", "https://app.comptaclair.example/dsp2/fin")
    yannick = ("5590126", "307766")
    app.log_in("token of the app")
    app.do("unknown payment", "GET", "payments/2026010199999999", 404, {"code": "PAY-001"})
    consent, page = app.ask("consent to decline", ["accounts"], 10, "lien-1")
    app.answer("customer declines the consent", page, yannick, "error=access_denied&state=lien-1", "refuser")
    app.do("consent is declined", "GET", f"consents/{consent}", 200, {"status": "DENIED", "_links.authorise": None})
    small, page = app.ask("consent for balances", ["accounts", "balances"], 30, "lien-2")
    pending = {"status": "PENDING", "_links.authorise.href": page, "grantedAt": None}
    app.do("consent is pending", "GET", f"consents/{small}", 200, pending)
    code = app.answer("customer agrees to balances", page, yannick, r"code=\w{20}&state=lien-2").get("code", [""])[0]
    app.redeem("token for balances", code)
    app.grant("same code again", "authorization_code", 400, {"error": "invalid_grant"}, code=code)
    rows = app.read("accounts", "accounts", {"accounts.#": 3, "accounts.2.product": "Livret bleu"})
    iban, place = str(rows.find("accounts.1.iban")), f"accounts/{rows.find('accounts.1.accountId')}"
    shown = app.read("balances", f"{place}/balances", {"accountId": rows.find("accounts.1.accountId")})
    booked = euros(shown)
    app.read("transactions outside the scopes", f"{place}/transactions", {"code": "CST-003"}, 403)
    app.do("revoke the consent for balances", "DELETE", f"consents/{small}", 204, {})
    app.read("balances after that", f"{place}/balances", {"code": "CST-002"}, 403)

    scopes = ["transactions", "accounts", "balances"]
    consent, page = app.ask("consent for all", scopes, 180, "lien-3")
    code = app.answer("customer agrees to all", page, yannick, r"code=\w{20}&state=lien-3").get("code", [""])[0]
    app.redeem("token for all", code)
    members = {"transactions.#": 12, **pages(0, 12, 28, 3)}
    listed = app.read("transactions", f"{place}/transactions", members, size=12)
    listed = app.read("more of them", listed.find("_links.next.href"), {"transactions.#": 12, "page.number": 1})
    last = {"transactions.#": 4, "page.number": 2, "_links.next": None}
    app.read("last of them", listed.find("_links.next.href"), last)
    none = {"transactions": [], "page.totalElements": 0, "_links.next": None}
    app.read("no transactions of today", f"{place}/transactions", none, dateFrom=app.day(0))

    lycee = ("Lycée Anne de Bretagne", "FR1420041010050500013M02606")
    peintre = ("Peinture Riou", "FR6614508590420123456789012")
    payment, page = app.pay("instant payment", "ordre-1", iban, lycee, "228.60", "INSTANT", key="cc-001")
    app.answer("customer agrees to the instant payment", page, yannick, rf"paymentId={payment}&state=ordre-1")
    app.do("instant payment is executed", "GET", f"payments/{payment}", 200, {"status": "EXECUTED"})
    left = booked - Decimal("228.60")
    app.read("balances after", f"{place}/balances", balances(left, left))
    entry = {"amount": {"amount": "228.60", "currency": "EUR"}, "label": "Virement Lycée Anne de Bretagne"}
    members = {f"transactions.0.{name}": value for name, value in entry.items()} | {"transactions.#": 1}
    app.read("newest transaction", f"{place}/transactions", members, size=1)
    body = app.payment_body("ordre-2", iban, peintre, "5200.00", "INSTANT")
    app.send("payment over the limit", 422, {"code": "PAY-002"}, body, "cc-002")
    body = app.payment_body("ordre-2", iban, peintre, "980,00", "STANDARD")
    app.send("payment with a comma", 400, {"code": "REQ-003", "field": "amount.amount"}, body, "cc-002")
    payment, page = app.pay("payment to cancel", "ordre-2", iban, peintre, "980.00", "STANDARD", key="cc-002")
    app.answer("customer agrees to that", page, yannick, rf"paymentId={payment}&state=ordre-2")
    app.read("balances with the amount held", f"{place}/balances", balances(left, left - 980))
    app.do("cancel when validated", "DELETE", f"payments/{payment}", 200, {"status": "CANCELLED"})
    app.do("cancel again", "DELETE", f"payments/{payment}", 409, {"code": "PAY-003"})
    app.read("balances as before", f"{place}/balances", balances(left, left))
    payment, page = app.pay("payment without cover", "ordre-3", iban, peintre, "3990.00", "STANDARD", key="cc-003")
    app.answer("customer agrees without cover", page, yannick, "error=payment_rejected&state=ordre-3")
    app.do("payment is rejected", "GET", f"payments/{payment}", 200, {"status": "REJECTED", "reason": "AM04"})
    slow, page = app.pay("payment to forget", "ordre-4", iban, lycee, "31.00", "STANDARD", key="cc-004")
    wait(17 * MINUTE)
    app.do("payment is expired", "GET", f"payments/{slow}", 200, {"status": "EXPIRED"})
    walk.step("page of it", "GET", page, 410, NOT_VALID)
    late = {"code": "CPT-002", "field": None}
    app.read("old transactions too late", f"{place}/transactions", late, 403, dateFrom=app.day(-120))
    wait(14 * MINUTE)
    app.read("token has expired", f"{place}/balances", {"code": "AUT-003"}, 401)
    app.refresh("token refreshed")
    app.read("balances with a new token", f"{place}/balances", balances(left, left))
    return walk.steps
