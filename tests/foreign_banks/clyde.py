"""Clyde, a Scottish bank with two interfaces: `/data-access/v2` for consents and reads, `/payment-orders/v1` to pay.

- Answers are `{"content": …, "paging"?, "about": {"trace", "answeredAt"}}`, the tokens too, and bodies are
  `{"content": …}`. `Clyde-Trace` is repeated or made up. Errors are application/problem+json with `slips` by member.
- The app sends its name and secret (Basic) to ask for consents, to read or end them, to follow payments and to get
  tokens. It sends a bearer token to read accounts and to submit a payment.
- Each POST for a consent or a payment needs a `Clyde-Retry-Key`. The same key and body give the same thing again; with
  another body 409.
- A data consent has `permissions` and `expiresAt`, up to 180 days ahead. Its `stage` is Proposed, then Agreed or
  Refused, and in the end Ended (by DELETE, which shows it) or Expired.
- A payment consent says `pence`, `payee` and `reference`. It is Proposed for an hour at most, then Agreed or Refused,
  and Used as soon as its payment is submitted.
- `approvalPage` is the bank's: a login with user id and password (401 if they are wrong), then a form with the hidden
  `visit`, for a payment the choice of `payFrom`, and `answer`, yes or no. It leads back to `backTo` with `echo` and
  `code`, or `error`: customer-refused, or not-covered if the account does not have the money; then it is Refused as
  well. A used link gives 410.
- A code is good for one exchange in ten minutes. A token lasts 30 minutes. One for data comes with a refresh token,
  which is replaced each time; one for a payment is only good to submit that payment.
- A payment is Queued, Sending after two minutes and Arrived after ten, or Declined at once if the money has gone since.
  A queued one lowers what is spendable (ledger and arranged overdraft), an arrived one the ledger, and is an entry.
- Amounts are pence without a sign; entries have a `side`, are newest first, and are filtered by `since`, `until` and
  `side`. `paging.onward` is missing on the last page; else it is sent as `after`, alone, as it holds the filters too.
"""

import base64
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from html import escape
from typing import Any, TypeGuard
from urllib.parse import urlencode

from tests.foreign_banks.server import Clock, NoRoute, Request, Response, Routes, respond, show

PERMISSIONS = ("SeeAccounts", "SeeBalances", "SeeEntries")
APPS = {"pennywhistle": "thistledown-44", "sporran": "bannock-71"}
PLACES = "Kelvin Bakery|Partick Hardware|Subway Glasgow|Forth Hydro|Byres Road Books|Gallus Coffee|Isle Ferries"
DATA, PAY = "/data-access/v2", "/payment-orders/v1"
TITLES = {
    "consent-closed": "That consent is closed",
    "consent-not-in-force": "The customer's consent is not in force",
    "consent-used": "A payment was submitted against that consent before",
    "content-invalid": "The content has slips",
    "content-unreadable": "The body is not JSON with content",
    "differs-from-consent": "The payment is not what the customer agreed to",
    "grant-invalid": "The code or refresh token cannot be used",
    "header-missing": "A header is missing",
    "method-not-allowed": "That cannot be done here",
    "not-authenticated": "We do not know who is asking",
    "permission-missing": "The customer's consent does not permit that",
    "query-invalid": "The query has slips",
    "retry-key-taken": "The retry key belongs to another request",
    "token-for-other-purpose": "The token is for another purpose",
    "unknown": "We hold nothing by that name",
}


@dataclass
class Account:
    id: str
    sort_code: str
    number: str
    nickname: str
    sort: str
    pence: int
    overdraft: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    user: str
    password: str
    name: str
    accounts: Sequence[Account]


@dataclass
class Consent:
    id: str
    app: str
    link: str
    back: str
    echo: str
    terms: dict[str, Any]
    asked: datetime
    ends: datetime
    stage: str = "Proposed"
    decided: datetime | None = None
    visits: dict[str, Customer] = field(default_factory=dict)
    customer: Customer | None = None
    account: Account | None = None

    @property
    def is_payment(self) -> bool:
        return "pence" in self.terms

    @property
    def path(self) -> str:
        return f"{PAY}/payment-consents/{self.id}" if self.is_payment else f"{DATA}/consents/{self.id}"


@dataclass
class Payment:
    id: str
    consent: Consent
    account: Account
    submitted: datetime
    changed: datetime
    stage: str

    @property
    def pence(self) -> int:
        return int(self.consent.terms["pence"])


