"""Change the time for a pytest run and for `xs2a-sandbox`.

`pytest -p tests.architecture.travelling` starts every test at TRAVEL_TO, an ISO time with an offset. With
`python -m tests.architecture.travelling serve …` the time stands still until the sandbox listens, and passes from then
on.
"""

import os
import ssl
from collections.abc import Generator
from datetime import datetime
from typing import Any

import pytest
import time_machine

TRAVEL_TO = "TRAVEL_TO"
_NO_CHECK_TIME = ssl.VerifyFlags(0x200000)


def depart() -> None:
    """Travel to the same time again."""
    _traveller.move_to(datetime.fromisoformat(os.environ[TRAVEL_TO]), tick=True)


def timeless(context: ssl.SSLContext) -> ssl.SSLContext:
    """Return a client context that ignores validity dates: certificates have the travelled time, but OpenSSL the real
    one.
    """
    context.verify_flags |= _NO_CHECK_TIME
    return context


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    depart()
    return (yield)


def _a_context(cls: type[ssl.SSLContext], *arguments: Any) -> ssl.SSLContext:
    return timeless(_context(cls, *arguments))


async def _serve(*arguments: Any, ready: Any, **options: Any) -> None:
    def listening(addresses: Any) -> None:
        depart()
        ready(addresses)

    await _serve_really(*arguments, ready=listening, **options)


if TRAVEL_TO in os.environ:
    _traveller = time_machine.travel(datetime.fromisoformat(os.environ[TRAVEL_TO]), tick=False).start()
    _context = ssl.SSLContext.__new__
    ssl.SSLContext.__new__ = _a_context  # type: ignore[method-assign, assignment]

if __name__ == "__main__":
    from xs2a_sandbox.cli import main
    from xs2a_sandbox.doors import serving

    _serve_really = serving.serve
    serving.serve = _serve  # type: ignore[assignment]
    main.main()
