"""The faults of a session: which of those that it comes by is the one that goes wrong."""

from typing import Any

import pytest

from xs2a_sandbox.state import MemoryStore, Transaction
from xs2a_sandbox.state.faults import count_match, next_sca_ending
from xs2a_sandbox.state.session import SESSION_FAULTS


def new(**fault: Any) -> dict[str, Any]:
    return {"id": "fault-1", "seen": 0, "hits": 0, **fault}


@pytest.mark.parametrize(
    ("fault", "turns"),
    [
        ({}, "xxxxxx"),
        ({"next": 2}, "xx----"),
        ({"skip": 2}, "--xxxx"),
        ({"every": 3}, "--x--x"),
        ({"skip": 1, "every": 2}, "--x-x-"),
        ({"skip": 1, "next": 1}, "-x----"),
        ({"skip": 1, "every": 2, "next": 1}, "--x---"),
    ],
)
def test_it_is_due_after_those_skipped_every_so_many_times_and_so_often(fault: dict[str, int], turns: str) -> None:
    listed, goes_wrong = new(**fault), ""
    for _ in turns:
        after = count_match(listed)
        goes_wrong += "x" if after["hits"] > listed["hits"] else "-"
        listed = after
    assert goes_wrong == turns
    assert listed == {**new(**fault), "seen": len(turns), "hits": turns.count("x")}


def test_counting_leaves_the_fault_that_is_kept() -> None:
    listed = new(next=1)
    count_match(listed)
    assert listed == new(next=1)


@pytest.fixture
def transaction() -> Transaction:
    return Transaction(MemoryStore(), "ci", lambda _: {})


def test_an_approval_ends_as_the_fault_wants_it(transaction: Transaction) -> None:
    SESSION_FAULTS.keep(transaction, [new(sca="decline", next=1)])
    assert [next_sca_ending(transaction) for _ in range(2)] == ["decline", None]
    assert SESSION_FAULTS.all(transaction) == [new(sca="decline", next=1) | {"seen": 2, "hits": 1}]


def test_all_that_are_about_approvals_count_and_the_first_that_is_due_decides(transaction: Transaction) -> None:
    SESSION_FAULTS.keep(transaction, [new(sca="timeout", skip=1), new(status=503), new(sca="error")])
    assert [next_sca_ending(transaction) for _ in range(2)] == ["error", "timeout"]
    assert [(fault["seen"], fault["hits"]) for fault in SESSION_FAULTS.all(transaction)] == [(2, 1), (0, 0), (2, 2)]


def test_without_one_about_approvals_nothing_is_written(transaction: Transaction) -> None:
    SESSION_FAULTS.keep(transaction, [new(status=503)])
    assert transaction.commit()
    later = Transaction(transaction._store, "ci", lambda _: {})
    assert next_sca_ending(later) is None
    assert not later._writes
