import pytest

from tests.support.writing import BANK, ask, check, engine, problems, rule_of, rules

RULES = "cassette: 1\nrules:\n"
OPERATIONS = "cassette: 1\noperations:\n"
GET = "  - id: a\n    match: {operation: list}\n"

MISTAKES = [
    # the text of the cassette, line, column, code, the problem's text
    (RULES + GET + "    respond: {body: 1}\n    sequence: [{body: 2}]\n", 3, 5, "behaviour", "sequence and respond"),
    (
        RULES + GET + "    sequence: [{body: 2}]\n    handler: token.revoke\n",
        3,
        5,
        "behaviour",
        "sequence and handler",
    ),
    (RULES + GET + "    doc: no answer\n", 3, 5, "behaviour", "not none"),
    (RULES + GET + "    respond: {}\n    on_exhausted: fail\n", 6, 19, "behaviour", "sequence"),
    (RULES + GET + "    respond: {}\n    with: {a: 1}\n", 6, 11, "behaviour", "handler"),
    (RULES + GET + "    bank: true\n", 5, 11, "no-bank", "bank: true needs a bank"),
    (RULES + "  - id: a\n    match: {operation: lsit}\n    respond: {}\n", 4, 24, "unknown-operation", "'list'"),
    (RULES + "  - id: a\n    match: {operation: list, path: /x}\n    respond: {}\n", 4, 12, "match", "either"),
    (RULES + "  - id: a\n    match: {}\n    respond: {}\n", 4, 12, "match", "either"),
    (RULES + "  - id: a\n    match: {operation: list, method: GET}\n    respond: {}\n", 4, 38, "match", "already"),
    (RULES + "  - id: a\n    match: {path: /x?y=1}\n    respond: {}\n", 4, 19, "path", "query"),
    (RULES + "  - id: a\n    match: {path: '/{x'}\n    respond: {}\n", 4, 19, "path", "parameter"),
    (
        RULES + "  - id: a\n    match:\n      path: /{x}\n      where: {y: 1}\n    respond: {}\n",
        *(6, 15, "where", "no parameter y"),
    ),
    (RULES + "  - id: a\n    match: {operation: list, where: {y: 1}}\n    respond: {}\n", 4, 12, "where", "y"),
    (
        RULES + "  - id: a\n    match:\n      operation: list\n      query: {x: {regex: '('}}\n    respond: {}\n",
        *(6, 18, "matcher", "RE2"),
    ),
    (
        RULES + "  - id: a\n    match:\n      operation: make\n      body: {/a~b: 1}\n    respond: {}\n",
        *(6, 14, "pointer", "~0"),
    ),
    (
        RULES + "  - id: a\n    match:\n      operation: make\n      body: {a: 1}\n    respond: {}\n",
        *(6, 14, "wrong-value", "a"),
    ),
    (
        RULES + "  - id: a\n    match:\n      operation: list\n      query: {x: {gt: soon}}\n    respond: {}\n",
        *(6, 18, "matcher", "soon"),
    ),
    (
        RULES + "  - id: a\n    match:\n      operation: make\n      body: {schema: acount}\n    respond: {}\n",
        *(6, 22, "matcher", "acount"),
    ),
    (RULES + "  - id: a\n    match: {operation: list, when: nope}\n    respond: {}\n", 4, 36, "expression", "nope"),
    (RULES + GET + "    handler: accounts.lsit\n    respond: {}\n", 5, 14, "unknown-handler", "'accounts.list'"),
    (RULES + "  - id: a\n    match: {path: /x}\n    handler: token.revoke\n", 5, 14, "behaviour", "respond"),
    (RULES + GET + "    respond: {error: format-eror}\n", 5, 22, "unknown-error", "'format-error'"),
    (
        RULES + GET + "    respond:\n      - {when: query.a, body: 1}\n      - {error: format-eror}\n",
        *(7, 17, "unknown-error", "'format-error'"),
    ),
    (RULES + GET + "    sequence:\n      - {}\n      - {schema: acount}\n", 7, 18, "unknown-schema", "'account'"),
    (RULES + GET + "    sequence:\n      - {when: query.a}\n", 6, 16, "behaviour", "when"),
    (RULES + GET + "    respond:\n      - {body: 1}\n      - {body: 2}\n", 6, 9, "unreachable", "last"),
    (RULES + GET + "    respond: {when: query.a}\n", 5, 15, "behaviour", "when"),
    (RULES + GET + "    respond: {}\n    answers: {200: acount}\n", 6, 20, "unknown-schema", "'account'"),
    (
        RULES + GET + "    require:\n      body: {schema: acount}\n    respond: {}\n",
        *(6, 22, "unknown-schema", "'account'"),
    ),
    (RULES + GET + "    respond: {body: 1, text: x}\n", 5, 30, "answer", "one of"),
    (RULES + GET + "    respond:\n      body: {a: ['{{ nope }}']}\n", 6, 18, "answer", "nope"),
    (RULES + GET + "    respond: {body: '{{ result.x }}'}\n", 5, 21, "answer", "result"),
    (RULES + GET + "    respond: {base64: 'no!'}\n", 5, 23, "answer", "base64"),
    (RULES + GET + "    respond: {base64: 'é'}\n", 5, 23, "answer", "base64"),
    (RULES + GET + "    respond: {file: none.json}\n", 5, 21, "answer", "none.json"),
    (RULES + GET + "    respond: {status: 204, body: 1}\n", 5, 23, "answer", "cannot have a body"),
    (RULES + GET + "    respond: {headers: {A B: x}}\n", 5, 30, "answer", "header name"),
    (RULES + GET + "    respond: {status: '200'}\n", 5, 23, "answer", "number"),
    (RULES + GET + "    respond: {}\n    effects: [{set: notes, to: {}}]\n", 6, 21, "effect", "state."),
    (RULES + GET + "    respnd: {}\n", 5, 5, "unknown-key", "respond"),
    (RULES + GET + "    respond: {fault: resett}\n", 5, 22, "wrong-value", "reset"),
    (RULES + GET + "    respond: {delay: soon}\n", 5, 22, "wrong-value", "soon"),
    (OPERATIONS + "  - {id: a, method: GET, path: /a}\n", 3, 5, "behaviour", "handler"),
    (OPERATIONS + "  - {id: a, method: GET, path: /a, handler: token.revoke}\n", 3, 45, "behaviour", "respond"),
    (
        OPERATIONS + "  - id: a\n    method: GET\n    path: '/{x}'\n    otherwise: {x: internl}\n    respond: {}\n",
        *(6, 20, "unknown-error", "'internal'"),
    ),
    ("cassette: 1\nerrors:\n  e: {status: 400, code: C, text: '{{'}\n", 3, 35, "expression", "{{"),
    ("cassette: 1\nevery_error: {schema: eror, body: 1}\n", 2, 23, "unknown-schema", "eror"),
    ("cassette: 2\n", 1, 11, "wrong-value", "1"),
    ("rules: []\ncassette: 1\n", 1, 1, "no-cassette", "cassette: 1"),
    ("testdata: 2\n", 1, 1, "no-cassette", "--testdata"),
    ("- 1\n", 1, 1, "no-cassette", "cassette: 1"),
    ("", 1, 1, "no-cassette", "cassette: 1"),
    ("cassette: 1\nrules: [\n", 3, 1, "syntax", "rules"),
]


