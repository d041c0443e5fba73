"""Bursztyn, a bank of plain documents and lists, where the customer decides on a phone and the app polls.

- Every call has `X-Klucz`, the key of the app, and `X-Wersja: 3` (406 otherwise).
- Amounts are texts with two decimals and without a sign; `strona` says MA (credit) or WN (debit). Days are such as
  31.12.2026, times such as 31.12.2026 09:30:00.
- Errors are `{"blad": <word>, "opis": …, "sprawa": …}`, often with `pole`.
- What waits for the customer (`/api/zgody`, `/api/przelewy`, `/api/paczki`) has a `kod`. The phone is
  `/telefon/<login>/<kod>`: GET shows the question, PUT answers it with a PIN. The third wrong PIN refuses.
  After five minutes without an answer it lapses.
- A consent: NOWA, after the customer's yes W_TOKU for ten seconds, then AKTYWNA. ODRZUCONA, PRZETERMINOWANA, COFNIETA,
  and after its last day ZAKONCZONA. Calls name it in `X-Zgoda`. The history can be read `dziennie` times in a day;
  `X-Pozostalo` says how often it still can be.
- Consents, accounts and payments have an ETag: a GET with `If-None-Match` gives 304; a change needs `If-Match` (428
  without, 412 with an old one).
- A transfer: DO_PODPISU, PRZYJETY, after a minute WYKONANY; with a later day ZAPLANOWANY until then. ODRZUCONY,
  PRZETERMINOWANY, and by PUT of its `stan` ANULOWANY.
- A bulk payment (`paczki`) has 2 to 5 transfers and their sum, which must be right. It is signed once.
- At most 10000.00 in a transfer and 20000.00 in a day. Account numbers have 26 digits with a checksum.
- The history has the newest first, `ile` rows (5 if not told), from the one `po` an id; `X-Nastepne` has the id of the
  last row if there are more.
"""

import random
import re
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond

APPS = {"skarbonka-71": "Skarbonka", "grosik-05": "Grosik"}
SCOPES = ["konta", "historia", "przelewy"]
SHOPS = "Żabka|Empik|Orlen|PKP Intercity|Apteka Pod Lwem|Piekarnia Bochen".split("|")
TEXTS = {
    "BRAK_KLUCZA": "Podaj klucz aplikacji",
    "NIEZNANY_KLUCZ": "Nie znamy tej aplikacji",
    "WERSJA": "Obsługujemy wersję 3",
    "NIEZNANA_SCIEZKA": "Nie ma takiej ścieżki",
    "NIEDOZWOLONA_METODA": "Tej metody tu nie ma",
    "SKLADNIA": "Nie można odczytać treści",
    "BRAK_POLA": "Brakuje pola",
    "ZLE_POLE": "Pole ma złą wartość",
    "ZA_DLUGO": "Najwyżej 120 dni",
    "BRAK_ZGODY": "Podaj zgodę",
    "NIEZNANA_ZGODA": "Nie znamy tej zgody",
    "ZGODA_NIEAKTYWNA": "Zgoda nie jest aktywna",
    "POZA_ZAKRESEM": "Zgoda tego nie obejmuje",
    "LIMIT_ODCZYTOW": "Na dziś wystarczy",
    "NIEZNANE_KONTO": "Nie ma takiego konta",
    "NIEZNANA_PLATNOSC": "Nie ma takiej płatności",
    "NIEZNANY_KLIENT": "Nie znamy klienta",
    "NIEZNANY_KOD": "Nic nie czeka na podpis",
    "ZLY_PIN": "Zły PIN",
    "PODAJ_IF_MATCH": "Potrzebny nagłówek If-Match",
    "STARA_WERSJA": "Stan się zmienił",
    "ZLY_NRB": "Zły numer rachunku",
    "LIMIT_KWOTY": "Kwota jest za wysoka",
    "LIMIT_DNIA": "Limit dnia jest wyczerpany",
    "BRAK_SRODKOW": "Za mało środków",
    "ZLA_SUMA": "Suma się nie zgadza",
    "ZA_POZNO": "Już za późno",
}


