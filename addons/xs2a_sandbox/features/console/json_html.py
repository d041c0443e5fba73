"""Renders JSON as coloured HTML. Objects and lists can be folded, and addresses are links."""

import json
import re
from collections.abc import Callable, Iterator
from html import escape
from typing import Any
from urllib.parse import urlencode

_MOST_VALUES = 3_000
"""The most values of coloured JSON, because each value is several elements of the page."""
_PAGE = re.compile(r"https?://[^\s\"<>]+")
_PATH = re.compile(r"/[A-Za-z0-9._~/-]+(\?[^\s\"<>]*)?")


def json_html(value: Any, prefix: str, is_path: Callable[[str], bool]) -> str | None:
    """Return the JSON as HTML, or None if it is too large or too deep.

    A text for which `is_path` returns true leads to its requests below `prefix`.
    """
    if _count(value) > _MOST_VALUES:
        return None
    try:
        return "".join(_lines(value, "", "", prefix, is_path))
    except RecursionError:
        return None


def _count(value: Any) -> int:
    count, values = 0, [value]
    for inner in values:
        count += 1
        if count > _MOST_VALUES:
            break
        if isinstance(inner, dict):
            values += inner.values()
        elif isinstance(inner, list):
            values += inner
    return count


def _lines(value: Any, key: str, comma: str, prefix: str, is_path: Callable[[str], bool]) -> Iterator[str]:
    if not isinstance(value, dict | list) or not value:
        yield f"<div>{key}{_scalar(value, prefix, is_path)}{comma}</div>"
        return
    begin, end = "{}" if isinstance(value, dict) else "[]"
    yield f"<details open><summary>{key}{begin}<span class='more'> … {end}</span></summary><div class='in'>"
    members = list(value.items()) if isinstance(value, dict) else [(None, inner) for inner in value]
    for position, (name, inner) in enumerate(members):
        shown = "" if name is None else f"<span class='k'>{_quote(name)}</span>: "
        yield from _lines(inner, shown, "," if position < len(members) - 1 else "", prefix, is_path)
    yield f"</div><div>{end}{comma}</div></details>"


def _scalar(value: Any, prefix: str, is_path: Callable[[str], bool]) -> str:
    if isinstance(value, str):
        text = _quote(value)
        if _PAGE.fullmatch(value):
            return f"<a class='s' href='{escape(value)}' target='_blank' rel='noreferrer'>{text}</a>"
        if _PATH.fullmatch(value) and is_path(value):
            query = urlencode({"search": f"path:{value.partition('?')[0]}"})
            return f"<a class='s' href='{escape(prefix)}/?{escape(query)}'>{text}</a>"
        return f"<span class='s'>{text}</span>"
    kind = "n" if isinstance(value, int | float) and not isinstance(value, bool) else "b"
    return f"<span class='{kind}'>{escape(json.dumps(value))}</span>"


def _quote(text: str) -> str:
    return escape(json.dumps(text, ensure_ascii=False))
