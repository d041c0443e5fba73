"""Mersey, a bank in Liverpool: account access and payments in an interface of its own.

1. All is below `/mersey/link/v4`. Mersey-Key names the app, in place of a certificate (401). Mersey-Correlation (twelve
   signs, a to z and digits) is required and repeated in answers, for X-Request-ID.
2. Consents are permits (`MP.4821-KQ`), accounts are holdings, transactions are lines, payments are outgoings
   (`ogo-kwtbr204`).   3. Errors are `{"snag": {"kind", "says", "at"?}, "correlation"}`.
4. A permit says what the app `may` (holdings, figures, lines), for how many `hours` (1 to 2160, from when it is asked)
   and how many `dips` a day (1 to 20). Mersey-Dips-Left tells how many are left; then 429, until midnight in UTC.
5. Its `standing` is raised, live, turned-down, handed-back or lapsed. There is no DELETE: POST `…/hand-back` gives 200.
6. There are no authorisations as resources: permits and outgoings have a `doorway`, the customer's page, as long as it
   is open. Its form has `who`, `secret` and `choice` (aye or nay). It redirects with 303 to `comeBack`, which is in the
   body that asked; a wrong secret gives 401, a used page 410.   7. Mersey-Permit is for Consent-ID.
8. Amounts are whole pence, without a currency; what is spent is below 0.   9. Days are DD/MM/YYYY, times
   `20260615T120000Z`.   10. Figures are an object with `booked` and `spendable`.
11. Lines are a flat list, oldest first, from `since` (required, at most 90 days back) to `upto`. `take` is how many (1
   to 50). `left` tells how many follow, and `bookmark`, alone in the next query, leads to these.
12. Outgoings are `prompt` or `dated` (with `goesOn`, tomorrow to 30 days on), a path each for POST (202), one for all
   afterwards. Once-Only is required: the same once more gives 200 and Mersey-Replayed, another body 409.
13. The `stage` is drafted; then spurned (nay), or cleared and, after a minute, crossing and, after five, landed. A
   dated one is moored in place of this, and at 06:00 of its day landed, or sunk if the balance does not cover it.
14. POST `…/halt` with the reason `why` makes one halted that is drafted, cleared or moored; later 409.
15. A prompt one above the spendable balance gives 402. At most 10000 pounds (422).
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

BASE = "/mersey/link/v4"
PERMITS, HOLDINGS, OUTGOINGS = f"{BASE}/permits", f"{BASE}/holdings", f"{BASE}/outgoings"
MAY = ("holdings", "figures", "lines")
APPS = ("cormorant-8813", "razorbill-2047")
MOST_HOURS, MOST_DIPS, MOST_PENCE, MOST_AHEAD, MOST_BACK = 2160, 20, 1_000_000, 30, 90
CONSONANTS = "bcdfghjklmnpqrstvwxz"
SHOPS = ("Bold Street Books", "Wirral Gas", "Pier Head Coffee", "Lark Lane Grocer", "Merseyrail", "Sefton Gardens")
PAYERS = ("Albion Ropeworks Ltd", "Revenue and Customs", "Edith Quayle")
SAYS = {
    "beyond-permit": "The permit does not reach this far.",
    "body-unreadable": "The body is not a JSON object.",
    "dips-spent": "The permit has no dips left today.",
    "entry-wrong": "A member is missing or cannot be used.",
    "header-missing": "A required header is missing.",
    "header-wrong": "A header cannot be read.",
    "iban-wrong": "This is not an IBAN.",
    "key-unknown": "We do not know this app.",
    "no-such-bookmark": "We do not know this bookmark.",
    "no-such-holding": "We do not know this holding.",
    "no-such-outgoing": "We do not know this outgoing.",
    "no-such-path": "Nothing is here.",
    "no-such-permit": "We do not know this permit.",
    "once-only-clash": "This key came with another body before.",
    "over-the-limit": "This is more than we allow.",
    "permit-not-live": "The permit is not live.",
    "query-wrong": "A parameter is missing or cannot be used.",
    "short-of-funds": "The holding does not cover this.",
    "stage-forbids": "It is too late for this.",
    "standing-forbids": "The permit is over already.",
    "verb-not-allowed": "This verb is of no use here.",
}


@dataclass
class Holding:
    ref: str
    iban: str
    nickname: str
    pence: int
    lines: list[tuple[date, dict[str, Any]]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    who: str
    secret: str
    name: str
    holdings: Sequence[Holding]


@dataclass
class Permit:
    ref: str
    app: str
    may: list[str]
    dips: int
    back: str
    word: str
    raised: datetime
    ends: datetime
    standing: str = "raised"
    customer: Customer | None = None
    spent: dict[date, int] = field(default_factory=dict)


@dataclass
class Outgoing:
    ref: str
    app: str
    kind: str
    document: dict[str, Any]
    payer: Holding
    back: str
    word: str
    drafted: datetime
    due: datetime | None = None
    stage: str = "drafted"
    cleared: datetime | None = None
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def pence(self) -> int:
        return int(self.document["pence"])


def check_digits(country: str, rest: str) -> str:
    digits = "".join(str(int(sign, 36)) for sign in rest + country + "00")
    return f"{98 - int(digits) % 97:02}"


def is_iban(text: Any) -> bool:
    if not isinstance(text, str) or not re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text):
        return False
    return check_digits(text[:2], text[4:]) == text[2:4]


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def write_day(day: date) -> str:
    return day.strftime("%d/%m/%Y")


def read_day(text: Any) -> date:
    """Raises ValueError if it is no day."""
    if not isinstance(text, str) or not re.fullmatch(r"\d\d/\d\d/\d{4}", text):
        raise ValueError("no day")
    return date(int(text[6:]), int(text[3:5]), int(text[:2]))


def write_time(moment: datetime) -> str:
    return moment.strftime("%Y%m%dT%H%M%SZ")


class Mersey:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"mersey {seed}")
        self._permits: dict[str, Permit] = {}
        self._outgoings: dict[str, Outgoing] = {}
        self._once: dict[tuple[str, str], tuple[str, dict[str, Any], Outgoing]] = {}
        self._doors: dict[str, Permit | Outgoing] = {}
        self._bookmarks: dict[str, tuple[Holding, date, date, int, int]] = {}
        first = [
            self._open("Everyday", "20718431059276", 268_417),
            self._open("Rainy Day", "20718431059284", 74_950),
        ]
        second = [
            self._open("Wages", "20719066620413", 143_208),
            self._open("Boat Club", "20719066620421", 391_776),
            self._open("Christmas", "20719066620439", 38_020),
        ]
        self._customers = [
            Customer("harold.pye", "Tugboat-61", "Harold Pye", first),
            Customer("winifred.oakes", "Lighthouse-09", "Winifred Oakes", second),
        ]
        permit, holding, outgoing = PERMITS + "/{ref}", HOLDINGS + "/{ref}", OUTGOINGS + "/{ref}"
        self._routes = Routes(
            ("POST", PERMITS, self._raise),
            ("GET", permit, lambda request, ref: self._tell_permit(request, 200, self._permit(request, ref))),
            ("POST", permit + "/hand-back", self._hand_back),
            ("GET", HOLDINGS, self._list_holdings),
            ("GET", holding + "/figures", self._figures),
            ("GET", holding + "/lines", self._list_lines),
            ("POST", OUTGOINGS + "/prompt", lambda request: self._draft(request, "prompt")),
            ("POST", OUTGOINGS + "/dated", lambda request: self._draft(request, "dated")),
            ("GET", outgoing, lambda request, ref: self._tell_outgoing(request, 200, self._outgoing(request, ref))),
            ("POST", outgoing + "/halt", self._halt),
        )
        self._customer_routes = Routes(("GET", "/pier/{word}", self._page), ("POST", "/pier/{word}", self._decide))

    def answer(self, request: Request) -> Response:
        self._advance()
        if request.path.startswith("/pier/"):
            try:
                handler, parameters = self._customer_routes.find(request.method, request.path)
                return handler(request, **parameters)
            except NoRoute:
                return show(404, "Mersey", "<p>There is no such page.</p>")
        correlation = request.headers.get("mersey-correlation", "")
        told = {"Mersey-Correlation": correlation} if correlation else {}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            self._check(request)
            return handler(request, **parameters)
        except NoRoute as wrong:
            fault = Fault(405, "verb-not-allowed") if wrong.allowed else Fault(404, "no-such-path")
        except Fault as error:
            fault = error
        snag: dict[str, Any] = {"kind": fault.word, "says": SAYS[fault.word]}
        if fault.place:
            snag["at"] = fault.place
        return respond(fault.status, {"snag": snag | fault.more, "correlation": correlation or None}, told)

    def _check(self, request: Request) -> None:
        if request.headers.get("mersey-key") not in APPS:
            raise Fault(401, "key-unknown", "header:Mersey-Key")
        if not (correlation := request.headers.get("mersey-correlation")):
            raise Fault(400, "header-missing", "header:Mersey-Correlation")
        if not re.fullmatch(r"[a-z0-9]{12}", correlation):
            raise Fault(400, "header-wrong", "header:Mersey-Correlation")

    # Ids, holdings and time

    def _letters(self, count: int) -> str:
        return "".join(self._random.choice(CONSONANTS) for _ in range(count))

    def _word(self) -> str:
        return f"{self._random.randrange(10**8):08}{self._letters(10)}"

    def _open(self, nickname: str, number: str, pence: int) -> Holding:
        rest = f"MRSY{number}"
        ref = f"h{self._letters(3)}{self._random.randrange(10**6):06}"
        holding = Holding(ref, f"GB{check_digits('GB', rest)}{rest}", nickname, pence)
        for days in sorted(self._random.sample(range(1, 80), 40), reverse=True):
            spent = self._random.random() < 0.7
            party = self._random.choice(SHOPS if spent else PAYERS)
            amount = self._random.randrange(150, 8_500)
            day = self.clock.today - timedelta(days=days)
            self._enter(holding, day, -amount if spent else amount, party, "Card" if spent else "Received")
        return holding

    def _enter(self, holding: Holding, day: date, pence: int, party: str, memo: str) -> None:
        line = {"line": f"L{self._random.randrange(10**10):010}", "on": write_day(day), "pence": pence}
        holding.lines.append((day, {**line, "party": party, "memo": memo}))

    def _spendable(self, holding: Holding) -> int:
        held = [one for one in self._outgoings.values() if one.stage in ("cleared", "crossing")]
        return holding.pence - sum(one.pence for one in held if one.payer is holding)

    def _next(self, one: Outgoing) -> tuple[datetime, str] | None:
        if one.stage == "cleared" and one.cleared:
            return one.cleared + timedelta(minutes=1), "crossing"
        if one.stage == "crossing" and one.cleared:
            return one.cleared + timedelta(minutes=5), "landed"
        if one.stage == "moored" and one.due:
            return one.due, "landed"
        return None

    def _advance(self) -> None:
        now = self.clock.now
        for permit in self._permits.values():
            if permit.standing in ("raised", "live") and permit.ends <= now:
                permit.standing = "lapsed"
        while True:
            coming = [(*step, one) for one in self._outgoings.values() if (step := self._next(one)) and step[0] <= now]
            if not coming:
                return
            moment, stage, one = min(coming, key=lambda step: step[0])
            if one.stage == "moored" and one.pence > self._spendable(one.payer):
                self._sink(one)
                continue
            one.stage = stage
            if stage == "landed":
                one.payer.pence -= one.pence
                one.more["landedAt"] = write_time(moment)
                self._enter(one.payer, moment.date(), -one.pence, one.document["to"]["named"], one.document["memo"])

    def _sink(self, one: Outgoing) -> None:
        one.stage = "sunk"
        one.more["reason"] = "short-of-funds"

    # What all answers and bodies share

    def _tell(self, request: Request, status: int, document: Any, headers: Mapping[str, str] | None = None) -> Response:
        return respond(
            status, document, {"Mersey-Correlation": request.headers["mersey-correlation"], **(headers or {})}
        )

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "body-unreadable") from None

    def _back(self, body: Mapping[str, Any]) -> str:
        back = body.get("comeBack")
        if not isinstance(back, str) or not back.startswith("https://"):
            raise Fault(422, "entry-wrong", "body:comeBack")
        return back

    # Permits

    def _raise(self, request: Request) -> Response:
        body = self._body(request)
        may = body.get("may")
        if not isinstance(may, list) or not may or not all(one in MAY for one in may):
            raise Fault(422, "entry-wrong", "body:may")
        for name, most in (("hours", MOST_HOURS), ("dips", MOST_DIPS)):
            if not is_whole(body.get(name)):
                raise Fault(422, "entry-wrong", f"body:{name}")
            if body[name] > most:
                raise Fault(422, "over-the-limit", f"body:{name}", most=most)
        back, now = self._back(body), self.clock.now
        ref = f"MP.{self._random.randrange(10_000):04}-{self._letters(2).upper()}"
        ends = now + timedelta(hours=body["hours"])
        permit = Permit(ref, request.headers["mersey-key"], may, body["dips"], back, self._word(), now, ends)
        self._permits[ref] = permit
        self._doors[permit.word] = permit
        return self._tell_permit(request, 201, permit)

    def _permit(self, request: Request, ref: str) -> Permit:
        permit = self._permits.get(ref)
        if not permit or permit.app != request.headers["mersey-key"]:
            raise Fault(404, "no-such-permit")
        return permit

    def _tell_permit(self, request: Request, status: int, permit: Permit) -> Response:
        document: dict[str, Any] = {"permit": permit.ref, "standing": permit.standing, "may": permit.may}
        document |= {"dips": permit.dips, "raisedAt": write_time(permit.raised), "endsAt": write_time(permit.ends)}
        if permit.customer:
            document["holder"] = permit.customer.name
        if permit.standing == "raised":
            document["doorway"] = f"/pier/{permit.word}"
        return self._tell(request, status, document, {"Location": f"{PERMITS}/{permit.ref}"} if status == 201 else {})

    def _hand_back(self, request: Request, ref: str) -> Response:
        permit = self._permit(request, ref)
        if permit.standing not in ("raised", "live"):
            raise Fault(409, "standing-forbids", standing=permit.standing)
        permit.standing = "handed-back"
        return self._tell_permit(request, 200, permit)

    # Holdings

    def _reach(self, request: Request, what: str) -> tuple[Permit, Sequence[Holding]]:
        if not (ref := request.headers.get("mersey-permit")):
            raise Fault(400, "header-missing", "header:Mersey-Permit")
        permit = self._permit(request, ref)
        if permit.standing != "live" or not permit.customer:
            raise Fault(403, "permit-not-live", "header:Mersey-Permit", standing=permit.standing)
        if what not in permit.may:
            raise Fault(403, "beyond-permit", "header:Mersey-Permit")
        return permit, permit.customer.holdings

    def _find(self, request: Request, ref: str, what: str) -> tuple[Permit, Holding]:
        permit, holdings = self._reach(request, what)
        for holding in holdings:
            if holding.ref == ref:
                return permit, holding
        raise Fault(404, "no-such-holding")

    def _dip(self, permit: Permit) -> dict[str, str]:
        today = self.clock.today
        spent = permit.spent.get(today, 0)
        if spent >= permit.dips:
            raise Fault(429, "dips-spent", dips=permit.dips, renewsOn=write_day(today + timedelta(days=1)))
        permit.spent[today] = spent + 1
        return {"Mersey-Dips-Left": str(permit.dips - spent - 1)}

    def _list_holdings(self, request: Request) -> Response:
        permit, holdings = self._reach(request, "holdings")
        left = self._dip(permit)
        rows = [{"holding": one.ref, "iban": one.iban, "nickname": one.nickname} for one in holdings]
        holder = permit.customer.name if permit.customer else ""
        return self._tell(request, 200, {"holder": holder, "holdings": rows}, left)

    def _figures(self, request: Request, ref: str) -> Response:
        permit, holding = self._find(request, ref, "figures")
        left = self._dip(permit)
        figures = {"booked": holding.pence, "spendable": self._spendable(holding)}
        document = {"holding": ref, "iban": holding.iban, "figures": figures, "struckAt": write_time(self.clock.now)}
        return self._tell(request, 200, document, left)

    def _list_lines(self, request: Request, ref: str) -> Response:
        permit, holding = self._find(request, ref, "lines")
        if mark := request.query.get("bookmark"):
            if mark not in self._bookmarks or self._bookmarks[mark][0] is not holding:
                raise Fault(404, "no-such-bookmark", "query:bookmark")
            _, since, upto, take, begin = self._bookmarks[mark]
        else:
            since, upto, take = self._filter(request)
            begin = 0
        left = self._dip(permit)
        rows = [line for day, line in holding.lines if since <= day <= upto]
        shown = rows[begin : begin + take]
        document: dict[str, Any] = {"holding": ref, "lines": shown, "left": len(rows) - begin - len(shown)}
        if document["left"]:
            document["bookmark"] = f"bk{self._random.randrange(10**9):09}"
            self._bookmarks[document["bookmark"]] = holding, since, upto, take, begin + take
        return self._tell(request, 200, document, left)

    def _filter(self, request: Request) -> tuple[date, date, int]:
        today = self.clock.today
        days = {}
        for name, default in (("since", ""), ("upto", write_day(today))):
            try:
                days[name] = read_day(request.query.get(name, default))
            except ValueError:
                raise Fault(400, "query-wrong", f"query:{name}") from None
        if days["upto"] < days["since"]:
            raise Fault(400, "query-wrong", "query:upto")
        if days["since"] < today - timedelta(days=MOST_BACK):
            raise Fault(422, "over-the-limit", "query:since", most=MOST_BACK)
        take = request.query.get("take", "20")
        if not re.fullmatch(r"[0-9]{1,2}", take) or not 1 <= int(take) <= 50:
            raise Fault(400, "query-wrong", "query:take")
        return days["since"], days["upto"], int(take)

    # Outgoings

    def _draft(self, request: Request, kind: str) -> Response:
        app, body = request.headers["mersey-key"], self._body(request)
        if not (once := request.headers.get("once-only")):
            raise Fault(400, "header-missing", "header:Once-Only")
        if known := self._once.get((app, once)):
            if known[:2] != (kind, body):
                raise Fault(409, "once-only-clash", "header:Once-Only")
            return self._tell_outgoing(request, 200, known[2], {"Mersey-Replayed": "yes"})
        holdings = [one for customer in self._customers for one in customer.holdings]
        payer = next((one for one in holdings if one.iban == body.get("from")), None)
        if not payer:
            raise Fault(422, "entry-wrong", "body:from")
        to = body.get("to")
        if not isinstance(to, dict) or not isinstance(to.get("named"), str) or not to["named"]:
            raise Fault(422, "entry-wrong", "body:to.named")
        if not is_iban(to.get("iban")):
            raise Fault(422, "iban-wrong", "body:to.iban")
        if not is_whole(body.get("pence")):
            raise Fault(422, "entry-wrong", "body:pence")
        if not isinstance(body.get("memo"), str) or not 1 <= len(body["memo"]) <= 80:
            raise Fault(422, "entry-wrong", "body:memo")
        due = self._due(body) if kind == "dated" else None
        back = self._back(body)
        if body["pence"] > MOST_PENCE:
            raise Fault(422, "over-the-limit", "body:pence", most=MOST_PENCE)
        if kind == "prompt" and body["pence"] > self._spendable(payer):
            raise Fault(402, "short-of-funds", "body:pence")
        document = {"from": payer.iban, "to": {"iban": to["iban"], "named": to["named"]}, "pence": body["pence"]}
        document["memo"] = body["memo"]
        if due:
            document["goesOn"] = body["goesOn"]
        ref = f"ogo-{self._letters(5)}{self._random.randrange(1_000):03}"
        one = Outgoing(ref, app, kind, document, payer, back, self._word(), self.clock.now, due)
        self._outgoings[ref] = one
        self._doors[one.word] = one
        self._once[app, once] = kind, body, one
        return self._tell_outgoing(request, 202, one, {"Location": f"{OUTGOINGS}/{ref}"})

    def _due(self, body: Mapping[str, Any]) -> datetime:
        today = self.clock.today
        try:
            day = read_day(body.get("goesOn"))
        except ValueError:
            raise Fault(422, "entry-wrong", "body:goesOn") from None
        if day <= today:
            raise Fault(422, "entry-wrong", "body:goesOn")
        if day > today + timedelta(days=MOST_AHEAD):
            raise Fault(422, "over-the-limit", "body:goesOn", most=MOST_AHEAD)
        return datetime.combine(day, time(6), UTC)

    def _outgoing(self, request: Request, ref: str) -> Outgoing:
        one = self._outgoings.get(ref)
        if not one or one.app != request.headers["mersey-key"]:
            raise Fault(404, "no-such-outgoing")
        return one

    def _tell_outgoing(
        self, request: Request, status: int, one: Outgoing, headers: Mapping[str, str] | None = None
    ) -> Response:
        document = {"outgoing": one.ref, "kind": one.kind, "stage": one.stage, **one.document}
        document |= {"draftedAt": write_time(one.drafted), **one.more}
        if one.stage == "drafted":
            document["doorway"] = f"/pier/{one.word}"
        return self._tell(request, status, document, headers)

    def _halt(self, request: Request, ref: str) -> Response:
        one, why = self._outgoing(request, ref), self._body(request).get("why")
        if not isinstance(why, str) or not why:
            raise Fault(422, "entry-wrong", "body:why")
        if one.stage not in ("drafted", "cleared", "moored"):
            raise Fault(409, "stage-forbids", stage=one.stage)
        one.stage = "halted"
        one.more["why"] = why
        return self._tell_outgoing(request, 200, one)

    # The customer's page

    def _page(self, request: Request, word: str, hint: str = "", status: int = 200) -> Response:
        if not (thing := self._doors.get(word)):
            return show(404, "Mersey", "<p>There is no such page.</p>")
        if isinstance(thing, Permit):
            is_open, asked = thing.standing == "raised", f"Let the app see your {', '.join(thing.may)}?"
        else:
            is_open = thing.stage == "drafted"
            asked = f"Send {thing.pence // 100}.{thing.pence % 100:02} pounds to {thing.document['to']['named']}?"
        if not is_open:
            return show(410, "Mersey", "<p>This page has been used.</p>")
        fields = '<input name="who"><input name="secret" type="password">'
        buttons = "".join(f'<button name="choice" value="{word}">{word}</button>' for word in ("aye", "nay"))
        return show(status, "Mersey", f'<p>{hint}</p><p>{asked}</p><form method="post">{fields}{buttons}</form>')

    def _decide(self, request: Request, word: str) -> Response:
        page = self._page(request, word)
        if page.status != 200:
            return page
        thing, who, secret = self._doors[word], request.field("who"), request.field("secret")
        customer = next((one for one in self._customers if (one.who, one.secret) == (who, secret)), None)
        if not customer:
            return self._page(request, word, "We cannot let you in with this.", 401)
        if (choice := request.field("choice")) not in ("aye", "nay"):
            return self._page(request, word, "Aye or nay?", 400)
        if isinstance(thing, Permit):
            thing.standing, name = "live" if choice == "aye" else "turned-down", "permit"
            if choice == "aye":
                thing.customer = customer
        else:
            if thing.payer not in customer.holdings:
                return self._page(request, word, "This holding is not yours.", 403)
            name = "outgoing"
            if choice == "nay":
                thing.stage = "spurned"
            elif thing.kind == "dated":
                thing.stage = "moored"
            elif thing.pence > self._spendable(thing.payer):
                self._sink(thing)
            else:
                thing.stage, thing.cleared = "cleared", self.clock.now
        return Response(303, "", {"Location": f"{thing.back}?{name}={thing.ref}&said={choice}"})
