"""Secrets at every place in an exchange never appear in recordings, logs, reports or derived rules."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.redaction.planting import PLACES, Planted, planted
from tests.support.recorded_bank.planted import KINDS
from tests.support.recorded_bank.traces import Haystack, below
from xs2a_sandbox.features.derive.derive import derive
from xs2a_sandbox.http.har import to_har
from xs2a_sandbox.journal.display import Display
from xs2a_sandbox.recording.har_log import Recording
from xs2a_sandbox.redaction.redactor import Redactor

KEY = b"k" * 32
EVERY = list(planted())


def written(one: Planted) -> Haystack:
    entry = Redactor(KEY).entry(one.entry)
    content = json.dumps(to_har(entry), ensure_ascii=False).encode()
    displayed = Display(lambda: Redactor(KEY), lambda: Redactor(KEY)).entry(one.entry, personal=True)
    journal = json.dumps(to_har(displayed), ensure_ascii=False).encode()
    return Haystack("written", [content, entry.body, entry.answer_body, journal, displayed.body, displayed.answer_body])


def test_there_are_enough_secrets() -> None:
    assert len({one.secret.value for one in EVERY}) > 1500
    assert len(PLACES) > 60
    assert len(KINDS) > 20


@pytest.mark.parametrize("place", [*PLACES, "numbers"])
def test_no_secret_is_written(place: str) -> None:
    mine = [one for one in EVERY if one.secret.place == place or (place == "numbers" and one.secret.kind == "number")]
    assert mine
    assert [f"{one.secret.kind} {one.secret.value}" for one in mine if written(one).holds(one.secret)] == []


@pytest.mark.slow
def test_no_secret_is_in_a_recording_of_all_of_them_or_its_cassettes(tmp_path: Path) -> None:
    async def record() -> None:
        for one in EVERY:
            await recording.add(one.entry)

    recording = Recording(tmp_path / "tape", Redactor(KEY).entry, {"redacted": "1a2b3c4d"})
    asyncio.run(record())
    recording.close()
    derive(tmp_path / "tape", None)
    found = [below("raw", tmp_path / "tape" / "raw"), below("cassettes", tmp_path / "tape" / "cassettes")]
    # In so much text, a year or an age occurs by chance.
    secrets = [one.secret for one in EVERY if len(one.secret.value) > 5]
    assert [f"{s.kind} {s.value} ({s.place}) in {h.name}" for s in secrets for h in found if h.holds(s)] == []
