"""Minho, a Portuguese bank with an interface of its own, where customers answer in the bank's app on their phone.

- POST `/aberta/sessoes` with the app's name and secret gives a ticket for 20 minutes, `Authorization: Bilhete …`, and a
  renewal for a day. PUT with the renewal gives both anew; a renewal works once, and ends the ticket before.
- Answers are bare objects. Errors are `{"ocorrencias": [{"ref", "texto", "onde"?}], "rasto"}`, one for each wrong
  member, and `rasto` is the header Minho-Rasto. Another app's resources give 404.
- Days are dd-mm-yyyy, times have the offset of Lisbon, and Lisbon's midnight begins a day. Amounts are
  `{"montante": "1234,56", "divisa": "EUR"}`: text with a comma and two decimals, without a sign.
- POST `/aberta/mandatos` names the customer (`adesao`), `ambito` (balances or not, movements for how many days) and the
  last day. `situacao` is POR_CONFIRMAR, then ATIVO, RECUSADO or SEM_RESPOSTA; CADUCADO after the last day; REVOGADO by
  PATCH of `situacao`.
- The customer has five minutes for a `confirmacao`, and types its `numeroDeControlo`, which the app shows, and a PIN on
  the phone. `simulador` stands in for that: it answers a mistake with 200 and the form again, the third with 403, a
  decision with 200, and 410 afterwards.
- The app asks `/aberta/confirmacoes/{id}` for the `resposta`: 202 and AGUARDA, then 200 and CONFIRMADA, RECUSADA,
  EXPIRADA or SEM_EFEITO. While it waits, a question within five seconds of the last one gives 429.
- A confirmed mandate's `chave` is told there alone. Reads send it as Minho-Chave, and not the mandate.
- Movements are newest first, in numbered pages (`pagina`, `porPagina`), by `desde`, `ate` and `sentido` (C or D). A
  page after the last gives 404, and `seguinte` is 0 on the last. Further back than the mandate goes gives 403.
- POST `/aberta/transferencias` has the app's own `referenciaApp`: again with the same body it gives 200 and
  `repetida`, with another body 409. A transfer may be at most 5000,00.
- A transfer's `estado.fase` is POR_CONFIRMAR; RECUSADA or SEM_RESPOSTA; CONFIRMADA, EM_COMPENSACAO after 30 seconds,
  EXECUTADA after three minutes; REJEITADA, with a `motivo`, if the account does not cover it when the customer
  confirms. PUT `…/anulacao` makes it ANULADA until it is in clearing.
- A confirmed transfer is held (`cativo`), an executed one is a movement with the balance after it.
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond, show

APPS = {"contas-claras": "girassol-77", "mealheiro": "andorinha-12"}
LISBON = ZoneInfo("Europe/Lisbon")
JSON = "application/json; charset=UTF-8"
DAY, LIMIT, INTERVAL, MOST = timedelta(days=1), timedelta(minutes=5), timedelta(seconds=5), 500_000
SHOPS = "PINGO DOCE BRAGA|FARMACIA SA|CP COMBOIOS|GALP BARCELOS|LIVRARIA MINHO|NOS COMUNICACOES|PADARIA LIMA".split("|")


@dataclass
class Account:
    number: int
    iban: str
    title: str
    cents: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    adhesion: str
    pin: str
    name: str
    accounts: Sequence[Account]


@dataclass
class Thing:
    """A mandate or a transfer, with the confirmation that it needs."""

    app: str
    id: str
    document: dict[str, Any]
    customer: Customer
    confirmation: str
    code: str
    number: str
    since: datetime
    limit: datetime
    state: str = "POR_CONFIRMAR"
    reply: str = "AGUARDA"
    tries: int = 3
    polled: datetime | None = None
    replied: datetime | None = None
    key: str = ""
    last_day: date = date.max
    payer: Account | None = None
    cents: int = 0
    asked: dict[str, Any] | None = None

    def settle(self, reply: str, state: str, time: datetime) -> None:
        """End the wait for the customer."""
        self.reply, self.replied, self.state, self.since = reply, time, state, time


class Refusal(Exception):
    def __init__(self, status: int, *occurrences: tuple[str, str, str], headers: dict[str, str] | None = None) -> None:
        super().__init__()
        self.status, self.headers, self.occurrences = status, headers or {}, []
        for ref, text, place in occurrences:
            self.occurrences.append({"ref": ref, "texto": text} | ({"onde": place} if place else {}))


def make_iban(bank: str, account: str) -> str:
    digits = f"{bank}0140{account}"
    return f"PT50{digits}{98 - int(digits + '00') % 97:02}"


def is_iban(text: Any) -> bool:
    has_form = isinstance(text, str) and re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text)
    return bool(has_form) and int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1


def write_amount(cents: int) -> str:
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100},{abs(cents) % 100:02}"


def write_sum(cents: int) -> dict[str, str]:
    return {"montante": write_amount(cents), "divisa": "EUR"}


def read_amount(text: Any) -> int | None:
    found = re.fullmatch(r"(0|[1-9]\d{0,8}),(\d\d)", text) if isinstance(text, str) else None
    return int(found[1] + found[2]) if found else None


def write_day(day: date) -> str:
    return day.strftime("%d-%m-%Y")


def read_day(text: Any) -> date | None:
    found = re.fullmatch(r"(\d\d)-(\d\d)-(\d{4})", text) if isinstance(text, str) else None
    try:
        return date.fromisoformat(f"{found[3]}-{found[2]}-{found[1]}") if found else None
    except ValueError:
        return None


def write_time(time: datetime) -> str:
    return time.astimezone(LISBON).isoformat(timespec="seconds")


class Minho:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"minho {seed}")
        self._tickets: dict[str, tuple[str, datetime]] = {}
        self._renewals: dict[str, tuple[str, datetime, str]] = {}
        self._things: list[Thing] = []
        self._next_entry = self._random.randrange(70_000_000, 90_000_000)
        self._customers = [
            self._join("3184072", "4826", "Helena Faria", {"Conta à ordem": 412_836, "Poupança": 870_000}),
            self._join("5570913", "7391", "Duarte Sá", {"Ordenado": 198_305, "Casa": 654_217, "Poupança": 93_000}),
            self._join("8026645", "1058", "Inês Loureiro", {"Conta à ordem": 27_590}),
        ]
        mandate, account, transfer = "/aberta/mandatos/{id}", "/aberta/contas/{id}", "/aberta/transferencias/{id}"
        self._routes = Routes(
            ("POST", "/aberta/sessoes", self._open_session),
            ("PUT", "/aberta/sessoes", self._renew_session),
            ("POST", "/aberta/mandatos", self._ask_mandate),
            ("GET", mandate, lambda request, id: self._tell(request, 200, self._own(request, id))),
            ("PATCH", mandate, self._revoke),
            ("GET", "/aberta/confirmacoes/{id}", self._poll),
            ("GET", "/aberta/contas", self._list_accounts),
            ("GET", account + "/saldo", self._balance),
            ("GET", account + "/movimentos", self._list_entries),
            ("POST", "/aberta/transferencias", self._order),
            ("GET", transfer, lambda request, id: self._tell(request, 200, self._own(request, id))),
            ("PUT", transfer + "/anulacao", self._annul),
            ("GET", "/telemovel/{code}", self._phone),
            ("POST", "/telemovel/{code}", self._decide),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        trace = self._word(16, "0123456789ABCDEF")
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            response = handler(request, **parameters)
            return Response(response.status, response.content, {**response.headers, "Minho-Rasto": trace})
        except NoRoute as wrong:
            refusal = Refusal(404, ("PED-03", "Endereço desconhecido.", ""))
            if wrong.allowed:
                allow = {"Allow": ", ".join(wrong.allowed)}
                refusal = Refusal(405, ("PED-02", "Método não permitido neste endereço.", ""), headers=allow)
        except Refusal as error:
            refusal = error
        document = {"ocorrencias": refusal.occurrences, "rasto": trace}
        return respond(refusal.status, document, {**refusal.headers, "Minho-Rasto": trace}, media=JSON)

    @property
    def _today(self) -> date:
        return self.clock.now.astimezone(LISBON).date()

    def _word(self, length: int, signs: str = "abcdefghijkmnpqrstuvwxyz23456789") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _join(self, adhesion: str, pin: str, name: str, accounts: Mapping[str, int]) -> Customer:
        return Customer(adhesion, pin, name, [self._open(title, cents) for title, cents in accounts.items()])

    def _open(self, title: str, cents: int) -> Account:
        iban = make_iban("0891", self._word(11, "0123456789"))
        account = Account(self._random.randrange(40_000_000, 50_000_000), iban, title, cents)
        changes = [self._random.choice((-1, -1, -1, 1)) * self._random.randrange(120, 9_000) for _ in range(24)]
        account.cents -= sum(changes)
        for place, change in enumerate(changes):
            day = self._today - timedelta(days=3 * (23 - place) + self._random.randint(1, 3))
            shop = f"COMPRA {self._word(4, '0123456789')} {self._random.choice(SHOPS)}"
            self._enter(account, day, change, shop if change < 0 else "DEP NUMERARIO")
        return account

    def _enter(self, account: Account, day: date, change: int, text: str, **more: Any) -> None:
        account.cents += change
        self._next_entry += self._random.randint(1, 40)
        entry = {"movimento": self._next_entry, "dataMovimento": write_day(day), "dataValor": write_day(day)}
        entry |= {"sentido": "D" if change < 0 else "C", "quantia": write_sum(abs(change)), "descritivo": text}
        account.entries.insert(0, entry | {"saldoApos": write_amount(account.cents)} | more)

    def _advance(self) -> None:
        now, clearing = self.clock.now, timedelta(seconds=30)
        for thing in self._things:
            if thing.reply == "AGUARDA" and thing.limit <= now:
                thing.settle("EXPIRADA", "SEM_RESPOSTA", thing.limit)
            if thing.state == "ATIVO" and thing.last_day < self._today:
                thing.state, thing.since = "CADUCADO", now
            if thing.state == "CONFIRMADA" and now - thing.since >= clearing:
                thing.state, thing.since = "EM_COMPENSACAO", thing.since + clearing
            if thing.state == "EM_COMPENSACAO" and now - thing.since >= 5 * clearing and thing.payer:
                thing.state, thing.since = "EXECUTADA", thing.since + 5 * clearing
                payee, day = thing.document["beneficiario"], thing.since.astimezone(LISBON).date()
                more = {"contraparte": payee, "nota": thing.document["descritivo"], "origem": thing.id}
                self._enter(thing.payer, day, -thing.cents, f"TRF P/ {payee['nome'].upper()}", **more)

    def _document(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Refusal(400, ("PED-01", "O corpo do pedido não é um objeto JSON.", "")) from None

    def _start_session(self, app: str, status: int) -> Response:
        ticket, renewal = f"mb1.{self._word(8)}.{self._word(24)}", f"rn1.{self._word(32)}"
        ends = self.clock.now + timedelta(minutes=20)
        self._tickets[ticket] = app, ends
        self._renewals[renewal] = app, self.clock.now + DAY, ticket
        document = {"bilhete": ticket, "caduca": write_time(ends), "renovacao": renewal}
        return respond(status, document, {"Cache-Control": "no-store"}, media=JSON)

    def _open_session(self, request: Request) -> Response:
        document = self._document(request)
        app = str(document.get("aplicacao"))
        if app not in APPS or APPS[app] != document.get("segredo"):
            raise Refusal(401, ("SES-01", "Aplicação ou segredo desconhecidos.", ""))
        return self._start_session(app, 201)

    def _renew_session(self, request: Request) -> Response:
        renewal = str(self._document(request).get("renovacao"))
        app, ends, ticket = self._renewals.pop(renewal, ("", self.clock.now, ""))
        if ends <= self.clock.now:
            raise Refusal(401, ("SES-03", "Renovação desconhecida, usada ou caducada.", "renovacao"))
        del self._tickets[ticket]
        return self._start_session(app, 200)

    def _app(self, request: Request) -> str:
        scheme, _, ticket = request.headers.get("authorization", "").partition(" ")
        app, ends = self._tickets.get(ticket, ("", self.clock.now))
        if scheme != "Bilhete" or ends <= self.clock.now:
            challenge = {"WWW-Authenticate": 'Bilhete reino="aberta"'}
            raise Refusal(401, ("SES-02", "Bilhete em falta, desconhecido ou caducado.", ""), headers=challenge)
        return app

    def _add(self, app: str, id: str, document: dict[str, Any], customer: Customer) -> Thing:
        confirmation, code = f"cf{self._word(18, '0123456789abcdef')}", self._word(12)
        number, now = f"{self._random.randint(1, 99):02}", self.clock.now
        self._things.append(Thing(app, id, document, customer, confirmation, code, number, now, now + LIMIT))
        return self._things[-1]

    def _own(self, request: Request, id: str) -> Thing:
        app = self._app(request)
        for thing in self._things:
            if (thing.id, thing.app) == (id, app) and bool(thing.payer) == ("/transferencias/" in request.path):
                return thing
        raise Refusal(404, ("PED-03", f"{id} não existe.", ""))

    def _tell(self, request: Request, status: int, thing: Thing) -> Response:
        since = write_time(thing.since)
        if thing.payer:
            state = {"fase": thing.state, "desde": since}
            if thing.state == "REJEITADA":
                state["motivo"] = "SALDO_INSUFICIENTE"
            document = {"transferencia": thing.id, **thing.document, "estado": state}
            if request.method == "POST" and status == 200:
                document["repetida"] = True
        else:
            ended = {} if thing.state in ("POR_CONFIRMAR", "ATIVO") else {"terminadoEm": since}
            document = {"mandato": thing.id, "situacao": thing.state, **thing.document, **ended}
        if thing.reply == "AGUARDA":
            shown = {"id": thing.confirmation, "numeroDeControlo": thing.number, "consultarCada": INTERVAL.seconds}
            phone = f"{request.origin}/telemovel/{thing.code}"
            document["confirmacao"] = shown | {"limite": write_time(thing.limit), "simulador": phone}
        return respond(status, document, media=JSON)

    def _ask_mandate(self, request: Request) -> Response:
        app, document = self._app(request), self._document(request)
        scope, last_day = document.get("ambito"), read_day(document.get("validoAte"))
        customer = next((one for one in self._customers if one.adhesion == document.get("adesao")), None)
        balances, depth = (scope.get("saldos"), scope.get("movimentos")) if isinstance(scope, dict) else (None, None)
        is_near = last_day and 1 <= (last_day - self._today).days <= 180
        checks = [
            (customer, "VAL-01", "Adesão desconhecida.", "adesao"),
            (isinstance(balances, bool), "VAL-01", "Indique true ou false.", "ambito.saldos"),
            (isinstance(depth, int) and 0 <= depth <= 365, "VAL-01", "Indique de 0 a 365 dias.", "ambito.movimentos"),
            (is_near, "VAL-01", "Indique um dia (dd-mm-aaaa) nos próximos 180.", "validoAte"),
        ]
        if not all(check[0] for check in checks) or not customer or not last_day:
            raise Refusal(400, *(check[1:] for check in checks if not check[0]))
        id = f"MD-{self._word(4).upper()}-{self._word(4).upper()}"
        told = {"ambito": {"saldos": balances, "movimentos": depth}, "validoAte": write_day(last_day)}
        mandate = self._add(app, id, told | {"pedidoEm": write_time(self.clock.now)}, customer)
        mandate.last_day, mandate.key = last_day, f"ch_{self._word(28)}"
        return self._tell(request, 201, mandate)

    def _revoke(self, request: Request, id: str) -> Response:
        mandate = self._own(request, id)
        if self._document(request) != {"situacao": "REVOGADO"}:
            raise Refusal(400, ("VAL-01", "Só é possível mudar para REVOGADO.", "situacao"))
        return self._end(request, mandate, "ATIVO", "REVOGADO", "MND-02", "O mandato já está")

    def _end(self, request: Request, thing: Thing, before: str, after: str, ref: str, text: str) -> Response:
        if thing.state == "POR_CONFIRMAR":
            thing.settle("SEM_EFEITO", after, self.clock.now)
        elif thing.state == before:
            thing.state, thing.since = after, self.clock.now
        else:
            raise Refusal(409, (ref, f"{text} {thing.state}.", ""))
        return self._tell(request, 200, thing)

    def _poll(self, request: Request, id: str) -> Response:
        app, now = self._app(request), self.clock.now
        thing = next((one for one in self._things if (one.confirmation, one.app) == (id, app)), None)
        if not thing:
            raise Refusal(404, ("PED-03", f"{id} não existe.", ""))
        about = {"tipo": "TRANSFERENCIA" if thing.payer else "MANDATO", "numero": thing.id}
        document = {"confirmacao": id, "objeto": about, "resposta": thing.reply}
        if not thing.replied:
            left = thing.polled + INTERVAL - now if thing.polled else timedelta()
            if left > timedelta():
                later = {"Retry-After": str(left.seconds)}
                raise Refusal(429, ("CNF-01", "Consulte só depois do intervalo indicado.", ""), headers=later)
            thing.polled = now
            return respond(202, document, {"Retry-After": str(INTERVAL.seconds)}, media=JSON)
        document["respondidaEm"] = write_time(thing.replied)
        if thing.key and thing.reply == "CONFIRMADA":
            document["chave"] = thing.key
        return respond(200, document, media=JSON)

    def _read(self, request: Request) -> Thing:
        app, key = self._app(request), request.headers.get("minho-chave")
        mandate = next((one for one in self._things if key and one.key == key and one.app == app), None)
        if not mandate or mandate.reply != "CONFIRMADA":
            raise Refusal(403, ("CHV-01", "Chave em falta ou desconhecida.", "Minho-Chave"))
        if mandate.state != "ATIVO":
            raise Refusal(403, ("MND-01", f"O mandato está {mandate.state}.", "Minho-Chave"))
        return mandate

    def _list_accounts(self, request: Request) -> Response:
        customer = self._read(request).customer
        rows = [{"conta": one.number, "iban": one.iban, "designacao": one.title} for one in customer.accounts]
        return respond(200, {"titular": customer.name, "contas": rows, "total": len(rows)}, media=JSON)

    def _find(self, request: Request, id: str) -> tuple[Thing, Account]:
        mandate = self._read(request)
        if account := next((one for one in mandate.customer.accounts if str(one.number) == id), None):
            return mandate, account
        raise Refusal(404, ("PED-03", f"A conta {id} não existe neste mandato.", ""))

    def _held(self, account: Account) -> int:
        states = ("CONFIRMADA", "EM_COMPENSACAO")
        return sum(one.cents for one in self._things if one.payer is account and one.state in states)

    def _balance(self, request: Request, id: str) -> Response:
        mandate, account = self._find(request, id)
        if not mandate.document["ambito"]["saldos"]:
            raise Refusal(403, ("MND-03", "O mandato não abrange saldos.", ""))
        held = self._held(account)
        sums = {"contabilistico": account.cents, "disponivel": account.cents - held, "cativo": held}
        told = {"conta": account.number, "saldos": {name: write_sum(cents) for name, cents in sums.items()}}
        return respond(200, told | {"em": write_time(self.clock.now)}, media=JSON)

    def _list_entries(self, request: Request, id: str) -> Response:
        (mandate, account), query, today = self._find(request, id), request.query, self._today
        depth = mandate.document["ambito"]["movimentos"]
        first = today - depth * DAY
        since, until = read_day(query.get("desde", write_day(first))), read_day(query.get("ate", write_day(today)))
        page, size = query.get("pagina", "1"), query.get("porPagina", "10")
        checks = [
            (since and until and since <= until, "VAL-01", "Indique dias (dd-mm-aaaa) por ordem.", "desde"),
            (query.get("sentido", "C") in ("C", "D"), "VAL-01", "Indique C ou D.", "sentido"),
            (re.fullmatch(r"[1-9]\d{0,3}", page), "VAL-01", "As páginas começam em 1.", "pagina"),
            (size.isdecimal() and 1 <= int(size) <= 50, "VAL-01", "Indique de 1 a 50.", "porPagina"),
        ]
        if not all(check[0] for check in checks) or not since or not until:
            raise Refusal(400, *(check[1:] for check in checks if not check[0]))
        if not depth or since < first:
            raise Refusal(403, ("MND-03", f"O mandato abrange {depth} dias de movimentos.", "desde"))
        rows = [one for one in account.entries if one["sentido"] == query.get("sentido", one["sentido"])]
        rows = [one for one in rows if since <= (read_day(one["dataMovimento"]) or since) <= until]
        number, most, pages = int(page), int(size), max(1, -(-len(rows) // int(size)))
        if number > pages:
            raise Refusal(404, ("PAG-01", f"Só há {pages} páginas.", "pagina"))
        paging = {"pagina": number, "porPagina": most, "paginas": pages, "registos": len(rows)}
        paging["seguinte"] = number + 1 if number < pages else 0
        told = {"conta": account.number, "movimentos": rows[(number - 1) * most : number * most], "paginacao": paging}
        return respond(200, told, media=JSON)

    def _order(self, request: Request) -> Response:
        app, asked = self._app(request), self._document(request)
        parts = [asked.get(name) for name in ("ordenante", "beneficiario", "quantia")]
        debtor, payee, amount = (one if isinstance(one, dict) else {} for one in parts)
        reference, text = asked.get("referenciaApp"), asked.get("descritivo")
        for thing in self._things:
            if thing.asked and thing.app == app and thing.document["referenciaApp"] == reference:
                if thing.asked != asked:
                    raise Refusal(409, ("TRF-01", "A referência pertence a outra transferência.", "referenciaApp"))
                return self._tell(request, 200, thing)
        owned = [(who, one) for who in self._customers for one in who.accounts]
        owner, payer = next((pair for pair in owned if pair[1].iban == debtor.get("iban")), (None, None))
        cents = read_amount(amount.get("montante"))
        is_name = isinstance(payee.get("nome"), str) and 1 <= len(payee["nome"]) <= 70
        checks = [
            (re.fullmatch(r"[\w-]{6,35}", str(reference)), "VAL-01", "Indique 6 a 35 sinais.", "referenciaApp"),
            (payer, "IBN-01", "Não é uma conta deste banco.", "ordenante.iban"),
            (is_iban(payee.get("iban")), "IBN-01", "O IBAN não é válido.", "beneficiario.iban"),
            (is_name, "VAL-01", "Indique 1 a 70 carateres.", "beneficiario.nome"),
            (cents, "QTD-01", "Indique um montante positivo como 1234,56.", "quantia.montante"),
            (amount.get("divisa") == "EUR", "QTD-01", "Só há transferências em EUR.", "quantia.divisa"),
            (isinstance(text, str) and len(text) <= 140, "VAL-01", "Indique até 140 carateres.", "descritivo"),
        ]
        if not all(check[0] for check in checks) or not owner or not payer or not cents:
            raise Refusal(400, *(check[1:] for check in checks if not check[0]))
        if cents > MOST:
            raise Refusal(422, ("TRF-03", "O limite por transferência é 5000,00.", "quantia.montante"))
        parties = {"ordenante": {"iban": payer.iban, "nome": owner.name}, "beneficiario": payee}
        document = {"referenciaApp": reference, **parties, "quantia": write_sum(cents), "descritivo": text}
        id = f"TRF{self._today:%y%m%d}-{self._word(5, '0123456789')}"
        transfer = self._add(app, id, document, owner)
        transfer.asked, transfer.payer, transfer.cents = asked, payer, cents
        return self._tell(request, 201, transfer)

    def _annul(self, request: Request, id: str) -> Response:
        return self._end(request, self._own(request, id), "CONFIRMADA", "ANULADA", "TRF-02", "A transferência está")

    def _phone(self, request: Request, code: str, hint: str = "") -> Response:
        thing = next((one for one in self._things if one.code == code), None)
        if not thing:
            return show(404, "App Minho", "<p>Não conhecemos este pedido.</p>")
        if thing.replied:
            return show(410, "App Minho", "<p>Este pedido já foi respondido.</p>")
        if thing.payer:
            asked = f"Transferir {write_amount(thing.cents)} € para {thing.document['beneficiario']['nome']}?"
        else:
            asked = f"Autoriza {thing.app} a ver as suas contas até {thing.document['validoAte']}?"
        fields = 'Número <input name="numero"> PIN <input name="pin" type="password">'
        fields += "".join(f'<button name="decisao" value="{word}">{word}</button>' for word in ("confirmar", "recusar"))
        return show(200, "App Minho", f'<p>{hint}</p><p>{asked}</p><form method="post">{fields}</form>')

    def _decide(self, request: Request, code: str) -> Response:
        thing, decision = next((one for one in self._things if one.code == code), None), request.field("decisao")
        if not thing or thing.replied or decision not in ("confirmar", "recusar"):
            return self._phone(request, code, "Escolha confirmar ou recusar.")
        now, refused = self.clock.now, "RECUSADA" if thing.payer else "RECUSADO"
        is_pin = request.field("pin") == thing.customer.pin
        if not is_pin or (decision == "confirmar" and request.field("numero") != thing.number):
            thing.tries -= 1
            if not thing.tries:
                thing.settle("RECUSADA", refused, now)
                return show(403, "App Minho", "<p>Demasiadas tentativas. O pedido foi recusado.</p>")
            mistake = "O número não corresponde." if is_pin else "PIN errado."
            return self._phone(request, code, f"{mistake} Tentativas restantes: {thing.tries}.")
        if decision == "recusar":
            thing.settle("RECUSADA", refused, now)
            return show(200, "App Minho", "<p>Pedido recusado.</p>")
        is_covered = thing.payer and thing.cents <= thing.payer.cents - self._held(thing.payer)
        thing.settle("CONFIRMADA", "CONFIRMADA" if is_covered else "REJEITADA" if thing.payer else "ATIVO", now)
        return show(200, "App Minho", "<p>Pedido confirmado. Pode voltar à aplicação.</p>")
