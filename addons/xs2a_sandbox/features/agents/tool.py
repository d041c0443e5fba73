"""A tool is a function with typed parameters. Agents get their JSON Schema, and arguments are checked against it."""

import asyncio
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_type_hints

import msgspec

from xs2a_sandbox.documents.json_schema import Schema
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.agents.context import Context
from xs2a_sandbox.http import to_json

_REF = "{name}"


class Tool:
    """`work` takes the context and the arguments, and returns text or JSON. Its docstring is the description.

    `reads` says that it changes nothing.
    """

    def __init__(self, work: Callable[..., Any], *, reads: bool = False) -> None:
        self.name = work.__name__
        self.description = inspect.getdoc(work) or ""
        self.reads = reads
        self.parameters = _make_schema(work)
        self._work = work
        self._schema = Schema(self.name, self.parameters, _read_other)

    async def call(self, context: Context, arguments: Mapping[str, Any]) -> str:
        """Return the result as text. Raises UserMistake, Refused."""
        self._check(arguments)
        work = partial(self._work, context, **arguments)
        # Most tools wait for answers of the sandbox, which may run in this loop.
        value = await (work() if inspect.iscoroutinefunction(self._work) else asyncio.to_thread(work))
        return value if isinstance(value, str) else to_json(value).decode()

    def _check(self, arguments: Mapping[str, Any]) -> None:
        """Check the arguments. Raises UserMistake with all mistakes."""
        if complaints := sorted(self._schema.complaints(arguments), key=str):
            texts = (
                one.text if one.key or not one.pointer else f"{'.'.join(map(str, one.pointer))} {one.text}"
                for one in complaints
            )
            raise UserMistake(f"{self.name}: {'; '.join(texts)}")


def _read_other(uri: str) -> Any:
    raise KeyError(uri)  # the schemas refer to no other


def _make_schema(work: Callable[..., Any]) -> dict[str, Any]:
    """Return the JSON Schema of the parameters after the first."""
    hints = get_type_hints(work, include_extras=True)
    _, *parameters = inspect.signature(work).parameters.values()
    schemas, components = msgspec.json.schema_components([hints[one.name] for one in parameters], ref_template=_REF)
    named = zip((one.name for one in parameters), schemas, strict=True)
    return {
        "type": "object",
        "properties": {name: _inline(schema, components) for name, schema in named},
        "required": [one.name for one in parameters if one.default is one.empty],
        "additionalProperties": False,
    }


def _inline(schema: Any, components: Mapping[str, Any]) -> Any:
    """Return the schema without references and titles, which not every client understands or needs."""
    if isinstance(schema, list):
        return [_inline(inner, components) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inline({**components[schema["$ref"]], "additionalProperties": False}, components)
    return {key: _inline(value, components) for key, value in schema.items() if key != "title"}
