"""The secret that opens the control interface: made once, kept where only its owner reads it."""

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from xs2a_sandbox.errors import ConfigError

FILE = "admin-token"

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{16,512}=*")


def ensure_token(confdir: Path) -> str:
    """The token in `confdir`; made when there is none yet. Raises ConfigError."""
    file = confdir / FILE
    try:
        confdir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            with TemporaryDirectory(dir=confdir) as workshop:
                made = Path(workshop) / FILE
                with os.fdopen(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as written:
                    written.write(secrets.token_urlsafe(32) + "\n")
                # Of several processes that start at once the first one wins.
                with suppress(FileExistsError):
                    os.link(made, file)
        if file.stat().st_mode & 0o077:
            file.chmod(0o600)
    except OSError as error:
        raise ConfigError(
            f"cannot keep the admin token in {confdir}: {error.strerror}. Name another directory: --confdir DIR"
        ) from error
    token = read_token(confdir)
    if token is None:
        raise ConfigError(f"{file} is gone as soon as it is made. Name another directory: --confdir DIR")
    return token


def read_token(confdir: Path) -> str | None:
    """None where no sandbox has made one. Raises ConfigError for a file that holds something else."""
    file = confdir / FILE
    try:
        token = file.read_text(errors="replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"the admin token {file} cannot be read: {error.strerror}") from None
    if not _TOKEN.fullmatch(token):
        raise ConfigError(f"{file} holds no admin token. Remove it: a new one is made at the next start")
    return token
