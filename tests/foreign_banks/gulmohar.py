"""Gulmohar, a bank whose customers decide on their phones, with a handle before each consent and payments on call.

- POST `/gm/login` with the app's key and secret gives a token for 30 minutes, which all else below `/gm/v3` needs in
  `X-Pravesh`. Every request of the app has its own `X-Txn-Id`, a UUID.
- Every document has `ver`, `samay` and `txnid`. Errors also have `truti` with `sanket`, `sandesh`, often `kshetra`, a
  list of wrong members, and sometimes more.
- Days are such as 31-12-2026, times such as 2026-12-31T09:30:00+05:30, both in India's time. Amounts are texts with two
  decimals, `{"mulya", "mudra"}` where an app writes them, and negative in entries that take money.
- A consent is first a handle: LAMBIT until the customer decides, SWEEKRIT (with the consent's `sahmatiId`), ASWEEKRIT,
  and KALBADHIT after ten minutes. The consent itself is SAKRIY until its last day, then SAMAPT; RADD when withdrawn.
  Requests name it in `X-Sahmati`.
- The sandbox of the bank has a phone: POST `/gm/parikshan/phone` answers as the customer. The third wrong MPIN refuses.
- A payment: LAMBIT, PRAKRIYA, after two minutes SAFAL; with a later day NIRDHARIT until then. ASWEEKRIT, KALBADHIT, and
  by DELETE RADD while it is LAMBIT or NIRDHARIT. The amount cannot be spent during PRAKRIYA and is booked with SAFAL.
- The app chooses `refId`: the same again gives the payment as it is now with 200, another body 409.
- A mandate (`swachalit`) lets the app take instalments up to a maximum without asking again: LAMBIT, SAKRIY until its
  last day, SAMAPT, ASWEEKRIT, KALBADHIT, RADD. An instalment is a payment in PRAKRIYA.
- At most 100000.00 in a payment. A branch has an IFSC: four letters, 0, and six letters or digits.
- Entries come in pages of five with a link to the next, the newest first, of a period, of one direction if told.
"""

import random
import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond

INDIA = timedelta(hours=5, minutes=30)
APPS = {"bahi-khata": "laal-mitti", "gullak": "neela-megh"}
RIGHTS = {"SHESH", "VIVARAN", "BHUGTAN"}
LIMIT = 10_000_000
SHOPS = "Chai Adda|Namma Metro|Kaveri Kirana|Apna Aushadhi|Rasoi Express|Bijli Board".split("|")
TEXTS = {
    "ADHIKAR_NAHI": "Sahmati mein yah adhikar nahi hai",
    "AVADHI_LAMBI": "Avadhi bahut lambi hai",
    "BHUGTAN_AGYAT": "Bhugtan nahi mila",
    "GRAHAK_AGYAT": "Grahak nahi mila",
    "IFSC_GALAT": "IFSC sahi nahi hai",
    "JSON_GALAT": "Sandesh padha nahi ja saka",
    "KHATA_AGYAT": "Khata nahi mila",
    "KSHETRA_NAHI": "Kshetra nahi diya gaya",
    "KUNJI_GALAT": "Kunji ya gupt shabd galat hai",
    "MAAN_GALAT": "Maan sahi nahi hai",
    "MPIN_AVRUDDH": "MPIN teen baar galat tha",
    "MPIN_GALAT": "MPIN galat hai",
    "MUDRA_AMANYA": "Keval INR sambhav hai",
    "NIRNAY_ASAMBHAV": "Nirnay ab sambhav nahi",
    "PATH_AGYAT": "Path nahi mila",
    "PRAVESH_GALAT": "Pravesh ki jaanch karein",
    "PRAVESH_SAMAPT": "Pravesh ki avadhi samapt hui",
    "RADD_ASAMBHAV": "Ab radd nahi ho sakta",
    "REFID_PRAYUKT": "refId pehle hi prayukt hai",
    "SAHMATI_AGYAT": "Sahmati nahi mili",
    "SAHMATI_NISHKRIY": "Sahmati sakriy nahi hai",
    "SEEMA_PAR": "Rashi seema se adhik hai",
    "SHESH_KAM": "Khate mein shesh kam hai",
    "SHIRSHAK_NAHI": "Shirshak nahi diya gaya",
    "SWACHALIT_AGYAT": "Swachalit bhugtan nahi mila",
    "SWACHALIT_NISHKRIY": "Swachalit bhugtan sakriy nahi hai",
    "TITHI_BEETI": "Tithi beet chuki hai",
    "VIDHI_AMANYA": "Vidhi sambhav nahi",
}


