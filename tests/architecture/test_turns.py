"""The cases of the contract tests are shared out over the doors."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.turns import share_out

WIRES = ("direct", "tls", "proxy")


class Item(SimpleNamespace):
    def __init__(self, number: int, door: str, *markers: str) -> None:
        super().__init__(nodeid=f"test[{number}-{door}]", markers={*markers})
        self.callspec = SimpleNamespace(params={"number": number, "bank": door})

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def add_marker(self, marker: Any) -> None:
        self.markers.add(marker.name)

    def get_closest_marker(self, name: str) -> bool:
        return name in self.markers


def shared_out(cases: int, *markers: str) -> list[tuple[int, str]]:
    items: Any = [Item(number, door, *markers) for number in range(cases) for door in (*WIRES, "process")]
    return [tuple(item.callspec.params.values()) for item in share_out(items, "bank", WIRES)]


@pytest.mark.parametrize("cases", [1, 2, 3, 10])
def test_each_case_uses_a_socket_and_each_test_all_doors(cases: int) -> None:
    kept = shared_out(cases)
    assert Counter(door for _, door in kept)["process"] == cases
    assert {number for number, door in kept if door in WIRES} == {*range(cases)}
    assert {door for _, door in kept} >= {*WIRES}
    assert len(kept) == cases + max(cases, len(WIRES))


def test_a_test_of_the_doors_keeps_all_cases() -> None:
    assert len(shared_out(5, "every_door")) == 5 * (len(WIRES) + 1)
