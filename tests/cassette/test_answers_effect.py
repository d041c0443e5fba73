import json

import pytest

from tests.support.engine_client import limits
from tests.support.writing import BANK, SCHEMAS, ask, check, engine, problems, rules
from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.cassette.answers import compile_effect
from xs2a_sandbox.cassette.evaluation.expressions import ROOTS
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Headers
from xs2a_sandbox.state import MemoryStore

SCOPE = {"uuid": lambda: "an-id", "path": {"id": "p1"}, "body": {"a": 1, "x": "k"}}


class Documents:
    """A fake transaction with one collection."""

    def __init__(self, **documents):
        self.documents = documents

    def get(self, collection, id):
        assert collection == "notes"
        return self.documents.get(id)

    def put(self, collection, id, document):
        self.documents[id] = document

    def delete(self, collection, id):
        self.documents.pop(id, None)


def effect(**spec):
    reported = []
    return compile_effect(spec, ROOTS, lambda at, text: reported.append(at)), reported


@pytest.mark.parametrize(
    ("spec", "after"),
    [
        ({"set": "state.notes['n']", "to": {"a": "{{ body.a }}"}}, {"n": {"a": 1}}),
        ({"set": 'state.notes["n"]', "to": {"a": None}}, {"n": {"a": None}}),
        ({"set": "state.notes['{{ uuid() }}']", "to": {}}, {"an-id": {}}),
        ({"set": "state.notes['n-{{ path.id }}']", "to": {}}, {"n-p1": {}}),
        ({"set": "state.notes['{{ body['x'] }}']", "to": {}}, {"k": {}}),
        ({"set": "state.notes[path.id]", "to": "{{ body }}"}, {"p1": {"a": 1, "x": "k"}}),
        ({"set": "state.notes['old'].a", "to": 2}, {"old": {"a": 2, "b": 1}}),
        ({"set": "state.notes['old'].b.c.d", "to": [1]}, {"old": {"b": {"c": {"d": [1]}}}}),
        ({"set": "state.notes['n'].a", "to": "{{ path.id }}"}, {"n": {"a": "p1"}}),
        ({"delete": "state.notes['old']"}, {"old": None}),
        ({"delete": "state.notes['never']"}, {}),
    ],
)
def test_effects(spec, after):
    compiled, reported = effect(**spec)
    assert reported == []
    documents = Documents(old={"b": 1})
    compiled.apply(documents, SCOPE)
    expected = {"old": {"b": 1}} | after
    assert documents.documents == {id: document for id, document in expected.items() if document is not None}


def test_documents_are_not_changed_in_place():
    before = {"b": {"c": 1}}
    compiled, _ = effect(set="state.notes['old'].b.c", to=2)
    compiled.apply(Documents(old=before), SCOPE)
    assert before == {"b": {"c": 1}}


@pytest.mark.parametrize(
    ("spec", "at"),
    [
        *[
            ({"set": path, "to": {}}, ("set",))
            for path in (
                *(
                    "notes['n']",
                    "state.notes",
                    "state['notes']",
                    "state.notes[]",
                    "state.notes['n'",
                    "state.notes['n'].",
                ),
                *("state.notes['n']['m']", "state.notes['a'].b['c']", "state.notes[nope]", "state.notes['{{ nope }}']"),
            )
        ],
        ({"set": "state.notes['n']", "to": 5}, ("to",)),
        ({"set": "state.notes['n']", "to": "text"}, ("to",)),
        ({"set": "state.notes['n']", "to": {"a": "{{ nope }}"}}, ("to", "a")),
        ({"delete": "state.notes['n'].a"}, ("delete",)),
    ],
)
def test_mistakes(spec, at):
    assert effect(**spec)[1] == [at]


@pytest.mark.parametrize(
    "spec",
    [
        {"set": "state.notes[path.missing]", "to": {}},
        {"set": "state.notes['n']", "to": "{{ body.a }}"},
        {"set": "state.notes['n']", "to": "{{ body.missing }}"},
    ],
)
def test_a_computed_value_that_is_not_a_document_is_an_error(spec):
    documents = Documents()
    with pytest.raises(BankError, match="internal"):
        effect(**spec)[0].apply(documents, SCOPE)
    assert documents.documents == {}


def test_effects_and_the_answer_are_evaluated_in_order(tmp_path):
    rule = {
        "id": "r",
        "match": {"operation": "one", "when": "not state.seen[path.thing].twice"},
        "effects": [
            {"set": "state.seen['{{ path.thing }}'].twice", "to": "{{ state.seen[path.thing].once }}"},
            {"set": "state.seen['{{ path.thing }}'].once", "to": True},
        ],
    }
    bank = engine(tmp_path, rules(rule))
    assert [ask(bank, "/v1/things/a").body for _ in range(3)] == [b'"r"', b'"r"', b'"one"']
    assert ask(bank, "/v1/things/b").body == b'"r"'


