"""Vänern, a Swedish bank with an interface of its own: customers give "medgivanden" with an identification app.

- Everything under `/oppen/v2` needs the header Begaran-Id, which is repeated. POST `/inloggning` with `app` and
  `hemlighet` gives a `nyckel` for 30 minutes, sent as `Authorization: Nyckel …`; without a valid one 401.
- Errors are `{"fel": {"kod", "text", "begaranId", "detaljer"?}}`; `detaljer` names headers, parameters or members.
- POST `/medgivanden` with `omfattning` and `dagar` (1 to 180). It is "oklart", then "galler", "avbojt", "aterkallat"
  (by DELETE, 204) or "utganget" (after the day `giltigtTill`).
- POST `/medgivanden/{id}/legitimering` or `/betalningar/{id}/signering` (202) starts the identification app and gives
  an `orderreferens`; GET `/legitimeringar/{ref}` is "vantar", "klar" or "misslyckad" (declined, or after three
  minutes) and tells the state of the matter. A "klar" one for a medgivande brings a `kundnyckel`, which reads of
  accounts, transfers and new payments send as header Kundnyckel: 403 if the medgivande does not apply or does not
  include the matter.
- POST `/sandlada/legitimeringar/{ref}/svar` is the customer: `personnummer`, `sakerhetskod` and `svar`, which is
  "signera" or "avbryt". A wrong code gives 403, a decided or ended order 409.
- Amounts are `{"varde": "1 234,50", "valuta": "SEK"}`; requests may leave out the space. `rorelser` are newest first
  and filtered by `fran`, `till`, `minst` and `mest` (sizes without sign) and `sok`; pages have `sida` and `storlek`.
- POST `/betalningar` to a bankgiro (with check digit) on a `betaldag`, today unless told. It is "osignerat", then
  "signerat" or "avbojt"; five minutes after the signature, but not before its day, it is "bokfort", or "avvisat" if
  the account does not cover it. Until then PUT `…/makulering` makes it "makulerat"; later 409. Signed ones are listed
  in `/kommande`, lower the available balance and count for the account's limit of their day (422 above it, with what
  is left). POST `/overforingar` between the customer's accounts is "genomfort" at once and has no limit.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond

BASE = "/oppen/v2"
SCOPES = ("konton", "saldon", "rorelser", "betalningar")
APPS = {"kassaboken": "lingonris", "slantkollen": "bjorkris"}
SHOPS = ("Coop Karlstad", "Apoteket Hjärtat", "SJ Resor", "Systembolaget", "Biltema", "Lidköpings Bageri")
TEXTS = {
    "app_okand": "Appen är okänd eller hemligheten är fel.",
    "dagsgrans_overskriden": "Beloppet ryms inte inom kontots gräns för dagen.",
    "fel_sakerhetskod": "Personnumret eller säkerhetskoden är fel.",
    "finns_inte": "Det du söker finns inte.",
    "huvud_saknas": "Ett huvud saknas i begäran.",
    "ingen_json": "Skicka ett JSON-objekt.",
    "inte_kundens": "Kontot tillhör en annan kund.",
    "kan_inte_makuleras": "Betalningen kan inte längre makuleras.",
    "kundnyckel_okand": "Kundnyckeln är okänd.",
    "lage_tillater_inte": "Ärendets läge tillåter inte detta.",
    "medgivande_galler_inte": "Medgivandet gäller inte.",
    "metod_tillats_inte": "Metoden tillåts inte.",
    "nyckel_ogiltig": "Appens nyckel saknas, är okänd eller har gått ut.",
    "ogiltiga_uppgifter": "Rätta uppgifterna.",
    "tackning_saknas": "Det finns inte täckning på kontot.",
    "utanfor_omfattning": "Medgivandet omfattar inte detta.",
}


@dataclass
class Account:
    id: str
    number: str
    iban: str
    name: str
    holder: str
    ore: int
    limit: int
    rows: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    person: str
    code: str
    accounts: Sequence[Account]


@dataclass
class Matter:
    """What a customer decides on: a medgivande, or a payment from an account."""

    id: str
    app: str
    state: str
    document: dict[str, Any]
    customer: Customer | None = None
    payer: Account | None = None
    ore: int = 0
    key: str | None = None
    signed: datetime | None = None

    @property
    def path(self) -> str:
        return f"{BASE}/{'betalningar' if self.payer else 'medgivanden'}/{self.id}"


@dataclass
class Order:
    ref: str
    matter: Matter
    started: datetime
    status: str = "vantar"
    reason: str | None = None


def write_amount(ore: int) -> dict[str, str]:
    kronor = f"{abs(ore) // 100:,}".replace(",", " ")
    return {"varde": f"{'-' if ore < 0 else ''}{kronor},{abs(ore) % 100:02}", "valuta": "SEK"}


def read_number(text: Any) -> int | None:
    """The öre in a text like "1 234,50"."""
    if not isinstance(text, str) or not re.fullmatch(r"\d{1,3}( \d{3})+(,\d\d)?|\d{1,9}(,\d\d)?", text):
        return None
    kronor, _, rest = text.replace(" ", "").partition(",")
    return int(kronor) * 100 + int(rest or 0)


def read_amount(amount: Any, wrong: dict[str, str]) -> int:
    """Note what is wrong with an amount; it is 0 then."""
    given = amount if isinstance(amount, dict) else {}
    ore = read_number(given.get("varde"))
    if not ore:
        wrong["belopp.varde"] = "ska vara större än noll, som 1 234,50"
    if given.get("valuta") != "SEK":
        wrong["belopp.valuta"] = "ska vara SEK"
    return ore or 0


def is_bankgiro(text: Any) -> bool:
    if not isinstance(text, str) or not re.fullmatch(r"\d{3,4}-\d{4}", text):
        return False
    digits = [int(sign) for sign in reversed(text.replace("-", ""))]
    return sum(sum(divmod(digit * (1 + place % 2), 10)) for place, digit in enumerate(digits)) % 10 == 0


def write_time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def read_day(text: Any) -> date | None:
    try:
        return date.fromisoformat(text) if isinstance(text, str) and len(text) == 10 else None
    except ValueError:
        return None


class Vanern:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"vanern {seed}")
        self._keys: dict[str, tuple[str, datetime]] = {}
        self._consents: dict[str, Matter] = {}
        self._payments: dict[str, Matter] = {}
        self._orders: dict[str, Order] = {}
        astrid = {"Lönekonto": (4_118_350, 2_500_000), "Sparkonto": (8_260_000, 1_000_000)}
        bengt = {"Privatkonto": (6_204_175, 2_500_000), "Räkningar": (1_730_500, 1_500_000), "Båt": (395_000, 500_000)}
        self._customers = [
            Customer("198203142385", "407193", self._open_all("Astrid Lindqvist", astrid)),
            Customer("197511068274", "582640", self._open_all("Bengt Öberg", bengt)),
        ]
        consent, account, payment = (f"{BASE}/{one}/{{id}}" for one in ("medgivanden", "konton", "betalningar"))
        order = "legitimeringar/{ref}"
        self._routes = Routes(
            ("POST", f"{BASE}/inloggning", self._log_in),
            ("POST", f"{BASE}/medgivanden", self._ask_consent),
            ("GET", consent, lambda request, id: self._tell(200, self._find(request, self._consents, id))),
            ("DELETE", consent, self._withdraw),
            ("POST", f"{consent}/legitimering", lambda request, id: self._start(request, self._consents, id)),
            ("GET", f"{BASE}/{order}", self._poll),
            ("POST", f"/sandlada/{order}/svar", self._decide),
            ("GET", f"{BASE}/konton", self._list_accounts),
            ("GET", f"{account}/saldon", self._balances),
            ("GET", f"{account}/rorelser", self._list_rows),
            ("GET", f"{BASE}/kommande", self._list_pending),
            ("POST", f"{BASE}/betalningar", self._pay),
            ("GET", payment, lambda request, id: self._tell(200, self._find(request, self._payments, id))),
            ("POST", f"{payment}/signering", lambda request, id: self._start(request, self._payments, id)),
            ("PUT", f"{payment}/makulering", self._cancel),
            ("POST", f"{BASE}/overforingar", self._transfer),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        named = request.headers.get("begaran-id")
        told = {"Begaran-Id": named} if named else {}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            if request.path.startswith(BASE):
                self._header(request, "Begaran-Id")
            response: Response = handler(request, **parameters)
            return Response(response.status, response.content, {**told, **response.headers})
        except NoRoute as wrong:
            fault = Fault(405, "metod_tillats_inte") if wrong.allowed else Fault(404, "finns_inte")
            if wrong.allowed:
                told["Allow"] = ", ".join(wrong.allowed)
        except Fault as raised:
            fault = raised
        document = {"kod": fault.word, "text": TEXTS[fault.word], "begaranId": named, **fault.more}
        return respond(fault.status, {"fel": document}, told)

    def _word(self, length: int, signs: str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _open_all(self, holder: str, accounts: dict[str, tuple[int, int]]) -> list[Account]:
        return [self._open(name, holder, ore, limit) for name, (ore, limit) in accounts.items()]

    def _open(self, name: str, holder: str, ore: int, limit: int) -> Account:
        number = "1" + self._word(6, "0123456789")
        rest, ore = f"9510000009512{number}", ore + self._random.randrange(500_000)
        digits = f"{98 - int(rest + '281400') % 97:02}"
        account = Account(f"K{self._word(9)}", f"9512-{number}", f"SE{digits}{rest}", name, holder, ore, limit)
        for days in sorted(self._random.sample(range(1, 88), 41), reverse=True):
            change = self._random.choice((-1, -1, -1, -1, 1)) * self._random.randrange(2_500, 240_000)
            shop, kind = self._random.choice(SHOPS), "kortkop" if change < 0 else "insattning"
            self._enter(account, self.clock.today - timedelta(days=days), change, shop, kind)
        return account

    def _enter(self, account: Account, day: date, ore: int, text: str, kind: str) -> None:
        row = {"rorelseId": f"R{self._word(11, '0123456789')}", "bokforingsdag": day.isoformat(), "text": text}
        account.rows.insert(0, row | {"typ": kind, "belopp": write_amount(ore), "ore": ore})

    def _advance(self) -> None:
        now = self.clock.now
        for order in self._orders.values():
            if order.status == "vantar" and now - order.started >= timedelta(minutes=3):
                order.status, order.reason = "misslyckad", "tiden_ute"
        for consent in self._consents.values():
            ended = consent.document["giltigtTill"] < now.date().isoformat()
            consent.state = "utganget" if ended and consent.state in ("oklart", "galler") else consent.state
        for payment in sorted(self._payments.values(), key=lambda one: str(one.document["betaldag"])):
            if payment.state != "signerat" or not payment.signed or not payment.payer:
                continue
            day = date.fromisoformat(payment.document["betaldag"])
            if day > now.date() or now - payment.signed < timedelta(minutes=5):
                continue
            if payment.ore > payment.payer.ore:
                payment.state, payment.document["orsak"] = "avvisat", "tackning_saknas"
                continue
            payment.state, payment.payer.ore = "bokfort", payment.payer.ore - payment.ore
            self._enter(payment.payer, day, -payment.ore, payment.document["mottagare"]["namn"], "bankgiro")

    def _header(self, request: Request, name: str) -> str:
        if not (value := request.headers.get(name.lower())):
            raise Fault(400, "huvud_saknas", detaljer=[{"falt": name, "problem": "saknas"}])
        return value

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "ingen_json") from None

    def _check(self, wrong: dict[str, str], status: int = 422) -> None:
        if details := [{"falt": place, "problem": problem} for place, problem in wrong.items()]:
            raise Fault(status, "ogiltiga_uppgifter", detaljer=details)

    def _log_in(self, request: Request) -> Response:
        data = self._body(request)
        app = data.get("app")
        if not isinstance(app, str) or app not in APPS or APPS[app] != data.get("hemlighet"):
            raise Fault(401, "app_okand")
        key = self._word(30, "abcdefghijklmnopqrstuvwxyz0123456789")
        self._keys[key] = app, self.clock.now + timedelta(minutes=30)
        return respond(200, {"nyckel": key, "giltigSekunder": 1800}, {"Cache-Control": "no-store"})

    def _app(self, request: Request) -> str:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        app, ends = self._keys.get(key, ("", self.clock.now))
        if scheme != "Nyckel" or ends <= self.clock.now:
            raise Fault(401, "nyckel_ogiltig")
        return app

    def _find(self, request: Request, matters: dict[str, Matter], id: str) -> Matter:
        app, matter = self._app(request), matters.get(id)
        if not matter or matter.app != app:
            raise Fault(404, "finns_inte")
        return matter

    def _tell(self, status: int, matter: Matter) -> Response:
        kind, link = ("betalning", "signering") if matter.payer else ("medgivande", "legitimering")
        links = {"sjalv": matter.path}
        if matter.state in ("oklart", "osignerat"):
            links[link] = f"{matter.path}/{link}"
        identifier = "betalningsId" if matter.payer else "medgivandeId"
        document = {identifier: matter.id, "lage": matter.state, **matter.document}
        return respond(status, {kind: document, "lankar": links}, {"Location": matter.path} if status == 201 else {})

    def _ask_consent(self, request: Request) -> Response:
        app, data = self._app(request), self._body(request)
        scope, days, wrong = data.get("omfattning"), data.get("dagar"), {}
        if not isinstance(scope, list) or not scope or not all(one in SCOPES for one in scope):
            wrong["omfattning"] = "ska ha något av " + ", ".join(SCOPES)
        if not isinstance(days, int) or isinstance(days, bool) or not 1 <= days <= 180:
            wrong["dagar"] = "ska vara från 1 till 180"
            days = 0
        self._check(wrong)
        now = self.clock.now
        until = (now + timedelta(days=days)).date().isoformat()
        document = {"omfattning": scope, "giltigtTill": until, "skapat": write_time(now)}
        consent = Matter(f"MG-{self._word(9)}", app, "oklart", document)
        self._consents[consent.id] = consent
        return self._tell(201, consent)

    def _withdraw(self, request: Request, id: str) -> Response:
        consent = self._find(request, self._consents, id)
        if consent.state not in ("oklart", "galler"):
            raise Fault(409, "lage_tillater_inte", lage=consent.state)
        consent.state = "aterkallat"
        return Response(204)

    def _start(self, request: Request, matters: dict[str, Matter], id: str) -> Response:
        matter = self._find(request, matters, id)
        running = any(one.matter is matter and one.status == "vantar" for one in self._orders.values())
        if running or matter.state not in ("oklart", "osignerat"):
            raise Fault(409, "lage_tillater_inte", lage=matter.state)
        order = Order(str(UUID(int=self._random.getrandbits(128), version=4)), matter, self.clock.now)
        self._orders[order.ref] = order
        path = f"legitimeringar/{order.ref}"
        links = {"status": f"{BASE}/{path}", "sandlada": f"/sandlada/{path}/svar"}
        document = {"orderreferens": order.ref, "status": order.status, "autostart": self._word(20), "lankar": links}
        return respond(202, document, {"Retry-After": "2"})

    def _poll(self, request: Request, ref: str) -> Response:
        app, order = self._app(request), self._orders.get(ref)
        if not order or order.matter.app != app:
            raise Fault(404, "finns_inte")
        matter, document = order.matter, dict[str, Any](orderreferens=ref, status=order.status)
        document["arende"] = {"id": matter.id, "lage": matter.state}
        if order.reason:
            document["orsak"] = order.reason
        if order.status == "klar" and not matter.payer:
            document["kundnyckel"] = matter.key
        return respond(200, document)

    def _decide(self, request: Request, ref: str) -> Response:
        order, data = self._orders.get(ref), self._body(request)
        if not order:
            raise Fault(404, "finns_inte")
        matter, said = order.matter, data.get("svar")
        if order.status != "vantar" or matter.state not in ("oklart", "osignerat"):
            raise Fault(409, "lage_tillater_inte", lage=matter.state)
        given = data.get("personnummer"), data.get("sakerhetskod")
        if not (customer := next((one for one in self._customers if (one.person, one.code) == given), None)):
            raise Fault(403, "fel_sakerhetskod")
        if matter.payer and matter.payer not in customer.accounts:
            raise Fault(403, "inte_kundens")
        self._check({} if said in ("signera", "avbryt") else {"svar": "ska vara signera eller avbryt"})
        if said == "avbryt":
            order.status, order.reason, matter.state = "misslyckad", "kunden_avbrot", "avbojt"
        else:
            if matter.payer:
                self._cover(matter.payer, matter.ore, str(matter.document["betaldag"]))
                matter.state, matter.signed = "signerat", self.clock.now
            else:
                matter.state, matter.key = "galler", self._word(26)
            order.status, matter.customer = "klar", customer
        return respond(200, {"orderreferens": ref, "status": order.status})

    def _accounts(self, request: Request, scope: str) -> Sequence[Account]:
        app_key = self._app(request), self._header(request, "Kundnyckel")
        consent = next((one for one in self._consents.values() if (one.app, one.key) == app_key), None)
        if not consent or not consent.customer:
            raise Fault(403, "kundnyckel_okand")
        if consent.state != "galler":
            raise Fault(403, "medgivande_galler_inte", lage=consent.state)
        if scope not in consent.document["omfattning"]:
            raise Fault(403, "utanfor_omfattning")
        return consent.customer.accounts

    def _account(self, request: Request, id: str, scope: str) -> Account:
        if found := [one for one in self._accounts(request, scope) if one.id == id]:
            return found[0]
        raise Fault(404, "finns_inte")

    def _show(self, account: Account) -> dict[str, Any]:
        shown = {"kontoId": account.id, "kontonummer": account.number, "iban": account.iban, "namn": account.name}
        return shown | {"innehavare": account.holder, "valuta": "SEK", "dagsgrans": write_amount(account.limit)}

    def _list_accounts(self, request: Request) -> Response:
        shown = [self._show(one) for one in self._accounts(request, "konton")]
        return respond(200, {"konton": shown, "antal": len(shown)})

    def _signed(self, account: Account) -> list[Matter]:
        signed = [one for one in self._payments.values() if one.payer is account and one.state == "signerat"]
        return sorted(signed, key=lambda one: str(one.document["betaldag"]))

    def _available(self, account: Account) -> int:
        return account.ore - sum(one.ore for one in self._signed(account))

    def _balances(self, request: Request, id: str) -> Response:
        account = self._account(request, id, "saldon")
        booked, available = account.ore, self._available(account)
        amounts = {"bokfort": booked, "reserverat": booked - available, "disponibelt": available}
        document = {"kontoId": id, "tidpunkt": write_time(self.clock.now)}
        return respond(200, document | {"saldon": {name: write_amount(ore) for name, ore in amounts.items()}})

    def _list_rows(self, request: Request, id: str) -> Response:
        account, query, wrong = self._account(request, id, "rorelser"), request.query, {}
        today = self.clock.today
        first, last = (today - timedelta(days=90)).isoformat(), today.isoformat()
        begins, ends = read_day(query.get("fran", first)), read_day(query.get("till", last))
        least, most = read_number(query.get("minst", "0")), read_number(query.get("mest", "999999999"))
        page, size = query.get("sida", "1"), query.get("storlek", "20")
        for name, value in {"fran": begins, "till": ends, "minst": least, "mest": most}.items():
            if value is None:
                wrong[name] = "ska vara ÅÅÅÅ-MM-DD" if name in ("fran", "till") else "ska vara ett belopp"
        if not wrong and str(begins) > str(ends):
            wrong["till"] = "ska inte vara före fran"
        if not re.fullmatch(r"[1-9]\d{0,4}", page):
            wrong["sida"] = "ska vara minst 1"
        if not re.fullmatch(r"[1-9]\d?|100", size):
            wrong["storlek"] = "ska vara från 1 till 100"
        self._check(wrong, 400)
        sought = query.get("sok", "").casefold()
        rows = [
            {name: value for name, value in row.items() if name != "ore"}
            for row in account.rows
            if str(begins) <= row["bokforingsdag"] <= str(ends)
            and (least or 0) <= abs(row["ore"]) <= (most or 0)
            and sought in row["text"].casefold()
        ]
        end = int(page) * int(size)
        paging: dict[str, Any] = {"sida": int(page), "storlek": int(size), "totaltAntal": len(rows)}
        if end < len(rows):
            paging["nasta"] = f"{request.path}?{urlencode({**query, 'sida': int(page) + 1})}"
        return respond(200, {"kontoId": id, "rorelser": rows[end - int(size) : end], "bladdring": paging})

    def _list_pending(self, request: Request) -> Response:
        pending = [one for account in self._accounts(request, "betalningar") for one in self._signed(account)]
        rows = [{"betalningsId": one.id, "lage": one.state, **one.document} for one in pending]
        rows = [{name: row[name] for name in row if name not in ("meddelande", "skapat")} for row in rows]
        total = write_amount(sum(one.ore for one in pending))
        return respond(200, {"kommande": rows, "antal": len(rows), "summa": total})

    def _cover(self, account: Account, ore: int, day: str) -> None:
        """Refuse an amount above the limit of the day or the available balance."""
        counted = [one for one in self._payments.values() if one.state in ("signerat", "bokfort")]
        used = sum(one.ore for one in counted if one.payer is account and one.document["betaldag"] == day)
        if used + ore > account.limit:
            raise Fault(422, "dagsgrans_overskriden", kvar=write_amount(account.limit - used))
        if ore > self._available(account):
            raise Fault(422, "tackning_saknas")

    def _pay(self, request: Request) -> Response:
        accounts, app, data = self._accounts(request, "betalningar"), self._app(request), self._body(request)
        today, wrong = self.clock.today, dict[str, str]()
        payer = next((one for one in accounts if one.id == data.get("frankonto")), None)
        payee = data["mottagare"] if isinstance(data.get("mottagare"), dict) else {}
        if not payer:
            wrong["frankonto"] = "ska vara ett av kundens konton"
        if not isinstance(payee.get("namn"), str) or not 1 <= len(payee["namn"]) <= 60:
            wrong["mottagare.namn"] = "ska ha 1 till 60 tecken"
        if not is_bankgiro(payee.get("bankgiro")):
            wrong["mottagare.bankgiro"] = "ska vara ett bankgironummer med rätt kontrollsiffra"
        ore = read_amount(data.get("belopp"), wrong)
        day = read_day(data.get("betaldag", today.isoformat()))
        if day is None or not today <= day <= today + timedelta(days=365):
            wrong["betaldag"] = "ska vara från i dag till ett år framåt"
        message = data.get("meddelande", "")
        if not isinstance(message, str) or len(message) > 40:
            wrong["meddelande"] = "ska ha högst 40 tecken"
        self._check(wrong)
        assert payer
        assert day
        self._cover(payer, ore, day.isoformat())
        to = {"namn": payee["namn"], "bankgiro": payee["bankgiro"]}
        document: dict[str, Any] = {"frankonto": payer.id, "mottagare": to}
        document |= {"belopp": write_amount(ore), "betaldag": day.isoformat(), "meddelande": message}
        document["skapat"] = write_time(self.clock.now)
        payment = Matter(f"BET-{self._word(10)}", app, "osignerat", document, payer=payer, ore=ore)
        self._payments[payment.id] = payment
        return self._tell(201, payment)

    def _cancel(self, request: Request, id: str) -> Response:
        payment = self._find(request, self._payments, id)
        if payment.state not in ("osignerat", "signerat"):
            raise Fault(409, "kan_inte_makuleras", lage=payment.state)
        payment.state = "makulerat"
        return self._tell(200, payment)

    def _transfer(self, request: Request) -> Response:
        accounts, data = self._accounts(request, "betalningar"), self._body(request)
        names, wrong = ("frankonto", "tillkonto"), dict[str, str]()
        ends = [next((one for one in accounts if one.id == data.get(name)), None) for name in names]
        wrong |= {name: "ska vara ett av kundens konton" for name, end in zip(names, ends, strict=True) if not end}
        payer, payee = ends
        if payer and payer is payee:
            wrong["tillkonto"] = "ska vara ett annat konto"
        ore, text = read_amount(data.get("belopp"), wrong), data.get("text", "Överföring")
        if not isinstance(text, str) or not 1 <= len(text) <= 40:
            wrong["text"] = "ska ha 1 till 40 tecken"
        self._check(wrong)
        assert payer
        assert payee
        if ore > self._available(payer):
            raise Fault(422, "tackning_saknas")
        for account, change in ((payer, -ore), (payee, ore)):
            account.ore += change
            self._enter(account, self.clock.today, change, text, "overforing")
        document = {"overforingsId": f"OVF-{self._word(10)}", "lage": "genomfort", "frankonto": payer.id}
        document |= {"tillkonto": payee.id, "text": text, "genomford": write_time(self.clock.now)}
        return respond(201, {"overforing": document | {"belopp": write_amount(ore)}})
