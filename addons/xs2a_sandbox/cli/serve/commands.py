"""`serve`, and `record`, which is `serve` in mode record."""

from collections.abc import Mapping
from typing import Any

import click

from xs2a_sandbox.cli.flags import setting_flags

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
    from xs2a_sandbox.cli.serve.run import ServingRun

    ServingRun(flags, redact=redact).serve()
