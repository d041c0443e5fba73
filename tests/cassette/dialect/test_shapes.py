import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.writing import BANK, SCHEMAS, Layer, ask, check, engine, problems, rules
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.config import Settings
from xs2a_sandbox.features.authoring import lint

THINGS = [{"id": 1, "name": "a"}, {"id": 2}]


def shapes(file: str = "shapes.yaml", **templates: Any) -> Layer:
    return {file: {"cassette": 1, "shapes": templates}}


def showing(body: Any, **rule: Any) -> Layer:
    """Return a layer with a rule that answers with this body."""
    return rules({"id": "shown", "match": {"operation": "list"}, "respond": {"body": body}, **rule})


def shown(directory: Path, *over: Layer) -> Any:
    return json.loads(ask(engine(directory, *over)).body)


def test_a_shape_can_be_used_in_all_files_of_all_layers(tmp_path: Path) -> None:
    named = shapes(thing={"thingId": "{{ it.id }}", "name?": "{{ it.name }}", "self": {"shape": "link"}})
    link = shapes(link="{{ request.path }}/{{ it.id }}")
    again = {"let": {"things": {"each": THINGS, "shape": "thing"}}}
    found = shown(
        tmp_path,
        named,
        link,
        showing({"things": "{{ let.things }}", "at": {"shape": "link", "of": {"id": 3}}}, **again),
    )
    assert found == {
        "things": [
            {"thingId": 1, "name": "a", "self": "/v1/things/1"},
            {"thingId": 2, "self": "/v1/things/2"},
        ],
        "at": "/v1/things/3",
    }


def test_effects_errors_and_amendments_can_use_shapes(tmp_path: Path) -> None:
    named = shapes(thing={"is": "{{ it.id }}"}, wrong={"status": "{{ error.status }}"}, amended="{{ answer.status }}")
    bank = {**BANK, "every_error": {"body": {"shape": "wrong"}}}
    effect = {"set": "state.things['1']", "to": {"shape": "thing", "of": THINGS[0]}}
    case = {"effects": [effect], "respond": {"body": "{{ state.things['1'] }}"}}
    amending = {"id": "amending", "match": {"operation": "one"}, "amend": {"body": {"shape": "amended"}}}
    running = engine(
        tmp_path, named, showing(None, **case), {"amend.yaml": {"cassette": 1, "rules": [amending]}}, bank=bank
    )
    assert ask(running).body == b'{"is":1}'
    assert ask(running, method="DELETE").body == b'{"status":500}'
    assert ask(running, "/v1/things/1").body == b"200"


