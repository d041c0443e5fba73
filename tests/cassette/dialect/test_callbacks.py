"""The section `callbacks`: mistakes in it, and how layers change it."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.writing import BANK, check, problems
from xs2a_sandbox.cassette.dialect.callbacks import Retry

CALLBACK: dict[str, Any] = {"on": "consents", "to": "{{ document.notify }}", "request": {"body": {"id": "{{ id }}"}}}


def bank(**changes: Any) -> dict[str, Any]:
    return {**BANK, "callbacks": {"told": {**CALLBACK, **changes}}}


def only_problem(directory: Path, **changes: Any) -> str:
    (problem,) = problems(directory, bank=bank(**changes))
    return f"{problem.code}: {problem.text}"


def test_a_layer_changes_and_removes_callbacks(tmp_path: Path) -> None:
    both = {**BANK, "callbacks": {"told": CALLBACK, "other": CALLBACK}}
    layer = {
        "callbacks": {"told": {"on": ["payments", "baskets"], "retry": {"first": "1m", "tries": 2}}, "other": None}
    }
    read, found = check(tmp_path, {"ours.yaml": {"cassette": 1, **layer}}, bank=both)
    assert found == []
    assert read
    (callback,) = read.callbacks
    assert (callback.id, callback.on) == ("told", {"payments", "baskets"})
    assert callback.retry == Retry(60.0, 2.0, 3600.0, 2)
    assert callback.to({"document": {"notify": "http://localhost"}}) == "http://localhost"


@pytest.mark.parametrize(
    "to",
    [
        "http://localhost/notify",
        "http://localhost/{{ document.notify }}",
        "{{ 'http://localhost' }}",
        "{{ document.notify or 'http://localhost' }}",
        "{{ document.notify | lower }}",
        "{{ state.consents.one.notify }}",
        "{{ document }}",
        "{{ receiver.notify }}",
        "{{ id }}",
    ],
)
def test_an_address_is_one_member_of_a_stored_document(to: str, tmp_path: Path) -> None:
    assert only_problem(tmp_path, to=to).startswith(f"callback: {to!r} is not one member of a stored document")


def test_the_documents_of_each_can_have_the_address(tmp_path: Path) -> None:
    assert problems(tmp_path, bank=bank(each="subscriptions", to="{{ receiver['sent'].CallbackUrl }}")) == []


@pytest.mark.parametrize("root", ["request", "headers", "let", "result", "token", "receiver"])
def test_a_callback_has_no_request(root: str, tmp_path: Path) -> None:
    text = only_problem(tmp_path, request={"body": {"x": f"{{{{ {root}.x }}}}"}})
    assert text.startswith("callback: ")
    assert root in text
    assert root in only_problem(tmp_path / "when", when=f"{root}.x")


def test_misspelled_shapes_and_roots_of_shapes_are_reported(tmp_path: Path) -> None:
    shapes = {"shapes": {"notice": {"id": "{{ it }}"}, "asking": {"id": "{{ token.client }}"}}}
    spec = {**bank(request={"body": {"shape": "notise", "of": "{{ id }}"}}), **shapes}
    assert [p.code for p in problems(tmp_path, bank=spec)] == ["unknown-shape"]
    spec = {**bank(request={"body": {"shape": "asking", "of": "{{ id }}"}}), **shapes}
    (problem,) = problems(tmp_path / "roots", bank=spec)
    assert problem.text == "the shape asking reads token, which is not available where the shape is used"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"retry": {"first": "soon"}}, "'soon' is not a duration"),
        ({"retry": {"longest": "0s"}}, "a wait must be longer than nothing"),
        ({"request": {"text": "a", "body": {}}}, "an answer can have only one of body, text"),
        ({"request": {"headers": {"X": "a\nb"}}}, "line break"),
        ({"on": "accounts"}, "consents"),
        ({"accepted": [99]}, "200"),
        ({"retry": {"tries": 0}}, "1"),
        ({"request": {"method": "GET"}}, "POST"),
    ],
)
def test_mistakes_are_reported(changes: dict[str, Any], text: str, tmp_path: Path) -> None:
    assert text in only_problem(tmp_path, **changes)


def test_a_callback_needs_its_parts_when_all_layers_are_together(tmp_path: Path) -> None:
    dialect = {**BANK, "callbacks": {"told": {"on": "consents"}}}
    (problem,) = problems(tmp_path, bank=dialect)
    assert problem.text == "the callback has no to and no request"
    layer = {"cassette": 1, "callbacks": {"told": {"to": "{{ document.notify }}", "request": {"text": "a"}}}}
    assert problems(tmp_path / "whole", {"layer.yaml": layer}, bank=dialect) == []


def test_two_files_of_a_layer_cannot_define_the_same_callback(tmp_path: Path) -> None:
    layer = {name: {"cassette": 1, "callbacks": {"told": CALLBACK}} for name in ("a.yaml", "b.yaml")}
    assert [problem.code for problem in problems(tmp_path, layer)] == ["duplicate-id"]
