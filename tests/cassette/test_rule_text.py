"""Rules that are written inside a test."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.model import Cassette
from xs2a_sandbox.cassette.rule_text import read_rules
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.errors import Unreadable

SCHEMAS = Schemas([bundled("schemas")])
RULE: dict[str, Any] = {"id": "mine", "match": {"operation": "account-list"}, "respond": {"status": 503}}
TEXT = "match: {operation: account-list}\nrespond: {status: 503}\n"


def read(rules: Any, directory: Path = Path()) -> Cassette:
    return read_rules(rules, directory / "<rule 1>", SCHEMAS, "added-1")


@pytest.mark.parametrize(
    ("rules", "ids"),
    [
        (RULE, ["mine"]),
        ({**RULE, "id": "other"}, ["other"]),
        ({name: value for name, value in RULE.items() if name != "id"}, ["added-1"]),
        (TEXT, ["added-1"]),
        (f"id: mine\n{TEXT}", ["mine"]),
        ("- {match: {path: /a}, respond: {}}\n- {id: b, match: {path: /b}, respond: {}}", ["added-1.1", "b"]),
        ("- {match: {path: /a}, respond: {}}", ["added-1"]),
        ("cassette: 1\nrules:\n  - {id: c, match: {path: /c}, respond: {}}", ["c"]),
        ("[]", []),
    ],
)
def test_one_rule_several_rules_or_a_cassette(rules: Any, ids: list[str]) -> None:
    assert [rule.id for rule in read(rules).rules] == ids


def test_values_of_a_mapping_keep_their_types() -> None:
    body = {"n": 1.5, "d": Decimal("1.10"), "t": "NO", "e": "1e5", "z": "0123", "u": "ü\x07", "x": None, "b": True}
    (rule,) = read({**RULE, "respond": {"body": body}}).rules
    told = dict(rule.behaviour.respond[0].body)
    assert told == {**body, "n": Decimal("1.5")}
    assert str(told["d"]) == "1.10"


@pytest.mark.parametrize(
    ("rules", "place", "code"),
    [
        ({**RULE, "respnd": {}}, "<rule 1>:9:3", "unknown-key"),
        ("match: {operation: account-list}\nrespnd: {status: 503}\n", "<rule 1>:2:1", "unknown-key"),
        ("- match: {path: /a}\n  respond: {status: 1000}", "<rule 1>:2:21", "wrong-value"),
        ("match: [", "<rule 1>:1:9", "syntax"),
        ("match: {path: /a}\nrespond: {body: {{ x }}}", "<rule 1>:2:17", "unquoted-expression"),
        ("", "<rule 1>:1:1", "wrong-type"),
        ("- x", "<rule 1>:1:3", "wrong-type"),
    ],
)
def test_a_mistake_is_reported_with_its_line(rules: Any, place: str, code: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read(rules)
    assert (place, code) in [(problem.place, problem.code) for problem in caught.value.problems]


def test_files_are_searched_next_to_the_test(tmp_path: Path) -> None:
    (tmp_path / "body.pdf").write_bytes(b"%PDF")
    (rule,) = read({**RULE, "respond": {"file": "body.pdf"}}, tmp_path).rules
    assert rule.behaviour.respond[0].content == b"%PDF"
