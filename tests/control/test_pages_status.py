"""The status of a sandbox."""

from datetime import UTC, datetime
from pathlib import Path

from tests.support.writing import engine
from xs2a_sandbox.bank import Bank, Banks
from xs2a_sandbox.clock import REAL
from xs2a_sandbox.config.real_bank import BankHost, RealBank
from xs2a_sandbox.control.pages import FilesStatus, status
from xs2a_sandbox.recording.har_log import Recording

LOADED = datetime(2026, 11, 21, 10, 11, 12, 131415, tzinfo=UTC)


def test_the_status_lists_files_and_their_problems(tmp_path: Path) -> None:
    banks = engine(tmp_path).banks
    body = status(FilesStatus(LOADED, ("a.yaml:1:1: odd",)), banks, None, None, REAL)
    assert (body["loaded"], body["problems"]) == ("2026-11-21T10:11:12.131+00:00", ["a.yaml:1:1: odd"])
    assert body["banks"] == [
        {"url": None, "hosts": [], "mode": None, "dialect": "0", "quirks": [], "operations": 3, "rules": 0}
    ]
    assert (body["recording"], body["frozen_at"]) == (None, None)


def test_the_status_lists_every_bank_and_its_mode(tmp_path: Path) -> None:
    default = engine(tmp_path).banks.default
    real = RealBank("https://bank.example", (BankHost("bank.example"),), "spy")
    banks = Banks(default, [Bank(default.interface, default.schemas, real)])
    first, second = status(FilesStatus(LOADED), banks, None, None, REAL)["banks"]
    assert (first["url"], first["hosts"], first["mode"]) == ("https://bank.example", ["bank.example"], "spy")
    assert second["url"] is None


def test_the_status_shows_a_recording(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "rec", None, {})
    try:
        body = status(FilesStatus(LOADED), engine(tmp_path).banks, recording, None, REAL)
        assert body["recording"] == {"exchanges": 0, "waiting": 0}
    finally:
        recording.close()
