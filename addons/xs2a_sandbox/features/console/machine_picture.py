"""Lays out the picture of a state machine: a box for each state, in rows by distance from the start, and arrows.

An arrow that passes rows uses a lane between the boxes. All arrows to the same state share their lanes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from statistics import fmean

from xs2a_sandbox.bank.domain.lifecycle import NONE, REMOVED, Machine

_HEIGHT = 34.0
_ROW = 78.0
"""The distance from one row to the next."""
_LETTER = 8.6
_PADDING = 20.0
_POINT = 22.0
"""The width of the points for beginning and removal."""
_LANE = 6.0
_GAP = 12.0
_MARGIN = 14.0
_TIP = 8.0
"""The length of an arrow's tip."""
_SWEEPS = 12

type _Node = tuple[str, int]
"""A state in its own row, or its lane in a row above it."""
type Arrow = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Box:
    """A state with its left upper corner. `is_point` is the beginning or the removal."""

    state: str
    x: float
    y: float
    width: float
    height: float = _HEIGHT

    @property
    def is_point(self) -> bool:
        return self.state in (NONE, REMOVED)

    @property
    def centre(self) -> float:
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class ArrowLine:
    """An arrow as a path of SVG, and the point of its tip."""

    start: str
    end: str
    events: tuple[str, ...]
    path: str
    tip: str


@dataclass(frozen=True, slots=True)
class Picture:
    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[ArrowLine, ...]


@cache
def lay_out(machine: Machine) -> Picture:
    """Raises ValueError if states lead to each other in a circle."""
    rows = _rows(machine)
    ways = {arrow: _nodes(arrow, rows) for arrow in sorted(machine.arrows)}
    steps = {step for way in ways.values() for step in pairwise(way)}
    order = _order(steps, rows)
    middles = _place(order, steps, rows)
    left = min(x - _width(node, rows) / 2 for node, x in middles.items()) - _MARGIN
    middles = {node: x - left for node, x in middles.items()}
    boxes = [
        Box(state, middles[state, row] - _width((state, row), rows) / 2, _top(row), _width((state, row), rows))
        for state, row in sorted(rows.items(), key=lambda one: (one[1], middles[one]))
    ]
    ports = _ports(steps, middles, rows)
    return Picture(
        max(x + _width(node, rows) / 2 for node, x in middles.items()) + _MARGIN,
        _top(max(rows.values())) + _HEIGHT + _MARGIN,
        tuple(boxes),
        tuple(_line(arrow, way, machine, ports, middles) for arrow, way in ways.items()),
    )


def _rows(machine: Machine) -> dict[str, int]:
    """Return the row of each state: below all the states that lead to it.

    A state that no event leads to is directly above the next state, rather than next to the first state.
    """
    before = {to: {state for state, end in machine.arrows if end == to} for _, to in machine.arrows}
    rows: dict[str, int] = {NONE: 0}
    waiting = [state for state in (*machine.states, REMOVED) if state in before or state in machine.states]
    while waiting:
        ready = [state for state in waiting if before.get(state, set()) <= rows.keys()]
        if not ready:
            raise ValueError(f"the states {', '.join(waiting)} lead to each other")
        for state in ready:
            rows[state] = 1 + max((rows[one] for one in before.get(state, ())), default=0)
        waiting = [state for state in waiting if state not in rows]
    for state in machine.without_way:
        rows[state] = min(rows[to] for start, to in machine.arrows if start == state) - 1
    return rows


def _nodes(arrow: Arrow, rows: Mapping[str, int]) -> tuple[_Node, ...]:
    start, end = arrow
    return ((start, rows[start]), *((end, row) for row in range(rows[start] + 1, rows[end] + 1)))


def _order(steps: Iterable[tuple[_Node, _Node]], rows: Mapping[str, int]) -> list[list[_Node]]:
    """Return the nodes of each row from left to right, so that few arrows cross."""
    nodes = {(state, row) for state, row in rows.items()} | {node for step in steps for node in step}
    names = list(rows)
    order = [
        sorted((node for node in nodes if node[1] == row), key=lambda node: names.index(node[0]))
        for row in range(max(rows.values()) + 1)
    ]
    best, fewest = order, _crossings(order, steps)
    for sweep in range(_SWEEPS):
        is_down = sweep % 2 == 0
        order = [list(row) for row in order]
        for row in order[1:] if is_down else order[-2::-1]:
            places = {node: place for nodes in order for place, node in enumerate(nodes)}
            middle = {node: _mean(node, steps, places, above=is_down) for node in row}
            row.sort(key=lambda node: (middle[node], places[node]))
        if (count := _crossings(order, steps)) < fewest:
            best, fewest = order, count
    return best


