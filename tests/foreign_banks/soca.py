"""Soca, a small Slovenian bank with an interface of its own: mandates, pots, ledgers, moves and challenges.

- An app sends `Authorization: Basic` with its name and secret. To read pots it sends `Authorization: Pass`, with a
  token from POST `/mandates/{id}/passes`, for half an hour. A pass dies with its mandate (401).
- Answers are bare objects that tell their `object`. What has a life has `state`: a `word`, `since` and, if it was
  ended by somebody, `because`. Each answer has a Soca-Trace. Errors are application/problem+json with the same trace.
- Mandates, moves and pots have a `rev` that each change raises, those by time too; the ETag is `"r<rev>"`. A read with
  If-None-Match may give 304. PATCH takes merge patches only (415), with If-Match (428 without, 412 if it is stale).
- POST of mandates and moves needs an Idempotency-Key: repeated it gives 200 and the thing as it now is, with
  `Soca-Replay: yes`, and 422 for another body.
- A mandate says for which customer, what to `see` and `until` when, the last day (at most 180 days ahead). It is asked,
  signing, live or refused, revoked (by PATCH of its state), ended. Without `money` in `see` a pot shows none.
- A challenge is `for` a mandate that is asked or a move that is a draft, by push or by code. It is sent, passed,
  refused, locked (by a third wrong code) or lapsed after five minutes: then the thing is as it was before. By push the
  customer decides at the phone, for which `/phone/{tag}/prompts` stands. The app polls meanwhile.
- Lists take `page`, a number from 1, and `per`. They tell `here`, `per`, the `last` page and `total`, newest first.
- A ledger goes from `since` (30 days ago unless told) to the day before `before`. What is older than 90 days is seen
  only in the 15 minutes after the mandate went live. Lines have unsigned money and a `way`, and what was `left` then.
- A move begins as a draft, which PATCH changes. Funds are looked at when it is challenged (402, and how much it is
  `short`). Signed, it is queued, after a minute moving, after ten done. Until it is moving, PATCH of its state makes it
  stopped. Queued and moving ones are held; a done one is in the ledger. No move can begin in a goal: it has no IBAN.
"""

import base64
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond

APPS = {"kupcek": ("plavalaguna", "Kupček"), "racunko": ("zlatorog", "Računko")}
SEES = ("pots", "money", "ledger")
PATCH = "application/merge-patch+json"
SHOPS = "Mlekarna Planika|Pekarna Brumat|Tolmin Energija|Kino Kobarid|Lekarna Bovec|Avrigo|Knjigarna Sova".split("|")
POTS = {
    "tinkara.kos": [("Main", "00417263", 284_615, 27), ("Trip to Bovec", "", 61_240, 9)],
    "rok.zupan": [("Main", "00582910", 731_908, 28), ("Household", "00582929", 118_455, 16), ("Bees", "", 40_000, 8)],
    "ajda.mlakar": [("Main", "00639457", 97_330, 20)],
}
PINS = {"tinkara.kos": "4471", "rok.zupan": "9035", "ajda.mlakar": "2816"}
CODES = {"tinkara.kos": "620914", "rok.zupan": "118273", "ajda.mlakar": "559302"}
PHONES = {"tinkara.kos": "*** *41", "rok.zupan": "*** *07", "ajda.mlakar": "*** *63"}
TITLES = {
    "header-wanted": "A header is missing",
    "history-locked": "What is older than 90 days can be seen only shortly after the customer agreed",
    "key-reused": "This idempotency key came with another body before",
    "mandate-not-live": "The mandate is not live",
    "not-enough": "There is not enough free money in the pot",
    "not-here": "We have nothing here",
    "not-in-mandate": "The mandate does not allow to see this",
    "not-you": "We do not know this app",
    "pass-dead": "The pass is missing, unknown or no longer good",
    "rev-stale": "It has changed since you saw it",
    "wrong-code": "That is not the right code",
    "wrong-media": "Send a merge patch",
    "wrong-members": "Some values cannot be right",
    "wrong-state": "Its state does not allow this",
    "wrong-verb": "That cannot be done here",
}
WORD_HEADERS = {
    "not-you": {"WWW-Authenticate": 'Basic realm="soca"'},
    "pass-dead": {"WWW-Authenticate": "Pass"},
    "wrong-media": {"Accept-Patch": PATCH},
}


