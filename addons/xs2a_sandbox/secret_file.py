"""A file with a secret: made once, whoever starts first, and readable by its owner only."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from xs2a_sandbox.errors import ConfigError


def ensure_file(file: Path, what: str, make: Callable[[], str]) -> str:
    """Its text; what `make` gives when there is none yet. `what` names it in messages. Raises ConfigError."""
    folder = file.parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            with TemporaryDirectory(dir=folder) as workshop:
                made = Path(workshop) / file.name
                with os.fdopen(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as written:
                    written.write(make() + "\n")
                # Of several processes that start at once the first one wins.
                with suppress(FileExistsError):
                    os.link(made, file)
        if file.stat().st_mode & 0o077:
            file.chmod(0o600)
    except OSError as error:
        raise ConfigError(
            f"cannot keep the {what} in {folder}: {error.strerror}. Name another directory: --confdir DIR"
        ) from error
    text = read_file(file, what)
    if text is None:
        raise ConfigError(f"{file} is gone as soon as it is made. Name another directory: --confdir DIR")
    return text


def read_file(file: Path, what: str) -> str | None:
    """Its text without blanks around it; None where there is no such file. Raises ConfigError."""
    try:
        return file.read_text(errors="replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"the {what} {file} cannot be read: {error.strerror}") from None
