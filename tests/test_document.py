import json
import re
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from xs2a_sandbox import loader
from xs2a_sandbox.document import Document, complaints, parse, read
from xs2a_sandbox.errors import Problem, Unreadable

FILE = Path("cases/file.yaml")


@pytest.fixture(params=["CSafeLoader", "SafeLoader"], autouse=True)
def parser(request, monkeypatch):
    if not hasattr(yaml, request.param):
        pytest.skip("PyYAML was built without libyaml")
    monkeypatch.setattr(loader, "_Parser", getattr(yaml, request.param))


def load(text: str | bytes) -> Any:
    return parse(text, FILE).value


def problems(text: str | bytes) -> list[tuple[int, int, str]]:
    with pytest.raises(Unreadable) as caught:
        parse(text, FILE)
    return [(p.line, p.column, p.code) for p in caught.value.problems]


def text_of(text: str | bytes) -> str:
    with pytest.raises(Unreadable) as caught:
        parse(text, FILE)
    return str(caught.value)


class TestScalars:
    @pytest.mark.parametrize(
        ("written", "value"),
        [
            *[("null", None), ("~", None), ("", None), ("true", True), ("false", False)],
            *[("0", 0), ("-0", 0), ("200", 200), ("-7", -7), ("9" * 50, int("9" * 50))],
        ],
    )
    def test_json_values(self, written, value):
        found = load(f"a: {written}")["a"]
        assert found == value
        assert type(found) is type(value)

    @pytest.mark.parametrize("written", ["1.10", "0.0", "-12.50", "1e3", "1E-7", "0.10e+5"])
    def test_decimals_keep_their_digits(self, written):
        found = load(f"a: {written}")["a"]
        assert isinstance(found, Decimal)
        assert found.as_tuple() == Decimal(written).as_tuple()

    @pytest.mark.parametrize(
        "written",
        [
            *["NO", "no", "yes", "on", "Off", "y", "Null", "NULL", "True", "FALSE", ".inf", ".nan", "=", "<"],
            *["2026-11-21", "2026-11-21T12:00:00Z", "12:30:00", "0123", "-01", "0x1F", "0o17", "0b1"],
            *[".5", "5.", "+1", "1_000", "1e", "1.e5", "١"],
        ],
    )
    def test_everything_else_is_text(self, written):
        assert load(f"a: {written}") == {"a": written}

    def test_quoted_is_text(self):
        assert load("""{a: "1", b: 'null', c: "", d: 'true'}""") == {"a": "1", "b": "null", "c": "", "d": "true"}

    def test_block_text(self):
        assert load("a: |\n  1\nb: >-\n  true\n") == {"a": "1\n", "b": "true"}

    def test_keys_are_what_was_written(self):
        text = "200: a\non: b\nnull: c\n1.10: d\n0123: e\n2026-11-21: f\n~: g\n'<<': h\n"
        assert list(load(text)) == ["200", "on", "null", "1.10", "0123", "2026-11-21", "~", "<<"]

    def test_a_number_that_is_too_long(self):
        assert problems(f"a: {'9' * 5000}") == [(1, 4, "number")]
        assert problems("a: 1e99999") == [(1, 4, "number")]
        assert load("a: '1e99999'") == {"a": "1e99999"}


class TestStructure:
    @pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "---\n", "\ufeff"])
    def test_empty(self, text):
        assert load(text) is None

    def test_document_marks_and_byte_order_mark(self):
        assert load("\ufeff%YAML 1.1\n---\na: 1\n...\n".encode()) == {"a": 1}

    def test_aliases_are_the_value(self):
        assert load("a: &x {n: 1.10}\nb: [*x, *x]\n&k c: *k") == {
            "a": {"n": Decimal("1.10")},
            "b": [{"n": Decimal("1.10")}] * 2,
            "c": "c",
        }

    def test_an_anchor_may_be_used_again(self):
        assert load("- &x 1\n- *x\n- &x 2\n- *x") == [1, 1, 2, 2]


