"""Read small interfaces from cassettes in tests."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

from tests.support.doors import limits
from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.bank.handlers.table import HANDLERS, NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect import layers as interface
from xs2a_sandbox.cassette.dialect.error_table import ENGINE_ERRORS
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.errors import Problem
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.state import MemoryStore

SCHEMAS = Schemas([bundled("schemas")])

BANK: dict[str, Any] = {
    "cassette": 1,
    "every_error": {"body": {"error": "{{ error.name }}", "text": "{{ error.text }}"}},
    "errors": {
        name: {"status": 404 if name == "path-unknown" else 500, "code": "X", "number": "1", "text": "{{ reason }}"}
        for name in sorted(ENGINE_ERRORS.union(*(handler.errors for handler in HANDLERS.values())))
    },
    "operations": [
        {"id": "list", "method": "GET", "path": "/v1/things", "respond": {"body": "list"}},
        {"id": "one", "method": "GET", "path": "/v1/things/{thing}", "respond": {"body": "one"}},
        {"id": "make", "method": "POST", "path": "/v1/things", "respond": {"body": "make"}},
    ],
}
"""A bank of things: three operations, and all errors that the sandbox needs."""

Layer = Mapping[str, Any]
"""Content by file name, as text or plain data."""


def write(directory: Path, files: Layer) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(content) if isinstance(content, str) else json.dumps(content))
    return directory


def check(directory: Path, *layers: Layer, bank: Any = BANK) -> tuple[interface.Interface | None, list[Problem]]:
    """Return the interface of the layers above the bank, with all problems."""
    paths = [[write(directory / "0", {"bank.yaml": bank})]]
    paths += [[write(directory / str(number), files)] for number, files in enumerate(layers, 1)]
    return interface.check(paths, SCHEMAS, NAMED)


def problems(directory: Path, *layers: Layer, bank: Any = BANK) -> list[Problem]:
    return check(directory, *layers, bank=bank)[1]


def rules(*specs: Mapping[str, Any]) -> Layer:
    """Return a layer with one file of rules. A rule without an answer answers with its id."""
    return {"rules.yaml": {"cassette": 1, "rules": [{"respond": {"body": spec["id"]}, **spec} for spec in specs]}}


def engine(directory: Path, *layers: Layer, bank: Any = BANK) -> Engine:
    read, problems = check(directory, *layers, bank=bank)
    assert read is not None, "\n".join(map(str, problems))
    assert not problems, "\n".join(map(str, problems))
    return Engine(Parts(Banks(Bank(read, SCHEMAS)), MemoryStore(), TestData({}, ()), limits=limits()))


def ask(
    bank: Engine, target: str = "/v1/things", method: str = "GET", headers: Sequence[tuple[str, str]] = (), **body: Any
) -> Response:
    content = json.dumps(body["json"]).encode() if "json" in body else b""
    return asyncio.run(bank.answer(Request(method, target, Headers(headers), content)))


def header(response: Response, name: str) -> str | None:
    return Headers(response.headers).get(name)


def rule_of(response: Response) -> str | None:
    """Return the id of the rule or operation that answered."""
    return header(response, "X-Sandbox-Rule")
