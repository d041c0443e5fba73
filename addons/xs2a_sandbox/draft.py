"""A case as the YAML that its author goes on from: one rule with its example, and what could be written beside it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from textwrap import indent
from typing import Any

import yaml

NO_BODY = object()

_HEAD = """\
# A case of your own. The sandbox answers what fits `match` with `respond`; `xs2a-sandbox lint` runs the examples.
cassette: 1
title: {title}

rules:
  - id: {id}
    doc: Say here what your app has to do with this answer
"""
_NARROWER = """\
# As it stands it answers all these requests. Take the mark from one of these lines to narrow it down:
"""
_LIVELIER = """\
# headers: {Retry-After: "120"}
# delay: 2s
"""


@dataclass(frozen=True, slots=True)
class Draft:
    """The request that a case is for, and the answer that it gives.

    `match` names the operation, or method and path, and what else is asked for; `request` is the example's.
    `narrower` are further keys of `match`, which are written as comments.
    """

    id: str
    title: str
    match: Mapping[str, Any]
    request: Mapping[str, Any]
    status: int
    body: Any = NO_BODY
    nulls: str | None = None
    narrower: Mapping[str, Any] = field(default_factory=dict)


def text(draft: Draft, schema: str | None = None) -> str:
    """`schema` is the path of the cassettes' JSON Schema, for editors."""
    parts = [schema_line(schema)] if schema else []
    parts.append(_HEAD.format(title=_inline(draft.title), id=draft.id))
    parts.append(_key("match", _block(draft.match) + _NARROWER + "".join(_comments(draft.narrower))))
    answer: dict[str, Any] = {"status": draft.status, **({"nulls": draft.nulls} if draft.nulls else {})}
    body = "" if draft.body is NO_BODY else _block({"body": draft.body})
    parts.append(_key("respond", _block(answer) + _LIVELIER + body))
    parts.append(_key("examples", _block([{"request": draft.request, "expect": {"status": draft.status}}])))
    return "".join(parts)


def schema_line(schema: str) -> str:
    """What tells editors which JSON Schema the file has."""
    return f"# yaml-language-server: $schema={schema}\n"


def _comments(keys: Mapping[str, Any]) -> Iterator[str]:
    for key, value in keys.items():
        yield f"# {key}: {_inline(value)}\n"


def _key(name: str, below: str) -> str:
    return f"    {name}:\n" + indent(below, " " * 6)


def _block(value: Any) -> str:
    shown = yaml.dump(_plain(value), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
    return shown if isinstance(shown, str) else ""


def _inline(value: Any) -> str:
    shown: str = yaml.dump(
        _plain(value), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000, default_flow_style=True
    )
    return shown.removesuffix("\n").removesuffix("\n...")


def _plain(value: Any) -> Any:
    """Nothing appears twice, or YAML would make an anchor of it; and decimals are none, as it has no word for them."""
    return json.loads(json.dumps(value, default=float))


class _Dumper(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Lists stand below their key, not beside it."""
        super().increase_indent(flow, False)
