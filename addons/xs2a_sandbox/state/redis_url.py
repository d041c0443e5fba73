"""Parses the URL of a Redis and the part of it that belongs to this sandbox."""

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

SCHEMES = {"redis": "redis", "rediss": "rediss", "valkey": "redis", "valkeys": "rediss"}
"""The URL schemes, with their names in the client library. Those that end in s use TLS."""

_OPTIONS = ("prefix", "ca", "cert", "key")
_PREFIX = re.compile(r"[A-Za-z0-9-]{1,64}")


class RedisUrl(NamedTuple):
    """The place of the state. `text` is the URL without the password, for messages."""

    url: str
    text: str
    prefix: str | None
    ca: str | None
    cert: str | None
    key: str | None

    @classmethod
    def read(cls, written: str) -> "RedisUrl":
        """Parse a URL. Raises ValueError with the mistake."""
        parts = urlsplit(written)
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        database = parts.path.strip("/")
        if parts.scheme not in SCHEMES or not parts.hostname or parts.fragment or parts.port == 0:
            raise ValueError("it is not a Redis URL")
        if database and not (database.isascii() and database.isdigit()):
            raise ValueError(f"its database must be a number, not {database!r}")
        if unknown := sorted(options.keys() - set(_OPTIONS)):
            raise ValueError(f"its query contains {unknown[0]!r}; allowed: {', '.join(_OPTIONS)}")
        if not _PREFIX.fullmatch(options.get("prefix", "x")) or not all(options.values()):
            raise ValueError("a prefix can contain only letters, digits and hyphens; ca, cert and key must be files")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        address = f"{host}:{parts.port or 6379}"
        secret = f"{parts.netloc.rpartition('@')[0]}@" if parts.username or parts.password else ""
        user = f"{unquote(parts.username)}@" if parts.username else ""
        query = f"?{parts.query}" if parts.query else ""
        return cls(
            f"{SCHEMES[parts.scheme]}://{secret}{address}/{database or 0}",
            f"{parts.scheme}://{user}{address}/{database or 0}{query}",
            *(options.get(name) for name in _OPTIONS),
        )


def is_in_redis(state: str) -> bool:
    """Return whether the setting `state` names a Redis."""
    return state.partition(":")[0] in SCHEMES
