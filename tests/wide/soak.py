"""`make soak`: a million requests through both doors, after which memory and open files must be as before.

python -m tests.wide.soak [--requests 1000000]
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep

from tests.contract import bodies, facts
from tests.support.doors import START
from tests.support.recorded_bank.process import ROOT, with_ca
from tests.wide import page
from tests.wide.cluster import Replica

MOST_GROWTH = 1.05
"""The growth of memory from the first tenth to the end."""
_ROUNDS = 20
_EARLY = 2
"""Rounds until all caches are full."""
_MORE_FILES = 4
_BANK = "bank.example"
_HEADERS = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "PSU-IP-Address": "192.0.2.7"}


@dataclass(frozen=True, slots=True)
class Sample:
    requests: int
    megabytes: float
    files: int


def soak(requests: int, directory: Path) -> Iterator[Sample]:
    """Yield a sample after each round, when all its connections are closed."""
    with_ca(directory / "conf")
    replica = Replica(directory, "one", f"sqlite:{directory / 'state.db'}", ())
    replica.start()
    try:
        until = monotonic() + START
        while not asyncio.run(replica.is_ready()):
            assert monotonic() < until, (directory / "one.log").read_text()
            sleep(0.1)
        loads = _loads(replica, directory)
        for number in range(1, _ROUNDS + 1):
            for load in loads:
                each = requests // _ROUNDS // len(loads)
                send({**load, "requests": each // 2 if "then" in load else each})
            yield _sample(replica.pid, requests * number // _ROUNDS)
    finally:
        replica.kill()


def _loads(replica: Replica, directory: Path) -> list[dict[str, object]]:
    """Return reads at the base URL, at the proxy and in its tunnels, and payments that are read and kept."""
    status = f"/v1/consents/{facts.consent()}/status"
    paying = f"/v1/{bodies.SEPA}"
    payment = json.dumps(bodies.payment(bodies.SEPA, amount="0.01"))
    direct, proxy = replica.ports["direct"], replica.ports["proxy"]
    ca_file = str(directory / "conf" / "mitmproxy-ca-cert.pem")
    return [
        {"port": direct, "request": text("GET", status)},
        {"port": proxy, "request": text("GET", f"http://{_BANK}{status}")},
        {"port": proxy, "request": text("GET", status), "connect": _BANK, "ca_file": ca_file},
        {
            "port": direct,
            "request": text("POST", paying, payment),
            "then": [text("GET", f"{paying}/{{payment}}/status")],
            "ids": {"payment": '"paymentId": ?"([^"]+)"'},
        },
    ]


def text(method: str, target: str, body: str = "") -> str:
    """Return a request as it is sent."""
    fields = {"Host": _BANK, **_HEADERS}
    if body:
        fields |= {"Content-Type": "application/json", "Content-Length": str(len(body.encode()))}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{method} {target} HTTP/1.1\r\n{head}\r\n{body}"


def send(load: dict[str, object]) -> None:
    """Send this number of requests, all of which must succeed."""
    generator = [sys.executable, str(ROOT / "bench" / "load.py"), json.dumps(load)]
    # One line lets it start, another one lets it stop.
    done = subprocess.run(generator, input="\n\n", text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def _sample(process: int, requests: int) -> Sample:
    until = monotonic() + 5
    files = len(os.listdir(f"/proc/{process}/fd"))
    while monotonic() < until and (now := len(os.listdir(f"/proc/{process}/fd"))) < files:
        files = now
        sleep(0.2)
    fields = Path(f"/proc/{process}/statm").read_text().split()
    return Sample(requests, int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20, files)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.wide.soak", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--requests", type=int, default=1_000_000)
    options = parser.parse_args()
    begun, samples = monotonic(), []
    with TemporaryDirectory(prefix="soak-") as directory:
        for sample in soak(options.requests, Path(directory)):
            samples.append(sample)
            print(f"{sample.requests:,} requests: {sample.megabytes:.1f} MiB, {sample.files} files", flush=True)
    early, last = samples[_EARLY - 1], samples[-1]
    growth = last.megabytes / early.megabytes
    chosen = [samples[0], early, samples[_ROUNDS // 2 - 1], last]
    lines = [
        "| requests | memory | open files |",
        "|---|---|---|",
        *(f"| {one.requests:,} | {one.megabytes:.1f} MiB | {one.files} |" for one in chosen),
        "",
        f"Memory in the end is {growth:.2f} of what it was after {early.requests:,} ({MOST_GROWTH} at most), in "
        f"{monotonic() - begun:,.0f} s.",
    ]
    print(lines[-1])
    if growth > MOST_GROWTH or last.files > early.files + _MORE_FILES:
        print("it grows")
        return 1
    page.write("soak", "\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
