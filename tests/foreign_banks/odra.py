"""Odra, an invented bank for accounts in several currencies: an app adds payees, asks for quotes and pays out on them.

- The app sends its key in `X-Odra-Key`. All below a grant but `passes` needs a pass of the grant in `X-Odra-Pass`.
- Answers are `{"data", "meta"}` or `{"errors", "meta"}`, with a trace in `meta`. An error has `code`, `pointer` and
  `hint`, and more where it helps. All wrong members of a body are told at once, with 422.
- A grant is waiting, then active or refused, at last expired (after `valid_days`, from 1 to 180) or withdrawn. All that
  a customer has is below it: `/v3/grants/{id}/accounts`. Grants have ids in three groups, accounts have numbers.
- The customer decides on the page at `visit`, a whole URL, with e-mail and password, or with a PIN for a payout. The
  browser goes back to `return_to` with 303 and the outcome, for an allowed grant also with a code, which works once.
- `passes` gives a pass for the code. A pass lasts for 30 minutes; 401 `pass_not_valid` tells when there is none that
  works. Each pass comes with a renewal, which gives the next one. A grant that is not active comes first: 403
  `grant_not_active`. A scope that it lacks gives 403 `scope_missing`.
- Money is `{"minor_units", "currency"}`, never negative. Accounts show what is booked, held and spendable.
- Activity is newest first, with `per_page` (1 to 50), `since` (a day) and a cursor for the next page. An account's
  activity can be read from the start twice a day (UTC), as `X-Reads-Left` counts down; then it is 429.
- A payee is checking, and ready after 45 seconds. Its ETag has its version; PATCH needs it in `If-Match`. A version
  that is not the last gives 412.
- A quote tells what an amount in the payee's currency costs: rate, fee (0.40 % if currencies differ, else none), total.
  It needs a payee that is ready, and cover. It is open for 10 minutes, unless it is used.
- A payout uses a quote and needs an `Idempotency-Key`. The same key and body give 200, the payout as it is now and the
  header `Idempotency-Replayed`.
- A payout needs_approval until the customer approves or declines it. An approved one is held, then sent and booked
  after 2 minutes, and delivered after 15. PUT to its `cancellation` cancels one that needs approval.
- A required header that is missing gives 400 `missing_header`.
"""

import base64
import random
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

KEYS = {"odk_9f27c1_tallyroom"}
SCOPES = ("accounts", "activity", "profile", "payees", "payouts")
RATES = {("PLN", "EUR"): Decimal("4.3125"), ("EUR", "PLN"): Decimal("0.2340")}
"""What one unit of the second currency costs in the first."""
FEE_PERCENT = Decimal("0.40")
READS = 2
PLACES = "Piekarnia Pod Lipą|Zielony Rynek|Koleje Regionalne|Kino Nowa Fala|Apteka Rumianek|Hydro Wrocław".split("|")
HINTS = {
    "cursor_unknown": "Take the cursor from meta.next_cursor.",
    "grant_not_active": "Ask the customer for a new grant.",
    "key_not_valid": "Send the key of your app in X-Odra-Key.",
    "key_reused": "Use another Idempotency-Key for another payout.",
    "malformed": "The value does not have the right form.",
    "malformed_json": "Send a JSON object.",
    "method_not_allowed": "See the Allow header.",
    "missing": "This member is required.",
    "missing_header": "This header is required.",
    "not_allowed": "The value is not one of those allowed.",
    "not_enough_funds": "Choose a smaller amount or another account.",
    "not_found": "There is nothing with this id.",
    "out_of_range": "The value is too small or too large.",
    "pass_not_valid": "Get a new pass with your renewal.",
    "payee_not_ready": "Payees are checked within a minute.",
    "payout_not_cancellable": "Only a payout that needs approval can be cancelled.",
    "quote_not_open": "Ask for a new quote.",
    "scope_missing": "The grant does not cover this.",
    "too_many_reads": "Activity can be read from the start twice a day.",
    "version_conflict": "Somebody else has changed this. Read it again.",
}


