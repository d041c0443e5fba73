"""One sandbox with all its doors for each pytest process, and a new session for each test.

Every test runs through every door; every case of it runs in process and, in turns, through one of the doors with a
socket. `make test` runs every case in process and every third one through a socket. Doors only translate, so the other
combinations prove nothing new. Tests of what doors translate have the marker `every_door`: all their cases run through
all doors.
"""

import asyncio
import ssl
import threading
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.contract.control import Control
from tests.contract.doors import BANK, DOORS, MITMPROXY, WIRES, Bank, InProcess, Send, Wire
from tests.support import compared_bodies, compared_inputs, compared_requirements, noted_handlers
from tests.support.certificates import issued
from tests.support.roads import proxy_doors
from tests.support.turns import share_out
from xs2a_sandbox.config import Settings
from xs2a_sandbox.doors.connections import Connections
from xs2a_sandbox.doors.proxy import ProxyDoors
from xs2a_sandbox.doors.serving import Addresses, new_loop, serve
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.tpp import key_files
from xs2a_sandbox.tpp.trust_service import TrustService


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem() -> Generator[None, Any, Any]:
    made = yield
    return share_out(made, "bank", WIRES) if isinstance(made, list) else made


@pytest.fixture(scope="session", autouse=True)
def _noted_handlers() -> None:
    noted_handlers.install()


_COMPARED = (compared_bodies, compared_inputs, compared_requirements)
"""The parts of cassettes that are compiled to functions. Each is compared with its interpreter."""


@pytest.fixture(scope="session", autouse=True)
def _compared() -> None:
    for one in _COMPARED:
        one.install()


@pytest.fixture(autouse=True)
def _compiled_code_agrees(_compared: None) -> Iterator[None]:
    for one in _COMPARED:
        one.DIFFERENT.clear()
    yield
    assert [different for one in _COMPARED for different in one.DIFFERENT] == []


@pytest.fixture(autouse=True)
def _handlers_do_what_they_declare(_noted_handlers: None) -> Iterator[None]:
    noted_handlers.NOTES.undeclared.clear()
    yield
    assert noted_handlers.NOTES.undeclared == []


@dataclass(frozen=True, slots=True)
class Sandbox:
    """An engine and the addresses of its doors: all of them, and those whose connections are handled by mitmproxy."""

    addresses: Addresses
    through_mitmproxy: Addresses
    engine: Engine
    loop: asyncio.AbstractEventLoop
    log: deque[LogEntry]


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    confdir: Path = tmp_path_factory.mktemp("confdir")
    settings = Settings(proxy_port=0, port=0, tls_port=0, state="memory:", confdir=confdir)
    ready = threading.Event()
    found: list[Addresses] = []
    built: list[Engine] = []
    others: list[ProxyDoors] = []
    failures: list[BaseException] = []
    opening: list[asyncio.Task[None]] = []
    log: deque[LogEntry] = deque(maxlen=100)
    loop = new_loop()
    stop = asyncio.Event()

    async def open_others() -> None:
        for engine in built:  # none if all doors are skipped
            options = {
                "tell": engine.report_refusal,
                "connections": Connections(engine.parts.limits),
                "engine": "mitmproxy",
            }
            doors = proxy_doors(engine.answer, confdir, **options)
            await doors.start()
            others.append(doors)
        ready.set()

    def tell(addresses: Addresses) -> None:
        found.append(addresses)
        opening.append(loop.create_task(open_others()))

    def run() -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(serve(settings, ready=tell, stop=stop, built=built.append, on_exchange=log.append))
        except BaseException as failure:  # raise it in the fixture, in the thread that pytest observes
            failures.append(failure)
        finally:
            ready.set()

    thread = threading.Thread(target=run, name="sandbox", daemon=True)
    thread.start()
    assert ready.wait(30), "the sandbox did not start within 30 seconds"
    if failures:
        raise failures[0]
    in_process = build(settings)
    in_process.use(public_url=found[0].direct, on_exchange=log.append)
    through_mitmproxy = found[0]
    for doors in others:
        proxy, tls = f"http://127.0.0.1:{doors.proxy_port}", f"https://127.0.0.1:{doors.tls_port}"
        through_mitmproxy = replace(found[0], proxy=proxy, tls=tls)
    yield Sandbox(found[0], through_mitmproxy, in_process, loop, log)
    for doors in others:
        asyncio.run_coroutine_threadsafe(doors.drain(1), loop).result(20)
    loop.call_soon_threadsafe(stop.set)
    thread.join(20)
    assert not thread.is_alive(), "the sandbox did not stop within 20 seconds"
    loop.close()
    if failures:
        raise failures[0]


@pytest.fixture(scope="session")
def trust(sandbox: Sandbox) -> ssl.SSLContext:
    """Return a TLS context that trusts the sandbox and sends a valid client certificate."""
    context = ssl.create_default_context(cafile=sandbox.addresses.ca_file)
    folder = Path(sandbox.addresses.ca_file).parent
    ca = TrustService(folder).ca(datetime.now(UTC))
    context.load_cert_chain(key_files.write(folder, "contract", issued(by=ca), [ca.certificate], "-")[0])
    return context


@pytest.fixture(scope="session")
def senders(sandbox: Sandbox, trust: ssl.SSLContext) -> Iterator[dict[str, Send]]:
    wires = {"direct": Wire(sandbox.addresses.direct)}
    for engine, addresses in (("", sandbox.addresses), (MITMPROXY, sandbox.through_mitmproxy)):
        assert addresses.tls is not None
        wires |= {
            f"{engine}proxy": Wire(f"http://{BANK}", proxy=addresses.proxy),
            f"{engine}tls-proxy": Wire(f"https://{BANK}", proxy=addresses.proxy, trust=trust),
            f"{engine}tls": Wire(addresses.tls, trust=trust),
        }
    yield {**wires, "process": InProcess(sandbox.engine.answer, sandbox.loop)}
    for wire in wires.values():
        wire.close()


@pytest.fixture(params=DOORS)
def bank(request: pytest.FixtureRequest, senders: dict[str, Send], sandbox: Sandbox) -> Bank:
    addresses, door = sandbox.addresses, request.param
    if door.startswith(MITMPROXY):
        addresses, door = sandbox.through_mitmproxy, door.removeprefix(MITMPROXY)
    return Bank(door, senders[request.param], f"test-{uuid.uuid4().hex}", addresses)


@pytest.fixture
def control(bank: Bank, senders: dict[str, Send], sandbox: Sandbox) -> Control:
    """Control the sandbox and the session of the test.

    In process, this is a different sandbox than behind the doors.
    """
    if bank.door == "process":
        sandbox.engine.use(admin_token="in-process")
        return Control(bank, bank.send, sandbox.engine.parts.admin_token)
    token = (sandbox.addresses.ca_file.parent / "admin-token").read_text().strip()
    return Control(bank, senders["direct"], token)


@pytest.fixture
def warned(bank: Bank, sandbox: Sandbox) -> Callable[[], Sequence[str]]:
    """Return the warnings in the log for the session's last request."""
    return lambda: next(one.warnings for one in reversed(list(sandbox.log)) if one.session == bank.session)
