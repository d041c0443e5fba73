"""The domain's things in an interface: the operations on them, and their places in requests and answers.

Code that needs the subject of a request uses this module, rather than methods, paths or members of one interface.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol
from urllib.parse import parse_qsl

from xs2a_sandbox.documents.json_pointer import at_pointer
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.http import Headers, body

if TYPE_CHECKING:
    from xs2a_sandbox.cassette.index import Lookup

VERBS = ("create", "read", "list", "decide", "end")
"""The verbs for operations on things. `decide` is a step in a customer's decision."""
THINGS = (
    *("consent", "payment", "cancellation", "mandate", "basket", "authorisation", "account", "balance", "entry"),
    *("funds", "payee", "method", "customer", "token", "state"),
)
"""The domain's things.

A cancellation belongs to a payment; a method is one of authentication; a state belongs to a thing.
"""
_READING = frozenset({"read", "list"})
_WHOSE = {"cancellation": "payment"}
"""Things that are identified by the id of another thing."""


class Act(NamedTuple):
    """The verb and the thing of an operation. `of` is the owner of the thing. An empty thing means any."""

    verb: str
    thing: str
    of: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Act":
        """Parse `create consent` or `list entry of account`. Raises ValueError."""
        words = text.split()
        if len(words) not in (2, 4) or words[2:3] not in ([], ["of"]):
            raise ValueError(
                f"it must be a verb and an object, such as `read consent` or `list entry of account`: {text}"
            )
        verb, thing, of = words[0], words[1], words[3] if len(words) > 2 else None
        if verb not in VERBS:
            raise ValueError(f"unknown verb {verb!r}{_hint(verb, VERBS)}")
        for name in (thing, of):
            if name is not None and name not in THINGS:
                raise ValueError(f"unknown object {name!r}{_hint(name, THINGS)}")
        return cls(verb, thing, of)

    @classmethod
    def parse_wide(cls, text: str) -> "Act":
        """Parse the same, or a verb without a thing, which means any thing. Raises ValueError."""
        return cls(text, "") if text in VERBS else cls.parse(text)

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.verb in _READING

    @property
    def about(self) -> frozenset[str]:
        """The things that are its subject, including their owners."""
        things = {self.thing, self.of} - {None}
        return frozenset(str(thing) for thing in things | {_WHOSE.get(str(thing)) for thing in things} if thing)

    def covers(self, other: "Act") -> bool:
        """Return whether it matches the other: `list` and `list entry` cover `list entry of account`."""
        return self.verb == other.verb and self.thing in ("", other.thing) and self.of in (None, other.of)

    def __str__(self) -> str:
        return f"{self.verb} {self.thing}".rstrip() + (f" of {self.of}" if self.of else "")


def _hint(word: str, words: Sequence[str]) -> str:
    return did_you_mean(word, words) or f"; there are {', '.join(words)}"


Part = Literal["path", "query", "headers", "body", "answer"]


class Place(NamedTuple):
    """A place in a request, or in the body of an `answer`. The name of a header is in lower case."""

    part: Part
    steps: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.steps[-1]

    def __str__(self) -> str:
        return ".".join((self.part, *self.steps))


class Sent(Protocol):
    """A request as places read it. Names of headers are in lower case; of several values the first counts."""

    @property
    def path(self) -> Mapping[str, str]: ...
    @property
    def query(self) -> Mapping[str, str]: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body_or_null(self) -> Any: ...


class Message(Protocol):
    """A request or an exchange."""

    @property
    def target(self) -> str: ...
    @property
    def headers(self) -> Headers: ...
    @property
    def body(self) -> bytes: ...


class SentMessage:
    """A request that is not answered here: a recorded one, or one for a real bank."""

    def __init__(self, message: Message, path: Mapping[str, str]) -> None:
        self.path = path
        self._message = message

    @property
    def headers(self) -> Mapping[str, str]:
        return self._message.headers.first

    @cached_property
    def query(self) -> Mapping[str, str]:
        return dict(reversed(parse_qsl(self._message.target.partition("?")[2], keep_blank_values=True)))

    @cached_property
    def body_or_null(self) -> Any:
        content = body.read(self._message.body)
        return content.value if content.kind == "json" else None


