"""A bank of UK Open Banking is recorded. The recording replays, and compares without differences."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from click.testing import CliRunner

from tests.families.test_uk_open_banking import AISP, APP, BILLS, JWS, PISP, initiation, link_for
from tests.support.recorded_bank.process import SandboxProcess, stopping
from tests.support.serving import served
from xs2a_sandbox.cli.main import cli

ORDER = initiation(DebtorAccount={"SchemeName": "UK.OBIE.IBAN", "Identification": BILLS})
INTERACTION = "93bac548-d2de-4546-b106-880a5018460d"


@dataclass
class App:
    """An app that reads accounts and pays. Customers authorise at `pages`; without them their `codes` are known."""

    api: str
    pages: str | None
    codes: list[str] = field(default_factory=list)
    answers: list[requests.Response] = field(default_factory=list)

    def call(self, method: str, path: str, token: str = "", **sent: Any) -> Any:
        headers = {"x-fapi-interaction-id": INTERACTION}
        if token:
            headers |= {"Authorization": f"Bearer {token}", "x-jws-signature": JWS}
        answer = requests.request(method, self.api + path, headers=headers, timeout=30, **sent)
        self.answers.append(answer)
        return answer.json()

    def get_token(self, **form: str) -> str:
        form = {"client_id": "tpp", "client_secret": "secret", **form}
        token: str = self.call("POST", "/token", data=form)["access_token"]
        return token

    def authorise(self, consent: str, scope: str) -> str:
        if self.pages:
            link = {**link_for(consent, scope), "decide": "approve"}
            page = requests.get(f"{self.pages}/sca/auth", link, allow_redirects=False, timeout=30)
            place = f"{self.pages}/sca/{page.headers['Location']}"
            back = requests.get(place, allow_redirects=False, timeout=30).headers["Location"]
            code = parse_qs(urlsplit(back).query)["code"][0]
            self.codes.append(code)
        else:
            code = self.codes.pop(0)
        return self.get_token(grant_type="authorization_code", code=code, redirect_uri=APP)

    def walk(self) -> "App":
        own = self.get_token(grant_type="client_credentials", scope="accounts")
        data = {"Permissions": ["ReadAccountsDetail", "ReadBalances", "ReadTransactionsDetail"]}
        made = self.call("POST", f"{AISP}/account-access-consents", own, json={"Data": data, "Risk": {}})
        consent = made["Data"]["ConsentId"]
        reader = self.authorise(consent, "accounts")
        self.call("GET", f"{AISP}/account-access-consents/{consent}", own)
        account = self.call("GET", f"{AISP}/accounts", reader)["Data"]["Account"][0]["AccountId"]
        self.call("GET", f"{AISP}/accounts/{account}/balances", reader)
        self.call("GET", f"{AISP}/accounts/{account}/transactions", reader)
        own = self.get_token(grant_type="client_credentials", scope="payments")
        sent: dict[str, Any] = {"Data": {"Initiation": ORDER}, "Risk": {}}
        consent = self.call("POST", f"{PISP}/domestic-payment-consents", own, json=sent)["Data"]["ConsentId"]
        payer = self.authorise(consent, "payments")
        sent = {"Data": {"ConsentId": consent, "Initiation": ORDER}, "Risk": {}}
        paid = self.call("POST", f"{PISP}/domestic-payments", payer, json=sent)
        self.call("GET", f"{PISP}/domestic-payments/{paid['Data']['DomesticPaymentId']}", own)
        self.call("GET", f"{AISP}/accounts/{account}/balances", reader)
        return self


@dataclass
class Recording:
    home: Path
    app: App
    is_redacted: bool

    @property
    def conf(self) -> Path:
        return self.home / "conf"

    def replay(self) -> list[requests.Response]:
        flags = ("--dialect", "obie-4.0", "--cassettes", str(self.home / "rec" / "cassettes"))
        replay = SandboxProcess(self.home / "replay", "serve", *flags, confdir=self.conf)
        with stopping(replay):
            return App(f"http://127.0.0.1:{replay.direct_port}", None, [*self.app.codes]).walk().answers


@pytest.fixture(scope="module", params=[(), ("--no-redact",)], ids=["redacted", "as it was"])
def recording(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Recording:
    home = tmp_path_factory.mktemp("recorded")
    with served(home / "bank", "--dialect", "obie-4.0") as bank:
        flags = ("--dialect", "obie-4.0", "--bank", bank.direct, "--to", "rec", *request.param)
        recorder = SandboxProcess(home, "record", *flags, confdir=home / "conf")
        with stopping(recorder):
            app = App(f"http://127.0.0.1:{recorder.direct_port}", bank.direct).walk()
            assert recorder.stop() == 0, recorder.output
    return Recording(home, app, is_redacted=not request.param)


def test_it_replays_without_the_bank(recording: Recording) -> None:
    again = recording.replay()
    assert [answer.status_code for answer in again] == [answer.status_code for answer in recording.app.answers]
    balances = [answer.json()["Data"]["Balance"][0]["Amount"]["Amount"] for answer in (again[5], again[-1])]
    assert balances == ["1230.00", "1220.00"]
    assert {answer.headers["X-Sandbox-Source"] for answer in again} == {"rule"}
    assert again[4].headers["x-fapi-interaction-id"] == INTERACTION


def test_nobody_is_in_a_redacted_recording(recording: Recording) -> None:
    texts = "".join(file.read_text() for file in (recording.home / "rec").rglob("*") if file.is_file())
    assert [text in texts for text in ("Grace", BILLS)] == [not recording.is_redacted] * 2


def test_a_comparison_without_its_rules_says_what_to_do(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(recording.home)
    flags = ("--offline", "rec", "--dialect", "obie-4.0", "--confdir", str(recording.conf))
    run = CliRunner().invoke(cli, ["compare", *flags])
    assert (run.exit_code, "xs2a-sandbox compare rec/cassettes --offline rec" in run.output) == (1, True), run.output


def test_its_rules_compare_without_differences(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(recording.home)
    flags = ("--offline", "rec", "--dialect", "obie-4.0", "--confdir", str(recording.conf))
    run = CliRunner().invoke(cli, ["compare", "rec/cassettes", *flags])
    assert (run.exit_code, f"{len(recording.app.answers)} same, 0 differ" in run.output) == (0, True), run.output
