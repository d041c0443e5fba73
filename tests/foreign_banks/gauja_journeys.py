"""Two journeys for Gauja: Liene pays from her current account, and Jānis from his own."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

ROOT = "/psd2/v1.3.11"
API_KEY = "gb_4kTz81mQxw07"
PAYMENTS = "payments/sepa-credit-transfers"
EXPLICIT = {"TPP-Explicit-Authorisation-Preferred": "true"}
ALL = ["accounts", "balances", "transactions"]
MINUTE = timedelta(minutes=1)
SCA_PAGE = re.compile(r"^/paraksts/[a-z0-9]{20}$")
AUTHORISATION = re.compile(r"/authorisations/\d{8}$")
WRONG_CODE = PAGE | {"page": re.compile("Nepareizs lietotājs vai kods")}


class GaujaApp:
    def __init__(self, walk: Walk, name: str) -> None:
        self.walk = walk
        self._back, self._nok = f"https://{name}.example/banka", f"https://{name}.example/nav-izdevies"
        self.consent = ""

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).strftime("%Y-%m-%d")

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected,
        *,
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        id = str(uuid5(NAMESPACE_URL, f"{self._back}/{len(self.walk.steps)}"))
        sent = {"X-Api-Key": API_KEY, "X-Request-ID": id, **(headers or {})}
        expected = {"@X-Request-ID": id, **members}
        if status >= 400:
            expected |= {"success": False, "correlationId": id, "failure.message": str}
        url = path if path.startswith("/") else f"{ROOT}/{path}"
        return self.walk.step(name, method, url, status, expected, headers=sent, **request)

    def read(self, name: str, path: str, members: Expected, status: int = 200, **query: Any) -> Answer:
        """Read something within the consent."""
        more = {"params": query} if query else {}
        return self.call(name, "GET", path, status, members, headers={"Consent-ID": self.consent}, **more)

    def _ask(self, name: str, path: str, status: int, members: Expected, body: Any, more: dict[str, str]) -> Answer:
        headers = {"TPP-Redirect-URI": self._back, "TPP-Nok-Redirect-URI": self._nok, **more}
        return self.call(name, "POST", path, status, members, headers=headers, json=body)

    def send_consent(
        self, name: str, rights: list[str], days: int, status: int, members: Expected, **more: str
    ) -> Answer:
        body = {
            "access": {right: [] for right in rights},
            "recurringIndicator": True,
            "validUntil": self.day(days),
            "frequencyPerDay": 4,
        }
        return self._ask(name, "consents", status, members, body, more)

    def ask(self, name: str, rights: list[str], days: int, *, explicit: bool = False) -> tuple[str, str]:
        """Return the id of the consent and its page, or where an authorisation starts if that is explicit."""
        members = {
            "consentId": re.compile(r"^pk-[a-z0-9]{4}-[a-z0-9]{4}$"),
            "consentStatus": "awaiting",
            "_links.self": re.compile(rf"^{ROOT}/consents/pk-"),
            "@Location": None,
            "@ASPSP-SCA-Approach": "REDIRECT",
            **links(explicit),
        }
        answer = self.send_consent(name, rights, days, 200, members, **(EXPLICIT if explicit else {}))
        return str(answer.find("consentId")), following(answer, explicit)

    def send_payment(
        self, name: str, iban: str, to: tuple[str, str], amount: Any, status: int, members: Expected, **more: str
    ) -> Answer:
        body = {
            "endToEndIdentification": f"GB-{len(self.walk.steps):04}",
            "debtorAccount": {"iban": iban},
            "instructedAmount": {"amount": amount, "currency": "EUR"},
            "creditorAccount": {"iban": to[1]},
            "creditorName": to[0],
            "remittanceInformationUnstructured": f"Rēķins {len(self.walk.steps)}",
        }
        return self._ask(name, PAYMENTS, status, members, body, {"PSU-IP-Address": "127.0.0.1", **more})

    def pay(
        self, name: str, iban: str, to: tuple[str, str], amount: float, *, explicit: bool = False
    ) -> tuple[str, str]:
        """Return the id of the payment and its page, or where an authorisation starts if that is explicit."""
        members = {
            "paymentId": re.compile(r"^M\d{13}$"),
            "transactionStatus": "RCVD",
            "@Location": re.compile(rf"^{ROOT}/{PAYMENTS}/M\d{{13}}$"),
            **links(explicit),
        }
        answer = self.send_payment(name, iban, to, amount, 201, members, **(EXPLICIT if explicit else {}))
        return str(answer.find("paymentId")), following(answer, explicit)

    def start(self, name: str, place: str) -> tuple[str, str]:
        """Return where the authorisation is, and its page."""
        members = {
            "authorisationId": re.compile(r"^\d{8}$"),
            "scaStatus": "open",
            "_links.scaRedirect": SCA_PAGE,
            "_links.scaStatus": AUTHORISATION,
        }
        answer = self.call(name, "POST", place, 201, members, json={})
        return str(answer.find("_links.scaStatus")), following(answer)

    def sign(
        self, name: str, page: str, customer: tuple[str, str], id: str, result: str = "ok", choice: str = "apstiprinat"
    ) -> None:
        """Answer a page as the customer."""
        uri = re.escape(self._back if result == "ok" else self._nok)
        back = {"@Location": re.compile(rf"^{uri}\?result={result}&ref={id}$")}
        self.walk.step(name, "POST", page, 302, back, data=fill(customer, choice))


def fill(customer: tuple[str, str], choice: str = "apstiprinat") -> dict[str, str]:
    return {"lietotajs": customer[0], "kods": customer[1], "lemums": choice}


def links(explicit: bool) -> dict[str, Any]:
    if explicit:
        return {"_links.startAuthorisation": re.compile("/authorisations$"), "_links.scaRedirect": None}
    return {"_links.scaRedirect": SCA_PAGE, "_links.scaStatus": AUTHORISATION, "_links.startAuthorisation": None}


def following(answer: Answer, explicit: bool = False) -> str:
    return str(answer.find("_links.startAuthorisation" if explicit else "_links.scaRedirect"))


def refused(code: str, field: str | None = None) -> dict[str, Any]:
    return {"failure.code": code, "failure.field": field}


def balances(booked: int, available: int) -> dict[str, Any]:
    """What balances of so many cents show."""
    return {
        "balances.0.balanceType": "booked",
        "balances.0.balanceAmount.amount": booked / 100,
        "balances.1.balanceType": "available",
        "balances.1.balanceAmount.amount": available / 100,
    }


def cents(answer: Answer) -> int:
    """The booked balance, or 0."""
    amount = answer.find("balances.0.balanceAmount.amount")
    return round(amount * 100) if isinstance(amount, int | float) else 0


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = GaujaApp(walk, "makins")
    liene = ("LO204417", "731905")
    walk.step("request without a key", "GET", f"{ROOT}/accounts", 401, {**refused("API_KEY_INVALID"), "success": False})
    app.send_consent("consent for too long", ALL, 150, 400, refused("VALIDITY_TOO_LONG", "validUntil"))
    declined, place = app.ask("consent to decline", ["accounts"], 10, explicit=True)
    _, page = app.start("start its authorisation", place)
    app.sign("customer declines the consent", page, liene, declined, "declined", "noraidit")
    app.call("consent is declined", "GET", f"consents/{declined}/status", 200, {"consentStatus": "declined"})
    consent, page = app.ask("consent", ALL, 3)
    app.consent = consent
    opened = PAGE | {"page": re.compile("Piekļuve kontiem.*lietotajs.*kods.*lemums")}
    walk.step("page", "GET", page, 200, opened)
    app.read("accounts too early", "accounts", refused("CONSENT_INVALID"), 401)
    walk.step("customer with a wrong code", "POST", page, 401, WRONG_CODE, data=fill((liene[0], "000000")))
    app.sign("customer agrees", page, liene, consent)
    members: dict[str, Any] = {
        "consentId": consent,
        "consentStatus": "valid",
        "validUntil": app.day(3),
        "psuName": "Liene Ozola",
    }
    app.call("consent is valid", "GET", f"consents/{consent}", 200, members | {"signedOn": app.day(0)})
    shown = {"accounts.#": 2, "accounts.0.currency": "EUR", "accounts.0.ownerName": "Liene Ozola"}
    account = app.read("accounts", "accounts", shown).find("accounts.0") or {}
    iban, place = str(account.get("iban")), f"accounts/{account.get('resourceId')}"
    booked = cents(app.read("balances", f"{place}/balances", {"account.iban": iban, "balances.#": 2}))
    query: dict[str, Any] = {"bookingStatus": "booked", "dateFrom": app.day(-80)}
    row = "transactions.booked.0."
    members = {
        "account.iban": iban,
        "transactions.booked.#": 10,
        f"{row}transactionAmount.amount": float,
        f"{row}creditDebitIndicator": re.compile("^(DBIT|CRDT)$"),
        "continuationKey": re.compile(r"^[a-z0-9]{16}$"),
    }
    listed = app.read("transactions", f"{place}/transactions", members, **query)
    last = {"transactions.booked.#": 7, "continuationKey": None}
    key = listed.find("continuationKey")
    app.read("rest of the transactions", f"{place}/transactions", last, continuationKey=key)
    old: dict[str, Any] = {"bookingStatus": "booked", "dateFrom": app.day(-200)}
    app.read("transactions too old", f"{place}/transactions", refused("PERIOD_INVALID", "dateFrom"), 400, **old)

    dentist = ("Zobārstniecība Balta", "LV31HABA0551033417220")
    carpenter = ("SIA Ozolkoks", "LV13UNLA0050019873104")
    limit = refused("AMOUNT_LIMIT", "instructedAmount.amount")
    app.send_payment("payment over the limit", iban, carpenter, 3500.0, 422, limit)
    payment, page = app.pay("payment", iban, dentist, 312.4)
    app.sign("customer signs the payment", page, liene, payment)
    app.call("payment is signed", "GET", f"{PAYMENTS}/{payment}/status", 200, {"transactionStatus": "AUTH"})
    left = booked - 31_240
    app.read("balances with the amount held", f"{place}/balances", balances(booked, left))
    wait(31 * MINUTE)
    members = {"paymentId": payment, "transactionStatus": "ACSC", "creditorName": dentist[0]}
    members |= {"instructedAmount.amount": 312.4, "debtorAccount.iban": iban}
    app.call("payment is booked", "GET", f"{PAYMENTS}/{payment}", 200, members)
    app.read("balances after", f"{place}/balances", balances(left, left))
    members = {
        "transactions.booked.#": 1,
        f"{row}transactionAmount": {"amount": 312.4, "currency": "EUR"},
        f"{row}creditDebitIndicator": "DBIT",
        f"{row}counterparty": dentist[0],
    }
    query = {"bookingStatus": "booked", "dateFrom": app.day(-1), "pageSize": 1}
    app.read("newest transaction", f"{place}/transactions", members, **query)
    app.call("too late to cancel", "DELETE", f"{PAYMENTS}/{payment}", 409, refused("CANCELLATION_INVALID"))
    payment, page = app.pay("payment without cover", iban, carpenter, 2900.0)
    app.sign("customer signs without cover", page, liene, payment, "refused")
    rejected = {"transactionStatus": "RJCT", "reasonCode": "AM04"}
    app.call("payment is rejected", "GET", f"{PAYMENTS}/{payment}/status", 200, rejected)
    payment, _ = app.pay("payment to cancel", iban, carpenter, 75.25)
    cancelled = {"paymentId": payment, "transactionStatus": "CANC"}
    app.call("cancel it", "DELETE", f"{PAYMENTS}/{payment}", 200, cancelled)
    unused, _ = app.ask("consent to withdraw", ["accounts", "balances"], 60)
    app.call("withdraw it", "DELETE", f"consents/{unused}", 204, {"page": ""})
    app.call("consent is withdrawn", "GET", f"consents/{unused}/status", 200, {"consentStatus": "withdrawn"})
    wait(4 * DAY)
    app.read("accounts after the last day", "accounts", refused("CONSENT_EXPIRED"), 401)
    app.call("consent has expired", "GET", f"consents/{consent}/status", 200, {"consentStatus": "expired"})
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = GaujaApp(walk, "makins-biznesam")
    janis = ("JK118862", "440278")
    app.call(
        "request with another key", "GET", "accounts", 401, refused("API_KEY_INVALID"), headers={"X-Api-Key": "gb_0"}
    )
    small, page = app.ask("consent for balances", ["balances", "accounts"], 2)
    walk.step("user unknown", "POST", page, 401, WRONG_CODE, data=fill(("JK118863", janis[1])))
    app.sign("customer agrees to balances", page, janis, small)
    app.consent = small
    shown = {"accounts.0.iban": re.compile(r"^LV\d\dGAUJ\d{13}$"), "accounts.0.ownerName": str}
    rows = app.read("accounts", "accounts", shown)
    account = rows.find("accounts.0") or {}
    iban, place = str(account.get("iban")), f"accounts/{account.get('resourceId')}"
    booked = cents(app.read("balances", f"{place}/balances", {"account.iban": iban}))
    members: dict[str, Any] = {"account.iban": rows.find("accounts.1.iban"), "balances.#": 2}
    app.read("balances of another", f"accounts/{rows.find('accounts.1.resourceId')}/balances", members)
    query: dict[str, Any] = {"bookingStatus": "booked", "dateFrom": app.day(-85), "pageSize": 6}
    app.read("transactions outside the consent", f"{place}/transactions", refused("CONSENT_SCOPE"), 403, **query)

    app.send_consent("consent for too long", ALL, 365, 400, refused("VALIDITY_TOO_LONG", "validUntil"))
    consent, start = app.ask("consent for all", ALL, 90, explicit=True)
    app.consent = consent
    authorisation, page = app.start("start its authorisation", start)
    app.read("balances too early", f"{place}/balances", refused("CONSENT_INVALID"), 401)
    app.call("consent is awaiting", "GET", f"consents/{consent}/status", 200, {"consentStatus": "awaiting"})
    app.sign("customer agrees to all", page, janis, consent)
    app.call("authorisation is finalised", "GET", authorisation, 200, {"scaStatus": "finalised"})
    members = {"consentStatus": "valid", "validUntil": app.day(90), "frequencyPerDay": 4, "psuName": str}
    app.call("consent is valid", "GET", f"consents/{consent}", 200, members)
    row = "transactions.booked.0."
    members = {"transactions.booked.#": 6, "continuationKey": re.compile(r"^[a-z0-9]{16}$")}
    for name in ("transactions", "more of them"):
        listed = app.read(name, f"{place}/transactions", members, **query)
        query = {"continuationKey": listed.find("continuationKey")}
        members |= {f"{row}entryReference": re.compile(rf"^(?!{listed.find(f'{row}entryReference')}$)\d+$")}
    members |= {"transactions.booked.#": int, "continuationKey": None}
    app.read("last of them", f"{place}/transactions", members, **query)

    school = ("Siguldas Mūzikas skola", "LV15PARX0012890450003")
    builder = ("UAB Nemuno Statyba", "LT667300010098765432")
    limit = refused("AMOUNT_LIMIT", "instructedAmount.amount")
    app.send_payment("payment over the limit", iban, builder, 7200.0, 422, limit)
    payment, start = app.pay("payment to decline", iban, builder, 640.1, explicit=True)
    _, page = app.start("start the authorisation of the payment", start)
    app.sign("customer declines the payment", page, janis, payment, "declined", "noraidit")
    rejected = {"transactionStatus": "RJCT", "reasonCode": "DS02"}
    app.call("payment is declined", "GET", f"{PAYMENTS}/{payment}/status", 200, rejected)
    large, page = app.pay("large payment", iban, builder, 250.75)
    app.sign("customer signs the large payment", page, janis, large)
    fee, page = app.pay("small payment", iban, school, 88.0)
    app.sign("customer signs the small payment", page, janis, fee)
    app.read("balances with two amounts held", f"{place}/balances", balances(booked, booked - 33_875))
    payment, page = app.pay("payment without cover", iban, builder, 2950.0)
    app.sign("customer signs without cover", page, janis, payment, "refused")
    app.call("cancel the large payment", "DELETE", f"{PAYMENTS}/{large}", 200, {"transactionStatus": "CANC"})
    app.call("cancel it again", "DELETE", f"{PAYMENTS}/{large}", 409, refused("CANCELLATION_INVALID"))
    wait(45 * MINUTE)
    members = {"transactionStatus": "ACSC", "creditorName": school[0], "instructedAmount.amount": 88.0}
    app.call("small payment is booked", "GET", f"{PAYMENTS}/{fee}", 200, members)
    left = booked - 8_800
    app.read("balances after", f"{place}/balances", balances(left, left))
    members = {
        "transactions.booked.#": 1,
        f"{row}transactionAmount.amount": 88.0,
        f"{row}creditDebitIndicator": "DBIT",
        f"{row}counterparty": school[0],
    }
    query = {"bookingStatus": "booked", "dateFrom": app.day(-2)}
    app.read("transactions of these days", f"{place}/transactions", members, **query)
    wait(3 * DAY)
    app.call("first consent has expired", "GET", f"consents/{small}/status", 200, {"consentStatus": "expired"})
    app.read("balances within the other", f"{place}/balances", balances(left, left))
    app.call("withdraw the other", "DELETE", f"consents/{consent}", 204, {"page": ""})
    app.read("accounts after that", "accounts", refused("CONSENT_INVALID"), 401)
    return walk.steps
