"""A run of `serve`, with its output while it serves and the summary at its end."""

import asyncio
import gc
import logging
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from xs2a_sandbox.bank import loading
from xs2a_sandbox.cli.flags import shorten
from xs2a_sandbox.cli.serve.announcement import announcement, exposure, find_valid_consent, found_state, front_page
from xs2a_sandbox.cli.serve.run_part import RunPart
from xs2a_sandbox.cli.verbosity import Verbosity
from xs2a_sandbox.clock import instant
from xs2a_sandbox.config import Settings, load_settings
from xs2a_sandbox.control.access import read_token
from xs2a_sandbox.control.front_page import Addresses
from xs2a_sandbox.documents import bundled_values
from xs2a_sandbox.doors import serving
from xs2a_sandbox.engine import Engine, build
from xs2a_sandbox.journal import log_line
from xs2a_sandbox.journal.log_batches import Batch, LogBatches
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.journal.log_writer import LogWriter
from xs2a_sandbox.journal.serving_log import ServingLog, standing
from xs2a_sandbox.plugins import plugins
from xs2a_sandbox.state import RemoteStore
from xs2a_sandbox.wording import say_count

if TYPE_CHECKING:
    from xs2a_sandbox.doors.workers.worker import Worker

logger = logging.getLogger("xs2a_sandbox")

_CLEAR_LINE = "\r\x1b[2K"


class ServingRun:
    """One process that serves, or several workers and their supervisor."""

    def __init__(self, flags: Mapping[str, Any], *, redact: bool, verbosity: Verbosity = Verbosity.NORMAL) -> None:
        """Raises UserMistake if the settings or the state cannot be used."""
        self._flags = flags
        self._redact = redact
        self._verbosity = verbosity
        self._settings = load_settings(flags)
        self._state = found_state(self._settings)
        self._consent: str | None = None
        """A valid consent of the test data, for the command to try."""
        self._parts: list[RunPart] = [UnusedRules(self._settings)]
        for make in plugins().collect("run_parts"):
            with _isolated(make):
                self._parts.append(make(self._settings))
        self._output = _Output(self._settings.log_format, self._progress, verbosity)
        self._batches = LogBatches(self._take)
        self._log = ServingLog(self._settings.log_format, self._output.say)
        self._engine: Engine | None = None
        self._worker: Worker | None = None

    def serve(self) -> None:
        """Serve until SIGTERM or ^C, then print the summary."""
        is_one = self._settings.workers == 1
        with standing(self._log):
            results = [self._serve_here()] if is_one else self._supervise()
        with _unhurried():
            for part in self._parts if is_one else ():
                self._note(part, part.end)
            for place, part in enumerate(self._parts):
                self._note(part, partial(part.sum_up, [of_process[place] for of_process in results]))

    def _note(self, part: RunPart, tell: Callable[[], Iterable[str]]) -> None:
        with _isolated(part):
            for line in tell():
                self._log.note(line)

    def _serve_here(self) -> list[Any]:
        """Serve in this process, and return the results of the parts."""
        settings, worker = self._settings, self._worker
        try:
            asyncio.run(
                serving.serve(
                    # The first worker has reset the state. The other workers, and later ones, must keep it.
                    settings if worker is None or worker.is_teller else replace(settings, reset=False),
                    redact=self._redact,
                    again=lambda: load_settings(self._flags),
                    say=self._log.note,
                    built=self._on_built,
                    ready=self._ready,
                    on_exchange=self._add,
                    worker=worker,
                ),
                loop_factory=serving.new_loop,
            )
        finally:
            self._batches.flush()
        return [part.result() for part in self._parts]

    def _supervise(self) -> Sequence[list[Any]]:
        def work(worker: "Worker") -> list[Any]:
            self._worker = worker
            return self._serve_here()

        def show_ready(report: dict[str, Any]) -> None:
            self._consent = report["consent"]
            gc.enable()
            self._announce(supervisor.addresses)

        supervisor = serving.supervisor(self._settings, work)
        return supervisor.run(show_ready)

    def _on_built(self, engine: Engine) -> None:
        self._engine = engine
        if not engine.interface.silent:
            self._consent = find_valid_consent(engine.parts.testdata.at(self._settings.clock.today()))
        self._log.redact = engine.displayed_text
        for part in self._parts:
            with _isolated(part):
                part.begin(engine, self._log.note)
        if self._worker is None or self._worker.is_teller:
            for warning in (*plugins().describe_failures(), *build.warnings(self._settings, engine)):
                self._log.note(warning, level="warning")

    def _ready(self, addresses: Addresses) -> None:
        # Objects that exist now stay alive, so the garbage collector need not traverse them again and again.
        gc.freeze()
        gc.enable()
        if self._engine:
            # Sandboxes on one Redis share their secret, because each accepts the cookies of the others.
            shared = isinstance(self._engine.store, RemoteStore)
            run = "" if shared else self._worker.run if self._worker else secrets.token_hex(16)
            self._engine.use(front_page=front_page(self._settings, addresses, self._consent))
            for part in self._parts:
                with _isolated(part):
                    part.open(self._engine, self._base_url(addresses), run)
        bundled_values.keep()
        if self._worker is None:
            self._announce(addresses)
        else:
            self._worker.report["consent"] = self._consent

    def _announce(self, addresses: Addresses) -> None:
        token = read_token(self._settings.confdir)
        links: dict[str, str] = {}
        for part in self._parts if token else ():
            with _isolated(part):
                links |= part.links(self._base_url(addresses), token or "")
        if exposed := exposure(self._settings):
            logger.warning("%s", exposed)
        if self._verbosity > Verbosity.QUIET:
            places: list[Path] = []
            if self._verbosity is Verbosity.VERBOSE:
                places = [place for layer in loading.layers(self._settings) for place in layer]
            click.echo(
                announcement(
                    self._settings,
                    addresses,
                    self._state,
                    self._consent,
                    links,
                    serving.loop_name(),
                    [str(shorten(place)) for place in places],
                )
            )

    def _base_url(self, addresses: Addresses) -> str:
        return self._settings.public_url or addresses.direct

    def _add(self, exchange: LogEntry) -> None:
        if self._output.is_terminal:
            # At once, because a traceback must follow its line.
            self._take([(exchange, instant())])
        else:
            self._batches.add(exchange)

    def _take(self, batch: Batch) -> None:
        for part in self._parts:
            for exchange, _ in batch:
                try:
                    part.add(exchange)
                except Exception:
                    _log_failure(part)
        if self._verbosity > Verbosity.QUIET:
            self._output.log(batch)

    def _progress(self) -> str | None:
        return next((text for part in self._parts if (text := part.progress())), None)


