"""Inputs of handlers: their places in requests, and the names of these places in messages."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Protocol

from xs2a_sandbox.cassette.evaluation.expressions import (
    ENTRY,
    INDEX,
    IT,
    SOURCE_ROOTS,
    find_alternatives,
    follow,
    is_each,
    is_merge,
    is_special,
    member,
)
from xs2a_sandbox.cassette.evaluation.shape_source import write_function
from xs2a_sandbox.cassette.evaluation.shapes import compile_shapes
from xs2a_sandbox.cassette.matchers import RequestPart
from xs2a_sandbox.documents.json_pointer import Pointer, pointer_text
from xs2a_sandbox.errors import BankError, ExpressionError

_PARTS = {"headers": "headers", "query": "query", "path": "where", "body": "body"}
"""The roots of expressions that are parts of a request, and the names of these parts in RequestPart."""
_KINDS = {"headers": "the header ", "query": "the query parameter ", "where": "the path parameter ", "body": ""}


class Readable(Protocol):
    """A request from which inputs are read. Names of headers are in lower case."""

    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def query(self) -> Mapping[str, str]: ...
    @property
    def path(self) -> Mapping[str, str]: ...
    @property
    def sent(self) -> Any: ...
    def input_scope(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class InputPlace:
    """A place in a request, with its name in the dialect's spelling."""

    part: RequestPart
    name: str

    @property
    def in_words(self) -> str:
        return f"{_KINDS[self.part.part]}{self.name}"


@dataclass(frozen=True, slots=True)
class Alternative:
    """One place where an input may be. `place` is None if the input is computed."""

    read: Callable[[Readable], Any]
    place: InputPlace | None


@dataclass(frozen=True, slots=True, eq=False)
class InputSource:
    """The places of an input: `read` takes the first that a request has, as in `{{ path.id or headers['Id'] }}`."""

    alternatives: tuple[Alternative, ...]
    read: Callable[[Readable], Any]
    written: Any

    @classmethod
    def of(cls, written: Any, *alternatives: Alternative) -> "InputSource":
        return cls(alternatives, _read_first([alternative.read for alternative in alternatives]), written)

    @lru_cache(4096)  # noqa: B019 - bounded, and a dialect's sources live as long as it does
    def locate(self, *steps: str | int) -> Pointer | None:
        """Return the place in the body of the member at `steps`, or None if it is computed or not in the body."""
        return _locate(self.written, steps, {}, {})

    @property
    def places(self) -> tuple[InputPlace, ...]:
        return tuple(alternative.place for alternative in self.alternatives if alternative.place)


def compile_sources(written: Mapping[str, Any], report: Callable[[Pointer, str], None]) -> dict[str, InputSource]:
    """Compile the sources of inputs by name. Calls `report` with the place and text of each mistake."""
    return {name: _compile_source(written[name], partial(_below, report, name)) for name in written}


class Inputs(dict[str, InputSource]):
    """The sources of inputs by name. Each handler has a function that reads all of its inputs."""

    def __init__(self, sources: Mapping[str, InputSource]) -> None:
        super().__init__(sources)
        self._readers: dict[str, ReadInputs] = {}

    def read(self, handler: str, names: Collection[str], call: Readable) -> dict[str, Any]:
        """Return the handler's inputs that are places in requests or constants, or nothing if the body is not JSON."""
        reader = self._readers.get(handler)
        if reader is None:
            reader = self._readers[handler] = ReaderSource(self, names).compile()
        try:
            return reader(call)
        except BankError:
            return {}  # only an input in the body raises the error


type ReadInputs = Callable[[Readable], dict[str, Any]]


class ReaderSource:
    """The source of the function that reads inputs, and the values in it by name."""

    def __init__(self, sources: Mapping[str, InputSource], names: Collection[str]) -> None:
        self.values: dict[str, Any] = {"follow": follow, "member": member, "partial": partial}
        self._parts = set[str]()
        written = {name: self._write(source) for name, source in sources.items() if name in names}
        read = {name: code for name, code in written.items() if code}
        self.names = read.keys()
        lines = [line for part, lines in _PARTS_READ.items() if part in self._parts for line in lines]
        lines += ["return {", *(f"    {name!r}: {code}," for name, code in read.items()), "}"]
        self.text = "\n".join(["def read_inputs(call):", *(f"    {line}" for line in lines)])

    def compile(self) -> ReadInputs:
        exec(compile(self.text, "<inputs>", "exec"), self.values)
        read: ReadInputs = self.values["read_inputs"]
        return read

    def _write(self, source: InputSource) -> str | None:
        """Return Python for the input, or None if it is computed."""
        if not _is_computed(source.written):
            return repr(source.written)
        chains = find_alternatives(source.written) if source.places else []
        return " or ".join(map(self._follow, source.places, chains)) or None

    def _follow(self, place: InputPlace, chain: tuple[str, tuple[Any, ...]]) -> str:
        self._parts.add(place.part.part)
        root, keys = chain
        if root != "body":
            return f"{root}({place.part.name!r})"
        if len(keys) == 1:
            return f"sent({keys[0]!r})"
        return f"follow(body, {keys!r})" if keys else "body"


