"""Two journeys of the app Ledgerlane and its customers at Taff."""

import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, uuid5
from zoneinfo import ZoneInfo

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://ledgerlane.example/taff/callback"
EVERYTHING = ["ReadAccounts", "ReadBalances", "ReadTransactions"]
AIS, PIS = "/open/taff/r3/ais", "/open/taff/r3/pis"
CONSENTS, ACCOUNTS = f"{AIS}/account-access-consents", f"{AIS}/accounts"
ASKED, PAYMENTS = f"{PIS}/domestic-payment-consents", f"{PIS}/domestic-payments"
LOCAL_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0[01]:00$")
MONEY = re.compile(r"^\d+\.\d\d$")


def localise(link: Any) -> str:
    """The path and query of a link, which the app opens where it reached the bank."""
    parts = urlsplit(str(link))
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def read_money(answer: Answer, place: str) -> Decimal:
    """The amount at this place, or 0."""
    try:
        return Decimal(str(answer.find(place)))
    except InvalidOperation:
        return Decimal(0)


@dataclass(frozen=True)
class Person:
    user: str
    word: str
    pin: str


class TaffApp:
    def __init__(self, walk: Walk, person: Person) -> None:
        self.walk, self._person = walk, person
        self._client: Any = None
        self._access: Any = None

    def _name(self, word: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"{self._person.user} {word}"))

    def day(self, days: int) -> str:
        return (self.walk.now.astimezone(ZoneInfo("Europe/London")) + days * DAY).date().isoformat()

    def _take_token(self, name: str, form: dict[str, str], members: Expected) -> Any:
        members = {"access_token": str, "token_type": "Bearer", **members}
        secret = "ledgerlane", "teasel-and-yarrow"
        return self.walk.step(name, "POST", "/access/v2/token", 200, members, data=form, auth=secret).find(
            "access_token"
        )

    def sign_in(self, name: str) -> None:
        form = {"grant_type": "client_credentials", "scope": "accounts payments"}
        self._client = self._take_token(name, form, {"expires_in": 3600})

    def redeem(self, name: str, code: Any, consent: Any) -> None:
        form = {"grant_type": "authorization_code", "code": str(code), "redirect_uri": BACK}
        self._access = self._take_token(name, form, {"expires_in": 1800, "consent_id": consent})

    def call(
        self, name: str, method: str, path: str, status: int, members: Expected | None = None, **request: Any
    ) -> Answer:
        """Send a request with the customer's token for accounts, the client's for the rest."""
        interaction = self._name(name)
        token = self._access if path.startswith(ACCOUNTS) else self._client
        headers = {"x-taff-interaction-id": interaction, "Authorization": f"Bearer {token}"}
        if method == "POST" and path.startswith(PIS):
            headers["x-idempotency-key"] = self._name(f"{name} key")
        expected = {"@x-taff-interaction-id": interaction, **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=headers, **request)

    def refuse(
        self, name: str, method: str, path: str, status: int, code: str, place: str | None = None, **request: Any
    ) -> None:
        members = {
            "Faults.#": 1,
            "Faults.0.FaultCode": code,
            "Faults.0.Field": place,
            "Reference": self._name(name),
            "DateTime": LOCAL_TIME,
        }
        self.call(name, method, path, status, members, **request)

    def wish(self, permissions: list[str], days: int) -> dict[str, Any]:
        return {"Data": {"Permissions": permissions, "ExpirationDate": self.day(days)}, "Risk": {}}

    def ask(self, name: str, wish: dict[str, Any]) -> tuple[Any, str]:
        """Return the consent's id and the customer's page."""
        last = wish["Data"]["ExpirationDate"]
        members = {
            "Data.ConsentId": re.compile(r"^urn-taff-aac-\w{12}$"),
            "Data.ConsentStatus": "AWAITING_SIGN_IN",
            "Data.Permissions": wish["Data"]["Permissions"],
            "Data.ExpirationDateTime": re.compile(rf"^{last}T23:59:59\+0[01]:00$"),
            "Data.CreationDateTime": LOCAL_TIME,
            "Links.SignIn": re.compile(r"^http.*/mewngofnodi/\w{22}$"),
        }
        made = self.call(name, "POST", CONSENTS, 201, members, json=wish)
        return made.find("Data.ConsentId"), localise(made.find("Links.SignIn"))

    def look(self, name: str, path: str, consent: Any, status: str) -> None:
        members = {
            "Data.ConsentId": consent,
            "Data.ConsentStatus": status,
            "Links.SignIn": None,
            "Links.Self": re.compile(f"{path}/{consent}$"),
        }
        self.call(name, "GET", f"{path}/{consent}", 200, members)

    def order(
        self, name: str, payer: tuple[Any, Any], payee: tuple[str, str, str], amount: str, text: str
    ) -> dict[str, Any]:
        initiation = {
            "EndToEndIdentification": self._name(name)[:13],
            "InstructedAmount": {"Amount": amount, "Currency": "GBP"},
            "DebtorAccount": {"SortCode": payer[0], "AccountNumber": payer[1]},
            "CreditorAccount": {"SortCode": payee[0], "AccountNumber": payee[1], "Name": payee[2]},
            "Reference": text,
        }
        return {"Data": {"Initiation": initiation}, "Risk": {"PaymentContextCode": "PartyToParty"}}

    def propose(self, name: str, order: dict[str, Any], is_trusted: bool = False) -> tuple[Any, str]:
        """Return the consent's id and the customer's page."""
        members = {
            "Data.ConsentId": re.compile(r"^urn-taff-dpc-\w{12}$"),
            "Data.ConsentStatus": "AUTHORISED" if is_trusted else "AWAITING_SIGN_IN",
            "Data.SCAExemption": "TrustedPayee" if is_trusted else None,
            "Data.Initiation": order["Data"]["Initiation"],
            "Risk": order["Risk"],
        }
        if is_trusted:
            members["Links.SignIn"] = None
        made = self.call(name, "POST", ASKED, 201, members, json=order)
        return made.find("Data.ConsentId"), localise(made.find("Links.SignIn"))

    def pay(self, name: str, consent: Any, order: dict[str, Any], status: str) -> Any:
        body = {"Data": {"ConsentId": consent, **order["Data"]}, "Risk": order["Risk"]}
        day = self.day(0).replace("-", "")
        members = {
            "Data.PaymentId": re.compile(rf"^FPS{day}-\d{{6}}$"),
            "Data.ConsentId": consent,
            "Data.PaymentStatus": status,
            "Data.Initiation": order["Data"]["Initiation"],
        }
        return self.call(name, "POST", PAYMENTS, 201, members, json=body).find("Data.PaymentId")

    def follow(self, name: str, payment: Any, status: str, method: str = "GET") -> None:
        members = {"Data.PaymentId": payment, "Data.PaymentStatus": status, "Data.StatusUpdateDateTime": LOCAL_TIME}
        self.call(name, method, f"{PAYMENTS}/{payment}", 200, members)

    def recall_too_late(self, name: str, payment: Any) -> None:
        self.refuse(name, "DELETE", f"{PAYMENTS}/{payment}", 409, "TF.Payment.TooLate")

    def _state(self, page: str) -> dict[str, str]:
        return {"redirect_uri": BACK, "state": self._name(page)[:8]}

    def open(self, name: str, page: str, text: str) -> list[str]:
        """Return the places of the characters that the page asks for."""
        members = PAGE | {"page": re.compile(text)}
        shown = self.walk.step(name, "GET", page, 200, members, params=self._state(page))
        return shown.fields.get("position", [])

    def _spell(self, word: str, places: list[str]) -> dict[str, str]:
        letters = [word[int(place) - 1 : int(place)] if place.isdecimal() else "" for place in places]
        return {f"character{row}": letter for row, letter in enumerate(letters, 1)}

    def mistype(self, name: str, page: str, places: list[str] | None = None) -> None:
        """Confirm with wrong characters, or a wrong PIN if there are no places."""
        form = {"userId": self._person.user, "action": "confirm"}
        form |= {"paymentPin": self._person.pin[::-1]} if places is None else self._spell("qqqqqqqqqqqq", places)
        members = PAGE | {"page": re.compile("does not match our records. Tries left: 2"), "@Location": None}
        self.walk.step(name, "POST", page, 200, members, params=self._state(page), data=form)

    def share(self, name: str, page: str, places: list[str]) -> Any:
        """Return the code."""
        form = {"userId": self._person.user, **self._spell(self._person.word, places), "action": "confirm"}
        state = self._state(page)
        members = {"@Location": re.compile(rf"^{re.escape(BACK)}\?code=\w{{24}}&state={state['state']}$")}
        sent = self.walk.step(name, "POST", page, 302, members, params=state, data=form).find("@Location")
        return parse_qs(urlsplit(str(sent)).query).get("code", [None])[0]

    def approve(self, name: str, page: str, consent: Any, *, trust: bool = False) -> None:
        form = {"userId": self._person.user, "paymentPin": self._person.pin, "action": "confirm"}
        form |= {"trustPayee": "yes"} if trust else {}
        state = self._state(page)
        members = {"@Location": f"{BACK}?consent_id={consent}&state={state['state']}"}
        self.walk.step(name, "POST", page, 302, members, params=state, data=form)

    def cancel(self, name: str, page: str) -> None:
        state = self._state(page)
        outcome = f"error=access_denied&error_description=cancelled&state={state['state']}"
        members = {"@Location": f"{BACK}?{outcome}"}
        self.walk.step(name, "POST", page, 302, members, params=state, data={"action": "cancel"})

    def list_accounts(self, name: str, count: int, place: int) -> tuple[Any, tuple[Any, Any]]:
        """Return the id and the numbers of the account at this place."""
        members: dict[str, Any] = {"Data.Accounts.#": count, "Meta.TotalRecords": count}
        members[f"Data.Accounts.{place}.AccountId"] = re.compile(r"^[0-9a-f]{20}$")
        members[f"Data.Accounts.{place}.SortCode"] = re.compile(r"^\d\d-\d\d-\d\d$")
        members[f"Data.Accounts.{place}.AccountNumber"] = re.compile(r"^\d{8}$")
        found = self.call(name, "GET", ACCOUNTS, 200, members)
        id, *numbers = (
            found.find(f"Data.Accounts.{place}.{member}") for member in ("AccountId", "SortCode", "AccountNumber")
        )
        return id, (numbers[0], numbers[1])

    def weigh(self, name: str, account: Any, cleared: Any = MONEY, usable: Any = MONEY) -> tuple[Decimal, Decimal]:
        """Return the cleared and the usable balance."""
        members = {
            "Data.Balances.#": 2,
            "Data.Balances.0.AccountId": account,
            "Data.Balances.0.Type": "Cleared",
            "Data.Balances.0.Amount.Amount": cleared,
            "Data.Balances.0.CreditDebitIndicator": "Credit",
            "Data.Balances.1.Type": "Usable",
            "Data.Balances.1.Amount.Amount": usable,
            "Data.Balances.1.CreditLine.Included": bool,
        }
        found = self.call(name, "GET", f"{ACCOUNTS}/{account}/balances", 200, members)
        return read_money(found, "Data.Balances.0.Amount.Amount"), read_money(found, "Data.Balances.1.Amount.Amount")

    def list_entries(self, name: str, account: Any, days: int, size: int) -> Answer:
        query = {"fromBookingDate": self.day(-days), "toBookingDate": self.day(0), "page-size": str(size)}
        members = {
            "Data.Transactions.#": size,
            "Data.Transactions.0.TransactionId": re.compile(r"^TX\d{11}$"),
            "Data.Transactions.0.BookingDateTime": LOCAL_TIME,
            "Data.Transactions.0.Amount.Amount": MONEY,
            "Data.Transactions.0.CreditDebitIndicator": re.compile("^(Debit|Credit)$"),
            "Meta.TotalRecords": int,
            "Links.Next": re.compile(rf"^http.*{ACCOUNTS}/{account}/transactions\?page-token=\w{{28}}$"),
        }
        return self.call(name, "GET", f"{ACCOUNTS}/{account}/transactions", 200, members, params=query)

    def turn(self, name: str, page: Answer, count: Any) -> Answer:
        """Go to the next page."""
        total, pages = page.find("Meta.TotalRecords"), page.find("Meta.TotalPages")
        members = {"Data.Transactions.#": count, "Data.Transactions.0.TransactionId": str}
        members |= {"Meta.TotalRecords": total, "Meta.TotalPages": pages}
        return self.call(name, "GET", localise(page.find("Links.Next")), 200, members)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = TaffApp(walk, Person("GWEN4471", "caerphilly", "40962"))
    app.sign_in("token")
    wish = app.wish(EVERYTHING, 60)
    app.refuse("consent without Risk", "POST", CONSENTS, 400, "TF.Field.Missing", "Risk", json={"Data": wish["Data"]})
    consent, page = app.ask("consent", wish)
    places = app.open("customer's page", page, "Ledgerlane asks to see your accounts, balances, transactions")
    app.mistype("customer mistypes the characters", page, places)
    code = app.share("customer shares the accounts", page, places)
    app.redeem("access token", code, consent)
    app.look("consent is in use", CONSENTS, consent, "IN_USE")
    account, payer = app.list_accounts("accounts", 2, 0)
    cleared, usable = app.weigh("balances", account)
    entries = app.list_entries("transactions", account, 60, 4)
    app.turn("more transactions", entries, 4)
    nowhere = f"{ACCOUNTS}/00000000000000000000/balances"
    app.refuse("balances of an account outside the consent", "GET", nowhere, 403, "TF.Account.NotCovered")

    builder = ("40-17-92", "55120938", "Rhys Pugh Builders")
    much = app.order("extension", payer, builder, "5200.00", "Extension")
    place = "Data.Initiation.InstructedAmount.Amount"
    app.refuse("payment above the limit", "POST", ASKED, 400, "TF.Amount.AboveLimit", place, json=much)
    order = app.order("roof", payer, builder, "1250.00", "Roof repair")
    asked, page = app.propose("payment consent", order)
    app.approve("customer approves and trusts the payee", page, asked, trust=True)
    roof = app.pay("payment", asked, order, "OnHold")
    wait(timedelta(minutes=11))
    app.follow("payment is settling", roof, "Settling")
    app.recall_too_late("recall it too late", roof)
    wait(timedelta(minutes=3))
    app.follow("payment is settled", roof, "Settled")
    app.weigh("balances after", account, f"{cleared - 1250:.2f}", f"{usable - 1250:.2f}")

    order = app.order("gutter", payer, builder, "85.40", "Gutter")
    asked, _ = app.propose("payment consent for the trusted payee", order, is_trusted=True)
    app.call("funds for it", "GET", f"{ASKED}/{asked}/funds-confirmation", 200, {"Data.FundsAvailable": "Y"})
    gutter = app.pay("payment to recall", asked, order, "Received")
    app.follow("recall it", gutter, "Recalled", "DELETE")
    club = ("20-63-25", "70418822", "Taff Rowing Club")
    declined, page = app.propose("payment consent to decline", app.order("club", payer, club, "36.00", "Membership"))
    app.cancel("customer cancels", page)
    app.look("that consent is declined", ASKED, declined, "DECLINED")
    app.call("revoke the consent", "DELETE", f"{CONSENTS}/{consent}", 204, {"page": ""})
    app.refuse("accounts after", "GET", ACCOUNTS, 403, "TF.Consent.NotInUse")
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = TaffApp(walk, Person("HUW80235", "snowdonia", "71853"))
    app.sign_in("token")
    wish = app.wish(["ReadTransactions", "ReadBalances", "ReadAccounts"], 150)
    app.refuse("consent without Risk", "POST", CONSENTS, 400, "TF.Field.Missing", "Risk", json={"Data": wish["Data"]})
    consent, page = app.ask("consent", wish)
    places = app.open("customer's page", page, "Ledgerlane asks to see your transactions, balances, accounts")
    code = app.share("customer shares the accounts", page, places)
    app.redeem("access token", code, consent)
    app.look("consent is in use", CONSENTS, consent, "IN_USE")
    account, payer = app.list_accounts("accounts", 3, 1)
    entries = app.list_entries("transactions", account, 75, 6)
    entries = app.turn("more transactions", entries, 6)
    app.turn("last transactions", entries, int)
    cleared, usable = app.weigh("balances", account)
    nowhere = f"{ACCOUNTS}/ffffffffffffffffffff/balances"
    app.refuse("balances of an account outside the consent", "GET", nowhere, 403, "TF.Account.NotCovered")

    choir = ("60-08-41", "31907746", "Cor Meibion Tawe")
    declined, page = app.propose("payment consent to decline", app.order("choir", payer, choir, "48.50", "Tickets"))
    app.cancel("customer cancels", page)
    app.look("that consent is declined", ASKED, declined, "DECLINED")
    school = ("77-24-03", "12660459", "Ysgol Glan Afan")
    much = app.order("year", payer, school, "6150.75", "School year")
    place = "Data.Initiation.InstructedAmount.Amount"
    app.refuse("payment above the limit", "POST", ASKED, 400, "TF.Amount.AboveLimit", place, json=much)
    order = app.order("term", payer, school, "1480.25", "Autumn term")
    asked, page = app.propose("payment consent", order)
    app.mistype("customer mistypes the PIN", page)
    app.approve("customer approves and trusts the payee", page, asked, trust=True)
    term = app.pay("payment", asked, order, "OnHold")
    order = app.order("trip", payer, school, "62.40", "Trip to Gower")
    asked, _ = app.propose("payment consent for the trusted payee", order, is_trusted=True)
    trip = app.pay("payment to recall", asked, order, "Received")
    app.follow("recall it", trip, "Recalled", "DELETE")
    wait(timedelta(minutes=11))
    app.follow("payment is settling", term, "Settling")
    app.recall_too_late("recall it too late", term)
    wait(timedelta(minutes=3))
    app.follow("payment is settled", term, "Settled")
    paid = Decimal("1480.25")
    app.weigh("balances after", account, f"{cleared - paid:.2f}", f"{usable - paid:.2f}")
    app.call("revoke the consent", "DELETE", f"{CONSENTS}/{consent}", 204, {"page": ""})
    app.refuse("accounts after", "GET", ACCOUNTS, 403, "TF.Consent.NotInUse")
    return walk.steps