def write_amount(grosze: int) -> dict[str, str]:
    return {"kwota": f"{abs(grosze) // 100}.{abs(grosze) % 100:02}", "strona": "WN" if grosze < 0 else "MA"}


def write_day(day: date) -> str:
    return day.strftime("%d.%m.%Y")


def write_time(time: datetime) -> str:
    return time.strftime("%d.%m.%Y %H:%M:%S")


def read_day(text: Any) -> date:
    """Raises ValueError."""
    return datetime.strptime(str(text), "%d.%m.%Y").date()


def is_number(text: Any) -> bool:
    """Whether this is an account number with the right check digits."""
    return isinstance(text, str) and bool(re.fullmatch(r"\d{26}", text)) and int(f"{text[2:]}2521{text[:2]}") % 97 == 1


def number_of(rest: str) -> str:
    """The account number with this bank and account."""
    return f"{98 - int(f'{rest}252100') % 97:02}{rest}"


@dataclass
class Account:
    id: str
    number: str
    name: str
    grosze: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Customer:
    name: str
    pin: str
    accounts: list[Account]


@dataclass
class Question:
    """What the customer answers on the phone: a consent, a transfer or a bulk payment."""

    kind: str
    id: str
    login: str
    code: str
    asked: datetime
    document: dict[str, Any]
    states: dict[str, str]
    ends: date | None = None
    account: Account | None = None
    grosze: int = 0
    said: str = ""
    said_at: datetime | None = None
    wrong: int = 0
    version: int = 1
    shown: str = ""
    day: date | None = None
    reads: int = 0
    booked: bool = False


CONSENT = {"new": "NOWA", "no": "ODRZUCONA", "lapsed": "PRZETERMINOWANA", "stopped": "COFNIETA"}
TRANSFER = {"new": "DO_PODPISU", "no": "ODRZUCONY", "lapsed": "PRZETERMINOWANY", "stopped": "ANULOWANY"}
BULK = {"new": "DO_PODPISU", "no": "ODRZUCONA", "lapsed": "PRZETERMINOWANA", "stopped": "ANULOWANA"}


