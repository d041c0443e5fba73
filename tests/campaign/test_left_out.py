"""What a campaign has left out, in words."""

import pytest

from xs2a_sandbox.features.campaign.left_out import (
    ALIKE,
    BUDGET,
    IDLE,
    UNREACHED,
    LeftOutGroup,
    SkippedFault,
    group_left_out,
)
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault


def left_out(why: str, name: str = "reset", call: int = 1, phase: str = "before") -> SkippedFault:
    return SkippedFault(InjectedFault(name, "account-list", call, "after" if phase == "after" else "before"), why)


def test_the_faults_of_a_reason_are_counted_and_listed_by_their_points() -> None:
    made = group_left_out(
        [left_out(IDLE), left_out(ALIKE), left_out(IDLE, "html"), left_out(IDLE, phase="after"), left_out(IDLE, call=2)]
    )

    assert made == [
        LeftOutGroup(
            "1 fault was left out because it would show the same as another fault", ("account-list 1: reset (before)",)
        ),
        LeftOutGroup(
            "4 faults were left out because they change nothing for this app",
            ("account-list 1: reset (before, after), html (before)", "account-list 2: reset (before)"),
        ),
    ]
    assert group_left_out([]) == []


@pytest.mark.parametrize(
    ("why", "count", "sentence"),
    [
        (UNREACHED, 1, "1 fault was not reached: the app did not make its call"),
        (UNREACHED, 2, "2 faults were not reached: the app did not make their calls"),
        (BUDGET, 1, "1 fault was not tried because the time was over or the campaign was stopped"),
        (BUDGET, 145, "145 faults were not tried because the time was over or the campaign was stopped"),
        (IDLE, 1, "1 fault was left out because it changes nothing for this app"),
        (ALIKE, 2, "2 faults were left out because they would show the same as other faults"),
    ],
)
def test_a_sentence_for_each_reason(why: str, count: int, sentence: str) -> None:
    (group,) = group_left_out([left_out(why)] * count)
    assert group.sentence == sentence
