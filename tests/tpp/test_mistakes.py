"""The kinds of bad certificates: each has a maker, a flag and an error that the dialects know."""

import pytest

from tests.support.engine_client import bundled_engine, speaking
from xs2a_sandbox.tpp.mistakes import MISTAKES
from xs2a_sandbox.tpp.specimens import MAKERS


def test_each_has_a_maker() -> None:
    assert set(MAKERS) == set(MISTAKES)


@pytest.mark.parametrize("dialect", ["xs2a-1.84", "berlin-group-1.3"])
def test_each_error_is_one_of_the_dialects(dialect: str) -> None:
    engine = bundled_engine() if dialect == "xs2a-1.84" else speaking(dialect)
    assert {kind.error for kind in MISTAKES.values()} <= set(engine.interface.errors)


def test_who_is_revoked_or_blocked_is_refused_as_such() -> None:
    standing = {kind.error: kind.standing for kind in MISTAKES.values() if kind.standing}
    assert standing == {"certificate-revoked": "revoked", "certificate-blocked": "blocked"}


def test_a_sentence_can_end_with_what_is_said_of_each() -> None:
    assert [kind.name for kind in MISTAKES.values() if kind.doc != kind.doc.strip(" .") or not kind.doc] == []
