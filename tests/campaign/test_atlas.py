"""The banks of the atlas: which runs are made for them, and what the reports say about them."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.campaign.results_made_up import RESULTS
from tests.campaign.seeing import call
from xs2a_sandbox.bank.loading import interface_and_schemas, read_quirks
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.config import Settings
from xs2a_sandbox.config.known_banks import KnownBank, known_banks
from xs2a_sandbox.features.campaign.atlas import AtlasBank, name_runs, plan_atlas
from xs2a_sandbox.features.campaign.campaign import FaultResult, Results
from xs2a_sandbox.features.campaign.judge import AppFinding
from xs2a_sandbox.features.campaign.order import QUIRKS
from xs2a_sandbox.features.campaign.plan import Plan
from xs2a_sandbox.features.campaign.reports.banks import bank_outcomes, banks_summary
from xs2a_sandbox.features.campaign.reports.html import as_html
from xs2a_sandbox.features.campaign.reports.json_report import as_json
from xs2a_sandbox.features.campaign.reports.junit import write as as_junit
from xs2a_sandbox.features.campaign.reports.text import as_text
from xs2a_sandbox.features.campaign.seen import Seen
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault

INTERFACE, _ = interface_and_schemas(Settings(state="memory:"))
READS = (call("account-list"), call("account-balances"), call("account-transactions"))


def atlas(**banks: tuple[str, ...]) -> tuple[Plan, tuple[AtlasBank, ...]]:
    known = {name: KnownBank(name.title(), "berlin-group-1.3", quirks, "") for name, quirks in banks.items()}
    return plan_atlas(INTERFACE, Seen(READS, Counter()), read_quirks(), known)


def test_a_bank_with_several_quirks_has_a_run_of_its_own_and_others_share_that_of_their_quirk() -> None:
    made, banks = atlas(
        one=("dates-null",),
        two=("ids-null", "balances-null"),
        still=("payees-not-possible",),
        half=("payees-not-possible", "ids-null"),
    )
    orders = {planned.fault.name: planned.order for planned in made.faults}

    assert orders["two"] == {QUIRKS: ["ids-null", "balances-null"]}
    assert orders["dates-null"] == {QUIRKS: ["dates-null"]}
    assert orders.keys().isdisjoint({"one", "still", "half", "payees-not-possible"})
    runs = {bank.name: bank.fault and bank.fault.name for bank in banks}
    assert runs == {"half": "ids-null", "one": "dates-null", "still": None, "two": "two"}


def test_every_bank_of_the_atlas_that_the_app_can_notice_has_a_run() -> None:
    made, banks = plan_atlas(INTERFACE, Seen(READS, Counter()), read_quirks(), known_banks())
    planned = {one.fault for one in made.faults}

    assert len(banks) == len(known_banks())
    assert {bank.fault for bank in banks} - {None} <= planned
    assert "n26" in {fault.name for fault in planned}


def test_a_bank_is_chosen_together_with_its_quirks() -> None:
    _, banks = atlas(one=("dates-null",), two=("ids-null", "balances-null"))

    assert list(name_runs(["two", "one", "pending-"], banks)) == [
        "two", "ids-null", "balances-null", "dates-null", "dates-null", "pending-",
    ]  # fmt: skip


def outcome(name: str, *texts: str, quirks: Sequence[str] = ()) -> FaultResult:
    found = tuple(AppFinding("quirk", text) for text in texts)
    return FaultResult(InjectedFault(name), {QUIRKS: quirks or [name]}, found, (len(found), None), 1.0)


BANKS = (
    AtlasBank("calm", "Calm Bank", ("ids-null",)),
    AtlasBank("idle", "Idle Bank", ()),
    AtlasBank("late", "Late Bank", ("dates-null",)),
    AtlasBank("mixed", "Mixed Bank", ("ids-null", "balances-null")),
    AtlasBank("odd", "Odd Bank", ("ids-null", "iban-missing")),
    AtlasBank("strict", "Strict Bank", ("balances-null", "ids-null")),
)
TRIED = (
    outcome("ids-null"),
    outcome("balances-null", "no\nbalance"),
    outcome("iban-missing"),
    outcome("mixed", "no balance", quirks=("ids-null", "balances-null")),
    outcome("odd", "both", quirks=("ids-null", "iban-missing")),
)
ATLAS: Results = Results("pytest", {}, TRIED, (), 9.0, banks=BANKS)


def test_the_banks_at_which_the_app_fails_are_named_with_the_reason_and_the_first_example() -> None:
    mixed, odd, calm = bank_outcomes(ATLAS)
    assert (mixed.bank.name, mixed.fails, mixed.why) == ("mixed", True, "balances-null")
    assert (odd.bank.name, odd.fails, odd.why) == ("odd", True, "only together: ids-null, iban-missing")
    assert (calm.bank.name, calm.fails) == ("calm", False)
    assert list(banks_summary(ATLAS)) == [
        "The app would fail at 2 of the 6 banks of the atlas.",
        "1 bank without findings",
        "1 bank whose quirks change nothing for this app",
        "2 banks not tried",
    ]
    assert bank_outcomes(RESULTS) == []


def test_the_reports_show_the_banks_and_explain_each_mistake_once() -> None:
    folder = Path("findings")
    text, page, cases = as_text(ATLAS, folder), as_html(ATLAS, folder), as_junit(ATLAS, folder)
    document = json.loads(as_json(ATLAS, folder))

    assert "  mixed  Mixed Bank: balances-null\n           quirk: no balance\n" in text
    assert "\nmixed  (" not in text, "the quirk explains it"
    assert "\nodd  (exit status 1" in text
    assert "The bank is like odd, with the quirks ids-null, iban-missing, during the whole run." in text
    assert "Mixed Bank <small>mixed</small>" in page
    assert '<testcase classname="banks of the atlas" name="mixed">' in cases
    assert document["banks"]["mixed"] == {
        "bank": "Mixed Bank",
        "quirks": ["ids-null", "balances-null"],
        "fails": True,
        "why": "balances-null",
        "example": "quirk: no balance",
    }
    assert document["banks"]["strict"]["fails"] is None
    assert [one["name"] for one in document["faults"] if one["findings"]] == ["balances-null", "mixed", "odd"]


@pytest.mark.parametrize(
    ("words", "named"), [(["--url", "http://127.0.0.1:1"], "--url"), (["--only", __file__], "--only")]
)
def test_the_atlas_needs_sandboxes_of_its_own(words: list[str], named: str) -> None:
    result = CliRunner().invoke(cli, ["campaign", "--atlas", *words, "--", "true"])

    assert result.exit_code == 2
    assert f"cannot be used with {named}" in result.stderr


APP = """
import json, os, urllib.request
def ask(path, **headers):
    request = urllib.request.Request(os.environ["XS2A_SANDBOX_URL"] + path, headers=headers | {
        "X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "PSU-IP-Address": "192.0.2.1",
        "Consent-ID": "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"})
    return json.loads(urllib.request.urlopen(request).read())
