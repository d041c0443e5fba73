"""Two journeys at Struma; see `journeys`."""

import re
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

UNTIL_BOOKED = timedelta(minutes=4)
EVERYTHING: dict[str, Any] = {"accounts": [], "balances": [], "transactions": []}
FEE = {"currency": "EUR", "amount": "0.25"}
HERE = "95.42.18.203"
CONSENT = re.compile(r"^\d{4}-\d{4}-\d{4}$")
PAYMENT = re.compile(r"^ST[0-9A-Z]{10}$")
PAGE_LINK = re.compile(r"/sca/potvardi\?t=[0-9a-f]+$")
TRANSFERS = "payments/sepa-credit-transfers"


class StrumaApp:
    """An app. The customer is with it if it sends an address."""

    def __init__(self, walk: Walk, name: str, organisation: str, customer: tuple[str, str]) -> None:
        self.walk, self._name, self._organisation, self._customer = walk, name, organisation, customer
        self._back = f"https://{name}.example/nazad"

    def day(self, days: int = 0) -> str:
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
        address: str | None = None,
        without: tuple[str, ...] = (),
        **request: Any,
    ) -> Answer:
        id = str(uuid5(NAMESPACE_URL, f"{self._name} {len(self.walk.steps)}"))
        asking = method == "POST"
        sent = {
            "TPP-Organization-Identifier": self._organisation,
            "X-Request-ID": id,
            "Consent-ID": consent,
            "PSU-IP-Address": HERE if asking else address,
            "TPP-Redirect-URI": self._back if asking else None,
        }
        headers = {header: str(value) for header, value in sent.items() if value and header not in without}
        url = path if str(path).startswith("/v1/") else f"/v1/{path}"
        expected = {"@X-Request-ID": id, **(members or {})}
        return self.walk.step(name, method, url, status, expected, headers=headers, **request)

    def refuse(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        code: str,
        detail: str | None = None,
        members: Expected | None = None,
        **request: Any,
    ) -> Answer:
        told = {
            "@Content-Type": re.compile("^application/problem.json"),
            "type": f"https://xs2a.struma.example/greshki/{code.lower().replace('_', '-')}",
            "title": str,
            "detail": detail,
            "code": code,
            **(members or {}),
        }
        return self.call(name, method, path, status, told, **request)

    def wish(self, access: Any, days: int, reads: int) -> dict[str, Any]:
        return {
            "access": access,
            "recurringIndicator": True,
            "validUntil": self.day(days),
            "frequencyPerDay": reads,
            "combinedServiceIndicator": False,
        }

    def ask(self, name: str, access: Any, days: int, reads: int) -> Answer:
        members = {
            "consentStatus": "received",
            "consentId": CONSENT,
            "psuMessage": str,
            "_links.scaRedirect.href": PAGE_LINK,
            "_links.scaStatus.href": re.compile(r"/authorisations/[0-9a-f]{8}$"),
            "@Location": re.compile(r"^/v1/consents/\d{4}-\d{4}-\d{4}$"),
            "@ASPSP-SCA-Approach": "REDIRECT",
        }
        return self.call(name, "POST", "consents", 201, members, json=self.wish(access, days, reads))

    def pay(self, name: str, order: dict[str, Any]) -> Answer:
        members = {
            "transactionStatus": "RCVD",
            "paymentId": PAYMENT,
            "transactionFees": FEE,
            "transactionFeeIndicator": True,
            "_links.scaRedirect.href": PAGE_LINK,
            "@Location": re.compile(r"^/v1/payments/sepa-credit-transfers/ST\w{10}$"),
            "@ASPSP-SCA-Approach": "REDIRECT",
        }
        return self.call(name, "POST", TRANSFERS, 201, members, json=order)

    def cancel(self, name: str, made: Answer) -> Answer:
        members = {
            "transactionStatus": "PDNG",
            "_links.startAuthorisation.href": re.compile(r"/cancellation-authorisations$"),
            "_links.status.href": link(made, "status"),
        }
        return self.call(name, "DELETE", link(made, "self"), 202, members)

    def authorise(self, name: str, asked: Answer) -> Answer:
        members = {
            "scaStatus": "received",
            "authorisationId": re.compile(r"^[0-9a-f]{8}$"),
            "psuMessage": str,
            "_links.scaRedirect.href": PAGE_LINK,
            "@ASPSP-SCA-Approach": "REDIRECT",
        }
        return self.call(name, "POST", link(asked, "startAuthorisation"), 201, members, json={})

    def decide(self, name: str, asked: Answer, answer: str = "da") -> None:
        result = "ok" if answer == "da" else "denied"
        self._send(name, asked, 303, {"@Location": f"{self._back}?result={result}"}, self._customer[1], answer)

    def mistype(self, name: str, asked: Answer) -> None:
        members = PAGE | {"page": re.compile("Грешен клиентски номер")}
        self._send(name, asked, 403, members, self._customer[1].lower(), "da")

    def _send(self, name: str, asked: Answer, status: int, members: Expected, password: str, answer: str) -> None:
        form = {"klient": self._customer[0], "parola": password, "otgovor": answer}
        self.walk.step(name, "POST", link(asked, "scaRedirect"), status, members, data=form)


