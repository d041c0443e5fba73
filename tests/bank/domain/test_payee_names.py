"""Comparison of a payee's name with the account holder's: the documented table, and general properties."""

import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.bank.domain import payee_names
from xs2a_sandbox.bank.domain.payee_names import compare_names, count_typos

PAGE = Path(__file__).resolve().parents[3] / "docs" / "verification-of-payee.md"
TABLE = re.findall(r"^\| (.+?) \| (.+?) \| (match|close-match|no-match) \|$", PAGE.read_text(), re.MULTILINE)

WORDS = st.text(st.characters(categories=["L"], max_codepoint=0x17F), min_size=1, max_size=9)
NAMES = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)
SIGNS = st.text(st.characters(max_codepoint=0x24F), max_size=30)
STRONG = ("no-match", "close-match", "match")


@pytest.mark.parametrize(("given_name", "holder", "result"), TABLE)
def test_the_documented_results_are_correct(given_name: str, holder: str, result: str) -> None:
    assert compare_names(given_name, holder) == result
    assert compare_names(holder, given_name) == result


def test_the_documented_table_shows_every_result() -> None:
    assert {result for _, _, result in TABLE} == {*STRONG}
    assert len(TABLE) > 15


@pytest.mark.parametrize(
    ("one", "other", "result"),
    [
        ("", "Anna Grünwald", "no-match"),
        ("…", "…", "no-match"),
        ("Dr.", "Dr.", "match"),
        ("O'Neill Shop Ltd.", "ONeill Shop Limited", "match"),
        ("Straße Nord e.V.", "STRASSE NORD EV", "match"),
        ("Jan Li", "Jan Lo", "no-match"),
        ("Jan Lim", "Jan Lin", "close-match"),
        ("Marta Grunwalden", "Marta Grinwolden", "close-match"),
        ("Marta Grunwelden", "Marta Grinwoldan", "no-match"),
        ("Anna B. C. Moser", "Anna Berta Clara Moser", "close-match"),
        ("A B C D E F", "Anna Berta Clara Dora Emma Fina", "no-match"),
        ("Anna Moser", "Anna Berta Clara Dora Moser", "no-match"),
        ("Anna Anna", "Anna Moser", "no-match"),
        (" ".join("a" * 70), " ".join("ab" for _ in range(70)), "no-match"),
    ],
)
def test_names_at_the_limits(one: str, other: str, result: str) -> None:
    assert (compare_names(one, other), compare_names(other, one)) == (result, result)


@given(SIGNS, SIGNS)
def test_the_order_of_the_two_names_makes_no_difference(one: str, other: str) -> None:
    assert compare_names(one, other) == compare_names(other, one)


def _without_accents(text: str) -> str:
    return "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))


@given(NAMES, NAMES)
def test_case_and_accents_do_not_matter(one: str, other: str) -> None:
    result = compare_names(one, other)
    assert compare_names(one.upper(), other) == result
    assert compare_names(one.lower(), other) == result
    assert compare_names(_without_accents(one), other) == result


@given(NAMES)
def test_a_name_matches_itself_with_punctuation_and_in_any_case(name: str) -> None:
    for written in (name, name.swapcase(), f" {name},", name.replace(" ", " - ")):
        assert compare_names(written, name) == "match"


@given(st.permutations("anna berta moser huber".split()))
def test_words_match_in_any_order(words: list[str]) -> None:
    assert compare_names(" ".join(words), "Anna Berta Moser-Huber") == "match"


@given(st.text("ab", max_size=8), st.text("ab", max_size=8))
def test_the_number_of_typos_is_symmetric_and_zero_only_for_equal_words(one: str, other: str) -> None:
    assert count_typos(one, other) == count_typos(other, one)
    assert (count_typos(one, other) == 0) == (one == other)
    assert abs(len(one) - len(other)) <= count_typos(one, other) <= max(len(one), len(other))


def test_two_swapped_letters_are_one_typo() -> None:
    assert [count_typos("anna", other) for other in ("nana", "ana", "annan", "anne", "ann")] == [1, 1, 1, 1, 1]


def test_the_letters_of_words_with_very_different_lengths_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payee_names, "count_typos", lambda word, other: pytest.fail(f"{len(word)} letters"))

    assert compare_names(f"Petra {'x' * 100_000}", "Petra Vogelsang") == "no-match"
