"""The first lines of `serve`."""

import errno
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.serving import served
from xs2a_sandbox.cli.serve.announcement import announcement, exposure, find_valid_consent, found_state
from xs2a_sandbox.clock import read_time
from xs2a_sandbox.config import RealBank, Settings
from xs2a_sandbox.config.real_bank import BankHost
from xs2a_sandbox.doors.serving import Addresses
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.plugins import plugins
from xs2a_sandbox.state.sqlite import SqliteStore

CONSENT = "11111111-1111-4111-8111-111111111111"
ADDRESSES = Addresses("http://127.0.0.1:1", "http://127.0.0.1:2", "https://127.0.0.1:3", Path("/my folder/ca.pem"))


def test_only_an_unusual_event_loop_is_shown() -> None:
    def lines(loop: str) -> list[str]:
        return announcement(Settings(), ADDRESSES, "in memory", None, loop=loop).splitlines()

    assert "loop      asyncio's event loop" in lines("asyncio's event loop")
    assert not [line for line in lines("uvloop") if "loop" in line]
    as_json = announcement(Settings(log_format="json"), ADDRESSES, "in memory", None, loop="uvloop")
    assert json.loads(as_json)["loop"] == "uvloop"


def test_a_frozen_clock_is_shown() -> None:
    frozen = Settings(frozen_at=read_time("2026-11-21T09:00"))

    lines = announcement(frozen, ADDRESSES, "in memory", None).splitlines()
    as_json = json.loads(announcement(replace(frozen, log_format="json"), ADDRESSES, "in memory", None))

    assert "clock     frozen at 2026-11-21T09:00:00+01:00" in lines
    assert as_json["frozen_at"] == "2026-11-21T09:00:00+01:00"


@pytest.mark.parametrize("dialect", ["xs2a-1.84", "obie-4.0"])
def test_the_dialect_and_the_address_of_the_docs_are_shown(dialect: str) -> None:
    lines = announcement(Settings(dialect=dialect), ADDRESSES, "in memory", None).splitlines()

    assert lines[4:] == ["state     in memory", "docs      http://127.0.0.1:2/_sandbox/docs/", f"dialect   {dialect}"]


def test_a_disabled_door_is_not_announced() -> None:
    assert "https://127" not in announcement(Settings(), replace(ADDRESSES, tls=None), "", CONSENT)


def test_the_password_is_not_printed() -> None:
    text = announcement(Settings(proxy_auth="ci:hunter2"), ADDRESSES, "", CONSENT)

    assert " -U ci " in text
    assert "hunter2" not in text


def test_configured_hosts_and_base_path_are_used() -> None:
    settings = Settings(hosts=("api.bank.test",), base_path="/xs2a")

    assert f"https://api.bank.test/xs2a/v1/consents/{CONSENT}/status" in announcement(settings, ADDRESSES, "", CONSENT)


def test_without_a_valid_consent_no_example_is_printed() -> None:
    assert "curl" not in announcement(Settings(), ADDRESSES, "", None)
    assert find_valid_consent({}) is None
    assert find_valid_consent({"consents": {"a": {"role": "expired"}, "b": {"role": "authorised"}}}) == "b"


def test_real_banks_are_shown_with_their_modes() -> None:
    bank = RealBank(
        "https://first.example", hosts=(BankHost("first.test"),), mode="spy", modes=(("/v1/payments", "simulate"),)
    )
    settings = Settings(banks=(bank,), bank="https://second.example", mode="record")

    lines = announcement(settings, ADDRESSES, "", CONSENT).splitlines()

    assert "bank      https://first.example (mode spy, /v1/payments: simulate)" in lines
    assert "bank      https://second.example (mode record)" in lines
    assert not any("curl" in line for line in lines), "the bank does not know this consent"


def test_a_bank_that_gets_no_requests_is_marked() -> None:
    text = announcement(Settings(bank="https://bank.example/psd2"), ADDRESSES, "", CONSENT)
    assert "bank      https://bank.example/psd2 gets no requests (mode simulate; --mode spy, record or compare)" in text

    text = announcement(Settings(bank="https://bank.example/psd2", log_format="json"), ADDRESSES, "", CONSENT)
    assert json.loads(text)["banks"] == [{"url": "https://bank.example/psd2", "hosts": [], "mode": "simulate"}]


