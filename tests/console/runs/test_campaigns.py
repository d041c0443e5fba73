"""Campaigns from the console: started, watched, read, replayed."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.console.runs.serving import CONSOLE, FAILS, PAYS_AGAIN, PAYS_ONCE, SignedIn, signed_in


@pytest.fixture(scope="module")
def buggy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SignedIn, str]]:
    """A sandbox, and the path of a campaign that has found that the app pays again."""
    with signed_in(tmp_path_factory.mktemp("buggy"), bug=PAYS_AGAIN) as browser:
        run = browser.start("campaigns", {"choose": "reset", "jobs": "2", "budget": "5m"})
        browser.wait_for(run, "Ended: 2 faults tried, 1 with findings.")
        yield browser, run


def test_a_finding_says_what_the_app_did_and_what_it_should_do(buggy: tuple[SignedIn, str]) -> None:
    browser, run = buggy
    page = browser.page(run)
    assert '<h3 id="title-1">Pays too often: call 1 of initiate-payment</h3>' in page
    assert "<code>POST /v1/payments/sepa-credit-transfers</code>" in page
    assert "<dd>The app made 2 payments with the end-to-end identification E-1. <small>check: payments</small>" in page
    assert "at most one payment for each end-to-end identification" in page
    assert "the customer pays twice" in page
    assert "The connection is reset, after the bank has acted on the request." in page
    assert "The command: exit status 0 with the fault, 0 in the run after it" in page
    assert "6 faults were left out because they change nothing for this app</summary>" in page
    assert "<li>initiate-payment 1: consent expires (before, after)" in page
    listed = browser.page("campaigns")
    assert "2 faults tried" in listed
    assert "1 with findings" in listed
    assert "only reset" in listed


def test_a_finding_leads_to_the_exchange_that_caused_it(buggy: tuple[SignedIn, str]) -> None:
    browser, run = buggy
    # More than once: another campaign has the same sessions.
    again = browser.start("campaigns", {"choose": "reset"})
    browser.wait_for(again, "Ended:")
    for one in (run, again):
        page = html.unescape(browser.page(one))
        run_with_it, run_after_it = re.findall(r"<p><strong>The run [^/]*</strong>.*?</ul>", page, re.DOTALL)
        assert "<strong>The run with the fault</strong>" in run_with_it
        assert "<strong>The run after it, without the fault</strong>" in run_after_it
        assert run_with_it.count("POST /v1/payments/sepa-credit-transfers") == 2, "lost, and the same again"
        assert run_with_it.count("the call with the fault") == 1
        assert run_after_it.count("POST /v1/payments/sepa-credit-transfers") == 1
        assert "the call with the fault" not in run_after_it
        for part, count in ((run_with_it, 2), (run_after_it, 1)):
            (link,) = re.findall(r'href="(/_sandbox/\?search=[^"]+)"', part)
            traffic = browser.page(link)
            numbers = re.findall(r'<tr data-number="(\d+)">', traffic)
            assert len(numbers) == count
            opened = parse_qs(urlsplit(link).query).get("open")
            assert opened == ([numbers[-1]] if part == run_with_it else None)


def test_a_finding_is_replayed_alone(buggy: tuple[SignedIn, str]) -> None:
    browser, run = buggy
    page = browser.page(run, {"do": "replay", "finding": "initiate-payment-1-reset-after.yaml"})
    assert "The replay is running." in page
    assert "it still happens." in browser.wait_for(run, "Replayed at")
    app = browser.serving.confdir.parent / "app.py"
    text = app.read_text()
    app.write_text(text.replace('if bug == "pays-again"', "if False"))
    browser.page(run, {"do": "replay", "finding": "initiate-payment-1-reset-after.yaml"})
    assert "it no longer happens." in browser.wait_for(run, "Replayed at")
    app.write_text("import sys; sys.exit('broken')")
    browser.page(run, {"do": "replay", "finding": "initiate-payment-1-reset-after.yaml"})
    assert "the command fails without a fault, with status 1; fix that first" in browser.wait_for(
        run, "The replay failed"
    )
    app.write_text(text)
    assert "No finding with this name can be replayed" in browser.page(
        run, {"do": "replay", "finding": "../../x.yaml"}, 409
    )
    assert "do must be stop or replay" in browser.page(run, {"do": "delete"}, 409)


def test_the_report_opens_with_its_own_style_only(buggy: tuple[SignedIn, str]) -> None:
    browser, run = buggy
    answer = browser.client.get(f"{CONSOLE}/{run}/report")
    assert "<title>Campaign: 1 of 2 faults with findings</title>" in answer.text
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert policy.endswith("frame-ancestors 'none'; sandbox allow-scripts")
    assert "unsafe" not in policy
    assert "script-src" not in policy


@pytest.mark.parametrize(
    "path",
    [
        *(
            "campaigns/20261126T094725",
            "campaigns/..%2fstate.db",
            "campaigns/running",
        ),
        *("campaigns/20261126T094725/report", "comparisons/..%2f..%2f/report"),
    ],
)
def test_a_run_that_is_not_there_is_not_found(buggy: tuple[SignedIn, str], path: str) -> None:
    browser, _ = buggy
    assert browser.client.get(f"{CONSOLE}/{path}").status_code == 404


def test_another_file_of_a_run_is_not_shown(buggy: tuple[SignedIn, str]) -> None:
    browser, run = buggy
    for name in ("output.txt", "results", "findings"):
        assert browser.client.get(f"{CONSOLE}/{run}/{name}").status_code == 404


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"jobs": "0"}, "jobs must be a number from 1 to 64"),
        ({"jobs": "65"}, "jobs must be a number from 1 to 64"),
        ({"jobs": "two"}, "jobs must be a number from 1 to 64"),
        ({"budget": "soon"}, "is not a duration"),
    ],
)
def test_a_wrong_field_is_said_beside_it(buggy: tuple[SignedIn, str], form: dict[str, str], told: str) -> None:
    browser, _ = buggy
    page = browser.page("campaigns", form, 409)
    assert told in page
    assert f'id="wrong-{next(iter(form))}"' in page


def test_it_needs_a_sign_in_and_no_form_of_another_site_starts_it(buggy: tuple[SignedIn, str]) -> None:
    browser, run = buggy
    cookies = dict(browser.client.cookies)
    browser.client.cookies.clear()
    for path in ("campaigns", run, f"{run}/report"):
        assert browser.client.get(f"{CONSOLE}/{path}").status_code == 401
    assert browser.client.post(f"{CONSOLE}/campaigns", data={}).status_code == 401
    browser.client.cookies.update(cookies)
    foreign = {"Origin": "https://evil.example"}
    assert browser.client.post(f"{CONSOLE}/campaigns", data={}, headers=foreign).status_code == 403


def test_what_the_journal_has_lost_is_said(tmp_path: Path) -> None:
    with signed_in(tmp_path, "--journal", "5", bug=PAYS_AGAIN) as browser:
        run = browser.start("campaigns", {"choose": "reset"})
        browser.wait_for(run, "1 with findings.")
        for _ in range(5):
            browser.client.get("/v1/accounts")
        page = browser.page(run)
        assert "The journal no longer has the exchanges of this run." in page
        assert "in the traffic" not in page


def test_a_correct_app_has_no_findings(tmp_path: Path) -> None:
    with signed_in(tmp_path, "--dialect", "xs2a-1.84", bug=PAYS_ONCE) as browser:
        run = browser.start("campaigns", {"choose": "reset"})
        page = browser.wait_for(run, "Ended: 2 faults tried, 0 with findings.")
        assert "None." in page
        assert "Replay" not in page


def test_a_text_that_no_fault_has_is_told_with_those_that_exist(buggy: tuple[SignedIn, str]) -> None:
    browser, _ = buggy
    run = browser.start("campaigns", {"choose": "rset"})
    page = html.unescape(browser.wait_for(run, "The campaign ended with status 2."))
    assert "none of the" in page
    assert "contains 'rset'; did you mean reset?" in page
    assert "calls: initiate-payment 1" in page
    assert "no findings" in browser.page("campaigns")


def test_the_bank_of_the_campaign_is_that_of_the_sandbox(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    flags = ("--dialect", "berlin-group-1.3", "--cassettes", "cases", "--quirk", "pending-ids-change")
    flags += ("--frozen-at", "2026-11-21T09:00", "--seed", "spring", "--checks", "warn")
    with signed_in(tmp_path, *flags, bug=FAILS) as browser:
        run = browser.start("campaigns", {})
        page = html.unescape(browser.wait_for(run, "The campaign ended with status 2."))
        assert "the bank of <the app> is not there" in page
        words = browser.serving.confdir.joinpath(run, "words.txt").read_text()
        for flag in ("--dialect=berlin-group-1.3", f"--cassettes={tmp_path}/cases", "--quirk=pending-ids-change"):
            assert flag in words
        assert "--seed=spring --checks=warn" in words
        assert "--frozen-at=2026-11-21T09:00" in words


def test_without_a_command_the_page_says_how_to_set_it(tmp_path: Path) -> None:
    with signed_in(tmp_path) as browser:
        page = browser.page("campaigns")
        assert "xs2a-sandbox serve --app-command" in page
        assert "app_command: pytest tests/bank" in page
        assert ">Start</button>" not in page
        assert "No command is set" in browser.page("campaigns", {"jobs": "1", "command": "touch /tmp/x"}, 409)


def test_a_sandbox_that_asks_a_bank_runs_no_campaign(tmp_path: Path) -> None:
    with signed_in(tmp_path, "--mode", "spy", "--bank", "http://127.0.0.1:9", bug=PAYS_ONCE) as browser:
        run = browser.start("campaigns", {})
        assert "is in mode spy: start it in mode simulate" in browser.wait_for(run, "The campaign ended with status 2.")
