"""The errors that an operation can end in: its own, its rules', its handler's, and those of any."""

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
def test_they_are_all_among_those_that_the_interface_has(operation: str) -> None:
    assert {name for name in ALWAYS if name in BUNDLED.errors} <= ends(BUNDLED, operation) <= BUNDLED.errors.keys()


def test_those_of_the_handler_are_among_them() -> None:
    raised = HANDLERS["consents.status"].errors & BUNDLED.errors.keys()
    assert raised
    assert raised <= ends(BUNDLED, "consent-status")


def test_those_of_requirements_and_of_unknown_parameters_are_among_them() -> None:
    for operation in BUNDLED.operations.values():
        own = {*operation.otherwise.values(), *(step.error for step in operation.require.steps if step.error)}
        assert own & BUNDLED.errors.keys() <= ends(BUNDLED, operation.id)


def test_one_that_a_requirement_names_is_among_them(tmp_path: Path) -> None:
    mine = {
        "id": "mine",
        "method": "GET",
        "path": "/v1/mine",
        "require": [{"that": "query.a", "error": "payment-unknown"}],
        "respond": {"status": 200},
    }
    own = write(tmp_path, {"mine.yaml": {"cassette": 1, "operations": [mine]}})
    assert "payment-unknown" in ends(layers.read([[DIALECT], [own]], SCHEMAS, NAMED), "mine")


def test_a_rule_for_the_operation_adds_its_own(tmp_path: Path) -> None:
    assert "payment-unknown" not in ends(BUNDLED, "account-list")
    interface = with_rule(tmp_path, respond={"error": "payment-unknown", "values": {"id": "x"}})
    assert "payment-unknown" in ends(interface, "account-list")
    assert "payment-unknown" not in ends(interface, "consent-status")


def test_each_step_of_a_sequence_counts(tmp_path: Path) -> None:
    interface = with_rule(tmp_path, sequence=[{"body": {}}, {"error": "payment-unknown", "values": {"id": "x"}}])
    assert "payment-unknown" in ends(interface, "account-list")
