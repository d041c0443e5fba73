"""Bodies of requests and answers that their schemas allow: examples of the document, or samples of the schemas."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.json_schema import Schema
from xs2a_sandbox.features.authoring.samples import of_schema
from xs2a_sandbox.features.importing.openapi.operations import MISSING

_MOST_REPAIRS = 60
"""The most members that are taken out of a sample until its schema allows it."""


class Bodies:
    """Finds the body for each schema of the imported file, `file#name`."""

    def __init__(self, schemas: Schemas, file: str) -> None:
        self._schemas = schemas
        self._file = file

    def name(self, schema: str) -> str:
        return f"{self._file}#{schema}"

    def schema(self, name: str) -> Schema:
        return self._schemas[self.name(name)]

    def allows(self, name: str | None, value: Any) -> bool:
        """Return whether the schema allows the value. Without a schema every value is allowed."""
        if name is None:
            return True
        try:
            return bool(self.schema(name).accepts(value))
        except ValueError:
            return False

    def compiles(self, name: str) -> bool:
        try:
            self.schema(name).accepts(None)
        except ValueError:
            return False
        return True

    def answer(self, name: str | None, examples: Sequence[Any]) -> Any:
        """Return a full body: the first valid example, or a sample with all members that can be made."""
        return self._first(name, examples, (True, False))

    def request(self, name: str | None, examples: Sequence[Any]) -> Any:
        """Return a body to send: the first valid example, or a sample with the required members."""
        return self._first(name, examples, (False, True))

    def whole(self, name: str | None, examples: Sequence[Any]) -> Any:
        """Return a sample with all members, from which their places can be read."""
        return self._first(name, (), (True, False)) if name is not None else self._first(None, examples, ())

    def _first(self, name: str | None, examples: Sequence[Any], ways: Sequence[bool]) -> Any:
        valid = (example for example in examples if self.allows(name, example))
        if (found := next(valid, MISSING)) is not MISSING or name is None:
            return found
        for whole in ways:
            if (made := self._sample(name, whole)) is not MISSING:
                return made
        return MISSING

    def _sample(self, name: str, whole: bool) -> Any:
        """Return a sample. Members with a form that no sample has are left out if they are optional."""
        schema = self.schema(name)
        value = deepcopy(of_schema(schema.node, whole=whole))
        for _ in range(_MOST_REPAIRS):
            try:
                complaint = schema.complaint(value)
            except ValueError:
                break
            if complaint is None:
                return value
            if not _remove(value, complaint.pointer):
                break
        return MISSING


def _remove(value: Any, pointer: Sequence[str | int]) -> bool:
    """Remove the nearest member at or above the place. Return whether there was one."""
    names = [number for number, step in enumerate(pointer) if isinstance(step, str)]
    if not names:
        return False
    *above, last = pointer[: names[-1] + 1]
    for step in above:
        value = value[step]
    return isinstance(value, dict) and value.pop(last, MISSING) is not MISSING
