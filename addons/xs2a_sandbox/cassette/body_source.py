"""Compiles the JSON body of an answer to one Python function, which writes bytes.

The constant parts are bytes already. Template and schema say which members are null, which are left out, and for which
this depends on a value. Only values are encoded while a request is answered. The result is the same as that of
rendering the template, completing it and encoding everything.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from xs2a_sandbox.cassette.evaluation import work
from xs2a_sandbox.cassette.evaluation.expressions import IT, Scope, compile_value, is_special, is_with_shapes
from xs2a_sandbox.cassette.evaluation.shape_source import (
    ALWAYS_THERE,
    Block,
    ShapeSource,
    Written,
    is_constant,
    show_values,
)
from xs2a_sandbox.cassette.evaluation.shapes import is_metered
from xs2a_sandbox.cassette.evaluation.work import WORK, Work
from xs2a_sandbox.documents.json_schema import Fill, Node, leave_unchanged, make_filler
from xs2a_sandbox.http import to_json

type WriteBody = Callable[[Scope], bytes]

_ALTERNATIVES = frozenset({"allOf", "anyOf", "oneOf"})


@dataclass(frozen=True, slots=True)
class Nulls:
    """Which nulls an answer has at a place.

    With a `node`, members of its schema without a value become null, or are left out if they cannot be null. `drop` is
    a function that leaves out all members that are null.
    """

    node: Node | None = None
    drop: Fill | None = None

    @property
    def complete(self) -> Fill | None:
        """The function that completes a whole value, or None if values stay as they are."""
        fill = make_filler(self.node) if self.node else leave_unchanged
        return self.drop if fill is leave_unchanged else fill

    @property
    def is_spread(self) -> bool:
        """Whether several parts of the schema define the members. Then only `complete` knows all of them."""
        return not _ALTERNATIVES.isdisjoint(self._schema)

    @property
    def members(self) -> Mapping[str, Any]:
        members: Mapping[str, Any] = {} if "items" in self._schema else self._schema.get("properties", {})
        return members

    @property
    def of_entries(self) -> "Nulls":
        return self._at(self._schema.get("items"))

    def below(self, name: str) -> "Nulls":
        return self._at(self.members.get(name))

    def keeps_null(self, name: str, *, is_optional: bool) -> bool:
        """Return whether a member without a value is null, instead of being left out."""
        below = self.below(name).node
        return below.takes_null() if below else not (self.drop or is_optional)

    @property
    def _schema(self) -> Mapping[str, Any]:
        schema: Mapping[str, Any] = self.node.resolve().schema if self.node else {}
        return schema

    def _at(self, schema: Any) -> "Nulls":
        return Nulls(None if self.node is None or schema is None else self.node.resolve().at(schema), self.drop)


class _Value(NamedTuple):
    """A value that is known when a request is answered: its Python, and what completes it."""

    code: str
    nulls: Nulls

    @property
    def is_text(self) -> bool:
        return self.code.startswith(("'", '"'))


class _Member(NamedTuple):
    """A member of an object. Unless it `is_kept`, it is a value, and left out when that is null."""

    name: str
    json: "_Json"
    is_kept: bool


type _Json = bytes | _Value | list[_Json] | dict[str, _Member]
"""The form of JSON: constant, a value, a list, or the members of an object."""


class BodySource:
    """The source of the function, and the values in it by name."""

    def __init__(self, written: Any, roots: frozenset[str], nulls: Nulls, name: str = "write_body") -> None:
        self.name = name
        self._roots = roots
        self._source = ShapeSource((), roots)
        self._source.values |= {"encode": to_json, "without_nulls": nulls.drop}
        self._free = {"encode", "without_nulls"}
        """The functions in the code that do not charge for their work."""
        self._source.lines.append(f"def {name}(scope):")
        self._block = Block(self._source, Written(), _ignore, 1, {IT: "None"})
        self._encoded: list[str] = []
        """The Python for the bytes of each value, in their order in the body."""
        body = self._write(self._read(written, nulls))
        self._block.add(f"return {_fill_in(body, self._encoded)}")

    @property
    def text(self) -> str:
        """The source, for people: with its values after it."""
        values = {name: value for name, value in self._source.values.items() if name not in self._free}
        return "\n".join([*self._source.lines, *show_values(values)])

    def compile(self) -> WriteBody:
        values = self._source.values
        exec(compile("\n".join(self._source.lines), "<body>", "exec"), values)
        write: Any = values[self.name]
        if is_metered(write, {values[name] for name in self._free}):
            return lambda scope: work.spend_from(scope.get(WORK) or Work(), write, scope)
        make: WriteBody = write
        return make

    def _read(self, template: Any, nulls: Nulls) -> _Json:
        """Return the form of the template. Its values are computed in its order, because they may be new ids."""
        if is_constant(template):
            return to_json(nulls.complete(template) if nulls.complete else template)
        if isinstance(template, list) and not nulls.is_spread:
            return [self._read(entry, nulls.of_entries) for entry in template]
        if isinstance(template, dict) and not is_special(template) and not nulls.is_spread:
            names = {name.removesuffix("?"): name for name in template}
            if len(names) == len(template):
                return self._read_members(template, names, nulls)
        return _Value(self._compute(template), nulls)

    def _read_members(self, template: Mapping[str, Any], names: Mapping[str, str], nulls: Nulls) -> dict[str, _Member]:
        read = {name: self._read(template[written], nulls.below(name)) for name, written in names.items()}
        members = {}
        for name in (*nulls.members, *(name for name in read if name not in nulls.members)):
            json = read.get(name, b"null")
            keeps_null = nulls.keeps_null(name, is_optional=names.get(name, "").endswith("?"))
            if keeps_null or json != b"null":
                may_be_null = isinstance(json, _Value) and not json.code.startswith(ALWAYS_THERE)
                members[name] = _Member(name, json, keeps_null or not may_be_null)
        return members

    def _compute(self, template: Any) -> str:
        """Return Python for the value."""
        if is_with_shapes(template):
            # Shapes are known only when all layers have been read.
            code = f"{self._source.bind(compile_value(template, self._roots, _ignore))}(scope)"
        else:
            code = self._block.value(template, ())
        return code if code.isidentifier() or code.startswith(ALWAYS_THERE) else self._block.keep(code)

    def _write(self, json: _Json) -> bytes:
        """Return the JSON as a format, with `%b` for each value."""
        match json:
            case bytes():
                return json.replace(b"%", b"%%")
            case _Value():
                return self._fill_later(self._encode(json))
            case list():
                return b"[" + b",".join(map(self._write, json)) + b"]"
        members = list(json.values())
        first = next((position for position, member in enumerate(members) if member.is_kept), None)
        if first is None:
            written = "".join(f"{self._write_optional(member)}, " for member in members)
            return self._fill_later(f"b'{{%b}}' % b','.join(filter(None, ({written})))")
        text = b""
        for position, member in enumerate(members):
            before, after = b"," if position > first else b"", b"," if position < first else b""
            if member.is_kept:
                text += before + _write_name(member) + self._write(member.json)
            else:
                text += self._fill_later(self._write_optional(member, before, after))
        return b"{" + text + b"}"

    def _write_optional(self, member: _Member, before: bytes = b"", after: bytes = b"") -> str:
        """Return Python for a member that is left out if it is null."""
        value, name = cast(_Value, member.json), before + to_json(member.name) + b":"  # only values can be left out
        code = f"{name!r} + {self._encode(value)}" + (f" + {after!r}" if after else "")
        return f"(b'' if {value.code} is None else {code})"

    def _encode(self, value: _Value) -> str:
        complete = None if value.is_text else value.nulls.complete
        if complete is None:
            return f"encode({value.code})"
        if complete is value.nulls.drop:
            return f"encode({value.code} if type({value.code}) is str else without_nulls({value.code}))"
        fill = f"fill_{len(self._free)}"
        self._free.add(fill)
        self._source.values[fill] = complete
        return f"encode({fill}({value.code}))"

    def _fill_later(self, encoded: str) -> bytes:
        self._encoded.append(encoded)
        return b"%b"


def _ignore(pointer: tuple[str | int, ...], text: str) -> None:
    """Mistakes have been reported when the file was read."""


def _write_name(member: _Member) -> bytes:
    return to_json(member.name).replace(b"%", b"%%") + b":"


def _fill_in(body: bytes, encoded: list[str]) -> str:
    """Return Python for the body, a format with the encoded values."""
    if not encoded:
        return repr(body.replace(b"%%", b"%"))
    if body == b"%b":
        return encoded[0]
    return f"{body!r} % (\n{''.join(f'        {one},\n' for one in encoded)}    )"
