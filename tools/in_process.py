"""Run the conformance tests without sockets: select the tests that need none, and replace the doors."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import certifi
import pytest

from xs2a_sandbox.config import Settings
from xs2a_sandbox.doors import serving


def needs_no_door(item: pytest.Item) -> bool:
    """Return whether the test uses the door `process`, or none."""
    values = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return all(values[name] == "process" for name in ("bank", "app", "door", "tpp") if name in values)


def leave_doors_out() -> None:
    """Turn off the doors of the sandbox before tests are collected."""
    serving.serve = _idle  # type: ignore[assignment]


async def _idle(settings: Settings, *, ready: Callable[[Any], None], stop: asyncio.Event, **__: Any) -> None:
    nowhere = "http://127.0.0.1:9"
    # It is in the folder of the settings like a real one, because other trusted files are next to it.
    ca_file = Path(shutil.copy(certifi.where(), settings.confdir / "ca.pem"))
    ready(serving.Addresses(nowhere, nowhere, nowhere, ca_file))
    await stop.wait()
