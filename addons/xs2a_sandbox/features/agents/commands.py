"""The commands `mcp` and `skill`."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from xs2a_sandbox.cli.control import session_option
from xs2a_sandbox.cli.flags import running_sandbox_flags
from xs2a_sandbox.cli.help import command, group, option
from xs2a_sandbox.config import Settings, load_settings
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.errors import NotRunning

_SKILLS = Path(".claude/skills")


@command(
    section="Run",
    examples=("xs2a-sandbox mcp", "xs2a-sandbox mcp --port 9081 --session checkout-tests"),
)
@session_option("The session of tools that are called without one.")
@running_sandbox_flags
def mcp(session: str | None, **flags: Any) -> None:
    """Let a coding agent control the sandbox.

    Serves the Model Context Protocol on standard input and output. If no sandbox is running, one is started with state
    in memory, and ends with the agent.
    """
    from xs2a_sandbox.features.agents.context import Context
    from xs2a_sandbox.features.agents.extra import load_server
    from xs2a_sandbox.features.campaign.commands import interrupted_by_sigterm

    server, settings = load_server(), load_settings(flags)
    with interrupted_by_sigterm(), _sandbox(settings) as address:
        click.echo(f"the tools control the sandbox at {address}", err=True)
        context = Context.of(settings, address, settings.public_url or address)
        asyncio.run(server.serve_stdio(context.in_session(session)))


@contextmanager
def _sandbox(settings: Settings) -> Iterator[str]:
    """Provide the address of the running sandbox, or of a new one. Raises UserMistake."""
    client = Client.of(settings)
    try:
        client.status()
    except NotRunning:
        from xs2a_sandbox.features.campaign import bank

        with bank.of_its_own(settings.confdir, ()) as started:
            yield started.direct
    else:
        yield client.url


@group(section="Set up", examples=("xs2a-sandbox skill install", "xs2a-sandbox skill install ~/.claude/skills"))
def skill() -> None:
    """Teach a coding agent to use the sandbox."""


@skill.command(examples=("xs2a-sandbox skill install", "xs2a-sandbox skill install .agents/skills --replace"))
@click.argument("directory", metavar="[DIR]", default=_SKILLS, type=click.Path(file_okay=False, path_type=Path))
@option("--replace", "replaces", is_flag=True, help="Replace a skill that is different.")
def install(directory: Path, replaces: bool) -> None:
    """Write the skill into DIR, the folder of the agent's skills.

    Without DIR, the folder is .claude/skills in the current folder.
    """
    from xs2a_sandbox.features.agents import skill as skills

    click.echo(skills.install(directory, replaces=replaces))
