"""What `make bench-peers` found, as a page."""

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
"""The share of its core above which the generator has not kept up, where the server used less of its own."""


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
            "# The sandbox beside its peers",
            "",
            "Written by `make bench-peers`. What the figures mean: [How fast](../docs/how-fast.md).",
            "",
            f"- {date.today().isoformat()}, {took}; Python {platform.python_version()}, {_processor()}, "
            f"{os.cpu_count()} cores, {platform.system()} {platform.release()}",
            "- the server on one core, the load generator (`bench/load.py`) on another, 16 kept connections, loopback; "
            "medians of interleaved rounds",
            "- a rate with `≥`: the server had time left, so the generator was the bottleneck, and the CPU time tells "
            f"more; with `~`: others used more than {QUIET:.0%} of the machine meanwhile, also in the repetitions",
            *(
                [f"- **The machine was not quiet** for {', '.join(noisy)}: only ratios and CPU times say something."]
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
            "## Times to the answer, p50 / p99, ms",
            "",
            *table(lambda one: f"{one.p50:.1f} / {one.p99:.1f}"),
            "",
            f"## {OURS} is so many times as quick",
            "",
            "By rate, and in brackets by CPU for one request.",
            "",
            *_ratios(figures, names),
            "",
            "## Memory at the end",
            "",
            "With all that W3 and W4 have left, where it is kept.",
            "",
            *_table(
                [
                    ["", "MiB"],
                    *([peer, f"{max(one.memory for one in own.values()):.0f}"] for peer, own in figures.items()),
                ]
            ),
            "",
            "## Who is measured",
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
            "The last runs: our rate by mockttp's and, in brackets, the limit's CPU time by ours. All figures are in "
            "`peers.jsonl`.",
            "",
            *_releases(history, [workload.name for workload in WORKLOADS]),
            "",
        ]
    )


def with_table(text: str, figures: Mapping[str, Mapping[str, Any]]) -> str:
    """The text with the rates where they belong."""
    day = f"{date.today().isoformat()}, {_processor()}; requests per second, the server on one core:"
    lines = [day, "", *rates_table(figures)]
    before, _, rest = text.partition(BEGIN)
    return "\n".join([before + BEGIN, "", *lines, "", END]) + rest.partition(END)[2]


def rates_table(figures: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The rates of the workloads that all are asked for."""
    return _table(_rates(figures, [workload.name for workload in WORKLOADS]))


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
