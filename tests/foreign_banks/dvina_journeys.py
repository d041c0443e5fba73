"""Two journeys of the app Ledgerly and its customers at Dvina."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, uuid5
from zoneinfo import ZoneInfo

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

RIGA = ZoneInfo("Europe/Riga")
BACK = "https://ledgerly.example/dvina"
EVERYTHING = ["list-accounts", "read-balance", "read-statement"]
TOKENS, AGREEMENTS, ACCOUNTS = "/identity/token", "/account-info/v3/agreements", "/account-info/v3/accounts"
TRANSFERS = "/payment-orders/v2/transfers"
SIGNING = re.compile(r"^https?://.+/signing/\w{22}$")
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0[23]:00$")


def minor(answer: Answer, place: str) -> int:
    """The cents at this place, or 0."""
    value = answer.find(place)
    return value if isinstance(value, int) else 0


def part(link: Any, name: str) -> str | None:
    """A parameter in the query of a link."""
    return parse_qs(urlsplit(str(link)).query).get(name, [None])[0]


class DvinaApp:
    def __init__(self, walk: Walk, customer: tuple[str, str]) -> None:
        self.walk, self._customer = walk, customer
        self._own: Any = None
        self._token: Any = None
        self._renewal: Any = None

    def _name(self, word: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"ledgerly {self._customer[0]} {word}"))

    def day(self, days: int) -> str:
        return (self.walk.now.astimezone(RIGA) + days * DAY).date().isoformat()

    def _get_token(self, name: str, form: dict[str, str], members: Expected) -> Answer:
        members = {"access_token": re.compile(r"^\w{43}$"), "token_type": "bearer", **members}
        return self.walk.step(name, "POST", TOKENS, 200, members, data=form, auth=("ledgerly", "amber-harbour"))

    def sign_in(self, name: str) -> None:
        form = {"grant_type": "client_credentials"}
        members = {"expires_in": 900, "refresh_token": None}
        self._own = self._get_token(name, form, members).find("access_token")

    def change_code(self, name: str, code: str | None, agreement: Any) -> None:
        form = {"grant_type": "authorization_code", "code": str(code), "redirect_uri": BACK}
        self._keep(self._get_token(name, form, {"expires_in": 1800, "agreement_ref": agreement, "refresh_token": str}))

    def renew(self, name: str, agreement: Any) -> None:
        form = {"grant_type": "refresh_token", "refresh_token": str(self._renewal)}
        self._keep(self._get_token(name, form, {"expires_in": 1800, "agreement_ref": agreement, "refresh_token": str}))

    def _keep(self, answer: Answer) -> None:
        self._token, self._renewal = answer.find("access_token"), answer.find("refresh_token")

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        *,
        as_app: bool = False,
        **request: Any,
    ) -> Answer:
        id = self._name(name)
        headers = {"X-Request-Id": id, "Authorization": f"Bearer {self._own if as_app else self._token}"}
        told: dict[str, Any] = {"meta.requestId": id, "meta.servedAt": TIME}
        if status >= 400:
            problem = re.compile(r"^application/problem\+json")
            told = {"status": status, "instance": f"urn:dvina:request:{id}", "@Content-Type": problem}
        return self.walk.step(name, method, path, status, told | dict(members or {}), headers=headers, **request)

    def wish(self, rights: list[str], days: int) -> dict[str, Any]:
        return {"rights": rights, "endsOn": self.day(days), "returnTo": BACK, "state": self._name("state")}

    def ask(self, name: str, wish: dict[str, Any]) -> tuple[Any, Any]:
        """Return the reference of an agreement and its signing page."""
        members = {
            "result.agreementRef": re.compile(r"^AGM-[A-Z0-9]{10}$"),
            "result.phase": "Drafted",
            "result.rights": wish["rights"],
            "result.endsOn": wish["endsOn"],
            "result.holder": None,
            "result.signingPage": SIGNING,
        }
        made = self.call(name, "POST", AGREEMENTS, 201, members, as_app=True, json=wish)
        return made.find("result.agreementRef"), made.find("result.signingPage")

    def order(self, payer: Any, payee: tuple[str, str], cents: int, purpose: str, reference: str) -> dict[str, Any]:
        return {
            "debit_account": payer,
            "payee": {"name": payee[0], "iban": payee[1]},
            "sum": {"minor": cents, "currency": "EUR"},
            "purpose": purpose,
            "client_reference": reference,
            "return_to": BACK,
            "state": self._name(reference),
        }

    def place(self, name: str, order: dict[str, Any]) -> tuple[Any, Any]:
        """Return the number of a transfer and its signing page."""
        members = {f"result.{name}": value for name, value in order.items() if name not in ("return_to", "state")}
        members |= {
            "result.transfer_no": re.compile(r"^P\d{6}-\d{6}$"),
            "result.progress": "unsigned",
            "result.charge.minor": 38,
            "result.signing_page": SIGNING,
            "@Location": None,
        }
        made = self.call(name, "POST", TRANSFERS, 202, members, as_app=True, json=order)
        return made.find("result.transfer_no"), made.find("result.signing_page")

    def refuse_order(self, name: str, order: dict[str, Any], status: int, code: str, members: Expected) -> None:
        self.call(name, "POST", TRANSFERS, status, {"code": code, **members}, as_app=True, json=order)

    def follow(self, name: str, transfer: Any, progress: str) -> None:
        members = {"result.transfer_no": transfer, "result.progress": progress, "result.changed_at": TIME}
        self.call(name, "GET", f"{TRANSFERS}/{transfer}/progress", 200, members, as_app=True)

    def recall_too_late(self, name: str, transfer: Any, progress: str) -> None:
        members = {"code": "DVN-2311", "progress": progress}
        self.call(name, "DELETE", f"{TRANSFERS}/{transfer}", 409, members, as_app=True)

    def identify(self, name: str, page: Any, shown: str) -> dict[str, list[str]]:
        """Return the fields of the page to sign."""
        form = {"userCode": self._customer[0], "personalNo": self._customer[1], "do": "next"}
        members = PAGE | {"page": re.compile(f"{re.escape(shown)}.*Control code \\d{{4}}<")}
        return self.walk.step(name, "POST", page, 200, members, data=form).fields

    def sign(self, name: str, page: Any, fields: dict[str, list[str]], location: Any, accounts: int = 0) -> Any:
        """Tick the first accounts, sign, and return where the bank leads to."""
        form: dict[str, Any] = {field: fields.get(field, [""])[0] for field in ("ticket", "control")}
        if accounts:
            form["account"] = fields.get("account", [])[:accounts]
        members = {"@Location": location}
        return self.walk.step(name, "POST", page, 302, members, data=form | {"do": "sign"}).find("@Location")

    def sign_agreement(self, name: str, page: Any, fields: dict[str, list[str]], accounts: int) -> str | None:
        """Return the code."""
        location = re.compile(rf"^{re.escape(BACK)}\?code=\w{{27}}&state={self._name('state')}$")
        return part(self.sign(name, page, fields, location, accounts), "code")

    def outcome(self, transfer: Any, order: dict[str, Any], outcome: str) -> str:
        return f"{BACK}?transfer_no={transfer}&outcome={outcome}&state={order['state']}"


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = DvinaApp(walk, ("K204817", "120385-11024"))
    app.sign_in("token of the app")
    unknown = app.wish(["list-accounts", "read-cards"], 60)
    members: dict[str, Any] = {"code": "DVN-0422", "violations.#": 1, "violations.0.member": "rights"}
    app.call("agreement about cards", "POST", AGREEMENTS, 422, members, as_app=True, json=unknown)
    agreement, page = app.ask("agreement", app.wish(EVERYTHING, 60))
    walk.step("customer's page", "GET", page, 200, PAGE | {"page": re.compile('name="personalNo"')})
    fields = app.identify("customer says who she is", page, "asks to see these accounts of Ilze Kalniņa")
    code = app.sign_agreement("customer signs for two accounts", page, fields, 2)
    app.change_code("token of the customer", code, agreement)
    members = {"result.phase": "Active", "result.holder": "Ilze Kalniņa", "result.signingPage": None}
    app.call("agreement is active", "GET", f"{AGREEMENTS}/{agreement}", 200, members)
    members = {
        "result.#": 2,
        "result.0.accountKey": re.compile(r"^[0-9a-f-]{36}$"),
        "result.0.iban": re.compile(r"^LV\d\dDVNA\d{13}$"),
        "result.0.title": "Norēķinu konts",
        "result.0.sort": "PAYMENT",
        "result.1.currency": "EUR",
        "meta.paging": None,
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members)
    account, iban = accounts.find("result.0.accountKey"), accounts.find("result.0.iban")
    balance, entries = f"{ACCOUNTS}/{account}/balance", f"{ACCOUNTS}/{account}/entries"
    members = {
        "result.accountKey": account,
        "result.figures.0.figure": "free",
        "result.figures.1.figure": "booked",
        "result.figures.1.minor": int,
        "result.figures.2.minor": 50_000,
        "result.takenAt": TIME,
    }
    before = app.call("balance", "GET", balance, 200, members)
    free, booked = minor(before, "result.figures.0.minor"), minor(before, "result.figures.1.minor")
    query = {"bookedFrom": app.day(-80), "bookedTill": app.day(0), "limit": "6"}
    members = {
        "result.#": 6,
        "result.0.entryNo": int,
        "result.0.bookedOn": re.compile(r"^\d{4}-\d\d-\d\d$"),
        "result.0.amount.minor": int,
        "result.2.side": "IN",
        "result.5.sort": "CARD",
        "meta.paging.shown": 6,
        "meta.paging.hasMore": True,
        "meta.paging.after": str,
    }
    after = app.call("entries", "GET", entries, 200, members, params=query).find("meta.paging.after")
    members = {"result.#": 6, "result.0.side": "OUT", "meta.paging.shown": 6, "meta.paging.after": str}
    app.call("more entries", "GET", entries, 200, members, params={"after": str(after)})

    loom = ("Tartu Käsitöö OÜ", "EE382200221020145685")
    order = app.order(iban, loom, 48_260, "Rēķins 1174", "LDG-000417")
    wrong = app.order(iban, (loom[0], "EE392200221020145685"), 48_260, "Rēķins 1174", "LDG-000416")
    app.refuse_order("mistyped IBAN", wrong, 422, "DVN-0422", {"violations.0.member": "payee.iban"})
    transfer, page = app.place("transfer", order)
    app.refuse_order("the same transfer again", order, 409, "DVN-2409", {"existing": transfer})
    fields = app.identify("customer comes to sign the transfer", page, "482.60 EUR to Tartu Käsitöö OÜ")
    app.sign("customer signs the transfer", page, fields, app.outcome(transfer, order, "signed"))
    app.follow("transfer is signed", transfer, "signed")
    wait(timedelta(seconds=30))
    app.follow("transfer is being sent", transfer, "sending")
    app.recall_too_late("recall it too late", transfer, "sending")
    wait(timedelta(minutes=4))
    members = {"result.progress": "settled", "result.purpose": "Rēķins 1174", "result.signing_page": None}
    app.call("transfer is settled", "GET", f"{TRANSFERS}/{transfer}", 200, members, as_app=True)
    members = {"result.figures.0.minor": free - 48_298, "result.figures.1.minor": booked - 48_298}
    app.call("balance after", "GET", balance, 200, members)
    members = {
        "result.#": 2,
        "result.0.amount.minor": 48_260,
        "result.0.side": "OUT",
        "result.0.bookedOn": app.day(0),
        "result.0.otherParty.name": "Tartu Käsitöö OÜ",
        "result.0.purpose": "Rēķins 1174",
        "result.0.sort": "TRANSFER",
        "result.1.amount.minor": 38,
        "result.1.sort": "CHARGE",
        "meta.paging.hasMore": False,
    }
    app.call("entries after", "GET", entries, 200, members, params={"bookedFrom": app.day(0)})

    order = app.order(iban, ("Pärnu Sadam", "EE382200221020145685"), 7_900, "Piestātne maijā", "LDG-000418")
    declined, page = app.place("transfer to decline", order)
    members = {"@Location": app.outcome(declined, order, "refused")}
    walk.step("customer cancels the signing", "POST", page, 302, members, data={"do": "cancel"})
    app.follow("other transfer is refused", declined, "refused")
    wait(timedelta(minutes=40))
    app.call("token has expired", "GET", balance, 401, {"code": "DVN-0401", "@WWW-Authenticate": str})
    app.renew("new token of the customer", agreement)
    members = {"result.agreementRef": agreement, "result.phase": "Closed"}
    app.call("agreement is closed", "PATCH", f"{AGREEMENTS}/{agreement}", 200, members, json={"phase": "Closed"})
    app.call("accounts after its end", "GET", ACCOUNTS, 403, {"code": "DVN-1302", "phase": "Closed"})
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = DvinaApp(walk, ("M775130", "070691-12287"))
    app.sign_in("token of the app")
    agreement, page = app.ask("agreement", app.wish(["read-statement", "read-balance", "list-accounts"], 25))
    unknown = app.wish(["read-loans", "read-statement"], 25)
    members: dict[str, Any] = {"code": "DVN-0422", "violations.#": 1, "violations.0.member": "rights"}
    app.call("agreement about loans", "POST", AGREEMENTS, 422, members, as_app=True, json=unknown)
    walk.step("customer's page", "GET", page, 200, PAGE | {"page": re.compile('name="userCode"')})
    fields = app.identify("customer says who he is", page, "asks to see these accounts of ")
    code = app.sign_agreement("customer signs for both accounts", page, fields, 2)
    app.change_code("token of the customer", code, agreement)
    members = {
        "result.agreementRef": agreement,
        "result.phase": "Active",
        "result.endsOn": app.day(25),
        "result.holder": str,
        "result.signingPage": None,
    }
    app.call("agreement is active", "GET", f"{AGREEMENTS}/{agreement}", 200, members)
    members = {
        "result.#": 2,
        "result.0.accountKey": re.compile(r"^[0-9a-f-]{36}$"),
        "result.0.iban": re.compile(r"^LV\d\dDVNA\d{13}$"),
        "result.1.iban": re.compile(r"^LV\d\dDVNA\d{13}$"),
        "result.0.currency": "EUR",
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members)
    account, iban = accounts.find("result.0.accountKey"), accounts.find("result.0.iban")
    balance, entries = f"{ACCOUNTS}/{account}/balance", f"{ACCOUNTS}/{account}/entries"
    query = {"bookedFrom": app.day(-85), "bookedTill": app.day(-1), "limit": "4"}
    members = {
        "result.#": 4,
        "result.3.entryNo": int,
        "result.3.amount.currency": "EUR",
        "meta.paging.shown": 4,
        "meta.paging.hasMore": True,
        "meta.paging.after": str,
    }
    after = app.call("entries", "GET", entries, 200, members, params=query).find("meta.paging.after")
    members = {"result.#": 4, "result.0.amount.minor": int, "meta.paging.shown": 4}
    app.call("more entries", "GET", entries, 200, members, params={"after": str(after)})
    members = {"result.accountKey": account, "result.figures.0.minor": int, "result.figures.1.figure": "booked"}
    before = app.call("balance", "GET", balance, 200, members)
    free, booked = minor(before, "result.figures.0.minor"), minor(before, "result.figures.1.minor")

    sofa, rent = ("Vilniaus Baldai UAB", "LT121000011101001000"), ("Helmi Korhonen", "FI2112345600000785")
    wrong = app.order(iban, (sofa[0], "LT131000011101001000"), 31_575, "Dīvāns", "LDG-000902")
    app.refuse_order("mistyped IBAN", wrong, 422, "DVN-0422", {"violations.0.member": "payee.iban"})
    refused_order = app.order(iban, rent, 12_050, "Īre jūnijā", "LDG-000903")
    declined, declined_page = app.place("transfer to decline", refused_order)
    order = app.order(iban, sofa, 31_575, "Dīvāns", "LDG-000904")
    transfer, page = app.place("transfer", order)
    members = {"@Location": app.outcome(declined, refused_order, "refused")}
    walk.step("customer cancels the signing", "POST", declined_page, 302, members, data={"do": "cancel"})
    fields = app.identify("customer comes to sign the transfer", page, "315.75 EUR to Vilniaus Baldai UAB")
    app.sign("customer signs the transfer", page, fields, app.outcome(transfer, order, "signed"))
    app.follow("transfer is signed", transfer, "signed")
    app.follow("other transfer is refused", declined, "refused")
    wait(timedelta(seconds=50))
    app.follow("transfer is being sent", transfer, "sending")
    app.refuse_order("the same transfer again", order, 409, "DVN-2409", {"existing": transfer})
    wait(timedelta(minutes=6))
    members = {
        "result.transfer_no": transfer,
        "result.progress": "settled",
        "result.sum.minor": 31_575,
        "result.client_reference": "LDG-000904",
    }
    app.call("transfer is settled", "GET", f"{TRANSFERS}/{transfer}", 200, members, as_app=True)
    app.recall_too_late("recall it too late", transfer, "settled")
    members = {
        "result.#": 2,
        "result.0.amount.minor": 31_575,
        "result.0.bookedOn": app.day(0),
        "result.0.otherParty.name": "Vilniaus Baldai UAB",
        "result.0.otherParty.iban": "LT121000011101001000",
        "result.0.purpose": "Dīvāns",
        "result.1.amount.minor": 38,
        "result.1.purpose": "Komisija",
    }
    app.call("entries after", "GET", entries, 200, members, params={"bookedFrom": app.day(0)})
    members = {"result.figures.0.minor": free - 31_613, "result.figures.1.minor": booked - 31_613}
    app.call("balance after", "GET", balance, 200, members)
    wait(timedelta(minutes=55))
    app.call("token has expired", "GET", ACCOUNTS, 401, {"code": "DVN-0401", "@WWW-Authenticate": str})
    app.renew("new token of the customer", agreement)
    members = {"result.agreementRef": agreement, "result.phase": "Closed", "result.holder": str}
    app.call("agreement is closed", "PATCH", f"{AGREEMENTS}/{agreement}", 200, members, json={"phase": "Closed"})
    app.call("balance after its end", "GET", balance, 403, {"code": "DVN-1302", "phase": "Closed"})
    return walk.steps
