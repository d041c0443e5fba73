"""Files held against lint, beside the bundled ones."""

from pathlib import Path
from textwrap import dedent

from xs2a_sandbox.authoring.lint import check
from xs2a_sandbox.config import Settings
from xs2a_sandbox.errors import Problem


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
