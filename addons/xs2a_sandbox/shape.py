"""What a schema says of members: which are null when unused, which are not listed. Compiled, as answers are large."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

Fill = Callable[[Any], Any]
_Visit = Callable[[Any, str, list[str]], None]


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a schema; `document` is the file it stands in, `read` opens another by its URI."""

    schema: Any
    document: Any
    read: Callable[[str], Any]

    def at(self, schema: Any) -> "Node":
        return Node(schema, self.document, self.read)

    def resolved(self) -> "Node":
        """Without `$ref`, and a mapping in any case."""
        schema, document = self.schema, self.document
        while isinstance(schema, dict) and "$ref" in schema:
            file, _, fragment = schema["$ref"].partition("#")
            document = self.read(urljoin(document["$id"], file)) if file else document
            schema = document
            for token in fragment.split("/")[1:]:
                schema = schema[token]
        return Node(schema if isinstance(schema, dict) else {}, document, self.read)

    def branches(self) -> Iterator["Node"]:
        for keyword in ("anyOf", "oneOf", "allOf"):
            yield from map(self.at, self.schema.get(keyword, ()))

    def takes_null(self) -> bool:
        node = self.resolved()
        if "const" in node.schema:
            return node.schema["const"] is None
        if "enum" in node.schema:
            return None in node.schema["enum"]
        if "type" in node.schema:
            kinds = node.schema["type"]
            return "null" in kinds if isinstance(kinds, list) else bool(kinds == "null")
        branches = list(node.branches())
        return not branches or any(branch.takes_null() for branch in branches)


def filling(node: Node) -> Fill:
    """Gives every unused member that may be null the value null, in the order of the schema."""
    return _fill(node) or (lambda value: value)


def listing(node: Node) -> Callable[[Any], list[str]]:
    """Gives the JSON Pointers of members that the schema does not name."""
    visit = _visit(node)

    def unlisted(value: Any) -> list[str]:
        found: list[str] = []
        if visit:
            visit(value, "", found)
        return found

    return unlisted


def _fill(node: Node) -> Fill | None:
    """None where nothing below can be filled, so that such values are passed by."""
    node = node.resolved()
    for branch in node.branches():
        if fill := _fill(branch):
            return fill
    if "items" in node.schema:
        entry = _fill(node.at(node.schema["items"]))
        if entry is None:
            return None
        return lambda value: [entry(item) for item in value] if isinstance(value, list) else value
    properties: Mapping[str, Any] = node.schema.get("properties", {})
    if not properties:
        return None
    unused = dict.fromkeys(properties)
    left_out = tuple(name for name, schema in properties.items() if not node.at(schema).takes_null())
    below = ((name, _fill(node.at(schema))) for name, schema in properties.items())
    fills = tuple((name, fill) for name, fill in below if fill is not None)

    def fill_object(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        filled = {**unused, **value}
        for name in left_out:
            if filled[name] is None:
                del filled[name]
        for name, fill in fills:
            if (inner := filled.get(name)) is not None:
                filled[name] = fill(inner)
        return filled

    return fill_object


def _visit(node: Node) -> _Visit | None:
    """None where the schema lists no members, now or below."""
    node = node.resolved()
    if "items" in node.schema:
        entry = _visit(node.at(node.schema["items"]))
        if entry is None:
            return None

        def visit_list(value: Any, pointer: str, found: list[str]) -> None:
            for position, item in enumerate(value if isinstance(value, list) else ()):
                entry(item, f"{pointer}/{position}", found)

        return visit_list
    if "properties" not in node.schema:
        return None
    visits = {name: _visit(node.at(schema)) for name, schema in node.schema["properties"].items()}

    def visit_object(value: Any, pointer: str, found: list[str]) -> None:
        for name, inner in value.items() if isinstance(value, dict) else ():
            if name not in visits:
                found.append(f"{pointer}/{name}")
            elif visit := visits[name]:
                visit(inner, f"{pointer}/{name}", found)

    return visit_object
