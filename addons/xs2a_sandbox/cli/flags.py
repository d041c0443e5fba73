"""Flags and arguments that several commands take: those of the settings, and requests as curl has them."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
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


def request_arguments(command: Callable[..., None]) -> Callable[..., None]:
    """Adds `method`, `url`, `headers` and `body`: what curl is given for a request."""
    for add in (
        click.option("-d", "--data", "body", metavar="BODY", help="The body, byte for byte; @FILE reads a file."),
        click.option(
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
    """Names and values in their order; `@FILE` stands for the lines of a file, `@-` for standard input."""
    return [pair for argument in arguments for pair in _read(argument)]


def _read(argument: str) -> Iterator[tuple[str, str]]:
    lines = _content(argument[1:]).decode("latin-1").splitlines() if argument.startswith("@") else [argument]
    for line in lines:
        name, colon, value = line.partition(":")
        if colon and name.strip():
            yield name.strip(), value.strip()
        elif line.strip() and not line.startswith("HTTP/"):
            raise click.BadParameter(f"{line!r} is not 'NAME: VALUE'", param_hint="-H")


def read_body(argument: str | None) -> bytes:
    """The body as it is written, or of a file for `@FILE`, to the last byte."""
    if argument and argument.startswith("@"):
        return _content(argument[1:])
    return (argument or "").encode()


def _content(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise click.BadParameter(f"{file}: {error.strerror}") from None


def by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Lists of values."""
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return values


def shorten(file: Path) -> Path:
    """The file as it is called from here, where it is below."""
    return file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
