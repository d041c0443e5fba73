"""docs/states.md shows the tables of the state machines."""

import re
from pathlib import Path

import pytest

from xs2a_sandbox.bank.domain.lifecycle import MACHINES, NONE, REMOVED, Machine

PAGE = (Path(__file__).parents[2] / "docs" / "states.md").read_text()


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_the_page_shows_every_arrow_and_deviation(machine: Machine) -> None:
    section = PAGE.partition(f"\n## {machine.title}\n")[2].partition("\n## ")[0]
    drawn = re.findall(r"^    (\S+) --> (\S+): (.+)$", section, re.MULTILINE)
    ends = {NONE: "[*]", REMOVED: "[*]"}
    assert drawn == [
        (ends.get(state, state), ends.get(t.to, t.to), t.event) for t in machine.transitions for state in t.states
    ]
    assert all(f"- {deviation.reason}" in section for deviation in machine.deviations)
    assert all(f"| `{state}` | {meaning} |" in section for state, meaning in machine.meanings.items())
