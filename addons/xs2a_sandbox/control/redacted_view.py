"""Shows texts about an exchange as the redacted exchange shows the same values."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

type Redact = Callable[[Any], Any]

_SHORTEST = 4
"""Shorter values occur in too many words."""


def redact_like(plain: Mapping[str, Any], displayed: Mapping[str, Any], redact: Callable[[str], str]) -> Redact:
    """Return a function that redacts all texts in a value.

    A text that differs between `plain` and `displayed`, two views of one exchange, is replaced in the same way.
    `redact` is applied to the rest.
    """
    shown = dict(_differences(plain, displayed))
    longest_first = sorted(shown, key=len, reverse=True)

    def change(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: change(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [change(inner) for inner in value]
        if not isinstance(value, str):
            return value
        for text in longest_first:
            value = value.replace(text, shown[text])
        return redact(value)

    return change


def _differences(plain: Any, displayed: Any) -> Iterator[tuple[str, str]]:
    if isinstance(plain, Mapping) and isinstance(displayed, Mapping):
        for name in plain.keys() & displayed.keys():
            yield from _differences(plain[name], displayed[name])
    elif isinstance(plain, list) and isinstance(displayed, list):
        for one, other in zip(plain, displayed, strict=False):
            yield from _differences(one, other)
    elif isinstance(plain, str) and isinstance(displayed, str) and plain != displayed and len(plain) >= _SHORTEST:
        yield plain, displayed
