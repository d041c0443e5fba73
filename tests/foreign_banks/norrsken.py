"""Norrsken, a bank of remote calls: every call is a POST to `/svc/…` with all ids in the body.

- Calls are answered with 200, errors too: `{"code": 0, "at": …, "body": {…}}` or `{"code": 2001, "text": …}`. Only
  another method (405) and the pages of the customer have other rules.
- `enter` returns the pass in the header `X-Nk-Pass`, which later calls send. It ends after 10 minutes: 1004.
- What is created gets its reference only in `Location: /slip/<ref>` or `/pay/<ref>`, which is also the customer's page.
- The customer enters a personal number and a code in a form with a hidden seal, and stays at the bank. The app polls.
- States are numbers. A slip (consent): 10 asked, 20 signed, 30 live, 80 refused, 90 dropped, 95 lapsed.
  A signed slip goes live when it is looked at for the second time. A slip not signed in 5 minutes lapses (2003).
- A payment: 10 asked, 20 signed, 30 on its way after 60 seconds, 40 done after 10 minutes, 80 refused, 90 stopped, 95
  lapsed. It can be stopped in states 10 and 20. Later gives 3004.
- Amounts are texts with a decimal comma, days are numbers such as 20260131, times such as 20260131093000.
- `ledger` lists with `skip` and `take` (10 rows at most) and says whether there is `more`.
- The same `tag` again gives 4001 and the Location of the first payment or slip.
- Other codes: 1001 no pass, 1002 unknown pass or app, 1003 malformed body or field, 2001 unknown slip, 2002 slip in the
  wrong state, 2004 unknown account or one the slip does not cover, 2005 right not in the slip, 3000 unknown payment,
  3001 over 20000 kronor, 3002 no cover, 3003 wrong giro number, 3100 too many days, 3101 too many rows, 9404 unknown
  service.
"""

import random
import re
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond, show

APPS = {"kassaboken": "blaklint", "slantar": "smultron"}
SHOPS = "ICA Ångaren|Systembolaget|SJ Resor|Apoteket Lunden|Akademibokhandeln|Vattenfall".split("|")
WORDS = {
    1001: "Passet saknas",
    1002: "Okänd app eller okänt pass",
    1003: "Felaktigt anrop",
    1004: "Passet har gått ut",
    2001: "Okänd slip",
    2002: "Slipen har fel status",
    2003: "Slipen har förfallit",
    2004: "Kontot ingår inte",
    2005: "Rättigheten ingår inte",
    3000: "Okänd betalning",
    3001: "Beloppet är för högt",
    3002: "Täckning saknas",
    3003: "Fel gironummer",
    3004: "För sent att stoppa",
    3100: "För många dagar",
    3101: "För många rader",
    4001: "Finns redan",
    9404: "Okänd tjänst",
}


@dataclass
class Account:
    key: str
    number: str
    name: str
    ore: int
    rows: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Person:
    name: str
    code: str
    accounts: list[Account]


@dataclass
class Paper:
    """A slip or a payment, which a customer signs at `path`."""

    path: str
    app: str
    seal: str
    asked: datetime
    document: dict[str, Any]
    state: int = 10
    looks: int = 0
    signed: datetime | None = None
    person: Person | None = None
    account: Account | None = None


class Fault(Exception):
    def __init__(self, code: int, *, location: str = "", **more: Any) -> None:
        super().__init__(WORDS[code])
        self.code, self.location, self.more = code, location, more


def write_sum(ore: int) -> str:
    return f"{'-' if ore < 0 else ''}{abs(ore) // 100},{abs(ore) % 100:02}"


