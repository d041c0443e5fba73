import json

import pytest

from tests.support.writing import problems, rules
from xs2a_sandbox.config import Settings
from xs2a_sandbox.features.authoring import lint

RULES = "cassette: 1\nrules:\n"


def test_unknown_names_are_reported_together_with_other_mistakes(tmp_path):
    files = {
        "a.yaml": RULES + "  - id: a\n    match: {operation: lsit, query: {x: {regex: '('}}}\n    respond: {}\n",
        "b.yaml": RULES + "  - id: b\n    match: {operation: list}\n    handler: nope\n    respond: {}\n",
        "c.yaml": RULES + "  - id: b\n    match: {operation: list}\n    respond: {}\n",
    }
    found = [(p.file.name, p.code) for p in problems(tmp_path, files)]
    assert ("a.yaml", "matcher") in found
    assert ("b.yaml", "unknown-handler") in found
    assert ("c.yaml", "duplicate-id") in found


def test_ambiguous_rules_are_reported_together_with_unknown_names(tmp_path):
    same = [{"id": id, "match": {"operation": "list"}} for id in "ab"]
    mistakes = problems(tmp_path, rules(*same, {"id": "c", "match": {"operation": "lsit"}}))
    assert {p.code for p in mistakes} == {"ambiguous", "unknown-operation"}


def test_an_unknown_name_is_reported_with_the_nearest_name_or_all_names(tmp_path):
    near, far = problems(tmp_path, rules(*({"id": id, "match": {"operation": id}} for id in ("lsit", "zzz"))))
    assert near.text == "unknown operation 'lsit'; did you mean 'list'?"
    assert far.text.startswith("unknown operation 'zzz'; known: ")
    assert "list" in far.text


@pytest.mark.parametrize(
    "match", [{"operation": "payment-status"}, {"method": "GET", "path": "/v1/payments/sepa-credit-transfers/1/status"}]
)
def test_for_an_unknown_handler_the_handler_of_the_operation_is_suggested(match, tmp_path):
    """The most similar name would create a payment where one must be read."""
    case = {"id": "mine", "match": match, "handler": "payments.status", "respond": {"body": 1}}
    (tmp_path / "mine.yaml").write_text(json.dumps({"cassette": 1, "rules": [case]}))
    (problem,) = [p for p in lint.check(Settings(cassettes=(tmp_path,))) if p.code == "unknown-handler"]
    assert problem.text == "unknown handler 'payments.status'; the operation payment-status uses 'payments.read'"
