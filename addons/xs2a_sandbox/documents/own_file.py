"""Reads files that belong to a folder: only regular files inside it, even through links, and of limited size.

Cassettes, recordings and exports also come from other people. The files that they name are read only here, so that they
cannot be files outside of the folder, files that block, or files that fill the memory.
"""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

LARGEST = 64 * 1024 * 1024
"""The default limit for the bytes of a file, which is also the limit of the doors."""

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def read(file: Path, *, folder: Path | None = None, limit: int = LARGEST) -> bytes:
    """Return the content of a regular file, which must be in `folder` if one is given.

    Raises:
        OSError: its `strerror` describes the problem, including problems that the operating system does not report.
    """
    with open_file(file, folder=folder) as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit // (1024 * 1024)} MiB", str(file))
    return content


def open_file(file: Path, *, folder: Path | None = None) -> BinaryIO:
    """Open the file for reading in pieces, with the same checks as `read`."""
    try:
        real = file.resolve()
        inside = folder is None or real.is_relative_to(folder.resolve())
    except RuntimeError as error:  # circular links
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(file)) from error
    if not inside:
        raise OSError(errno.EPERM, f"it resolves to {real}, outside {folder}: copy it into that folder", str(file))
    # Check the file before opening it: opening a device may have effects. If a pipe replaces the file in between,
    # the flags keep it from blocking.
    _check_regular(real.stat(), file)
    descriptor = os.open(real, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        _check_regular(os.fstat(descriptor), file)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _check_regular(status: os.stat_result, file: Path) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise OSError(errno.EINVAL, f"it is not a regular file but {kind}", str(file))
