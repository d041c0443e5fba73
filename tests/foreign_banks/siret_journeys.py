"""Two journeys at Siret; see `journeys`."""

import re
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

UNTIL_SENT, UNTIL_BOOKED = timedelta(seconds=40), timedelta(minutes=2)
EVERYTHING = {"allPsd2": "allAccounts"}
LANDLORD = "RO59BTRL0130120564879001"
SHOP = "DE89370400440532013000"
NO_KEY = {"statusCode": 401, "message": "Access denied due to missing subscription key."}
CONSENT = re.compile(r"^[0-9a-f]{24}$")
PAYMENT = re.compile(r"^OP\d{12}$")
LINK = re.compile(r"/confirmare/[0-9a-f]+$")


class SiretApp:
    """An app. The customer is with it as long as it sends an address."""

    def __init__(self, walk: Walk, name: str, customer: tuple[str, str], visit: int) -> None:
        self.walk, self._name, self._customer = walk, name, customer
        self._agreed, self._refused = (f"https://plop.example/{way}?v={visit}" for way in ("inapoi", "refuz"))

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
        key: str = "5d1c7be0a4f94a0c8b1f",
        **request: Any,
    ) -> Answer:
        id = str(uuid5(NAMESPACE_URL, f"{self._name} {len(self.walk.steps)}"))
        asking = method == "POST"
        sent = {
            "Ocp-Apim-Subscription-Key": key,
            "X-Request-ID": id,
            "Consent-ID": consent,
            "PSU-IP-Address": "86.120.14.7" if asking else address,
            "TPP-Redirect-URI": self._agreed if asking else None,
            "TPP-Nok-Redirect-URI": self._refused if asking else None,
        }
        headers = {header: str(value) for header, value in sent.items() if value}
        url = path if str(path).startswith("/psd2/") else f"/psd2/siret/v1/{path}"
        return self.walk.step(
            name,
            method,
            url,
            status,
            {"@X-Request-ID": id if key else None, **(members or {})},
            headers=headers,
            **request,
        )

    def refuse(
        self, name: str, method: str, path: Any, status: int, code: str, place: str | None = None, **more: Any
    ) -> None:
        details = {f"tppMessages.0.details.{key}": value for key, value in more.pop("details", {}).items()}
        members = {
            "tppMessages.0.category": "ERROR",
            "tppMessages.0.code": code,
            "tppMessages.0.path": place,
            "tppMessages.0.text": str,
            "incident": re.compile(r"^INC\d{8}$"),
            **details,
        }
        self.call(name, method, path, status, members, **more)

    def ask(self, name: str, access: Any, days: int, reads: int) -> Answer:
        wanted = {
            "access": access,
            "recurringIndicator": True,
            "validUntil": self.day(days),
            "frequencyPerDay": reads,
        }
        members = {
            "consentStatus": "received",
            "consentId": CONSENT,
            "_links.scaRedirect.href": LINK,
            "@Location": re.compile(r"^/psd2/siret/v1/consents/[0-9a-f]{24}$"),
            "@ASPSP-SCA-Approach": "REDIRECT",
        }
        return self.call(name, "POST", "consents", 201, members, json=wanted)

    def order(self, amount: str, currency: str, debtor: Any, creditor: str, iban: str, text: str) -> dict[str, Any]:
        return {
            "debtorAccount": {"iban": debtor},
            "instructedAmount": {"currency": currency, "amount": amount},
            "creditorAccount": {"iban": iban},
            "creditorName": creditor,
            "remittanceInformationUnstructured": text,
        }

    def pay(self, name: str, product: str, order: dict[str, Any]) -> Answer:
        currency = order["instructedAmount"]["currency"]
        members = {
            "transactionStatus": "RCVD",
            "paymentId": PAYMENT,
            "transactionFees": {"currency": currency, "amount": "0.00"},
            "_links.scaRedirect.href": LINK,
            "@Location": re.compile(rf"^/psd2/siret/v1/payments/{product}/OP\d{{12}}$"),
            "@ASPSP-SCA-Approach": "REDIRECT",
        }
        return self.call(name, "POST", f"payments/{product}", 201, members, json=order)

    def decide(self, name: str, asked: Answer, answer: str = "accept") -> None:
        back = self._agreed if answer == "accept" else self._refused
        self._send(name, asked, 302, {"@Location": back}, self._customer[1], answer)

    def mistype(self, name: str, asked: Answer) -> None:
        self._send(name, asked, 401, PAGE | {"page": re.compile("cod greșit")}, "000000", "accept")

    def _send(self, name: str, asked: Answer, status: int, members: Expected, code: str, answer: str) -> None:
        form = {"utilizator": self._customer[0], "codSms": code, "raspuns": answer}
        self.walk.step(name, "POST", asked.find("_links.scaRedirect.href"), status, members, data=form)


