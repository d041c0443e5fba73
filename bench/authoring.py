"""CPU time of `record`, `derive --dialect` and `compare --offline`, relative to answering the same requests.

`python bench/authoring.py` records an app's flows at two banks on loopback: the sandbox itself, whose dialect is
documented, and a bank of `tests/foreign_banks` that no dialect describes. The figures are CPU time of each process,
because waiting for the disk and for other programs says nothing about the sandbox.
"""

import argparse
import asyncio
import http.client
import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import httpx
from journey import IDS, journey
from served import Server, server
from table import Row, as_text

from engine import engine, requests
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.http import Request

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.foreign_banks import server as foreign
from tests.foreign_banks.journeys import BANKS

_UNKNOWN = "javor"
_FLAGS = ("--port", "0", "--proxy-port", "0", "--tls-port", "off", "--state", "memory:")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exchanges", type=int, default=5000, metavar="N")
    parser.add_argument("--bank", choices=("known", "unknown"), help="only this bank")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="a new folder for the recordings and the output")
    chosen = parser.parse_args()
    flow = asyncio.run(_flow())
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = (chosen.keep or Path(temporary)).resolve()
        for name, record in {"known": record_known, "unknown": record_unknown}.items():
            if chosen.bank in (None, name):
                place = folder / name
                place.mkdir(parents=True)
                answering = answer(place, flow, chosen.exchanges)
                recording = record(place, flow, chosen.exchanges)
                rows += _rows(name, place, answering, recording, chosen.exchanges)
    print(as_text(rows))


def answer(folder: Path, flow: list[Request], count: int) -> float:
    """Return the sandbox's CPU time for answering, the reference."""
    with _serve(folder, "answering") as bank:
        return _send(bank, flow, count)


def record_known(folder: Path, flow: list[Request], count: int) -> float:
    """Record the sandbox as the bank. Return the recorder's CPU time."""
    with (
        _serve(folder, "bank") as bank,
        _record(folder, f"http://127.0.0.1:{bank.ports['direct']}") as recorder,
    ):
        used = _send(recorder, flow, count)
        _stop(recorder)
    return used


def record_unknown(folder: Path, flow: list[Request], count: int) -> float:
    """Record the foreign bank with its own flow. Return the recorder's CPU time for `count` exchanges."""
    bank, done = BANKS[_UNKNOWN], 0
    clock = foreign.Clock(datetime.now(UTC).replace(hour=12, minute=0, second=0))
    with foreign.serving(bank.bank(7, clock)) as url, _record(folder, url) as recorder:
        address = f"http://127.0.0.1:{recorder.ports['direct']}"
        before = recorder.usage()["cpu"]
        while done < count:
            hooks = {"request": [_renew_token]}
            with httpx.Client(base_url=address, trust_env=False, timeout=60, event_hooks=hooks) as client:
                done += len(bank.first(client, clock.wait))
        used = recorder.usage()["cpu"] - before
        _stop(recorder)
    return float(used) * count / done


def _renew_token(request: httpx.Request) -> None:
    """Give a repeated request another token. The bank would repeat its answer to an equal one."""
    if "TPP-Request-Token" in request.headers:
        request.headers["TPP-Request-Token"] += f"-{uuid4().hex[:8]}"


async def _flow() -> list[Request]:
    with engine() as bank:
        asked = requests(bank)
        debtors = list(bank.parts.testdata.at(Clock().today())["accounts"])
        flow = await journey(bank.answer, asked["payment initiation"], asked["20 transactions"], debtors)
    return flow.requests


def _serve(folder: Path, confdir: str, *flags: str) -> AbstractContextManager[Server]:
    return server("command", "serve", *_FLAGS, *flags, "--confdir", str(folder / confdir), directory=folder)


def _record(folder: Path, url: str) -> AbstractContextManager[Server]:
    return _serve(folder, "conf", "--mode", "record", "--bank", url, "--to", str(folder / "tape"))


def _stop(recorder: Server) -> None:
    """End the recorder and wait for the rules that it derives."""
    os.kill(recorder.number, signal.SIGTERM)
    os.waitpid(recorder.number, 0)


def _send(running: Server, flow: list[Request], count: int) -> float:
    """Send `count` requests, one after the other. Return the CPU time of the server."""
    connection = http.client.HTTPConnection("127.0.0.1", running.ports["direct"])
    _repeat(connection, flow, len(flow))
    before = running.usage()["cpu"]
    _repeat(connection, flow, count)
    used = running.usage()["cpu"] - before
    connection.close()
    return float(used)


def _repeat(connection: http.client.HTTPConnection, flow: list[Request], count: int) -> None:
    ids: dict[str, str] = {}

    def fill(text: str) -> str:
        for name, id in ids.items():
            text = text.replace(f"{{{name}}}", id)
        return text

    for number in range(count):
        request = flow[number % len(flow)]
        ids["request"] = str(uuid4())
        # A bank has no sessions, and its own host.
        pairs = (pair for pair in request.headers if pair[0] not in ("Host", "X-Sandbox-Session"))
        headers = {name: fill(value) for name, value in pairs}
        connection.request(request.method, fill(request.target), request.body or None, headers)
        response = connection.getresponse()
        body = response.read().decode()
        if response.status >= 400:
            raise ValueError(f"{request.method} {request.target} was answered {response.status}: {body}")
        if request.method == "POST":
            ids |= {name: found[1] for name, pattern in IDS.items() if (found := re.search(pattern, body))}


def _rows(bank: str, folder: Path, answering: float, recording: float, count: int) -> list[Row]:
    costs = {
        "record": recording,
        "derive --dialect": _run(folder, "derive", "tape", "--dialect", "mine"),
        "compare --offline": _run(folder, "compare", "--offline", "tape"),
    }
    against = f"answering them, {answering:.1f} s"
    return [
        Row(f"{name}, {count:,} exchanges, {bank} bank", f"{used:.1f} s", against, used / answering)
        for name, used in costs.items()
    ]


def _run(folder: Path, command: str, *arguments: str) -> float:
    """Run a command of the sandbox, its start included. Return its CPU time."""
    program = [sys.executable, "-m", "xs2a_sandbox", command, *arguments, "--confdir", str(folder / "conf")]
    output = folder / f"{command}.txt"
    with (
        output.open("w") as file,
        subprocess.Popen(program, cwd=folder, stdout=file, stderr=subprocess.STDOUT) as process,
    ):
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    # 1 means that a comparison found differences.
    if process.returncode not in (0, 1):
        raise ChildProcessError(f"{command} ended with {process.returncode}: {output.read_text()[-1000:]}")
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
