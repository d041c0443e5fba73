"""Counts answers, their durations and the time of the state, and writes the counts for Prometheus.

Counting is a dictionary update, because every request pays for it. The text is made on request; then the counts of all
processes that serve together are summed.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from xs2a_sandbox.journal.log_line import LogEntry

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

BOUNDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The upper limits of histogram bins, in seconds. Another bin counts longer durations, followed by the sum."""

_PREFIX = "xs2a_sandbox"
_REQUEST = ("operation", "status", "source", "door")

METRICS = "metrics"
"""The question to all processes for their counts. The last answers of processes that are gone still count."""

NO_OPERATION = "none"
"""Replaces the operation of requests without one, such as those for the sandbox's own pages."""

_COUNTERS = {
    "commits_retried": "Commits that were repeated, because the data had been changed in the meantime.",
    "state_failures": "Requests that were refused, because the state could not be used.",
    "bank_calls": "Requests that were sent to a real bank.",
    "comparisons": "Exchanges that were compared with a real bank's.",
    "differences": "Differences that comparisons have found.",
    "recorded": "Exchanges that were written into a recording.",
    "recordings_lost": "Exchanges with a bank that could not be written into a recording.",
}


def _bins() -> list[float]:
    return [0] * (len(BOUNDS) + 1) + [0.0]


@dataclass(slots=True)
class Metrics:
    """The counts of one process, or the sums of several. `requests` are by operation, status, source and door."""

    requests: dict[tuple[str, int, str, str], int] = field(default_factory=lambda: defaultdict(int))
    seconds: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(_bins))
    """The histograms of durations, by operation and door."""
    commits: list[float] = field(default_factory=_bins)
    """The histogram of commits, in seconds."""
    fetches: list[float] = field(default_factory=_bins)
    """The histogram of reads from a remote state, in seconds."""
    counters: Counter[str] = field(default_factory=Counter)

    def count_answer(self, exchange: "LogEntry", door: str) -> None:
        operation, seconds = exchange.operation or NO_OPERATION, exchange.milliseconds / 1000
        self.requests[operation, exchange.status, exchange.source, door] += 1
        _count(self.seconds[operation, door], seconds)

    def committed(self, seconds: float) -> None:
        _count(self.commits, seconds)

    def count_fetch(self, seconds: float) -> None:
        _count(self.fetches, seconds)

    def include(self, other: "Metrics") -> None:
        """Merge the counts of another process."""
        for key, count in other.requests.items():
            self.requests[key] += count
        for place, bins in other.seconds.items():
            self.seconds[place] = _add(self.seconds[place], bins)
        self.commits = _add(self.commits, other.commits)
        self.fetches = _add(self.fetches, other.fetches)
        self.counters.update(other.counters)

    @staticmethod
    def total(parts: Iterable["Metrics"]) -> "Metrics":
        total = Metrics()
        for part in parts:
            total.include(part)
        return total

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> bytes:
        """Return everything in the Prometheus format. `gauges` maps names to a description and a value."""
        from prometheus_client import CollectorRegistry, generate_latest

        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collected([*self._metrics(), *_gauges(gauges)]))
        return generate_latest(registry)

    def _metrics(self) -> Iterator["Metric"]:
        from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily

        requests = CounterMetricFamily(f"{_PREFIX}_requests", "Requests answered.", labels=_REQUEST)
        for (operation, status, source, door), count in sorted(self.requests.items()):
            requests.add_metric([operation, str(status), source, door], count)
        yield requests
        seconds = HistogramMetricFamily(
            f"{_PREFIX}_request_seconds", "Time from a request to its answer.", labels=("operation", "door")
        )
        for place, bins in sorted(self.seconds.items()):
            seconds.add_metric(list(place), _buckets(bins), bins[-1])
        yield seconds
        for name, meaning, bins in (
            ("commit_seconds", "Time of commits to the state.", self.commits),
            ("fetch_seconds", "Time of reads from a state outside the process.", self.fetches),
        ):
            family = HistogramMetricFamily(f"{_PREFIX}_{name}", meaning)
            family.add_metric([], _buckets(bins), bins[-1])
            yield family
        for name, meaning in _COUNTERS.items():
            yield CounterMetricFamily(f"{_PREFIX}_{name}", meaning, value=self.counters[name])


class _Collected:
    """Gives a registry its metrics."""

    def __init__(self, metrics: list["Metric"]) -> None:
        self._metrics = metrics

    def collect(self) -> list["Metric"]:
        return self._metrics


def _gauges(gauges: Mapping[str, tuple[str, float]]) -> Iterator["Metric"]:
    from prometheus_client.metrics_core import GaugeMetricFamily

    for name, (meaning, value) in gauges.items():
        yield GaugeMetricFamily(f"{_PREFIX}_{name}", meaning, value=value)


def _count(bins: list[float], seconds: float) -> None:
    bins[bisect_left(BOUNDS, seconds)] += 1
    bins[-1] += seconds


def _add(bins: list[float], others: list[float]) -> list[float]:
    return [one + other for one, other in zip(bins, others, strict=True)]


def _buckets(bins: list[float]) -> list[tuple[str, float]]:
    counted, buckets = 0.0, []
    for bound, count in zip((*map(str, BOUNDS), "+Inf"), bins[:-1], strict=True):
        counted += count
        buckets.append((bound, counted))
    return buckets
