"""Dvina, a Latvian bank whose teams have an interface each: account information in camelCase, payments in snake_case.

- POST `/identity/token` has HTTP Basic and is OAuth's, errors too: `client_credentials` for the app (15 minutes),
  `authorization_code` for a customer and one agreement (30 minutes, with a refresh token), and `refresh_token`. A code
  lives for 5 minutes; codes and refresh tokens serve once.
- All other answers are `{"result": …, "meta": {"requestId", "servedAt", "paging"?}}`, requests are bare. `requestId` is
  the X-Request-Id of the request, or a new one; payments insist on it. Times and days are Riga's. Errors are
  application/problem+json with a `code`; `violations` name members; `instance` has the request's id.
- POST `/account-info/v3/agreements` with `rights`, `endsOn` (the last day, at most 90 days ahead), `returnTo`, `state`.
  An agreement's `phase` is Drafted, Active, Refused, Closed (by PATCH of `phase`), or Expired: after `endsOn`, or if
  not signed in 15 minutes. A signed one comes back with a code. Either token sees and closes it.
- `…/accounts`, `…/accounts/{key}/balance` and `…/entries` need the customer's token, an Active agreement and the right.
  Only accounts that the customer ticked are there. `free` has the credit line, less what is reserved.
- Entries are oldest first; `bookedFrom` is inclusive, `bookedTill` is not. `meta.paging.after` is the cursor of the
  next page; it stands alone in the query, as it knows the filter.
- POST `/payment-orders/v2/transfers` with the app's token gives 202 and no Location. A `client_reference` serves once:
  again it gives 409 with `existing`, whatever the rest of the body is.
- A transfer's `progress` is unsigned, then refused (by the customer), recalled (by DELETE), abandoned (not signed in 15
  minutes) or signed. 20 seconds later it is sending, its sum reserved, or returned if `free` does not cover it; until
  then it can be recalled. Three minutes after its signing it is settled: an entry for it, and one for its charge, 38
  cents if the payee has another bank.
- The signing page asks for user code and personal number, or lets the customer cancel. Then it shows a control code,
  and the accounts to tick if it is for an agreement. Mistakes give 200 and the page again.
"""

import base64
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from html import escape
from typing import Any
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

RIGA = ZoneInfo("Europe/Riga")
RIGHTS = ("list-accounts", "read-balance", "read-statement")
APP, SECRET, HOME = "ledgerly", "amber-harbour", "https://ledgerly.example/"
SHOPS = "Rīgas Satiksme|Maxima Latvija|Latvenergo|Bērnu Aptieka|Jānis Roze|Cēsu Alus|Depo DIY|Lido".split("|")
SIGN_WITHIN, SENT_AFTER, SETTLED_AFTER = timedelta(minutes=15), timedelta(seconds=20), timedelta(minutes=3)
PROBLEMS = {
    "agreement-finished": ("DVN-1310", "The agreement is no longer open"),
    "agreement-not-active": ("DVN-1302", "The agreement is not active"),
    "duplicate-reference": ("DVN-2409", "The client reference has been used"),
    "method-not-supported": ("DVN-0405", "The method is not supported"),
    "not-readable": ("DVN-0400", "The body is not a JSON object"),
    "not-recallable": ("DVN-2311", "The transfer cannot be recalled"),
    "parameter-invalid": ("DVN-1201", "A query parameter is invalid"),
    "request-id-missing": ("DVN-2001", "X-Request-Id is missing"),
    "resource-unknown": ("DVN-0404", "The resource is unknown"),
    "right-not-granted": ("DVN-1303", "The agreement lacks the right"),
    "token-invalid": ("DVN-0401", "The access token is not valid"),
    "token-not-suitable": ("DVN-0403", "The access token is for something else"),
    "validation-failed": ("DVN-0422", "Members of the body are invalid"),
}


@dataclass
class Account:
    key: str
    iban: str
    title: str
    sort: str
    booked: int
    line: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    code: str
    number: str
    name: str
    accounts: Sequence[Account]


