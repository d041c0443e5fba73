"""Commands and options whose help has one layout: options in sections, examples at the end.

Commands are declared with `command`, `group` and `option`, which take what click's functions of the same names take. A
plain command of click, such as a plugin's, works too.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

SECTIONS = ("Run", "Inspect", "Write cases", "Real banks", "Find bugs", "Set up")
"""The groups of commands in `xs2a-sandbox --help`, in this order."""

OPTIONS = "Options"
GLOBAL = "Global options"
_PLUGINS = "Plugins"


class SectionedOption(click.Option):
    """An option in a section of the help. `unset` describes what happens without the option if it has no default."""

    def __init__(self, *names: Any, section: str = OPTIONS, unset: str | None = None, **attributes: Any) -> None:
        attributes.setdefault("show_default", True)
        super().__init__(*names, **attributes)
        self.section = section
        self._unset = unset
        if self.metavar is None and isinstance(self.type, click.Choice):
            self.metavar = "|".join(map(str, self.type.choices))
        elif self.metavar is None and isinstance(self.type, click.IntRange):
            self.metavar = "N"

    def get_help_extra(self, ctx: click.Context) -> Any:
        extra = super().get_help_extra(ctx)
        if self._unset is not None:
            extra["default"] = self._unset
        if isinstance(self.type, click.IntRange):
            if self.type.min is not None and self.type.max is not None:
                extra["range"] = f"{self.type.min} to {self.type.max}"
            else:
                extra.pop("range", None)
        return extra


class SectionedCommand(click.Command):
    """A command in a `section` of the list of commands."""

    def __init__(self, *names: Any, section: str = "", examples: Sequence[str] = (), **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.section = section
        self.examples = tuple(examples)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_options(self, ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_examples(self.examples, formatter)


class SectionedGroup(click.Group):
    """A group of commands, itself in a `section` of the list of commands."""

    command_class = SectionedCommand

    def __init__(self, *names: Any, section: str = "", examples: Sequence[str] = (), **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.section = section
        self.examples = tuple(examples)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        _write_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [(name, found) for name in self.list_commands(ctx) if (found := self.get_command(ctx, name))]
        shown = [(name, command) for name, command in commands if not command.hidden]
        width = max((len(name) for name, _ in shown), default=0)
        rows: dict[str, list[tuple[str, str]]] = {}
        for name, command in shown:
            section = getattr(command, "section", "") or (_PLUGINS if ctx.parent is None else "Commands")
            # Click's own limit reserves space for the columns of its layout.
            rows.setdefault(section, []).append(
                (name.ljust(width), command.get_short_help_str(formatter.width - 6 - width))
            )
        for section in (*(name for name in SECTIONS if name in rows), *(rows.keys() - {*SECTIONS})):
            with formatter.section(section):
                formatter.write_dl(rows[section])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_examples(self.examples, formatter)


def command(name: str | None = None, **attributes: Any) -> Callable[[Callable[..., Any]], SectionedCommand]:
    return click.command(name, **{"cls": SectionedCommand, **attributes})


def group(name: str | None = None, **attributes: Any) -> Callable[[Callable[..., Any]], SectionedGroup]:
    return click.group(name, **{"cls": SectionedGroup, **attributes})


def option(*names: str, **attributes: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(*names, cls=SectionedOption, **attributes)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--json`, passed to the command as `as_json`."""
    return option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(command)


def _write_options(command: click.Command, context: click.Context, formatter: click.HelpFormatter) -> None:
    rows: dict[str, list[tuple[str, str]]] = {OPTIONS: []}
    last: list[tuple[str, str]] = []
    for parameter in command.get_params(context):
        record = None if isinstance(parameter, click.Argument) else parameter.get_help_record(context)
        if record is None:
            continue
        section = getattr(parameter, "section", None)
        if section == GLOBAL or context.help_option_names[-1] in parameter.opts or "--version" in parameter.opts:
            last.append(record)
        else:
            rows.setdefault(section or OPTIONS, []).append(record)
    rows[GLOBAL] = last
    for name, records in rows.items():
        if records:
            with formatter.section(name):
                formatter.write_dl(records)


def _write_examples(examples: Iterable[str], formatter: click.HelpFormatter) -> None:
    if lines := list(examples):
        with formatter.section("Examples"):
            # Not wrapped, so that each line can be copied.
            for line in lines:
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")
