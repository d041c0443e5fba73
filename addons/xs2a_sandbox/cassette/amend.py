"""Amendments: changes that a rule makes to the response of another rule or operation, or to a handler's result."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from xs2a_sandbox.cassette.answers import (
    JSON,
    NO_BODY,
    Delay,
    Report,
    ResponseTemplate,
    compile_fields,
    status_of,
    with_content_type,
)
from xs2a_sandbox.cassette.evaluation.expressions import ROOTS, Render, Scope, compile_value, render
from xs2a_sandbox.cassette.evaluation.values import merge_patch, to_text
from xs2a_sandbox.documents.json_pointer import at_pointer, parse_pointer, pointer_text
from xs2a_sandbox.http import Headers, Response, to_json
from xs2a_sandbox.http.media_type import is_json, media_type

EVERY = "*"
"""In a path of `patch`, matches every entry of a list."""
AMEND_ROOTS = ROOTS | {"answer", "entry"}
AMEND_RESULT_ROOTS = ROOTS | {"result", "entry"}


@dataclass(frozen=True, slots=True)
class PatchStep:
    """One operation of a JSON Patch (RFC 6902). Paths may contain `*`; `value` may contain expressions."""

    op: str
    path: tuple[str, ...]
    source: tuple[str, ...] | None = None
    value: Any = NO_BODY


@dataclass(frozen=True, slots=True)
class JsonChange:
    """A change to JSON or to a handler's result: first `merge`, a JSON Merge Patch (RFC 7396), then `patch`."""

    merge: Any = NO_BODY
    patch: tuple[PatchStep, ...] = ()

    def __bool__(self) -> bool:
        return self.merge is not NO_BODY or bool(self.patch)

    def apply(self, value: Any, scope: Scope, warn: Callable[[str], None]) -> Any:
        """Return the changed value.

        Calls `warn` with a message for each change that is impossible. Raises ExpressionError.
        """
        if self.merge is not NO_BODY:
            value = merge_patch(value, render(self.merge, scope))
        if not self.patch:
            return value
        from jsonpatch import JsonPatch, JsonPatchException, JsonPatchTestFailed, JsonPointerException

        patched = value
        try:
            for step in self.patch:
                operations = [_operation(step, path, source, patched, scope) for path, source in _places(step, patched)]
                patched = JsonPatch(operations).apply(patched)
        except JsonPatchTestFailed:
            return value
        except (JsonPatchException, JsonPointerException) as error:
            warn(f"the patch cannot be applied: {error}")
            return value
        return patched


@dataclass(frozen=True, slots=True)
class Amendment:
    """The amendment of one rule: `result` changes the handler's result, `body` changes the JSON of the response.

    A header in `headers` whose value is null is removed. If `instead` is set, the amendment applies to that response.
    """

    status: int | Render | None = None
    headers: tuple[tuple[str, Any], ...] = ()
    result: JsonChange = JsonChange()
    body: JsonChange = JsonChange()
    delay: Delay | None = None
    fault: str | None = None
    instead: ResponseTemplate | None = None

    def apply(self, response: Response, scope: Scope, warn: Callable[[str], None]) -> Response:
        """Return the amended response. Calls `warn` with a message for each change that is impossible.

        Raises InvalidResponse, ExpressionError.
        """
        headers, body = response.headers, response.body
        value = _json(response)
        scope = {**scope, "answer": {"status": response.status, "body": None if value is NO_BODY else value}}
        if self.body:
            if value is NO_BODY:
                warn("only answers with a JSON body can be amended")
            else:
                body = to_json(self.body.apply(value, scope, warn))
                headers = with_content_type(headers, JSON)
        if self.headers:
            rendered = [(name, render(text, scope)) for name, text in self.headers]
            names = {name.lower() for name, _ in rendered}
            kept = tuple(pair for pair in headers if pair[0].lower() not in names)
            headers = kept + tuple((name, to_text(text)) for name, text in rendered if text is not None)
        status = response.status if self.status is None else status_of(render(self.status, scope))
        return Response(status, headers, body, self.fault or response.fault)


def compile_amendment(spec: Mapping[str, Any], report: Report) -> Amendment:
    """Compile an amendment. `spec` must be valid under the cassette schema; other mistakes go to `report`."""
    status, headers, delay = compile_fields(spec, AMEND_ROOTS, report)
    merge: Any = NO_BODY
    if "body" in spec:
        merge = compile_value(spec["body"], AMEND_ROOTS, _below(report, "body"))
    body = JsonChange(merge, _steps(spec.get("patch", ()), AMEND_ROOTS, _below(report, "patch")))
    return Amendment(
        status, headers, _compile_result_change(spec.get("result", []), report), body, delay, spec.get("fault")
    )


