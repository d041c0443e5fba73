"""Requests and answers as arguments describe them: `-H 'NAME: VALUE'`, as curl has it, and files of such lines."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click


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
