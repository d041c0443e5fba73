"""The master's register of listeners: which addons a hook calls, in which order, and how an addon can stop it."""

import asyncio
from typing import Any

import pytest
from mitmproxy.exceptions import AddonHalt
from mitmproxy.hooks import ConfigureHook, DoneHook, RunningHook
from mitmproxy.master import Master
from mitmproxy.options import Options

from xs2a_sandbox.doors.mitmproxy_master import _Listeners


class Listener:
    def __init__(self, name: str, hooks: list[str], error: BaseException | None = None) -> None:
        self.name, self.hooks, self.error = name, hooks, error

    def running(self) -> None:
        self.hooks.append(self.name)
        if self.error:
            raise self.error


class Awaited(Listener):
    async def running(self) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        super().running()


def hears(*listeners: Any, later: Any = None) -> None:
    async def trigger() -> None:
        master = Master(Options())
        addons = _Listeners(master)
        addons.add(*listeners)
        await addons.trigger_event(RunningHook())
        if later:
            addons.add(later)
            await addons.trigger_event(RunningHook())

    asyncio.run(trigger())


@pytest.fixture
def hooks() -> list[str]:
    return []


def test_listeners_are_called_in_the_order_of_the_chain(hooks: list[str]) -> None:
    hears(Listener("one", hooks), Awaited("two", hooks), Listener("three", hooks))
    assert hooks == ["one", "two", "three"]


def test_addons_without_the_hook_are_skipped(hooks: list[str]) -> None:
    hears(object(), Listener("one", hooks))
    assert hooks == ["one"]


def test_listeners_added_later_are_called_too(hooks: list[str]) -> None:
    hears(Listener("one", hooks), later=Listener("later", hooks))
    assert hooks == ["one", "one", "later"]


def test_a_halt_skips_later_listeners(hooks: list[str]) -> None:
    hears(Listener("one", hooks, AddonHalt()), Listener("two", hooks))
    assert hooks == ["one"]


def test_the_failure_of_a_listener_does_not_affect_others(hooks: list[str], caplog: pytest.LogCaptureFixture) -> None:
    hears(Listener("one", hooks, ValueError("broken")), Listener("two", hooks))
    assert hooks == ["one", "two"]
    assert "broken" in caplog.text


def test_hooks_are_distinguished(hooks: list[str]) -> None:
    class Both(Listener):
        def done(self) -> None:
            self.hooks.append("done")

        def configure(self, updated: set[str]) -> None:
            self.hooks.append(f"configure {sorted(updated)}")

    async def trigger() -> None:
        addons = _Listeners(Master(Options()))
        addons.register(both := Both("running", hooks))
        addons.chain.append(both)
        for hook in (RunningHook(), DoneHook(), ConfigureHook({"mode"}), RunningHook()):
            await addons.trigger_event(hook)

    asyncio.run(trigger())
    assert hooks == ["running", "done", "configure ['mode']", "running"]