def is_giro(text: str) -> bool:
    """Whether a giro number ends with its Luhn digit."""
    doubled = [int(digit) * (2 if place % 2 else 1) for place, digit in enumerate(reversed(text.replace("-", "")))]
    return sum(number // 10 + number % 10 for number in doubled) % 10 == 0


def read(document: dict[str, Any], name: str, form: str) -> str:
    value = document.get(name)
    if not isinstance(value, str) or not re.fullmatch(form, value):
        raise Fault(1003, field=name)
    return value


def read_number(document: dict[str, Any], name: str, default: int) -> int:
    value = document.get(name, default)
    if type(value) is not int or value < 0:
        raise Fault(1003, field=name)
    return value


def write_day(day: date) -> int:
    return int(day.strftime("%Y%m%d"))


class Norrsken:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"norrsken {seed}")
        self._passes: dict[str, tuple[str, datetime]] = {}
        self._papers: dict[str, Paper] = {}
        self._people = {
            "19780314-2381": Person(
                "Astrid Lindqvist",
                "4417",
                [self._open("9960-2601134", "Lön", 1_834_050), self._open("9960-2601142", "Spar", 5_200_000)],
            ),
            "19910922-5577": Person(
                "Olle Bergström",
                "9035",
                [self._open("9960-7718820", "Vardag", 933_700), self._open("9960-7718838", "Buffert", 88_125)],
            ),
        }
        calls = {
            "access.ask": self._ask_access,
            "access.look": self._look_at_access,
            "access.drop": self._drop_access,
            "accounts": self._accounts,
            "account": lambda app, document: {"account": self._show(self._account(app, document, "")[1])},
            "saldo": self._saldo,
            "ledger": self._ledger,
            "pay.ask": self._ask_payment,
            "pay.look": lambda app, document: self._shown_payment(self._payment(app, document)),
            "pay.stop": self._stop_payment,
        }
        self._calls = calls
        self._routes = Routes(
            ("POST", "/svc/{name}", self._call),
            ("GET", "/(?:slip|pay)/{ref}", self._page),
            ("POST", "/(?:slip|pay)/{ref}", self._sign),
        )

    def answer(self, request: Request) -> Response:
        try:
            handler, parameters = self._routes.find(request.method, request.path)
        except NoRoute as wrong:
            return Response(405 if wrong.allowed else 404, "", {"X-Nk-Hint": "POST /svc/<service>"})
        return handler(request, **parameters)

    def _call(self, request: Request, name: str) -> Response:
        at = int(self.clock.now.strftime("%Y%m%d%H%M%S"))
        try:
            try:
                document = request.document
            except ValueError:
                raise Fault(1003) from None
            if name == "enter":
                return respond(200, {"code": 0, "at": at}, {"X-Nk-Pass": self._enter(document)})
            if not (key := request.headers.get("x-nk-pass")):
                raise Fault(1001)
            if key not in self._passes:
                raise Fault(1002)
            app, ends = self._passes[key]
            if ends <= self.clock.now:
                raise Fault(1004)
            if name not in self._calls:
                raise Fault(9404, service=name)
            answer = self._calls[name](app, document)
        except Fault as fault:
            headers = {"Location": fault.location} if fault.location else {}
            return respond(200, {"code": fault.code, "at": at, "text": WORDS[fault.code], **fault.more}, headers)
        if isinstance(answer, Paper):
            return respond(200, {"code": 0, "at": at}, {"Location": answer.path})
        return respond(200, {"code": 0, "at": at, "body": answer})

    def _word(self, length: int) -> str:
        return "".join(self._random.choices("bcdfghjkmnpqrstvwxz23456789", k=length))

    def _enter(self, document: dict[str, Any]) -> str:
        app = read(document, "app", r"\w+")
        if APPS.get(app) != document.get("key"):
            raise Fault(1002)
        key = f"{self._word(6)}.{self._word(18)}"
        self._passes[key] = app, self.clock.now + timedelta(minutes=10)
        return key

    def _open(self, number: str, name: str, ore: int) -> Account:
        account = Account(self._word(4).upper(), number, name, ore)
        for days in sorted(self._random.sample(range(1, 61), 17), reverse=True):
            change = self._random.choice((-1, -1, -1, 3)) * self._random.randrange(1_500, 90_000)
            self._book(account, self.clock.today - timedelta(days=days), change, self._random.choice(SHOPS))
        return account

    def _book(self, account: Account, day: date, change: int, text: str) -> None:
        account.rows.insert(0, {"id": self._word(10), "day": write_day(day), "sum": write_sum(change), "text": text})

    def _paper(self, app: str, document: dict[str, Any], kind: str, account: Account | None = None) -> Paper:
        tag = read(document, "tag", r"[\w-]{4,30}")
        for paper in self._papers.values():
            if (paper.app, paper.document["tag"]) == (app, tag):
                raise Fault(4001, location=paper.path)
        ref = self._word(9)
        paper = Paper(f"/{kind}/{ref}", app, self._word(12), self.clock.now, document, account=account)
        self._papers[ref] = paper
        return paper

    def _find(self, app: str, ref: Any, kind: str, unknown: int) -> Paper:
        """The paper, in the state that it has by now."""
        paper = self._papers.get(str(ref))
        if not paper or paper.app != app or not paper.path.startswith(f"/{kind}/"):
            raise Fault(unknown)
        now = self.clock.now
        is_over = kind == "slip" and now > paper.asked + timedelta(days=int(paper.document["days"]))
        if (paper.state == 10 and now > paper.asked + timedelta(minutes=5)) or (paper.state == 30 and is_over):
            paper.state = 95
        if kind == "pay" and paper.signed and paper.account:
            if paper.state == 20 and now >= paper.signed + timedelta(seconds=60):
                paper.state = 30
            if paper.state == 30 and now >= paper.signed + timedelta(minutes=10):
                paper.state = 40
                ore = int(str(paper.document["sum"]).replace(",", ""))
                paper.account.ore -= ore
                self._book(paper.account, self.clock.today, -ore, paper.document["to"]["name"])
        return paper

    def _ask_access(self, app: str, document: dict[str, Any]) -> Paper:
        what = document.get("what")
        if not isinstance(what, list) or not what or not all(one in ("saldo", "ledger", "pay") for one in what):
            raise Fault(1003, field="what")
        if not 1 <= read_number(document, "days", 0) <= 90:
            raise Fault(3100, most=90)
        return self._paper(app, document, "slip")

    def _look_at_access(self, app: str, document: dict[str, Any]) -> dict[str, Any]:
        slip = self._find(app, document.get("slip"), "slip", 2001)
        if slip.state == 20:
            slip.looks += 1
            if slip.looks == 2:
                slip.state = 30
        shown = {"state": slip.state, "what": slip.document["what"], "tag": slip.document["tag"]}
        shown["ends"] = write_day(slip.asked.date() + timedelta(days=int(slip.document["days"])))
        return shown | ({"who": slip.person.name} if slip.person else {})

    def _drop_access(self, app: str, document: dict[str, Any]) -> dict[str, Any]:
        slip = self._find(app, document.get("slip"), "slip", 2001)
        if slip.state not in (10, 20, 30):
            raise Fault(2002, state=slip.state)
        slip.state = 90
        return {"state": 90}

    def _slip(self, app: str, document: dict[str, Any], what: str) -> Person:
        slip = self._find(app, document.get("slip"), "slip", 2001)
        if slip.state == 95:
            raise Fault(2003)
        if slip.state != 30 or not slip.person:
            raise Fault(2002, state=slip.state)
        if what and what not in slip.document["what"]:
            raise Fault(2005, what=what)
        return slip.person

    def _account(self, app: str, document: dict[str, Any], what: str) -> tuple[Person, Account]:
        person = self._slip(app, document, what)
        for account in person.accounts:
            if account.key == document.get("acc"):
                return person, account
        raise Fault(2004)

    def _show(self, account: Account) -> dict[str, Any]:
        return {"acc": account.key, "no": account.number, "name": account.name, "cur": "SEK"}

    def _accounts(self, app: str, document: dict[str, Any]) -> dict[str, Any]:
        return {"rows": [self._show(account) for account in self._slip(app, document, "").accounts]}

    def _held(self, account: Account) -> int:
        signed = [paper for paper in self._papers.values() if paper.account is account and paper.state in (20, 30)]
        return sum(int(str(paper.document["sum"]).replace(",", "")) for paper in signed)

    def _settle_all(self) -> None:
        for ref, paper in list(self._papers.items()):
            if paper.path.startswith("/pay/"):
                self._find(paper.app, ref, "pay", 3000)

    def _saldo(self, app: str, document: dict[str, Any]) -> dict[str, Any]:
        self._settle_all()
        _, account = self._account(app, document, "saldo")
        free = write_sum(account.ore - self._held(account))
        return {"acc": account.key, "saldo": write_sum(account.ore), "free": free}

    def _ledger(self, app: str, document: dict[str, Any]) -> dict[str, Any]:
        self._settle_all()
        _, account = self._account(app, document, "ledger")
        first, last = read_number(document, "from", 0), read_number(document, "to", 99991231)
        skip, take = read_number(document, "skip", 0), read_number(document, "take", 10)
        if not 1 <= take <= 10:
            raise Fault(3101, most=10)
        rows = [row for row in account.rows if first <= row["day"] <= last]
        return {"rows": rows[skip : skip + take], "more": skip + take < len(rows)}

    def _ask_payment(self, app: str, document: dict[str, Any]) -> Paper:
        self._settle_all()
        _, account = self._account(app, document, "pay")
        ore = int(read(document, "sum", r"\d{1,7},\d\d").replace(",", ""))
        to = document.get("to")
        if not ore or not isinstance(to, dict):
            raise Fault(1003, field="to" if ore else "sum")
        read(to, "name", r".{2,35}")
        if not is_giro(read(to, "giro", r"\d{3,4}-\d{4}")):
            raise Fault(3003)
        if ore > 2_000_000:
            raise Fault(3001, most="20000,00")
        if ore > account.ore - self._held(account):
            raise Fault(3002)
        return self._paper(app, document, "pay", account)

    def _payment(self, app: str, document: dict[str, Any]) -> Paper:
        return self._find(app, document.get("pay"), "pay", 3000)

    def _shown_payment(self, payment: Paper) -> dict[str, Any]:
        return {name: payment.document[name] for name in ("tag", "acc", "to", "sum")} | {"state": payment.state}

    def _stop_payment(self, app: str, document: dict[str, Any]) -> dict[str, Any]:
        payment = self._payment(app, document)
        if payment.state not in (10, 20):
            raise Fault(3004, state=payment.state)
        payment.state = 90
        return {"state": 90}

    def _asked(self, request: Request, ref: str) -> Paper | None:
        paper = self._papers.get(ref)
        if paper and paper.path == request.path:
            self._find(paper.app, ref, paper.path.split("/")[1], 2001)
        return paper if paper and paper.path == request.path and paper.state == 10 else None

    def _page(self, request: Request, ref: str, hint: str = "Skriv under?") -> Response:
        if not (paper := self._asked(request, ref)):
            return show(200, "Norrsken", "<p>Inget att skriva under.</p>")
        fields = f'<input type="hidden" name="seal" value="{paper.seal}"><input name="pnr"><input name="kod">'
        buttons = '<button name="do" value="sign">Ja</button><button name="do" value="refuse">Nej</button>'
        return show(200, "Norrsken", f'<p>{hint}</p><form method="post">{fields}{buttons}</form>')

    def _sign(self, request: Request, ref: str) -> Response:
        if not (paper := self._asked(request, ref)):
            return self._page(request, ref)
        if request.field("seal") != paper.seal:
            return show(400, "Norrsken", "<p>Öppna sidan igen.</p>")
        person = self._people.get(request.field("pnr"))
        if not person or person.code != request.field("kod"):
            return self._page(request, ref, "Fel personnummer eller kod.")
        if paper.account and paper.account not in person.accounts:
            return self._page(request, ref, "Kontot är inte ditt.")
        if request.field("do") != "sign":
            paper.state = 80
            return show(200, "Norrsken", "<p>Du har sagt nej. Gå tillbaka till appen.</p>")
        paper.state, paper.signed, paper.person = 20, self.clock.now, person
        return show(200, "Norrsken", "<p>Klart! Gå tillbaka till appen.</p>")
