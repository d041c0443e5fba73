"""Plays a recording against an existing dialect, and reports the requests that it answers differently."""

from collections.abc import Iterator
from dataclasses import dataclass

from xs2a_sandbox.bank.loading import read
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.config import Settings
from xs2a_sandbox.features.derive.learning.courses import courses
from xs2a_sandbox.features.derive.learning.documented_states import documented_states
from xs2a_sandbox.features.derive.learning.recognised_exchange import recognise_exchanges
from xs2a_sandbox.features.derive.rehearsal import Rehearsed, rehearse, require_answers
from xs2a_sandbox.features.derive.unknown.learned_dialect import find_state_members
from xs2a_sandbox.features.derive.unknown.recorded.restored import restore
from xs2a_sandbox.features.derive.unknown.recorded.seen import see
from xs2a_sandbox.features.derive.unknown.tried.trial import try_dialect
from xs2a_sandbox.recording.tape import Tape
from xs2a_sandbox.wording import say_count


@dataclass(frozen=True, slots=True)
class CheckedDialect:
    """The answers of a dialect to the requests of a recording, each with its place in a file."""

    name: str
    outcomes: tuple[tuple[str, Rehearsed], ...]

    @property
    def wrong(self) -> tuple[tuple[str, Rehearsed], ...]:
        return tuple((place, outcome) for place, outcome in self.outcomes if outcome.unlike)


def check_dialect(settings: Settings, tape: Tape) -> CheckedDialect:
    """Send the requests of the recording to the dialect of the settings, with the ids that it makes itself.

    Raises ConfigError or Unreadable.
    """
    require_answers(tape)
    files = read(settings)
    interface, data = files.require_all()
    if _has_handlers(interface):
        exchanges = recognise_exchanges(tape.places, tape.entries, interface)
        outcomes = rehearse(
            tape.entries, interface, files.schemas, data, courses(exchanges, *documented_states(interface))
        )
        places = list(tape.places)
    else:
        tape = restore(tape)
        seen = see(tape)
        entries = [entry for entry in tape.entries if not entry.cut]
        outcomes = try_dialect(entries, seen, interface, files.schemas, find_state_members(tape))
        places = [one.place for one in seen]
    return CheckedDialect(interface.dialect, tuple(zip(places, outcomes, strict=True)))


def _has_handlers(interface: Interface) -> bool:
    """Return whether the sandbox has the bank's accounts and states. A dialect learned from a recording has its own."""
    return any(operation.behaviour.handler for operation in interface.operations.values())


def report_lines(checked: CheckedDialect) -> Iterator[str]:
    """Yield the result as lines for a terminal."""
    for place, outcome in checked.wrong:
        yield f"{place}: {outcome.recorded.method} {outcome.recorded.target.partition('?')[0]}"
        yield from (f"  {difference}" for difference in outcome.unlike)
    number = len(checked.outcomes)
    right = number - len(checked.wrong)
    yield f"{right} of {say_count(number, 'request')} get the recorded answer from the dialect {checked.name}"