class Bursztyn:
    def __init__(self, seed: int, clock: Clock) -> None:
        self.clock = clock
        self._random = random.Random(seed)
        self._count = self._random.randrange(100, 900)
        self._questions: dict[str, Question] = {}
        self._customers = {
            "71204418": Customer("Hanna Wilk", "5063", self._open("Konto Jantar", "Oszczędności")),
            "30958120": Customer("Marek Sowa", "9174", self._open("Konto Osobiste", "Konto Morskie")),
        }
        self._routes = Routes(
            ("POST", "/api/zgody", self._ask),
            ("GET", "/api/zgody/{id}", self._look),
            ("DELETE", "/api/zgody/{id}", self._withdraw),
            ("GET", "/api/konta", self._list_accounts),
            ("GET", "/api/konta/{id}", self._show_account),
            ("GET", "/api/konta/{id}/saldo", self._show_balance),
            ("GET", "/api/konta/{id}/historia", self._list_rows),
            ("POST", "/api/przelewy", self._transfer),
            ("GET", "/api/przelewy/{id}", self._look),
            ("PUT", "/api/przelewy/{id}/stan", self._stop),
            ("POST", "/api/paczki", self._bulk),
            ("GET", "/api/paczki/{id}", self._look),
            ("PUT", "/api/paczki/{id}/stan", self._stop),
            ("GET", "/telefon/{login}/{code}", self._show_question),
            ("PUT", "/telefon/{login}/{code}", self._decide),
        )

    def _open(self, *names: str) -> list[Account]:
        accounts: list[Account] = []
        for name in names:
            grosze = 500_000 if accounts else 2_500_000
            rest = "12405598" + "".join(self._random.choices("0123456789", k=16))
            account = Account(self._make(4, "BCDFGHJKLMNPQRSTVWXZ23456789"), number_of(rest), name)
            day = self.clock.today - timedelta(days=50)
            self._book(account, grosze + self._random.randrange(99_999), "Wpłata", day)
            for _ in range(11):
                day += timedelta(days=self._random.randrange(1, 4))
                self._book(account, -self._random.randrange(900, 30_000), self._random.choice(SHOPS), day)
            accounts.append(account)
        return accounts

    def _make(self, length: int, letters: str) -> str:
        return "".join(self._random.choices(letters, k=length))

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _book(self, account: Account, grosze: int, title: str, day: date) -> None:
        account.grosze += grosze
        row = {"nr": f"H{self._next():06}", "data": write_day(day), **write_amount(grosze), "tytul": title}
        account.rows.insert(0, row | {"saldoPo": write_amount(account.grosze)})

    def answer(self, request: Request) -> Response:
        try:
            self._pass_time()
            try:
                handle, parameters = self._routes.find(request.method, request.path)
            except NoRoute as missing:
                word = "NIEDOZWOLONA_METODA" if missing.allowed else "NIEZNANA_SCIEZKA"
                raise Fault(405 if missing.allowed else 404, word) from None
            if not request.path.startswith("/telefon/"):
                self._check_app(request)
            response: Response = handle(request, **parameters)
            return response
        except Fault as fault:
            document: dict[str, Any] = {"blad": fault.word, "opis": TEXTS[fault.word]}
            if fault.place:
                document["pole"] = fault.place
            return respond(fault.status, document | {**fault.more, "sprawa": f"S-{self._make(6, '0123456789')}"})

    def _check_app(self, request: Request) -> None:
        key = request.headers.get("x-klucz", "")
        if not key:
            raise Fault(401, "BRAK_KLUCZA", "X-Klucz")
        if key not in APPS:
            raise Fault(401, "NIEZNANY_KLUCZ", "X-Klucz")
        if request.headers.get("x-wersja") != "3":
            raise Fault(406, "WERSJA", "X-Wersja", wersje=[3])

    def _pass_time(self) -> None:
        for question in self._questions.values():
            if question.kind != "zgody" and not question.booked and self._state(question).startswith("WYKONAN"):
                question.booked = True
                account = question.account
                assert account
                for sent in question.document.get("pozycje") or [question.document]:
                    grosze = int(Decimal(sent["kwota"]) * 100)
                    self._book(account, -grosze, sent["tytul"], self._done_on(question))
            state = self._state(question)
            if question.shown != state:
                question.version += bool(question.shown)
                question.shown = state

    def _done_on(self, question: Question) -> date:
        assert question.said_at
        return question.day if question.day else (question.said_at + timedelta(minutes=1)).date()

    def _state(self, question: Question) -> str:
        now, words = self.clock.now, question.states
        if question.said in ("no", "stopped"):
            return words[question.said]
        if question.said_at is None:
            return words["lapsed" if now >= question.asked + timedelta(minutes=5) else "new"]
        if question.kind == "zgody":
            if question.ends and now.date() > question.ends:
                return "ZAKONCZONA"
            return "W_TOKU" if now < question.said_at + timedelta(seconds=10) else "AKTYWNA"
        end = "Y" if question.kind == "przelewy" else "A"
        if question.day and question.day > question.said_at.date():
            return "WYKONAN" + end if now.date() >= question.day else "ZAPLANOWAN" + end
        return ("PRZYJET" if now < question.said_at + timedelta(minutes=1) else "WYKONAN") + end

    # The phone

    def _find_question(self, login: str, code: str) -> tuple[Customer, Question]:
        customer = self._customers.get(login)
        if customer is None:
            raise Fault(404, "NIEZNANY_KLIENT")
        for question in self._questions.values():
            if question.login == login and question.code == code and self._state(question) == question.states["new"]:
                return customer, question
        raise Fault(404, "NIEZNANY_KOD")

    def _show_question(self, request: Request, login: str, code: str) -> Response:
        customer, question = self._find_question(login, code)
        return respond(200, {"klient": customer.name, "dotyczy": question.kind, "nr": question.id})

    def _decide(self, request: Request, login: str, code: str) -> Response:
        customer, question = self._find_question(login, code)
        data = self._read(request)
        if data.get("decyzja") not in ("TAK", "NIE"):
            raise Fault(422, "ZLE_POLE", "decyzja")
        if data.get("pin") != customer.pin:
            question.wrong += 1
            if question.wrong == 3:
                question.said = "no"
            raise Fault(403, "ZLY_PIN", "pin", proby=3 - question.wrong)
        question.said = "yes" if data["decyzja"] == "TAK" else "no"
        question.said_at = self.clock.now
        return respond(200, {"nr": question.id, "decyzja": data["decyzja"]})

    # Consents

    def _read(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "SKLADNIA") from None

    def _add(self, kind: str, id: str, login: str, document: dict[str, Any], **more: Any) -> Response:
        states = {"zgody": CONSENT, "przelewy": TRANSFER, "paczki": BULK}[kind]
        code = self._make(6, "0123456789")
        question = Question(kind, id, login, code, self.clock.now, document, states, **more)
        self._questions[id] = question
        question.shown = states["new"]
        location = {"Location": f"/api/{kind}/{id}", "ETag": '"1"'}
        return respond(202, self._show(question), location)

    def _show(self, question: Question) -> dict[str, Any]:
        state = self._state(question)
        document = {"nr": question.id, "stan": state, **question.document, "utworzono": write_time(question.asked)}
        if state == question.states["new"]:
            document["kod"] = question.code
        if question.kind == "zgody" and state in ("AKTYWNA", "W_TOKU"):
            document["klient"] = self._customers[question.login].name
        if question.booked:
            document["wykonano"] = write_day(self._done_on(question))
        return document

    def _find(self, request: Request, kind: str, id: str) -> Question:
        question = self._questions.get(id)
        if question is None or question.kind != kind:
            raise Fault(404, "NIEZNANA_ZGODA" if kind == "zgody" else "NIEZNANA_PLATNOSC")
        return question

    def _look(self, request: Request, id: str) -> Response:
        question = self._find(request, request.path.split("/")[2], id)
        return self._answer_version(request, f'"{question.version}"', self._show(question))

    def _answer_version(self, request: Request, tag: str, document: Any) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(304, "", {"ETag": tag})
        return respond(200, document, {"ETag": tag})

    def _check_version(self, request: Request, question: Question) -> None:
        told = request.headers.get("if-match")
        if told is None:
            raise Fault(428, "PODAJ_IF_MATCH", "If-Match")
        if told != f'"{question.version}"':
            raise Fault(412, "STARA_WERSJA", "If-Match")

    def _ask(self, request: Request) -> Response:
        data = self._read(request)
        for name in ("klient", "zakres", "do"):
            if name not in data:
                raise Fault(400, "BRAK_POLA", name)
        if data["klient"] not in self._customers:
            raise Fault(404, "NIEZNANY_KLIENT", "klient")
        scopes, reads = data["zakres"], data.get("dziennie", 4)
        if not isinstance(scopes, list) or not scopes or not set(scopes) <= set(SCOPES):
            raise Fault(422, "ZLE_POLE", "zakres")
        try:
            ends = read_day(data["do"])
        except ValueError:
            raise Fault(422, "ZLE_POLE", "do") from None
        if ends > self.clock.today + timedelta(days=120):
            raise Fault(422, "ZA_DLUGO", "do", najwyzej=120)
        document = {"zakres": scopes, "do": write_day(ends), "dziennie": reads}
        id = self._make(8, "0123456789")
        return self._add("zgody", id, data["klient"], document, ends=ends)

    def _withdraw(self, request: Request, id: str) -> Response:
        question = self._find(request, "zgody", id)
        self._check_version(request, question)
        if self._state(question) not in ("NOWA", "W_TOKU", "AKTYWNA"):
            raise Fault(409, "ZA_POZNO", stan=self._state(question))
        return self._end(question)

    def _end(self, question: Question) -> Response:
        question.said = "stopped"
        question.version += 1
        question.shown = self._state(question)
        return respond(200, self._show(question), {"ETag": f'"{question.version}"'})

    def _consent(self, request: Request, scope: str) -> Question:
        id = request.headers.get("x-zgoda")
        if not id:
            raise Fault(401, "BRAK_ZGODY", "X-Zgoda")
        question = self._questions.get(id)
        if question is None or question.kind != "zgody":
            raise Fault(401, "NIEZNANA_ZGODA", "X-Zgoda")
        if self._state(question) != "AKTYWNA":
            raise Fault(403, "ZGODA_NIEAKTYWNA", "X-Zgoda", stan=self._state(question))
        if scope not in question.document["zakres"]:
            raise Fault(403, "POZA_ZAKRESEM", "X-Zgoda", zakres=scope)
        return question

    # Accounts

    def _list_accounts(self, request: Request) -> Response:
        customer = self._customers[self._consent(request, "konta").login]
        return respond(200, [self._describe(account) for account in customer.accounts])

    def _describe(self, account: Account) -> dict[str, Any]:
        return {"konto": account.id, "nrb": account.number, "nazwa": account.name, "waluta": "PLN"}

    def _account(self, request: Request, scope: str, id: Any) -> tuple[Question, Account]:
        consent = self._consent(request, scope)
        for account in self._customers[consent.login].accounts:
            if account.id == id:
                return consent, account
        raise Fault(404, "NIEZNANE_KONTO")

    def _show_account(self, request: Request, id: str) -> Response:
        _, account = self._account(request, "konta", id)
        return self._answer_version(request, f'"{account.id.lower()}-1"', self._describe(account))

    def _waiting(self, account: Account) -> int:
        words = ("PRZYJETY", "PRZYJETA")
        found = [one for one in self._questions.values() if one.account is account and self._state(one) in words]
        return sum(question.grosze for question in found)

    def _show_balance(self, request: Request, id: str) -> Response:
        _, account = self._account(request, "konta", id)
        free = account.grosze - self._waiting(account)
        document = {"ksiegowe": write_amount(account.grosze), "wolne": write_amount(free), "waluta": "PLN"}
        return respond(200, document | {"na": write_time(self.clock.now)})

    def _list_rows(self, request: Request, id: str) -> Response:
        consent, account = self._account(request, "historia", id)
        count = request.query.get("ile", "5")
        if not re.fullmatch(r"[1-9]\d?", count) or int(count) > 50:
            raise Fault(422, "ZLE_POLE", "ile")
        try:
            first = read_day(request.query.get("od", "01.01.2000"))
            last = read_day(request.query.get("do", "31.12.2999"))
        except ValueError:
            raise Fault(422, "ZLE_POLE", "od") from None
        if consent.day != self.clock.today:
            consent.day, consent.reads = self.clock.today, 0
        if consent.reads >= consent.document["dziennie"]:
            raise Fault(429, "LIMIT_ODCZYTOW", dziennie=consent.document["dziennie"])
        consent.reads += 1
        rows = [row for row in account.rows if first <= read_day(row["data"]) <= last]
        if after := request.query.get("po"):
            rows = rows[next((place for place, row in enumerate(rows, 1) if row["nr"] == after), 0) :]
        page = rows[: int(count)]
        headers = {"X-Pozostalo": str(consent.document["dziennie"] - consent.reads)}
        if len(rows) > len(page):
            headers["X-Nastepne"] = page[-1]["nr"]
        return respond(200, page, headers)

    # Payments

    def _read_transfer(self, data: Any, at: str = "") -> tuple[dict[str, Any], int]:
        if not isinstance(data, dict):
            raise Fault(400, "BRAK_POLA", f"{at}naRachunek")
        for name in ("naRachunek", "odbiorca", "kwota", "tytul"):
            if not data.get(name):
                raise Fault(400, "BRAK_POLA", at + name)
        if not is_number(data["naRachunek"]):
            raise Fault(422, "ZLY_NRB", f"{at}naRachunek")
        if not isinstance(data["kwota"], str) or not re.fullmatch(r"\d+\.\d\d", data["kwota"]):
            raise Fault(422, "ZLE_POLE", f"{at}kwota")
        grosze = int(Decimal(data["kwota"]) * 100)
        if not grosze:
            raise Fault(422, "ZLE_POLE", f"{at}kwota")
        return {name: data[name] for name in ("naRachunek", "odbiorca", "kwota", "tytul")}, grosze

    def _check_money(self, account: Account, grosze: int, place: str) -> None:
        sent = sum(
            question.grosze
            for question in self._questions.values()
            if question.account is account
            and question.asked.date() == self.clock.today
            and not (question.said in ("no", "stopped") or self._state(question) == question.states["lapsed"])
        )
        if sent + grosze > 2_000_000:
            raise Fault(422, "LIMIT_DNIA", place, zostalo=write_amount(2_000_000 - sent)["kwota"])
        if grosze > account.grosze - self._waiting(account):
            raise Fault(422, "BRAK_SRODKOW", place)

    def _transfer(self, request: Request) -> Response:
        self._consent(request, "przelewy")
        data = self._read(request)
        if "zKonta" not in data:
            raise Fault(400, "BRAK_POLA", "zKonta")
        consent, account = self._account(request, "przelewy", data["zKonta"])
        document, grosze = self._read_transfer(data)
        if grosze > 1_000_000:
            raise Fault(422, "LIMIT_KWOTY", "kwota", najwyzej="10000.00")
        day = None
        if "data" in data:
            try:
                day = read_day(data["data"])
            except ValueError:
                raise Fault(422, "ZLE_POLE", "data") from None
            if day < self.clock.today:
                raise Fault(422, "ZLE_POLE", "data")
            document["data"] = data["data"]
        self._check_money(account, grosze, "kwota")
        document = {"zKonta": account.id, **document, "waluta": "PLN"}
        id = f"P-{self.clock.today:%y}-{self._next():06}"
        return self._add("przelewy", id, consent.login, document, account=account, grosze=grosze, day=day)

    def _bulk(self, request: Request) -> Response:
        self._consent(request, "przelewy")
        data = self._read(request)
        consent, account = self._account(request, "przelewy", data.get("zKonta"))
        rows = data.get("przelewy")
        if not isinstance(rows, list) or not 2 <= len(rows) <= 5:
            raise Fault(422, "ZLE_POLE", "przelewy")
        read = [self._read_transfer(row, f"przelewy[{place}].") for place, row in enumerate(rows)]
        grosze = sum(amount for _, amount in read)
        if data.get("razem") != write_amount(grosze)["kwota"]:
            raise Fault(422, "ZLA_SUMA", "razem", policzono=write_amount(grosze)["kwota"])
        self._check_money(account, grosze, "razem")
        items = [{"lp": place, **document} for place, (document, _) in enumerate(read, 1)]
        document = {"zKonta": account.id, "ile": len(items), "razem": data["razem"], "pozycje": items}
        id = f"B{self._make(7, '0123456789')}"
        return self._add("paczki", id, consent.login, document, account=account, grosze=grosze)

    def _stop(self, request: Request, id: str) -> Response:
        question = self._find(request, request.path.split("/")[2], id)
        self._check_version(request, question)
        if self._read(request).get("stan") != question.states["stopped"]:
            raise Fault(422, "ZLE_POLE", "stan")
        if question.said in ("no", "stopped") or self._state(question).startswith(("WYKONAN", "PRZETERMIN")):
            raise Fault(409, "ZA_POZNO", stan=self._state(question))
        return self._end(question)
