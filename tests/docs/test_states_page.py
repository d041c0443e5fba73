"""docs/states.md shows the tables that the handlers move by."""

import re

import pytest

from xs2a_sandbox.bank.domain.lifecycle import MACHINES, NONE, REMOVED, Machine
from xs2a_sandbox.documentation.states_page import page


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_the_page_shows_every_arrow_and_deviation(machine: Machine) -> None:
    section = page().partition(f"\n## {machine.title}\n")[2].partition("\n## ")[0]
    drawn = re.findall(r"^    (\S+) --> (\S+): (.+)$", section, re.MULTILINE)
    ends = {NONE: "[*]", REMOVED: "[*]"}
    assert drawn == [
        (ends.get(state, state), ends.get(t.to, t.to), t.event) for t in machine.transitions for state in t.states
    ]
    assert all(f"- {deviation.reason}" in section for deviation in machine.deviations)
