"""`serve`, and `record`, which is `serve` in mode record."""

import gc
import json
import logging
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xs2a_sandbox.cli.flags import setting_flags
from xs2a_sandbox.config import RealBank, Settings, load_settings
from xs2a_sandbox.errors import StoreUnavailable
from xs2a_sandbox.http.origin import is_local
from xs2a_sandbox.state.redis_url import RedisUrl, is_in_redis

if TYPE_CHECKING:
    from xs2a_sandbox.cli.serving_run import Used
    from xs2a_sandbox.control.front_page import Addresses, FrontPage
    from xs2a_sandbox.doors.workers.worker import Worker
    from xs2a_sandbox.engine import Engine
    from xs2a_sandbox.journal.log_line import LogEntry

_REQUEST_ID = "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"


def announcement(
    settings: Settings,
    addresses: "Addresses",
    state: str,
    consent: str | None,
    console: str | None = None,
    loop: str | None = None,
) -> str:
    """A few lines of text, or one of JSON when that is the log's format. `console` is a link that signs in once."""
    command = curl(settings, addresses, consent)
    banks = [bank for bank in settings.real_banks() if bank.url]
    if settings.log_format == "json":
        return json.dumps(
            {
                "proxy": addresses.proxy,
                "direct": addresses.direct,
                "tls": addresses.tls,
                "ca_file": str(addresses.ca_file),
                "state": state,
                "console": console,
                "loop": loop,
                "frozen_at": settings.frozen_at.isoformat() if settings.frozen_at else None,
                "quirks": [file.stem for file in settings.quirk],
                "banks": [{"url": bank.url, "hosts": bank.host_names, "mode": bank.mode} for bank in banks],
                "try": command,
            }
        )
    lines = [
        f"proxy     {addresses.proxy}",
        f"base URL  {addresses.direct}",
        *([f"          {addresses.tls}"] if addresses.tls else []),
        f"CA file   {addresses.ca_file}",
        f"state     {state}",
        *([f"console   {console}"] if console else []),
        *([f"loop      {loop}"] if loop else []),
        *([f"clock     stands at {settings.frozen_at.isoformat()}"] if settings.frozen_at else []),
        *([f"quirks    {', '.join(file.stem for file in settings.quirk)}"] if settings.quirk else []),
        *(f"bank      {bank.url} {_modes(bank)}" for bank in banks),
        *(["", "Try it:", f"  {command}"] if command else []),
    ]
    return "\n".join([*lines, ""])


def front_page(settings: Settings, addresses: "Addresses", consent: str | None) -> "FrontPage":
    """The same for a browser."""
    from xs2a_sandbox.control.front_page import FrontPage

    banks = [bank for bank in settings.real_banks() if bank.url]
    return FrontPage(addresses, curl(settings, addresses, consent), banks, local=is_local(settings.host))


def exposure(settings: Settings) -> str | None:
    """Says what it means to listen on more than this machine's own addresses; None where nobody else gets in."""
    if is_local(settings.host):
        return None
    where = "every address of this machine" if settings.host in ("0.0.0.0", "::") else settings.host
    banks = [bank.url for bank in settings.real_banks() if bank.url and bank.can_be_asked]
    way = f", its way to {', '.join(banks)} with the certificates and recordings of that included" if banks else ""
    proxy = "" if settings.proxy_auth else "; --proxy-auth USER:PASS has the proxy ask for a password"
    everybody = f"listening on {where}: whoever reaches it can use the sandbox{way}{proxy}"
    return f"{everybody}; --host 127.0.0.1 lets nobody else in"


def _modes(bank: RealBank) -> str:
    # Who names a bank expects that it is asked.
    if not bank.can_be_asked:
        return "is not asked (mode simulate; --mode spy, record or compare)"
    by_path = [f"{path}: {mode}" for path, mode in bank.modes]
    return f"({', '.join([f'mode {bank.mode}', *by_path])})"


def found_state(settings: Settings) -> str:
    """The state that an earlier run has left, and how to begin anew.

    Raises:
        UserMistake: the file is something else.
    """
    kind, _, name = settings.state.partition(":")
    if kind == "memory":
        return "in memory, gone when the sandbox stops"
    if is_in_redis(settings.state):
        return _shared(RedisUrl.read(settings.state).text)
    file = Path(name)
    if not file.is_file() or file.stat().st_size == 0:
        return f"{file} (new)"
    if settings.reset:
        return f"{file} (reset)"
    from xs2a_sandbox.state.sqlite import SqliteStore

    store = SqliteStore(file)
    try:
        counts = store.counts()
    except StoreUnavailable as error:
        return f"{file} (cannot be counted: {error})"
    finally:
        store.close()
    # Names with an underscore are the sandbox's own.
    kept = [f"{count} {collection}" for collection, count in sorted(counts.items()) if not collection.startswith("_")]
    content = ", ".join(kept) or "nothing yet"
    return f"{file} holds {content}; start with --reset to forget it"


def _shared(place: str) -> str:
    return f"{place}, shared by all sandboxes that name it; start with --reset to forget what is there"


def valid_consent(collections: Mapping[str, Mapping[str, Any]]) -> str | None:
    consents = collections.get("consents", {})
    return next((id for id, consent in consents.items() if consent.get("role") == "valid"), None)


def curl(settings: Settings, addresses: "Addresses", consent: str | None) -> str | None:
    """A command that a shell can run as it is; with `--proxy-auth` curl asks for the password, which is not printed.

    None without a consent, and in mode record, where it would ask the bank for what only the sandbox has.
    """
    if consent is None or settings.mode == "record":
        return None
    host = settings.hosts[0] if settings.hosts else "bank.example"
    words = ["curl", "--cacert", str(addresses.ca_file), "-x", addresses.proxy]
    if settings.proxy_auth:
        words += ["-U", settings.proxy_auth.partition(":")[0]]
    words += ["-H", f"X-Request-ID: {_REQUEST_ID}", f"https://{host}{settings.base_path}/v1/consents/{consent}/status"]
    return shlex.join(words)


