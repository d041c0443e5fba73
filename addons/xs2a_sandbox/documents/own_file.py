"""Files that belong to a folder: regular ones that lie in it, wherever links lead, and that end.

Cassettes, recordings and exports come from other people too. What they name is read only here, so that it is never a
file of somebody else's, nothing that waits for a writer, and nothing that fills the memory.
"""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

LARGEST = 64 * 1024 * 1024
"""Bytes of a file, unless another limit is given: as many as the doors can answer with."""

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def read(file: Path, *, folder: Path | None = None, limit: int = LARGEST) -> bytes:
    """The content of a regular file, which lies in `folder` if one is given.

    Raises:
        OSError: its `strerror` says what is wrong, also where that is no failure of the operating system.
    """
    with open_file(file, folder=folder) as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit // (1024 * 1024)} MiB", str(file))
    return content


def open_file(file: Path, *, folder: Path | None = None) -> BinaryIO:
    """Opens the file, to be read in pieces, as `read` does."""
    try:
        real = file.resolve()
        inside = folder is None or real.is_relative_to(folder.resolve())
    except RuntimeError as error:  # links that lead in a circle
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(file)) from error
    if not inside:
        raise OSError(errno.EPERM, f"it leads out of the folder {folder}, to {real}; copy it there", str(file))
    # Looked at before it is opened: to open a device may do something. Opened so that a pipe that has taken its place
    # in between does not wait.
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
        raise OSError(errno.EINVAL, f"it is no regular file but {kind}", str(file))
