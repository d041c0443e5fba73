import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine_client import an_engine, cassette
from xs2a_sandbox.cli import compare
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http import Headers, har
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording import har_log as recording

CASE = """\
    rules:
      - id: mine
        match: {path: "/own/{x}"}
        respond: {body: 1}
        examples:
          - {request: {where: {x: a}}, expect: {status: 200}}
          - {request: {where: {x: b}, body: {}}, expect: {status: 200}}
"""


def entry(target: str = "/v1/x", **headers: str) -> Exchange:
    time = datetime(2026, 11, 21, tzinfo=UTC)
    return Exchange(
        time, 1.0, "https://bank.example", "GET", target, Headers(headers.items()), b"", 200, Headers(), b""
    )


def test_all_examples_are_played_or_those_of_a_file(tmp_path: Path) -> None:
    layers = cassette(tmp_path, CASE)
    interface = an_engine(layers=layers).interface
    everything = compare.of_examples(interface)
    own = compare.of_examples(interface, [tmp_path])
    assert [(s.title, s.request.method, s.request.target) for s in own] == [
        ("mine, example 1", "GET", "/own/a"),
        ("mine, example 2", "POST", "/own/b"),
    ]
    assert compare.of_examples(interface, [tmp_path / "case.yaml"])[0].title == "mine, example 1"
    assert len(everything) > len(own)


def test_an_example_with_a_gap_says_where(tmp_path: Path) -> None:
    layers = cassette(tmp_path, CASE.replace("where: {x: a}", ""))
    with pytest.raises(ConfigError, match=r"case\.yaml:\d+: the example does not say what \{x\} is"):
        compare.of_examples(an_engine(layers=layers).interface, [tmp_path])


def test_recorded_exchanges_share_a_new_session_and_lose_what_framed_them() -> None:
    steps = compare.of_entries([entry(**{"Content-Length": "0", "Consent-ID": "c", "Accept-Encoding": "br"}), entry()])
    assert [name for name, _ in steps[0].request.headers] == ["Consent-ID", "X-Sandbox-Session"]
    sessions = {step.request.headers.get("x-sandbox-session") for step in steps}
    assert len(sessions) == 1
    assert sessions != {step.request.headers.get("x-sandbox-session") for step in compare.of_entries([entry()])}
    assert [step.title for step in steps] == ["recorded exchange 1", "recorded exchange 2"]


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording that is a list of targets."""
    monkeypatch.setattr(recording, "raw_files", lambda directory: sorted(directory.glob("raw/*.har.jsonl")))
    monkeypatch.setattr(recording, "is_raw", lambda file: True)
    monkeypatch.setattr(recording, "read_raw", lambda file: [entry(line) for line in file.read_text().split()])
    monkeypatch.setattr(recording, "read_head", lambda file: {"redacted": "safe" in file.name})


@pytest.mark.usefixtures("reading")
def test_a_recording_is_a_folder_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "1-safe.har.jsonl").write_text("/a /b")
    (tmp_path / "raw" / "2-safe.har.jsonl").write_text("/c")
    found, redacted = compare.entries_of(tmp_path)
    assert ([e.target for e in found], redacted) == (["/a", "/b", "/c"], True)
    found, _ = compare.entries_of(tmp_path / "raw" / "2-safe.har.jsonl")
    assert [e.target for e in found] == ["/c"]
    (tmp_path / "raw" / "3.har.jsonl").write_text("/d")
    assert compare.entries_of(tmp_path)[1] is False


@pytest.mark.parametrize(
    ("said", "redacted"), [({}, False), ({"_redacted": "1a2b3c4d"}, True), ({"_redacted": 1}, False)]
)
def test_a_har_document_says_whether_it_is_redacted(tmp_path: Path, said: dict[str, Any], redacted: bool) -> None:
    document = har.log([entry("/a"), entry("/b")])
    document["log"] |= said
    (tmp_path / "x.har").write_text(json.dumps(document))
    found, is_redacted = compare.entries_of(tmp_path / "x.har")
    assert ([e.target for e in found], is_redacted) == (["/a", "/b"], redacted)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "this is no JSON"),
        ("[]", "log.entries is no list"),
        ('{"log": {}}', "log.entries is no list"),
        ('{"log": {"entries": [7]}}', r"log.entries\[0\]: "),
    ],
)
def test_what_is_no_har_says_so(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "x.har").write_text(text)
    with pytest.raises(ConfigError, match=says):
        compare.entries_of(tmp_path / "x.har")


@pytest.mark.usefixtures("reading")
def test_an_empty_folder_holds_no_recording(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no recording in"):
        compare.entries_of(tmp_path)
