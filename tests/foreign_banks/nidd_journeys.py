"""Two journeys of the app Ledgerling and its customers at Nidd."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, Answer, Expected, Step, Wait, Walk

CONSENTS, ACCOUNTS, PAYMENTS = "/v1/consents", "/v1/accounts", "/v1/payments/faster-payments"
AMOUNT = re.compile(r"^-?\d+\.\d\d$")
HEX = re.compile(r"^[0-9a-f]{24}$")
TEXT_MESSAGE, CARD_READER = ("SMS_OTP", 0, "482915"), ("CHIP_OTP", 1, "90417263")
"""Type, place in the list, and the code that test devices show."""


def pence(answer: Answer, place: str) -> int:
    """The amount at this place, or 0."""
    value = answer.find(place)
    return int(value.replace(".", "")) if isinstance(value, str) and AMOUNT.match(value) else 0


def pounds(amount: int) -> str:
    return f"{'-' * (amount < 0)}{abs(amount) // 100}.{abs(amount) % 100:02}"


@dataclass(frozen=True)
class Names:
    """How the interface calls what belongs to a consent or to a payment."""

    path: str
    id: str
    status: str
    form: str


CONSENT = Names(CONSENTS, "consentId", "consentStatus", r"NC-\w{4}-\w{4}-\w{4}")
PAYMENT = Names(PAYMENTS, "paymentId", "transactionStatus", r"FPS\d{6}\w{6}")


class NiddApp:
    def __init__(self, walk: Walk, number: str, password: str) -> None:
        self.walk, self._number, self._password = walk, number, password

    def _name(self, word: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"{self._number} {word}"))

    def key(self, word: str) -> dict[str, str]:
        return {"Idempotency-Key": self._name(f"{word} key")}

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
        is_attended: bool = True,
        headers: Mapping[str, str | None] | None = None,
        **request: Any,
    ) -> Answer:
        """Send a request; a header that is None is left out."""
        sent: dict[str, Any] = {"X-Api-Key": "nbs-test-7c1f04e2", "X-Request-ID": self._name(name)}
        sent |= {"PSU-IP-Address": "192.0.2.44"} if is_attended else {}
        sent |= {"Consent-ID": str(consent)} if consent else {}
        sent |= dict(headers or {})
        kept = {name: value for name, value in sent.items() if value is not None}
        expected = {"@X-Request-ID": sent["X-Request-ID"], **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=kept, **request)

    def refuse(
        self, name: str, method: str, path: Any, status: int, number: str, where: str | None = None, **request: Any
    ) -> None:
        members = {"fault.number": f"NBS-{number}", "fault.where": where, "requestId": self._name(name)}
        self.call(name, method, path, status, members, **request)

    def consent(self, until: str) -> dict[str, Any]:
        wish = {"access": {"allPsd2": "allAccounts"}, "recurringIndicator": True}
        return wish | {"validUntil": until, "frequencyPerDay": 1}

    def ask(self, name: str, until: str, is_until: str) -> Answer:
        """Ask for a consent, which the bank may make shorter."""
        return self.make(name, CONSENT, "awaitingPsu", self.consent(until), {"validUntil": is_until})

    def make(self, name: str, kind: Names, state: str, document: dict[str, Any], members: Expected) -> Answer:
        expected: dict[str, Any] = {
            kind.status: state,
            kind.id: re.compile(f"^{kind.form}$"),
            "@Location": re.compile(f"^{kind.path}/{kind.form}$"),
            "@ASPSP-SCA-Approach": "EMBEDDED",
        }
        if state != "RJCT":
            expected["_links.startAuthorisation.href"] = re.compile(f"^{kind.path}/{kind.form}/authorisations$")
        headers = self.key(name) if kind is PAYMENT else None
        return self.call(name, "POST", kind.path, 201, expected | dict(members), headers=headers, json=document)

    def order(self, payer: Any, payee: tuple[str, str], amount: int, reference: str) -> dict[str, Any]:
        return {
            "debtorAccount": {"bban": payer},
            "creditorAccount": {"bban": payee[0]},
            "creditorName": payee[1],
            "instructedAmount": {"currency": "GBP", "amount": pounds(amount)},
            "remittanceInformationUnstructured": reference,
        }

    def pay(self, name: str, order: dict[str, Any]) -> Answer:
        return self.make(name, PAYMENT, "RCVD", order, {"rejectionCode": None})

    def repeat(self, name: str, before: str, order: dict[str, Any], payment: Any, state: str) -> None:
        """Send the payment of the step `before` again."""
        members = {"paymentId": payment, "transactionStatus": state}
        self.call(name, "POST", PAYMENTS, 200, members, headers=self.key(before), json=order)

    def start(self, name: str, made: Answer, *, with_password: bool) -> Answer:
        """Begin to sign what was made."""
        state, link = "psuIdentified", "_links.updatePsuAuthentication.href"
        members: dict[str, Any] = {"authorisationId": HEX}
        body: dict[str, Any] = {}
        if with_password:
            state, link = "psuAuthenticated", "_links.selectAuthenticationMethod.href"
            members |= {"scaMethods.#": 2, "scaMethods.1.authenticationType": "CHIP_OTP"}
            body = {"json": {"psuData": {"password": self._password}}}
        path = made.find("_links.startAuthorisation.href")
        members |= {"scaStatus": state, link: re.compile(rf"^{path}/[0-9a-f]{{24}}$")}
        return self.call(name, "POST", path, 201, members, headers={"PSU-ID": self._number}, **body)

    def give_password(self, name: str, begun: Answer) -> Answer:
        path = begun.find("_links.updatePsuAuthentication.href")
        members = {
            "scaStatus": "psuAuthenticated",
            "scaMethods.#": 2,
            "scaMethods.0.authenticationType": "SMS_OTP",
            "_links.selectAuthenticationMethod.href": path,
        }
        return self.call(name, "PUT", path, 200, members, json={"psuData": {"password": self._password}})

    def choose(self, name: str, answer: Answer, method: tuple[str, int, str]) -> Answer:
        """Choose a method from this answer's list."""
        kind, place, code = method
        path, id = answer.find("_links.selectAuthenticationMethod.href"), answer.find(f"scaMethods.{place}")
        id = id.get("authenticationMethodId") if isinstance(id, dict) else None
        members: dict[str, Any] = {
            "scaStatus": "scaMethodSelected",
            "chosenScaMethod.authenticationMethodId": id,
            "chosenScaMethod.authenticationType": kind,
            "challengeData.otpMaxLength": len(code),
            "_links.authoriseTransaction.href": path,
        }
        if kind == "CHIP_OTP":
            members["challengeData.data"] = re.compile(r"^\d{8}$")
        return self.call(name, "PUT", path, 200, members, json={"authenticationMethodId": id})

    def sign(self, name: str, chosen: Answer, method: tuple[str, int, str], signed: Expected) -> None:
        """Send the right code; the bank tells the state of what is `signed`."""
        members = {"scaStatus": "finalised", "_links.authoriseTransaction.href": None, **signed}
        path = chosen.find("_links.authoriseTransaction.href")
        self.call(name, "PUT", path, 200, members, json={"scaAuthenticationData": method[2]})

    def mistype(self, name: str, path: Any, body: dict[str, Any], where: str) -> None:
        members = {"fault.number": "NBS-3001", "fault.where": where, "fault.attemptsLeft": 2}
        self.call(name, "PUT", path, 401, members, json=body)

    def list_accounts(self, name: str, consent: Any) -> Answer:
        members = {
            "accounts.0.resourceId": re.compile(r"^\w{22}$"),
            "accounts.0.bban": re.compile(r"^090128\d{8}$"),
            "accounts.0.cashAccountType": "CACC",
            "accounts.0.currency": "GBP",
            "accounts.1.cashAccountType": "SVGS",
        }
        return self.call(name, "GET", ACCOUNTS, 200, members, consent=consent)

    def read_balances(self, name: str, path: Any, consent: Any, members: Expected, *, is_attended: bool) -> Answer:
        expected = {
            "balances.0.balanceType": "interimBooked",
            "balances.1.balanceType": "interimAvailable",
            "balances.1.balanceAmount.currency": "GBP",
            **members,
        }
        return self.call(name, "GET", path, 200, expected, consent=consent, is_attended=is_attended)

    def follow(self, name: str, payment: Any, state: str) -> None:
        self.call(name, "GET", f"{PAYMENTS}/{payment}/status", 200, {"transactionStatus": state})

    def look(self, name: str, payment: Any, order: dict[str, Any], state: str) -> None:
        self.call(name, "GET", f"{PAYMENTS}/{payment}", 200, {"transactionStatus": state, **order})


