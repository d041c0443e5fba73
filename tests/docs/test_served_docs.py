"""The documentation that the sandbox serves: every link of every page leads somewhere, and nothing else is shown."""

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

from tests.support.engine_client import Client, an_engine
from xs2a_sandbox.control.documentation import site
from xs2a_sandbox.http.messages import Door

ROOT = Path(__file__).resolve().parents[2]
BASE = "/_sandbox/docs"
PAGES = sorted((ROOT / "docs").rglob("*.md"))


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(an_engine())


class Links(HTMLParser):
    """What a page links to and shows, and the anchors in it."""

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


def test_every_link_of_every_page_leads_somewhere(client: Client) -> None:
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
    assert {f"{BASE}/{name}" for name in site().names()} <= {*pages}, "every page can be found from the first"
    assert not [path for path in pages if not path.startswith(f"{BASE}/")]
    for path, page in pages.items():
        assert len(page.anchors) == len(set(page.anchors)), path
        for link in page.links:
            parts = urlsplit(urljoin(path, link))
            if not parts.netloc and parts.fragment:
                assert parts.fragment in pages[parts.path].anchors, f"{path} links to {link}"
        assert not page.tags & {"script", "iframe", "form", "link"}, path


def test_a_page_is_html_that_needs_no_script_and_stays_alone(client: Client) -> None:
    answer = client.get(f"{BASE}/clients.md")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert "<h1" in answer.body.decode()
    assert "<!-- runs" not in answer.body.decode()


@pytest.mark.parametrize("name", site().names())
def test_no_table_is_split_and_no_link_broken(client: Client, name: str) -> None:
    """Rows after a blank line are no rows but a paragraph that begins with a bar; a link with a blank is none."""
    html = client.get(f"{BASE}/{name}").body.decode()
    assert re.findall(r"<p>\|.{0,60}", html) == []
    assert re.findall(r".{0,30}\]\([^)]*\)", re.sub(r"<code.*?</code>", "", html, flags=re.DOTALL)) == []


def test_the_name_is_enough(client: Client) -> None:
    answer = client.get(f"/s/mine{BASE}/journeys/consent")
    assert (answer.status, answer.headers["location"]) == (303, f"/s/mine{BASE}/journeys/consent.md")


@pytest.mark.parametrize("name", ["site/conf.py", "..%2f..%2fpyproject.toml", "%2fetc%2fpasswd", "images", "a%00.md"])
def test_what_is_no_page_is_not_shown(client: Client, name: str) -> None:
    answer = client.get(f"{BASE}/{name}")
    assert answer.status == 404
    assert b"There is no such page" in answer.body


def test_a_misspelt_page_is_proposed(client: Client) -> None:
    answer = client.get(f"{BASE}/clint.md")
    assert answer.status == 404
    assert "did you mean lint?" in answer.body.decode()


@pytest.mark.parametrize("door", ["proxy", "tls"])
def test_it_is_at_the_base_url_only(client: Client, door: Door) -> None:
    answer = client.get(f"{BASE}/index.md", door=door)
    assert answer.status == 404


@cache
def cited() -> set[tuple[str, str]]:
    """Pages that texts of the package cite, with the file of the text."""
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


def test_every_page_that_a_text_cites_is_there() -> None:
    names = {name.removesuffix(".md") for name in site().names()}
    assert cited()
    assert not {(page, file) for page, file in cited() if page not in names}


def test_no_text_cites_a_file_that_users_of_the_wheel_do_not_have() -> None:
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
def test_what_holds_after_the_first_release_is_said_in_the_same_words(page: str) -> None:
    text = (ROOT / page).read_text()
    words = re.findall("after the first release", text, re.IGNORECASE)
    links = re.findall(
        r"\[after the first release\]\((?:docs/)?quickstart\.md#after-the-first-release\)", text, re.IGNORECASE
    )
    if page != "docs/quickstart.md":
        assert len(words) == len(links), "each leads to the page that says what holds until then"
        assert bool(PUBLISHED.search(text)) <= bool(links)
