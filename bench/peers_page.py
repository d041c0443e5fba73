"""The page with the results of `make bench-peers`."""

import os
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from machine import QUIET
from workloads import OWN, WORKLOADS

import xs2a_sandbox

OURS = "xs2a-sandbox"
LIMIT = "limit: granian"
BEGIN, END = "<!-- make bench-peers writes this table -->", "<!-- the end of the table -->"
SATURATED = 0.9
"""Share of its core above which the generator was the bottleneck, if the server used less of its own core."""


def version() -> str:
    return xs2a_sandbox.__version__


def page(peers: Sequence[Any], figures: Mapping[str, Mapping[str, Any]], history: Sequence[Any], took: str) -> str:
    all_of_them = (*WORKLOADS, *OWN)
    names = [workload.name for workload in all_of_them]
    noisy = sorted({name for own in figures.values() for name, one in own.items() if one.others > QUIET})

    def table(cell: Callable[[Any], str]) -> list[str]:
        rows = [["", *names]]
        rows += [[peer, *(cell(own[name]) if name in own else "" for name in names)] for peer, own in figures.items()]
        return _table(rows)

    return "\n".join(
        [
            "# The sandbox and its peers",
            "",
            "Written by `make bench-peers`. The page [How fast](../docs/how-fast.md) explains the figures.",
            "",
            f"- {date.today().isoformat()}, {took}; Python {platform.python_version()}, {_processor()}, "
            f"{os.cpu_count()} cores, {platform.system()} {platform.release()}",
            "- the server on one core, the load generator (`bench/load.py`) on another, 16 persistent connections, "
            "loopback; medians of interleaved rounds",
            "- a rate with `≥`: the server had time left, so the generator was the bottleneck, and the CPU time is "
            f"more meaningful; with `~`: other processes used more than {QUIET:.0%} of the machine, "
            "also in repetitions",
            *(
                [f"- **The machine was not quiet** for {', '.join(noisy)}: only ratios and CPU times are meaningful."]
                if noisy
                else []
            ),
            "",
            *(f"- **{workload.name}**: {workload.what}" for workload in all_of_them),
            "",
            "## Requests per second",
            "",
            *_table(_rates(figures, names)),
            "",
            "## CPU of the server for one request, µs",
            "",
            *table(lambda one: f"{one.cpu:.0f}"),
            "",
            "## Response times, p50 / p99, ms",
            "",
            *table(lambda one: f"{one.p50:.1f} / {one.p99:.1f}"),
            "",
            f"## How many times faster {OURS} is",
            "",
            "By rate; in brackets by CPU time for one request.",
            "",
            *_ratios(figures, names),
            "",
            "## Memory at the end",
            "",
            "After W3 to W5, including their stored data.",
            "",
            *_table(
                [
                    ["", "MiB"],
                    *([peer, f"{max(one.memory for one in own.values()):.0f}"] for peer, own in figures.items()),
                ]
            ),
            "",
            "## Measured servers",
            "",
            *_table(
                [
                    ["", "version", "configuration"],
                    *([p.name, p.version, p.missing or p.configuration] for p in peers),
                ]
            ),
            "",
            "## Releases",
            "",
            "The last runs: our rate divided by mockttp's; in brackets the limit's CPU time divided by "
            "ours. All figures are in `peers.jsonl`.",
            "",
            *_releases(history, [workload.name for workload in WORKLOADS]),
            "",
        ]
    )


def with_table(text: str, figures: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the text with the rates filled in."""
    day = f"{date.today().isoformat()}, {_processor()}; requests per second, the server on one core:"
    lines = [day, "", *rates_table(figures)]
    before, _, rest = text.partition(BEGIN)
    return "\n".join([before + BEGIN, "", *lines, "", END]) + rest.partition(END)[2]


def rates_table(figures: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the rates of the workloads that all servers have. An earlier run may lack a new workload."""
    measured = {name for own in figures.values() for name in own}
    return _table(_rates(figures, [workload.name for workload in WORKLOADS if workload.name in measured]))


def _rates(figures: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> list[list[str]]:
    def cell(one: Any) -> str:
        waited = one.generator > SATURATED > one.server
        return ("~" if one.others > QUIET else "") + ("≥ " if waited else "") + f"{one.rate:,.0f}"

    rows = [["", *names]]
    rows += ([peer, *(cell(own[n]) if n in own else "" for n in names)] for peer, own in figures.items())
    return rows


def _ratios(figures: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    ours = figures.get(OURS, {})
    rows = [["than", *names]]
    for peer, own in figures.items():
        if peer == OURS:
            continue
        both = [name if name in own and name in ours else "" for name in names]
        rows.append(
            [
                peer,
                *(
                    f"{ours[n].rate / own[n].rate:.2f} ({own[n].cpu / max(ours[n].cpu, 0.1):.2f})" if n else ""
                    for n in both
                ),
            ]
        )
    return _table(rows)


def _releases(history: Sequence[Any], names: Sequence[str]) -> list[str]:
    rows = [["release", "when", *names]]
    for entry in history[-12:]:
        ours, mockttp, limit = (entry["figures"].get(name, {}) for name in (OURS, "mockttp", LIMIT))
        cells = []
        for name in names:
            rate = f"{ours[name]['rate'] / mockttp[name]['rate']:.2f}" if name in ours and name in mockttp else ""
            cpu = f" ({limit[name]['cpu'] / ours[name]['cpu']:.2f})" if name in ours and name in limit else ""
            cells.append(rate + cpu)
        rows.append([f"{entry['version']} ({entry['commit']})", entry["at"][:10], *cells])
    return _table(rows)


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    head, *rest = rows
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rest]
    return ["| " + " | ".join(line) + " |" for line in lines]


def _processor() -> str:
    try:
        match = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        match = None
    return match[1] if match else platform.machine()
