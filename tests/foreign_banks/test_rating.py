"""What `derive` says about a second journey: the requests of the recording with other values, and other mistakes."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.support.taping import tape, taped
from tests.support.writing import SCHEMAS
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.features.derive.rating import Rating
from xs2a_sandbox.features.derive.rehearsal import Rehearsed
from xs2a_sandbox.features.derive.unknown.learned_dialect import LearnedDialect, learn_dialect
from xs2a_sandbox.features.derive.unknown.recorded.seen import see
from xs2a_sandbox.features.derive.unknown.tried.other_values import invent_values
from xs2a_sandbox.http import body
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording.tape import Tape

ASK = {"customer": "anna.kim", "rights": ["BALANCE"], "days": "30"}
FORM = [("Content-Type", "application/x-www-form-urlencoded")]
LIMIT = {"code": "TOO_MUCH", "most": "5000.00"}


def ask(number: int, state: str) -> dict[str, Any]:
    return {"number": f"AK-26-00{number}", "state": state}


def record() -> Iterator[Exchange]:
    """Yield a journey of a customer who mistypes a PIN, and of one who does not exist."""
    yield taped("/asks", {"code": "NO_CUSTOMER"}, "POST", status=404, body=ASK | {"customer": "koi.nahi"}, at=1)
    yield taped("/asks", ask(1017, "OPEN"), "POST", status=201, body=ASK, at=2)
    page = "/page/AK-26-001017"
    yield taped(page, {"code": "WRONG_PIN"}, "POST", status=401, headers=FORM, body=b"user=neja&pin=0000", at=3)
    yield taped(page, ask(1017, "GIVEN"), "POST", headers=FORM, body=b"user=neja&pin=2718", at=4)
    yield taped("/asks/AK-26-001017", ask(1017, "GIVEN"), at=5)
    pay = {"ask": "AK-26-001017", "to": "DE89370400440532013000", "text": "Kaveri Books", "amount": "1250.00"}
    yield taped("/pay", LIMIT, "POST", status=422, body=pay | {"amount": "5000.01"}, at=6)
    yield taped("/pay", {"payment": "PA-26-004711", "amount": "1250.00"}, "POST", status=201, body=pay, at=7)
    yield taped("/pay/PA-26-004711", {"payment": "PA-26-004711", "amount": "1250.00"}, at=8)


def as_tape(entries: Sequence[Exchange]) -> Tape:
    places = tuple(f"tape, exchange {number}" for number in range(1, len(entries) + 1))
    return Tape(Path("tape"), tuple(entries), (None,) * len(entries), places)


@pytest.fixture(scope="module")
def learned() -> LearnedDialect:
    return learn_dialect("mine", as_tape(list(record())), SCHEMAS)


def sent(outcome: Rehearsed) -> Any:
    assert outcome.answer
    return body.read(outcome.answer.body).value


def test_the_recording_is_answered_as_recorded(learned: LearnedDialect) -> None:
    assert [outcome.unlike for outcome in learned.rehearsed] == [()] * 8


def test_another_customer_who_does_not_exist_is_not_known(learned: LearnedDialect) -> None:
    assert sent(learned.rated[0])["customer"] not in ("anna.kim", "koi.nahi")
    assert learned.rated[0].unlike == ("201 instead of 404",)


def test_a_mistake_that_the_dialect_accepts_does_not_spoil_what_follows(learned: LearnedDialect) -> None:
    assert learned.rated[2].unlike == ("200 instead of 401",)
    assert [outcome.unlike for outcome in learned.rated[3:]] == [()] * 5
    assert Rating.of(learned.rated) == Rating(6, 8)


def test_other_values_have_the_form_of_the_recorded_ones(learned: LearnedDialect) -> None:
    assert len(sent(learned.rated[1])["customer"]) < len("anna.kim")
    assert sent(learned.rated[1])["rights"] == ["BALANCE"]
    assert sent(learned.rated[1])["days"] == "30"
    payment = sent(learned.rated[6])
    assert payment["amount"] == "1125.00"
    assert sent(learned.rated[5])["amount"] == "6500.01"
    assert payment["to"] != "DE89370400440532013000"
    assert FORMATS["iban"](payment["to"])
    assert payment["text"] not in ("", "Kaveri Books")


def record_wrong_name() -> Iterator[Exchange]:
    """Yield a journey whose refused name is shorter than the accepted one, which is not why it was refused."""
    named = ASK | {"customer": "anna.kimura"}
    yield taped("/asks", {"code": "BAD_NAME"}, "POST", status=422, body=ASK | {"customer": "koi.nahi"}, at=1)
    yield taped("/asks", ask(1017, "OPEN"), "POST", status=201, body=named, at=2)
    yield taped("/asks/AK-26-001017", ask(1017, "OPEN"), at=3)
    yield taped("/asks/AK-26-001017/give", ask(1017, "GIVEN"), "POST", body={"word": "yes"}, at=4)
    yield taped("/asks/AK-26-001017", ask(1017, "GIVEN"), at=5)


def test_a_condition_that_spoils_the_second_journey_is_dropped() -> None:
    spoilt = learn_dialect("mine", as_tape(list(record_wrong_name())), SCHEMAS)
    assert [bool(outcome.unlike) for outcome in spoilt.rated] == [True, False, False, False, False]
    assert any("bad-name; the condition that was found also refuses" in line.lower() for line in spoilt.unknown)


def test_a_low_rating_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, learned: LearnedDialect) -> None:
    tape(tmp_path / "tape", *record(), redacted=None)
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(cli, ["derive", "--dialect", "mine", "tape", "--confdir", "conf"]).output
    first = "A second journey, with other customers, amounts, texts and ids, would get the right answer to about 6 of 8"
    assert f"{first} requests\nThis is low: one wrong rule can spoil a whole journey." in told
    assert "xs2a-sandbox derive --dialect mine --check SECOND" in told
    assert f"# {first}" in (tmp_path / "cassettes" / "mine" / "dialect.yaml").read_text()


def test_a_high_rating_stands_alone() -> None:
    (line,) = Rating(8, 10).lines("mine")
    assert line.endswith("would get the right answer to about 8 of 10 requests")


def test_a_redacted_recording_has_other_words() -> None:
    """Except for those of the vocabulary, words have pseudonyms, which no app sends."""
    hidden = [("X-Session", "dropped")]
    entries = [
        taped("/gm/wqnzxv/phone", None, "POST", headers=hidden, body={"rights": ["XKQZW", "BALANCE"]}),
        taped("/gm/v3/bhugtan", None, "POST", headers=hidden, body={}),
    ]
    seen = see(as_tape(entries))
    other = invent_values(seen, dict.fromkeys(seen, True)).accepted
    assert {text for text, new in other.items() if text != new} == {"wqnzxv", "XKQZW"}
