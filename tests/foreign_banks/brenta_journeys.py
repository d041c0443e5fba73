"""Two journeys at Brenta; see `journeys`."""

import re
from datetime import timedelta
from typing import Any

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

MANDATE = re.compile(r"^M\d{9}$")
PAYMENT = re.compile(r"^D\d{10}$")
ACCOUNT = re.compile(r"^\d{4}/\d{6}$")
ALL = ["SALDI", "MOVIMENTI", "PAGAMENTI"]
WRONG_CODE = "000000"


def cents(answer: Answer, place: str) -> int:
    """The number at this place, or 0."""
    value = answer.find(place)
    return value if isinstance(value, int) else 0


class BrentaApp:
    def __init__(self, walk: Walk, back: str, utente: str, pin: str) -> None:
        self.walk, self.back = walk, back
        self._customer = {"utente": utente, "pin": pin}
        self._session: Any = None

    def day(self, days: int = 0) -> str:
        return f"{self.walk.now + days * DAY:%Y%m%d}"

    def enter(self, name: str) -> None:
        members = {"esito.codice": "0000", "ora": int, "sessione": re.compile(r"^\w{28}$"), "validafino": int}
        body = {"applicazione": "mirtillo", "parola": "sottobosco-71"}
        self._session = self.walk.step(name, "POST", "/sportello/accedi", 200, members, json=body).find("sessione")

    def call(self, name: str, function: str, members: Expected | None = None, **body: Any) -> Answer:
        expected = {"esito.codice": "0000", "esito.testo": "OK", "ora": int, **(members or {})}
        return self._send(name, function, 200, expected, body)

    def refuse(self, name: str, function: str, code: str, members: Expected | None = None, **body: Any) -> None:
        status = {"1": 401, "9": 400}.get(code[0], 200)
        expected = {"esito.codice": code, "esito.testo": str, "ora": int}
        self._send(
            name, function, status, expected | {f"esito.{key}": value for key, value in (members or {}).items()}, body
        )

    def _send(self, name: str, function: str, status: int, members: Expected, body: dict[str, Any]) -> Answer:
        sent = {"sessione": self._session, **body}
        return self.walk.step(name, "POST", f"/sportello/{function}", status, members, json=sent)

    def ask(self, name: str, powers: list[str], days: int) -> tuple[Any, Any]:
        """The mandate's id and its page."""
        members = {
            "mandato.codicemandato": MANDATE,
            "mandato.stato": "ATTESA",
            "mandato.poteri.potere": powers,
            "mandato.creato": int,
            "mandato.scadenza": int,
            "pagina": re.compile(r"^/conferma/\w{20}$"),
        }
        answer = self.call(name, "richiedimandato", members, poteri={"potere": powers}, giorni=days, ritorno=self.back)
        return answer.find("mandato.codicemandato"), answer.find("pagina")

    def open(self, name: str, page: Any) -> None:
        self.walk.step(name, "GET", page, 200, PAGE | {"page": re.compile("mirtillo chiede")})

    def decide(self, name: str, page: Any, mandate: Any, choice: str, state: str) -> None:
        members = {"@Location": f"{self.back}?codicemandato={mandate}&stato={state}"}
        self.walk.step(name, "POST", page, 302, members, data={**self._customer, "scelta": choice})

    def pay(self, name: str, **body: Any) -> Any:
        """The payment's number."""
        shown = ("rapporto", "importocent", "causale", "dataesecuzione")
        members: dict[str, Any] = {f"disposizione.{key}": body[key] for key in shown if key in body}
        members |= {"disposizione.numerodisposizione": PAYMENT, "disposizione.stato": "INSERITA"}
        members |= {"disposizione.beneficiario.nome": body["beneficiario"]["nome"], "disposizione.inserita": int}
        return self.call(name, "inseriscidisposizione", members, **body).find("disposizione.numerodisposizione")

    def move(self, name: str, function: str, payment: Any, state: str, **body: Any) -> None:
        """Look at a payment or change it; then it has this state."""
        members = {"disposizione.numerodisposizione": payment, "disposizione.stato": state}
        self.call(name, function, members, numerodisposizione=payment, **body)


