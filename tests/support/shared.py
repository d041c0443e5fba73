"""What others made, which lies next to the checkout where the project's own CI runs, and nowhere else."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("XS2A_SHARED") or Path(__file__).resolve().parents[3] / "shared")


def needs_shared(path: str) -> pytest.MarkDecorator:
    """Skip a test where the file or folder of `shared` is missing."""
    return pytest.mark.skipif(not (SHARED / path).exists(), reason=f"{SHARED / path} is not there")
