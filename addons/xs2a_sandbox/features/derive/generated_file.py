"""A cassette of generated rules that the user may have edited. Edited rules stay exactly as they are.

A generated rule contains its own hash. If the hash does not match or is missing, the rule belongs to the user.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xs2a_sandbox.cassette.reader import cassette_schema
from xs2a_sandbox.documents import own_file
from xs2a_sandbox.documents import yaml_reader as document
from xs2a_sandbox.documents.document import Document, Position
from xs2a_sandbox.documents.yaml_writer import write_exactly, yaml_text
from xs2a_sandbox.errors import ConfigError, Unreadable
from xs2a_sandbox.features.derive.recorded_answer import is_intact

Value = Mapping[str, Any]

_INTRODUCTION = """\
# Derived from a recording. Deriving again replaces these rules, except for those that you have edited or added.
"""


@dataclass(frozen=True, slots=True)
class EditedRule:
    """A rule of the user: `text` is its text in the file, `after` the id of the generated rule before it.

    `was` is the hash of the generated rule from which it was edited, if any.
    """

    id: str
    value: Value
    text: str
    after: str | None
    was: str | None


@dataclass(frozen=True, slots=True)
class DerivedFile:
    """A file split into parts.

    `sections` are the texts of the top-level keys; `head` is the text before them; `dash` is the column of the rules.
    """

    file: Path
    document: Document
    generated: tuple[str, ...]
    kept: tuple[EditedRule, ...]
    head: str
    sections: Mapping[str, str]
    dash: int

    @property
    def recorded(self) -> Value | None:
        recorded: Value | None = self.document.value.get("recorded")
        return recorded

    @property
    def is_derived(self) -> bool:
        return bool(self.generated) or self.recorded is not None

    @property
    def is_nothing_but_generated(self) -> bool:
        return not self.kept and not self.sections.keys() - {"cassette", "title", "doc", "recorded", "rules"}


def rule_hash(rule: Value) -> str:
    """Return ten hexadecimal digits that depend on everything except for `recorded`."""
    bare = {key: value for key, value in rule.items() if key != "recorded"}
    return hashlib.sha256(write_exactly(bare).encode()).hexdigest()[:10]


def read(file: Path) -> DerivedFile:
    """Read a file. Raises Unreadable; ConfigError if generated and other rules cannot be separated by lines."""
    content = document.read(file, folder=file.parent)
    if problems := document.complaints(content, cassette_schema()):
        raise Unreadable(problems)
    if not isinstance(content.value, dict) or next(iter(content.value), None) != "cassette":
        raise Unreadable([content.problem((), "no-cassette", "the first key of a cassette is `cassette: 1`")])
    rules: list[Value] = content.value.get("rules", [])
    is_generated = [_is_generated(rule, file.parent) for rule in rules]
    generated = tuple(rule["id"] for rule, own in zip(rules, is_generated, strict=True) if own)
    if not generated and "recorded" not in content.value:
        kept = tuple(EditedRule(rule["id"], rule, "", None, _was(rule)) for rule in rules)
        return DerivedFile(file, content, (), kept, "", dict.fromkeys(content.value, ""), 0)
    lines = file.read_text(encoding="utf-8", newline="").removeprefix("\ufeff").splitlines(keepends=True)
    head, sections = _sections(content, lines)
    texts, dash = _entries(content, lines)
    kept_rules: list[EditedRule] = []
    above = None
    for rule, own, text in zip(rules, is_generated, texts, strict=True):
        if own:
            above = rule["id"]
        else:
            kept_rules.append(EditedRule(rule["id"], rule, text, above, _was(rule)))
    return DerivedFile(file, content, generated, tuple(kept_rules), head, sections, dash)


def compose(old: DerivedFile | None, title: str, recorded: Value | None, rules: Sequence[Value]) -> str:
    """Return the file's text with these generated rules replacing the old ones.

    Raises ConfigError if anything that the user wrote would change.
    """
    dash = old.dash if old else 2
    sections = dict(old.sections) if old else {"cassette": "cassette: 1\n", "title": yaml_text({"title": title})}
    if recorded:
        sections["recorded"] = yaml_text({"recorded": recorded})
    text = old.head if old else _INTRODUCTION
    listed = _in_order(rules, old.kept if old else (), dash)
    sections["rules"] = "rules:\n" + "".join(listed) if listed else ""
    text += "".join(map(_end_line, sections.values()))
    if old and not old.is_nothing_but_generated:
        _check(old, text)
    return text


def _in_order(rules: Sequence[Value], kept: Sequence[EditedRule], dash: int) -> list[str]:
    ids = {rule["id"] for rule in rules}
    texts = [_end_line(comment.text) for comment in kept if comment.after is None]
    for rule in rules:
        lines = yaml_text([rule]).splitlines(keepends=True)
        texts += [" " * dash + line if line.strip() else line for line in lines]
        texts += [_end_line(comment.text) for comment in kept if comment.after == rule["id"]]
    return texts + [
        _end_line(comment.text) for comment in kept if comment.after is not None and comment.after not in ids
    ]


def _end_line(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _is_generated(rule: Value, directory: Path) -> bool:
    if _was(rule) != rule_hash(rule):
        return False
    for name in body_files(rule):
        try:
            if not is_intact(name, own_file.read(directory / name, folder=directory)):
                return False
        except OSError:
            continue
    return True


def body_files(rule: Value) -> list[str]:
    """Return the names of the files with bodies for its answers."""
    answers = [rule.get("respond"), *rule.get("sequence", ())]
    return [answer["file"] for answer in answers if isinstance(answer, dict) and "file" in answer]


def _was(rule: Value) -> str | None:
    return rule["recorded"]["hash"] if "recorded" in rule else None


def _sections(content: Document, lines: Sequence[str]) -> tuple[str, dict[str, str]]:
    starts = sorted((line, column, name) for name, (line, column) in content.source.root.keys.items())
    if any(column for _, column, _ in starts) or len({line for line, _, _ in starts}) < len(starts):
        raise _not_in_lines(content.file, starts[0][0], "each key of the file on its own line, not indented")
    firsts = [_with_comments(lines, line, 0) for line, _, _ in starts]
    # The text above the first key belongs to the file, not to the key.
    firsts[0] = starts[0][0]
    ends = [*firsts[1:], len(lines)]
    texts = {name: "".join(lines[first:end]) for first, end, (_, _, name) in zip(firsts, ends, starts, strict=True)}
    return "".join(lines[: firsts[0]]), texts


def _entries(content: Document, lines: Sequence[str]) -> tuple[list[str], int]:
    """Return the text of each rule, with the comments above it, and the column of their dashes."""
    if not content.value.get("rules"):
        return [], 2
    places: Sequence[Position] = content.source.root.children["rules"].children  # type: ignore[call-overload,assignment]
    dash = -1
    for place in places:
        before = lines[place.line][: place.column]
        if not before.lstrip().startswith("-"):
            raise _not_in_lines(content.file, place.line, "each rule on its own lines, starting with `- `")
        dash = before.index("-")
    following = [line for line, _ in content.source.root.keys.values() if line > content.source.root.keys["rules"][0]]
    end = _with_comments(lines, min(following), 0) if following else len(lines)
    firsts = [_with_comments(lines, place.line, dash) for place in places]
    firsts[0] = max(firsts[0], content.source.root.keys["rules"][0] + 1)
    return ["".join(lines[first:to]) for first, to in zip(firsts, [*firsts[1:], end], strict=True)], dash


def _with_comments(lines: Sequence[str], line: int, indent: int) -> int:
    """Return the first comment line directly above, if it is not indented more."""
    while line and (mark := lines[line - 1].find("#")) >= 0 and not lines[line - 1][:mark].strip() and mark <= indent:
        line -= 1
    return line


def _check(old: DerivedFile, text: str) -> None:
    try:
        new = document.parse(text, old.file).value
    except Unreadable as unreadable:
        raise _not_in_lines(old.file, 0, f"plain YAML ({unreadable.problems[0].text})") from None
    rules = {rule["id"]: rule for rule in new.get("rules", ())}
    for kept_rule in old.kept:
        if kept_rule.id not in rules or write_exactly(rules[kept_rule.id]) != write_exactly(kept_rule.value):
            raise _not_in_lines(old.file, 0, f"the rule {kept_rule.id} in plain YAML")
    for name in old.sections.keys() - {"recorded", "rules"}:
        if name not in new or write_exactly(new[name]) != write_exactly(old.document.value[name]):
            raise _not_in_lines(old.file, 0, f"the key {name} in plain YAML")


def _not_in_lines(file: Path, line: int, remedy: str) -> ConfigError:
    text = f"{file}:{line + 1}: cannot distinguish your edits from the generated content. Write {remedy}"
    return ConfigError(f"{text}, or move your edits to a separate file; nothing has been changed")