class Faults(Exception):
    """What is wrong with the members of a body."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__()
        self.faults = faults


@dataclass
class Account:
    id: int
    name: str
    currency: str
    booked: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    """Oldest first."""
    reads: dict[str, int] = field(default_factory=dict)
    """How often activity was read, by day."""


@dataclass(frozen=True)
class Customer:
    email: str
    password: str
    pin: str
    name: str
    accounts: list[Account]


@dataclass
class Grant:
    id: str
    page: str
    scopes: list[str]
    back: str
    app_state: str
    made: datetime
    ends: datetime
    changed: datetime
    status: str = "waiting"
    customer: Customer | None = None
    code: str = ""
    renewal: str = ""
    passes: dict[str, datetime] = field(default_factory=dict)
    """When each ends."""


@dataclass
class Payee:
    id: str
    customer: Customer
    name: str
    currency: str
    country: str
    number: str
    made: datetime
    version: int = 1


@dataclass
class Quote:
    id: str
    grant: Grant
    account: Account
    payee: Payee
    target: int
    rate: Decimal
    source: int
    fee: int
    ends: datetime
    is_used: bool = False

    @property
    def total(self) -> int:
        return self.source + self.fee


@dataclass
class Payout:
    id: str
    page: str
    key: str
    asked: dict[str, Any]
    grant: Grant
    quote: Quote
    made: datetime
    changed: datetime
    status: str = "needs_approval"
    approved: datetime | None = None
    reason: str | None = None


def write_time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def money(minor_units: int, currency: str) -> dict[str, Any]:
    return {"minor_units": minor_units, "currency": currency}


def rounded(number: Decimal) -> int:
    return int(number.quantize(Decimal(1), ROUND_HALF_UP))


def is_iban(number: Any) -> bool:
    if not isinstance(number, str) or not re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{10,30}", number):
        return False
    return int("".join(str(int(sign, 36)) for sign in number[4:] + number[:4])) % 97 == 1


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class Odra:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"odra {seed}")
        self._grants: dict[str, Grant] = {}
        self._payees: dict[str, Payee] = {}
        self._quotes: dict[str, Quote] = {}
        self._payouts: dict[str, Payout] = {}
        self._customers = {
            one.email: one
            for one in (
                Customer(
                    "hanna@lisowska.example",
                    "wrzos-1704",
                    "2580",
                    "Hanna Lisowska",
                    [self._open("Main", "PLN", 741_260), self._open("Travel", "EUR", 193_045)],
                ),
                Customer(
                    "marek.duda@poczta.example",
                    "bialykruk88",
                    "9031",
                    "Marek Duda",
                    [
                        self._open("Household", "EUR", 280_410),
                        self._open("Salary", "PLN", 1_225_075),
                        self._open("Rainy days", "PLN", 3_000_000),
                    ],
                ),
            )
        }
        grant = "/v3/grants/{grant}"
        account, payee, payout = grant + "/accounts/{id}", grant + "/payees/{id}", grant + "/payouts/{id}"
        self._routes = Routes(
            ("POST", "/v3/grants", self._create_grant),
            ("GET", grant, lambda request, grant: self._tell(200, self._show_grant(request, self._grants[grant]))),
            ("DELETE", grant, self._withdraw),
            ("POST", grant + "/passes", self._give_pass),
            ("GET", grant + "/profile", self._profile),
            ("GET", grant + "/accounts", self._list_accounts),
            ("GET", account, self._account),
            ("GET", account + "/activity", self._activity),
            ("POST", grant + "/payees", self._create_payee),
            ("GET", payee, self._payee),
            ("PATCH", payee, self._change_payee),
            ("POST", grant + "/quotes", self._create_quote),
            ("GET", grant + "/quotes/{id}", self._quote),
            ("POST", grant + "/payouts", self._create_payout),
            ("GET", payout, self._payout),
            ("PUT", payout + "/cancellation", self._cancel),
        )
        self._pages = Routes(
            ("GET", "/desk/grant/{page}", self._grant_page),
            ("POST", "/desk/grant/{page}", self._decide_grant),
            ("GET", "/desk/payout/{page}", self._payout_page),
            ("POST", "/desk/payout/{page}", self._decide_payout),
        )

    def answer(self, request: Request) -> Response:
        self._pass_time()
        is_page = request.path.startswith("/desk/")
        try:
            handler, parameters = (self._pages if is_page else self._routes).find(request.method, request.path)
            if not is_page:
                if request.headers.get("x-odra-key") not in KEYS:
                    raise Fault(401, "key_not_valid", "X-Odra-Key")
                if "grant" in parameters and parameters["grant"] not in self._grants:
                    raise Fault(404, "not_found")
            return handler(request, **parameters)
        except NoRoute as wrong:
            if wrong.allowed:
                return self._refuse([Fault(405, "method_not_allowed")], {"Allow": ", ".join(wrong.allowed)})
            return self._refuse([Fault(404, "not_found")])
        except Faults as wrong:
            return self._refuse(wrong.faults)
        except Fault as fault:
            return self._refuse([fault])

    def _tell(self, status: int, data: Any, headers: dict[str, str] | None = None, **meta: Any) -> Response:
        return respond(status, {"data": data, "meta": {"trace": self._hex(16), **meta}}, headers)

    def _refuse(self, faults: list[Fault], headers: dict[str, str] | None = None) -> Response:
        errors = [{"code": one.word, "pointer": one.place, "hint": HINTS[one.word], **one.more} for one in faults]
        if faults[0].word == "too_many_reads":
            midnight = self.clock.now.replace(hour=0, minute=0, second=0) + timedelta(days=1)
            headers = {"Retry-After": str(int((midnight - self.clock.now).total_seconds())), "X-Reads-Left": "0"}
        return respond(faults[0].status, {"errors": errors, "meta": {"trace": self._hex(16)}}, headers)

    def _pass_time(self) -> None:
        now = self.clock.now
        for grant in self._grants.values():
            if grant.status in ("waiting", "active") and now >= grant.ends:
                grant.status, grant.changed = "expired", grant.ends
        for payout in self._payouts.values():
            if not payout.approved:
                continue
            sent, delivered = payout.approved + timedelta(minutes=2), payout.approved + timedelta(minutes=15)
            if payout.status == "approved" and now >= sent:
                payout.status, payout.changed, quote = "sent", sent, payout.quote
                quote.account.booked -= quote.total
                self._post(quote.account, sent, -quote.total, quote.account.booked, quote.payee.name, payout)
            if payout.status == "sent" and now >= delivered:
                payout.status, payout.changed = "delivered", delivered

    def _pick(self, signs: str, length: int) -> str:
        return "".join(self._random.choices(signs, k=length))

    def _hex(self, length: int) -> str:
        return self._pick("0123456789abcdef", length)

    def _word(self, length: int) -> str:
        return self._pick("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789", length)

    def _group(self) -> str:
        return self._pick("abcdefghjkmnpqrstuvwxyz23456789", 4)

    def _open(self, name: str, currency: str, booked: int) -> Account:
        account = Account(self._random.randrange(20_000_000, 100_000_000), name, currency, booked)
        days = sorted(self._random.sample(range(1, 70), 28), reverse=True)
        changes = [self._random.choice((-1, -1, -1, 1)) * self._random.randrange(300, 8_000) for _ in days]
        running = booked - sum(changes)
        for passed, change in zip(days, changes, strict=True):
            running += change
            time = self.clock.now - timedelta(days=passed, minutes=self._random.randrange(0, 600))
            self._post(account, time, change, running, self._random.choice(PLACES))
        return account

    def _post(
        self, account: Account, time: datetime, change: int, running: int, who: str, payout: Payout | None = None
    ) -> None:
        row: dict[str, Any] = {"id": self._pick("0123456789", 12), "posted_at": write_time(time)}
        row |= {"direction": "out" if change < 0 else "in", "amount": money(abs(change), account.currency)}
        row |= {"balance_after": money(running, account.currency), "counterparty": who}
        row["reference"] = payout.asked["reference"] if payout else None
        account.rows.append(row | {"payout_id": payout.id if payout else None})

    def _document(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "malformed_json") from None

    def _granted(self, request: Request, id: str, scope: str) -> tuple[Grant, Customer]:
        grant = self._grants[id]
        ends = grant.passes.get(request.headers.get("x-odra-pass", ""))
        if not ends or not grant.customer:
            raise Fault(401, "pass_not_valid", "X-Odra-Pass")
        if grant.status != "active":
            raise Fault(403, "grant_not_active", grant_status=grant.status)
        if self.clock.now >= ends:
            raise Fault(401, "pass_not_valid", "X-Odra-Pass")
        if scope not in grant.scopes:
            raise Fault(403, "scope_missing", scope)
        return grant, grant.customer

    # Grants

    def _show_grant(self, request: Request, grant: Grant) -> dict[str, Any]:
        return {
            "id": grant.id,
            "status": grant.status,
            "status_changed_at": write_time(grant.changed),
            "scopes": grant.scopes,
            "holder": grant.customer.name if grant.customer else None,
            "visit": f"{request.origin}/desk/grant/{grant.page}" if grant.status == "waiting" else None,
            "created_at": write_time(grant.made),
            "expires_at": write_time(grant.ends),
        }

    def _create_grant(self, request: Request) -> Response:
        document, wrong = self._document(request), []
        scopes, days, back = document.get("scopes"), document.get("valid_days"), document.get("return_to")
        if not scopes:
            wrong.append(Fault(422, "missing", "/scopes"))
        elif not isinstance(scopes, list):
            wrong.append(Fault(422, "malformed", "/scopes"))
        else:
            unknown = [place for place, scope in enumerate(scopes) if scope not in SCOPES]
            wrong += [Fault(422, "not_allowed", f"/scopes/{place}") for place in unknown]
        if days is None:
            wrong.append(Fault(422, "missing", "/valid_days"))
        elif not is_count(days) or not 1 <= days <= 180:
            wrong.append(Fault(422, "out_of_range", "/valid_days"))
        if not back:
            wrong.append(Fault(422, "missing", "/return_to"))
        elif not str(back).startswith("https://"):
            wrong.append(Fault(422, "malformed", "/return_to"))
        if wrong or not isinstance(scopes, list) or not isinstance(days, int):
            raise Faults(wrong)
        id, now = "-".join(self._group() for _ in range(3)), self.clock.now
        state = str(document.get("app_state", ""))
        grant = Grant(id, self._word(18), scopes, str(back), state, now, now + timedelta(days=days), now)
        self._grants[id] = grant
        return self._tell(201, self._show_grant(request, grant), {"Location": f"/v3/grants/{id}"})

    def _withdraw(self, request: Request, grant: str) -> Response:
        found = self._grants[grant]
        if found.status not in ("waiting", "active"):
            raise Fault(409, "grant_not_active", grant_status=found.status)
        found.status, found.changed = "withdrawn", self.clock.now
        return self._tell(200, self._show_grant(request, found))

    def _give_pass(self, request: Request, grant: str) -> Response:
        found, document = self._grants[grant], self._document(request)
        if found.status != "active":
            raise Fault(403, "grant_not_active", grant_status=found.status)
        name = "renewal" if "renewal" in document else "code"
        if not (word := document.get(name)):
            raise Fault(422, "missing", "/code")
        if word != (found.renewal if name == "renewal" else found.code):
            raise Fault(422, "not_allowed", f"/{name}")
        found.code, found.renewal = "", f"rn.{self._word(30)}"
        key, ends = f"ps.{self._word(36)}", self.clock.now + timedelta(minutes=30)
        found.passes[key] = ends
        data = {"pass": key, "expires_at": write_time(ends), "renewal": found.renewal}
        return self._tell(201, data | {"grant": {"id": found.id, "status": found.status}})

    def _profile(self, request: Request, grant: str) -> Response:
        _, customer = self._granted(request, grant, "profile")
        return self._tell(200, {"name": customer.name, "email": customer.email})

    # Accounts

    def _held(self, account: Account) -> int:
        held = (one.quote for one in self._payouts.values() if one.status == "approved")
        return sum(quote.total for quote in held if quote.account is account)

    def _list_accounts(self, request: Request, grant: str) -> Response:
        _, customer = self._granted(request, grant, "accounts")
        shown = [{"id": one.id, "name": one.name, "currency": one.currency} for one in customer.accounts]
        return self._tell(200, shown, count=len(shown))

    def _find(self, customer: Customer, id: Any) -> Account:
        for account in customer.accounts:
            if str(account.id) == str(id):
                return account
        raise Fault(404, "not_found")

    def _account(self, request: Request, grant: str, id: str) -> Response:
        _, customer = self._granted(request, grant, "accounts")
        account = self._find(customer, id)
        held = self._held(account)
        amounts = {"booked": account.booked, "held": held, "spendable": account.booked - held}
        shown = {name: money(value, account.currency) for name, value in amounts.items()}
        data = {"id": account.id, "name": account.name, "currency": account.currency, "balances": shown}
        return self._tell(200, data | {"as_of": write_time(self.clock.now)})

    def _activity(self, request: Request, grant: str, id: str) -> Response:
        _, customer = self._granted(request, grant, "activity")
        account = self._find(customer, id)
        size, since = request.query.get("per_page", "25"), request.query.get("since", "2000-01-01")
        if not size.isdecimal() or not 1 <= int(size) <= 50:
            raise Fault(422, "out_of_range", "per_page")
        if not re.fullmatch(r"\d{4}-[01]\d-[0-3]\d", since):
            raise Fault(422, "malformed", "since")
        rows = [row for row in reversed(account.rows) if row["posted_at"] >= since]
        start, today = 0, self.clock.today.isoformat()
        if cursor := request.query.get("cursor"):
            starts = [place for place, row in enumerate(rows) if self._cursor(row) == cursor]
            if not starts:
                raise Fault(422, "cursor_unknown", "cursor")
            start = starts[0]
        elif account.reads.get(today, 0) >= READS:
            raise Fault(429, "too_many_reads")
        else:
            account.reads[today] = account.reads.get(today, 0) + 1
        end = start + int(size)
        left = {"X-Reads-Left": str(READS - account.reads.get(today, 0))}
        following = self._cursor(rows[end]) if end < len(rows) else None
        return self._tell(200, rows[start:end], left, next_cursor=following)

    def _cursor(self, row: dict[str, Any]) -> str:
        """The cursor of a page that begins with this row."""
        return base64.urlsafe_b64encode(f"from:{row['id']}".encode()).decode().rstrip("=")

    # Payees

    def _payee_status(self, payee: Payee) -> str:
        return "ready" if self.clock.now - payee.made >= timedelta(seconds=45) else "checking"

    def _show_payee(self, status: int, payee: Payee, headers: dict[str, str] | None = None) -> Response:
        data = {"id": payee.id, "status": self._payee_status(payee), "version": payee.version, "name": payee.name}
        data |= {"currency": payee.currency, "country": payee.country, "account_number": payee.number}
        data["created_at"] = write_time(payee.made)
        return self._tell(status, data, {"ETag": f'"v{payee.version}"', **(headers or {})})

    def _create_payee(self, request: Request, grant: str) -> Response:
        _, customer = self._granted(request, grant, "payees")
        document = self._document(request)
        names = ("name", "currency", "country", "account_number")
        wrong = [Fault(422, "missing", f"/{name}") for name in names if not document.get(name)]
        if (currency := document.get("currency")) and currency not in ("EUR", "PLN"):
            wrong.append(Fault(422, "not_allowed", "/currency"))
        if (number := document.get("account_number")) and not is_iban(number):
            wrong.append(Fault(422, "malformed", "/account_number"))
        if wrong:
            raise Faults(wrong)
        name, currency, country, number = (str(document[name]) for name in names)
        id = "B" + self._pick("0123456789", 9)
        payee = self._payees[id] = Payee(id, customer, name, currency, country, number, self.clock.now)
        return self._show_payee(201, payee, {"Location": f"/v3/grants/{grant}/payees/{id}"})

    def _find_payee(self, customer: Customer, id: Any) -> Payee:
        payee = self._payees.get(str(id))
        if not payee or payee.customer is not customer:
            raise Fault(404, "not_found")
        return payee

    def _payee(self, request: Request, grant: str, id: str) -> Response:
        _, customer = self._granted(request, grant, "payees")
        return self._show_payee(200, self._find_payee(customer, id))

    def _change_payee(self, request: Request, grant: str, id: str) -> Response:
        _, customer = self._granted(request, grant, "payees")
        payee, document = self._find_payee(customer, id), self._document(request)
        if not (match := request.headers.get("if-match")):
            raise Fault(400, "missing_header", "If-Match")
        if match != f'"v{payee.version}"':
            raise Fault(412, "version_conflict", "If-Match", current_version=payee.version)
        if not document.get("name"):
            raise Fault(422, "missing", "/name")
        payee.name, payee.version = str(document["name"]), payee.version + 1
        return self._show_payee(200, payee)

    # Quotes

    def _show_quote(self, quote: Quote) -> dict[str, Any]:
        currency = quote.account.currency
        return {
            "id": quote.id,
            "status": self._quote_status(quote),
            "from_account": quote.account.id,
            "payee_id": quote.payee.id,
            "receives": money(quote.target, quote.payee.currency),
            "rate": f"{quote.rate:.4f}",
            "converted": money(quote.source, currency),
            "fee_percent": f"{self._fee_percent(quote.account, quote.payee):.2f}",
            "fee": money(quote.fee, currency),
            "total": money(quote.total, currency),
            "expires_at": write_time(quote.ends),
        }

    def _quote_status(self, quote: Quote) -> str:
        if quote.is_used:
            return "used"
        return "open" if self.clock.now < quote.ends else "expired"

    def _fee_percent(self, account: Account, payee: Payee) -> Decimal:
        return Decimal(0) if account.currency == payee.currency else FEE_PERCENT

    def _create_quote(self, request: Request, grant: str) -> Response:
        found, customer = self._granted(request, grant, "payouts")
        document = self._document(request)
        names = ("from_account", "payee_id", "amount")
        wrong = [Fault(422, "missing", f"/{name}") for name in names if not document.get(name)]
        amount = document.get("amount")
        if amount and not isinstance(amount, dict):
            wrong.append(Fault(422, "malformed", "/amount"))
        if wrong or not isinstance(amount, dict):
            raise Faults(wrong)
        units = amount.get("minor_units")
        if not isinstance(units, int) or not is_count(units) or units < 1:
            raise Fault(422, "malformed", "/amount/minor_units")
        account = self._find(customer, document["from_account"])
        payee = self._find_payee(customer, document["payee_id"])
        if amount.get("currency") != payee.currency:
            raise Fault(422, "not_allowed", "/amount/currency")
        if (status := self._payee_status(payee)) != "ready":
            raise Fault(409, "payee_not_ready", "/payee_id", payee_status=status)
        rate = RATES.get((account.currency, payee.currency), Decimal(1))
        source = rounded(units * rate)
        fee = rounded(source * self._fee_percent(account, payee) / 100)
        ends = self.clock.now + timedelta(minutes=10)
        quote = Quote(self._hex(20), found, account, payee, units, rate, source, fee, ends)
        self._check_cover(quote, "/amount")
        self._quotes[quote.id] = quote
        return self._tell(201, self._show_quote(quote), {"Location": f"/v3/grants/{grant}/quotes/{quote.id}"})

    def _check_cover(self, quote: Quote, pointer: str) -> None:
        short = quote.total - (quote.account.booked - self._held(quote.account))
        if short > 0:
            raise Fault(422, "not_enough_funds", pointer, short_by=money(short, quote.account.currency))

    def _find_quote(self, grant: Grant, id: Any) -> Quote:
        quote = self._quotes.get(str(id))
        if not quote or quote.grant is not grant:
            raise Fault(404, "not_found")
        return quote

    def _quote(self, request: Request, grant: str, id: str) -> Response:
        found, _ = self._granted(request, grant, "payouts")
        return self._tell(200, self._show_quote(self._find_quote(found, id)))

    # Payouts

    def _show_payout(
        self, status: int, request: Request, payout: Payout, headers: dict[str, str] | None = None
    ) -> Response:
        quote, is_open = payout.quote, payout.status == "needs_approval"
        data = {
            "id": payout.id,
            "status": payout.status,
            "status_changed_at": write_time(payout.changed),
            "quote_id": quote.id,
            "from_account": quote.account.id,
            "payee": {"id": quote.payee.id, "name": quote.payee.name},
            "receives": money(quote.target, quote.payee.currency),
            "total": money(quote.total, quote.account.currency),
            "reference": payout.asked["reference"],
            "cancelled_because": payout.reason,
            "visit": f"{request.origin}/desk/payout/{payout.page}" if is_open else None,
            "created_at": write_time(payout.made),
        }
        return self._tell(status, data, headers)

    def _create_payout(self, request: Request, grant: str) -> Response:
        found, _ = self._granted(request, grant, "payouts")
        if not (key := request.headers.get("idempotency-key")):
            raise Fault(400, "missing_header", "Idempotency-Key")
        document = self._document(request)
        for one in self._payouts.values():
            if one.grant is found and one.key == key:
                if one.asked != document:
                    raise Fault(409, "key_reused", "Idempotency-Key")
                headers = {"Location": f"/v3/grants/{grant}/payouts/{one.id}", "Idempotency-Replayed": "yes"}
                return self._show_payout(200, request, one, headers)
        wrong = [Fault(422, "missing", f"/{name}") for name in ("quote_id", "reference") if not document.get(name)]
        if wrong:
            raise Faults(wrong)
        quote = self._find_quote(found, document["quote_id"])
        if (status := self._quote_status(quote)) != "open":
            raise Fault(409, "quote_not_open", "/quote_id", quote_status=status)
        self._check_cover(quote, "/quote_id")
        quote.is_used, now = True, self.clock.now
        payout = Payout(self._word(22), self._word(18), key, document, found, quote, now, now)
        self._payouts[payout.id] = payout
        return self._show_payout(201, request, payout, {"Location": f"/v3/grants/{grant}/payouts/{payout.id}"})

    def _find_payout(self, request: Request, grant: str, id: str) -> Payout:
        found, _ = self._granted(request, grant, "payouts")
        payout = self._payouts.get(id)
        if not payout or payout.grant is not found:
            raise Fault(404, "not_found")
        return payout

    def _payout(self, request: Request, grant: str, id: str) -> Response:
        return self._show_payout(200, request, self._find_payout(request, grant, id))

    def _cancel(self, request: Request, grant: str, id: str) -> Response:
        payout, document = self._find_payout(request, grant, id), self._document(request)
        if not document.get("reason"):
            raise Fault(422, "missing", "/reason")
        if payout.status != "needs_approval":
            raise Fault(409, "payout_not_cancellable", payout_status=payout.status)
        payout.status, payout.changed, payout.reason = "cancelled", self.clock.now, str(document["reason"])
        return self._show_payout(200, request, payout)

    # Pages

    def _page(self, title: str, fields: tuple[str, ...], choices: tuple[str, str], hint: str, status: int) -> Response:
        inputs = "".join(f'<label>{name} <input name="{name}"></label>' for name in fields)
        buttons = "".join(f'<button name="choice" value="{word}">{word.capitalize()}</button>' for word in choices)
        return show(status, title, f'<p>{hint}</p><form method="post">{inputs}{buttons}</form>')

    def _gone(self) -> Response:
        return show(410, "Odra", "<p>There is nothing to decide here any more.</p>")

    def _open_grant(self, page: str) -> Grant | None:
        return next((one for one in self._grants.values() if one.page == page and one.status == "waiting"), None)

    def _grant_page(self, request: Request, page: str, hint: str = "", status: int = 200) -> Response:
        if not self._open_grant(page):
            return self._gone()
        return self._page("Let an app in", ("email", "password"), ("allow", "refuse"), hint, status)

    def _decide_grant(self, request: Request, page: str) -> Response:
        if not (grant := self._open_grant(page)):
            return self._gone()
        customer, choice = self._customers.get(request.field("email")), request.field("choice")
        if not customer or customer.password != request.field("password"):
            return self._grant_page(request, page, "E-mail and password do not match.", 401)
        if choice not in ("allow", "refuse"):
            return self._grant_page(request, page, "Choose one of the two.", 400)
        grant.changed = self.clock.now
        target = f"{grant.back}?grant={grant.id}&app_state={grant.app_state}"
        if choice == "refuse":
            grant.status = "refused"
            return Response(303, "", {"Location": f"{target}&outcome=refused"})
        grant.status, grant.customer, grant.code = "active", customer, self._word(16)
        return Response(303, "", {"Location": f"{target}&outcome=allowed&code={grant.code}"})

    def _open_payout(self, page: str) -> Payout | None:
        payouts = (one for one in self._payouts.values() if one.page == page)
        return next((one for one in payouts if one.status == "needs_approval"), None)

    def _payout_page(self, request: Request, page: str, hint: str = "", status: int = 200) -> Response:
        if not self._open_payout(page):
            return self._gone()
        return self._page("Pay out", ("pin",), ("approve", "decline"), hint, status)

    def _decide_payout(self, request: Request, page: str) -> Response:
        if not (payout := self._open_payout(page)):
            return self._gone()
        customer, choice = payout.grant.customer, request.field("choice")
        if not customer or customer.pin != request.field("pin"):
            return self._payout_page(request, page, "The PIN is wrong.", 401)
        if choice not in ("approve", "decline"):
            return self._payout_page(request, page, "Choose one of the two.", 400)
        payout.status, payout.changed = ("approved" if choice == "approve" else "declined"), self.clock.now
        if choice == "approve":
            payout.approved = self.clock.now
        return Response(303, "", {"Location": f"{payout.grant.back}?payout={payout.id}&outcome={payout.status}"})
