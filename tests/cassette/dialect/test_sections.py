"""Sections: each layer contains only its differences, and the files of a layer contain different parts."""

from pathlib import Path

from tests.support.writing import BANK, check, problems

REQUEST = {**BANK, "request": {"basket": "{{ query.b }}", "payment": "{{ query.p }}"}}


def test_a_layer_changes_only_the_members_that_it_contains(tmp_path: Path) -> None:
    layer = {"l.yaml": {"cassette": 1, "request": {"payment": None, "consent": "c"}}}
    interface, mistakes = check(tmp_path, layer, bank=REQUEST)
    assert mistakes == []
    assert interface is not None
    assert interface.inputs.keys() == {"basket", "consent"}


def test_files_of_a_layer_can_contain_different_members(tmp_path: Path) -> None:
    layer = {f"{name}.yaml": {"cassette": 1, "request": {name: "a"}} for name in ("account", "consent")}
    assert problems(tmp_path, layer, bank=REQUEST) == []
    layer["again.yaml"] = {"cassette": 1, "request": {"account": "b"}}
    (problem,) = problems(tmp_path, layer, bank=REQUEST)
    assert problem.code == "duplicate-id"
    assert problem.text.startswith("request.account is already in ")


def test_a_mistake_is_reported_at_its_place(tmp_path: Path) -> None:
    layer = {"l.yaml": "cassette: 1\nrequest:\n  consent: a\n  account: '{{ a b }}'\n"}
    (problem,) = problems(tmp_path, layer, bank=REQUEST)
    assert (problem.file.name, problem.line) == ("l.yaml", 4)
