"""Paths of the files in the package."""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

_HERE = Path(__file__).resolve().parent


def bundled(name: Literal["cassettes", "schemas", "docs"]) -> Path:
    """Return the folder, which is inside an installed package, but next to `addons/` in a checkout."""
    installed = _HERE / name
    return installed if installed.is_dir() else _HERE.parent.parent / name


def are_untouched(files: Iterable[Path]) -> bool:
    """Return whether all files belong to the package and none is in the working directory, as in a checkout."""
    ours = bundled("cassettes"), bundled("schemas")
    return all(any(map(file.is_relative_to, ours)) and not file.is_relative_to(Path.cwd()) for file in files)


SCENARIOS = "scenarios"
"""The folder of the scenarios, and the prefix of their names: scenarios/outage."""

QUIRKS = "quirks"
"""The folder of the quirks, one file for each."""

BANKS = "banks.yaml"
"""The table of the real banks whose quirks are known."""

SCA_PAGES = "sca_pages"
"""The folder with the texts of the payment user's pages, one file for each language."""

NO_DIALECTS = ("cases", SCENARIOS, QUIRKS, SCA_PAGES)
"""The folders that are not dialects."""


def dialects(*folders: Path) -> list[str]:
    """Return the names of the dialects in these folders, or of the bundled ones if none are given."""
    places = [place for place in folders or [bundled("cassettes")] if place.is_dir()]
    return sorted({folder.name for place in places for folder in place.iterdir() if folder.is_dir()} - {*NO_DIALECTS})


def quirks(*folders: Path) -> dict[str, Path]:
    """Return the file of each quirk by name, from these folders or the bundled one. Later folders win."""
    places = folders or [bundled("cassettes") / QUIRKS]
    return {file.stem: file for place in places for file in sorted(place.glob("*.yaml"))}


def scenarios() -> dict[str, Path]:
    return {folder.name: folder for folder in sorted((bundled("cassettes") / SCENARIOS).iterdir()) if folder.is_dir()}
