"""The options of handlers that a recording shows: approach, attempts, ids, and what becomes of payments."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from xs2a_sandbox.bank.domain.lifecycle import EXECUTED
from xs2a_sandbox.bank.handlers.approaches import HABITS
from xs2a_sandbox.bank.handlers.ids import form_of
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.evaluation.id_form import UUID
from xs2a_sandbox.features.derive.learning.changes import READS
from xs2a_sandbox.features.derive.learning.courses import StateSequences
from xs2a_sandbox.features.derive.learning.recognised_exchange import RecognisedExchange

_MAKERS = {
    "consentId": ("consents.create", "ids"),
    "paymentId": ("payments.initiate", "ids"),
    "basketId": ("baskets.create", "ids"),
    "authorisationId": ("authorisations.start", "authorisation_ids"),
}
"""The handler that gives out each id, and its option for their form."""
_STEPS = {
    "redirect": ("scaRedirect", "scaOAuth"),
    "embedded": (
        *("updatePsuAuthentication", "startAuthorisationWithPsuAuthentication", "selectAuthenticationMethod"),
        *("startAuthorisationWithAuthenticationMethodSelection", "authoriseTransaction"),
    ),
    "decoupled": (),
}
"""Links by the approach in which they lead on."""


@dataclass(slots=True)
class LearnedOptions:
    """`options` by the handler's name, each with the places that show them; `unknown` is what could not be learned."""

    options: dict[str, tuple[dict[str, Any], list[str]]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)

    def add(self, handler: str, option: str, value: Any, places: Sequence[str]) -> None:
        values, evidence = self.options.get(handler, ({}, []))
        self.options[handler] = {**values, option: value}, [*evidence, *places]


def learn_options(
    exchanges: Sequence[RecognisedExchange], interface: Interface, courses: StateSequences
) -> LearnedOptions:
    """The options that are otherwise than in the documented dialect."""
    learned = LearnedOptions()
    _learn_approach(learned, exchanges, interface)
    _learn_attempts(learned, exchanges, interface)
    if any(_find_usual(interface, "consents.create", "reuse")):
        # What is recorded is one bank's own: no consent stands ready for requests that name an account.
        learned.add("consents.create", "reuse", False, [])
    gone = _answers_after_delete(exchanges)
    if gone and any(_find_usual(interface, "consents.delete", "keeps")) != gone[0].succeeded:
        learned.add("consents.delete", "keeps", gone[0].succeeded, [exchange.place for exchange in gone])
    _learn_one_off(learned, exchanges, interface)
    if stayed := list(_find_valid_beside_newer(exchanges)):
        learned.add("consents.create", "ends_older", False, stayed)
    ends = {word: places for word, places in courses.find_last("payment").items() if EXECUTED.get(word)}
    if ends and not courses.tells("payment", "ACSP"):
        word = max(ends, key=lambda end: len(ends[end]))
        learned.add("payments.initiate", "executed", word, ends[word])
    _learn_ids(learned, exchanges)
    return learned


def _find_usual(interface: Interface, handler: str, option: str) -> set[Any]:
    """Returns the values of an option that the documented dialect gives the operations with this handler."""
    behaviours = (operation.behaviour for operation in interface.operations.values())
    return {(behaviour.options or {}).get(option) for behaviour in behaviours if behaviour.handler == handler}


def _learn_approach(learned: LearnedOptions, exchanges: Sequence[RecognisedExchange], interface: Interface) -> None:
    approaches = [(approach, exchange.place) for exchange in exchanges if (approach := _approach(exchange))]
    if not approaches:
        return
    (most, _), *others = Counter(approach for approach, _ in approaches).most_common()
    places = [place for approach, place in approaches if approach == most]
    if most == "redirect" and any(_shows(exchange, "scaOAuth") for exchange in exchanges):
        learned.add("authorisations.start", "sca", "oauth", places)
    elif _find_usual(interface, "authorisations.start", "sca") - {most, None}:
        learned.add("authorisations.start", "sca", most, places)
    learned.unknown += [f"the approach {other} was seen as well, {number} ×" for other, number in others]


def _approach(exchange: RecognisedExchange) -> str | None:
    """The approach that an answer shows, where the request has no wish of its own."""
    if (
        not exchange.succeeded
        or exchange.entry.method != "POST"
        or exchange.entry.headers.get("TPP-Redirect-Preferred")
    ):
        return None
    header = (exchange.entry.answer_headers.get("ASPSP-SCA-Approach") or "").lower()
    if header in _STEPS:
        return header
    links = exchange.answer.get("_links") if isinstance(exchange.answer, dict) else None
    names = links if isinstance(links, dict) else {}
    return next((approach for approach, steps in _STEPS.items() if any(step in names for step in steps)), None)


