"""Torne, a Nordic fintech bank: customers link their wallets to an app, and the app starts transfers.

- All below `/open` needs `Torne-Version: 2025-11`; all answers have a Torne-Trace. The app sends its name and secret as
  HTTP Basic to links and keys, and an access key as Bearer to wallets and transfers.
- Errors are `{"trace", "problems": [{"code", "text", "at"?, …}]}`, with all problems of a request at once.
- POST `/open/links` with `scopes`, `days` (1 to 90), `return_to` and `echo`. A link is waiting (15 minutes, then
  lapsed), confirmed or refused by the customer, active once the app has redeemed its grant, and ended by DELETE (200
  with the link) or after its days. Its times and those of keys are Unix seconds; all other times are ISO.
- `visit` is an absolute URL: the customer signs in, gets a second form with a hidden `turn`, ticks the wallets to share
  and types the code. The page says what is wrong with status 200. The way back is a 302 with `link`, `grant` (or
  `refused=customer`) and `echo`.
- POST `/open/keys` with a grant, which is used once, gives an access key for eight hours.
- Amounts are texts with two decimals and no sign; `direction` is in or out. Movements are newest first, from `since` on
  and before `until`, with the balance after each. `paging.after` is there if `paging.more` is true.
- POST `/open/transfers` needs an Idempotency-Key: the same again gives 200 and the same transfer, another body 409.
  The limits of the speed are checked at once, the funds within ten seconds: a transfer is checking (202), then ready
  with its fee, total and day of arrival, or rejected. POST `…/approve` brings an approval and the customer's page; the
  transfer is in_approval, then approved, or declined. An instant one is sent after five seconds and settled after a
  minute, for a fee that is a movement of its own; a standard one is sent after half an hour and settled after four.
- POST `…/cancel` is possible until a transfer is sent. An approval lapses in ten minutes: the transfer is ready again.
  What is approved or sent is reserved, fee included.
"""

import random
import re
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

VERSION = "2025-11"
SCOPES = ("wallets", "funds", "movements", "transfers")
APPS = {"Basic c2FsZG9rb2xsOmthbGxrYWxsYS01OA==": "saldokoll", "Basic cmFoYXBvbGt1OnN1b3B1cnN1LTMx": "rahapolku"}
SHOPS = "Haparanda Livs|Norrtåg|Apotek Älven|Kukkola Rökeri|Luleå Energi|Polcirkelns Cykel|Bokhandeln Renen".split("|")
LIMITS = {"standard": 60_000_00, "instant": 15_000_00}
FEES = {"standard": 0, "instant": 3_50}
SENT, SETTLED = {"standard": 1800, "instant": 5}, {"standard": 14_400, "instant": 60}
MISTYPED = "This is not your code. It has six digits."
AMOUNT = re.compile(r"\d{1,9}\.\d\d")
DAY = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
CAN = {"checking": ["cancel"], "ready": ["approve", "cancel"], "in_approval": ["cancel"], "approved": ["cancel"]}


@dataclass
class Wallet:
    id: str
    iban: str
    name: str
    kind: str
    ore: int
    movements: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    number: str
    pin: str
    code: str
    name: str
    wallets: list[Wallet]


@dataclass
class Link:
    id: str
    app: str
    visit: str
    wish: dict[str, Any]
    made: datetime
    state: str = "waiting"
    ends: datetime | None = None
    customer: Customer | None = None
    turn: str = ""
    shares: list[Wallet] = field(default_factory=list)


@dataclass
class Transfer:
    id: str
    link: Link
    wallet: Wallet
    wish: dict[str, Any]
    ore: int
    made: datetime
    since: datetime
    state: str = "checking"
    fee: int | None = None
    arrives: date | None = None
    reason: str | None = None
    approved: datetime | None = None
    approval: dict[str, str] = field(default_factory=dict)
    visit: str = ""
    return_to: str = ""
    lapses: datetime | None = None

    @property
    def total(self) -> int:
        return self.ore + (self.fee or 0)

    def turn(self, state: str, time: datetime) -> None:
        self.state, self.since = state, time


