"""JSON as the console shows it."""

import json
import re
from html import unescape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.features.console.json_html import json_html

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_what_it_shows_is_the_same_json_and_nothing_of_it_is_markup(value: Any) -> None:
    html = str(json_html(value, "/_sandbox", lambda text: True))
    text = re.sub(r"<span class='more'>.*?</span>", "", html)
    assert json.loads(unescape(re.sub(r"<[^>]*>", "", text))) == value
    assert set(re.findall(r"<(\w+)", html)) <= {"div", "details", "summary", "span", "a"}


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("/v1/consents/1/status?x=2", "/_sandbox/?search=path%3A%2Fv1%2Fconsents%2F1%2Fstatus"),
        ("https://bank.example/sca?id=1", "https://bank.example/sca?id=1"),
    ],
)
def test_an_address_is_a_link(text: str, link: str) -> None:
    assert f"href='{link}'" in unescape(str(json_html({"href": text}, "/_sandbox", lambda text: True)))


@pytest.mark.parametrize("text", ["javascript:alert(1)", "plain", "a /v1/x", "https://a b"])
def test_other_texts_are_none(text: str) -> None:
    assert "<a" not in str(json_html([text], "/_sandbox", lambda text: True))


def test_only_a_path_of_a_bank_is_a_link() -> None:
    value = {"href": "/v1/accounts", "path": "/instructedAmount/amount"}
    html = str(json_html(value, "/_sandbox", lambda text: text.startswith("/v1/")))
    assert re.findall(r"<a [^>]*>([^<]*)</a>", html) == ["&quot;/v1/accounts&quot;"]


def test_one_that_is_too_large_or_too_deep_is_left_to_be_shown_as_text() -> None:
    assert json_html([[n] for n in range(2000)], "/_sandbox", bool) is None
    deep: list[Any] = []
    for _ in range(2500):
        deep = [deep]
    assert json_html(deep, "/_sandbox", bool) is None
