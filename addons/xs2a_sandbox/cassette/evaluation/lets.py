"""Values of the root `let`: those of the dialect, overridden by those of an operation or rule."""

from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from xs2a_sandbox.cassette.evaluation.expressions import Scope, render


class DialectLets(Mapping[str, Any]):
    """The dialect's values. Each is computed from the scope at first use."""

    __slots__ = ("_compiled", "_scope", "_values")

    def __init__(self, compiled: Mapping[str, Any], scope: Scope) -> None:
        self._compiled = compiled
        self._scope = scope
        self._values: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            self._values[name] = render(self._compiled[name], {**self._scope, "let": self})
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._compiled

    def __iter__(self) -> Iterator[str]:
        return iter(self._compiled)

    def __len__(self) -> int:
        return len(self._compiled)


def lets_of(compiled: Mapping[str, Any], scope: Scope) -> MutableMapping[str, Any]:
    """Return the root `let` of a scope. An operation or rule adds its own values to it."""
    # Writes go only to the first mapping.
    return ChainMap({}, DialectLets(compiled, scope))  # type: ignore[arg-type]
