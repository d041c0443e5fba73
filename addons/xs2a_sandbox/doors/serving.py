"""The engine and all its doors in one loop, from the first port to the last answer."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress

from xs2a_sandbox.config import Settings
from xs2a_sandbox.control.access import ensure_token
from xs2a_sandbox.control.front_page import Addresses
from xs2a_sandbox.doors.connections import Connections
from xs2a_sandbox.doors.direct import DirectDoor
from xs2a_sandbox.doors.proxy import ProxyDoors, ensure_ca
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.engine.reload import Reload
from xs2a_sandbox.http.origin import url
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.journal.serving_log import Say


def new_loop() -> asyncio.AbstractEventLoop:
    """The loop to serve in: uvloop's, in which a request costs a tenth less; asyncio's own where there is none."""
    try:
        from uvloop import new_event_loop
    except ImportError:  # as on Windows
        return asyncio.new_event_loop()
    return new_event_loop()


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
) -> None:
    """Serves until SIGTERM, SIGINT, SIGHUP or `stop`, then lets the requests under way finish.

    `again` reads the settings anew when a file has changed, and `say` is told what became of that; `built` is shown
    the engine before anything listens. Raises UserMistake when it cannot start; nothing listens then.
    """
    engine = build(settings, redact=redact)
    # Before anything takes its time: what is saved from here on is not missed.
    reload = Reload(engine, settings, again or (lambda: settings), say)
    engine.on_exchange = on_exchange
    if built:
        built(engine)
    ca_file = ensure_ca(settings.confdir)
    engine.admin_token = ensure_token(settings.confdir)
    connections = Connections(engine.limits)
    direct = DirectDoor(
        engine.answer, host=settings.host, port=settings.port, tell=engine.refused, connections=connections
    )
    proxy = ProxyDoors(
        engine.answer,
        host=settings.host,
        proxy_port=settings.proxy_port,
        tls_port=settings.tls_port,
        confdir=settings.confdir,
        proxy_auth=settings.proxy_auth,
        tell=engine.refused,
        connections=connections,
        engine=settings.proxy_engine,
    )
    await direct.start()
    started: list[DirectDoor | ProxyDoors] = [direct]
    try:
        direct_url = url("http", settings.host, direct.port)
        engine.public_url = settings.public_url or direct_url
        await proxy.start()
        started.append(proxy)
        tls_url = None if proxy.tls_port is None else url("https", settings.host, proxy.tls_port)
        if ready:
            ready(Addresses(url("http", settings.host, proxy.proxy_port), direct_url, tls_url, ca_file))
        watching = asyncio.create_task(reload.watch())
        try:
            await _told_to_stop(stop or asyncio.Event())
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
    finally:
        await asyncio.gather(*(one.drain() for one in started))
        await engine.close()


async def _told_to_stop(stop: asyncio.Event) -> None:
    """Waits for `stop` or a signal. A second ^C finds the default handler again, for whoever is in a hurry.

    SIGTERM and SIGHUP may come twice, to the process and to its group, as `timeout` sends them.
    """
    loop, signals = asyncio.get_running_loop(), [signal.SIGTERM, signal.SIGINT]
    # Whoever started this with nohup wants it to outlive its terminal; Windows has no such signal.
    if (hang_up := getattr(signal, "SIGHUP", None)) and signal.getsignal(hang_up) is not signal.SIG_IGN:
        signals.append(hang_up)
    # Only the main thread of a Unix process has them; elsewhere `stop` is the only way.
    with suppress(NotImplementedError, RuntimeError, ValueError):
        for number in signals:
            loop.add_signal_handler(number, stop.set)
    try:
        await stop.wait()
    finally:
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.remove_signal_handler(signal.SIGINT)
