"""Lech, an Austrian bank with a German interface of its own: Freigaben (consents) and Aufträge (payment orders).

- POST `/anmeldung` with `kennung` and `schluessel` opens a session of 45 minutes; its `marke` is sent as Lech-Sitzung.
  Without one 401 `sitzung_fehlt`, after its end 401 `sitzung_abgelaufen`.
- Errors are `{"fehler": {"nummer", "art", "hinweis", "feld"?}}`; `feld` names the wrong member, header or parameter.
  A missing one gives 400, a wrong one 422. Each answer has a new Lech-Vorgang. Days are dd.mm.yyyy, all times are UTC.
- POST `/freigaben` with `rechte`, each a `konto` (an IBAN or `alle`) and what the app `darf` there (liste, saldo,
  umsatz), and `gueltigBis`, the last day. `stand` is offen, aktiv, abgelehnt, gesperrt, widerrufen (by DELETE) or
  abgelaufen. Reads of `/konten` send it in Lech-Freigabe: 403 if it is not aktiv or lacks the right for the account.
- Freigaben and Aufträge have a `zeichnung` with a number of its own. The customer gets a TAN, which this sandbox shows
  as `probeTan`. PUT `/zeichnungen/{nr}` with `verfueger`, `kennwort`, `tan` signs: a wrong password gives 401, a wrong
  TAN 422, and the third wrong attempt 423, which locks it. DELETE there is the customer's no. `lage` is wartet,
  bestaetigt, verworfen, gesperrt or hinfaellig (the order was cancelled before). An ended one gives 409.
- `umsaetze` are newest first, by `ab`, `bis`, `betragVon`, `betragBis` (both without the sign) and `text`, in pages by
  `versatz` and `anzahl`. Amounts are numbers of euros; `verfuegbar` includes the overdraft and lacks what is reserved.
- POST `/auftraege`, with a `termin` for a later day. `status` and `statusText` are ERF offen, then GEZ gezeichnet or
  (with a termin) VOR vorgemerkt, INB in Bearbeitung (two minutes after the signature, or on the day at 6:00), and DUR
  durchgeführt ten minutes later; ABG abgelehnt, GSP gesperrt, STO storniert (by DELETE, before it is INB), and NDG
  nicht durchgeführt if the account lacks the cover on the day. An order for now without cover gives 422 at once.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond

APPS = {"talbuch": "zirbe-und-laerche", "sparfuchs": "enzian-am-grat"}
RIGHTS = ("liste", "saldo", "umsatz")
TEXTS = {"ERF": "offen", "GEZ": "gezeichnet", "VOR": "vorgemerkt", "INB": "in Bearbeitung", "DUR": "durchgeführt"}
TEXTS |= {"ABG": "abgelehnt", "GSP": "gesperrt", "STO": "storniert", "NDG": "nicht durchgeführt"}
KINDS = """sitzung_fehlt sitzung_abgelaufen anmeldung_falsch angabe_fehlt angabe_falsch kein_json unbekannt
    methode_nicht_erlaubt freigabe_nicht_aktiv kein_recht freigabe_beendet kennwort_falsch tan_falsch
    zeichnung_gesperrt zeichnung_beendet fremdes_konto deckung_fehlt storno_nicht_moeglich"""
NUMBERS = {kind: 2100 + 7 * place for place, kind in enumerate(KINDS.split())}
SHOPS = [
    "Bäckerei Walch",
    "Trafik Zürs",
    "ÖBB Ticketshop",
    "Vorarlberg Netz",
    "Sport Strolz",
    "Apotheke am Arlberg",
    "Spar Lech",
]
SESSION, ATTEMPTS = timedelta(minutes=45), 3


class Fehler(Exception):
    def __init__(self, status: int, kind: str, hint: str, place: str | None = None, **more: Any) -> None:
        super().__init__(hint)
        self.status, self.kind, self.hint, self.place, self.more = status, kind, hint, place, more


@dataclass
class Konto:
    id: str
    iban: str
    label: str
    kind: str
    cents: int
    overdraft: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    number: str
    password: str
    accounts: Sequence[Konto]


@dataclass
class Zeichnung:
    number: str
    tan: str
    lage: str = "wartet"
    left: int = ATTEMPTS


@dataclass
class Freigabe:
    app: str
    id: str
    rights: list[dict[str, Any]]
    made: datetime
    until: date
    signing: Zeichnung
    stand: str = "offen"
    customer: Customer | None = None


@dataclass
class Auftrag:
    app: str
    id: str
    payer: Konto
    cents: int
    document: dict[str, Any]
    made: datetime
    due: date | None
    signing: Zeichnung
    status: str = "ERF"
    starts: datetime | None = None
    done: datetime | None = None


def iban(country: str, rest: str) -> str:
    digits = "".join(str(int(sign, 36)) for sign in rest + country + "00")
    return f"{country}{98 - int(digits) % 97:02}{rest}"


def is_iban(text: Any) -> bool:
    if not isinstance(text, str) or not re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text):
        return False
    return iban(text[:2], text[4:]) == text


def write_day(day: date) -> str:
    return day.strftime("%d.%m.%Y")


def write_time(moment: datetime) -> str:
    return moment.strftime("%d.%m.%Y %H:%M:%S")


def read_day(text: Any, place: str) -> date:
    try:
        return datetime.strptime(str(text), "%d.%m.%Y").date()
    except ValueError:
        raise Fehler(422, "angabe_falsch", "Ein Tag wird als TT.MM.JJJJ angegeben.", place) from None


def need(document: dict[str, Any], *places: str) -> None:
    """Raises Fehler for the first place, like `a.b`, that the document lacks."""
    for place in places:
        found: Any = document
        for part in place.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        if found is None or found == "":
            raise Fehler(400, "angabe_fehlt", f"Die Angabe {place} fehlt.", place)


class Lech:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"lech {seed}")
        self._sessions: dict[str, tuple[str, datetime]] = {}
        self._consents: dict[str, Freigabe] = {}
        self._orders: dict[str, Auftrag] = {}
        one = [
            self._open("Gehaltskonto", "giro", "00041187250", 412_683, 100_000),
            self._open("Sparbuch Schi", "spar", "00041187269", 187_540, 0),
        ]
        two = [
            self._open("Familienkonto", "giro", "00052830914", 268_915, 150_000),
            self._open("Haushalt", "giro", "00052830922", 91_377, 50_000),
            self._open("Rücklage", "spar", "00052830930", 1_530_000, 0),
        ]
        self._customers = [Customer("30114825", "Arlberg-1793", one), Customer("30263391", "Formarin-See", two)]
        consent, order, account, signing = "/freigaben/{id}", "/auftraege/{id}", "/konten/{id}", "/zeichnungen/{id}"
        self._routes = Routes(
            ("POST", "/anmeldung", self._log_in),
            ("POST", "/freigaben", self._ask),
            ("GET", consent, lambda request, id: self._tell(self._consent(request, id))),
            ("DELETE", consent, self._revoke),
            ("GET", "/konten", self._list_accounts),
            ("GET", account + "/saldo", self._balance),
            ("GET", account + "/umsaetze", self._list_entries),
            ("POST", "/auftraege", self._place),
            ("GET", "/auftraege", self._list_orders),
            ("GET", order, lambda request, id: self._tell(self._order(request, id))),
            ("DELETE", order, self._cancel),
            ("GET", signing, lambda request, id: self._tell_signing(self._signed(request, id))),
            ("PUT", signing, self._sign),
            ("DELETE", signing, self._decline),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        told = {"Lech-Vorgang": self._digits("V", 9)}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            response = handler(request, **parameters)
            return Response(response.status, response.content, {**response.headers, **told})
        except NoRoute as wrong:
            if wrong.allowed:
                error = Fehler(405, "methode_nicht_erlaubt", f"{request.method} ist hier nicht vorgesehen.")
                told["Allow"] = ", ".join(wrong.allowed)
            else:
                error = Fehler(404, "unbekannt", f"Unter {request.path} gibt es nichts.")
        except Fehler as caught:
            error = caught
        document = {"nummer": NUMBERS[error.kind], "art": error.kind, "hinweis": error.hint}
        document |= {"feld": error.place} if error.place else {}
        return respond(error.status, {"fehler": document | error.more}, told)

    def _digits(self, start: str, length: int) -> str:
        return start + "".join(self._random.choices("0123456789", k=length))

    def _letters(self, start: str, length: int, signs: str = "ABCDEFGHKLMNPRSTUVWXYZ23456789") -> str:
        return start + "".join(self._random.choices(signs, k=length))

    def _open(self, label: str, kind: str, number: str, cents: int, overdraft: int) -> Konto:
        account = Konto(self._digits("kto", 7), iban("AT", f"19650{number}"), label, kind, cents, overdraft)
        for days in sorted(self._random.sample(range(1, 100), 42), reverse=True):
            change = self._random.choice((-1, -1, -1, 1)) * self._random.randrange(240, 18_000)
            day = self.clock.today - timedelta(days=days)
            self._enter(account, day, change, self._random.choice(SHOPS), "Kartenzahlung", "karte")
        return account

    def _enter(self, account: Konto, day: date, cents: int, who: str, purpose: str, kind: str) -> None:
        entry = {"umsatzId": self._digits("U", 11), "buchungstag": write_day(day), "betrag": cents / 100}
        entry |= {"waehrung": "EUR", "gegenpartei": who, "zweck": purpose, "art": kind}
        account.entries.insert(0, entry)

    def _advance(self) -> None:
        now = self.clock.now
        for consent in self._consents.values():
            if consent.stand in ("offen", "aktiv") and consent.until < self.clock.today:
                consent.stand = "abgelaufen"
        begun = [one for one in self._orders.values() if one.starts]
        for order in sorted(begun, key=lambda one: one.starts or now):
            if not order.starts or now < order.starts:
                continue
            if order.status == "VOR" and order.cents > self._available(order.payer):
                order.status = "NDG"
            elif order.status in ("GEZ", "VOR"):
                order.status = "INB"
            if order.status == "INB" and now >= order.starts + timedelta(minutes=10):
                order.status, order.done = "DUR", order.starts + timedelta(minutes=10)
                order.payer.cents -= order.cents
                who, purpose = order.document["empfaenger"]["name"], order.document["zweck"]
                self._enter(order.payer, order.done.date(), -order.cents, who, purpose, "ueberweisung")

    def _available(self, account: Konto) -> int:
        reserved = [one for one in self._orders.values() if one.status in ("GEZ", "INB") and one.payer is account]
        return account.cents + account.overdraft - sum(one.cents for one in reserved)

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fehler(400, "kein_json", "Der Inhalt ist kein JSON-Objekt.") from None

    def _log_in(self, request: Request) -> Response:
        body = self._body(request)
        need(body, "kennung", "schluessel")
        app = str(body["kennung"])
        if APPS.get(app) != body["schluessel"]:
            raise Fehler(401, "anmeldung_falsch", "Kennung oder Schlüssel ist falsch.", "schluessel")
        mark = self._letters("", 36, "abcdefghijkmnopqrstuvwxyz0123456789")
        self._sessions[mark] = app, (ends := self.clock.now + SESSION)
        shown = {"marke": mark, "kennung": app, "beginn": write_time(self.clock.now), "ende": write_time(ends)}
        return respond(201, {"sitzung": shown})

    def _app(self, request: Request) -> str:
        app, ends = self._sessions.get(request.headers.get("lech-sitzung", ""), ("", self.clock.now))
        if not app:
            raise Fehler(401, "sitzung_fehlt", "Bitte zuerst anmelden.", "Lech-Sitzung")
        if ends <= self.clock.now:
            raise Fehler(401, "sitzung_abgelaufen", "Die Sitzung ist zu Ende.", "Lech-Sitzung")
        return app

    def _new_signing(self) -> Zeichnung:
        return Zeichnung(self._letters("Z", 9), self._digits("", 6))

    def _show(self, thing: Freigabe | Auftrag) -> dict[str, Any]:
        signing: dict[str, Any] = {"zeichnungsnummer": thing.signing.number, "lage": thing.signing.lage}
        if thing.signing.lage == "wartet":
            signing |= {"verfahren": "pushTAN", "probeTan": thing.signing.tan, "restversuche": thing.signing.left}
        if isinstance(thing, Freigabe):
            shown = {"freigabeId": thing.id, "stand": thing.stand, "rechte": thing.rights}
            shown |= {"angelegtAm": write_time(thing.made), "gueltigBis": write_day(thing.until)}
            return shown | {"zeichnung": signing}
        return self._show_order(thing) | {"zeichnung": signing}

    def _show_order(self, order: Auftrag) -> dict[str, Any]:
        shown: dict[str, Any] = {"auftragsnummer": order.id, "status": order.status, "statusText": TEXTS[order.status]}
        shown |= {"ausfuehrung": "termin" if order.due else "sofort", **order.document, "waehrung": "EUR"}
        shown["erfasstAm"] = write_time(order.made)
        return shown | ({"durchgefuehrtAm": write_time(order.done)} if order.done else {})

    def _tell(self, thing: Freigabe | Auftrag, status: int = 200) -> Response:
        name, path = ("freigabe", "/freigaben/") if isinstance(thing, Freigabe) else ("auftrag", "/auftraege/")
        headers = {"Location": path + thing.id} if status == 201 else {}
        return respond(status, {name: self._show(thing)}, headers)

    def _ask(self, request: Request) -> Response:
        app, body = self._app(request), self._body(request)
        need(body, "rechte", "gueltigBis")
        if not isinstance(body["rechte"], list) or not body["rechte"]:
            raise Fehler(422, "angabe_falsch", "rechte ist eine Liste.", "rechte")
        known = {"alle"} | {one.iban for customer in self._customers for one in customer.accounts}
        rights = []
        for place, right in enumerate(body["rechte"]):
            if not isinstance(right, dict) or str(right.get("konto")) not in known:
                raise Fehler(422, "angabe_falsch", "Dieses Konto führen wir nicht.", f"rechte.{place}.konto")
            may = right.get("darf")
            if not isinstance(may, list) or not may or not all(one in RIGHTS for one in may):
                raise Fehler(422, "angabe_falsch", f"Rechte sind {', '.join(RIGHTS)}.", f"rechte.{place}.darf")
            rights.append({"konto": right["konto"], "darf": may})
        until = read_day(body["gueltigBis"], "gueltigBis")
        if not self.clock.today <= until <= self.clock.today + timedelta(days=180):
            raise Fehler(422, "angabe_falsch", "Eine Freigabe endet in 0 bis 180 Tagen.", "gueltigBis")
        id = self._letters("fg_", 12, "0123456789abcdef")
        consent = Freigabe(app, id, rights, self.clock.now, until, self._new_signing())
        self._consents[id] = consent
        return self._tell(consent, 201)

    def _consent(self, request: Request, id: str) -> Freigabe:
        app, consent = self._app(request), self._consents.get(id)
        if not consent or consent.app != app:
            raise Fehler(404, "unbekannt", f"Eine Freigabe {id} gibt es nicht.", "freigabeId")
        return consent

    def _revoke(self, request: Request, id: str) -> Response:
        consent = self._consent(request, id)
        if consent.stand not in ("offen", "aktiv"):
            raise Fehler(409, "freigabe_beendet", f"Die Freigabe ist {consent.stand}.", "stand")
        consent.stand = "widerrufen"
        if consent.signing.lage == "wartet":
            consent.signing.lage = "hinfaellig"
        return self._tell(consent)

    def _active(self, request: Request) -> tuple[Freigabe, Customer]:
        self._app(request)
        if not (id := request.headers.get("lech-freigabe")):
            raise Fehler(400, "angabe_fehlt", "Die Angabe Lech-Freigabe fehlt.", "Lech-Freigabe")
        consent = self._consent(request, id)
        if consent.stand != "aktiv" or not consent.customer:
            raise Fehler(403, "freigabe_nicht_aktiv", f"Die Freigabe ist {consent.stand}.", "Lech-Freigabe")
        return consent, consent.customer

    def _may(self, consent: Freigabe, account: Konto) -> list[str]:
        given = {word for one in consent.rights if one["konto"] in ("alle", account.iban) for word in one["darf"]}
        return [word for word in RIGHTS if word in given]

    def _account(self, request: Request, id: str, right: str) -> Konto:
        consent, customer = self._active(request)
        account = next((one for one in customer.accounts if one.id == id), None)
        if not account:
            raise Fehler(404, "unbekannt", f"Ein Konto {id} gibt es nicht.", "kontoId")
        if right not in self._may(consent, account):
            raise Fehler(403, "kein_recht", f"Die Freigabe gibt hier kein Recht {right}.", "darf")
        return account

    def _list_accounts(self, request: Request) -> Response:
        consent, customer = self._active(request)
        rows = []
        for account in customer.accounts:
            if may := self._may(consent, account):
                row = {"kontoId": account.id, "iban": account.iban, "bezeichnung": account.label, "art": account.kind}
                rows.append(row | {"waehrung": "EUR", "darf": may})
        return respond(200, {"konten": rows, "gesamt": len(rows)})

    def _balance(self, request: Request, id: str) -> Response:
        account = self._account(request, id, "saldo")
        shown = {"kontoId": id, "saldo": account.cents / 100, "verfuegbar": self._available(account) / 100}
        shown |= {"rahmen": account.overdraft / 100, "waehrung": "EUR", "zeitpunkt": write_time(self.clock.now)}
        return respond(200, shown)

    def _pages(self, request: Request, name: str, rows: Sequence[Any]) -> Response:
        numbers = {}
        for place, default, least, most in (("versatz", "0", 0, 10_000), ("anzahl", "20", 1, 50)):
            text = request.query.get(place, default)
            if not text.isdecimal() or not least <= int(text) <= most:
                raise Fehler(422, "angabe_falsch", f"{place} ist {least} bis {most}.", place)
            numbers[place] = int(text)
        start, end = numbers["versatz"], numbers["versatz"] + numbers["anzahl"]
        return respond(200, {name: rows[start:end], **numbers, "gesamt": len(rows), "weitere": end < len(rows)})

    def _list_entries(self, request: Request, id: str) -> Response:
        account, query = self._account(request, id, "umsatz"), request.query
        rows = account.entries
        for place, way in (("ab", 1), ("bis", -1)):
            if place in query:
                limit = read_day(query[place], place).toordinal()
                rows = [one for one in rows if way * read_day(one["buchungstag"], "").toordinal() >= way * limit]
        for place in ("betragVon", "betragBis"):
            if place in query:
                if not re.fullmatch(r"\d+(\.\d{1,2})?", query[place]):
                    raise Fehler(422, "angabe_falsch", "Ein Betrag ist eine Zahl wie 12.50.", place)
                least, sign = float(query[place]), 1 if place == "betragVon" else -1
                rows = [one for one in rows if sign * abs(one["betrag"]) >= sign * least]
        if text := query.get("text", "").casefold():
            rows = [one for one in rows if text in f"{one['gegenpartei']}\n{one['zweck']}".casefold()]
        return self._pages(request, "umsaetze", rows)

    def _place(self, request: Request) -> Response:
        app, body = self._app(request), self._body(request)
        need(body, "auftraggeber", "empfaenger.name", "empfaenger.iban", "betrag", "zweck")
        accounts = [one for customer in self._customers for one in customer.accounts]
        payer = next((one for one in accounts if one.iban == body["auftraggeber"]), None)
        if not payer:
            raise Fehler(422, "angabe_falsch", "Dieses Konto führen wir nicht.", "auftraggeber")
        if not is_iban(body["empfaenger"]["iban"]):
            raise Fehler(422, "angabe_falsch", "Die Prüfziffer der IBAN stimmt nicht.", "empfaenger.iban")
        amount = body["betrag"]
        is_number = isinstance(amount, int | float) and not isinstance(amount, bool)
        if not is_number or not 0 < amount < 10**9 or round(amount, 2) != amount:
            raise Fehler(422, "angabe_falsch", "Der Betrag ist größer als 0 und hat höchstens zwei Stellen.", "betrag")
        for place, text in (("empfaenger.name", body["empfaenger"]["name"]), ("zweck", body["zweck"])):
            if not isinstance(text, str) or len(text) > 70:
                raise Fehler(422, "angabe_falsch", "Der Text hat höchstens 70 Zeichen.", place)
        due, cents = None, round(amount * 100)
        if "termin" in body:
            due = read_day(body["termin"], "termin")
            if not self.clock.today < due <= self.clock.today + timedelta(days=365):
                raise Fehler(422, "angabe_falsch", "Der Termin liegt nach heute, höchstens ein Jahr.", "termin")
        elif cents > self._available(payer):
            raise Fehler(422, "deckung_fehlt", "Das Konto deckt den Betrag nicht.", "betrag")
        payee = {"name": body["empfaenger"]["name"], "iban": body["empfaenger"]["iban"]}
        document = {"auftraggeber": payer.iban, "empfaenger": payee, "betrag": cents / 100, "zweck": body["zweck"]}
        document |= {"termin": write_day(due)} if due else {}
        id = self._digits("77", 8)
        self._orders[id] = Auftrag(app, id, payer, cents, document, self.clock.now, due, self._new_signing())
        return self._tell(self._orders[id], 201)

    def _order(self, request: Request, id: str) -> Auftrag:
        app, order = self._app(request), self._orders.get(id)
        if not order or order.app != app:
            raise Fehler(404, "unbekannt", f"Einen Auftrag {id} gibt es nicht.", "auftragsnummer")
        return order

    def _list_orders(self, request: Request) -> Response:
        app, wanted = self._app(request), request.query.get("status")
        if wanted is not None and wanted not in TEXTS:
            raise Fehler(422, "angabe_falsch", f"Ein Status ist {', '.join(TEXTS)}.", "status")
        mine = [one for one in reversed(self._orders.values()) if one.app == app]
        rows = [self._show_order(one) for one in mine if wanted in (None, one.status)]
        return self._pages(request, "auftraege", rows)

    def _cancel(self, request: Request, id: str) -> Response:
        order = self._order(request, id)
        if order.status not in ("ERF", "GEZ", "VOR"):
            raise Fehler(409, "storno_nicht_moeglich", f"Der Auftrag ist {TEXTS[order.status]}.", "status")
        order.status = "STO"
        if order.signing.lage == "wartet":
            order.signing.lage = "hinfaellig"
        return self._tell(order)

    def _signed(self, request: Request, number: str) -> Freigabe | Auftrag:
        app = self._app(request)
        for thing in (*self._consents.values(), *self._orders.values()):
            if thing.signing.number == number and thing.app == app:
                return thing
        raise Fehler(404, "unbekannt", f"Eine Zeichnung {number} gibt es nicht.", "zeichnungsnummer")

    def _tell_signing(self, thing: Freigabe | Auftrag) -> Response:
        shown: dict[str, Any] = {"zeichnungsnummer": thing.signing.number, "lage": thing.signing.lage}
        if isinstance(thing, Freigabe):
            shown["freigabe"] = {"freigabeId": thing.id, "stand": thing.stand}
        else:
            shown["auftrag"] = {"auftragsnummer": thing.id, "status": thing.status, "statusText": TEXTS[thing.status]}
        return respond(200, shown | {"zeitpunkt": write_time(self.clock.now)})

    def _waiting(self, request: Request, number: str) -> Freigabe | Auftrag:
        thing = self._signed(request, number)
        if thing.signing.lage != "wartet" or (isinstance(thing, Freigabe) and thing.stand != "offen"):
            raise Fehler(409, "zeichnung_beendet", f"Die Zeichnung ist {thing.signing.lage}.", "lage")
        return thing

    def _fail(self, thing: Freigabe | Auftrag, status: int, kind: str, hint: str, place: str) -> Fehler:
        thing.signing.left -= 1
        if thing.signing.left:
            return Fehler(status, kind, hint, place, restversuche=thing.signing.left)
        thing.signing.lage = "gesperrt"
        if isinstance(thing, Freigabe):
            thing.stand = "gesperrt"
        else:
            thing.status = "GSP"
        return Fehler(423, "zeichnung_gesperrt", "Das war der letzte Versuch.", place, restversuche=0)

    def _sign(self, request: Request, id: str) -> Response:
        thing, body = self._waiting(request, id), self._body(request)
        need(body, "verfueger", "kennwort", "tan")
        given = body["verfueger"], body["kennwort"]
        customer = next((one for one in self._customers if (one.number, one.password) == given), None)
        if not customer:
            raise self._fail(thing, 401, "kennwort_falsch", "Verfüger oder Kennwort ist falsch.", "kennwort")
        own = {"alle"} | {one.iban for one in customer.accounts}
        used = [one["konto"] for one in thing.rights] if isinstance(thing, Freigabe) else [thing.payer.iban]
        if not own.issuperset(used):
            raise Fehler(403, "fremdes_konto", "Über dieses Konto verfügt ein anderer.", "verfueger")
        if body["tan"] != thing.signing.tan:
            raise self._fail(thing, 422, "tan_falsch", "Die TAN ist falsch.", "tan")
        if isinstance(thing, Freigabe):
            thing.stand, thing.customer = "aktiv", customer
        elif thing.due:
            thing.status, thing.starts = "VOR", datetime.combine(thing.due, time(6), UTC)
        elif thing.cents > self._available(thing.payer):
            raise Fehler(422, "deckung_fehlt", "Das Konto deckt den Betrag nicht mehr.", "betrag")
        else:
            thing.status, thing.starts = "GEZ", self.clock.now + timedelta(minutes=2)
        thing.signing.lage = "bestaetigt"
        return self._tell_signing(thing)

    def _decline(self, request: Request, id: str) -> Response:
        thing = self._waiting(request, id)
        thing.signing.lage = "verworfen"
        if isinstance(thing, Freigabe):
            thing.stand = "abgelehnt"
        else:
            thing.status = "ABG"
        return self._tell_signing(thing)