@dataclass(frozen=True, slots=True)
class Naming:
    """The places where an interface names one thing and shows its state.

    `sent` and `answered` are the places of its id in requests and answers. In the states `decided` nothing is left for
    the customer to decide; the first of them is the state after everybody has authorised it. `named` are the members of
    bodies that hold its id anywhere; `key` are further members that identify it in a list. `page` are the links to the
    customer's page. If a request has a value at a place of `present`, the customer is present. `telling` are further
    places that distinguish requests.
    """

    name: str
    sent: tuple[Place, ...] = ()
    answered: tuple[Place, ...] = ()
    state: Place | None = None
    decided: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    page: tuple[str, ...] = ()
    present: tuple[Place, ...] = ()
    telling: tuple[Place, ...] = ()

    def ids(self, sent: Sent) -> Iterator[str]:
        """Return the ids by which a request names it."""
        return _texts(self.sent, sent)

    def id_in(self, answer: Any) -> str | None:
        """Return the id that an answer gives it."""
        return next((id for place in self.answered if (id := _text(answer, place.steps))), None)

    def state_in(self, answer: Any) -> str | None:
        return _text(answer, self.state.steps) if self.state else None

    @property
    def authorised(self) -> str | None:
        return self.decided[0] if self.decided else None


def _texts(places: Sequence[Place], sent: Sent) -> Iterator[str]:
    for part, steps in places:
        if part == "path":
            value: Any = sent.path.get(steps[0])
        elif part == "headers":
            value = sent.headers.get(steps[0])
        elif part == "query":
            value = sent.query.get(steps[0])
        else:
            value = _text(sent.body_or_null, steps)
        if value:
            yield value


def _text(value: Any, steps: Sequence[str]) -> str | None:
    text = next(iter(at_pointer(value, steps)), None)
    return text if isinstance(text, str) and text else None


@dataclass(frozen=True)
class Things:
    """The things of an interface, in the order of their definition."""

    namings: Mapping[str, Naming] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Naming:
        return self.namings.get(name) or Naming(name)

    @cached_property
    def with_states(self) -> tuple[Naming, ...]:
        return tuple(naming for naming in self.namings.values() if naming.state)

    @cached_property
    def states(self) -> frozenset[str]:
        """The names of members that hold a state."""
        return frozenset(naming.state.name for naming in self.with_states if naming.state)

    @cached_property
    def answered(self) -> frozenset[str]:
        """The names of members in which answers return a new id."""
        return frozenset(place.name for naming in self.namings.values() for place in naming.answered)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The names of members that identify elements of a list, the best first."""
        ids = [name for naming in self.namings.values() for name in naming.named]
        return tuple(dict.fromkeys([*ids, *(name for naming in self.namings.values() for name in naming.key)]))

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """The names of members that hold identifiers chosen by the bank. Another bank may choose differently."""
        return frozenset(name for naming in self.namings.values() for name in naming.named)

    @cached_property
    def pages(self) -> frozenset[str]:
        """The names of links to pages for people. Each bank has its own pages, and an app only opens them."""
        return frozenset(name for naming in self.namings.values() for name in naming.page)

    def ids_about(self, lookup: "Lookup", sent: Sent, name: str) -> Iterator[str]:
        """Return the ids of a thing that is the subject of a request, without ids that only give access to the subject.

        If an operation does not declare `does`, its subject is everything that its path names.
        """
        does = lookup.operation.does if lookup.operation else None
        if does is None:
            return _texts([place for place in self[name].sent if place.part == "path"], sent)
        return _texts(self[name].sent, sent) if name in does.about else iter(())

    def find_used_consent(self, lookup: "Lookup", sent: Sent) -> str | None:
        """Return the id of the consent that gives a request access to its subject."""
        does = lookup.operation.does if lookup.operation else None
        if does and "consent" in does.about:
            return None
        places = [place for place in self["consent"].sent if does or place.part != "path"]
        return next(_texts(places, sent), None)

    @cached_property
    def _beside_path(self) -> tuple[Place, ...]:
        places = (place for naming in self.namings.values() for place in naming.sent if place.part != "path")
        return tuple(dict.fromkeys(places))

    def ids_beside_path(self, sent: Sent) -> tuple[str, ...]:
        """Return the value at each naming place outside the path. A missing value is an empty string."""
        return tuple([next(_texts((place,), sent), "") for place in self._beside_path])

    def has_customer(self, sent: Sent) -> bool:
        """Return whether the customer is present while the request is made."""
        return any(True for naming in self.namings.values() for _ in _texts(naming.present, sent))
