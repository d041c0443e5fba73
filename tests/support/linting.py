"""Run lint and the examples of files next to the bundled ones."""

import asyncio
from pathlib import Path
from textwrap import dedent

from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.errors import Problem
from xs2a_sandbox.features.authoring.examples import Example, compare, compose
from xs2a_sandbox.features.authoring.lint import check


def settings(tmp_path: Path) -> Settings:
    return Settings(state="memory:", confdir=tmp_path)


def problems_of(tmp_path: Path, **files: str) -> list[Problem]:
    paths = []
    for name, text in files.items():
        paths.append(tmp_path / f"{name}.yaml")
        paths[-1].write_text(dedent(text))
    return check(settings(tmp_path), paths)


def places_of(problems: list[Problem]) -> list[str]:
    return [f"{p.line}:{p.column} {p.code}" for p in problems]


def run(engine: Engine, entry: Example) -> list[str]:
    """Run an example in a new session, and return the differences from the expected answer."""
    try:
        request = compose(entry)
    except ValueError as error:
        return [str(error)]
    return compare(entry.expect, asyncio.run(engine.answer(request)))
