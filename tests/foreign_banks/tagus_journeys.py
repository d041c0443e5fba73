"""Two journeys of the app Ledgerline and its customers at Tagus."""

import re
from datetime import date, datetime, time, timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5
from zoneinfo import ZoneInfo

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

APP = ("ledgerline", "saudade-41")
BACK = "https://ledgerline.example/back/tagus"
LISBON = ZoneInfo("Europe/Lisbon")
GRANTS, TOKENS, ACCOUNTS = "/access/2.1/grants", "/access/2.1/tokens", "/access/2.1/accounts"
TRANSFERS = "/money/1.4/transfers"
SIGN = re.compile(r"^https?://[^/]+/sign/\w{22}$")
TRACE = re.compile(r"^[0-9a-f]{16}$")
STALE = {"@WWW-Authenticate": re.compile("^Bearer ")}
WRONG_PIN = "0000"


def cents(answer: Answer, place: str) -> int:
    """The number at this place, or 0."""
    value = answer.find(place)
    return value if isinstance(value, int) else 0


def page_of(answer: Answer) -> str:
    """The path of the page where the customer signs: the bank is reached by the client's own base URL."""
    return re.sub(r"^https?://[^/]+", "", str(answer.find("doors.sign")))


class TagusApp:
    def __init__(self, walk: Walk, customer: str, pin: str) -> None:
        self.walk, self._customer, self._pin = walk, customer, pin
        self._bearer: Any = None
        self._renewal: Any = None

    def name(self, word: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"tagus {self._customer} {word}"))

    def day(self, days: int) -> str:
        return (self.walk.now.astimezone(LISBON) + days * DAY).date().isoformat()

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
        sent = dict(headers or {})
        if path.startswith((GRANTS, TOKENS)):
            request["auth"] = APP
        elif self._bearer:
            sent["Authorization"] = f"Bearer {self._bearer}"
        expected = {"@Tagus-Trace": TRACE, **({"served.trace": TRACE} if status < 400 else {}), **members}
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def fail(
        self, name: str, method: str, path: str, status: int, word: str, members: Expected | None = None, **request: Any
    ) -> None:
        expected = {
            "@Content-Type": "application/problem+json",
            "type": f"urn:tagus:problem:{word}",
            "status": status,
            "instance": re.compile(r"^urn:tagus:trace:[0-9a-f]{16}$"),
        }
        self.call(name, method, path, status, expected | dict(members or {}), **request)

    def propose(self, name: str, may: list[str], days: int) -> tuple[Any, str]:
        """Return the grant's reference and the path of its page."""
        members = {
            "content.grantRef": re.compile(r"^G[0-9A-Z]{3}(-[0-9A-Z]{4}){2}$"),
            "content.phase": "PROPOSED",
            "content.may": may,
            "doors.sign": SIGN,
            "@Location": re.compile(f"^{GRANTS}/G"),
        }
        wish = {"may": may, "lastsDays": days, "state": self.name("grant state")}
        made = self.call(name, "POST", GRANTS, 201, members, json=wish)
        return made.find("content.grantRef"), page_of(made)

    def mistype(self, name: str, page: str) -> None:
        form = {"customer": self._customer, "pin": WRONG_PIN, "choice": "enter"}
        members = PAGE | {"page": re.compile('number and PIN do not match.*name="pin"')}
        self.walk.step(name, "POST", page, 200, members, data=form)

    def enter(self, name: str, page: str) -> dict[str, list[str]]:
        """Return the fields of the form that lets the customer pick accounts."""
        form = {"customer": self._customer, "pin": self._pin, "choice": "enter"}
        members = PAGE | {"page": re.compile('name="session".*name="pick"')}
        return self.walk.step(name, "POST", page, 200, members, data=form).fields

    def agree(self, name: str, page: str, session: list[str], picks: list[str]) -> str:
        """Return the code."""
        form = {"session": "".join(session), "pick": picks, "choice": "agree"}
        return self._come_back(name, page, form, self.name("grant state"))

    def _come_back(self, name: str, page: str, form: dict[str, Any], state: str) -> str:
        members = {"@Location": re.compile(f"^{re.escape(BACK)}\\?code=\\w{{28}}&state={state}$")}
        location = self.walk.step(name, "POST", page, 302, members, data=form).find("@Location")
        code = re.search(r"[?&]code=([^&]+)", str(location))
        return code[1] if code else ""

    def trade(self, name: str, grant: Any, code: str | None = None) -> None:
        """Trade a code, or the renewal that came last, for a bearer token."""
        proof = {"use": "CODE", "code": code} if code is not None else {"use": "RENEW", "renewal": self._renewal}
        members = {
            "content.bearer": str,
            "content.renewal": str,
            "content.secondsLeft": 900,
            "content.grantRef": grant,
            "@Cache-Control": "no-store",
        }
        answer = self.call(name, "POST", TOKENS, 200, members, json=proof)
        self._bearer, self._renewal = answer.find("content.bearer"), answer.find("content.renewal")

    def look(self, name: str, grant: Any, picked: int, days: int) -> None:
        """See that the grant is active until the end of a day."""
        ends = datetime.combine(date.fromisoformat(self.day(days)), time(23, 59, 59), LISBON).isoformat()
        members = {"content.grantRef": grant, "content.phase": "ACTIVE", "content.picked": picked}
        members |= {"content.endsAt": ends, "doors": None}
        self.call(name, "GET", f"{GRANTS}/{grant}", 200, members)

    def end(self, name: str, grant: Any) -> None:
        members = {"content.grantRef": grant, "content.phase": "ENDED", "doors": None}
        self.call(name, "DELETE", f"{GRANTS}/{grant}", 200, members)

    def funds(self, name: str, path: str, expected: Expected) -> Answer:
        kinds = {"content.#": 3, "content.0.what": "BOOKED", "content.1.what": "HELD", "content.2.what": "USABLE"}
        return self.call(name, "GET", path, 200, {**kinds, "content.0.ccy": "EUR", **expected})

    def moves(self, name: str, path: str, side: str, count: int, query: dict[str, str]) -> Answer:
        members = {
            "content.#": count,
            "content.0.side": side,
            "content.0.cents": int,
            "content.1.moveNo": int,
            "content.1.side": side,
            "content.1.bookedOn": re.compile(r"^\d{4}-\d\d-\d\d$"),
            "content.1.runningCents": int,
            "window.count": count,
            "window.more": True,
            "window.after": str,
        }
        return self.call(name, "GET", path, 200, members, params=query)

    def transfer(self, word: str, payer: Any, payee: tuple[str, str], amount: int, **more: str) -> dict[str, Any]:
        """A request for a transfer; `more` has the note and the speed."""
        told = {"appRef": self.name(word), "fromAccount": payer, "payee": {"iban": payee[0], "name": payee[1]}}
        return told | {"cents": amount, "state": self.name(f"{word} state"), **more}

    def prepare(self, name: str, wish: dict[str, Any], fee: int) -> tuple[Any, str, str]:
        """Return the transfer's reference, the path of its page and its ETag."""
        members = {f"content.{word}": wish[word] for word in ("appRef", "fromAccount", "cents", "note", "speed")}
        members |= {
            "content.transferRef": re.compile(r"^T\d{12}$"),
            "content.progress": "PREPARED",
            "content.feeCents": fee,
            "content.payee.name": wish["payee"]["name"],
            "content.payee.ibanEnd": wish["payee"]["iban"][-4:],
            "content.payee.iban": None,
            "doors.sign": SIGN,
            "doors.withdraw": re.compile(f"^{TRANSFERS}/T"),
            "@ETag": '"1"',
        }
        made = self.call(name, "POST", TRANSFERS, 201, members, json=wish)
        return made.find("content.transferRef"), page_of(made), str(made.find("@ETag"))

    def sign(self, name: str, page: str, wish: dict[str, Any]) -> str:
        """Return the code."""
        return self._come_back(name, page, {"pin": self._pin, "choice": "sign"}, wish["state"])

    def release(self, name: str, transfer: Any, code: str, progress: str, reason: str | None = None) -> None:
        members = {"content.transferRef": transfer, "content.progress": progress, "content.reason": reason}
        members |= {"@ETag": '"3"', "doors.withdraw": f"{TRANSFERS}/{transfer}" if progress == "QUEUED" else None}
        self.call(name, "POST", f"{TRANSFERS}/{transfer}/release", 202, members, json={"code": code})

    def follow(self, name: str, transfer: Any, progress: str, etag: str) -> None:
        members = {"content.transferRef": transfer, "content.progress": progress, "@ETag": etag, "doors": None}
        self.call(name, "GET", f"{TRANSFERS}/{transfer}", 200, members)

    def withdraw(self, name: str, transfer: Any, etag: str) -> None:
        members = {"content.transferRef": transfer, "content.progress": "WITHDRAWN", "@ETag": '"2"', "doors": None}
        self.call(name, "DELETE", f"{TRANSFERS}/{transfer}", 200, members, headers={"If-Match": etag})


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = TagusApp(walk, "3004417", "4826")
    grant, page = app.propose("grant", ["LOOK", "FUNDS", "MOVES", "PAY"], 12)
    walk.step("page to sign", "GET", page, 200, PAGE | {"page": re.compile('ledgerline asks to.*name="customer"')})
    app.mistype("customer mistypes the PIN", page)
    fields = app.enter("customer signs in", page)
    code = app.agree("customer picks both accounts", page, fields.get("session", []), fields.get("pick", []))
    app.trade("token", grant, code)
    app.look("grant is active", grant, 2, 12)
    members: dict[str, Any] = {
        "content.#": 2,
        "content.0.handle": re.compile(r"^[0-9a-f]{16}$"),
        "content.0.iban": re.compile(r"^PT50\d{21}$"),
        "content.0.label": "Daily",
        "content.0.sort": "GIRO",
        "content.1.sort": "POT",
        "window.count": 2,
        "window.more": False,
    }
    handle = app.call("accounts", "GET", ACCOUNTS, 200, members).find("content.0.handle")
    funds, moves = f"{ACCOUNTS}/{handle}/funds", f"{ACCOUNTS}/{handle}/moves"
    before = app.funds("funds", funds, {"content.0.cents": int, "content.1.cents": 0, "content.2.cents": int})
    booked, usable = cents(before, "content.0.cents"), cents(before, "content.2.cents")
    query = {"since": app.day(-150), "side": "OUT", "limit": "4"}
    page_one = app.moves("moves", moves, "OUT", 4, query)
    app.moves("more moves", moves, "OUT", 4, {"after": str(page_one.find("window.after"))})

    landlord = ("DE89370400440532013000", "Ines Valadares")
    rent = app.transfer("rent", handle, landlord, 64_250, note="Renda junho", speed="SAME_DAY")
    wrong = rent | {"payee": {"iban": "DE98370400440532013000", "name": "Ines Valadares"}}
    faults = {"faults.#": 1, "faults.0": "payee.iban"}
    app.fail("transfer to a mistyped IBAN", "POST", TRANSFERS, 422, "members-wrong", faults, json=wrong)
    paid, page, _ = app.prepare("transfer", rent, 120)
    other = rent | {"cents": 65_000}
    app.fail("its appRef again", "POST", TRANSFERS, 409, "ref-taken", {"existing": paid}, json=other)
    code = app.sign("customer signs the transfer", page, rent)
    app.release("release it", paid, code, "QUEUED")
    members = {"content.0.cents": booked, "content.1.cents": 64_370, "content.2.cents": usable - 64_370}
    app.funds("funds with the transfer held", funds, members)
    wait(timedelta(minutes=7))
    app.follow("transfer is sent", paid, "SENT", '"4"')
    wait(timedelta(minutes=25))
    app.fail("token is too old", "GET", f"{TRANSFERS}/{paid}", 401, "token-unusable", STALE)
    app.trade("renewed token", grant)
    app.follow("transfer is settled", paid, "SETTLED", '"5"')
    members = {
        "content.#": 2,
        "content.0.side": "OUT",
        "content.0.cents": 64_250,
        "content.0.bookedOn": app.day(0),
        "content.0.runningCents": booked - 64_250,
        "content.0.text": "TRF TO INES VALADARES",
        "content.0.note": "Renda junho",
        "content.1.cents": 120,
        "content.1.runningCents": booked - 64_370,
        "content.1.text": "TRF FEE",
        "window.more": False,
        "window.after": None,
    }
    app.call("moves of today", "GET", moves, 200, members, params={"since": app.day(0)})
    earliest = {"earliest": app.day(-90)}
    app.fail("moves too far back", "GET", moves, 403, "too-far-back", earliest, params={"since": app.day(-150)})

    club = ("NL91ABNA0417164300", "Regatta Club")
    boat = app.transfer("boat", handle, club, 9_500_000, note="Boat share", speed="SAME_DAY")
    away, page, _ = app.prepare("transfer without cover", boat, 120)
    code = app.sign("customer signs that too", page, boat)
    app.release("release without cover", away, code, "TURNED_AWAY", "NO_COVER")
    fees = app.transfer("fees", handle, club, 8_000, note="Fees", speed="NEXT_DAY")
    dropped, _, etag = app.prepare("transfer to withdraw", fees, 0)
    app.fail("withdraw without its version", "DELETE", f"{TRANSFERS}/{dropped}", 428, "version-missing")
    app.withdraw("withdraw", dropped, etag)
    app.end("end the grant", grant)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = TagusApp(walk, "3019582", "7391")
    grant, page = app.propose("grant", ["PAY", "LOOK", "MOVES", "FUNDS"], 20)
    walk.step("page to sign", "GET", page, 200, PAGE | {"page": re.compile('ledgerline asks to.*name="customer"')})
    app.mistype("customer mistypes the PIN", page)
    fields = app.enter("customer signs in", page)
    picks = fields.get("pick", [])[1:2]
    code = app.agree("customer picks the second account", page, fields.get("session", []), picks)
    app.trade("token", grant, code)
    app.look("grant is active", grant, 1, 20)
    members: dict[str, Any] = {
        "content.#": 1,
        "content.0.handle": re.compile(r"^[0-9a-f]{16}$"),
        "content.0.iban": "".join(picks),
        "content.0.label": str,
        "content.0.ccy": "EUR",
        "window.count": 1,
        "window.more": False,
    }
    handle = app.call("accounts", "GET", ACCOUNTS, 200, members).find("content.0.handle")
    funds, moves = f"{ACCOUNTS}/{handle}/funds", f"{ACCOUNTS}/{handle}/moves"
    query = {"since": app.day(-130), "until": app.day(-5), "side": "IN", "limit": "2"}
    page_one = app.moves("moves", moves, "IN", 2, query)
    app.moves("more moves", moves, "IN", 2, {"after": str(page_one.find("window.after"))})
    before = app.funds("funds", funds, {"content.0.cents": int, "content.1.cents": 0, "content.2.cents": int})
    booked, usable = cents(before, "content.0.cents"), cents(before, "content.2.cents")

    piano = ("ES9121000418450200051332", "Rui Falcao")
    lessons = app.transfer("lessons", handle, piano, 11_935, note="Piano, ten lessons", speed="SAME_DAY")
    wrong = lessons | {"payee": {"iban": "ES9121000418450200051323", "name": "Rui Falcao"}}
    faults = {"faults.#": 1, "faults.0": "payee.iban"}
    app.fail("transfer to a mistyped IBAN", "POST", TRANSFERS, 422, "members-wrong", faults, json=wrong)
    paid, page, _ = app.prepare("transfer", lessons, 120)
    other = lessons | {"note": "Piano"}
    app.fail("its appRef again", "POST", TRANSFERS, 409, "ref-taken", {"existing": paid}, json=other)
    code = app.sign("customer signs the transfer", page, lessons)
    app.release("release it", paid, code, "QUEUED")
    members = {"content.0.cents": booked, "content.1.cents": 12_055, "content.2.cents": usable - 12_055}
    app.funds("funds with the transfer held", funds, members)
    wait(timedelta(minutes=9))
    app.follow("transfer is sent", paid, "SENT", '"4"')
    wait(timedelta(minutes=31))
    app.fail("token is too old", "GET", f"{TRANSFERS}/{paid}", 401, "token-unusable", STALE)
    app.trade("renewed token", grant)
    app.follow("transfer is settled", paid, "SETTLED", '"5"')
    members = {
        "content.#": 2,
        "content.0.side": "OUT",
        "content.0.cents": 11_935,
        "content.0.bookedOn": app.day(0),
        "content.0.runningCents": booked - 11_935,
        "content.0.text": "TRF TO RUI FALCAO",
        "content.0.note": "Piano, ten lessons",
        "content.1.cents": 120,
        "content.1.runningCents": booked - 12_055,
        "content.1.text": "TRF FEE",
        "window.more": False,
        "window.after": None,
    }
    app.call("moves of today", "GET", moves, 200, members, params={"since": app.day(0)})
    earliest = {"earliest": app.day(-90)}
    app.fail("moves too far back", "GET", moves, 403, "too-far-back", earliest, params={"since": app.day(-120)})

    printer = ("FR1420041010050500013M02606", "Atelier Moreau")
    posters = app.transfer("posters", handle, printer, 4_310, note="Posters", speed="NEXT_DAY")
    dropped, _, etag = app.prepare("transfer to withdraw", posters, 0)
    app.fail("withdraw without its version", "DELETE", f"{TRANSFERS}/{dropped}", 428, "version-missing")
    app.withdraw("withdraw", dropped, etag)
    much = usable - 12_055 + 1
    press = app.transfer("press", handle, printer, much, note="Press", speed="NEXT_DAY")
    away, page, _ = app.prepare("transfer a cent above the cover", press, 0)
    code = app.sign("customer signs that too", page, press)
    app.release("release without cover", away, code, "TURNED_AWAY", "NO_COVER")
    app.end("end the grant", grant)
    return walk.steps
