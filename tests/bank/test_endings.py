"""The possible errors of an operation: its own, those of its rules and its handler, and general ones."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.writing import SCHEMAS, write
from xs2a_sandbox.bank.endings import ALWAYS, errors_of
from xs2a_sandbox.bank.handlers.table import HANDLERS, NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.dialect import layers

DIALECT = bundled("cassettes") / "xs2a-1.84"
BUNDLED = layers.read([[DIALECT]], SCHEMAS, NAMED)


def with_rule(directory: Path, **rule: Any) -> Interface:
    own = {"cassette": 1, "rules": [{"id": "mine", "match": {"operation": "account-list"}, **rule}]}
    return layers.read([[DIALECT], [write(directory, {"mine.yaml": own})]], SCHEMAS, NAMED)


def ends(interface: Interface, operation: str) -> set[str]:
    return errors_of(interface, interface.operations[operation])


@pytest.mark.parametrize("operation", BUNDLED.operations)
def test_possible_errors_are_defined_by_the_interface(operation: str) -> None:
    assert {name for name in ALWAYS if name in BUNDLED.errors} <= ends(BUNDLED, operation) <= BUNDLED.errors.keys()


def test_errors_of_the_handler_are_possible() -> None:
    raised = HANDLERS["consents.status"].errors & BUNDLED.errors.keys()
    assert raised
    assert raised <= ends(BUNDLED, "consent-status")


def test_errors_of_requirements_and_unknown_parameters_are_possible() -> None:
    for operation in BUNDLED.operations.values():
        own = {*operation.otherwise.values(), *(step.error for step in operation.require.steps if step.error)}
        assert own & BUNDLED.errors.keys() <= ends(BUNDLED, operation.id)


def test_an_error_named_by_a_requirement_is_possible(tmp_path: Path) -> None:
    mine = {
        "id": "mine",
        "method": "GET",
        "path": "/v1/mine",
        "require": [{"that": "query.a", "error": "payment-unknown"}],
        "respond": {"status": 200},
    }
    own = write(tmp_path, {"mine.yaml": {"cassette": 1, "operations": [mine]}})
    assert "payment-unknown" in ends(layers.read([[DIALECT], [own]], SCHEMAS, NAMED), "mine")


def test_a_rule_for_the_operation_adds_its_errors(tmp_path: Path) -> None:
    assert "payment-unknown" not in ends(BUNDLED, "account-list")
    interface = with_rule(tmp_path, respond={"error": "payment-unknown", "values": {"id": "x"}})
    assert "payment-unknown" in ends(interface, "account-list")
    assert "payment-unknown" not in ends(interface, "consent-status")


def test_each_step_of_a_sequence_counts(tmp_path: Path) -> None:
    interface = with_rule(tmp_path, sequence=[{"body": {}}, {"error": "payment-unknown", "values": {"id": "x"}}])
    assert "payment-unknown" in ends(interface, "account-list")
