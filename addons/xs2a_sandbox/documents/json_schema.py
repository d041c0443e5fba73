"""JSON Schemas of the interface: validates bodies quickly, explains failures, and adds nulls for missing members."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache, reduce
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urljoin

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.documents import own_file
from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.documents.json_pointer import parse_pointer, pointer_text
from xs2a_sandbox.documents.openapi_schemas import is_whole, named_schemas, translate
from xs2a_sandbox.documents.schema_errors import Complaint, SchemaError, first_of, list_unexpected, of_body, of_file
from xs2a_sandbox.errors import Problem, Unreadable

_JSON_SCHEMA = "https://json-schema.org/"

Fill = Callable[[Any], Any]
_Visit = Callable[[Any, str, list[str]], None]


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a schema. `document` is the file that contains it; `read` opens another file by its URI."""

    schema: Any
    document: Any
    read: Callable[[str], Any]

    def at(self, schema: Any) -> "Node":
        return Node(schema, self.document, self.read)

    def resolve(self) -> "Node":
        """Return the part that `$ref` leads to, which is always a mapping."""
        schema, document = self.schema, self.document
        while isinstance(schema, dict) and "$ref" in schema:
            file, _, fragment = schema["$ref"].partition("#")
            document = self.read(urljoin(document["$id"], file)) if file else document
            schema = document
            for step in parse_pointer(unquote(fragment)):
                schema = schema[step]
        return Node(schema if isinstance(schema, dict) else {}, document, self.read)

    def branches(self) -> Iterator["Node"]:
        for keyword in ("anyOf", "oneOf", "allOf"):
            yield from map(self.at, self.schema.get(keyword, ()))

    def below(self, step: str | int) -> Iterator["Node"]:
        """Yield the parts of the schema for the value at that step."""
        node = self.resolve()
        properties = node.schema.get("properties", {})
        if step in properties:
            yield node.at(properties[step])
        elif isinstance(step, int) and "items" in node.schema:
            yield node.at(node.schema["items"])
        for branch in node.branches():
            yield from branch.below(step)

    def takes_null(self) -> bool:
        node = self.resolve()
        if "const" in node.schema:
            return node.schema["const"] is None
        if "enum" in node.schema:
            return None in node.schema["enum"]
        kinds = node.schema.get("type", "null")
        if "null" not in (kinds if isinstance(kinds, list) else [kinds]):
            return False
        return all(node.at(branch).takes_null() for branch in node.schema.get("allOf", ())) and all(
            any(node.at(branch).takes_null() for branch in node.schema[keyword])
            for keyword in ("anyOf", "oneOf")
            if keyword in node.schema
        )


def make_filler(node: Node) -> Fill:
    """Return a function that adds null for every missing member that may be null, in the order of the schema."""
    return _fill(node, {}) or leave_unchanged


def make_lister(node: Node) -> Callable[[Any], list[str]]:
    """Return a function that lists the JSON Pointers of members that the schema does not name."""
    visit = _visit(node, {})

    def find_unlisted(value: Any) -> list[str]:
        pointers: list[str] = []
        if visit:
            visit(value, "", pointers)
        return pointers

    return find_unlisted


def leave_unchanged(value: Any) -> Any:
    return value


def _fill(node: Node, begun: dict[int, Fill | None]) -> Fill | None:
    """Return None if nothing below can be filled, so that such values are skipped.

    `begun` holds the parts seen so far, with `leave_unchanged` for those above, because a schema may be recursive.
    """
    node = node.resolve()
    key = id(node.schema)
    if key not in begun:
        begun[key] = leave_unchanged
        begun[key] = _fill_of(node, begun)
    elif begun[key] is leave_unchanged:
        return lambda value: (begun[key] or leave_unchanged)(value)
    return begun[key]


def _fill_of(node: Node, begun: dict[int, Fill | None]) -> Fill | None:
    """Fill with all parts of `allOf`, and with the first alternative that fills anything."""
    together = [_fill(node.at(branch), begun) for branch in node.schema.get("allOf", ())]
    alternatives = (
        _fill(node.at(branch), begun) for keyword in ("anyOf", "oneOf") for branch in node.schema.get(keyword, ())
    )
    chosen = next((fill for fill in alternatives if fill), None)
    fills = [fill for fill in (*together, chosen, _fill_members(node, begun)) if fill]
    if len(fills) < 2:
        return fills[0] if fills else None
    # Each part puts its members first, so apply them in reverse.
    return lambda value: reduce(lambda filled, fill: fill(filled), reversed(fills), value)


