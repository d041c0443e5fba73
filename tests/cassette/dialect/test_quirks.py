"""Layers that change handler options of the layers below."""

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.support.writing import SCHEMAS, write
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.errors import Unreadable

PAGED = """\
    cassette: 1
    rules:
      - id: {id}
        match: {{operation: account-transactions, query: {{dateFrom: "{id}"}}}}
        handler: accounts.transactions
        with: {{lists: {{booked: [booked]}}, page_size: 5}}
    """
CHANGE = """\
    cassette: 1
    changes: {options: {accounts.transactions: {page_size: 7, lists: {both: [pending]}}}}
    """


def read(directory: Path, *texts: str) -> Interface:
    folders = [write(directory / str(number), {"a.yaml": text}) for number, text in enumerate(texts)]
    dialect = bundled("cassettes") / "xs2a-1.84"
    return layers.read([[dialect], *([folder] for folder in folders)], SCHEMAS, NAMED)


def options(interface: Interface, id: str) -> Any:
    by = interface.entry(id)
    assert by is not None
    return by.behaviour.options


def test_options_are_changed_and_other_options_are_kept(tmp_path: Path) -> None:
    changed = options(read(tmp_path, CHANGE), "account-transactions")
    assert changed == {
        "lists": {"both": ["pending"], "booked": ["booked"], "pending": ["pending"], "information": ["information"]},
        "page_size": 7,
    }
    assert options(read(tmp_path), "account-transactions")["page_size"] is None


def test_only_entries_of_layers_below_are_changed(tmp_path: Path) -> None:
    own = dedent(CHANGE) + dedent(PAGED).format(id="same").partition("cassette: 1\n")[2]
    interface = read(tmp_path, PAGED.format(id="below"), own, PAGED.format(id="above"))
    assert [options(interface, id)["page_size"] for id in ("below", "same", "above")] == [7, 5, 5]


def test_a_rule_without_options_uses_those_of_its_operation(tmp_path: Path) -> None:
    rule = (
        "cassette: 1\nrules: [{id: mine, match: {operation: account-transactions}, handler: accounts.transactions}]\n"
    )
    assert options(read(tmp_path, rule, CHANGE), "mine") is None


def test_null_removes_an_option(tmp_path: Path) -> None:
    interface = read(tmp_path, CHANGE.replace("page_size: 7", "page_size: null"))
    assert "page_size" not in options(interface, "account-transactions")


def test_only_layers_marked_as_quirks_are_listed(tmp_path: Path) -> None:
    assert read(tmp_path, CHANGE).quirks == ()
    assert read(tmp_path, CHANGE.replace("changes", "quirk: true\n    changes")).quirks == ("a",)


def test_a_layer_changes_the_options_of_one_operation(tmp_path: Path) -> None:
    change = "cassette: 1\nchanges: {operations: {initiate-payment: {with: {executed: ACSC}}}}\n"
    interface = read(tmp_path, change)
    assert options(interface, "initiate-payment")["executed"] == "ACSC"
    assert "executed" not in (options(interface, "initiate-bulk-payment") or {})


OWN = """\
operations:
  - id: initiate-payment
    method: POST
    path: /v1/payments/{product}
    handler: payments.initiate
    input: {service: payments}
    respond: {status: 201, body: "{{ result }}"}
"""


def test_a_layer_cannot_change_its_own_operation(tmp_path: Path) -> None:
    change = "cassette: 1\nchanges: {operations: {initiate-payment: {with: {executed: ACCC}}}}\n"
    with pytest.raises(Unreadable) as failure:
        read(tmp_path, change + OWN)
    (problem,) = failure.value.problems
    assert "is in the same layer" in problem.text
    assert (problem.code, problem.line) == ("extends", 2)
    assert options(read(tmp_path, "cassette: 1\n" + OWN, change), "initiate-payment")["executed"] == "ACCC"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            "{operations: {acount-list: {with: {}}}}",
            "unknown operation 'acount-list'; did you mean account-list?",
        ),
        ("{operations: {account-transactions: {with: {page_sise: 3}}}}", "unknown key page_sise"),
        (
            "{operations: {account-transactions: {path: /v1/x}}}",
            "a layer without extends can change only options and the `with` of operations",
        ),
        ("{operations: {account-transactions: {with: [1]}}}", "must be a mapping"),
        ("{operations: {account-transactions: {with: null}}}", "must be a mapping, not null"),
        ("{operations: {create-consent: {with: {status: null}}}}", "needs the key status"),
        ("{options: {consents.create: {status: null}}}", "needs the key status"),
        ("{operations: {start-payment-authorisation: {with: {sca: oauth}}}}", "in the section authorisation"),
        ("{options: {authorisations.start: {attempts: 1}}}", "in the section authorisation"),
    ],
)
def test_an_impossible_change_is_reported_at_its_place(tmp_path: Path, change: str, words: str) -> None:
    with pytest.raises(Unreadable) as failure:
        read(tmp_path, f"cassette: 1\nchanges: {change}\n")
    (problem,) = failure.value.problems
    assert words in problem.text
    assert (problem.file.name, problem.line) == ("a.yaml", 2)


def test_a_null_does_not_affect_entries_of_the_same_layer(tmp_path: Path) -> None:
    change = "cassette: 1\nchanges: {options: {payments.initiate: {executed: null, bulk: null}}}\n"
    interface = read(tmp_path, change + OWN)
    assert options(interface, "initiate-payment").keys().isdisjoint({"executed", "bulk"})
    assert "bulk" not in options(interface, "initiate-bulk-payment")


ALL_ACCC = "{options: {payments.initiate: {executed: ACCC}}}"


def of_two_files(directory: Path, first: str, second: str) -> Interface:
    files = {f"{name}.yaml": f"cassette: 1\nchanges: {change}\n" for name, change in (("a", first), ("b", second))}
    return layers.read([[bundled("cassettes") / "xs2a-1.84"], [write(directory, files)]], SCHEMAS, NAMED)


def test_the_order_of_files_does_not_matter(tmp_path: Path) -> None:
    both = ("{operations: {initiate-payment: {with: {executed: ACSC}}}}", ALL_ACCC)
    for number, pair in enumerate((both, both[::-1])):
        interface = of_two_files(tmp_path / str(number), *pair)
        assert options(interface, "initiate-payment")["executed"] == "ACSC"
        assert options(interface, "initiate-bulk-payment")["executed"] == "ACCC"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (ALL_ACCC, "{options: {payments.initiate: {executed: ACSC}}}"),
        (
            "{operations: {initiate-payment: {with: {executed: ACSC}}}}",
            "{operations: {initiate-payment: {with: {executed: ACCC}}}}",
        ),
    ],
)
def test_two_files_of_a_layer_cannot_change_the_same_option(tmp_path: Path, first: str, second: str) -> None:
    with pytest.raises(Unreadable) as failure:
        of_two_files(tmp_path, first, second)
    (problem,) = failure.value.problems
    assert "a.yaml, in the same layer, changes the same options" in problem.text
    assert (problem.code, problem.file.name, problem.line) == ("duplicate-id", "b.yaml", 2)


def test_two_files_of_a_layer_can_change_different_options(tmp_path: Path) -> None:
    """This includes removing an option, and setting the same value twice."""
    change = "{options: {payments.initiate: {executed: ACSC, bulk: null}}}"
    interface = of_two_files(tmp_path, change, "{options: {payments.initiate: {bulk: null, business_days: T2}}}")
    assert options(interface, "initiate-payment")["executed"] == "ACSC"
    assert options(interface, "initiate-payment")["business_days"] == "T2"
