"""Tagus, a Portuguese bank with two interfaces: Access (grants, tokens, accounts) and Money (transfers).

- Each answer is `{"content": …, "served": {"trace", "at"}}`, those with tokens too; lists add `window`, things that can
  go on add `doors`. Requests are bare. Times and days are those of Lisbon. Errors are bare application/problem+json.
- An app has HTTP Basic for grants and tokens, and a bearer token for all else. It registered its callback beforehand.
- POST `/access/2.1/grants` with `may`, `lastsDays` (1 to 180, the last until midnight) and `state`. A grant is
  PROPOSED, then ACTIVE, REFUSED by the customer, ABANDONED after 20 minutes, LAPSED after `endsAt`, or ENDED by DELETE.
- `doors.sign` is the bank's page with its host. The customer signs in, then picks accounts there and agrees. A wrong
  PIN gives 200 and the form again. Leaving refuses. Then 302 to the callback with `code` or `error`, and `state`.
- POST `/access/2.1/tokens` trades a code (once, within 2 minutes) or a renewal (once) for a bearer token of 15 minutes
  and another renewal. The bearer token before dies then. Those of a grant that is not ACTIVE give 401.
- Accounts show only what was picked, under handles that are made for each grant.
- Cents are whole; moves have them without a sign and a `side`. Funds are BOOKED, HELD and USABLE, with the overdraft.
- Moves are oldest first, from `since` (30 days ago unless told) to before `until`. `window.after` is sent as `after`,
  alone. More than 90 days back they are shown for 15 minutes after the signature only.
- POST `/money/1.4/transfers` with an `appRef`: the same again gives 200 and the first transfer, another one 409.
  Of the payee's IBAN only the end is shown. SAME_DAY has a fee, which is held with the amount and is a move of its own.
- A transfer is PREPARED, REFUSED or SIGNED on the page, and released by POST `…/release` with the code from there. Only
  this looks at the cover: 202 with QUEUED or TURNED_AWAY. It is SENT after 5 minutes (NEXT_DAY: 2 hours) and SETTLED
  after 30 (a day). Not signed in 30 minutes or released in 10 it is STALE.
- DELETE withdraws it until it is sent. It needs If-Match with the ETag: 428 without, 412 with an old one.
"""

import base64
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

ACCESS, MONEY = "/access/2.1", "/money/1.4"
LISBON, DAY = ZoneInfo("Europe/Lisbon"), timedelta(days=1)
APPS = {
    "ledgerline": ("saudade-41", "https://ledgerline.example/back/tagus"),
    "purser": ("azulejo-77", "https://app.purser.example/banks/done"),
}
DIGITS, HEX = "0123456789", "0123456789abcdef"
POWERS = ("LOOK", "FUNDS", "MOVES", "PAY")
LEAVE = '<button name="choice" value="leave">Back to the app</button>'
FEES = {"SAME_DAY": 120, "NEXT_DAY": 0}
PACE = {"SAME_DAY": (5, 30), "NEXT_DAY": (120, 1440)}  # minutes until it is sent and settled
PAYERS = ("VENCIMENTO LEZIRIA LDA", "REEMBOLSO IRS", "TRF FROM TERESA PINHO")
SHOPS = ("PADARIA DO CAIS", "METRO LISBOA", "MERCADO DE ALVALADE", "LIVRARIA ROSSIO", "AGUAS DO OESTE", "CINEMA NIMAS")


@dataclass
class Account:
    iban: str
    label: str
    sort: str
    overdraft: int
    booked: int
    moves: list[dict[str, Any]] = field(default_factory=list)

    def book(self, day: date, side: str, cents: int, text: str, note: str | None = None) -> None:
        self.booked += cents if side == "IN" else -cents
        move = {"moveNo": len(self.moves) + 1, "bookedOn": day.isoformat(), "valueOn": day.isoformat(), "side": side}
        self.moves.append(move | {"cents": cents, "runningCents": self.booked, "text": text, "note": note})


