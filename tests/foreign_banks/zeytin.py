"""Zeytin, a Turkish cooperative bank with two teams: permissions under `/v3`, payment orders under `/odeme/v1`.

- Every request of the app has `X-Api-Anahtari`, its key. Every answer has its own `X-Takip-No`.
- Documents are `{"veri": …, "bilgi": {"zaman": …}}`. For a list, `bilgi` has `adet` and `sonraki`, a cursor or null.
- Errors are `application/problem+json` without that envelope, with `kod` (ZB-2002) and a slug in `type`. A 400 lists
  all wrong fields in `alanlar`, with `neden` EKSIK or HATALI. Others tell what stood in the way, such as `durum`.
- Amounts are whole kuruş, negative in entries that take money. Days are ISO dates in Turkey, times have `+03:00`.
- A permission (`izn-…`) names rights (`kapsam`) and a number of days (`gun`, at most 180), counted from its day. Its
  `durum`: ONAY_BEKLIYOR, ETKIN, REDDEDILDI, GERI_ALINDI (DELETE, 200 with the document), and SURESI_DOLDU after
  `sonGun`. Requests for accounts name it in `X-Izin-No`. It opens all accounts of the customer who granted it.
- The customer decides at `/onay/<ticket>`, in one form with number, password and `karar`, and is sent (303) to the
  app's `donusAdresi` with `sonuc=ONAY` or `sonuc=RET` and the app's `takip`. Then the page is gone (410).
- A payment order (`ode-…`) has an `asama`: IMZA_BEKLIYOR, KABUL, GONDERILDI after a minute, TAMAMLANDI ten minutes
  after the signature; REDDEDILDI, or IPTAL_EDILDI by POST `…/iptal` until it is sent. It needs no permission.
- Its amount cannot be spent from KABUL on, and is booked with TAMAMLANDI as an entry that names the order.
- An order needs `X-Islem-Anahtari`: the same again gives the order as it is now with 200, another body 409.
- At most 50000 lira in an order, which the account has to cover when the order is made.
- Entries are the newest first, 10 in a page unless `adet` says otherwise (25 at most), each with the balance after it.
"""

import random
import string
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from typing import Any
from urllib.parse import urlencode

from tests.foreign_banks.nextgen import is_iban
from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

KEY, APP = "zk-defne-51c0e7", "Defne"
TURKEY = timezone(timedelta(hours=3))
RIGHTS = ("HESAP", "BAKIYE", "HAREKET")
MOST_DAYS = 180
MOST = 5_000_000
UNTIL_SENT = timedelta(minutes=1)
UNTIL_DONE = timedelta(minutes=10)
PAYEES = "Çınar Market|Boğaz Elektrik|Lodos Kitabevi|Martı Ulaşım|Sarı Fırın|Telli Telekom".split("|")
ERRORS = {
    "anahtar-gecersiz": ("ZB-1000", "API anahtarı geçersiz"),
    "alan-hatasi": ("ZB-1001", "İstekte hatalı alan var"),
    "adres-yok": ("ZB-1004", "Böyle bir adres yok"),
    "yontem-yok": ("ZB-1005", "Yöntem desteklenmiyor"),
    "izin-yok": ("ZB-2001", "İzin bulunamadı"),
    "izin-etkin-degil": ("ZB-2002", "İzin etkin değil"),
    "kapsam-disi": ("ZB-2003", "İzin bunu kapsamıyor"),
    "izin-bitmis": ("ZB-2004", "İzin zaten sona ermiş"),
    "hesap-yok": ("ZB-3001", "Hesap bulunamadı"),
    "emir-yok": ("ZB-4001", "Ödeme emri bulunamadı"),
    "islem-anahtari-kullanilmis": ("ZB-4002", "İşlem anahtarı başka bir emirde kullanılmış"),
    "yetersiz-bakiye": ("ZB-4003", "Bakiye yetersiz"),
    "limit-asimi": ("ZB-4004", "Tutar üst sınırı aşıyor"),
    "iptal-edilemez": ("ZB-4005", "Emir artık iptal edilemez"),
    "gonderen-yok": ("ZB-4006", "Gönderen hesap bulunamadı"),
}

type Rules = dict[str, Callable[[Any], bool]]
"""What the value at each place of a document must be."""


@dataclass
class Account:
    number: str
    iban: str
    name: str
    kind: str
    kurus: int
    entries: list[dict[str, Any]] = field(default_factory=list)
    """The oldest first."""


