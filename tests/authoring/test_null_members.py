"""Members that a bank always returns as null become a rule. Members that are sometimes filled do not."""

from typing import Any

import pytest

from tests.recording.learning.test_recognised_exchange import one
from tests.support.taping import taped
from xs2a_sandbox.features.derive.learning.recognised_exchange import RecognisedExchange
from xs2a_sandbox.features.derive.null_members import null_members
from xs2a_sandbox.features.derive.rehearsal import Rehearsed
from xs2a_sandbox.http.exchange import Exchange

LIST = "/v1/accounts"


def rehearsed(
    bank: Any, sandbox: Any, target: str = LIST, *, status: int = 200, answers: int = 200
) -> tuple[RecognisedExchange, Rehearsed]:
    recorded = taped(target, bank, status=status)
    return one(recorded), Rehearsed(recorded, taped(target, sandbox, status=answers), None, ())


def learned(*outcomes: tuple[RecognisedExchange, Rehearsed]) -> dict[str, list[str]]:
    rules = [recorded.value for recorded in null_members(outcomes)]
    return {rule["match"]["operation"]: [change["path"] for change in rule["amend"]["patch"]] for rule in rules}


def test_there_is_one_rule_for_each_operation() -> None:
    outcome = rehearsed({"b": None, "a": None, "c": 1}, {"b": "x", "a": {"d": 1}, "c": 2})
    (recorded,) = null_members([outcome])
    assert recorded.value == {
        "id": "null-members-account-list",
        "doc": "Recorded: the bank never shows a value there.",
        "match": {"operation": "account-list"},
        "amend": {
            "patch": [{"op": "add", "path": "/a", "value": None}, {"op": "add", "path": "/b", "value": None}],
        },
    }
    assert recorded.places == ("a.har.jsonl, exchange 1",)


def test_a_member_of_each_entry_is_written_with_a_star() -> None:
    bank = {"accounts": [{"name": None}, {"name": None}]}
    assert learned(rehearsed(bank, {"accounts": [{"name": "x"}]})) == {"account-list": ["/accounts/*/name"]}


@pytest.mark.parametrize(
    ("bank", "sandbox"),
    [
        ({"a": "x"}, {"a": "y"}),
        ({"a": None}, {"a": None}),
        ({"a": None}, {}),
        ({}, {"a": "x"}),
        ({"accounts": [{"name": None}, {"name": "x"}]}, {"accounts": [{"name": "y"}]}),
        ({"a b": None}, {"a b": "x"}),
    ],
    ids=["never null", "null here too", "not here", "not there", "null at times", "no plain name"],
)
def test_other_differences_are_not_learned(bank: Any, sandbox: Any) -> None:
    assert learned(rehearsed(bank, sandbox)) == {}


def test_one_value_is_enough_to_prevent_the_rule() -> None:
    nulls, value = rehearsed({"a": None}, {"a": "x"}), rehearsed({"a": "y"}, {"a": "x"})
    assert learned(nulls) == {"account-list": ["/a"]}
    assert learned(nulls, value) == {}


def test_errors_are_ignored() -> None:
    assert learned(rehearsed({"a": None}, {"a": "x"}, status=404)) == {}
    assert learned(rehearsed({"a": None}, {"a": "x"}, answers=404)) == {}


@pytest.mark.parametrize("target", ["/v1/consents/1", "/v1/branches"])
def test_only_reads_of_accounts_and_cards_are_used(target: str) -> None:
    assert learned(rehearsed({"a": None}, {"a": "x"}, target)) == {}


def test_requests_that_could_not_be_replayed_are_ignored() -> None:
    recorded: Exchange = taped(LIST, {"a": None})
    assert learned((one(recorded), Rehearsed(recorded, None, None, ()))) == {}
