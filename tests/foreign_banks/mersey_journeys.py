"""Two journeys of the app Cormorant and its customers at Mersey."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://cormorant.example/from-mersey"
EVERYTHING = ["holdings", "figures", "lines"]
BASE = "/mersey/link/v4"
PERMITS, HOLDINGS, OUTGOINGS = f"{BASE}/permits", f"{BASE}/holdings", f"{BASE}/outgoings"
PERMIT, OUTGOING = r"MP\.\d{4}-[A-Z]{2}", "ogo-[a-z]{5}[0-9]{3}"
DATE = re.compile(r"^\d\d/\d\d/\d{4}$")
TIME = re.compile(r"^\d{8}T\d{6}Z$")
DOORWAY = re.compile("^/pier/[0-9]{8}[a-z]{10}$")
IBAN = re.compile(r"^GB\d\dMRSY\d{14}$")


def number(answer: Answer, place: str) -> int:
    """The whole number at this place, or 0."""
    value = answer.find(place)
    return int(value) if isinstance(value, int | float) else 0


class MerseyApp:
    def __init__(self, walk: Walk, who: str, secret: str) -> None:
        self.walk, self._who, self._secret = walk, who, secret

    def _name(self, word: str) -> str:
        return uuid5(NAMESPACE_URL, f"cormorant {self._who} {word}").hex

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).strftime("%d/%m/%Y")

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        *,
        permit: Any = None,
        without: str = "",
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        correlation = self._name(name)[:12]
        sent = {"Mersey-Key": "cormorant-8813", "Mersey-Correlation": correlation, **(headers or {})}
        if permit:
            sent["Mersey-Permit"] = str(permit)
        sent.pop(without, None)
        expected: dict[str, Any] = {"@Mersey-Correlation": correlation}
        if status >= 400:
            expected["correlation"] = correlation
        return self.walk.step(name, method, path, status, expected | dict(members or {}), headers=sent, **request)

    def refuse(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        kind: str,
        at: Any = None,
        more: Expected | None = None,
        **request: Any,
    ) -> None:
        members = {"snag.kind": kind, "snag.says": str, "snag.at": at, **(more or {})}
        self.call(name, method, path, status, members, **request)

    # Permits

    def wish(self, may: list[str], hours: int, dips: int) -> dict[str, Any]:
        return {"may": may, "hours": hours, "dips": dips, "comeBack": BACK}

    def ask(self, name: str, may: list[str], hours: int, dips: int) -> tuple[Any, Any]:
        """Return the permit and the customer's page."""
        members = {
            "permit": re.compile(f"^{PERMIT}$"),
            "standing": "raised",
            "may": may,
            "dips": dips,
            "raisedAt": TIME,
            "endsAt": (self.walk.now + timedelta(hours=hours)).strftime("%Y%m%dT%H%M%SZ"),
            "doorway": DOORWAY,
            "@Location": re.compile(f"^{PERMITS}/{PERMIT}$"),
        }
        answer = self.call(name, "POST", PERMITS, 201, members, json=self.wish(may, hours, dips))
        return answer.find("permit"), answer.find("doorway")

    def look(self, name: str, permit: Any, standing: str, members: Expected | None = None) -> None:
        expected = {"permit": permit, "standing": standing, **(members or {})}
        if standing != "raised":
            expected["doorway"] = None
        self.call(name, "GET", f"{PERMITS}/{permit}", 200, expected)

    def bar(self, name: str, permit: Any, standing: str) -> None:
        """Ask for holdings with a permit that is not live."""
        more = {"snag.standing": standing}
        place = "header:Mersey-Permit"
        self.refuse(name, "GET", HOLDINGS, 403, "permit-not-live", place, more, permit=permit)

    def hand_back(self, name: str, permit: Any) -> None:
        members = {"permit": permit, "standing": "handed-back", "doorway": None}
        self.call(name, "POST", f"{PERMITS}/{permit}/hand-back", 200, members)

    # The customer's page

    def choose(self, name: str, page: Any, what: str, ref: Any, choice: str) -> None:
        form = {"who": self._who, "secret": self._secret, "choice": choice}
        members = {"@Location": f"{BACK}?{what}={ref}&said={choice}"}
        self.walk.step(name, "POST", page, 303, members, data=form)

    def mistype(self, name: str, page: Any, secret: str) -> None:
        form = {"who": self._who, "secret": secret, "choice": "aye"}
        self.walk.step(name, "POST", page, 401, PAGE, data=form)

    # Holdings

    def holdings(self, name: str, permit: Any, left: int) -> Answer:
        members: dict[str, Any] = {
            "holder": str,
            "holdings.0.holding": re.compile("^h[a-z]{3}[0-9]{6}$"),
            "holdings.0.iban": IBAN,
            "holdings.0.nickname": str,
            "holdings.1.iban": IBAN,
            "@Mersey-Dips-Left": str(left),
        }
        return self.call(name, "GET", HOLDINGS, 200, members, permit=permit)

    def figures(self, name: str, permit: Any, holding: Any, left: int, members: Expected | None = None) -> Answer:
        expected: dict[str, Any] = {"holding": holding, "figures.booked": int, "figures.spendable": int}
        expected |= {"iban": IBAN, "struckAt": TIME, "@Mersey-Dips-Left": str(left), **(members or {})}
        return self.call(name, "GET", f"{HOLDINGS}/{holding}/figures", 200, expected, permit=permit)

    def lines(self, name: str, permit: Any, holding: Any, left: int, members: Expected, **query: Any) -> Answer:
        expected = {"holding": holding, "@Mersey-Dips-Left": str(left), **members}
        return self.call(name, "GET", f"{HOLDINGS}/{holding}/lines", 200, expected, permit=permit, params=query)

    # Outgoings

    def order(self, payer: Any, payee: tuple[str, str], pence: int, memo: str, goes_on: str = "") -> dict[str, Any]:
        body = {"from": payer, "to": {"iban": payee[0], "named": payee[1]}, "pence": pence, "memo": memo}
        return {**body, "comeBack": BACK} | ({"goesOn": goes_on} if goes_on else {})

    def once(self, word: str) -> dict[str, str]:
        return {"Once-Only": self._name(f"once {word}")[:20]}

    def draft(
        self, name: str, body: dict[str, Any], *, again: str = "", status: int = 202, members: Expected | None = None
    ) -> tuple[Any, Any]:
        """Return the outgoing and the customer's page. `again` is the name of the step whose key is sent again."""
        kind = "dated" if "goesOn" in body else "prompt"
        expected: dict[str, Any] = {
            "outgoing": re.compile(f"^{OUTGOING}$"),
            "kind": kind,
            "stage": "drafted",
            "from": body["from"],
            "to.iban": body["to"]["iban"],
            "to.named": body["to"]["named"],
            "pence": body["pence"],
            "memo": body["memo"],
            "goesOn": body.get("goesOn"),
            "draftedAt": TIME,
            "doorway": DOORWAY,
        }
        if status == 202:
            expected["@Location"] = re.compile(f"^{OUTGOINGS}/{OUTGOING}$")
        expected |= dict(members or {})
        headers = self.once(again or name)
        answer = self.call(name, "POST", f"{OUTGOINGS}/{kind}", status, expected, headers=headers, json=body)
        return answer.find("outgoing"), answer.find("doorway")

    def repeat(self, name: str, body: dict[str, Any], again: str, outgoing: Any) -> None:
        members = {"outgoing": outgoing, "@Mersey-Replayed": "yes"}
        self.draft(name, body, again=again, status=200, members=members)

    def reject(
        self,
        name: str,
        body: dict[str, Any],
        status: int,
        kind: str,
        at: str,
        more: Expected | None = None,
        *,
        again: str = "",
        without: str = "",
    ) -> None:
        path = f"{OUTGOINGS}/{'dated' if 'goesOn' in body else 'prompt'}"
        headers = self.once(again or name)
        self.refuse(name, "POST", path, status, kind, at, more, headers=headers, without=without, json=body)

    def follow(self, name: str, outgoing: Any, stage: str, members: Expected | None = None) -> None:
        expected = {"outgoing": outgoing, "stage": stage, "doorway": None, **(members or {})}
        self.call(name, "GET", f"{OUTGOINGS}/{outgoing}", 200, expected)

    def halt(self, name: str, outgoing: Any, why: str) -> None:
        members = {"outgoing": outgoing, "stage": "halted", "why": why, "doorway": None}
        self.call(name, "POST", f"{OUTGOINGS}/{outgoing}/halt", 200, members, json={"why": why})

    def halt_late(self, name: str, outgoing: Any, why: str, stage: str) -> None:
        path, more = f"{OUTGOINGS}/{outgoing}/halt", {"snag.stage": stage}
        self.refuse(name, "POST", path, 409, "stage-forbids", None, more, json={"why": why})


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = MerseyApp(walk, "harold.pye", "Tugboat-61")
    wish = app.wish(EVERYTHING, 200, 7)
    key = "header:Mersey-Key"
    app.refuse("permit of nobody", "POST", PERMITS, 401, "key-unknown", key, without="Mersey-Key", json=wish)
    cards = app.wish(["holdings", "cards"], 200, 7)
    app.refuse("permit for cards", "POST", PERMITS, 422, "entry-wrong", "body:may", json=cards)
    left_alone, _ = app.ask("permit that is left alone", ["holdings"], 24, 2)
    unwanted, page = app.ask("permit that is not wanted", ["holdings", "figures"], 48, 3)
    app.bar("holdings too early", unwanted, "raised")
    walk.step("customer's page", "GET", page, 200, PAGE)
    app.choose("customer says nay", page, "permit", unwanted, "nay")
    app.look("permit is turned down", unwanted, "turned-down")
    permit, page = app.ask("permit", EVERYTHING, 200, 7)
    app.mistype("customer mistypes the secret", page, "Tugboat-16")
    app.choose("customer says aye", page, "permit", permit, "aye")
    app.look("permit is live", permit, "live", {"holder": str, "may": EVERYTHING})
    holdings = app.holdings("holdings", permit, 6)
    holding, iban = holdings.find("holdings.0.holding"), holdings.find("holdings.0.iban")
    before = app.figures("figures", permit, holding, 5, {"iban": iban})
    booked, spendable = number(before, "figures.booked"), number(before, "figures.spendable")
    members: dict[str, Any] = {
        "lines.#": 4,
        "lines.0.line": re.compile("^L[0-9]{10}$"),
        "lines.0.on": DATE,
        "lines.0.pence": int,
        "lines.3.party": str,
        "left": int,
        "bookmark": re.compile("^bk[0-9]{9}$"),
    }
    lines = app.lines("lines", permit, holding, 4, members, since=app.day(-70), upto=app.day(-1), take="4")
    members |= {"left": number(lines, "left") - 4}
    app.lines("more lines", permit, holding, 3, members, bookmark=lines.find("bookmark"))
    nowhere = f"{HOLDINGS}/hxxx000000/figures"
    app.refuse("unknown holding", "GET", nowhere, 404, "no-such-holding", permit=permit)

    joiner, florist = ("GB33BUKB20201555555555", "Toxteth Joinery"), ("IE64IRCE92050112345678", "Fern and Thistle")
    typo = app.order(iban, ("GB33BUKB20201555555556", "Toxteth Joinery"), 15_240, "Shelves")
    app.reject("wrong IBAN", typo, 422, "iban-wrong", "body:to.iban")
    huge = app.order(iban, joiner, 1_000_001, "Shelves")
    app.reject("above the limit", huge, 422, "over-the-limit", "body:pence", {"snag.most": 1_000_000})
    much = app.order(iban, joiner, spendable + 50, "Shelves")
    app.reject("above the balance", much, 402, "short-of-funds", "body:pence")
    shelves = app.order(iban, joiner, 15_240, "Oak shelves")
    app.reject("without Once-Only", shelves, 400, "header-missing", "header:Once-Only", without="Once-Only")
    sent, page = app.draft("prompt outgoing", shelves)
    app.repeat("the same once more", shelves, "prompt outgoing", sent)
    other = app.order(iban, joiner, 15_300, "Oak shelves")
    app.reject("another body", other, 409, "once-only-clash", "header:Once-Only", again="prompt outgoing")
    app.choose("customer sends it", page, "outgoing", sent, "aye")
    app.follow("it is cleared", sent, "cleared", {"pence": 15_240})
    rest = spendable - 15_240
    held = {"figures.booked": booked, "figures.spendable": rest}
    app.figures("figures with the amount held", permit, holding, 2, held)
    wait(timedelta(minutes=2))
    app.follow("it is crossing", sent, "crossing")
    app.halt_late("too late to halt", sent, "Wrong shelves", "crossing")
    wait(timedelta(minutes=5))
    app.follow("it has landed", sent, "landed", {"landedAt": TIME})
    after = {"figures.booked": booked - 15_240, "figures.spendable": rest}
    app.figures("figures after", permit, holding, 1, after)
    members = {
        "lines.#": 1,
        "lines.0.on": app.day(0),
        "lines.0.pence": -15_240,
        "lines.0.party": "Toxteth Joinery",
        "lines.0.memo": "Oak shelves",
        "left": 0,
        "bookmark": None,
    }
    app.lines("lines after", permit, holding, 0, members, since=app.day(0))
    more = {"snag.dips": 7, "snag.renewsOn": app.day(1)}
    app.refuse("no dips left", "GET", HOLDINGS, 429, "dips-spent", None, more, permit=permit)

    roses, roses_page = app.draft("dated outgoing", app.order(iban, florist, 4_380, "Roses", app.day(2)))
    boat, boat_page = app.draft("dated one above the balance", app.order(iban, joiner, rest, "Boat", app.day(3)))
    tulips, _ = app.draft("dated one to halt", app.order(iban, florist, 2_900, "Tulips", app.day(4)))
    app.choose("customer sends roses", roses_page, "outgoing", roses, "aye")
    app.choose("customer sends for the boat", boat_page, "outgoing", boat, "aye")
    app.halt("halt the tulips", tulips, "Out of season")
    app.follow("roses are moored", roses, "moored", {"goesOn": app.day(2)})
    wait(3 * DAY)
    app.follow("roses have landed", roses, "landed", {"pence": 4_380, "landedAt": TIME})
    app.follow("boat is sunk", boat, "sunk", {"reason": "short-of-funds"})
    app.look("first permit has lapsed", left_alone, "lapsed")
    app.hand_back("hand the permit back", permit)
    app.bar("holdings after that", permit, "handed-back")
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = MerseyApp(walk, "winifred.oakes", "Lighthouse-09")
    key = "header:Mersey-Key"
    app.refuse("holdings of nobody", "GET", HOLDINGS, 401, "key-unknown", key, without="Mersey-Key")
    wide, page = app.ask("permit", EVERYTHING, 310, 5)
    brief, _ = app.ask("short permit", ["lines", "holdings"], 60, 4)
    app.choose("customer says aye", page, "permit", wide, "aye")
    app.bar("holdings with the short one", brief, "raised")
    holdings = app.holdings("holdings", wide, 4)
    holding, iban = holdings.find("holdings.1.holding"), holdings.find("holdings.1.iban")
    before = app.figures("figures of the second", wide, holding, 3, {"iban": iban})
    booked, spendable = number(before, "figures.booked"), number(before, "figures.spendable")

    sails, choir = ("NL91ABNA0417164300", "Zeilmakerij De Boer"), ("GB29NWBK60161331926819", "Aigburth Choir")
    dues = app.order(iban, choir, 3_625, "Dues for summer", app.day(5))
    dues_sent, dues_page = app.draft("dated outgoing", dues)
    robes, _ = app.draft("dated one to halt", app.order(iban, choir, 7_110, "Robes", app.day(8)))
    other = dues | {"pence": 3_652}
    app.reject("other dues", other, 409, "once-only-clash", "header:Once-Only", again="dated outgoing")
    app.repeat("dues once more", dues, "dated outgoing", dues_sent)
    walk.step("page of the dues", "GET", dues_page, 200, PAGE)
    app.mistype("customer mistypes the secret", dues_page, "Lighthouse-90")
    app.choose("customer sends dues", dues_page, "outgoing", dues_sent, "aye")
    app.follow("dues are moored", dues_sent, "moored", {"goesOn": app.day(5), "pence": 3_625})
    app.halt("halt the robes", robes, "They fit after all")
    app.reject("sail a penny above", app.order(iban, sails, spendable + 1, "Sail"), 402, "short-of-funds", "body:pence")
    jib = app.order(iban, sails, 88_450, "Jib and sheets")
    sent, page = app.draft("prompt outgoing", jib)
    app.reject("jib without Once-Only", jib, 400, "header-missing", "header:Once-Only", without="Once-Only")
    app.choose("customer sends for the jib", page, "outgoing", sent, "aye")
    held = {"figures.booked": booked, "figures.spendable": spendable - 88_450}
    app.figures("figures with the jib held", wide, holding, 2, held)
    wait(timedelta(minutes=3))
    app.follow("jib is crossing", sent, "crossing", {"memo": "Jib and sheets", "to.named": "Zeilmakerij De Boer"})
    wait(timedelta(minutes=30))
    app.follow("jib has landed", sent, "landed", {"landedAt": TIME})
    app.halt_late("too late to halt the jib", sent, "Too big", "landed")
    members: dict[str, Any] = {
        "lines.#": 1,
        "lines.0.on": app.day(0),
        "lines.0.pence": -88_450,
        "lines.0.party": "Zeilmakerij De Boer",
        "lines.0.memo": "Jib and sheets",
        "left": 0,
        "bookmark": None,
    }
    app.lines("lines of today", wide, holding, 1, members, since=app.day(0))
    members = {"lines.#": 7, "lines.6.pence": int, "lines.6.on": DATE, "left": int, "bookmark": re.compile("^bk")}
    lines = app.lines("lines", wide, holding, 0, members, since=app.day(-75), upto=app.day(-3), take="7")
    more = {"snag.dips": 5, "snag.renewsOn": app.day(1)}
    figures = f"{HOLDINGS}/{holding}/figures"
    app.refuse("no dips left", "GET", figures, 429, "dips-spent", None, more, permit=wide)
    typo = app.order(iban, ("NL91ABNA0417164301", "Zeilmakerij De Boer"), 5_000, "Rope", app.day(6))
    app.reject("wrong IBAN", typo, 422, "iban-wrong", "body:to.iban")
    rest = spendable - 88_450
    mast, page = app.draft("dated one above the balance", app.order(iban, sails, rest - 1_000, "Mast", app.day(7)))
    app.choose("customer sends for the mast", page, "outgoing", mast, "aye")
    wait(6 * DAY)
    app.follow("dues have landed", dues_sent, "landed", {"pence": 3_625})
    app.look("short permit has lapsed", brief, "lapsed")
    members |= {"left": number(lines, "left") - 7}
    app.lines("more lines", wide, holding, 4, members, bookmark=lines.find("bookmark"))
    wait(DAY)
    app.follow("mast is sunk", mast, "sunk", {"reason": "short-of-funds"})
    after = {"figures.booked": booked - 88_450 - 3_625, "figures.spendable": rest - 3_625}
    app.figures("figures after all", wide, holding, 4, after)
    app.refuse("lines of no holding", "GET", f"{HOLDINGS}/hzzz999999/lines", 404, "no-such-holding", permit=wide)
    unwanted, page = app.ask("permit that is not wanted", ["figures"], 12, 1)
    app.choose("customer says nay", page, "permit", unwanted, "nay")
    app.look("permit is turned down", unwanted, "turned-down")
    app.hand_back("hand the permit back", wide)
    app.bar("holdings after that", wide, "handed-back")
    return walk.steps