def _fill_members(node: Node, begun: dict[int, Fill | None]) -> Fill | None:
    if "items" in node.schema:
        entry = _fill(node.at(node.schema["items"]), begun)
        if entry is None:
            return None
        return lambda value: [entry(item) for item in value] if isinstance(value, list) else value
    properties: Mapping[str, Any] = node.schema.get("properties", {})
    if not properties:
        return None
    unused = dict.fromkeys(properties)
    left_out = tuple(name for name, schema in properties.items() if not node.at(schema).takes_null())
    below = ((name, _fill(node.at(schema), begun)) for name, schema in properties.items())
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


def _pass_by(value: Any, pointer: str, pointers: list[str]) -> None:
    pass


def _visit(node: Node, begun: dict[int, _Visit | None]) -> _Visit | None:
    """Return None if the schema lists no members here or below. `begun` is the same as in `_fill`."""
    node = node.resolve()
    key = id(node.schema)
    if key not in begun:
        begun[key] = _pass_by
        begun[key] = _visit_of(node, begun)
    elif begun[key] is _pass_by:
        return lambda value, pointer, pointers: (begun[key] or _pass_by)(value, pointer, pointers)
    return begun[key]


def _visit_of(node: Node, begun: dict[int, _Visit | None]) -> _Visit | None:
    if "items" in node.schema:
        entry = _visit(node.at(node.schema["items"]), begun)
        if entry is None:
            return None

        def visit_list(value: Any, pointer: str, pointers: list[str]) -> None:
            for position, item in enumerate(value if isinstance(value, list) else ()):
                entry(item, f"{pointer}/{position}", pointers)

        return visit_list
    if "properties" not in node.schema:
        return None
    properties = node.schema["properties"].items()
    visits = {name: (pointer_text((name,)), _visit(node.at(schema), begun)) for name, schema in properties}
    below = [name for name, (_, visit) in visits.items() if visit]

    def visit_object(value: Any, pointer: str, pointers: list[str]) -> None:
        if not isinstance(value, dict):
            return
        for name in below if value.keys() <= visits.keys() else value:
            if name not in visits:
                pointers.append(pointer + pointer_text((name,)))
            elif name in value:
                step, visit = visits[name]
                if visit:
                    visit(value[name], pointer + step, pointers)

    return visit_object


SUFFIX = ".schema.json"
ENDINGS = (SUFFIX, ".json", ".yaml", ".yml")
"""The endings of schema files. A name without a part means a file with SUFFIX."""
SCHEMAS = "https://xs2a-sandbox.invalid/schemas/"
"""The base URI of file names, for references between files. Nothing is ever fetched."""


class Breach(NamedTuple):
    """A place that violates the schema, the violated keyword, and a text to print after the member's name."""

    pointer: tuple[str | int, ...]
    keyword: str
    text: str


def _find_marked(schema: Any, keyword: str) -> Iterator[str]:
    if isinstance(schema, dict):
        properties = schema.get("properties")
        for name, inner in properties.items() if isinstance(properties, dict) else ():
            if isinstance(inner, dict) and inner.get(keyword) is True:
                yield name
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _find_marked(inner, keyword)


