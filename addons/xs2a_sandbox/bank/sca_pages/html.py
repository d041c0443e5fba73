"""The payment user's pages as HTML without scripts, with headers that isolate them."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from xs2a_sandbox.bank.sca_pages.words import Words, words
from xs2a_sandbox.cassette.dialect.sca_pages import COLOURS
from xs2a_sandbox.documents.html_templates import environment
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Response
from xs2a_sandbox.http.messages import html

_TEMPLATES = Path(__file__).resolve().parent / "templates"

PRIVATE = (("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"))
"""Headers of every response below these links, because the link is a secret."""


@dataclass(frozen=True, slots=True)
class Page:
    """A template with its values. `error` is set if this page replaces the requested one, and says why; `leads` are the
    external addresses where its forms can end; `words` are its texts in the language of the reader.
    """

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    error: BankError | None = None
    leads: tuple[str, ...] = ()
    words: Words = field(default_factory=words)


def show(page: Page, status: int = 200) -> Response:
    style = _style() + _colours(page.words)
    template = environment(_TEMPLATES).get_template(f"{page.template}.html")
    text = template.render({**page.values, "say": page.words, "style": style})
    return html(
        text,
        status,
        *PRIVATE,
        ("Content-Security-Policy", _policy(page.leads, style)),
    )


def icon() -> Response:
    body = (_TEMPLATES / "favicon.svg").read_bytes()
    return Response(200, (("Content-Type", "image/svg+xml"), ("Cache-Control", "max-age=86400")), body)


def show_trouble(name: str, text: str, status: int, own: Words | None = None) -> Response:
    """Return an error of the dialect as a page. `name` is its name in the table, `own` the texts of the bank."""
    say = own or words()
    heading = f"trouble_{name.replace('-', '_')}"
    values = {"heading": say(heading if heading in say.texts else "trouble"), "text": text}
    return show(Page("trouble", values, words=say), status)


def _colours(own: Words) -> str:
    """Return the CSS rules for the bank's own colours. The cassette schema allows only colours there."""
    rules = {theme: _rule({**COLOURS[theme], **colours}) for theme, colours in own.colours.items()}
    dark = f"@media (prefers-color-scheme:dark){{{rules['dark']}}}" if "dark" in rules else ""
    light = f"@media (prefers-color-scheme:light){{{rules['light']}}}" if "light" in rules else ""
    return light + dark


def _rule(colours: Mapping[str, str]) -> str:
    accent, on = colours["accent"], colours["on_accent"]
    tint = f"color-mix(in srgb,{accent} 9%,{colours['card']})"
    return f":root{{--accent:{accent};--on:{on};--focus:{accent};--card:{colours['card']};--tint:{tint}}}"


def _policy(leads: tuple[str, ...], whole_style: str) -> str:
    """Return the Content-Security-Policy.

    Browsers apply `form-action` to all redirects after a form, including the app's.
    """
    schemes = dict.fromkeys(urlsplit(url).scheme for url in leads)
    web = [] if not schemes else ["http:", "https:"]
    targets = " ".join(dict.fromkeys(["'self'", *web, *(f"{scheme}:" for scheme in schemes)]))
    style = base64.b64encode(hashlib.sha256(whole_style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; form-action {targets}; base-uri 'none'; "
        "frame-ancestors 'none'"
    )


@cache
def _style() -> str:
    return (_TEMPLATES / "sca.css").read_text()
