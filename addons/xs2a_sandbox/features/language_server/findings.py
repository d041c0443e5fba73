"""Finds the problems in files, as `lint` does, and the words of the bank that they describe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from xs2a_sandbox.bank import loading
from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.bundled import bundled, dialects
from xs2a_sandbox.cassette.dialect.layers import Interface, read
from xs2a_sandbox.cassette.reader import cassette_schema
from xs2a_sandbox.config import Settings, load_settings
from xs2a_sandbox.config.settings import FILE
from xs2a_sandbox.documents import Schemas, yaml_reader
from xs2a_sandbox.documents.json_schema import Schema, bundled_schema
from xs2a_sandbox.errors import Problem, Unreadable
from xs2a_sandbox.features.authoring.lint import check_files
from xs2a_sandbox.features.authoring.lint_members import Members
from xs2a_sandbox.features.language_server.names import read_names
from xs2a_sandbox.features.language_server.words import BankWords

type FileKind = Literal["cassette", "testdata", "config"]


@dataclass(frozen=True, slots=True)
class LintTarget:
    """What to check for a file: a dialect, or the configured one, and the file itself if that bank does not use it."""

    dialect: str | None
    path: Path | None


@dataclass(frozen=True, slots=True)
class Findings:
    problems: Sequence[Problem]
    bank: BankWords | None
    """None if not even the dialect can be read."""


def kind_of(file: Path, text: str) -> FileKind | None:
    """Return the kind of a YAML file, or None if it is not one of ours."""
    if file.name == FILE:
        return "config"
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), None)
    if first is None:
        return "cassette" if "cassettes" in file.parts else None
    return next((kind for kind in ("cassette", "testdata") if first.startswith(f"{kind}:")), None)


def schema_of(kind: FileKind) -> Schema:
    return cassette_schema() if kind == "cassette" else bundled_schema(kind)


def check_text(file: Path, text: str, kind: FileKind) -> Sequence[Problem]:
    """Return the problems that the text alone shows: mistakes in YAML, and violations of the schema."""
    try:
        document = yaml_reader.parse(text, file)
    except Unreadable as unreadable:
        return unreadable.problems
    is_empty = document.value is None and kind == "config"
    return [] if is_empty else yaml_reader.complaints(document, schema_of(kind))


def dialect_of(file: Path) -> str | None:
    """Return the dialect whose folder contains the file."""
    for folder in (Path.cwd() / loading.OWN, bundled("cassettes")):
        if file.is_relative_to(folder.resolve()) and folder.is_dir():
            name = file.relative_to(folder.resolve()).parts[0]
            return name if name in dialects(folder) else None
    return None


def target_of(file: Path, flags: Mapping[str, Any]) -> LintTarget:
    """Return what to check for a file. Raises UserMistake if the settings cannot be used."""
    file = file.resolve()
    dialect = dialect_of(file)
    places = loading.places(_settings(flags, dialect))
    is_used = any(file.is_relative_to(place.resolve()) for place in places)
    return LintTarget(dialect, None if is_used else file)


def examine(target: LintTarget, flags: Mapping[str, Any]) -> Findings:
    """Check everything that the bank is made of, and the target's own file. Raises UserMistake, as `target_of`."""
    settings = _settings(flags, target.dialect)
    paths = [target.path] if target.path else []
    files = [loading.read(settings, paths, real) for real in settings.real_banks()]
    return Findings(check_files(settings, files), _bank(files[-1], settings))


def _settings(flags: Mapping[str, Any], dialect: str | None) -> Settings:
    return load_settings({**flags, "dialect": dialect} if dialect else flags)


def _bank(files: loading.LoadedFiles, settings: Settings) -> BankWords | None:
    interface = files.interface or _read_dialect(settings, files.schemas)
    if interface is None:
        return None
    collections = files.testdata.collections if files.testdata else {}
    members = Members(interface, collect_handlers(), collections)
    return BankWords(read_names(interface, files.schemas), members.roots, interface.entry)


def _read_dialect(settings: Settings, schemas: Schemas) -> Interface | None:
    """Read the dialect only, because the cases above it have mistakes."""
    try:
        return read(loading.layers(settings)[:1], schemas, collect_handlers())
    except Unreadable:
        return None