class Slip(Exception):
    def __init__(self, status: int, kind: str, detail: str, slips: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail = status, kind, detail
        self.slips = [{"member": member, "says": says} for member, says in (slips or {}).items()]


def is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= most


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_payee(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and set(value) == {"name", "sortCode", "accountNumber"}


class Clyde:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"clyde {seed}")
        self._consents: dict[str, Consent] = {}
        self._payments: dict[str, Payment] = {}
        self._codes: dict[str, tuple[Consent, datetime]] = {}
        self._tokens: dict[str, tuple[Consent, datetime]] = {}
        self._refreshers: dict[str, Consent] = {}
        self._keys: dict[tuple[str, str, str], tuple[dict[str, Any], str]] = {}
        self._cursors: dict[str, tuple[str, dict[str, str], int]] = {}
        current, savings = "CurrentAccount", "SavingsAccount"
        self._customers = [
            Customer(
                "morag.sinclair",
                "Heather-and-gorse",
                "Morag Sinclair",
                [
                    self._open("Household", current, 241_366, 50_000),
                    self._open("Rainy day", savings, 880_500, 0),
                ],
            ),
            Customer(
                "callum.reid",
                "Tenement-close-9",
                "Callum Reid",
                [
                    self._open("Wages", current, 197_204, 25_000),
                    self._open("Workshop", current, 436_918, 100_000),
                    self._open("Boat", savings, 1_530_077, 0),
                ],
            ),
        ]
        consent, account = "/consents/{id}", "/accounts/{id}"
        self._routes = Routes(
            ("POST", DATA + "/tokens", self._give_token),
            ("POST", DATA + "/consents", self._ask_data),
            ("GET", DATA + consent, self._show_consent),
            ("DELETE", DATA + consent, self._end_consent),
            ("GET", DATA + "/accounts", self._list_accounts),
            ("GET", DATA + account, self._show_account),
            ("GET", DATA + account + "/balances", self._show_balances),
            ("GET", DATA + account + "/entries", self._list_entries),
            ("POST", PAY + "/payment-consents", self._ask_payment),
            ("GET", PAY + "/payment-consents/{id}", self._show_consent),
            ("DELETE", PAY + "/payment-consents/{id}", self._end_consent),
            ("POST", PAY + "/payments", self._submit),
            ("GET", PAY + "/payments/{id}", self._show_payment),
            ("GET", "/approve/{link}", self._page),
            ("POST", "/approve/{link}", self._log_in),
            ("POST", "/approve/{link}/answer", self._decide),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        trace = request.headers.get("clyde-trace") or self._word(16)
        headers = {**request.headers, "clyde-trace": trace}
        request = Request(request.method, request.path, request.query, headers, request.body, request.origin)
        told = {"Clyde-Trace": trace}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            return handler(request, **parameters)
        except NoRoute as wrong:
            if wrong.allowed:
                slip = Slip(405, "method-not-allowed", f"{request.method} cannot be done here.")
                told["Allow"] = ", ".join(wrong.allowed)
            else:
                slip = Slip(404, "unknown", f"There is nothing at {request.path}.")
        except Slip as error:
            slip = error
        document: dict[str, Any] = {
            "type": f"urn:clyde:problem:{slip.kind}",
            "title": TITLES[slip.kind],
            "status": slip.status,
            "detail": slip.detail,
            "trace": trace,
        }
        if slip.slips:
            document["slips"] = slip.slips
        return respond(slip.status, document, told, media="application/problem+json")

    def _word(self, length: int, signs: str = "abcdefghijkmnpqrstuvwxyz23456789") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _name(self, kind: str) -> str:
        return f"{kind}_{self._word(12, '0123456789ABCDEFGHJKMNPQRSTVWXYZ')}"

    def _open(self, nickname: str, sort: str, pence: int, overdraft: int) -> Account:
        account_id, number = "A" + self._word(10, "0123456789"), self._word(8, "0123456789")
        account = Account(account_id, "87-40-16", number, nickname, sort, pence, overdraft)
        for days in sorted(self._random.choices(range(1, 88), k=44), reverse=True):
            side = self._random.choice(("PaidOut", "PaidOut", "PaidOut", "PaidIn"))
            place = self._random.choice(PLACES.split("|"))
            day = self.clock.today - timedelta(days=days)
            self._enter(account, day, self._random.randrange(120, 9_500), side, place, "Card 4471", "Card")
        return account

    def _enter(self, account: Account, day: date, pence: int, side: str, other: str, reference: str, way: str) -> None:
        entry = {"entryId": self._name("ent"), "day": day.isoformat(), "side": side, "pence": pence}
        account.entries.insert(0, entry | {"otherParty": other, "reference": reference, "way": way})

    def _advance(self) -> None:
        now = self.clock.now
        for consent in self._consents.values():
            if consent.stage in ("Proposed", "Agreed") and consent.ends <= now:
                consent.stage = "Expired"
        for payment in self._payments.values():
            if payment.stage == "Queued" and now >= payment.submitted + timedelta(minutes=2):
                payment.stage, payment.changed = "Sending", payment.submitted + timedelta(minutes=2)
            if payment.stage == "Sending" and now >= payment.submitted + timedelta(minutes=10):
                payment.stage, payment.changed = "Arrived", payment.submitted + timedelta(minutes=10)
                self._settle(payment)

    def _settle(self, payment: Payment) -> None:
        terms, payer, day = payment.consent.terms, payment.account, payment.changed.date()
        payee, reference = terms["payee"], terms["reference"]
        payer.pence -= payment.pence
        self._enter(payer, day, payment.pence, "PaidOut", payee["name"], reference, "FasterPayment")

    def _spendable(self, account: Account) -> int:
        under_way = [one for one in self._payments.values() if one.stage in ("Queued", "Sending")]
        return account.pence + account.overdraft - sum(one.pence for one in under_way if one.account is account)

    def _tell(self, request: Request, status: int, content: Any, location: str = "", **more: Any) -> Response:
        trace = request.headers["clyde-trace"]
        document = {"content": content, **more, "about": {"trace": trace, "answeredAt": self.clock.now.isoformat()}}
        headers = {"Clyde-Trace": trace} | ({"Location": location} if location else {})
        return respond(status, document, headers)

    def _app(self, request: Request) -> str:
        scheme, _, sent = request.headers.get("authorization", "").partition(" ")
        try:
            app, _, secret = base64.b64decode(sent, validate=True).decode().partition(":")
        except ValueError:
            app = secret = ""
        if scheme != "Basic" or app not in APPS or APPS[app] != secret:
            raise Slip(401, "not-authenticated", "Send the name and secret of your app.")
        return app

    def _bearer(self, request: Request) -> Consent:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or token not in self._tokens or self._tokens[token][1] <= self.clock.now:
            raise Slip(401, "not-authenticated", "Send an access token that has not run out.")
        return self._tokens[token][0]

    def _content(self, request: Request) -> dict[str, Any]:
        try:
            content = request.document.get("content")
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise Slip(400, "content-unreadable", 'Send {"content": {…}}.')
        return content

    def _once(self, request: Request, app: str, make: Callable[[dict[str, Any]], str]) -> str:
        """The id of the thing that was made with this retry key, now or before."""
        if not (key := request.headers.get("clyde-retry-key")):
            raise Slip(400, "header-missing", "Send Clyde-Retry-Key.", {"Clyde-Retry-Key": "is needed"})
        content = self._content(request)
        place = (app, request.path, key)
        if place not in self._keys:
            self._keys[place] = content, make(content)
        before, made = self._keys[place]
        if before != content:
            raise Slip(409, "retry-key-taken", f"{key} was sent with other content.")
        return made

    # Consents

    def _ask_data(self, request: Request) -> Response:
        app = self._app(request)

        def make(content: dict[str, Any]) -> str:
            wrong = self._wrong_way_back(content)
            wanted, ends = content.get("permissions"), self.clock.now
            if not isinstance(wanted, list) or not wanted or any(one not in PERMISSIONS for one in wanted):
                wrong["content.permissions"] = "has some of " + ", ".join(PERMISSIONS)
            try:
                ends = datetime.fromisoformat(str(content.get("expiresAt")))
                is_right = self.clock.now < ends <= self.clock.now + timedelta(days=180)
            except (TypeError, ValueError):
                is_right = False
            if not is_right:
                wrong["content.expiresAt"] = "is a time with its offset, at most 180 days ahead"
            return self._propose("dac", app, content, {"permissions": wanted}, ends, wrong)

        return self._tell_consent(request, 201, self._consents[self._once(request, app, make)])

    def _ask_payment(self, request: Request) -> Response:
        app = self._app(request)

        def make(content: dict[str, Any]) -> str:
            wrong, pence, payee = self._wrong_way_back(content), content.get("pence"), content.get("payee")
            if not is_whole(pence) or not 1 <= int(str(pence)) <= 2_500_000:
                wrong["content.pence"] = "is a whole number from 1 to 2500000"
            if not is_payee(payee):
                wrong["content.payee"] = "has name, sortCode and accountNumber"
            else:
                if not is_text(payee["name"], 60):
                    wrong["content.payee.name"] = "has 1 to 60 characters"
                if not re.fullmatch(r"\d\d-\d\d-\d\d", str(payee["sortCode"])):
                    wrong["content.payee.sortCode"] = "is like 12-34-56"
                if not re.fullmatch(r"\d{8}", str(payee["accountNumber"])):
                    wrong["content.payee.accountNumber"] = "has 8 digits"
            if not is_text(content.get("reference"), 18):
                wrong["content.reference"] = "has 1 to 18 characters"
            terms = {"pence": pence, "currency": "GBP", "payee": payee, "reference": content.get("reference")}
            return self._propose("pyc", app, content, terms, self.clock.now + timedelta(hours=1), wrong)

        return self._tell_consent(request, 201, self._consents[self._once(request, app, make)])

    def _wrong_way_back(self, content: dict[str, Any]) -> dict[str, str]:
        wrong = {}
        if not str(content.get("backTo", "")).startswith("https://"):
            wrong["content.backTo"] = "begins with https://"
        if not is_text(content.get("echo"), 64):
            wrong["content.echo"] = "has 1 to 64 characters"
        return wrong

    def _propose(
        self, kind: str, app: str, content: dict[str, Any], terms: dict[str, Any], ends: datetime, wrong: dict[str, str]
    ) -> str:
        if wrong:
            raise Slip(422, "content-invalid", "Please mend the slips and send it again.", wrong)
        back, echo, now = content["backTo"], content["echo"], self.clock.now
        consent = Consent(self._name(kind), app, self._word(22), back, echo, terms, now, ends)
        self._consents[consent.id] = consent
        return consent.id

    def _tell_consent(self, request: Request, status: int, consent: Consent) -> Response:
        content = {"consentId": consent.id, "stage": consent.stage, **consent.terms}
        content |= {"askedAt": consent.asked.isoformat(), "expiresAt": consent.ends.isoformat()}
        if consent.decided:
            content["decidedAt"] = consent.decided.isoformat()
        if consent.stage == "Proposed":
            content["approvalPage"] = f"{request.origin}/approve/{consent.link}"
        return self._tell(request, status, content, consent.path if status == 201 else "")

    def _find_consent(self, request: Request, id: str) -> Consent:
        app, consent = self._app(request), self._consents.get(id)
        if not consent or consent.app != app or consent.path != request.path:
            raise Slip(404, "unknown", f"You have no consent {id}.")
        return consent

    def _show_consent(self, request: Request, id: str) -> Response:
        return self._tell_consent(request, 200, self._find_consent(request, id))

    def _end_consent(self, request: Request, id: str) -> Response:
        consent = self._find_consent(request, id)
        if consent.stage not in ("Proposed", "Agreed"):
            raise Slip(409, "consent-closed", f"The consent is {consent.stage} already.")
        consent.stage = "Ended"
        return self._tell_consent(request, 200, consent)

    # Tokens

    def _give_token(self, request: Request) -> Response:
        app, grant = self._app(request), request.field("grant")
        consent: Consent | None = None
        if grant == "code":
            consent, ends = self._codes.pop(request.field("code"), (None, self.clock.now))
            if ends <= self.clock.now:
                consent = None
        elif grant == "refresh":
            consent = self._refreshers.get(request.field("refreshToken"))
        else:
            raise Slip(422, "content-invalid", "Please mend the slips.", {"grant": "is code or refresh"})
        if not consent or consent.app != app or consent.stage != "Agreed":
            raise Slip(400, "grant-invalid", "It is unknown, used before, too old, or its consent is not in force.")
        self._refreshers.pop(request.field("refreshToken"), None)
        token = self._word(40)
        self._tokens[token] = consent, self.clock.now + timedelta(minutes=30)
        content = {"accessToken": token, "kind": "Bearer", "lastsSeconds": 1800, "consentId": consent.id}
        if not consent.is_payment:
            refresher = content["refreshToken"] = self._word(48)
            self._refreshers[refresher] = consent
        return self._tell(request, 200, content)

    # Accounts

    def _permitted(self, request: Request, permission: str) -> Sequence[Account]:
        consent = self._bearer(request)
        if consent.is_payment:
            raise Slip(403, "token-for-other-purpose", "This token is for a payment.")
        if consent.stage != "Agreed" or not consent.customer:
            raise Slip(403, "consent-not-in-force", f"The consent is {consent.stage}.")
        if permission not in consent.terms["permissions"]:
            raise Slip(403, "permission-missing", f"The consent does not have {permission}.")
        return consent.customer.accounts

    def _find_account(self, request: Request, id: str, permission: str) -> Account:
        account = next((one for one in self._permitted(request, permission) if one.id == id), None)
        if not account:
            raise Slip(404, "unknown", f"The customer has no account {id}.")
        return account

    def _describe(self, account: Account) -> dict[str, Any]:
        numbers = {"sortCode": account.sort_code, "accountNumber": account.number}
        return {"accountId": account.id, "nickname": account.nickname, "sort": account.sort, **numbers}

    def _list_accounts(self, request: Request) -> Response:
        rows = [self._describe(one) for one in self._permitted(request, "SeeAccounts")]
        return self._tell(request, 200, rows, paging={"count": len(rows)})

    def _show_account(self, request: Request, id: str) -> Response:
        return self._tell(request, 200, self._describe(self._find_account(request, id, "SeeAccounts")))

    def _show_balances(self, request: Request, id: str) -> Response:
        account = self._find_account(request, id, "SeeBalances")
        pence = {"ledgerPence": account.pence, "spendablePence": self._spendable(account)}
        content = {"accountId": id, **pence, "arrangedOverdraftPence": account.overdraft, "currency": "GBP"}
        return self._tell(request, 200, content)

    def _list_entries(self, request: Request, id: str) -> Response:
        account, wanted, start = self._find_account(request, id, "SeeEntries"), dict(request.query), 0
        if after := wanted.get("after"):
            path, wanted, start = self._cursors.get(after, ("", {}, 0))
            if path != request.path or len(request.query) > 1:
                raise Slip(400, "query-invalid", "Send onward as after, alone.", {"after": "is not from this list"})
        wrong, since, until, rows = {}, wanted.get("since", "2000-01-01"), wanted.get("until", "2999-12-31"), 20
        for name, day in (("since", since), ("until", until)):
            try:
                date.fromisoformat(day)
            except ValueError:
                wrong[name] = "is a day like 2026-01-31"
        if not wrong and since > until:
            wrong["until"] = "is not before since"
        if (side := wanted.get("side", "PaidIn")) not in ("PaidIn", "PaidOut"):
            wrong["side"] = "is PaidIn or PaidOut"
        if re.fullmatch(r"[1-9]\d?", text := wanted.get("rows", "20")) and int(text) <= 50:
            rows = int(text)
        else:
            wrong["rows"] = "is from 1 to 50"
        if wrong:
            raise Slip(400, "query-invalid", "Please mend the slips and ask again.", wrong)
        found = [one for one in account.entries if since <= one["day"] <= until]
        found = [one for one in found if "side" not in wanted or one["side"] == side]
        page, paging = found[start : start + rows], {}
        if start + rows < len(found):
            paging["onward"] = self._word(30)
            self._cursors[paging["onward"]] = request.path, wanted, start + rows
        return self._tell(request, 200, page, paging={"count": len(page), **paging})

    # Payments

    def _submit(self, request: Request) -> Response:
        consent = self._bearer(request)

        def make(content: dict[str, Any]) -> str:
            if content.get("consentId") != consent.id or not consent.is_payment:
                raise Slip(403, "token-for-other-purpose", "This token is not for that payment.")
            if consent.stage == "Used":
                raise Slip(409, "consent-used", "Ask for another consent to pay again.")
            if consent.stage != "Agreed" or not consent.account:
                raise Slip(403, "consent-not-in-force", f"The consent is {consent.stage}.")
            names = [name for name in ("pence", "payee", "reference") if content.get(name) != consent.terms[name]]
            if names:
                slips = {f"content.{name}": "is not as in the consent" for name in names}
                raise Slip(422, "differs-from-consent", "Send what the customer agreed to.", slips)
            now, is_covered = self.clock.now, consent.terms["pence"] <= self._spendable(consent.account)
            stage = "Queued" if is_covered else "Declined"
            payment = Payment(self._name("pmt"), consent, consent.account, now, now, stage)
            self._payments[payment.id] = payment
            consent.stage = "Used"
            return payment.id

        return self._tell_payment(request, 201, self._payments[self._once(request, consent.app, make)])

    def _tell_payment(self, request: Request, status: int, payment: Payment) -> Response:
        names = {"paymentId": payment.id, "consentId": payment.consent.id, "stage": payment.stage}
        times = {"submittedAt": payment.submitted.isoformat(), "changedAt": payment.changed.isoformat()}
        content = {**names, "payFrom": payment.account.id, **payment.consent.terms, **times}
        return self._tell(request, status, content, f"{PAY}/payments/{payment.id}" if status == 201 else "")

    def _show_payment(self, request: Request, id: str) -> Response:
        app, payment = self._app(request), self._payments.get(id)
        if not payment or payment.consent.app != app:
            raise Slip(404, "unknown", f"You have no payment {id}.")
        return self._tell_payment(request, 200, payment)

    # The customer's page

    def _linked(self, link: str) -> Consent | Response:
        consent = next((one for one in self._consents.values() if one.link == link), None)
        if not consent:
            return show(404, "Clyde Bank", "<p>Sorry, this is no link of ours.</p>")
        if consent.stage != "Proposed":
            return show(410, "Clyde Bank", "<p>Sorry, this link is spent.</p>")
        return consent

    def _page(self, request: Request, link: str, hint: str = "", status: int = 200) -> Response:
        consent = self._linked(link)
        if isinstance(consent, Response):
            return consent
        fields = 'User id <input name="userId"> Password <input name="password" type="password">'
        form = f'<form method="post" action="/approve/{link}">{fields}<button>Log in</button></form>'
        return show(status, "Log in to Clyde Bank", f"<p>{hint}</p>{form}")

    def _log_in(self, request: Request, link: str) -> Response:
        consent = self._linked(link)
        if isinstance(consent, Response):
            return consent
        given = request.field("userId"), request.field("password")
        customer = next((one for one in self._customers if (one.user, one.password) == given), None)
        if not customer:
            return self._page(request, link, "That user id and password do not match.", 401)
        visit = self._word(24)
        consent.visits[visit] = customer
        return self._ask(consent, visit)

    def _ask(self, consent: Consent, visit: str, hint: str = "", status: int = 200) -> Response:
        customer, terms = consent.visits[visit], consent.terms
        fields = f'<input type="hidden" name="visit" value="{visit}">'
        if consent.is_payment:
            question = f"Pay £{terms['pence'] // 100}.{terms['pence'] % 100:02} to {escape(terms['payee']['name'])}?"
            for one in customer.accounts:
                fields += f'<label><input type="radio" name="payFrom" value="{one.id}">{one.nickname}</label>'
        else:
            question = f"Let {consent.app} have {', '.join(terms['permissions'])} until {consent.ends.date()}?"
        fields += "".join(f'<button name="answer" value="{word}">{word}</button>' for word in ("yes", "no"))
        form = f'<form method="post" action="/approve/{consent.link}/answer">{fields}</form>'
        return show(status, f"Hello {customer.name}", f"<p>{hint}</p><p>{question}</p>{form}")

    def _decide(self, request: Request, link: str) -> Response:
        consent, visit = self._linked(link), request.field("visit")
        if isinstance(consent, Response):
            return consent
        if visit not in consent.visits:
            return self._page(request, link, "Please log in first.", 401)
        customer, answer = consent.visits[visit], request.field("answer")
        if answer not in ("yes", "no"):
            return self._ask(consent, visit, "Please answer yes or no.", 400)
        account = next((one for one in customer.accounts if one.id == request.field("payFrom")), None)
        if answer == "yes" and consent.is_payment and not account:
            return self._ask(consent, visit, "Please choose the account to pay from.", 400)
        consent.decided = self.clock.now
        outcome = {"error": "customer-refused"} if answer == "no" else {}
        if answer == "yes" and account and consent.is_payment and consent.terms["pence"] > self._spendable(account):
            outcome = {"error": "not-covered"}
        if outcome:
            consent.stage = "Refused"
        else:
            consent.stage, consent.customer, consent.account = "Agreed", customer, account
            outcome = {"code": self._word(28)}
            self._codes[outcome["code"]] = consent, self.clock.now + timedelta(minutes=10)
        return Response(303, "", {"Location": f"{consent.back}?{urlencode({**outcome, 'echo': consent.echo})}"})
