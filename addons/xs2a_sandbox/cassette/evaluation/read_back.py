"""Reconstructs a thing from its shape, as far as the expressions of the shape can be reversed."""

from collections.abc import Iterator, Mapping
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
    if isinstance(template, list):
        return _lay([read_back(part, entry, templates) for part, entry in _pair(template, said)])
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


def _pair(template: list[Any], said: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the entries of a list with their templates, which are recognised by their constant members."""
    for part in template if isinstance(said, list) else ():
        members = part.items() if isinstance(part, dict) and not is_special(part) else ()
        constant = {name: text for name, text in members if isinstance(text, str) and "{{" not in text}
        fitting = (one for one in said if isinstance(one, Mapping) and constant.items() <= one.items())
        if constant and (entry := next(fitting, None)) is not None:
            yield part, entry


def _read_text(template: str, said: Any) -> Any:
    parts = parse_text(template, template) if "{{" in template else []
    if len(parts) == 1:
        return _read_expression(parts[0], said)
    if len(parts) == 2:
        return _read_expression(nodes.Concat(parts), said)
    return _NOTHING


def _read_expression(part: nodes.Node, said: Any) -> Any:
    """Return the thing's members for `{{ it.a.b }}`, or the key for a lookup like `{{ {…}[it] }}`."""
    match part:
        case nodes.Getitem(node=nodes.Dict(items=items), arg=arg) if chain_of(arg) == (IT, ()):
            found = (pair.key for pair in items if getattr(pair.value, "value", None) == said)
            return getattr(next(found, None), "value", said)
        case nodes.CondExpr(expr1=nodes.Const(value=one), expr2=nodes.Const(value=other)) if one in (said, other):
            return _read_beginning(part.test) if one == said and one != other else _NOTHING
        case nodes.CondExpr(expr1=expression, expr2=None | nodes.Const(value=None)):
            return _read_expression(expression, said)
        case nodes.Or(left=expression):
            return _read_expression(expression, said) if _chain_below(expression) else _NOTHING
        case nodes.Concat(nodes=[first, nodes.Const(value=end) | nodes.TemplateData(data=end)]):
            is_whole = isinstance(said, str) and said.endswith(str(end))
            return _read_expression(first, said.removesuffix(str(end))) if is_whole else _NOTHING
        case nodes.Filter(name="replace", node=expression, args=[_, nodes.Const(value="")]) if expression:
            return _read_expression(expression, said)
    chain = _chain_below(part)
    return _NOTHING if chain is None else _nest(chain, said)


def _chain_below(part: nodes.Node) -> tuple[Any, ...] | None:
    root, keys = chain_of(part) or ("", ())
    return keys if root == IT else None


def _nest(keys: tuple[Any, ...], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value


class _Beginning(str):
    """The first characters of a text that another part of the shape shows without them, such as a sign."""


def _read_beginning(test: nodes.Node) -> Any:
    """Return what is known if `it.a[:1] == '-'` is true."""
    match test:
        case nodes.Compare(
            expr=nodes.Getitem(node=node, arg=nodes.Slice(start=None, stop=nodes.Const(value=length), step=None)),
            ops=[nodes.Operand(op="eq", expr=nodes.Const(value=str(text)))],
        ) if len(text) == length and (chain := _chain_below(node)):
            return _nest(chain, _Beginning(text))
    return _NOTHING


def _lay(parts: list[Any]) -> Any:
    """Merge the information from several parts of a template about one thing."""
    laid: Any = {}
    for part in parts:
        laid = _lay_over(laid, part) if isinstance(part, Mapping) else laid
    return laid


def _lay_over(below: Any, above: Any) -> Any:
    """Apply a merge patch in which the beginning of a text is put before the text."""
    if not isinstance(above, Mapping):
        first, rest = (above, below) if isinstance(above, _Beginning) else (below, above)
        return first + rest if isinstance(first, _Beginning) and isinstance(rest, str) else merge_patch(below, above)
    laid = dict(below) if isinstance(below, Mapping) else {}
    return {**laid, **{name: _lay_over(laid.get(name), value) for name, value in above.items()}}
