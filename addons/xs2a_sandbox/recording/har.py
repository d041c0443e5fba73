"""Reads exchanges from files of other programs, such as HAR documents of browsers and proxies."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from xs2a_sandbox.documents import own_file
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http import browser_files
from xs2a_sandbox.http.body import exact_number
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.har import from_har

LARGEST = 256 * 1024 * 1024
"""The most bytes of a JSON file, and of the exchanges made from any file."""

DEEPEST = 250
"""The deepest nesting of objects and lists."""

_MOST_VALUES = 10_000_000
"""The most values, because a value takes up to fifty times as much memory as in the file."""

_LONGEST_TEXT = 16 * 1024 * 1024
"""The longest text after inserting variables. They may refer to each other and double the length at each step."""

NOWHERE = "https://bank.invalid"
"""The bank of exchanges that do not say where they were sent."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """`left_out` names entries that cannot be exchanges, with the reason.

    `redacted` is the fingerprint of the key, if any.
    """

    entries: tuple[Exchange, ...]
    left_out: tuple[str, ...] = ()
    redacted: str | None = None


class NoExchange(Exception):
    """Raised with the reason why an entry of another program cannot be an exchange."""


class Room:
    """Limits the total size of the exchanges of one import, because a small file can expand to a lot."""

    def __init__(self) -> None:
        self._left = LARGEST

    def take(self, size: int) -> None:
        """Count a size. Raises ValueError if the total is too large."""
        self._left -= size
        if self._left < 0:
            raise ValueError(f"with this entry the exchanges exceed {LARGEST // (1024 * 1024)} MiB; import it in parts")


def fill(pattern: re.Pattern[str], text: str, value: Callable[[re.Match[str]], str], room: Room) -> str:
    """Insert values at the places that `pattern` matches. Raises ValueError if the text becomes too long."""
    size = 0
    for place in pattern.finditer(text):
        size += len(value(place))
        if size > _LONGEST_TEXT:
            raise ValueError(f"with its variables filled in, it has more than {_LONGEST_TEXT} characters")
    room.take(size)
    return pattern.sub(value, text)


def read_json(file: Path, *, folder: Path | None = None) -> Any:
    """Read JSON, keeping the digits of numbers. Raises ConfigError, also for a file outside of `folder`."""
    try:
        content = own_file.read(file, folder=folder, limit=LARGEST)
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from None
    if sum(map(content.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        raise ConfigError(f"{file} has more than {_MOST_VALUES:,} values; import it in parts")
    try:
        value = json.loads(content, parse_float=exact_number, parse_int=_integer)
    except RecursionError:
        raise _too_deep(file) from None
    except ValueError as error:
        raise ConfigError(f"{file} is not JSON: {error}") from None
    _check_depth(value, file)
    return value


def _integer(text: str) -> int | Decimal:
    """Parse an integer. Those of more than 64 bits become decimals, because they could not be written as JSON again."""
    return int(text) if len(text) < len(str(2**63)) else Decimal(text)


def _check_depth(value: Any, file: Path) -> None:
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [item for item in level if isinstance(item, dict | list)]
        if not level:
            return
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)]
    raise _too_deep(file)


def _too_deep(file: Path) -> ConfigError:
    return ConfigError(f"{file}: objects and lists are nested more than {DEEPEST} levels deep")


def read_har(value: Any, file: Path) -> Foreign:
    """Read a HAR document. Raises ConfigError with the place of the first mistake."""
    log = value.get("log") if isinstance(value, Mapping) else None
    listed = log.get("entries") if isinstance(log, Mapping) else None
    if not isinstance(listed, list):
        raise ConfigError(f"{file} is not a HAR file: log.entries must be a list")
    entries, left_out = [], []
    for number, entry in enumerate(listed):
        answer = entry.get("response") if isinstance(entry, Mapping) else None
        # Browsers write status 0 if a request was blocked or cancelled.
        if isinstance(answer, Mapping) and answer.get("status") in (0, -1):
            left_out.append(f"log.entries[{number}]: it has no response")
            continue
        try:
            exchange = from_har(entry)
        except ValueError as error:
            raise ConfigError(f"{file}: log.entries[{number}]: {error}") from None
        if browser_files.is_browser_file(exchange.method, exchange.target):
            left_out.append(f"log.entries[{number}]: only browsers request {exchange.target}")
            continue
        entries.append(exchange)
    redacted = log.get("_redacted") if isinstance(log, Mapping) else None
    return Foreign(tuple(entries), tuple(left_out), redacted if isinstance(redacted, str) else None)