@dataclass
class Paper:
    """An agreement, or a transfer if it has a payer, which the customer signs on the page `page`."""

    id: str
    page: str
    back: str
    state: str
    document: dict[str, Any]
    made: datetime
    stage: str
    changed: datetime
    payer: Account | None = None
    accounts: Sequence[Account] = ()
    signer: Customer | None = None
    secret: tuple[str, str] = "", ""

    @property
    def cents(self) -> tuple[int, int]:
        """What a transfer moves, and what it costs."""
        return self.document["sum"]["minor"], self.document["charge"]["minor"]

    def move(self, stage: str, time: datetime) -> None:
        self.stage, self.changed = stage, time


@dataclass(frozen=True)
class Grant:
    """What a token, a refresh token or a code is for; without an agreement it is the app's own."""

    ends: datetime
    agreement: Paper | None = None


def check_digits(country: str, rest: str) -> str:
    digits = "".join(str(int(sign, 36)) for sign in rest + country + "00")
    return f"{98 - int(digits) % 97:02}"


def is_iban(text: Any) -> bool:
    is_written = isinstance(text, str) and re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text)
    return bool(is_written) and check_digits(text[:2], text[4:]) == text[2:4]


def tell_time(time: datetime) -> str:
    return time.astimezone(RIGA).isoformat(timespec="seconds")


def euros(cents: int) -> dict[str, Any]:
    return {"minor": cents, "currency": "EUR"}


