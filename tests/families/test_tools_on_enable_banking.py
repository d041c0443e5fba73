"""The tools of the sandbox work with enable-banking: checks, console, comparison, recording and campaign."""

import asyncio
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

import pytest
import requests

from tests.console.browser import Browser
from tests.families.enable_banking import BACK, BANK, EVERYDAY, App, in_days, payment, sign
from tests.support.recorded_bank.process import SandboxProcess, stopping
from tests.support.serving import served
from xs2a_sandbox.clock import REAL
from xs2a_sandbox.compare.comparison import Comparison, Step
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.features.authoring.lint import check
from xs2a_sandbox.features.campaign.campaign import Campaign
from xs2a_sandbox.features.campaign.command import Command
from xs2a_sandbox.features.campaign.kept_results import ResultsFile
from xs2a_sandbox.features.pytest.server_process import Process
from xs2a_sandbox.http import Headers, Request, Response, to_json
from xs2a_sandbox.http.exchange import Exchange


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(dialect="enable-banking", state="memory:", confdir=tmp_path)


def test_it_lints_clean(settings: Settings) -> None:
    assert [str(problem) for problem in check(settings)] == []


def test_the_console_decides_sessions_and_shows_payments(settings: Settings, tmp_path: Path) -> None:
    browser = Browser(tmp_path, build(settings)).sign_in()
    app = App(browser.app)
    session = app.connect(EVERYDAY)["session_id"]
    assert "AUTHORIZED" in browser.page(f"/_sandbox/console/bank/consents/{session}")
    browser.page(f"/_sandbox/console/bank/consents/{session}", {"event": "withdrawn by the customer"}, status=303)
    assert app.get(f"/sessions/{session}").json()["status"] == "REVOKED"
    page = browser.page(f"/_sandbox/console/bank/payments/{app.pay()}")
    assert ("Payment: ACSC" in page, "30.00 EUR to Torihalli" in page) == (True, True)
    assert browser.page("/_sandbox/").count("/payments") > 0


def test_a_comparison_puts_the_ids_of_the_other_side_into_what_follows(settings: Settings) -> None:
    bank, other = build(settings), build(settings)
    exchanges: list[Exchange] = []

    async def keep(request: Request) -> Response:
        response = await bank.answer(request)
        exchanges.append(Exchange.of(request, response, "https://bank.example", REAL.now(), 1.0))
        return response

    def send(method: str, path: str, data: object = None) -> Any:
        headers = Headers([("Content-Type", "application/json"), ("Authorization", f"Bearer {sign()}")])
        body = b"" if data is None else to_json(data)
        return json.loads(asyncio.run(keep(Request(method, path, headers, body, host="bank.example"))).body)

    paid = send("POST", "/payments", payment())
    send("GET", f"/payments/{paid['payment_id']}")
    steps = [
        Step(one.target, Request(one.method, one.target, one.headers, one.body), one, one.status) for one in exchanges
    ]
    result = asyncio.run(Comparison(bank.interface, bank.schemas, other.answer, None).play(steps))
    assert [one.verdict for one in result.compared] == ["same", "same"], [one.differences for one in result.compared]


@dataclass
class RecordedApp:
    """An app that connects, reads and pays. Customers authorise at `pages`; without them their `codes` are known."""

    api: str
    pages: str | None
    codes: list[str] = field(default_factory=list)
    answers: list[requests.Response] = field(default_factory=list)

    def call(self, method: str, path: str, **sent: Any) -> Any:
        headers = {"Authorization": f"Bearer {sign()}"}
        answer = requests.request(method, self.api + path, headers=headers, timeout=30, **sent)
        self.answers.append(answer)
        return answer.json()

    def approve(self, url: str) -> dict[str, str]:
        target = f"{url}&decide=approve"
        while not target.startswith(BACK):
            page = requests.get(target, allow_redirects=False, timeout=30)
            target = urljoin(url, page.headers["Location"])
        return dict(parse_qsl(urlsplit(target).query))

    def walk(self) -> "RecordedApp":
        wanted = {"aspsp": BANK, "state": "abc", "redirect_url": BACK, "access": {"valid_until": in_days(80)}}
        self.call("GET", "/aspsps?country=FI")
        started = self.call("POST", "/auth", json=wanted)
        if self.pages:
            self.codes.append(self.approve(started["url"])["code"])
        session = self.call("POST", "/sessions", json={"code": self.codes[0]})
        uid = session["accounts"][0]["uid"]
        self.call("GET", f"/accounts/{uid}/balances")
        key = self.call("GET", f"/accounts/{uid}/transactions")["continuation_key"]
        self.call("GET", f"/accounts/{uid}/transactions?continuation_key={key}")
        paid = self.call("POST", "/payments", json=payment())
        if self.pages:
            self.approve(paid["url"])
        self.call("GET", f"/payments/{paid['payment_id']}")
        self.call("GET", f"/accounts/{uid}/balances")
        return self


