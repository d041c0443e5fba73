"""Jacarandá, a bank with envelopes, amounts in centavos and a code that an app exchanges for a ticket.

- `/acesso/ficha` takes a form and issues tickets: for an app (`tipo=app`), for the code that the customer's browser
  brings back (`tipo=codigo`), or for the last renewal (`tipo=renovar`). Each ends after 15 minutes. Its errors are
  `{"falha": …}`.
- All else is below `/jc/v1`, needs `X-Fluxo`, which the answer repeats, and `Authorization: Ficha …`. Documents are
  `{"dados": …}`, lists also have `meta`. Errors are `{"falhas": [{"motivo", "campo"}], "protocolo": …}`.
- A permission: AGUARDANDO, then CONCEDIDA, RECUSADA or, after three wrong passwords, BLOQUEADA. Its app can
  take it back (REVOGADA). It ends at the time that the app wrote (VENCIDA).
- The customer's page has a hidden seal and takes CPF, password and decision. It leads back to the app with
  `codigo` or `erro`, and with the app's own `estado`.
- A transfer needs `X-Chave`: the same again gives the first answer with 200, another body 409. RECEBIDA, after 30
  seconds PROCESSANDO, after two minutes LIQUIDADA. Until it is processed it can be cancelled: CANCELADA. The amount is
  blocked at once and booked when it is settled.
- At most R$ 5000 in a transfer, and R$ 8000 in a day.
- A standing order (`programadas`) pays weekly or monthly: ATIVA, PAUSADA, ENCERRADA, and after the last time ESGOTADA.
- Entries come in pages with a number and a size (`pagina`, `tamanho`, 20 at most), the newest first.
"""

import random
import re
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

APPS = {"carteira": "ipe-amarelo", "cofrinho": "aroeira"}
SCOPES = {"SALDO", "EXTRATO", "PAGAR"}
PERIODS = {"SEMANAL": 7, "MENSAL": 30}
SHOPS = "Padaria Estrela|Posto Serra|Farmácia Lua|Mercado Novo|Livraria Sá|Metrô".split("|")
TEXTS = {
    "FLUXO_AUSENTE": "Informe o fluxo",
    "FICHA_INVALIDA": "Ficha desconhecida",
    "FICHA_VENCIDA": "Renove a ficha",
    "FICHA_ERRADA": "A ficha não serve para isto",
    "CORPO_INVALIDO": "Não foi possível ler o corpo",
    "CAMPO_INVALIDO": "Corrija o campo",
    "PRAZO_LONGO": "No máximo 180 dias",
    "PERMISSAO_INATIVA": "A permissão não está ativa",
    "PERMISSAO_DESCONHECIDA": "Permissão não encontrada",
    "ESCOPO": "Fora do escopo",
    "CONTA_DESCONHECIDA": "Conta não encontrada",
    "CHAVE_AUSENTE": "Informe a chave",
    "CHAVE_REPETIDA": "A chave já foi usada",
    "LIMITE": "Acima do limite",
    "LIMITE_DIARIO": "Acima do limite do dia",
    "SEM_SALDO": "Saldo insuficiente",
    "TRANSFERENCIA_DESCONHECIDA": "Transferência não encontrada",
    "PROGRAMADA_DESCONHECIDA": "Programação não encontrada",
    "TARDE_DEMAIS": "Já não pode ser cancelada",
    "SITUACAO": "A situação não permite",
    "ROTA": "Caminho desconhecido",
    "METODO": "Método não permitido",
}


@dataclass
class Account:
    id: str
    branch: str
    number: str
    kind: str
    centavos: int
    entries: list[dict[str, Any]] = field(default_factory=list)

    @property
    def document(self) -> dict[str, Any]:
        return {"conta": self.id, "agencia": self.branch, "numero": self.number, "tipo": self.kind, "moeda": "BRL"}


@dataclass
class Customer:
    name: str
    password: str
    accounts: list[Account]


@dataclass
class Permission:
    id: str
    app: str
    cpf: str
    scopes: list[str]
    created: datetime
    ends: datetime
    seal: str
    state: str = "AGUARDANDO"
    wrong: int = 0


@dataclass
class Ticket:
    app: str
    ends: datetime
    permission: Permission | None = None


@dataclass
class Transfer:
    id: str
    document: dict[str, Any]
    account: Account
    created: datetime
    cancelled: bool = False
    booked: bool = False


