"""Two journeys of the app Mealheiro and its customers at Tejo."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5
from zoneinfo import ZoneInfo

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://mealheiro.example/tejo"
HUB = "/rlp/apimarket/BTEJO/v1-0-4"
BANKS = "/rlp/apimarket/v1-0-4/available-aspsp"
CONSENTS, ACCOUNTS = f"{HUB}/consents", f"{HUB}/accounts"
SEPA, INSTANT, SERVICE = (
    f"{HUB}/payments/{product}"
    for product in ("sepa-credit-transfers", "instant-sepa-credit-transfers", "pagamento-servicos")
)
REDIRECT = re.compile(r"^https?://[^/]+/rlp/sca/BTEJO\?pedido=[0-9a-f]{40}$")
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000\+0[01]00$")
CHALLENGE = {"page": re.compile(r'name="desafio" value="[0-9a-f]{12}"')}


def read(answer: Answer, place: str) -> int:
    """The cents of the amount at this place, or 0."""
    content = str(answer.find(f"{place}.content")).replace(".", "")
    return int(content) if re.fullmatch(r"-?\d+", content) else 0


def money(cents: int) -> dict[str, str]:
    return {"currency": "EUR", "content": f"{cents // 100}.{cents % 100:02}"}


class TejoApp:
    def __init__(self, walk: Walk, number: str, code: str, ip: str) -> None:
        self.walk, self._number, self._code, self._ip = walk, number, code, ip

    def uuid(self, word: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"tejo {self._number} {word}"))

    def day(self, days: int) -> str:
        """The day as the bank writes it in movements."""
        return (self.walk.now.astimezone(ZoneInfo("Europe/Lisbon")) + days * DAY).strftime("%d-%m-%Y")

    def iso(self, days: int) -> str:
        return "-".join(reversed(self.day(days).split("-")))

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        *,
        consent: Any = None,
        is_present: bool = True,
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        sent = {
            "X-RLP-Client-Id": "6d1f40c7-mealheiro",
            "TPP-Transaction-ID": self.uuid("journey"),
            "TPP-Request-ID": self.uuid(name),
            **(headers or {}),
        }
        if method == "POST":
            sent["TPP-Redirect-URI"] = BACK
        if is_present:
            sent["PSU-IP-Address"] = self._ip
        if consent:
            sent["Consent-ID"] = str(consent)
        echoed = {f"@{name}": sent[name] for name in ("TPP-Transaction-ID", "TPP-Request-ID")}
        expected = {**echoed, "@RLP-Trace": re.compile("^[0-9a-f]{16}$"), **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def refuse(
        self, name: str, method: str, path: str, status: int, code: str, place: str | None = None, **request: Any
    ) -> None:
        members: dict[str, Any] = {"tppMessages.0.category": "ERROR", "tppMessages.0.code": code}
        members |= {"tppMessages.0.field": place, "tppMessages.0.text": str}
        members |= {"transactionStatus": "RJCT" if method == "POST" else None}
        self.call(name, method, path, status, members, **request)

    def stop_at_gateway(self, name: str, path: str, document: dict[str, Any]) -> None:
        headers = {"TPP-Transaction-ID": self.uuid("journey"), "TPP-Request-ID": self.uuid(name)}
        members = {"httpCode": "401", "httpMessage": "Unauthorized", "tppMessages": None, "@RLP-Trace": None}
        self.walk.step(name, "POST", path, 401, members, headers=headers, json=document)

    def list_banks(self, name: str) -> None:
        members = {"aspspList.#": 3, "aspspList.0.aspspCode": "BTEJO", "aspspList.0.ativo": True}
        self.call(name, "GET", BANKS, 200, members)

    def wish(
        self, accounts: list[str], balances: list[str], transactions: list[str], until: str, often: int
    ) -> dict[str, Any]:
        lists = {"accounts": accounts, "balances": balances, "transactions": transactions}
        access = {kind: [{"iban": iban} for iban in ibans] for kind, ibans in lists.items()}
        more = {"recurringIndicator": True, "validUntil": until, "frequencyPerDay": often}
        return {"access": access, **more, "combinedServiceIndicator": False}

    def _make(self, name: str, path: str, document: dict[str, Any], id: str, form: str) -> tuple[Any, Any]:
        members = {
            "transactionStatus": "RCVD",
            id: re.compile(f"^{form}$"),
            "_links.redirect": REDIRECT,
            "_links.status": re.compile(f"^{path}/{form}/status$"),
            "@Location": re.compile(f"^{path}/{form}$"),
        }
        made = self.call(name, "POST", path, 201, members, json=document)
        return made.find(id), made.find("_links.redirect")

    def ask(self, name: str, wish: dict[str, Any]) -> tuple[Any, Any]:
        """Return the consent's id and the customer's page."""
        return self._make(name, CONSENTS, wish, "consentId", r"CNS-[0-9a-f]{20}")

    def pay(self, name: str, product: str, order: dict[str, Any]) -> tuple[Any, Any]:
        """Return the payment's id and the customer's page."""
        return self._make(name, product, order, "paymentId", r"P\d{5}-\d{8}")

    def transfer(self, payer: Any, payee: tuple[str, str], cents: int, text: str) -> dict[str, Any]:
        order = {"debtorAccount": {"iban": payer}, "instructedAmount": money(cents), "creditorName": payee[1]}
        return order | {"creditorAccount": {"iban": payee[0]}, "remittanceInformationUnstructured": text}

    def bill(self, payer: Any, entity: str, reference: str, cents: int) -> dict[str, Any]:
        order = {"debtorAccount": {"iban": payer}, "instructedAmount": money(cents)}
        return order | {"entidade": entity, "referencia": reference}

    def log_in(self, name: str, page: Any) -> Answer:
        form = {"n_adesao": self._number, "cod_acesso": self._code, "acao": "entrar"}
        members = PAGE | {"page": re.compile(r"SMS: <b>\d{6}</b>")}
        return self.walk.step(name, "POST", page, 200, members, data=form)

    def _code_form(self, shown: Answer, change: int = 0) -> dict[str, str]:
        challenge, code = shown.fields.get("desafio", [""])[0], re.search(r"<b>(\d{6})</b>", shown.text)
        sent = f"{(int(code[1]) + change) % 10**6:06}" if code else ""
        return {"desafio": challenge, "codigo_sms": sent, "acao": "confirmar"}

    def mistype(self, name: str, page: Any, shown: Answer) -> Answer:
        members = PAGE | {"page": re.compile("Código SMS incorreto. Tentativas restantes: 2")}
        return self.walk.step(name, "POST", page, 200, members, data=self._code_form(shown, 1))

    def confirm(self, name: str, page: Any, shown: Answer, id: Any, motive: str = "") -> None:
        self._end(name, page, self._code_form(shown), id, motive)

    def give_up(self, name: str, page: Any, id: Any) -> None:
        self._end(name, page, {"n_adesao": "", "cod_acesso": "", "acao": "desistir"}, id, "DESISTENCIA")

    def _end(self, name: str, page: Any, form: dict[str, str], id: Any, motive: str) -> None:
        told = f"resultado=NOK&motivo={motive}" if motive else "resultado=OK"
        self.walk.step(name, "POST", page, 302, {"@Location": f"{BACK}?{told}&idPedido={id}"}, data=form)

    def look(self, name: str, consent: Any, state: str, wish: dict[str, Any], until: str) -> None:
        members = {"consentId": consent, "consentStatus": state, "validUntil": until, "lastActionDate": TIME}
        members |= {"access": wish["access"], "frequencyPerDay": wish["frequencyPerDay"]}
        self.call(name, "GET", f"{CONSENTS}/{consent}", 200, members)

    def follow(self, name: str, product: str, payment: Any, state: str, reason: str | None = None) -> None:
        members = {"transactionStatus": state, "statusDateTime": TIME, "reasonCode": reason}
        self.call(name, "GET", f"{product}/{payment}/status", 200, members)

    def cancel(self, name: str, product: str, payment: Any) -> None:
        self.call(name, "DELETE", f"{product}/{payment}", 200, {"transactionStatus": "CANC", "statusDateTime": TIME})

    def receipt(self, name: str, payment: Any, order: dict[str, Any]) -> None:
        members = {
            "paymentId": payment,
            "transactionStatus": "ACSC",
            "creationDateTime": TIME,
            "entidade": order["entidade"],
            "referencia": order["referencia"].replace(" ", ""),
            "instructedAmount": order["instructedAmount"],
            "comprovativo": re.compile(r"^\d{12}$"),
        }
        self.call(name, "GET", f"{SERVICE}/{payment}", 200, members)

    def balance(
        self, name: str, path: str, consent: Any, booked: int | None = None, available: int | None = None, **more: Any
    ) -> tuple[int, int]:
        """Return what is booked and what is available, in cents."""
        members: dict[str, Any] = {"balances.0.balanceType": "closingBooked", "balances.0.referenceDate": self.day(0)}
        members["balances.1.balanceType"] = "interimAvailable"
        for place, cents in enumerate((booked, available)):
            members[f"balances.{place}.balanceAmount"] = dict if cents is None else money(cents)
        answer = self.call(name, "GET", path, 200, members, consent=consent, **more)
        return read(answer, "balances.0.balanceAmount"), read(answer, "balances.1.balanceAmount")

    def page_through(self, names: tuple[str, str], path: str, consent: Any, since: int) -> None:
        query = {"bookingStatus": "booked", "dateFrom": self.day(since), "dateTo": self.day(-1)}
        members: dict[str, Any] = {
            "transactions.booked.#": 10,
            "transactions.booked.0.bookingDate": re.compile(r"^\d\d-\d\d-\d{4}$"),
            "transactions.booked.0.natureza": re.compile("^[CD]$"),
            "transactions.booked.9.saldoApos.content": re.compile(r"^-?\d+\.\d\d$"),
            "totalRegistos": int,
            "_links.next": re.compile(r"pagina=2$"),
            "_links.last": re.compile(r"pagina=\d+$"),
        }
        page = self.call(names[0], "GET", path, 200, members, consent=consent, params=query)
        members = {"transactions.booked.0.transactionId": re.compile(r"^M\d{10}$")}
        members |= {"totalRegistos": page.find("totalRegistos"), "_links.first": re.compile(r"pagina=1$")}
        self.call(names[1], "GET", str(page.find("_links.next")), 200, members, consent=consent)

    def find_transfer(self, name: str, path: str, consent: Any, order: dict[str, Any], booked: int) -> None:
        text = order["remittanceInformationUnstructured"]
        members = {
            "transactions.booked.#": 1,
            "transactions.booked.0.transactionId": re.compile(r"^M\d{10}$"),
            "transactions.booked.0.bookingDate": self.day(0),
            "transactions.booked.0.amount": order["instructedAmount"],
            "transactions.booked.0.natureza": "D",
            "transactions.booked.0.descritivo": f"TRF P/ {order['creditorName']}",
            "transactions.booked.0.remittanceInformationUnstructured": text,
            "transactions.booked.0.saldoApos": money(booked),
            "totalRegistos": 1,
            "_links.next": None,
        }
        query = {"bookingStatus": "booked", "dateFrom": self.day(0), "dateTo": self.day(0)}
        self.call(name, "GET", path, 200, members, consent=consent, params=query)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = TejoApp(walk, "4410372", "903417", "85.240.17.6")
    salary, savings = "PT50097100123044187220553", "PT50097100123044187221329"
    app.list_banks("banks of the hub")
    wish = app.wish([salary, savings], [salary], [salary], "9999-12-31", 1)
    app.stop_at_gateway("consent without a client", CONSENTS, wish)
    foreign = app.wish([salary, "PT50003300004521883027511"], [salary], [], app.iso(60), 1)
    app.refuse("consent for another bank", "POST", CONSENTS, 400, "IBAN_NOT_ASPSP", "access.accounts", json=foreign)
    consent, page = app.ask("consent", wish)
    app.refuse("accounts too early", "GET", ACCOUNTS, 401, "CONSENT_INVALID", consent=consent)
    asked = PAGE | {"page": re.compile(r"Mealheiro pede acesso a 2 conta\(s\)")}
    walk.step("customer's page", "GET", page, 200, asked)
    shown = app.log_in("customer logs in", page)
    shown = app.mistype("customer mistypes the SMS", page, shown)
    app.confirm("customer confirms", page, shown, consent)
    app.look("consent is active", consent, "ACTV", wish, app.iso(180))
    members: dict[str, Any] = {
        "accountList.#": 2,
        "accountList.0.id": re.compile("^[0-9a-f]{24}$"),
        "accountList.0.iban": salary,
        "accountList.0.name": "Conta Ordenado",
        "accountList.0.cashAccountType": "CACC",
        "accountList.0.balances.#": 2,
        "accountList.1.iban": savings,
        "accountList.1.balances": None,
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, consent=consent, params={"withBalance": "true"})
    account, other = accounts.find("accountList.0.id"), accounts.find("accountList.1.id")
    balances, movements = f"{ACCOUNTS}/{account}/balances", f"{ACCOUNTS}/{account}/transactions"
    booked, _ = app.balance("balances at night", balances, consent, is_present=False)
    name = "balances again at night"
    app.refuse(name, "GET", balances, 429, "ACCESS_EXCEEDED", consent=consent, is_present=False)
    outside = f"{ACCOUNTS}/{other}/balances"
    app.refuse("balances outside the consent", "GET", outside, 403, "CONSENT_SCOPE", consent=consent)
    app.page_through(("transactions", "more transactions"), movements, consent, -85)
    query = {"bookingStatus": "booked", "dateFrom": app.iso(-30)}
    name = "transactions since an ISO date"
    app.refuse(name, "GET", movements, 400, "FORMAT_ERROR", "dateFrom", consent=consent, params=query)

    rent = app.transfer(salary, ("PT50003502140001827394175", "Helena Sarmento"), 61_250, "Renda de casa")
    wrong = rent | {"creditorAccount": {"iban": "PT50003502140001827394157"}}
    app.refuse("transfer to a mistyped IBAN", "POST", SEPA, 400, "FORMAT_ERROR", "creditorAccount.iban", json=wrong)
    paid, page = app.pay("transfer", SEPA, rent)
    again = {"TPP-Request-ID": app.uuid("transfer")}
    name, place = "same transfer again", "TPP-Request-ID"
    app.refuse(name, "POST", SEPA, 409, "DUPLICATED_REQUEST", place, headers=again, json=rent)
    shown = app.log_in("customer logs in for the transfer", page)
    app.confirm("customer confirms the transfer", page, shown, paid)
    app.balance("balances with the amount reserved", balances, consent, booked, booked - 61_250)
    wait(timedelta(minutes=2))
    app.follow("transfer is settling", SEPA, paid, "ACSP")
    app.refuse("cancel it too late", "DELETE", f"{SEPA}/{paid}", 405, "CANCELLATION_INVALID")
    wait(timedelta(minutes=9))
    app.follow("transfer is settled", SEPA, paid, "ACSC")
    app.find_transfer("transactions after", movements, consent, rent, booked - 61_250)

    power = app.bill(salary, "21312", "481 902 337", 7_384)
    short = power | {"referencia": "481 902 33"}
    app.refuse("bill with a short reference", "POST", SERVICE, 400, "FORMAT_ERROR", "referencia", json=short)
    bill, page = app.pay("bill", SERVICE, power)
    shown = app.log_in("customer logs in for the bill", page)
    app.confirm("customer confirms the bill", page, shown, bill)
    app.receipt("bill is paid", bill, power)
    friend = ("PT50001000005117742093893", "Tiago Brandão")
    gift, page = app.pay("instant transfer", INSTANT, app.transfer(salary, friend, 2_500, "Prenda"))
    app.give_up("customer gives up", page, gift)
    app.follow("instant transfer is rejected", INSTANT, gift, "RJCT", "CUST")
    large, page = app.pay("transfer above the balance", SEPA, app.transfer(salary, friend, 4_000_000, "Carro"))
    shown = app.log_in("customer logs in for the large one", page)
    app.confirm("customer confirms the large one", page, shown, large, "SALDO")
    app.follow("large transfer is rejected", SEPA, large, "RJCT", "AM04")
    stopped, page = app.pay("transfer to cancel", SEPA, app.transfer(salary, friend, 3_015, "Jantar"))
    app.cancel("cancel the transfer", SEPA, stopped)
    walk.step("page of the cancelled transfer", "GET", page, 410, PAGE | {"page": re.compile("já não está disponível")})
    app.call("revoke the consent", "DELETE", f"{CONSENTS}/{consent}", 204)
    app.call("consent is revoked", "GET", f"{CONSENTS}/{consent}/status", 200, {"consentStatus": "REVK"})
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = TejoApp(walk, "5528106", "271650", "2.83.201.144")
    main, house, savings = "PT50097100123087715091442", "PT50097100123087715092218", "PT50097100123087715093091"
    app.list_banks("banks of the hub")
    narrow, no = app.ask("consent to decline", app.wish([house], [house], [], app.iso(90), 4))
    wish = app.wish([main, house, savings], [main, house], [main], app.iso(30), 2)
    consent, yes = app.ask("consent", wish)
    app.give_up("customer gives up the first consent", no, narrow)
    app.refuse("accounts with that", "GET", ACCOUNTS, 401, "CONSENT_INVALID", consent=narrow)
    asked = PAGE | {"page": re.compile(r"Mealheiro pede acesso a 3 conta\(s\)")}
    walk.step("page of the second consent", "GET", yes, 200, asked)
    shown = app.log_in("customer logs in", yes)
    shown = app.mistype("customer mistypes the SMS", yes, shown)
    app.confirm("customer confirms", yes, shown, consent)
    app.look("second consent is active", consent, "ACTV", wish, app.iso(30))
    members: dict[str, Any] = {
        "accountList.#": 3,
        "accountList.0.id": re.compile("^[0-9a-f]{24}$"),
        "accountList.0.iban": main,
        "accountList.0.currency": "EUR",
        "accountList.1.iban": house,
        "accountList.1.balances.1.balanceType": "interimAvailable",
        "accountList.2.iban": savings,
        "accountList.2.balances": None,
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, consent=consent, params={"withBalance": "true"})
    account, second_id, third = (accounts.find(f"accountList.{place}.id") for place in range(3))
    balances, movements = f"{ACCOUNTS}/{account}/balances", f"{ACCOUNTS}/{account}/transactions"
    outside = f"{ACCOUNTS}/{third}/balances"
    app.refuse("balances outside the consent", "GET", outside, 403, "CONSENT_SCOPE", consent=consent)
    query = {"bookingStatus": "booked", "dateFrom": app.iso(-10)}
    name = "transactions since an ISO date"
    app.refuse(name, "GET", movements, 400, "FORMAT_ERROR", "dateFrom", consent=consent, params=query)
    app.page_through(("transactions", "next page"), movements, consent, -84)
    booked, available = app.balance("balances", balances, consent)
    nightly = f"{ACCOUNTS}/{second_id}/balances"
    app.balance("balances at night", nightly, consent, is_present=False)
    app.balance("balances at night once more", nightly, consent, is_present=False)
    name = "balances a third time at night"
    app.refuse(name, "GET", nightly, 429, "ACCESS_EXCEEDED", consent=consent, is_present=False)

    school, sister = ("PT50004591434022661985787", "Colégio da Ribeira"), ("PT50001000005117742093893", "Marta Falcão")
    water = app.bill(main, "10559", "770 214 065", 3_941)
    declined, declined_page = app.pay("bill to decline", SERVICE, water)
    fees = app.transfer(main, school, 28_790, "Propina setembro")
    paid, paid_page = app.pay("transfer", SEPA, fees)
    stopped, stopped_page = app.pay("transfer to cancel", SEPA, app.transfer(main, sister, 11_005, "Férias"))
    shown = app.log_in("customer logs in for the first transfer", paid_page)
    app.confirm("customer confirms the first transfer", paid_page, shown, paid)
    shown = app.log_in("customer logs in for the other transfer", stopped_page)
    app.confirm("customer confirms the other transfer", stopped_page, shown, stopped)
    app.give_up("customer gives up the bill", declined_page, declined)
    app.balance("balances with two amounts reserved", balances, consent, booked, available - 39_795)
    app.cancel("cancel the other transfer", SEPA, stopped)
    app.balance("balances with one amount reserved", balances, consent, booked, available - 28_790)
    app.refuse("cancel the bill", "DELETE", f"{SERVICE}/{declined}", 405, "CANCELLATION_INVALID")
    wrong = app.transfer(main, ("PT50004591434022661985778", school[1]), 1_200, "Visita")
    name, place = "instant transfer to a mistyped IBAN", "creditorAccount.iban"
    app.refuse(name, "POST", INSTANT, 400, "FORMAT_ERROR", place, json=wrong)
    wait(timedelta(minutes=3))
    app.follow("first transfer is settling", SEPA, paid, "ACSP")
    wait(timedelta(minutes=8))
    app.follow("first transfer is settled", SEPA, paid, "ACSC")
    app.find_transfer("transactions after", movements, consent, fees, booked - 28_790)
    much = app.transfer(main, sister, available - 28_790 + 1, "Obras")
    large, page = app.pay("instant transfer a cent above the balance", INSTANT, much)
    shown = app.log_in("customer logs in for the large one", page)
    app.confirm("customer confirms the large one", page, shown, large, "SALDO")
    app.follow("large transfer is rejected", INSTANT, large, "RJCT", "AM04")
    bill, page = app.pay("bill", SERVICE, water)
    shown = app.log_in("customer logs in for the bill", page)
    app.confirm("customer confirms the bill", page, shown, bill)
    app.receipt("bill is paid", bill, water)
    wait(31 * DAY)
    app.refuse("balances after the consent", "GET", balances, 401, "CONSENT_INVALID", consent=consent)
    return walk.steps
