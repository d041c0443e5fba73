import json
from datetime import UTC, datetime

import pytest

from xs2a_sandbox.journal.log_line import LogEntry, line, redact_path

NOW = datetime(2026, 11, 21, 12, 30, 0, 123456, tzinfo=UTC).timestamp()
READ = LogEntry("default", "GET", "/v1/accounts", 200, 1.234, "handler", "list-accounts")
NASTY = "/v1/\r\n2026 default GET /forged 200\x1b[2J\u2028\x85\u202e"


def test_the_line_as_text():
    assert line(READ, "text", NOW) == (
        "2026-11-21 13:30:00.123+01:00 default GET /v1/accounts 200 1.2ms handler list-accounts"
    )


def test_the_line_as_json():
    assert json.loads(line(READ, "json", NOW)) == {
        "time": "2026-11-21T13:30:00.123+01:00",
        "session": "default",
        "method": "GET",
        "path": "/v1/accounts",
        "status": 200,
        "ms": 1.2,
        "source": "handler",
        "rule": "list-accounts",
        "request_id": None,
        "warnings": [],
        "reason": None,
    }


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_line_is_printable_for_any_request(form):
    written = line(LogEntry("a b", "G\nT", NASTY, 404, 1, "sandbox", None, ("member\nx",)), form, NOW)
    assert written.isprintable()
    assert "forged 200" not in line(LogEntry("", "GET", NASTY, 404, 1, "sandbox"), "text", NOW)


def test_an_absent_rule_session_and_warnings_are_left_out():
    written = line(LogEntry("", "GET", "/x", 404, 0.04, "sandbox", None, ("one", "two")), "text", NOW)
    assert written.endswith(' - GET /x 404 0.0ms sandbox - warning="one" warning="two"')


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_query_and_long_paths_are_left_out(form):
    assert "Anna" not in line(LogEntry("s", "GET", "/x?name=Anna", 200, 1, "rule"), form, NOW)
    assert len(line(LogEntry("s", "GET", "/x" * 50_000, 200, 1, "rule"), form, NOW)) < 1000


def test_a_path_that_cannot_be_redacted_is_hidden(caplog):
    def fails(path):
        raise ValueError(f"cannot read {path}")

    assert redact_path("/v1/accounts/AT611904300234573201", fails) == "/v1/accounts/…"
    assert caplog.messages == ["a path could not be redacted (ValueError)"]
    assert caplog.records[0].exc_info is None
