from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compare.reports.test_report import comparison
from xs2a_sandbox.compare.reports.report import report
from xs2a_sandbox.compare.reports.wording import cut, first_difference, manner


@pytest.mark.parametrize(
    ("bank", "sandbox", "words"),
    [
        ("Anna ", "Anna", "only in leading or trailing spaces"),
        ("AT45 9880", "AT459880", "only in spaces"),
        ("Gru\u0308nwald", "Gr\u00fcnwald", "only in the Unicode form: decomposed at the bank, composed here"),
        ("ANNA", "Anna", "only in upper and lower case"),
        ("12,30", "12.30", "only in decimal point and comma"),
        ("-12.30", "12.30", "only in the sign"),
        (-5, 5, "only in the sign"),
        ("12.3", "12.30", "only in scale: 1 digits after the point at the bank, 2 here"),
        ("1230", "12.30", "only by a factor of 100, more at the bank"),
        ("12.30", 12.3, "the same number, as a string on one side"),
        ("2026-11-24", "2026-11-21", "3 days later at the bank"),
        ("2026-11-20", "2026-11-21", "1 day earlier at the bank"),
        ("2026-11-21T10:00:00Z", "2026-11-21T11:00:00+01:00", "the same instant, written differently"),
        ("2026-11-21T10:00:00Z", "2026-11-21T11:00:00Z", "the same day at another time"),
        ("Anna", "Anne", "in one character, at position 4"),
        ("Annna", "Anna", "in one character more at the bank, at position 4"),
        ("Ana", "Anna", "in one character less at the bank, at position 3"),
        ("Anna", "Lukas", None),
        ("Anna", None, None),
        (7, 7, None),
        (True, 1, None),
    ],
)
def test_subtle_differences_of_two_values_are_described(bank: Any, sandbox: Any, words: str | None) -> None:
    assert manner(bank, sandbox) == words


@given(st.text() | st.integers() | st.floats() | st.none(), st.text() | st.integers() | st.floats() | st.none())
def test_any_two_values_can_be_described(bank: Any, sandbox: Any) -> None:
    words = manner(bank, sandbox)
    assert words is None or words


def test_the_description_is_based_on_the_unredacted_values() -> None:
    def redact(entry: Any) -> Any:
        from dataclasses import replace

        return replace(entry, answer_body=b'{"name": "PSEUDONYM"}')

    (exchange,) = report(comparison(({"name": "Gru\u0308n"}, {"name": "Gr\u00fcn"})), "bank", redact).exchanges
    (finding,) = exchange.findings
    assert finding.bank == finding.sandbox
    assert finding.manner == "only in the Unicode form: decomposed at the bank, composed here"


def test_a_shortened_value_contains_the_difference() -> None:
    one, other = "x" * 300 + "A" + "y" * 300, "x" * 300 + "B" + "y" * 300
    assert first_difference(one, other) == 300
    assert (len(cut(one, other, 60)), "A" in cut(one, other, 60)) == (60, True)
    assert cut("short", other, 60) == "short"