@dataclass(frozen=True)
class Customer:
    number: str
    pin: str
    accounts: Sequence[Account]


@dataclass
class Thing:
    """What a customer signs or refuses at `ticket`."""

    app: str
    ref: str
    ticket: str
    asked: dict[str, Any]
    made: datetime
    standing: str = ""
    version: int = 1
    signed: datetime | None = None

    @property
    def is_open(self) -> bool:
        return self.standing in ("PROPOSED", "PREPARED")

    def turn(self, standing: str) -> None:
        self.standing = standing
        self.version += 1


@dataclass
class Grant(Thing):
    standing: str = "PROPOSED"
    session: str = ""
    customer: Customer | None = None
    handles: dict[str, Account] = field(default_factory=dict)

    @property
    def ends(self) -> datetime:
        day = self.made.astimezone(LISBON).date() + self.asked["lastsDays"] * DAY
        return datetime.combine(day, time(23, 59, 59), LISBON)


@dataclass(kw_only=True)
class Transfer(Thing):
    grant: Grant
    payer: Account
    standing: str = "PREPARED"
    released: datetime
    fee: int

    @property
    def total(self) -> int:
        return int(self.asked["cents"]) + self.fee


def is_iban(text: Any) -> bool:
    is_formed = re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", str(text))
    return bool(is_formed) and int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1


def is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= most


def read_day(text: Any) -> str:
    try:
        return date.fromisoformat(str(text)).isoformat()
    except ValueError:
        return ""


def write_time(moment: datetime) -> str:
    return moment.astimezone(LISBON).isoformat()


