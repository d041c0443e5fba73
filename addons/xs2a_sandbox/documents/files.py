"""Writes files atomically, and keeps files with secrets readable only by their owner."""

import logging
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory

from xs2a_sandbox.errors import ConfigError


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Convert an OSError while writing to a ConfigError with the place and the reason."""
    try:
        yield
    except OSError as error:
        raise ConfigError(f"cannot write {place}: {error.strerror or error}") from None


def sync_data(descriptor: int) -> None:
    """Wait until written data is on disk. Raises OSError."""
    # macOS does not have fdatasync.
    getattr(os, "fdatasync", os.fsync)(descriptor)


def replace_file(file: Path, content: bytes) -> None:
    """Write the file completely or not at all. Only its owner can read a new file. Raises ConfigError."""
    with writing(file):
        mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.", delete=False) as made:
            try:
                made.write(content)
                made.flush()
                os.fsync(made.fileno())
                os.chmod(made.name, mode)
                os.replace(made.name, file)
            except BaseException:
                os.unlink(made.name)
                raise


_LONGEST = 64 * 1024
"""The most bytes read from a file with a secret."""

_OTHERS = 0o077

logger = logging.getLogger(__name__)


def ensure_folder(folder: Path) -> None:
    """Make a private folder for secrets. An existing folder is made private, unless a link leads to it.

    Raises:
        OSError: the folder cannot be made or opened.
        ConfigError: a link leads to it, and other users can read it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_link = folder.is_symlink()
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if is_link else os.O_NOFOLLOW))
    try:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        if is_link and mode & _OTHERS:
            raise ConfigError(
                f"the folder {folder} is a link to a folder that other users can read (mode {mode:04o}): "
                f"chmod 700 {folder.resolve()}, or choose another one with --confdir DIR"
            )
        if mode & _OTHERS:
            os.fchmod(descriptor, mode & ~_OTHERS)
    finally:
        os.close(descriptor)


def ensure_file(file: Path, what: str, make: Callable[[], str], fits: Callable[[str], object]) -> str:
    """Return the text of the file. If it does not exist, it is created with the text of `make`. Raises ConfigError.

    `what` is its name in messages; `fits` recognises a valid secret.
    """
    folder = file.parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.path.lexists(file):
            with TemporaryDirectory(dir=folder) as workshop:
                made = Path(workshop) / file.name
                with os.fdopen(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as written:
                    written.write(make() + "\n")
                # If several processes start at once, the first one wins.
                with suppress(FileExistsError):
                    os.link(made, file)
    except OSError as error:
        raise ConfigError(
            f"cannot store the {what} in {folder}: {error.strerror}. Choose another folder with --confdir DIR"
        ) from error
    text = read_file(file, what, fits)
    if text is None:
        raise ConfigError(f"{file} disappears as soon as it is created. Choose another folder with --confdir DIR")
    return text


def read_file(file: Path, what: str, fits: Callable[[str], object]) -> str | None:
    """Return the text of the file without surrounding blanks, or None if it does not exist. Raises ConfigError.

    A secret that others could read is made private. Nothing else is changed: not a file with other content under this
    name, and not the target of a link.
    """
    try:
        # Do not wait for the other end of a pipe.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return _read(descriptor, file, what, fits)
        finally:
            os.close(descriptor)
    except FileNotFoundError as error:
        if file.is_symlink():
            raise ConfigError(f"the {what} {file} is a broken symbolic link; remove it") from error
        return None
    except OSError as error:
        raise ConfigError(f"the {what} {file} cannot be read: {error.strerror}") from None


def _read(descriptor: int, file: Path, what: str, fits: Callable[[str], object]) -> str:
    opened, link = os.fstat(descriptor), os.lstat(file)
    is_link = stat.S_ISLNK(link.st_mode)
    if not stat.S_ISREG(opened.st_mode):
        raise ConfigError(f"the {what} {file} cannot be read: it is not a regular file")
    if is_link and link.st_uid not in (0, os.geteuid()):
        raise ConfigError(f"the {what} {file} is a link that another user created (uid {link.st_uid}); remove it")
    text = os.read(descriptor, _LONGEST).decode(errors="replace").strip()
    mode = stat.S_IMODE(opened.st_mode)
    if mode & _OTHERS and fits(text):
        if is_link or opened.st_uid != os.geteuid():
            raise ConfigError(
                f"the {what} {file} can be read by others (mode {mode:04o}), and it is "
                f"{'behind a link' if is_link else 'not yours'}: chmod 600 {file.resolve()}"
            )
        os.fchmod(descriptor, mode & ~_OTHERS)
        logger.warning(
            "the %s %s could be read by others (mode %04o); now only you can read it, but if others use this "
            "machine, remove it: the next start creates a new one",
            what,
            file,
            mode,
        )
    return text
