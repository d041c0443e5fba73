"""Run every example of the bundled cassettes."""

from pathlib import Path

import pytest

from tests.support.engine_client import CONFDIR
from tests.support.linting import run
from xs2a_sandbox.bundled import dialects
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import Engine, build
from xs2a_sandbox.features.authoring.examples import Example, examples

DIALECTS = dialects()
ENGINES = {
    dialect: build.build(Settings(dialect=dialect, state="memory:", confdir=Path(CONFDIR.name))) for dialect in DIALECTS
}
ENTRIES = [
    pytest.param(engine, entry, id=f"{dialect}-{entry.owner.id}-{entry.number}")
    for dialect, engine in ENGINES.items()
    for entry in examples(engine.interface)
]


@pytest.mark.parametrize(("engine", "entry"), ENTRIES)
def test_the_example_is_correct(engine: Engine, entry: Example) -> None:
    assert run(engine, entry) == [], entry.place


def test_documented_operations_have_examples() -> None:
    shown = {entry.owner.id for entry in examples(ENGINES["xs2a-1.84"].interface)}
    assert {"create-consent", "consent-status", "account-list", "account-transactions", "initiate-payment"} <= shown
