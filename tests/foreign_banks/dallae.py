"""Dallae, a bank whose app asks the customer for a code from a text message, and whose numbers are all texts.

- POST `/injeung/v1/toekeun` with Basic and the institution's secret gives a token for an hour. All else is below `/v2`
  and needs `X-Gigwan`, the institution, and `Authorization: Bearer …`. Every answer has its own `X-Chujeok`.
- Every document has `eungdap` with `kodeu` and `mal`: D0000, or the code of an error, often with `hangmok`, the wrong
  member. Days are such as 20261231, times such as 20261231093000, both in Korea's time. Amounts are whole won.
- A consent, a transfer and a bulk transfer come with a challenge (`injeung`). The app PUTs the code of the customer,
  for which there are three minutes and three tries, lets it be sent once more, or DELETEs it.
  The challenge: DAEGI, WANRYO, GEOBU (deleted), CHADAN (wrong three times), SIHYO (too late).
- A consent: DAEGI, then YUHYO until its last day and MANRYO after it, GEOBU, CHADAN, SIHYO, and CHEOLHOE when the app
  withdraws it. Requests name it as `dongui`, in the query or the body. Balances and entries together can be read
  `ilHoesu` times in a day.
- A transfer: SEUNGINDAEGI, JEOPSU, after 90 seconds WANRYO; with a later day YEYAK until then. CHWISO, GEOBU, CHADAN,
  SIHYO. The amount cannot be spent from JEOPSU on, and is booked with WANRYO.
- A transfer needs `X-Georae-Id`, which begins with the institution. The same again gives 409 with the first number.
- A bulk transfer goes on without its wrong rows: each has its own result.
- At most 2000000 in a transfer. Other banks have three digits, which are in a list.
- Entries have a column for each direction, as a passbook has. A page has five; `daeum` says whether there are more, and
  `ieo` goes into the next request.
"""

import base64
import binascii
import random
import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond

KOREA = timedelta(hours=9)
APPS = {"T9910382": "gyeoul-sup", "T9920417": "yeoreum-gang"}
RIGHTS = {"JANAEK", "NAEYEOK", "ICHE"}
BANKS = {"004", "020", "081", "088"}
SHOPS = "Haneul Pyeonuijeom|Namsan Yakguk|Badasori Sikdang|Seoul Jihacheol|Bom Kkotjip|Dodam Seojeom".split("|")
TEXTS = {
    "D4000": "Bonmuneul ilgeul su eopseumnida",
    "D4001": "Hedeoga eopseumnida",
    "D4002": "Hangmogi eopseumnida",
    "D4003": "Georae beonhoga jalmot doeeotseumnida",
    "D4011": "Toekeuneul hwagin haejuseyo",
    "D4012": "Toekeuni manryo doeeotseumnida",
    "D4013": "Gigwaneul hwagin haejuseyo",
    "D4031": "Gwonhani eopseumnida",
    "D4032": "Donguiga yuhyo haji anseumnida",
    "D4040": "Gyeongroga eopseumnida",
    "D4041": "Gogaegeul chajeul su eopseumnida",
    "D4042": "Gyejwareul chajeul su eopseumnida",
    "D4043": "Donguireul chajeul su eopseumnida",
    "D4044": "Georaereul chajeul su eopseumnida",
    "D4050": "Heoyong doeji anneun bangsigimnida",
    "D4091": "Imi jonryo doeeotseumnida",
    "D4092": "Chwiso hal su eopseumnida",
    "D4093": "Imi sayong doen georae beonhoimnida",
    "D4101": "Injeungi kkeunnatseumnida",
    "D4221": "Gapsi jalmot doeeotseumnida",
    "D4222": "Gigani neomu gimnida",
    "D4223": "Jinan naljjaimnida",
    "D4224": "Wonhwaman ganeung hamnida",
    "D4225": "Hando chogwaimnida",
    "D4226": "Janaegi bujok hamnida",
    "D4227": "Eunhaeng kodeureul hwagin haejuseyo",
    "D4228": "Injeung beonhoga teullimnida",
    "D4231": "Injeungi chadan doeeotseumnida",
    "D4291": "Oneul johoe hoesureul chogwa haetseumnida",
    "D4292": "Jaejeonsong hoesureul chogwa haetseumnida",
}


