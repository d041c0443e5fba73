"""The order in which faults are tried."""

from functools import cache

from xs2a_sandbox.bank.loading import interface_and_schemas, read_quirks
from xs2a_sandbox.config import Settings
from xs2a_sandbox.features.campaign.order import (
    QUIRKS,
    Kind,
    PlannedFault,
    Subject,
    in_order,
    likeness_of,
    refuses_by_request,
    removes_values,
    subject_of,
)
from xs2a_sandbox.features.pytest.injected_fault import SCA, InjectedFault

INTERFACE, _ = interface_and_schemas(Settings(state="memory:"))
OBIE, _ = interface_and_schemas(Settings(state="memory:", dialect="obie-4.0"))

all_quirks = cache(read_quirks)


def planned(operation: str | None, kind: Kind, call: int = 1, name: str = "") -> PlannedFault:
    return PlannedFault(InjectedFault(name or kind.name, operation, call), {}, kind)


def quirk(name: str) -> PlannedFault:
    return PlannedFault(InjectedFault(name), {QUIRKS: [name]}, Kind.QUIRK, likeness_of(all_quirks()[name]))


def order(*faults: PlannedFault) -> list[str]:
    return [str(one.fault.point) + " " + one.fault.name for one in in_order(faults, INTERFACE)]


def test_money_is_before_access_and_access_before_reads() -> None:
    operations = ("account-list", "create-consent", "initiate-payment")

    assert order(*(planned(operation, Kind.LOST) for operation in operations)) == [
        "initiate-payment 1 LOST",
        "create-consent 1 LOST",
        "account-list 1 LOST",
    ]


def test_one_fault_of_each_kind_is_before_repetitions() -> None:
    faults = [
        planned("account-list", Kind.LOST, 1, "reset"),
        planned("account-list", Kind.LOST, 1, "malformed"),
        planned("account-list", Kind.FAILED, 1),
        planned("account-list", Kind.LOST, 2, "reset"),
        planned("account-list", Kind.LOST, 2, "malformed"),
        planned(SCA, Kind.ENDED, 1, "decline"),
        *(quirk(name) for name in ("ids-zero", "ids-null", "balances-fail", "balances-null")),
    ]

    assert order(*faults) == [
        "all the time ids-zero",
        "all the time balances-fail",
        "all the time balances-null",
        "sca 1 decline",
        "account-list 1 reset",
        "account-list 1 FAILED",
        "all the time ids-null",
        "account-list 1 malformed",
        "account-list 2 reset",
        "account-list 2 malformed",
    ]


def test_quirks_are_alike_if_they_change_the_same_part() -> None:
    alike = {name: likeness_of(quirk) for name, quirk in all_quirks().items()}

    assert alike["balances-fail"] != alike["balances-null"]
    assert alike["text-padded"] == alike["text-changes"]
    assert alike["paging-same-parameters"] not in (alike[name] for name in alike.keys() - {"paging-same-parameters"})
    assert alike["pending-refused"] == alike["holds-as-booked"], "options of the same handler"
    assert 20 < len(set(alike.values())) < len(alike) / 2


def test_quirks_that_leave_values_out_are_known() -> None:
    assert removes_values(all_quirks()["dates-null"])
    assert not removes_values(all_quirks()["booked-a-day-early"])
    assert not removes_values(all_quirks()["newer-consent-ends-older"])


def test_quirks_that_refuse_some_requests_because_of_their_parameters_are_known() -> None:
    avoidable = {name for name, quirk in all_quirks().items() if refuses_by_request(quirk)}

    assert {"paging-same-parameters", "date-to-refused", "history-90-days"} <= avoidable
    assert avoidable.isdisjoint({"next-page-broken", "balances-fail", "closed-account-fails-list", "error-as-html"})


def test_the_subject_comes_from_what_the_dialect_declares() -> None:
    subjects = {
        name: subject_of(interface.operations[name])
        for interface, names in (
            (INTERFACE, ("initiate-payment", "create-consent", "account-transactions")),
            (OBIE, ("create-payment", "create-account-access-consent")),
        )
        for name in names
    }

    assert subjects == {
        "initiate-payment": Subject.MONEY,
        "create-consent": Subject.ACCESS,
        "account-transactions": Subject.READS,
        "create-payment": Subject.MONEY,
        "create-account-access-consent": Subject.ACCESS,
    }
