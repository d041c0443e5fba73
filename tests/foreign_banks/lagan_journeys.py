"""Two journeys of the app Tallybook and its customers at Lagan."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://tallybook.example/lagan"
EVERYTHING = ["accounts", "balances", "transactions"]
CONSENTS, ACCOUNTS, PAYMENTS = "/v1/consents", "/v1/accounts", "/v1/payments/faster-payments"
SIGN_IN = re.compile(r"^/signin/\w{24}$")
MONEY = re.compile(r"^\d+\.\d\d$")
INSTANT = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0[01]:00$")
REDIRECT = {"TPP-Redirect-URI": BACK}


def pence(answer: Answer, place: str) -> int:
    """The amount at this place, or 0."""
    value = answer.find(place)
    return int(value.replace(".", "")) if isinstance(value, str) and MONEY.search(value) else 0


def pounds(pence: int) -> str:
    return f"{pence // 100}.{pence % 100:02}"


def numbers(accounts: Answer, place: str) -> dict[str, Any]:
    """The sort code and number of the account at this place."""
    return {name: accounts.find(f"{place}.{name}") for name in ("sortCode", "accountNumber")}


class LaganApp:
    def __init__(self, walk: Walk, customer: tuple[str, str], address: str) -> None:
        self.walk, self._customer, self._address = walk, customer, address

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).date().isoformat()

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        *,
        consent: Any = None,
        is_attended: bool = True,
        without: str = "",
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        id = str(uuid5(NAMESPACE_URL, f"{self._customer[0]} {name}"))
        sent = {"X-Lagan-Key": "tb-58c1e07d", "X-Lagan-Brand": "NI", "X-Request-ID": id} | (headers or {})
        if consent:
            sent["Consent-ID"] = str(consent)
        if is_attended:
            sent["PSU-IP-Address"] = self._address
        sent.pop(without, None)
        return self.walk.step(
            name, method, path, status, {"@X-Request-ID": id, **(members or {})}, headers=sent, **request
        )

    def refuse(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        error: tuple[str, str],
        *places: str,
        members: Expected | None = None,
        **request: Any,
    ) -> None:
        expected: dict[str, Any] = {"errors.0.errorCode": error[0], "errors.0.reason": error[1], "requestId": str}
        expected |= {"@Content-Type": "application/vnd.lagan.fault+json", "time": INSTANT, "errors.#": len(places)}
        expected |= {f"errors.{index}.at": place for index, place in enumerate(places)}
        self.call(name, method, path, status, expected | {**(members or {})}, **request)

    def wish(self, access: list[str], days: int, frequency: int) -> dict[str, Any]:
        return {"access": access, "validUntil": self.day(days), "frequencyPerDay": frequency}

    def ask(self, name: str, wish: dict[str, Any]) -> Any:
        """Return the consent's id."""
        members = {
            **wish,
            "consentId": re.compile(r"^LC-[A-Z0-9]{4}-[A-Z0-9]{4}$"),
            "consentStatus": "RECEIVED",
            "statusSince": INSTANT,
            "_links.1.rel": "startAuthorisation",
        }
        return self.call(name, "POST", CONSENTS, 200, members, json=wish).find("consentId")

    def start(self, name: str, consent: Any) -> tuple[Any, Any]:
        """Return the authorisation's id and the customer's page."""
        members = {
            "authorisationId": re.compile(r"^AU\d{10}$"),
            "scaStatus": "received",
            "_links.0.rel": "scaRedirect",
            "_links.0.href": SIGN_IN,
        }
        started = self.call(name, "POST", f"{CONSENTS}/{consent}/authorisations", 201, members, headers=REDIRECT)
        return started.find("authorisationId"), started.find("_links.0.href")

    def enter(self, name: str, page: Any) -> Answer:
        """The customer gives the PIN and sees the form for the code."""
        form = {"userId": self._customer[0], "pin": self._customer[1], "action": "continue"}
        members = PAGE | {"page": re.compile(r'Sandbox: it says \d{6}\..*name="formToken"')}
        return self.walk.step(name, "POST", page, 200, members, data=form)

    def mistype_pin(self, name: str, page: Any, pin: str) -> None:
        form = {"userId": self._customer[0], "pin": pin, "action": "continue"}
        members = PAGE | {"page": re.compile(r'Wrong user or PIN. Tries left: 2\..*name="pin"')}
        self.walk.step(name, "POST", page, 200, members, data=form)

    def _code_form(self, shown: Answer) -> tuple[str, str]:
        """The code that the sandbox shows, and the token of the form."""
        told = re.search(r"Sandbox: it says (\d{6})", shown.text)
        return told[1] if told else "000000", shown.fields.get("formToken", [""])[0]

    def mistype_code(self, name: str, page: Any, shown: Answer) -> Answer:
        code, token = self._code_form(shown)
        form = {"formToken": token, "code": f"{(int(code) + 9) % 1_000_000:06}", "action": "continue"}
        members = PAGE | {"page": re.compile(r'Wrong code. Tries left: 2\..*name="formToken"')}
        return self.walk.step(name, "POST", page, 200, members, data=form)

    def confirm(self, name: str, page: Any, shown: Answer, outcome: str) -> None:
        code, token = self._code_form(shown)
        form = {"formToken": token, "code": code, "action": "continue"}
        self.walk.step(name, "POST", page, 302, {"@Location": f"{BACK}?{outcome}"}, data=form)

    def decline(self, name: str, page: Any, outcome: str) -> None:
        self.walk.step(name, "POST", page, 302, {"@Location": f"{BACK}?{outcome}"}, data={"action": "decline"})

    def payment(self, payer: dict[str, Any], payee: tuple[str, str, str], amount: str, text: str) -> dict[str, Any]:
        creditor = {"sortCode": payee[0], "accountNumber": payee[1]}
        money = {"currency": "GBP", "amount": amount}
        parties = {"debtorAccount": payer, "creditorAccount": creditor, "creditorName": payee[2]}
        return {"instructedAmount": money, **parties, "remittanceInformation": text}

    def pay(self, name: str, payment: dict[str, Any]) -> tuple[Any, Any, Any]:
        """Return the ids of the payment and the authorisation, and the customer's page."""
        members = {
            "paymentId": re.compile(r"^\d{5}-\d{7}$"),
            "transactionStatus": "Received",
            "authorisationId": re.compile(r"^AU\d{10}$"),
            "scaStatus": "received",
            "reasonCode": None,
            "_links.1.rel": "scaRedirect",
            "_links.1.href": SIGN_IN,
        }
        made = self.call(name, "POST", PAYMENTS, 202, members, headers=REDIRECT, json=payment)
        return made.find("paymentId"), made.find("authorisationId"), made.find("_links.1.href")

    def pay_too_much(self, name: str, payment: dict[str, Any]) -> None:
        members = {
            "paymentId": re.compile(r"^\d{5}-\d{7}$"),
            "transactionStatus": "Rejected",
            "reasonCode": "AM04",
            "scaStatus": None,
            "_links.#": 1,
        }
        self.call(name, "POST", PAYMENTS, 202, members, headers=REDIRECT, json=payment)

    def follow(self, name: str, payment: Any, standing: str, sca: Any = "finalised") -> None:
        members = {"paymentId": payment, "transactionStatus": standing, "scaStatus": sca, "statusSince": INSTANT}
        self.call(name, "GET", f"{PAYMENTS}/{payment}/status", 200, members)

    def cancel(self, name: str, payment: Any, reason: str) -> None:
        members = {"paymentId": payment, "transactionStatus": "Cancelled"}
        body = {"reasonCode": reason}
        self.call(name, "POST", f"{PAYMENTS}/{payment}/cancellation-requests", 200, members, json=body)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = LaganApp(walk, ("mcauley.r", "50418"), "203.0.113.24")
    wish = app.wish(EVERYTHING, 60, 1)
    header_wrong, brand = ("LGN-1002", "HEADER_WRONG"), "X-Lagan-Brand"
    app.refuse(
        "consent without a brand", "POST", CONSENTS, 400, header_wrong, f"header.{brand}", json=wish, without=brand
    )
    consent = app.ask("consent", app.wish(EVERYTHING, 60, 1))
    authorisation, page = app.start("start of the signing", consent)
    walk.step("customer's page", "GET", page, 200, PAGE | {"page": re.compile('Let Tallybook see .*name="pin"')})
    shown = app.enter("customer enters the PIN", page)
    shown = app.mistype_code("customer mistypes the code", page, shown)
    outcome = f"consentId={consent}&authorisationId={authorisation}&consentStatus=VALID"
    app.confirm("customer enters the code", page, shown, outcome)
    members: dict[str, Any] = {"consentId": consent, "consentStatus": "VALID", "scaStatus": "finalised"}
    app.call("consent is valid", "GET", f"{CONSENTS}/{consent}/status", 200, members)
    members = {
        "accounts.#": 2,
        "accounts.0.resourceId": re.compile(r"^R\d{9}$"),
        "accounts.0.sortCode": re.compile(r"^97-\d\d-\d\d$"),
        "accounts.0.accountNumber": re.compile(r"^\d{8}$"),
        "accounts.0.displayName": "Classic",
        "accounts.0.currency": "GBP",
        "accounts.0._links.0.rel": "balances",
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, consent=consent)
    account, payer = accounts.find("accounts.0.resourceId"), numbers(accounts, "accounts.0")
    balances, entries = f"{ACCOUNTS}/{account}/balances", f"{ACCOUNTS}/{account}/transactions"
    members = {
        "resourceId": account,
        "balances.0.balanceType": "ledger",
        "balances.0.balanceAmount.amount": MONEY,
        "balances.1.balanceType": "spendable",
        "balances.1.balanceAmount.amount": MONEY,
        "@X-Reads-Left": "0",
    }
    before = app.call("balances at night", "GET", balances, 200, members, consent=consent, is_attended=False)
    ledger = pence(before, "balances.0.balanceAmount.amount")
    spendable = pence(before, "balances.1.balanceAmount.amount")
    used_up, told = ("LGN-3003", "READS_USED_UP"), {"@Retry-After": re.compile(r"^\d+$"), "@X-Reads-Left": "0"}
    app.refuse(
        "balances at night again",
        "GET",
        balances,
        429,
        used_up,
        "path",
        members=told,
        consent=consent,
        is_attended=False,
    )
    query = {"dateFrom": app.day(-60), "dateTo": app.day(-1), "perPage": "5"}
    members = {
        "entries.#": 5,
        "entries.0.direction": re.compile("^(CR|DR)$"),
        "entries.0.amount.amount": MONEY,
        "entries.0.runningBalance.amount": MONEY,
        "paging.page": 1,
        "paging.perPage": 5,
        "_links.1.rel": "next",
    }
    page_one = app.call("transactions", "GET", entries, 200, members, consent=consent, params=query)
    members = {"entries.#": 5, "entries.4.bookingDate": str, "paging.page": 2, "paging.perPage": 5}
    app.call("more transactions", "GET", page_one.find("_links.1.href"), 200, members, consent=consent)

    landlord = ("93-81-07", "41620935", "Ballyhackamore Lettings")
    wrong = app.payment(payer, landlord, "425.5", "Rent for June, flat 3")
    app.refuse(
        "payment with two mistakes",
        "POST",
        PAYMENTS,
        400,
        ("LGN-2001", "FIELD_WRONG"),
        "body.instructedAmount",
        "body.remittanceInformation",
        headers=REDIRECT,
        json=wrong,
    )
    app.pay_too_much("payment above the balance", app.payment(payer, landlord, "48000.00", "Deposit"))
    rent, authorisation, page = app.pay("payment", app.payment(payer, landlord, "425.50", "Rent June"))
    app.mistype_pin("customer mistypes the PIN", page, "50481")
    shown = app.enter("customer enters the PIN for the payment", page)
    outcome = f"paymentId={rent}&authorisationId={authorisation}&transactionStatus=Authorised"
    app.confirm("customer signs the payment", page, shown, outcome)
    app.follow("payment is authorised", rent, "Authorised")
    wait(timedelta(seconds=60))
    too_late, sent = ("LGN-4001", "TOO_LATE"), {"current.transactionStatus": "Sent"}
    cancellation, reason = f"{PAYMENTS}/{rent}/cancellation-requests", {"reasonCode": "CUST"}
    app.refuse("cancel it too late", "POST", cancellation, 409, too_late, "path", members=sent, json=reason)
    wait(timedelta(minutes=4))
    app.follow("payment is credited", rent, "Credited")
    members = {
        "balances.0.balanceAmount.amount": pounds(ledger - 42_550),
        "balances.1.balanceAmount.amount": pounds(spendable - 42_550),
        "@X-Reads-Left": None,
    }
    app.call("balances after", "GET", balances, 200, members, consent=consent)
    members = {
        "entries.#": 1,
        "entries.0.direction": "DR",
        "entries.0.amount.amount": "425.50",
        "entries.0.bookingDate": app.day(0),
        "entries.0.typeCode": "FPO",
        "entries.0.narrative": ["BALLYHACKAMORE LET", "RENT JUNE"],
        "entries.0.runningBalance.amount": pounds(ledger - 42_550),
        "paging.page": 1,
        "_links.#": 1,
    }
    app.call("transactions after", "GET", entries, 200, members, consent=consent, params={"dateFrom": app.day(0)})

    club = ("95-01-44", "70093318", "Lagan Scullers")
    declined, authorisation, page = app.pay("payment to decline", app.payment(payer, club, "60.00", "Membership"))
    outcome = f"paymentId={declined}&authorisationId={authorisation}&transactionStatus=Declined"
    app.decline("customer declines the payment", page, outcome)
    stopped, _, _ = app.pay("payment to cancel", app.payment(payer, club, "65.00", "Membership 2"))
    app.cancel("cancel the payment", stopped, "CUST")
    members = {"consentId": consent, "consentStatus": "REVOKED"}
    app.call("end of the consent", "DELETE", f"{CONSENTS}/{consent}", 200, members)
    over, members = ("LGN-3001", "CONSENT_NOT_USABLE"), {"current.consentStatus": "REVOKED"}
    app.refuse(
        "accounts after the end", "GET", ACCOUNTS, 403, over, "header.Consent-ID", members=members, consent=consent
    )
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = LaganApp(walk, ("oneill.siobhan", "92736"), "198.51.100.7")
    wish = app.wish(["transactions", "accounts", "balances"], 30, 2)
    header_wrong, brand = ("LGN-1002", "HEADER_WRONG"), "X-Lagan-Brand"
    app.refuse("consent, brandless", "POST", CONSENTS, 400, header_wrong, f"header.{brand}", json=wish, without=brand)
    consent = app.ask("consent for a month", app.wish(["transactions", "accounts", "balances"], 30, 2))
    authorisation, page = app.start("begin to sign it", consent)
    shown = app.enter("customer signs in", page)
    shown = app.mistype_code("customer misreads the code", page, shown)
    outcome = f"consentId={consent}&authorisationId={authorisation}&consentStatus=VALID"
    app.confirm("customer types the code", page, shown, outcome)
    members: dict[str, Any] = {"consentId": consent, "consentStatus": "VALID", "scaStatus": "finalised"}
    app.call("consent was signed", "GET", f"{CONSENTS}/{consent}/status", 200, members)
    members = {
        "accounts.1.resourceId": re.compile(r"^R\d{9}$"),
        "accounts.1.sortCode": re.compile(r"^97-\d\d-\d\d$"),
        "accounts.1.accountNumber": re.compile(r"^\d{8}$"),
        "accounts.1.currency": "GBP",
    }
    accounts = app.call("her accounts", "GET", ACCOUNTS, 200, members, consent=consent)
    account, payer = accounts.find("accounts.1.resourceId"), numbers(accounts, "accounts.1")
    balances, entries = f"{ACCOUNTS}/{account}/balances", f"{ACCOUNTS}/{account}/transactions"
    members = {
        "resourceId": account,
        "balances.0.balanceType": "ledger",
        "balances.0.balanceAmount.amount": MONEY,
        "balances.1.balanceType": "spendable",
        "balances.1.balanceAmount.amount": MONEY,
        "@X-Reads-Left": "1",
    }
    before = app.call("nightly balances", "GET", balances, 200, members, consent=consent, is_attended=False)
    ledger = pence(before, "balances.0.balanceAmount.amount")
    spendable = pence(before, "balances.1.balanceAmount.amount")
    members = {"resourceId": account, "balances.0.balanceAmount.amount": pounds(ledger), "@X-Reads-Left": "0"}
    app.call("nightly balances a second time", "GET", balances, 200, members, consent=consent, is_attended=False)
    used_up, told = ("LGN-3003", "READS_USED_UP"), {"@Retry-After": re.compile(r"^\d+$"), "@X-Reads-Left": "0"}
    app.refuse(
        "nightly balances a third time",
        "GET",
        balances,
        429,
        used_up,
        "path",
        members=told,
        consent=consent,
        is_attended=False,
    )
    query = {"dateFrom": app.day(-45), "dateTo": app.day(-2), "perPage": "4"}
    members = {
        "entries.#": 4,
        "entries.3.amount.amount": MONEY,
        "paging.page": 1,
        "paging.perPage": 4,
        "_links.1.rel": "next",
    }
    page_one = app.call("entries", "GET", entries, 200, members, consent=consent, params=query)
    members = {"entries.#": 4, "entries.0.entryReference": str, "paging.page": 2, "paging.perPage": 4}
    app.call("next entries", "GET", page_one.find("_links.1.href"), 200, members, consent=consent)

    dentist = ("98-10-35", "50217746", "Strandtown Dentistry")
    wrong = app.payment(payer, dentist, "118,20", "Crown and check-up in May")
    app.refuse(
        "payment with a comma and a long text",
        "POST",
        PAYMENTS,
        400,
        ("LGN-2001", "FIELD_WRONG"),
        "body.instructedAmount",
        "body.remittanceInformation",
        headers=REDIRECT,
        json=wrong,
    )
    app.pay_too_much("payment above all", app.payment(payer, dentist, pounds(spendable + 1), "Implants"))
    crown, authorisation, page = app.pay("payment of the crown", app.payment(payer, dentist, "118.20", "Crown May"))
    app.mistype_pin("customer errs in the PIN", page, "92763")
    shown = app.enter("customer corrects the PIN", page)
    outcome = f"paymentId={crown}&authorisationId={authorisation}&transactionStatus=Authorised"
    app.confirm("customer agrees to the payment", page, shown, outcome)
    wait(timedelta(seconds=75))
    too_late, sent = ("LGN-4001", "TOO_LATE"), {"current.transactionStatus": "Sent"}
    cancellation, reason = f"{PAYMENTS}/{crown}/cancellation-requests", {"reasonCode": "CUST"}
    app.refuse("stop it too late", "POST", cancellation, 409, too_late, "path", members=sent, json=reason)
    wait(timedelta(minutes=6))
    app.follow("crown is paid", crown, "Credited")
    members = {
        "balances.0.balanceAmount.amount": pounds(ledger - 11_820),
        "balances.1.balanceAmount.amount": pounds(spendable - 11_820),
        "@X-Reads-Left": None,
    }
    app.call("balances with the customer", "GET", balances, 200, members, consent=consent)
    members = {
        "entries.#": 1,
        "entries.0.direction": "DR",
        "entries.0.amount.amount": "118.20",
        "entries.0.bookingDate": app.day(0),
        "entries.0.typeCode": "FPO",
        "entries.0.narrative": ["STRANDTOWN DENTIST", "CROWN MAY"],
        "entries.0.runningBalance.amount": pounds(ledger - 11_820),
        "_links.#": 1,
    }
    app.call("entries of today", "GET", entries, 200, members, consent=consent, params={"dateFrom": app.day(0)})

    school = ("90-02-21", "33871560", "St Bride's")
    declined, authorisation, page = app.pay("payment she does not want", app.payment(payer, school, "37.00", "Trip"))
    outcome = f"paymentId={declined}&authorisationId={authorisation}&transactionStatus=Declined"
    app.decline("customer refuses to pay", page, outcome)
    app.follow("payment is declined", declined, "Declined", str)
    stopped, _, _ = app.pay("payment to stop", app.payment(payer, school, "52.75", "Uniform"))
    app.cancel("stop the payment", stopped, "CUST")
    members = {"consentId": consent, "consentStatus": "REVOKED"}
    app.call("customer leaves", "DELETE", f"{CONSENTS}/{consent}", 200, members)
    over, members = ("LGN-3001", "CONSENT_NOT_USABLE"), {"current.consentStatus": "REVOKED"}
    app.refuse(
        "accounts after she left", "GET", ACCOUNTS, 403, over, "header.Consent-ID", members=members, consent=consent
    )
    return walk.steps