def test_the_announcement_as_json() -> None:
    entry = json.loads(announcement(Settings(log_format="json"), ADDRESSES, "in memory", None))

    assert entry == {
        "proxy": "http://127.0.0.1:1",
        "direct": "http://127.0.0.1:2",
        "tls": "https://127.0.0.1:3",
        "ca_file": "/my folder/ca.pem",
        "state": "in memory",
        "console": None,
        "loop": None,
        "dialect": "xs2a-1.84",
        "frozen_at": None,
        "banks": [],
        "quirks": [],
        "features": plugins().features,
        "plugins": [],
        "try": None,
    }


def test_the_size_of_the_stored_state_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    settings = Settings(state=f"sqlite:{file}")
    assert found_state(settings) == f"{file} (new)"
    store = SqliteStore(file)
    assert "contains nothing yet" in found_state(settings)
    assert store.commit("s", {}, {}, {("_session", "x"): {"a": 1}})
    assert "contains nothing yet" in found_state(settings)
    assert store.commit("s", {}, {}, {("payments", "x"): {"a": 1}})
    store.close()

    assert found_state(settings) == f"{file} contains 1 payments; start with --reset to delete it"
    assert found_state(replace(settings, reset=True)) == f"{file} (reset)"
    assert found_state(Settings(state="memory:")).startswith("in memory")


def test_a_state_file_that_is_not_a_database_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    file.write_text("this is not a database, and long enough to be looked at\n" * 100)

    with pytest.raises(UserMistake, match="is damaged"):
        found_state(Settings(state=f"sqlite:{file}"))


def test_a_state_file_with_damaged_pages_is_refused_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    store = SqliteStore(file)
    assert store.commit("s", {}, {}, {("payments", str(number)): {"a": "x" * 400} for number in range(200)})
    store.close()
    half = file.stat().st_size // 2
    damaged = file.read_bytes()[:half] + b"\xa5" * half
    file.write_bytes(damaged)

    with pytest.raises(UserMistake, match=r"state\.db is damaged .*, and nothing in it was deleted: to begin"):
        found_state(Settings(state=f"sqlite:{file}"))
    assert file.read_bytes()[half:] == damaged[half:]


def test_a_state_file_in_a_folder_that_cannot_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", refuse)

    with pytest.raises(UserMistake, match=r"state\.db cannot be read: Permission denied. Choose another file"):
        found_state(Settings(state=f"sqlite:{tmp_path / 'state.db'}"))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost", "LOCALHOST"])
def test_loopback_addresses_cause_no_warning(host: str) -> None:
    assert exposure(Settings(host=host)) is None


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            Settings(host="0.0.0.0"),
            "listening on every address of this machine: anyone who can reach it can use the sandbox; ",
        ),
        (Settings(host="::"), "listening on every address of this machine"),
        (Settings(host="192.0.2.1"), "listening on 192.0.2.1: anyone who can reach it"),
        (Settings(host="sandbox.lan"), "listening on sandbox.lan: anyone who can reach it"),
        (
            Settings(host="0.0.0.0", bank="https://b.example", mode="spy"),
            "the sandbox, including its connection to https://b.example with",
        ),
    ],
)
def test_other_addresses_cause_a_warning(settings: Settings, words: str) -> None:
    text = exposure(settings)
    assert text
    assert words in text
    assert "--proxy-auth" in text
    assert text.endswith("--host 127.0.0.1 restricts it to this machine")


def test_a_bank_that_gets_no_requests_is_not_in_the_warning() -> None:
    assert "b.example" not in str(exposure(Settings(host="0.0.0.0", bank="https://b.example")))


@pytest.mark.parametrize("form", ["text", "json"])
def test_serve_warns_if_it_listens_on_all_interfaces(form: str, tmp_path: Path) -> None:
    with served(tmp_path, "--host", "0.0.0.0", "--log-format", form) as serving:
        line = serving.warning("listening on every address")
        if form == "json":
            assert json.loads(line).keys() == {"time", "level", "message"}
        else:
            assert " warning listening on every address of this machine: anyone who can reach it" in line


def test_addresses_files_and_state_are_shown() -> None:
    *lines, _ = announcement(Settings(), ADDRESSES, "in memory", CONSENT).splitlines()

    assert lines[:5] == [
        "proxy     http://127.0.0.1:1",
        "base URL  http://127.0.0.1:2",
        "          https://127.0.0.1:3",
        "CA file   /my folder/ca.pem",
        "state     in memory",
    ]
