"""Templates of HTML pages. Values are escaped, and a missing value is an error."""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


@cache
def environment(folder: Path) -> Environment:
    """Return the cached environment for the templates in this folder."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
