"""Exchanges that other programs have kept, and HAR documents: those of browsers and other proxies."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from xs2a_sandbox import own_file
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.har import Entry, from_har

LARGEST = 512 * 1024 * 1024
"""Bytes of a file of JSON."""

NOWHERE = "https://bank.invalid"
"""The bank of exchanges that do not say where they went."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """`left_out` names what cannot be an exchange, and why; `redacted` is the fingerprint of the key, if it was."""

    entries: tuple[Entry, ...]
    left_out: tuple[str, ...] = ()
    redacted: str | None = None


def read_json(file: Path, *, folder: Path | None = None) -> Any:
    """Numbers with their digits. Raises ConfigError, also for a file outside of `folder` if one is given."""
    try:
        return json.loads(own_file.read(file, folder=folder, limit=LARGEST), parse_float=Decimal)
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: this is no JSON: {error}") from None


def read_har(value: Any, file: Path) -> Foreign:
    """Raises ConfigError with the place of the first mistake."""
    log = value.get("log") if isinstance(value, Mapping) else None
    listed = log.get("entries") if isinstance(log, Mapping) else None
    if not isinstance(listed, list):
        raise ConfigError(f"{file}: this is no HAR document: log.entries is no list")
    entries, left_out = [], []
    for number, one in enumerate(listed):
        if _went_unanswered(one):
            left_out.append(f"log.entries[{number}]: there was no answer")
            continue
        try:
            entries.append(from_har(one))
        except ValueError as error:
            raise ConfigError(f"{file}: log.entries[{number}]: {error}") from None
    redacted = log.get("_redacted") if isinstance(log, Mapping) else None
    return Foreign(tuple(entries), tuple(left_out), redacted if isinstance(redacted, str) else None)


def _went_unanswered(one: Any) -> bool:
    """Browsers write a status of 0 where a request was blocked or given up."""
    answer = one.get("response") if isinstance(one, Mapping) else None
    return isinstance(answer, Mapping) and answer.get("status") in (0, -1)