@dataclass
class Account:
    id: str
    name: str
    number: str
    won: int = 0
    entries: list[dict[str, str]] = field(default_factory=list)


@dataclass
class Customer:
    name: str
    code: str
    accounts: list[Account]


@dataclass
class Challenge:
    id: str
    ends: datetime
    left: int = 3
    sent: int = 1
    end: str = ""


@dataclass
class Thing:
    """A consent, a transfer or a bulk transfer. `day` is the last or the first on which it does something."""

    kind: str
    id: str
    app: str
    customer: Customer
    document: dict[str, Any]
    challenge: Challenge
    day: date
    account: Account | None = None
    rows: list[tuple[int, str]] = field(default_factory=list)
    approved: datetime | None = None
    stopped: bool = False
    booked: bool = False
    read_on: date | None = None
    reads: int = 0

    @property
    def path(self) -> str:
        return f"/v2/{self.kind}/{self.id}"

    @property
    def won(self) -> int:
        return sum(won for won, _ in self.rows)


def write_day(day: date) -> str:
    return day.strftime("%Y%m%d")


def write_time(at: datetime) -> str:
    return (at + KOREA).strftime("%Y%m%d%H%M%S")


def require(document: Any, *names: str) -> None:
    for name in names:
        if not isinstance(document, dict) or not document.get(name):
            raise Fault(400, "D4002", name)


def read_day(text: Any, place: str) -> date:
    try:
        return datetime.strptime(str(text), "%Y%m%d").date()
    except ValueError:
        raise Fault(422, "D4221", place) from None


