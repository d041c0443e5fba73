"""Paths of the files that come with the package."""

from pathlib import Path
from typing import Literal

_HERE = Path(__file__).resolve().parent


def bundled(name: Literal["cassettes", "schemas", "docs"]) -> Path:
    """Inside an installed package, or beside `addons/` in a checkout."""
    installed = _HERE / name
    return installed if installed.is_dir() else _HERE.parent.parent / name


SCENARIOS = "scenarios"
"""The folder of the cassettes to start from, each in a folder of its own; also how they are named: scenarios/outage."""

QUIRKS = "quirks"
"""The folder of what banks do otherwise, one file for each."""

SCA_PAGES = "sca_pages"
"""The folder of the texts of the payment user's pages, one file for each language."""

NO_DIALECTS = ("cases", SCENARIOS, QUIRKS, SCA_PAGES)
"""Folders beside those of dialects."""


def dialects(*folders: Path) -> list[str]:
    """The names of the dialects in these folders, else of those that are bundled."""
    places = [place for place in folders or [bundled("cassettes")] if place.is_dir()]
    return sorted({folder.name for place in places for folder in place.iterdir() if folder.is_dir()} - {*NO_DIALECTS})


def quirks(*folders: Path) -> dict[str, Path]:
    """The file of each quirk by its name, from these folders, of which later ones win; else those that are bundled."""
    places = folders or [bundled("cassettes") / QUIRKS]
    return {file.stem: file for place in places for file in sorted(place.glob("*.yaml"))}


def scenarios() -> dict[str, Path]:
    return {folder.name: folder for folder in sorted((bundled("cassettes") / SCENARIOS).iterdir()) if folder.is_dir()}
