"""The complete sandbox behind the doors: `Engine.answer` takes a request and returns the bank's answer."""

from xs2a_sandbox.engine.engine import Engine
from xs2a_sandbox.engine.stack import Parts

__all__ = ["Engine", "Parts"]
