"""Controls of a sandbox for tests: the time, the state, the payment user's decisions.

They use the control interface, and so work in the same way for a sandbox in this process and in another.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import Any, Protocol

from xs2a_sandbox.bank.domain.documents import is_authorised, state_of
from xs2a_sandbox.bank.domain.lifecycle import SCA
from xs2a_sandbox.bank.domain.signing import AUTHORISATIONS, FAMILIES, Family
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.state import Document


class Ask(Protocol):
    """Sends a request to the control interface: a path below `/_sandbox/`, and a body.

    Raises UserMistake for an error.
    """

    def __call__(self, method: str, path: tuple[str, ...], body: Any = None) -> Any: ...


class ClockControl:
    """The session's clock. Methods that change it return the new time."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    @property
    def now(self) -> datetime:
        return datetime.fromisoformat(self._ask("GET", ("clock",))["now"])

    @property
    def today(self) -> date:
        """The current day at the bank."""
        return date.fromisoformat(self._ask("GET", ("clock",))["today"])

    def move(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> datetime:
        """Move the clock forward, or back for negative values."""
        span = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        return self._move("POST", {"move": int(span.total_seconds())})

    def freeze(self, at: datetime | str | None = None, *, seed: int | str | None = None) -> datetime:
        """Stop the clock at `at`, by default now. A time without an offset is in the bank's time zone.

        With a `seed`, the same actions create the same ids again.
        """
        moment = self.now if at is None else at
        frozen = moment if isinstance(moment, str) else moment.isoformat()
        return self._move("PUT", {"frozen": frozen} if seed is None else {"frozen": frozen, "seed": seed})

    def real(self) -> datetime:
        return self._move("PUT", {"real": True})

    def _move(self, method: str, body: Mapping[str, Any]) -> datetime:
        return datetime.fromisoformat(self._ask(method, ("clock",), body)["now"])


class State:
    """All documents of the bank: the test data with the session's changes. `state["consents"][id]` is a document."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def __getitem__(self, collection: str) -> dict[str, Document]:
        """Return the current collection by id. It is empty if the collection does not exist."""
        documents: dict[str, Document] = self._ask("GET", ("state", collection))
        return documents

    def put(self, collection: str, id: str, document: Mapping[str, Any]) -> None:
        """Write a complete document."""
        self._ask("PUT", ("state", collection, id), dict(document))

    def delete(self, collection: str, id: str) -> None:
        self._ask("DELETE", ("state", collection, id))


class Controls:
    """The clock, the state and the payment user's decisions of one session.

    `begin` starts an authorisation if none is waiting: of a family, for a document and its id.
    """

    def __init__(self, ask: Ask, begin: Callable[[Family, str, Document], None]) -> None:
        self._ask = ask
        self._begin = begin
        self.clock = ClockControl(ask)
        self.state = State(ask)

    def approve(self, id: str) -> str:
        """Approve a consent, payment, basket or authorisation like the payment user, and return its new status.

        Raises UserMistake if it does not exist or cannot be approved.
        """
        return self.decide(id, "approve")

    def decline(self, id: str) -> str:
        """Decline in the same way as `approve`."""
        return self.decide(id, "decline")

    def decide(self, id: str, decision: str) -> str:
        """Decide in the same way with `approve`, `decline`, `timeout` or `error`."""
        id = id.lower()
        if id in self._ask("GET", ("state", AUTHORISATIONS)):
            return state_of(AUTHORISATIONS, self._send_decision(id, decision))
        family, document = self._document(id)
        waiting = self._find_waiting(id, family.collection)
        if waiting is None:
            if decision == "approve" and family.name == "consent" and is_authorised(document):
                return state_of(family.collection, document)  # some consents are valid from the start
            self._begin(family, id, document)
            waiting = self._find_waiting(id, family.collection)
        if waiting is None:
            raise UserMistake(f"no authorisation of the {family.name} {id} is waiting for the payment user")
        return str(self._send_decision(waiting, decision)["resourceStatus"])

    def _document(self, id: str) -> tuple[Family, Document]:
        for name in ("consent", "payment", "basket"):
            family = FAMILIES[name]
            if document := self._ask("GET", ("state", family.collection)).get(id):
                return family, document
        raise UserMistake(f"there is no consent, payment, basket or authorisation {id}")

    def _find_waiting(self, id: str, collection: str) -> str | None:
        """Return the newest unfinished authorisation.

        The authorisation of a payment's cancellation precedes the authorisation of the payment.
        """
        document = self._ask("GET", ("state", collection))[id]
        families = [family for family in FAMILIES.values() if family.collection == collection]
        for family in reversed(families):
            for listed_id in reversed(document.get(family.listed, ())):
                if state_of(AUTHORISATIONS, self._ask("GET", ("sca", listed_id))) not in SCA.final:
                    return str(listed_id)
        return None

    def _send_decision(self, id: str, decision: str) -> Document:
        decided: Document = self._ask("POST", ("sca", id), {"decide": decision})
        return decided


def refuse_to_begin(family: Family, id: str, document: Document) -> None:
    """Raise UserMistake, because only the app can start an authorisation."""
    raise UserMistake(f"the {family.name} {id} has no pending authorisation: start one first")
