"""Two journeys of the app Cuentamate and its customers at Banco del Ebro."""

import base64
import hashlib
import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5
from zoneinfo import ZoneInfo

import httpx

from tests.foreign_banks.walk import PAGE, Answer, Expected, Step, Wait, Walk

BASE = "/psd2/ebro/v1.3"
CONSENTS, ACCOUNTS = f"{BASE}/consents", f"{BASE}/accounts"
TRANSFERS, URGENT = f"{BASE}/payments/sepa-credit-transfers", f"{BASE}/payments/target-2-payments"
BACK, NOK = "https://cuentamate.example/ebro", "https://cuentamate.example/ebro/no"
ALL = ("accounts", "balances", "transactions")
MADRID = ZoneInfo("Europe/Madrid")
CONSENT, SIGN = re.compile(r"^CNT-[0-9A-F]{20}$"), re.compile(r"/sca/autorizar\?solicitud=[0-9A-F]{32}$")
IBAN, AMOUNT = re.compile(r"^ES\d\d0982\d{16}$"), re.compile(r"^-?\d+\.\d\d$")
STEP = re.compile(r"/PE\d{15}/(cancellation-)?authorisations/\d{12}$")
START, SELECT = "_links.startAuthorisationWithPsuAuthentication.href", "_links.selectAuthenticationMethod.href"
CONFIRM = "_links.authoriseTransaction.href"


def cents(answer: Answer, kind: str) -> int:
    """The balance of this kind in cents, or 0."""
    amount = answer.pick("balances", balanceType=kind).get("balanceAmount")
    text = str(amount.get("amount")) if isinstance(amount, dict) else ""
    return round(float(text) * 100) if AMOUNT.search(text) else 0


def write(number: int) -> str:
    return f"{'-' if number < 0 else ''}{abs(number) // 100}.{abs(number) % 100:02}"


def local(link: Any) -> str:
    """A link to the bank without its host."""
    return re.sub(r"^https?://[^/]*", "", str(link))


def order(payer: Any, payee: tuple[str, str], amount: str, text: str) -> dict[str, Any]:
    return {
        "debtorAccount": {"iban": payer},
        "creditorAccount": {"iban": payee[0]},
        "creditorName": payee[1],
        "instructedAmount": {"currency": "EUR", "amount": amount},
        "remittanceInformationUnstructured": text,
    }


def balances_of(booked: int, available: int) -> dict[str, Any]:
    return {
        "balances.0.balanceType": "interimBooked",
        "balances.0.balanceAmount.amount": write(booked),
        "balances.1.balanceType": "interimAvailable",
        "balances.1.balanceAmount.amount": write(available),
    }


