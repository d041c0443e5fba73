"""The checker reports each planted fault, and nothing in a log without faults."""

from dataclasses import replace

import pytest

from tests.wide.checker import FinalDocument, complaints
from tests.wide.operation import Operation

CREATE = Operation("create", "s", "payment", "p", 0, 1, 200, "RCVD", label="l-1")
OTHER = Operation("create", "s", "consent", "c", 0, 1, 200, "received", label="l-2")
READ = Operation("read", "s", "payment", "p", 2, 3, 200, "RCVD")
CANCEL = Operation("delete", "s", "payment", "p", 4, 5, 204, "CANC", race="r")
LATE = Operation("delete", "s", "payment", "p", 4, 5, 405, race="r")
LAST = Operation("read", "s", "payment", "p", 6, 7, 200, "CANC")
REMOVED = Operation("delete", "s", "consent", "c", 4, 5, 204, "deleted")
LOG = [CREATE, OTHER, READ, CANCEL, LATE, LAST, REMOVED]
KEPT = [FinalDocument("payment", "s", "p", "l-1", "CANC")]


def judged(log: list[Operation], kept: list[FinalDocument] = KEPT) -> str:
    return "\n".join(complaints(log, kept))


def changed(operation: Operation, **changes: object) -> list[Operation]:
    return [replace(one, **changes) if one is operation else one for one in LOG]  # type: ignore[arg-type]


def test_a_log_without_faults_has_no_complaints() -> None:
    assert judged(LOG) == ""


@pytest.mark.parametrize(
    ("log", "kept", "complaint"),
    [
        (LOG, [], "payment p of session s was acknowledged, and is not there"),
        (LOG, [replace(KEPT[0], state="RCVD")], "is RCVD in the end"),
        (LOG, [*KEPT, replace(KEPT[0], id="q")], "2 were made by l-1"),
        (LOG, [*KEPT, FinalDocument("payment", "s", "q", "l-9", "RCVD")], "nobody has made: l-9"),
        (LOG, [replace(KEPT[0], label="l-2")], "is that of l-2"),
        (changed(LATE, status=204), KEPT, "2 of 2 have won the race r"),
        (changed(CANCEL, status=405, state=""), KEPT, "nobody has won the race r"),
        (changed(LAST, state="RCVD"), KEPT, "was CANC by delete"),
        (changed(READ, state="ACSP"), KEPT, "was ACSP by read"),
        (changed(REMOVED, status=403, state=""), KEPT, "consent c of session s was acknowledged, and is not there"),
        ([*LOG, replace(CREATE, label="l-3")], KEPT, "two creations were told the same payment p"),
        (
            [*LOG, Operation("create", "s", "payment", "", 8, 9, 409, label="l-4")],
            [*KEPT, FinalDocument("payment", "s", "q", "l-4", "RCVD")],
            "l-4 was refused with 409, and is there",
        ),
    ],
)
def test_a_planted_fault_is_reported(log: list[Operation], kept: list[FinalDocument], complaint: str) -> None:
    assert complaint in judged(log, kept)


@pytest.mark.parametrize("status", [None, 503])
def test_an_operation_with_unknown_outcome_may_have_happened_or_not(status: int | None) -> None:
    assert judged(changed(CANCEL, status=status, state="")) == ""
    assert judged(changed(REMOVED, status=status, state="")) == ""
    unknown = Operation("create", "s", "payment", "", 8, 9, status, label="l-4")
    assert judged([*LOG, unknown]) == ""
    assert judged([*LOG, unknown], [*KEPT, FinalDocument("payment", "s", "q", "l-4", "RCVD")]) == ""


def test_concurrent_requests_may_be_answered_in_any_order() -> None:
    assert judged(changed(READ, state="CANC", began=4.5, ended=4.6)) == ""
    assert judged([*LOG, Operation("read", "s", "payment", "p", 4, 5, 200, "RCVD")]) == ""


def test_authorisations_have_their_own_states() -> None:
    before = Operation("read", "s", "authorisation", "a", 0, 1, 200, "finalised")
    assert "authorisation a was finalised" in judged([before, replace(before, began=2, ended=3, state="started")], [])