def _mean(
    node: _Node, steps: Iterable[tuple[_Node, _Node]], places: Mapping[_Node, float], *, above: bool | None = None
) -> float:
    """Return the mean place of the neighbours in the row above, below, or in both; its own if it has none."""
    neighbours = [places[a] for a, b in steps if b == node and above is not False]
    neighbours += [places[b] for a, b in steps if a == node and above is not True]
    return fmean(neighbours) if neighbours else places[node]


def _crossings(order: Sequence[Sequence[_Node]], steps: Iterable[tuple[_Node, _Node]]) -> int:
    places = {node: place for row in order for place, node in enumerate(row)}
    pairs = [(a[1], places[a], places[b]) for a, b in steps]
    return sum(
        row == other_row and start < other_start and end > other_end
        for row, start, end in pairs
        for other_row, other_start, other_end in pairs
    )


def _place(
    order: Sequence[Sequence[_Node]], steps: Iterable[tuple[_Node, _Node]], rows: Mapping[str, int]
) -> dict[_Node, float]:
    """Return the middle of each node: near its neighbours, without overlaps in its row."""
    middles: dict[_Node, float] = {node: 0.0 for row in order for node in row}
    for sweep in range(_SWEEPS):
        for row in order if sweep % 2 == 0 else reversed(order):
            wanted = [_mean(node, steps, middles) for node in row]
            middles |= zip(row, _spread(wanted, [_width(node, rows) for node in row]), strict=True)
    return middles


def _spread(wanted: Sequence[float], widths: Sequence[float]) -> list[float]:
    """Return places near the wanted ones, in the same order, with gaps between them."""
    offsets = [0.0]
    for one, other in pairwise(widths):
        offsets.append(offsets[-1] + (one + other) / 2 + _GAP)
    # Without the offsets, places only have to ascend. Neighbours that do not are merged at their mean.
    blocks: list[list[float]] = []
    for place, offset in zip(wanted, offsets, strict=True):
        blocks.append([place - offset])
        while len(blocks) > 1 and fmean(blocks[-2]) > fmean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    means = [fmean(block) for block in blocks for _ in block]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _ports(
    steps: Iterable[tuple[_Node, _Node]], middles: Mapping[_Node, float], rows: Mapping[str, int]
) -> dict[tuple[_Node, _Node], tuple[float, float]]:
    """Return where each step leaves its first node and where it meets its second one, next to each other."""
    ports = {step: (middles[step[0]], middles[step[1]]) for step in steps}
    for node, middle in middles.items():
        room = _width(node, rows) - _PADDING
        for side in (0, 1):
            at_node = sorted((step for step in steps if step[side] == node), key=lambda step: middles[step[1 - side]])
            apart = min(14.0, max(room, 0) / max(1, len(at_node) - 1))
            for place, step in enumerate(at_node):
                x = middle + (place - (len(at_node) - 1) / 2) * apart
                ports[step] = (x, ports[step][1]) if side == 0 else (ports[step][0], x)
    return ports


def _line(
    arrow: Arrow,
    way: Sequence[_Node],
    machine: Machine,
    ports: Mapping[tuple[_Node, _Node], tuple[float, float]],
    middles: Mapping[_Node, float],
) -> ArrowLine:
    """Draw from the bottom of one box, along the lanes, to the top of the other."""
    steps = list(pairwise(way))
    y = _top(way[0][1]) + (_HEIGHT if arrow[0] != NONE else (_HEIGHT + _POINT) / 2)
    path = [f"M{ports[steps[0]][0]:.1f} {y:.1f}"]
    for step in steps:
        (out, x), row = ports[step], step[1][1]
        is_last = step is steps[-1]
        top = (
            _top(row) - (_TIP if is_last else 0) + ((_HEIGHT - _POINT) / 2 if step[1][0] == REMOVED and is_last else 0)
        )
        middle = (y + top) / 2
        path.append(f"C{out:.1f} {middle:.1f} {x:.1f} {middle:.1f} {x:.1f} {top:.1f}")
        y = _top(row) + _HEIGHT
        if not is_last:
            path.append(f"V{y:.1f}")
    tip = f"M{x - _TIP / 2:.1f} {top:.1f}h{_TIP:.1f}l{-_TIP / 2:.1f} {_TIP:.1f}z"
    events = tuple(t.event for t in machine.transitions if arrow[0] in t.states and t.to == arrow[1])
    return ArrowLine(*arrow, events, "".join(path), tip)


def _width(node: _Node, rows: Mapping[str, int]) -> float:
    state, row = node
    if rows[state] != row:
        return _LANE
    return _POINT if state in (NONE, REMOVED) else len(state) * _LETTER + _PADDING


def _top(row: int) -> float:
    return _MARGIN + row * _ROW
