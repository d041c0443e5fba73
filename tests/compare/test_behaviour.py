"""State sequences that occur on only one side, and the answers in each state."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from msgspec import structs

from tests.support.engine_client import bundled_engine
from tests.support.redirect_journey import TestBank, recorded_journey
from xs2a_sandbox.cassette.index import Index
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.compare.behaviour import BehaviourComparison, behaviour, chains
from xs2a_sandbox.http import Headers
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording.har_log import Recording

INDEX = Index(bundled_engine().interface)
BEGIN = datetime(2026, 11, 21, 9, tzinfo=UTC)
PAYMENT = "/v1/payments/sepa-credit-transfers"


def exchange(
    at: float, method: str, target: str, value: Any, status: int = 200, consent: str | None = None
) -> Exchange:
    headers = Headers([("Consent-ID", consent)] if consent else [])
    return Exchange(
        BEGIN + timedelta(seconds=at), 1.0, "https://bank.example", method, target, headers, b"", status, Headers(),
        json.dumps(value).encode(),
    )  # fmt: skip


def payment(id: str, *states: tuple[float, str]) -> list[Exchange]:
    (begin, first), *others = states
    made = exchange(begin, "POST", PAYMENT, {"paymentId": id, "transactionStatus": first})
    return [made, *(exchange(at, "GET", f"{PAYMENT}/{id}/status", {"transactionStatus": one}) for at, one in others)]


def consent(id: str, answer: int, state: str = "valid") -> list[Exchange]:
    return [
        exchange(0, "POST", "/v1/consents", {"consentId": id, "consentStatus": "received"}),
        exchange(1, "GET", f"/v1/consents/{id}", {"tppMessages": []} if answer >= 400 else {}, answer),
        exchange(9, "GET", f"/v1/consents/{id}/status", {"consentStatus": state}),
        exchange(10, "GET", "/v1/accounts", {}, 200, id),
    ]


def compared(then: list[Exchange], now: list[Exchange]) -> BehaviourComparison:
    return behaviour("then", "now", chains(then, INDEX), chains(now, INDEX))


def test_sequences_contain_durations_and_counts() -> None:
    one = payment("a", (0, "RCVD"), (41, "ACSP"), (50, "ACSP"))
    other = payment("b", (0, "RCVD"), (2, "RCVD"), (44.5, "ACSP"))
    (chain,) = chains([*one, *other], INDEX)

    assert str(chain) == "RCVD –41 to 44.5 s→ ACSP (2 ×)"
    assert chain.stays[0].answers == {"payment-status": {200}}


def test_equal_sequences_have_no_difference_regardless_of_ids_and_durations() -> None:
    then = [*payment("a", (0, "RCVD"), (41, "ACSP")), *consent("c", 200)]
    now = [*payment("b", (0, "RCVD"), (4, "ACSP")), *consent("d", 200)]

    assert compared(then, now).differences == ()


def test_a_sequence_that_only_one_side_has_is_reported_with_both() -> None:
    then, now = payment("a", (0, "RCVD"), (41, "ACSP")), payment("b", (0, "RCVD"), (4, "PATC"), (9, "RJCT"))
    differences = compared(then, now).differences

    assert [(one.kind, one.severity, one.place) for one in differences] == [
        ("chain", "high", "RCVD → ACSP"),
        ("chain", "high", "RCVD → PATC → RJCT"),
    ]
    assert {(one.then, one.now) for one in differences} == {
        ("RCVD –41 s→ ACSP (1 ×)", "RCVD –4 s→ PATC –5 s→ RJCT (1 ×)")
    }


def test_a_skipped_intermediate_state_is_not_severe() -> None:
    then, now = payment("a", (0, "RCVD"), (41, "ACSP")), payment("b", (0, "RCVD"), (4, "ACTC"), (9, "ACSP"))

    assert {one.severity for one in compared(then, now).differences} == {"low"}


def test_another_answer_in_the_same_state_is_a_difference() -> None:
    (one,) = compared(consent("a", 403), consent("b", 200)).differences

    assert (one.kind, one.severity, one.place) == (
        "answer",
        "high",
        "consent-content while received in received → valid",
    )
    assert (one.then, one.now) == ("403", "200")


def test_things_that_only_one_side_created_are_named_and_not_compared() -> None:
    made = compared(consent("a", 200), [*consent("b", 200), *payment("p", (0, "RCVD"))])

    assert (made.differences, made.alone) == ((), ("payment",))


def test_a_used_consent_is_valid_and_a_deleted_one_is_gone() -> None:
    asked, _, _, used = consent("a", 200)
    gone = exchange(20, "DELETE", "/v1/consents/a", None, 204)
    (chain,) = chains([asked, used, gone], INDEX)

    assert chain.states == ("received", "valid", "(deleted)")


def skipping(request: Any, response: Any) -> Any:
    return structs.replace(response, body=response.body.replace(b'"ACSP"', b'"ACFC"'))


@pytest.fixture
def recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return two recordings of the same flow. In the second one payments end in another state."""
    monkeypatch.chdir(tmp_path)

    async def record(name: str, bank: TestBank) -> None:
        tape = Recording(tmp_path / name, None, {"banks": ["https://bank.example"], "redacted": False})
        for step in await recorded_journey(bank):
            assert step.recorded
            await tape.add(step.recorded)
        tape.close()

    asyncio.run(record("then", TestBank("R")))
    asyncio.run(record("now", TestBank("b", skipping)))
    return tmp_path


def test_compare_reports_sequences_of_two_recordings_in_every_format(recordings: Path) -> None:
    files = [f"report.{form}" for form in ("json", "xml", "html")]
    flags = [flag for file in files for flag in ("--report", file)]
    done = CliRunner().invoke(cli, ["compare", "now", "--behaviour", "then", "--confdir", "conf", *flags])
    same = CliRunner().invoke(cli, ["compare", "then", "--behaviour", "then", "--confdir", "conf"])

    assert done.exit_code == 1, done.output
    assert "high chain  payment: RCVD → ACFC" in done.output
    made = json.loads(Path("report.json").read_text())["behaviour"]
    assert {one["place"] for one in made["differences"]} == {"RCVD → ACSP", "RCVD → ACFC"}
    assert [chain["thing"] for chain in made["chains"]["then"]] == ["consent", "payment", "authorisation"]
    suite = ElementTree.parse("report.xml").find("testsuite[@name='behaviour']")
    assert suite is not None
    assert suite.get("failures") == "2"
    assert "RCVD → ACFC" in Path("report.html").read_text()
    assert same.exit_code == 0, same.output
    assert "3 sequences of states then, 3 now, 0 differences of behaviour" in same.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--behaviour", "then"], "--behaviour without --bank compares two recordings"),
        ([], "or --behaviour RECORDING"),
    ],
)
def test_a_missing_argument_is_named(recordings: Path, arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(cli, ["compare", *arguments, "--confdir", "conf"])

    assert done.exit_code == 2
    assert message in done.output
