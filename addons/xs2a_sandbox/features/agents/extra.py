"""Imports the server, which needs the extra `mcp`."""

from importlib import import_module
from typing import TYPE_CHECKING

from xs2a_sandbox.errors import UserMistake

if TYPE_CHECKING:
    from types import ModuleType

_PACKAGE = "mcp"


def load_server() -> "ModuleType":
    """Return the module `server`. Raises UserMistake if the extra is not installed."""
    try:
        return import_module("xs2a_sandbox.features.agents.server")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != _PACKAGE:
            raise
        raise UserMistake(
            "the server of the Model Context Protocol needs one more package: pip install 'xs2a-sandbox[mcp]'"
        ) from None
