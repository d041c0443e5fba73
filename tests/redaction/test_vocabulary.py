"""The list of words that are kept: it contains the words of the interface, and no names of persons."""

import json
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.redaction.vocabulary import FILE, PieceKind, find_strange, is_bare, is_words, kind, pieces

LANGUAGES = """
cs_CZ da_DK de_AT de_CH de_DE en_GB en_IE en_US es_ES et_EE fr_BE fr_CH fr_FR fi_FI ga_IE hr_HR hu_HU is_IS it_IT lt_LT
lv_LV nl_BE nl_NL no_NO pl_PL pt_PT ro_RO sk_SK sl_SI sv_SE tr_TR
""".split()
NAMES_TOO = frozenset(
    "ANNI BOND COLL CORR Day General Gross ISA LIMA LOTT No POPE PROF Parking RABL SALA Sole TRAN".split()
)
"""Codes of UK Open Banking that are also names of persons, so they are redacted."""
WORDS_ALL_THE_SAME = frozenset("back close each eba ing link read server tan".split())
"""Words of banks' own interfaces that are rarely used as names."""


def sections() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in FILE.read_text().splitlines():
        if line.startswith("["):
            found[line.strip("[]")] = []
        elif not line.startswith("#"):
            found[list(found)[-1]].extend(line.split()) if found else None
    return found


def names_of(language: str) -> set[str]:
    provider = import_module(f"faker.providers.person.{language}").Provider
    kinds = (
        "first_names",
        "first_names_male",
        "first_names_female",
        "last_names",
        "last_names_male",
        "last_names_female",
    )
    return {name for attribute in kinds for name in getattr(provider, attribute, ())}


def test_each_word_is_listed_once_in_order_and_in_lower_case() -> None:
    found = sections()
    assert list(found) == ["words", "roots", "also-names", "particles", "codes"]
    for words in found.values():
        assert words == sorted(set(words))
    assert not set(found["words"]) & set(found["also-names"] + found["particles"])
    assert all(word == word.lower() for name in ("words", "also-names", "particles") for word in found[name])


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_name_of_a_person_is_a_word(language: str) -> None:
    names = names_of(language)
    assert len(names) > 100
    written = {form for name in names for form in (name, name.lower(), name.upper()) if len(name) > 2}
    codes = set(sections()["codes"])
    words = {one for one in written - codes if kind(one) is PieceKind.WORD and one.lower() not in WORDS_ALL_THE_SAME}
    assert words == set()


def texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from texts(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner, name)
    elif isinstance(value, str):
        yield name, value


def dialect() -> list[Path]:
    return sorted((bundled("cassettes") / "xs2a-1.84").glob("*.yaml"))


def test_the_list_contains_the_words_of_the_bundled_errors() -> None:
    errors = [error for file in dialect() for error in (yaml.safe_load(file.read_text()).get("errors") or {}).values()]
    said = {
        re.sub(r"\{\{.*?\}\}|\b\w-\w\b", "", text) for error in errors for name, text in texts(error) if name == "text"
    }
    assert len(said) > 30
    assert {text for text in said if find_strange(text, running=True)} == set()


def test_the_list_contains_the_codes_of_the_bundled_schemas() -> None:
    ours = {f"{name}.schema.json" for name in ("cassette", "config", "ignore", "redaction", "testdata")} | {"state"}
    files = [file for file in sorted(bundled("schemas").rglob("*.json")) if not {file.name, *file.parts} & ours]
    schemas = [json.loads(file.read_text()) for file in files]
    codes = {text for schema in schemas for name, text in texts(schema) if name == "enum"}
    assert len(codes) > 30
    assert {code for code in codes if code and not (is_words(code) or is_bare(code))} == NAMES_TOO


@pytest.mark.parametrize(
    "text",
    """
    accounts scaOauthLinks oauth2 berlin-group DEDICATED_AISP payment-accounts:balances:view OLB ing PSUId
    pain.001-sepa-credit-transfers PSU_CREDENTIALS_INVALID PMNT-MCRD-UPCT EUR POST page_size accounts-2024
    application/json;charset=utf-8 Girokonto eIDAS Überweisungen de-AT didn't l'opération scope1
    ZAMITNUTO Hyväksytty HYVAKSYTTY_OSITTAIN ONAYLANDI
    """.split(),
)
def test_words_are_recognised(text: str) -> None:
    assert is_words(text)
    assert find_strange(text) == []


@pytest.mark.parametrize(
    "text",
    """
    Anna ANNA Mark Post Grace McGovern LaBelle McDonald deVries Grande-Teodora O'Neil D'Angelo Müller-Lüdenscheidt
    a1b2c3 7x TX-4711 12345 account-1234-5678 AT4711 eyJhbGci AT611904300234573201 SECRET99 isTo x-2fa81bc0-x
    81.20.30.40
    """.split(),
)
def test_other_texts_are_strange(text: str) -> None:
    assert not is_words(text)
    assert find_strange(text) == [(0, len(text))]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The account of Anna Huber is closed", ["Anna Huber"]),
        ("Konto von Jan van der Berg gesperrt", ["Jan van der Berg"]),
        ("payment to jan van den berg", ["jan van den berg"]),
        ("Mark Huber has no account", ["Mark Huber"]),
        ("you may not grant access", []),
        ("La operación no está disponible", []),
        ("account 12-345/6789 unknown", ["12-345/6789"]),
        ("call +43 664 1234567 now", ["43 664 1234567"]),
        ("AIS:1234567890 PIS", ["1234567890"]),
        ("error 404 of 2026", []),
        ("account 0664 123 456 unknown", ["0664 123 456"]),
        ("AIS:4111 1111 1111 1111", ["4111 1111 1111 1111"]),
        ("born 17/04/1968", ["17/04/1968"]),
        ("The consent of Till is expired", ["Till"]),
    ],
)
def test_names_and_numbers_are_found_as_a_whole(text: str, names: list[str]) -> None:
    assert [text[start:end] for start, end in find_strange(text, running=True)] == names


def test_names_that_are_also_words_are_kept_only_in_sentences() -> None:
    assert find_strange("you may grant page 2", running=True) == []
    for text, name in (("AIS grant", "grant"), ("AIS:page", "page"), ("accounts may", "may")):
        assert [text[start:end] for start, end in find_strange(text)] == [name]
        assert not is_words(text)


def test_very_short_texts_are_harmless() -> None:
    assert all(map(is_bare, ["", "*/*", "31", "q=0.8", "1.3", "v1", "v1-0-4", "-", "de", "de,en;q=0.8"]))
    assert not any(
        map(is_bare, ["12345", "page", "Anna", "1.23456", "4111 1111 1111 1111", "1968:0417:33", "De", "1-0-4"])
    )


@given(st.text(max_size=60))
def test_any_text_is_split_into_disjoint_pieces(text: str) -> None:
    places = [(one.start, one.end) for one in pieces(text)]
    assert places == sorted(places)
    spans = find_strange(text)
    assert all(a < b <= len(text) for a, b in spans)
    assert all(one[1] <= two[0] for one, two in pairwise(spans))


def test_a_long_text_is_checked_quickly() -> None:
    for text in ("a" * 99_999, "a " * 50_000, "Aa" * 50_000, "1 " * 50_000, "Anna " * 20_000, "x de " * 20_000):
        find_strange(text)
