"""The flags of the commands: one for each setting that has one."""

from collections.abc import Callable

import click

from xs2a_sandbox.config.table import SETTINGS


def setting_flags(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Those named, or all. All arrive as text: `config.load` knows where a wrong value came from."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for setting in reversed(SETTINGS):
            if setting.flag is None or (names and setting.name not in names):
                continue
            if setting.metavar is None:
                value = not setting.flag.startswith("--no-")
                doc = setting.doc if value else f"No {setting.doc[0].lower()}{setting.doc[1:]}"
                option = click.option(setting.flag, setting.name, flag_value=value, default=None, help=doc)
            else:
                several = setting.name in ("cassettes", "forward_host", "allow_origin", "ignore", "report")
                default = (
                    ""
                    if several or setting.example.startswith(("my-", "http", '"', "recordings"))
                    else f" [{setting.example}]"
                )
                option = click.option(
                    setting.flag, setting.name, metavar=setting.metavar, multiple=several, help=setting.doc + default
                )
            command = option(command)
        return command

    return decorate
