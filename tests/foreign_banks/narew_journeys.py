"""Two journeys of the app Skarbonka and its customers at Narew."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5
from zoneinfo import ZoneInfo

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

WARSAW = ZoneInfo("Europe/Warsaw")
BACK = "https://skarbonka.example/powrot"
TPP = "PSDPL-KNF-40117"
CODE = "135790"
SCOPES = ["RACHUNKI", "SALDA", "HISTORIA"]
AUTH, AIS, ORDERS = "/openbank/auth/2.1", "/openbank/ais/2.1", "/openbank/pis/1.3/zlecenia"
AMOUNT = re.compile(r"^\d+,\d\d$")
NOTARY = ("27102010260000420270355111", "Kancelaria Notarialna Dąb")
SCHOOL = ("93114020040000350276003311", "Szkoła Językowa Sójka")
CLUB = ("56249000050000400012345678", "KS Narew Łomża")


def grosze(answer: Answer, place: str) -> int:
    """The amount at this place, or 0."""
    value = answer.find(place)
    return int(value.replace(",", "")) if isinstance(value, str) and AMOUNT.search(value) else 0


def text(amount: int) -> str:
    return f"{amount // 100},{amount % 100:02}"


class NarewApp:
    def __init__(self, walk: Walk, login: tuple[str, str]) -> None:
        self.walk, self._login = walk, login
        self.tokens: dict[str, Any] = {}
        self.account: Any = None

    def name(self, word: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"{self._login[0]} {word}"))

    def day(self, days: int) -> str:
        return (self.walk.now.astimezone(WARSAW).date() + days * DAY).isoformat()

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        body: dict[str, Any] | None = None,
        *,
        token: Any = None,
        without: str = "",
    ) -> Answer:
        id, now = self.name(name), self.walk.now.astimezone(WARSAW).isoformat()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request: dict[str, Any] = {}
        if method in ("GET", "DELETE"):
            headers |= {"X-Request-Id": id, "X-Tpp-Id": TPP}
        else:
            header = {"requestId": id, "sendDate": now, "tppId": TPP}
            header.pop(without, None)
            request["json"] = {"requestHeader": header, **(body or {})}
        echo = {} if without else {"responseHeader.requestId": id, "@X-Request-Id": id}
        return self.walk.step(name, method, path, status, {**echo, **(members or {})}, headers=headers, **request)

    def refuse(
        self, name: str, method: str, path: str, status: int, code: str, place: str = "", **request: Any
    ) -> Answer:
        members = {"bledy.0.kodBledu": f"NRW-{code}", "bledy.0.komunikat": str}
        members |= {"bledy.0.pole": place} if place else {}
        return self.call(name, method, path, status, members, **request)

    def read(self, name: str, what: str, members: Expected, **sent: Any) -> Answer:
        body = {"idRachunku": self.account, **sent} if self.account else sent
        return self.call(name, "POST", f"{AIS}/{what}", 200, members, body, token=self.tokens.get("ais"))

    def wish(self, scopes: list[str], days: int, state: str) -> dict[str, Any]:
        body = {"response_type": "code", "client_id": "skarbonka", "redirect_uri": BACK, "scope": "ais", "state": state}
        return {**body, "scope_details": {"zakres": scopes, "okresDni": days}}

    def ask(self, name: str, scopes: list[str], days: int) -> tuple[Any, str, str]:
        """Return the consent's id, the customer's page without its host, and the state that comes back."""
        state = self.name(f"{name} state")
        members = {
            "idZgody": re.compile(r"^ZGD-[0-9A-Z]{4}-[0-9A-Z]{4}$"),
            "stanZgody": "OCZEKUJACA",
            "zakres": scopes,
            "wazneDo": self.day(days),
            "aspspRedirectUri": re.compile(r"^https?://[^/]+/klient/logowanie\?sesja=[0-9a-f]{24}$"),
        }
        made = self.call(name, "POST", f"{AUTH}/authorize", 200, members, self.wish(scopes, days, state))
        page = re.sub(r"^https?://[^/]+", "", str(made.find("aspspRedirectUri")))
        return made.find("idZgody"), page, state

    def look(self, name: str, consent: Any, standing: str) -> None:
        members = {"idZgody": consent, "stanZgody": standing, "wazneDo": str}
        self.call(name, "POST", f"{AUTH}/zgody/sprawdz", 200, members, {"idZgody": consent})

    def withdraw(self, name: str, consent: Any) -> None:
        members = {"idZgody": consent, "stanZgody": "ODWOLANA", "odwolano": re.compile(self.day(0))}
        self.call(name, "POST", f"{AUTH}/zgody/odwolaj", 200, members, {"idZgody": consent})

    def log_in(self, name: str, page: Any) -> Any:
        """Return the page on which the customer decides."""
        form = {"identyfikator": self._login[0], "haslo": self._login[1], "akcja": "ZALOGUJ"}
        members = {"@Location": re.compile(r"^/klient/zgoda\?sesja=[0-9a-f]{24}$")}
        return self.walk.step(name, "POST", page, 302, members, data=form).find("@Location")

    def mistype(self, name: str, page: Any) -> None:
        form = {"identyfikator": self._login[0], "haslo": "zle-haslo", "akcja": "ZALOGUJ"}
        members = PAGE | {"page": re.compile("Nieprawidłowy identyfikator lub hasło")}
        self.walk.step(name, "POST", page, 200, members, data=form)

    def give_up(self, name: str, page: Any, state: str) -> None:
        members = {"@Location": re.compile(f"^{BACK}\\?error=access_denied&error_description=[^&]+&state={state}$")}
        self.walk.step(name, "POST", page, 302, members, data={"akcja": "REZYGNUJ"})

    def agree(self, name: str, page: Any, form: dict[str, list[str]], chosen: list[str], state: str) -> Any:
        """Return the code for a token."""
        given = {"_token": form.get("_token", [""])[0], "kodSms": CODE, "rachunek": chosen, "decyzja": "TAK"}
        members = {"@Location": re.compile(f"^{BACK}\\?code=[0-9a-f]{{32}}&state={state}$")}
        back = self.walk.step(name, "POST", page, 302, members, data=given).find("@Location")
        found = re.search("[?&]code=([^&]+)", back or "")
        return found[1] if found else None

    def _grant(self, **more: Any) -> dict[str, Any]:
        return {"client_id": "skarbonka", "client_secret": "zimorodek-48", **more}

    def sign_in(self, name: str) -> None:
        members = {"access_token": str, "token_type": "Bearer", "expires_in": "1800", "scope": "pis"}
        body = self._grant(grant_type="client_credentials", scope="pis")
        self.tokens["pis"] = self.call(name, "POST", f"{AUTH}/token", 200, members, body).find("access_token")

    def _take(self, name: str, consent: Any, body: dict[str, Any]) -> None:
        members = {
            "access_token": re.compile("^[0-9a-f]{40}$"),
            "refresh_token": str,
            "expires_in": "600",
            "scope": "ais",
            "scope_details.idZgody": consent,
            "scope_details.stanZgody": "AKTYWNA",
        }
        given = self.call(name, "POST", f"{AUTH}/token", 200, members, body)
        self.tokens |= {"ais": given.find("access_token"), "refresh": given.find("refresh_token")}

    def exchange(self, name: str, consent: Any, code: Any) -> None:
        self._take(name, consent, self._grant(grant_type="authorization_code", code=code, redirect_uri=BACK))

    def refresh(self, name: str, consent: Any) -> None:
        self._take(name, consent, self._grant(grant_type="refresh_token", refresh_token=self.tokens.get("refresh")))

    def refuse_grant(self, name: str, **body: Any) -> None:
        members = {"error": "invalid_grant", "error_description": str, "access_token": None}
        self.call(name, "POST", f"{AUTH}/token", 400, members, self._grant(**body))

    def order(
        self, name: str, payer: Any, payee: tuple[str, str], amount: str, title: str, system: str, **more: Any
    ) -> dict[str, Any]:
        order = {"refTpp": self.name(f"{name} ref"), "rachunekNadawcy": payer, "kwota": amount, "tytul": title}
        return {**order, "odbiorca": {"nrb": payee[0], "nazwa": payee[1]}, "system": system, **more}

    def place(self, name: str, order: dict[str, Any], standing: str = "NOWE", status: int = 201) -> tuple[Any, Any]:
        """Return the order's id and where to sign it."""
        fee = "5,00" if order["system"] == "EXPRESS" else "0,00"
        members = {"nrZlecenia": re.compile(r"^ZL\d{12}$"), "statusZlecenia": standing, "waluta": "PLN", **order}
        members |= {"prowizja": fee, "dataRealizacji": order.get("dataRealizacji", str)}
        if standing == "NOWE":
            members["linki.autoryzacja"] = re.compile(rf"^{ORDERS}/ZL\d{{12}}/autoryzacja$")
            members["dataRealizacji"] = order.get("dataRealizacji", self.day(0))
        made = self.call(name, "POST", ORDERS, status, members, order, token=self.tokens.get("pis"))
        return made.find("nrZlecenia"), made.find("linki.autoryzacja")

    def refuse_order(self, name: str, order: dict[str, Any], status: int, code: str) -> None:
        self.refuse(name, "POST", ORDERS, status, code, "kwota", body=order, token=self.tokens.get("pis"))

    def follow(self, name: str, order: Any, standing: str) -> None:
        members = {"nrZlecenia": order, "statusZlecenia": standing, "linki": None}
        self.call(name, "GET", f"{ORDERS}/{order}", 200, members, token=self.tokens.get("pis"))

    def cancel(self, name: str, order: Any) -> None:
        members = {"nrZlecenia": order, "statusZlecenia": "ANULOWANE"}
        self.call(name, "DELETE", f"{ORDERS}/{order}", 200, members, token=self.tokens.get("pis"))

    def refuse_cancel(self, name: str, order: Any) -> None:
        self.refuse(name, "DELETE", f"{ORDERS}/{order}", 409, "0404", token=self.tokens.get("pis"))

    def begin(self, name: str, link: Any, method: str) -> str:
        """Return where the authorisation is."""
        members: dict[str, Any] = {"idAutoryzacji": re.compile(r"^AU\d{8}$"), "statusZlecenia": "W_AUTORYZACJI"}
        if method == "SMS":
            members |= {"stanAutoryzacji": "WYSLANO_KOD", "pozostaloProb": 3}
        else:
            members |= {"stanAutoryzacji": "OCZEKUJE_W_APLIKACJI", "pozostaloProb": None}
        made = self.call(name, "POST", str(link), 201, members, {"metoda": method}, token=self.tokens.get("pis"))
        return f"{link}/{made.find('idAutoryzacji')}"

    def sign(self, name: str, place: str, order: Any) -> None:
        members = {"stanAutoryzacji": "POTWIERDZONA", "nrZlecenia": order, "statusZlecenia": "PRZYJETE"}
        self.call(name, "PUT", place, 200, members, {"kod": CODE}, token=self.tokens.get("pis"))

    def missign(self, name: str, place: str, left: int) -> None:
        members = {"bledy.0.kodBledu": "NRW-0405", "bledy.0.pole": "kod", "pozostaloProb": left}
        self.call(name, "PUT", place, 403, members, {"kod": "000000"}, token=self.tokens.get("pis"))

    def confirm(self, name: str, place: str, order: Any, standing: str) -> None:
        members = {"stanAutoryzacji": "POTWIERDZONA", "nrZlecenia": order, "statusZlecenia": standing}
        self.call(name, "GET", place, 200, members, token=self.tokens.get("pis"))

    def balances(self, name: str, booked: int, held: int) -> None:
        amounts = {"saldo": text(booked), "blokady": text(held), "dostepne": text(booked - held)}
        self.read(name, "salda", {"idRachunku": self.account, **amounts})


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = NarewApp(walk, ("20481173", "Wierzba!7"))
    wish, authorize = app.wish(SCOPES, 2, "proba"), f"{AUTH}/authorize"
    place = "requestHeader.requestId"
    app.refuse("consent without a request id", "POST", authorize, 400, "0001", place, body=wish, without="requestId")
    wish = app.wish(["RACHUNKI", "KARTY"], 120, "proba")
    members: dict[str, Any] = {
        "bledy.#": 2,
        "bledy.0.kodBledu": "NRW-0101",
        "bledy.0.pole": "scope_details.zakres",
        "bledy.1.kodBledu": "NRW-0101",
        "bledy.1.pole": "scope_details.okresDni",
    }
    app.call("consent for cards and 120 days", "POST", authorize, 400, members, wish)
    consent, page, state = app.ask("consent", SCOPES, 2)
    walk.step("login page", "GET", page, 200, PAGE | {"page": re.compile("Aplikacja skarbonka prosi o dostęp")})
    app.mistype("customer mistypes the password", page)
    page = app.log_in("customer logs in", page)
    members = PAGE | {"page": re.compile("Zakres: RACHUNKI, SALDA, HISTORIA")}
    form = walk.step("page to choose accounts", "GET", page, 200, members).fields
    chosen = form.get("rachunek", [])[::2]
    code = app.agree("customer agrees", page, form, chosen, state)
    app.look("consent is approved", consent, "ZATWIERDZONA")
    app.exchange("token", consent, code)
    app.refuse_grant("the code again", grant_type="authorization_code", code=code, redirect_uri=BACK)

    members = {
        "liczbaRachunkow": 2,
        "rachunki.#": 2,
        "rachunki.0.idRachunku": chosen[0] if chosen else str,
        "rachunki.0.numer": re.compile(r"^\d\d\.\.\.\d{4}$"),
        "rachunki.0.nazwa": "Konto Rodzinne",
        "rachunki.1.idRachunku": chosen[-1] if chosen else str,
    }
    app.account = app.read("accounts", "rachunki", members).find("rachunki.0.idRachunku")
    members = {
        "rachunek.idRachunku": app.account,
        "rachunek.nrb": re.compile(r"^\d{26}$"),
        "rachunek.typRachunku": "ROR",
        "rachunek.wlasciciel": "Halina Brzozowska",
    }
    nrb = app.read("account", "rachunek", members).find("rachunek.nrb")
    members = {"idRachunku": app.account, "saldo": AMOUNT, "blokady": "0,00", "dostepne": AMOUNT, "waluta": "PLN"}
    booked = grosze(app.read("balances", "salda", members), "saldo")
    members = {
        "transakcje.#": 5,
        "transakcje.0.kwotaGr": int,
        "transakcje.0.strona": re.compile("^(WN|MA)$"),
        "transakcje.0.dataKsiegowania": re.compile(r"^\d{4}-\d\d-\d\d$"),
        "pageInfo.perPage": 5,
        "pageInfo.razem": 24,
        "pageInfo.nextPage": str,
    }
    period = {"dataOd": app.day(-60), "dataDo": app.day(-1)}
    page_one = app.read("history", "historia", members, **period, perPage=5)
    members = {"transakcje.#": 5, "pageInfo.perPage": 5, "pageInfo.razem": 24, "pageInfo.nextPage": str}
    app.read("next page of the history", "historia", members, pageId=page_one.find("pageInfo.nextPage"))
    members = {"transakcje.#": 3, "transakcje.0.strona": "MA", "transakcje.2.strona": "MA", "pageInfo.nextPage": None}
    app.read("credits", "historia", members, **period, strona="MA")
    unknown, ais = {"idRachunku": "0000000000"}, app.tokens.get("ais")
    app.refuse("unknown account", "POST", f"{AIS}/salda", 404, "0301", "idRachunku", body=unknown, token=ais)

    app.sign_in("token for orders")
    name = "order with a dot"
    app.refuse_order(name, app.order(name, nrb, NOTARY, "128.40", "Akt 17/A", "EXPRESS"), 400, "0101")
    name = "order above the balance"
    app.refuse_order(name, app.order(name, nrb, NOTARY, "98500,00", "Akt 17/A", "EXPRESS"), 422, "0402")
    wish = app.order("order", nrb, NOTARY, "128,40", "Akt 17/A", "EXPRESS")
    paid, link = app.place("order", wish)
    today = app.day(0)
    place = app.begin("sign by text message", link, "SMS")
    app.missign("a wrong code", place, 2)
    app.sign("the right code", place, paid)
    app.balances("balances with the order held", booked, 13_340)
    wait(timedelta(seconds=30))
    app.follow("order is in clearing", paid, "W_REALIZACJI")
    app.refuse_cancel("cancel it too late", paid)
    wait(timedelta(seconds=60))
    app.follow("order is settled", paid, "ZREALIZOWANE")
    members = {
        "transakcje.#": 2,
        "transakcje.0.kwotaGr": 12_840,
        "transakcje.0.strona": "WN",
        "transakcje.0.rodzaj": "PRZELEW",
        "transakcje.0.kontrahent": NOTARY[1],
        "transakcje.0.tytul": "Akt 17/A",
        "transakcje.1.kwotaGr": 500,
        "transakcje.1.rodzaj": "PROWIZJA",
        "transakcje.1.tytul": f"Prowizja {paid}",
    }
    app.read("history after", "historia", members, dataOd=today)
    app.place("the same order again", wish, "ZREALIZOWANE", 200)

    wish = app.order("later order", nrb, CLUB, "60,00", "Składka członkowska", "ELIXIR", dataRealizacji=app.day(4))
    later, link = app.place("later order", wish)
    place = app.begin("sign in the bank's app", link, "APLIKACJA")
    wait(timedelta(seconds=25))
    app.confirm("customer has confirmed", place, later, "ZAPLANOWANE")
    app.cancel("cancel the later order", later)
    wait(timedelta(minutes=10))
    body, ais = {"idRachunku": app.account}, app.tokens.get("ais")
    app.refuse("token has expired", "POST", f"{AIS}/salda", 401, "0011", body=body, token=ais)
    app.refresh("new token", consent)
    declined, page, state = app.ask("another consent", ["RACHUNKI", "SALDA"], 30)
    app.give_up("customer gives up", page, state)
    app.look("other consent is declined", declined, "ODRZUCONA")
    dropped, _, _ = app.ask("consent to withdraw", ["RACHUNKI"], 7)
    app.withdraw("withdraw it", dropped)
    wait(3 * DAY)
    app.refuse_grant("refresh after three days", grant_type="refresh_token", refresh_token=app.tokens.get("refresh"))
    app.look("consent has ended", consent, "WYGASLA")
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = NarewApp(walk, ("31597720", "Jesion?22"))
    app.sign_in("token for orders")
    declined, no, no_state = app.ask("consent to decline", ["RACHUNKI"], 90)
    consent, page, state = app.ask("consent", ["HISTORIA", "RACHUNKI", "SALDA"], 14)
    walk.step("login page", "GET", page, 200, PAGE | {"page": re.compile('name="identyfikator"')})
    page = app.log_in("customer logs in", page)
    members: dict[str, Any] = PAGE | {"page": re.compile("Zakres: HISTORIA, RACHUNKI, SALDA")}
    form = walk.step("page to choose accounts", "GET", page, 200, members).fields
    chosen = form.get("rachunek", [])[:1]
    app.mistype("customer mistypes the password", no)
    app.give_up("customer gives up the first", no, no_state)
    code = app.agree("customer agrees to the second", page, form, chosen, state)
    app.exchange("token", consent, code)
    app.look("first consent is declined", declined, "ODRZUCONA")
    app.look("second consent is active", consent, "AKTYWNA")
    wish = app.wish(SCOPES, 0, "zero")
    place = "scope_details.okresDni"
    app.refuse("consent for no days", "POST", f"{AUTH}/authorize", 400, "0101", place, body=wish)

    members = {
        "liczbaRachunkow": 1,
        "rachunki.#": 1,
        "rachunki.0.idRachunku": chosen[0] if chosen else str,
        "rachunki.0.waluta": "PLN",
    }
    app.account = app.read("accounts", "rachunki", members).find("rachunki.0.idRachunku")
    members = {"rachunek.idRachunku": app.account, "rachunek.nrb": re.compile(r"^\d{26}$"), "rachunek.waluta": "PLN"}
    nrb = app.read("account", "rachunek", members).find("rachunek.nrb")
    members = {
        "transakcje.#": 3,
        "transakcje.2.kwotaGr": int,
        "transakcje.2.strona": re.compile("^(WN|MA)$"),
        "pageInfo.perPage": 3,
        "pageInfo.nextPage": str,
    }
    page_one = app.read("history", "historia", members, dataOd=app.day(-58), perPage=3)
    app.read("next page of the history", "historia", members, pageId=page_one.find("pageInfo.nextPage"))
    members = {"transakcje.0.strona": "WN", "transakcje.1.strona": "WN", "pageInfo.razem": int}
    app.read("debits", "historia", members, dataOd=app.day(-58), dataDo=app.day(-1), strona="WN")
    members = {"idRachunku": app.account, "saldo": AMOUNT, "blokady": "0,00", "dostepne": AMOUNT}
    before = app.read("balances", "salda", members)
    booked, available = grosze(before, "saldo"), grosze(before, "dostepne")

    name = "order a grosz above the balance"
    much = app.order(name, nrb, SCHOOL, text(available + 1), "Kurs letni", "ELIXIR")
    app.refuse_order(name, much, 422, "0402")
    name = "order of nothing"
    app.refuse_order(name, app.order(name, nrb, SCHOOL, "0,00", "Kurs letni", "ELIXIR"), 400, "0101")
    wish = app.order("later order", nrb, CLUB, "85,00", "Obóz sportowy", "ELIXIR", dataRealizacji=app.day(9))
    later, later_link = app.place("later order", wish)
    course = app.order("order", nrb, SCHOOL, "349,99", "Kurs letni", "EXPRESS")
    paid, link = app.place("order", course)
    today = app.day(0)
    later_place = app.begin("sign the later one in the bank's app", later_link, "APLIKACJA")
    place = app.begin("sign the other by text message", link, "SMS")
    app.missign("a wrong code", place, 2)
    app.missign("another wrong code", place, 1)
    app.sign("the right code", place, paid)
    app.balances("balances with one order held", booked, 35_499)
    wait(timedelta(seconds=40))
    app.confirm("customer has confirmed", later_place, later, "ZAPLANOWANE")
    app.follow("order is in clearing", paid, "W_REALIZACJI")
    wait(timedelta(minutes=1))
    app.place("the same order again", course, "ZREALIZOWANE", 200)
    app.refuse_cancel("cancel it too late", paid)
    app.cancel("cancel the later order", later)
    app.balances("balances after", booked - 35_499, 0)
    members = {
        "transakcje.#": 2,
        "transakcje.0.kwotaGr": 34_999,
        "transakcje.0.strona": "WN",
        "transakcje.0.kontrahent": SCHOOL[1],
        "transakcje.0.tytul": "Kurs letni",
        "transakcje.1.kwotaGr": 500,
        "transakcje.1.rodzaj": "PROWIZJA",
    }
    app.read("history after", "historia", members, dataOd=today)
    wait(timedelta(minutes=12))
    body = {"idRachunku": app.account}
    app.refuse("token has expired", "POST", f"{AIS}/rachunek", 401, "0011", body=body, token=app.tokens.get("ais"))
    spent = app.tokens.get("refresh")
    app.refresh("new token", consent)
    app.refuse_grant("the spent refresh token", grant_type="refresh_token", refresh_token=spent)
    app.withdraw("withdraw the consent", consent)
    app.look("consent is withdrawn", consent, "ODWOLANA")
    return walk.steps