@dataclass
class Pot:
    id: str
    name: str
    kind: str
    tag: str
    minor: int
    rev: int
    iban: str | None
    lines: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Living:
    """What has a state. `rev` counts its changes."""

    id: str
    word: str
    since: datetime
    because: str | None = field(default=None, init=False)
    rev: int = field(default=1, init=False)

    @property
    def state(self) -> dict[str, str]:
        state = {"word": self.word, "since": write_time(self.since)}
        return state | {"because": self.because} if self.because else state

    def turn(self, word: str, at: datetime, because: str | None = None) -> None:
        self.word, self.since, self.because, self.rev = word, at, because, self.rev + 1


@dataclass
class Thing(Living):
    """A mandate or a move, which a customer signs. A move has a pot."""

    app: str
    document: dict[str, Any]
    tag: str
    pot: Pot | None = None
    signed: datetime | None = None

    @property
    def object(self) -> str:
        return "move" if self.pot else "mandate"

    @property
    def shown(self) -> dict[str, Any]:
        return {"id": self.id, "object": self.object, "rev": self.rev, "state": self.state, **self.document}

    @property
    def fresh(self) -> str:
        return "draft" if self.pot else "asked"

    @property
    def says(self) -> str:
        if self.pot:
            whole, rest = divmod(self.minor, 100)
            money = f"{whole:,}".replace(",", ".") + f",{rest:02} €"
            return f"Send {money} to {self.document['to']['name']}?"
        until = date.fromisoformat(self.document["until"])
        see, day = ", ".join(self.document["see"]), f"{until.day}. {until.month}. {until.year}"
        return f"Let {APPS[self.app][1]} see {see} until {day}?"

    @property
    def minor(self) -> int:
        return int(self.document["money"]["minor"])


@dataclass
class Challenge(Living):
    thing: Thing
    channel: str
    prompt: str
    lapses: datetime
    left: int = 3


def is_iban(text: Any) -> bool:
    if not isinstance(text, str) or not re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text):
        return False
    return int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1


def is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= most


def read_day(text: Any) -> date | None:
    try:
        return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else None
    except (TypeError, ValueError):
        return None


def write_time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def euros(minor: int) -> dict[str, Any]:
    return {"minor": minor, "currency": "EUR"}


def merge(value: Any, patch: Any) -> Any:
    """What a JSON merge patch (RFC 7386) makes of a value."""
    if not isinstance(patch, dict):
        return patch
    kept = value if isinstance(value, dict) else {}
    merged = kept | {name: merge(kept.get(name), change) for name, change in patch.items()}
    return {name: part for name, part in merged.items() if part is not None}


def refuse(wrong: Mapping[str, str], status: int = 422, word: str = "wrong-members") -> Fault:
    return Fault(status, word, hints=[{"at": place, "say": rule} for place, rule in wrong.items()])


