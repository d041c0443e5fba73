"""The section `let`: values that a dialect defines once for all its operations and rules."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.writing import BANK, ask, engine, problems, rules
from xs2a_sandbox.cassette.evaluation import lets

NAMES = {"who": "{{ query.who or 'nobody' }}", "greeting": "Hello {{ let.who }}"}


def bank(**more: Any) -> dict[str, Any]:
    return {**BANK, "let": NAMES, **more}


def operation(id: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "method": "GET", "path": f"/v1/{id}", "respond": {"body": "{{ let.greeting }}"}, **more}


def read(response: Any) -> Any:
    return json.loads(response.body)


def test_a_value_is_available_in_all_parts_of_operations_rules_and_errors(tmp_path: Path) -> None:
    dialect = bank(
        every_answer={"headers": {"X-Who": "{{ let.who }}"}},
        every_error={"headers": {"X-Error": "{{ let.who }}"}, "body": {"for": "{{ let.greeting }}"}},
        operations=[
            operation("plain"),
            operation("asks", require={"that": "let.who == 'ann'", "error": "path-unknown"}),
            operation("keeps", effects=[{"set": "state.guests[let.who]", "to": {"said": "{{ let.greeting }}"}}]),
            operation("kept", respond={"body": "{{ state.guests }}"}),
            operation("changed", respond={"body": {"a": 1}}),
        ],
    )
    eve = {"id": "eve", "match": {"operation": "plain", "when": "let.who == 'eve'"}, "respond": {"body": "eve"}}
    change = {"id": "change", "match": {"operation": "changed"}, "amend": {"body": {"by": "{{ let.who }}"}}}
    layer = {"rules.yaml": {"cassette": 1, "rules": [eve, change]}}
    served = engine(tmp_path, layer, bank=dialect)

    assert read(ask(served, "/v1/plain?who=ann")) == "Hello ann"
    assert ("X-Who", "ann") in ask(served, "/v1/plain?who=ann").headers
    assert read(ask(served, "/v1/plain?who=eve")) == "eve"
    assert read(ask(served, "/v1/asks?who=ann")) == "Hello ann"
    refused = ask(served, "/v1/asks?who=bob")
    assert (refused.status, read(refused)["for"]) == (404, "Hello bob")
    assert ("X-Error", "bob") in refused.headers
    ask(served, "/v1/keeps?who=ann")
    assert read(ask(served, "/v1/kept")) == {"ann": {"said": "Hello ann"}}
    assert read(ask(served, "/v1/changed?who=ann")) == {"a": 1, "by": "ann"}


def test_values_see_the_path_parameters_of_the_rule_that_is_being_tested(tmp_path: Path) -> None:
    dialect = bank(let={"n": "{{ path.other or path.thing }}"})
    layer = rules(
        {
            "id": "r",
            "match": {"path": "/v1/things/{other}", "when": "let.n == 'a'"},
            "respond": {"body": "{{ let.n }}!"},
        }
    )
    served = engine(tmp_path, layer, bank=dialect)
    assert read(ask(served, "/v1/things/a")) == "a!"
    assert read(ask(served, "/v1/things/b")) == "one"


def test_a_value_of_an_operation_overrides_and_can_use_values_of_the_dialect(tmp_path: Path) -> None:
    own = operation(
        "own", let={"who": "{{ let.who | upper }}"}, respond={"body": ["{{ let.who }}", "{{ let.greeting }}"]}
    )
    served = engine(tmp_path, bank=bank(operations=[own]))
    assert read(ask(served, "/v1/own?who=ann")) == ["ANN", "Hello ann"]


def test_layers_merge_by_name(tmp_path: Path) -> None:
    layer = {"ours.yaml": {"cassette": 1, "let": {"who": "we"}}}
    served = engine(tmp_path, layer, bank=bank(operations=[operation("plain")]))
    assert read(ask(served, "/v1/plain?who=ann")) == "Hello we"


def test_unused_values_are_not_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[Any] = []
    render = lets.render
    monkeypatch.setattr(lets, "render", lambda compiled, scope: (computed.append(compiled), render(compiled, scope))[1])
    served = engine(
        tmp_path,
        bank=bank(
            operations=[
                operation("none", respond={"body": 1}),
                operation("twice", respond={"body": ["{{ let.who }}", "{{ let.who }}"]}),
            ]
        ),
    )
    ask(served, "/v1/none")
    assert computed == []
    ask(served, "/v1/twice")
    assert len(computed) == 1


@pytest.mark.parametrize(
    ("names", "key", "text"),
    [
        ({"a": "{{ let.b }}", "b": "{{ let.a }}"}, "a", "let.a depends on itself, through b"),
        ({"a": {"x": ["{{ let.a }}"]}}, "a", "let.a depends on itself"),
        ({"a": "{{ let.b }}", "b": "{{ let.c }}", "c": "{{ let.b }}"}, "b", "let.b depends on itself, through c"),
        ({"name": "{{ let.nmae }}"}, "name", "unknown name let.nmae; did you mean name?"),
        ({"a": "{{ let[query.name] }}"}, "a", "a value under let refers to other values by their names"),
        ({"a": "{{ result.id }}"}, "a", "unknown name 'result' in '{{ result.id }}'; the names are body, "),
    ],
)  # fmt: skip
def test_mistakes_in_values_have_a_place(tmp_path: Path, names: dict[str, Any], key: str, text: str) -> None:
    (problem,) = problems(tmp_path, {"ours.yaml": {"cassette": 1, "let": names}})
    assert (problem.file.name, problem.code) == ("ours.yaml", "expression")
    assert problem.text.startswith(text)
    line = json.dumps({"cassette": 1, "let": names})
    assert problem.column > line.index(f'"{key}"')


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"respond": {"body": {"x": "{{ let.grering }}"}}}, "unknown name let.grering; did you mean greeting?"),
        ({"require": {"that": "let.whom", "error": "path-unknown"}}, "unknown name let.whom; did you mean who?"),
        ({"require": {"that": "let.own", "error": "path-unknown"}, "let": {"own": 1}}, "unknown name let.own"),
        ({"let": {"a": "{{ let.b }}", "b": 1}}, "unknown name let.b; there are greeting, who"),
        ({"effects": [{"set": "state.guests[let.id]", "to": {}}]}, "unknown name let.id; there are greeting, who"),
        ({"effects": [{"when": "let.x", "delete": "state.guests['a']"}]}, "unknown name let.x; there are "),
    ],
)
def test_an_unknown_name_is_reported(tmp_path: Path, more: dict[str, Any], text: str) -> None:
    (problem,) = problems(tmp_path, bank=bank(operations=[operation("a", **more)]))
    assert problem.code == "expression"
    assert problem.text.startswith(text)


def test_an_unknown_name_in_a_general_section_is_reported(tmp_path: Path) -> None:
    every = {"body": {"text": "{{ let.x }}"}}
    (problem,) = problems(tmp_path, bank=bank(every_error=every))
    assert problem.text.startswith("unknown name let.x")


def test_texts_that_are_not_expressions_use_no_names(tmp_path: Path) -> None:
    said = operation("a", doc="{{ let.x }}", respond={"raw": True, "body": "{{ let.y }} {{"})
    assert problems(tmp_path, bank=bank(operations=[said])) == []
