"""Places of handler inputs in requests, defined for the whole dialect, or for one operation."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.writing import BANK, SCHEMAS, ask, check, problems
from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.state import MemoryStore

BASKET = {"payments": [], "consents": [], "status": "RCVD"}
READ: dict[str, Any] = {
    "id": "basket",
    "method": "POST",
    "path": "/v1/basket",
    "handler": "baskets.read",
    "respond": {"body": "{{ result.basket.status }}"},
}


def bank(request: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    said = {"request": request} if request is not None else {}
    return {**BANK, **said, "operations": [{**READ, **changes}]}


def engine(directory: Path, spoken: dict[str, Any], *layers: dict[str, Any]) -> Engine:
    interface, mistakes = check(directory, *({"layer.yaml": layer} for layer in layers), bank=spoken)
    assert interface is not None
    assert mistakes == []
    baskets = {"baskets": dict.fromkeys(("a", "b"), BASKET)}
    return Engine(Parts(Banks(Bank(interface, SCHEMAS)), MemoryStore(), TestData(baskets, ()), limits=USUAL))


@pytest.mark.parametrize(
    "source",
    ["{{ body.basket.id }}", "{{ headers['X-Basket'] }}", "{{ query.b }}", "{{ query.none or query.b }}", "a"],
)
def test_an_input_is_read_where_the_dialect_defines_it(tmp_path: Path, source: str) -> None:
    bank_engine = engine(tmp_path, bank({"basket": source}))
    answer = ask(
        bank_engine, "/v1/basket?b=b", method="POST", headers=[("X-Basket", "a")], json={"basket": {"id": "b"}}
    )
    assert json.loads(answer.body) == "RCVD"


def test_an_operation_can_override_where_an_input_is_read_from(tmp_path: Path) -> None:
    bank_engine = engine(tmp_path, bank({"basket": "{{ query.b }}"}, input={"basket": "{{ query.c }}"}))
    assert ask(bank_engine, "/v1/basket?b=none&c=b", method="POST").status == 200


def test_a_layer_can_define_another_place(tmp_path: Path) -> None:
    layer = {"cassette": 1, "request": {"basket": "{{ query.c }}"}}
    bank_engine = engine(tmp_path, bank({"basket": "{{ query.b }}"}), layer)
    assert ask(bank_engine, "/v1/basket?b=none&c=b", method="POST").status == 200


def test_a_rule_has_the_inputs_of_its_operation_and_more(tmp_path: Path) -> None:
    rule = {
        "id": "r",
        "match": {"operation": "basket"},
        "handler": "baskets.read",
        "input": {"basket": "{{ query.d }}"},
    }
    spoken = bank({"basket": "{{ query.b }}"}, input={"basket": "{{ query.c }}"})
    bank_engine = engine(tmp_path, spoken, {"cassette": 1, "rules": [rule]})
    assert ask(bank_engine, "/v1/basket?b=none&c=none&d=a", method="POST").status == 200


@pytest.mark.parametrize(
    ("source", "words", "pointer"),
    [
        ("{{ headers['X-Basket'] }}", "the header X-Basket is missing", None),
        ("{{ query.b }}", "the query parameter b is missing", None),
        ("{{ body.basket.id }}", "id is missing", "/basket/id"),
        ("{{ query.b or body.id }}", "the query parameter b or id is missing", "/id"),
        ("{{ query.b | upper }}", "the basket is missing", None),
    ],
)
def test_error_messages_name_the_missing_part(tmp_path: Path, source: str, words: str, pointer: str | None) -> None:
    spoken = bank({"basket": source})
    spoken["every_error"] = {"body": {"text": "{{ error.text }}", "path": "{{ error.path }}"}}
    spoken["errors"] = {**spoken["errors"], "format-error": {"status": 400, "code": "F", "text": "{{ expected }}"}}
    answer = ask(engine(tmp_path, spoken), "/v1/basket", method="POST", json={})
    assert json.loads(answer.body) == {"text": words, "path": pointer}


@pytest.mark.parametrize(
    ("spoken", "code", "text"),
    [
        (
            bank(),
            "missing-input",
            "baskets.read needs the input basket: specify where requests contain it, under `request`",
        ),
        (bank({"basket": "{{ path.id }}"}), "missing-input", "and this path does not have the path parameter id"),
        (bank({"basket": "a", "baskt": "b"}), "unknown-input", "no handler has an input 'baskt'; did you mean basket?"),
        (bank({"basket": "a"}, input={"consent": "b"}), "unknown-input", "baskets.read has no input 'consent'"),
        (bank({"basket": "{{ querry.a }}"}), "expression", "unknown name 'querry'"),
        (bank({"basket": "{{ query.a"}), "expression", "in '{{ query.a'"),
        (bank({"basket": ["{{ it.a }}"]}), "expression", "inputs cannot use `it`"),
        (bank({"basket": [{"shape": "a"}]}), "expression", "inputs cannot use shapes, such as a"),
        (bank({"basket": {"id": {"shape": "a"}}}), "expression", "inputs cannot use shapes, such as a"),
        (bank({"basket": {"id": "{{ quary.b }}", "of?": 1}}), "expression", "unknown name 'quary'"),
        (bank({"basket": {"id?": ["{{ quary.b }}"]}}), "expression", "unknown name 'quary'"),
    ],
)
def test_mistakes_in_inputs(tmp_path: Path, spoken: dict[str, Any], code: str, text: str) -> None:
    assert [problem.code for problem in problems(tmp_path, bank=spoken)] == [code]
    assert text in problems(tmp_path, bank=spoken)[0].text
