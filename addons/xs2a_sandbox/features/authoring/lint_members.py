"""Finds misspelled members in expressions and effects: names that no request, result or document has."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from xs2a_sandbox.bank.domain.signing import FAMILIES
from xs2a_sandbox.cassette import Interface, Operation, Rule
from xs2a_sandbox.cassette.answers import Action, Effect
from xs2a_sandbox.cassette.dialect import callbacks
from xs2a_sandbox.cassette.dialect.authorisation import ID, SECTION
from xs2a_sandbox.cassette.evaluation.expressions import Key, chains
from xs2a_sandbox.cassette.handler import Handler, is_computed, result_of
from xs2a_sandbox.cassette.model import Pointer, answers
from xs2a_sandbox.documents.json_schema import Node
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import Problem
from xs2a_sandbox.features.authoring.lint_answers import texts
from xs2a_sandbox.state import documents

type Shape = Mapping[str, "Shape | None"]
"""The members of a value by name (`*` for any), or None if they are unknown."""

_ANY = "*"
_NEARLY = 0.75
"""The similarity of two names of collections from which on one is considered a misspelling of the other."""
_COMPUTED = ("status", "headers", "body", "text", "values")
"""Keys of an answer whose texts may contain expressions."""
CLIENT: Shape = dict.fromkeys(
    "name organisation domains roles kind country authority issuer serial fingerprint validFrom validUntil".split()
)
"""The members of `request.client`, a client certificate."""

_ROOTS: Mapping[str, Shape] = {
    "request": {**dict.fromkeys(("method", "path", "url", "host", "text", "sha256", "door")), "client": CLIENT},
    "session": dict.fromkeys(("id", "url", "checks")),
    "clock": dict.fromkeys(("now", "today", "seconds", "real")),
    "error": dict.fromkeys(("name", "status", "code", "number", "text", "path")),
    "answer": dict.fromkeys(("status", "body")),
}


class Members:
    """The names in an interface: of handlers, of documents in the state, and of the cassettes themselves."""

    def __init__(self, interface: Interface, handlers: Mapping[str, Handler], testdata: Collection[str]) -> None:
        self._interface = interface
        self._handlers = handlers
        self._owners: list[Operation | Rule] = [*interface.operations.values(), *interface.rules]
        effects = [effect for by in self._owners for effect in by.behaviour.effects if isinstance(effect, Effect)]
        read = {keys[0] for root, keys in self._every_chain() if root in ("state", "testdata") and keys}
        set_, bundled = {e.collection for e in effects}, documents.collections()
        # A name that is both written and read is not a misspelling.
        uses = {e.collection: e.collection in read for e in effects} | dict.fromkeys(map(str, read - set_), False)
        own = {name for name, is_meant in uses.items() if is_meant or not get_close_matches(name, bundled, 1, _NEARLY)}
        self._collections = bundled | own | set(testdata)
        self._set = {one for by in self._owners for one in _members_set(by) if not self._misspells(*one)}
        state = {name: {_ANY: self._document(name)} for name in self._collections}
        self._shapes: dict[str, Shape | None] = {
            **_ROOTS,
            "state": state,
            "testdata": state | {"rates": {_ANY: None}},
            "token": self._document("tokens"),
            "input": dict.fromkeys(name for handler in handlers.values() for name in handler.inputs),
        }

    def check(self, by: Operation | Rule) -> Iterator[Problem]:
        """Yield problems with members that the entry reads or sets and that do not exist."""
        shapes = self.roots(by)
        for pointer, text in expressions(by):
            for wrong in _find_wrong(text, shapes):
                yield by.origin.problem("member", wrong, pointer)
        for number, effect in enumerate(by.behaviour.effects):
            if not isinstance(effect, Effect):
                continue
            for below, wrong in self._effect(effect, by.origin.written["effects"][number]):
                yield by.origin.problem("member", wrong, ("effects", number, *below))

    def roots(self, by: Operation | Rule) -> dict[str, Shape | None]:
        """Return the roots of expressions in the entry, with their known members."""
        result = self._result(by)
        return {**self._shapes, **({} if result is None else {"result": result}), "let": self._let(by)}

    def check_lets(self) -> Iterator[Problem]:
        """Yield problems with members that values of the whole dialect read and that do not exist."""
        for pointer, text in self._lets():
            for wrong in _find_wrong(text, self._shapes):
                yield self._interface.sections.problem(pointer, "member", wrong)

    def _lets(self) -> Iterator[tuple[Pointer, str]]:
        return _braces(self._interface.sections.get("let"), ("let",))

    def check_authorisation(self) -> Iterator[Problem]:
        """Yield problems with members that pages and the authorisation endpoint use and no document has."""
        section = self._interface.sections.get(SECTION)
        for name, spec in section.get("of", {}).items():
            collection = FAMILIES[name].collection
            document = self._document(collection)
            page = self._interface.authorisation.of[name].page
            for word in set(page.parameters.values()) - {ID} - document.keys() if page and document else ():
                text = f"documents in {collection} have no member {word!r}{did_you_mean(word, document or ())}"
                yield self._interface.sections.problem((SECTION, "of", name, "page"), "page", text)
            for number, row in enumerate(spec.get("rows", ())):
                for key in ("label", "text"):
                    yield from self._section_text(row[key], ("of", name, "rows", number, key), {"resource": document})
        for name, text in section.get("endpoint", {}).get("finds", {}).items():
            yield from self._section_text(text, ("endpoint", "finds", name), {})

    def check_callbacks(self) -> Iterator[Problem]:
        """Yield problems with members that callbacks read and no document has."""
        for id, spec in self._interface.sections.get(callbacks.SECTION).items():
            on = [spec["on"]] if isinstance(spec["on"], str) else spec["on"]
            documents_of = [self._document(collection) for collection in on]
            one = documents_of[0] if len(documents_of) == 1 else None
            roots: dict[str, Shape | None] = {"document": one, "resource": None}
            if receiver := spec.get("each"):
                roots[callbacks.RECEIVER] = self._document(receiver)
            for pointer, text in (
                *_braces(spec["to"], ("to",)),
                *([(("when",), wrap_in_braces(spec["when"]))] if spec.get("when") else []),
                *_braces(spec["request"], ("request",)),
                *_braces(spec.get("let"), ("let",)),
            ):
                for wrong in _find_wrong(text, {**self._shapes, **roots}):
                    yield self._interface.sections.problem((callbacks.SECTION, id, *pointer), "member", wrong)

    def _section_text(self, text: str, pointer: Pointer, roots: Mapping[str, Shape | None]) -> Iterator[Problem]:
        for wrong in _find_wrong(text, {**self._shapes, **roots}):
            yield self._interface.sections.problem((SECTION, *pointer), "member", wrong)

    def _every_chain(self) -> Iterator[tuple[str, tuple[Key, ...]]]:
        for by in self._owners:
            for _, text in expressions(by):
                yield from chains(text)
        for _, text in self._lets():
            yield from chains(text)

    def _document(self, collection: str) -> Shape | None:
        schema = documents.schema_of(collection)
        if schema is None:
            return None
        return {
            **dict.fromkeys(name for other, name in self._set if other == collection),
            **(_shape(schema.node) or {}),
        }

    def _misspells(self, collection: str, name: str) -> str:
        """Return a hint with the member of the document that is probably meant."""
        schema = documents.schema_of(collection)
        names = (_shape(schema.node) or {}) if schema else {}
        return did_you_mean(name, names) if name not in names else ""

    def _result(self, by: Operation | Rule) -> Shape | None:
        operation = by if isinstance(by, Operation) else self._interface.operations.get(by.operation or "")
        handler = self._handlers.get(by.behaviour.handler or (operation.behaviour.handler if operation else "") or "")
        return result_of(by, handler, self._handlers) if handler else None

    def _let(self, by: Operation | Rule) -> Shape:
        results = [action for action in by.behaviour.effects if isinstance(action, Action) and action.result]
        shapes = {
            str(action.result): self._handlers[action.name].result
            for action in results
            if action.name in self._handlers
        }
        own = by.origin.written.get("let", ())
        return {**dict.fromkeys(self._interface.lets), **dict.fromkeys(own), **shapes}

    def _effect(self, effect: Effect, written: Mapping[str, Any]) -> Iterator[tuple[Pointer, str]]:
        key = "set" if "set" in written else "delete"
        if effect.collection not in self._collections:
            hint = did_you_mean(effect.collection, self._collections)
            yield (key,), f"nothing reads state.{effect.collection}{hint}"
            return
        schema = documents.schema_of(effect.collection)
        if schema is None or key == "delete":
            return
        value = written["to"]
        if effect.members:
            if hint := self._misspells(effect.collection, effect.members[0]):
                yield ("set",), f"documents in {effect.collection} have no member {effect.members[0]!r}{hint}"
                return
            for name in reversed(effect.members):
                value = {name: value}
        elif isinstance(value, dict):
            for name in value:
                if hint := self._misspells(effect.collection, name):
                    yield ("to", name), f"documents in {effect.collection} have no member {name!r}{hint}"
        for complaint in sorted(schema.complaints(value), key=str):
            pointer = complaint.pointer[len(effect.members) :]
            is_missing = complaint.code == "missing-key"
            # Computed values are unknown, and if only a member is set, the document already has the others.
            if (is_missing and effect.members) or is_computed(value, complaint.pointer):
                continue
            yield ("to", *pointer), f"{complaint.text} (schema {schema.name})"


def _members_set(by: Operation | Rule) -> Iterator[tuple[str, str]]:
    """Yield the members of documents that its effects set, with their collections."""
    for effect, written in zip(by.behaviour.effects, by.origin.written.get("effects", ()), strict=True):
        if not isinstance(effect, Effect):
            continue
        value = written.get("to")
        names = effect.members[:1] or (value if isinstance(value, dict) else ())
        yield from ((effect.collection, name) for name in names)


def _shape(node: Node, depth: int = 4) -> Shape | None:
    """Return the members that a schema names, or None if it names none."""
    node = node.resolve()
    if not depth:
        return None
    if "items" in node.schema:
        return {_ANY: _shape(node.at(node.schema["items"]), depth - 1)}
    others = node.schema.get("additionalProperties")
    if isinstance(others, dict):
        return {_ANY: _shape(node.at(others), depth - 1)}
    properties = node.schema.get("properties")
    return {name: _shape(node.at(schema), depth - 1) for name, schema in properties.items()} if properties else None


def _find_wrong(text: str, shapes: Mapping[str, Shape | None]) -> Iterator[str]:
    """Describe the missing members that the expressions in a string read."""
    for root, keys in chains(text):
        if root in shapes and (wrong := _find_unknown(shapes[root], keys, root)):
            yield wrong


def _find_unknown(shape: Shape | None, keys: tuple[Key, ...], so_far: str) -> str | None:
    """Describe the first key that does not exist."""
    for key in keys:
        if shape is None:
            return None
        if isinstance(key, str) and key not in shape and _ANY not in shape:
            hint = did_you_mean(key, shape) or (
                f"; its members are {', '.join(sorted(shape))}" if len(shape) < 12 else ""
            )
            return f"{so_far} has no member {key!r}{hint}"
        if not isinstance(key, str) and _ANY not in shape:
            return None
        shape = shape[key] if isinstance(key, str) and key in shape else shape[_ANY]
        so_far = f"{so_far}.{key}" if isinstance(key, str) else f"{so_far}[…]"
    return None


def expressions(by: Operation | Rule) -> Iterator[tuple[Pointer, str]]:
    """Yield the places below the rule or operation that may be computed, with their texts."""
    written = by.origin.written
    if isinstance(by, Rule) and by.when_text:
        yield ("match", "when"), wrap_in_braces(by.when_text)
    for below, _ in answers(by):
        answer = written[below[0]] if len(below) == 1 else written[below[0]][below[1]]
        if "when" in answer:
            yield (*below, "when"), wrap_in_braces(answer["when"])
        for key in _COMPUTED if answer.get("raw") is not True else ():
            yield from _braces(answer.get(key), (*below, key))
    yield from _braces(written.get("let"), ("let",))
    for number, step in enumerate(_list(written.get("require"))):
        pointer: Pointer = ("require", number) if isinstance(written["require"], list) else ("require",)
        if "that" in step:
            yield (*pointer, "that"), wrap_in_braces(step["that"])
        yield from _braces(step.get("values"), (*pointer, "values"))
    for number, effect in enumerate(written.get("effects", ())):
        for key in ("to", "with"):
            yield from _braces(effect.get(key), ("effects", number, key))
        if "when" in effect:
            yield ("effects", number, "when"), wrap_in_braces(effect["when"])
    if "amend" in written:
        for key in ("status", "headers", "result", "body", "patch"):
            yield from _braces(written["amend"].get(key), ("amend", key))


def _list(require: Any) -> Sequence[Any]:
    """Return the steps of a requirement. A rule may say `none`."""
    return require if isinstance(require, list) else [require] if isinstance(require, dict) else []


def _braces(value: Any, pointer: Pointer) -> Iterator[tuple[Pointer, str]]:
    return ((place, text) for place, text in texts(value, pointer) if "{{" in text)


def wrap_in_braces(condition: str) -> str:
    return "{{ " + condition + " }}"
