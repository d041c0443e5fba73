"""Finds where a bank's answer violates the interface's own schemas, and what these declare about a place."""

from collections.abc import Collection
from dataclasses import replace

from xs2a_sandbox.cassette import Operation
from xs2a_sandbox.cassette.schema_names import answer_schemas
from xs2a_sandbox.compare.difference import Consequence, Difference
from xs2a_sandbox.compare.loaded_answer import LoadedAnswer
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.json_pointer import Pointer
from xs2a_sandbox.documents.json_schema import Breach, Schema

_BROKEN: dict[str, Consequence] = {
    "required": "required-missing",
    "dependentRequired": "required-missing",
    "type": "other-type",
    "enum": "unknown-enum",
    "const": "unknown-enum",
    "additionalProperties": "unlisted-member",
    "unevaluatedProperties": "unlisted-member",
}
"""The consequence of violating each keyword. All others are violations of the form."""

_AMENDED = "X-Sandbox-Amended"


class Drift:
    """Finds the schema of an answer. `error_schema` is the name of the schema of errors, and `identifiers` are the
    members with ids of the bank.
    """

    def __init__(self, schemas: Schemas, error_schema: str | None = None, identifiers: Collection[str] = ()) -> None:
        self._identifiers = identifiers
        self._schemas = schemas
        self._error_schema = error_schema
        self._possible: dict[tuple[str | None, int], list[Schema]] = {}

    def breaches(self, operation: Operation | None, bank: LoadedAnswer, sandbox: LoadedAnswer) -> list[Breach]:
        """Return all violations of the schema in the bank's answer."""
        schema = self.schema(operation, bank, sandbox)
        try:
            if schema is None or schema.accepts(bank.content.value):
                return []
            # A bank may have ids of any form; those of the sandbox are UUIDs only by convention.
            return [
                breach
                for breach in schema.breaches(bank.content.value)
                if not (breach.pointer and breach.pointer[-1] in self._identifiers and "UUID" in breach.text)
            ]
        except (ValueError, RecursionError):  # numbers or nesting that validators cannot process
            return []

    def mark(
        self, differences: list[Difference], operation: Operation | None, bank: LoadedAnswer, sandbox: LoadedAnswer
    ) -> list[Difference]:
        """Add violations in the bank's answer to the difference at their place, or as differences of their own."""
        breaches = self.breaches(operation, bank, sandbox)
        if not breaches:
            return differences
        marked = list(differences)
        if bank.response.status // 100 != sandbox.response.status // 100:
            # The other status is the cause, so report them together.
            marked[0] = replace(marked[0], drift=breaches[0].text, drift_place=breaches[0].pointer)
            return marked
        exact: dict[Pointer, int] = {}
        around: dict[Pointer, int] = {}
        for position, difference in enumerate(differences):
            if difference.header is None and difference.kind not in ("status", "order"):
                exact.setdefault(difference.bank_place, position)
                for depth in range(len(difference.bank_place)):
                    around.setdefault(difference.bank_place[:depth], position)
        for breach in breaches:
            # One of the two places contains the other, or they are equal.
            inside = (breach.pointer[:depth] for depth in range(len(breach.pointer), -1, -1))
            at = next((exact[place] for place in inside if place in exact), around.get(breach.pointer))
            if at is None and sandbox.exchange.answer_headers.get(_AMENDED):
                continue  # an amendment makes the sandbox's answer contain the same violation on purpose
            if at is None:
                place = breach.pointer
                marked.append(Difference("drift", place, place, drift=breach.text, drift_place=place))
            elif marked[at].drift is None:
                means = _BROKEN.get(breach.keyword, "against-schema")
                if marked[at].kind == "null" and means == "required-missing":
                    means = "null-or-absent"
                marked[at] = replace(marked[at], drift=breach.text, drift_place=breach.pointer, means=means)
        return marked

    def schema(self, operation: Operation | None, bank: LoadedAnswer, sandbox: LoadedAnswer) -> Schema | None:
        """Return the schema of the bank's answer. If there are several, prefer the schema of the sandbox's answer."""
        if bank.content.kind != "json":
            return None
        schemas = self._schemas_of(operation, bank.response.status)
        if len(schemas) > 1 and sandbox.content.kind == "json":
            try:
                return next((schema for schema in schemas if schema.accepts(sandbox.content.value)), schemas[0])
            except (ValueError, RecursionError):
                pass
        return schemas[0] if schemas else None

    def _schemas_of(self, operation: Operation | None, status: int) -> list[Schema]:
        key = operation.id if operation else None, status
        if key not in self._possible:
            names = answer_schemas(operation, status, self._error_schema)
            if not names and operation and 200 <= status < 300:
                # A success for which the interface defines another status.
                others = {int(status) for status in operation.behaviour.answers or () if status.startswith("2")}
                statuses = (answer.status for answer in operation.behaviour.respond)
                others |= {other for other in statuses if isinstance(other, int) and 200 <= other < 300}
                names = [name for other in sorted(others) for name in answer_schemas(operation, other, None)]
            self._possible[key] = [self._schemas[name] for name in names if name in self._schemas]
        return self._possible[key]
