"""Learns the options of handlers from a recording: approach, attempts, ids, and what happens to payments."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xs2a_sandbox.bank.domain.lifecycle import EXECUTED
from xs2a_sandbox.bank.handlers.approaches import APPROACHES, DEFAULTS, OAUTH, REDIRECT
from xs2a_sandbox.bank.handlers.ids import form_of
from xs2a_sandbox.bank.handlers.inputs import read_truth
from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.dialect import shapes
from xs2a_sandbox.cassette.evaluation.id_form import UUID
from xs2a_sandbox.features.derive.learning.answer_template import find_step
from xs2a_sandbox.features.derive.learning.changes import reads_data
from xs2a_sandbox.features.derive.learning.courses import StateSequences
from xs2a_sandbox.features.derive.learning.plain_template import expand
from xs2a_sandbox.features.derive.learning.recognised_exchange import RecognisedExchange

_IDS = "ids"
"""The option for the form of created ids."""
_LEADING = {
    "redirect": REDIRECT,
    "oauth": OAUTH,
    **dict.fromkeys(("authenticate", "start-authenticated", "choose-method", "answer-challenge"), "embedded"),
}
"""The approach in which a step is possible, if there is only one."""
_APPROACH = "result.approach"


@dataclass(slots=True)
class LearnedOptions:
    """`options` by the handler's name, each with its evidence, and those of the section `authorisation`.

    `unknown` is what could not be learned.
    """

    options: dict[str, tuple[dict[str, Any], list[str]]] = field(default_factory=dict)
    authorisation: tuple[dict[str, Any], list[str]] = field(default_factory=lambda: ({}, []))
    unknown: list[str] = field(default_factory=list)

    def add(self, handler: str, option: str, value: Any, places: Sequence[str]) -> None:
        values, evidence = self.options.get(handler, ({}, []))
        self.options[handler] = {**values, option: value}, [*evidence, *places]

    def add_to_authorisation(self, option: str, value: Any, places: Sequence[str]) -> None:
        values, evidence = self.authorisation
        self.authorisation = {**values, option: value}, [*evidence, *places]


def learn_options(
    exchanges: Sequence[RecognisedExchange], interface: Interface, courses: StateSequences
) -> LearnedOptions:
    """Return the options that differ from the documented dialect."""
    learned = LearnedOptions()
    _learn_approach(learned, exchanges, interface)
    _learn_attempts(learned, exchanges, interface)
    if any(_find_usual(interface, "consents.create", "reuse")):
        # The recording is of one bank, so there are no preconfigured consents for requests that name an account.
        learned.add("consents.create", "reuse", False, [])
    gone = _answers_after_end(exchanges)
    if gone and any(_find_usual(interface, "consents.delete", "keeps")) != gone[0].succeeded:
        learned.add("consents.delete", "keeps", gone[0].succeeded, [exchange.place for exchange in gone])
    _learn_one_off(learned, exchanges, interface)
    if stayed := list(_find_valid_beside_newer(exchanges)):
        learned.add("consents.create", "ends_older", False, stayed)
    words = courses.find_last("payment").items()
    ends = {state: places for word, places in words if EXECUTED.get(state := interface.states.state("payment", word))}
    if ends and not courses.tells("payment", str(interface.states.word("payment", "ACSP"))):
        state = max(ends, key=lambda end: len(ends[end]))
        learned.add("payments.initiate", "executed", state, ends[state])
    _learn_ids(learned, exchanges, interface)
    return learned


def _find_usual(interface: Interface, handler: str, option: str) -> set[Any]:
    """Return the values of an option for operations with this handler in the documented dialect."""
    behaviours = (operation.behaviour for operation in interface.operations.values())
    return {(behaviour.options or {}).get(option) for behaviour in behaviours if behaviour.handler == handler}


def _find_usual_habit(interface: Interface, option: str) -> set[Any]:
    """Return the values of an option for authorisations that TPPs start in the documented dialect."""
    families = interface.authorisation.of.items()
    return {family.options.get(option, DEFAULTS[option]) for name, family in families if name != "login"}


def _learn_approach(learned: LearnedOptions, exchanges: Sequence[RecognisedExchange], interface: Interface) -> None:
    signs = _Signs.of(interface)
    approaches = [(approach, exchange.place) for exchange in exchanges if (approach := _approach(exchange, signs))]
    if not approaches:
        return
    (most, _), *others = Counter(approach for approach, _ in approaches).most_common()
    places = [place for approach, place in approaches if approach == most]
    if most == REDIRECT and any(OAUTH in signs.shown(exchange) for exchange in exchanges):
        learned.add_to_authorisation("sca", OAUTH, places)
    elif _find_usual_habit(interface, "sca") - {most}:
        learned.add_to_authorisation("sca", most, places)
    learned.unknown += [f"the approach {other} was seen as well, {number} ×" for other, number in others]


@dataclass(frozen=True, slots=True)
class _Signs:
    """The signs of an approach in a dialect's answers: headers that name it, and links to its steps."""

    headers: frozenset[str]
    links: Mapping[str, str]

    @classmethod
    def of(cls, interface: Interface) -> "_Signs":
        named = shapes.templates(interface.sections)
        written = [operation.origin.written.get("respond", {}) for operation in interface.operations.values()]
        answers = [spec for one in written for spec in (one if isinstance(one, list) else [one])]
        headers = (item for spec in answers for item in spec.get("headers", {}).items())
        links = dict.fromkeys(interface.things.pages, REDIRECT)
        links |= dict(_find_leading(expand([spec.get("body") for spec in answers], named)))
        return cls(frozenset(name for name, text in headers if _APPROACH in str(text)), links)

    def shown(self, exchange: RecognisedExchange) -> list[str]:
        """Return the approaches to which links in the answer belong."""
        return [self.links[name] for name in _find_members(exchange.answer) if name in self.links]


def _find_leading(template: Any) -> Iterator[tuple[str, str]]:
    """Yield the links to steps, and the approach in which these are possible."""
    if isinstance(template, list):
        for part in template:
            yield from _find_leading(part)
    for name, part in template.items() if isinstance(template, dict) else ():
        if isinstance(part, str):
            if (step := find_step(part)) in _LEADING:
                yield name.removesuffix("?"), _LEADING[str(step)]
        else:
            yield from _find_leading(part)


def _find_members(value: Any) -> Iterator[str]:
    """Yield the members of objects within an object, without those in lists."""
    for name, part in value.items() if isinstance(value, dict) else ():
        yield name
        yield from _find_members(part)


def _approach(exchange: RecognisedExchange, signs: _Signs) -> str | None:
    """Return the approach that an answer shows if the request has not asked for one."""
    creates = exchange.does and exchange.does.verb == "create"
    if not exchange.succeeded or not creates or exchange.take("prefers_redirect"):
        return None
    for name in signs.headers:
        if (said := (exchange.entry.answer_headers.get(name) or "").lower()) in APPROACHES:
            return said
    shown = set(signs.shown(exchange))
    return REDIRECT if shown & {REDIRECT, OAUTH} else next(iter(shown), None)


def _learn_attempts(learned: LearnedOptions, exchanges: Sequence[RecognisedExchange], interface: Interface) -> None:
    """Learn how many wrong passwords and codes are allowed, from those before an authorisation failed."""
    failed = list(_find_failed(exchanges))
    if not failed:
        return
    (most, _), *_ = Counter(number for number, _ in failed).most_common()
    if _find_usual_habit(interface, "attempts") != {most}:
        learned.add_to_authorisation("attempts", most, [place for number, place in failed if number == most])


def _find_failed(exchanges: Sequence[RecognisedExchange]) -> Iterator[tuple[int, str]]:
    """Yield the number of wrong passwords and codes of each failed authorisation, and the place that shows it."""
    wrong: Counter[str] = Counter()
    for exchange in exchanges:
        id = exchange.id_about("authorisation")
        if id and exchange.does and exchange.does.verb == "decide":
            wrong[id] = 0 if exchange.succeeded else wrong[id] + 1
        if wrong[id] and exchange.state("authorisation") == "failed":
            yield wrong.pop(id), exchange.place