@pytest.mark.parametrize(("text", "line", "column", "code", "said"), MISTAKES)
def test_every_mistake_has_its_place_and_code(tmp_path, text, line, column, code, said):
    mistakes = problems(tmp_path, {"case.yaml": text})
    assert [(p.file.name, p.line, p.column, p.code) for p in mistakes] == [("case.yaml", line, column, code)], mistakes
    assert said in mistakes[0].text or code == "syntax"


def test_all_problems_of_all_files_are_reported_together(tmp_path):
    mistakes = [text.replace("id: a", f"id: a{i}") for i, (text, *_) in enumerate(MISTAKES)]
    found = problems(tmp_path, {f"{i:02}.yaml": text for i, text in enumerate(mistakes) if MISTAKES[i][3] not in LATER})
    expected = {(f"{i:02}.yaml", line, code) for i, (_, line, _, code, _) in enumerate(MISTAKES) if code not in LATER}
    assert {(p.file.name, p.line, p.code) for p in found} >= {one for one in expected if one[2] != "behaviour"}


LATER = ("unknown-operation", "unknown-error")
"""References are checked only after all files could be read, because the content of a broken file is unknown."""


def test_ids_are_unique_within_a_layer_across_files(tmp_path):
    one = {"cassette": 1, "rules": [{"id": "r", "match": {"path": "/x"}, "respond": {}}]}
    two = {"cassette": 1, "operations": [{"id": "r", "method": "GET", "path": "/y", "respond": {}}]}
    three = {"cassette": 1, "errors": {"e": {"status": 400, "code": "C", "text": "t"}}}
    files = {"one.yaml": one, "two.yaml": two, "x/three.yaml": three, "y/four.yaml": three}
    mistakes = problems(tmp_path, files)
    assert [(p.file.name, p.code) for p in mistakes] == [("two.yaml", "duplicate-id"), ("four.yaml", "duplicate-id")]
    assert "one.yaml:1" in mistakes[0].text
    assert "three.yaml:1" in mistakes[1].text