@dataclass
class Customer:
    number: str
    password: str
    accounts: list[Account]


@dataclass
class Asked:
    """A permission or a payment order: what a customer decides on."""

    id: str
    state: str
    ticket: str
    document: dict[str, Any]
    made: datetime
    changed: datetime
    customer: Customer | None = None

    def turn(self, state: str, at: datetime) -> None:
        self.state, self.changed = state, at


@dataclass
class Order(Asked):
    signed: datetime | None = None


def is_text(most: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and 0 < len(value) <= most


def is_whole(most: int | None = None) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and value > 0 and (most is None or value <= most)


def is_address(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("https://")


def are_rights(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(right in RIGHTS for right in value)


PERMISSION: Rules = {
    "kapsam": are_rights,
    "gun": is_whole(MOST_DAYS),
    "donusAdresi": is_address,
    "takip": is_text(40),
}
ORDER: Rules = {
    "gonderen.iban": is_iban,
    "alici.iban": is_iban,
    "alici.unvan": is_text(70),
    "tutar": is_whole(),
    "paraBirimi": lambda value: value == "TRY",
    "aciklama": is_text(140),
    "donusAdresi": is_address,
    "takip": is_text(40),
}


def refuse_fields(**reasons: str) -> Fault:
    return Fault(400, "alan-hatasi", alanlar=[{"ad": place, "neden": reason} for place, reason in reasons.items()])


def find(document: Any, place: str) -> Any:
    for part in place.split("."):
        document = document.get(part) if isinstance(document, dict) else None
    return document


def read(request: Request, rules: Rules) -> dict[str, Any]:
    try:
        document = request.document
    except ValueError:
        raise refuse_fields(govde="HATALI") from None
    reasons = {}
    for place, is_right in rules.items():
        value = find(document, place)
        if value is None:
            reasons[place] = "EKSIK"
        elif not is_right(value):
            reasons[place] = "HATALI"
    if reasons:
        raise refuse_fields(**reasons)
    return document


def need_header(request: Request, name: str) -> str:
    value = request.headers.get(name.lower())
    if not value:
        raise refuse_fields(**{name: "EKSIK"})
    return value


def write_time(time: datetime) -> str:
    return time.astimezone(TURKEY).isoformat()


class Zeytin:
    def __init__(self, seed: int, clock: Clock) -> None:
        self.clock = clock
        self._random = random.Random(seed)
        self._permissions: dict[str, Asked] = {}
        self._orders: dict[str, Order] = {}
        self._keys: dict[str, tuple[Order, dict[str, Any]]] = {}
        opened = [
            ("40718825", "274913", "TR190087600000000407188251", "Maaş Hesabım", "VADESIZ", 8_412_350),
            ("40718825", "274913", "TR890087600000000407188252", "Birikim", "VADELI", 21_060_000),
            ("51930264", "806152", "TR920087600000000519302641", "Günlük Hesap", "VADESIZ", 3_730_915),
            ("51930264", "806152", "TR650087600000000519302642", "Tatil", "VADESIZ", 1_240_075),
            ("51930264", "806152", "TR380087600000000519302643", "Çocuklar İçin", "VADELI", 3_385_500),
        ]
        self._customers: dict[str, Customer] = {}
        for customer, password, *account in opened:
            accounts = self._customers.setdefault(customer, Customer(customer, password, [])).accounts
            accounts.append(self._open(*account))
        get, post, pay = "GET", "POST", "/odeme/v1/emirler"
        self._routes = Routes(
            (post, "/v3/izinler", self._ask),
            (get, "/v3/izinler/{id}", self._show_permission),
            ("DELETE", "/v3/izinler/{id}", self._withdraw),
            (get, "/v3/hesaplar", self._list_accounts),
            (get, "/v3/hesaplar/{number}", self._show_account),
            (get, "/v3/hesaplar/{number}/bakiye", self._show_balance),
            (get, "/v3/hesaplar/{number}/hareketler", self._list_entries),
            (post, pay, self._pay),
            (get, pay + "/{id}", self._show_order),
            (post, pay + "/{id}/iptal", self._cancel),
        )
        self._pages = Routes((get, "/onay/{ticket}", self._show_page), (post, "/onay/{ticket}", self._decide))

    @property
    def _today(self) -> date:
        return self.clock.now.astimezone(TURKEY).date()

    def _sign(self, length: int, signs: str = string.digits) -> str:
        return "".join(self._random.choices(signs, k=length))

    def _open(self, iban: Any, name: Any, kind: Any, kurus: Any) -> Account:
        account = Account(self._sign(9), iban, name, kind, kurus)
        ages = sorted((self._random.randrange(1, 75) for _ in range(27)), reverse=True)
        for age in ages[:-1]:
            amount = -self._random.randrange(900, 40_000)
            payee = self._random.choice(PAYEES)
            self._enter(account, self._today - timedelta(age), amount, "KART", payee, f"{payee} alışveriş")
        # The balance after the newest entry is the one that the account was opened with.
        payday = self._today - timedelta(ages[-1])
        self._enter(account, payday, kurus - account.kurus, "MAAS", "Ege Dokuma A.Ş.", "Maaş")
        return account

    def _enter(
        self, account: Account, day: date, amount: int, kind: str, other: str, text: str, order: str | None = None
    ) -> None:
        account.kurus += amount
        entry = {"hareketNo": f"{day:%y%m%d}{self._sign(7)}", "tarih": day.isoformat(), "tur": kind, "tutar": amount}
        entry |= {"paraBirimi": "TRY", "bakiye": account.kurus, "karsiTaraf": other, "aciklama": text}
        account.entries.append(entry | ({"emirNo": order} if order else {}))

    # Time

    def _pass_time(self) -> None:
        now = self.clock.now
        for permission in self._permissions.values():
            is_over = self._today.isoformat() > permission.document["sonGun"]
            if is_over and permission.state in ("ONAY_BEKLIYOR", "ETKIN"):
                permission.turn("SURESI_DOLDU", now)
        for order in self._orders.values():
            if order.signed and order.state == "KABUL" and now >= order.signed + UNTIL_SENT:
                order.turn("GONDERILDI", order.signed + UNTIL_SENT)
            if order.signed and order.state == "GONDERILDI" and now >= order.signed + UNTIL_DONE:
                order.turn("TAMAMLANDI", order.signed + UNTIL_DONE)
                self._book(order)

    def _book(self, order: Order) -> None:
        document = order.document
        account = self._payer(document)
        day = order.changed.astimezone(TURKEY).date()
        payee = document["alici"]["unvan"]
        self._enter(account, day, -document["tutar"], "HAVALE", payee, document["aciklama"], order.id)

    # Answers

    def answer(self, request: Request) -> Response:
        self._pass_time()
        trace = self._sign(16, string.hexdigits[:16])
        try:
            response = self._answer(request)
        except Fault as fault:
            code, title = ERRORS[fault.word]
            problem = {"type": f"https://gelistirici.zeytin.example/hatalar/{fault.word}", "title": title}
            problem |= {"status": fault.status, "kod": code, **fault.more}
            response = respond(fault.status, problem, media="application/problem+json")
        return Response(response.status, response.content, {**response.headers, "X-Takip-No": trace})

    def _answer(self, request: Request) -> Response:
        routes = self._pages if request.path.startswith("/onay/") else self._routes
        if routes is self._routes and request.headers.get("x-api-anahtari") != KEY:
            raise Fault(401, "anahtar-gecersiz")
        try:
            handler, parameters = routes.find(request.method, request.path)
        except NoRoute as error:
            raise Fault(405, "yontem-yok") if error.allowed else Fault(404, "adres-yok") from None
        return handler(request, **parameters)

    def _tell(self, status: int, content: Any, **more: Any) -> Response:
        headers = {"Location": more.pop("location")} if "location" in more else {}
        return respond(status, {"veri": content, "bilgi": {"zaman": write_time(self.clock.now), **more}}, headers)

    # Permissions

    def _ask(self, request: Request) -> Response:
        document = read(request, PERMISSION)
        kept = {name: document[name] for name in ("kapsam", "gun", "donusAdresi", "takip")}
        kept["sonGun"] = (self._today + timedelta(kept["gun"])).isoformat()
        id, now = "izn-" + self._sign(10, string.ascii_lowercase + string.digits), self.clock.now
        permission = Asked(id, "ONAY_BEKLIYOR", self._sign(20, string.ascii_letters), kept, now, now)
        self._permissions[id] = permission
        return self._tell(201, self._write_permission(request, permission), location=f"/v3/izinler/{id}")

    def _write_permission(self, request: Request, permission: Asked) -> dict[str, Any]:
        written = {"izinNo": permission.id, "durum": permission.state}
        return written | self._write_asked(request, permission, permission.state == "ONAY_BEKLIYOR")

    def _write_asked(self, request: Request, asked: Asked, is_waiting: bool) -> dict[str, Any]:
        times = {"olusturma": write_time(asked.made), "guncelleme": write_time(asked.changed)}
        page = {"onayAdresi": f"{request.origin}/onay/{asked.ticket}"} if is_waiting else {}
        return {name: value for name, value in asked.document.items() if name != "donusAdresi"} | times | page

    def _permission(self, id: str) -> Asked:
        if id not in self._permissions:
            raise Fault(404, "izin-yok")
        return self._permissions[id]

    def _show_permission(self, request: Request, id: str) -> Response:
        return self._tell(200, self._write_permission(request, self._permission(id)))

    def _withdraw(self, request: Request, id: str) -> Response:
        permission = self._permission(id)
        if permission.state not in ("ONAY_BEKLIYOR", "ETKIN"):
            raise Fault(409, "izin-bitmis", durum=permission.state)
        permission.turn("GERI_ALINDI", self.clock.now)
        return self._tell(200, self._write_permission(request, permission))

    # Accounts

    def _opened(self, request: Request, right: str) -> list[Account]:
        permission = self._permission(need_header(request, "X-Izin-No"))
        if permission.state != "ETKIN" or not permission.customer:
            raise Fault(403, "izin-etkin-degil", durum=permission.state)
        if right not in permission.document["kapsam"]:
            raise Fault(403, "kapsam-disi", kapsam=right)
        return permission.customer.accounts

    def _account(self, request: Request, number: str, right: str) -> Account:
        for account in self._opened(request, right):
            if account.number == number:
                return account
        raise Fault(404, "hesap-yok")

    def _write_account(self, account: Account) -> dict[str, Any]:
        written = {"hesapNo": account.number, "iban": account.iban, "ad": account.name, "tur": account.kind}
        return written | {"paraBirimi": "TRY", "durum": "ACIK"}

    def _list_accounts(self, request: Request) -> Response:
        rows = [self._write_account(account) for account in self._opened(request, "HESAP")]
        return self._tell(200, rows, adet=len(rows), sonraki=None)

    def _show_account(self, request: Request, number: str) -> Response:
        return self._tell(200, self._write_account(self._account(request, number, "HESAP")))

    def _spendable(self, account: Account) -> int:
        orders = (order for order in self._orders.values() if order.state in ("KABUL", "GONDERILDI"))
        return account.kurus - sum(
            order.document["tutar"] for order in orders if order.document["gonderen"]["iban"] == account.iban
        )

    def _show_balance(self, request: Request, number: str) -> Response:
        account = self._account(request, number, "BAKIYE")
        written = {"hesapNo": number, "bakiye": account.kurus, "kullanilabilir": self._spendable(account)}
        return self._tell(200, written | {"paraBirimi": "TRY"})

    def _list_entries(self, request: Request, number: str) -> Response:
        account = self._account(request, number, "HAREKET")
        days = {"baslangic": self._today - timedelta(30), "bitis": self._today}
        reasons = {}
        for name in days:
            try:
                days[name] = date.fromisoformat(request.query.get(name, days[name].isoformat()))
            except ValueError:
                reasons[name] = "HATALI"
        if not reasons and days["baslangic"] > days["bitis"]:
            reasons["baslangic"] = "HATALI"
        size = request.query.get("adet", "10")
        if not size.isdecimal() or not 1 <= int(size) <= 25:
            reasons["adet"] = "HATALI"
        if reasons:
            raise refuse_fields(**reasons)
        since, until = (day.isoformat() for day in days.values())
        rows = [entry for entry in reversed(account.entries) if since <= entry["tarih"] <= until]
        rows = self._after(rows, request.query.get("imlec"))
        page = rows[: int(size)]
        more = urlsafe_b64encode(page[-1]["hareketNo"].encode()).decode() if len(rows) > len(page) else None
        return self._tell(200, page, adet=len(page), sonraki=more)

    def _after(self, rows: list[dict[str, Any]], cursor: str | None) -> list[dict[str, Any]]:
        if cursor is None:
            return rows
        try:
            last = urlsafe_b64decode(cursor).decode()
            return rows[[row["hareketNo"] for row in rows].index(last) + 1 :]
        except ValueError:
            raise refuse_fields(imlec="HATALI") from None

    # Payment orders

    def _payer(self, document: dict[str, Any]) -> Account:
        for customer in self._customers.values():
            for account in customer.accounts:
                if account.iban == document["gonderen"]["iban"]:
                    return account
        raise Fault(422, "gonderen-yok")

    def _pay(self, request: Request) -> Response:
        key = need_header(request, "X-Islem-Anahtari")
        document = read(request, ORDER)
        if key in self._keys:
            order, body = self._keys[key]
            if body != document:
                raise Fault(409, "islem-anahtari-kullanilmis", emirNo=order.id)
            return self._tell(200, self._write_order(request, order))
        if document["tutar"] > MOST:
            raise Fault(422, "limit-asimi", ustSinir=MOST)
        if document["tutar"] > self._spendable(self._payer(document)):
            raise Fault(422, "yetersiz-bakiye")
        names = ("gonderen", "alici", "tutar", "paraBirimi", "aciklama", "donusAdresi", "takip")
        kept = {name: document[name] for name in names}
        now = self.clock.now
        order = Order("ode-" + self._sign(9), "IMZA_BEKLIYOR", self._sign(20, string.ascii_letters), kept, now, now)
        self._orders[order.id] = order
        self._keys[key] = order, document
        return self._tell(201, self._write_order(request, order), location=f"/odeme/v1/emirler/{order.id}")

    def _write_order(self, request: Request, order: Order) -> dict[str, Any]:
        written = {"emirNo": order.id, "asama": order.state}
        return written | self._write_asked(request, order, order.state == "IMZA_BEKLIYOR")

    def _order(self, id: str) -> Order:
        if id not in self._orders:
            raise Fault(404, "emir-yok")
        return self._orders[id]

    def _show_order(self, request: Request, id: str) -> Response:
        return self._tell(200, self._write_order(request, self._order(id)))

    def _cancel(self, request: Request, id: str) -> Response:
        order = self._order(id)
        if order.state not in ("IMZA_BEKLIYOR", "KABUL"):
            raise Fault(409, "iptal-edilemez", asama=order.state)
        order.turn("IPTAL_EDILDI", self.clock.now)
        return self._tell(200, self._write_order(request, order))

    # Pages

    def _waiting(self, ticket: str) -> Asked | None:
        for asked in (*self._permissions.values(), *self._orders.values()):
            if asked.ticket == ticket and asked.state in ("ONAY_BEKLIYOR", "IMZA_BEKLIYOR"):
                return asked
        return None

    def _show_page(self, request: Request, ticket: str) -> Response:
        asked = self._waiting(ticket)
        return self._write_page(asked, 200) if asked else self._write_end()

    def _write_end(self) -> Response:
        return show(410, "Zeytin", "<p>Bu sayfa artık geçerli değil.</p>")

    def _write_page(self, asked: Asked, status: int, hint: str = "") -> Response:
        what = "ödeme emri" if isinstance(asked, Order) else "izin"
        form = '<input name="musteriNo"><input name="sifre" type="password">'
        form += '<button name="karar" value="onayla">Onayla</button><button name="karar" value="reddet">Reddet</button>'
        content = f'<p>{APP}: {what} {asked.id}</p><p>{hint}</p><form method="post">{form}</form>'
        return show(status, "Zeytin", content)

    def _decide(self, request: Request, ticket: str) -> Response:
        if not (asked := self._waiting(ticket)):
            return self._write_end()
        customer = self._customers.get(request.field("musteriNo"))
        if not customer or customer.password != request.field("sifre"):
            return self._write_page(asked, 401, "Müşteri numarası veya şifre hatalı.")
        decision = request.field("karar")
        if decision not in ("onayla", "reddet"):
            return self._write_page(asked, 400, "Lütfen seçin.")
        if isinstance(asked, Order) and self._payer(asked.document) not in customer.accounts:
            return self._write_page(asked, 403, "Bu hesap size ait değil.")
        now = self.clock.now
        if decision == "reddet":
            asked.turn("REDDEDILDI", now)
        elif isinstance(asked, Order):
            asked.turn("KABUL", now)
            asked.signed = now
        else:
            asked.turn("ETKIN", now)
            asked.customer = customer
        what = {"emirNo" if isinstance(asked, Order) else "izinNo": asked.id}
        what |= {"sonuc": "RET" if decision == "reddet" else "ONAY", "takip": asked.document["takip"]}
        return Response(303, "", {"Location": f"{asked.document['donusAdresi']}?{urlencode(what)}"})
