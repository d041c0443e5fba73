"""Reads recordings, and restores the real values behind their pseudonyms."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording import har_log
from xs2a_sandbox.recording.har import read_har, read_json

if TYPE_CHECKING:
    from xs2a_sandbox.redaction.real_values import Depseudonymizer
    from xs2a_sandbox.redaction.vault import OpenVault


@dataclass(frozen=True, slots=True)
class Tape:
    """The exchanges of a recording.

    For each exchange, `keys` has the fingerprint of the key for its pseudonyms, or None, and `places` its place in a
    file.
    """

    path: Path
    entries: tuple[Exchange, ...]
    keys: tuple[str | None, ...]
    places: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return self.path if self.path.is_dir() else self.path.parent

    @property
    def is_redacted(self) -> bool:
        return all(self.keys)


@dataclass(frozen=True, slots=True)
class RealTape:
    """A recording's exchanges with real values. `lacking` are the positions of requests that cannot be sent again,
    because they contained credentials.
    """

    entries: tuple[Exchange, ...]
    lacking: frozenset[int]


def read_tape(path: Path) -> Tape:
    """Return the exchanges of a recording's folder, of one of its files, or of a HAR document.

    Raises:
        ConfigError: there is nothing to read.
    """
    if path.suffix == ".har":
        document = read_har(read_json(path), path)
        numbered = tuple(f"{path.name}, exchange {number}" for number in range(1, len(document.entries) + 1))
        return Tape(path, document.entries, (document.redacted,) * len(document.entries), numbered)
    files = har_log.raw_files(path) if path.is_dir() else [path]
    if not files:
        raise ConfigError(
            f"there is no recording in {path}; choose a folder that contains raw/*.har.jsonl, or one of these files"
        )
    if not path.is_dir() and not har_log.is_raw(path):
        form = (
            "choose a folder that contains raw/*.har.jsonl, one of these files, or a HAR file whose name ends in .har"
        )
        raise ConfigError(f"{path} is not a recording: {form}")
    entries: list[Exchange] = []
    keys: list[str | None] = []
    places: list[str] = []
    for file in files:
        key = har_log.read_head(file).get("redacted")
        recorded = har_log.read_raw(file)
        entries += recorded
        keys += [str(key) if key else None] * len(recorded)
        places += [f"{file.name}, exchange {number}" for number in range(1, len(recorded) + 1)]
    return Tape(path, tuple(entries), tuple(keys), tuple(places))


def join_tapes(tapes: Sequence[Tape]) -> Tape:
    """Return the exchanges of several recordings as one, the oldest recording first. Their places have the folder."""
    if len(tapes) == 1:
        return tapes[0]
    ordered = sorted((tape for tape in tapes if tape.entries), key=lambda tape: tape.entries[0].time)
    return Tape(
        tapes[0].path,
        tuple(entry for tape in ordered for entry in tape.entries),
        tuple(key for tape in ordered for key in tape.keys),
        tuple(str(tape.folder / place) for tape in ordered for place in tape.places),
    )


def as_sent(tape: Tape, vault: "OpenVault", restorer: "Depseudonymizer") -> RealTape:
    """Return the exchanges with the vault's values instead of their pseudonyms.

    Raises:
        ConfigError: the vault does not know the recording, or lacks some of its requests.
    """
    from xs2a_sandbox.redaction.vault import digest

    if unknown := sorted({key for key in tape.keys if key and key not in vault.keys}):
        raise ConfigError(
            f"{tape.path} was redacted with the key {', '.join(unknown)}, and the vault {vault.file} does not have "
            f"its real values: nothing was sent. {_WAYS}"
        )
    names = [key and digest(entry) for entry, key in zip(tape.entries, tape.keys, strict=True)]
    missing = [name for name in names if name and name not in vault.requests]
    if missing:
        raise ConfigError(
            f"the vault {vault.file} lacks {len(missing)} of the {len(names)} requests of {tape.path} as they were "
            f"sent: nothing was sent now. {_WAYS}"
        )
    entries, lacking = [], set()
    for position, (entry, key, name) in enumerate(zip(tape.entries, tape.keys, names, strict=True)):
        if not (key and name):
            entries.append(entry)
            continue
        real = vault.requests[name]
        entries.append(restorer.knowing(vault.values.get(key, {})).recorded(entry, real))
        if not real.is_whole:
            lacking.add(position)
    return RealTape(tuple(entries), frozenset(lacking))


def without_vault(tapes: Sequence[Tape], file: Path) -> ConfigError:
    """Return the error for redacted recordings without a vault."""
    return without_values(", ".join(str(tape.path) for tape in tapes if any(tape.keys)), file)


def without_values(names: str, file: Path) -> ConfigError:
    """Return the error for redacted exchanges that no vault knows."""
    return ConfigError(
        f"{names}: nothing was sent: the recording is redacted, and its real values are not in a vault at {file}. "
        f"{_WAYS}"
    )


_WAYS = (
    "Compare on the machine, and with the --confdir, that the recording was made with; or export the vault there "
    "(xs2a-sandbox vault export FILE) and use it here (--vault FILE); or record again. Without a bank (--offline) "
    "no vault is needed"
)
