"""Traces: a span for each exchange in the app's own trace. OpenTelemetry is used only if it is configured."""

import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from tests.support.admin import CONSENT, STATUS
from tests.support.doors import wait_until
from tests.support.engine_client import Client, an_engine
from tests.support.serving import Serving
from xs2a_sandbox.clock import instant
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.journal import tracing
from xs2a_sandbox.journal.tracing import Tracing, from_environment

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CONTINUED = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "app=1"}


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def client(exporter: InMemorySpanExporter) -> Client:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    engine = an_engine()
    engine.use(tracing=Tracing(provider))
    return Client(engine)


def test_the_trace_of_the_app_is_continued(client: Client, exporter: InMemorySpanExporter) -> None:
    before = instant() * 1e9
    for _ in range(4):  # later ones are cached answers
        assert client.get(STATUS, headers=CONTINUED).status == 200
    spans = exporter.get_finished_spans()
    assert len({span.context.span_id for span in spans}) == 4
    for span in spans:
        assert span.parent
        assert (f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, PARENT)
        assert span.context.trace_state.get("app") == "1"
        assert (span.name, span.kind) == ("GET consent-status", SpanKind.SERVER)
        assert span.start_time
        assert span.end_time
        assert before - 1e9 < span.start_time <= span.end_time <= instant() * 1e9
        assert span.attributes
        assert span.attributes["http.response.status_code"] == 200
        assert span.attributes["url.path"] == f"/v1/consents/{CONSENT}/status"
        assert span.attributes["xs2a_sandbox.session"] == "default"
        assert span.attributes["xs2a_sandbox.operation"] == "consent-status"


def test_a_request_without_a_trace_starts_one(client: Client, exporter: InMemorySpanExporter) -> None:
    client.get("/nowhere?secret=1")
    client.get(STATUS, headers={"traceparent": "no such thing"})
    nowhere, begun = exporter.get_finished_spans()
    assert nowhere.parent is begun.parent is None
    assert nowhere.name == "GET"
    assert nowhere.attributes
    assert nowhere.attributes["url.path"] == "/nowhere"
    assert "xs2a_sandbox.operation" not in nowhere.attributes
    assert nowhere.status.status_code == StatusCode.UNSET
    assert not [value for value in nowhere.attributes.values() if "secret" in str(value)]


def test_a_server_error_fails_the_span(client: Client, exporter: InMemorySpanExporter) -> None:
    assert client.get(STATUS, headers={"X-Sandbox-Prefer": "status=503"}).status == 503
    (span,) = exporter.get_finished_spans()
    assert span.status.status_code == StatusCode.ERROR


@pytest.mark.parametrize("environment", [{}, {"OTEL_TRACES_EXPORTER": "none"}, {"OTEL_SERVICE_NAME": "x"}])
def test_tracing_is_off_by_default(environment: dict[str, str]) -> None:
    assert from_environment(environment) is None


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({"OTEL_TRACES_EXPORTER": "carrier-pigeon"}, "carrier-pigeon"),
        ({"OTEL_TRACES_EXPORTER": "console, other"}, "other"),
    ],
)
def test_an_unknown_exporter_is_an_error(environment: dict[str, str], name: str) -> None:
    with pytest.raises(ConfigError, match=f"exporter {name} is not installed; installed exporters: .*console"):
        from_environment(environment)


@pytest.mark.parametrize(
    ("environment", "names"),
    [
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, ["otlp_proto_http"]),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, ["otlp_proto_grpc"]),
        ({"OTEL_TRACES_EXPORTER": "console,otlp"}, ["console", "otlp_proto_http"]),
    ],
)
def test_the_environment_selects_the_exporters(environment: dict[str, str], names: list[str]) -> None:
    assert list(tracing._exporters(environment)) == names


def test_a_missing_installation_is_logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(tracing, "find_spec", lambda name: None)
    assert from_environment({"OTEL_TRACES_EXPORTER": "console"}) is None
    assert "pip install 'xs2a-sandbox[otel]'" in caplog.text


def test_opentelemetry_is_imported_only_if_configured() -> None:
    lines = (
        "import sys; from xs2a_sandbox.doors import serving; from xs2a_sandbox.journal import tracing; "
        "assert tracing.from_environment({}) is None; print(*[m for m in sys.modules if 'opentelemetry' in m])"
    )
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_a_stopping_sandbox_sends_the_remaining_spans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx

    from tests.support.recorded_bank.process import stopping

    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    serving = Serving(tmp_path)
    with stopping(serving):
        serving.begun()
        with httpx.Client(base_url=serving.direct, trust_env=False) as http:
            assert http.get(STATUS, headers={**CONTINUED, "X-Request-ID": TRACE}).status_code in (200, 400)
        serving.stop()
        wait_until(lambda: any(TRACE in line for line in serving.out))
        assert any('"service.name": "xs2a-sandbox"' in line for line in serving.out)