class EbroApp:
    def __init__(self, walk: Walk, nif: str, password: str, code: str) -> None:
        self.walk, self._nif, self._password, self._code = walk, nif, password, code

    def number(self, name: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"{self._nif} {name}"))

    def day(self, days: int) -> str:
        return (self.walk.now.astimezone(MADRID).date() + timedelta(days=days)).isoformat()

    def call(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        members: Expected | None = None,
        *,
        consent: Any = None,
        is_away: bool = False,
        headers: dict[str, str] | None = None,
        body: dict[str, Any] | None = None,
        **request: Any,
    ) -> Answer:
        sent = {"X-IBM-Client-Id": "5b1e9c70-ab42", "X-Request-ID": self.number(name)}
        if not is_away:
            sent["PSU-IP-Address"] = "203.0.113.24"
        if consent:
            sent["Consent-ID"] = str(consent)
        if body is not None:
            request["json"] = body
            content = httpx.Request("POST", "https://ebro.example", json=body).content
            sent["Digest"] = "SHA-256=" + base64.b64encode(hashlib.sha256(content).digest()).decode()
        sent |= headers or {}
        expected = {"@X-Request-ID": sent["X-Request-ID"], **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def refuse(self, name: str, method: str, path: Any, status: int, code: str, place: Any = None, **more: Any) -> None:
        message = "moreInformation.tppMessages.0"
        members = {"httpCode": str(status), f"{message}.category": "ERROR"}
        members |= {f"{message}.code": code, f"{message}.path": place}
        self.call(name, method, path, status, members, **more)

    def wish(self, reaches: Sequence[str], often: int, until: str, accounts: Sequence[Any] = ()) -> dict[str, Any]:
        access = {name: list(accounts) for name in reaches}
        return {"access": access, "recurringIndicator": True, "frequencyPerDay": often, "validUntil": until}

    def ask(self, name: str, wish: dict[str, Any], until: str) -> tuple[Any, str]:
        """Return the consent's id and the customer's page."""
        members = {
            "consentId": CONSENT,
            "consentStatus": "initiated",
            "validUntil": until,
            "_links.scaRedirect.href": SIGN,
            "@ASPSP-SCA-Approach": "REDIRECT",
            "@Location": re.compile(rf"^{CONSENTS}/CNT-[0-9A-F]{{20}}$"),
        }
        headers = {"TPP-Redirect-URI": BACK, "TPP-Nok-Redirect-URI": NOK}
        made = self.call(name, "POST", CONSENTS, 201, members, headers=headers, body=wish)
        return made.find("consentId"), local(made.find("_links.scaRedirect.href"))

    def log_in(self, name: str, page: str) -> list[str]:
        """Return the accounts from which the customer can choose."""
        form = {"usuario": self._nif, "clave": self._password, "accion": "entrar"}
        members = PAGE | {"page": re.compile('name="cuenta" value="ES.*name="codigo"')}
        return self.walk.step(name, "POST", page, 200, members, data=form).fields.get("cuenta", [])

    def sign(self, name: str, page: str, consent: Any, accounts: list[str]) -> None:
        form = {"cuenta": accounts, "codigo": self._code, "accion": "firmar"}
        members = {"@Location": f"{BACK}?consentId={consent}&resultado=OK"}
        self.walk.step(name, "POST", page, 302, members, data=form)

    def leave(self, name: str, page: str, consent: Any) -> None:
        members = {"@Location": f"{NOK}?consentId={consent}&resultado=KO"}
        self.walk.step(name, "POST", page, 302, members, data={"accion": "cancelar"})

    def look(self, name: str, consent: Any, status: str, members: Expected | None = None) -> None:
        self.call(name, "GET", f"{CONSENTS}/{consent}", 200, {"consentStatus": status, **(members or {})})

    def pay(
        self, name: str, path: str, body: dict[str, Any], amount: str, fee: str | None = None, *, is_short: bool = False
    ) -> tuple[str, str]:
        """Return the paths of the payment and of its authorisations."""
        members: dict[str, Any] = {
            "paymentId": re.compile(rf"^PE{self.day(0).replace('-', '')[2:]}\d{{9}}$"),
            "transactionStatus": "RJCT" if is_short else "RCVD",
            "statusReason": "AM04" if is_short else None,
            "instructedAmount.amount": amount,
            "instructedAmount.currency": "EUR",
            "requestedExecutionDate": body.get("requestedExecutionDate", self.day(0)),
            "transactionFeeIndicator": fee is not None,
            "transactionFees.amount": fee,
            START: None if is_short else re.compile(r"/PE\d{15}/authorisations$"),
            "@ASPSP-SCA-Approach": "EMBEDDED",
        }
        for member in ("debtorAccount.iban", "creditorAccount.iban"):
            members[member] = body[member.partition(".")[0]]["iban"]
        for member in ("creditorName", "remittanceInformationUnstructured"):
            members[member] = body[member]
        made = self.call(name, "POST", path, 201, members, body=body)
        return f"{path}/{made.find('paymentId')}", local(made.find(START))

    def start(self, name: str, path: str, members: Expected) -> Answer:
        headers, body = {"PSU-ID": self._nif}, {"psuData": {"password": self._password}}
        members = {"authorisationId": re.compile(r"^\d{12}$"), **members}
        return self.call(name, "POST", path, 201, members, headers=headers, body=body)

    def start_with_choice(self, name: str, path: str) -> tuple[str, Any]:
        """Return the path of the authorisation and the method by SMS."""
        members = {"scaStatus": "psuAuthenticated", "scaMethods.#": 2, SELECT: STEP, "chosenScaMethod": None}
        made = self.start(name, path, members)
        method = made.pick("scaMethods", authenticationType="SMS_OTP").get("authenticationMethodId")
        return local(made.find(SELECT)), method

    def start_without_choice(self, name: str, path: str) -> str:
        members: dict[str, Any] = {"scaStatus": "challengeSent", "scaMethods": None, CONFIRM: STEP}
        members |= {"chosenScaMethod.authenticationType": "SMS_OTP", "challengeData.otpMaxLength": 6}
        return local(self.start(name, path, members).find(CONFIRM))

    def choose(self, name: str, path: str, method: Any) -> str:
        members = {
            "scaStatus": "challengeSent",
            "chosenScaMethod.authenticationMethodId": method,
            "challengeData.otpMaxLength": 6,
            CONFIRM: STEP,
        }
        chosen = self.call(name, "PUT", path, 200, members, body={"authenticationMethodId": method})
        return local(chosen.find(CONFIRM))

    def confirm(self, name: str, path: str, status: str) -> None:
        members = {"scaStatus": "finalised", "transactionStatus": status, CONFIRM: None}
        self.call(name, "PUT", path, 200, members, body={"scaAuthenticationData": self._code})

    def mistype(self, name: str, path: str, code: str) -> None:
        body = {"scaAuthenticationData": code}
        self.refuse(name, "PUT", path, 401, "OTP_INVALID", "scaAuthenticationData", body=body)

    def follow(self, name: str, payment: str, status: str) -> None:
        self.call(name, "GET", f"{payment}/status", 200, {"transactionStatus": status, "statusReason": None})

    def cancel(self, name: str, payment: str, status: str) -> str:
        """Return the path for authorisations of the cancellation."""
        members = {"transactionStatus": status, START: re.compile(r"/PE\d{15}/cancellation-authorisations$")}
        return local(self.call(name, "DELETE", payment, 202, members).find(START))


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = EbroApp(walk, "48190357K", "Pilar-1808", "390184")
    other = EbroApp(walk, "25713846F", "moncayo2314", "846201")
    members: dict[str, Any] = {"httpCode": "401", "moreInformation": "Client id not registered."}
    app.call("unknown app", "GET", ACCOUNTS, 401, members, headers={"X-IBM-Client-Id": "00000000-0000"})
    picked = app.wish(ALL, 1, "9999-12-31", [{"iban": "ES9121000418450200051332"}])
    headers = {"TPP-Redirect-URI": BACK}
    app.refuse(
        "consent for one account", "POST", CONSENTS, 400, "SERVICE_INVALID", "access", headers=headers, body=picked
    )
    consent, page = app.ask("consent", app.wish(ALL, 1, "9999-12-31"), app.day(180))
    app.refuse("accounts too early", "GET", ACCOUNTS, 401, "CONSENT_INVALID", consent=consent)
    walk.step("customer's page", "GET", page, 200, PAGE | {"page": re.compile("Cuentamate solicita.*usuario")})
    ibans = app.log_in("customer logs in", page)
    app.sign("customer signs", page, consent, ibans)
    members = {
        "access.accounts.#": 2,
        "access.balances.0.iban": IBAN,
        "access.transactions.1.iban": IBAN,
        "frequencyPerDay": 1,
        "validUntil": app.day(180),
        "creationDateTime": re.compile(rf"^{app.day(0)}T[\d:]{{8}}\{walk.now.astimezone(MADRID):%:z}$"),
    }
    app.look("consent is active", consent, "active", members)
    members = {
        "accounts.#": 2,
        "accounts.0.resourceId": re.compile(r"^[0-9a-f]{16}$"),
        "accounts.0.iban": IBAN,
        "accounts.0.product": "Cuenta Nómina",
        "accounts.0.currency": "EUR",
        "accounts.1.product": "Cuenta Conjunta",
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, consent=consent)
    iban, joint = accounts.find("accounts.0.iban"), accounts.find("accounts.1.iban")
    balances = local(accounts.find("accounts.0._links.balances.href"))
    entries = local(accounts.find("accounts.0._links.transactions.href"))
    joint_entries = local(accounts.find("accounts.1._links.transactions.href"))
    members = {
        "account.iban": iban,
        "balances.0.balanceType": "interimBooked",
        "balances.0.balanceAmount.currency": "EUR",
        "balances.0.balanceAmount.amount": AMOUNT,
        "balances.1.balanceType": "interimAvailable",
        "balances.1.referenceDate": app.day(0),
    }
    away: dict[str, Any] = {"consent": consent, "is_away": True}
    booked = cents(app.call("balances, customer away", "GET", balances, 200, members, **away), "interimBooked")
    app.refuse("balances again, customer away", "GET", balances, 429, "ACCESS_EXCEEDED", **away)
    members = {
        "transactions.booked.#": 6,
        "transactions.booked.0.bookingDate": re.compile(r"^\d{4}-\d\d-\d\d$"),
        "transactions.booked.0.transactionAmount.amount": AMOUNT,
        "transactions.booked.0.balanceAfterTransaction.balanceAmount.amount": AMOUNT,
        "transactions.booked.5.transactionId": re.compile(r"^\d{14}$"),
        "transactions._links.next.href": re.compile(r"\?continuation=[0-9a-f]{40}$"),
    }
    query = {"dateFrom": app.day(-150), "itemsPerPage": "6"}
    page_one = app.call("old transactions", "GET", entries, 200, members, consent=consent, params=query)
    following = local(page_one.find("transactions._links.next.href"))
    app.call("more of them", "GET", following, 200, {"transactions.booked.#": 6}, consent=consent)
    wait(timedelta(minutes=21))
    late: dict[str, Any] = {"consent": consent, "params": {"dateFrom": app.day(-150)}}
    app.refuse("old transactions too late", "GET", entries, 400, "PERIOD_INVALID", "dateFrom", **late)

    landlord = ("ES7921000813610123456789", "Inmobiliaria Núñez")
    much = order(iban, landlord, "6500.00", "Entrada")
    app.refuse(
        "transfer above the limit", "POST", TRANSFERS, 403, "LIMIT_EXCEEDED", "instructedAmount.amount", body=much
    )
    rent = order(iban, landlord, "425.5", "Alquiler piso 2º, señal")
    payment, start = app.pay("transfer", TRANSFERS, rent, "425.50")
    again: dict[str, Any] = {"headers": {"X-Request-ID": app.number("transfer")}, "body": rent}
    app.refuse("transfer again", "POST", TRANSFERS, 409, "DUPLICATED_REQUEST", "X-Request-ID", **again)
    step, method = app.start_with_choice("customer gives the password", start)
    step = app.choose("customer chooses SMS", step, method)
    app.mistype("customer mistypes the code", step, "390148")
    app.confirm("customer gives the code", step, "ACCP")
    members = balances_of(booked, booked - 42_550)
    app.call("balances with the amount reserved", "GET", balances, 200, members, consent=consent)
    wait(timedelta(minutes=3))
    app.follow("transfer is under way", payment, "ACSP")
    app.refuse("cancel it too late", "DELETE", payment, 409, "CANCELLATION_INVALID")
    wait(timedelta(minutes=8))
    app.follow("transfer is done", payment, "ACCC")
    members = {
        "transactions.booked.#": 1,
        "transactions.booked.0.bookingDate": app.day(0),
        "transactions.booked.0.transactionAmount.amount": "-425.50",
        "transactions.booked.0.creditorName": "INMOBILIARIA NUNEZ",
        "transactions.booked.0.remittanceInformationUnstructured": "ALQUILER PISO 2, SENAL",
        "transactions.booked.0.proprietaryBankTransactionCode": "TRAN",
        "transactions.booked.0.balanceAfterTransaction.balanceAmount.amount": write(booked - 42_550),
        "transactions._links.next": None,
    }
    today: dict[str, Any] = {"consent": consent, "params": {"dateFrom": app.day(0)}}
    app.call("transactions after", "GET", entries, 200, members, **today)

    choir = ("ES6000491500051234567892", "Coral Zaragoza")
    fee = order(joint, choir, "24.90", "Cuota") | {"requestedExecutionDate": app.day(5)}
    later, start = app.pay("small transfer in five days", TRANSFERS, fee, "24.90")
    members = {"scaStatus": "exempted", "transactionStatus": "PDNG", CONFIRM: None}
    app.start("customer gives the password for it", start, members)
    start = app.cancel("cancel it", later, "PDNG")
    step = other.start_without_choice("other owner gives the password", start)
    other.confirm("other owner confirms the cancellation", step, "CANC")
    garage = ("PT50000201231234567890154", "Garagem do Douro")
    _, start = other.pay("urgent payment", URGENT, order(joint, garage, "1850.00", "Avería"), "1850.00", "12.00")
    step = other.start_without_choice("other owner gives the password again", start)
    other.confirm("other owner gives the code", step, "ACSP")
    wait(timedelta(minutes=6))
    members = {
        "transactions.booked.#": 2,
        "transactions.booked.0.transactionAmount.amount": "-1850.00",
        "transactions.booked.0.remittanceInformationUnstructured": "AVERIA",
        "transactions.booked.1.transactionAmount.amount": "-12.00",
        "transactions.booked.1.creditorName": "BANCO DEL EBRO",
        "transactions.booked.1.proprietaryBankTransactionCode": "COMI",
    }
    app.call("transactions of the joint account", "GET", joint_entries, 200, members, **today)
    dear = order(joint, garage, "90000.00", "Coche")
    app.pay("urgent payment above the balance", URGENT, dear, "90000.00", "12.00", is_short=True)

    narrow, page = app.ask("narrower consent", app.wish(ALL[:2], 4, app.day(30)), app.day(30))
    app.log_in("customer logs in for it", page)
    app.sign("customer signs it for one account", page, narrow, ibans[:1])
    app.look("first consent is replaced", consent, "replaced")
    third, page = app.ask("consent to decline", app.wish(ALL, 4, app.day(60)), app.day(60))
    app.leave("customer declines", page, third)
    members = {"consentId": narrow, "consentStatus": "revokedByTpp"}
    app.call("revoke the narrower consent", "DELETE", f"{CONSENTS}/{narrow}", 200, members)
    app.refuse("accounts with the revoked consent", "GET", ACCOUNTS, 401, "CONSENT_EXPIRED", consent=narrow)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = EbroApp(walk, "73026914M", "Cierzo!44", "127750")
    other = EbroApp(walk, "17480265N", "jota-y-baile", "553098")
    picked = app.wish(ALL[:2], 3, "9999-12-31", [{"iban": "ES6000491500051234567892"}])
    headers = {"TPP-Redirect-URI": BACK}
    app.refuse(
        "consent for one account", "POST", CONSENTS, 400, "SERVICE_INVALID", "access", headers=headers, body=picked
    )
    declined, page = app.ask("consent to decline", app.wish(ALL[:2], 2, app.day(30)), app.day(30))
    app.leave("customer declines", page, declined)
    members: dict[str, Any] = {"httpCode": "401", "moreInformation": "Client id not registered."}
    stranger = {"X-IBM-Client-Id": "11111111-1111"}
    app.call("unknown app looks at it", "GET", f"{CONSENTS}/{declined}", 401, members, headers=stranger)
    app.refuse("accounts with the declined consent", "GET", ACCOUNTS, 401, "CONSENT_INVALID", consent=declined)
    consent, page = app.ask("consent for more than a year", app.wish(ALL, 1, app.day(400)), app.day(180))
    ibans = app.log_in("customer logs in", page)
    app.sign("customer signs for two of the accounts", page, consent, ibans[:2])
    members = {"access.accounts.#": 2, "access.transactions.1.iban": IBAN, "validUntil": app.day(180)}
    app.look("consent is active", consent, "active", members)
    members = {"accounts.#": 2, "accounts.0.iban": IBAN, "accounts.1.iban": IBAN, "accounts.1.currency": "EUR"}
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, consent=consent)
    iban, shared = accounts.find("accounts.0.iban"), accounts.find("accounts.1.iban")
    balances = local(accounts.find("accounts.0._links.balances.href"))
    entries = local(accounts.find("accounts.0._links.transactions.href"))
    shared_entries = local(accounts.find("accounts.1._links.transactions.href"))
    members = {
        "transactions.booked.#": 4,
        "transactions.booked.3.transactionAmount.amount": AMOUNT,
        "transactions._links.next.href": re.compile(r"\?continuation=[0-9a-f]{40}$"),
    }
    query = {"dateFrom": app.day(-120), "itemsPerPage": "4"}
    page_one = app.call("old transactions", "GET", entries, 200, members, consent=consent, params=query)
    following = local(page_one.find("transactions._links.next.href"))
    app.call("more of them", "GET", following, 200, {"transactions.booked.#": 4}, consent=consent)
    recent: dict[str, Any] = {"consent": consent, "is_away": True, "params": {"dateFrom": app.day(-30)}}
    members = {"transactions.booked.0.bookingDate": re.compile(r"^\d{4}-\d\d-\d\d$")}
    app.call("transactions, customer away", "GET", entries, 200, members, **recent)
    app.refuse("transactions again, customer away", "GET", entries, 429, "ACCESS_EXCEEDED", **recent)
    members = {"account.iban": iban, "balances.0.balanceAmount.amount": AMOUNT}
    before = app.call("balances, customer there", "GET", balances, 200, members, consent=consent)
    booked, available = cents(before, "interimBooked"), cents(before, "interimAvailable")
    wait(timedelta(minutes=21))
    late: dict[str, Any] = {"consent": consent, "params": {"dateFrom": app.day(-140)}}
    app.refuse("old transactions too late", "GET", entries, 400, "PERIOD_INVALID", "dateFrom", **late)

    builder = ("FR1420041010050500013M02606", "Maçonnerie Béarn")
    roof = order(iban, builder, "7250", "Tejado Jaén")
    app.refuse(
        "transfer above the limit", "POST", TRANSFERS, 403, "LIMIT_EXCEEDED", "instructedAmount.amount", body=roof
    )
    urgent, start = app.pay("the same as an urgent payment", URGENT, roof, "7250.00", "12.00")
    again: dict[str, Any] = {"headers": {"X-Request-ID": app.number("the same as an urgent payment")}, "body": roof}
    app.refuse("urgent payment again", "POST", URGENT, 409, "DUPLICATED_REQUEST", "X-Request-ID", **again)
    step, method = app.start_with_choice("customer gives the password", start)
    step = app.choose("customer chooses SMS", step, method)
    app.mistype("customer mistypes the code", step, "127705")
    app.confirm("customer gives the code", step, "ACSP")
    members = balances_of(booked, available - 726_200)
    app.call("balances with the amount and fee reserved", "GET", balances, 200, members, consent=consent)
    wait(timedelta(minutes=6))
    app.follow("urgent payment is done", urgent, "ACCC")
    members = {
        "transactions.booked.#": 2,
        "transactions.booked.0.transactionAmount.amount": "-7250.00",
        "transactions.booked.0.creditorName": "MACONNERIE BEARN",
        "transactions.booked.0.remittanceInformationUnstructured": "TEJADO JAEN",
        "transactions.booked.1.transactionAmount.amount": "-12.00",
        "transactions.booked.1.proprietaryBankTransactionCode": "COMI",
        "transactions.booked.1.balanceAfterTransaction.balanceAmount.amount": write(booked - 726_200),
    }
    today: dict[str, Any] = {"consent": consent, "params": {"dateFrom": app.day(0)}}
    app.call("transactions after", "GET", entries, 200, members, **today)
    rest = write(available - 726_200 - 500)
    short = order(iban, builder, rest, "Resto")
    app.pay("urgent payment that leaves too little for the fee", URGENT, short, rest, "12.00", is_short=True)

    school = ("ES9121000418450200051332", "Academia Goya")
    small, start = other.pay("small transfer", TRANSFERS, order(shared, school, "18.4", "Apuntes"), "18.40")
    members = {"scaStatus": "exempted", "transactionStatus": "ACCP"}
    other.start("other owner gives the password", start, members)
    start = app.cancel("cancel it", small, "ACCP")
    step, method = app.start_with_choice("customer gives the password to cancel", start)
    step = app.choose("customer chooses SMS to cancel", step, method)
    app.confirm("customer confirms the cancellation", step, "CANC")
    lessons = order(shared, school, "312.75", "Matrícula Begoña, otoño")
    payment, start = other.pay("transfer", TRANSFERS, lessons, "312.75")
    step = other.start_without_choice("other owner gives the password again", start)
    other.confirm("other owner gives the code", step, "ACCP")
    wait(timedelta(minutes=3))
    app.refuse("cancel it too late", "DELETE", payment, 409, "CANCELLATION_INVALID")
    wait(timedelta(minutes=8))
    members = {
        "transactions.booked.#": 1,
        "transactions.booked.0.transactionAmount.amount": "-312.75",
        "transactions.booked.0.creditorName": "ACADEMIA GOYA",
        "transactions.booked.0.remittanceInformationUnstructured": "MATRICULA BEGONA, OTONO",
    }
    app.call("transactions of the shared account", "GET", shared_entries, 200, members, **today)

    newer, page = app.ask("newer consent", app.wish(("accounts", "transactions"), 2, app.day(45)), app.day(45))
    app.log_in("customer logs in for it", page)
    app.sign("customer signs it", page, newer, ibans[2:])
    app.refuse("balances with the replaced consent", "GET", balances, 401, "CONSENT_EXPIRED", consent=consent)
    app.look("consent is replaced", consent, "replaced")
    members = {"consentId": newer, "consentStatus": "revokedByTpp"}
    app.call("revoke the newer consent", "DELETE", f"{CONSENTS}/{newer}", 200, members)
    return walk.steps
