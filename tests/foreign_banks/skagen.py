"""Skagen, a Danish bank with an interface of its own: a customer gives an app a power of attorney, a "fuldmagt".

- All is under `/aaben/v2`. Each call needs a Skagen-Sporing of 8 to 36 signs, which the answer repeats.
- Errors are `{"fejl": [{"kode", "tekst", "felt"?, …}], "sporing"}`. Wrong headers, queries and keys give 400, wrong
  members 422, all of them at once.
- The app makes a fuldmagt with Basic credentials: `rettigheder`, `dage` (1 to 180), `retur` and `reference`. It is
  `afventer` for 20 minutes, then `aktiv`, `afvist`, `tilbagekaldt` (by DELETE) or `udloebet` (after `gyldigTil`).
- `godkendUrl` is the customer's page, one form: brugernavn, adgangskode, svar. A wrong password shows it again with
  200, an answer gives 302 to `retur`, and a page that is no longer open 410.
- The redirect of a fuldmagt has a `kvittering`, good once and for five minutes. POST `/noegler` changes it, or the
  `fornyelse` of the key before, into a bearer key for 30 minutes.
- Accounts are named by registration number and account number. Amounts are numbers in kroner. `disponibelt` is what is
  booked, with the credit and without what is reserved.
- Entries are newest first, of the last 30 days unless told, 400 days at most. Pages have numbers.
- A payment goes to an account or by payment slip (`kort` 71), up to 50,000 kr. The `eksternId` is the app's own, and
  another payment with it gives 409. The customer approves each payment on a page.
- A payment is `afventer`, `godkendt` or `afvist`, `sendt` after two minutes and `gennemfoert` after 20, from the day in
  `dato`. Until it is sent, PATCH with the status `annulleret` cancels it.
"""

import base64
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from html import escape
from typing import Any
from urllib.parse import urlencode

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

RIGHTS = ("konti", "saldo", "posteringer", "betaling")
APPS = {"regnebraet": "havblik-77", "sparegris": "klitrose-12"}
SHOPS = "Brugsen Ålbæk|Nordjyske Medier|Netto 4417|Frederikshavn Forsyning|DSB Billetter|Matas Skagen".split("|")
BASE = "/aaben/v2"
PAGE = "/netbank/godkend"
OPEN_FOR = timedelta(minutes=20)
MOST = 5_000_000
TEXTS = {
    "ANNULLERING_IKKE_MULIG": "Betalingen kan ikke længere annulleres",
    "APP_UKENDT": "Appens navn eller hemmelighed er forkert",
    "BELOEB_OVER_GRAENSE": "Beløbet er over grænsen for en betaling",
    "DAEKNING_MANGLER": "Der er ikke dækning på kontoen",
    "DUBLET": "Der er allerede en betaling med dette eksternId",
    "FELT_UGYLDIGT": "Feltet mangler eller har en forkert værdi",
    "FINDES_IKKE": "Det søgte findes ikke",
    "FULDMAGT_AFSLUTTET": "Fuldmagten er allerede afsluttet",
    "FULDMAGT_IKKE_AKTIV": "Fuldmagten er ikke aktiv",
    "JSON_UGYLDIG": "Indholdet er ikke et JSON-objekt",
    "KVITTERING_UGYLDIG": "Kvitteringen er ukendt, brugt eller for gammel",
    "METODE_IKKE_TILLADT": "Metoden er ikke tilladt her",
    "NOEGLE_UDLOEBET": "Nøglen er udløbet",
    "NOEGLE_UGYLDIG": "Nøglen mangler eller er ukendt",
    "PARAMETER_UGYLDIG": "Parameteren har en forkert værdi",
    "RETTIGHED_MANGLER": "Fuldmagten giver ikke ret til dette",
    "SPORING_MANGLER": "Skagen-Sporing skal have 8 til 36 tegn",
}


@dataclass
class Account:
    id: str
    name: str
    kind: str
    credit: int
    ore: int = 0
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    user: str
    password: str
    name: str
    accounts: Sequence[Account]


