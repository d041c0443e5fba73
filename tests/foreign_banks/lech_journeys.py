"""Two journeys of the app Talbuch and its customers at Lech."""

import re
from datetime import timedelta
from typing import Any

import httpx

from tests.foreign_banks.walk import DAY, Answer, Expected, Step, Wait, Walk

CONSENTS, ACCOUNTS, ORDERS = "/freigaben", "/konten", "/auftraege"
MOMENT = re.compile(r"^\d\d\.\d\d\.\d{4} \d\d:\d\d:\d\d$")
SIGNING, TAN = re.compile(r"^Z[A-Z0-9]{9}$"), re.compile(r"^\d{6}$")


def euros(answer: Answer, place: str) -> float:
    """The number at this place, or 0."""
    value = answer.find(place)
    return value if isinstance(value, int | float) else 0


class LechApp:
    def __init__(self, walk: Walk, customer: tuple[str, str]) -> None:
        self.walk, self._customer = walk, customer
        self._mark: Any = None

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).strftime("%d.%m.%Y")

    def log_in(self, name: str) -> None:
        login = {"kennung": "talbuch", "schluessel": "zirbe-und-laerche"}
        members = {"sitzung.marke": str, "sitzung.kennung": "talbuch", "sitzung.beginn": MOMENT, "sitzung.ende": MOMENT}
        self._mark = self.walk.step(name, "POST", "/anmeldung", 201, members, json=login).find("sitzung.marke")

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        *,
        consent: Any = None,
        **request: Any,
    ) -> Answer:
        sent = {"Lech-Sitzung": str(self._mark)} if self._mark else {}
        if consent:
            sent["Lech-Freigabe"] = str(consent)
        expected = {"@Lech-Vorgang": re.compile(r"^V\d{9}$"), **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def refuse(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        kind: str,
        place: str,
        members: Expected | None = None,
        **request: Any,
    ) -> None:
        expected = {"fehler.art": kind, "fehler.feld": place, "fehler.nummer": int, "fehler.hinweis": str}
        self.call(name, method, path, status, expected | dict(members or {}), **request)

    def wish(self, days: int, *rights: tuple[Any, list[str]]) -> dict[str, Any]:
        return {"rechte": [{"konto": konto, "darf": may} for konto, may in rights], "gueltigBis": self.day(days)}

    def ask(self, name: str, wish: dict[str, Any]) -> tuple[Any, Any, Any]:
        """Return the consent's id, the signing number and the TAN."""
        members = {
            "freigabe.freigabeId": re.compile(r"^fg_[0-9a-f]{12}$"),
            "freigabe.stand": "offen",
            "freigabe.rechte": wish["rechte"],
            "freigabe.gueltigBis": wish["gueltigBis"],
            "freigabe.angelegtAm": MOMENT,
            "freigabe.zeichnung.zeichnungsnummer": SIGNING,
            "freigabe.zeichnung.lage": "wartet",
            "freigabe.zeichnung.restversuche": 3,
            "freigabe.zeichnung.probeTan": TAN,
            "@Location": re.compile(r"^/freigaben/fg_[0-9a-f]{12}$"),
        }
        made = self.call(name, "POST", CONSENTS, 201, members, json=wish)
        signing = made.find("freigabe.zeichnung.zeichnungsnummer")
        return made.find("freigabe.freigabeId"), signing, made.find("freigabe.zeichnung.probeTan")

    def order(
        self, payer: Any, payee: tuple[str, str], amount: float, purpose: str, days: int | None = None
    ) -> dict[str, Any]:
        empfaenger = {"name": payee[0], "iban": payee[1]}
        order = {"auftraggeber": payer, "empfaenger": empfaenger, "betrag": amount, "zweck": purpose}
        return order if days is None else order | {"termin": self.day(days)}

    def place(self, name: str, order: dict[str, Any]) -> tuple[Any, Any, Any]:
        """Return the order number, the signing number and the TAN."""
        members = {f"auftrag.{name}": value for name, value in order.items()}
        members |= {
            "auftrag.auftragsnummer": re.compile(r"^77\d{8}$"),
            "auftrag.status": "ERF",
            "auftrag.statusText": "offen",
            "auftrag.ausfuehrung": "termin" if "termin" in order else "sofort",
            "auftrag.waehrung": "EUR",
            "auftrag.zeichnung.zeichnungsnummer": SIGNING,
            "auftrag.zeichnung.lage": "wartet",
            "auftrag.zeichnung.probeTan": TAN,
            "@Location": re.compile(r"^/auftraege/77\d{8}$"),
        }
        made = self.call(name, "POST", ORDERS, 201, members, json=order)
        signing = made.find("auftrag.zeichnung.zeichnungsnummer")
        return made.find("auftrag.auftragsnummer"), signing, made.find("auftrag.zeichnung.probeTan")

    def signature(self, tan: Any, password: str = "") -> dict[str, Any]:
        return {"verfueger": self._customer[0], "kennwort": password or self._customer[1], "tan": tan}

    def outcome(self, thing: Any, state: str) -> dict[str, Any]:
        if str(thing).startswith("fg_"):
            return {"freigabe.freigabeId": thing, "freigabe.stand": state}
        code, _, text = state.partition(" ")
        return {"auftrag.auftragsnummer": thing, "auftrag.status": code, "auftrag.statusText": text}

    def sign(self, name: str, thing: tuple[Any, Any, Any], state: str) -> None:
        members = {"zeichnungsnummer": thing[1], "lage": "bestaetigt", **self.outcome(thing[0], state)}
        self.call(name, "PUT", f"/zeichnungen/{thing[1]}", 200, members, json=self.signature(thing[2]))

    def decline(self, name: str, thing: tuple[Any, Any, Any], state: str) -> None:
        members = {"zeichnungsnummer": thing[1], "lage": "verworfen", **self.outcome(thing[0], state)}
        self.call(name, "DELETE", f"/zeichnungen/{thing[1]}", 200, members)

    def mistype(self, name: str, thing: tuple[Any, Any, Any], left: int, password: str = "") -> None:
        """With a password, that is wrong; else the TAN is."""
        digits = str(thing[2])
        wrong = digits if password else digits[:-1] + str((int(digits[-1:] or 0) + 1) % 10 if digits.isdecimal() else 0)
        place, status, kind = ("kennwort", 401, "kennwort_falsch") if password else ("tan", 422, "tan_falsch")
        if not left:
            status, kind = 423, "zeichnung_gesperrt"
        body = self.signature(wrong, password)
        path = f"/zeichnungen/{thing[1]}"
        self.refuse(name, "PUT", path, status, kind, place, {"fehler.restversuche": left}, json=body)

    def follow(self, name: str, thing: tuple[Any, Any, Any], state: str, lage: str) -> None:
        members = {**self.outcome(thing[0], state), "auftrag.zeichnung.zeichnungsnummer": thing[1]}
        members["auftrag.zeichnung.lage"] = lage
        self.call(name, "GET", f"{ORDERS}/{thing[0]}", 200, members)

    def cancel(self, name: str, thing: tuple[Any, Any, Any]) -> None:
        self.call(name, "DELETE", f"{ORDERS}/{thing[0]}", 200, self.outcome(thing[0], "STO storniert"))


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = LechApp(walk, ("30114825", "Arlberg-1793"))
    wish = app.wish(30, ("alle", ["liste"]))
    app.refuse("consent without a session", "POST", CONSENTS, 401, "sitzung_fehlt", "Lech-Sitzung", json=wish)
    app.log_in("session")
    wish = app.wish(30, ("alle", ["liste"]))
    endless = {"rechte": wish["rechte"]}
    app.refuse("consent without an end", "POST", CONSENTS, 400, "angabe_fehlt", "gueltigBis", json=endless)
    overview = app.ask("consent to list the accounts", wish)
    app.sign("customer signs it", overview, "aktiv")
    members: dict[str, Any] = {
        "konten.#": 2,
        "gesamt": 2,
        "konten.0.kontoId": re.compile(r"^kto\d{7}$"),
        "konten.0.iban": re.compile(r"^AT\d{18}$"),
        "konten.0.bezeichnung": "Gehaltskonto",
        "konten.0.darf": ["liste"],
        "konten.1.art": "spar",
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, consent=overview[0])
    account, iban = accounts.find("konten.0.kontoId"), accounts.find("konten.0.iban")
    savings, savings_iban = accounts.find("konten.1.kontoId"), accounts.find("konten.1.iban")
    balance, entries = f"{ACCOUNTS}/{account}/saldo", f"{ACCOUNTS}/{account}/umsaetze"
    rights = (iban, ["saldo", "umsatz"]), (savings_iban, ["saldo"])
    consent = app.ask("consent with rights per account", app.wish(90, *rights))
    read = consent[0]
    app.sign("customer signs that", consent, "aktiv")
    members = {"kontoId": account, "saldo": float, "verfuegbar": float, "rahmen": 1000, "waehrung": "EUR"}
    before = app.call("balance", "GET", balance, 200, members, consent=read)
    booked, available = euros(before, "saldo"), euros(before, "verfuegbar")
    query = {"ab": app.day(-70), "bis": app.day(-1), "betragVon": "15.00", "versatz": "4", "anzahl": "4"}
    members = {
        "umsaetze.#": 4,
        "umsaetze.0.umsatzId": re.compile(r"^U\d{11}$"),
        "umsaetze.0.betrag": float,
        "umsaetze.0.buchungstag": re.compile(r"^\d\d\.\d\d\.\d{4}$"),
        "umsaetze.0.art": "karte",
        "versatz": 4,
        "anzahl": 4,
        "gesamt": int,
        "weitere": True,
    }
    app.call("second page of transactions", "GET", entries, 200, members, consent=read, params=query)
    path = f"{ACCOUNTS}/{savings}/umsaetze"
    app.refuse("transactions without the right", "GET", path, 403, "kein_recht", "darf", consent=read)
    path = f"{ACCOUNTS}/kto0000000/saldo"
    app.refuse("balance of an unknown account", "GET", path, 404, "unbekannt", "kontoId", consent=read)

    landlord = "Hausverwaltung Rüfikopf", "AT611904300234573201"
    rent = app.order(iban, landlord, 684.5, "Miete Juni")
    wrong = rent | {"empfaenger": {"name": landlord[0], "iban": "AT621904300234573201"}}
    app.refuse("order to a mistyped IBAN", "POST", ORDERS, 422, "angabe_falsch", "empfaenger.iban", json=wrong)
    much = rent | {"betrag": 98_000.0}
    app.refuse("order above the cover", "POST", ORDERS, 422, "deckung_fehlt", "betrag", json=much)
    paid = app.place("order", rent)
    app.sign("customer signs the order", paid, "GEZ gezeichnet")
    wait(timedelta(minutes=3))
    members = {
        "auftraege.#": 1,
        "auftraege.0.auftragsnummer": paid[0],
        "auftraege.0.status": "INB",
        "auftraege.0.statusText": "in Bearbeitung",
        "auftraege.0.betrag": 684.5,
        "gesamt": 1,
        "weitere": False,
    }
    app.call("orders in work", "GET", ORDERS, 200, members, params={"status": "INB"})
    app.refuse("cancel it too late", "DELETE", f"{ORDERS}/{paid[0]}", 409, "storno_nicht_moeglich", "status")
    wait(timedelta(minutes=12))
    app.follow("order is done", paid, "DUR durchgeführt", "bestaetigt")
    members = {"saldo": round(booked - 684.5, 2), "verfuegbar": round(available - 684.5, 2)}
    app.call("balance after", "GET", balance, 200, members, consent=read)
    members = {
        "umsaetze.#": 1,
        "umsaetze.0.betrag": -684.5,
        "umsaetze.0.buchungstag": app.day(0),
        "umsaetze.0.gegenpartei": landlord[0],
        "umsaetze.0.zweck": "Miete Juni",
        "umsaetze.0.art": "ueberweisung",
        "versatz": 0,
        "anzahl": 20,
        "gesamt": 1,
        "weitere": False,
    }
    app.call("transactions with a text", "GET", entries, 200, members, consent=read, params={"text": "rüfikopf"})

    club = "Skiclub Arlberg", "AT483200000012345864"
    later = app.place("order for a later day", app.order(iban, club, 95.0, "Mitgliedsbeitrag", 2))
    app.sign("customer signs the later one", later, "VOR vorgemerkt")
    refused = app.place("order to decline", app.order(iban, club, 40.2, "Startgeld"))
    app.decline("customer declines it", refused, "ABG abgelehnt")
    locked = app.place("order to lock", app.order(savings_iban, club, 61.0, "Trikot"))
    app.mistype("customer mistypes the password", locked, 2, "Arlberg-1739")
    app.mistype("customer mistypes the TAN", locked, 1)
    app.mistype("customer mistypes the TAN again", locked, 0)
    stopped = app.place("order to cancel", app.order(iban, club, 18.0, "Spende", 5))
    app.cancel("cancel it", stopped)
    wait(2 * DAY)
    app.refuse("session is over", "GET", balance, 401, "sitzung_abgelaufen", "Lech-Sitzung", consent=read)
    app.log_in("new session")
    app.follow("later order is done", later, "DUR durchgeführt", "bestaetigt")
    members = {"freigabe.freigabeId": read, "freigabe.stand": "widerrufen"}
    app.call("revoke the consent", "DELETE", f"{CONSENTS}/{read}", 200, members)
    app.refuse("balance after that", "GET", balance, 403, "freigabe_nicht_aktiv", "Lech-Freigabe", consent=read)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = LechApp(walk, ("30263391", "Formarin-See"))
    login = {"kennung": "talbuch", "schluessel": "zirbe-und-fichte"}
    app.refuse("session with a wrong key", "POST", "/anmeldung", 401, "anmeldung_falsch", "schluessel", json=login)
    app.log_in("session")
    empty = {"gueltigBis": app.day(7)}
    app.refuse("consent without rights", "POST", CONSENTS, 400, "angabe_fehlt", "rechte", json=empty)
    overview = app.ask("consent to list the accounts", app.wish(7, ("alle", ["liste"])))
    app.mistype("customer mistypes the TAN", overview, 2)
    app.sign("customer signs it", overview, "aktiv")
    members: dict[str, Any] = {
        "konten.0.kontoId": re.compile(r"^kto\d{7}$"),
        "konten.0.iban": re.compile(r"^AT\d{18}$"),
        "konten.0.darf": ["liste"],
        "konten.1.waehrung": "EUR",
        "gesamt": int,
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, consent=overview[0])
    account, iban = accounts.find("konten.0.kontoId"), accounts.find("konten.0.iban")
    other, other_iban = accounts.find("konten.1.kontoId"), accounts.find("konten.1.iban")
    balance, entries = f"{ACCOUNTS}/{account}/saldo", f"{ACCOUNTS}/{account}/umsaetze"
    consent = app.ask("consent", app.wish(60, (other_iban, ["umsatz"]), (iban, ["umsatz", "saldo"])))
    declined = app.ask("another consent", app.wish(14, (other_iban, ["saldo", "umsatz"])))
    read = consent[0]
    app.decline("customer declines the other", declined, "abgelehnt")
    app.sign("customer signs the first", consent, "aktiv")
    path = f"{ACCOUNTS}/{other}/saldo"
    kind = "freigabe_nicht_aktiv"
    app.refuse("balance with the declined one", "GET", path, 403, kind, "Lech-Freigabe", consent=declined[0])
    app.refuse("balance without the right", "GET", path, 403, "kein_recht", "darf", consent=read)
    members = {"kontoId": account, "saldo": float, "verfuegbar": float, "waehrung": "EUR"}
    before = app.call("balance", "GET", balance, 200, members, consent=read)
    booked, available = euros(before, "saldo"), euros(before, "verfuegbar")
    members = {
        "umsaetze.#": 3,
        "umsaetze.2.umsatzId": re.compile(r"^U\d{11}$"),
        "umsaetze.2.betrag": float,
        "versatz": 6,
        "anzahl": 3,
        "weitere": True,
    }
    query = {"ab": app.day(-80), "versatz": "6", "anzahl": "3"}
    app.call("third page of transactions", "GET", entries, 200, members, consent=read, params=query)

    school, garage = ("Musikschule Klostertal", "AT611904300234573201"), ("Garage Fritz", "AT483200000012345864")
    wrong = app.order(iban, (school[0], "AT611904300234573210"), 210.0, "Kursbeitrag Herbst", 3)
    app.refuse("later order, mistyped IBAN", "POST", ORDERS, 422, "angabe_falsch", "empfaenger.iban", json=wrong)
    much = app.order(iban, garage, round(available + 0.01, 2), "Reifen")
    app.refuse("order a cent above the cover", "POST", ORDERS, 422, "deckung_fehlt", "betrag", json=much)
    later = app.place("order for a later day", app.order(iban, school, 210.0, "Kursbeitrag Herbst", 3))
    now = app.place("order for now", app.order(iban, garage, 148.35, "Pickerl"))
    stopped = app.place("order to cancel", app.order(iban, school, 32.9, "Notenheft", 9))
    app.sign("customer signs the one for now", now, "GEZ gezeichnet")
    app.mistype("customer mistypes the password", later, 2, "Formarinsee")
    app.sign("customer signs the later one", later, "VOR vorgemerkt")
    app.sign("customer signs the third", stopped, "VOR vorgemerkt")
    app.cancel("cancel the third", stopped)
    members = {
        "auftraege.#": 1,
        "auftraege.0.auftragsnummer": later[0],
        "auftraege.0.statusText": "vorgemerkt",
        "auftraege.0.termin": app.day(3),
        "gesamt": 1,
        "weitere": False,
    }
    app.call("orders for later days", "GET", ORDERS, 200, members, params={"status": "VOR"})
    app.refuse("unknown order", "GET", f"{ORDERS}/7700000000", 404, "unbekannt", "auftragsnummer")
    wait(timedelta(minutes=20))
    app.follow("order for now is done", now, "DUR durchgeführt", "bestaetigt")
    members = {"saldo": round(booked - 148.35, 2), "verfuegbar": round(available - 148.35, 2)}
    app.call("balance after", "GET", balance, 200, members, consent=read)
    members = {
        "umsaetze.#": 1,
        "umsaetze.0.betrag": -148.35,
        "umsaetze.0.gegenpartei": "Garage Fritz",
        "umsaetze.0.zweck": "Pickerl",
        "gesamt": 1,
        "weitere": False,
    }
    query = {"text": "pickerl", "betragVon": "100.00", "ab": app.day(0)}
    app.call("transactions with a text", "GET", entries, 200, members, consent=read, params=query)
    wait(3 * DAY)
    app.refuse("session is over", "GET", f"{ORDERS}/{later[0]}", 401, "sitzung_abgelaufen", "Lech-Sitzung")
    app.log_in("new session")
    app.follow("later order is done", later, "DUR durchgeführt", "bestaetigt")
    members = {"freigabe.freigabeId": read, "freigabe.stand": "widerrufen"}
    app.call("revoke the consent", "DELETE", f"{CONSENTS}/{read}", 200, members)
    app.refuse("revoke it again", "DELETE", f"{CONSENTS}/{read}", 409, "freigabe_beendet", "stand")
    app.refuse("transactions after that", "GET", entries, 403, kind, "Lech-Freigabe", consent=read)
    return walk.steps
