"""The sandbox withstands the attack. Quick tests use one case of each family, slow tests use all cases."""

from pathlib import Path

import pytest

from tests.attack.expressions import Expression, expressions, withstood
from tests.attack.run import MODES, attack, cases, first_of_each, target
from tests.attack.surroundings import accepted, cassettes, environments, used_variables
from tests.support.roads import ENGINES


def test_every_case_has_an_expectation() -> None:
    every = cases()
    assert len(every) >= 300
    assert len({str(case) for case in every}) == len(every)
    assert all(case.answers <= {"2", "4", "5", "none"} and case.answers for case in every)
    assert sum(not case.may_reach_bank for case in every) >= 300


@pytest.mark.by_turns("engine")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mode", ["spy"])
def test_one_case_of_each_family(mode: str, engine: str, tmp_path: Path) -> None:
    count, broken = attack(mode, first_of_each(cases()), tmp_path, engine)
    assert count > 50
    assert not broken


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mode", MODES)
def test_every_case(mode: str, engine: str, tmp_path: Path) -> None:
    count, broken = attack(mode, cases(), tmp_path, engine)
    assert count > 1000
    assert not broken


def test_a_leak_is_detected(tmp_path: Path) -> None:
    """Ordinary requests to the bank contain no canary. If one arrives there, it is reported with its case."""
    every = cases()
    with target("spy", tmp_path) as attacked:
        case = next(one for one in every if one.family == "the-bank-itself")
        assert attacked.exchange(case, "direct") == "2"
        assert len(attacked.bank.seen) == 1
        assert not list(attacked.leaks(every))
        attacked.bank.seen.append(b"Authorization: Bearer canary-7f3a-3-end\r\nX: " + attacked.serving.token.encode())
        assert [text.partition(" is in ")[2] for text in attacked.leaks(every)] == ["the bank", "the bank"]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(environments())))
def test_malicious_environment_variables(number: int, tmp_path: Path) -> None:
    assert not list(used_variables(environments()[number], tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(cassettes())))
def test_malicious_cassettes(number: int, tmp_path: Path) -> None:
    assert not list(accepted(cassettes()[number], tmp_path))


def test_some_expensive_expressions(tmp_path: Path) -> None:
    """Use one expression of each kind. The sandbox must answer other requests meanwhile, and stop afterwards."""
    first = {one.says: one for one in reversed(expressions())}
    assert not list(withstood(list(first.values()), tmp_path))


def test_an_answered_expression_is_detected(tmp_path: Path) -> None:
    (broken,) = withstood([Expression(0, "1 + 1", "need more than")], tmp_path)
    assert broken.startswith("1 + 1 is answered 200")


@pytest.mark.slow
def test_every_expression(tmp_path: Path) -> None:
    assert len(expressions()) >= 40
    assert not list(withstood(expressions(), tmp_path))
