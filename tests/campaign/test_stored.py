"""What the app has stored, compared with what the bank has sent: mistakes that are found, and what is no mistake."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal

import pytest

from tests.campaign.seeing import call, observed
from xs2a_sandbox.features.campaign.case import Case, Learned
from xs2a_sandbox.features.campaign.judge import dated_days, findings
from xs2a_sandbox.features.campaign.records import StoredRecord
from xs2a_sandbox.features.campaign.run import Observed
from xs2a_sandbox.features.campaign.sent import SentEntries, SentEntry
from xs2a_sandbox.features.campaign.stored import KeptEntries
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault

QUIRK, EXPIRES = InjectedFault("ids-zero"), InjectedFault("consent expires", "account-list", 1)
READ = call("account-transactions", "/v1/accounts/A/transactions")

type Row = tuple[str, str, str]
ROWS: tuple[Row, ...] = (
    ("E-0001", "2026-11-17", "-1250"),
    ("E-0002", "2026-11-18", "200000"),
    ("E-0003", "2026-11-19", "-310"),
    ("E-0004", "2026-11-20", "-4"),
)
"""The id, the day and the cents that the app stores for each entry."""


def sent(rows: Iterable[Row]) -> SentEntries:
    entries = (
        SentEntry(
            {id: "transactionId", f"Rechnung {id}": "text"},
            frozenset({day}),
            Decimal(cents) / 100,
            READ.path,
        )
        for id, day, cents in rows
    )
    return SentEntries(tuple(entries), frozenset({READ.path}))


def run(
    stored: Sequence[Row], of: SentEntries | None = None, status: int = 0, place: str = "app.db: entries"
) -> Observed:
    records = tuple(StoredRecord(place, (("id", id), ("day", day), ("cents", cents))) for id, day, cents in stored)
    return replace(observed(READ, status=status), kept=KeptEntries(sent(ROWS) if of is None else of, records))


OTHERS = "although it has the others and ended with status 0."
LEARNED = Learned(run(ROWS), run(ROWS), beside=run(ROWS))


def judged(
    made: Observed, after: Observed | None = None, *, again: Observed | None = None, learned: Learned = LEARNED
) -> list[str]:
    fault = EXPIRES if after else QUIRK
    return [f"{one.oracle}: {one.text}" for one in findings(Case(learned, fault, made, after, again))]


def test_what_is_stored_as_usual_is_no_finding() -> None:
    assert judged(run(ROWS)) == judged(run(ROWS), run(ROWS)) == judged(run(ROWS), again=run(ROWS)) == []


def test_entries_that_are_stored_again_after_a_new_consent_are_found() -> None:
    assert judged(run(ROWS), run((*ROWS, *ROWS[:2]))) == [
        "stored: The app has stored 2 entries too often in app.db: entries, such as 'E-0001': 2 times, without the "
        "fault once."
    ]


def test_entries_that_are_stored_again_by_the_next_run_at_a_bank_with_a_quirk_are_found() -> None:
    (finding,) = judged(run(ROWS), again=run((*ROWS, ROWS[0])))

    assert finding.startswith("stored: The app has stored 1 entry too often")


def test_places_that_grow_with_each_run_or_are_new_are_not_judged() -> None:
    grows = Learned(run(ROWS), run((*ROWS, *ROWS)), beside=run(ROWS))
    other = run(ROWS)
    noted = replace(
        other,
        kept=KeptEntries(other.kept.sent, (*other.kept.records, StoredRecord("errors.txt", (("line", "E-0001"),)))),
    )

    assert judged(run(ROWS), run((*ROWS, *ROWS, *ROWS)), learned=grows) == []
    assert judged(run(ROWS), noted) == []


def test_entries_that_the_next_run_does_not_bring_back_are_found() -> None:
    lost = f"stored: The app does not have 3 entries of 4, such as 'E-0001', {OTHERS}"

    assert judged(run(()), run(ROWS[3:], sent(ROWS[3:]))) == [lost], "it has asked only for the newest"
    assert judged(run(()), run(ROWS[3:])) == [lost]
    assert judged(run(()), run(())) == [], "nothing can be found, so perhaps the app stores in another way"
    assert judged(run(()), run(ROWS[3:], SentEntries())) == [], "not all accounts are read again"
    failed = judged(run(()), run(ROWS[3:], status=1))
    assert [text.partition(":")[0] for text in failed] == ["recovery"]


def test_entries_with_other_ids_in_each_session_are_not_missed() -> None:
    paid: Row = ("b0ab-1", "2026-11-20", "-99")
    first = run((*ROWS, paid), sent((*ROWS, paid)))

    assert judged(run(ROWS), run(ROWS), learned=Learned(first, first, beside=run(ROWS))) == []
    assert judged(run(ROWS), run(ROWS), learned=Learned(first, first)) == []


def test_an_entry_that_the_bank_sends_again_with_another_id_is_not_missed() -> None:
    again = tuple((f"X{id}", day, cents) for id, day, cents in ROWS)

    assert judged(run(again, sent((*ROWS, *again)))) == []
    assert len(judged(run(again[1:], sent((*ROWS, *again))))) == 1


def test_entries_that_a_quirk_makes_the_app_skip_are_found() -> None:
    lost = f"stored: The app does not have 1 entry of 4, such as 'E-0004', {OTHERS}"
    dateless = SentEntries(
        tuple(replace(entry, dates=frozenset()) if "E-0004" in entry.texts else entry for entry in sent(ROWS).entries)
    )

    assert judged(run(ROWS[:3])) == [lost]
    assert judged(run(ROWS[:3], dateless)) == [], "without a date it may be left out"
    future: Row = ("E-0009", "2026-12-24", "-1")
    assert judged(run(ROWS, sent((*ROWS, future)))) == [], "it may wait"


def test_a_day_before_the_date_of_the_bank_is_found() -> None:
    shifted = [(id, day.replace("17", "16"), cents) for id, day, cents in ROWS]
    at_midnight = [(id, f"{day}T00:00:00+14:00", cents) for id, day, cents in ROWS]
    at_noon = [(id, f"{day}T12:00:00", cents) for id, day, cents in shifted]

    assert judged(run(shifted)) == [
        "dates: The app has stored 1 entry on another day in app.db: entries, such as 'E-0001' of 2026-11-17 with the "
        "date 2026-11-16."
    ]
    assert judged(run(at_midnight)) == judged(run(at_noon)) == []
    assert dated_days(LEARNED) == {day for _, day, _ in ROWS}


def test_a_text_that_many_records_have_tells_no_entry() -> None:
    """Such as the IBAN of the account, which one entry names as that of the debtor."""

    def with_iban(made: Observed) -> Observed:
        records = tuple(replace(record, values=(*record.values, ("iban", "AT-01"))) for record in made.kept.records)
        first, *others = made.kept.sent.entries
        entries = (replace(first, texts={**first.texts, "AT-01": "debtorAccount"}), *others)
        return replace(made, kept=KeptEntries(replace(made.kept.sent, entries=entries), records))

    usual = with_iban(run(ROWS))
    shifted = with_iban(run([(id, day.replace("17", "16"), cents) for id, day, cents in ROWS]))

    assert judged(usual, learned=Learned(usual, usual)) == []
    assert len(judged(shifted, learned=Learned(usual, usual))) == 1


def test_dates_of_the_import_are_no_dates_of_entries() -> None:
    imported = [(id, "2026-11-20", cents) for id, _, cents in ROWS]
    learned = Learned(run(imported), run(imported))

    assert judged(run([(id, "2026-11-19", cents) for id, _, cents in ROWS]), learned=learned) == []
    assert dated_days(learned) == frozenset()


@pytest.mark.parametrize(("cents", "shown"), [("1250", "1250"), ("-12500", "-12500")])
def test_a_wrong_sign_and_a_wrong_factor_are_found(cents: str, shown: str) -> None:
    assert judged(run([(*ROWS[0][:2], cents), *ROWS[1:]])) == [
        "amounts: The app has stored 1 entry with a wrong amount in app.db: entries (cents), such as 'E-0001' of -12.5 "
        f"as {shown}."
    ]


def test_amounts_without_a_sign_are_not_judged() -> None:
    plain = [(id, day, cents.removeprefix("-")) for id, day, cents in ROWS]
    learned = Learned(run(plain), run(plain))

    assert judged(run([(*plain[0][:2], "-1250"), *plain[1:]]), learned=learned) == []


def test_a_word_is_no_part_of_a_longer_word() -> None:
    kept = KeptEntries(
        SentEntries(),
        (
            StoredRecord("a", (("id", "XE-00011"),)),
            StoredRecord("b", (("text", "(E-0001)"),)),
            StoredRecord("c", (("id", "REV-E-0001"),)),
        ),
    )

    assert [record.place for record in kept.find("E-0001")] == ["b"]
    assert [record.place for record in kept.find("E-00011")] == []
