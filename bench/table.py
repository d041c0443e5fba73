"""The figures and their budgets as a table."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version


@dataclass(frozen=True, slots=True)
class Point:
    """A cost in µs if there are `count` of the things that `line` names."""

    line: str
    count: int
    cost: float


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. `ratio` compares it with the reference of the same run; `limit` is the budget for the ratio.

    For rates a budget is a minimum, for costs a maximum. `point` is the figure's place in the chart of growing
    cost.
    """

    what: str
    figure: str
    against: str = ""
    ratio: float | None = None
    least: float | None = None
    greatest: float | None = None
    point: Point | None = None

    @property
    def budget(self) -> str:
        if self.least is not None:
            return f"≥ {self.least:.2f}"
        return "" if self.greatest is None else f"≤ {self.greatest:.2f}"

    @property
    def met(self) -> bool | None:
        """Return None if there is no budget."""
        if self.ratio is None or not self.budget:
            return None
        return self.ratio >= self.least if self.least is not None else self.ratio <= (self.greatest or 0)

    @property
    def cells(self) -> tuple[str, ...]:
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        verdict = {True: "met", False: "MISSED", None: ""}[self.met]
        return self.what, self.figure, self.against, ratio, self.budget, verdict


HEADINGS = ("what", "figure", "against", "ratio", "budget", "")


def as_text(rows: Sequence[Row]) -> str:
    lines = [HEADINGS, *(row.cells for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def as_markdown(rows: Sequence[Row], reference: float, note: str) -> str:
    lines = [HEADINGS, ("---",) * len(HEADINGS), *(row.cells for row in rows)]
    return "\n".join(
        [
            "# Results of `make bench`",
            "",
            f"- {date.today().isoformat()}, {note}",
            f"- Python {platform.python_version()}, mitmproxy {version('mitmproxy')}, {platform.system()} "
            f"{platform.machine()}",
            f"- `json.loads` of a 12 kB transaction list takes {reference:.0f} µs here; budgets in µs are for a "
            "machine where it takes 60 µs, and are scaled accordingly",
            "",
            *("| " + " | ".join(line) + " |" for line in lines),
            "",
        ]
    )
