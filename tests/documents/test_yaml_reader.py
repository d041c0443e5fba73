"""Reading YAML with both parsers of PyYAML: only the scalars of JSON, and every mistake with its position."""

import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from xs2a_sandbox.documents import yaml_loader as loader
from xs2a_sandbox.documents.yaml_reader import parse
from xs2a_sandbox.errors import Unreadable

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
    def test_json_values_are_read(self, written, value):
        loaded = load(f"a: {written}")["a"]
        assert loaded == value
        assert type(loaded) is type(value)

    @pytest.mark.parametrize("written", ["1.10", "0.0", "-12.50", "1e3", "1E-7", "0.10e+5"])
    def test_decimals_keep_their_digits(self, written):
        loaded = load(f"a: {written}")["a"]
        assert isinstance(loaded, Decimal)
        assert loaded.as_tuple() == Decimal(written).as_tuple()

    @pytest.mark.parametrize(
        "written",
        [
            *["NO", "no", "yes", "on", "Off", "y", "Null", "NULL", "True", "FALSE", ".inf", ".nan", "=", "<"],
            *["2026-11-21", "2026-11-21T12:00:00Z", "12:30:00", "0123", "-01", "0x1F", "0o17", "0b1"],
            *[".5", "5.", "+1", "1_000", "1e", "1.e5", "١"],
        ],
    )
    def test_other_scalars_are_text(self, written):
        assert load(f"a: {written}") == {"a": written}

    def test_quoted_scalars_are_text(self):
        assert load("""{a: "1", b: 'null', c: "", d: 'true'}""") == {"a": "1", "b": "null", "c": "", "d": "true"}

    def test_block_scalars_are_text(self):
        assert load("a: |\n  1\nb: >-\n  true\n") == {"a": "1\n", "b": "true"}

    def test_keys_are_read_as_written(self):
        text = "200: a\non: b\nnull: c\n1.10: d\n0123: e\n2026-11-21: f\n~: g\n'<<': h\n"
        assert list(load(text)) == ["200", "on", "null", "1.10", "0123", "2026-11-21", "~", "<<"]

    def test_a_number_that_is_too_long_is_refused(self):
        assert problems(f"a: {'9' * 5000}") == [(1, 4, "number")]
        assert problems("a: 1e99999") == [(1, 4, "number")]
        assert load("a: '1e99999'") == {"a": "1e99999"}


class TestStructure:
    @pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "---\n", "\ufeff"])
    def test_an_empty_document_is_null(self, text):
        assert load(text) is None

    def test_document_marks_and_a_byte_order_mark_are_accepted(self):
        assert load("\ufeff%YAML 1.1\n---\na: 1\n...\n".encode()) == {"a": 1}

    def test_aliases_are_replaced_by_the_value(self):
        assert load("a: &x {n: 1.10}\nb: [*x, *x]\n&k c: *k") == {
            "a": {"n": Decimal("1.10")},
            "b": [{"n": Decimal("1.10")}] * 2,
            "c": "c",
        }

    def test_an_anchor_can_be_redefined(self):
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
    def test_a_mistake_has_its_position(self, text, found):
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

    def test_a_quoted_expression_is_accepted(self):
        assert problems('a: "{{ x }}" b') == [(1, 14, "syntax")]

    def test_all_mistakes_are_reported_at_once(self):
        text = "a: !t 1\na: 2\nb: *no\nc: {{ x }}\n<<: {}\nd: {{ y }} z\n"
        assert problems(text) == [
            *[(1, 4, "tag"), (2, 1, "duplicate-key"), (3, 4, "alias"), (4, 4, "unquoted-expression")],
            *[(5, 1, "merge-key"), (6, 4, "unquoted-expression")],
        ]

    def test_an_alias_bomb_is_refused(self):
        levels = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"]
        levels += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
        assert problems("\n".join(levels))[0][2] == "alias"

    def test_too_much_depth_is_refused_also_through_aliases(self):
        # Newer C parsers stop by themselves at a thousand brackets.
        assert problems("[" * 200_000) in ([(1, 101, "too-deep")], [(1, 1001, "syntax")])
        assert problems("[" * 200 + "]" * 200) == [(1, 101, "too-deep")]
        assert problems("{a: " * 200_000)[0][2] == "too-deep"
        ladder = "- &b0 " + "[" * 60 + "]" * 60 + "\n- " + "[" * 60 + "*b0" + "]" * 60
        assert problems(ladder) == [(2, 63, "too-deep")]


def test_a_long_file_is_read_quickly(parser):
    if loader._Parser is not getattr(yaml, "CSafeLoader", None):
        pytest.skip("only the C parser is quick")
    record = "      - {transactionId: 'x', bookingDate: '{{ today(-3) }}', amount: {currency: EUR, amount: '-12.50'}}\n"
    text = "accounts:\n  a:\n    booked:\n" + record * 450
    events = min(_seconds(lambda: list(yaml.parse(text, Loader=yaml.CSafeLoader))) for _ in range(5))
    # The Python parser takes fifteen times as long just for the events.
    assert min(_seconds(lambda: parse(text, FILE)) for _ in range(5)) < 5 * events


def _seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of a call."""
    started = time.process_time()
    work()
    return time.process_time() - started
