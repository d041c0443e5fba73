"""Evros, a Greek bank with words of its own: customers give clearances, and an app sends remittances.

- Every call of the interface has an Evros-Request-Id, a UUID, which the answer repeats. It is checked before all else.
- Answers are `{"payload": …, "request", "at", "paging"?}`, and requests `{"payload": …}`.
- Errors are application/problem+json with a type such as `urn:evros:not-known`. `violations` tell the wrong members of
  the body or parameters of the query; other problems name the header, the right or the clearance that is the cause.
- The app signs in to `/identity/v2` by HTTP Basic. POST `…/clearances` has `rights`, `lastDay` (at most 120 days ahead)
  and `comeBack`. The answer has the `ref`, the `customerPage` and the `access` that opens `/money/v2` in the header
  Evros-Access, once the customer has granted. Before and after that it gives 403.
- The `lifecycle` of a clearance is waiting, granted, refused, withdrawn (by POST `…/withdrawal`, 200), or over from the
  day after `lastDay`. Access that lacks the right gives 403, too.
- On the customer's page are the user's name, a secret phrase and the answer, accept or refuse. Accepting a remittance
  leads (303) to a second page, for the digits that the bank sends by text message; wrong ones give 403 and that page
  again. In the end there is a 303 to `comeBack` with the ref and the lifecycle. A page that is done with gives 410.
- Amounts are cents with a sign and a currency. Balances are a list, booked and available. They can be read three times
  a day for an account by the same clearance, then there is 429 with Retry-After until midnight.
- Entries have the account in the query, newest first, between the days `since` and `until`, both inclusive, with a
  `limit` of 1 to 50. `paging.onward` is the link to the rest, whose cursor remembers the period and the limit.
- POST `/money/v2/remittances` needs an Evros-Once: the same remittance again gives the first one with 200, another one
  409. A remittance is unconfirmed, refused or confirmed, underway after 90 seconds and settled after five minutes.
  With an `onDay` after today it is scheduled when confirmed, and settled on that day. It can be recalled by DELETE
  until it is underway. The amount is held while it is confirmed or underway, not while it is scheduled.
"""

import base64
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from tests.foreign_banks.corrib import check_digits, is_iban, write_time
from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond, show

RIGHTS = ("see-accounts", "see-balances", "see-entries", "send-money")
APPS = {"ledgerlark": "bindweed", "plumbline": "sorrel"}
SHOPS = "Thrace Bakery|Ardas Fuel|Alexandroupoli Ferries|Orestiada Market|Didymo Optics|Soufli Silk".split("|")
READS_A_DAY, MOST_DAYS, MOST_ENTRIES = 3, 120, 50
TITLES = {
    "access-unknown": "Evros-Access is missing or opens nothing",
    "app-unknown": "We do not know this app or its secret",
    "body-unreadable": "The body is not an object with a payload",
    "clearance-inactive": "The clearance is not granted at present",
    "ended-already": "The clearance has ended already",
    "header-wrong": "A header is missing or malformed",
    "members-wrong": "Members of the payload are missing or wrong",
    "method-unsuited": "This address does not take the method",
    "no-cover": "The available balance does not cover the amount",
    "not-known": "There is nothing by this name",
    "once-taken": "Evros-Once has been used for another remittance",
    "query-wrong": "Parameters of the query are missing or wrong",
    "quota-used": "The quota of the day is used up",
    "right-missing": "The clearance does not include the right",
    "too-late": "The remittance cannot be recalled any more",
}


@dataclass
class Account:
    number: str
    iban: str
    label: str
    cents: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    user: str
    phrase: str
    digits: str
    accounts: Sequence[Account]


@dataclass
class Clearance:
    app: str
    ref: str
    door: str
    access: str
    rights: list[str]
    last_day: str
    come_back: str
    asked: str
    lifecycle: str = "waiting"
    customer: Customer | None = None
    reads: dict[tuple[str, date], int] = field(default_factory=dict)


@dataclass
class Remittance:
    clearance: Clearance
    ref: str
    door: str
    payer: Account
    document: dict[str, Any]
    lifecycle: str = "unconfirmed"
    confirmed: datetime | None = None
    has_signed_in: bool = False

    @property
    def cents(self) -> int:
        return int(self.document["amount"]["cents"])


