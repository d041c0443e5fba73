"""An example played to an engine, and what it complains of."""

import asyncio

from xs2a_sandbox.authoring.examples import Example, compare, compose
from xs2a_sandbox.engine import Engine


def run(engine: Engine, entry: Example) -> list[str]:
    """Complaints of what differs from what is expected. It runs in a session of its own."""
    try:
        request = compose(entry)
    except ValueError as error:
        return [str(error)]
    return compare(entry.expect, asyncio.run(engine.answer(request)))
