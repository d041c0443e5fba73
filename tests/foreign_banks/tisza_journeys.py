"""Two journeys at Tisza; see `journeys`."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

UNTIL_BOOKED = timedelta(minutes=20)


class TiszaApp:
    def __init__(self, walk: Walk, key: str, back: str, user: str, password: str, code: str) -> None:
        self.walk, self._key, self._back = walk, key, back
        self._user, self._password, self._code = user, password, code
        self.consent: Any = None

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
        without: str = "",
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        id = str(uuid5(NAMESPACE_URL, f"{self._key} {len(self.walk.steps)}"))
        sent = {"X-Request-ID": id, "X-Tisza-Client": self._key, "TPP-Redirect-URI": self._back + "ok"}
        sent["TPP-Nok-Redirect-URI"] = self._back + "nok"
        if self.consent:
            sent["Consent-ID"] = str(self.consent)
        sent |= headers or {}
        sent.pop(without, None)
        expected = {"@X-Request-ID": sent["X-Request-ID"], **(members or {})} if "X-Request-ID" in sent else members
        url = path if str(path).startswith("/") else f"/v1.3.8/{path}"
        return self.walk.step(name, method, url, status, expected, headers=sent, **request)

    def refuse(self, name: str, method: str, path: Any, status: int, code: str, field: str = "", **more: Any) -> None:
        members: dict[str, Any] = {"errors.0.errorCode": code} | ({"errors.0.field": field} if field else {})
        self.call(name, method, path, status, members, **more)

    def want(self, days: int, reads: int, **access: list[str]) -> dict[str, Any]:
        rights = {right: [{"iban": iban} for iban in ibans] for right, ibans in access.items()}
        return {
            "access": rights,
            "recurringIndicator": True,
            "validUntil": self.day(days),
            "frequencyPerDay": reads,
            "combinedServiceIndicator": False,
        }

    def ask(self, name: str, document: dict[str, Any], until: str | None = None) -> Answer:
        members = {
            "consentId": re.compile(r"^CNS-[0-9a-f]{10}$"),
            "consentStatus": "received",
            "validUntil": until or document["validUntil"],
            "_links.scaRedirect.href": re.compile("/login/"),
            "@ASPSP-SCA-Approach": "REDIRECT",
        }
        return self.call(name, "POST", "consents", 200, members, json=document)

    def pay(self, name: str, document: dict[str, Any]) -> Answer:
        members = {"paymentId": re.compile(r"^\d{13}$"), "transactionStatus": "RCVD", "@Location": str}
        headers = {"PSU-IP-Address": "192.0.2.17"}
        return self.call(name, "POST", "payments/sepa-credit-transfers", 201, members, headers=headers, json=document)

    def refuse_payment(self, name: str, status: int, code: str, field: str, document: dict[str, Any]) -> None:
        headers = {"PSU-IP-Address": "192.0.2.17"}
        path = "payments/sepa-credit-transfers"
        self.refuse(name, "POST", path, status, code, field, headers=headers, json=document)

    def page(self, answer: Answer) -> Any:
        return answer.find("_links.scaRedirect.href")

    def sign_in(self, name: str, page: Any) -> str:
        data = {"user": self._user, "password": self._password}
        found = self.walk.step(name, "POST", page, 200, PAGE | {"page": re.compile('name="session"')}, data=data)
        return found.fields.get("session", [""])[0]

    def decide(self, name: str, page: Any, session: str, decision: str = "approve") -> None:
        data = {"session": session, "code": self._code, "decision": decision}
        to = self._back + ("ok" if decision == "approve" else "nok")
        self.walk.step(name, "POST", page, 302, {"@Location": to}, data=data)


def amounts(answer: Answer) -> tuple[float, float]:
    """What is booked, and what is available."""
    return tuple(float(answer.find(f"balances.{number}.balanceAmount.amount") or 0) for number in (0, 1))  # type: ignore[return-value]


def balances(booked: float, available: float) -> dict[str, Any]:
    return {
        "balances.0.balanceType": "closingBooked",
        "balances.0.balanceAmount.amount": round(booked, 2),
        "balances.1.balanceAmount.amount": round(available, 2),
    }


def payment(iban: str, amount: Any, to: str, name: str, text: str) -> dict[str, Any]:
    return {
        "debtorAccount": {"iban": iban},
        "instructedAmount": {"currency": "EUR", "amount": amount},
        "creditorAccount": {"iban": to},
        "creditorName": name,
        "remittanceInformationUnstructured": text,
    }


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = TiszaApp(walk, "tk-3390-szamla", "https://szamla.example/vissza/", "hanna.k", "tavasz-81", "440912")
    current, savings = "HU42117730161111101800000000", "HU59117730161111102500000000"
    app.refuse("consent without an id", "POST", "consents", 400, "T-1001", "X-Request-ID", without="X-Request-ID")
    both = app.want(60, 3, accounts=[current, savings], balances=[current, savings], transactions=[current])
    app.refuse("unknown app", "POST", "consents", 401, "T-2001", headers={"X-Tisza-Client": "x"}, json=both)
    short = {name: value for name, value in both.items() if name != "validUntil"}
    app.refuse("consent without a day", "POST", "consents", 400, "T-1003", "validUntil", json=short)
    past = both | {"validUntil": app.day(-1)}
    app.refuse("consent in the past", "POST", "consents", 400, "T-1004", "validUntil", json=past)
    many = both | {"frequencyPerDay": 9}
    app.refuse("too many reads", "POST", "consents", 400, "T-1006", "frequencyPerDay", json=many)
    consent = app.ask("consent", both)
    page, own = app.page(consent), consent.find("_links.self.href")
    app.refuse("another consent too soon", "POST", "consents", 403, "T-2007", json=both)
    app.refuse("accounts without a consent", "GET", "accounts", 400, "T-1001", "Consent-ID")
    app.consent = consent.find("consentId")
    app.refuse("accounts before the customer agrees", "GET", "accounts", 401, "T-2003", "Consent-ID")
    walk.step("page of the consent", "GET", page, 200, PAGE | {"page": re.compile("Számla")})
    walk.step("wrong password", "POST", page, 401, PAGE, data={"user": "hanna.k", "password": "oops"})
    session = app.sign_in("customer signs in", page)
    wrong = {"session": session, "code": "000000", "decision": "approve"}
    walk.step("wrong code", "POST", page, 401, PAGE, data=wrong)
    app.decide("customer agrees", page, session)
    walk.step("page is used up", "GET", page, 410, PAGE)
    app.call("consent is valid", "GET", own, 200, {"consentStatus": "valid", "frequencyPerDay": 3})
    accounts = app.call("accounts", "GET", "accounts", 200, {"accounts.#": 2, "accounts.0.currency": "EUR"})
    one = accounts.pick("accounts", iban=current).get("resourceId")
    other = accounts.pick("accounts", iban=savings).get("resourceId")
    app.refuse("unknown account", "GET", "accounts/00000000", 404, "T-3001", "account-id")
    before = app.call("balances", "GET", f"accounts/{one}/balances", 200, {"balances.#": 2, "account.iban": current})
    booked, available = amounts(before)
    period = {"dateFrom": app.day(-80), "dateTo": app.day()}
    members = {"transactions.booked.#": 15, "page.number": 1, "page.pages": 2, "page.entries": 24}
    app.call("transactions", "GET", f"accounts/{one}/transactions", 200, members, params=period)
    members = {"transactions.booked.#": 9, "page.number": 2}
    app.call("second page", "GET", f"accounts/{one}/transactions", 200, members, params=period | {"page": "2"})
    path = f"accounts/{other}/transactions"
    app.refuse("transactions without the right", "GET", path, 403, "T-2006", "transactions", params=period)
    app.refuse("transactions without a day", "GET", f"accounts/{one}/transactions", 400, "T-1003", "dateFrom")

    rent = payment(current, 1500, "DE89370400440532013000", "Kovács Ingatlan", "Lakbér 6")
    path = "payments/sepa-credit-transfers"
    app.refuse("payment without an address", "POST", path, 400, "T-1001", "PSU-IP-Address", json=rent)
    text = rent | {"instructedAmount": {"currency": "EUR", "amount": "1500.00"}}
    app.refuse_payment("payment with a text", 400, "T-1002", "instructedAmount.amount", text)
    much = rent | {"instructedAmount": {"currency": "EUR", "amount": 2000.01}}
    app.refuse_payment("payment over the limit", 403, "T-3004", "instructedAmount.amount", much)
    made = app.pay("payment", rent)
    state = made.find("_links.status.href")
    app.call("payment is received", "GET", state, 200, {"transactionStatus": "RCVD"})
    session = app.sign_in("customer signs in to pay", app.page(made))
    app.decide("customer approves", app.page(made), session)
    app.call("payment is approved", "GET", state, 200, {"transactionStatus": "ACTC"})
    held = balances(booked, available - 1500)
    app.call("balances with the amount held", "GET", f"accounts/{one}/balances", 200, held)
    pending = {"transactions.pending.0.creditorName": "Kovács Ingatlan", "transactions.pending.#": 1}
    params = period | {"bookingStatus": "pending"}
    app.call("payment is pending", "GET", f"accounts/{one}/transactions", 200, pending, params=params)
    trip = payment(current, 400, "AT611904300234573201", "Vasút Zrt", "Jegy")
    second = app.pay("payment to cancel", trip)
    more = trip | {"instructedAmount": {"currency": "EUR", "amount": 100.5}}
    app.refuse_payment("payments of the day over the limit", 403, "T-3004", "instructedAmount.amount", more)
    app.call("cancel it", "DELETE", second.find("_links.self.href"), 204)
    app.call("payment is cancelled", "GET", second.find("_links.status.href"), 200, {"transactionStatus": "CANC"})
    wait(UNTIL_BOOKED)
    app.call("payment is booked", "GET", state, 200, {"transactionStatus": "ACSC"})
    after = balances(booked - 1500, available - 1500)
    app.call("balances after", "GET", f"accounts/{one}/balances", 200, after)
    app.refuse("reads are used up", "GET", f"accounts/{one}/balances", 429, "T-2009")
    members = {"transactions.booked.0.transactionAmount.amount": -1500, "page.entries": 1}
    params = {"dateFrom": app.day(), "dateTo": app.day()}
    app.call("transactions after", "GET", f"accounts/{one}/transactions", 200, members, params=params)
    app.refuse("too late to cancel", "DELETE", made.find("_links.self.href"), 409, "T-3005")
    third = app.pay("payment to cancel later", trip | {"instructedAmount": {"currency": "EUR", "amount": 62.4}})
    session = app.sign_in("customer signs in to pay it", app.page(third))
    app.decide("customer approves it", app.page(third), session)
    started = app.call(
        "cancel when approved", "DELETE", third.find("_links.self.href"), 202, {"transactionStatus": "ACTC"}
    )
    session = app.sign_in("customer signs in to cancel", app.page(started))
    app.decide("customer approves the end", app.page(started), session)
    app.call("it is cancelled", "GET", third.find("_links.self.href"), 200, {"transactionStatus": "CANC"})

    newer = app.ask("consent for longer", app.want(200, 2, accounts=[savings], balances=[savings]), app.day(90))
    session = app.sign_in("customer signs in again", app.page(newer))
    app.decide("customer agrees again", app.page(newer), session)
    app.call("first consent is replaced", "GET", f"{own}/status", 200, {"consentStatus": "replaced"})
    refused = app.ask("consent to decline", app.want(5, 1, accounts=[savings]))
    session = app.sign_in("customer signs in to decline", app.page(refused))
    app.decide("customer declines", app.page(refused), session, "decline")
    app.call("consent is rejected", "GET", refused.find("_links.status.href"), 200, {"consentStatus": "rejected"})
    app.consent = newer.find("consentId")
    app.call("delete the consent", "DELETE", newer.find("_links.self.href"), 200, {"consentStatus": "terminatedByTpp"})
    app.refuse("accounts after that", "GET", "accounts", 401, "T-2003", "Consent-ID")
    app.refuse("delete it again", "DELETE", newer.find("_links.self.href"), 409, "T-2008")
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = TiszaApp(walk, "tk-7712-penztarca", "https://penztarca.example/?r=", "gergo.n", "nyolcvan-8", "730025")
    main, joint, trips = "HU59107000240000701100000000", "HU31107000240000702800000000", "HU48107000240000703500000000"
    app.refuse("unknown payment", "GET", "payments/sepa-credit-transfers/2601010009999", 404, "T-3001", "paymentId")
    app.refuse("unknown consent", "GET", "consents/CNS-0000000000", 403, "T-2002", "Consent-ID")
    app.refuse("accounts without an app", "GET", "accounts", 400, "T-1001", "X-Tisza-Client", without="X-Tisza-Client")
    hotel = payment(joint, 1200.25, "HR1210010051863000160", "Hotel Adria", "Foglalás 31")
    unnamed = {name: value for name, value in hotel.items() if name != "creditorName"}
    app.refuse_payment("payment without a name", 400, "T-1003", "creditorName", unnamed)
    much = hotel | {"instructedAmount": {"currency": "EUR", "amount": 3100}}
    app.refuse_payment("payment over the limit", 403, "T-3004", "instructedAmount.amount", much)
    gift = payment(main, 75.9, "DE89370400440532013000", "Zöld Virág", "Csokor")
    early = app.pay("payment to cancel", gift)
    early_state = early.find("_links.status.href")
    app.call("it is received", "GET", early_state, 200, {"transactionStatus": "RCVD"})
    app.call("cancel it", "DELETE", early.find("_links.self.href"), 204)
    app.call("it is cancelled", "GET", early_state, 200, {"transactionStatus": "CANC"})
    app.refuse("cancel it again", "DELETE", early.find("_links.self.href"), 409, "T-3005")

    rights = {"accounts": [main], "balances": [main]}
    none = {name: value for name, value in app.want(20, 2, **rights).items() if name != "frequencyPerDay"}
    app.refuse("consent without reads", "POST", "consents", 400, "T-1003", "frequencyPerDay", json=none)
    no = app.ask("consent to decline", app.want(20, 2, **rights))
    session = app.sign_in("customer signs in to decline", app.page(no))
    app.decide("customer declines", app.page(no), session, "decline")
    app.call("consent is rejected", "GET", no.find("_links.self.href"), 200, {"consentStatus": "rejected"})
    older = app.ask("consent for one account", app.want(20, 2, **rights))
    app.refuse("another too soon", "POST", "consents", 403, "T-2007", json=app.want(3, 1, accounts=[joint]))
    session = app.sign_in("customer signs in", app.page(older))
    app.decide("customer agrees", app.page(older), session)
    app.consent = older.find("consentId")
    members = {"accounts.#": 1, "accounts.0.iban": main, "accounts.0.name": "Fizetési számla"}
    one = app.call("its account", "GET", "accounts", 200, members).find("accounts.0.resourceId")
    period = {"dateFrom": app.day(-20), "dateTo": app.day()}
    app.call("its balances", "GET", f"accounts/{one}/balances", 200, {"account.iban": main, "balances.#": 2})
    path = f"accounts/{one}/transactions"
    app.refuse("transactions without the right", "GET", path, 403, "T-2006", "transactions", params=period)

    wanted = app.want(120, 2, accounts=[joint, trips], balances=[joint], transactions=[joint, trips])
    newer = app.ask("consent for two accounts", wanted, app.day(90))
    session = app.sign_in("customer signs in for two", app.page(newer))
    app.decide("customer agrees for two", app.page(newer), session)
    app.call("older consent is replaced", "GET", older.find("_links.status.href"), 200, {"consentStatus": "replaced"})
    app.consent = newer.find("consentId")
    accounts = app.call("accounts", "GET", "accounts", 200, {"accounts.#": 2})
    shared = accounts.pick("accounts", iban=joint).get("resourceId")
    travel = accounts.pick("accounts", iban=trips).get("resourceId")
    app.refuse("account of the other consent", "GET", f"accounts/{one}", 403, "T-2005", "account-id")
    app.refuse("balances without the right", "GET", f"accounts/{travel}/balances", 403, "T-2006", "balances")
    before = app.call("balances", "GET", f"accounts/{shared}/balances", 200, {"account.iban": joint})
    booked, available = amounts(before)
    made = app.pay("payment", hotel)
    session = app.sign_in("customer signs in to pay", app.page(made))
    wrong = {"session": session, "code": "111111", "decision": "approve"}
    walk.step("wrong code", "POST", app.page(made), 401, PAGE, data=wrong)
    app.decide("customer approves", app.page(made), session)
    app.call("payment is approved", "GET", made.find("_links.self.href"), 200, {"transactionStatus": "ACTC"})
    rest = hotel | {"instructedAmount": {"currency": "EUR", "amount": 799.8}}
    app.refuse_payment("payments of the day over the limit", 403, "T-3004", "instructedAmount.amount", rest)
    params = period | {"bookingStatus": "both"}
    members = {"transactions.pending.#": 1, "transactions.pending.0.transactionAmount.amount": -1200.25}
    app.call("payment is pending", "GET", f"accounts/{shared}/transactions", 200, members, params=params)
    wait(UNTIL_BOOKED)
    app.call("payment is booked", "GET", made.find("_links.status.href"), 200, {"transactionStatus": "ACSC"})
    after = balances(booked - 1200.25, available - 1200.25)
    app.call("balances after", "GET", f"accounts/{shared}/balances", 200, after)
    app.refuse("reads are used up", "GET", f"accounts/{shared}/balances", 429, "T-2009")
    headers = {"PSU-IP-Address": "198.51.100.4"}
    app.call("reads with the customer", "GET", f"accounts/{shared}/balances", 200, after, headers=headers)
    members = {"transactions.booked.0.creditorName": "Hotel Adria", "page.entries": 1}
    today = {"dateFrom": app.day()}
    app.call("transactions after", "GET", f"accounts/{shared}/transactions", 200, members, params=today)
    app.refuse("too late to cancel", "DELETE", made.find("_links.self.href"), 409, "T-3005")
    app.call("delete the consent", "DELETE", newer.find("_links.self.href"), 200, {"consentStatus": "terminatedByTpp"})
    app.refuse("balances after that", "GET", f"accounts/{shared}/balances", 401, "T-2003", "Consent-ID")
    return walk.steps
