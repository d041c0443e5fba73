"""The documentation site: it has no broken links, loads nothing from other hosts, and has a search."""

import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from xs2a_sandbox import __version__

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_site_can_be_read_and_searched(tmp_path: Path, browser: Any, pictures: Path | None) -> None:
    """This is one test, because building the site takes longer than everything else."""
    # Sphinx exits with 1 for any broken link between the pages.
    made = subprocess.run(
        [sys.executable, "-m", "tools.site", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    for scheme, width in product(("light", "dark"), (390, 1280)):
        read_pages(tmp_path, browser, pictures, scheme, width)
    search(tmp_path, browser)


def read_pages(site: Path, browser: Any, pictures: Path | None, scheme: str, width: int) -> None:
    """Pages load nothing from other hosts, and fit the screen."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, loaded = context.new_page(), []
    page.on("request", lambda request: loaded.append(request.url))
    for name in ("docs/index", "docs/quickstart", "docs/operations", "docs/journeys/consent", "CHANGELOG"):
        page.goto(f"file://{site}/{__version__}/{name}.html")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, scheme)
        if pictures:
            page.screenshot(path=pictures / f"{name.replace('/', '-')}-{width}-{scheme}.png")
    context.close()
    assert loaded
    assert all(url.startswith(("file:", "data:")) for url in loaded)


def search(site: Path, browser: Any) -> None:
    """Each version has a search, and a link to the others."""
    page = browser.new_page()
    page.goto(f"file://{site}/index.html")
    page.click(f"text={__version__}")
    page.fill("input[name=q]", "vault")
    page.press("input[name=q]", "Enter")
    page.wait_for_selector("#search-results a:has-text('Redaction')")
    page.click("text=others")
    assert page.url == f"file://{site}/index.html"
    page.close()
