"""docs/operations.md names every operation of both documented dialects."""

import pytest
from tools.openapi import writer
from tools.operations_page import DIALECTS, PAGE, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run make openapi"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_operation_is_listed_once(dialect: str) -> None:
    part = PAGE.read_text().partition(f"\n## {dialect}\n")[2].partition("\n## ")[0]
    rows = [line.split("`") for line in part.splitlines() if line.startswith("| `")]
    assert sorted(row[3] for row in rows) == sorted(writer(dialect).bank.operations)
