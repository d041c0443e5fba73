"""Handlers that record what they read of a call, what they return, and which errors they raise.

As a plugin (`pytest -p tests.support.noted_handlers`) it writes the records of a run into the file NOTES.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from xs2a_sandbox.bank.handlers.table import HANDLERS, collect_handlers
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import Handler
from xs2a_sandbox.errors import BankError


@dataclass
class Notes:
    """Records by handler. `undeclared` lists undeclared behaviour since it was last emptied."""

    reads: dict[str, set[str]] = field(default_factory=dict)
    raises: dict[str, set[str]] = field(default_factory=dict)
    returns: dict[str, set[str]] = field(default_factory=dict)
    options: dict[str, set[str]] = field(default_factory=dict)
    undeclared: list[str] = field(default_factory=list)

    def note(self, handler: Handler, call: "NotedCall", result: Mapping[str, Any], error: BankError | None) -> None:
        declared = handler.with_options(call.options)
        if "family" in handler.options:  # without its own value, an option of the section `authorisation` applies
            usual = call.authorising.options(call.options["family"])
            declared = handler.with_options({**usual, **call.options})
        reads = {text for text in call.read if not text.startswith("with.")}
        options = {text.removeprefix("with.") for text in call.read if text.startswith("with.")}
        raises = {error.name} if error else set()
        for kind, noted, declared_names in (
            (self.reads, reads, {*map(str, declared.reads), *handler.inputs, *_places(handler, call)}),
            (self.raises, raises, {*declared.raises, "internal"}),
            (self.returns, set(_members(handler, result)), set(handler.returns)),
            (self.options, options, set(handler.options)),
        ):
            kind.setdefault(handler.name, set()).update(noted)
            self.undeclared += [f"{handler.name}: {name}" for name in sorted(noted - declared_names)]


def _places(handler: Handler, call: "NotedCall") -> set[str]:
    """Return the places of the handler's inputs."""
    sources = (call.inputs[name] for name in handler.inputs if name in call.inputs)
    return {str(place.part) for source in sources for place in source.places}


def _members(handler: Handler, result: Mapping[str, Any]) -> Iterator[str]:
    """Return the members of a result, and nested members if they are declared."""
    for name, value in result.items():
        yield name
        if handler.result.get(name):
            yield from (f"{name}.{member}" for member in value or ())


class _Noting(dict[str, Any]):
    """A mapping that records which keys are read."""

    def __init__(self, values: Mapping[str, Any], read: set[str], prefix: str) -> None:
        super().__init__(values)
        self.read, self.prefix = read, prefix

    def __getitem__(self, key: str) -> Any:
        self.read.add(f"{self.prefix}{key}")
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.read.add(f"{self.prefix}{key}")
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.read.add(f"{self.prefix}{key}")
        return super().__contains__(key)


class NotedCall:
    """A call that records which of its parts are read."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.read: set[str] = set()
        self.headers = _Noting(call.headers, self.read, "headers.")
        self.query = _Noting(call.query, self.read, "query.")
        self.path = _Noting(call.path, self.read, "where.")
        self.options = _Noting(call.options, self.read, "with.")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.call, name)

    def take(self, input: str) -> Any:
        self.read.add(input)
        return self.call.take(input)

    def need(self, input: str) -> Any:
        self.read.add(input)
        return self.call.need(input)

    @property
    def body(self) -> Any:
        body = self.call.body
        return _Noting(body, self.read, "body/") if isinstance(body, dict) else body


NOTES = Notes()


@cache
def install() -> None:
    """Let every handler in this process record what it does."""
    for name, handler in HANDLERS.items():
        collect_handlers()[name] = replace(handler, run=_noting(handler))


def _noting(handler: Handler) -> Any:
    def run(call: Call) -> dict[str, Any]:
        noted = NotedCall(call)
        result: dict[str, Any] = {}
        raised: BankError | None = None
        try:
            result = handler.run(noted)  # type: ignore[arg-type]
            return result
        except BankError as error:
            raised = error
            raise
        finally:
            NOTES.note(handler, noted, result, raised)

    return run


def pytest_configure(config: pytest.Config) -> None:
    install()


def pytest_sessionfinish(session: pytest.Session) -> None:
    kinds = {name: getattr(NOTES, name) for name in ("reads", "raises", "returns", "options")}
    value = {kind: {name: sorted(texts) for name, texts in noted.items()} for kind, noted in kinds.items()}
    Path(os.environ["NOTES"]).write_text(json.dumps(value))
