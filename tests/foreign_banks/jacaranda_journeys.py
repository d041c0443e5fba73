"""Two journeys at Jacarandá; see `journeys`."""

import re
from datetime import date, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk


class JacarandaApp:
    def __init__(self, walk: Walk, app: str, secret: str, back: str) -> None:
        self.walk, self._app, self._secret, self._back = walk, app, secret, back
        self.own: Any = None
        self.renewals: dict[Any, Any] = {}

    def time(self, ahead: timedelta) -> str:
        return (self.walk.now + ahead).strftime("%Y-%m-%dT%H:%M:%SZ")

    def day(self, days: int = 0) -> date:
        return (self.walk.now + days * DAY).date()

    def issue(self, name: str, status: int, members: Expected, **fields: Any) -> Answer:
        form = {"app": self._app, "segredo": self._secret, **fields}
        return self.walk.step(name, "POST", "/acesso/ficha", status, members, data=form)

    def enter(self, name: str) -> None:
        self.own = self.issue(name, 200, {"ficha": str, "vale": 900, "uso": "app"}, tipo="app").find("ficha")

    def exchange(self, name: str, code: str, permission: Any) -> Any:
        members = {"ficha": str, "renovar": re.compile(r"^r\."), "uso": "cliente", "permissao": permission}
        answer = self.issue(name, 200, members, tipo="codigo", codigo=code)
        self.renewals[permission] = answer.find("renovar")
        return answer.find("ficha")

    def renew(self, name: str, permission: Any) -> Any:
        members = {"ficha": str, "vale": 900, "permissao": permission}
        answer = self.issue(name, 200, members, tipo="renovar", renovar=self.renewals[permission])
        self.renewals[permission] = answer.find("renovar")
        return answer.find("ficha")

    def call(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        members: Expected | None = None,
        *,
        ticket: Any = None,
        without: str = "",
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        flow = f"{self._app}:{len(self.walk.steps):03}"
        sent = {"X-Fluxo": flow, "Authorization": f"Ficha {ticket or self.own}", **(headers or {})}
        sent.pop(without, None)
        expected = {"@X-Fluxo": flow if without != "X-Fluxo" else None, **(members or {})}
        url = path if str(path).startswith("/") else f"/jc/v1/{path}"
        return self.walk.step(name, method, url, status, expected, headers=sent, **request)

    def refuse(
        self, name: str, method: str, path: Any, status: int, reason: str, place: str | None = None, **more: Any
    ) -> None:
        expected = {f"falhas.0.{member}": value for member, value in more.pop("told", {}).items()}
        members = {"falhas.0.motivo": reason, "falhas.0.campo": place, "protocolo": re.compile(r"^\d{10}$"), **expected}
        self.call(name, method, path, status, members, **more)

    def ask(self, name: str, cpf: str, scopes: list[str], ahead: timedelta) -> Answer:
        data = {"cpf": cpf, "escopos": scopes, "expira": self.time(ahead)}
        members = {
            "dados.permissao": re.compile(r"^prm-[0-9a-f]{8}$"),
            "dados.situacao": "AGUARDANDO",
            "dados.escopos": scopes,
            "dados.expira": data["expira"],
            "atalhos.entrada": re.compile(r"^/entrada/"),
        }
        return self.call(name, "POST", "permissoes", 201, members, json={"dados": data})

    def open(self, name: str, asked: Answer) -> str:
        page = self.walk.step(name, "GET", asked.find("atalhos.entrada"), 200, PAGE | {"page": re.compile("selo")})
        return page.fields.get("selo", [""])[0]

    def fill(self, name: str, asked: Answer, status: int, members: Expected, state: str = "", **form: str) -> Answer:
        url = f"{asked.find('atalhos.entrada')}?volta={self._back}&estado={state}"
        return self.walk.step(name, "POST", url, status, members, data={"decisao": "sim", **form})

    def agree(self, name: str, asked: Answer, state: str, **form: str) -> str:
        """Return the code."""
        members = {"@Location": re.compile(rf"^{re.escape(self._back)}\?codigo=[A-Z]{{16}}&estado={state}$")}
        told = self.fill(name, asked, 302, members, state, **form).find("@Location")
        return parse_qs(urlsplit(told or "").query).get("codigo", [""])[0]

    def send(
        self, name: str, path: str, status: int, data: Any, members: Expected, key: str = "", **more: Any
    ) -> Answer:
        headers = {"X-Chave": key} if key else None
        return self.call(name, "POST", path, status, members, headers=headers, json={"dados": data}, **more)


def number(answer: Answer, place: str) -> int:
    value = answer.find(place)
    return value if isinstance(value, int) else 0


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = JacarandaApp(walk, "carteira", "ipe-amarelo", "https://carteira.example/volta")
    iracema = {"cpf": "418.220.317-05", "senha": "mandacaru"}
    app.issue("ticket with a wrong secret", 401, {"falha": "app_desconhecido"}, tipo="app", segredo="rosa")
    app.enter("ticket of the app")
    data = {"cpf": iracema["cpf"], "escopos": ["SALDO"], "expira": app.time(20 * DAY)}
    bad: dict[str, Any] = {"json": {"dados": data}}
    app.refuse(
        "permission without a flow", "POST", "permissoes", 400, "FLUXO_AUSENTE", "X-Fluxo", without="X-Fluxo", **bad
    )
    none = {"ticket": "abacate"}
    app.refuse(
        "permission without a ticket", "POST", "permissoes", 401, "FICHA_INVALIDA", "Authorization", **none, **bad
    )
    app.refuse("permission in broken JSON", "POST", "permissoes", 400, "CORPO_INVALIDO", content="{dados")
    bad["json"] = {"dados": data | {"escopos": ["TUDO"]}}
    app.refuse("permission for an unknown scope", "POST", "permissoes", 422, "CAMPO_INVALIDO", "dados.escopos", **bad)
    bad["json"] = {"dados": data | {"expira": app.time(181 * DAY)}}
    long = {"told": {"dias": 180}}
    app.refuse("permission for too long", "POST", "permissoes", 422, "PRAZO_LONGO", "dados.expira", **long, **bad)
    asked = app.ask("permission", iracema["cpf"], ["SALDO", "EXTRATO", "PAGAR"], 60 * DAY)
    id, look = asked.find("dados.permissao"), asked.find("atalhos.consulta")
    app.call("permission waits", "GET", look, 200, {"dados.situacao": "AGUARDANDO", "dados.titular": None})
    app.refuse("accounts with the ticket of the app", "GET", "contas", 403, "FICHA_ERRADA")
    seal = app.open("page", asked)
    app.fill("page with a wrong password", asked, 403, PAGE, selo=seal, **iracema | {"senha": "cacto"})
    code = app.agree("customer agrees", asked, "e-1", selo=seal, **iracema)
    walk.step("page is used up", "GET", asked.find("atalhos.entrada"), 410, PAGE)
    app.issue("ticket for a wrong code", 400, {"falha": "codigo_invalido"}, tipo="codigo", codigo="ABCDEFGH")
    ticket = app.exchange("ticket for the code", code, id)
    app.issue("ticket for the code again", 400, {"falha": "codigo_invalido"}, tipo="codigo", codigo=code)
    app.call(
        "permission is granted", "GET", look, 200, {"dados.situacao": "CONCEDIDA", "dados.titular": "Iracema Duarte"}
    )
    use: dict[str, Any] = {"ticket": ticket}
    accounts = app.call(
        "accounts", "GET", "contas", 200, {"dados.#": 2, "meta.total": 2, "dados.0.moeda": "BRL"}, **use
    )
    main, saving = (accounts.pick("dados", tipo=kind).get("conta") for kind in ("CORRENTE", "POUPANCA"))
    app.call("one account", "GET", f"contas/{main}", 200, {"dados.conta": main, "dados.agencia": "0412"}, **use)
    app.refuse("unknown account", "GET", "contas/c-00000", 404, "CONTA_DESCONHECIDA", **use)
    members: Expected = {"dados.conta": main, "dados.bloqueado": 0, "dados.em": app.time(timedelta())}
    before = number(app.call("balance", "GET", f"contas/{main}/saldos", 200, members, **use), "dados.disponivel")
    entries = f"contas/{main}/lancamentos"
    members = {"dados.#": 6, "dados.0.centavos": int, "meta.total": 14, "meta.pagina": 1, "meta.paginas": 3}
    app.call("entries", "GET", entries, 200, members, params={"tamanho": "6"}, **use)
    members = {"dados.#": 2, "dados.1.descricao": "Depósito", "meta.pagina": 3, "meta.paginas": 3}
    app.call("last page of them", "GET", entries, 200, members, params={"tamanho": "6", "pagina": "3"}, **use)
    app.refuse("too large a page", "GET", entries, 400, "CAMPO_INVALIDO", "tamanho", params={"tamanho": "21"}, **use)

    to = {"nome": "Marcenaria Jatobá", "chave": "jatoba@exemplo.br"}
    pay: dict[str, Any] = {"conta": main, "centavos": 350_000, "favorecido": to, "recado": "Estante"}

    def wrong(
        name: str, status: int, reason: str, place: str, told: Any = None, key: str = "k-err", **changes: Any
    ) -> None:
        headers = {"X-Chave": key} if key else {}
        more = {"told": told or {}, "headers": headers, "json": {"dados": pay | changes}, **use}
        app.refuse(name, "POST", "transferencias", status, reason, place, **more)

    wrong("transfer without a key", 400, "CHAVE_AUSENTE", "X-Chave", key="")
    wrong("transfer of nothing", 422, "CAMPO_INVALIDO", "dados.centavos", centavos=0)
    wrong("transfer over the limit", 422, "LIMITE", "dados.centavos", {"maximo": 500_000}, centavos=500_001)
    wrong("transfer without cover", 422, "SEM_SALDO", "dados.centavos", conta=saving, centavos=499_900)
    members = {"dados.transferencia": re.compile(r"^t-[0-9a-f]{10}$"), "dados.situacao": "RECEBIDA"}
    members |= {f"dados.{name}": value for name, value in pay.items()}
    sent = app.send("transfer", "transferencias", 201, pay, members, "k-100", **use)
    transfer = sent.find("@Location")
    same = {"dados.transferencia": sent.find("dados.transferencia"), "dados.recado": "Estante"}
    app.send("transfer again", "transferencias", 200, pay, same, "k-100", **use)
    wrong("key of another transfer", 409, "CHAVE_REPETIDA", "X-Chave", key="k-100", centavos=100)
    held = {"dados.disponivel": before - 350_000, "dados.bloqueado": 350_000, "dados.contabil": before}
    app.call("balance with the amount blocked", "GET", f"contas/{main}/saldos", 200, held, **use)
    wait(timedelta(seconds=45))
    app.call("transfer is processed", "GET", transfer, 200, {"dados.situacao": "PROCESSANDO"}, **use)
    late = {"told": {"situacao": "PROCESSANDO"}, **use}
    app.refuse("cancel too late", "POST", f"{transfer}/cancelamento", 409, "TARDE_DEMAIS", **late)
    wait(timedelta(seconds=100))
    members = {"dados.situacao": "LIQUIDADA", "dados.liquidada": str, "dados.centavos": 350_000}
    app.call("transfer is settled", "GET", transfer, 200, members, **use)
    settled = {"dados.disponivel": before - 350_000, "dados.bloqueado": 0, "dados.contabil": before - 350_000}
    app.call("balance after", "GET", f"contas/{main}/saldos", 200, settled, **use)
    members = {"dados.#": 1, "dados.0.centavos": -350_000, "dados.0.descricao": "Marcenaria Jatobá", "meta.total": 1}
    app.call("entries after", "GET", entries, 200, members, params={"de": str(app.day())}, **use)
    wrong(
        "transfer over the limit of the day",
        422,
        "LIMITE_DIARIO",
        "dados.centavos",
        {"resta": 450_000},
        centavos=460_000,
    )
    members = {"dados.situacao": "RECEBIDA", "dados.centavos": 1_990}
    sent = app.send("transfer to cancel", "transferencias", 201, pay | {"centavos": 1_990}, members, "k-101", **use)
    members = {"dados.situacao": "CANCELADA", "dados.centavos": 1_990}
    app.call("cancel", "POST", f"{sent.find('@Location')}/cancelamento", 200, members, **use)

    weekly: dict[str, Any] = {
        "conta": main,
        "centavos": 8_500,
        "favorecido": {"nome": "Escola de Dança", "chave": "11987650021"},
    }
    weekly |= {"periodo": "SEMANAL", "inicio": str(app.day(2)), "vezes": 4}
    odd = {"json": {"dados": weekly | {"periodo": "DIARIO"}}, **use}
    app.refuse("order for each day", "POST", "programadas", 422, "CAMPO_INVALIDO", "dados.periodo", **odd)
    members = {"dados.situacao": "ATIVA", "dados.restantes": 4, "dados.proxima": weekly["inicio"], "dados.vezes": 4}
    order = app.send("order", "programadas", 201, weekly, members, **use).find("dados.programada")
    path = f"programadas/{order}"
    for name, state in (("pause the order", "PAUSADA"), ("go on with the order", "ATIVA")):
        members = {"dados.programada": order, "dados.situacao": state, "dados.restantes": 4}
        app.call(name, "PATCH", path, 200, members, json={"dados": {"situacao": state}}, **use)
    members = {"dados.#": 1, "dados.0.programada": order, "meta.total": 1}
    app.call("orders", "GET", "programadas", 200, members, **use)
    wait(4 * DAY)
    app.refuse("ticket has ended", "GET", path, 401, "FICHA_VENCIDA", "Authorization", **use)
    use["ticket"] = app.renew("new ticket", id)
    members = {"dados.situacao": "ATIVA", "dados.restantes": 3, "dados.proxima": str(app.day(5))}
    app.call("order has paid once", "GET", path, 200, members, **use)
    members = {"dados.#": 2, "dados.0.centavos": -8_500, "dados.0.tipo": "PROGRAMADA", "dados.0.data": str(app.day(-2))}
    app.call("entries of the order", "GET", entries, 200, members, params={"de": str(app.day(-5))}, **use)
    members = {"dados.situacao": "ENCERRADA", "dados.proxima": None, "dados.restantes": 3}
    app.call("end the order", "DELETE", path, 200, members, **use)
    app.enter("ticket of the app again")
    app.call("take the permission back", "DELETE", look, 204)
    app.call("permission is taken back", "GET", look, 200, {"dados.situacao": "REVOGADA", "atalhos.entrada": None})
    after = {"told": {"situacao": "REVOGADA"}, **use}
    app.refuse("accounts after that", "GET", "contas", 403, "PERMISSAO_INATIVA", **after)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = JacarandaApp(walk, "cofrinho", "aroeira", "https://cofrinho.example/banco/fim")
    otavio = {"cpf": "902.114.556-31", "senha": "jabuticaba"}
    luzia = {"cpf": "733.905.128-44", "senha": "umbuzeiro"}
    app.enter("ticket of the app")
    app.refuse("unknown permission", "GET", "permissoes/prm-00000000", 404, "PERMISSAO_DESCONHECIDA")
    app.refuse("unknown path", "GET", "cartoes", 404, "ROTA")
    data = {"cpf": "90211455631", "escopos": ["SALDO"], "expira": app.time(5 * DAY)}
    bad: dict[str, Any] = {"json": {"dados": data}}
    app.refuse("permission with a wrong CPF", "POST", "permissoes", 422, "CAMPO_INVALIDO", "dados.cpf", **bad)
    bad["json"] = {"dados": data | {"cpf": otavio["cpf"], "expira": app.time(200 * DAY)}}
    long = {"told": {"dias": 180}}
    app.refuse("permission for too long", "POST", "permissoes", 422, "PRAZO_LONGO", "dados.expira", **long, **bad)
    refused = app.ask("permission to decline", luzia["cpf"], ["EXTRATO"], 3 * DAY)
    seal = app.open("page to decline", refused)
    members: Expected = {"@Location": "https://cofrinho.example/banco/fim?erro=recusada&estado=nao-7"}
    app.fill("customer declines", refused, 302, members, "nao-7", **luzia, selo=seal, decisao="nao")
    app.call("permission is declined", "GET", refused.find("atalhos.consulta"), 200, {"dados.situacao": "RECUSADA"})
    brief = app.ask("permission for an hour", otavio["cpf"], ["SALDO"], timedelta(hours=1))
    wide = app.ask("permission for all", otavio["cpf"], ["PAGAR", "EXTRATO", "SALDO"], 100 * DAY)
    seal = app.open("page for all", wide)
    app.fill("page without the seal", wide, 400, PAGE, **otavio)
    wide_code = app.agree("customer agrees to all", wide, "s2", selo=seal, **otavio)
    seal = app.open("page for an hour", brief)
    brief_code = app.agree("customer agrees to an hour", brief, "s3", selo=seal, **otavio)
    id = wide.find("dados.permissao")
    view: dict[str, Any] = {"ticket": app.exchange("ticket for an hour", brief_code, brief.find("dados.permissao"))}
    use: dict[str, Any] = {"ticket": app.exchange("ticket for all", wide_code, id)}
    members = {"dados.situacao": "CONCEDIDA", "dados.titular": "Otávio Pires", "dados.escopos.#": 3}
    app.call("permission is granted", "GET", wide.find("atalhos.consulta"), 200, members)
    accounts = app.call("accounts", "GET", "contas", 200, {"dados.#": 2, "meta.total": 2}, **use)
    main, other = accounts.find("dados.0.conta"), accounts.find("dados.1.conta")
    app.call("other account", "GET", f"contas/{other}", 200, {"dados.conta": other, "dados.moeda": "BRL"}, **view)
    entries = f"contas/{main}/lancamentos"
    told = {"told": {"escopo": "EXTRATO"}, **view}
    app.refuse("entries outside the scope", "GET", entries, 403, "ESCOPO", **told)
    balances = f"contas/{main}/saldos"
    before = number(app.call("balance", "GET", balances, 200, {"dados.bloqueado": 0}, **view), "dados.contabil")
    members = {"dados.#": 4, "meta.pagina": 3, "meta.paginas": 4, "meta.total": 14}
    app.call("third page of entries", "GET", entries, 200, members, params={"pagina": "3", "tamanho": "4"}, **use)
    app.refuse("page before the first", "GET", entries, 400, "CAMPO_INVALIDO", "pagina", params={"pagina": "0"}, **use)

    pay: dict[str, Any] = {
        "conta": main,
        "centavos": 12_345,
        "favorecido": {"nome": "Bia Melo", "chave": "21990011223"},
    }

    def wrong(
        name: str, status: int, reason: str, place: str | None, told: Any = None, key: str = "z9", **changes: Any
    ) -> None:
        more = {"told": told or {}, "headers": {"X-Chave": key}, "json": {"dados": pay | changes}, **use}
        app.refuse(name, "POST", "transferencias", status, reason, place, **more)

    wrong("transfer to nobody", 422, "CAMPO_INVALIDO", "dados.favorecido", favorecido=None)
    wrong("transfer over the limit", 422, "LIMITE", "dados.centavos", {"maximo": 500_000}, centavos=700_000)
    wrong("transfer from an unknown account", 404, "CONTA_DESCONHECIDA", None, conta="c-99999")
    wrong("transfer without cover", 422, "SEM_SALDO", "dados.centavos", conta=other, centavos=488_888)
    members = {"dados.situacao": "RECEBIDA", "dados.recado": None, "dados.favorecido.nome": "Bia Melo"}
    sent = app.send("transfer to cancel", "transferencias", 201, pay, members, "z10", **use)
    same = {"dados.transferencia": sent.find("dados.transferencia"), "dados.centavos": 12_345}
    app.send("transfer to cancel again", "transferencias", 200, pay, same, "z10", **use)
    cancel = f"{sent.find('@Location')}/cancelamento"
    app.call("cancel", "POST", cancel, 200, {"dados.situacao": "CANCELADA"}, **use)
    app.refuse("cancel again", "POST", cancel, 409, "TARDE_DEMAIS", told={"situacao": "CANCELADA"}, **use)
    members = {"dados.situacao": "RECEBIDA", "dados.recado": "Aluguel", "dados.centavos": 222_200}
    rent = pay | {
        "centavos": 222_200,
        "recado": "Aluguel",
        "favorecido": {"nome": "Imobiliária Cais", "chave": "x@cais.br"},
    }
    transfer = app.send("transfer", "transferencias", 201, rent, members, "z11", **use).find("@Location")
    wait(timedelta(minutes=3))
    members = {"dados.situacao": "LIQUIDADA", "dados.liquidada": str, "dados.favorecido.chave": "x@cais.br"}
    app.call("transfer is settled", "GET", transfer, 200, members, **use)
    left = before - 222_200
    members = {"dados.disponivel": left, "dados.bloqueado": 0, "dados.contabil": left}
    app.call("balance after", "GET", balances, 200, members, **use)
    members = {"dados.#": 1, "dados.0.centavos": -222_200, "dados.0.tipo": "TRANSFERENCIA", "meta.total": 15}
    app.call("newest entry", "GET", entries, 200, members, params={"tamanho": "1"}, **use)
    weekly: dict[str, Any] = {
        "conta": other,
        "centavos": 5_000,
        "favorecido": {"nome": "Creche Sol", "chave": "sol@creche.br"},
    }
    weekly |= {"periodo": "SEMANAL", "inicio": str(app.day(3)), "vezes": 2}
    zero = {"json": {"dados": weekly | {"vezes": 0}}, **use}
    app.refuse("order for no time", "POST", "programadas", 422, "CAMPO_INVALIDO", "dados.vezes", **zero)
    members = {"dados.situacao": "ATIVA", "dados.restantes": 2, "dados.proxima": weekly["inicio"]}
    order = app.send("order", "programadas", 201, weekly, members, **use).find("dados.programada")
    path = f"programadas/{order}"
    pause = {"json": {"dados": {"situacao": "PAUSADA"}}, **use}
    app.call("pause the order", "PATCH", path, 200, {"dados.situacao": "PAUSADA", "dados.vezes": 2}, **pause)
    again = {"told": {"situacao": "PAUSADA"}, **pause}
    app.refuse("pause it again", "PATCH", path, 409, "SITUACAO", **again)
    go_on = {"json": {"dados": {"situacao": "ATIVA"}}, **use}
    app.call("go on with the order", "PATCH", path, 200, {"dados.situacao": "ATIVA", "dados.restantes": 2}, **go_on)
    wait(timedelta(hours=2))
    app.refuse("ticket has ended", "GET", "contas", 401, "FICHA_VENCIDA", "Authorization", **use)
    use["ticket"] = app.renew("new ticket", id)
    app.enter("new ticket of the app")
    app.call(
        "permission for an hour has ended", "GET", brief.find("atalhos.consulta"), 200, {"dados.situacao": "VENCIDA"}
    )
    view["ticket"] = app.renew("new ticket for an hour", brief.find("dados.permissao"))
    app.refuse("accounts after that", "GET", "contas", 403, "PERMISSAO_INATIVA", told={"situacao": "VENCIDA"}, **view)
    wait(11 * DAY)
    use["ticket"] = app.renew("newer ticket", id)
    members = {"dados.situacao": "ESGOTADA", "dados.restantes": 0, "dados.proxima": None}
    app.call("order has paid twice", "GET", path, 200, members, **use)
    app.refuse("end the order", "DELETE", path, 409, "SITUACAO", told={"situacao": "ESGOTADA"}, **use)
    members = {"dados.#": 2, "dados.1.centavos": -5_000, "dados.1.data": weekly["inicio"]}
    recent = {"de": weekly["inicio"], "ate": str(app.day())}
    app.call("entries of the order", "GET", f"contas/{other}/lancamentos", 200, members, params=recent, **use)
    return walk.steps
