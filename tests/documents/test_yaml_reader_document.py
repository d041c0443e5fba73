import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.documents import yaml_loader
from xs2a_sandbox.documents.document import Document, split_lines
from xs2a_sandbox.documents.yaml_reader import parse, read
from xs2a_sandbox.errors import Problem, Unreadable

FILE = Path("cases/file.yaml")


@pytest.fixture(params=["CSafeLoader", "SafeLoader"], autouse=True)
def parser(request, monkeypatch):
    if not hasattr(yaml, request.param):
        pytest.skip("PyYAML was built without libyaml")
    monkeypatch.setattr(yaml_loader, "_Parser", getattr(yaml, request.param))


def test_a_missing_file_is_unreadable(tmp_path):
    with pytest.raises(Unreadable, match=r"no\.yaml:1:1: error unreadable: cannot be read: No such file"):
        read(tmp_path / "no.yaml")
    with pytest.raises(Unreadable, match="directory"):
        read(tmp_path)


def test_an_error_shows_the_line_and_a_caret():
    with pytest.raises(Unreadable) as caught:
        parse("a: 1\nb:\n  x: 1\n  x: 2\n", FILE)
    assert str(caught.value) == (
        "cases/file.yaml:4:3: error duplicate-key: the key x already exists, in line 3\n      x: 2\n      ^"
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
    def test_a_value_has_its_position(self, pointer, key, place):
        document = parse(self.DOCUMENT, FILE)
        problem = document.problem(pointer, "x", "y", key=key)
        assert (problem.line, problem.column) == place
        assert problem.source == self.DOCUMENT.splitlines()[place[0] - 1]
        if not key:
            assert document.line(pointer) == place[0]

    def test_unusual_line_breaks_are_counted(self):
        document = parse("a: 1\r\nb: 2\rc: 3\u2028d: ö\u2028e: 5", FILE)
        assert [document.line([key]) for key in "abcde"] == [1, 2, 3, 4, 5]


PRINTABLE = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | PRINTABLE,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(PRINTABLE, inner, max_size=5),
    max_leaves=30,
)


def dump(value: Any) -> str:
    """Return JSON with only the characters that YAML allows."""
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
    @given(JSON)
    def test_json_is_yaml(self, value):
        document = parse(dump(value), FILE)
        assert document.value == value

    @given(st.binary(max_size=200) | st.text(alphabet="ab:-[]{}&*!#|>'\"%@`,? \n\t<\r\x85{{}}10.", max_size=80))
    def test_any_text_is_read_or_reported_as_unreadable(self, text):
        parsed: Document | Unreadable
        try:
            parsed = parse(text, FILE)
        except Unreadable as unreadable:
            parsed = unreadable
        if isinstance(parsed, Document):
            self.places(parsed, parsed.value, ())
        else:
            assert parsed.problems
            decoded = text.decode(errors="replace") if isinstance(text, bytes) else text
            lines = split_lines(decoded.removeprefix("\ufeff"))
            for problem in parsed.problems:
                self.inside(problem, lines)

    def inside(self, problem: Problem, lines: list[str]) -> None:
        assert 1 <= problem.line <= len(lines)
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1

    def places(self, document: Document, value: Any, pointer: tuple[str | int, ...]) -> None:
        for key in (True, False):
            self.inside(document.problem(pointer, "x", "y", key=key), list(document.source.lines))
        steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for step, inner in steps:
            self.places(document, inner, (*pointer, step))
