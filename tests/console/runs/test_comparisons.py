"""Comparisons from the console: of a recording with this sandbox, or with the bank that it asks."""

import html
from pathlib import Path

import httpx
import pytest

from tests.console.runs.serving import CONSOLE, SignedIn, signed_in
from tests.support.serving import served

HEADERS = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "PSU-IP-Address": "192.0.2.1"}
STATUS = "/v1/consents/9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911/status"


def record(directory: Path, bank: str) -> None:
    """Leave a recording in the folder `recordings`."""
    flags = ("--mode", "record", "--bank", bank, "--to", str(directory / "recordings"))
    with served(directory, *flags) as recorder:
        answer = httpx.get(f"{recorder.direct}{STATUS}", headers=HEADERS, trust_env=False)
        assert answer.json() == {"consentStatus": "valid"}
        recorder.stop()
    assert list((directory / "recordings/raw").iterdir())


def test_a_recording_is_compared_and_its_report_opens(tmp_path: Path) -> None:
    with served(tmp_path / "bank") as bank:
        record(tmp_path, bank.direct)
        flags = ("--mode", "spy", "--bank", bank.direct)
        with signed_in(tmp_path, *flags) as browser:
            check_offline(browser)
            check_with_the_bank(browser, bank.direct)
            bank.stop()
            run = browser.start("recordings", {"recording": "", "with": bank.direct})
            assert "1 not answered" in browser.wait_for(run, "Ended:")
            assert "1 not answered" in browser.page("recordings")


def check_offline(browser: SignedIn) -> None:
    (file,) = (browser.serving.confdir.parent / "recordings/raw").iterdir()
    run = browser.start("recordings", {"recording": file.name, "with": "offline", "writes": "true"})
    page = browser.wait_for(run, "Ended:")
    assert "1 same" in page
    assert file.name in page
    assert "with writes" not in page, "nothing is sent to a bank"
    listed = browser.page("recordings")
    assert f'href="{CONSOLE}/{run}"' in listed
    assert "0 high" in listed
    answer = browser.client.get(f"{CONSOLE}/{run}/report")
    assert "<title>Sandbox and " in answer.text
    policy = answer.headers["content-security-policy"]
    assert "script-src 'sha256-" in policy
    assert "style-src 'sha256-" in policy
    assert "unsafe" not in policy
    assert policy.endswith("sandbox allow-scripts")


def check_with_the_bank(browser: SignedIn, bank: str) -> None:
    assert f'<option value="{bank}">' in browser.page("recordings")
    assert "they create real consents and payments" in browser.page("recordings")
    for form, flag in (({"writes": "true"}, True), ({}, False)):
        run = browser.start("recordings", {"recording": "", "with": bank, **form})
        assert "1 same" in browser.wait_for(run, "Ended:")
        words = (browser.serving.confdir / run / "words.txt").read_text()
        assert ("--allow-writes" in words) is flag
        assert f"--bank {bank}" in words


@pytest.fixture
def offline(tmp_path: Path) -> Path:
    raw = tmp_path / "recordings" / "raw"
    raw.mkdir(parents=True)
    (raw / "20261121T090000Z.har.jsonl").write_text("nonsense\n")
    return tmp_path


def test_what_cannot_be_compared_is_said(offline: Path) -> None:
    with signed_in(offline) as browser:
        page = browser.page("recordings")
        assert "Nothing is sent to a bank" in page
        assert 'name="writes"' not in page
        assert "there is no ../../x in" in browser.page("recordings", {"recording": "../../x"}, 409)
        answer = browser.page("recordings", {"recording": "", "with": "http://127.0.0.1:1"}, 409)
        assert "with must be offline, or the URL of a bank that this sandbox asks" in html.unescape(answer)
        run = browser.start("recordings", {"recording": "", "with": "offline"})
        page = browser.wait_for(run, "The comparison ended with status 2.")
        assert "20261121T090000Z.har.jsonl" in page
        assert "failed</span>" in browser.page("recordings")
        assert browser.client.get(f"{CONSOLE}/{run}/report").status_code == 404
        assert browser.client.post(f"{CONSOLE}/{run}", data={"do": "shout"}).status_code == 400


def test_without_a_recording_there_is_nothing_to_compare(tmp_path: Path) -> None:
    with signed_in(tmp_path) as browser:
        assert "There is no recording in" in browser.page("recordings")
        assert "there is no recording in" in browser.page("recordings", {"recording": ""}, 409)
