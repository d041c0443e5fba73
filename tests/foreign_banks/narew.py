"""Narew, a Polish cooperative bank with an interface of its own: consents by OAuth, and orders that apps have signed.

- Requests with a body have `requestHeader` (`requestId`, `sendDate`, `tppId`); others send X-Request-Id and X-Tpp-Id.
  All answers have `responseHeader` with the same `requestId`, and an X-Request-Id.
- Errors are `bledy`, one for each wrong field, with `kodBledu`, `komunikat` and maybe `pole`; those of the token path
  are `error` and `error_description`.
- POST `/openbank/auth/2.1/authorize` has the wish in `scope_details`: `zakres` and `okresDni` (1 to 90). A consent is
  OCZEKUJACA for ten minutes. At `aspspRedirectUri` the customer logs in (or gives up: ODRZUCONA) and goes to a second
  page to choose accounts, with a test code. A wrong password or code is the page again, with 200.
- It is ZATWIERDZONA when the app gets a code, which works once and for the same ten minutes, and AKTYWNA from the token
  on. After the day `wazneDo` it is WYGASLA, and ODWOLANA by POST `/openbank/auth/2.1/zgody/odwolaj`.
- Access tokens last ten minutes (`expires_in` is text), those for orders half an hour. Refresh tokens work once.
- Accounts are read by POST with `idRachunku` in the body. The list has the accounts that the customer chose, with
  masked numbers; the details have the NRB, 26 digits.
- Amounts are text with a comma. Only the history has grosze, without a sign: `strona` is WN for debits, MA for credits.
  It is oldest first, of the last 30 days unless told, of 90 at most. `pageInfo.nextPage` is sent as `pageId`, alone.
- Orders: POST and GET `/openbank/pis/1.3/zlecenia`. One with a known `refTpp` gets the same order with 200, or 409 if
  it differs. EXPRESS costs 5,00 more. An order above what is `dostepne` gives 422.
- A NOWE order is W_AUTORYZACJI when the app starts to sign it. By SMS the app sends the test code, with three attempts;
  by APLIKACJA the customer confirms after 15 seconds. After five minutes, or three wrong codes, it is ODRZUCONE.
- Then it is PRZYJETE, or ZAPLANOWANE for a later day. EXPRESS is W_REALIZACJI after 20 seconds, ZREALIZOWANE after 60;
  ELIXIR after 15 minutes and on the next day at 8:00. Before W_REALIZACJI DELETE makes it ANULOWANE, but not while it
  is W_AUTORYZACJI. `blokady` are orders accepted and not yet booked, with their cost, which is an entry of its own.
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond, show

WARSAW = ZoneInfo("Europe/Warsaw")
SCOPES = ("RACHUNKI", "SALDA", "HISTORIA")
CLIENTS = {"PSDPL-KNF-40117": ("skarbonka", "zimorodek-48"), "PSDPL-KNF-52208": ("grosik", "pliszka-15")}
TEST_CODE = "135790"
FEES = {"ELIXIR": 0, "EXPRESS": 500}
SHOPS = "Delikatesy Łomżyńskie|Apteka pod Bocianem|Stacja Biebrza|Tramwaje Miejskie|Piekarnia Żuraw".split("|")
SIGNS = "ABCDEFGHJKLMNPRSTUWXYZ23456789"
OPEN = ("OCZEKUJACA", "ZATWIERDZONA", "AKTYWNA")


@dataclass
class Account:
    id: str
    nrb: str
    name: str
    kind: str
    owner: str
    grosze: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    login: str
    password: str
    accounts: Sequence[Account]


@dataclass
class Consent:
    id: str
    tpp: str
    session: str
    wish: Mapping[str, Any]
    until: date
    ends: datetime
    standing: str = "OCZEKUJACA"
    customer: Customer | None = None
    accounts: Sequence[Account] = ()
    form_token: str = ""
    code: str = ""

    @property
    def document(self) -> dict[str, Any]:
        scopes = self.wish["scope_details"]["zakres"]
        return {"idZgody": self.id, "stanZgody": self.standing, "zakres": scopes, "wazneDo": self.until.isoformat()}


@dataclass
class Order:
    id: str
    tpp: str
    payer: Account
    grosze: int
    fee: int
    day: date
    wish: dict[str, Any]
    standing: str = "NOWE"
    signing: str = ""
    signing_standing: str = ""
    began: datetime | None = None
    left: int = 3
    accepted: datetime | None = None

    def settle_at(self, accepted: datetime) -> datetime:
        if self.wish["system"] == "EXPRESS":
            return accepted + timedelta(seconds=60)
        return datetime.combine(accepted.date() + timedelta(days=1), time(8), WARSAW)


@dataclass(frozen=True)
class Call:
    request: Request
    id: Any
    tpp: Any
    header: Mapping[str, Any]
    body: dict[str, Any]


class Refusal(Exception):
    def __init__(self, status: int, **document: Any) -> None:
        super().__init__(status)
        self.status, self.document = status, document


def fail(code: str, message: str, place: str | None = None) -> dict[str, str]:
    return {"kodBledu": f"NRW-{code}", "komunikat": message} | ({"pole": place} if place else {})


def refuse(status: int, code: str, message: str, place: str | None = None, **more: Any) -> Refusal:
    return Refusal(status, bledy=[fail(code, message, place)], **more)


def check(*rules: tuple[str, Any, str]) -> None:
    if wrong := [fail("0101", f"Niepoprawna wartość: {hint}", place) for place, is_good, hint in rules if not is_good]:
        raise Refusal(400, bledy=wrong)


def is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= most


def read_day(value: Any) -> date | None:
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        return None


def read_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def write_amount(grosze: int) -> str:
    return f"{grosze // 100},{grosze % 100:02}"


class Narew:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"narew {seed}")
        self._grants: dict[str, tuple[str, str, datetime, Consent | None]] = {}
        self._refreshes: dict[str, Consent] = {}
        self._consents: dict[str, Consent] = {}
        self._orders: dict[str, Order] = {}
        self._pages: dict[str, tuple[str, dict[str, Any], int]] = {}
        mine = self._open("Konto Rodzinne", "ROR", "Halina Brzozowska", 24, 742_310)
        saved = self._open("Skarbiec", "OSZ", "Halina Brzozowska", 9, 1_960_000)
        firm = self._open("Konto Firmowe", "ROR", "PPHU Brzoza Halina Brzozowska", 20, 1_215_075)
        begun = self._open("Konto Start", "ROR", "Tomasz Wilk", 24, 489_655)
        holidays = self._open("Lokata Wakacje", "OSZ", "Tomasz Wilk", 8, 310_000)
        self._customers = [
            Customer("20481173", "Wierzba!7", [mine, saved, firm]),
            Customer("31597720", "Jesion?22", [begun, holidays]),
            Customer("40266819", "Sosna#9", [self._open("Konto Senior", "ROR", "Irena i Lech Gil", 28, 388_040)]),
        ]
        auth, ais, orders = "/openbank/auth/2.1", "/openbank/ais/2.1", "/openbank/pis/1.3/zlecenia"
        order, signing = orders + "/{id}", orders + "/{id}/autoryzacja"
        self._routes = Routes(
            ("POST", f"{auth}/authorize", self._ask_consent),
            ("POST", f"{auth}/token", self._give_token),
            ("POST", f"{auth}/zgody/sprawdz", lambda call: self._tell(call, 200, self._consent(call).document)),
            ("POST", f"{auth}/zgody/odwolaj", self._withdraw),
            ("POST", f"{ais}/rachunki", self._list_accounts),
            ("POST", f"{ais}/rachunek", self._show_account),
            ("POST", f"{ais}/salda", self._show_balances),
            ("POST", f"{ais}/historia", self._list_entries),
            ("POST", orders, self._place_order),
            ("GET", order, lambda call, id: self._tell_order(call, 200, self._order(call, id))),
            ("DELETE", order, self._cancel),
            ("POST", signing, self._begin_signing),
            ("GET", signing + "/{name}", lambda call, **ids: self._tell_signing(call, 200, self._order(call, **ids))),
            ("PUT", signing + "/{name}", self._sign),
        )
        self._doors = {
            "GET /klient/logowanie": lambda request, consent: self._login_page(consent),
            "POST /klient/logowanie": self._log_in,
            "GET /klient/zgoda": lambda request, consent: self._consent_page(consent),
            "POST /klient/zgoda": self._decide,
        }

    def answer(self, request: Request) -> Response:
        self._advance()
        if request.path.startswith("/klient/"):
            return self._answer_customer(request)
        call = self._read(request)
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            if missing := [place for place, value in call.header.items() if not is_text(value, 64)]:
                raise refuse(400, "0001", "Brak wymaganego pola nagłówka", missing[0])
            if call.tpp not in CLIENTS:
                raise refuse(401, "0003", "Nieznany podmiot TPP")
            return handler(call, **parameters)
        except NoRoute as wrong:
            refusal = refuse(405 if wrong.allowed else 404, "0005", f"Brak usługi {request.method} {request.path}")
        except Refusal as error:
            refusal = error
        return self._tell(call, refusal.status, refusal.document)

    def _read(self, request: Request) -> Call:
        if request.method in ("GET", "DELETE"):
            id, tpp = request.headers.get("x-request-id"), request.headers.get("x-tpp-id")
            return Call(request, id, tpp, {"X-Request-Id": id, "X-Tpp-Id": tpp}, {})
        try:
            body = request.document
        except ValueError:
            body = {}
        header = read_object(body.pop("requestHeader", None))
        needed = {f"requestHeader.{name}": header.get(name) for name in ("requestId", "sendDate", "tppId")}
        return Call(request, header.get("requestId"), header.get("tppId"), needed, body)

    def _tell(self, call: Call, status: int, document: Mapping[str, Any]) -> Response:
        header = {"requestId": call.id, "sendDate": self._now.isoformat(), "wersja": "2.1.4"}
        told = {"X-Request-Id": str(call.id)} if call.id else {}
        return respond(status, {"responseHeader": header, **document}, told, media="application/json; charset=utf-8")

    @property
    def _now(self) -> datetime:
        return self.clock.now.astimezone(WARSAW)

    def _draw(self, length: int, signs: str = "0123456789abcdef") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _open(self, name: str, kind: str, owner: str, count: int, grosze: int) -> Account:
        rest = f"99870014{self._draw(16, '0123456789')}"
        nrb = f"{98 - int(f'{rest}252100') % 97:02}{rest}"
        account = Account(self._draw(10, "0123456789"), nrb, name, kind, owner, grosze)
        for place, days in enumerate(sorted(self._random.sample(range(1, 58), count), reverse=True)):
            day, amount = self._now.date() - timedelta(days=days), self._random.randrange(390, 24_000)
            card = -amount, self._random.choice(SHOPS), "Płatność kartą", "KARTA"
            pay = amount * 5, "Zakład Mleczarski Kurpie", "Wynagrodzenie", "WPLYW"
            self._book(account, day, *(pay if place % 7 == 3 else card))
        return account

    def _book(self, account: Account, day: date, grosze: int, who: str, title: str, kind: str) -> None:
        account.grosze += grosze
        id, side = f"{day:%y%m%d}{self._draw(9, '0123456789')}", "WN" if grosze < 0 else "MA"
        entry = {"idTransakcji": id, "dataKsiegowania": day.isoformat(), "rodzaj": kind, "strona": side}
        account.entries.append({**entry, "kwotaGr": abs(grosze), "waluta": "PLN", "kontrahent": who, "tytul": title})
        account.entries.sort(key=lambda one: str(one["dataKsiegowania"]))

    def _advance(self) -> None:
        now = self._now
        for consent in self._consents.values():
            if consent.standing in OPEN and now >= consent.ends:
                consent.standing = "WYGASLA"
        for order in self._orders.values():
            if order.standing == "W_AUTORYZACJI" and order.began:
                confirmed = order.began + timedelta(seconds=15)
                if order.signing_standing == "OCZEKUJE_W_APLIKACJI" and now >= confirmed:
                    self._accept(order, confirmed)
                elif now - order.began >= timedelta(minutes=5):
                    order.signing_standing, order.standing = "WYGASLA", "ODRZUCONE"
            if order.standing == "ZAPLANOWANE" and now.date() >= order.day:
                order.standing, order.accepted = "PRZYJETE", datetime.combine(order.day, time(), WARSAW)
            if order.accepted:
                clearing = timedelta(seconds=20) if order.wish["system"] == "EXPRESS" else timedelta(minutes=15)
                if order.standing == "PRZYJETE" and now - order.accepted >= clearing:
                    order.standing = "W_REALIZACJI"
                if order.standing == "W_REALIZACJI" and now >= (settled := order.settle_at(order.accepted)):
                    order.standing, wish, day = "ZREALIZOWANE", order.wish, settled.date()
                    self._book(order.payer, day, -order.grosze, wish["odbiorca"]["nazwa"], wish["tytul"], "PRZELEW")
                    if order.fee:
                        self._book(order.payer, day, -order.fee, "Bank Narew", f"Prowizja {order.id}", "PROWIZJA")

    def _accept(self, order: Order, moment: datetime) -> None:
        order.signing_standing = "POTWIERDZONA"
        if order.day > moment.date():
            order.standing = "ZAPLANOWANE"
        elif order.grosze + order.fee > self._available(order.payer):
            order.standing = "ODRZUCONE"
        else:
            order.standing, order.accepted = "PRZYJETE", moment

    def _ask_consent(self, call: Call) -> Response:
        body, details = call.body, read_object(call.body.get("scope_details"))
        scopes, days = details.get("zakres"), details.get("okresDni", 0)
        are_known = isinstance(scopes, list) and scopes and all(one in SCOPES for one in scopes)
        check(
            ("response_type", body.get("response_type") == "code", "dozwolone jest code"),
            ("client_id", body.get("client_id") == CLIENTS[call.tpp][0], "nie należy do podmiotu TPP"),
            ("scope", body.get("scope") == "ais", "dozwolone jest ais"),
            ("scope_details.zakres", are_known, "dozwolone są " + ", ".join(SCOPES)),
            ("scope_details.okresDni", type(days) is int and 1 <= days <= 90, "od 1 do 90"),
            ("redirect_uri", str(body.get("redirect_uri")).startswith("https://"), "wymagany jest adres https"),
            ("state", is_text(body.get("state"), 64), "od 1 do 64 znaków"),
        )
        id = f"ZGD-{self._draw(4, SIGNS)}-{self._draw(4, SIGNS)}"
        until, ends = self._now.date() + timedelta(days=days), self._now + timedelta(minutes=10)
        self._consents[id] = consent = Consent(id, call.tpp, self._draw(24), body, until, ends)
        page = f"{call.request.origin}/klient/logowanie?sesja={consent.session}"
        return self._tell(call, 200, {**consent.document, "aspspRedirectUri": page})

    def _consent(self, call: Call) -> Consent:
        consent = self._consents.get(str(call.body.get("idZgody")))
        if not consent or consent.tpp != call.tpp:
            raise refuse(404, "0203", "Nie znaleziono zgody", "idZgody")
        return consent

    def _withdraw(self, call: Call) -> Response:
        consent = self._consent(call)
        if consent.standing not in OPEN:
            raise refuse(409, "0204", f"Zgoda jest już zamknięta: {consent.standing}", "idZgody")
        consent.standing = "ODWOLANA"
        return self._tell(call, 200, {**consent.document, "odwolano": self._now.isoformat()})

    def _give_token(self, call: Call) -> Response:
        body, consent, is_good = call.body, None, False
        if (body.get("client_id"), body.get("client_secret")) != CLIENTS[call.tpp]:
            raise Refusal(401, error="invalid_client", error_description="Niepoprawne dane klienta OAuth")
        match body.get("grant_type"):
            case "client_credentials":
                return self._tell_token(call, "pis", timedelta(minutes=30))
            case "authorization_code":
                given = body.get("code") or "-", body.get("redirect_uri")
                found = (one for one in self._consents.values() if (one.code, one.wish["redirect_uri"]) == given)
                consent = next(found, None)
                is_good = consent is not None and consent.standing == "ZATWIERDZONA"
            case "refresh_token":
                consent = self._refreshes.pop(str(body.get("refresh_token")), None)
                is_good = consent is not None and consent.standing == "AKTYWNA"
        if not is_good or not consent or consent.tpp != call.tpp:
            raise Refusal(400, error="invalid_grant", error_description="Kod lub token odświeżania jest nieważny")
        consent.standing = "AKTYWNA"
        consent.ends = datetime.combine(consent.until + timedelta(days=1), time(), WARSAW)
        return self._tell_token(call, "ais", timedelta(minutes=10), consent)

    def _tell_token(self, call: Call, scope: str, life: timedelta, consent: Consent | None = None) -> Response:
        token, refresh, more = self._draw(40), self._draw(48), {}
        self._grants[token] = call.tpp, scope, self._now + life, consent
        if consent:
            self._refreshes[refresh] = consent
            more = {"refresh_token": refresh, "scope_details": consent.document}
        document = {"access_token": token, "token_type": "Bearer", "expires_in": str(life.seconds), "scope": scope}
        return self._tell(call, 200, {**document, **more})

    def _grant(self, call: Call, wanted: str) -> Consent | None:
        kind, _, token = call.request.headers.get("authorization", "").partition(" ")
        tpp, scope, ends, consent = self._grants.get(token, ("", "", self._now, None))
        if kind != "Bearer" or tpp != call.tpp:
            raise refuse(401, "0010", "Brak tokenu lub token nieznany")
        if ends <= self._now:
            raise refuse(401, "0011", "Token wygasł")
        if scope != wanted:
            raise refuse(403, "0012", f"Token nie obejmuje usługi {wanted}")
        return consent

    def _accounts(self, call: Call, scope: str) -> Sequence[Account]:
        consent = self._grant(call, "ais")
        if not consent or consent.standing != "AKTYWNA":
            raise refuse(403, "0201", "Zgoda nie jest aktywna")
        if scope not in consent.wish["scope_details"]["zakres"]:
            raise refuse(403, "0202", f"Zgoda nie obejmuje zakresu {scope}")
        return consent.accounts

    def _account(self, call: Call, scope: str) -> Account:
        for account in self._accounts(call, scope):
            if account.id == call.body.get("idRachunku"):
                return account
        raise refuse(404, "0301", "Nie znaleziono rachunku w zakresie zgody", "idRachunku")

    def _list_accounts(self, call: Call) -> Response:
        rows = [
            {"idRachunku": one.id, "numer": f"{one.nrb[:2]}...{one.nrb[-4:]}", "nazwa": one.name, "waluta": "PLN"}
            for one in self._accounts(call, "RACHUNKI")
        ]
        return self._tell(call, 200, {"rachunki": rows, "liczbaRachunkow": len(rows)})

    def _show_account(self, call: Call) -> Response:
        account = self._account(call, "RACHUNKI")
        shown = {"idRachunku": account.id, "nrb": account.nrb, "nazwa": account.name, "typRachunku": account.kind}
        return self._tell(call, 200, {"rachunek": {**shown, "waluta": "PLN", "wlasciciel": account.owner}})

    def _available(self, account: Account) -> int:
        held = [one for one in self._orders.values() if one.standing in ("PRZYJETE", "W_REALIZACJI")]
        return account.grosze - sum(one.grosze + one.fee for one in held if one.payer is account)

    def _show_balances(self, call: Call) -> Response:
        account = self._account(call, "SALDA")
        booked, available = account.grosze, self._available(account)
        amounts = {"saldo": booked, "blokady": booked - available, "dostepne": available}
        shown = {"idRachunku": account.id, **{name: write_amount(grosze) for name, grosze in amounts.items()}}
        return self._tell(call, 200, {**shown, "waluta": "PLN"})

    def _list_entries(self, call: Call) -> Response:
        account, start = self._account(call, "HISTORIA"), 0
        if (page := call.body.get("pageId")) is None:
            wish = self._read_filters(call.body)
        else:
            owner, wish, start = self._pages.get(str(page), ("", {}, 0))
            if owner != account.id or call.body.keys() != {"idRachunku", "pageId"}:
                raise refuse(400, "0302", "Nieznana strona lub nadmiarowe pola", "pageId")
        rows = [one for one in account.entries if wish["dataOd"] <= one["dataKsiegowania"] <= wish["dataDo"]]
        rows = [one for one in rows if wish["strona"] in (None, one["strona"])]
        end, info = start + wish["perPage"], {"perPage": wish["perPage"], "razem": len(rows)}
        if end < len(rows):
            info["nextPage"] = self._draw(20)
            self._pages[info["nextPage"]] = account.id, wish, end
        return self._tell(call, 200, {"transakcje": rows[start:end], "pageInfo": info})

    def _read_filters(self, sent: dict[str, Any]) -> dict[str, Any]:
        oldest, usual, today = (str(self._now.date() - timedelta(days=days)) for days in (90, 30, 0))
        wish = {"dataOd": usual, "dataDo": today, "strona": None, "perPage": 10} | sent
        check(
            ("dataOd", read_day(wish["dataOd"]), "wymagany format RRRR-MM-DD"),
            ("dataDo", read_day(wish["dataDo"]) and wish["dataDo"] >= str(wish["dataOd"]), "nie wcześniej niż dataOd"),
            ("strona", wish["strona"] in (None, "WN", "MA"), "dozwolone są WN, MA"),
            ("perPage", type(wish["perPage"]) is int and 1 <= wish["perPage"] <= 50, "od 1 do 50"),
        )
        if wish["dataOd"] < oldest:
            raise refuse(400, "0303", f"Historia jest dostępna od {oldest}", "dataOd")
        return wish

    def _place_order(self, call: Call) -> Response:
        self._grant(call, "pis")
        body, today = call.body, self._now.date()
        for order in self._orders.values():
            if order.tpp == call.tpp and order.wish == body:
                return self._tell_order(call, 200, order)
            if order.tpp == call.tpp and order.wish["refTpp"] == body.get("refTpp"):
                raise refuse(409, "0403", f"Numer użyty w zleceniu {order.id}", "refTpp")
        payers = {one.nrb: one for customer in self._customers for one in customer.accounts}
        payer, payee = payers.get(str(body.get("rachunekNadawcy"))), read_object(body.get("odbiorca"))
        nrb = str(payee.get("nrb"))
        is_nrb = re.fullmatch(r"\d{26}", nrb) and int(f"{nrb[2:]}2521{nrb[:2]}") % 97 == 1
        amount, fee = str(body.get("kwota")), FEES.get(str(body.get("system")), 0)
        grosze = int(amount.replace(",", "")) if re.fullmatch(r"\d{1,9},\d\d", amount) else 0
        day = read_day(body.get("dataRealizacji", today.isoformat()))
        check(
            ("refTpp", is_text(body.get("refTpp"), 36), "od 1 do 36 znaków"),
            ("rachunekNadawcy", payer, "nie jest rachunkiem w tym banku"),
            ("odbiorca.nrb", is_nrb, "wymagany numer NRB"),
            ("odbiorca.nazwa", is_text(payee.get("nazwa"), 70), "od 1 do 70 znaków"),
            ("kwota", grosze > 0, "wymagana kwota większa od zera w formacie 0,00"),
            ("tytul", is_text(body.get("tytul"), 140), "od 1 do 140 znaków"),
            ("system", body.get("system") in list(FEES), "dozwolone są " + ", ".join(FEES)),
            ("dataRealizacji", day and (day == today or (day > today and not fee)), "niedozwolony dzień"),
        )
        if not payer or not day or (day == today and grosze + fee > self._available(payer)):
            raise refuse(422, "0402", "Brak wystarczających środków na rachunku", "kwota")
        order = Order(f"ZL{today:%y%m%d}{self._draw(6, '0123456789')}", call.tpp, payer, grosze, fee, day, body)
        self._orders[order.id] = order
        return self._tell_order(call, 201, order)

    def _tell_order(self, call: Call, status: int, order: Order) -> Response:
        shown = {"nrZlecenia": order.id, "statusZlecenia": order.standing, "waluta": "PLN", **order.wish}
        shown |= {"dataRealizacji": order.day.isoformat(), "prowizja": write_amount(order.fee)}
        if order.standing == "NOWE":
            shown["linki"] = {"autoryzacja": f"/openbank/pis/1.3/zlecenia/{order.id}/autoryzacja"}
        return self._tell(call, status, shown)

    def _order(self, call: Call, id: str, name: str | None = None) -> Order:
        self._grant(call, "pis")
        order = self._orders.get(id)
        if not order or order.tpp != call.tpp or name not in (None, order.signing):
            raise refuse(404, "0401", f"Nie znaleziono {name or id}")
        return order

    def _cancel(self, call: Call, id: str) -> Response:
        order = self._order(call, id)
        if order.standing not in ("NOWE", "ZAPLANOWANE", "PRZYJETE"):
            raise refuse(409, "0404", f"Zlecenia nie można anulować: {order.standing}")
        order.standing, order.accepted = "ANULOWANE", None
        return self._tell_order(call, 200, order)

    def _begin_signing(self, call: Call, id: str) -> Response:
        order, method = self._order(call, id), call.body.get("metoda")
        check(("metoda", method in ("SMS", "APLIKACJA"), "dozwolone są SMS, APLIKACJA"))
        if order.standing != "NOWE":
            raise refuse(409, "0406", f"Zlecenia nie można autoryzować: {order.standing}")
        order.signing, order.began, order.standing = f"AU{self._draw(8, '0123456789')}", self._now, "W_AUTORYZACJI"
        order.signing_standing = "WYSLANO_KOD" if method == "SMS" else "OCZEKUJE_W_APLIKACJI"
        return self._tell_signing(call, 201, order)

    def _tell_signing(self, call: Call, status: int, order: Order) -> Response:
        shown = {"idAutoryzacji": order.signing, "stanAutoryzacji": order.signing_standing}
        attempts = {"pozostaloProb": order.left} if order.signing_standing == "WYSLANO_KOD" else {}
        return self._tell(call, status, {**shown, **attempts, "nrZlecenia": order.id, "statusZlecenia": order.standing})

    def _sign(self, call: Call, id: str, name: str) -> Response:
        order = self._order(call, id, name)
        if order.signing_standing != "WYSLANO_KOD":
            raise refuse(409, "0406", f"Autoryzacja nie czeka na kod: {order.signing_standing}")
        if call.body.get("kod") != TEST_CODE:
            order.left -= 1
            if not order.left:
                order.signing_standing, order.standing = "ZABLOKOWANA", "ODRZUCONE"
            raise refuse(403, "0405", "Niepoprawny kod autoryzacyjny", "kod", pozostaloProb=order.left)
        self._accept(order, self._now)
        return self._tell_signing(call, 200, order)

    def _answer_customer(self, request: Request) -> Response:
        session = request.query.get("sesja") or request.field("sesja")
        consent = next((one for one in self._consents.values() if one.session == session), None)
        door = self._doors.get(f"{request.method} {request.path}")
        if not consent or not door or consent.standing != "OCZEKUJACA":
            return show(403, "Bank Narew", "<p>Ta sesja nie istnieje lub została zakończona.</p>")
        return door(request, consent)

    def _form(self, hint: str, text: str, fields: str, name: str, *words: str) -> Response:
        buttons = "".join(f'<button name="{name}" value="{word}">{word}</button>' for word in words)
        return show(200, "Bank Narew", f'<p>{hint}</p><p>{text}</p><form method="post">{fields}{buttons}</form>')

    def _login_page(self, consent: Consent, hint: str = "") -> Response:
        fields = f'<input type="hidden" name="sesja" value="{consent.session}"><input name="identyfikator">'
        fields += '<input name="haslo" type="password">'
        text = f"Aplikacja {CLIENTS[consent.tpp][0]} prosi o dostęp do rachunków."
        return self._form(hint, text, fields, "akcja", "ZALOGUJ", "REZYGNUJ")

    def _log_in(self, request: Request, consent: Consent) -> Response:
        if request.field("akcja") == "REZYGNUJ":
            return self._reject(consent)
        given = request.field("identyfikator"), request.field("haslo")
        customer = next((one for one in self._customers if (one.login, one.password) == given), None)
        if not customer:
            return self._login_page(consent, "Nieprawidłowy identyfikator lub hasło.")
        consent.customer, consent.form_token = customer, self._draw(16)
        return Response(302, "", {"Location": f"/klient/zgoda?sesja={consent.session}"})

    def _consent_page(self, consent: Consent, hint: str = "") -> Response:
        fields = f'<input type="hidden" name="_token" value="{consent.form_token}"><input name="kodSms">'
        for one in consent.customer.accounts if consent.customer else ():
            fields += f'<label><input type="checkbox" name="rachunek" value="{one.id}">{one.name}</label>'
        text = f"Zakres: {', '.join(consent.document['zakres'])}, do dnia {consent.until:%d.%m.%Y}."
        return self._form(hint, text, fields, "decyzja", "TAK", "NIE")

    def _decide(self, request: Request, consent: Consent) -> Response:
        if not consent.customer or request.field("_token") != consent.form_token:
            return show(403, "Bank Narew", "<p>Nieprawidłowy formularz.</p>")
        if request.field("decyzja") == "NIE":
            return self._reject(consent)
        consent.accounts = [one for one in consent.customer.accounts if one.id in request.form.get("rachunek", [])]
        if not consent.accounts or request.field("kodSms") != TEST_CODE:
            return self._consent_page(consent, "Wybierz rachunki i podaj poprawny kod SMS.")
        consent.standing, consent.code = "ZATWIERDZONA", self._draw(32)
        return self._send_back(consent, code=consent.code)

    def _reject(self, consent: Consent) -> Response:
        consent.standing = "ODRZUCONA"
        return self._send_back(consent, error="access_denied", error_description="Klient zrezygnował")

    def _send_back(self, consent: Consent, **outcome: str) -> Response:
        query = urlencode({**outcome, "state": consent.wish["state"]})
        return Response(302, "", {"Location": f"{consent.wish['redirect_uri']}?{query}"})
