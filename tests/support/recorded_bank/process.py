"""The bank and the sandbox in separate processes."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import yaml

from tests.support.doors import START, wait_until
from tests.support.far_bank import Authority
from tests.support.recorded_bank.server import PREFIX
from xs2a_sandbox.doors.proxy import ensure_ca

ROOT = Path(__file__).resolve().parents[3]


@cache
def _key() -> bytes:
    with TemporaryDirectory() as workshop:
        return ensure_ca(Path(workshop)).with_name("mitmproxy-ca.pem").read_bytes()


def with_ca(confdir: Path) -> Path:
    """Create a CA in the folder.

    All tests of a process share it, because creating one takes half as long as a start.
    """
    if not confdir.exists():
        confdir.mkdir(mode=0o700, parents=True)
        (confdir / "mitmproxy-ca.pem").touch(mode=0o600)
        (confdir / "mitmproxy-ca.pem").write_bytes(_key())
    return confdir


class Process:
    """A process whose output is read continuously, because a full pipe would block it."""

    def __init__(self, directory: Path, *command: str, program: Sequence[str] = (sys.executable, "-m")) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        self.out: list[str] = []
        self.err: list[str] = []
        self._process = subprocess.Popen(
            [*program, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=directory,
            env=environment,
            start_new_session=True,
        )
        # list.extend makes progress visible to other threads line by line.
        pairs = ((self.out, self._process.stdout), (self.err, self._process.stderr))
        self._readers = [Thread(target=lines.extend, args=(stream,)) for lines, stream in pairs]
        for reader in self._readers:
            reader.start()

    @property
    def output(self) -> str:
        """Return the output so far."""
        return "".join([*self.out, *self.err])

    def first_line(self) -> Any:
        wait_until(lambda: bool(self.out) or self._process.poll() is not None, START)
        assert self.out, self.output
        return json.loads(self.out[0])

    def peak(self) -> int:
        """Return the maximum memory used so far, in bytes."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024

    def stop(self, number: int = signal.SIGTERM) -> int:
        with suppress(ProcessLookupError):
            self._process.send_signal(number)
        try:
            ended = self._process.wait(START)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            for reader in self._readers:
                reader.join(START)
        return ended


class BankProcess(Process):
    """A bank whose clients must use `certificate`.

    Its own certificate comes from the same authority, in the file `ca`.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        authority = Authority(directory)
        cert, key = authority.issue("bank", "localhost", "127.0.0.1")
        self.ca = authority.file
        self.certificate = authority.issue("tpp")
        files = ("--cert", str(cert), "--key", str(key), "--client-ca", str(self.ca))
        super().__init__(directory, "tests.support.recorded_bank", *files)
        ports = self.first_line()
        self.port, self.login_port = int(ports["port"]), int(ports["login_port"])

    @property
    def base(self) -> str:
        return f"https://localhost:{self.port}{PREFIX}"

    @property
    def login(self) -> str:
        return f"https://127.0.0.1:{self.login_port}"

    def settings(self, **options: Any) -> dict[str, Any]:
        """Return the settings for `xs2a-sandbox.yaml`."""
        cert, key = (str(file) for file in self.certificate)
        trust = {"client_cert": cert, "client_key": key, "ca": str(self.ca), **options}
        banks = [{"url": self.base, "hosts": ["localhost"]}, {"url": self.login, "hosts": ["127.0.0.1"]}]
        return {"banks": [bank | trust for bank in banks]}


class SandboxProcess(Process):
    """A sandbox in `directory` with `settings` in its file. `reached` waits until it is listening."""

    def __init__(self, directory: Path, command: str, *flags: str, settings: Any = None, confdir: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        if settings:
            (directory / "xs2a-sandbox.yaml").write_text(yaml.safe_dump(settings))
        self.confdir = with_ca(confdir)
        ports = ("--port", "0", "--proxy-port", "0", "--tls-port", "0", "--confdir", str(confdir))
        super().__init__(directory, "xs2a_sandbox", command, *ports, *flags)
        self._addresses: list[str] = []

    @property
    def ca(self) -> str:
        return str(self.confdir / "mitmproxy-ca-cert.pem")

    @property
    def proxy(self) -> str:
        return self._reached()[0]

    @property
    def direct_port(self) -> int:
        return int(self._reached()[1].rpartition(":")[2])

    def _reached(self) -> list[str]:
        """Return the addresses of the proxy, the base URL and the TLS door from its output."""
        if not self._addresses:
            wait_until(lambda: "CA file" in self.output or '"ca_file"' in self.output or self.has_ended, START)
            words = self.output.replace('"', " ").replace(",", " ").split()
            self._addresses = [word for word in words if word.startswith(("http://127.", "https://127."))][:3]
            assert len(self._addresses) == 3, self.output
        return self._addresses

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None


@dataclass
class Listener:
    """Listen in place of a bank, or where nobody should connect, and count connections."""

    port: int
    connections: int = 0
    _socket: socket.socket = field(init=False)

    def __enter__(self) -> "Listener":
        self._socket = socket.create_server(("127.0.0.1", self.port))
        self.port = self._socket.getsockname()[1]
        self._thread = Thread(target=self._count)
        self._thread.start()
        return self

    def _count(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            connection.close()

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@contextmanager
def stopping(*processes: Process) -> Iterator[None]:
    """Stop the processes at the end of the block."""
    try:
        yield
    finally:
        for process in processes:
            process.stop(signal.SIGKILL)