class Used(NamedTuple):
    """The ids of recorded rules by their places, and the ids of all rules that have answered in a process."""

    recorded: dict[str, str]
    used: set[str]


class UnusedRules(RunPart):
    """Lists the recorded rules that have never answered in any process. Rules with the same id count as one."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._engine: Engine | None = None
        self._used: set[str] = set()

    def begin(self, engine: Engine, say: Callable[[str], None]) -> None:
        self._engine = engine

    def add(self, exchange: LogEntry) -> None:
        if exchange.rule and not exchange.cause:
            self._used.add(exchange.rule)

    def result(self) -> Used:
        banks = self._engine.banks.all if self._engine else ()
        rules = [rule for bank in banks for rule in bank.interface.rules if rule.tape]
        return Used({rule.origin.place: rule.id for rule in rules}, self._used)  # banks may share cassettes

    def sum_up(self, results: Sequence[Used]) -> Iterator[str]:
        recorded = {place: id for process in results for place, id in process.recorded.items()}
        used = set().union(*(process.used for process in results))
        if unused := {place: id for place, id in recorded.items() if id not in used}:
            yield f"{say_count(len(unused), 'recorded rule')} answered nothing:"
            yield from (f"  {shorten(Path(place))}  {id}" for place, id in unused.items())


class _Output:
    """Writes log lines to the standard output, and all else to the standard error, with progress in its last line."""

    def __init__(self, form: Literal["text", "json"], progress: Callable[[], str | None], verbosity: Verbosity) -> None:
        self._form: Literal["text", "json"] = form
        self._progress = progress
        self._is_verbose = verbosity is Verbosity.VERBOSE
        # Click's handling of terminals would take three times as long as writing the line.
        self.is_terminal = sys.stdout is None or sys.stdout.isatty()
        self._write = partial(click.echo, nl=False) if self.is_terminal else LogWriter(sys.stdout).write
        self._shows_progress = sys.stderr.isatty()
        self._clear = ""
        """The text that erases the line of progress, if there is one. Lines on standard error start with it."""

    def say(self, text: str) -> None:
        # Nobody reads the output any more, but the app still needs its answers.
        with suppress(OSError):
            click.echo(self._clear + text, err=True)

    def log(self, batch: Batch) -> None:
        form, is_verbose = self._form, self._is_verbose
        lines = [log_line.line(exchange, form, answered, is_verbose=is_verbose) for exchange, answered in batch]
        text = "\n".join([*lines, ""])
        progress = self._progress() if self._shows_progress else None
        clear, self._clear = self._clear, _CLEAR_LINE if progress else ""
        with suppress(OSError):
            if progress or clear:
                click.echo(_CLEAR_LINE, nl=False, err=True)
            self._write(text)
            if progress:
                click.echo(progress, nl=False, err=True)


@contextmanager
def _isolated(part: object) -> Iterator[None]:
    """Log an exception of a part, and go on without the part."""
    try:
        yield
    except Exception:
        _log_failure(part)


def _log_failure(part: object) -> None:
    kind: Any = part if hasattr(part, "__qualname__") else type(part)
    logger.exception("%s.%s failed; serve continues", kind.__module__, kind.__qualname__)


@contextmanager
def _unhurried() -> Iterator[None]:
    """Delay a second SIGTERM until everything is written."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
