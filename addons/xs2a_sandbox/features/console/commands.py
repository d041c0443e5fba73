"""The command `console`."""

from typing import Any

import click

from xs2a_sandbox.cli.control import client_of
from xs2a_sandbox.cli.flags import running_sandbox_flags
from xs2a_sandbox.cli.help import command
from xs2a_sandbox.config import load_settings
from xs2a_sandbox.control.access import read_token
from xs2a_sandbox.features.console.sign_in import link


@command(section="Run", examples=("xs2a-sandbox console", "xs2a-sandbox console --port 9081"))
@running_sandbox_flags
def console(**flags: Any) -> None:
    """Print a link to the web console of a running sandbox.

    The link signs in once, within ten minutes.
    """
    settings, client = load_settings(flags), client_of(flags, None)
    client.status()
    click.echo(link(settings.public_url or client.url, read_token(settings.confdir) or ""))
