"""Two journeys at Bursztyn; see `journeys`."""

import re
from datetime import timedelta
from typing import Any

import httpx

from tests.foreign_banks.walk import DAY, Answer, Expected, Step, Wait, Walk


def grosze(amount: Any) -> int:
    """The value of an amount with its side, or 0."""
    if not isinstance(amount, dict) or not re.fullmatch(r"\d+\.\d\d", str(amount.get("kwota"))):
        return 0
    value = int(amount["kwota"].replace(".", ""))
    return -value if amount.get("strona") == "WN" else value


def write(value: int) -> dict[str, str]:
    return {"kwota": f"{abs(value) // 100}.{abs(value) % 100:02}", "strona": "WN" if value < 0 else "MA"}


class BursztynApp:
    def __init__(self, walk: Walk, key: str, login: str, pin: str) -> None:
        self.walk, self._key, self._login, self._pin = walk, key, login, pin

    def day(self, days: int = 0) -> str:
        return (self.walk.now + days * DAY).strftime("%d.%m.%Y")

    def call(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        members: Expected | None = None,
        *,
        consent: Any = None,
        headers: dict[str, Any] | None = None,
        without: str = "",
        **request: Any,
    ) -> Answer:
        sent = {"X-Klucz": self._key, "X-Wersja": "3", **({"X-Zgoda": str(consent)} if consent else {})}
        sent |= {header: str(value) for header, value in (headers or {}).items()}
        sent.pop(without, None)
        url = path if str(path).startswith("/") else f"/api/{path}"
        return self.walk.step(name, method, url, status, members, headers=sent, **request)

    def refuse(
        self, name: str, method: str, path: Any, status: int, word: str, place: str | None = None, **more: Any
    ) -> None:
        members = {"blad": word, "pole": place, "sprawa": re.compile(r"^S-\d{6}$"), **more.pop("told", {})}
        self.call(name, method, path, status, members, **more)

    def ask(self, name: str, scopes: list[str], days: int, reads: int) -> Answer:
        document = {"klient": self._login, "zakres": scopes, "do": self.day(days), "dziennie": reads}
        members = {
            "nr": re.compile(r"^\d{8}$"),
            "stan": "NOWA",
            "zakres": scopes,
            "do": document["do"],
            "kod": re.compile(r"^\d{6}$"),
            "@Location": re.compile(r"^/api/zgody/\d{8}$"),
            "@ETag": '"1"',
        }
        return self.call(name, "POST", "zgody", 202, members, json=document)

    def phone(self, asked: Answer) -> str:
        return f"/telefon/{self._login}/{asked.find('kod')}"

    def decide(self, name: str, asked: Answer, status: int = 200, say: str = "TAK", pin: str = "", **told: Any) -> None:
        members = told or {"nr": asked.find("nr"), "decyzja": say}
        document = {"pin": pin or self._pin, "decyzja": say}
        self.walk.step(name, "PUT", self.phone(asked), status, members, json=document)

    def pay(self, name: str, document: dict[str, Any], consent: Any, at: str = "przelewy") -> Answer:
        shape = r"^P-\d\d-\d{6}$" if at == "przelewy" else r"^B\d{7}$"
        members = {"nr": re.compile(shape), "stan": "DO_PODPISU", "kod": str, "zKonta": document["zKonta"]}
        copied = ("naRachunek", "odbiorca", "kwota", "tytul", "data", "razem")
        members |= {member: document[member] for member in copied if member in document}
        return self.call(name, "POST", at, 202, members, json=document, consent=consent)

    def see(self, name: str, path: Any, state: str, members: Expected | None = None) -> Answer:
        return self.call(name, "GET", path, 200, {"stan": state, **(members or {})})


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = BursztynApp(walk, "skarbonka-71", "71204418", "5063")
    good = {"klient": "71204418", "zakres": ["konta"], "do": app.day(30), "dziennie": 3}
    app.refuse("consent without a key", "POST", "zgody", 401, "BRAK_KLUCZA", "X-Klucz", without="X-Klucz", json=good)
    app.refuse("unknown key", "POST", "zgody", 401, "NIEZNANY_KLUCZ", "X-Klucz", headers={"X-Klucz": "q"}, json=good)
    old: dict[str, Any] = {"headers": {"X-Wersja": "2"}, "told": {"wersje": [3]}}
    app.refuse("old version", "POST", "zgody", 406, "WERSJA", "X-Wersja", json=good, **old)
    app.refuse("consent in broken JSON", "POST", "zgody", 400, "SKLADNIA", content="{klient")
    lacking = {"klient": "71204418", "do": good["do"]}
    app.refuse("consent without scopes", "POST", "zgody", 400, "BRAK_POLA", "zakres", json=lacking)
    app.refuse("unknown scope", "POST", "zgody", 422, "ZLE_POLE", "zakres", json=good | {"zakres": ["karty"]})
    long: dict[str, Any] = {"json": good | {"do": app.day(121)}, "told": {"najwyzej": 120}}
    app.refuse("consent for too long", "POST", "zgody", 422, "ZA_DLUGO", "do", **long)
    asked = app.ask("consent", ["konta", "historia", "przelewy"], 40, 4)
    id, path = asked.find("nr"), asked.find("@Location")
    tag = app.see("consent is new", path, "NOWA", {"kod": asked.find("kod"), "@ETag": '"1"'}).find("@ETag")
    app.call("consent has not changed", "GET", path, 304, {"@ETag": tag}, headers={"If-None-Match": tag})
    app.refuse("accounts without a consent", "GET", "konta", 401, "BRAK_ZGODY", "X-Zgoda")
    early: dict[str, Any] = {"consent": id, "told": {"stan": "NOWA"}}
    app.refuse("accounts too early", "GET", "konta", 403, "ZGODA_NIEAKTYWNA", "X-Zgoda", **early)
    members: Expected = {"klient": "Hanna Wilk", "dotyczy": "zgody", "nr": id}
    walk.step("question on the phone", "GET", app.phone(asked), 200, members)
    app.decide("wrong PIN", asked, 403, pin="0000", blad="ZLY_PIN", pole="pin", proby=2)
    app.decide("customer says yes", asked)
    walk.step("nothing to ask", "GET", app.phone(asked), 404, {"blad": "NIEZNANY_KOD", "pole": None})
    app.see("consent is being checked", path, "W_TOKU", {"@ETag": '"2"', "kod": None})
    wait(timedelta(seconds=15))
    app.see("consent is active", path, "AKTYWNA", {"@ETag": '"3"', "klient": "Hanna Wilk"})
    use = {"consent": id}
    accounts = app.call("accounts", "GET", "konta", 200, {"#": 2, "0.nazwa": "Konto Jantar", "1.waluta": "PLN"}, **use)
    main, other = accounts.find("0.konto"), accounts.find("1.konto")
    members = {"konto": main, "nazwa": "Konto Jantar", "@ETag": f'"{str(main).lower()}-1"'}
    tag = app.call("one account", "GET", f"konta/{main}", 200, members, **use).find("@ETag")
    app.call("account has not changed", "GET", f"konta/{main}", 304, headers={"If-None-Match": tag}, **use)
    app.refuse("unknown account", "GET", "konta/AAAA", 404, "NIEZNANE_KONTO", **use)
    balance = f"konta/{main}/saldo"
    members = {"ksiegowe.strona": "MA", "waluta": "PLN", "na": re.compile(f"^{re.escape(app.day())} ")}
    before = grosze(app.call("balance", "GET", balance, 200, members, **use).find("ksiegowe"))
    history = f"konta/{main}/historia"
    members = {"#": 5, "0.strona": "WN", "@X-Pozostalo": "3", "@X-Nastepne": re.compile(r"^H\d{6}$")}
    page = app.call("history", "GET", history, 200, members, **use)
    rest = {"po": page.find("@X-Nastepne"), "ile": "20"}
    members = {"#": 7, "6.tytul": "Wpłata", "6.strona": "MA", "@X-Pozostalo": "2", "@X-Nastepne": None}
    app.call("rest of it", "GET", history, 200, members, params=rest, **use)
    app.refuse("too many rows", "GET", history, 422, "ZLE_POLE", "ile", params={"ile": "100"}, **use)

    pay = {"zKonta": main, "naRachunek": number("0000110022334455"), "odbiorca": "Stolarnia Dąb", "kwota": "6000.00"}
    pay["tytul"] = "Szafa"

    def wrong(name: str, status: int, word: str, place: str, told: Any = None, **changes: Any) -> None:
        sent = {member: value for member, value in (pay | changes).items() if value is not None}
        app.refuse(name, "POST", "przelewy", status, word, place, told=told or {}, json=sent, **use)

    wrong("transfer without a title", 400, "BRAK_POLA", "tytul", tytul=None)
    swapped = str(pay["naRachunek"])
    wrong("wrong account number", 422, "ZLY_NRB", "naRachunek", naRachunek=swapped[:-2] + "99")
    wrong("amount with a comma", 422, "ZLE_POLE", "kwota", kwota="12,50")
    wrong("transfer over the limit", 422, "LIMIT_KWOTY", "kwota", {"najwyzej": "10000.00"}, kwota="10000.01")
    wrong("transfer without cover", 422, "BRAK_SRODKOW", "kwota", zKonta=other, kwota="9999.00")
    sent = app.pay("transfer", pay, id)
    transfer = sent.find("@Location")
    app.decide("customer signs the transfer", sent)
    app.see("transfer is accepted", transfer, "PRZYJETY", {"kod": None, "kwota": "6000.00", "@ETag": '"2"'})
    members = {"ksiegowe": write(before), "wolne": write(before - 600_000)}
    app.call("balance with the amount held", "GET", balance, 200, members, **use)
    wait(timedelta(seconds=70))
    done = app.see("transfer is done", transfer, "WYKONANY", {"wykonano": app.day(), "@ETag": '"3"'})
    left = before - 600_000
    app.call("balance after", "GET", balance, 200, {"ksiegowe": write(left), "wolne": write(left)}, **use)
    members = {"#": 1, "0.kwota": "6000.00", "0.strona": "WN", "0.tytul": "Szafa", "0.saldoPo": write(left)}
    app.call("history after", "GET", history, 200, members, params={"od": app.day()}, **use)
    stop: dict[str, Any] = {"json": {"stan": "ANULOWANY"}}
    app.refuse("stop without a version", "PUT", f"{transfer}/stan", 428, "PODAJ_IF_MATCH", "If-Match", **stop)
    late = {"headers": {"If-Match": done.find("@ETag")}, "told": {"stan": "WYKONANY"}, **stop}
    app.refuse("stop too late", "PUT", f"{transfer}/stan", 409, "ZA_POZNO", **late)

    to = number("0000770011998822")
    rows = [{"naRachunek": to, "odbiorca": f"Sklep {name}", "kwota": "250.50", "tytul": f"FV {name}"} for name in "AB"]
    bulk = {"zKonta": main, "przelewy": rows, "razem": "501.00"}
    sums: dict[str, Any] = {"told": {"policzono": "501.00"}, "json": bulk | {"razem": "500.00"}}
    app.refuse("bulk with a wrong sum", "POST", "paczki", 422, "ZLA_SUMA", "razem", **sums, **use)
    large = [row | {"kwota": "7200.00"} for row in rows]
    over: dict[str, Any] = {"told": {"zostalo": "14000.00"}}
    over["json"] = bulk | {"przelewy": large, "razem": "14400.00"}
    app.refuse("over the limit of the day", "POST", "paczki", 422, "LIMIT_DNIA", "razem", **over, **use)
    sent = app.pay("bulk", bulk, id, "paczki")
    app.decide("customer signs the bulk", sent)
    wait(timedelta(seconds=70))
    members = {"ile": 2, "razem": "501.00", "pozycje.#": 2, "pozycje.1.lp": 2, "wykonano": app.day()}
    app.see("bulk is done", sent.find("@Location"), "WYKONANA", members)
    members = {"#": 2, "0.tytul": "FV B", "1.tytul": "FV A", "1.kwota": "250.50", "@X-Pozostalo": "0"}
    app.call("history with the bulk", "GET", history, 200, members, params={"ile": "2"}, **use)
    used: dict[str, Any] = {"told": {"dziennie": 4}, **use}
    app.refuse("history too often", "GET", history, 429, "LIMIT_ODCZYTOW", **used)
    sent = app.pay("transfer for later", pay | {"kwota": "15.00", "data": app.day(3)}, id)
    app.decide("customer signs it", sent)
    later = app.see("transfer is planned", sent.find("@Location"), "ZAPLANOWANY", {"data": app.day(3)})
    stop["headers"] = {"If-Match": later.find("@ETag")}
    members = {"stan": "ANULOWANY", "kwota": "15.00", "@ETag": '"3"'}
    app.call("stop it", "PUT", f"{sent.find('@Location')}/stan", 200, members, **stop)
    members = {"stan": "COFNIETA", "nr": id, "@ETag": '"4"'}
    app.call("withdraw the consent", "DELETE", path, 200, members, headers={"If-Match": '"3"'})
    after: dict[str, Any] = {"told": {"stan": "COFNIETA"}, **use}
    app.refuse("accounts after that", "GET", "konta", 403, "ZGODA_NIEAKTYWNA", "X-Zgoda", **after)
    return walk.steps


