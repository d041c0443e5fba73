"""A real `serve` in a separate process, and its output."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.support.doors import START, wait_until
from tests.support.recorded_bank.process import Process, stopping, with_ca


class Serving(Process):
    """`serve` with free ports in `directory`. State is in memory unless flags say otherwise.

    `entry` is the module to run. A module that wraps the command can cause failures.
    """

    def __init__(self, directory: Path, *flags: str, settings: Any = None, entry: str = "xs2a_sandbox") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        if settings:
            (directory / "xs2a-sandbox.yaml").write_text(yaml.safe_dump(settings))
        self.confdir = with_ca(directory / "conf")
        ports = ("--port", "0", "--proxy-port", "0", "--tls-port", "0", "--confdir", str(self.confdir))
        state = () if "--state" in flags else ("--state", "memory:")
        super().__init__(directory, entry, "serve", *ports, *state, *flags)

    def begun(self) -> "Serving":
        """Wait until it is listening, and return it."""
        wait_until(
            lambda: "\nstate  " in self.output or '"try"' in self.output or self._process.poll() is not None, START
        )
        assert self._process.poll() is None, self.output
        words = self.output.replace('"', " ").replace(",", " ").split()
        self.proxy, self.direct, self.tls = [w for w in words if w.startswith(("http://127.", "https://127."))][:3]
        return self

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ca_file(self) -> Path:
        return self.confdir / "mitmproxy-ca-cert.pem"

    @property
    def token(self) -> str:
        return (self.confdir / "admin-token").read_text().strip()

    @property
    def warnings(self) -> str:
        """Return its output to standard error."""
        return "".join(self.err)

    def line(self, part: str) -> str:
        """Wait for the log line with this text, and return it."""
        wait_until(lambda: any(part in line for line in self.out))
        (line, *more) = [line for line in self.out if part in line]
        assert not more, more
        return line.rstrip("\n")

    def entry(self, part: str) -> Any:
        return json.loads(self.line(part))

    def warning(self, part: str) -> str:
        """Wait for the first line of standard error with this text, and return it."""
        wait_until(lambda: any(part in line for line in self.err))
        return next(line for line in self.err if part in line).rstrip("\n")


@contextmanager
def served(directory: Path, *flags: str, **options: Any) -> Iterator[Serving]:
    serving = Serving(directory, *flags, **options)
    with stopping(serving):
        yield serving.begun()


def without_proxies() -> dict[str, str]:
    """Return the environment for clients without proxy settings."""
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
