"""Names of states in a dialect: checked on loading, and translated in both directions."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.state_words import default_states
from tests.support.writing import SCHEMAS
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled, dialects
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.cassette.evaluation.expressions import ROOTS, compile_text, render
from xs2a_sandbox.cassette.evaluation.state_words import STATES, StateWords
from xs2a_sandbox.errors import ExpressionError, Unreadable

LOGIN = {"awaiting": "OPEN", "authorised": "DONE", "rejected": "NO"}


def words(tmp_path: Path, section: dict[str, Any]) -> StateWords:
    (tmp_path / "mine.yaml").write_text(f"cassette: 1\nstates: {section}\n")
    return layers.read([[bundled("cassettes") / "xs2a-1.84"], [tmp_path]], SCHEMAS, NAMED).states


def test_a_layer_contains_only_its_changes(tmp_path: Path) -> None:
    own = words(tmp_path, {"login": {"awaiting": "OPEN"}, "consent": {"without": ["partly"]}})

    assert own.word("login", "awaiting") == "OPEN"
    assert own.word("login", "authorised") == "valid"
    assert own.word("consent", "partly") == "partly"


@pytest.mark.parametrize(
    ("section", "text"),
    [
        ({"login": {**LOGIN, "rejected": "DONE"}}, "DONE is already the word for authorised"),
        ({"payment": {"RCVD": "NEW"}}, "no word for PATC, ACTC, ACSP"),
        ({"login": {"open": "OPEN"}}, "unknown key open"),
        ({"consents": {}}, "unknown key consents; did you mean consent?"),
    ],
)
def test_missing_and_ambiguous_words_are_reported(tmp_path: Path, section: dict[str, Any], text: str) -> None:
    with pytest.raises(Unreadable) as unreadable:
        words(tmp_path, section)

    assert any(text in problem.text for problem in unreadable.value.problems)


@pytest.mark.parametrize("dialect", dialects())
def test_words_of_the_bundled_dialects_are_translated_back(dialect: str) -> None:
    own = layers.read([[bundled("cassettes") / dialect]], SCHEMAS, NAMED).states

    for thing, states in STATES.items():
        assert [own.state(thing, str(own.word(thing, state))) for state in states] == list(states)


def test_the_dialects_of_the_berlin_group_have_the_same_words() -> None:
    own = layers.read([[bundled("cassettes") / "berlin-group-1.3"]], SCHEMAS, NAMED).states

    assert own.words == default_states().words


def test_a_state_without_a_word_keeps_its_name() -> None:
    assert StateWords().word("consent", "authorised") == "authorised"
    assert StateWords().state("consent", "frozen") == "frozen"
    assert StateWords({"login": LOGIN}).word("login", None) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ wire('login', body.state) }}", "OPEN"),
        ("it is {{ wire('login', body.state) }}", "it is OPEN"),
        ("{{ wire(body.thing, body.state) }}", "OPEN"),
        ("{{ wire('login', body.nothing) }}", None),
    ],
)
def test_expressions_can_translate_states(text: str, expected: str | None) -> None:
    scope = {"body": {"state": "awaiting", "thing": "login"}, "wire": StateWords({"login": LOGIN}).word}

    assert render(compile_text(text, ROOTS), scope) == expected


@pytest.mark.parametrize("text", ["{{ wire('logins', body.state) }}", "{{ wire('login') }}", "{{ wire }}"])
def test_invalid_calls_of_wire_are_reported(text: str) -> None:
    with pytest.raises(ExpressionError, match="wire"):
        compile_text(text, ROOTS)
