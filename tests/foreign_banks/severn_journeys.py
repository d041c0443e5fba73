"""Two journeys of the app Pennywise and its customers at Severn."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://pennywise.example/callback"
BASE = "/open-banking/v4.0"
ACCESS, ACCOUNTS = f"{BASE}/aisp/account-access-consents", f"{BASE}/aisp/accounts"
PAYING, PAYMENTS = f"{BASE}/pisp/domestic-payment-consents", f"{BASE}/pisp/domestic-payments"
CREDENTIALS = ("pennywise-app", "tern-kittiwake-04")
SCHEME = "UK.OBIE.SortCodeAccountNumber"
EVERYTHING = ["ReadAccountsDetail", "ReadBalances", "ReadTransactionsDetail"]
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$")
BOOKED, AVAILABLE = "Data.Balance.0.Amount.Amount", "Data.Balance.1.Amount.Amount"


def pence(answer: Answer, place: str) -> int:
    """The amount at this place, or 0."""
    value = answer.find(place)
    return int(value.replace(".", "")) if isinstance(value, str) and re.fullmatch(r"\d+\.\d\d", value) else 0


def money(amount: int) -> str:
    return f"{amount // 100}.{amount % 100:02}"


class SevernApp:
    def __init__(self, walk: Walk, customer: tuple[str, str]) -> None:
        self.walk, self._customer = walk, customer
        self._token: Any = None

    def _name(self, word: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"severn {self._customer[0]} {word}"))

    def time(self, days: int, time: str = "00:00:00") -> str:
        return f"{(self.walk.now + days * DAY).date().isoformat()}T{time}+00:00"

    def sign_in(self, name: str) -> None:
        form = {"grant_type": "client_credentials", "scope": "accounts payments"}
        members = {"access_token": str, "token_type": "Bearer", "expires_in": 1800, "scope": "accounts payments"}
        answer = self.walk.step(name, "POST", "/auth/oauth2/token", 200, members, data=form, auth=CREDENTIALS)
        self._token = answer.find("access_token")

    def call(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        members: Expected | None = None,
        *,
        token: Any = None,
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        """Send a request with this token, or the app's own; none if it is empty."""
        interaction = self._name(name)
        sent = {"x-fapi-interaction-id": interaction} | (headers or {})
        token = self._token if token is None else token
        if token:
            sent["Authorization"] = f"Bearer {token}"
        expected = {"@x-fapi-interaction-id": interaction, **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def refuse(
        self, name: str, method: str, path: str, status: int, code: str, place: str | None = None, **request: Any
    ) -> None:
        phrase = {400: "400 Bad Request", 403: "403 Forbidden"}[status]
        members = {"Code": phrase, "Id": str, "Message": str, "Errors.#": 1, "Errors.0.ErrorCode": code}
        self.call(name, method, path, status, members | {"Errors.0.Path": place}, **request)

    def stop(self, name: str, method: str, path: str, **request: Any) -> None:
        members = {"httpCode": "401", "httpMessage": "Unauthorized", "moreInformation": str}
        self.call(name, method, path, 401, members, **request)

    def ask_access(self, name: str, permissions: list[str], days: int) -> Any:
        data = {"Permissions": permissions, "ExpirationDateTime": self.time(days)}
        members = {
            "Data.ConsentId": re.compile(r"^aac-[0-9a-f]{16}$"),
            "Data.Status": "AWAU",
            "Data.CreationDateTime": TIME,
            "Data.Permissions": permissions,
            "Data.ExpirationDateTime": data["ExpirationDateTime"],
            "Risk": {},
            "Links.Self": re.compile(rf"^http://.+{ACCESS}/aac-[0-9a-f]{{16}}$"),
        }
        return self.call(name, "POST", ACCESS, 201, members, json={"Data": data, "Risk": {}}).find("Data.ConsentId")

    def look(self, name: str, consent: Any, status: str) -> None:
        path = ACCESS if str(consent).startswith("aac-") else PAYING
        members = {"Data.ConsentId": consent, "Data.Status": status, "Data.StatusUpdateDateTime": TIME}
        self.call(name, "GET", f"{path}/{consent}", 200, members)

    def page(self, consent: Any) -> str:
        scope = "accounts" if str(consent).startswith("aac-") else "payments"
        query = {"client_id": CREDENTIALS[0], "response_type": "code", "scope": scope, "redirect_uri": BACK}
        return f"/auth/oauth2/authorize?{urlencode(query | {'state': self.state(consent), 'consent_id': consent})}"

    def state(self, consent: Any) -> str:
        return f"s{uuid5(NAMESPACE_URL, str(consent)).hex[:10]}"

    def mistype(self, name: str, consent: Any, word: str) -> None:
        form = {"customerRef": self._customer[0], "memorableWord": word, "choice": "confirm"}
        members = PAGE | {"page": re.compile("details do not match our records")}
        self.walk.step(name, "POST", self.page(consent), 401, members, data=form)

    def confirm(self, name: str, consent: Any) -> str:
        """Return the code."""
        form = {"customerRef": self._customer[0], "memorableWord": self._customer[1], "choice": "confirm"}
        place = re.compile(rf"^{re.escape(BACK)}\?code=[0-9A-Z]{{24}}&state={self.state(consent)}$")
        answer = self.walk.step(name, "POST", self.page(consent), 302, {"@Location": place}, data=form)
        return parse_qs(urlsplit(str(answer.find("@Location"))).query).get("code", [""])[0]

    def decline(self, name: str, consent: Any) -> None:
        form = {"customerRef": self._customer[0], "memorableWord": self._customer[1], "choice": "decline"}
        members = {"@Location": f"{BACK}?error=access_denied&state={self.state(consent)}"}
        self.walk.step(name, "POST", self.page(consent), 302, members, data=form)

    def exchange(self, name: str, consent: Any, code: str) -> Any:
        """Return the customer's token."""
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK}
        scope = "accounts" if str(consent).startswith("aac-") else "payments"
        members = {"access_token": str, "token_type": "Bearer", "expires_in": 3600, "scope": scope}
        members["consent_id"] = consent
        answer = self.walk.step(name, "POST", "/auth/oauth2/token", 200, members, data=form, auth=CREDENTIALS)
        return answer.find("access_token") or "none"

    def initiate(self, payer: Any, payee: tuple[str, str], amount: int, reference: str) -> dict[str, Any]:
        return {
            "InstructionIdentification": f"PW-{self._name(reference)[:8]}",
            "EndToEndIdentification": f"E2E-{self._name(reference)[9:13]}",
            "InstructedAmount": {"Amount": money(amount), "Currency": "GBP"},
            "DebtorAccount": {"SchemeName": SCHEME, "Identification": payer},
            "CreditorAccount": {"SchemeName": SCHEME, "Identification": payee[0], "Name": payee[1]},
            "RemittanceInformation": {"Reference": reference},
        }

    def wish(self, initiation: dict[str, Any], consent: Any = None) -> dict[str, Any]:
        data = ({"ConsentId": consent} if consent else {}) | {"Initiation": initiation}
        return {"Data": data, "Risk": {"PaymentContextCode": "TransferToThirdParty"}}

    def key(self, name: str) -> dict[str, str]:
        return {"x-idempotency-key": self._name(f"{name} key")}

    def ask_payment(self, name: str, initiation: dict[str, Any]) -> Any:
        members = {
            "Data.ConsentId": re.compile(r"^dpc-[0-9a-f]{16}$"),
            "Data.Status": "AWAU",
            "Data.CreationDateTime": TIME,
            "Data.Initiation": initiation,
            "Risk.PaymentContextCode": "TransferToThirdParty",
        }
        answer = self.call(name, "POST", PAYING, 201, members, headers=self.key(name), json=self.wish(initiation))
        return answer.find("Data.ConsentId")

    def pay(
        self, name: str, consent: Any, initiation: dict[str, Any], token: Any, status: str, reason: str | None = None
    ) -> Any:
        members = {
            "Data.DomesticPaymentId": re.compile(r"^dp-[0-9a-f]{16}$"),
            "Data.ConsentId": consent,
            "Data.Status": status,
            "Data.StatusReason.0.StatusReasonCode": reason,
            "Data.Initiation": initiation,
        }
        body = self.wish(initiation, consent)
        answer = self.call(name, "POST", PAYMENTS, 201, members, token=token, headers=self.key(name), json=body)
        return answer.find("Data.DomesticPaymentId")

    def follow(self, name: str, payment: Any, status: str) -> None:
        members = {"Data.DomesticPaymentId": payment, "Data.Status": status, "Data.StatusUpdateDateTime": TIME}
        self.call(name, "GET", f"{PAYMENTS}/{payment}", 200, members)

    def confirm_funds(self, name: str, consent: Any, token: Any, is_enough: bool) -> None:
        members = {
            "Data.FundsAvailableResult.FundsAvailable": is_enough,
            "Data.FundsAvailableResult.FundsAvailableDateTime": TIME,
        }
        self.call(name, "GET", f"{PAYING}/{consent}/funds-confirmation", 200, members, token=token)

    def balances(self, name: str, account: Any, token: Any, amounts: tuple[int, int] | None = None) -> Answer:
        """`amounts` are the booked and the available one."""
        members = {
            "Data.Balance.#": 2,
            "Data.Balance.0.AccountId": account,
            "Data.Balance.0.Type": "InterimBooked",
            "Data.Balance.1.Type": "InterimAvailable",
            "Data.Balance.1.CreditDebitIndicator": "Credit",
            "Data.Balance.1.Amount.Currency": "GBP",
            BOOKED: money(amounts[0]) if amounts else str,
            AVAILABLE: money(amounts[1]) if amounts else str,
        }
        return self.call(name, "GET", f"{ACCOUNTS}/{account}/balances", 200, members, token=token)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = SevernApp(walk, ("SV402917", "bluebell"))
    app.stop("consent without a token", "POST", ACCESS, json={"Data": {"Permissions": EVERYTHING}, "Risk": {}})
    app.sign_in("token")
    wrong = {"Data": {"Permissions": ["ReadHoroscopes"]}, "Risk": {}}
    app.refuse("consent for horoscopes", "POST", ACCESS, 400, "UK.OBIE.Field.Invalid", "Data.Permissions", json=wrong)
    access = app.ask_access("consent", EVERYTHING, 90)
    members: dict[str, Any] = PAGE | {"page": re.compile("Share your accounts with pennywise-app")}
    walk.step("customer's page", "GET", app.page(access), 200, members)
    app.mistype("customer mistypes the word", access, "blubell")
    code = app.confirm("customer agrees", access)
    token = app.exchange("customer's token", access, code)
    app.look("consent is authorised", access, "AUTH")
    members = {
        "Data.Account.#": 2,
        "Data.Account.0.AccountId": re.compile(r"^\d{11}$"),
        "Data.Account.0.Currency": "GBP",
        "Data.Account.0.Nickname": "Day to day",
        "Data.Account.0.AccountSubType": "CurrentAccount",
        "Data.Account.0.Account.0.SchemeName": SCHEME,
        "Data.Account.0.Account.0.Identification": re.compile(r"^\d{14}$"),
        "Meta.TotalPages": 1,
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, token=token)
    account = accounts.find("Data.Account.0.AccountId")
    number = accounts.find("Data.Account.0.Account.0.Identification")
    before = app.balances("balances", account, token)
    booked = pence(before, BOOKED)
    entries = f"{ACCOUNTS}/{account}/transactions"
    query = {"fromBookingDateTime": app.time(-60), "toBookingDateTime": app.time(-1), "pageSize": "6"}
    members = {
        "Data.Transaction.#": 6,
        "Data.Transaction.0.AccountId": account,
        "Data.Transaction.0.Status": "BOOK",
        "Data.Transaction.0.BookingDateTime": TIME,
        "Data.Transaction.0.Amount.Currency": "GBP",
        "Data.Transaction.0.ProprietaryBankTransactionCode.Code": "CARD",
        "Links.Prev": None,
        "Links.Next": re.compile(r"[?&]page=2$"),
        "Meta.TotalPages": int,
    }
    page = app.call("transactions", "GET", entries, 200, members, token=token, params=query)
    members = {"Data.Transaction.#": 6, "Links.Prev": re.compile(r"page=1$"), "Links.Self": page.find("Links.Next")}
    app.call("more transactions", "GET", page.find("Links.Next"), 200, members, token=token)
    nowhere = f"{ACCOUNTS}/00000000000/balances"
    app.refuse(
        "balances of an unknown account", "GET", nowhere, 400, "UK.OBIE.Resource.NotFound", "AccountId", token=token
    )

    roofer = ("30912255810736", "Wenlock Roofing")
    roof = app.initiate(number, roofer, 48_050, "INV 2207")
    header = "x-idempotency-key"
    app.refuse(
        "payment consent without a key", "POST", PAYING, 400, "UK.OBIE.Header.Missing", header, json=app.wish(roof)
    )
    place = "Data.Initiation.CreditorAccount.Identification"
    wrong = app.wish(roof | {"CreditorAccount": roof["CreditorAccount"] | {"Identification": "3091225581073"}})
    name = "payment consent with a digit too few"
    app.refuse(name, "POST", PAYING, 400, "UK.OBIE.Field.Invalid", place, headers=app.key(name), json=wrong)
    consent = app.ask_payment("payment consent", roof)
    code = app.confirm("customer agrees to pay", consent)
    payer = app.exchange("customer's token to pay", consent, code)
    app.confirm_funds("funds are enough", consent, payer, True)
    payment = app.pay("payment", consent, roof, payer, "PDNG")
    wait(timedelta(minutes=3))
    app.follow("payment is in settlement", payment, "ACSP")
    app.balances("balances in the meantime", account, token, (booked, booked - 48_050))
    wait(timedelta(minutes=9))
    app.follow("payment is settled", payment, "ACSC")
    app.balances("balances after", account, token, (booked - 48_050, booked - 48_050))
    members = {
        "Data.Transaction.#": 1,
        "Data.Transaction.0.TransactionReference": "INV 2207",
        "Data.Transaction.0.CreditDebitIndicator": "Debit",
        "Data.Transaction.0.Amount.Amount": "480.50",
        "Data.Transaction.0.TransactionInformation": "Wenlock Roofing",
        "Data.Transaction.0.ProprietaryBankTransactionCode.Code": "FPO",
        "Links.Next": None,
        "Meta.TotalPages": 1,
    }
    query = {"fromBookingDateTime": (walk.now - timedelta(minutes=4)).isoformat()}
    app.call("transactions after", "GET", entries, 200, members, token=token, params=query)

    much = app.initiate(number, roofer, 7_000_000, "New roof")
    consent = app.ask_payment("payment consent above the balance", much)
    code = app.confirm("customer agrees to that", consent)
    payer = app.exchange("customer's token for that", consent, code)
    app.pay("payment above the balance", consent, much, payer, "RJCT", "AM04")
    gift = app.initiate(number, ("40228100396641", "Clee Hill Choir"), 2_500, "Donation")
    consent = app.ask_payment("payment consent to decline", gift)
    app.decline("customer declines", consent)
    app.look("payment consent is rejected", consent, "RJCT")
    app.call("end of the consent", "DELETE", f"{ACCESS}/{access}", 204)
    app.refuse("accounts after the end", "GET", ACCOUNTS, 403, "UK.OBIE.Reauthenticate", token=token)
    app.look("consent is cancelled", access, "CANC")
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = SevernApp(walk, ("SV775038", "harvestmoon"))
    app.sign_in("token")
    narrow = app.ask_access("consent to decline", ["ReadBalances", "ReadAccountsDetail"], 30)
    access = app.ask_access("consent", ["ReadTransactionsDetail", "ReadAccountsDetail", "ReadBalances"], 14)
    app.decline("customer declines", narrow)
    app.look("first consent is rejected", narrow, "RJCT")
    app.mistype("customer mistypes the word", access, "harvestmoan")
    code = app.confirm("customer agrees", access)
    token = app.exchange("customer's token", access, code)
    members: dict[str, Any] = {
        "Data.Account.0.AccountId": re.compile(r"^\d{11}$"),
        "Data.Account.0.Currency": "GBP",
        "Data.Account.0.Account.0.SchemeName": SCHEME,
        "Data.Account.0.Account.0.Identification": re.compile(r"^\d{14}$"),
        "Meta.TotalPages": 1,
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, token=token)
    rows = accounts.find("Data.Account.#")
    row = 1 if isinstance(rows, int) and rows > 1 else 0
    account = accounts.find(f"Data.Account.{row}.AccountId")
    number = accounts.find(f"Data.Account.{row}.Account.0.Identification")
    before = app.balances("balances", account, token)
    booked, available = pence(before, BOOKED), pence(before, AVAILABLE)
    entries = f"{ACCOUNTS}/{account}/transactions"
    query = {"fromBookingDateTime": app.time(-50), "pageSize": "4"}
    members = {
        "Data.Transaction.#": 4,
        "Data.Transaction.3.AccountId": account,
        "Data.Transaction.3.BookingDateTime": TIME,
        "Data.Transaction.3.Amount.Amount": str,
        "Links.Next": re.compile(r"[?&]page=2$"),
    }
    page = app.call("transactions", "GET", entries, 200, members, token=token, params=query)
    next_page = page.find("Links.Next") or entries
    members = {"Data.Transaction.#": 4, "Links.Prev": re.compile(r"page=1$"), "Links.Next": re.compile(r"page=3$")}
    app.call("next page", "GET", next_page, 200, members, token=token)
    nowhere = f"{ACCOUNTS}/99999999999/transactions"
    name = "transactions of an unknown account"
    app.refuse(name, "GET", nowhere, 400, "UK.OBIE.Resource.NotFound", "AccountId", token=token)

    vet, nursery = ("60114719208843", "Clun Valley Vets"), ("11500802764419", "Little Acorns")
    refused = app.initiate(number, vet, 6_240, "Vaccines")
    paid = app.initiate(number, nursery, 81_500, "Fees autumn")
    later = app.initiate(number, vet, 12_999, "Biscuit X-ray")
    name = "payment consent without a token"
    app.stop(name, "POST", PAYING, token="", headers=app.key(name), json=app.wish(refused))
    name, place = "payment consent with a wrong amount", "Data.Initiation.InstructedAmount.Amount"
    wrong = app.wish(refused | {"InstructedAmount": {"Amount": "sixty", "Currency": "GBP"}})
    app.refuse(name, "POST", PAYING, 400, "UK.OBIE.Field.Invalid", place, headers=app.key(name), json=wrong)
    one = app.ask_payment("first payment consent", refused)
    two = app.ask_payment("second payment consent", paid)
    three = app.ask_payment("third payment consent", later)
    third_code = app.confirm("customer agrees to the third", three)
    app.decline("customer declines the first", one)
    second_code = app.confirm("customer agrees to the second", two)
    second_payer = app.exchange("token for the second", two, second_code)
    third_payer = app.exchange("token for the third", three, third_code)
    body = app.wish(later, three)
    header = "x-idempotency-key"
    app.refuse(
        "payment without a key", "POST", PAYMENTS, 400, "UK.OBIE.Header.Missing", header, token=third_payer, json=body
    )
    third = app.pay("third payment", three, later, third_payer, "PDNG")
    wait(timedelta(minutes=1))
    app.confirm_funds("funds for the second are enough", two, second_payer, True)
    fees = app.pay("second payment", two, paid, second_payer, "PDNG")
    reserved = (booked, available - 94_499)
    app.balances("balances with two amounts reserved", account, token, reserved)
    wait(timedelta(minutes=4))
    app.follow("third payment is in settlement", third, "ACSP")
    wait(timedelta(minutes=11))
    app.follow("second payment is settled", fees, "ACSC")
    name = "third payment once more"
    members = {"Code": "400 Bad Request", "Id": str, "Message": str, "Errors.0.ErrorCode": str}
    app.call(name, "POST", PAYMENTS, 400, members, token=third_payer, headers=app.key(name), json=body)
    app.balances("balances after", account, token, (booked - 94_499, available - 94_499))
    members = {
        "Data.Transaction.#": 2,
        "Data.Transaction.0.TransactionReference": "Fees autumn",
        "Data.Transaction.0.Amount.Amount": "815.00",
        "Data.Transaction.1.CreditDebitIndicator": "Debit",
        "Data.Transaction.1.Amount.Amount": "129.99",
        "Data.Transaction.1.TransactionInformation": "Clun Valley Vets",
        "Meta.TotalPages": 1,
    }
    query = {"fromBookingDateTime": (walk.now - timedelta(minutes=18)).isoformat()}
    app.call("transactions after", "GET", entries, 200, members, token=token, params=query)
    app.call("end of the consent", "DELETE", f"{ACCESS}/{access}", 204)
    app.refuse(
        "balances after the end", "GET", f"{ACCOUNTS}/{account}/balances", 403, "UK.OBIE.Reauthenticate", token=token
    )
    app.look("consent is cancelled", access, "CANC")
    return walk.steps
