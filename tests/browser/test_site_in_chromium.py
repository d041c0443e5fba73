"""The documentation site: it has no broken links, loads nothing from other hosts, and has a search."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from xs2a_sandbox import __version__

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sphinx exits with 1 for any broken link between the pages."""
    folder = tmp_path_factory.mktemp("site")
    made = subprocess.run(
        [sys.executable, "-m", "tools.site", str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_load_nothing_from_other_hosts_and_fit_the_screen(
    site: Path, browser: Any, pictures: Path | None, scheme: str, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, loaded = context.new_page(), []
    page.on("request", lambda request: loaded.append(request.url))
    for name in ("docs/index", "docs/quickstart", "docs/operations", "docs/journeys/consent", "CHANGELOG"):
        page.goto(f"file://{site}/{__version__}/{name}.html")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        if pictures:
            page.screenshot(path=pictures / f"{name.replace('/', '-')}.png")
    context.close()
    assert loaded
    assert all(url.startswith(("file:", "data:")) for url in loaded)


def test_the_site_has_a_search_and_links_to_all_versions(site: Path, browser: Any) -> None:
    page = browser.new_page()
    page.goto(f"file://{site}/index.html")
    page.click(f"text={__version__}")
    page.fill("input[name=q]", "vault")
    page.press("input[name=q]", "Enter")
    page.wait_for_selector("#search-results a:has-text('Redaction')")
    page.click("text=others")
    assert page.url == f"file://{site}/index.html"
    page.close()
