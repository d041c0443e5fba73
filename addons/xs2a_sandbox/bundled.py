"""Where the files that come with the package are."""

from pathlib import Path
from typing import Literal

_HERE = Path(__file__).resolve().parent


def bundled(name: Literal["cassettes", "schemas"]) -> Path:
    """Inside an installed package, or beside `addons/` in a checkout."""
    installed = _HERE / name
    return installed if installed.is_dir() else _HERE.parent.parent / name