class Dallae:
    def __init__(self, seed: int, clock: Clock) -> None:
        self.clock = clock
        self._random = random.Random(seed)
        self._count = self._random.randrange(1_000, 5_000)
        self._tokens: dict[str, tuple[str, datetime]] = {}
        self._things: dict[str, Thing] = {}
        self._used: dict[str, str] = {}
        self._customers = {
            "010-4821-7730": Customer("Han Seo-yun", "482913", self._open("Saenghwalbi", "Yeohaeng Jeogeum")),
            "010-9035-2216": Customer("Bae Do-hyun", "307754", self._open("Wolgeup Tongjang", "Bisang Jagum")),
        }
        self._routes = Routes(
            ("POST", "/v2/dongui", self._ask),
            ("GET", "/v2/(?P<kind>dongui|iche|illgwal)/{id}", self._look),
            ("DELETE", "/v2/dongui/{id}", self._withdraw),
            ("GET", "/v2/injeung/{id}", lambda request, app, id: self._show_challenge(self._challenged(app, id))),
            ("PUT", "/v2/injeung/{id}", self._enter_code),
            ("DELETE", "/v2/injeung/{id}", self._give_up),
            ("POST", "/v2/injeung/{id}/jaejeonsong", self._send_again),
            ("GET", "/v2/gyejwa", self._list_accounts),
            ("GET", "/v2/gyejwa/{id}/janaek", self._show_balance),
            ("GET", "/v2/gyejwa/{id}/naeyeok", self._list_entries),
            ("POST", "/v2/iche", self._transfer),
            ("GET", "/v2/iche", self._list_transfers),
            ("POST", "/v2/(?P<kind>iche|illgwal)/{id}/chwiso", self._cancel),
            ("POST", "/v2/illgwal", self._transfer_many),
        )

    def _digits(self, length: int) -> str:
        return "".join(self._random.choices("0123456789", k=length))

    def _open(self, *names: str) -> list[Account]:
        accounts: list[Account] = []
        for name in names:
            number = f"{self._random.randrange(100, 999)}-***-{self._digits(6)}"
            account = Account("1991" + self._digits(12), name, number)
            at = self.clock.now - timedelta(days=59)
            self._book(account, (400_000 if accounts else 3_400_000) + self._random.randrange(99_999), "Ipgeum", at)
            for _ in range(11):
                at += timedelta(days=self._random.randrange(1, 5), minutes=self._random.randrange(200))
                self._book(account, -self._random.randrange(1_200, 24_000), self._random.choice(SHOPS), at)
            accounts.append(account)
        return accounts

    def _book(self, account: Account, won: int, text: str, at: datetime) -> None:
        account.won += won
        self._count += 1
        local = write_time(at)
        entry = {"beonho": f"G{self._count:07}", "il": local[:8], "si": local[8:], "jeokyo": text}
        entry |= {"ipgeum": str(max(won, 0)), "chulgeum": str(max(-won, 0)), "janaek": str(account.won)}
        account.entries.insert(0, entry)

    @property
    def _today(self) -> date:
        return (self.clock.now + KOREA).date()

    def answer(self, request: Request) -> Response:
        try:
            self._pass_time()
            if (request.method, request.path) == ("POST", "/injeung/v1/toekeun"):
                return self._give_token(request)
            try:
                handle, parameters = self._routes.find(request.method, request.path)
            except NoRoute as missing:
                raise (Fault(405, "D4050") if missing.allowed else Fault(404, "D4040")) from None
            response: Response = handle(request, self._app(request), **parameters)
            return response
        except Fault as fault:
            told = {"hangmok": fault.place} if fault.place else {}
            head = {"kodeu": fault.word, "mal": TEXTS[fault.word], **told, **fault.more}
            wait = {"Retry-After": str(self._seconds_to_midnight())} if fault.word == "D4291" else {}
            return respond(fault.status, {"eungdap": head}, {"X-Chujeok": self._trace(), **wait})

    def _say(self, document: dict[str, Any], status: int = 200, **headers: str) -> Response:
        head = {"kodeu": "D0000", "mal": "Jeongsang", "ilsi": write_time(self.clock.now)}
        return respond(status, {"eungdap": head, **document}, {"X-Chujeok": self._trace(), **headers})

    def _trace(self) -> str:
        return f"{self._random.getrandbits(64):016x}"

    def _seconds_to_midnight(self) -> int:
        local = self.clock.now + KOREA
        return 86_400 - (local.hour * 3_600 + local.minute * 60 + local.second)

    def _give_token(self, request: Request) -> Response:
        scheme, _, told = request.headers.get("authorization", "").partition(" ")
        try:
            app, _, secret = base64.b64decode(told, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            app = secret = ""
        if scheme != "Basic" or app not in APPS or APPS[app] != secret:
            raise Fault(401, "D4013", "Authorization")
        token, ends = f"dl_{self._random.getrandbits(160):040x}", self.clock.now + timedelta(hours=1)
        self._tokens[token] = app, ends
        return self._say({"toekeun": token, "jongryu": "Bearer", "manryo": write_time(ends)}, 201)

    def _app(self, request: Request) -> str:
        if not (app := request.headers.get("x-gigwan")):
            raise Fault(400, "D4001", "X-Gigwan")
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        owner, ends = self._tokens.get(token, ("", self.clock.now))
        if scheme != "Bearer" or owner != app:
            raise Fault(401, "D4011", "Authorization")
        if self.clock.now >= ends:
            raise Fault(401, "D4012", "Authorization")
        return app

    def _read(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "D4000") from None

    # Things that the customer approves with a code

    def _challenge_state(self, challenge: Challenge) -> str:
        return challenge.end or ("SIHYO" if self.clock.now >= challenge.ends else "DAEGI")

    def _state(self, thing: Thing) -> str:
        is_consent = thing.kind == "dongui"
        if thing.stopped:
            return "CHEOLHOE" if is_consent else "CHWISO"
        if thing.approved is None:
            state = self._challenge_state(thing.challenge)
            return "SEUNGINDAEGI" if state == "DAEGI" and not is_consent else state
        if is_consent:
            return "YUHYO" if self._today <= thing.day else "MANRYO"
        if thing.day > (thing.approved + KOREA).date():
            return "YEYAK" if self._today < thing.day else "WANRYO"
        return "JEOPSU" if self.clock.now < thing.approved + timedelta(seconds=90) else "WANRYO"

    def _pass_time(self) -> None:
        paid = [thing for thing in self._things.values() if thing.account and self._state(thing) == "WANRYO"]
        for thing in sorted((thing for thing in paid if not thing.booked), key=self._done_at):
            thing.booked = True
            assert thing.account
            for won, text in thing.rows:
                self._book(thing.account, -won, text, self._done_at(thing))

    def _done_at(self, thing: Thing) -> datetime:
        assert thing.approved
        morning = datetime.combine(thing.day, time(), UTC) - KOREA
        return max(morning, thing.approved + timedelta(seconds=90))

    def _add(
        self, kind: str, app: str, customer: Customer, document: dict[str, Any], day: date, **more: Any
    ) -> Response:
        self._count += 1
        short = {"dongui": "DU", "iche": "IC", "illgwal": "IG"}[kind]
        id = f"{short}{write_day(self._today)}-{self._count:06}"
        challenge = Challenge(str(UUID(int=self._random.getrandbits(128))), self.clock.now + timedelta(minutes=3))
        thing = self._things[id] = Thing(kind, id, app, customer, document, challenge, day, **more)
        shown = self._describe(thing) | {"injeung": self._describe_challenge(thing)}
        return self._say(shown, 201, Location=thing.path)

    def _describe(self, thing: Thing) -> dict[str, Any]:
        state = self._state(thing)
        shown = {"beonho": thing.id, "sangtae": state, **thing.document}
        if thing.kind == "dongui" and state == "YUHYO":
            shown["gogaek"] = thing.customer.name
        if thing.approved:
            shown["seunginIlsi"] = write_time(thing.approved)
        return {thing.kind: shown}

    def _describe_challenge(self, thing: Thing) -> dict[str, Any]:
        challenge = thing.challenge
        shown = {"injeungId": challenge.id, "sangtae": self._challenge_state(challenge), "daesang": thing.id}
        return shown | {
            "nameun": str(challenge.left),
            "jeonsong": str(challenge.sent),
            "kkaji": write_time(challenge.ends),
        }

    def _find(self, app: str, kind: str, id: Any) -> Thing:
        thing = self._things.get(id)
        if not thing or (thing.app, thing.kind) != (app, kind):
            raise Fault(404, "D4043" if kind == "dongui" else "D4044")
        return thing

    def _look(self, request: Request, app: str, kind: str, id: str) -> Response:
        return self._say(self._describe(self._find(app, kind, id)))

    def _challenged(self, app: str, id: str) -> Thing:
        for thing in self._things.values():
            if thing.app == app and thing.challenge.id == id:
                return thing
        raise Fault(404, "D4044")

    def _waiting(self, app: str, id: str) -> Thing:
        thing = self._challenged(app, id)
        if (state := self._challenge_state(thing.challenge)) != "DAEGI":
            raise Fault(410, "D4101", sangtae=state)
        return thing

    def _show_challenge(self, thing: Thing) -> Response:
        return self._say({"injeung": self._describe_challenge(thing)})

    def _enter_code(self, request: Request, app: str, id: str) -> Response:
        thing = self._waiting(app, id)
        data, challenge = self._read(request), thing.challenge
        require(data, "sms")
        if data["sms"] != thing.customer.code:
            challenge.left -= 1
            if not challenge.left:
                challenge.end = "CHADAN"
                raise Fault(423, "D4231", sangtae="CHADAN")
            raise Fault(422, "D4228", "sms", nameun=str(challenge.left))
        challenge.end, thing.approved = "WANRYO", self.clock.now
        return self._show_challenge(thing)

    def _give_up(self, request: Request, app: str, id: str) -> Response:
        thing = self._waiting(app, id)
        thing.challenge.end = "GEOBU"
        return self._show_challenge(thing)

    def _send_again(self, request: Request, app: str, id: str) -> Response:
        thing = self._waiting(app, id)
        if thing.challenge.sent == 2:
            raise Fault(429, "D4292")
        thing.challenge.sent, thing.challenge.ends = 2, self.clock.now + timedelta(minutes=3)
        return self._show_challenge(thing)

    # Consents

    def _ask(self, request: Request, app: str) -> Response:
        data = self._read(request)
        require(data, "hyudaepon", "gwonhan", "jongryoil")
        rights = data["gwonhan"]
        if not isinstance(rights, list) or not set(rights) <= RIGHTS:
            raise Fault(422, "D4221", "gwonhan")
        day = read_day(data["jongryoil"], "jongryoil")
        if day < self._today:
            raise Fault(422, "D4223", "jongryoil")
        if day > self._today + timedelta(days=90):
            raise Fault(422, "D4222", "jongryoil", choedae="90")
        if data["hyudaepon"] not in self._customers:
            raise Fault(404, "D4041", "hyudaepon")
        reads = str(data.get("ilHoesu", "4"))
        if not re.fullmatch(r"[1-9]\d?", reads):
            raise Fault(422, "D4221", "ilHoesu")
        document = {"gwonhan": rights, "jongryoil": write_day(day), "ilHoesu": reads}
        return self._add("dongui", app, self._customers[data["hyudaepon"]], document, day)

    def _withdraw(self, request: Request, app: str, id: str) -> Response:
        consent = self._find(app, "dongui", id)
        if (state := self._state(consent)) not in ("DAEGI", "YUHYO"):
            raise Fault(409, "D4091", sangtae=state)
        return self._stop(consent)

    def _stop(self, thing: Thing) -> Response:
        thing.stopped = True
        thing.challenge.end = thing.challenge.end or "GEOBU"
        return self._say(self._describe(thing))

    def _use(self, app: str, id: Any, right: str = "") -> Thing:
        if not id:
            raise Fault(400, "D4002", "dongui")
        consent = self._find(app, "dongui", id)
        if (state := self._state(consent)) != "YUHYO":
            raise Fault(403, "D4032", "dongui", sangtae=state)
        if right and right not in consent.document["gwonhan"]:
            raise Fault(403, "D4031", "dongui", gwonhan=right)
        return consent

    # Accounts

    def _list_accounts(self, request: Request, app: str) -> Response:
        accounts = self._use(app, request.query.get("dongui")).customer.accounts
        shown = [{"hwalyong": one.id, "gyejwa": one.number, "ireum": one.name, "tonghwa": "KRW"} for one in accounts]
        return self._say({"su": str(len(shown)), "gyejwa": shown})

    def _account(self, consent: Thing, id: Any) -> Account:
        for account in consent.customer.accounts:
            if account.id == id:
                return account
        raise Fault(404, "D4042", "hwalyong")

    def _count_read(self, consent: Thing) -> None:
        if consent.read_on != self._today:
            consent.read_on, consent.reads = self._today, 0
        if consent.reads == int(consent.document["ilHoesu"]):
            raise Fault(429, "D4291", ilHoesu=consent.document["ilHoesu"])
        consent.reads += 1

    def _free(self, account: Account) -> int:
        return account.won - sum(
            thing.won for thing in self._things.values() if thing.account is account and self._state(thing) == "JEOPSU"
        )

    def _show_balance(self, request: Request, app: str, id: str) -> Response:
        consent = self._use(app, request.query.get("dongui"), "JANAEK")
        account = self._account(consent, id)
        self._count_read(consent)
        won, free = str(account.won), str(self._free(account))
        return self._say({"hwalyong": id, "hyeonjae": won, "chulgeumGaneung": free, "tonghwa": "KRW"})

    def _list_entries(self, request: Request, app: str, id: str) -> Response:
        query = request.query
        consent = self._use(app, query.get("dongui"), "NAEYEOK")
        account = self._account(consent, id)
        require(dict(query), "sijak", "jongryo")
        first, last = (read_day(query[name], name) for name in ("sijak", "jongryo"))
        if first > last:
            raise Fault(422, "D4221", "jongryo")
        start = 0
        if after := query.get("ieo"):
            if not re.fullmatch(r"[0-9A-F]{8}", after):
                raise Fault(422, "D4221", "ieo")
            start = int(after, 16) ^ 0x5EED0000
        self._count_read(consent)
        rows = [entry for entry in account.entries if write_day(first) <= entry["il"] <= write_day(last)]
        page, end = rows[start : start + 5], start + 5
        more = end < len(rows)
        told = {"daeum": "Y", "ieo": f"{end ^ 0x5EED0000:08X}"} if more else {"daeum": "N", "ieo": ""}
        return self._say({"hwalyong": id, "su": str(len(page)), **told, "naeyeok": page})

    # Transfers

    def _check_id(self, request: Request, app: str) -> str:
        if not (key := request.headers.get("x-georae-id")):
            raise Fault(400, "D4001", "X-Georae-Id")
        if not re.fullmatch(rf"{app}U[0-9A-Z]{{9}}", key):
            raise Fault(400, "D4003", "X-Georae-Id")
        if first := self._used.get(key):
            raise Fault(409, "D4093", "X-Georae-Id", cheoeum=first)
        return key

    def _payer(self, data: dict[str, Any], app: str) -> tuple[Thing, Account]:
        consent = self._use(app, data.get("dongui"), "ICHE")
        account = self._account(consent, data.get("hwalyong"))
        if data.get("tonghwa") != "KRW":
            raise Fault(422, "D4224", "tonghwa")
        return consent, account

    def _read_row(self, data: Any) -> tuple[dict[str, Any], int]:
        require(data, "geumaek", "suchwi", "jeokyo")
        require(data["suchwi"], "eunhaeng", "gyejwa", "ireum")
        if not re.fullmatch(r"[1-9]\d{0,9}", str(data["geumaek"])):
            raise Fault(422, "D4221", "geumaek")
        if data["suchwi"]["eunhaeng"] not in BANKS:
            raise Fault(422, "D4227", "suchwi.eunhaeng")
        if int(data["geumaek"]) > 2_000_000:
            raise Fault(422, "D4225", "geumaek", hando="2000000")
        return {name: data[name] for name in ("geumaek", "suchwi", "jeokyo")}, int(data["geumaek"])

    def _transfer(self, request: Request, app: str) -> Response:
        key, data = self._check_id(request, app), self._read(request)
        consent, account = self._payer(data, app)
        document, won = self._read_row(data)
        if won > self._free(account):
            raise Fault(422, "D4226", "geumaek")
        day = self._today
        if told := data.get("yeyakil"):
            document["yeyakil"] = told
            if (day := read_day(told, "yeyakil")) < self._today:
                raise Fault(422, "D4223", "yeyakil")
        document = {"hwalyong": account.id, **document, "tonghwa": "KRW"}
        rows = [(won, data["suchwi"]["ireum"])]
        return self._register(key, self._add("iche", app, consent.customer, document, day, account=account, rows=rows))

    def _register(self, key: str, made: Response) -> Response:
        self._used[key] = made.headers["Location"].rpartition("/")[2]
        return made

    def _transfer_many(self, request: Request, app: str) -> Response:
        key, data = self._check_id(request, app), self._read(request)
        consent, account = self._payer(data, app)
        if not isinstance(data.get("geon"), list) or not 2 <= len(data["geon"]) <= 5:
            raise Fault(422, "D4221", "geon")
        shown, rows = [], []
        for place, row in enumerate(data["geon"], 1):
            try:
                document, won = self._read_row(row)
            except Fault as fault:
                if fault.status == 400:
                    raise
                shown.append({"sunbeon": str(place), "gyeolgwa": fault.word, "geumaek": row["geumaek"]})
            else:
                rows.append((won, document["suchwi"]["ireum"]))
                shown.append({"sunbeon": str(place), "gyeolgwa": "D0000", "geumaek": row["geumaek"]})
        total = sum(won for won, _ in rows)
        if total > self._free(account):
            raise Fault(422, "D4226", "geon")
        document = {"hwalyong": account.id, "hapgye": str(total), "seonggong": str(len(rows))}
        document |= {"silpae": str(len(shown) - len(rows)), "geon": shown, "tonghwa": "KRW"}
        more = {"account": account, "rows": rows}
        return self._register(key, self._add("illgwal", app, consent.customer, document, self._today, **more))

    def _list_transfers(self, request: Request, app: str) -> Response:
        accounts = self._use(app, request.query.get("dongui"), "ICHE").customer.accounts
        found = [one for one in self._things.values() if one.kind == "iche" and one.account in accounts]
        shown = [self._describe(one)["iche"] for one in found if one.app == app]
        return self._say({"su": str(len(shown)), "iche": shown})

    def _cancel(self, request: Request, app: str, kind: str, id: str) -> Response:
        thing = self._find(app, kind, id)
        if (state := self._state(thing)) not in ("SEUNGINDAEGI", "JEOPSU", "YEYAK"):
            raise Fault(409, "D4092", sangtae=state)
        return self._stop(thing)
