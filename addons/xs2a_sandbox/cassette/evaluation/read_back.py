"""Reconstructs a thing from its shape. Only members that the shape renames or nests can be reconstructed."""

from collections.abc import Mapping
from typing import Any

from jinja2 import nodes

from xs2a_sandbox.cassette.evaluation.expressions import (
    IT,
    chain_of,
    is_each,
    is_merge,
    is_renamed,
    is_shaped,
    is_special,
    parse_text,
)
from xs2a_sandbox.cassette.evaluation.values import merge_patch

_NOTHING: Mapping[str, Any] = {}


def read_back(template: Any, said: Any, templates: Mapping[str, Any]) -> Any:
    """Return the members of the thing that are known. `templates` holds the templates of all shapes by name."""
    if isinstance(template, str):
        return _read_text(template, said)
    if not isinstance(template, dict):
        return _NOTHING
    if is_merge(template):
        return _lay([read_back(part, said, templates) for part in template["merge"]])
    if is_each(template) and "shape" in template and "when" not in template:
        entries = said if isinstance(said, list) else []
        inner = templates.get(template["shape"])
        return read_back(template["each"], [read_back(inner, entry, templates) for entry in entries], templates)
    if is_shaped(template):
        inner = read_back(templates.get(template["shape"]), said, templates)
        return read_back(template["of"], inner, templates) if "of" in template else inner
    if not isinstance(said, Mapping):
        return said if is_renamed(template) else _NOTHING
    if is_renamed(template):
        return _read_renamed(template["rename"], said, templates)
    if is_special(template):
        return _NOTHING
    names = {name.removesuffix("?"): inner for name, inner in template.items()}
    return _lay([read_back(inner, said[name], templates) for name, inner in names.items() if name in said])


def _read_renamed(names: Mapping[str, Any], said: Mapping[str, Any], templates: Mapping[str, Any]) -> dict[str, Any]:
    """Return the thing's members from their new names. Other members keep their names."""
    changed = {one: (member, None) for member, one in names.items() if isinstance(one, str)}
    for member, one in names.items():
        if isinstance(one, dict):
            changed |= {name: (member, inner) for name, inner in one.items()}
    thing = {}
    for name, value in said.items():
        member, inner = changed.get(name, (name, None))
        thing[member] = value if inner is None or value is None else read_back(inner, value, templates)
    return thing


def _read_text(template: str, said: Any) -> Any:
    """Return the thing's members for `{{ it.a.b }}`, or the key for a lookup like `{{ {…}[it] }}`."""
    parts = parse_text(template, template) if "{{" in template else []
    if len(parts) != 1:
        return _NOTHING
    (part,) = parts
    if isinstance(part, nodes.Getitem) and isinstance(part.node, nodes.Dict) and chain_of(part.arg) == (IT, ()):
        found = (pair.key for pair in part.node.items if getattr(pair.value, "value", None) == said)
        return getattr(next(found, None), "value", said)
    root, keys = chain_of(part) or ("", ())
    if root != IT:
        return _NOTHING
    for key in reversed(keys):
        said = {key: said}
    return said


def _lay(parts: list[Any]) -> Any:
    """Merge the information from several parts of a template about one thing."""
    laid: Any = {}
    for part in parts:
        laid = merge_patch(laid, part) if isinstance(part, Mapping) else laid
    return laid
