"""Two journeys of the app Kontora and its customers at Raba."""

import base64
import hashlib
import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit
from uuid import NAMESPACE_URL, uuid5
from zoneinfo import ZoneInfo

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://kontora.example/raba"
CONNECTIONS, ACCOUNTS = "/insight/2024-10/connections", "/insight/2024-10/accounts"
MOVEMENTS = "/insight/2024-10/movements"
QUOTES, PAYMENTS = "/moves/2025-03/quotes", "/moves/2025-03/payments"
MEDIA, VIENNA = "application/vnd.raba+json", ZoneInfo("Europe/Vienna")
FEES = {"EUR": 25, "HUF": 90}
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0[12]:00$")
SIGN = re.compile(r"^/hosted/sign/\w{20}$")


def number(answer: Answer, place: str) -> int:
    """The number at this place, or 0."""
    value = answer.find(place)
    return value if isinstance(value, int) else 0


def look(document: Any, *names: str) -> Any:
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def unit_of(account: dict[str, Any]) -> str:
    return str(look(account, "attributes", "unit"))


class RabaApp:
    def __init__(self, walk: Walk, customer: tuple[str, str, str]) -> None:
        self.walk = walk
        self._alias, self._pin, self._signing_code = customer
        self._verifier = self.name("verifier") * 2
        self._token: Any = None
        self._refresh: Any = None

    def name(self, word: str) -> str:
        return uuid5(NAMESPACE_URL, f"{self._alias} {word}").hex

    def day(self, days: int) -> str:
        """A day in Vienna, from today."""
        return (self.walk.now.astimezone(VIENNA).date() + days * DAY).isoformat()

    def call(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        members: Expected | None = None,
        *,
        is_app: bool = False,
        is_present: bool = True,
        body: tuple[str, dict[str, Any]] | None = None,
        params: dict[str, str] | None = None,
    ) -> Answer:
        secret = base64.b64encode(b"kontora:mohnstrudel").decode()
        headers = {"Accept": MEDIA, "Authorization": f"Basic {secret}" if is_app else f"Bearer {self._token}"}
        if is_present and not is_app:
            headers["Raba-Presence"] = "customer"
        request: dict[str, Any] = {"params": params} if params else {}
        if body:
            headers["Content-Type"] = MEDIA
            request["json"] = {"data": {"type": body[0], "attributes": body[1]}}
        trace = re.compile(r"^\w{20}$")
        expected = {"@Content-Type": MEDIA, "@Raba-Trace": trace, "meta.trace": trace, **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=headers, **request)

    def refuse(
        self, name: str, method: str, path: Any, status: int, code: str, pointer: str | None = None, **request: Any
    ) -> None:
        members = {"errors.#": 1, "errors.0.code": code, "errors.0.pointer": pointer, "data": None}
        self.call(name, method, path, status, members, **request)

    def invite(self, name: str, scopes: list[str], days: int) -> tuple[Any, Any]:
        """Return the links to the connection and to the customer's page."""
        members = {
            "data.type": "connection",
            "data.id": re.compile(r"^cnx_\w{16}$"),
            "data.attributes.phase": "invited",
            "data.attributes.scopes": scopes,
            "data.attributes.accountsShared": 0,
            "data.attributes.createdAt": TIME,
            "data.attributes.lastDay": self.day(days),
            "data.links.authorize.href": re.compile(r"^/oauth2/authorize\?.*connection=cnx_\w{16}"),
            "@Location": re.compile(rf"^{CONNECTIONS}/cnx_\w{{16}}$"),
        }
        body = ("connection", {"scopes": scopes, "days": days})
        made = self.call(name, "POST", CONNECTIONS, 201, members, is_app=True, body=body)
        return made.find("data.links.self.href"), made.find("data.links.authorize.href")

    def open_page(self, name: str, link: Any) -> Answer:
        digest = hashlib.sha256(self._verifier.encode()).digest()
        query = {
            "redirect_uri": BACK,
            "state": self.name("state"),
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        members = PAGE | {"page": re.compile('kontora asks for .*name="_seal"')}
        return self.walk.step(name, "GET", f"{link}&{urlencode(query)}", 200, members)

    def log_in(self, name: str, page: Answer) -> Answer:
        form = {"_seal": page.fields.get("_seal", [""])[0], "alias": self._alias, "pin": self._pin}
        members = PAGE | {"page": re.compile(r'type="checkbox" name="account" value="acc_\w{14}"')}
        return self.walk.step(name, "POST", "/hosted/connect", 200, members, data=form)

    def agree(self, name: str, page: Answer) -> str:
        """Tick the first two accounts, and return the code."""
        form = {"_seal": page.fields.get("_seal", [""])[0], "account": page.fields.get("account", [])[:2]}
        end = f"&state={self.name('state')}&iss=https%3A%2F%2Fraba.example"
        members = {"@Location": re.compile(rf"^{re.escape(BACK)}\?code=rac_\w{{32}}{re.escape(end)}$")}
        answer = self.walk.step(name, "POST", "/hosted/connect", 302, members, data=form | {"choice": "agree"})
        query = parse_qs(urlsplit(answer.find("@Location") or "").query)
        return query.get("code", [""])[0]

    def get_token(self, name: str, scopes: Iterable[str], form: dict[str, Any]) -> None:
        members = {
            "access_token": re.compile(r"^rat_\w{32}$"),
            "refresh_token": re.compile(r"^rrt_\w{32}$"),
            "token_type": "bearer",
            "expires_in": 900,
            "scope": " ".join(scopes),
        }
        answer = self.walk.step(name, "POST", "/oauth2/token", 200, members, data=form, auth=("kontora", "mohnstrudel"))
        self._token, self._refresh = answer.find("access_token"), answer.find("refresh_token")

    def redeem(self, name: str, scopes: Iterable[str], code: str) -> None:
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK}
        self.get_token(name, scopes, form | {"code_verifier": self._verifier})

    def refresh(self, name: str, scopes: Iterable[str]) -> None:
        self.get_token(name, scopes, {"grant_type": "refresh_token", "refresh_token": self._refresh or ""})

    def redeem_wrongly(self, name: str, code: str) -> None:
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK}
        form["code_verifier"] = self.name("another verifier") * 2
        members = {"error": "invalid_grant", "error_description": "The code_verifier does not match."}
        self.walk.step(name, "POST", "/oauth2/token", 400, members, data=form, auth=("kontora", "mohnstrudel"))

    def list_accounts(self, name: str) -> list[dict[str, Any]]:
        """The two accounts that the customer ticked."""
        members = {
            "data.#": 2,
            "data.0.type": "account",
            "data.0.id": re.compile(r"^acc_\w{14}$"),
            "data.0.attributes.iban": re.compile(r"^(AT\d{18}|HU\d{26})$"),
            "data.0.attributes.unit": re.compile("^(EUR|HUF)$"),
            "data.1.attributes.exponent": int,
            "data.1.links.funds.href": re.compile(rf"^{ACCOUNTS}/acc_\w{{14}}/funds$"),
            "meta.left": 0,
        }
        answer = self.call(name, "GET", ACCOUNTS, 200, members)
        rows = answer.find("data")
        found = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        return [*found, {}, {}][:2]

    def money(self, account: dict[str, Any], minor: int) -> dict[str, Any]:
        return {"minor": minor, "exponent": look(account, "attributes", "exponent"), "unit": unit_of(account)}

    def fee(self, account: dict[str, Any]) -> int:
        return FEES.get(unit_of(account), 0)

    def see_funds(self, name: str, account: dict[str, Any], expected: int | None = None) -> int:
        """Return what is booked."""
        link = look(account, "links", "funds", "href")
        ledger: Any = int if expected is None else expected
        members = {
            "data.type": "funds",
            "data.id": account.get("id"),
            "data.attributes.ledger.minor": ledger,
            "data.attributes.ledger.unit": unit_of(account),
            "data.attributes.ledger.exponent": look(account, "attributes", "exponent"),
            "data.attributes.spendable.minor": ledger,
            "data.attributes.asOf": TIME,
        }
        return number(self.call(name, "GET", link, 200, members), "data.attributes.ledger.minor")

    def list_movements(self, name: str, account: dict[str, Any], since: str, size: int) -> Answer:
        members = {
            "data.#": size,
            "data.0.type": "movement",
            "data.0.id": re.compile(r"^mvt_\w{16}$"),
            "data.0.attributes.account": account.get("id"),
            "data.0.attributes.bookedOn": re.compile(r"^\d{4}-\d\d-\d\d$"),
            "data.0.attributes.side": re.compile("^(in|out)$"),
            "data.0.attributes.amount.minor": int,
            "links.next.cursor": re.compile(r"^cur\w{22}$"),
            "meta.left": int,
        }
        params = {"filter[account]": str(account.get("id")), "filter[since]": since, "page[size]": str(size)}
        return self.call(name, "GET", MOVEMENTS, 200, members, params=params)

    def list_more(self, name: str, account: dict[str, Any], page: Answer, size: int) -> None:
        members = {
            "data.#": size,
            "data.0.id": re.compile(r"^mvt_\w{16}$"),
            "data.0.attributes.account": account.get("id"),
            "meta.left": number(page, "meta.left") - size,
        }
        self.call(name, "GET", page.find("links.next.href"), 200, members)

    def refuse_history(self, name: str, account: dict[str, Any], days: int) -> None:
        params = {"filter[account]": str(account.get("id")), "filter[since]": self.day(-days)}
        self.refuse(
            name,
            "GET",
            MOVEMENTS,
            403,
            "history.presence_needed",
            "?filter[since]",
            params=params,
            is_present=False,
        )

    def wish(self, account: dict[str, Any], payee: tuple[str, str], minor: int, reference: str) -> dict[str, Any]:
        return {
            "from": {"type": "account", "id": account.get("id")},
            "to": {"name": payee[0], "iban": payee[1]},
            "amount": self.money(account, minor),
            "reference": reference,
        }

    def quote(self, name: str, account: dict[str, Any], wish: dict[str, Any]) -> Answer:
        fee = self.fee(account)
        members = {f"data.attributes.{member}": value for member, value in wish.items()}
        members |= {
            "data.type": "quote",
            "data.id": re.compile(r"^qte_\w{16}$"),
            "data.attributes.validity": "open",
            "data.attributes.fee": self.money(account, fee),
            "data.attributes.total": self.money(account, wish["amount"]["minor"] + fee),
            "data.attributes.goodUntil": TIME,
            "data.links.confirm.method": "POST",
            "@Location": re.compile(rf"^{QUOTES}/qte_\w{{16}}$"),
        }
        return self.call(name, "POST", QUOTES, 201, members, body=("quote", wish))

    def confirm(self, name: str, quote: Answer) -> tuple[Any, Any]:
        """Return the links to the payment and to the customer's page."""
        total = quote.find("data.attributes.total")
        members = {
            "data.type": "payment",
            "data.id": re.compile(r"^pay_\w{16}$"),
            "data.attributes.progress": "unsigned",
            "data.attributes.revision": 1,
            "data.attributes.total": total,
            "data.attributes.to.name": quote.find("data.attributes.to.name"),
            "data.attributes.reference": quote.find("data.attributes.reference"),
            "data.links.sign.href": SIGN,
            "data.links.quote.href": quote.find("data.links.self.href"),
            "@Location": re.compile(rf"^{PAYMENTS}/pay_\w{{16}}$"),
        }
        link = quote.find("data.links.confirm.href")
        made = self.call(name, "POST", link, 201, members, body=("payment", {"total": total}))
        return made.find("data.links.self.href"), made.find("data.links.sign.href")

    def decide(self, name: str, page: Any, payment: Any, choice: str) -> None:
        result = {"sign": "signed", "decline": "declined"}[choice]
        form = {"choice": choice} | ({"signing_code": self._signing_code} if choice == "sign" else {})
        members = {"@Location": f"{BACK}?payment={str(payment).rpartition('/')[2]}&result={result}"}
        self.walk.step(name, "POST", page, 302, members, data=form)

    def follow(self, name: str, payment: Any, progress: str, revision: int, members: Expected | None = None) -> Answer:
        expected = {
            "data.links.self.href": payment,
            "data.attributes.progress": progress,
            "data.attributes.revision": revision,
            "data.links.sign": None,
            **(members or {}),
        }
        return self.call(name, "GET", payment, 200, expected)

    def follow_to_end(self, name: str, payment: Any) -> Answer:
        members = {"data.attributes.settledOn": self.day(0), "data.attributes.movement": re.compile(r"^mvt_\w{16}$")}
        return self.follow(name, payment, "settled", 4, members)

    def withdraw_too_late(self, name: str, payment: Answer) -> None:
        wish = {"progress": "withdrawn", "revision": payment.find("data.attributes.revision")}
        link, place = payment.find("data.links.self.href"), "/data/attributes/progress"
        self.refuse(name, "PATCH", link, 409, "payment.too_late", place, body=("payment", wish))

    def list_booked(self, name: str, account: dict[str, Any], payment: Answer, booked: int) -> None:
        """The payment and its fee, which are all of this day; `booked` was on the account before."""
        minor, fee = number(payment, "data.attributes.amount.minor"), self.fee(account)
        members = {
            "data.#": 2,
            "data.0.attributes.sort": "fee",
            "data.0.attributes.amount": self.money(account, fee),
            "data.0.attributes.ledgerAfter": self.money(account, booked - minor - fee),
            "data.1.id": payment.find("data.attributes.movement"),
            "data.1.attributes.sort": "transfer",
            "data.1.attributes.side": "out",
            "data.1.attributes.bookedOn": payment.find("data.attributes.settledOn"),
            "data.1.attributes.amount": payment.find("data.attributes.amount"),
            "data.1.attributes.party.name": payment.find("data.attributes.to.name"),
            "data.1.attributes.text": payment.find("data.attributes.reference"),
            "data.1.attributes.ledgerAfter": self.money(account, booked - minor),
            "links.next": None,
            "meta.left": 0,
        }
        since = str(payment.find("data.attributes.settledOn"))
        params = {"filter[account]": str(account.get("id")), "filter[since]": since}
        self.call(name, "GET", MOVEMENTS, 200, members, params=params)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = RabaApp(walk, ("lena.hofstaetter", "48213", "730164"))
    scopes = ["see:accounts", "see:funds", "see:movements", "move:money"]
    wish: dict[str, Any] = {"scopes": ["see:accounts", "see:cards"], "days": 90}
    place = "/data/attributes/scopes/1"
    body = ("connection", wish)
    app.refuse("connection for cards", "POST", CONNECTIONS, 422, "value.not_allowed", place, is_app=True, body=body)
    connection, link = app.invite("connection", scopes, 90)
    page = app.open_page("customer's page", link)
    page = app.log_in("customer signs in", page)
    code = app.agree("customer agrees", page)
    app.redeem_wrongly("token with another verifier", code)
    app.redeem("token", scopes, code)
    members: dict[str, Any] = {
        "data.attributes.phase": "linked",
        "data.attributes.accountsShared": 2,
        "data.links.authorize": None,
    }
    app.call("connection is linked", "GET", connection, 200, members, is_app=True)
    account, forints = app.list_accounts("accounts")
    booked = app.see_funds("funds", account)
    rows = app.list_movements("movements", account, app.day(-60), 5)
    app.list_more("more movements", account, rows, 5)
    app.refuse_history("older movements without the customer", account, 45)

    landlord = ("Hausverwaltung Gruber", "AT822011184012345678")
    mistyped = app.wish(account, (landlord[0], "AT822011184012345687"), 86_450, "Miete Mai")
    place = "/data/attributes/to/iban"
    app.refuse("quote to a mistyped IBAN", "POST", QUOTES, 422, "iban.checksum", place, body=("quote", mistyped))
    quote = app.quote("quote", account, app.wish(account, landlord, 86_450, "Miete Mai"))
    rent, page_of_rent = app.confirm("payment", quote)
    members = PAGE | {"page": re.compile(r"Pay EUR 864\.75, fee included, to Hausverwaltung Gruber\?")}
    walk.step("page of the payment", "GET", page_of_rent, 200, members)
    app.decide("customer signs", page_of_rent, rent, "sign")
    wait(timedelta(seconds=60))
    sent = app.follow("payment is sent", rent, "sent", 3)
    app.withdraw_too_late("withdraw it too late", sent)
    wait(timedelta(minutes=20))
    app.refuse("token has expired", "GET", rent, 401, "token.expired")
    app.refresh("new token", scopes)
    settled = app.follow_to_end("payment is settled", rent)
    app.list_booked("movements of the day", account, settled, booked)

    garage = ("Balatoni Autószerviz Kft", "HU42117730161111101800000000")
    quote = app.quote("quote in forints", forints, app.wish(forints, garage, 38_900, "Számla 2217"))
    repair, page_of_repair = app.confirm("payment in forints", quote)
    app.decide("customer declines", page_of_repair, repair, "decline")
    app.follow("payment in forints is declined", repair, "declined", 2)
    app.call("end the connection", "DELETE", connection, 200, {"data.attributes.phase": "unlinked"}, is_app=True)
    app.refuse("accounts after the end", "GET", ACCOUNTS, 403, "connection.not_linked")
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = RabaApp(walk, ("bence.szalai", "90567", "218845"))
    scopes = ["move:money", "see:movements", "see:accounts", "see:funds"]
    wish = {"scopes": ["see:funds", "see:movements", "see:loans"], "days": 30}
    place = "/data/attributes/scopes/2"
    body = ("connection", wish)
    app.refuse("connection for loans", "POST", CONNECTIONS, 422, "value.not_allowed", place, is_app=True, body=body)
    connection, link = app.invite("connection", scopes, 120)
    page = app.open_page("customer's page", link)
    page = app.log_in("customer signs in", page)
    code = app.agree("customer agrees", page)
    app.redeem_wrongly("token with another verifier", code)
    app.redeem("token", scopes, code)
    members = {"data.attributes.phase": "linked", "data.attributes.scopes": scopes, "data.links.authorize": None}
    app.call("connection is linked", "GET", connection, 200, members, is_app=True)
    account, other = app.list_accounts("accounts")
    booked = app.see_funds("funds", account)
    rows = app.list_movements("movements", account, app.day(-50), 3)
    app.list_more("more movements", account, rows, 3)
    app.refuse_history("older movements without the customer", account, 38)

    school, doctor = ("Deutsche Schule Győr", "DE44500105175407324931"), ("Dr. Eva Horváth", "AT883200000007654321")
    mistyped = app.wish(account, (school[0], "DE44500105175407324913"), 41_275, "Tandíj 2. részlet")
    place = "/data/attributes/to/iban"
    app.refuse("quote to a mistyped IBAN", "POST", QUOTES, 422, "iban.checksum", place, body=("quote", mistyped))
    quote = app.quote("quote", account, app.wish(account, school, 41_275, "Tandíj 2. részlet"))
    lessons, page_of_lessons = app.confirm("payment", quote)
    quote = app.quote("other quote", other, app.wish(other, doctor, 12_060, "Honorarnote 88"))
    visit, page_of_visit = app.confirm("other payment", quote)
    app.decide("customer declines the other", page_of_visit, visit, "decline")
    app.decide("customer signs", page_of_lessons, lessons, "sign")
    app.follow("other payment is declined", visit, "declined", 2)
    wait(timedelta(seconds=75))
    sent = app.follow("payment is sent", lessons, "sent", 3)
    app.withdraw_too_late("withdraw it too late", sent)
    wait(timedelta(minutes=18))
    app.refuse("token has expired", "GET", lessons, 401, "token.expired")
    app.refresh("new token", scopes)
    settled = app.follow_to_end("payment is settled", lessons)
    app.list_booked("movements of the day", account, settled, booked)
    app.see_funds("funds after", account, booked - 41_275 - app.fee(account))
    app.call("end the connection", "DELETE", connection, 200, {"data.attributes.phase": "unlinked"}, is_app=True)
    app.refuse("accounts after the end", "GET", ACCOUNTS, 403, "connection.not_linked")
    return walk.steps
