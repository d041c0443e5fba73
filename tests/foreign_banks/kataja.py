"""Kataja, a Finnish bank with money in cents, days such as 15.06.2026 and a word for the state of everything.

- The app gets its key by `POST /rajapinta/avain` with HTTP Basic, and sends it as a bearer for 30 minutes: then 401
  `AVAIN_VANHENTUNUT`. It names each request in `X-Pyynto`, which the bank gives back.
- A permission (lupa) is asked for with rights and days. The app names it in `X-Lupa` when it reads accounts or orders a
  payment. States: ODOTTAA, VOIMASSA, HYLATTY, PERUTTU, VANHENTUNUT after its last day. Only VOIMASSA is good for
  something; with another, 403 `LUPA_EI_VOIMASSA` tells the state, and with a right too few, 403 `OIKEUS_PUUTTUU`.
- A payment (maksu) names the payer's IBAN. States: VAHVISTAMATTA, VAHVISTETTU, KASITTELYSSA after 2 minutes, SUORITETTU
  after 15, HYLATTY, PERUTTU. Its money is held from VAHVISTETTU on, and booked when it is SUORITETTU.
- Both have a link `vahvistus` while they wait for the customer, who decides at the bank's page with a user name and a
  code, and is sent back to the app's `paluu` with the new state.
- DELETE takes either back while it can be, and returns it. Later it is 409 `VAARA_TILA` with the state.
- Transactions come by pages, `sivu` from 1 and `koko` of 10 unless told, at most 50, with the number of pages and rows.
- Errors are `{"virhe": {"koodi", "viesti", …}, "hetki"}`: 400 `KENTTA` names the field (`kentta`), 404 `EI_LOYDY` is
  for everything unknown, 422 `KATE_EI_RIITA` for a payment without cover.
"""

import random
import re
from base64 import b64encode
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

API = "/rajapinta"
APPS = {"Basic " + b64encode(b"kukkaro:mustikkapiirakka").decode(): "kukkaro"}
RIGHTS = ("tilit", "saldot", "tapahtumat", "maksut")
SHOPS = "K-Market Töölö|Prisma|VR Matkalippu|Yliopiston Apteekki|Helen Sähkö|Alko|Suomalainen Kirjakauppa".split("|")
WORDS = {
    "SOVELLUS_TUNTEMATON": "Sovellusta ei tunneta.",
    "AVAIN_PUUTTUU": "Avain puuttuu tai sitä ei tunneta.",
    "AVAIN_VANHENTUNUT": "Avain on vanhentunut.",
    "OTSAKE_PUUTTUU": "Pakollinen otsake puuttuu.",
    "SANOMA": "Sanomaa ei voi lukea.",
    "KENTTA": "Kentän arvo puuttuu tai on virheellinen.",
    "LUPA_EI_VOIMASSA": "Lupa ei ole voimassa.",
    "OIKEUS_PUUTTUU": "Lupa ei kata tätä tietoa.",
    "EI_LOYDY": "Kohdetta ei löydy.",
    "VAARA_METODI": "Metodi ei ole sallittu.",
    "VAARA_TILA": "Kohteen tila ei salli tätä.",
    "KATE_EI_RIITA": "Tilin kate ei riitä.",
}


@dataclass
class Account:
    key: str
    iban: str
    name: str
    cents: int
    rows: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Customer:
    name: str
    code: str
    accounts: list[Account]


@dataclass
class Asked:
    """What waits for a customer's decision at the page `link`."""

    key: str
    link: str
    app: str
    back: str
    created: datetime
    state: str


@dataclass
class Permission(Asked):
    rights: list[str]
    last_day: date
    customer: Customer | None = None


@dataclass
class Payment(Asked):
    account: Account
    creditor: dict[str, str]
    cents: int
    message: str
    confirmed: datetime | None = None
    done: datetime | None = None


def write_day(day: date) -> str:
    return f"{day:%d.%m.%Y}"


def write_time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def write_money(cents: int) -> dict[str, Any]:
    return {"sentit": cents, "valuutta": "EUR"}