class Dvina:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"dvina {seed}")
        self._codes: dict[str, tuple[Grant, str]] = {}
        self._tokens: dict[str, Grant] = {}
        self._renewals: dict[str, Grant] = {}
        self._cursors: dict[str, tuple[str, list[dict[str, Any]], int]] = {}
        self._papers: dict[str, Paper] = {}
        ilze = [
            self._open("Norēķinu konts", "PAYMENT", 271_904, 50_000),
            self._open("Mājas rēķini", "PAYMENT", 88_350),
            self._open("Krājkonts", "SAVING", 1_120_000),
        ]
        arturs = [self._open("Algas konts", "PAYMENT", 409_266, 100_000), self._open("Ceļojumi", "SAVING", 64_725)]
        self._customers = [
            Customer("K204817", "120385-11024", "Ilze Kalniņa", ilze),
            Customer("M775130", "070691-12287", "Artūrs Ozoliņš", arturs),
            Customer("B390662", "231178-10453", "Līga Bērziņa", [self._open("Konts", "PAYMENT", 15_480)]),
        ]
        info, transfers = "/account-info/v3", "/payment-orders/v2/transfers"
        self._routes = Routes(
            ("POST", "/identity/token", self._give_token),
            ("POST", info + "/agreements", self._draft),
            ("GET", info + "/agreements/{id}", lambda request, id: self._tell_agreement(request, id)),
            ("PATCH", info + "/agreements/{id}", self._close),
            ("GET", info + "/accounts", self._list_accounts),
            ("GET", info + "/accounts/{key}/balance", self._balance),
            ("GET", info + "/accounts/{key}/entries", self._list_entries),
            ("POST", transfers, self._order),
            ("GET", transfers + "/{id}", lambda request, id: self._tell_transfer(request, id)),
            ("DELETE", transfers + "/{id}", self._recall),
            ("GET", transfers + "/{id}/progress", self._progress),
            ("GET", "/signing/{page}", self._sign),
            ("POST", "/signing/{page}", self._sign),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        name = request.headers.get("x-request-id") or self._word(20)
        headers, told = {**request.headers, "x-request-id": name}, {}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            if request.path.startswith("/payment-orders/") and "x-request-id" not in request.headers:
                raise Fault(400, "request-id-missing")
            return handler(replace(request, headers=headers), **parameters)
        except NoRoute as wrong:
            fault = Fault(405, "method-not-supported") if wrong.allowed else Fault(404, "resource-unknown")
            told = {"Allow": ", ".join(wrong.allowed)} if wrong.allowed else {}
        except Fault as error:
            fault = error
        if fault.status == 401:
            told["WWW-Authenticate"] = 'Bearer realm="dvina", error="invalid_token"'
        code, title = PROBLEMS[fault.word]
        problem = {"type": f"urn:dvina:problem:{fault.word}", "title": title, "status": fault.status, "code": code}
        problem |= {"instance": f"urn:dvina:request:{name}", **fault.more}
        return respond(fault.status, problem, told, media="application/problem+json; charset=utf-8")

    @property
    def _today(self) -> date:
        return self.clock.now.astimezone(RIGA).date()

    def _word(self, length: int, signs: str = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _open(self, title: str, sort: str, booked: int, line: int = 0) -> Account:
        rest = "DVNA" + self._word(13, "0123456789")
        key, iban = str(UUID(int=self._random.getrandbits(128), version=4)), f"LV{check_digits('LV', rest)}{rest}"
        account = Account(key, iban, title, sort, booked, line)
        for place, days in enumerate(sorted(self._random.sample(range(1, 80), 26), reverse=True)):
            day, side = self._today - timedelta(days=days), "IN" if place % 5 == 2 else "OUT"
            cents, other = self._random.randrange(120, 9_500), {"name": self._random.choice(SHOPS)}
            self._enter(account, day, side, cents, other, "Pirkums ar karti", "CARD")
        return account

    def _enter(self, account: Account, day: date, side: str, cents: int, other: Any, text: str, sort: str) -> None:
        entry = {"entryNo": self._random.randrange(7_000_000_000, 7_999_999_999), "bookedOn": day.isoformat()}
        entry |= {"side": side, "amount": euros(cents), "otherParty": other, "purpose": text, "sort": sort}
        account.entries.append(entry)

    def _advance(self) -> None:
        now = self.clock.now
        for paper in self._papers.values():
            payer, document = paper.payer, paper.document
            if paper.stage in ("Drafted", "unsigned") and now >= paper.made + SIGN_WITHIN:
                paper.move("abandoned" if payer else "Expired", paper.made + SIGN_WITHIN)
            if paper.stage == "Active" and self._today.isoformat() > document["endsOn"]:
                paper.move("Expired", now)
            if paper.stage == "signed" and payer and now >= paper.changed + SENT_AFTER:
                stage = "sending" if sum(paper.cents) <= self._free(payer) else "returned"
                paper.move(stage, paper.changed + SENT_AFTER)
            if paper.stage == "sending" and payer and now >= paper.changed + SETTLED_AFTER - SENT_AFTER:
                paper.move("settled", paper.changed + SETTLED_AFTER - SENT_AFTER)
                payer.booked -= sum(paper.cents)
                day, (cents, charge) = paper.changed.astimezone(RIGA).date(), paper.cents
                self._enter(payer, day, "OUT", cents, document["payee"], document["purpose"], "TRANSFER")
                if charge:
                    self._enter(payer, day, "OUT", charge, None, "Komisija", "CHARGE")

    def _free(self, account: Account) -> int:
        sending = [one for one in self._papers.values() if one.payer is account and one.stage == "sending"]
        return account.booked + account.line - sum(sum(one.cents) for one in sending)

    def _give_token(self, request: Request) -> Response:
        if request.headers.get("authorization") != f"Basic {base64.b64encode(f'{APP}:{SECRET}'.encode()).decode()}":
            return respond(401, {"error": "invalid_client"}, {"WWW-Authenticate": 'Basic realm="dvina"'})
        now, kind, grant = self.clock.now, request.field("grant_type"), None
        if kind == "authorization_code":
            grant, target = self._codes.pop(request.field("code"), (None, ""))
            grant = grant if target == request.field("redirect_uri") else None
        elif kind == "refresh_token":
            grant = self._renewals.pop(request.field("refresh_token"), None)
        elif kind == "client_credentials":
            grant = Grant(now + timedelta(minutes=15))
        agreement = grant.agreement if grant else None
        if not grant or grant.ends <= now or (agreement and agreement.stage != "Active"):
            return respond(400, {"error": "invalid_grant", "error_description": f"The {kind} is not valid."})
        life, token, renewal = 1800 if agreement else 900, self._word(43), self._word(43)
        self._tokens[token] = Grant(now + timedelta(seconds=life), agreement)
        document: dict[str, Any] = {"access_token": token, "token_type": "bearer", "expires_in": life}
        if agreement:
            self._renewals[renewal] = Grant(now + timedelta(days=90), agreement)
            document |= {"refresh_token": renewal, "agreement_ref": agreement.id}
        return respond(200, document, {"Cache-Control": "no-store", "Pragma": "no-cache"})

    def _grant(self, request: Request, *, for_app: bool = False) -> Grant:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        grant = self._tokens.get(token)
        if scheme != "Bearer" or not grant or grant.ends <= self.clock.now:
            raise Fault(401, "token-invalid")
        if for_app and grant.agreement:
            raise Fault(403, "token-not-suitable", detail="Use the token of the app.")
        return grant

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise Fault(400, "not-readable") from None

    def _begin(self, request: Request, back: str) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the body, and what is wrong with its address to return to and its state."""
        self._grant(request, for_app=True)
        body, wrong = self._body(request), {}
        if not str(body.get(back)).startswith(HOME):
            wrong[back] = "must begin with the registered address"
        if not isinstance(body.get("state"), str) or not 8 <= len(body["state"]) <= 64:
            wrong["state"] = "must have 8 to 64 characters"
        return body, wrong

    def _check(self, violations: Mapping[str, str]) -> None:
        if violations:
            found = [{"member": member, "rule": rule} for member, rule in violations.items()]
            raise Fault(422, "validation-failed", violations=found)

    def _paper(self, request: Request, id: str, *, is_transfer: bool) -> Paper:
        grant, paper = self._grant(request, for_app=is_transfer), self._papers.get(id)
        if not paper or bool(paper.payer) != is_transfer or (grant.agreement and grant.agreement is not paper):
            raise Fault(404, "resource-unknown", detail=f"{id} is unknown.")
        return paper

    def _wrap(self, request: Request, result: Any, status: int = 200, paging: Any = None) -> Response:
        meta = {"requestId": request.headers["x-request-id"], "servedAt": tell_time(self.clock.now)}
        return respond(status, {"result": result, "meta": meta | ({"paging": paging} if paging else {})})

    def _draft(self, request: Request) -> Response:
        (body, wrong), now = self._begin(request, "returnTo"), self.clock.now
        rights = body.get("rights")
        if not isinstance(rights, list) or not rights or not all(right in RIGHTS for right in rights):
            wrong["rights"] = "must be of " + ", ".join(RIGHTS)
        try:
            ahead = date.fromisoformat(str(body.get("endsOn"))) - self._today
        except ValueError:
            ahead = timedelta(days=-1)
        if not timedelta() <= ahead <= timedelta(days=90):
            wrong["endsOn"] = "must be a day, at most 90 days ahead"
        self._check(wrong)
        id, page = f"AGM-{self._word(10, 'ACDEFGHJKLMNPQRTUVWXY34679')}", self._word(22)
        document = {"rights": rights, "endsOn": str(self._today + ahead)}
        self._papers[id] = Paper(id, page, body["returnTo"], body["state"], document, now, "Drafted", now)
        return self._tell_agreement(request, id, 201)

    def _tell_agreement(self, request: Request, id: str, status: int = 200) -> Response:
        agreement = self._paper(request, id, is_transfer=False)
        result = {"agreementRef": id, "phase": agreement.stage, **agreement.document}
        result["phaseSince"] = tell_time(agreement.changed)
        if agreement.stage == "Drafted":
            result["signingPage"] = f"{request.origin}/signing/{agreement.page}"
        if agreement.accounts and agreement.signer:
            result["holder"] = agreement.signer.name
        return self._wrap(request, result, status)

    def _close(self, request: Request, id: str) -> Response:
        agreement = self._paper(request, id, is_transfer=False)
        self._check({} if self._body(request) == {"phase": "Closed"} else {"phase": "must be Closed"})
        if agreement.stage not in ("Drafted", "Active"):
            raise Fault(409, "agreement-finished", phase=agreement.stage)
        agreement.move("Closed", self.clock.now)
        return self._tell_agreement(request, id)

    def _reach(self, request: Request, right: str, key: str | None = None) -> list[Account]:
        agreement = self._grant(request).agreement
        if not agreement:
            raise Fault(403, "token-not-suitable", detail="Use the token of a customer.")
        if agreement.stage != "Active":
            raise Fault(403, "agreement-not-active", phase=agreement.stage)
        if right not in agreement.document["rights"]:
            raise Fault(403, "right-not-granted", detail=f"The right {right} is needed.")
        if accounts := [one for one in agreement.accounts if key in (None, one.key)]:
            return accounts
        raise Fault(404, "resource-unknown", detail=f"Account {key} is unknown.")

    def _list_accounts(self, request: Request) -> Response:
        accounts = self._reach(request, "list-accounts")
        shown = [{"accountKey": one.key, "iban": one.iban, "title": one.title, "sort": one.sort} for one in accounts]
        return self._wrap(request, [one | {"currency": "EUR"} for one in shown])

    def _balance(self, request: Request, key: str) -> Response:
        [account] = self._reach(request, "read-balance", key)
        figures = [{"figure": "free", **euros(self._free(account))}, {"figure": "booked", **euros(account.booked)}]
        if account.line:
            figures.append({"figure": "credit-line", **euros(account.line)})
        return self._wrap(request, {"accountKey": key, "figures": figures, "takenAt": tell_time(self.clock.now)})

    def _list_entries(self, request: Request, key: str) -> Response:
        [account], query = self._reach(request, "read-statement", key), request.query
        today, size, side = self._today, query.get("limit", "20"), query.get("side")
        days = {"bookedFrom": today - timedelta(days=30), "bookedTill": today + timedelta(days=1)}
        for name in days:
            try:
                days[name] = date.fromisoformat(query.get(name, str(days[name])))
            except ValueError:
                raise Fault(400, "parameter-invalid", parameter=name) from None
        start, end = map(str, days.values())
        if start >= end or not size.isdecimal() or not 1 <= int(size) <= 50:
            raise Fault(400, "parameter-invalid", parameter="bookedTill" if start >= end else "limit")
        rows = [one for one in account.entries if start <= one["bookedOn"] < end and side in (None, one["side"])]
        most = int(size)
        if cursor := query.get("after"):
            owner, rows, most = self._cursors.get(cursor, ("", [], 0))
            if owner != key or len(query) > 1:
                raise Fault(400, "parameter-invalid", parameter="after")
        paging: dict[str, Any] = {"shown": len(rows[:most]), "hasMore": len(rows) > most}
        if paging["hasMore"]:
            paging["after"] = self._word(32)
            self._cursors[paging["after"]] = key, rows[most:], most
        return self._wrap(request, rows[:most], paging=paging)

    def _order(self, request: Request) -> Response:
        (body, wrong), now = self._begin(request, "return_to"), self.clock.now
        payee, total = ({} if not isinstance(body.get(name), dict) else body[name] for name in ("payee", "sum"))
        payer = next((a for who in self._customers for a in who.accounts if a.iban == body.get("debit_account")), None)
        cents = total.get("minor")
        if not payer:
            wrong["debit_account"] = "must be an account at Dvina"
        if not is_iban(payee.get("iban")):
            wrong["payee.iban"] = "must be an IBAN"
        if not isinstance(cents, int) or cents <= 0 or total.get("currency") != "EUR":
            wrong["sum"] = "must be positive cents of EUR"
        names = ("debit_account", "payee", "sum", "purpose", "client_reference")
        for name, text in (("payee.name", payee.get("name")), *((name, body.get(name)) for name in names[3:])):
            if not isinstance(text, str) or not 1 <= len(text) <= 70:
                wrong[name] = "must have 1 to 70 characters"
        self._check(wrong)
        for one in self._papers.values():
            if one.document.get("client_reference") == body["client_reference"]:
                raise Fault(409, "duplicate-reference", existing=one.id)
        id, page = f"P{self._today:%y%m%d}-{self._word(6, '0123456789')}", self._word(22)
        document = {name: body[name] for name in names}
        document["charge"] = euros(0 if payee["iban"][4:8] == "DVNA" else 38)
        self._papers[id] = Paper(id, page, body["return_to"], body["state"], document, now, "unsigned", now, payer)
        return self._tell_transfer(request, id, 202)

    def _tell_transfer(self, request: Request, id: str, status: int = 200) -> Response:
        transfer = self._paper(request, id, is_transfer=True)
        result = {"transfer_no": id, "progress": transfer.stage, **transfer.document}
        result["received_at"] = tell_time(transfer.made)
        if transfer.stage == "unsigned":
            result["signing_page"] = f"{request.origin}/signing/{transfer.page}"
        if transfer.stage == "returned":
            result["return_reason"] = "FREE_TOO_LOW"
        return self._wrap(request, result, status)

    def _progress(self, request: Request, id: str) -> Response:
        transfer = self._paper(request, id, is_transfer=True)
        told = {"transfer_no": id, "progress": transfer.stage, "changed_at": tell_time(transfer.changed)}
        return self._wrap(request, told)

    def _recall(self, request: Request, id: str) -> Response:
        transfer = self._paper(request, id, is_transfer=True)
        if transfer.stage not in ("unsigned", "signed"):
            raise Fault(409, "not-recallable", progress=transfer.stage)
        transfer.move("recalled", self.clock.now)
        return self._tell_transfer(request, id)

    def _sign(self, request: Request, page: str) -> Response:
        paper = next((one for one in self._papers.values() if one.page == page), None)
        if not paper or paper.stage not in ("Drafted", "unsigned"):
            return show(410, "Dvina", "<p>There is nothing left to sign here.</p>")
        if request.field("do") in ("cancel", "sign"):
            return self._finish(paper) if request.field("do") == "cancel" else self._confirm(request, paper)
        if request.method == "GET":
            return self._ask_who()
        given = request.field("userCode"), request.field("personalNo")
        who = next((one for one in self._customers if (one.code, one.number) == given), None)
        if not who or (paper.payer and paper.payer not in who.accounts):
            return self._ask_who("You cannot sign this with that user code and personal number.")
        paper.signer, paper.secret = who, (self._word(16), self._word(4, "0123456789"))
        return self._ask_consent(paper, who)

    def _ask_who(self, hint: str = "") -> Response:
        fields = '<input name="userCode"><input name="personalNo" type="password" placeholder="000000-00000">'
        fields += "".join(f'<button name="do" value="{word}">{word}</button>' for word in ("next", "cancel"))
        return show(200, "Dvina: who are you?", f'<p class="hint">{hint}</p><form method="post">{fields}</form>')

    def _ask_consent(self, paper: Paper, who: Customer, hint: str = "") -> Response:
        named = zip(("ticket", "control"), paper.secret, strict=True)
        fields = "".join(f'<input type="hidden" name="{name}" value="{value}">' for name, value in named)
        if paper.payer:
            asked = f"{paper.cents[0] / 100:.2f} EUR to {escape(paper.document['payee']['name'])}"
        else:
            asked = f"{APP} asks to see these accounts of {who.name}"
            boxes = (f'<input type="checkbox" name="account" value="{one.iban}">{one.title}' for one in who.accounts)
            fields += "<br>".join(boxes)
        fields += '<button name="do" value="sign">sign</button>'
        text = f'<p class="hint">{hint}</p><p>{asked}</p><p>Control code {paper.secret[1]}</p>'
        return show(200, "Dvina: sign", f'{text}<form method="post">{fields}</form>')

    def _confirm(self, request: Request, paper: Paper) -> Response:
        who, given = paper.signer, (request.field("ticket"), request.field("control"))
        if not who or given != paper.secret:
            return self._ask_who("Please begin again.")
        paper.accounts = [one for one in who.accounts if one.iban in request.form.get("account", [])]
        if not paper.payer and not paper.accounts:
            return self._ask_consent(paper, who, "Please tick an account.")
        return self._finish(paper, is_signed=True)

    def _finish(self, paper: Paper, *, is_signed: bool = False) -> Response:
        now = self.clock.now
        if paper.payer:
            paper.move("signed" if is_signed else "refused", now)
            told = {"transfer_no": paper.id, "outcome": paper.stage}
        else:
            paper.move("Active" if is_signed else "Refused", now)
            told = {"code": self._word(27)} if is_signed else {"error": "access_denied"}
            if is_signed:
                self._codes[told["code"]] = Grant(now + timedelta(minutes=5), paper), paper.back
        return Response(302, "", {"Location": f"{paper.back}?{urlencode(told | {'state': paper.state})}"})
