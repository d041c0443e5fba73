"""Words that a rule keeps stay, and nothing else. A vault restores them in recordings that are older than the rule."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.redaction.test_real_values import KEY, MemoryVault, keeper
from tests.redaction.test_what_is_redacted import OWN_WORDS, names, staying, words
from tests.support.taping import taped
from xs2a_sandbox.http import Headers, Request, body
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.har import to_har
from xs2a_sandbox.redaction.real_values import KeptRestorer
from xs2a_sandbox.redaction.redactor import Redactor
from xs2a_sandbox.redaction.rules import DEFAULT, PathRule, RedactionRules

WORDS = frozenset({"ITXAROTEN", "UKATUTA", "ezetz"})
RULES = RedactionRules(words=WORDS, members={"centavos": "keep"}, paths=(PathRule(("ids", "1"), "keep"),))
APP = "http://localhost/back"
FORM = ("Content-Type", "application/x-www-form-urlencoded")
PERSONS = ("ANNA", "GRÜNWALD", "ROSA", "MUSTERGASSE", "SIEMENS", "Omas Sparkonto", "anna", "Haushaltskasse")
"""First names, a family name, a street, an employer, nicknames of accounts."""


def document(text: str) -> dict[str, Any]:
    """Return a document with a text in members and lists whose names say nothing."""
    return {
        "egoera": text,
        "ezizena": text,
        "x": [text, {"y": text}],
        "akatsak": [{"arrazoia": text, "text": f"the status is {text} already"}],
    }


def exchanges(text: str) -> list[Exchange]:
    """Return exchanges with a text at all kinds of places."""
    return [
        taped(f"/jc/v1/contas/{text}/saldos?tipo={text}", document(text)),
        taped("/jc/v1/pagos", document(text), "POST", body=document(text), status=422),
        taped(
            "/entrada/9",
            None,
            "POST",
            headers=[FORM],
            body=urlencode({"erabakia": text}).encode(),
            status=302,
            answer_headers=[("Location", f"{APP}?resultado={text}")],
        ),
    ]


def content(entry: Exchange) -> tuple[Any, ...]:
    """Return what may differ, with JSON as values."""
    bodies = (body.read(entry.body), body.read(entry.answer_body))
    return entry.target, entry.headers.pairs, entry.answer_headers.pairs, bodies


def shown(entry: Exchange) -> str:
    return json.dumps(to_har(entry), ensure_ascii=False)


@pytest.mark.parametrize("word", sorted(WORDS))
def test_a_kept_word_stays_at_every_place_that_is_not_personal(word: str) -> None:
    redactor = Redactor(KEY, RULES)
    for was, default in zip(exchanges(word), map(Redactor(KEY).entry, exchanges(word)), strict=True):
        assert content(redactor.entry(was)) == content(was)
        assert word not in shown(default)


@pytest.mark.parametrize("text", PERSONS)
def test_other_texts_are_replaced_at_the_same_places(text: str) -> None:
    redactor = Redactor(KEY, RULES)
    for was in (*exchanges("ITXAROTEN"), *exchanges(text)):
        kept = redactor.entry(was)
        assert text not in (found := shown(kept)), found
        assert text.upper() not in found


@pytest.mark.parametrize(
    "text", ["ITXAROTEN ANNA", "ANNA ITXAROTEN", "ITXAROTEN4711", "itxaroten", "ITXAROTENS", "ITXAROTEN-ANNA"]
)
def test_a_text_that_only_contains_a_kept_word_is_replaced(text: str) -> None:
    kept = Redactor(KEY, RULES).entry(taped("/jc/v1/contas", {"egoera": text, "x": [text]}))
    assert text not in shown(kept)
    assert "ANNA" not in shown(kept)


def test_a_kept_word_is_replaced_where_it_may_be_a_name_and_dropped_where_it_is_a_secret() -> None:
    answer = {"creditorName": "UKATUTA", "remittanceInformation": "UKATUTA", "password": "UKATUTA", "x": "UKATUTA"}
    kept = json.loads(Redactor(KEY, RULES).entry(taped("/jc/v1/contas", answer)).answer_body)
    assert kept["x"] == "UKATUTA"
    assert kept["password"] == "dropped"
    assert "UKATUTA" not in (kept["creditorName"], kept["remittanceInformation"])


def test_replace_and_drop_come_before_words() -> None:
    rules = RedactionRules(words=WORDS, members={"a": "replace", "b": "drop"})
    kept = json.loads(Redactor(KEY, rules).entry(taped("/x", {"a": "UKATUTA", "b": "UKATUTA"})).answer_body)
    assert kept["a"] != "UKATUTA"
    assert kept["b"] == "dropped"


@pytest.mark.slow
def test_names_are_replaced_next_to_kept_words() -> None:
    known = {word.lower() for said in OWN_WORDS for word in words(said.text)} | {word.lower() for word in WORDS}
    assert staying(list(names()), known, RULES) == []


MIXED = [
    *exchanges("ITXAROTEN"),
    *exchanges("ANNA"),
    *exchanges("ezetz"),
    taped("/jc/v1/pagos", {"centavos": 350_000, "iban": "AT459880000010204711", "creditorName": "UKATUTA"}),
    taped("/jc/v1/pagos", {"centavos": 8500, "total": 500_001, "numero": 1234567890, "ids": ["c-12345", 66123456]}),
    taped("/entrada/9", {"scaRedirect": "https://bank.example/entrada/UKATUTA?x=ITXAROTEN"}),
]


def test_a_vault_restores_what_rules_keep_as_if_they_had_been_there_before() -> None:
    kept = MemoryVault()
    old = [keeper(kept).entry(was) for was in MIXED]
    redactor = Redactor(KEY, RULES, banks=[MIXED[0].bank])
    new = [redactor.entry(was) for was in MIXED]
    restorer = KeptRestorer(b"-", RULES).knowing(kept.values)
    for before, after in zip(old, new, strict=True):
        assert content(restorer.entry(before)) == content(after)
    assert "350000" in shown(restorer.entry(old[-3]))
    assert "66123456" in shown(restorer.entry(old[-2]))


def test_without_rules_nothing_is_restored() -> None:
    kept = MemoryVault()
    for was in MIXED:
        recorded = keeper(kept).entry(was)
        assert KeptRestorer(b"-", DEFAULT).knowing(kept.values).entry(recorded).answer_body == recorded.answer_body


def test_a_word_gets_its_pseudonym_where_an_older_recording_has_it() -> None:
    pseudonym = json.loads(Redactor(KEY).entry(taped("/x", {"x": "UKATUTA"})).answer_body)["x"]
    sent = Request("POST", "/x?y=ITXAROTEN", Headers(), b'{"x":"UKATUTA"}')
    replayed = Redactor(KEY, RULES, unchanged={pseudonym}).request(sent)
    assert replayed.body == b'{"x":"%s"}' % pseudonym.encode()
    assert replayed.target == sent.target
