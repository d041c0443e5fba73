"""The page of what is recorded, and of how the bank has drifted."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.compare.test_history import run
from tests.console.browser import Browser
from xs2a_sandbox.features.compare import history


def test_what_is_recorded_and_how_it_drifts(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "No runs yet" in browser.page("/_sandbox/console/recordings")
    for day, one in ((20, run("currency")), (21, run("currency", "ownerName"))):
        history.append(history.FOLDER, replace(one, time=datetime(2026, 11, day, tzinfo=UTC)))
    page = browser.page("/_sandbox/console/recordings")
    assert page.index("2026-11-21") < page.index("2026-11-20")
    assert "1 new" in page
    assert "/ownerName" in page
    (history.FOLDER / history.FILE).write_text("nonsense\n")
    assert "drift.jsonl:1: this line is not a valid run" in browser.page("/_sandbox/console/recordings")


def test_the_files_of_a_recording_are_listed_newest_first(tmp_path: Path) -> None:
    raw = tmp_path / "recordings" / "raw"
    raw.mkdir(parents=True)
    for name in ("20261120T090000Z", "20261121T090000Z", "20261121T090000Z-2"):
        (raw / f"{name}.har.jsonl").write_bytes(b"x" * 3072)
    (raw / "notes.txt").write_text("not recorded")
    page = Browser(tmp_path, to=tmp_path / "recordings").sign_in().page("/_sandbox/console/recordings")
    assert re.findall(r"<code>(\d+T\d+Z(?:-2)?)\.har\.jsonl</code>", page) == [
        "20261121T090000Z-2",
        "20261121T090000Z",
        "20261120T090000Z",
    ]
    assert page.count(">3 KiB</td>") == 3
    assert "notes.txt" not in page
