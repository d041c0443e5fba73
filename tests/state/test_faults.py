"""The faults of a session: which of the matching requests a fault applies to."""

from typing import Any

import pytest

from xs2a_sandbox.state import MemoryStore, Transaction
from xs2a_sandbox.state.faults import count_match, demand
from xs2a_sandbox.state.session import SESSION_FAULTS, SHARED_FAULTS
from xs2a_sandbox.state.store import SHARED


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
def test_a_fault_applies_according_to_skip_every_and_next(fault: dict[str, int], turns: str) -> None:
    listed, goes_wrong = new(**fault), ""
    for _ in turns:
        after = count_match(listed)
        goes_wrong += "x" if after["hits"] > listed["hits"] else "-"
        listed = after
    assert goes_wrong == turns
    assert listed == {**new(**fault), "seen": len(turns), "hits": turns.count("x")}


def test_counting_does_not_change_the_stored_fault() -> None:
    listed = new(next=1)
    count_match(listed)
    assert listed == new(next=1)


@pytest.fixture
def transaction() -> Transaction:
    return Transaction(MemoryStore(), "ci", lambda _: {})


def test_a_fault_decides_how_an_approval_ends(transaction: Transaction) -> None:
    SESSION_FAULTS.keep(transaction, [new(sca="decline", next=1)])
    assert [demand(transaction, "sca") for _ in range(2)] == ["decline", None]
    assert SESSION_FAULTS.all(transaction) == [new(sca="decline", next=1) | {"seen": 2, "hits": 1}]


def test_all_faults_about_approvals_count_and_the_first_due_one_decides(transaction: Transaction) -> None:
    SESSION_FAULTS.keep(transaction, [new(sca="timeout", skip=1), new(status=503), new(sca="error")])
    assert [demand(transaction, "sca") for _ in range(2)] == ["error", "timeout"]
    assert [(fault["seen"], fault["hits"]) for fault in SESSION_FAULTS.all(transaction)] == [(2, 1), (0, 0), (2, 2)]


def test_without_a_fault_about_approvals_nothing_is_written(transaction: Transaction) -> None:
    SESSION_FAULTS.keep(transaction, [new(status=503)])
    assert transaction.commit()
    later = Transaction(transaction._store, "ci", lambda _: {})
    assert demand(later, "sca") is None
    assert not later._writes


def test_a_fault_for_all_sessions_applies_to_approvals_in_each_session() -> None:
    store = MemoryStore()
    owner = Transaction(store, SHARED, lambda _: {})
    SHARED_FAULTS.add(owner, {"sca": "decline", "next": 1, "seen": 0, "hits": 0})
    assert owner.commit()
    for session in ("one", "other"):
        transaction = Transaction(store, session, lambda _: {})
        assert [demand(transaction, "sca") for _ in range(2)] == ["decline", None]
        assert transaction.commit()
    assert SHARED_FAULTS.all(owner)[0]["seen"] == 0
