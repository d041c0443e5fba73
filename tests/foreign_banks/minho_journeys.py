"""Two journeys of the app Contas Claras and its customers at Minho."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5
from zoneinfo import ZoneInfo

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

APP = {"aplicacao": "contas-claras", "segredo": "girassol-77"}
SESSIONS, MANDATES, CONFIRMATIONS = "/aberta/sessoes", "/aberta/mandatos", "/aberta/confirmacoes"
ACCOUNTS, TRANSFERS = "/aberta/contas", "/aberta/transferencias"
LISBON = ZoneInfo("Europe/Lisbon")
TRACE = re.compile(r"^[0-9A-F]{16}$")
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0[01]:00$")
AMOUNT = re.compile(r"^-?\d+,\d\d$")
WAITING = {
    "confirmacao.id": re.compile(r"^cf[0-9a-f]{18}$"),
    "confirmacao.numeroDeControlo": re.compile(r"^\d\d$"),
    "confirmacao.consultarCada": 5,
    "confirmacao.limite": TIME,
    "confirmacao.simulador": re.compile(r"^https?://[^/]+/telemovel/\w{12}$"),
}


def cents(answer: Answer, place: str) -> int:
    """The amount at this place, or 0."""
    value = answer.find(place)
    return int(value.replace(",", "")) if isinstance(value, str) and AMOUNT.search(value) else 0


def euros(cents: int) -> str:
    return f"{cents // 100},{cents % 100:02}"


class MinhoApp:
    def __init__(self, walk: Walk, customer: tuple[str, str]) -> None:
        self.walk, self._customer = walk, customer
        self._ticket: Any = None
        self._renewal: Any = None
        self.key: Any = None

    def day(self, days: int) -> str:
        return (self.walk.now.astimezone(LISBON).date() + days * DAY).strftime("%d-%m-%Y")

    def call(
        self, name: str, method: str, path: str, status: int, members: Expected | None = None, **request: Any
    ) -> Answer:
        sent = {"Authorization": f"Bilhete {self._ticket}"} if self._ticket else {}
        expected = {"@Minho-Rasto": TRACE, **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def read(self, name: str, path: str, status: int, members: Expected, **request: Any) -> Answer:
        sent = {"Authorization": f"Bilhete {self._ticket}", "Minho-Chave": str(self.key)}
        expected = {"@Minho-Rasto": TRACE, **members}
        return self.walk.step(name, "GET", path, status, expected, headers=sent, **request)

    def refusal(self, ref: str, place: str | None = None) -> dict[str, Any]:
        return {"ocorrencias.#": 1, "ocorrencias.0.ref": ref, "ocorrencias.0.onde": place, "rasto": TRACE}

    def sign_in(self, name: str) -> None:
        self._keep(self.call(name, "POST", SESSIONS, 201, self._session(), json=APP))

    def renew(self, name: str) -> None:
        self._keep(self.call(name, "PUT", SESSIONS, 200, self._session(), json={"renovacao": self._renewal}))

    def _session(self) -> dict[str, Any]:
        ticket, renewal = re.compile(r"^mb1\.\w{8}\.\w{24}$"), re.compile(r"^rn1\.\w{32}$")
        return {"bilhete": ticket, "renovacao": renewal, "caduca": TIME}

    def _keep(self, answer: Answer) -> None:
        self._ticket, self._renewal = answer.find("bilhete"), answer.find("renovacao")

    def wish(self, depth: int, days: int) -> dict[str, Any]:
        scope = {"saldos": True, "movimentos": depth}
        return {"adesao": self._customer[0], "ambito": scope, "validoAte": self.day(days)}

    def ask(self, name: str, depth: int, days: int) -> Answer:
        members = {
            "mandato": re.compile(r"^MD-\w{4}-\w{4}$"),
            "situacao": "POR_CONFIRMAR",
            "ambito": {"saldos": True, "movimentos": depth},
            "validoAte": self.day(days),
            "pedidoEm": TIME,
        }
        return self.call(name, "POST", MANDATES, 201, members | WAITING, json=self.wish(depth, days))

    def look(self, name: str, mandate: Any, state: str, ended: Any = None) -> None:
        members = {"mandato": mandate, "situacao": state, "terminadoEm": ended, "confirmacao": None}
        self.call(name, "GET", f"{MANDATES}/{mandate}", 200, members)

    def revoke(self, name: str, mandate: Any) -> None:
        members = {"mandato": mandate, "situacao": "REVOGADO", "terminadoEm": TIME}
        self.call(name, "PATCH", f"{MANDATES}/{mandate}", 200, members, json={"situacao": "REVOGADO"})

    def poll(self, name: str, asked: Answer, reply: str) -> Answer:
        id, mandate = asked.find("confirmacao.id"), asked.find("mandato")
        members = {"confirmacao": id, "objeto.tipo": "MANDATO", "objeto.numero": mandate, "resposta": reply}
        if reply == "AGUARDA":
            members |= {"chave": None, "respondidaEm": None, "@Retry-After": "5"}
        else:
            members |= {"chave": re.compile(r"^ch_\w{28}$"), "respondidaEm": TIME}
        return self.call(name, "GET", f"{CONFIRMATIONS}/{id}", 202 if reply == "AGUARDA" else 200, members)

    def poll_too_soon(self, name: str, asked: Answer) -> None:
        members = self.refusal("CNF-01") | {"@Retry-After": re.compile(r"^[1-5]$")}
        self.call(name, "GET", f"{CONFIRMATIONS}/{asked.find('confirmacao.id')}", 429, members)

    def look_at_phone(self, name: str, asked: Answer, text: str) -> None:
        page = asked.find("confirmacao.simulador")
        self.walk.step(name, "GET", page, 200, PAGE | {"page": re.compile(f"{text}.*name=.pin.")})

    def decide(self, name: str, asked: Answer, decision: str, text: str, pin: str = "") -> None:
        number = str(asked.find("confirmacao.numeroDeControlo"))
        form = {"numero": number, "pin": pin or self._customer[1], "decisao": decision}
        page = asked.find("confirmacao.simulador")
        self.walk.step(name, "POST", page, 200, PAGE | {"page": re.compile(text)}, data=form)

    def confirm(self, name: str, asked: Answer) -> None:
        self.decide(name, asked, "confirmar", "Pedido confirmado")

    def decline(self, name: str, asked: Answer) -> None:
        self.decide(name, asked, "recusar", "Pedido recusado")

    def mistype(self, name: str, asked: Answer, pin: str) -> None:
        self.decide(name, asked, "confirmar", "PIN errado. Tentativas restantes: 2.*name=.pin.", pin)

    def balance(self, name: str, account: Any) -> Answer:
        members = {"conta": account, "saldos.cativo": {"montante": "0,00", "divisa": "EUR"}, "em": TIME}
        members |= {"saldos.contabilistico.montante": AMOUNT, "saldos.disponivel.montante": AMOUNT}
        return self.read(name, f"{ACCOUNTS}/{account}/saldo", 200, members)

    def entries(self, name: str, account: Any, since: int, page: Any, size: int) -> Answer:
        query = {"desde": self.day(since), "ate": self.day(-1), "pagina": str(page), "porPagina": str(size)}
        members = {
            "conta": account,
            "movimentos.#": size,
            "movimentos.0.movimento": int,
            "movimentos.0.dataMovimento": re.compile(r"^\d\d-\d\d-\d{4}$"),
            "movimentos.0.sentido": re.compile("^[CD]$"),
            "movimentos.0.quantia.montante": re.compile(r"^\d+,\d\d$"),
            "movimentos.0.saldoApos": AMOUNT,
            "paginacao.pagina": page,
            "paginacao.porPagina": size,
            "paginacao.paginas": int,
            "paginacao.seguinte": int,
        }
        return self.read(name, f"{ACCOUNTS}/{account}/movimentos", 200, members, params=query)

    def order(self, payer: Any, payee: tuple[str, str], amount: str, text: str) -> dict[str, Any]:
        reference = uuid5(NAMESPACE_URL, f"{self._customer[0]} {text}").hex[:12]
        return {
            "referenciaApp": f"cc-{reference}",
            "ordenante": {"iban": payer},
            "beneficiario": {"iban": payee[0], "nome": payee[1]},
            "quantia": {"montante": amount, "divisa": "EUR"},
            "descritivo": text,
        }

    def place(self, name: str, order: dict[str, Any]) -> Answer:
        """Send the order for the first time."""
        members = {name: order[name] for name in ("referenciaApp", "beneficiario", "quantia", "descritivo")}
        members |= {"transferencia": re.compile(r"^TRF\d{6}-\d{5}$"), "ordenante.iban": order["ordenante"]["iban"]}
        members |= {"estado.fase": "POR_CONFIRMAR", "estado.desde": TIME, "repetida": None} | WAITING
        return self.call(name, "POST", TRANSFERS, 201, members, json=order)

    def place_again(self, name: str, order: dict[str, Any], placed: Answer) -> None:
        members = {"transferencia": placed.find("transferencia"), "repetida": True, "estado.fase": "POR_CONFIRMAR"}
        members |= {"quantia": order["quantia"], "confirmacao.id": placed.find("confirmacao.id")}
        self.call(name, "POST", TRANSFERS, 200, members, json=order)

    def follow(self, name: str, placed: Answer, state: str) -> None:
        id = placed.find("transferencia")
        members = {"transferencia": id, "estado.fase": state, "estado.motivo": None, "confirmacao": None}
        members |= {"quantia": placed.find("quantia"), "repetida": None}
        self.call(name, "GET", f"{TRANSFERS}/{id}", 200, members)

    def annul_too_late(self, name: str, placed: Answer) -> None:
        path = f"{TRANSFERS}/{placed.find('transferencia')}/anulacao"
        self.call(name, "PUT", path, 409, self.refusal("TRF-02"), json={"motivo": "Engano"})

    def find_entry(self, name: str, account: Any, order: dict[str, Any], placed: Answer, left: str) -> None:
        """The transfer is the only movement of today."""
        members = {
            "movimentos.#": 1,
            "movimentos.0.dataMovimento": self.day(0),
            "movimentos.0.sentido": "D",
            "movimentos.0.quantia": order["quantia"],
            "movimentos.0.descritivo": re.compile(f"(?i)^TRF P/ {order['beneficiario']['nome']}$"),
            "movimentos.0.contraparte": order["beneficiario"],
            "movimentos.0.nota": order["descritivo"],
            "movimentos.0.origem": placed.find("transferencia"),
            "movimentos.0.saldoApos": left,
            "paginacao.registos": 1,
            "paginacao.seguinte": 0,
        }
        query = {"desde": self.day(0), "sentido": "D"}
        self.read(name, f"{ACCOUNTS}/{account}/movimentos", 200, members, params=query)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = MinhoApp(walk, ("3184072", "4826"))
    app.sign_in("session")
    members = app.refusal("VAL-01", "ambito.movimentos")
    app.call("mandate for too long a past", "POST", MANDATES, 400, members, json=app.wish(400, 90))
    mandate = app.ask("mandate", 90, 90)
    app.poll("confirmation is waited for", mandate, "AGUARDA")
    app.poll_too_soon("asked again at once", mandate)
    app.look_at_phone("customer's phone", mandate, f"Autoriza contas-claras .* {app.day(90)}")
    app.mistype("customer mistypes the PIN", mandate, "4862")
    app.confirm("customer confirms", mandate)
    wait(timedelta(seconds=6))
    app.key = app.poll("confirmation is given", mandate, "CONFIRMADA").find("chave")
    app.look("mandate is active", mandate.find("mandato"), "ATIVO")
    members = {
        "titular": "Helena Faria",
        "total": 2,
        "contas.#": 2,
        "contas.0.conta": int,
        "contas.0.iban": re.compile(r"^PT50\d{21}$"),
        "contas.0.designacao": "Conta à ordem",
    }
    accounts = app.read("accounts", ACCOUNTS, 200, members)
    account, iban = accounts.find("contas.0.conta"), accounts.find("contas.0.iban")
    balance = app.balance("balance", account)
    booked = cents(balance, "saldos.contabilistico.montante")
    page_one = app.entries("movements", account, -60, 1, 4)
    app.entries("second page", account, -60, page_one.find("paginacao.seguinte"), 4)

    order = app.order(iban, ("PT50077701400004821733906", "Rui Peixoto"), "425,50", "Renda de junho")
    wrong = order | {"quantia": {"montante": "425.50", "divisa": "EUR"}}
    members = app.refusal("QTD-01", "quantia.montante")
    app.call("transfer with a point in the amount", "POST", TRANSFERS, 400, members, json=wrong)
    rent = app.place("transfer", order)
    app.place_again("transfer sent again", order, rent)
    app.confirm("customer confirms the transfer", rent)
    app.follow("transfer is confirmed", rent, "CONFIRMADA")
    wait(timedelta(seconds=45))
    app.follow("transfer is in clearing", rent, "EM_COMPENSACAO")
    app.annul_too_late("annul it too late", rent)
    wait(timedelta(minutes=3))
    app.follow("transfer is executed", rent, "EXECUTADA")
    app.find_entry("movements of today", account, order, rent, euros(booked - 42_550))
    club = ("PT50083301400019004512088", "Clube Náutico de Caminha")
    quota = app.place("transfer to decline", app.order(iban, club, "68,00", "Quota anual"))
    app.decline("customer declines it", quota)
    app.follow("transfer is declined", quota, "RECUSADA")
    app.revoke("revoke the mandate", mandate.find("mandato"))
    app.read("accounts without the mandate", ACCOUNTS, 403, app.refusal("MND-01", "Minho-Chave"))
    wait(timedelta(minutes=25))
    members = app.refusal("SES-02") | {"@WWW-Authenticate": re.compile("^Bilhete")}
    app.call("ticket has expired", "GET", f"{MANDATES}/{mandate.find('mandato')}", 401, members)
    app.renew("renewed session")
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = MinhoApp(walk, ("5570913", "7391"))
    app.sign_in("session")
    members = app.refusal("VAL-01", "ambito.movimentos")
    app.call("mandate for two years back", "POST", MANDATES, 400, members, json=app.wish(730, 30))
    mandate = app.ask("mandate", 180, 30)
    app.poll("confirmation is waited for", mandate, "AGUARDA")
    app.poll_too_soon("asked again at once", mandate)
    app.look_at_phone("customer's phone", mandate, f"Autoriza contas-claras .* {app.day(30)}")
    app.mistype("customer mistypes the PIN", mandate, "7319")
    app.confirm("customer confirms", mandate)
    wait(timedelta(seconds=10))
    app.key = app.poll("confirmation is given", mandate, "CONFIRMADA").find("chave")
    members = {"titular": str, "contas.1.conta": int, "contas.1.iban": re.compile(r"^PT50\d{21}$")}
    accounts = app.read("accounts", ACCOUNTS, 200, members)
    account, iban = accounts.find("contas.1.conta"), accounts.find("contas.1.iban")
    balance = app.balance("balance", account)
    booked = cents(balance, "saldos.contabilistico.montante")
    page_one = app.entries("movements", account, -45, 1, 3)
    app.entries("second page", account, -45, page_one.find("paginacao.seguinte"), 3)

    builder, garage = ("PT50077701400073002841652", "Rita Sequeira"), ("PT50083301400001184775269", "Oficina Ponte")
    order = app.order(iban, builder, "1348,05", "Obras da cozinha")
    wrong = app.order(iban, builder, "1348.05", "Obras")
    members = app.refusal("QTD-01", "quantia.montante")
    app.call("transfer with a point in the amount", "POST", TRANSFERS, 400, members, json=wrong)
    kitchen = app.place("transfer", order)
    app.place_again("transfer sent again", order, kitchen)
    repair = app.place("transfer to decline", app.order(iban, garage, "276,90", "Revisão do carro"))
    app.decline("customer declines the second", repair)
    app.confirm("customer confirms the first", kitchen)
    app.follow("second transfer is declined", repair, "RECUSADA")
    app.follow("first transfer is confirmed", kitchen, "CONFIRMADA")
    wait(timedelta(seconds=50))
    app.follow("first transfer is in clearing", kitchen, "EM_COMPENSACAO")
    app.annul_too_late("annul it too late", kitchen)
    wait(timedelta(minutes=6))
    app.follow("first transfer is executed", kitchen, "EXECUTADA")
    app.find_entry("movements of today", account, order, kitchen, euros(booked - 134_805))
    app.revoke("revoke the mandate", mandate.find("mandato"))
    app.look("mandate is revoked", mandate.find("mandato"), "REVOGADO", TIME)
    app.read("balance without the mandate", f"{ACCOUNTS}/{account}/saldo", 403, app.refusal("MND-01", "Minho-Chave"))
    wait(timedelta(hours=1))
    members = app.refusal("SES-02") | {"@WWW-Authenticate": re.compile("^Bilhete")}
    app.call("ticket has expired", "GET", f"{TRANSFERS}/{kitchen.find('transferencia')}", 401, members)
    app.renew("renewed session")
    return walk.steps
