"""Rules that are added to a running bank."""

from typing import Any

import pytest

from tests.support.engine_client import an_engine
from xs2a_sandbox.bank import added_rules
from xs2a_sandbox.bank.added_rules import Addition
from xs2a_sandbox.errors import Unreadable
from xs2a_sandbox.state.attempts import Unprepared

BANK = an_engine().banks.default
MINE: Addition = ("added-1", ("match: {path: /mine}\nrespond: {}",))
LOST: Addition = ("added-2", ("match: {operation: taken-out}\nrespond: {}",))


def bank_with(*arguments: Any) -> Any:
    """Run coroutines that the store would run in a thread."""
    try:
        return added_rules.bank_with(*arguments)
    except Unprepared as missing:
        missing.args[0]()
        return added_rules.bank_with(*arguments)


def test_rules_that_do_not_match_the_bank_are_skipped() -> None:
    own = [rule.id for rule in BANK.interface.rules]

    assert [rule.id for rule in bank_with(BANK, (LOST, MINE)).interface.rules] == ["added-1", *own]
    assert bank_with(BANK, (LOST,)) is BANK
    assert [rule.id for rule in BANK.interface.rules] == own


def test_each_addition_is_a_layer_above_earlier_ones() -> None:
    again: Addition = ("added-2", MINE[1])

    assert [rule.id for rule in bank_with(BANK, (MINE, again)).interface.rules][:2] == [
        "added-2",
        "added-1",
    ]


def test_all_mistakes_in_added_rules_are_reported() -> None:
    with pytest.raises(Unreadable) as caught:
        added_rules.read(
            ("added-1", ("match: [", "{match: {path: /a}, respnd: {}}", "cassette: 1\nerrors: {}")), BANK.schemas
        )
    assert [str(one.file) for one in caught.value.problems] == ["<rule 1>", "<rule 2>", "<rule 3>"]
