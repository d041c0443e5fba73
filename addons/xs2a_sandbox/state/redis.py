"""State in Redis or Valkey, for sandboxes on several machines: one round trip to read, one to commit."""

import asyncio
import logging
import re
import ssl
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from secrets import randbelow, token_hex
from typing import Any, cast

import redis.asyncio
from redis import exceptions
from redis.asyncio.retry import Retry as WaitingRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from xs2a_sandbox.clock import REAL
from xs2a_sandbox.errors import StoreUnavailable, UserMistake
from xs2a_sandbox.http import to_json
from xs2a_sandbox.state import redis_scripts as scripts
from xs2a_sandbox.state.redis_scripts import LuaScript
from xs2a_sandbox.state.redis_stream import RedisStream
from xs2a_sandbox.state.redis_url import RedisUrl
from xs2a_sandbox.state.snapshot import Contents, RemoteStore, Wanted
from xs2a_sandbox.state.store import Document, Key, read_stored, warn_of_damage
from xs2a_sandbox.state.stream import Stream

log = logging.getLogger("xs2a_sandbox")

_OURS = "xs2a-sandbox:"
"""The beginning of every key."""
_FORMAT = "3"
"""The version of the data format below a prefix. Data in another format are not touched."""
_LOWEST = 7
_OPENING_SECONDS = 3.0
_CONNECTIONS = 32
_AGAIN_SECONDS = 0.03
_STORED = re.compile(rb"([0-9]{1,30}) ([0-9]{1,30}) (.*)", re.DOTALL)
_VERSION = re.compile(rb"[0-9]{1,30}")
_REMEMBERED = 20_000
"""The number of sessions whose last acknowledged commit is remembered."""
WENT_BACK = ("_session", "wentBack")
"""The document that marks a session from which Redis has lost data."""
_LOST = "Redis has gone back to an earlier state: commits that it had acknowledged are lost; %s"


