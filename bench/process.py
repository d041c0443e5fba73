"""Start-up time and memory of the whole process."""

import http.client
import socket
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from served import server
from table import Row
from throughput import load
from workloads import BANK

from xs2a_sandbox.http import Request

MOST_SECONDS = 0.6
MOST_GROWTH = 1.05
MOST_RESIDENT, MOST_WITH_MITMPROXY = 60.0, 110.0
"""MB after the first answer, and after mitmproxy has been loaded."""
PORTS = ("--port", "0", "--proxy-port", "0", "--tls-port", "0")


def start_up(confdir: Path, request: Request, times: int) -> list[Row]:
    """Measure the time from the command to the first answer of the direct door. The CA already exists."""
    found = [_first_answer(confdir, request) for _ in range(times)]
    middle = median(found)
    against = f"{MOST_SECONDS} s; best {min(found):.2f} s"
    return [Row(f"start-up, median of {times}", f"{middle:.2f} s", against, middle / MOST_SECONDS, greatest=1.0)]


def _first_answer(confdir: Path, request: Request) -> float:
    program = Path(sys.executable).with_name("xs2a-sandbox")
    with tempfile.TemporaryDirectory() as directory:
        started = perf_counter()
        with subprocess.Popen(
            [program, "serve", *PORTS, "--state", "memory:", "--confdir", confdir],
            cwd=directory,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                told = process.stdout or ()
                url = next((line.split()[-1] for line in told if line.startswith("base URL")), None)
                if url is None:
                    raise ChildProcessError("the command does not serve")
                host, port = url.removeprefix("http://").split(":")
                connection = http.client.HTTPConnection(host, int(port))
                connection.request(request.method, request.target, headers=dict(request.headers))
                if (status := connection.getresponse().status) != 200:
                    raise ValueError(f"the first answer is {status}")
                seconds = perf_counter() - started
                connection.close()
                return seconds
            finally:
                process.kill()


def resident(confdir: Path, request: Request) -> list[Row]:
    """Measure the memory of `serve` after its first answer, and after a client with HTTP/2."""
    arguments = ["serve", *PORTS, "--state", "memory:", "--confdir", str(confdir)]
    with server("command", *arguments, directory=confdir) as running:
        running.under(load(request, "plain", running.ports["direct"], confdir, requests=1))
        first = running.usage()["memory"] / 1e6
        _speak_http2(running.ports["proxy"])
        later = running.usage()["memory"] / 1e6
    return [
        Row(
            "memory after the first answer",
            f"{first:.0f} MB",
            f"{MOST_RESIDENT:.0f} MB",
            first / MOST_RESIDENT,
            greatest=1.0,
        ),
        Row(
            "memory with mitmproxy",
            f"{later:.0f} MB",
            f"{MOST_WITH_MITMPROXY:.0f} MB",
            later / MOST_WITH_MITMPROXY,
            greatest=1.0,
        ),
    ]


def _speak_http2(port: int) -> None:
    """Complete a TLS handshake in a tunnel. For HTTP/2 only mitmproxy does this."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    with socket.create_connection(("127.0.0.1", port), timeout=30) as tunnel:
        tunnel.sendall(f"CONNECT {BANK}:443 HTTP/1.1\r\nHost: {BANK}:443\r\n\r\n".encode())
        if b" 200 " not in tunnel.recv(1000):
            raise ConnectionError("the proxy refused the tunnel")
        with context.wrap_socket(tunnel, server_hostname=BANK) as encrypted:
            if encrypted.selected_alpn_protocol() != "h2":
                raise ConnectionError("the proxy does not speak HTTP/2")


def memory(confdir: Path, request: Request, early: int, late: int) -> list[Row]:
    """Measure the memory of `serve` after `early` and after `late` requests through the proxy door."""
    arguments = ["serve", *PORTS, "--state", "memory:", "--confdir", str(confdir)]
    with server("command", *arguments, directory=confdir) as running:
        sizes = []
        for count in (early, late - early):
            running.under(load(request, "forward", running.ports["proxy"], confdir, requests=count))
            sizes.append(running.usage()["memory"] / 2**20)
    before, after = sizes
    against = f"{before:.1f} MiB after {early:,}"
    what = f"memory after {late:,} requests"
    return [Row(what, f"{after:.1f} MiB", against, after / before, greatest=MOST_GROWTH)]