class TestRefused:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("a: 1\nb: 2\na: 3\n", [(3, 1, "duplicate-key")]),
            ("on: 1\n'on': 3\n", [(2, 1, "duplicate-key")]),
            ("a: !!python/object/apply:os.system [ls]\n", [(1, 4, "tag")]),
            ("a: !!str 1\nb: !x {}\n!!int 3: ! c\n", [(1, 4, "tag"), (2, 4, "tag"), (3, 1, "tag"), (3, 10, "tag")]),
            ("<<: {a: 1}\n", [(1, 1, "merge-key")]),
            ("a: &x {b: 1}\nc:\n  <<: *x\n  d: 1\n", [(3, 3, "merge-key")]),
            ("a: 1\n---\nb: 2\n", [(2, 1, "documents")]),
            ("a: *x\n", [(1, 4, "alias")]),
            ("a: &x [1, *x]\n", [(1, 11, "alias")]),
            ("? [a]\n: b\n", [(1, 3, "key")]),
            ("a:\n\tb: 1\n", [(2, 1, "syntax")]),
            ("a: @x\n", [(1, 4, "syntax")]),
            ("a: b: c\n", [(1, 5, "syntax")]),
            ("a: [1,\n", [(2, 1, "syntax")]),
            ('a: "x\n', [(2, 1, "syntax")]),
            ("a: 1\n b\x01\nc: \x7f", [(2, 3, "character"), (3, 4, "character")]),
            ("a: \ud800", [(1, 4, "character")]),
            ("a: 1\nü: ö\xff".encode("latin-1"), [(2, 1, "encoding")]),
            ("a: 1".encode("utf-16"), [(1, 1, "encoding")]),
        ],
    )
    def test_with_its_place(self, text, found):
        assert problems(text) == found

    @pytest.mark.parametrize(
        ("text", "place"),
        [
            ("a: {{ x }}", (1, 4)),
            ("a:\n  - {{ today(-3) }}", (2, 5)),
            ("a: {{ x }}/more\n", (1, 4)),
            ("a: {{ headers['psu-id'] }}", (1, 4)),
            ('a: {{ headers["psu-id"] | length }}', (1, 4)),
            ("a: [{{ x }}]", (1, 5)),
            ("a: {b: {{ x }}}", (1, 8)),
            ("a: {{ a: b }}", (1, 4)),
            ("a: text {{ a: b }}", (1, 9)),
        ],
    )
    def test_an_unquoted_expression_has_its_own_message(self, text, place):
        assert problems(text) == [(*place, "unquoted-expression")]
        assert 'quote it: "{{ … }}"' in text_of(text)

    def test_an_expression_in_quotes_is_not_blamed(self):
        assert problems('a: "{{ x }}" b') == [(1, 14, "syntax")]

    def test_all_at_once(self):
        text = "a: !t 1\na: 2\nb: *no\nc: {{ x }}\n<<: {}\nd: {{ y }} z\n"
        assert problems(text) == [
            *[(1, 4, "tag"), (2, 1, "duplicate-key"), (3, 4, "alias"), (4, 4, "unquoted-expression")],
            *[(5, 1, "merge-key"), (6, 4, "unquoted-expression")],
        ]

    def test_alias_bomb(self):
        levels = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"]
        levels += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
        assert problems("\n".join(levels))[0][2] == "alias"

    def test_depth_also_by_alias(self):
        assert problems("[" * 200_000) == [(1, 101, "too-deep")]
        assert problems("{a: " * 200_000)[0][2] == "too-deep"
        ladder = "- &b0 " + "[" * 60 + "]" * 60 + "\n- " + "[" * 60 + "*b0" + "]" * 60
        assert problems(ladder) == [(2, 63, "too-deep")]

    def test_no_file(self, tmp_path):
        with pytest.raises(Unreadable, match=r"no\.yaml:1:1: error unreadable: cannot be read: No such file"):
            read(tmp_path / "no.yaml")
        with pytest.raises(Unreadable, match="directory"):
            read(tmp_path)

    def test_the_line_and_a_caret_are_shown(self):
        assert text_of("a: 1\nb:\n  x: 1\n  x: 2\n") == (
            "cases/file.yaml:4:3: error duplicate-key: the key x is there already, in line 3\n      x: 2\n      ^"
        )


class TestPlaces:
    DOCUMENT = "# first\na:\n  - b: 1\n    c: {d: x}\n  - &e y\nf: *e\n"

    @pytest.mark.parametrize(
        ("pointer", "key", "place"),
        [
            ((), False, (2, 1)),
            (("a",), False, (3, 3)),
            (("a",), True, (2, 1)),
            (("a", 0, "c", "d"), False, (4, 12)),
            (("a", 0, "c", "d"), True, (4, 9)),
            (("a", 0, "c", "nothing"), True, (4, 8)),
            (("a", 7, "c"), False, (3, 3)),
            (("a", "b"), False, (3, 3)),
            (("a", 0, "b", "deeper", 3), False, (3, 8)),
            (("a", 1), True, (5, 5)),
            (("f",), False, (5, 5)),
            (("f",), True, (6, 1)),
        ],
    )
    def test_place(self, pointer, key, place):
        document = parse(self.DOCUMENT, FILE)
        problem = document.problem(pointer, "x", "y", key=key)
        assert (problem.line, problem.column) == place
        assert problem.source == self.DOCUMENT.splitlines()[place[0] - 1]
        if not key:
            assert document.line(pointer) == place[0]

    def test_unusual_line_breaks(self):
        document = parse("a: 1\r\nb: 2\rc: 3\u2028d: ö\u2028e: 5", FILE)
        assert [document.line([key]) for key in "abcde"] == [1, 2, 3, 4, 5]


