"""Results of a long check, stored line by line, so that it can be interrupted and resumed, or be done in parts."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path


class KeptResults:
    """Results by key in a file of JSON lines, which may be concatenated from several files.

    Only results with the same `sources` count, and the last one for a key counts.
    """

    def __init__(self, file: Path, sources: str) -> None:
        self._file = file
        self._sources = sources

    def read(self) -> Mapping[str, str]:
        if not self._file.exists():
            return {}
        entries = [entry for line in self._file.read_text().splitlines() if (entry := _entry(line))]
        return {key: result for sources, key, result in entries if sources == self._sources}

    def add(self, key: str, result: str) -> None:
        """Write one result immediately. If the last line is incomplete, start a new one."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        begun = self._file.exists() and not self._file.read_bytes().endswith(b"\n") and self._file.stat().st_size > 0
        with self._file.open("a") as lines:
            lines.write(("\n" if begun else "") + json.dumps([self._sources, key, result]) + "\n")


def _entry(line: str) -> tuple[str, str, str] | None:
    try:
        sources, key, result = json.loads(line)
    except ValueError:
        return None
    return sources, key, result


def digest(files: Iterable[Path], root: Path) -> str:
    """Return a hash of the contents of all these files, and of their paths below the root."""
    whole = hashlib.sha256()
    for file in sorted(files):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        whole.update(f"{file.relative_to(root)} {content}\n".encode())
    return whole.hexdigest()[:16]


def every(part: str) -> slice:
    """Return the slice for N/M: every Mth element, starting with the Nth."""
    first, step = map(int, part.split("/"))
    if not 1 <= first <= step:
        raise ValueError(f"{part} is not a valid part; with eight parts, use 1/8 to 8/8")
    return slice(first - 1, None, step)
