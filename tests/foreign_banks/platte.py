"""Platte, a bank in Nebraska: households share accounts by grants, and an app moves money in two steps.

- Every call has the app's key in X-App-Key (401 without). There is no token for the app alone: a grant that the
  customer agreed to is redeemed for an access key, which reads and transfers send as a bearer.
- Requests are plain JSON objects. Answers are `{"result": …, "paging"?, "trace": {"requestId", "servedAt"}}`; the id is
  in X-Request-Id, too. Errors are application/problem+json with a URN as `type`; `violations` has wrong members.
- POST `/consumer/v3/grants` with `scopes` (balances, activity, transfers), `days` (1 to 365), `redirectUri`,
  `appState`. Its `phase` is AWAITING_HOLDER, AGREED, LIVE (once redeemed), REFUSED, CLOSED or RUN_OUT (after its days).
- `holderPage` of a grant is a form for online id and password (wrong: 401, form again), which sends on (303) to a page
  where the customer ticks the accounts to share and answers yes or no. Then 303 to the app, after a yes with a ticket.
- POST `…/redeem` with the ticket works once (then 409). POST `…/close` ends a grant. Its key gives 403 from then on.
- An account that is not shared is unknown (404). Balances are posted, held and spendable, in cents.
- Activity is newest first, from `since` and before `until`, with `direction`, `minCents` and `limit`. `paging.after` is
  sent alone: it knows the filters of its list.
- POST `/money-movement/v3/transfers` needs an X-Once-Token. A transfer is NEEDS_APPROVAL; on its page the customer
  gives id, password and answer at once: APPROVED or DECLINED. Then the app releases it (202): QUEUED holds the amount
  and the fee (SAME_DAY 150 cents, STANDARD none), then it is SENT (same day: after a minute, standard: an hour), and
  SETTLED (ten minutes, a day), with an entry for the amount and one for the fee. What nobody approves and releases in
  30 minutes is LAPSED. POST `…/recall` with a `reason` makes it RECALLED while it is not yet sent (else 409).
- A transfer above what is spendable gives 422 short-of-funds, above 10,000 dollars 422 over-limit.
"""

import base64
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond, show

SCOPES = ("balances", "activity", "transfers")
APPS = {"ak_hayloft_71": "Hayloft", "ak_coinjar_08": "Coinjar"}
FEES = {"STANDARD": 0, "SAME_DAY": 150}
DELAYS = {
    "STANDARD": (timedelta(hours=1), timedelta(days=1)),
    "SAME_DAY": (timedelta(minutes=1), timedelta(minutes=10)),
}
LIMIT = 1_000_000
BUTTONS = '<button name="answer" value="yes">Yes</button><button name="answer" value="no">No</button>'
PATIENCE = timedelta(minutes=30)
PLACES = {"GROCERIES": "Sandhills Market", "FUEL": "Lone Tree Fuel", "DINING": "Runza Corner", "BILLS": "Papio Water"}


@dataclass
class Account:
    id: str
    routing: str
    number: str
    nickname: str
    kind: str
    cents: int
    items: list[dict[str, Any]] = field(default_factory=list)

    @property
    def shown(self) -> dict[str, Any]:
        masked = {"routingNumber": self.routing, "maskedNumber": f"xxxx{self.number[-4:]}"}
        return {"accountId": self.id, "nickname": self.nickname, "kind": self.kind, **masked, "currency": "USD"}


@dataclass(frozen=True)
class Holder:
    online_id: str
    password: str
    accounts: Sequence[Account]


@dataclass
class Matter:
    """What a holder has to decide on at the page with this code."""

    app: str
    id: str
    code: str
    body: dict[str, Any]
    redirect: str
    more: dict[str, Any] = field(default_factory=dict)


@dataclass
class Grant(Matter):
    phase: str = "AWAITING_HOLDER"
    visits: dict[str, Holder] = field(default_factory=dict)
    shared: Sequence[Account] = ()
    ticket: str = ""


@dataclass
class Transfer(Matter):
    payer: Account | None = None
    stage: str = "NEEDS_APPROVAL"
    good_until: datetime | None = None
    released: datetime | None = None

    @property
    def total(self) -> int:
        return int(self.body["totalCents"])


