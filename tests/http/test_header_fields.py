"""All modules use the same list of relevant header fields."""

from datetime import UTC, datetime

import pytest

from tests.support.engine_client import an_engine
from xs2a_sandbox.compare.difference import collect_headers
from xs2a_sandbox.features.authoring.case_from_exchange import case_from
from xs2a_sandbox.features.derive.recorded_answer import write_answer
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.header_fields import counts
from xs2a_sandbox.journal.log_line import LogEntry

COUNTING = ["Content-Type", "Location", "ASPSP-SCA-Approach", "Cache-Control", "Retry-After", "Allow", "X-Rate-Left"]
FLEETING = [
    *("Date", "server", "Connection", "Keep-Alive", "Transfer-Encoding", "Content-Length", "Content-Encoding", "TE"),
    *("Set-Cookie", "X-Request-ID", "traceparent", "X-B3-TraceId", "Via", "Digest", "Signature", "ETag", "Age", "Vary"),
    *("Expires", "Last-Modified", "P3P", "Strict-Transport-Security", "Correlation-ID", "X-Correlation-ID", "CF-Ray"),
    *("X-Kong-Upstream-Latency", "X-Amzn-Trace-Id", "X-Cache-Hits", "X-Frame-Options", "X-Powered-By", "X-Runtime"),
    *("Proxy-Authenticate", "TPP-Signature-Certificate", "X-Sandbox-Rule", "Matched-Stub-Id"),
]


@pytest.mark.parametrize(("name", "expected"), [*((n, True) for n in COUNTING), *((n, False) for n in FLEETING)])
def test_rules_answer_with_a_header_if_and_only_if_it_is_compared(name: str, expected: bool) -> None:
    pair = (name, "text/plain")
    entry = Exchange(datetime.now(UTC), 1.0, "https://b", "GET", "/v1/x", Headers(), b"", 200, Headers([pair]), b"x")
    engine = an_engine()
    exchange = LogEntry("default", "GET", "/v1/x", 200, 1.0, "bank")
    engine.journal.add(Request("GET", "/v1/x"), Response(200, (pair,), b"x"), exchange)

    assert counts(name) is expected
    assert bool(collect_headers([pair])) is expected
    assert ("headers" in write_answer(entry, {})) is expected
    assert ("headers" in case_from(engine.journal.entries()[0], engine.interface)["respond"]) is expected
