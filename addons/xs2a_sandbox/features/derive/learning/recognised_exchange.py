"""Recognises the operation of each recorded request in a documented dialect, and which exchange created which id."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xs2a_sandbox.cassette import Interface, Operation
from xs2a_sandbox.cassette.index import Lookup
from xs2a_sandbox.cassette.inputs import InputSource
from xs2a_sandbox.cassette.recognition import SentRequest, find_candidates, find_source, recognise
from xs2a_sandbox.cassette.things import Act
from xs2a_sandbox.compare.states import Asked
from xs2a_sandbox.http import body
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.messages import SAFE_METHODS
from xs2a_sandbox.http.target import split_target


@dataclass(frozen=True, slots=True)
class RecognisedExchange:
    """A recorded exchange with its `place` in the tape.

    `path` is that of the operation at the bank, and `parameters` are its values; the bodies are None if they are not
    JSON. `interface` is the dialect with which it is compared.
    """

    interface: Interface
    place: str
    entry: Exchange
    operation: Operation | None
    path: str
    parameters: Mapping[str, str]
    body: Any
    answer: Any

    @property
    def succeeded(self) -> bool:
        return self.entry.status < 400

    @property
    def request(self) -> str:
        return f"{self.entry.method} {self.entry.target.partition('?')[0]}"

    @property
    def does(self) -> Act | None:
        return self.operation.does if self.operation else None

    @property
    def reads(self) -> bool:
        """Whether it changes nothing. Without an operation, the HTTP method decides."""
        return self.operation.reads if self.operation else self.entry.method in SAFE_METHODS

    @property
    def sent(self) -> SentRequest:
        return SentRequest(self.entry, self.parameters)

    @property
    def asked(self) -> Asked:
        return Asked(self.interface.things, Lookup((), dict(self.parameters), self.operation, ()), self.sent)

    def ids(self, thing: str) -> set[str]:
        """Return the ids by which the request names such a thing."""
        return set(self.interface.things[thing].ids(self.sent))

    def id_about(self, thing: str) -> str:
        """Return the id of the thing if it is the subject of the request, or an empty string."""
        return next(self.interface.things.ids_about(self.asked.lookup, self.sent, thing), "")

    def source(self, input: str) -> InputSource | None:
        return find_source(self.interface, self.operation, input)

    def take(self, input: str) -> Any:
        """Return the value of a handler's input, or None if the request does not have it."""
        return self.sent.take(self.source(input))

    def state(self, thing: str) -> str | None:
        """Return the state of such a thing in the answer, as the domain's state."""
        word = self.interface.things[thing].state_in(self.answer)
        return self.interface.states.state(thing, word) if word else None

    @property
    def made(self) -> dict[str, str]:
        """The ids that the answer assigns, by thing."""
        creates = self.does.verb == "create" if self.does else not self.reads
        if not self.succeeded or not creates:
            return {}
        ids = {name: naming.id_in(self.answer) for name, naming in self.interface.things.namings.items()}
        known = split_target(self.entry.target).segments
        return {name: id for name, id in ids.items() if id and id not in known and id not in self.ids(name)}


def recognise_exchanges(
    places: Sequence[str], entries: Sequence[Exchange], interface: Interface
) -> list[RecognisedExchange]:
    candidates = find_candidates(interface)
    exchanges = []
    for place, entry in zip(places, entries, strict=True):
        operation, path, parameters = recognise(entry.method, entry.target, candidates)
        request, answer = body.read(entry.body), body.read(entry.answer_body)
        exchanges.append(
            RecognisedExchange(
                interface,
                place,
                entry,
                operation,
                path,
                parameters,
                request.value if request.kind == "json" else None,
                answer.value if answer.kind == "json" else None,
            )
        )
    return exchanges