def number(account: str) -> str:
    """The number of an account at a bank, with its check digits."""
    rest = f"10901014{account}"
    return f"{98 - int(f'{rest}252100') % 97:02}{rest}"


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = BursztynApp(walk, "grosik-05", "30958120", "9174")
    app.refuse("unknown consent", "GET", "zgody/11111111", 404, "NIEZNANA_ZGODA")
    good = {"klient": "30958120", "zakres": ["historia"], "do": app.day(10), "dziennie": 2}
    app.refuse("day in another form", "POST", "zgody", 422, "ZLE_POLE", "do", json=good | {"do": "2031-12-31"})
    nobody = {"zakres": ["konta"], "do": good["do"]}
    app.refuse("consent without a customer", "POST", "zgody", 400, "BRAK_POLA", "klient", json=nobody)
    long: dict[str, Any] = {"json": good | {"do": app.day(150)}, "told": {"najwyzej": 120}}
    app.refuse("consent for too long", "POST", "zgody", 422, "ZA_DLUGO", "do", **long)
    refused = app.ask("consent to refuse", ["konta"], 20, 1)
    app.decide("customer says no", refused, say="NIE")
    app.see("consent is refused", refused.find("@Location"), "ODRZUCONA", {"kod": None, "klient": None})
    told: dict[str, Any] = {"consent": refused.find("nr"), "told": {"stan": "ODRZUCONA"}}
    app.refuse("accounts of it", "GET", "konta", 403, "ZGODA_NIEAKTYWNA", "X-Zgoda", **told)
    forgotten = app.ask("consent to forget", ["konta"], 20, 1)
    wait(timedelta(minutes=6))
    app.see("consent has lapsed", forgotten.find("@Location"), "PRZETERMINOWANA", {"kod": None})
    walk.step("question of it", "GET", app.phone(forgotten), 404, {"blad": "NIEZNANY_KOD"})
    narrow = app.ask("consent for accounts", ["konta"], 90, 1)
    wide = app.ask("consent for all", ["przelewy", "konta", "historia"], 3, 2)
    app.decide("customer says yes to all", wide)
    app.decide("customer says yes to accounts", narrow)
    wait(timedelta(seconds=20))
    active = {"klient": "Marek Sowa", "dziennie": 2, "zakres.#": 3}
    app.see("consent for all is active", wide.find("@Location"), "AKTYWNA", active)
    app.see("consent for accounts is active", narrow.find("@Location"), "AKTYWNA", {"zakres": ["konta"]})
    use, view = {"consent": wide.find("nr")}, {"consent": narrow.find("nr")}
    accounts = app.call("accounts", "GET", "konta", 200, {"#": 2, "0.waluta": "PLN"}, **view)
    main, other = accounts.find("0.konto"), accounts.find("1.konto")
    tag = app.call("other account", "GET", f"konta/{other}", 200, {"konto": other}, **use).find("@ETag")
    app.call("account has not changed", "GET", f"konta/{other}", 304, headers={"If-None-Match": tag}, **view)
    balance, history = f"konta/{main}/saldo", f"konta/{main}/historia"
    outside: dict[str, Any] = {"told": {"zakres": "historia"}, **view}
    app.refuse("history outside the scope", "GET", history, 403, "POZA_ZAKRESEM", "X-Zgoda", **outside)
    before = grosze(app.call("balance", "GET", balance, 200, {"waluta": "PLN"}, **view).find("ksiegowe"))
    members: Expected = {"#": 3, "@X-Pozostalo": "1", "@X-Nastepne": re.compile(r"^H\d{6}$")}
    page = app.call("history", "GET", history, 200, members, params={"ile": "3"}, **use)
    rest = {"po": page.find("@X-Nastepne"), "ile": "6"}
    app.call("more of it", "GET", history, 200, {"#": 6, "@X-Pozostalo": "0", "@X-Nastepne": str}, params=rest, **use)
    app.refuse("history too often", "GET", history, 429, "LIMIT_ODCZYTOW", told={"dziennie": 2}, **use)

    pay = {"zKonta": main, "naRachunek": number("1234000056780000"), "odbiorca": "Kwiaciarnia Mak", "kwota": "89.90"}
    pay["tytul"] = "Bukiet"

    def wrong(name: str, status: int, word: str, place: str, **changes: Any) -> None:
        sent = {member: value for member, value in (pay | changes).items() if value is not None}
        app.refuse(name, "POST", "przelewy", status, word, place, json=sent, **use)

    wrong("transfer of nothing", 422, "ZLE_POLE", "kwota", kwota="0.00")
    wrong("transfer to nobody", 400, "BRAK_POLA", "odbiorca", odbiorca=None)
    wrong("wrong account number", 422, "ZLY_NRB", "naRachunek", naRachunek="00" + str(pay["naRachunek"])[2:])
    wrong("transfer without cover", 422, "BRAK_SRODKOW", "kwota", zKonta=other, kwota="8765.43")
    sent = app.pay("transfer to refuse", pay, wide.find("nr"))
    for left in (2, 1, 0):
        app.decide(f"wrong PIN, {left} left", sent, 403, pin="1111", blad="ZLY_PIN", proby=left)
    app.see("transfer is refused", sent.find("@Location"), "ODRZUCONY", {"kod": None})
    sent = app.pay("transfer to stop", pay | {"kwota": "77.00"}, wide.find("nr"))
    stop: dict[str, Any] = {"json": {"stan": "ANULOWANY"}, "headers": {"If-Match": sent.find("@ETag")}}
    members = {"stan": "ANULOWANY", "kwota": "77.00", "kod": None, "@ETag": '"2"'}
    app.call("stop the transfer", "PUT", f"{sent.find('@Location')}/stan", 200, members, **stop)
    sent = app.pay("transfer", pay | {"kwota": "1234.56", "tytul": "Czynsz"}, wide.find("nr"))
    transfer = sent.find("@Location")
    app.decide("customer signs the transfer", sent)
    stop["headers"] = {"If-Match": '"1"'}
    app.refuse("stop with an old version", "PUT", f"{transfer}/stan", 412, "STARA_WERSJA", "If-Match", **stop)
    wait(timedelta(minutes=2))
    members = {"wykonano": app.day(), "odbiorca": "Kwiaciarnia Mak", "tytul": "Czynsz"}
    app.see("transfer is done", transfer, "WYKONANY", members)
    now = before - 123_456
    app.call("balance after", "GET", balance, 200, {"ksiegowe": write(now), "wolne": write(now)}, **use)
    to = number("4444000033330000")
    rows = [
        {"naRachunek": to, "odbiorca": f"Firma {part}", "kwota": part, "tytul": "Faktura"}
        for part in ("10.00", "20.05", "7.50")
    ]
    bulk = {"zKonta": main, "przelewy": rows, "razem": "37.55"}
    sent = app.pay("bulk", bulk, wide.find("nr"), "paczki")
    app.decide("customer signs the bulk", sent)
    app.see("bulk is accepted", sent.find("@Location"), "PRZYJETA", {"ile": 3, "pozycje.2.kwota": "7.50"})
    planned = app.pay("transfer for later", pay | {"kwota": "40.00", "data": app.day(2)}, wide.find("nr"))
    app.decide("customer signs it", planned)
    due = app.day(2)
    app.see("transfer is planned", planned.find("@Location"), "ZAPLANOWANY", {"data": due})
    wait(2 * DAY)
    app.see("planned transfer is done", planned.find("@Location"), "WYKONANY", {"wykonano": due})
    members = {"#": 5, "@X-Pozostalo": "1", "4.tytul": "Czynsz", "0.kwota": "40.00"}
    app.call("history of three days", "GET", history, 200, members, params={"od": app.day(-2)}, **use)
    now -= 4_000 + 3_755
    app.call("balance at the end", "GET", balance, 200, {"ksiegowe": write(now), "wolne": write(now)}, **view)
    wait(2 * DAY)
    app.see("consent has ended", wide.find("@Location"), "ZAKONCZONA")
    app.refuse(
        "accounts after that", "GET", "konta", 403, "ZGODA_NIEAKTYWNA", "X-Zgoda", told={"stan": "ZAKONCZONA"}, **use
    )
    return walk.steps
