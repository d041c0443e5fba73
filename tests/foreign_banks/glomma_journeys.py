"""Two journeys of the app Regnestua and its customers at Glomma."""

import re
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import NAMESPACE_URL, uuid5
from zoneinfo import ZoneInfo

import httpx

from tests.foreign_banks.walk import DAY, Answer, Expected, Step, Wait, Walk

TICKETS, MANDATES, ACCOUNTS = "/tilgang/v1/billetter", "/apne/v2/fullmakter", "/apne/v2/kontoer"
ORDERS, CONFIRMATIONS = "/apne/v2/oppdrag", "/apne/v2/bekreftelser"
EVERYTHING = ["KONTOER", "SALDO", "POSTER"]
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0[12]:00$")
WORDS = re.compile(r"^\w+ \w+$")
AMOUNT = re.compile(r"^-?\d+\.\d\d$")
NUMBER = re.compile(r"^\d{4}\.\d\d\.\d{5}$")
TRACE = re.compile(r"^[0-9a-f]{16}$")


def kroner(ore: int) -> str:
    return f"{Decimal(ore) / 100:.2f}"


def in_ore(answer: Answer, place: str) -> int:
    """The amount at this place, or 0."""
    try:
        return int(Decimal(str(answer.find(place))) * 100)
    except InvalidOperation:
        return 0


def dotted(number: str) -> str:
    return f"{number[:4]}.{number[4:6]}.{number[6:]}"


def count(answer: Answer, place: str) -> int:
    value = answer.find(place)
    return value if isinstance(value, int) else 0


