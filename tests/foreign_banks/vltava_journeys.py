"""Two journeys of the app Kolovrat and its customers at Vltava."""

import re
from datetime import date, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, uuid5
from zoneinfo import ZoneInfo

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://kolovrat.example/vltava"
CLIENT = ("kolovrat", "modra-sova")
KEY = {"WEB-API-key": "8f2c41d0"}
CODE = "739204"
GRANTS, ACCOUNTS = "/oauth2/grants", "/aisp/v2/my/accounts"
PAYMENTS, BATCHES = "/pisp/v2/my/payments", "/pisp/v2/my/batches"
EITHER, PAGE_ONLY = [["CODE"], ["USERAGENT_REDIRECT"]], [["USERAGENT_REDIRECT"]]
NUMBER = re.compile(r"^\d+(\.\d\d?)?$")
TRACE = re.compile(r"^[0-9a-f]{32}$")


class VltavaApp:
    def __init__(self, walk: Walk, customer: tuple[str, str]) -> None:
        self.walk, self._customer = walk, customer
        self._token: Any = None
        self._refresh: Any = None

    def _name(self, word: str) -> str:
        return uuid5(NAMESPACE_URL, f"{self._customer[0]} {word}").hex

    def day(self, days: int) -> date:
        return self.walk.now.astimezone(ZoneInfo("Europe/Prague")).date() + days * DAY

    def banking_day(self, days: int) -> date:
        """This day, or the Monday after."""
        day = self.day(days)
        return day + (7 - day.weekday()) * DAY if day.weekday() > 4 else day

    def call(
        self, name: str, method: str, path: str, status: int, members: Expected | None = None, **request: Any
    ) -> Answer:
        headers = {**request.pop("key", KEY), "Authorization": f"Bearer {self._token}"}
        members = {"@X-Vltava-Trace": TRACE, **(members or {})}
        return self.walk.step(name, method, path, status, members, headers=headers, **request)

    def refuse(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        error: str,
        members: Expected | None = None,
        **request: Any,
    ) -> None:
        wrong = {f"errors.0.{place}": value for place, value in (members or {}).items()}
        self.call(
            name, method, path, status, {"errors.#": 1, "errors.0.error": error, "traceId": TRACE} | wrong, **request
        )

    def ask(self, name: str, scopes: list[str], days: int) -> tuple[Any, Any]:
        """Return the grant's id and the customer's page."""
        wish = {"scopes": scopes, "validityDays": days, "redirectUri": BACK, "clientState": self._name(name)}
        members = {
            "grantId": re.compile(r"^[0-9a-f]{24}$"),
            "grantState": "REQUESTED",
            "scopes": scopes,
            "validityDays": days,
            "validTo": None,
            "authorizeUrl": re.compile(r"/ib/souhlas\?relace=\w{20}$"),
        }
        made = self.walk.step(name, "POST", GRANTS, 201, members, auth=CLIENT, json=wish)
        return made.find("grantId"), made.find("authorizeUrl")

    def allow(self, name: str, page: Any, asked: str) -> str:
        """Return the code that the customer brings back from the page for the grant that was asked as `asked`."""
        form = {"klient": self._customer[0], "heslo": self._customer[1], "volba": "souhlasim"}
        members = {"@Location": re.compile(rf"^{re.escape(BACK)}\?code=\w{{28}}&state={self._name(asked)}$")}
        back = self.walk.step(name, "POST", page, 302, members, data=form).find("@Location")
        return parse_qs(urlsplit(str(back)).query).get("code", [""])[0]

    def sign_in(self, name: str, code: str, scope: str) -> None:
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK}
        members = {
            "access_token": str,
            "token_type": "Bearer",
            "expires_in": 1800,
            "refresh_token": str,
            "scope": scope,
        }
        got = self.walk.step(name, "POST", "/oauth2/token", 200, members, auth=CLIENT, data=form)
        self._token, self._refresh = got.find("access_token"), got.find("refresh_token")

    def refresh(self, name: str) -> None:
        form = {"grant_type": "refresh_token", "refresh_token": str(self._refresh)}
        members = {"access_token": str, "token_type": "Bearer", "expires_in": 1800}
        got = self.walk.step(name, "POST", "/oauth2/token", 200, members, auth=CLIENT, data=form)
        self._token = got.find("access_token")

    def look(self, name: str, grant: Any, days: int) -> None:
        until = re.compile(f"^{self.day(days)}T")
        members = {"grantId": grant, "grantState": "ACTIVE", "validTo": until, "authorizeUrl": None}
        self.walk.step(name, "GET", f"{GRANTS}/{grant}", 200, members, auth=CLIENT)

    def revoke(self, name: str, grant: Any) -> None:
        members = {"grantId": grant, "grantState": "REVOKED"}
        self.walk.step(name, "DELETE", f"{GRANTS}/{grant}", 200, members, auth=CLIENT)

    def list_accounts(self, name: str, place: int) -> tuple[Any, Any]:
        """Return the id and the IBAN of the account at this place."""
        row = f"accounts.{place}"
        members = {
            "pageNumber": 0,
            "pageCount": 1,
            "nextPage": None,
            f"{row}.id": re.compile(r"^[0-9A-F]{40}$"),
            f"{row}.identification.iban": re.compile(r"^CZ\d\d6990\d{16}$"),
            f"{row}.identification.other": re.compile(r"^(\d+-)?\d{10}/6990$"),
            f"{row}.currency": "CZK",
            f"{row}.servicer.bankCode": "6990",
        }
        accounts = self.call(name, "GET", ACCOUNTS, 200, members)
        return accounts.find(f"{row}.id"), accounts.find(f"{row}.identification.iban")

    def balances(self, name: str, account: Any) -> None:
        members: dict[str, Any] = {"balances.#": 2}
        for place, code in enumerate(("CLBD", "CLAV")):
            members[f"balances.{place}.type.codeOrProprietary.code"] = code
            members[f"balances.{place}.amount.value"] = NUMBER
            members[f"balances.{place}.amount.currency"] = "CZK"
            members[f"balances.{place}.creditDebitIndicator"] = "CRDT"
            members[f"balances.{place}.date.dateTime"] = re.compile(rf"^{self.day(0)}T\d\d:\d\d:\d\d\+0[12]:00$")
        self.call(name, "GET", f"{ACCOUNTS}/{account}/balances", 200, members)

    def turn_pages(self, names: tuple[str, str], account: Any, days: int, size: int) -> dict[str, str]:
        """Read two pages of the transactions of so many days. Return the query of the first page."""
        path, query = f"{ACCOUNTS}/{account}/transactions", {"fromDate": f"{self.day(-days)}", "size": str(size)}
        members: dict[str, Any] = {
            "pageNumber": 0,
            "pageCount": int,
            "pageSize": size,
            "nextPage": 1,
            "transactions.#": size,
            "transactions.0.entryReference": re.compile(r"^\d{16}$"),
            "transactions.0.amount.value": NUMBER,
            "transactions.0.creditDebitIndicator": re.compile("^(DBIT|CRDT)$"),
            "transactions.0.status": "BOOK",
            "transactions.0.bookingDate.date": re.compile(r"^\d{4}-\d\d-\d\d$"),
        }
        page = self.call(names[0], "GET", path, 200, members, params=query)
        more = query | {"page": str(page.find("nextPage"))}
        members = {"pageNumber": 1, "pageSize": size, "pageCount": page.find("pageCount"), "transactions.#": size}
        self.call(names[1], "GET", path, 200, members, params=more)
        return query

    def find_entry(self, name: str, account: Any, amount: float, payee: str, symbols: list[str]) -> None:
        details = "transactions.0.entryDetails.transactionDetails"
        members = {
            "pageCount": 1,
            "nextPage": None,
            "transactions.#": 1,
            "transactions.0.amount.value": amount,
            "transactions.0.creditDebitIndicator": "DBIT",
            "transactions.0.bookingDate.date": f"{self.day(0)}",
            f"{details}.relatedParties.creditor.name": payee,
            f"{details}.remittanceInformation.structured.creditorReferenceInformation.reference": symbols,
        }
        query = {"fromDate": f"{self.day(0)}"}
        self.call(name, "GET", f"{ACCOUNTS}/{account}/transactions", 200, members, params=query)

    def order(
        self,
        word: str,
        payer: Any,
        payee: tuple[str, str],
        amount: float,
        text: str,
        symbols: list[str],
        day: date | None,
    ) -> dict[str, Any]:
        """A payment on this day, or at once."""
        reference = {"unstructured": text, "structured": {"creditorReferenceInformation": {"reference": symbols}}}
        order = {
            "paymentIdentification": {"instructionIdentification": self._name(word)},
            "paymentTypeInformation": {"instructionPriority": "NORM" if day else "INST"},
            "amount": {"instructedAmount": {"value": amount, "currency": "CZK"}},
            "debtorAccount": {"identification": {"iban": payer}},
            "creditor": {"name": payee[1]},
            "creditorAccount": {"identification": {"other": payee[0]}},
            "remittanceInformation": reference,
        }
        return order | ({"requestedExecutionDate": f"{day}"} if day else {})

    def pay(self, name: str, order: dict[str, Any]) -> tuple[Any, Any]:
        """Return the ids of the payment and of its signature."""
        ids, names = "paymentIdentification", ("amount", "debtorAccount", "creditorAccount", "remittanceInformation")
        members = {name: order[name] for name in names} | {
            f"{ids}.instructionIdentification": order[ids]["instructionIdentification"],
            f"{ids}.transactionIdentification": re.compile(r"^7\d{11}$"),
            "requestedExecutionDate": order.get("requestedExecutionDate", f"{self.day(0)}"),
            "cutOffMoved": False,
            "instructionStatus": "TOSIGN",
            "signInfo.state": "OPEN",
            "signInfo.signId": re.compile(r"^\d{15}$"),
        }
        made = self.call(name, "POST", PAYMENTS, 201, members, json=order)
        return made.find(f"{ids}.transactionIdentification"), made.find("signInfo.signId")

    def exceed(self, name: str, order: dict[str, Any]) -> None:
        limit = {"scope": "amount.instructedAmount.value", "parameters": {"LIMIT": "200000.00", "CURRENCY": "CZK"}}
        self.refuse(name, "POST", PAYMENTS, 400, "LIMIT_EXCEEDED", limit, json=order)

    def repeat(self, name: str, order: dict[str, Any], payment: Any) -> None:
        known = {"parameters.PAYMENT_ID": payment}
        self.refuse(name, "POST", PAYMENTS, 409, "DUPLICATE_INSTRUCTION", known, json=order)

    def bundle(self, name: str, payments: list[Any], total: float) -> tuple[Any, str]:
        """Return the batch's id and the path of its signature."""
        members = {
            "batchId": re.compile(r"^9\d{9}$"),
            "batchStatus": "TOSIGN",
            "controlSum": {"value": total, "currency": "CZK"},
            "payments": [{"paymentId": one, "instructionStatus": "TOSIGN"} for one in payments],
            "signInfo.state": "OPEN",
            "signInfo.signId": re.compile(r"^\d{15}$"),
        }
        made = self.call(name, "POST", BATCHES, 201, members, json={"paymentIds": payments})
        batch = made.find("batchId")
        return batch, f"{BATCHES}/{batch}/sign/{made.find('signInfo.signId')}"

    def scenarios(self, name: str, sign: str, scenarios: list[list[str]]) -> None:
        members = {"scenarios": scenarios, "signInfo": {"state": "OPEN", "signId": sign.rpartition("/")[2]}}
        self.call(name, "GET", sign, 200, members)

    def ask_code(self, name: str, sign: str) -> None:
        info = {"state": "PROCESSING", "signId": sign.rpartition("/")[2]}
        members = {"authorizationType": "CODE", "delivery": "SMS", "signInfo": info}
        self.call(name, "POST", sign, 200, members, json={"authorizationType": "CODE"})

    def mistype(self, name: str, sign: str, code: str) -> None:
        body, left = {"authorizationType": "CODE", "oneTimePassword": code}, {"parameters": {"REMAINING": "2"}}
        self.refuse(name, "PUT", sign, 400, "OTP_INVALID", left, json=body)

    def send_code(self, name: str, sign: str) -> None:
        members = {"signInfo": {"state": "DONE", "signId": sign.rpartition("/")[2]}}
        self.call(name, "PUT", sign, 200, members, json={"authorizationType": "CODE", "oneTimePassword": CODE})

    def ask_page(self, name: str, payment: Any, sign: Any) -> Any:
        """Return the customer's page."""
        members = {
            "authorizationType": "USERAGENT_REDIRECT",
            "href.url": re.compile(r"/ib/podpis\?relace=\w{22}$"),
            "href.method": "GET",
            "signInfo": {"state": "PROCESSING", "signId": sign},
        }
        body = {"authorizationType": "USERAGENT_REDIRECT", "redirectUrl": BACK}
        return self.call(name, "POST", f"{PAYMENTS}/{payment}/sign/{sign}", 200, members, json=body).find("href.url")

    def decline(self, name: str, page: Any, sign: Any) -> None:
        form = {"klient": self._customer[0], "heslo": self._customer[1], "volba": "odmitnout"}
        members = {"@Location": f"{BACK}?signId={sign}&result=CANCELLED"}
        self.walk.step(name, "POST", page, 302, members, data=form)

    def follow(self, name: str, payment: Any, status: str, day: date | None = None) -> None:
        members = {"instructionStatus": status, "realExecutionDate": f"{day}" if day else None}
        self.call(name, "GET", f"{PAYMENTS}/{payment}/status", 200, members)

    def follow_batch(self, name: str, batch: Any, statuses: dict[Any, str]) -> None:
        members = {
            "batchId": batch,
            "batchStatus": "RUNNING",
            "payments": [{"paymentId": one, "instructionStatus": status} for one, status in statuses.items()],
            "signInfo.state": "DONE",
        }
        self.call(name, "GET", f"{BATCHES}/{batch}", 200, members)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = VltavaApp(walk, ("30517742", "Pstruh-2914"))
    grant, page = app.ask("grant", ["AISP", "PISP"], 30)
    walk.step("customer's page", "GET", page, 200, PAGE | {"page": re.compile("kolovrat žádá o přístup")})
    code = app.allow("customer allows", page, "grant")
    app.sign_in("token", code, "AISP PISP")
    app.look("grant is active", grant, 30)
    missing: Expected = {"scope": "WEB-API-key"}
    app.refuse("accounts without the key", "GET", ACCOUNTS, 412, "API_KEY_MISSING", missing, key={})
    account, iban = app.list_accounts("accounts", 0)
    app.balances("balances", account)
    query = app.turn_pages(("transactions", "more transactions"), account, 60, 5) | {"page": "40"}
    beyond: Expected = {"scope": "page", "parameters": {"PAGE": "40"}}
    path = f"{ACCOUNTS}/{account}/transactions"
    app.refuse("page beyond the last", "GET", path, 404, "PAGE_NOT_FOUND", beyond, params=query)

    jana, landlord = ("19-2000145399/0800", "Jana Dvořáková"), ("2184020995/0100", "Bytové družstvo Letná")
    day, symbols = app.banking_day(3), ["VS:2031004417", "KS:0308"]
    app.exceed("payment above the limit", app.order("car", iban, jana, 250_000.0, "Auto", [], day))
    order = app.order("tickets", iban, jana, 1_890.5, "Vstupenky do divadla", symbols, None)
    tickets, _ = app.pay("payment at once", order)
    app.repeat("the same payment again", order, tickets)
    rent, _ = app.pay("payment in some days", app.order("rent", iban, landlord, 12_400.0, "Nájem", ["VS:77120"], day))
    batch, sign = app.bundle("batch", [tickets, rent], 14_290.5)
    app.scenarios("scenarios of the batch", sign, EITHER)
    app.ask_code("code by SMS", sign)
    app.mistype("customer mistypes the code", sign, "739240")
    app.send_code("customer signs", sign)
    wait(timedelta(seconds=20))
    app.follow_batch("batch is running", batch, {tickets: "INPROC", rent: "QUEUED"})
    wait(timedelta(minutes=2))
    app.follow("payment at once is settled", tickets, "SETTLED", app.day(0))
    app.find_entry("transactions after", account, 1_890.5, "Jana Dvořáková", symbols)
    app.call("cancel the other", "DELETE", f"{PAYMENTS}/{rent}", 200, {"instructionStatus": "WITHDRAWN"})

    roof = app.order("roof", iban, landlord, 61_500.0, "Oprava střechy", ["VS:77121"], app.banking_day(4))
    large, sign_id = app.pay("large payment", roof)
    page = app.ask_page("page to sign it", large, sign_id)
    app.decline("customer declines it", page, sign_id)
    app.follow("large payment is declined", large, "DECLINED")
    app.revoke("revoke the grant", grant)
    app.refuse("accounts after that", "GET", ACCOUNTS, 401, "UNAUTHORISED", {"scope": "Authorization"})
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = VltavaApp(walk, ("41860395", "Kapradina-77"))
    grant, page = app.ask("grant", ["PISP", "AISP"], 90)
    walk.step("page of the grant", "GET", page, 200, PAGE | {"page": re.compile('name="heslo"')})
    code = app.allow("customer allows", page, "grant")
    app.sign_in("token", code, "PISP AISP")
    app.look("grant is active", grant, 90)
    account, iban = app.list_accounts("accounts", 1)
    app.balances("balances", account)
    app.turn_pages(("transactions", "next page"), account, 50, 4)

    school, tomas = ("2435976167/2010", "Základní škola Na Kampě"), ("1629240057/3030", "Tomáš Jelínek")
    day, symbols = app.banking_day(2), ["VS:4106", "SS:1180023"]
    camp = app.order("camp", iban, school, 7_325.0, "Letní tábor", ["VS:880214"], day)
    camp_id, _ = app.pay("payment in some days", camp)
    app.exceed("payment above the limit", app.order("boat", iban, tomas, 318_000.5, "Loď", [], day))
    lunch = app.order("lunch", iban, tomas, 462.75, "Oběd v neděli", symbols, None)
    lunch_id, _ = app.pay("payment at once", lunch)
    app.repeat("the first payment again", camp, camp_id)
    batch, sign = app.bundle("batch", [camp_id, lunch_id], 7_787.75)
    app.scenarios("scenarios of the batch", sign, EITHER)
    app.ask_code("code by SMS", sign)
    app.mistype("customer mistypes the code", sign, "112233")
    app.send_code("customer signs", sign)
    wait(timedelta(seconds=30))
    app.follow_batch("batch is running", batch, {camp_id: "QUEUED", lunch_id: "INPROC"})
    wait(timedelta(minutes=5))
    app.follow("payment at once is settled", lunch_id, "SETTLED", app.day(0))
    app.find_entry("transactions after", account, 462.75, "Tomáš Jelínek", symbols)

    boiler = app.order("boiler", iban, tomas, 74_900.0, "Nový kotel", ["VS:4107", "KS:0008"], app.banking_day(6))
    large, sign_id = app.pay("large payment", boiler)
    page = app.ask_page("page to sign it", large, sign_id)
    app.decline("customer declines it", page, sign_id)
    app.follow("large payment is declined", large, "DECLINED")
    wait(day - app.day(0))
    app.refuse("token has expired", "GET", ACCOUNTS, 401, "UNAUTHORISED", {"scope": "Authorization"})
    app.refresh("new token")
    app.follow("payment in some days is settled", camp_id, "SETTLED", day)
    app.revoke("revoke the grant", grant)
    app.refuse("accounts after that", "GET", ACCOUNTS, 401, "UNAUTHORISED", {"scope": "Authorization"})
    return walk.steps
