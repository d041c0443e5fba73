"""Find all logging calls in the code of the package."""

import ast
import logging
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import xs2a_sandbox

PACKAGE = Path(xs2a_sandbox.__file__).parent
LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "exception": logging.ERROR,
    "critical": logging.CRITICAL,
}


class Call(NamedTuple):
    """`logger` is the name of the logger, `text` its message without values."""

    place: str
    logger: str
    level: int
    text: str


@cache
def calls() -> Sequence[Call]:
    texts = {file: file.read_text() for file in sorted(PACKAGE.rglob("*.py"))}
    return [call for file, text in texts.items() if "logging" in text for call in _calls(file, text)]


def _calls(file: Path, text: str) -> Iterator[Call]:
    tree = ast.parse(text)
    module = ".".join(("xs2a_sandbox", *file.relative_to(PACKAGE).with_suffix("").parts))
    loggers = dict(_loggers(tree, module))
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=level)) if name in loggers:
                if level in LEVELS:
                    place = f"{file.relative_to(PACKAGE)}:{node.lineno}"
                    yield Call(place, loggers[name], LEVELS[level], ast.unparse(node.args[0]))
            case ast.Call(func=ast.Attribute(value=ast.Name(id="logging"), attr=level)) if level in LEVELS:
                raise AssertionError(f"{file}:{node.lineno}: logging.{level} asks the root logger; name one")


def _loggers(tree: ast.Module, module: str) -> Iterator[tuple[str, str]]:
    """Return the names of the module's logger variables, and the names of the loggers."""
    for node in tree.body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Attribute(value=ast.Name(id="logging"), attr="getLogger"), args=[argument]),
            ):
                yield name, module if isinstance(argument, ast.Name) else ast.literal_eval(argument)
