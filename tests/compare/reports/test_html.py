import re

from tests.compare.reports.test_report import comparison
from xs2a_sandbox.compare.reports import html
from xs2a_sandbox.compare.reports.report import report


def test_the_page_needs_nothing_and_obeys_nothing() -> None:
    evil = "<script>alert(1)</script>\" onload='x"
    page = html.write(report(comparison(({"a": evil, evil: 1}, {"a": "x"})), evil, None))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "http://" not in page
    assert "https://" not in page
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page


def test_lines_that_differ_are_marked_on_both_sides_and_others_left_out() -> None:
    bank = {"first": 1, **{f"same{n}": n for n in range(30)}, "new": {"in": [1]}}
    page = html.write(report(comparison((bank, {**bank, "first": 2, "new": None})), "bank", None))
    marked = re.findall(r'<span class="(high|medium)">(.*?)</span>', page.partition("Side by side")[2])
    assert [text.strip() for _, text in marked[:2]] == ["&#34;first&#34;: 1,", "&#34;new&#34;: {"]
    assert ("medium", "  &#34;first&#34;: 2,") in marked
    assert ("high", "    &#34;in&#34;: [") in marked
    assert "same15" not in page
    assert "⋯" in page


def test_every_operation_and_severity_can_be_chosen() -> None:
    made = report(comparison(({"a": 1}, {}), ({}, {})), "bank", None)
    page = html.write(made)
    for chosen in ("severity-high", "severity-low", "severity-differing", "operation-all", "operation-0"):
        assert f'id="{chosen}"' in page
    assert page.count("<article") == 2
    assert page.count("no difference") == 1