class RedisStore(RemoteStore):
    """A store at `redis://…`. A session that is not used for `ttl` is deleted.

    Only this class repeats commands: redis-py would repeat a commit whose answer was lost, and then report a conflict.

    Raises:
        UserMistake: Redis cannot be reached, or holds other data.
    """

    def __init__(self, url: str, dialect: str, ttl: timedelta | None = None) -> None:
        super().__init__()
        try:
            self.url = RedisUrl.read(url)
        except ValueError as error:
            raise UserMistake(f"the state {url.partition('@')[2] or url} cannot be used: {error}") from None
        self._prefix = f"{_OURS}{self.url.prefix}:" if self.url.prefix else _OURS
        self._dialect = dialect
        self._ttl = int(ttl.total_seconds() * 1000) if ttl else 0
        self._open()
        self._offset: float | None = None
        self._last = 0
        self._acknowledged: dict[str, tuple[str, int]] = {}
        self._suspected: dict[str, tuple[str, int]] = {}
        pool: Any = redis.asyncio.BlockingConnectionPool.from_url(
            self.url.url,
            max_connections=_CONNECTIONS,
            timeout=None,
            socket_timeout=None,
            socket_connect_timeout=None,
            retry=WaitingRetry(NoBackoff(), 0),
            **self._tls(),
        )
        self._client: redis.asyncio.Redis = redis.asyncio.Redis.from_pool(pool)

    async def fetch(self, wanted: Mapping[str, Wanted], deadline: float) -> dict[str, Contents]:
        arguments: list[str | int] = [self._ttl]
        for session, (documents, lists) in wanted.items():
            arguments += (session, len(documents), len(lists))
            for key, version in documents.items():
                arguments += (*key, version)
            for name, version in lists.items():
                arguments += (name, version)
        # Answers may overtake each other, so compare with what was acknowledged before sending.
        acknowledged, before = self._last, {session: self._acknowledged.get(session) for session in wanted}
        now, last, found = await self.run(scripts.FETCH, arguments, deadline)
        self._keep_time(now)
        number = _number(last, self.key("version"))
        contents: dict[str, Contents] = {}
        behind = []
        for (session, (documents, lists)), (life, commits, documents_there, lists_there) in zip(
            wanted.items(), found, strict=True
        ):
            meta, keys, names = self.key(f"s:{session}"), list(documents), list(lists)
            there = life.decode(), _number(commits, meta)
            if self._is_behind((acknowledged, before[session]), number, session, there):
                behind.append(session)
            contents[session] = Contents(
                {
                    keys[position]: _read(value, f"{meta}:{':'.join(keys[position])}")[1:]
                    for position, value in _groups(documents_there, 2)
                },
                {
                    names[position]: (_number(version, meta), _list(fields, f"{meta}:{names[position]}"))
                    for position, version, fields in _groups(lists_there, 3)
                },
            )
        for session in behind:
            await self._mark(session, deadline)
        return await self.fetch(wanted, deadline) if behind else contents

    async def commit(
        self,
        session: str,
        reads: Mapping[Key, int],
        lists: Mapping[str, int],
        writes: Mapping[Key, Document | None],
        deadline: float,
    ) -> bool:
        arguments: list[str | int | bytes] = [session, self._ttl, f"{randbelow(10**9):09}"]
        arguments += (len(reads), len(lists), len(writes))
        for key, version in reads.items():
            arguments += (*key, version)
        for name, version in lists.items():
            arguments += (name, version)
        for key, document in writes.items():
            arguments += (*key, b"-" if document is None else to_json(document))
        result = await self.once(scripts.COMMIT, arguments, deadline)
        if result == "changed":
            return False
        if writes:
            _, last, life, commits = result.split(" ")
            self._remember(int(last), session, life, int(commits))
        return True

    async def reset(self, session: str | None, deadline: float) -> None:
        await self.once(scripts.RESET, [] if session is None else [session], deadline)

    async def counts(self, session: str | None, deadline: float) -> dict[str, int]:
        if session is not None:
            (counts,) = await self.run(scripts.COUNT, [session], deadline)
            return _count(counts)
        total: dict[str, int] = {}
        for counts in (await self.sessions(deadline)).values():
            for collection, count in counts.items():
                total[collection] = total.get(collection, 0) + count
        return total

    async def sessions(self, deadline: float) -> dict[str, dict[str, int]]:
        names = sorted(
            name.decode(errors="replace")
            for name in await self._try("smembers", (f"{self._prefix}sessions",), deadline)
        )
        counted: dict[str, dict[str, int]] = {}
        for start in range(0, len(names), 1000):
            some = names[start : start + 1000]
            counts = map(_count, await self.run(scripts.COUNT, some, deadline))
            counted |= {name: count for name, count in zip(some, counts, strict=True) if count}
        return counted

    async def check(self, deadline: float) -> None:
        await self.run(scripts.CHECK, (), deadline)

    async def close(self) -> None:
        await self._client.aclose(close_connection_pool=True)

    def reset_now(self) -> None:
        """Delete all sessions, before any request is served."""
        with self._open_client() as client:
            client.eval(scripts.RESET.text, 0, self._prefix, token_hex(8), 10**15)

    def key(self, name: str) -> str:
        """Return the full Redis key for a name."""
        return f"{self._prefix}{name}"

    def stream(self, name: str, count: int, bytes: int) -> Stream:
        return RedisStream(self, name, count, bytes)

    async def once(
        self, script: LuaScript, arguments: Sequence[str | int | bytes], deadline: float, id: str | None = None
    ) -> str:
        """Run a script exactly once and return its answer, however often it has to be sent.

        With the same `id`, a caller may send it again within a minute.
        """
        if self._offset is None:
            await self.fetch({}, deadline)
        # After the deadline nobody waits for the result, so the script must not run any more.
        latest = int((deadline + cast(float, self._offset)) * 1000)
        result, now = await self.run(script, (id or token_hex(8), latest, *arguments), deadline)
        if result == b"late":
            self._keep_time(now)
            raise StoreUnavailable(f"{self._name} was too slow, so nothing was written")
        return cast(bytes, result).decode()

    async def run(self, script: LuaScript, arguments: Sequence[str | int | bytes], deadline: float) -> Any:
        """Run a script that may run more than once. Raises StoreUnavailable."""
        return await self._try("evalsha", (script.digest, 0, self._prefix, *arguments), deadline)

    async def _try(self, command: str, arguments: Sequence[Any], deadline: float) -> Any:
        """Send a command, again if the connection breaks, and return the answer. Raises StoreUnavailable."""
        clock, sends = asyncio.get_running_loop().time, getattr(self._client, command)
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    try:
                        return await cast(Awaitable[Any], sends(*arguments))
                    except exceptions.NoScriptError:
                        await self._load()
                        continue
                    except exceptions.ResponseError as error:
                        if not str(error).startswith("XS2AEMPTY"):
                            raise
                        await self._claim_anew()
                        continue
            except (exceptions.ConnectionError, exceptions.TimeoutError, OSError) as error:
                # A passed deadline is an OSError as well.
                if clock() + _AGAIN_SECONDS >= deadline:
                    what = (
                        "does not answer" if isinstance(error, TimeoutError) else f"cannot be reached: {_words(error)}"
                    )
                    raise StoreUnavailable(f"{self._name} {what}") from None
            except exceptions.RedisError as error:
                if isinstance(error, exceptions.ReadOnlyError):
                    # Another server may be the primary now, under the same name.
                    await self._client.connection_pool.disconnect()
                raise StoreUnavailable(f"{self._name} refuses: {_words(error)}") from None
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _load(self) -> None:
        for script in scripts.ALL:
            await self._client.script_load(script.text)

    async def _claim_anew(self) -> None:
        """Mark the prefix as ours again, in a Redis that has lost everything."""
        arguments = (self._prefix, _FORMAT, self._dialect)
        answer: Any = await self._client.eval(scripts.CLAIM.text, 0, *arguments)
        if [value and value.decode() for value in answer] != [_FORMAT, self._dialect]:
            text = f"another sandbox now uses the prefix {self._prefix}: stop it, or choose another prefix"
            raise exceptions.ResponseError(text)

    # -- what has been acknowledged

    def _is_behind(
        self, before: tuple[int, tuple[str, int] | None], last: int, session: str, now: tuple[str, int]
    ) -> bool:
        """Return whether the session lacks an acknowledged commit, because Redis has gone back to an earlier state."""
        acknowledged, of_session = before
        if last < acknowledged <= self._last:
            self._suspected |= self._acknowledged
            self._acknowledged, self._last = {}, last
            log.warning(_LOST, "sessions with lost data are marked when they are used next")
        self._last = max(self._last, last)
        if suspected := self._suspected.pop(session, None):
            return suspected[0] != now[0] or now[1] < suspected[1]
        return of_session is not None and of_session[0] == now[0] and now[1] < of_session[1]

    async def _mark(self, session: str, deadline: float) -> None:
        self._acknowledged.pop(session, None)
        log.warning(_LOST, f"the session {session} has lost data")
        await self.commit(session, {}, {}, {WENT_BACK: {"noticed": REAL.now().isoformat()}}, deadline)

    def _remember(self, last: int, session: str, life: str, commits: int) -> None:
        self._last = max(self._last, last)
        before = self._acknowledged.get(session)
        if before is None or before[0] != life or before[1] < commits:
            if len(self._acknowledged) >= _REMEMBERED:
                self._acknowledged.clear()
            self._acknowledged[session] = life, commits

    def _keep_time(self, milliseconds: int) -> None:
        self._offset = milliseconds / 1000 - asyncio.get_running_loop().time()

    # -- the start

    @property
    def _name(self) -> str:
        return f"the state {self.url.text}"

    @property
    def _has_tls(self) -> bool:
        return self.url.url.startswith("rediss:")

    def _tls(self) -> dict[str, Any]:
        if not self._has_tls:
            return {}
        files = {"ssl_ca_certs": self.url.ca, "ssl_certfile": self.url.cert, "ssl_keyfile": self.url.key}
        return {name: str(Path(file).expanduser()) for name, file in files.items() if file}

    def _open_client(self) -> "redis.Redis":
        return redis.Redis.from_url(
            self.url.url,
            socket_timeout=_OPENING_SECONDS,
            socket_connect_timeout=_OPENING_SECONDS,
            retry=Retry(NoBackoff(), 0),
            **self._tls(),
        )

    def _open(self) -> None:
        """Check who owns the data before anything is written. Raises UserMistake."""
        try:
            with self._open_client() as client:
                self._recognise(client, cast("dict[str, Any]", client.info()))
                answer: Any = client.eval(scripts.CLAIM.text, 0, self._prefix, _FORMAT, self._dialect)
                self._check_mark(answer)
        except exceptions.AuthenticationError:
            # If there is no password at all, the message of Redis is about its protocol.
            text = "rejects the user, because the name or password is missing or wrong: use redis://USER:PASSWORD@HOST"
            raise self._mistake(text) from None
        except (exceptions.RedisError, OSError, ValueError) as error:
            if isinstance(cause := _cause(error), ssl.SSLCertVerificationError):
                text = f"has a certificate that is not trusted here ({cause.verify_message}): set its CA with ?ca=FILE"
                raise self._mistake(text) from None
            hint = "; use redis:// for connections without TLS" if self._has_tls else ""
            raise self._mistake(f"cannot be used: {_words(error).rstrip('.')}{hint}") from None

    def _recognise(self, client: "redis.Redis", info: Mapping[str, Any]) -> None:
        version = str(info.get("redis_version", "0"))
        if int(version.partition(".")[0]) < _LOWEST:
            raise self._mistake(f"is Redis {version}, but Redis {_LOWEST} or Valkey is needed")
        if info.get("cluster_enabled"):
            raise self._mistake("is a cluster, where commits are not atomic: use a single primary")
        if info.get("role") != "master":
            raise self._mistake("is a read-only replica: use its primary")
        policy = info.get("maxmemory_policy", "noeviction")
        if info.get("maxmemory") and policy != "noeviction":
            text = f"deletes state when it is full (maxmemory-policy {policy}): set maxmemory-policy to noeviction"
            raise self._mistake(text)
        mark: Any = client.hmget(f"{self._prefix}format", ["format", "dialect"])
        if any(mark):
            self._check_mark(mark)
        elif next(client.scan_iter(f"{self._prefix}*", 1000), None) and self.url.prefix:
            raise self._mistake("has keys with this prefix that do not belong to a sandbox: use another prefix")
        elif not self.url.prefix:
            # A user who names a prefix knows that there may be others.
            foreign = next((key for key in client.scan_iter(count=1000) if not key.startswith(_OURS.encode())), None)
            if foreign is not None:
                text = (
                    f"contains data of another application (such as the key {foreign[:40].decode(errors='replace')!r})"
                )
                raise self._mistake(f"{text}: use another database, or share this one with ?prefix=NAME")

    def _check_mark(self, mark: Sequence[bytes | None]) -> None:
        format, dialect = (value.decode(errors="replace") if value else "" for value in mark)
        if format != _FORMAT:
            text = (
                f"contains state in the format {format[:20]!r} of another version of xs2a-sandbox, but this "
                f"version needs {_FORMAT}"
            )
            raise self._mistake(f"{text}: use another prefix with ?prefix=NAME")
        if dialect != self._dialect:
            text = f"is used by sandboxes with the dialect {dialect}, but this one has the dialect {self._dialect}"
            raise self._mistake(f"{text}: use another prefix with ?prefix=NAME")

    def _mistake(self, text: str) -> UserMistake:
        return UserMistake(f"{self._name} {text}")


