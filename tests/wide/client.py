"""A client that sends each request once. Automatic retries could do something twice unnoticed."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

PATIENCE = 20.0
"""Seconds for an answer. An answer can only take longer than a second on a busy machine."""


class Unanswered(Exception):
    """The connection broke or failed. The request may have been executed."""


class Answer(NamedTuple):
    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else {}


class Client:
    """One persistent connection to a port of this machine, replaced when it breaks."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
        """Raises Unanswered."""
        content = b"" if body is None else json.dumps(body).encode()
        fields = {"Host": "localhost", "Content-Length": str(len(content)), **(headers or {})}
        if content:
            fields["Content-Type"] = "application/json"
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        try:
            async with asyncio.timeout(PATIENCE):
                if self._streams is None:
                    self._streams = await asyncio.open_connection("127.0.0.1", self._port)
                reader, writer = self._streams
                writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + content)
                return await self._answer(reader)
        except (OSError, EOFError, ValueError, TimeoutError) as error:
            self.close()
            raise Unanswered(str(error)) from None

    async def _answer(self, reader: asyncio.StreamReader) -> Answer:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *lines = head.split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in lines)}
        body = await reader.readexactly(int(fields.get("content-length", 0)))
        if fields.get("connection", "").lower() == "close":
            self.close()
        return Answer(int(line.split(" ")[1]), body)

    def close(self) -> None:
        if self._streams:
            with suppress(RuntimeError):  # the loop has ended
                self._streams[1].transport.abort()
        self._streams = None
