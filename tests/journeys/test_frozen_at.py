"""`--frozen-at TIME`: the initial clock of every session."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from tests.contract import bodies
from tests.support.admin import CONSENT, STATUS, Admin, governed
from tests.support.engine_client import Client
from tests.support.linting import settings
from xs2a_sandbox.cli import main
from xs2a_sandbox.clock import REAL, Clock, read_time
from xs2a_sandbox.features.authoring.lint import check
from xs2a_sandbox.features.pytest.server_process import Process, Served
from xs2a_sandbox.state import MemoryStore, Store, Transaction
from xs2a_sandbox.state.session import keep_clock

TIME = "2031-05-06T07:08:09"
SHOWN = f"{TIME}+02:00"
TODAY = date(2031, 5, 6)
HEADERS = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "PSU-IP-Address": "192.0.2.1"}


@contextmanager
def serving(confdir: Path, *flags: str) -> Iterator[Process]:
    process = Process(confdir, flags)
    process.start()
    try:
        yield process
    finally:
        process.stop()


def body_of(session: Served, path: str) -> Any:
    return httpx.get(session.base_url + path, headers=HEADERS, trust_env=False).json()


def agreed(session: Served, valid_until: date) -> httpx.Response:
    body = bodies.consent(validUntil=valid_until.isoformat())
    return httpx.post(f"{session.base_url}/v1/consents", json=body, headers=HEADERS, trust_env=False)


# -- a sandbox with this option


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with serving(tmp_path_factory.mktemp("conf"), "--frozen-at", TIME) as process:
        yield process


def of_admin(process: Process) -> dict[str, str]:
    return {"Authorization": f"Bearer {(process.confdir / 'admin-token').read_text().strip()}"}


@pytest.mark.parametrize("name", ["default", "ci"])
def test_the_first_request_of_every_session_uses_that_clock(process: Process, name: str) -> None:
    session = Served(process, name)
    assert agreed(session, TODAY - timedelta(days=1)).status_code == 400
    made = agreed(session, TODAY).json()["consentId"]
    assert body_of(session, f"/v1/consents/{made}")["lastActionDate"] == TODAY.isoformat()
    assert body_of(session, STATUS) == {"consentStatus": "valid"}
    assert session.clock.now.isoformat() == SHOWN


def test_a_clock_set_for_a_session_stays_until_a_reset(process: Process) -> None:
    session, other = Served(process, "one"), Served(process, "two")
    made = agreed(session, TODAY).json()["consentId"]

    assert session.clock.move(days=400).isoformat() == "2032-06-09T07:08:09+02:00"
    assert body_of(session, f"/v1/consents/{made}/status") == {"consentStatus": "expired"}
    assert other.clock.now.isoformat() == SHOWN
    assert abs(session.clock.real() - REAL.now()) < timedelta(minutes=5)

    httpx.post(f"{session.base_url}/_sandbox/reset", headers=of_admin(process), trust_env=False).raise_for_status()
    assert session.clock.now.isoformat() == SHOWN
    assert body_of(session, STATUS) == {"consentStatus": "valid"}


@pytest.mark.slow
def test_a_stored_state_can_be_used_with_another_time(tmp_path: Path) -> None:
    """Sessions without a set clock follow the new one. Their test data keep their dates, except in `default`."""
    state = ("--state", f"sqlite:{tmp_path / 'state.db'}")
    later = "2031-05-16T00:00"

    def used(session: Served) -> date:
        return date.fromisoformat(session.state["consents"][CONSENT]["last_action_on"])

    with serving(tmp_path, *state, "--frozen-at", TIME) as process:
        default, ci, own = (Served(process, name) for name in ("default", "ci", "own"))
        own.clock.freeze("2040-01-01")
        made = agreed(ci, TODAY + timedelta(days=3)).json()["consentId"]
        before = [used(one) for one in (default, ci, own)]

    with serving(tmp_path, *state, "--frozen-at", later) as process:
        default, ci, own = (Served(process, name) for name in ("default", "ci", "own"))
        assert [one.clock.now.isoformat() for one in (default, ci, own)] == [
            "2031-05-16T00:00:00+02:00",
            "2031-05-16T00:00:00+02:00",
            "2040-01-01T00:00:00+01:00",
        ]
        assert [(used(one) - day).days for one, day in zip((default, ci, own), before, strict=True)] == [10, 0, 0]
        assert body_of(ci, f"/v1/consents/{made}/status") == {"consentStatus": "expired"}

    with serving(tmp_path, *state) as process:
        assert abs(Served(process, "ci").clock.now - REAL.now()) < timedelta(minutes=5)
        assert Served(process, "own").clock.now.isoformat() == "2040-01-01T00:00:00+01:00"


def test_the_status_shows_the_time(process: Process) -> None:
    status = httpx.get(f"{process.direct}/_sandbox/status", headers=of_admin(process), trust_env=False).json()

    assert status["frozen_at"] == SHOWN


# -- the commands


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("yesterday", ', not "yesterday"'),
        ("", ', not ""'),
        ("2031-02-29", ', not "2031-02-29"'),
        ("0001-01-01T00:00+14:00", ', not "0001-01-01T00:00+14:00": the clock can only show times from 1970 to 2999'),
        ("9999-12-31", ', not "9999-12-31": the clock can only show times from 1970 to 2999'),
    ],
)
def test_an_invalid_time_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, reason: str
) -> None:
    expected = "must be an ISO 8601 time such as 2026-11-21T09:00:00 (the bank's time) or 2026-11-21T08:00:00Z"
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(main.cli, ["serve", "--frozen-at", written])
    assert (result.exit_code, result.stderr) == (2, f"Error: --frozen-at: {expected}{reason}\n")

    monkeypatch.setenv("XS2A_SANDBOX_FROZEN_AT", written)
    result = CliRunner().invoke(main.cli, ["testdata"])
    assert (result.exit_code, result.stderr) == (2, f"Error: XS2A_SANDBOX_FROZEN_AT: {expected}{reason}\n")


@pytest.mark.parametrize("written", ["20", "'x'", "true"])
def test_an_invalid_time_in_the_settings_file_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("xs2a-sandbox.yaml").write_text(f"frozen_at: {written}\n")

    result = CliRunner().invoke(main.cli, ["testdata"])

    assert result.exit_code == 2
    assert "xs2a-sandbox.yaml:1:12: error wrong-" in result.stderr


def test_other_commands_use_the_time_of_the_settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example passes only on that day."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    Path("xs2a-sandbox.yaml").write_text(f'frozen_at: "{TIME}"\n')
    Path("cassettes/cases").mkdir(parents=True)
    Path("cassettes/cases/mine.yaml").write_text(
        "cassette: 1\nrules:\n"
        "  - id: mine\n    match: {path: /mine, when: clock.today == '2031-05-06'}\n"
        "    respond: {body: {at: '{{ now() }}'}}\n"
        f"    examples: [{{request: {{}}, expect: {{status: 200, body: {{at: '{SHOWN}'}}}}}}]\n"
    )

    linted = CliRunner().invoke(main.cli, ["lint"])
    explained = CliRunner().invoke(main.cli, ["explain", "--offline", "--json", "GET", "/mine"])

    assert (linted.exit_code, linted.stdout[:11]) == (0, "no problems")
    assert json.loads(explained.stdout)["decision"] == "rule"


# -- any time


@pytest.mark.parametrize("time", ["1970-01-02T12:00", "2028-02-29T23:30", "2026-03-29T02:30", "2999-12-30T12:00"])
def test_the_bundled_examples_pass_at_any_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, time: str) -> None:
    monkeypatch.chdir(tmp_path)
    at_that_time = settings(tmp_path)
    object.__setattr__(at_that_time, "frozen_at", read_time(time))

    assert [str(problem) for problem in check(at_that_time)] == []


# -- sessions of an engine


def admin(clock: Clock, store: Store | None = None) -> Admin:
    return Admin(Client(governed(store=store, clock=clock)))


def test_the_option_accepts_the_same_times_as_the_control_interface() -> None:
    for written in ("2027-01-02", "2027-01-02T03:04:05", "2027-07-02T03:04:05Z", "2026-03-29T02:30", "20270102T030405"):
        begun, put = admin(Clock(frozen=read_time(written))), admin(REAL)
        put.ask("PUT", "clock", {"frozen": written})
        assert begun.get("clock") == put.get("clock")


def test_a_session_set_to_real_time_keeps_it() -> None:
    frozen = Clock(frozen=read_time(TIME))
    store = MemoryStore()
    Admin(Client(governed(store=store))).ask("PUT", "clock", {"real": True})

    assert admin(frozen, store).get("clock")["frozen"] is None


def test_a_session_with_state_but_no_set_clock_uses_the_option() -> None:
    store = MemoryStore()
    real = Admin(Client(governed(store=store), "ci"))
    assert real.client.post("/v1/consents", json=bodies.consent()).status == 200
    anchor = real.get("state/_session/time")["anchor"]

    begun = admin(Clock(frozen=read_time(TIME)), store).named("ci")

    assert begun.get("clock")["now"] == SHOWN
    assert begun.get("state/_session/time")["anchor"] == anchor == REAL.today().isoformat()


def test_a_shift_stored_by_an_earlier_version_counts_as_a_set_clock() -> None:
    store = MemoryStore()
    transaction = Transaction(store, "default", lambda _: {})
    keep_clock(transaction, Clock(timedelta(days=1)))
    assert transaction.commit()

    shown = admin(Clock(frozen=read_time(TIME)), store).get("clock")

    assert (shown["shift"], shown["frozen"]) == (86400, None)