class Schemas:
    """The schemas of some directories by name. Earlier directories win.

    `payments/sepa-credit-transfers` is a file with SUFFIX; `accounts#Account` is a part of any file: a schema in the
    components of an OpenAPI document, or in the `$defs` of a schema. A part that starts with a slash is a JSON Pointer.
    Files are read and schemas compiled at first use.

    Raises:
        KeyError: no directory has a schema of that name.
        Unreadable: the file is not a JSON Schema.
    """

    def __init__(self, directories: Sequence[Path]) -> None:
        self.directories = tuple(directories)
        self._read = cache(self._parse)
        self._schemas: dict[str, Schema] = {}
        self._marked: dict[str, frozenset[str]] = {}
        self._there: set[str] = set()
        """Names that exist, cached because cassettes repeat the same few names."""
        self._opened: set[str] = set()

    def __getitem__(self, name: str) -> "Schema":
        if name not in self._schemas:
            self._schemas[name] = Schema(name, self._document(name), self._read)
        return self._schemas[name]

    def __contains__(self, name: str) -> bool:
        if name not in self._there and self._is_there(name):
            self._there.add(name)
        return name in self._there

    def read(self, file: str) -> Any:
        """Return the content of a file, with its schemas translated to JSON Schema. They may be invalid."""
        return self._read(file)

    def path(self, file: str) -> Path:
        place = self._place(file)
        if place is None:
            raise KeyError(file)
        return place[1]

    def file_of(self, name: str) -> Path | None:
        """Return the file that contains the schema of that name."""
        file = self._find_file(name)
        return self.path(file) if file else None

    def has_file(self, file: str) -> bool:
        return file.endswith(ENDINGS) and self._place(file) is not None

    def files(self) -> list[str]:
        """Return all files that can be named."""
        return sorted(set().union(*map(self._list, ENDINGS)))

    def files_used(self) -> list[str]:
        """Return the files with SUFFIX, and other files that were read.

        Further files in a directory need not be schemas.
        """
        return sorted({*self._list(SUFFIX), *self._opened})

    def names(self, like: str = "") -> list[str]:
        """Return all names, or the names in the file of `like` if it has or needs a part."""
        file = self._find_file(f"{like.partition('#')[0]}#")
        if file and ("#" in like or not file.endswith(SUFFIX)):
            try:
                document = self._read(file)
            except Unreadable:
                return []
            return sorted(f"{like.partition('#')[0]}#{name}" for name in _named_parts(document))
        files = {file.removesuffix(SUFFIX) for file in self._list(SUFFIX)}
        documents = {file[: file.rindex(".")] for ending in ENDINGS[1:] for file in self._list(ending)}
        return sorted(files | {f"{name}#…" for name in documents if not name.endswith(".schema")})

    def marked(self, keyword: str) -> frozenset[str]:
        """Return the names of all members that a schema marks with `keyword: true`."""
        if keyword not in self._marked:
            # Skip parsing of files that do not contain the keyword, which are most.
            said = [file for file in self.files() if keyword.encode() in self.path(file).read_bytes()]
            names = (name for file in said for name in _find_marked(self._read(file), keyword))
            self._marked[keyword] = frozenset(names)
        return self._marked[keyword]

    def _list(self, ending: str) -> set[str]:
        return {
            file.relative_to(directory).as_posix()
            for directory in self.directories
            for file in directory.rglob("*" + ending)
        }

    def _is_there(self, name: str) -> bool:
        if "#" not in name:
            return self._find_file(name) is not None
        try:
            self._document(name)
        except KeyError:
            return False
        except Unreadable:
            pass  # the check of the file itself reports it
        return True

    def _document(self, name: str) -> Any:
        """Return the file of that name, or a schema that refers to a part of a file."""
        file, (_, is_part, part) = self._find_file(name), name.partition("#")
        if file is None:
            raise KeyError(name)
        if not is_part:
            return self._read(file)
        pointer = _pointer_to(part, self._read(file))
        return {"$id": f"{SCHEMAS}{quote(name)}", "$ref": f"{SCHEMAS}{file}#{quote(pointer, safe='/~$')}"}

    def _find_file(self, name: str) -> str | None:
        base, is_part, _ = name.partition("#")
        endings = ("",) if is_part and base.endswith(ENDINGS) else ENDINGS if is_part else (SUFFIX,)
        return next((base + ending for ending in endings if self._place(base + ending)), None)

    def _place(self, file: str) -> tuple[Path, Path] | None:
        """Return the directory, and the file in it. A name cannot lead out of the directory."""
        if {"", ".."} & set(file.removesuffix(SUFFIX).split("/")):
            return None
        candidates = ((directory, directory / file) for directory in self.directories)
        return next((place for place in candidates if place[1].exists()), None)

    def _parse(self, file: str) -> Any:
        place = self._place(file)
        if place is None:
            raise KeyError(file)
        directory, path = place
        self._opened.add(file)
        document = _load(path, directory)
        # References are relative to this name, so they lead to the files next to it.
        return {**translate(document), "$id": SCHEMAS + file} if isinstance(document, dict) else document