def _shows(exchange: RecognisedExchange, link: str) -> bool:
    return (
        isinstance(exchange.answer, dict)
        and isinstance(exchange.answer.get("_links"), dict)
        and link in exchange.answer["_links"]
    )


def _learn_attempts(learned: LearnedOptions, exchanges: Sequence[RecognisedExchange], interface: Interface) -> None:
    """How many wrong passwords and codes there may be: those before an authorisation was told to have failed."""
    failed = list(_find_failed(exchanges))
    if not failed:
        return
    (most, _), *_ = Counter(number for number, _ in failed).most_common()
    usual = {
        attempts or HABITS["attempts"].default
        for attempts in _find_usual(interface, "authorisations.start", "attempts")
    }
    if usual != {most}:
        learned.add("authorisations.start", "attempts", most, [place for number, place in failed if number == most])


def _find_failed(exchanges: Sequence[RecognisedExchange]) -> Iterator[tuple[int, str]]:
    """How many wrong passwords and codes each authorisation had that has failed, and the place that tells it."""
    wrong: Counter[str] = Counter()
    for exchange in exchanges:
        id = exchange.parameters.get("authorisationId", "")
        if id and exchange.entry.method == "PUT":
            wrong[id] = 0 if exchange.succeeded else wrong[id] + 1
        if wrong[id] and isinstance(exchange.answer, dict) and exchange.answer.get("scaStatus") == "failed":
            yield wrong.pop(id), exchange.place


def _learn_ids(learned: LearnedOptions, exchanges: Sequence[RecognisedExchange]) -> None:
    """The forms of the ids that the bank has given out."""
    for name, (handler, option) in _MAKERS.items():
        makers = {exchange.made[name]: exchange.place for exchange in exchanges if name in exchange.made}
        if not makers:
            continue
        form = form_of(makers)
        if form is None:
            learned.unknown.append(f"the form of {name}, such as {next(iter(makers))}: UUIDs are made")
        elif form != UUID:
            learned.add(handler, option, form, list(makers.values()))


def _learn_one_off(learned: LearnedOptions, exchanges: Sequence[RecognisedExchange], interface: Interface) -> None:
    """Tells whether a consent that is not recurring lets an address be read more than once."""
    makers = [
        exchange
        for exchange in exchanges
        if isinstance(exchange.body, dict) and exchange.body.get("recurringIndicator") is False
    ]
    one_off = {maker.made["consentId"] for maker in makers if "consentId" in maker.made}
    read: set[tuple[str, str]] = set()
    again = []
    for exchange in exchanges:
        consent, handler = (
            exchange.entry.headers.get("Consent-ID") or "",
            exchange.operation and exchange.operation.behaviour.handler,
        )
        if consent in one_off and (handler or "").startswith(READS):
            if (consent, exchange.request) in read:
                again.append(exchange)
            if exchange.succeeded:
                read.add((consent, exchange.request))
    for handler in (
        sorted(_one_off_handlers(interface)) if again and all(exchange.succeeded for exchange in again) else ()
    ):
        learned.add(handler, "one_off", False, [exchange.place for exchange in again])


def _find_valid_beside_newer(exchanges: Sequence[RecognisedExchange]) -> Iterator[str]:
    """The places that tell a recurring consent to be valid after a newer one of the same customer has been."""
    made: dict[str, str | None] = {}
    valid: set[str] = set()
    for exchange in exchanges:
        if (
            isinstance(exchange.body, dict)
            and exchange.body.get("recurringIndicator") is True
            and "consentId" in exchange.made
        ):
            made[exchange.made["consentId"]] = exchange.entry.headers.get("PSU-ID")
        id = exchange.parameters.get("consentId", "")
        if (
            id in made
            and exchange.succeeded
            and isinstance(exchange.answer, dict)
            and exchange.answer.get("consentStatus") == "valid"
        ):
            ids = list(made)
            if any(newer in valid and made[newer] == made[id] for newer in ids[ids.index(id) + 1 :]):
                yield exchange.place
            valid.add(id)


def _one_off_handlers(interface: Interface) -> set[str]:
    behaviours = [operation.behaviour for operation in interface.operations.values()]
    return {
        behaviour.handler for behaviour in behaviours if behaviour.handler and (behaviour.options or {}).get("one_off")
    }


def _answers_after_delete(exchanges: Sequence[RecognisedExchange]) -> list[RecognisedExchange]:
    """The answers to questions for consents that had been deleted."""
    deleted: set[str] = set()
    after = []
    for exchange in exchanges:
        id = exchange.parameters.get("consentId", "")
        if exchange.operation and exchange.operation.behaviour.handler == "consents.status" and id in deleted:
            after.append(exchange)
        if exchange.entry.method == "DELETE" and exchange.succeeded:
            deleted.add(id)
    return after
