"""Two journeys of the app Kupček and its customers at Soca."""

import base64
import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

import httpx

from tests.foreign_banks.walk import DAY, Answer, Expected, Step, Wait, Walk

BASIC = "Basic " + base64.b64encode(b"kupcek:plavalaguna").decode()
PATCH = "application/merge-patch+json"
MANDATES, POTS, MOVES, CHALLENGES = "/mandates", "/pots", "/moves", "/challenges"
TRACE = re.compile(r"^[0-9a-z]{16}$")
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$")
MANDATE, POT, MOVE, CHALLENGE, LINE = (
    re.compile(rf"^{prefix}_[0-9A-Z]{{10,12}}$") for prefix in ("mnd", "pot", "mov", "chg", "lin")
)
EURO = "EUR"


def amount(answer: Answer, place: str) -> int:
    """The number at this place, or 0."""
    value = answer.find(place)
    return value if isinstance(value, int) else 0


def worth(settled: int, held: int) -> dict[str, Any]:
    """What a pot tells of its money."""
    return {
        "money.settled.minor": settled,
        "money.held": {"minor": held, "currency": EURO},
        "money.free.minor": settled - held,
    }


class SocaApp:
    def __init__(self, walk: Walk, tag: str, pin: str, code: str) -> None:
        self.walk, self._tag, self._pin, self._code = walk, tag, pin, code
        self._pass: Any = None

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).date().isoformat()

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        *,
        authorization: str | None = BASIC,
        headers: dict[str, Any] | None = None,
        **request: Any,
    ) -> Answer:
        sent = {key: str(value) for key, value in (headers or {}).items()}
        if authorization:
            sent["Authorization"] = authorization
        if method == "PATCH":
            sent.setdefault("Content-Type", PATCH)
        expected = {"@Soca-Trace": TRACE, **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def refuse(
        self, name: str, method: str, path: str, status: int, word: str, members: Expected | None = None, **request: Any
    ) -> None:
        expected = {"type": f"urn:soca:{word}", "title": str, "status": status, "trace": TRACE}
        expected["@Content-Type"] = "application/problem+json"
        self.call(name, method, path, status, {**expected, **(members or {})}, **request)

    def key(self, name: str) -> dict[str, Any]:
        return {"Idempotency-Key": uuid5(NAMESPACE_DNS, f"{self._tag} {name}").hex}

    def wish(self, see: list[str], days: int) -> dict[str, Any]:
        return {"customer": {"tag": self._tag}, "see": see, "until": self.day(days)}

    def ask(self, name: str, wish: dict[str, Any]) -> tuple[Any, Any]:
        """Return the mandate's id and tag."""
        members = {"id": MANDATE, "object": "mandate", "rev": 1, "state.word": "asked", "state.since": TIME, **wish}
        members |= {"made": TIME, "@ETag": '"r1"', "@Location": re.compile(r"^/mandates/mnd_[0-9A-Z]{12}$")}
        made = self.call(name, "POST", MANDATES, 201, members, headers=self.key(name), json=wish)
        return made.find("id"), made.find("@ETag")

    def look(self, name: str, path: str, id: Any, word: str, rev: int, because: str | None = None) -> Any:
        """Return the tag of a mandate or a move."""
        members = {"id": id, "state.word": word, "state.since": TIME, "state.because": because, "rev": rev}
        return self.call(name, "GET", f"{path}/{id}", 200, members | {"@ETag": f'"r{rev}"'}).find("@ETag")

    def change(self, name: str, path: str, id: Any, tag: Any, patch: Any, members: Expected) -> Any:
        """Return the new tag."""
        url = f"{path}/{id}"
        expected = {"id": id, **members}
        return self.call(name, "PATCH", url, 200, expected, headers={"If-Match": tag}, json=patch).find("@ETag")

    def end(self, name: str, path: str, id: Any, tag: Any, word: str, rev: int) -> None:
        members = {"state.word": word, "state.because": "app", "rev": rev, "@ETag": f'"r{rev}"'}
        self.change(name, path, id, tag, {"state": {"word": word}}, members)

    def challenge(self, name: str, thing: Any, channel: str) -> Any:
        """Return the challenge's id."""
        kind = "move" if str(thing).startswith("mov") else "mandate"
        members = {"id": CHALLENGE, "for": {"object": kind, "id": thing}, "channel": channel, "state.word": "sent"}
        members |= {"left": 3 if channel == "code" else None, "lapses": TIME, "@Retry-After": "3"}
        sent = {"for": thing, "channel": channel}
        return self.call(name, "POST", CHALLENGES, 201, members, json=sent).find("id")

    def let(self, see: str, days: int) -> str:
        until = (self.walk.now + days * DAY).date()
        return f"Let Kupček see {see} until {until.day}. {until.month}. {until.year}?"

    def poll(self, name: str, challenge: Any, word: str) -> None:
        waits = "3" if word == "sent" else None
        members = {"id": challenge, "state.word": word, "channel": "push", "@Retry-After": waits}
        self.call(name, "GET", f"{CHALLENGES}/{challenge}", 200, members)

    def phone(self, name: str, challenge: Any, says: list[str]) -> Answer:
        members: dict[str, Any] = {f"items.{place}.says": text for place, text in enumerate(says)}
        members |= {"total": len(says), "items.0.challenge": challenge}
        return self.call(name, "GET", f"/phone/{self._tag}/prompts", 200, members, authorization=None)

    def tap(self, name: str, phone: Answer, challenge: Any, tap: str) -> None:
        prompt = phone.pick("items", challenge=challenge).get("id")
        sent = {"tap": tap, "pin": self._pin}
        self.call(name, "PUT", f"/phone/{self._tag}/prompts/{prompt}", 204, authorization=None, json=sent)

    def type(self, name: str, challenge: Any) -> None:
        members = {"id": challenge, "state.word": "passed", "channel": "code", "@Retry-After": None}
        self.call(name, "PATCH", f"{CHALLENGES}/{challenge}", 200, members, json={"code": self._code})

    def mistype(self, name: str, challenge: Any, code: str, left: int) -> None:
        self.refuse(name, "PATCH", f"{CHALLENGES}/{challenge}", 422, "wrong-code", {"left": left}, json={"code": code})

    def enter(self, name: str, mandate: Any) -> None:
        members = {"object": "pass", "token": re.compile(r"^ps\.[0-9A-Z]{40}$"), "mandate": mandate, "lasts": 1800}
        made = self.call(name, "POST", f"{MANDATES}/{mandate}/passes", 201, members)
        self._pass = f"Pass {made.find('token')}"

    def stay_out(self, name: str, mandate: Any, word: str) -> None:
        path = f"{MANDATES}/{mandate}/passes"
        self.refuse(name, "POST", path, 403, "mandate-not-live", {"state.word": word})

    def read(self, name: str, path: str, members: Expected, status: int = 200, **request: Any) -> Answer:
        return self.call(name, "GET", path, status, members, authorization=self._pass, **request)

    def find_no_entry(self, name: str, path: str) -> None:
        self.refuse(name, "GET", path, 401, "pass-dead", {"@WWW-Authenticate": "Pass"}, authorization=self._pass)

    def find_locked(self, name: str, path: str, since: str) -> None:
        members, query = {"earliest": self.day(-90)}, {"since": since}
        self.refuse(name, "GET", path, 403, "history-locked", members, authorization=self._pass, params=query)

    def order(self, pot: Any, to: tuple[str, str], minor: int, note: str) -> dict[str, Any]:
        return {
            "from": pot,
            "to": dict(zip(("name", "iban"), to, strict=True)),
            "money": self.euros(minor),
            "note": note,
        }

    def euros(self, minor: int) -> dict[str, Any]:
        return {"minor": minor, "currency": EURO}

    def draft(self, name: str, order: dict[str, Any]) -> tuple[Any, Any]:
        """Return the move's id and tag."""
        members = {
            "id": MOVE,
            "object": "move",
            "rev": 1,
            "state.word": "draft",
            "made": TIME,
            **order,
            "@ETag": '"r1"',
        }
        made = self.call(name, "POST", MOVES, 201, members, headers=self.key(name), json=order)
        return made.find("id"), made.find("@ETag")

    def repeat(self, name: str, earlier: str, order: dict[str, Any], move: Any) -> None:
        members = {"id": move, "state.word": "draft", **order, "@Soca-Replay": "yes", "@Location": None}
        self.call(name, "POST", MOVES, 200, members, headers=self.key(earlier), json=order)

    def refuse_order(self, name: str, order: dict[str, Any], place: str) -> None:
        members = {"hints.#": 1, "hints.0.at": place}
        self.refuse(name, "POST", MOVES, 422, "wrong-members", members, headers=self.key(name), json=order)

    def refuse_stale(self, name: str, path: str, id: Any, tag: Any, patch: Any, rev: int) -> None:
        url, headers = f"{path}/{id}", {"If-Match": tag}
        self.refuse(name, "PATCH", url, 412, "rev-stale", {"rev": rev}, headers=headers, json=patch)

    def stop_too_late(self, name: str, move: Any, tag: Any, word: str) -> None:
        url, headers, patch = f"{MOVES}/{move}", {"If-Match": tag}, {"state": {"word": "stopped"}}
        self.refuse(name, "PATCH", url, 409, "wrong-state", {"state.word": word}, headers=headers, json=patch)

    def fall_short(self, name: str, move: Any, channel: str, short: int) -> None:
        sent, members = {"for": move, "channel": channel}, {"short": self.euros(short)}
        self.refuse(name, "POST", CHALLENGES, 402, "not-enough", members, json=sent)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = SocaApp(walk, "tinkara.kos", "4471", "620914")
    members: dict[str, Any] = {"@WWW-Authenticate": 'Basic realm="soca"'}
    app.refuse(
        "mandate without credentials",
        "POST",
        MANDATES,
        401,
        "not-you",
        members,
        authorization=None,
        json={"see": ["pots"]},
    )
    mandate, _ = app.ask("mandate", app.wish(["pots", "money", "ledger"], 60))
    app.stay_out("pass too early", mandate, "asked")
    challenge = app.challenge("challenge", mandate, "push")
    phone = app.phone("customer's phone", challenge, [app.let("pots, money, ledger", 60)])
    app.poll("challenge waits", challenge, "sent")
    app.tap("customer confirms", phone, challenge, "confirm")
    app.poll("challenge is passed", challenge, "passed")
    live = app.look("mandate is live", MANDATES, mandate, "live", 3)
    app.enter("pass", mandate)
    members = {
        "object": "list",
        "items.#": 2,
        "items.0.id": POT,
        "items.0.iban": re.compile(r"^SI5661000\d{10}$"),
        "items.0.kind": "main",
        "items.0.money": None,
        "items.1.kind": "goal",
        "items.1.iban": None,
        "here": 1,
        "last": 1,
        "total": 2,
    }
    pot = app.read("pots", POTS, members).find("items.0.id")
    path, ledger = f"{POTS}/{pot}", f"{POTS}/{pot}/ledger"
    members = {"id": pot, "rev": int, "name": "Main", "money.settled.currency": EURO, "money.held.minor": 0}
    before = app.read("pot", path, members | {"@ETag": re.compile(r'^"r\d+"$')})
    settled, rev = amount(before, "money.settled.minor"), amount(before, "rev")
    known = {"If-None-Match": before.find("@ETag")}
    app.read("pot has not changed", path, {"page": "", "@ETag": before.find("@ETag")}, 304, headers=known)
    query = {"since": app.day(-60), "before": app.day(0), "per": "4"}
    members = {"items.#": 4, "here": 1, "per": 4, "last": int, "total": int, "items.0.left.minor": settled}
    members |= {"items.0.id": LINE, "items.0.way": re.compile("^(in|out)$"), "items.3.money.currency": EURO}
    app.read("ledger", ledger, members, params=query)
    query["page"] = "2"
    app.read("ledger's next page", ledger, {"items.#": 4, "here": 2, "per": 4, "items.0.id": LINE}, params=query)
    query = {"since": app.day(-130), "before": app.day(-90), "way": "out"}
    app.read("what went out long ago", ledger, {"items.0.way": "out", "here": 1, "per": 10}, params=query)

    landlord, cellar = ("Mojca Kranjc", "SI56020101234567854"), ("Weingut Sölva", "AT722011100098765432")
    mistyped = app.order(pot, (landlord[0], "SI56020101234567845"), 62_500, "Rent")
    app.refuse_order("move to a mistyped IBAN", mistyped, "to.iban")
    order = app.order(pot, landlord, 62_500, "Rent")
    move, tag = app.draft("move", order)
    app.repeat("the same move again", "move", order, move)
    members = {**order, "note": "Rent for June", "state.word": "draft", "rev": 2, "@ETag": '"r2"'}
    app.change("another note", MOVES, move, tag, {"note": "Rent for June"}, members)
    app.refuse_stale("another amount, too late", MOVES, move, tag, {"money": {"minor": 61_000}}, 2)
    challenge = app.challenge("challenge of the move", move, "code")
    app.mistype("customer mistypes the code", challenge, "620941", 2)
    app.type("customer types the code", challenge)
    app.look("move is queued", MOVES, move, "queued", 4)
    members = worth(settled, 62_500) | {"rev": rev + 1}
    app.read("pot with money held", path, members)
    wait(timedelta(minutes=2))
    tag = app.look("move is moving", MOVES, move, "moving", 5)
    app.stop_too_late("stop it too late", move, tag, "moving")
    wait(timedelta(minutes=15))
    members = {"total": 1, "items.0.id": move, "items.0.state.word": "done", "items.0.rev": 6}
    app.call("moves that are done", "GET", MOVES, 200, members, params={"pot": pot, "state": "done"})
    members = worth(settled - 62_500, 0) | {"rev": rev + 2}
    after = app.read("pot after", path, members, headers=known)
    members = {
        "total": 1,
        "items.0.on": app.day(0),
        "items.0.way": "out",
        "items.0.money": app.euros(62_500),
        "items.0.left.minor": settled - 62_500,
        "items.0.other": order["to"],
        "items.0.note": "Rent for June",
        "items.0.move": move,
        "items.0.sort": "move",
    }
    app.read("ledger after", ledger, members, params={"since": app.day(0)})
    app.find_locked("what was long ago, later", ledger, app.day(-130))

    free = amount(after, "money.free.minor")
    large, tag = app.draft("large move", app.order(pot, cellar, 900_000, "Barrels"))
    app.fall_short("challenge of the large move", large, "push", 900_000 - free)
    app.end("stop the large move", MOVES, large, tag, "stopped", 2)
    other, _ = app.draft("move to reject", app.order(pot, cellar, 124_000, "A barrel"))
    challenge = app.challenge("its challenge", other, "push")
    phone = app.phone("customer's phone again", challenge, ["Send 1.240,00 € to Weingut Sölva?"])
    app.tap("customer rejects", phone, challenge, "reject")
    app.look("move is refused", MOVES, other, "refused", 3, "customer")
    short, _ = app.ask("mandate for today", app.wish(["pots"], 0))
    app.end("revoke the mandate", MANDATES, mandate, live, "revoked", 4)
    app.find_no_entry("pots with its pass", POTS)
    wait(DAY)
    app.look("mandate for today has ended", MANDATES, short, "ended", 2)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = SocaApp(walk, "rok.zupan", "9035", "118273")
    ajda = SocaApp(walk, "ajda.mlakar", "2816", "559302")
    members: dict[str, Any] = {"@WWW-Authenticate": 'Basic realm="soca"'}
    app.refuse("moves without credentials", "GET", MOVES, 401, "not-you", members, authorization=None)
    mandate, _ = app.ask("mandate", app.wish(["ledger", "money", "pots"], 14))
    challenge = app.challenge("challenge by code", mandate, "code")
    app.mistype("customer mistypes the code", challenge, "118723", 2)
    app.type("customer types the code", challenge)
    live = app.look("mandate is live", MANDATES, mandate, "live", 3)
    app.enter("pass", mandate)
    members = {
        "items.#": 3,
        "items.0.id": POT,
        "items.0.iban": re.compile(r"^SI5661000\d{10}$"),
        "items.2.kind": "goal",
        "total": 3,
    }
    pot = app.read("pots", POTS, members).find("items.0.id")
    path, ledger = f"{POTS}/{pot}", f"{POTS}/{pot}/ledger"
    members = {"id": pot, "rev": int, "money.held.minor": 0, "money.settled.currency": EURO}
    before = app.read("pot", path, members)
    settled, rev = amount(before, "money.settled.minor"), amount(before, "rev")
    known = {"If-None-Match": before.find("@ETag")}
    query = {"since": app.day(-45), "per": "3"}
    members = {"items.#": 3, "here": 1, "per": 3, "items.0.left.minor": settled, "items.2.id": LINE}
    app.read("ledger", ledger, members, params=query)
    query["page"] = "2"
    app.read("ledger's second page", ledger, {"items.#": 3, "here": 2, "per": 3, "items.2.id": LINE}, params=query)
    query = {"since": app.day(-125), "before": app.day(-5), "way": "in"}
    app.read("what came in", ledger, {"items.0.way": "in", "here": 1, "per": 10}, params=query)
    beekeeper, uncle = ("Čebelarstvo Zupan", "SI56040009812734505"), ("Ivan Horvat", "HR8823600001104827719")
    mistyped = app.order(pot, (uncle[0], "HR8823600001104827791"), 8_050, "Fishing permit")
    app.refuse_order("move to a mistyped IBAN", mistyped, "to.iban")
    app.refuse_order("move of nothing", app.order(pot, uncle, 0, "Fishing permit"), "money.minor")
    order = app.order(pot, uncle, 8_050, "Fishing permit")
    large, tag = app.draft("move to change", order)
    members = {"money": app.euros(settled + 1), "to": order["to"], "note": order["note"], "rev": 2, "@ETag": '"r2"'}
    newer = app.change("a cent too much", MOVES, large, tag, {"money": {"minor": settled + 1}}, members)
    app.fall_short("challenge of that", large, "code", 1)
    app.refuse_stale("stop it with an old tag", MOVES, large, tag, {"state": {"word": "stopped"}}, 2)
    app.end("stop it", MOVES, large, newer, "stopped", 3)

    order = app.order(pot, beekeeper, 134_990, "Three hives")
    move, _ = app.draft("move", order)
    app.repeat("that move again", "move", order, move)
    yes = app.challenge("challenge of the move", move, "push")
    other, _ = app.ask("another mandate", app.wish(["money", "pots"], 45))
    no = app.challenge("challenge of the other mandate", other, "push")
    says = [app.let("money, pots", 45), "Send 1.349,90 € to Čebelarstvo Zupan?"]
    phone = app.phone("customer's phone", no, says)
    app.tap("customer rejects the mandate", phone, no, "reject")
    app.poll("challenge of the move still waits", yes, "sent")
    app.tap("customer confirms the move", phone, yes, "confirm")
    app.poll("challenge of the mandate is refused", no, "refused")
    app.look("other mandate is refused", MANDATES, other, "refused", 3, "customer")
    app.look("move is queued", MOVES, move, "queued", 3)
    app.read("pot with money held", path, worth(settled, 134_990) | {"rev": rev + 1}, headers=known)
    wait(timedelta(minutes=3))
    tag = app.look("move is moving", MOVES, move, "moving", 4)
    app.stop_too_late("stop the move too late", move, tag, "moving")
    hers, _ = ajda.ask("mandate of Ajda", ajda.wish(["pots"], 1))
    wait(timedelta(minutes=20))
    app.look("move is done", MOVES, move, "done", 5)
    free = settled - 134_990
    app.read("pot after", path, worth(free, 0) | {"rev": rev + 2})
    members = {
        "total": 1,
        "items.0.way": "out",
        "items.0.money": app.euros(134_990),
        "items.0.left.minor": free,
        "items.0.other": order["to"],
        "items.0.note": "Three hives",
        "items.0.move": move,
    }
    app.read("ledger after", ledger, members, params={"since": app.day(0)})
    members = {"total": 1, "items.0.id": large, "items.0.money.minor": settled + 1, "items.0.state.because": "app"}
    app.call("moves that are stopped", "GET", MOVES, 200, members, params={"pot": pot, "state": "stopped"})
    app.find_locked("what was long ago", ledger, app.day(-100))
    app.end("revoke the mandate", MANDATES, mandate, live, "revoked", 4)
    app.find_no_entry("pot after that", path)
    app.stay_out("no pass after that", mandate, "revoked")
    wait(2 * DAY)
    ajda.look("mandate of Ajda has ended", MANDATES, hers, "ended", 2)
    return walk.steps