def figures(booked: int, available: int) -> dict[str, Any]:
    return {"saldo.contabile": booked, "saldo.disponibile": available, "saldo.divisa": "EUR"}


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = BrentaApp(walk, "https://mirtillo.example/rientro", "10482", "38261")
    shop = {"nome": "Ferramenta Rigon", "abi": "03069", "cab": "11884", "conto": "000012345678"}
    app.enter("enter")
    missing = {"poteri": {"potere": ALL}, "ritorno": app.back}
    app.refuse("mandate without its days", "richiedimandato", "9002", {"campo": "giorni"}, **missing)
    mandate, page = app.ask("mandate", ALL, 60)
    app.open("page of the mandate", page)
    app.decide("customer grants it", page, mandate, "concedo", "ATTIVO")
    members: dict[str, Any] = {"mandato.codicemandato": mandate, "mandato.stato": "ATTIVO", "mandato.intestatario": str}
    app.call("mandate is active", "leggimandato", members, codicemandato=mandate)
    members = {"conti.conto.0.rapporto": ACCOUNT, "conti.conto.0.divisa": "EUR", "conti.conto.0.tipo": str}
    accounts = app.call("accounts", "elencoconti", members, codicemandato=mandate)
    rapporto = accounts.find("conti.conto.0.rapporto")
    use: dict[str, Any] = {"codicemandato": mandate, "rapporto": rapporto}
    members = {"saldo.rapporto": rapporto, "saldo.contabile": int, "saldo.disponibile": int, "saldo.divisa": "EUR"}
    before = cents(app.call("balance", "leggisaldo", members, **use), "saldo.contabile")
    period = {"dal": app.day(-60), "al": app.day(), "numerorighe": 10}
    members = {"movimenti.movimento.#": 10, "totalerighe": int, "posizionesuccessiva": 11}
    rows = app.call("movements", "elencomovimenti", members, **use, **period)
    total = cents(rows, "totalerighe")
    members = {"movimenti.movimento.#": total - 10, "totalerighe": total, "posizionesuccessiva": 0}
    app.call("rest of the movements", "elencomovimenti", members, **use, **period, daposizione=11)
    app.refuse("balance of an unknown account", "leggisaldo", "2101", codicemandato=mandate, rapporto="0999/000001")

    order = {**use, "beneficiario": shop, "causale": "Fattura 118"}
    yes = {"risposta": "SI", "codice": "550917"}
    planned = app.pay("payment in three days", **order, importocent=20_050, dataesecuzione=app.day(3))
    app.move("customer tells the code for it", "confermadisposizione", planned, "PROGRAMMATA", **yes)
    payment = app.pay("payment", **order, importocent=8435)
    app.refuse("payment above the balance", "inseriscidisposizione", "3003", **order, importocent=95_000_000)
    told = {"numerodisposizione": payment, "risposta": "SI", "codice": WRONG_CODE}
    app.refuse("customer tells a wrong code", "confermadisposizione", "3005", {"tentativirimasti": 2}, **told)
    app.move("customer tells the code", "confermadisposizione", payment, "AUTORIZZATA", **yes)
    app.call("balance with the amount held", "leggisaldo", figures(before, before - 8435), **use)
    wait(timedelta(minutes=10))
    app.move("payment is worked on", "leggidisposizione", payment, "INLAVORAZIONE")
    wait(timedelta(hours=1))
    app.move("payment is carried out", "leggidisposizione", payment, "ESEGUITA")
    app.call("balance after it", "leggisaldo", figures(before - 8435, before - 8435), **use)
    booked = {
        "movimenti.movimento.0.segno": "D",
        "movimenti.movimento.0.importocent": 8435,
        "movimenti.movimento.0.dataoperazione": app.day(),
        "movimenti.movimento.0.controparte": "Ferramenta Rigon",
        "movimenti.movimento.0.causale": "Fattura 118",
        "totalerighe": 1,
        "posizionesuccessiva": 0,
    }
    app.call("movements of the day", "elencomovimenti", booked, **use, dal=app.day())
    late = {"numerodisposizione": payment}
    app.refuse("too late to cancel", "annulladisposizione", "3002", {"stato": "ESEGUITA"}, **late)
    refused = app.pay("payment to refuse", **order, importocent=12_000)
    app.move("customer says no", "confermadisposizione", refused, "RIFIUTATA", risposta="NO")
    dropped = app.pay("payment to cancel", **order, importocent=777)
    app.move("cancel it", "annulladisposizione", dropped, "ANNULLATA")
    short, page = app.ask("mandate for a day", ["SALDI"], 1)
    app.decide("customer grants the short one", page, short, "concedo", "ATTIVO")
    wait(3 * DAY)
    app.refuse("session has ended", "leggidisposizione", "1002", numerodisposizione=planned)
    app.enter("enter again")
    app.move("planned payment is carried out", "leggidisposizione", planned, "ESEGUITA")
    app.refuse("accounts of the lapsed mandate", "elencoconti", "2002", {"stato": "SCADUTO"}, codicemandato=short)
    denied, page = app.ask("mandate to deny", ALL, 30)
    app.decide("customer denies it", page, denied, "nego", "NEGATO")
    members = {"mandato.codicemandato": mandate, "mandato.stato": "REVOCATO"}
    app.call("revoke the mandate", "revocamandato", members, codicemandato=mandate)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = BrentaApp(walk, "https://mirtillo.example/ritorno/banca", "20775", "90417")
    yes = {"risposta": "SI", "codice": "263384"}
    app.enter("enter")
    missing = {"giorni": 20, "ritorno": app.back}
    app.refuse("mandate without powers", "richiedimandato", "9002", {"campo": "poteri"}, **missing)
    denied, page = app.ask("mandate to deny", ["SALDI", "MOVIMENTI"], 10)
    app.open("page of it", page)
    app.decide("customer denies it", page, denied, "nego", "NEGATO")
    app.call("mandate is denied", "leggimandato", {"mandato.stato": "NEGATO"}, codicemandato=denied)
    mandate, page = app.ask("mandate", ["SALDI", "PAGAMENTI", "MOVIMENTI"], 20)
    short, other = app.ask("mandate for two days", ["SALDI"], 2)
    app.refuse("accounts before the customer grants", "elencoconti", "2002", {"stato": "ATTESA"}, codicemandato=mandate)
    app.decide("customer grants the short one", other, short, "concedo", "ATTIVO")
    app.decide("customer grants it", page, mandate, "concedo", "ATTIVO")
    members: dict[str, Any] = {"mandato.codicemandato": mandate, "mandato.stato": "ATTIVO"}
    app.call("mandate is active", "leggimandato", members, codicemandato=mandate)
    members = {"conti.conto.0.rapporto": ACCOUNT, "conti.conto.0.divisa": "EUR"}
    rapporto = app.call("accounts", "elencoconti", members, codicemandato=mandate).find("conti.conto.0.rapporto")
    use: dict[str, Any] = {"codicemandato": mandate, "rapporto": rapporto}

    club = {"nome": "Canottieri Bassano", "abi": "05728", "cab": "60160", "conto": "4471"}
    order = {**use, "beneficiario": club, "causale": "Quota soci"}
    planned = app.pay("payment in five days", **order, importocent=6120, dataesecuzione=app.day(5))
    app.move("customer tells the code for it", "confermadisposizione", planned, "PROGRAMMATA", **yes)
    members = {"saldo.rapporto": rapporto, "saldo.contabile": int, "saldo.disponibile": int}
    balance = app.call("balance", "leggisaldo", members, **use)
    before, free = cents(balance, "saldo.contabile"), cents(balance, "saldo.disponibile")
    period = {"dal": app.day(-60), "numerorighe": 5}
    members = {"movimenti.movimento.#": 5, "totalerighe": int, "posizionesuccessiva": 6}
    rows = app.call("newest movements", "elencomovimenti", members, **use, **period)
    members |= {"totalerighe": cents(rows, "totalerighe"), "posizionesuccessiva": 11}
    app.call("movements after these", "elencomovimenti", members, **use, **period, daposizione=6)
    app.refuse("payment a cent too high", "inseriscidisposizione", "3003", **order, importocent=free + 1)
    payment = app.pay("payment", **order, importocent=31_500)
    told = {"numerodisposizione": payment, "risposta": "SI", "codice": WRONG_CODE}
    app.refuse("customer tells a wrong code", "confermadisposizione", "3005", {"tentativirimasti": 2}, **told)
    app.refuse("and once more", "confermadisposizione", "3005", {"tentativirimasti": 1}, **told)
    app.move("customer tells the code", "confermadisposizione", payment, "AUTORIZZATA", **yes)
    app.call("balance with the amount held", "leggisaldo", figures(before, free - 31_500), **use)
    twice = {"numerodisposizione": payment, **yes}
    app.refuse("code told again", "confermadisposizione", "3002", {"stato": "AUTORIZZATA"}, **twice)
    wait(timedelta(minutes=12))
    app.move("payment is worked on", "leggidisposizione", payment, "INLAVORAZIONE")
    wait(timedelta(hours=2))
    app.move("payment is carried out", "leggidisposizione", payment, "ESEGUITA")
    booked = {
        "movimenti.movimento.0.segno": "D",
        "movimenti.movimento.0.importocent": 31_500,
        "movimenti.movimento.0.controparte": "Canottieri Bassano",
        "movimenti.movimento.0.causale": "Quota soci",
        "totalerighe": 1,
    }
    app.call("movements of the day", "elencomovimenti", booked, **use, dal=app.day(), al=app.day())
    app.call("balance after it", "leggisaldo", figures(before - 31_500, free - 31_500), **use)
    dropped = app.pay("payment to cancel", **order, importocent=2490)
    app.move("cancel it", "annulladisposizione", dropped, "ANNULLATA")
    refused = app.pay("payment to refuse", **order, importocent=15_000)
    app.move("customer says no", "confermadisposizione", refused, "RIFIUTATA", risposta="NO")
    wait(5 * DAY)
    app.refuse("session has ended", "leggidisposizione", "1002", numerodisposizione=planned)
    app.enter("enter again")
    app.move("planned payment is carried out", "leggidisposizione", planned, "ESEGUITA")
    app.call("balance after both", "leggisaldo", figures(before - 37_620, free - 37_620), **use)
    app.call("short mandate has lapsed", "leggimandato", {"mandato.stato": "SCADUTO"}, codicemandato=short)
    app.call("revoke the mandate", "revocamandato", {"mandato.stato": "REVOCATO"}, codicemandato=mandate)
    app.refuse("accounts after that", "elencoconti", "2002", {"stato": "REVOCATO"}, codicemandato=mandate)
    return walk.steps