class Tagus:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"tagus {seed}")
        self._trace = ""
        self._grants: dict[str, Grant] = {}
        self._transfers: dict[str, Transfer] = {}
        self._app_refs: dict[tuple[str, str], Transfer] = {}
        self._proofs: dict[str, tuple[Thing, datetime, str]] = {}
        self._bearers: dict[str, tuple[Grant, datetime]] = {}
        daily, reserve = self._open("Daily", "GIRO", 50_000), self._open("Reserve", "POT", 0)
        shared, studio = self._open("Household", "GIRO", 75_000), self._open("Studio", "GIRO", 20_000)
        self._customers = [
            Customer("3004417", "4826", [daily, reserve]),
            Customer("3019582", "7391", [shared, studio, self._open("Rainy days", "POT", 0)]),
            Customer("3027760", "6150", [self._open("Salary", "GIRO", 30_000)]),
        ]
        grant, account, transfers = f"{ACCESS}/grants/{{ref}}", f"{ACCESS}/accounts/{{handle}}", f"{MONEY}/transfers"
        transfer = f"{transfers}/{{ref}}"
        self._routes = Routes(
            ("POST", f"{ACCESS}/grants", self._propose),
            ("GET", grant, lambda request, ref: self._tell_grant(request, 200, self._grant(request, ref))),
            ("DELETE", grant, self._end),
            ("POST", f"{ACCESS}/tokens", self._trade),
            ("GET", f"{ACCESS}/accounts", self._list_accounts),
            ("GET", f"{account}/funds", self._list_funds),
            ("GET", f"{account}/moves", self._list_moves),
            ("POST", transfers, self._prepare),
            ("GET", transfer, lambda request, ref: self._tell(request, 200, self._transfer(request, ref))),
            ("DELETE", transfer, self._withdraw),
            ("POST", f"{transfer}/release", self._release),
            ("GET", "/sign/{ticket}", lambda request, ticket: self._form(self._thing(ticket))),
            ("POST", "/sign/{ticket}", self._decide),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        self._trace = self._word(16, HEX)
        headers = {"Tagus-Trace": self._trace}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            return handler(request, **parameters)
        except NoRoute as wrong:
            fault = Fault(405, "verb-not-here") if wrong.allowed else Fault(404, "nothing-here")
            headers |= {"Allow": ", ".join(wrong.allowed)} if wrong.allowed else {}
        except Fault as raised:
            fault = raised
        if fault.status == 401:
            headers["WWW-Authenticate"] = f'{"Basic" if fault.word == "app-unknown" else "Bearer"} realm="tagus"'
        title = fault.word.replace("-", " ").capitalize()
        document = {"type": f"urn:tagus:problem:{fault.word}", "title": title, "status": fault.status}
        document |= {"instance": f"urn:tagus:trace:{self._trace}", **fault.more}
        return respond(fault.status, document, headers, media="application/problem+json")

    @property
    def _today(self) -> date:
        return self.clock.now.astimezone(LISBON).date()

    def _word(self, length: int, signs: str = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _open(self, label: str, sort: str, overdraft: int) -> Account:
        basic, cents = f"08710001{self._word(11, DIGITS)}", self._random.randrange(240_000, 420_000)
        account = Account(f"PT50{basic}{98 - int(basic + '00') % 97:02}", label, sort, overdraft, cents)
        for row in range(self._random.randrange(5), 28):
            day = self._today - (170 - 6 * row - self._random.randrange(5)) * DAY
            side, least, most, who = ("IN", 18_000, 90_000, PAYERS) if row % 3 == 1 else ("OUT", 190, 14_000, SHOPS)
            account.book(day, side, self._random.randrange(least, most), self._random.choice(who))
        return account

    def _advance(self) -> None:
        now = self.clock.now
        for grant in self._grants.values():
            if grant.is_open and now >= grant.made + timedelta(minutes=20):
                grant.turn("ABANDONED")
            elif grant.standing == "ACTIVE" and now > grant.ends:
                grant.turn("LAPSED")
        for transfer in self._transfers.values():
            ends = transfer.signed + timedelta(minutes=10) if transfer.signed else transfer.made + timedelta(minutes=30)
            if transfer.standing in ("PREPARED", "SIGNED") and now >= ends:
                transfer.turn("STALE")
            sent, settled = (transfer.released + timedelta(minutes=one) for one in PACE[transfer.asked["speed"]])
            if transfer.standing == "QUEUED" and now >= sent:
                transfer.turn("SENT")
            if transfer.standing == "SENT" and now >= settled:
                transfer.turn("SETTLED")
                day, text = settled.astimezone(LISBON).date(), f"TRF TO {transfer.asked['payee']['name'].upper()}"
                transfer.payer.book(day, "OUT", transfer.asked["cents"], text, transfer.asked["note"])
                if transfer.fee:
                    transfer.payer.book(day, "OUT", transfer.fee, "TRF FEE")

    def _app(self, request: Request) -> str:
        for name, (password, _) in APPS.items():
            secret = base64.b64encode(f"{name}:{password}".encode()).decode()
            if request.headers.get("authorization") == f"Basic {secret}":
                return name
        raise Fault(401, "app-unknown")

    def _granted(self, request: Request, power: str) -> Grant:
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        grant, ends = self._bearers.get(bearer, (None, self.clock.now))
        if scheme != "Bearer" or not grant or ends <= self.clock.now or grant.standing != "ACTIVE":
            raise Fault(401, "token-unusable")
        if power not in grant.asked["may"]:
            raise Fault(403, "not-granted", needs=power)
        return grant

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "body-unreadable") from None

    def _check(self, status: int, word: str, checks: Mapping[str, Any]) -> None:
        if faults := [name for name, is_right in checks.items() if not is_right]:
            raise Fault(status, word, faults=faults)

    def _wrap(self, status: int, content: Any, headers: dict[str, str] | None = None, **more: Any) -> Response:
        served = {"trace": self._trace, "at": write_time(self.clock.now)}
        document = {"content": content, **more, "served": served}
        return respond(status, document, {"Tagus-Trace": self._trace, **(headers or {})})

    def _tell_grant(self, request: Request, status: int, grant: Grant) -> Response:
        content: dict[str, Any] = {"grantRef": grant.ref, "phase": grant.standing, "may": grant.asked["may"]}
        content |= {name: write_time(one) for name, one in (("proposedAt", grant.made), ("endsAt", grant.ends))}
        if grant.signed:
            content |= {"signedAt": write_time(grant.signed), "picked": len(grant.handles)}
        headers = {"Location": f"{ACCESS}/grants/{grant.ref}"} if status == 201 else {}
        doors = {"doors": {"sign": f"{request.origin}/sign/{grant.ticket}"}} if grant.is_open else {}
        return self._wrap(status, content, headers, **doors)

    def _propose(self, request: Request) -> Response:
        app, body = self._app(request), self._body(request)
        may, days = body.get("may"), body.get("lastsDays")
        checks = {
            "may": isinstance(may, list) and may and all(power in POWERS for power in may),
            "lastsDays": type(days) is int and 1 <= days <= 180,
            "state": is_text(body.get("state"), 64),
        }
        self._check(422, "members-wrong", checks)
        signs = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ"
        ref = f"G{self._word(3, signs)}-{self._word(4, signs)}-{self._word(4, signs)}"
        self._grants[ref] = Grant(app, ref, self._word(22), body, self.clock.now)
        return self._tell_grant(request, 201, self._grants[ref])

    def _grant(self, request: Request, ref: str) -> Grant:
        app, grant = self._app(request), self._grants.get(ref)
        if not grant or grant.app != app:
            raise Fault(404, "nothing-here")
        return grant

    def _end(self, request: Request, ref: str) -> Response:
        grant = self._grant(request, ref)
        if grant.standing not in ("PROPOSED", "ACTIVE"):
            raise Fault(409, "too-late", phase=grant.standing)
        grant.turn("ENDED")
        return self._tell_grant(request, 200, grant)

    def _trade(self, request: Request) -> Response:
        app, body = self._app(request), self._body(request)
        now, proof = self.clock.now, str(body.get("code" if body.get("use") == "CODE" else "renewal"))
        grant, ends, before = self._proofs.get(proof, (None, now, ""))
        if not isinstance(grant, Grant) or grant.app != app or grant.standing != "ACTIVE" or ends <= now:
            raise Fault(400, "proof-unusable")
        del self._proofs[proof]
        self._bearers.pop(before, None)
        bearer, renewal = self._word(40), self._word(48)
        self._bearers[bearer], self._proofs[renewal] = (grant, now + timedelta(minutes=15)), (grant, grant.ends, bearer)
        content = {"bearer": bearer, "renewal": renewal, "secondsLeft": 900, "grantRef": grant.ref}
        return self._wrap(200, content, {"Cache-Control": "no-store"})

    def _list_accounts(self, request: Request) -> Response:
        content = [
            {"handle": handle, "iban": one.iban, "label": one.label, "sort": one.sort, "ccy": "EUR"}
            for handle, one in self._granted(request, "LOOK").handles.items()
        ]
        return self._wrap(200, content, window={"count": len(content), "more": False})

    def _account(self, grant: Grant, handle: str) -> Account:
        if handle not in grant.handles:
            raise Fault(404, "nothing-here")
        return grant.handles[handle]

    def _funds(self, account: Account) -> dict[str, int]:
        owed = [one for one in self._transfers.values() if one.payer is account and one.standing in ("QUEUED", "SENT")]
        held = sum(one.total for one in owed)
        return {"BOOKED": account.booked, "HELD": held, "USABLE": account.booked - held + account.overdraft}

    def _list_funds(self, request: Request, handle: str) -> Response:
        funds = self._funds(self._account(self._granted(request, "FUNDS"), handle))
        return self._wrap(200, [{"what": what, "cents": cents, "ccy": "EUR"} for what, cents in funds.items()])

    def _list_moves(self, request: Request, handle: str) -> Response:
        grant, query, start = self._granted(request, "MOVES"), dict(request.query), 0
        account, today = self._account(grant, handle), self._today
        if "after" in query:
            try:
                told, start, query = json.loads(base64.urlsafe_b64decode(query["after"]))
            except (TypeError, ValueError):
                told = ""
            if told != handle or len(request.query) > 1:
                raise Fault(400, "cursor-wrong")
        since = read_day(query.get("since", str(today - 30 * DAY)))
        until = read_day(query.get("until", str(today + DAY)))
        side, limit, earliest = query.get("side", "BOTH"), query.get("limit", "20"), str(today - 90 * DAY)
        checks = {
            "since": since,
            "until": since < until,
            "side": side in ("BOTH", "IN", "OUT"),
            "limit": limit.isdecimal() and 1 <= int(limit) <= 50,
        }
        self._check(400, "query-wrong", checks)
        if since < earliest and grant.signed and self.clock.now > grant.signed + timedelta(minutes=15):
            raise Fault(403, "too-far-back", earliest=earliest)
        moves = [one for one in account.moves if since <= one["bookedOn"] < until and side in ("BOTH", one["side"])]
        end = start + int(limit)
        window: dict[str, Any] = {"count": len(moves[start:end]), "more": end < len(moves)}
        if window["more"]:
            window["after"] = base64.urlsafe_b64encode(json.dumps([handle, end, query]).encode()).decode()
        return self._wrap(200, moves[start:end], window=window)

    def _tell(self, request: Request, status: int, transfer: Transfer) -> Response:
        asked, path = transfer.asked, f"{MONEY}/transfers/{transfer.ref}"
        content = {"transferRef": transfer.ref, "progress": transfer.standing, "appRef": asked["appRef"]}
        content |= {"reason": "NO_COVER"} if transfer.standing == "TURNED_AWAY" else {}
        content |= {name: asked[name] for name in ("fromAccount", "cents", "note", "speed")} | {"ccy": "EUR"}
        content |= {"feeCents": transfer.fee, "preparedAt": write_time(transfer.made)}
        content["payee"] = {"name": asked["payee"]["name"], "ibanEnd": asked["payee"]["iban"][-4:]}
        doors = {"sign": f"{request.origin}/sign/{transfer.ticket}"} if transfer.is_open else {}
        doors |= {"withdraw": path} if transfer.standing in ("PREPARED", "SIGNED", "QUEUED") else {}
        headers = {"ETag": f'"{transfer.version}"'} | ({"Location": path} if status == 201 else {})
        return self._wrap(status, content, headers, **({"doors": doors} if doors else {}))

    def _prepare(self, request: Request) -> Response:
        grant, body = self._granted(request, "PAY"), self._body(request)
        key = grant.app, str(body.get("appRef"))
        if before := self._app_refs.get(key):
            if before.asked != body:
                raise Fault(409, "ref-taken", existing=before.ref)
            return self._tell(request, 200, before)
        payee = body["payee"] if isinstance(body.get("payee"), dict) else {}
        cents = body.get("cents")
        checks = {
            "appRef": is_text(body.get("appRef"), 36),
            "fromAccount": str(body.get("fromAccount")) in grant.handles,
            "payee.iban": is_iban(payee.get("iban")),
            "payee.name": is_text(payee.get("name"), 70),
            "cents": type(cents) is int and cents > 0,
            "note": is_text(body.get("note"), 140),
            "speed": str(body.get("speed")) in FEES,
            "state": is_text(body.get("state"), 64),
        }
        self._check(422, "members-wrong", checks)
        ref, now = f"T{self._today:%y%m%d}{self._word(6, DIGITS)}", self.clock.now
        more: dict[str, Any] = {"payer": grant.handles[body["fromAccount"]], "fee": FEES[body["speed"]]}
        transfer = Transfer(grant.app, ref, self._word(22), body, now, grant=grant, released=now, **more)
        self._transfers[ref] = self._app_refs[key] = transfer
        return self._tell(request, 201, transfer)

    def _transfer(self, request: Request, ref: str) -> Transfer:
        grant, transfer = self._granted(request, "PAY"), self._transfers.get(ref)
        if not transfer or transfer.grant is not grant:
            raise Fault(404, "nothing-here")
        return transfer

    def _release(self, request: Request, ref: str) -> Response:
        transfer, code = self._transfer(request, ref), str(self._body(request).get("code"))
        if transfer.standing != "SIGNED":
            raise Fault(409, "too-late", progress=transfer.standing)
        if self._proofs.get(code, (None,))[0] is not transfer:
            raise Fault(400, "proof-unusable")
        transfer.turn("QUEUED" if transfer.total <= self._funds(transfer.payer)["USABLE"] else "TURNED_AWAY")
        transfer.released = self.clock.now
        return self._tell(request, 202, transfer)

    def _withdraw(self, request: Request, ref: str) -> Response:
        transfer, known = self._transfer(request, ref), request.headers.get("if-match")
        if not known:
            raise Fault(428, "version-missing")
        if known != f'"{transfer.version}"':
            raise Fault(412, "version-old")
        if transfer.standing not in ("PREPARED", "SIGNED", "QUEUED"):
            raise Fault(409, "too-late", progress=transfer.standing)
        transfer.turn("WITHDRAWN")
        return self._tell(request, 200, transfer)

    def _thing(self, ticket: str) -> Grant | Transfer | None:
        things: list[Grant | Transfer] = [*self._grants.values(), *self._transfers.values()]
        return next((one for one in things if one.ticket == ticket and one.is_open), None)

    def _form(self, thing: Grant | Transfer | None, hint: str = "", customer: Customer | None = None) -> Response:
        if not thing:
            return show(404, "Tagus", "<p>This link does not work any more.</p>")
        choice, content = "enter", '<input name="pin" type="password" maxlength="4">'
        if isinstance(thing, Transfer):
            euros, cents = divmod(thing.total, 100)
            asked, choice = f"Send {thing.asked['payee']['name']} {euros},{cents:02} €, with all fees?", "sign"
        elif customer:
            box = '<label><input type="checkbox" name="pick" value="{}">{}</label>'
            content = f'<input type="hidden" name="session" value="{thing.session}">'
            content += "".join(box.format(one.iban, one.label) for one in customer.accounts)
            asked, choice = "Which accounts?", "agree"
        else:
            asked = f"{thing.app} asks to: {', '.join(thing.asked['may'])}"
            content = f'<input name="customer">{content}'
        content += f'<button name="choice" value="{choice}">{choice.capitalize()}</button>{LEAVE}'
        return show(200, "Tagus", f'<p class="hint">{hint}</p><p>{asked}</p><form method="post">{content}</form>')

    def _decide(self, request: Request, ticket: str) -> Response:
        thing, choice, pin = self._thing(ticket), request.field("choice"), request.field("pin")
        if not thing:
            return self._form(None)
        if choice == "leave":
            thing.turn("REFUSED")
            return self._back(thing, {"error": "access_denied"})
        if isinstance(thing, Transfer):
            if choice != "sign" or not thing.grant.customer or thing.grant.customer.pin != pin:
                return self._form(thing, "This PIN does not match.")
            thing.turn("SIGNED")
        elif choice == "agree" and thing.customer and request.field("session") == thing.session:
            picks = request.form.get("pick", [])
            thing.handles = {self._word(16, HEX): one for one in thing.customer.accounts if one.iban in picks}
            if not thing.handles:
                return self._form(thing, "Please pick an account.", thing.customer)
            thing.turn("ACTIVE")
        else:
            given = request.field("customer"), pin
            customer = next((one for one in self._customers if (one.number, one.pin) == given), None)
            if not customer:
                return self._form(thing, "This number and PIN do not match.")
            thing.customer, thing.session = customer, self._word(24)
            return self._form(thing, "", customer)
        thing.signed, code = self.clock.now, self._word(28)
        self._proofs[code] = thing, self.clock.now + timedelta(minutes=2), ""
        return self._back(thing, {"code": code})

    def _back(self, thing: Thing, told: dict[str, str]) -> Response:
        query = urlencode(told | {"state": thing.asked["state"]})
        return Response(302, "", {"Location": f"{APPS[thing.app][1]}?{query}"})
