"""Vistula, a Polish bank whose interface has two parts: `/info/v3` to read, `/pay/v3` to pay.

- Each call has a Partner-Key and an X-Request-Ref. Answers are `{"result": …, "hrefs"?, "slice"?, "trace"}`, and the
  trace and a header repeat the reference. Requests are bare JSON.
- Errors are application/problem+json with a `code` (VIS-1102 …); `problems` names the wrong members or headers.
- POST `/info/v3/agreements` with `scopes`, `endsOn` (up to 180 days ahead), `redirectTo` and `state`. An agreement is
  PENDING, then ACTIVE, REJECTED, REVOKED (DELETE, 200) or EXPIRED (after `endsOn`).
- `hrefs.customer` is the customer's page: first login and password (a wrong password gives 401 and the form again),
  then the accounts to share, with a hidden `seal`. He can refuse on both. 303 leads back to `redirectTo` with
  `authCode` or `refusal`, and `state`. A page that has been used gives 410.
- POST `/info/v3/tokens` exchanges an `authCode`, once and within five minutes, for a bearer token that lasts as long as
  the agreement. Without token 401; if the agreement is not active or lacks the scope 403. Accounts that the customer
  did not share are as unknown as others: 404.
- Amounts are in minor units. Entries have a positive amount and a `side`, are newest first, and go from `since` to
  `until`. Lists have a `count`; `slice.nextMark` is sent as `mark`, alone, as it remembers the rest.
- POST `/pay/v3/transfers`; `partnerOrderNo` must be new (409). 422 above the spendable amount. A transfer is
  UNCONFIRMED until the customer's code: POST `…/challenges` sends it by SMS (CODE_SENT), PUT `…/challenges/{ref}` tells
  it. In this sandbox all codes are 482916. A wrong one is 422 and leaves fewer attempts; the third is 403, the
  challenge LOCKED and the transfer REFUSED. With the right one (PASSED) it is CONFIRMED, and BOOKED after ten minutes.
  Before that, DELETE makes it WITHDRAWN (200), later 409. What is confirmed lowers `spendableMinor`, what is booked
  `ledgerMinor` too.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from html import escape
from typing import Any
from urllib.parse import urlencode

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

SCOPES = ("accounts", "balances", "history", "payments")
PARTNERS = {"pk-lantern-77120": "Lantern", "pk-pennywise-30415": "Pennywise"}
CODE = "482916"
ATTEMPTS = 3
WARSAW = timezone(timedelta(hours=2))
SHOPS = ("Piekarnia Zdrowa", "Apteka Pod Lipą", "Kolej Mazowiecka", "Wodociągi Miejskie", "Księgarnia Most", "Kino")
TITLES = {
    "VIS-1000": "Nothing here",
    "VIS-1001": "Header missing",
    "VIS-1002": "Body is not a JSON object",
    "VIS-1003": "Method not possible",
    "VIS-1101": "Query not valid",
    "VIS-1102": "Members not valid",
    "VIS-1103": "Mark unknown",
    "VIS-2000": "Partner unknown",
    "VIS-2001": "Bearer missing or unknown",
    "VIS-2003": "Authorisation code unknown, used or too old",
    "VIS-3001": "Agreement not active",
    "VIS-3002": "Agreement lacks the scope",
    "VIS-3003": "Agreement over already",
    "VIS-3404": "Agreement unknown",
    "VIS-4003": "Not enough money",
    "VIS-4004": "Partner order number used before",
    "VIS-4005": "Transfer cannot be changed any more",
    "VIS-4101": "Code wrong",
    "VIS-4102": "Code wrong too often",
    "VIS-4103": "Challenge not open",
    "VIS-4404": "Account unknown",
    "VIS-5404": "Transfer or challenge unknown",
}


@dataclass
class Account:
    ref: str
    iban: str
    label: str
    sort: str
    currency: str
    ledger: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    login: str
    password: str
    name: str
    phone: str
    accounts: Sequence[Account]


@dataclass
class Agreement:
    ref: str
    partner: str
    ticket: str
    scopes: list[str]
    ends: date
    redirect: str
    state: str
    asked: datetime
    phase: str = "PENDING"
    seal: str = ""
    customer: Customer | None = None
    accounts: list[Account] = field(default_factory=list)


@dataclass
class Challenge:
    ref: str
    sent: datetime
    phase: str = "CODE_SENT"
    left: int = ATTEMPTS


@dataclass
class Transfer:
    ref: str
    agreement: Agreement
    account: Account
    order: dict[str, Any]
    placed: datetime
    phase: str = "UNCONFIRMED"
    confirmed: datetime | None = None
    refusal: str = ""
    challenges: dict[str, Challenge] = field(default_factory=dict)

    @property
    def amount(self) -> int:
        return int(self.order["amountMinor"])


def check_digits(country: str, rest: str) -> str:
    digits = "".join(str(int(sign, 36)) for sign in rest + country + "00")
    return f"{98 - int(digits) % 97:02}"


def is_iban(text: Any) -> bool:
    if not isinstance(text, str) or not re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text):
        return False
    return check_digits(text[:2], text[4:]) == text[2:4]


def is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= most


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def write_time(time: datetime) -> str:
    return time.astimezone(WARSAW).isoformat()


def find_wrong(*rules: tuple[str, Any, str]) -> dict[str, str]:
    return {member: why for member, is_right, why in rules if not is_right}


def read_day(value: Any) -> date | None:
    try:
        return date.fromisoformat(value) if re.fullmatch(r"\d{4}-\d\d-\d\d", str(value)) else None
    except ValueError:
        return None


class Vistula:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"vistula {seed}")
        self._agreements: dict[str, Agreement] = {}
        self._transfers: dict[str, Transfer] = {}
        self._codes: dict[str, tuple[Agreement, datetime]] = {}
        self._bearers: dict[str, Agreement] = {}
        self._marks: dict[str, tuple[str, dict[str, str], int]] = {}
        everyday = self._open("Everyday", "CURRENT", "PLN", 864_215)
        pocket = self._open("Euro pocket", "CURRENT", "EUR", 120_440)
        rainy = self._open("Rainy day", "SAVINGS", "PLN", 31_500)
        home = self._open("Household", "CURRENT", "PLN", 412_733)
        workshop = self._open("Workshop", "BUSINESS", "PLN", 1_987_606)
        self._customers = [
            Customer("wanda.sokol", "Zielony-Dab-18", "Wanda Sokół", "+48 *** *** 417", [everyday, pocket, rainy]),
            Customer("tomasz.wrona", "Stary_Most_64", "Tomasz Wrona", "+48 *** *** 903", [home, workshop]),
        ]
        agreement, account = "/info/v3/agreements/{ref}", "/info/v3/accounts/{ref}"
        transfer = "/pay/v3/transfers/{ref}"
        self._routes = Routes(
            ("POST", "/info/v3/agreements", self._ask),
            ("GET", agreement, lambda request, ref: self._tell_agreement(request, 200, self._agreement(request, ref))),
            ("DELETE", agreement, self._revoke),
            ("POST", "/info/v3/tokens", self._give_bearer),
            ("GET", "/info/v3/accounts", self._list_accounts),
            ("GET", account + "/balance", self._balance),
            ("GET", account + "/entries", self._list_entries),
            ("POST", "/pay/v3/transfers", self._place),
            ("GET", transfer, lambda request, ref: self._tell_transfer(request, 200, self._transfer(request, ref))),
            ("DELETE", transfer, self._withdraw),
            ("POST", transfer + "/challenges", self._challenge),
            ("PUT", transfer + "/challenges/{own}", self._confirm),
            ("GET", "/customer/sign/{ticket}", self._page),
            ("POST", "/customer/sign/{ticket}", self._sign),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        reference = request.headers.get("x-request-ref") or f"own-{self._word(16)}"
        told = {"X-Request-Ref": reference}
        try:
            if not request.path.startswith("/customer/"):
                self._check_partner(request)
            handler, parameters = self._routes.find(request.method, request.path)
            return handler(request, **parameters)
        except NoRoute as error:
            if error.allowed:
                fault = Fault(405, "VIS-1003")
                told["Allow"] = ", ".join(error.allowed)
            else:
                fault = Fault(404, "VIS-1000")
        except Fault as refused:
            fault = refused
        if fault.status == 401:
            told["WWW-Authenticate"] = "Bearer"
        title, more = TITLES[fault.word], dict(fault.more)
        document: dict[str, Any] = {"type": f"https://partners.vistula.example/errors/{fault.word}", "title": title}
        document |= {"status": fault.status, "code": fault.word, "detail": fault.place or f"{title}."}
        document["requestRef"] = reference
        if wrong := more.pop("wrong", None):
            document["problems"] = [{"member": name, "why": why} for name, why in wrong.items()]
        document |= more
        return respond(fault.status, document, told, media="application/problem+json")

    def _word(self, length: int, signs: str = "abcdefghijkmnpqrstuvwxyz23456789") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _ref(self, letter: str) -> str:
        return f"V{letter}-{self._word(9, 'ABCDEFGHJKLMNPRSTUWXYZ0123456789')}"

    def _open(self, label: str, sort: str, currency: str, ledger: int) -> Account:
        rest = "19300012" + self._word(16, "0123456789")
        iban = f"PL{check_digits('PL', rest)}{rest}"
        account = Account(self._ref("K"), iban, label, sort, currency, ledger)
        for days in sorted(self._random.sample(range(1, 110), 44), reverse=True):
            side = self._random.choice(("DEBIT", "DEBIT", "DEBIT", "CREDIT"))
            amount, who = self._random.randrange(300, 28_000), self._random.choice(SHOPS)
            self._enter(account, self.clock.today - timedelta(days=days), side, amount, who, "Card payment", "CARD")
        return account

    def _enter(self, account: Account, day: date, side: str, amount: int, who: str, title: str, kind: str) -> None:
        entry = {"entryRef": self._ref("E"), "bookedOn": day.isoformat(), "side": side, "amountMinor": amount}
        entry |= {"currency": account.currency, "otherParty": who, "title": title, "kind": kind}
        account.entries.insert(0, entry)

    def _advance(self) -> None:
        for agreement in self._agreements.values():
            if agreement.phase in ("PENDING", "ACTIVE") and self.clock.today > agreement.ends:
                agreement.phase = "EXPIRED"
        for one in self._transfers.values():
            for challenge in one.challenges.values():
                if challenge.phase == "CODE_SENT" and self.clock.now - challenge.sent > timedelta(minutes=5):
                    challenge.phase = "LAPSED"
            passed = self.clock.now - (one.confirmed or self.clock.now)
            if one.phase == "CONFIRMED" and passed >= timedelta(minutes=10):
                one.phase = "BOOKED"
                one.account.ledger -= one.amount
                to, day = one.order["to"]["holder"], self.clock.today
                self._enter(one.account, day, "DEBIT", one.amount, to, one.order["title"], "TRANSFER")

    def _check_partner(self, request: Request) -> None:
        for name in ("Partner-Key", "X-Request-Ref"):
            if not request.headers.get(name.lower()):
                raise Fault(400, "VIS-1001", f"Send {name}.", wrong={name: "is missing"})
        if request.headers["partner-key"] not in PARTNERS:
            raise Fault(401, "VIS-2000")

    def _partner(self, request: Request) -> str:
        return PARTNERS[request.headers["partner-key"]]

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "VIS-1002") from None

    def _tell(self, request: Request, status: int, result: Any, location: str = "", **more: Any) -> Response:
        reference = request.headers["x-request-ref"]
        headers = {"X-Request-Ref": reference} | ({"Location": location} if location else {})
        trace = {"requestRef": reference, "servedAt": write_time(self.clock.now)}
        return respond(status, {"result": result, **more, "trace": trace}, headers)

    def _tell_agreement(self, request: Request, status: int, one: Agreement) -> Response:
        path = f"/info/v3/agreements/{one.ref}"
        result = {"agreementRef": one.ref, "phase": one.phase, "scopes": one.scopes, "endsOn": one.ends.isoformat()}
        hrefs = {"self": f"{request.origin}{path}"}
        if one.phase == "PENDING":
            hrefs["customer"] = f"{request.origin}/customer/sign/{one.ticket}"
        result["askedAt"] = write_time(one.asked)
        return self._tell(request, status, result, path if status == 201 else "", hrefs=hrefs)

    def _ask(self, request: Request) -> Response:
        body = self._body(request)
        scopes, ends, today = body.get("scopes"), read_day(body.get("endsOn")), self.clock.today
        are_scopes = isinstance(scopes, list) and scopes and all(one in SCOPES for one in scopes)
        wrong = find_wrong(
            ("scopes", are_scopes, "must be some of " + ", ".join(SCOPES)),
            ("endsOn", ends and today < ends <= today + timedelta(days=180), "must be a day within the next 180"),
            ("redirectTo", str(body.get("redirectTo", "")).startswith("https://"), "must begin with https://"),
            ("state", is_text(body.get("state"), 64), "must have 1 to 64 characters"),
        )
        if wrong or not ends or not isinstance(scopes, list):
            raise Fault(422, "VIS-1102", wrong=wrong)
        ref, ticket, partner = self._ref("A"), self._word(20), self._partner(request)
        one = Agreement(ref, partner, ticket, scopes, ends, body["redirectTo"], body["state"], self.clock.now)
        self._agreements[ref] = one
        return self._tell_agreement(request, 201, one)

    def _agreement(self, request: Request, ref: str) -> Agreement:
        one = self._agreements.get(ref)
        if not one or one.partner != self._partner(request):
            raise Fault(404, "VIS-3404")
        return one

    def _revoke(self, request: Request, ref: str) -> Response:
        one = self._agreement(request, ref)
        if one.phase not in ("PENDING", "ACTIVE"):
            raise Fault(409, "VIS-3003", f"The agreement is {one.phase}.")
        one.phase = "REVOKED"
        return self._tell_agreement(request, 200, one)

    def _give_bearer(self, request: Request) -> Response:
        body = self._body(request)
        code = body.get("authCode")
        if not is_text(code, 100):
            raise Fault(422, "VIS-1102", wrong={"authCode": "must be the code from the redirect"})
        agreement, since = self._codes.pop(str(code), (None, self.clock.now))
        is_late = self.clock.now - since > timedelta(minutes=5)
        if not agreement or is_late or agreement.partner != self._partner(request):
            raise Fault(400, "VIS-2003")
        bearer = self._word(40)
        self._bearers[bearer] = agreement
        result = {"bearer": bearer, "kind": "Bearer", "goodUntil": agreement.ends.isoformat()}
        return self._tell(request, 200, result | {"agreementRef": agreement.ref, "phase": agreement.phase})

    def _enable(self, request: Request, scope: str) -> Agreement:
        """The active agreement of the bearer. Raises Fault if it has not this scope."""
        kind, _, bearer = request.headers.get("authorization", "").partition(" ")
        agreement = self._bearers.get(bearer)
        if kind != "Bearer" or not agreement or agreement.partner != self._partner(request):
            raise Fault(401, "VIS-2001")
        if agreement.phase != "ACTIVE":
            raise Fault(403, "VIS-3001", f"The agreement is {agreement.phase}.")
        if scope not in agreement.scopes:
            raise Fault(403, "VIS-3002", f"The agreement has not the scope {scope}.")
        return agreement

    def _account(self, request: Request, ref: str, scope: str) -> Account:
        for account in self._enable(request, scope).accounts:
            if account.ref == ref:
                return account
        raise Fault(404, "VIS-4404")

    def _show(self, one: Account) -> dict[str, Any]:
        shown = {"accountRef": one.ref, "iban": one.iban, "label": one.label}
        return shown | {"sort": one.sort, "currency": one.currency}

    def _list_accounts(self, request: Request) -> Response:
        rows = [self._show(one) for one in self._enable(request, "accounts").accounts]
        return self._tell(request, 200, rows, slice={"count": len(rows), "nextMark": None})

    def _spendable(self, account: Account) -> int:
        reserved = [one for one in self._transfers.values() if one.phase == "CONFIRMED" and one.account is account]
        return account.ledger - sum(one.amount for one in reserved)

    def _balance(self, request: Request, ref: str) -> Response:
        account = self._account(request, ref, "balances")
        result = {"accountRef": ref, "ledgerMinor": account.ledger, "spendableMinor": self._spendable(account)}
        return self._tell(request, 200, result | {"currency": account.currency, "asOf": write_time(self.clock.now)})

    def _list_entries(self, request: Request, ref: str) -> Response:
        account, query, start, today = self._account(request, ref, "history"), dict(request.query), 0, self.clock.today
        if mark := query.get("mark"):
            path, query, start = self._marks.get(mark, ("", {}, 0))
            if path != request.path:
                raise Fault(400, "VIS-1103", wrong={"mark": "must be the nextMark of this list"})
        count, side = query.get("count", "20"), query.get("side")
        since = read_day(query.get("since", (today - timedelta(days=120)).isoformat()))
        until = read_day(query.get("until", today.isoformat()))
        wrong = find_wrong(
            ("since", since, "must be a day, YYYY-MM-DD"),
            ("until", until and (not since or since <= until), "must be a day, YYYY-MM-DD, not before since"),
            ("side", side in (None, "DEBIT", "CREDIT"), "must be DEBIT or CREDIT"),
            ("count", count.isdecimal() and 1 <= int(count) <= 50, "must be from 1 to 50"),
        )
        if wrong or not since or not until:
            raise Fault(400, "VIS-1101", wrong=wrong)
        first, last = since.isoformat(), until.isoformat()
        rows = [one for one in account.entries if first <= one["bookedOn"] <= last and side in (None, one["side"])]
        end, following = start + int(count), None
        if end < len(rows):
            following = f"mk{self._word(18)}"
            self._marks[following] = request.path, query, end
        return self._tell(request, 200, rows[start:end], slice={"count": len(rows[start:end]), "nextMark": following})

    def _tell_transfer(self, request: Request, status: int, one: Transfer) -> Response:
        path = f"/pay/v3/transfers/{one.ref}"
        result = {"transferRef": one.ref, "phase": one.phase, **one.order, "placedAt": write_time(one.placed)}
        if one.refusal:
            result["refusal"] = one.refusal
        hrefs = {"self": f"{request.origin}{path}"}
        if one.phase == "UNCONFIRMED":
            hrefs["challenges"] = f"{request.origin}{path}/challenges"
        return self._tell(request, status, result, path if status == 201 else "", hrefs=hrefs)

    def _place(self, request: Request) -> Response:
        agreement, body = self._enable(request, "payments"), self._body(request)
        account = next((one for one in agreement.accounts if one.ref == body.get("from")), None)
        to = body["to"] if isinstance(body.get("to"), dict) else {}
        is_currency = account and body.get("currency") == account.currency
        wrong = find_wrong(
            ("partnerOrderNo", is_text(body.get("partnerOrderNo"), 30), "must have 1 to 30 characters"),
            ("from", account, "must be an account of the agreement"),
            ("to.iban", is_iban(to.get("iban")), "must be an IBAN"),
            ("to.holder", is_text(to.get("holder"), 70), "must have 1 to 70 characters"),
            ("amountMinor", is_count(body.get("amountMinor")), "must be a whole number above 0"),
            ("currency", is_currency, "must be the currency of the account"),
            ("title", is_text(body.get("title"), 140), "must have 1 to 140 characters"),
        )
        if wrong or not account:
            raise Fault(422, "VIS-1102", wrong=wrong)
        number, partner = body["partnerOrderNo"], agreement.partner
        orders = [one for one in self._transfers.values() if one.agreement.partner == partner]
        if any(one.order["partnerOrderNo"] == number for one in orders):
            raise Fault(409, "VIS-4004", f"{number} was used before.")
        if body["amountMinor"] > self._spendable(account):
            raise Fault(422, "VIS-4003")
        names = ("partnerOrderNo", "from", "to", "amountMinor", "currency", "title")
        order = {name: body[name] for name in names} | {"to": {"iban": to["iban"], "holder": to["holder"]}}
        one = Transfer(self._ref("T"), agreement, account, order, self.clock.now)
        self._transfers[one.ref] = one
        return self._tell_transfer(request, 201, one)

    def _transfer(self, request: Request, ref: str) -> Transfer:
        agreement, one = self._enable(request, "payments"), self._transfers.get(ref)
        if not one or one.agreement is not agreement:
            raise Fault(404, "VIS-5404")
        return one

    def _withdraw(self, request: Request, ref: str) -> Response:
        one = self._transfer(request, ref)
        if one.phase not in ("UNCONFIRMED", "CONFIRMED"):
            raise Fault(409, "VIS-4005", f"The transfer is {one.phase}.")
        one.phase = "WITHDRAWN"
        return self._tell_transfer(request, 200, one)

    def _tell_challenge(self, request: Request, status: int, one: Transfer, challenge: Challenge) -> Response:
        path = f"/pay/v3/transfers/{one.ref}/challenges/{challenge.ref}"
        result = {
            "challengeRef": challenge.ref,
            "phase": challenge.phase,
            "method": "SMS",
            "sentTo": one.agreement.customer.phone if one.agreement.customer else "",
            "attemptsLeft": challenge.left,
            "goodUntil": write_time(challenge.sent + timedelta(minutes=5)),
            "transferRef": one.ref,
            "transferPhase": one.phase,
        }
        hrefs = {"self": request.origin + path}
        return self._tell(request, status, result, path if status == 201 else "", hrefs=hrefs)

    def _challenge(self, request: Request, ref: str) -> Response:
        one, body = self._transfer(request, ref), self._body(request)
        if body.get("method") != "SMS":
            raise Fault(422, "VIS-1102", wrong={"method": "must be SMS"})
        if one.phase != "UNCONFIRMED" or any(other.phase == "CODE_SENT" for other in one.challenges.values()):
            raise Fault(409, "VIS-4005", f"The transfer is {one.phase}, or a code is on its way.")
        challenge = Challenge(self._ref("C"), self.clock.now)
        one.challenges[challenge.ref] = challenge
        return self._tell_challenge(request, 201, one, challenge)

    def _confirm(self, request: Request, ref: str, own: str) -> Response:
        one = self._transfer(request, ref)
        if not (challenge := one.challenges.get(own)):
            raise Fault(404, "VIS-5404")
        code = self._body(request).get("code")
        if not isinstance(code, str) or not re.fullmatch(r"\d{6}", code):
            raise Fault(422, "VIS-1102", wrong={"code": "must have six digits"})
        if challenge.phase != "CODE_SENT" or one.phase != "UNCONFIRMED":
            raise Fault(409, "VIS-4103", f"The challenge is {challenge.phase}, the transfer {one.phase}.")
        if code != CODE:
            challenge.left -= 1
            if challenge.left:
                raise Fault(422, "VIS-4101", attemptsLeft=challenge.left, transferPhase=one.phase)
            challenge.phase, one.phase, one.refusal = "LOCKED", "REFUSED", "CODE_WRONG_TOO_OFTEN"
            raise Fault(403, "VIS-4102", attemptsLeft=0, transferPhase=one.phase)
        challenge.phase = "PASSED"
        if one.amount > self._spendable(one.account):
            one.phase, one.refusal = "REFUSED", "NOT_ENOUGH_MONEY"
        else:
            one.phase, one.confirmed = "CONFIRMED", self.clock.now
        return self._tell_challenge(request, 200, one, challenge)

    def _form(self, status: int, hint: str, fields: str, word: str) -> Response:
        buttons = "".join(f'<button name="verdict" value="{one}">{one}</button>' for one in (word, "refuse"))
        return show(status, "Vistula", f'<p>{hint}</p><form method="post">{fields}{buttons}</form>')

    def _page(self, request: Request, ticket: str, hint: str = "", status: int = 200) -> Response:
        one = next((one for one in self._agreements.values() if one.ticket == ticket), None)
        if not one:
            return show(404, "Vistula", "<p>This link is unknown.</p>")
        if one.phase != "PENDING":
            return show(410, "Vistula", "<p>This link was used already.</p>")
        text = hint or f"{one.partner} asks for: {', '.join(one.scopes)}. Please log in."
        return self._form(status, text, '<input name="login"><input name="password" type="password">', "continue")

    def _return(self, one: Agreement, **told: str) -> Response:
        return Response(303, "", {"Location": f"{one.redirect}?{urlencode(told | {'state': one.state})}"})

    def _sign(self, request: Request, ticket: str) -> Response:
        page = self._page(request, ticket)
        if page.status != 200:
            return page
        one = next(one for one in self._agreements.values() if one.ticket == ticket)
        verdict, seal = request.field("verdict"), request.field("seal")
        if verdict == "refuse":
            one.phase = "REJECTED"
            return self._return(one, refusal="customer")
        if verdict == "continue":
            given = request.field("login"), request.field("password")
            customer = next((who for who in self._customers if (who.login, who.password) == given), None)
            if not customer:
                return self._page(request, ticket, "Login or password is wrong.", 401)
            one.customer, one.seal = customer, self._word(24)
            return self._choose(one, f"{customer.name}, which accounts may {one.partner} use?")
        if verdict != "agree" or not one.customer or seal != one.seal:
            return self._page(request, ticket, "Please begin again.", 400)
        chosen = request.form.get("account", [])
        one.accounts = [account for account in one.customer.accounts if account.ref in chosen]
        if not one.accounts:
            return self._choose(one, "Please choose an account.", 400)
        one.phase, code = "ACTIVE", self._word(28)
        self._codes[code] = one, self.clock.now
        return self._return(one, authCode=code)

    def _choose(self, one: Agreement, hint: str, status: int = 200) -> Response:
        boxes = f'<input type="hidden" name="seal" value="{one.seal}">'
        for account in one.customer.accounts if one.customer else ():
            label = f"{account.label} {account.iban[-4:]} {account.currency}"
            boxes += f'<label><input type="checkbox" name="account" value="{account.ref}">{escape(label)}</label>'
        return self._form(status, escape(hint), boxes, "agree")