def _learn_ids(learned: LearnedOptions, exchanges: Sequence[RecognisedExchange], interface: Interface) -> None:
    """Learn the forms of the bank's ids."""
    for thing in interface.things.namings:
        makers = {exchange.made[thing]: exchange.place for exchange in exchanges if thing in exchange.made}
        handlers = _find_makers(interface, thing)
        if not makers or not (handlers or thing == "authorisation"):
            continue
        form = form_of(makers)
        if form is None:
            learned.unknown.append(
                f"the form of the ids of a {thing}, such as {next(iter(makers))}, is unknown: the dialect creates UUIDs"
            )
        elif form != UUID and thing == "authorisation":
            learned.add_to_authorisation("authorisation_ids", form, list(makers.values()))
        elif form != UUID:
            for handler in handlers:
                learned.add(handler, _IDS, form, list(makers.values()))


def _find_makers(interface: Interface, thing: str) -> list[str]:
    """Return the handlers that create such things and have an option for the form of ids."""
    handlers = collect_handlers()
    makers = {
        operation.behaviour.handler or ""
        for operation in interface.operations.values()
        if operation.does and (operation.does.verb, operation.does.thing) == ("create", thing)
    }
    return sorted(name for name in makers if name in handlers and _IDS in handlers[name].options)


def _learn_one_off(learned: LearnedOptions, exchanges: Sequence[RecognisedExchange], interface: Interface) -> None:
    """Learn whether a consent that is not recurring allows an address to be read more than once."""
    makers = [exchange for exchange in exchanges if "consent" in exchange.made]
    one_off = {maker.made["consent"] for maker in makers if read_truth(maker.take("recurring")) is False}
    read: set[tuple[str, str]] = set()
    again = []
    for exchange in exchanges:
        consent = exchange.asked.consent or ""
        if consent in one_off and reads_data(exchange.operation):
            if (consent, exchange.request) in read:
                again.append(exchange)
            if exchange.succeeded:
                read.add((consent, exchange.request))
    for handler in (
        sorted(_one_off_handlers(interface)) if again and all(exchange.succeeded for exchange in again) else ()
    ):
        learned.add(handler, "one_off", False, [exchange.place for exchange in again])


def _find_valid_beside_newer(exchanges: Sequence[RecognisedExchange]) -> Iterator[str]:
    """Yield the places which show that a recurring consent is valid after the same customer got a newer one."""
    made: dict[str, Any] = {}
    valid: set[str] = set()
    for exchange in exchanges:
        if "consent" in exchange.made and read_truth(exchange.take("recurring")):
            made[exchange.made["consent"]] = exchange.take("customer")
        id = exchange.id_about("consent")
        if id in made and exchange.succeeded and exchange.state("consent") == "authorised":
            ids = list(made)
            if any(newer in valid and made[newer] == made[id] for newer in ids[ids.index(id) + 1 :]):
                yield exchange.place
            valid.add(id)


def _one_off_handlers(interface: Interface) -> set[str]:
    behaviours = [operation.behaviour for operation in interface.operations.values()]
    return {
        behaviour.handler for behaviour in behaviours if behaviour.handler and (behaviour.options or {}).get("one_off")
    }


def _answers_after_end(exchanges: Sequence[RecognisedExchange]) -> list[RecognisedExchange]:
    """Return the answers to requests for the states of deleted consents."""
    ended: set[str] = set()
    after = []
    for exchange in exchanges:
        does, id = exchange.does, exchange.id_about("consent")
        if does and (does.verb, does.thing, does.of) == ("read", "state", "consent") and id in ended:
            after.append(exchange)
        if does and does.verb == "end" and exchange.succeeded:
            ended.add(id)
    return after
