"""Every relative link in the Markdown files works on a Git host: its file is committed, and its anchor exists."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    file.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "bench/*.md")
    for file in sorted(ROOT.glob(pattern))
]


@cache
def committed_files() -> frozenset[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is not a Git checkout")
    return frozenset(listed.stdout.split("\0"))


@cache
def prose(page: str) -> str:
    """Return the page without code."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return text if page.endswith(".md") else ""


def relative_links(page: str) -> list[str]:
    text = re.sub(r"`[^`\n]*`", "", prose(page))
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'\b(?:href|src)="([^"]+)"', text)
    return [link for link in links if not re.match(r"[a-z]+:", link)]


@cache
def anchors(page: str) -> frozenset[str]:
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings)


@pytest.mark.parametrize("page", PAGES)
def test_relative_links_resolve(page: str) -> None:
    for link in relative_links(page):
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent.joinpath(path).resolve().relative_to(ROOT).as_posix() if path else page
        is_folder = any(name.startswith(f"{target}/") for name in committed_files())
        assert target in committed_files() or is_folder, f"{link}: not a committed file"
        assert not anchor or anchor in anchors(target), f"{link}: no such heading"


def test_links_are_found() -> None:
    assert "docs/states.md" in [f"docs/{link}" for link in relative_links("docs/index.md")]
    assert len(relative_links("README.md")) > 10