@pytest.mark.parametrize(
    ("below", "above", "expected"),
    [
        ({"a": 1, "b": 2}, {"b": 3, "c": 4}, {"a": 1, "b": 3, "c": 4}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": None, "z": 3}}, {"a": {"x": 1, "z": 3}}),
        ({"a": None, "b": [None]}, {"c": 1}, {"a": None, "b": [None], "c": 1}),
        ({"a": "{{ it.id }}", "b": 1}, {"a?": "{{ it.nothing }}"}, {"b": 1}),
        ({"a?": "{{ it.nothing }}", "b": 1}, {"a": "{{ it.nothing }}"}, {"a": None, "b": 1}),
        ({"a": 1}, {"merge": [{"b": 2}]}, {"b": 2}),
        ({"merge": [{"b": 2}]}, {"a": None}, {"a": None}),
        ({"a": {"each": [1], "give": 2}}, {"a": {"x": 1}}, {"a": {"x": 1}}),
        ("{{ it.id }}", {"a": "{{ it.id }}"}, {"a": 1}),
        ({"a": 1}, "{{ it.id }}", 1),
        ({"a": 1, "b": 2}, {"b": 3, "c": 4, "a": 1}, {"b": 3, "c": 4, "a": 1}),
        ({"a?": 1, "b": 2}, {"b": None, "c": 4, "a": 5}, {"c": 4, "a": 5}),
        ({"rename": {"id": "a"}, "of": {"id": 1, "b": 2}}, {"rename": {"b": "c"}}, {"a": 1, "c": 2}),
        ({"rename": {"id": "a", "b": "c"}, "of": {"id": 1, "b": 2}}, {"rename": {"id": None, "b": "d"}}, {"d": 2}),
    ],
)
def test_a_layer_contains_only_its_changes_of_a_shape(below: Any, above: Any, expected: Any, tmp_path: Path) -> None:
    used = showing({"shape": "thing", "of": THINGS[0]})
    found = shown(tmp_path, shapes(thing=below), shapes(thing=above), used)
    assert found == expected
    assert str(found) == str(expected)


MISTAKES = [
    # shapes, body, place of the problem, code, text
    (
        {"thing": 1},
        {"shape": "thnig"},
        "body: {shape",
        "unknown-shape",
        "unknown shape 'thnig'; did you mean 'thing'?",
    ),
    (
        {},
        {"each": [1], "shape": "x"},
        "body: {each: [1], shape",
        "unknown-shape",
        "unknown shape 'x'; none is defined",
    ),
    ({"a": {"b": {"shape": "c"}}}, {"shape": "a"}, "b: {shape", "unknown-shape", "unknown shape 'c'"),
    ({"a": {"b": "{{ ti.id }}"}}, {"shape": "a", "of": 1}, "b", "expression", "unknown name 'ti'"),
    ({"a": {"b": {"shape": "a", "of": 1}}}, {"shape": "a"}, "b: {shape", "shape", "the shape a uses itself"),
    (
        {"a": "{{ it.id }}"},
        {"shape": "a"},
        "body: {shape",
        "shape",
        "the shape a needs a value: write `of`",
    ),
    ({"a": "{{ result.id }}"}, {"shape": "a"}, "body: {shape", "shape", "the shape a reads result, which is not"),
    (
        {"a": {"shape": "b"}, "b": "{{ let.x }}{{ error.y }}"},
        {"shape": "a"},
        "body: {shape",
        "shape",
        "the shape a reads error",
    ),
    ({"a": {"shape": "b"}, "b": "{{ it }}"}, {"shape": "a"}, "body: {shape", "shape", "needs a value"),
]


@pytest.mark.parametrize(("templates", "body", "place", "code", "text"), MISTAKES)
def test_mistakes_in_shapes(templates: Any, body: Any, place: str, code: str, text: str, tmp_path: Path) -> None:
    layer = {**(shapes(**templates) if templates else {}), **showing(body)}
    (problem,) = [p for p in problems(tmp_path, layer) if not p.code.startswith("warning")]
    assert problem.code == code
    assert text in problem.text
    assert problem.file.name == ("rules.yaml" if "body" in place else "shapes.yaml")


def test_a_cycle_of_shapes_is_reported_at_each_of_them(tmp_path: Path) -> None:
    circle = shapes(a={"x": {"shape": "b"}}, b=[{"shape": "c"}], c={"each": [1], "shape": "a"}, d={"shape": "a"})
    found = problems(tmp_path, {**circle, **showing({"shape": "d"})})
    assert {p.text for p in found} == {
        "the shape a uses itself, through b, c, a",
        "the shape b uses itself, through c, a, b",
        "the shape c uses itself, through a, b, c",
    }


def test_a_shape_can_read_everything_that_its_user_can_read(tmp_path: Path) -> None:
    case = {"handler": "funds.confirm", "let": {"x": 1}}
    layer = {**shapes(a="{{ result.fundsAvailable }}{{ let.x }}{{ path.y }}"), **showing({"shape": "a"}, **case)}
    assert problems(tmp_path, layer) == []


def test_values_of_requirements_cannot_use_shapes(tmp_path: Path) -> None:
    required = {"id": "mine", "method": "GET", "path": "/v1/mine", "respond": {"body": 1}}
    required["require"] = {"that": "query.a", "error": "internal", "values": {"reason": {"shape": "a"}}}
    layer = {"mine.yaml": {"cassette": 1, "shapes": {"a": 1}, "operations": [required]}}
    (problem,) = problems(tmp_path, layer)
    assert "cannot use shapes" in problem.text


def test_raw_answers_cannot_use_shapes(tmp_path: Path) -> None:
    raw = {"respond": {"raw": True, "body": {"shape": "round"}}}
    assert shown(tmp_path, showing(None, **raw)) == {"shape": "round"}


@pytest.mark.parametrize("name", ["", "9", "a b", "a.b"])
def test_valid_and_invalid_names_of_shapes(name: str, tmp_path: Path) -> None:
    assert [p.code for p in problems(tmp_path, shapes(**{name: 1}))] != []


def test_a_shape_defined_twice_in_a_layer_is_reported(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, {**shapes(a=1), **shapes("other.yaml", a=2)})
    assert problem.code == "duplicate-id"


def test_lint_reports_unused_shapes(tmp_path: Path) -> None:
    named = {
        "cassette": 1,
        "let": {"known": {"shape": "named", "of": "{{ request.path }}"}},
        "shapes": {"used": {"a": {"shape": "within"}}, "within": 1, "named": 3, "idle": {"shape": "idler"}, "idler": 2},
    }
    case = {"id": "a", "match": {"method": "GET", "path": "/x"}, "respond": {"body": {"shape": "used"}}}
    (tmp_path / "a.yaml").write_text(json.dumps({**named, "rules": [case]}))
    found = [p for p in lint.check(Settings(cassettes=(tmp_path,))) if p.file.is_relative_to(tmp_path)]
    texts = ["nothing uses the shape idle", "nothing uses the shape idler"]
    assert [(p.code, p.text) for p in found] == [("unused-shape", text) for text in texts]
    assert problems_of_serving(tmp_path) == []


def problems_of_serving(directory: Path) -> list[Any]:
    """Return only the problems that prevent the sandbox from starting."""
    return layers.check([[bundled("cassettes") / "xs2a-1.84"], [directory]], SCHEMAS, NAMED)[1]


def test_an_interface_lists_its_shapes(tmp_path: Path) -> None:
    interface, _ = check(tmp_path, shapes(a=1))
    assert interface is not None
    assert list(interface.shapes) == ["a"]
    assert [p.text for p in interface.unused] == ["nothing uses the shape a"]
