"""The flags of the commands, one for each setting that has one; and how they show a file."""

from collections.abc import Callable, Mapping
from pathlib import Path

import click

from xs2a_sandbox.config.table import SETTINGS
from xs2a_sandbox.http.messages import TOKEN

_RUNNING = {
    "host": "Address of the running sandbox, as `serve` was told.",
    "port": "Port of its base URL in plain HTTP, as `serve` was told.",
    "confdir": "Its folder, with the admin token.",
}


def setting_flags(
    *names: str, docs: Mapping[str, str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds the flags named, or all. They arrive as text: `config.load` knows where a wrong value came from.

    `docs` are other words for some of them.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for setting in reversed(SETTINGS):
            if setting.flag is None or (names and setting.name not in names):
                continue
            doc, kind = (docs or {}).get(setting.name, setting.doc), setting.kind
            if kind.metavar is None:
                value = not setting.default
                doc = doc if value else f"No {doc[0].lower()}{doc[1:]}"
                option = click.option(setting.flag, setting.name, flag_value=value, default=None, help=doc)
            else:
                doc += f" [{setting.default}]" if setting.default else ""
                option = click.option(setting.flag, setting.name, metavar=kind.metavar, multiple=kind.is_list, help=doc)
            command = option(command)
        return command

    return decorate


running_sandbox_flags = setting_flags(*_RUNNING, docs=_RUNNING)
"""By which a running sandbox is found."""


def _headers(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    pairs = []
    for text in value:
        name, colon, content = text.partition(":")
        if not (colon and TOKEN.fullmatch(name) and content.strip().isprintable()):
            # What was typed may be a secret: it is not repeated.
            raise click.BadParameter("this is no header field; write it as 'Name: value'")
        pairs.append((name, content.strip()))
    return tuple(pairs)


header_flag = click.option(
    "--header",
    "headers",
    metavar="'NAME: VALUE'",
    multiple=True,
    callback=_headers,
    help="A header for every request, such as a token; it replaces the recorded one. May be repeated.",
)
vault_flag = click.option(
    "--vault",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="An exported vault, with the real values of the recording's pseudonyms. [vault in --confdir]",
)


def near(file: Path) -> Path:
    """The file as it is called from here, where it is below."""
    return file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
