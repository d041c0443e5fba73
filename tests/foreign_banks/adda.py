"""Adda, an Italian bank with an interface of its own under `/pt/v2`: customers sign consents and transfers.

- Apps send `Authorization: App <key>`; without it 401. Answers are bare documents and bring X-Traccia, which repeats
  the request's or is new. Errors are `{"esito": "KO", "codice", "messaggio", "campi"?, "traccia"}`.
- POST `/consensi` with `servizi` (CONTI, SALDI, MOVIMENTI), `ultimoGiorno` (today to 180 days on), `lettureAlGiorno`
  (1 to 20) and `ritorno`. A consent is DA_FIRMARE, then ATTIVO, RIFIUTATO, REVOCATO or, after its last day, SCADUTO.
- `pagina` is the customer's: POST to it code and PIN (wrong: 401 and the page again), which leads (303) to `/conti`
  for a consent, where the customer ticks accounts, and on to `/firma`, where a code (always 135790 in this sandbox)
  signs. At any step POST `/rifiuto` declines, without sign-in. Both ends lead to `ritorno` with `pratica` and `esito`.
  A finished link gives 410.
- Reads send X-Consenso (missing: 400; not ATTIVO or without the service: 403). Each successful read counts;
  X-Letture-Rimaste tells what is left until midnight UTC, then 429.
- Amounts are decimal strings without a sign; entries have `segno` DARE or AVERE and the balance after them. Entries are
  asked by `mese` or from `dal` to `al` (default today), `ordine` crescente or decrescente (default), `pagina`, `righe`.
- POST `/bonifici` needs X-Chiave-Unica: the same request again gives the same transfer, another one 409. An ORDINARIO
  is DA_FIRMARE, FIRMATO, after POST `…/conferma` IN_LAVORAZIONE, in an hour ESEGUITO. An ISTANTANEO is IN_VERIFICA
  once signed and ten seconds later ACCREDITATO, or RESPINTO if the account does not cover it. Until FIRMATO inclusive,
  POST `…/annulla` makes it ANNULLATO. The customer's no makes it RIFIUTATO. Transfers under way lower `disponibile`,
  final ones `contabile`, too. GET `/bonifici` lists the app's, also by `conto` (IBAN) and `stato`.
- Consents and transfers have an ETag that is new with each state. PUT `/consensi/{id}/stato`, conferma and annulla need
  If-Match: 428 without it, 412 with an old one.
"""

import calendar
import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond, show

APPS = {"k7-lucciola-4410": "Lucciola", "k7-girandola-9027": "Girandola"}
SERVICES = ("CONTI", "SALDI", "MOVIMENTI")
TYPES = ("ORDINARIO", "ISTANTANEO")
CODE = "135790"
SHOPS = ["Esselunga Lecco", "Farmacia Manzoni", "Trenord", "Libreria Il Ramo", "Bar Azzone", "Ferramenta Resegone"]
MESSAGES = {
    "ADD4001": "Manca un'intestazione",
    "ADD4002": "Il corpo non è un oggetto JSON",
    "ADD4003": "Parametri errati",
    "ADD4010": "App sconosciuta",
    "ADD4030": "Il consenso non è attivo",
    "ADD4031": "Il consenso non comprende il servizio",
    "ADD4040": "Risorsa inesistente",
    "ADD4050": "Metodo non ammesso",
    "ADD4090": "Lo stato non lo permette",
    "ADD4091": "Chiave unica già usata per un'altra richiesta",
    "ADD4092": "Disponibilità insufficiente",
    "ADD4120": "La risorsa è cambiata",
    "ADD4220": "Dati errati",
    "ADD4280": "Manca If-Match",
    "ADD4290": "Letture del giorno esaurite",
}


@dataclass
class Account:
    id: str
    iban: str
    name: str
    kind: str
    holder: str
    cents: int
    entries: list[dict[str, Any]] = field(default_factory=list)
    """Oldest first."""


@dataclass(frozen=True)
class Customer:
    code: str
    pin: str
    accounts: Sequence[Account]