class Problem(Exception):
    def __init__(self, status: int, slug: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.slug, self.detail, self.more = status, slug, detail, more


def blame(status: int, slug: str, wrong: Mapping[str, str]) -> Problem:
    violations = [{"where": where, "rule": rule} for where, rule in wrong.items()]
    return Problem(status, slug, f"{', '.join(wrong)}: see the rules.", violations=violations)


def read_day(text: Any) -> date | None:
    try:
        return date.fromisoformat(text)
    except (TypeError, ValueError):
        return None


def is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= most


class Evros:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"evros {seed}")
        self._clearances: list[Clearance] = []
        self._remittances: list[Remittance] = []
        self._onces: dict[tuple[str, str], tuple[dict[str, Any], Remittance]] = {}
        self._cursors: dict[str, tuple[str, str, str, int, int]] = {}
        self._customers = [
            Customer(
                "eleni.varda",
                "river-stone-9",
                "604182",
                [self._open("Salary", "3300518204", 284_316), self._open("Rainy days", "3300518212", 655_020)],
            ),
            Customer(
                "petros.kalfas",
                "olive-press-31",
                "917350",
                [
                    self._open("Workshop", "3300947716", 471_955),
                    self._open("Home", "3300947724", 198_870),
                    self._open("Boat", "3300947732", 1_020_400),
                ],
            ),
        ]
        clearances, remittances, accounts = "/identity/v2/clearances", "/money/v2/remittances", "/money/v2/accounts"
        self._routes = Routes(
            ("POST", clearances, self._ask),
            ("GET", clearances + "/{ref}", self._look),
            ("POST", clearances + "/{ref}/withdrawal", self._withdraw),
            ("GET", accounts, self._list_accounts),
            ("GET", accounts + "/{number}", self._account),
            ("GET", accounts + "/{number}/balances", self._balances),
            ("GET", "/money/v2/entries", self._entries),
            ("POST", remittances, self._send),
            ("GET", remittances + "/{ref}", self._follow),
            ("DELETE", remittances + "/{ref}", self._recall),
        )
        self._doors = Routes(
            ("GET", "/door/{word}", self._show_door),
            ("POST", "/door/{word}", self._enter_door),
            ("GET", "/door/{word}/text", self._show_text),
            ("POST", "/door/{word}/text", self._enter_digits),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        told = {}
        try:
            if request.path.startswith("/door/"):
                handler, parameters = self._doors.find(request.method, request.path)
                return handler(request, **parameters)
            trace = request.headers.get("evros-request-id", "")
            try:
                UUID(trace)
            except ValueError:
                raise Problem(400, "header-wrong", "Send a UUID.", header="Evros-Request-Id") from None
            told["Evros-Request-Id"] = trace
            handler, parameters = self._routes.find(request.method, request.path)
            return handler(request, **parameters)
        except NoRoute as wrong:
            problem = Problem(404, "not-known", f"There is nothing at {request.path}.")
            if wrong.allowed:
                problem = Problem(405, "method-unsuited", f"Use {' or '.join(wrong.allowed)}.")
                told["Allow"] = ", ".join(wrong.allowed)
        except Problem as error:
            problem = error
            if error.slug == "app-unknown":
                told["WWW-Authenticate"] = 'Basic realm="evros identity"'
            if error.slug == "quota-used":
                midnight = datetime.combine(self.clock.today + timedelta(days=1), time(), UTC)
                told["Retry-After"] = str(int((midnight - self.clock.now).total_seconds()))
        document = {"type": f"urn:evros:{problem.slug}", "title": TITLES[problem.slug], "status": problem.status}
        document |= {"detail": problem.detail, **problem.more}
        return respond(problem.status, document, told, media="application/problem+json")

    def _pick(self, signs: str, length: int) -> str:
        return "".join(self._random.choices(signs, k=length))

    def _word(self, length: int) -> str:
        return self._pick("abcdefghijkmnopqrstuvwxyz0123456789", length)

    def _open(self, label: str, number: str, cents: int) -> Account:
        rest = f"0990214000000{number}"
        iban = f"GR{check_digits('GR', rest)}{rest}"
        account = Account(f"K{self._pick('0123456789', 9)}", iban, label, cents)
        for days in sorted(self._random.sample(range(1, 110), 44), reverse=True):
            change = self._random.choice((-1, -1, -1, 1)) * self._random.randrange(220, 9_500)
            day = self.clock.today - timedelta(days=days)
            self._book(account, day, change, self._random.choice(SHOPS), "At the till", "card")
        return account

    def _book(self, account: Account, day: date, cents: int, other: str, note: str, sort: str) -> None:
        amount = {"cents": cents, "currency": "EUR"}
        entry = {"entry": self._pick("0123456789abcdef", 16), "sort": sort, "day": day.isoformat(), "amount": amount}
        account.entries.insert(0, entry | {"other": other, "note": note})

    def _advance(self) -> None:
        for clearance in self._clearances:
            if clearance.lifecycle in ("waiting", "granted") and clearance.last_day < self.clock.today.isoformat():
                clearance.lifecycle = "over"
        for one in self._remittances:
            passed = self.clock.now - one.confirmed if one.confirmed else timedelta()
            if one.lifecycle == "confirmed" and passed >= timedelta(seconds=90):
                one.lifecycle = "underway"
            is_due = one.lifecycle == "underway" and passed >= timedelta(minutes=5)
            if is_due or (one.lifecycle == "scheduled" and one.document["onDay"] <= self.clock.today.isoformat()):
                one.lifecycle = "settled"
                one.payer.cents -= one.cents
                day = date.fromisoformat(one.document["onDay"])
                self._book(one.payer, day, -one.cents, one.document["to"]["name"], one.document["note"], "remittance")

    def _tell(
        self, request: Request, status: int, payload: Any, headers: Mapping[str, str] | None = None, **more: Any
    ) -> Response:
        trace = request.headers["evros-request-id"]
        document = {"payload": payload, "request": trace, "at": write_time(self.clock.now), **more}
        return respond(status, document, {"Evros-Request-Id": trace, **(headers or {})})

    def _payload(self, request: Request) -> dict[str, Any]:
        try:
            payload = request.document.get("payload")
        except ValueError:
            payload = None
        if not isinstance(payload, dict):
            raise Problem(400, "body-unreadable", 'Send {"payload": {…}}.')
        return payload

    # Clearances

    def _app(self, request: Request) -> str:
        scheme, _, code = request.headers.get("authorization", "").partition(" ")
        try:
            app, _, secret = base64.b64decode(code, validate=True).decode().partition(":")
        except ValueError:
            app = secret = ""
        if scheme != "Basic" or not secret or APPS.get(app) != secret:
            raise Problem(401, "app-unknown", "Send the name and the secret of the app by HTTP Basic.")
        return app

    def _show_clearance(self, clearance: Clearance) -> dict[str, Any]:
        shown: dict[str, Any] = {"ref": clearance.ref, "lifecycle": clearance.lifecycle, "rights": clearance.rights}
        shown |= {"lastDay": clearance.last_day, "askedAt": clearance.asked, "access": clearance.access}
        return shown | ({"customerPage": f"/door/{clearance.door}"} if clearance.lifecycle == "waiting" else {})

    def _ask(self, request: Request) -> Response:
        app, payload = self._app(request), self._payload(request)
        rights, day, back = payload.get("rights"), read_day(payload.get("lastDay")), payload.get("comeBack")
        today, wrong = self.clock.today, {}
        if not isinstance(rights, list) or not rights or not all(one in RIGHTS for one in rights):
            wrong["payload.rights"] = f"some of {', '.join(RIGHTS)}"
        if not day or not today <= day <= today + timedelta(days=MOST_DAYS):
            wrong["payload.lastDay"] = f"a day from today until {MOST_DAYS} days from now"
        if not is_text(back, 200) or not str(back).startswith("https://"):
            wrong["payload.comeBack"] = "an address with https"
        if wrong or not day:
            raise blame(422, "members-wrong", wrong)
        ref = f"{self._pick('ABCDEFGHKLMNPRSTVXYZ', 4)}-{self._pick('0123456789', 4)}"
        words = self._word(18), self._word(26)
        asked = write_time(self.clock.now)
        clearance = Clearance(app, ref, *words, list(rights or ()), day.isoformat(), str(back), asked)
        self._clearances.append(clearance)
        return self._tell(request, 201, self._show_clearance(clearance))

    def _find_clearance(self, request: Request, ref: str) -> Clearance:
        app = self._app(request)
        for clearance in self._clearances:
            if (clearance.app, clearance.ref) == (app, ref):
                return clearance
        raise Problem(404, "not-known", f"You have no clearance {ref}.")

    def _look(self, request: Request, ref: str) -> Response:
        return self._tell(request, 200, self._show_clearance(self._find_clearance(request, ref)))

    def _withdraw(self, request: Request, ref: str) -> Response:
        clearance = self._find_clearance(request, ref)
        if clearance.lifecycle not in ("waiting", "granted"):
            raise Problem(409, "ended-already", f"It is {clearance.lifecycle}.", lifecycle=clearance.lifecycle)
        clearance.lifecycle = "withdrawn"
        return self._tell(request, 200, self._show_clearance(clearance))

    # Accounts

    def _enter(self, request: Request, right: str) -> tuple[Clearance, Sequence[Account]]:
        access = request.headers.get("evros-access")
        clearance = next((one for one in self._clearances if one.access == access), None)
        if not clearance:
            raise Problem(401, "access-unknown", "Send the access of a clearance.")
        if clearance.lifecycle != "granted" or not clearance.customer:
            detail, named = f"It is {clearance.lifecycle}.", clearance.ref
            raise Problem(403, "clearance-inactive", detail, clearance=named, lifecycle=clearance.lifecycle)
        if right not in clearance.rights:
            raise Problem(403, "right-missing", f"Ask for a clearance with {right}.", right=right)
        return clearance, clearance.customer.accounts

    def _find(self, accounts: Sequence[Account], number: Any) -> Account:
        for account in accounts:
            if account.number == number:
                return account
        raise Problem(404, "not-known", f"The customer has no account {number}.")

    def _show(self, account: Account) -> dict[str, Any]:
        return {"account": account.number, "iban": account.iban, "label": account.label, "currency": "EUR"}

    def _list_accounts(self, request: Request) -> Response:
        _, accounts = self._enter(request, "see-accounts")
        return self._tell(request, 200, {"accounts": [self._show(one) for one in accounts]})

    def _account(self, request: Request, number: str) -> Response:
        _, accounts = self._enter(request, "see-accounts")
        return self._tell(request, 200, self._show(self._find(accounts, number)))

    def _available(self, account: Account) -> int:
        held = [one for one in self._remittances if one.lifecycle in ("confirmed", "underway")]
        return account.cents - sum(one.cents for one in held if one.payer is account)

    def _balances(self, request: Request, number: str) -> Response:
        clearance, accounts = self._enter(request, "see-balances")
        account, key = self._find(accounts, number), (number, self.clock.today)
        if clearance.reads.get(key, 0) >= READS_A_DAY:
            raise Problem(429, "quota-used", f"Balances are read {READS_A_DAY} times a day.", quota=READS_A_DAY)
        clearance.reads[key] = clearance.reads.get(key, 0) + 1
        cents = {"booked": account.cents, "available": self._available(account)}
        balances = [{"sort": sort, "amount": {"cents": one, "currency": "EUR"}} for sort, one in cents.items()]
        return self._tell(request, 200, {"account": number, "balances": balances})

    def _entries(self, request: Request) -> Response:
        _, accounts = self._enter(request, "see-entries")
        query, today, start = request.query, self.clock.today, 0
        if not (number := query.get("account")):
            raise blame(400, "query-wrong", {"account": "the account of the entries"})
        account = self._find(accounts, number)
        if "cursor" in query:
            cursor = self._cursors.get(query["cursor"])
            if not cursor or cursor[0] != number:
                raise blame(400, "query-wrong", {"cursor": "from a link in paging.onward"})
            _, since, until, limit, start = cursor
        else:
            since = query.get("since", (today - timedelta(days=30)).isoformat())
            until, size = query.get("until", today.isoformat()), query.get("limit", "20")
            wrong = {name: "a day" for name, day in (("since", since), ("until", until)) if not read_day(day)}
            if not wrong and since > until:
                wrong["until"] = "not before since"
            if not size.isdecimal() or not 1 <= int(size) <= MOST_ENTRIES:
                wrong["limit"] = f"a number from 1 to {MOST_ENTRIES}"
            if wrong:
                raise blame(400, "query-wrong", wrong)
            limit = int(size)
        rows, end = [one for one in account.entries if since <= one["day"] <= until], start + limit
        paging: dict[str, Any] = {"limit": limit}
        if end < len(rows):
            word = self._word(14)
            self._cursors[word] = number, since, until, limit, end
            paging["onward"] = f"/money/v2/entries?{urlencode({'account': number, 'cursor': word})}"
        return self._tell(request, 200, {"account": number, "entries": rows[start:end]}, paging=paging)

    # Remittances

    def _show_remittance(self, one: Remittance) -> dict[str, Any]:
        shown = {"ref": one.ref, "lifecycle": one.lifecycle, **one.document}
        return shown | ({"customerPage": f"/door/{one.door}"} if one.lifecycle == "unconfirmed" else {})

    def _send(self, request: Request) -> Response:
        clearance, accounts = self._enter(request, "send-money")
        once = request.headers.get("evros-once", "")
        if not 8 <= len(once) <= 40:
            raise Problem(400, "header-wrong", "Send 8 to 40 signs.", header="Evros-Once")
        payload = self._payload(request)
        if known := self._onces.get((clearance.ref, once)):
            before, remittance = known
            if before != payload:
                raise Problem(409, "once-taken", f"It belongs to {remittance.ref}.")
            return self._tell(request, 200, self._show_remittance(remittance), {"Evros-Repeated": "yes"})
        to, amount, today = payload.get("to"), payload.get("amount"), self.clock.today
        to, amount = to if isinstance(to, dict) else {}, amount if isinstance(amount, dict) else {}
        cents, day, wrong = amount.get("cents"), read_day(payload.get("onDay", today.isoformat())), {}
        if not isinstance(payload.get("account"), str):
            wrong["payload.account"] = "an account of the customer"
        if not is_text(to.get("name"), 60):
            wrong["payload.to.name"] = "1 to 60 signs"
        if not is_iban(to.get("iban")):
            wrong["payload.to.iban"] = "an IBAN without a slip"
        if not isinstance(cents, int) or cents < 1:
            wrong["payload.amount.cents"] = "a whole number from 1"
        if amount.get("currency") != "EUR":
            wrong["payload.amount.currency"] = "EUR"
        if not is_text(payload.get("note"), 40):
            wrong["payload.note"] = "1 to 40 signs"
        if not day or day < today:
            wrong["payload.onDay"] = "a day, not before today"
        if wrong or not day or not isinstance(cents, int):
            raise blame(422, "members-wrong", wrong)
        payer = self._find(accounts, payload["account"])
        if cents > self._available(payer):
            raise Problem(422, "no-cover", f"{payer.number} does not cover {cents} cents.")
        document = {name: payload[name] for name in ("account", "to", "amount", "note")}
        document |= {"onDay": day.isoformat(), "askedAt": write_time(self.clock.now)}
        remittance = Remittance(clearance, f"rm.{self._word(12)}", self._word(18), payer, document)
        self._remittances.append(remittance)
        self._onces[clearance.ref, once] = payload, remittance
        return self._tell(request, 201, self._show_remittance(remittance))

    def _find_remittance(self, request: Request, ref: str) -> Remittance:
        clearance, _ = self._enter(request, "send-money")
        for one in self._remittances:
            if one.ref == ref and one.clearance is clearance:
                return one
        raise Problem(404, "not-known", f"You have no remittance {ref}.")

    def _follow(self, request: Request, ref: str) -> Response:
        return self._tell(request, 200, self._show_remittance(self._find_remittance(request, ref)))

    def _recall(self, request: Request, ref: str) -> Response:
        one = self._find_remittance(request, ref)
        if one.lifecycle not in ("unconfirmed", "confirmed", "scheduled"):
            raise Problem(409, "too-late", f"It is {one.lifecycle}.", lifecycle=one.lifecycle)
        one.lifecycle = "recalled"
        return self._tell(request, 200, self._show_remittance(one))

    # The customer's pages

    def _behind(self, word: str) -> Clearance | Remittance | None:
        things: Sequence[Clearance | Remittance] = (*self._clearances, *self._remittances)
        return next((one for one in things if one.door == word), None)

    def _closed(self, thing: Clearance | Remittance | None) -> Response | None:
        if not thing:
            return show(404, "Evros", "<p>Nothing is behind this door.</p>")
        if thing.lifecycle not in ("waiting", "unconfirmed"):
            return show(410, "Evros", "<p>You have decided this before.</p>")
        return None

    def _show_door(self, request: Request, word: str, hint: str = "", status: int = 200) -> Response:
        thing = self._behind(word)
        if closed := self._closed(thing):
            return closed
        if isinstance(thing, Remittance):
            euros = f"{thing.cents // 100}.{thing.cents % 100:02}"
            asked = f"Send {euros} EUR to {thing.document['to']['name']} on {thing.document['onDay']}?"
        else:
            asked = f"May {thing.app} {', '.join(thing.rights)} until {thing.last_day}?" if thing else ""
        fields = '<input name="user"><input name="phrase" type="password">'
        choice = "".join(f'<input type="radio" name="answer" value="{one}">{one}' for one in ("accept", "refuse"))
        form = f'<form method="post" action="/door/{word}">{fields}{choice}<button>Go on</button></form>'
        return show(status, "Evros", f"<p>{hint}</p><p>{asked}</p>{form}")

    def _come_back(self, clearance: Clearance, name: str, thing: Clearance | Remittance) -> Response:
        back = f"{clearance.come_back}?{name}={thing.ref}&lifecycle={thing.lifecycle}"
        return Response(303, "", {"Location": back})

    def _enter_door(self, request: Request, word: str) -> Response:
        thing = self._behind(word)
        if closed := self._closed(thing):
            return closed
        given, answer = (request.field("user"), request.field("phrase")), request.field("answer")
        customer = next((one for one in self._customers if (one.user, one.phrase) == given), None)
        if not customer or (isinstance(thing, Remittance) and customer is not thing.clearance.customer):
            return self._show_door(request, word, "The name or the phrase is not right.", 403)
        if answer not in ("accept", "refuse"):
            return self._show_door(request, word, "Accept or refuse?", 400)
        if isinstance(thing, Remittance):
            if answer == "accept":
                thing.has_signed_in = True
                return Response(303, "", {"Location": f"/door/{word}/text"})
            thing.lifecycle = "refused"
            return self._come_back(thing.clearance, "remittance", thing)
        assert thing
        thing.lifecycle, thing.customer = ("granted", customer) if answer == "accept" else ("refused", None)
        return self._come_back(thing, "clearance", thing)

    def _show_text(self, request: Request, word: str, hint: str = "", status: int = 200) -> Response:
        thing = self._behind(word)
        if closed := self._closed(thing):
            return closed
        if not isinstance(thing, Remittance) or not thing.has_signed_in:
            return Response(303, "", {"Location": f"/door/{word}"})
        form = f'<form method="post" action="/door/{word}/text"><input name="digits"><button>Confirm</button></form>'
        return show(status, "Evros", f"<p>{hint}</p><p>We have sent you six digits by text message.</p>{form}")

    def _enter_digits(self, request: Request, word: str) -> Response:
        page, thing = self._show_text(request, word), self._behind(word)
        if page.status != 200 or not isinstance(thing, Remittance) or not thing.clearance.customer:
            return page
        if request.field("digits") != thing.clearance.customer.digits:
            return self._show_text(request, word, "These are not the digits that we sent.", 403)
        is_later = thing.document["onDay"] > self.clock.today.isoformat()
        if not is_later and thing.cents > self._available(thing.payer):
            return self._show_text(request, word, "Your account does not cover this any more.", 409)
        thing.lifecycle, thing.confirmed = "scheduled" if is_later else "confirmed", self.clock.now
        return self._come_back(thing.clearance, "remittance", thing)
