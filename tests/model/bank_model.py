"""The bank as its specification and our readings describe it: eager, in plain Python, without the sandbox's code.

Everything that is due happens at its instant, in chronological order; events of one instant happen in the order of
their creation. An operation returns the bank's expected answer. If neither specification nor readings define it, the
operation raises `Unsaid` before it changes anything, and the history takes another step.
"""

from calendar import monthrange
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import count
from typing import Any
from zoneinfo import ZoneInfo

ZONE = ZoneInfo("Europe/Vienna")
EXPIRES_AFTER, DECIDES_AFTER, ATTEMPTS = 86400, 30, 3
FAILED, DONE = "failed", ("finalised", "exempted")
FINAL = {*DONE, FAILED}
MONTHS = {"Monthly": 1, "EveryTwoMonths": 2, "Quarterly": 3, "SemiAnnual": 6, "Annual": 12}
DAYS = {"Daily": 1, "Weekly": 7, "EveryTwoWeeks": 14}
FOREVER = date(9999, 12, 31)


class Unsaid(Exception):
    """Neither the specification nor the readings define the outcome."""


@dataclass(frozen=True, slots=True)
class Said:
    """The bank's answer: its HTTP status, the code of an error, or the status of the resource."""

    status: int
    code: str | None = None
    shown: str | None = None


WRONG_STATE = Said(409, "STATUS_INVALID")
BLOCKED = Said(400, "RESOURCE_BLOCKED")
WRONG_CREDENTIALS = Said(401, "PSU_CREDENTIALS_INVALID")
WRONG_STEP = Said(400, "SERVICE_INVALID")


@dataclass(slots=True, eq=False)
class Authorisation:
    number: int
    family: str
    resource: "Resource"
    approach: str
    psu: str | None
    status: str
    implicit: bool
    used: bool = False
    attempts: int = 0
    dues: list["Due"] = field(default_factory=list)
    status_free: bool = False

    def agrees(self, status: str) -> bool:
        """A customer without a method is `exempted`, unless the bank's own app or page decides."""
        return status in DONE if self.status_free else status == self.status

    @property
    def open(self) -> bool:
        return self.status not in FINAL


@dataclass(slots=True, eq=False)
class Due:
    """`left` is the number of seconds that remain while it is paused."""

    at: datetime
    number: int
    what: str
    subject: Any
    left: float | None = None


@dataclass(slots=True, eq=False)
class Resource:
    """A resource that can be authorised. `ended` authorisations were replaced by one that the app started."""

    number: int
    status: str
    holders: tuple[str, ...] = ()
    joint: bool = False
    authorisations: dict[str, list[Authorisation]] = field(default_factory=dict)
    signed: dict[str, list[str]] = field(default_factory=dict)
    basket: "Basket | None" = None

    kind = ""

    @property
    def waits(self) -> bool:
        return self.status in ("received", "partiallyAuthorised", "RCVD", "PATC")

    def required(self, family: str) -> tuple[str, ...]:
        """Return the customers who must all sign, or none if one of the holders is enough."""
        return self.holders if self.joint else ()


@dataclass(slots=True, eq=False)
class Consent(Resource):
    accounts: tuple[str, ...] = ()
    recurring: bool = False
    valid_until: date = FOREVER
    customers: tuple[str, ...] = ()
    preconfigured: str | None = None
    lapsed: bool = False

    kind = "consent"


@dataclass(frozen=True, slots=True)
class Transfer:
    """Amounts have the sign that they have for the account; `back` is the amount that an own creditor gets."""

    creditor: str
    out: Decimal
    back: Decimal | None


@dataclass(slots=True, eq=False)
class Payment(Resource):
    label: str = ""
    path: str = ""
    debtor: str = ""
    transfers: tuple[Transfer, ...] = ()
    days: Iterator[date] | None = None
    day: date | None = None
    end: date | None = None
    unfunded: bool = False
    read: bool = False
    cancelling: bool = False

    kind = "payment"

    @property
    def shown(self) -> str:
        """Return the payment's status as the bank's own interface shows it."""
        return "RJCT" if self.unfunded and self.status == "RCVD" else self.status

    @property
    def kept(self) -> str:
        return "RJCT" if self.unfunded and self.read and self.status == "RCVD" else self.status


