"""Reads what an app has stored, without knowing the app: rows of SQLite, objects of JSON, lines of other text files."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LARGEST = 20_000_000
"""The most bytes of all files; more are not read."""
_MOST = 20_000
"""The most records of a run; of more, none are known."""
_SQLITE = b"SQLite format 3\0"
_SEPARATORS = re.compile(r'[\s,;|"]+')


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """Values that the app keeps together, as texts by member. `place` is the file, for SQLite with the table."""

    place: str
    values: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        return "\n".join(value for _, value in self.values)


def read_records(folder: Path) -> tuple[StoredRecord, ...]:
    """Return the records in the files of the folder; none if there are too many. Logs are left out."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and file.suffix != ".log"]
    if sum(file.stat().st_size for file in files) > _LARGEST:
        return ()
    records: list[StoredRecord] = []
    for file in files:
        with suppress(OSError, UnicodeDecodeError, sqlite3.Error):
            records += _read(file, str(file.relative_to(folder)))
        if len(records) > _MOST:
            return ()
    return tuple(records)


def _read(file: Path, place: str) -> list[StoredRecord]:
    """Return the records of a file. Raises OSError, UnicodeDecodeError and sqlite3.Error."""
    with file.open("rb") as opened:
        if opened.read(len(_SQLITE)) == _SQLITE:
            return list(_rows(file, place))
    text = file.read_text(encoding="utf-8")
    with suppress(ValueError, RecursionError):
        return [StoredRecord(place, values) for values in _objects(json.loads(text))]
    return [record for line in text.splitlines() if line.strip() for record in _line(line, place)]


def _rows(file: Path, place: str) -> Iterator[StoredRecord]:
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
        database.text_factory = lambda content: content.decode(errors="replace")
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        for (table,) in tables.fetchall():
            quoted = table.replace('"', '""')
            rows = database.execute(f'SELECT * FROM "{quoted}"')
            names = [column[0] for column in rows.description]
            for row in rows.fetchmany(_MOST + 1):
                pairs = zip(names, row, strict=True)
                yield StoredRecord(
                    f"{place}: {table}",
                    tuple((name, str(value)) for name, value in pairs if isinstance(value, (str, int, float))),
                )


def _objects(value: Any) -> Iterator[tuple[tuple[str, str], ...]]:
    """Yield the values of each object, without those of the objects in lists and mappings inside it."""
    inside: list[Any] = []
    if values := tuple(_own_values(value, "", inside)):
        yield values
    for part in inside:
        yield from _objects(part)


def _own_values(value: Any, member: str, inside: list[Any]) -> Iterator[tuple[str, str]]:
    match value:
        case dict() if _is_mapping(value):
            inside += [{"": key, **part} for key, part in value.items()]
        case dict():
            for name, part in value.items():
                yield from _own_values(part, f"{member}.{name}" if member else name, inside)
        case list():
            inside += [part for part in value if isinstance(part, (dict, list))]
            yield from ((member, str(part)) for part in value if isinstance(part, (str, int, float)))
        case str() | int() | float():
            yield member, str(value)


def _is_mapping(value: dict[str, Any]) -> bool:
    """Return whether the object has objects of one kind by key."""
    parts = list(value.values())
    return len(parts) > 1 and all(isinstance(part, dict) and part.keys() == parts[0].keys() for part in parts)


def _line(line: str, place: str) -> Iterator[StoredRecord]:
    with suppress(ValueError, RecursionError):
        if isinstance(value := json.loads(line), (dict, list)):
            yield from (StoredRecord(place, values) for values in _objects(value))
            return
    words = [word for word in _SEPARATORS.split(line) if word]
    yield StoredRecord(place, (("line", line), *((f"column {number}", word) for number, word in enumerate(words, 1))))
