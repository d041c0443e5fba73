"""The metrics, read with Prometheus's own parser."""

import pickle

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.admin import STATUS, TOKEN, Admin, governed
from tests.support.engine_client import Client
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.journal.metrics import BOUNDS, NO_OPERATION, Metrics


def entry(operation: str | None, status: int, source: str, seconds: float) -> LogEntry:
    return LogEntry("default", "GET", "/", status, seconds * 1000, source, operation=operation)


def samples(text: bytes) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def value(text: bytes, name: str, **labels: str) -> float:
    return samples(text)[f"xs2a_sandbox_{name}", tuple(sorted(labels.items()))]


def test_requests_are_counted_by_operation_status_source_and_door() -> None:
    metrics = Metrics()
    for seconds in (0.0004, 0.02, 60.0):
        metrics.count_answer(entry("account-list", 200, "handler", seconds), "direct")
    metrics.count_answer(entry(None, 404, "sandbox", 0.001), "proxy")

    text = metrics.text({"sessions": ("Sessions.", 3)})

    labels = {"operation": "account-list", "status": "200", "source": "handler", "door": "direct"}
    assert value(text, "requests_total", **labels) == 3
    assert value(text, "requests_total", operation=NO_OPERATION, status="404", source="sandbox", door="proxy") == 1
    place = {"operation": "account-list", "door": "direct"}
    assert value(text, "request_seconds_count", **place) == 3
    assert value(text, "request_seconds_sum", **place) == pytest.approx(60.0204)
    assert value(text, "request_seconds_bucket", le="0.00025", **place) == 0
    assert value(text, "request_seconds_bucket", le="0.0005", **place) == 1
    assert value(text, "request_seconds_bucket", le="0.025", **place) == 2
    assert value(text, "request_seconds_bucket", le="10.0", **place) == 2
    assert value(text, "request_seconds_bucket", le="+Inf", **place) == 3
    assert value(text, "sessions") == 3


def test_a_duration_equal_to_a_bound_counts_as_below_it() -> None:
    metrics = Metrics()
    metrics.committed(BOUNDS[0])

    assert value(metrics.text({}), "commit_seconds_bucket", le=str(BOUNDS[0])) == 1


def test_the_metrics_of_several_processes_are_added() -> None:
    parts = [Metrics(), Metrics()]
    for part in parts:
        part.count_answer(entry("account-list", 200, "handler", 0.5), "direct")
        part.committed(0.5)
        part.count_fetch(0.25)
        part.counters["bank_calls"] += 2

    text = Metrics.total(pickle.loads(pickle.dumps(part)) for part in parts).text({})

    labels = {"operation": "account-list", "status": "200", "source": "handler", "door": "direct"}
    assert value(text, "requests_total", **labels) == 2
    assert value(text, "commit_seconds_sum") == 1.0
    assert value(text, "fetch_seconds_sum") == 0.5
    assert value(text, "bank_calls_total") == 4
    assert value(text, "recorded_total") == 0
    assert parts[0].counters["bank_calls"] == 2


def test_the_metrics_page_needs_the_admin_token() -> None:
    admin = Admin(Client(governed()))
    assert [admin.client.get(STATUS).status for _ in range(4)] == [200] * 4  # the last ones are cached answers
    assert admin.ask("PUT", "state/notes/1", json={}).status == 201

    page = admin.ask("GET", "metrics")

    assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
    labels = {"operation": "consent-status", "status": "200", "source": "handler", "door": "process"}
    assert value(page.body, "requests_total", **labels) == 4
    assert value(page.body, "sessions") == 1
    assert TOKEN.encode() not in page.body
    assert admin.client.request("GET", "/_sandbox/metrics").status == 401
    assert admin.ask("POST", "metrics").status == 405