def problem(code: str, at: str | None = None, **more: Any) -> dict[str, Any]:
    text = code.replace("_", " ").capitalize() + "."
    return {"code": code, "text": text} | ({"at": at} if at else {}) | more


def check(status: int, rights: dict[str, bool], *problems: dict[str, Any]) -> None:
    """Refuse what is not right, by place, and what has these problems."""
    wrong = [problem("value_invalid", place) for place, is_right in rights.items() if not is_right]
    if wrong or problems:
        raise Fault(status, "", all=[*wrong, *problems])


def check_digits(country: str, rest: str) -> str:
    digits = "".join(str(int(sign, 36)) for sign in rest + country + "00")
    return f"{98 - int(digits) % 97:02}"


def is_iban(text: Any) -> bool:
    is_formed = isinstance(text, str) and bool(re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text))
    return is_formed and check_digits(text[:2], text[4:]) == text[2:4]


def kronor(ore: int) -> str:
    return f"{ore // 100}.{ore % 100:02}"


def write_time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z")


class Torne:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"torne {seed}")
        self._links: dict[str, Link] = {}
        self._transfers: dict[str, Transfer] = {}
        self._grants: dict[str, Link] = {}
        self._access: dict[str, tuple[Link, datetime]] = {}
        self._cursors: dict[str, tuple[str, int]] = {}
        self._replays: dict[tuple[str, str], tuple[dict[str, Any], Transfer]] = {}
        daily, saving = ("Vardag", "daily"), ("Buffert", "saving")
        self._customers = [
            self._enrol("55027714", "8306", "417902", "Elin Niska", daily, ("Resor", "daily"), saving),
            self._enrol("55190382", "2749", "660135", "Jonas Kangas", saving, ("Lönekonto", "daily"), daily),
            self._enrol("55406127", "5018", "293874", "Marit Lahti", daily),
        ]
        transfer = "/open/transfers/{id}"
        self._routes = Routes(
            ("POST", "/open/links", self._ask_link),
            ("GET", "/open/links/{id}", lambda request, id: self._tell_link(request, 200, self._link(request, id))),
            ("DELETE", "/open/links/{id}", self._end_link),
            ("POST", "/open/keys", self._give_keys),
            ("GET", "/open/wallets", self._list_wallets),
            ("GET", "/open/wallets/{id}/funds", self._funds),
            ("GET", "/open/wallets/{id}/movements", self._list_movements),
            ("POST", "/open/transfers", self._start),
            ("GET", transfer, lambda request, id: self._tell_transfer(200, self._transfer(request, id))),
            ("POST", transfer + "/approve", self._ask_approval),
            ("POST", transfer + "/cancel", self._cancel),
            ("GET", "/hello/{visit}", self._welcome),
            ("POST", "/hello/{visit}", self._welcome),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        headers = {"Torne-Trace": self._id("trc")}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            if request.path.startswith("/open") and request.headers.get("torne-version") != VERSION:
                raise Fault(400, "version_unsupported", "header.Torne-Version")
            answer = handler(request, **parameters)
            return Response(answer.status, answer.content, headers | dict(answer.headers))
        except NoRoute as wrong:
            fault = Fault(405, "method_unknown") if wrong.allowed else Fault(404, "not_found")
        except Fault as refused:
            fault = refused
        problems = fault.more.get("all") or [problem(fault.word, fault.place, **fault.more)]
        document = {"trace": headers["Torne-Trace"], "problems": problems}
        return respond(fault.status, document, headers, media="application/vnd.torne.problems+json")

    def _id(self, prefix: str, length: int = 14) -> str:
        return f"{prefix}_" + "".join(self._random.choices("0123456789abcdefghjkmnpqrstvwxyz", k=length))

    def _enrol(self, number: str, pin: str, code: str, name: str, *wallets: tuple[str, str]) -> Customer:
        return Customer(number, pin, code, name, [self._open(*wallet) for wallet in wallets])

    def _open(self, name: str, kind: str) -> Wallet:
        rest = f"9290000{self._random.randrange(10**12, 10**13)}"
        wallet = Wallet(self._id("wal"), f"SE{check_digits('SE', rest)}{rest}", name, kind, 0)
        wallet.ore = self._random.randrange(38_000_00, 52_000_00)
        for days in sorted(self._random.sample(range(1, 76), 24), reverse=True):
            time = self.clock.now.replace(hour=0, minute=0, second=0) - timedelta(days=days)
            time += timedelta(seconds=self._random.randrange(6 * 3600, 22 * 3600))
            ore, kind, who = -self._random.randrange(12_00, 900_00), "card", self._random.choice(SHOPS)
            if self._random.random() < 0.2:
                ore, kind, who = self._random.randrange(200_00, 2_500_00), "swish", "Swish"
            self._enter(wallet, time, ore, kind=kind, counterpart={"name": who}, note="")
        return wallet

    def _enter(self, wallet: Wallet, time: datetime, ore: int, **more: Any) -> None:
        wallet.ore += ore
        movement = {"movement_id": self._id("mov"), "direction": "in" if ore > 0 else "out", "amount": kronor(abs(ore))}
        movement |= {"currency": "SEK", "balance_after": kronor(wallet.ore), "booked_on": time.date().isoformat()}
        wallet.movements.insert(0, movement | {"happened_at": write_time(time)} | more)

    def _advance(self) -> None:
        now = self.clock.now
        for link in self._links.values():
            if link.state in ("waiting", "confirmed") and now >= link.made + timedelta(minutes=15):
                link.state = "lapsed"
            if link.state == "active" and link.ends and now >= link.ends:
                link.state = "ended"
        for one in self._transfers.values():
            if one.state == "checking" and now >= one.made + timedelta(seconds=10):
                self._check(one, one.made + timedelta(seconds=10))
            if one.state == "in_approval" and one.lapses and now >= one.lapses:
                one.approval["state"] = "lapsed"
                one.turn("ready", one.lapses)
            if one.approved:
                after = (timedelta(seconds=table[one.wish["speed"]]) for table in (SENT, SETTLED))
                sent, settled = (one.approved + time for time in after)
                if one.state == "approved" and now >= sent:
                    one.turn("sent", sent)
                if one.state == "sent" and now >= settled:
                    one.turn("settled", settled)
                    payment = {"counterpart": one.wish["to"], "note": one.wish["note"], "transfer_id": one.id}
                    self._enter(one.wallet, settled, -one.ore, kind="transfer", **payment)
                    payment |= {"counterpart": {"name": "Torne"}, "note": "Instant transfer"}
                    if one.fee:
                        self._enter(one.wallet, settled, -one.fee, kind="fee", **payment)

    def _check(self, one: Transfer, time: datetime) -> None:
        one.fee, one.arrives = FEES[one.wish["speed"]], time.date()
        if one.wish["speed"] == "standard":
            one.arrives += timedelta(days=max(1, 7 - one.arrives.weekday() if one.arrives.weekday() > 3 else 1))
        one.reason = "funds" if one.total > one.wallet.ore - self._reserved(one.wallet) else None
        one.turn("rejected" if one.reason else "ready", time)

    def _app(self, request: Request) -> str:
        if not (name := APPS.get(request.headers.get("authorization", ""))):
            raise Fault(401, "app_unknown", "header.Authorization")
        return name

    def _active(self, request: Request, scope: str) -> Link:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        link, ends = self._access.get(key, (None, self.clock.now))
        if scheme != "Bearer" or not link or ends <= self.clock.now:
            raise Fault(401, "key_expired" if link else "key_unknown", "header.Authorization")
        if link.state != "active":
            raise Fault(403, "link_not_active", None, link_id=link.id, state=link.state)
        if scope not in link.wish["scopes"]:
            raise Fault(403, "scope_missing", None, scope=scope)
        return link

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "body_unreadable") from None

    def _ask_link(self, request: Request) -> Response:
        app, body = self._app(request), self._body(request)
        scopes, days = body.get("scopes"), body.get("days")
        asked = scopes if isinstance(scopes, list) else []
        rights = {f"scopes.{place}": scope in SCOPES for place, scope in enumerate(asked)} or {"scopes": False}
        rights["days"] = type(days) is int and 1 <= days <= 90
        rights["return_to"] = str(body.get("return_to", "")).startswith("https://")
        check(422, rights)
        wish = {name: body.get(name) for name in ("scopes", "days", "return_to", "echo")}
        link = Link(self._id("lnk"), app, self._id("v", 20), wish, self.clock.now)
        self._links[link.id] = link
        return self._tell_link(request, 201, link)

    def _link(self, request: Request, id: str) -> Link:
        app, link = self._app(request), self._links.get(id)
        if not link or link.app != app:
            raise Fault(404, "not_found", None, id=id)
        return link

    def _tell_link(self, request: Request, status: int, link: Link) -> Response:
        made, ends = int(link.made.timestamp()), int(link.ends.timestamp()) if link.ends else None
        document = {"link_id": link.id, "state": link.state, "scopes": link.wish["scopes"], "days": link.wish["days"]}
        document |= {"created_at": made, "ends_at": ends, "shares": [wallet.id for wallet in link.shares]}
        if link.state == "waiting":
            document["visit"] = f"{request.origin}/hello/{link.visit}"
        return respond(status, document)

    def _end_link(self, request: Request, id: str) -> Response:
        link = self._link(request, id)
        if link.state not in ("waiting", "confirmed", "active"):
            raise Fault(409, "state_conflict", None, state=link.state)
        link.state, link.ends = "ended", self.clock.now
        return self._tell_link(request, 200, link)

    def _give_keys(self, request: Request) -> Response:
        app, body = self._app(request), self._body(request)
        link = self._grants.pop(str(body.get("grant")), None)
        if not link or link.app != app or link.state != "confirmed":
            raise Fault(400, "grant_invalid", "grant")
        link.state, link.ends = "active", self.clock.now + timedelta(days=link.wish["days"])
        access, ends = self._id("ack", 28), self.clock.now + timedelta(hours=8)
        self._access[access] = link, ends
        document = {"link_id": link.id, "access_key": access, "expires_at": int(ends.timestamp())}
        return respond(200, document, {"Cache-Control": "no-store"})

    def _wallet(self, request: Request, id: str, scope: str) -> Wallet:
        if wallet := next((one for one in self._active(request, scope).shares if one.id == id), None):
            return wallet
        raise Fault(404, "not_found", None, id=id)

    def _list_wallets(self, request: Request) -> Response:
        rows = [
            {"wallet_id": one.id, "name": one.name, "kind": one.kind, "iban": one.iban, "currency": "SEK"}
            for one in self._active(request, "wallets").shares
        ]
        return respond(200, {"wallets": rows, "paging": {"more": False}})

    def _reserved(self, wallet: Wallet) -> int:
        held = ("approved", "sent")
        return sum(one.total for one in self._transfers.values() if one.wallet is wallet and one.state in held)

    def _funds(self, request: Request, id: str) -> Response:
        wallet = self._wallet(request, id, "funds")
        sums = {"booked": wallet.ore, "reserved": self._reserved(wallet)}
        sums["usable"] = sums["booked"] - sums["reserved"]
        funds = {name: {"amount": kronor(ore), "currency": "SEK"} for name, ore in sums.items()}
        return respond(200, {"wallet_id": id, "as_of": write_time(self.clock.now), "funds": funds})

    def _list_movements(self, request: Request, id: str) -> Response:
        wallet, query, today = self._wallet(request, id, "movements"), request.query, self.clock.today
        since = query.get("since", str(today - timedelta(days=30)))
        until = query.get("until", str(today + timedelta(days=1)))
        take, direction, start = query.get("take", "20"), query.get("direction"), 0
        rights = {"query.since": bool(DAY.fullmatch(since)), "query.until": bool(DAY.fullmatch(until))}
        rights["query.take"] = take.isdecimal() and 1 <= int(take) <= 50
        rights["query.direction"] = direction in (None, "in", "out")
        check(400, rights)
        if since >= until:
            raise Fault(400, "period_invalid", "query.until")
        asked = f"{id} {since} {until} {direction}"
        if after := query.get("after"):
            told, start = self._cursors.get(after, ("", 0))
            if told != asked:
                raise Fault(400, "cursor_invalid", "query.after")
        rows = [one for one in wallet.movements if since <= one["booked_on"] < until]
        rows = [one for one in rows if direction in (None, one["direction"])]
        end = start + int(take)
        paging: dict[str, Any] = {"more": end < len(rows)}
        if paging["more"]:
            paging["after"] = self._id("cur", 32)
            self._cursors[paging["after"]] = asked, end
        return respond(200, {"wallet_id": id, "movements": rows[start:end], "paging": paging})

    def _start(self, request: Request) -> Response:
        link, body = self._active(request, "transfers"), self._body(request)
        if not (key := request.headers.get("idempotency-key")):
            raise Fault(400, "value_missing", "header.Idempotency-Key")
        if (link.id, key) in self._replays:
            before, one = self._replays[link.id, key]
            if before != body:
                raise Fault(409, "idempotency_conflict", "header.Idempotency-Key", transfer_id=one.id)
            return self._tell_transfer(200, one, {"Idempotency-Replayed": "true"})
        wallet = next((one for one in link.shares if one.id == body.get("from") and one.kind == "daily"), None)
        to, amount, speed = body.get("to"), body.get("amount"), str(body.get("speed", "standard"))
        to, note = to if isinstance(to, dict) else {}, body.get("note", "")
        ore = int(amount.replace(".", "")) if isinstance(amount, str) and AMOUNT.fullmatch(amount) else 0
        rights = {"from": wallet is not None, "to.name": isinstance(to.get("name"), str) and 1 <= len(to["name"]) <= 60}
        rights |= {"to.iban": is_iban(to.get("iban")), "speed": speed in LIMITS, "amount": ore > 0}
        rights |= {"currency": body.get("currency") == "SEK", "note": isinstance(note, str) and len(note) <= 50}
        limit = LIMITS.get(speed, ore)
        check(422, rights, *([problem("over_limit", "amount", limit=kronor(limit))] if ore > limit else []))
        assert wallet
        wish: dict[str, Any] = {"from": wallet.id, "to": {"name": to["name"], "iban": to["iban"]}, "amount": amount}
        wish |= {"currency": "SEK", "speed": speed, "note": note}
        one = Transfer(self._id("trf"), link, wallet, wish, ore, self.clock.now, self.clock.now)
        self._transfers[one.id], self._replays[link.id, key] = one, (body, one)
        return self._tell_transfer(202, one, {"Location": f"/open/transfers/{one.id}"})

    def _transfer(self, request: Request, id: str) -> Transfer:
        link, one = self._active(request, "transfers"), self._transfers.get(id)
        if not one or one.link is not link:
            raise Fault(404, "not_found", None, id=id)
        return one

    def _tell_transfer(self, status: int, one: Transfer, headers: dict[str, str] | None = None) -> Response:
        document = {"transfer_id": one.id, "state": one.state, "state_since": write_time(one.since)} | one.wish
        document |= {"can": CAN.get(one.state, []), "fee": None, "total": None, "arrives_on": None}
        if one.fee is not None:
            document |= {"fee": kronor(one.fee), "total": kronor(one.total), "arrives_on": str(one.arrives)}
        if one.reason:
            document["reason"] = one.reason
        if one.approval:
            document["approval"] = one.approval
        return respond(status, document, ({"Retry-After": "10"} if one.state == "checking" else {}) | (headers or {}))

    def _ask_approval(self, request: Request, id: str) -> Response:
        one, body = self._transfer(request, id), self._body(request)
        if one.state != "ready":
            raise Fault(409, "state_conflict", None, state=one.state, needs="ready")
        check(422, {"return_to": str(body.get("return_to", "")).startswith("https://")})
        now = self.clock.now
        one.visit, one.return_to, one.lapses = self._id("v", 20), body["return_to"], now + timedelta(minutes=10)
        one.approval = {"approval_id": self._id("apv"), "state": "open"}
        one.turn("in_approval", now)
        document = one.approval | {"transfer_id": id, "total": kronor(one.total), "lapses_at": write_time(one.lapses)}
        return respond(201, document | {"visit": f"{request.origin}/hello/{one.visit}"})

    def _cancel(self, request: Request, id: str) -> Response:
        one = self._transfer(request, id)
        if "cancel" not in CAN.get(one.state, []):
            raise Fault(409, "state_conflict", None, state=one.state)
        if one.state == "in_approval":
            one.approval["state"] = "lapsed"
        one.turn("cancelled", self.clock.now)
        return self._tell_transfer(200, one)

    def _welcome(self, request: Request, visit: str) -> Response:
        """The customer's pages; what is wrong is in the page, with status 200."""
        is_sent = request.method == "POST"
        for link in self._links.values():
            if link.visit == visit and link.state == "waiting":
                return self._choose(request, link) if is_sent else self._show_sign_in(link)
        for one in self._transfers.values():
            if one.visit == visit and one.state == "in_approval":
                return self._approve(request, one) if is_sent else self._show_total(one)
        return show(410, "Torne", "<p>There is nothing to do here any more.</p>")

    def _form(self, hint: str, told: str, fields: str, *answers: str) -> Response:
        buttons = "".join(f'<button name="answer" value="{word}">{word.title()}</button>' for word in answers)
        content = f'<p class="hint">{hint}</p><p>{told}</p><form method="post">{fields}{buttons}</form>'
        return show(200, "Torne", content)

    def _show_sign_in(self, link: Link, hint: str = "") -> Response:
        fields = '<input name="customer_number"><input name="pin" type="password">'
        return self._form(hint, f"Sign in to link your accounts to {link.app}.", fields, "continue")

    def _show_wallets(self, link: Link, customer: Customer, hint: str = "") -> Response:
        link.customer, link.turn = customer, self._id("turn")
        told = f"Hej {customer.name}! What may {link.app} use for {link.wish['days']} days?"
        shares = [f'<input type="checkbox" name="share" value="{one.id}">{one.name}' for one in customer.wallets]
        fields = f'{"".join(shares)}<input type="hidden" name="turn" value="{link.turn}"><input name="code">'
        return self._form(hint, told, fields, "share", "refuse")

    def _choose(self, request: Request, link: Link) -> Response:
        if not link.customer or request.field("turn") != link.turn:
            given = request.field("customer_number"), request.field("pin")
            customer = next((one for one in self._customers if (one.number, one.pin) == given), None)
            hint = "We do not know this customer number and PIN."
            return self._show_wallets(link, customer) if customer else self._show_sign_in(link, hint)
        back = {"link": link.id}
        if request.field("answer") == "share":
            chosen = [one for one in link.customer.wallets if one.id in request.form.get("share", [])]
            if not chosen or request.field("code") != link.customer.code:
                return self._show_wallets(link, link.customer, MISTYPED if chosen else "Choose at least one account.")
            link.state, link.shares, back["grant"] = "confirmed", chosen, self._id("grt", 24)
            self._grants[back["grant"]] = link
        else:
            link.state, back["refused"] = "refused", "customer"
        back["echo"] = str(link.wish["echo"])
        return Response(302, "", {"Location": f"{link.wish['return_to']}?{urlencode(back)}"})

    def _show_total(self, one: Transfer, hint: str = "") -> Response:
        told = f"Send {one.wish['amount']} SEK to {one.wish['to']['name']}? The fee is {kronor(one.fee or 0)} SEK."
        return self._form(hint, told, '<input name="code">', "approve", "refuse")

    def _approve(self, request: Request, one: Transfer) -> Response:
        is_approved, customer = request.field("answer") == "approve", one.link.customer
        if is_approved and customer and request.field("code") != customer.code:
            return self._show_total(one, MISTYPED)
        one.approval["state"], one.approved = ("given", self.clock.now) if is_approved else ("refused", None)
        one.turn("approved" if is_approved else "declined", self.clock.now)
        back = urlencode({"transfer": one.id, "approval": one.approval["state"]})
        return Response(302, "", {"Location": f"{one.return_to}?{back}"})
