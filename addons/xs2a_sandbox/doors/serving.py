"""Runs the engine and all its doors in one loop, from opening the ports to the last answer."""

import asyncio
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from xs2a_sandbox.config import Settings
from xs2a_sandbox.control.access import ensure_token
from xs2a_sandbox.control.front_page import Addresses
from xs2a_sandbox.doors import ports
from xs2a_sandbox.doors.client_header import ClientHeader
from xs2a_sandbox.doors.connections import Connections, allow_files
from xs2a_sandbox.doors.direct import DirectDoor
from xs2a_sandbox.doors.proxy import ProxyDoors, ensure_ca
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.engine.notices import Notices
from xs2a_sandbox.engine.reload import Reload
from xs2a_sandbox.http.origin import url
from xs2a_sandbox.journal import tracing
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.journal.serving_log import Say
from xs2a_sandbox.state.snapshot import RemoteStore

if TYPE_CHECKING:
    from xs2a_sandbox.doors.workers.supervisor import Supervisor, Work
    from xs2a_sandbox.doors.workers.worker import Worker


USUAL_LOOP = "uvloop"


def new_loop() -> asyncio.AbstractEventLoop:
    """Return the loop to serve in: uvloop's, in which a request costs a tenth less, or asyncio's without uvloop."""
    try:
        from uvloop import new_event_loop
    except ImportError:  # there is no build for this machine
        return asyncio.new_event_loop()
    return new_event_loop()


def loop_name() -> str:
    """Return the name of the loop that `new_loop` makes and, if it is asyncio's, the reason."""
    try:
        import uvloop  # noqa: F401
    except ImportError as error:
        return f"asyncio's event loop, which is 10 % slower, because uvloop cannot be loaded ({error})"
    return USUAL_LOOP


async def serve(
    settings: Settings,
    *,
    redact: bool = True,
    again: Callable[[], Settings] | None = None,
    say: Say = lambda text, level="info": None,
    built: Callable[[Engine], None] | None = None,
    ready: Callable[[Addresses], None] | None = None,
    on_exchange: Callable[[LogEntry], None] | None = None,
    stop: asyncio.Event | None = None,
    worker: "Worker | None" = None,
) -> None:
    """Serve until SIGTERM, SIGINT, SIGHUP or `stop`, then let running requests finish.

    A `worker` does not listen itself; its supervisor tells it when to stop.

    `again` reads the settings again after a file has changed, and `say` is called with the result. `built` is called
    with the engine before anything listens. Raises UserMistake if it cannot start; nothing listens then.
    """
    engine = build(settings, redact=redact)
    if worker:
        engine.share(worker)
    # Before anything slow, so that files saved from here on are noticed.
    notices = Notices(engine.store, say) if isinstance(engine.store, RemoteStore) else None
    reload = Reload(engine, settings, again or (lambda: settings), notices.own if notices else say, worker)
    engine.use(on_exchange=on_exchange, tracing=tracing.from_environment())
    if built:
        built(engine)
    ca_file = ensure_ca(settings.confdir)
    engine.use(admin_token=ensure_token(settings.confdir))
    direct, proxy = _doors(engine, settings, _connections(engine, worker, say))
    started: list[DirectDoor | ProxyDoors] = []
    try:
        if worker:
            addresses = worker.addresses
            proxy.prepare()
            started += [direct, proxy]
        else:
            await direct.start()
            started.append(direct)
            await proxy.start()
            started.append(proxy)
            addresses = addresses_of(settings, direct.port, proxy.proxy_port, proxy.tls_port, ca_file)
        engine.use(public_url=settings.public_url or addresses.direct)
        if ready:
            ready(addresses)
        if worker:
            worker.begin((direct.protocol_factory, proxy.proxy_protocol_factory, proxy.tls_protocol_factory))
        watching = [asyncio.create_task(reload.watch())]
        if notices:
            name = f"{gethostname()}:{urlsplit(addresses.direct).port}"
            watching.append(asyncio.create_task(notices.follow(name, reads=worker is None or worker.number == 1)))
        try:
            await _wait_for_stop(stop or (worker.stop if worker else asyncio.Event()), alone=worker is None)
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
    finally:
        if worker:
            worker.end()
        engine.let_go()
        await asyncio.gather(*(door.drain() for door in started))
        await engine.close()