def order(amount: str, debtor: Any, creditor: tuple[str, str], text: str, **more: str) -> dict[str, Any]:
    return {
        "debtorAccount": {"iban": debtor},
        "instructedAmount": {"currency": "EUR", "amount": amount},
        "creditorAccount": {"iban": creditor[1]},
        "creditorName": creditor[0],
        "remittanceInformationUnstructured": text,
        **more,
    }


def less(answer: Answer, place: str, amount: str) -> str:
    """The amount at this place, less another."""
    try:
        return str(Decimal(str(answer.find(place))) - Decimal(amount))
    except InvalidOperation:
        return ""


def link(answer: Answer, name: str) -> Any:
    return answer.find(f"_links.{name}.href")


def balances(before: str = "balances", opening: Any = str, booked: Any = str, expected: Any = str) -> dict[str, Any]:
    kinds = {"openingBooked": opening, "interimBooked": booked, "expected": expected}
    members: dict[str, Any] = {f"{before}.#": 3}
    for place, (kind, amount) in enumerate(kinds.items()):
        members[f"{before}.{place}.balanceType"] = kind
        members[f"{before}.{place}.balanceAmount.currency"] = "EUR"
        members[f"{before}.{place}.balanceAmount.amount"] = amount
    return members


def left(answer: Answer, before: str, spent: str) -> dict[str, Any]:
    """The balances after a payment, with its fee, of today."""
    opening, booked, expected = (f"{before}.{place}.balanceAmount.amount" for place in range(3))
    return balances("balances", answer.find(opening), less(answer, booked, spent), less(answer, expected, spent))


def booked_today(app: StrumaApp, wanted: dict[str, Any]) -> dict[str, Any]:
    """The row of a payment, and the one of its fee."""
    amount = wanted["instructedAmount"]["amount"]
    return {
        "@X-Total-Count": "2",
        "transactions.booked.#": 2,
        "transactions.booked.0.bookingDate": app.day(),
        "transactions.booked.0.transactionAmount": {"currency": "EUR", "amount": f"-{amount}"},
        "transactions.booked.0.creditorName": wanted["creditorName"],
        "transactions.booked.0.remittanceInformationUnstructured": wanted["remittanceInformationUnstructured"],
        "transactions.booked.0.bankTransactionCode": "PMNT-ICDT-ESCT",
        "transactions.booked.1.transactionAmount": {"currency": "EUR", "amount": "-0.25"},
        "transactions.booked.1.remittanceInformationUnstructured": "Такса превод",
        "transactions.booked.1.bankTransactionCode": "ACMT-MCOP-COMM",
        "transactions._links.next": None,
    }


