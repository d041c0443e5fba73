"""The served documentation: every link works, and no other files are shown."""

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

from tests.support.engine_client import Client, an_engine
from xs2a_sandbox.documentation import page_names
from xs2a_sandbox.http.messages import Door

ROOT = Path(__file__).resolve().parents[2]
BASE = "/_sandbox/docs"
PAGES = sorted((ROOT / "docs").rglob("*.md"))


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(an_engine())


class Links(HTMLParser):
    """The links, images and anchors of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: list[str] = []
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            if name == "id" and value:
                self.anchors.append(value)


def test_every_link_of_every_page_resolves(client: Client) -> None:
    first = client.get(BASE)
    assert (first.status, first.headers["location"]) == (303, f"{BASE}/index.md")
    waiting, pages, wanted = [f"{BASE}/index.md"], dict[str, Links](), dict[str, str]()
    while waiting:
        path = waiting.pop()
        answer = client.get(path)
        assert answer.status == 200, f"{path}, which {wanted.get(path)} links to"
        pages[path] = Links(answer.body.decode()) if "html" in answer.headers["content-type"] else Links("")
        for link in pages[path].links:
            parts = urlsplit(urljoin(path, link))
            if not parts.netloc and parts.path not in {*pages, *waiting}:
                wanted[parts.path] = path
                waiting.append(parts.path)
    assert {f"{BASE}/{name}" for name in page_names()} <= {*pages}, "every page can be reached from the first"
    assert not [path for path in pages if not path.startswith(f"{BASE}/")]
    for path, page in pages.items():
        assert len(page.anchors) == len(set(page.anchors)), path
        for link in page.links:
            parts = urlsplit(urljoin(path, link))
            if not parts.netloc and parts.fragment:
                assert parts.fragment in pages[parts.path].anchors, f"{path} links to {link}"
        assert not page.tags & {"script", "iframe", "form", "link"}, path


def test_a_page_is_html_without_scripts_and_cannot_be_framed(client: Client) -> None:
    answer = client.get(f"{BASE}/clients.md")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert "<h1" in answer.body.decode()
    assert "<!-- runs" not in answer.body.decode()


@pytest.mark.parametrize("name", page_names())
def test_tables_and_links_are_intact(client: Client, name: str) -> None:
    """A blank line ends a table, so later rows become a paragraph; a link that contains a blank is not a link."""
    html = client.get(f"{BASE}/{name}").body.decode()
    assert re.findall(r"<p>\|.{0,60}", html) == []
    assert re.findall(r".{0,30}\]\([^)]*\)", re.sub(r"<code.*?</code>", "", html, flags=re.DOTALL)) == []


def test_the_extension_is_optional(client: Client) -> None:
    answer = client.get(f"/s/mine{BASE}/journeys/consent")
    assert (answer.status, answer.headers["location"]) == (303, f"/s/mine{BASE}/journeys/consent.md")


@pytest.mark.parametrize("name", ["site/conf.py", "..%2f..%2fpyproject.toml", "%2fetc%2fpasswd", "images", "a%00.md"])
def test_other_files_are_not_shown(client: Client, name: str) -> None:
    answer = client.get(f"{BASE}/{name}")
    assert answer.status == 404
    assert b"There is no such page" in answer.body


def test_a_misspelt_page_gets_a_suggestion(client: Client) -> None:
    answer = client.get(f"{BASE}/clint.md")
    assert answer.status == 404
    assert "did you mean lint?" in answer.body.decode()


@pytest.mark.parametrize("door", ["proxy", "tls"])
def test_the_documentation_is_only_at_the_base_url(client: Client, door: Door) -> None:
    answer = client.get(f"{BASE}/index.md", door=door)
    assert answer.status == 404


@cache
def cited() -> set[tuple[str, str]]:
    """Return the pages that strings of the package refer to, with the file of each string."""
    sources = [
        *(ROOT / "addons").rglob("*.py"),
        *(ROOT / "addons").rglob("*.html"),
        *(ROOT / "cassettes").rglob("*.yaml"),
    ]
    found = (
        (re.findall(r"xs2a-sandbox docs ([a-z][\w/-]*)|/_sandbox/docs/([\w/-]+)\.md", file.read_text()), file)
        for file in sources
    )
    return {(page or other, file.name) for pages, file in found for page, other in pages}


def test_every_page_cited_in_the_code_exists() -> None:
    names = {name.removesuffix(".md") for name in page_names()}
    assert cited()
    assert not {(page, file) for page, file in cited() if page not in names}


def test_the_code_cites_no_file_that_is_missing_from_the_wheel() -> None:
    in_code = re.compile(r"""^[^#"]*["'].*\bdocs/[\w/-]+\.md""")
    files = [*(ROOT / "addons").rglob("*.py"), *(ROOT / "addons").rglob("*.html")]
    lines = {
        f"{file.name}: {line.strip()}"
        for file in files
        for line in file.read_text().splitlines()
        if in_code.search(line) and '"""' not in line and "/_sandbox/docs/" not in line
    }
    assert lines == set()


PUBLISHED = re.compile(r"pipx? install (-U )?\"?xs2a-sandbox|uvx xs2a-sandbox|ghcr\.io/|xs2a-sandbox@v")


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{file.relative_to(ROOT / 'docs')}" for file in PAGES)])
def test_the_phrase_after_the_first_release_is_always_a_link(page: str) -> None:
    text = (ROOT / page).read_text()
    words = re.findall("after the first release", text, re.IGNORECASE)
    links = re.findall(
        r"\[after the first release\]\((?:docs/)?quickstart\.md#after-the-first-release\)", text, re.IGNORECASE
    )
    if page != "docs/quickstart.md":
        assert len(words) == len(links), "each links to the page that explains what works until then"
        assert bool(PUBLISHED.search(text)) <= bool(links)
