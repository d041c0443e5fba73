"""Renders the console's pages, with one style sheet and one script. Nothing is loaded from another host."""

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from xs2a_sandbox.documents.html_templates import environment
from xs2a_sandbox.features.console.broken import is_unsent
from xs2a_sandbox.features.console.repeats import count_repeats
from xs2a_sandbox.http import Response
from xs2a_sandbox.http.messages import NOT_KEPT, html

_TEMPLATES = Path(__file__).resolve().parent / "templates"

_HEADERS = (
    *NOT_KEPT,
    # Forms need their origin; other sites must not get the address of a page.
    ("Referrer-Policy", "same-origin"),
)


def show(template: str, values: Mapping[str, Any], status: int = 200) -> Response:
    return html(render(template, values), status, *_HEADERS, ("Content-Security-Policy", _policy()))


def render(template: str, values: Mapping[str, Any]) -> str:
    shared: dict[str, Any] = {
        "style": _file("console.css"),
        "script": _file("console.js"),
        "pretty": _format_pretty,
        "is_unsent": is_unsent,
        "count_repeats": count_repeats,
    }
    return environment(_TEMPLATES).get_template(template).render({**shared, **values})


def _format_pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


@cache
def _file(name: str) -> str:
    return (_TEMPLATES / name).read_text()


@cache
def _policy() -> str:
    style, script = (
        base64.b64encode(hashlib.sha256(_file(name).encode()).digest()).decode()
        for name in ("console.css", "console.js")
    )
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