def _load(path: Path, directory: Path) -> Any:
    try:
        content = own_file.read(path, folder=directory)
    except OSError as error:
        raise Unreadable([Problem(path, 1, 1, "unreadable", f"cannot be read: {error.strerror}")]) from None
    if path.suffix != ".json":
        from xs2a_sandbox.documents import yaml_reader  # imported here because that module uses schemas itself

        return yaml_reader.parse(content, path).value
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Unreadable([Problem(path, 1, 1, "schema-json", f"the file must be JSON: {error}")]) from None


def _named_parts(document: Any) -> Mapping[str, Any]:
    if not isinstance(document, dict):
        return {}
    named = named_schemas(document) if is_whole(document) else document.get("$defs", {})
    return named if isinstance(named, dict) else {}


def _pointer_to(part: str, document: Any) -> str:
    """Return the JSON Pointer to a part of a file. Raises KeyError if there is none."""
    if not part.startswith("/"):
        if part not in _named_parts(document):
            raise KeyError(part)
        return ("/components/schemas" if is_whole(document) else "/$defs") + pointer_text((part,))
    value = document
    for step in parse_pointer(part):
        value = value.get(step) if isinstance(value, dict) else None
    if not isinstance(value, dict):
        raise KeyError(part)
    return part


class Schema:
    """One schema, compiled with jsonschema-rs."""

    def __init__(self, name: str, document: Any, read: Callable[[str], Any]) -> None:
        self.name = name
        self.document = document
        self.read = read
        # Comparisons ask for the same few places in every answer.
        self._nodes = lru_cache(1000)(self._find_nodes)

    @cached_property
    def accepts(self) -> Callable[[Any], bool]:
        """The fast validation. Raises ValueError for numbers and names that jsonschema-rs cannot read."""
        accepts: Callable[[Any], bool] = self._validator.is_valid
        return accepts

    def breaches(self, value: Any) -> Iterator[Breach]:
        """Yield all violations, each with its place and a string that does not quote the value."""
        for error in self._errors(value):
            for each in _pick_meant(error):
                complaint = of_body(each)
                yield Breach(complaint.pointer, str(each.keyword), complaint.text)

    def nodes(self, pointer: Sequence[str | int]) -> list[Node]:
        """Return the parts of the schema for the value at this place."""
        return self._nodes(tuple(0 if isinstance(step, int) else step for step in pointer))

    def _find_nodes(self, pointer: tuple[str | int, ...]) -> list[Node]:
        nodes = [self.node]
        for step in pointer:
            nodes = [below for node in nodes for below in node.below(step)]
        resolved = [node.resolve() for node in nodes]
        return [*resolved, *(branch.resolve() for node in resolved for branch in node.branches())]

    def complaint(self, body: Any) -> Complaint | None:
        """Return the first mistake, as a text to print after the member's name, or None if the body is valid."""
        if self.accepts(body):
            return None
        return of_body(first_of(self._errors(body)))

    def complaints(self, value: Any) -> set[Complaint]:
        """Return all mistakes, in texts for the author of the file that contains the value."""
        return {complaint for error in self._errors(value) for complaint in of_file(error)}

    def _errors(self, value: Any) -> list[SchemaError]:
        return [
            self._read_error(value, error, len(error.instance_path)) for error in self._validator.iter_errors(value)
        ]

    def _read_error(self, value: Any, error: Any, depth: int) -> SchemaError:
        """Convert an error of jsonschema-rs, which reports each missing member separately.

        `value` is the whole value, `depth` that of `SchemaError`.
        """
        detail, path = error.kind.as_dict(), list(error.schema_path)
        place = _name_steps(value, error.instance_path)
        if is_name := "error" in detail:
            error = detail["error"]
            detail = error.kind.as_dict()
        keyword = None if type(error.kind).__name__.endswith("FalseSchema") else str(path[-1])
        schema = self._schema_at(error, path, detail)
        rule = schema.get(keyword) if isinstance(schema, dict) else None
        if keyword == "required":
            rule = [detail["property"]]
        elif keyword == "dependentRequired":
            rule = {name: [detail["property"]] for name, of in (rule or {}).items() if detail["property"] in of}
        branches = tuple(
            tuple(self._read_error(value, inner, len(inner.instance_path) - len(place)) for inner in branch)
            for branch in (() if "MultipleValid" in type(error.kind).__name__ else detail.get("context", ()))
        )
        return SchemaError(place, depth, keyword, rule, error.instance, schema, is_name, branches)

    def _schema_at(self, error: Any, path: Sequence[str | int], detail: Mapping[str, Any]) -> Any:
        """Return the schema that contains the keyword, which may be in another file or in JSON Schema itself."""
        uri, _, fragment = (error.absolute_keyword_location or "").partition("#")
        if uri.startswith(_JSON_SCHEMA):
            rules = [detail[name] for name in ("types", "options", "limit", "pattern", "format") if name in detail]
            return {fragment.rpartition("/")[2]: rules[0] if rules else []}
        schema = self.document if not uri or uri == self.document.get("$id") else self._read_uri(uri)
        keyword, steps = str(path[-1]), list(parse_pointer(unquote(fragment)))
        if keyword not in steps:
            steps = [*map(str, path)]
        # The location of some keywords leads into their value.
        for step in steps[: len(steps) - 1 - steps[::-1].index(keyword)]:
            schema = schema[int(step) if isinstance(schema, list) else step]
        return schema

    @cached_property
    def _validator(self) -> Any:
        import jsonschema_rs  # imported for the first check, because it takes 10 MB, and reads need none

        return jsonschema_rs.validator_for(
            self.document, formats=FORMATS, validate_formats=True, retriever=self._read_uri
        )

    @cached_property
    def fill(self) -> Fill:
        """A function that adds null for every missing member that may be null, in the order of the schema."""
        return make_filler(self.node)

    @cached_property
    def unlisted(self) -> Callable[[Any], list[str]]:
        """A function that lists the JSON Pointers of members that the schema does not name."""
        return make_lister(self.node)

    @property
    def node(self) -> Node:
        return Node(self.document, self.document, self._read_uri)

    def _read_uri(self, uri: str) -> Any:
        return self.read(uri.partition("/schemas/")[2].partition("#")[0])