class Soca:
    def __init__(self, seed: int, clock: Clock) -> None:
        self.clock = clock
        self._random = random.Random(f"soca {seed}")
        self._things: dict[str, Thing] = {}
        self._challenges: dict[str, Challenge] = {}
        self._passes: dict[str, tuple[Thing, datetime]] = {}
        self._keys: dict[tuple[str, str, str], tuple[dict[str, Any], Thing]] = {}
        self._pots = {tag: [self._open(tag, *pot) for pot in pots] for tag, pots in POTS.items()}
        mandate, move, challenge, prompts = "/mandates/{id}", "/moves/{id}", "/challenges/{id}", "/phone/{tag}/prompts"
        self._routes = Routes(
            ("POST", "/mandates", lambda request: self._make(request, "mnd")),
            ("GET", mandate, lambda request, id: self._tell(request, self._thing(request, "mandate", id).shown)),
            ("PATCH", mandate, lambda request, id: self._stop(request, *self._match(request, "mandate", id))),
            ("POST", mandate + "/passes", self._give_pass),
            ("GET", "/pots", self._list_pots),
            ("GET", "/pots/{id}", self._pot),
            ("GET", "/pots/{id}/ledger", self._ledger),
            ("POST", "/moves", lambda request: self._make(request, "mov")),
            ("GET", "/moves", self._list_moves),
            ("GET", move, lambda request, id: self._tell(request, self._thing(request, "move", id).shown)),
            ("PATCH", move, self._change_move),
            ("POST", "/challenges", self._challenge),
            ("GET", challenge, lambda request, id: self._tell_challenge(200, self._find_challenge(request, id))),
            ("PATCH", challenge, self._type),
            ("GET", prompts, self._list_prompts),
            ("PUT", prompts + "/{id}", self._tap),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        told = {"Soca-Trace": self._word(16).lower()}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            response = handler(request, **parameters)
            return Response(response.status, response.content, {**told, **response.headers})
        except NoRoute as wrong:
            fault = Fault(405, "wrong-verb") if wrong.allowed else Fault(404, "not-here")
            told |= {"Allow": ", ".join(wrong.allowed)} if wrong.allowed else {}
        except Fault as raised:
            fault = raised
        told |= WORD_HEADERS.get(fault.word, {})
        document = {"type": f"urn:soca:{fault.word}", "title": TITLES[fault.word], "status": fault.status}
        document["trace"] = told["Soca-Trace"]
        return respond(fault.status, document | fault.more, told, media="application/problem+json")

    def _word(self, length: int) -> str:
        return "".join(self._random.choices("0123456789ABCDEFGHJKMNPQRSTVWXYZ", k=length))

    def _open(self, tag: str, name: str, number: str, minor: int, count: int) -> Pot:
        kind = "goal" if not number else "main" if name == "Main" else "shared"
        iban = f"SI5661000{number}{98 - int(f'61000{number}00') % 97:02}" if number else None
        pot = Pot(f"pot_{self._word(10)}", name, kind, tag, minor, self._random.randrange(40, 400), iban)
        days = [5 * place + self._random.randrange(1, 6) for place in range(count)]
        changes = [self._random.choice((-1, -1, 1)) * self._random.randrange(90, 9_000) for _ in days]
        pot.minor -= sum(changes)
        for day, change in zip(reversed(days), changes, strict=True):
            more = {"other": {"name": self._random.choice(SHOPS)}, "sort": "card" if change < 0 else "refund"}
            self._book(pot, self.clock.today - timedelta(days=day), change, more)
        return pot

    def _book(self, pot: Pot, day: date, minor: int, more: dict[str, Any]) -> None:
        pot.minor += minor
        line = {"id": f"lin_{self._word(12)}", "object": "line", "on": day.isoformat()}
        line["way"] = "in" if minor > 0 else "out"
        pot.lines.insert(0, {**line, "money": euros(abs(minor)), "left": euros(pot.minor), **more})

    def _advance(self) -> None:
        now = self.clock.now
        for challenge in self._challenges.values():
            if challenge.word == "sent" and challenge.lapses <= now:
                challenge.turn("lapsed", challenge.lapses)
                challenge.thing.turn(challenge.thing.fresh, challenge.lapses)
        for thing in self._things.values():
            if not thing.pot and thing.word in ("asked", "signing", "live"):
                day = date.fromisoformat(thing.document["until"]) + timedelta(days=1)
                if (ends := datetime.combine(day, time(), UTC)) <= now:
                    self._drop(thing, ends)
                    thing.turn("ended", ends)
            if thing.pot and thing.signed:
                self._carry(thing, thing.pot, thing.signed)

    def _drop(self, thing: Thing, at: datetime) -> None:
        for challenge in self._challenges.values():
            if challenge.thing is thing and challenge.word == "sent":
                challenge.turn("lapsed", at)

    def _carry(self, move: Thing, pot: Pot, signed: datetime) -> None:
        if move.word == "queued" and signed + timedelta(minutes=1) <= self.clock.now:
            move.turn("moving", signed + timedelta(minutes=1))
        end = signed + timedelta(minutes=10)
        if move.word == "moving" and end <= self.clock.now:
            move.turn("done", end)
            pot.rev += 1
            more = {"other": move.document["to"], "sort": "move", "move": move.id}
            more |= {"note": move.document["note"]} if "note" in move.document else {}
            self._book(pot, end.date(), -move.minor, more)

    def _app(self, request: Request) -> str:
        scheme, _, sent = request.headers.get("authorization", "").partition(" ")
        try:
            app, _, secret = base64.b64decode(sent).decode().partition(":")
        except ValueError:
            app, secret = "", ""
        if scheme != "Basic" or app not in APPS or APPS[app][0] != secret:
            raise Fault(401, "not-you")
        return app

    def _data(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise refuse({"body": "is a JSON object"}) from None

    def _patch(self, request: Request) -> dict[str, Any]:
        if request.headers.get("content-type") != PATCH:
            raise Fault(415, "wrong-media")
        return self._data(request)

    def _header(self, request: Request, name: str, status: int) -> str:
        if not (value := request.headers.get(name.lower())):
            raise refuse({f"header.{name}": "is needed"}, status, "header-wanted")
        return value

    def _thing(self, request: Request, object: str, id: str) -> Thing:
        app, thing = self._app(request), self._things.get(id)
        if not thing or thing.app != app or thing.object != object:
            raise Fault(404, "not-here")
        return thing

    def _tell(
        self, request: Request, document: Any, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Tell of something with a revision."""
        tagged = {"ETag": f'"r{document["rev"]}"', **(headers or {})}
        if request.method == "GET" and request.headers.get("if-none-match") == tagged["ETag"]:
            return Response(304, "", tagged)
        return respond(status, document, tagged)

    def _list(self, request: Request, items: Sequence[Any]) -> Response:
        numbers = {"page": 1, "per": 10}
        for name, most in (("page", 10_000), ("per", 50)):
            text = request.query.get(name, str(numbers[name]))
            if not text.isdecimal() or not 1 <= int(text) <= most:
                raise refuse({f"query.{name}": f"is from 1 to {most}"})
            numbers[name] = int(text)
        page, per = numbers["page"], numbers["per"]
        shown, pages = items[(page - 1) * per : page * per], -(-len(items) // per)
        counts = {"here": page, "per": per, "last": pages, "total": len(items)}
        return respond(200, {"object": "list", "items": shown, **counts})

    def _make(self, request: Request, prefix: str) -> Response:
        app, key, data = self._app(request), self._header(request, "Idempotency-Key", 400), self._data(request)
        if known := self._keys.get((app, prefix, key)):
            if known[0] != data:
                raise Fault(422, "key-reused")
            return self._tell(request, known[1].shown, headers={"Soca-Replay": "yes"})
        if wrong := self._check_move(data) if prefix == "mov" else self._check_mandate(data):
            raise refuse(wrong)
        id, document = f"{prefix}_{self._word(12)}", {**data, "made": write_time(self.clock.now)}
        pot = self._find_pot(data.get("from"))
        tag = pot.tag if pot else data["customer"]["tag"]
        thing = Thing(id, "draft" if pot else "asked", self.clock.now, app, document, tag, pot)
        self._things[id], self._keys[app, prefix, key] = thing, (data, thing)
        return self._tell(request, thing.shown, 201, {"Location": f"/{thing.object}s/{id}"})

    def _match(self, request: Request, object: str, id: str) -> tuple[Thing, dict[str, Any]]:
        thing, patch = self._thing(request, object, id), self._patch(request)
        if self._header(request, "If-Match", 428) != f'"r{thing.rev}"':
            raise Fault(412, "rev-stale", rev=thing.rev)
        return thing, patch

    def _stop(self, request: Request, thing: Thing, patch: dict[str, Any]) -> Response:
        end = "stopped" if thing.pot else "revoked"
        if patch != {"state": {"word": end}}:
            raise refuse({"state.word": f"can be made {end}, alone"})
        if thing.word not in ("asked", "draft", "signing", "live", "queued"):
            raise Fault(409, "wrong-state", state=thing.state)
        self._drop(thing, self.clock.now)
        if thing.pot and thing.word == "queued":
            thing.pot.rev += 1
        thing.turn(end, self.clock.now, "app")
        return self._tell(request, thing.shown)

    def _check_mandate(self, data: dict[str, Any]) -> dict[str, str]:
        customer, see, until = data.get("customer"), data.get("see"), read_day(data.get("until"))
        is_known = isinstance(customer, dict) and str(customer.get("tag")) in PINS
        is_right = isinstance(see, list) and see and all(one in SEES for one in see)
        is_near = until and 0 <= (until - self.clock.today).days <= 180
        rules = {
            "customer.tag": (is_known, "belongs to a customer of ours"),
            "see": (is_right, "has one or more of " + ", ".join(SEES)),
            "until": (is_near, "is a day from today to 180 days ahead"),
        }
        unknown = {name: "is unknown" for name in data if name not in ("customer", "see", "until")}
        return unknown | {place: rule for place, (is_kept, rule) in rules.items() if not is_kept}

    def _give_pass(self, request: Request, id: str) -> Response:
        mandate = self._thing(request, "mandate", id)
        if mandate.word != "live":
            raise Fault(403, "mandate-not-live", state=mandate.state)
        token = f"ps.{self._word(40)}"
        self._passes[token] = mandate, self.clock.now + timedelta(minutes=30)
        return respond(201, {"object": "pass", "token": token, "mandate": id, "lasts": 1800})

    def _enter(self, request: Request, see: str) -> Thing:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        mandate, ends = self._passes.get(token, (None, self.clock.now))
        if scheme != "Pass" or not mandate or ends <= self.clock.now or mandate.word != "live":
            raise Fault(401, "pass-dead")
        if see not in mandate.document["see"]:
            raise Fault(403, "not-in-mandate", wanted=see)
        return mandate

    def _find_pot(self, id: Any) -> Pot | None:
        return next((pot for pots in self._pots.values() for pot in pots if pot.id == id), None)

    def _enter_pot(self, request: Request, id: str, see: str) -> tuple[Thing, Pot]:
        mandate = self._enter(request, see)
        if not (pot := next((one for one in self._pots[mandate.tag] if one.id == id), None)):
            raise Fault(404, "not-here")
        return mandate, pot

    def _show_pot(self, pot: Pot) -> dict[str, Any]:
        shown = {"id": pot.id, "object": "pot", "rev": pot.rev, "name": pot.name, "kind": pot.kind}
        return shown | ({"iban": pot.iban} if pot.iban else {"goal": euros(150_000)})

    def _list_pots(self, request: Request) -> Response:
        return self._list(request, [self._show_pot(pot) for pot in self._pots[self._enter(request, "pots").tag]])

    def _held(self, pot: Pot) -> int:
        return sum(one.minor for one in self._things.values() if one.pot is pot and one.word in ("queued", "moving"))

    def _pot(self, request: Request, id: str) -> Response:
        mandate, pot = self._enter_pot(request, id, "pots")
        shown, held = self._show_pot(pot), self._held(pot)
        if "money" in mandate.document["see"]:
            shown["money"] = {"settled": euros(pot.minor), "held": euros(held), "free": euros(pot.minor - held)}
        return self._tell(request, shown)

    def _ledger(self, request: Request, id: str) -> Response:
        mandate, pot = self._enter_pot(request, id, "ledger")
        today, way = self.clock.today, request.query.get("way")
        days = {"since": today - timedelta(days=30), "before": today + timedelta(days=1)}
        for name in [one for one in days if one in request.query]:
            if not (day := read_day(request.query[name])):
                raise refuse({f"query.{name}": "is a day"})
            days[name] = day
        if way not in (None, "in", "out"):
            raise refuse({"query.way": "is in or out"})
        earliest, age = today - timedelta(days=90), self.clock.now - mandate.since
        if days["since"] < earliest and age > timedelta(minutes=15):
            raise Fault(403, "history-locked", earliest=earliest.isoformat())
        first, end = days["since"].isoformat(), days["before"].isoformat()
        return self._list(request, [one for one in pot.lines if first <= one["on"] < end and way in (None, one["way"])])

    def _check_move(self, data: dict[str, Any]) -> dict[str, str]:
        pot, to, money = self._find_pot(data.get("from")), data.get("to"), data.get("money")
        to, money = to if isinstance(to, dict) else {}, money if isinstance(money, dict) else {}
        minor = money.get("minor")
        rules = {
            "from": (pot and pot.iban, "is a pot that is no goal"),
            "to.name": (is_text(to.get("name"), 70), "has 1 to 70 characters"),
            "to.iban": (is_iban(to.get("iban")), "is an IBAN with right check digits"),
            "money.minor": (type(minor) is int and minor > 0, "is a whole number from 1"),
            "money.currency": (money.get("currency") == "EUR", "is EUR"),
            "note": (is_text(data.get("note", "-"), 60), "has 1 to 60 characters"),
        }
        unknown = {name: "is unknown" for name in data if name not in ("from", "to", "money", "note")}
        return unknown | {place: rule for place, (is_kept, rule) in rules.items() if not is_kept}

    def _list_moves(self, request: Request) -> Response:
        app, pot, word = self._app(request), request.query.get("pot"), request.query.get("state")
        mine = [one for one in self._things.values() if one.pot and one.app == app]
        found = [one for one in mine if pot in (None, one.document["from"]) and word in (None, one.word)]
        return self._list(request, [one.shown for one in reversed(found)])

    def _change_move(self, request: Request, id: str) -> Response:
        move, patch = self._match(request, "move", id)
        if "state" in patch:
            return self._stop(request, move, patch)
        if move.word != "draft":
            raise Fault(409, "wrong-state", state=move.state)
        merged = merge({name: value for name, value in move.document.items() if name != "made"}, patch)
        wrong = self._check_move(merged)
        if merged.get("from") != move.document["from"]:
            wrong["from"] = "stays as it is"
        if wrong:
            raise refuse(wrong)
        move.document, move.rev = merged | {"made": move.document["made"]}, move.rev + 1
        return self._tell(request, move.shown)

    def _tell_challenge(self, status: int, challenge: Challenge) -> Response:
        thing = challenge.thing
        document: dict[str, Any] = {"id": challenge.id, "object": "challenge"}
        document |= {"for": {"object": thing.object, "id": thing.id}, "channel": challenge.channel}
        document |= {"to": PHONES[thing.tag], "state": challenge.state, "lapses": write_time(challenge.lapses)}
        document |= {"left": challenge.left} if challenge.channel == "code" else {}
        headers = {"Location": f"/challenges/{challenge.id}"} if status == 201 else {}
        return respond(status, document, headers | ({"Retry-After": "3"} if challenge.word == "sent" else {}))

    def _challenge(self, request: Request) -> Response:
        app, data = self._app(request), self._data(request)
        thing, channel = self._things.get(str(data.get("for"))), data.get("channel")
        if not thing or thing.app != app:
            raise refuse({"for": "is a mandate or a move of yours"})
        if channel not in ("push", "code"):
            raise refuse({"channel": "is push or code"})
        if thing.word != thing.fresh:
            raise Fault(409, "wrong-state", state=thing.state)
        if thing.pot and (short := thing.minor - thing.pot.minor + self._held(thing.pot)) > 0:
            raise Fault(402, "not-enough", short=euros(short))
        now, id, prompt = self.clock.now, f"chg_{self._word(12)}", f"prm_{self._word(8)}"
        challenge = Challenge(id, "sent", now, thing, str(channel), prompt, now + timedelta(minutes=5))
        self._challenges[id] = challenge
        thing.turn("signing", now)
        return self._tell_challenge(201, challenge)

    def _find_challenge(self, request: Request, id: str) -> Challenge:
        app, challenge = self._app(request), self._challenges.get(id)
        if not challenge or challenge.thing.app != app:
            raise Fault(404, "not-here")
        return challenge

    def _type(self, request: Request, id: str) -> Response:
        challenge, patch = self._find_challenge(request, id), self._patch(request)
        if challenge.channel != "code" or challenge.word != "sent":
            raise Fault(409, "wrong-state", state=challenge.state)
        if patch.get("code") != CODES[challenge.thing.tag]:
            challenge.left -= 1
            if not challenge.left:
                self._end(challenge, "locked", "locked")
            raise Fault(422, "wrong-code", left=challenge.left)
        self._sign(challenge)
        return self._tell_challenge(200, challenge)

    def _end(self, challenge: Challenge, word: str, because: str) -> None:
        challenge.turn(word, self.clock.now)
        challenge.thing.turn("refused", self.clock.now, because)

    def _sign(self, challenge: Challenge) -> None:
        thing, now = challenge.thing, self.clock.now
        challenge.turn("passed", now)
        if not thing.pot:
            thing.turn("live", now)
        elif thing.minor > thing.pot.minor - self._held(thing.pot):
            thing.turn("refused", now, "funds")
        else:
            thing.turn("queued", now)
            thing.signed = now
            thing.pot.rev += 1

    def _prompts(self, tag: str) -> list[Challenge]:
        if tag not in PINS:
            raise Fault(404, "not-here")
        waiting = [one for one in self._challenges.values() if one.word == "sent" and one.channel == "push"]
        return [one for one in reversed(waiting) if one.thing.tag == tag]

    def _list_prompts(self, request: Request, tag: str) -> Response:
        found = self._prompts(tag)
        return self._list(request, [{"id": one.prompt, "challenge": one.id, "says": one.thing.says} for one in found])

    def _tap(self, request: Request, tag: str, id: str) -> Response:
        challenge = next((one for one in self._prompts(tag) if one.prompt == id), None)
        if not challenge:
            raise Fault(404, "not-here")
        data = self._data(request)
        if data.get("pin") != PINS[tag]:
            raise refuse({"pin": "is not the customer's"}, 403, "wrong-code")
        if data.get("tap") not in ("confirm", "reject"):
            raise refuse({"tap": "is confirm or reject"})
        if data["tap"] == "confirm":
            self._sign(challenge)
        else:
            self._end(challenge, "refused", "customer")
        return Response(204)
