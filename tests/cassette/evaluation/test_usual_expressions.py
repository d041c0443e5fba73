"""The short way to parse common expressions gives what Jinja2 gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import TemplateSyntaxError, nodes

from xs2a_sandbox.cassette.evaluation.expressions import ENVIRONMENT, parse_text
from xs2a_sandbox.errors import ExpressionError

WORDS = "a items self _ A1 1 é class lambda import loop recursive today"
KEYWORDS = "none None NONE true True false not in is if else and or"
NAMES = st.sampled_from((*WORDS.split(), *KEYWORDS.split()))
PADDING = st.sampled_from(("", " ", "  ", "- "))
CHAINS = st.builds(
    lambda before, names, after: "{{" + before + ".".join(names) + after + "}}",
    PADDING,
    st.lists(NAMES, min_size=1, max_size=3),
    PADDING,
)
DAYS = st.sampled_from(("0", "-0", "1", "-1", "007", "-30", "1_0", "--1", "1.5", "", "a", "-a")).map(
    lambda days: f"{{{{ today({days}) }}}}"
)


def parse_slowly(text: str) -> list[nodes.Expr] | None:
    try:
        template = ENVIRONMENT.parse(text)
    except TemplateSyntaxError:
        return None
    return [part for output in template.body if isinstance(output, nodes.Output) for part in output.nodes]


def parse(text: str) -> list[nodes.Expr] | None:
    try:
        return parse_text(text, text)
    except ExpressionError:
        return None


@given(CHAINS | DAYS)
def test_each_text_has_the_tree_of_jinja2(text: str) -> None:
    assert parse(text) == parse_slowly(text)


@pytest.mark.parametrize("text", ["{{ a }}", "{{ result.items.x1 }}", "{{ today(-3) }}", "{{ today(10) }}"])
def test_usual_expressions_need_no_lexer(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = parse_slowly(text)
    monkeypatch.setattr(ENVIRONMENT, "parse", None)

    (expression,) = parse_text(text, text)

    assert [expression] == expected
    assert all(node.environment is ENVIRONMENT for node in [expression, *expression.find_all(nodes.Node)])
