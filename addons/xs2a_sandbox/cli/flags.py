"""The flags of the commands, one for each setting that has one; and how they show a file."""

from collections.abc import Callable
from pathlib import Path

import click

from xs2a_sandbox.config.table import SETTINGS


def setting_flags(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds the flags named, or all. They arrive as text: `config.load` knows where a wrong value came from."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for setting in reversed(SETTINGS):
            if setting.flag is None or (names and setting.name not in names):
                continue
            doc, kind = setting.doc, setting.kind
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


def near(file: Path) -> Path:
    """The file as it is called from here, where it is below."""
    return file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
