"""Benchmark the sandbox against its peers: `make bench-peers`.

The server has one core, the load generator (`load.py`) the other one. All servers are started, and paused while they
are not measured. Each workload is sent to one server after the other, three times. `--quick` checks in a minute that
everything works; its figures mean nothing and are not written.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter

import peers_page
from machine import QUIET, busy, usage, wait_until_quiet
from peer import Peer, Running, peers, started
from served import GENERATORS_CORE, HERE, generator
from workloads import OWN, WORKLOADS, Work

from xs2a_sandbox.doors.proxy import ensure_ca

REPEATS = 2
"""Maximum number of repetitions of a noisy figure."""


@dataclass(frozen=True, slots=True)
class Figure:
    rate: float
    cpu: float
    """µs of the server for one answer."""
    p50: float
    p99: float
    server: float
    """Share of its core that the server used."""
    generator: float
    others: float
    """Share of all cores that other processes used."""
    memory: float
    """Memory in MiB, afterwards."""


@dataclass(frozen=True, slots=True)
class Scale:
    rounds: int = 3
    seconds: float = 2.0
    warm: float = 1.0
    """Multiple of what a peer needs."""
    patience: float = 180.0
    """Total seconds for waiting for a quiet machine and for repeating figures."""


QUICK = Scale(rounds=1, seconds=0.3, warm=0.1, patience=0.0)


class Patience:
    def __init__(self, seconds: float) -> None:
        self.left = seconds

    def spent(self, seconds: float) -> None:
        self.left = max(0.0, self.left - max(0.0, seconds - _USUAL))


_USUAL = 1.0
"""Seconds before and after each figure that do not count as noise."""


def measured(running: Running, workload: str, work: Work, ca_file: str, scale: Scale, patience: Patience) -> Figure:
    """Return the quietest of several tries. The first quiet one is returned at once."""
    began = perf_counter()
    tries = []
    for _ in range(1 + REPEATS):
        wait_until_quiet(min(10.0, patience.left))
        tries.append(_once(running, workload, work, ca_file, scale.seconds))
        if tries[-1].others <= QUIET or not patience.left:
            break
    patience.spent(perf_counter() - began - scale.seconds)
    return min(tries, key=lambda figure: figure.others)


def _once(running: Running, workload: str, work: Work, ca_file: str, seconds: float) -> Figure:
    load = work.load(workload, running.port(workload), ca_file, seconds)
    with generator(load, GENERATORS_CORE) as begin:
        before, all_before = usage(running.process), busy()
        outcome = begin()
        after, all_after = usage(running.process), busy()
    used = after.cpu - before.cpu
    others = all_after - all_before - used - outcome.busy * outcome.seconds
    return Figure(
        outcome.rate,
        used / outcome.answers * 1e6,
        outcome.p50,
        outcome.p99,
        used / outcome.seconds,
        outcome.busy,
        max(0.0, others / outcome.seconds / 2),
        after.memory / 2**20,
    )


def run(scale: Scale, only: str) -> tuple[list[Peer], dict[str, dict[str, list[Figure]]]]:
    figures: dict[str, dict[str, list[Figure]]] = {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, ExitStack() as stack:
        directory = Path(name)
        confdir = directory / "conf"
        confdir.mkdir()
        ensure_ca(confdir)
        ca_file = str(confdir / "mitmproxy-ca-cert.pem")
        work = Work()
        them = [peer for peer in peers(work, directory) if only in peer.name]
        servers = []
        for number, peer in enumerate(them):
            if peer.missing:
                _say(f"{peer.name}: {peer.missing}")
                continue
            _say(f"starting {peer.name} {peer.version}")
            try:
                servers.append(stack.enter_context(started(peer, work, confdir, directory)))
            except (OSError, ChildProcessError) as error:
                _say(str(error))
                them[number] = replace(peer, missing="it did not start")
        cannot: set[tuple[str, str]] = set()
        for running in servers:
            _say(f"warming {running.peer.name}")
            running.wake()
            for workload in running.peer.workloads:
                try:
                    _once(running, workload, work, ca_file, max(0.2, running.peer.warm * scale.warm))
                except ChildProcessError as error:
                    _say(f"{running.peer.name} has no figure for {workload}: {error}")
                    cannot.add((running.peer.name, workload))
            running.rest()
        patience = Patience(scale.patience)
        for number in range(scale.rounds):
            for workload in (*WORKLOADS, *OWN):
                for running in servers:
                    here = (running.peer.name, workload.name)
                    if workload.name not in running.peer.workloads or here in cannot:
                        continue
                    running.wake()
                    try:
                        figure = measured(running, workload.name, work, ca_file, scale, patience)
                    except ChildProcessError as error:
                        _say(f"{running.peer.name} has no figure for {workload.name} in this round: {error}")
                        continue
                    finally:
                        running.rest()
                    figures.setdefault(running.peer.name, {}).setdefault(workload.name, []).append(figure)
                    told = f"{figure.rate:,.0f}/s, {figure.cpu:.0f} µs, p99 {figure.p99:.1f} ms"
                    told += f", others {figure.others:.0%}"
                    _say(f"round {number + 1} of {scale.rounds}, {workload.name}, {running.peer.name}: {told}")
    return them, figures


def _middle(figures: list[Figure]) -> Figure:
    """Return the median of each."""
    rows = [asdict(figure) for figure in figures]
    return Figure(**{name: median(row[name] for row in rows) for name in rows[0]})


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="check that everything works")
    parser.add_argument(
        "--only", default="", metavar="NAME", help="only peers whose names contain this; nothing is written"
    )
    parser.add_argument("--out", type=Path, default=HERE / "peers.md", help="the page to write")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs/how-fast.md", help="the page with the table")
    parser.add_argument("--history", type=Path, default=HERE / "peers.jsonl", help="the file with the figures")
    chosen = parser.parse_args()
    # The servers end with this process.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    began = perf_counter()
    them, rounds = run(QUICK if chosen.quick else Scale(), chosen.only)
    figures = {name: {load: _middle(all_of_it) for load, all_of_it in own.items()} for name, own in rounds.items()}
    entry = {
        "version": peers_page.version(),
        "commit": _commit(),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "figures": {name: {load: asdict(figure) for load, figure in own.items()} for name, own in figures.items()},
    }
    history = [json.loads(line) for line in chosen.history.read_text().splitlines()] if chosen.history.exists() else []
    history = [*history, json.loads(json.dumps(entry))]
    page = peers_page.page(them, figures, history, f"{perf_counter() - began:.0f} s")
    print(page)
    if chosen.quick or chosen.only:
        _say("Nothing is written: a part, or --quick, whose figures mean nothing.")
        return
    chosen.history.write_text("".join(json.dumps(line) + "\n" for line in history))
    chosen.out.write_text(page)
    chosen.docs.write_text(peers_page.with_table(chosen.docs.read_text(), figures))
    _say(f"Written to {chosen.out}, {chosen.docs} and {chosen.history}")


def _commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--tags", "--dirty"], cwd=HERE, capture_output=True, text=True
    )
    return done.stdout.strip()


if __name__ == "__main__":
    main()
