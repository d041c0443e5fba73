"""A long recording is learned from some of its exchanges, which show everything that it shows."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.authoring import differing_bank
from tests.authoring.differing_bank import App
from tests.support.taping import tape
from tests.support.writing import SCHEMAS
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.features.derive.derived_dialect import derive_dialect
from xs2a_sandbox.features.derive.learning.recognised_exchange import RecognisedExchange, recognise_exchanges
from xs2a_sandbox.features.derive.representative import ENOUGH, find_representative
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording.tape import read_tape


def record(directory: Path, least: int) -> list[Exchange]:
    """Return the exchanges of repeated flows, and of one flow in the middle that is never repeated."""
    app = App(differing_bank.engine(differing_bank.write(directory)))
    while len(app.entries) < least:
        app.reads_accounts()
        app.pays("0.10")
        app.declines()
        app.errs()
        if least // 2 - 50 < len(app.entries) < least // 2:
            app.cancels()
    return app.entries


def recognised(entries: list[Exchange]) -> list[RecognisedExchange]:
    interface = layers.read([[bundled("cassettes") / "xs2a-1.84"]], SCHEMAS, NAMED)
    return recognise_exchanges([f"a, exchange {number}" for number in range(len(entries))], entries, interface)


def chosen(exchanges: list[RecognisedExchange]) -> list[RecognisedExchange]:
    return [exchanges[position] for position in find_representative(exchanges)]


def shown(exchanges: list[RecognisedExchange]) -> set[tuple[str | None, int]]:
    return {(one.operation.id if one.operation else None, one.entry.status) for one in exchanges}


def test_a_short_recording_is_learned_completely(tmp_path: Path) -> None:
    exchanges = recognised(record(tmp_path, 100)[:ENOUGH])
    assert chosen(exchanges) == exchanges


def test_a_long_recording_is_learned_from_as_few_exchanges_as_one_of_half_its_length(tmp_path: Path) -> None:
    half, whole = (recognised(record(tmp_path / str(least), least)) for least in (ENOUGH + 100, 2 * ENOUGH + 200))
    few = chosen(whole)
    assert len(few) <= len(chosen(half)) < ENOUGH
    assert shown(few) == shown(whole)


def test_the_history_of_a_thing_is_learned_completely_or_not_at_all(tmp_path: Path) -> None:
    exchanges = recognised(record(tmp_path, ENOUGH + 100))
    few = chosen(exchanges)
    for id in {id for one in few for id in one.made.values()}:
        assert [one.place for one in few if id in one.entry.target] == [
            one.place for one in exchanges if id in one.entry.target
        ]


def read_for_long(directory: Path, *, limited: bool = False) -> list[Exchange]:
    """Return the exchanges of an app that reads two things in turn with one consent, and then deletes the consent.

    With `limited`, the bank refuses the last read.
    """
    app = App(differing_bank.engine(differing_bank.write(directory)))
    consent = app.reads_accounts(delete=False)
    while len(app.entries) < 2 * ENOUGH:
        app.ask("GET", "/v1/accounts", Consent_ID=consent)
        app.ask("GET", f"/v1/accounts/{differing_bank.IBAN}/balances", Consent_ID=consent)
    if limited:
        app.entries[-1] = replace(app.entries[-1], status=429)
    app.ask("DELETE", f"/v1/consents/{consent}")
    app.ask("GET", "/v1/accounts", Consent_ID=consent)
    return app.entries


def test_reads_that_an_app_repeats_are_left_out_of_a_history(tmp_path: Path) -> None:
    exchanges = recognised(read_for_long(tmp_path))
    few = chosen(exchanges)
    assert len(few) < 50
    assert shown(few) == shown(exchanges)
    assert [one.place for one in few if not one.reads] == [one.place for one in exchanges if not one.reads]
    assert few[-2:] == exchanges[-2:]


def test_all_reads_are_learned_if_the_bank_limits_them(tmp_path: Path) -> None:
    exchanges = recognised(read_for_long(tmp_path, limited=True))
    assert chosen(exchanges) == exchanges


@pytest.mark.slow
def test_a_dialect_of_a_long_recording_answers_all_of_it(tmp_path: Path) -> None:
    entries = record(tmp_path, ENOUGH + 100)
    tape(tmp_path / "tape", *entries, redacted=False)
    calls: list[tuple[int, int]] = []
    made = derive_dialect("mine", read_tape(tmp_path / "tape"), SCHEMAS, lambda *call: calls.append(call))
    assert (made.base, made.alike) == ("xs2a-1.84", len(entries))
    assert f"Derived from {len(entries)} exchanges" in made.files["dialect.yaml"]
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1][0] == calls[-1][1]
