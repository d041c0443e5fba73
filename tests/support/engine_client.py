"""A client that calls the engine directly, and engines for single tests."""

import asyncio
import json as jsonlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import Any

from tests.support.doors import limits
from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.bank.bank import SIMULATED
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect import layers as interface
from xs2a_sandbox.config import RealBank, Settings
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.messages import Door
from xs2a_sandbox.state import MemoryStore, Store

DIALECT = bundled("cassettes") / "xs2a-1.84"
NO_BODY = object()
CONFDIR = TemporaryDirectory(prefix="xs2a-sandbox-")
"""The event loop of the engines. It stays open until the process ends, like the engines that are created once."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return jsonlib.loads(self.body)

    @property
    def error(self) -> Mapping[str, Any]:
        """Return the only message of an error in the format of section 7."""
        value = self.json()
        assert value["_links"] is None
        (message,) = value["tppMessages"]
        assert set(message) == {"category", "code", "path", "text"}
        return message

    @property
    def source(self) -> str:
        return self.headers["x-sandbox-source"]


@dataclass(frozen=True, slots=True)
class Client:
    """One session of one engine."""

    engine: Engine
    session: str | None = None

    def named(self, session: str) -> "Client":
        return Client(self.engine, session)

    async def send(
        self,
        method: str,
        target: str,
        *,
        json: Any = NO_BODY,
        body: bytes = b"",
        headers: Mapping[str, str | None] | None = None,
        consent: str | None = None,
        host: str = "bank.example",
        door: Door = "process",
        user: str | None = None,
        certificates: tuple[bytes, ...] | None = None,
    ) -> Answer:
        """Send a request. `headers` replace the default ones; None removes one."""
        fields: dict[str, str | None] = {
            "X-Request-ID": str(uuid.uuid4()),
            "PSU-IP-Address": "192.0.2.7",
            "X-Sandbox-Session": self.session,
            "Consent-ID": consent,
            **(headers or {}),
        }
        if json is not NO_BODY:
            body = jsonlib.dumps(json).encode()
        pairs = [(name, value) for name, value in fields.items() if value is not None]
        response = await self.engine.answer(
            Request(method, target, Headers(pairs), body, host=host, door=door, user=user, certificates=certificates)
        )
        assert isinstance(response, Response)
        return Answer(response.status, {n.lower(): v for n, v in response.headers}, response.body)

    def request(self, method: str, target: str, **options: Any) -> Answer:
        return asyncio.run(self.send(method, target, **options))

    def get(self, target: str, **options: Any) -> Answer:
        return self.request("GET", target, **options)

    def post(self, target: str, **options: Any) -> Answer:
        return self.request("POST", target, **options)

    def delete(self, target: str, **options: Any) -> Answer:
        return self.request("DELETE", target, **options)


@cache
def bundled_engine() -> Engine:
    return build(Settings(state="memory:", confdir=Path(CONFDIR.name)))


def an_engine(
    store: Store | None = None,
    *,
    layers: list[list[Path]] | None = None,
    schemas: Schemas | None = None,
    testdata: TestData | None = None,
    real: RealBank = SIMULATED,
    base_path: str = "",
    **options: Any,
) -> Engine:
    """Return the bundled bank with its own store. `layers` are added above the dialect."""
    shared = bundled_engine()
    schemas = schemas or shared.schemas
    read = interface.read([[DIALECT], *layers], schemas, NAMED) if layers else shared.interface
    debug_headers = options.get("debug_headers", True)
    banks = Banks(Bank(read, schemas, real, base_path=base_path, diagnose=debug_headers))
    return Engine(
        Parts(
            banks,
            MemoryStore() if store is None else store,
            testdata or shared.parts.testdata,
            limits=limits(),
            **options,
        )
    )


def speaking(dialect: str, *cassettes: Path) -> Engine:
    """Return a new engine with another bundled dialect, and folders of cassettes above it."""
    return build(Settings(state="memory:", confdir=Path(CONFDIR.name), dialect=dialect, cassettes=cassettes))


def cassette(directory: Path, text: str) -> list[list[Path]]:
    """Return one layer with one cassette. Its first line is optional."""
    file = directory / "case.yaml"
    file.write_text("cassette: 1\ntitle: A case\n" + dedent(text))
    return [[file]]
