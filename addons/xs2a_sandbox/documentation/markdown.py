"""Converts Markdown to HTML with anchors for headings."""

import posixpath
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

_NO_SLUG = re.compile(r"[^\w\- ]")


class Rendered(NamedTuple):
    """`headings` are anchor and text of each second-level heading."""

    title: str
    headings: list[tuple[str, str]]
    html: str


def render(text: str, folder: str = "") -> Rendered:
    """Render a page in this folder.

    Links that lead out of the documentation, into the repository, become text.
    """
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = [token for token in parser.parse(text) if not _is_left_out(token)]
    headings = _anchor(tokens)
    for token in tokens:
        if token.type == "table_open":
            token.attrSet("tabindex", "0")
        token.children = None if token.children is None else _without_ways_out(token.children, folder)
    return Rendered(
        next((text for level, _, text in headings if level == "h1"), ""),
        [(anchor, text) for level, anchor, text in headings if level == "h2"],
        str(parser.renderer.render(tokens, parser.options, {})),
    )


def _is_left_out(token: Token) -> bool:
    """Return whether it is a comment or a diagram.

    Diagrams would need a script, and the table after each says the same.
    """
    return token.type == "html_block" or (token.type == "fence" and token.info == "mermaid")


def _anchor(tokens: Sequence[Token]) -> list[tuple[str, str, str]]:
    """Add GitHub's anchor to each heading, and return level, anchor and text of all headings."""
    headings: list[tuple[str, str, str]] = []
    slugs: list[str] = []
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            text = "".join(child.content for child in inline.children or ())
            slug = _NO_SLUG.sub("", text.lower()).replace(" ", "-")
            again = slugs.count(slug)
            slugs.append(slug)
            anchor = f"{slug}-{again}" if again else slug
            heading.attrSet("id", anchor)
            headings.append((heading.tag, anchor, text))
    return headings


def _without_ways_out(children: list[Token], folder: str) -> list[Token]:
    kept, is_out = [], False
    for child in children:
        if child.type == "link_open":
            is_out = posixpath.normpath(posixpath.join(folder, str(child.attrGet("href")))).startswith("..")
        if not (is_out and child.type in ("link_open", "link_close")):
            kept.append(child)
    return kept
