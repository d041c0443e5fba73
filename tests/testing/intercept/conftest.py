"""A bank that is reachable, and the sandbox that answers instead."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.testing.intercept.counting_bank import ENDS, RULE, CountingBank
from tests.testing.sandboxes import a_sandbox
from xs2a_sandbox.features.pytest.sandbox import Sandbox


@pytest.fixture
def bank(monkeypatch: pytest.MonkeyPatch) -> Iterator[CountingBank]:
    """Resolve every host to this bank, so that it gets all requests that leave the test."""
    resolve = socket.getaddrinfo

    def resolved(host: Any, *more: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        return resolve("127.0.0.1" if name and name.endswith(ENDS) else host, *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    counting = CountingBank()
    thread = threading.Thread(target=counting.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield counting
    counting.server.shutdown()
    thread.join()
    counting.server.server_close()


@pytest.fixture
def xs2a() -> Sandbox:
    sandbox = a_sandbox()
    sandbox.add_rule(RULE)
    return sandbox
