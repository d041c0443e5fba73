"""Two journeys of the app Skarbonka and its customers at Wisła."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, uuid5
from zoneinfo import ZoneInfo

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

CONSENTS, ACCOUNTS, TRANSFERS = "/openapi/zgody", "/openapi/rachunki", "/openapi/przelewy"
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0[12]:00$")
AMOUNT = re.compile(r"^-?\d+,\d\d$")
TIME_AND_MONEY = {"zmieniono": TIME, "razem": AMOUNT}
WARSAW = ZoneInfo("Europe/Warsaw")


def read_cents(answer: Answer, place: str) -> int:
    """The amount at this place, or 0."""
    value = answer.find(place)
    return int(value.replace(",", "")) if isinstance(value, str) and AMOUNT.match(value) else 0


def write_cents(cents: int) -> str:
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100},{abs(cents) % 100:02}"


def search(pattern: str, text: Any) -> str | None:
    found = re.search(pattern, str(text))
    return found[1] if found else None


class WislaApp:
    def __init__(self, walk: Walk, login: str, password: str, pin: str) -> None:
        self.walk = walk
        self._login, self._password, self._pin = login, password, pin
        self._key: Any = None

    def day(self, days: int) -> str:
        return (self.walk.now.astimezone(WARSAW) + days * DAY).strftime("%Y%m%d")

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        asked = str(uuid5(NAMESPACE_URL, f"{self._login} {name}"))
        sent = {"X-Klucz-Aplikacji": "sk-0b71d9f2c6a84e35", "X-Id-Zadania": asked} | (headers or {})
        if self._key and path.startswith(ACCOUNTS):
            sent["X-Klucz-Zgody"] = str(self._key)
        expected = {"@X-Id-Zadania": asked, "@Content-Type": "application/json; charset=utf-8", **(members or {})}
        if status >= 400:
            expected["idZadania"] = asked
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def refuse(self, name: str, method: str, path: str, status: int, word: str, about: Any, **request: Any) -> None:
        members = {"bledy.#": 1, "bledy.0.kod": word, "bledy.0.dotyczy": about}
        self.call(name, method, path, status, members, **request)

    def wish(self, scopes: list[str], days: int, back: str) -> dict[str, Any]:
        return {"zakres": scopes, "waznaDo": self.day(days), "adresPowrotu": back}

    def ask(self, name: str, wish: dict[str, Any]) -> tuple[Any, Any]:
        """Return the consent's number and the customer's page."""
        members = {
            "nrZgody": re.compile(r"^Z\d{11}$"),
            "stan": "OCZEKUJE",
            "zakres": wish["zakres"],
            "waznaDo": wish["waznaDo"],
            "zmieniono": TIME,
            "adresPotwierdzenia": re.compile(r"^http://[^/]+/klient/potwierdz\?t=[0-9a-f]{32}$"),
        }
        made = self.call(name, "POST", CONSENTS, 201, members, json=wish)
        return made.find("nrZgody"), made.find("adresPotwierdzenia")

    def log_in(self, name: str, page: Any) -> tuple[str | None, list[str]]:
        """Return the code in the text message and the values of the accounts."""
        form = {"login": self._login, "haslo": self._password}
        members = PAGE | {"page": re.compile(r"kod z SMS to <b>\d{6}</b>")}
        shown = self.walk.step(name, "POST", page, 200, members, data=form)
        return search(r"<b>(\d{6})</b>", shown.text), shown.fields.get("rachunek", [])

    def confirm(self, name: str, page: Any, code: str | None, accounts: list[str], back: str) -> str | None:
        """Return the coupon."""
        form = {"kodSms": str(code), "rachunek": accounts, "przycisk": "zgoda"}
        members = {"@Location": re.compile(rf"^{re.escape(back)}&wynik=zgoda&kupon=[0-9a-f]{{20}}$")}
        sent_back = self.walk.step(name, "POST", page, 302, members, data=form).find("@Location")
        return parse_qs(urlsplit(str(sent_back)).query).get("kupon", [None])[0]

    def change(self, name: str, consent: Any, coupon: str | None) -> None:
        members = {"klucz": re.compile(r"^kz\.[0-9a-f]{40}$"), "nrZgody": consent, "waznaDo": re.compile(r"^\d{8}$")}
        made = self.call(name, "POST", f"{CONSENTS}/{consent}/klucz", 201, members, json={"kupon": coupon})
        self._key = made.find("klucz")

    def look(self, name: str, consent: Any, wish: dict[str, Any]) -> None:
        members = {"nrZgody": consent, "stan": "AKTYWNA", "zakres": wish["zakres"], "waznaDo": wish["waznaDo"]}
        members |= {"zmieniono": TIME, "adresPotwierdzenia": None}
        self.call(name, "GET", f"{CONSENTS}/{consent}", 200, members)

    def revoke(self, name: str, consent: Any) -> None:
        members = {"nrZgody": consent, "stan": "COFNIETA", "zmieniono": TIME}
        self.call(name, "POST", f"{CONSENTS}/{consent}/cofnij", 200, members)

    def list_accounts(self, name: str, count: int, accounts: list[str]) -> Any:
        """Return the id of the first account."""
        members: dict[str, Any] = {
            "liczba": count,
            "rachunki.#": count,
            "rachunki.0.numer": re.compile(r"^\d\d…\d{4}$"),
            "rachunki.0.nazwa": "Konto Nurt",
            "rachunki.0.waluta": "PLN",
        }
        members |= {f"rachunki.{place}.idRachunku": id for place, id in enumerate(accounts)}
        return self.call(name, "GET", ACCOUNTS, 200, members).find("rachunki.0.idRachunku")

    def balance(self, name: str, account: Any, **amounts: int) -> Answer:
        members = {"idRachunku": account, "ksiegowe": AMOUNT, "dostepne": AMOUNT, "blokady": AMOUNT, "limit": AMOUNT}
        members |= {"waluta": "PLN", "naChwile": TIME} | {one: write_cents(cents) for one, cents in amounts.items()}
        return self.call(name, "GET", f"{ACCOUNTS}/{account}/saldo", 200, members)

    def read_pages(self, names: tuple[str, str], account: Any, days: int, size: int) -> None:
        query = {"od": self.day(-days), "do": self.day(-1), "naStronie": str(size)}
        members = {
            "#": size,
            "0.nrOperacji": re.compile(r"^\d{8}-[0-9a-f]{8}$"),
            "0.dzien": re.compile(r"^\d{8}$"),
            "0.strona": re.compile("^(WN|MA)$"),
            "0.kwota": re.compile(r"^\d+,\d\d$"),
            "0.saldoPo": AMOUNT,
            "0.kontrahent.nazwa": str,
            "@X-Razem": re.compile(r"^\d+$"),
            "@Link": re.compile(rf'^<{ACCOUNTS}/{account}/historia\?znacznik=[0-9a-f]{{24}}>; rel="next"$'),
        }
        one = self.call(names[0], "GET", f"{ACCOUNTS}/{account}/historia", 200, members, params=query)
        members = {"#": size, "0.dzien": re.compile(r"^\d{8}$"), "0.saldoPo": AMOUNT, "@X-Razem": one.find("@X-Razem")}
        following = search("<([^>]+)>", one.find("@Link"))
        self.call(names[1], "GET", following or f"{ACCOUNTS}/{account}/historia", 200, members)

    def read_today(self, name: str, account: Any, transfer: Any, order: dict[str, Any], booked: int) -> None:
        """The transfer and its fee, and the balance after each."""
        after = booked - int(order["kwota"].replace(",", ""))
        members = {
            "#": 2,
            "0.dzien": self.day(0),
            "0.rodzaj": "PRZELEW_WYCH",
            "0.strona": "WN",
            "0.kwota": order["kwota"],
            "0.saldoPo": write_cents(after),
            "0.kontrahent.nazwa": order["odbiorca"]["nazwa"],
            "0.kontrahent.numer": order["odbiorca"]["numer"].replace(" ", ""),
            "0.tytul": order["tytul"].upper(),
            "1.rodzaj": "PROWIZJA",
            "1.strona": "WN",
            "1.kwota": "5,00",
            "1.saldoPo": write_cents(after - 500),
            "1.kontrahent": None,
            "1.tytul": f"PROWIZJA {transfer}",
            "@X-Razem": "2",
            "@Link": None,
        }
        query = {"od": self.day(0)}
        self.call(name, "GET", f"{ACCOUNTS}/{account}/historia", 200, members, params=query)

    def order(
        self, number: str, account: Any, payee: tuple[str, str], amount: str, title: str, speed: str
    ) -> dict[str, Any]:
        order = {"nrAplikacji": number, "rachunek": account, "odbiorca": {"nazwa": payee[0], "numer": payee[1]}}
        return order | {"kwota": amount, "waluta": "PLN", "tytul": title, "tryb": speed}

    def file(self, name: str, order: dict[str, Any], status: int = 201, stage: str = "do_podpisu") -> Answer:
        fee = 500 if order["tryb"] == "EXPRESS" else 0
        members = {one: value for one, value in order.items() if one != "odbiorca"}
        members |= {
            "nrPrzelewu": re.compile(r"^P\d{11}$"),
            "etap": stage,
            "odbiorca.nazwa": order["odbiorca"]["nazwa"],
            "odbiorca.numer": order["odbiorca"]["numer"].replace(" ", ""),
            "prowizja": write_cents(fee),
            "razem": write_cents(int(order["kwota"].replace(",", "")) + fee),
            "zmieniono": TIME,
            "@ETag": re.compile(r'^"\d+"$'),
        }
        return self.call(name, "POST", TRANSFERS, status, members, json=order)

    def refuse_fields(self, name: str, order: dict[str, Any]) -> None:
        members: dict[str, Any] = {"bledy.#": 2}
        for place, field in enumerate(("odbiorca.numer", "kwota")):
            members |= {f"bledy.{place}.kod": "ZLA_WARTOSC", f"bledy.{place}.pole": field}
        self.call(name, "POST", TRANSFERS, 422, members, json=order)

    def follow(self, name: str, transfer: Any, stage: str, reason: str | None = None) -> str:
        """Return the version."""
        members = {"nrPrzelewu": transfer, "etap": stage, "przyczyna": reason, "@ETag": re.compile(r'^"\d+"$')}
        path = f"{TRANSFERS}/{transfer}"
        return str(self.call(name, "GET", path, 200, members | TIME_AND_MONEY).find("@ETag"))

    def withdraw(self, name: str, transfer: Any, version: str) -> None:
        members = {"nrPrzelewu": transfer, "etap": "wycofany", "@ETag": re.compile(r'^"\d+"$'), **TIME_AND_MONEY}
        path, headers = f"{TRANSFERS}/{transfer}", {"If-Match": version}
        self.call(name, "PATCH", path, 200, members, headers, json={"etap": "wycofany"})

    def withdraw_late(self, name: str, transfer: Any, version: str, stage: str) -> None:
        path, headers = f"{TRANSFERS}/{transfer}", {"If-Match": version}
        self.refuse(name, "PATCH", path, 409, "ZLY_STAN", stage, headers=headers, json={"etap": "wycofany"})

    def sign(self, name: str, transfer: Any) -> Any:
        """Return the number of the signature."""
        members = {
            "nrPodpisu": re.compile(r"^A\d{11}$"),
            "nrPrzelewu": transfer,
            "stan": "WYSLANO",
            "@Location": re.compile(r"^/openapi/podpisy/A\d{11}$"),
            "@Retry-After": "3",
        }
        body = {"login": self._login}
        return self.call(name, "POST", f"{TRANSFERS}/{transfer}/podpisy", 202, members, json=body).find("nrPodpisu")

    def sign_unfunded(self, name: str, transfer: Any) -> None:
        path, body = f"{TRANSFERS}/{transfer}/podpisy", {"login": self._login}
        self.refuse(name, "POST", path, 422, "BRAK_SRODKOW", None, json=body)

    def mistype(self, name: str, signature: Any, pin: str) -> None:
        members = {"bledy.0.kod": "BLEDNY_PIN", "pozostaloProb": 2}
        body = {"decyzja": "PODPISZ", "pin": pin}
        self.call(name, "PUT", f"/piaskownica/podpisy/{signature}/decyzja", 403, members, json=body)

    def approve(self, name: str, signature: Any, transfer: Any) -> None:
        members = {"nrPodpisu": signature, "nrPrzelewu": transfer, "stan": "PODPISANO", "zmieniono": TIME}
        body = {"decyzja": "PODPISZ", "pin": self._pin}
        self.call(name, "PUT", f"/piaskownica/podpisy/{signature}/decyzja", 200, members, json=body)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = WislaApp(walk, "ewa.sikora", "Zimorodek7", "4821")
    back = "https://skarbonka.example/powrot?u=81"
    wish = app.wish(["RACHUNKI", "SALDA", "HISTORIA"], 30, back)
    unknown = {"X-Klucz-Aplikacji": "sk-0000000000000000"}
    app.refuse(
        "consent with a wrong key", "POST", CONSENTS, 401, "NIEZNANA_APLIKACJA", None, headers=unknown, json=wish
    )
    wish = app.wish(["RACHUNKI", "SALDA", "HISTORIA"], 30, back)
    consent, page = app.ask("consent", wish)
    walk.step("customer's page", "GET", page, 200, PAGE | {"page": re.compile(f"Skarbonka prosi o zgodę {consent}")})
    code, boxes = app.log_in("customer logs in", page)
    coupon = app.confirm("customer confirms", page, code, boxes[:2], back)
    app.change("coupon for the key", consent, coupon)
    app.look("consent is active", consent, wish)
    account = app.list_accounts("accounts", 2, boxes[:2])
    before = app.balance("balance", account, blokady=0)
    booked, available = read_cents(before, "ksiegowe"), read_cents(before, "dostepne")
    app.read_pages(("history", "more history"), account, 75, 6)

    landlord = "Spółdzielnia Wiklina", "61 1090 1014 0000 0712 1981 2874"
    order = app.order("SK-2201", account, landlord, "1250,40", "Czynsz za lipiec", "EXPRESS")
    payee = {"nazwa": landlord[0], "numer": "61 1090 1014 0000 0712 1981 2847"}
    app.refuse_fields("transfer with a mistyped number and a point", order | {"odbiorca": payee, "kwota": "1250.40"})
    rent = app.file("transfer", order).find("nrPrzelewu")
    again = app.file("same transfer again", order, 200)
    signature = app.sign("ask for a signature", again.find("nrPrzelewu"))
    app.mistype("customer mistypes the PIN", signature, "4812")
    app.approve("customer signs", signature, rent)
    app.follow("transfer is accepted", rent, "przyjety")
    app.balance("balance less what is blocked", account, ksiegowe=booked, blokady=125_540, dostepne=available - 125_540)
    wait(timedelta(seconds=90))
    version = app.follow("transfer is in progress", rent, "w_realizacji")
    app.withdraw_late("withdraw it too late", rent, version, "w_realizacji")
    wait(timedelta(minutes=4))
    app.follow("transfer is booked", rent, "zaksiegowany")
    app.read_today("history of today", account, rent, order, booked)

    dealer = "Autokomis Perła", "27 1140 2004 0000 3002 0135 5387"
    much = app.order("SK-2202", account, dealer, "48900,00", "Samochód", "ELIXIR")
    car = app.file("transfer above the balance", much).find("nrPrzelewu")
    app.sign_unfunded("ask for its signature", car)
    app.follow("transfer is refused", car, "odrzucony", "BRAK_SRODKOW")
    small = app.order("SK-2203", account, landlord, "64,15", "Woda", "ELIXIR")
    water = app.file("transfer to withdraw", small)
    app.withdraw("withdraw it", water.find("nrPrzelewu"), str(water.find("@ETag")))
    app.revoke("revoke the consent", consent)
    app.refuse("balance without a consent", "GET", f"{ACCOUNTS}/{account}/saldo", 403, "ZLY_STAN", "COFNIETA")
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = WislaApp(walk, "tomasz.lis", "Perkoz-19", "7305")
    back = "https://skarbonka.example/powrot?u=204"
    wish = app.wish(["HISTORIA", "RACHUNKI", "SALDA"], 90, back)
    unknown = {"X-Klucz-Aplikacji": "sk-1111111111111111"}
    app.refuse(
        "consent with a wrong key", "POST", CONSENTS, 401, "NIEZNANA_APLIKACJA", None, headers=unknown, json=wish
    )
    wish = app.wish(["HISTORIA", "RACHUNKI", "SALDA"], 90, back)
    consent, page = app.ask("consent", wish)
    walk.step("customer's page", "GET", page, 200, PAGE | {"page": re.compile(f"Skarbonka prosi o zgodę {consent}")})
    code, boxes = app.log_in("customer logs in", page)
    coupon = app.confirm("customer confirms the second account", page, code, boxes[1:2], back)
    app.change("coupon for the key", consent, coupon)
    app.look("consent is active", consent, wish)
    account = app.list_accounts("the one account", 1, boxes[1:2])
    before = app.balance("balance", account, blokady=0)
    booked, available = read_cents(before, "ksiegowe"), read_cents(before, "dostepne")
    app.read_pages(("history", "more history"), account, 60, 4)

    roofer, school = (
        ("Dach-Pol Kurek", "20 1020 5558 1111 1234 5678 9012"),
        ("Szkoła Żagiel", "98124014441111001078171074"),
    )
    order = app.order("SK-3117", account, school, "389,99", "Obóz żeglarski Zosi", "EXPRESS")
    payee = {"nazwa": school[0], "numer": "98124014441111001078171047"}
    app.refuse_fields("transfer with a mistyped number and a point", order | {"odbiorca": payee, "kwota": "389.99"})
    much = app.order("SK-3116", account, roofer, write_cents(available + 1), "Remont dachu", "ELIXIR")
    roof = app.file("transfer a grosz above the balance", much).find("nrPrzelewu")
    app.sign_unfunded("ask for its signature", roof)
    app.follow("transfer is refused", roof, "odrzucony", "BRAK_SRODKOW")
    camp = app.file("transfer", order).find("nrPrzelewu")
    signature = app.sign("ask for a signature", camp)
    app.mistype("customer mistypes the PIN", signature, "7350")
    app.approve("customer signs", signature, camp)
    app.follow("transfer is accepted", camp, "przyjety")
    app.file("same transfer after its signature", order, 200, "przyjety")
    app.balance("balance less what is blocked", account, ksiegowe=booked, blokady=39_499, dostepne=available - 39_499)
    wait(timedelta(minutes=2))
    app.follow("transfer is in progress", camp, "w_realizacji")
    wait(timedelta(minutes=6))
    version = app.follow("transfer is booked", camp, "zaksiegowany")
    app.withdraw_late("withdraw it when it is booked", camp, version, "zaksiegowany")
    app.read_today("history of today", account, camp, order, booked)
    small = app.order("SK-3118", account, roofer, "75,00", "Zaliczka", "ELIXIR")
    advance = app.file("transfer to withdraw", small)
    app.withdraw("withdraw it", advance.find("nrPrzelewu"), str(advance.find("@ETag")))
    app.revoke("revoke the consent", consent)
    app.refuse("history without a consent", "GET", f"{ACCOUNTS}/{account}/historia", 403, "ZLY_STAN", "COFNIETA")
    return walk.steps
