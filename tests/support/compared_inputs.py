"""Compares the inputs that the function of a handler reads with those that are read one by one."""

from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

from xs2a_sandbox.cassette.inputs import Inputs, Readable

DIFFERENT: list[str] = []
"""Inputs about which the two did not agree since it was last emptied."""

_read = Inputs.read


def differences(inputs: Inputs, taken: dict[str, Any], call: Readable) -> Iterator[str]:
    """Yield the inputs that have another value if they are read alone."""
    for name, value in taken.items():
        alone = inputs[name].read(call)
        if value is not alone and value != alone:
            yield f"{name}: {value!r} instead of {alone!r}"


@cache
def install() -> None:
    """Let every handler of this process note the differences."""

    def read(inputs: Inputs, handler: str, names: Collection[str], call: Readable) -> dict[str, Any]:
        taken = _read(inputs, handler, names, call)
        DIFFERENT.extend(differences(inputs, taken, call))
        return taken

    Inputs.read = read  # type: ignore[method-assign]