SCHEMA = {
    "type": "object",
    "required": ["cassette"],
    "additionalProperties": False,
    "properties": {
        "cassette": {"const": 1},
        "title": {"type": "string"},
        "kind": {"enum": ["simulate", "record", "compare"]},
        "port": {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 65535}, {"const": "off"}]},
        "matcher": {
            "oneOf": [
                {"type": ["string", "number"]},
                {"type": "object", "additionalProperties": False, "properties": {"regex": {"type": "string"}}},
                {
                    "type": "object",
                    "required": ["kind", "size"],
                    "properties": {"kind": {"const": "big"}, "size": {"type": "integer"}},
                },
            ]
        },
        "rule": {"oneOf": [{"required": ["respond"]}, {"required": ["sequence"]}]},
        "iban": {"type": "string", "format": "iban"},
        "codes": {"propertyNames": {"pattern": "^[0-9]{3}$"}, "maxProperties": 2},
        "list": {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"type": "string", "pattern": "^x"}},
    },
}


def said(text: str, schema: Any = SCHEMA) -> list[tuple[int, int, str, str]]:
    return [(p.line, p.column, p.code, p.text) for p in complaints(parse(text, FILE), schema)]


class TestComplaints:
    def test_none(self):
        text = "cassette: 1\nport: off\nmatcher: {kind: big, size: 3}\nlist: [x, xy]\niban: DE89370400440532013000\n"
        assert said(text) == []

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("titel: x", (2, 1, "unknown-key", "unknown key titel; did you mean title?")),
            ("title: 1", (2, 8, "wrong-type", "must be text, not 1; quote it to make it text")),
            ("title: [1]", (2, 8, "wrong-type", "must be text, not a list")),
            ("title:", (2, 7, "wrong-type", "must be text, not null")),
            (
                "kind: recrod",
                (2, 7, "wrong-value", 'must be "simulate", "record" or "compare", not "recrod"; did you mean record?'),
            ),
            ("port: of", (2, 7, "wrong-value", 'must be a whole number or "off", not "of"; did you mean off?')),
            ("port: 70000", (2, 7, "wrong-value", "must be at most 65535, not 70000")),
            ("port: 1.5", (2, 7, "wrong-value", 'must be a whole number or "off", not 1.5')),
            ("matcher: [1]", (2, 10, "wrong-type", "must be text, a number or a mapping, not a list")),
            ("matcher: {regx: x}", (2, 11, "unknown-key", "unknown key regx; did you mean regex?")),
            ("matcher: {regex: 1}", (2, 18, "wrong-type", "must be text, not 1; quote it to make it text")),
            ("matcher: {kind: big, size: x}", (2, 28, "wrong-type", 'must be a whole number, not "x"')),
            ("matcher: {kind: big}", (2, 10, "missing-key", "the key size is missing in matcher")),
            ("rule: {}", (2, 7, "missing-key", "one of the keys respond or sequence is missing in rule")),
            (
                "rule: {respond: 1, sequence: 2}",
                (2, 20, "wrong-value", "only one of respond and sequence may be given"),
            ),
            ("iban: DE00", (2, 7, "wrong-value", 'must be a valid iban, not "DE00"')),
            ("codes: {a: 1}", (2, 9, "wrong-value", 'the key a must match ^[0-9]{3}$, not "a"')),
            ("codes: {200: 1, 201: 1, 202: 1}", (2, 8, "wrong-value", "must have at most 2 keys, not a mapping")),
            ("list: []", (2, 7, "wrong-value", "must have at least 1 entries, not a list")),
            ("list: [x, x]", (2, 7, "wrong-value", "has the same entry twice")),
            ("list: [x, y]", (2, 11, "wrong-value", 'must match ^x, not "y"')),
        ],
    )
    def test_what_and_where(self, text, complaint):
        assert said(f"cassette: 1\n{text}\n") == [complaint]

    def test_missing_key_at_the_top_and_all_at_once(self):
        assert said("title: 1\nkind: x\n") == [
            (1, 1, "missing-key", "the key cassette is missing"),
            (1, 8, "wrong-type", "must be text, not 1; quote it to make it text"),
            (2, 7, "wrong-value", 'must be "simulate", "record" or "compare", not "x"'),
        ]

    def test_an_unknown_key_without_a_near_one_lists_the_possible(self):
        found = said("a: 1", {"additionalProperties": False, "properties": {"x": {}, "yy": {}}})
        assert found == [(1, 1, "unknown-key", "unknown key a; possible here: x, yy")]

    def test_references_to_the_other_schemas(self, tmp_path, monkeypatch):
        from xs2a_sandbox import complaint

        (tmp_path / "deep").mkdir()
        shared = {"$id": "https://example.org/schemas/shared.schema.json", "$defs": {"id": {"type": "integer"}}}
        (tmp_path / "shared.schema.json").write_text(json.dumps(shared))
        (tmp_path / "deep/own.schema.json").write_text('{"type": "boolean"}')
        monkeypatch.setattr(complaint, "bundled", lambda name: tmp_path)
        complaint._registry.cache_clear()
        try:
            schema = {
                "$id": "https://example.org/schemas/top.schema.json",
                "properties": {"a": {"$ref": "shared.schema.json#/$defs/id"}},
            }
            assert said("a: x", schema) == [(1, 4, "wrong-type", 'must be a whole number, not "x"')]
            assert said("x", {"$ref": "deep/own.schema.json"})[0][2] == "wrong-type"
        finally:
            complaint._registry.cache_clear()

    def test_never_the_validators_own_words(self):
        everything = {
            "not": {"type": "string"},
            "if": {"type": "string"},
            "then": {"minLength": 9, "multipleOf": 3},
            "contains": {"const": 1},
            "dependentRequired": {"a": ["b"]},
        }
        assert said("abc", everything)[0][3] == "has a form that is not allowed here"
        assert said("abc", everything)[1][3] == 'must have at least 9 characters, not "abc"'
        assert said("[2]", everything)[0][3] == "lacks an entry that must be there"
        assert said("a: 1", everything)[0][3] == "a needs the key b beside it"
        assert said("7", {"multipleOf": 2})[0][3] == "does not satisfy multipleOf: 2"


