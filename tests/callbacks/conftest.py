"""An app that listens, and a session of the `sandbox` that each module serves."""

from collections.abc import Iterator

import pytest

from tests.callbacks.asking import ServedSession
from tests.support.listener import Listener
from tests.support.serving import Serving


@pytest.fixture
def app() -> Iterator[Listener]:
    with Listener() as listening:
        yield listening


@pytest.fixture
def bank(sandbox: Serving) -> ServedSession:
    return ServedSession(sandbox)
