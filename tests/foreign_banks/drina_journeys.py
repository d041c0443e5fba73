"""Two journeys at Drina; see `journeys`. The app knows the one-time code, which is the same for every customer."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, Answer, Expected, Step, Wait, Walk

ROOT = "/xs2a/v1"
CONSENTS, ACCOUNTS, PAYMENTS = f"{ROOT}/consents", f"{ROOT}/accounts", f"{ROOT}/payments/domestic-transfers"
CODE, WRONG_CODE, WRONG_PASSWORD = "246810", "000000", "pogresno"
CONSENT_ID, PAYMENT_ID = re.compile(r"^SGL-[A-Z]{4}-\d{4}$"), re.compile(r"^NAL\d{10}$")
AUTHORISATION = re.compile(r"/authorisations/OV-\d{8}$")
EMBEDDED: Expected = {"@ASPSP-SCA-Approach": "EMBEDDED", "authorisationId": re.compile(r"^OV-\d{8}$")}


def cents(answer: Answer, place: str) -> int:
    """The value of an amount at this place, or 0."""
    value = answer.find(place)
    return round(value * 100) if isinstance(value, int | float) else 0


def marks(value: int) -> dict[str, Any]:
    return {"currency": "BAM", "amount": value / 100}


def balances(booked: int, held: int = 0) -> Expected:
    return {
        "balances.0.balanceType": "interimAvailable",
        "balances.0.balanceAmount": marks(booked - held),
        "balances.1.balanceType": "closingBooked",
        "balances.1.balanceAmount": marks(booked),
    }


class DrinaApp:
    def __init__(self, walk: Walk, user: str, password: str) -> None:
        self.walk, self._user, self._password = walk, user, password

    def day(self, days: int = 0) -> str:
        return str((self.walk.now + days * DAY).date())

    def call(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        members: Expected | None = None,
        *,
        consent: Any = None,
        without: tuple[str, ...] = (),
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        id = str(uuid5(NAMESPACE_URL, f"{self._user} {name}"))
        sent = {"X-Drina-Key": "drn-58c1e07b", "X-Request-ID": id, "PSU-IP-Address": "77.238.200.14"}
        sent |= {"X-Consent-Ref": str(consent)} if consent else {}
        sent |= {"TPP-Name": "Kasaba"} if method == "POST" and "json" in request else {}
        sent |= headers or {}
        for header in without:
            del sent[header]
        echo = {"@X-Request-ID": sent.get("X-Request-ID")}
        return self.walk.step(name, method, path, status, {**(members or {}), **echo}, headers=sent, **request)

    def refuse(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        code: str,
        text: str,
        element: str | None = None,
        context: Any = None,
        **request: Any,
    ) -> None:
        members: Expected = {
            "httpStatus": status,
            "error.code": code,
            "error.text": text,
            "error.element": element,
            "context": context,
            "traceId": re.compile(r"^[0-9a-f]{16}$"),
        }
        self.call(name, method, path, status, members, **request)

    def consent(self, accounts: list[str], days: int, often: int, **access: list[str]) -> dict[str, Any]:
        kinds = {"accounts": accounts, "balances": accounts, "transactions": accounts, **access}
        named = {kind: [{"iban": iban} for iban in ibans] for kind, ibans in kinds.items()}
        document = {"access": named, "recurringIndicator": True, "validUntil": self.day(days)}
        return document | {"frequencyPerDay": often}

    def ask(self, name: str, document: dict[str, Any]) -> Answer:
        members = {
            "consentId": CONSENT_ID,
            "consentStatus": "received",
            "scaStatus": "received",
            "_links.self": re.compile(r"/consents/SGL-[A-Z]{4}-\d{4}$"),
            "_links.updatePsuAuthentication": AUTHORISATION,
            "_links.scaStatus": AUTHORISATION,
            "@Location": None,
            **EMBEDDED,
        }
        return self.call(name, "POST", CONSENTS, 200, members, json=document)

    def pay(self, name: str, document: dict[str, Any]) -> Answer:
        members = {
            "paymentId": PAYMENT_ID,
            "transactionStatus": "RCVD",
            "_links.startAuthorisation": re.compile(rf"^{PAYMENTS}/NAL\d{{10}}/authorisations$"),
            "@Location": re.compile(rf"^{PAYMENTS}/NAL\d{{10}}$"),
        }
        return self.call(name, "POST", PAYMENTS, 202, members, json=document)

    def start(self, name: str, paid: Answer) -> Answer:
        members = {"scaStatus": "received", "@Location": AUTHORISATION, **EMBEDDED}
        members |= {"_links.updatePsuAuthentication": AUTHORISATION, "_links.scaStatus": AUTHORISATION}
        return self.call(name, "POST", paid.find("_links.startAuthorisation"), 201, members)

    def identify(self, name: str, started: Answer) -> Answer:
        members = {
            "scaStatus": "psuAuthenticated",
            "scaMethods.#": 2,
            "scaMethods.0.authenticationType": "SMS_OTP",
            "scaMethods.0.authenticationMethodId": str,
            "scaMethods.1.authenticationType": "PUSH_DEC",
            "scaMethods.1.name": "Aplikacija mDrina",
            "_links.selectAuthenticationMethod": AUTHORISATION,
            **EMBEDDED,
        }
        sent = {"psuData": {"psuId": self._user, "password": self._password}}
        return self.call(name, "PUT", started.find("_links.updatePsuAuthentication"), 200, members, json=sent)

    def mistake(self, name: str, started: Answer, left: int, **failed: str) -> None:
        """Send a wrong password. `failed` are states after the last one."""
        sent = {"psuData": {"psuId": self._user, "password": WRONG_PASSWORD}}
        told: dict[str, Any] = {"context": {"scaStatus": "received", "attemptsLeft": left}, "json": sent}
        path = started.find("_links.updatePsuAuthentication")
        if left:
            self.refuse(name, "PUT", path, 401, "PSU_CREDENTIALS_INVALID", "Password is wrong", **told)
        else:
            told["context"] = {"scaStatus": "failed", **failed}
            self.refuse(name, "PUT", path, 403, "SCA_FAILED", "Authorisation has failed after 3 wrong attempts", **told)

    def choose_text(self, name: str, identified: Answer) -> Answer:
        method = identified.pick("scaMethods", authenticationType="SMS_OTP")
        members = {
            "scaStatus": "scaMethodSelected",
            "chosenScaMethod": method,
            "challengeData.otpFormat": "integer",
            "challengeData.otpMaxLength": 6,
            "_links.authoriseTransaction": AUTHORISATION,
            **EMBEDDED,
        }
        return self._choose(name, identified, method, members)

    def choose_app(self, name: str, identified: Answer) -> Answer:
        method = identified.pick("scaMethods", authenticationType="PUSH_DEC")
        members = {
            "scaStatus": "pendingInApp",
            "chosenScaMethod": method,
            "psuMessage": "Potvrdite u aplikaciji mDrina",
            "_links.authoriseTransaction": None,
            "_links.scaStatus": AUTHORISATION,
            "@ASPSP-SCA-Approach": "DECOUPLED",
        }
        return self._choose(name, identified, method, members)

    def _choose(self, name: str, identified: Answer, method: dict[str, Any], members: Expected) -> Answer:
        sent = {"authenticationMethodId": method.get("authenticationMethodId")}
        return self.call(name, "PUT", identified.find("_links.selectAuthenticationMethod"), 200, members, json=sent)

    def choose_unknown(self, name: str, identified: Answer, method: str) -> None:
        told = ("SCA_METHOD_UNKNOWN", f"Customer has no method {method}", "authenticationMethodId")
        path = identified.find("_links.selectAuthenticationMethod")
        self.refuse(name, "PUT", path, 400, *told, json={"authenticationMethodId": method})

    def confirm(self, name: str, chosen: Answer, **signed: str) -> None:
        """Send the right code. `signed` is the state of what it signs."""
        members = {"scaStatus": "finalised", **signed, **EMBEDDED}
        path = chosen.find("_links.authoriseTransaction")
        self.call(name, "PUT", path, 200, members, json={"scaAuthenticationData": CODE})

    def mistype(self, name: str, chosen: Answer, left: int) -> None:
        path, context = chosen.find("_links.authoriseTransaction"), {"scaStatus": "scaMethodSelected"}
        told: dict[str, Any] = {"context": context | {"attemptsLeft": left}}
        told["json"] = {"scaAuthenticationData": WRONG_CODE}
        self.refuse(name, "PUT", path, 401, "SCA_CODE_INVALID", "One-time code is wrong", **told)

    def poll(self, name: str, started: Answer, status: str, **signed: str | None) -> None:
        members = {"scaStatus": status, "authorisationId": started.find("authorisationId"), **signed}
        self.call(name, "GET", started.find("_links.scaStatus"), 200, members)

    def see(self, name: str, asked: Answer, members: Expected) -> Answer:
        """Read the consent or payment that an answer leads to."""
        return self.call(name, "GET", asked.find("_links.self"), 200, members)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = DrinaApp(walk, "ajla.hodzic", "Most-u-11-lukova")
    main, other = "BA391991010007215851", "BA391991010034091738"
    lacking = ("FORMAT_ERROR", "X-Drina-Key is missing", "X-Drina-Key")
    app.refuse("no key", "GET", ACCOUNTS, 400, *lacking, without=("X-Drina-Key",))
    good = app.consent([main, other], 20, 2, transactions=[main])
    lacking = ("FORMAT_ERROR", "validUntil is missing", "validUntil")
    sent = {member: value for member, value in good.items() if member != "validUntil"}
    app.refuse("consent without a last day", "POST", CONSENTS, 400, *lacking, json=sent)
    asked = app.ask("consent", good)
    use: dict[str, Any] = {"consent": asked.find("consentId")}
    early = ("CONSENT_INVALID", "Consent is not valid, its status is received")
    app.refuse("accounts too early", "GET", ACCOUNTS, 401, *early, context={"consentStatus": "received"}, **use)
    identified = app.identify("password", asked)
    app.choose_unknown("unknown method", identified, "m0000")
    chosen = app.choose_text("choose the text message", identified)
    app.mistype("wrong code", chosen, 2)
    app.confirm("code", chosen, consentStatus="valid")
    app.see("consent is valid", asked, {"consentStatus": "valid", "consentId": asked.find("consentId"), **good})
    members: Expected = {
        "accounts.#": 2,
        "accounts.0.resourceId": re.compile(r"^rac-\d{6}$"),
        "accounts.0.iban": main,
        "accounts.0.currency": "BAM",
        "accounts.0.ownerName": "Ajla Hodžić",
        "accounts.0.product": "Tekući račun",
        "accounts.1.iban": other,
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, **use)
    balance, history = (accounts.find(f"accounts.0._links.{kind}") for kind in ("balances", "transactions"))
    away: dict[str, Any] = {"without": ("PSU-IP-Address",), **use}
    members = {"account.iban": main, "balances.#": 2, "balances.1.referenceDate": app.day()}
    seen = app.call("balances", "GET", balance, 200, members, **away)
    before = cents(seen, "balances.1.balanceAmount.amount")
    query = {"dateFrom": app.day(-60), "pageSize": "5"}
    members = {
        "account.iban": main,
        "transactions.#": 5,
        "transactions.0.creditDebitIndicator": "CRDT",
        "transactions.0.debtorName": "Drvoprerada d.o.o.",
        "transactions.1.creditDebitIndicator": "DBIT",
        "transactions.1.transactionAmount.amount": float,
        "paging": {"number": 1, "size": 5, "total": 12},
        "_links.next": re.compile("[?&]page=2$"),
    }
    rows = app.call("transactions", "GET", history, 200, members, params=query, **away)
    members = {"transactions.#": 5, "paging.number": 2, "_links.next": re.compile("[?&]page=3$")}
    app.call("next page", "GET", rows.find("_links.next"), 200, members, **use)
    often = ("ACCESS_EXCEEDED", "Consent has been used without the customer as often as allowed today")
    context: dict[str, Any] = {"frequencyPerDay": 2, "availableFrom": app.day(1)}
    app.refuse("balances too often", "GET", balance, 429, *often, context=context, **away)
    outside = ("CONSENT_INVALID", "Consent does not include transactions of this account")
    path = accounts.find("accounts.1._links.transactions")
    app.refuse("transactions of the other account", "GET", path, 403, *outside, **use)
    unknown = ("RESOURCE_UNKNOWN", "Account rac-000000 does not exist")
    app.refuse("unknown account", "GET", f"{ACCOUNTS}/rac-000000/balances", 404, *unknown, **use)

    pay = {
        "endToEndIdentification": "KASABA-1107",
        "debtorAccount": {"iban": main},
        "instructedAmount": marks(84_550),
        "creditorAccount": {"iban": "BA391610200034551886"},
        "creditorName": "Stolarija Jasen",
        "remittanceInformationUnstructured": "Radni sto",
    }
    amount = "instructedAmount.amount"
    wrong = ("FORMAT_ERROR", f"Value of {amount} is not valid", amount)
    sent = pay | {"instructedAmount": {"currency": "BAM", "amount": "845.50"}}
    app.refuse("payment of an amount as text", "POST", PAYMENTS, 400, *wrong, json=sent)
    over = ("AMOUNT_EXCEEDED", "Amount is over the limit of a payment", amount)
    context = {"limit": marks(500_000)}
    sent = pay | {"instructedAmount": marks(500_001)}
    app.refuse("payment over the limit", "POST", PAYMENTS, 400, *over, context=context, json=sent)
    bare = ("FUNDS_NOT_AVAILABLE", "Account does not cover the amount", amount)
    sent = pay | {"instructedAmount": marks(before + 1_000)}
    app.refuse("payment without cover", "POST", PAYMENTS, 409, *bare, json=sent)
    paid = app.pay("payment", pay)
    twice = ("DUPLICATE", "There is a payment with this endToEndIdentification", "endToEndIdentification")
    context = {"paymentId": paid.find("paymentId")}
    app.refuse("the same payment again", "POST", PAYMENTS, 409, *twice, context=context, json=pay)
    started = app.start("start its authorisation", paid)
    app.choose_app("choose the banking app", app.identify("password for the payment", started))
    app.poll("customer has not confirmed yet", started, "pendingInApp", transactionStatus=None)
    wait(timedelta(seconds=40))
    app.poll("customer has confirmed", started, "finalised", transactionStatus="HELD")
    app.call("balances with the amount held", "GET", balance, 200, balances(before, 84_550), **use)
    wait(timedelta(minutes=3))
    members = {"transactionStatus": "ACCC", "paymentId": paid.find("paymentId"), "settlementDate": app.day(), **pay}
    app.see("payment is done", paid, members)
    members = {
        "transactions.#": 1,
        "transactions.0.bookingDate": app.day(),
        "transactions.0.creditDebitIndicator": "DBIT",
        "transactions.0.transactionAmount": marks(84_550),
        "paging.total": 1,
        "_links.next": None,
    }
    told = ("creditorName", "creditorAccount", "remittanceInformationUnstructured", "endToEndIdentification")
    members = members | {f"transactions.0.{member}": pay[member] for member in told}
    app.call("transactions after", "GET", history, 200, members, params={"dateFrom": app.day()}, **use)
    late = ("CANCELLATION_INVALID", "Payment cannot be cancelled, its status is ACCC")
    context = {"transactionStatus": "ACCC"}
    app.refuse("cancel too late", "DELETE", paid.find("_links.self"), 409, *late, context=context)
    sent = pay | {"endToEndIdentification": "KASABA-1108", "instructedAmount": marks(6_000)}
    paid = app.pay("payment to cancel", sent)
    members = {"transactionStatus": "CANC", "paymentId": paid.find("paymentId")}
    app.call("cancel it", "DELETE", paid.find("_links.self"), 200, members)

    lost = app.ask("consent to lose", app.consent([other], 90, 4))
    app.mistake("wrong password", lost, 2)
    app.mistake("wrong password again", lost, 1)
    app.mistake("wrong password for the third time", lost, 0, consentStatus="rejected")
    members = {"consentStatus": "revokedByTpp", "consentId": asked.find("consentId")}
    app.call("withdraw the first consent", "DELETE", asked.find("_links.self"), 200, members)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = DrinaApp(walk, "milan.todorovic", "Splav!iz!Foče")
    main, other = "BA391991020041172689", "BA391991020005886320"
    lacking = ("FORMAT_ERROR", "X-Request-ID is missing", "X-Request-ID")
    app.refuse("no request id", "GET", ACCOUNTS, 400, *lacking, without=("X-Request-ID",))
    wrong = ("FORMAT_ERROR", "Value of X-Request-ID is not valid", "X-Request-ID")
    app.refuse("malformed request id", "GET", ACCOUNTS, 400, *wrong, headers={"X-Request-ID": "zahtjev-2"})
    good = app.consent([other, main], 2, 1, balances=[main])
    lacking = ("FORMAT_ERROR", "frequencyPerDay is missing", "frequencyPerDay")
    sent = {member: value for member, value in good.items() if member != "frequencyPerDay"}
    app.refuse("consent without a frequency", "POST", CONSENTS, 400, *lacking, json=sent)
    asked = app.ask("consent", good)
    use: dict[str, Any] = {"consent": asked.find("consentId")}
    app.mistake("wrong password", asked, 2)
    app.choose_app("choose the banking app", app.identify("password", asked))
    app.poll("customer has not confirmed yet", asked, "pendingInApp", consentStatus=None)
    app.see("consent is still received", asked, {"consentStatus": "received", **good})
    wait(timedelta(seconds=45))
    app.poll("customer has confirmed", asked, "finalised", consentStatus="valid")
    app.see("consent is valid", asked, {"consentStatus": "valid", "consentId": asked.find("consentId"), **good})
    members: Expected = {"accounts.#": 2, "accounts.0.currency": "BAM", "accounts.0.status": "enabled"}
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, **use)
    links = accounts.pick("accounts", iban=main).get("_links", {})
    balance, history = links.get("balances"), links.get("transactions")
    outside = ("CONSENT_INVALID", "Consent does not include balances of this account")
    path = accounts.pick("accounts", iban=other).get("_links", {}).get("balances")
    app.refuse("balances of the other account", "GET", path, 403, *outside, **use)
    members = {"account.iban": main, "balances.#": 2, "balances.0.referenceDate": app.day()}
    seen = app.call("balances", "GET", balance, 200, members, **use)
    before = cents(seen, "balances.1.balanceAmount.amount")
    query = {"dateFrom": app.day(-75), "pageSize": "3"}
    members = {
        "account.iban": main,
        "transactions.#": 3,
        "transactions.2.creditDebitIndicator": "DBIT",
        "paging.number": 1,
        "paging.size": 3,
        "_links.next": re.compile("[?&]page=2$"),
    }
    away: dict[str, Any] = {"without": ("PSU-IP-Address",), **use}
    rows = app.call("transactions", "GET", history, 200, members, params=query, **away)
    members = {"transactions.#": 3, "paging.number": 2, "paging.size": 3, "_links.next": re.compile("[?&]page=3$")}
    app.call("next page", "GET", rows.find("_links.next"), 200, members, **use)
    often = ("ACCESS_EXCEEDED", "Consent has been used without the customer as often as allowed today")
    context: dict[str, Any] = {"frequencyPerDay": 1, "availableFrom": app.day(1)}
    app.refuse("transactions too often", "GET", history, 429, *often, context=context, **away)

    pay = {
        "endToEndIdentification": "KASABA-2240",
        "debtorAccount": {"iban": main},
        "instructedAmount": marks(12_735),
        "creditorAccount": {"iban": "BA393382202204903179"},
        "creditorName": "Ribnjak Vrelo",
        "remittanceInformationUnstructured": "Pastrmka za slavu",
    }
    lacking = ("FORMAT_ERROR", "creditorName is missing", "creditorName")
    sent = {member: value for member, value in pay.items() if member != "creditorName"}
    app.refuse("payment to nobody", "POST", PAYMENTS, 400, *lacking, json=sent)
    amount = "instructedAmount.amount"
    over = ("AMOUNT_EXCEEDED", "Amount is over the limit of a payment", amount)
    context = {"limit": marks(500_000)}
    sent = pay | {"instructedAmount": marks(612_090)}
    app.refuse("payment over the limit", "POST", PAYMENTS, 400, *over, context=context, json=sent)
    bare = ("FUNDS_NOT_AVAILABLE", "Account does not cover the amount", amount)
    sent = pay | {"instructedAmount": marks(before + 7_525)}
    app.refuse("payment without cover", "POST", PAYMENTS, 409, *bare, json=sent)
    unknown = ("RESOURCE_UNKNOWN", "Payment NAL0000000000 does not exist")
    app.refuse("unknown payment", "GET", f"{PAYMENTS}/NAL0000000000", 404, *unknown)
    dropped = app.pay("payment to cancel", pay)
    members = {"transactionStatus": "CANC", "paymentId": dropped.find("paymentId")}
    app.call("cancel it", "DELETE", dropped.find("_links.self"), 200, members)
    pay["endToEndIdentification"] = "KASABA-2241"
    paid = app.pay("payment", pay)
    started = app.start("start its authorisation", paid)
    identified = app.identify("password for the payment", started)
    app.choose_unknown("unknown method", identified, "m0001")
    chosen = app.choose_text("choose the text message", identified)
    app.mistype("wrong code", chosen, 2)
    app.confirm("code", chosen, transactionStatus="HELD")
    app.see("payment is held", paid, {"transactionStatus": "HELD", "settlementDate": None, **pay})
    app.call("balances with the amount held", "GET", balance, 200, balances(before, 12_735), **use)
    wait(timedelta(minutes=4))
    members = {"transactionStatus": "ACCC", "paymentId": paid.find("paymentId"), "settlementDate": app.day(), **pay}
    app.see("payment is done", paid, members)
    twice = ("DUPLICATE", "There is a payment with this endToEndIdentification", "endToEndIdentification")
    context = {"paymentId": paid.find("paymentId")}
    app.refuse("the same payment again", "POST", PAYMENTS, 409, *twice, context=context, json=pay)
    lost = app.pay(
        "payment to lose", pay | {"endToEndIdentification": "KASABA-2242", "instructedAmount": marks(99_900)}
    )
    started = app.start("start the authorisation of that", lost)
    app.mistake("wrong password for that", started, 2)
    app.mistake("wrong password for that again", started, 1)
    app.mistake("wrong password for the third time", started, 0, transactionStatus="RJCT")
    app.see("payment is rejected", lost, {"transactionStatus": "RJCT", "settlementDate": None})
    members = {
        "transactions.#": 1,
        "transactions.0.creditDebitIndicator": "DBIT",
        "transactions.0.transactionAmount": marks(12_735),
        "transactions.0.creditorName": "Ribnjak Vrelo",
        "transactions.0.endToEndIdentification": "KASABA-2241",
        "paging.total": 1,
    }
    query = {"dateFrom": app.day(), "dateTo": app.day()}
    app.call("transactions after", "GET", history, 200, members, params=query, **use)
    wait(DAY)
    app.call("balances on the next day", "GET", balance, 200, balances(before - 12_735), **away)
    wait(2 * DAY)
    expired = ("CONSENT_INVALID", "Consent is not valid, its status is expired")
    context = {"consentStatus": "expired"}
    app.refuse("balances after the last day", "GET", balance, 401, *expired, context=context, **use)
    return walk.steps
