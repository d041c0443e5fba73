import errno
import os
from pathlib import Path

import pytest

from tests.support.small_disk import small_disk
from xs2a_sandbox.recording.reserve import DiskReservation


def room(directory: Path) -> int:
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize


def test_space_is_reserved_without_a_visible_file(tmp_path: Path) -> None:
    reserve = DiskReservation(tmp_path)
    reserve.grow(1_000_000)
    assert reserve.size == 1_000_000
    assert list(tmp_path.iterdir()) == []
    reserve.grow(10)
    assert reserve.size == 1_000_000
    reserve.close()


def test_the_requested_space_is_released(tmp_path: Path) -> None:
    reserve = DiskReservation(tmp_path)
    reserve.grow(1_000_000)
    reserve.give(100_000)
    assert 0 < reserve.size <= 900_000
    reserve.give(5_000_000)
    assert reserve.size == 0
    reserve.close()


def test_a_reservation_is_kept_on_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 512) as disk:
        reserve = DiskReservation(disk)
        reserve.grow(100_000)
        left = room(disk)
        with pytest.raises(OSError, match="No space left") as caught:
            reserve.grow(10_000_000)
        assert caught.value.errno == errno.ENOSPC
        assert reserve.size == 100_000
        assert room(disk) == left
        reserve.give(100_000)
        assert room(disk) > left
        reserve.close()


def test_without_support_by_the_system_the_space_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "posix_fallocate")
    reserve = DiskReservation(tmp_path)
    reserve.grow(3_000_001)
    assert os.fstat(reserve._descriptor).st_size == 3_000_001
    assert os.fstat(reserve._descriptor).st_blocks * 512 >= 3_000_001
    reserve.close()
