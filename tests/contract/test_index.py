"""The index of statements, the tests' marks, the products that break statements and the pages that show them agree."""

import json
import subprocess
import sys

import pytest
from tools import conformance_page, dialect_conformance, prove
from tools.breakers import CATALOGUE

COLLECT = """
import json
from tools import conformance_page, dialect_conformance
print(json.dumps(conformance_page.collect(conformance_page.MARK, dialect_conformance.MARK)))
"""


@pytest.fixture(scope="module")
def collected() -> list[conformance_page.Proofs]:
    """Those of both dialects, from a process of its own, so that they are complete whichever tests are being run."""
    run = subprocess.run(
        [sys.executable, "-c", COLLECT],
        cwd=conformance_page.ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr + run.stdout
    return json.loads(run.stdout.splitlines()[-1])


@pytest.fixture
def proofs(collected: list[conformance_page.Proofs]) -> conformance_page.Proofs:
    return collected[0]


@pytest.mark.slow
def test_marks_name_statements_of_the_index(proofs: conformance_page.Proofs) -> None:
    assert not conformance_page.unknown(proofs)


@pytest.mark.slow
def test_every_statement_has_a_test_that_always_runs(proofs: conformance_page.Proofs) -> None:
    assert not conformance_page.unproven(proofs)


@pytest.mark.slow
def test_no_test_proves_what_cannot_be_checked(proofs: conformance_page.Proofs) -> None:
    assert proofs.keys() <= set(conformance_page.checked())


@pytest.mark.slow
def test_the_page_is_up_to_date(proofs: conformance_page.Proofs) -> None:
    page = conformance_page.PAGE.read_text()

    assert page == conformance_page.page(proofs), "run python -m tools.conformance_page"


def test_every_statement_is_broken_by_a_product_or_the_page_says_why_not() -> None:
    excused = set(conformance_page.unbroken())

    assert excused.isdisjoint(CATALOGUE)
    assert CATALOGUE.keys() | excused == set(conformance_page.checked())


def test_products_that_break_a_statement_have_different_names() -> None:
    for statement, breakers in CATALOGUE.items():
        names = [breaker.name for breaker in breakers]
        assert len(set(names)) == len(names), statement


def test_the_page_of_broken_products_lists_them_all() -> None:
    page = prove.PAGE.read_text()
    products = {(id, breaker.name) for id in conformance_page.checked() for breaker in CATALOGUE.get(id, ())}

    assert prove.listed(page).keys() == products, "run make mutants, or python -m tools.prove --write STATEMENT"
    assert prove.page(prove.listed(page)) == page


def test_ids_are_unique() -> None:
    parts = conformance_page.index().values()

    assert sum(map(len, parts)) == len({statement for part in parts for statement in part})


def test_every_section_with_something_to_check_is_there() -> None:
    """Section 6 says only that events are not shown."""
    sections = {statement.partition("-")[0].partition(".")[0] for statement in conformance_page.index()["statements"]}

    assert sections == {"1", "2", "3", "4", "5", "7", "8", "9"}


def test_all_further_operations_are_listed() -> None:
    known = conformance_page.index()

    assert len([id for part in known.values() for id in part if id.startswith("4.3-")]) == 27


@pytest.mark.slow
@pytest.mark.parametrize("part", ["1/2", "2/2"])
def test_every_broken_product_is_noticed_and_no_test_is_in_vain(part: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tools.prove", "--part", part],
        cwd=conformance_page.ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.slow
def test_the_page_of_the_other_dialect_is_up_to_date_and_every_statement_has_a_test(
    collected: list[conformance_page.Proofs],
) -> None:
    assert dialect_conformance.mistake(collected[1]) is None
