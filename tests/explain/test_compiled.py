"""The code of rules and operations is shown as it runs."""

import ast
from pathlib import Path

import pytest

from tests.support.engine_client import an_engine, cassette
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.explain.compiled import show_compiled

ENGINE = an_engine()
INTERFACE = ENGINE.interface


@pytest.mark.parametrize("id", sorted(INTERFACE.operations))
def test_the_code_of_every_operation_is_python(id: str) -> None:
    text = show_compiled(INTERFACE.operations[id], INTERFACE, ENGINE.schemas, NAMED)

    assert text.startswith(f"# The operation {id}, ")
    assert any(isinstance(node, ast.FunctionDef) for node in ast.parse(text).body)


def test_the_code_has_requirements_inputs_and_answer() -> None:
    text = show_compiled(INTERFACE.operations["initiate-payment"], INTERFACE, ENGINE.schemas, NAMED)

    assert "value is None or not is_ip(value): return False" in text
    assert "'customer': headers('psu-id'),\n" in text
    assert "v40 = v2.get('creditorAgentOtherId')" in text
    assert "def read_parts(scope, it):" in text
    assert "def respond(scope):" in text
    assert '"transactionFees":null' in text
    assert "# the filter urlencode" in text
    assert "consent:" not in text


def test_the_code_of_a_rule_shows_its_own_answer(tmp_path: Path) -> None:
    text = """rules: [{id: mine, match: {path: "/mine/{a}"}, sequence: [{text: no}, {body: {a: "{{ path.a }}"}}]}]"""
    interface = an_engine(layers=cassette(tmp_path, text)).interface

    mine = next(rule for rule in interface.rules if rule.id == "mine")
    shown = show_compiled(mine, interface, ENGINE.schemas, NAMED)

    assert "def sequence_1(scope):" in shown
    assert "sequence_0" not in shown
    assert "requirements" not in shown