@dataclass
class Case:
    """A consent, or a transfer if it has a payer. The customer decides on the page with this `key`."""

    id: str
    app: str
    key: str
    document: dict[str, Any]
    back: str
    state: str = "DA_FIRMARE"
    version: int = 1
    payer: Account | None = None
    customer: Customer | None = None
    chosen: list[Account] = field(default_factory=list)
    since: datetime | None = None
    reads: dict[date, int] = field(default_factory=dict)

    @property
    def etag(self) -> str:
        return f'"{hashlib.sha256(f"{self.id} {self.version}".encode()).hexdigest()[:12]}"'

    @property
    def path(self) -> str:
        return f"/pt/v2/{'bonifici' if self.payer else 'consensi'}/{self.id}"

    @property
    def cents(self) -> int:
        return int(self.document["importo"].replace(".", ""))

    def become(self, state: str, time: datetime) -> None:
        self.state, self.since, self.version = state, time, self.version + 1


class Ko(Exception):
    def __init__(
        self, status: int, code: str, wrong: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(code)
        self.status, self.code, self.headers = status, code, headers or {}
        self.wrong = [{"campo": name, "motivo": why} for name, why in (wrong or {}).items()]


def money(cents: int) -> str:
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}"


def moment(time: datetime) -> str:
    return time.isoformat(timespec="seconds")


def check_digits(country: str, rest: str) -> str:
    return f"{98 - int(''.join(str(int(sign, 36)) for sign in rest + country + '00')) % 97:02}"


def is_iban(text: Any) -> bool:
    is_formed = isinstance(text, str) and re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text)
    return bool(is_formed) and check_digits(text[:2], text[4:]) == text[2:4]


def is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and 1 <= len(value.strip()) <= most


def as_day(text: Any) -> date | None:
    try:
        return date.fromisoformat(text) if isinstance(text, str) and len(text) == 10 else None
    except ValueError:
        return None


