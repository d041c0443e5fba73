"""Wisła, a Polish bank with an interface of its own: customers confirm a `zgoda`, and an app files a `przelew`.

- All but the customer's page needs the app's X-Klucz-Aplikacji and an X-Id-Zadania, which the answer repeats. Documents
  are bare. Errors are `{"bledy": [{"kod", "pole"? or "dotyczy"?}, …], "idZadania"}`, with all wrong fields at once.
- Amounts are text with a comma and two places, in entries without a sign: `strona` is WN (out) or MA (in). Days are
  RRRRMMDD as in the files of Elixir. Days and times are those of Warsaw. Numbers of accounts are NRB, 26 digits.
- POST `/openapi/zgody`: `stan` is OCZEKUJE, then AKTYWNA to the end of the day `waznaDo`, ODRZUCONA, COFNIETA (by POST
  `…/cofnij`) or WYGASLA (also after 15 minutes without the customer).
- `adresPotwierdzenia` is the customer's page: a login, then a choice of accounts with a code from a text message, which
  the sandbox shows. A mistake gives 200 and the form again, a used link 410. The customer goes back to the app (302)
  with a `kupon`, which `…/klucz` changes once, within 5 minutes, for the consent's key.
- Reads send that key as X-Klucz-Zgody. Only chosen accounts are seen, and never their whole numbers. `dostepne` is
  `ksiegowe` less `blokady`, with the overdraft `limit`.
- A history is a bare list of at most 90 days, the oldest entry first, with the balance after each in `saldoPo`. X-Razem
  counts all entries; the header Link has the next page, whose `znacznik` holds the filter.
- POST `/openapi/przelewy` with the app's `nrAplikacji`: a repeated request gives 200 and the transfer as it is, another
  one 409. EXPRESS has a fee of 5,00, an entry of its own. Entries have the title in capitals.
- `etap` is do_podpisu, przyjety, w_realizacji after a minute, and zaksiegowany after five; or odmowa by the customer.
  `zmieniono` is when it began. PATCH to wycofany, before w_realizacji, needs the ETag, a count of changes, as If-Match.
- POST `…/podpisy` asks the customer's telephone for 3 minutes. Only this looks at the funds: if they do not suffice,
  it gives 422 and the transfer is odrzucony. PUT `/piaskownica/podpisy/…/decyzja` plays the customer, who has 3 tries.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond, show

WARSAW = ZoneInfo("Europe/Warsaw")
APPS = {"sk-0b71d9f2c6a84e35": "Skarbonka", "sk-77e3a05d1fb24c98": "Kwitek"}
SCOPES = {"RACHUNKI", "SALDA", "HISTORIA"}
FEES = {"ELIXIR": 0, "EXPRESS": 500}
AFTER_MINUTES = {
    "OCZEKUJE": (15, "WYGASLA"),
    "WYSLANO": (3, "PRZETERMINOWANO"),
    "przyjety": (1, "w_realizacji"),
    "w_realizacji": (4, "zaksiegowany"),
}
SHOPS = "Piekarnia Pod Kasztanem|Apteka Rumianek|Stacja Bursztyn|Księgarnia Zaułek|Kino Syrena".split("|")
PAYERS = "Zakłady Lniane Sp. z o.o.|Urząd Skarbowy|Maria Zięba".split("|")
DAY = re.compile(r"20\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")


@dataclass
class Account:
    id: str
    number: str
    name: str
    currency: str
    cents: int
    limit: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    login: str
    password: str
    pin: str
    accounts: Sequence[Account]


@dataclass(kw_only=True)
class Thing:
    app: str
    document: dict[str, Any]
    since: datetime
    version: int = 1
    tries: int = 3

    @property
    def state(self) -> str:
        return str(self.document.get("stan") or self.document["etap"])

    def move(self, state: str, time: datetime) -> None:
        name = "stan" if "stan" in self.document else "etap"
        self.document |= {name: state, "zmieniono": write_time(time)}
        self.document.pop("adresPotwierdzenia", None)
        self.since = time
        self.version += 1


@dataclass(kw_only=True)
class Consent(Thing):
    ticket: str
    back: str
    code: str = ""
    coupon: str | None = None
    customer: Customer | None = None
    accounts: Sequence[Account] = ()


@dataclass(kw_only=True)
class Transfer(Thing):
    payer: Account
    body: dict[str, Any]
    cents: int
    fee: int


@dataclass(kw_only=True)
class Signature(Thing):
    transfer: Transfer
    pin: str


class Refusal(Exception):
    def __init__(self, status: int, word: str, about: str = "", **more: Any) -> None:
        super().__init__(word)
        self.status, self.more = status, more
        self.errors = [{"kod": word, **({"dotyczy": about} if about else {})}]


type Checks = Mapping[str, Callable[[Any], object]]


def refuse_wrong(body: Mapping[str, Any], checks: Checks) -> None:
    errors = []
    for place, is_right in checks.items():
        value: Any = body
        for name in place.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is None or not is_right(value):
            errors.append({"kod": "BRAK_POLA" if value is None else "ZLA_WARTOSC", "pole": place})
    if errors:
        raise Refusal(422, "ZLA_WARTOSC", bledy=errors)


def is_text(value: Any) -> bool:
    return isinstance(value, str) and 1 <= len(value.strip()) <= 70


def write_cents(cents: int) -> str:
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100},{abs(cents) % 100:02}"


def read_cents(text: Any) -> int:
    """The amount, or 0 if it is none."""
    return int(text.replace(",", "")) if re.fullmatch(r"(0|[1-9]\d{0,8}),\d\d", str(text)) else 0


def write_day(time: datetime) -> str:
    return time.astimezone(WARSAW).strftime("%Y%m%d")


def write_time(time: datetime) -> str:
    return time.astimezone(WARSAW).isoformat()


def build_number(rest: str) -> str:
    return f"{98 - int(rest + '252100') % 97:02}{rest}"


def is_number(value: Any) -> bool:
    digits = value.replace(" ", "") if isinstance(value, str) else ""
    return bool(re.fullmatch(r"\d{26}", digits)) and build_number(digits[2:]) == digits


class Wisla:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"wisla {seed}")
        self._count = self._random.randrange(1_000, 400_000)
        self._things: dict[str, Thing] = {}
        self._keys: dict[str, Consent] = {}
        self._marks: dict[str, tuple[Account, list[dict[str, Any]], int, int]] = {}
        ewa = self._open("Konto Nurt", "PLN", 1_248_035, 100_000), self._open("Na wakacje", "PLN", 2_310_000)
        tomasz = self._open("Konto wspólne", "PLN", 391_872), self._open("Konto Nurt", "PLN", 917_460, 250_000)
        self._customers = [
            Customer("ewa.sikora", "Zimorodek7", "4821", [*ewa, self._open("Konto euro", "EUR", 84_210)]),
            Customer("tomasz.lis", "Perkoz-19", "7305", tomasz),
            Customer("halina.wrona", "Bocian.44", "1196", [self._open("Konto Nurt", "PLN", 207_711)]),
        ]
        consent, account, transfer = "/openapi/zgody/{id}", "/openapi/rachunki/{id}", "/openapi/przelewy/{id}"
        self._routes = Routes(
            ("POST", "/openapi/zgody", self._ask),
            ("GET", consent, lambda request, id: self._tell(200, self._find(request, Consent, id))),
            ("POST", consent + "/klucz", self._change_coupon),
            ("POST", consent + "/cofnij", self._revoke),
            ("GET", "/openapi/rachunki", self._list_accounts),
            ("GET", account + "/saldo", self._balance),
            ("GET", account + "/historia", self._history),
            ("POST", "/openapi/przelewy", self._file),
            ("GET", transfer, lambda request, id: self._tell(200, self._find(request, Transfer, id))),
            ("PATCH", transfer, self._withdraw),
            ("POST", transfer + "/podpisy", self._sign),
            ("GET", "/openapi/podpisy/{id}", lambda request, id: self._tell(200, self._find(request, Signature, id))),
            ("PUT", "/piaskownica/podpisy/{id}/decyzja", self._decide),
            ("GET", "/klient/potwierdz", self._page),
            ("POST", "/klient/potwierdz", self._post_page),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        asked = request.headers.get("x-id-zadania")
        try:
            if not request.path.startswith("/klient/") and self._app(request) and not asked:
                raise Refusal(400, "BRAK_NAGLOWKA", "X-Id-Zadania")
            handler, parameters = self._routes.find(request.method, request.path)
            response = handler(request, **parameters)
        except (NoRoute, Refusal) as error:
            refusal = error if isinstance(error, Refusal) else Refusal(404, "NIE_ZNALEZIONO", request.path)
            response = self._tell(refusal.status, {"bledy": refusal.errors, **refusal.more, "idZadania": asked})
        headers = {**response.headers, **({"X-Id-Zadania": asked} if asked else {})}
        return Response(response.status, response.content, headers)

    def _tell(self, status: int, document: Any, headers: Mapping[str, str] | None = None) -> Response:
        if isinstance(document, Thing):
            headers = {"ETag": f'"{document.version}"', **(headers or {})}
            document = document.document
        return respond(status, document, headers, media="application/json; charset=utf-8")

    def _word(self, length: int) -> str:
        return "".join(self._random.choices("0123456789abcdef", k=length))

    def _number(self, letter: str) -> str:
        self._count += self._random.randrange(1, 40)
        return f"{letter}{self.clock.now.astimezone(WARSAW):%y%j}{self._count:06}"

    def _day(self, days: int) -> str:
        return write_day(self.clock.now + timedelta(days=days))

    def _open(self, name: str, currency: str, cents: int, limit: int = 0) -> Account:
        number = build_number(f"24900057{self._random.randrange(10**15, 10**16)}")
        days = sorted(self._random.choices(range(-57, 0), k=self._random.randrange(16, 28)))
        changes = [self._random.choice((-1, -1, -1, 1)) * self._random.randrange(300, 24_000) for _ in days]
        account = Account(self._word(16), number, name, currency, cents - sum(changes), limit)
        for day, change in zip(days, changes, strict=True):
            who, what = (SHOPS, ("Płatność kartą", "KARTA")) if change < 0 else (PAYERS, ("Przelew", "PRZELEW_PRZYCH"))
            self._book(account, self._day(day), change, {"nazwa": self._random.choice(who)}, *what)
        return account

    def _book(self, account: Account, day: str, cents: int, who: dict[str, str] | None, title: str, kind: str) -> None:
        account.cents += cents
        entry = {"nrOperacji": f"{day}-{self._word(8)}", "dzien": day, "rodzaj": kind, "kontrahent": who}
        entry |= {"strona": "WN" if cents < 0 else "MA", "kwota": write_cents(abs(cents)), "waluta": account.currency}
        account.entries.append({**entry, "saldoPo": write_cents(account.cents), "tytul": title.upper()})

    def _advance(self) -> None:
        now = self.clock.now
        for thing in self._things.values():
            while (follows := AFTER_MINUTES.get(thing.state)) and now >= thing.since + timedelta(minutes=follows[0]):
                thing.move(follows[1], thing.since + timedelta(minutes=follows[0]))
                if isinstance(thing, Transfer) and thing.state == "zaksiegowany":
                    told, day = thing.document, write_day(thing.since)
                    self._book(thing.payer, day, -thing.cents, told["odbiorca"], told["tytul"], "PRZELEW_WYCH")
                    if thing.fee:
                        self._book(thing.payer, day, -thing.fee, None, f"Prowizja {told['nrPrzelewu']}", "PROWIZJA")
            if thing.state == "AKTYWNA" and thing.document["waznaDo"] < self._day(0):
                thing.move("WYGASLA", now)

    def _app(self, request: Request) -> str:
        if not (app := APPS.get(request.headers.get("x-klucz-aplikacji", ""))):
            raise Refusal(401, "NIEZNANA_APLIKACJA")
        return app

    def _find[T: Thing](self, request: Request, kind: type[T], id: str) -> T:
        thing = self._things.get(id)
        if not isinstance(thing, kind) or thing.app != self._app(request):
            raise Refusal(404, "NIE_ZNALEZIONO", id)
        return thing

    def _all[T: Thing](self, kind: type[T]) -> list[T]:
        return [one for one in self._things.values() if isinstance(one, kind)]

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Refusal(400, "BLEDNA_TRESC") from None

    def _ask(self, request: Request) -> Response:
        body, now = self._body(request), self.clock.now
        checks: Checks = {
            "zakres": lambda value: isinstance(value, list) and value and {*map(str, value)} <= SCOPES,
            "waznaDo": lambda day: is_text(day) and DAY.fullmatch(day) and self._day(0) <= day <= self._day(180),
            "adresPowrotu": lambda value: str(value).startswith("https://"),
        }
        refuse_wrong(body, checks)
        id, ticket = self._number("Z"), self._word(32)
        page = f"{request.origin}/klient/potwierdz?t={ticket}"
        document = {"nrZgody": id, "stan": "OCZEKUJE", "zakres": body["zakres"], "waznaDo": body["waznaDo"]}
        document |= {"zmieniono": write_time(now), "adresPotwierdzenia": page}
        back = body["adresPowrotu"] + ("&" if "?" in body["adresPowrotu"] else "?")
        base: dict[str, Any] = {"app": self._app(request), "document": document, "since": now}
        self._things[id] = Consent(**base, ticket=ticket, back=back)
        return self._tell(201, self._things[id])

    def _revoke(self, request: Request, id: str) -> Response:
        consent = self._find(request, Consent, id)
        if consent.state not in ("OCZEKUJE", "AKTYWNA"):
            raise Refusal(409, "ZLY_STAN", consent.state)
        consent.move("COFNIETA", self.clock.now)
        return self._tell(200, consent)

    def _change_coupon(self, request: Request, id: str) -> Response:
        consent = self._find(request, Consent, id)
        coupon, consent.coupon = consent.coupon, None
        is_new = consent.since + timedelta(minutes=5) > self.clock.now
        if not (coupon and is_new and self._body(request).get("kupon") == coupon):
            raise Refusal(410, "KUPON_NIEWAZNY")
        key = f"kz.{self._word(40)}"
        self._keys[key] = consent
        return self._tell(201, {"klucz": key, "nrZgody": id, "waznaDo": consent.document["waznaDo"]})

    def _reach(self, request: Request, scope: str) -> Sequence[Account]:
        consent = self._keys.get(request.headers.get("x-klucz-zgody", ""))
        if not consent or consent.app != self._app(request):
            raise Refusal(401, "NIEZNANY_KLUCZ")
        if consent.state != "AKTYWNA":
            raise Refusal(403, "ZLY_STAN", consent.state)
        if scope not in consent.document["zakres"]:
            raise Refusal(403, "POZA_ZAKRESEM", scope)
        return consent.accounts

    def _find_account(self, request: Request, id: str, scope: str) -> Account:
        if found := [one for one in self._reach(request, scope) if one.id == id]:
            return found[0]
        raise Refusal(404, "NIE_ZNALEZIONO", id)

    def _list_accounts(self, request: Request) -> Response:
        rows = []
        for one in self._reach(request, "RACHUNKI"):
            mask = f"{one.number[:2]}…{one.number[-4:]}"
            rows.append({"idRachunku": one.id, "numer": mask, "nazwa": one.name, "waluta": one.currency})
        return self._tell(200, {"liczba": len(rows), "rachunki": rows})

    def _blocked(self, account: Account) -> int:
        transfers = [one for one in self._all(Transfer) if one.payer is account]
        return sum(one.cents + one.fee for one in transfers if one.state in ("przyjety", "w_realizacji"))

    def _balance(self, request: Request, id: str) -> Response:
        account = self._find_account(request, id, "SALDA")
        amounts = {"ksiegowe": account.cents, "blokady": self._blocked(account), "limit": account.limit}
        amounts["dostepne"] = amounts["ksiegowe"] - amounts["blokady"] + amounts["limit"]
        document = {"idRachunku": id, **{name: write_cents(cents) for name, cents in amounts.items()}}
        return self._tell(200, document | {"waluta": account.currency, "naChwile": write_time(self.clock.now)})

    def _history(self, request: Request, id: str) -> Response:
        account = self._find_account(request, id, "HISTORIA")
        if mark := request.query.get("znacznik"):
            owner, rows, start, size = self._marks.get(mark, (None, [], 0, 0))
            if owner is not account:
                raise Refusal(410, "NIE_ZNALEZIONO", mark)
        else:
            asked = {"od": self._day(-30), "do": self._day(0), "naStronie": "20", **request.query}
            checks: Checks = {
                "od": lambda value: DAY.fullmatch(value) and value >= self._day(-90),
                "do": lambda value: DAY.fullmatch(value) and value >= asked["od"],
                "naStronie": lambda value: re.fullmatch(r"[1-9]|[1-4]\d|50", value),
            }
            refuse_wrong(asked, checks)
            rows = [one for one in account.entries if asked["od"] <= one["dzien"] <= asked["do"]]
            start, size = 0, int(asked["naStronie"])
        headers, end = {"X-Razem": str(len(rows))}, start + size
        if end < len(rows):
            mark = self._word(24)
            self._marks[mark] = account, rows, end, size
            headers["Link"] = f'<{request.path}?znacznik={mark}>; rel="next"'
        return self._tell(200, rows[start:end], headers)

    def _file(self, request: Request) -> Response:
        app, body, now = self._app(request), self._body(request), self.clock.now
        for one in self._all(Transfer):
            if one.app == app and one.body == body:
                return self._tell(200, one)
            if one.app == app and one.body["nrAplikacji"] == body.get("nrAplikacji"):
                raise Refusal(409, "NUMER_ZAJETY", body["nrAplikacji"])
        payers = {one.id: one for who in self._customers for one in who.accounts}
        payer = payers.get(str(body.get("rachunek")))
        checks: Checks = {
            "nrAplikacji": is_text,
            "rachunek": lambda _: payer,
            "odbiorca.nazwa": is_text,
            "odbiorca.numer": is_number,
            "kwota": read_cents,
            "waluta": lambda value: payer and value == payer.currency,
            "tytul": is_text,
            "tryb": lambda value: str(value) in FEES,
        }
        refuse_wrong(body, checks)
        id, cents, fee = self._number("P"), read_cents(body["kwota"]), FEES[body["tryb"]]
        payee = {"nazwa": body["odbiorca"]["nazwa"], "numer": body["odbiorca"]["numer"].replace(" ", "")}
        document = {"nrPrzelewu": id, "etap": "do_podpisu", **{name: body[name] for name in checks if "." not in name}}
        document |= {"odbiorca": payee, "prowizja": write_cents(fee), "razem": write_cents(cents + fee)}
        base: dict[str, Any] = {"app": app, "document": document | {"zmieniono": write_time(now)}, "since": now}
        self._things[id] = Transfer(**base, payer=payers[str(body["rachunek"])], body=body, cents=cents, fee=fee)
        return self._tell(201, self._things[id])

    def _withdraw(self, request: Request, id: str) -> Response:
        transfer, version = self._find(request, Transfer, id), request.headers.get("if-match")
        if not version:
            raise Refusal(428, "BRAK_NAGLOWKA", "If-Match")
        if version != f'"{transfer.version}"':
            raise Refusal(412, "STARA_WERSJA", version)
        refuse_wrong(self._body(request), {"etap": lambda value: value == "wycofany"})
        if transfer.state not in ("do_podpisu", "przyjety"):
            raise Refusal(409, "ZLY_STAN", transfer.state)
        transfer.move("wycofany", self.clock.now)
        return self._tell(200, transfer)

    def _refuse_unready(self, transfer: Transfer) -> None:
        if transfer.state != "do_podpisu":
            raise Refusal(409, "ZLY_STAN", transfer.state)
        payer = transfer.payer
        if transfer.cents + transfer.fee > payer.cents + payer.limit - self._blocked(payer):
            transfer.document["przyczyna"] = "BRAK_SRODKOW"
            transfer.move("odrzucony", self.clock.now)
            raise Refusal(422, "BRAK_SRODKOW")

    def _sign(self, request: Request, id: str) -> Response:
        transfer, body, now = self._find(request, Transfer, id), self._body(request), self.clock.now
        if any(one.state == "WYSLANO" for one in self._all(Signature) if one.transfer is transfer):
            raise Refusal(409, "ZLY_STAN", "WYSLANO")
        owner = next(one for one in self._customers if transfer.payer in one.accounts)
        refuse_wrong(body, {"login": lambda value: value == owner.login})
        self._refuse_unready(transfer)
        number = self._number("A")
        document = {"nrPodpisu": number, "nrPrzelewu": id, "stan": "WYSLANO", "zmieniono": write_time(now)}
        base: dict[str, Any] = {"app": transfer.app, "document": document, "since": now}
        self._things[number] = Signature(**base, transfer=transfer, pin=owner.pin)
        return self._tell(202, self._things[number], {"Location": f"/openapi/podpisy/{number}", "Retry-After": "3"})

    def _decide(self, request: Request, id: str) -> Response:
        signature, body, now = self._find(request, Signature, id), self._body(request), self.clock.now
        if signature.state != "WYSLANO":
            raise Refusal(409, "ZLY_STAN", signature.state)
        refuse_wrong(body, {"decyzja": lambda value: value in ("PODPISZ", "ODRZUC")})
        self._refuse_unready(signature.transfer)
        is_signed = body["decyzja"] == "PODPISZ"
        if is_signed and body.get("pin") != signature.pin:
            signature.tries -= 1
            if not signature.tries:
                signature.move("ZABLOKOWANO", now)
                signature.transfer.move("odmowa", now)
            raise Refusal(403, "BLEDNY_PIN", pozostaloProb=signature.tries)
        signature.move("PODPISANO" if is_signed else "ODRZUCONO", now)
        signature.transfer.move("przyjety" if is_signed else "odmowa", now)
        return self._tell(200, signature)

    def _page(self, request: Request, hint: str = "") -> Response:
        """The form for the login, or for the code after it."""
        consent = next((one for one in self._all(Consent) if one.ticket == request.query.get("t")), None)
        if not consent or consent.state != "OCZEKUJE":
            return show(410 if consent else 404, "Bank Wisła", "<p>Odnośnik nieznany lub wykorzystany.</p>")
        if request.method == "GET" or not consent.customer:
            asked = f"{consent.app} prosi o zgodę {consent.document['nrZgody']}."
            fields = '<input name="login"><input name="haslo" type="password"><button>Dalej</button>'
        else:
            asked = f"Piaskownica: kod z SMS to <b>{consent.code}</b>"
            fields = '<input name="kodSms"><button name="przycisk" value="zgoda">Zgoda</button>'
            fields += '<button name="przycisk" value="odmowa">Nie</button>'
            for one in consent.customer.accounts:
                fields += f'<input name="rachunek" value="{one.id}" type="checkbox">{one.name} …{one.number[-4:]}'
        return show(200, "Bank Wisła", f'<p>{hint}</p><p>{asked}</p><form method="post">{fields}</form>')

    def _post_page(self, request: Request) -> Response:
        page = self._page(request)
        if page.status != 200:
            return page
        consent = next(one for one in self._all(Consent) if one.ticket == request.query["t"])
        if "login" in request.form or not consent.customer:
            given = request.field("login"), request.field("haslo")
            consent.customer = next((one for one in self._customers if (one.login, one.password) == given), None)
            consent.code = f"{self._random.randrange(10**6):06}"
            return self._page(request, "" if consent.customer else "Błędny login lub hasło.")
        if request.field("przycisk") != "zgoda":
            consent.move("ODRZUCONA", self.clock.now)
            return Response(302, "", {"Location": f"{consent.back}wynik=odmowa"})
        consent.accounts = [one for one in consent.customer.accounts if one.id in request.form.get("rachunek", [])]
        if consent.code != request.field("kodSms") or not consent.accounts:
            return self._page(request, "Błędny kod lub brak rachunku.")
        consent.coupon = self._word(20)
        consent.move("AKTYWNA", self.clock.now)
        return Response(302, "", {"Location": f"{consent.back}wynik=zgoda&kupon={consent.coupon}"})