@dataclass(slots=True, eq=False)
class Basket(Resource):
    members: tuple[Resource, ...] = ()

    kind = "basket"


@dataclass(frozen=True, slots=True)
class Booking:
    """One execution of a payment at an instant; `due` if it was not immediate."""

    number: int
    day: date
    payment: Payment
    at: datetime
    due: bool


class BankModel:
    """One session of the bank, with its own clock. `moves` are all changes of a state, for checking them."""

    def __init__(self, data: Mapping[str, Any], now: datetime) -> None:
        self.psus: Mapping[str, Any] = data["psus"]
        self.accounts: Mapping[str, Any] = data["accounts"]
        self.rates: Mapping[str, str] = data["rates"]
        self.now = now
        self.number = 0
        self.dues: list[Due] = []
        self.consents: list[Consent] = []
        self.payments: list[Payment] = []
        self.baskets: list[Basket] = []
        self.bookings: list[Booking] = []
        self.moves: list[tuple[str, str, str]] = []
        for id, consent in data["consents"].items():
            if consent["role"] == "authorised":
                holder = (self.accounts[consent["accounts"][0]]["psuId"],)
                one = Consent(self._next(), "valid", holder, customers=holder, preconfigured=id)
                one.accounts = tuple(consent["accounts"])
                one.recurring = bool(consent["recurring"])
                self.consents.append(one)

    # -- the clock

    @property
    def today(self) -> date:
        return self.now.astimezone(ZONE).date()

    def set_clock(self, moment: datetime) -> None:
        """Events that have happened stay, even if the clock is set back."""
        self.now = moment
        while due := min(
            (due for due in self.dues if due.left is None and due.at <= moment),
            key=lambda due: (due.at, due.number),
            default=None,
        ):
            self.dues.remove(due)
            self.now = due.at
            self._happens(due)
        self.now = moment

    def _due(self, at: datetime, what: str, subject: Any) -> Due:
        due = Due(at, self._next(), what, subject)
        self.dues.append(due)
        return due

    def _next(self) -> int:
        self.number += 1
        return self.number

    def _happens(self, due: Due) -> None:
        one = due.subject
        match due.what:
            case "decides" if one.open and self._undecided(one):
                self._succeed(one, one.psu)
            case "decides" | "expires" if one.open:
                self._fail(one)
            case "lapses" if one.status in ("received", "partiallyAuthorised", "valid"):
                self._move(one, "expired")
                one.lapsed = True
            case "executes":
                self._execute(one, due.at)
                self._next_day(one)

    def _lapses(self, consent: Consent) -> None:
        if consent.valid_until < FOREVER:
            self._due(midnight(consent.valid_until + timedelta(days=1)), "lapses", consent)

    # -- money

    def convert(self, amount: Decimal, currency: str, account: str) -> Decimal:
        to = self.accounts[account]["currency"]
        if to == currency:
            return amount
        euros = amount * (Decimal(1) if currency == "EUR" else Decimal(self.rates[currency]))
        there = euros / (Decimal(1) if to == "EUR" else Decimal(self.rates[to]))
        return there.quantize(Decimal("0.01"), ROUND_HALF_UP)

    def base(self, iban: str, kind: str) -> Decimal:
        return next(Decimal(one["amount"]["amount"]) for one in self.accounts[iban]["balances"] if one["type"] == kind)

    def effect(self, payment: Payment, iban: str) -> Decimal:
        """Return the amount by which one execution changes the account."""
        out = sum((t.out for t in payment.transfers), Decimal(0)) if payment.debtor == iban else Decimal(0)
        back = sum((t.back for t in payment.transfers if t.creditor == iban and t.back is not None), Decimal(0))
        return back - out

    def booked(self, iban: str) -> Decimal:
        return self.base(iban, "ITAV") + sum(self.effect(b.payment, iban) for b in self.bookings)

    def available(self, iban: str) -> Decimal:
        """Return the amount that may be spent: pending debits are deducted, pending credits count when they are
        booked.
        """
        booked = sum(self.effect(b.payment, iban) for b in self.bookings)
        leaves = (one for one in self.payments if one.debtor == iban and self.awaited(one))
        pending = sum(transfer.out for one in leaves for transfer in one.transfers)
        return self.base(iban, "FWAV") + booked - pending

    def awaited(self, payment: Payment) -> date | None:
        """Return the next day on which an authorised payment is executed."""
        days = [
            due.at.astimezone(ZONE).date() for due in self.dues if due.what == "executes" and due.subject is payment
        ]
        return min(days, default=None)

    def executions(self, payment: Payment) -> list[Booking]:
        return [booking for booking in self.bookings if booking.payment is payment]

    # -- creating resources

    def initiate(
        self,
        label: str,
        path: str,
        debtor: str,
        transfers: Iterable[tuple[str, Decimal, str]],
        *,
        day: date | None = None,
        standing: tuple[date, date | None, str, str | None] | None = None,
        approach: str | None = "redirect",
    ) -> Payment | Said:
        """`approach` is that of the initial authorisation, or None without one."""
        if day is not None and day < self.today:
            return Said(400, "EXECUTION_DATE_INVALID")
        if standing is not None and standing[1] is not None and standing[1] < max(standing[0], self.today):
            return Said(400, "PERIOD_INVALID")
        holders, joint = self._holders([debtor])
        kept = tuple(
            Transfer(
                creditor,
                self.convert(amount, currency, debtor),
                self.convert(amount, currency, creditor) if creditor in self.accounts else None,
            )
            for creditor, amount, currency in transfers
        )
        payment = Payment(self._next(), "RCVD", holders, joint, label=label, path=path, debtor=debtor, transfers=kept)
        payment.unfunded = sum(one.out for one in kept) > self.available(debtor)
        if standing is not None:
            start, end, frequency, day_of_month = standing
            payment.days, payment.end = execution_days(start, end, frequency, day_of_month), end
        elif path != "payments/instant-sepa-credit-transfers":
            payment.day = day
        self.payments.append(payment)
        if approach is not None and not joint and not payment.unfunded:
            self._begin(payment, "payment", None, approach, implicit=True)
        return payment

    def ask_consent(
        self, accounts: tuple[str, ...], recurring: bool, valid_until: date, approach: str | None = "redirect"
    ) -> Consent | Said:
        """The consent is for all accounts if none is named."""
        if valid_until < self.today:
            return Said(400, "PERIOD_INVALID")
        tied = {one.accounts for one in self.consents if one.preconfigured}
        if accounts in tied:
            raise Unsaid("what a preconfigured consent is after it was asked for again")
        holders, joint = self._holders(accounts)
        if not accounts and recurring:
            raise Unsaid("whose consent one for all accounts is")
        consent = Consent(self._next(), "received" if accounts else "valid", holders, joint)
        consent.accounts = accounts or tuple(self.accounts)
        consent.recurring, consent.valid_until = recurring, valid_until
        self.consents.append(consent)
        self._lapses(consent)
        if accounts and approach is not None and not joint:
            self._begin(consent, "consent", None, approach, implicit=True)
        return consent

    def _holders(self, accounts: Iterable[str]) -> tuple[tuple[str, ...], bool]:
        """Return who may sign, and whether all must sign."""
        groups = [tuple(self.accounts[iban].get("signatories") or [self.accounts[iban]["psuId"]]) for iban in accounts]
        joint = any(len(group) > 1 for group in groups)
        if joint and len(set(groups)) > 1:
            raise Unsaid("who signs for a joint account and another one")
        return tuple(dict.fromkeys(psu for group in groups for psu in group)), joint

    def fill_basket(self, members: tuple[Resource, ...]) -> Basket | Said:
        refusals = [refusal for member in members if (refusal := self._stays_out(member)) is not None]
        if len(set(refusals)) > 1:
            raise Unsaid("which of two refusals comes first")
        if refusals:
            return refusals[0]
        if sum(isinstance(member, Consent) and member.recurring for member in members) > 1:
            raise Unsaid("which of two recurring consents in one basket is the newer one")
        holders = tuple(dict.fromkeys(psu for member in members for psu in member.holders))
        basket = Basket(self._next(), "RCVD", holders, len(holders) > 1, members=members)
        self.baskets.append(basket)
        for member in members:
            member.basket = basket
            for due in self._own_dues(member):
                due.left = (due.at - self.now).total_seconds()
        return basket

    def _stays_out(self, member: Resource) -> Said | None:
        if member.status == "deleted":
            return Said(400, "RESOURCE_UNKNOWN")
        if member.status in ("PATC", "partiallyAuthorised"):
            raise Unsaid("whether what some have signed goes into a basket")
        if not member.waits or self._blocked(member) or (isinstance(member, Payment) and member.unfunded):
            return Said(409, "REFERENCE_STATUS_INVALID")
        if len(member.holders) > 1 and not member.joint:
            raise Unsaid("who signs a basket with a consent that one of several holders may sign")
        return None

    def _own_dues(self, member: Resource) -> list[Due]:
        return [
            due
            for one in member.authorisations.get(member.kind, ())
            if one.open
            for due in one.dues
            if due in self.dues
        ]

    def _release(self, basket: Basket) -> None:
        for member in basket.members:
            member.basket = None
            for due in self._own_dues(member):
                due.at, due.left = self.now + timedelta(seconds=due.left or 0), None

    def _blocked(self, resource: Resource) -> bool:
        return resource.basket is not None

    # -- deleting and reading

    def delete(self, resource: Resource) -> Said:
        match resource:
            case Consent(status="deleted"):
                return Said(403, "CONSENT_UNKNOWN")
            case Consent():
                self._leaves(resource)
                self._move(resource, "deleted")
                self._abandon(resource.authorisations.get("consent", ()))
                return Said(204)
            case Payment():
                if resource.kept in ("RCVD", "PATC"):
                    self._leaves(resource)
                    self._move(resource, "CANC")
                    self._abandon(resource.authorisations.get(resource.kind, ()))
                    return Said(204)
                if resource.status == "ACTC":
                    resource.cancelling = True
                    return Said(202, None, "ACTC")
                return Said(405, "CANCELLATION_INVALID")
            case Basket(status="RCVD"):
                self._move(resource, "CANC")
                self._release(resource)
                return Said(204)
        return WRONG_STATE

    def _abandon(self, authorisations: Iterable[Authorisation]) -> None:
        for one in authorisations:
            if one.open:
                one.status = "failed"
                self._forget(one)

    def _leaves(self, member: Resource) -> None:
        """It is undefined who must sign a basket after one of its members is deleted, unless the customers stay the
        same.
        """
        if member.basket is not None:
            rest = [one for one in member.basket.members if one is not member and one.waits]
            if not rest or {psu for one in rest for psu in one.holders} != set(member.basket.holders):
                raise Unsaid("who signs a basket whose member is gone")

    def read(self, payment: Payment) -> Said:
        """Read its record or status with GET through the bank's interface: the only read that is an event."""
        payment.read = True
        return Said(200, None, payment.shown)

    def access(self, consent: Consent) -> Said:
        match consent.status:
            case "valid":
                return Said(200)
            case "deleted":
                return Said(403, "CONSENT_UNKNOWN")
            case "expired":
                return Said(401, "CONSENT_EXPIRED")
        return Said(401, "CONSENT_INVALID")

    # -- authorisations

    def can_begin(self, resource: Resource, family: str) -> Said | None:
        """Return the reason if not."""
        if resource.status == "deleted":
            return Said(403, "CONSENT_UNKNOWN")
        if family == "cancellation":
            if resource.status != "ACTC":
                return WRONG_STATE
            if resource.joint:
                raise Unsaid("what a refused half of a cancellation is")
            if not getattr(resource, "cancelling", False):
                raise Unsaid("a cancellation that nobody has asked for")
            return None
        if isinstance(resource, Consent) and resource.preconfigured:
            raise Unsaid("an authorisation of a preconfigured consent")
        if not resource.waits or getattr(resource, "unfunded", False):
            return WRONG_STATE
        return BLOCKED if self._blocked(resource) else None

    def start(self, resource: Resource, family: str, psu: str | None, wish: str) -> Authorisation | Said:
        refusal = self.can_begin(resource, family)
        if psu is not None and psu not in resource.holders:
            if refusal is not None or self._open(resource, family):
                raise Unsaid("which of two refusals comes first")
            return WRONG_CREDENTIALS
        if refusal is not None:
            return refusal
        self._members_wait(resource)
        if psu is not None and psu in resource.signed.get(family, ()):
            raise Unsaid("a customer who signs again")
        for one in self._open(resource, family):
            if resource.required(family):
                if psu is not None and one.psu == psu:
                    raise Unsaid("a customer with two authorisations of one resource")
            elif not one.implicit or one.used:
                return WRONG_STATE
            else:
                resource.authorisations[family].remove(one)
                self._forget(one)
        return self._begin(resource, family, psu, wish, implicit=False)

    def _members_wait(self, resource: Resource) -> None:
        if isinstance(resource, Basket) and not any(member.waits for member in resource.members):
            raise Unsaid("the authorisation of a basket whose members have all ended")

    def _open(self, resource: Resource, family: str) -> list[Authorisation]:
        return [one for one in resource.authorisations.get(family, ()) if one.open]

    def _begin(self, resource: Resource, family: str, psu: str | None, wish: str, *, implicit: bool) -> Authorisation:
        approach = self._approach(psu, wish)
        status = "received" if psu is None else "started" if approach == "decoupled" else "psuIdentified"
        one = Authorisation(self._next(), family, resource, approach, psu, status, implicit)
        resource.authorisations.setdefault(family, []).append(one)
        if status == "started":
            self._asks(one)
        one.dues.append(self._due(self.now + timedelta(seconds=EXPIRES_AFTER), "expires", one))
        return one

    def _approach(self, psu: str | None, wish: str) -> str:
        able = self.psus[psu].get("approaches", [wish]) if psu else [wish]
        return wish if wish in able else str(able[0])

    def _asks(self, one: Authorisation) -> None:
        """Let the customer's app decide by itself after a while."""
        one.status = "started"
        due = self._due(self.now + timedelta(seconds=DECIDES_AFTER), "decides", one)
        for other in one.dues:
            if other.at == due.at:  # a decision at the last moment counts
                due.number, other.number = other.number, due.number
        one.dues.append(due)

    def _forget(self, one: Authorisation) -> None:
        self.dues = [due for due in self.dues if due.subject is not one]

    def step(self, one: Authorisation, step: str, psu: str | None = None, right: bool = True) -> Said:
        """Perform one PUT: `identify`, `password`, `method` or `otp`."""
        if isinstance(one.resource, Consent) and one.resource.status == "deleted":
            return Said(403, "CONSENT_UNKNOWN")
        if one not in one.resource.authorisations[one.family]:
            raise Unsaid("an authorisation that gave way")
        over = not one.open or not self._undecided(one)
        if over:
            if self._blocked(one.resource) or (step != "identify" and one.approach != "embedded"):
                raise Unsaid("which of two refusals comes first")
            return WRONG_STATE
        if self._blocked(one.resource):
            return BLOCKED
        self._members_wait(one.resource)
        if step == "identify":
            return self._identify(one, psu or "")
        if one.approach != "embedded":
            if one.status != "received" and one.approach == "redirect":
                return WRONG_STEP
            raise Unsaid("a password for an app, or for nobody yet")
        if step == "password":
            return self._log_in(one, right)
        if step == "method":
            if one.status != "psuAuthenticated":
                return WRONG_STATE
            if not right:
                return Said(400, "SCA_METHOD_UNKNOWN")
            one.status = "scaMethodSelected"
            return Said(200, None, one.status)
        if one.status != "scaMethodSelected":
            return WRONG_STATE
        if not right:
            return self._wrong(one)
        self._succeed(one, one.psu)
        return Said(200, None, one.status)

    def _undecided(self, one: Authorisation) -> bool:
        return one.resource.status == "ACTC" if one.family == "cancellation" else one.resource.waits

    def _identify(self, one: Authorisation, psu: str) -> Said:
        if one.status != "received":
            raise Unsaid("a customer who is named twice")
        if psu not in one.resource.holders:
            return WRONG_CREDENTIALS
        if psu in one.resource.signed.get(one.family, ()) or any(
            other.psu == psu for other in self._open(one.resource, one.family)
        ):
            raise Unsaid("a customer who signs again")
        one.psu, one.used = psu, True
        one.approach = self._approach(psu, one.approach)
        if one.approach == "decoupled":
            self._asks(one)
        else:
            one.status = "psuIdentified"
        return Said(200, None, one.status)

    def _log_in(self, one: Authorisation, right: bool) -> Said:
        if one.psu is None:
            raise Unsaid("the password of nobody")
        if one.status != "psuIdentified":
            return WRONG_STATE
        one.used = True
        if not right:
            return self._wrong(one)
        one.attempts = 0
        methods = len(self.psus[one.psu]["methods"])
        if methods == 0:
            self._succeed(one, one.psu)
        else:
            one.status = "scaMethodSelected" if methods == 1 else "psuAuthenticated"
        return Said(200, None, one.status)

    def _wrong(self, one: Authorisation) -> Said:
        one.attempts += 1
        if one.attempts == ATTEMPTS:
            self._fail(one)
        return WRONG_CREDENTIALS

    def decide(self, one: Authorisation, decision: str) -> Said:
        """Decide through the control interface."""
        if one not in one.resource.authorisations[one.family]:
            raise Unsaid("an authorisation that gave way")
        if not one.open or not self._undecided(one) or self._blocked(one.resource) or one.approach == "embedded":
            return Said(409)
        self._members_wait(one.resource)
        if decision == "approve":
            self._succeed(one, one.psu or self._signer(one.resource, one.family, one.approach))
        else:
            self._fail(one)
        return Said(200, None, one.status)

    def _signer(self, resource: Resource, family: str, approach: str) -> str:
        """Return who approves if no customer is identified."""
        left = [psu for psu in resource.holders if psu not in resource.signed.get(family, ())]
        if not resource.required(family) and len(left) > 1:
            raise Unsaid("which of several customers approves")
        if approach not in self.psus[left[0]].get("approaches", [approach]):
            raise Unsaid("the approval of a customer who cannot do the approach")
        if any(other.psu == left[0] for other in self._open(resource, family)):
            raise Unsaid("a customer with two authorisations of one resource")
        return left[0]

    def visit(self, resource: Resource, family: str, decision: str | None) -> Said:
        """Open the page behind the link, or decide at once."""
        if resource.status == "deleted":
            raise Unsaid("the page of what is gone")
        refusal = self.can_begin(resource, family)
        if refusal is BLOCKED or getattr(resource, "unfunded", False):
            raise Unsaid("what the page answers where nothing can be authorised")
        if refusal is not None:
            return Said(409)
        self._members_wait(resource)
        waiting = self._open(resource, family)
        if resource.required(family) and waiting:
            raise Unsaid("whose authorisation the page continues with")
        if not waiting and family == "cancellation" and resource.authorisations.get(family):
            return Said(409)  # a link works once, and after an error the payment is as before
        if waiting and waiting[0].approach != "redirect":
            raise Unsaid("the page beside an app or an embedded authorisation")
        signer = None
        if decision == "approve":
            signer = (waiting[0].psu if waiting else None) or self._signer(resource, family, "redirect")
        one = waiting[0] if waiting else self._begin(resource, family, None, "redirect", implicit=False)
        one.used = True
        if one.status in ("received", "psuIdentified"):
            one.status = "started"
        if decision == "approve":
            self._succeed(one, signer)
        elif decision is not None:
            self._fail(one)
        return Said(200)

    def _succeed(self, one: Authorisation, psu: str | None) -> None:
        """Apply a decision; the state machines define its outcome."""
        if not self._undecided(one) or psu is None:
            return
        one.psu = psu
        one.status = "finalised" if self.psus[psu]["methods"] else "exempted"
        one.status_free = not self.psus[psu]["methods"] and one.approach != "embedded"
        self._forget(one)
        signed = one.resource.signed.setdefault(one.family, [])
        if psu not in signed:
            signed.append(psu)
        missing = set(one.resource.required(one.family)) - set(signed)
        if one.family == "cancellation":
            self._move(one.resource, "CANC")
            self.dues = [due for due in self.dues if due.subject is not one.resource]
        elif missing:
            self._move(one.resource, "partiallyAuthorised" if one.family == "consent" else "PATC")
        else:
            self._complete(one.resource, signed)

    def _complete(self, resource: Resource, signed: list[str]) -> None:
        match resource:
            case Consent():
                resource.customers = tuple(psu for psu in signed if psu in resource.holders)
                for older in self.consents if resource.recurring else ():
                    if older.preconfigured:
                        continue  # only DELETE ends it
                    if older.recurring and older.status == "valid" and set(older.customers) & set(resource.customers):
                        self._move(older, "expired")
                self._move(resource, "valid")
            case Payment():
                self._authorised(resource)
            case Basket():
                self._move(resource, "ACTC")
                for member in resource.members:
                    if member.waits:
                        self._complete(member, signed)
                self._release(resource)

    def _authorised(self, payment: Payment) -> None:
        first = next(payment.days, None) if payment.days is not None else payment.day or self.today
        if first is None or (payment.end is not None and payment.end < self.today):
            self._move(payment, "RJCT")
        elif first > self.today:
            self._due(midnight(first), "executes", payment)
            self._move(payment, "ACTC")
        else:
            self._execute(payment)
            self._next_day(payment)

    def _next_day(self, payment: Payment) -> None:
        """Missed days are not made up for."""
        for day in payment.days or ():
            if day > self.today:
                self._due(midnight(day), "executes", payment)
                return

    def _execute(self, payment: Payment, at: datetime | None = None) -> None:
        if payment.status in ("RCVD", "PATC", "ACTC"):
            self._move(payment, "ACSP")
        if payment.status == "ACSP":
            self.bookings.append(Booking(self._next(), self.today, payment, at or self.now, at is not None))

    def _fail(self, one: Authorisation) -> None:
        waited = self._undecided(one)
        one.status = FAILED
        self._forget(one)
        if one.family != "cancellation" and waited:
            self._move(one.resource, "rejected" if one.family == "consent" else "RJCT")
            if isinstance(one.resource, Basket):
                self._release(one.resource)

    def _move(self, resource: Resource, status: str) -> None:
        if resource.status != status:
            self.moves.append((resource.kind, resource.status, status))
            resource.status = status


def midnight(day: date) -> datetime:
    return datetime.combine(day, time(), ZONE).astimezone(UTC)


def execution_days(start: date, end: date | None, frequency: str, day_of_month: str | None) -> Iterator[date]:
    until = end or date(2999, 1, 1)
    if frequency in DAYS:
        return (start + timedelta(days=n) for n in range(0, (until - start).days + 1, DAYS[frequency]))
    months = MONTHS.get(frequency, 1)
    in_digits = day_of_month is not None and day_of_month.isascii() and day_of_month.isdigit()
    day = int(day_of_month or 0) if in_digits and 1 <= int(day_of_month or 0) <= 31 else start.day
    if months > 1 and day < start.day:
        raise Unsaid("in which month an order of several months begins whose day has been")
    return (one for one in _monthly(start, months, day, until) if one >= start)


def _monthly(start: date, months: int, day: int, until: date) -> Iterator[date]:
    for n in count(0, months):
        year, month = divmod(start.year * 12 + start.month - 1 + n, 12)
        one = date(year, month + 1, min(day, monthrange(year, month + 1)[1]))
        if one > until:
            return
        yield one