@dataclass
class Recording:
    home: Path
    app: RecordedApp


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    home = tmp_path_factory.mktemp("recorded")
    with served(home / "bank", "--dialect", "enable-banking") as bank:
        flags = ("--dialect", "enable-banking", "--bank", bank.direct, "--to", "rec")
        recorder = SandboxProcess(home, "record", *flags, confdir=home / "conf")
        with stopping(recorder):
            app = RecordedApp(f"http://127.0.0.1:{recorder.direct_port}", bank.direct).walk()
            assert recorder.stop() == 0, recorder.output
    return Recording(home, app)


def test_a_recording_replays_without_the_bank(recording: Recording) -> None:
    flags = ("--dialect", "enable-banking", "--cassettes", str(recording.home / "rec" / "cassettes"))
    replay = SandboxProcess(recording.home / "replay", "serve", *flags, confdir=recording.home / "conf")
    with stopping(replay):
        again = RecordedApp(f"http://127.0.0.1:{replay.direct_port}", None, recording.app.codes).walk().answers
    assert [answer.status_code for answer in again] == [answer.status_code for answer in recording.app.answers]
    assert {answer.headers["X-Sandbox-Source"] for answer in again} == {"rule"}
    amounts = [answer.json()["balances"][0]["balance_amount"]["amount"] for answer in (again[3], again[-1])]
    assert amounts == ["1874.15", "1844.15"]


def test_nobody_is_in_a_redacted_recording(recording: Recording) -> None:
    texts = "".join(file.read_text() for file in (recording.home / "rec").rglob("*") if file.is_file())
    assert [text in texts for text in ("Aino", EVERYDAY, sign()[:80])] == [False, False, False]


APP = f"""
import os
import sys
from pathlib import Path
from urllib.parse import parse_qsl, urljoin, urlsplit

import requests

sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.families.enable_banking import BACK, BANK, in_days, payment, sign

bank, kept = os.environ["XS2A_SANDBOX_URL"], Path(os.environ["XS2A_SANDBOX_RUN_DIR"], "uid")


def ask(method, path, **sent):
    headers = {{"Authorization": "Bearer " + sign()}}
    return requests.request(method, bank + path, headers=headers, timeout=20, allow_redirects=False, **sent)


def approve(target):
    return requests.get(target, {{"decide": "approve"}}, allow_redirects=False, timeout=20).headers["Location"]
"""
PAYS = """
def pay():
    try:
        made = ask("POST", "/payments", json=payment()).json()
    except (OSError, ValueError):
        return None
    approve(made["url"])
    return ask("GET", "/payments/" + made["payment_id"]).json()["status"]


pay() or pay()
"""
READS = """
if not kept.exists():
    access = {"valid_until": in_days(80)}
    url = ask("POST", "/auth", json={"aspsp": BANK, "state": "a", "redirect_url": BACK, "access": access}).json()["url"]
    back = requests.get(urljoin(url, approve(url)), allow_redirects=False, timeout=20).headers["Location"]
    code = dict(parse_qsl(urlsplit(back).query))["code"]
    kept.write_text(ask("POST", "/sessions", json={"code": code}).json()["accounts"][0]["uid"])
sys.exit(ask("GET", "/accounts/" + kept.read_text() + "/balances").status_code != 200)
"""


@pytest.mark.parametrize(
    ("app", "choose", "found"),
    [
        (PAYS, "reset", {"create-payment 1: reset, before": [], "create-payment 1: reset, after": ["payments"]}),
        # Neither the request nor its token names the session. Only the id of the account leads to it.
        (READS, "expires", {"account-balances 1: consent expires, before": ["consent"]}),
    ],
    ids=["pays again after a lost answer", "keeps an ended session"],
)
def test_a_campaign_finds_an_app_that(
    app: str, choose: str, found: dict[str, list[str]], settings: Settings, tmp_path: Path
) -> None:
    process = Process(tmp_path / "conf", ("--dialect", "enable-banking"))
    process.start()
    try:
        campaign = Campaign(
            Command((sys.executable, "-c", APP + app), {}, tmp_path),
            build(settings).interface,
            tmp_path / "scratch",
            url=process.direct,
            confdir=process.confdir,
            slow="10ms",
            choose=(choose,),
        )
        campaign.scratch.mkdir()
        results = campaign.run(ResultsFile(campaign.scratch / "results.jsonl", {}, False))
    finally:
        process.stop()
    tried = {str(one.fault): [mistake.oracle for mistake in one.findings] for one in results.results}
    assert found.items() <= tried.items()
    assert {fault for fault in tried if tried[fault]} == {fault for fault in found if found[fault]}
