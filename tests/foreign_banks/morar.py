"""Morar, a Scottish bank whose interface under /v1.3.8 is its own variation of NextGenPSD2.

1. Apps send TPP-Registration-Number, and in each call an X-Request-ID, a UUID, which is sent back. Errors have
   `outcome`, a `supportRef` and `reasons` with a code and a field.
2. PSU-ID is mandatory for consents and payments, so the bank's page asks for the passcode alone.
3. A new consent gives 200 without Location, a new payment 201 with it. Both begin an authorisation.
4. Consents are MBC-XXXX-XXXX, payments FPyymmdd-XXXXXX, authorisations SCA and nine digits, accounts JSON numbers.
5. Amounts are JSON numbers in pounds. Entries have no signs but a creditDebitIndicator.
6. Consents name what is read, never accounts: the customer ticks these on the page, and only these are seen.
7. A consent for more than 90 days is not refused but shortened. It is `expired` after its day validUntil.
8. A consent is `received`, then `valid`, `rejected` by the customer, `abandoned` after 15 minutes, `terminatedByTpp` by
   DELETE, which gives 200 and the consent, or `superseded` when the customer signs another for the same app.
9. Without PSU-IP-Address the customer is absent: such reads are limited to the consent's frequencyPerDay for all
   accounts together. X-Access-Remaining tells what is left, the next gives 429. Further pages are free.
10. Entries are oldest first. The link to the next page has nothing but `resume`, which holds the filter; `remaining`
    tells how many follow. dateFrom, at most 90 days ago, and bookingStatus are mandatory.
11. A payment repeated with its X-Request-ID is the same payment; another one with this id gives 409.
12. A payment is RCVD, PDNG when signed, after a minute ACSP and reserved, or RJCT with AM04 without funds, and after
    ten ACSC and an entry. Declined it is RJCT with DS02, not signed in time with DS24. A product has a limit.
13. DELETE of an unsigned payment gives 204 and CANC; of a signed one 202, and the customer signs that too; then 405.
14. `scaRedirect` asks for the passcode, then for a code, which a sandbox shows. Mistakes give 200 and a new code.
15. The customer returns to exactly TPP-Redirect-URI, or to TPP-Nok-Redirect-URI with a reason.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

BASE = "/v1.3.8"
TPPS = {"PSDGB-FCA-793502": "Thistle Purse", "PSDIE-CBI-C41877": "Quillpay"}
ACCESS = ("accounts", "balances", "transactions")
PRODUCTS = {"faster-payments": ("FP", 1_000_000), "chaps-payments": ("CH", 25_000_000)}
OPEN = ("received", "psuAuthenticated")
DIGITS, LETTERS = "123456789", "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
PAYEES = "Glenfinnan Stores|Mallaig Chandlers|ScotRail|Hydro Electric|Arisaig Bakery|Lochaber Water|Skye Ferries"
PAYERS = "Knoydart Estates|HMRC|Eilidh Macrae|Morar Sands Lettings"
CURRENT, BILLS, SAVER = ("Current Account", "CACC"), ("Bills Account", "CACC"), ("Instant Saver", "SVGS")
TEXT, INDICATOR = "remittanceInformationUnstructured", "creditDebitIndicator"


@dataclass
class Account:
    id: int
    bban: str
    name: str
    kind: str
    pence: int
    entries: list[dict[str, Any]] = field(default_factory=list)

    @property
    def iban(self) -> str:
        digits = "".join(str(int(sign, 36)) for sign in f"MORR{self.bban}GB00")
        return f"GB{98 - int(digits) % 97:02}MORR{self.bban}"


@dataclass(frozen=True)
class Customer:
    id: str
    passcode: str
    name: str
    accounts: Sequence[Account]


@dataclass
class Thing:
    """A consent, or a payment if it has a payer. From the bank's page the customer goes to one of the two `ways`."""

    tpp: str
    customer: Customer
    path: str
    document: dict[str, Any]
    ways: tuple[str, str]
    payer: Account | None = None
    pence: int = 0
    status: str = "received"
    scas: list["Sca"] = field(default_factory=list)
    shared: Sequence[Account] = ()
    acted: date | None = None
    reads: int = 0
    signed: datetime | None = None
    reason: str | None = None

    @property
    def id(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def standing(self) -> dict[str, str]:
        kind = ("paymentId", "transactionStatus") if self.payer else ("consentId", "consentStatus")
        return {kind[0]: self.id, kind[1]: self.status}


@dataclass
class Sca:
    """An authorisation of a consent, a payment, or the cancellation of one."""

    id: str
    ticket: str
    thing: Thing
    cancels: bool
    ends: datetime
    status: str = "received"
    seal: str = ""
    code: str = ""


def need(is_right: object, place: str) -> None:
    if not is_right:
        raise Fault(400, "FORMAT_ERROR", place)


def read_day(text: Any, place: str) -> date:
    try:
        return datetime.strptime(str(text), "%Y-%m-%d").date()
    except ValueError:
        raise Fault(400, "FORMAT_ERROR", place) from None


def money(pence: int) -> dict[str, Any]:
    return {"currency": "GBP", "amount": pence / 100}


class Morar:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"morar {seed}")
        self._things: dict[str, Thing] = {}
        self._scas: dict[str, Sca] = {}
        self._sent: dict[tuple[str, str], tuple[Any, Thing]] = {}
        self._resumes: dict[str, tuple[dict[str, str], int]] = {}
        ailsa = self._open((CURRENT, 284_316), (BILLS, 61_290), (SAVER, 712_504))
        ruaridh, mhairi = self._open((SAVER, 540_000), (CURRENT, 466_725)), self._open((CURRENT, 98_340))
        self._customers = {
            "704119382": Customer("704119382", "582014", "Ailsa Geddes", ailsa),
            "731880456": Customer("731880456", "340977", "Ruaridh Sinclair", ruaridh),
            "768204417": Customer("768204417", "915263", "Mhairi Beaton", mhairi),
        }
        consent, account = BASE + "/consents/{id}", BASE + "/accounts/{id}"
        product, payment = BASE + "/payments/{product}", BASE + "/payments/{product}/{id}"
        self._routes = Routes(
            ("POST", BASE + "/consents", self._ask),
            ("DELETE", consent, self._terminate),
            ("POST", product, self._pay),
            ("DELETE", payment, self._cancel),
            ("GET", consent, self._show),
            ("GET", consent + "/status", self._status),
            ("GET", consent + "/authorisations/{sca}", self._sca_status),
            ("GET", payment, self._show),
            ("GET", payment + "/status", self._status),
            ("GET", payment + "/authorisations/{sca}", self._sca_status),
            ("GET", BASE + "/accounts", self._list_accounts),
            ("GET", account + "/balances", self._balances),
            ("GET", account + "/transactions", self._list_entries),
            ("GET", "/sca/{ticket}", lambda request, ticket: self._welcome(self._waiting(ticket))),
            ("POST", "/sca/{ticket}", self._submit),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        sent = request.headers.get("x-request-id")
        told = {"X-Request-ID": sent} if sent else {}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            response = handler(request, **parameters)
            return Response(response.status, response.content, {**response.headers, **told})
        except NoRoute as wrong:
            fault = Fault(405, "SERVICE_INVALID") if wrong.allowed else Fault(404, "RESOURCE_UNKNOWN")
        except Fault as error:
            fault = error
        reason = {"code": fault.word, "text": fault.word.replace("_", " ").capitalize()}
        reason |= {"field": fault.place} if fault.place else {}
        document = {"outcome": "ERROR", "supportRef": f"MB/{self._word(8)}", "reasons": [reason]}
        return respond(fault.status, document, told | fault.more)

    def _word(self, length: int, signs: str = LETTERS) -> str:
        return "".join(self._random.choices(signs, k=length))

    def _open(self, *wanted: tuple[tuple[str, str], int]) -> list[Account]:
        opened = []
        for (name, kind), pence in wanted:
            account = Account(int(self._word(7, DIGITS)), f"834417{self._word(8, DIGITS)}", name, kind, pence)
            for days in sorted(self._random.sample(range(1, 85), 28), reverse=True):
                change = self._random.choice((-1, -1, -1, 1)) * self._random.randrange(180, 14_000)
                who = self._random.choice((PAYEES if change < 0 else PAYERS).split("|"))
                code = self._random.choice(("POS", "DDR")) if change < 0 else "FPI"
                self._enter(account, self.clock.today - days * DAY, change, who, f"Ref {self._word(6, DIGITS)}", code)
            opened.append(account)
        return opened

    def _enter(self, account: Account, day: date, pence: int, who: str, text: str, code: str) -> None:
        entry = {"transactionId": f"{day:%y%j}{self._word(7, DIGITS)}", "bookingDate": day.isoformat()}
        indicator, party = ("DBIT", "creditorName") if pence < 0 else ("CRDT", "debtorName")
        more = {"transactionAmount": money(abs(pence)), INDICATOR: indicator, party: who, TEXT: text}
        account.entries.append({**entry, **more, "bankTransactionCode": code})

    def _advance(self) -> None:
        now = self.clock.now
        for sca in self._scas.values():
            if sca.status in OPEN and sca.ends <= now:
                self._fail(sca, "abandoned", "DS24")
        for thing in self._things.values():
            if thing.status == "valid" and thing.document["validUntil"] < now.date().isoformat():
                thing.status = "expired"
            if not thing.signed or not thing.payer:
                continue
            if thing.status == "PDNG" and now >= thing.signed + MINUTE:
                covered = thing.pence <= self._available(thing.payer)
                self._close(thing, "ACSP" if covered else "RJCT", None if covered else "AM04")
            if thing.status == "ACSP" and now >= thing.signed + 10 * MINUTE:
                thing.status = "ACSC"
                thing.payer.pence -= thing.pence
                who, text, day = thing.document["creditorName"], thing.document[TEXT], thing.signed + 10 * MINUTE
                self._enter(thing.payer, day.date(), -thing.pence, who, text, thing.id[:2] + "O")

    def _available(self, account: Account) -> int:
        reserved = [one.pence for one in self._things.values() if one.payer is account and one.status == "ACSP"]
        return account.pence - sum(reserved)

    def _fail(self, sca: Sca, status: str, reason: str, outcome: str = "") -> Response:
        """End a consent as this status and a payment for this reason; the customer leaves with the outcome."""
        sca.status, thing = "failed", sca.thing
        if not thing.payer:
            thing.status = status
        elif not sca.cancels:
            thing.status, thing.reason = "RJCT", reason
        link = thing.ways[1]
        return Response(302, "", {"Location": f"{link}{'&' if '?' in link else '?'}reason={outcome}"})

    def _tpp(self, request: Request) -> str:
        tpp = request.headers.get("tpp-registration-number", "")
        if tpp not in TPPS:
            raise Fault(401, "TPP_UNKNOWN", "TPP-Registration-Number")
        need(UUID.fullmatch(request.headers.get("x-request-id", "")), "X-Request-ID")
        return tpp

    def _begin(self, request: Request) -> tuple[str, Customer, tuple[str, str], dict[str, Any]]:
        tpp, id = self._tpp(request), request.headers.get("psu-id", "")
        if id not in self._customers:
            raise Fault(401, "PSU_CREDENTIALS_INVALID", "PSU-ID")
        ok = request.headers.get("tpp-redirect-uri", "")
        need(ok.startswith("https://"), "TPP-Redirect-URI")
        try:
            body = request.document
        except ValueError:
            raise Fault(400, "FORMAT_ERROR", "body") from None
        return tpp, self._customers[id], (ok, request.headers.get("tpp-nok-redirect-uri", ok)), body

    def _start(self, thing: Thing, *, cancels: bool = False) -> Sca:
        ticket = self._word(24, "0123456789abcdef")
        sca = Sca(f"SCA{self._word(9, DIGITS)}", ticket, thing, cancels, self.clock.now + 15 * MINUTE)
        self._scas[ticket] = sca
        self._things[thing.id] = thing
        thing.scas.append(sca)
        return sca

    def _tell(self, request: Request, status: int, sca: Sca) -> Response:
        thing, path = sca.thing, sca.thing.path
        links = {"self": path, "status": f"{path}/status", "scaStatus": f"{path}/authorisations/{sca.id}"}
        if sca.status in OPEN:
            links["scaRedirect"] = f"{request.origin}/sca/{sca.ticket}"
        document: dict[str, Any] = thing.standing | {"authorisationId": sca.id, "scaStatus": sca.status}
        document |= {} if thing.payer else {"validUntil": thing.document["validUntil"]}
        document["_links"] = {name: {"href": link} for name, link in links.items()}
        headers = {"ASPSP-SCA-Approach": "REDIRECT"} | ({"Location": path} if status == 201 else {})
        return respond(status, document, headers)

    def _ask(self, request: Request) -> Response:
        tpp, customer, ways, body = self._begin(request)
        access, often, recurring = body.get("access"), body.get("frequencyPerDay"), body.get("recurringIndicator")
        need(isinstance(access, dict) and access, "access")
        for name, accounts in (access or {}).items():
            need(name in ACCESS and accounts == [], f"access.{name}")
        need(isinstance(recurring, bool), "recurringIndicator")
        need(type(often) is int and 1 <= often <= 4, "frequencyPerDay")
        until, today = read_day(body.get("validUntil"), "validUntil"), self.clock.today
        need(until >= today, "validUntil")
        document = {"access": access, "recurringIndicator": recurring, "frequencyPerDay": often}
        document["validUntil"] = min(until, today + 90 * DAY).isoformat()
        path = f"{BASE}/consents/MBC-{self._word(4)}-{self._word(4)}"
        return self._tell(request, 200, self._start(Thing(tpp, customer, path, document, ways)))

    def _find(self, request: Request, id: str, product: str = "") -> Thing:
        tpp, thing = self._tpp(request), self._things.get(id)
        path = f"{BASE}/payments/{product}/{id}" if product else f"{BASE}/consents/{id}"
        if not thing or thing.tpp != tpp or thing.path != path:
            raise Fault(404, "RESOURCE_UNKNOWN") if product else Fault(403, "CONSENT_UNKNOWN", "consentId")
        return thing

    def _show(self, request: Request, id: str, product: str = "") -> Response:
        return respond(200, (thing := self._find(request, id, product)).standing | thing.document)

    def _status(self, request: Request, id: str, product: str = "") -> Response:
        thing = self._find(request, id, product)
        return respond(200, thing.standing | ({"reasonCode": thing.reason} if thing.reason else {}))

    def _sca_status(self, request: Request, id: str, sca: str, product: str = "") -> Response:
        for one in self._find(request, id, product).scas:
            if one.id == sca:
                return respond(200, {"scaStatus": one.status})
        raise Fault(404, "RESOURCE_UNKNOWN")

    def _close(self, thing: Thing, status: str, reason: str | None = None) -> None:
        thing.status, thing.reason = status, reason
        for sca in thing.scas:
            sca.status = "failed" if sca.status in OPEN else sca.status

    def _terminate(self, request: Request, id: str) -> Response:
        consent = self._find(request, id)
        if consent.status in ("received", "valid"):
            self._close(consent, "terminatedByTpp")
        return respond(200, consent.standing)

    def _grant(self, request: Request, access: str, id: str = "") -> tuple[Thing, Account, dict[str, str]]:
        """Return the consent, the account or the first one, and a header about what is left for an absent customer."""
        consent = self._find(request, request.headers.get("consent-id", ""))
        if consent.status != "valid":
            raise Fault(401, "CONSENT_EXPIRED" if consent.status == "expired" else "CONSENT_INVALID", "Consent-ID")
        if access not in consent.document["access"]:
            raise Fault(403, "SERVICE_BLOCKED")
        account = next((one for one in consent.shared if id in ("", str(one.id))), None)
        if not account:
            raise Fault(404, "RESOURCE_UNKNOWN", "resourceId")
        if "resume" in request.query or request.headers.get("psu-ip-address"):
            return consent, account, {}
        now, often = self.clock.now, consent.document["frequencyPerDay"]
        if consent.acted != now.date():
            consent.acted, consent.reads = now.date(), 0
        if consent.reads >= often:
            seconds = 86_400 - now.hour * 3600 - now.minute * 60 - now.second
            raise Fault(429, "ACCESS_EXCEEDED", **{"Retry-After": str(seconds)})
        consent.reads += 1
        return consent, account, {"X-Access-Remaining": str(often - consent.reads)}

    def _list_accounts(self, request: Request) -> Response:
        consent, _, left = self._grant(request, "accounts")
        shown: list[dict[str, Any]] = []
        for one in consent.shared:
            account = {"resourceId": one.id, "iban": one.iban, "bban": one.bban, "currency": "GBP", "name": one.name}
            links = {word: {"href": f"{BASE}/accounts/{one.id}/{word}"} for word in ACCESS[1:]}
            shown.append(account | {"ownerName": consent.customer.name, "cashAccountType": one.kind, "_links": links})
        return respond(200, {"accounts": shown}, left)

    def _balances(self, request: Request, id: str) -> Response:
        _, account, left = self._grant(request, "balances", id)
        found = {"interimBooked": account.pence, "interimAvailable": self._available(account)}
        shown = [{"balanceType": kind, "balanceAmount": money(pence)} for kind, pence in found.items()]
        return respond(200, {"account": {"iban": account.iban}, "balances": shown}, left)

    def _list_entries(self, request: Request, id: str) -> Response:
        consent, account, left = self._grant(request, "transactions", id)
        query, start, today = {**request.query, "for": f"{id} {consent.id}"}, 0, self.clock.today
        if token := query.get("resume"):
            before, start = self._resumes.get(token, ({"for": ""}, 0))
            need(before["for"] == query["for"], "resume")
            query = before
        booking, size, indicator = query.get("bookingStatus"), query.get("itemsPerPage", "25"), query.get(INDICATOR)
        need(booking in ("booked", "both"), "bookingStatus")
        need(size.isdecimal() and 1 <= int(size) <= 100, "itemsPerPage")
        need(indicator in (None, "CRDT", "DBIT"), INDICATOR)
        begins = read_day(query.get("dateFrom"), "dateFrom")
        ends = read_day(query.get("dateTo", today.isoformat()), "dateTo")
        if begins > ends or begins < today - 90 * DAY:
            raise Fault(400, "PERIOD_INVALID", "dateFrom")
        rows = [one for one in account.entries if begins <= date.fromisoformat(one["bookingDate"]) <= ends]
        rows = [one for one in rows if indicator in (None, one[INDICATOR])]
        end, links = start + int(size), {"account": {"href": f"{BASE}/accounts/{id}"}}
        if end < len(rows):
            token = self._word(20)
            self._resumes[token] = query, end
            links["next"] = {"href": f"{request.path}?resume={token}"}
        shown = {"booked": rows[start:end]}
        if booking == "both" and start == 0:
            waiting = [one for one in self._things.values() if one.payer is account]
            shown["pending"] = [one.document for one in waiting if one.status in ("PDNG", "ACSP")]
        document = {"account": {"iban": account.iban}, "transactions": shown, "remaining": max(len(rows) - end, 0)}
        return respond(200, document | {"_links": links}, left)

    def _pay(self, request: Request, product: str) -> Response:
        tpp, customer, ways, body = self._begin(request)
        if product not in PRODUCTS:
            raise Fault(404, "PRODUCT_UNKNOWN")
        key, sent = (tpp, request.headers["x-request-id"].lower()), (product, customer.id, body)
        if key in self._sent:
            before, payment = self._sent[key]
            if before != sent:
                raise Fault(409, "REQUEST_ID_REUSED", "X-Request-ID")
            return self._tell(request, 201, payment.scas[0])
        for name in ("debtorAccount", "creditorAccount", "instructedAmount"):
            need(isinstance(body.get(name), dict), name)
        bban, instructed = body["debtorAccount"].get("bban"), body["instructedAmount"]
        payer = next((one for one in customer.accounts if one.bban == bban), None)
        need(payer, "debtorAccount.bban")
        need(re.fullmatch(r"\d{14}", str(body["creditorAccount"].get("bban"))), "creditorAccount.bban")
        for name, most in (("creditorName", 40), (TEXT, 18)):
            need(isinstance(body.get(name), str) and 1 <= len(body[name]) <= most, name)
        need(instructed.get("currency") == "GBP", "instructedAmount.currency")
        amount, place = instructed.get("amount"), "instructedAmount.amount"
        need(type(amount) in (int, float) and 0 < amount < 1e9 and round(amount, 2) == amount, place)
        (prefix, limit), pence = PRODUCTS[product], round(amount * 100)
        if pence > limit:
            raise Fault(400, "LIMIT_EXCEEDED", place)
        names = ("debtorAccount", "creditorAccount", "creditorName", "instructedAmount", TEXT)
        path = f"{BASE}/payments/{product}/{prefix}{self.clock.today:%y%m%d}-{self._word(6)}"
        payment = Thing(tpp, customer, path, {name: body[name] for name in names}, ways, payer, pence, "RCVD")
        self._sent[key] = sent, payment
        return self._tell(request, 201, self._start(payment))

    def _cancel(self, request: Request, product: str, id: str) -> Response:
        payment = self._find(request, id, product)
        if payment.status == "PDNG":
            return self._tell(request, 202, self._start(payment, cancels=True))
        if payment.status != "RCVD":
            raise Fault(405, "CANCELLATION_INVALID")
        self._close(payment, "CANC")
        return Response(204)

    def _welcome(self, sca: Sca, hint: str = "") -> Response:
        button = '<button name="action" value="refuse">Not now</button>'
        form = f'<form method="post"><input name="passcode" type="password"><button>Go on</button>{button}</form>'
        who = f"{TPPS[sca.thing.tpp]} has sent you here. Sign in as customer …{sca.thing.customer.id[-3:]}."
        return show(200, "Morar Bank", f"<p>{hint}</p><p>{who}</p>{form}")

    def _confirm(self, sca: Sca, hint: str = "") -> Response:
        thing, choice = sca.thing, ""
        if thing.payer:
            asked = f"{'Cancel' if sca.cancels else 'Pay'} £{thing.pence / 100:.2f} to {thing.document['creditorName']}"
        else:
            asked = f"Share {', '.join(thing.document['access'])} until {thing.document['validUntil']}"
            box = '<label><input type="checkbox" name="account" value="{}">{} …{}</label>'
            choice = "".join(box.format(one.id, one.name, one.bban[-4:]) for one in thing.customer.accounts)
        sca.code = self._word(6, DIGITS)
        fields = f'{choice}<input type="hidden" name="seal" value="{sca.seal}"><input name="code">'
        buttons = "".join(f'<button name="action" value="{word}">{word}</button>' for word in ("approve", "refuse"))
        form = f'<form method="post">{fields}{buttons}</form>'
        return show(200, "Morar Bank", f"<p>{hint}</p><p>{asked}</p><p>Your code is <b>{sca.code}</b></p>{form}")

    def _waiting(self, ticket: str) -> Sca:
        sca = self._scas.get(ticket)
        if not sca or sca.status not in OPEN:
            raise Fault(404, "RESOURCE_UNKNOWN")
        return sca

    def _submit(self, request: Request, ticket: str) -> Response:
        thing = (sca := self._waiting(ticket)).thing
        if request.field("action") == "refuse":
            return self._fail(sca, "rejected", "DS02", "PSU_REFUSED")
        if "passcode" in request.form:
            if request.field("passcode") != thing.customer.passcode:
                return self._welcome(sca, "That passcode is not right.")
            sca.status, sca.seal = "psuAuthenticated", self._word(16)
            return self._confirm(sca)
        if sca.status == "received" or request.field("seal") != sca.seal:
            return self._welcome(sca, "Please sign in first.")
        if request.field("code") != sca.code:
            return self._confirm(sca, "That code is not right. We have sent another one.")
        if not thing.payer:
            shared = [one for one in thing.customer.accounts if str(one.id) in request.form.get("account", [])]
            if not shared:
                return self._confirm(sca, "Tick at least one account.")
            for other in self._things.values():
                if (other.tpp, other.customer, other.status) == (thing.tpp, thing.customer, "valid"):
                    other.status = "superseded"
            told = [{"iban": one.iban} for one in shared]
            thing.document["access"] = dict.fromkeys(("accounts", *thing.document["access"]), told)
            thing.status, thing.shared = "valid", shared
        elif not sca.cancels:
            thing.status, thing.signed = "PDNG", self.clock.now
        else:
            thing.status = "CANC"
        sca.status = "finalised"
        return Response(302, "", {"Location": thing.ways[0]})
