"""Which header fields count is known in one place, and all who ask agree."""

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import xs2a_sandbox
from tests.support.engine_client import an_engine
from xs2a_sandbox.authoring.case_from_exchange import case_from
from xs2a_sandbox.compare.difference import compared
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.header_fields import FRAMING, HOP_BY_HOP, NOISE, OURS, counts
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.recording.recorded_answer import recorded_answer

PACKAGE = Path(xs2a_sandbox.__file__).parent
TELLTALE = (HOP_BY_HOP | NOISE | {"content-length", "expect", "digest", "set-cookie", "traceparent"}) - {"connection"}
"""Names that stand together only where somebody lists what does not count."""

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
    assert bool(compared([pair])) is expected
    assert ("headers" in recorded_answer(entry, {})) is expected
    assert ("headers" in case_from(engine.journal.entries()[0], engine.interface)["respond"]) is expected


def test_the_names_are_in_lower_case_and_stand_in_one_list_each() -> None:
    for name in FRAMING | NOISE:
        assert name == name.lower()
        assert not counts(name)
    assert not FRAMING & NOISE
    assert not counts(OURS + "anything")


def literals(file: Path) -> Iterator[tuple[int, set[str]]]:
    """The words of each text, and of each collection of texts, that is no docstring."""
    tree = ast.parse(file.read_text())
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Set | ast.List | ast.Tuple | ast.Dict | ast.Constant) and node not in docstrings:
            texts = [str(one.value) for one in ast.walk(node) if isinstance(one, ast.Constant)]
            yield node.lineno, {word for text in texts for word in re.findall(r"[\w-]+", text.lower())}


def test_nobody_else_has_such_a_list() -> None:
    lists = {
        f"{file.relative_to(PACKAGE)}:{line}: {sorted(words & TELLTALE)}"
        for file in PACKAGE.rglob("*.py")
        if file.name != "header_fields.py"
        for line, words in literals(file)
        if len(words & TELLTALE) > 1
    }

    assert not lists