class Adda:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"adda {seed}")
        self._cases: dict[str, Case] = {}
        self._keys: dict[tuple[str, str], tuple[dict[str, Any], Case]] = {}
        current, savings, elena, davide = "CONTO_CORRENTE", "CONTO_DEPOSITO", "Elena Brambilla", "Davide Colnaghi"
        self._customers = [
            Customer("LC204417", "60318", [
                self._open("Conto Riva", current, elena, "004410", 287_345),
                self._open("Conto Salvadanaio", savings, elena, "004428", 910_000),
            ]),
            Customer("BG771903", "94725", [
                self._open("Conto Famiglia", current, davide, "119071", 164_290),
                self._open("Conto Officina", current, davide, "119089", 1_308_877),
                self._open("Conto Vacanze", savings, davide, "119097", 402_515),
            ]),
        ]  # fmt: skip
        consent, transfer, page = "/pt/v2/consensi/{id}", "/pt/v2/bonifici/{id}", "/sportello/{key}"
        self._routes = Routes(
            ("POST", "/pt/v2/consensi", self._ask_consent),
            ("GET", consent, lambda request, id: self._tell(200, self._case(request, id, "C"))),
            ("PUT", consent + "/stato", self._revoke),
            ("GET", "/pt/v2/conti", self._list_accounts),
            ("GET", "/pt/v2/conti/{id}/saldo", self._balance),
            ("GET", "/pt/v2/conti/{id}/movimenti", self._list_entries),
            ("POST", "/pt/v2/bonifici", self._ask_transfer),
            ("GET", "/pt/v2/bonifici", self._list_transfers),
            ("GET", transfer, lambda request, id: self._tell(200, self._case(request, id, "B"))),
            ("POST", transfer + "/conferma", self._confirm),
            ("POST", transfer + "/annulla", self._cancel),
            ("GET", page, lambda request, key: self._show(key, "")),
            ("POST", page, self._sign_in),
            ("GET", page + "/conti", lambda request, key: self._show(key, "conti")),
            ("POST", page + "/conti", self._choose),
            ("GET", page + "/firma", lambda request, key: self._show(key, "firma")),
            ("POST", page + "/firma", self._sign),
            ("POST", page + "/rifiuto", self._decline),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        trace = request.headers.get("x-traccia") or self._word(14, "0123456789abcdef")
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            response = handler(request, **parameters)
            if request.path.startswith("/sportello/"):
                return response
            return Response(response.status, response.content, {**response.headers, "X-Traccia": trace})
        except NoRoute as wrong:
            allowed = {"Allow": ", ".join(wrong.allowed)}
            error = Ko(405, "ADD4050", headers=allowed) if wrong.allowed else Ko(404, "ADD4040")
        except Ko as refusal:
            error = refusal
        document: dict[str, Any] = {"esito": "KO", "codice": error.code, "messaggio": MESSAGES[error.code]}
        if error.wrong:
            document["campi"] = error.wrong
        return respond(error.status, document | {"traccia": trace}, {**error.headers, "X-Traccia": trace})

    def _word(self, length: int, signs: str = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _new_id(self, kind: str) -> str:
        return f"{kind}{self.clock.today:%y}-{self._word(4)}-{self._word(4)}"

    def _open(self, name: str, kind: str, holder: str, number: str, cents: int) -> Account:
        rest = f"{self._word(1, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ')}0387622900000000{number}"
        id = f"RAP{self._word(7, '0123456789')}"
        account = Account(id, f"IT{check_digits('IT', rest)}{rest}", name, kind, holder, 0)
        changes: list[tuple[int, int, str, str, str]] = []
        for days in self._random.sample(range(1, 88), 44):
            spent, shop = self._random.randrange(120, 9_800), self._random.choice(SHOPS)
            changes.append((days, -spent, shop, "Acquisto carta", "POS"))
        for days in (12, 43, 73):
            changes.append((days, 142_000, "Setificio Abbadia SpA", "Stipendio", "EMOLUMENTI"))
        account.cents = cents - sum(change[1] for change in changes)
        for days, change, who, text, reason in sorted(changes, reverse=True):
            self._enter(account, self.clock.today - timedelta(days=days), change, who, text, reason)
        return account

    def _enter(self, account: Account, day: date, cents: int, who: str, text: str, reason: str) -> None:
        account.cents += cents
        entry = {"movimento": f"M{self._word(9, '0123456789')}", "contabile": day.isoformat()}
        entry |= {"segno": "DARE" if cents < 0 else "AVERE", "importo": money(abs(cents)), "divisa": "EUR"}
        entry |= {"tipologia": reason, "controparte": who, "causale": text, "saldoDopo": money(account.cents)}
        account.entries.append(entry)

    def _available(self, account: Account) -> int:
        under_way = [one for one in self._cases.values() if one.state in ("IN_LAVORAZIONE", "IN_VERIFICA")]
        return account.cents - sum(one.cents for one in under_way if one.payer is account)

    def _advance(self) -> None:
        now = self.clock.now
        for case in self._cases.values():
            passed = now - case.since if case.since else timedelta()
            if not case.payer:
                if case.state in ("DA_FIRMARE", "ATTIVO") and case.document["ultimoGiorno"] < now.date().isoformat():
                    case.become("SCADUTO", now)
            elif case.state == "IN_LAVORAZIONE" and passed >= timedelta(hours=1):
                self._pay(case, case.payer, "ESEGUITO", "BONIFICO")
            elif case.state == "IN_VERIFICA" and passed >= timedelta(seconds=10):
                if self._available(case.payer) < 0:
                    case.document["motivo"] = "DISPONIBILITA_INSUFFICIENTE"
                    case.become("RESPINTO", now)
                else:
                    self._pay(case, case.payer, "ACCREDITATO", "BONIFICO_ISTANTANEO")

    def _pay(self, case: Case, payer: Account, state: str, reason: str) -> None:
        case.become(state, self.clock.now)
        case.document["eseguitoIl"] = self.clock.today.isoformat()
        payee = case.document["beneficiario"]["nome"]
        self._enter(payer, self.clock.today, -case.cents, payee, case.document["causale"], reason)

    def _app(self, request: Request) -> str:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme != "App" or key not in APPS:
            raise Ko(401, "ADD4010", headers={"WWW-Authenticate": "App"})
        return APPS[key]

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Ko(400, "ADD4002") from None

    def _header(self, request: Request, name: str) -> str:
        if not (value := request.headers.get(name.lower())):
            raise Ko(400, "ADD4001", {name: "obbligatoria"})
        return value

    def _case(self, request: Request, id: str, kind: str) -> Case:
        app, case = self._app(request), self._cases.get(id)
        if not case or case.app != app or not id.startswith(kind):
            raise Ko(404, "ADD4040")
        return case

    def _match(self, request: Request, case: Case) -> None:
        if not (sent := request.headers.get("if-match")):
            raise Ko(428, "ADD4280")
        if sent != case.etag:
            raise Ko(412, "ADD4120")

    def _tell(self, status: int, case: Case) -> Response:
        document = {"bonifico" if case.payer else "consenso": case.id, "stato": case.state, **case.document}
        if case.state == "DA_FIRMARE":
            document["pagina"] = f"/sportello/{case.key}"
        headers = {"ETag": case.etag} | ({"Location": case.path} if status == 201 else {})
        return respond(status, document, headers)

    def _ask_consent(self, request: Request) -> Response:
        app, body = self._app(request), self._body(request)
        services, last, reads = body.get("servizi"), as_day(body.get("ultimoGiorno")), body.get("lettureAlGiorno")
        today, wrong = self.clock.today, {}
        if not isinstance(services, list) or not services or not all(one in SERVICES for one in services):
            wrong["servizi"] = "uno o più di " + ", ".join(SERVICES)
        if not last or not today <= last <= today + timedelta(days=180):
            wrong["ultimoGiorno"] = "AAAA-MM-GG, da oggi a 180 giorni"
        if not isinstance(reads, int) or not 1 <= reads <= 20:
            wrong["lettureAlGiorno"] = "da 1 a 20"
        if not str(body.get("ritorno", "")).startswith("https://"):
            wrong["ritorno"] = "comincia con https://"
        if wrong:
            raise Ko(422, "ADD4220", wrong)
        document = {"servizi": services, "ultimoGiorno": body["ultimoGiorno"], "lettureAlGiorno": reads}
        document["creato"] = moment(self.clock.now)
        return self._tell(201, self._begin(app, "C", document, body["ritorno"]))

    def _begin(self, app: str, kind: str, document: dict[str, Any], back: str, payer: Account | None = None) -> Case:
        key = self._word(18, "abcdefghijklmnopqrstuvwxyz")
        case = Case(self._new_id(kind), app, key, document, back, payer=payer)
        self._cases[case.id] = case
        return case

    def _revoke(self, request: Request, id: str) -> Response:
        case = self._case(request, id, "C")
        self._match(request, case)
        if self._body(request).get("stato") != "REVOCATO":
            raise Ko(422, "ADD4220", {"stato": "solo REVOCATO"})
        if case.state not in ("DA_FIRMARE", "ATTIVO"):
            raise Ko(409, "ADD4090")
        case.become("REVOCATO", self.clock.now)
        return self._tell(200, case)

    def _consent(self, request: Request, service: str) -> Case:
        self._app(request)
        case = self._case(request, self._header(request, "X-Consenso"), "C")
        if case.state != "ATTIVO":
            raise Ko(403, "ADD4030")
        if service not in case.document["servizi"]:
            raise Ko(403, "ADD4031")
        if case.reads.get(self.clock.today, 0) >= case.document["lettureAlGiorno"]:
            now = self.clock.now
            midnight = now.replace(hour=0, minute=0, second=0) + timedelta(days=1)
            seconds = int((midnight - now).total_seconds())
            raise Ko(429, "ADD4290", headers={"Retry-After": str(seconds), "X-Letture-Rimaste": "0"})
        return case

    def _find(self, consent: Case, id: str) -> Account:
        if account := next((one for one in consent.chosen if one.id == id), None):
            return account
        raise Ko(404, "ADD4040")

    def _read(self, consent: Case, document: dict[str, Any]) -> Response:
        today = self.clock.today
        consent.reads[today] = consent.reads.get(today, 0) + 1
        left = consent.document["lettureAlGiorno"] - consent.reads[today]
        return respond(200, document, {"X-Letture-Rimaste": str(left)})

    def _list_accounts(self, request: Request) -> Response:
        consent = self._consent(request, "CONTI")
        rows = []
        for one in consent.chosen:
            shown = {"rapporto": one.id, "iban": one.iban, "denominazione": one.name, "tipo": one.kind}
            rows.append(shown | {"intestatario": one.holder, "divisa": "EUR"})
        return self._read(consent, {"conti": rows, "quanti": len(rows)})

    def _balance(self, request: Request, id: str) -> Response:
        consent = self._consent(request, "SALDI")
        account = self._find(consent, id)
        document = {"rapporto": id, "contabile": money(account.cents), "disponibile": money(self._available(account))}
        return self._read(consent, document | {"divisa": "EUR", "rilevato": moment(self.clock.now)})

    def _period(self, query: Mapping[str, str]) -> tuple[date, date]:
        if month := query.get("mese"):
            start = as_day(f"{month}-01")
            if not start or "dal" in query or "al" in query:
                raise Ko(400, "ADD4003", {"mese": "AAAA-MM, senza dal e al"})
            return start, start.replace(day=calendar.monthrange(start.year, start.month)[1])
        begins, ends = as_day(query.get("dal")), as_day(query.get("al", self.clock.today.isoformat()))
        if not begins:
            raise Ko(400, "ADD4003", {"dal": "AAAA-MM-GG, oppure mese"})
        if not ends or ends < begins:
            raise Ko(400, "ADD4003", {"al": "AAAA-MM-GG, non prima di dal"})
        return begins, ends

    def _order(self, query: Mapping[str, str]) -> str:
        if (order := query.get("ordine", "decrescente")) not in ("crescente", "decrescente"):
            raise Ko(400, "ADD4003", {"ordine": "crescente o decrescente"})
        return order

    def _list_entries(self, request: Request, id: str) -> Response:
        consent, query = self._consent(request, "MOVIMENTI"), request.query
        account = self._find(consent, id)
        (begins, ends), order = self._period(query), self._order(query)
        number, size = query.get("pagina", "1"), query.get("righe", "20")
        wrong = {}
        if not number.isdecimal() or int(number) < 1:
            wrong["pagina"] = "da 1 in su"
        if not size.isdecimal() or not 1 <= int(size) <= 50:
            wrong["righe"] = "da 1 a 50"
        if wrong:
            raise Ko(400, "ADD4003", wrong)
        rows = [one for one in account.entries if begins.isoformat() <= one["contabile"] <= ends.isoformat()]
        rows = rows if order == "crescente" else rows[::-1]
        start, pages = (int(number) - 1) * int(size), -(-len(rows) // int(size))
        page = {"numero": int(number), "righe": int(size), "pagine": pages, "totale": len(rows)}
        period = {"dal": begins.isoformat(), "al": ends.isoformat()}
        document = {"rapporto": id, "periodo": period, "ordine": order}
        return self._read(consent, document | {"movimenti": rows[start : start + int(size)], "pagina": page})

    def _ask_transfer(self, request: Request) -> Response:
        app, key, body = self._app(request), self._header(request, "X-Chiave-Unica"), self._body(request)
        if (app, key) in self._keys:
            before, case = self._keys[app, key]
            if before != body:
                raise Ko(409, "ADD4091")
            return self._tell(201, case)
        accounts = [one for customer in self._customers for one in customer.accounts]
        payer = next((one for one in accounts if one.iban == body.get("ibanAddebito")), None)
        payee, amount, wrong = body.get("beneficiario"), body.get("importo"), {}
        payee = payee if isinstance(payee, dict) else {}
        if body.get("tipo") not in TYPES:
            wrong["tipo"] = " o ".join(TYPES)
        if not payer:
            wrong["ibanAddebito"] = "non è un conto di questa banca"
        if not is_text(payee.get("nome"), 70):
            wrong["beneficiario.nome"] = "da 1 a 70 caratteri"
        if not is_iban(payee.get("iban")):
            wrong["beneficiario.iban"] = "IBAN errato"
        if not isinstance(amount, str) or not re.fullmatch(r"\d{1,7}\.\d\d", amount) or not float(amount):
            wrong["importo"] = "maggiore di 0.00, con due decimali"
        if not is_text(body.get("causale"), 140):
            wrong["causale"] = "da 1 a 140 caratteri"
        if not str(body.get("ritorno", "")).startswith("https://"):
            wrong["ritorno"] = "comincia con https://"
        if wrong:
            raise Ko(422, "ADD4220", wrong)
        document = {"tipo": body["tipo"], "ibanAddebito": body["ibanAddebito"]}
        document |= {"beneficiario": {"nome": payee["nome"], "iban": payee["iban"]}, "importo": amount, "divisa": "EUR"}
        document |= {"causale": body["causale"], "creato": moment(self.clock.now)}
        case = self._begin(app, "B", document, body["ritorno"], payer)
        self._keys[app, key] = body, case
        return self._tell(201, case)

    def _list_transfers(self, request: Request) -> Response:
        app, query = self._app(request), request.query
        cases = [one for one in self._cases.values() if one.app == app and query.get("stato", one.state) == one.state]
        cases = [one for one in cases if one.payer and query.get("conto", one.payer.iban) == one.payer.iban]
        if self._order(query) == "decrescente":
            cases.reverse()
        rows = []
        for case in cases:
            told = {"bonifico": case.id, "tipo": case.document["tipo"], "stato": case.state}
            told |= {"importo": case.document["importo"], "beneficiario": case.document["beneficiario"]["nome"]}
            rows.append(told | {"creato": case.document["creato"]})
        return respond(200, {"bonifici": rows, "quanti": len(rows)})

    def _confirm(self, request: Request, id: str) -> Response:
        case = self._case(request, id, "B")
        self._match(request, case)
        if case.state != "FIRMATO" or not case.payer:
            raise Ko(409, "ADD4090")
        if case.cents > self._available(case.payer):
            raise Ko(409, "ADD4092")
        case.become("IN_LAVORAZIONE", self.clock.now)
        return self._tell(200, case)

    def _cancel(self, request: Request, id: str) -> Response:
        case = self._case(request, id, "B")
        self._match(request, case)
        if case.state not in ("DA_FIRMARE", "FIRMATO"):
            raise Ko(409, "ADD4090")
        case.become("ANNULLATO", self.clock.now)
        return self._tell(200, case)

    def _show(self, key: str, step: str, hint: str = "", status: int = 200) -> Response:
        case = next((one for one in self._cases.values() if one.key == key), None)
        if not case:
            return show(404, "Sportello Adda", "<p>Pagina sconosciuta.</p>")
        if case.state != "DA_FIRMARE":
            return show(410, "Sportello Adda", "<p>Questa pratica è chiusa.</p>")
        if step and not case.customer:
            return self._go(case, "")
        if not step:
            title = "Accesso"
            fields = '<input name="codiceCliente"><input name="pin" type="password">'
        elif step == "conti":
            title, accounts = "Scelta dei conti", case.customer.accounts if case.customer else []
            fields = "".join(
                f'<label><input type="checkbox" name="conto" value="{one.id}">{one.name}</label>' for one in accounts
            )
        else:
            title, fields = "Firma", '<input name="codiceSms">'
        if case.payer:
            asked = f"Bonifico di {case.document['importo']} euro a {case.document['beneficiario']['nome']}"
        else:
            asked = f"{case.app} chiede {', '.join(case.document['servizi'])} fino al {case.document['ultimoGiorno']}"
        form = f'<form method="post">{fields}<button>Avanti</button></form>'
        no = f'<form method="post" action="/sportello/{key}/rifiuto"><button>Rifiuta</button></form>'
        return show(status, f"Sportello Adda - {title}", f"<p>{hint}</p><p>{asked}</p>{form}{no}")

    def _go(self, case: Case, step: str) -> Response:
        return Response(303, "", {"Location": f"/sportello/{case.key}{'/' if step else ''}{step}"})

    def _leave(self, case: Case, outcome: str) -> Response:
        return Response(303, "", {"Location": f"{case.back}?pratica={case.id}&esito={outcome}"})

    def _at(self, key: str, step: str) -> Case | Response:
        page = self._show(key, step)
        return next(one for one in self._cases.values() if one.key == key) if page.status == 200 else page

    def _sign_in(self, request: Request, key: str) -> Response:
        if isinstance(case := self._at(key, ""), Response):
            return case
        given = request.field("codiceCliente"), request.field("pin")
        customer = next((one for one in self._customers if (one.code, one.pin) == given), None)
        if not customer:
            return self._show(key, "", "Codice cliente o PIN errati.", 401)
        if case.payer and case.payer not in customer.accounts:
            return self._show(key, "", "Il conto non è suo.", 403)
        case.customer = customer
        return self._go(case, "firma" if case.payer else "conti")

    def _choose(self, request: Request, key: str) -> Response:
        if isinstance(case := self._at(key, "conti"), Response):
            return case
        ticked = request.form.get("conto", [])
        case.chosen = [one for one in case.customer.accounts if one.id in ticked] if case.customer else []
        if not case.chosen:
            return self._show(key, "conti", "Scelga almeno un conto.", 400)
        return self._go(case, "firma")

    def _sign(self, request: Request, key: str) -> Response:
        if isinstance(case := self._at(key, "firma"), Response):
            return case
        if not case.payer and not case.chosen:
            return self._go(case, "conti")
        if request.field("codiceSms") != CODE:
            return self._show(key, "firma", "Codice SMS errato.", 401)
        state = "ATTIVO" if not case.payer else "IN_VERIFICA" if case.document["tipo"] == "ISTANTANEO" else "FIRMATO"
        case.become(state, self.clock.now)
        return self._leave(case, "firmato")

    def _decline(self, request: Request, key: str) -> Response:
        if isinstance(case := self._at(key, ""), Response):
            return case
        case.become("RIFIUTATO", self.clock.now)
        return self._leave(case, "rifiutato")
