"""The page of the report can be read and filtered without scripts, also on a phone."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.compare.reports.test_report import comparison
from xs2a_sandbox.compare.reports.report import report
from xs2a_sandbox.features.compare.reports import html

pytestmark = pytest.mark.slow


def written() -> str:
    result = comparison(({"a": 1, "b": "x" * 300}, {"a": 2, "b": 3}), ({"a": 1}, {"a": 2}), ({}, {}))
    return html.write(report(result, "bank", None))


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Any:
    yield from opened(browser, tmp_path, False)


@pytest.fixture
def page_with_script(browser: Any, tmp_path: Path) -> Any:
    yield from opened(browser, tmp_path, True)


def opened(browser: Any, tmp_path: Path, script: bool) -> Any:
    # Playwright's loop runs in this thread, so other loops need another one.
    with ThreadPoolExecutor(1) as another:
        (tmp_path / "report.html").write_text(another.submit(written).result())
    context = browser.new_context(viewport={"width": 360, "height": 740}, java_script_enabled=script)
    page = context.new_page()
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(f"file://{tmp_path / 'report.html'}")
    yield page
    context.close()


def test_the_page_loads_nothing_and_fits_a_phone(page: Any) -> None:
    assert [url for url in page.asked if not url.startswith("file:")] == []
    assert page.locator("main").bounding_box()["width"] <= 360


@pytest.mark.parametrize(
    ("chosen", "seen"), [("all", [1, 2, 3]), ("differing", [1, 2]), ("high", [1]), ("medium", [1, 2]), ("low", [])]
)
def test_findings_can_be_filtered_by_severity(page: Any, chosen: str, seen: list[int]) -> None:
    page.locator("label", has=page.locator(f"#severity-{chosen}")).click()
    assert [n for n in (1, 2, 3) if page.locator(f"#exchange-{n}").is_visible()] == seen
    shown = page.locator("#exchange-1 .finding").filter(visible=True).count()
    assert shown == {"high": 1, "medium": 1, "low": 0}.get(chosen, 2)


def test_both_answers_can_be_opened(page: Any) -> None:
    page.locator("#exchange-1 summary", has_text="Side by side").click()
    assert page.locator("#exchange-1 pre").first.is_visible()
    assert page.locator("#exchange-1 pre .high").count() == 2


def test_the_search_finds_entries_with_all_words(page_with_script: Any) -> None:
    page, seen = page_with_script, lambda: [n for n in (1, 2, 3) if page.locator(f"#exchange-{n}").is_visible()]
    page.fill("#search", "TYPE /b")
    assert seen() == [1]
    assert page.locator(".group").filter(visible=True).count() == 1
    assert page.locator("#count").inner_text() == "1 of 2 differences, 1 of 3 exchanges"
    page.fill("#search", "")
    page.locator("#operation").select_option("(none)")
    assert seen() == [1, 2, 3]
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_without_javascript_no_scripted_control_is_shown(page: Any) -> None:
    assert not page.locator("#search").is_visible()
    assert not page.locator("#operation").is_visible()


def test_axe_finds_no_violations(page_with_script: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    violations = axe.Axe().run(page_with_script)
    assert violations.violations_count == 0, violations.generate_report()
