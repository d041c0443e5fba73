"""Filters for patterns, hashes, dates and times in cassettes."""

from typing import Any

import pytest

from xs2a_sandbox.cassette.evaluation.expressions import compile_text, render


def value(source: str, **roots: Any) -> Any:
    return render(compile_text("{{ " + source + " }}"), {"today": lambda days=0: "2026-01-31", **roots})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("'AB12' | matches('^[A-Z]{2}[0-9]+$')", True),
        ("'ab' | matches('^[A-Z]+$')", False),
        ("query.nothing | matches('a')", None),
        ("'a' | matches('(')", None),
        ("'DE89370400440532013000' | has_format('iban')", True),
        ("'DE88370400440532013000' | has_format('iban')", False),
        ("query.nothing | has_format('iban')", None),
        ("'a' | has_format('letter')", None),
        ("today() | strftime('%d.%m.%Y')", "31.01.2026"),
        ("clock.seconds | strftime('%Y%m%d%H%M%S') | int", 20231114221320),
        ("'2026-01-31T23:30:00+01:00' | strftime('%Y-%m-%dT%H:%M:%SZ')", "2026-01-31T22:30:00Z"),
        ("'2026-01-31T23:30:00+01:00' | strftime('%s %%s')", "1769898600 %s"),
        ("'soon' | strftime('%Y')", None),
        ("query.nothing | strftime('%Y')", None),
        ("'31.01.2026' | strptime('%d.%m.%Y')", "2026-01-31"),
        ("'20260131' | strptime('%Y%m%d') < today()", False),
        ("'20260131120000' | strptime('%Y%m%d%H%M%S')", "2026-01-31T12:00:00+00:00"),
        ("'2026-01-31T02:00:00+05:30' | strptime('%Y-%m-%dT%H:%M:%S%z')", "2026-01-30T20:30:00+00:00"),
        ("'31.02.2026' | strptime('%d.%m.%Y')", None),
        ("'grüße' | sha256", "goXRrYTGtuR107UNv5A4nIx6B6J42a5G1WmMvocuODQ="),
        ("query.nothing | sha256", None),
    ],
)
def test_texts_are_read_and_written_in_other_forms(source: str, expected: Any) -> None:
    assert value(source, query={}, clock={"seconds": 1_700_000_000}) == expected