class GlommaApp:
    def __init__(self, walk: Walk, customer: tuple[str, str]) -> None:
        self.walk, self._customer = walk, customer
        self._ticket: Any = None

    def day(self, days: int) -> date:
        return (self.walk.now.astimezone(ZoneInfo("Europe/Oslo")) + days * DAY).date()

    def sign_in(self, name: str) -> None:
        body = {"app": "regnestua", "hemmelighet": "tiriltunge"}
        members = {"billett": re.compile(r"^[0-9a-f]{40}$"), "gyldigTil": TIME}
        self._ticket = self.walk.step(name, "POST", TICKETS, 201, members, json=body).find("billett")

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        *,
        mandate: Any = None,
        **request: Any,
    ) -> Answer:
        sent = {"Authorization": f"Billett {self._ticket}"} if self._ticket else {}
        if mandate:
            sent["Glomma-Fullmakt"] = str(mandate)
        expected = {"@Glomma-Sporing": TRACE, **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def refuse(self, name: str, method: str, path: str, status: int, code: int, *places: str, **request: Any) -> None:
        members: dict[str, Any] = {
            "avvik.#": len(places) or 1,
            "avvik.0.kode": code,
            "avvik.0.tekst": str,
            "sporing": TRACE,
            "@Content-Type": "application/vnd.glomma.avvik+json",
        }
        members |= {f"avvik.{at}.felt": place for at, place in enumerate(places or [None])}
        self.call(name, method, path, status, members, **request)

    def wish(self, insights: list[str], days: int) -> dict[str, Any]:
        return {"mobil": self._customer[0], "innsyn": insights, "varighetDager": days}

    def ask(self, name: str, insights: list[str], days: int) -> Answer:
        members = {
            "fullmakt": re.compile(r"^FM-\d{8}$"),
            "tilstand": "VENTER",
            "innsyn": insights,
            "opprettet": TIME,
            "gyldigTilOgMed": self.day(days).isoformat(),
            "kunde": None,
            "bekreftelse.bekreftelse": re.compile(r"^BK[0-9a-f]{16}$"),
            "bekreftelse.stilling": "SENDT",
            "bekreftelse.referanseord": WORDS,
            "bekreftelse.svarfrist": TIME,
            "@Location": re.compile(r"^/apne/v2/fullmakter/FM-\d{8}$"),
        }
        return self.call(name, "POST", MANDATES, 202, members, json=self.wish(insights, days))

    def poll(self, name: str, sent: Any, subject: Any, state: str) -> None:
        waits = state == "SENDT"
        members = {
            "bekreftelse": sent,
            "stilling": state,
            "gjelder": [subject],
            "svarfrist": TIME,
            "referanseord": WORDS if waits else None,
            "ventSekunder": 2 if waits else None,
        }
        self.call(name, "GET", f"{CONFIRMATIONS}/{sent}", 200, members)

    def press(self, name: str, words: Any, decision: str, shown: str) -> None:
        """Let the customer answer on the phone, which knows nothing of the app's ticket."""
        mobile, pin = self._customer
        body = {"referanseord": words, "pin": pin, "svar": decision}
        members = {"svar": decision, "vist": f"Regnestua vil {shown}"}
        self.walk.step(name, "POST", f"/sandkasse/telefoner/{mobile}/svar", 200, members, json=body)

    def look(self, name: str, mandate: Any, insights: list[str], owner: Any) -> None:
        members = {"fullmakt": mandate, "tilstand": "AKTIV", "innsyn": insights, "kunde": owner, "aktivert": TIME}
        self.call(name, "GET", f"{MANDATES}/{mandate}", 200, members)

    def end(self, name: str, mandate: Any) -> None:
        members = {"fullmakt": mandate, "tilstand": "OPPHORT", "kunde": str}
        self.call(name, "POST", f"{MANDATES}/{mandate}/avslutt", 200, members)

    def balances(self, name: str, account: Any, booked: Any, available: Any, mandate: Any) -> Answer:
        members = {
            "saldoer.#": 2,
            "saldoer.0.slag": "BOKFORT",
            "saldoer.0.belop": booked,
            "saldoer.1.slag": "DISPONIBEL",
            "saldoer.1.belop": available,
            "valuta": "NOK",
            "tidspunkt": TIME,
        }
        return self.call(name, "GET", f"{ACCOUNTS}/{account}/saldo", 200, members, mandate=mandate)

    def order(self, key: str, payer: Any, payee: tuple[str, str], ore: int, **more: str) -> dict[str, Any]:
        reference = f"RS-{uuid5(NAMESPACE_URL, f'{self._customer[0]} {key}').hex[:12]}"
        to = {"navn": payee[0], "konto": payee[1]}
        return {"egenReferanse": reference, "fraKonto": payer, "mottaker": to, "belopOre": ore, **more}

    def draft(self, name: str, order: dict[str, Any]) -> Any:
        """Return the order's id."""
        to = order["mottaker"]
        members: dict[str, Any] = {
            "oppdrag": re.compile(r"^OP-\d{6}-\d{5}$"),
            "fase": "KLADD",
            "forfall": self.day(0).isoformat(),
            **order,
            "mottaker": {"navn": to["navn"], "konto": dotted(to["konto"])},
            "kanAngres": True,
            "historikk.#": 1,
            "historikk.0.fase": "KLADD",
            "historikk.0.tid": TIME,
        }
        return self.call(name, "POST", ORDERS, 201, members, json=order).find("oppdrag")

    def send(self, name: str, ore: int, *orders: Any) -> Any:
        """Return the words on the phone."""
        members = {
            "bekreftelse": re.compile(r"^BK[0-9a-f]{16}$"),
            "stilling": "SENDT",
            "gjelder": list(orders),
            "sumOre": ore,
            "referanseord": WORDS,
            "ventSekunder": 2,
            "@Location": re.compile(r"^/apne/v2/bekreftelser/BK[0-9a-f]{16}$"),
        }
        sent = self.call(name, "POST", CONFIRMATIONS, 202, members, json={"oppdrag": list(orders)})
        return sent.find("referanseord")

    def follow(self, name: str, order: Any, *phases: str, can_cancel: bool = False, **more: Any) -> Answer:
        members = self._trail(order, phases) | {"kanAngres": can_cancel, **more}
        return self.call(name, "GET", f"{ORDERS}/{order}", 200, members)

    def cancel(self, name: str, order: Any, before: str) -> None:
        members = self._trail(order, (before, "ANGRET")) | {"kanAngres": False}
        self.call(name, "POST", f"{ORDERS}/{order}/angre", 200, members)

    def _trail(self, order: Any, phases: tuple[str, ...]) -> dict[str, Any]:
        """An order in the last of the phases since the customer answered."""
        trail = ("KLADD", "TIL_BEKREFTELSE", *phases)
        members = {f"historikk.{at}.fase": phase for at, phase in enumerate(trail)}
        return {"oppdrag": order, "fase": trail[-1], "historikk.#": len(trail), **members}

    def refuse_cancel(self, name: str, order: Any) -> None:
        self.refuse(name, "POST", f"{ORDERS}/{order}/angre", 409, 5002)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = GlommaApp(walk, ("91327504", "2468"))
    app.sign_in("ticket")
    wrong = app.wish(["KORT"], 400)
    app.refuse("mandate for cards", "POST", MANDATES, 422, 1002, "innsyn", "varighetDager", json=wrong)
    asked = app.ask("mandate", EVERYTHING, 90)
    mandate, sent = asked.find("fullmakt"), asked.find("bekreftelse.bekreftelse")
    app.refuse("accounts too early", "GET", ACCOUNTS, 403, 3001, mandate=mandate)
    app.poll("customer has not answered", sent, mandate, "SENDT")
    shown = f"se KONTOER, SALDO, POSTER til og med {app.day(90):%d.%m.%Y}"
    app.press("customer says yes", asked.find("bekreftelse.referanseord"), "JA", shown)
    app.poll("customer has confirmed", sent, mandate, "BEKREFTET")
    app.look("mandate is in force", mandate, EVERYTHING, "Ingrid Solbakken")
    members: dict[str, Any] = {
        "eier": "Ingrid Solbakken",
        "kontoer.#": 2,
        "kontoer.0.nokkel": re.compile(r"^[0-9a-f]{12}$"),
        "kontoer.0.kontonummer": NUMBER,
        "kontoer.0.navn": "Brukskonto",
        "kontoer.0.slag": "BRUK",
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, mandate=mandate)
    account, number = accounts.find("kontoer.0.nokkel"), accounts.find("kontoer.0.kontonummer")
    before = app.balances("balances", account, AMOUNT, AMOUNT, mandate)
    booked, available = in_ore(before, "saldoer.0.belop"), in_ore(before, "saldoer.1.belop")
    entries = f"{ACCOUNTS}/{account}/poster"
    query = {"fraOgMed": app.day(-60).isoformat(), "tilOgMed": app.day(-1).isoformat(), "antall": "5"}
    members = {
        "poster.#": 5,
        "poster.0.arkivref": re.compile(r"^\d{9}$"),
        "poster.0.bokfort": re.compile(r"^\d{4}-\d\d-\d\d$"),
        "poster.0.belop": AMOUNT,
        "poster.4.saldoEtter": AMOUNT,
        "blad.side": 1,
        "blad.sider": int,
        "blad.totalt": int,
        "blad.neste": 2,
    }
    page = app.call("entries", "GET", entries, 200, members, mandate=mandate, params=query)
    query["side"] = str(page.find("blad.neste"))
    members = {"poster.#": 5, "blad.side": 2, "blad.totalt": page.find("blad.totalt")}
    app.call("more entries", "GET", entries, 200, members, mandate=mandate, params=query)

    power, guitar = ("Elverum Kraft", "60120544171"), ("Nora Dahl", "70943105268")
    bill = app.order("power", number, power, 124_900, kid="0044718200312")
    mistyped = bill | {"kid": "0044718200313"}
    app.refuse("order with a mistyped KID", "POST", ORDERS, 422, 5003, "kid", json=mistyped)
    paid = app.draft("order", bill)
    later = app.order("guitar", number, guitar, 265_050, melding="Gitar", forfall=app.day(10).isoformat())
    stopped = app.draft("order for later", later)
    again = bill | {"belopOre": 129_400}
    app.refuse("own reference used again", "POST", ORDERS, 409, 5001, "egenReferanse", json=again)
    words = app.send("send both to the phone", 389_950, paid, stopped)
    app.press("customer says yes to both", words, "JA", "at du betaler 2 oppdrag, til sammen 3899,50 kr")
    app.follow("order is approved", paid, "GODKJENT", can_cancel=True, arkivref=None)
    reserved = kroner(available - 124_900)
    app.balances("balances with the amount reserved", account, kroner(booked), reserved, mandate)
    app.cancel("cancel the order for later", stopped, "I_FORFALLSREGISTER")
    wait(timedelta(seconds=80))
    app.refuse_cancel("cancel the order too late", paid)
    wait(timedelta(minutes=4))
    phases = ("GODKJENT", "UNDER_UTFORELSE", "UTFORT")
    done = app.follow("order is executed", paid, *phases, arkivref=re.compile(r"^\d{9}$"))
    members = {
        "poster.#": 1,
        "poster.0.arkivref": done.find("arkivref"),
        "poster.0.bokfort": app.day(0).isoformat(),
        "poster.0.tekst": f"Til: Elverum Kraft Betalt: {app.day(0):%d.%m.%y}",
        "poster.0.type": "NETTBANK",
        "poster.0.kid": "0044718200312",
        "poster.0.belop": kroner(-124_900),
        "poster.0.saldoEtter": kroner(booked - 124_900),
        "blad": {"side": 1, "sider": 1, "totalt": 1},
    }
    query = {"fraOgMed": app.day(0).isoformat()}
    app.call("entries of today", "GET", entries, 200, members, mandate=mandate, params=query)

    declined = app.draft("order to decline", app.order("amplifier", number, guitar, 78_000, melding="Forsterker"))
    words = app.send("send it to the phone", 78_000, declined)
    app.press("customer says no", words, "NEI", "at du betaler 1 oppdrag, til sammen 780,00 kr")
    app.follow("order is declined", declined, "AVSLATT")
    app.end("end the mandate", mandate)
    app.refuse("accounts after the end", "GET", ACCOUNTS, 403, 3002, mandate=mandate)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = GlommaApp(walk, ("40518263", "8351"))
    insights = ["POSTER", "KONTOER", "SALDO"]
    app.sign_in("ticket")
    wrong = app.wish(["BALANSE"], 365)
    app.refuse("mandate for a year", "POST", MANDATES, 422, 1002, "innsyn", "varighetDager", json=wrong)
    asked = app.ask("mandate", insights, 30)
    mandate, sent = asked.find("fullmakt"), asked.find("bekreftelse.bekreftelse")
    app.refuse("accounts too early", "GET", ACCOUNTS, 403, 3001, mandate=mandate)
    shown = f"se POSTER, KONTOER, SALDO til og med {app.day(30):%d.%m.%Y}"
    app.press("customer says yes", asked.find("bekreftelse.referanseord"), "JA", shown)
    app.poll("customer has confirmed", sent, mandate, "BEKREFTET")
    app.look("mandate is in force", mandate, insights, str)
    members: dict[str, Any] = {
        "eier": str,
        "kontoer.1.nokkel": re.compile(r"^[0-9a-f]{12}$"),
        "kontoer.1.kontonummer": NUMBER,
        "kontoer.1.navn": str,
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, mandate=mandate)
    account, number = accounts.find("kontoer.1.nokkel"), accounts.find("kontoer.1.kontonummer")
    before = app.balances("balances", account, AMOUNT, AMOUNT, mandate)
    booked, available = in_ore(before, "saldoer.0.belop"), in_ore(before, "saldoer.1.belop")
    entries = f"{ACCOUNTS}/{account}/poster"
    query = {"fraOgMed": app.day(-45).isoformat(), "tilOgMed": app.day(0).isoformat(), "antall": "4"}
    members = {
        "poster.#": 4,
        "poster.3.arkivref": re.compile(r"^\d{9}$"),
        "poster.0.belop": AMOUNT,
        "poster.0.saldoEtter": AMOUNT,
        "blad.side": 1,
        "blad.neste": 2,
    }
    page = app.call("entries", "GET", entries, 200, members, mandate=mandate, params=query)
    total, last = count(page, "blad.totalt"), count(page, "blad.sider")
    query["side"] = str(last)
    members = {"poster.#": total - 4 * (last - 1), "blad": {"side": last, "sider": last, "totalt": total}}
    app.call("last entries", "GET", entries, 200, members, mandate=mandate, params=query)

    nursery, club = ("Tyttebærtua barnehage", "42025170932"), ("Flisa Skiklubb", "97104488203")
    fee = app.order("nursery", number, nursery, 331_500, kid="231099458")
    mistyped = fee | {"kid": "231099485"}
    app.refuse("order with a mistyped KID", "POST", ORDERS, 422, 5003, "kid", json=mistyped)
    stopped = app.draft("order", fee)
    camp = app.order("camp", number, club, 48_025, melding="Påskeleir for Åse")
    paid = app.draft("another order", camp)
    again = camp | {"melding": "Påskeleir for Øyvind"}
    app.refuse("own reference used again", "POST", ORDERS, 409, 5001, "egenReferanse", json=again)
    words = app.send("send both to the phone", 379_525, paid, stopped)
    app.press("customer says yes to both", words, "JA", "at du betaler 2 oppdrag, til sammen 3795,25 kr")
    app.follow("other order is approved", paid, "GODKJENT", can_cancel=True, arkivref=None)
    reserved = kroner(available - 379_525)
    app.balances("balances with two amounts reserved", account, kroner(booked), reserved, mandate)
    app.cancel("cancel the first order", stopped, "GODKJENT")
    wait(timedelta(seconds=100))
    app.refuse_cancel("cancel the other order too late", paid)
    wait(timedelta(minutes=6))
    phases = ("GODKJENT", "UNDER_UTFORELSE", "UTFORT")
    done = app.follow("other order is executed", paid, *phases, arkivref=re.compile(r"^\d{9}$"))
    members = {
        "poster.#": 1,
        "poster.0.arkivref": done.find("arkivref"),
        "poster.0.bokfort": app.day(0).isoformat(),
        "poster.0.tekst": f"Til: Flisa Skiklubb Betalt: {app.day(0):%d.%m.%y}",
        "poster.0.type": "NETTBANK",
        "poster.0.kid": None,
        "poster.0.melding": "Påskeleir for Åse",
        "poster.0.belop": kroner(-48_025),
        "poster.0.saldoEtter": kroner(booked - 48_025),
        "blad": {"side": 1, "sider": 1, "totalt": 1},
    }
    query = {"fraOgMed": app.day(0).isoformat()}
    app.call("entries of today", "GET", entries, 200, members, mandate=mandate, params=query)

    declined = app.draft("order to decline", app.order("skis", number, club, 1_149_900, melding="Ski"))
    words = app.send("send it to the phone", 1_149_900, declined)
    app.press("customer says no", words, "NEI", "at du betaler 1 oppdrag, til sammen 11499,00 kr")
    app.follow("order is declined", declined, "AVSLATT")
    app.refuse_cancel("cancel the declined order", declined)
    app.end("end the mandate", mandate)
    app.refuse("accounts after the end", "GET", ACCOUNTS, 403, 3002, mandate=mandate)
    return walk.steps
