"""Expands the shapes in templates, so that they can be compared with answers."""

import re
from collections.abc import Mapping
from functools import reduce
from typing import Any

from xs2a_sandbox.cassette.evaluation.expressions import is_merge, is_shaped

_IT = re.compile(r"\bit\.(\w+)")
_EXPRESSION = re.compile(r"(\{\{.*?\}\})", re.DOTALL)


def expand(template: Any, shapes: Mapping[str, Any]) -> Any:
    """Return the template without `merge` of mappings, and with shapes expanded that are composed for it.

    The shape of a thing that the handler returns stays.
    """
    if isinstance(template, list):
        return [expand(part, shapes) for part in template]
    if not isinstance(template, dict):
        return template
    if is_shaped(template):
        of = template.get("of")
        return expand(_replace_it(shapes[template["shape"]], of), shapes) if isinstance(of, dict) else template
    if is_merge(template):
        parts = expand(template["merge"], shapes)
        if all(isinstance(part, dict) and not is_merge(part) for part in parts):
            merged: dict[str, Any] = reduce(lambda below, above: {**below, **above}, parts)
            return {name: part for name, part in merged.items() if part is not None}
        return {"merge": parts}
    return {name: expand(part, shapes) for name, part in template.items()}


def _replace_it(template: Any, of: Mapping[str, Any]) -> Any:
    if isinstance(template, dict):
        return {name: _replace_it(part, of) for name, part in template.items()}
    if isinstance(template, list):
        return [_replace_it(part, of) for part in template]
    if not isinstance(template, str):
        return template
    return _EXPRESSION.sub(lambda found: _IT.sub(lambda name: _write(of.get(name[1])), found[0]), template)


def _write(value: Any) -> str:
    if value is None:
        return "none"
    pieces = [piece for piece in _EXPRESSION.split(str(value)) if piece]
    if len(pieces) == 1 and pieces[0].startswith("{{"):
        return pieces[0][2:-2].strip()
    inner = (piece[2:-2].strip() if piece.startswith("{{") else repr(piece) for piece in pieces)
    return f"({' ~ '.join(inner)})"
