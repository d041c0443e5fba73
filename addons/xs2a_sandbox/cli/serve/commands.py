"""`serve`, and `record`, which is `serve` in mode record."""

import gc
from collections.abc import Mapping
from typing import Any

from xs2a_sandbox.cli.flags import setting_flags
from xs2a_sandbox.cli.help import command, option
from xs2a_sandbox.cli.verbosity import Verbosity, verbosity_options

_no_redact = option(
    "--no-redact",
    is_flag=True,
    section="Real bank",
    help="Record secrets and personal data as they were sent. On the command line only.",
)


@command(
    section="Run",
    examples=(
        "xs2a-sandbox serve --state memory:",
        "xs2a-sandbox serve --cassettes cases --cassettes scenarios/outage --port 9081",
    ),
)
@setting_flags()
@_no_redact
@verbosity_options
def serve(no_redact: bool, **flags: Any) -> None:
    """Run the sandbox until SIGTERM or ^C.

    Every option is also a setting: in xs2a-sandbox.yaml (proxy_port: 8080) or in the environment
    (XS2A_SANDBOX_PROXY_PORT).
    """
    _serve(flags, redact=not no_redact)


@command(
    section="Real banks",
    examples=(
        "xs2a-sandbox record --bank https://api.bank.example/psd2 --to recordings",
        "xs2a-sandbox record --bank https://api.bank.example/psd2 --forward-host login.bank.example",
    ),
)
@setting_flags()
@_no_redact
@verbosity_options
def record(no_redact: bool, **flags: Any) -> None:
    """Record a real bank: `serve` in mode record.

    All requests go to the bank (--bank). Requests and responses are written to the folder --to.
    """
    _serve({**flags, "mode": "record"}, redact=not no_redact)


def _serve(flags: Mapping[str, Any], *, redact: bool) -> None:
    # A start makes a hundred thousand objects and hardly any garbage; `ServingRun` enables the collector afterwards.
    gc.disable()
    try:
        from xs2a_sandbox.cli.serve.run import ServingRun

        ServingRun(flags, redact=redact, verbosity=Verbosity.current()).serve()
    finally:
        gc.enable()
