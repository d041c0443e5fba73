"""The tools reach the sandbox of these tests through its port."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.agent import SESSION, Agent
from tests.support.doors import opened
from tests.support.engine_client import Client, an_engine, bundled_engine
from tests.support.roads import direct_door
from xs2a_sandbox.config import Settings
from xs2a_sandbox.control.access import ensure_token
from xs2a_sandbox.features.agents.context import Context


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    monkeypatch.chdir(tmp_path)
    engine = an_engine(display=bundled_engine().parts.display)
    engine.use(admin_token=ensure_token(tmp_path))
    with opened(lambda: direct_door(engine.answer)) as (door, _):
        settings = Settings(port=door.port, confdir=tmp_path, state="memory:")
        address = f"http://127.0.0.1:{door.port}"
        yield Agent(Context.of(settings, address, address).in_session(SESSION), Client(engine, SESSION))
