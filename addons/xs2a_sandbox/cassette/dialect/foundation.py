"""Dialects that extend another one, and the entries that they remove or change."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from xs2a_sandbox.bundled import NO_DIALECTS, bundled, dialects
from xs2a_sandbox.cassette.evaluation.values import merge_patch
from xs2a_sandbox.cassette.model import Cassette, Extension, Pointer, SourcePlace
from xs2a_sandbox.documents.document import Document
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import Problem

_SECTIONS = {"operations": "operation", "rules": "rule", "errors": "error", "options": "handler"}

type Read = Callable[[Path, Callable[[Document], Document]], list[Cassette]]
"""Reads the cassettes of a folder. The given function may change each document first."""


@dataclass(frozen=True, slots=True)
class Foundation:
    """The dialects below another, lowest first, with their folders.

    `gone` maps each removed entry to the place that removes it.
    """

    folders: tuple[Path, ...] = ()
    layers: tuple[tuple[Cassette, ...], ...] = ()
    gone: Mapping[str, SourcePlace] = field(default_factory=dict)


def foundation(dialect: Sequence[Cassette], folder: Path, read: Read, problems: list[Problem]) -> Foundation:
    """Read the dialects that the one in `folder` extends. Problems are added to `problems`."""
    folders: list[Path] = []
    layers: list[tuple[Cassette, ...]] = []
    notes: list[_Notes] = []
    own: tuple[_Notes, ...] = ()
    left_out: set[str] = set()
    above = [folder.resolve()]
    while extensions := _extensions(dialect, problems):
        base = _folder(extensions[0].dialect, above[-1])
        if base is None or base.resolve() in above:
            problems.append(_explain_unusable(extensions[0], base, above))
            break
        left_out |= _ids(dialect).union(*(extension.without for extension in extensions))
        notes += map(_Notes, extensions)
        own = own or tuple(notes)
        dialect = read(base, partial(_change, notes=notes))
        layers.insert(0, tuple(_without(cassette, left_out, own) for cassette in dialect))
        folders.insert(0, base)
        above.append(base.resolve())
    for note in notes:
        problems += _find_idle(note)
    gone = {id: note.by.place("without", n) for note in notes for n, id in enumerate(note.by.without)}
    return Foundation(tuple(folders), tuple(layers), gone)


def _extensions(dialect: Sequence[Cassette], problems: list[Problem]) -> list[Extension]:
    """Return the extensions of the dialect's files.

    All must extend the same dialect, and no two may change the same entry, because the order of files would decide.
    """
    extensions = [cassette.extends for cassette in dialect if cassette.extends]
    first: dict[tuple[str, str], Extension] = {}
    for other in extensions:
        if other.dialect != extensions[0].dialect:
            text = (
                f"the dialect already extends {extensions[0].dialect}, at {extensions[0].origin.place}; it can "
                "extend only one dialect"
            )
            problems.append(other.origin.problem("extends", text, ("extends",), key=True))
        for section, changes in other.changes.items():
            for name in changes:
                if (earlier := first.setdefault((section, name), other)) is not other:
                    text = f"{name} is already changed at {earlier.place('changes', section, name).place}"
                    problems.append(other.origin.problem("extends", text, ("changes", section, name), key=True))
    return [extension for extension in extensions if extension.dialect == extensions[0].dialect]


def _folder(name: str, above: Path) -> Path | None:
    """Return the folder of the dialect next to the one that extends it, or of the bundled dialect."""
    if name in (*NO_DIALECTS, ".", "..") or "/" in name:
        return None
    places = (folder / name for folder in (above.parent, bundled("cassettes")))
    return next((place for place in places if place.is_dir()), None)


def _explain_unusable(extension: Extension, base: Path | None, above: Sequence[Path]) -> Problem:
    if base is not None:
        names = [path.name for path in above[above.index(base.resolve()) :]]
        way = f", through {', '.join(names[1:])}" if names[1:] else ""
        return extension.origin.problem("extends", f"the dialect {names[0]} extends itself{way}", ("extends",))
    names = [name for name in dialects(above[-1].parent, bundled("cassettes")) if name != above[-1].name]
    hint = did_you_mean(extension.dialect, names) or f"; there are {', '.join(names)}"
    return extension.origin.problem("extends", f"unknown dialect {extension.dialect!r}{hint}", ("extends",))


def _ids(cassettes: Sequence[Cassette]) -> set[str]:
    ids = {operation.id for cassette in cassettes for operation in cassette.operations}
    ids |= {rule.id for cassette in cassettes for rule in cassette.rules}
    return ids | {error.name for cassette in cassettes for error in cassette.errors}


@dataclass(slots=True)
class _Notes:
    """The entries that an extension has found below it, by section and name.

    `exemplified` are those to which it gives new examples.
    """

    by: Extension
    seen: set[tuple[str, str]] = field(default_factory=set)
    exemplified: set[tuple[str, str]] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Changed(Document):
    """A document changed by an extension. Problems in changed parts are reported at the extension's lines."""

    under: Document
    by: Extension
    places: Mapping[Pointer, Pointer]

    def problem(self, pointer: Sequence[str | int], code: str, text: str, *, key: bool = False) -> Problem:
        for at, change in self.places.items():
            below = tuple(pointer[len(at) :])
            if tuple(pointer[: len(at)]) == at and (not below or below[0] in self.by.at(change)):
                return self.by.origin.document.problem((*change, *below), code, text, key=key)
        return self.under.problem(pointer, code, text, key=key)


