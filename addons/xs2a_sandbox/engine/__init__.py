"""The whole product behind the doors: `Engine.answer` takes a request and returns the bank's answer."""

from xs2a_sandbox.engine.engine import Engine

__all__ = ["Engine"]
