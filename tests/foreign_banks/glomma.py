"""Glomma, a Norwegian savings bank with an interface of its own: all words are Norwegian, the customer's phone decides.

- POST `/tilgang/v1/billetter` with `app` and `hemmelighet` gives a ticket for an hour: `Authorization: Billett …`.
- Every answer has a Glomma-Sporing of the bank; a refusal repeats it. Refusals are `{"avvik": [{"kode", "tekst",
  "felt"?}], "sporing"}` of an own media type, with one item for each wrong member. A wrong method is a bare 405.
- POST `…/fullmakter` is 202: the mandate is VENTER and a confirmation is on the customer's phone. Then it is AKTIV with
  the customer's name, AVSLATT, BORTFALT if nobody answers, UTLOPT after its last day, or OPPHORT by POST `…/avslutt`.
  Reads send it in Glomma-Fullmakt: 403 while it waits, with another code after its end, and with a third for what is
  not in `innsyn`. Keys of accounts are made for each mandate.
- A confirmation is SENDT (with `ventSekunder` for polling), then BEKREFTET, AVSLATT, or UTLOPT after three minutes.
  The phone (`/sandkasse/…`) answers by the two words that the app got as `referanseord`, and shows what it answered.
- An order is a KLADD until POST `…/bekreftelser` sends it, alone or with others, to the phone: TIL_BEKREFTELSE, and
  KLADD again if nobody answers. No: AVSLATT. Yes: GODKJENT, or I_FORFALLSREGISTER until six o'clock of a later day, or
  AVVIST with `arsak` if it is not covered, which nothing checks before. After a minute it is UNDER_UTFORELSE, after
  five UTFORT with the `arkivref` of its entry. GODKJENT and UNDER_UTFORELSE are reserved. POST `…/angre` makes it
  ANGRET while `kanAngres` is true. `historikk` grows by each phase.
- `egenReferanse` makes orders idempotent: the same order again is 200, not 201; another one with it is 409.
- An order has either a `kid` (digits with a check digit) or a `melding`. Without `forfall` it is due today. Numbers of
  accounts have a check digit, are taken with or without dots, and always told with dots.
- Orders have whole øre; balances and entries signed decimal text in kroner. Times and days are those of Oslo.
- Entries are oldest first, each with the balance after it. Days are inclusive. A page behind the last is 404.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond

OSLO = ZoneInfo("Europe/Oslo")
APPS = {"regnestua": ("Regnestua", "tiriltunge"), "kontoblikk": ("Kontoblikk", "linerle")}
INSIGHTS = ("KONTOER", "SALDO", "POSTER")
CANCELLABLE = ("KLADD", "GODKJENT", "I_FORFALLSREGISTER")
SHOPS = "Kiwi Elverum|Vy|Rema 1000 Kongsvinger|Apotek 1|Circle K Skarnes|Norli|Vinmonopolet|Coop Extra Rena".split("|")
COLOURS = "GRØNN BLÅ RØD GUL STILLE RASK LITEN LANG MILD TØRR LYS SNILL".split()
NOUNS = "FJORD ØRRET KVERN BREKKE LÅVE ELV SKOG HESJE BÅT FURU ÅKER STEIN".split()
TEXTS = {
    1001: "Innholdet er ikke et JSON-objekt",
    1002: "Verdien er ugyldig",
    2001: "Billetten mangler, er ukjent eller utløpt",
    2002: "Appen eller hemmeligheten er feil",
    3001: "Fullmakten venter på kunden",
    3002: "Fullmakten gjelder ikke lenger",
    3003: "Fullmakten gir ikke dette innsynet",
    4001: "Finnes ikke",
    4002: "Siden finnes ikke",
    5001: "Egenreferansen er brukt på et annet oppdrag",
    5002: "Oppdraget kan ikke angres",
    5003: "KID har feil kontrollsiffer",
    5004: "Oppdraget er ingen kladd",
}


@dataclass
class Account:
    number: str
    name: str
    kind: str
    ore: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    mobile: str
    pin: str
    name: str
    accounts: Sequence[Account]


def is_account_number(digits: str) -> bool:
    """Whether the last of eleven digits checks the others, by modulus 11."""
    if len(digits) != 11 or not digits.isdecimal():
        return False
    weights = (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True)) % 11 == 0


def is_kid(digits: Any) -> bool:
    """Whether the last of 2 to 25 digits checks the others, by modulus 10."""
    if not isinstance(digits, str) or not digits.isdecimal() or not 2 <= len(digits) <= 25:
        return False
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(value // 10 + value % 10 for value in doubled) % 10 == 0


def dotted(digits: str) -> str:
    return f"{digits[:4]}.{digits[4:6]}.{digits[6:]}"


def kroner(ore: int) -> str:
    return f"{'-' if ore < 0 else ''}{abs(ore) // 100}.{abs(ore) % 100:02}"


def is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= most


def as_day(text: Any) -> date | None:
    try:
        return date.fromisoformat(str(text))
    except ValueError:
        return None


def tell_time(moment: datetime) -> str:
    return moment.astimezone(OSLO).isoformat(timespec="seconds")


@dataclass
class Thing:
    id: str
    app: str
    customer: Customer
    asked: datetime


@dataclass
class Mandate(Thing):
    insights: list[str]
    last_day: date
    state: str = "VENTER"
    keys: dict[str, Account] = field(default_factory=dict)
    more: dict[str, str] = field(default_factory=dict)

    @property
    def document(self) -> dict[str, Any]:
        shown = {"fullmakt": self.id, "tilstand": self.state, "innsyn": self.insights}
        return shown | {"opprettet": tell_time(self.asked), "gyldigTilOgMed": self.last_day.isoformat(), **self.more}


@dataclass
class Order(Thing):
    payer: Account
    wish: dict[str, Any]
    due: date
    history: list[tuple[str, datetime]]
    more: dict[str, str] = field(default_factory=dict)

    @property
    def phase(self) -> str:
        return self.history[-1][0]

    @property
    def ore(self) -> int:
        return int(self.wish["belopOre"])

    @property
    def document(self) -> dict[str, Any]:
        payee = self.wish["mottaker"]
        return {
            "oppdrag": self.id,
            "fase": self.phase,
            **{name: self.wish[name] for name in ("egenReferanse", "belopOre", "kid", "melding") if name in self.wish},
            "fraKonto": dotted(self.payer.number),
            "mottaker": {"navn": payee["navn"], "konto": dotted(str(payee["konto"]).replace(".", ""))},
            "forfall": self.due.isoformat(),
            "kanAngres": self.phase in CANCELLABLE,
            "historikk": [{"fase": phase, "tid": tell_time(moment)} for phase, moment in self.history],
            **self.more,
        }


@dataclass
class Confirmation(Thing):
    words: str
    mandate: Mandate | None
    orders: list[Order]
    state: str = "SENDT"

    @property
    def deadline(self) -> datetime:
        return self.asked + timedelta(minutes=3)

    @property
    def document(self) -> dict[str, Any]:
        things = [self.mandate] if self.mandate else self.orders
        return {
            "bekreftelse": self.id,
            "stilling": self.state,
            "gjelder": [one.id for one in things],
            "svarfrist": tell_time(self.deadline),
            **({"sumOre": sum(one.ore for one in self.orders)} if self.orders else {}),
            **({"referanseord": self.words, "ventSekunder": 2} if self.state == "SENDT" else {}),
        }


class Refusal(Exception):
    def __init__(self, status: int, *wrong: int | tuple[int, str]) -> None:
        super().__init__(status, wrong)
        self.status = status
        pairs = [(one, "") if isinstance(one, int) else one for one in wrong]
        self.items = [{"kode": code, "tekst": TEXTS[code]} | ({"felt": at} if at else {}) for code, at in pairs]


def require(status: int, checks: Mapping[str, bool]) -> None:
    if wrong := [(1002, name) for name, is_right in checks.items() if not is_right]:
        raise Refusal(status, *wrong)


class Glomma:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"glomma {seed}")
        self._tickets: dict[str, tuple[str, datetime]] = {}
        self._mandates: dict[str, Mandate] = {}
        self._orders: dict[str, Order] = {}
        self._sent: dict[str, Confirmation] = {}
        ingrid = [self._open("15062410385 Brukskonto BRUK 2318447"), self._open("15062577123 Hyttekassa SPARE 9612050")]
        odd = [self._open("15063318806 Lønn BRUK 4420865"), self._open("15063318830 Regninger BRUK 1873915")]
        self._customers = [
            Customer("91327504", "2468", "Ingrid Solbakken", ingrid),
            Customer("40518263", "8351", "Odd Myhre", odd),
            Customer("98760142", "1793", "Sunniva Aas", [self._open("15064450015 Ungdomskonto BRUK 318290")]),
        ]
        mandate, order = "/apne/v2/fullmakter/{id}", "/apne/v2/oppdrag/{id}"
        account, sent = "/apne/v2/kontoer/{key}", "/apne/v2/bekreftelser/{id}"
        self._routes = Routes(
            ("POST", "/tilgang/v1/billetter", self._give_ticket),
            ("POST", "/apne/v2/fullmakter", self._ask_mandate),
            ("GET", mandate, lambda request, id: respond(200, self._find(request, self._mandates, id).document)),
            ("POST", mandate + "/avslutt", self._end_mandate),
            ("GET", "/apne/v2/kontoer", self._list_accounts),
            ("GET", account + "/saldo", self._balances),
            ("GET", account + "/poster", self._list_entries),
            ("POST", "/apne/v2/oppdrag", self._draft),
            ("GET", order, lambda request, id: respond(200, self._find(request, self._orders, id).document)),
            ("POST", order + "/angre", self._cancel),
            ("POST", "/apne/v2/bekreftelser", self._send_orders),
            ("GET", sent, lambda request, id: respond(200, self._find(request, self._sent, id).document)),
            ("POST", "/sandkasse/telefoner/{mobile}/svar", self._phone),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        told = {"Glomma-Sporing": f"{self._random.getrandbits(64):016x}"}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            answer: Response = handler(request, **parameters)
            return Response(answer.status, answer.content, {**answer.headers, **told})
        except NoRoute as wrong:
            if wrong.allowed:
                return Response(405, "", {"Allow": ", ".join(wrong.allowed), **told})
            refusal = Refusal(404, 4001)
        except Refusal as error:
            refusal = error
            told |= {"WWW-Authenticate": "Billett"} if error.status == 401 else {}
        document = {"avvik": refusal.items, "sporing": told["Glomma-Sporing"]}
        return respond(refusal.status, document, told, media="application/vnd.glomma.avvik+json")

    @property
    def _today(self) -> date:
        return self.clock.now.astimezone(OSLO).date()

    def _open(self, line: str) -> Account:
        """An account with its entries, from its number, name, kind and balance in øre."""
        number, name, kind, ore = line.split()
        days = sorted(self._random.sample(range(2, 80), 28), reverse=True)
        changes = [self._random.choice((-1, -1, -1, 1)) * self._random.randrange(1_900, 94_000) for _ in days]
        account = Account(number, name, kind, int(ore) - sum(changes))
        for ago, change in zip(days, changes, strict=True):
            text, form = (self._random.choice(SHOPS), "VAREKJOP") if change < 0 else ("Vipps", "INNBETALING")
            self._book(account, self.clock.now - timedelta(days=ago), change, text, form)
        return account

    def _book(self, account: Account, at: datetime, change: int, text: str, kind: str, **more: Any) -> str:
        account.ore += change
        reference = f"{self._random.randrange(10**9):09}"
        entry = {"arkivref": reference, "bokfort": tell_time(at)[:10], "tekst": text, "type": kind, **more}
        account.entries.append({**entry, "belop": kroner(change), "saldoEtter": kroner(account.ore)})
        return reference

    def _available(self, account: Account) -> int:
        reserved = [one for one in self._orders.values() if one.phase in ("GODKJENT", "UNDER_UTFORELSE")]
        return account.ore - sum(one.ore for one in reserved if one.payer is account)

    def _advance(self) -> None:
        now = self.clock.now
        for confirmation in self._sent.values():
            if confirmation.state == "SENDT" and confirmation.deadline <= now:
                confirmation.state = "UTLOPT"
                if confirmation.mandate:
                    confirmation.mandate.state = "BORTFALT"
                for order in confirmation.orders:
                    order.history.append(("KLADD", confirmation.deadline))
        for mandate in self._mandates.values():
            if mandate.state == "AKTIV" and mandate.last_day < self._today:
                mandate.state = "UTLOPT"
        for order in self._orders.values():
            opens = datetime.combine(order.due, time(6), OSLO)
            if order.phase == "I_FORFALLSREGISTER" and opens <= now:
                self._accept(order, opens)
            minute, since = timedelta(minutes=1), order.history[-1][1]
            if order.phase == "GODKJENT" and since + minute <= now:
                order.history.append(("UNDER_UTFORELSE", since := since + minute))
            if order.phase == "UNDER_UTFORELSE" and since + 4 * minute <= now:
                order.history.append(("UTFORT", since := since + 4 * minute))
                text = f"Til: {order.wish['mottaker']['navn']} Betalt: {since.astimezone(OSLO):%d.%m.%y}"
                more = {name: order.wish[name] for name in ("kid", "melding") if name in order.wish}
                order.more["arkivref"] = self._book(order.payer, since, -order.ore, text, "NETTBANK", **more)

    def _accept(self, order: Order, moment: datetime) -> None:
        is_covered = order.ore <= self._available(order.payer)
        order.more |= {} if is_covered else {"arsak": "MANGLER_DEKNING"}
        order.history.append(("GODKJENT" if is_covered else "AVVIST", moment))

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Refusal(400, 1001) from None

    def _give_ticket(self, request: Request) -> Response:
        body = self._body(request)
        app = str(body.get("app"))
        if app not in APPS or APPS[app][1] != body.get("hemmelighet"):
            raise Refusal(401, 2002)
        ticket, ends = f"{self._random.getrandbits(160):040x}", self.clock.now + timedelta(hours=1)
        self._tickets[ticket] = app, ends
        return respond(201, {"billett": ticket, "gyldigTil": tell_time(ends)}, {"Cache-Control": "no-store"})

    def _app(self, request: Request) -> str:
        scheme, _, ticket = request.headers.get("authorization", "").partition(" ")
        app, ends = self._tickets.get(ticket, ("", self.clock.now))
        if scheme != "Billett" or ends <= self.clock.now:
            raise Refusal(401, 2001)
        return app

    def _find[T: Thing](self, request: Request, things: Mapping[str, T], id: str) -> T:
        app, thing = self._app(request), things.get(id)
        if not thing or thing.app != app:
            raise Refusal(404, 4001)
        return thing

    def _send(self, app: str, customer: Customer, mandate: Mandate | None, orders: list[Order]) -> Confirmation:
        taken = {one.words for one in self._sent.values() if one.state == "SENDT"}
        while (words := f"{self._random.choice(COLOURS)} {self._random.choice(NOUNS)}") in taken:
            pass
        id = f"BK{self._random.getrandbits(64):016x}"
        self._sent[id] = Confirmation(id, app, customer, self.clock.now, words, mandate, orders)
        return self._sent[id]

    def _ask_mandate(self, request: Request) -> Response:
        app, body = self._app(request), self._body(request)
        owners = [one for one in self._customers if one.mobile == body.get("mobil")]
        insights, days = body.get("innsyn", []), body.get("varighetDager", 0)
        is_known = isinstance(insights, list) and bool(insights) and all(one in INSIGHTS for one in insights)
        is_short = type(days) is int and 1 <= days <= 180
        require(422, {"mobil": bool(owners), "innsyn": is_known, "varighetDager": is_short})
        [customer] = owners
        id = f"FM-{self._random.randrange(10**8):08}"
        mandate = Mandate(id, app, customer, self.clock.now, insights, self._today + timedelta(days=days))
        self._mandates[id] = mandate
        document = {**mandate.document, "bekreftelse": self._send(app, customer, mandate, []).document}
        return respond(202, document, {"Location": f"/apne/v2/fullmakter/{id}"})

    def _end_mandate(self, request: Request, id: str) -> Response:
        mandate = self._find(request, self._mandates, id)
        if mandate.state != "AKTIV":
            raise Refusal(409, 3001 if mandate.state == "VENTER" else 3002)
        mandate.state = "OPPHORT"
        return respond(200, mandate.document)

    def _in_force(self, request: Request, insight: str) -> Mandate:
        mandate = self._find(request, self._mandates, request.headers.get("glomma-fullmakt", ""))
        if mandate.state != "AKTIV":
            raise Refusal(403, 3001 if mandate.state == "VENTER" else 3002)
        if insight not in mandate.insights:
            raise Refusal(403, 3003)
        return mandate

    def _account(self, request: Request, key: str, insight: str) -> Account:
        if account := self._in_force(request, insight).keys.get(key):
            return account
        raise Refusal(404, 4001)

    def _list_accounts(self, request: Request) -> Response:
        mandate = self._in_force(request, "KONTOER")
        rows = [
            {"nokkel": key, "kontonummer": dotted(one.number), "navn": one.name, "slag": one.kind}
            for key, one in mandate.keys.items()
        ]
        return respond(200, {"eier": mandate.customer.name, "kontoer": rows})

    def _balances(self, request: Request, key: str) -> Response:
        account = self._account(request, key, "SALDO")
        amounts = {"BOKFORT": account.ore, "DISPONIBEL": self._available(account)}
        rows = [{"slag": kind, "belop": kroner(ore)} for kind, ore in amounts.items()]
        return respond(200, {"saldoer": rows, "valuta": "NOK", "tidspunkt": tell_time(self.clock.now)})

    def _list_entries(self, request: Request, key: str) -> Response:
        account, query = self._account(request, key, "POSTER"), request.query
        first = as_day(query.get("fraOgMed", self._today - timedelta(days=90)))
        last = as_day(query.get("tilOgMed", self._today))
        page, size = (int(text) if text.isdecimal() else 0 for text in map(query.get, ("side", "antall"), ("1", "20")))
        is_after = last is not None and (first is None or first <= last)
        require(400, {"fraOgMed": bool(first), "tilOgMed": is_after, "side": page > 0, "antall": 1 <= size <= 50})
        rows = [one for one in account.entries if str(first) <= one["bokfort"] <= str(last)]
        pages = max(1, -(-len(rows) // size))
        if page > pages:
            raise Refusal(404, (4002, "side"))
        place = {"side": page, "sider": pages, "totalt": len(rows)} | ({"neste": page + 1} if page < pages else {})
        return respond(200, {"poster": rows[(page - 1) * size : page * size], "blad": place})

    def _draft(self, request: Request) -> Response:
        app, body = self._app(request), self._body(request)
        payee = body["mottaker"] if isinstance(body.get("mottaker"), dict) else {}
        reference, ore, kid, message = map(body.get, ("egenReferanse", "belopOre", "kid", "melding"))
        for order in self._orders.values():
            if order.app == app and order.wish["egenReferanse"] == reference:
                if order.wish != body:
                    raise Refusal(409, (5001, "egenReferanse"))
                return respond(200, order.document)
        number = str(body.get("fraKonto")).replace(".", "")
        owned = [(who, one) for who in self._customers for one in who.accounts if one.number == number]
        due = as_day(body.get("forfall", self._today)) or date.min
        checks = {
            "egenReferanse": is_text(reference, 35),
            "fraKonto": bool(owned),
            "mottaker.navn": is_text(payee.get("navn"), 70),
            "mottaker.konto": is_account_number(str(payee.get("konto")).replace(".", "")),
            "belopOre": type(ore) is int and ore > 0,
            "kid": (kid is None) != (message is None),
            "melding": message is None or is_text(message, 140),
            "forfall": self._today <= due <= self._today + timedelta(days=365),
        }
        require(422, checks)
        if kid is not None and not is_kid(kid):
            raise Refusal(422, (5003, "kid"))
        [(customer, payer)] = owned
        id, now = f"OP-{self._today:%y%m%d}-{self._random.randrange(10**5):05}", self.clock.now
        self._orders[id] = Order(id, app, customer, now, payer, body, due, [("KLADD", now)])
        return respond(201, self._orders[id].document)

    def _cancel(self, request: Request, id: str) -> Response:
        order = self._find(request, self._orders, id)
        if order.phase not in CANCELLABLE:
            raise Refusal(409, 5002)
        order.history.append(("ANGRET", self.clock.now))
        return respond(200, order.document)

    def _send_orders(self, request: Request) -> Response:
        app, ids = self._app(request), self._body(request).get("oppdrag")
        ids = list(dict.fromkeys(map(str, ids))) if isinstance(ids, list) else []
        require(422, {"oppdrag": 1 <= len(ids) <= 10})
        orders = [self._find(request, self._orders, id) for id in ids]
        require(422, {"oppdrag": all(one.customer is orders[0].customer for one in orders)})
        if any(one.phase != "KLADD" for one in orders):
            raise Refusal(409, (5004, "oppdrag"))
        for one in orders:
            one.history.append(("TIL_BEKREFTELSE", self.clock.now))
        sent = self._send(app, orders[0].customer, None, orders)
        return respond(202, sent.document, {"Location": f"/apne/v2/bekreftelser/{sent.id}"})

    def _phone(self, request: Request, mobile: str) -> Response:
        body = self._body(request)
        asked, decision = (mobile, body.get("pin"), body.get("referanseord")), body.get("svar")
        waiting = [one for one in self._sent.values() if one.state == "SENDT"]
        one = next((one for one in waiting if (one.customer.mobile, one.customer.pin, one.words) == asked), None)
        if not one:
            raise Refusal(404, 4001)
        require(422, {"svar": decision in ("JA", "NEI")})
        one.state = "BEKREFTET" if decision == "JA" else "AVSLATT"
        amount = f"{kroner(sum(order.ore for order in one.orders))} kr".replace(".", ",")
        text = f"{APPS[one.app][0]} vil at du betaler {len(one.orders)} oppdrag, til sammen {amount}"
        if mandate := one.mandate:
            text = f"{APPS[one.app][0]} vil se {', '.join(mandate.insights)} til og med {mandate.last_day:%d.%m.%Y}"
            mandate.state = "AKTIV" if decision == "JA" else "AVSLATT"
            if decision == "JA":
                mandate.more = {"kunde": one.customer.name, "aktivert": tell_time(self.clock.now)}
                mandate.keys = {f"{self._random.getrandbits(48):012x}": account for account in one.customer.accounts}
        for order in one.orders:
            if decision == "JA" and order.due <= self._today:
                self._accept(order, self.clock.now)
            else:
                order.history.append(("I_FORFALLSREGISTER" if decision == "JA" else "AVSLATT", self.clock.now))
        return respond(200, {"vist": text, "svar": decision})
