"""Print the section of a version in CHANGELOG.md: `python tools/release_notes.py 1.2.3`. It needs no packages."""

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"


def notes(changelog: str, version: str) -> str:
    """Return the section. Raises ValueError if there is none, or if it is empty."""
    sections = re.split(r"^## \[(.+?)\].*$", changelog, flags=re.MULTILINE)
    text = dict(zip(sections[1::2], sections[2::2], strict=True)).get(version, "").strip()
    if not text:
        raise ValueError(f"CHANGELOG.md has no section [{version}], or an empty one")
    return text + "\n"


if __name__ == "__main__":
    try:
        print(notes(CHANGELOG.read_text(), *sys.argv[1:]), end="")
    except (TypeError, ValueError) as mistake:
        sys.exit(f"release-notes: {mistake}")