def less(answer: Answer, place: str, amount: str) -> str:
    """The amount at this place, less another."""
    try:
        return str(Decimal(str(answer.find(place))) - Decimal(amount))
    except InvalidOperation:
        return ""


def balances(currency: str, booked: Any = str, free: Any = str) -> dict[str, Any]:
    return {
        "balances.#": 2,
        "balances.0.balanceType": "closingBooked",
        "balances.0.balanceAmount.currency": currency,
        "balances.0.balanceAmount.amount": booked,
        "balances.1.balanceType": "interimAvailable",
        "balances.1.balanceAmount.currency": currency,
        "balances.1.balanceAmount.amount": free,
    }


def link(answer: Answer, name: str) -> Any:
    return answer.find(f"_links.{name}.href")


BOOKED, FREE = (f"balances.{place}.balanceAmount.amount" for place in (0, 1))


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = SiretApp(walk, "siret one", ("ioana.bratu", "402117"), 1)
    here = "86.120.14.7"
    app.call("accounts without a key", "GET", "accounts", 401, NO_KEY, key="")
    no = app.ask("consent to refuse", EVERYTHING, 90, 4)
    app.decide("customer refuses", no, "refuz")
    app.call("consent is rejected", "GET", link(no, "status"), 200, {"consentStatus": "rejected"})
    asked = app.ask("consent for all accounts", EVERYTHING, 1, 1)
    id = asked.find("consentId")
    app.mistype("wrong code", asked)
    app.decide("customer agrees", asked)
    members = {
        "access": EVERYTHING,
        "recurringIndicator": True,
        "validUntil": app.day(1),
        "frequencyPerDay": 1,
        "lastActionDate": app.day(),
        "consentStatus": "valid",
    }
    app.call("consent is valid", "GET", link(asked, "self"), 200, members)
    members = {
        "accounts.#": 2,
        "accounts.0.resourceId": re.compile(r"^[0-9a-f]{32}$"),
        "accounts.0.iban": "RO56SRTB0417302188401001",
        "accounts.0.currency": "RON",
        "accounts.0.ownerName": "Ioana Bratu",
        "accounts.0.cashAccountType": "CACC",
        "accounts.1.currency": "EUR",
    }
    accounts = app.call("accounts", "GET", "accounts", 200, members, consent=id)
    ron, iban = accounts.find("accounts.0.resourceId"), accounts.find("accounts.0.iban")
    own = f"accounts/{ron}"
    before = app.call("balances", "GET", f"{own}/balances", 200, balances("RON"), consent=id)
    app.refuse(
        "balances again without the customer",
        "GET",
        f"{own}/balances",
        429,
        "ACCESS_EXCEEDED",
        details={"frequencyPerDay": 1, "nextAccess": f"{app.day(1)}T00:00:00Z"},
        consent=id,
    )
    known: dict[str, Any] = {"consent": id, "address": here}
    rows = f"{own}/transactions"
    period = {"dateFrom": app.day(-85), "dateTo": app.day()}
    app.refuse(
        "transactions without a status", "GET", rows, 400, "FORMAT_ERROR", "query.bookingStatus", params=period, **known
    )
    members = {
        "account.iban": iban,
        "transactions.booked.#": 12,
        "transactions.booked.0.transactionId": re.compile(r"^\d{12}$"),
        "transactions.booked.0.transactionAmount.currency": "RON",
        "transactions._links.next.href": re.compile("page=2"),
    }
    booked = period | {"bookingStatus": "booked"}
    newest = app.call("transactions", "GET", rows, 200, members, params=booked, **known)
    members = {"transactions.booked.#": 10, "transactions._links.next": None}
    app.call("second page", "GET", newest.find("transactions._links.next.href"), 200, members, **known)

    much = app.order("25000.01", "RON", iban, "Vasile Nechita", LANDLORD, "Avans")
    app.refuse(
        "payment over the limit",
        "POST",
        "payments/ron-payments",
        400,
        "LIMIT_EXCEEDED",
        "body.instructedAmount.amount",
        details={"limit": {"currency": "RON", "amount": "25000.00"}},
        json=much,
    )
    order = app.order("1450.75", "RON", iban, "Vasile Nechita", LANDLORD, "Chirie iunie")
    made = app.pay("payment", "ron-payments", order)
    app.decide("customer approves", made)
    state = link(made, "status")
    members = {"transactionStatus": "ACTC", "statusText": "Autorizată"}
    app.call("payment is authorised", "GET", state, 200, members)
    wait(UNTIL_SENT)
    members = {"transactionStatus": "ACSP", "statusText": "Procesare"}
    app.call("payment is processed", "GET", state, 200, members)
    app.refuse(
        "too late to cancel",
        "DELETE",
        link(made, "self"),
        409,
        "CANCELLATION_INVALID",
        details={"transactionStatus": "ACSP"},
    )
    wait(UNTIL_BOOKED)
    members = {"paymentId": made.find("paymentId"), "transactionStatus": "ACSC", **order}
    app.call("payment is done", "GET", link(made, "self"), 200, members)
    left = balances("RON", less(before, BOOKED, "1450.75"), less(before, FREE, "1450.75"))
    app.call("balances after", "GET", f"{own}/balances", 200, left, **known)
    members = {
        "transactions.booked.#": 1,
        "transactions.booked.0.bookingDate": app.day(),
        "transactions.booked.0.transactionAmount": {"currency": "RON", "amount": "-1450.75"},
        "transactions.booked.0.creditorName": "Vasile Nechita",
        "transactions.booked.0.remittanceInformationUnstructured": "Chirie iunie",
    }
    today = {"bookingStatus": "booked", "dateFrom": app.day()}
    app.call("transactions after", "GET", rows, 200, members, params=today, **known)
    euro = accounts.pick("accounts", currency="EUR").get("iban")
    order = app.order("62.40", "EUR", euro, "Weinberg Versand", SHOP, "Comanda 8812")
    bad = app.pay("payment to refuse", "sepa-credit-transfers", order)
    app.decide("customer refuses the payment", bad, "refuz")
    members = {"transactionStatus": "RJCT", "statusText": "Respinsă"}
    app.call("payment is rejected", "GET", link(bad, "status"), 200, members)
    wrong = app.pay("payment to cancel", "sepa-credit-transfers", order)
    members = {"transactionStatus": "CANC", "statusText": "Anulată"}
    app.call("cancel the payment", "DELETE", link(wrong, "self"), 200, members)

    one = app.ask("consent for a balance", {"balances": [{"iban": iban}]}, 30, 4)
    app.decide("customer agrees to that", one)
    only = one.find("consentId")
    app.refuse(
        "transactions outside the consent",
        "GET",
        rows,
        401,
        "CONSENT_INVALID",
        details={"missing": "transactions"},
        params=today,
        consent=only,
        address=here,
    )
    app.call("end the consent", "DELETE", link(one, "self"), 204)
    app.refuse(
        "accounts after that",
        "GET",
        "accounts",
        401,
        "CONSENT_INVALID",
        details={"consentStatus": "terminatedByTpp"},
        consent=only,
    )
    wait(2 * DAY)
    app.refuse(
        "consent has expired",
        "GET",
        "accounts",
        401,
        "CONSENT_EXPIRED",
        details={"consentStatus": "expired"},
        **known,
    )
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = SiretApp(walk, "siret two", ("matei.lungu", "918350"), 2)
    here = "86.120.14.7"
    app.call("accounts without a key", "GET", "accounts", 401, NO_KEY, key="")
    asked = app.ask("consent for everything", EVERYTHING, 45, 2)
    id = asked.find("consentId")
    app.refuse("accounts before the decision", "GET", "accounts", 401, "CONSENT_INVALID", consent=id)
    app.decide("customer agrees", asked)
    app.call("consent is valid", "GET", link(asked, "status"), 200, {"consentStatus": "valid"})
    members = {
        "accounts.0.resourceId": re.compile(r"^[0-9a-f]{32}$"),
        "accounts.0.iban": re.compile(r"^RO\d\dSRTB\d{16}$"),
        "accounts.0.currency": "RON",
        "accounts.0.status": "enabled",
    }
    accounts = app.call("accounts", "GET", "accounts", 200, members, consent=id)
    lei, euro = accounts.find("accounts.0"), accounts.pick("accounts", currency="EUR")
    lei = lei if isinstance(lei, dict) else {}
    in_euro, in_lei = (f"accounts/{account.get('resourceId')}" for account in (euro, lei))
    members = {"account.iban": euro.get("iban"), **balances("EUR")}
    app.call("balances in euro", "GET", f"{in_euro}/balances", 200, members, consent=id)
    app.call("balances in euro again", "GET", f"{in_euro}/balances", 200, members, consent=id)
    app.refuse(
        "balances in euro too often",
        "GET",
        f"{in_euro}/balances",
        429,
        "ACCESS_EXCEEDED",
        details={"frequencyPerDay": 2, "nextAccess": f"{app.day(1)}T00:00:00Z"},
        consent=id,
    )
    known: dict[str, Any] = {"consent": id, "address": here}
    app.call("balances in euro with the customer", "GET", f"{in_euro}/balances", 200, members, **known)
    rows, today = f"{in_lei}/transactions", {"bookingStatus": "booked", "dateFrom": app.day()}
    app.refuse(
        "transactions without a status",
        "GET",
        rows,
        400,
        "FORMAT_ERROR",
        "query.bookingStatus",
        params={"dateFrom": app.day(-10)},
        **known,
    )
    members = {
        "account.iban": lei.get("iban"),
        "transactions.booked.#": 12,
        "transactions.booked.11.transactionAmount.currency": "RON",
        "transactions._links.next.href": str,
    }
    booked = {"bookingStatus": "booked", "dateFrom": app.day(-85)}
    newest = app.call("transactions in lei", "GET", rows, 200, members, params=booked, **known)
    members = {"transactions.booked.0.transactionId": re.compile(r"^\d{12}$"), "transactions._links.next": None}
    app.call("their second page", "GET", newest.find("transactions._links.next.href"), 200, members, **known)
    empty = {"transactions.booked.#": 0, "transactions._links.next": None}
    app.call("nothing booked today", "GET", rows, 200, empty, params=today, **known)
    before = app.call("balances in lei", "GET", f"{in_lei}/balances", 200, balances("RON"), **known)

    gift = app.order("39.99", "EUR", euro.get("iban"), "Buchladen Krug", SHOP, "Carte")
    shop = app.pay("payment in euro", "sepa-credit-transfers", gift)
    order = app.order("812.60", "RON", lei.get("iban"), "Asociația Zorilor", LANDLORD, "Întreținere mai")
    made = app.pay("payment in lei", "ron-payments", order)
    app.mistype("wrong code for the payment", made)
    app.decide("customer approves", made)
    state = link(made, "status")
    members = {"transactionStatus": "ACTC", "statusText": "Autorizată"}
    app.call("payment is authorised", "GET", state, 200, members)
    members = {"transactionStatus": "CANC", "statusText": "Anulată"}
    app.call("cancel the payment in euro", "DELETE", link(shop, "self"), 200, members)
    wait(UNTIL_SENT)
    members = {"paymentId": made.find("paymentId"), "transactionStatus": "ACSP", **order}
    app.call("payment is processed", "GET", link(made, "self"), 200, members)
    app.refuse(
        "too late to cancel",
        "DELETE",
        link(made, "self"),
        409,
        "CANCELLATION_INVALID",
        details={"transactionStatus": "ACSP"},
    )
    wait(UNTIL_BOOKED)
    members = {"transactionStatus": "ACSC", "statusText": str}
    app.call("payment is done", "GET", state, 200, members)
    left = balances("RON", less(before, BOOKED, "812.60"), less(before, FREE, "812.60"))
    app.call("balances in lei after", "GET", f"{in_lei}/balances", 200, left, **known)
    members = {
        "transactions.booked.#": 1,
        "transactions.booked.0.bookingDate": app.day(),
        "transactions.booked.0.transactionAmount": {"currency": "RON", "amount": "-812.60"},
        "transactions.booked.0.creditorName": "Asociația Zorilor",
        "transactions.booked.0.remittanceInformationUnstructured": "Întreținere mai",
    }
    app.call("transactions in lei after", "GET", rows, 200, members, params=today, **known)
    app.refuse(
        "payment over the limit",
        "POST",
        "payments/ron-payments",
        400,
        "LIMIT_EXCEEDED",
        "body.instructedAmount.amount",
        details={"limit": {"currency": "RON", "amount": "25000.00"}},
        json=app.order("31000.00", "RON", lei.get("iban"), "Auto Moldova", LANDLORD, "Avans"),
    )
    order = app.order("120.00", "RON", lei.get("iban"), "Sala Olimp", LANDLORD, "Abonament")
    gym = app.pay("payment to refuse", "ron-payments", order)
    app.decide("customer refuses the payment", gym, "refuz")
    members = {"paymentId": gym.find("paymentId"), "transactionStatus": "RJCT", **order}
    app.call("payment is rejected", "GET", link(gym, "self"), 200, members)

    access = {"balances": [{"iban": euro.get("iban")}], "transactions": [{"iban": lei.get("iban")}]}
    part = app.ask("consent for some rights", access, 2, 3)
    app.decide("customer agrees to these", part)
    some = part.find("consentId")
    members = {"account.iban": lei.get("iban"), "transactions.booked.#": 1}
    app.call("transactions inside", "GET", rows, 200, members, params=today, consent=some)
    app.refuse(
        "transactions outside",
        "GET",
        f"{in_euro}/transactions",
        401,
        "CONSENT_INVALID",
        details={"missing": "transactions"},
        params=today,
        consent=some,
    )
    no = app.ask("consent to refuse", EVERYTHING, 10, 1)
    app.decide("customer refuses", no, "refuz")
    app.call("consent is rejected", "GET", link(no, "self"), 200, {"consentStatus": "rejected", "access": EVERYTHING})
    app.call("end the first consent", "DELETE", link(asked, "self"), 204)
    app.refuse(
        "balances after that",
        "GET",
        f"{in_lei}/balances",
        401,
        "CONSENT_INVALID",
        details={"consentStatus": "terminatedByTpp"},
        **known,
    )
    wait(3 * DAY)
    app.refuse(
        "other consent has expired",
        "GET",
        f"{in_euro}/balances",
        401,
        "CONSENT_EXPIRED",
        details={"consentStatus": "expired"},
        consent=some,
    )
    return walk.steps