def _compile_result_change(spec: Any, report: Report) -> JsonChange:
    """Compile a list as a JSON Patch, and any other value as a JSON Merge Patch."""
    below = _below(report, "result")
    if isinstance(spec, list):
        return JsonChange(patch=_steps(spec, AMEND_RESULT_ROOTS, below))
    return JsonChange(compile_value(spec, AMEND_RESULT_ROOTS, below))


def _steps(written: Sequence[Mapping[str, Any]], roots: frozenset[str], report: Report) -> tuple[PatchStep, ...]:
    steps = (_step(spec, roots, _below(report, position)) for position, spec in enumerate(written))
    return tuple(filter(None, steps))


def _below(report: Report, *pointer: str | int) -> Report:
    return lambda below, text: report((*pointer, *below), text)


def _step(spec: Mapping[str, Any], roots: frozenset[str], report: Report) -> PatchStep | None:
    op, paths = spec["op"], {}
    for key in ("path", "from"):
        if (key in spec) != (key == "path" or op in ("move", "copy")):
            report((), f"{op} needs a {key}" if key not in spec else f"{op} takes no {key}: remove it")
            return None
        if key in spec:
            try:
                paths[key] = parse_pointer(spec[key])
            except ValueError as error:
                report((key,), str(error))
                return None
    if ("value" in spec) != (op in ("add", "replace", "test")):
        report((), f"{op} needs a value" if "value" not in spec else f"{op} takes no value: remove it")
        return None
    if "from" in paths and paths["from"].count(EVERY) not in (0, paths["path"].count(EVERY)):
        report(
            ("from",), "from must have as many * as path, or none: each * in from is the entry of the same * in path"
        )
        return None
    value = NO_BODY
    if "value" in spec:
        value = compile_value(spec["value"], roots, _below(report, "value"))
    return PatchStep(op, paths["path"], paths.get("from"), value)


def _places(step: PatchStep, value: Any) -> Iterator[tuple[tuple[str, ...], tuple[str, ...] | None]]:
    """Yield the path and source path of each entry that the step matches.

    The last entry first if entries are removed.
    """
    if EVERY not in step.path:
        yield step.path, step.source
        return
    for indices in _entries(step.path, value, reverse=step.op in ("remove", "move")):
        path = _fill(step.path, indices)
        source = step.source and _fill(step.source, indices)
        there = path if step.op in ("remove", "replace", "test") else source or path[:-1]
        if at_pointer(value, there):
            yield path, source


def _entries(path: Sequence[str], value: Any, *, reverse: bool) -> Iterator[tuple[str, ...]]:
    """Yield the list positions that the `*`s of the path stand for, one tuple for each match."""
    if EVERY not in path:
        yield ()
        return
    first = list(path).index(EVERY)
    (entries,) = at_pointer(value, path[:first]) or (None,)
    numbers = range(len(entries)) if isinstance(entries, list) else range(0)
    for number in reversed(numbers) if reverse else numbers:
        for below in _entries(path[first + 1 :], entries[number], reverse=reverse):
            yield (str(number), *below)


def _fill(path: Sequence[str], indices: Sequence[str]) -> tuple[str, ...]:
    left = iter(indices)
    return tuple(next(left) if step == EVERY else step for step in path)


def _operation(
    step: PatchStep, path: tuple[str, ...], source: tuple[str, ...] | None, value: Any, scope: Scope
) -> dict[str, Any]:
    operation: dict[str, Any] = {"op": step.op, "path": pointer_text(path)}
    if source is not None:
        operation["from"] = pointer_text(source)
    if step.value is not NO_BODY:
        last = max((number for number, part in enumerate(step.path) if part == EVERY), default=None)
        entry = None if last is None else (at_pointer(value, path[: last + 1]) or (None,))[0]
        operation["value"] = render(step.value, {**scope, "entry": entry})
    return operation


def _json(response: Response) -> Any:
    if not response.body or not is_json(media_type(Headers(response.headers).get("content-type"))):
        return NO_BODY
    try:
        return json.loads(response.body, parse_float=Decimal)
    except ValueError:
        return NO_BODY
