"""The bank of a campaign: a new sandbox or a running one, and sessions in it."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

from xs2a_sandbox.config.kinds import PREFIX
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.pytest.server_process import Process


@dataclass(frozen=True, slots=True)
class SandboxAddresses:
    """The addresses of a sandbox. If it was already running, some may be unknown."""

    direct: str
    confdir: Path
    tls: str = ""
    proxy: str = ""
    ca_file: Path = Path()


@contextmanager
def of_its_own(confdir: Path, flags: Sequence[str]) -> Iterator[SandboxAddresses]:
    """Run a sandbox within the context. Raises UserMistake."""
    confdir.mkdir(mode=0o700, parents=True, exist_ok=True)
    process = Process(confdir, flags)
    process.start()
    try:
        yield SandboxAddresses(process.direct, confdir, process.tls, process.proxy, process.ca_file)
    finally:
        process.stop()


def that_runs(url: str, confdir: Path) -> SandboxAddresses:
    """Return the sandbox at this base URL. Raises UserMistake."""
    sandbox = SandboxAddresses(url.rstrip("/"), confdir)
    modes = {bank["mode"] for bank in Client(sandbox.direct, confdir=confdir).status()["banks"]}
    if modes != {"simulate"}:
        other = sorted(str(mode) for mode in modes - {"simulate"})[0]
        raise UserMistake(f"the sandbox at {url} is in mode {other}: start it in mode simulate for a campaign")
    return sandbox


class Sandboxes:
    """The sandboxes of a campaign: the one at `url`, or new ones with `flags`, each for one run at a time.

    A new one is started when it is needed, with its folder in `scratch`. All are stopped when the context ends.
    """

    def __init__(self, scratch: Path, flags: Sequence[str], url: str | None, confdir: Path) -> None:
        self._scratch, self._flags = scratch, flags
        self._shared = that_runs(url, confdir) if url is not None else None
        self._free: list[SandboxAddresses] = []
        self._started = ExitStack()
        self._numbers = count()
        self.start_seconds = 0.0
        """How long the last start of a sandbox took."""
        self._lock = threading.Lock()

    @property
    def are_shared(self) -> bool:
        """Whether all runs use the same sandbox."""
        return self._shared is not None

    def __enter__(self) -> "Sandboxes":
        return self

    def __exit__(self, *_: object) -> None:
        self._started.close()

    @contextmanager
    def borrow(self) -> Iterator[SandboxAddresses]:
        """Provide a sandbox that no other run uses, or the one at `url`. Raises UserMistake."""
        if self._shared is not None:
            yield self._shared
            return
        with self._lock:
            sandbox = self._free.pop() if self._free else None
            number = next(self._numbers) if sandbox is None else 0
        if sandbox is None:
            began = time.monotonic()
            begun = of_its_own(self._scratch / f"bank-of-job-{number}", self._flags)
            sandbox = begun.__enter__()
            with self._lock:
                self.start_seconds = time.monotonic() - began
                self._started.push(begun)
        try:
            yield sandbox
        finally:
            with self._lock:
                self._free.append(sandbox)


def variables(sandbox: SandboxAddresses, session: str, run_dir: Path) -> dict[str, str]:
    """Return the environment variables for the command: the addresses, including the session."""
    where = urlsplit(sandbox.direct)
    addresses = {
        "URL": f"{sandbox.direct}/s/{session}",
        "SESSION": session,
        "RUN_DIR": str(run_dir),
        # So that `xs2a-sandbox state` and other commands find it, too.
        "HOST": where.hostname or "",
        "PORT": str(where.port or 80),
        "CONFDIR": str(sandbox.confdir),
    }
    if sandbox.tls:
        addresses |= {"TLS_URL": f"{sandbox.tls}/s/{session}", "CA_FILE": str(sandbox.ca_file)}
    if sandbox.proxy:
        addresses["PROXY"] = sandbox.proxy.replace("://", f"://{session}:x@", 1)
    return {f"{PREFIX}{name}": value for name, value in addresses.items()}
