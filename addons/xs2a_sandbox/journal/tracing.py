"""OpenTelemetry traces of answers, if it is installed and its own environment variables configure it.

No other module imports OpenTelemetry, and this one only when needed. A span contains the same as a log line.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from xs2a_sandbox.clock import instant
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http import Request
from xs2a_sandbox.journal.log_line import LogEntry

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from opentelemetry.sdk.trace import TracerProvider

log = logging.getLogger("xs2a_sandbox")

_EXPORTER = "OTEL_TRACES_EXPORTER"
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_SERVICE = "xs2a-sandbox"
_CARRIED = ("traceparent", "tracestate", "baggage")


class Tracing:
    """Makes a span for each exchange, in the trace of its request."""

    def __init__(self, provider: "TracerProvider") -> None:
        from opentelemetry import propagate, trace

        self._provider = provider
        self._tracer = provider.get_tracer(__name__.partition(".")[0])
        self._extract = propagate.extract
        self._server = trace.SpanKind.SERVER
        self._failed = trace.Status(trace.StatusCode.ERROR)

    def trace_answer(self, request: Request, exchange: LogEntry) -> None:
        ended = int(instant() * 1e9)
        first = request.headers.first
        attributes: dict[str, str | int | None] = {
            "http.request.method": exchange.method,
            "http.response.status_code": exchange.status,
            "url.scheme": request.scheme,
            "url.path": exchange.path.partition("?")[0],
            "xs2a_sandbox.door": request.door,
            "xs2a_sandbox.session": exchange.session,
            "xs2a_sandbox.source": exchange.source,
            "xs2a_sandbox.operation": exchange.operation,
            "xs2a_sandbox.rule": exchange.rule,
            "xs2a_sandbox.request_id": exchange.request_id,
            "xs2a_sandbox.reason": exchange.reason,
        }
        span = self._tracer.start_span(
            f"{exchange.method} {exchange.operation}" if exchange.operation else exchange.method,
            context=self._extract({name: first[name] for name in _CARRIED if name in first}),
            kind=self._server,
            attributes={name: value for name, value in attributes.items() if value is not None},
            start_time=ended - int(exchange.milliseconds * 1e6),
        )
        if exchange.status >= 500:
            span.set_status(self._failed)
        span.end(ended)

    def close(self) -> None:
        """Send the remaining spans, which may take seconds."""
        self._provider.shutdown()


def from_environment(environment: Mapping[str, str] = os.environ) -> Tracing | None:
    """Return the tracing that the environment configures, or None if there is none or OpenTelemetry is not installed.

    Raises ConfigError if the exporter is not installed.
    """
    names = list(_exporters(environment))
    if not names:
        return None
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        log.warning("no traces are sent, because OpenTelemetry is not installed: pip install 'xs2a-sandbox[otel]'")
        return None
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    is_named = "OTEL_SERVICE_NAME" in environment or "service.name=" in environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
    provider = TracerProvider(resource=Resource.create({} if is_named else {"service.name": _SERVICE}))
    for name in names:
        provider.add_span_processor(BatchSpanProcessor(_exporter(name)))
    return Tracing(provider)


def _exporters(environment: Mapping[str, str]) -> Iterator[str]:
    is_somewhere = any(environment.get(name) for name in _ENDPOINTS)
    written = environment.get(_EXPORTER) or ("otlp" if is_somewhere else "")
    for name in filter(None, (word.strip() for word in written.split(","))):
        if name == "otlp":
            protocol = next(
                (environment[variable] for variable in _PROTOCOLS if environment.get(variable)), "http/protobuf"
            )
            yield "otlp_proto_grpc" if protocol == "grpc" else "otlp_proto_http"
        elif name != "none":
            yield name


def _exporter(name: str) -> Any:
    from importlib.metadata import entry_points

    installed: dict[str, EntryPoint] = {
        entry_point.name: entry_point for entry_point in entry_points(group="opentelemetry_traces_exporter")
    }
    if name not in installed:
        there = ", ".join(sorted(installed)) or "none"
        raise ConfigError(f"{_EXPORTER}: the exporter {name} is not installed; installed exporters: {there}")
    return installed[name].load()()
