"""The pages for the payment user, as HTML without scripts, and the headers that keep them alone."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Response
from xs2a_sandbox.http.messages import html

_TEMPLATES = Path(__file__).resolve().parent / "templates"

PRIVATE = (("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"))
"""Headers of everything that a link to these pages answers with: the link is a secret."""


@dataclass(frozen=True, slots=True)
class Page:
    """A template with its values. `error` is why it is not what was asked for; `leads` are the addresses outside
    where its forms can end.
    """

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    error: BankError | None = None
    leads: tuple[str, ...] = ()


def show(page: Page, status: int = 200) -> Response:
    text = _environment().get_template(f"{page.template}.html").render(page.values)
    return html(
        text,
        status,
        *PRIVATE,
        ("Content-Security-Policy", _policy(page.leads)),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
    )


def show_trouble(name: str, text: str, status: int) -> Response:
    """An error of the dialect, for eyes; `name` is that of its table."""
    return show(Page("trouble", {"name": name, "text": text}), status)


def _policy(leads: tuple[str, ...]) -> str:
    """Browsers hold every redirect after a form to `form-action`, those of the app behind its address, too."""
    schemes = dict.fromkeys(urlsplit(url).scheme for url in leads)
    web = [] if not schemes else ["http:", "https:"]
    targets = " ".join(dict.fromkeys(["'self'", *web, *(f"{scheme}:" for scheme in schemes)]))
    style = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; form-action {targets}; base-uri 'none'; "
        "frame-ancestors 'none'"
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["style"] = _style()
    return environment


@cache
def _style() -> str:
    return (_TEMPLATES / "sca.css").read_text()
