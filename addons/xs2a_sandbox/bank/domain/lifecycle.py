"""The states of the domain and the events that move them: handlers move by it, docs/states.md is drawn from it."""

from dataclasses import dataclass

NONE = "none"
REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Transition:
    """`event` happens in any of `states` and leads to `to`."""

    states: tuple[str, ...]
    event: str
    to: str


@dataclass(frozen=True, slots=True)
class Deviation:
    """Arrows, as pairs of states, that the Berlin Group has and we have not (`less`), or the other way round (`more`).

    Neither, where only what leads along an arrow differs.
    """

    reason: str
    less: frozenset[tuple[str, str]] = frozenset()
    more: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Machine:
    """One kind of state. In a `final` state nothing happens any more, unless it is removed."""

    name: str
    final: frozenset[str]
    transitions: tuple[Transition, ...]
    title: str
    deviations: tuple[Deviation, ...]

    @property
    def arrows(self) -> frozenset[tuple[str, str]]:
        return frozenset((state, t.to) for t in self.transitions for state in t.states)

    @property
    def states(self) -> tuple[str, ...]:
        """All states, in the order in which the table names them."""
        names = (name for t in self.transitions for name in (*t.states, t.to))
        return tuple(dict.fromkeys(name for name in names if name not in (NONE, REMOVED)))

    def after(self, state: str, event: str) -> str | None:
        """The state that the event leads to; None where it cannot happen."""
        return next((t.to for t in self.transitions if t.event == event and state in t.states), None)


def _machine(
    name: str, title: str, final: str, *rows: tuple[str, str, str], deviations: tuple[Deviation, ...] = ()
) -> Machine:
    return Machine(
        name,
        frozenset(final.split()),
        tuple(Transition(tuple(states.split()), event, to) for states, event, to in rows),
        title,
        deviations,
    )


def _deviation(reason: str, *, less: str = "", more: str = "") -> Deviation:
    """Arrows written as `from>to`; several states joined by `|` on either side."""
    return Deviation(reason, _pairs(less), _pairs(more))


def _pairs(text: str) -> frozenset[tuple[str, str]]:
    halves = (arrow.split(">") for arrow in text.split())
    return frozenset((a, b) for before, after in halves for a in before.split("|") for b in after.split("|"))


_OPEN = "received psuIdentified psuAuthenticated scaMethodSelected started"

SCA = _machine(
    "scaStatus",
    "Authorisations",
    "finalised failed exempted",
    (NONE, "start", "received"),
    (NONE, "start with PSU-ID", "psuIdentified"),
    ("received", "identify", "psuIdentified"),
    ("received psuIdentified started", "authenticate, several methods", "psuAuthenticated"),
    ("received psuIdentified started", "authenticate, one method", "scaMethodSelected"),
    ("received psuIdentified started", "authenticate, no method", "exempted"),
    ("psuAuthenticated", "choose method", "scaMethodSelected"),
    ("received psuIdentified", "begin", "started"),
    (_OPEN, "succeed", "finalised"),
    (_OPEN, "succeed, to be confirmed", "unconfirmed"),
    ("unconfirmed", "confirm", "finalised"),
    (_OPEN + " unconfirmed", "fail", "failed"),
    deviations=(
        _deviation(
            "A start that brings the password is two arrows in one request: the start, and what the password does.",
            less="none>psuAuthenticated|scaMethodSelected",
        ),
        _deviation(
            "Decoupled, there is no method to choose: the question is pushed as soon as the customer is known.",
            less="scaMethodSelected>started",
        ),
        _deviation(
            "The page behind `scaRedirect` is `started` when it is opened, and asks for the password afterwards.",
            more="started>psuAuthenticated|scaMethodSelected|exempted",
        ),
        _deviation(
            "On that page the one-time password comes before the confirmation code.",
            more="scaMethodSelected>unconfirmed",
        ),
    ),
)

CONSENT = _machine(
    "consentStatus",
    "Consents",
    "rejected expired terminatedByTpp",
    (NONE, "create", "received"),
    (NONE, "create for all accounts", "valid"),
    ("received partiallyAuthorised", "authorised by all", "valid"),
    ("received", "authorised by some", "partiallyAuthorised"),
    ("received partiallyAuthorised", "refused", "rejected"),
    ("received partiallyAuthorised valid", "validUntil passes", "expired"),
    ("valid", "newer recurring consent", "expired"),
    ("valid", "used, not recurring", "expired"),
    ("received partiallyAuthorised valid", "delete, kept", "terminatedByTpp"),
    ("received partiallyAuthorised valid rejected expired", "delete", REMOVED),
    deviations=(
        _deviation("A consent that nobody has authorised expires, too.", more="received|partiallyAuthorised>expired"),
        _deviation(
            "DELETE removes, unless a dialect keeps the consent as `terminatedByTpp`: afterwards it is unknown.",
            more="received|partiallyAuthorised|valid|rejected|expired>removed",
        ),
        _deviation(
            "There is no online banking in which the customer could revoke a consent.", less="valid>revokedByPsu"
        ),
        _deviation("A consent that is not recurring expires when it has been used once, where a dialect says so."),
    ),
)

EXECUTED = {"ACSP": None, "ACSC": "settled", "ACCC": "credited"}
"""The states of a payment that has been executed, by what happens after ACSP."""
PAYMENT = _machine(
    "transactionStatus",
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
    deviations=(
        _deviation(
            "Whether there are funds is decided when the payment is initiated, once and for all: there is no `ACFC`.",
            less="RCVD|ACTC>ACFC ACFC>ACSP|RJCT ACTC>RJCT",
        ),
        _deviation(
            "A payment for today executes at once; `ACTC` is for later days and for periodic payments.",
            more="RCVD|PATC>ACSP",
        ),
        _deviation(
            "`ACSP` is as far as a payment goes; where the dialect says so (`executed`), it goes on at once. There is "
            "no `ACCP` before it.",
            less="ACCP>ACSP",
            more="ACSP>ACSC|ACCC",
        ),
        _deviation(
            "`PDNG` is only found in the test data, and stays until its cancellation is authorised.",
            less="RCVD>PDNG PDNG>ACSP|ACSC|ACCC",
        ),
        _deviation("What executes cannot be cancelled, periodic payments included.", less="ACSP>CANC"),
        _deviation("The second of two signatories can refuse, too.", more="PATC>RJCT"),
    ),
)

BASKET = _machine(
    "basketStatus",
    "Signing baskets",
    "ACTC RJCT CANC",
    (NONE, "create", "RCVD"),
    ("RCVD", "authorised by some", "PATC"),
    ("RCVD PATC", "authorised by all", "ACTC"),
    ("RCVD PATC", "refused", "RJCT"),
    ("RCVD", "delete", "CANC"),
    deviations=(
        _deviation("The second of two signatories can refuse, too.", more="PATC>RJCT"),
        _deviation("`ACTC` is as far as a basket goes; what its members do afterwards is theirs."),
    ),
)

LOGIN = _machine(
    "loginStatus",
    "Logins",
    "valid rejected",
    (NONE, "begin", "received"),
    ("received", "authorised by all", "valid"),
    ("received", "refused", "rejected"),
)
"""A customer's login by OAuth before there is anything to authorise: no answer tells these states."""

MACHINES = (SCA, CONSENT, PAYMENT, BASKET)
