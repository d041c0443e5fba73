"""Writes the skill of the package into a folder of skills."""

from pathlib import Path

from xs2a_sandbox.documents.files import writing
from xs2a_sandbox.errors import UserMistake

NAME = "xs2a-sandbox"
"""The name of the skill, which its folder must have, too."""
FILE = "SKILL.md"
SKILL = Path(__file__).with_name(FILE)


def install(directory: Path, *, replaces: bool = False) -> str:
    """Write the skill below the folder, and say what was done. Raises UserMistake if a different one is there."""
    file, text = directory / NAME / FILE, SKILL.read_text("utf-8")
    with writing(file):
        if file.exists():
            if file.read_text("utf-8", "replace") == text:
                return f"{file} is up to date"
            if not replaces:
                raise UserMistake(f"{file} is different: replace it with --replace")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return f"{file} written"
