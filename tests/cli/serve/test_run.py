"""The summary of recordings at the end of `serve`."""

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.taping import derived, replay, taped
from xs2a_sandbox.cli.serve.run import UnusedRules
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.engine.egress import Egress
from xs2a_sandbox.features.derive.run_recording import RunRecording
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.recording.har_log import Recording


class Recorded:
    """The parts of an engine in mode record that a run uses."""

    def __init__(self, recording: Recording, engine: Engine) -> None:
        self.interface, self.schemas, self.banks = engine.interface, engine.schemas, engine.banks
        self.parts = SimpleNamespace(egress=Egress(recording=recording), comparing=None)


def exchange(path: str, source: str = "bank", rule: str | None = None) -> LogEntry:
    return LogEntry("default", "GET", path, 200, 1.0, source, rule)


def test_unused_recorded_rules_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    derived(tmp_path, taped("/v1/things/a", {"n": 1}), taped("/v1/things", {"n": 2}))
    engine, run = replay(tmp_path), UnusedRules(Settings())
    run.begin(engine, print)
    engine.use(on_exchange=run.add)
    asyncio.run(engine.answer(Request("GET", "/v1/things/a")))
    first, line = run.sum_up([run.result()])
    assert first == "1 recorded rule answered nothing:"
    assert line.startswith("  tape/cassettes/things.yaml:")
    assert "  recorded-xs2a-bank-example-list-" in line
    asyncio.run(engine.answer(Request("GET", "/v1/things")))
    assert list(run.sum_up([run.result()])) == []


def test_recorded_exchanges_are_counted_and_rules_are_derived(tmp_path: Path) -> None:
    derived(tmp_path, taped("/v1/things"))
    engine, run = replay(tmp_path), RunRecording(Settings())
    recording = Recording(tmp_path / "new", lambda entry: replace(entry, redactions=3), {"redacted": "1a2b3c4d"})
    run.begin(Recorded(recording, engine), print)  # type: ignore[arg-type]
    assert run.progress() == "recorded 0 exchanges, 0 requests distinguished, 0 values redacted"

    async def add() -> None:
        for path in ("/v1/things/a", "/v1/things/a"):
            await recording.add(taped(path, {"n": 1}))
            run.add(exchange(path))

    asyncio.run(add())
    recording.close()
    assert run.progress() == "recorded 2 exchanges, 1 request distinguished, 6 values redacted"
    lines = list(run.end())
    assert lines[0] == f"{run.progress()}: {recording.file}"
    assert lines[1:5] == [
        "operation  exchanges  rules  redacted  not recorded",
        "one                2      1         6             0",
        "together           2      1         6             0",
        "1 rule in 1 file:",
    ]
    assert (tmp_path / "new/cassettes/things.yaml").is_file()


@pytest.mark.parametrize(("redact", "outcome"), [(True, "0 values redacted"), (False, "not redacted")])
def test_values_redacted_only_in_the_log_are_not_counted(tmp_path: Path, redact: bool, outcome: str) -> None:
    settings = Settings(
        mode="record", bank="https://bank.example", to=tmp_path / "tape", state="memory:", confdir=tmp_path / "conf"
    )
    run = RunRecording(Settings())
    run.begin(build(settings, redact=redact), print)
    assert run.progress() == f"recorded 0 exchanges, 0 requests distinguished, {outcome}"


def test_an_existing_broken_cassette_does_not_lose_the_recording(tmp_path: Path) -> None:
    derived(tmp_path, taped("/v1/things"))
    engine, run = replay(tmp_path), RunRecording(Settings())
    (tmp_path / "new/cassettes").mkdir(parents=True)
    (tmp_path / "new/cassettes/odd.yaml").write_text("cassette: [")
    recording = Recording(tmp_path / "new", None, {"redacted": False})
    run.begin(Recorded(recording, engine), print)  # type: ignore[arg-type]
    asyncio.run(recording.add(taped("/v1/things/a")))
    recording.close()
    text = "\n".join(run.end())
    assert "the exchanges are kept, but no rules could be derived from them" in text
    assert f"xs2a-sandbox derive {tmp_path / 'new'}" in text


def test_exchanges_that_could_not_be_written_are_reported(tmp_path: Path) -> None:
    def fail(entry: Exchange) -> Exchange:
        raise ZeroDivisionError

    derived(tmp_path, taped("/v1/things"))
    engine, run = replay(tmp_path), RunRecording(Settings())
    recording = Recording(tmp_path / "new", fail, {})
    run.begin(Recorded(recording, engine), print)  # type: ignore[arg-type]
    with pytest.raises(ZeroDivisionError):
        asyncio.run(recording.add(taped("/v1/things/a")))
    recording.close()
    assert "1 exchange with the bank could not be written and were lost" in list(run.end())


def test_a_run_that_never_started_prints_nothing() -> None:
    run = RunRecording(Settings())
    run.add(exchange("/v1/x"))
    assert (run.progress(), list(run.end())) == (None, [])