@dataclass
class Account:
    id: str
    kind: str
    number: str
    branch: str
    paise: int = 0
    entries: list[dict[str, str]] = field(default_factory=list)

    @property
    def document(self) -> dict[str, str]:
        shown = {"linkRef": self.id, "khataSankhya": self.number, "prakar": self.kind}
        return shown | {"ifsc": self.branch, "mudra": "INR"}


@dataclass
class Customer:
    name: str
    mobile: str
    mpin: str
    accounts: list[Account]


@dataclass
class Thing:
    """A consent, a payment or a mandate. `day` is the last of a consent or mandate, and that of a payment."""

    kind: str
    id: str
    app: str
    customer: Customer
    document: dict[str, Any]
    created: datetime
    day: date
    account: Account | None = None
    paise: int = 0
    mandate: str = ""
    number: str = ""
    wrong: int = 0
    decided: datetime | None = None
    agreed: bool = False
    stopped: bool = False
    booked: bool = False


def write_day(day: date) -> str:
    return day.strftime("%d-%m-%Y")


def write_time(at: datetime) -> str:
    return (at + INDIA).strftime("%Y-%m-%dT%H:%M:%S+05:30")


def write_amount(paise: int) -> str:
    return f"{'-' if paise < 0 else ''}{abs(paise) // 100}.{abs(paise) % 100:02}"


def require(document: Any, *names: str, at: str = "") -> None:
    if missing := [at + name for name in names if not isinstance(document, dict) or not document.get(name)]:
        raise Fault(400, "KSHETRA_NAHI", kshetra=missing)


def read_day(text: Any, place: str) -> date:
    try:
        return datetime.strptime(str(text), "%d-%m-%Y").date()
    except ValueError:
        raise Fault(422, "MAAN_GALAT", kshetra=[place]) from None


def read_amount(amount: Any, place: str) -> int:
    require(amount, "mulya", "mudra", at=f"{place}.")
    if amount["mudra"] != "INR":
        raise Fault(422, "MUDRA_AMANYA", kshetra=[f"{place}.mudra"])
    if not re.fullmatch(r"(0|[1-9]\d{0,8})\.\d\d", str(amount["mulya"])) or amount["mulya"] == "0.00":
        raise Fault(422, "MAAN_GALAT", kshetra=[f"{place}.mulya"])
    return int(amount["mulya"].replace(".", ""))


