import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256

from tests.compare.reports.test_report import comparison
from xs2a_sandbox.compare.reports.report import report
from xs2a_sandbox.features.compare.reports import html


def test_the_page_loads_nothing_and_escapes_everything() -> None:
    evil = "<script>alert(1)</script>\" onload='x"
    page = html.write(report(comparison(({"a": evil, evil: 1}, {"a": "x"})), evil, None))
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert page.count("<script") == 1
    assert f"script-src 'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in page
    assert "&lt;script&gt;" in page
    assert "http://" not in page
    assert "https://" not in page
    assert "default-src 'none'" in page


def test_different_lines_are_marked_on_both_sides_and_equal_ones_are_omitted() -> None:
    bank = {"first": 1, **{f"same{n}": n for n in range(30)}, "new": {"in": [1]}}
    page = html.write(report(comparison((bank, {**bank, "first": 2, "new": None})), "bank", None))
    marked = re.findall(r'<span class="(high|medium)">(.*?)</span>', page.partition("Side by side")[2])
    assert [text.strip() for _, text in marked[:2]] == ["&#34;first&#34;: 1,", "&#34;new&#34;: {"]
    assert ("medium", "  &#34;first&#34;: 2,") in marked
    assert ("high", "    &#34;in&#34;: [") in marked
    assert "same15" not in page
    assert "⋯" in page


def test_a_difference_in_many_exchanges_is_one_row_with_links() -> None:
    page = html.write(report(comparison(*[({"a": 1}, {"a": 2})] * 12), "bank", None))
    assert page.count('<tr class="finding group') == 1
    assert "in 12 of 12 exchanges:" in page
    assert '<a href="#exchange-10">10</a> …' in " ".join(page.split())
    assert 'id="exchange-12"' in page


def test_both_requests_are_shown_if_they_differ() -> None:
    result = comparison(({"a": 1}, {"a": 1}))
    (compared,) = result.compared
    assert compared.sandbox
    page = html.write(report(result, "bank", None))
    assert "<span>GET /v1/things</span>" in page
    assert "To the bank" not in page
    other = replace(compared, sandbox=replace(compared.sandbox, target="/v1/things/7", body=b'{"of": 1}'))
    page = html.write(report(replace(result, compared=(other,)), "bank", None))
    assert "To the bank" in page
    assert "<span>GET /v1/things/7</span>" in page
    assert "&#34;of&#34;: 1" in page
