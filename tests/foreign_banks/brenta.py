"""Brenta, an Italian bank whose interface is the host system of its branches, in JSON.

- Every call of an app is `POST /sportello/<function>`, with a lower-case function such as `richiedimandato`. All that
  it needs is in the body: also the session (`sessione`, from `accedi`, for 12 hours) and the ids of things.
- Every answer has an `esito` with a `codice` ("0000" if it went well) and a `testo`, and the time (`ora`).
- What the bank understands and refuses has status 200 and a code: 2… for mandates and accounts, 3… for payments. A call
  without a session has 401 (1…), and a call that is malformed 400, 404 or 405 (9…, with the `campo` that is to blame).
- Times are milliseconds since 1970, days `YYYYMMDD`. Amounts are whole cents. Movements have a sign: D takes, A gives.
- Lists are wrapped as in XML: `{"conti": {"conto": […]}}`.
- An account (`rapporto`) is a branch and a number, as in `0142/318207`. A payee has ABI, CAB and conto.
- The customer grants (`mandato`) SALDI, MOVIMENTI and PAGAMENTI for 1 to 90 days, on a page at `/conferma/…` that sends
  the customer back to `ritorno` with the state. A mandate is ATTESA, ATTIVO, NEGATO, REVOCATO or SCADUTO.
- Movements begin at `daposizione` (1 is the newest), 10 by default and 20 at most (`numerorighe`). The answer tells the
  next position, or 0.
- The customer tells the app a code for a payment (`disposizione`), or says no. Three wrong codes block the payment.
- A payment is INSERITA, then AUTORIZZATA, INLAVORAZIONE after 5 minutes and ESEGUITA after 30, or PROGRAMMATA and
  ESEGUITA on its day. Otherwise it is RIFIUTATA, BLOCCATA, ANNULLATA or RESPINTA (without cover on its day).
- An authorised payment lowers `disponibile`; one that is carried out lowers `contabile` and is a movement. A payment
  above what is available is refused. The app can cancel a payment before it is worked on.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import Any

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond, show

type Function = Callable[[dict[str, Any]], dict[str, Any]]

APPS = {"mirtillo": "sottobosco-71", "lampone": "cespuglio-38"}
POWERS = ("SALDI", "MOVIMENTI", "PAGAMENTI")
SESSION = timedelta(hours=12)
WORKED_ON, CARRIED_OUT = timedelta(minutes=5), timedelta(minutes=30)
TEXTS = {
    "1001": "Applicazione o parola errata",
    "1002": "Sessione scaduta o sconosciuta",
    "2001": "Mandato sconosciuto",
    "2002": "Stato del mandato non valido",
    "2101": "Rapporto sconosciuto",
    "2102": "Durata non ammessa",
    "2103": "Potere non concesso",
    "2104": "Periodo o posizione non validi",
    "3001": "Disposizione sconosciuta",
    "3002": "Stato della disposizione non valido",
    "3003": "Disponibilita insufficiente",
    "3004": "Data di esecuzione non valida",
    "3005": "Codice errato",
    "9001": "Messaggio non leggibile",
    "9002": "Campo mancante",
    "9003": "Campo errato",
    "9004": "Funzione sconosciuta",
    "9005": "Metodo non ammesso",
}
SHOPS = "COOP LEVANTE|ENEL ENERGIA|FERRAMENTA RIGON|TRENITALIA|LIBRERIA AL PONTE|ACQUEDOTTO|FORNO DAL BEN".split("|")


@dataclass
class Account:
    number: str
    kind: str
    cents: int
    movements: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Customer:
    name: str
    pin: str
    code: str
    accounts: list[Account]


@dataclass
class Mandate:
    id: str
    app: str
    powers: list[str]
    back: str
    ticket: str
    created: datetime
    until: datetime
    state: str = "ATTESA"
    customer: Customer | None = None


@dataclass
class Payment:
    id: str
    app: str
    customer: Customer
    account: Account
    document: dict[str, Any]
    created: datetime
    state: str = "INSERITA"
    authorised: datetime | None = None
    tries: int = 3

    @property
    def cents(self) -> int:
        return int(self.document["importocent"])

    @property
    def starts(self) -> datetime | None:
        """When the bank carries out a payment that has a day of its own."""
        if "dataesecuzione" not in self.document:
            return None
        return datetime.combine(read_day(self.document["dataesecuzione"], ""), time(), UTC)


class Refused(Exception):
    def __init__(self, code: str, **more: Any) -> None:
        super().__init__(code)
        self.code, self.more = code, more

    @property
    def status(self) -> int:
        own = {"9004": 404, "9005": 405}
        return own.get(self.code, {"1": 401, "9": 400}.get(self.code[0], 200))


def milliseconds(moment: datetime) -> int:
    return int(moment.timestamp()) * 1000


def read_day(text: Any, name: str) -> date:
    try:
        return datetime.strptime(text, "%Y%m%d").date()
    except (TypeError, ValueError):
        raise Refused("9003", campo=name) from None


def write_day(day: date) -> str:
    return f"{day:%Y%m%d}"


def take(body: dict[str, Any], name: str) -> Any:
    if body.get(name) in (None, ""):
        raise Refused("9002", campo=name)
    return body[name]


def whole(body: dict[str, Any], name: str, default: int | None = None) -> int:
    value = body.get(name, default) if default is not None else take(body, name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Refused("9003", campo=name)
    return value


class Brenta:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"brenta {seed}")
        self._sessions: dict[str, tuple[str, datetime]] = {}
        self._mandates: dict[str, Mandate] = {}
        self._payments: dict[str, Payment] = {}
        self._customers = {
            "10482": Customer(
                "RIGON ELISA",
                "38261",
                "550917",
                [
                    self._open("0142/318207", "CONTO ORDINARIO", 412_655, 18),
                    self._open("0142/318940", "DEPOSITO", 1_250_000, 6),
                ],
            ),
            "20775": Customer(
                "DAL BEN MARCO",
                "90417",
                "263384",
                [
                    self._open("0087/104466", "CONTO ORDINARIO", 287_310, 23),
                    self._open("0087/151203", "CONTO FAMIGLIA", 96_480, 12),
                ],
            ),
        }
        self._routes = Routes(
            *(("POST", f"/sportello/{name}", partial(self._call, function)) for name, function in self._functions()),
            ("GET", "/conferma/{ticket}", self._page),
            ("POST", "/conferma/{ticket}", self._decide),
        )

    def _functions(self) -> list[tuple[str, Function]]:
        """The functions of the app by name; a method has the function's name."""
        functions: tuple[Function, ...] = (
            self._accedi,
            self._richiedimandato,
            self._leggimandato,
            self._revocamandato,
            self._elencoconti,
            self._leggisaldo,
            self._elencomovimenti,
            self._inseriscidisposizione,
            self._confermadisposizione,
            self._leggidisposizione,
            self._annulladisposizione,
        )
        return [(function.__name__[1:], function) for function in functions]

    def answer(self, request: Request) -> Response:
        self._pass_time()
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            return handler(request, **parameters)
        except NoRoute as error:
            return self._say(Refused("9005" if error.allowed else "9004"))
        except Refused as error:
            return self._say(error)

    def _call(self, function: Function, request: Request) -> Response:
        try:
            body = request.document
        except ValueError:
            raise Refused("9001") from None
        return respond(200, self._head("0000", "OK") | function(body))

    def _head(self, code: str, text: str) -> dict[str, Any]:
        return {"esito": {"codice": code, "testo": text}, "ora": milliseconds(self.clock.now)}

    def _say(self, error: Refused) -> Response:
        document = self._head(error.code, TEXTS[error.code])
        document["esito"] |= error.more
        return respond(error.status, document)

    def _sign(self, length: int) -> str:
        return "".join(self._random.choices("abcdefghkmnpqrstuvwxyz23456789", k=length))

    def _digits(self, length: int) -> str:
        return "".join(self._random.choices("0123456789", k=length))

    # Accounts

    def _open(self, number: str, kind: str, cents: int, rows: int) -> Account:
        account = Account(number, kind, cents)
        for days in sorted(self._random.sample(range(1, 45), rows), reverse=True):
            change = self._random.choice((-1, -1, -1, 2)) * self._random.randrange(240, 14_000)
            self._book(account, self.clock.today - timedelta(days=days), change, self._random.choice(SHOPS), "")
        return account

    def _book(self, account: Account, day: date, change: int, other: str, reason: str) -> None:
        account.movements.insert(
            0,
            {
                "numeromovimento": int(self._digits(8)) + 100_000_000,
                "dataoperazione": write_day(day),
                "segno": "D" if change < 0 else "A",
                "importocent": abs(change),
                "divisa": "EUR",
                "controparte": other,
                "causale": reason or f"RIF {self._digits(6)}",
            },
        )

    def _available(self, account: Account) -> int:
        held = ("AUTORIZZATA", "INLAVORAZIONE")
        mine = (payment for payment in self._payments.values() if payment.account is account)
        return account.cents - sum(payment.cents for payment in mine if payment.state in held)

    def _elencoconti(self, body: dict[str, Any]) -> dict[str, Any]:
        customer = self._granted(body)
        rows = [
            {"rapporto": account.number, "tipo": account.kind, "intestatario": customer.name, "divisa": "EUR"}
            for account in customer.accounts
        ]
        return {"conti": {"conto": rows}}

    def _leggisaldo(self, body: dict[str, Any]) -> dict[str, Any]:
        account = self._account(body, self._granted(body, "SALDI"))
        figures = {"contabile": account.cents, "disponibile": self._available(account), "divisa": "EUR"}
        return {"saldo": {"rapporto": account.number, **figures}}

    def _elencomovimenti(self, body: dict[str, Any]) -> dict[str, Any]:
        account = self._account(body, self._granted(body, "MOVIMENTI"))
        first = read_day(take(body, "dal"), "dal")
        last = read_day(body["al"], "al") if "al" in body else self.clock.today
        start, size = whole(body, "daposizione", 1), whole(body, "numerorighe", 10)
        rows = [row for row in account.movements if write_day(first) <= row["dataoperazione"] <= write_day(last)]
        if first > last or not 1 <= size <= 20 or not 1 <= start <= max(len(rows), 1):
            raise Refused("2104")
        following = start + size
        return {
            "movimenti": {"movimento": rows[start - 1 : following - 1]},
            "totalerighe": len(rows),
            "posizionesuccessiva": following if following <= len(rows) else 0,
        }

    def _account(self, body: dict[str, Any], customer: Customer) -> Account:
        number = take(body, "rapporto")
        for account in customer.accounts:
            if account.number == number:
                return account
        raise Refused("2101")

    # Sessions and mandates

    def _accedi(self, body: dict[str, Any]) -> dict[str, Any]:
        app, word = take(body, "applicazione"), take(body, "parola")
        if APPS.get(str(app)) != word:
            raise Refused("1001")
        session, until = self._sign(28), self.clock.now + SESSION
        self._sessions[session] = (app, until)
        return {"sessione": session, "validafino": milliseconds(until)}

    def _app(self, body: dict[str, Any]) -> str:
        app, until = self._sessions.get(str(take(body, "sessione")), ("", self.clock.now))
        if until <= self.clock.now:
            raise Refused("1002")
        return app

    def _richiedimandato(self, body: dict[str, Any]) -> dict[str, Any]:
        app = self._app(body)
        wanted, days, back = take(body, "poteri"), whole(body, "giorni"), take(body, "ritorno")
        powers = wanted.get("potere") if isinstance(wanted, dict) else None
        if not isinstance(powers, list) or not powers or any(power not in POWERS for power in powers):
            raise Refused("9003", campo="poteri")
        if not re.match("https?://", str(back)):
            raise Refused("9003", campo="ritorno")
        if not 1 <= days <= 90:
            raise Refused("2102")
        now = self.clock.now
        mandate = Mandate(
            f"M{self._digits(9)}", app, powers, back, self._sign(20), now, until=now + timedelta(days=days)
        )
        self._mandates[mandate.id] = mandate
        return self._shown(mandate) | {"pagina": f"/conferma/{mandate.ticket}"}

    def _shown(self, mandate: Mandate) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "codicemandato": mandate.id,
            "stato": mandate.state,
            "poteri": {"potere": mandate.powers},
            "creato": milliseconds(mandate.created),
            "scadenza": milliseconds(mandate.until),
        }
        if mandate.customer:
            shown["intestatario"] = mandate.customer.name
        return {"mandato": shown}

    def _mandate(self, body: dict[str, Any]) -> Mandate:
        app = self._app(body)
        mandate = self._mandates.get(str(take(body, "codicemandato")))
        if not mandate or mandate.app != app:
            raise Refused("2001")
        return mandate

    def _leggimandato(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._shown(self._mandate(body))

    def _revocamandato(self, body: dict[str, Any]) -> dict[str, Any]:
        mandate = self._mandate(body)
        if mandate.state not in ("ATTESA", "ATTIVO"):
            raise Refused("2002", stato=mandate.state)
        mandate.state = "REVOCATO"
        return self._shown(mandate)

    def _granted(self, body: dict[str, Any], power: str = "") -> Customer:
        """Who has granted the mandate, with this power."""
        mandate = self._mandate(body)
        if mandate.state != "ATTIVO" or not mandate.customer:
            raise Refused("2002", stato=mandate.state)
        if power and power not in mandate.powers:
            raise Refused("2103", potere=power)
        return mandate.customer

    def _waiting(self, ticket: str) -> Mandate | None:
        mandates = (mandate for mandate in self._mandates.values() if mandate.ticket == ticket)
        return next((mandate for mandate in mandates if mandate.state == "ATTESA"), None)

    def _page(self, request: Request, ticket: str, hint: str = "") -> Response:
        if not (mandate := self._waiting(ticket)):
            return show(404, "Banca del Brenta", "<p>Nessuna richiesta in attesa.</p>")
        what = f"{mandate.app} chiede: {', '.join(mandate.powers)} (mandato {mandate.id})"
        inputs = '<input name="utente"><input name="pin" type="password">'
        choices = "".join(f'<button name="scelta" value="{word}">{word}</button>' for word in ("concedo", "nego"))
        form = f'<form method="post" action="/conferma/{ticket}">{inputs}{choices}</form>'
        return show(200, "Banca del Brenta", f"<p>{what}</p><p>{hint}</p>{form}")

    def _decide(self, request: Request, ticket: str) -> Response:
        if not (mandate := self._waiting(ticket)):
            return self._page(request, ticket)
        customer = self._customers.get(request.field("utente"))
        if not customer or customer.pin != request.field("pin"):
            return self._page(request, ticket, "Utente o PIN errato.")
        mandate.customer = customer
        mandate.state = "ATTIVO" if request.field("scelta") == "concedo" else "NEGATO"
        location = f"{mandate.back}?codicemandato={mandate.id}&stato={mandate.state}"
        return Response(302, "", {"Location": location})

    # Payments

    def _inseriscidisposizione(self, body: dict[str, Any]) -> dict[str, Any]:
        customer = self._granted(body, "PAGAMENTI")
        account, cents, payee = self._account(body, customer), whole(body, "importocent"), take(body, "beneficiario")
        if cents <= 0:
            raise Refused("9003", campo="importocent")
        if not isinstance(payee, dict):
            raise Refused("9003", campo="beneficiario")
        for name, pattern in (("nome", ".{2,50}"), ("abi", r"\d{5}"), ("cab", r"\d{5}"), ("conto", r"\w{1,12}")):
            if not re.fullmatch(pattern, str(take(payee, name))):
                raise Refused("9003", campo=name)
        today = self.clock.today
        if "dataesecuzione" in body:
            day = read_day(body["dataesecuzione"], "dataesecuzione")
            if not today < day <= today + timedelta(days=180):
                raise Refused("3004")
        if cents > self._available(account):
            raise Refused("3003")
        names = ("rapporto", "beneficiario", "importocent", "causale", "dataesecuzione")
        kept = {name: body[name] for name in names if name in body}
        payment = Payment(f"D{self._digits(10)}", self._app(body), customer, account, kept, self.clock.now)
        self._payments[payment.id] = payment
        return self._told(payment)

    def _told(self, payment: Payment) -> dict[str, Any]:
        shown = {"numerodisposizione": payment.id, "stato": payment.state, **payment.document, "divisa": "EUR"}
        shown["inserita"] = milliseconds(payment.created)
        if payment.authorised:
            shown["autorizzata"] = milliseconds(payment.authorised)
        return {"disposizione": shown}

    def _payment(self, body: dict[str, Any], *states: str) -> Payment:
        app = self._app(body)
        payment = self._payments.get(str(take(body, "numerodisposizione")))
        if not payment or payment.app != app:
            raise Refused("3001")
        if states and payment.state not in states:
            raise Refused("3002", stato=payment.state)
        return payment

    def _leggidisposizione(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._told(self._payment(body))

    def _confermadisposizione(self, body: dict[str, Any]) -> dict[str, Any]:
        payment, reply = self._payment(body, "INSERITA"), take(body, "risposta")
        if reply not in ("SI", "NO"):
            raise Refused("9003", campo="risposta")
        if reply == "NO":
            payment.state = "RIFIUTATA"
            return self._told(payment)
        if take(body, "codice") != payment.customer.code:
            payment.tries -= 1
            if not payment.tries:
                payment.state = "BLOCCATA"
            raise Refused("3005", tentativirimasti=payment.tries)
        payment.state = "PROGRAMMATA" if payment.starts else "AUTORIZZATA"
        payment.authorised = self.clock.now
        return self._told(payment)

    def _annulladisposizione(self, body: dict[str, Any]) -> dict[str, Any]:
        payment = self._payment(body, "INSERITA", "AUTORIZZATA", "PROGRAMMATA")
        payment.state = "ANNULLATA"
        return self._told(payment)

    def _pass_time(self) -> None:
        """Bring mandates and payments to the state that they have by now."""
        now = self.clock.now
        for mandate in self._mandates.values():
            if mandate.state in ("ATTESA", "ATTIVO") and mandate.until <= now:
                mandate.state = "SCADUTO"
        for payment in self._payments.values():
            if payment.state not in ("AUTORIZZATA", "INLAVORAZIONE", "PROGRAMMATA") or not payment.authorised:
                continue
            moment = payment.starts or payment.authorised + CARRIED_OUT
            if moment <= now:
                self._carry_out(payment, moment.date())
            elif not payment.starts and payment.authorised + WORKED_ON <= now:
                payment.state = "INLAVORAZIONE"

    def _carry_out(self, payment: Payment, day: date) -> None:
        account = payment.account
        if account.cents < payment.cents:
            payment.state = "RESPINTA"
            return
        payment.state = "ESEGUITA"
        account.cents -= payment.cents
        payee, reason = payment.document["beneficiario"]["nome"], payment.document.get("causale", "")
        self._book(account, day, -payment.cents, payee, reason)
