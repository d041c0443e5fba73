"""Flags and arguments of several commands: those of the settings, and requests in the style of curl."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from xs2a_sandbox.cli.help import option
from xs2a_sandbox.config import Settings, load_settings
from xs2a_sandbox.config.kinds import Setting
from xs2a_sandbox.config.table import BY_NAME, SETTINGS
from xs2a_sandbox.http.messages import TOKEN

_RUNNING = {
    "host": "Address that `serve` listens on.",
    "port": "Plain HTTP port of the running sandbox.",
    "confdir": "The --confdir of the running sandbox, which holds the admin token.",
}


def setting_flags(
    *names: str, docs: Mapping[str, str] | None = None, section: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the flags of these settings, or of all. The values stay text: `config.load` reports a wrong one.

    `docs` replaces some help texts, and `section` the sections of the settings.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for setting in reversed(SETTINGS):
            if setting.flag is None or (names and setting.name not in names):
                continue
            doc, kind = (docs or {}).get(setting.name, setting.doc), setting.kind
            attributes: dict[str, Any] = {"section": setting.section if section is None else section}
            if kind.metavar is None:
                value = not setting.default
                doc = doc if value else f"Do not {doc[0].lower()}{doc[1:]}".replace(", and ", ", or ")
                attributes |= {"flag_value": value, "default": None}
            else:
                default = str(setting.default) if setting.default else None
                attributes |= {"metavar": kind.metavar, "multiple": kind.is_list, "unset": default}
                attributes["shell_complete"] = _completion(setting)
            command = option(setting.flag, setting.name, help=doc, **attributes)(command)
        return command

    return decorate


def as_flags(settings: Settings, *names: str) -> list[str]:
    """Return the flags that give these settings to another command in this folder.

    Settings that the command reads itself, from the file or the environment, get no flag.
    """
    found = load_settings()
    return write_flags(settings, [name for name in names if getattr(settings, name) != getattr(found, name)])


def write_flags(settings: Settings, names: Sequence[str]) -> list[str]:
    """Return the flags of these settings, except for those without a value."""
    words = list[str]()
    for name in names:
        value = getattr(settings, name)
        if value in (None, ()):
            continue
        for one in value if isinstance(value, tuple) else (value,):
            written = one.stem if name == "quirk" else one.isoformat() if isinstance(one, datetime) else str(one)
            words.append(f"{BY_NAME[name].flag}={written}")
    return words


def _completion(setting: Setting) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return the parameter type that tells shells what to complete: words of a choice, or files and folders."""
    examples = setting.kind.schema.get("items", {}).get("examples")
    words = examples or [word for word in str(setting.kind.metavar).split("|") if word.islower()]
    path = {"FILE": "file", "DIR": "dir"}.get(setting.kind.metavar or "")

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        if path:
            return [CompletionItem(begun, type=path)]
        return [CompletionItem(word) for word in words if word.startswith(begun)]

    return complete


running_sandbox_flags = setting_flags(*_RUNNING, docs=_RUNNING, section="Running sandbox")
"""The flags for finding the running sandbox."""

bank_flags = setting_flags("dialect", "cassettes", "quirk", "like", "testdata")
"""The flags for the files that describe the bank."""


def _headers(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    pairs = []
    for text in value:
        name, colon, content = text.partition(":")
        if not (colon and TOKEN.fullmatch(name) and content.strip().isprintable()):
            # Do not repeat the value, because it may be a secret.
            raise click.BadParameter("this is not a header; write it as 'Name: value'")
        pairs.append((name, content.strip()))
    return tuple(pairs)


header_flag = option(
    "--header",
    "headers",
    metavar="'NAME: VALUE'",
    multiple=True,
    callback=_headers,
    help="A header for every request, such as a token. It replaces the recorded header. May be repeated.",
)
vault_flag = option(
    "--vault",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    unset="the vault in --confdir",
    help="An exported vault, with the real values of the recording's pseudonyms.",
)


def request_arguments(command: Callable[..., None]) -> Callable[..., None]:
    """Add the arguments `method`, `url`, `headers` and `body`, in the style of curl."""
    for add in (
        option(
            "-d",
            "--data",
            "body",
            metavar="BODY",
            help="The body of the request, sent byte for byte; @FILE reads a file.",
        ),
        option(
            "-H",
            "--header",
            "headers",
            metavar="'NAME: VALUE'",
            multiple=True,
            help="A header of the request; @FILE reads one from each line. May be repeated.",
        ),
        click.argument("url"),
        click.argument("method"),
    ):
        command = add(command)
    return command


def read_headers(arguments: Iterable[str]) -> list[tuple[str, str]]:
    """Return names and values in order. `@FILE` means the lines of a file, `@-` the lines of standard input."""
    return [pair for argument in arguments for pair in _read(argument)]


def _read(argument: str) -> Iterator[tuple[str, str]]:
    lines = _content(argument[1:]).decode("latin-1").splitlines() if argument.startswith("@") else [argument]
    for line in lines:
        name, colon, value = line.partition(":")
        if colon and name.strip():
            yield name.strip(), value.strip()
        elif line.strip() and not line.startswith("HTTP/"):
            raise click.BadParameter(f"{line!r} is not a header; write it as 'Name: value'", param_hint="-H")


def read_body(argument: str | None) -> bytes:
    """Return the body as it was written, or the exact content of the file for `@FILE`."""
    if argument and argument.startswith("@"):
        return _content(argument[1:])
    return (argument or "").encode()


def _content(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise click.BadParameter(f"cannot read {file}: {error.strerror}") from None


def by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the values of each header, by name."""
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return values


def shorten(file: Path) -> Path:
    """Return the path relative to the current folder, if the file is below it."""
    return file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
