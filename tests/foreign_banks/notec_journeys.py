"""Two journeys of the app Portfelik and its customers at Noteć."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, UUID, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

APP, SECRET, BACK = "PSDPL-KNF-0042917711", "czapla-siwa", "https://portfelik.example/powrot"
AUTHORIZE, TOKEN = "/v3_0.1/auth/v3_0.1/authorize", "/v3_0.1/auth/v3_0.1/token"
ACCOUNTS, PAYMENTS = "/v3_0.1/accounts/v3_0.1", "/v3_0.1/payments/v3_0.1"
MANY, ONCE = {"scopeUsageLimit": "multiple"}, {"scopeUsageLimit": "single"}
SEEING = {
    "ais-accounts:getAccounts": MANY,
    "ais:getAccount": MANY,
    "ais:getTransactionsDone": MANY,
    "ais:getTransactionsPending": MANY,
}
PAYING = {"pis:domestic": ONCE, "pis:getPayment": MANY, "pis:cancelPayment": MANY}
NRB, PAYMENT_ID, AMOUNT = re.compile(r"^\d{26}$"), re.compile(r"^NTC\d{12}$"), re.compile(r"^\d+\.\d\d$")
WORDS = {
    "submitted": "Przyjęto zlecenie",
    "scheduled": "Oczekuje na dzień realizacji",
    "pending": "Przekazano do rozliczenia",
    "done": "Zrealizowano",
    "cancelled": "Odwołano na życzenie klienta",
}


def cents(answer: Answer, place: str) -> int:
    """The amount at this place in cents, or 0."""
    value = answer.find(place)
    return int(value.replace(".", "")) if isinstance(value, str) and AMOUNT.search(value) else 0


def write(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


def states(status: str) -> dict[str, Any]:
    return {"generalStatus": status, "detailedStatus": WORDS[status]}


class NotecApp:
    def __init__(self, walk: Walk, login: str, password: str) -> None:
        self.walk, self._login, self._password = walk, login, password

    def _id(self, name: str) -> str:
        """A UUID of version 1 that is the same in each run."""
        return str(UUID(int=uuid5(NAMESPACE_URL, f"{self._login} {name}").int, version=1))

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).date().isoformat()

    def call(
        self,
        name: str,
        url: str,
        status: int,
        members: Expected,
        body: dict[str, Any],
        *,
        token: Any = None,
        without: str = "",
        id: str = "",
    ) -> Answer:
        """Send a request, without a member of its header, or with another id in X-REQUEST-ID."""
        header = {
            "requestId": self._id(name),
            "userAgent": "Portfelik/5.2",
            "ipAddress": "203.0.113.18",
            "sendDate": self.walk.now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "tppId": APP,
            "isDirectPsu": True,
        }
        if token is not None:
            header["token"] = str(token)
        header.pop(without, None)
        sent = id or self._id(name)
        expected = {
            "responseHeader.requestId": sent,
            "responseHeader.sendDate": re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"),
            "responseHeader.isCallback": False,
            "@X-REQUEST-ID": sent,
        }
        document = {"requestHeader": header, **body}
        return self.walk.step(
            name, "POST", url, status, expected | dict(members), headers={"X-REQUEST-ID": sent}, json=document
        )

    def refuse(
        self, name: str, url: str, status: int, code: str, body: dict[str, Any], place: str = "", **more: Any
    ) -> None:
        """`place` is the member that the message names."""
        members = {"code": code, "message": re.compile(re.escape(place)) if place else str}
        self.call(name, url, status, members, body, **more)

    def consent_id(self, word: str) -> str:
        return f"portfelik-{self._id(word)[:8]}"

    def wish(self, word: str, scope: str, privileges: list[dict[str, Any]], days: int) -> dict[str, Any]:
        return {
            "response_type": "code",
            "client_id": APP,
            "redirect_uri": BACK,
            "scope": scope,
            "scope_details": {
                "privilegeList": privileges,
                "scopeGroupType": scope,
                "consentId": self.consent_id(word),
                "scopeTimeLimit": (self.walk.now + days * DAY).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "throttlingPolicy": "psd2Regulatory",
            },
            "state": f"stan-{word}",
        }

    def ask(self, name: str, wish: dict[str, Any]) -> Any:
        """Return the customer's page."""
        members = {"aspspRedirectUri": re.compile(r"^http://[\w.:]+/autoryzacja/\w{18}$")}
        return self.call(name, AUTHORIZE, 200, members, wish).find("aspspRedirectUri")

    def decide(self, name: str, page: Any, word: str, decision: str) -> str:
        """Return the code."""
        form = {"login": self._login, "haslo": self._password, "decyzja": decision}
        outcome = r"code=\w{24}" if decision == "zgoda" else "error=access_denied"
        members = {"@Location": re.compile(rf"^{re.escape(BACK)}\?{outcome}&state=stan-{word}$")}
        location = self.walk.step(name, "POST", page, 302, members, data=form).find("@Location")
        return parse_qs(urlsplit(location or "").query).get("code", [""])[0]

    def mistype(self, name: str, page: Any, password: str) -> None:
        form = {"login": self._login, "haslo": password, "decyzja": "zgoda"}
        self.walk.step(name, "POST", page, 401, PAGE | {"page": re.compile("Niepoprawny login lub hasło")}, data=form)

    def _grant(self, **grant: str) -> dict[str, Any]:
        return {**grant, "redirect_uri": BACK, "client_id": APP, "client_secret": SECRET}

    def redeem(self, code: str) -> dict[str, Any]:
        return self._grant(grant_type="authorization_code", Code=code)

    def refresh(self, token: Any) -> dict[str, Any]:
        return self._grant(grant_type="refresh_token", refresh_token=str(token))

    def take(self, name: str, word: str, scope: str, grant: dict[str, Any]) -> tuple[Any, Any]:
        """Return the token and the one to refresh it."""
        members = {
            "access_token": re.compile(r"^\w{40}$"),
            "token_type": "Bearer",
            "expires_in": 1800,
            "refresh_token": re.compile(r"^\w{40}$"),
            "scope": scope,
            "scope_details.consentId": self.consent_id(word),
            "scope_details.privilegeList.0.accountNumber": NRB,
        }
        taken = self.call(name, TOKEN, 200, members, grant)
        return taken.find("access_token"), taken.find("refresh_token")

    def balances(self, name: str, token: Any, account: str, booked: int | None = None, reserved: int = 0) -> int:
        """Return the booked balance."""
        members: dict[str, Any] = {
            "account.accountNumber": account,
            "account.currency": "PLN",
            "account.availableBalance": AMOUNT if booked is None else write(booked - reserved),
            "account.bookingBalance": AMOUNT if booked is None else write(booked),
        }
        body = {"accountNumber": account}
        answer = self.call(name, f"{ACCOUNTS}/getAccount", 200, members, body, token=token)
        return cents(answer, "account.bookingBalance")

    def payment(
        self, payer: str, payee: tuple[str, str], amount: str, description: str, days: int = 0
    ) -> dict[str, Any]:
        return {
            "sender": {"accountNumber": payer},
            "recipient": {"accountNumber": payee[0], "nameAddress": {"value": [payee[1]]}},
            "transferData": {
                "description": description,
                "amount": amount,
                "currency": "PLN",
                "executionDate": self.day(days),
            },
            "tppTransactionId": f"p-{self._id(description)[:8]}",
            "deliveryMode": "StandardD0",
            "system": "Elixir",
            "executionMode": "FutureDated" if days else "Immediate",
        }

    def pay(self, name: str, token: Any, payment: dict[str, Any], status: str = "submitted") -> str:
        """Return the payment's id."""
        members = {"paymentId": PAYMENT_ID, "tppTransactionId": payment["tppTransactionId"], **states(status)}
        return str(self.call(name, f"{PAYMENTS}/domestic", 200, members, payment, token=token).find("paymentId"))

    def refuse_payment(
        self, name: str, token: Any, payment: dict[str, Any], status: int, code: str, place: str = ""
    ) -> None:
        self.refuse(name, f"{PAYMENTS}/domestic", status, code, payment, place, token=token)

    def follow(self, name: str, token: Any, id: str, status: str, amount: str) -> None:
        members = {"paymentId": id, "transferData.amount": amount, **states(status)}
        self.call(name, f"{PAYMENTS}/getPayment", 200, members, {"paymentId": id}, token=token)

    def cancel(self, name: str, token: Any, id: str) -> None:
        members = {"paymentId": id, **states("cancelled")}
        self.call(name, f"{PAYMENTS}/cancelPayments", 200, members, {"paymentId": id}, token=token)

    def delete(self, name: str, token: Any, word: str) -> None:
        body = {"consentId": self.consent_id(word)}
        self.call(name, f"{ACCOUNTS}/deleteConsent", 200, {}, body, token=token)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = NotecApp(walk, "hanna.wilk", "Bydgoszcz-1346")
    done, pending = f"{ACCOUNTS}/getTransactionsDone", f"{ACCOUNTS}/getTransactionsPending"
    wish = app.wish("rachunki", "ais", [SEEING], 90)
    app.refuse(
        "consent without a send date",
        AUTHORIZE,
        400,
        "MEMBER_MISSING",
        wish,
        "requestHeader.sendDate",
        without="sendDate",
    )
    wish = app.wish("rachunki", "ais", [SEEING], 90)
    other_id = "5c1f0a52-4a7e-11f1-9d3b-0242ac120002"
    app.refuse("consent with two request ids", AUTHORIZE, 400, "REQUEST_ID_MISMATCH", wish, id=other_id)
    page = app.ask("consent for accounts", wish)
    walk.step("customer's page", "GET", page, 200, PAGE | {"page": re.compile("prosi o dostęp do rachunków")})
    app.mistype("customer mistypes the password", page, "Bydgoszcz-1436")
    code = app.decide("customer allows", page, "rachunki", "zgoda")
    seeing, refresh = app.take("token for accounts", "rachunki", "ais", app.redeem(code))
    app.refuse("code again", TOKEN, 400, "CODE_INVALID", app.redeem(code))
    members: dict[str, Any] = {
        "accounts.#": 2,
        "accounts.0.accountNumber": NRB,
        "accounts.0.accountTypeName": "Konto Rzeczne",
        "accounts.0.accountType.code": "CACC",
        "pageInfo.#": 0,
    }
    accounts = app.call("accounts", f"{ACCOUNTS}/getAccounts", 200, members, {"perPage": 20}, token=seeing)
    account, bills = (str(accounts.find(f"accounts.{number}.accountNumber")) for number in (0, 1))
    booked = app.balances("account", seeing, account)
    period = {"transactionDateFrom": app.day(-60), "transactionDateTo": app.day(-1), "perPage": 5}
    members = {
        "transactions.#": 5,
        "transactions.0.itemId": str,
        "transactions.0.amount": AMOUNT,
        "transactions.0.transactionCategory": re.compile("^(DEBIT|CREDIT)$"),
        "transactions.0.bookingDate": re.compile(r"^\d{4}-\d\d-\d\d$"),
        "transactions.0.postTransactionBalance": write(booked),
        "pageInfo.nextPage": str,
        "pageInfo.previousPage": None,
    }
    body = {"accountNumber": account, **period}
    one = app.call("transactions", done, 200, members, body, token=seeing)
    members = {"transactions.#": 5, "pageInfo.nextPage": str, "pageInfo.previousPage": str}
    body["pageId"] = one.find("pageInfo.nextPage") or ""
    app.call("more transactions", done, 200, members, body, token=seeing)
    body = {"accountNumber": "61109010140000071219812874"}
    app.refuse("unknown account", f"{ACCOUNTS}/getAccount", 404, "NOT_FOUND", body, token=seeing)

    landlord = "45109014470000000118840927", "Zarząd Domów Okole"
    gym = "21102039580000910200001234", "Klub Wioślarski Brda"
    rent = app.payment(account, landlord, "1240.50", "Czynsz za czerwiec")
    app.refuse_payment("payment with the token for accounts", seeing, rent, 403, "PRIVILEGE_MISSING")
    entries = [{"accountNumber": account, **PAYING}, {"accountNumber": bills, **PAYING}]
    page = app.ask("consent to decline", app.wish("odmowa", "pis", entries, 1))
    app.decide("customer declines", page, "odmowa", "odmowa")
    page = app.ask("consent for payments", app.wish("czynsz", "pis", entries, 1))
    code = app.decide("customer allows payments", page, "czynsz", "zgoda")
    paying, _ = app.take("token for payments", "czynsz", "pis", app.redeem(code))
    bad = rent | {"transferData": rent["transferData"] | {"amount": "1240,50"}}
    app.refuse_payment("payment with a comma", paying, bad, 400, "MEMBER_INVALID", "transferData.amount")
    much = app.payment(account, landlord, "60000.00", "Czynsz za czerwiec")
    app.refuse_payment("payment above the limit", paying, much, 422, "AMOUNT_ABOVE_LIMIT")
    much = app.payment(account, landlord, "15000.00", "Czynsz za czerwiec")
    app.refuse_payment("payment above the balance", paying, much, 422, "NO_COVER")
    paid = app.pay("payment", paying, rent)
    other = app.payment(account, gym, "35.00", "Kurs")
    app.refuse_payment("another payment", paying, other, 403, "PRIVILEGE_USED")
    app.balances("account with the amount reserved", seeing, account, booked, 124_050)
    members = {
        "transactions.#": 1,
        "transactions.0.amount": "1240.50",
        "transactions.0.currency": "PLN",
        "transactions.0.description": "Czynsz za czerwiec",
        "transactions.0.transactionCategory": "DEBIT",
        "transactions.0.recipient.accountNumber": landlord[0],
        "transactions.0.recipient.nameAddress.value.0": landlord[1],
        "transactions.0.sender.accountNumber": account,
        "pageInfo.#": 0,
    }
    app.call("pending transactions", pending, 200, members, {"accountNumber": account}, token=seeing)
    wait(timedelta(seconds=80))
    app.follow("payment is pending", paying, paid, "pending", "1240.50")
    wait(timedelta(minutes=4))
    app.follow("payment is done", paying, paid, "done", "1240.50")
    app.refuse(
        "cancel it too late", f"{PAYMENTS}/cancelPayments", 409, "NOT_CANCELLABLE", {"paymentId": paid}, token=paying
    )
    app.balances("account after", seeing, account, booked - 124_050)
    members |= {
        "transactions.0.bookingDate": app.day(0),
        "transactions.0.postTransactionBalance": write(booked - 124_050),
        "transactions.0.transactionType": "TRANSFER",
    }
    body = {"accountNumber": account, "transactionDateFrom": app.day(0)}
    app.call("transactions after", done, 200, members, body, token=seeing)
    fee = app.payment(bills, gym, "89.00", "Składka", 3)
    scheduled = app.pay("payment in three days", paying, fee, "scheduled")
    app.cancel("cancel that payment", paying, scheduled)
    wait(timedelta(minutes=30))
    body = {"accountNumber": account}
    app.refuse("token has expired", f"{ACCOUNTS}/getAccount", 401, "TOKEN_EXPIRED", body, token=seeing)
    seeing, _ = app.take("refreshed token", "rachunki", "ais", app.refresh(refresh))
    app.delete("delete the consent", seeing, "rachunki")
    app.refuse("account after that", f"{ACCOUNTS}/getAccount", 403, "CONSENT_REVOKED", body, token=seeing)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = NotecApp(walk, "tymon.zych", "Naklo+Kanal")
    done, pending = f"{ACCOUNTS}/getTransactionsDone", f"{ACCOUNTS}/getTransactionsPending"
    wish = app.wish("firma", "ais", [SEEING], 30)
    app.refuse(
        "consent without an address",
        AUTHORIZE,
        400,
        "MEMBER_MISSING",
        wish,
        "requestHeader.ipAddress",
        without="ipAddress",
    )
    no = app.ask("consent to decline", app.wish("najpierw", "ais", [SEEING], 5))
    app.mistype("customer mistypes the password", no, "Naklo-Kanal")
    app.decide("customer declines", no, "najpierw", "odmowa")
    yes = app.ask("consent for accounts", app.wish("firma", "ais", [SEEING], 30))
    walk.step("page of the second consent", "GET", yes, 200, PAGE | {"page": re.compile('name="haslo"')})
    code = app.decide("customer allows", yes, "firma", "zgoda")
    app.refuse("unknown code", TOKEN, 400, "CODE_INVALID", app.redeem(code[::-1] or "x"))
    seeing, refresh = app.take("token for accounts", "firma", "ais", app.redeem(code))
    other_id = "9b7d61e4-5120-11f1-8a40-0242ac120002"
    url = f"{ACCOUNTS}/getAccounts"
    app.refuse("accounts with two request ids", url, 400, "REQUEST_ID_MISMATCH", {}, token=seeing, id=other_id)
    members: dict[str, Any] = {"accounts.0.accountNumber": NRB, "accounts.0.accountType.code": str, "pageInfo.#": 0}
    accounts = app.call("accounts", url, 200, members, {"perPage": 10}, token=seeing)
    firm, shared = (str(accounts.find(f"accounts.{number}.accountNumber")) for number in (0, 1))
    members = {"transactions.#": 0, "pageInfo.#": 0}
    app.call("no pending transactions", pending, 200, members, {"accountNumber": shared}, token=seeing)
    body = {"accountNumber": shared, "transactionDateFrom": app.day(-50), "perPage": 4}
    members = {"transactions.#": 4, "transactions.3.amount": AMOUNT, "pageInfo.nextPage": str}
    one = app.call("transactions", done, 200, members, body, token=seeing)
    members = {"transactions.#": 4, "pageInfo.nextPage": str, "pageInfo.previousPage": str}
    on = {"pageId": one.find("pageInfo.nextPage") or ""}
    two = app.call("next page", done, 200, members, body | on, token=seeing)
    members = {"transactions.#": 4, "transactions.0.itemId": one.find("transactions.0.itemId")}
    members |= {"pageInfo.nextPage": str, "pageInfo.previousPage": None}
    back = {"pageId": two.find("pageInfo.previousPage") or ""}
    app.call("first page again", done, 200, members, body | back, token=seeing)
    body = {"accountNumber": "27114020040000300201355387"}
    app.refuse("transactions of an unknown account", done, 404, "NOT_FOUND", body, token=seeing)
    booked = app.balances("account", seeing, shared)

    entries = [{"accountNumber": shared, **PAYING}, {"accountNumber": firm, **PAYING}]
    page = app.ask("consent for payments", app.wish("przelewy", "pis", entries, 2))
    code = app.decide("customer allows payments", page, "przelewy", "zgoda")
    paying, _ = app.take("token for payments", "przelewy", "pis", app.redeem(code))
    app.refuse("code for payments again", TOKEN, 400, "CODE_INVALID", app.redeem(code))
    app.refuse("accounts with the token for payments", url, 403, "PRIVILEGE_MISSING", {}, token=paying)
    mason = "21102039580000910200001234", "Kamieniarstwo Zych i Syn"
    tax = "45109014470000000118840927", "Urząd Skarbowy"
    scheduled = app.pay("payment of tomorrow", paying, app.payment(firm, tax, "2310.00", "Podatek", 1), "scheduled")
    again = app.payment(firm, tax, "15.00", "Odsetki")
    app.refuse_payment("another payment from that account", paying, again, 403, "PRIVILEGE_USED")
    stairs = app.payment(shared, mason, "734.20", "Schody")
    bare = stairs | {"transferData": {k: v for k, v in stairs["transferData"].items() if k != "description"}}
    app.refuse_payment("payment without description", paying, bare, 400, "MEMBER_MISSING", "transferData.description")
    bad = app.payment(shared, mason, "734,2", "Schody")
    app.refuse_payment("payment with another comma", paying, bad, 400, "MEMBER_INVALID", "transferData.amount")
    much = app.payment(shared, mason, write(booked + 1), "Schody")
    app.refuse_payment("payment a cent above the balance", paying, much, 422, "NO_COVER")
    much = app.payment(shared, mason, "75000.00", "Schody")
    app.refuse_payment("payment far above the limit", paying, much, 422, "AMOUNT_ABOVE_LIMIT")
    paid = app.pay("payment of today", paying, stairs)
    app.balances("account with the amount reserved", seeing, shared, booked, 73_420)
    app.cancel("cancel the payment of tomorrow", paying, scheduled)
    app.refuse(
        "cancel it again", f"{PAYMENTS}/cancelPayments", 409, "NOT_CANCELLABLE", {"paymentId": scheduled}, token=paying
    )
    wait(timedelta(minutes=2))
    app.follow("payment of today is pending", paying, paid, "pending", "734.20")
    members = {
        "transactions.#": 1,
        "transactions.0.amount": "734.20",
        "transactions.0.description": "Schody",
        "transactions.0.transactionCategory": "DEBIT",
        "transactions.0.recipient.nameAddress.value.0": mason[1],
        "transactions.0.sender.accountNumber": shared,
    }
    app.call("pending transactions", pending, 200, members, {"accountNumber": shared}, token=seeing)
    wait(timedelta(minutes=6))
    app.follow("payment of today is done", paying, paid, "done", "734.20")
    app.follow("payment of tomorrow is still cancelled", paying, scheduled, "cancelled", "2310.00")
    gone = {"transactions.#": 0, "pageInfo.#": 0}
    app.call("no pending transactions any more", pending, 200, gone, {"accountNumber": shared}, token=seeing)
    members |= {
        "transactions.0.bookingDate": app.day(0),
        "transactions.0.postTransactionBalance": write(booked - 73_420),
    }
    body = {"accountNumber": shared, "transactionDateFrom": app.day(0)}
    app.call("transactions after", done, 200, members, body, token=seeing)
    app.refuse(
        "unknown payment", f"{PAYMENTS}/getPayment", 404, "NOT_FOUND", {"paymentId": "NTC000000000000"}, token=paying
    )
    app.delete("delete the consent for payments", paying, "przelewy")
    app.refuse(
        "payment after that", f"{PAYMENTS}/getPayment", 403, "CONSENT_REVOKED", {"paymentId": paid}, token=paying
    )
    wait(timedelta(minutes=45))
    app.refuse("token has expired", url, 401, "TOKEN_EXPIRED", {}, token=seeing)
    seeing, _ = app.take("refreshed token", "firma", "ais", app.refresh(refresh))
    app.balances("account at the end", seeing, shared, booked - 73_420)
    return walk.steps
