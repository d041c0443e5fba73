"""Sections: each layer says only what it has otherwise, and each file of a layer something of its own."""

from pathlib import Path

from tests.support.writing import BANK, check, problems

REQUEST = {**BANK, "request": {"basket": "{{ query.b }}", "payment": "{{ query.p }}"}}


def test_a_layer_changes_what_it_names(tmp_path: Path) -> None:
    layer = {"l.yaml": {"cassette": 1, "request": {"payment": None, "consent": "c"}}}
    interface, mistakes = check(tmp_path, layer, bank=REQUEST)
    assert mistakes == []
    assert interface is not None
    assert interface.inputs.keys() == {"basket", "consent"}


def test_files_of_a_layer_say_different_things(tmp_path: Path) -> None:
    layer = {f"{name}.yaml": {"cassette": 1, "request": {name: "a"}} for name in ("account", "consent")}
    assert problems(tmp_path, layer, bank=REQUEST) == []
    layer["again.yaml"] = {"cassette": 1, "request": {"account": "b"}}
    (problem,) = problems(tmp_path, layer, bank=REQUEST)
    assert problem.code == "duplicate-id"
    assert problem.text.startswith("request.account is already in ")


def test_a_mistake_is_told_where_it_stands(tmp_path: Path) -> None:
    layer = {"l.yaml": "cassette: 1\nrequest:\n  consent: a\n  account: '{{ a b }}'\n"}
    (problem,) = problems(tmp_path, layer, bank=REQUEST)
    assert (problem.file.name, problem.line) == ("l.yaml", 4)