class Problem(Exception):
    def __init__(self, status: int, kind: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail, self.more = status, kind, detail, more


def violate(wrong: Mapping[str, str]) -> Problem:
    rows = [{"member": name, "rule": rule} for name, rule in wrong.items()]
    return Problem(422, "violations", f"{len(rows)} of the members cannot be used.", violations=rows)


def is_routing(text: Any) -> bool:
    """Nine digits with the weights 3, 7 and 1."""
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{9}", text):
        return False
    return sum(int(digit) * (3, 7, 1)[place % 3] for place, digit in enumerate(text)) % 10 == 0


def is_whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def is_link(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("https://")


def is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= most


def stamp(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


class Platte:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"platte {seed}")
        self._grants: dict[str, Grant] = {}
        self._transfers: dict[str, Transfer] = {}
        self._access: dict[str, Grant] = {}
        self._once: dict[tuple[str, str], tuple[dict[str, Any], Transfer]] = {}
        self._holders = [
            Holder(
                "harriet.moss",
                "plum-creek-67",
                [self._open("Daily Checking", "CHECKING", 412_655), self._open("Rainy Day", "SAVINGS", 903_010)],
            ),
            Holder(
                "dwight.tran",
                "sandhill-crane",
                [
                    self._open("Household", "CHECKING", 688_240),
                    self._open("Side Gig", "CHECKING", 151_975),
                    self._open("House Fund", "SAVINGS", 2_740_500),
                ],
            ),
        ]
        grants, accounts, transfers = "/consumer/v3/grants", "/consumer/v3/accounts", "/money-movement/v3/transfers"
        self._routes = Routes(
            ("POST", grants, self._ask),
            ("GET", grants + "/{id}", lambda request, id: self._tell(request, 200, self._grant(request, id))),
            ("POST", grants + "/{id}/redeem", self._redeem),
            ("POST", grants + "/{id}/close", self._close),
            ("GET", accounts, self._list_accounts),
            ("GET", accounts + "/{id}", lambda request, id: self._wrap(request, 200, self._find(request, id).shown)),
            ("GET", accounts + "/{id}/balances", self._balances),
            ("GET", accounts + "/{id}/activity", self._activity),
            ("POST", transfers, self._move),
            ("GET", transfers, self._list_transfers),
            ("GET", transfers + "/{id}", lambda request, id: self._tell(request, 200, self._transfer(request, id))),
            ("POST", transfers + "/{id}/release", self._release),
            ("POST", transfers + "/{id}/recall", self._recall),
            ("GET", "/secure/{code}", self._page),
            ("POST", "/secure/{code}", self._enter),
            ("GET", "/secure/{code}/choice/{visit}", self._choice),
            ("POST", "/secure/{code}/choice/{visit}", self._choose),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        headers = {**request.headers, "x-request-id": f"rq_{self._word(18)}"}
        request = Request(request.method, request.path, request.query, headers, request.body, request.origin)
        told = {"X-Request-Id": headers["x-request-id"]}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            return handler(request, **parameters)
        except NoRoute as wrong:
            if wrong.allowed:
                problem = Problem(405, "no-such-method", f"Use {' or '.join(wrong.allowed)}.")
                told["Allow"] = ", ".join(wrong.allowed)
            else:
                problem = Problem(404, "unknown", f"Nothing is at {request.path}.")
        except Problem as error:
            problem = error
        document = {
            "type": f"urn:platte:problem:{problem.kind}",
            "title": problem.kind.replace("-", " ").capitalize(),
            "status": problem.status,
            "detail": problem.detail,
            "instance": f"urn:platte:request:{headers['x-request-id']}",
        }
        return respond(problem.status, document | problem.more, told, media="application/problem+json")

    def _word(self, length: int) -> str:
        return "".join(self._random.choices("0123456789abcdefghjkmnpqrstvwxyz", k=length))

    def _open(self, nickname: str, kind: str, cents: int) -> Account:
        number = str(self._random.randrange(10**9, 10**10))
        account = Account(f"acct_{self._word(10)}", "104900048", number, nickname, kind, cents)
        after = cents
        for days in sorted(self._random.choices(range(1, 80), k=44)):
            amount, is_in = self._random.randrange(300, 14_000), self._random.random() < 0.25
            category = "INCOME" if is_in else self._random.choice(list(PLACES))
            what = "Payroll Elkhorn Tools" if is_in else PLACES[category]
            day = self.clock.today - timedelta(days=days)
            account.items.append(self._item(day, amount, "IN" if is_in else "OUT", what, category, after))
            after += -amount if is_in else amount
        return account

    def _item(self, day: date, cents: int, direction: str, what: str, category: str, after: int) -> dict[str, Any]:
        item: dict[str, Any] = {
            "activityId": f"act_{self._word(14)}",
            "postedOn": day.isoformat(),
            "amountCents": cents,
        }
        item |= {"direction": direction, "description": what, "category": category}
        return item | {"balanceAfterCents": after}

    def _spend(self, account: Account, day: date, cents: int, what: str, category: str) -> None:
        account.cents -= cents
        account.items.insert(0, self._item(day, cents, "OUT", what, category, account.cents))

    def _advance(self) -> None:
        now = self.clock.now
        for grant in self._grants.values():
            if grant.phase in ("AWAITING_HOLDER", "AGREED", "LIVE") and grant.body["endsAt"] <= stamp(now):
                grant.phase = "RUN_OUT"
        due = []
        for transfer in self._transfers.values():
            is_open = transfer.stage in ("NEEDS_APPROVAL", "APPROVED")
            if is_open and transfer.good_until and transfer.good_until <= now:
                transfer.stage = "LAPSED"
            if transfer.stage in ("QUEUED", "SENT") and transfer.released:
                sent, settled = (transfer.released + delay for delay in DELAYS[transfer.body["speed"]])
                if now >= sent:
                    transfer.stage = "SENT"
                if now >= settled:
                    due.append((settled, transfer))
        for settled, transfer in sorted(due, key=lambda pair: pair[0]):
            if payer := transfer.payer:
                transfer.stage, transfer.more["settledAt"] = "SETTLED", stamp(settled)
                if fee := transfer.body["feeCents"]:
                    self._spend(payer, settled.date(), fee, "Same-day fee", "FEE")
                name = transfer.body["payee"]["name"]
                self._spend(payer, settled.date(), transfer.body["amountCents"], f"Transfer to {name}", "TRANSFER")

    def _wrap(
        self, request: Request, status: int, result: Any, headers: Mapping[str, str] | None = None, **more: Any
    ) -> Response:
        id = request.headers["x-request-id"]
        trace = {"requestId": id, "servedAt": stamp(self.clock.now)}
        return respond(status, {"result": result, **more, "trace": trace}, {"X-Request-Id": id, **(headers or {})})

    def _describe(self, request: Request, matter: Matter) -> dict[str, Any]:
        if isinstance(matter, Transfer):
            told, is_new = {"transferId": matter.id, "stage": matter.stage}, matter.stage == "NEEDS_APPROVAL"
        else:
            phase = matter.phase if isinstance(matter, Grant) else ""
            told, is_new = {"grantId": matter.id, "phase": phase}, phase == "AWAITING_HOLDER"
        page = {"holderPage": f"{request.origin}/secure/{matter.code}"} if is_new else {}
        return {**told, **matter.body, **matter.more, **page}

    def _tell(self, request: Request, status: int, matter: Matter, **more: Any) -> Response:
        location = {"Location": f"{request.path}/{matter.id}"} if status == 201 else {}
        return self._wrap(request, status, self._describe(request, matter) | more, location)

    def _app(self, request: Request) -> str:
        key = request.headers.get("x-app-key", "")
        if key not in APPS:
            raise Problem(401, "app-key", "Send the key of your app in X-App-Key.")
        return key

    def _live(self, request: Request, scope: str = "") -> Grant:
        app = self._app(request)
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        grant = self._access.get(key)
        if scheme != "Bearer" or not grant or grant.app != app:
            raise Problem(401, "access-key", "Send the access key of a grant as a bearer.")
        if grant.phase != "LIVE":
            raise Problem(403, "grant-not-live", f"The grant is {grant.phase}.", phase=grant.phase)
        if scope and scope not in grant.body["scopes"]:
            raise Problem(403, "scope-missing", f"The grant is not for {scope}.", scope=scope)
        return grant

    def _read(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Problem(400, "bad-body", "Send a JSON object.") from None

    def _ask(self, request: Request) -> Response:
        app, body, wrong = self._app(request), self._read(request), {}
        scopes, days = body.get("scopes"), body.get("days")
        if not isinstance(scopes, list) or not scopes or not all(scope in SCOPES for scope in scopes):
            wrong["scopes"] = f"some of {', '.join(SCOPES)}"
        if not is_whole(days, 1, 365):
            wrong["days"] = "1 to 365"
        if not is_link(body.get("redirectUri")):
            wrong["redirectUri"] = "begins with https://"
        if not is_text(body.get("appState"), 60):
            wrong["appState"] = "1 to 60 characters"
        if wrong or not isinstance(days, int):
            raise violate(wrong)
        now = self.clock.now
        told = {"scopes": scopes, "days": days, "appState": body["appState"]}
        told |= {"createdAt": stamp(now), "endsAt": stamp(now + timedelta(days=days))}
        grant = Grant(app, f"gnt_{self._word(12)}", self._word(20), told, body["redirectUri"])
        self._grants[grant.id] = grant
        return self._tell(request, 201, grant)

    def _grant(self, request: Request, id: str) -> Grant:
        app, grant = self._app(request), self._grants.get(id)
        if not grant or grant.app != app:
            raise Problem(404, "unknown", f"Your app has no grant {id}.")
        return grant

    def _redeem(self, request: Request, id: str) -> Response:
        grant, ticket = self._grant(request, id), self._read(request).get("ticket")
        if grant.phase == "LIVE":
            raise Problem(409, "ticket-spent", "Use the access key that you have.")
        if grant.phase != "AGREED":
            raise Problem(409, "phase-conflict", f"The grant is {grant.phase}.", phase=grant.phase)
        if ticket != grant.ticket:
            raise Problem(403, "ticket-wrong", "Send the ticket from the redirect.")
        grant.phase, key = "LIVE", f"pk_{self._word(32)}"
        self._access[key] = grant
        return self._tell(request, 200, grant, accessKey=key)

    def _close(self, request: Request, id: str) -> Response:
        grant = self._grant(request, id)
        if grant.phase not in ("AWAITING_HOLDER", "AGREED", "LIVE"):
            raise Problem(409, "phase-conflict", f"The grant is {grant.phase}.", phase=grant.phase)
        grant.phase, grant.more["closedAt"] = "CLOSED", stamp(self.clock.now)
        return self._tell(request, 200, grant)

    def _list_accounts(self, request: Request) -> Response:
        return self._wrap(request, 200, {"accounts": [account.shown for account in self._live(request).shared]})

    def _find(self, request: Request, id: str, scope: str = "") -> Account:
        for account in self._live(request, scope).shared:
            if account.id == id:
                return account
        raise Problem(404, "unknown", f"The grant has no account {id}.")

    def _held(self, account: Account) -> int:
        moving = [one for one in self._transfers.values() if one.payer is account and one.stage in ("QUEUED", "SENT")]
        return sum(one.total for one in moving)

    def _balances(self, request: Request, id: str) -> Response:
        account = self._find(request, id, "balances")
        held = self._held(account)
        result = {"accountId": id, "postedCents": account.cents, "heldCents": held}
        result |= {"spendableCents": account.cents - held, "currency": "USD", "asOf": stamp(self.clock.now)}
        return self._wrap(request, 200, result)

    def _activity(self, request: Request, id: str) -> Response:
        account, query, start = self._find(request, id, "activity"), dict(request.query), 0
        if after := query.pop("after", None):
            if query:
                raise Problem(400, "bad-parameter", "A cursor is sent alone.", parameter="after")
            try:
                place, start, query = json.loads(base64.urlsafe_b64decode(after))
            except ValueError:
                place = ""
            if place != id:
                raise Problem(400, "bad-parameter", "The cursor is not from this list.", parameter="after")
        today = self.clock.today
        days = {"since": (today - timedelta(days=30)).isoformat(), "until": (today + timedelta(days=1)).isoformat()}
        for name, usual in list(days.items()):
            try:
                days[name] = date.fromisoformat(query.get(name, usual)).isoformat()
            except ValueError:
                raise Problem(400, "bad-parameter", f"{name} is a day, YYYY-MM-DD.", parameter=name) from None
        limit, least, direction = query.get("limit", "20"), query.get("minCents", "0"), query.get("direction")
        if not limit.isdecimal() or not 1 <= int(limit) <= 50:
            raise Problem(400, "bad-parameter", "limit is from 1 to 50.", parameter="limit")
        if not least.isdecimal():
            raise Problem(400, "bad-parameter", "minCents is a whole number.", parameter="minCents")
        if direction not in (None, "IN", "OUT"):
            raise Problem(400, "bad-parameter", "direction is IN or OUT.", parameter="direction")
        rows = [item for item in account.items if days["since"] <= item["postedOn"] < days["until"]]
        rows = [item for item in rows if item["amountCents"] >= int(least) and direction in (None, item["direction"])]
        end = start + int(limit)
        paging: dict[str, Any] = {"limit": int(limit), "more": end < len(rows)}
        if paging["more"]:
            cursor = json.dumps([id, end, query | days]).encode()
            paging["after"] = base64.urlsafe_b64encode(cursor).decode()
        return self._wrap(request, 200, {"items": rows[start:end]}, paging=paging)

    def _move(self, request: Request) -> Response:
        grant, once = self._live(request, "transfers"), request.headers.get("x-once-token")
        if not once:
            raise Problem(400, "header-missing", "Send X-Once-Token.", header="X-Once-Token")
        body, wrong = self._read(request), {}
        if (grant.id, once) in self._once:
            before, transfer = self._once[grant.id, once]
            if before != body:
                raise Problem(409, "once-token-taken", f"{once} has been used.")
            return self._tell(request, 201, transfer)
        payer = next((one for one in grant.shared if one.id == body.get("fromAccountId")), None)
        cents, speed, payee = body.get("amountCents"), body.get("speed"), body.get("payee")
        payee = payee if isinstance(payee, dict) else {}
        if not payer or payer.kind != "CHECKING":
            wrong["fromAccountId"] = "a checking account of the grant"
        if not is_text(payee.get("name"), 60):
            wrong["payee.name"] = "1 to 60 characters"
        if not is_routing(payee.get("routingNumber")):
            wrong["payee.routingNumber"] = "nine digits with a right check digit"
        if not re.fullmatch(r"[0-9]{5,17}", str(payee.get("accountNumber"))):
            wrong["payee.accountNumber"] = "5 to 17 digits"
        if not is_whole(cents, 1, 10**12):
            wrong["amountCents"] = "a whole number above 0"
        if speed not in FEES:
            wrong["speed"] = " or ".join(FEES)
        if not is_link(body.get("redirectUri")):
            wrong["redirectUri"] = "begins with https://"
        for name in ("memo", "appState"):
            if not is_text(body.get(name), 60):
                wrong[name] = "1 to 60 characters"
        if wrong or not payer or not isinstance(cents, int):
            raise violate(wrong)
        total, spendable = cents + FEES[str(speed)], payer.cents - self._held(payer)
        if total > spendable:
            raise Problem(422, "short-of-funds", "The total is above what is spendable.", spendableCents=spendable)
        if cents > LIMIT:
            raise Problem(422, "over-limit", "Transfers are up to 10,000 dollars.", limitCents=LIMIT)
        now, ending = self.clock.now, str(payee["accountNumber"])[-4:]
        told: dict[str, Any] = {
            "fromAccountId": payer.id,
            "amountCents": cents,
            "feeCents": total - cents,
            "totalCents": total,
        }
        told["payee"] = {"name": payee["name"], "routingNumber": payee["routingNumber"], "accountEnding": ending}
        told |= {"speed": speed, "memo": body["memo"], "appState": body["appState"]}
        told |= {"createdAt": stamp(now), "goodUntil": stamp(now + PATIENCE)}
        id, code = f"xfr_{self._word(12)}", self._word(20)
        transfer = Transfer(grant.app, id, code, told, body["redirectUri"], payer=payer, good_until=now + PATIENCE)
        self._transfers[id] = transfer
        self._once[grant.id, once] = body, transfer
        return self._tell(request, 201, transfer)

    def _list_transfers(self, request: Request) -> Response:
        grant = self._live(request, "transfers")
        ours = [one for one in self._transfers.values() if one.app == grant.app and one.payer in grant.shared]
        return self._wrap(request, 200, {"transfers": [self._describe(request, one) for one in reversed(ours)]})

    def _transfer(self, request: Request, id: str) -> Transfer:
        grant, transfer = self._live(request, "transfers"), self._transfers.get(id)
        if not transfer or transfer.app != grant.app or transfer.payer not in grant.shared:
            raise Problem(404, "unknown", f"The grant has no transfer {id}.")
        return transfer

    def _release(self, request: Request, id: str) -> Response:
        transfer = self._transfer(request, id)
        if transfer.stage != "APPROVED" or not (payer := transfer.payer):
            raise Problem(409, "not-approved", f"The transfer is {transfer.stage}.", stage=transfer.stage)
        if transfer.total > (spendable := payer.cents - self._held(payer)):
            raise Problem(422, "short-of-funds", "The total is above what is spendable.", spendableCents=spendable)
        transfer.stage, transfer.released = "QUEUED", self.clock.now
        transfer.more["releasedAt"] = stamp(self.clock.now)
        return self._tell(request, 202, transfer)

    def _recall(self, request: Request, id: str) -> Response:
        transfer, reason = self._transfer(request, id), self._read(request).get("reason")
        if not is_text(reason, 80):
            raise violate({"reason": "1 to 80 characters"})
        if transfer.stage not in ("NEEDS_APPROVAL", "APPROVED", "QUEUED"):
            raise Problem(409, "past-recall", f"The transfer is {transfer.stage}.", stage=transfer.stage)
        transfer.stage, transfer.more["recallReason"] = "RECALLED", reason
        return self._tell(request, 200, transfer)

    def _matter(self, code: str) -> Matter | Response:
        """What is to be decided on, or a page that tells that nothing is."""
        matters: list[Grant | Transfer] = [*self._grants.values(), *self._transfers.values()]
        for matter in matters:
            if matter.code == code:
                state = matter.phase if isinstance(matter, Grant) else matter.stage
                is_open = state in ("AWAITING_HOLDER", "NEEDS_APPROVAL")
                return matter if is_open else show(410, "Platte Bank", "<p>There is nothing left to decide.</p>")
        return show(404, "Platte Bank", "<p>This address leads nowhere.</p>")

    def _page(self, request: Request, code: str, status: int = 200, hint: str = "") -> Response:
        matter = self._matter(code)
        if isinstance(matter, Response):
            return matter
        form = '<input name="onlineId"><input name="password" type="password">'
        if isinstance(matter, Transfer):
            cents = matter.body["amountCents"]
            asked = f"{APPS[matter.app]} wants to send ${cents // 100:,}.{cents % 100:02}"
            asked += f" to {matter.body['payee']['name']}."
            form += BUTTONS
        else:
            asked, form = f"{APPS[matter.app]} asks for access.", form + "<button>Log in</button>"
        return show(status, "Platte Bank", f'<p>{hint}</p><p>{asked}</p><form method="post">{form}</form>')

    def _enter(self, request: Request, code: str) -> Response:
        matter = self._matter(code)
        if isinstance(matter, Response):
            return matter
        given = request.field("onlineId"), request.field("password")
        holder = next((one for one in self._holders if (one.online_id, one.password) == given), None)
        if not holder:
            return self._page(request, code, 401, "That online id and password do not match.")
        if isinstance(matter, Grant):
            visit = self._word(16)
            matter.visits[visit] = holder
            return Response(303, "", {"Location": f"/secure/{code}/choice/{visit}"})
        if not isinstance(matter, Transfer) or matter.payer not in holder.accounts:
            return self._page(request, code, 403, "This is another customer's account.")
        if (answer := request.field("answer")) not in ("yes", "no"):
            return self._page(request, code, 422, "Approve or decline.")
        matter.stage = "APPROVED" if answer == "yes" else "DECLINED"
        return self._return(matter, {"transfer": matter.id, "answer": answer})

    def _return(self, matter: Matter, told: dict[str, str]) -> Response:
        query = urlencode(told | {"state": matter.body["appState"]})
        return Response(303, "", {"Location": f"{matter.redirect}?{query}"})

    def _choice(self, request: Request, code: str, visit: str, status: int = 200, hint: str = "") -> Response:
        grant = self._matter(code)
        if isinstance(grant, Response):
            return grant
        if not isinstance(grant, Grant) or visit not in grant.visits:
            return show(404, "Platte Bank", "<p>This address leads nowhere.</p>")
        boxes = "".join(
            f'<label><input type="checkbox" name="share" value="{one.id}">{one.nickname}</label>'
            for one in grant.visits[visit].accounts
        )
        asked = f"{APPS[grant.app]} wants {', '.join(grant.body['scopes'])} for {grant.body['days']} days."
        return show(status, "Platte Bank", f'<p>{hint}</p><p>{asked}</p><form method="post">{boxes}{BUTTONS}</form>')

    def _choose(self, request: Request, code: str, visit: str) -> Response:
        page, grant = self._choice(request, code, visit), self._matter(code)
        if page.status != 200 or not isinstance(grant, Grant):
            return page
        answer, ticked = request.field("answer"), request.form.get("share", [])
        if answer == "no":
            grant.phase = "REFUSED"
            return self._return(grant, {"grant": grant.id, "answer": "no"})
        shared = [one for one in grant.visits[visit].accounts if one.id in ticked]
        if answer != "yes" or not shared:
            return self._choice(request, code, visit, 422, "Tick at least one account, or refuse.")
        grant.phase, grant.shared, grant.ticket = "AGREED", shared, f"tk_{self._word(24)}"
        grant.more["sharedAccounts"] = [one.id for one in shared]
        return self._return(grant, {"grant": grant.id, "answer": "yes", "ticket": grant.ticket})
