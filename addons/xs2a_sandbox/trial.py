"""All examples of an interface, tried: each in a session of its own, without the delays that answers ask for."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from xs2a_sandbox.bank import Bank
from xs2a_sandbox.banks import Banks
from xs2a_sandbox.candidate import place_of
from xs2a_sandbox.cassette import Behaviour
from xs2a_sandbox.clock import REAL, Clock
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.example import Example, compare, compose, examples
from xs2a_sandbox.exchange_log import Exchange
from xs2a_sandbox.explanation import missed
from xs2a_sandbox.expression import mismatches
from xs2a_sandbox.interface import Interface
from xs2a_sandbox.messages import Request, Response
from xs2a_sandbox.schema import Schemas
from xs2a_sandbox.store import MemoryStore
from xs2a_sandbox.testdata import TestData


@dataclass(frozen=True, slots=True)
class Trial:
    """An example and what became of it.

    `complaints` say what differs from what it expects; `failure` why the answer could not be written; `mismatches` are
    expressions with why they came out null. Without a request there is no `response` and no `exchange`.
    """

    entry: Example
    complaints: tuple[str, ...]
    response: Response | None = None
    exchange: Exchange | None = None
    failure: str | None = None
    mismatches: tuple[tuple[str, str], ...] = ()


def trials(
    interface: Interface, schemas: Schemas, data: TestData, *, clock: Clock = REAL, static_data: bool = False
) -> list[Trial]:
    banks = Banks(Bank(_undelayed(interface), schemas))
    engine = Engine(banks, MemoryStore(), data, clock=clock, static_data=static_data)
    told: list[Exchange] = []
    engine.on_exchange = told.append

    async def all_of_them() -> list[Trial]:
        return [await _try(engine, told, entry) for entry in examples(interface)]

    return asyncio.run(all_of_them())


async def _try(engine: Engine, told: list[Exchange], entry: Example) -> Trial:
    try:
        request = compose(entry)
    except ValueError as error:
        return Trial(entry, (str(error),))
    with _exceptions() as raised, mismatches() as mismatched:
        response = await engine.answer(request)
    exchange, complaints = told[-1], tuple(compare(entry.expect, response))
    if complaints:
        with _exceptions():
            complaints = tuple(compare(entry.expect, response, _why(engine, entry, request, exchange)))
    # An error that a cassette answers with on purpose keeps the rule's name.
    failed = exchange.error == "internal" and exchange.rule is None
    reason = raised[0] if raised else response.body.decode("utf-8", "replace")
    return Trial(entry, complaints, response, exchange, reason if failed else None, tuple(mismatched))


def _why(engine: Engine, entry: Example, request: Request, exchange: Exchange) -> str:
    """Who has answered, and what kept the example's own rule from it."""
    explained, own = engine.explain(request), entry.owner.id
    if exchange.rule and (by := engine.interface.named(exchange.rule)):
        who = f", answered by {by.id} ({place_of(by)})"
    elif explained.by:
        who = f", refused by {explained.by.candidate.entry.id} ({explained.by.candidate.place})"
    else:
        who = f": {explained.message}"
    reason = missed(explained, own) if exchange.rule != own else None
    return f"{who}; {own} does not answer: {reason}" if reason else who


def _undelayed(interface: Interface) -> Interface:
    def quick(behaviour: Behaviour) -> Behaviour:
        return replace(
            behaviour,
            respond=tuple(replace(answer, delay=None) for answer in behaviour.respond),
            sequence=tuple(replace(answer, delay=None) for answer in behaviour.sequence),
        )

    return replace(
        interface,
        operations={id: replace(one, behaviour=quick(one.behaviour)) for id, one in interface.operations.items()},
        rules=tuple(replace(rule, behaviour=quick(rule.behaviour)) for rule in interface.rules),
    )


@contextmanager
def _exceptions() -> Iterator[list[str]]:
    """What the engine would log of its failures, which here are the cassettes'."""
    raised: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.exc_info and record.exc_info[1]:
                raised.append(str(record.exc_info[1]))

    log, handler = logging.getLogger("xs2a_sandbox"), Handler()
    propagated = log.propagate
    log.addHandler(handler)
    log.propagate = False
    try:
        yield raised
    finally:
        log.propagate = propagated
        log.removeHandler(handler)
