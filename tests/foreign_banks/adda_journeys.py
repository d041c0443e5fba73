"""Two journeys of the app Lucciola and its customers at Adda."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://lucciola.example/adda/ritorno"
CONSENTS, ACCOUNTS, TRANSFERS = "/pt/v2/consensi", "/pt/v2/conti", "/pt/v2/bonifici"
COUNTER = re.compile(r"^/sportello/[a-z]{18}$")
TAG = re.compile(r'^"[0-9a-f]{12}"$')
SMS = "135790"


def cents(answer: Answer, place: str) -> int:
    """The amount at this place in cents, or 0."""
    value = answer.find(place)
    return int(value.replace(".", "")) if isinstance(value, str) and re.fullmatch(r"-?\d+\.\d\d", value) else 0


def euros(amount: int) -> str:
    return f"{'-' if amount < 0 else ''}{abs(amount) // 100}.{abs(amount) % 100:02}"


class AddaApp:
    def __init__(self, walk: Walk, customer: tuple[str, str]) -> None:
        self.walk, self._customer = walk, customer

    def _name(self, word: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"adda {self._customer[0]} {word}"))

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).date().isoformat()

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        *,
        consent: Any = None,
        match: Any = None,
        key: bool = False,
        has_app: bool = True,
        **request: Any,
    ) -> Answer:
        trace = self._name(name)[:13]
        sent = {"X-Traccia": trace}
        if has_app:
            sent["Authorization"] = "App k7-lucciola-4410"
        if consent:
            sent["X-Consenso"] = str(consent)
        if match:
            sent["If-Match"] = str(match)
        if key:
            sent["X-Chiave-Unica"] = self._name(f"{name} chiave")
        expected = {"@X-Traccia": trace, **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def refuse(
        self, name: str, method: str, path: str, status: int, code: Any, place: str = "", **request: Any
    ) -> Answer:
        members = {"esito": "KO", "codice": code, "messaggio": str, "traccia": self._name(name)[:13]}
        return self.call(name, method, path, status, members | ({"campi.0.campo": place} if place else {}), **request)

    def wish(self, services: list[str], days: int, reads: int) -> dict[str, Any]:
        return {"servizi": services, "ultimoGiorno": self.day(days), "lettureAlGiorno": reads, "ritorno": BACK}

    def ask(self, name: str, wish: dict[str, Any]) -> tuple[str, str]:
        """Return the consent's id and the customer's page."""
        members = {
            "consenso": re.compile(r"^C\d\d-\w{4}-\w{4}$"),
            "stato": "DA_FIRMARE",
            "servizi": wish["servizi"],
            "ultimoGiorno": wish["ultimoGiorno"],
            "lettureAlGiorno": wish["lettureAlGiorno"],
            "pagina": COUNTER,
            "@ETag": TAG,
            "@Location": re.compile(r"^/pt/v2/consensi/C\d\d-\w{4}-\w{4}$"),
        }
        made = self.call(name, "POST", CONSENTS, 201, members, json=wish)
        return str(made.find("consenso")), str(made.find("pagina"))

    def order(self, kind: str, payer: Any, payee: tuple[str, str], amount: int, reference: str) -> dict[str, Any]:
        order = {"tipo": kind, "ibanAddebito": payer, "beneficiario": {"nome": payee[0], "iban": payee[1]}}
        return order | {"importo": euros(amount), "causale": reference, "ritorno": BACK}

    def place(self, name: str, order: dict[str, Any]) -> tuple[str, str, Any]:
        """Return the transfer's id, the customer's page and the ETag."""
        members = {place: value for place, value in order.items() if place != "ritorno"}
        members |= {"bonifico": re.compile(r"^B\d\d-\w{4}-\w{4}$"), "stato": "DA_FIRMARE", "divisa": "EUR"}
        members |= {"pagina": COUNTER, "@ETag": TAG, "@Location": re.compile(r"^/pt/v2/bonifici/B\d\d-")}
        made = self.call(name, "POST", TRANSFERS, 201, members, key=True, json=order)
        return str(made.find("bonifico")), str(made.find("pagina")), made.find("@ETag")

    def look(self, name: str, path: str, id: str, state: str) -> Any:
        """Return the ETag."""
        word = "bonifico" if path == TRANSFERS else "consenso"
        members = {word: id, "stato": state, "@ETag": TAG, "pagina": None}
        return self.call(name, "GET", f"{path}/{id}", 200, members).find("@ETag")

    def sign_in(self, name: str, page: str, leads_to: str) -> None:
        form = {"codiceCliente": self._customer[0], "pin": self._customer[1]}
        self.walk.step(name, "POST", page, 303, {"@Location": f"{page}/{leads_to}"}, data=form)

    def mistype(self, name: str, page: str, pin: str) -> None:
        form = {"codiceCliente": self._customer[0], "pin": pin}
        members = PAGE | {"page": re.compile("Codice cliente o PIN errati")}
        self.walk.step(name, "POST", page, 401, members, data=form)

    def choices(self, name: str, page: str) -> list[str]:
        """Return the accounts that the customer may tick, at least two."""
        members = PAGE | {"page": re.compile('name="conto".*name="conto"')}
        shown = self.walk.step(name, "GET", f"{page}/conti", 200, members)
        return [*shown.fields.get("conto", []), "", ""]

    def tick(self, name: str, page: str, accounts: list[str]) -> None:
        self.walk.step(name, "POST", f"{page}/conti", 303, {"@Location": f"{page}/firma"}, data={"conto": accounts})

    def sign(self, name: str, page: str, id: str) -> None:
        members = {"@Location": f"{BACK}?pratica={id}&esito=firmato"}
        self.walk.step(name, "POST", f"{page}/firma", 303, members, data={"codiceSms": SMS})

    def decline(self, name: str, page: str, id: str) -> None:
        members = {"@Location": f"{BACK}?pratica={id}&esito=rifiutato"}
        self.walk.step(name, "POST", f"{page}/rifiuto", 303, members)

    def read(self, name: str, path: str, consent: str, left: int, members: Expected, **query: str) -> Answer:
        expected = {"@X-Letture-Rimaste": str(left), **members}
        return self.call(name, "GET", path, 200, expected, consent=consent, params=query)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = AddaApp(walk, ("LC204417", "60318"))
    everything = ["CONTI", "SALDI", "MOVIMENTI"]
    wish = app.wish(everything, 90, 6)
    app.refuse("consent without the app's key", "POST", CONSENTS, 401, "ADD4010", has_app=False, json=wish)
    wish = app.wish(everything, 90, 6)
    unknown = app.wish(["CONTI", "MUTUI"], 90, 6)
    app.refuse("consent for loans", "POST", CONSENTS, 422, "ADD4220", "servizi", json=unknown)
    consent, page = app.ask("consent", wish)
    app.mistype("customer mistypes the PIN", page, "60381")
    app.sign_in("customer signs in", page, "conti")
    chosen = app.choices("customer sees the accounts", page)[0]
    app.tick("customer ticks one account", page, [chosen])
    app.sign("customer signs the consent", page, consent)
    tag = app.look("consent is active", CONSENTS, consent, "ATTIVO")
    members: dict[str, Any] = {
        "quanti": 1,
        "conti.#": 1,
        "conti.0.rapporto": chosen,
        "conti.0.iban": re.compile(r"^IT\d\d[A-Z]03876\d{17}$"),
        "conti.0.denominazione": "Conto Riva",
        "conti.0.intestatario": "Elena Brambilla",
        "conti.0.divisa": "EUR",
    }
    iban = app.read("accounts", ACCOUNTS, consent, 5, members).find("conti.0.iban")
    balance, entries = f"{ACCOUNTS}/{chosen}/saldo", f"{ACCOUNTS}/{chosen}/movimenti"
    members = {"rapporto": chosen, "contabile": str, "disponibile": str, "divisa": "EUR"}
    booked = cents(app.read("balance", balance, consent, 4, members), "contabile")
    last = walk.now.date().replace(day=1) - DAY
    month = {"mese": f"{last:%Y-%m}", "ordine": "crescente", "righe": "4"}
    members = {
        "rapporto": chosen,
        "periodo": {"dal": f"{last:%Y-%m}-01", "al": last.isoformat()},
        "ordine": "crescente",
        "movimenti.#": 4,
        "movimenti.0.contabile": re.compile(f"^{last:%Y-%m}-"),
        "movimenti.0.segno": re.compile("^(DARE|AVERE)$"),
        "movimenti.0.saldoDopo": str,
        "pagina.numero": 1,
        "pagina.righe": 4,
        "pagina.totale": int,
    }
    app.read("entries of last month", entries, consent, 3, members, **month)
    members = {"movimenti.#": 4, "movimenti.3.importo": str, "pagina.numero": 2, "pagina.righe": 4}
    app.read("more of last month", entries, consent, 2, members, **month, pagina="2")
    nowhere = f"{ACCOUNTS}/RAP0000000/saldo"
    app.refuse("balance of an unknown account", "GET", nowhere, 404, "ADD4040", consent=consent)

    landlord = ("Immobiliare Pescarenico Srl", "IT60X0542811101000000123456")
    mistyped = (landlord[0], "IT61X0542811101000000123456")
    rent = app.order("ORDINARIO", iban, landlord, 64_500, "Affitto luglio")
    wrong = app.order("ORDINARIO", iban, mistyped, 64_500, "Affitto luglio")
    place = "beneficiario.iban"
    app.refuse("transfer to a mistyped IBAN", "POST", TRANSFERS, 422, "ADD4220", place, key=True, json=wrong)
    paid, page, _ = app.place("transfer", rent)
    app.sign_in("customer signs in for the transfer", page, "firma")
    app.sign("customer signs the transfer", page, paid)
    version = app.look("transfer is signed", TRANSFERS, paid, "FIRMATO")
    confirm = f"{TRANSFERS}/{paid}/conferma"
    app.refuse("confirm without If-Match", "POST", confirm, 428, "ADD4280")
    members = {"bonifico": paid, "stato": "IN_LAVORAZIONE", "importo": "645.00", "@ETag": TAG}
    app.call("confirm", "POST", confirm, 200, members, match=version)
    wait(timedelta(minutes=75))
    app.look("transfer is done", TRANSFERS, paid, "ESEGUITO")
    members = {"contabile": euros(booked - 64_500), "disponibile": euros(booked - 64_500)}
    app.read("balance after", balance, consent, 1, members)
    members = {
        "periodo": {"dal": app.day(-20), "al": app.day(0)},
        "movimenti.#": 3,
        "movimenti.0.contabile": app.day(0),
        "movimenti.0.segno": "DARE",
        "movimenti.0.importo": "645.00",
        "movimenti.0.controparte": landlord[0],
        "movimenti.0.causale": "Affitto luglio",
        "movimenti.0.tipologia": "BONIFICO",
        "movimenti.0.saldoDopo": euros(booked - 64_500),
        "movimenti.1.saldoDopo": euros(booked),
        "pagina.numero": 1,
    }
    period = {"dal": app.day(-20), "al": app.day(0), "ordine": "decrescente", "righe": "3"}
    app.read("latest entries", entries, consent, 0, members, **period)
    app.refuse("one read too many", "GET", balance, 429, "ADD4290", consent=consent)

    friend = ("Katrin Vogel", "DE89370400440532013000")
    instant, page, _ = app.place("instant transfer", app.order("ISTANTANEO", iban, friend, 4_280, "Cena"))
    app.sign_in("customer signs in for the instant transfer", page, "firma")
    app.sign("customer signs the instant transfer", page, instant)
    app.look("instant transfer is being checked", TRANSFERS, instant, "IN_VERIFICA")
    wait(timedelta(seconds=30))
    twice, _, version = app.place("transfer by mistake", app.order("ORDINARIO", iban, friend, 9_000, "Viaggio"))
    members = {"bonifico": twice, "stato": "ANNULLATO", "importo": "90.00", "@ETag": TAG}
    app.call("cancel it", "POST", f"{TRANSFERS}/{twice}/annulla", 200, members, match=version)
    refused, page, _ = app.place("transfer to decline", app.order("ORDINARIO", iban, landlord, 12_000, "Spese"))
    app.decline("customer declines it", page, refused)
    members = {"quanti": 4}
    states = [(paid, "ESEGUITO"), (instant, "ACCREDITATO"), (twice, "ANNULLATO"), (refused, "RIFIUTATO")]
    for index, (id, state) in enumerate(states):
        members |= {f"bonifici.{index}.bonifico": id, f"bonifici.{index}.stato": state}
    members |= {"bonifici.1.tipo": "ISTANTANEO", "bonifici.1.beneficiario": friend[0], "bonifici.1.importo": "42.80"}
    app.call("transfers", "GET", TRANSFERS, 200, members, params={"conto": iban, "ordine": "crescente"})
    members = {"consenso": consent, "stato": "REVOCATO", "servizi": everything, "@ETag": TAG}
    state = f"{CONSENTS}/{consent}/stato"
    app.call("revoke the consent", "PUT", state, 200, members, match=tag, json={"stato": "REVOCATO"})
    app.refuse("accounts after that", "GET", ACCOUNTS, 403, "ADD4030", consent=consent)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = AddaApp(walk, ("BG771903", "94725"))
    endless = app.wish(["SALDI", "CONTI"], 5, 3)
    del endless["ultimoGiorno"]
    app.refuse("consent without a last day", "POST", CONSENTS, 422, "ADD4220", "ultimoGiorno", json=endless)
    narrow, no = app.ask("consent to decline", app.wish(["SALDI", "CONTI"], 5, 3))
    consent, yes = app.ask("consent", app.wish(["MOVIMENTI", "CONTI", "SALDI"], 12, 6))
    app.sign_in("customer signs in", yes, "conti")
    one, other = app.choices("customer sees the accounts", yes)[:2]
    app.tick("customer ticks two accounts", yes, [one, other])
    app.sign("customer signs the consent", yes, consent)
    app.mistype("customer mistypes the PIN", no, "94752")
    app.decline("customer declines", no, narrow)
    app.look("first consent is declined", CONSENTS, narrow, "RIFIUTATO")
    app.refuse("accounts with that", "GET", ACCOUNTS, 403, "ADD4030", consent=narrow)
    members: dict[str, Any] = {
        "quanti": 2,
        "conti.#": 2,
        "conti.0.rapporto": one,
        "conti.1.rapporto": other,
        "conti.0.iban": re.compile(r"^IT\d\d[A-Z]03876\d{17}$"),
        "conti.1.iban": re.compile(r"^IT\d\d[A-Z]03876\d{17}$"),
        "conti.1.divisa": "EUR",
    }
    iban = app.read("accounts", ACCOUNTS, consent, 5, members).find("conti.0.iban")
    balance, entries = f"{ACCOUNTS}/{one}/saldo", f"{ACCOUNTS}/{one}/movimenti"
    members = {"rapporto": one, "contabile": str, "disponibile": str, "divisa": "EUR"}
    booked = cents(app.read("balance", balance, consent, 4, members), "contabile")
    since, until = app.day(-66), app.day(-10)
    period = {"dal": since, "al": until, "ordine": "decrescente", "righe": "3"}
    members = {
        "rapporto": one,
        "periodo": {"dal": since, "al": until},
        "ordine": "decrescente",
        "movimenti.#": 3,
        "movimenti.2.movimento": str,
        "movimenti.2.saldoDopo": str,
        "pagina.numero": 1,
        "pagina.righe": 3,
    }
    app.read("entries of eight weeks", entries, consent, 3, members, **period)
    members = {"movimenti.#": 3, "movimenti.0.segno": re.compile("^(DARE|AVERE)$"), "pagina.numero": 2}
    app.read("next page", entries, consent, 2, members, **period, pagina="2")

    school = ("Scuola Nautica Lario", "FR1420041010050500013M02606")
    garage = ("Garage Olginate", "DE89370400440532013000")
    nothing = app.order("ISTANTANEO", iban, school, 0, "Acconto corso")
    app.refuse("transfer of nothing", "POST", TRANSFERS, 422, "ADD4220", "importo", key=True, json=nothing)
    instant, instant_page, _ = app.place("instant", app.order("ISTANTANEO", iban, school, 15_250, "Acconto corso"))
    plain, plain_page, old = app.place("ordinary", app.order("ORDINARIO", iban, garage, 38_799, "Tagliando"))
    refused, refused_page, _ = app.place("to decline", app.order("ISTANTANEO", iban, garage, 7_000, "Cambio gomme"))
    app.sign_in("customer signs in for the ordinary one", plain_page, "firma")
    app.sign("customer signs the ordinary one", plain_page, plain)
    app.sign_in("customer signs in for the instant one", instant_page, "firma")
    app.sign("customer signs the instant one", instant_page, instant)
    app.decline("customer declines the third", refused_page, refused)
    version = app.look("ordinary one is signed", TRANSFERS, plain, "FIRMATO")
    confirm = f"{TRANSFERS}/{plain}/conferma"
    app.refuse("confirm with an old ETag", "POST", confirm, 412, str, match=old)
    members = {"bonifico": plain, "stato": "IN_LAVORAZIONE", "importo": "387.99", "@ETag": TAG}
    app.call("confirm", "POST", confirm, 200, members, match=version)
    wait(timedelta(minutes=1))
    app.look("instant one is credited", TRANSFERS, instant, "ACCREDITATO")
    wait(timedelta(minutes=90))
    version = app.look("ordinary one is done", TRANSFERS, plain, "ESEGUITO")
    members = {"contabile": euros(booked - 54_049), "disponibile": euros(booked - 54_049)}
    app.read("balance after", balance, consent, 1, members)
    members = {
        "movimenti.#": 2,
        "movimenti.0.importo": "152.50",
        "movimenti.0.controparte": school[0],
        "movimenti.0.saldoDopo": euros(booked - 15_250),
        "movimenti.1.importo": "387.99",
        "movimenti.1.segno": "DARE",
        "movimenti.1.causale": "Tagliando",
        "movimenti.1.saldoDopo": euros(booked - 54_049),
        "pagina.totale": 2,
    }
    today = {"dal": app.day(0), "al": app.day(0), "ordine": "crescente", "righe": "10"}
    app.read("entries of the day", entries, consent, 0, members, **today)
    app.refuse("one read too many", "GET", ACCOUNTS, 429, "ADD4290", consent=consent)
    members = {"quanti": 3}
    for index, (id, state) in enumerate([(refused, "RIFIUTATO"), (plain, "ESEGUITO"), (instant, "ACCREDITATO")]):
        members |= {f"bonifici.{index}.bonifico": id, f"bonifici.{index}.stato": state}
    app.call("transfers", "GET", TRANSFERS, 200, members, params={"conto": iban, "ordine": "decrescente"})
    app.refuse("cancel it too late", "POST", f"{TRANSFERS}/{plain}/annulla", 409, str, match=version)
    wait(DAY)
    members = {"rapporto": other, "contabile": str, "disponibile": str, "divisa": "EUR"}
    app.read("balance of the other account", f"{ACCOUNTS}/{other}/saldo", consent, 5, members)
    wait(12 * DAY)
    app.refuse("accounts after the last day", "GET", ACCOUNTS, 403, "ADD4030", consent=consent)
    return walk.steps
