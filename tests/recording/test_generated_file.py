"""Edits of a generated file are kept exactly."""

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from xs2a_sandbox.documents import yaml_reader
from xs2a_sandbox.errors import ConfigError, Unreadable
from xs2a_sandbox.features.derive.generated_file import compose, read, rule_hash

RECORDED = {"bank": "https://bank.example", "at": "2026-11-21T10:11:12+00:00", "redacted": False}


def rule(number: int, body: Any = None) -> dict[str, Any]:
    made = {"id": f"r-{number}", "match": {"path": f"/{number}"}, "respond": {"body": body or {"n": number}}}
    return {"id": made["id"], "recorded": {"hash": rule_hash(made)}, **made}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "things.yaml"
    file.write_text(compose(None, "Things, recorded", RECORDED, [rule(1), rule(2), rule(3)]))
    return file


def edited(file: Path, old: str, new: str) -> str:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    return file.read_text()


def again(file: Path, *rules: dict[str, Any]) -> str:
    return compose(read(file), "Things, recorded", RECORDED, rules or [rule(1), rule(2), rule(3)])


def ids(text: str) -> list[str]:
    return [one["id"] for one in yaml_reader.parse(text, Path("x")).value["rules"]]


def test_an_unchanged_file_is_generated_again(file: Path) -> None:
    assert read(file).generated == ("r-1", "r-2", "r-3")
    assert read(file).is_nothing_but_generated
    assert again(file) == file.read_text()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{n: 2}", "{n: 5}"),
        ("{n: 2}", '{n: "2"}'),
        ("{n: 2}", "{n: 2.0}"),
        ("path: /2", "path: /two"),
        ("    match: {path: /2}", "    doc: mine\n    match: {path: /2}"),
    ],
)
def test_any_change_makes_a_rule_an_edited_one(old: str, new: str, file: Path) -> None:
    edited(file, old, new)
    assert [one.id for one in read(file).kept] == ["r-2"]


@pytest.mark.parametrize(
    ("old", "new"), [("{n: 2}", "\n        n: 2"), ("{n: 2}", "{n: 2}  # two"), ("id: r-2", 'id: "r-2"')]
)
def test_a_different_notation_is_not_a_change(old: str, new: str, file: Path) -> None:
    edited(file, old, new)
    assert read(file).kept == ()


def test_an_edited_rule_is_kept_exactly_and_in_place(file: Path) -> None:
    mine = "  # why this is so\n  # in two lines\n  - id: r-2   # mine\n\n    match:   {path: '/2'}\n"
    mine += "    respond:\n      text: |\n        # no comment\n"
    start, end = file.read_text().index("  - id: r-2"), file.read_text().index("  - id: r-3")
    text = edited(file, file.read_text()[start:end], mine)

    assert again(file, rule(1), rule(3)) == text
    hashes = rule(1)["recorded"]["hash"], rule(1, {"n": 9})["recorded"]["hash"]
    assert again(file, rule(1, {"n": 9}), rule(3)) == text.replace("{n: 1}", "{n: 9}").replace(*hashes)
    assert ids(again(file, rule(0), rule(1), rule(3), rule(4))) == ["r-0", "r-1", "r-2", "r-3", "r-4"]
    assert ids(again(file, rule(3))) == ["r-3", "r-2"]


def test_first_and_last_rules_are_kept_too(file: Path) -> None:
    edited(file, "{n: 1}", "{n: 5}")
    text = edited(file, "{n: 3}", "{n: 5}").removesuffix("\n")
    file.write_text(text)
    assert again(file, rule(2)) == text + "\n"


def test_other_keys_and_comments_are_kept(file: Path) -> None:
    file.write_text("# on top\n\n" + file.read_text().replace("Things, recorded", "My things"))
    mine = "# about errors\nerrors:\n  # one\n  a: {status: 400, code: X, text: x}\n"
    edited(file, "rules:\n", mine + "# about rules\nrules:\n")
    file.write_text(file.read_text() + "# at the end\ndoc: more\n")
    text = again(file)

    assert text.startswith("# on top\n\n# Derived")
    for part in ('title: "My things"\n', mine, "# at the end\ndoc: more\n"):
        assert part in text
    assert not read(file).is_nothing_but_generated
    file.write_text(text)
    assert again(file) == text


def test_edited_rules_stay_if_nothing_is_generated(file: Path) -> None:
    edited(file, "{n: 2}", "{n: 5}")
    text = compose(read(file), "", None, [])
    assert ids(text) == ["r-2"]
    assert yaml_reader.parse(text, file).value["recorded"] == RECORDED


def test_rules_can_have_another_indentation(file: Path) -> None:
    head, _, listed = file.read_text().partition("rules:\n")
    file.write_text(head + "rules:\n" + dedent(listed).replace("{n: 2}", "{n: 5}"))
    assert ids(again(file, rule(1), rule(3))) == ["r-1", "r-2", "r-3"]


def test_a_file_of_the_user_is_only_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("{cassette: 1, rules: [{id: a, match: {path: /a}, respond: {text: a}}]}")
    exchanges = read(file)
    assert ([one.id for one in exchanges.kept], exchanges.generated, exchanges.is_derived) == (["a"], (), False)


@pytest.mark.parametrize("around", ["{{cassette: 1, rules: [{}]}}", "cassette: 1\nrules: [{}]\n"])
def test_an_edit_that_cannot_be_separated_is_refused(around: str, file: Path) -> None:
    one = json.dumps(rule(1))
    file.write_text(around.format(one))
    with pytest.raises(
        ConfigError, match=r"things\.yaml:\d: cannot distinguish your edits .* nothing has been changed"
    ):
        again(file)


def test_an_alias_to_a_generated_rule_is_refused_before_anything_is_lost(file: Path) -> None:
    edited(file, "  - id: r-1\n", "  - &one\n    id: r-1\n")
    edited(file, "body: {n: 2}", "body: *one")
    with pytest.raises(ConfigError, match=r"things\.yaml:1: .* nothing has been changed"):
        again(file)


@pytest.mark.parametrize(
    "text", ["- a", "cassette: 2\n", "rules: []\ncassette: 1\n", "cassette: 1\nrulse: []\n", "a: [\n"]
)
def test_a_file_that_is_not_a_cassette_is_unreadable(text: str, file: Path) -> None:
    file.write_text(text)
    with pytest.raises(Unreadable):
        read(file)
