"""Reads a YAML document as a cassette and reports every mistake in it."""

import errno
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import date
from functools import cache
from itertools import starmap
from typing import Any

from xs2a_sandbox.cassette.amend import compile_amendment
from xs2a_sandbox.cassette.answers import Report, ResponseTemplate, compile_action, compile_answer, compile_effect
from xs2a_sandbox.cassette.dialect import sca_pages
from xs2a_sandbox.cassette.dialect.sections import SECTIONS
from xs2a_sandbox.cassette.evaluation.expressions import (
    ERROR_ROOTS,
    RESULT_ROOTS,
    ROOTS,
    compile_condition,
    compile_text,
    compile_value,
)
from xs2a_sandbox.cassette.inputs import compile_sources
from xs2a_sandbox.cassette.matchers import OPERATORS, Constraint, Part, RequestPart, constrain, operands
from xs2a_sandbox.cassette.model import (
    Behaviour,
    Cassette,
    ErrorAnswer,
    Extension,
    Operation,
    Pointer,
    Recorded,
    Requirement,
    Rule,
    ScaPages,
    SourcePlace,
)
from xs2a_sandbox.cassette.path_pattern import Pattern
from xs2a_sandbox.cassette.things import Act
from xs2a_sandbox.config.checks import check_names
from xs2a_sandbox.documents import Schemas, own_file
from xs2a_sandbox.documents.document import Document
from xs2a_sandbox.documents.json_pointer import parse_pointer
from xs2a_sandbox.documents.json_schema import Schema, bundled_schema
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.documents.yaml_reader import complaints
from xs2a_sandbox.errors import ExpressionError, Problem

LARGEST_TOGETHER = 256 * 1024 * 1024
"""The maximum size in bytes of all body files of one cassette."""


def parse(document: Document, schemas: Schemas, problems: list[Problem], *, has_folder: bool = True) -> Cassette:
    """Return the valid part of the cassette. Problems are added to `problems`.

    Without a folder it cannot answer with files.
    """
    mistakes = [] if document.is_sound else complaints(document, cassette_schema())
    problems += mistakes
    if any(not problem.code.startswith("warning") for problem in mistakes):
        return Cassette(document.file, (), (), (), None, None, None)
    return _Reader(document, schemas, problems, has_folder).cassette()


@cache
def cassette_schema() -> Schema:
    """Return the schema of cassettes, completed with the operands of matchers."""
    schema = bundled_schema("cassette")
    document = deepcopy(schema.document)
    for name, textual in (("matcher", False), ("textMatcher", True)):
        document["$defs"][name]["then"]["properties"] = operands(textual=textual)
    return Schema(schema.name, document, schema.read)