def amounts(booked: int, available: int) -> dict[str, str]:
    kinds = {"balances.0.balanceAmount.amount": booked, "balances.1.balanceAmount.amount": available}
    return {place: pounds(amount) for place, amount in kinds.items()}


def describe(place: str, order: dict[str, Any]) -> dict[str, Any]:
    """What the entry of a payment at this place has."""
    names = ("creditorName", "remittanceInformationUnstructured")
    return {
        f"transactions.{place}.transactionAmount.amount": "-" + order["instructedAmount"]["amount"],
        f"transactions.{place}.proprietaryBankTransactionCode": "FPO",
        **{f"transactions.{place}.{name}": order[name] for name in names},
    }


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = NiddApp(walk, "10044721", "Dropping-Well7")
    wish = app.consent("9999-12-31")
    no_key: dict[str, Any] = {"X-Api-Key": None}
    app.refuse("consent without a key", "POST", CONSENTS, 401, "1001", "header:X-Api-Key", headers=no_key, json=wish)
    asked = app.ask("consent", "9999-12-31", app.day(90))
    consent = asked.find("consentId")
    begun = app.start("start to sign the consent", asked, with_password=False)
    path = begun.find("_links.updatePsuAuthentication.href")
    wrong = {"psuData": {"password": "Dropping-Wall7"}}
    app.mistype("customer mistypes the password", path, wrong, "body:psuData.password")
    known = app.give_password("customer's password", begun)
    chosen = app.choose("customer wants a text message", known, TEXT_MESSAGE)
    app.sign("customer signs the consent", chosen, TEXT_MESSAGE, {"consentStatus": "valid"})
    members: dict[str, Any] = {"consentStatus": "valid", "validUntil": app.day(90), "frequencyPerDay": 1}
    app.call("consent is valid", "GET", f"{CONSENTS}/{consent}", 200, members)

    accounts = app.list_accounts("accounts", consent)
    payer, saver = accounts.find("accounts.0.bban"), accounts.find("accounts.1.bban")
    balances, entries = (accounts.find(f"accounts.0._links.{name}.href") for name in ("balances", "transactions"))
    members = {"balances.0.balanceAmount.amount": AMOUNT, "balances.1.balanceAmount.amount": AMOUNT}
    before = app.read_balances("balances at night", balances, consent, members, is_attended=False)
    booked = pence(before, "balances.0.balanceAmount.amount")
    where = "header:PSU-IP-Address"
    app.refuse("balances again at night", "GET", balances, 429, "2002", where, consent=consent, is_attended=False)
    query = {"bookingStatus": "booked", "dateFrom": app.day(-60), "limit": "6"}
    members = {
        "account.bban": payer,
        "transactions.booked.#": 6,
        "transactions.booked.0.transactionId": re.compile(r"^T\d{13}$"),
        "transactions.booked.0.transactionAmount.amount": AMOUNT,
        "transactions.booked.0.balanceAfterTransaction.balanceAmount.amount": pounds(booked),
        "transactions.pending": None,
        "transactions._links.next.href": re.compile("pageKey="),
    }
    page = app.call("transactions", "GET", entries, 200, members, consent=consent, params=query)
    following = page.find("transactions._links.next.href")
    app.call("more transactions", "GET", following, 200, {"transactions.booked.#": 6}, consent=consent)

    garage = ("20431155501274", "Nidd Bridge Garage")
    order = app.order(payer, garage, 364_80, "Invoice 2207")
    saving = order | {"debtorAccount": {"bban": saver}}
    headers = app.key("payment from savings")
    app.refuse(
        "payment from savings", "POST", PAYMENTS, 403, "4002", "body:debtorAccount", headers=headers, json=saving
    )
    made = app.pay("payment", order)
    payment = made.find("paymentId")
    app.repeat("payment once more", "payment", order, payment, "RCVD")
    known = app.start("start to sign the payment", made, with_password=True)
    chosen = app.choose("customer wants the card reader", known, CARD_READER)
    app.sign("customer signs the payment", chosen, CARD_READER, {"transactionStatus": "ACTC"})
    query = {"bookingStatus": "both", "dateFrom": app.day(0)}
    members = {"transactions.booked.#": 0, "transactions.pending.#": 1, **describe("pending.0", order)}
    app.call("transactions with a pending one", "GET", entries, 200, members, consent=consent, params=query)
    wait(timedelta(minutes=1))
    app.follow("payment is under way", payment, "ACSP")
    wait(timedelta(minutes=6))
    app.look("payment is executed", payment, order, "ACSC")
    app.refuse("cancel it too late", "DELETE", f"{PAYMENTS}/{payment}", 409, "4005", "path")
    left = booked - 364_80
    app.read_balances("balances after", balances, consent, amounts(left, left), is_attended=True)
    members = {
        "transactions.booked.#": 1,
        "transactions.pending.#": 0,
        "transactions.booked.0.bookingDate": app.day(0),
        "transactions.booked.0.balanceAfterTransaction.balanceAmount.amount": pounds(left),
        **describe("booked.0", order),
    }
    app.call("transactions after", "GET", entries, 200, members, consent=consent, params=query)

    much = app.order(payer, garage, 9_800_00, "New engine")
    members = {"rejectionCode": "AM04", "_links.startAuthorisation": None}
    app.make("payment above the balance", PAYMENT, "RJCT", much, members)
    stopped = app.pay("payment to cancel", app.order(payer, garage, 55_00, "MOT in July")).find("paymentId")
    app.call("cancel it", "DELETE", f"{PAYMENTS}/{stopped}", 200, {"transactionStatus": "CANC"})
    app.call("end of the consent", "DELETE", f"{CONSENTS}/{consent}", 204)
    app.refuse("accounts after the end", "GET", ACCOUNTS, 403, "2001", "header:Consent-ID", consent=consent)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = NiddApp(walk, "10062958", "Mother_Shipton3")
    wish, bad_key = app.consent("2099-12-31"), {"X-Api-Key": "nbs-test-00000000"}
    where = "header:X-Api-Key"
    app.refuse("consent with a wrong key", "POST", CONSENTS, 401, "1001", where, headers=bad_key, json=wish)
    asked = app.ask("consent", "2099-12-31", app.day(90))
    consent = asked.find("consentId")
    begun = app.start("start to sign the consent", asked, with_password=False)
    path = begun.find("_links.updatePsuAuthentication.href")
    wrong = {"psuData": {"password": "Mother_Shipton8"}}
    app.mistype("customer mistypes the password", path, wrong, "body:psuData.password")
    known = app.give_password("customer's password", begun)
    chosen = app.choose("customer wants the card reader", known, CARD_READER)
    app.sign("customer signs the consent", chosen, CARD_READER, {"consentStatus": "valid"})
    members: dict[str, Any] = {"consentStatus": "valid", "validUntil": app.day(90), "frequencyPerDay": 1}
    app.call("consent is valid", "GET", f"{CONSENTS}/{consent}", 200, members)

    accounts = app.list_accounts("accounts", consent)
    payer, saver = accounts.find("accounts.0.bban"), accounts.find("accounts.1.bban")
    balances, entries = (accounts.find(f"accounts.0._links.{name}.href") for name in ("balances", "transactions"))
    members = {"balances.0.balanceAmount.amount": AMOUNT, "balances.1.balanceAmount.amount": AMOUNT}
    before = app.read_balances("balances at night", balances, consent, members, is_attended=False)
    booked = pence(before, "balances.0.balanceAmount.amount")
    where = "header:PSU-IP-Address"
    app.refuse("balances again at night", "GET", balances, 429, "2002", where, consent=consent, is_attended=False)
    query = {"bookingStatus": "booked", "dateFrom": app.day(-45), "limit": "4"}
    members = {
        "account.bban": payer,
        "transactions.booked.#": 4,
        "transactions.booked.3.transactionId": re.compile(r"^T\d{13}$"),
        "transactions.booked.0.balanceAfterTransaction.balanceAmount.amount": pounds(booked),
        "transactions.pending": None,
        "transactions._links.next.href": re.compile("pageKey="),
    }
    page = app.call("transactions", "GET", entries, 200, members, consent=consent, params=query)
    following = page.find("transactions._links.next.href")
    app.call("more transactions", "GET", following, 200, {"transactions.booked.#": 4}, consent=consent)

    choir, joiner = ("40221873306619", "Pateley Choral Soc"), ("07011642905538", "Eve Thackray Joinery")
    order = app.order(payer, joiner, 1_289_05, "Oak shelves")
    saving = order | {"debtorAccount": {"bban": saver}}
    headers = app.key("payment from savings")
    app.refuse(
        "payment from savings", "POST", PAYMENTS, 403, "4002", "body:debtorAccount", headers=headers, json=saving
    )
    made = app.pay("payment", order)
    payment = made.find("paymentId")
    app.repeat("payment once more", "payment", order, payment, "RCVD")
    known = app.start("start to sign the payment", made, with_password=True)
    chosen = app.choose("customer wants a text message", known, TEXT_MESSAGE)
    app.sign("customer signs the payment", chosen, TEXT_MESSAGE, {"transactionStatus": "ACTC"})
    left = booked - 1_289_05
    app.read_balances("balances with the amount reserved", balances, consent, amounts(booked, left), is_attended=True)
    wait(timedelta(minutes=2))
    app.follow("payment is under way", payment, "ACSP")
    wait(timedelta(minutes=9))
    app.look("payment is executed", payment, order, "ACSC")
    query = {"bookingStatus": "both", "dateFrom": app.day(0)}
    members = {
        "transactions.booked.#": 1,
        "transactions.pending.#": 0,
        "transactions.booked.0.balanceAfterTransaction.balanceAmount.amount": pounds(left),
        **describe("booked.0", order),
    }
    app.call("transactions after", "GET", entries, 200, members, consent=consent, params=query)
    app.read_balances("balances after", balances, consent, amounts(left, left), is_attended=True)

    members = {"rejectionCode": "AM04", "_links.startAuthorisation": None}
    much = app.order(payer, choir, left + 1, "Piano")
    app.make("payment a penny above the balance", PAYMENT, "RJCT", much, members)
    stopped = app.pay("payment to cancel", app.order(payer, choir, 18_50, "Subs autumn")).find("paymentId")
    app.call("cancel it", "DELETE", f"{PAYMENTS}/{stopped}", 200, {"transactionStatus": "CANC"})
    app.refuse("cancel it again", "DELETE", f"{PAYMENTS}/{stopped}", 409, "4005", "path")
    app.call("end of the consent", "DELETE", f"{CONSENTS}/{consent}", 204)
    app.refuse("balances after the end", "GET", balances, 403, "2001", "header:Consent-ID", consent=consent)
    return walk.steps
