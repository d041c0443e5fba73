"""Which recorded exchanges are replayed, and how."""

from datetime import UTC, datetime

from tests.support.engine_client import an_engine
from xs2a_sandbox.cassette.index import Index
from xs2a_sandbox.compare import steps as compare
from xs2a_sandbox.http import Headers
from xs2a_sandbox.http.exchange import Exchange

INDEX = Index(an_engine().interface)


def entry(
    target: str = "/v1/x", answer: bytes = b"", method: str = "GET", status: int = 200, **headers: str
) -> Exchange:
    time = datetime(2026, 11, 21, tzinfo=UTC)
    fields = Headers(headers.items())
    return Exchange(time, 1.0, "https://bank.example", method, target, fields, b"", status, Headers(), answer)


def test_replayed_requests_share_a_new_session_and_have_no_framing_headers() -> None:
    steps = compare.of_entries([entry(**{"Content-Length": "0", "Consent-ID": "c", "Accept-Encoding": "br"}), entry()])
    assert [name for name, _ in steps[0].request.headers] == ["Consent-ID", "X-Sandbox-Session"]
    sessions = {step.request.headers.get("x-sandbox-session") for step in steps}
    assert len(sessions) == 1
    assert sessions != {step.request.headers.get("x-sandbox-session") for step in compare.of_entries([entry()])}
    assert [step.title for step in steps] == ["recorded exchange 1", "recorded exchange 2"]


def test_a_header_of_the_command_line_replaces_the_recorded_one() -> None:
    (step,) = compare.of_entries([entry(Authorization="old", Accept="a")])
    sent = compare.with_fields(step.request, [("authorization", "new")])
    assert [value for name, value in sent.headers if name.lower() == "authorization"] == ["new"]
    assert sent.headers.get("accept") == "a"


def test_reads_about_a_resource_of_a_skipped_write_are_found() -> None:
    made = entry("/v1/consents", b'{"consentId": "c-1"}', "POST")
    about, other = entry("/v1/consents/c-1"), entry("/v1/accounts", **{"Consent-ID": "c-1"})
    steps = compare.of_entries([made, about, other, entry("/v1/consents/c-2")])
    assert [step.request.target for step in compare.about_spared_writes(steps, INDEX)] == [about.target, other.target]


def test_of_repeated_reads_with_different_answers_only_the_last_is_current() -> None:
    answers = [b"1", b"2", b"2"]
    steps = compare.of_entries([entry(answer=answer) for answer in answers] + [entry("/v1/y"), entry(method="POST")])
    assert [step.recorded and step.recorded.answer_body for step in compare.outdated_reads(steps, INDEX)] == [b"1"]
    of_another = compare.of_entries([entry(answer=b"1", **{"Consent-ID": "a"}), entry(answer=b"2")])
    assert compare.outdated_reads(of_another, INDEX) == []