class Gulmohar:
    def __init__(self, seed: int, clock: Clock) -> None:
        self.clock = clock
        self._random = random.Random(seed)
        self._count = self._random.randrange(100_000, 500_000)
        self._tokens: dict[str, tuple[str, datetime]] = {}
        self._things: dict[str, Thing] = {}
        self._customers = {
            "asha.verma@gulm": Customer("Asha Verma", "98XXXXXX30", "4071", self._open("BACHAT", "CHALU")),
            "imran.q@gulm": Customer("Imran Qureshi", "99XXXXXX16", "8825", self._open("BACHAT", "BACHAT")),
        }
        self._routes = Routes(
            ("POST", "/gm/v3/sahmati", self._ask),
            ("GET", "/gm/v3/sahmati/handle/{id}", self._show_handle),
            ("GET", "/gm/v3/sahmati/{id}", self._show_consent),
            ("POST", "/gm/v3/sahmati/{id}/vapasi", self._withdraw),
            ("GET", "/gm/v3/khate", self._list_accounts),
            ("GET", "/gm/v3/khate/{id}/shesh", self._show_balance),
            ("GET", "/gm/v3/khate/{id}/vivaran", self._list_entries),
            ("POST", "/gm/v3/bhugtan", self._pay),
            ("GET", "/gm/v3/bhugtan", self._list_payments),
            ("GET", "/gm/v3/bhugtan/{id}", self._look),
            ("DELETE", "/gm/v3/bhugtan/{id}", self._cancel),
            ("POST", "/gm/v3/swachalit", self._mandate),
            ("GET", "/gm/v3/swachalit/{id}", self._look_at_mandate),
            ("POST", "/gm/v3/swachalit/{id}/kisht", self._take),
            ("DELETE", "/gm/v3/swachalit/{id}", self._end_mandate),
        )

    def _uuid(self) -> str:
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def _open(self, *kinds: str) -> list[Account]:
        accounts: list[Account] = []
        for kind in kinds:
            number = f"XXXXXXXX{self._random.randrange(1_000, 9_999)}"
            account = Account(self._uuid(), kind, number, f"GULM0{self._random.randrange(100_000, 999_999)}")
            at = self.clock.now - timedelta(days=58)
            first = (3_000_000 if accounts else 18_000_000) + self._random.randrange(999_999)
            self._book(account, first, "NEFT/Vetan", at)
            for number_of_entry in range(11):
                at += timedelta(days=self._random.randrange(1, 5), minutes=self._random.randrange(200))
                spent = -self._random.randrange(2_000, 90_000)
                if number_of_entry == 6:
                    self._book(account, self._random.randrange(5_000, 70_000), "UPI/Wapasi", at)
                else:
                    self._book(account, spent, f"UPI/{self._random.choice(SHOPS)}", at)
            accounts.append(account)
        return accounts

    def _book(self, account: Account, paise: int, text: str, at: datetime) -> None:
        account.paise += paise
        self._count += 1
        entry = {"lendenId": f"S{self._count:08}", "prakar": "JAMA" if paise > 0 else "NAAM"}
        entry |= {"rashi": write_amount(paise), "shesh": write_amount(account.paise), "tippani": text}
        account.entries.insert(0, entry | {"tithi": write_day((at + INDIA).date()), "samay": write_time(at)})

    @property
    def _today(self) -> date:
        return (self.clock.now + INDIA).date()

    def answer(self, request: Request) -> Response:
        txn = request.headers.get("x-txn-id")
        head = {"ver": "3.0", "samay": write_time(self.clock.now), "txnid": txn}
        try:
            self._pass_time()
            status, shown, headers = self._handle(request)
        except Fault as fault:
            return respond(
                fault.status, head | {"truti": {"sanket": fault.word, "sandesh": TEXTS[fault.word], **fault.more}}
            )
        return Response(204) if shown is None else respond(status, head | shown, headers)

    def _handle(self, request: Request) -> tuple[int, dict[str, Any] | None, dict[str, str]]:
        if (request.method, request.path) == ("POST", "/gm/parikshan/phone"):
            self._decide(self._read(request))
            return 204, None, {}
        if not re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", request.headers.get("x-txn-id", "")):
            raise Fault(400, "SHIRSHAK_NAHI", kshetra=["X-Txn-Id"])
        if (request.method, request.path) == ("POST", "/gm/login"):
            return 200, self._log_in(self._read(request)), {}
        try:
            handle, parameters = self._routes.find(request.method, request.path)
        except NoRoute as missing:
            raise (Fault(405, "VIDHI_AMANYA") if missing.allowed else Fault(404, "PATH_AGYAT")) from None
        done: Any = handle(request, self._app(request), **parameters)
        status, shown, *place = done if isinstance(done, tuple) else (200, done)
        return status, shown, {"Location": place[0]} if place else {}

    def _read(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "JSON_GALAT") from None

    def _log_in(self, data: dict[str, Any]) -> dict[str, Any]:
        require(data, "kunji", "gupt")
        if APPS.get(data["kunji"]) != data["gupt"]:
            raise Fault(401, "KUNJI_GALAT")
        token = f"{self._random.getrandbits(192):048x}"
        self._tokens[token] = data["kunji"], self.clock.now + timedelta(minutes=30)
        return {"pravesh": token, "avadhi": 1800}

    def _app(self, request: Request) -> str:
        app, ends = self._tokens.get(request.headers.get("x-pravesh", ""), ("", self.clock.now))
        if not app:
            raise Fault(401, "PRAVESH_GALAT", kshetra=["X-Pravesh"])
        if self.clock.now >= ends:
            raise Fault(401, "PRAVESH_SAMAPT", kshetra=["X-Pravesh"])
        return app

    # Things that the customer decides about

    def _state(self, thing: Thing) -> str:
        if thing.stopped:
            return "RADD"
        if thing.decided is None:
            return "LAMBIT" if self.clock.now < thing.created + timedelta(minutes=10) else "KALBADHIT"
        if not thing.agreed:
            return "ASWEEKRIT"
        if thing.kind != "bhugtan":
            return "SAKRIY" if self._today <= thing.day else "SAMAPT"
        if thing.day > (thing.decided + INDIA).date():
            return "NIRDHARIT" if self._today < thing.day else "SAFAL"
        return "PRAKRIYA" if self.clock.now < thing.decided + timedelta(minutes=2) else "SAFAL"

    def _pass_time(self) -> None:
        paid = [one for one in self._things.values() if one.kind == "bhugtan" and self._state(one) == "SAFAL"]
        for one in sorted((one for one in paid if not one.booked), key=self._done_at):
            one.booked = True
            assert one.account
            self._book(one.account, -one.paise, f"IMPS/{one.id}/{one.document['ko']['naam']}", self._done_at(one))

    def _done_at(self, thing: Thing) -> datetime:
        assert thing.decided
        return max(datetime.combine(thing.day, time(), UTC) - INDIA, thing.decided + timedelta(minutes=2))

    def _decide(self, data: dict[str, Any]) -> None:
        require(data, "grahak", "mpin", "anurodh", "uttar")
        thing = self._things.get(data["anurodh"])
        if not thing or thing.customer is not self._customers.get(data["grahak"]):
            raise Fault(404, "GRAHAK_AGYAT", kshetra=["grahak", "anurodh"])
        if (state := self._state(thing)) != "LAMBIT":
            raise Fault(409, "NIRNAY_ASAMBHAV", sthiti=state)
        if data["uttar"] not in ("HAAN", "NAHI"):
            raise Fault(422, "MAAN_GALAT", kshetra=["uttar"])
        if data["mpin"] != thing.customer.mpin:
            thing.wrong += 1
            if thing.wrong == 3:
                thing.decided = self.clock.now
                raise Fault(403, "MPIN_AVRUDDH", prayas=0)
            raise Fault(403, "MPIN_GALAT", prayas=3 - thing.wrong)
        thing.decided, thing.agreed = self.clock.now, data["uttar"] == "HAAN"
        if thing.kind == "sahmati" and thing.agreed:
            thing.number = self._uuid()

    def _find(self, app: str, kind: str, id: str) -> Thing:
        thing = self._things.get(id)
        if not thing or (thing.app, thing.kind) != (app, kind):
            raise Fault(404, f"{kind.upper()}_AGYAT")
        return thing

    # Consents

    def _ask(self, request: Request, app: str) -> Any:
        data = self._read(request)
        require(data, "grahak", "adhikar", "uddeshya", "antTithi")
        if not isinstance(data["adhikar"], list) or not set(data["adhikar"]) <= RIGHTS:
            raise Fault(422, "MAAN_GALAT", kshetra=["adhikar"])
        day = self._read_end(data["antTithi"], 365)
        if data["grahak"] not in self._customers:
            raise Fault(404, "GRAHAK_AGYAT", kshetra=["grahak"])
        document = {name: data[name] for name in ("adhikar", "uddeshya", "antTithi")}
        id, customer = self._uuid(), self._customers[data["grahak"]]
        thing = self._things[id] = Thing("sahmati", id, app, customer, document, self.clock.now, day)
        return 201, self._describe_handle(thing), f"/gm/v3/sahmati/handle/{id}"

    def _read_end(self, text: Any, most: int) -> date:
        day = read_day(text, "antTithi")
        if day < self._today:
            raise Fault(422, "TITHI_BEETI", kshetra=["antTithi"])
        if day > self._today + timedelta(days=most):
            raise Fault(422, "AVADHI_LAMBI", kshetra=["antTithi"], adhiktamDin=most)
        return day

    def _describe_handle(self, thing: Thing) -> dict[str, Any]:
        state = "SWEEKRIT" if thing.agreed else self._state(thing)
        shown = {"handle": thing.id, "sthiti": state, "sahmatiId": thing.number or None}
        return {"anurodh": shown | {"seemaSamay": write_time(thing.created + timedelta(minutes=10))}}

    def _show_handle(self, request: Request, app: str, id: str) -> Any:
        return self._describe_handle(self._find(app, "sahmati", id))

    def _consent(self, app: str, number: str) -> Thing:
        for thing in self._things.values():
            if thing.number == number and thing.app == app:
                return thing
        raise Fault(404, "SAHMATI_AGYAT")

    def _describe_consent(self, thing: Thing) -> dict[str, Any]:
        assert thing.decided
        customer = {"naam": thing.customer.name, "mobile": thing.customer.mobile}
        shown = {"sahmatiId": thing.number, "sthiti": self._state(thing), **thing.document, "grahak": customer}
        return {"sahmati": shown | {"sweekritSamay": write_time(thing.decided)}}

    def _show_consent(self, request: Request, app: str, id: str) -> Any:
        return self._describe_consent(self._consent(app, id))

    def _withdraw(self, request: Request, app: str, id: str) -> Any:
        consent = self._consent(app, id)
        if (state := self._state(consent)) != "SAKRIY":
            raise Fault(409, "RADD_ASAMBHAV", sthiti=state)
        consent.stopped = True
        return self._describe_consent(consent)

    def _use(self, request: Request, app: str, right: str = "") -> Thing:
        if not (number := request.headers.get("x-sahmati")):
            raise Fault(400, "SHIRSHAK_NAHI", kshetra=["X-Sahmati"])
        consent = self._consent(app, number)
        if (state := self._state(consent)) != "SAKRIY":
            raise Fault(403, "SAHMATI_NISHKRIY", sthiti=state)
        if right and right not in consent.document["adhikar"]:
            raise Fault(403, "ADHIKAR_NAHI", adhikar=right)
        return consent

    # Accounts

    def _list_accounts(self, request: Request, app: str) -> Any:
        accounts = self._use(request, app).customer.accounts
        return {"kul": len(accounts), "khate": [account.document for account in accounts]}

    def _account(self, consent: Thing, id: Any) -> Account:
        for account in consent.customer.accounts:
            if account.id == id:
                return account
        raise Fault(404, "KHATA_AGYAT", kshetra=["linkRef"])

    def _free(self, account: Account) -> int:
        mine = [one for one in self._things.values() if one.account is account and one.kind == "bhugtan"]
        return account.paise - sum(one.paise for one in mine if self._state(one) == "PRAKRIYA")

    def _show_balance(self, request: Request, app: str, id: str) -> Any:
        account = self._account(self._use(request, app, "SHESH"), id)
        shown = {"linkRef": id, "khata": write_amount(account.paise), "uplabdh": write_amount(self._free(account))}
        return {"shesh": shown | {"mudra": "INR"}}

    def _list_entries(self, request: Request, app: str, id: str) -> Any:
        query = request.query
        account = self._account(self._use(request, app, "VIVARAN"), id)
        require(dict(query), "se", "tak")
        first, last = (read_day(query[name], name) for name in ("se", "tak"))
        if first > last:
            raise Fault(422, "MAAN_GALAT", kshetra=["se", "tak"])
        kind, page = query.get("prakar", ""), query.get("prishth", "1")
        if kind not in ("", "JAMA", "NAAM"):
            raise Fault(422, "MAAN_GALAT", kshetra=["prakar"])
        if not re.fullmatch(r"[1-9]\d?", page):
            raise Fault(422, "MAAN_GALAT", kshetra=["prishth"])
        rows = [row for row in account.entries if first <= read_day(row["tithi"], "tithi") <= last]
        rows = [row for row in rows if kind in ("", row["prakar"])]
        number, pages = int(page), max(1, -(-len(rows) // 5))
        filters = f"se={query['se']}&tak={query['tak']}" + (f"&prakar={kind}" if kind else "")
        more = f"/gm/v3/khate/{id}/vivaran?{filters}&prishth={number + 1}" if number < pages else None
        told = {"linkRef": id, "prishth": number, "kulPrishth": pages, "kul": len(rows), "agla": more}
        return {"vivaran": told | {"lenden": rows[number * 5 - 5 : number * 5]}}

    # Payments

    def _pay(self, request: Request, app: str) -> Any:
        consent, data = self._use(request, app, "BHUGTAN"), self._read(request)
        require(data, "refId", "linkRef", "ko", "rashi")
        sent = {name: data[name] for name in ("refId", "linkRef", "ko", "rashi", "tippani", "tithi") if name in data}
        for one in self._things.values():
            if one.app == app and one.document.get("refId") == data["refId"]:
                if one.document != sent:
                    raise Fault(409, "REFID_PRAYUKT", kshetra=["refId"], utr=one.id)
                return self._describe(one)
        account = self._account(consent, data["linkRef"])
        self._check_payee(data["ko"])
        paise = read_amount(data["rashi"], "rashi")
        if paise > LIMIT:
            raise Fault(422, "SEEMA_PAR", kshetra=["rashi.mulya"], seema=write_amount(LIMIT))
        day = read_day(data["tithi"], "tithi") if "tithi" in data else self._today
        if day < self._today:
            raise Fault(422, "TITHI_BEETI", kshetra=["tithi"])
        if paise > self._free(account):
            raise Fault(422, "SHESH_KAM", kshetra=["rashi.mulya"])
        return self._add_payment(app, consent.customer, sent, day, account, paise)

    def _check_payee(self, payee: Any) -> None:
        require(payee, "naam", "khata", "ifsc", at="ko.")
        if not re.fullmatch(r"[A-Z]{4}0[A-Z0-9]{6}", str(payee["ifsc"])):
            raise Fault(422, "IFSC_GALAT", kshetra=["ko.ifsc"])

    def _add_payment(
        self, app: str, customer: Customer, sent: dict[str, Any], day: date, account: Account, paise: int, **more: Any
    ) -> Any:
        self._count += 1
        id = f"GULM{self._today:%y%j}{self._count:07}"
        thing = Thing("bhugtan", id, app, customer, sent, self.clock.now, day, account, paise, **more)
        self._things[id] = thing
        return 202, self._describe(thing), f"/gm/v3/bhugtan/{id}"

    def _describe(self, thing: Thing) -> dict[str, Any]:
        shown = {"utr": thing.id, "sthiti": self._state(thing), **thing.document}
        if thing.mandate:
            shown["umn"] = thing.mandate
        return {"bhugtan": shown | {"nirmit": write_time(thing.created)}}

    def _look(self, request: Request, app: str, id: str) -> Any:
        return self._describe(self._find(app, "bhugtan", id))

    def _list_payments(self, request: Request, app: str) -> Any:
        customer, state = self._use(request, app, "BHUGTAN").customer, request.query.get("sthiti")
        mine = [one for one in self._things.values() if one.kind == "bhugtan" and one.customer is customer]
        found = [self._describe(one)["bhugtan"] for one in mine if one.app == app]
        shown = [one for one in found if not state or one["sthiti"] == state]
        return {"kul": len(shown), "bhugtan": shown}

    def _cancel(self, request: Request, app: str, id: str) -> Any:
        thing = self._find(app, "bhugtan", id)
        if (state := self._state(thing)) not in ("LAMBIT", "NIRDHARIT"):
            raise Fault(409, "RADD_ASAMBHAV", sthiti=state)
        thing.stopped = True
        return self._describe(thing)

    # Mandates

    def _mandate(self, request: Request, app: str) -> Any:
        consent, data = self._use(request, app, "BHUGTAN"), self._read(request)
        require(data, "linkRef", "ko", "adhiktam", "antTithi")
        account = self._account(consent, data["linkRef"])
        self._check_payee(data["ko"])
        paise, day = read_amount(data["adhiktam"], "adhiktam"), self._read_end(data["antTithi"], 365)
        sent = {name: data[name] for name in ("linkRef", "ko", "adhiktam", "antTithi")}
        id = f"{self._random.getrandbits(64):016x}@gulm"
        thing = Thing("swachalit", id, app, consent.customer, sent, self.clock.now, day, account, paise)
        self._things[id] = thing
        return 202, self._describe_mandate(thing), f"/gm/v3/swachalit/{id}"

    def _describe_mandate(self, thing: Thing) -> dict[str, Any]:
        taken = [one for one in self._things.values() if one.mandate == thing.id]
        total = {"mulya": write_amount(sum(one.paise for one in taken)), "mudra": "INR"}
        shown = {"umn": thing.id, "sthiti": self._state(thing), **thing.document}
        return {"swachalit": shown | {"kishtSankhya": len(taken), "kulRashi": total}}

    def _look_at_mandate(self, request: Request, app: str, id: str) -> Any:
        return self._describe_mandate(self._find(app, "swachalit", id))

    def _take(self, request: Request, app: str, id: str) -> Any:
        thing, data = self._find(app, "swachalit", id), self._read(request)
        require(data, "refId", "rashi")
        if (state := self._state(thing)) != "SAKRIY":
            raise Fault(409, "SWACHALIT_NISHKRIY", sthiti=state)
        paise = read_amount(data["rashi"], "rashi")
        if paise > thing.paise:
            raise Fault(422, "SEEMA_PAR", kshetra=["rashi.mulya"], seema=write_amount(thing.paise))
        assert thing.account
        if paise > self._free(thing.account):
            raise Fault(422, "SHESH_KAM", kshetra=["rashi.mulya"])
        sent = {"refId": data["refId"], "linkRef": thing.account.id, "ko": thing.document["ko"], "rashi": data["rashi"]}
        told: dict[str, Any] = {"mandate": thing.id, "decided": self.clock.now, "agreed": True}
        return self._add_payment(app, thing.customer, sent, self._today, thing.account, paise, **told)

    def _end_mandate(self, request: Request, app: str, id: str) -> Any:
        thing = self._find(app, "swachalit", id)
        if (state := self._state(thing)) not in ("LAMBIT", "SAKRIY"):
            raise Fault(409, "RADD_ASAMBHAV", sthiti=state)
        thing.stopped = True
        return self._describe_mandate(thing)