MISSING = ("TPP-Organization-Identifier",)
LANDLADY = ("Снежана Илиева", "BG55UNCR70001523846091")
SCHOOL = ("Музикална школа Пирин", "BG88FINV91501017289340")
GARAGE = ("Автосервиз Кресна", "BG89RZBB91551083640275")


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = StrumaApp(walk, "kesh", "PSDBG-BNB-204417", ("5530118", "mUsala-2925"))
    iban, savings, card = "BG17STRB91551004417260", "BG42STRB91552004417261", "542188******0917"
    app.refuse("accounts without a certificate", "GET", "accounts", 401, "CERTIFICATE_MISSING", without=MISSING)
    app.refuse(
        "consent without headers",
        "POST",
        "consents",
        400,
        "FORMAT_ERROR",
        "PSU-IP-Address",
        {
            "additionalErrors.#": 1,
            "additionalErrors.0.detail": "TPP-Redirect-URI",
            "additionalErrors.0.code": "FORMAT_ERROR",
        },
        without=("PSU-IP-Address", "TPP-Redirect-URI"),
        json=app.wish(EVERYTHING, 200, 3),
    )
    asked = app.ask("consent for everything", EVERYTHING, 200, 3)
    id = asked.find("consentId")
    app.mistype("wrong password", asked)
    app.decide("customer agrees", asked)
    app.call("authorisation is finalised", "GET", link(asked, "scaStatus"), 200, {"scaStatus": "finalised"})
    members = {
        "access.accounts": [{"iban": iban}, {"iban": savings}, {"maskedPan": card}],
        "access.balances.#": 3,
        "access.transactions": [{"iban": iban}, {"iban": savings}],
        "recurringIndicator": True,
        "validUntil": app.day(90),
        "frequencyPerDay": 3,
        "lastActionDate": app.day(),
        "consentStatus": "valid",
    }
    app.call("consent is valid", "GET", link(asked, "self"), 200, members)
    members = {
        "@X-Accesses-Left": "2",
        "accounts.#": 2,
        "accounts.0.resourceId": re.compile(r"^[0-9a-f]{16}$"),
        "accounts.0.iban": iban,
        "accounts.0.currency": "EUR",
        "accounts.0.ownerName": "Калина Стоева",
        "accounts.0.product": "Разплащателна сметка",
        "accounts.0.cashAccountType": "CACC",
        "accounts.0.bic": "STRBBGSF",
        "accounts.0.balances": None,
        "accounts.1.iban": savings,
        "accounts.1.cashAccountType": "SVGS",
    }
    accounts = app.call("accounts", "GET", "accounts", 200, members, consent=id)
    own = f"accounts/{accounts.pick('accounts', iban=iban).get('resourceId')}"
    members = {"@X-Accesses-Left": "1", "account.iban": iban, **balances()}
    before = app.call("balances", "GET", f"{own}/balances", 200, members, consent=id)
    members = {
        "@X-Accesses-Left": "0",
        "cardAccounts.#": 1,
        "cardAccounts.0.resourceId": re.compile(r"^[0-9a-f]{16}$"),
        "cardAccounts.0.maskedPan": card,
        "cardAccounts.0.creditLimit": {"currency": "EUR", "amount": "2000.00"},
        "cardAccounts.0.balances.#": 1,
        "cardAccounts.0.balances.0.balanceType": "nonInvoiced",
        "cardAccounts.0.balances.0.balanceAmount.amount": re.compile(r"^-\d+\.\d\d$"),
    }
    with_balance = {"withBalance": "true"}
    app.call("cards with balances", "GET", "card-accounts", 200, members, consent=id, params=with_balance)
    rows, both = f"{own}/transactions", {"bookingStatus": "both", "dateFrom": app.day(-85)}
    app.refuse(
        "transactions without the customer",
        "GET",
        rows,
        429,
        "ACCESS_EXCEEDED",
        "frequencyPerDay: 3",
        {"@Retry-After": re.compile(r"^\d+$")},
        consent=id,
        params=both,
    )
    known: dict[str, Any] = {"consent": id, "address": HERE}
    members = {
        "@X-Total-Count": "20",
        "account.iban": iban,
        "transactions.booked.#": 8,
        "transactions.booked.0.transactionId": re.compile(r"^\d{8}N\d{6}$"),
        "transactions.booked.0.transactionAmount.currency": "EUR",
        "transactions.pending.#": 1,
        "transactions.pending.0.transactionId": None,
        "transactions.pending.0.valueDate": app.day(-1),
        "transactions._links.next.href": re.compile("offset=8"),
        "transactions._links.previous": None,
    }
    newest = app.call("transactions", "GET", rows, 200, members, params=both, **known)
    members = {
        "@X-Total-Count": "20",
        "transactions.booked.#": 8,
        "transactions.pending": None,
        "transactions._links.next.href": re.compile("offset=16"),
        "transactions._links.previous.href": re.compile("offset=0"),
    }
    app.call("older transactions", "GET", newest.find("transactions._links.next.href"), 200, members, **known)
    row = newest.find("transactions.booked.2")
    row = row if isinstance(row, dict) else {}
    app.call(
        "one transaction",
        "GET",
        f"{rows}/{row.get('transactionId')}",
        200,
        {f"transactionsDetails.{name}": value for name, value in row.items()},
        **known,
    )
    app.refuse(
        "balances of an unknown account",
        "GET",
        f"accounts/{str(id).replace('-', '')}0000/balances",
        404,
        "RESOURCE_UNKNOWN",
        **known,
    )

    app.refuse(
        "payment over the limit",
        "POST",
        TRANSFERS,
        400,
        "PAYMENT_FAILED",
        "instructedAmount.amount > 5000.00",
        json=order("5200.00", iban, LANDLADY, "Наем за годината"),
    )
    rent = order("431.55", iban, LANDLADY, "Наем юли", endToEndIdentification="NAEM-07")
    made = app.pay("payment", rent)
    app.decide("customer approves", made)
    members = {"transactionStatus": "ACFC", "fundsAvailable": True}
    app.call("payment is accepted", "GET", link(made, "status"), 200, members)
    app.refuse(
        "too late to cancel",
        "DELETE",
        link(made, "self"),
        405,
        "CANCELLATION_INVALID",
        "transactionStatus: ACFC",
    )
    wait(UNTIL_BOOKED)
    members = {"transactionStatus": "ACSC", "debtorName": "Калина Стоева", **rent}
    app.call("payment is done", "GET", link(made, "self"), 200, members)
    after = left(before, "balances", "431.80")
    app.call("balances after", "GET", f"{own}/balances", 200, after, **known)
    today = {"bookingStatus": "booked", "dateFrom": app.day()}
    app.call("transactions after", "GET", rows, 200, booked_today(app, rent), params=today, **known)
    no = app.pay("payment to refuse", order("58.00", iban, GARAGE, "Смяна на гуми"))
    app.decide("customer refuses", no, "ne")
    app.call("payment is rejected", "GET", link(no, "status"), 200, {"transactionStatus": "RJCT"})
    lesson = order("75.40", iban, SCHOOL, "Уроци по кавал", requestedExecutionDate=app.day(12))
    later = app.pay("payment for a later day", lesson)
    app.decide("customer approves that", later)
    start = app.cancel("cancel it", later)
    end = app.authorise("authorise the cancellation", start)
    app.decide("customer approves the cancellation", end)
    app.call("payment is cancelled", "GET", link(start, "status"), 200, {"transactionStatus": "CANC"})

    only = {"accounts": [{"iban": savings}], "balances": [{"iban": savings}]}
    part = app.ask("consent for the savings", only, 30, 4)
    app.decide("customer agrees to these", part)
    app.refuse(
        "accounts with the former consent",
        "GET",
        "accounts",
        401,
        "CONSENT_INVALID",
        "consentStatus: replaced",
        **known,
    )
    saved = f"accounts/{accounts.pick('accounts', iban=savings).get('resourceId')}"
    app.refuse(
        "transactions outside the consent",
        "GET",
        f"{saved}/transactions",
        401,
        "CONSENT_INVALID",
        "access.transactions",
        consent=part.find("consentId"),
        address=HERE,
        params=today,
    )
    app.call("end the consent", "DELETE", link(part, "self"), 204)
    app.call("consent has ended", "GET", link(part, "status"), 200, {"consentStatus": "terminatedByTpp"})
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = StrumaApp(walk, "parichki", "PSDBG-BNB-207730", ("7741902", "vIhren_2914"))
    iban, savings, card = "BG58STRB91551007730915", "BG83STRB91552007730916", "542188******6634"
    repair = order("212.00", iban, GARAGE, "Ремонт на скорости")
    app.refuse(
        "payment without a certificate", "POST", TRANSFERS, 401, "CERTIFICATE_MISSING", without=MISSING, json=repair
    )
    repair["requestedExecutionDate"] = app.day(20)
    app.refuse(
        "payment without a way back",
        "POST",
        TRANSFERS,
        400,
        "FORMAT_ERROR",
        "TPP-Redirect-URI",
        {"additionalErrors": None},
        without=("TPP-Redirect-URI",),
        json=repair,
    )
    later = app.pay("payment for a later day", repair)
    app.decide("customer approves it", later)
    members = {"transactionStatus": "PDNG", "debtorName": "Пламен Вучков", **repair}
    app.call("payment waits for its day", "GET", link(later, "self"), 200, members)

    one = [{"iban": iban}]
    asked = app.ask("consent for one account", {"accounts": one, "balances": one, "transactions": one}, 30, 4)
    id = asked.find("consentId")
    known: dict[str, Any] = {"consent": id, "address": HERE}
    app.refuse(
        "accounts before the decision", "GET", "accounts", 401, "CONSENT_INVALID", "consentStatus: received", **known
    )
    app.decide("customer agrees", asked)
    members = {
        "access": {"accounts": one, "balances": one, "transactions": one},
        "validUntil": app.day(30),
        "frequencyPerDay": 4,
        "consentStatus": "valid",
    }
    app.call("consent is valid", "GET", link(asked, "self"), 200, members)
    members = {
        "accounts.#": 1,
        "accounts.0.iban": iban,
        "accounts.0.ownerName": "Пламен Вучков",
        "accounts.0.cashAccountType": "CACC",
        **balances("accounts.0.balances"),
    }
    accounts = app.call(
        "account with balances", "GET", "accounts", 200, members, params={"withBalance": "true"}, **known
    )
    own = f"accounts/{accounts.find('accounts.0.resourceId')}"
    rows, booked = f"{own}/transactions", {"bookingStatus": "booked", "dateFrom": app.day(-85)}
    members = {
        "@X-Total-Count": "20",
        "account.iban": iban,
        "transactions.booked.#": 8,
        "transactions.pending": None,
        "transactions._links.next.href": re.compile("offset=8"),
    }
    newest = app.call("transactions", "GET", rows, 200, members, params=booked, **known)
    following = "transactions._links.next.href"
    members = {"transactions.booked.#": 8, following: re.compile("offset=16")}
    older = app.call("older transactions", "GET", newest.find(following), 200, members, **known)
    members = {
        "@X-Total-Count": "20",
        "transactions.booked.#": 4,
        "transactions._links.next": None,
        "transactions._links.previous.href": re.compile("offset=8"),
    }
    app.call("oldest transactions", "GET", older.find(following), 200, members, **known)
    row = older.find("transactions.booked.5")
    row = row if isinstance(row, dict) else {}
    app.call(
        "one transaction",
        "GET",
        f"{rows}/{row.get('transactionId')}",
        200,
        {f"transactionsDetails.{name}": value for name, value in row.items()},
        **known,
    )
    app.refuse(
        "transactions of an unknown account",
        "GET",
        f"accounts/{str(id).replace('-', '')}ffff/transactions",
        404,
        "RESOURCE_UNKNOWN",
        params=booked,
        **known,
    )

    lessons = order("164.90", iban, SCHOOL, "Такса септември", endToEndIdentification="SHKOLA-9")
    made = app.pay("payment", lessons)
    app.mistype("wrong password for the payment", made)
    app.decide("customer approves", made)
    members = {"transactionStatus": "ACFC", "fundsAvailable": True}
    app.call("payment is accepted", "GET", link(made, "status"), 200, members)
    app.refuse(
        "too late to cancel",
        "DELETE",
        link(made, "self"),
        405,
        "CANCELLATION_INVALID",
        "transactionStatus: ACFC",
    )
    wait(UNTIL_BOOKED)
    members = {"transactionStatus": "ACSC", "fundsAvailable": True}
    app.call("payment is done", "GET", link(made, "status"), 200, members)
    today = {"bookingStatus": "booked", "dateFrom": app.day()}
    app.call("transactions after", "GET", rows, 200, booked_today(app, lessons), params=today, **known)
    after = {"account.iban": iban, **left(accounts, "accounts.0.balances", "165.15")}
    app.call("balances after", "GET", f"{own}/balances", 200, after, **known)
    app.refuse(
        "payment over the limit",
        "POST",
        TRANSFERS,
        400,
        "PAYMENT_FAILED",
        "instructedAmount.amount > 5000.00",
        json=order("7350.00", iban, GARAGE, "Кола втора ръка"),
    )
    much = app.pay("payment without cover", order("4100.00", iban, LANDLADY, "Капаро"))
    app.decide("customer approves that too", much)
    app.call("payment is declined", "GET", link(much, "status"), 200, {"transactionStatus": "RJCT"})
    start = app.cancel("cancel the later payment", later)
    end = app.authorise("authorise the cancellation", start)
    app.decide("customer approves the cancellation", end)
    app.call("cancellation is finalised", "GET", link(end, "scaStatus"), 200, {"scaStatus": "finalised"})
    app.call("later payment is cancelled", "GET", link(later, "status"), 200, {"transactionStatus": "CANC"})

    everything = app.ask("consent for everything", EVERYTHING, 60, 2)
    app.decide("customer agrees to everything", everything)
    whole = everything.find("consentId")
    app.refuse(
        "balances with the former consent",
        "GET",
        f"{own}/balances",
        401,
        "CONSENT_INVALID",
        "consentStatus: replaced",
        **known,
    )
    members = {"@X-Accesses-Left": "1", "cardAccounts.#": 1, "cardAccounts.0.maskedPan": card}
    app.call("cards", "GET", "card-accounts", 200, members, consent=whole)
    members = {"@X-Accesses-Left": "0", "accounts.#": 2, "accounts.0.iban": iban, "accounts.1.iban": savings}
    listed = app.call("accounts", "GET", "accounts", 200, members, consent=whole)
    saved = f"accounts/{listed.pick('accounts', iban=savings).get('resourceId')}/balances"
    app.refuse(
        "savings without the customer",
        "GET",
        saved,
        429,
        "ACCESS_EXCEEDED",
        "frequencyPerDay: 2",
        {"@Retry-After": re.compile(r"^\d+$")},
        consent=whole,
    )
    wait(DAY)
    members = {"@X-Accesses-Left": "1", "account.iban": savings, **balances()}
    app.call("savings on the next day", "GET", saved, 200, members, consent=whole)
    app.call("end the consent", "DELETE", link(everything, "self"), 204)
    app.refuse(
        "accounts after that",
        "GET",
        "accounts",
        401,
        "CONSENT_INVALID",
        "consentStatus: terminatedByTpp",
        consent=whole,
    )
    return walk.steps
