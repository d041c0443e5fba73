"""A TCP relay that copies bytes in both directions and counts connections."""

import asyncio
from contextlib import suppress

from tests.support.doors import DEADLINE, Loop


class Relay:
    """Forward connections from `port` while the context is active. `connections` counts them."""

    def __init__(self, loop: Loop, target: int) -> None:
        self._loop = loop
        self._target = target
        self._open: set[asyncio.Task[None]] = set()
        self.connections = 0

    def __enter__(self) -> "Relay":
        self._server = self._loop.run(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target_reader, target_writer = await asyncio.open_connection("127.0.0.1", self._target)
        try:
            await asyncio.gather(_pass_on(reader, target_writer), _pass_on(target_reader, writer))
        finally:
            for each in (writer, target_writer):
                each.close()
                with suppress(OSError):
                    await each.wait_closed()

    def __exit__(self, *_: object) -> None:
        self._loop.run(self._close())

    async def _close(self) -> None:
        self._server.close()
        if self._open:
            _, late = await asyncio.wait(self._open, timeout=DEADLINE)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy data until `reader` ends, then end `writer` in the same way."""
    try:
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
        with suppress(OSError):
            writer.write_eof()
    except ConnectionError:
        writer.transport.abort()
