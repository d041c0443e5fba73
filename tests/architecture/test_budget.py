"""Requests do not become slower. `bench/budget.py` documents how they are measured and how to change the budgets."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture
def budget(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(BENCH)
    before = set(sys.modules)
    import budget

    yield budget
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.slow
def test_no_request_exceeds_its_budget(budget: Any) -> None:
    now = budget.multiples(rounds=25, is_enough=lambda found: not budget.losses(found))
    assert budget.losses(now) == {}, f"cost in multiples of a constant answer: {now}; budgets: {budget.budgets()}"


@pytest.mark.parametrize(("factor", "is_lost"), [(1.1, False), (1.2, True)])
def test_a_loss_of_more_than_15_percent_is_reported(budget: Any, factor: float, is_lost: bool) -> None:
    now = {name: most * factor for name, most in budget.budgets().items()}
    assert set(budget.losses(now)) == (set(now) if is_lost else set())
    assert set(now) == set(budget.NAMES)
