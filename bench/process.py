"""The process as a whole: how soon it answers, and whether it grows."""

import http.client
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from served import server
from table import Row
from throughput import load

from xs2a_sandbox.http import Request

MOST_SECONDS = 1.5
MOST_GROWTH = 1.05
PORTS = ("--port", "0", "--proxy-port", "0", "--tls-port", "0")


def start_up(confdir: Path, request: Request, times: int) -> list[Row]:
    """From the command to the first answer of the direct door; the CA is there already."""
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


def memory(confdir: Path, request: Request, early: int, late: int) -> list[Row]:
    """Of `serve` as a user runs it, after `early` and after `late` requests through the proxy door."""
    arguments = ["serve", *PORTS, "--state", "memory:", "--confdir", str(confdir)]
    with server("command", *arguments, directory=confdir) as running:
        sizes = []
        for count in (early, late - early):
            running.under(load(request, "forward", running, "proxy", count, ""))
            sizes.append(running.usage()["memory"] / 2**20)
    before, after = sizes
    against = f"{before:.1f} MiB after {early:,}"
    what = f"memory after {late:,} requests"
    return [Row(what, f"{after:.1f} MiB", against, after / before, greatest=MOST_GROWTH)]
