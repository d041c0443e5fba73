"""The documentation at `/_sandbox/docs/`: pages, images, and the linked OpenAPI documents."""

import base64
import hashlib
import posixpath
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from xs2a_sandbox import __version__
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.documents.html_templates import environment
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.http import Response
from xs2a_sandbox.http.messages import html, redirect

START = "index.md"

_TEMPLATES = Path(__file__).resolve().parent / "templates"
_MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml", ".yaml": "text/plain; charset=utf-8"}
_NO_SNIFF = ("X-Content-Type-Options", "nosniff")


def respond(base: str, path: Sequence[str]) -> Response:
    """Return the content at `path` below `base`. `base` itself redirects to the table of contents."""
    name = "/".join(path)
    if not name:
        return redirect(f"{base}/{START}")
    if name.endswith(".md") and (text := read_page(name)) is not None:
        return _page(name, text)
    if (media_type := _MEDIA_TYPES.get(posixpath.splitext(name)[1])) and (file := _file(name)):
        return Response(headers=(("Content-Type", media_type), _NO_SNIFF), body=file.read_bytes())
    if f"{name}.md" in page_names():
        return redirect(f"{base}/{name}.md")
    close = did_you_mean(name.removesuffix(".md"), [known.removesuffix(".md") for known in page_names()])
    return _show("nowhere.html", 404, title="There is no such page", name=name, close=close, up="../" * name.count("/"))


def page_names() -> list[str]:
    """Return the names of the pages, such as `journeys/consent.md`."""
    folder = bundled("docs")
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.md"))


def read_page(name: str) -> str | None:
    """Return the page's Markdown, or None if there is no such page."""
    file = _file(name)
    return None if file is None else file.read_text("utf-8")


def _file(name: str) -> Path | None:
    """Return the file of this name, if it is inside the folder."""
    if posixpath.normpath(name) != name or name.startswith(("/", "..")) or "\\" in name or "\0" in name:
        return None
    file = bundled("docs") / name
    return file if file.is_file() else None


def _page(name: str, text: str) -> Response:
    from xs2a_sandbox.documentation.markdown import render

    page = render(text, posixpath.dirname(name))
    up = "../" * name.count("/")
    return _show("page.html", title=page.title, body=page.html, headings=page.headings, up=up, is_start=name == START)


def _show(template: str, status: int = 200, **values: object) -> Response:
    text = environment(_TEMPLATES).get_template(template).render(version=__version__, style=_style(), **values)
    return html(text, status, ("Cache-Control", "no-cache"), ("Content-Security-Policy", _policy()))


@cache
def _style() -> str:
    return (_TEMPLATES / "docs.css").read_text()


@cache
def _policy() -> str:
    style = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; img-src 'self'; form-action 'none'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )
