"""Two sandboxes, a Redis that writes every acknowledged commit to disk, and HAProxy: processes that can be killed."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random
from time import monotonic

from tests.support.cutting import Cutting
from tests.support.doors import START
from tests.support.recorded_bank.process import ROOT, with_ca
from tests.support.redis_server import RedisServer, free_port
from tests.wide.client import Client, Unanswered
from xs2a_sandbox.state import redis_scripts as scripts

LASTING = ("--appendonly", "yes", "--appendfsync", "always")
HAPROXY = shutil.which("haproxy")
_CONFIG = ROOT / "deploy" / "compose" / "haproxy.cfg"
_DOORS = {"8080": "proxy", "8081": "direct", "8443": "tls"}
_CUT = 0.002
"""The share of Redis' answers to commits that are lost."""


class Replica:
    """A `serve` on fixed ports, however often it is killed and started again."""

    def __init__(self, directory: Path, name: str, state: str, flags: Sequence[str]) -> None:
        self.name = name
        self.ports = {door: free_port() for door in _DOORS.values()}
        self._directory = directory
        self._command = [
            *(sys.executable, "-m", "xs2a_sandbox", "serve", "--state", state, "--confdir", str(directory / "conf")),
            *("--port", str(self.ports["direct"]), "--proxy-port", str(self.ports["proxy"])),
            *("--tls-port", str(self.ports["tls"]), *flags),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        with (self._directory / f"{self.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.DEVNULL, stderr=log, cwd=self._directory, env=environment
            )

    def kill(self) -> None:
        """Kill it as `kill -9` does."""
        if self._process:
            self._process.kill()
            self._process.wait()

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    async def is_ready(self) -> bool:
        client = Client(self.ports["direct"])
        try:
            return (await client.ask("GET", "/_sandbox/ready")).status == 200
        except Unanswered:
            return False
        finally:
            client.close()


class Cluster:
    """The whole cluster. `port` is HAProxy's for the base URL; `killed` and `restarts` count the interventions."""

    def __init__(self, directory: Path, redis: RedisServer, between: Cutting, replicas: Sequence[Replica]) -> None:
        self.directory = directory
        self.redis = redis
        self.between = between
        self.replicas = replicas
        self.port = free_port()
        self.killed = self.restarts = 0

    @property
    def token(self) -> str:
        return (self.directory / "conf" / "admin-token").read_text().strip()

    async def until_ready(self) -> None:
        """Wait until all replicas are ready, and HAProxy knows it."""
        until = monotonic() + 2 * START
        while not all([await one.is_ready() for one in self.replicas]) or not await self._is_reached():
            assert monotonic() < until, self.errors()
            await asyncio.sleep(0.1)

    async def _is_reached(self) -> bool:
        client = Client(self.port)
        try:
            return (await client.ask("GET", "/_sandbox/ready")).status == 200
        except Unanswered:
            return False
        finally:
            client.close()

    def kill_one(self, chance: Random) -> None:
        """Kill a replica, and start it again at once."""
        replica = chance.choice(self.replicas)
        replica.kill()
        replica.start()
        self.killed += 1

    async def restart_redis(self, seconds: float) -> None:
        """Kill Redis, and start it again after this time."""
        await asyncio.to_thread(self.redis.kill)
        await asyncio.sleep(seconds)
        await asyncio.to_thread(self.redis.start)
        self.restarts += 1

    def errors(self) -> str:
        """Return what the processes have printed to standard error."""
        return "\n".join(f"{file.name}: {file.read_text()[-2000:]}" for file in sorted(self.directory.glob("*.log")))

    def haproxy(self) -> list[str]:
        """Return the command, with the configuration of deploy/ for these addresses."""
        file = self.directory / "haproxy.cfg"
        file.write_text(_configured(_CONFIG.read_text(), self.port, self.replicas))
        return [str(HAPROXY), "-db", "-f", str(file)]


def _configured(text: str, port: int, replicas: Sequence[Replica]) -> str:
    """Return the configuration with these servers instead of containers. Only the port of the base URL is known."""
    lines: list[str] = []
    door = ""
    is_left_out = False
    for line in text.splitlines():
        words = line.split()
        if words and not line.startswith(" "):
            is_left_out = words[0] == "resolvers"
        if is_left_out or not words:
            continue
        if words[0] == "bind":
            door = _DOORS[words[1].lstrip(":")]
            line = f"    bind 127.0.0.1:{port if door == 'direct' else free_port()}"
        elif words[0] == "server":
            replica = replicas[int(words[1][-1]) - 1]
            line = f"    server {words[1]} 127.0.0.1:{replica.ports[door]} port {replica.ports['direct']}"
        elif words[0] == "maxconn":
            line = "    maxconn 1000"  # more than the limit of open files of this process
        lines.append(line.replace(" port 8081", ""))
    return "\n".join([*lines, ""])


@asynccontextmanager
async def cluster(directory: Path, chance: Random, *flags: str, cuts: float = _CUT) -> AsyncIterator[Cluster]:
    """Yield a ready cluster. From time to time, connections between the sandboxes and Redis are cut after a commit."""

    def is_cut(request: bytes) -> bool:
        return scripts.COMMIT.digest.encode() in request and chance.random() < cuts

    async with AsyncExitStack() as stack:
        redis = await asyncio.to_thread(RedisServer, directory, *LASTING)
        stack.callback(redis.stop)
        between = await stack.enter_async_context(Cutting(redis.port, is_cut))
        with_ca(directory / "conf")
        state = f"redis://127.0.0.1:{between.port}/0"
        replicas = [Replica(directory, name, state, flags) for name in ("one", "two")]
        made = Cluster(directory, redis, between, replicas)
        for replica in replicas:
            replica.start()
            stack.callback(replica.kill)
        with (directory / "haproxy.log").open("ab") as log:
            haproxy = await asyncio.to_thread(subprocess.Popen, made.haproxy(), stdout=log, stderr=log)
        stack.callback(haproxy.wait)
        stack.callback(haproxy.send_signal, signal.SIGKILL)
        await made.until_ready()
        yield made
