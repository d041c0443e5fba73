"""A chart of how cost grows."""

import re
from collections.abc import Sequence
from math import log10

import pygal
from pygal.style import CleanStyle
from table import Row


def growth(rows: Sequence[Row]) -> str:
    """Return an SVG without scripts and external fonts. Each cost is a multiple of the one with the smallest count."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        if row.point:
            lines.setdefault(row.point.line, []).append((row.point.count, row.point.cost))
    most = max((cost / points[0][1] for points in lines.values() for _, cost in points), default=1.0)
    chart = pygal.XY(
        js=[],
        style=CleanStyle(font_family="sans-serif"),
        title="Cost of one request, as a multiple of the cost with the fewest",
        x_title="how many there are",
        range=(0, max(2.0, most)),
        x_labels=[{"value": power, "label": f"{10**power:,}"} for power in range(6)],
        legend_at_bottom=True,
        legend_at_bottom_columns=2,
        truncate_legend=-1,
        width=900,
        height=480,
    )
    for name, points in lines.items():
        chart.add(name, [(log10(count), round(cost / points[0][1], 3)) for count, cost in points])
    # The chart does not need the script of pygal's own pages.
    return re.sub("<script.*?</script>", "", str(chart.render(is_unicode=True)), flags=re.DOTALL)
