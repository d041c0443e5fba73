"""Compare the lower bounds in pyproject.toml with the installed versions.

python -m tools.bounds    exits with 1 if a bound is below the version that was installed as the lowest
"""

import sys
import tomllib
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]


def complaints(dependencies: Iterable[str], installed: Callable[[str], str]) -> list[str]:
    """Return a line for each dependency whose lowest version is not tested."""
    lines = []
    for dependency in map(Requirement, dependencies):
        lowest = [bound.version for bound in dependency.specifier if bound.operator == ">="]
        tested = installed(dependency.name)
        if not lowest or Version(lowest[0]) != Version(tested):
            lines.append(f"pyproject.toml: {dependency} is tested only from {tested} on; raise the lower bound to it")
    return lines


def main() -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = complaints(project["dependencies"], version)
    print("\n".join(lines), file=sys.stderr, end="\n" if lines else "")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