@dataclass
class Case:
    """A fuldmagt or a payment, on which the customer decides once."""

    app: str
    id: str
    code: str
    document: dict[str, Any]
    back: str
    made: datetime
    status: str = "afventer"
    customer: Customer | None = None
    payer: Account | None = None
    ore: int = 0
    approved: datetime | None = None

    @property
    def kind(self) -> str:
        return "betaling" if self.payer else "fuldmagt"

    @property
    def day(self) -> date:
        return date.fromisoformat(self.document["dato"])


def write_time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def read_day(text: Any) -> date | None:
    try:
        return date.fromisoformat(text) if isinstance(text, str) and len(text) == 10 else None
    except ValueError:
        return None


def read_ore(value: Any) -> int | None:
    """A positive number with at most two decimals, as øre."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    ore = round(value * 100)
    return ore if ore > 0 and abs(value * 100 - ore) < 1e-6 else None


def is_slip_number(text: Any) -> bool:
    """Whether this is a payment id of 15 digits with a right last one."""
    if not isinstance(text, str) or not re.fullmatch(r"\d{15}", text):
        return False
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(text))]
    return sum(number // 10 + number % 10 for number in doubled) % 10 == 0


def is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= most


def find_wrong_payee(payee: Any) -> str | None:
    """The wrong member, if any."""
    if not isinstance(payee, dict):
        return "modtager"
    if "kort" in payee:
        if payee["kort"] != "71":
            return "modtager.kort"
        if not is_slip_number(payee.get("betalingsId")):
            return "modtager.betalingsId"
        return None if re.fullmatch(r"\d{8}", str(payee.get("kreditorNr"))) else "modtager.kreditorNr"
    if not re.fullmatch(r"\d{4}-\d{10}", str(payee.get("konto"))):
        return "modtager.konto"
    return None if is_text(payee.get("navn"), 35) else "modtager.navn"


class Skagen:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"skagen {seed}")
        self._cases: dict[str, Case] = {}
        self._receipts: dict[str, tuple[Case, datetime]] = {}
        self._renewals: dict[str, Case] = {}
        self._keys: dict[str, tuple[Case, datetime]] = {}
        mette = [
            self._open("8460-0004512278", "Lønkonto", "loen", 500_000, 2_218_435),
            self._open("8460-0004512286", "Opsparing", "opsparing", 0, 6_450_000),
        ]
        jens = [
            self._open("8460-0007730914", "Budgetkonto", "budget", 0, 912_760),
            self._open("8460-0007730922", "Lønkonto", "loen", 1_000_000, 3_107_090),
            self._open("8460-0007730930", "Bådkonto", "opsparing", 0, 1_840_025),
        ]
        self._customers = [
            Customer("mette.kragh", "Fyrtaarn1858", "Mette Kragh", mette),
            Customer("jens.ancher", "Grenen-to-have", "Jens Ancher", jens),
        ]
        grant, account, payment = BASE + "/fuldmagter/{id}", BASE + "/konti/{id}", BASE + "/betalinger/{id}"
        self._routes = Routes(
            ("POST", BASE + "/fuldmagter", self._ask_grant),
            ("GET", grant, lambda request, id: self._tell(request, 200, self._grant(request, id))),
            ("DELETE", grant, self._withdraw),
            ("POST", BASE + "/noegler", self._give_key),
            ("GET", BASE + "/konti", self._list_accounts),
            ("GET", account + "/saldo", self._balance),
            ("GET", account + "/posteringer", self._list_entries),
            ("POST", BASE + "/betalinger", self._ask_payment),
            ("GET", payment, lambda request, id: self._tell(request, 200, self._payment(request, id))),
            ("PATCH", payment, self._cancel),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        if request.path == PAGE:
            return self._page(request)
        told = {}
        try:
            trace = request.headers.get("skagen-sporing", "")
            if not 8 <= len(trace) <= 36:
                raise Fault(400, "SPORING_MANGLER", "Skagen-Sporing")
            handler, parameters = self._routes.find(request.method, request.path)
            return handler(request, **parameters)
        except NoRoute as wrong:
            if wrong.allowed:
                told["Allow"] = ", ".join(wrong.allowed)
            faults = [Fault(405, "METODE_IKKE_TILLADT") if wrong.allowed else Fault(404, "FINDES_IKKE")]
        except Fault as error:
            faults = [error]
        except ExceptionGroup as group:
            faults = [one for one in group.exceptions if isinstance(one, Fault)]
        if faults[0].status == 401:
            told["WWW-Authenticate"] = "Basic" if faults[0].word == "APP_UKENDT" else "Bearer"
        if trace:
            told["Skagen-Sporing"] = trace
        rows = []
        for fault in faults:
            place = {"felt": fault.place} if fault.place else {}
            rows.append({"kode": fault.word, "tekst": TEXTS[fault.word], **place, **fault.more})
        return respond(faults[0].status, {"fejl": rows, "sporing": trace or None}, told)

    def _word(self, length: int, signs: str = "abcdefghijkmnopqrstuvwxyz0123456789") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _open(self, id: str, name: str, kind: str, credit: int, ore: int) -> Account:
        days = sorted(self._random.sample(range(1, 89), 40), reverse=True)
        changes = [self._random.choice((-1, -1, -1, 1)) * self._random.randrange(900, 90_000) for _ in days]
        account = Account(id, name, kind, credit, ore - sum(changes))
        for ago, change in zip(days, changes, strict=True):
            kind = "kort" if change < 0 else "indbetaling"
            self._enter(account, self.clock.today - timedelta(days=ago), change, self._random.choice(SHOPS), kind)
        return account

    def _enter(self, account: Account, day: date, ore: int, text: str, kind: str) -> None:
        account.ore += ore
        entry = {"posteringId": self._word(14, "0123456789"), "dato": day.isoformat(), "type": kind, "tekst": text}
        account.entries.insert(0, entry | {"beloeb": ore / 100, "saldo": account.ore / 100})

    def _advance(self) -> None:
        now = self.clock.now
        for case in self._cases.values():
            if case.status == "afventer" and now - case.made >= OPEN_FOR:
                case.status = "udloebet"
            if case.status == "aktiv" and self.clock.today.isoformat() > case.document["gyldigTil"]:
                case.status = "udloebet"
            if not case.approved or case.status not in ("godkendt", "sendt"):
                continue
            begins = max(case.approved, datetime.combine(case.day, time(), UTC))
            if now - begins >= timedelta(minutes=2):
                case.status = "sendt"
            if now - begins >= timedelta(minutes=20) and case.payer:
                case.status = "gennemfoert"
                day, text = (begins + timedelta(minutes=20)).date(), case.document["tekst"]
                payee = case.document["modtager"]
                self._enter(case.payer, day, -case.ore, text, "indbetalingskort" if "kort" in payee else "overfoersel")
                for account in (account for one in self._customers for account in one.accounts):
                    if account.id == payee.get("konto"):
                        self._enter(account, day, case.ore, text, "overfoersel")

    def _give(
        self, request: Request, status: int, document: dict[str, Any], headers: dict[str, str] | None = None
    ) -> Response:
        trace = {"Skagen-Sporing": request.headers["skagen-sporing"]}
        return respond(status, document, trace | (headers or {}), media="application/json; charset=utf-8")

    def _tell(self, request: Request, status: int, case: Case) -> Response:
        document = {f"{case.kind}Id": case.id, "status": case.status, "oprettet": write_time(case.made)}
        document |= case.document
        if case.status == "afventer":
            document["godkendUrl"] = f"{PAGE}?sag={case.code}"
        elif case.customer and case.status == "aktiv":
            document["kunde"] = case.customer.name
        return self._give(request, status, document)

    def _document(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "JSON_UGYLDIG") from None

    def _app(self, request: Request) -> str:
        scheme, _, value = request.headers.get("authorization", "").partition(" ")
        try:
            app, _, secret = base64.b64decode(value).decode().partition(":")
        except ValueError:
            app = secret = ""
        if scheme != "Basic" or app not in APPS or APPS[app] != secret:
            raise Fault(401, "APP_UKENDT")
        return app

    def _enough(self, request: Request, right: str) -> tuple[Case, Customer]:
        """The fuldmagt of the key and the customer, if it gives this right."""
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or key not in self._keys:
            raise Fault(401, "NOEGLE_UGYLDIG")
        grant, ends = self._keys[key]
        if ends <= self.clock.now:
            raise Fault(401, "NOEGLE_UDLOEBET")
        if grant.status != "aktiv" or not grant.customer:
            raise Fault(403, "FULDMAGT_IKKE_AKTIV", aktuelStatus=grant.status)
        if right not in grant.document["rettigheder"]:
            raise Fault(403, "RETTIGHED_MANGLER", rettighed=right)
        return grant, grant.customer

    def _ask_grant(self, request: Request) -> Response:
        app, document = self._app(request), self._document(request)
        rights, days, back = document.get("rettigheder"), document.get("dage"), document.get("retur")
        wrong = []
        if not isinstance(rights, list) or not rights or not all(right in RIGHTS for right in rights):
            wrong.append(Fault(422, "FELT_UGYLDIGT", "rettigheder"))
        if not isinstance(days, int) or not 1 <= days <= 180:
            wrong.append(Fault(422, "FELT_UGYLDIGT", "dage", graense=180))
        if not isinstance(back, str) or not back.startswith("https://"):
            wrong.append(Fault(422, "FELT_UGYLDIGT", "retur"))
        if not is_text(document.get("reference"), 40):
            wrong.append(Fault(422, "FELT_UGYLDIGT", "reference"))
        if wrong or not isinstance(days, int):
            raise ExceptionGroup("wrong members", wrong)
        told = {"rettigheder": rights, "gyldigTil": (self.clock.today + timedelta(days=days)).isoformat()}
        told["reference"] = document["reference"]
        id = "FM-" + self._word(8, "ABCDEFGHJKLMNPQRSTUVWXYZ23456789")
        grant = self._cases[id] = Case(app, id, self._word(20), told, str(back), self.clock.now)
        return self._tell(request, 201, grant)

    def _grant(self, request: Request, id: str) -> Case:
        app, grant = self._app(request), self._cases.get(id)
        if not grant or grant.kind != "fuldmagt" or grant.app != app:
            raise Fault(404, "FINDES_IKKE")
        return grant

    def _withdraw(self, request: Request, id: str) -> Response:
        grant = self._grant(request, id)
        if grant.status not in ("afventer", "aktiv"):
            raise Fault(409, "FULDMAGT_AFSLUTTET", aktuelStatus=grant.status)
        grant.status = "tilbagekaldt"
        return self._tell(request, 200, grant)

    def _give_key(self, request: Request) -> Response:
        app, document = self._app(request), self._document(request)
        now = self.clock.now
        if "fornyelse" in document:
            grant, place = self._renewals.pop(str(document["fornyelse"]), None), "fornyelse"
        else:
            grant, ends = self._receipts.pop(str(document.get("kvittering")), (None, now))
            grant, place = grant if ends > now else None, "kvittering"
        if not grant or grant.app != app:
            word = "KVITTERING_UGYLDIG" if place == "kvittering" else "NOEGLE_UGYLDIG"
            raise Fault(400, word, place)
        if grant.status != "aktiv":
            raise Fault(403, "FULDMAGT_IKKE_AKTIV", aktuelStatus=grant.status)
        key, renewal = self._word(40), self._word(40)
        self._keys[key], self._renewals[renewal] = (grant, now + timedelta(minutes=30)), grant
        told = {"noegle": key, "type": "Bearer", "sekunder": 1800, "fornyelse": renewal, "fuldmagtId": grant.id}
        return self._give(request, 200, told, {"Cache-Control": "no-store"})

    def _list_accounts(self, request: Request) -> Response:
        _, customer = self._enough(request, "konti")
        rows = []
        for account in customer.accounts:
            row = {"kontoId": account.id, "navn": account.name, "type": account.kind, "valuta": "DKK"}
            rows.append(row | {"kredit": account.credit / 100, "ejer": customer.name})
        return self._give(request, 200, {"konti": rows, "antal": len(rows)})

    def _account(self, customer: Customer, id: str) -> Account:
        for account in customer.accounts:
            if account.id == id:
                return account
        raise Fault(404, "FINDES_IKKE", "kontoId")

    def _available(self, account: Account) -> int:
        held = sum(
            case.ore
            for case in self._cases.values()
            if case.payer is account and case.status in ("godkendt", "sendt") and case.day <= self.clock.today
        )
        return account.ore + account.credit - held

    def _balance(self, request: Request, id: str) -> Response:
        _, customer = self._enough(request, "saldo")
        account = self._account(customer, id)
        told = {"kontoId": id, "bogfoert": account.ore / 100, "disponibelt": self._available(account) / 100}
        return self._give(request, 200, told | {"valuta": "DKK", "tidspunkt": write_time(self.clock.now)})

    def _list_entries(self, request: Request, id: str) -> Response:
        _, customer = self._enough(request, "posteringer")
        account, query, today = self._account(customer, id), request.query, self.clock.today
        start = read_day(query.get("fra", (today - timedelta(days=30)).isoformat()))
        end = read_day(query.get("til", today.isoformat()))
        number, size = query.get("side", "1"), query.get("antal", "20")
        if not start or start < today - timedelta(days=400):
            raise Fault(400, "PARAMETER_UGYLDIG", "fra")
        if not end or end < start:
            raise Fault(400, "PARAMETER_UGYLDIG", "til")
        if not size.isdecimal() or not 1 <= int(size) <= 50:
            raise Fault(400, "PARAMETER_UGYLDIG", "antal", graense=50)
        rows = [row for row in account.entries if start.isoformat() <= row["dato"] <= end.isoformat()]
        pages = max(1, -(-len(rows) // int(size)))
        if not number.isdecimal() or not 1 <= int(number) <= pages:
            raise Fault(400, "PARAMETER_UGYLDIG", "side", graense=pages)
        shown = rows[(int(number) - 1) * int(size) : int(number) * int(size)]
        onward = {"fra": start, "til": end, "antal": size, "side": int(number) + 1}
        told = {"kontoId": id, "posteringer": shown, "side": int(number), "sider": pages, "ialt": len(rows)}
        told["naeste"] = f"{request.path}?{urlencode(onward)}" if int(number) < pages else None
        return self._give(request, 200, told)

    def _ask_payment(self, request: Request) -> Response:
        grant, customer = self._enough(request, "betaling")
        document, today = self._document(request), self.clock.today
        payee, ore = document.get("modtager"), read_ore(document.get("beloeb"))
        day, back = read_day(document.get("dato", today.isoformat())), document.get("retur")
        payer = next((account for account in customer.accounts if account.id == document.get("fraKonto")), None)
        wrong = []
        if not is_text(document.get("eksternId"), 30):
            wrong.append(Fault(422, "FELT_UGYLDIGT", "eksternId"))
        if not payer:
            wrong.append(Fault(422, "FELT_UGYLDIGT", "fraKonto"))
        if place := find_wrong_payee(payee):
            wrong.append(Fault(422, "FELT_UGYLDIGT", place))
        if not ore:
            wrong.append(Fault(422, "FELT_UGYLDIGT", "beloeb"))
        elif ore > MOST:
            wrong.append(Fault(422, "BELOEB_OVER_GRAENSE", "beloeb", graense=MOST // 100))
        if not is_text(document.get("tekst"), 35):
            wrong.append(Fault(422, "FELT_UGYLDIGT", "tekst"))
        if not day or not today <= day <= today + timedelta(days=365):
            wrong.append(Fault(422, "FELT_UGYLDIGT", "dato"))
        if not isinstance(back, str) or not back.startswith("https://"):
            wrong.append(Fault(422, "FELT_UGYLDIGT", "retur"))
        if wrong or not payer or not ore or not day:
            raise ExceptionGroup("wrong members", wrong)
        for case in self._cases.values():
            if case.payer and case.app == grant.app and case.document["eksternId"] == document["eksternId"]:
                raise Fault(409, "DUBLET", "eksternId", betalingId=case.id)
        if ore > self._available(payer):
            raise Fault(422, "DAEKNING_MANGLER", "beloeb")
        told = {name: document[name] for name in ("eksternId", "fraKonto", "modtager", "tekst")}
        told |= {"beloeb": ore / 100, "valuta": "DKK", "dato": day.isoformat()}
        id = "BT" + self._word(11, "0123456789")
        payment = Case(grant.app, id, self._word(20), told, str(back), self.clock.now, payer=payer, ore=ore)
        payment.customer = customer
        self._cases[id] = payment
        return self._tell(request, 201, payment)

    def _payment(self, request: Request, id: str) -> Case:
        grant, customer = self._enough(request, "betaling")
        payment = self._cases.get(id)
        if not payment or not payment.payer or payment.app != grant.app or payment.customer is not customer:
            raise Fault(404, "FINDES_IKKE", "betalingId")
        return payment

    def _cancel(self, request: Request, id: str) -> Response:
        payment = self._payment(request, id)
        if self._document(request).get("status") != "annulleret":
            raise Fault(422, "FELT_UGYLDIGT", "status")
        if payment.status not in ("afventer", "godkendt"):
            raise Fault(409, "ANNULLERING_IKKE_MULIG", aktuelStatus=payment.status)
        payment.status = "annulleret"
        return self._tell(request, 200, payment)

    def _page(self, request: Request) -> Response:
        code = request.query.get("sag")
        case = next((case for case in self._cases.values() if case.code == code), None)
        if not case:
            return show(404, "Skagen Bank", "<p>Sagen findes ikke.</p>")
        if case.status != "afventer":
            return show(410, "Skagen Bank", "<p>Sagen er afsluttet.</p>")
        if request.method != "POST":
            return self._form(case)
        customer = next((one for one in self._customers if one.user == request.field("brugernavn").lower()), None)
        is_other = case.customer is not None and case.customer is not customer
        if not customer or is_other or customer.password != request.field("adgangskode"):
            return self._form(case, "Brugernavn eller adgangskode er forkert.")
        answer = request.field("svar")
        if answer not in ("godkend", "afvis"):
            return self._form(case, "Vælg godkend eller afvis.")
        case.customer = customer
        if answer == "afvis":
            case.status = "afvist"
        elif case.payer:
            case.status, case.approved = "godkendt", self.clock.now
        else:
            case.status = "aktiv"
        told = {case.kind: case.id, "resultat": "afvist" if answer == "afvis" else "godkendt"}
        if case.kind == "fuldmagt":
            told["reference"] = case.document["reference"]
        if case.status == "aktiv":
            told["kvittering"] = receipt = self._word(24)
            self._receipts[receipt] = case, self.clock.now + timedelta(minutes=5)
        return Response(302, "", {"Location": f"{case.back}?{urlencode(told)}"})

    def _form(self, case: Case, error: str = "") -> Response:
        if case.payer:
            kroner = f"{case.ore / 100:.2f}".replace(".", ",")
            title = "Godkend betaling"
            about = f"{kroner} kr. fra {case.payer.id}: {escape(case.document['tekst'])}"
        else:
            title, rights = "Giv fuldmagt", ", ".join(case.document["rettigheder"])
            about = f"{case.app} beder om: {rights}, til og med {case.document['gyldigTil']}"
        told = f'<p class="fejl">{error}</p>' if error else ""
        form = (
            f"<p>{about}</p>{told}"
            f'<form method="post" action="{PAGE}?sag={case.code}">'
            '<label>Brugernavn <input name="brugernavn"></label>'
            '<label>Adgangskode <input name="adgangskode" type="password"></label>'
            '<button name="svar" value="godkend">Godkend</button>'
            '<button name="svar" value="afvis">Afvis</button></form>'
        )
        return show(200, title, form)