logger = logging.getLogger("xs2a_sandbox")

_CLEAR_LINE = "\r\x1b[2K"

_no_redact = click.option(
    "--no-redact",
    is_flag=True,
    help="Write secrets and persons' data into recordings as they were sent. On the command line only.",
)


@click.command()
@setting_flags()
@_no_redact
def serve(no_redact: bool, **flags: Any) -> None:
    """Answer as the bank, until SIGTERM or ^C."""
    _serve(flags, redact=not no_redact)


@click.command()
@setting_flags()
@_no_redact
def record(no_redact: bool, **flags: Any) -> None:
    """Serve in mode record: everything goes to the bank of --bank, and is written into --to."""
    _serve({**flags, "mode": "record"}, redact=not no_redact)


def _serve(flags: Mapping[str, Any], *, redact: bool) -> None:
    import asyncio

    from xs2a_sandbox.authoring.coverage import CoverageTally
    from xs2a_sandbox.cli.authoring import show_coverage
    from xs2a_sandbox.cli.serving_run import Run, unused_lines
    from xs2a_sandbox.clock import instant
    from xs2a_sandbox.console import sign_in
    from xs2a_sandbox.console.console import Console
    from xs2a_sandbox.control.access import read_token
    from xs2a_sandbox.doors import serving
    from xs2a_sandbox.engine import build
    from xs2a_sandbox.journal import log_line
    from xs2a_sandbox.journal.log_writer import LogWriter
    from xs2a_sandbox.journal.serving_log import ServingLog, standing

    settings = load_settings(flags)
    state = found_state(settings)
    consent: str | None = None
    run, tally = Run(), CoverageTally()
    worker: Worker | None = None
    clear = ""  # what a line on the standard error has to begin with while there is a line of progress

    def say(text: str) -> None:
        # Nobody may read it any more; the app still wants its answers.
        with suppress(OSError):
            click.echo(clear + text, err=True)

    standing_log = ServingLog(settings.log_format, say)
    served: Engine | None = None

    def built(engine: "Engine") -> None:
        nonlocal served, consent
        served = engine
        if not engine.interface.silent:
            consent = valid_consent(engine.testdata.at(settings.clock.today()))
        standing_log.redact = engine.displayed_text
        run.begin(engine)
        if engine.passage.comparing:
            engine.passage.comparing.report.say = standing_log.note
        for warning in build.warnings(settings, engine) if worker is None or worker.is_teller else ():
            standing_log.note(warning, level="warning")

    def ready(addresses: "Addresses") -> None:
        # What is there by now stays, and the collector need not look through it again and again while it answers.
        gc.freeze()
        if served:
            base_url = settings.public_url or addresses.direct
            served.introduce(front_page(settings, addresses, consent), Console(served, settings, base_url, worker))
        if worker is None:
            announce(addresses)
        else:
            worker.report["consent"] = consent

    def announce(addresses: "Addresses") -> None:
        token = read_token(settings.confdir)
        console = sign_in.link(settings.public_url or addresses.direct, token) if token else None
        if exposed := exposure(settings):
            logger.warning("%s", exposed)
        click.echo(announcement(settings, addresses, state, consent, console, serving.loop_name()))

    # What click does for terminals takes three times as long as to write the line.
    lines = None if sys.stdout is None or sys.stdout.isatty() else LogWriter(sys.stdout)
    shows_progress = sys.stderr.isatty()

    def log(exchange: "LogEntry") -> None:
        nonlocal clear
        run.add(exchange)
        tally.add(exchange)
        text = log_line.line(exchange, settings.log_format, instant())
        progress = run.progress() if shows_progress else None
        if lines and not progress and not clear:
            lines.write(text)
            return
        clear = _CLEAR_LINE if progress else ""
        with suppress(OSError):
            if progress:
                click.echo(_CLEAR_LINE, nl=False, err=True)
            (lines.write if lines else click.echo)(text)
            if progress:
                click.echo(progress, nl=False, err=True)

    def serve_alone() -> None:
        try:
            asyncio.run(
                serving.serve(
                    # What one worker has forgotten at the start, the others, and who comes later, are to keep.
                    settings if worker is None or worker.is_teller else replace(settings, reset=False),
                    redact=redact,
                    again=lambda: load_settings(flags),
                    say=standing_log.note,
                    built=built,
                    ready=ready,
                    on_exchange=log,
                    worker=worker,
                ),
                loop_factory=serving.new_loop,
            )
        finally:
            if lines:
                lines.close()

    def work(begun: "Worker") -> "tuple[Used, CoverageTally]":
        nonlocal worker
        worker = begun
        serve_alone()
        return run.used(), tally

    def show_ready(report: dict[str, Any]) -> None:
        nonlocal consent
        consent = report["consent"]
        announce(supervisor.addresses)

    with standing(standing_log):
        if settings.workers == 1:
            serve_alone()
            end = run.end()
        else:
            supervisor = serving.supervisor(settings, work)
            parts = supervisor.run(show_ready)
            end = unused_lines([used for used, _ in parts])
            for _, part in parts:
                tally.include(part)
    with _unhurried():
        for line in end:
            standing_log.note(line)
        if settings.coverage:
            show_coverage(settings, (), tally, settings.log_format, err=True)


@contextmanager
def _unhurried() -> Iterator[None]:
    """Lets another SIGTERM wait until all is written."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
