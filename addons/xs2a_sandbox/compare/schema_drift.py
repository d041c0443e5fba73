"""Where a bank's answer breaks the interface's own schema: then it is the schema that has to change."""

from dataclasses import replace
from operator import eq
from typing import Any

from xs2a_sandbox.cassette import Operation
from xs2a_sandbox.compare.diff import IDENTIFIERS
from xs2a_sandbox.compare.difference import Difference
from xs2a_sandbox.compare.loaded_answer import LoadedAnswer
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.json_schema import Schema

Place = tuple[str, ...]


class Drift:
    """Remembers what it has explained: explaining takes a hundred times as long as seeing that something is wrong."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._possible: dict[tuple[str | None, int], list[Schema]] = {}
        self._explained: dict[Any, tuple[Place, str] | None] = {}

    def marked(
        self, differences: list[Difference], operation: Operation | None, bank: LoadedAnswer, sandbox: LoadedAnswer
    ) -> list[Difference]:
        """The differences, with that of the bank's answer to the schema: at what differs there, else by itself."""
        drift = self._drift(operation, bank, sandbox)
        if drift is None:
            return differences
        pointer, text = drift
        for position, one in enumerate(differences):
            # One of the two places is inside the other.
            is_there = all(map(eq, map(str, one.bank_place), pointer))
            # Another status is why, or what differs there; each is one thing to mend.
            if one.kind == "status" or (one.header is None and is_there):
                return [*differences[:position], replace(one, drift=text), *differences[position + 1 :]]
        return [*differences, Difference("drift", pointer, pointer, drift=text)]

    def _drift(
        self, operation: Operation | None, bank: LoadedAnswer, sandbox: LoadedAnswer
    ) -> tuple[Place, str] | None:
        if bank.content.kind != "json":
            return None
        schemas = self._schemas_of(operation, bank.response.status)
        try:
            if not schemas or any(schema.accepts(bank.content.value) for schema in schemas):
                return None
            schema = schemas[0]
            if len(schemas) > 1 and sandbox.content.kind == "json":
                # The one that the sandbox's answer was made by.
                schema = next((s for s in schemas if s.accepts(sandbox.content.value)), schema)
            return self._explain(schema, bank.content.value)
        except (ValueError, RecursionError):  # numbers and nesting beyond what the validators take
            return None

    def _schemas_of(self, operation: Operation | None, status: int) -> list[Schema]:
        key = operation.id if operation else None, status
        if key not in self._possible:
            names = answer_schemas(operation, status)
            self._possible[key] = [self._schemas[name] for name in names if name in self._schemas]
        return self._possible[key]

    def _explain(self, schema: Schema, value: Any) -> tuple[Place, str] | None:
        key = (schema.name, schema.mistakes(value))
        if key not in self._explained:
            self._explained[key] = None
            if complaint := schema.complaint(value):
                pointer = tuple(map(str, complaint.pointer))
                # A bank calls things as it likes, and its counterpart here is a UUID only by habit.
                if not (pointer and pointer[-1] in IDENTIFIERS and "UUID" in complaint.text):
                    self._explained[key] = pointer, complaint.text
        return self._explained[key]


def answer_schemas(operation: Operation | None, status: int) -> list[str]:
    """The names of the schemas for answers with that status: one for all errors, several maybe for a success."""
    if status >= 400:
        return ["error"]
    if operation is None:
        return []
    behaviour = operation.behaviour
    own = [answer.schema for answer in behaviour.respond if answer.schema and answer.status == status]
    usual = (behaviour.answers or {}).get(str(status))
    return [*([usual] if usual else ()), *own]
