"""The measured servers, each in a separate process.

`python bench/servers.py KIND …` writes its ports to the descriptor REPORTS, and after each line on standard input the
resources that it has used so far.
"""

import asyncio
import gc
import json
import os
import resource
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

Kind = Callable[..., Awaitable[None]]

CONSTANT = json.loads(os.environ.get("CONSTANT", '{"headers": [], "body": ""}'))
"""The answer of servers without an engine."""
BODY: bytes = CONSTANT["body"].encode()
HEADERS: tuple[tuple[str, str], ...] = tuple((name, value) for name, value in CONSTANT["headers"])


_CONNECTIONS = 10_000
"""More than are opened."""


def report(**values: Any) -> None:
    os.write(int(os.environ["REPORTS"]), json.dumps(values).encode() + b"\n")


def usage() -> dict[str, float]:
    """Return CPU time in seconds and resident memory in bytes."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    try:
        resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        # On other systems only the peak is available. It does not grow either if memory use is constant.
        resident = used.ru_maxrss
    return {"cpu": used.ru_utime + used.ru_stime, "memory": resident}


def answer_questions() -> None:
    for _ in sys.stdin:
        report(**usage())
    # The measurement has ended.
    os._exit(0)


async def bare(confdir: str) -> None:
    """Run the smallest possible master of mitmproxy without code of the sandbox."""
    from mitmproxy import http, master, options
    from mitmproxy.addons import block, core, next_layer, proxyserver, tlsconfig

    headers = http.Headers([(name.encode(), value.encode()) for name, value in HEADERS])

    class Constant:
        def request(self, flow: http.HTTPFlow) -> None:
            flow.response = http.Response.make(200, BODY, headers)

        def running(self) -> None:
            (address, *_) = server.listen_addrs()
            report(proxy=address[1])

    proxy = master.Master(options.Options())
    server = proxyserver.Proxyserver()
    proxy.addons.add(core.Core(), block.Block(), server, Constant(), next_layer.NextLayer(), tlsconfig.TlsConfig())
    proxy.options.update(listen_host="127.0.0.1", listen_port=0, connection_strategy="lazy", confdir=confdir)
    await proxy.run()


def tell_nobody(_: Any, response: Any, *__: Any) -> Any:
    """Return the response unchanged: no log, and no bank with its own wording."""
    return response


async def constant(confdir: str) -> None:
    """Run the sandbox's proxy doors without an engine."""
    from xs2a_sandbox.config.limits import USUAL
    from xs2a_sandbox.doors.connections import Connections
    from xs2a_sandbox.doors.proxy import ProxyDoors
    from xs2a_sandbox.http import Request, Response

    response = Response(200, HEADERS, BODY)

    async def answer(request: Request) -> Response:
        return response

    doors = ProxyDoors(
        answer,
        host="127.0.0.1",
        proxy_port=0,
        tls_port=0,
        confdir=Path(confdir),
        proxy_auth=None,
        tell=tell_nobody,
        connections=Connections(USUAL),
    )
    await doors.start()
    gc.freeze()  # like the command, because the engine is compared
    report(proxy=doors.proxy_port, tls=doors.tls_port)
    await asyncio.Event().wait()


async def httptools(confdir: str) -> None:
    """Run the smallest possible protocol with httptools, without code of the sandbox."""
    from httptools import HttpRequestParser

    fields = [f"{name}: {value}\r\n" for name, value in (*HEADERS, ("Content-Length", str(len(BODY))))]
    answer = f"HTTP/1.1 200 OK\r\n{''.join(fields)}\r\n".encode() + BODY

    class Constant(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            self.transport, self.parser = transport, HttpRequestParser(self)

        def data_received(self, data: bytes) -> None:
            self.parser.feed_data(data)

        def on_message_complete(self) -> None:
            self.transport.write(answer)

    server = await asyncio.get_running_loop().create_server(Constant, "127.0.0.1", 0)
    report(direct=server.sockets[0].getsockname()[1])
    await asyncio.Event().wait()


async def sandbox(confdir: str, state: str = "memory:", *cassettes: str) -> None:
    """Run all doors with the engine, without a log."""
    from xs2a_sandbox.config import Settings
    from xs2a_sandbox.doors.serving import Addresses, serve

    def ready(found: Addresses) -> None:
        gc.freeze()  # like the command
        ports = {name: int(str(getattr(found, name)).rpartition(":")[2]) for name in ("proxy", "direct", "tls")}
        report(**ports)

    layers = tuple(map(Path, cassettes))
    settings = Settings(
        port=0, proxy_port=0, tls_port=0, confdir=Path(confdir), state=state, cassettes=layers, connections=_CONNECTIONS
    )
    await serve(settings, ready=ready)


def command(*arguments: str) -> None:
    """Run `xs2a-sandbox …` like a user does, and print its ports."""
    from xs2a_sandbox.cli.main import main

    sys.argv = ["xs2a-sandbox", *arguments]
    main()


KINDS: dict[str, Kind] = {"bare": bare, "constant": constant, "httptools": httptools, "sandbox": sandbox}

if __name__ == "__main__":
    threading.Thread(target=answer_questions, daemon=True).start()
    kind, *rest = sys.argv[1:]
    if kind == "command":
        command(*rest)
    else:
        from xs2a_sandbox.doors.serving import new_loop

        # mitmproxy's own master does not run in uvloop.
        asyncio.run(KINDS[kind](*rest), loop_factory=asyncio.new_event_loop if kind == "bare" else new_loop)
