"""Tries a dialect on a recording: sends it the recorded requests, and compares its answers with the bank's."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.clock import REAL, Clock
from xs2a_sandbox.compare import steps
from xs2a_sandbox.compare.comparison import Compared, Comparison
from xs2a_sandbox.compare.difference import Difference
from xs2a_sandbox.compare.states import Move, ReportedState
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.formats import is_date_time
from xs2a_sandbox.documents.json_pointer import at_pointer
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.features.derive.learning.courses import StateSequences
from xs2a_sandbox.features.derive.rehearsed_tokens import RehearsedTokens
from xs2a_sandbox.http import Request, Response, body
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.recording.tape import Tape
from xs2a_sandbox.state import MemoryStore

_log = logging.getLogger("xs2a_sandbox")


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """A recorded exchange, and the dialect's answer, with the name of the error, if it raised one.

    `answer` is None if the request could not be sent; `unlike` describes the differences; `is_same` means that there
    are none except for ids and times.
    """

    recorded: Exchange
    answer: Exchange | None
    error: str | None
    unlike: tuple[str, ...]
    is_same: bool = False


def require_answers(tape: Tape) -> None:
    """Check that the recording has an answer to compare with. Raises ConfigError."""
    if not tape.entries:
        raise ConfigError(f"the recording {tape.path} is empty")
    if all(entry.cut for entry in tape.entries):
        text = "no answer in it has its whole body. Record again, or export the HAR with its content"
        raise ConfigError(f"nothing can be learned from the recording {tape.path}: {text}")


@lru_cache(4)
def read_dialect(text: str, schemas: Schemas) -> Interface:
    """Return the dialect with this content. Raises Unreadable."""
    with TemporaryDirectory() as directory:
        folder = Path(directory) / "derived"
        folder.mkdir()
        (folder / "dialect.yaml").write_text(text, encoding="utf-8")
        return layers.read([[folder]], schemas, collect_handlers())


def rehearse(
    entries: Sequence[Exchange],
    interface: Interface,
    schemas: Schemas,
    data: TestData,
    courses: StateSequences,
    step_done: Callable[[], None] = lambda: None,
) -> list[Rehearsed]:
    """Send the recorded requests in order, with the dialect's own ids and the customer's decisions.

    `step_done` is called after each request.
    """
    clock = Clock(frozen=entries[0].time) if entries else REAL
    log_entries: list[LogEntry] = []
    banks, admin_token = Banks(Bank(interface, schemas, diagnose=False)), token_hex(8)
    engine = Engine(
        Parts(banks, MemoryStore(), data, USUAL, clock, on_exchange=log_entries.append, admin_token=admin_token)
    )
    tokens = RehearsedTokens(engine, admin_token)
    recorded: Exchange | None = None

    async def ask(request: Request) -> Response:
        log_entries.clear()
        return await tokens.ask(request, recorded) if recorded else await engine.answer(request)

    async def follow(request: Request, state: ReportedState) -> Move | None:
        return await engine.follow(request, replace(state, state=courses.meaning(state.thing, state.state)))

    url = entries[0].bank if entries else ""
    comparison = Comparison(
        interface, schemas, ask, None, follow=follow, bank_url=url, sandbox_url=engine.parts.public_url
    )

    async def play() -> list[Rehearsed]:
        rehearsed = []
        nonlocal recorded
        for step in steps.of_entries(entries):
            recorded = step.recorded
            log_entries.clear()
            compared = await comparison.step(step)
            answer = compared.sandbox
            unlike: tuple[str, ...] = (str(compared.trouble),)
            if answer and step.recorded:
                unlike = tuple(differences(step.recorded, answer, interface.things.states))
            if step.recorded:
                error = log_entries[-1].error if log_entries else None
                rehearsed.append(Rehearsed(step.recorded, answer, error, unlike, _is_same(compared)))
            step_done()
        return rehearsed

    with without_tracebacks():
        return asyncio.run(play())


def _is_same(compared: Compared) -> bool:
    """Return whether the answers are the same except for times, because the clock of a rehearsal stands still."""
    if compared.bank is None or compared.sandbox is None or compared.verdict != "differs":
        return compared.verdict == "same"
    mine, ours = (body.read(side.answer_body).value for side in (compared.bank, compared.sandbox))

    def is_time(difference: Difference) -> bool:
        places = (mine, difference.bank_place), (ours, difference.place)
        found = [one for value, place in places for one in at_pointer(value, [*map(str, place)])]
        return difference.kind == "value" and all(isinstance(one, str) and is_date_time(one) for one in found)

    return all(map(is_time, compared.differences))


@contextmanager
def without_tracebacks() -> Iterator[None]:
    """Do not log tracebacks, because the result already reports the failure of a draft."""

    def is_told(record: logging.LogRecord) -> bool:
        return not record.exc_info

    _log.addFilter(is_told)
    try:
        yield
    finally:
        _log.removeFilter(is_told)


def differences(recorded: Exchange, answer: Exchange, states: Collection[str]) -> Iterator[str]:
    """Yield the differences in words: the status, members or their types, a state, the code of an error.

    `states` are the members with a state.
    """
    if recorded.status != answer.status:
        yield f"{answer.status} instead of {recorded.status}"
        return
    if recorded.answer_body == answer.answer_body:
        return
    mine, ours = body.read(recorded.answer_body), body.read(answer.answer_body)
    if mine.kind != ours.kind:
        yield f"{ours.kind} instead of {mine.kind}"
        return
    if mine.kind != "json":
        return
    before, after = dict(shape(mine.value, states)), dict(shape(ours.value, states))
    yield from (f"{place} is missing" for place in sorted(before.keys() - after.keys()))
    yield from (f"{place} is new" for place in sorted(after.keys() - before.keys()))
    for place in sorted(before.keys() & after.keys()):
        if before[place] != after[place]:
            yield f"{place} is {' or '.join(sorted(after[place]))} instead of {' or '.join(sorted(before[place]))}"


def shape(value: Any, states: Collection[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the types of all values by place, which entries of a list share.

    For states and codes, the values themselves.
    """
    kinds: defaultdict[str, set[str]] = defaultdict(set)
    _add_shape(value, {*states, "code"}, "", "", kinds)
    return iter([(where, frozenset(ones)) for where, ones in kinds.items()])


_KINDS = {type(None): "null", bool: "true or false", int: "a number", Decimal: "a number", float: "a number"}


def _add_shape(value: Any, words: Collection[str], place: str, name: str, kinds: defaultdict[str, set[str]]) -> None:
    if isinstance(value, dict):
        kinds[place or "the body"].add("an object")
        for key, inner in value.items():
            _add_shape(inner, words, f"{place}/{key}", key, kinds)
    elif isinstance(value, list):
        kinds[place or "the body"].add("a list")
        for inner in value:
            _add_shape(inner, words, f"{place}/*", name, kinds)
    elif isinstance(value, str):
        kinds[place].add(value if name in words else "text")
    else:
        kinds[place].add(_KINDS.get(type(value), "text"))
