"""Reserves disk space that other programs cannot take."""

import os
from pathlib import Path
from tempfile import mkstemp

_BLOCK = 64 * 1024
"""Bytes reserved beyond the size of a file, because file systems allocate blocks."""
_ZEROS = bytes(1024 * 1024)


class DiskReservation:
    """`size` bytes in `directory`, in a file without a name, so that they are freed however the process ends."""

    def __init__(self, directory: Path) -> None:
        self.size = 0
        self._descriptor, name = mkstemp(prefix=".reserve-", dir=directory)
        os.unlink(name)

    def grow(self, size: int) -> None:
        """Grow to at least `size`. Raises OSError if there is no space; the old size then remains."""
        if size <= self.size:
            return
        try:
            _allocate(self._descriptor, self.size, size - self.size)
        except OSError:
            os.ftruncate(self._descriptor, self.size)
            raise
        self.size = size

    def give(self, size: int) -> None:
        """Release `size` bytes for use elsewhere, or the remaining ones if there are fewer."""
        self.size = max(0, self.size - size - _BLOCK)
        os.ftruncate(self._descriptor, self.size)

    def close(self) -> None:
        os.close(self._descriptor)


def _allocate(descriptor: int, start: int, size: int) -> None:
    # macOS does not have posix_fallocate.
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, start, size)
        return
    os.lseek(descriptor, start, os.SEEK_SET)
    while size > 0:
        size -= os.write(descriptor, _ZEROS[:size])
