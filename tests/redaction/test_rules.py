from pathlib import Path

import pytest

from xs2a_sandbox.errors import Unreadable
from xs2a_sandbox.redaction.rules import DEFAULT, RedactionRules, read


@pytest.fixture
def rules(tmp_path: Path):
    def write(text: str) -> RedactionRules:
        file = tmp_path / "redaction.yaml"
        file.write_text(text)
        return read(file)

    return write


def test_there_is_a_rule_for_every_kind_of_place(rules) -> None:
    read = rules(
        """
redaction: 1
keep:
  - {member: ownerName, why: all of them are invented}
  - {header: X-Bank-Trace}
  - {query: Page}
  - {media: Text/HTML}
  - {words: [ITXAROTEN, ezetz], why: states and decisions}
  - {words: [EXTRATO]}
replace:
  - {path: /a~1b/*/c~0d}
drop:
  - {member: iban}
"""
    )

    assert read.members == {"ownername": "keep", "iban": "drop"}
    assert read.headers == {"x-bank-trace": "keep"}
    assert read.queries == {"page": "keep"}
    assert read.media == {"text/html": "keep"}
    assert read.words == {"ITXAROTEN", "ezetz", "EXTRATO"}
    assert [(rule.steps, rule.action, rule.exact) for rule in read.paths] == [(("a/b", "*", "c~d"), "replace", True)]


def test_an_empty_file_has_no_rules(rules) -> None:
    assert rules("redaction: 1\n") == RedactionRules({}, {}, {}, {}, ()) == DEFAULT


def test_the_path_with_the_fewest_stars_wins(rules) -> None:
    read = rules("redaction: 1\nkeep: [{path: /a/*/*}, {path: /a/0/*}]\ndrop: [{path: /a/0/b}]\n")

    assert [read.path(place).action for place in (("a", "1", "c"), ("a", "0", "c"), ("a", "0", "b"))] == [  # type: ignore[union-attr]
        "keep",
        "keep",
        "drop",
    ]
    assert read.path(("a",)) is None
    assert read.path(("b", "0", "b")) is None
    assert not read.path(("a", "0", "c")).exact  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("keep: []", "1:1", "missing-key: the key redaction is missing"),
        ("redaction: 2", "1:12", "wrong-value: must be 1, not 2"),
        ("redaction: 1\nkept: []", "2:1", "unknown-key: unknown key kept; did you mean keep?"),
        ("redaction: 1\nkeep: [{membr: a}]", "2:8", "missing-key: one of the keys member, path, header, query"),
        ("redaction: 1\nkeep: [{member: a, query: b}]", "2:20", "wrong-value: only one of member and query"),
        ("redaction: 1\nkeep: [{path: a}]", "2:15", "wrong-value: must be a JSON Pointer"),
        ("redaction: 1\nkeep: [{header: 'a b'}]", "2:17", "wrong-value: must be the name of a header"),
        (
            "redaction: 1\nkeep: [{words: ['ANNA MAY']}]",
            "2:17",
            'wrong-value: must be a word of at least two characters, without blanks, digits and @, not "ANNA MAY"\n',
        ),
        ("redaction: 1\nkeep: [{words: [A-4711]}]", "2:17", "wrong-value: must be a word of at least two characters"),
        ("redaction: 1\nkeep: [{words: [x]}]", "2:17", "wrong-value: must be a word of at least two characters"),
        ("redaction: 1\nkeep: [{words: []}]", "2:16", "wrong-value: must not be empty"),
        ("redaction: 1\nkeep:\n", "2:6", "wrong-type: keep has no rules: remove the # before those"),
        ("redaction: 1\ndrop: [{words: [ANNA]}]", "2:9", "unknown-key: unknown key words"),
        ("redaction: 1\nreplace: [{media: text/html}]", "2:12", "unknown-key: unknown key media"),
        (
            "redaction: 1\nkeep: [{member: a}]\ndrop: [{member: A}]",
            "3:17",
            "wrong-value: member A is also listed under keep",
        ),
        ("redaction: 1\nkeep: [null]\n", "2:8", "wrong-type: must be a mapping, not null"),
    ],
)
def test_mistakes_have_their_place(rules, text: str, where: str, what: str) -> None:
    with pytest.raises(Unreadable) as caught:
        rules(text)
    assert f"redaction.yaml:{where}: error {what}" in str(caught.value)


def test_a_missing_file_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="cannot be read"):
        read(tmp_path / "none.yaml")
