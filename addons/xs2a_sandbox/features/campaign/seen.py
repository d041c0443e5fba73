"""The bank's view of a run: the calls in order, and the resulting payments."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from xs2a_sandbox.bank.domain.documents import changed_state_of, intent_of
from xs2a_sandbox.cassette.index import Index, Lookup
from xs2a_sandbox.cassette.things import Act, SentMessage, Things
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.control.shapes import CallbackShape, Document, ExchangeShape, ExchangeSummary
from xs2a_sandbox.http import Headers, Request, to_json
from xs2a_sandbox.http.target import split_target

MOST_CALLS = 10_000
_CANCELLED, _REJECTED = "CANC", "RJCT"


class SeenCall:
    """A request for an operation. The whole exchange is fetched at first use."""

    def __init__(self, client: Client, summary: ExchangeSummary, session: str, index: Index) -> None:
        self._client = client
        self._index = index
        self.number = summary["number"]
        self.operation = summary["operation"] or "nothing"
        self.method = summary["method"]
        target = summary["target"].removeprefix(f"/s/{session}")
        self.target = target
        self.path = target.partition("?")[0]
        self.status = summary["status"]
        self.time = summary["time"]
        self.began = datetime.fromisoformat(self.time)
        self.ended = self.began + timedelta(milliseconds=summary["milliseconds"])

    @property
    def is_read(self) -> bool:
        """Whether the call changes nothing."""
        return self._lookup.is_read(self.method)

    @cached_property
    def whole(self) -> ExchangeShape:
        return self._client.exchange(self.number, plain=True)

    def header(self, name: str) -> str | None:
        """Return a header of the request."""
        return _header(self.whole["request"]["headers"], name)

    @property
    def retry_after(self) -> float | None:
        """The seconds that the answer asks to wait."""
        if self.status not in (429, 503):
            return None
        value = _header(self.whole["answer"]["headers"], "retry-after")
        return float(value) if value and value.isdigit() else None

    @property
    def answer(self) -> Any:
        """The JSON of the answer, or None if it has none."""
        return self.whole["answer"].get("body")

    @cached_property
    def consent(self) -> str | None:
        """The id of the consent that gives access to the call's subject."""
        if self.does and "consent" in self.does.about:
            return None
        return self._client.explain_exchange(self.number, plain=True)["consent"]

    @property
    def does(self) -> Act | None:
        """What the operation does, if it is known."""
        operation = self._lookup.operation
        return operation.does if operation else None

    @property
    def has_customer(self) -> bool:
        return self._things.has_customer(self._sent)

    @property
    def _lookup(self) -> Lookup:
        return self._index.find(self.method, split_target(self.target).segments)

    @property
    def _things(self) -> Things:
        return self._index.interface.things

    @cached_property
    def _sent(self) -> SentMessage:
        sent = self.whole["request"]
        body = to_json(sent["body"]) if "body" in sent else sent.get("text", "").encode()
        request = Request(self.method, self.target, Headers((name, value) for name, value in sent["headers"]), body)
        return SentMessage(request, self._lookup.parameters)


def _header(headers: Sequence[Sequence[str]], name: str) -> str | None:
    return next((value for header, value in headers if header.lower() == name), None)


@dataclass(frozen=True, slots=True)
class Payments:
    """The numbers of payments by intent: those that were not cancelled, and the rejected ones among them."""

    made: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, payments: Iterable[Document]) -> "Payments":
        states = [(changed_state_of("payments", payment), payment) for payment in payments]
        return cls(
            _intents(payment for state, payment in states if state != _CANCELLED),
            _intents(payment for state, payment in states if state == _REJECTED),
        )


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that the bank has seen of a run.

    `payments` are those of the run. `all_payments` are those of the session after the run, because the run may have
    cancelled an earlier one. If it `is_cut`, there were more calls.
    """

    calls: tuple[SeenCall, ...]
    payments: Payments = field(default_factory=Payments)
    all_payments: Payments = field(default_factory=Payments)
    is_cut: bool = False
    callbacks: tuple[CallbackShape, ...] = ()
    """The bank's requests to the app in the session, oldest first."""

    def of(self, operation: str) -> Iterator[SeenCall]:
        return (call for call in self.calls if call.operation == operation)

    @property
    def counts(self) -> Counter[str]:
        return Counter(call.operation for call in self.calls)

    @property
    def paths(self) -> frozenset[tuple[str, str]]:
        """The operations with the paths at which they were called."""
        return frozenset((call.operation, call.path) for call in self.calls)


def last_number(client: Client) -> int:
    """Return the number of the sandbox's last exchange, in any session."""
    exchanges = replace(client, session=None).journal(limit=1)["exchanges"]
    return exchanges[-1]["number"] if exchanges else 0


def look(
    client: Client,
    index: Index,
    session: str,
    since: int,
    earlier_payments: frozenset[str],
    test_data: frozenset[str] = frozenset(),
) -> Seen:
    """Return what the bank has seen after the exchange `since`. Raises UserMistake.

    Its payments are those not in `earlier_payments`; the session's payments are those not in `test_data`.
    """
    journal = client.journal(session=session, since=since, limit=MOST_CALLS)
    calls = tuple(
        SeenCall(client, exchange, session, index) for exchange in journal["exchanges"] if not exchange["cause"]
    )
    payments = client.collection("payments")
    made, made_in_session = (
        Payments.of(payment for id, payment in payments.items() if id not in before)
        for before in (earlier_payments, test_data)
    )
    return Seen(calls, made, made_in_session, _is_cut(client, since), tuple(client.callbacks()["callbacks"]))


def _is_cut(client: Client, since: int) -> bool:
    """Return whether the journal has dropped exchanges after the one of this number.

    The numbers of several workers are not consecutive, so they are no help.
    """
    newer = replace(client, session=None).journal(since=since, limit=1 if since else MOST_CALLS)
    if newer["found"] < newer["kept"]:
        return False
    if since:
        return newer["found"] > 0
    numbers = [exchange["number"] for exchange in newer["exchanges"]]
    return len(numbers) > 1 and numbers[0] > 1 and numbers[-1] - numbers[0] < len(numbers)


def payment_ids(client: Client) -> frozenset[str]:
    return frozenset(client.collection("payments"))


def _intents(payments: Iterable[Document]) -> Counter[str]:
    return Counter(map(intent_of, payments))