def _change(document: Document, notes: Sequence[_Notes]) -> Document:
    """Apply the extensions to the document. The first extension is the highest."""
    for note in reversed(notes):
        document = _apply_extension(document, note)
    return document


def _apply_extension(document: Document, notes: _Notes) -> Document:
    by = notes.by
    if not isinstance(document.value, dict):
        return document
    value = dict(document.value)
    places: dict[Pointer, Pointer] = {}
    for section in ("operations", "rules"):
        entries = value.get(section)
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            continue
        value[section] = entries = list(entries)
        for number, entry in enumerate(entries):
            id, handler = str(entry.get("id")), str(entry.get("handler"))
            notes.seen |= {(section, id), ("options", handler)}
            if (options := by.changes.get("options", {}).get(handler)) is not None and section == "operations":
                entry = {**entry, "with": merge_patch(entry.get("with"), options)}
                places[section, number, "with"] = ("changes", "options", handler)
            if (change := by.changes.get(section, {}).get(id)) is not None:
                entry = merge_patch(entry, change)
                places[section, number] = ("changes", section, id)
                notes.exemplified |= {(section, id)} if "examples" in change else set()
            entries[number] = entry
    if isinstance(errors := value.get("errors"), dict):
        notes.seen |= {("errors", name) for name in errors}
        ours = {name: change for name, change in by.changes.get("errors", {}).items() if name in errors}
        value["errors"] = merge_patch(errors, ours)
        places |= {("errors", name): ("changes", "errors", name) for name in ours}
    if not places:
        return document
    return _Changed(document.file, value, document.source, under=document, by=by, places=places)


def _find_idle(notes: _Notes) -> Iterator[Problem]:
    """Yield a problem for each name in the extension that the dialect below does not have."""
    extension, seen = notes.by, notes.seen
    mentions: list[tuple[str, str, Pointer, set[str]]]
    mentions = [
        ("entry", id, ("without", n), {entry_id for _, entry_id in seen}) for n, id in enumerate(extension.without)
    ]
    for section, kind in _SECTIONS.items():
        names = {entry_id for other, entry_id in seen if other == section}
        mentions += [(kind, id, ("changes", section, id), names) for id in extension.changes.get(section, {})]
    for kind, id, place, names in mentions:
        if id not in names:
            text = f"{extension.dialect} has no {kind} {id!r}{did_you_mean(id, names)}"
            yield extension.origin.problem("extends", text, place, key=place[0] == "changes")


def _without(cassette: Cassette, left_out: set[str], notes: Sequence[_Notes]) -> Cassette:
    """Return the cassette without these entries.

    Only examples from `notes` remain, because the others may be wrong now.
    """
    exemplified = {entry for note in notes for entry in note.exemplified}
    operations = (operation for operation in cassette.operations if operation.id not in left_out)
    rules = (rule for rule in cassette.rules if rule.id not in left_out)
    return replace(
        cassette,
        operations=tuple(
            operation if ("operations", operation.id) in exemplified else replace(operation, examples=())
            for operation in operations
        ),
        rules=tuple(rule if ("rules", rule.id) in exemplified else replace(rule, examples=()) for rule in rules),
        errors=tuple(error for error in cassette.errors if error.name not in left_out),
    )
