"""docs/operations.md names every operation of both documented dialects."""

import pytest
from tools.generate.openapi import writer
from tools.generate.operations_page import DIALECTS, page


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_operation_is_listed_once(dialect: str) -> None:
    part = page().partition(f"\n## {dialect}\n")[2].partition("\n## ")[0]
    rows = [line.split("`") for line in part.splitlines() if line.startswith("| `")]
    assert sorted(row[3] for row in rows) == sorted(writer(dialect).bank.operations)