@cache
def bundled_schema(name: str) -> Schema:
    """Return the schema of one of the sandbox's own files: `cassette`, `config`, `testdata`, …"""
    return Schemas([bundled("schemas")])[name]


def mistakes_of(document: dict[str, Any]) -> set[Complaint]:
    """Return all violations of the JSON Schema version that its `$schema` names, 2020-12."""
    import jsonschema_rs

    if jsonschema_rs.meta.is_valid(document):
        return set()
    return _meta_schema().complaints(document)


@cache
def _meta_schema() -> Schema:
    return Schema("schema", {"$ref": f"{_JSON_SCHEMA}draft/2020-12/schema"}, lambda uri: {})


def _pick_meant(error: SchemaError) -> Iterator[SchemaError]:
    """Yield the errors to report instead of this one.

    If only one branch is for a value of this type, these are its errors. For unexpected members it is one error each.
    """
    branches = [branch for branch in error.branches if not any(inner.keyword == "type" for inner in branch)]
    if len(branches) != 1:
        names = list_unexpected(error)
        yield from (replace(error, value={name: None}) for name in names) if names else [error]
        return
    for inner in branches[0]:
        yield from _pick_meant(inner)


def _name_steps(value: Any, path: Sequence[str | int]) -> tuple[str | int, ...]:
    """Return the steps to a value. jsonschema-rs gives names of digits as numbers, without zeros in front."""
    steps: list[str | int] = []
    for step in path:
        if isinstance(value, dict) and isinstance(step, int):
            same = (name for name in value if name.isdecimal() and int(name) == step)
            step = str(step) if str(step) in value else next(same, str(step))
        steps.append(step)
        is_there = step in value if isinstance(value, dict) else isinstance(value, list) and isinstance(step, int)
        value = value[step] if is_there else None
    return tuple(steps)
