"""The command `campaign`: its messages to new users."""

import html
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
from click.testing import CliRunner

from tests.support.admin import STATUS
from tests.support.doors import DEADLINE, wait_until
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.cli.verbosity import Verbosity
from xs2a_sandbox.documents import yaml_reader
from xs2a_sandbox.features.campaign.campaign import CampaignState, FaultResult
from xs2a_sandbox.features.campaign.commands import CampaignProgress
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault

APP = f"""
import os, pathlib, time, urllib.error, urllib.request
headers = {{"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}}
try:
    urllib.request.urlopen(urllib.request.Request(os.environ["XS2A_SANDBOX_URL"] + "{STATUS}", headers=headers)).read()
except Exception:
    pass
if "XS2A_SANDBOX_FAULT" in os.environ and pathlib.Path("waits").exists():
    print("waiting", file=open("waits", "w"))
    time.sleep({10 * DEADLINE})
"""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            [],
            "Missing argument 'COMMAND...'. The command that runs your tests comes after --: xs2a-sandbox campaign --",
        ),
        (["python", "app.py", "--fast"], "The command that runs your tests comes after --:"),
        (["--job", "2", "--", "python", "app.py"], "No such option '--job'."),
        (["--report", "none/r.xml", "--", "python", "app.py"], "the folder none for r.xml does not exist"),
        (["--report", "r.txt", "--", "python", "app.py"], "must end in .json, .xml (JUnit) or .html"),
        (["--budget", "soon", "--", "python", "app.py"], "is not a duration"),
        (["--env", "BANK", "--", "python", "app.py"], "write it as NAME=TEXT"),
    ],
)
def test_mistakes_are_reported_before_anything_runs(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["campaign", *words])

    assert result.exit_code == 2
    assert told in " ".join(result.output.split())
    assert list(tmp_path.iterdir()) == []


def run(directory: Path, *words: str) -> subprocess.Popen[str]:
    (directory / "app.py").write_text(APP)
    return subprocess.Popen(
        [sys.executable, "-m", "xs2a_sandbox", "campaign", *words, "--", sys.executable, "app.py"],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.mark.slow
def test_an_interrupted_campaign_prints_how_to_continue(tmp_path: Path) -> None:
    (tmp_path / "waits").touch()
    campaign = run(tmp_path, "--choose", "reset")
    assert campaign.stdout
    assert campaign.stdout.readline().startswith("1 call of 1 operation, 1 fault; about ")
    wait_until(lambda: (tmp_path / "waits").read_text() == "waiting\n")
    campaign.send_signal(signal.SIGINT)
    output = campaign.communicate(timeout=10 * DEADLINE)[0]
    assert campaign.returncode == 130
    assert output.splitlines()[0] == "stopped; run the same command with --resume to continue"
    (tmp_path / "waits").unlink()

    again = run(tmp_path, "--choose", "reset", "--resume")
    assert "1 fault tried" in again.communicate(timeout=10 * DEADLINE)[0]
    assert again.returncode == 0


PAYS_AGAIN = f"""
import json, os, urllib.request
body = {{"debtorAccount": {{"iban": "AT459880000010204711"}}, "instructedAmount": {{"amount": "1", "currency": "EUR"}}}}
body |= {{"creditorAccount": {{"iban": "AT379821100040023757"}}, "creditorName": "N", "endToEndIdentification": "E-1"}}
headers = {{"X-Request-ID": "{uuid4()}", "PSU-IP-Address": "192.0.2.1", "Content-Type": "application/json"}}
url = os.environ["BANK"] + "/v1/payments/sepa-credit-transfers"
for _ in range(2):
    try:
        urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()
        break
    except Exception:
        headers["X-Request-ID"] = "{uuid4()}"
"""


def test_all_reports_contain_the_same_working_replay_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pays again.py").write_text(PAYS_AGAIN)
    words = ["--env", "BANK={url}", "--to", "my campaign", "--choose", "reset, after"]
    reports = ["--report", "r.html", "--report", "r.xml"]
    app = ["--", sys.executable, "pays again.py"]
    result = CliRunner().invoke(cli, ["campaign", *words, *reports, *app])
    assert result.exit_code == 1, result.output

    (replay,) = re.findall("replay: (.+)", result.output)
    (file,) = Path("my campaign/findings").glob("*.yaml")
    assert yaml_reader.read(file).value["replay"] == replay
    assert re.findall("</summary><code>(.+)</code>", html.unescape(Path("r.html").read_text())) == [replay]
    assert re.findall("replay: ([^<]+)", html.unescape(Path("r.xml").read_text())) == [replay]

    name, *again = shlex.split(replay)
    assert name == "xs2a-sandbox"
    result = CliRunner().invoke(cli, again)
    assert result.exit_code == 1, result.output
    assert "payments: The app made 2 payments with the end-to-end identification E-1." in result.output
    assert re.findall("replay: (.+)", result.output) == [replay]


@pytest.mark.parametrize(("is_reached", "outcome"), [(True, "0 findings"), (False, "not reached")])
def test_verbose_prints_a_line_for_each_fault(
    is_reached: bool, outcome: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = FaultResult(InjectedFault("reset", "consent-status", 2), None, is_reached=is_reached)
    state = CampaignState(3, 80, 1, 125.0, result)

    CampaignProgress("trying faults").tell(state)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(Verbosity, "current", classmethod(lambda cls: cls.VERBOSE))
    CampaignProgress("trying faults").tell(state)

    assert capsys.readouterr().err == f"3 of 80, 0:02:05 left: consent-status 2: reset, before: {outcome}\n"
