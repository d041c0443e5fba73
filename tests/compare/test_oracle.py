"""The comparison reports the oracle's changes, and does not report its noise."""

import re

import pytest

from tests.compare import oracle
from tests.compare.oracle import MODES, Noise, Outcome, Plant
from xs2a_sandbox.compare.difference import SEVERITIES

PLANTS, NOISES = list(oracle.plants()), list(oracle.noises())


def failures(outcomes: list[Outcome]) -> list[tuple[str, ...]]:
    failed = []
    for one in outcomes:
        case = one.case
        if isinstance(case, Noise):
            wrong = [f"told at {place}" for place in one.others]
        else:
            wrong = [] if one.is_told else ["not told"]
            wrong += [] if one.severity == case.severity else [f"{one.severity} for {case.severity}"]
            wrong += [f"told at {place}, too" for place in one.others]
            wrong += [] if one.is_redacted_told else ["not in the redacted report"]
        failed += [(one.mode, case.kind, case.name, what) for what in wrong]
    return failed


def short(cases: list[Plant] | list[Noise]) -> list[Plant | Noise]:
    """Return the first case of each kind and severity."""
    firsts = {(one.kind, one.severity if isinstance(one, Plant) else ""): one for one in reversed(cases)}
    return list(firsts.values())


def test_there_are_enough_changes_and_examples_of_noise() -> None:
    assert len({(one.kind, one.name) for one in PLANTS}) == len(PLANTS) >= 150
    assert len({(one.kind, one.name) for one in NOISES}) == len(NOISES) >= 60
    assert {one.severity for one in PLANTS} == set(SEVERITIES)


def test_every_change_and_noise_can_be_made() -> None:
    for plant in PLANTS:
        answer = oracle.of_bank(plant.base)
        assert plant.change(answer) != answer, plant.name
    for noise in NOISES:
        for base in (noise.base, *noise.before):
            noise.change(oracle.of_bank(base), 0)


@pytest.mark.slow
def test_some_changes_of_each_kind_are_reported_and_noise_is_not() -> None:
    assert failures(oracle.outcomes([*short(PLANTS), *short(NOISES)], MODES[:1])) == []


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_all_changes_are_reported_and_noise_is_not(mode: str) -> None:
    assert failures(oracle.outcomes([*PLANTS, *NOISES], [mode])) == []


def test_the_page_contains_the_current_numbers() -> None:
    page = oracle.PAGE.read_text()
    assert f"{len(PLANTS)} changes and {len(NOISES)} examples of noise" in page
    section = page.partition(oracle.BEGIN)[2]
    counts = re.findall(r"(\d+) of (\d+)", section)
    assert counts
    assert [one for one in counts if one[0] != one[1]] == []
