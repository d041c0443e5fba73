"""Shapes: named templates, each of which turns a thing of the domain into its form in an interface."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from xs2a_sandbox.cassette.evaluation import work
from xs2a_sandbox.cassette.evaluation.expressions import Scope
from xs2a_sandbox.cassette.evaluation.shape_source import UNMETERED, Make, ShapedThings, ShapeSource, Use, shape_all
from xs2a_sandbox.cassette.evaluation.work import WORK, Work

_UNCHANGED = re.compile(r"\{\{\s*it\s*\}\}")


@dataclass(frozen=True, slots=True)
class CompiledShape:
    """A compiled template. `reads` are the roots that its own expressions read, `uses` the shapes that it uses.

    Unless it `is_metered`, applying it cannot use up the budget of work: it has no filter, sum, list or other shape.
    """

    template: Any
    make: Make
    kept: ShapedThings | None
    reads: frozenset[str]
    uses: tuple[Use, ...]
    is_metered: bool = True
    changes_nothing: bool = False

    def one(self, scope: Scope, it: Any) -> Any:
        if self.changes_nothing:
            return it
        if not self.is_metered:
            return self.make(scope, it)
        before = work.begin(scope.get(WORK) or Work())
        try:
            return self.make(scope, it)
        finally:
            work.end(before)

    def many(self, scope: Scope, things: Sequence[Any]) -> Sequence[Any]:
        if self.changes_nothing:
            return things
        if not things:
            return []
        before = work.begin(scope.get(WORK) or Work())
        work.allow(len(things))
        try:
            return shape_all(self.make, self.kept, scope, things)
        finally:
            work.end(before)


def is_metered(make: Make, free: Collection[Any] = ()) -> bool:
    """Return whether the generated function can use up the budget of work. The functions in `free` charge nothing."""
    values = make.__globals__
    used = (values[name] for name in make.__code__.co_names if name in values)
    return any(callable(value) and value not in UNMETERED and value not in free for value in used)


def compile_shapes(
    templates: Mapping[str, Any], roots: frozenset[str], report: Callable[[str, tuple[str | int, ...], str], None]
) -> Mapping[str, CompiledShape]:
    """Compile the shapes of a dialect, which may use each other.

    Calls `report` with the name of the shape, the place in its template, and a description of the mistake.
    """
    source = ShapeSource(list(templates), roots)
    written = {name: source.write(name, template, partial(report, name)) for name, template in templates.items()}
    compiled = source.compile()
    return {
        name: CompiledShape(
            template,
            *compiled[name],
            frozenset(written[name].reads),
            tuple(written[name].uses),
            is_metered(compiled[name][0]),
            isinstance(template, str) and _UNCHANGED.fullmatch(template) is not None,
        )
        for name, template in templates.items()
    }
