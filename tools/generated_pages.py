"""The pages of docs/ that are made of what runs, as files for the site: `python -m tools.generated_pages`."""

from pathlib import Path

from xs2a_sandbox.control.openapi import text
from xs2a_sandbox.documentation.generated import GENERATED

DOCS = Path(__file__).parents[1] / "docs"


def write(folder: Path = DOCS) -> None:
    for name, make in {**GENERATED, "control-openapi.yaml": text}.items():
        (folder / name).write_text(make())


if __name__ == "__main__":
    write()