def rest_of_iban(iban: str) -> int:
    """1 for an IBAN with the right check digits."""
    return int("".join(str(int(letter, 36)) for letter in iban[4:] + iban[:4])) % 97


def read_text(document: Any, place: str, form: str) -> str:
    """The text at a place such as `saaja.iban`."""
    value = document
    for name in place.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if not isinstance(value, str) or not re.fullmatch(form, value):
        raise Fault(400, "KENTTA", place)
    return value


def read_iban(document: dict[str, Any], place: str) -> str:
    iban = read_text(document, place, r"[A-Z]{2}\d\d[A-Z\d]{10,30}")
    if rest_of_iban(iban) != 1:
        raise Fault(400, "KENTTA", place)
    return iban


def read_day(request: Request, name: str, default: date) -> date:
    if name not in request.query:
        return default
    try:
        return datetime.strptime(request.query[name], "%d.%m.%Y").replace(tzinfo=UTC).date()
    except ValueError:
        raise Fault(400, "KENTTA", name) from None


def read_number(request: Request, name: str, default: int, most: int) -> int:
    value = request.query.get(name, str(default))
    if not re.fullmatch(r"[1-9]\d{0,5}", value) or int(value) > most:
        raise Fault(400, "KENTTA", name)
    return int(value)


class Kataja:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"kataja {seed}")
        self._keys: dict[str, tuple[str, datetime]] = {}
        self._asked: dict[str, Permission | Payment] = {}
        self._customers = {
            "40718263": Customer(
                "Aino Korhonen",
                "5519",
                [self._open("Käyttötili", 248_136), self._open("Säästötili", 1_205_000)],
            ),
            "40993157": Customer(
                "Eero Mäkinen",
                "2086",
                [self._open("Arkitili", 391_470), self._open("Mökkikassa", 76_025)],
            ),
        }
        self._routes = Routes(
            ("POST", f"{API}/luvat", self._ask_permission),
            ("GET", f"{API}/luvat/{{key}}", lambda request, app, key: self._shown(request, self._permission(app, key))),
            ("DELETE", f"{API}/luvat/{{key}}", self._drop_permission),
            ("GET", f"{API}/tilit", self._accounts),
            ("GET", f"{API}/tilit/{{key}}", self._one_account),
            ("GET", f"{API}/tilit/{{key}}/saldo", self._balance),
            ("GET", f"{API}/tilit/{{key}}/tapahtumat", self._transactions),
            ("POST", f"{API}/maksut", self._order_payment),
            ("GET", f"{API}/maksut/{{key}}", lambda request, app, key: self._shown(request, self._payment(app, key))),
            ("DELETE", f"{API}/maksut/{{key}}", self._cancel_payment),
        )

    def answer(self, request: Request) -> Response:
        self._let_time_pass()
        if request.path.startswith("/vahvista/"):
            return self._visit(request)
        try:
            response = self._call(request)
        except NoRoute as wrong:
            fault = Fault(405, "VAARA_METODI") if wrong.allowed else Fault(404, "EI_LOYDY")
            response = self._refuse(fault)
        except Fault as fault:
            response = self._refuse(fault)
        named = request.headers.get("x-pyynto")
        return replace(response, headers={**response.headers, "X-Pyynto": named}) if named else response

    def _refuse(self, fault: Fault) -> Response:
        place = {"kentta": fault.place} if fault.place else {}
        error = {"koodi": fault.word, "viesti": WORDS[fault.word], **place, **fault.more}
        return respond(fault.status, {"virhe": error, "hetki": write_time(self.clock.now)})

    def _call(self, request: Request) -> Response:
        if "x-pyynto" not in request.headers:
            raise Fault(400, "OTSAKE_PUUTTUU", otsake="X-Pyynto")
        if (request.method, request.path) == ("POST", f"{API}/avain"):
            return self._enter(request)
        handler, parameters = self._routes.find(request.method, request.path)
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or key not in self._keys:
            raise Fault(401, "AVAIN_PUUTTUU")
        app, ends = self._keys[key]
        if ends <= self.clock.now:
            raise Fault(401, "AVAIN_VANHENTUNUT")
        return handler(request, app, **parameters)

    def _enter(self, request: Request) -> Response:
        app = APPS.get(request.headers.get("authorization", ""))
        if not app:
            raise Fault(401, "SOVELLUS_TUNTEMATON")
        if request.field("tyyppi") != "sovellus":
            raise Fault(400, "KENTTA", "tyyppi")
        key = self._word(40)
        self._keys[key] = app, self.clock.now + timedelta(minutes=30)
        return respond(200, {"avain": key, "tyyppi": "Bearer", "voimassa_s": 1800})

    def _word(self, length: int) -> str:
        return "".join(self._random.choices("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", k=length))

    def _digits(self, length: int) -> str:
        return "".join(self._random.choices("0123456789", k=length))

    def _open(self, name: str, cents: int) -> Account:
        number = f"8000{self._digits(10)}"
        account = Account(f"{self._random.getrandbits(64):016x}", "", name, cents)
        account.iban = f"FI{98 - rest_of_iban(f'FI00{number}'):02}{number}"
        for days in sorted(self._random.sample(range(1, 61), 24), reverse=True):
            cents = self._random.choice((-1, -1, -1, 4)) * self._random.randrange(350, 42_000)
            self._book(account, self.clock.today - timedelta(days=days), cents, self._random.choice(SHOPS), "")
        return account

    def _book(self, account: Account, day: date, cents: int, party: str, message: str) -> None:
        row = {
            "arkistotunnus": self._digits(18),
            "kirjauspaiva": write_day(day),
            "suunta": "OTTO" if cents < 0 else "PANO",
            "maara": write_money(abs(cents)),
            "osapuoli": party,
            "viesti": message,
        }
        account.rows.insert(0, row)

    def _let_time_pass(self) -> None:
        for asked in self._asked.values():
            if isinstance(asked, Permission):
                if asked.state in ("ODOTTAA", "VOIMASSA") and self.clock.today > asked.last_day:
                    asked.state = "VANHENTUNUT"
            elif asked.confirmed:
                if asked.state == "VAHVISTETTU" and self.clock.now >= asked.confirmed + timedelta(minutes=2):
                    asked.state = "KASITTELYSSA"
                if asked.state == "KASITTELYSSA" and self.clock.now >= asked.confirmed + timedelta(minutes=15):
                    asked.state, asked.done = "SUORITETTU", asked.confirmed + timedelta(minutes=15)
                    asked.account.cents -= asked.cents
                    self._book(asked.account, asked.done.date(), -asked.cents, asked.creditor["nimi"], asked.message)

    # Permissions

    def _ask_permission(self, request: Request, app: str) -> Response:
        document = self._document(request)
        rights, days = document.get("oikeudet"), document.get("voimassa_pv")
        if not isinstance(rights, list) or not rights or not all(right in RIGHTS for right in rights):
            raise Fault(400, "KENTTA", "oikeudet")
        if type(days) is not int or not 1 <= days <= 180:
            raise Fault(400, "KENTTA", "voimassa_pv")
        permission = Permission(
            f"LU-{self._digits(4)}-{self._digits(4)}",
            f"/vahvista/{self._word(22)}",
            app,
            read_text(document, "paluu", r"https://\S+"),
            self.clock.now,
            "ODOTTAA",
            rights,
            self.clock.today + timedelta(days=days),
        )
        self._asked[permission.key] = permission
        return self._shown(request, permission, 201)

    def _document(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "SANOMA") from None

    def _shown(self, request: Request, asked: Permission | Payment, status: int = 200) -> Response:
        shown: dict[str, Any] = {"tunnus": asked.key, "tila": asked.state, "luotu": write_time(asked.created)}
        if isinstance(asked, Permission):
            shown |= {"oikeudet": asked.rights, "paattyy": write_day(asked.last_day)}
            if asked.customer:
                shown["asiakas"] = asked.customer.name
        else:
            shown |= {
                "maksaja": {"iban": asked.account.iban},
                "saaja": asked.creditor,
                "maara": write_money(asked.cents),
                "viesti": asked.message,
            }
            if asked.done:
                shown["suoritettu"] = write_time(asked.done)
        if asked.state in ("ODOTTAA", "VAHVISTAMATTA"):
            shown["vahvistus"] = request.origin + asked.link
        return respond(status, shown)

    def _permission(self, app: str, key: str) -> Permission:
        permission = self._asked.get(key)
        if not isinstance(permission, Permission) or permission.app != app:
            raise Fault(404, "EI_LOYDY")
        return permission

    def _drop_permission(self, request: Request, app: str, key: str) -> Response:
        permission = self._permission(app, key)
        if permission.state not in ("ODOTTAA", "VOIMASSA"):
            raise Fault(409, "VAARA_TILA", tila=permission.state)
        permission.state = "PERUTTU"
        return self._shown(request, permission)

    def _customer(self, request: Request, app: str, right: str) -> Customer:
        """Whose permission the request names, if it is good for this right."""
        if "x-lupa" not in request.headers:
            raise Fault(400, "OTSAKE_PUUTTUU", otsake="X-Lupa")
        permission = self._permission(app, request.headers["x-lupa"])
        if permission.state != "VOIMASSA" or not permission.customer:
            raise Fault(403, "LUPA_EI_VOIMASSA", tila=permission.state)
        if right not in permission.rights:
            raise Fault(403, "OIKEUS_PUUTTUU", oikeus=right)
        return permission.customer

    # Accounts

    def _accounts(self, request: Request, app: str) -> Response:
        accounts = [self._show_account(account) for account in self._customer(request, app, "tilit").accounts]
        return respond(200, {"tilit": accounts, "yhteensa": len(accounts)})

    def _show_account(self, account: Account) -> dict[str, str]:
        return {"tunnus": account.key, "iban": account.iban, "nimi": account.name, "valuutta": "EUR"}

    def _account(self, request: Request, app: str, key: str, right: str) -> Account:
        for account in self._customer(request, app, right).accounts:
            if account.key == key:
                return account
        raise Fault(404, "EI_LOYDY")

    def _one_account(self, request: Request, app: str, key: str) -> Response:
        return respond(200, self._show_account(self._account(request, app, key, "tilit")))

    def _available(self, account: Account) -> int:
        payments = [asked for asked in self._asked.values() if isinstance(asked, Payment) and asked.account is account]
        held = sum(payment.cents for payment in payments if payment.state in ("VAHVISTETTU", "KASITTELYSSA"))
        return account.cents - held

    def _balance(self, request: Request, app: str, key: str) -> Response:
        account = self._account(request, app, key, "saldot")
        booked, available = write_money(account.cents), write_money(self._available(account))
        now = write_time(self.clock.now)
        return respond(200, {"iban": account.iban, "kirjattu": booked, "kaytettavissa": available, "hetki": now})

    def _transactions(self, request: Request, app: str, key: str) -> Response:
        account = self._account(request, app, key, "tapahtumat")
        first, last = read_day(request, "alku", date.min), read_day(request, "loppu", date.max)
        page, size = read_number(request, "sivu", 1, 999_999), read_number(request, "koko", 10, 50)
        rows = [row for row in account.rows if first <= self._day_of(row) <= last]
        shown = rows[(page - 1) * size : page * size]
        pages = -(-len(rows) // size)
        return respond(200, {"tapahtumat": shown, "sivu": page, "sivuja": pages, "yhteensa": len(rows)})

    def _day_of(self, row: dict[str, Any]) -> date:
        day, month, year = map(int, row["kirjauspaiva"].split("."))
        return date(year, month, day)

    # Payments

    def _order_payment(self, request: Request, app: str) -> Response:
        customer = self._customer(request, app, "maksut")
        document = self._document(request)
        iban = read_iban(document, "maksaja.iban")
        creditor = {
            "nimi": read_text(document, "saaja.nimi", r".{1,70}"),
            "iban": read_iban(document, "saaja.iban"),
        }
        money = document.get("maara")
        cents = money.get("sentit") if isinstance(money, dict) else None
        if type(cents) is not int or cents < 1:
            raise Fault(400, "KENTTA", "maara.sentit")
        read_text(document, "maara.valuutta", "EUR")
        message, back = read_text(document, "viesti", r".{0,140}"), read_text(document, "paluu", r"https://\S+")
        account = next((account for account in customer.accounts if account.iban == iban), None)
        if not account:
            raise Fault(404, "EI_LOYDY")
        if cents > self._available(account):
            raise Fault(422, "KATE_EI_RIITA")
        key, link = f"MK{self._digits(10)}", f"/vahvista/{self._word(22)}"
        payment = Payment(key, link, app, back, self.clock.now, "VAHVISTAMATTA", account, creditor, cents, message)
        self._asked[key] = payment
        return self._shown(request, payment, 201)

    def _payment(self, app: str, key: str) -> Payment:
        payment = self._asked.get(key)
        if not isinstance(payment, Payment) or payment.app != app:
            raise Fault(404, "EI_LOYDY")
        return payment

    def _cancel_payment(self, request: Request, app: str, key: str) -> Response:
        payment = self._payment(app, key)
        if payment.state not in ("VAHVISTAMATTA", "VAHVISTETTU"):
            raise Fault(409, "VAARA_TILA", tila=payment.state)
        payment.state = "PERUTTU"
        return self._shown(request, payment)

    # The customer's page

    def _visit(self, request: Request) -> Response:
        asked = next((asked for asked in self._asked.values() if asked.link == request.path), None)
        if not asked or asked.state not in ("ODOTTAA", "VAHVISTAMATTA"):
            return show(410, "Kataja", "<p>Linkki ei ole enää käytössä.</p>")
        if request.method != "POST":
            return self._page(asked, 200)
        customer = self._customers.get(request.field("kayttajatunnus"))
        if not customer or customer.code != request.field("tunnusluku"):
            return self._page(asked, 401, "Käyttäjätunnus tai tunnusluku on väärä.")
        if isinstance(asked, Payment) and asked.account not in customer.accounts:
            return self._page(asked, 403, "Tili ei ole sinun.")
        if request.field("paatos") not in ("hyvaksy", "hylkaa"):
            return self._page(asked, 400, "Hyväksy tai hylkää.")
        accepts = request.field("paatos") == "hyvaksy"
        if isinstance(asked, Permission):
            asked.state, asked.customer = ("VOIMASSA", customer) if accepts else ("HYLATTY", None)
        elif accepts and asked.cents > self._available(asked.account):
            return self._page(asked, 409, "Tilin kate ei riitä.")
        else:
            asked.state, asked.confirmed = ("VAHVISTETTU", self.clock.now) if accepts else ("HYLATTY", None)
        kind = "lupa" if isinstance(asked, Permission) else "maksu"
        return Response(303, "", {"Location": f"{asked.back}?{urlencode({kind: asked.key, 'tila': asked.state})}"})

    def _page(self, asked: Permission | Payment, status: int, hint: str = "") -> Response:
        if isinstance(asked, Permission):
            what = f"Sovellus {asked.app} pyytää luvan: {', '.join(asked.rights)}. Päättyy {write_day(asked.last_day)}."
        else:
            euros = f"{asked.cents // 100},{asked.cents % 100:02} €"
            what = f"Maksu {euros}, saaja {asked.creditor['nimi']} ({asked.creditor['iban']})."
        fields = '<input name="kayttajatunnus"><input name="tunnusluku" type="password">'
        accept = '<button name="paatos" value="hyvaksy">Hyväksy</button>'
        decline = '<button name="paatos" value="hylkaa">Hylkää</button>'
        form = f'<form method="post">{fields}{accept}{decline}</form>'
        return show(status, "Kataja", f"<p>{what}</p><p>{hint}</p>{form}")
