"""The secret that opens the control interface: made once, kept where only its owner reads it."""

import re
import secrets
from pathlib import Path

from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.secret_file import ensure_file, read_file

FILE = "admin-token"

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{16,512}=*")
_WHAT = "admin token"


def ensure_token(confdir: Path) -> str:
    """The token in `confdir`; made when there is none yet. Raises ConfigError."""
    token = ensure_file(confdir / FILE, _WHAT, lambda: secrets.token_urlsafe(32), _TOKEN.fullmatch)
    return _checked(token, confdir)


def read_token(confdir: Path) -> str | None:
    """None where no sandbox has made one. Raises ConfigError for a file that holds something else."""
    token = read_file(confdir / FILE, _WHAT, _TOKEN.fullmatch)
    return None if token is None else _checked(token, confdir)


def _checked(token: str, confdir: Path) -> str:
    if not _TOKEN.fullmatch(token):
        raise ConfigError(f"{confdir / FILE} holds no admin token. Remove it: a new one is made at the next start")
    return token