_PARTS_READ = {
    "headers": ("headers = call.headers.get",),
    "query": ("query = call.query.get",),
    "where": ("path = call.path.get",),
    "body": ("body = call.sent", "sent = body.get if type(body) is dict else partial(member, body)"),
}


def write_source(name: str, source: InputSource) -> str:
    """Return the Python that computes an input, for people."""
    return write_function(f"read_{name}", _with_optional_members(source.written), SOURCE_ROOTS)


def _below(report: Callable[[Pointer, str], None], name: str, pointer: Pointer, text: str) -> None:
    report((name, *pointer), text)


def _compile_source(written: Any, report: Callable[[Pointer, str], None]) -> InputSource:
    try:
        chains = find_alternatives(written) if isinstance(written, str) else []
    except ExpressionError:
        chains = []  # the mistake is reported when the source is compiled
    places = [_place(*chain) for chain in chains]
    if places and all(places):
        read = (_reader(place, chain[1]) for place, chain in zip(places, chains, strict=True) if place)
        return InputSource.of(written, *map(Alternative, read, places))
    return InputSource.of(written, Alternative(_computed(written, report), None))


def _read_first(readers: Sequence[Callable[[Readable], Any]]) -> Callable[[Readable], Any]:
    if len(readers) == 1:
        return readers[0]

    def read(call: Readable) -> Any:
        value = None
        for one in readers:
            if value := one(call):
                break
        return value

    return read


def _computed(written: Any, report: Callable[[Pointer, str], None]) -> Callable[[Readable], Any]:
    """Compile the source like a shape without a thing, which takes half the time of a template."""
    if not _is_computed(written):
        return lambda _: written

    def note(_: str, pointer: Pointer, text: str) -> None:
        report(_as_written(pointer, written), text)

    shape = compile_shapes({"": _with_optional_members(written)}, SOURCE_ROOTS, note)[""]
    if IT in shape.reads:
        report((), "inputs cannot use `it`")
    for use in shape.uses:
        note("", use.pointer, f"inputs cannot use shapes, such as {use.name}")
    if shape.is_metered:
        return lambda call: shape.one(call.input_scope(), None)
    make = shape.make
    return lambda call: make(call.input_scope(), None)


def _is_computed(written: Any) -> bool:
    return not isinstance(written, str) or "{{" in written


def _with_optional_members(written: Any) -> Any:
    """Return the source with all members optional, so that members missing in the request are left out."""
    if isinstance(written, list):
        return [_with_optional_members(entry) for entry in written]
    if not isinstance(written, dict):
        return written
    if is_special(written):
        return {key: _with_optional_members(part) for key, part in written.items()}
    return {f"{name.removesuffix('?')}?": _with_optional_members(part) for name, part in written.items()}


def _as_written(pointer: Pointer, written: Any) -> Pointer:
    steps: list[str | int] = []
    for step in pointer:
        is_there = isinstance(step, int) or step in written
        steps.append(step if is_there else str(step).removesuffix("?"))
        written = written[steps[-1]]
    return tuple(steps)


def _locate(
    written: Any, steps: Sequence[str | int], entries: Mapping[str, Pointer], indexes: Mapping[str, int]
) -> Pointer | None:
    if isinstance(written, str):
        below = _trace(written, entries, indexes)
        return None if below is None else (*below, *steps)
    if is_each(written):
        listed = _locate(written["each"], (), entries, indexes)
        if listed is None or not steps or "key" in written:
            return listed
        number = int(steps[0])
        entries = {**entries, written.get("as", ENTRY): (*listed, number)}
        return _locate(written["give"], steps[1:], entries, {**indexes, INDEX: number})
    if is_merge(written):
        found = (_locate(part, steps, entries, indexes) for part in written["merge"])
        return next((pointer for pointer in found if pointer is not None), None)
    inner = follow(written, steps[:1]) if steps else None
    return None if inner is None else _locate(inner, steps[1:], entries, indexes)


def _trace(text: str, entries: Mapping[str, Pointer], indexes: Mapping[str, int]) -> Pointer | None:
    for root, keys in find_alternatives(text, indexes):
        if root in entries or root == "body":
            return (*entries.get(root, ()), *keys)
    return None


def _place(root: str, keys: tuple[Any, ...]) -> InputPlace | None:
    if root == "body":
        return InputPlace(RequestPart("body", pointer_text(keys)), str(keys[-1]) if keys else "the body")
    if root in _PARTS and len(keys) == 1 and isinstance(keys[0], str):
        name = keys[0].lower() if root == "headers" else keys[0]
        return InputPlace(RequestPart(_PARTS[root], name), keys[0])  # type: ignore[arg-type]
    return None


def _reader(place: InputPlace, keys: tuple[Any, ...]) -> Callable[[Readable], Any]:
    name = place.part.name
    match place.part.part:
        case "headers":
            return lambda call: call.headers.get(name)
        case "query":
            return lambda call: call.query.get(name)
        case "where":
            return lambda call: call.path.get(name)
    if len(keys) == 1:
        (key,) = keys
        return lambda call: member(call.sent, key)
    return lambda call: follow(call.sent, keys)
