"""The files of the page are a bank with its own interface, and with money, pages and campaigns."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from xs2a_sandbox.bank.loading import interface_and_schemas
from xs2a_sandbox.config import settings
from xs2a_sandbox.features.authoring.lint import check
from xs2a_sandbox.features.campaign.campaign import Campaign
from xs2a_sandbox.features.campaign.command import Command
from xs2a_sandbox.features.campaign.kept_results import ResultsFile
from xs2a_sandbox.features.pytest.server_process import Process

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "your-own-bank.md").read_text()
MOST = 150
"""The maximum number of YAML lines for this bank."""
BACK = "https://app.example/back"
ORDER = {"amount": "12.50", "to": {"name": "Tide", "iban": "IE64IRCE92050112345678"}}


def texts() -> dict[str, str]:
    """Return the contents of the files on the page by file name: each block follows the name of its file."""
    found = re.findall(r"(.*?)^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return {re.findall(r"`(cassettes/pebble/\S+\.yaml)`", before)[-1]: text for before, text in found}


@pytest.fixture(scope="module")
def pebble(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("pebble")
    for name, text in texts().items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    (directory / settings.FILE).write_text("dialect: pebble\n")
    return directory


@pytest.fixture(scope="module")
def bank(pebble: Path) -> Iterator[Process]:
    process = Process(pebble / "conf")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(pebble)
        process.start()
    yield process
    process.stop()


def ask(bank: Process, path: str, key: str | None = None, **body: Any) -> requests.Response:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return requests.post(f"{bank.direct}/{path}", json=body, headers=headers, timeout=20)


def decide(page: str, **account: str) -> requests.Response:
    """Act as the customer: log in, choose, and approve with the code."""
    browser = requests.Session()
    steps: list[dict[str, str]] = [{"customer": "una", "password": "shingle"}, account, {"otp": "246810"}]
    shown = browser.get(page, timeout=20)
    for fields in steps:
        assert shown.status_code == 200, shown.text
        hidden = dict(re.findall(r'name="(authorisation|nonce|step)" value="([^"]*)"', shown.text))
        answer = browser.post(shown.url, data={**hidden, **fields}, timeout=20, allow_redirects=False)
        if (target := answer.headers.get("Location", "")).startswith(BACK):
            break
        shown = browser.get(requests.compat.urljoin(shown.url, target), timeout=20)
    return answer


def test_the_bank_is_short_and_has_no_lint_problems(pebble: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(len(text.splitlines()) for text in texts().values()) <= MOST
    monkeypatch.chdir(pebble)
    assert [str(problem) for problem in check(settings.load({"state": "memory:"}, {}, pebble))] == []


def test_a_customer_allows_access_and_pays(bank: Process) -> None:
    made = ask(bank, "access/ask", to=["balances", "entries"]).json()
    query = f"&response_type=code&client_id=pebble-app&redirect_uri={BACK}&state=7"
    answer = decide(made["go"] + query, account="IE29AIBK93115212345678")
    code = parse_qs(urlsplit(answer.headers["Location"]).query)["code"][0]
    assert ask(bank, "access/look", access=made["access"]).json() == {"state": "given"}
    app = {"app": "pebble-app", "secret": "tide"}
    key = ask(bank, "key", by="code", code=code, back=BACK, **app).json()["key"]

    assert ask(bank, "pots/list", key).json() == {"pots": [{"pot": "pot-1", "name": "Everyday"}]}
    assert ask(bank, "pots/holds", key, pot="pot-1").json() == {"holds": "800.00 EUR"}

    order = ask(bank, "orders/give", back=BACK, **ORDER).json()
    decide(order["go"], account="IE29AIBK93115212345678")
    assert ask(bank, "orders/look", order=order["order"]).json() == {"state": "ACSC", "amount": "12.50"}
    assert ask(bank, "pots/holds", key, pot="pot-1").json() == {"holds": "787.50 EUR"}
    lines = ask(bank, "pots/lines", key, pot="pot-1").json()["lines"]
    assert [line["moved"] for line in lines] == ["-12.50 EUR", "-18.40 EUR"]


def test_a_request_without_a_key_is_refused(bank: Process) -> None:
    refused = ask(bank, "pots/list")
    assert (refused.status_code, refused.json()["oops"]) == (400, "bad-question")
    unknown = ask(bank, "orders/look", order="nobody")
    assert (unknown.status_code, unknown.json()["oops"]) == (404, "no-such-order")


APP = f"""
import json, os, urllib.request

def give():
    request = urllib.request.Request(
        os.environ["XS2A_SANDBOX_URL"] + "/orders/give", {str(ORDER).replace("'", '"')!r}.encode(),
        {{"Content-Type": "application/json"}},
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        return None

give() or give()
"""


def test_a_campaign_finds_a_duplicate_order(pebble: Path, bank: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(pebble)
    interface, _ = interface_and_schemas(settings.load({"state": "memory:"}, {}, pebble))
    campaign = Campaign(
        Command((sys.executable, "-c", APP), {}, pebble),
        interface,
        pebble / "scratch",
        url=bank.direct,
        confdir=bank.confdir,
        slow="10ms",
        choose=("give-order 1: reset",),
    )
    campaign.scratch.mkdir()
    results = campaign.run(ResultsFile(campaign.scratch / "results.jsonl", {}, False))
    assert {str(one.fault): [found.oracle for found in one.findings] for one in results.results} == {
        "give-order 1: reset, before": [],
        "give-order 1: reset, after": ["payments"],
    }


@pytest.mark.parametrize(
    ("path", "body", "why"),
    [
        ("orders/give", {"to": {}}, "amount must have a currency and an amount"),
        ("orders/give", {"amount": "1.00", "to": {"iban": 7}}, "iban must be text"),
        ("orders/give", {"amount": "1.00", "to": {"name": ["x"]}}, "name must be text"),
        ("access/ask", {"to": "balances"}, "the permissions of a consent must be a list of list, details, balances"),
        ("access/ask", {"to": ["all"]}, "the permissions of a consent must be a list of list, details, balances"),
        ("access/ask", {"until": "never"}, "until must be a date, such as 20"),
        ("access/ask", {"until": 7}, "until must be a date, such as 20"),
        ("access/ask", {"until": "2000-01-01"}, "until must not be before 20"),
    ],
)
def test_invalid_requests_are_refused_in_the_words_of_the_interface(
    bank: Process, path: str, body: dict[str, Any], why: str
) -> None:
    refused = ask(bank, path, **body)
    assert (refused.status_code, refused.json()["oops"]) == (400, "bad-question"), refused.text
    assert refused.json()["why"].startswith(why)
