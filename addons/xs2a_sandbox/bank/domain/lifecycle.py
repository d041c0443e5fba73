"""The states of the domain and the events that change them. Handlers use it, and docs/states.md is drawn from it.

The states of payments and baskets are those of ISO 20022. A dialect defines its words for them in the section `states`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

NONE = "none"
REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Transition:
    """`event` can happen in any of `states` and leads to `to`."""

    states: tuple[str, ...]
    event: str
    to: str


@dataclass(frozen=True, slots=True)
class Deviation:
    """A difference from the Berlin Group's diagrams.

    `less` are arrows (pairs of states) that only the diagrams have; `more` are arrows that only the sandbox has.

    Both are empty if only the events along an arrow differ.
    """

    reason: str
    less: frozenset[tuple[str, str]] = frozenset()
    more: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True)
class Machine:
    """The states of one kind of thing, with the meaning of each in words.

    In a `final` state nothing can happen any more, except for removal.
    """

    name: str
    final: frozenset[str]
    transitions: tuple[Transition, ...]
    title: str
    deviations: tuple[Deviation, ...]
    meanings: Mapping[str, str] = field(hash=False)

    @property
    def arrows(self) -> frozenset[tuple[str, str]]:
        return frozenset((state, t.to) for t in self.transitions for state in t.states)

    @property
    def states(self) -> tuple[str, ...]:
        """All states, in the order of the table."""
        names = (name for t in self.transitions for name in (*t.states, t.to))
        return tuple(dict.fromkeys(name for name in names if name not in (NONE, REMOVED)))

    @property
    def without_way(self) -> frozenset[str]:
        """The states that no event leads to. Only documents of the test data have them."""
        return frozenset(self.states) - {to for _, to in self.arrows}

    def after(self, state: str, event: str) -> str | None:
        """Return the state that the event leads to, or None if the event cannot happen in this state."""
        return self._table.get((state, event))

    @cached_property
    def _table(self) -> dict[tuple[str, str], str]:
        """The first transition counts if several have the same event in the same state."""
        return {(state, t.event): t.to for t in reversed(self.transitions) for state in t.states}

    def way(self, before: str, to: str) -> tuple[str, ...]:
        """Return the states on the shortest path from `before` to `to`, inclusive; empty if there is no path."""
        ways: list[tuple[str, ...]] = [(before,)]
        for way in ways:
            for start, end in sorted(self.arrows):
                if start == way[-1] and end not in way:
                    if end == to:
                        return (*way, end)
                    if end != REMOVED:
                        ways.append((*way, end))
        return ()


def _machine(
    name: str,
    title: str,
    final: str,
    *rows: tuple[str, str, str],
    meanings: Mapping[str, str],
    deviations: tuple[Deviation, ...] = (),
) -> Machine:
    return Machine(
        name,
        frozenset(final.split()),
        tuple(Transition(tuple(states.split()), event, to) for states, event, to in rows),
        title,
        deviations,
        meanings,
    )


def _deviation(reason: str, *, less: str = "", more: str = "") -> Deviation:
    """Make a Deviation from arrows written as `from>to`, with alternative states joined by `|`."""
    return Deviation(reason, _pairs(less), _pairs(more))


def _pairs(text: str) -> frozenset[tuple[str, str]]:
    halves = (arrow.split(">") for arrow in text.split())
    return frozenset((a, b) for before, after in halves for a in before.split("|") for b in after.split("|"))


OVER = "its time is over"
"""The event by which a consent expires after its last day."""

_OPEN = "begun identified authenticated challenged deciding"

SCA = _machine(
    "authorisation",
    "Authorisations",
    "done failed exempted",
    (NONE, "start", "begun"),
    (NONE, "start, customer known", "identified"),
    ("begun", "identify", "identified"),
    ("begun identified deciding", "authenticate, several methods", "authenticated"),
    ("begun identified deciding", "authenticate, one method", "challenged"),
    ("begun identified deciding", "authenticate, no method", "exempted"),
    ("authenticated", "choose method", "challenged"),
    ("begun identified", "begin", "deciding"),
    (_OPEN, "succeed", "done"),
    (_OPEN, "succeed, to be confirmed", "unconfirmed"),
    ("unconfirmed", "confirm", "done"),
    (_OPEN + " unconfirmed", "fail", "failed"),
    meanings={
        "begun": "started, the customer is not known yet",
        "identified": "the customer is known",
        "authenticated": "password accepted, a method is to be chosen",
        "challenged": "waiting for the one-time password or the app",
        "deciding": "the customer has the bank's page open",
        "unconfirmed": "approved, waiting for the confirmation code",
        "done": "approved",
        "failed": "declined, failed, timed out, or its resource was cancelled",
        "exempted": "approved without a second factor",
    },
    deviations=(
        _deviation(
            "If the request that starts an authorisation has the password, it takes two arrows at once: the start, "
            "and then the arrow of the password.",
            less="none>authenticated|challenged",
        ),
        _deviation(
            "With the decoupled approach there is no method to choose: the bank asks in the customer's app as soon "
            "as the customer is known.",
            less="challenged>deciding",
        ),
        _deviation(
            "The authorisation becomes `deciding` when the page is opened, and the page asks for the password "
            "afterwards.",
            more="deciding>authenticated|challenged|exempted",
        ),
        _deviation(
            "On this page the customer enters the one-time password before the app gets the confirmation code.",
            more="challenged>unconfirmed",
        ),
    ),
)

CONSENT = _machine(
    "consent",
    "Consents",
    "rejected expired revoked withdrawn",
    (NONE, "create", "awaiting"),
    (NONE, "create for all accounts", "authorised"),
    ("awaiting partly", "authorised by all", "authorised"),
    ("awaiting", "authorised by some", "partly"),
    ("awaiting partly", "refused", "rejected"),
    ("awaiting partly authorised", OVER, "expired"),
    ("authorised", "newer recurring consent", "expired"),
    ("authorised", "used, not recurring", "expired"),
    ("authorised", "withdrawn by the customer", "withdrawn"),
    ("awaiting partly authorised", "delete, kept", "revoked"),
    ("awaiting partly authorised rejected expired", "delete", REMOVED),
    meanings={
        "awaiting": "waiting for the customer",
        "partly": "authorised by some of its signatories",
        "authorised": "can be used",
        "rejected": "refused by a customer, or not approved in time",
        "expired": "no longer valid",
        "revoked": "deleted by the app",
        "withdrawn": "withdrawn by the customer",
    },
    deviations=(
        _deviation("A consent that nobody has authorised expires, too.", more="awaiting|partly>expired"),
        _deviation(
            "DELETE removes the consent, so it is unknown afterwards, unless the dialect keeps it as `revoked`.",
            more="awaiting|partly|authorised|rejected|expired>removed",
        ),
        _deviation("In some dialects a consent that is not recurring expires after it has been used once."),
    ),
)

EXECUTED = {"ACSP": None, "ACSC": "settled", "ACCC": "credited"}
"""The states of a payment that has been executed, with the event that leads there from ACSP."""
PAYMENT = _machine(
    "payment",
    "Payments",
    "RJCT CANC ACSC ACCC",
    (NONE, "initiate", "RCVD"),
    ("RCVD", "funds do not cover it", "RJCT"),
    ("RCVD PATC", "authorised by all", "ACSP"),
    ("RCVD PATC", "authorised by all, for later", "ACTC"),
    ("RCVD", "authorised by some", "PATC"),
    ("RCVD PATC", "refused", "RJCT"),
    ("ACTC", "its day comes", "ACSP"),
    ("ACSP", "settled", "ACSC"),
    ("ACSP", "credited", "ACCC"),
    ("RCVD PATC", "cancel", "CANC"),
    ("ACTC PDNG", "cancellation authorised", "CANC"),
    meanings={
        "RCVD": "received, waiting for the customer",
        "PATC": "authorised by some of its signatories",
        "ACTC": "accepted, waiting for its day",
        "ACSP": "accepted, settlement in process",
        "ACSC": "settled at the payer's bank",
        "ACCC": "settled, credited to the payee",
        "PDNG": "pending",
        "RJCT": "rejected",
        "CANC": "cancelled",
    },
    deviations=(
        _deviation(
            "The bank checks the funds only once, when the payment is initiated, so there is no `ACFC`.",
            less="RCVD|ACTC>ACFC ACFC>ACSP|RJCT ACTC>RJCT",
        ),
        _deviation(
            "A payment for today is executed at once; `ACTC` is for later days and for periodic payments.",
            more="RCVD|PATC>ACSP",
        ),
        _deviation(
            "Payments end in `ACSP`, unless the dialect sets a later state with `executed`, which they then reach "
            "at once. There is no `ACCP` before it.",
            less="ACCP>ACSP",
            more="ACSP>ACSC|ACCC",
        ),
        _deviation(
            "Only payments of the test data are `PDNG`. They stay so until their cancellation is authorised.",
            less="RCVD>PDNG PDNG>ACSP|ACSC|ACCC",
        ),
        _deviation("A payment in execution cannot be cancelled, even if it is periodic.", less="ACSP>CANC"),
        _deviation("The second of two signatories can also refuse.", more="PATC>RJCT"),
    ),
)

BASKET = _machine(
    "basket",
    "Signing baskets",
    "ACTC RJCT CANC",
    (NONE, "create", "RCVD"),
    ("RCVD", "authorised by some", "PATC"),
    ("RCVD PATC", "authorised by all", "ACTC"),
    ("RCVD PATC", "refused", "RJCT"),
    ("RCVD", "delete", "CANC"),
    meanings={
        "RCVD": "received, waiting for the customer",
        "PATC": "authorised by some of its signatories",
        "ACTC": "authorised",
        "RJCT": "rejected",
        "CANC": "deleted",
    },
    deviations=(
        _deviation("The second of two signatories can also refuse.", more="PATC>RJCT"),
        _deviation("A basket ends in `ACTC`; its members change on their own afterwards."),
    ),
)

MANDATE = _machine(
    "mandate",
    "Mandates",
    "rejected expired used",
    (NONE, "create", "awaiting"),
    (NONE, "create, payments later", "incomplete"),
    ("incomplete", "complete", "awaiting"),
    ("awaiting", "authorised by some", "partly"),
    ("awaiting partly", "authorised by all", "authorised"),
    ("awaiting partly", "refused", "rejected"),
    ("authorised", "executed", "used"),
    ("incomplete awaiting partly authorised", OVER, "expired"),
    meanings={
        "incomplete": "waiting for its payments",
        "awaiting": "waiting for the customer",
        "partly": "authorised by some of its signatories",
        "authorised": "can be executed",
        "rejected": "refused by a customer, or not approved in time",
        "expired": "no longer valid",
        "used": "executed",
    },
)
"""A payment that is authorised first, and executed when the app requests it."""

LOGIN = _machine(
    "login",
    "Logins",
    "authorised rejected",
    (NONE, "begin", "awaiting"),
    ("awaiting", "authorised by all", "authorised"),
    ("awaiting", "refused", "rejected"),
    meanings={"awaiting": "waiting for the customer", "authorised": "approved", "rejected": "refused"},
)
"""A login by OAuth without anything to authorise. Its states are in no response."""

MACHINES = (SCA, CONSENT, PAYMENT, MANDATE, BASKET)
"""The machines whose states an interface may show. `docs/states.md` draws them."""
