"""Commands in the background: one at a time, stopped, and ended with the sandbox; what they leave outlives it."""

import os
import signal
from pathlib import Path

from tests.console.runs.serving import CONSOLE, PAYS_AGAIN, WAITS, sign_in, signed_in
from tests.support.doors import DEADLINE, wait_until
from tests.support.serving import served


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def app_waiting(directory: Path) -> int:
    """The process of an app that waits in the middle of a run; waits for it."""
    file = directory / "waits"
    wait_until(lambda: file.exists() and file.read_text() != "", 6 * DEADLINE)
    return int(file.read_text())


def test_one_runs_at_a_time_and_is_stopped(tmp_path: Path) -> None:
    with signed_in(tmp_path, bug=WAITS) as browser:
        run = browser.start("campaigns", {"choose": "reset"})
        app = app_waiting(tmp_path)
        page = browser.page("campaigns", {}, 409)
        assert "A campaign is already running. Wait until it ends, or stop it." in page
        assert ">running</td>" in page.replace(" <small>only reset</small>", "")
        assert "Stop</button>" in browser.page(run)
        assert "data-live" in browser.page(f"{run}?part=true")
        assert "<html" not in browser.page(f"{run}?part=true")
        browser.page(run, {"do": "stop"})
        page = browser.wait_for(run, "Stopped: 0 faults tried, 0 with findings.")
        assert "Stop</button>" not in page
        assert not is_alive(app)
        assert "stopped; run the same command with --resume to continue" in page
        assert "not tried because the time was over or the campaign was stopped</summary>" in page
        assert ">stopped <small>" in browser.page("campaigns")


def test_it_ends_with_the_sandbox_and_its_results_stay(tmp_path: Path) -> None:
    with signed_in(tmp_path, bug=PAYS_AGAIN) as browser:
        found = browser.start("campaigns", {"choose": "reset"})
        browser.wait_for(found, "1 with findings.")
    with signed_in(tmp_path, bug=WAITS) as browser:
        page = browser.page(found)
        assert "2 payments with the end-to-end identification E-1" in page
        assert "The journal no longer has the exchanges of this run." in page
        run = browser.start("campaigns", {"choose": "reset"})
        app = app_waiting(tmp_path)
        campaign = int((browser.serving.confdir / run / "pid").read_text())
    assert not is_alive(app)
    assert not is_alive(campaign)
    with signed_in(tmp_path) as browser:
        assert "Stopped: 0 faults tried" in browser.page(run)


def test_one_whose_sandbox_was_killed_is_interrupted_once_it_ends(tmp_path: Path) -> None:
    with signed_in(tmp_path, bug=WAITS) as browser:
        run = browser.start("campaigns", {"choose": "reset"})
        app = app_waiting(tmp_path)
        os.kill(browser.serving.pid, signal.SIGKILL)
        campaign = int((browser.serving.confdir / run / "pid").read_text())
        with served(tmp_path, "--app-command", "true") as again:
            other = sign_in(again)
            assert "Stop</button>" in other.page(run), "it still runs, and any process can stop it"
            assert "already running" in other.page("campaigns", {}, 409)
            os.kill(campaign, signal.SIGKILL)
            os.kill(app, signal.SIGKILL)
            assert "Interrupted: the sandbox was killed during the campaign." in other.wait_for(run, "Interrupted")
            assert other.client.post(f"{CONSOLE}/campaigns", data={}).status_code == 303


def test_every_worker_shows_and_stops_it(tmp_path: Path) -> None:
    with signed_in(tmp_path, "--workers", "2", "--state", f"sqlite:{tmp_path}/s.db", bug=WAITS) as browser:
        run = browser.start("campaigns", {"choose": "reset"})
        app = app_waiting(tmp_path)
        for _ in range(8):  # each on a connection of its own, which another worker may take
            browser.client.headers["Connection"] = "close"
            assert "Stop</button>" in browser.page(run)
            assert "already running" in browser.page("campaigns", {}, 409)
        browser.page(run, {"do": "stop"})
        browser.wait_for(run, "Stopped: 0 faults tried")
        assert not is_alive(app)
        run = browser.start("campaigns", {"choose": "reset"})
        (tmp_path / "waits").write_text("")
        app = app_waiting(tmp_path)
    assert not is_alive(app), "a worker that ends has ended what it has started"