class _Reader:
    """Reads one document and collects the problems."""

    def __init__(self, document: Document, schemas: Schemas, problems: list[Problem], has_folder: bool) -> None:
        self.document = document
        self.has_folder = has_folder
        self.schemas = schemas
        self.problems = problems
        self.contents: dict[str, bytes] = {}
        self.tape = self.read_recorded(document.value.get("recorded"))

    def cassette(self) -> Cassette:
        value = self.document.value
        return Cassette(
            self.document.file,
            tuple(starmap(self.operation, _each(value, "operations"))),
            tuple(starmap(self.rule, _each(value, "rules"))),
            tuple(self.error(name, spec) for name, spec in value.get("errors", {}).items()),
            self.requirement(value["every_request"], ("every_request",)) if "every_request" in value else None,
            self.answer(value["every_answer"], ("every_answer",), ROOTS) if "every_answer" in value else None,
            self.every_error(value["every_error"]) if "every_error" in value else None,
            self.tape,
            value["dialect"]["name"] if "dialect" in value else None,
            self.extension(value) if "extends" in value else None,
            *(self.options(value) if "extends" not in value else ({}, {})),
            value.get("quirk", False),
            self.sca_pages(value["sca_pages"]) if "sca_pages" in value else None,
            self.checks(value, ()),
            {name: value[name] for name in SECTIONS if name in value},
            SourcePlace(self.document, ()),
        )

    def options(
        self, value: Mapping[str, Any]
    ) -> tuple[Mapping[str, Mapping[str, Any]], Mapping[str, Mapping[str, Any]]]:
        """Return the options of handlers by name, and those of single operations by id."""
        changes: Mapping[str, Mapping[str, Any]] = value.get("changes", {})
        text = (
            "a layer without extends can change only options and the `with` of operations; to replace an entry, "
            "define it again with the same id"
        )
        for section in changes.keys() - {"options", "operations"}:
            self.note(("changes", section), "extends", text, key=True)
        operations = changes.get("operations", {})
        for id, change in operations.items():
            for name in change.keys() - {"with"}:
                self.note(("changes", "operations", id, name), "extends", text, key=True)
            # In a dialect that extends another, this null removes `with`; the handlers of a layer need theirs.
            if change.get("with", {}) is None:
                self.note(("changes", "operations", id, "with"), "wrong-type", "must be a mapping, not null")
        return changes.get("options", {}), {id: change.get("with") or {} for id, change in operations.items()}

    def sca_pages(self, spec: Mapping[str, Any]) -> ScaPages:
        pages = sca_pages.parse(spec)
        for below, text in sca_pages.mistakes(pages):
            self.note(("sca_pages", *below), "wrong-value", text)
        return pages

    def extension(self, value: Mapping[str, Any]) -> Extension:
        origin = SourcePlace(self.document, ())
        return Extension(value["extends"], tuple(value.get("without", ())), value.get("changes", {}), origin)

    def read_recorded(self, spec: Mapping[str, Any] | None) -> Recorded | None:
        if spec is None:
            return None
        day = date.fromisoformat(spec["at"][:10])
        return Recorded(spec["bank"], day, spec["redacted"] or None, tuple(spec.get("left_out", ())))

    def every_error(self, spec: Mapping[str, Any]) -> ResponseTemplate:
        if (name := spec.get("schema")) and name not in self.schemas:
            text = f"unknown schema {name!r}; choose one of {', '.join(self.schemas.names(name))}"
            self.note(("every_error", "schema"), "unknown-schema", text)
        if spec.get("nulls") == "fill" and "schema" not in spec:
            self.note(("every_error", "nulls"), "unknown-schema", "nulls: fill needs a schema: name one here")
        return self.answer(spec, ("every_error",), ERROR_ROOTS)

    def operation(self, spec: Mapping[str, Any], pointer: Pointer) -> Operation:
        if "handler" not in spec and "respond" not in spec:
            self.note(pointer, "behaviour", "an operation needs a handler, a respond, or both")
        pattern = self.pattern(spec["path"], (*pointer, "path"))
        return Operation(
            id=spec["id"],
            method=spec["method"],
            pattern=pattern,
            where=tuple(
                self.where(alternative, at, pattern)
                for alternative, at in _each({"where": {}, **spec}, "where", pointer)
            ),
            otherwise=spec.get("otherwise", {}),
            roles=tuple(spec.get("roles", ())),
            is_for_browsers=spec.get("browser", False),
            checks=self.checks(spec, pointer),
            does=self.try_make((*pointer, "does"), "wrong-value", Act.parse, spec["does"]) if "does" in spec else None,
            require=self.requirements(spec.get("require", {}), (*pointer, "require")),
            behaviour=self.behaviour(spec, pointer),
            examples=tuple(spec.get("examples", ())),
            origin=SourcePlace(self.document, pointer),
        )

    def rule(self, spec: Mapping[str, Any], pointer: Pointer) -> Rule:
        match, at = spec["match"], (*pointer, "match")
        if len(match.keys() & {"operation", "does", "path"}) != 1:
            self.note(at, "match", "a rule must match either by operation, by does, or by its own path")
        if "path" not in match and "method" in match:
            self.note((*at, "method"), "match", "remove the method: the operation already determines it")
        for number, example in enumerate(spec.get("examples", ()) if "does" in match else ()):
            if "path" not in example["request"]:
                text = "a rule with does applies to several paths: add one of the paths to the example"
                self.note((*pointer, "examples", number, "request"), "match", text)
        acts = (
            self.try_make(place, "wrong-value", Act.parse_wide, written) for written, place in _each(match, "does", at)
        )
        kinds = [key for key in ("sequence", "handler", "bank", "amend") if key in spec]
        if "respond" in spec and "handler" not in spec:
            kinds.append("respond")
        if len(kinds) != 1:
            text = f"not {' and '.join(kinds) or 'none'}"
            text = f"a rule must have exactly one of respond, sequence, handler, bank and amend, {text}"
            self.note(pointer, "behaviour", text)
        if "on_exhausted" in spec and "sequence" not in spec:
            self.note((*pointer, "on_exhausted"), "behaviour", "on_exhausted needs a sequence")
        for key in ("with", "input"):
            if key in spec and "handler" not in spec:
                self.note((*pointer, key), "behaviour", f"{key} needs a handler")
        for key in ("answers", "effects", "let") if "amend" in spec else ():
            if key in spec:
                self.note((*pointer, key), "behaviour", f"a rule that amends an answer cannot have {key}")
        if "amend" in spec and isinstance(spec.get("require"), dict | list):
            text = "a rule that amends an answer cannot have requirements; write them under match, or set require: none"
            self.note((*pointer, "require"), "behaviour", text)
        pattern = self.pattern(match["path"], (*at, "path")) if "path" in match else None
        constraints = self.where(match.get("where", {}), (*at, "where"), pattern)
        for part in ("headers", "query", "tls"):
            constraints += self.constraints(part, match.get(part, {}), (*at, part))
        constraints += self.body(match.get("body", {}), (*at, "body"))
        method = match.get("method", [])
        require = spec.get("require")
        return Rule(
            id=spec["id"],
            priority=spec.get("priority", 0),
            operation=match.get("operation"),
            methods=frozenset([method] if isinstance(method, str) else method),
            pattern=pattern,
            constraints=constraints,
            when=self.try_make((*at, "when"), "expression", compile_condition, match["when"])
            if "when" in match
            else None,
            when_text=match.get("when"),
            require=self.requirements(require, (*pointer, "require")) if isinstance(require, dict | list) else None,
            skips_requirements=require == "none",
            behaviour=self.behaviour(spec, pointer),
            examples=tuple(spec.get("examples", ())),
            origin=SourcePlace(self.document, pointer),
            recorded=spec["recorded"]["hash"] if "recorded" in spec else None,
            tape=self.tape,
            does=tuple(filter(None, acts)),
        )

    def error(self, name: str, spec: Mapping[str, Any]) -> ErrorAnswer:
        pointer: Pointer = ("errors", name)
        text = self.try_make((*pointer, "text"), "expression", compile_text, spec["text"], None)
        status, code, number = (
            value if isinstance(value, dict) else {"default": value}
            for value in (spec["status"], spec["code"], spec.get("number", ""))
        )
        return ErrorAnswer(
            name=name,
            statuses=status,
            codes=code,
            numbers=number,
            text=spec["text"] if text is None else text,
            headers=tuple(
                (header, compile_value(value, ERROR_ROOTS, self.report((*pointer, "headers", header), "expression")))
                for header, value in spec.get("headers", {}).items()
            ),
            body=compile_value(spec.get("body"), ERROR_ROOTS, self.report((*pointer, "body"), "expression")),
            origin=SourcePlace(self.document, pointer),
            empty=spec.get("empty", False),
        )

    def behaviour(self, spec: Mapping[str, Any], pointer: Pointer) -> Behaviour:
        roots = RESULT_ROOTS if "handler" in spec else ROOTS
        let: list[tuple[str, Any]] = []
        for name, value in spec.get("let", {}).items():
            report = self.report((*pointer, "let", name), "expression")
            let.append((name, compile_value(value, roots, report)))
        aliases = [effect["as"] for effect in spec.get("effects", ()) if "as" in effect]
        for name in {alias for alias in aliases if aliases.count(alias) > 1 or alias in spec.get("let", ())}:
            self.note((*pointer, "effects"), "effect", f"let.{name} is defined twice")
        respond, sequence = _each(spec, "respond", pointer), _each(spec, "sequence", pointer)
        for answer, place in respond[:-1]:
            if "when" not in answer:
                self.note(place, "unreachable", "only the last answer in a list may have no when")
        for answer, place in respond[-1:]:
            if "when" in answer:
                text = "the last or only answer is the default, so it cannot have a when"
                self.note((*place, "when"), "behaviour", text, key=True)
        for answer, place in sequence:
            if "when" in answer:
                self.note((*place, "when"), "behaviour", "a sequence answers in turn, so it cannot have a when")
        effects = (
            (compile_action if "do" in effect else compile_effect)(effect, roots, self.report(place, "effect"))
            for effect, place in _each(spec, "effects", pointer)
        )
        return Behaviour(
            respond=tuple(self.answer(answer, place, roots) for answer, place in respond),
            sequence=tuple(self.answer(answer, place, roots) for answer, place in sequence),
            on_exhausted=spec.get("on_exhausted", "repeat_last"),
            handler=spec.get("handler"),
            options=spec.get("with"),
            inputs=compile_sources(spec.get("input", {}), self.report((*pointer, "input"), "expression")),
            bank=spec.get("bank", False),
            answers=spec.get("answers"),
            effects=tuple(filter(None, effects)),
            let=tuple(let),
            amend=compile_amendment(spec["amend"], self.report((*pointer, "amend"), "answer"))
            if "amend" in spec
            else None,
        )

    def answer(self, spec: Mapping[str, Any], pointer: Pointer, roots: frozenset[str]) -> ResponseTemplate:
        return compile_answer(spec, roots, self.content, self.report(pointer, "answer"))

    def content(self, name: str) -> bytes:
        """Return the content of a file in the cassette's folder. Several responses may share it. Raises OSError."""
        if not self.has_folder:
            raise OSError(
                errno.EPERM,
                "`file` works only in cassettes on disk, not in rules added at run time: write the body as text or "
                "base64",
                name,
            )
        if name not in self.contents:
            folder = self.document.file.parent
            self.contents[name] = own_file.read(folder / name, folder=folder)
            if sum(map(len, self.contents.values())) > LARGEST_TOGETHER:
                del self.contents[name]
                text = (
                    f"the body files of one cassette must not exceed {LARGEST_TOGETHER // (1024 * 1024)} MiB in total"
                )
                raise OSError(errno.EFBIG, text, name)
        return self.contents[name]

    def pattern(self, text: str, pointer: Pointer) -> Pattern:
        return self.try_make(pointer, "path", Pattern.parse, text) or Pattern(text, ())

    def requirements(self, spec: Mapping[str, Any] | list[Any], pointer: Pointer) -> Requirement:
        if isinstance(spec, dict):
            return self.requirement(spec, pointer)
        first, *following = (self.requirement(step, (*pointer, number)) for number, step in enumerate(spec))
        return replace(first, following=tuple(following))

    def checks(self, spec: Mapping[str, Any], pointer: Pointer) -> dict[str, tuple[Requirement, ...]]:
        """Return the requirements of each check by name."""
        there = check_names()
        for name in spec.get("checks", {}).keys() - set(there):
            text = f"unknown check {name!r}{did_you_mean(name, there) or f'; the checks are {", ".join(there)}'}"
            self.note((*pointer, "checks", name), "unknown-check", text, key=True)
        return {
            name: tuple(self.requirement(step, (*pointer, "checks", name, number)) for number, step in enumerate(steps))
            for name, steps in spec.get("checks", {}).items()
        }

    def requirement(self, spec: Mapping[str, Any], pointer: Pointer) -> Requirement:
        body = dict(spec.get("body", {}))
        schema, optional, media = body.pop("schema", None), body.pop("optional", False), body.pop("media", [])
        constraints: tuple[Constraint, ...] = ()
        for part in ("headers", "query"):
            constraints += self.constraints(part, spec.get(part, {}), (*pointer, part))
        types = tuple(own_type.lower() for own_type in ([media] if isinstance(media, str) else media))
        report = self.report((*pointer, "values"), "expression")
        return Requirement(
            constraints + self.body(body, (*pointer, "body")),
            schema,
            optional,
            types,
            self.try_make((*pointer, "that"), "expression", compile_condition, spec["that"])
            if "that" in spec
            else None,
            spec.get("that", ""),
            spec.get("error"),
            compile_value(spec.get("values"), ROOTS, report),
        )

    def where(self, spec: Mapping[str, Any], pointer: Pointer, pattern: Pattern | None) -> tuple[Constraint, ...]:
        if pattern:
            for name in spec.keys() - set(pattern.names):
                self.note((*pointer, name), "where", f"the path {pattern.text} has no parameter {name}", key=True)
        listed = {name: {"in": value} if isinstance(value, list) else value for name, value in spec.items()}
        return self.constraints("where", listed, pointer)

    def constraints(self, part: Part, spec: Mapping[str, Any], pointer: Pointer) -> tuple[Constraint, ...]:
        names = [name.lower() for name in spec] if part == "headers" else []
        for position, name in enumerate(spec):
            if name.lower() in names[:position]:
                self.note((*pointer, name), "duplicate-key", f"the header {name} can be listed only once", key=True)
        return self.make_constraints(
            (RequestPart(part, name.lower() if part == "headers" else name), matcher, (*pointer, name))
            for name, matcher in spec.items()
        )

    def body(self, spec: Mapping[str, Any], pointer: Pointer) -> tuple[Constraint, ...]:
        specs: list[tuple[RequestPart, Any, Pointer]] = []
        for name, matcher in spec.items():
            whole = name in OPERATORS and OPERATORS[name].in_bodies_alone
            if not whole:
                self.try_make((*pointer, name), "pointer", parse_pointer, name, key=True)
            place = RequestPart("body", "" if whole else name)
            specs.append((place, {name: matcher} if whole else matcher, (*pointer, name)))
        return self.make_constraints(specs)

    def make_constraints(self, specs: Iterable[tuple[RequestPart, Any, Pointer]]) -> tuple[Constraint, ...]:
        constraints = (
            self.try_make(pointer, "matcher", constrain, place, matcher, self.schema_check)
            for place, matcher, pointer in specs
        )
        return tuple(filter(None, constraints))

    def schema_check(self, name: str) -> Callable[[Any], bool]:
        if name not in self.schemas:
            raise ValueError(f"unknown schema {name!r}; choose one of {', '.join(self.schemas.names(name))}")
        return lambda value: self.schemas[name].accepts(value)

    def try_make[T](
        self, pointer: Pointer, code: str, make: Callable[..., T], *arguments: Any, key: bool = False
    ) -> T | None:
        """Return the result of `make`, or None if it raises an error, which becomes a problem at this place."""
        try:
            return make(*arguments)
        except (ExpressionError, ValueError) as error:
            self.note(pointer, code, str(error), key=key)
            return None

    def report(self, pointer: Pointer, code: str) -> Report:
        """Return a function that reports problems below a place."""
        return lambda below, text: self.note((*pointer, *below), code, text)

    def note(self, pointer: Sequence[str | int], code: str, text: str, *, key: bool = False) -> None:
        self.problems.append(self.document.problem(pointer, code, text, key=key))


def _each(spec: Mapping[str, Any], key: str, pointer: Pointer = ()) -> list[tuple[Any, Pointer]]:
    """Return the entries of a list, or a single value that stands for a list, each with its place."""
    value = spec.get(key, [])
    if isinstance(value, list):
        return [(entry, (*pointer, key, i)) for i, entry in enumerate(value)]
    return [(value, (*pointer, key))]