def test_named_values_are_available_in_the_answer_and_the_effects(tmp_path):
    layer = rules(
        {
            "id": "made",
            "match": {"path": "/made"},
            "let": {"id": "{{ uuid() }}", "self": "/made/{{ let.id }}"},
            "respond": {"headers": {"Location": "{{ let.self }}"}, "body": "{{ let.id }}"},
            "effects": [{"set": "state.notes[let.id]", "to": {"self": "{{ let.self }}"}}],
        },
        {"id": "all", "match": {"path": "/all"}, "respond": {"body": "{{ state.notes }}"}},
    )
    bank = engine(tmp_path, layer)
    first, second = ask(bank, "/made"), ask(bank, "/made")
    ids = [json.loads(answer.body) for answer in (first, second)]
    assert ids[0] != ids[1]
    assert Headers(first.headers).get("location") == f"/made/{ids[0]}"
    assert json.loads(ask(bank, "/all").body) == {id: {"self": f"/made/{id}"} for id in ids}


def test_a_value_must_be_defined_before_it_is_used(tmp_path):
    spec = {"match": {"path": "/a"}, "respond": {"body": "{{ let.b }}"}}
    (problem,) = problems(tmp_path, rules({"id": "a", "let": {"b": "{{ let.c }}", "c": 1}, **spec}))
    assert (problem.code, problem.text) == ("expression", "unknown name let.c")
    (problem,) = problems(tmp_path / "other", rules({"id": "a", **spec}))
    assert problem.text == "unknown name let.b"


def test_values_of_an_operation_are_available_when_a_rule_adds_a_handler(tmp_path):
    error = {"status": 404, "code": "C", "text": "t"}
    operation = {
        "id": "a",
        "method": "GET",
        "path": "/v1/consents/{consentId}",
        "let": {"who": "operation"},
        "handler": "consents.status",
        "input": {"consent": "{{ path.consentId }}"},
        "respond": {"body": "{{ let.who }}"},
    }
    bank = {**BANK, "operations": [operation], "errors": {**BANK["errors"], "consent-unknown": error}}
    rule = {"id": "b", "match": {"operation": "a"}, "handler": "consents.status", "let": {"who": "rule"}}
    layer = {"rules.yaml": {"cassette": 1, "rules": [rule]}}
    made = {"consents": {"c": {"status": "authorised", "accounts": []}}}
    read, mistakes = check(tmp_path, layer, bank=bank)
    assert not mistakes
    bank_engine = Engine(Parts(Banks(Bank(read, SCHEMAS)), MemoryStore(), TestData(made, ()), limits=limits()))
    assert ask(bank_engine, "/v1/consents/c").body == b'"rule"'


@pytest.mark.parametrize(("n", "expected"), [("1", {"a": {"n": "1"}}), ("2", {})])
def test_an_effect_may_have_a_condition(tmp_path, n, expected):
    layer = rules(
        {
            "id": "made",
            "match": {"path": "/made"},
            "effects": [{"when": "query.n == '1'", "set": "state.notes['a'].n", "to": "{{ query.n }}"}],
        },
        {"id": "all", "match": {"path": "/all"}, "respond": {"body": "{{ state.notes }}"}},
    )
    bank = engine(tmp_path, layer)
    ask(bank, f"/made?n={n}")
    assert json.loads(ask(bank, "/all").body) == expected


def test_a_mistake_in_the_condition_of_an_effect_has_its_place():
    assert effect(when="qurey.a", delete="state.notes['a']")[1] == [("when",)]


def test_the_schema_of_an_answer_can_depend_on_a_path_parameter(tmp_path):
    operation = {
        "id": "a",
        "method": "GET",
        "path": "/v1/both/{kind}",
        "where": {"kind": ["status", "list"]},
        "answers": {"200": "authorisation-{kind}"},
        "respond": {"nulls": "fill", "body": {}},
    }
    bank = engine(tmp_path, bank={**BANK, "operations": [operation]})
    assert json.loads(ask(bank, "/v1/both/status").body) == {"psuMessage": None}
    wrong = {**operation, "answers": {"200": "authorisations-{kind}"}}
    texts = [problem.text for problem in problems(tmp_path / "other", bank={**BANK, "operations": [wrong]})]
    assert any("unknown schema 'authorisations-list'; did you mean 'authorisation-list'?" in one for one in texts)