account = ask("/v1/accounts")["accounts"][0]["resourceId"]
booked = ask(f"/v1/accounts/{account}/transactions?bookingStatus=booked")["transactions"]["booked"]
sorted(entry["bookingDate"] for entry in booked)  # a bug: a bank may have no dates
for entry in booked:
    str.upper(entry["transactionId"])  # a bug: a bank may have no ids
"""
"""An app that fails without dates and without ids."""


@pytest.mark.slow
def test_an_interrupted_atlas_resumes_and_names_the_banks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text(APP)
    words = ["campaign", "--atlas", "--choose", "trade-republic", "--choose", "norwegian", "--report", "atlas.json"]
    command = ["--", sys.executable, "-B", "app.py"]
    first = CliRunner().invoke(cli, [*words, *command])
    assert first.exit_code == 1, first.stderr
    assert "faults; about " in first.stderr

    results = tmp_path / "campaign" / "results.jsonl"
    kept = results.read_text().splitlines(keepends=True)
    results.write_text("".join(kept[:3]))
    again = CliRunner().invoke(cli, [*words, "--resume", *command])
    assert ", 2 of them tried before; about " in again.stderr
    assert len(results.read_text().splitlines()) == len(kept)

    banks = json.loads((tmp_path / "atlas.json").read_text())["banks"]
    assert {name for name, bank in banks.items() if bank["fails"]} == {"trade-republic"}
    assert banks["trade-republic"]["why"] == "ids-null"
    assert banks["norwegian"]["fails"] is False
    finding = tmp_path / "campaign" / "findings" / "trade-republic.yaml"
    replayed = CliRunner().invoke(cli, ["campaign", "--only", str(finding), *command])
    assert "The bank is like trade-republic, with the quirks paging-same-parameters" in replayed.stdout
