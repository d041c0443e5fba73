"""`serve`, and `record`, which is `serve` in mode record."""

import gc
import logging
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xs2a_sandbox import config
from xs2a_sandbox.flags import setting_flags

if TYPE_CHECKING:
    from xs2a_sandbox.engine import Engine
    from xs2a_sandbox.exchange_log import Exchange
    from xs2a_sandbox.front_page import Addresses, FrontPage

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


def _load(flags: Mapping[str, Any]) -> config.Settings:
    return config.load(flags, os.environ, Path.cwd())


def _serve(flags: Mapping[str, Any], *, redact: bool) -> None:
    import asyncio

    from xs2a_sandbox import assembly, exchange_log, serving
    from xs2a_sandbox.announcement import announcement, exposure, found_state, front_page, valid_consent
    from xs2a_sandbox.authoring_commands import show_coverage
    from xs2a_sandbox.clock import REAL
    from xs2a_sandbox.coverage import Tally
    from xs2a_sandbox.run import Run
    from xs2a_sandbox.serving_log import ServingLog, standing

    settings = _load(flags)
    state = found_state(settings)
    consent = valid_consent(assembly.load_testdata(settings).at(settings.clock.today()))
    run, tally = Run(), Tally()
    clear = ""  # what a line on the standard error has to begin with while there is a line of progress

    def say(text: str) -> None:
        # Nobody may read it any more; the app still wants its answers.
        with suppress(OSError):
            click.echo(clear + text, err=True)

    standing_log = ServingLog(settings.log_format, say)
    introduce: Callable[[FrontPage], None] | None = None

    def built(engine: "Engine") -> None:
        nonlocal introduce
        introduce = engine.introduce
        standing_log.redact = engine.shown_text
        run.begin(engine)
        if engine.passage.comparing:
            engine.passage.comparing.report.say = standing_log.note
        for warning in assembly.warnings(settings, engine):
            standing_log.note(warning, level="warning")

    def ready(addresses: "Addresses") -> None:
        # What is there by now stays, and the collector need not look through it again and again while it answers.
        gc.freeze()
        if introduce:
            introduce(front_page(settings, addresses, consent))
        if exposed := exposure(settings):
            logger.warning("%s", exposed)
        click.echo(announcement(settings, addresses, state, consent))

    def log(exchange: "Exchange") -> None:
        nonlocal clear
        run.add(exchange)
        tally.add(exchange)
        progress = run.progress() if sys.stderr.isatty() else None
        clear = _CLEAR_LINE if progress else ""
        with suppress(OSError):
            if progress:
                click.echo(_CLEAR_LINE, nl=False, err=True)
            click.echo(exchange_log.line(exchange, settings.log_format, REAL.now()))
            if progress:
                click.echo(progress, nl=False, err=True)

    with standing(standing_log):
        asyncio.run(
            serving.serve(
                settings,
                redact=redact,
                again=lambda: _load(flags),
                say=standing_log.note,
                built=built,
                ready=ready,
                on_exchange=log,
            )
        )
    for line in run.end():
        standing_log.note(line)
    if settings.coverage:
        show_coverage(settings, (), tally, settings.log_format, err=True)
