"""Where the files that come with the package are."""

from pathlib import Path
from typing import Literal

_HERE = Path(__file__).resolve().parent


def bundled(name: Literal["cassettes", "schemas"]) -> Path:
    """Inside an installed package, or beside `addons/` in a checkout."""
    installed = _HERE / name
    return installed if installed.is_dir() else _HERE.parent.parent / name


SCENARIOS = "scenarios"
"""The folder of the cassettes to start from, each in a folder of its own; also how they are named: scenarios/outage."""


def scenarios() -> dict[str, Path]:
    return {folder.name: folder for folder in sorted((bundled("cassettes") / SCENARIOS).iterdir()) if folder.is_dir()}
