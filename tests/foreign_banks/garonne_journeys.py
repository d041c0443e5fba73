"""Two journeys of the app ComptaClair and its customers at Garonne."""

import re
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

CLIENT = ("comptaclair", "vignoble-47")
BACK, PAID, FAILED = (f"https://comptaclair.example/{word}" for word in ("retour", "paiement-ok", "paiement-ko"))
ROOT = "/stet/psd2/v1.4"
ACCOUNTS, CONSENTS, IDENTITY, PAYMENTS = (
    f"{ROOT}/{word}" for word in ("accounts", "consents", "end-user-identity", "payment-requests")
)
AUTHORIZE, TOKEN = "/connect/authorize", "/connect/token"
TODAY = re.compile(r"^\d{4}-\d\d-\d\d$")
MONEY = re.compile(r"^\d+\.\d\d$")


def money(answer: Answer, kind: str) -> Decimal:
    """The balance of this kind, or 0."""
    balance = answer.pick("balances", balanceType=kind).get("balanceAmount")
    try:
        return Decimal(str(balance["amount"])) if isinstance(balance, dict) else Decimal()
    except (KeyError, InvalidOperation):
        return Decimal()


def balances(booked: Decimal, expected: Decimal) -> Expected:
    return {
        "balances.0.balanceType": "CLBD",
        "balances.0.balanceAmount.amount": f"{booked:.2f}",
        "balances.1.balanceType": "XPCD",
        "balances.1.balanceAmount.amount": f"{expected:.2f}",
    }


def told(answer: Answer, name: str) -> str:
    """A parameter of the address to which the bank sends the customer."""
    query = parse_qs(urlsplit(str(answer.find("@Location"))).query)
    return query.get(name, ["nothing"])[0]