PRINTABLE = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | PRINTABLE,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(PRINTABLE, inner, max_size=5),
    max_leaves=30,
)


def dump(value: Any) -> str:
    """JSON whose characters YAML may hold."""
    match value:
        case dict():
            return "{" + ", ".join(f"{dump(key)}: {dump(inner)}" for key, inner in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(dump, value)) + "]"
        case str():
            text = json.dumps(value, ensure_ascii=False)
            return re.sub(r"[^\x20-\x7e\xa0-\u2027\u2030-\ud7ff\ue000-\ufefe]", lambda c: f"\\U{ord(c[0]):08x}", text)
        case Decimal():
            text = str(value)
            return text if "." in text or "E" in text else f"{text}.0"
    return json.dumps(value)


class TestProperties:
    @settings(max_examples=150, deadline=None)
    @given(JSON)
    def test_json_is_yaml(self, value):
        document = parse(dump(value), FILE)
        assert document.value == value

    @settings(max_examples=300, deadline=None)
    @given(st.binary(max_size=200) | st.text(alphabet="ab:-[]{}&*!#|>'\"%@`,? \n\t<\r\x85{{}}10.", max_size=80))
    def test_anything_is_read_or_unreadable_inside_the_file(self, text):
        found: Document | Unreadable
        try:
            found = parse(text, FILE)
        except Unreadable as unreadable:
            found = unreadable
        if isinstance(found, Document):
            self.places(found, found.value, ())
        else:
            assert found.problems
            decoded = text.decode(errors="replace") if isinstance(text, bytes) else text
            lines = loader.split_lines(decoded.removeprefix("\ufeff"))
            for problem in found.problems:
                self.inside(problem, lines)

    def inside(self, problem: Problem, lines: list[str]) -> None:
        assert 1 <= problem.line <= len(lines)
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1

    def places(self, document: Document, value: Any, pointer: tuple[str | int, ...]) -> None:
        for key in (True, False):
            self.inside(document.problem(pointer, "x", "y", key=key), list(document.lines))
        steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for step, inner in steps:
            self.places(document, inner, (*pointer, step))


def test_a_long_file_is_read_quickly(parser):
    if loader._Parser is not getattr(yaml, "CSafeLoader", None):
        pytest.skip("only the C parser is quick")
    record = "      - {transactionId: 'x', bookingDate: '{{ today(-3) }}', amount: {currency: EUR, amount: '-12.50'}}\n"
    text = "accounts:\n  a:\n    booked:\n" + record * 450
    fastest = min(_seconds(text) for _ in range(5))
    assert fastest < 0.1


def _seconds(text: str) -> float:
    started = time.perf_counter()
    parse(text, FILE)
    return time.perf_counter() - started
