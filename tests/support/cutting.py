"""A relay that cuts connections after the request and before its answer."""

import asyncio
from collections.abc import Callable
from contextlib import suppress


class Cutting:
    """A relay that can lose answers.

    `cuts` gets the bytes of the last request and returns whether its answer is lost.
    """

    def __init__(self, target: int, cuts: Callable[[bytes], bool] = lambda request: False) -> None:
        self.target = target
        self.cuts = cuts
        self.lost = 0
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> "Cutting":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, far_writer}
        last = [b""]

        async def there() -> None:
            while chunk := await reader.read(262144):
                last[0] = chunk
                far_writer.write(chunk)

        async def back() -> None:
            while chunk := await far_reader.read(262144):
                if self.cuts(last[0]):
                    self.lost += 1
                    return
                writer.write(chunk)

        tasks = [asyncio.ensure_future(there()), asyncio.ensure_future(back())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        with suppress(OSError):
            await asyncio.gather(*tasks, return_exceptions=True)
        for each in (writer, far_writer):
            each.transport.abort()
            self._writers.discard(each)
