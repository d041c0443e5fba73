"""Notices of changed files: each sandbox on one Redis receives those of the others once, in order."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from tests.engine.test_reload import confdir, here, running, save_rule  # noqa: F401
from tests.support.doors import wait_until
from tests.support.redis_server import a_redis, needs_redis, the_redis
from xs2a_sandbox.engine.notices import Notices
from xs2a_sandbox.state.redis import RedisStore

pytestmark = needs_redis


class Member:
    """One of several sandboxes on one store, and its log."""

    def __init__(self, name: str, store: RedisStore) -> None:
        self.name = name
        self.log: list[tuple[str, str]] = []
        self.notices = Notices(store, lambda text, level="info": self.log.append((text, level)))

    @property
    def texts(self) -> list[str]:
        return [text for text, _ in self.log]


async def wait_for(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not happened():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def among(work: Callable[..., Awaitable[None]], url: str, *names: str) -> None:
    """Run `work` with members that each have their own store and follow the notices of the others."""

    async def main() -> None:
        async with AsyncExitStack() as stack:
            members = []
            for name in names:
                store = await asyncio.to_thread(RedisStore, url, "xs2a-1.84")
                stack.push_async_callback(store.close)
                members.append(Member(name, store))
            following = [asyncio.create_task(member.notices.follow(member.name)) for member in members]
            try:
                # A member that has not looked yet ignores existing notices.
                await wait_for(lambda: all(member.notices._follows for member in members))
                await work(*members)
            finally:
                for task in following:
                    task.cancel()
                await asyncio.gather(*following, return_exceptions=True)

    asyncio.run(main())


def fresh() -> str:
    return f"{the_redis().url}?prefix={uuid4()}"


def test_notices_reach_the_others_with_the_name_of_the_sender() -> None:
    async def work(a: Member, b: Member, c: Member) -> None:
        a.notices.own("loaded again: 7 rules")
        a.notices.own("a.yaml:3: broken", "error")
        await wait_for(lambda: len(b.log) == len(c.log) == 2)
        assert a.log == [("loaded again: 7 rules", "info"), ("a.yaml:3: broken", "error")]
        assert b.log == c.log == [("a: loaded again: 7 rules", "info"), ("a: a.yaml:3: broken", "error")]
        b.notices.own("mended")
        await wait_for(lambda: len(a.log) == len(c.log) == 3)
        assert a.texts[-1] == c.texts[-1] == "b: mended"

    among(work, fresh(), "a", "b", "c")


def test_earlier_notices_are_not_reported() -> None:
    url = fresh()

    async def before(a: Member) -> None:
        a.notices.own("old")
        await wait_for(lambda: not a.notices._waiting and not a.notices._outbox)

    async def after(a: Member, b: Member) -> None:
        a.notices.own("new")
        await wait_for(lambda: bool(b.log))
        assert b.texts == ["a: new"]

    among(before, url, "a")
    among(after, url, "a", "b")


def test_a_notice_sent_while_redis_is_down_arrives_later() -> None:
    with a_redis() as server:

        async def work(a: Member, b: Member) -> None:
            await asyncio.to_thread(server.stop)
            a.notices.own("while it was away")
            assert a.texts == ["while it was away"]
            await asyncio.to_thread(server.start)
            await wait_for(lambda: bool(b.log))
            assert b.texts == ["a: while it was away"]

        among(work, server.url, "a", "b")


def test_a_file_that_only_one_sandbox_sees_is_reported_to_both(
    confdir: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = fresh()
    homes = [tmp_path / name for name in ("a", "b")]
    for home in homes:
        (home / "mine").mkdir(parents=True)
        save_rule(home / "mine/greeting.yaml", "servus")
    with (
        running(confdir, cassettes=[str(homes[0] / "mine")], state=url) as a,
        running(confdir, cassettes=[str(homes[1] / "mine")], state=url) as b,
    ):
        save_rule(homes[0] / "mine/greeting.yaml", "baba")
        a.wait_for_text("baba")
        wait_until(lambda: any("loaded again: " in text for text in b.lines))
        line = next(text for text in b.lines if "loaded again: " in text)
        port = a.addresses[0].direct.rpartition(":")[2]
        assert line.partition(": ")[0].endswith(f":{port}")
        assert b.get().text == "servus"
        assert json.dumps(a.lines).count("loaded again") == 1, "its own notice is not repeated"
