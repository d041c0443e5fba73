"""The commit protocol under every interleaving of replicas, with lost requests and answers, compared with a model.

Each replica is a store on one real Redis. Its commands wait for their turn, and hypothesis decides whose turn it is,
and whether the request or its answer is lost.
"""

import asyncio
from itertools import chain
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from redis import exceptions

from tests.support.redis_server import needs_redis, the_redis
from xs2a_sandbox.errors import StoreUnavailable
from xs2a_sandbox.state import Documents, Transaction, attempts
from xs2a_sandbox.state import redis as redis_state
from xs2a_sandbox.state.attempts import commit, run_transaction
from xs2a_sandbox.state.redis import RedisStore
from xs2a_sandbox.state.snapshot import Wanted

pytestmark = needs_redis
ACCOUNTS = ("a", "b")
BEGINNING = 3


class Turns:
    """Replaces a replica's connection; its commands wait in `waiting`."""

    def __init__(self, real: Any, waiting: list[Any]) -> None:
        self.real = real
        self.waiting = waiting

    async def evalsha(self, *arguments: Any) -> Any:
        answer = asyncio.get_running_loop().create_future()
        self.waiting.append((self.real, arguments, answer))
        return await answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class Replicas(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.patches = pytest.MonkeyPatch()
        self.patches.setattr(attempts, "_SECONDS", 0)
        self.patches.setattr(attempts, "_PATIENCE", 600)
        self.patches.setattr(redis_state, "_AGAIN_SECONDS", 0)
        self.runner = asyncio.Runner()
        self.url = f"{the_redis().url}?prefix={uuid4()}"
        self.waiting: list[Any] = []
        self.tasks: dict[str, asyncio.Task[bool]] = {}
        self.stores = [self.runner.run(self._opened()) for _ in range(2)]

    async def _opened(self) -> RedisStore:
        store = RedisStore(self.url, "xs2a-1.84")
        store._client = Turns(store._client, self.waiting)  # type: ignore[assignment]
        return store

    @precondition(lambda self: sum(not task.done() for task in self.tasks.values()) < 4)
    @rule(replica=st.integers(0, 1), account=st.sampled_from(ACCOUNTS))
    def withdraw(self, replica: int, account: str) -> None:
        """Withdraw one from an account if all accounts together have one. Reading only one account would cause
        write skew.
        """
        name = f"{len(self.tasks)}"

        def work(documents: Documents) -> bool:
            state = Transaction(documents, "s", lambda _: {})
            held = {one: (state.get("accounts", one) or {"taken": []})["taken"] for one in ACCOUNTS}
            if sum(map(len, held.values())) >= BEGINNING:
                return False
            state.put("accounts", account, {"taken": [*held[account], name]})
            state.put("receipts", name, {"after": sorted(chain.from_iterable(held.values()))})
            commit(state)
            return True

        async def begin() -> None:
            self.tasks[name] = asyncio.ensure_future(run_transaction(self.stores[replica], work))
            await self._settle()

        self.runner.run(begin())

    @precondition(lambda self: self.waiting)
    @rule(number=st.integers(0, 7), fate=st.sampled_from(["arrives", "arrives", "request lost", "answer lost"]))
    def step(self, number: int, fate: str) -> None:
        self.runner.run(self._step(number % len(self.waiting), fate))

    @rule()
    def forget_scripts(self) -> None:
        the_redis().client.script_flush()

    async def _step(self, number: int, fate: str) -> None:
        real, arguments, answer = self.waiting.pop(number)
        result: Any = None
        try:
            if fate != "request lost":
                result = await real.evalsha(*arguments)
        except exceptions.RedisError as error:
            result = error
        if fate != "arrives":
            result = exceptions.ConnectionError("cut")
        if isinstance(result, Exception):
            answer.set_exception(result)
        else:
            answer.set_result(result)
        await self._settle()

    async def _settle(self) -> None:
        """Run until all replicas wait for their turn, or have finished."""
        async with asyncio.timeout(30):
            while sum(not task.done() for task in self.tasks.values()) > len(self.waiting):  # noqa: ASYNC110
                await asyncio.sleep(0)

    def teardown(self) -> None:
        try:
            self.runner.run(self._judge())
        finally:
            self.patches.undo()
            self.runner.close()

    async def _judge(self) -> None:
        while self.waiting:
            await self._step(0, "arrives")
        outcomes = await asyncio.gather(*self.tasks.values(), return_exceptions=True)
        results = dict(zip(self.tasks, outcomes, strict=True))
        unexpected = [one for one in results.values() if not isinstance(one, bool | StoreUnavailable)]
        assert not unexpected
        real = self.stores[0]._client.real  # type: ignore[attr-defined]
        self.stores[0]._client = real
        keys = {("accounts", one): -1 for one in ACCOUNTS}
        now = asyncio.get_running_loop().time()
        contents = (await self.stores[0].fetch({"s": Wanted(keys, {"receipts": -1})}, now + 30))["s"]
        taken = [name for _, document in contents.documents.values() for name in (document or {"taken": []})["taken"]]
        receipts = contents.lists["receipts"][1]
        # No write skew, no commit twice, every acknowledged commit, and no refused one.
        assert len(taken) <= BEGINNING
        assert len(taken) == len(set(taken))
        assert set(taken) == receipts.keys()
        assert {name for name, result in results.items() if result is True} <= set(taken)
        assert not {name for name, result in results.items() if result is False} & set(taken)
        # In order: each has seen exactly those before it.
        seen = sorted((document["after"] for document in receipts.values() if document), key=len)
        assert [len(before) for before in seen] == list(range(len(taken)))
        for store in self.stores:
            client = store._client.real if isinstance(store._client, Turns) else store._client
            await client.aclose(close_connection_pool=True)


TestReplicas = Replicas.TestCase
TestReplicas.settings = settings(
    max_examples=12, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