def _connections(engine: Engine, worker: "Worker | None", say: Say) -> Connections:
    """Return the connection limits for all doors. Calls `say` if the system allows fewer than the settings."""
    allow_files(engine.parts.limits)
    connections = Connections(engine.parts.limits, worker.note_open if worker else lambda count: None)
    if connections.most < engine.parts.limits.connections and (worker is None or worker.is_teller):
        most, wish = connections.most, engine.parts.limits.connections
        say(
            f"only {most:,} connections can be open at a time, not {wish:,}: raise the limit of open files "
            "with ulimit -n",
            "warning",
        )
    return connections


def _doors(engine: Engine, settings: Settings, connections: Connections) -> tuple[DirectDoor, ProxyDoors]:
    """Return both doors, not open yet."""
    direct = DirectDoor(
        engine.answer_anew,
        host=settings.host,
        port=settings.port,
        tell=engine.report_refusal,
        connections=connections,
        repeat=engine.repeat,
        client_header=ClientHeader.of(settings.client_cert_header, settings.client_cert_from),
    )
    proxy = ProxyDoors(
        engine.answer,
        host=settings.host,
        proxy_port=settings.proxy_port,
        tls_port=settings.tls_port,
        confdir=settings.confdir,
        proxy_auth=settings.proxy_auth,
        tell=engine.report_refusal,
        connections=connections,
        repeat=engine.repeat,
        engine=settings.proxy_engine,
    )
    return direct, proxy


def addresses_of(settings: Settings, port: int, proxy_port: int, tls_port: int | None, ca_file: Path) -> Addresses:
    """Return the URLs of the doors with their actual ports."""
    return Addresses(
        url("http", settings.host, proxy_port),
        url("http", settings.host, port),
        None if tls_port is None else url("https", settings.host, tls_port),
        ca_file,
    )


def supervisor(settings: Settings, work: "Work") -> "Supervisor":
    """Return the supervisor with the ports that all workers share. Raises ConfigError if a port is not available."""
    from xs2a_sandbox.doors.workers.supervisor import Supervisor

    ca_file = ensure_ca(settings.confdir)
    ensure_token(settings.confdir)
    listening: list[list[socket.socket]] = []
    try:
        listening.append(ports.listen(settings.host, settings.port, "--port"))
        listening.append(ports.listen(settings.host, settings.proxy_port, "--proxy-port"))
        if settings.tls_port is not None:
            listening.append(ports.listen(settings.host, settings.tls_port, "--tls-port"))
    except BaseException:
        for bound in (bound for door in listening for bound in door):
            bound.close()
        raise
    port, proxy_port, *tls_port = map(ports.number, listening)
    addresses = addresses_of(settings, port, proxy_port, tls_port[0] if tls_port else None, ca_file)
    return Supervisor(settings.workers, listening, addresses, settings.clock.today(), work)


async def _wait_for_stop(stop: asyncio.Event, *, alone: bool) -> None:
    """Wait for `stop` or a signal. A second ^C reaches the default handler, so that users can abort.

    SIGTERM and SIGHUP may be sent twice, to the process and to its group, as `timeout` does. If not `alone`, the
    supervisor handles the other signals.
    """
    loop, signals = asyncio.get_running_loop(), [signal.SIGTERM, *([signal.SIGINT] if alone else [])]
    # A process started with nohup is meant to outlive its terminal.
    if alone and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signals.append(signal.SIGHUP)
    # Only the main thread of a Unix process can handle signals; elsewhere `stop` is the only way.
    with suppress(NotImplementedError, RuntimeError, ValueError):
        for number in signals:
            loop.add_signal_handler(number, stop.set)
    try:
        await stop.wait()
    finally:
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.remove_signal_handler(signal.SIGINT)