@dataclass
class Order:
    id: str
    document: dict[str, Any]
    account: Account
    next: date
    left: int
    state: str = "ATIVA"


class Jacaranda:
    def __init__(self, seed: int, clock: Clock) -> None:
        self.clock = clock
        self._random = random.Random(seed)
        self._permissions: dict[str, Permission] = {}
        self._codes: dict[str, Permission] = {}
        self._tickets: dict[str, Ticket] = {}
        self._renewals: dict[str, Permission] = {}
        self._transfers: dict[str, Transfer] = {}
        self._keys: dict[tuple[str, str], tuple[bytes, str]] = {}
        self._orders: dict[str, Order] = {}
        self._customers = {
            "418.220.317-05": Customer("Iracema Duarte", "mandacaru", self._open("0412", "CORRENTE", "POUPANCA")),
            "902.114.556-31": Customer("Otávio Pires", "jabuticaba", self._open("0077", "CORRENTE", "SALARIO")),
            "733.905.128-44": Customer("Luzia Prado", "umbuzeiro", self._open("0230", "CORRENTE")),
        }
        self._free = Routes(
            ("POST", "/acesso/ficha", self._issue),
            ("GET", "/entrada/{id}", self._page),
            ("POST", "/entrada/{id}", self._enter),
        )
        self._routes = Routes(
            ("POST", "/jc/v1/permissoes", self._ask),
            ("GET", "/jc/v1/permissoes/{id}", self._look),
            ("DELETE", "/jc/v1/permissoes/{id}", self._revoke),
            ("GET", "/jc/v1/contas", self._list_accounts),
            ("GET", "/jc/v1/contas/{id}", self._show_account),
            ("GET", "/jc/v1/contas/{id}/saldos", self._show_balance),
            ("GET", "/jc/v1/contas/{id}/lancamentos", self._list_entries),
            ("POST", "/jc/v1/transferencias", self._transfer),
            ("GET", "/jc/v1/transferencias/{id}", self._show_transfer),
            ("POST", "/jc/v1/transferencias/{id}/cancelamento", self._cancel),
            ("POST", "/jc/v1/programadas", self._program),
            ("GET", "/jc/v1/programadas", self._list_orders),
            ("GET", "/jc/v1/programadas/{id}", self._show_order),
            ("PATCH", "/jc/v1/programadas/{id}", self._change_order),
            ("DELETE", "/jc/v1/programadas/{id}", self._end_order),
        )

    def _make(self, prefix: str, length: int, letters: str = "0123456789abcdef") -> str:
        return prefix + "".join(self._random.choices(letters, k=length))

    def _open(self, branch: str, *kinds: str) -> list[Account]:
        accounts: list[Account] = []
        for kind in kinds:
            centavos = 300_000 if accounts else 1_000_000
            number = f"{self._random.randrange(10_000, 99_999)}-{self._random.randrange(10)}"
            account = Account(self._make("c-", 5, "0123456789"), branch, number, kind, 0)
            day = self.clock.today - timedelta(days=60)
            self._book(account, centavos + self._random.randrange(99_999), "Depósito", day, "CREDITO")
            for _ in range(13):
                day += timedelta(days=self._random.randrange(1, 5))
                shop = self._random.choice(SHOPS)
                self._book(account, -self._random.randrange(500, 20_000), shop, day, "CARTAO")
            accounts.append(account)
        return accounts

    def _book(self, account: Account, centavos: int, text: str, day: date, kind: str) -> None:
        account.centavos += centavos
        entry = {
            "lancamento": self._make("l-", 8),
            "data": day.isoformat(),
            "centavos": centavos,
            "descricao": text,
            "tipo": kind,
        }
        account.entries.insert(0, entry)

    def answer(self, request: Request) -> Response:
        flow = request.headers.get("x-fluxo", "")
        try:
            return self._answer(request, flow)
        except Fault as fault:
            problem = {"motivo": fault.word, "texto": TEXTS[fault.word], **fault.more}
            if fault.place:
                problem["campo"] = fault.place
            document = {"falhas": [problem], "protocolo": self._make("", 10, "0123456789")}
            return respond(fault.status, document, {"X-Fluxo": flow} if flow else {})

    def _answer(self, request: Request, flow: str) -> Response:
        self._pass_time()
        try:
            handle, parameters = self._free.find(request.method, request.path)
        except NoRoute:
            pass
        else:
            return handle(request, **parameters)
        try:
            handle, parameters = self._routes.find(request.method, request.path)
        except NoRoute as missing:
            raise (Fault(405, "METODO") if missing.allowed else Fault(404, "ROTA")) from None
        if not flow:
            raise Fault(400, "FLUXO_AUSENTE", "X-Fluxo")
        response = handle(request, self._check_ticket(request), **parameters)
        return Response(response.status, response.content, {**response.headers, "X-Fluxo": flow})

    def _pass_time(self) -> None:
        now, today = self.clock.now, self.clock.today
        for permission in self._permissions.values():
            if permission.state in ("AGUARDANDO", "CONCEDIDA") and now >= permission.ends:
                permission.state = "VENCIDA"
        for transfer in self._transfers.values():
            if self._state(transfer) == "LIQUIDADA" and not transfer.booked:
                transfer.booked = True
                day = (transfer.created + timedelta(minutes=2)).date()
                sent = transfer.document
                self._book(transfer.account, -sent["centavos"], sent["favorecido"]["nome"], day, "TRANSFERENCIA")
        for order in self._orders.values():
            while order.left and order.next <= today:
                if order.state == "ATIVA":
                    sent = order.document
                    self._book(order.account, -sent["centavos"], sent["favorecido"]["nome"], order.next, "PROGRAMADA")
                    order.left -= 1
                elif order.state != "PAUSADA":
                    break
                order.next += timedelta(days=PERIODS[order.document["periodo"]])
            if order.state == "ATIVA" and not order.left:
                order.state = "ESGOTADA"

    # Tickets and the customer's page

    def _issue(self, request: Request) -> Response:
        kind, app = request.field("tipo"), request.field("app")
        if APPS.get(app) != request.field("segredo"):
            return respond(401, {"falha": "app_desconhecido"})
        if kind == "app":
            permission = None
        elif kind == "codigo":
            permission = self._codes.pop(request.field("codigo"), None)
        elif kind == "renovar":
            permission = self._renewals.pop(request.field("renovar"), None)
        else:
            return respond(400, {"falha": "tipo_desconhecido"})
        if kind != "app" and (permission is None or permission.app != app):
            return respond(400, {"falha": "codigo_invalido" if kind == "codigo" else "renovacao_invalida"})
        ticket = self._make("", 32, "abcdefghkmnpqrstuvwxyz23456789")
        self._tickets[ticket] = Ticket(app, self.clock.now + timedelta(minutes=15), permission)
        document: dict[str, Any] = {"ficha": ticket, "vale": 900, "uso": "cliente" if permission else "app"}
        if permission:
            renewal = self._make("r.", 24)
            self._renewals[renewal] = permission
            document |= {"renovar": renewal, "permissao": permission.id}
        return respond(200, document, {"Cache-Control": "no-store"})

    def _page(self, request: Request, id: str) -> Response:
        permission = self._permissions.get(id)
        if permission is None:
            return show(404, "Jacarandá", "<p>Pedido desconhecido</p>")
        if permission.state != "AGUARDANDO":
            return show(410, "Jacarandá", "<p>Este pedido já terminou</p>")
        content = (
            f"<p>{permission.app} pede acesso</p>"
            f'<form method="post"><input type="hidden" name="selo" value="{permission.seal}">'
            '<input name="cpf"><input name="senha" type="password">'
            '<button name="decisao" value="sim">Sim</button><button name="decisao" value="nao">Não</button></form>'
        )
        return show(200, "Jacarandá", content)

    def _enter(self, request: Request, id: str) -> Response:
        permission = self._permissions.get(id)
        if permission is None or permission.state != "AGUARDANDO":
            return show(410, "Jacarandá", "<p>Este pedido já terminou</p>")
        if request.field("selo") != permission.seal:
            return show(400, "Jacarandá", "<p>Abra a página de novo</p>")
        customer = self._customers.get(permission.cpf)
        if not customer or request.field("cpf") != permission.cpf or request.field("senha") != customer.password:
            permission.wrong += 1
            if permission.wrong == 3:
                permission.state = "BLOQUEADA"
                return show(423, "Jacarandá", "<p>Pedido bloqueado</p>")
            return show(403, "Jacarandá", "<p>CPF ou senha não confere</p>")
        back = dict(parse_qsl(urlencode(request.query)))
        if request.field("decisao") == "sim":
            permission.state = "CONCEDIDA"
            code = self._make("", 16, "ABCDEFGHJKLMNPQRSTUVWXYZ")
            self._codes[code] = permission
            result = {"codigo": code, "estado": back.get("estado", "")}
        else:
            permission.state = "RECUSADA"
            result = {"erro": "recusada", "estado": back.get("estado", "")}
        return Response(302, "", {"Location": f"{back.get('volta', '/')}?{urlencode(result)}"})

    def _check_ticket(self, request: Request) -> Ticket:
        match = re.fullmatch(r"Ficha (\S+)", request.headers.get("authorization", ""))
        ticket = self._tickets.get(match[1]) if match else None
        if ticket is None:
            raise Fault(401, "FICHA_INVALIDA", "Authorization")
        if self.clock.now >= ticket.ends:
            raise Fault(401, "FICHA_VENCIDA", "Authorization")
        return ticket

    # Permissions

    def _read(self, request: Request) -> dict[str, Any]:
        try:
            data = request.document.get("dados")
        except ValueError:
            data = None
        if not isinstance(data, dict):
            raise Fault(400, "CORPO_INVALIDO")
        return data

    def _ask(self, request: Request, ticket: Ticket) -> Response:
        if ticket.permission:
            raise Fault(403, "FICHA_ERRADA")
        data = self._read(request)
        cpf, scopes = data.get("cpf"), data.get("escopos")
        if not isinstance(cpf, str) or not re.fullmatch(r"\d{3}\.\d{3}\.\d{3}-\d\d", cpf):
            raise Fault(422, "CAMPO_INVALIDO", "dados.cpf")
        if not isinstance(scopes, list) or not scopes or not set(scopes) <= SCOPES:
            raise Fault(422, "CAMPO_INVALIDO", "dados.escopos")
        try:
            ends = datetime.strptime(str(data.get("expira")), "%Y-%m-%dT%H:%M:%S%z")
        except ValueError:
            raise Fault(422, "CAMPO_INVALIDO", "dados.expira") from None
        if ends > self.clock.now + timedelta(days=180):
            raise Fault(422, "PRAZO_LONGO", "dados.expira", dias=180)
        permission = Permission(
            self._make("prm-", 8), ticket.app, cpf, scopes, self.clock.now, ends, seal=self._make("", 20)
        )
        self._permissions[permission.id] = permission
        return respond(201, self._show_permission(permission))

    def _show_permission(self, permission: Permission) -> dict[str, Any]:
        data: dict[str, Any] = {
            "permissao": permission.id,
            "situacao": permission.state,
            "escopos": permission.scopes,
            "criada": permission.created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "expira": permission.ends.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        if permission.state in ("CONCEDIDA", "REVOGADA"):
            data["titular"] = self._customers[permission.cpf].name
        links = {"consulta": f"/jc/v1/permissoes/{permission.id}"}
        if permission.state == "AGUARDANDO":
            links["entrada"] = f"/entrada/{permission.id}"
        return {"dados": data, "atalhos": links}

    def _find_permission(self, id: str, ticket: Ticket) -> Permission:
        permission = self._permissions.get(id)
        if permission is None or permission.app != ticket.app:
            raise Fault(404, "PERMISSAO_DESCONHECIDA")
        return permission

    def _look(self, request: Request, ticket: Ticket, id: str) -> Response:
        return respond(200, self._show_permission(self._find_permission(id, ticket)))

    def _revoke(self, request: Request, ticket: Ticket, id: str) -> Response:
        permission = self._find_permission(id, ticket)
        if permission.state not in ("AGUARDANDO", "CONCEDIDA"):
            raise Fault(409, "SITUACAO", situacao=permission.state)
        permission.state = "REVOGADA"
        return Response(204)

    def _use(self, ticket: Ticket, scope: str = "") -> Customer:
        permission = ticket.permission
        if permission is None:
            raise Fault(403, "FICHA_ERRADA")
        if permission.state != "CONCEDIDA":
            raise Fault(403, "PERMISSAO_INATIVA", situacao=permission.state)
        if scope and scope not in permission.scopes:
            raise Fault(403, "ESCOPO", escopo=scope)
        return self._customers[permission.cpf]

    # Accounts

    def _list_accounts(self, request: Request, ticket: Ticket) -> Response:
        accounts = [account.document for account in self._use(ticket).accounts]
        return respond(200, {"dados": accounts, "meta": {"total": len(accounts), "paginas": 1}})

    def _account(self, ticket: Ticket, scope: str, id: Any) -> Account:
        for account in self._use(ticket, scope).accounts:
            if account.id == id:
                return account
        raise Fault(404, "CONTA_DESCONHECIDA")

    def _show_account(self, request: Request, ticket: Ticket, id: str) -> Response:
        return respond(200, {"dados": self._account(ticket, "", id).document})

    def _blocked(self, account: Account) -> int:
        return sum(
            transfer.document["centavos"]
            for transfer in self._transfers.values()
            if transfer.account is account and self._state(transfer) in ("RECEBIDA", "PROCESSANDO")
        )

    def _show_balance(self, request: Request, ticket: Ticket, id: str) -> Response:
        account = self._account(ticket, "SALDO", id)
        blocked = self._blocked(account)
        data = {
            "conta": account.id,
            "disponivel": account.centavos - blocked,
            "bloqueado": blocked,
            "contabil": account.centavos,
            "moeda": "BRL",
            "em": self.clock.now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        return respond(200, {"dados": data})

    def _list_entries(self, request: Request, ticket: Ticket, id: str) -> Response:
        account = self._account(ticket, "EXTRATO", id)
        numbers = {}
        for name, default in (("pagina", "1"), ("tamanho", "10")):
            text = request.query.get(name, default)
            if not re.fullmatch(r"[1-9]\d*", text) or (name == "tamanho" and int(text) > 20):
                raise Fault(400, "CAMPO_INVALIDO", name)
            numbers[name] = int(text)
        try:
            first = date.fromisoformat(request.query.get("de", "0001-01-01"))
            last = date.fromisoformat(request.query.get("ate", "9999-12-31"))
        except ValueError:
            raise Fault(400, "CAMPO_INVALIDO", "de") from None
        found = [entry for entry in account.entries if first <= date.fromisoformat(entry["data"]) <= last]
        page, size = numbers["pagina"], numbers["tamanho"]
        meta = {"total": len(found), "pagina": page, "paginas": -(-len(found) // size)}
        return respond(200, {"dados": found[(page - 1) * size : page * size], "meta": meta})

    # Transfers

    def _state(self, transfer: Transfer) -> str:
        if transfer.cancelled:
            return "CANCELADA"
        age = self.clock.now - transfer.created
        if age < timedelta(seconds=30):
            return "RECEBIDA"
        return "PROCESSANDO" if age < timedelta(minutes=2) else "LIQUIDADA"

    def _check_payment(self, data: dict[str, Any], ticket: Ticket) -> tuple[Account, dict[str, Any]]:
        self._use(ticket, "PAGAR")
        centavos, to = data.get("centavos"), data.get("favorecido")
        if not isinstance(centavos, int) or centavos <= 0:
            raise Fault(422, "CAMPO_INVALIDO", "dados.centavos")
        if not isinstance(to, dict) or not to.get("nome") or not to.get("chave"):
            raise Fault(422, "CAMPO_INVALIDO", "dados.favorecido")
        account = self._account(ticket, "PAGAR", data.get("conta"))
        return account, {
            "conta": account.id,
            "centavos": centavos,
            "favorecido": {"nome": to["nome"], "chave": to["chave"]},
        }

    def _transfer(self, request: Request, ticket: Ticket) -> Response:
        key = request.headers.get("x-chave", "")
        if not key:
            raise Fault(400, "CHAVE_AUSENTE", "X-Chave")
        if known := self._keys.get((ticket.app, key)):
            body, id = known
            if body != request.body:
                raise Fault(409, "CHAVE_REPETIDA", "X-Chave")
            return respond(200, self._show(self._transfers[id]))
        data = self._read(request)
        account, document = self._check_payment(data, ticket)
        centavos = document["centavos"]
        if centavos > 500_000:
            raise Fault(422, "LIMITE", "dados.centavos", maximo=500_000)
        sent = sum(
            other.document["centavos"]
            for other in self._transfers.values()
            if other.account is account and not other.cancelled and other.created.date() == self.clock.today
        )
        if sent + centavos > 800_000:
            raise Fault(422, "LIMITE_DIARIO", "dados.centavos", resta=800_000 - sent)
        if centavos > account.centavos - self._blocked(account):
            raise Fault(422, "SEM_SALDO", "dados.centavos")
        document["recado"] = data.get("recado")
        transfer = Transfer(self._make("t-", 10), document, account, self.clock.now)
        self._transfers[transfer.id] = transfer
        self._keys[ticket.app, key] = request.body, transfer.id
        return respond(201, self._show(transfer), {"Location": f"/jc/v1/transferencias/{transfer.id}"})

    def _show(self, transfer: Transfer) -> dict[str, Any]:
        data = {"transferencia": transfer.id, "situacao": self._state(transfer), **transfer.document}
        data["criada"] = transfer.created.strftime("%Y-%m-%dT%H:%M:%SZ")
        if transfer.booked:
            data["liquidada"] = (transfer.created + timedelta(minutes=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"dados": data}

    def _find_transfer(self, id: str, ticket: Ticket) -> Transfer:
        customer = self._use(ticket, "PAGAR")
        transfer = self._transfers.get(id)
        if transfer is None or transfer.account not in customer.accounts:
            raise Fault(404, "TRANSFERENCIA_DESCONHECIDA")
        return transfer

    def _show_transfer(self, request: Request, ticket: Ticket, id: str) -> Response:
        return respond(200, self._show(self._find_transfer(id, ticket)))

    def _cancel(self, request: Request, ticket: Ticket, id: str) -> Response:
        transfer = self._find_transfer(id, ticket)
        if self._state(transfer) != "RECEBIDA":
            raise Fault(409, "TARDE_DEMAIS", situacao=self._state(transfer))
        transfer.cancelled = True
        return respond(200, self._show(transfer))

    # Standing orders

    def _program(self, request: Request, ticket: Ticket) -> Response:
        data = self._read(request)
        account, document = self._check_payment(data, ticket)
        period, times = data.get("periodo"), data.get("vezes")
        if period not in PERIODS:
            raise Fault(422, "CAMPO_INVALIDO", "dados.periodo")
        if not isinstance(times, int) or not 1 <= times <= 12:
            raise Fault(422, "CAMPO_INVALIDO", "dados.vezes")
        try:
            first = date.fromisoformat(str(data.get("inicio")))
        except ValueError:
            first = self.clock.today
        if first <= self.clock.today:
            raise Fault(422, "CAMPO_INVALIDO", "dados.inicio")
        document |= {"periodo": period, "inicio": first.isoformat(), "vezes": times}
        order = Order(self._make("g-", 6, "0123456789"), document, account, first, times)
        self._orders[order.id] = order
        return respond(201, {"dados": self._show_programmed(order)})

    def _show_programmed(self, order: Order) -> dict[str, Any]:
        going = order.state in ("ATIVA", "PAUSADA")
        return {
            "programada": order.id,
            "situacao": order.state,
            **order.document,
            "restantes": order.left,
            "proxima": order.next.isoformat() if going else None,
        }

    def _find_order(self, id: str, ticket: Ticket) -> Order:
        customer = self._use(ticket, "PAGAR")
        order = self._orders.get(id)
        if order is None or order.account not in customer.accounts:
            raise Fault(404, "PROGRAMADA_DESCONHECIDA")
        return order

    def _list_orders(self, request: Request, ticket: Ticket) -> Response:
        accounts = self._use(ticket, "PAGAR").accounts
        found = [self._show_programmed(order) for order in self._orders.values() if order.account in accounts]
        return respond(200, {"dados": found, "meta": {"total": len(found), "paginas": 1}})

    def _show_order(self, request: Request, ticket: Ticket, id: str) -> Response:
        return respond(200, {"dados": self._show_programmed(self._find_order(id, ticket))})

    def _change_order(self, request: Request, ticket: Ticket, id: str) -> Response:
        order = self._find_order(id, ticket)
        wanted = self._read(request).get("situacao")
        if wanted not in ("ATIVA", "PAUSADA"):
            raise Fault(422, "CAMPO_INVALIDO", "dados.situacao")
        if {order.state, wanted} != {"ATIVA", "PAUSADA"}:
            raise Fault(409, "SITUACAO", situacao=order.state)
        order.state = wanted
        return respond(200, {"dados": self._show_programmed(order)})

    def _end_order(self, request: Request, ticket: Ticket, id: str) -> Response:
        order = self._find_order(id, ticket)
        if order.state not in ("ATIVA", "PAUSADA"):
            raise Fault(409, "SITUACAO", situacao=order.state)
        order.state = "ENCERRADA"
        return respond(200, {"dados": self._show_programmed(order)})
