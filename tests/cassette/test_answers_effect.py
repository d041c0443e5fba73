import pytest

from tests.support.writing import ask, engine, rules
from xs2a_sandbox.cassette.answers import compile_effect
from xs2a_sandbox.cassette.expressions import ROOTS
from xs2a_sandbox.errors import BankError

SCOPE = {"uuid": lambda: "an-id", "path": {"id": "p1"}, "body": {"a": 1, "x": "k"}}


class Documents:
    """A transaction of one collection."""

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
def test_what_comes_out_as_no_document_is_an_error(spec):
    documents = Documents()
    with pytest.raises(BankError, match="internal"):
        effect(**spec)[0].apply(documents, SCOPE)
    assert documents.documents == {}


def test_effects_are_made_in_turn_with_the_answer(tmp_path):
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
