"""A part of the soak: after the first tenth, neither memory nor open files grow."""

from pathlib import Path

import pytest

from tests.wide.soak import soak


@pytest.mark.slow
def test_memory_and_open_files_do_not_grow(tmp_path: Path) -> None:
    samples = list(soak(40_000, tmp_path))
    early, last = samples[len(samples) // 4], samples[-1]
    # After so few requests, caches are not full yet.
    assert last.megabytes < 1.1 * early.megabytes
    assert last.files <= early.files + 4