def test_the_same_id_in_a_later_layer_replaces_the_entry(tmp_path):
    first = rules(
        {"id": "r", "match": {"operation": "list", "query": {"a": "1"}}, "respond": {"status": 201, "body": 1}}
    )
    second = rules({"id": "r", "match": {"path": "/other"}, "respond": {"body": 2}})
    operation = {"id": "one", "method": "GET", "path": "/v1/elsewhere/{thing}", "respond": {"body": "moved"}}
    bank = engine(tmp_path, first, second, {"o.yaml": {"cassette": 1, "operations": [operation]}})
    assert rule_of(ask(bank, "/v1/things?a=1")) == "list"
    assert ask(bank, "/other").status == 200
    assert ask(bank, "/v1/things/5").status == 404
    assert ask(bank, "/v1/elsewhere/5").body == b'"moved"'


def test_a_dialect_must_define_the_format_of_errors(tmp_path):
    bank = {key: value for key, value in BANK.items() if key != "every_error"}
    (problem,) = problems(tmp_path, bank=bank)
    assert (problem.code, problem.file.name) == ("incomplete", "bank.yaml")
    assert "every_error" in problem.text


def test_entries_are_found_by_their_id(tmp_path):
    bank = engine(tmp_path, rules({"id": "mine", "match": {"operation": "one"}})).interface
    assert bank.entry("mine") is bank.rules[0]
    assert bank.entry("one") is bank.operations["one"]
    assert bank.entry("nobody") is None


def test_requirements_of_every_request_are_merged(tmp_path):
    """They are added to the operation's own requirements.

    For the same header the operation's own requirement wins, or both apply if a later layer adds one.
    """
    text = """
    cassette: 1
    every_request: {headers: {X-One: {format: ip}, X-Two: {any: [{absent: true}, {equals: two}]}}}
    operations:
      - {id: own, method: GET, path: /v1/own, require: {headers: {x-one: {exists: true}}}, respond: {body: 1}}
    """

    read, mistakes = check(tmp_path, {"every.yaml": text})
    assert not mistakes
    assert read is not None

    def constraints_of(id):
        return {str(one.place): one.spec for one in read.operations[id].require.constraints}

    two = {"any": [{"absent": True}, {"equals": "two"}]}
    assert constraints_of("one") == {"headers.x-one": {"format": "ip"}, "headers.x-two": two}
    assert constraints_of("own") == {"headers.x-one": {"exists": True}, "headers.x-two": two}

    read, _ = check(tmp_path / "later", {"every.yaml": text}, {"e.yaml": "cassette: 1\nevery_request: {headers: {}}\n"})
    assert constraints_of("one") == {}


def test_mistakes_in_requirements_of_every_request(tmp_path):
    (problem,) = problems(tmp_path, {"e.yaml": "cassette: 1\nevery_request: {headers: {X-One: {regex: '('}}}\n"})

    assert (problem.line, problem.code) == (2, "matcher")
