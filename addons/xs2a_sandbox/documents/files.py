"""Writes files whole or not at all, and keeps files with secrets readable by their owner only."""

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
    """Raises ConfigError with the place and the reason where it cannot be written."""
    try:
        yield
    except OSError as error:
        raise ConfigError(f"cannot write {place}: {error.strerror or error}") from None


def sync_data(descriptor: int) -> None:
    """Returns once what was written is on disk. Raises OSError."""
    # macOS has no fdatasync.
    getattr(os, "fdatasync", os.fsync)(descriptor)


def replace_file(file: Path, content: bytes) -> None:
    """All of it or nothing. A new file is its owner's to read. Raises ConfigError."""
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
"""Bytes that are read of what should be a secret."""

_OTHERS = 0o077

logger = logging.getLogger(__name__)


def ensure_folder(folder: Path) -> None:
    """Makes a folder for secrets where there is none, and closes it to others, but not one that a link leads to.

    Raises:
        OSError: it cannot be had.
        ConfigError: a link leads to it, and others may look into it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_link = folder.is_symlink()
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if is_link else os.O_NOFOLLOW))
    try:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        if is_link and mode & _OTHERS:
            raise ConfigError(
                f"the folder {folder} is a link to one that others may look into (mode {mode:04o}): "
                f"chmod 700 {folder.resolve()}, or name another one: --confdir DIR"
            )
        if mode & _OTHERS:
            os.fchmod(descriptor, mode & ~_OTHERS)
    finally:
        os.close(descriptor)


def ensure_file(file: Path, what: str, make: Callable[[], str], fits: Callable[[str], object]) -> str:
    """Its text; what `make` gives when there is none yet. Raises ConfigError.

    `what` names it in messages, and `fits` knows such a secret from other text.
    """
    folder = file.parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.path.lexists(file):
            with TemporaryDirectory(dir=folder) as workshop:
                made = Path(workshop) / file.name
                with os.fdopen(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as written:
                    written.write(make() + "\n")
                # Of several processes that start at once the first one wins.
                with suppress(FileExistsError):
                    os.link(made, file)
    except OSError as error:
        raise ConfigError(
            f"cannot keep the {what} in {folder}: {error.strerror}. Name another directory: --confdir DIR"
        ) from error
    text = read_file(file, what, fits)
    if text is None:
        raise ConfigError(f"{file} is gone as soon as it is made. Name another directory: --confdir DIR")
    return text


def read_file(file: Path, what: str, fits: Callable[[str], object]) -> str | None:
    """Its text without blanks around it; None where there is no such file. Raises ConfigError.

    A secret that others could read is its owner's alone from then on. Nothing else is changed: not a file that only
    has the name of one, not one that a link leads to.
    """
    try:
        # Nobody waits for the other end of a pipe.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return _read(descriptor, file, what, fits)
        finally:
            os.close(descriptor)
    except FileNotFoundError as error:
        if file.is_symlink():
            raise ConfigError(f"the {what} {file} is a link that leads nowhere: remove it") from error
        return None
    except OSError as error:
        raise ConfigError(f"the {what} {file} cannot be read: {error.strerror}") from None


def _read(descriptor: int, file: Path, what: str, fits: Callable[[str], object]) -> str:
    opened, link = os.fstat(descriptor), os.lstat(file)
    is_link = stat.S_ISLNK(link.st_mode)
    if not stat.S_ISREG(opened.st_mode):
        raise ConfigError(f"the {what} {file} cannot be read: it is no regular file")
    if is_link and link.st_uid not in (0, os.geteuid()):
        raise ConfigError(f"the {what} {file} is a link that another user has made (uid {link.st_uid}): remove it")
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
            "the %s %s could be read by others (mode %04o); it is yours alone now, but if others use this machine, "
            "remove it: a new one is made at the next start",
            what,
            file,
            mode,
        )
    return text
