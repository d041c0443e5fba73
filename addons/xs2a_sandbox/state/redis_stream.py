"""A stream in Redis or Valkey, stored beside the documents, with the same key prefix."""

from collections.abc import Sequence
from secrets import token_hex
from typing import TYPE_CHECKING

from xs2a_sandbox.state import redis_scripts as scripts
from xs2a_sandbox.state.store import warn_of_damage
from xs2a_sandbox.state.stream import Item, Stream, Tail

if TYPE_CHECKING:
    from xs2a_sandbox.state.redis import RedisStore


class RedisStream(Stream):
    """The stream of that name, limited to `count` items and `bytes` in total."""

    def __init__(self, store: "RedisStore", name: str, count: int, bytes: int) -> None:
        self._store = store
        self._name = name
        self._bounds = count, bytes

    async def append(self, batch: str, items: Sequence[Item], deadline: float) -> None:
        arguments: list[str | int | bytes] = [self._name, *self._bounds]
        for item in items:
            arguments += item
        await self._store.once(scripts.APPEND, arguments, deadline, batch)

    async def after(self, life: str, number: int, deadline: float) -> Tail:
        now, first, items = await self._store.run(scripts.TAIL, (self._name, life, number), deadline)
        ours = []
        for id, fields in items:
            if id.endswith(b"-0") and fields[0::2] == [b"session", b"size", b"content"]:
                ours.append((int(id[:-2]), fields[-1]))
            else:
                warn_of_damage(f"the item {id.decode()} of the stream {self._store.key(self._name)} in Redis")
        return Tail(now.decode(), int(first), ours)

    async def remove(self, session: str | None, deadline: float) -> None:
        arguments = [self._name] if session is None else [self._name, session]
        await self._store.once(scripts.REMOVE, arguments, deadline, token_hex(8))