def _groups(values: Sequence[Any], size: int) -> Iterator[tuple[Any, ...]]:
    return zip(*(iter(values),) * size, strict=True)


def _number(value: bytes, key: str) -> int:
    """Parse a number. Raises StoreUnavailable if it is damaged."""
    if not value.isdigit():
        raise StoreUnavailable(f"the key {key} is damaged: it contains {value[:20]!r} instead of a number. Remove it")
    return int(value)


def _read(value: bytes, place: str) -> tuple[int, int, Document | None]:
    """Parse a stored document into position, version and document."""
    if value == b"0":
        return 0, 0, None
    match = _STORED.fullmatch(value)
    if match is None:
        warn_of_damage(f"the document {place} in Redis")
        # The scripts take the same digits as its version.
        begins = _VERSION.match(value)
        return 0, int(begins[0]) if begins else 0, None
    version, position, text = match.groups()
    document = None if text == b"-" else read_stored(text, f"the document {place} in Redis")
    return int(position), int(version), document


def _list(fields: Sequence[bytes], place: str) -> dict[str, Document | None]:
    """Parse documents by id, in the order in which they were first written."""
    named = ((id.decode(errors="replace"), value) for id, value in _groups(fields, 2))
    entries = [(id, _read(value, f"{place}:{id}")) for id, value in named]
    entries.sort(key=lambda entry: (entry[1][0], entry[0]))
    return {id: document for id, (_, _, document) in entries}


def _count(counts: Sequence[Any]) -> dict[str, int]:
    return {name.decode(errors="replace"): count for name, count in _groups(counts, 2) if count}


def _words(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _cause(error: BaseException) -> BaseException:
    return error.__cause__ or error.__context__ or error
