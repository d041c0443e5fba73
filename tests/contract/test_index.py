"""The lists of statements match the marks of the tests."""

import json
import subprocess
import sys

import pytest
from tools.conformance import DOCUMENTED, INTERFACES, ROOT, Interface, Proofs, find_mistakes, page

COLLECT = "import json; from tools import conformance; print(json.dumps(conformance.collect()))"


@pytest.fixture(scope="module")
def proofs() -> dict[str, Proofs]:
    """Collect the marks in a separate process, so that they are complete regardless of which tests are running."""
    run = subprocess.run(
        [sys.executable, "-c", COLLECT], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stderr + run.stdout
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("interface", INTERFACES, ids=lambda interface: interface.mark)
def test_every_statement_has_a_test_that_always_runs(proofs: dict[str, Proofs], interface: Interface) -> None:
    assert find_mistakes(interface, proofs[interface.mark]) == []
    assert page(interface, proofs[interface.mark]).count("\n| `") == sum(map(len, interface.sections().values()))


@pytest.mark.parametrize("interface", INTERFACES, ids=lambda interface: interface.mark)
def test_ids_are_unique(interface: Interface) -> None:
    sections = interface.sections().values()

    assert sum(map(len, sections)) == len({statement for section in sections for statement in section})


def test_every_section_with_statements_is_included() -> None:
    """Section 6 only states that events are not shown."""
    sections = {statement.partition("-")[0].partition(".")[0] for statement in DOCUMENTED.sections()["statements"]}

    assert sections == {"1", "2", "3", "4", "5", "7", "8", "9"}


def test_all_further_operations_are_listed() -> None:
    assert len([id for section in DOCUMENTED.sections().values() for id in section if id.startswith("4.3-")]) == 27