class GaronneApp:
    def __init__(self, walk: Walk, login: str, password: str) -> None:
        self.walk, self._login, self._password = walk, login, password
        self.tokens: dict[str, Any] = {}

    def _name(self, word: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"{self._login} {word}"))

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).date().isoformat()

    # The customer's pages and the tokens

    def open(self, name: str) -> str:
        """Return the hidden field of the page."""
        query = {"response_type": "code", "client_id": CLIENT[0], "redirect_uri": BACK}
        query |= {"scope": "aisp", "state": self._name("state")}
        members = PAGE | {"page": re.compile('name="motDePasse"')}
        page = self.walk.step(name, "GET", AUTHORIZE, 200, members, params=query)
        return page.fields.get("demande", ["nothing"])[0]

    def _form(self, choice: str, password: str = "") -> dict[str, str]:
        return {"identifiant": self._login, "motDePasse": password or self._password, "choix": choice}

    def mistype(self, name: str, page: Any, password: str, **hidden: str) -> None:
        members = PAGE | {"page": re.compile("Identifiant ou mot de passe incorrect")}
        self.walk.step(name, "POST", page, 401, members, data=self._form("accepter", password) | hidden)

    def allow(self, name: str, asked: str) -> str:
        """Return the code."""
        state = re.escape(self._name("state"))
        members = {"@Location": re.compile(rf"^{re.escape(BACK)}\?code=\w{{20}}&state={state}$")}
        form = self._form("accepter") | {"demande": asked}
        return told(self.walk.step(name, "POST", AUTHORIZE, 302, members, data=form), "code")

    def _take_token(self, name: str, scope: str, seconds: int, form: dict[str, str]) -> None:
        members: dict[str, Any] = {"access_token": str, "token_type": "Bearer", "expires_in": seconds, "scope": scope}
        if scope == "aisp":
            members["refresh_token"] = str
        answer = self.walk.step(name, "POST", TOKEN, 200, members, data=form, auth=CLIENT)
        self.tokens[scope] = answer.find("access_token")
        if scope == "aisp":
            self.tokens["refresh"] = answer.find("refresh_token")

    def exchange(self, name: str, code: str) -> None:
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK}
        self._take_token(name, "aisp", 3600, form)

    def refresh(self, name: str) -> None:
        form = {"grant_type": "refresh_token", "refresh_token": str(self.tokens.get("refresh"))}
        self._take_token(name, "aisp", 3600, form)

    def sign_in(self, name: str) -> None:
        self._take_token(name, "pisp", 1800, {"grant_type": "client_credentials", "scope": "pisp"})

    def refuse_code(self, name: str, code: str) -> None:
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK}
        self.walk.step(name, "POST", TOKEN, 400, {"error": "invalid_grant"}, data=form, auth=CLIENT)

    # The interface

    def call(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        members: Expected | None = None,
        *,
        scope: str = "aisp",
        is_signed: bool = True,
        is_present: bool = True,
        **request: Any,
    ) -> Answer:
        id = self._name(name)
        sent = {"X-Request-ID": id, "Authorization": f"Bearer {self.tokens.get(scope)}"}
        if is_signed:
            signature = uuid5(NAMESPACE_URL, f"signature of {id}").hex
            sent["Signature"] = f'keyId="comptaclair-qseal",algorithm="rsa-sha256",signature="{signature}"'
        if is_present and scope == "aisp":
            sent["PSU-IP-Address"] = "203.0.113.47"
        expected = {"@X-Request-ID": id, **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def refuse(self, name: str, method: str, path: str, status: int, message: str, **request: Any) -> None:
        error = httpx.codes.get_reason_phrase(status)
        members = {"timestamp": str, "status": status, "error": error, "message": re.compile(message), "path": path}
        self.call(name, method, path, status, members, **request)

    def wish(self, accounts: list[Any], balances: list[Any], transactions: list[Any]) -> dict[str, Any]:
        lists = {"accounts": accounts, "balances": balances, "transactions": transactions}
        return {kind: [{"iban": iban} for iban in ibans] for kind, ibans in lists.items()} | {"psuIdentity": True}

    def order(self, name: str, payer: Any, payee: tuple[str, str], amount: Any, day: str = "") -> dict[str, Any]:
        transfer = {
            "paymentId": {"instructionId": self._name(name)[:13], "endToEndId": self._name(name)[-12:]},
            "instructedAmount": {"currency": "EUR", "amount": str(amount)},
            "remittanceInformation": {"unstructured": [name.capitalize()]},
        }
        return {
            "paymentInformationId": self._name(name)[:18],
            "numberOfTransactions": 1,
            "debtorAccount": {"iban": payer},
            "beneficiary": {"creditor": {"name": payee[0]}, "creditorAccount": {"iban": payee[1]}},
            "creditTransferTransaction": [transfer],
            "supplementaryData": {"successfulReportUrl": PAID, "unsuccessfulReportUrl": FAILED},
        } | ({"requestedExecutionDate": day} if day else {})

    def pay(self, name: str, order: dict[str, Any]) -> tuple[str, str]:
        """Return the address of the payment and the customer's page."""
        members = {
            "@Location": re.compile(rf"^{PAYMENTS}/VIR-\d{{10}}$"),
            "appliedAuthenticationApproach": "REDIRECT",
            "_links.consentApproval.href": re.compile(r"^/connect/paiement/\w{22}$"),
        }
        made = self.call(name, "POST", PAYMENTS, 201, members, scope="pisp", json=order)
        return str(made.find("@Location")), str(made.find("_links.consentApproval.href"))

    def approve(self, name: str, payment: str, page: str) -> str:
        """Return the factor for the confirmation."""
        query = rf"\?paymentRequestResourceId={payment.rpartition('/')[2]}&psuAuthenticationFactor=\w{{16}}$"
        members = {"@Location": re.compile(f"^{re.escape(PAID)}{query}")}
        form = self._form("accepter")
        return told(self.walk.step(name, "POST", page, 302, members, data=form), "psuAuthenticationFactor")

    def decline(self, name: str, payment: str, page: str) -> None:
        members = {"@Location": f"{FAILED}?paymentRequestResourceId={payment.rpartition('/')[2]}"}
        self.walk.step(name, "POST", page, 302, members, data=self._form("refuser"))

    def _standing(self, payment: str, status: str, reason: str | None) -> dict[str, Any]:
        confirmation = f"{payment}/confirmation" if status == "PDNG" else None
        return {
            "paymentRequest.resourceId": payment.rpartition("/")[2],
            "paymentRequest.paymentInformationStatus": status,
            "paymentRequest.statusReasonInformation": reason,
            "_links.self.href": payment,
            "_links.confirmation.href": confirmation,
        }

    def follow(self, name: str, payment: str, status: str, reason: str | None = None, **members: Any) -> None:
        more = {f"paymentRequest.{member}": value for member, value in members.items()}
        self.call(name, "GET", payment, 200, self._standing(payment, status, reason) | more, scope="pisp")

    def confirm(self, name: str, payment: str, factor: str, status: str, reason: str | None = None) -> None:
        members = self._standing(payment, status, reason)
        sent = {"psuAuthenticationFactor": factor}
        self.call(name, "POST", f"{payment}/confirmation", 200, members, scope="pisp", json=sent)

    def cancel(self, name: str, payment: str, reason: str) -> None:
        members = self._standing(payment, "CANC", reason)
        self.call(name, "PUT", payment, 200, members, scope="pisp", json=self.stop(reason))

    def stop(self, reason: str) -> dict[str, str]:
        return {"paymentInformationStatus": "CANC", "statusReasonInformation": reason}

    def hrefs(self, account: Any) -> tuple[str, str]:
        return f"{ACCOUNTS}/{account}/balances", f"{ACCOUNTS}/{account}/transactions"


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = GaronneApp(walk, "jcastaing", "Canal-du-Midi-1681")
    asked = app.open("customer's page")
    app.mistype("customer mistypes the password", AUTHORIZE, "Canal-du-Midi-1861", demande=asked)
    app.exchange("token", app.allow("customer allows", asked))
    members: dict[str, Any] = {
        "accounts.#": 2,
        "accounts.0.resourceId": re.compile(r"^\w{18}$"),
        "accounts.0.accountId.iban": re.compile(r"^FR\d{25}$"),
        "accounts.0.name": "Compte courant",
        "accounts.0.currency": "EUR",
        "accounts.0._links": None,
    }
    listed = app.call("accounts before the consent", "GET", ACCOUNTS, 200, members)
    account, iban = listed.find("accounts.0.resourceId"), listed.find("accounts.0.accountId.iban")
    money_path, entries_path = app.hrefs(account)
    app.call("consent", "PUT", CONSENTS, 204, json=app.wish([iban], [iban], [iban]))
    members = {
        "accounts.#": 1,
        "accounts.0.resourceId": account,
        "accounts.0._links.balances.href": money_path,
        "accounts.0._links.transactions.href": entries_path,
        "_links.endUserIdentity.href": IDENTITY,
    }
    app.call("accounts", "GET", ACCOUNTS, 200, members)
    members = {"balances.#": 2, "balances.0.balanceAmount.amount": MONEY, "balances.0.referenceDate": TODAY}
    before = app.call("balances", "GET", money_path, 200, members)
    booked = money(before, "CLBD")
    outside = app.hrefs(listed.find("accounts.1.resourceId"))[0]
    app.refuse("balances outside the consent", "GET", outside, 404, "Compte inconnu ou hors du consentement")
    members = {
        "transactions.#": 10,
        "transactions.0.entryReference": re.compile(r"^\d{15}$"),
        "transactions.0.transactionAmount.amount": MONEY,
        "transactions.0.creditDebitIndicator": re.compile("^(CRDT|DBIT)$"),
        "transactions.0.bookingDate": TODAY,
        "transactions.0.status": "BOOK",
        "_links.balances.href": money_path,
        "_links.next.href": re.compile("dateFrom=.*page=2"),
    }
    query = {"dateFrom": app.day(-50)}
    entries = app.call("transactions", "GET", entries_path, 200, members, params=query)
    members = {"transactions.#": 10, "transactions.9.entryReference": str, "_links.next.href": re.compile("page=3")}
    app.call("more transactions", "GET", entries.find("_links.next.href"), 200, members)
    app.call("customer's name", "GET", IDENTITY, 200, {"connectedPsu": "Jeanne Castaing", "_links.self.href": IDENTITY})

    landlord = ("Agence Minimes", "FR7613335000400895123011704")
    rent = app.order("loyer de juin", iban, landlord, "742.80")
    app.refuse("payment with the customer's token", "POST", PAYMENTS, 403, "Jeton de portée pisp", json=rent)
    app.sign_in("token for payments")
    unsigned: dict[str, Any] = {"scope": "pisp", "is_signed": False}
    app.refuse("payment without a signature", "POST", PAYMENTS, 400, "Signature absent", json=rent, **unsigned)
    much = app.order("loyer de juin", iban, landlord, "6400.00")
    hint = r"instructedAmount\.amount : plafond de 5000\.00 EUR dépassé"
    app.refuse("payment above the limit", "POST", PAYMENTS, 400, hint, scope="pisp", json=much)
    payment, page = app.pay("payment", rent)
    factor = app.approve("customer approves", payment, page)
    app.follow("payment is pending", payment, "PDNG", debtorAccount={"iban": iban})
    app.confirm("confirm it", payment, factor, "ACSP")
    app.call("balances with the amount reserved", "GET", money_path, 200, balances(booked, booked - Decimal("742.80")))
    wait(timedelta(minutes=3))
    app.follow("payment is settled", payment, "ACSC")
    late: dict[str, Any] = {"scope": "pisp", "json": app.stop("CUST")}
    app.refuse("cancel it too late", "PUT", payment, 409, "Annulation impossible au statut ACSC", **late)
    members = {
        "transactions.#": 1,
        "transactions.0.creditDebitIndicator": "DBIT",
        "transactions.0.transactionAmount.amount": "742.80",
        "transactions.0.bookingDate": app.day(0),
        "transactions.0.remittanceInformation.unstructured.0": "Loyer de juin",
        "_links.next": None,
    }
    query = {"afterEntryReference": str(entries.find("transactions.0.entryReference"))}
    app.call("new transactions", "GET", entries_path, 200, members, params=query, is_present=False)
    booked -= Decimal("742.80")
    app.call("balances after", "GET", money_path, 200, balances(booked, booked), is_present=False)
    app.refuse("balances once too often", "GET", money_path, 429, "Quota de 2 lectures par jour", is_present=False)

    garage = ("Garage Lespinasse", "FR7614505000020441007823671")
    later = app.order("revision", iban, garage, "315.00", app.day(4))
    payment, page = app.pay("payment for a later day", later)
    factor = app.approve("customer approves that too", payment, page)
    app.confirm("confirm it for the day", payment, factor, "ACCP")
    app.cancel("cancel it", payment, "CUST")
    declined, page = app.pay("payment to decline", app.order("pneus", iban, garage, "189.90"))
    app.decline("customer declines", declined, page)
    app.follow("payment is rejected", declined, "RJCT", "DS02")
    payment, page = app.pay("payment above the balance", app.order("moteur", iban, garage, "2950.00"))
    factor = app.approve("customer approves it all the same", payment, page)
    app.confirm("account does not cover it", payment, factor, "RJCT", "AM04")
    wait(timedelta(hours=1))
    app.refuse("token has expired", "GET", ACCOUNTS, 401, "Jeton absent, inconnu ou expiré")
    app.refresh("refreshed token")
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = GaronneApp(walk, "mlabatut", "Pic.du.Midi.2877")
    app.sign_in("token for payments")
    code = app.allow("customer allows", app.open("customer's page"))
    app.exchange("token", code)
    app.refuse_code("code once more", code)
    members: dict[str, Any] = {
        "accounts.0.resourceId": re.compile(r"^\w{18}$"),
        "accounts.1.accountId.iban": re.compile(r"^FR\d{25}$"),
        "accounts.1._links": None,
    }
    listed = app.call("accounts before the consent", "GET", ACCOUNTS, 200, members)
    account, iban = listed.find("accounts.0.resourceId"), listed.find("accounts.0.accountId.iban")
    other, other_iban = listed.find("accounts.1.resourceId"), listed.find("accounts.1.accountId.iban")
    money_path, entries_path = app.hrefs(account)
    app.call("consent", "PUT", CONSENTS, 204, json=app.wish([iban, other_iban], [iban, other_iban], [iban]))
    members = {
        "accounts.#": 2,
        "accounts.0._links.transactions.href": entries_path,
        "accounts.1.resourceId": other,
        "accounts.1._links.balances.href": app.hrefs(other)[0],
        "accounts.1._links.transactions": None,
    }
    app.call("accounts", "GET", ACCOUNTS, 200, members)
    app.call("customer's name", "GET", IDENTITY, 200, {"connectedPsu": str})
    outside = app.hrefs(other)[1]
    app.refuse("transactions outside the consent", "GET", outside, 404, "Compte inconnu ou hors du consentement")
    members = {"transactions.#": 10, "transactions.4.transactionAmount.currency": "EUR"}
    members["_links.next.href"] = re.compile("page=2")
    entries = app.call("transactions", "GET", entries_path, 200, members, params={"dateFrom": app.day(-70)})
    members = {"transactions.#": 10, "transactions.0.bookingDate": TODAY, "_links.next.href": re.compile("page=3")}
    app.call("next page", "GET", entries.find("_links.next.href"), 200, members)
    before = app.call("balances", "GET", money_path, 200, {"balances.#": 2, "balances.1.balanceType": "XPCD"})
    booked, expected = money(before, "CLBD"), money(before, "XPCD")

    club, school = (
        ("Aviron Toulousain", "FR7616807001123301992754044"),
        ("Ecole Jolimont", "FR7610278021450002073190115"),
    )
    later, later_page = app.pay("payment for a later day", app.order("stage", iban, school, "268.50", app.day(3)))
    declined, no_page = app.pay("payment to decline", app.order("cotisation", iban, club, "54.00"))
    app.mistype("customer mistypes the password", no_page, "Pic.du.Midi.2787")
    app.decline("customer declines", declined, no_page)
    factor = app.approve("customer approves the first", later, later_page)
    app.follow("second payment is rejected", declined, "RJCT", "DS02")
    app.follow("first payment is pending", later, "PDNG", requestedExecutionDate=app.day(3))
    confirmation: dict[str, Any] = {"json": {"psuAuthenticationFactor": factor}}
    path = f"{later}/confirmation"
    app.refuse("confirm it with the customer's token", "POST", path, 403, "Jeton de portée pisp", **confirmation)
    app.confirm("confirm it", later, factor, "ACCP")
    payment, page = app.pay("payment", app.order("cantine", iban, school, "131.25"))
    factor = app.approve("customer approves the third", payment, page)
    confirmation = {"json": {"psuAuthenticationFactor": factor}, "scope": "pisp", "is_signed": False}
    path = f"{payment}/confirmation"
    app.refuse("confirm it without a signature", "POST", path, 400, "En-tête Signature absent", **confirmation)
    app.confirm("confirm the third", payment, factor, "ACSP")
    members = {**balances(booked, expected - Decimal("131.25"))}
    app.call("balances with the amount reserved", "GET", money_path, 200, members)
    wait(timedelta(minutes=5))
    app.follow("third payment is settled", payment, "ACSC")
    late: dict[str, Any] = {"scope": "pisp", "json": app.stop("DS02")}
    app.refuse("cancel the second", "PUT", declined, 409, "Annulation impossible au statut RJCT", **late)
    booked, expected = booked - Decimal("131.25"), expected - Decimal("131.25")
    app.call("balances after", "GET", money_path, 200, balances(booked, expected), is_present=False)
    members = {
        "transactions.#": 1,
        "transactions.0.creditDebitIndicator": "DBIT",
        "transactions.0.transactionAmount.amount": "131.25",
        "transactions.0.remittanceInformation.unstructured.0": "Cantine",
    }
    query = {"afterEntryReference": str(entries.find("transactions.0.entryReference"))}
    app.call("new transactions", "GET", entries_path, 200, members, params=query, is_present=False)
    app.refuse("accounts once too often", "GET", ACCOUNTS, 429, "Quota de 2 lectures par jour", is_present=False)
    stopped, _ = app.pay("payment to cancel", app.order("licence", iban, club, "77.00"))
    app.cancel("cancel it", stopped, "DUPL")
    much = app.order("bateau", iban, club, "8250.00", app.day(1))
    app.refuse("payment above the limit", "POST", PAYMENTS, 400, "plafond de 5000.00", scope="pisp", json=much)
    payment, page = app.pay("payment above the balance", app.order("voile", iban, club, f"{expected + 10:.2f}"))
    factor = app.approve("customer approves it all the same", payment, page)
    app.confirm("account does not cover it", payment, factor, "RJCT", "AM04")
    unknown = f"{PAYMENTS}/VIR-0000000000"
    app.refuse("unknown payment", "GET", unknown, 404, "inconnue", scope="pisp")
    wait(3 * DAY)
    app.refuse("token for payments has expired", "GET", later, 401, "Jeton absent, inconnu ou expiré", scope="pisp")
    app.sign_in("new token for payments")
    app.follow("first payment is settled", later, "ACSC")
    app.refresh("refreshed token")
    booked, expected = booked - Decimal("268.50"), expected - Decimal("268.50")
    app.call("balances on the day", "GET", money_path, 200, balances(booked, expected), is_present=False)
    return walk.steps
