"""The files that are generated from code, schemas and cassettes."""

from collections.abc import Callable, Mapping
from pathlib import Path

from tools.generate import (
    atlas_page,
    cassette_schema,
    control_openapi,
    domain_page,
    handlers_page,
    openapi,
    operations_page,
    quirks_page,
    settings,
    states_page,
)

ROOT = Path(__file__).resolve().parents[2]

FILES: Mapping[str, Callable[[], str]] = {
    "docs/atlas.md": lambda: atlas_page.page(_current("docs/atlas.md")),
    "docs/command-line.md": lambda: settings.page(_current("docs/command-line.md")),
    "docs/control-openapi.yaml": control_openapi.text,
    "docs/domain.md": domain_page.page,
    "docs/handlers.md": handlers_page.page,
    "docs/openapi.yaml": openapi.text,
    "docs/operations.md": operations_page.page,
    "docs/quirks.md": lambda: quirks_page.page(_current("docs/quirks.md")),
    "docs/states.md": states_page.page,
    "schemas/cassette.schema.json": lambda: cassette_schema.completed(_current("schemas/cassette.schema.json")),
    "schemas/config.schema.json": settings.schema,
}
"""The function that returns the content of each file. Some files are only partly generated."""


def _current(name: str) -> str:
    return (ROOT / name).read_text("utf-8")
