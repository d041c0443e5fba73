"""Rules that are laid over a bank's own while it answers."""

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
    """What the store waits for in a thread, made here."""
    try:
        return added_rules.bank_with(*arguments)
    except Unprepared as missing:
        missing.args[0]()
        return added_rules.bank_with(*arguments)


def test_what_a_bank_cannot_have_is_left_out() -> None:
    own = [rule.id for rule in BANK.interface.rules]

    assert [rule.id for rule in bank_with(BANK, (LOST, MINE)).interface.rules] == ["added-1", *own]
    assert bank_with(BANK, (LOST,)) is BANK
    assert [rule.id for rule in BANK.interface.rules] == own


def test_each_addition_is_a_layer_over_those_before() -> None:
    again: Addition = ("added-2", MINE[1])

    assert [rule.id for rule in bank_with(BANK, (MINE, again)).interface.rules][:2] == [
        "added-2",
        "added-1",
    ]


def test_every_mistake_of_an_addition_is_told() -> None:
    with pytest.raises(Unreadable) as caught:
        added_rules.read(
            ("added-1", ("match: [", "{match: {path: /a}, respnd: {}}", "cassette: 1\nerrors: {}")), BANK.schemas
        )
    assert [str(one.file) for one in caught.value.problems] == ["<rule 1>", "<rule 2>", "<rule 3>"]
