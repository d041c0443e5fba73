"""Generate the table in docs/quirks.md from the cassettes of the quirks."""

from collections.abc import Iterator, Mapping
from typing import Any

from xs2a_sandbox.bundled import quirks
from xs2a_sandbox.documents import yaml_reader

_HEAD = "| quirk | the bank | what breaks in apps, and where it was seen |\n|---|---|---|\n"


def page(text: str) -> str:
    """Return the page with a row for each bundled quirk."""
    before, _, rest = text.partition(_HEAD)
    _, gap, after = rest.partition("\n\n")
    return before + _HEAD + "\n".join(_rows()) + gap + after


def _rows() -> Iterator[str]:
    for name, file in quirks().items():
        written: Mapping[str, Any] = yaml_reader.read(file).value
        yield f"| `{name}` | {_cell(written['title'])}. | {_cell(written['doc'])} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
