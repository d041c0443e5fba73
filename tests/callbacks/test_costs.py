"""A bank without callbacks loads nothing for them, and has nothing to do after an answer."""

import subprocess
import sys
from pathlib import Path

CODE = """
import asyncio, sys
from pathlib import Path
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.features.callbacks.run import RunCallbacks
from xs2a_sandbox.http import Headers, Request

async def main():
    settings = Settings(state="memory:", confdir=Path(sys.argv[1]), dialect=sys.argv[2])
    engine = build(settings)
    RunCallbacks(settings).open(engine, "http://127.0.0.1:1", "a run")
    headers = Headers([("X-Request-ID", "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"), ("PSU-IP-Address", "192.0.2.1")])
    before = len(asyncio.all_tasks())
    await engine.answer(Request("POST", "/v1/consents", headers, b"{}"))
    loaded = [name for name in sys.modules if name.startswith("xs2a_sandbox.features") or name == "aiohttp"]
    print(len(asyncio.all_tasks()) - before, *loaded)

asyncio.run(main())
"""


def loaded(tmp_path: Path, dialect: str) -> list[str]:
    command = [sys.executable, "-c", CODE, str(tmp_path), dialect]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_bank_without_callbacks_loads_no_couriers(tmp_path: Path) -> None:
    more_tasks, *modules = loaded(tmp_path, "xs2a-1.84")
    assert more_tasks == "0"
    assert "xs2a_sandbox.features.callbacks.delivery" in modules
    assert "xs2a_sandbox.features.callbacks.couriers" not in modules
    assert "aiohttp" not in modules


def test_a_bank_whose_app_has_no_address_loads_no_client_and_starts_no_work(tmp_path: Path) -> None:
    more_tasks, *modules = loaded(tmp_path, "berlin-group-1.3")
    assert more_tasks == "0"
    assert "xs2a_sandbox.features.callbacks.couriers" in modules
    assert "aiohttp" not in modules
