"""Lagan, a bank in Belfast: the words of NextGenPSD2 at `/v1`, with habits of its own.

- Requests to `/v1` have X-Lagan-Key (an app's, else 401), X-Request-ID, which is repeated, and X-Lagan-Brand, NI or GB.
- Errors are application/vnd.lagan.fault+json: `errors` has a row for each wrong member, with `errorCode`, `reason`,
  `text` and `at`; where a state is the cause, `current` has it.
- Links are a list of `rel` and `href`. Times are those of Belfast, +01:00 in summer. Amounts are strings with exactly
  two decimals and no sign. An account is a `sortCode` with dashes and an `accountNumber` of eight digits, not an IBAN.
- POST consents gives 200. `access` is a list, `validUntil` at most 90 days ahead. A consent is RECEIVED, then VALID or
  REJECTED, REVOKED by DELETE (200 with the state), EXPIRED after its last day. Reads send it in Consent-ID.
- SCA of a consent starts with POST `…/authorisations`, without a body; a payment brings its own. Both need
  TPP-Redirect-URI. It is received, pinVerified, finalised, declined or failed, which the status of both also tells.
- The page asks for user and PIN, then at the same address for a code, which a sandbox shows. A mistake gives 200 and
  the form again, the third ends it. Each code form has a token for one use. Declining needs no PIN. The customer goes
  back by 302 with the id, the authorisation and the new state.
- Reads with PSU-IP-Address are free. Others are counted for each address and day, up to `frequencyPerDay` of the
  consent; X-Reads-Left tells the rest, then 429 with Retry-After until midnight in Belfast.
- Balances are `ledger` and `spendable`, which has the arranged overdraft and lacks what payments reserve.
- Transactions need dateFrom, are oldest first, and have a running balance and a narrative in capitals, 18 characters a
  line. The next page is a link that brings everything with it.
- POST of a payment gives 202, also if the account does not cover it: then it is Rejected with AM04 and has no SCA.
- A payment is Received, Authorised or Declined, Sent after 40 seconds and Credited after three minutes.
  POST `…/cancellation-requests` with a `reasonCode` makes it Cancelled, until it is Sent.
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

BELFAST = ZoneInfo("Europe/London")
APPS = {"tb-58c1e07d": "Tallybook", "pw-2f94a6b3": "Pocketwise"}
ACCESS = ("accounts", "balances", "transactions")
PAYMENTS = "/v1/payments/faster-payments"
DIGITS = "0123456789"
SHOPS = "Cavehill Grocers|Ormeau Bakery|Translink|NI Water|Lisburn Road Books|Titanic Fitness".split("|")
FAULTS = {
    "KEY_UNKNOWN": ("LGN-1001", "Send the key of a registered app."),
    "HEADER_WRONG": ("LGN-1002", "A header is missing or wrong."),
    "NOT_FOUND": ("LGN-1003", "There is nothing at this address."),
    "METHOD_NOT_ALLOWED": ("LGN-1004", "The method is not allowed here."),
    "FIELD_WRONG": ("LGN-2001", "A member of the body is missing or wrong."),
    "QUERY_WRONG": ("LGN-2002", "A parameter is missing or wrong."),
    "CONSENT_NOT_USABLE": ("LGN-3001", "The consent cannot be used in its state."),
    "ACCESS_NOT_GRANTED": ("LGN-3002", "The consent does not include this."),
    "READS_USED_UP": ("LGN-3003", "The reads of today without the customer are used up."),
    "TOO_LATE": ("LGN-4001", "This is not possible in the present state."),
}
CUSTOMERS = {"mcauley.r": ("50418", "412"), "oneill.siobhan": ("92736", "087"), "gault.w": ("11864", "935")}
"""By user, the PIN and the end of the phone number."""
ACCOUNTS = [
    ("mcauley.r", "97-04-18", "Classic", "Current", 284_310, 50_000),
    ("mcauley.r", "97-04-18", "Rainy day", "Savings", 610_000, 0),
    ("oneill.siobhan", "97-11-02", "Everyday", "Current", 412_655, 100_000),
    ("oneill.siobhan", "97-11-02", "Household", "Current", 198_040, 25_000),
    ("oneill.siobhan", "97-11-40", "Regular saver", "Savings", 1_350_000, 0),
    ("gault.w", "97-20-09", "Student", "Current", 90_500, 150_000),
]


@dataclass
class Account:
    user: str
    sort_code: str
    name: str
    kind: str
    pence: int
    overdraft: int
    id: str
    number: str
    entries: list[dict[str, Any]] = field(default_factory=list)

    @property
    def numbers(self) -> dict[str, str]:
        return {"sortCode": self.sort_code, "accountNumber": self.number}


@dataclass
class Matter:
    """A consent or a payment: what a customer signs."""

    app: str
    path: str
    standing: str
    document: dict[str, Any]
    since: datetime
    payer: Account | None = None
    pence: int = 0
    authorisation: "Authorisation | None" = None
    user: str = ""
    reason: str | None = None
    reads: dict[tuple[str, date], int] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def words(self) -> tuple[str, str]:
        """The names of the members that have its id and its state."""
        return ("paymentId", "transactionStatus") if self.payer else ("consentId", "consentStatus")

    @property
    def state(self) -> dict[str, str]:
        return {self.words[1]: self.standing} | ({"reasonCode": self.reason} if self.reason else {})

    @property
    def sca(self) -> dict[str, str]:
        one = self.authorisation
        return {"authorisationId": one.id, "scaStatus": one.standing} if one else {}


@dataclass
class Authorisation:
    id: str
    matter: Matter
    back: str
    code: str
    standing: str = "received"
    token: str = ""
    mistakes: int = 0
    user: str = ""


def pounds(pence: int) -> dict[str, str]:
    return {"currency": "GBP", "amount": f"{pence // 100}.{pence % 100:02}"}


def local(time: datetime) -> str:
    return time.astimezone(BELFAST).isoformat(timespec="seconds")


def link(**links: str) -> dict[str, Any]:
    return {"_links": [{"rel": name, "href": href} for name, href in links.items()]}


def is_day(value: Any) -> bool:
    return bool(re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", str(value)))


class Lagan:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"lagan {seed}")
        self._matters: dict[str, Matter] = {}
        self._authorisations: dict[str, Authorisation] = {}
        self._pages: dict[str, tuple[str, int, int, list[dict[str, Any]]]] = {}
        self._number = self._random.randrange(1_000, 60_000)
        self._accounts = [self._open(*row) for row in ACCOUNTS]
        consent, account, payment = "/v1/consents/{id}", "/v1/accounts/{id}", PAYMENTS + "/{id}"
        self._routes = Routes(
            ("POST", "/v1/consents", self._ask_consent),
            ("GET", consent + "/status", lambda request, id: self._tell_state(self._matter(request, id))),
            ("DELETE", consent, self._revoke),
            ("POST", consent + "/authorisations", self._start),
            ("GET", "/v1/accounts", self._list_accounts),
            ("GET", account + "/balances", self._balances),
            ("GET", account + "/transactions", self._list_entries),
            ("POST", PAYMENTS, self._pay),
            ("GET", payment + "/status", lambda request, id: self._tell_state(self._matter(request, id))),
            ("POST", payment + "/cancellation-requests", self._cancel),
            ("GET", "/signin/{ticket}", self._page),
            ("POST", "/signin/{ticket}", self._sign),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        told = {"X-Request-ID": request.headers.get("x-request-id", "")} if request.path.startswith("/v1/") else {}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            if told and request.headers.get("x-lagan-key") not in APPS:
                raise Fault(401, "KEY_UNKNOWN", "header.X-Lagan-Key")
            if told:
                self._header(request, "X-Request-ID")
                self._header(request, "X-Lagan-Brand", ("NI", "GB"))
            response = handler(request, **parameters)
            return Response(response.status, response.content, {**told, **response.headers})
        except NoRoute as wrong:
            fault = Fault(405, "METHOD_NOT_ALLOWED") if wrong.allowed else Fault(404, "NOT_FOUND")
        except Fault as error:
            fault = error
        except ValueError:
            fault = Fault(400, "FIELD_WRONG", "body")
        code, text = FAULTS[fault.word]
        places = fault.more.get("places") or {fault.place: text}
        rows = [{"errorCode": code, "reason": fault.word, "text": hint, "at": at} for at, hint in places.items()]
        document = {"errors": rows, "requestId": told.get("X-Request-ID") or None, "time": local(self.clock.now)}
        if "current" in fault.more:
            document["current"] = fault.more["current"]
        headers = {**told, **fault.more.get("headers", {})}
        return respond(fault.status, document, headers, media="application/vnd.lagan.fault+json")

    def _header(self, request: Request, name: str, allowed: Sequence[str] = ()) -> str:
        value = request.headers.get(name.lower())
        if not value or (allowed and value not in allowed):
            raise Fault(400, "HEADER_WRONG", f"header.{name}")
        return value

    def _signs(self, length: int, signs: str = "abcdefghjkmnpqrstvwxyz23456789") -> str:
        return "".join(self._random.choices(signs, k=length))

    @property
    def _today(self) -> date:
        return self.clock.now.astimezone(BELFAST).date()

    def _open(self, user: str, sort_code: str, name: str, kind: str, pence: int, overdraft: int) -> Account:
        id, number = f"R{self._signs(9, DIGITS)}", self._signs(8, DIGITS)
        account = Account(user, sort_code, name, kind, pence, overdraft, id, number)
        for days in sorted(self._random.sample(range(1, 43), self._random.randrange(20, 29)), reverse=True):
            day, change = self._today - timedelta(days=days), -self._random.randrange(250, 2_500)
            code, second = self._random.choice((("DEB", "Card 4471"), ("DEB", "Card 4471"), ("DD", "Direct debit")))
            lines = [self._random.choice(SHOPS), second]
            if self._random.random() < 0.2:
                change, code, lines = self._random.randrange(4_000, 60_000), "BGC", ["Credit", self._signs(6, DIGITS)]
            self._enter(account, day, change, code, lines)
        return account

    def _enter(self, account: Account, day: date, pence: int, code: str, lines: list[str]) -> None:
        account.pence += pence
        reference = f"{day:%y%m%d}E{self._signs(6, DIGITS)}"
        entry: dict[str, Any] = {"entryReference": reference, "bookingDate": day.isoformat()}
        entry |= {"direction": "CR" if pence > 0 else "DR", "amount": pounds(abs(pence)), "typeCode": code}
        entry |= {"narrative": [line.upper()[:18].rstrip() for line in lines], "runningBalance": pounds(account.pence)}
        account.entries.append(entry)

    def _move(self, matter: Matter, standing: str, since: datetime | None = None) -> None:
        matter.standing, matter.since = standing, since or self.clock.now

    def _advance(self) -> None:
        now = self.clock.now
        for one in self._matters.values():
            if one.standing in ("RECEIVED", "VALID") and one.document["validUntil"] < self._today.isoformat():
                self._move(one, "EXPIRED")
            if one.standing == "Authorised" and now - one.since >= timedelta(seconds=40):
                self._move(one, "Sent", one.since + timedelta(seconds=40))
            if one.standing == "Sent" and one.payer and now - one.since >= timedelta(seconds=140):
                self._move(one, "Credited", one.since + timedelta(seconds=140))
                day, lines = one.since.astimezone(BELFAST).date(), ("creditorName", "remittanceInformation")
                self._enter(one.payer, day, -one.pence, "FPO", [one.document[name] for name in lines])

    def _matter(self, request: Request, id: str) -> Matter:
        matter = self._matters.get(id)
        if not matter or matter.app != request.headers["x-lagan-key"] or not request.path.startswith(matter.path):
            raise Fault(404, "NOT_FOUND", "path")
        return matter

    def _tell_state(self, matter: Matter) -> Response:
        told = {matter.words[0]: matter.id, **matter.state, "statusSince": local(matter.since)}
        return respond(200, told | matter.sca)

    def _ask_consent(self, request: Request) -> Response:
        body, wrong = request.document, {}
        access, until, frequency = (body.get(name) for name in ("access", "validUntil", "frequencyPerDay"))
        if not isinstance(access, list) or not access or not all(one in ACCESS for one in access):
            wrong["body.access"] = "Give one or more of " + ", ".join(ACCESS) + "."
        first, last = self._today.isoformat(), (self._today + timedelta(days=90)).isoformat()
        if not is_day(until) or not first <= str(until) <= last:
            wrong["body.validUntil"] = "Give a day within the next 90 days."
        if not isinstance(frequency, int) or not 1 <= frequency <= 4:
            wrong["body.frequencyPerDay"] = "Give 1 to 4."
        if wrong:
            raise Fault(400, "FIELD_WRONG", places=wrong)
        document = {"access": access, "validUntil": until, "frequencyPerDay": frequency}
        path = f"/v1/consents/LC-{self._signs(4).upper()}-{self._signs(4).upper()}"
        consent = Matter(request.headers["x-lagan-key"], path, "RECEIVED", document, self.clock.now)
        self._matters[consent.id] = consent
        told = {"consentId": consent.id, **consent.state, **document, "statusSince": local(consent.since)}
        return respond(200, told | link(status=f"{path}/status", startAuthorisation=f"{path}/authorisations"))

    def _revoke(self, request: Request, id: str) -> Response:
        consent = self._matter(request, id)
        if consent.standing not in ("RECEIVED", "VALID"):
            raise Fault(409, "TOO_LATE", "path", current=consent.state)
        self._move(consent, "REVOKED")
        return self._tell_state(consent)

    def _begin(self, matter: Matter, back: str) -> str:
        """Return the customer's page."""
        id, ticket = f"AU{self._signs(10, DIGITS)}", self._signs(24)
        matter.authorisation = Authorisation(id, matter, back, self._signs(6, DIGITS))
        self._authorisations[ticket] = matter.authorisation
        return f"/signin/{ticket}"

    def _start(self, request: Request, id: str) -> Response:
        consent, back = self._matter(request, id), self._header(request, "TPP-Redirect-URI")
        if consent.standing != "RECEIVED":
            raise Fault(409, "TOO_LATE", "path", current=consent.state)
        page = self._begin(consent, back)
        return respond(201, consent.sca | link(scaRedirect=page))

    def _read(self, request: Request, access: str, id: str = "") -> tuple[Matter, list[Account]]:
        """The consent and its accounts, or the one with this id."""
        consent = self._matters.get(self._header(request, "Consent-ID"))
        if not consent or consent.app != request.headers["x-lagan-key"]:
            raise Fault(404, "NOT_FOUND", "header.Consent-ID")
        if consent.standing != "VALID":
            raise Fault(403, "CONSENT_NOT_USABLE", "header.Consent-ID", current=consent.state)
        if access not in consent.document["access"]:
            raise Fault(403, "ACCESS_NOT_GRANTED", "header.Consent-ID")
        accounts = [one for one in self._accounts if one.user == consent.user and id in ("", one.id)]
        if not accounts:
            raise Fault(404, "NOT_FOUND", "path")
        return consent, accounts

    def _count(self, request: Request, consent: Matter) -> dict[str, str]:
        """Count a read without the customer, and tell how many are left."""
        if "psu-ip-address" in request.headers:
            return {}
        key = request.path, self._today
        left = consent.document["frequencyPerDay"] - consent.reads.get(key, 0)
        if left <= 0:
            now = self.clock.now.astimezone(BELFAST)
            wait = 86_400 - (now.hour * 60 + now.minute) * 60 - now.second
            raise Fault(429, "READS_USED_UP", "path", headers={"Retry-After": str(wait), "X-Reads-Left": "0"})
        consent.reads[key] = consent.reads.get(key, 0) + 1
        return {"X-Reads-Left": str(left - 1)}

    def _list_accounts(self, request: Request) -> Response:
        consent, accounts = self._read(request, "accounts")
        rows = []
        for one in accounts:
            shown = {"resourceId": one.id, **one.numbers, "currency": "GBP", "displayName": one.name}
            shown |= {"accountType": one.kind, "switchStatus": "NotSwitched"}
            path = f"/v1/accounts/{one.id}"
            rows.append(shown | link(balances=f"{path}/balances", transactions=f"{path}/transactions"))
        return respond(200, {"accounts": rows}, self._count(request, consent))

    def _spendable(self, account: Account) -> int:
        waiting = [one for one in self._matters.values() if one.standing in ("Authorised", "Sent")]
        return account.pence + account.overdraft - sum(one.pence for one in waiting if one.payer is account)

    def _balances(self, request: Request, id: str) -> Response:
        consent, [account] = self._read(request, "balances", id)
        left = self._count(request, consent)
        ledger = {"balanceType": "ledger", "balanceAmount": pounds(account.pence)}
        spendable = {"balanceType": "spendable", "balanceAmount": pounds(self._spendable(account))}
        rows = [ledger, spendable | {"arrangedOverdraft": pounds(account.overdraft)}]
        return respond(200, {"resourceId": id, "balances": rows, "asAt": local(self.clock.now)}, left)

    def _list_entries(self, request: Request, id: str) -> Response:
        consent, [account] = self._read(request, "transactions", id)
        if continuation := request.query.get("continuation"):
            path, page, size, rows = self._pages.get(continuation, ("", 1, 1, []))
            if path != request.path:
                raise Fault(400, "QUERY_WRONG", "query.continuation")
            headers = {}
        else:
            page, (size, rows), headers = 1, self._select(request.query, account), self._count(request, consent)
        links = {"self": request.path}
        if page * size < len(rows):
            continuation = self._signs(20)
            self._pages[continuation] = request.path, page + 1, size, rows
            links["next"] = f"{request.path}?continuation={continuation}"
        paging = {"page": page, "perPage": size, "pages": -(-len(rows) // size), "entries": len(rows)}
        told = {"entries": rows[(page - 1) * size : page * size], "paging": paging}
        return respond(200, told | link(**links), headers)

    def _select(self, query: Mapping[str, str], account: Account) -> tuple[int, list[dict[str, Any]]]:
        first, last = query.get("dateFrom", ""), query.get("dateTo", self._today.isoformat())
        size, start, wrong = query.get("perPage", "20"), (self._today - timedelta(days=90)).isoformat(), {}
        if not is_day(first) or not is_day(last) or not start <= first <= last:
            wrong["query.dateFrom"] = "Give days as YYYY-MM-DD, dateFrom not after dateTo and at most 90 days ago."
        if not size.isdecimal() or not 1 <= int(size) <= 50:
            wrong["query.perPage"] = "Give 1 to 50."
        if wrong:
            raise Fault(400, "QUERY_WRONG", places=wrong)
        return int(size), [one for one in account.entries if first <= one["bookingDate"] <= last]

    def _pay(self, request: Request) -> Response:
        back, document, now = self._header(request, "TPP-Redirect-URI"), request.document, self.clock.now
        payer, pence = self._check_payment(document)
        self._number += self._random.randrange(1, 40)
        path = f"{PAYMENTS}/{now.astimezone(BELFAST):%y%j}-{self._number:07}"
        payment = Matter(request.headers["x-lagan-key"], path, "Received", document, now, payer, pence)
        self._matters[payment.id] = payment
        links = {"status": f"{path}/status"}
        if pence > self._spendable(payer):
            payment.standing, payment.reason = "Rejected", "AM04"
        else:
            links |= {"scaRedirect": self._begin(payment, back), "cancel": f"{path}/cancellation-requests"}
        told = {"paymentId": payment.id, **payment.state, **payment.sca, "statusSince": local(now)}
        return respond(202, told | link(**links))

    def _check_payment(self, body: dict[str, Any]) -> tuple[Account, int]:
        amount, creditor, wrong = body.get("instructedAmount"), body.get("creditorAccount"), {}
        told = str(amount.get("amount")) if isinstance(amount, dict) and amount.get("currency") == "GBP" else ""
        if not re.fullmatch(r"(?!0+\.00)\d{1,7}\.\d\d", told):
            wrong["body.instructedAmount"] = "Give GBP, above zero, with exactly two decimals."
        payer = next((one for one in self._accounts if one.numbers == body.get("debtorAccount")), None)
        if not payer:
            wrong["body.debtorAccount"] = "Give an account at this bank."
        parts = (
            [str(creditor.get(name)) for name in ("sortCode", "accountNumber")] if isinstance(creditor, dict) else []
        )
        if not re.fullmatch(r"\d\d-\d\d-\d\d \d{8}", " ".join(parts)):
            wrong["body.creditorAccount"] = "Give a sort code as NN-NN-NN and an account number of eight digits."
        for name, most in (("creditorName", 35), ("remittanceInformation", 18)):
            if not isinstance(body.get(name), str) or not 1 <= len(body[name]) <= most:
                wrong[f"body.{name}"] = f"Give 1 to {most} characters."
        if wrong or not payer:
            raise Fault(400, "FIELD_WRONG", places=wrong)
        return payer, int(told.replace(".", ""))

    def _cancel(self, request: Request, id: str) -> Response:
        payment = self._matter(request, id)
        if request.document.get("reasonCode") not in ("CUST", "DUPL", "TECH"):
            raise Fault(400, "FIELD_WRONG", places={"body.reasonCode": "Give CUST, DUPL or TECH."})
        if payment.standing not in ("Received", "Authorised"):
            raise Fault(409, "TOO_LATE", "path", current=payment.state)
        self._move(payment, "Cancelled")
        return self._tell_state(payment)

    def _form(self, authorisation: Authorisation, hint: str = "", status: int = 200) -> Response:
        matter = authorisation.matter
        if matter.payer:
            asked = f"Pay £{matter.document['instructedAmount']['amount']} to {matter.document['creditorName']}?"
        else:
            asked = f"Let {APPS[matter.app]} see {', '.join(matter.document['access'])}?"
        text, fields = "Sign in.", '<input name="userId"><input name="pin" type="password">'
        if authorisation.user:
            authorisation.token = self._signs(16)
            phone = CUSTOMERS[authorisation.user][1]
            text = f"We sent a text message to *** {phone}. Sandbox: it says {authorisation.code}."
            fields = f'<input type="hidden" name="formToken" value="{authorisation.token}"><input name="code">'
        buttons = "".join(f'<button name="action" value="{word}">{word}</button>' for word in ("continue", "decline"))
        content = f'<p class="hint">{hint}</p><p>{asked}</p><p>{text}</p><form method="post">{fields}{buttons}</form>'
        return show(status, "Lagan Online", content)

    def _page(self, request: Request, ticket: str) -> Response:
        authorisation = self._authorisations.get(ticket)
        is_open = authorisation and authorisation.standing in ("received", "pinVerified")
        if not authorisation or not is_open or authorisation.matter.standing not in ("RECEIVED", "Received"):
            return show(410, "Lagan Online", "<p>There is nothing to sign here.</p>")
        return self._form(authorisation)

    def _sign(self, request: Request, ticket: str) -> Response:
        authorisation = self._authorisations.get(ticket)
        token = authorisation.token if authorisation else ""
        page = self._page(request, ticket)
        if page.status != 200 or not authorisation:
            return page
        if request.field("action") == "decline":
            return self._end(authorisation, "declined")
        if authorisation.user:
            if request.field("formToken") != token:
                return self._form(authorisation, "This form was out of date.", 409)
            is_right = request.field("code") == authorisation.code
            return self._end(authorisation, "finalised") if is_right else self._miss(authorisation, "code")
        user = request.field("userId")
        if user not in CUSTOMERS or CUSTOMERS[user][0] != request.field("pin"):
            return self._miss(authorisation, "user or PIN")
        if authorisation.matter.payer and authorisation.matter.payer.user != user:
            return self._form(authorisation, "You cannot pay from this account.", 403)
        authorisation.standing, authorisation.user, authorisation.mistakes = "pinVerified", user, 0
        return self._form(authorisation)

    def _miss(self, authorisation: Authorisation, what: str) -> Response:
        authorisation.mistakes += 1
        if not (left := 3 - authorisation.mistakes):
            return self._end(authorisation, "failed")
        return self._form(authorisation, f"Wrong {what}. Tries left: {left}.")

    def _end(self, authorisation: Authorisation, standing: str) -> Response:
        authorisation.standing, matter = standing, authorisation.matter
        matter.user = authorisation.user
        if not matter.payer:
            self._move(matter, "VALID" if standing == "finalised" else "REJECTED")
        elif standing == "finalised" and matter.pence <= self._spendable(matter.payer):
            self._move(matter, "Authorised")
        else:
            matter.reason = {"finalised": "AM04", "failed": "DS0H"}.get(standing)
            self._move(matter, "Rejected" if matter.reason else "Declined")
        id, state = matter.words
        outcome = f"{id}={matter.id}&authorisationId={authorisation.id}&{state}={matter.standing}"
        return Response(302, "", {"Location": f"{authorisation.back}?{outcome}"})
