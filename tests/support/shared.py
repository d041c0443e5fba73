"""Data of other projects, which exist next to the checkout only in the project's own CI."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("XS2A_SHARED") or Path(__file__).resolve().parents[3] / "shared")


def needs_shared(path: str) -> pytest.MarkDecorator:
    """Skip a test if the file or folder in `shared` is missing."""
    return pytest.mark.skipif(not (SHARED / path).exists(), reason=f"{SHARED / path} is not there")
